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

#define NOTES_B_MAX (1 << 16) // of one host

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

// When nobody knows what was killed was in, a rank that waited for it says what that was for; what
// was merely stopped knows nothing.
static bool report_death(const Launch *launch, const char *death, bool knows_op, Err *err) {
    err_set(err, "%s", death);
    for (uint32_t i = 0; !knows_op && i < launch->hosts->ranks; i++) {
        const LaunchRank *rank = &launch->ranks[i];
        if (rank->failed.length == 0 || is_consequence(rank)) continue;
        return err_set(err, "%s: %s", death, text_string(&rank->failed));
    }
    return false;
}

// When ranks waited for all, the one that did not even stop is the one that they waited for.
static bool report_rank(const Launch *launch, const LaunchRank *failed, Err *err) {
    const char *why = text_string(&failed->failed);
    for (uint32_t i = 0; strstr(why, ENDPOINT_NOT_ALL) != NULL && i < launch->hosts->ranks; i++) {
        const LaunchRank *rank = &launch->ranks[i];
        if (rank->is_late)
            return err_set(err, "rank %u is silent%s: %s", i, text_string(&rank->late), why);
    }
    return err_set(err, "%s", why);
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
    if (launch->first_failed == CONTROL_HOST) return err_set(err, "the run was stopped");
    return report_rank(launch, &launch->ranks[launch->first_failed], err);
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

// A line for people, of which none can leave its line.
static bool take_line(const ControlMessage *message, Text *out, Err *err) {
    Err line = {0};
    if (message->count >= ERR_TEXT_MAX)
        return err_set(err, "said \"%s\" with %zu bytes, expected less than %d",
                       control_names[message->kind], message->count, ERR_TEXT_MAX);
    err_set(&line, "%.*s", (int)message->count, (const char *)message->data);
    text_add(out, line.text);
    return true;
}

// Lines that a host has for people: each says which host it is from.
static bool take_notes(Launch *launch, uint32_t host, const ControlMessage *message, Err *err) {
    LaunchHost *one = &launch->of[host];
    const char *next = (const char *)message->data, *end = next + message->count;
    if (one->has_noted || message->count > NOTES_B_MAX)
        return err_set(err, "said \"%s\" of %zu bytes, expected one of at most %d",
                       control_names[message->kind], message->count, NOTES_B_MAX);
    one->has_noted = true;
    while (next < end) {
        const char *stop = memchr(next, '\n', (size_t)(end - next));
        if (stop == NULL) stop = end;
        Err line = {0};
        err_set(&line, "host %s %.*s", launch->hosts->hosts[host].name, (int)(stop - next), next);
        text_addf(&launch->facts->notes, "%s\n", line.text);
        next = stop + 1;
    }
    return true;
}

static bool take_death(Launch *launch, const ControlMessage *message, Err *err) {
    LaunchRank *rank = &launch->ranks[message->from];
    const Schedule *schedule = launch->job->job->schedule;
    ServeDeath death;
    char end[LAUNCH_END_MAX], text[SCHEDULE_TEXT_MAX];
    if (!take_value(message, &death, sizeof death, err)) return false;
    if (rank->killed.length > 0 || rank->is_late)
        return err_set(err, "said twice how rank %u ended", message->from);
    if (death.status == SERVE_LATE) {
        rank->is_late = true;
        if (death.op < schedule->op_count)
            text_addf(&rank->late, " in %s", schedule_op_text(schedule, death.op, text));
        stop_all(launch);
        return true;
    }
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
        if (message->count > rank->result_max_B - rank->result.length)
            return err_set(err, "said more than %llu bytes as the result of rank %u",
                           (unsigned long long)rank->result_max_B, message->from);
        text_add_bytes(&rank->result, data, message->count);
    } else if (message->kind == CONTROL_FAILED) {
        if (rank->failed.length > 0)
            return err_set(err, "said twice why rank %u failed", message->from);
        if (!take_line(message, &rank->failed, err)) return false;
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

static bool take_arrived(Launch *launch, uint32_t host, const ControlMessage *message, Err *err) {
    ServeRound *arrived = &launch->of[host].arrived;
    if (!take_value(message, arrived, sizeof *arrived, err)) return false;
    bool is_likely = launch->of[host].is_connected && arrived->round == launch->round + 1 &&
                     arrived->time_ps >= -SERVE_TIME_OUT_MAX_PS;
    for (uint32_t i = 0; i < launch->hosts->count; i++) {
        const ServeRound *other = &launch->of[i].arrived;
        is_likely = is_likely &&
                    (other->round != arrived->round ||
                     serve_is_near(arrived->time_ps, other->time_ps, launch->options->time_out_ps));
    }
    if (!is_likely || arrived->time_ps > CLOCK_PERIOD_S * PS_PER_SECOND)
        return err_set(err, "said that it came to round %llu at %lld ps, which cannot be",
                       (unsigned long long)arrived->round, (long long)arrived->time_ps);
    return start_round(launch, err);
}

static bool take_host(Launch *launch, uint32_t host, const ControlMessage *message, Err *err) {
    LaunchHost *one = &launch->of[host];
    if (message->kind == CONTROL_ALIVE) return true;
    if (message->kind == CONTROL_LISTENING) {
        if (one->listens) return err_set(err, "said twice where it listens");
        one->listens = true;
        return take_value(message, &one->where, sizeof one->where, err) &&
               (!all_listen(launch) || tell_peers(launch, err));
    }
    if (message->kind == CONTROL_CONNECTED) {
        one->is_connected = true;
        return take_value(message, &one->error_ps, sizeof one->error_ps, err) &&
               ((one->error_ps >= SERVE_CLOCK_ONE && one->error_ps <= SERVE_TIME_OUT_MAX_PS) ||
                err_set(err, "said that its clock may be off by %lld ps",
                        (long long)one->error_ps));
    }
    if (message->kind == CONTROL_ARRIVED) return take_arrived(launch, host, message, err);
    if (message->kind == CONTROL_NOTE) return take_notes(launch, host, message, err);
    if (message->kind == CONTROL_FAILED && message->from == CONTROL_HOST) {
        Text why = {0};
        if (!take_line(message, &why, err)) return false;
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
    one->pulse.heard_ps = clock_now();
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
    int beat_ms = control_beat_ms(&launch->of[0].pulse);
    if (next_ps(launch) == 0) return beat_ms;
    int left_ms = clock_poll_ms(next_ps(launch) - clock_now());
    return left_ms < beat_ms ? left_ms : beat_ms;
}

// Before they are connected, hosts are awaited together: see check_connected.
static void check_alive(Launch *launch) {
    for (uint32_t i = 0; i < launch->hosts->count; i++) {
        LaunchHost *one = &launch->of[i];
        Err err = {0};
        if (one->socket >= 0 && !control_look(&one->pulse, one->socket, &err) &&
            one->is_connected && !launch->failed)
            fail_host(launch, i, err.text);
    }
}

// One that did not even answer that all shall stop is why others waited.
static void name_silent(Launch *launch) {
    for (uint32_t i = 0; i < launch->hosts->count; i++) {
        const LaunchHost *one = &launch->of[i];
        if (one->socket >= 0 && one->pulse.heard_ps < launch->kill_at_ps - 2 * SERVE_GRACE_PS)
            fail_host(launch, i, "it is silent");
    }
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
    for (uint32_t i = 0; i < launch->hosts->count; i++)
        control_start_pulse(&launch->of[i].pulse, control_quiet_ps(launch->options->time_out_ps));
    while (fill_polls(launch, polls) > 0) {
        poll(polls, launch->hosts->count, time_left_ms(launch));
        for (uint32_t i = 0; i < launch->hosts->count; i++) {
            Err err = {0};
            if (launch->of[i].socket >= 0 && polls[i].revents != 0 && !hear_host(launch, i, &err))
                fail_host(launch, i, err.text);
        }
        check_connected(launch);
        check_alive(launch);
        if (launch->kill_at_ps != 0 && clock_now() >= launch->kill_at_ps) {
            name_silent(launch);
            return;
        }
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

// Of a run that nobody said has failed: each rank came once, as result_merge takes none twice.
static bool check_complete(const Launch *launch, const InterpResult *result, Err *err) {
    for (uint32_t i = 0; i < launch->hosts->ranks; i++) {
        uint32_t index = 0;
        while (index < result->rank_count && result->ranks[index] != i) index++;
        if (index == result->rank_count)
            return err_set(err, "host %s: rank %u ended without a result",
                           launch->hosts->hosts[hosts_of_rank(launch->hosts, i)].name, i);
    }
    return true;
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
    bool good = merge(launch, out, &why) && check_complete(launch, out, &why);
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
    for (uint32_t i = 0; i < hosts.ranks; i++)
        all.ranks[i].result_max_B = result_bytes_max(job, compute, options, i);
    bool good = make_token(all.token, err) && run_hosts(&all, out, err);
    for (uint32_t i = 0; i < hosts.ranks; i++) {
        text_free(&all.ranks[i].result);
        text_free(&all.ranks[i].failed);
        text_free(&all.ranks[i].killed);
        text_free(&all.ranks[i].late);
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
