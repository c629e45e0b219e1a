// Which algorithm a collective takes.
#include "tests/check.h"

#include "sim/search/choose.h"
#include "tests/sim/sim_machine.h"

#define RAILS 32 // ranks of the machine below: two units of two nodes of 8

static ChooseCase case_of(Collective kind, uint64_t bytes, uint32_t n, uint32_t stride) {
    return (ChooseCase){.kind = kind,
                        .bytes = bytes,
                        .family = {"group", n, stride, RAILS / n, 0, RAILS, RAILS / n}};
}

typedef struct Bench {
    Arena arena;
    SimMachine machine;
    Chooser *chooser;
} Bench;

static void open_rails(Bench *bench, ChooseEffort effort) {
    *bench = (Bench){0};
    sim_machine_open(&bench->machine, sim_machine_rails(&bench->arena, 2, 2, 8, 8));
    bench->chooser = choose_open(&bench->machine.fabric, &bench->machine.model, effort);
}

static void close_bench(Bench *bench) {
    choose_close(bench->chooser);
    sim_machine_close(&bench->machine);
    arena_free(&bench->arena);
}

// 256 MB over 4 nodes of 8. Direct: of the 8 MB for each other rank, 24 leave the node, in both
// halves: 384 MB at 50 GB/s, 7.7 ms. Hierarchical: 3 x 8 MB over the rail, in both halves: 48 MB, 1
// ms, and 2 x 7 x 32 MB at 450 GB/s, 1 ms. One-shot sends all of it 24 times over the NIC.
static void test_choose_goes_by_rails_between_nodes(void **state) {
    (void)state;
    Bench bench;
    open_rails(&bench, CHOOSE_REGULAR);
    ChooseCase given = case_of(COLLECTIVE_ALL_REDUCE, 256000000, 32, 1);
    const Choice *choice = choose_times(bench.chooser, &given);
    assert_int_equal(choice->times[0].algorithm, ALGORITHM_HIERARCHICAL);
    assert_int_equal(choice->times[0].inner, 8);
    assert_int_equal(choice->times[1].algorithm, ALGORITHM_DIRECT);
    assert_true(choice->times[0].time_ps < 2 * INT64_C(1000000000) + 10000000);
    assert_true(choice->times[1].time_ps > INT64_C(7680000000));
    close_bench(&bench);
}

// Fastest first, then what cannot be done, with its reason; each time at least its bound.
static void check_order(const Choice *choice) {
    assert_true(choice->count > 0);
    for (uint32_t i = 0; i < choice->count; i++) {
        const ChooseTime *way = &choice->times[i];
        assert_true(way->time_ps < 0 || way->time_ps >= way->bound_ps);
        if (way->time_ps < 0) assert_non_null(way->reason);
        if (i == 0) continue;
        const ChooseTime *before = &choice->times[i - 1];
        assert_true(way->time_ps < 0 || (before->time_ps >= 0 && before->time_ps <= way->time_ps));
    }
}

static void test_choose_orders_all_algorithms(void **state) {
    (void)state;
    Bench bench;
    open_rails(&bench, CHOOSE_ALL);
    for (uint32_t kind = 0; kind < COLLECTIVE_COUNT; kind++) {
        ChooseCase given = case_of((Collective)kind, 100000, 16, 1);
        const Choice *choice = choose_times(bench.chooser, &given);
        uint32_t algorithms = 0;
        for (uint32_t a = 0; a < ALGORITHM_COUNT; a++)
            algorithms += collective_has((Collective)kind, (Algorithm)a);
        assert_int_equal(choice->count, algorithms);
        check_order(choice);
    }
    close_bench(&bench);
}

static uint32_t place_of(const Choice *choice, Algorithm algorithm) {
    uint32_t place = 0;
    while (choice->times[place].algorithm != algorithm) place++;
    return place;
}

// 8 bytes inside a node: one step of 500 ns (through the switch, or one-shot) beats two, and those
// beat the 14 of a ring.
static void test_choose_takes_one_step_for_little(void **state) {
    (void)state;
    Bench bench;
    open_rails(&bench, CHOOSE_REGULAR);
    ChooseCase given = case_of(COLLECTIVE_ALL_REDUCE, 8, 8, 1);
    const Choice *choice = choose_times(bench.chooser, &given);
    assert_int_equal(place_of(choice, ALGORITHM_IN_SWITCH), 0);
    assert_int_equal(place_of(choice, ALGORITHM_ONE_SHOT), 1);
    assert_int_equal(place_of(choice, ALGORITHM_DIRECT), 2);
    assert_int_equal(place_of(choice, ALGORITHM_RING), 3);
    close_bench(&bench);
}

// On nodes of 8: neighbours share one by 8, every second rank by 4, ranks 8 apart not; groups of 12
// have 4 that never straddle; groups that begin at GPU 4 have none.
static void test_choose_finds_ranks_of_a_node(void **state) {
    (void)state;
    Bench bench;
    open_rails(&bench, CHOOSE_REGULAR);
    const Fabric *fabric = &bench.machine.fabric;
    GroupFamily family = {.name = "group", .size = 16, .stride = 1, .count = 2};
    assert_int_equal(choose_inner(fabric, &family, 0), 8);
    assert_int_equal(choose_inner(fabric, &family, 4), 1);
    family.stride = 2;
    assert_int_equal(choose_inner(fabric, &family, 0), 4);
    family.stride = 8;
    assert_int_equal(choose_inner(fabric, &family, 0), 1);
    family = (GroupFamily){.name = "group", .size = 12, .stride = 1, .count = 2};
    assert_int_equal(choose_inner(fabric, &family, 0), 4);
    close_bench(&bench);
}

// The same case gives the same choice, whatever was asked before, and the same one node further on.
static void test_choose_does_not_depend_on_what_was_asked(void **state) {
    (void)state;
    Bench a, b;
    open_rails(&a, CHOOSE_REGULAR);
    open_rails(&b, CHOOSE_REGULAR);
    ChooseCase first = case_of(COLLECTIVE_ALL_GATHER, 700000, 8, 1), second = first;
    first.family = (GroupFamily){"group", 8, 1, 1, 0, 0, 0};
    second.family = (GroupFamily){"group", 8, 1, 1, 16, 0, 0};
    Choice of_a = *choose_times(a.chooser, &first);
    Choice of_b = *choose_times(b.chooser, &second);
    choose_times(b.chooser, &first);
    assert_int_equal(of_a.count, of_b.count);
    for (uint32_t i = 0; i < of_a.count; i++) {
        assert_int_equal(of_a.times[i].algorithm, of_b.times[i].algorithm);
        assert_int_equal(of_a.times[i].time_ps, of_b.times[i].time_ps);
    }
    close_bench(&a);
    close_bench(&b);
}

// A dispatch of 8 of 256 experts over 4 nodes: a token reaches 2.93 nodes when 4 of 8 groups are
// chosen (test_node_spread): 366023 millionths of its copies cross. AUTO is replaced, what was
// given stays.
static void test_choose_resolves_a_schedule(void **state) {
    (void)state;
    Bench bench;
    Schedule schedule = {0};
    MlpSpec mlp = {.experts = 256, .top_k = 8, .groups = 8, .top_groups = 4};
    LayerKind kind = {.mlp = 0};
    Arch arch = {.mlps = &mlp, .kinds = &kind, .kind_count = 1};
    StepShape shape = {1, 1, 1, 1};
    Pool pool = {0};
    ChooseLog log = {0};
    open_rails(&bench, CHOOSE_REGULAR);
    Collect collect = {COLLECTIVE_ALL_TO_ALL, ALGORITHM_AUTO, 64000000, 32, 1, 1};
    sim_machine_collect(&schedule, 32, &collect);
    Comm *comm = &schedule.ops[0].comm;
    comm->split = SPLIT_BY_DESTINATION;
    comm->experts = 8;
    comm->experts_total = 256;
    choose_schedule(bench.chooser, &arch, &pool, &shape, &schedule, &log);
    assert_int_equal(comm->algorithm, ALGORITHM_HIERARCHICAL);
    assert_int_equal(comm->inner, 8);
    assert_int_equal(comm->rail_ppm, 366027);
    assert_int_equal(log.count, 1);
    assert_string_equal(log.rows[0].name, "collect");
    assert_int_equal(log.rows[0].second.algorithm, ALGORITHM_DIRECT);
    assert_true(log.rows[0].best.time_ps < log.rows[0].second.time_ps);
    Digest digest = schedule.digest;
    choose_schedule(bench.chooser, &arch, &pool, &shape, &schedule, &log);
    assert_true(schedule.digest == digest && log.count == 1);
    choose_log_free(&log);
    schedule_free(&schedule);
    close_bench(&bench);
}

// Ranks 3 to 13 of the machine straddle the end of a node: 3 to 7 and 8 to 13. They cannot be
// folded, and the direct all-reduce, with every rank in a role, is simulated as the command does
// it.
static void test_choose_takes_ranks_that_straddle_nodes(void **state) {
    (void)state;
    Bench bench;
    open_rails(&bench, CHOOSE_ALL);
    ChooseCase given = {.kind = COLLECTIVE_ALL_REDUCE,
                        .bytes = 1000000,
                        .family = {"group", 11, 1, 1, 0, 0, 0},
                        .first_gpu = 3};
    const Choice *choice = choose_times(bench.chooser, &given);
    check_order(choice);
    assert_true(choice->times[0].time_ps > 0);
    // the family may say where it begins, too
    Time first_ps = choice->times[0].time_ps;
    given.family.first = 2;
    given.first_gpu = 1;
    assert_true(choose_times(bench.chooser, &given)->times[0].time_ps == first_ps);
    close_bench(&bench);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choose_goes_by_rails_between_nodes),
        cmocka_unit_test(test_choose_orders_all_algorithms),
        cmocka_unit_test(test_choose_takes_one_step_for_little),
        cmocka_unit_test(test_choose_finds_ranks_of_a_node),
        cmocka_unit_test(test_choose_does_not_depend_on_what_was_asked),
        cmocka_unit_test(test_choose_resolves_a_schedule),
        cmocka_unit_test(test_choose_takes_ranks_that_straddle_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
