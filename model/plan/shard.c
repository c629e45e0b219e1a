// Weight bytes by rank: the rule of each tensor class, applied to the ranks of each pipeline stage.
//
// Invariant: summed over the ranks of a replica, a tensor counts its checkpoint bytes, plus once
// more for each further copy (redundant experts are copies) and plus the padding of the vocabulary;
// nothing else. Sources: how
// vLLM slices: columns and rows by TP in whole heads, vocabulary rows padded to a multiple of 64,
// KV heads replicated once TP exceeds them, first stage embedding, last stage norm and head (and
// the embedding again when tied).
#include "model/plan/shard.h"

#include <assert.h>
#include <string.h>

#include "model/base/wide.h"

#define VOCAB_PAD 64 // rows; vLLM's DEFAULT_VOCAB_PADDING_SIZE

// ---- One tensor.

// The side that is cut: elements along it, in units that stay together.
typedef struct Side {
    uint32_t extent, unit;
} Side;

static Side side_of(const TensorClass *tensor) {
    Side side = {0, tensor->unit > 0 ? tensor->unit : 1};
    switch (tensor->shard) {
    case SHARD_REPLICATED:
    case SHARD_EXPERT_WHOLE: break;
    case SHARD_COLUMN:
    case SHARD_KV:
    case SHARD_VOCAB:
    case SHARD_EXPERT_COLUMN: side.extent = tensor->dims[0]; break;
    case SHARD_ROW:
    case SHARD_EXPERT_ROW:
        side.extent = tensor->dims[tensor->dim_count > 0 ? tensor->dim_count - 1 : 0];
        break;
    }
    return side;
}

// Bytes of `part` of `extent` equal slices of the tensor.
static uint64_t slice_B(const TensorClass *tensor, uint64_t part, uint32_t extent) {
    return wide_mul_div_up(tensor->bytes, part, extent);
}

// Elements of the side on position `index`: units dealt out evenly, the last unit may be short.
static uint64_t dealt(Side side, uint32_t ways, uint32_t index) {
    uint64_t units = wide_div_up_u64(side.extent, side.unit);
    uint64_t base = units / ways, longer = units % ways;
    uint64_t first = index * base + (index < longer ? index : longer);
    uint64_t end = (first + base + (index < longer)) * side.unit;
    uint64_t start = first * side.unit;
    if (end > side.extent) end = side.extent;
    return end > start ? end - start : 0;
}

uint32_t shard_vocab_rows(uint32_t vocab, uint32_t ways) {
    uint64_t padded = wide_div_up_u64(vocab, VOCAB_PAD) * VOCAB_PAD;
    if (padded % ways == 0) return (uint32_t)(padded / ways);
    uint64_t rows = (padded / ways / VOCAB_PAD + 1) * VOCAB_PAD;
    return (uint32_t)rows;
}

// More ranks than KV heads: each rank holds one head, each head is on several ranks.
static bool is_one_head_each(const TensorClass *tensor, Side side, uint32_t ways) {
    return tensor->shard == SHARD_KV && (uint64_t)side.unit * ways > side.extent;
}

uint64_t shard_cut_B(const TensorClass *tensor, uint32_t ways, uint32_t index) {
    assert(ways > 0 && index < ways);
    Side side = side_of(tensor);
    if (side.extent == 0) return tensor->bytes;
    if (tensor->shard == SHARD_VOCAB)
        return slice_B(tensor, shard_vocab_rows(side.extent, ways), side.extent);
    if (is_one_head_each(tensor, side, ways))
        return slice_B(tensor, side.unit < side.extent ? side.unit : side.extent, side.extent);
    return slice_B(tensor, dealt(side, ways, index), side.extent);
}

uint64_t shard_all_B(const TensorClass *tensor, uint32_t ways) {
    Side side = side_of(tensor);
    bool copied =
        side.extent == 0 || tensor->shard == SHARD_VOCAB || is_one_head_each(tensor, side, ways);
    return copied ? ways * shard_cut_B(tensor, ways, 0) : tensor->bytes;
}

// ---- One stage.

static bool is_routed(const TensorClass *tensor) {
    return tensor->shard == SHARD_EXPERT_COLUMN || tensor->shard == SHARD_EXPERT_ROW ||
           tensor->shard == SHARD_EXPERT_WHOLE;
}

// How many tensors of a class a stage has, over its layers; routed experts count all of them.
static uint64_t stage_tensors(const Pool *pool, const Arch *arch, uint32_t stage,
                              const uint32_t *kind_layers, const TensorClass *tensor) {
    if (tensor->component == COMPONENT_MTP || tensor->component == COMPONENT_VISION) return 0;
    if (tensor->layer_kind < arch->kind_count)
        return (uint64_t)kind_layers[tensor->layer_kind] * tensor->per_layer;
    bool first = stage == 0, last = stage == pool->pp - 1;
    if (tensor->component == COMPONENT_EMBEDDING)
        return first || (last && arch->tied_embeddings) ? tensor->per_layer : 0;
    return last ? tensor->per_layer : 0;
}

// Experts of the class on the first and on the last EP position, in one layer.
static void routed_ends(const Pool *pool, uint32_t slots, uint64_t *most, uint64_t *least) {
    *least = slots / pool->ep;
    *most = *least + (slots % pool->ep != 0);
}

static void add_routed(const Pool *pool, const TensorClass *tensor, uint64_t layers,
                       StageWeights *out) {
    uint64_t most, least;
    uint32_t slots = pool_slots(pool, tensor->per_layer);
    routed_ends(pool, slots, &most, &least);
    uint64_t largest = layers * most * shard_cut_B(tensor, pool->moe_tp, 0);
    out->component_B[tensor->component] += largest;
    out->largest_B += largest;
    out->smallest_B += layers * least * shard_cut_B(tensor, pool->moe_tp, pool->moe_tp - 1);
    out->total_B += layers * slots * shard_all_B(tensor, pool->moe_tp);
}

static void add_cut(const Pool *pool, const TensorClass *tensor, uint64_t count,
                    StageWeights *out) {
    uint64_t largest = count * shard_cut_B(tensor, pool->tp, 0);
    out->component_B[tensor->component] += largest;
    out->largest_B += largest;
    out->smallest_B += count * shard_cut_B(tensor, pool->tp, pool->tp - 1);
    out->total_B += count * pool->dp * shard_all_B(tensor, pool->tp);
    if (tensor->shard == SHARD_REPLICATED) out->replicated_B += largest;
}

static void count_layers(const Pool *pool, const Arch *arch, uint32_t stage, uint32_t *out) {
    uint32_t first, count;
    memset(out, 0, arch->kind_count * sizeof *out);
    pool_stage_layers(pool, arch->layers, stage, &first, &count);
    for (uint32_t layer = first; layer < first + count; layer++) out[arch->kind_of_layer[layer]]++;
}

void shard_weights(const Plan *plan, uint32_t pool_index, const Arch *arch, Arena *arena,
                   ShardSummary *out) {
    const Pool *pool = &plan->pools[pool_index];
    uint32_t *kind_layers = arena_alloc(arena, arch->kind_count, sizeof *kind_layers);
    *out = (ShardSummary){.stages = arena_alloc(arena, pool->pp, sizeof *out->stages)};
    for (uint32_t stage = 0; stage < pool->pp; stage++) {
        StageWeights *weights = &out->stages[stage];
        count_layers(pool, arch, stage, kind_layers);
        for (uint32_t i = 0; i < arch->tensor_count; i++) {
            const TensorClass *tensor = &arch->tensors[i];
            uint64_t count = stage_tensors(pool, arch, stage, kind_layers, tensor);
            if (count == 0) continue;
            if (is_routed(tensor))
                add_routed(pool, tensor, count / tensor->per_layer, weights);
            else
                add_cut(pool, tensor, count, weights);
        }
        if (weights->largest_B > out->largest_B) out->largest_B = weights->largest_B;
        out->total_B += weights->total_B;
    }
}
