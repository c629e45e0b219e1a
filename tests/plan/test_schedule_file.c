// The file form of schedules.
#include "tests/check.h"

#include "tests/plan/hand_schedule.h"

static Schedule parse(const Text *text) {
    Schedule schedule = {0};
    Err err = {0};
    check_ok(schedule_parse("s.json", text->data, text->length, &schedule, &err), &err);
    return schedule;
}

static void check_round_trip(Schedule *schedule) {
    Text first = {0}, second = {0};
    schedule_write(schedule, &first);
    Schedule again = parse(&first);
    schedule_write(&again, &second);
    assert_true(schedule->digest == again.digest);
    check_text_equals(text_string(&second), text_string(&first));
    text_free(&first);
    text_free(&second);
    schedule_free(&again);
    schedule_free(schedule);
}

static void test_schedule_file_round_trip(void **state) {
    (void)state;
    Schedule schedule;
    hand_ring(3, 2, &schedule);
    check_round_trip(&schedule);
    hand_experts(24, &schedule);
    check_round_trip(&schedule);
    hand_experts(24, &schedule);
    for (OpId id = 0; id < schedule.op_count; id++) {
        schedule.ops[id].comm.algorithm = ALGORITHM_HIERARCHICAL;
        schedule.ops[id].comm.inner = 4;
        schedule.ops[id].comm.rail_ppm = 453627;
    }
    schedule_finish(&schedule);
    check_round_trip(&schedule);
}

// One operation of each kind that computes, with every field set; numbers over 2^53, which JSON
// readers round, and a divisor.
static void test_schedule_file_keeps_every_field(void **state) {
    (void)state;
    Schedule schedule;
    Extent all = {UINT64_MAX, 2, 3, 4, UINT64_C(9007199254740993), 6, 7, 1, 3};
    Compute compute = {.m = all,
                       .n = 1,
                       .k = 2,
                       .batch = 3,
                       .weight_format = NUMFMT_FP4,
                       .math_format = NUMFMT_FP8,
                       .experts = 4,
                       .experts_total = 9,
                       .first_expert = 5,
                       .expert_sharers = 2,
                       .moe_layer = 6,
                       .flop = all,
                       .bytes = all};
    const OpKind kinds[] = {OP_GEMM, OP_GROUPED_GEMM, OP_ATTENTION, OP_MEMORY, OP_COPY};
    schedule_init(&schedule, "all \"fields\"", 1);
    RankSet ranks = {.count = 1, .repeat = 1};
    RoleId role = schedule_add_role(&schedule, "all", ranks, 1);
    BlockId block = schedule_add_block(&schedule, role, "layer");
    for (uint32_t i = 0; i < 5; i++) {
        Op op = {.kind = kinds[i], .op_class = (OpClass)i, .name = "op", .compute = compute};
        schedule_add_op(&schedule, &op);
        if (i > 0) schedule_add_wait(&schedule, i - 1);
    }
    schedule_add_segment(&schedule, role, block, 4);
    schedule_finish(&schedule);
    check_round_trip(&schedule);
}

// SMs that a collective takes, and parts of the tokens; 0 and 1 parts are not written.
static void test_schedule_file_keeps_sms_and_parts(void **state) {
    (void)state;
    Schedule schedule;
    Text text = {0};
    hand_experts(24, &schedule);
    Digest before = schedule.digest;
    schedule.ops[0].comm.sms = 20;
    schedule.ops[0].comm.bytes = (Extent){.fixed = 96, .part = 1, .parts = 2};
    schedule.ops[1].comm.bytes.parts = 1;
    schedule_finish(&schedule);
    schedule_write(&schedule, &text);
    Schedule again = parse(&text);
    assert_true(again.digest != before);
    assert_int_equal(again.ops[0].comm.sms, 20);
    assert_int_equal(again.ops[1].comm.sms, 0);
    assert_true(extent_equals(&again.ops[0].comm.bytes, &schedule.ops[0].comm.bytes));
    assert_int_equal(again.ops[1].comm.bytes.parts, 0);
    schedule_free(&again);
    text_free(&text);
    check_round_trip(&schedule);
}

static void test_schedule_file_is_stable(void **state) {
    (void)state;
    Schedule schedule;
    Text text = {0};
    hand_ring(3, 2, &schedule);
    schedule_write(&schedule, &text);
    check_golden(text_string(&text), "tests/golden/schedule_ring.json");
    text_free(&text);
    schedule_free(&schedule);
}

// The golden file with one change.
static void check_change(const char *from, const char *to, const char *message) {
    Arena arena = {0};
    Err err = {0};
    Schedule schedule = {0};
    Text text = {0};
    char *bytes;
    size_t count;
    check_ok(file_read("tests/golden/schedule_ring.json", FILE_CAP_B, &arena, &bytes, &count, &err),
             &err);
    char *at = strstr(bytes, from);
    assert_non_null(at);
    text_add_bytes(&text, bytes, (size_t)(at - bytes));
    text_add(&text, to);
    text_add(&text, at + strlen(from));
    check_fails(schedule_parse("s.json", text.data, text.length, &schedule, &err), &err, message);
    text_free(&text);
    arena_free(&arena);
}

static void test_schedule_file_refuses_what_is_wrong(void **state) {
    (void)state;
    check_change("\"version\": 1", "\"version\": 2",
                 "s.json:3:14: version: schedule format 2 is newer than this program, which reads "
                 "up to 1");
    check_change("\"passes\": 3", "\"passes\": 3, \"lag\": 1",
                 "s.json:10:20: roles[0]: unknown key \"lag\"");
    check_change("\"ranks\": 4", "\"ranks\": 5", "s.json: rank 4 is in no role");
    check_change("\"ranks\": 4", "\"ranks\": 4000000000",
                 "s.json: 4000000000 ranks, expected 1 to 1048576");
    check_change("\"first\": 1", "\"first\": 0",
                 "s.json: rank 0 is in the roles \"stage 0\" and \"stage 1\"");
    check_change("\"block\": 0", "\"block\": 9",
                 "s.json: role \"stage 0\": segment 0: there is no "
                 "block 9");
    check_change("\"peer\": 3", "\"peer\": 7",
                 "s.json: role \"stage 0\", block \"turn\", operation \"receive\": there is no "
                 "other role 7");
    check_change("\"bytes\": 4", "\"bytes\": {\"per_token\": 4, \"part\": 2, \"parts\": 2}",
                 "s.json:42:101: buffers[0].bytes.part: expected a number below 2, found 2");
    check_change("\"bytes\": 4", "\"bytes\": {\"per_token\": 4, \"part\": 0, \"parts\": 65}",
                 "s.json:42:113: buffers[0].bytes.parts: expected 2 to 64, found 65");
    check_change("\"bytes\": 4", "\"bytes\": {\"per_token\": 4, \"part\": 0}",
                 "s.json:42:76: buffers[0].bytes: missing \"parts\"");
    check_change("\"write\": 0", "\"write\": 2",
                 "s.json: role \"stage 0\", block \"turn\", operation \"receive\": slice 0: buffer "
                 "\"token\" belongs to another role");
    check_change("\"write\": 0", "\"right\": 0",
                 "s.json:56:144: blocks[0].ops[0].slices[0]: expected one of \"read\", \"write\" "
                 "and \"add\", found 0");
    check_change("\"op\": \"recv\"", "\"op\": \"receive\"",
                 "s.json:56:16: blocks[0].ops[0].op: expected one of \"gemm\", \"grouped-gemm\", "
                 "\"attention\", \"memory\", \"copy\", \"send\", \"recv\", \"collective\", found "
                 "\"receive\"");
    check_change("\"stream\": 0", "\"stream\": 8",
                 "s.json: role \"stage 0\", block \"turn\", operation \"receive\": stream 8, at "
                 "most 7");
}

static void test_schedule_file_refuses_a_folder(void **state) {
    (void)state;
    Schedule schedule = {0};
    Err err = {0};
    check_fails(schedule_read("tests/golden", &schedule, &err), &err,
                "tests/golden: is a directory, expected a file");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schedule_file_round_trip),
        cmocka_unit_test(test_schedule_file_keeps_every_field),
        cmocka_unit_test(test_schedule_file_keeps_sms_and_parts),
        cmocka_unit_test(test_schedule_file_is_stable),
        cmocka_unit_test(test_schedule_file_refuses_what_is_wrong),
        cmocka_unit_test(test_schedule_file_refuses_a_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
