// Who holds what in a pool: counts of ranks, layers of a stage, experts of a rank.
//
// Invariant: stages and EP positions cover all layers and experts once, in order; EP positions
// differ by at most one expert. Sources: vLLM's linear placement of experts, base = E / EP and the
// first E mod EP ranks one more; get_pp_indices of vLLM (distributed/utils.py) and of SGLang for
// the layers.
#include "model/plan/pool.h"

#include <assert.h>

uint32_t pool_token_groups(const Pool *pool) {
    return pool->dp * pool->cp;
}

uint32_t pool_stage_ranks(const Pool *pool) {
    return pool->tp * pool_token_groups(pool);
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

// Of `layers` that leave a remainder of `longer`, how many of it lie on the stages before `stage`,
// with `stage` == pp all of it.
static uint32_t longer_before(const Pool *pool, uint32_t longer, uint32_t stage) {
    uint32_t pp = pool->pp, from = 0; // the first stage that is longer
    switch (pool->stage_cut) {
    case STAGE_CUT_VLLM_OLD: return stage == pp ? longer : 0;
    case STAGE_CUT_VLLM: from = longer > 0 ? pp - 1 - longer : 0; break;
    case STAGE_CUT_SGLANG: from = pp - longer; break;
    case STAGE_CUT_EVEN:
    case STAGE_CUT_LISTED:
    case STAGE_CUT_COUNT: break;
    }
    uint32_t passed = stage > from ? stage - from : 0;
    return passed < longer ? passed : longer;
}

static void listed_layers(const Pool *pool, uint32_t stage, uint32_t *first, uint32_t *count) {
    *first = 0;
    for (uint32_t i = 0; i < stage; i++) *first += pool->stages[i];
    *count = pool->stages[stage];
}

void pool_stage_layers(const Pool *pool, uint32_t layers, uint32_t stage, uint32_t *first,
                       uint32_t *count) {
    assert(stage < pool->pp);
    if (pool->stage_cut == STAGE_CUT_LISTED) {
        listed_layers(pool, stage, first, count);
        return;
    }
    uint32_t base = layers / pool->pp, longer = layers % pool->pp;
    uint32_t before = longer_before(pool, longer, stage);
    *first = stage * base + before;
    *count = base + longer_before(pool, longer, stage + 1) - before;
}

uint32_t pool_slots(const Pool *pool, uint32_t experts) {
    return experts > 0 ? experts + pool->redundant_experts : 0;
}

void pool_experts(const Pool *pool, uint32_t experts, uint32_t index, uint32_t *first,
                  uint32_t *count) {
    pool_cut(experts, pool->ep, index, first, count);
}
