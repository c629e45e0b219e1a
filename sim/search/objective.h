// What plans are ranked by.
#ifndef SIM_SEARCH_OBJECTIVE_H
#define SIM_SEARCH_OBJECTIVE_H

#include "sim/search/evaluate.h"

// THROUGHPUT: tok/s/GPU. INTERACTIVITY: tok/s/user. COST: dollars of a million output tokens, or
// tok/s/GPU where no price is known. TTFT, TPOT: unloaded, the shortest first.
#define OBJECTIVE_LIST(X)                                                                          \
    X(THROUGHPUT, "throughput")                                                                    \
    X(INTERACTIVITY, "interactivity") X(COST, "cost") X(TTFT, "ttft") X(TPOT, "tpot")
typedef enum Objective {
#define X(name, text) OBJECTIVE_##name,
    OBJECTIVE_LIST(X)
#undef X
        OBJECTIVE_COUNT
} Objective;
extern const char *const objective_names[OBJECTIVE_COUNT];

// Above 0; the larger the better. Of an evaluate_bound it is not below that of the plan.
double objective_score(Objective objective, const Evaluation *evaluation);

// The parts that the score is 1 over the sum of, and the score when each part is scaled by its
// factor (first order; waiting scales like the rest).
const EvaluateParts *objective_parts(Objective objective, const Evaluation *evaluation);
double objective_drawn(double score, const EvaluateParts *parts, const EvaluateParts *factors);

#endif
