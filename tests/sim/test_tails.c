// Percentiles over sampled loads, and schedules with an operation for every layer.
#include "tests/check.h"

#include "model/plan/lower.h"
#include "model/plan/schedule_unroll.h"
#include "sim/search/tails.h"
#include "tests/plan/hand_plan.h"
#include "tests/sim/small_machine.h"

// Of 20 samples, half are at most the 10th, 95 % the 19th, 99 % only the 20th.
static void test_tails_percentiles_are_samples(void **state) {
    (void)state;
    Time times[20];
    for (uint32_t i = 0; i < 20; i++) times[i] = 100 + i;
    Tails tails = {.times = times, .samples = 20};
    assert_int_equal(tails_percentile(&tails, 50), 109);
    assert_int_equal(tails_percentile(&tails, 95), 118);
    assert_int_equal(tails_percentile(&tails, 99), 119);
    assert_int_equal(tails_percentile(&tails, 100), 119);
    assert_int_equal(tails_percentile(&tails, 1), 100);
}

static Time end_of(const SmallMachine *machine, const Schedule *schedule, const StepShape *shape) {
    Load load = load_uniform();
    SimOptions options = {0};
    Timeline timeline = {0};
    Err err = {0};
    check_ok(sim_run(&machine->fabric, &machine->model, schedule, shape, &load, &options, &timeline,
                     &err),
             &err);
    Time end = timeline.end_ps;
    timeline_free(&timeline);
    return end;
}

// Blocks one by one are the same operations in the same order: the same time to the picosecond.
static void test_tails_layers_one_by_one_take_the_same_time(void **state) {
    (void)state;
    SmallMachine machine;
    small_machine_open(&machine, "switch:4,450GB/s");
    Plan plans[] = {hand_plan(1, 1, 4, 4), hand_plan(2, 2, 1, 2), hand_plan(4, 1, 1, 4)};
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        plans[i].pools[0].dispatch_format = NUMFMT_BF16;
        StepShape shape = step_shape_decode(8, 2048);
        Schedule schedule = {0}, unrolled = {0};
        Err err = {0};
        lower_plan(&plans[i], 0, &machine.arch, PHASE_DECODE, 3, &schedule);
        check_ok(schedule_unroll_layers(&schedule, &unrolled, &err), &err);
        assert_int_equal(end_of(&machine, &schedule, &shape), end_of(&machine, &unrolled, &shape));
        schedule_free(&schedule);
        schedule_free(&unrolled);
    }
    small_machine_close(&machine);
}

// The same law and tokens as in one step of the plan: 4 attention-DP ranks of 64 sequences.
static Tails run_tails(const SmallMachine *machine, RoutingLaw law, uint32_t samples) {
    Plan plan = hand_plan(1, 1, 4, 4);
    Schedule schedule = {0};
    StepShape shape = step_shape_decode(64, 2048);
    Tails tails = {0};
    Err err = {0};
    plan.pools[0].dispatch_format = NUMFMT_BF16;
    lower_plan(&plan, 0, &machine->arch, PHASE_DECODE, 2, &schedule);
    TailsInput input = {.fabric = &machine->fabric,
                        .model = &machine->model,
                        .schedule = &schedule,
                        .shape = &shape,
                        .lag = 1,
                        .routing = {.rule = {128, 8, 0, 0},
                                    .law = law,
                                    .seed = 1,
                                    .layers = 48,
                                    .sources = 1,
                                    .tokens = 4 * 64},
                        .samples = samples};
    check_ok(tails_run(&input, &tails, &err), &err);
    schedule_free(&schedule);
    return tails;
}

// What the slowest rank has to do makes a step longer: no load is faster than an even one, whose
// expected shares are the uniform law's. Popularity that differs costs more than luck alone.
static void test_tails_skewed_loads_take_longer(void **state) {
    (void)state;
    SmallMachine machine;
    small_machine_open(&machine, "switch:4,450GB/s");
    Tails even = run_tails(&machine, (RoutingLaw){ROUTING_UNIFORM, 0}, 5);
    Tails skewed = run_tails(&machine, (RoutingLaw){ROUTING_ZIPF, 1}, 5);
    Tails again = run_tails(&machine, (RoutingLaw){ROUTING_ZIPF, 1}, 5);
    assert_int_equal(even.expected_ps, even.even_ps);
    assert_true(even.times[0] >= even.even_ps);
    assert_int_equal(skewed.even_ps, even.even_ps);
    assert_true(skewed.expected_ps > skewed.even_ps);
    assert_true(tails_percentile(&skewed, 50) > tails_percentile(&even, 99));
    assert_true(skewed.times[0] < skewed.times[4]);
    assert_memory_equal(skewed.times, again.times, 5 * sizeof(Time));
    tails_free(&even);
    tails_free(&skewed);
    tails_free(&again);
    small_machine_close(&machine);
}

static void test_tails_refuse_no_samples(void **state) {
    (void)state;
    TailsInput input = {0};
    Tails tails = {0};
    Err err = {0};
    check_fails(tails_run(&input, &tails, &err), &err, "expected 1 to 10000 samples, found 0");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tails_percentiles_are_samples),
        cmocka_unit_test(test_tails_layers_one_by_one_take_the_same_time),
        cmocka_unit_test(test_tails_skewed_loads_take_longer),
        cmocka_unit_test(test_tails_refuse_no_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
