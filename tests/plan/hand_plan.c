// Plans written by hand.
#include "tests/plan/hand_plan.h"

Plan hand_plan(uint32_t tp, uint32_t pp, uint32_t dp, uint32_t ep) {
    Plan plan = {.pool_count = 1};
    plan.pools[0] = (Pool){.kind = POOL_UNIFIED,
                           .tp = tp,
                           .pp = pp,
                           .dp = dp,
                           .ep = ep,
                           .moe_tp = tp * dp / ep,
                           .cp = 1,
                           .replicas = 1,
                           .micro_batches = pp,
                           .moe_comm = dp > 1 ? MOE_COMM_ALL_TO_ALL : MOE_COMM_NONE,
                           .all_reduce = ALGORITHM_DIRECT,
                           .all_to_all = ALGORITHM_DIRECT,
                           .all_gather = ALGORITHM_DIRECT,
                           .reduce_scatter = ALGORITHM_DIRECT,
                           .kv_format = NUMFMT_BF16,
                           .activation_format = NUMFMT_BF16,
                           .dispatch_format = NUMFMT_FP8};
    return plan;
}
