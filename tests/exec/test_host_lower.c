// What is priced is what can run: lowered plans of real models on the host back end.
#include "tests/check.h"

#include "exec/host/host.h"
#include "tests/plan/lower_plans.h"

// Bytes that the all-to-all operations of a class move when every element goes to one rank: what
// all ranks send, their own part included.
static uint64_t sent_by_class(const Schedule *schedule, const HostResult *result, OpClass op_class,
                              const StepShape *shape) {
    uint64_t sum = 0;
    for (OpId id = 0; id < schedule->op_count; id++) {
        const Op *op = &schedule->ops[id];
        if (op->op_class != op_class || op->kind != OP_COLLECTIVE) continue;
        assert_int_equal(op->comm.collective, COLLECTIVE_ALL_TO_ALL);
        sum += result->instances[id] * extent_value(&op->comm.bytes, shape);
    }
    return sum;
}

static void check_runs(const Schedule *schedule, const HostResult *result, const StepShape *shape) {
    for (OpId id = 0; id < schedule->op_count; id++) assert_true(result->instances[id] > 0);
    const OpClass routed[] = {OP_CLASS_DISPATCH, OP_CLASS_COMBINE};
    for (uint32_t i = 0; i < 2; i++) {
        uint64_t moved = result->linked_B[routed[i]] + result->local_B[routed[i]];
        assert_true(moved > 0);
        assert_int_equal(moved, sent_by_class(schedule, result, routed[i], shape));
    }
}

static void run(const char *model, const Plan *plan, Phase phase, const StepShape *shape) {
    Arch arch = lower_plans_load(model);
    Schedule schedule = lower_plans_lower(plan, &arch, phase, 2);
    HostResult result = {0};
    HostInit init = {0};
    Load load = load_uniform();
    Err err = {0};
    check_ok(host_run(&schedule, shape, &load, &init, &result, &err), &err);
    check_runs(&schedule, &result, shape);
    host_free(&result);
    schedule_free(&schedule);
    arch_free(&arch);
}

// DeepSeek-V3 on 16 ranks: two stages of attention tp 2 x dp 4 with experts on 8; 6 sequences a
// rank.
static void test_host_lower_decodes_deepseek(void **state) {
    (void)state;
    Plan plan = lower_plans_make(2, 2, 4, 8);
    StepShape shape = step_shape_decode(6, 100);
    run(DEEPSEEK, &plan, PHASE_DECODE, &shape);
}

// 94 layers of Qwen3-235B on 8 ranks, a chunk of 16 new tokens; 128 experts on 8 ranks, 16 each.
static void test_host_lower_prefills_qwen(void **state) {
    (void)state;
    Plan plan = lower_plans_make(1, 1, 8, 8);
    StepShape shape = step_shape_prefill(16, 0);
    run(QWEN, &plan, PHASE_PREFILL, &shape);
}

// 896 experts do not divide by 5 ranks: one has 180, four 179.
static void test_host_lower_decodes_kimi_on_uneven_experts(void **state) {
    (void)state;
    Plan plan = lower_plans_make(1, 1, 5, 5);
    StepShape shape = step_shape_decode(3, 10);
    run(KIMI, &plan, PHASE_DECODE, &shape);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_host_lower_decodes_deepseek),
        cmocka_unit_test(test_host_lower_prefills_qwen),
        cmocka_unit_test(test_host_lower_decodes_kimi_on_uneven_experts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
