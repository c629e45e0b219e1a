// The times of a run on the host back end: as real as they are, they keep the rules of a timeline.
#include "tests/check.h"

#include "exec/measure.h"
#include "tests/plan/hand_schedule.h"

static void reached(void *context, const ScheduleCursor *cursor, uint32_t rank) {
    measure_reached(context, cursor, rank);
}

static void ended(void *context, const ScheduleCursor *cursor, uint32_t rank) {
    measure_ended(context, cursor, rank);
}

static void run(const Schedule *schedule, TimelineFile *out) {
    const StepShape shape = {1, 1, 1, 1};
    Load load = load_uniform();
    Measure measure = {.schedule = schedule};
    HostInit init = {.reached = reached, .ended = ended, .context = &measure};
    HostResult result = {0};
    Err err = {0};
    check_ok(host_run(schedule, &shape, &load, &init, &result, &err), &err);
    check_ok(measure_file(&measure, &shape, &load, out, &err), &err);
    assert_int_equal(out->shape, step_shape_digest(&shape));
    host_free(&result);
    measure_free(&measure);
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
    run(&schedule, &file);
    assert_int_equal(file.span_count, 5 * schedule.op_count);
    assert_int_equal(file.member_count, 4);
    timeline_file_write(&file, &text);
    check_ok(timeline_file_parse("t", text.data, text.length, &again, &err), &err);
    for (OpId id = 0; id < file.op_count; id++)
        assert_int_equal(file.ops[id].work, host_moves(file.ops[id].kind) ? TIMELINE_FILE_MEASURED
                                                                          : TIMELINE_FILE_SKIPPED);
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
    run(&schedule, &file);
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_measure_writes_what_reads_back),
        cmocka_unit_test(test_measure_keeps_causality),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
