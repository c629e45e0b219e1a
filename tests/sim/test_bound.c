// Lower bounds of plans: sums by hand, and never above what is simulated.
#include "tests/check.h"

#include "model/base/rng.h"
#include "model/plan/lower.h"
#include "model/plan/plan_legal.h"
#include "model/plan/pool_place.h"
#include "sim/search/bound.h"
#include "sim/search/space.h"
#include "tests/plan/hand_plan.h"
#include "tests/sim/small_machine.h"

#define RANDOM_PLANS 9000 // drawn; about one in four is legal

static Evaluation bound_of(const SmallMachine *machine, const Plan *plan) {
    EvaluateInput input = small_machine_input(machine);
    Evaluation bound;
    Err err = {0};
    uint64_t sequences = space_sequences(&plan->pools[0], machine->scenario.concurrency);
    check_ok(evaluate_bound(&input, plan, sequences, &bound, &err), &err);
    return bound;
}

static Evaluation simulation_of(const SmallMachine *machine, const Plan *plan) {
    EvaluateInput input = small_machine_input(machine);
    Evaluation evaluation;
    Err err = {0};
    uint64_t sequences = space_sequences(&plan->pools[0], machine->scenario.concurrency);
    check_ok(evaluate_plan(&input, plan, sequences, &evaluation, &err), &err);
    return evaluation;
}

// One GPU has nothing to wait for and nobody to talk to: the chain of its operations is the whole
// step, to the picosecond.
static void test_bound_of_one_gpu_is_its_time(void **state) {
    (void)state;
    SmallMachine machine;
    small_machine_open(&machine, "switch:1,450GB/s");
    Plan plan = hand_plan(1, 1, 1, 1);
    Evaluation bound = bound_of(&machine, &plan), simulated = simulation_of(&machine, &plan);
    assert_true(bound.ttft_ps == simulated.ttft_ps);
    assert_true(bound.tpot_ps == simulated.tpot_ps);
    assert_true(bound.prefill_ps == simulated.prefill_ps);
    check_close(bound.tok_s_per_gpu, simulated.tok_s_per_gpu, 1e-15);
    evaluate_free(&simulated);
    small_machine_close(&machine);
}

// Parts explain the bound as they explain the time.
static void test_bound_parts_add_up(void **state) {
    (void)state;
    SmallMachine machine;
    small_machine_open(&machine, "switch:4,450GB/s");
    Plan plan = hand_plan(2, 1, 2, 4);
    Evaluation bound = bound_of(&machine, &plan);
    double sum = 0;
    for (uint32_t i = 0; i < EVALUATE_PARTS; i++) sum += bound.decode.part_s[i];
    check_close(sum, units_seconds(bound.tpot_ps), 1e-9);
    small_machine_close(&machine);
}

// A pipeline of two stages passes both: its bound is not below half of what one GPU with all the
// layers needs, and the head and the embedding make it more than that.
static void test_bound_of_a_pipeline_has_all_stages(void **state) {
    (void)state;
    SmallMachine machine;
    small_machine_open(&machine, "switch:2,450GB/s");
    Plan one = hand_plan(1, 1, 1, 1), two = hand_plan(1, 2, 1, 1);
    Evaluation alone = bound_of(&machine, &one), piped = bound_of(&machine, &two);
    assert_true(2 * piped.tpot_ps > alone.tpot_ps);
    small_machine_close(&machine);
}

// ---- Random plans on random machines.

static uint32_t pick(Rng *rng, const uint32_t *values, uint32_t count) {
    return values[rng_below(rng, count)];
}

static bool draw_plan(Rng *rng, const SmallMachine *machine, Plan *out) {
    static const uint32_t widths[] = {1, 2, 2, 4, 8}, depths[] = {1, 1, 2, 3, 4};
    static const uint32_t copies[] = {1, 2, 3, 4}, sharers[] = {1, 1, 1, 2};
    uint32_t tp = pick(rng, widths, 5), pp = pick(rng, depths, 5), dp = pick(rng, copies, 4);
    uint32_t cp = pick(rng, sharers, 4), ranks = tp * dp * cp, gpus = machine->fabric.gpu_count,
             ep = 1 + (uint32_t)rng_below(rng, ranks);
    if (ranks % ep != 0 || ranks * pp > gpus) return false;
    *out = hand_plan(tp, pp, dp * cp, ep);
    Pool *pool = &out->pools[0];
    pool->dp = dp;
    pool->cp = cp;
    if (tp == 8 && rng_below(rng, 2)) pool->dcp = 2;
    pool->replicas = 1 + (uint32_t)rng_below(rng, gpus / (ranks * pp));
    pool->micro_batches = pp + (uint32_t)rng_below(rng, 3);
    pool->all_reduce = pool->all_to_all = pool->all_gather = pool->reduce_scatter = ALGORITHM_AUTO;
    pool->moe_comm = dp * cp == 1                  ? MOE_COMM_NONE
                     : ep > 1 && rng_below(rng, 2) ? MOE_COMM_ALL_TO_ALL
                                                   : MOE_COMM_GATHER;
    if (pool->moe_comm == MOE_COMM_ALL_TO_ALL) {
        pool->prefill_overlap = (Overlap)rng_below(rng, OVERLAP_COUNT);
        pool->decode_overlap = (Overlap)rng_below(rng, OVERLAP_COUNT);
        pool->prefill_sms = (uint32_t)rng_below(rng, 2) * 20;
    }
    if (rng_below(rng, 3) == 0) pool->placement = (Placement)rng_below(rng, PLACEMENT_COUNT);
    if (!pool_place_differs(&machine->fabric, pool)) pool->placement = PLACEMENT_LINEAR;
    Err err = {0};
    return plan_legal(out, &machine->arch, &err);
}

static void draw_workload(Rng *rng, Scenario *scenario) {
    static const uint32_t prompts[] = {1, 100, 1500, 5000}, chunks[] = {512, 2048, 8192};
    static const uint32_t requests[] = {1, 3, 16, 100, 700};
    scenario->isl = pick(rng, prompts, 4);
    scenario->osl = 1 + (uint32_t)rng_below(rng, 200);
    scenario->prefill_chunk = pick(rng, chunks, 3);
    scenario->concurrency = pick(rng, requests, 5);
}

static void check_below(const SmallMachine *machine, const Plan *plan, EvaluateMemory *memory,
                        uint32_t *checked) {
    EvaluateInput input = small_machine_input(machine);
    Evaluation bound, simulated;
    Err err = {0};
    char label[PLAN_TEXT_MAX];
    uint64_t sequences = space_sequences(&plan->pools[0], machine->scenario.concurrency);
    input.memory = memory;
    check_ok(evaluate_bound(&input, plan, sequences, &bound, &err), &err);
    if (!evaluate_plan(&input, plan, sequences, &simulated, &err)) return;
    if (bound.ttft_ps > simulated.ttft_ps || bound.tpot_ps > simulated.tpot_ps ||
        bound.prefill_ps > simulated.prefill_ps)
        fail_msg("%s: bounds %lld %lld %lld ps, simulated %lld %lld %lld ps",
                 plan_label(plan, label), (long long)bound.ttft_ps, (long long)bound.tpot_ps,
                 (long long)bound.prefill_ps, (long long)simulated.ttft_ps,
                 (long long)simulated.tpot_ps, (long long)simulated.prefill_ps);
    assert_true(bound.tok_s_per_gpu >= simulated.tok_s_per_gpu);
    assert_true(bound.ttft_ps > 0 && bound.tpot_ps > 0);
    evaluate_free(&simulated);
    ++*checked;
}

// No bound is above its time, over plans of every shape, workloads, and machines of one and two
// tiers.
static void test_bound_is_never_above_the_simulated_time(void **state) {
    (void)state;
    static const char *const machines[] = {
        "switch:8,450GB/s",    "switch:6,100GB/s",
        "hgx-h100:2",          "leafspine:nodes=4,gpus=2,nic=50GB/s,nvlink=450GB/s,leaf=4",
        "torus:2x2x2,100GB/s", "ring:8,100GB/s"};
    uint32_t checked = 0;
    for (size_t m = 0; m < sizeof machines / sizeof *machines; m++) {
        SmallMachine machine;
        Rng rng;
        rng_seed(&rng, m + 1);
        small_machine_open(&machine, machines[m]);
        EvaluateInput input = small_machine_input(&machine);
        EvaluateMemory *memory = evaluate_memory_open(&input);
        for (uint32_t i = 0; i < RANDOM_PLANS / 5; i++) {
            Plan plan;
            draw_workload(&rng, &machine.scenario);
            if (draw_plan(&rng, &machine, &plan)) check_below(&machine, &plan, memory, &checked);
        }
        evaluate_memory_close(memory);
        small_machine_close(&machine);
    }
    assert_true(checked > 2000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bound_of_one_gpu_is_its_time),
        cmocka_unit_test(test_bound_parts_add_up),
        cmocka_unit_test(test_bound_of_a_pipeline_has_all_stages),
        cmocka_unit_test(test_bound_is_never_above_the_simulated_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
