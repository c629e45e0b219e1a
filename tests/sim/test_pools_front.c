// Separate pools beyond the best: those of the front, and those that are held.
#include "tests/check.h"

#include "sim/search/pools.h"
#include "tests/sim/small_machine.h"

// Whether a row serves at least as much for each GPU at steps at least as short.
static bool beats(const PoolsRow *row, const PoolsRow *other) {
    return row->tok_s_per_gpu >= other->tok_s_per_gpu && row->tpot_ps <= other->tpot_ps;
}

// With the front, the rows are what they are without it, and there are others, all different, of
// which some decode faster than the best row: more decode instances at smaller batches.
static void test_pools_of_the_front_are_faster(void **state) {
    (void)state;
    SmallMachine machine;
    PoolsSpec spec = {.most = 2};
    PoolsRanking best, front;
    Err err = {0};
    small_machine_open(&machine, "switch:4,450GB/s");
    machine.scenario.isl = 4000;
    machine.scenario.osl = 64;
    machine.scenario.concurrency = 64;
    EvaluateInput input = small_machine_input(&machine);
    check_ok(pools_rank(&input, &spec, &best, &err), &err);
    assert_int_equal(best.other_count, 0);
    spec.scope = POOLS_FRONT;
    check_ok(pools_rank(&input, &spec, &front, &err), &err);
    assert_int_equal(front.row_count, best.row_count);
    for (uint32_t i = 0; i < best.row_count; i++)
        assert_true(plan_digest(&front.rows[i].plan) == plan_digest(&best.rows[i].plan));
    bool is_faster = false;
    assert_true(front.other_count > 0);
    for (uint32_t i = 0; i < front.other_count; i++) {
        is_faster = is_faster || !beats(&best.rows[0], &front.others[i]);
        for (uint32_t k = 0; k < front.row_count; k++)
            assert_true(plan_digest(&front.others[i].plan) != plan_digest(&front.rows[k].plan));
    }
    assert_true(is_faster);
    pools_free(&best);
    pools_free(&front);
    small_machine_close(&machine);
}

// The best pools, held, are found again with all their figures; at a quarter of the requests they
// are the same pools at a smaller batch.
static void test_pools_that_are_held_stay(void **state) {
    (void)state;
    SmallMachine machine;
    PoolsSpec spec = {.most = 1};
    PoolsRanking best, held;
    Err err = {0};
    small_machine_open(&machine, "switch:4,450GB/s");
    machine.scenario.isl = 4000;
    machine.scenario.osl = 64;
    machine.scenario.concurrency = 64;
    EvaluateInput input = small_machine_input(&machine);
    check_ok(pools_rank(&input, &spec, &best, &err), &err);
    Plan plan = best.rows[0].plan;
    spec.held = &plan;
    spec.wishes[PHASE_PREFILL].instances = plan.pools[0].replicas;
    spec.wishes[PHASE_DECODE].instances = plan.pools[1].replicas;
    check_ok(pools_rank(&input, &spec, &held, &err), &err);
    assert_int_equal(held.row_count, 1);
    assert_true(plan_digest(&held.rows[0].plan) == plan_digest(&plan));
    check_close(held.rows[0].tok_s_per_gpu, best.rows[0].tok_s_per_gpu, 1e-12);
    pools_free(&held);
    machine.scenario.concurrency = 16;
    check_ok(pools_rank(&input, &spec, &held, &err), &err);
    assert_true(plan_digest(&held.rows[0].plan) == plan_digest(&plan));
    assert_true(held.rows[0].decode.sequences < best.rows[0].decode.sequences);
    pools_free(&held);
    pools_free(&best);
    small_machine_close(&machine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pools_of_the_front_are_faster),
        cmocka_unit_test(test_pools_that_are_held_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
