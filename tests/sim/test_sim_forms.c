// Where roles fold, and that folded and expanded runs then agree to the picosecond.
#include "tests/check.h"

#include "model/base/rng.h"
#include "tests/sim/sim_machine.h"

static uint32_t pick(Rng *rng, const uint32_t *values, uint32_t count) {
    return values[rng_below(rng, count)];
}

// Random nested groups of all ranks, random sizes, two streams, compute between: what one role says
// and what all ranks say.
static void build_random(Schedule *schedule, Rng *rng, uint32_t ranks, const uint32_t *sizes,
                         uint32_t size_count) {
    schedule_init(schedule, "random", ranks);
    RoleId role = schedule_add_role(schedule, "all", (RankSet){0, ranks, ranks, 1}, 1);
    BlockId block = schedule_add_block(schedule, role, "block");
    uint32_t count = 2 + (uint32_t)rng_below(rng, 4);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t size = pick(rng, sizes, size_count), stride = 1;
        if (ranks / size > 1 && rng_below(rng, 2)) stride = ranks / size;
        GroupId group = schedule_add_group(
            schedule, &(GroupFamily){"group", size, stride, ranks / size, 0, ranks, ranks / size});
        Op op =
            sim_machine_memory_op("compute", (uint32_t)rng_below(rng, 2), rng_below(rng, 50000000));
        if (rng_below(rng, 4) > 0) {
            op.kind = OP_COLLECTIVE;
            op.name = "collective";
            op.comm = (Comm){.collective = (Collective)rng_below(rng, COLLECTIVE_BROADCAST),
                             .algorithm = ALGORITHM_DIRECT,
                             .group = group,
                             .channel = i,
                             .bytes = extent_fixed(1 + rng_below(rng, 50000000)),
                             .element = 2,
                             .format = NUMFMT_BF16};
        }
        OpId added = schedule_add_op(schedule, &op);
        if (added > 0 && rng_below(rng, 2))
            schedule_add_wait(schedule, (OpId)rng_below(rng, added));
    }
    schedule_add_segment(schedule, role, block, 1 + (uint32_t)rng_below(rng, 3));
    schedule_finish(schedule);
}

static void end_trial(SimMachine *bench, Schedule *schedule, Arena *arena) {
    schedule_free(schedule);
    sim_machine_close(bench);
    arena_free(arena);
}

static void check_share(const Timeline *timeline) {
    Time sum = timeline->share.wait_ps + timeline->share.latency_ps;
    for (uint32_t p = 0; p < CALIB_COUNT; p++) sum += timeline->share.param_ps[p];
    assert_int_equal(sum, timeline->end_ps);
}

static void compare_forms(SimMachine *bench, const Schedule *schedule) {
    Timeline folded = {0}, expanded = {0};
    sim_machine_run(bench, schedule, SIM_FOLDED, &folded);
    sim_machine_run(bench, schedule, SIM_EXPANDED, &expanded);
    assert_int_equal(folded.end_ps, expanded.end_ps);
    check_share(&folded);
    check_share(&expanded);
    for (OpId op = 0; op < schedule->op_count; op++) {
        assert_int_equal(folded.totals[op].busy_ps, expanded.totals[op].busy_ps);
        assert_int_equal(folded.totals[op].exposed_ps, expanded.totals[op].exposed_ps);
        // The bound of a group alone can be lower than that of all groups at once.
        assert_true(expanded.totals[op].busy_ps >= expanded.totals[op].bound_ps);
        assert_true(folded.totals[op].busy_ps >= folded.totals[op].bound_ps);
    }
    for (uint32_t c = 0; c < LINK_CLASS_COUNT; c++) {
        assert_int_equal(folded.links[c].bytes, expanded.links[c].bytes);
        assert_int_equal(folded.links[c].busiest_B, expanded.links[c].busiest_B);
    }
    timeline_free(&folded);
    timeline_free(&expanded);
}

static void test_sim_folded_equals_expanded_on_random_switches(void **state) {
    (void)state;
    Rng rng;
    rng_seed(&rng, 3);
    for (uint32_t trial = 0; trial < 60; trial++) {
        Arena arena = {0};
        SimMachine bench;
        Schedule schedule = {0};
        const uint32_t gpus[] = {2, 4, 6, 8, 12};
        uint32_t n = pick(&rng, gpus, 5);
        uint32_t sizes[] = {2, n};
        sim_machine_open(
            &bench, sim_machine_switch(&arena, n, 1 + (uint32_t)rng_below(&rng, 5), "37 GB/s"));
        build_random(&schedule, &rng, n, sizes, 2);
        compare_forms(&bench, &schedule);
        end_trial(&bench, &schedule, &arena);
    }
}

static void test_sim_folded_equals_expanded_on_random_rails(void **state) {
    (void)state;
    Rng rng;
    rng_seed(&rng, 4);
    for (uint32_t trial = 0; trial < 60; trial++) {
        Arena arena = {0};
        SimMachine bench;
        Schedule schedule = {0};
        const uint32_t two[] = {2, 4, 1};
        uint32_t units = pick(&rng, two, 3), nodes = pick(&rng, two, 2), gpus = pick(&rng, two, 2);
        uint32_t ranks = units * nodes * gpus;
        uint32_t sizes[] = {2, gpus, nodes * gpus, ranks};
        sim_machine_open(&bench, sim_machine_rails(&arena, units, nodes, gpus, pick(&rng, two, 2)));
        build_random(&schedule, &rng, ranks, sizes, 4);
        compare_forms(&bench, &schedule);
        end_trial(&bench, &schedule, &arena);
    }
}

// Experts that do not divide: `large` ranks of each group of n hold one more. Dispatch goes by
// destination, combine by source.
static void build_experts(Schedule *schedule, Rng *rng, uint32_t n, uint32_t groups,
                          uint32_t large) {
    uint32_t base = 1 + (uint32_t)rng_below(rng, 12);
    uint32_t total = n * base + large;
    schedule_init(schedule, "experts", n * groups);
    RoleId roles[] = {
        schedule_add_role(schedule, "more", (RankSet){0, large, n, groups}, 1),
        schedule_add_role(schedule, "less", (RankSet){large, n - large, n, groups}, 1)};
    GroupId group =
        schedule_add_group(schedule, &(GroupFamily){"ep", n, 1, groups, 0, n * groups, groups});
    uint64_t bytes = 1 + rng_below(rng, 30000000);
    for (uint32_t r = 0; r < 2; r++) {
        uint32_t experts = r == 0 ? base + 1 : base;
        BlockId block = schedule_add_block(schedule, roles[r], "layer");
        Comm comm = {.collective = COLLECTIVE_ALL_TO_ALL,
                     .algorithm = ALGORITHM_DIRECT,
                     .group = group,
                     .bytes = extent_fixed(bytes),
                     .split = SPLIT_BY_DESTINATION,
                     .experts = experts,
                     .experts_total = total,
                     .first_expert = r == 0 ? 0 : large * (base + 1),
                     .element = 2,
                     .format = NUMFMT_BF16};
        Op op = {.kind = OP_COLLECTIVE, .op_class = OP_CLASS_DISPATCH, .name = "dispatch"};
        op.comm = comm;
        schedule_add_op(schedule, &op);
        Op work = sim_machine_memory_op("experts", 0, experts * UINT64_C(1000000));
        schedule_add_op(schedule, &work);
        op.name = "combine";
        op.comm.split = SPLIT_BY_SOURCE;
        op.comm.channel = 1;
        schedule_add_op(schedule, &op);
        schedule_add_segment(schedule, roles[r], block, 2);
    }
    schedule_finish(schedule);
}

static void compare_experts(SimMachine *bench, Rng *rng, uint32_t n, uint32_t groups,
                            uint32_t large) {
    Schedule schedule = {0};
    build_experts(&schedule, rng, n, groups, large);
    Timeline folded = {0}, expanded = {0};
    sim_machine_run(bench, &schedule, SIM_FOLDED, &folded);
    sim_machine_run(bench, &schedule, SIM_EXPANDED, &expanded);
    assert_int_equal(folded.end_ps, expanded.end_ps);
    for (OpId op = 0; op < schedule.op_count; op++) {
        RoleId role = schedule_op_role(&schedule, op);
        uint32_t rank = schedule.roles[role].ranks.first;
        assert_int_equal(folded.totals[role * schedule.op_count + op].busy_ps,
                         expanded.totals[rank * schedule.op_count + op].busy_ps);
    }
    timeline_free(&folded);
    timeline_free(&expanded);
    schedule_free(&schedule);
}

static void test_sim_folded_equals_expanded_with_uneven_experts(void **state) {
    (void)state;
    Rng rng;
    rng_seed(&rng, 5);
    for (uint32_t trial = 0; trial < 40; trial++) {
        Arena arena = {0};
        SimMachine bench;
        uint32_t n = 2 + (uint32_t)rng_below(&rng, 7), groups = 1 + (uint32_t)rng_below(&rng, 2);
        sim_machine_open(&bench, sim_machine_switch(&arena, n * groups, 2, "41 GB/s"));
        compare_experts(&bench, &rng, n, groups, 1 + (uint32_t)rng_below(&rng, n - 1));
        sim_machine_close(&bench);
        arena_free(&arena);
    }
}

// One group a rack: inside it the GPUs are alike, although trays and NICs make digits of their own.
static void test_sim_folded_equals_expanded_with_uneven_experts_in_racks(void **state) {
    (void)state;
    Rng rng;
    rng_seed(&rng, 7);
    for (uint32_t trial = 0; trial < 40; trial++) {
        Arena arena = {0};
        SimMachine bench;
        uint32_t racks = 1 + (uint32_t)rng_below(&rng, 3), trays = 2 + (uint32_t)rng_below(&rng, 3);
        sim_machine_open(&bench, sim_machine_racks(&arena, racks, trays));
        assert_int_equal(bench.fabric.domain_size, 2 * trays);
        compare_experts(&bench, &rng, 2 * trays, racks,
                        1 + (uint32_t)rng_below(&rng, 2 * trays - 1));
        sim_machine_close(&bench);
        arena_free(&arena);
    }
}

// Groups over several nodes, the border between more and fewer experts on a node: each role has
// nodes of its own.
static void test_sim_folded_equals_expanded_with_uneven_experts_by_node(void **state) {
    (void)state;
    Rng rng;
    rng_seed(&rng, 9);
    for (uint32_t trial = 0; trial < 40; trial++) {
        Arena arena = {0};
        SimMachine bench;
        uint32_t nodes = 2 + (uint32_t)rng_below(&rng, 3),
                 groups = 1 + (uint32_t)rng_below(&rng, 2);
        uint32_t large = 4 * (1 + (uint32_t)rng_below(&rng, nodes - 1));
        sim_machine_open(&bench, sim_machine_rails(&arena, groups, nodes, 4, 2));
        compare_experts(&bench, &rng, 4 * nodes, groups, large);
        sim_machine_close(&bench);
        arena_free(&arena);
    }
}

static void test_sim_folded_equals_expanded_on_random_racks(void **state) {
    (void)state;
    Rng rng;
    rng_seed(&rng, 8);
    for (uint32_t trial = 0; trial < 60; trial++) {
        Arena arena = {0};
        SimMachine bench;
        Schedule schedule = {0};
        const uint32_t two[] = {2, 4, 1};
        uint32_t racks = pick(&rng, two, 3), trays = pick(&rng, two, 2);
        uint32_t ranks = racks * trays * 2;
        uint32_t sizes[] = {2, 2 * trays, ranks};
        sim_machine_open(&bench, sim_machine_racks(&arena, racks, trays));
        build_random(&schedule, &rng, ranks, sizes, 3);
        compare_forms(&bench, &schedule);
        end_trial(&bench, &schedule, &arena);
    }
}

// Stages of whole nodes, replicas side by side: the transfer to the next stage crosses a NIC of the
// same rail, and every stage runs its own all-reduce. The stage that follows is `ranks of a stage`
// GPUs further on.
static void build_stages(Schedule *schedule, Rng *rng, uint32_t stage_ranks, uint32_t replicas) {
    uint32_t period = 2 * stage_ranks;
    schedule_init(schedule, "stages", period * replicas);
    RoleId roles[2];
    for (uint32_t r = 0; r < 2; r++)
        roles[r] = schedule_add_role(schedule, r == 0 ? "stage 0" : "stage 1",
                                     (RankSet){r * stage_ranks, stage_ranks, period, replicas}, 3);
    uint64_t payload = 1 + rng_below(rng, 3000000), sum = 1 + rng_below(rng, 3000000);
    for (uint32_t r = 0; r < 2; r++) {
        GroupId group = schedule_add_group(
            schedule, &(GroupFamily){"tp", stage_ranks, 1, replicas, r * stage_ranks, period, 1});
        BlockId block = schedule_add_block(schedule, roles[r], "stage");
        Op work = sim_machine_memory_op("work", 0, rng_below(rng, 30000000));
        Comm comm = {.peer = roles[1 - r],
                     .bytes = extent_fixed(payload),
                     .element = 2,
                     .format = NUMFMT_BF16};
        Op transfer = {.kind = r == 0 ? OP_SEND : OP_RECV,
                       .op_class = OP_CLASS_PIPELINE,
                       .name = "activations",
                       .stream = 1};
        transfer.comm = comm;
        OpId receive = r == 1 ? schedule_add_op(schedule, &transfer) : SCHEDULE_NONE;
        OpId computed = schedule_add_op(schedule, &work);
        if (r == 1) schedule_add_wait(schedule, receive);
        Op reduce = {.kind = OP_COLLECTIVE, .op_class = OP_CLASS_TP_COMM, .name = "sum"};
        reduce.comm = comm;
        reduce.comm.collective = COLLECTIVE_ALL_REDUCE;
        reduce.comm.group = group;
        reduce.comm.channel = 1 + r;
        reduce.comm.bytes = extent_fixed(sum);
        computed = schedule_add_op(schedule, &reduce);
        if (r == 0) schedule_add_op(schedule, &transfer);
        if (r == 0) schedule_add_wait(schedule, computed);
        schedule_add_segment(schedule, roles[r], block, 1);
    }
    schedule_finish(schedule);
}

static void test_sim_folded_equals_expanded_with_stages_and_replicas(void **state) {
    (void)state;
    Rng rng;
    rng_seed(&rng, 6);
    for (uint32_t trial = 0; trial < 40; trial++) {
        Arena arena = {0};
        SimMachine bench;
        Schedule schedule = {0};
        uint32_t stage = 1U << rng_below(&rng, 4), replicas = 1U << rng_below(&rng, 3);
        uint32_t units = stage * replicas * 2 > 8 ? stage * replicas * 2 / 8 : 1;
        sim_machine_open(&bench, sim_machine_rails(&arena, units, 2, 4, 4));
        build_stages(&schedule, &rng, stage, replicas);
        Timeline folded = {0}, expanded = {0};
        sim_machine_run(&bench, &schedule, SIM_FOLDED, &folded);
        sim_machine_run(&bench, &schedule, SIM_EXPANDED, &expanded);
        assert_int_equal(folded.end_ps, expanded.end_ps);
        for (uint32_t i = 0; i < folded.round_count; i++)
            assert_int_equal(folded.round_ps[i], expanded.round_ps[i]);
        timeline_free(&folded);
        timeline_free(&expanded);
        end_trial(&bench, &schedule, &arena);
    }
}

// Refused with a reason when it must be folded; refined when it need not.
static void check_refined_alone(SimMachine *bench, const Schedule *schedule, const char *reason) {
    Err err = {0};
    Timeline timeline = {0};
    StepShape shape = {1, 1, 1, 1};
    Load load = load_uniform();
    SimOptions folded = {.form = SIM_FOLDED};
    check_fails(
        sim_run(&bench->fabric, &bench->model, schedule, &shape, &load, &folded, &timeline, &err),
        &err, reason);
    sim_machine_run(bench, schedule, SIM_AUTO, &timeline);
    assert_int_equal(timeline.form, TIMELINE_REFINED);
    assert_true(timeline.end_ps > 0);
    timeline_free(&timeline);
}

// Groups of 3 on nodes of 4 straddle.
static void test_sim_uneven_groups_are_refined(void **state) {
    (void)state;
    Arena arena = {0};
    SimMachine bench;
    Schedule schedule = {0};
    sim_machine_open(&bench, sim_machine_rails(&arena, 1, 3, 4, 4));
    Collect collect = {COLLECTIVE_ALL_TO_ALL, ALGORITHM_DIRECT, 3000000, 3, 1, 1};
    sim_machine_collect(&schedule, 12, &collect);
    check_refined_alone(
        &bench, &schedule,
        "operation \"collect\": groups of 3 ranks straddle blocks of the machine unevenly");
    end_trial(&bench, &schedule, &arena);
}

// Rings and pairwise exchanges on a switch: each step is one transfer out of every port and one
// into it.
static void test_sim_folded_equals_expanded_in_rings(void **state) {
    (void)state;
    const Collect collects[] = {{COLLECTIVE_ALL_REDUCE, ALGORITHM_RING, 1000003, 4, 1, 2},
                                {COLLECTIVE_ALL_GATHER, ALGORITHM_RING, 70001, 4, 2, 1},
                                {COLLECTIVE_REDUCE_SCATTER, ALGORITHM_RING, 999, 8, 1, 1},
                                {COLLECTIVE_ALL_TO_ALL, ALGORITHM_PAIRWISE, 5000001, 8, 1, 1}};
    for (size_t i = 0; i < sizeof collects / sizeof *collects; i++) {
        Arena arena = {0};
        SimMachine bench;
        Schedule schedule = {0};
        sim_machine_open(&bench, sim_machine_switch(&arena, 8, 3, "33 GB/s"));
        sim_machine_collect(&schedule, 8, &collects[i]);
        compare_forms(&bench, &schedule);
        end_trial(&bench, &schedule, &arena);
    }
}

// On two nodes the neighbours of a ring differ: one in four leaves the node. Refused when folded.
static void test_sim_rings_across_nodes_are_not_folded(void **state) {
    (void)state;
    Arena arena = {0};
    SimMachine bench;
    Schedule schedule = {0};
    Collect collect = {COLLECTIVE_ALL_REDUCE, ALGORITHM_RING, 80000, 8, 1, 1};
    sim_machine_open(&bench, sim_machine_rails(&arena, 1, 2, 4, 2));
    sim_machine_collect(&schedule, 8, &collect);
    check_refined_alone(&bench, &schedule,
                        "operation \"collect\": neighbours in groups of \"group\" differ in place");
    end_trial(&bench, &schedule, &arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sim_folded_equals_expanded_on_random_switches),
        cmocka_unit_test(test_sim_folded_equals_expanded_on_random_rails),
        cmocka_unit_test(test_sim_folded_equals_expanded_with_uneven_experts),
        cmocka_unit_test(test_sim_folded_equals_expanded_with_uneven_experts_in_racks),
        cmocka_unit_test(test_sim_folded_equals_expanded_with_uneven_experts_by_node),
        cmocka_unit_test(test_sim_folded_equals_expanded_on_random_racks),
        cmocka_unit_test(test_sim_folded_equals_expanded_with_stages_and_replicas),
        cmocka_unit_test(test_sim_uneven_groups_are_refined),
        cmocka_unit_test(test_sim_folded_equals_expanded_in_rings),
        cmocka_unit_test(test_sim_rings_across_nodes_are_not_folded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
