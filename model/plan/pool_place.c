// Places ranks: one pass over the TP groups in order.
//
// Names and meaning: Slurm's --distribution (block, cyclic, plane), Megatron-LM's order of
// dimensions (tp-dp-pp, --use-tp-pp-dp-mapping).
//
// Invariant: no two ranks share a GPU; ranks of a TP group have consecutive live GPUs.
#include "model/plan/pool_place.h"

#include <inttypes.h>
#include <stdlib.h>

#include "model/base/hash.h"
#include "model/base/mem.h"
#include "model/base/num.h"
#include "model/plan/plan.h"

uint32_t pool_place_node(const Fabric *fabric) {
    if (fabric->domain_size > 1) return fabric->domain_size;
    return fabric->node_size > 0 ? fabric->node_size : 1;
}

// The smallest product of inner digits that is more than a node and less than the machine.
uint32_t pool_place_leaf(const Fabric *fabric) {
    const FabricShape *shape = &fabric->shape;
    uint32_t block = 1, node = pool_place_node(fabric);
    for (uint32_t d = shape->digit_count; d-- > 0;) {
        block *= shape->size[d];
        if (block > node && block % node == 0) return block < fabric->gpu_count ? block : 0;
    }
    return 0;
}

static uint32_t block_of(const Fabric *fabric, uint32_t live, uint32_t block) {
    return fabric_live_gpu(fabric, live) / block;
}

// From TP group `from` on in order to the places `to`.
static void put_group(const Pool *pool, uint32_t group, uint32_t live, uint32_t *out) {
    for (uint32_t t = 0; t < pool->tp; t++) out[group * pool->tp + t] = live + t;
}

static void place_linear(const Pool *pool, uint32_t *out) {
    for (uint32_t r = 0; r < pool_ranks(pool); r++) out[r] = pool->first_gpu + r;
}

static void place_stages(const Pool *pool, uint32_t *out) {
    uint32_t width = pool_token_groups(pool);
    for (uint32_t replica = 0; replica < pool->replicas; replica++)
        for (uint32_t stage = 0; stage < pool->pp; stage++)
            for (uint32_t d = 0; d < width; d++) {
                uint32_t group = (replica * pool->pp + stage) * width + d;
                uint32_t at = (replica * width + d) * pool->pp + stage;
                put_group(pool, group, pool->first_gpu + at * pool->tp, out);
            }
}

// Live GPUs from `first` on that share its block, before `end`.
static uint32_t run_of(const Fabric *fabric, uint32_t first, uint32_t end, uint32_t block) {
    uint32_t count = 1;
    while (first + count < end &&
           block_of(fabric, first + count, block) == block_of(fabric, first, block))
        count++;
    return count;
}

// Blocks take turns; one that is full is left out.
static bool place_dealt(const Fabric *fabric, const Pool *pool, uint32_t block, uint32_t *out,
                        Err *err) {
    uint32_t ranks = pool_ranks(pool), end = pool->first_gpu + ranks, blocks = 0;
    uint32_t *next = mem_alloc(ranks, sizeof *next), *stop = mem_alloc(ranks, sizeof *stop);
    bool done = true;
    for (uint32_t at = pool->first_gpu; done && at < end; at = stop[blocks++]) {
        uint32_t count = run_of(fabric, at, end, block);
        next[blocks] = at;
        stop[blocks] = at + count;
        if (count % pool->tp != 0)
            done = err_set(err,
                           "%" PRIu32 " GPUs of a block of %" PRIu32
                           " are no whole tp groups of %" PRIu32,
                           count, block, pool->tp);
    }
    for (uint32_t group = 0, b = 0; done && group < ranks / pool->tp; b = (b + 1) % blocks) {
        if (next[b] == stop[b]) continue;
        put_group(pool, group++, next[b], out);
        next[b] += pool->tp;
    }
    mem_free(next);
    mem_free(stop);
    return done;
}

// The first place from `at` on where `ranks` do not straddle a block that has room for them.
static uint32_t fitting(const Fabric *fabric, uint32_t at, uint32_t ranks, uint32_t block) {
    uint32_t live = fabric_live_gpu_count(fabric);
    while (block > 0 && at < live && ranks <= block) {
        uint32_t run = run_of(fabric, at, live, block);
        if (run >= ranks) return at;
        at += run;
    }
    return at;
}

// Wider than a node: from the beginning of one.
static uint32_t begin_stage(const Fabric *fabric, uint32_t at, uint32_t ranks) {
    uint32_t node = pool_place_node(fabric), live = fabric_live_gpu_count(fabric);
    bool inside =
        at > 0 && at < live && block_of(fabric, at - 1, node) == block_of(fabric, at, node);
    if (ranks <= node) return fitting(fabric, at, ranks, node);
    if (inside) at += run_of(fabric, at, live, node);
    return fitting(fabric, at, ranks, pool_place_leaf(fabric));
}

static bool place_packed(const Fabric *fabric, const Pool *pool, uint32_t *out, Err *err) {
    uint32_t live = fabric_live_gpu_count(fabric), at = pool->first_gpu,
             width = pool_stage_ranks(pool);
    for (uint32_t stage = 0; stage < pool->replicas * pool->pp; stage++) {
        at = begin_stage(fabric, at, width);
        for (uint32_t g = 0; g < width / pool->tp; g++) {
            at = fitting(fabric, at, pool->tp, pool_place_node(fabric));
            if (at > live || live - at < pool->tp)
                return err_set(err,
                               "stage %" PRIu32 " of %" PRIu32 " finds no room on %" PRIu32
                               " GPUs when none straddles nodes or leaves",
                               stage, pool->replicas * pool->pp, live);
            put_group(pool, stage * (width / pool->tp) + g, at, out);
            at += pool->tp;
        }
    }
    return true;
}

static bool place(const Fabric *fabric, const Pool *pool, uint32_t *out, Err *err) {
    switch (pool->placement) {
    case PLACEMENT_LINEAR: place_linear(pool, out); return true;
    case PLACEMENT_STAGES: place_stages(pool, out); return true;
    case PLACEMENT_NODES: return place_dealt(fabric, pool, pool_place_node(fabric), out, err);
    case PLACEMENT_LEAVES:
        if (pool_place_leaf(fabric) == 0)
            return err_set(err, "the machine has no leaves above its nodes of %" PRIu32 " GPUs",
                           pool_place_node(fabric));
        return place_dealt(fabric, pool, pool_place_leaf(fabric), out, err);
    case PLACEMENT_PACKED: return place_packed(fabric, pool, out, err);
    case PLACEMENT_COUNT: break;
    }
    return false;
}

bool pool_place_ranks(const Fabric *fabric, const Pool *pool, uint32_t **out, Err *err) {
    uint32_t live = fabric_live_gpu_count(fabric), ranks = pool_ranks(pool);
    if (pool->first_gpu > live || ranks > live - pool->first_gpu)
        return err_set(
            err, "%" PRIu32 " ranks from GPU %" PRIu32 " on, the machine has %" PRIu32 " live GPUs",
            ranks, pool->first_gpu, live);
    uint32_t *places = mem_alloc(ranks, sizeof *places);
    if (!place(fabric, pool, places, err)) {
        mem_free(places);
        return err_prefix(err, "placement \"%s\"", plan_placement_names[pool->placement]);
    }
    *out = places;
    return true;
}

bool pool_place_order(const Fabric *fabric, const Pool *pool, uint32_t **out, Err *err) {
    *out = NULL;
    return pool->placement == PLACEMENT_LINEAR || pool_place_ranks(fabric, pool, out, err);
}

// ---- What differs

// Sorted numbers become how often each occurs, sorted; returns how many there are.
static uint32_t count_runs(uint32_t *numbers, uint32_t count) {
    uint32_t runs = 0;
    for (uint32_t i = 0, end; i < count; i = end) {
        for (end = i; end < count && numbers[end] == numbers[i]; end++) continue;
        numbers[runs++] = end - i;
    }
    qsort(numbers, runs, sizeof *numbers, num_compare_u32);
    return runs;
}

// How many ranks groups of `size` have on each block, whichever it is.
static Digest lie_of(const Fabric *fabric, const uint32_t *places, uint32_t ranks, uint32_t size,
                     uint32_t block) {
    uint32_t *blocks = mem_alloc(size, sizeof *blocks);
    Digest sum = 0;
    for (uint32_t g = 0; g < ranks / size; g++) {
        Digest group = HASH_START;
        for (uint32_t i = 0; i < size; i++)
            blocks[i] = block_of(fabric, places[g * size + i], block);
        qsort(blocks, size, sizeof *blocks, num_compare_u32);
        uint32_t runs = count_runs(blocks, size);
        for (uint32_t i = 0; i < runs; i++) group = hash_u64(group, blocks[i]);
        sum += hash_spread(group);
    }
    mem_free(blocks);
    return sum;
}

static Digest lie_of_all(const Fabric *fabric, const Pool *pool, const uint32_t *places) {
    const uint32_t sizes[] = {pool->tp, pool_stage_ranks(pool), pool_replica_ranks(pool)};
    const uint32_t blocks[] = {pool_place_node(fabric), pool_place_leaf(fabric)};
    uint32_t ranks = pool_ranks(pool);
    Digest lie = HASH_START;
    for (uint32_t b = 0; b < 2; b++)
        for (uint32_t i = 1; i < 3 && blocks[b] > 0; i++)
            lie = hash_u64(lie, lie_of(fabric, places, ranks, sizes[i], blocks[b]));
    return lie;
}

bool pool_place_differs(const Fabric *fabric, const Pool *pool) {
    Pool linear = *pool;
    uint32_t *places = NULL, *in_order = NULL;
    Err ignored = {0};
    linear.placement = PLACEMENT_LINEAR;
    bool differs = pool->placement != PLACEMENT_LINEAR &&
                   pool_place_ranks(fabric, pool, &places, &ignored) &&
                   pool_place_ranks(fabric, &linear, &in_order, &ignored) &&
                   lie_of_all(fabric, pool, places) != lie_of_all(fabric, &linear, in_order);
    mem_free(places);
    mem_free(in_order);
    return differs;
}
