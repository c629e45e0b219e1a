// The model itself as what a schedule computes: seeded weights cut as the plan says, caches, and
// the kernels of exec/kernel for each OpWork. All numbers go through the schedule's buffers, so
// that the schedule that is priced is the one that runs.
//
// Sequences are numbered ((replica * dp + d) * batches + m) * sequences + s over all ranks,
// so that plans that hold the same number of them run the same texts. Token t of a sequence comes
// from the seed; in a decode run, from its second round on, it is the one that was sampled before
// (the most probable). Pass p of a run is round p / batches of micro-batch p % batches;
// each round continues the text, and so does the next run of the same Forward (prefill, then
// decode).
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
    uint32_t context; // tokens that a sequence may have: room of its caches
    uint32_t cached;  // of these, that the caches begin with, as seeded values without a text
    ForwardRouting routing;
    const uint32_t *ranks; // of this process; NULL: all. Borrowed
    uint32_t rank_count;
    // The rank whose part of the weights each rank takes: a shard map that is wrong, for tests.
    // NULL: its own. Borrowed
    const uint32_t *weights_of;
} ForwardOptions;

// Refused by name: what no kernel computes. `arch`, `pool` and what options point to outlive it.
bool forward_open(const Arch *arch, const ForwardConfig *config, const Pool *pool,
                  const ForwardOptions *options, Forward **out, Err *err);
void forward_close(Forward *forward); // NULL is fine

// For interp_run, one run after the other, each of a schedule of lower_plan for the pool.
ComputeUnit forward_unit(Forward *forward);

// Of the last run: sequences over all ranks, rounds, and the logits [vocab] behind the last token
// of a round; NULL when they are in another process.
uint32_t forward_sequences(const Forward *forward);
uint32_t forward_rounds(const Forward *forward);
const float *forward_logits(const Forward *forward, uint32_t sequence, uint32_t round);

// How close the choices of experts were in all runs, on the ranks of this process. A near tie is a
// choice where the last chosen score is less than FORWARD_NEAR above the best that was not.
#define FORWARD_NEAR 1e-4F
typedef struct ForwardTies {
    uint64_t choices, near;
    float least_margin; // INFINITY when there was no choice
} ForwardTies;
ForwardTies forward_ties(const Forward *forward);

// Where the tokens of the last run went, as a Load that a simulation of the same schedule takes. Of
// the ranks of this process.
bool forward_load(const Forward *forward, Load *out, Err *err);

#endif
