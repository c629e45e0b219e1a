// Ties by common random numbers (Law, "Simulation Modeling and Analysis", chapter 11): a plan ties
// when the central 95 % of the ratios of its score to the leader's hold 1.
//
// Invariant: a plan that ties once it is simulated may tie by its bound. The parts of a bound are
// those of one chain, the parts of a simulated plan those of the member that ends last: what they
// differ in is covered by a margin.
#include "sim/search/rank_tie.h"

#include <stdlib.h>

#include "model/base/mem.h"
#include "model/base/num.h"

// nearest-rank percentiles of RANK_DRAWS sorted values: 2.5 % is the 5th of 200, 97.5 % the 195th
#define LOW_INDEX  (RANK_DRAWS / 40 - 1)
#define HIGH_INDEX (RANK_DRAWS - RANK_DRAWS / 40 - 1)

#define BOUND_MARGIN 1.05 // of ratios of a bound, for the difference of parts

void rank_tie_open(const Calib *calib, Objective objective, RankTie *out) {
    *out = (RankTie){.objective = objective};
    out->draws = mem_alloc(RANK_DRAWS, sizeof *out->draws);
    out->leader = mem_alloc(RANK_DRAWS, sizeof *out->leader);
    for (uint32_t d = 0; d < RANK_DRAWS; d++) evaluate_draw(calib, RANK_SEED, d, &out->draws[d]);
}

void rank_tie_close(RankTie *tie) {
    mem_free(tie->draws);
    mem_free(tie->leader);
    *tie = (RankTie){0};
}

static double drawn(const RankTie *tie, const Evaluation *evaluation, uint32_t draw) {
    return objective_drawn(objective_score(tie->objective, evaluation),
                           objective_parts(tie->objective, evaluation), &tie->draws[draw]);
}

void rank_tie_lead(RankTie *tie, const Evaluation *leader) {
    for (uint32_t d = 0; d < RANK_DRAWS; d++) tie->leader[d] = drawn(tie, leader, d);
}

bool rank_tie_can(const RankTie *tie, double score, const EvaluateParts *parts) {
    uint32_t wins = 0;
    for (uint32_t d = 0; d < RANK_DRAWS; d++) {
        double most = objective_drawn(score, parts, &tie->draws[d]) * BOUND_MARGIN;
        wins += most >= tie->leader[d];
    }
    return wins >= RANK_DRAWS - HIGH_INDEX;
}

int rank_tie_compare(Objective objective, const RankRow *left, const RankRow *right) {
    double a = objective_score(objective, &left->evaluation);
    double b = objective_score(objective, &right->evaluation);
    return a != b ? (a < b) - (a > b) : rank_compare_plans(&left->plan, &right->plan);
}

// qsort has no context: one comparison for each objective.
#define X(name, text)                                                                              \
    static int compare_##name(const void *left, const void *right) {                               \
        return rank_tie_compare(OBJECTIVE_##name, left, right);                                    \
    }
OBJECTIVE_LIST(X)
#undef X

static int (*const comparisons[OBJECTIVE_COUNT])(const void *, const void *) = {
#define X(name, text) compare_##name,
    OBJECTIVE_LIST(X)
#undef X
};

static void mark(const RankTie *tie, RankRow *row, double *ratios) {
    for (uint32_t d = 0; d < RANK_DRAWS; d++)
        ratios[d] = drawn(tie, &row->evaluation, d) / tie->leader[d];
    qsort(ratios, RANK_DRAWS, sizeof *ratios, num_compare_doubles);
    row->ratio_low = ratios[LOW_INDEX];
    row->ratio_high = ratios[HIGH_INDEX];
    row->ties = row->ratio_low <= 1 && row->ratio_high >= 1;
}

void rank_tie_order(const Calib *calib, Ranking *ranking) {
    if (ranking->row_count == 0) return;
    RankTie tie;
    double *ratios = mem_alloc(RANK_DRAWS, sizeof *ratios);
    qsort(ranking->rows, ranking->row_count, sizeof *ranking->rows,
          comparisons[ranking->objective]);
    rank_tie_open(calib, ranking->objective, &tie);
    rank_tie_lead(&tie, &ranking->rows[0].evaluation);
    for (uint32_t i = 0; i < ranking->row_count; i++) {
        mark(&tie, &ranking->rows[i], ratios);
        if (i > 0) ranking->ties += ranking->rows[i].ties;
    }
    ranking->rows[0].ties = ranking->ties > 0;
    rank_tie_close(&tie);
    mem_free(ratios);
}
