// Loads with few different ranks.
#include "tests/check.h"

#include "model/plan/load_classes.h"

// 8 experts on 4 ranks: 1 + 3, 20 + 4, 6 + 0, 2 + 8 of 44. Rank 1 keeps 24 (12 for each expert),
// the others share 20: 20 / 6 for each expert, so rank 1 has 24 of 44 again, to 2^-20 of a token.
static void test_load_classes_keep_the_hottest_rank(void **state) {
    (void)state;
    const uint64_t tokens[] = {1, 3, 20, 4, 6, 0, 2, 8};
    Load load = {0}, two = {0};
    Err err = {0};
    double error;
    check_ok(load_of_counts(1, 1, 8, tokens, "by hand", &load, &err), &err);
    check_ok(load_classes_reduce(&load, 4, LOAD_CLASSES_DEFAULT, &two, &error, &err), &err);
    for (uint32_t e = 0; e < 8; e++)
        check_close((double)two.tokens[e] / 1048576, e / 2 == 1 ? 12 : 20 / 6.0, 1e-6);
    assert_true(two.tokens[0] == two.tokens[7]);
    assert_true(error < 1e-6);
    assert_string_equal(two.origin, "by hand, 2 classes of 4 ranks");
    load_free(&load);
    load_free(&two);
}

// One class: all alike, 11 tokens a rank; the hottest had 24, an error of 13 / 24. Three: rank 3
// keeps its 10 too. Eight: more classes than ranks, every rank its own.
static void test_load_classes_state_their_error(void **state) {
    (void)state;
    const uint64_t tokens[] = {1, 3, 20, 4, 6, 0, 2, 8};
    Load load = {0}, out = {0};
    Err err = {0};
    double error;
    check_ok(load_of_counts(1, 1, 8, tokens, "by hand", &load, &err), &err);
    check_ok(load_classes_reduce(&load, 4, 1, &out, &error, &err), &err);
    check_close(error, 13 / 24.0, 1e-6);
    load_free(&out);
    check_ok(load_classes_reduce(&load, 4, 3, &out, &error, &err), &err);
    check_close((double)out.tokens[6] / 1048576, 5, 1e-6);
    check_close((double)out.tokens[0] / 1048576, 2.5, 1e-6);
    load_free(&out);
    check_ok(load_classes_reduce(&load, 4, 8, &out, &error, &err), &err);
    check_close((double)out.tokens[0] / 1048576, 2, 1e-6);
    check_close((double)out.tokens[4] / 1048576, 3, 1e-6);
    load_free(&out);
    check_fails(load_classes_reduce(&load, 9, 2, &out, &error, &err), &err,
                "a load of 8 experts has no 2 classes of 9 ranks");
    load_free(&load);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_load_classes_keep_the_hottest_rank),
        cmocka_unit_test(test_load_classes_state_their_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
