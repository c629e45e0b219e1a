// What is priced is what can run: lowered plans of real models on the host back end.
#include "tests/check.h"

#include "exec/host/host.h"
#include "model/base/rng.h"
#include "tests/exec/oracle.h"
#include "tests/plan/lower_plans.h"

// Bytes that the all-to-all operations of a class move when every element goes to one rank: what
// all ranks send, their own part included.
static uint64_t sent_by_class(const Schedule *schedule, const InterpResult *result,
                              OpClass op_class, const StepShape *shape) {
    uint64_t sum = 0;
    for (OpId id = 0; id < schedule->op_count; id++) {
        const Op *op = &schedule->ops[id];
        if (op->op_class != op_class || op->kind != OP_COLLECTIVE) continue;
        assert_int_equal(op->comm.collective, COLLECTIVE_ALL_TO_ALL);
        sum += result->instances[id] * extent_value(&op->comm.bytes, shape);
    }
    return sum;
}

static void check_runs(const Schedule *schedule, const InterpResult *result,
                       const StepShape *shape) {
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
    InterpResult result = {0};
    HostInit init = {0};
    Load load = load_uniform();
    Err err = {0};
    check_ok(host_run(&schedule, shape, &load, &init, &result, &err), &err);
    check_runs(&schedule, &result, shape);
    interp_free(&result);
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

// What context parallelism moves between ranks, in bytes: of each collective what arrives from the
// others of its group, n - 1 of n parts.
static void check_context(const char *model, const Plan *plan, Phase phase,
                          const StepShape *shape) {
    Arch arch = lower_plans_load(model);
    Schedule schedule = lower_plans_lower(plan, &arch, phase, 1);
    InterpResult result = {0};
    HostInit init = {0};
    Load load = load_uniform();
    Err err = {0};
    uint64_t expected = 0;
    check_ok(host_run(&schedule, shape, &load, &init, &result, &err), &err);
    for (OpId id = 0; id < schedule.op_count; id++) {
        const Op *op = &schedule.ops[id];
        if (op->op_class != OP_CLASS_CP_COMM) continue;
        uint64_t n = schedule.groups[op->comm.group].size;
        uint64_t parts = extent_value(&op->comm.bytes, shape) / n * n;
        assert_int_equal(parts, extent_value(&op->comm.bytes, shape));
        expected += result.instances[id] * (parts / n) * (n - 1);
    }
    assert_true(expected > 0);
    assert_int_equal(result.linked_B[OP_CLASS_CP_COMM], expected);
    interp_free(&result);
    schedule_free(&schedule);
    arch_free(&arch);
}

// The cache of DeepSeek-V3 dealt to all 4 ranks of a TP group, in both phases: 4 sequences of 12
// tokens, and a prompt of 12.
static void test_host_lower_deals_a_cache(void **state) {
    (void)state;
    Plan plan = lower_plans_make(4, 1, 1, 4);
    plan.pools[0].dcp = 4;
    StepShape decode = step_shape_decode(4, 12), prefill = step_shape_prefill(12, 0);
    check_context(DEEPSEEK, &plan, PHASE_DECODE, &decode);
    check_context(DEEPSEEK, &plan, PHASE_PREFILL, &prefill);
}

// 12 tokens of a prompt on 3 ranks, each with tp 2.
static void test_host_lower_shares_a_prompt(void **state) {
    (void)state;
    Plan plan = lower_plans_make(2, 1, 3, 6);
    plan.pools[0].kind = POOL_PREFILL;
    plan.pools[0].dp = 1;
    plan.pools[0].cp = 3;
    StepShape whole = step_shape_prefill(12, 12), shape = step_shape_cp(&whole, 3);
    check_context(QWEN, &plan, PHASE_PREFILL, &shape);
}

// ---- Under a skewed load

#define EP 4 // ranks, with 32 of the 128 experts of Qwen3-235B each

static void fill_random(void *context, BufferId buffer, uint32_t rank, uint8_t *bytes,
                        uint64_t count) {
    (void)context;
    Rng rng;
    rng_seed(&rng, hash_u64(hash_u64(HASH_START, buffer), rank));
    for (uint64_t i = 0; i < count; i++) bytes[i] = (uint8_t)rng_next(&rng);
}

// The same schedule with slices as long as the job has them, so that nothing is cut short where it
// is looked at in one thread.
static Schedule with_room(const Job *job, Arena *arena) {
    Schedule schedule = *job->schedule;
    schedule.slices =
        arena_copy(arena, schedule.slices, schedule.slice_count, sizeof *schedule.slices);
    for (uint32_t i = 0; i < schedule.slice_count; i++)
        schedule.slices[i].bytes = extent_fixed(job->slices[i].count);
    return schedule;
}

// Nothing computes, so what is dispatched and combined is what the run began with.
static void check_routed(const Job *job, const InterpResult *result) {
    Arena arena = {0};
    Schedule schedule = with_room(job, &arena);
    uint32_t checked = 0;
    for (OpId id = 0; id < schedule.op_count; id++) {
        uint8_t **memory[EP];
        const Op *op = &schedule.ops[id];
        if (op->kind != OP_COLLECTIVE || op->comm.split == SPLIT_EVEN) continue;
        for (uint32_t rank = 0; rank < EP; rank++) {
            memory[rank] = arena_alloc(&arena, schedule.buffer_count, sizeof *memory[rank]);
            for (BufferId b = 0; b < schedule.buffer_count; b++) {
                memory[rank][b] = arena_alloc(&arena, result->size_B[b], 1);
                fill_random(NULL, b, rank, memory[rank][b], result->size_B[b]);
            }
        }
        oracle_collective(&schedule, id, &job->shape, job->load, 0,
                          (uint8_t *const *const *)memory);
        BufferId output = schedule.slices[job->sides[id].output].buffer;
        for (uint32_t rank = 0; rank < EP; rank++)
            assert_memory_equal(interp_buffer(result, output, rank), memory[rank][output],
                                result->size_B[output]);
        checked++;
    }
    assert_int_equal(checked, 2);
    arena_free(&arena);
}

// Tokens by expert fall as 1 / e, as those of a zipf law do: 75 % of the pairs are for rank 0, 3
// times an even share. Its experts get, and give back, what one thread makes of it.
static void test_host_lower_follows_a_skewed_load(void **state) {
    (void)state;
    uint64_t tokens[128];
    Arch arch = lower_plans_load(QWEN);
    Plan plan = lower_plans_make(1, 1, EP, EP);
    Schedule schedule = lower_plans_lower(&plan, &arch, PHASE_PREFILL, 1);
    StepShape shape = step_shape_prefill(5, 0);
    InterpResult result = {0};
    HostInit init = {.fill = fill_random};
    Load load = {0}, even = load_uniform();
    Job job, even_job;
    Err err = {0};
    for (uint32_t i = 0; i < 128; i++) tokens[i] = 1000000 / (i + 1);
    check_ok(load_of_counts(1, 1, 128, tokens, "test", &load, &err), &err);
    check_ok(host_run(&schedule, &shape, &load, &init, &result, &err), &err);
    check_ok(job_open(&schedule, &shape, &load, &job, &err), &err);
    check_ok(job_open(&schedule, &shape, &even, &even_job, &err), &err);
    check_routed(&job, &result);
    check_runs(&schedule, &result, &shape);
    for (OpId id = 0; id < schedule.op_count; id++) {
        const Op *op = &schedule.ops[id];
        if (op->op_class != OP_CLASS_EXPERTS) continue;
        BufferId output = schedule.slices[op->first_slice + op->slice_count - 1].buffer;
        assert_true(job.size_B[output] > 2 * even_job.size_B[output]);
    }
    interp_free(&result);
    job_close(&even_job);
    job_close(&job);
    load_free(&load);
    schedule_free(&schedule);
    arch_free(&arch);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_host_lower_decodes_deepseek),
        cmocka_unit_test(test_host_lower_prefills_qwen),
        cmocka_unit_test(test_host_lower_decodes_kimi_on_uneven_experts),
        cmocka_unit_test(test_host_lower_deals_a_cache),
        cmocka_unit_test(test_host_lower_shares_a_prompt),
        cmocka_unit_test(test_host_lower_follows_a_skewed_load),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
