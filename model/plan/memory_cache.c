// Cache and state of one rank, from the kinds of attention of its layers.
//
// Invariant: with TP 1 and pages of one token, the sums over all layers are the totals of the model
// (ArchTotals). Sources: KV heads are replicated once TP exceeds them (vLLM, QKVParallelLinear); a
// latent cache is written once per TP rank (as logged for GLM-5.3, vllm-project/recipes#893);
// Mamba's B and C belong to groups of heads, which are copied once TP exceeds them (vLLM,
// mamba_utils).
#include "model/plan/memory_cache.h"

#include <stdbool.h>

#include "model/base/wide.h"

// Of `count` heads or groups, what a rank holds.
static uint64_t held(uint64_t count, uint32_t tp) {
    return count > tp ? wide_div_up_u64(count, tp) : count > 0;
}

// Elements per token on one rank.
static uint64_t rank_elements(const AttentionSpec *spec, uint32_t tp) {
    if (spec->kind != ATTENTION_GQA || spec->kv_heads == 0) return spec->kv_elements_per_token;
    return spec->kv_elements_per_token / spec->kv_heads * held(spec->kv_heads, tp);
}

static uint64_t index_key_B(NumFmt format, const AttentionSpec *spec) {
    if (format == NUMFMT_FP8 && spec->index_packed_B > 0) return spec->index_packed_B;
    return numfmt_bytes(format, spec->index_elements);
}

static uint64_t kv_token_B(NumFmt format, const AttentionSpec *spec, uint32_t tp) {
    if (format == NUMFMT_FP8 && spec->kv_packed_B_per_token > 0) return spec->kv_packed_B_per_token;
    return numfmt_bytes(format, rank_elements(spec, tp));
}

// Channels of the convolution before the state on one of `tp` ranks.
static uint64_t conv_channels(const AttentionSpec *spec, uint32_t tp) {
    uint64_t values =
        held(spec->heads, tp) * (spec->value_dim > 0 ? spec->value_dim : spec->head_dim);
    if (spec->kind == ATTENTION_MAMBA1) return values;
    if (spec->kind == ATTENTION_MAMBA2)
        return values + 2 * held(spec->groups, tp) * spec->state_dim;
    return values + 2 * held(spec->kv_heads, tp) * spec->head_dim;
}

// The last conv - 1 inputs of each channel, in BF16.
static uint64_t conv_B(const AttentionSpec *spec, uint32_t tp) {
    return spec->conv > 1 ? (uint64_t)(spec->conv - 1) * 2 * conv_channels(spec, tp) : 0;
}

static uint64_t rank_state_B(const AttentionSpec *spec, uint32_t tp) {
    uint64_t whole = spec->state_B_per_sequence, tail = conv_B(spec, 1);
    if (spec->heads == 0 || tail > whole || spec->kind == ATTENTION_MAMBA1)
        return wide_div_up_u64(whole, tp);
    return wide_mul_div_up(whole - tail, held(spec->heads, tp), spec->heads) + conv_B(spec, tp);
}

uint32_t memory_cache_ways(const Pool *pool, const AttentionSpec *spec) {
    bool has_tokens = spec->kind == ATTENTION_GQA || spec->kind == ATTENTION_MLA;
    return has_tokens && spec->window == 0 && pool->dcp > 1 ? pool->dcp : 1;
}

NumFmt memory_cache_format(const Pool *pool, NumFmt dtype) {
    return pool->kv_format == NUMFMT_BF16 && dtype == NUMFMT_F32 ? NUMFMT_F32 : pool->kv_format;
}

void memory_cache_layer(const Pool *pool, NumFmt dtype, const AttentionSpec *spec,
                        MemoryLayer *out) {
    uint64_t blocks = spec->per_layer > 0 ? spec->per_layer : 1;
    NumFmt format = memory_cache_format(pool, dtype);
    uint64_t index_B = index_key_B(format, spec);
    *out = (MemoryLayer){
        .window = spec->window, .ratio = spec->ratio, .split = memory_cache_ways(pool, spec)};
    out->token_B = blocks * (kv_token_B(format, spec, pool->tp) +
                             (spec->kind == ATTENTION_COMPRESSED ? 0 : index_B));
    if (spec->ratio > 0)
        out->entry_B = blocks * (numfmt_bytes(format, spec->entry_elements) + index_B);
    out->state_B = blocks * rank_state_B(spec, pool->tp);
}

static uint64_t paged(uint64_t tokens, uint64_t page_tokens) {
    return wide_mul_saturate(wide_div_up_u64(tokens, page_tokens), page_tokens);
}

uint64_t memory_cache_pages(const MemoryLayer *layer, uint64_t tokens, uint64_t page_tokens) {
    if (layer->window > 0 && tokens > layer->window)
        return wide_div_up_u64(layer->window, page_tokens) + (page_tokens > 1);
    return wide_div_up_u64(wide_div_up_u64(tokens, layer->split), page_tokens);
}

uint64_t memory_cache_layer_B(const MemoryLayer *layer, uint64_t tokens, uint64_t page_tokens) {
    uint64_t pages = memory_cache_pages(layer, tokens, page_tokens);
    uint64_t total = wide_mul_saturate(wide_mul_saturate(pages, page_tokens), layer->token_B);
    if (layer->ratio == 0) return total;
    uint64_t here = wide_div_up_u64(tokens, layer->split);
    uint64_t entries = page_tokens > 1 ? wide_div_up_u64(paged(here, page_tokens), layer->ratio)
                                       : here / layer->ratio;
    return wide_add_saturate(total, wide_mul_saturate(entries, layer->entry_B));
}

// ---- Sums over a stage.

typedef uint64_t (*LayerFigure)(const MemoryLayer *layer, const uint64_t *arguments);

static uint64_t sum_layers(const Pool *pool, const Arch *arch, uint32_t stage, LayerFigure figure,
                           const uint64_t *arguments) {
    uint32_t first, count;
    uint64_t sum = 0;
    pool_stage_layers(pool, arch->layers, stage, &first, &count);
    for (uint32_t i = first; i < first + count; i++) {
        const LayerKind *kind = &arch->kinds[arch->kind_of_layer[i]];
        MemoryLayer layer;
        memory_cache_layer(pool, arch->dtype, &arch->attentions[kind->attention], &layer);
        sum = wide_add_saturate(sum, figure(&layer, arguments));
    }
    return sum;
}

static uint64_t sequence_figure(const MemoryLayer *layer, const uint64_t *arguments) {
    return memory_cache_layer_B(layer, arguments[0], arguments[1]);
}

static uint64_t state_figure(const MemoryLayer *layer, const uint64_t *arguments) {
    (void)arguments;
    return layer->state_B;
}

uint64_t memory_cache_sequence_B(const Pool *pool, const Arch *arch, uint32_t stage,
                                 uint64_t tokens, uint64_t page_tokens) {
    const uint64_t arguments[] = {tokens, page_tokens};
    return sum_layers(pool, arch, stage, sequence_figure, arguments);
}

uint64_t memory_cache_state_B(const Pool *pool, const Arch *arch, uint32_t stage) {
    return sum_layers(pool, arch, stage, state_figure, NULL);
}

// Growth by as many tokens as every ratio and every split divides, so that nothing is rounded off
// before the sum.
#define GROWTH_TOKENS (UINT64_C(1) << 20)

static uint64_t growth_figure(const MemoryLayer *layer, const uint64_t *arguments) {
    (void)arguments;
    uint64_t here = GROWTH_TOKENS / layer->split;
    uint64_t growth = layer->window > 0 ? 0 : wide_mul_saturate(here, layer->token_B);
    if (layer->ratio > 0)
        growth = wide_add_saturate(growth, wide_mul_div(here, layer->entry_B, layer->ratio));
    return growth;
}

uint64_t memory_cache_token_B(const Pool *pool, const Arch *arch, uint32_t stage) {
    return wide_div_up_u64(sum_layers(pool, arch, stage, growth_figure, NULL), GROWTH_TOKENS);
}
