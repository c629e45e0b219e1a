// Cases of benchmarks as rows: what is written is read again, and what is not ours is refused.
#include "model/report/bench_case.h"
#include "tests/check.h"

static const uint64_t matrix[] = {7, 65536, 0, 0, 0, 1024, 4096, 4096, 0};

static const BenchCase cases[] = {
    {.op = BENCH_SEND_RECV,
     .format = NUMFMT_INT8,
     .ranks = 4,
     .nodes = 2,
     .from = 1,
     .to = 3,
     .bytes = 262144},
    {.op = BENCH_ALL_TO_ALL,
     .format = NUMFMT_BF16,
     .ranks = 8,
     .nodes = 4,
     .algorithm = ALGORITHM_HIERARCHICAL,
     .inner = 2,
     .bytes = 524288},
    {.op = BENCH_ALL_REDUCE,
     .format = NUMFMT_F32,
     .ranks = 4,
     .nodes = 1,
     .algorithm = ALGORITHM_RING,
     .bytes = 0},
    // 65536 + 1024 + 4096 + 4096; the diagonal stays at home
    {.op = BENCH_ALL_TO_ALLV,
     .format = NUMFMT_INT8,
     .ranks = 3,
     .nodes = 3,
     .bytes = 74752,
     .matrix = matrix},
};

static const BenchCase kernels[] = {
    {.op = BENCH_GEMM, .format = NUMFMT_F32, .m = 16, .n = 512, .k = 128},
    {.op = BENCH_COPY, .format = NUMFMT_INT8, .bytes = 1 << 20},
};

static void check_same(const BenchCase *a, const BenchCase *b) {
    Text x = {0}, y = {0};
    bench_case_name(a, &x);
    bench_case_name(b, &y);
    check_text_equals(text_string(&x), text_string(&y));
    assert_int_equal(a->format, b->format);
    assert_int_equal(a->inner, b->inner);
    text_free(&x);
    text_free(&y);
}

static void check_round(RecordKind kind, const BenchCase *list, uint32_t count) {
    Text text = {0};
    RecordFile file = {0};
    Arena arena = {0};
    Err err = {0};
    bench_case_write_header(kind, &text);
    for (uint32_t i = 0; i < count; i++)
        bench_case_write(&list[i],
                         &(BenchRow){.id = i + 1,
                                     .date = "2026-11-30",
                                     .device = "cpu",
                                     .fabric = "emulated",
                                     .library = "moesim net",
                                     .latency_s = 0.001 * (i + 1)},
                         &text);
    check_ok(record_parse("bench.csv", text_string(&text), text.length, &file, &err), &err);
    assert_int_equal(file.kind, kind);
    assert_int_equal(file.row_count, count);
    for (uint32_t i = 0; i < count; i++) {
        BenchCase got;
        check_ok(bench_case_read(&file, i, &arena, &got, &err), &err);
        check_same(&list[i], &got);
        assert_true(file.rows[i].value == 1000.0 * (i + 1));
    }
    record_free(&file);
    arena_free(&arena);
    text_free(&text);
}

static void test_bench_case_comes_back(void **state) {
    (void)state;
    check_round(RECORD_COMM, cases, sizeof cases / sizeof *cases);
    check_round(RECORD_KERNEL, kernels, sizeof kernels / sizeof *kernels);
}

static void test_bench_case_names(void **state) {
    (void)state;
    Text text = {0};
    bench_case_name(&cases[0], &text);
    check_text_equals(text_string(&text), "send_recv int8 1 to 3, 4 ranks on 2 nodes, 262144 B");
    text_free(&text);
    bench_case_name(&cases[1], &text);
    check_text_equals(text_string(&text),
                      "alltoall bf16 hierarchical by 2, 8 ranks on 4 nodes, 524288 B");
    text_free(&text);
    bench_case_name(&cases[2], &text); // f32 is not said
    check_text_equals(text_string(&text), "all_reduce ring, 4 ranks on 1 node, 0 B");
    text_free(&text);
    bench_case_name(&kernels[0], &text);
    check_text_equals(text_string(&text), "gemm f32 n=512 k=128 m=16");
    text_free(&text);
}

// Cells of a row from n_gpus on, up to the value.
static void check_refused(const char *cells, const char *message) {
    Text text = {0};
    RecordFile file = {0};
    Arena arena = {0};
    BenchCase got;
    Err err = {0};
    bench_case_write_header(RECORD_COMM, &text);
    text_addf(&text, "B1,x,s,,d,cpu,%s,raw,,\n", cells);
    check_ok(record_parse("b.csv", text_string(&text), text.length, &file, &err), &err);
    assert_false(bench_case_read(&file, 0, &arena, &got, &err));
    assert_string_equal(err.text, message);
    record_free(&file);
    arena_free(&arena);
    text_free(&text);
}

// nccl-tests, doc/PERFORMANCE.md: 7/8 of an all-to-all of 8, 2 x 3/4 of an all-reduce of 4.
static void test_bench_case_bus_factor(void **state) {
    (void)state;
    assert_true(bench_case_bus_factor(&cases[0]) == 1);
    assert_true(bench_case_bus_factor(&cases[1]) == 0.875);
    assert_true(bench_case_bus_factor(&cases[2]) == 1.5);
    assert_true(bench_case_bus_factor(&cases[3]) == 0);
    assert_true(bench_case_bus_factor(&kernels[0]) == 0);
}

static void test_bench_case_refuses(void **state) {
    (void)state;
    check_refused("4,1,f,l,a2a_dispatch,bf16,,,,,64,algorithm=direct,latency,1,us",
                  "b.csv:2: op: expected one that moesim-run measures, found \"a2a_dispatch\"");
    check_refused("1,1,f,l,alltoall,bf16,,,,,64,algorithm=direct,latency,1,us",
                  "b.csv:2: n_gpus: expected a number from 2 to 64, found \"1\"");
    check_refused("4,1,f,l,alltoall,bf16,,,,,64,algorithm=tree,latency,1,us",
                  "b.csv:2: config: expected algorithm= and one that this collective has, found "
                  "\"algorithm=tree\"");
    check_refused("2,1,f,l,alltoallv,bf16,,,,,64,matrix=0 65;0 0,latency,1,us",
                  "b.csv:2: msg_bytes: expected the sum of the matrix, found \"64\"");
    check_refused("2,1,f,l,alltoallv,bf16,,,,,64,matrix=0 64 0 0,latency,1,us",
                  "b.csv:2: config: expected matrix= and a row of bytes for each rank, found "
                  "\"matrix=0 64 0 0\"");
    check_refused("2,1,f,l,send_recv,bf16,,,,,64,from=0 to=2,latency,1,us",
                  "b.csv:2: config: expected to=NUMBER in it, found \"from=0 to=2\"");
    check_refused("2,1,f,l,gemm,bf16,,,,,64,,latency,1,us",
                  "b.csv:2: op: expected communication, found \"gemm\"");
    check_refused("2,1,f,l,send_recv,bf16,,,,,64,from=0 to=1,busbw,1,us",
                  "b.csv:2: metric: expected latency, found \"busbw\"");
    check_refused("2,1,f,l,send_recv,bf16,,,,,64,from=0 to=1,latency,0,us",
                  "b.csv:2: value: expected 1 ps to 106 days, found \"0\"");
    check_refused("2,1,f,l,send_recv,bf16,,,,,64,from=0 to=1,latency,1e-320,us",
                  "b.csv:2: value: expected 1 ps to 106 days, found \"1e-320\"");
    check_refused("2,1,f,l,send_recv,bf16,,,,,64,from=0 to=1,latency,1e308,us",
                  "b.csv:2: value: expected 1 ps to 106 days, found \"1e308\"");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bench_case_comes_back),
        cmocka_unit_test(test_bench_case_bus_factor),
        cmocka_unit_test(test_bench_case_names),
        cmocka_unit_test(test_bench_case_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
