// Who holds what in a pool: counts of ranks, layers of a stage, experts of a rank.
//
// Invariant: stages and EP positions cover all layers and experts once, in order, and sizes differ
// by at most one. Source of the expert rule: vLLM's linear placement, base = E / EP and the first E
// mod EP ranks one more.
#include "model/plan/pool.h"

#include <assert.h>

uint32_t pool_stage_ranks(const Pool *pool) {
    return pool->tp * pool->dp;
}

uint32_t pool_replica_ranks(const Pool *pool) {
    return pool_stage_ranks(pool) * pool->pp;
}

uint32_t pool_ranks(const Pool *pool) {
    return pool_replica_ranks(pool) * pool->replicas;
}

void pool_cut(uint32_t total, uint32_t parts, uint32_t index, uint32_t *first, uint32_t *count) {
    assert(parts > 0 && index < parts);
    uint32_t base = total / parts, longer = total % parts;
    *first = index * base + (index < longer ? index : longer);
    *count = base + (index < longer);
}

void pool_stage_layers(const Pool *pool, uint32_t layers, uint32_t stage, uint32_t *first,
                       uint32_t *count) {
    pool_cut(layers, pool->pp, stage, first, count);
}

uint32_t pool_slots(const Pool *pool, uint32_t experts) {
    return experts > 0 ? experts + pool->redundant_experts : 0;
}

void pool_experts(const Pool *pool, uint32_t experts, uint32_t index, uint32_t *first,
                  uint32_t *count) {
    pool_cut(experts, pool->ep, index, first, count);
}
