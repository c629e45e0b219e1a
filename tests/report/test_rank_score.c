// Orders of a few plans, scored by hand.
#include "tests/check.h"

#include "model/report/rank_score.h"

static RankScore score(const double *merit, const double *measured, uint32_t count,
                       RankScoreBetter better) {
    RankScore out;
    rank_score_order(merit, measured, count, better, &out);
    return out;
}

// Merits 4 3 1 2 for measured 40 30 20 10, only the last two
// are the wrong way round: 5 pairs agree and 1 differs, (5 - 1) / 6. The first plan is the best.
static void test_rank_score_counts_pairs(void **state) {
    (void)state;
    const double merit[] = {4, 3, 1, 2}, measured[] = {40, 30, 20, 10};
    RankScore got = score(merit, measured, 4, RANK_SCORE_HIGHER);
    check_close(got.tau, 4.0 / 6, 1e-15);
    check_close(got.regret, 0, 0);
    check_close(got.top, 1, 0);
}

// The best plan (50) comes last of four: the first has 40, 20 % less, and the three places are
// taken by others. Pairs with the best differ (3), the others agree (3).
static void test_rank_score_of_a_best_plan_that_comes_last(void **state) {
    (void)state;
    const double merit[] = {9, 8, 7, 1}, measured[] = {40, 30, 20, 50};
    RankScore got = score(merit, measured, 4, RANK_SCORE_HIGHER);
    check_close(got.tau, 0, 0);
    check_close(got.regret, 20, 1e-14);
    check_close(got.top, 0, 0);
}

// Times: 10 ms is the best. The first plan takes 12 ms, 20 % more; its pair differs.
static void test_rank_score_of_times(void **state) {
    (void)state;
    const double merit[] = {-1, -2}, measured[] = {12, 10};
    RankScore got = score(merit, measured, 2, RANK_SCORE_LOWER);
    check_close(got.tau, -1, 0);
    check_close(got.regret, 20, 1e-14);
    check_close(got.top, 1, 0);
}

// A random order of five plans with 100, 90, 80, 70 and 60: the mean regret is (0 + 10 + 20 + 30 +
// 40) / 5 = 20 %, the best is among the first three in 3 orders of 5, and no pair says anything.
static void test_rank_score_of_equal_merits_is_that_of_chance(void **state) {
    (void)state;
    const double merit[] = {1, 1, 1, 1, 1}, measured[] = {100, 90, 80, 70, 60};
    RankScore got = score(merit, measured, 5, RANK_SCORE_HIGHER);
    check_close(got.tau, 0, 0);
    check_close(got.regret, 20, 1e-14);
    check_close(got.top, 0.6, 1e-15);
}

// Two leaders tie, with 100 and 80: regret (0 + 20) / 2. Of three pairs one is tied in merit and
// two agree: 2 / sqrt(2 x 3).
static void test_rank_score_of_a_tie(void **state) {
    (void)state;
    const double merit[] = {2, 2, 1}, measured[] = {100, 80, 50};
    RankScore got = score(merit, measured, 3, RANK_SCORE_HIGHER);
    check_close(got.tau, 2 / sqrt(6.0), 1e-15);
    check_close(got.regret, 10, 1e-14);
    check_close(got.top, 1, 0);
}

// Plans 1 and 5 were measured alike and best: it is enough that one of them is among the three.
static void test_rank_score_of_two_best_plans(void **state) {
    (void)state;
    const double merit[] = {1, 4, 3, 2, 5}, measured[] = {100, 50, 50, 50, 100};
    check_close(score(merit, measured, 5, RANK_SCORE_HIGHER).top, 1, 0);
    check_close(score(merit, measured, 5, RANK_SCORE_HIGHER).regret, 0, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rank_score_counts_pairs),
        cmocka_unit_test(test_rank_score_of_a_best_plan_that_comes_last),
        cmocka_unit_test(test_rank_score_of_times),
        cmocka_unit_test(test_rank_score_of_equal_merits_is_that_of_chance),
        cmocka_unit_test(test_rank_score_of_a_tie),
        cmocka_unit_test(test_rank_score_of_two_best_plans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
