// Causal attention of new tokens of one sequence over its cache, in f32.
//
// Tokens are at positions first, first + 1, ...; the cache holds positions 0 to first + tokens - 1,
// rows of f32. `scratch` has attention_scratch elements.
#ifndef EXEC_KERNEL_ATTENTION_H
#define EXEC_KERNEL_ATTENTION_H

#include <stdint.h>

typedef struct AttentionTokens {
    uint64_t first, count;
    uint64_t window; // a token sees that many at most, itself included; 0: all before it
} AttentionTokens;

// Head h reads key/value head kv_head_of[h]. Rows of queries and results are [heads][key_dim] and
// [heads][value_dim] at the start of their strides; scores are multiplied by `scale`.
typedef struct AttentionHeads {
    uint32_t heads, key_dim, value_dim;
    const uint32_t *kv_head_of;
    uint64_t query_stride, key_stride, value_stride, out_stride;
    float scale;
} AttentionHeads;
uint64_t attention_scratch(const AttentionTokens *tokens, uint32_t heads);
void attention_gqa(const AttentionHeads *heads, const AttentionTokens *tokens, const float *queries,
                   const float *keys, const float *values, float *scratch, float *out);

// MLA: a row of the cache is the latent (kv_lora) and the turned key that all heads share (rope).
// Queries are [heads][nope + rope], their rope parts turned.
typedef struct AttentionMla {
    uint32_t heads, nope, rope, value_dim, kv_lora;
    uint64_t query_stride;
    float scale;
} AttentionMla;
uint64_t attention_mla_scratch(const AttentionMla *mla, const AttentionTokens *tokens);
// `absorbed`: the nope parts of the queries in the latent space, [heads][kv_lora]; out likewise.
void attention_mla_absorbed(const AttentionMla *mla, const AttentionTokens *tokens,
                            const float *absorbed, const float *queries, const float *cache,
                            float *scratch, float *out);
// `expanded`: keys and values of every position, [heads][nope + value_dim]; out [heads][value_dim].
void attention_mla_expanded(const AttentionMla *mla, const AttentionTokens *tokens,
                            const float *queries, const float *expanded, const float *cache,
                            float *scratch, float *out);

#endif
