// Owners by definition.
#include "tests/plan/hand_owner.h"

#include "model/base/wide.h"

// Unit `unit` of `units` dealt over `ways`: the first get one more.
static bool has_unit(uint64_t units, uint64_t unit, uint32_t ways, uint32_t index) {
    uint64_t next = 0;
    for (uint32_t w = 0; w < ways; w++) {
        uint64_t count = units / ways + (w < units % ways);
        if (w == index) return unit >= next && unit < next + count;
        next += count;
    }
    return false;
}

static bool has_head(uint64_t heads, uint64_t head, uint32_t ways, uint32_t index) {
    if (heads >= ways) return has_unit(heads, head, ways, index);
    return index / (ways / heads) == head;
}

// Position `at` along the axis of an extent.
static bool owns_at(const TensorClass *tensor, uint64_t extent, uint64_t at, uint32_t ways,
                    uint32_t index) {
    switch (tensor->shard) {
    case SHARD_REPLICATED:
    case SHARD_EXPERT_WHOLE: return true;
    case SHARD_VOCAB: return at / (wide_div_up_u64(extent, 64) * 64 / ways) == index;
    case SHARD_KV: return has_head(extent / tensor->unit, at / tensor->unit, ways, index);
    case SHARD_COLUMN:
    case SHARD_ROW:
    case SHARD_EXPERT_COLUMN:
    case SHARD_EXPERT_ROW: break;
    }
    if (tensor->interleaved) return has_unit(extent / 2, at / 2, ways, index);
    for (uint32_t i = 0; i < tensor->segment_count; i++) {
        const TensorSegment *part = &tensor->segments[i];
        if (at >= part->extent) {
            at -= part->extent;
            continue;
        }
        uint64_t units = part->extent / part->unit, unit = at / part->unit;
        return part->is_kv ? has_head(units, unit, ways, index)
                           : has_unit(units, unit, ways, index);
    }
    return has_unit(extent / tensor->unit, at / tensor->unit, ways, index);
}

static bool owns_expert(const Pool *pool, uint32_t experts, uint32_t expert, uint32_t in_stage) {
    return has_unit(experts, expert, pool->ep, in_stage / pool->moe_tp);
}

// Element `index` (row-major) of tensor `member` of a class.
static bool owns_element(const Pool *pool, const TensorClass *tensor, uint32_t member,
                         uint64_t index, uint32_t in_stage) {
    uint64_t inner = 1, rest, extent = tensor->dim_count > 0 ? tensor->dims[tensor->axis] : 1;
    for (uint32_t i = tensor->axis + 1; i < tensor->dim_count; i++) inner *= tensor->dims[i];
    uint64_t at = index / inner % extent;
    bool routed = tensor->shard >= SHARD_EXPERT_COLUMN;
    if (!routed) return owns_at(tensor, extent, at, pool->tp, in_stage % pool->tp);
    uint32_t experts = tensor->per_layer, expert = member;
    if (tensor->fused_experts > 0) {
        rest = tensor->bytes * 8 / tensor->element_bits / tensor->fused_experts;
        experts = tensor->fused_experts;
        expert = (uint32_t)(index / rest);
        if (tensor->axis == 0) extent /= experts, at %= extent;
    }
    return owns_expert(pool, experts, expert, in_stage) &&
           owns_at(tensor, extent, at, pool->moe_tp, in_stage % pool->moe_tp);
}

static bool has_layer(const Pool *pool, const Arch *arch, uint32_t stage,
                      const InventoryTensor *tensor) {
    uint32_t first, count;
    if (tensor->class->component == COMPONENT_MTP || tensor->class->component == COMPONENT_VISION)
        return false;
    pool_stage_layers(pool, arch->layers, stage, &first, &count);
    if (tensor->layer != INVENTORY_NONE)
        return tensor->layer >= first && tensor->layer < first + count;
    bool last = stage == pool->pp - 1;
    if (tensor->class->component == COMPONENT_EMBEDDING)
        return stage == 0 || (last && arch->tied_embeddings);
    return last;
}

uint32_t hand_owner_member(HandMembers *members, const Arch *arch, const InventoryTensor *tensor) {
    return members->seen[tensor->class - arch->tensors]++ % tensor->class->per_layer;
}

bool hand_owner_has(const Pool *pool, const Arch *arch, uint32_t rank,
                    const InventoryTensor *tensor, uint32_t member, uint64_t byte) {
    uint32_t ranks = pool_stage_ranks(pool);
    return has_layer(pool, arch, rank / ranks, tensor) &&
           owns_element(pool, tensor->class, member, byte * 8 / tensor->class->element_bits,
                        rank % ranks);
}
