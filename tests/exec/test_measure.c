// The times of a run on the host back end: as real as they are, they keep the rules of a timeline.
#include "tests/check.h"

#include "exec/host/host.h"
#include "exec/measure.h"
#include "tests/plan/hand_schedule.h"

// Runs it three times and makes a file of one of them.
static void run(const Schedule *schedule, uint32_t repeat, TimelineFile *out) {
    const StepShape shape = {1, 1, 1, 1};
    Load load = load_uniform();
    Job job = {0};
    BackEnd host;
    const ComputeUnit nothing = {0};
    const InterpOptions options = {.spans = true, .repeats = 3};
    const MeasureFacts facts = {.back_end = "host", .machine = "four threads", .libraries = ""};
    InterpResult result = {0};
    Err err = {0};
    check_ok(job_open(schedule, &shape, &load, &job, &err), &err);
    host_open(schedule->rank_count, HOST_TIME_OUT_PS, &host);
    check_ok(interp_run(&job, &host, &nothing, &options, &result, &err), &err);
    check_ok(measure_file(&job, &result, repeat, &facts, out, &err), &err);
    assert_int_equal(out->shape, step_shape_digest(&shape));
    interp_free(&result);
    host_close(&host);
    job_close(&job);
}

// Four roles of one rank, five passes: a receive, a sum (skipped: it computes) and a send each, 60
// spans. What is written reads back: the reader checks order, roles and that nothing ends late.
static void test_measure_writes_what_reads_back(void **state) {
    (void)state;
    Schedule schedule;
    TimelineFile file = {0}, again = {0};
    Text text = {0};
    Err err = {0};
    hand_ring(5, 2, &schedule);
    run(&schedule, 1, &file);
    assert_int_equal(file.span_count, 5 * schedule.op_count);
    assert_int_equal(file.member_count, 4);
    timeline_file_write(&file, &text);
    check_ok(timeline_file_parse("t", text.data, text.length, &again, &err), &err);
    for (OpId id = 0; id < file.op_count; id++)
        assert_int_equal(file.ops[id].work, file.ops[id].kind == OP_MEMORY
                                                ? TIMELINE_FILE_SKIPPED
                                                : TIMELINE_FILE_MEASURED);
    text_free(&text);
    timeline_file_free(&again);
    timeline_file_free(&file);
    schedule_free(&schedule);
}

// Causality: with a lag of 0 message k ends at the receiver only after the sender reached it. No
// clock is read twice for that, so it holds to the picosecond.
static void test_measure_keeps_causality(void **state) {
    (void)state;
    Schedule schedule;
    TimelineFile file = {0};
    uint32_t pairs = 0;
    hand_ring(3, 1, &schedule);
    run(&schedule, 1, &file);
    for (uint32_t i = 0; i < file.span_count; i++) {
        const Op *op = &schedule.ops[file.spans[i].op];
        if (op->kind != OP_RECV || op->comm.lag != 0) continue;
        // its sender's instance of the same number: instances of one operation follow each other
        uint32_t number = 0;
        while (number < i && file.spans[i - number - 1].op == file.spans[i].op) number++;
        for (uint32_t j = 0; j < file.span_count; j++) {
            const Op *send = &schedule.ops[file.spans[j].op];
            if (send->kind != OP_SEND ||
                schedule_op_role(&schedule, file.spans[j].op) != op->comm.peer)
                continue;
            assert_true(file.spans[i].end_ps >= file.spans[j + number].start_ps);
            pairs++;
            break;
        }
    }
    assert_int_equal(pairs, 3 * 3); // three roles receive without lag, three passes
    timeline_file_free(&file);
    schedule_free(&schedule);
}

static bool fail_at_once(void *self, const OpInstance *instance, Err *err) {
    (void)self;
    (void)instance;
    return err_set(err, "no kernel");
}

static bool want_all(void *self, const Job *job, TimelineFileWork *works, Err *err) {
    (void)self;
    (void)err;
    for (OpId id = 0; id < job->schedule->op_count; id++) works[id] = TIMELINE_FILE_MEASURED;
    return true;
}

// A copy ends, then the unit fails: one span of two, marked as a part, which reads back as one.
static void test_measure_marks_what_was_cut_short(void **state) {
    (void)state;
    const StepShape shape = {1, 1, 1, 1};
    const RankSet ranks = {.count = 1, .repeat = 1};
    const ComputeUnit unit = {.prepare = want_all, .run = fail_at_once};
    const InterpOptions options = {.spans = true};
    const MeasureFacts facts = {
        .back_end = "host", .machine = "a thread", .libraries = "", .is_partial = true};
    Load load = load_uniform();
    Schedule schedule;
    Job job = {0};
    BackEnd host;
    InterpResult result = {0};
    TimelineFile file = {0}, again = {0};
    Text text = {0};
    Err err = {0};
    schedule_init(&schedule, "cut", 1);
    RoleId role = schedule_add_role(&schedule, "all", ranks, 1);
    hand_buffer(&schedule, role, "bytes", 8);
    BlockId block = schedule_add_block(&schedule, role, "block");
    Op copy = {.kind = OP_COPY, .op_class = OP_CLASS_OTHER, .name = "copy"};
    copy.compute.bytes = extent_fixed(4);
    schedule_add_op(&schedule, &copy);
    hand_slice(&schedule, 0, SLICE_READ, 0, 4);
    hand_slice(&schedule, 0, SLICE_WRITE, 4, 4);
    hand_memory(&schedule, "norm", 0);
    schedule_add_segment(&schedule, role, block, 1);
    schedule_finish(&schedule);
    check_ok(job_open(&schedule, &shape, &load, &job, &err), &err);
    host_open(1, HOST_TIME_OUT_PS, &host);
    check_fails(interp_run(&job, &host, &unit, &options, &result, &err), &err,
                "memory \"norm\" of role \"all\" on rank 0: no kernel");
    check_ok(measure_file(&job, &result, 0, &facts, &file, &err), &err);
    timeline_file_write(&file, &text);
    check_ok(timeline_file_parse("t", text.data, text.length, &again, &err), &err);
    assert_false(again.is_complete);
    assert_int_equal(again.span_count, 1);
    text_free(&text);
    timeline_file_free(&again);
    timeline_file_free(&file);
    interp_free(&result);
    host_close(&host);
    job_close(&job);
    schedule_free(&schedule);
}

// Two repeats that began at 100 and 1000: the first ends with its last span at 250, whatever order
// they are in, the second with its only one at 1030. A repeat without spans took no time.
static void test_measure_time_is_to_the_last_end(void **state) {
    (void)state;
    Time begin_ps[] = {100, 1000, 2000};
    InterpSpan spans[] = {{.repeat = 0, .start_ps = 110, .end_ps = 250},
                          {.repeat = 1, .start_ps = 1010, .end_ps = 1030},
                          {.repeat = 0, .start_ps = 120, .end_ps = 130}};
    const InterpResult result = {
        .spans = spans, .span_count = 3, .repeats = 3, .begin_ps = begin_ps};
    Time times_ps[3];
    measure_times(&result, times_ps);
    assert_int_equal(times_ps[0], 150);
    assert_int_equal(times_ps[1], 30);
    assert_int_equal(times_ps[2], 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_measure_writes_what_reads_back),
        cmocka_unit_test(test_measure_keeps_causality),
        cmocka_unit_test(test_measure_marks_what_was_cut_short),
        cmocka_unit_test(test_measure_time_is_to_the_last_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
