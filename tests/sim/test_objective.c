// What plans are ranked by: scores by hand.
#include "tests/check.h"

#include "sim/search/objective.h"

// 0.5 s to the first token, 20 ms for each further one, 50 tok/s/user, 300 tok/s/GPU, 4 dollars a
// million tokens.
static Evaluation plan(void) {
    Evaluation evaluation = {.ttft_ps = PS_PER_SECOND / 2,
                             .tpot_ps = PS_PER_SECOND / 50,
                             .tok_s_per_gpu = 300,
                             .tok_s_per_user = 50,
                             .usd_per_mtok = 4};
    return evaluation;
}

static void test_objective_scores_the_larger_the_better(void **state) {
    (void)state;
    Evaluation e = plan();
    check_close(objective_score(OBJECTIVE_THROUGHPUT, &e), 300, 1e-15);
    check_close(objective_score(OBJECTIVE_INTERACTIVITY, &e), 50, 1e-15);
    check_close(objective_score(OBJECTIVE_COST, &e), 0.25, 1e-15);
    check_close(objective_score(OBJECTIVE_TTFT, &e), 2, 1e-15);
    check_close(objective_score(OBJECTIVE_TPOT, &e), 50, 1e-15);
}

// Where no GPU has a price, the cheapest plan is the one with the most tokens per GPU.
static void test_objective_cost_without_a_price_is_throughput(void **state) {
    (void)state;
    Evaluation e = plan();
    e.usd_per_mtok = 0;
    check_close(objective_score(OBJECTIVE_COST, &e), 300, 1e-15);
}

// TTFT is made of prefill, TPOT and tok/s/user of decode, throughput and cost of the cycle.
static void test_objective_parts_are_those_of_its_time(void **state) {
    (void)state;
    Evaluation e = plan();
    assert_ptr_equal(objective_parts(OBJECTIVE_TTFT, &e), &e.prefill);
    assert_ptr_equal(objective_parts(OBJECTIVE_TPOT, &e), &e.decode);
    assert_ptr_equal(objective_parts(OBJECTIVE_INTERACTIVITY, &e), &e.decode);
    assert_ptr_equal(objective_parts(OBJECTIVE_THROUGHPUT, &e), &e.cycle);
    assert_ptr_equal(objective_parts(OBJECTIVE_COST, &e), &e.cycle);
}

// 6 s of memory and 2 s of kernels: memory at 1.5 times its time makes 8 s 11 s, and 300 tok/s/GPU
// 300 x 8 / 11.
static void test_objective_draws_scale_the_score(void **state) {
    (void)state;
    EvaluateParts parts = {0}, factors;
    for (uint32_t i = 0; i < EVALUATE_PARTS; i++) factors.part_s[i] = 1;
    parts.part_s[CALIB_MEMORY] = 6;
    parts.part_s[CALIB_KERNEL] = 2;
    factors.part_s[CALIB_MEMORY] = 1.5;
    check_close(objective_drawn(300, &parts, &factors), 300.0 * 8 / 11, 1e-15);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_objective_scores_the_larger_the_better),
        cmocka_unit_test(test_objective_cost_without_a_price_is_throughput),
        cmocka_unit_test(test_objective_parts_are_those_of_its_time),
        cmocka_unit_test(test_objective_draws_scale_the_score),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
