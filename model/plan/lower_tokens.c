// What is done to all tokens alike: sums and gathers over tp, residual add and norm, gated blocks.
//
// Invariant: between attention and experts a rank has ceil(tokens / token_ways) tokens; in front of
// every matrix that tp cuts it has all tokens of its attention-DP rank. With token_ways == tp a sum
// is a reduce-scatter and a gather follows before the next cut matrix (sequence parallelism:
// Korthikanti et al., arXiv:2205.05198; SGLang and DeepSeek use it around all-to-all experts); with
// token_ways == 1 a sum is an all-reduce.
#include "model/plan/lower_internal.h"

#define F32_B 4

// Tokens are not cut where they are scattered or gathered; a sum of all of them may be cut
// anywhere.
static Op tp_collective(const Lower *lower, const char *name, Collective collective,
                        uint64_t token_B) {
    Op op = {.op_class = OP_CLASS_TP_COMM, .name = name, .stream = LOWER_STREAM_COMPUTE};
    op.comm = (Comm){.collective = collective,
                     .group = lower->tp_group,
                     .bytes = lower_all(token_B),
                     .element = (uint32_t)token_B,
                     .format = lower->act_format};
    return op;
}

static void scatter_sum(Lower *lower, const char *name, BufferId partial, BufferId out) {
    Op op = tp_collective(lower, name, COLLECTIVE_REDUCE_SCATTER, lower_hidden_B(lower));
    op.comm.algorithm = lower->pool->reduce_scatter;
    lower_collective(lower, &op);
    lower_read(lower, partial);
    lower_write(lower, out);
}

static void all_sum_into(Lower *lower, const char *name, BufferId partial, BufferId out) {
    Op op = tp_collective(lower, name, COLLECTIVE_ALL_REDUCE, 0);
    op.comm.bytes = lower->schedule->buffers[partial].bytes;
    op.comm.element = (uint32_t)lower->act_B;
    op.comm.algorithm = lower->pool->all_reduce;
    lower_collective(lower, &op);
    lower_read(lower, partial);
    lower_write(lower, out);
}

BufferId lower_reduce(Lower *lower, const char *name, BufferId partial, BufferId out) {
    if (lower->pool->tp == 1) return partial;
    bool scatters = lower->token_ways > 1;
    if (out == SCHEDULE_NONE)
        out = lower_buffer(lower, name,
                           scatters ? lower_room(lower, lower_hidden_B(lower))
                                    : lower->schedule->buffers[partial].bytes);
    if (scatters)
        scatter_sum(lower, name, partial, out);
    else
        all_sum_into(lower, name, partial, out);
    return out;
}

BufferId lower_all_sum(Lower *lower, const char *name, BufferId partial) {
    if (lower->pool->tp == 1) return partial;
    BufferId out = lower_buffer(lower, name, lower->schedule->buffers[partial].bytes);
    all_sum_into(lower, name, partial, out);
    return out;
}

// Source: MiniMaxText01RMSNormTP of vLLM and MiniMaxM2RMSNormTP of SGLang, which sum those of
// queries and keys in one all-reduce of f32.
BufferId lower_norm_sums(Lower *lower, BufferId in, uint64_t token_B, uint32_t norms) {
    if (lower->pool->tp == 1) return SCHEDULE_NONE;
    uint64_t sums_B = (uint64_t)norms * F32_B;
    BufferId sums = lower_buffer(lower, "norm_sums", lower_all(sums_B));
    lower->schedule->buffers[sums].format = NUMFMT_F32;
    lower_memory(lower, OP_CLASS_NORM, "norm_sums", lower_all(token_B + sums_B));
    lower_slice(lower, in, SLICE_READ, lower_all(token_B));
    lower_write(lower, sums);
    Op op = tp_collective(lower, "norm_all_reduce", COLLECTIVE_ALL_REDUCE, sums_B);
    op.comm.element = F32_B;
    op.comm.format = NUMFMT_F32;
    op.comm.algorithm = lower->pool->all_reduce;
    lower_collective(lower, &op);
    lower_add(lower, sums);
    return sums;
}

static void gather(Lower *lower, const char *name, BufferId share, BufferId out, uint64_t token_B) {
    Op op = tp_collective(lower, name, COLLECTIVE_ALL_GATHER, token_B);
    op.comm.algorithm = lower->pool->all_gather;
    lower_collective(lower, &op);
    lower_read(lower, share);
    lower_write(lower, out);
}

BufferId lower_spread(Lower *lower, const char *name, BufferId share, uint64_t token_B) {
    if (lower->token_ways == 1) return share;
    BufferId out = lower_buffer(lower, name, lower_all(token_B));
    gather(lower, name, share, out, token_B);
    return out;
}

void lower_to_hidden(Lower *lower, BufferId share) {
    gather(lower, "hidden_all_gather", share, lower->hidden, lower_hidden_B(lower));
}

// Reads each result and the residual streams, writes the streams and the normed tokens; attention
// residuals read the outputs of earlier blocks of layers as well.
static void norm_into(Lower *lower, const char *name, OpWork work, const LowerResults *results,
                      BufferId out) {
    uint64_t vectors = 1 + 2 * lower->streams + results->count + lower->earlier_mean;
    lower_memory(lower, OP_CLASS_NORM, name, lower_share(lower, vectors * lower_hidden_B(lower)));
    lower_mark(lower, work);
    if (results->wait != SCHEDULE_NONE) schedule_add_wait(lower->schedule, results->wait);
    for (uint32_t i = 0; i < results->count; i++) lower_read(lower, results->buffers[i]);
    lower_add(lower, lower->residual);
    lower_write(lower, out);
}

void lower_next(Lower *lower, const char *name, const LowerResults *results) {
    if (lower->token_ways == 1) {
        norm_into(lower, name, WORK_NEXT_NORM, results, lower->hidden);
        return;
    }
    if (lower->next_shares) {
        norm_into(lower, name, WORK_NEXT_NORM, results, lower->share);
        return;
    }
    BufferId out =
        lower_buffer(lower, "attention_normed", lower_room(lower, lower_hidden_B(lower)));
    norm_into(lower, name, WORK_NEXT_NORM, results, out);
    lower_to_hidden(lower, out);
}

BufferId lower_norm(Lower *lower, const char *name, const LowerResults *results) {
    BufferId out = lower_buffer(lower, name, lower_room(lower, lower_hidden_B(lower)));
    norm_into(lower, name, WORK_MLP_NORM, results, out);
    return out;
}

void lower_mix_streams(Lower *lower, uint32_t number) {
    LowerWeight weight = lower_stream_weight(lower, number);
    if (weight.n == 0) return;
    BufferId out = lower_buffer(lower, "stream_mix", lower_room(lower, (uint64_t)F32_B * weight.n));
    lower_gemm(lower, OP_CLASS_NORM, "stream_mix", lower_share(lower, 1), &weight);
    lower_read(lower, lower->residual);
    lower_write(lower, out);
}

// gate and up in one product (one of them where a block has two matrices), the activation, down; a
// gate of the whole block, where it has one, in the same pass as the activation.
BufferId lower_gated(Lower *lower, Component component, BufferId in, BufferId out) {
    OpClass op_class = component == COMPONENT_SHARED ? OP_CLASS_SHARED : OP_CLASS_DENSE;
    const bool shared = component == COMPONENT_SHARED;
    LowerWeights up = lower_component_weights(lower, component, SHARD_COLUMN);
    LowerWeights down = lower_component_weights(lower, component, SHARD_ROW);
    LowerWeights gate = lower_component_weights(lower, component, SHARD_REPLICATED);
    BufferId gates =
        lower_project(lower, op_class, shared ? "shared_gate_up" : "gate_up_proj", in, &up);
    lower_mark(lower, WORK_GATE_UP);
    BufferId whole = SCHEDULE_NONE;
    if (gate.count > 0) whole = lower_project(lower, op_class, "block_gate", in, &gate);
    const char *name = shared ? "shared_activation" : "activation";
    uint64_t active_B = lower->act_B * down.of[0].k;
    BufferId active = lower_buffer(lower, name, lower_all(active_B));
    lower_memory(lower, op_class, name, lower_all(lower->act_B * lower_rows(&up) + active_B));
    lower_mark(lower, whole == SCHEDULE_NONE ? WORK_SWIGLU : WORK_NONE);
    lower_read(lower, gates);
    if (whole != SCHEDULE_NONE) lower_read(lower, whole);
    lower_write(lower, active);
    name = shared ? "shared_down" : "down_proj";
    if (out == SCHEDULE_NONE)
        out = lower_project(lower, op_class, name, active, &down);
    else
        lower_gemms(lower, op_class, name, lower_all(1), &down, active, out);
    lower_mark(lower, WORK_DOWN);
    return out;
}
