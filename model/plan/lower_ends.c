// How a pass begins and ends on a stage: tokens to vectors, vectors to tokens, and the transfers
// between stages.
//
// Invariant: what leaves is packed into a buffer of its own, so that the next pass may begin while
// it is under way; the packing waits for the transfer of the pass before. What arrives is unpacked
// by the first kernel, for which the next arrival waits. Member i of a stage sends to member i of
// the next one: the tokens it has outside attention, and the block outputs of attention residuals
// so far (arXiv:2603.15031, Kimi team, "Attention Residuals").
#include "model/plan/lower_internal.h"

#define TOKEN_B 4 // int32
#define F32_B   4

// The residual streams and `count` block outputs, of a token.
static uint64_t payload_B(const Lower *lower, uint64_t count) {
    return (lower->streams + count) * lower_hidden_B(lower);
}

// With two batches a transfer of each, on channels of their own; sampled tokens go at once.
static OpId add_transfer(Lower *lower, OpKind kind, const char *name, BufferId buffer,
                         Extent bytes) {
    bool sends = kind == OP_SEND;
    Op op = {
        .kind = kind, .op_class = OP_CLASS_PIPELINE, .name = name, .stream = LOWER_STREAM_PIPELINE};
    op.comm =
        (Comm){.channel = lower->part + (sends ? lower->pipeline_channel : lower->previous_channel),
               .peer = sends ? lower->next : lower->previous,
               .bytes = bytes,
               .element = (uint32_t)lower->act_B,
               .format = lower->act_format};
    OpId id = lower_comm(lower, &op);
    lower_slice(lower, buffer, sends ? SLICE_READ : SLICE_WRITE, bytes);
    return id;
}

// ---- The first stage.

// The sampled tokens of the pass `micro_batches` earlier come back from the last stage. They wait
// for the last embedding of the pass before, which has read the tokens by then: `embed_wait` is
// where that wait is to be filled in.
static OpId receive_tokens(Lower *lower, uint32_t *embed_wait) {
    OpId id = add_transfer(lower, OP_RECV, "receive_tokens", lower->token_ids, lower_all(TOKEN_B));
    lower->schedule->ops[id].comm.lag = lower->pool->micro_batches;
    lower->schedule->ops[id].comm.element = TOKEN_B;
    *embed_wait = lower->schedule->wait_count;
    schedule_add_wait(lower->schedule, id);
    return id;
}

// Rows of the tokens that this rank's part of the table has; the sum over tp has them all.
static BufferId add_embedding(Lower *lower, OpId tokens) {
    BufferId out = lower_buffer(lower, "embedded", lower_all(lower_hidden_B(lower)));
    lower_memory(lower, OP_CLASS_EMBED, "embedding",
                 lower_all(TOKEN_B + 2 * lower_hidden_B(lower)));
    lower_mark(lower, WORK_EMBED);
    if (tokens != SCHEDULE_NONE) schedule_add_wait(lower->schedule, tokens);
    lower_read(lower, lower->token_ids);
    lower_write(lower, out);
    return lower_reduce(lower, "embedding_reduce", out, SCHEDULE_NONE);
}

// ---- Any stage.

// The first norm: what a layer reads, and the residual stream that begins here.
static void begin_layers(Lower *lower, BufferId in, OpId arrived) {
    bool cut = lower->token_ways > 1, gathers = cut && !lower->next_shares;
    BufferId out = cut ? lower->share : lower->hidden;
    if (gathers)
        out = lower_buffer(lower, "input_normed", lower_room(lower, lower_hidden_B(lower)));
    uint64_t vectors = 1 + 2 * (lower->streams + lower->earlier_arriving);
    lower_memory(lower, OP_CLASS_NORM, "input_norm",
                 lower_share(lower, vectors * lower_hidden_B(lower)));
    lower_mark(lower, WORK_BEGIN_NORM);
    if (arrived != SCHEDULE_NONE) schedule_add_wait(lower->schedule, arrived);
    lower_read(lower, in);
    lower_write(lower, lower->residual);
    lower_write(lower, out);
    if (gathers) lower_to_hidden(lower, out);
}

static void add_arrival(Lower *lower) {
    uint64_t token_B = payload_B(lower, lower->earlier_arriving);
    BufferId in = lower_step_buffer(lower, "incoming", lower_room(lower, token_B));
    OpId unpack = lower->schedule->op_count + 1;
    OpId id = add_transfer(lower, OP_RECV, "receive", in, lower_share(lower, token_B));
    schedule_add_wait(lower->schedule, unpack);
    begin_layers(lower, in, id);
}

BlockId lower_first_block(Lower *lower) {
    lower->kind = SCHEDULE_NONE;
    bool first = lower->stage == 0;
    const char *name = first ? "embed" : "receive";
    BlockId block = schedule_add_block(lower->schedule, lower->role, name);
    bool feeds_back = first && lower->phase == PHASE_DECODE && lower->pool->pp > 1;
    uint32_t embed_wait = 0;
    lower_enter_whole(lower);
    OpId tokens = feeds_back ? receive_tokens(lower, &embed_wait) : SCHEDULE_NONE;
    for (uint32_t batch = 0; batch < lower->batches; batch++) {
        lower_enter_batch(lower, batch);
        if (feeds_back) lower->schedule->waits[embed_wait] = lower->schedule->op_count;
        if (first)
            begin_layers(lower, add_embedding(lower, tokens), SCHEDULE_NONE);
        else
            add_arrival(lower);
    }
    return block;
}

// ---- The end.

static void add_departure(Lower *lower) {
    uint64_t token_B = payload_B(lower, lower->earlier_count);
    BufferId out = lower_step_buffer(lower, "outgoing", lower_room(lower, token_B));
    Op op = {.kind = OP_COPY, .op_class = OP_CLASS_PIPELINE, .name = "pack"};
    op.compute.bytes = lower_share(lower, token_B);
    OpId packed = lower_compute(lower, &op);
    schedule_add_wait(lower->schedule, packed + 1); // the send of the pass before
    lower_slice(lower, lower->residual, SLICE_READ, op.compute.bytes);
    lower_slice(lower, out, SLICE_WRITE, op.compute.bytes);
    add_transfer(lower, OP_SEND, "send", out, lower_share(lower, token_B));
    schedule_add_wait(lower->schedule, packed);
}

// The head is the table of its own, or the embedding when tied.
static LowerWeight head_weight(const Lower *lower) {
    LowerWeights weights = lower_component_weights(lower, COMPONENT_HEAD, SHARD_VOCAB);
    if (weights.count == 0)
        weights = lower_component_weights(lower, COMPONENT_EMBEDDING, SHARD_VOCAB);
    return weights.of[0];
}

static void read_tokens(Lower *lower) {
    for (uint32_t batch = 0; batch < lower->batches; batch++)
        lower_read(lower, lower->hiddens[batch]);
}

// One stream from several, of the last token of each sequence.
static void add_stream_head(Lower *lower) {
    LowerWeight weight = lower_stream_weight(lower, 0);
    if (weight.n == 0) return;
    Extent bytes = {.per_sequence = (uint64_t)F32_B * weight.n};
    BufferId out = lower_buffer(lower, "stream_head", bytes);
    lower_gemm(lower, OP_CLASS_HEAD, "stream_head", (Extent){.per_sequence = 1}, &weight);
    read_tokens(lower);
    lower_write(lower, out);
}

// Logits of the last token of each sequence, from all parts of the vocabulary.
static BufferId add_logits(Lower *lower) {
    LowerWeight weight = head_weight(lower);
    uint64_t part_B = lower->act_B * weight.n, tp = lower->pool->tp;
    Extent whole = {.per_sequence = part_B * tp};
    BufferId part = lower_buffer(lower, "logits_part", (Extent){.per_sequence = part_B});
    lower_gemm(lower, OP_CLASS_HEAD, "lm_head", (Extent){.per_sequence = 1}, &weight);
    lower_mark(lower, WORK_HEAD);
    read_tokens(lower);
    lower_write(lower, part);
    if (tp == 1) return part;
    BufferId all = lower_buffer(lower, "logits", whole);
    Op op = {.op_class = OP_CLASS_TP_COMM, .name = "logits_gather"};
    op.stream = LOWER_STREAM_COMPUTE;
    op.comm = (Comm){.collective = COLLECTIVE_ALL_GATHER,
                     .algorithm = lower->pool->all_gather,
                     .group = lower->tp_group,
                     .bytes = whole,
                     .element = (uint32_t)part_B,
                     .format = lower->act_format};
    lower_collective(lower, &op);
    lower_read(lower, part);
    lower_write(lower, all);
    return all;
}

static void add_head(Lower *lower) {
    add_stream_head(lower);
    BufferId logits = add_logits(lower);
    Extent bytes = lower->schedule->buffers[logits].bytes;
    bool feeds_back = lower->phase == PHASE_DECODE && lower->pool->pp > 1;
    bytes.per_sequence += TOKEN_B;
    OpId sample = lower_memory(lower, OP_CLASS_HEAD, "sample", bytes);
    lower_mark(lower, WORK_SAMPLE);
    if (feeds_back) schedule_add_wait(lower->schedule, sample + 1); // the send of the pass before
    lower_read(lower, logits);
    lower_slice(lower, lower->token_ids, SLICE_WRITE, (Extent){.per_sequence = TOKEN_B});
    if (!feeds_back) return;
    OpId id = add_transfer(lower, OP_SEND, "send_tokens", lower->token_ids, lower_all(TOKEN_B));
    lower->schedule->ops[id].comm.element = TOKEN_B;
    schedule_add_wait(lower->schedule, sample);
}

void lower_last_ops(Lower *lower) {
    lower->kind = SCHEDULE_NONE;
    if (lower->stage == lower->pool->pp - 1) {
        lower_enter_whole(lower); // the head's matrix is read once
        add_head(lower);
        return;
    }
    for (uint32_t batch = 0; batch < lower->batches; batch++) {
        lower_enter_batch(lower, batch);
        add_departure(lower);
    }
}
