// The figures of one plan: sums by hand for hand-made evaluations, laws for simulated ones.
#include "tests/check.h"

#include "model/base/json.h"
#include "model/plan/load.h"
#include "model/plan/lower.h"
#include "sim/search/space.h"
#include "tests/plan/hand_plan.h"
#include "tests/sim/small_machine.h"

#define PS 1e-12

// tp x pp x dp on one replica; all experts of a stage spread over its ranks.
static Plan make_plan(uint32_t tp, uint32_t pp, uint32_t dp) {
    Plan plan = hand_plan(tp, pp, dp, tp * dp);
    plan.pools[0].dispatch_format = NUMFMT_BF16;
    return plan;
}

static Evaluation evaluate(const SmallMachine *machine, const Plan *plan) {
    EvaluateInput input = small_machine_input(machine);
    Evaluation evaluation;
    Err err = {0};
    uint64_t sequences = space_sequences(&plan->pools[0], machine->scenario.concurrency);
    check_ok(evaluate_plan(&input, plan, sequences, &evaluation, &err), &err);
    return evaluation;
}

static double sum_of(const EvaluateParts *parts) {
    double sum = 0;
    for (uint32_t i = 0; i < EVALUATE_PARTS; i++) sum += parts->part_s[i];
    return sum;
}

// 6 s of memory and 2 s of kernels are 8 s of work; drawn at 1.5 and 1 they are 9 + 2 = 11 s. 2 s
// of waiting grow alike, to 2 x 11 / 8 = 2.75 s. Together 13.75 s.
static void test_evaluate_draws_scale_each_part_and_the_waiting(void **state) {
    (void)state;
    Evaluation evaluation = {0};
    evaluation.cycle.part_s[CALIB_MEMORY] = 6;
    evaluation.cycle.part_s[CALIB_KERNEL] = 2;
    evaluation.cycle.part_s[EVALUATE_WAIT] = 2;
    EvaluateParts factors;
    for (uint32_t i = 0; i < EVALUATE_PARTS; i++) factors.part_s[i] = 1;
    check_close(evaluate_drawn_cycle_s(&evaluation, &factors), 10, 1e-15);
    factors.part_s[CALIB_MEMORY] = 1.5;
    check_close(evaluate_drawn_cycle_s(&evaluation, &factors), 13.75, 1e-15);
}

// The second of two steps of all replicas.
static double simulate_decode_ps(const SmallMachine *machine, const Plan *plan) {
    uint64_t sequences = space_sequences(&plan->pools[0], machine->scenario.concurrency);
    StepShape shape = step_shape_decode(sequences, 2048 + 128);
    Load load = load_uniform();
    SimOptions options = {0};
    Schedule schedule = {0};
    Timeline timeline;
    Err err = {0};
    lower_plan(plan, 0, &machine->arch, PHASE_DECODE, 2, &schedule);
    check_ok(sim_run(&machine->fabric, &machine->model, &schedule, &shape, &load, &options,
                     &timeline, &err),
             &err);
    double step_ps = (double)(timeline.round_ps[1] - timeline.round_ps[0]);
    timeline_free(&timeline);
    schedule_free(&schedule);
    load_free(&load);
    return step_ps;
}

// No time is below its bound, and the parts of a time add up to it (to 1e-9: a share is rounded per
// part).
static void test_evaluate_bounds_and_parts(void **state) {
    (void)state;
    SmallMachine machine;
    small_machine_open(&machine, "switch:4,450GB/s");
    const Plan plans[] = {make_plan(1, 1, 4), make_plan(4, 1, 1), make_plan(2, 2, 1)};
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        Evaluation e = evaluate(&machine, &plans[i]);
        assert_true(e.ttft_bound_ps > 0 && e.ttft_bound_ps <= e.ttft_ps);
        assert_true(e.tpot_bound_ps > 0 && e.tpot_bound_ps <= e.tpot_ps);
        check_close(sum_of(&e.decode), (double)e.tpot_ps * PS, 1e-9);
        check_close(sum_of(&e.prefill), (double)e.prefill_ps * PS, 1e-9);
        check_close(sum_of(&e.cycle), sum_of(&e.prefill) + 255 * sum_of(&e.decode), 1e-12);
        evaluate_free(&e);
    }
    small_machine_close(&machine);
}

// A cycle answers every request once: output tokens per second are requests x OSL / cycle. With 30
// requests on 4 attention-DP ranks each holds ceil(30 / 4) = 8, but only 30 answers come out,
// not 32. All four GPUs divide, whatever the plan uses.
static void test_evaluate_counts_real_requests_and_all_gpus(void **state) {
    (void)state;
    SmallMachine machine;
    small_machine_open(&machine, "switch:4,450GB/s");
    machine.scenario.concurrency = 30;
    machine.scenario.price_uusd_per_gpu_hour = 1800000;
    Plan plan = make_plan(1, 1, 4);
    Evaluation e = evaluate(&machine, &plan);
    double cycle_s = ((double)e.prefill_ps + 255 * (double)e.tpot_ps) * PS;
    assert_int_equal(e.requests, 30);
    check_close(e.output_tok_s, 30 * 256 / cycle_s, 1e-12);
    check_close(e.tok_s_per_user, 1 / ((double)e.tpot_ps * PS), 1e-12);
    Plan half = make_plan(1, 1, 2);
    Evaluation f = evaluate(&machine, &half);
    check_close(e.tok_s_per_gpu, e.output_tok_s / 4, 1e-12);
    check_close(f.tok_s_per_gpu, f.output_tok_s / 4, 1e-12);
    // 4 GPUs x $1.80 / 3600 s = $0.002 a second
    check_close(e.usd_per_mtok, 0.002 / e.output_tok_s * 1e6, 1e-12);
    evaluate_free(&e);
    evaluate_free(&f);
    small_machine_close(&machine);
}

static uint32_t largest_of(const EvaluateParts *parts) {
    uint32_t largest = 0;
    for (uint32_t i = 1; i < EVALUATE_PARTS; i++)
        if (parts->part_s[i] > parts->part_s[largest]) largest = i;
    return largest;
}

// Plans are ordered by the cycle, and so is the bottleneck of the cycle: with 32 Ki tokens in and 2
// out there is one decode step, which memory governs, behind 32 prompts that are arithmetic.
static void test_evaluate_bottleneck_is_of_the_cycle(void **state) {
    (void)state;
    SmallMachine machine;
    small_machine_open(&machine, "switch:4,450GB/s");
    machine.scenario.isl = 32768;
    machine.scenario.osl = 2;
    Plan plan = make_plan(4, 1, 1);
    Evaluation e = evaluate(&machine, &plan);
    assert_int_equal(largest_of(&e.decode), CALIB_MEMORY);
    assert_int_equal(e.bottleneck, largest_of(&e.cycle));
    assert_int_not_equal(e.bottleneck, CALIB_MEMORY);
    evaluate_free(&e);
    small_machine_close(&machine);
}

// TPOT is the second of two decode steps of all replicas, and the engine's own time.
static void test_evaluate_takes_the_steady_step(void **state) {
    (void)state;
    SmallMachine machine;
    small_machine_open(&machine, "hgx-h100:2");
    Plan plans[] = {make_plan(8, 1, 1), make_plan(1, 1, 4), make_plan(1, 1, 16)};
    const uint32_t replicas[] = {2, 4, 1};
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        plans[i].pools[0].replicas = replicas[i];
        Evaluation e = evaluate(&machine, &plans[i]);
        double step_ps = simulate_decode_ps(&machine, &plans[i]);
        double engine_ps = machine.calib.values[CALIB_STEP_OVERHEAD].value / PS;
        check_close((double)e.tpot_ps, step_ps + engine_ps, 1e-12);
        evaluate_free(&e);
    }
    small_machine_close(&machine);
}

static double simulate_chunk_ps(const SmallMachine *machine, const Schedule *schedule,
                                uint64_t tokens, uint64_t cached) {
    StepShape shape = step_shape_prefill(tokens, cached);
    Load load = load_uniform();
    SimOptions options = {0};
    Timeline timeline;
    Err err = {0};
    check_ok(sim_run(&machine->fabric, &machine->model, schedule, &shape, &load, &options,
                     &timeline, &err),
             &err);
    double end_ps = (double)timeline.end_ps;
    timeline_free(&timeline);
    load_free(&load);
    return end_ps;
}

// A prompt of 20 full chunks and a rest: only 4 of the full ones are simulated, the others lie on
// lines between them. Simulating all 21 gives the same to one in a thousand (prices are linear but
// where another term takes over), plus 21 times the engine's own time.
static void test_evaluate_interpolates_between_chunks(void **state) {
    (void)state;
    SmallMachine machine;
    small_machine_open(&machine, "switch:4,450GB/s");
    machine.scenario.prefill_chunk = 512;
    machine.scenario.isl = 20 * 512 + 100;
    machine.scenario.concurrency = 4;
    Plan plan = make_plan(1, 1, 4);
    Evaluation e = evaluate(&machine, &plan);
    Schedule schedule = {0};
    lower_plan(&plan, 0, &machine.arch, PHASE_PREFILL, 1, &schedule);
    double sum_ps = simulate_chunk_ps(&machine, &schedule, 100, 20 * 512);
    for (uint64_t i = 0; i < 20; i++)
        sum_ps += simulate_chunk_ps(&machine, &schedule, 512, i * 512);
    sum_ps += 21 * machine.calib.values[CALIB_STEP_OVERHEAD].value / PS;
    check_close((double)e.ttft_ps, sum_ps, 1e-3);
    schedule_free(&schedule);
    evaluate_free(&e);
    small_machine_close(&machine);
}

// Prompts of 1000 tokens and chunks of 2048: two share a step when throughput counts, so that
// refilling 8 sequences takes 4 steps, and less than 8 prompts one by one; the unloaded TTFT is
// that of one prompt alone either way.
static void test_evaluate_packs_short_prompts(void **state) {
    (void)state;
    SmallMachine machine;
    small_machine_open(&machine, "switch:4,450GB/s");
    Plan plan = make_plan(1, 1, 4);
    machine.scenario.isl = 1000;
    machine.scenario.prefill_chunk = 2048;
    Evaluation packed = evaluate(&machine, &plan);
    machine.scenario.prefill_chunk = 1000;
    Evaluation alone = evaluate(&machine, &plan);
    assert_int_equal(packed.ttft_ps, alone.ttft_ps);
    check_close((double)alone.prefill_ps, 8 * (double)alone.ttft_ps, 1e-9);
    assert_true(packed.prefill_ps < alone.prefill_ps);
    assert_true(packed.prefill_ps > 4 * packed.ttft_ps);
    evaluate_free(&packed);
    evaluate_free(&alone);
    small_machine_close(&machine);
}

static double latest_end_us(const Json *trace) {
    JsonNode root = json_root(trace);
    double latest = 0;
    for (uint32_t i = 0; i < json_count(root); i++) {
        JsonNode event = json_at(root, i);
        double start_us = 0, duration_us = 0;
        Err err = {0};
        if (!json_has(event, "dur")) continue;
        check_ok(json_double(event, "ts", &start_us, &err) &&
                     json_double(event, "dur", &duration_us, &err),
                 &err);
        if (start_us + duration_us > latest) latest = start_us + duration_us;
    }
    return latest;
}

// The trace of a kept phase is JSON, and its last operation ends when the run ends.
static void test_evaluate_keeps_phases_that_can_be_traced(void **state) {
    (void)state;
    SmallMachine machine;
    small_machine_open(&machine, "switch:4,450GB/s");
    Plan plan = make_plan(2, 2, 1);
    EvaluateInput input = small_machine_input(&machine);
    input.keep_phases = input.keep_spans = true;
    Evaluation e;
    Err err = {0};
    Text text = {0};
    Json trace = {0};
    check_ok(evaluate_plan(&input, &plan, 16, &e, &err), &err);
    timeline_write_chrome(&e.decode_phase.timeline, &e.decode_phase.schedule, &text);
    check_ok(json_parse("trace", text.data, text.length, &trace, &err), &err);
    check_close(latest_end_us(&trace), (double)e.decode_phase.timeline.end_ps / 1e6, 1e-12);
    json_free(&trace);
    text_free(&text);
    evaluate_free(&e);
    small_machine_close(&machine);
}

// Qwen3-30B has no shared experts: of its exchanges nothing lies beside computing. In halves most
// of a prompt's does, and the prompt is sooner through; decode is the same.
static void test_evaluate_overlap_is_what_lies_beside_computing(void **state) {
    (void)state;
    SmallMachine machine;
    small_machine_open(&machine, "switch:4,450GB/s");
    Plan plan = make_plan(1, 1, 4);
    Evaluation whole = evaluate(&machine, &plan);
    plan.pools[0].prefill_overlap = OVERLAP_TWO_BATCH;
    Evaluation halves = evaluate(&machine, &plan);
    assert_true(whole.prefill_overlap <= 0 && whole.decode_overlap <= 0);
    assert_true(halves.prefill_overlap > 0.5 && halves.prefill_overlap <= 1);
    assert_true(halves.decode_overlap <= 0);
    assert_true(halves.ttft_ps < whole.ttft_ps);
    assert_int_equal(halves.tpot_ps, whole.tpot_ps);
    evaluate_free(&whole);
    evaluate_free(&halves);
    small_machine_close(&machine);
}

static void test_evaluate_is_repeatable(void **state) {
    (void)state;
    SmallMachine machine;
    small_machine_open(&machine, "switch:4,450GB/s");
    Plan plan = make_plan(2, 1, 2);
    Evaluation first = evaluate(&machine, &plan), second = evaluate(&machine, &plan);
    assert_true(first.timelines == second.timelines);
    assert_memory_equal(&first.cycle, &second.cycle, sizeof first.cycle);
    evaluate_free(&first);
    evaluate_free(&second);
    small_machine_close(&machine);
}

static void check_equal_figures(const Evaluation *a, const Evaluation *b) {
    assert_true(a->timelines == b->timelines);
    assert_int_equal(a->ttft_ps, b->ttft_ps);
    assert_int_equal(a->ttft_bound_ps, b->ttft_bound_ps);
    assert_int_equal(a->tpot_ps, b->tpot_ps);
    assert_int_equal(a->tpot_bound_ps, b->tpot_bound_ps);
    assert_int_equal(a->prefill_ps, b->prefill_ps);
    assert_int_equal(a->events, b->events);
    assert_true(a->tok_s_per_gpu == b->tok_s_per_gpu);
    assert_true(a->prefill_overlap == b->prefill_overlap);
    assert_true(a->decode_overlap == b->decode_overlap);
    for (uint32_t i = 0; i < EVALUATE_PARTS; i++)
        assert_true(a->cycle.part_s[i] == b->cycle.part_s[i]);
}

// Plans that share routes, algorithms, their decode (the first two), their prefill (the next two),
// or nothing: each as it is when it is evaluated alone.
static void test_evaluate_remembers_what_is_the_same(void **state) {
    (void)state;
    SmallMachine machine;
    small_machine_open(&machine, "switch:4,450GB/s");
    Plan plans[] = {make_plan(1, 1, 4), make_plan(1, 1, 4), make_plan(1, 1, 4), make_plan(2, 2, 1),
                    make_plan(1, 1, 4)};
    plans[1].pools[0].prefill_overlap = plans[2].pools[0].prefill_overlap = OVERLAP_TWO_BATCH;
    plans[2].pools[0].decode_overlap = OVERLAP_TWO_BATCH;
    plans[4].pools[0].prefill_sms = 20;
    EvaluateInput input = small_machine_input(&machine);
    input.memory = evaluate_memory_open(&input);
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        Evaluation alone = evaluate(&machine, &plans[i]), together;
        Err err = {0};
        uint64_t sequences = space_sequences(&plans[i].pools[0], machine.scenario.concurrency);
        check_ok(evaluate_plan(&input, &plans[i], sequences, &together, &err), &err);
        check_equal_figures(&alone, &together);
        evaluate_free(&alone);
        evaluate_free(&together);
    }
    evaluate_memory_close(input.memory);
    small_machine_close(&machine);
}

// 72 GPUs, each pair joined by a link of its own, are folded by the blocks of the plan: tp of 4 in
// stages of 32, which send to each other, or in a stage of 12 x 6 and of 4 x 18 whose experts do
// not divide. Classes of ranks, where every pair is looked at, give the same times.
static void test_evaluate_folds_joined_gpus_as_they_are_refined(void **state) {
    (void)state;
    SmallMachine machine;
    small_machine_open(&machine, "mesh:72,50GB/s");
    const Plan plans[] = {make_plan(4, 2, 8), make_plan(4, 1, 16), make_plan(4, 1, 18),
                          make_plan(2, 1, 12)};
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        EvaluateInput input = small_machine_input(&machine);
        Evaluation folded, refined;
        Err err = {0};
        input.form = SIM_FOLDED;
        check_ok(evaluate_plan(&input, &plans[i], 2, &folded, &err), &err);
        input.form = SIM_REFINED;
        check_ok(evaluate_plan(&input, &plans[i], 2, &refined, &err), &err);
        assert_true(folded.ttft_ps == refined.ttft_ps);
        assert_true(folded.tpot_ps == refined.tpot_ps);
        assert_true(folded.prefill_ps == refined.prefill_ps);
        evaluate_free(&folded);
        evaluate_free(&refined);
    }
    small_machine_close(&machine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_evaluate_folds_joined_gpus_as_they_are_refined),
        cmocka_unit_test(test_evaluate_draws_scale_each_part_and_the_waiting),
        cmocka_unit_test(test_evaluate_bounds_and_parts),
        cmocka_unit_test(test_evaluate_counts_real_requests_and_all_gpus),
        cmocka_unit_test(test_evaluate_bottleneck_is_of_the_cycle),
        cmocka_unit_test(test_evaluate_takes_the_steady_step),
        cmocka_unit_test(test_evaluate_interpolates_between_chunks),
        cmocka_unit_test(test_evaluate_packs_short_prompts),
        cmocka_unit_test(test_evaluate_keeps_phases_that_can_be_traced),
        cmocka_unit_test(test_evaluate_overlap_is_what_lies_beside_computing),
        cmocka_unit_test(test_evaluate_is_repeatable),
        cmocka_unit_test(test_evaluate_remembers_what_is_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
