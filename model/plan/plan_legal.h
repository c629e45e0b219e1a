// The rules of structure that a plan must keep for a model, each with a name under which a ledger
// counts.
#ifndef MODEL_PLAN_PLAN_LEGAL_H
#define MODEL_PLAN_PLAN_LEGAL_H

#include <stdint.h>

#include "model/base/err.h"
#include "model/moe/arch.h"
#include "model/plan/plan.h"

// In the order in which they are looked at.
#define PLAN_LEGAL_LIST(X)                                                                         \
    X(KEPT, "legal")                                                                               \
    X(NUMBERS, "the numbers contradict each other")                                                \
    X(LAYERS, "more pipeline stages than layers")                                                  \
    X(STAGES, "the listed stages are not the model's layers")                                      \
    X(HEADS, "tp does not divide the attention heads")                                             \
    X(KV_HEADS, "tp and the kv heads do not divide each other")                                    \
    X(DCP_COPIES, "dcp exceeds the copies of a kv head")                                           \
    X(DCP_KIND, "dcp on a cache that is not dealt out by tokens")                                  \
    X(CP_KIND, "cp through attention that cannot be cut by tokens")                                \
    X(DENSE_EP, "expert parallelism without experts")                                              \
    X(EXPERTS, "more expert positions than experts")                                               \
    X(SLOTS, "ep does not divide the experts and redundant ones")                                  \
    X(SLOTS_MANY, "more replicas of experts than are placed")                                      \
    X(SLOTS_MIXED, "eplb places layers of equally many experts only")                              \
    X(MOE_COMM, "moe communication does not fit attention-dp")                                     \
    X(EXPERT_WIDTH, "moe_tp does not divide the expert width")                                     \
    X(EXPERT_CUT, "moe_tp cuts an expert inside a quantisation block")                             \
    X(DENSE_WIDTH, "tp does not divide a dense or shared width")                                   \
    X(DENSE_CUT, "tp cuts a dense or shared width inside a quantisation block")                    \
    X(ATTENTION_WIDTH, "tp does not divide an attention projection")                               \
    X(ATTENTION_CUT, "tp cuts an attention projection inside a head or block")
typedef enum PlanRule {
#define X(name, text) PLAN_RULE_##name,
    PLAN_LEGAL_LIST(X)
#undef X
        PLAN_RULE_COUNT
} PlanRule;
extern const char *const plan_legal_names[PLAN_RULE_COUNT];

// The first rule that the plan breaks: what it has, and the bound or divisor that it misses.
typedef struct PlanFault {
    PlanRule rule; // PLAN_RULE_KEPT: none
    uint64_t have, want;
} PlanFault;

// On a fault `reason` has one line with the numbers: "tp 5 does not divide 96 query heads".
PlanFault plan_legal_fault(const Plan *plan, const Arch *arch, Err *reason);

// The most ranks of a TP group over which all caches of the model can be dealt (Pool.dcp; its
// divisors can too); 0: none, or no cache is.
uint32_t plan_legal_most_dealt(const Pool *pool, const Arch *arch);

#endif
