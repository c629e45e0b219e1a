// Scores one order against measured figures.
//
// Invariant: the figures depend on the order of the merits alone, not on their sizes, and not on
// the order in which plans are given. Source: Kendall, "The treatment of ties in ranking problems",
// Biometrika 33 (1945), for tau-b.
#include "model/report/rank_score.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>

static int sign_of(double value) {
    return value > 0 ? 1 : value < 0 ? -1 : 0;
}

// Pairs that agree less pairs that differ, over the geometric mean of the pairs that are not tied
// in one and in the other.
static double tau_of(const double *merit, const double *measured, uint32_t count, int better) {
    double sum = 0, merits = 0, figures = 0;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < i; k++) {
            int a = sign_of(merit[i] - merit[k]), b = better * sign_of(measured[i] - measured[k]);
            sum += a * b;
            merits += a * a;
            figures += b * b;
        }
    return merits > 0 && figures > 0 ? sum / sqrt(merits * figures) : 0;
}

static double best_of(const double *values, uint32_t count, int better) {
    double best = values[0];
    for (uint32_t i = 1; i < count; i++)
        if (better * sign_of(values[i] - best) > 0) best = values[i];
    return best;
}

static double regret_of(const double *merit, const double *measured, uint32_t count, int better) {
    double most = best_of(merit, count, 1), best = best_of(measured, count, better);
    double sum = 0, leaders = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (merit[i] < most) continue;
        sum += better * (best - measured[i]) / best;
        leaders++;
    }
    return 100 * sum / leaders;
}

// Of best plans that tie, the one of most merit.
static double top_of(const double *merit, const double *measured, uint32_t count, int better) {
    double best = best_of(measured, count, better), own = 0;
    bool is_found = false;
    uint32_t before = 0, tied = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (better * sign_of(best - measured[i]) > 0) continue;
        if (!is_found || merit[i] > own) own = merit[i];
        is_found = true;
    }
    for (uint32_t i = 0; i < count; i++) {
        before += merit[i] > own;
        tied += sign_of(merit[i] - own) == 0;
    }
    if (before >= RANK_SCORE_TOP) return 0;
    uint32_t places = RANK_SCORE_TOP - before;
    return tied <= places ? 1 : (double)places / tied;
}

void rank_score_order(const double *merit, const double *measured, uint32_t count,
                      RankScoreBetter better, RankScore *out) {
    int sign = better == RANK_SCORE_HIGHER ? 1 : -1;
    assert(count > 0);
    *out = (RankScore){.tau = tau_of(merit, measured, count, sign),
                       .regret = regret_of(merit, measured, count, sign),
                       .top = top_of(merit, measured, count, sign)};
}
