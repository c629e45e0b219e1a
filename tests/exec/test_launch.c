// The net back end when something goes wrong: every run ends soon, with one line that names rank,
// operation and cause, and no process of it is left.
#include "tests/check.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "exec/clock.h"
#include "exec/net/control.h"
#include "exec/net/endpoint.h"
#include "exec/net/launch.h"
#include "exec/net/serve.h"
#include "tests/plan/hand_schedule.h"

#define SECOND PS_PER_SECOND
#define RANKS  4
#define SAYS   "--says" // of this program: what run_against starts

static const StepShape one_token = {.tokens = 1, .sequences = 1, .kv_tokens = 1, .qk_pairs = 1};

// Four ranks work, then send 4000 bytes to each other: three times.
static void make_schedule(Schedule *out) {
    schedule_init(out, "work", RANKS);
    RankSet all = {.count = RANKS, .repeat = 1};
    RoleId role = schedule_add_role(out, "all", all, 3);
    GroupFamily family = {.name = "all", .size = RANKS, .stride = 1, .count = 1};
    GroupId group = schedule_add_group(out, &family);
    BufferId in = hand_buffer(out, role, "in", 16000),
             result = hand_buffer(out, role, "out", 16000);
    BlockId block = schedule_add_block(out, role, "block");
    hand_memory(out, "work", 0);
    Op op = {.kind = OP_COLLECTIVE, .op_class = OP_CLASS_DISPATCH, .name = "exchange"};
    op.comm = (Comm){.collective = COLLECTIVE_ALL_TO_ALL,
                     .algorithm = ALGORITHM_DIRECT,
                     .group = group,
                     .bytes = extent_fixed(16000),
                     .element = 4,
                     .format = NUMFMT_F32};
    schedule_add_op(out, &op);
    hand_slice(out, in, SLICE_READ, 0, 16000);
    hand_slice(out, result, SLICE_WRITE, 0, 16000);
    schedule_add_segment(out, role, block, 1);
    schedule_finish(out);
}

// What one rank does instead of its second piece of work.
typedef enum Mishap {
    NO_FAULT,
    FAILS,
    IS_KILLED,
    DIES_WAITING, // of a signal, in the exchange, for which the others come late
    STOPS,
    KILLS_ITS_HOST,
    SLEEPS,
    ALL_STOP,      // every rank
    ALL_STOP_OFTEN // and go on
} Mishap;

typedef struct Trouble {
    Mishap fault;
    uint32_t rank;
} Trouble;

static bool prepare(void *self, const Job *job, TimelineFileWork *works, Err *err) {
    (void)self;
    (void)err;
    for (OpId id = 0; id < job->schedule->op_count; id++) works[id] = TIMELINE_FILE_MEASURED;
    return true;
}

static void pause_ms(long ms) {
    struct timespec pause = {.tv_nsec = ms * 1000000};
    nanosleep(&pause, NULL);
}

static void die_later(void) {
    pid_t victim = getpid();
    if (fork() != 0) return;
    pause_ms(200);
    kill(victim, SIGKILL);
    _exit(0);
}

// Stopped nearly all of 4.7 s, as by a program that limits the time of processors.
static void stop_often(void) {
    pid_t victim = getpid(), limiter = fork();
    for (uint32_t i = 0; limiter == 0 && i < 150; i++) {
        kill(victim, SIGSTOP);
        pause_ms(30);
        kill(victim, SIGCONT);
        pause_ms(1);
    }
    if (limiter == 0) _exit(0);
    while (waitpid(limiter, NULL, 0) < 0 && errno == EINTR) continue;
}

static bool work(void *self, const OpInstance *instance, Err *err) {
    const Trouble *trouble = self;
    if (instance->number != 1) return true;
    if (trouble->fault == ALL_STOP) raise(SIGSTOP);
    if (trouble->fault == ALL_STOP_OFTEN) stop_often();
    if (instance->rank != trouble->rank) {
        if (trouble->fault == DIES_WAITING) pause_ms(500);
        return true;
    }
    switch (trouble->fault) {
    case NO_FAULT: return true;
    case FAILS: return err_set(err, "broken on purpose");
    case IS_KILLED: raise(SIGKILL); return true;
    case DIES_WAITING: die_later(); return true;
    case STOPS: raise(SIGSTOP); return true;
    case KILLS_ITS_HOST: kill(getppid(), SIGKILL); return true;
    case SLEEPS: sleep(1000); return true;
    case ALL_STOP:
    case ALL_STOP_OFTEN: return true;
    }
    return true;
}

// A pipe whose other end all processes of the run inherit: it ends when the last of them has.
typedef struct Watch {
    int in, out;
} Watch;

static Watch watch_open(void) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    return (Watch){ends[0], ends[1]};
}

static void watch_close(Watch *watch) {
    struct pollfd end = {.fd = watch->in, .events = POLLIN};
    close(watch->out);
    if (poll(&end, 1, 5000) != 1) fail_msg("a process of the run is left");
    close(watch->in);
}

typedef struct Outcome {
    bool good;
    Err err;
    char machine[128];
    uint64_t spans;
    Time took_ps;
} Outcome;

static Outcome run(const LaunchOptions *launch, Mishap fault, uint32_t rank) {
    Schedule schedule;
    Job job;
    Load load = load_uniform();
    Trouble trouble = {fault, rank};
    ComputeUnit compute = {.name = "trouble", .self = &trouble, .prepare = prepare, .run = work};
    InterpOptions options = {.spans = true};
    InterpResult result;
    LaunchFacts facts;
    Outcome outcome = {0};
    Err err = {0};
    make_schedule(&schedule);
    check_ok(job_open(&schedule, &one_token, &load, &job, &err), &err);
    Watch watch = watch_open();
    Time begin_ps = clock_now();
    outcome.good = launch_run(&job, &compute, &options, launch, &result, &facts, &outcome.err);
    outcome.took_ps = clock_now() - begin_ps;
    outcome.spans = result.span_count;
    snprintf(outcome.machine, sizeof outcome.machine, "%s", text_string(&facts.machine));
    assert_true(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
    watch_close(&watch);
    launch_free(&facts);
    interp_free(&result);
    job_close(&job);
    schedule_free(&schedule);
    return outcome;
}

static const LaunchOptions one_host = {.time_out_ps = 20 * SECOND};
static const LaunchOptions two_hosts = {.hosts = "127.0.0.1:2,127.0.0.2:2",
                                        .time_out_ps = 20 * SECOND};

static void check_message(const Outcome *outcome, const char *message) {
    assert_false(outcome->good);
    check_text_equals(outcome->err.text, message);
}

static void check_part(const Outcome *outcome, const char *part) {
    assert_false(outcome->good);
    if (strstr(outcome->err.text, part) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", outcome->err.text, part);
}

// 4 ranks x 3 passes x 2 operations.
static void test_launch_without_faults(void **state) {
    (void)state;
    Outcome outcome = run(&one_host, NO_FAULT, 0);
    check_ok(outcome.good, &outcome.err);
    assert_int_equal(outcome.spans, 24);
    outcome = run(&two_hosts, NO_FAULT, 0);
    check_ok(outcome.good, &outcome.err);
    assert_int_equal(outcome.spans, 24);
}

// Hosts of one kernel are known to have one clock; others are asked, and the error is told.
static void test_launch_tells_how_far_clocks_may_be_off(void **state) {
    (void)state;
    LaunchOptions launch = two_hosts;
    Outcome outcome = run(&launch, NO_FAULT, 0);
    assert_string_equal(outcome.machine, "2 hosts x 2 ranks, tcp and shared memory, one clock");
    launch.asks_clocks = true;
    outcome = run(&launch, NO_FAULT, 0);
    check_ok(outcome.good, &outcome.err);
    const char *begin = "2 hosts x 2 ranks, tcp and shared memory, clocks within ";
    assert_memory_equal(outcome.machine, begin, strlen(begin));
    assert_non_null(strstr(outcome.machine + strlen(begin), " us"));
}

// What ended before is kept: rank 1 had work and exchange of pass 0; each other rank had work of
// pass 0, and the exchange and work of pass 1 if the news did not come first.
static void test_launch_names_the_operation_that_failed(void **state) {
    (void)state;
    Outcome outcome = run(&one_host, FAILS, 1);
    check_message(&outcome, "memory \"work\" of role \"all\" on rank 1: broken on purpose");
    assert_in_range(outcome.spans, 2 + 3 * 1, 2 + 3 * 3);
    outcome = run(&two_hosts, FAILS, 3);
    check_message(&outcome, "memory \"work\" of role \"all\" on rank 3: broken on purpose");
    assert_in_range(outcome.spans, 2 + 3 * 1, 2 + 3 * 3);
}

// It cannot say what it did; its host knows. The others had work of pass 0, and what follows up to
// work of pass 1 if the news did not come first. On two hosts the others may say that their
// connection ended before it is heard who died, or after.
static void test_launch_names_a_rank_that_was_killed(void **state) {
    (void)state;
    Outcome outcome = run(&one_host, IS_KILLED, 2);
    check_message(&outcome, "rank 2 was killed by signal 9 in memory \"work\" of role \"all\"");
    assert_in_range(outcome.spans, 3 * 1, 3 * 3);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        char message[128];
        snprintf(message, sizeof message,
                 "rank %u was killed by signal 9 in memory \"work\" of role \"all\"", rank);
        outcome = run(&two_hosts, IS_KILLED, rank);
        check_message(&outcome, message);
        assert_true(outcome.took_ps < 10 * SECOND);
    }
}

static void test_launch_names_a_rank_that_was_killed_while_it_waited(void **state) {
    (void)state;
    const char *message =
        "rank 2 was killed by signal 9 in collective \"exchange\" of role \"all\"";
    Outcome outcome = run(&one_host, DIES_WAITING, 2);
    check_message(&outcome, message);
    outcome = run(&two_hosts, DIES_WAITING, 2);
    check_message(&outcome, message);
}

// As on real hosts: an agent starts this program again, which then finds `main` of this file.
static LaunchOptions by_agent(Mishap fault, uint32_t rank, char words[3][64], char *pointers[3]) {
    LaunchOptions launch = two_hosts;
    launch.agent = "sh -c exec${IFS}\"$@\""; // $0 is the host, the rest what to run there
    snprintf(words[0], sizeof words[0], "%s", launch.hosts);
    snprintf(words[1], sizeof words[1], "%d", (int)fault);
    snprintf(words[2], sizeof words[2], "%u", rank);
    for (uint32_t i = 0; i < 3; i++) pointers[i] = words[i];
    launch.words = pointers;
    launch.word_count = 3;
    return launch;
}

static void test_launch_names_faults_through_agents(void **state) {
    (void)state;
    char words[3][64], *pointers[3];
    LaunchOptions launch = by_agent(NO_FAULT, 0, words, pointers);
    Outcome outcome = run(&launch, NO_FAULT, 0);
    check_ok(outcome.good, &outcome.err);
    assert_int_equal(outcome.spans, 24);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        char message[128];
        snprintf(message, sizeof message,
                 "rank %u was killed by signal 9 in memory \"work\" of role \"all\"", rank);
        launch = by_agent(IS_KILLED, rank, words, pointers);
        outcome = run(&launch, IS_KILLED, rank);
        check_message(&outcome, message);
    }
    launch = by_agent(FAILS, 3, words, pointers);
    outcome = run(&launch, FAILS, 3);
    check_message(&outcome, "memory \"work\" of role \"all\" on rank 3: broken on purpose");
    launch = by_agent(KILLS_ITS_HOST, 3, words, pointers);
    outcome = run(&launch, KILLS_ITS_HOST, 3);
    check_part(&outcome, "host 127.0.0.2: the agent \"sh -c exec");
    check_part(&outcome, " was killed by signal 9");
}

// A process that stands still answers nothing, not even to stop: it is killed after 2 s.
static void test_launch_names_a_silent_rank(void **state) {
    (void)state;
    LaunchOptions hasty = one_host;
    hasty.time_out_ps = SECOND / 2;
    Outcome outcome = run(&hasty, STOPS, 2);
    check_part(&outcome, "collective \"exchange\" of role \"all\" on rank ");
    check_part(&outcome, ": rank 2 is silent: no message of 4000 bytes within 500 ms");
    assert_true(outcome.took_ps < 5 * SECOND);
    hasty = two_hosts;
    hasty.time_out_ps = SECOND / 2;
    outcome = run(&hasty, STOPS, 0);
    check_part(&outcome, ": rank 0 is silent: no message of 4000 bytes within 500 ms");
}

// Nobody waits for a message: the process of the host looks after its ranks. 2 s without a sign,
// and 2 s for those that wait to say so first.
static void test_launch_ends_when_all_ranks_are_stopped(void **state) {
    (void)state;
    LaunchOptions hasty = two_hosts;
    hasty.time_out_ps = SECOND / 2;
    Outcome outcome = run(&hasty, ALL_STOP, 0);
    check_part(&outcome, " was stopped by a signal and did not go on in memory \"work\" of role");
    assert_true(outcome.took_ps < 10 * SECOND);
}

// Each stop is shorter than the 4 s, whenever they are looked at.
static void test_launch_goes_on_when_ranks_are_stopped_again_and_again(void **state) {
    (void)state;
    LaunchOptions hasty = two_hosts;
    hasty.time_out_ps = 2 * SECOND;
    Outcome outcome = run(&hasty, ALL_STOP_OFTEN, 0);
    check_ok(outcome.good, &outcome.err);
    assert_int_equal(outcome.spans, 24);
}

static void test_launch_survives_the_process_of_a_host(void **state) {
    (void)state;
    Outcome outcome = run(&two_hosts, KILLS_ITS_HOST, 3);
    check_part(&outcome, "host 127.0.0.2: its process was killed by signal 9");
}

// Nothing tells the others that the first process was killed, except that nobody is there.
static void test_launch_ends_with_the_first_process(void **state) {
    (void)state;
    Watch watch = watch_open();
    pid_t first = fork();
    if (first == 0) {
        run(&two_hosts, SLEEPS, 1);
        _exit(0);
    }
    assert_true(first > 0);
    struct timespec soon = {.tv_nsec = 300000000};
    nanosleep(&soon, NULL);
    kill(first, SIGKILL);
    waitpid(first, NULL, 0);
    watch_close(&watch);
}

static void test_launch_refuses_other_numbers_of_ranks(void **state) {
    (void)state;
    LaunchOptions launch = {.hosts = "127.0.0.1:2,127.0.0.2:3", .time_out_ps = SECOND};
    Outcome outcome = run(&launch, NO_FAULT, 0);
    check_message(&outcome, "the hosts have 5 ranks, the schedule has 4");
}

static void test_launch_refuses_hosts_that_it_cannot_be(void **state) {
    (void)state;
    LaunchOptions launch = {.hosts = "a:2,127.0.0.1:2", .time_out_ps = SECOND};
    Outcome outcome = run(&launch, NO_FAULT, 0);
    check_part(&outcome, "host a: \"a\" is no address, and no name that is known here");
    launch.interface = "no-such-interface";
    outcome = run(&launch, NO_FAULT, 0);
    check_part(&outcome,
               ": no network interface \"no-such-interface\" with an IPv4 or IPv6 address");
    // also where all ranks are on one host, and need none
    launch.hosts = "localhost:4";
    outcome = run(&launch, NO_FAULT, 0);
    check_part(&outcome,
               ": no network interface \"no-such-interface\" with an IPv4 or IPv6 address");
    launch.interface = "lo";
    launch.hosts = "192.0.2.1:4";
    outcome = run(&launch, NO_FAULT, 0);
    check_message(&outcome, "host 192.0.2.1: network interface \"lo\" does not have the address of "
                            "host \"192.0.2.1\"");
    // nor is another machine taken for this one
    launch.interface = NULL;
    outcome = run(&launch, NO_FAULT, 0);
    check_part(&outcome, "host 192.0.2.1: cannot listen on 192.0.2.1:0: ");
    launch = (LaunchOptions){.hosts = "127.0.0.1:2,192.0.2.1:2", .time_out_ps = SECOND};
    outcome = run(&launch, NO_FAULT, 0);
    check_part(&outcome, "host 192.0.2.1: cannot listen on 192.0.2.1:0: "
                         "no address of this machine");
}

static void test_launch_names_an_agent_that_fails(void **state) {
    (void)state;
    LaunchOptions launch = two_hosts;
    launch.agent = "/no/such/agent";
    Outcome outcome = run(&launch, NO_FAULT, 0);
    check_part(&outcome, ": cannot run the agent /no/such/agent: ");
    launch.agent = "false";
    outcome = run(&launch, NO_FAULT, 0);
    check_part(&outcome,
               ": the agent \"false\" ended with status 1 before moesim-run answered there");
    launch.agent = "sh -c exec${IFS}sleep${IFS}1000"; // says nothing and stays
    launch.time_out_ps = SECOND / 10;
    outcome = run(&launch, NO_FAULT, 0);
    check_part(&outcome, "did not connect within 200 ms");
    launch.time_out_ps = 20 * SECOND;
    launch.agent = "echo nonsense"; // and no message of ours
    outcome = run(&launch, NO_FAULT, 0);
    check_part(&outcome, ": another process said something malformed");
}

// Nobody types what was printed: after 10 time-outs of 50 ms the line says it again.
static void test_launch_names_a_host_that_nobody_started(void **state) {
    (void)state;
    char word[] = "run", *words[] = {word};
    LaunchOptions launch = two_hosts;
    launch.by_hand = "0";
    launch.words = words;
    launch.word_count = 1;
    launch.time_out_ps = SECOND / 20;
    Outcome outcome = run(&launch, NO_FAULT, 0);
    check_part(&outcome, "host 127.0.0.2 did not come to 127.0.0.1:");
    check_part(&outcome, " within 500 ms: type there: moesim-run run --join-at 127.0.0.1:");
    launch.by_hand = "70000";
    outcome = run(&launch, NO_FAULT, 0);
    check_message(&outcome, "--by-hand: expected a port up to 65535, found \"70000\"");
}

// A host that says these messages and then nothing more; it ends when the last is that it is done.
typedef struct Said {
    ControlKind kind;
    uint32_t from;
    const void *data;
    size_t count;
} Said;

static const ServeWhere nowhere;
static const Time one_clock = SERVE_CLOCK_ONE;

// The whole run when one host of all ranks is an agent that says this: the one line.
static Outcome run_against(const Said *said, uint32_t count) {
    char path[256], agent[400];
    const char *base = getenv("TMPDIR");
    Err err = {0};
    snprintf(path, sizeof path, "%.200s/moesim_XXXXXX", base != NULL ? base : "/tmp");
    int file = mkstemp(path);
    assert_true(file >= 0);
    for (uint32_t i = 0; i < count; i++)
        check_ok(control_write(file, said[i].kind, said[i].from, said[i].data, said[i].count, &err),
                 &err);
    close(file);
    bool ends = said[count - 1].kind == CONTROL_DONE;
    snprintf(agent, sizeof agent, "/proc/self/exe " SAYS " %s %s", path, ends ? "ends" : "stays");
    char word[] = "run", *words[] = {word};
    LaunchOptions launch = {.hosts = "127.0.0.1:4",
                            .agent = agent,
                            .words = words,
                            .word_count = 1,
                            .time_out_ps = SECOND / 2};
    Outcome outcome = run(&launch, NO_FAULT, 0);
    unlink(path);
    return outcome;
}

// SAYS FILE ends|stays HOST...: copies the file to the first process; what stays is killed.
static int say(const char *path, const char *then) {
    char bytes[4096];
    size_t count;
    FILE *file = fopen(path, "rb");
    while (file != NULL && (count = fread(bytes, 1, sizeof bytes, file)) > 0)
        if (write(STDOUT_FILENO, bytes, count) < 0) return 1;
    if (file != NULL) fclose(file);
    while (strcmp(then, "stays") == 0) pause();
    return 0;
}

// Connected, it owes a sign of life every now and then: 2 s are the least that it is waited for.
static void test_launch_names_a_host_that_is_silent(void **state) {
    (void)state;
    const Said said[] = {{CONTROL_LISTENING, 0, &nowhere, sizeof nowhere},
                         {CONTROL_CONNECTED, 0, &one_clock, sizeof one_clock}};
    Outcome outcome = run_against(said, 2);
    check_message(&outcome, "host 127.0.0.1: said nothing within 2.00 s");
}

// A rank that says that it is done has left a result.
static void test_launch_names_a_rank_without_a_result(void **state) {
    (void)state;
    const Said said[] = {{CONTROL_LISTENING, 0, &nowhere, sizeof nowhere},
                         {CONTROL_CONNECTED, 0, &one_clock, sizeof one_clock},
                         {CONTROL_DONE, 0, NULL, 0},
                         {CONTROL_DONE, CONTROL_HOST, NULL, 0}};
    Outcome outcome = run_against(said, 4);
    check_message(&outcome, "host 127.0.0.1: rank 0 ended without a result");
}

static void test_launch_refuses_times_that_cannot_be(void **state) {
    (void)state;
    ServeRound round = {.round = 1, .time_ps = TIME_MAX};
    const Said said[] = {{CONTROL_LISTENING, 0, &nowhere, sizeof nowhere},
                         {CONTROL_CONNECTED, 0, &one_clock, sizeof one_clock},
                         {CONTROL_ARRIVED, 0, &round, sizeof round}};
    Outcome outcome = run_against(said, 3);
    check_message(&outcome, "host 127.0.0.1: said that it came to round 1 at 9223372036854775807 "
                            "ps, which cannot be");
}

// What a host says stays on its line, and is as long as a line.
static void test_launch_keeps_lines_of_hosts_to_their_line(void **state) {
    (void)state;
    static const char text[] = "one\ntwo\x1b[31m";
    static const char noise[ERR_TEXT_MAX];
    Said said = {CONTROL_FAILED, CONTROL_HOST, text, sizeof text - 1};
    Outcome outcome = run_against(&said, 1);
    check_message(&outcome, "host 127.0.0.1: one?two?[31m");
    said = (Said){CONTROL_FAILED, 2, noise, sizeof noise};
    outcome = run_against(&said, 1);
    check_message(&outcome,
                  "host 127.0.0.1: said \"failed\" with 1024 bytes, expected less than 1024");
}

// What the agent starts: HOSTS FAULT RANK --join.
static int join(char **words) {
    Schedule schedule;
    Job job;
    Load load = load_uniform();
    Trouble trouble = {(Mishap)atoi(words[1]), (uint32_t)atoi(words[2])};
    ComputeUnit compute = {.name = "trouble", .self = &trouble, .prepare = prepare, .run = work};
    InterpOptions options = {.spans = true};
    LaunchOptions launch = {.hosts = words[0], .agent = "sh", .time_out_ps = 20 * SECOND};
    Err err = {0};
    make_schedule(&schedule);
    bool good = job_open(&schedule, &one_token, &load, &job, &err) &&
                launch_join(&job, &compute, &options, &launch, NULL, &err);
    job_close(&job);
    schedule_free(&schedule);
    if (!good) fprintf(stderr, "%s\n", err.text);
    return good ? 0 : 2;
}

int main(int argc, char **argv) {
    if (argc > 3 && strcmp(argv[1], SAYS) == 0) return say(argv[2], argv[3]);
    if (argc == 5 && strcmp(argv[4], LAUNCH_JOIN_WORD) == 0) return join(argv + 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_launch_without_faults),
        cmocka_unit_test(test_launch_tells_how_far_clocks_may_be_off),
        cmocka_unit_test(test_launch_names_the_operation_that_failed),
        cmocka_unit_test(test_launch_names_a_rank_that_was_killed),
        cmocka_unit_test(test_launch_names_a_rank_that_was_killed_while_it_waited),
        cmocka_unit_test(test_launch_names_faults_through_agents),
        cmocka_unit_test(test_launch_names_a_host_that_nobody_started),
        cmocka_unit_test(test_launch_names_a_silent_rank),
        cmocka_unit_test(test_launch_ends_when_all_ranks_are_stopped),
        cmocka_unit_test(test_launch_goes_on_when_ranks_are_stopped_again_and_again),
        cmocka_unit_test(test_launch_names_a_host_that_is_silent),
        cmocka_unit_test(test_launch_names_a_rank_without_a_result),
        cmocka_unit_test(test_launch_refuses_times_that_cannot_be),
        cmocka_unit_test(test_launch_keeps_lines_of_hosts_to_their_line),
        cmocka_unit_test(test_launch_survives_the_process_of_a_host),
        cmocka_unit_test(test_launch_ends_with_the_first_process),
        cmocka_unit_test(test_launch_refuses_other_numbers_of_ranks),
        cmocka_unit_test(test_launch_refuses_hosts_that_it_cannot_be),
        cmocka_unit_test(test_launch_names_an_agent_that_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
