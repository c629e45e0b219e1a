// Collectives as step lists.
//
// Invariant: collective_transfer is the definition; collective_steps, collective_transfer_count and
// collective_traffic only describe it (the tests derive them from it). After the last step every
// rank's OUTPUT is what the collective means, for every n >= 1 and every size.
//
// Sources: ring all-reduce as reduce-scatter and all-gather: P. Patarasuk, X. Yuan, "Bandwidth
// optimal all-reduce algorithms for clusters of workstations", JPDC 69 (2009) 117-124. Pairwise
// all-to-all, ring all-gather, all-reduce in two halves: R. Thakur, R. Rabenseifner, W. Gropp,
// "Optimization of collective communication operations in MPICH", IJHPCA 19 (2005) 49-66.
#include "model/plan/collective.h"

#include <assert.h>

#include "model/base/wide.h"

const char *const collective_names[COLLECTIVE_COUNT] = {
#define X(name, text) text,
    COLLECTIVE_LIST(X)
#undef X
};

bool collective_has(Collective kind, Algorithm algorithm) {
    switch (algorithm) {
    case ALGORITHM_DIRECT: return true;
    case ALGORITHM_RING: return kind != COLLECTIVE_ALL_TO_ALL;
    case ALGORITHM_ONE_SHOT: return kind == COLLECTIVE_ALL_REDUCE;
    case ALGORITHM_PAIRWISE: return kind == COLLECTIVE_ALL_TO_ALL;
    case ALGORITHM_COUNT: break;
    }
    return false;
}

uint32_t collective_steps(Collective kind, Algorithm algorithm, uint32_t n) {
    assert(n > 0 && collective_has(kind, algorithm));
    if (n == 1) return 0;
    switch (algorithm) {
    case ALGORITHM_DIRECT: return kind == COLLECTIVE_ALL_REDUCE ? 2 : 1;
    case ALGORITHM_RING: return kind == COLLECTIVE_ALL_REDUCE ? 2 * (n - 1) : n - 1;
    case ALGORITHM_ONE_SHOT: return 1;
    case ALGORITHM_PAIRWISE: return n - 1;
    case ALGORITHM_COUNT: break;
    }
    return 0;
}

uint32_t collective_transfer_count(Collective kind, Algorithm algorithm, uint32_t n, uint32_t step,
                                   uint32_t from) {
    assert(n > 0 && from < n && collective_has(kind, algorithm));
    assert(step == 0 || step < collective_steps(kind, algorithm, n));
    if (n == 1) return 1;
    switch (algorithm) {
    case ALGORITHM_DIRECT:
        return step == 0 ? n
                         : n - 1; // step 1: all-gather half of an all-reduce, own chunk in place
    case ALGORITHM_RING: return kind == COLLECTIVE_REDUCE_SCATTER || step == 0 ? 2 : 1;
    case ALGORITHM_ONE_SHOT: return n;
    case ALGORITHM_PAIRWISE: return step == 0 ? 2 : 1;
    case ALGORITHM_COUNT: break;
    }
    return 0;
}

// The rank `distance` further on around the ring; distance <= n.
static uint32_t after(uint32_t rank, uint32_t distance, uint32_t n) {
    return (uint32_t)(((uint64_t)rank + distance) % n);
}

static uint32_t before(uint32_t rank, uint32_t distance, uint32_t n) {
    return (uint32_t)(((uint64_t)rank + n - distance % n) % n);
}

// Sums begin with rank 0's addend, which is copied.
static TransferAction sum_action(uint32_t from) {
    return from == 0 ? TRANSFER_COPY : TRANSFER_ADD;
}

static Transfer direct_transfer(Collective kind, uint32_t step, uint32_t from, uint32_t to) {
    Transfer transfer = {.from = from, .to = to};
    switch (kind) {
    case COLLECTIVE_ALL_REDUCE:
        transfer.from_space = step == 0 ? TRANSFER_INPUT : TRANSFER_OUTPUT;
        transfer.from_chunk = transfer.to_chunk = step == 0 ? to : from;
        transfer.action = step == 0 ? sum_action(from) : TRANSFER_COPY;
        break;
    case COLLECTIVE_ALL_GATHER: transfer.from_chunk = transfer.to_chunk = from; break;
    case COLLECTIVE_REDUCE_SCATTER:
        transfer.from_chunk = transfer.to_chunk = to;
        transfer.action = sum_action(from);
        break;
    case COLLECTIVE_ALL_TO_ALL:
        transfer.from_chunk = to;
        transfer.to_chunk = from;
        break;
    case COLLECTIVE_COUNT: break;
    }
    return transfer;
}

// Reduce-scatter half: in step s rank r passes on the sum of chunk r - s. All-gather half: it then
// holds chunk r + 1 whole, and passes on chunk r + 1 - s.
static Transfer ring_all_reduce(uint32_t n, uint32_t step, uint32_t from, uint32_t index) {
    if (index == 1 || n == 1)
        return (Transfer){.from = from, .to = from, .from_chunk = CHUNK_ALL, .to_chunk = CHUNK_ALL};
    bool reducing = step < n - 1;
    uint32_t chunk = reducing ? before(from, step, n) : before(after(from, 1, n), step + 1 - n, n);
    return (Transfer){.from = from,
                      .to = after(from, 1, n),
                      .from_space = step == 0 ? TRANSFER_INPUT : TRANSFER_OUTPUT,
                      .from_chunk = chunk,
                      .to_chunk = chunk,
                      .action = reducing ? TRANSFER_ADD : TRANSFER_COPY};
}

static Transfer ring_all_gather(uint32_t n, uint32_t step, uint32_t from, uint32_t index) {
    if (index == 1 || n == 1)
        return (Transfer){.from = from, .to = from, .from_chunk = from, .to_chunk = from};
    uint32_t chunk = before(from, step, n);
    return (Transfer){.from = from,
                      .to = after(from, 1, n),
                      .from_space = step == 0 ? TRANSFER_INPUT : TRANSFER_OUTPUT,
                      .from_chunk = chunk,
                      .to_chunk = chunk};
}

// In step s rank r passes on the sum of chunk r - 1 - s, which replaces what the next rank held,
// and adds its own addend to the sum of chunk r - 2 - s that arrives: after n - 1 steps that is
// chunk r.
static Transfer ring_reduce_scatter(uint32_t n, uint32_t step, uint32_t from, uint32_t index) {
    if (n == 1) return (Transfer){.from = from, .to = from};
    uint32_t sent = before(from, step + 1, n), summed = before(from, step + 2, n);
    if (index == 1)
        return (Transfer){.from = from,
                          .to = from,
                          .from_chunk = summed,
                          .to_chunk = summed,
                          .action = TRANSFER_ADD};
    return (Transfer){.from = from,
                      .to = after(from, 1, n),
                      .from_space = step == 0 ? TRANSFER_INPUT : TRANSFER_OUTPUT,
                      .from_chunk = sent,
                      .to_chunk = sent};
}

static Transfer ring_transfer(Collective kind, uint32_t n, uint32_t step, uint32_t from,
                              uint32_t index) {
    switch (kind) {
    case COLLECTIVE_ALL_REDUCE: return ring_all_reduce(n, step, from, index);
    case COLLECTIVE_ALL_GATHER: return ring_all_gather(n, step, from, index);
    case COLLECTIVE_REDUCE_SCATTER: return ring_reduce_scatter(n, step, from, index);
    case COLLECTIVE_ALL_TO_ALL:
    case COLLECTIVE_COUNT: break;
    }
    return (Transfer){0};
}

Transfer collective_transfer(Collective kind, Algorithm algorithm, uint32_t n, uint32_t step,
                             uint32_t from, uint32_t index) {
    assert(index < collective_transfer_count(kind, algorithm, n, step, from));
    switch (algorithm) {
    case ALGORITHM_DIRECT: // step 1 leaves out the rank itself
        return direct_transfer(kind, step, from, step == 1 && index >= from ? index + 1 : index);
    case ALGORITHM_RING: return ring_transfer(kind, n, step, from, index);
    case ALGORITHM_ONE_SHOT:
        return (Transfer){.from = from,
                          .to = index,
                          .from_chunk = CHUNK_ALL,
                          .to_chunk = CHUNK_ALL,
                          .action = sum_action(from)};
    case ALGORITHM_PAIRWISE: // the local one is index 1 of step 0
        return direct_transfer(kind, 0, from,
                               n == 1 || index == 1 ? from : after(from, step + 1, n));
    case ALGORITHM_COUNT: break;
    }
    return (Transfer){0};
}

StepTraffic collective_traffic(Collective kind, Algorithm algorithm, uint32_t n, uint32_t step) {
    uint32_t steps = collective_steps(kind, algorithm, n);
    assert(step < steps);
    StepTraffic traffic = {.pattern = PATTERN_ALL_PAIRS, .chunks = 1, .repeat = steps - step};
    switch (algorithm) {
    case ALGORITHM_DIRECT: break;
    case ALGORITHM_RING:
        traffic.pattern = PATTERN_SHIFT;
        traffic.shift = 1;
        break;
    case ALGORITHM_ONE_SHOT: traffic.chunks = CHUNK_ALL; break;
    case ALGORITHM_PAIRWISE:
        traffic.pattern = PATTERN_SHIFT;
        traffic.shift = step + 1;
        traffic.repeat = 1;
        break;
    case ALGORITHM_COUNT: break;
    }
    return traffic;
}

void collective_chunk(uint64_t bytes, uint32_t element, uint32_t n, uint32_t c, uint64_t *first,
                      uint64_t *count) {
    assert(n > 0 && c < n);
    uint64_t size = element == 0 ? 1 : element;
    uint64_t elements = wide_div_up_u64(bytes, size);
    uint64_t each = elements / n, longer = elements % n;
    uint64_t begin = each * c + (c < longer ? c : longer);
    uint64_t end = begin + each + (c < longer);
    // only the end of the last element lies beyond the data, and only there can the product wrap
    uint64_t begin_B = begin == elements ? bytes : begin * size;
    uint64_t end_B = end == elements ? bytes : end * size;
    *first = begin_B;
    *count = end_B - begin_B;
}

// Numbers below `end` that leave the remainder `source` when divided by n.
static uint64_t dealt_below(Wide end, uint32_t n, uint32_t source) {
    return end <= source ? 0 : (uint64_t)((end - source - 1) / n + 1);
}

uint64_t collective_share_count(uint64_t elements, uint32_t n, uint32_t source,
                                const CollectiveShare *destination) {
    assert(n > 0 && source < n && destination->whole > 0);
    assert(destination->part <= destination->whole - destination->before);
    // n * elements * share may exceed 128 bits: whole multiples of `whole` apart, it cannot
    Wide total = wide_mul(elements, n);
    uint64_t whole = destination->whole, end = destination->before + destination->part;
    Wide each = total / whole, rest = total % whole;
    Wide first_slot = each * destination->before + rest * destination->before / whole;
    Wide end_slot = each * end + rest * end / whole;
    return dealt_below(end_slot, n, source) - dealt_below(first_slot, n, source);
}

void collective_bus_factor(Collective kind, uint32_t n, uint32_t *num, uint32_t *den) {
    *num = kind == COLLECTIVE_ALL_REDUCE ? 2 * (n - 1) : n - 1;
    *den = n;
}
