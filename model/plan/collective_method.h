// What an algorithm has to say: one value in each collective_ALGORITHM.c, found by collective.c.
#ifndef MODEL_PLAN_COLLECTIVE_METHOD_H
#define MODEL_PLAN_COLLECTIVE_METHOD_H

#include "model/plan/collective.h"

#define METHOD_KIND(kind) (1U << COLLECTIVE_##kind)

// Called for more than one rank and a shape that checks.
typedef struct CollectiveMethod {
    uint32_t kinds; // METHOD_KIND of each collective that it can do
    uint32_t (*steps)(CollectiveShape shape);
    uint32_t (*count)(CollectiveShape shape, uint32_t step, uint32_t from);
    Transfer (*transfer)(CollectiveShape shape, uint32_t step, uint32_t from, uint32_t index);
    StepTraffic (*traffic)(CollectiveShape shape, uint32_t step);
} CollectiveMethod;

extern const CollectiveMethod collective_direct, collective_one_shot, collective_pairwise,
    collective_ring, collective_tree, collective_pipelined_tree, collective_in_switch,
    collective_hierarchical;

// Sums begin with rank 0's addend, which is copied.
static inline TransferAction collective_sum_action(uint32_t from) {
    return from == 0 ? TRANSFER_COPY : TRANSFER_ADD;
}

#endif
