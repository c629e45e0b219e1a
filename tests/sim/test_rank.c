// Ranking on a small machine: the books balance, the order holds, limits and ties do what they say.
#include "tests/check.h"

#include "sim/search/rank.h"
#include "tests/sim/small_machine.h"

static Ranking rank(const SmallMachine *machine) {
    EvaluateInput input = small_machine_input(machine);
    Ranking ranking;
    Err err = {0};
    check_ok(rank_plans(&input, &(SpaceExperts){0}, &ranking, &err), &err);
    return ranking;
}

static uint32_t count_ledger(const Space *space, LedgerKind kind) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < space->ledger_count; i++)
        if (space->ledger[i].kind == kind) count += space->ledger[i].count;
    return count;
}

static uint32_t count_before_simulation(const Space *space) {
    return count_ledger(space, LEDGER_ILLEGAL) + count_ledger(space, LEDGER_NOT_FIT) +
           count_ledger(space, LEDGER_ENGINE) + count_ledger(space, LEDGER_SKIPPED);
}

// Every plan considered is in a row, or in the ledger with a reason.
static void test_rank_accounts_for_every_plan(void **state) {
    (void)state;
    SmallMachine machine;
    small_machine_open(&machine, "switch:4,450GB/s");
    Ranking ranking = rank(&machine);
    assert_true(ranking.row_count > 1);
    assert_int_equal(count_ledger(&ranking.space, LEDGER_NO_DATA), 0);
    assert_int_equal(count_ledger(&ranking.space, LEDGER_MISSES_LIMIT), 0);
    assert_int_equal(ranking.simulated, ranking.row_count);
    assert_int_equal(count_before_simulation(&ranking.space),
                     ranking.space.considered - ranking.simulated);
    rank_free(&ranking);
    small_machine_close(&machine);
}

static void test_rank_orders_by_throughput_per_gpu(void **state) {
    (void)state;
    SmallMachine machine;
    small_machine_open(&machine, "switch:4,450GB/s");
    Ranking ranking = rank(&machine);
    for (uint32_t i = 1; i < ranking.row_count; i++)
        assert_true(ranking.rows[i - 1].evaluation.tok_s_per_gpu >=
                    ranking.rows[i].evaluation.tok_s_per_gpu);
    uint32_t last = ranking.row_count - 1;
    assert_true(ranking.median_tok_s_per_gpu <= ranking.rows[0].evaluation.tok_s_per_gpu);
    assert_true(ranking.median_tok_s_per_gpu >= ranking.rows[last].evaluation.tok_s_per_gpu);
    rank_free(&ranking);
    small_machine_close(&machine);
}

static void test_rank_is_repeatable(void **state) {
    (void)state;
    SmallMachine machine;
    small_machine_open(&machine, "switch:4,450GB/s");
    Ranking first = rank(&machine), second = rank(&machine);
    assert_int_equal(first.row_count, second.row_count);
    for (uint32_t i = 0; i < first.row_count; i++) {
        const RankRow *a = &first.rows[i], *b = &second.rows[i];
        assert_true(plan_digest(&a->plan) == plan_digest(&b->plan));
        assert_true(a->evaluation.timelines == b->evaluation.timelines);
        assert_true(a->ratio_low == b->ratio_low && a->ratio_high == b->ratio_high);
    }
    rank_free(&first);
    rank_free(&second);
    small_machine_close(&machine);
}

// A limit between the fastest and the slowest TPOT keeps exactly the plans under it; the nearest
// miss is over it by the least.
static void test_rank_limits_move_plans_to_the_ledger(void **state) {
    (void)state;
    SmallMachine machine;
    small_machine_open(&machine, "switch:4,450GB/s");
    Ranking all = rank(&machine);
    Time limit_ps = all.rows[all.row_count / 2].evaluation.tpot_ps, nearest_ps = TIME_MAX;
    uint32_t within = 0;
    for (uint32_t i = 0; i < all.row_count; i++) {
        Time tpot_ps = all.rows[i].evaluation.tpot_ps;
        within += tpot_ps <= limit_ps;
        if (tpot_ps > limit_ps && tpot_ps < nearest_ps) nearest_ps = tpot_ps;
    }
    assert_true(within < all.row_count);
    machine.scenario.tpot_limit_ps = limit_ps;
    Ranking some = rank(&machine);
    assert_int_equal(some.row_count, within);
    assert_int_equal(some.simulated, all.simulated);
    assert_int_equal(count_ledger(&some.space, LEDGER_MISSES_LIMIT), all.row_count - within);
    assert_true(some.median_tok_s_per_gpu == all.median_tok_s_per_gpu);
    for (uint32_t i = 0; i < some.space.ledger_count; i++) {
        const LedgerRow *row = &some.space.ledger[i];
        if (row->kind != LEDGER_MISSES_LIMIT) continue;
        assert_string_equal(row->reason, "TPOT over the limit");
        check_close(row->miss, (double)nearest_ps / (double)limit_ps - 1, 1e-12);
    }
    rank_free(&all);
    rank_free(&some);
    small_machine_close(&machine);
}

// No plan takes no time.
static void test_rank_of_impossible_limits_is_empty(void **state) {
    (void)state;
    SmallMachine machine;
    small_machine_open(&machine, "switch:4,450GB/s");
    machine.scenario.ttft_limit_ps = machine.scenario.tpot_limit_ps = 1;
    Ranking ranking = rank(&machine);
    assert_int_equal(ranking.row_count, 0);
    assert_true(ranking.simulated > 0);
    assert_int_equal(count_ledger(&ranking.space, LEDGER_MISSES_LIMIT), ranking.simulated);
    rank_free(&ranking);
    small_machine_close(&machine);
}

// The ratio of the leader to itself is 1 in every draw. The interval of any plan holds its point
// estimate when all constants are drawn around their values, and a plan whose interval ends below 1
// does not tie.
static void test_rank_ties_are_intervals_that_hold_one(void **state) {
    (void)state;
    SmallMachine machine;
    small_machine_open(&machine, "switch:4,450GB/s");
    Ranking ranking = rank(&machine);
    const RankRow *best = &ranking.rows[0];
    assert_true(best->ratio_low == 1 && best->ratio_high == 1);
    uint32_t ties = 0;
    for (uint32_t i = 1; i < ranking.row_count; i++) {
        const RankRow *row = &ranking.rows[i];
        assert_true(row->ratio_low <= row->ratio_high);
        assert_int_equal(row->ties, row->ratio_low <= 1 && row->ratio_high >= 1);
        ties += row->ties;
    }
    assert_int_equal(ranking.ties, ties);
    assert_int_equal(best->ties, ties > 0);
    rank_free(&ranking);
    small_machine_close(&machine);
}

// When every constant is known exactly, each draw repeats the estimate: only equal figures tie.
static void test_rank_without_doubt_only_equals_tie(void **state) {
    (void)state;
    SmallMachine machine;
    small_machine_open(&machine, "switch:4,450GB/s");
    for (uint32_t i = 0; i < CALIB_COUNT; i++)
        machine.calib.values[i].low = machine.calib.values[i].high = machine.calib.values[i].value;
    Ranking ranking = rank(&machine);
    double best = ranking.rows[0].evaluation.tok_s_per_gpu;
    for (uint32_t i = 1; i < ranking.row_count; i++) {
        const RankRow *row = &ranking.rows[i];
        check_close(row->ratio_low, row->evaluation.tok_s_per_gpu / best, 1e-9);
        check_close(row->ratio_high, row->evaluation.tok_s_per_gpu / best, 1e-9);
        if (row->evaluation.tok_s_per_gpu < best * (1 - 1e-9)) assert_false(row->ties);
    }
    rank_free(&ranking);
    small_machine_close(&machine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rank_accounts_for_every_plan),
        cmocka_unit_test(test_rank_orders_by_throughput_per_gpu),
        cmocka_unit_test(test_rank_is_repeatable),
        cmocka_unit_test(test_rank_limits_move_plans_to_the_ledger),
        cmocka_unit_test(test_rank_of_impossible_limits_is_empty),
        cmocka_unit_test(test_rank_ties_are_intervals_that_hold_one),
        cmocka_unit_test(test_rank_without_doubt_only_equals_tie),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
