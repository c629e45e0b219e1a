// Stages of a pipeline from the costs of layers.
//
// Invariant: no contiguous cut has a smaller largest stage. The smallest bound that a greedy
// filling keeps is found by bisection (costs are integers); then, over the cuts within that bound,
// a table over (stage, layers) keeps the least sum of squares. Source of the problem and of the
// bisection: A. Pinar, C. Aykanat, "Fast optimal load balancing algorithms for 1D partitioning",
// JPDC 2004.
#include "model/plan/stage_cut.h"

#include <assert.h>
#include <string.h>

#include "model/base/wide.h"
#include "model/plan/memory_cache.h"
#include "model/plan/shard.h"
#include "model/plan/shard_slice.h"

#define NO_SUM ((Wide)UINT64_MAX << 64 | UINT64_MAX)

// ---- Costs.

// Bytes, and weights that a token of a prompt passes, of one layer or of a table.
typedef struct Weight {
    uint64_t held_B, passed;
} Weight;

// Of routed experts, the chosen ones of those that the layer has.
static uint64_t passed_by_token(const Arch *arch, const TensorClass *tensor) {
    uint64_t all = wide_mul_saturate(tensor->parameters, tensor->per_layer);
    if (tensor->component == COMPONENT_EMBEDDING || tensor->component == COMPONENT_HEAD) return 0;
    if (!shard_slice_is_routed(tensor) || tensor->layer_kind >= arch->kind_count) return all;
    const MlpSpec *mlp = &arch->mlps[arch->kinds[tensor->layer_kind].mlp];
    return mlp->experts > 0 ? wide_mul_div(all, mlp->top_k, mlp->experts) : all;
}

static uint64_t held_B(const Pool *pool, const TensorClass *tensor) {
    if (!shard_slice_is_routed(tensor))
        return wide_mul_saturate(tensor->per_layer, shard_cut_B(tensor, pool->tp, 0));
    uint64_t slots = pool_slots(pool, shard_slice_experts(tensor));
    return wide_mul_saturate(wide_div_up_u64(slots, pool->ep) * shard_slice_stacks(tensor),
                             shard_expert_B(tensor, pool->moe_tp, 0));
}

// Of all sequences, in one layer of a kind.
static uint64_t cached_B(const Arch *arch, const Pool *pool, const StageCache *cache,
                         uint32_t kind) {
    MemoryLayer layer;
    memory_cache_layer(pool, arch->dtype, &arch->attentions[arch->kinds[kind].attention], &layer);
    uint64_t sequence_B =
        wide_add_saturate(memory_cache_layer_B(&layer, cache->tokens, 1), layer.state_B);
    return wide_mul_saturate(cache->sequences, sequence_B);
}

static void add_weight(Weight *sum, const Weight *more, uint64_t times) {
    sum->held_B = wide_add_saturate(sum->held_B, wide_mul_saturate(more->held_B, times));
    sum->passed = wide_add_saturate(sum->passed, wide_mul_saturate(more->passed, times));
}

// The mean of two shares of STAGE_CUT_WHOLE.
static uint64_t cost_of(const Weight *weight, const Weight *whole) {
    uint64_t bytes =
        whole->held_B > 0 ? wide_mul_div(weight->held_B, STAGE_CUT_WHOLE, whole->held_B) : 0;
    uint64_t compute =
        whole->passed > 0 ? wide_mul_div(weight->passed, STAGE_CUT_WHOLE, whole->passed) : 0;
    return bytes / 2 + compute / 2;
}

void stage_cut_costs(const Arch *arch, const Pool *pool, const StageCache *cache, Arena *arena,
                     StageCosts *out) {
    Weight *kinds = arena_alloc(arena, arch->kind_count, sizeof *kinds);
    Weight table = {0}, end = {0}, whole = {0};
    for (uint32_t i = 0; i < arch->tensor_count; i++) {
        const TensorClass *tensor = &arch->tensors[i];
        if (tensor->component == COMPONENT_MTP || tensor->component == COMPONENT_VISION) continue;
        Weight weight = {held_B(pool, tensor), passed_by_token(arch, tensor)};
        bool in_layers = tensor->layer_kind < arch->kind_count;
        bool is_table = tensor->component == COMPONENT_EMBEDDING;
        add_weight(in_layers ? &kinds[tensor->layer_kind] : is_table ? &table : &end, &weight, 1);
    }
    if (arch->tied_embeddings) add_weight(&end, &table, 1); // a copy
    add_weight(&whole, &table, 1);
    add_weight(&whole, &end, 1);
    for (uint32_t k = 0; k < arch->kind_count; k++) {
        Weight cached = {cached_B(arch, pool, cache, k), 0};
        add_weight(&kinds[k], &cached, 1);
        add_weight(&whole, &kinds[k], arch->kinds[k].count);
    }
    *out = (StageCosts){.layers = arena_alloc(arena, arch->layers, sizeof *out->layers),
                        .first = cost_of(&table, &whole),
                        .last = cost_of(&end, &whole),
                        .layer_count = arch->layers};
    for (uint32_t i = 0; i < arch->layers; i++)
        out->layers[i] = cost_of(&kinds[arch->kind_of_layer[i]], &whole);
}

// ---- The cut.

// Layers [*, end) of stage `stage`, whose first layer is `first`.
static uint64_t stage_cost(const StageCosts *costs, const uint64_t *sums, uint32_t stages,
                           uint32_t stage, uint32_t first, uint32_t end) {
    uint64_t cost = sums[end] - sums[first];
    if (stage == 0) cost += costs->first;
    if (stage == stages - 1) cost += costs->last;
    return cost;
}

// Whether stages within `bound` hold all layers, at least one each: each takes as many as it can.
static bool is_enough(const StageCosts *costs, const uint64_t *sums, uint32_t stages,
                      uint64_t bound) {
    uint32_t at = 0;
    for (uint32_t stage = 0; stage < stages; stage++) {
        bool is_last = stage == stages - 1;
        uint32_t most = costs->layer_count - (stages - 1 - stage), end = is_last ? most : at;
        while (!is_last && end < most &&
               stage_cost(costs, sums, stages, stage, at, end + 1) <= bound)
            end++;
        if (end == at || stage_cost(costs, sums, stages, stage, at, end) > bound) return false;
        at = end;
    }
    return true;
}

static uint64_t least_bound(const StageCosts *costs, const uint64_t *sums, uint32_t stages) {
    uint64_t low = 0, high = sums[costs->layer_count] + costs->first + costs->last;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (is_enough(costs, sums, stages, middle))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

// best[s][i]: the least sum of squares of stages s .. stages-1 over the layers from i on, and where
// stage s ends then; of equal sums the later end.
typedef struct Tail {
    Wide sum;
    uint32_t end;
} Tail;

static Tail best_tail(const StageCosts *costs, const uint64_t *sums, uint32_t stages,
                      uint32_t stage, uint32_t first, uint64_t bound, const Tail *after) {
    Tail best = {NO_SUM, 0};
    uint32_t layers = costs->layer_count, most = layers - (stages - 1 - stage);
    uint32_t end = stage == stages - 1 ? layers : first + 1;
    for (; end <= most; end++) {
        uint64_t cost = stage_cost(costs, sums, stages, stage, first, end);
        if (cost > bound) break;
        Wide rest = stage == stages - 1 ? 0 : after[end].sum;
        if (rest == NO_SUM) continue;
        Wide sum = wide_mul(cost, cost) + rest;
        if (sum <= best.sum) best = (Tail){sum, end};
    }
    return best;
}

uint64_t stage_cut_list(const StageCosts *costs, uint32_t stages, uint32_t *out_layers) {
    uint32_t layers = costs->layer_count, row = layers + 1;
    assert(stages > 0 && stages <= layers && stages <= POOL_STAGES_MAX);
    Arena arena = {0};
    uint64_t *sums = arena_alloc(&arena, row, sizeof *sums);
    Tail *tails = arena_alloc(&arena, (size_t)stages * row, sizeof *tails);
    for (uint32_t i = 0; i < layers; i++) sums[i + 1] = sums[i] + costs->layers[i];
    uint64_t bound = least_bound(costs, sums, stages);
    for (uint32_t stage = stages; stage-- > 0;) {
        Tail *here = tails + (size_t)stage * row;
        for (uint32_t first = 0; first <= layers; first++) {
            bool can = first >= stage && first + (stages - stage) <= layers;
            here[first] = (Tail){NO_SUM, 0};
            if (can) here[first] = best_tail(costs, sums, stages, stage, first, bound, here + row);
        }
    }
    for (uint32_t stage = 0, at = 0; stage < stages; stage++) {
        uint32_t end = tails[(size_t)stage * row + at].end;
        out_layers[stage] = end - at;
        at = end;
    }
    arena_free(&arena);
    return bound;
}

static bool is_even(const Pool *pool, uint32_t layers, const uint32_t *list) {
    Pool even = *pool;
    even.stage_cut = STAGE_CUT_EVEN;
    for (uint32_t stage = 0; stage < pool->pp; stage++) {
        uint32_t first, count;
        pool_stage_layers(&even, layers, stage, &first, &count);
        if (list[stage] != count) return false;
    }
    return true;
}

void stage_cut_by_cost(const Arch *arch, const StageCache *cache, Pool *pool) {
    if (pool->pp > POOL_STAGES_MAX || pool->pp > arch->layers) return;
    Arena arena = {0};
    StageCosts costs;
    uint32_t list[POOL_STAGES_MAX] = {0};
    stage_cut_costs(arch, pool, cache, &arena, &costs);
    stage_cut_list(&costs, pool->pp, list);
    memset(pool->stages, 0, sizeof pool->stages);
    pool->stage_cut = is_even(pool, arch->layers, list) ? STAGE_CUT_EVEN : STAGE_CUT_LISTED;
    if (pool->stage_cut == STAGE_CUT_LISTED) memcpy(pool->stages, list, sizeof list);
    arena_free(&arena);
}

void stage_cut_as_engine(Pool *pool, StageCut rule) {
    if (pool->stage_cut != STAGE_CUT_LISTED) pool->stage_cut = rule;
}
