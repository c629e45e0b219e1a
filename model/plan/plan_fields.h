// The fields of a pool as lists, for what goes through all of them: digests, checks, files. Shared
// by the parts of plan.c.
#ifndef MODEL_PLAN_PLAN_FIELDS_H
#define MODEL_PLAN_PLAN_FIELDS_H

#include <stdbool.h>

#include "model/plan/plan.h"

// The fields of a pool in the order of the file: those that count something, at least `least`, and
// those that choose.
#define POOL_NUMBERS(X)                                                                            \
    X(tp, 1)                                                                                       \
    X(pp, 1)                                                                                       \
    X(dp, 1)                                                                                       \
    X(ep, 1)                                                                                       \
    X(moe_tp, 1)                                                                                   \
    X(cp, 1)                                                                                       \
    X(replicas, 1)                                                                                 \
    X(first_gpu, 0)                                                                                \
    X(micro_batches, 1)                                                                            \
    X(redundant_experts, 0)
#define POOL_CHOICES(X)                                                                            \
    X(placement, Placement, plan_placement_names, PLACEMENT_COUNT)                                 \
    X(moe_comm, MoeComm, plan_moe_comm_names, MOE_COMM_COUNT)                                      \
    X(all_reduce, Algorithm, algorithm_names, ALGORITHM_COUNT)                                     \
    X(all_to_all, Algorithm, algorithm_names, ALGORITHM_COUNT)                                     \
    X(all_gather, Algorithm, algorithm_names, ALGORITHM_COUNT)                                     \
    X(reduce_scatter, Algorithm, algorithm_names, ALGORITHM_COUNT)                                 \
    X(kv_format, NumFmt, numfmt_names, NUMFMT_COUNT)                                               \
    X(activation_format, NumFmt, numfmt_names, NUMFMT_COUNT)                                       \
    X(dispatch_format, NumFmt, numfmt_names, NUMFMT_COUNT)

// Fields that a file need not have: zero, or the first of their names, when it does not, and then
// not written nor part of the digest.
#define POOL_EXTRA_CHOICES(X)                                                                      \
    X(expert_placement, ExpertPlacement, plan_expert_placement_names, EXPERT_PLACEMENT_COUNT)      \
    X(prefill_overlap, Overlap, plan_overlap_names, OVERLAP_COUNT)                                 \
    X(decode_overlap, Overlap, plan_overlap_names, OVERLAP_COUNT)                                  \
    X(stage_cut, StageCut, plan_stage_cut_names, STAGE_CUT_COUNT)
#define POOL_EXTRA_NUMBERS(X) X(dcp) X(moe_chunks) X(prefill_sms) X(decode_sms)

// The numbers of one pool are consistent.
bool plan_check_pool(const Pool *pool, Err *err);

#endif
