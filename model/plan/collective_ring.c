// Rings: every rank sends to the next one.
//
// Invariant: a chunk goes once around; a rank passes on in a step what reached it in the step
// before.
//
// Sources: ring all-reduce as reduce-scatter and all-gather: P. Patarasuk, X. Yuan, "Bandwidth
// optimal all-reduce algorithms for clusters of workstations", JPDC 69 (2009) 117-124. Ring
// all-gather: R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19 (2005) 49-66. Broadcast in pieces
// down a chain: J. Watts, R. van de Geijn, "A pipelined broadcast for multidimensional meshes",
// Parallel Processing Letters 5 (1995) 281-292.
#include "model/plan/collective_method.h"

// The rank `distance` further on around the ring.
static uint32_t after(uint32_t rank, uint32_t distance, uint32_t n) {
    return (uint32_t)(((uint64_t)rank + distance) % n);
}

static uint32_t before(uint32_t rank, uint32_t distance, uint32_t n) {
    return (uint32_t)(((uint64_t)rank + n - distance % n) % n);
}

// Chunks that reached a rank before lie in its OUTPUT; in step 0 it sends its own.
static Transfer to_next(CollectiveShape shape, uint32_t step, uint32_t from, uint32_t chunk) {
    return (Transfer){.from = from,
                      .to = after(from, 1, shape.n),
                      .from_space = step == 0 ? TRANSFER_INPUT : TRANSFER_OUTPUT,
                      .to_space = TRANSFER_OUTPUT,
                      .from_chunk = chunk,
                      .to_chunk = chunk,
                      .chunks = 1};
}

static Transfer to_itself(uint32_t rank, uint32_t chunk, uint32_t chunks) {
    return (Transfer){.from = rank,
                      .to = rank,
                      .to_space = TRANSFER_OUTPUT,
                      .from_chunk = chunk,
                      .to_chunk = chunk,
                      .chunks = chunks};
}

// Reduce-scatter half: in step s rank r passes on the sum of chunk r - s. All-gather half: it then
// holds chunk r + 1 whole, and passes on chunk r + 1 - s.
static Transfer all_reduce(CollectiveShape shape, uint32_t step, uint32_t from, uint32_t index) {
    uint32_t n = shape.n;
    if (index == 1) return to_itself(from, 0, n);
    bool reducing = step < n - 1;
    uint32_t chunk = reducing ? before(from, step, n) : before(after(from, 1, n), step + 1 - n, n);
    Transfer transfer = to_next(shape, step, from, chunk);
    transfer.action = reducing ? TRANSFER_ADD : TRANSFER_COPY;
    return transfer;
}

static Transfer all_gather(CollectiveShape shape, uint32_t step, uint32_t from, uint32_t index) {
    if (index == 1) return to_itself(from, from, 1);
    return to_next(shape, step, from, before(from, step, shape.n));
}

// In step s rank r passes on the sum of chunk r - 1 - s, which replaces what the next rank held,
// and adds its own addend to the sum of chunk r - 2 - s that arrives: after n - 1 steps that is
// chunk r.
static Transfer reduce_scatter(CollectiveShape shape, uint32_t step, uint32_t from,
                               uint32_t index) {
    if (index == 0) return to_next(shape, step, from, before(from, step + 1, shape.n));
    Transfer transfer = to_itself(from, before(from, step + 2, shape.n), 1);
    transfer.action = TRANSFER_ADD;
    return transfer;
}

// Rank r passes on chunk c in step r + c; the last rank passes on nothing.
static bool passes_on(CollectiveShape shape, uint32_t step, uint32_t from) {
    return from < shape.n - 1 && step >= from && step - from < shape.n;
}

static Transfer broadcast(CollectiveShape shape, uint32_t step, uint32_t from, uint32_t index) {
    if (index == 1) return to_itself(from, 0, shape.n);
    Transfer transfer = to_next(shape, step, from, step - from);
    transfer.from_space = from == 0 ? TRANSFER_INPUT : TRANSFER_OUTPUT;
    return transfer;
}

static uint32_t ring_steps(CollectiveShape shape) {
    bool twice = shape.kind == COLLECTIVE_ALL_REDUCE || shape.kind == COLLECTIVE_BROADCAST;
    return twice ? 2 * (shape.n - 1) : shape.n - 1;
}

static uint32_t ring_count(CollectiveShape shape, uint32_t step, uint32_t from) {
    if (shape.kind == COLLECTIVE_REDUCE_SCATTER) return 2;
    if (shape.kind == COLLECTIVE_BROADCAST)
        return (passes_on(shape, step, from) ? 1U : 0U) + (step == 0 && from == 0 ? 1U : 0U);
    return step == 0 ? 2 : 1;
}

static Transfer ring_transfer(CollectiveShape shape, uint32_t step, uint32_t from, uint32_t index) {
    switch (shape.kind) {
    case COLLECTIVE_ALL_REDUCE: return all_reduce(shape, step, from, index);
    case COLLECTIVE_ALL_GATHER: return all_gather(shape, step, from, index);
    case COLLECTIVE_REDUCE_SCATTER: return reduce_scatter(shape, step, from, index);
    case COLLECTIVE_BROADCAST: return broadcast(shape, step, from, index);
    case COLLECTIVE_ALL_TO_ALL:
    case COLLECTIVE_COUNT: break;
    }
    return (Transfer){0};
}

static StepTraffic ring_traffic(CollectiveShape shape, uint32_t step) {
    if (shape.kind == COLLECTIVE_BROADCAST)
        return (StepTraffic){.pattern = PATTERN_IRREGULAR, .repeat = 1};
    return (StepTraffic){
        .pattern = PATTERN_SHIFT, .shift = 1, .chunks = 1, .repeat = ring_steps(shape) - step};
}

const CollectiveMethod collective_ring = {
    .kinds = METHOD_KIND(ALL_REDUCE) | METHOD_KIND(ALL_GATHER) | METHOD_KIND(REDUCE_SCATTER) |
             METHOD_KIND(BROADCAST),
    .steps = ring_steps,
    .count = ring_count,
    .transfer = ring_transfer,
    .traffic = ring_traffic,
};
