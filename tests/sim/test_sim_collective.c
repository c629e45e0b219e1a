// Algorithms of collectives in simulated time: closed forms, folded against expanded, and never
// below the bound.
#include "tests/check.h"

#include "tests/sim/sim_machine.h"

typedef struct Trial {
    CollectiveShape shape;
    uint64_t bytes;
} Trial;

static void make(Schedule *schedule, uint32_t ranks, const Trial *trial) {
    Collect collect = {
        trial->shape.kind, trial->shape.algorithm, trial->bytes, trial->shape.n, 1, 1};
    sim_machine_collect(schedule, ranks, &collect);
    schedule->ops[0].comm.inner = trial->shape.inner;
    schedule_finish(schedule);
}

static Time time_on(const char *json, uint32_t ranks, const Trial *trial, SimForm form) {
    SimMachine bench;
    Schedule schedule = {0};
    sim_machine_open(&bench, json);
    make(&schedule, ranks, trial);
    Time time = sim_machine_time(&bench, &schedule, form);
    schedule_free(&schedule);
    sim_machine_close(&bench);
    return time;
}

// Two nodes of 4 GPUs, 8 MB: chunks of 1 MB. Inside a node each rank sends 2 chunks to 3 others, 6
// MB at 450 GB/s: 13333.334 ns after two hops of 250 ns. Over the rail 1 MB at 50 GB/s, 20 us,
// after 300 + 300 + 300 + 300 ns; back in the same time; then inside the node again. Together 2 x
// (13833.334 + 21200) ns.
static void test_sim_hierarchical_all_reduce_in_closed_form(void **state) {
    (void)state;
    Arena arena = {0};
    const char *json = sim_machine_rails(&arena, 1, 2, 4, 2);
    Trial trial = {{COLLECTIVE_ALL_REDUCE, ALGORITHM_HIERARCHICAL, 8, 4, RAIL_FIRST}, 8000000};
    Time want = 2 * (13833334 + 21200 * PS_PER_NS);
    Time folded = time_on(json, 8, &trial, SIM_FOLDED);
    assert_true(folded - want <= 4 && want - folded <= 4);
    assert_true(time_on(json, 8, &trial, SIM_EXPANDED) == folded);
    arena_free(&arena);
}

// Eight GPUs on one switch, 8 MB at 100 GB/s: 8 MB up to be summed and 1 MB to be copied, as much
// down: 90 us after 500 ns. A ring takes 14 steps of 10.5 us.
static void test_sim_in_switch_all_reduce_in_closed_form(void **state) {
    (void)state;
    Arena arena = {0};
    const char *json = sim_machine_switch(&arena, 8, 4, "25 GB/s");
    Trial trial = {{COLLECTIVE_ALL_REDUCE, ALGORITHM_IN_SWITCH, 8, 0, RAIL_FIRST}, 8000000};
    assert_int_equal(time_on(json, 8, &trial, SIM_FOLDED), 90500 * PS_PER_NS);
    assert_int_equal(time_on(json, 8, &trial, SIM_EXPANDED), 90500 * PS_PER_NS);
    assert_int_equal(time_on(json, 8, &trial, SIM_REFINED), 90500 * PS_PER_NS);
    trial.shape.algorithm = ALGORITHM_RING;
    assert_int_equal(time_on(json, 8, &trial, SIM_FOLDED), 14 * 10500 * PS_PER_NS);
    arena_free(&arena);
}

// Four GPUs, 4 MB: two trees of 2 MB. First tree: 1 and 3 under 2, 2 under 0; second: 2 and 0
// under 1, 1 under 3. Step 0: 1, 3 -> 2 and 2, 0 -> 1: 4 MB into a GPU at 100 GB/s, 40 us. Step
// 1: 2 -> 0 and 1 -> 3: 20 us. Down the same way: step 2 20 us, step 3 40 us. Each step after 500
// ns.
static void test_sim_tree_of_four_in_closed_form(void **state) {
    (void)state;
    Arena arena = {0};
    const char *json = sim_machine_switch(&arena, 4, 4, "25 GB/s");
    Trial trial = {{COLLECTIVE_ALL_REDUCE, ALGORITHM_TREE, 4, 0, RAIL_FIRST}, 4000000};
    assert_int_equal(time_on(json, 4, &trial, SIM_EXPANDED), (120000 + 4 * 500) * PS_PER_NS);
    arena_free(&arena);
}

// Dispatch with one copy of a token for each node: half of the bytes over the rails. Two nodes of
// 4, 8 experts, 8 MB a rank: 4 MB for the other node, of which 2 MB cross at 50 GB/s: 40 us after
// 1.2 us. Then 1 MB from each node to each of 3 others: 6 MB at 450 GB/s, 13333.334 ns after 500.
// The combine takes the same steps in the other order.
static void test_sim_tokens_cross_a_rail_once(void **state) {
    (void)state;
    Arena arena = {0};
    Time want = (41200 + 13833) * PS_PER_NS + 334;
    for (uint32_t split = SPLIT_BY_DESTINATION; split <= SPLIT_BY_SOURCE; split++) {
        SimMachine bench;
        Schedule schedule = {0};
        Trial trial = {{COLLECTIVE_ALL_TO_ALL, ALGORITHM_HIERARCHICAL, 8, 4, RAIL_FIRST}, 8000000};
        sim_machine_open(&bench, sim_machine_rails(&arena, 1, 2, 4, 2));
        make(&schedule, 8, &trial);
        Comm *comm = &schedule.ops[0].comm;
        comm->split = (Split)split;
        comm->experts = 1;
        comm->experts_total = 8;
        comm->rail_ppm = 500000;
        schedule_finish(&schedule);
        Time folded = sim_machine_time(&bench, &schedule, SIM_FOLDED);
        assert_true(folded - want <= 4 && want - folded <= 4);
        assert_true(sim_machine_time(&bench, &schedule, SIM_EXPANDED) == folded);
        schedule_free(&schedule);
        sim_machine_close(&bench);
    }
    arena_free(&arena);
}

static void compare(const char *json, uint32_t ranks, const Trial *trial) {
    Time expanded = time_on(json, ranks, trial, SIM_EXPANDED);
    assert_true(time_on(json, ranks, trial, SIM_REFINED) == expanded);
    assert_true(time_on(json, ranks, trial, SIM_FOLDED) == expanded);
}

static void test_sim_folded_equals_expanded_with_hierarchy(void **state) {
    (void)state;
    const uint64_t sizes[] = {7, 100003, 5000001};
    Arena arena = {0};
    const char *json = sim_machine_rails(&arena, 2, 2, 4, 2);
    for (uint32_t kind = 0; kind < COLLECTIVE_BROADCAST; kind++) {
        for (uint32_t n = 4; n <= 16; n *= 2) {
            for (uint32_t inner = 2; inner <= n; inner *= 2) {
                for (uint32_t i = 0; i < 3; i++)
                    compare(
                        json, 16,
                        &(Trial){{(Collective)kind, ALGORITHM_HIERARCHICAL, n, inner, RAIL_FIRST},
                                 sizes[i]});
            }
        }
    }
    arena_free(&arena);
}

// Ranks of trees and chains differ: they have no folded form.
static void test_sim_refined_equals_expanded_in_trees(void **state) {
    (void)state;
    const CollectiveShape shapes[] = {
        {COLLECTIVE_ALL_REDUCE, ALGORITHM_TREE, 12, 0, RAIL_FIRST},
        {COLLECTIVE_ALL_REDUCE, ALGORITHM_PIPELINED_TREE, 12, 0, RAIL_FIRST},
        {COLLECTIVE_BROADCAST, ALGORITHM_TREE, 12, 0, RAIL_FIRST},
        {COLLECTIVE_BROADCAST, ALGORITHM_RING, 12, 0, RAIL_FIRST},
        {COLLECTIVE_BROADCAST, ALGORITHM_DIRECT, 12, 0, RAIL_FIRST}};
    Arena arena = {0};
    const char *machines[] = {sim_machine_switch(&arena, 12, 3, "33 GB/s"),
                              sim_machine_rails(&arena, 1, 3, 4, 2)};
    for (uint32_t i = 0; i < 10; i++) {
        Trial trial = {shapes[i % 5], 1000003};
        assert_true(time_on(machines[i / 5], 12, &trial, SIM_REFINED) ==
                    time_on(machines[i / 5], 12, &trial, SIM_EXPANDED));
    }
    arena_free(&arena);
}

static void check_bound(SimMachine *bench, const Trial *trial) {
    Schedule schedule = {0};
    Timeline timeline = {0};
    make(&schedule, trial->shape.n, trial);
    sim_machine_run(bench, &schedule, SIM_EXPANDED, &timeline);
    assert_true(timeline.totals[0].bound_ps > 0);
    assert_true(timeline.end_ps >= timeline.totals[0].bound_ps);
    timeline_free(&timeline);
    schedule_free(&schedule);
}

// Every collective and algorithm, on one switch and on rails: no time is below its bound.
static void test_sim_collectives_are_not_faster_than_their_bound(void **state) {
    (void)state;
    Arena arena = {0};
    const char *machines[] = {sim_machine_switch(&arena, 8, 3, "33 GB/s"),
                              sim_machine_rails(&arena, 1, 2, 4, 2)};
    for (uint32_t m = 0; m < 2; m++) {
        SimMachine bench;
        sim_machine_open(&bench, machines[m]);
        for (uint32_t i = 0; i < COLLECTIVE_COUNT * ALGORITHM_COUNT; i++) {
            CollectiveShape shape = {.kind = (Collective)(i / ALGORITHM_COUNT),
                                     .algorithm = (Algorithm)(i % ALGORITHM_COUNT),
                                     .n = 8,
                                     .inner = 4};
            if (!collective_has(shape.kind, shape.algorithm)) continue;
            if (m == 1 && shape.algorithm == ALGORITHM_IN_SWITCH) continue; // no switch for all
            check_bound(&bench, &(Trial){shape, 1});
            check_bound(&bench, &(Trial){shape, 3000007});
        }
        sim_machine_close(&bench);
    }
    arena_free(&arena);
}

// What cannot be: a switch between nodes that sums, and ranks of a tree that look alike.
static void test_sim_refuses_what_a_machine_cannot_do(void **state) {
    (void)state;
    Arena arena = {0};
    SimMachine bench;
    Schedule schedule = {0};
    Timeline timeline = {0};
    Err err = {0};
    StepShape shape = {1, 1, 1, 1};
    Load load = load_uniform();
    SimOptions options = {.form = SIM_EXPANDED};
    sim_machine_open(&bench, sim_machine_rails(&arena, 1, 2, 4, 2));
    make(&schedule, 8,
         &(Trial){{COLLECTIVE_ALL_REDUCE, ALGORITHM_IN_SWITCH, 8, 0, RAIL_FIRST}, 8000});
    assert_false(
        sim_run(&bench.fabric, &bench.model, &schedule, &shape, &load, &options, &timeline, &err));
    assert_non_null(strstr(err.text, "GPUs 3 and 4 share no switch that sums"));
    schedule_free(&schedule);
    sim_machine_close(&bench);
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sim_hierarchical_all_reduce_in_closed_form),
        cmocka_unit_test(test_sim_in_switch_all_reduce_in_closed_form),
        cmocka_unit_test(test_sim_tree_of_four_in_closed_form),
        cmocka_unit_test(test_sim_tokens_cross_a_rail_once),
        cmocka_unit_test(test_sim_folded_equals_expanded_with_hierarchy),
        cmocka_unit_test(test_sim_refined_equals_expanded_in_trees),
        cmocka_unit_test(test_sim_collectives_are_not_faster_than_their_bound),
        cmocka_unit_test(test_sim_refuses_what_a_machine_cannot_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
