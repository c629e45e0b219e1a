// What lowered operations say that they compute, and the format of what lies between them.
#include "tests/check.h"

#include "tests/plan/lower_plans.h"

#define MIXTRAL "scenarios/models/mixtral-8x7b.json"
#define F32_MODEL                                                                                  \
    "{\"model_type\":\"mixtral\",\"torch_dtype\":\"float32\",\"hidden_size\":64,"                  \
    "\"num_hidden_layers\":2,\"num_attention_heads\":4,\"num_key_value_heads\":2,"                 \
    "\"intermediate_size\":32,\"num_local_experts\":4,\"num_experts_per_tok\":2,"                  \
    "\"vocab_size\":100,\"max_position_embeddings\":64,\"tie_word_embeddings\":false}"

static bool computes(const Op *op) {
    return !schedule_op_is_comm(op->kind) && op->kind != OP_COPY;
}

static uint32_t count_without_work(const Schedule *schedule) {
    uint32_t count = 0;
    for (OpId id = 0; id < schedule->op_count; id++) {
        const Op *op = &schedule->ops[id];
        if (!computes(op)) assert_int_equal(op->compute.work, WORK_NONE);
        count += computes(op) && op->compute.work == WORK_NONE;
    }
    return count;
}

static uint32_t without_work(const char *model, const Plan *plan, Phase phase) {
    Arch arch = lower_plans_load(model);
    Schedule schedule = lower_plans_lower(plan, &arch, phase, 1);
    uint32_t count = count_without_work(&schedule);
    schedule_free(&schedule);
    arch_free(&arch);
    return count;
}

// All routings and overlaps of the kinds that exec/forward.h runs.
static void test_lower_work_is_said_of_every_kernel(void **state) {
    (void)state;
    static const char *const models[] = {QWEN, DEEPSEEK, MIXTRAL};
    Plan plans[] = {lower_plans_make(1, 1, 1, 1), lower_plans_make(2, 1, 1, 2),
                    lower_plans_make(2, 2, 2, 4), lower_plans_make(1, 1, 4, 4),
                    lower_plans_make(2, 1, 2, 4), lower_plans_make(1, 1, 4, 2)};
    for (uint32_t i = 0; i < 6; i++) plans[i].pools[0].dispatch_format = NUMFMT_BF16;
    plans[2].pools[0].prefill_overlap = plans[2].pools[0].decode_overlap = OVERLAP_TWO_BATCH;
    plans[3].pools[0].moe_chunks = 3;
    plans[4].pools[0].moe_comm = MOE_COMM_GATHER;
    for (uint32_t i = 0; i < 3; i++)
        for (uint32_t j = 0; j < 6; j++) {
            assert_int_equal(without_work(models[i], &plans[j], PHASE_PREFILL), 0);
            assert_int_equal(without_work(models[i], &plans[j], PHASE_DECODE), 0);
        }
}

// The recurrences of KDA have none, so that a back end refuses them by name.
static void test_lower_work_is_not_said_of_what_no_kernel_does(void **state) {
    (void)state;
    Plan plan = lower_plans_make(1, 1, 1, 1);
    assert_true(without_work(KIMI, &plan, PHASE_DECODE) > 0);
}

// The second batch of a layer with experts ends in the block of the next layer: what ends it is of
// the layer before.
static void test_lower_work_of_an_open_batch_is_of_the_layer_before(void **state) {
    (void)state;
    Arch arch = lower_plans_load(QWEN);
    Plan plan = lower_plans_make(1, 1, 4, 4);
    plan.pools[0].decode_overlap = OVERLAP_TWO_BATCH;
    Schedule schedule = lower_plans_lower(&plan, &arch, PHASE_DECODE, 1);
    uint32_t sums = 0, norms = 0;
    for (OpId id = 0; id < schedule.op_count; id++) {
        const Op *op = &schedule.ops[id];
        if (op->compute.layers_back == 0) continue;
        assert_int_equal(op->compute.layers_back, 1);
        assert_int_equal(op->compute.bytes.part, 1);
        sums += op->compute.work == WORK_WEIGHTED_SUM;
        norms += op->compute.work == WORK_NEXT_NORM;
    }
    // 94 equal layers are two blocks: the first, with nothing before it, and the others; then the
    // head's block
    assert_int_equal(sums, 2);
    assert_int_equal(norms, 2);
    schedule_free(&schedule);
    arch_free(&arch);
}

// Between kernels of a model of f32 lie 4 bytes an element, also where the plan says bf16; what a
// plan says otherwise stays.
static void test_lower_work_formats_follow_the_model(void **state) {
    (void)state;
    Err err = {0};
    ArchInput input = {.name = "small", .bytes = F32_MODEL, .count = strlen(F32_MODEL)};
    Arch arch = {0};
    check_ok(arch_parse(&input, &arch, &err), &err);
    Plan plan = lower_plans_make(1, 1, 2, 2);
    for (uint32_t fp8 = 0; fp8 < 2; fp8++) {
        plan.pools[0].dispatch_format = fp8 ? NUMFMT_FP8 : NUMFMT_BF16;
        Schedule schedule = lower_plans_lower(&plan, &arch, PHASE_PREFILL, 1);
        for (BufferId id = 0; id < schedule.buffer_count; id++)
            assert_int_equal(schedule.buffers[id].format, NUMFMT_F32);
        for (OpId id = 0; id < schedule.op_count; id++) {
            const Op *op = &schedule.ops[id];
            if (op->kind != OP_COLLECTIVE) continue;
            bool narrow = fp8 && op->comm.split == SPLIT_BY_DESTINATION;
            assert_int_equal(op->comm.format, narrow ? NUMFMT_FP8 : NUMFMT_F32);
            assert_int_equal(op->comm.element, narrow ? 64 : 4 * 64); // a token
        }
        schedule_free(&schedule);
    }
    arch_free(&arch);
}

// Kept by the file form, and part of the digest.
static void test_lower_work_is_written_and_read(void **state) {
    (void)state;
    Err err = {0};
    Arch arch = lower_plans_load(DEEPSEEK);
    Plan plan = lower_plans_make(1, 1, 4, 4);
    plan.pools[0].decode_overlap = OVERLAP_TWO_BATCH;
    Schedule schedule = lower_plans_lower(&plan, &arch, PHASE_DECODE, 1), again = {0};
    Text text = {0};
    schedule_write(&schedule, &text);
    check_ok(schedule_parse("again", text_string(&text), text.length, &again, &err), &err);
    assert_int_equal(again.digest, schedule.digest);
    for (OpId id = 0; id < schedule.op_count; id++) {
        assert_int_equal(again.ops[id].compute.work, schedule.ops[id].compute.work);
        assert_int_equal(again.ops[id].compute.layers_back, schedule.ops[id].compute.layers_back);
    }
    OpId first = 0;
    while (!computes(&schedule.ops[first])) first++;
    again.ops[first].compute.work = WORK_NONE;
    schedule_finish(&again);
    assert_int_not_equal(again.digest, schedule.digest);
    text_free(&text);
    schedule_free(&again);
    schedule_free(&schedule);
    arch_free(&arch);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lower_work_is_said_of_every_kernel),
        cmocka_unit_test(test_lower_work_is_not_said_of_what_no_kernel_does),
        cmocka_unit_test(test_lower_work_of_an_open_batch_is_of_the_layer_before),
        cmocka_unit_test(test_lower_work_formats_follow_the_model),
        cmocka_unit_test(test_lower_work_is_written_and_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
