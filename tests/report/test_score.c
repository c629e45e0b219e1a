// Scores of a few rows, reckoned by hand.
#include "tests/check.h"

#include "model/report/score.h"

static ScoreRow predicted(const char *family, const char *series, double value, double measured) {
    return (ScoreRow){family, series, true, value, measured, measured};
}

static ScoreRow refused(const char *family, const char *series) {
    return (ScoreRow){family, series, false, 0, 0, 0};
}

// 110 for 100 is 10 % too much. Of a basis of 80, 34 for 32 is 2.5 %.
static void test_score_error_is_of_the_basis(void **state) {
    (void)state;
    ScoreRow row = predicted("f", "s", 110, 100);
    check_close(score_error(&row), 10, 1e-15);
    row = (ScoreRow){"f", "s", true, 34, 32, 80};
    check_close(score_error(&row), 2.5, 1e-15);
    row = (ScoreRow){"f", "s", true, -3, -2, 50};
    check_close(score_error(&row), -2, 1e-15);
}

// Errors of +10, -20, +2 and -4 %: sizes in order 2, 4, 10, 20, median (4 + 10) / 2 = 7; 90 % of
// four are 3.6, so all four are needed: 20; bias (10 - 20 + 2 - 4) / 4 = -3. One row of five is
// refused.
static void test_score_of_a_series(void **state) {
    (void)state;
    const ScoreRow rows[] = {predicted("f", "s", 110, 100), predicted("f", "s", 80, 100),
                             refused("f", "s"), predicted("f", "s", 51, 50),
                             predicted("f", "s", 24, 25)};
    Arena arena = {0};
    Score score;
    score_rows(rows, 5, &arena, &score);
    assert_int_equal(score.series_count, 1);
    const ScoreSeries *series = &score.series[0];
    assert_int_equal(series->rows, 5);
    assert_int_equal(series->predicted, 4);
    check_close(series->errors.median, 7, 1e-14);
    check_close(series->errors.p90, 20, 1e-14);
    check_close(series->errors.bias, -3, 1e-14);
    check_close(series->errors.worst, 20, 1e-14);
    arena_free(&arena);
}

// Eleven rows with errors of 1 to 11 %: the middle one is 6; 90 % of eleven are 9.9, so the tenth.
static void test_score_ninetieth_of_eleven(void **state) {
    (void)state;
    ScoreRow rows[11];
    Arena arena = {0};
    Score score;
    for (uint32_t i = 0; i < 11; i++) rows[i] = predicted("f", "s", 100 + (11 - i), 100);
    score_rows(rows, 11, &arena, &score);
    check_close(score.series[0].errors.median, 6, 1e-14);
    check_close(score.series[0].errors.p90, 10, 1e-14);
    arena_free(&arena);
}

// A series of three rows and one of one weigh the same: family a has medians 2 and 8, mean 5, and
// a third series without a prediction that counts in its coverage only; family b has 1, c none. All
// over: (5 + 1) / 2 = 3. The order is that of the first rows, although their rows alternate.
static void test_score_families_are_means_of_series(void **state) {
    (void)state;
    const ScoreRow rows[] = {
        predicted("a", "z", 102, 100),
        predicted("b", "z", 99, 100),
        predicted("a", "y", 92, 100),
        predicted("a", "z", 102, 100),
        refused("c", "x"),
        refused("a", "x"),
        predicted("a", "z", 98, 100),
    };
    Arena arena = {0};
    Score score;
    score_rows(rows, 7, &arena, &score);
    assert_int_equal(score.series_count, 5);
    assert_string_equal(score.series[0].series, "z");
    assert_string_equal(score.series[0].family, "a");
    assert_string_equal(score.series[1].family, "b");
    assert_string_equal(score.series[2].series, "y");
    assert_int_equal(score.family_count, 3);
    const ScoreFamily *a = &score.families[0], *c = &score.families[2];
    assert_string_equal(a->family, "a");
    assert_int_equal(a->series, 3);
    assert_int_equal(a->scored, 2);
    assert_int_equal(a->rows, 5);
    assert_int_equal(a->predicted, 4);
    check_close(a->errors.median, 5, 1e-14);
    check_close(a->errors.worst, 8, 1e-14);
    // biases (2 + 2 - 2) / 3 and -8
    check_close(a->errors.bias, (2.0 / 3 - 8) / 2, 1e-14);
    assert_int_equal(c->predicted, 0);
    assert_true(c->errors.median == 0);
    check_close(score.mean, 3, 1e-14);
    assert_int_equal(score.rows, 7);
    assert_int_equal(score.predicted, 5);
    arena_free(&arena);
}

static void test_score_of_nothing(void **state) {
    (void)state;
    Arena arena = {0};
    Score score;
    score_rows(NULL, 0, &arena, &score);
    assert_int_equal(score.series_count, 0);
    assert_int_equal(score.family_count, 0);
    assert_true(score.mean == 0);
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_score_error_is_of_the_basis),
        cmocka_unit_test(test_score_of_a_series),
        cmocka_unit_test(test_score_ninetieth_of_eleven),
        cmocka_unit_test(test_score_families_are_means_of_series),
        cmocka_unit_test(test_score_of_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
