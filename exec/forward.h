// The model itself as what a schedule computes: seeded weights cut as the plan says, caches, and
// the kernels of exec/kernel for each OpWork. All numbers go through the schedule's buffers, so
// that the schedule that is priced is the one that runs.
//
// Texts are dealt to micro-batch m of group replica * dp + d in order of group * batches + m, to
// each as many as to the others and one more to the first ones, so that all plans run the same
// texts. Sequences of a micro-batch behind its texts are padding: they are computed, as an engine
// does whose ranks must all take part in a step, and left out of what the run gives. Tokens that do
// not divide over the sequences of a step leave one more to the first ones.
//
// Token t of a text comes from the seed; in a decode run, from its second round on, it is the one
// that was sampled before (the most probable). Pass p of a run is round p / batches of micro-batch
// p % batches; each round continues the text, and so does the next run of the same Forward
// (prefill, then decode).
//
// Ranks that share the tokens of a group outside of attention have ceil(tokens / ranks) of them, or
// one less, or none. The schedule's sizes are those of the mean; a run moves whole tokens
// (ComputeUnit.share_B).
#ifndef EXEC_FORWARD_H
#define EXEC_FORWARD_H

#include <stdbool.h>
#include <stdint.h>

#include "exec/compute.h"
#include "exec/forward_config.h"
#include "model/base/err.h"
#include "model/moe/arch.h"
#include "model/plan/load.h"
#include "model/plan/pool.h"

typedef struct Forward Forward;

uint32_t forward_text(uint64_t seed, uint32_t vocab, uint32_t sequence, uint32_t position);

// FREE: the router chooses. FORCED: experts are chosen so that each gets what the run's Load gives
// it; weights are the router's for these experts.
typedef enum ForwardRouting { FORWARD_FREE, FORWARD_FORCED } ForwardRouting;

typedef struct ForwardOptions {
    uint64_t seed;
    uint32_t texts;   // over all ranks; 0: as many as there are sequences, none is padding
    uint32_t context; // tokens that a sequence may have: room of its caches
    // Of these, that the caches begin with, as seeded values without a text; the first
    // `cached_longer` sequences of a micro-batch have one more.
    uint32_t cached, cached_longer;
    ForwardRouting routing;
    // The rank whose part of the weights each rank takes: a shard map that is wrong, for tests.
    // NULL: its own. Borrowed
    const uint32_t *weights_of;
} ForwardOptions;

// Refuses by name a part of the model or of the plan that no kernel computes.
bool forward_check(const Arch *arch, const Pool *pool, Err *err);
// Refused as there. `arch`, `pool` and what options point to outlive it.
bool forward_open(const Arch *arch, const ForwardConfig *config, const Pool *pool,
                  const ForwardOptions *options, Forward **out, Err *err);
void forward_close(Forward *forward); // NULL is fine

// For interp_run, one run after the other, each of a schedule of lower_plan for the pool.
ComputeUnit forward_unit(Forward *forward);

// Of the last run: texts over all ranks, rounds, and the logits [vocab] behind the last token of a
// round; NULL when they are in another process.
uint32_t forward_texts(const Forward *forward);
uint32_t forward_rounds(const Forward *forward);
const float *forward_logits(const Forward *forward, uint32_t text, uint32_t round);

// How close the choices of experts were in all runs, each counted once. A near tie is a
// choice where the last chosen score is less than `within` above the best that was not: what
// another order of sums may change, by the format of the activations.
#define FORWARD_NEAR      1e-4F
#define FORWARD_NEAR_BF16 0x1p-8F // a unit in the last place of a score of 1
typedef struct ForwardTies {
    uint64_t choices, near;
    float within;
    float least_margin; // INFINITY when there was no choice
} ForwardTies;
ForwardTies forward_ties(const Forward *forward);

// For a process that has not run these ranks: what forward_unit's `leave` made of a rank after the
// run of this job. Refused: bytes that are not of such a run.
bool forward_take(Forward *forward, const Job *job, uint32_t rank, const uint8_t *bytes,
                  uint64_t count, Err *err);

// Where the tokens of the last run went (of one repeat: all are alike), as a Load that a simulation
// of the same schedule takes. Of the ranks of this process and of those that were taken.
bool forward_load(const Forward *forward, Load *out, Err *err);

#endif
