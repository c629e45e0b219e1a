// The file of a timeline: from a Timeline and back, and what the reader refuses.
#include "tests/check.h"

#include "model/report/timeline_file.h"

// One role of two ranks: a gemm that runs twice, then a ring all-reduce.
static void build_schedule(Schedule *schedule) {
    schedule_init(schedule, "example", 2);
    RoleId role = schedule_add_role(schedule, "all", (RankSet){0, 2, 2, 1}, 1);
    BlockId block = schedule_add_block(schedule, role, "layer");
    Op gemm = {.kind = OP_GEMM, .op_class = OP_CLASS_PROJECTION, .name = "up", .stream = 0};
    Op sum = {.kind = OP_COLLECTIVE,
              .op_class = OP_CLASS_TP_COMM,
              .name = "sum",
              .stream = 1,
              .comm = {.collective = COLLECTIVE_ALL_REDUCE, .algorithm = ALGORITHM_RING}};
    schedule_add_op(schedule, &gemm);
    schedule_add_op(schedule, &sum);
    schedule_add_segment(schedule, role, block, 2);
    schedule_finish(schedule);
}

// Spans as the run went; the file has them by operation, member and time.
static void build(Schedule *schedule, TimelineFile *out) {
    const TimelineMember members[] = {{0, 0, 1}, {0, 1, 1}};
    const Span spans[] = {{0, 1, 0, 0, 0, 7},   {0, 0, 0, 0, 0, 5},  {0, 0, 0, 1, 5, 9},
                          {0, 1, 0, 1, 7, 9},   {1, 0, 0, 0, 5, 11}, {1, 1, 0, 0, 7, 11},
                          {1, 0, 0, 1, 11, 12}, {1, 1, 0, 1, 11, 12}};
    const LinkClass links[] = {LINK_CLASS_COUNT, LINK_ETH};
    const TimelineFileWork works[] = {TIMELINE_FILE_SKIPPED, TIMELINE_FILE_MEASURED};
    Timeline timeline = {.maker = "host", .end_ps = 12, .form = TIMELINE_EXPANDED};
    Err err = {0};
    build_schedule(schedule);
    timeline.schedule = schedule->digest;
    timeline.op_count = schedule->op_count;
    timeline.member_count = 2;
    timeline.members = arena_copy(&timeline.arena, members, 2, sizeof *members);
    timeline.span_count = 8;
    timeline.spans = arena_copy(&timeline.arena, spans, 8, sizeof *spans);
    TimelineFileFacts facts = {
        .machine = "here", .device = "CPU core", .works = works, .links = links};
    check_ok(timeline_file_build(&timeline, schedule, &facts, out, &err), &err);
    timeline_free(&timeline);
}

static void test_timeline_file_is_ordered_by_operation(void **state) {
    (void)state;
    Schedule schedule = {0};
    TimelineFile file = {0};
    build(&schedule, &file);
    assert_int_equal(file.span_count, 8);
    const TimelineFileSpan want[] = {{0, 0, 0, 5},  {0, 0, 5, 9},   {0, 1, 0, 7},  {0, 1, 7, 9},
                                     {1, 0, 5, 11}, {1, 0, 11, 12}, {1, 1, 7, 11}, {1, 1, 11, 12}};
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(file.spans[i].op, want[i].op);
        assert_int_equal(file.spans[i].member, want[i].member);
        assert_int_equal(file.spans[i].start_ps, want[i].start_ps);
        assert_int_equal(file.spans[i].end_ps, want[i].end_ps);
    }
    assert_string_equal(file.device, "CPU core");
    assert_string_equal(file.ops[0].implementation, "gemm");
    assert_string_equal(file.ops[1].implementation, "all-reduce ring");
    timeline_file_free(&file);
    schedule_free(&schedule);
}

static void test_timeline_file_reads_back(void **state) {
    (void)state;
    Schedule schedule = {0};
    TimelineFile file = {0}, again = {0};
    Text first = {0}, second = {0};
    Err err = {0};
    build(&schedule, &file);
    timeline_file_write(&file, &first);
    check_golden(text_string(&first), "tests/golden/timeline_file.json");
    check_ok(timeline_file_parse("t", first.data, first.length, &again, &err), &err);
    timeline_file_write(&again, &second);
    check_text_equals(text_string(&second), text_string(&first));
    text_free(&first);
    text_free(&second);
    timeline_file_free(&again);
    timeline_file_free(&file);
    schedule_free(&schedule);
}

// A file need not say its device, and is written back without.
static void test_timeline_file_may_say_no_device(void **state) {
    (void)state;
    Schedule schedule = {0};
    TimelineFile file = {0}, again = {0};
    Text text = {0};
    Err err = {0};
    build(&schedule, &file);
    file.device = "";
    timeline_file_write(&file, &text);
    assert_null(strstr(text_string(&text), "\"device\""));
    check_ok(timeline_file_parse("t", text.data, text.length, &again, &err), &err);
    assert_string_equal(again.device, "");
    text_free(&text);
    timeline_file_free(&again);
    timeline_file_free(&file);
    schedule_free(&schedule);
}

// The golden file with one text replaced by another.
static void refuses(const char *old, const char *new, const char *message) {
    Arena arena = {0};
    Err err = {0};
    TimelineFile file = {0};
    char *text = NULL;
    size_t count = 0;
    check_ok(file_read("tests/golden/timeline_file.json", FILE_CAP_B, &arena, &text, &count, &err),
             &err);
    const char *at = strstr(text, old);
    assert_non_null(at);
    char *changed = arena_printf(&arena, "%.*s%s%s", (int)(at - text), text, new, at + strlen(old));
    check_fails(timeline_file_parse("t", changed, strlen(changed), &file, &err), &err, message);
    arena_free(&arena);
}

static void test_timeline_file_refuses_what_cannot_be(void **state) {
    (void)state;
    refuses("\"version\": 1", "\"version\": 2",
            "t:3:14: version: timeline format 2 is newer than this program, which reads up to 1");
    refuses("[0, 0, 0, 5]", "[2, 0, 0, 5]",
            "t:24:6: spans[0][0]: expected an operation below 2, "
            "found 2");
    refuses("[0, 0, 0, 5]", "[0, 2, 0, 5]",
            "t:24:9: spans[0][1]: expected a member below 2, "
            "found 2");
    refuses("[0, 0, 0, 5]", "[0, 0, 6, 5]",
            "t:24:5: spans[0]: expected start <= end <= 12, found "
            "6 and 5");
    refuses("[0, 0, 0, 5]", "[0, 0, 0, 13]",
            "t:24:5: spans[0]: expected start <= end <= 12, "
            "found 0 and 13");
    refuses("[0, 0, 0, 5]", "[0, 0, 0]",
            "t:24:5: spans[0]: expected [operation, member, start, "
            "end]");
    refuses("[0, 0, 5, 9]", "[0, 0, 4, 9]",
            "t:25:5: spans[1]: expected spans in order of operation, member and time, the "
            "instances of one operation on one member one after another");
    refuses("\"ranks\": 1", "\"ranks\": 0",
            "t:16:5: members[0]: expected 1 to 1048576 ranks from below 1048576 on, found 0 from "
            "0 on");
    refuses("\"first_rank\": 1", "\"first_rank\": 0",
            "t:17:5: members[1]: expected one member for each rank in order, found rank 0 after 0");
    refuses("\"device\": \"CPU core\"", "\"device\": 1",
            "t:6:13: device: expected a string, found 1");
    refuses("{\"role\": 0", "{\"role\": 2",
            "t:16:14: members[0].role: expected a role below 2, found 2");
    refuses("\"load_digest\": \"0", "\"load_digest\": \"x",
            "t:10:18: load_digest: expected 16 lower-case hexadecimal digits, found "
            "\"x000000000000000\"");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timeline_file_is_ordered_by_operation),
        cmocka_unit_test(test_timeline_file_reads_back),
        cmocka_unit_test(test_timeline_file_may_say_no_device),
        cmocka_unit_test(test_timeline_file_refuses_what_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
