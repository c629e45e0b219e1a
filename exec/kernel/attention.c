// Attention by products of whole rows: scores, softmax of what a token sees, weighted values.
//
// Invariant: what a token does not see has weight 0, so it adds nothing to any sum. One token of
// several heads that share keys is one product (decode); several tokens are one product per head.
// Sources: Vaswani et al., arXiv:1706.03762; Ainslie et al., arXiv:2305.13245 (GQA); DeepSeek-V2,
// arXiv:2405.04434, section 2.1 and appendix C (MLA, and its projections absorbed).
#include "exec/kernel/attention.h"

#include <string.h>

#include "exec/kernel/elementwise.h"
#include "exec/kernel/gemm.h"

static uint64_t cached(const AttentionTokens *tokens) {
    return tokens->first + tokens->count;
}

uint64_t attention_scratch(const AttentionTokens *tokens, uint32_t heads) {
    return (tokens->count == 1 ? heads : tokens->count) * cached(tokens);
}

// The weights of one row, for the token at `position`.
static void weigh(const AttentionTokens *tokens, uint64_t position, float scale, float *scores) {
    uint64_t end = position + 1;
    uint64_t begin = tokens->window > 0 && end > tokens->window ? end - tokens->window : 0;
    for (uint64_t i = begin; i < end; i++) scores[i] *= scale;
    elementwise_softmax(end - begin, scores + begin);
    memset(scores, 0, begin * sizeof *scores);
    memset(scores + end, 0, (cached(tokens) - end) * sizeof *scores);
}

// `rows` rows: heads of one token, or tokens of one head.
static void attend(const AttentionHeads *heads, const AttentionTokens *tokens, uint32_t head,
                   uint32_t joined, const float *queries, const float *keys, const float *values,
                   float *scratch, float *out) {
    uint64_t count = cached(tokens), kv_head = heads->kv_head_of[head];
    uint64_t rows = tokens->count == 1 ? joined : tokens->count;
    GemmShape scores = {.m = rows, .n = count, .k = heads->key_dim};
    scores.a_stride = tokens->count == 1 ? heads->key_dim : heads->query_stride;
    scores.b_stride = heads->key_stride;
    scores.c_stride = count;
    gemm_rows(&scores, queries + head * heads->key_dim, keys + kv_head * heads->key_dim, scratch);
    for (uint64_t row = 0; row < rows; row++)
        weigh(tokens, tokens->first + (tokens->count == 1 ? 0 : row), heads->scale,
              scratch + row * count);
    GemmShape sums = {.m = rows, .n = heads->value_dim, .k = count};
    sums.a_stride = count;
    sums.b_stride = heads->value_stride;
    sums.c_stride = tokens->count == 1 ? heads->value_dim : heads->out_stride;
    gemm_columns(&sums, scratch, values + kv_head * heads->value_dim,
                 out + head * heads->value_dim);
}

void attention_gqa(const AttentionHeads *heads, const AttentionTokens *tokens, const float *queries,
                   const float *keys, const float *values, float *scratch, float *out) {
    if (tokens->count == 0) return;
    for (uint32_t head = 0; head < heads->heads;) {
        uint32_t joined = 1;
        while (tokens->count == 1 && head + joined < heads->heads &&
               heads->kv_head_of[head + joined] == heads->kv_head_of[head])
            joined++;
        attend(heads, tokens, head, joined, queries, keys, values, scratch, out);
        head += joined;
    }
}

// ---- MLA.

static uint64_t absorbed_width(const AttentionMla *mla) {
    return (uint64_t)mla->kv_lora + mla->rope;
}

static uint64_t key_width(const AttentionMla *mla) {
    return (uint64_t)mla->nope + mla->rope;
}

// Either form: scores, and behind them queries of all heads (absorbed), keys of one (expanded) and
// the map of heads.
uint64_t attention_mla_scratch(const AttentionMla *mla, const AttentionTokens *tokens) {
    uint64_t queries = tokens->count * mla->heads * absorbed_width(mla);
    uint64_t keys = cached(tokens) * key_width(mla);
    return attention_scratch(tokens, mla->heads) + (queries > keys ? queries : keys) + mla->heads;
}

void attention_mla_absorbed(const AttentionMla *mla, const AttentionTokens *tokens,
                            const float *absorbed, const float *queries, const float *cache,
                            float *scratch, float *out) {
    uint64_t width = absorbed_width(mla), scores = attention_scratch(tokens, mla->heads);
    float *joined = scratch + scores;
    for (uint64_t i = 0; i < tokens->count * mla->heads; i++) {
        uint64_t token = i / mla->heads, head = i % mla->heads;
        const float *query = queries + token * mla->query_stride + head * key_width(mla);
        memcpy(joined + i * width, absorbed + i * mla->kv_lora, mla->kv_lora * sizeof *joined);
        memcpy(joined + i * width + mla->kv_lora, query + mla->nope, mla->rope * sizeof *joined);
    }
    uint32_t *one = (uint32_t *)(void *)(joined + tokens->count * mla->heads * width);
    memset(one, 0, mla->heads * sizeof *one);
    AttentionHeads heads = {.heads = mla->heads,
                            .key_dim = (uint32_t)width,
                            .value_dim = mla->kv_lora,
                            .kv_head_of = one,
                            .query_stride = mla->heads * width,
                            .key_stride = width,
                            .value_stride = width,
                            .out_stride = (uint64_t)mla->heads * mla->kv_lora,
                            .scale = mla->scale};
    attention_gqa(&heads, tokens, joined, cache, cache, scratch, out);
}

void attention_mla_expanded(const AttentionMla *mla, const AttentionTokens *tokens,
                            const float *queries, const float *expanded, const float *cache,
                            float *scratch, float *out) {
    const uint32_t first = 0;
    uint64_t width = key_width(mla), head_width = (uint64_t)mla->nope + mla->value_dim;
    float *keys = scratch + attention_scratch(tokens, mla->heads);
    AttentionHeads one = {.heads = 1,
                          .key_dim = (uint32_t)width,
                          .value_dim = mla->value_dim,
                          .kv_head_of = &first,
                          .query_stride = mla->query_stride,
                          .key_stride = width,
                          .value_stride = mla->heads * head_width,
                          .out_stride = (uint64_t)mla->heads * mla->value_dim,
                          .scale = mla->scale};
    for (uint32_t head = 0; head < mla->heads; head++) {
        for (uint64_t i = 0; i < cached(tokens); i++) {
            const float *from = expanded + (i * mla->heads + head) * head_width;
            const float *shared = cache + i * absorbed_width(mla) + mla->kv_lora;
            memcpy(keys + i * width, from, mla->nope * sizeof *keys);
            memcpy(keys + i * width + mla->nope, shared, mla->rope * sizeof *keys);
        }
        attention_gqa(&one, tokens, queries + head * width, keys,
                      expanded + head * head_width + mla->nope, scratch,
                      out + head * mla->value_dim);
    }
}
