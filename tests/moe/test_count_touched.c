// Active parameters where the experts of a layer are one tensor.
#include "tests/check.h"

#include "model/moe/count.h"
#include "tests/plan/hand_small.h"

// Weights that a token meets of a model by hand, by arithmetic. 5 layers of hidden 8: q 16 x 8 and
// o 8 x 16, k and v 8 x 8 each, a norm of 8, a router of E x 8; 2 experts of 3 x 16 x 8 weights;
// two tables of 70 x 8 and a norm of 8.
static void test_count_touched_fused_experts_count_the_chosen_ones(void **state) {
    (void)state;
    Arch arch;
    Err err = {0};
    hand_small_transposed(&arch); // 5 experts
    check_ok(count_totals(&arch, &err), &err);
    const uint64_t attention = 2 * 16 * 8 + 2 * 8 * 8 + 8 + 5 * 8, expert = 3 * 16 * 8;
    assert_int_equal(arch.totals.parameters, 5 * (attention + 5 * expert) + 2 * 70 * 8 + 8);
    assert_int_equal(arch.totals.active_all, 5 * (attention + 2 * expert) + 2 * 70 * 8 + 8);
    arch_free(&arch);
}

// Stacked in two dimensions: w1 and w2 alone, 4 experts.
static void test_count_touched_stacked_experts_too(void **state) {
    (void)state;
    Arch arch;
    Err err = {0};
    hand_small_stacked(&arch);
    check_ok(count_totals(&arch, &err), &err);
    const uint64_t attention = 2 * 16 * 8 + 2 * 8 * 8 + 8 + 4 * 8, expert = 2 * 16 * 8;
    assert_int_equal(arch.totals.active_all, 5 * (attention + 2 * expert) + 2 * 70 * 8 + 8);
    arch_free(&arch);
}

// One tensor for each expert counts as before.
static void test_count_touched_experts_apart(void **state) {
    (void)state;
    Arch arch;
    Err err = {0};
    hand_small_apart(&arch);
    check_ok(count_totals(&arch, &err), &err);
    const uint64_t attention = 2 * 16 * 8 + 2 * 8 * 8 + 8 + 7 * 8, expert = 2 * 16 * 8;
    const uint64_t dense = 2 * 32 * 8, table = 70 * 8, norm = 8;
    assert_int_equal(arch.totals.active_all, 5 * attention + dense + 4 * 2 * expert + table + norm);
    arch_free(&arch);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_count_touched_fused_experts_count_the_chosen_ones),
        cmocka_unit_test(test_count_touched_stacked_experts_too),
        cmocka_unit_test(test_count_touched_experts_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
