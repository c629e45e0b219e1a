// Predicted beside measured, on two ranks with two operations that compute and one between them.
//
// Predicted for both ranks alike, in us:     measured on rank 0:       on rank 1:
//   up        0 - 100                          0 - 110                   0 - 130
//   dispatch  100 - 160                        110 - 200                 130 - 200
//   shared    100 - 130 (beside dispatch)      110 - 150                 130 - 150
#include "tests/check.h"

#include "model/report/compare.h"

enum { UP, DISPATCH, SHARED, OPS };
#define US(n) ((Time)(n)*1000000)

typedef struct Example {
    TimelineFileOp predicted_ops[OPS], measured_ops[OPS];
    TimelineMember predicted_members[1], measured_members[2];
    TimelineFileSpan predicted_spans[OPS], measured_spans[2 * OPS];
    TimelineFile predicted, measured;
} Example;

static void build_ops(TimelineFileOp *ops, TimelineFileWork work, LinkClass link) {
    ops[UP] = (TimelineFileOp){
        "up", "all", 0, 0, OP_GROUPED_GEMM, OP_CLASS_EXPERTS, "gemm", work, LINK_CLASS_COUNT};
    ops[DISPATCH] = (TimelineFileOp){
        "dispatch", "all", 0, 1, OP_COLLECTIVE, OP_CLASS_DISPATCH, "all-to-all pairwise",
        work,       link};
    ops[SHARED] = (TimelineFileOp){
        "shared", "all", 0, 0, OP_GEMM, OP_CLASS_SHARED, "gemm", work, LINK_CLASS_COUNT};
}

static void build(Example *e) {
    const TimelineFileSpan predicted[] = {
        {UP, 0, 0, US(100)}, {DISPATCH, 0, US(100), US(160)}, {SHARED, 0, US(100), US(130)}};
    const TimelineFileSpan measured[] = {{UP, 0, 0, US(110)},
                                         {UP, 1, 0, US(130)},
                                         {DISPATCH, 0, US(110), US(200)},
                                         {DISPATCH, 1, US(130), US(200)},
                                         {SHARED, 0, US(110), US(150)},
                                         {SHARED, 1, US(130), US(150)}};
    *e = (Example){.predicted_members = {{0, 0, 2}}, .measured_members = {{0, 0, 1}, {0, 1, 1}}};
    memcpy(e->predicted_spans, predicted, sizeof predicted);
    memcpy(e->measured_spans, measured, sizeof measured);
    build_ops(e->predicted_ops, TIMELINE_FILE_PREDICTED, LINK_IB);
    build_ops(e->measured_ops, TIMELINE_FILE_MEASURED, LINK_CLASS_COUNT);
    e->predicted = (TimelineFile){.maker = "simulator",
                                  .machine = "two",
                                  .is_complete = true,
                                  .schedule = 1,
                                  .shape = 2,
                                  .load = 3,
                                  .fabric = 4,
                                  .end_ps = US(160),
                                  .members = e->predicted_members,
                                  .member_count = 1,
                                  .ops = e->predicted_ops,
                                  .op_count = OPS,
                                  .spans = e->predicted_spans,
                                  .span_count = OPS};
    e->measured = e->predicted;
    e->measured.maker = "host";
    e->measured.fabric = 0; // a back end that knows no topology
    e->measured.form = TIMELINE_EXPANDED;
    e->measured.end_ps = US(200);
    e->measured.members = e->measured_members;
    e->measured.member_count = 2;
    e->measured.ops = e->measured_ops;
    e->measured.spans = e->measured_spans;
    e->measured.span_count = 2 * OPS;
}

static bool join(const Example *e, Comparison *out, Err *err) {
    return compare_timelines(&e->predicted, "sim", &e->measured, "real", out, err);
}

static void fails(const Example *e, const char *message) {
    Comparison comparison = {0};
    Err err = {0};
    check_fails(join(e, &comparison, &err), &err, message);
}

// up: 100 us against (110 + 130) / 2 = 120: 100 / 120 - 1 = -16.67 %.
// dispatch: 60 against (90 + 70) / 2 = 80: -25 %. shared: 30 against (40 + 20) / 2 = 30: 0 %.
static void test_compare_errors_are_of_the_mean_over_ranks(void **state) {
    (void)state;
    Example e;
    Comparison c = {0};
    Err err = {0};
    build(&e);
    check_ok(join(&e, &c, &err), &err);
    assert_int_equal(c.op_count, OPS);
    check_close(c.ops[UP].time.measured_s, 120e-6, 1e-12);
    check_close(c.ops[UP].error, 100 * (100.0 / 120 - 1), 1e-12);
    check_close(c.ops[DISPATCH].error, -25, 1e-12);
    assert_true(fabs(c.ops[SHARED].error) < 1e-9);
    assert_int_equal(c.ops[DISPATCH].instances, 1);
    compare_free(&c);
}

// Three classes in order of OpClass: experts, shared, dispatch, the last over IB, which only the
// prediction knows. Of all: 190 against 230 us; mean of the sizes of errors (16.67 + 25 + 0) / 3.
static void test_compare_sums_by_class_and_link(void **state) {
    (void)state;
    Example e;
    Comparison c = {0};
    Err err = {0};
    build(&e);
    check_ok(join(&e, &c, &err), &err);
    assert_int_equal(c.class_count, 3);
    assert_int_equal(c.classes[2].op_class, OP_CLASS_DISPATCH);
    assert_int_equal(c.classes[2].link, LINK_IB);
    assert_int_equal(c.classes[0].link, LINK_CLASS_COUNT);
    check_close(c.total.error, 100 * (190.0 / 230 - 1), 1e-12);
    check_close(c.total.mean_error, (100 * (1 - 100.0 / 120) + 25) / 3, 1e-9);
    assert_int_equal(c.total.worst, DISPATCH);
    check_close(c.end.predicted_s, 160e-6, 1e-12);
    check_close(c.end.measured_s, 200e-6, 1e-12);
    compare_free(&c);
}

// Predicted: dispatch takes 60, of which shared hides 30. Measured: rank 0 hides 40 of 90, rank 1
// 20 of 70: 50 exposed on both.
static void test_compare_exposed_communication(void **state) {
    (void)state;
    Example e;
    Comparison c = {0};
    Err err = {0};
    build(&e);
    check_ok(join(&e, &c, &err), &err);
    check_close(c.comm.predicted_s, 60e-6, 1e-12);
    check_close(c.exposed.predicted_s, 30e-6, 1e-12);
    check_close(c.comm.measured_s, 80e-6, 1e-12);
    check_close(c.exposed.measured_s, 50e-6, 1e-12);
    compare_free(&c);
}

// What was skipped or stood in for counts in no error; only dispatch remains.
static void test_compare_leaves_out_what_was_not_run(void **state) {
    (void)state;
    Example e;
    Comparison c = {0};
    Err err = {0};
    build(&e);
    e.measured_ops[UP].work = TIMELINE_FILE_SKIPPED;
    e.measured_ops[SHARED].work = TIMELINE_FILE_STAND_IN;
    check_ok(join(&e, &c, &err), &err);
    assert_false(c.ops[UP].has_error);
    assert_false(c.ops[SHARED].has_error);
    assert_int_equal(c.class_count, 1);
    check_close(c.total.error, -25, 1e-12);
    assert_int_equal(c.skipped, 1);
    assert_int_equal(c.skipped_compute, 1);
    assert_int_equal(c.stand_ins, 1);
    compare_free(&c);
}

static void test_compare_refuses_other_inputs(void **state) {
    (void)state;
    Example e;
    build(&e);
    e.measured.schedule = 9;
    fails(&e, "different schedules: sim has 0000000000000001, real has 0000000000000009");
    build(&e);
    e.measured.shape = 9;
    fails(&e, "different shapes: sim has 0000000000000002, real has 0000000000000009");
    build(&e);
    e.measured.load = 9;
    fails(&e, "different loads: sim has 0000000000000003, real has 0000000000000009: expected the "
              "measured "
              "one (moesim-run run --write-load) in moesim simulate --load");
    build(&e);
    e.measured.fabric = 9;
    fails(&e, "different machines: sim has 0000000000000004, real has 0000000000000009");
    build(&e);
    e.measured.is_complete = false;
    fails(&e, "real: expected a whole run, found a part of one");
}

static void test_compare_refuses_another_implementation(void **state) {
    (void)state;
    Example e;
    build(&e);
    e.measured_ops[DISPATCH].implementation = "all-to-all mpi";
    fails(&e, "operation \"dispatch\" of role \"all\": sim has all-to-all pairwise, real has "
              "all-to-all mpi");
}

static void test_compare_refuses_what_does_not_join(void **state) {
    (void)state;
    Example e;
    build(&e);
    e.predicted_ops[UP].work = TIMELINE_FILE_MEASURED;
    fails(&e, "sim: expected a prediction, found operation \"up\" measured");
    build(&e);
    e.measured.op_count = 2;
    fails(&e, "sim has 3 operations, real has 2");
    build(&e);
    e.measured_ops[UP].name = "down";
    fails(&e, "operation 0 is \"up\" of role 0 in sim, \"down\" of role 0 in real");
    build(&e);
    e.measured_members[1].ranks = 2;
    fails(&e, "role 0 has 2 ranks in sim, 3 in real");
    build(&e);
    e.measured.span_count--; // shared did not run on rank 1
    fails(&e, "real: operation \"shared\" of role \"all\" ran on 1 members of 2");
    build(&e);
    e.measured_spans[1] = (TimelineFileSpan){UP, 0, US(110), US(120)};
    e.measured_spans[0] = (TimelineFileSpan){UP, 0, 0, US(110)};
    fails(&e, "real: operation \"up\" of role \"all\" ran on 1 members of 2");
    build(&e);
    e.measured.span_count = 4; // shared did not run at all
    fails(&e, "operation \"shared\" of role \"all\" ran 1 times on a rank in sim, 0 times in real");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compare_errors_are_of_the_mean_over_ranks),
        cmocka_unit_test(test_compare_sums_by_class_and_link),
        cmocka_unit_test(test_compare_exposed_communication),
        cmocka_unit_test(test_compare_leaves_out_what_was_not_run),
        cmocka_unit_test(test_compare_refuses_other_inputs),
        cmocka_unit_test(test_compare_refuses_another_implementation),
        cmocka_unit_test(test_compare_refuses_what_does_not_join),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
