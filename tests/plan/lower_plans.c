// Builds the plans that the tests of lowering share.
#include "tests/plan/lower_plans.h"

#include "tests/check.h"
#include "tests/plan/hand_plan.h"

Arch lower_plans_load(const char *path) {
    Arch arch = {0};
    Err err = {{0}};
    check_ok(arch_load(path, NULL, 0, &arch, &err), &err);
    return arch;
}

Plan lower_plans_make(uint32_t tp, uint32_t pp, uint32_t dp, uint32_t ep) {
    Plan plan = hand_plan(tp, pp, dp, ep);
    Pool *pool = &plan.pools[0];
    pool->all_reduce = pool->all_gather = pool->reduce_scatter = ALGORITHM_RING;
    return plan;
}

bool lower_plans_add_replicas(Plan *plan, const Arch *arch) {
    Pool *pool = &plan->pools[0];
    Err err = {{0}};
    uint32_t experts = 0;
    for (uint32_t i = 0; i < arch->mlp_count; i++)
        if (arch->mlps[i].experts > experts) experts = arch->mlps[i].experts;
    pool->expert_placement = EXPERT_PLACEMENT_EPLB;
    pool->redundant_experts = 2 * pool->ep - experts % pool->ep;
    return plan_legal(plan, arch, &err);
}

Schedule lower_plans_lower(const Plan *plan, const Arch *arch, Phase phase, uint32_t steps) {
    Err err = {{0}};
    Schedule schedule = {0};
    check_ok(plan_legal(plan, arch, &err), &err);
    lower_plan(plan, 0, arch, phase, steps, &schedule);
    return schedule;
}
