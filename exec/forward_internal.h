// What the parts of forward.c share: a run, a rank, and one operation while it runs.
#ifndef EXEC_FORWARD_INTERNAL_H
#define EXEC_FORWARD_INTERNAL_H

#include "exec/forward.h"
#include "exec/forward_routes.h"
#include "exec/kernel/rope.h"
#include "exec/weights.h"
#include "model/plan/lower.h"

// Floats that operations of one rank use for themselves, grown when needed.
typedef enum ForwardScratch {
    SCRATCH_IN,
    SCRATCH_BESIDE,
    SCRATCH_OUT,
    SCRATCH_SUM,
    SCRATCH_QUERIES,
    SCRATCH_KERNEL,
    SCRATCH_EXPANDED,
    SCRATCH_COUNT
} ForwardScratch;

typedef struct ForwardRank {
    uint32_t rank, stage, group, tp_index, stage_rank; // group: replica * dp + d
    bool is_held;                                      // by this process, which runs it
    Weights weights;   // its layers alone are known before a run is prepared
    float *cache;      // [layers][batches][sequences][context][cache_width]
    uint32_t *sampled; // [batches][sequences]
    float *scratch[SCRATCH_COUNT];
    uint64_t scratch_room[SCRATCH_COUNT];
    ForwardRoutes *routes; // [parts]
    uint64_t *counts;      // [MoE layers][experts] pairs of this rank's tokens
    uint64_t choices, near;
    float least_margin;
} ForwardRank;

struct Forward {
    Arena arena;
    const Arch *arch;
    const Pool *pool;
    ForwardConfig config;
    ForwardOptions options;
    NumFmt format, cache_format;
    float near; // ForwardTies.within
    uint32_t token_ways;
    LowerRouting routing;
    uint32_t moe_layers, experts, top_k; // experts of the layers that have some; all alike
    uint32_t cache_width;                // floats of a token in one layer
    uint64_t row_B;                      // of a token as it travels
    RopeTable rope;
    float attention_scale;
    ForwardRank **ranks; // [pool ranks]
    Routing vtable;
    // ---- Of the run.
    const Job *job;
    uint32_t batches;   // micro-batches
    uint32_t sequences; // of one micro-batch of a group
    uint32_t texts;     // over all ranks: of those that are no padding
    uint32_t per_pass;  // tokens of a sequence in a pass; the first `longer` have one more
    uint32_t longer;
    uint32_t *base; // heap, [sequences] tokens before the run
    uint32_t rounds, parts;
    bool feeds_back; // the first stage receives what was sampled
    float *logits;   // heap, [texts][rounds][vocab]
    bool *has_logits;
};

// One instance of an operation.
typedef struct ForwardStep {
    Forward *forward;
    ForwardRank *rank;
    const OpInstance *instance;
    const Op *op;
    uint32_t micro_batch, round, part;
    uint32_t layer;          // of the model
    uint64_t first, tokens;  // the part's among the tokens of the group
    uint64_t own_first, own; // this rank's among those of the part, outside of attention
    Err *err;
} ForwardStep;

// ---- Steps and slices (forward_step.c).

// The size of an operation that says which part of the tokens it is about.
const Extent *forward_part(const Op *op);
ForwardStep forward_step(Forward *forward, const OpInstance *instance, Err *err);
const AttentionSpec *forward_attention_spec(const ForwardStep *step);
const MlpSpec *forward_mlp_spec(const ForwardStep *step);
const Weight *forward_weight(const ForwardStep *step, WeightSlot slot); // of the layer
float *forward_scratch(ForwardRank *rank, ForwardScratch which, uint64_t count);
// Index among the operation's slices of the `number`-th with this access, or SCHEDULE_NONE.
uint32_t forward_slice(const ForwardStep *step, SliceAccess access, uint32_t number);
// Memory of `bytes` bytes from byte `offset` of a slice on; NULL with a message when it is shorter.
uint8_t *forward_bytes(ForwardStep *step, uint32_t slice, uint64_t offset, uint64_t bytes);
// `count` activations of a slice from `first` on as floats, in the buffer itself or in `scratch`.
// What forward_out returns, forward_done writes back. NULL with a message when the slice is
// shorter.
float *forward_in(ForwardStep *step, uint32_t slice, uint64_t first, uint64_t count,
                  ForwardScratch scratch);
float *forward_out(ForwardStep *step, uint32_t slice, uint64_t count, ForwardScratch scratch);
bool forward_done(ForwardStep *step, uint32_t slice, uint64_t count, const float *values);

// Tokens of a sequence that its caches begin with, and in a pass.
uint32_t forward_cached(const Forward *forward, uint32_t sequence);
uint32_t forward_length(const Forward *forward, uint32_t sequence);
// Of the group's token `index` (of all parts): its sequence, its position in the text, and how many
// tokens of the sequence are left in the pass, itself included.
typedef struct ForwardToken {
    uint32_t sequence, position, left;
} ForwardToken;
ForwardToken forward_token(const ForwardStep *step, uint64_t index);
// Over all ranks; of padding at least forward->texts.
uint32_t forward_text_number(const Forward *forward, uint32_t group, uint32_t micro_batch,
                             uint32_t sequence);
uint32_t forward_step_text(const ForwardStep *step, uint32_t sequence);

// Of so many tokens of a group, those of a rank outside of attention.
uint64_t forward_own_tokens(const Forward *forward, uint64_t tokens, uint32_t rank,
                            uint64_t *first);
// Sizes of a run that was checked; the run before it has ended.
void forward_size_run(Forward *forward, const Job *job);
// ComputeUnit.leave (forward_leave.c); `self` is the Forward.
void forward_leave(void *self, uint32_t rank, Text *out);
// ComputeUnit.share_B; `self` is the Forward.
uint64_t forward_share_B(void *self, const OpInstance *instance, uint32_t rank);

// ---- What each operation does.

// rows x the weights of a slot, from slice to slice; `in_width` elements lie from row to row.
bool forward_product(ForwardStep *step, WeightSlot slot, uint64_t rows, uint64_t in_width);

bool forward_embed(ForwardStep *step); // forward_ends.c
bool forward_begin_norm(ForwardStep *step);
bool forward_norm(ForwardStep *step);
bool forward_head(ForwardStep *step);
bool forward_sample(ForwardStep *step);

bool forward_rope_cache(ForwardStep *step); // forward_attention.c
void forward_fill_cache(const Forward *forward, ForwardRank *rank);
bool forward_gqa(ForwardStep *step);
bool forward_latent_cache(ForwardStep *step);
bool forward_absorb(ForwardStep *step);
bool forward_mla_absorbed(ForwardStep *step);
bool forward_expand(ForwardStep *step);
bool forward_mla_expanded(ForwardStep *step);

#endif
