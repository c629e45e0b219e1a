// The simulator as worked examples.
#include "tests/check.h"

#include "tests/sim/sim_machine.h"

static Time collect_time(const char *machine, uint32_t ranks, const Collect *collect,
                         SimForm form) {
    SimMachine bench;
    Schedule schedule = {0};
    sim_machine_open(&bench, machine);
    sim_machine_collect(&schedule, ranks, collect);
    Time end = sim_machine_time(&bench, &schedule, form);
    schedule_free(&schedule);
    sim_machine_close(&bench);
    return end;
}

// 72 GPUs on one switch of 450 GB/s, 1 MiB a pair: a port sends 71 MiB: 71 x 2^20 / 450e9 = 165.442
// us, after 500 ns of two links.
static void test_sim_all_to_all_equals_closed_form(void **state) {
    (void)state;
    Arena arena = {0};
    Collect collect = {COLLECTIVE_ALL_TO_ALL, ALGORITHM_DIRECT, UINT64_C(72) << 20, 72, 1, 1};
    char *machine = sim_machine_switch(&arena, 72, 1, "450 GB/s");
    Time want = 500 * PS_PER_NS + 165441992;
    assert_int_equal(collect_time(machine, 72, &collect, SIM_FOLDED), want);
    assert_int_equal(collect_time(machine, 72, &collect, SIM_EXPANDED), want);
    arena_free(&arena);
}

// The same through 18 planes of 25 GB/s: every transfer is striped over all of them, 18 x 25 = 450
// GB/s.
static void test_sim_planes_add_up(void **state) {
    (void)state;
    Arena arena = {0};
    Collect collect = {COLLECTIVE_ALL_TO_ALL, ALGORITHM_DIRECT, UINT64_C(72) << 20, 72, 1, 1};
    char *machine = sim_machine_switch(&arena, 72, 18, "25 GB/s");
    assert_int_equal(collect_time(machine, 72, &collect, SIM_FOLDED), 500 * PS_PER_NS + 165441992);
    arena_free(&arena);
}

// A ring of four GPUs joined by links of 100 GB/s and 1 us: an all-reduce of 4 MB takes 2 (4 - 1)
// steps of 1 MB / 100 GB/s + 1 us = 11 us each.
static void test_sim_ring_of_four(void **state) {
    (void)state;
    const char *machine =
        "{\"moesim\": \"topology\", \"version\": 1, \"name\": \"ring\", \"source\": \"test\","
        "\"templates\": {\"ring\": {\"parts\": {\"gpu\": {\"kind\": \"gpu\", \"count\": 4}},"
        "\"links\": [{\"from\": \"gpu[i]\", \"to\": \"gpu[(i+1)%4]\", \"class\": \"nvlink\","
        "\"bandwidth\": \"100 GB/s\", \"latency\": \"1 us\", \"source\": \"test\"}]}},"
        "\"machine\": \"ring\"}";
    Collect collect = {COLLECTIVE_ALL_REDUCE, ALGORITHM_RING, 4000000, 4, 1, 1};
    assert_int_equal(collect_time(machine, 4, &collect, SIM_AUTO), 6 * 11 * PS_PER_US);
}

// Two-shot on a switch of 4 ports at 100 GB/s: two steps in which a port sends 3 chunks of 1 MB: 30
// us + 0.5 us each. A third of 100 GB/s is rounded down, so a step ends 1 ps late.
static void test_sim_two_shot_all_reduce(void **state) {
    (void)state;
    Arena arena = {0};
    Collect collect = {COLLECTIVE_ALL_REDUCE, ALGORITHM_DIRECT, 4000000, 4, 1, 3};
    char *machine = sim_machine_switch(&arena, 4, 1, "100 GB/s");
    assert_int_equal(collect_time(machine, 4, &collect, SIM_FOLDED), 3 * 2 * 30500001);
    arena_free(&arena);
}

// 2 nodes of 4 on rails, all-to-all of 8 MB a GPU = 1 MB a pair. The NIC carries the 4 transfers to
// the other node: 4 MB / 50 GB/s = 80 us. The same-rail path of 4 links of 300 ns starts at 1.2 us,
// the others cross leaf, spine and leaf: 6 links, 1.8 us. So for 0.6 us one transfer has the NIC
// alone and moves 30 kB; from then on the four share it and the last ends when all 4 MB are
// through: 1.2 us + 80 us, and 1 ps for a rate that was rounded down.
static void test_sim_rails_are_bound_by_the_nic(void **state) {
    (void)state;
    Arena arena = {0};
    Collect collect = {COLLECTIVE_ALL_TO_ALL, ALGORITHM_DIRECT, 8000000, 8, 1, 1};
    char *machine = sim_machine_rails(&arena, 1, 2, 4, 4);
    assert_int_equal(collect_time(machine, 8, &collect, SIM_FOLDED), 81200001);
    assert_int_equal(collect_time(machine, 8, &collect, SIM_EXPANDED), 81200001);
    arena_free(&arena);
}

// Compute of 30 us (30 MB at 1 TB/s) on one stream and an all-to-all of 10.5 us on another run side
// by side; what waits for both starts at 30 us. The exchange is hidden: nothing of it is exposed.
static void test_sim_streams_overlap(void **state) {
    (void)state;
    Arena arena = {0};
    SimMachine bench;
    Schedule schedule = {0};
    sim_machine_open(&bench, sim_machine_switch(&arena, 2, 1, "100 GB/s"));
    schedule_init(&schedule, "overlap", 2);
    RoleId role = schedule_add_role(&schedule, "all", (RankSet){0, 2, 2, 1}, 1);
    GroupId group = schedule_add_group(&schedule, &(GroupFamily){"pair", 2, 1, 1, 0, 2, 1});
    BlockId block = schedule_add_block(&schedule, role, "block");
    Op compute = sim_machine_memory_op("compute", 0, 30000000),
       after = sim_machine_memory_op("after", 0, 1000000);
    OpId first = schedule_add_op(&schedule, &compute);
    OpId exchange = schedule_add_op(&schedule, &(Op){.kind = OP_COLLECTIVE,
                                                     .op_class = OP_CLASS_DISPATCH,
                                                     .name = "exchange",
                                                     .stream = 1,
                                                     .comm = {.collective = COLLECTIVE_ALL_TO_ALL,
                                                              .algorithm = ALGORITHM_DIRECT,
                                                              .group = group,
                                                              .bytes = extent_fixed(2000000),
                                                              .element = 2,
                                                              .format = NUMFMT_BF16}});
    schedule_add_op(&schedule, &after);
    schedule_add_wait(&schedule, exchange);
    schedule_add_segment(&schedule, role, block, 1);
    schedule_finish(&schedule);
    Timeline timeline = {0};
    sim_machine_run(&bench, &schedule, SIM_FOLDED, &timeline);
    assert_int_equal(timeline.end_ps, 31 * PS_PER_US);
    assert_int_equal(timeline.totals[exchange].busy_ps, 10500000);
    assert_int_equal(timeline.totals[exchange].exposed_ps, 0);
    assert_int_equal(timeline.totals[first].busy_ps, 30 * PS_PER_US);
    assert_int_equal(timeline.share.param_ps[CALIB_MEMORY], 31 * PS_PER_US);
    assert_int_equal(timeline.links[LINK_NVLINK].bytes, 2 * 2 * 1000000);
    timeline_free(&timeline);
    schedule_free(&schedule);
    sim_machine_close(&bench);
    arena_free(&arena);
}

// An all-to-all of 8 B over two nodes: next to nothing moves, so its 11.8 us are the software step
// over the network (10 us) and the longest path (1.8 us), not the bandwidth of the NIC, although
// transfers inside the node begin and end earlier (1 us + 0.5 us).
static void test_sim_latency_is_not_bandwidth(void **state) {
    (void)state;
    Arena arena = {0};
    SimMachine bench;
    Schedule schedule = {0};
    sim_machine_open(&bench, sim_machine_rails(&arena, 1, 2, 4, 4));
    bench.calib.values[CALIB_NVLINK_STEP].value = 1e-6;
    bench.calib.values[CALIB_NET_STEP].value = 10e-6;
    Collect collect = {COLLECTIVE_ALL_TO_ALL, ALGORITHM_DIRECT, 8, 8, 1, 1};
    sim_machine_collect(&schedule, 8, &collect);
    Timeline timeline = {0};
    sim_machine_run(&bench, &schedule, SIM_FOLDED, &timeline);
    assert_int_equal(timeline.share.param_ps[CALIB_NET_STEP], 10 * PS_PER_US);
    assert_int_equal(timeline.share.latency_ps, 1800 * PS_PER_NS);
    assert_int_equal(timeline.share.param_ps[CALIB_NVLINK_STEP], 0);
    Time moving = timeline.end_ps - 11800 * PS_PER_NS;
    assert_int_equal(timeline.share.param_ps[CALIB_IB], moving);
    // 4 transfers of 1 B over 50 GB/s: 80 ps, and rounding of a rate
    assert_true(moving >= 60 && moving <= 81);
    timeline_free(&timeline);
    schedule_free(&schedule);
    sim_machine_close(&bench);
    arena_free(&arena);
}

static void add_send(Schedule *schedule, OpKind kind, RoleId peer, uint32_t channel, uint32_t lag,
                     const char *name) {
    schedule_add_op(schedule, &(Op){.kind = kind,
                                    .op_class = OP_CLASS_PIPELINE,
                                    .name = name,
                                    .stream = 1,
                                    .comm = {.peer = peer,
                                             .channel = channel,
                                             .lag = lag,
                                             .bytes = extent_fixed(100000),
                                             .element = 2,
                                             .format = NUMFMT_BF16}});
}

// Two stages, two micro-batches in flight, three rounds. A stage computes 10 us a pass; a transfer
// takes 100 kB / 100 GB/s + 0.5 us = 1.5 us. The first stage runs passes 0 and 1 back to back; pass
// 2 needs the tokens of pass 0, which leave the second stage at 10 + 1.5 + 10 and are there 1.5 us
// later, at 23: so a round of two passes takes 23 us and stages idle 3 us of them.
static void test_sim_pipeline_round(void **state) {
    (void)state;
    Arena arena = {0};
    SimMachine bench;
    Schedule schedule = {0};
    sim_machine_open(&bench, sim_machine_switch(&arena, 2, 1, "100 GB/s"));
    schedule_init(&schedule, "pipeline", 2);
    RoleId first = schedule_add_role(&schedule, "stage 0", (RankSet){0, 1, 1, 1}, 6);
    RoleId second = schedule_add_role(&schedule, "stage 1", (RankSet){1, 1, 1, 1}, 6);
    BlockId a = schedule_add_block(&schedule, first, "stage 0");
    Op work = sim_machine_memory_op("work", 0, 10000000);
    add_send(&schedule, OP_RECV, second, 1, 2, "tokens in");
    OpId tokens = schedule.op_count - 1;
    OpId computed = schedule_add_op(&schedule, &work);
    schedule_add_wait(&schedule, tokens);
    add_send(&schedule, OP_SEND, second, 0, 0, "activations out");
    schedule_add_wait(&schedule, computed);
    BlockId b = schedule_add_block(&schedule, second, "stage 1");
    add_send(&schedule, OP_RECV, first, 0, 0, "activations in");
    OpId activations = schedule.op_count - 1;
    OpId finished = schedule_add_op(&schedule, &work);
    schedule_add_wait(&schedule, activations);
    add_send(&schedule, OP_SEND, first, 1, 0, "tokens out");
    schedule_add_wait(&schedule, finished);
    schedule_add_segment(&schedule, first, a, 1);
    schedule_add_segment(&schedule, second, b, 1);
    schedule_finish(&schedule);
    Timeline timeline = {0};
    sim_machine_run(&bench, &schedule, SIM_FOLDED, &timeline);
    assert_int_equal(timeline.round_count, 6);
    // The second stage ends pass 0 when its tokens are sent: 10 + 1.5 + 10 + 1.5.
    assert_int_equal(timeline.round_ps[0], 23 * PS_PER_US);
    assert_int_equal(timeline.round_ps[2] - timeline.round_ps[0], 23 * PS_PER_US);
    assert_int_equal(timeline.round_ps[4] - timeline.round_ps[2], 23 * PS_PER_US);
    timeline_free(&timeline);
    schedule_free(&schedule);
    sim_machine_close(&bench);
    arena_free(&arena);
}

// Two schedules of one all-to-all each, submitted together: every port carries twice the bytes, so
// both need 2 x 20 us; alone each needs 20 us.
static void test_sim_submissions_share_links(void **state) {
    (void)state;
    Arena arena = {0};
    Err err = {0};
    SimMachine bench;
    Schedule schedule = {0};
    sim_machine_open(&bench, sim_machine_switch(&arena, 2, 1, "100 GB/s"));
    Collect collect = {COLLECTIVE_ALL_TO_ALL, ALGORITHM_DIRECT, 4000000, 2, 1, 1};
    sim_machine_collect(&schedule, 2, &collect);
    assert_int_equal(sim_machine_time(&bench, &schedule, SIM_FOLDED), 20500000);
    StepShape shape = {1, 1, 1, 1};
    Load load = load_uniform();
    SimOptions options = {.form = SIM_FOLDED};
    uint32_t a, b;
    Sim *sim = sim_open(&bench.fabric, &bench.model);
    check_ok(sim_submit(sim, &schedule, &shape, &load, &options, 0, &a, &err), &err);
    check_ok(sim_submit(sim, &schedule, &shape, &load, &options, 0, &b, &err), &err);
    check_ok(sim_advance(sim, &err), &err);
    Timeline timeline = {0};
    sim_timeline(sim, b, &timeline);
    assert_int_equal(timeline.end_ps, 40500000);
    timeline_free(&timeline);
    sim_close(sim);
    schedule_free(&schedule);
    sim_machine_close(&bench);
    arena_free(&arena);
}

// The second begins 0.1 us after the first, whose bytes end at 40.4 us: 0.1 us alone, then 19.9 us
// of it at half the rate. The second has 0.1 us left then, and ends at 40.5 us. With an eps of 5 %
// both end as one: the second goes on at half the rate until 40.6 us, the first is 0.2 us late of
// about 40 us: 5e-3. All of a simulation have the same eps.
static void test_sim_flow_eps_puts_ends_together(void **state) {
    (void)state;
    static const Time first_ends[] = {40400000, 40600000}, second_ends[] = {40500000, 40600000};
    Arena arena = {0};
    Err err = {0};
    SimMachine bench;
    Schedule schedule = {0};
    sim_machine_open(&bench, sim_machine_switch(&arena, 2, 1, "100 GB/s"));
    Collect collect = {COLLECTIVE_ALL_TO_ALL, ALGORITHM_DIRECT, 4000000, 2, 1, 1};
    sim_machine_collect(&schedule, 2, &collect);
    StepShape shape = {1, 1, 1, 1};
    Load load = load_uniform();
    for (uint32_t i = 0; i < 2; i++) {
        SimOptions options = {.form = SIM_FOLDED, .flow_eps_ppb = i * 50000000}, other = options;
        uint32_t a, b;
        Timeline first = {0}, second = {0};
        Sim *sim = sim_open(&bench.fabric, &bench.model);
        check_ok(sim_submit(sim, &schedule, &shape, &load, &options, 0, &a, &err), &err);
        check_ok(sim_submit(sim, &schedule, &shape, &load, &options, 100000, &b, &err), &err);
        other.flow_eps_ppb = 7;
        assert_false(sim_submit(sim, &schedule, &shape, &load, &other, 0, &b, &err));
        assert_non_null(strstr(err.text, "must have one flow eps"));
        err = (Err){0};
        check_ok(sim_advance(sim, &err), &err);
        sim_timeline(sim, a, &first);
        sim_timeline(sim, b, &second);
        assert_int_equal(first.end_ps, first_ends[i]);
        assert_int_equal(second.end_ps, second_ends[i] - 100000);
        assert_int_equal(first.flow_eps_ppb, i * 50000000);
        check_close((double)first.flow_eps_error_ppb, i * 5e6, 0.02);
        timeline_free(&first);
        timeline_free(&second);
        sim_close(sim);
    }
    schedule_free(&schedule);
    sim_machine_close(&bench);
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sim_all_to_all_equals_closed_form),
        cmocka_unit_test(test_sim_planes_add_up),
        cmocka_unit_test(test_sim_ring_of_four),
        cmocka_unit_test(test_sim_two_shot_all_reduce),
        cmocka_unit_test(test_sim_rails_are_bound_by_the_nic),
        cmocka_unit_test(test_sim_streams_overlap),
        cmocka_unit_test(test_sim_latency_is_not_bandwidth),
        cmocka_unit_test(test_sim_pipeline_round),
        cmocka_unit_test(test_sim_submissions_share_links),
        cmocka_unit_test(test_sim_flow_eps_puts_ends_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
