// Adds operations, buffers and slices to the role being built.
//
// Invariant: every operation names what it reads and writes; a buffer is at least as long as any
// slice of it for every shape; the operations of the roles of one stage are added in the same
// order, so that equal collectives get equal channels.
#include "model/base/wide.h"
#include "model/plan/lower_internal.h"

NumFmt lower_format(const Lower *lower, NumFmt format) {
    return format == NUMFMT_BF16 ? lower->act_format : format;
}

void lower_mark(Lower *lower, OpWork work) {
    lower->schedule->ops[lower->schedule->op_count - 1].compute.work = work;
    lower->schedule->ops[lower->schedule->op_count - 1].compute.layers_back = lower->layers_back;
}

uint64_t lower_hidden_B(const Lower *lower) {
    return lower->act_B * lower->arch->hidden;
}

Extent lower_all(uint64_t B) {
    return extent_tokens(B);
}

Extent lower_share(const Lower *lower, uint64_t B) {
    return (Extent){.per_token = B, .divide = lower->token_ways};
}

// ceil(tokens / ways) * B is at most (tokens + ways - 1) * B / ways.
Extent lower_room(const Lower *lower, uint64_t B) {
    return (Extent){
        .fixed = (lower->token_ways - 1) * B, .per_token = B, .divide = lower->token_ways};
}

uint32_t lower_chosen(const MlpSpec *mlp) {
    uint64_t all = (uint64_t)mlp->experts + mlp->zero_experts;
    if (mlp->zero_experts == 0) return mlp->top_k;
    return (uint32_t)wide_mul_div_up(mlp->top_k, mlp->experts, all);
}

void lower_enter_batch(Lower *lower, uint32_t batch) {
    lower->part = lower->batches > 1 ? batch : 0;
    lower->parts = lower->batches > 1 ? lower->batches : 0;
    lower->hidden = lower->hiddens[batch];
    lower->residual = lower->residuals[batch];
    lower->share = lower->shares[batch];
}

void lower_enter_whole(Lower *lower) {
    lower->part = lower->parts = 0;
}

static Extent of_part(const Lower *lower, Extent extent) {
    extent.part = lower->part;
    extent.parts = lower->parts;
    return extent;
}

static BufferId add_buffer(Lower *lower, const char *name, BufferLife life, Extent bytes) {
    Buffer buffer = {.name = name,
                     .role = lower->role,
                     .format = lower->act_format,
                     .life = life,
                     .bytes = of_part(lower, bytes)};
    return schedule_add_buffer(lower->schedule, &buffer);
}

BufferId lower_buffer(Lower *lower, const char *name, Extent bytes) {
    return add_buffer(lower, name, BUFFER_BLOCK, bytes);
}

BufferId lower_step_buffer(Lower *lower, const char *name, Extent bytes) {
    return add_buffer(lower, name, BUFFER_STEP, bytes);
}

static void add_slice(Lower *lower, BufferId buffer, SliceAccess access, Extent bytes) {
    Slice slice = {.buffer = buffer, .access = access, .bytes = bytes};
    schedule_add_slice(lower->schedule, &slice);
}

void lower_slice(Lower *lower, BufferId buffer, SliceAccess access, Extent bytes) {
    add_slice(lower, buffer, access, of_part(lower, bytes));
}

// All of a buffer, whatever part of the tokens it has.
static void add_whole(Lower *lower, BufferId buffer, SliceAccess access) {
    add_slice(lower, buffer, access, lower->schedule->buffers[buffer].bytes);
}

void lower_read(Lower *lower, BufferId buffer) {
    add_whole(lower, buffer, SLICE_READ);
}

void lower_write(Lower *lower, BufferId buffer) {
    add_whole(lower, buffer, SLICE_WRITE);
}

void lower_add(Lower *lower, BufferId buffer) {
    add_whole(lower, buffer, SLICE_ADD);
}

OpId lower_compute(Lower *lower, const Op *op) {
    Op added = *op;
    added.stream = LOWER_STREAM_COMPUTE;
    added.compute.m = of_part(lower, op->compute.m);
    added.compute.flop = of_part(lower, op->compute.flop);
    added.compute.bytes = of_part(lower, op->compute.bytes);
    return schedule_add_op(lower->schedule, &added);
}

OpId lower_comm(Lower *lower, const Op *op) {
    Op added = *op;
    added.comm.bytes = of_part(lower, op->comm.bytes);
    return schedule_add_op(lower->schedule, &added);
}

OpId lower_gemm(Lower *lower, OpClass op_class, const char *name, Extent m,
                const LowerWeight *weight) {
    Op op = {.kind = OP_GEMM, .op_class = op_class, .name = name};
    op.compute = (Compute){.m = m,
                           .n = weight->n,
                           .k = weight->k,
                           .batch = 1,
                           .weight_format = weight->format,
                           .scale_B = weight->scale_B,
                           .math_format = lower_math(lower, weight->format)};
    return lower_compute(lower, &op);
}

OpId lower_memory(Lower *lower, OpClass op_class, const char *name, Extent bytes) {
    Op op = {.kind = OP_MEMORY, .op_class = op_class, .name = name, .compute = {.bytes = bytes}};
    return lower_compute(lower, &op);
}

OpId lower_collective(Lower *lower, const Op *op) {
    Op added = *op;
    added.kind = OP_COLLECTIVE;
    added.comm.channel = lower->channel++;
    return lower_comm(lower, &added);
}

void lower_gemms(Lower *lower, OpClass op_class, const char *name, Extent m,
                 const LowerWeights *weights, BufferId in, BufferId out) {
    for (uint32_t i = 0; i < weights->count; i++) {
        lower_gemm(lower, op_class, name, m, &weights->of[i]);
        lower_read(lower, in);
        lower_write(lower, out);
    }
}

// The results of several products lie one behind the other.
BufferId lower_project(Lower *lower, OpClass op_class, const char *name, BufferId in,
                       const LowerWeights *weights) {
    BufferId out = lower_buffer(lower, name, lower_all(lower->act_B * lower_rows(weights)));
    uint64_t before_B = 0;
    for (uint32_t i = 0; i < weights->count; i++) {
        uint64_t token_B = lower->act_B * weights->of[i].n;
        lower_gemm(lower, op_class, name, lower_all(1), &weights->of[i]);
        lower_read(lower, in);
        Slice slice = {.buffer = out, .access = SLICE_WRITE};
        slice.offset = before_B > 0 ? of_part(lower, lower_all(before_B)) : (Extent){0};
        slice.bytes = of_part(lower, lower_all(token_B));
        schedule_add_slice(lower->schedule, &slice);
        before_B += token_B;
    }
    return out;
}
