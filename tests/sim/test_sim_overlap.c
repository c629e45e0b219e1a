// What runs beside what, as worked examples: two batches, chunks, communication that takes SMs,
// transfers of another schedule. Two GPUs on a switch of 100 GB/s: an exchange of b bytes with the
// partner takes b / 100 GB/s and 0.5 us. Memory of 1 TB/s, 1 Pflop/s on 100 SMs, no fixed times.
#include "tests/check.h"

#include "tests/plan/lower_plans.h"
#include "tests/sim/sim_machine.h"
#include "tests/sim/small_machine.h"

enum { COMPUTE, COMM };

typedef struct Bench {
    Arena arena;
    SimMachine machine;
    Schedule schedule;
    RoleId role;
    GroupId pair;
    BlockId block;
} Bench;

// One role of both GPUs.
static void bench_open(Bench *bench) {
    *bench = (Bench){0};
    sim_machine_open(&bench->machine, sim_machine_switch(&bench->arena, 2, 1, "100 GB/s"));
    schedule_init(&bench->schedule, "overlap", 2);
    bench->role = schedule_add_role(&bench->schedule, "all", (RankSet){0, 2, 2, 1}, 1);
    bench->pair = schedule_add_group(&bench->schedule, &(GroupFamily){"pair", 2, 1, 1, 0, 2, 1});
}

static void bench_close(Bench *bench) {
    schedule_free(&bench->schedule);
    sim_machine_close(&bench->machine);
    arena_free(&bench->arena);
}

static void begin_block(Bench *bench, const char *name) {
    bench->block = schedule_add_block(&bench->schedule, bench->role, name);
}

// Moves memory for so many microseconds.
static OpId add_memory(Bench *bench, const char *name, uint32_t us) {
    Op op = sim_machine_memory_op(name, COMPUTE, (uint64_t)us * 1000000);
    return schedule_add_op(&bench->schedule, &op);
}

// Computes for so many microseconds, and moves memory for so many.
static OpId add_arithmetic(Bench *bench, const char *name, uint32_t compute_us,
                           uint32_t memory_us) {
    Op op = {.kind = OP_ATTENTION, .op_class = OP_CLASS_ATTENTION, .name = name};
    op.compute.flop = extent_fixed((uint64_t)compute_us * 1000000000);
    op.compute.bytes = extent_fixed((uint64_t)memory_us * 1000000);
    return schedule_add_op(&bench->schedule, &op);
}

// 100 kB with the partner for each microsecond, and 0.5 us; waits for `on` unless it is NONE.
static OpId add_exchange(Bench *bench, const char *name, uint32_t us, uint32_t sms, OpId on) {
    OpId id = bench->schedule.op_count;
    schedule_add_op(&bench->schedule, &(Op){.kind = OP_COLLECTIVE,
                                            .op_class = OP_CLASS_DISPATCH,
                                            .name = name,
                                            .stream = COMM,
                                            .comm = {.collective = COLLECTIVE_ALL_TO_ALL,
                                                     .algorithm = ALGORITHM_DIRECT,
                                                     .group = bench->pair,
                                                     .channel = id,
                                                     .bytes = extent_fixed((uint64_t)us * 200000),
                                                     .element = 2,
                                                     .format = NUMFMT_BF16,
                                                     .sms = sms}});
    if (on != SCHEDULE_NONE) schedule_add_wait(&bench->schedule, on);
    return id;
}

static void run(Bench *bench, Timeline *out) {
    schedule_finish(&bench->schedule);
    sim_machine_run(&bench->machine, &bench->schedule, SIM_FOLDED, out);
    Time sum = out->share.wait_ps + out->share.latency_ps;
    for (uint32_t p = 0; p < CALIB_COUNT; p++) sum += out->share.param_ps[p];
    assert_int_equal(sum, out->end_ps);
}

// The time of one block, run once.
static Time run_block(Bench *bench) {
    Timeline timeline = {0};
    schedule_add_segment(&bench->schedule, bench->role, bench->block, 1);
    run(bench, &timeline);
    Time end = timeline.end_ps;
    timeline_free(&timeline);
    return end;
}

// ---- Two batches

typedef struct Layer {
    OpId dispatch[2], combine[2];
} Layer;

// A layer as lower.c lays it out: attention 10 us, experts 8 us, end 1 us of each half; dispatch
// 6.5 us, combine 8.5 us.
static Layer add_layer(Bench *bench, const char *name, OpId open) {
    Layer layer;
    begin_block(bench, name);
    for (uint32_t half = 0; half < 2; half++) {
        if (half == 1 && open != SCHEDULE_NONE) {
            add_memory(bench, "end b", 1);
            schedule_add_wait(&bench->schedule, open);
        }
        OpId attended = add_memory(bench, "attend", 10);
        layer.dispatch[half] = add_exchange(bench, "dispatch", 6, 0, attended);
    }
    for (uint32_t half = 0; half < 2; half++) {
        OpId computed = add_memory(bench, "experts", 8);
        schedule_add_wait(&bench->schedule, layer.dispatch[half]);
        layer.combine[half] = add_exchange(bench, "combine", 8, 0, computed);
    }
    add_memory(bench, "end a", 1);
    schedule_add_wait(&bench->schedule, layer.combine[0]);
    schedule_add_segment(&bench->schedule, bench->role, bench->block, 1);
    return layer;
}

static void check_comm(const Timeline *timeline, OpId op, Time transfer_ns, Time exposed_ns) {
    assert_int_equal(timeline->totals[op].transfer_ps, transfer_ns * PS_PER_NS);
    assert_int_equal(timeline->totals[op].exposed_ps, exposed_ns * PS_PER_NS);
}

// us       compute                                  communication
// layer 1  attend A 0-10, attend B 10-20            dispatch A 10-16.5, B 20-26.5
//          experts A 20-28, B 28-36                 combine A 28-36.5, B 36.5-45
//          end A 36.5-37.5
// layer 2  attend A 37.5-47.5, end B 47.5-48.5      dispatch A 47.5-54
//          attend B 48.5-58.5                       dispatch B 58.5-65
//          experts A 58.5-66.5, B 66.5-74.5         combine A 66.5-75, B 75-83.5
//          end A 75-76
// last     end B 83.5-84.5
// Exposed: half a microsecond of each combine A (experts B end before it), and what of the last
// combine B is left after end A.
static void test_sim_overlap_two_batches_alternate(void **state) {
    (void)state;
    Bench bench;
    Timeline timeline = {0};
    bench_open(&bench);
    Layer first = add_layer(&bench, "first", SCHEDULE_NONE);
    Layer second = add_layer(&bench, "second", first.combine[1]);
    begin_block(&bench, "last");
    add_memory(&bench, "end b", 1);
    schedule_add_wait(&bench.schedule, second.combine[1]);
    schedule_add_segment(&bench.schedule, bench.role, bench.block, 1);
    run(&bench, &timeline);
    assert_int_equal(timeline.end_ps, 84500 * PS_PER_NS);
    for (uint32_t half = 0; half < 2; half++) {
        check_comm(&timeline, first.dispatch[half], 6500, 0);
        check_comm(&timeline, second.dispatch[half], 6500, 0);
    }
    check_comm(&timeline, first.combine[0], 8500, 500);
    check_comm(&timeline, first.combine[1], 8500, 0);
    check_comm(&timeline, second.combine[0], 8500, 500);
    check_comm(&timeline, second.combine[1], 8500, 7500);
    timeline_free(&timeline);
    bench_close(&bench);
}

// ---- Chunks

// Dispatches, experts and combines of so many chunks, as lower_moe.c lays them out.
static Time chunked(uint32_t chunks, uint32_t dispatch_us, uint32_t experts_us,
                    uint32_t combine_us) {
    Bench bench;
    OpId arrives[16];
    bench_open(&bench);
    begin_block(&bench, "experts");
    for (uint32_t i = 0; i < chunks; i++)
        arrives[i] = add_exchange(&bench, "dispatch", dispatch_us, 0, SCHEDULE_NONE);
    for (uint32_t i = 0; i < chunks; i++) {
        OpId computed = add_memory(&bench, "experts", experts_us);
        schedule_add_wait(&bench.schedule, arrives[i]);
        add_exchange(&bench, "combine", combine_us, 0, computed);
    }
    Time end = run_block(&bench);
    bench_close(&bench);
    return end;
}

// Bound by the experts: the first dispatch fills the pipeline, the last combine drains it: 1.5 + 4
// x 6 + 2.5 us. Bound by what moves: 4 x (2.5 + 3.5) us. In one piece 4.5 + 24 + 8.5 us.
static void test_sim_overlap_chunks_fill_and_drain(void **state) {
    (void)state;
    assert_int_equal(chunked(4, 1, 6, 2), 28 * PS_PER_US);
    assert_int_equal(chunked(4, 2, 4, 3), 24 * PS_PER_US);
    assert_int_equal(chunked(1, 4, 24, 8), 37 * PS_PER_US);
}

// ---- Communication that takes SMs

// Arithmetic of 30 us beside an exchange of 10.5 us that takes 20 of 100 SMs: 8.4 us of it are done
// meanwhile, the other 21.6 us follow. All is charged to arithmetic.
static void test_sim_overlap_taken_sms_slow_arithmetic(void **state) {
    (void)state;
    Bench bench;
    Timeline timeline = {0};
    bench_open(&bench);
    begin_block(&bench, "block");
    OpId compute = add_arithmetic(&bench, "compute", 30, 0);
    OpId exchange = add_exchange(&bench, "exchange", 10, 20, SCHEDULE_NONE);
    schedule_add_segment(&bench.schedule, bench.role, bench.block, 1);
    run(&bench, &timeline);
    assert_int_equal(timeline.end_ps, 32100 * PS_PER_NS);
    assert_int_equal(timeline.totals[compute].busy_ps, 32100 * PS_PER_NS);
    assert_int_equal(timeline.totals[compute].bound_ps, 30 * PS_PER_US);
    assert_int_equal(timeline.share.param_ps[CALIB_ATTENTION], 32100 * PS_PER_NS);
    check_comm(&timeline, exchange, 10500, 0);
    timeline_free(&timeline);
    bench_close(&bench);
}

// The exchange begins 10 us into the first of two kernels of 15 us: 10 us at full pace, 5 us of
// work in 6.25 us, then 4.25 us of the exchange with the second kernel, which does 3.4 us of work;
// its other 11.6 us at full pace: 32.1 us.
static void test_sim_overlap_pace_changes_inside_a_kernel(void **state) {
    (void)state;
    Bench bench;
    bench_open(&bench);
    begin_block(&bench, "block");
    add_arithmetic(&bench, "first", 15, 0);
    add_arithmetic(&bench, "second", 15, 0);
    Op delay = sim_machine_memory_op("delay", 2, 10000000);
    OpId delayed = schedule_add_op(&bench.schedule, &delay);
    add_exchange(&bench, "exchange", 10, 20, delayed);
    assert_int_equal(run_block(&bench), 32100 * PS_PER_NS);
    bench_close(&bench);
}

// Memory of 30 us and arithmetic of 24 us or less take as long with four fifths of the SMs; with
// arithmetic of 28 us the kernel takes 35 us at that pace, so that 10.5 us do 9 us of the 30 us.
static void test_sim_overlap_memory_is_not_slowed_by_sms(void **state) {
    (void)state;
    const uint32_t compute_us[] = {0, 24, 28};
    const Time want_ns[] = {30000, 30000, 31500};
    for (uint32_t i = 0; i < 3; i++) {
        Bench bench;
        bench_open(&bench);
        begin_block(&bench, "block");
        add_arithmetic(&bench, "compute", compute_us[i], 30);
        add_exchange(&bench, "exchange", 10, 20, SCHEDULE_NONE);
        assert_int_equal(run_block(&bench), want_ns[i] * PS_PER_NS);
        bench_close(&bench);
    }
}

// A third of an odd number of picoseconds: 1 us of arithmetic with 67 of 100 SMs taken would take
// 1e6 x 100 / 33 = 3,030,303.03 ps, and an exchange of 1.5 us leaves 1e6 - 1.5e6 x 1e6 / 3,030,304
// = 505,000.16... ps: it ends at 2,005,001 ps.
static void test_sim_overlap_ends_are_rounded_up(void **state) {
    (void)state;
    Bench bench;
    bench_open(&bench);
    begin_block(&bench, "block");
    add_arithmetic(&bench, "compute", 1, 0);
    add_exchange(&bench, "exchange", 1, 67, SCHEDULE_NONE);
    assert_int_equal(run_block(&bench), 2005001);
    bench_close(&bench);
}

// A kernel that waits for its partner holds its SMs: GPU 1 comes to the exchange after 20 us, GPU 0
// at once, and computes 30 us beside it. Its 30.5 us of four fifths do 24.4 us; 5.6 us follow. Of
// the 30.5 us in which the exchange is on its stream it moves for 10.5 us.
static void test_sim_overlap_waiting_kernels_hold_their_sms(void **state) {
    (void)state;
    Bench bench;
    Timeline timeline = {0};
    bench_open(&bench);
    bench.schedule.roles[0].ranks = (RankSet){0, 1, 1, 1};
    RoleId late = schedule_add_role(&bench.schedule, "late", (RankSet){1, 1, 1, 1}, 1);
    begin_block(&bench, "early");
    OpId compute = add_arithmetic(&bench, "compute", 30, 0);
    OpId exchange = add_exchange(&bench, "exchange", 10, 20, SCHEDULE_NONE);
    BlockId early = bench.block;
    bench.role = late;
    begin_block(&bench, "late");
    OpId delay = add_memory(&bench, "delay", 20);
    OpId joined = add_exchange(&bench, "exchange", 10, 20, delay);
    bench.schedule.ops[joined].comm.channel = bench.schedule.ops[exchange].comm.channel;
    schedule_add_segment(&bench.schedule, 0, early, 1);
    schedule_add_segment(&bench.schedule, late, bench.block, 1);
    run(&bench, &timeline);
    assert_int_equal(timeline.end_ps, 36100 * PS_PER_NS);
    assert_int_equal(timeline.totals[compute].busy_ps, 36100 * PS_PER_NS);
    assert_int_equal(timeline.totals[exchange].busy_ps, 30500 * PS_PER_NS);
    check_comm(&timeline, exchange, 10500, 0);
    const OpTotal *of_late = &timeline.totals[timeline.op_count + joined];
    assert_int_equal(of_late->busy_ps, 10500 * PS_PER_NS);
    assert_int_equal(of_late->exposed_ps, 10500 * PS_PER_NS);
    timeline_free(&timeline);
    bench_close(&bench);
}

static void test_sim_overlap_refuses_more_sms_than_there_are(void **state) {
    (void)state;
    Bench bench;
    Timeline timeline = {0};
    bench_open(&bench);
    begin_block(&bench, "block");
    add_exchange(&bench, "exchange", 1, 100, SCHEDULE_NONE);
    schedule_add_segment(&bench.schedule, bench.role, bench.block, 1);
    schedule_finish(&bench.schedule);
    Err err = {0};
    StepShape shape = {1, 1, 1, 1};
    Load load = load_uniform();
    SimOptions options = {.form = SIM_FOLDED};
    SimMachine *machine = &bench.machine;
    check_fails(sim_run(&machine->fabric, &machine->model, &bench.schedule, &shape, &load, &options,
                        &timeline, &err),
                &err, "operation \"exchange\" occupies 100 SMs, expected fewer than the GPU's 100");
    machine->device.compute_units = 0;
    check_fails(sim_run(&machine->fabric, &machine->model, &bench.schedule, &shape, &load, &options,
                        &timeline, &err),
                &err,
                "operation \"exchange\" occupies 100 SMs, and how many the GPU has is not known");
    bench_close(&bench);
}

// ---- A transfer of the cache beside a decode step

static void add_cache_transfer(Schedule *schedule) {
    schedule_init(schedule, "cache", 2);
    RoleId from = schedule_add_role(schedule, "prefill", (RankSet){0, 1, 1, 1}, 1);
    RoleId to = schedule_add_role(schedule, "decode", (RankSet){1, 1, 1, 1}, 1);
    BlockId sends = schedule_add_block(schedule, from, "send");
    Op op = {.kind = OP_SEND, .op_class = OP_CLASS_OTHER, .name = "cache"};
    op.comm = (Comm){.peer = to, .bytes = extent_fixed(4000000), .element = 1};
    schedule_add_op(schedule, &op);
    BlockId receives = schedule_add_block(schedule, to, "receive");
    op.kind = OP_RECV;
    op.comm.peer = from;
    schedule_add_op(schedule, &op);
    schedule_add_segment(schedule, from, sends, 1);
    schedule_add_segment(schedule, to, receives, 1);
    schedule_finish(schedule);
}

// A step of 10 us of attention and an exchange of 1 MB each way takes 20.5 us alone, a cache of 4
// MB from GPU 0 to GPU 1 40.5 us. Together: until 10.5 us the cache moves 1 MB; then 0 -> 1 is
// shared, and the exchange moves its 1 MB at 50 GB/s, until 30.5 us; the cache has 2 MB left,
// until 50.5 us.
static void test_sim_overlap_cache_transfer_slows_a_decode_step(void **state) {
    (void)state;
    Bench bench;
    Schedule cache = {0};
    Timeline step = {0}, moved = {0};
    Err err = {0};
    bench_open(&bench);
    begin_block(&bench, "decode");
    OpId attended = add_memory(&bench, "attend", 10);
    OpId exchange = add_exchange(&bench, "exchange", 10, 0, attended);
    schedule_add_segment(&bench.schedule, bench.role, bench.block, 1);
    schedule_finish(&bench.schedule);
    add_cache_transfer(&cache);
    assert_int_equal(sim_machine_time(&bench.machine, &bench.schedule, SIM_EXPANDED),
                     20500 * PS_PER_NS);
    assert_int_equal(sim_machine_time(&bench.machine, &cache, SIM_EXPANDED), 40500 * PS_PER_NS);
    StepShape shape = {1, 1, 1, 1};
    Load load = load_uniform();
    SimOptions options = {.form = SIM_EXPANDED};
    uint32_t a, b;
    Sim *sim = sim_open(&bench.machine.fabric, &bench.machine.model);
    check_ok(sim_submit(sim, &bench.schedule, &shape, &load, &options, 0, &a, &err), &err);
    check_ok(sim_submit(sim, &cache, &shape, &load, &options, 0, &b, &err), &err);
    check_ok(sim_advance(sim, &err), &err);
    sim_timeline(sim, a, &step);
    sim_timeline(sim, b, &moved);
    assert_int_equal(step.end_ps, 30500 * PS_PER_NS);
    check_comm(&step, exchange, 20500, 20500);
    assert_int_equal(moved.end_ps, 50500 * PS_PER_NS);
    check_comm(&moved, 0, 50500, 50500);
    // the receiver waits from the start and is moved to all the time
    assert_int_equal(moved.totals[moved.op_count + 1].transfer_ps, 50500 * PS_PER_NS);
    timeline_free(&step);
    timeline_free(&moved);
    sim_close(sim);
    schedule_free(&cache);
    bench_close(&bench);
}

// ---- Lowered plans

static void compare_forms(const SmallMachine *machine, const Schedule *schedule,
                          const StepShape *shape) {
    Err err = {0};
    Load load = load_uniform();
    SimOptions folded = {.form = SIM_FOLDED}, expanded = {.form = SIM_EXPANDED};
    Timeline a = {0}, b = {0};
    check_ok(sim_run(&machine->fabric, &machine->model, schedule, shape, &load, &folded, &a, &err),
             &err);
    check_ok(
        sim_run(&machine->fabric, &machine->model, schedule, shape, &load, &expanded, &b, &err),
        &err);
    assert_int_equal(a.end_ps, b.end_ps);
    for (uint32_t op = 0; op < a.op_count; op++) {
        assert_int_equal(a.totals[op].busy_ps, b.totals[op].busy_ps);
        assert_int_equal(a.totals[op].transfer_ps, b.totals[op].transfer_ps);
        assert_int_equal(a.totals[op].exposed_ps, b.totals[op].exposed_ps);
        bool is_comm = schedule_op_is_comm(schedule->ops[op].kind);
        assert_true(a.totals[op].exposed_ps <= a.totals[op].transfer_ps);
        assert_true(!is_comm || a.totals[op].transfer_ps <= a.totals[op].busy_ps);
    }
    timeline_free(&a);
    timeline_free(&b);
}

// Every way to overlap, odd numbers of tokens, one and two pipeline stages, kernels that take SMs:
// folded and expanded runs agree to the picosecond.
static void test_sim_overlap_folded_equals_expanded(void **state) {
    (void)state;
    static const struct {
        Overlap overlap;
        uint32_t chunks, tp, pp;
    } cases[] = {{OVERLAP_NONE, 0, 1, 1},
                 {OVERLAP_SHARED, 3, 2, 1},
                 {OVERLAP_TWO_BATCH, 0, 1, 1},
                 {OVERLAP_TWO_BATCH, 0, 2, 1},
                 {OVERLAP_TWO_BATCH, 0, 1, 2}};
    SmallMachine machine;
    small_machine_open(&machine, "switch:4,450GB/s");
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t tp = cases[i].tp, pp = cases[i].pp, dp = 4 / tp / pp;
        Plan plan = lower_plans_make(tp, pp, dp, tp * dp);
        Pool *pool = &plan.pools[0];
        pool->prefill_overlap = pool->decode_overlap = cases[i].overlap;
        pool->moe_chunks = cases[i].chunks;
        pool->prefill_sms = pool->decode_sms = 20;
        Schedule decode = lower_plans_lower(&plan, &machine.arch, PHASE_DECODE, 1);
        Schedule prefill = lower_plans_lower(&plan, &machine.arch, PHASE_PREFILL, 1);
        StepShape tokens = step_shape_decode(33, 999), chunk = step_shape_prefill(777, 100);
        compare_forms(&machine, &decode, &tokens);
        compare_forms(&machine, &prefill, &chunk);
        schedule_free(&decode);
        schedule_free(&prefill);
    }
    small_machine_close(&machine);
}

// Two halves of a prompt of 8192 tokens on 4 GPUs: a layer of either half computes for longer than
// the other travels, so that of all dispatches nothing is exposed, and of the combines only the
// first half's where the second one's experts end before it, and the last one's of all.
static void test_sim_overlap_two_batches_hide_the_dispatch_of_a_prompt(void **state) {
    (void)state;
    SmallMachine machine;
    small_machine_open(&machine, "switch:4,450GB/s");
    Plan plan = lower_plans_make(1, 1, 4, 4);
    Time ends[2], exposed[2];
    for (uint32_t i = 0; i < 2; i++) {
        Err err = {0};
        Timeline timeline = {0};
        Load load = load_uniform();
        SimOptions options = {.form = SIM_FOLDED};
        StepShape shape = step_shape_prefill(8192, 0);
        plan.pools[0].prefill_overlap = i == 0 ? OVERLAP_SHARED : OVERLAP_TWO_BATCH;
        Schedule schedule = lower_plans_lower(&plan, &machine.arch, PHASE_PREFILL, 1);
        check_ok(sim_run(&machine.fabric, &machine.model, &schedule, &shape, &load, &options,
                         &timeline, &err),
                 &err);
        ends[i] = timeline.end_ps;
        exposed[i] = 0;
        for (uint32_t op = 0; op < timeline.op_count; op++) {
            bool dispatches = schedule.ops[op].op_class == OP_CLASS_DISPATCH &&
                              schedule.ops[op].kind == OP_COLLECTIVE;
            if (dispatches) exposed[i] += timeline.totals[op].exposed_ps;
        }
        timeline_free(&timeline);
        schedule_free(&schedule);
    }
    assert_true(exposed[0] > 0);
    assert_int_equal(exposed[1], 0);
    assert_true(ends[1] < ends[0]);
    small_machine_close(&machine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sim_overlap_two_batches_alternate),
        cmocka_unit_test(test_sim_overlap_chunks_fill_and_drain),
        cmocka_unit_test(test_sim_overlap_taken_sms_slow_arithmetic),
        cmocka_unit_test(test_sim_overlap_pace_changes_inside_a_kernel),
        cmocka_unit_test(test_sim_overlap_memory_is_not_slowed_by_sms),
        cmocka_unit_test(test_sim_overlap_ends_are_rounded_up),
        cmocka_unit_test(test_sim_overlap_waiting_kernels_hold_their_sms),
        cmocka_unit_test(test_sim_overlap_refuses_more_sms_than_there_are),
        cmocka_unit_test(test_sim_overlap_cache_transfer_slows_a_decode_step),
        cmocka_unit_test(test_sim_overlap_folded_equals_expanded),
        cmocka_unit_test(test_sim_overlap_two_batches_hide_the_dispatch_of_a_prompt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
