// The interpreter: order of streams, waits, repeats, failures; on the host back end and on ones
// that misbehave.
#include "tests/check.h"

#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>

#include "exec/host/host.h"
#include "tests/plan/hand_schedule.h"

static const StepShape one_token = {1, 1, 1, 1};

// Threads of this process; 0 where the system does not say.
static uint32_t count_threads(void) {
    DIR *folder = opendir("/proc/self/task");
    uint32_t count = 0;
    if (folder == NULL) return 0;
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder))
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

typedef struct Setup {
    Schedule schedule;
    Load load;
    Job job;
    BackEnd host;
    InterpOptions options;
    InterpResult result;
    uint32_t threads;
} Setup;

static void open_setup(Setup *setup, Time time_out_ps) {
    Err err = {0};
    setup->threads = count_threads();
    setup->load = load_uniform();
    setup->options.spans = true;
    check_ok(job_open(&setup->schedule, &one_token, &setup->load, &setup->job, &err), &err);
    host_open(setup->schedule.rank_count, time_out_ps, &setup->host);
}

// No thread of the run is left.
static void close_setup(Setup *setup) {
    interp_free(&setup->result);
    host_close(&setup->host);
    job_close(&setup->job);
    schedule_free(&setup->schedule);
    assert_int_equal(count_threads(), setup->threads);
}

// ---- Order

#define ITERATIONS 50
#define REPEATS    3

// Operations 0 and 1 on stream 0, then 2 on stream 1, which waits for 0; 0 waits for 2: for that of
// the iteration before.
static void make_two_streams(Schedule *schedule, uint32_t ranks) {
    schedule_init(schedule, "two streams", ranks);
    RankSet set = {.count = ranks, .repeat = 1};
    RoleId role = schedule_add_role(schedule, "all", set, 1);
    BlockId block = schedule_add_block(schedule, role, "layer");
    hand_memory(schedule, "a", 0);
    schedule_add_wait(schedule, 2);
    hand_memory(schedule, "b", 0);
    hand_memory(schedule, "c", 1);
    schedule_add_wait(schedule, 0);
    schedule_add_segment(schedule, role, block, ITERATIONS);
    schedule_finish(schedule);
}

// Counts what has run, and looks at what should have.
typedef struct Watch {
    _Atomic uint64_t ended[2][3]; // [rank][operation]
    _Atomic uint32_t wrong, fails_at;
    _Atomic uint32_t asked[3]; // by BackEnd.wait, for each operation
} Watch;

static bool run_all(void *self, const Job *job, TimelineFileWork *works, Err *err) {
    (void)self;
    (void)err;
    for (OpId id = 0; id < job->schedule->op_count; id++)
        if (works[id] == TIMELINE_FILE_SKIPPED) works[id] = TIMELINE_FILE_MEASURED;
    return true;
}

// Instance k of a waits for instance k - 1 of c, that of c for instance k of a.
static bool watch(void *self, const OpInstance *instance, Err *err) {
    Watch *w = self;
    OpId op = instance->cursor.op;
    _Atomic uint64_t *ended = w->ended[instance->rank];
    uint64_t number = instance->number;
    if (w->fails_at != 0 && number == w->fails_at && op == 1 && instance->rank == 1)
        return err_set(err, "the unit has no such kernel");
    bool good = atomic_load(&ended[op]) == number;
    // the first iteration of a run finds no c before it: the ones of earlier runs have ended anyhow
    if (op == 0) good = good && atomic_load(&ended[2]) >= number;
    if (op == 2) good = good && atomic_load(&ended[0]) > number;
    if (!good) atomic_fetch_add(&w->wrong, 1);
    atomic_fetch_add(&ended[op], 1);
    return true;
}

static void test_interp_keeps_the_order_of_streams_and_waits(void **state) {
    (void)state;
    Setup setup = {.options.repeats = REPEATS};
    Watch w = {0};
    ComputeUnit unit = {.name = "watch", .self = &w, .prepare = run_all, .run = watch};
    Err err = {0};
    make_two_streams(&setup.schedule, 2);
    open_setup(&setup, HOST_TIME_OUT_PS);
    check_ok(interp_run(&setup.job, &setup.host, &unit, &setup.options, &setup.result, &err), &err);
    assert_int_equal(w.wrong, 0);
    assert_int_equal(setup.result.instances[2], 2 * ITERATIONS * REPEATS);
    assert_int_equal(setup.result.span_count, 3 * 2 * ITERATIONS * REPEATS);
    for (uint64_t i = 0; i < setup.result.span_count; i++) {
        const InterpSpan *span = &setup.result.spans[i];
        assert_true(span->end_ps >= span->start_ps);
        assert_true(span->start_ps >= setup.result.begin_ps[span->repeat]);
    }
    close_setup(&setup);
}

static Watch *the_watch; // of the back end below, whose `self` is that of the host

// Before c waits for instance k of a, and a for instance k - 1 of c.
static bool watch_wait(void *self, const OpInstance *instance, OpId on, uint64_t number, Err *err) {
    (void)self;
    (void)err;
    uint64_t want = instance->cursor.op == 2 ? instance->number : instance->number - 1;
    if (number != want || on == instance->cursor.op) atomic_fetch_add(&the_watch->wrong, 1);
    atomic_fetch_add(&the_watch->asked[on], 1);
    return true;
}

// A back end that only issues is asked to wait across streams. The first a of each run waits for
// nothing: 49 waits for c, 50 for a, in 3 runs.
static void test_interp_asks_the_back_end_to_wait(void **state) {
    (void)state;
    Setup setup = {.options.repeats = REPEATS};
    Watch w = {0};
    ComputeUnit unit = {.name = "watch", .self = &w, .prepare = run_all, .run = watch};
    Err err = {0};
    make_two_streams(&setup.schedule, 1);
    open_setup(&setup, HOST_TIME_OUT_PS);
    setup.host.wait = watch_wait;
    the_watch = &w;
    check_ok(interp_run(&setup.job, &setup.host, &unit, &setup.options, &setup.result, &err), &err);
    assert_int_equal(w.wrong, 0);
    assert_int_equal(w.asked[2], (ITERATIONS - 1) * REPEATS);
    assert_int_equal(w.asked[0], ITERATIONS * REPEATS);
    close_setup(&setup);
}

// ---- Repeats

static void fill_numbers(void *context, BufferId buffer, uint32_t rank, uint8_t *bytes,
                         uint64_t count) {
    (void)context;
    (void)rank;
    float value = buffer % 2 == 1 ? 1.0F : 0.0F; // tokens are 0, numbers 1
    memcpy(bytes, &value, count);
}

// A ring of 3 passes with lag 2 (test_host.c) leaves 5 on rank 0 and 8 on rank 3, each time from
// new: the messages that nobody took of a run do not reach the next one.
static void test_interp_repeats_a_run_from_the_same_bytes(void **state) {
    (void)state;
    for (uint32_t repeats = 1; repeats <= 4; repeats++) {
        Setup setup = {.options = {.repeats = repeats, .fill = fill_numbers}};
        const ComputeUnit nothing = {0};
        float first, last;
        Err err = {0};
        hand_ring(3, 2, &setup.schedule);
        open_setup(&setup, HOST_TIME_OUT_PS);
        check_ok(interp_run(&setup.job, &setup.host, &nothing, &setup.options, &setup.result, &err),
                 &err);
        memcpy(&first, interp_buffer(&setup.result, 0, 0), sizeof first);
        memcpy(&last, interp_buffer(&setup.result, 6, 3), sizeof last);
        assert_true(first == 5 && last == 8);
        assert_int_equal(setup.result.linked_B[OP_CLASS_PIPELINE], 4 * 4 * 3 * repeats);
        close_setup(&setup);
    }
}

// ---- Failures

// Rank 1 fails at its 21st b; what ended before is kept, and rank 0 ends early or not.
static void test_interp_names_what_failed(void **state) {
    (void)state;
    Setup setup = {.options.repeats = REPEATS};
    Watch w = {.fails_at = 20};
    ComputeUnit unit = {.name = "watch", .self = &w, .prepare = run_all, .run = watch};
    Err err = {0};
    make_two_streams(&setup.schedule, 2);
    open_setup(&setup, HOST_TIME_OUT_PS);
    check_fails(interp_run(&setup.job, &setup.host, &unit, &setup.options, &setup.result, &err),
                &err, "memory \"b\" of role \"all\" on rank 1: the unit has no such kernel");
    uint32_t of_b = 0;
    for (uint64_t i = 0; i < setup.result.span_count; i++)
        of_b += setup.result.spans[i].op == 1 && setup.result.spans[i].rank == 1;
    assert_int_equal(of_b, 20);
    assert_true(setup.result.instances[1] >= 20 && setup.result.instances[1] <= 20 + ITERATIONS);
    close_setup(&setup);
}

// Two ranks: 0 sends to 1.
static void make_message(Schedule *schedule) {
    schedule_init(schedule, "message", 2);
    for (RoleId role = 0; role < 2; role++) {
        RankSet ranks = {.first = role, .count = 1, .repeat = 1};
        schedule_add_role(schedule, role == 0 ? "sender" : "receiver", ranks, 1);
        hand_buffer(schedule, role, "bytes", 8);
    }
    for (RoleId role = 0; role < 2; role++) {
        BlockId block = schedule_add_block(schedule, role, "block");
        hand_message(schedule, role == 0 ? OP_SEND : OP_RECV, role == 0 ? "send" : "receive",
                     1 - role, 0, 8);
        hand_slice(schedule, role, role == 0 ? SLICE_READ : SLICE_WRITE, 0, 8);
        schedule_add_segment(schedule, role, block, 1);
    }
    schedule_finish(schedule);
}

// The host back end, but rank 0 says nothing until the run is over.
typedef struct Silent {
    BackEnd host;
    _Atomic bool is_over;
} Silent;

static bool silent_exchange(void *self, uint32_t rank, const Message *messages, uint32_t count,
                            Err *err) {
    Silent *silent = self;
    if (rank != 0) return silent->host.exchange(silent->host.self, rank, messages, count, err);
    while (!atomic_load(&silent->is_over)) sched_yield();
    return err_set(err, "it was silent");
}

static bool silent_start(void *self, uint32_t rank, Err *err) {
    Silent *silent = self;
    return silent->host.start(silent->host.self, rank, err);
}

static Time silent_now(void *self) {
    Silent *silent = self;
    return silent->host.now(silent->host.self);
}

static void silent_abort(void *self, uint32_t rank, const Err *why) {
    Silent *silent = self;
    silent->host.abort(silent->host.self, rank, why);
    atomic_store(&silent->is_over, true);
}

static void test_interp_ends_when_a_peer_is_silent(void **state) {
    (void)state;
    Setup setup = {0};
    const ComputeUnit nothing = {0};
    Err err = {0};
    make_message(&setup.schedule);
    open_setup(&setup, PS_PER_SECOND / 5);
    Silent silent = {.host = setup.host};
    BackEnd back_end = {.name = "silent",
                        .self = &silent,
                        .exchange = silent_exchange,
                        .now = silent_now,
                        .start = silent_start,
                        .abort = silent_abort};
    check_fails(
        interp_run(&setup.job, &back_end, &nothing, &setup.options, &setup.result, &err), &err,
        "recv \"receive\" of role \"receiver\" on rank 1: no message of rank 0 within 200 ms");
    assert_int_equal(setup.result.span_count, 0);
    close_setup(&setup);
}

// Rank 1 is in no process that ever starts.
static void test_interp_ends_when_a_rank_does_not_start(void **state) {
    (void)state;
    const uint32_t ranks[] = {0};
    Setup setup = {.options = {.ranks = ranks, .rank_count = 1}};
    const ComputeUnit nothing = {0};
    Err err = {0};
    make_message(&setup.schedule);
    open_setup(&setup, PS_PER_SECOND / 5);
    check_fails(interp_run(&setup.job, &setup.host, &nothing, &setup.options, &setup.result, &err),
                &err, "rank 0 at the start: 1 of 2 ranks came within 200 ms");
    close_setup(&setup);
}

static void test_interp_refuses_more_streams_than_threads(void **state) {
    (void)state;
    Setup setup = {0};
    const ComputeUnit nothing = {0};
    Err err = {0};
    make_two_streams(&setup.schedule, 513);
    open_setup(&setup, HOST_TIME_OUT_PS);
    check_fails(interp_run(&setup.job, &setup.host, &nothing, &setup.options, &setup.result, &err),
                &err, "513 ranks have 1026 streams together, expected at most 1024 in a process");
    close_setup(&setup);
}

static bool supports_no_rings(void *self, const Op *op, Err *err) {
    (void)self;
    return op->comm.algorithm != ALGORITHM_RING ||
           err_set(err, "has no %s", algorithm_names[op->comm.algorithm]);
}

static void test_interp_refuses_what_the_back_end_does_not_support(void **state) {
    (void)state;
    HandCollective hand = {.collective = COLLECTIVE_ALL_REDUCE,
                           .algorithm = ALGORITHM_RING,
                           .n = 2,
                           .bytes = 8,
                           .room_B = 8,
                           .element = 4,
                           .format = NUMFMT_F32};
    Setup setup = {0};
    const ComputeUnit nothing = {0};
    Err err = {0};
    hand_collective(&hand, &setup.schedule);
    open_setup(&setup, HOST_TIME_OUT_PS);
    setup.host.supports = supports_no_rings;
    check_fails(interp_run(&setup.job, &setup.host, &nothing, &setup.options, &setup.result, &err),
                &err, "collective \"comm\" of role \"all\": has no ring");
    close_setup(&setup);
}

// ---- The host back end alone

// A post of 4 bytes is received as 8.
static void test_interp_host_names_both_lengths(void **state) {
    (void)state;
    BackEnd host;
    uint8_t bytes[8] = {0};
    Err err = {0};
    const Message post = {.kind = MESSAGE_POST, .peer = 1, .tag = 7, .bytes = bytes, .count = 4},
                  receive = {.kind = MESSAGE_RECV, .peer = 0, .tag = 7, .bytes = bytes, .count = 8};
    host_open(2, PS_PER_SECOND, &host);
    check_ok(host.exchange(host.self, 0, &post, 1, &err), &err);
    check_fails(host.exchange(host.self, 1, &receive, 1, &err), &err,
                "a message of 4 bytes of rank 0, expected 8");
    host_close(&host);
}

// A group in which one message never comes: the other is taken back, so that nothing writes to it
// afterwards, and the line names the one that is missing.
static void test_interp_host_takes_back_what_nobody_answers(void **state) {
    (void)state;
    BackEnd host;
    uint8_t bytes[2] = {1, 0}, other = 9;
    Err err = {0};
    const Message group[] = {
        {.kind = MESSAGE_SEND, .peer = 1, .tag = 1, .bytes = bytes, .count = 1},
        {.kind = MESSAGE_RECV, .peer = 1, .tag = 2, .bytes = bytes + 1, .count = 1}};
    const Message post = {.kind = MESSAGE_POST, .peer = 0, .tag = 2, .bytes = &other, .count = 1};
    host_open(2, PS_PER_SECOND / 20, &host);
    check_fails(host.exchange(host.self, 0, group, 2, &err), &err,
                "no receive at rank 1 within 50.0 ms");
    check_ok(host.exchange(host.self, 1, &post, 1, &err), &err);
    assert_int_equal(bytes[1], 0);
    host_close(&host);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interp_keeps_the_order_of_streams_and_waits),
        cmocka_unit_test(test_interp_asks_the_back_end_to_wait),
        cmocka_unit_test(test_interp_repeats_a_run_from_the_same_bytes),
        cmocka_unit_test(test_interp_names_what_failed),
        cmocka_unit_test(test_interp_ends_when_a_peer_is_silent),
        cmocka_unit_test(test_interp_ends_when_a_rank_does_not_start),
        cmocka_unit_test(test_interp_refuses_more_streams_than_threads),
        cmocka_unit_test(test_interp_refuses_what_the_back_end_does_not_support),
        cmocka_unit_test(test_interp_host_names_both_lengths),
        cmocka_unit_test(test_interp_host_takes_back_what_nobody_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
