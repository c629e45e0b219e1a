// Weight bytes by rank: the rule of each tensor class, applied to the ranks of each pipeline stage.
//
// Invariant: summed over the ranks of a replica, a tensor counts its checkpoint bytes, plus once
// more for each further copy (redundant experts are copies) and plus the padding of the vocabulary;
// nothing else. Sources: how vLLM places: first stage embedding, last stage norm and head (and the
// embedding again when tied); how a tensor is cut is in shard_slice.c.
#include "model/plan/shard.h"

#include <string.h>

#include "model/base/wide.h"
#include "model/plan/shard_slice.h"

// ---- One tensor.

uint64_t shard_expert_B(const TensorClass *tensor, uint32_t ways, uint32_t index) {
    ShardPart part;
    uint64_t extent = shard_slice_shape(tensor).extent;
    shard_slice_part(tensor, ways, index, &part);
    uint64_t held = part.padding;
    for (uint32_t i = 0; i < part.run_count; i++) held += part.runs[i].count;
    return extent > 0 ? wide_mul_div_up(shard_slice_whole_B(tensor), held, extent) : 0;
}

uint64_t shard_cut_B(const TensorClass *tensor, uint32_t ways, uint32_t index) {
    uint32_t stacked = shard_slice_stacked(tensor);
    return (stacked > 0 ? stacked : 1) * shard_expert_B(tensor, ways, index);
}

// What all positions together hold of one expert, or of a tensor.
static uint64_t all_B(const TensorClass *tensor, uint32_t ways) {
    uint64_t extent = shard_slice_shape(tensor).extent;
    uint64_t held = shard_slice_all(tensor, ways);
    return extent > 0 ? wide_mul_div_up(shard_slice_whole_B(tensor), held, extent) : 0;
}

uint64_t shard_all_B(const TensorClass *tensor, uint32_t ways) {
    uint32_t stacked = shard_slice_stacked(tensor);
    return (stacked > 0 ? stacked : 1) * all_B(tensor, ways);
}

// ---- One layer.

// What the ranks of a stage hold of all tensors of a class in one layer (outside of the layers: in
// the model): the first rank, the last one, and all together.
typedef struct ClassWeights {
    uint64_t largest_B, smallest_B, total_B;
} ClassWeights;

static ClassWeights weigh_routed(const Pool *pool, const TensorClass *tensor) {
    uint64_t slots = pool_slots(pool, shard_slice_experts(tensor));
    uint64_t stacks = shard_slice_stacks(tensor);
    uint64_t least = slots / pool->ep, most = least + (slots % pool->ep != 0);
    return (ClassWeights){stacks * most * shard_expert_B(tensor, pool->moe_tp, 0),
                          stacks * least * shard_expert_B(tensor, pool->moe_tp, pool->moe_tp - 1),
                          stacks * slots * all_B(tensor, pool->moe_tp)};
}

static ClassWeights weigh(const Pool *pool, const TensorClass *tensor) {
    if (shard_slice_is_routed(tensor)) return weigh_routed(pool, tensor);
    return (ClassWeights){tensor->per_layer * shard_cut_B(tensor, pool->tp, 0),
                          tensor->per_layer * shard_cut_B(tensor, pool->tp, pool->tp - 1),
                          tensor->per_layer * pool_token_groups(pool) *
                              shard_all_B(tensor, pool->tp)};
}

// ---- Stages.

uint32_t shard_stage_repeats(const Pool *pool, const Arch *arch, uint32_t stage,
                             const uint32_t *kind_layers, const TensorClass *tensor) {
    if (tensor->component == COMPONENT_MTP || tensor->component == COMPONENT_VISION) return 0;
    if (tensor->layer_kind < arch->kind_count) return kind_layers[tensor->layer_kind];
    bool first = stage == 0, last = stage == pool->pp - 1;
    if (tensor->component == COMPONENT_EMBEDDING) return first || (last && arch->tied_embeddings);
    return last;
}

void shard_stage_kinds(const Pool *pool, const Arch *arch, uint32_t stage, uint32_t *out) {
    uint32_t first, count;
    memset(out, 0, arch->kind_count * sizeof *out);
    pool_stage_layers(pool, arch->layers, stage, &first, &count);
    for (uint32_t layer = first; layer < first + count; layer++) out[arch->kind_of_layer[layer]]++;
}

static void add_class(const TensorClass *tensor, const ClassWeights *each, uint64_t count,
                      StageWeights *out) {
    out->component_B[tensor->component] += count * each->largest_B;
    out->largest_B += count * each->largest_B;
    out->smallest_B += count * each->smallest_B;
    out->total_B += count * each->total_B;
    if (tensor->shard == SHARD_REPLICATED) out->replicated_B += count * each->largest_B;
}

void shard_weights(const Plan *plan, uint32_t pool_index, const Arch *arch, Arena *arena,
                   ShardSummary *out) {
    const Pool *pool = &plan->pools[pool_index];
    uint32_t *kind_layers = arena_alloc(arena, arch->kind_count, sizeof *kind_layers);
    ClassWeights *classes = arena_alloc(arena, arch->tensor_count, sizeof *classes);
    for (uint32_t i = 0; i < arch->tensor_count; i++) classes[i] = weigh(pool, &arch->tensors[i]);
    *out = (ShardSummary){.stages = arena_alloc(arena, pool->pp, sizeof *out->stages)};
    for (uint32_t stage = 0; stage < pool->pp; stage++) {
        StageWeights *weights = &out->stages[stage];
        shard_stage_kinds(pool, arch, stage, kind_layers);
        for (uint32_t i = 0; i < arch->tensor_count; i++) {
            const TensorClass *tensor = &arch->tensors[i];
            uint32_t count = shard_stage_repeats(pool, arch, stage, kind_layers, tensor);
            if (count > 0) add_class(tensor, &classes[i], count, weights);
        }
        if (weights->largest_B > out->largest_B) out->largest_B = weights->largest_B;
        out->total_B += weights->total_B;
    }
}
