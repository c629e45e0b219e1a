// How the processes of hosts are started: forked here, by an agent, or by people.
//
// Invariant: a host that was started has a socket; one that this process started has a process that
// ends with it.
#include "exec/net/launch_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "exec/net/hand.h"
#include "model/base/file.h"

#define AGENT_WORDS_MAX 16

// How long the end of a process may come behind that of its connection.
#define NAP_NS   1000000
#define NAPS_MAX 200

// In the process of the host.
static void be_host(Launch *launch, int socket) {
    Err err = {0};
    for (uint32_t i = 0; i < launch->hosts->count; i++) {
        if (launch->of[i].socket >= 0) close(launch->of[i].socket);
    }
    serve_run(launch->job, socket, socket, launch->options->time_out_ps, &err);
    _exit(0);
}

// AGENT HOST PROGRAM WORDS... --join, with the socket as stdin and stdout.
static void be_agent(Launch *launch, uint32_t host, int socket) {
    const LaunchOptions *options = launch->options;
    Arena arena = {0};
    char program[4096];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    uint32_t count = 0;
    char **words = arena_alloc(&arena, AGENT_WORDS_MAX + options->word_count + 4, sizeof *words);
    char *agent = arena_string(&arena, options->agent);
    while (count < AGENT_WORDS_MAX && *(agent += strspn(agent, " ")) != '\0') {
        words[count++] = agent;
        agent += strcspn(agent, " ");
        if (*agent != '\0') *agent++ = '\0';
    }
    program[length > 0 ? length : 0] = '\0';
    words[count++] = arena_string(&arena, launch->hosts->hosts[host].name);
    words[count++] = program;
    for (uint32_t i = 0; i < options->word_count; i++)
        words[count++] = arena_string(&arena, options->words[i]);
    words[count++] = arena_string(&arena, LAUNCH_JOIN_WORD);
    if (dup2(socket, STDIN_FILENO) >= 0 && dup2(socket, STDOUT_FILENO) >= 0)
        execvp(words[0], words);
    Err err = {0}, unheard = {0};
    err_set(&err, "cannot run the agent %s: %s", words[0], file_reason(errno));
    control_write_text(STDOUT_FILENO, CONTROL_FAILED, CONTROL_HOST, err.text, &unheard);
    _exit(1);
}

static bool start_host(Launch *launch, uint32_t host, Err *err) {
    LaunchHost *one = &launch->of[host];
    int ends[2];
    pid_t parent = getpid();
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        return err_set(err, "cannot make a socket: %s", file_reason(errno));
    for (uint32_t i = 0; i < 2; i++) fcntl(ends[i], F_SETFD, FD_CLOEXEC);
    one->process = fork();
    if (one->process == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(1);
        close(ends[0]);
        if (launch->options->agent == NULL)
            be_host(launch, ends[1]);
        else
            be_agent(launch, host, ends[1]);
    }
    close(ends[1]);
    one->socket = ends[0];
    if (one->process > 0) return true;
    one->process = 0;
    return err_set(err, "cannot fork: %s", file_reason(errno));
}

// One that does not listen will be heard, or its end.
static void set_up_host(Launch *launch, uint32_t host) {
    Err unheard = {0};
    ServeSetup setup = {.job = serve_digest(launch->job->job),
                        .time_out_ps = launch->options->time_out_ps,
                        .host = host,
                        .ranks = launch->hosts->ranks};
    memcpy(setup.token, launch->token, FRAME_TOKEN_B);
    memcpy(setup.maker, SERVE_MAKER, sizeof SERVE_MAKER);
    control_write(launch->of[host].socket, CONTROL_SETUP, 0, &setup, sizeof setup, &unheard);
}

// One line for each host that is not this one.
static void say_commands(const HandPlan *plan) {
    for (uint32_t i = 1; i < plan->hosts->count; i++) {
        Text command = {0};
        hand_command(plan, i, &command);
        fprintf(stderr, "moesim-run: host %s: type there: %s\n", plan->hosts->hosts[i].name,
                text_string(&command));
        text_free(&command);
    }
}

static bool wait_for_people(Launch *launch, Err *err) {
    const LaunchOptions *options = launch->options;
    HandPlan plan = {.hosts = launch->hosts,
                     .token = launch->token,
                     .words = options->words,
                     .word_count = options->word_count,
                     .time_out_ps = HAND_TIME_OUTS * options->time_out_ps};
    int listener, sockets[HOSTS_MAX];
    uint64_t port;
    char quoted[TEXT_QUOTE_MAX];
    if (!text_parse_u64(options->by_hand, &port) || port > UINT16_MAX)
        return err_set(err, "--by-hand: expected a port up to %u, found %s", UINT16_MAX,
                       text_quote(options->by_hand, quoted));
    if (!address_find(launch->hosts->hosts[0].name, options->interface, launch->job->names,
                      &plan.where, err))
        return false;
    address_set_port(&plan.where, (uint16_t)port);
    if (!address_listen(&plan.where, &listener, err)) return false;
    say_commands(&plan);
    bool good = hand_wait(&plan, listener, sockets, &launch->facts->notes, err);
    close(listener);
    for (uint32_t i = 1; good && i < launch->hosts->count; i++) launch->of[i].socket = sockets[i];
    return good;
}

bool launch_start_hosts(Launch *launch, Err *err) {
    if (launch->options->by_hand != NULL && !wait_for_people(launch, err)) return false;
    for (uint32_t i = 0; i < launch->hosts->count; i++) {
        if (launch->of[i].socket < 0 && !start_host(launch, i, err)) return false;
        set_up_host(launch, i);
    }
    return true;
}

// ---- Ends

void launch_end_text(int status, char text[LAUNCH_END_MAX]) {
    if (status == SERVE_STOPPED)
        snprintf(text, LAUNCH_END_MAX, "was stopped by a signal and did not go on");
    else if (WIFSIGNALED(status))
        snprintf(text, LAUNCH_END_MAX, "was killed by signal %d", WTERMSIG(status));
    else
        snprintf(text, LAUNCH_END_MAX, "ended with status %d", WEXITSTATUS(status));
}

// Why nobody speaks for a host any more: how its process ended here, or that of the agent, which
// its connection may tell a little earlier.
bool launch_lose_host(Launch *launch, uint32_t host, Err *err) {
    LaunchHost *one = &launch->of[host];
    const char *agent = launch->options->agent;
    struct timespec nap = {.tv_nsec = NAP_NS};
    char end[LAUNCH_END_MAX] = "ended", quoted[TEXT_QUOTE_MAX];
    int status;
    for (uint32_t i = 0; one->process > 0 && i < NAPS_MAX; i++) {
        if (waitpid(one->process, &status, WNOHANG) == one->process) {
            launch_end_text(status, end);
            one->process = 0;
        } else {
            nanosleep(&nap, NULL);
        }
    }
    if (agent == NULL) return err_set(err, "its process %s", end);
    text_quote(agent, quoted);
    return err_set(
        err, one->listens ? "the agent %s %s" : "the agent %s %s before moesim-run answered there",
        quoted, end);
}
