// The search against simulating everything: on small machines the rows that are shown, the ties and
// the front are the same, whatever is pruned.
#include "tests/check.h"

#include "sim/search/rank.h"
#include "tests/sim/small_machine.h"

#define SHOWN 5

static const char *const exhaustive_machines[] = {
    "switch:1,450GB/s",
    "switch:2,450GB/s",
    "switch:3,450GB/s",
    "switch:4,25GB/s",
    "switch:6,450GB/s",
    "switch:8,900GB/s",
    "switch:12,100GB/s",
    "ring:4,100GB/s",
    "ring:8,50GB/s",
    "mesh:4,64GB/s",
    "mesh:8,64GB/s",
    "hgx-h100:1",
    "hgx-h100:2",
    "torus:2x2,100GB/s,device=H100 SXM",
    "torus:4x2,100GB/s,device=H100 SXM",
    "torus:2x2x2,50GB/s,device=H100 SXM",
    "fattree:k=4,50GB/s",
    "leafspine:nodes=2,gpus=4,nic=50GB/s,nvlink=450GB/s,leaf=4",
    "leafspine:nodes=4,gpus=2,nic=50GB/s,nvlink=450GB/s,leaf=4,oversubscription=2",
    "leafspine:nodes=2,gpus=8,nic=25GB/s,nvlink=450GB/s,leaf=8",
};

static Ranking search(const SmallMachine *machine, Objective objective, RankScope scope) {
    EvaluateInput input = small_machine_input(machine);
    RankOptions options = {.objective = objective, .scope = scope, .top = SHOWN};
    Ranking ranking;
    Err err = {0};
    input.load_classes = 2;
    check_ok(rank_search(&input, &(SpaceExperts){0}, &options, &ranking, &err), &err);
    return ranking;
}

static void check_rows(const Ranking *all, const Ranking *some, const char *machine) {
    uint32_t shown = all->row_count < SHOWN ? all->row_count : SHOWN;
    if (some->row_count < shown) fail_msg("%s: %u rows", machine, some->row_count);
    for (uint32_t i = 0; i < shown; i++) {
        const RankRow *a = &all->rows[i], *b = &some->rows[i];
        if (plan_digest(&a->plan) != plan_digest(&b->plan))
            fail_msg("%s: row %u is another plan", machine, i);
        assert_true(a->evaluation.timelines == b->evaluation.timelines);
        check_close(a->ratio_high, b->ratio_high, 1e-15);
    }
    if (some->ties != all->ties)
        fail_msg("%s: %u ties, expected %u", machine, some->ties, all->ties);
}

// Every row of the whole ranking that no other beats in both figures is a row of the search.
static void check_front(const Ranking *all, const Ranking *some, const char *machine) {
    for (uint32_t i = 0; i < all->row_count; i++) {
        const Evaluation *e = &all->rows[i].evaluation;
        bool beaten = false, found = false;
        for (uint32_t j = 0; j < all->row_count; j++) {
            const Evaluation *other = &all->rows[j].evaluation;
            beaten = beaten || (other->tok_s_per_gpu >= e->tok_s_per_gpu &&
                                other->tok_s_per_user >= e->tok_s_per_user &&
                                (other->tok_s_per_gpu > e->tok_s_per_gpu ||
                                 other->tok_s_per_user > e->tok_s_per_user));
        }
        for (uint32_t j = 0; j < some->row_count; j++)
            found = found || (some->rows[j].evaluation.tok_s_per_gpu >= e->tok_s_per_gpu &&
                              some->rows[j].evaluation.tok_s_per_user >= e->tok_s_per_user);
        if (!beaten && !found) fail_msg("%s: row %u of the front is missing", machine, i);
    }
}

static uint32_t count_ledger(const Space *space) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < space->ledger_count; i++) count += space->ledger[i].count;
    return count;
}

static void compare(const SmallMachine *machine, const char *name, Objective objective,
                    uint32_t *pruned) {
    Ranking all = search(machine, objective, RANK_ALL);
    Ranking some = search(machine, objective, RANK_FRONT);
    check_rows(&all, &some, name);
    check_front(&all, &some, name);
    assert_int_equal(all.pruned, 0);
    assert_int_equal(some.space.considered, some.row_count + count_ledger(&some.space));
    *pruned += some.pruned;
    rank_free(&all);
    rank_free(&some);
}

static void test_exhaustive_rows_are_those_of_the_search(void **state) {
    (void)state;
    uint32_t pruned = 0;
    for (size_t m = 0; m < sizeof exhaustive_machines / sizeof *exhaustive_machines; m++) {
        SmallMachine machine;
        small_machine_open(&machine, exhaustive_machines[m]);
        for (uint32_t objective = 0; objective < OBJECTIVE_COUNT; objective++)
            compare(&machine, exhaustive_machines[m], (Objective)objective, &pruned);
        small_machine_close(&machine);
    }
    assert_true(pruned > 100);
}

// Limits: a plan whose bound is over one is as little in the rows as one whose time is.
static void test_exhaustive_limits_are_kept_alike(void **state) {
    (void)state;
    uint32_t pruned = 0;
    SmallMachine machine;
    small_machine_open(&machine, "switch:8,450GB/s");
    Ranking all = search(&machine, OBJECTIVE_THROUGHPUT, RANK_ALL);
    machine.scenario.tpot_limit_ps = all.rows[all.row_count / 2].evaluation.tpot_ps;
    machine.scenario.ttft_limit_ps = all.rows[all.row_count / 3].evaluation.ttft_ps;
    compare(&machine, "with limits", OBJECTIVE_THROUGHPUT, &pruned);
    compare(&machine, "with limits", OBJECTIVE_TTFT, &pruned);
    rank_free(&all);
    small_machine_close(&machine);
}

// A limit that nothing meets: the nearest plan is simulated, and it is the same as among all.
static void test_exhaustive_nearest_miss_is_the_same(void **state) {
    (void)state;
    SmallMachine machine;
    small_machine_open(&machine, "switch:4,450GB/s");
    machine.scenario.tpot_limit_ps = 1000000; // 1 us
    Ranking all = search(&machine, OBJECTIVE_THROUGHPUT, RANK_ALL);
    Ranking some = search(&machine, OBJECTIVE_THROUGHPUT, RANK_FRONT);
    const LedgerRow *a = space_nearest(&all.space, LEDGER_MISSES_LIMIT);
    const LedgerRow *b = space_nearest(&some.space, LEDGER_MISSES_LIMIT);
    assert_int_equal(some.row_count, 0);
    assert_true(plan_digest(&a->nearest) == plan_digest(&b->nearest));
    assert_string_equal(a->nearest_text, b->nearest_text);
    rank_free(&all);
    rank_free(&some);
    small_machine_close(&machine);
}

// Neighbours of the first plans are rows when they are better than the plan that they are
// neighbours of, and in the ledger when not: the first plan is at least as good as without them.
static void test_exhaustive_neighbours_only_improve(void **state) {
    (void)state;
    SmallMachine machine;
    small_machine_open(&machine, "switch:8,450GB/s");
    machine.scenario.isl = 8192;
    machine.scenario.concurrency = 256;
    EvaluateInput input = small_machine_input(&machine);
    RankOptions options = {.scope = RANK_LEADERS, .top = SHOWN, .around = 3};
    Ranking alone = search(&machine, OBJECTIVE_THROUGHPUT, RANK_LEADERS), around;
    Err err = {0};
    input.load_classes = 2;
    check_ok(rank_search(&input, &(SpaceExperts){0}, &options, &around, &err), &err);
    assert_true(around.space.considered > alone.space.considered);
    assert_true(around.rows[0].evaluation.tok_s_per_gpu >= alone.rows[0].evaluation.tok_s_per_gpu);
    assert_int_equal(around.space.considered, around.row_count + count_ledger(&around.space));
    rank_free(&alone);
    rank_free(&around);
    small_machine_close(&machine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exhaustive_rows_are_those_of_the_search),
        cmocka_unit_test(test_exhaustive_limits_are_kept_alike),
        cmocka_unit_test(test_exhaustive_nearest_miss_is_the_same),
        cmocka_unit_test(test_exhaustive_neighbours_only_improve),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
