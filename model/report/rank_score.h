// How well an order of plans meets what was measured of them: Kendall's tau, the regret of taking
// the first plan, and whether the best one is among the first three.
//
// Plans of equal merit come in any order with equal chance, and figures are the expectation over
// these orders: that of plans taken at random when all merits are equal.
#ifndef MODEL_REPORT_RANK_SCORE_H
#define MODEL_REPORT_RANK_SCORE_H

#include <stdint.h>

#define RANK_SCORE_TOP 3

typedef enum RankScoreBetter { RANK_SCORE_HIGHER, RANK_SCORE_LOWER } RankScoreBetter;

typedef struct RankScore {
    double tau;    // tau-b, -1 to 1; 0 when all merits or all measured figures are equal
    double regret; // of the plan of most merit, in percent of the best measured figure
    double top;    // chance that a best plan is among the first RANK_SCORE_TOP
} RankScore;

// More merit is better, whatever the direction of what was measured, which is above 0. At least one
// plan.
void rank_score_order(const double *merit, const double *measured, uint32_t count,
                      RankScoreBetter better, RankScore *out);

#endif
