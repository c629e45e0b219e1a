// Why a step takes as long as it does: paths and balances of schedules small enough to follow by
// hand, elasticities and flips that have closed forms.
#include "tests/check.h"

#include "model/plan/lower.h"
#include "sim/search/space.h"
#include "sim/search/why_link.h"
#include "sim/search/pools.h"
#include "sim/search/why_vary.h"
#include "tests/plan/hand_plan.h"
#include "tests/sim/sim_machine.h"
#include "tests/sim/small_machine.h"

#define PS 1e-12

// ---- Paths by hand: 4 GPUs on one switch, 450 GB/s and 250 ns to it, memory of 1 TB/s

// An all-to-all of 1.8 MB over 4 ranks: each sends 3 quarters, 1.35 MB, at 450 GB/s in 3 us, after
// two hops of 250 ns: 3.5 us.
#define A2A_B  1800000
#define A2A_PS 3500000

static void open_switch(SimMachine *bench, Arena *arena) {
    sim_machine_open(bench, sim_machine_switch(arena, 4, 1, "450 GB/s"));
}

static void run_spans(SimMachine *bench, const Schedule *schedule, Timeline *out) {
    Err err = {0};
    StepShape shape = {1, 1, 1, 1};
    Load load = load_uniform();
    SimOptions options = {.keep_spans = true};
    check_ok(sim_run(&bench->fabric, &bench->model, schedule, &shape, &load, &options, out, &err),
             &err);
}

static Op a2a_op(GroupId group, uint32_t stream, OpClass op_class) {
    return (Op){.kind = OP_COLLECTIVE,
                .op_class = op_class,
                .name = "all_to_all",
                .stream = stream,
                .comm = {.collective = COLLECTIVE_ALL_TO_ALL,
                         .algorithm = ALGORITHM_DIRECT,
                         .group = group,
                         .bytes = extent_fixed(A2A_B),
                         .element = 2,
                         .format = NUMFMT_BF16}};
}

static GroupId add_group_of_4(Schedule *schedule) {
    return schedule_add_group(schedule, &(GroupFamily){"ep", 4, 1, 1, 0, 4, 1});
}

static Op memory_op(OpClass op_class, uint32_t stream, uint64_t bytes) {
    Op op = sim_machine_memory_op(schedule_class_names[op_class], stream, bytes);
    op.op_class = op_class;
    return op;
}

// Experts of 5 MB in 5 us and then, or beside them, an all-to-all.
static void build_step(Schedule *schedule, uint32_t comm_stream, uint32_t a2a) {
    schedule_init(schedule, "test", 4);
    RoleId role = schedule_add_role(schedule, "all", (RankSet){0, 4, 4, 1}, 1);
    GroupId group = add_group_of_4(schedule);
    BlockId block = schedule_add_block(schedule, role, "block");
    Op experts = memory_op(OP_CLASS_EXPERTS, 0, 5000000);
    Op dispatch = a2a_op(group, comm_stream, OP_CLASS_DISPATCH);
    schedule_add_op(schedule, &experts);
    if (a2a > 0) schedule_add_op(schedule, &dispatch);
    schedule_add_segment(schedule, role, block, 1);
    schedule_finish(schedule);
}

static Time sum_of(const WhyPath *path) {
    Time sum = 0;
    for (uint32_t i = 0; i < WHY_TERMS; i++) sum += path->term_ps[i];
    return sum;
}

// Two steps that differ by one all-to-all of 3.5 us: so much is the difference, of its class alone,
// and the terms of each add up to its end to the picosecond.
static void test_why_difference_is_the_collective(void **state) {
    (void)state;
    Arena arena = {0};
    SimMachine bench;
    open_switch(&bench, &arena);
    WhyPath paths[2];
    Time ends[2];
    for (uint32_t i = 0; i < 2; i++) {
        Schedule schedule = {0};
        Timeline timeline = {0};
        build_step(&schedule, 0, i);
        run_spans(&bench, &schedule, &timeline);
        why_follow(&schedule, &timeline, 0, timeline.end_ps, &paths[i]);
        ends[i] = timeline.end_ps;
        timeline_free(&timeline);
        schedule_free(&schedule);
    }
    assert_int_equal(ends[0], 5000000);
    assert_int_equal(ends[1], 5000000 + A2A_PS);
    for (uint32_t i = 0; i < WHY_TERMS; i++)
        assert_int_equal(paths[1].term_ps[i] - paths[0].term_ps[i],
                         i == OP_CLASS_DISPATCH ? A2A_PS : 0);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(sum_of(&paths[i]), ends[i]);
        why_path_free(&paths[i]);
    }
    sim_machine_close(&bench);
    arena_free(&arena);
}

// Beside 5 us of experts 3.5 us of all-to-all cost nothing: they are not on the path, and all of
// them is overlapped. 5 = 5 + 3.5 - 3.5 + 0.
static void test_why_hides_what_runs_beside(void **state) {
    (void)state;
    Arena arena = {0};
    SimMachine bench;
    Schedule schedule = {0};
    Timeline timeline = {0};
    WhyPath path;
    WhyBalance balance;
    open_switch(&bench, &arena);
    build_step(&schedule, 1, 1);
    run_spans(&bench, &schedule, &timeline);
    why_follow(&schedule, &timeline, 0, timeline.end_ps, &path);
    why_balance(&schedule, &timeline, 0, 0, timeline.end_ps, &balance);
    assert_int_equal(path.term_ps[OP_CLASS_EXPERTS], 5000000);
    assert_int_equal(path.term_ps[OP_CLASS_DISPATCH], 0);
    assert_int_equal(balance.time_ps, 5000000);
    assert_int_equal(balance.compute_ps, 5000000);
    assert_int_equal(balance.comm_ps, A2A_PS);
    assert_int_equal(balance.overlapped_ps, A2A_PS);
    assert_int_equal(balance.waiting_ps, 0);
    why_path_free(&path);
    timeline_free(&timeline);
    schedule_free(&schedule);
    sim_machine_close(&bench);
    arena_free(&arena);
}

// Ranks 0 and 1 read 1 MB (1 us) of norms, ranks 2 and 3 4 MB (4 us) of experts, then all meet in
// an all-to-all of 3.5 us: 7.5 us. The path goes over the experts, although rank 0 ends as late;
// rank 0 computes 1 us, waits 3 us and moves 3.5 us.
static void test_why_charges_a_wait_to_the_last_partner(void **state) {
    (void)state;
    Arena arena = {0};
    SimMachine bench;
    Schedule schedule = {0};
    Timeline timeline = {0};
    WhyPath path;
    WhyBalance balance;
    open_switch(&bench, &arena);
    schedule_init(&schedule, "test", 4);
    RoleId roles[] = {schedule_add_role(&schedule, "early", (RankSet){0, 2, 4, 1}, 1),
                      schedule_add_role(&schedule, "late", (RankSet){2, 2, 4, 1}, 1)};
    GroupId group = add_group_of_4(&schedule);
    for (uint32_t i = 0; i < 2; i++) {
        BlockId block = schedule_add_block(&schedule, roles[i], "block");
        Op work =
            memory_op(i == 0 ? OP_CLASS_NORM : OP_CLASS_EXPERTS, 0, i == 0 ? 1000000 : 4000000);
        Op dispatch = a2a_op(group, 0, OP_CLASS_DISPATCH);
        schedule_add_op(&schedule, &work);
        schedule_add_op(&schedule, &dispatch);
        schedule_add_segment(&schedule, roles[i], block, 1);
    }
    schedule_finish(&schedule);
    run_spans(&bench, &schedule, &timeline);
    assert_int_equal(timeline.end_ps, 4000000 + A2A_PS);
    why_follow(&schedule, &timeline, 0, timeline.end_ps, &path);
    assert_int_equal(path.term_ps[OP_CLASS_EXPERTS], 4000000);
    assert_int_equal(path.term_ps[OP_CLASS_DISPATCH], A2A_PS);
    assert_int_equal(path.term_ps[OP_CLASS_NORM], 0);
    why_balance(&schedule, &timeline, 0, 0, timeline.end_ps, &balance);
    assert_int_equal(balance.compute_ps, 1000000);
    assert_int_equal(balance.comm_ps, A2A_PS);
    assert_int_equal(balance.waiting_ps, 3000000);
    why_path_free(&path);
    timeline_free(&timeline);
    schedule_free(&schedule);
    sim_machine_close(&bench);
    arena_free(&arena);
}

// Rank 0 computes 2 us and sends 450 kB (1 us and two hops of 250 ns); rank 1, which waits from the
// start, then computes 1 us: 2 + 1.5 + 1 us. Only the last 3 us are looked at: of the first 2 us
// half a microsecond.
static void test_why_follows_a_receive_to_its_send(void **state) {
    (void)state;
    Arena arena = {0};
    SimMachine bench;
    Schedule schedule = {0};
    Timeline timeline = {0};
    WhyPath path;
    open_switch(&bench, &arena);
    schedule_init(&schedule, "test", 2);
    RoleId first = schedule_add_role(&schedule, "first", (RankSet){0, 1, 2, 1}, 1);
    RoleId second = schedule_add_role(&schedule, "second", (RankSet){1, 1, 2, 1}, 1);
    const Comm comm = {.peer = second, .bytes = extent_fixed(450000), .element = 1};
    Op send = {.kind = OP_SEND, .op_class = OP_CLASS_PIPELINE, .name = "send", .comm = comm};
    Op receive = {.kind = OP_RECV, .op_class = OP_CLASS_PIPELINE, .name = "receive", .comm = comm};
    receive.comm.peer = first;
    Op before = memory_op(OP_CLASS_ATTENTION, 0, 2000000);
    Op after = memory_op(OP_CLASS_HEAD, 0, 1000000);
    BlockId block = schedule_add_block(&schedule, first, "first");
    schedule_add_op(&schedule, &before);
    schedule_add_op(&schedule, &send);
    schedule_add_segment(&schedule, first, block, 1);
    block = schedule_add_block(&schedule, second, "second");
    schedule_add_op(&schedule, &receive);
    schedule_add_op(&schedule, &after);
    schedule_add_segment(&schedule, second, block, 1);
    schedule_finish(&schedule);
    run_spans(&bench, &schedule, &timeline);
    assert_int_equal(timeline.end_ps, 4500000);
    why_follow(&schedule, &timeline, 1500000, timeline.end_ps, &path);
    assert_int_equal(path.term_ps[OP_CLASS_ATTENTION], 500000);
    assert_int_equal(path.term_ps[OP_CLASS_PIPELINE], 1500000);
    assert_int_equal(path.term_ps[OP_CLASS_HEAD], 1000000);
    assert_int_equal(sum_of(&path), 3000000);
    why_path_free(&path);
    timeline_free(&timeline);
    schedule_free(&schedule);
    sim_machine_close(&bench);
    arena_free(&arena);
}

// ---- Plans

static Plan make_plan(uint32_t tp, uint32_t pp, uint32_t dp) {
    Plan plan = hand_plan(tp, pp, dp, tp * dp);
    plan.pools[0].dispatch_format = NUMFMT_BF16;
    return plan;
}

// Whatever the plan and the form, the terms of a step add up to TPOT to the picosecond, nothing is
// idle, the parts of the busiest rank add up too, and folded ranks have the path of single ones.
static void test_why_terms_add_up_to_tpot(void **state) {
    (void)state;
    SmallMachine machine;
    small_machine_open(&machine, "switch:4,450GB/s");
    const Plan plans[] = {make_plan(1, 1, 4), make_plan(4, 1, 1), make_plan(2, 2, 1)};
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        WhyStep steps[2];
        const SimForm forms[] = {SIM_FOLDED, SIM_EXPANDED};
        for (uint32_t f = 0; f < 2; f++) {
            EvaluateInput input = small_machine_input(&machine);
            input.keep_phases = true;
            input.form = forms[f];
            uint64_t sequences = space_sequences(&plans[i].pools[0], machine.scenario.concurrency);
            WhyPlan why = {&input, &plans[i], sequences};
            Evaluation e;
            Err err = {0};
            check_ok(evaluate_plan(&input, &plans[i], sequences, &e, &err), &err);
            const Time *ends = e.decode_phase.timeline.round_ps;
            uint32_t last = e.decode_phase.timeline.round_count - 1;
            uint32_t lag = plans[i].pools[0].micro_batches;
            Time engine = e.tpot_ps - (ends[last] - ends[last - lag]);
            check_ok(why_step(&why, &e.decode_phase, lag, engine, &steps[f], &err), &err);
            const WhyBalance *b = &steps[f].balance;
            assert_int_equal(steps[f].time_ps, e.tpot_ps);
            assert_int_equal(sum_of(&steps[f].path), e.tpot_ps);
            assert_int_equal(steps[f].path.term_ps[WHY_IDLE], 0);
            assert_int_equal(b->time_ps,
                             b->compute_ps + b->comm_ps - b->overlapped_ps + b->waiting_ps);
            assert_int_equal(b->time_ps, e.tpot_ps - engine);
            evaluate_free(&e);
        }
        for (uint32_t t = 0; t < WHY_TERMS; t++)
            assert_int_equal(steps[0].path.term_ps[t], steps[1].path.term_ps[t]);
        why_step_free(&steps[0]);
        why_step_free(&steps[1]);
    }
    small_machine_close(&machine);
}

// The last prompt leaves a first stage long before it leaves the last one, and nothing follows it.
// The window of a pass ends with the last stage: in it the first one only waits. Its balance is of
// as long a window that ends with its own work, so that it is that of the pass it worked in. Of
// stages with 36 and 12 of 48 layers the first works longest, and computes through its own pass.
static void test_why_balance_of_a_first_stage_is_of_its_own_pass(void **state) {
    (void)state;
    SmallMachine machine;
    small_machine_open(&machine, "switch:4,450GB/s");
    EvaluateInput input = small_machine_input(&machine);
    input.keep_phases = true;
    Plan plan = make_plan(1, 2, 1);
    plan.pools[0].stage_cut = STAGE_CUT_LISTED;
    plan.pools[0].stages[0] = 36;
    plan.pools[0].stages[1] = 12;
    WhyPlan why = {&input, &plan, space_sequences(&plan.pools[0], machine.scenario.concurrency)};
    Evaluation e;
    WhyStep step;
    Err err = {0};
    check_ok(evaluate_plan(&input, &plan, why.sequences, &e, &err), &err);
    check_ok(why_step(&why, &e.prefill_phase, 1, 0, &step, &err), &err);
    assert_int_equal(timeline_role(&e.prefill_phase.timeline, step.member), 0);
    assert_int_equal(step.balance.time_ps, step.time_ps);
    assert_true(step.balance.compute_ps > step.time_ps * 9 / 10);
    why_step_free(&step);
    evaluate_free(&e);
    small_machine_close(&machine);
}

// The operations on the fullest link add up to what the simulation counted there.
static void test_why_links_add_up_to_the_counted_bytes(void **state) {
    (void)state;
    SmallMachine machine;
    small_machine_open(&machine, "hgx-h100:2");
    const Plan plans[] = {make_plan(1, 1, 16), make_plan(8, 2, 1)};
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        EvaluateInput input = small_machine_input(&machine);
        input.keep_phases = true;
        WhyPlan why = {&input, &plans[i], 2};
        Evaluation e;
        WhyLinks links;
        Err err = {0};
        check_ok(evaluate_plan(&input, &plans[i], 2, &e, &err), &err);
        check_ok(why_link_read(&why, &e.decode_phase, &links, &err), &err);
        const Timeline *timeline = &e.decode_phase.timeline;
        const LinkTotal *counted = &timeline->links[links.link_class];
        uint64_t passes = timeline->round_count, sum = 0;
        for (uint32_t k = 0; k < links.count; k++) sum += links.comms[k].bottleneck_B;
        assert_true(links.has_bottleneck);
        assert_string_equal(links.name, counted->busiest_name);
        assert_int_equal(links.capacity_Bps, counted->busiest_Bps);
        // rounded up once for each operation, and once for the passes
        check_close((double)links.bytes, (double)counted->busiest_B / (double)passes, 1e-4);
        assert_true(sum >= links.bytes && sum <= links.bytes + links.count);
        why_link_free(&links);
        evaluate_free(&e);
    }
    small_machine_close(&machine);
}

// ---- Elasticities and flips

// A machine on which all time is memory's: one GPU, no fixed times, memory at `efficiency` of its
// rate, arithmetic at all of its.
static void open_memory_bound(SmallMachine *machine, double efficiency) {
    small_machine_open(machine, "switch:2,450GB/s");
    const CalibParam times[] = {CALIB_KERNEL,   CALIB_NVLINK_STEP, CALIB_PCIE_STEP,
                                CALIB_NET_STEP, CALIB_COLLECTIVE,  CALIB_STEP_OVERHEAD};
    const CalibParam rates[] = {CALIB_GEMM_BF16, CALIB_GEMM_FP8, CALIB_GEMM_FP4, CALIB_ATTENTION};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        machine->calib.values[times[i]] = (CalibValue){.source = "test"};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        machine->calib.values[rates[i]].value = 1;
    machine->calib.values[CALIB_MEMORY].value = efficiency;
    machine->scenario.isl = 128;
    machine->scenario.osl = 11;
    machine->scenario.concurrency = 1;
    scenario_rehash(&machine->scenario);
}

// Of separate pools the base is what pools_evaluate gives, and slower memory lengthens steps; TTFT
// and TPOT are those of both pools.
static void test_why_vary_takes_separate_pools(void **state) {
    (void)state;
    SmallMachine machine;
    PoolsSpec spec = {.most = 1};
    PoolsRanking ranking;
    WhyResult base, slower;
    Err err = {0};
    small_machine_open(&machine, "switch:4,450GB/s");
    machine.scenario.isl = 4000;
    machine.scenario.osl = 64;
    machine.scenario.concurrency = 64;
    EvaluateInput input = small_machine_input(&machine);
    check_ok(pools_rank(&input, &spec, &ranking, &err), &err);
    const PoolsRow *row = &ranking.rows[0];
    WhyPlan why = {&input, &row->plan, row->decode.sequences};
    WhyLab *lab = why_vary_open(&why);
    WhyKnob memory = {.kind = WHY_CONSTANT, .param = CALIB_MEMORY};
    check_ok(why_vary_base(lab, &base, &err), &err);
    assert_int_equal(base.ttft_ps, row->ttft_ps);
    assert_int_equal(base.tpot_ps, row->tpot_ps);
    check_close(base.tok_s_per_gpu, row->tok_s_per_gpu, 1e-12);
    check_ok(why_vary_scale(lab, &memory, 0.5, &slower, &err), &err);
    assert_true(slower.tpot_ps > base.tpot_ps && slower.ttft_ps > base.ttft_ps);
    why_vary_close(lab);
    pools_free(&ranking);
    small_machine_close(&machine);
}

// All times are bytes / (efficiency x rate): the elasticity of TPOT and TTFT to the efficiency is
// -1, that of the throughput 1, and every other constant has none. Times are rounded to a
// picosecond for each of a few thousand operations of a microsecond or more: 1e-6.
static void test_why_elasticity_of_memory_bound_step_is_minus_one(void **state) {
    (void)state;
    SmallMachine machine;
    open_memory_bound(&machine, 0.05);
    EvaluateInput input = small_machine_input(&machine);
    Plan plan = make_plan(1, 1, 1);
    WhyPlan why = {&input, &plan, 1};
    WhyLab *lab = why_vary_open(&why);
    WhyKnob knobs[WHY_KNOBS_MAX];
    WhyInfluence items[WHY_KNOBS_MAX];
    Err err = {0};
    uint32_t count = why_vary_knobs(&machine.fabric, NULL, knobs);
    assert_int_equal(count, CALIB_COUNT + 2); // and the rate and the latency of nvlink
    check_ok(why_vary_influences(lab, knobs, count, items, &err), &err);
    const WhyInfluence *memory = &items[0];
    assert_int_equal(memory->knob.kind, WHY_CONSTANT);
    assert_int_equal(memory->knob.param, CALIB_MEMORY);
    check_close(memory->tpot, -1, 1e-6);
    check_close(memory->ttft, -1, 1e-6);
    check_close(memory->tok_s_per_gpu, 1, 1e-6);
    for (uint32_t i = 1; i < count; i++) assert_false(items[i].has_influence);
    why_vary_close(lab);
    small_machine_close(&machine);
}

// A has memory at 0.05 of its rate: a cycle of C. B has it at 0.1, a cycle of C / 2, and the engine
// takes S = C / 33 in each of 11 steps (one of prefill, ten of decode): C / 2 + C / 3. B leads.
// With f times the efficiency A takes C / f, B C / (2 f) + C / 3: they tie at f = 1.5. With g times
// the engine's time B takes C / 2 + g C / 3, as much as A at g = 1.5; A has no such time.
static void test_why_flip_is_where_the_closed_form_says(void **state) {
    (void)state;
    SmallMachine a, b;
    open_memory_bound(&a, 0.05);
    open_memory_bound(&b, 0.1);
    EvaluateInput inputs[] = {small_machine_input(&a), small_machine_input(&b)};
    Plan plan = make_plan(1, 1, 1);
    Evaluation e;
    Err err = {0};
    check_ok(evaluate_plan(&inputs[0], &plan, 1, &e, &err), &err);
    double cycle_s = (double)(e.prefill_ps + 10 * e.tpot_ps) * PS;
    evaluate_free(&e);
    b.calib.values[CALIB_STEP_OVERHEAD].value = cycle_s / 33;
    WhyPlan plans[] = {{&inputs[0], &plan, 1}, {&inputs[1], &plan, 1}};
    WhyLab *labs[] = {why_vary_open(&plans[0]), why_vary_open(&plans[1])};
    const WhyKnob knobs[] = {{.kind = WHY_CONSTANT, .param = CALIB_GEMM_FP4},
                             {.kind = WHY_CONSTANT, .param = CALIB_STEP_OVERHEAD},
                             {.kind = WHY_CONSTANT, .param = CALIB_MEMORY}};
    WhyFlip flips[3];
    check_ok(why_vary_flips(labs[0], labs[1], knobs, 3, flips, &err), &err);
    for (uint32_t i = 0; i < 2; i++) {
        assert_true(flips[i].is_found);
        check_close(flips[i].factor, 1.5, 2e-4);
    }
    assert_false(flips[2].is_found);
    assert_false(flips[2].has_influence);
    assert_int_equal(flips[2].knob.param, CALIB_GEMM_FP4);
    why_vary_close(labs[0]);
    why_vary_close(labs[1]);
    small_machine_close(&a);
    small_machine_close(&b);
}

// Links at half their rate in a view of the fabric, and on a machine built with it: one result. A
// factor of 1 gives the result itself.
static void test_why_scaled_links_are_those_of_another_machine(void **state) {
    (void)state;
    SmallMachine whole, half;
    small_machine_open(&whole, "switch:4,450GB/s");
    small_machine_open(&half, "switch:4,225GB/s");
    EvaluateInput inputs[] = {small_machine_input(&whole), small_machine_input(&half)};
    Plan plan = make_plan(1, 1, 4);
    WhyPlan plans[] = {{&inputs[0], &plan, 8}, {&inputs[1], &plan, 8}};
    WhyLab *labs[] = {why_vary_open(&plans[0]), why_vary_open(&plans[1])};
    const WhyKnob knob = {.kind = WHY_BANDWIDTH, .link_class = LINK_NVLINK};
    WhyResult scaled, built, same, base;
    Err err = {0};
    check_ok(why_vary_scale(labs[0], &knob, 0.5, &scaled, &err), &err);
    check_ok(why_vary_base(labs[1], &built, &err), &err);
    check_ok(why_vary_scale(labs[0], &knob, 1, &same, &err), &err);
    check_ok(why_vary_base(labs[0], &base, &err), &err);
    assert_int_equal(scaled.tpot_ps, built.tpot_ps);
    assert_int_equal(scaled.ttft_ps, built.ttft_ps);
    assert_int_equal(same.tpot_ps, base.tpot_ps);
    assert_true(scaled.tpot_ps > base.tpot_ps);
    why_vary_close(labs[0]);
    why_vary_close(labs[1]);
    small_machine_close(&whole);
    small_machine_close(&half);
}

// Ranks 0 .. 15 on two nodes of 8: one group of 16 crosses both, by the 8 leaves of its rails; two
// groups of 8 stay in their nodes.
static void test_why_reach_counts_what_groups_cross(void **state) {
    (void)state;
    Arena arena = {0};
    SimMachine bench;
    WhyReach reach;
    sim_machine_open(&bench, sim_machine_rails(&arena, 1, 2, 8, 2));
    const GroupFamily all = {"ep", 16, 1, 1, 0, 16, 1}, halves = {"ep", 8, 1, 2, 0, 16, 2};
    why_reach(&bench.fabric, &(WhyReachRanks){0}, &all, &reach);
    assert_int_equal(reach.domains, 2);
    assert_int_equal(reach.leaves, 8);
    why_reach(&bench.fabric, &(WhyReachRanks){0}, &halves, &reach);
    assert_int_equal(reach.domains, 1);
    assert_int_equal(reach.nodes, 1);
    assert_int_equal(reach.leaves, 0);
    sim_machine_close(&bench);
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_why_difference_is_the_collective),
        cmocka_unit_test(test_why_hides_what_runs_beside),
        cmocka_unit_test(test_why_charges_a_wait_to_the_last_partner),
        cmocka_unit_test(test_why_follows_a_receive_to_its_send),
        cmocka_unit_test(test_why_terms_add_up_to_tpot),
        cmocka_unit_test(test_why_balance_of_a_first_stage_is_of_its_own_pass),
        cmocka_unit_test(test_why_links_add_up_to_the_counted_bytes),
        cmocka_unit_test(test_why_vary_takes_separate_pools),
        cmocka_unit_test(test_why_elasticity_of_memory_bound_step_is_minus_one),
        cmocka_unit_test(test_why_flip_is_where_the_closed_form_says),
        cmocka_unit_test(test_why_scaled_links_are_those_of_another_machine),
        cmocka_unit_test(test_why_reach_counts_what_groups_cross),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
