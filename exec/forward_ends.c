// Tokens to vectors, norms and the residual stream, vectors to tokens.
//
// Invariant: the residual stream is only added to, in the order of the slices that are read; a norm
// reads what was written to the stream, in its format.
#include <string.h>

#include "exec/forward_internal.h"
#include "exec/kernel/convert.h"
#include "exec/kernel/elementwise.h"
#include "exec/kernel/gemm.h"
#include "model/plan/shard_slice.h"

// The token at `index`: of the text, or, when the run made it, what was sampled for it.
static bool token_at(ForwardStep *step, uint64_t index, uint32_t *out) {
    const Forward *forward = step->forward;
    ForwardToken token = forward_token(step, index);
    bool sampled = forward->per_pass == 1 && forward->longer == 0 && step->round > 0;
    if (!sampled || (forward->pool->pp > 1 && !forward->feeds_back)) {
        *out = forward_text(forward->options.seed, forward->arch->vocab,
                            forward_step_text(step, token.sequence), token.position);
        return true;
    }
    if (!forward->feeds_back) {
        *out = step->rank->sampled[step->micro_batch * forward->sequences + token.sequence];
        return true;
    }
    uint8_t *bytes =
        forward_bytes(step, forward_slice(step, SLICE_READ, 0), index * sizeof *out, sizeof *out);
    if (bytes != NULL) memcpy(out, bytes, sizeof *out);
    return bytes != NULL;
}

// Rows of the table that this rank has; zeros for the others.
bool forward_embed(ForwardStep *step) {
    const Forward *forward = step->forward;
    const Weight *table = &step->rank->weights.model[WEIGHT_EMBEDDING];
    uint64_t hidden = forward->arch->hidden, first = (uint64_t)step->rank->tp_index * table->n;
    uint32_t write = forward_slice(step, SLICE_WRITE, 0);
    float *out = forward_out(step, write, step->tokens * hidden, SCRATCH_OUT);
    if (out == NULL) return false;
    memset(out, 0, step->tokens * hidden * sizeof *out);
    for (uint64_t i = 0; i < step->tokens; i++) {
        uint32_t token;
        if (!token_at(step, step->first + i, &token)) return false;
        if (token >= forward->arch->vocab)
            return err_set(step->err, "token %u of a vocabulary of %u", token,
                           forward->arch->vocab);
        if (token < first || token - first >= table->n) continue;
        memcpy(out + i * hidden, table->values + (token - first) * hidden, hidden * sizeof *out);
    }
    return forward_done(step, write, step->tokens * hidden, out);
}

// ---- Norms.

// The weights of the norm that the operation ends with; n is 0 where the next stage has it, which
// norms what it receives.
static Weight norm_of(const ForwardStep *step) {
    const Weights *weights = &step->rank->weights;
    uint32_t layer = step->layer + (step->op->compute.work == WORK_NEXT_NORM);
    if (step->op->compute.work == WORK_MLP_NORM) return *forward_weight(step, WEIGHT_MLP_NORM);
    if (layer == step->forward->arch->layers) return weights->model[WEIGHT_FINAL_NORM];
    if (layer >= weights->first_layer + weights->layer_count) return (Weight){0};
    return weights->layers[layer - weights->first_layer][WEIGHT_ATTENTION_NORM];
}

// The stream as it was written to the normed tokens in slice `write`.
static bool write_normed(ForwardStep *step, const float *stream, uint32_t write) {
    uint64_t hidden = step->forward->arch->hidden, count = step->own * hidden;
    Weight norm = norm_of(step);
    if (norm.n == 0) return true;
    float *out = forward_out(step, write, count, SCRATCH_OUT);
    if (out == NULL) return false;
    NormShape shape = {.rows = step->own, .width = hidden, .stride = hidden};
    elementwise_norm(&shape, stream, norm.values, step->forward->config.norm_epsilon, out);
    return forward_done(step, write, count, out);
}

bool forward_begin_norm(ForwardStep *step) {
    uint64_t count = step->own * step->forward->arch->hidden;
    uint32_t residual = forward_slice(step, SLICE_WRITE, 0);
    const float *in = forward_in(step, forward_slice(step, SLICE_READ, 0), 0, count, SCRATCH_IN);
    float *stream = forward_out(step, residual, count, SCRATCH_SUM);
    if (in == NULL || stream == NULL) return false;
    memcpy(stream, in, count * sizeof *in);
    return forward_done(step, residual, count, stream) &&
           write_normed(step, stream, forward_slice(step, SLICE_WRITE, 1));
}

bool forward_norm(ForwardStep *step) {
    uint64_t count = step->own * step->forward->arch->hidden;
    uint32_t residual = forward_slice(step, SLICE_ADD, 0), read;
    float *stream = forward_in(step, residual, 0, count, SCRATCH_SUM);
    if (stream == NULL) return false;
    for (uint32_t i = 0; (read = forward_slice(step, SLICE_READ, i)) != SCHEDULE_NONE; i++) {
        const float *result = forward_in(step, read, 0, count, SCRATCH_IN);
        if (result == NULL) return false;
        elementwise_add(count, result, stream);
    }
    convert_round(step->forward->format, stream, count);
    return forward_done(step, residual, count, stream) &&
           write_normed(step, stream, forward_slice(step, SLICE_WRITE, 0));
}

// ---- The end.

// The last token of a sequence, from the part of the tokens that has it.
static const float *last_token(ForwardStep *step, uint32_t sequence) {
    const Forward *forward = step->forward;
    const Schedule *schedule = forward->job->schedule;
    uint32_t ended = sequence + 1, slice;
    uint64_t hidden = forward->arch->hidden;
    uint64_t index = (uint64_t)ended * forward->per_pass +
                     (ended < forward->longer ? ended : forward->longer) - 1;
    for (uint32_t i = 0; (slice = forward_slice(step, SLICE_READ, i)) != SCHEDULE_NONE; i++) {
        const Extent *extent = &schedule->slices[slice].bytes;
        uint32_t parts = extent->parts > 1 ? extent->parts : 1;
        uint64_t tokens = step_shape_part(&forward->job->shape, extent->part, parts).tokens;
        if (index < tokens) return forward_in(step, slice, index * hidden, hidden, SCRATCH_IN);
        index -= tokens;
    }
    err_set(step->err, "sequence %u has no last token", sequence);
    return NULL;
}

bool forward_head(ForwardStep *step) {
    const Forward *forward = step->forward;
    const Weight *table = &step->rank->weights.model[WEIGHT_HEAD];
    if (table->n == 0) table = &step->rank->weights.model[WEIGHT_EMBEDDING];
    uint64_t hidden = forward->arch->hidden, count = (uint64_t)forward->sequences * table->n;
    uint32_t write = forward_slice(step, SLICE_WRITE, 0);
    float *out = forward_out(step, write, count, SCRATCH_OUT);
    float *rows = forward_scratch(step->rank, SCRATCH_QUERIES, forward->sequences * hidden);
    if (out == NULL) return false;
    for (uint32_t i = 0; i < forward->sequences; i++) {
        const float *token = last_token(step, i);
        if (token == NULL) return false;
        memcpy(rows + i * hidden, token, hidden * sizeof *token);
    }
    GemmShape shape = gemm_close(forward->sequences, table->n, hidden);
    gemm_rows(&shape, rows, table->values, out);
    return forward_done(step, write, count, out);
}

static void keep_logits(const ForwardStep *step, uint32_t sequence, const float *logits) {
    const Forward *forward = step->forward;
    uint32_t text = forward_step_text(step, sequence);
    uint64_t at = (uint64_t)text * forward->rounds + step->round;
    if (text >= forward->texts) return;
    memcpy(forward->logits + at * forward->arch->vocab, logits,
           forward->arch->vocab * sizeof *logits);
    forward->has_logits[at] = true;
}

// Logits lie by rank, then by sequence; behind the vocabulary they are padding.
bool forward_sample(ForwardStep *step) {
    const Forward *forward = step->forward;
    uint64_t ways = forward->pool->tp, vocab = forward->arch->vocab;
    uint64_t rows = shard_slice_vocab_rows((uint32_t)vocab, (uint32_t)ways);
    uint64_t count = forward->sequences * rows * ways;
    const float *all = forward_in(step, forward_slice(step, SLICE_READ, 0), 0, count, SCRATCH_IN);
    uint8_t *tokens = forward_bytes(step, forward_slice(step, SLICE_WRITE, 0), 0,
                                    forward->sequences * sizeof(uint32_t));
    float *logits = forward_scratch(step->rank, SCRATCH_OUT, rows * ways);
    if (all == NULL || tokens == NULL) return false;
    for (uint32_t i = 0; i < forward->sequences; i++) {
        for (uint64_t part = 0; part < ways; part++)
            memcpy(logits + part * rows, all + (part * forward->sequences + i) * rows,
                   rows * sizeof *logits);
        uint32_t token = (uint32_t)elementwise_largest(vocab, logits);
        memcpy(tokens + i * sizeof token, &token, sizeof token);
        step->rank->sampled[step->micro_batch * forward->sequences + i] = token;
        if (step->rank->tp_index == 0) keep_logits(step, i, logits);
    }
    return true;
}
