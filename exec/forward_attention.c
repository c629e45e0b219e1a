// Attention over the caches of a rank.
//
// Invariant: keys and values are in the cache before anything attends to them, in the format of the
// cache; all forms of attention read them from there. A row of the cache is what one token leaves
// in one layer: keys of all heads and values of all heads (GQA), or the latent and the turned key
// that all heads share (MLA). Expanded keys and values lie aside: the schedule's buffer holds those
// of one chunk.
#include <math.h>
#include <string.h>

#include "exec/forward_internal.h"
#include "exec/kernel/attention.h"
#include "exec/kernel/convert.h"
#include "exec/kernel/elementwise.h"
#include "exec/kernel/gemm.h"
#include "model/base/hash.h"

// The first cache row of a sequence in the layer.
static float *cache_of(const ForwardStep *step, uint32_t sequence) {
    const Forward *forward = step->forward;
    uint64_t layer = step->layer - step->rank->weights.first_layer;
    uint64_t at = layer * forward->batches + step->micro_batch;
    at = at * forward->sequences + sequence;
    return step->rank->cache + at * forward->options.context * forward->cache_width;
}

static float *cache_row(const ForwardStep *step, ForwardToken token) {
    uint64_t width = step->forward->cache_width;
    return cache_of(step, token.sequence) + token.position * width;
}

// A run of the part's tokens that belong to one sequence: [*index, *index + count).
static bool next_run(const ForwardStep *step, uint64_t *index, uint64_t *count) {
    *index += *count;
    if (*index >= step->tokens) return false;
    *count = forward_token(step, step->first + *index).left;
    if (*count > step->tokens - *index) *count = step->tokens - *index;
    return true;
}

// ---- What the caches begin with.

// Heads of keys and values that a rank caches, and the first of them.
static void cached_heads(const Forward *forward, const ForwardRank *rank, uint32_t *first,
                         uint32_t *count) {
    const AttentionSpec *spec = &forward->arch->attentions[0];
    uint32_t tp = forward->pool->tp, heads = spec->kind == ATTENTION_MLA ? 1 : spec->kv_heads;
    *count = heads > tp ? heads / tp : 1;
    *first = heads > tp ? rank->tp_index * *count : rank->tp_index * heads / tp;
}

// One row: like normed values, within 1. An element has a number that no cut of the heads changes.
static void fill_row(const Forward *forward, const ForwardRank *rank, Digest hash, float *row) {
    const AttentionSpec *spec = &forward->arch->attentions[0];
    bool latent = spec->kind == ATTENTION_MLA;
    uint32_t first, heads;
    cached_heads(forward, rank, &first, &heads);
    for (uint32_t values = 0; values < (latent ? 1U : 2U); values++) {
        uint64_t width = latent ? forward->cache_width : values ? spec->value_dim : spec->head_dim;
        Digest part = hash_u64(hash, values);
        for (uint64_t i = 0; i < heads * width; i++) {
            uint64_t bits = hash_spread(hash_u64(part, first * width + i));
            *row++ = (float)(bits >> 40) * 0x1p-23F - 1;
        }
    }
}

void forward_fill_cache(const Forward *forward, ForwardRank *rank) {
    uint64_t texts = (uint64_t)forward->batches * forward->sequences, width = forward->cache_width;
    for (uint32_t layer = 0; layer < rank->weights.layer_count; layer++) {
        for (uint64_t text = 0; text < texts; text++) {
            float *rows = rank->cache + (layer * texts + text) * forward->options.context * width;
            uint32_t sequence = (uint32_t)(text % forward->sequences);
            uint32_t batch = (uint32_t)(text / forward->sequences);
            uint32_t cached = forward_cached(forward, sequence);
            Digest hash = hash_u64(hash_string(HASH_START, "cache"), forward->options.seed);
            hash = hash_u64(hash, rank->weights.first_layer + layer);
            hash = hash_u64(hash, forward_text_number(forward, rank->group, batch, sequence));
            for (uint32_t i = 0; i < cached; i++)
                fill_row(forward, rank, hash_u64(hash, i), rows + i * width);
            convert_round(forward->cache_format, rows, cached * width);
        }
    }
}

// ---- GQA.

typedef struct GqaHeads {
    uint64_t heads, kv_heads, key, value, row;
} GqaHeads;

static GqaHeads gqa_heads(const ForwardStep *step) {
    const AttentionSpec *spec = forward_attention_spec(step);
    uint32_t tp = step->forward->pool->tp;
    return (GqaHeads){.heads = spec->heads / tp,
                      .kv_heads = spec->kv_heads > tp ? spec->kv_heads / tp : 1,
                      .key = spec->head_dim,
                      .value = spec->value_dim,
                      .row = forward_weight(step, WEIGHT_QKV)->n};
}

static void turn_heads(const ForwardStep *step, uint64_t count, uint64_t width, WeightSlot norm,
                       uint32_t position, float *heads) {
    const Weight *weight = forward_weight(step, norm);
    NormShape shape = {.rows = count, .width = width, .stride = width};
    if (weight->n > width)
        shape = (NormShape){.rows = 1, .width = weight->n, .stride = weight->n}; // all at once
    if (weight->n > 0)
        elementwise_norm(&shape, heads, weight->values, step->forward->config.norm_epsilon, heads);
    for (uint64_t i = 0; i < count; i++)
        rope_turn(&step->forward->rope, position, heads + i * width);
}

static void to_cache(const ForwardStep *step, ForwardToken token, const float *values,
                     uint64_t count) {
    float *row = cache_row(step, token);
    memcpy(row, values, count * sizeof *row);
    convert_round(step->forward->cache_format, row, count);
}

bool forward_rope_cache(ForwardStep *step) {
    GqaHeads size = gqa_heads(step);
    uint64_t count = step->tokens * size.row, keys = size.heads * size.key;
    uint32_t slice = forward_slice(step, SLICE_ADD, 0);
    float *rows = forward_in(step, slice, 0, count, SCRATCH_IN);
    if (rows == NULL) return false;
    for (uint64_t i = 0; i < step->tokens; i++) {
        ForwardToken token = forward_token(step, step->first + i);
        float *row = rows + i * size.row;
        turn_heads(step, size.heads, size.key, WEIGHT_Q_NORM, token.position, row);
        turn_heads(step, size.kv_heads, size.key, WEIGHT_K_NORM, token.position, row + keys);
        to_cache(step, token, row + keys, size.kv_heads * (size.key + size.value));
    }
    return forward_done(step, slice, count, rows);
}

// The key/value head of each query head, as this rank numbers both.
static void map_heads(const ForwardStep *step, const GqaHeads *size, uint32_t *out) {
    const AttentionSpec *spec = forward_attention_spec(step);
    uint32_t first_kv, count;
    cached_heads(step->forward, step->rank, &first_kv, &count);
    for (uint64_t head = 0; head < size->heads; head++) {
        uint64_t whole = step->rank->tp_index * size->heads + head;
        out[head] = (uint32_t)(whole / (spec->heads / spec->kv_heads) - first_kv);
    }
}

bool forward_gqa(ForwardStep *step) {
    GqaHeads size = gqa_heads(step);
    uint64_t width = step->forward->cache_width, out_row = size.heads * size.value, count = 0;
    uint32_t write = forward_slice(step, SLICE_WRITE, 0);
    const float *rows = forward_in(step, forward_slice(step, SLICE_READ, 0), 0,
                                   step->tokens * size.row, SCRATCH_IN);
    float *out = forward_out(step, write, step->tokens * out_row, SCRATCH_OUT);
    if (rows == NULL || out == NULL) return false;
    uint32_t *kv_head_of = mem_alloc(size.heads, sizeof *kv_head_of);
    map_heads(step, &size, kv_head_of);
    AttentionHeads heads = {.heads = (uint32_t)size.heads,
                            .key_dim = (uint32_t)size.key,
                            .value_dim = (uint32_t)size.value,
                            .kv_head_of = kv_head_of,
                            .query_stride = size.row,
                            .key_stride = width,
                            .value_stride = width,
                            .out_stride = out_row,
                            .scale = step->forward->attention_scale};
    for (uint64_t i = 0; next_run(step, &i, &count);) {
        ForwardToken token = forward_token(step, step->first + i);
        const float *cache = cache_of(step, token.sequence);
        AttentionTokens tokens = {token.position, count, forward_attention_spec(step)->window};
        float *scratch = forward_scratch(step->rank, SCRATCH_KERNEL,
                                         attention_scratch(&tokens, (uint32_t)size.heads));
        attention_gqa(&heads, &tokens, rows + i * size.row, cache, cache + size.kv_heads * size.key,
                      scratch, out + i * out_row);
    }
    mem_free(kv_head_of);
    return forward_done(step, write, step->tokens * out_row, out);
}

// ---- MLA.

static AttentionMla mla_of(const ForwardStep *step) {
    const AttentionSpec *spec = forward_attention_spec(step);
    uint32_t heads = spec->heads / step->forward->pool->tp;
    return (AttentionMla){.heads = heads,
                          .nope = spec->head_dim - spec->rope,
                          .rope = spec->rope,
                          .value_dim = spec->value_dim,
                          .kv_lora = spec->kv_lora,
                          .query_stride = (uint64_t)heads * spec->head_dim,
                          .scale = step->forward->attention_scale};
}

bool forward_latent_cache(ForwardStep *step) {
    const AttentionSpec *spec = forward_attention_spec(step);
    double epsilon = step->forward->config.norm_epsilon;
    uint64_t width = forward_weight(step, WEIGHT_LATENTS)->n, count = step->tokens * width;
    uint32_t slice = forward_slice(step, SLICE_ADD, 0);
    float *rows = forward_in(step, slice, 0, count, SCRATCH_IN);
    if (rows == NULL) return false;
    NormShape queries = {.rows = step->tokens, .width = spec->q_lora, .stride = width};
    NormShape values = {.rows = step->tokens, .width = spec->kv_lora, .stride = width};
    float *latents = rows + spec->q_lora;
    if (spec->q_lora > 0)
        elementwise_norm(&queries, rows, forward_weight(step, WEIGHT_Q_LATENT_NORM)->values,
                         epsilon, rows);
    elementwise_norm(&values, latents, forward_weight(step, WEIGHT_KV_LATENT_NORM)->values, epsilon,
                     latents);
    for (uint64_t i = 0; i < step->tokens; i++) {
        ForwardToken token = forward_token(step, step->first + i);
        float *latent = latents + i * width;
        rope_turn(&step->forward->rope, token.position, latent + spec->kv_lora);
        to_cache(step, token, latent, (uint64_t)spec->kv_lora + spec->rope);
    }
    return forward_done(step, slice, count, rows);
}

// One product per head with its rows of kv_b: queries into the latent space, or results out of it.
bool forward_absorb(ForwardStep *step) {
    AttentionMla mla = mla_of(step);
    bool in = step->op->compute.work == WORK_Q_ABSORB;
    const Weight *weight = forward_weight(step, WEIGHT_KV_UP);
    uint64_t from = in ? mla.nope + mla.rope : mla.kv_lora, to = in ? mla.kv_lora : mla.value_dim;
    uint64_t heads = mla.heads, head_rows = (uint64_t)mla.nope + mla.value_dim;
    uint32_t write = forward_slice(step, SLICE_WRITE, 0);
    const float *rows = forward_in(step, forward_slice(step, SLICE_READ, 0), 0,
                                   step->tokens * heads * from, SCRATCH_IN);
    float *out = forward_out(step, write, step->tokens * heads * to, SCRATCH_OUT);
    if (rows == NULL || out == NULL) return false;
    GemmShape shape = {.m = step->tokens, .n = to, .k = in ? mla.nope : mla.kv_lora};
    shape.a_stride = heads * from;
    shape.b_stride = mla.kv_lora;
    shape.c_stride = heads * to;
    for (uint64_t head = 0; head < heads; head++) {
        const float *part = weight->values + head * head_rows * mla.kv_lora;
        if (in)
            gemm_columns(&shape, rows + head * from, part, out + head * to);
        else
            gemm_rows(&shape, rows + head * from, part + (uint64_t)mla.nope * mla.kv_lora,
                      out + head * to);
    }
    return forward_done(step, write, step->tokens * heads * to, out);
}

// A copy of the queries with their rope parts turned.
static float *turned_queries(ForwardStep *step, const AttentionMla *mla, uint32_t number) {
    uint64_t count = step->tokens * mla->query_stride, head = (uint64_t)mla->nope + mla->rope;
    const float *rows =
        forward_in(step, forward_slice(step, SLICE_READ, number), 0, count, SCRATCH_BESIDE);
    float *turned = forward_scratch(step->rank, SCRATCH_QUERIES, count);
    if (rows == NULL) return NULL;
    memcpy(turned, rows, count * sizeof *rows);
    for (uint64_t i = 0; i < step->tokens * mla->heads; i++) {
        ForwardToken token = forward_token(step, step->first + i / mla->heads);
        rope_turn(&step->forward->rope, token.position, turned + i * head + mla->nope);
    }
    return turned;
}

bool forward_mla_absorbed(ForwardStep *step) {
    AttentionMla mla = mla_of(step);
    uint64_t row = (uint64_t)mla.heads * mla.kv_lora, count = 0;
    uint32_t write = forward_slice(step, SLICE_WRITE, 0);
    const float *absorbed =
        forward_in(step, forward_slice(step, SLICE_READ, 0), 0, step->tokens * row, SCRATCH_IN);
    const float *queries = turned_queries(step, &mla, 1);
    float *out = forward_out(step, write, step->tokens * row, SCRATCH_OUT);
    if (absorbed == NULL || queries == NULL || out == NULL) return false;
    for (uint64_t i = 0; next_run(step, &i, &count);) {
        ForwardToken token = forward_token(step, step->first + i);
        AttentionTokens tokens = {token.position, count, 0};
        float *scratch =
            forward_scratch(step->rank, SCRATCH_KERNEL, attention_mla_scratch(&mla, &tokens));
        attention_mla_absorbed(&mla, &tokens, absorbed + i * row, queries + i * mla.query_stride,
                               cache_of(step, token.sequence), scratch, out + i * row);
    }
    return forward_done(step, write, step->tokens * row, out);
}

// Keys and values of all heads, for each sequence of the micro-batch with room for its context.
static float *expanded_of(const ForwardStep *step, const AttentionMla *mla, uint32_t sequence) {
    uint64_t row = (uint64_t)mla->heads * (mla->nope + mla->value_dim);
    uint64_t text = step->forward->options.context * row;
    return forward_scratch(step->rank, SCRATCH_EXPANDED, text * step->forward->sequences) +
           sequence * text;
}

// Of all cached tokens of the part's sequences; those of the step go to the buffer.
bool forward_expand(ForwardStep *step) {
    AttentionMla mla = mla_of(step);
    const Weight *weight = forward_weight(step, WEIGHT_KV_UP);
    uint64_t count = 0;
    uint32_t write = forward_slice(step, SLICE_WRITE, 0);
    float *out = forward_out(step, write, step->tokens * weight->n, SCRATCH_OUT);
    if (out == NULL) return false;
    for (uint64_t i = 0; next_run(step, &i, &count);) {
        ForwardToken token = forward_token(step, step->first + i);
        float *expanded = expanded_of(step, &mla, token.sequence);
        GemmShape shape = gemm_close(token.position + count, weight->n, weight->k);
        shape.a_stride = step->forward->cache_width;
        gemm_rows(&shape, cache_of(step, token.sequence), weight->values, expanded);
        memcpy(out + i * weight->n, expanded + (uint64_t)token.position * weight->n,
               count * weight->n * sizeof *out);
    }
    return forward_done(step, write, step->tokens * weight->n, out);
}

bool forward_mla_expanded(ForwardStep *step) {
    AttentionMla mla = mla_of(step);
    uint64_t row = (uint64_t)mla.heads * mla.value_dim, count = 0;
    uint32_t write = forward_slice(step, SLICE_WRITE, 0);
    const float *queries = turned_queries(step, &mla, 0);
    float *out = forward_out(step, write, step->tokens * row, SCRATCH_OUT);
    if (queries == NULL || out == NULL) return false;
    for (uint64_t i = 0; next_run(step, &i, &count);) {
        ForwardToken token = forward_token(step, step->first + i);
        AttentionTokens tokens = {token.position, count, 0};
        float *scratch =
            forward_scratch(step->rank, SCRATCH_KERNEL, attention_mla_scratch(&mla, &tokens));
        attention_mla_expanded(&mla, &tokens, queries + i * mla.query_stride,
                               expanded_of(step, &mla, token.sequence),
                               cache_of(step, token.sequence), scratch, out + i * row);
    }
    return forward_done(step, write, step->tokens * row, out);
}
