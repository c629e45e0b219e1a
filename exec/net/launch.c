// The first process of a run on the net back end.
//
// Invariant: whatever happens, every process that it started has ended before it returns: hosts
// that do not end by themselves after a failure are killed, and their ranks with them. The first
// failure stops all; of those that come until all have stopped, the one that tells the cause is
// reported.
#include "exec/net/launch_internal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exec/clock.h"
#include "exec/net/endpoint.h"
#include "exec/net/hand.h"
#include "exec/result.h"
#include "model/base/mem.h"

#define PS_PER_US INT64_C(1000000)
#define PS_PER_MS INT64_C(1000000000)

// From when all have come to when all start: time for the news to reach every rank that sleeps. On
// one host it goes by two wake-ups, on several by four, between machines over a network as well.
#define LEAD_HOST_PS     (300 * PS_PER_US)
#define LEAD_KERNEL_PS   (1000 * PS_PER_US)
#define LEAD_MACHINES_PS (20 * PS_PER_MS)

// ---- Failures

// All ranks shall end: by themselves at first.
static void stop_all(Launch *launch) {
    Err unheard = {0};
    if (launch->failed) return;
    launch->failed = true;
    launch->kill_at_ps = clock_now() + 2 * SERVE_GRACE_PS;
    for (uint32_t i = 0; i < launch->hosts->count; i++) {
        if (launch->of[i].socket >= 0)
            control_write(launch->of[i].socket, CONTROL_STOP, 0, NULL, 0, &unheard);
    }
}

static void fail_host(Launch *launch, uint32_t host, const char *why) {
    if (!err_is_set(&launch->host_failed))
        err_set(&launch->host_failed, "host %s: %s", launch->hosts->hosts[host].name, why);
    stop_all(launch);
}

static bool is_consequence(const LaunchRank *rank) {
    const char *text = text_string(&rank->failed);
    size_t length = strlen(text), end = strlen(ENDPOINT_STOPPED);
    return length >= end && strcmp(text + length - end, ENDPOINT_STOPPED) == 0;
}

// When nobody knows what was killed was in, a rank that waited for it says what that was for.
static bool report_death(const Launch *launch, const char *death, bool knows_op, Err *err) {
    err_set(err, "%s", death);
    for (uint32_t pass = 0; !knows_op && pass < 2; pass++) {
        for (uint32_t i = 0; i < launch->hosts->ranks; i++) {
            const LaunchRank *rank = &launch->ranks[i];
            if (rank->failed.length == 0 || is_consequence(rank) != (pass == 1)) continue;
            return err_set(err, "%s: %s", death, text_string(&rank->failed));
        }
    }
    return false;
}

// A death is a cause whenever it is heard of; of what ranks say, the first: one that fails stays
// until all were told to stop, so that its end is no news to the others before that.
static bool report(const Launch *launch, Err *err) {
    for (uint32_t i = 0; i < launch->hosts->ranks; i++) {
        const Text *killed = &launch->ranks[i].killed;
        Err death = {0};
        if (killed->length == 0) continue;
        err_set(&death, "rank %u %s", i, text_string(killed));
        return report_death(launch, death.text, launch->ranks[i].knows_op, err);
    }
    if (err_is_set(&launch->host_failed))
        return report_death(launch, launch->host_failed.text, false, err);
    return err_set(err, "%s",
                   launch->first_failed == CONTROL_HOST
                       ? "the run was stopped"
                       : text_string(&launch->ranks[launch->first_failed].failed));
}

// ---- What hosts say

static bool all_listen(const Launch *launch) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < launch->hosts->count; i++) count += launch->of[i].listens;
    return count == launch->hosts->count;
}

static bool all_are_connected(const Launch *launch) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < launch->hosts->count; i++) count += launch->of[i].is_connected;
    return count == launch->hosts->count;
}

static bool tell_peers(Launch *launch, Err *err) {
    ServeWhere all[HOSTS_MAX];
    for (uint32_t i = 0; i < launch->hosts->count; i++) all[i] = launch->of[i].where;
    for (uint32_t i = 0; i < launch->hosts->count; i++) {
        if (!control_write(launch->of[i].socket, CONTROL_PEERS, 0, all,
                           launch->hosts->count * sizeof *all, err))
            return false;
    }
    return true;
}

static Time lead(const Launch *launch) {
    Time lead_ps = launch->hosts->count == 1 ? LEAD_HOST_PS : LEAD_KERNEL_PS;
    for (uint32_t i = 0; i < launch->hosts->count; i++) {
        if (launch->of[i].error_ps >= 0 && launch->hosts->count > 1) lead_ps = LEAD_MACHINES_PS;
    }
    return lead_ps;
}

// When the last host has come, all start.
static bool start_round(Launch *launch, Err *err) {
    ServeRound round = {.round = launch->round + 1};
    for (uint32_t i = 0; i < launch->hosts->count; i++) {
        if (launch->of[i].arrived.round < round.round) return true;
        if (launch->of[i].arrived.time_ps > round.time_ps)
            round.time_ps = launch->of[i].arrived.time_ps;
    }
    launch->round++;
    round.time_ps += lead(launch);
    for (uint32_t i = 0; i < launch->hosts->count; i++) {
        if (!control_write(launch->of[i].socket, CONTROL_START, 0, &round, sizeof round, err))
            return false;
    }
    return true;
}

static bool take_value(const ControlMessage *message, void *out, size_t count, Err *err) {
    if (message->count != count)
        return err_set(err, "said \"%s\" with %zu bytes, expected %zu",
                       control_names[message->kind], message->count, count);
    memcpy(out, message->data, count);
    return true;
}

static bool take_death(Launch *launch, const ControlMessage *message, Err *err) {
    LaunchRank *rank = &launch->ranks[message->from];
    const Schedule *schedule = launch->job->job->schedule;
    ServeDeath death;
    char end[LAUNCH_END_MAX], text[SCHEDULE_TEXT_MAX];
    if (!take_value(message, &death, sizeof death, err)) return false;
    launch_end_text(death.status, end);
    rank->knows_op = death.op < schedule->op_count;
    text_add(&rank->killed, end);
    if (rank->knows_op)
        text_addf(&rank->killed, " in %s", schedule_op_text(schedule, death.op, text));
    stop_all(launch);
    return true;
}

static bool take_rank(Launch *launch, const ControlMessage *message, Err *err) {
    LaunchRank *rank = &launch->ranks[message->from];
    const char *data = (const char *)message->data;
    if (message->kind == CONTROL_RESULT) {
        text_add_bytes(&rank->result, data, message->count);
    } else if (message->kind == CONTROL_FAILED) {
        text_add_bytes(&rank->failed, data, message->count);
        if (launch->first_failed == CONTROL_HOST) launch->first_failed = message->from;
        stop_all(launch);
    } else if (message->kind == CONTROL_KILLED) {
        return take_death(launch, message, err);
    } else if (message->kind == CONTROL_DONE) {
        rank->is_done = true;
    } else {
        return err_set(err, "said \"%s\" of rank %u", control_names[message->kind], message->from);
    }
    return true;
}

static bool take_host(Launch *launch, uint32_t host, const ControlMessage *message, Err *err) {
    LaunchHost *one = &launch->of[host];
    if (message->kind == CONTROL_LISTENING) {
        one->listens = true;
        return take_value(message, &one->where, sizeof one->where, err) &&
               (!all_listen(launch) || tell_peers(launch, err));
    }
    if (message->kind == CONTROL_CONNECTED) {
        one->is_connected = true;
        return take_value(message, &one->error_ps, sizeof one->error_ps, err);
    }
    if (message->kind == CONTROL_ARRIVED)
        return take_value(message, &one->arrived, sizeof one->arrived, err) &&
               start_round(launch, err);
    if (message->kind == CONTROL_NOTE) {
        text_addf(&launch->facts->notes, "host %s ", launch->hosts->hosts[host].name);
        text_add_bytes(&launch->facts->notes, (const char *)message->data, message->count);
        return true;
    }
    if (message->kind == CONTROL_FAILED && message->from == CONTROL_HOST) {
        Text why = {0};
        text_add_bytes(&why, (const char *)message->data, message->count);
        fail_host(launch, host, text_string(&why));
        text_free(&why);
        return true;
    }
    if (message->kind == CONTROL_DONE && message->from == CONTROL_HOST) {
        one->is_done = true;
        return true;
    }
    const HostsOne *its = &launch->hosts->hosts[host];
    if (message->from - its->first >= its->count)
        return err_set(err, "said \"%s\" of rank %u, which is another host's",
                       control_names[message->kind], message->from);
    return take_rank(launch, message, err);
}

static bool hear_host(Launch *launch, uint32_t host, Err *err) {
    LaunchHost *one = &launch->of[host];
    bool is_open = true, has = true;
    if (!control_read(&one->reader, one->socket, &is_open, err)) return false;
    while (has) {
        ControlMessage message;
        if (!control_next(&one->reader, &message, &has, err)) return false;
        if (has && !take_host(launch, host, &message, err)) return false;
    }
    if (is_open) return true;
    close(one->socket);
    one->socket = -1;
    return one->is_done || launch_lose_host(launch, host, err);
}

// ---- The whole run

static bool make_token(uint8_t token[FRAME_TOKEN_B], Err *err) {
    FILE *file = fopen("/dev/urandom", "rb");
    bool good = file != NULL && fread(token, 1, FRAME_TOKEN_B, file) == FRAME_TOKEN_B;
    if (file != NULL) fclose(file);
    return good || err_set(err, "cannot make a token: no random bytes");
}

static uint32_t fill_polls(const Launch *launch, struct pollfd *polls) {
    uint32_t open = 0;
    for (uint32_t i = 0; i < launch->hosts->count; i++) {
        polls[i] = (struct pollfd){.fd = launch->of[i].socket, .events = POLLIN};
        open += launch->of[i].socket >= 0;
    }
    return open;
}

// The next time at which something has to happen although nobody says anything; 0: none.
static Time next_ps(const Launch *launch) {
    return launch->kill_at_ps != 0 || all_are_connected(launch) ? launch->kill_at_ps
                                                                : launch->connect_by_ps;
}

static int time_left_ms(const Launch *launch) {
    if (next_ps(launch) == 0) return -1;
    return clock_poll_ms(next_ps(launch) - clock_now());
}

// A host that never came is one that an agent did not reach.
static void check_connected(Launch *launch) {
    char text[UNITS_TEXT_MAX], why[64];
    if (launch->failed || clock_now() < launch->connect_by_ps) return;
    for (uint32_t i = 0; i < launch->hosts->count; i++) {
        if (launch->of[i].is_connected) continue;
        snprintf(why, sizeof why, "did not connect within %s",
                 units_format_time(2 * launch->options->time_out_ps, text));
        fail_host(launch, i, why);
    }
}

static void watch(Launch *launch) {
    struct pollfd polls[HOSTS_MAX];
    while (fill_polls(launch, polls) > 0) {
        poll(polls, launch->hosts->count, time_left_ms(launch));
        for (uint32_t i = 0; i < launch->hosts->count; i++) {
            Err err = {0};
            if (launch->of[i].socket >= 0 && polls[i].revents != 0 && !hear_host(launch, i, &err))
                fail_host(launch, i, err.text);
        }
        check_connected(launch);
        if (launch->kill_at_ps != 0 && clock_now() >= launch->kill_at_ps) return;
    }
}

static void end_hosts(Launch *launch) {
    for (uint32_t i = 0; i < launch->hosts->count; i++) {
        LaunchHost *one = &launch->of[i];
        if (one->socket >= 0) close(one->socket);
        if (one->process > 0 && launch->kill_at_ps != 0) kill(one->process, SIGKILL);
        while (one->process > 0 && waitpid(one->process, NULL, 0) < 0 && errno == EINTR) continue;
        control_free(&one->reader);
    }
}

static void describe(const Launch *launch, Text *out) {
    Arena arena = {0};
    char text[UNITS_TEXT_MAX];
    Time error_ps = SERVE_CLOCK_ONE;
    bool shares = false;
    for (uint32_t i = 0; i < launch->hosts->count; i++) {
        shares = shares || launch->hosts->hosts[i].count > 1;
        if (launch->of[i].error_ps > error_ps) error_ps = launch->of[i].error_ps;
    }
    text_add(out, hosts_text(launch->hosts, &arena));
    text_add(out, launch->hosts->count == 1 ? ", shared memory"
                  : shares                  ? ", tcp and shared memory"
                                            : ", tcp");
    if (launch->hosts->count > 1 && error_ps == SERVE_CLOCK_ONE) text_add(out, ", one clock");
    if (launch->hosts->count > 1 && error_ps != SERVE_CLOCK_ONE)
        text_addf(out, ", clocks within %s", units_format_time(error_ps, text));
    arena_free(&arena);
}

static bool merge(const Launch *launch, InterpResult *out, Err *err) {
    ResultPart *parts = mem_alloc(launch->hosts->ranks, sizeof *parts);
    for (uint32_t i = 0; i < launch->hosts->ranks; i++) {
        const LaunchRank *rank = &launch->ranks[i];
        if (rank->is_done)
            parts[i] = (ResultPart){(const uint8_t *)rank->result.data, rank->result.length};
    }
    bool good = result_merge(launch->job->job, launch->job->options->repeats, parts,
                             launch->hosts->ranks, out, err);
    mem_free(parts);
    return good;
}

static bool run_hosts(Launch *launch, InterpResult *out, Err *err) {
    Err why = {0};
    if (launch_start_hosts(launch, &why)) {
        // once to be there, once to connect
        launch->connect_by_ps = clock_now() + 2 * launch->options->time_out_ps;
        watch(launch);
    } else {
        launch->host_failed = why;
        stop_all(launch);
        launch->kill_at_ps = 1; // at once
    }
    end_hosts(launch);
    describe(launch, &launch->facts->machine);
    bool good = merge(launch, out, &why);
    if (launch->failed) return report(launch, err);
    if (!good) *err = why;
    return good;
}

static bool check_hosts(const Job *job, const LaunchOptions *launch, Hosts *out, Err *err) {
    uint32_t ranks = job->schedule->rank_count;
    if (launch->hosts == NULL) {
        hosts_one(ranks, out);
        return true;
    }
    if (!hosts_parse(launch->hosts, out, err)) return false;
    if (out->ranks == ranks) return true;
    err_set(err, "the hosts have %u ranks, the schedule has %u", out->ranks, ranks);
    hosts_free(out);
    return false;
}

static ServeJob serve_job(const Job *job, const ComputeUnit *compute, const InterpOptions *options,
                          const LaunchOptions *launch, const Hosts *hosts) {
    return (ServeJob){.job = job,
                      .compute = compute,
                      .options = options,
                      .hosts = hosts,
                      .interface = launch->interface,
                      .names = launch->agent != NULL ? ADDRESS_NAMES_FOR_AGENT
                                                     : ADDRESS_NAMES_ARE_ADDRESSES,
                      .names_count = launch->hosts != NULL && launch->agent == NULL,
                      .asks_clocks = launch->asks_clocks};
}

bool launch_run(const Job *job, const ComputeUnit *compute, const InterpOptions *options,
                const LaunchOptions *launch, InterpResult *out, LaunchFacts *facts, Err *err) {
    Hosts hosts;
    *out = (InterpResult){0};
    *facts = (LaunchFacts){0};
    if (!check_hosts(job, launch, &hosts, err)) return false;
    ServeJob serve = serve_job(job, compute, options, launch, &hosts);
    Launch all = {.first_failed = CONTROL_HOST,
                  .job = &serve,
                  .options = launch,
                  .hosts = &hosts,
                  .facts = facts};
    all.of = mem_alloc(hosts.count, sizeof *all.of);
    all.ranks = mem_alloc(hosts.ranks, sizeof *all.ranks);
    for (uint32_t i = 0; i < hosts.count; i++) all.of[i].socket = -1;
    bool good = make_token(all.token, err) && run_hosts(&all, out, err);
    for (uint32_t i = 0; i < hosts.ranks; i++) {
        text_free(&all.ranks[i].result);
        text_free(&all.ranks[i].failed);
        text_free(&all.ranks[i].killed);
    }
    mem_free(all.ranks);
    mem_free(all.of);
    hosts_free(&hosts);
    return good;
}

void launch_free(LaunchFacts *facts) {
    text_free(&facts->machine);
    text_free(&facts->notes);
}

// On stdin and stdout, which only what speaks for the first process may read.
static bool join_agent(const ServeJob *serve, const LaunchOptions *launch, Err *err) {
    if (isatty(STDIN_FILENO) || isatty(STDOUT_FILENO))
        return err_set(err, LAUNCH_JOIN_WORD
                       ": expected the first process on stdin and stdout, found a terminal: an "
                       "agent adds this word, people use --by-hand");
    return serve_run(serve, STDIN_FILENO, STDOUT_FILENO, launch->time_out_ps, err) ||
           err_prefix(err, LAUNCH_JOIN_WORD);
}

// A person who has typed something here reads here why it failed, too.
static bool join_by_hand(const ServeJob *serve, const LaunchOptions *launch, const char *at,
                         Err *err) {
    int first;
    if (!hand_join(at, launch->time_out_ps, &first, err)) return false;
    bool good = serve_run(serve, first, first, (HAND_TIME_OUTS + 1) * launch->time_out_ps, err);
    close(first);
    return good && !err_is_set(err);
}

bool launch_join(const Job *job, const ComputeUnit *compute, const InterpOptions *options,
                 const LaunchOptions *launch, const char *at, Err *err) {
    Hosts hosts;
    if (!check_hosts(job, launch, &hosts, err)) return false;
    ServeJob serve = serve_job(job, compute, options, launch, &hosts);
    bool good =
        at != NULL ? join_by_hand(&serve, launch, at, err) : join_agent(&serve, launch, err);
    hosts_free(&hosts);
    return good;
}
