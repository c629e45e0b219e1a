// The compute unit that only takes time.
#include "tests/check.h"

#include "exec/backends.h"
#include "exec/host/host.h"
#include "exec/timed.h"
#include "tests/plan/hand_schedule.h"

static const StepShape one_token = {1, 1, 1, 1};

#define MS(n) ((Time)(n) * (PS_PER_SECOND / 1000))

// Operations "a" and "b" of one role of two ranks, on one stream, twice.
static void make_schedule(Schedule *schedule) {
    schedule_init(schedule, "timed", 2);
    RankSet set = {.count = 2, .repeat = 1};
    RoleId role = schedule_add_role(schedule, "all", set, 1);
    BlockId block = schedule_add_block(schedule, role, "layer");
    hand_memory(schedule, "a", 0);
    hand_memory(schedule, "b", 0);
    schedule_add_segment(schedule, role, block, 2);
    schedule_finish(schedule);
}

// A prediction for each rank: a takes 2 and 4 ms on rank 0, 3 and 5 ms on rank 1, b 1 ms.
typedef struct Prediction {
    TimelineFileOp ops[2];
    TimelineMember members[2];
    TimelineFileSpan spans[8];
    TimelineFile file;
} Prediction;

static void predict(const Job *job, Prediction *out) {
    const TimelineFileSpan spans[8] = {
        {0, 0, MS(0), MS(2)}, {0, 0, MS(3), MS(7)}, {0, 1, MS(0), MS(3)}, {0, 1, MS(4), MS(9)},
        {1, 0, MS(2), MS(3)}, {1, 0, MS(7), MS(8)}, {1, 1, MS(3), MS(4)}, {1, 1, MS(9), MS(10)}};
    *out = (Prediction){.members = {{0, 0, 1}, {0, 1, 1}}};
    memcpy(out->spans, spans, sizeof spans);
    out->file = (TimelineFile){.is_complete = true,
                               .schedule = job->schedule->digest,
                               .shape = step_shape_digest(&job->shape),
                               .load = job->load->digest,
                               .form = TIMELINE_EXPANDED,
                               .end_ps = MS(10),
                               .members = out->members,
                               .member_count = 2,
                               .ops = out->ops,
                               .op_count = 2,
                               .spans = out->spans,
                               .span_count = 8};
}

// No operation ends before its time: 2, 4, 3 and 5 ms of a, and 1 ms of b after that, counted from
// when a was to end and not from when the rank woke up; in the repeat the same.
static void test_timed_takes_the_predicted_time(void **state) {
    (void)state;
    const Time want_a[2][2] = {{MS(2), MS(4)}, {MS(3), MS(5)}};
    Schedule schedule;
    Load load = load_uniform();
    Job job;
    Prediction prediction;
    ComputeUnit unit;
    BackEnd host;
    InterpResult result;
    const InterpOptions options = {.spans = true, .repeats = 2};
    Err err = {0};
    make_schedule(&schedule);
    check_ok(job_open(&schedule, &one_token, &load, &job, &err), &err);
    predict(&job, &prediction);
    check_ok(timed_open_file("p.json", &prediction.file, &job, &unit, &err), &err);
    host_open(2, HOST_TIME_OUT_PS, &host);
    check_ok(interp_run(&job, &host, &unit, &options, &result, &err), &err);
    assert_int_equal(result.span_count, 16);
    for (uint64_t i = 0; i < result.span_count; i++) {
        const InterpSpan *span = &result.spans[i], *a = span->op == 0 ? span : span - 1;
        Time want = want_a[span->rank][span->iteration] + (span->op == 0 ? 0 : MS(1));
        assert_int_equal(a->op, 0);
        assert_true(span->end_ps - a->start_ps >= want);
    }
    assert_int_equal(result.works[0], TIMELINE_FILE_STAND_IN);
    interp_free(&result);
    host_close(&host);
    timed_close(&unit);
    job_close(&job);
    schedule_free(&schedule);
}

static void test_timed_refuses_a_timeline_of_something_else(void **state) {
    (void)state;
    Schedule schedule;
    Load load = load_uniform();
    Job job;
    Prediction p;
    ComputeUnit unit;
    Err err = {0};
    make_schedule(&schedule);
    check_ok(job_open(&schedule, &one_token, &load, &job, &err), &err);
    predict(&job, &p);
    p.file.is_complete = false;
    check_fails(timed_open_file("p.json", &p.file, &job, &unit, &err), &err,
                "p.json: expected a whole run, found a part of one");
    predict(&job, &p);
    p.file.form = TIMELINE_REFINED;
    check_fails(
        timed_open_file("p.json", &p.file, &job, &unit, &err), &err,
        "p.json: expected a timeline of roles or of ranks, found refined (\"moesim simulate "
        "--form expanded\" writes one)");
    predict(&job, &p);
    p.file.load = 1;
    char want[128], digest[17];
    snprintf(want, sizeof want, "p.json: a timeline of load 0000000000000001, expected %s",
             hash_format(load.digest, digest));
    check_fails(timed_open_file("p.json", &p.file, &job, &unit, &err), &err, want);
    predict(&job, &p);
    p.file.member_count = 1;
    check_fails(timed_open_file("p.json", &p.file, &job, &unit, &err), &err,
                "p.json: expected 2 operations on 2 members, found 2 on 1");
    predict(&job, &p);
    p.file.span_count = 6; // b of rank 1 is missing
    check_fails(timed_open_file("p.json", &p.file, &job, &unit, &err), &err,
                "p.json: has no span of memory \"b\" of role \"all\" on rank 1");
    job_close(&job);
    schedule_free(&schedule);
}

// ---- The table of units and back ends

static void test_timed_units_are_found_by_name(void **state) {
    (void)state;
    const ComputeKind *kind;
    const char *file;
    Err err = {0};
    check_ok(backends_compute("timed:a:b.json", &kind, &file, &err), &err);
    assert_string_equal(kind->name, "timed");
    assert_string_equal(file, "a:b.json");
    check_ok(backends_compute("skip", &kind, &file, &err), &err);
    assert_null(file);
    const char *const bad[] = {"", "timed", "timed:", "skip:x", "ski"};
    for (uint32_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(backends_compute(bad[i], &kind, &file, &err));
}

// The choices of the option are the names of the table, in order.
static void test_timed_back_ends_are_those_of_the_option(void **state) {
    (void)state;
    char names[256] = "";
    for (uint32_t i = 0; backends_kind(i) != NULL; i++) {
        if (i > 0) strcat(names, "|");
        strcat(names, backends_kind(i)->name);
    }
    assert_string_equal(names, BACKENDS_CHOICES);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timed_takes_the_predicted_time),
        cmocka_unit_test(test_timed_refuses_a_timeline_of_something_else),
        cmocka_unit_test(test_timed_units_are_found_by_name),
        cmocka_unit_test(test_timed_back_ends_are_those_of_the_option),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
