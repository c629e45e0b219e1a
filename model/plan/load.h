// Loads: how many tokens go to which expert; sizes that depend on routing.
#ifndef MODEL_PLAN_LOAD_H
#define MODEL_PLAN_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/hash.h"
#include "model/base/mem.h"
#include "model/base/text.h"
#include "model/plan/schedule.h"

#define LOAD_VERSION 2

// Counts that a Load may have together, as many as fit a file that people keep: 61 layers of 256
// experts from 128 sources are 2 million.
#define LOAD_COUNTS_MAX (UINT32_C(1) << 22)

// Tokens by expert. UNIFORM: every expert gets the same share. RECORDED: shares from rows, by MoE
// layer (or one for all layers) and by source (or one for all): the ranks of a group, in order of
// position, are `sources` equal runs. Rows come from a file, a law (load_law) or the routing
// simulator (routing.h). A zeroed Load is uniform, without a digest.
typedef enum LoadKind { LOAD_UNIFORM, LOAD_RECORDED } LoadKind;

typedef struct Load {
    Arena arena;
    LoadKind kind;
    uint32_t experts, layers, sources; // of the recorded rows; layers == 1 applies to all
    const uint64_t *tokens;            // [layers][sources][experts]; the sum over all sources of a
                                       // layer is > 0 and fits 64 bits
    const uint64_t *before;            // [layers][sources + 1][experts + 1]: tokens of the experts
                                       // before; the last row of a layer sums its sources
    const char *origin;                // where it comes from, for people: "zipf:0.8, seed 1"; or ""
    Digest digest;                     // of the counts alone
} Load;

Load load_uniform(void);
// A Load of counts in the order of `tokens`, which are copied. Refuses a layer without tokens, sums
// over 64 bits and more counts than LOAD_COUNTS_MAX.
bool load_of_counts(uint32_t layers, uint32_t sources, uint32_t experts, const uint64_t *tokens,
                    const char *origin, Load *out, Err *err);
// {"moesim": "load", "version": 2, "experts": E, "sources": S, "origin": "...", "tokens": [[...],
// ...]}: rows of E counts, S for each MoE layer or for all; S is 1 and the origin empty when left
// out. Version 1 had neither.
bool load_read(const char *path, Load *out, Err *err);
bool load_parse(const char *name, const char *bytes, size_t count, Load *out, Err *err);
void load_write(const Load *load, Text *out); // of a recorded one; reads back to the same digest
void load_free(Load *load);

// Whether the load has rows for `layers` MoE layers of `experts` experts (a uniform one always
// has).
bool load_check(const Load *load, uint32_t layers, uint32_t experts, Err *err);
// The same for all operations of a schedule; the message names the operation.
bool load_check_schedule(const Load *load, const Schedule *schedule, Err *err);
// Whether the loads of all layers that a block stands for are alike, so that a run of the block has
// one load (load_layers.c): below. `schedule` and `load` are such as load_check_schedule accepts.
bool load_check_layers(const Load *load, const Schedule *schedule, Err *err);

// Share of the routed tokens of MoE layer `layer` that goes to experts [first, first + count) of
// `experts`, as the fraction *part / *whole (*whole > 0). Uniform: count / experts. Layers and
// experts that load_check would refuse get the uniform share.
void load_share(const Load *load, uint32_t layer, uint32_t experts, uint32_t first, uint32_t count,
                uint64_t *part, uint64_t *whole);

// The same of the tokens of one source. A source without tokens sends as all do together.
void load_source_share(const Load *load, uint32_t layer, uint32_t experts, uint32_t source,
                       uint32_t first, uint32_t count, uint64_t *part, uint64_t *whole);

// ---- Under a Schedule. `op` is one of load_sizes_op, `rank` a rank of the op's role. Cost: O(1).
// Every instance of an operation has the load of the op's moe_layer, the first that its block
// stands for; a schedule of schedule_unroll_layers has an operation for each layer.

// A GROUPED_GEMM or an all-to-all that is SPLIT_BY_*: its size depends on a Load.
bool load_sizes_op(const Op *op);

// The experts [*first, *first + *count) of the rank: the rule of schedule_op.h.
void load_rank_experts(const Schedule *schedule, OpId op, uint32_t rank, uint32_t *first,
                       uint32_t *count);

// Share of the pairs (token, expert) of the whole group that the rank's experts receive. Its
// GROUPED_GEMM works on m * part / whole rows; m is the op's. All fractions of one layer have the
// same *whole, and those of the positions of a group sum to 1.
void load_rank_share(const Load *load, const Schedule *schedule, OpId op, uint32_t rank,
                     uint64_t *part, uint64_t *whole);

// Share of the pairs of the tokens of ONE rank of the group, at `position`, that goes to the
// experts of `rank`: what the token's rank sends there in a dispatch (BY_DESTINATION, `rank` is the
// destination), what `rank` sends back to it in a combine (BY_SOURCE, `rank` is the sender). Equal
// for all positions of a source; without sources it is load_rank_share.
void load_pair_share(const Load *load, const Schedule *schedule, OpId op, uint32_t position,
                     uint32_t rank, uint64_t *part, uint64_t *whole);

#endif
