// Lowered plans that overlap: which operations stand in which order on which stream, and what they
// wait for.
#include "tests/check.h"

#include "tests/plan/lower_plans.h"

static const Extent *size_of(const Op *op) {
    if (op->kind == OP_COLLECTIVE) return &op->comm.bytes;
    return op->kind == OP_GEMM || op->kind == OP_GROUPED_GEMM ? &op->compute.m : &op->compute.bytes;
}

// The names of a block's operations on one stream, each with its part of the tokens.
static void list_stream(const Schedule *schedule, BlockId block, uint32_t stream, Text *out) {
    const Block *owner = &schedule->blocks[block];
    for (OpId id = owner->first_op; id < owner->first_op + owner->op_count; id++) {
        const Op *op = &schedule->ops[id];
        if (op->stream != stream) continue;
        text_addf(out, "%s%s", out->length > 0 ? " " : "", op->name);
        if (size_of(op)->parts > 1) text_addf(out, "/%u", size_of(op)->part);
    }
}

static void check_stream(const Schedule *schedule, BlockId block, uint32_t stream,
                         const char *want) {
    Text text = {0};
    list_stream(schedule, block, stream, &text);
    check_text_equals(text_string(&text), want);
    text_free(&text);
}

static OpId find_part(const Schedule *schedule, BlockId block, const char *name, uint32_t part) {
    const Block *owner = &schedule->blocks[block];
    for (OpId id = owner->first_op; id < owner->first_op + owner->op_count; id++) {
        const Op *op = &schedule->ops[id];
        if (strcmp(op->name, name) == 0 && size_of(op)->part == part) return id;
    }
    fail_msg("no operation \"%s\" of part %u in block %u", name, (unsigned)part, (unsigned)block);
    return SCHEDULE_NONE;
}

// The waits of an operation, as its list says.
static void check_waits(const Schedule *schedule, OpId id, const OpId *want, uint32_t count) {
    const Op *op = &schedule->ops[id];
    assert_int_equal(op->wait_count, count);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(schedule->waits[op->first_wait + i], want[i]);
}

static Schedule lower(const Arch *arch, Overlap overlap, uint32_t chunks) {
    Plan plan = lower_plans_make(1, 1, 8, 8);
    plan.pools[0].prefill_overlap = plan.pools[0].decode_overlap = overlap;
    plan.pools[0].moe_chunks = chunks;
    return lower_plans_lower(&plan, arch, PHASE_DECODE, 1);
}

#define ATTEND0                                                                                    \
    "qkv_proj/0 rope_and_cache/0 attention/0 o_proj/0 mlp_norm/0 router/0 top_k/0 permute/0"
#define ATTEND1                                                                                    \
    "qkv_proj/1 rope_and_cache/1 attention/1 o_proj/1 mlp_norm/1 router/1 top_k/1 permute/1"
#define EXPERTS0 "experts_gate_up/0 experts_activation/0 experts_down/0"
#define EXPERTS1 "experts_gate_up/1 experts_activation/1 experts_down/1"
#define END0     "weighted_sum/0 attention_norm/0"
#define END1     "weighted_sum/1 attention_norm/1"

// Qwen3-235B: 94 layers with experts, none shared. The second half of a layer ends in the block of
// the next, so the first layer has a block of its own, and the head begins with that of the last.
static void test_lower_overlap_halves_alternate(void **state) {
    (void)state;
    Arch arch = lower_plans_load(QWEN);
    Schedule schedule = lower(&arch, OVERLAP_TWO_BATCH, 0);
    assert_int_equal(schedule.block_count, 4);
    assert_int_equal(schedule.segments[1].repeat, 1);
    assert_int_equal(schedule.segments[2].repeat, 93);
    check_stream(&schedule, 0, LOWER_STREAM_COMPUTE,
                 "embedding/0 input_norm/0 embedding/1 input_norm/1");
    check_stream(&schedule, 1, LOWER_STREAM_COMPUTE,
                 ATTEND0 " " ATTEND1 " " EXPERTS0 " " EXPERTS1 " " END0);
    check_stream(&schedule, 2, LOWER_STREAM_COMPUTE,
                 ATTEND0 " " END1 " " ATTEND1 " " EXPERTS0 " " EXPERTS1 " " END0);
    check_stream(&schedule, 3, LOWER_STREAM_COMPUTE, END1 " lm_head sample");
    for (BlockId block = 1; block <= 2; block++)
        check_stream(&schedule, block, LOWER_STREAM_COMM,
                     "dispatch/0 dispatch/1 combine/0 combine/1");
    schedule_free(&schedule);
    arch_free(&arch);
}

// What ends the second half waits for what brings it back, in the block of the first layer or in
// that of the others; the first half waits in its own block.
static void test_lower_overlap_second_half_waits_across_blocks(void **state) {
    (void)state;
    Arch arch = lower_plans_load(QWEN);
    Schedule schedule = lower(&arch, OVERLAP_TWO_BATCH, 0);
    const OpId second[] = {find_part(&schedule, 1, "combine", 1),
                           find_part(&schedule, 2, "combine", 1)};
    check_waits(&schedule, find_part(&schedule, 2, "weighted_sum", 1), second, 2);
    check_waits(&schedule, find_part(&schedule, 3, "weighted_sum", 1), second, 2);
    const OpId first = find_part(&schedule, 2, "combine", 0);
    check_waits(&schedule, find_part(&schedule, 2, "weighted_sum", 0), &first, 1);
    schedule_free(&schedule);
    arch_free(&arch);
}

// DeepSeek-V3: 3 dense layers, which leave nothing open, then 58 with experts. Of 37 sequences the
// halves have 19 and 18: 19 x 8 and 18 x 8 pairs of 7168 bytes leave a rank; the shared experts of
// each half stand before its routed ones. The head sees all 37.
static void test_lower_overlap_halves_of_an_odd_number(void **state) {
    (void)state;
    Arch arch = lower_plans_load(DEEPSEEK);
    Schedule schedule = lower(&arch, OVERLAP_TWO_BATCH, 0);
    StepShape shape = step_shape_decode(37, 4096);
    assert_int_equal(schedule.block_count, 5); // ends, dense, first and other layers with experts
    static const uint32_t repeats[] = {1, 3, 1, 57, 1};
    for (uint32_t i = 0; i < 5; i++) assert_int_equal(schedule.segments[i].repeat, repeats[i]);
    const Op *a = &schedule.ops[find_part(&schedule, 3, "dispatch", 0)];
    const Op *b = &schedule.ops[find_part(&schedule, 3, "dispatch", 1)];
    assert_int_equal(extent_value(&a->comm.bytes, &shape), 19 * 8 * 7168);
    assert_int_equal(extent_value(&b->comm.bytes, &shape), 18 * 8 * 7168);
    Text text = {0};
    list_stream(&schedule, 3, LOWER_STREAM_COMPUTE, &text);
    assert_non_null(strstr(text_string(&text),
                           "shared_gate_up/0 shared_activation/0 shared_down/0 " EXPERTS0
                           " shared_gate_up/1"));
    text_free(&text);
    for (OpId id = 0; id < schedule.op_count; id++)
        if (strcmp(schedule.ops[id].name, "lm_head") == 0)
            assert_int_equal(extent_value(&schedule.ops[id].compute.m, &shape), 37);
    schedule_free(&schedule);
    arch_free(&arch);
}

// Three chunks: all are sent before the experts begin, and return as they are done.
static void test_lower_overlap_chunks_are_sent_first(void **state) {
    (void)state;
    Arch arch = lower_plans_load(QWEN);
    Schedule schedule = lower(&arch, OVERLAP_SHARED, 3);
    check_stream(&schedule, 1, LOWER_STREAM_COMPUTE,
                 "qkv_proj rope_and_cache attention o_proj mlp_norm router top_k permute/0 "
                 "permute/1 permute/2 experts_gate_up/0 experts_activation/0 experts_down/0 "
                 "experts_gate_up/1 experts_activation/1 experts_down/1 experts_gate_up/2 "
                 "experts_activation/2 experts_down/2 weighted_sum attention_norm");
    check_stream(&schedule, 1, LOWER_STREAM_COMM,
                 "dispatch/0 dispatch/1 dispatch/2 combine/0 combine/1 combine/2");
    StepShape shape = step_shape_decode(8, 100); // 3, 3 and 2 tokens to 8 experts each, 4096 bytes
    const Op *last = &schedule.ops[find_part(&schedule, 1, "dispatch", 2)];
    assert_int_equal(extent_value(&last->comm.bytes, &shape), 2 * 8 * 4096);
    schedule_free(&schedule);
    arch_free(&arch);
}

// Without overlap all that moves stands on the compute stream.
static void test_lower_overlap_none_has_one_stream(void **state) {
    (void)state;
    Arch arch = lower_plans_load(DEEPSEEK);
    Schedule schedule = lower(&arch, OVERLAP_NONE, 0);
    assert_int_equal(schedule.stream_count, 1);
    schedule_free(&schedule);
    arch_free(&arch);
}

// SMs are those of the phase, and only where routed tokens move.
static void test_lower_overlap_sms_are_of_the_phase(void **state) {
    (void)state;
    Arch arch = lower_plans_load(DEEPSEEK);
    Plan plan = lower_plans_make(4, 1, 2, 8);
    plan.pools[0].prefill_sms = 20;
    for (uint32_t i = 0; i < 2; i++) {
        Schedule schedule =
            lower_plans_lower(&plan, &arch, i == 0 ? PHASE_PREFILL : PHASE_DECODE, 1);
        for (OpId id = 0; id < schedule.op_count; id++) {
            const Op *op = &schedule.ops[id];
            bool moves = op->kind == OP_COLLECTIVE && op->comm.collective == COLLECTIVE_ALL_TO_ALL;
            assert_int_equal(op->comm.sms, i == 0 && moves ? 20 : 0);
        }
        schedule_free(&schedule);
    }
    arch_free(&arch);
}

// Halves read every weight twice but hold half of the tokens at a time in most buffers: what is
// live is what a step in one piece holds, and what waits for the next layer.
static void test_lower_overlap_memory_of_halves(void **state) {
    (void)state;
    Arch arch = lower_plans_load(QWEN);
    Schedule whole = lower(&arch, OVERLAP_SHARED, 0), halves = lower(&arch, OVERLAP_TWO_BATCH, 0);
    StepShape shape = step_shape_decode(64, 100);
    uint64_t one = schedule_peak_B(&whole, 0, &shape), two = schedule_peak_B(&halves, 0, &shape);
    // routes of 32 tokens x 8 x 8 B and what comes back of them, 32 x 8 x 4096 x 2 B
    assert_true(two >= one / 2 + 32 * 8 * 8 + 32 * 8 * 4096 * 2);
    assert_true(two < 2 * one);
    schedule_free(&whole);
    schedule_free(&halves);
    arch_free(&arch);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lower_overlap_halves_alternate),
        cmocka_unit_test(test_lower_overlap_second_half_waits_across_blocks),
        cmocka_unit_test(test_lower_overlap_halves_of_an_odd_number),
        cmocka_unit_test(test_lower_overlap_chunks_are_sent_first),
        cmocka_unit_test(test_lower_overlap_none_has_one_stream),
        cmocka_unit_test(test_lower_overlap_sms_are_of_the_phase),
        cmocka_unit_test(test_lower_overlap_memory_of_halves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
