// The simulator as worked examples, and folded against expanded to the picosecond.
#include "tests/check.h"

#include "model/base/rng.h"
#include "model/plan/schedule.h"
#include "sim/sim.h"

#define PS_PER_US 1000000
#define PS_PER_NS 1000

// A machine to simulate on: its links as nominal (all efficiencies 1), software times 0 unless a
// test sets them.
typedef struct Bench {
    Topology topology;
    DeviceCatalogue catalogue;
    Fabric fabric;
    Device device;
    Calib calib;
    PriceModel model;
} Bench;

static void bench_open(Bench *bench, const char *json) {
    Err err = {0};
    *bench = (Bench){0};
    check_ok(topology_parse("test", json, strlen(json), &bench->topology, &err), &err);
    check_ok(fabric_build(&bench->topology, &bench->catalogue, &bench->fabric, &err), &err);
    for (uint32_t p = 0; p < CALIB_COUNT; p++) bench->calib.values[p].value = 1;
    const CalibParam times[] = {CALIB_KERNEL,   CALIB_NVLINK_STEP, CALIB_PCIE_STEP,
                                CALIB_NET_STEP, CALIB_COLLECTIVE,  CALIB_STEP_OVERHEAD};
    for (uint32_t i = 0; i < sizeof times / sizeof *times; i++)
        bench->calib.values[times[i]].value = 0;
    // 1 TB/s of memory: an operation that moves 1 MB takes 1 us.
    bench->device.name = "test";
    bench->device.memory_Bps = (Range){1000000000000, 1000000000000};
    bench->device.rate_flops[NUMFMT_BF16] = (Range){1000000000000000, 1000000000000000};
    bench->device.compute_units = 100;
    bench->model = (PriceModel){&bench->device, &bench->calib};
}

static void bench_close(Bench *bench) {
    fabric_free(&bench->fabric);
    device_free(&bench->catalogue);
    topology_free(&bench->topology);
}

static char *switch_machine(Arena *arena, uint32_t gpus, uint32_t planes, const char *bandwidth) {
    return arena_printf(
        arena,
        "{\"moesim\": \"topology\", \"version\": 1, \"name\": \"switch\", \"source\": \"test\","
        "\"templates\": {\"box\": {\"parts\": {\"gpu\": {\"kind\": \"gpu\", \"count\": %u},"
        "\"plane\": {\"kind\": \"switch\", \"count\": %u}}, \"links\": [{\"from\": \"gpu[*]\","
        "\"to\": \"plane[*]\", \"class\": \"nvlink\", \"bandwidth\": \"%s\", \"latency\": \"250 "
        "ns\","
        "\"source\": \"test\"}]}}, \"machine\": \"box\"}",
        gpus, planes, bandwidth);
}

// `nodes` of `gpus`, an NVSwitch of 450 GB/s in each, one NIC of 50 GB/s a GPU, a leaf per rail,
// `spines` above the leaves.
static char *rail_machine(Arena *arena, uint32_t units, uint32_t nodes, uint32_t gpus,
                          uint32_t spines) {
    return arena_printf(
        arena,
        "{\"moesim\": \"topology\", \"version\": 1, \"name\": \"rails\", \"source\": \"test\","
        "\"templates\": {\"node\": {\"parts\": {\"gpu\": {\"kind\": \"gpu\", \"count\": %u},"
        "\"plane\": {\"kind\": \"switch\", \"count\": 1}, \"nic\": {\"kind\": \"nic\", \"count\": "
        "%u}},"
        "\"links\": [{\"from\": \"gpu[*]\", \"to\": \"plane[0]\", \"class\": \"nvlink\","
        "\"bandwidth\": \"450 GB/s\", \"latency\": \"250 ns\", \"source\": \"test\"},"
        "{\"from\": \"gpu[i]\", \"to\": \"nic[i]\", \"class\": \"pcie\", \"bandwidth\": \"63 "
        "GB/s\","
        "\"latency\": \"300 ns\", \"source\": \"test\"}]},"
        "\"unit\": {\"parts\": {\"node\": {\"template\": \"node\", \"count\": %u},"
        "\"leaf\": {\"kind\": \"switch\", \"count\": %u}}, \"links\": [{\"from\": "
        "\"node[*].nic[r]\","
        "\"to\": \"leaf[r]\", \"class\": \"ib\", \"bandwidth\": \"50 GB/s\", \"latency\": \"300 "
        "ns\","
        "\"source\": \"test\"}]},"
        "\"cluster\": {\"parts\": {\"unit\": {\"template\": \"unit\", \"count\": %u},"
        "\"spine\": {\"kind\": \"switch\", \"count\": %u}}, \"links\": [{\"from\": "
        "\"unit[*].leaf[*]\","
        "\"to\": \"spine[*]\", \"class\": \"ib\", \"bandwidth\": \"50 GB/s\", \"latency\": \"300 "
        "ns\","
        "\"source\": \"test\"}]}}, \"machine\": \"cluster\"}",
        gpus, gpus, nodes, gpus, units, spines);
}

// One role of all ranks with a block of `ops` of collectives.
typedef struct Collect {
    Collective kind;
    Algorithm algorithm;
    uint64_t bytes;
    uint32_t size, stride, times;
} Collect;

static void build_collect(Schedule *schedule, uint32_t ranks, const Collect *collect) {
    schedule_init(schedule, "test", ranks);
    RoleId role = schedule_add_role(schedule, "all", (RankSet){0, ranks, ranks, 1}, 1);
    GroupId group = schedule_add_group(
        schedule, &(GroupFamily){"group", collect->size, collect->stride, ranks / collect->size, 0,
                                 ranks, ranks / collect->size});
    BufferId in = schedule_add_buffer(
        schedule, &(Buffer){"in", role, NUMFMT_BF16, BUFFER_STEP, extent_fixed(collect->bytes)});
    BufferId out = schedule_add_buffer(
        schedule, &(Buffer){"out", role, NUMFMT_BF16, BUFFER_STEP, extent_fixed(collect->bytes)});
    BlockId block = schedule_add_block(schedule, role, "block");
    schedule_add_op(schedule, &(Op){.kind = OP_COLLECTIVE,
                                    .op_class = OP_CLASS_OTHER,
                                    .name = "collect",
                                    .comm = {.collective = collect->kind,
                                             .algorithm = collect->algorithm,
                                             .group = group,
                                             .bytes = extent_fixed(collect->bytes),
                                             .element = 2,
                                             .format = NUMFMT_BF16}});
    schedule_add_slice(schedule, &(Slice){in, SLICE_READ, {0}, extent_fixed(collect->bytes)});
    schedule_add_slice(schedule, &(Slice){out, SLICE_WRITE, {0}, extent_fixed(collect->bytes)});
    schedule_add_segment(schedule, role, block, collect->times);
    schedule_finish(schedule);
}

static void run(Bench *bench, const Schedule *schedule, SimForm form, Timeline *out) {
    Err err = {0};
    StepShape shape = {1, 1, 1, 1};
    Load load = load_uniform();
    SimOptions options = {.form = form};
    check_ok(sim_run(&bench->fabric, &bench->model, schedule, &shape, &load, &options, out, &err),
             &err);
}

static Time time_of(Bench *bench, const Schedule *schedule, SimForm form) {
    Timeline timeline = {0};
    run(bench, schedule, form, &timeline);
    Time end = timeline.end_ps;
    timeline_free(&timeline);
    return end;
}

static Time collect_time(const char *machine, uint32_t ranks, const Collect *collect,
                         SimForm form) {
    Bench bench;
    Schedule schedule = {0};
    bench_open(&bench, machine);
    build_collect(&schedule, ranks, collect);
    Time end = time_of(&bench, &schedule, form);
    schedule_free(&schedule);
    bench_close(&bench);
    return end;
}

// 72 GPUs on one switch of 450 GB/s, 1 MiB a pair: a port sends 71 MiB: 71 x 2^20 / 450e9 = 165.442
// us, after 500 ns of two links.
static void test_sim_all_to_all_equals_closed_form(void **state) {
    (void)state;
    Arena arena = {0};
    Collect collect = {COLLECTIVE_ALL_TO_ALL, ALGORITHM_DIRECT, UINT64_C(72) << 20, 72, 1, 1};
    char *machine = switch_machine(&arena, 72, 1, "450 GB/s");
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
    char *machine = switch_machine(&arena, 72, 18, "25 GB/s");
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
    char *machine = switch_machine(&arena, 4, 1, "100 GB/s");
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
    char *machine = rail_machine(&arena, 1, 2, 4, 4);
    assert_int_equal(collect_time(machine, 8, &collect, SIM_FOLDED), 81200001);
    assert_int_equal(collect_time(machine, 8, &collect, SIM_EXPANDED), 81200001);
    arena_free(&arena);
}

static Op memory_op(const char *name, uint32_t stream, uint64_t bytes) {
    return (Op){.kind = OP_MEMORY,
                .op_class = OP_CLASS_OTHER,
                .name = name,
                .stream = stream,
                .compute = {.bytes = extent_fixed(bytes)}};
}

// Compute of 30 us (30 MB at 1 TB/s) on one stream and an all-to-all of 10.5 us on another run side
// by side; what waits for both starts at 30 us. The exchange is hidden: nothing of it is exposed.
static void test_sim_streams_overlap(void **state) {
    (void)state;
    Arena arena = {0};
    Bench bench;
    Schedule schedule = {0};
    bench_open(&bench, switch_machine(&arena, 2, 1, "100 GB/s"));
    schedule_init(&schedule, "overlap", 2);
    RoleId role = schedule_add_role(&schedule, "all", (RankSet){0, 2, 2, 1}, 1);
    GroupId group = schedule_add_group(&schedule, &(GroupFamily){"pair", 2, 1, 1, 0, 2, 1});
    BlockId block = schedule_add_block(&schedule, role, "block");
    Op compute = memory_op("compute", 0, 30000000), after = memory_op("after", 0, 1000000);
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
    run(&bench, &schedule, SIM_FOLDED, &timeline);
    assert_int_equal(timeline.end_ps, 31 * PS_PER_US);
    assert_int_equal(timeline.totals[exchange].busy_ps, 10500000);
    assert_int_equal(timeline.totals[exchange].exposed_ps, 0);
    assert_int_equal(timeline.totals[first].busy_ps, 30 * PS_PER_US);
    assert_int_equal(timeline.share.param_ps[CALIB_MEMORY], 31 * PS_PER_US);
    assert_int_equal(timeline.links[LINK_NVLINK].bytes, 2 * 2 * 1000000);
    timeline_free(&timeline);
    schedule_free(&schedule);
    bench_close(&bench);
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
    Bench bench;
    Schedule schedule = {0};
    bench_open(&bench, switch_machine(&arena, 2, 1, "100 GB/s"));
    schedule_init(&schedule, "pipeline", 2);
    RoleId first = schedule_add_role(&schedule, "stage 0", (RankSet){0, 1, 1, 1}, 6);
    RoleId second = schedule_add_role(&schedule, "stage 1", (RankSet){1, 1, 1, 1}, 6);
    BlockId a = schedule_add_block(&schedule, first, "stage 0");
    Op work = memory_op("work", 0, 10000000);
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
    run(&bench, &schedule, SIM_FOLDED, &timeline);
    assert_int_equal(timeline.round_count, 6);
    // The second stage ends pass 0 when its tokens are sent: 10 + 1.5 + 10 + 1.5.
    assert_int_equal(timeline.round_ps[0], 23 * PS_PER_US);
    assert_int_equal(timeline.round_ps[2] - timeline.round_ps[0], 23 * PS_PER_US);
    assert_int_equal(timeline.round_ps[4] - timeline.round_ps[2], 23 * PS_PER_US);
    timeline_free(&timeline);
    schedule_free(&schedule);
    bench_close(&bench);
    arena_free(&arena);
}

// Two schedules of one all-to-all each, submitted together: every port carries twice the bytes, so
// both need 2 x 20 us; alone each needs 20 us.
static void test_sim_submissions_share_links(void **state) {
    (void)state;
    Arena arena = {0};
    Err err = {0};
    Bench bench;
    Schedule schedule = {0};
    bench_open(&bench, switch_machine(&arena, 2, 1, "100 GB/s"));
    Collect collect = {COLLECTIVE_ALL_TO_ALL, ALGORITHM_DIRECT, 4000000, 2, 1, 1};
    build_collect(&schedule, 2, &collect);
    assert_int_equal(time_of(&bench, &schedule, SIM_FOLDED), 20500000);
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
    bench_close(&bench);
    arena_free(&arena);
}

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
        Op op = memory_op("compute", (uint32_t)rng_below(rng, 2), rng_below(rng, 50000000));
        if (rng_below(rng, 4) > 0) {
            op.kind = OP_COLLECTIVE;
            op.name = "collective";
            op.comm = (Comm){.collective = (Collective)rng_below(rng, COLLECTIVE_COUNT),
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

static void compare_forms(Bench *bench, const Schedule *schedule) {
    Timeline folded = {0}, expanded = {0};
    run(bench, schedule, SIM_FOLDED, &folded);
    run(bench, schedule, SIM_EXPANDED, &expanded);
    assert_int_equal(folded.end_ps, expanded.end_ps);
    for (OpId op = 0; op < schedule->op_count; op++) {
        assert_int_equal(folded.totals[op].busy_ps, expanded.totals[op].busy_ps);
        assert_int_equal(folded.totals[op].exposed_ps, expanded.totals[op].exposed_ps);
        // The bound of a group alone can be lower than that of all groups at once.
        assert_true(expanded.totals[op].busy_ps >= expanded.totals[op].bound_ps);
        assert_true(folded.totals[op].busy_ps >= folded.totals[op].bound_ps);
    }
    for (uint32_t c = 0; c < LINK_CLASS_COUNT; c++)
        assert_true(folded.links[c].busiest_Bps == expanded.links[c].busiest_Bps);
    timeline_free(&folded);
    timeline_free(&expanded);
}

static void test_sim_folded_equals_expanded_on_random_switches(void **state) {
    (void)state;
    Rng rng;
    rng_seed(&rng, 3);
    for (uint32_t trial = 0; trial < 60; trial++) {
        Arena arena = {0};
        Bench bench;
        Schedule schedule = {0};
        const uint32_t gpus[] = {2, 4, 6, 8, 12};
        uint32_t n = pick(&rng, gpus, 5);
        uint32_t sizes[] = {2, n};
        bench_open(&bench, switch_machine(&arena, n, 1 + (uint32_t)rng_below(&rng, 5), "37 GB/s"));
        build_random(&schedule, &rng, n, sizes, 2);
        compare_forms(&bench, &schedule);
        schedule_free(&schedule);
        bench_close(&bench);
        arena_free(&arena);
    }
}

static void test_sim_folded_equals_expanded_on_random_rails(void **state) {
    (void)state;
    Rng rng;
    rng_seed(&rng, 4);
    for (uint32_t trial = 0; trial < 60; trial++) {
        Arena arena = {0};
        Bench bench;
        Schedule schedule = {0};
        const uint32_t two[] = {2, 4, 1};
        uint32_t units = pick(&rng, two, 3), nodes = pick(&rng, two, 2), gpus = pick(&rng, two, 2);
        uint32_t ranks = units * nodes * gpus;
        uint32_t sizes[] = {2, gpus, nodes * gpus, ranks};
        bench_open(&bench, rail_machine(&arena, units, nodes, gpus, pick(&rng, two, 2)));
        build_random(&schedule, &rng, ranks, sizes, 4);
        compare_forms(&bench, &schedule);
        schedule_free(&schedule);
        bench_close(&bench);
        arena_free(&arena);
    }
}

// Experts that do not divide: `large` ranks of each group of n hold one more. Dispatch goes by
// destination, combine by source.
static void build_experts(Schedule *schedule, Rng *rng, uint32_t n, uint32_t groups) {
    uint32_t large = 1 + (uint32_t)rng_below(rng, n - 1), base = 1 + (uint32_t)rng_below(rng, 12);
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
        Op work = memory_op("experts", 0, experts * UINT64_C(1000000));
        schedule_add_op(schedule, &work);
        op.name = "combine";
        op.comm.split = SPLIT_BY_SOURCE;
        op.comm.channel = 1;
        schedule_add_op(schedule, &op);
        schedule_add_segment(schedule, roles[r], block, 2);
    }
    schedule_finish(schedule);
}

static void test_sim_folded_equals_expanded_with_uneven_experts(void **state) {
    (void)state;
    Rng rng;
    rng_seed(&rng, 5);
    for (uint32_t trial = 0; trial < 40; trial++) {
        Arena arena = {0};
        Bench bench;
        Schedule schedule = {0};
        uint32_t n = 2 + (uint32_t)rng_below(&rng, 7), groups = 1 + (uint32_t)rng_below(&rng, 2);
        bench_open(&bench, switch_machine(&arena, n * groups, 2, "41 GB/s"));
        build_experts(&schedule, &rng, n, groups);
        Timeline folded = {0}, expanded = {0};
        run(&bench, &schedule, SIM_FOLDED, &folded);
        run(&bench, &schedule, SIM_EXPANDED, &expanded);
        assert_int_equal(folded.end_ps, expanded.end_ps);
        for (OpId op = 0; op < schedule.op_count; op++) {
            RoleId role = schedule.blocks[schedule.ops[op].block].role;
            uint32_t rank = schedule.roles[role].ranks.first;
            assert_int_equal(folded.totals[role * schedule.op_count + op].busy_ps,
                             expanded.totals[rank * schedule.op_count + op].busy_ps);
        }
        timeline_free(&folded);
        timeline_free(&expanded);
        schedule_free(&schedule);
        bench_close(&bench);
        arena_free(&arena);
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
        Op work = memory_op("work", 0, rng_below(rng, 30000000));
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
        Bench bench;
        Schedule schedule = {0};
        uint32_t stage = 1U << rng_below(&rng, 4), replicas = 1U << rng_below(&rng, 3);
        uint32_t units = stage * replicas * 2 > 8 ? stage * replicas * 2 / 8 : 1;
        bench_open(&bench, rail_machine(&arena, units, 2, 4, 4));
        build_stages(&schedule, &rng, stage, replicas);
        Timeline folded = {0}, expanded = {0};
        run(&bench, &schedule, SIM_FOLDED, &folded);
        run(&bench, &schedule, SIM_EXPANDED, &expanded);
        assert_int_equal(folded.end_ps, expanded.end_ps);
        for (uint32_t i = 0; i < folded.round_count; i++)
            assert_int_equal(folded.round_ps[i], expanded.round_ps[i]);
        timeline_free(&folded);
        timeline_free(&expanded);
        schedule_free(&schedule);
        bench_close(&bench);
        arena_free(&arena);
    }
}

// Groups of 3 on nodes of 4 straddle: refused when folded, expanded by itself.
static void test_sim_uneven_groups_are_expanded(void **state) {
    (void)state;
    Arena arena = {0};
    Err err = {0};
    Bench bench;
    Schedule schedule = {0};
    bench_open(&bench, rail_machine(&arena, 1, 3, 4, 4));
    Collect collect = {COLLECTIVE_ALL_TO_ALL, ALGORITHM_DIRECT, 3000000, 3, 1, 1};
    build_collect(&schedule, 12, &collect);
    Timeline timeline = {0};
    StepShape shape = {1, 1, 1, 1};
    Load load = load_uniform();
    SimOptions folded = {.form = SIM_FOLDED};
    check_fails(
        sim_run(&bench.fabric, &bench.model, &schedule, &shape, &load, &folded, &timeline, &err),
        &err, "operation \"collect\": groups of 3 ranks straddle blocks of the machine unevenly");
    run(&bench, &schedule, SIM_AUTO, &timeline);
    assert_false(timeline.folded);
    assert_true(timeline.end_ps > 0);
    timeline_free(&timeline);
    schedule_free(&schedule);
    bench_close(&bench);
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
        cmocka_unit_test(test_sim_pipeline_round),
        cmocka_unit_test(test_sim_submissions_share_links),
        cmocka_unit_test(test_sim_folded_equals_expanded_on_random_switches),
        cmocka_unit_test(test_sim_folded_equals_expanded_on_random_rails),
        cmocka_unit_test(test_sim_folded_equals_expanded_with_uneven_experts),
        cmocka_unit_test(test_sim_folded_equals_expanded_with_stages_and_replicas),
        cmocka_unit_test(test_sim_uneven_groups_are_expanded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
