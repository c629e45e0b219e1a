// Why a step takes as long as it does: its time along the critical path by class of operation, what
// one rank computes, moves and hides meanwhile, and how its groups lie on the machine.
#ifndef SIM_SEARCH_WHY_H
#define SIM_SEARCH_WHY_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/plan/plan.h"
#include "model/report/timeline.h"
#include "sim/search/evaluate.h"

// Terms of a step: the classes of operations; the engine's own time between steps; and time before
// the first operation, which only a schedule without work has.
enum { WHY_ENGINE = OP_CLASS_COUNT, WHY_IDLE, WHY_TERMS };
const char *why_term_name(uint32_t term); // "moe dispatch", "engine", "idle"

// Of one operation on the critical path.
typedef struct WhyOp {
    Time time_ps;
    uint32_t times;
} WhyOp;

// The path is followed back from the operation that ends the step: each piece of time belongs to
// the operation that the next one had to wait for. What runs beside it adds nothing. A wait for a
// partner belongs to what the partner that came last did meanwhile.
typedef struct WhyPath {
    Time term_ps[WHY_TERMS]; // they add up to end - begin of the window, to the picosecond
    WhyOp *ops;              // heap, [op_count]
    uint32_t op_count;
} WhyPath;

// Of one member in the window: time = compute + comm - overlapped + waiting, to the picosecond.
// Compute: something computes. Comm: something moves, with all its partners there.
typedef struct WhyBalance {
    Time time_ps, compute_ps, comm_ps, overlapped_ps, waiting_ps;
} WhyBalance;

// Both need a timeline with spans. The window ends where an operation does.
void why_follow(const Schedule *schedule, const Timeline *timeline, Time begin_ps, Time end_ps,
                WhyPath *out);
void why_balance(const Schedule *schedule, const Timeline *timeline, uint32_t member, Time begin_ps,
                 Time end_ps, WhyBalance *out);
void why_path_free(WhyPath *path);

// A plan as it is evaluated. Borrowed.
typedef struct WhyPlan {
    const EvaluateInput *input;
    const Plan *plan;
    uint64_t sequences; // per attention-DP rank and micro-batch; of separate pools, of decode
} WhyPlan;

// The load of the plan's slots, as evaluate_plan simulates it with load_classes 0.
bool why_load(const WhyPlan *plan, Load *out, Err *err);

// A step of a kept phase: TPOT of decode; of prefill the last full chunk of a prompt.
typedef struct WhyStep {
    Time time_ps; // the terms of the path add up to it
    WhyPath path;
    WhyBalance balance; // as long a window, which ends with the last operation of the member
    uint32_t member;    // of the balance: the one that works longest
} WhyStep;

// Spans that are followed at most: a step that has more is refused.
#define WHY_SPANS_MAX 2000000
// Simulates the phase again, with spans. `lag` passes make a step; `engine_ps` is the engine's time
// in it.
bool why_step(const WhyPlan *plan, const EvaluatePhase *phase, uint32_t lag, Time engine_ps,
              WhyStep *out, Err *err);
void why_step_free(WhyStep *step);

// The member that works longest: computing, and communication beside which nothing computes.
uint32_t why_busiest(const EvaluatePhase *phase);

// What the groups of a family cross: of all groups the largest number each, of at most
// WHY_GROUPS_MAX groups and WHY_RANKS_MAX ranks of each. leaves: switches of the network by which
// ranks leave their domain (or node); 0 when no group leaves one.
#define WHY_GROUPS_MAX 64
#define WHY_RANKS_MAX  4096
typedef struct WhyReach {
    uint32_t domains, nodes, leaves;
} WhyReach;
// Live GPUs of ranks: places[r], or first_gpu + r with NULL.
typedef struct WhyReachRanks {
    uint32_t first_gpu;
    const uint32_t *places;
} WhyReachRanks;
void why_reach(const Fabric *fabric, const WhyReachRanks *ranks, const GroupFamily *family,
               WhyReach *out);

#endif
