// Conformance of the back ends that need nothing else than this process and its children: data as
// on the host back end, byte for byte, and times that could have been.
#include "tests/check.h"

#include "exec/host/host.h"
#include "exec/net/launch.h"
#include "tests/exec/conformance.h"
#include "tests/sim/sim_machine.h"

#define TIME_OUT_PS (20 * PS_PER_SECOND)

static const ComputeUnit nothing = {.name = "skip"};
static const StepShape one_token = {.tokens = 1, .sequences = 1, .kv_tokens = 1, .qk_pairs = 1};

static int by_op_and_rank(const void *left, const void *right) {
    const ConformanceSpan *a = left, *b = right;
    if (a->op != b->op) return a->op < b->op ? -1 : 1;
    if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
    if (a->start_ps != b->start_ps) return a->start_ps < b->start_ps ? -1 : 1;
    return a->end_ps < b->end_ps ? -1 : a->end_ps > b->end_ps;
}

static void check_spans(const Conformance *conformance, const char *who, ConformanceSpan *spans,
                        uint64_t count) {
    qsort(spans, count, sizeof *spans, by_op_and_rank);
    conformance_check(conformance, who, spans, count);
    mem_free(spans);
}

static void check_result(const Conformance *conformance, const char *who,
                         const InterpResult *result) {
    ConformanceSpan *spans = mem_alloc(result->span_count, sizeof *spans);
    for (uint64_t i = 0; i < result->span_count; i++) {
        const InterpSpan *span = &result->spans[i];
        spans[i] = (ConformanceSpan){span->op, span->rank, span->start_ps, span->end_ps};
    }
    check_spans(conformance, who, spans, result->span_count);
}

static InterpOptions options_of(Conformance *conformance) {
    return (InterpOptions){.fill = conformance_fill, .context = conformance, .spans = true};
}

static void run_on_host(Conformance *conformance, InterpResult *out) {
    InterpOptions options = options_of(conformance);
    BackEnd back_end;
    Err err = {0};
    host_open(conformance->schedule.rank_count, TIME_OUT_PS, &back_end);
    check_ok(interp_run(&conformance->job, &back_end, &nothing, &options, out, &err), &err);
    host_close(&back_end);
}

static void check_same_bytes(const Conformance *conformance, const InterpResult *got,
                             const InterpResult *want) {
    for (BufferId id = 0; id < conformance->schedule.buffer_count; id++) {
        assert_int_equal(got->size_B[id], want->size_B[id]);
        for (uint32_t rank = 0; rank < conformance->schedule.rank_count; rank++) {
            const uint8_t *a = interp_buffer(got, id, rank), *b = interp_buffer(want, id, rank);
            assert_int_equal(a == NULL, b == NULL);
            if (a != NULL && memcmp(a, b, (size_t)want->size_B[id]) != 0)
                fail_msg("%s: buffer %u of rank %u differs", conformance->name, id, rank);
        }
    }
    for (OpId id = 0; id < conformance->schedule.op_count; id++)
        assert_int_equal(got->instances[id], want->instances[id]);
    assert_memory_equal(got->linked_B, want->linked_B, sizeof want->linked_B);
    assert_memory_equal(got->local_B, want->local_B, sizeof want->local_B);
}

// `hosts` is a list, or NULL for one host, for schedules of 4 ranks; those of 8 have twice as many
// on each.
static void run_on_net(const char *who, const char *of_four, const char *of_eight) {
    for (uint32_t i = 0; i < CONFORMANCE_CASES; i++) {
        Conformance conformance;
        InterpResult want, got;
        LaunchFacts facts;
        Err err = {0};
        conformance_open(i, &conformance);
        InterpOptions options = options_of(&conformance);
        bool is_four = conformance.schedule.rank_count == 4;
        LaunchOptions net = {.hosts = is_four ? of_four : of_eight, .time_out_ps = TIME_OUT_PS};
        run_on_host(&conformance, &want);
        check_ok(launch_run(&conformance.job, &nothing, &options, &net, &got, &facts, &err), &err);
        check_same_bytes(&conformance, &got, &want);
        check_result(&conformance, who, &got);
        launch_free(&facts);
        interp_free(&got);
        interp_free(&want);
        conformance_close(&conformance);
    }
}

static void test_conformance_host(void **state) {
    (void)state;
    for (uint32_t i = 0; i < CONFORMANCE_CASES; i++) {
        Conformance conformance;
        InterpResult result;
        conformance_open(i, &conformance);
        run_on_host(&conformance, &result);
        check_result(&conformance, "host", &result);
        interp_free(&result);
        conformance_close(&conformance);
    }
}

static void test_conformance_net_on_one_host(void **state) {
    (void)state;
    run_on_net("net", NULL, NULL);
}

// Two addresses of this machine stand for two hosts, so that both kinds of connection are used.
static void test_conformance_net_on_two_hosts(void **state) {
    (void)state;
    run_on_net("net on two hosts", "127.0.0.1:2,127.0.0.2:2", "127.0.0.1:4,127.0.0.2:4");
}

static void test_conformance_net_of_uneven_hosts(void **state) {
    (void)state;
    run_on_net("net on three hosts", "127.0.0.1:1,127.0.0.2:2,127.0.0.3",
               "127.0.0.1:5,127.0.0.2:2,127.0.0.3");
}

static void simulate(const Conformance *conformance, Timeline *out) {
    Arena arena = {0};
    SimMachine machine;
    SimOptions options = {.form = SIM_EXPANDED, .keep_spans = true};
    Err err = {0};
    sim_machine_open(&machine,
                     sim_machine_switch(&arena, conformance->schedule.rank_count, 1, "100 GB/s"));
    check_ok(sim_run(&machine.fabric, &machine.model, &conformance->schedule, &one_token,
                     &conformance->load, &options, out, &err),
             &err);
    sim_machine_close(&machine);
    arena_free(&arena);
}

static void test_conformance_simulator(void **state) {
    (void)state;
    for (uint32_t i = 0; i < CONFORMANCE_CASES; i++) {
        Conformance conformance;
        Timeline timeline = {0};
        conformance_open(i, &conformance);
        simulate(&conformance, &timeline);
        ConformanceSpan *spans = mem_alloc(timeline.span_count, sizeof *spans);
        for (uint64_t k = 0; k < timeline.span_count; k++) {
            const Span *span = &timeline.spans[k];
            spans[k] = (ConformanceSpan){span->op, timeline.members[span->member].first_rank,
                                         span->start_ps, span->end_ps};
        }
        check_spans(&conformance, "simulator", spans, timeline.span_count);
        timeline_free(&timeline);
        conformance_close(&conformance);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conformance_host),
        cmocka_unit_test(test_conformance_simulator),
        cmocka_unit_test(test_conformance_net_on_one_host),
        cmocka_unit_test(test_conformance_net_on_two_hosts),
        cmocka_unit_test(test_conformance_net_of_uneven_hosts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
