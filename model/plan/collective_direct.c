// Everyone to everyone, in one step, or in an order: direct, one-shot, pairwise and in-switch.
//
// Invariant: whatever the order, the same chunks go to the same places as in the direct algorithm.
//
// Sources: pairwise all-to-all, all-reduce in two halves: R. Thakur, R. Rabenseifner, W. Gropp,
// "Optimization of collective communication operations in MPICH", IJHPCA 19 (2005) 49-66. In the
// switch: B. Klenk, N. Jiang, G. Thorson, L. Dennison, "An in-network architecture for accelerating
// shared-memory multiprocessor collectives", ISCA 2020, 996-1009; NCCL (NVLS) as it does: a rank
// loads its chunk as the switch sums it, and stores it to all through the switch.
#include "model/plan/collective_method.h"

// What everyone sends everyone, which the others order differently: from the INPUT, and in step 1
// of an all-reduce from the OUTPUT.
static Transfer transfer_between(CollectiveShape shape, uint32_t step, uint32_t from, uint32_t to) {
    Transfer transfer = {.from = from, .to = to, .to_space = TRANSFER_OUTPUT, .chunks = 1};
    switch (shape.kind) {
    case COLLECTIVE_ALL_REDUCE:
        transfer.from_space = step == 0 ? TRANSFER_INPUT : TRANSFER_OUTPUT;
        transfer.from_chunk = transfer.to_chunk = step == 0 ? to : from;
        transfer.action = step == 0 ? collective_sum_action(from) : TRANSFER_COPY;
        break;
    case COLLECTIVE_ALL_GATHER: transfer.from_chunk = transfer.to_chunk = from; break;
    case COLLECTIVE_REDUCE_SCATTER:
        transfer.from_chunk = transfer.to_chunk = to;
        transfer.action = collective_sum_action(from);
        break;
    case COLLECTIVE_ALL_TO_ALL:
        transfer.from_chunk = to;
        transfer.to_chunk = from;
        break;
    case COLLECTIVE_BROADCAST: transfer.chunks = shape.n; break;
    case COLLECTIVE_COUNT: break;
    }
    return transfer;
}

// ---- Direct

static uint32_t direct_steps(CollectiveShape shape) {
    return shape.kind == COLLECTIVE_ALL_REDUCE ? 2 : 1;
}

// Step 1 is the all-gather half of an all-reduce: a rank's own chunk is in place.
static uint32_t direct_count(CollectiveShape shape, uint32_t step, uint32_t from) {
    if (shape.kind == COLLECTIVE_BROADCAST && from > 0) return 0;
    return step == 0 ? shape.n : shape.n - 1;
}

static Transfer direct_transfer(CollectiveShape shape, uint32_t step, uint32_t from,
                                uint32_t index) {
    return transfer_between(shape, step, from, step == 1 && index >= from ? index + 1 : index);
}

static StepTraffic direct_traffic(CollectiveShape shape, uint32_t step) {
    if (shape.kind == COLLECTIVE_BROADCAST)
        return (StepTraffic){.pattern = PATTERN_IRREGULAR, .repeat = 1};
    return (StepTraffic){
        .pattern = PATTERN_ALL_PAIRS, .chunks = 1, .repeat = direct_steps(shape) - step};
}

const CollectiveMethod collective_direct = {
    .kinds = METHOD_KIND(ALL_REDUCE) | METHOD_KIND(ALL_GATHER) | METHOD_KIND(REDUCE_SCATTER) |
             METHOD_KIND(ALL_TO_ALL) | METHOD_KIND(BROADCAST),
    .steps = direct_steps,
    .count = direct_count,
    .transfer = direct_transfer,
    .traffic = direct_traffic,
};

// ---- One-shot

static uint32_t one_shot_steps(CollectiveShape shape) {
    (void)shape;
    return 1;
}

static uint32_t one_shot_count(CollectiveShape shape, uint32_t step, uint32_t from) {
    (void)step;
    (void)from;
    return shape.n;
}

static Transfer one_shot_transfer(CollectiveShape shape, uint32_t step, uint32_t from,
                                  uint32_t index) {
    (void)step;
    return (Transfer){.from = from,
                      .to = index,
                      .to_space = TRANSFER_OUTPUT,
                      .chunks = shape.n,
                      .action = collective_sum_action(from)};
}

static StepTraffic one_shot_traffic(CollectiveShape shape, uint32_t step) {
    (void)step;
    return (StepTraffic){.pattern = PATTERN_ALL_PAIRS, .chunks = shape.n, .repeat = 1};
}

const CollectiveMethod collective_one_shot = {
    .kinds = METHOD_KIND(ALL_REDUCE),
    .steps = one_shot_steps,
    .count = one_shot_count,
    .transfer = one_shot_transfer,
    .traffic = one_shot_traffic,
};

// ---- Pairwise

static uint32_t pairwise_steps(CollectiveShape shape) {
    return shape.n - 1;
}

static uint32_t pairwise_count(CollectiveShape shape, uint32_t step, uint32_t from) {
    (void)shape;
    (void)from;
    return step == 0 ? 2 : 1;
}

// The local one is index 1 of step 0.
static Transfer pairwise_transfer(CollectiveShape shape, uint32_t step, uint32_t from,
                                  uint32_t index) {
    uint32_t to = (uint32_t)(((uint64_t)from + step + 1) % shape.n);
    return transfer_between(shape, 0, from, index == 1 ? from : to);
}

static StepTraffic pairwise_traffic(CollectiveShape shape, uint32_t step) {
    (void)shape;
    return (StepTraffic){.pattern = PATTERN_SHIFT, .shift = step + 1, .chunks = 1, .repeat = 1};
}

const CollectiveMethod collective_pairwise = {
    .kinds = METHOD_KIND(ALL_TO_ALL),
    .steps = pairwise_steps,
    .count = pairwise_count,
    .transfer = pairwise_transfer,
    .traffic = pairwise_traffic,
};

// ---- In the switch

// One step: a rank loads its chunk as the switch sums it while it stores other elements of it to
// all. The data goes where one-shot and the direct algorithm bring it; over its links a rank sends
// each chunk once to be summed and its own once to be copied, and gets as much: n chunks for
// others, one for itself.
static uint32_t in_switch_steps(CollectiveShape shape) {
    (void)shape;
    return 1;
}

static Transfer in_switch_transfer(CollectiveShape shape, uint32_t step, uint32_t from,
                                   uint32_t index) {
    return shape.kind == COLLECTIVE_ALL_REDUCE ? one_shot_transfer(shape, step, from, index)
                                               : transfer_between(shape, step, from, index);
}

static StepTraffic in_switch_traffic(CollectiveShape shape, uint32_t step) {
    (void)step;
    bool sums = shape.kind != COLLECTIVE_ALL_GATHER;
    bool copies = shape.kind != COLLECTIVE_REDUCE_SCATTER;
    return (StepTraffic){.pattern = PATTERN_IN_SWITCH,
                         .chunks = (sums ? shape.n : 0) + (copies ? 1U : 0U),
                         .down = (copies ? shape.n : 0) + (sums ? 1U : 0U),
                         .repeat = 1};
}

const CollectiveMethod collective_in_switch = {
    .kinds = METHOD_KIND(ALL_REDUCE) | METHOD_KIND(ALL_GATHER) | METHOD_KIND(REDUCE_SCATTER),
    .steps = in_switch_steps,
    .count = one_shot_count,
    .transfer = in_switch_transfer,
    .traffic = in_switch_traffic,
};
