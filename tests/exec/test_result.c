// Results of several processes put together, and what does not fit refused.
#include "tests/check.h"

#include "exec/host/host.h"
#include "exec/result.h"
#include "tests/exec/conformance.h"

#define RING 4 // of the list of cases: four roles of one rank

// A run on the host, packed rank by rank as processes would.
typedef struct Packed {
    Conformance conformance;
    InterpResult whole;
    Text texts[4];
    ResultPart parts[4];
} Packed;

// What a compute unit might leave of a rank: as many bytes as its number, and one.
static void pack_rank(Packed *packed, uint32_t rank) {
    InterpResult one = packed->whole;
    uint8_t bytes[] = {'l', 'e', 'f', 't'}, *left = bytes;
    uint64_t left_B = rank + 1;
    one.left = &left;
    one.left_B = &left_B;
    uint64_t first = 0, count = 0;
    one.rank_count = 1;
    one.ranks = &packed->whole.ranks[rank];
    one.buffers = &packed->whole.buffers[rank];
    for (uint64_t i = 0; i < packed->whole.span_count; i++) {
        if (packed->whole.spans[i].rank != rank) continue;
        if (count++ == 0) first = i;
    }
    one.spans = packed->whole.spans + first;
    one.span_count = count;
    result_pack(&packed->conformance.job, &one, &packed->texts[rank]);
    packed->parts[rank] =
        (ResultPart){(const uint8_t *)packed->texts[rank].data, packed->texts[rank].length};
}

static void open_packed(Packed *packed) {
    BackEnd back_end;
    ComputeUnit nothing = {.name = "skip"};
    Err err = {0};
    *packed = (Packed){0};
    conformance_open(RING, &packed->conformance);
    InterpOptions options = {
        .fill = conformance_fill, .context = &packed->conformance, .spans = true};
    host_open(4, 20 * PS_PER_SECOND, &back_end);
    check_ok(
        interp_run(&packed->conformance.job, &back_end, &nothing, &options, &packed->whole, &err),
        &err);
    host_close(&back_end);
    for (uint32_t rank = 0; rank < 4; rank++) pack_rank(packed, rank);
}

static void close_packed(Packed *packed) {
    for (uint32_t rank = 0; rank < 4; rank++) text_free(&packed->texts[rank]);
    interp_free(&packed->whole);
    conformance_close(&packed->conformance);
}

static void test_result_of_all_ranks(void **state) {
    (void)state;
    Packed packed;
    InterpResult got;
    Err err = {0};
    open_packed(&packed);
    const Schedule *schedule = &packed.conformance.schedule;
    check_ok(result_merge(&packed.conformance.job, 1, packed.parts, 4, &got, &err), &err);
    assert_int_equal(got.rank_count, 4);
    assert_int_equal(got.span_count, packed.whole.span_count);
    assert_memory_equal(got.size_B, packed.whole.size_B, schedule->buffer_count * 8);
    // the bound has room for the spans of all ranks, and none for what no unit leaves: a rank here
    // left as many bytes as its number, and one
    ComputeUnit nothing = {.name = "skip"};
    InterpOptions options = {.spans = true};
    for (uint32_t i = 0; i < 4; i++) {
        uint64_t others = 56 * (packed.conformance.job.runs - packed.whole.span_count);
        uint64_t of_all = 0;
        for (uint64_t k = 0; k < packed.whole.span_count; k++)
            of_all += packed.whole.spans[k].rank != i;
        assert_int_equal(result_bytes_max(&packed.conformance.job, &nothing, &options, i),
                         packed.parts[i].count - (i + 1) + 56 * of_all + others);
    }
    for (BufferId id = 0; id < schedule->buffer_count; id++)
        assert_int_equal(interp_digest(&got, schedule, id),
                         interp_digest(&packed.whole, schedule, id));
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(got.left_B[i], got.ranks[i] + 1);
        assert_memory_equal(got.left[i], "left", got.left_B[i]);
    }
    for (uint64_t i = 0; i < got.span_count; i++) {
        assert_int_equal(got.spans[i].op, packed.whole.spans[i].op);
        assert_int_equal(got.spans[i].end_ps, packed.whole.spans[i].end_ps);
    }
    // each of the four parts counts the instances of all ranks here: 4 times as many
    for (OpId id = 0; id < schedule->op_count; id++)
        assert_int_equal(got.instances[id], 4 * packed.whole.instances[id]);
    interp_free(&got);
    close_packed(&packed);
}

// A rank that failed may leave nothing.
static void test_result_without_a_rank(void **state) {
    (void)state;
    Packed packed;
    InterpResult got;
    Err err = {0};
    open_packed(&packed);
    packed.parts[2] = (ResultPart){0};
    check_ok(result_merge(&packed.conformance.job, 1, packed.parts, 4, &got, &err), &err);
    assert_int_equal(got.rank_count, 3);
    assert_null(interp_buffer(&got, 4, 2)); // the token of rank 2
    assert_non_null(interp_buffer(&got, 6, 3));
    interp_free(&got);
    close_packed(&packed);
}

static void test_result_refuses_what_does_not_fit(void **state) {
    (void)state;
    Packed packed;
    InterpResult got;
    Err err = {0};
    open_packed(&packed);
    const Job *job = &packed.conformance.job;
    ResultPart twice[2] = {packed.parts[1], packed.parts[1]};
    check_fails(result_merge(job, 1, twice, 2, &got, &err), &err,
                "result 1: rank 1: expected another one below 4");
    check_fails(result_merge(job, 2, packed.parts, 4, &got, &err), &err,
                "result 0: repeats: found 1, expected 2");
    ResultPart text = {(const uint8_t *)"a text that is long enough for all of the head, isn't it",
                       56};
    assert_false(result_merge(job, 1, &text, 1, &got, &err));
    assert_non_null(strstr(err.text, "result 0: mark of a result: found "));
    // six numbers of the head, sizes of buffers, instances, bytes by class twice: then the begin
    const Schedule *schedule = job->schedule;
    size_t at = 8 * ((size_t)6 + schedule->buffer_count + schedule->op_count + 2 * OP_CLASS_COUNT);
    memset(packed.texts[0].data + at, 0x7f, 8);
    check_fails(result_merge(job, 1, packed.parts, 4, &got, &err), &err,
                "result 0: begin of a repeat: found 9187201950435737471 ps, expected a time that a "
                "clock has");
    for (size_t cut = 0; cut < packed.parts[0].count; cut++) { // every truncation
        ResultPart part = {packed.parts[0].bytes, cut};
        assert_false(result_merge(job, 1, &part, 1, &got, &err));
    }
    close_packed(&packed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_result_of_all_ranks),
        cmocka_unit_test(test_result_without_a_rank),
        cmocka_unit_test(test_result_refuses_what_does_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
