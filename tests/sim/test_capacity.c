// Capacity: counts, costs and turns that can be done by hand, and a plan of a small machine.
#include "tests/check.h"

#include "sim/search/capacity.h"
#include "tests/sim/small_machine.h"

// 250 tokens on machines of 100 are 3 machines, at 7 micro-dollars an hour 21; 200 are exactly 2.
static void test_capacity_rounds_up(void **state) {
    (void)state;
    const CapacityUnit unit = {.tokens_per_day = 100, .uusd_per_hour = 7};
    assert_int_equal(capacity_machines(&unit, 250), 3);
    assert_int_equal(capacity_uusd_per_hour(&unit, 250), 21);
    assert_int_equal(capacity_machines(&unit, 200), 2);
    assert_int_equal(capacity_machines(&unit, 1), 1);
}

// 20 micro-dollars pay for 2 machines at 7, which serve 200 tokens; 6 pay for none.
static void test_capacity_within_a_budget(void **state) {
    (void)state;
    const CapacityUnit unit = {.tokens_per_day = 100, .uusd_per_hour = 7};
    assert_int_equal(capacity_within(&unit, 20), 200);
    assert_int_equal(capacity_within(&unit, 6), 0);
}

// A serves 100 for 10, B 300 for 24. In steps of 100 tokens A costs 10, 20, 30, 40, 50, 60, 70,
// 80, 90, ... and B 24, 24, 24, 48, 48, 48, 72, 72, 72, ...: B is cheaper at 201 to 300 (24 < 30),
// at 401 to 600 (48 < 50) and from 701 on (72 < 80; 96 < 100; 120 < 130). Between, A is.
static void test_capacity_turns_by_hand(void **state) {
    (void)state;
    const CapacityUnit units[] = {{100, 10}, {300, 24}};
    static const uint64_t from[] = {1, 201, 301, 401, 601, 701};
    CapacityTurn turns[8];
    bool is_last;
    uint32_t count = capacity_turns(units, 2, turns, 8, &is_last);
    assert_int_equal(count, 6);
    assert_true(is_last);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(turns[i].tokens_per_day, from[i]);
        assert_int_equal(turns[i].unit, i % 2);
    }
    assert_int_equal(capacity_cheapest(units, 2, 300), 1);
    assert_int_equal(capacity_cheapest(units, 2, 301), 0);
}

static void test_capacity_turns_are_bounded(void **state) {
    (void)state;
    const CapacityUnit units[] = {{100, 10}, {300, 24}};
    CapacityTurn turns[3];
    bool is_last;
    assert_int_equal(capacity_turns(units, 2, turns, 3, &is_last), 3);
    assert_false(is_last);
}

// One that has no plan or no price is in no comparison.
static void test_capacity_leaves_out_what_is_not_known(void **state) {
    (void)state;
    const CapacityUnit units[] = {{0, 1}, {100, 0}, {100, 50}};
    CapacityTurn turns[4];
    bool is_last;
    assert_int_equal(capacity_cheapest(units, 3, 10), 2);
    assert_int_equal(capacity_turns(units, 3, turns, 4, &is_last), 1);
    assert_int_equal(turns[0].unit, 2);
    assert_true(is_last);
    assert_int_equal(capacity_cheapest(units, 2, 10), SWEEP_NONE);
    assert_int_equal(capacity_turns(units, 2, turns, 4, &is_last), 0);
}

// With equal prices a token the one whose machines are smaller wins or is equal everywhere: the
// steps of the other are among its own, and it comes first.
static void test_capacity_of_equal_rates_ends(void **state) {
    (void)state;
    const CapacityUnit units[] = {{100, 10}, {200, 20}};
    CapacityTurn turns[4];
    bool is_last;
    assert_int_equal(capacity_turns(units, 2, turns, 4, &is_last), 1);
    assert_int_equal(turns[0].unit, 0);
    assert_false(is_last); // not shown: another step may turn it
}

static CapacityPlan find(const SmallMachine *small, CapacitySpec spec, Arena *arena) {
    SweepMachine machine = {.name = "switch:4,450GB/s",
                            .catalogue = &small->catalogue,
                            .input = small_machine_input(small)};
    CapacityPlan plan;
    spec.machine = &machine;
    capacity_find(&spec, arena, &plan);
    return plan;
}

// Prompts of 2048 and answers of 256 tokens: for each token of an answer (2048 + 256) / 256 = 9
// tokens are served, so that a day has 9 x tok/s x 86400, here half of them; 4 GPUs at $2.
static void test_capacity_of_a_plan(void **state) {
    (void)state;
    SmallMachine small;
    Arena arena = {0};
    small_machine_open(&small, "switch:4,450GB/s");
    small.scenario.price_uusd_per_gpu_hour = 2000000;
    CapacityPlan plan =
        find(&small, (CapacitySpec){.is_fixed = true, .utilisation_permille = 500}, &arena);
    assert_true(plan.is_feasible);
    assert_int_equal(plan.concurrency, 32);
    double per_day = plan.cell.evaluation.output_tok_s * 9 * 86400 / 2;
    assert_true((double)plan.unit.tokens_per_day <= per_day);
    assert_true((double)plan.unit.tokens_per_day > per_day - 2);
    assert_int_equal(plan.unit.uusd_per_hour, 8000000);
    arena_free(&arena);
    small_machine_close(&small);
}

// Under a limit the concurrency is chosen: the plan keeps the limit, serves at least what 32
// requests do, and a sixteenth more requests would not all be served within it.
static void test_capacity_finds_the_concurrency(void **state) {
    (void)state;
    SmallMachine small;
    Arena arena = {0};
    small_machine_open(&small, "switch:4,450GB/s");
    CapacityPlan fixed =
        find(&small, (CapacitySpec){.is_fixed = true, .utilisation_permille = 1000}, &arena);
    small.scenario.tpot_limit_ps = 2 * fixed.cell.evaluation.tpot_ps;
    CapacityPlan best = find(&small, (CapacitySpec){.utilisation_permille = 1000}, &arena);
    assert_true(best.is_feasible);
    assert_true(best.cell.evaluation.tpot_ps <= small.scenario.tpot_limit_ps);
    assert_true(best.unit.tokens_per_day > fixed.unit.tokens_per_day);
    arena_free(&arena);
    small_machine_close(&small);
}

static void test_capacity_says_why_none(void **state) {
    (void)state;
    SmallMachine small;
    Arena arena = {0};
    small_machine_open(&small, "switch:4,450GB/s");
    small.scenario.ttft_limit_ps = 1;
    CapacityPlan plan = find(&small, (CapacitySpec){.utilisation_permille = 1000}, &arena);
    assert_false(plan.is_feasible);
    assert_int_equal(plan.unit.tokens_per_day, 0);
    assert_non_null(strstr(plan.reason, "is over the limit of 1 ps"));
    arena_free(&arena);
    small_machine_close(&small);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_capacity_rounds_up),
        cmocka_unit_test(test_capacity_within_a_budget),
        cmocka_unit_test(test_capacity_turns_by_hand),
        cmocka_unit_test(test_capacity_turns_are_bounded),
        cmocka_unit_test(test_capacity_leaves_out_what_is_not_known),
        cmocka_unit_test(test_capacity_of_equal_rates_ends),
        cmocka_unit_test(test_capacity_of_a_plan),
        cmocka_unit_test(test_capacity_finds_the_concurrency),
        cmocka_unit_test(test_capacity_says_why_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
