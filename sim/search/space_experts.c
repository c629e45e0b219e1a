// How experts are placed.
//
// Invariant: what is listed is legal as far as slots go: EP positions have equally many. A position
// alone has all experts, in order.
//
// Replicas: the fewest that fill up the positions, and from an eighth of the experts on, the part
// that DeepSeek deploys V3 with (32 of 256; DeepSeek-V3 Technical Report, arXiv:2412.19437, section
// 3.4.1).
#include "sim/search/space_experts.h"

#define REPLICAS_PART 8 // of the experts

// The first number of replicas from `least` on with which all positions have as many slots.
static uint32_t fill_up(uint32_t experts, uint32_t ep, uint32_t least) {
    uint32_t rest = (experts + least) % ep;
    return rest == 0 ? least : least + ep - rest;
}

uint32_t space_experts_list(const SpaceExperts *experts, const Arch *arch, uint32_t ep,
                            SpaceExperts out[SPACE_EXPERTS_MAX]) {
    uint32_t count = 1, all = arch_most_experts(arch);
    out[0] = (SpaceExperts){.placement = EXPERT_PLACEMENT_LINEAR};
    if (ep == 1 || all < ep) return count;
    if (!experts->any) {
        out[0] = (SpaceExperts){experts->placement, experts->redundant, false};
        return count;
    }
    uint32_t few = fill_up(all, ep, 0), more = fill_up(all, ep, all / REPLICAS_PART);
    out[count++] = (SpaceExperts){EXPERT_PLACEMENT_EPLB, few, false};
    if (more != few) out[count++] = (SpaceExperts){EXPERT_PLACEMENT_EPLB, more, false};
    return count;
}

void space_experts_set(const SpaceExperts *experts, Pool *pool) {
    pool->expert_placement = experts->placement;
    pool->redundant_experts = experts->redundant;
}
