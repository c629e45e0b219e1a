// Scores of plans.
//
// Invariant: each score is a constant over a time, so that a lower bound of the time bounds the
// score from above, and draws scale it by the ratio of the drawn time to the time.
#include "sim/search/objective.h"

const char *const objective_names[OBJECTIVE_COUNT] = {
#define X(name, text) text,
    OBJECTIVE_LIST(X)
#undef X
};

double objective_score(Objective objective, const Evaluation *e) {
    switch (objective) {
    case OBJECTIVE_THROUGHPUT: return e->tok_s_per_gpu;
    case OBJECTIVE_INTERACTIVITY: return e->tok_s_per_user;
    case OBJECTIVE_COST: return e->usd_per_mtok > 0 ? 1 / e->usd_per_mtok : e->tok_s_per_gpu;
    case OBJECTIVE_TTFT: return 1 / units_seconds(e->ttft_ps > 0 ? e->ttft_ps : 1);
    case OBJECTIVE_TPOT: return 1 / units_seconds(e->tpot_ps > 0 ? e->tpot_ps : 1);
    case OBJECTIVE_COUNT: break;
    }
    return 0;
}

const EvaluateParts *objective_parts(Objective objective, const Evaluation *e) {
    switch (objective) {
    case OBJECTIVE_THROUGHPUT:
    case OBJECTIVE_COST:
    case OBJECTIVE_COUNT: break;
    case OBJECTIVE_INTERACTIVITY:
    case OBJECTIVE_TPOT: return &e->decode;
    case OBJECTIVE_TTFT: return &e->prefill;
    }
    return &e->cycle;
}

double objective_drawn(double score, const EvaluateParts *parts, const EvaluateParts *factors) {
    double whole_s = 0;
    for (uint32_t i = 0; i < EVALUATE_PARTS; i++) whole_s += parts->part_s[i];
    double drawn_s = evaluate_drawn_s(parts, factors);
    return drawn_s > 0 ? score * whole_s / drawn_s : score;
}
