// Repeats that are left out: the same result as when every one is run.
#include "tests/check.h"

#include "model/plan/lower.h"
#include "tests/plan/hand_plan.h"
#include "tests/sim/random_case.h"
#include "tests/sim/sim_machine.h"
#include "tests/sim/small_machine.h"

#define RANDOM_CASES 150

// With spans every repeat is run, without them the steady ones are left out.
typedef struct Pair {
    Timeline run, skipped;
} Pair;

static void run_both(const Fabric *fabric, const PriceModel *model, const Schedule *schedule,
                     const StepShape *shape, SimForm form, Pair *out) {
    Load load = load_uniform();
    Err err = {0};
    SimOptions run = {.form = form, .keep_spans = true}, skip = {.form = form};
    check_ok(sim_run(fabric, model, schedule, shape, &load, &run, &out->run, &err), &err);
    check_ok(sim_run(fabric, model, schedule, shape, &load, &skip, &out->skipped, &err), &err);
    load_free(&load);
}

static void free_both(Pair *pair) {
    timeline_free(&pair->run);
    timeline_free(&pair->skipped);
}

static void check_equal(const Pair *pair) {
    const Timeline *a = &pair->run, *b = &pair->skipped;
    assert_int_equal(a->end_ps, b->end_ps);
    assert_int_equal(a->member_count, b->member_count);
    for (uint32_t i = 0; i < a->member_count * a->op_count; i++) {
        assert_int_equal(a->totals[i].instances, b->totals[i].instances);
        assert_int_equal(a->totals[i].busy_ps, b->totals[i].busy_ps);
        assert_int_equal(a->totals[i].transfer_ps, b->totals[i].transfer_ps);
        assert_int_equal(a->totals[i].exposed_ps, b->totals[i].exposed_ps);
        assert_int_equal(a->totals[i].bound_ps, b->totals[i].bound_ps);
    }
    for (uint32_t c = 0; c < LINK_CLASS_COUNT; c++) {
        assert_int_equal(a->links[c].bytes, b->links[c].bytes);
        assert_int_equal(a->links[c].busiest_B, b->links[c].busiest_B);
    }
    assert_memory_equal(&a->share, &b->share, sizeof a->share);
    for (uint32_t i = 0; i < a->round_count; i++) assert_int_equal(a->round_ps[i], b->round_ps[i]);
}

static void check_plan(const SmallMachine *machine, const Plan *plan, Phase phase, SimForm form) {
    StepShape shape =
        phase == PHASE_DECODE ? step_shape_decode(5, 3000) : step_shape_prefill(700, 1000);
    Schedule schedule = {0};
    Pair pair;
    lower_plan(plan, 0, &machine->arch, phase, 2, &schedule);
    run_both(&machine->fabric, &machine->model, &schedule, &shape, form, &pair);
    check_equal(&pair);
    // 48 equal layers: most are left out
    assert_true(pair.skipped.events * 2 < pair.run.events);
    free_both(&pair);
    schedule_free(&schedule);
}

static Plan make_plan(uint32_t tp, uint32_t pp, uint32_t dp) {
    Plan plan = hand_plan(tp, pp, dp, tp * dp);
    plan.pools[0].dispatch_format = NUMFMT_BF16;
    return plan;
}

static void test_repeat_layers_of_plans_are_left_out(void **state) {
    (void)state;
    SmallMachine machine;
    small_machine_open(&machine, "switch:4,450GB/s");
    Plan plans[] = {make_plan(1, 1, 4), make_plan(4, 1, 1), make_plan(2, 2, 1), make_plan(1, 4, 1),
                    make_plan(1, 1, 4)};
    Pool *pool = &plans[4].pools[0];
    pool->decode_overlap = pool->prefill_overlap = OVERLAP_TWO_BATCH;
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++)
        for (uint32_t p = 0; p < 2; p++) {
            Phase phase = p == 0 ? PHASE_DECODE : PHASE_PREFILL;
            check_plan(&machine, &plans[i], phase, SIM_FOLDED);
            check_plan(&machine, &plans[i], phase, SIM_REFINED);
            check_plan(&machine, &plans[i], phase, SIM_EXPANDED);
        }
    small_machine_close(&machine);
}

static OpId add_exchange(Schedule *schedule, GroupId group, uint32_t channel) {
    return schedule_add_op(schedule, &(Op){.kind = OP_COLLECTIVE,
                                           .op_class = OP_CLASS_OTHER,
                                           .name = "exchange",
                                           .stream = 1,
                                           .comm = {.collective = COLLECTIVE_ALL_TO_ALL,
                                                    .algorithm = ALGORITHM_DIRECT,
                                                    .group = group,
                                                    .channel = channel,
                                                    .bytes = extent_fixed(800000),
                                                    .element = 1,
                                                    .format = NUMFMT_BF16}});
}

// On 8 GPUs, in every form: the same with repeats left out, in less than 1 / `times` of the events.
static void check_schedule(const Schedule *schedule, uint64_t times) {
    SimMachine bench;
    Arena arena = {0};
    Pair pair;
    StepShape shape = step_shape_decode(1, 1);
    const SimForm forms[] = {SIM_FOLDED, SIM_REFINED, SIM_EXPANDED};
    sim_machine_open(&bench, sim_machine_switch(&arena, 8, 2, "100 GB/s"));
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        run_both(&bench.fabric, &bench.model, schedule, &shape, forms[i], &pair);
        check_equal(&pair);
        assert_true(pair.skipped.events * times < pair.run.events);
        free_both(&pair);
    }
    sim_machine_close(&bench);
    arena_free(&arena);
}

// Two streams of unequal pace: 3 us of memory traffic beside an all-to-all, joined by a wait once
// per iteration. They become steady, a transfer being under way when an iteration begins.
static void test_repeat_with_transfers_under_way(void **state) {
    (void)state;
    Schedule schedule = {0};
    schedule_init(&schedule, "overlap", 8);
    RoleId role = schedule_add_role(&schedule, "all", (RankSet){0, 8, 8, 1}, 1);
    GroupId group = schedule_add_group(
        &schedule, &(GroupFamily){.name = "all", .size = 8, .stride = 1, .count = 1});
    BlockId block = schedule_add_block(&schedule, role, "layer");
    Op first = sim_machine_memory_op("first", 0, 1000000), second = first;
    second.name = "second";
    schedule_add_op(&schedule, &first);
    OpId moved = add_exchange(&schedule, group, 0);
    schedule_add_op(&schedule, &second);
    schedule_add_wait(&schedule, moved);
    schedule_add_segment(&schedule, role, block, 100);
    schedule_finish(&schedule);
    check_schedule(&schedule, 5);
    schedule_free(&schedule);
}

// Layers of two kinds in turn, three of one and one of the other, after a first one and before a
// last: no segment repeats for long, but pairs of them do.
static void test_repeat_of_segments_in_turn(void **state) {
    (void)state;
    Schedule schedule = {0};
    schedule_init(&schedule, "in turn", 8);
    RoleId role = schedule_add_role(&schedule, "all", (RankSet){0, 8, 8, 1}, 2);
    GroupId group = schedule_add_group(
        &schedule, &(GroupFamily){.name = "all", .size = 8, .stride = 1, .count = 1});
    BlockId blocks[2];
    for (uint32_t b = 0; b < 2; b++) {
        blocks[b] = schedule_add_block(&schedule, role, b == 0 ? "short" : "long");
        Op work = sim_machine_memory_op("work", 0, 1000000 + b * 500000);
        OpId worked = schedule_add_op(&schedule, &work);
        OpId moved = add_exchange(&schedule, group, b);
        schedule_add_wait(&schedule, worked);
        work.name = "rest";
        schedule_add_op(&schedule, &work);
        schedule_add_wait(&schedule, moved);
    }
    schedule_add_segment(&schedule, role, blocks[0], 2);
    for (uint32_t i = 0; i < 20; i++) {
        schedule_add_segment(&schedule, role, blocks[1], 1);
        schedule_add_segment(&schedule, role, blocks[0], 3);
    }
    schedule_add_segment(&schedule, role, blocks[1], 2);
    schedule_finish(&schedule);
    check_schedule(&schedule, 3);
    schedule_free(&schedule);
}

static uint64_t events_of_rounds(const SmallMachine *machine, const Plan *plan, uint32_t rounds,
                                 SimForm form) {
    StepShape shape = step_shape_decode(5, 3000);
    Schedule schedule = {0};
    Pair pair;
    lower_plan(plan, 0, &machine->arch, PHASE_DECODE, rounds, &schedule);
    run_both(&machine->fabric, &machine->model, &schedule, &shape, form, &pair);
    check_equal(&pair);
    uint64_t events = pair.skipped.events;
    free_both(&pair);
    schedule_free(&schedule);
    return events;
}

// Four stages with four micro-batches: a round is 4 passes. When the pipeline is full every pass is
// like the one before, and 20 rounds take as many events as 10.
static void test_repeat_passes_of_a_full_pipeline_are_left_out(void **state) {
    (void)state;
    SmallMachine machine;
    small_machine_open(&machine, "switch:4,450GB/s");
    Plan plan = make_plan(1, 4, 1);
    plan.pools[0].micro_batches = 4;
    const SimForm forms[] = {SIM_FOLDED, SIM_REFINED, SIM_EXPANDED};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        assert_int_equal(events_of_rounds(&machine, &plan, 10, forms[i]),
                         events_of_rounds(&machine, &plan, 20, forms[i]));
    small_machine_close(&machine);
}

// Whatever the machine, the load and the faults: many passes of random schedules.
static void test_repeat_of_random_schedules_changes_nothing(void **state) {
    (void)state;
    uint32_t shorter = 0;
    for (uint64_t seed = 1; seed <= RANDOM_CASES; seed++) {
        RandomCase drawn = {0};
        Err err = {0};
        Pair pair;
        random_case_open(&drawn, seed);
        for (RoleId r = 0; r < drawn.schedule.role_count; r++) drawn.schedule.roles[r].passes *= 9;
        SimOptions run = {.form = SIM_REFINED, .first_gpu = drawn.first_gpu, .keep_spans = true};
        SimOptions skip = {.form = SIM_REFINED, .first_gpu = drawn.first_gpu};
        const SimMachine *bench = &drawn.bench;
        if (sim_run(&bench->fabric, &bench->model, &drawn.schedule, &drawn.shape, &drawn.load, &run,
                    &pair.run, &err)) {
            check_ok(sim_run(&bench->fabric, &bench->model, &drawn.schedule, &drawn.shape,
                             &drawn.load, &skip, &pair.skipped, &err),
                     &err);
            check_equal(&pair);
            shorter += pair.skipped.events < pair.run.events;
            free_both(&pair);
        }
        random_case_close(&drawn);
    }
    assert_true(shorter > RANDOM_CASES / 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_repeat_layers_of_plans_are_left_out),
        cmocka_unit_test(test_repeat_with_transfers_under_way),
        cmocka_unit_test(test_repeat_of_segments_in_turn),
        cmocka_unit_test(test_repeat_passes_of_a_full_pipeline_are_left_out),
        cmocka_unit_test(test_repeat_of_random_schedules_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
