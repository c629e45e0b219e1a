// Where two pools lie: side by side from the first GPU on, in either order, or the second one from
// the next node, scale-up domain or larger block on.
//
// Invariant: instances begin where a block begins that they fill, or lie inside one, so that all
// instances of a pool see the same neighbours; pools share no GPU.
#include "sim/search/pools_internal.h"

#include "model/plan/pool_place.h"

// The blocks that GPUs come in: nodes, domains, and the digits of the machine's shape.
static uint32_t blocks_of(const Fabric *fabric, uint32_t out[FABRIC_DIGITS_MAX + 2]) {
    const FabricShape *shape = &fabric->shape;
    uint32_t count = 0, block = 1;
    if (fabric->node_size > 1) out[count++] = fabric->node_size;
    out[count++] = pool_place_node(fabric);
    for (uint32_t digit = shape->digit_count; shape->uniform && digit > 1; digit--) {
        block *= shape->size[digit - 1];
        out[count++] = block;
    }
    return count;
}

// GPUs at whose multiples an instance may begin.
static uint32_t alignment(const Fabric *fabric, uint32_t gpus) {
    uint32_t blocks[FABRIC_DIGITS_MAX + 2], count = blocks_of(fabric, blocks), largest = 1;
    for (uint32_t i = 0; i < count; i++) {
        if (blocks[i] % gpus == 0) return gpus;
        if (gpus % blocks[i] == 0 && blocks[i] > largest) largest = blocks[i];
    }
    return largest;
}

static uint64_t round_up(uint64_t gpu, uint32_t to) {
    return (gpu + to - 1) / to * to;
}

typedef struct Placer {
    uint32_t gpus, count;
    PoolsPlace *out;
} Placer;

static void add(Placer *placer, uint64_t prefill, uint64_t decode, uint64_t end) {
    if (end > placer->gpus || placer->count == POOLS_PLACES_MAX) return;
    for (uint32_t i = 0; i < placer->count; i++)
        if (placer->out[i].prefill == prefill && placer->out[i].decode == decode) return;
    placer->out[placer->count++] = (PoolsPlace){(uint32_t)prefill, (uint32_t)decode};
}

uint32_t pools_place_list(const PoolsSearch *search, const PoolsPair *pair,
                          PoolsPlace out[POOLS_PLACES_MAX]) {
    const Fabric *fabric = search->input.fabric;
    const PoolsShape *prefill = &search->prefill.items[pair->prefill];
    const PoolsShape *decode = &search->decode.items[pair->decode];
    uint32_t blocks[FABRIC_DIGITS_MAX + 2], count = blocks_of(fabric, blocks);
    uint32_t of_prefill = alignment(fabric, prefill->gpus);
    uint32_t of_decode = alignment(fabric, decode->gpus);
    uint64_t prefills = (uint64_t)pair->x * prefill->gpus;
    uint64_t decodes = (uint64_t)pair->y * decode->gpus;
    Placer placer = {.gpus = fabric_live_gpu_count(fabric), .out = out};
    uint64_t second = round_up(prefills, of_decode);
    if (prefills + decodes > search->gpus) return 0;
    add(&placer, 0, second, second + decodes);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t next = round_up(second, blocks[i]);
        if (next % of_decode == 0) add(&placer, 0, next, next + decodes);
    }
    second = round_up(decodes, of_prefill);
    add(&placer, second, 0, second + prefills);
    return placer.count;
}
