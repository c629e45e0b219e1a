// What the parts of lower.c share: the role that is being built, and how its operations are added.
#ifndef MODEL_PLAN_LOWER_INTERNAL_H
#define MODEL_PLAN_LOWER_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "model/plan/lower.h"
#include "model/plan/lower_matrix.h"

#define LOWER_BATCHES_MAX 2

// The role being built. Buffers that live for the step: `hidden` is what a layer reads (normed, all
// tokens of the attention-DP rank), `residual` the residual stream and behind it the block outputs
// of attention residuals (cut over tp when tokens are).
typedef struct Lower {
    const Pool *pool;
    const Arch *arch;
    Phase phase;
    Overlap overlap; // of the phase
    Schedule *schedule;
    NumFmt act_format;    // of activations between kernels: F32 in a model of f32, else BF16
    uint64_t act_B;       // of one element
    uint32_t layers_back; // OpWork's, of the operations that are added
    uint32_t stage;
    RoleId role;
    RoleId previous, next;     // the same ranks' roles in the stages around it (wrapping)
    uint32_t pipeline_channel; // of the transfer to the next stage; the one from the previous stage
    uint32_t previous_channel;
    uint32_t ep_position; // of the role's first rank
    LowerRouting routing;
    uint32_t token_ways; // ranks that share a DP rank's tokens outside attention: tp or 1
    GroupId tp_group, stage_group, ep_group, cut_group, dcp_group, cp_group;
    uint32_t channel; // of the next collective; the same in all roles of the stage
    BufferId token_ids, hidden, residual; // of the batch that is being lowered
    uint32_t batches;                     // 2: the tokens are cut in two halves (two-batch overlap)
    BufferId hiddens[LOWER_BATCHES_MAX], residuals[LOWER_BATCHES_MAX];
    // Where the next layer has no attention, it reads this rank's tokens only: `share` instead of
    // `hidden`. SCHEDULE_NONE when tokens are not cut or all layers have one.
    bool next_shares;
    BufferId share, shares[LOWER_BATCHES_MAX];
    uint32_t part, parts; // which part of the tokens all sizes are of; parts 0: all
    uint64_t earlier_arriving, earlier_count; // block outputs before and after the stage
    uint64_t earlier_mean;                    // that a layer reads
    uint32_t streams;                         // residual streams: 1, or of hyper-connections
    uint32_t kind;                            // LayerKind while a layer is added
    uint32_t block;                           // of attention and dense part in the layer
    uint32_t moe_layer;                       // number of its first layer
} Lower;

// ---- Parts of the tokens (lower_op.c): sizes of all operations, buffers and slices that are added
// from then on are those of one batch, or of the whole step.

void lower_enter_batch(Lower *lower, uint32_t batch);
void lower_enter_whole(Lower *lower);

// ---- Sizes (lower_op.c).

// A format of the plan; bf16 stands for that of the activations.
NumFmt lower_format(const Lower *lower, NumFmt format);

// Of a token's hidden vector between kernels.
uint64_t lower_hidden_B(const Lower *lower);
// `B` bytes for each token of the DP rank; for each token that this rank has outside attention; the
// same with room for the longest of uneven cuts.
Extent lower_all(uint64_t B);
Extent lower_share(const Lower *lower, uint64_t B);
Extent lower_room(const Lower *lower, uint64_t B);

// ---- Buffers and slices; a slice is added to the operation added last (lower_op.c).

BufferId lower_buffer(Lower *lower, const char *name, Extent bytes);
BufferId lower_step_buffer(Lower *lower, const char *name, Extent bytes);
void lower_read(Lower *lower, BufferId buffer);
void lower_write(Lower *lower, BufferId buffer);
void lower_add(Lower *lower, BufferId buffer);
void lower_slice(Lower *lower, BufferId buffer, SliceAccess access, Extent bytes);

// ---- Operations (lower_op.c). Return the id; waits and slices follow.

// Says what the operation added last does.
void lower_mark(Lower *lower, OpWork work);

OpId lower_gemm(Lower *lower, OpClass op_class, const char *name, Extent m,
                const LowerWeight *weight);
OpId lower_memory(Lower *lower, OpClass op_class, const char *name, Extent bytes);
OpId lower_compute(Lower *lower, const Op *op); // on the compute stream
OpId lower_comm(Lower *lower, const Op *op);    // as it is
// A collective with its own channel; stream, name, class and comm of `op` are kept.
OpId lower_collective(Lower *lower, const Op *op);
// Products of m rows: reads `in`, writes `out`.
void lower_gemms(Lower *lower, OpClass op_class, const char *name, Extent m,
                 const LowerWeights *weights, BufferId in, BufferId out);
// Token-wise products: reads `in`, writes a new buffer with bf16 elements for all rows of a token,
// which it returns.
BufferId lower_project(Lower *lower, OpClass op_class, const char *name, BufferId in,
                       const LowerWeights *weights);

// What a part of a layer gives for this rank's tokens, to be added to the residual stream; the
// operation that does so waits for `wait` (SCHEDULE_NONE: for nothing).
#define LOWER_RESULTS_MAX 2
typedef struct LowerResults {
    BufferId buffers[LOWER_RESULTS_MAX];
    uint32_t count;
    OpId wait;
} LowerResults;

// ---- Parts of a program (lower_tokens.c, lower_moe.c, lower_ends.c).

// Sum over tp of partial results of all tokens; what comes back covers this rank's tokens and lies
// in `out` (SCHEDULE_NONE: in a new buffer). Without tp it is `partial` itself.
BufferId lower_reduce(Lower *lower, const char *name, BufferId partial, BufferId out);
// The same for any partial results of all tokens: all of them on each rank.
BufferId lower_all_sum(Lower *lower, const char *name, BufferId partial);
// Sums of squares over tp for `norms` RMS norms over all heads, of `token_B` bytes of this rank's
// heads for each token at the start of `in`; SCHEDULE_NONE without tp, where the norm is alone.
BufferId lower_norm_sums(Lower *lower, BufferId in, uint64_t token_B, uint32_t norms);
// All tokens from this rank's tokens.
BufferId lower_spread(Lower *lower, const char *name, BufferId share, uint64_t token_B);
// Residual add and norm of this rank's tokens; returns the normed tokens, or writes them to `out`.
BufferId lower_norm(Lower *lower, const char *name, const LowerResults *results);
// Gathers this rank's tokens into `hidden`; only where tokens are cut.
void lower_to_hidden(Lower *lower, BufferId share);
// Residual add and norm at the end of a layer: what the next one reads, into `hidden` or `share`.
void lower_next(Lower *lower, const char *name, const LowerResults *results);
// The product that gives how residual streams are mixed (matrix `number` of the layer kind), where
// there are several.
void lower_mix_streams(Lower *lower, uint32_t number);
// Gated block cut by tp: all tokens in, partial sums of all tokens out (SCHEDULE_NONE: in a new
// buffer).
BufferId lower_gated(Lower *lower, Component component, BufferId in, BufferId out);

BufferId lower_attention(Lower *lower); // partial sums of all tokens (lower_attention.h)

BlockId lower_first_block(Lower *lower); // embedding, or what arrives from the stage before
void lower_last_ops(Lower *lower);       // head, or what leaves for the next stage

#endif
