// Where the experts of the plans of a search lie, and how many replicas they have.
#ifndef SIM_SEARCH_SPACE_EXPERTS_H
#define SIM_SEARCH_SPACE_EXPERTS_H

#include <stdbool.h>
#include <stdint.h>

#include "model/moe/arch.h"
#include "model/plan/pool.h"

// Zeroed: in order. `any`: in order, and by EPLB with few replicas and with more, whatever the
// other two say; what a search does for a load that is not even.
typedef struct SpaceExperts {
    ExpertPlacement placement;
    uint32_t redundant;
    bool any;
} SpaceExperts;

#define SPACE_EXPERTS_MAX 3

// What is tried for a number of EP positions, without `any` of it.
uint32_t space_experts_list(const SpaceExperts *experts, const Arch *arch, uint32_t ep,
                            SpaceExperts out[SPACE_EXPERTS_MAX]);
void space_experts_set(const SpaceExperts *experts, Pool *pool);

#endif
