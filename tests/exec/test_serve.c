// The process of one host, whose first process is played by the test.
#include "tests/check.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exec/net/control.h"
#include "exec/net/serve.h"
#include "tests/plan/hand_schedule.h"

#define SECOND PS_PER_SECOND
#define RANKS  4

static const StepShape one_token = {.tokens = 1, .sequences = 1, .kv_tokens = 1, .qk_pairs = 1};

// Four ranks with one operation each.
static void make_schedule(Schedule *out) {
    schedule_init(out, "work", RANKS);
    RankSet all = {.count = RANKS, .repeat = 1};
    RoleId role = schedule_add_role(out, "all", all, 1);
    BlockId block = schedule_add_block(out, role, "block");
    hand_memory(out, "work", 0);
    schedule_add_segment(out, role, block, 1);
    schedule_finish(out);
}

// The process of a host whose first process says `setup`: what it answers.
static void check_answer(const ServeSetup *setup, const char *answer) {
    Schedule schedule;
    Job job;
    Load load = load_uniform();
    Hosts hosts;
    ComputeUnit compute = {.name = "skip"};
    InterpOptions options = {0};
    ControlReader reader = {0};
    ControlMessage message = {0};
    Err err = {0}, unheard = {0};
    int ends[2], status;
    make_schedule(&schedule);
    check_ok(job_open(&schedule, &one_token, &load, &job, &err), &err);
    hosts_one(RANKS, &hosts);
    ServeJob serve = {.job = &job, .compute = &compute, .options = &options, .hosts = &hosts};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        _exit(serve_run(&serve, ends[1], ends[1], SECOND, &unheard) ? 0 : 1);
    }
    close(ends[1]);
    check_ok(control_write(ends[0], CONTROL_SETUP, 0, setup, sizeof *setup, &err), &err);
    bool has = false, is_open = true;
    while (!has && is_open) {
        check_ok(control_read(&reader, ends[0], &is_open, &err), &err);
        check_ok(control_next(&reader, &message, &has, &err), &err);
    }
    assert_int_equal(message.kind, CONTROL_FAILED);
    char text[ERR_TEXT_MAX];
    snprintf(text, sizeof text, "%.*s", (int)message.count, (const char *)message.data);
    check_text_equals(text, answer);
    assert_int_equal(waitpid(child, &status, 0), child);
    close(ends[0]);
    control_free(&reader);
    hosts_free(&hosts);
    job_close(&job);
    schedule_free(&schedule);
}

// What a host finds to differ it says to the first process, which reports it.
static void test_serve_refuses_another_version_or_job(void **state) {
    (void)state;
    ServeSetup setup = {.maker = "moesim-run 9.0 (messages 9)", .ranks = RANKS};
    check_answer(&setup, "runs \"" SERVE_MAKER
                         "\", the first process runs \"moesim-run 9.0 (messages 9)\"");
    memcpy(setup.maker, SERVE_MAKER, sizeof SERVE_MAKER);
    setup.ranks = 5;
    check_answer(&setup, "host 0 of 5 ranks, expected one of 1 with 4 ranks");
    setup.ranks = RANKS;
    setup.time_out_ps = TIME_MAX;
    check_answer(&setup, "the first process said a time-out of 9223372036854775807 ps, expected up "
                         "to an hour");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_serve_refuses_another_version_or_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
