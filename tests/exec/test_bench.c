// Cases of benchmarks, what is said of their samples, and that they move the bytes that they name.
#include "tests/check.h"

#include "exec/bench_cases.h"
#include "exec/bench_figures.h"
#include "exec/bench_kernel.h"
#include "exec/bench_noise.h"
#include "exec/bench_program.h"
#include "exec/detect.h"
#include "exec/host/host.h"

// Two hosts of two ranks.
static const uint32_t two_by_two[] = {0, 0, 1, 1};
static const BenchGround ground = {.ranks = 4, .hosts = two_by_two, .seed = 7};

static BenchList parse(const char *text, Arena *arena) {
    BenchList list = {0};
    Err err = {0};
    check_ok(bench_cases_parse("cases", text, &ground, arena, &list, &err), &err);
    return list;
}

static void refuse(const char *text, const char *message) {
    Arena arena = {0};
    BenchList list;
    Err err = {0};
    check_fails(bench_cases_parse("cases", text, &ground, &arena, &list, &err), &err, message);
    arena_free(&arena);
}

// ---- Samples

// Of 6 samples none is below the median with 1/64 = 1.6 %, at most one with 7/64 = 11 %: the 95 %
// interval is that of the first and the last, (60 - 10) / 35. Of 12 samples at most 2 are below it
// with (1 + 12 + 66) / 4096 = 1.9 %: the third and the tenth, (100 - 30) / 65. Of 5 one in 32 times
// none is: there is no interval.
static void test_bench_figures_tell_the_interval_of_the_median(void **state) {
    (void)state;
    Time six[] = {60, 10, 50, 20, 40, 30};
    Time twelve[] = {120, 10, 110, 20, 100, 30, 90, 40, 80, 50, 70, 60};
    BenchFigures figures = bench_figures_of(six, 6);
    assert_int_equal(figures.min_ps, 10);
    assert_int_equal(figures.p25_ps, 22); // a quarter of the way from the second to the third: 22.5
    assert_int_equal(figures.median_ps, 35);
    check_close(figures.interval, 50 / 35.0, 1e-12);
    check_close(bench_figures_of(twelve, 12).interval, 70 / 65.0, 1e-12);
    assert_true(isinf(bench_figures_of(six, 5).interval));
    assert_true(isinf(bench_figures_of(six, 1).interval));
}

// 10 s of processors pass, 1 s of it stolen; 6 s are used, 4 s by this process.
static void test_bench_noise_is_what_others_use(void **state) {
    (void)state;
    const BenchNoise begin = {true, 100, 3, 50, 7}, end = {true, 110, 4, 56, 11};
    BenchShares shares = bench_noise_between(&begin, &end);
    check_close(shares.stolen, 0.1, 1e-12);
    check_close(shares.foreign, 0.2, 1e-12);
    BenchNoise now = bench_noise_now();
    assert_true(now.is_known && now.all_s > now.busy_s && now.own_s > 0);
}

// ---- Cases

static void test_bench_cases_are_read(void **state) {
    (void)state;
    Arena arena = {0};
    BenchList list = parse("# remark\n"
                           "send_recv size=1KiB from=1 to=2 # between hosts\n\n"
                           "alltoall size=64KiB algorithm=hierarchical inner=2\n"
                           "all_gather size=1MiB ranks=2\r\n"
                           "alltoallv size=4KiB pairs=0>2,3>1\n",
                           &arena);
    assert_int_equal(list.count, 4);
    assert_true(list.communicates);
    assert_int_equal(list.cases[0].bytes, 1024);
    assert_int_equal(list.cases[0].nodes, 2);
    assert_int_equal(bench_cases_bytes(&list.cases[0], 1, 2), 1024);
    assert_int_equal(bench_cases_bytes(&list.cases[0], 2, 1), 0);
    assert_int_equal(list.cases[1].algorithm, ALGORITHM_HIERARCHICAL);
    assert_int_equal(list.cases[1].inner, 2);
    assert_int_equal(list.cases[2].ranks, 2);
    assert_int_equal(list.cases[2].nodes, 1); // both are on the first host
    assert_int_equal(list.cases[3].bytes, 8192);
    assert_int_equal(bench_cases_bytes(&list.cases[3], 3, 1), 4096);
    arena_free(&arena);
}

// Each rank sends at most what it is told, in whole elements, nothing to itself; another seed gives
// another matrix, the same one the same.
static void test_bench_cases_skew_by_seed(void **state) {
    (void)state;
    Arena arena = {0};
    BenchList list = parse("alltoallv size=4000B seed=1\nalltoallv size=4000B seed=1\n"
                           "alltoallv size=4000B seed=2\n",
                           &arena);
    for (uint32_t i = 0; i < 4; i++) {
        uint64_t sum = 0;
        for (uint32_t j = 0; j < 4; j++) {
            uint64_t bytes = list.cases[0].matrix[i * 4 + j];
            assert_int_equal(bytes % 4, 0);
            assert_true(i != j || bytes == 0);
            sum += bytes;
        }
        assert_true(sum <= 4000 && sum > 4000 - 4 * 4); // rounded down to elements
    }
    assert_memory_equal(list.cases[0].matrix, list.cases[1].matrix, 16 * sizeof(uint64_t));
    assert_memory_not_equal(list.cases[0].matrix, list.cases[2].matrix, 16 * sizeof(uint64_t));
    arena_free(&arena);
}

static void test_bench_cases_refuse_bad_lines(void **state) {
    (void)state;
    refuse("", "cases: no case");
    refuse("alltoal size=1KiB", "cases:1: unknown operation \"alltoal\", did you mean alltoall");
    refuse("alltoall", "cases:1: expected size=");
    refuse("\nalltoall size=6B", "cases:2: size: expected 4 B to 1 GiB in steps of 4 B, found 6B");
    refuse("alltoall size=1KiB root=3", "cases:1: alltoall takes no \"root\"");
    refuse("alltoall size=1KiB fast", "cases:1: expected up to 8 words KEY=VALUE");
    refuse("alltoall size=1KiB ranks=5", "cases:1: ranks: expected 2 to 4, found \"5\"");
    refuse("alltoall size=1KiB algorithm=tree", "cases:1: all-to-all has no algorithm tree");
    refuse("all_reduce size=1KiB algorithm=in-switch",
           "cases:1: algorithm in-switch: no back end here has such a switch");
    refuse("send_recv size=1KiB from=2 to=2", "cases:1: to: expected another rank than 2");
    refuse("alltoallv size=1KiB", "cases:1: expected seed= or pairs=");
    refuse("alltoallv size=1KiB pairs=0>1,2",
           "cases:1: pairs: expected FROM>TO with commas between, found \"2\"");
    refuse("alltoallv size=1KiB pairs=1>1",
           "cases:1: pairs: expected two ranks and each pair once, found 1>1");
    refuse("alltoallv size=1KiB pairs=0>1,1>0,0>1",
           "cases:1: pairs: expected two ranks and each pair once, found 0>1");
    refuse("alltoall size=4KiB size=8KiB", "cases:1: size= is there twice");
    refuse("gemm m=1 n=1 k=0", "cases:1: k: expected 1 to 1048576, found \"0\"");
    refuse("gemm m=1048576 n=1 k=1048576", "cases:1: a matrix over 1 GiB");
    refuse("gemm m=1 n=1 k=1 format=fp8",
           "cases:1: format: kernels here are of f32 and bf16, found fp8");
    refuse("stream_copy size=1KiB\nalltoall size=1KiB",
           "cases of stream_copy and of alltoall: expected communication alone or kernels alone, "
           "which are records of two kinds");
}

// Sets know where ranks are: with one rank a host there is no pair inside one, with one host none
// across. 5 sizes each.
static void test_bench_cases_sets_follow_the_hosts(void **state) {
    (void)state;
    const uint32_t apart[] = {0, 1}, together[] = {0, 0};
    const BenchGround grounds[] = {{2, apart, 1}, {2, together, 1}, ground};
    const uint32_t counts[] = {5, 5, 10};
    for (uint32_t i = 0; i < 3; i++) {
        Arena arena = {0};
        BenchList list;
        Err err = {0};
        check_ok(bench_cases_read("p2p", &grounds[i], &arena, &list, &err), &err);
        assert_int_equal(list.count, counts[i]);
        check_ok(bench_cases_read("all", &grounds[i], &arena, &list, &err), &err);
        check_ok(bench_cases_read("gemm,copy", &grounds[i], &arena, &list, &err), &err);
        assert_false(list.communicates);
        check_fails(bench_cases_read("p2p,some", &grounds[i], &arena, &list, &err), &err,
                    "unknown set of cases \"some\", expected " BENCH_SETS
                    ", or a file with a '.' or a '/'");
        arena_free(&arena);
    }
}

// ---- What they do

// The input of a rank is its own number in every byte.
static void fill(void *context, BufferId buffer, uint32_t rank, uint8_t *bytes, uint64_t count) {
    (void)context;
    memset(bytes, buffer % 2 == 0 ? (int)rank + 1 : 0, count);
}

static InterpResult run(const BenchList *list, BenchProgram *program, const uint32_t *order,
                        uint32_t repeats) {
    BackEnd host;
    InterpResult result;
    ComputeUnit nothing = {.name = "skip"};
    Err err = {0};
    check_ok(bench_program_open(list, 4, program, &err), &err);
    program->order = order;
    InterpOptions options = {.fill = fill,
                             .drill = bench_program_drill,
                             .context = program,
                             .spans = true,
                             .repeats = repeats};
    host_open(4, HOST_TIME_OUT_PS, &host);
    check_ok(interp_run(&program->job, &host, &nothing, &options, &result, &err), &err);
    host_close(&host);
    return result;
}

// The third case is of ranks 0 to 2: 4 + 4 + 3 spans in one go through all, each of the operation
// of its own case.
static void test_bench_program_runs_one_case_a_repeat(void **state) {
    (void)state;
    const uint32_t order[] = {2, 0, 1, 1, 2, 0};
    Arena arena = {0};
    BenchProgram program;
    BenchList list = parse("alltoall size=4KiB\nall_reduce size=4KiB algorithm=ring\n"
                           "alltoallv size=4KiB seed=1 ranks=3\n",
                           &arena);
    InterpResult result = run(&list, &program, order, 6);
    uint32_t spans[6] = {0};
    for (uint64_t i = 0; i < result.span_count; i++) {
        const InterpSpan *span = &result.spans[i];
        RoleId role = span->rank == 3 ? 1 : 0; // rank 3 is in fewer cases than the others
        assert_int_equal(span->op, program.ops[order[span->repeat] * 2 + role]);
        assert_true(span->start_ps >= result.begin_ps[span->repeat]);
        spans[span->repeat]++;
    }
    for (uint32_t i = 0; i < 6; i++) assert_int_equal(spans[i], order[i] == 2 ? 3 : 4);
    interp_free(&result);
    bench_program_close(&program);
    arena_free(&arena);
}

// 0 to 2 and 3 to 1, 8 bytes each: they are at the start of the outputs of 2 and 1.
static void test_bench_program_moves_the_bytes_of_a_matrix(void **state) {
    (void)state;
    const uint32_t order[] = {0};
    Arena arena = {0};
    BenchProgram program;
    BenchList list = parse("alltoallv size=8B pairs=0>2,3>1", &arena);
    InterpResult result = run(&list, &program, order, 1);
    for (uint32_t rank = 0; rank < 4; rank++) {
        uint8_t from = rank == 2 ? 1 : rank == 1 ? 4 : 0;
        for (uint32_t i = 0; i < 8; i++) assert_int_equal(interp_buffer(&result, 1, rank)[i], from);
    }
    interp_free(&result);
    bench_program_close(&program);
    arena_free(&arena);
}

static void test_bench_kernels_take_time(void **state) {
    (void)state;
    Arena arena = {0};
    BenchKernels kernels;
    BenchList list = parse("gemm m=8 n=64 k=64\ngemm m=8 n=64 k=64 format=bf16\n"
                           "stream_copy size=1MiB\n",
                           &arena);
    bench_kernel_open(&list, &kernels);
    for (uint32_t i = 0; i < 3; i++) assert_true(bench_kernel_run(&kernels, &list.cases[i]) > 0);
    bench_kernel_close(&kernels);
    arena_free(&arena);
}

// ---- A machine of cores

static void test_detect_cores_read_back(void **state) {
    (void)state;
    Topology topology, again;
    Text text = {0};
    Err err = {0};
    check_ok(detect_cores(6, "6 cores of X", "a test", &topology, &err), &err);
    topology_write(&topology, &text);
    check_ok(topology_parse("again", text.data, text.length, &again, &err), &err);
    assert_int_equal(again.digest, topology.digest);
    assert_non_null(strstr(text.data, "\"count\": 6"));
    check_fails(detect_cores(0, "", "", &topology, &err), &err,
                "found 0 cores, expected 1 to 4096");
    text_free(&text);
    topology_free(&topology);
    topology_free(&again);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bench_figures_tell_the_interval_of_the_median),
        cmocka_unit_test(test_bench_noise_is_what_others_use),
        cmocka_unit_test(test_bench_cases_are_read),
        cmocka_unit_test(test_bench_cases_skew_by_seed),
        cmocka_unit_test(test_bench_cases_refuse_bad_lines),
        cmocka_unit_test(test_bench_cases_sets_follow_the_hosts),
        cmocka_unit_test(test_bench_program_runs_one_case_a_repeat),
        cmocka_unit_test(test_bench_program_moves_the_bytes_of_a_matrix),
        cmocka_unit_test(test_bench_kernels_take_time),
        cmocka_unit_test(test_detect_cores_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
