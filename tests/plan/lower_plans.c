// Builds the plans that the tests of lowering share.
#include "tests/plan/lower_plans.h"

#include "tests/check.h"

Arch lower_plans_load(const char *path) {
    Arch arch = {0};
    Err err = {{0}};
    check_ok(arch_load(path, NULL, 0, &arch, &err), &err);
    return arch;
}

Plan lower_plans_make(uint32_t tp, uint32_t dp, uint32_t pp, uint32_t ep) {
    Plan plan = {.pool_count = 1};
    plan.pools[0] = (Pool){.tp = tp,
                           .pp = pp,
                           .dp = dp,
                           .ep = ep,
                           .moe_tp = tp * dp / ep,
                           .cp = 1,
                           .replicas = 1,
                           .micro_batches = pp,
                           .moe_comm = dp > 1 ? MOE_COMM_ALL_TO_ALL : MOE_COMM_NONE,
                           .all_reduce = ALGORITHM_RING,
                           .all_to_all = ALGORITHM_DIRECT,
                           .all_gather = ALGORITHM_RING,
                           .reduce_scatter = ALGORITHM_RING,
                           .kv_format = NUMFMT_BF16,
                           .activation_format = NUMFMT_BF16,
                           .dispatch_format = NUMFMT_FP8};
    return plan;
}

Schedule lower_plans_lower(const Plan *plan, const Arch *arch, Phase phase, uint32_t steps) {
    Err err = {{0}};
    Schedule schedule = {0};
    check_ok(plan_legal(plan, arch, &err), &err);
    lower_plan(plan, 0, arch, phase, steps, &schedule);
    return schedule;
}
