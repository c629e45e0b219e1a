// The process of one host.
//
// Invariant: it has no threads, so that it may fork; it outlives its ranks and waits for each of
// them; a rank that it leaves behind is killed by the system.
#include "exec/net/serve.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exec/clock.h"
#include "exec/net/connect.h"
#include "exec/net/control.h"
#include "exec/net/endpoint.h"
#include "exec/net/shared.h"
#include "exec/net/worker.h"
#include "model/base/file.h"
#include "model/base/mem.h"

typedef struct Child {
    pid_t process; // 0: has ended
    int from;      // control messages of the rank; -1: closed
    ControlReader reader;
    bool is_done;
    bool is_late;    // it was told to stop, did not, and is killed for it
    bool is_stopped; // a signal stopped it, and it is killed for it
    Time stopped_ps; // when its stop was heard of; 0: it runs
} Child;

typedef struct Serve {
    const ServeJob *job;
    int in, out;
    ControlReader reader;
    ServeSetup setup;
    const HostsOne *here;
    int listener;
    int *sockets; // [here->count][ranks], heap; NULL of one host
    Time ahead_ps, error_ps;
    Shared shared;
    Child *children;    // [here->count], heap
    uint32_t left;      // children
    uint64_t round;     // that all ranks here have come to
    Time kill_at_ps;    // 0: not yet
    Time looked_ps;     // for ranks that are stopped
    ControlPulse pulse; // of the first process
} Serve;

Digest serve_digest(const Job *job) {
    const StepShape *shape = &job->shape;
    Digest digest = hash_u64(HASH_START, job->schedule->digest);
    digest = hash_u64(digest, job->load->digest);
    digest = hash_u64(hash_u64(digest, shape->tokens), shape->sequences);
    return hash_u64(hash_u64(digest, shape->kv_tokens), shape->qk_pairs);
}

bool serve_is_near(Time told_ps, Time now_ps, Time time_out_ps) {
    uint64_t apart = told_ps > now_ps ? (uint64_t)told_ps - (uint64_t)now_ps
                                      : (uint64_t)now_ps - (uint64_t)told_ps;
    return apart <= (uint64_t)(4 * (time_out_ps + SERVE_GRACE_PS));
}

// ---- Together with the other hosts

// The name that a kernel gives itself anew each time it starts; "" when it has none, which is then
// no other host's.
static void read_kernel(char kernel[SERVE_KERNEL_B]) {
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (file == NULL) return;
    if (fgets(kernel, SERVE_KERNEL_B, file) == NULL) *kernel = '\0';
    fclose(file);
}

static bool hear_setup(Serve *serve, Time time_out_ps, Err *err) {
    struct pollfd in = {.fd = serve->in, .events = POLLIN};
    Time deadline = clock_now() + time_out_ps;
    ControlMessage message;
    char text[UNITS_TEXT_MAX];
    bool has = false, is_open = true;
    while (is_open) {
        Time left_ps = deadline - clock_now();
        if (!control_next(&serve->reader, &message, &has, err)) return false;
        if (has) break;
        int count = left_ps > 0 ? poll(&in, 1, clock_poll_ms(left_ps)) : 0;
        if (count < 0 && errno == EINTR) continue;
        if (count == 0)
            return err_set(err, "the first process said nothing within %s",
                           units_format_time(time_out_ps, text));
        if (!control_read(&serve->reader, serve->in, &is_open, err)) return false;
    }
    if (!has) return err_set(err, "the first process is gone before it said anything");
    if (message.kind != CONTROL_SETUP || message.count < SERVE_MAKER_B)
        return err_set(err, "the first process said \"%s\" of %zu bytes, expected \"%s\"",
                       control_names[message.kind], message.count, control_names[CONTROL_SETUP]);
    memcpy(&serve->setup, message.data,
           message.count < sizeof serve->setup ? message.count : sizeof serve->setup);
    return true;
}

static bool check_setup(Serve *serve, Err *err) {
    const Hosts *hosts = serve->job->hosts;
    ServeSetup *setup = &serve->setup;
    char quoted[TEXT_QUOTE_MAX];
    if (memcmp(setup->maker, SERVE_MAKER, sizeof SERVE_MAKER) != 0) {
        setup->maker[SERVE_MAKER_B - 1] = '\0';
        return err_set(err, "runs \"%s\", the first process runs %s", SERVE_MAKER,
                       text_quote(setup->maker, quoted));
    }
    if (setup->host >= hosts->count || setup->ranks != hosts->ranks)
        return err_set(err, "host %u of %u ranks, expected one of %u with %u ranks", setup->host,
                       setup->ranks, hosts->count, hosts->ranks);
    if (setup->time_out_ps <= 0 || setup->time_out_ps > SERVE_TIME_OUT_MAX_PS)
        return err_set(err, "the first process said a time-out of %lld ps, expected up to an hour",
                       (long long)setup->time_out_ps);
    serve->here = &hosts->hosts[setup->host];
    char mine[17], theirs[17];
    Digest digest = serve_digest(serve->job->job);
    return setup->job == digest ||
           err_set(err, "has another job than the first process: digest %s, expected %s",
                   hash_format(digest, mine), hash_format(setup->job, theirs));
}

static bool tell_where(Serve *serve, Err *err) {
    ServeWhere where = {0};
    const ServeJob *job = serve->job;
    read_kernel(where.kernel);
    if ((job->hosts->count > 1 || job->interface != NULL || job->names_count) &&
        (!address_find(serve->here->name, job->interface, job->names, &where.where, err) ||
         !address_listen(&where.where, &serve->listener, err)))
        return false;
    return control_write(serve->out, CONTROL_LISTENING, serve->setup.host, &where, sizeof where,
                         err);
}

static bool tell_notes(Serve *serve, Text *notes, Err *err) {
    bool good = notes->length == 0 || control_write(serve->out, CONTROL_NOTE, serve->setup.host,
                                                    notes->data, notes->length, err);
    text_free(notes);
    return good;
}

// One rank of each host asks one of the first.
static bool compare_clocks(Serve *serve, Err *err) {
    const Hosts *hosts = serve->job->hosts;
    uint32_t host = serve->setup.host;
    Time time_out_ps = serve->setup.time_out_ps;
    if (host > 0)
        return connect_ask_clock(serve->sockets[0], time_out_ps, &serve->ahead_ps, &serve->error_ps,
                                 err);
    for (uint32_t i = 1; i < hosts->count; i++) {
        if (!connect_answer_clock(serve->sockets[hosts->hosts[i].first], time_out_ps, err))
            return err_prefix(err, "host %s", hosts->hosts[i].name);
    }
    return true;
}

static bool is_one_kernel(const ServeWhere *all, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (*all[i].kernel == '\0' || memcmp(all[i].kernel, all[0].kernel, SERVE_KERNEL_B) != 0)
            return false;
    }
    return true;
}

static bool connect_ranks(Serve *serve, const ServeWhere *all, Err *err) {
    const Hosts *hosts = serve->job->hosts;
    Address where[HOSTS_MAX];
    Text notes = {0};
    for (uint32_t i = 0; i < hosts->count; i++) where[i] = all[i].where;
    ConnectPlan plan = {.hosts = hosts,
                        .host = serve->setup.host,
                        .where = where,
                        .listener = serve->listener,
                        .greeting = {.job = serve->setup.job},
                        .time_out_ps = serve->setup.time_out_ps};
    memcpy(plan.greeting.token, serve->setup.token, FRAME_TOKEN_B);
    bool good = connect_all(&plan, &serve->sockets, &notes, err);
    if (!tell_notes(serve, &notes, err) || !good) return false;
    serve->error_ps = SERVE_CLOCK_ONE;
    return (is_one_kernel(all, hosts->count) && !serve->job->asks_clocks) ||
           compare_clocks(serve, err);
}

static bool join(Serve *serve, Err *err) {
    ServeWhere all[HOSTS_MAX];
    uint32_t count = serve->job->hosts->count;
    if (!check_setup(serve, err) || !tell_where(serve, err) ||
        !control_expect(&serve->reader, serve->in, CONTROL_PEERS, all, count * sizeof *all,
                        control_quiet_ps(serve->setup.time_out_ps), err))
        return false;
    if (count > 1 && !connect_ranks(serve, all, err)) return false;
    if (serve->listener >= 0) close(serve->listener);
    serve->listener = -1;
    return control_write(serve->out, CONTROL_CONNECTED, serve->setup.host, &serve->error_ps,
                         sizeof serve->error_ps, err);
}

// ---- Ranks

// In the process of the rank: what belongs to the others is closed.
static void be_rank(Serve *serve, uint32_t local, int out, pid_t parent) {
    uint32_t ranks = serve->job->hosts->ranks;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1); // it died before that
    close(serve->in);
    if (serve->out != serve->in) close(serve->out);
    for (uint32_t i = 0; i < local; i++) close(serve->children[i].from);
    for (uint32_t i = 0; serve->sockets != NULL && i < serve->here->count * ranks; i++) {
        if (i / ranks != local && serve->sockets[i] >= 0) close(serve->sockets[i]);
    }
    EndpointSetup setup = {.rank = serve->here->first + local,
                           .rank_count = ranks,
                           .first = serve->here->first,
                           .sockets = serve->sockets + (serve->sockets == NULL ? 0 : local * ranks),
                           .shared = &serve->shared,
                           .time_out_ps = serve->setup.time_out_ps,
                           .ahead_ps = serve->ahead_ps,
                           .machine = ""};
    worker_run(serve->job, &setup, out);
    _exit(0);
}

static bool fork_rank(Serve *serve, uint32_t local, Err *err) {
    Child *child = &serve->children[local];
    pid_t parent = getpid();
    int ends[2];
    if (pipe(ends) != 0)
        return err_set(err, "rank %u: cannot make a pipe: %s", serve->here->first + local,
                       file_reason(errno));
    child->process = fork();
    if (child->process == 0) {
        close(ends[0]);
        be_rank(serve, local, ends[1], parent);
    }
    close(ends[1]);
    child->from = ends[0];
    if (child->process > 0) {
        serve->left++;
        return true;
    }
    child->process = 0;
    return err_set(err, "rank %u: cannot fork: %s", serve->here->first + local, file_reason(errno));
}

static bool fork_ranks(Serve *serve, Err *err) {
    if (!shared_open(serve->here->count, &serve->shared, err)) return false;
    serve->children = mem_alloc(serve->here->count, sizeof *serve->children);
    for (uint32_t i = 0; i < serve->here->count; i++) serve->children[i].from = -1;
    for (uint32_t i = 0; i < serve->here->count; i++) {
        if (!fork_rank(serve, i, err)) return false;
    }
    // the ranks have them: an end is seen when the rank ends
    connect_close(serve->sockets, serve->here->count * serve->job->hosts->ranks);
    serve->sockets = NULL;
    return true;
}

static void kill_ranks(Serve *serve) {
    for (uint32_t i = 0; serve->children != NULL && i < serve->here->count; i++) {
        Child *child = &serve->children[i];
        if (child->process <= 0) continue;
        child->is_late = true;
        kill(child->process, SIGKILL);
    }
}

// What the first of its streams that was in one was in.
static OpId op_of(const Serve *serve, uint32_t local) {
    const _Atomic uint32_t *now = shared_now(&serve->shared, local);
    for (uint32_t i = 0; i < SCHEDULE_STREAMS_MAX; i++) {
        uint32_t what = atomic_load(&now[i]);
        if (what > 0) return what - 1;
    }
    return SCHEDULE_NONE;
}

static bool end_rank(Serve *serve, uint32_t local, Err *err) {
    Child *child = &serve->children[local];
    int status = 0;
    close(child->from);
    child->from = -1;
    while (waitpid(child->process, &status, 0) < 0 && errno == EINTR) continue;
    child->process = 0;
    serve->left--;
    if (child->is_done) return true;
    if (child->is_late) status = SERVE_LATE;
    if (child->is_stopped) status = SERVE_STOPPED;
    ServeDeath death = {.status = status, .op = op_of(serve, local)};
    return control_write(serve->out, CONTROL_KILLED, serve->here->first + local, &death,
                         sizeof death, err);
}

static bool hear_rank(Serve *serve, uint32_t local, Err *err) {
    Child *child = &serve->children[local];
    bool is_open = true, has = true;
    if (!control_read(&child->reader, child->from, &is_open, err)) return false;
    while (has) {
        ControlMessage message;
        if (!control_next(&child->reader, &message, &has, err)) return false;
        if (!has) break;
        child->is_done |= message.kind == CONTROL_DONE;
        if (!control_write(serve->out, message.kind, serve->here->first + local, message.data,
                           message.count, err))
            return false;
    }
    return is_open || end_rank(serve, local, err);
}

// ---- The first process

static bool tell_arrived(Serve *serve, Err *err) {
    while (shared_has_arrived(&serve->shared, serve->round + 1)) {
        ServeRound round = {.round = ++serve->round, .time_ps = clock_now() - serve->ahead_ps};
        if (!control_write(serve->out, CONTROL_ARRIVED, serve->setup.host, &round, sizeof round,
                           err))
            return false;
    }
    return true;
}

static bool take_order(Serve *serve, const ControlMessage *message, Err *err) {
    ServeRound round;
    if (message->kind == CONTROL_ALIVE) return true;
    if (message->kind == CONTROL_START && message->count == sizeof round) {
        memcpy(&round, message->data, sizeof round);
        if (round.round != serve->round ||
            !serve_is_near(round.time_ps, clock_now() - serve->ahead_ps, serve->setup.time_out_ps))
            return err_set(err,
                           "the first process said a start that cannot be: round %llu, %lld ps",
                           (unsigned long long)round.round, (long long)round.time_ps);
        shared_publish(&serve->shared, round.round, round.time_ps + serve->ahead_ps);
        return true;
    }
    if (message->kind != CONTROL_STOP)
        return err_set(err, "the first process said \"%s\", expected \"start\" or \"stop\"",
                       control_names[message->kind]);
    shared_stop(&serve->shared);
    if (serve->kill_at_ps == 0) serve->kill_at_ps = clock_now() + SERVE_GRACE_PS;
    return true;
}

static bool hear_first(Serve *serve, Err *err) {
    bool is_open = true, has = true;
    if (!control_read(&serve->reader, serve->in, &is_open, err)) return false;
    serve->pulse.heard_ps = clock_now();
    while (has) {
        ControlMessage message;
        if (!control_next(&serve->reader, &message, &has, err)) return false;
        if (has && !take_order(serve, &message, err)) return false;
    }
    return is_open || err_set(err, "the first process is gone");
}

// A rank that a signal has stopped. Those that wait for it say so first; this is for when none
// does. Each stop is heard of once: one that goes on between two looks, and is stopped again,
// begins anew. So do all when this process was stopped too.
static void look_for_stopped(Serve *serve) {
    Time now = clock_now(), patience_ps = serve->pulse.quiet_ps + SERVE_GRACE_PS;
    bool slept = now - serve->looked_ps > patience_ps / 2;
    serve->looked_ps = now;
    for (uint32_t i = 0; i < serve->here->count; i++) {
        Child *child = &serve->children[i];
        siginfo_t what = {0};
        if (child->process <= 0) continue;
        if (waitid(P_PID, (id_t)child->process, &what, WSTOPPED | WCONTINUED | WNOHANG) == 0 &&
            what.si_pid == child->process)
            child->stopped_ps = what.si_code == CLD_CONTINUED ? 0 : now;
        if (child->stopped_ps == 0) continue;
        if (slept) child->stopped_ps = now;
        if (now - child->stopped_ps < patience_ps) continue;
        child->is_stopped = true;
        kill(child->process, SIGKILL);
    }
}

static int time_left_ms(const Serve *serve) {
    int beat_ms = control_beat_ms(&serve->pulse);
    if (serve->kill_at_ps == 0) return beat_ms;
    int kill_ms = clock_poll_ms(serve->kill_at_ps - clock_now());
    return kill_ms < beat_ms ? kill_ms : beat_ms;
}

static bool watch_once(Serve *serve, struct pollfd *polls, Err *err) {
    uint32_t count = serve->here->count;
    polls[0] = (struct pollfd){.fd = serve->in, .events = POLLIN};
    polls[1] = (struct pollfd){.fd = serve->shared.bells[count], .events = POLLIN};
    for (uint32_t i = 0; i < count; i++)
        polls[i + 2] = (struct pollfd){.fd = serve->children[i].from, .events = POLLIN};
    if (poll(polls, count + 2, time_left_ms(serve)) < 0 && errno != EINTR)
        return err_set(err, "cannot watch the ranks: %s", file_reason(errno));
    if (polls[1].revents != 0) {
        shared_hear(&serve->shared, count);
        if (!tell_arrived(serve, err)) return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (serve->children[i].from >= 0 && polls[i + 2].revents != 0 && !hear_rank(serve, i, err))
            return false;
    }
    if (polls[0].revents != 0 && !hear_first(serve, err)) return false;
    if (!control_look(&serve->pulse, serve->out, err)) return err_prefix(err, "the first process");
    if (serve->kill_at_ps != 0 && clock_now() >= serve->kill_at_ps) kill_ranks(serve);
    look_for_stopped(serve);
    return true;
}

static bool watch(Serve *serve, Err *err) {
    struct pollfd *polls = mem_alloc(serve->here->count + 2, sizeof *polls);
    bool good = true;
    control_start_pulse(&serve->pulse, control_quiet_ps(serve->setup.time_out_ps));
    while (good && serve->left > 0) good = watch_once(serve, polls, err);
    mem_free(polls);
    return good;
}

static void close_all(Serve *serve) {
    kill_ranks(serve);
    for (uint32_t i = 0; serve->children != NULL && i < serve->here->count; i++) {
        Child *child = &serve->children[i];
        while (child->process > 0 && waitpid(child->process, NULL, 0) < 0 && errno == EINTR)
            continue;
        if (child->from >= 0) close(child->from);
        control_free(&child->reader);
    }
    if (serve->listener >= 0) close(serve->listener);
    if (serve->sockets != NULL)
        connect_close(serve->sockets, serve->here->count * serve->job->hosts->ranks);
    mem_free(serve->children);
    shared_close(&serve->shared);
    control_free(&serve->reader);
}

bool serve_run(const ServeJob *job, int in, int out, Time time_out_ps, Err *err) {
    Serve serve = {.job = job, .in = in, .out = out, .listener = -1};
    Err unheard = {0};
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGPIPE, &ignore, NULL); // a reader that is gone is an error of the write
    if (!hear_setup(&serve, time_out_ps, err)) {
        control_free(&serve.reader);
        return false;
    }
    bool good = join(&serve, err) && fork_ranks(&serve, err) && watch(&serve, err);
    if (!good) good = control_write_text(out, CONTROL_FAILED, CONTROL_HOST, err->text, &unheard);
    close_all(&serve);
    return good && control_write(out, CONTROL_DONE, CONTROL_HOST, NULL, 0, &unheard);
}
