// A timeline of two roles with three operations, built by hand: what the export says, what the
// digest sees.
#include "tests/check.h"

#include "model/base/json.h"
#include "model/report/timeline.h"

// Role "front" computes on stream 0, role "back" receives on stream 1 and computes on stream 0.
typedef struct Example {
    Schedule schedule;
    Timeline timeline;
} Example;

static OpId add_op(Schedule *schedule, const char *name, OpKind kind, OpClass op_class,
                   uint32_t stream) {
    Op op = {.kind = kind, .op_class = op_class, .name = name, .stream = stream};
    return schedule_add_op(schedule, &op);
}

static void build_schedule(Schedule *schedule) {
    schedule_init(schedule, "example", 3);
    RoleId front = schedule_add_role(schedule, "front", (RankSet){0, 1, 1, 1}, 1);
    BlockId first = schedule_add_block(schedule, front, "layer");
    add_op(schedule, "q \"proj\"", OP_GEMM, OP_CLASS_PROJECTION, 0);
    schedule_add_segment(schedule, front, first, 1);
    RoleId back = schedule_add_role(schedule, "back", (RankSet){1, 2, 2, 1}, 1);
    BlockId second = schedule_add_block(schedule, back, "tail");
    add_op(schedule, "hidden", OP_RECV, OP_CLASS_PIPELINE, 1);
    add_op(schedule, "head", OP_GEMM, OP_CLASS_HEAD, 0);
    schedule_add_segment(schedule, back, second, 1);
    schedule_finish(schedule);
}

static void build(Example *example) {
    *example = (Example){0};
    build_schedule(&example->schedule);
    Timeline *timeline = &example->timeline;
    timeline->maker = "a test";
    timeline->schedule = example->schedule.digest;
    timeline->end_ps = 4000001;
    timeline->member_count = 2;
    timeline->op_count = 3;
    const TimelineMember members[] = {{0, 0, 1}, {1, 1, 2}};
    timeline->members = arena_copy(&timeline->arena, members, 2, sizeof *members);
    timeline->totals = arena_alloc(&timeline->arena, 6, sizeof *timeline->totals);
    timeline->totals[0].price.flop = 77;
    timeline->totals[4].bytes = 1024;
    timeline->round_count = 1;
    timeline->round_ps = arena_alloc(&timeline->arena, 1, sizeof *timeline->round_ps);
    timeline->round_ps[0] = 4000001;
    const Span spans[] = {
        {0, 0, 0, 0, 0, 1500000}, {1, 1, 0, 0, 1500000, 2000000}, {2, 1, 0, 0, 2000000, 4000001}};
    timeline->span_count = 3;
    timeline->spans = arena_copy(&timeline->arena, spans, 3, sizeof *spans);
}

static void release(Example *example) {
    timeline_free(&example->timeline);
    schedule_free(&example->schedule);
}

// 1 500 000 ps are 1.5 us; 4 000 001 - 2 000 000 ps are 2.000001 us: no digit is lost.
static void test_timeline_chrome_is_exact_to_the_picosecond(void **state) {
    (void)state;
    Example example;
    build(&example);
    Text text = {0};
    timeline_write_chrome(&example.timeline, &example.schedule, &text);
    check_text_equals(
        text_string(&text),
        "[\n"
        "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":0,\"tid\":0,\"args\":{\"name\":\"front (1 "
        "ranks)\"}},\n"
        "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":0,\"tid\":0,\"args\":{\"name\":\"compute\"}"
        "},\n"
        "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":0,\"tid\":1,\"args\":{\"name\":"
        "\"transfers\"}},\n"
        "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,\"tid\":0,\"args\":{\"name\":\"back (2 "
        "ranks)\"}},\n"
        "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":0,\"args\":{\"name\":\"compute\"}"
        "},\n"
        "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":1,\"args\":{\"name\":"
        "\"transfers\"}},\n"
        "{\"name\":\"q \\\"proj\\\"\",\"cat\":\"attention projections\",\"ph\":\"X\",\"pid\":0,"
        "\"tid\":0,\"ts\":0.000000,\"dur\":1.500000,\"args\":{\"block\":\"layer\",\"pass\":0,"
        "\"iteration\":0,\"bytes\":0,\"flop\":77}},\n"
        "{\"name\":\"hidden\",\"cat\":\"pipeline transfer\",\"ph\":\"X\",\"pid\":1,\"tid\":1,"
        "\"ts\":1.500000,\"dur\":0.500000,\"args\":{\"block\":\"tail\",\"pass\":0,\"iteration\":0,"
        "\"bytes\":1024,\"flop\":0}},\n"
        "{\"name\":\"head\",\"cat\":\"head and sampling\",\"ph\":\"X\",\"pid\":1,\"tid\":0,\"ts\":"
        "2.000000,\"dur\":2.000001,\"args\":{\"block\":\"tail\",\"pass\":0,\"iteration\":0,"
        "\"bytes\":0,\"flop\":0}}\n"
        "]\n");
    text_free(&text);
    release(&example);
}

// The strict reader accepts the trace; complete events of one thread do not overlap.
static void test_timeline_chrome_is_valid_json(void **state) {
    (void)state;
    Example example;
    build(&example);
    Text text = {0};
    timeline_write_chrome(&example.timeline, &example.schedule, &text);
    Json json = {0};
    Err err = {0};
    check_ok(json_parse("trace", text.data, text.length, &json, &err), &err);
    JsonNode root = json_root(&json);
    assert_int_equal(json_count(root), 6 + 3); // names of 2 members with 2 streams each, 3 spans
    double ends_us[2][2] = {{0}};
    for (uint32_t i = 6; i < json_count(root); i++) {
        double start_us = 0, duration_us = 0;
        uint32_t member = 0, stream = 0;
        check_ok(json_double(json_at(root, i), "ts", &start_us, &err) &&
                     json_double(json_at(root, i), "dur", &duration_us, &err) &&
                     json_u32(json_at(root, i), "pid", &member, &err) &&
                     json_u32(json_at(root, i), "tid", &stream, &err),
                 &err);
        assert_true(start_us >= ends_us[member][stream]);
        ends_us[member][stream] = start_us + duration_us;
    }
    check_close(ends_us[1][0], 4.000001, 1e-15); // the end of the run
    json_free(&json);
    text_free(&text);
    release(&example);
}

// Expanded, the members are ranks: rank 0 is in role "front", ranks 1 and 2 in "back".
static void test_timeline_chrome_names_ranks_when_expanded(void **state) {
    (void)state;
    Example example;
    build(&example);
    example.timeline.form = TIMELINE_EXPANDED;
    Text text = {0};
    timeline_write_chrome(&example.timeline, &example.schedule, &text);
    assert_non_null(strstr(text.data, "\"args\":{\"name\":\"rank 0 (front)\"}"));
    assert_non_null(strstr(text.data, "\"args\":{\"name\":\"rank 1 (back)\"}"));
    text_free(&text);
    release(&example);
}

// Refined, a member is the first of ranks that are alike.
static void test_timeline_chrome_names_classes_when_refined(void **state) {
    (void)state;
    Example example;
    build(&example);
    example.timeline.form = TIMELINE_REFINED;
    Text text = {0};
    timeline_write_chrome(&example.timeline, &example.schedule, &text);
    assert_non_null(strstr(text.data, "\"args\":{\"name\":\"rank 1 and alike (back, 2 ranks)\"}"));
    text_free(&text);
    release(&example);
}

static Digest digest_after(void (*change)(Timeline *timeline)) {
    Example example;
    build(&example);
    change(&example.timeline);
    Digest digest = timeline_digest(&example.timeline);
    release(&example);
    return digest;
}

static void change_nothing(Timeline *timeline) {
    (void)timeline;
}
static void change_end(Timeline *timeline) {
    timeline->end_ps++;
}
static void change_span(Timeline *timeline) {
    timeline->spans[1].end_ps++;
}
static void change_total(Timeline *timeline) {
    timeline->totals[5].busy_ps++;
}
static void change_link(Timeline *timeline) {
    timeline->links[LINK_IB].bytes++;
}
static void change_share(Timeline *timeline) {
    timeline->share.latency_ps++;
}
static void change_round(Timeline *timeline) {
    timeline->round_ps[0]++;
}

static void test_timeline_digest_sees_every_part(void **state) {
    (void)state;
    void (*const changes[])(Timeline *) = {change_end,  change_span,  change_total,
                                           change_link, change_share, change_round};
    Digest plain = digest_after(change_nothing);
    assert_true(plain == digest_after(change_nothing));
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        assert_true(plain != digest_after(changes[i]));
}

static void test_timeline_free_accepts_empty_and_twice(void **state) {
    (void)state;
    Timeline empty = {0};
    timeline_free(&empty);
    Example example;
    build(&example);
    release(&example);
    timeline_free(&example.timeline);
    assert_null(example.timeline.spans);
    assert_null(example.timeline.totals);
}

// 30 kB in 1 us over 20 GB/s and a burst of 10 kB: all that passes in that time. Without the burst
// 20 kB would be all, and of 40 GB/s it is three quarters.
static void test_timeline_link_share_counts_the_burst(void **state) {
    (void)state;
    LinkTotal link = {
        .busiest_B = 30000, .busiest_Bps = UINT64_C(20000000000), .busiest_burst_B = 10000};
    assert_true(timeline_link_share(&link, 1000000) == 1);
    link.busiest_Bps *= 2;
    link.busiest_burst_B = 0;
    assert_true(timeline_link_share(&link, 1000000) == 0.75);
    assert_true(timeline_link_share(&link, 0) == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timeline_link_share_counts_the_burst),
        cmocka_unit_test(test_timeline_chrome_is_exact_to_the_picosecond),
        cmocka_unit_test(test_timeline_chrome_is_valid_json),
        cmocka_unit_test(test_timeline_chrome_names_ranks_when_expanded),
        cmocka_unit_test(test_timeline_chrome_names_classes_when_refined),
        cmocka_unit_test(test_timeline_digest_sees_every_part),
        cmocka_unit_test(test_timeline_free_accepts_empty_and_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
