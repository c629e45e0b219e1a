// One rank of the net back end.
//
// Invariant: `lock` protects all but the shared memory. At most one thread polls; it holds the lock
// except inside epoll_wait. A thread that finds another one polling sleeps on its own condition,
// and is woken when its messages have ended or when it shall poll. After the first failure nothing
// moves any more: what waits ends with an error, and so does what comes later.
#include "exec/net/endpoint.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "exec/clock.h"
#include "exec/net/wire.h"
#include "model/base/file.h"
#include "model/base/mem.h"

#define EVENTS_MAX 64
#define ASK_MS     10 // between two looks at what was acknowledged, should the kernel not tell
#define PS_PER_MS  INT64_C(1000000000)

// A thread that waits: for messages, for a round of the barrier, or until all is written.
typedef struct Party {
    uint32_t left;  // messages that have not ended
    uint64_t round; // 0: none
    bool flushes;
    const Message *messages; // for the time-out
    uint32_t count;
    pthread_cond_t wake;
} Party;

struct Endpoint {
    EndpointSetup setup;
    Wire *wires;      // [rank_count]
    int poll;         // epoll
    uint32_t *writes; // [rank_count] whether epoll looks for room to write
    pthread_mutex_t lock;
    pthread_condattr_t clock; // conditions wait by CLOCK_MONOTONIC
    bool polls;               // a thread is polling
    Party **parties;          // heap
    uint32_t party_count, party_capacity;
    bool failed;
    Err why;
    uint64_t round;
    pthread_t helper; // polls while something posted is left and nobody waits
    bool has_helper, closes;
    pthread_cond_t helper_wake;
};

// ---- Failure

static bool stopped(const Endpoint *endpoint, Err *err) {
    return err_set(err, "%s", endpoint->why.text);
}

static void wake_all(Endpoint *endpoint) {
    for (uint32_t i = 0; i < endpoint->party_count; i++)
        pthread_cond_signal(&endpoint->parties[i]->wake);
    pthread_cond_signal(&endpoint->helper_wake);
    shared_ring_loud(endpoint->setup.shared, endpoint->setup.rank - endpoint->setup.first);
}

static void fail(Endpoint *endpoint, const Err *why) {
    if (endpoint->failed) return;
    endpoint->failed = true;
    endpoint->why = *why;
    wake_all(endpoint);
}

// ---- Wires

static bool is_local(const Endpoint *endpoint, uint32_t peer) {
    return peer - endpoint->setup.first < endpoint->setup.shared->ranks;
}

static void bell_of(Endpoint *endpoint, Wire *wire) {
    if (!wire->rings_bell) return;
    wire->rings_bell = false;
    shared_ring_bell(endpoint->setup.shared, wire->peer - endpoint->setup.first);
}

// epoll looks for room to write while there is something to write.
static void watch_room(Endpoint *endpoint, Wire *wire) {
    uint32_t wants = wire_has_sends(wire) ? EPOLLOUT : 0;
    if (wire->in != NULL || !wire->is_open || wants == endpoint->writes[wire->peer]) return;
    struct epoll_event event = {.events = EPOLLIN | wants, .data.u32 = wire->peer};
    endpoint->writes[wire->peer] = wants;
    epoll_ctl(endpoint->poll, EPOLL_CTL_MOD, wire->socket, &event);
}

static bool move_wire(Endpoint *endpoint, Wire *wire, Err *err) {
    bool good = wire_push(wire, err) && wire_pull(wire, err);
    bell_of(endpoint, wire);
    watch_room(endpoint, wire);
    if (!wire->is_open) epoll_ctl(endpoint->poll, EPOLL_CTL_DEL, wire->socket, NULL);
    return good;
}

// All rings of this host; false when nothing moved, or on failure.
static bool move_rings(Endpoint *endpoint) {
    bool moved = false;
    for (uint32_t i = 0; i < endpoint->setup.shared->ranks; i++) {
        Wire *wire = &endpoint->wires[endpoint->setup.first + i];
        Err err = {0};
        if (!wire->is_open || !wire_is_ready(wire)) continue;
        moved = true;
        if (!move_wire(endpoint, wire, &err)) fail(endpoint, &err);
    }
    return moved;
}

static bool has_sends(const Endpoint *endpoint) {
    for (uint32_t i = 0; i < endpoint->setup.rank_count; i++) {
        if (wire_has_sends(&endpoint->wires[i])) return true;
    }
    return false;
}

static bool has_unacknowledged(const Endpoint *endpoint) {
    for (uint32_t i = 0; i < endpoint->setup.rank_count; i++) {
        if (wire_has_unacknowledged(&endpoint->wires[i])) return true;
    }
    return false;
}

// ---- Waiting

static bool party_is_done(const Endpoint *endpoint, const Party *party) {
    Time start;
    return party->left == 0 && !(party->flushes && has_sends(endpoint)) &&
           (party->round == 0 || shared_started(endpoint->setup.shared, party->round, &start));
}

static void check_stopped(Endpoint *endpoint) {
    if (endpoint->failed || !shared_is_stopped(endpoint->setup.shared)) return;
    Err err = {0};
    err_set(&err, ENDPOINT_STOPPED);
    fail(endpoint, &err);
}

static void take_events(Endpoint *endpoint, const struct epoll_event *events, int count) {
    for (int i = 0; i < count && !endpoint->failed; i++) {
        uint32_t peer = events[i].data.u32;
        Err err = {0};
        Wire *wire = &endpoint->wires[peer];
        if (peer == endpoint->setup.rank) {
            shared_hear(endpoint->setup.shared, peer - endpoint->setup.first);
            continue;
        }
        if (events[i].events & EPOLLERR) wire_acknowledge(wire);
        if (wire->is_open && !move_wire(endpoint, wire, &err)) fail(endpoint, &err);
    }
}

static int milliseconds_until(const Endpoint *endpoint, Time deadline) {
    Time left = deadline - clock_now();
    if (left > ASK_MS * PS_PER_MS && has_unacknowledged(endpoint)) return ASK_MS;
    return clock_poll_ms(left);
}

// The caller takes the part of the poller for one turn: until something moved or the deadline.
static void poll_once(Endpoint *endpoint, Time deadline) {
    struct epoll_event events[EVENTS_MAX];
    uint32_t mine = endpoint->setup.rank - endpoint->setup.first;
    int count = 0, most_ms = milliseconds_until(endpoint, deadline);
    endpoint->polls = true;
    shared_sleep(endpoint->setup.shared, mine);
    check_stopped(endpoint);
    if (!move_rings(endpoint) && !endpoint->failed) {
        pthread_mutex_unlock(&endpoint->lock);
        count = epoll_wait(endpoint->poll, events, EVENTS_MAX, most_ms);
        pthread_mutex_lock(&endpoint->lock);
        for (uint32_t i = 0; count == 0 && !endpoint->failed && i < endpoint->setup.rank_count; i++)
            wire_acknowledge(&endpoint->wires[i]);
    }
    shared_wake(endpoint->setup.shared, mine);
    take_events(endpoint, events, count);
    if (!endpoint->failed) move_rings(endpoint);
    check_stopped(endpoint);
    endpoint->polls = false;
}

static void *help(void *context);

static void wake_helper(Endpoint *endpoint) {
    if (!has_sends(endpoint)) return;
    if (!endpoint->has_helper)
        endpoint->has_helper = pthread_create(&endpoint->helper, NULL, help, endpoint) == 0;
    pthread_cond_signal(&endpoint->helper_wake);
}

// After a turn, and when a thread leaves: wakes who has ended, and who polls next.
static void hand_over(Endpoint *endpoint, const Party *self) {
    Party *next = NULL;
    if (endpoint->polls) return;
    for (uint32_t i = 0; i < endpoint->party_count; i++) {
        Party *party = endpoint->parties[i];
        if (party == self) continue;
        if (endpoint->failed || party_is_done(endpoint, party))
            pthread_cond_signal(&party->wake);
        else if (next == NULL)
            next = party;
    }
    if (self != NULL && !party_is_done(endpoint, self)) return; // goes on
    if (next != NULL)
        pthread_cond_signal(&next->wake);
    else
        wake_helper(endpoint);
}

static bool timed_out(const Endpoint *endpoint, const Party *party, Err *err) {
    char text[UNITS_TEXT_MAX];
    units_format_time(endpoint->setup.time_out_ps, text);
    if (party->round != 0) return err_set(err, ENDPOINT_NOT_ALL " within %s", text);
    for (uint32_t i = 0; i < party->count; i++) {
        const Message *message = &party->messages[i];
        const Wire *wire = &endpoint->wires[message->peer];
        if (message->kind == MESSAGE_RECV && wire_awaits_receive(wire, message->tag, &party->left))
            return err_set(err, "rank %u is silent: no message of %" PRIu64 " bytes within %s",
                           message->peer, message->count, text);
    }
    for (uint32_t i = 0; i < party->count; i++) {
        const Message *message = &party->messages[i];
        const Wire *wire = &endpoint->wires[message->peer];
        if (message->kind == MESSAGE_SEND && wire_awaits_send(wire, message->tag, &party->left))
            return err_set(err, "rank %u does not take %" PRIu64 " bytes within %s", message->peer,
                           message->count, text);
    }
    return err_set(err, "what was posted is not taken within %s", text);
}

// The lock is held. False when the rank failed.
static bool wait_for(Endpoint *endpoint, Party *party, Err *err) {
    Time deadline = clock_now() + endpoint->setup.time_out_ps;
    struct timespec until = clock_timespec(deadline);
    while (!endpoint->failed && !party_is_done(endpoint, party)) {
        Err late = {0};
        if (endpoint->polls) {
            pthread_cond_timedwait(&party->wake, &endpoint->lock, &until);
        } else {
            poll_once(endpoint, deadline);
            hand_over(endpoint, party);
        }
        if (clock_now() < deadline || party_is_done(endpoint, party)) continue;
        timed_out(endpoint, party, &late);
        fail(endpoint, &late);
    }
    return !endpoint->failed || stopped(endpoint, err);
}

static void party_enter(Endpoint *endpoint, Party *party) {
    pthread_cond_init(&party->wake, &endpoint->clock);
    endpoint->parties = mem_grow(endpoint->parties, &endpoint->party_capacity,
                                 endpoint->party_count + 1, sizeof *endpoint->parties);
    endpoint->parties[endpoint->party_count++] = party;
}

static void party_leave(Endpoint *endpoint, Party *party) {
    for (uint32_t i = 0; i < endpoint->party_count; i++) {
        if (endpoint->parties[i] != party) continue;
        endpoint->parties[i] = endpoint->parties[--endpoint->party_count];
        break;
    }
    pthread_cond_destroy(&party->wake);
    hand_over(endpoint, NULL);
}

// ---- The helper

static void *help(void *context) {
    Endpoint *endpoint = context;
    pthread_mutex_lock(&endpoint->lock);
    while (!endpoint->closes) {
        bool polls = !endpoint->failed && !endpoint->polls && endpoint->party_count == 0 &&
                     has_sends(endpoint);
        if (polls) {
            poll_once(endpoint, clock_now() + endpoint->setup.time_out_ps);
            hand_over(endpoint, NULL);
        } else {
            pthread_cond_wait(&endpoint->helper_wake, &endpoint->lock);
        }
    }
    pthread_mutex_unlock(&endpoint->lock);
    return NULL;
}

// ---- The back end

static bool begin_message(Wire *wire, const Message *message, Party *party, Err *err) {
    switch (message->kind) {
    case MESSAGE_POST:
        party->left--;
        return wire_post(wire, message->tag, message->bytes, message->count, err);
    case MESSAGE_SEND:
        return wire_send(wire, message->tag, message->bytes, message->count, &party->left, err);
    case MESSAGE_RECV:
        return wire_receive(wire,
                            &(WireReceive){.tag = message->tag,
                                           .count = message->count,
                                           .bytes = message->bytes,
                                           .left = &party->left},
                            err);
    case MESSAGE_COPY: party->left--; return true; // later
    }
    return false;
}

// Receives first, so that what comes goes where it belongs. Then sends to the ranks after this one,
// then to those before it: were they all in order of their rank, every rank of an all-to-all would
// send to rank 0 at first, whose link would then be the last to end (measured on 4 hosts: 1.6 times
// the time).
static uint32_t pass_of(const Endpoint *endpoint, const Message *message) {
    return message->kind == MESSAGE_RECV ? 0 : message->peer > endpoint->setup.rank ? 1 : 2;
}

static bool begin_all(Endpoint *endpoint, Party *party, Err *err) {
    for (uint32_t pass = 0; pass < 3; pass++) {
        for (uint32_t i = 0; i < party->count; i++) {
            const Message *message = &party->messages[i];
            if (pass_of(endpoint, message) != pass) continue;
            if (message->peer >= endpoint->setup.rank_count ||
                (message->peer == endpoint->setup.rank) != (message->kind == MESSAGE_COPY))
                return err_set(err, "a message to rank %u, expected another of %u ranks",
                               message->peer, endpoint->setup.rank_count);
            Wire *wire = &endpoint->wires[message->peer];
            if (!begin_message(wire, message, party, err)) return false;
            bell_of(endpoint, wire);
            watch_room(endpoint, wire);
        }
    }
    return true;
}

static bool exchange(void *self, uint32_t rank, const Message *messages, uint32_t count, Err *err) {
    Endpoint *endpoint = self;
    Party party = {.left = count, .messages = messages, .count = count};
    (void)rank; // one rank in one process
    pthread_mutex_lock(&endpoint->lock);
    Err why = {0};
    if (!endpoint->failed && !begin_all(endpoint, &party, &why)) fail(endpoint, &why);
    pthread_mutex_unlock(&endpoint->lock);
    message_copy_all(messages, count);
    pthread_mutex_lock(&endpoint->lock);
    party_enter(endpoint, &party); // not before: who copies does not hear that it shall poll
    bool good = wait_for(endpoint, &party, err);
    party_leave(endpoint, &party);
    pthread_mutex_unlock(&endpoint->lock);
    return good;
}

static bool next_round(Endpoint *endpoint, Time *out_start_ps, Err *err) {
    const Shared *shared = endpoint->setup.shared;
    pthread_mutex_lock(&endpoint->lock);
    Party party = {.round = ++endpoint->round};
    party_enter(endpoint, &party);
    shared_arrive(shared, party.round);
    bool good =
        wait_for(endpoint, &party, err) && shared_started(shared, party.round, out_start_ps);
    party_leave(endpoint, &party);
    pthread_mutex_unlock(&endpoint->lock);
    return good;
}

static bool start(void *self, uint32_t rank, Err *err) {
    Time start_ps;
    (void)rank;
    if (!next_round(self, &start_ps, err)) return false;
    clock_sleep_until(start_ps);
    return true;
}

static Time now(void *self) {
    const Endpoint *endpoint = self;
    return clock_now() - endpoint->setup.ahead_ps;
}

static void stop(void *self, uint32_t rank, const Err *why) {
    Endpoint *endpoint = self;
    (void)rank;
    pthread_mutex_lock(&endpoint->lock);
    fail(endpoint, why);
    pthread_mutex_unlock(&endpoint->lock);
}

BackEnd endpoint_back_end(Endpoint *endpoint) {
    return (BackEnd){.name = "net",
                     .machine = endpoint->setup.machine,
                     .self = endpoint,
                     .exchange = exchange,
                     .now = now,
                     .start = start,
                     .abort = stop};
}

static bool flush(Endpoint *endpoint, Err *err) {
    Party party = {.flushes = true};
    pthread_mutex_lock(&endpoint->lock);
    party_enter(endpoint, &party);
    bool good = wait_for(endpoint, &party, err);
    party_leave(endpoint, &party);
    pthread_mutex_unlock(&endpoint->lock);
    return good;
}

bool endpoint_finish(Endpoint *endpoint, Err *err) {
    Time start_ps;
    return flush(endpoint, err) && next_round(endpoint, &start_ps, err);
}

// ---- Open and close

static bool watch(Endpoint *endpoint, int descriptor, uint32_t peer, Err *err) {
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = peer};
    return epoll_ctl(endpoint->poll, EPOLL_CTL_ADD, descriptor, &event) == 0 ||
           err_set(err, "cannot poll rank %u: %s", peer, file_reason(errno));
}

static bool open_wires(Endpoint *endpoint, Err *err) {
    const EndpointSetup *setup = &endpoint->setup;
    uint32_t mine = setup->rank - setup->first;
    if (!watch(endpoint, setup->shared->bells[mine], setup->rank, err)) return false;
    for (uint32_t peer = 0; peer < setup->rank_count; peer++) {
        uint32_t local = peer - setup->first;
        Wire *wire = &endpoint->wires[peer];
        if (peer == setup->rank) continue;
        if (is_local(endpoint, peer)) {
            wire_open_rings(wire, peer, shared_ring(setup->shared, local, mine),
                            shared_ring(setup->shared, mine, local), setup->shared->room);
        } else {
            wire_open_socket(wire, peer, setup->sockets[peer]);
            if (!watch(endpoint, wire->socket, peer, err)) return false;
        }
    }
    return true;
}

bool endpoint_open(const EndpointSetup *setup, Endpoint **out, Err *err) {
    Endpoint *endpoint = mem_alloc(1, sizeof *endpoint);
    *endpoint = (Endpoint){.setup = *setup};
    endpoint->wires = mem_alloc(setup->rank_count, sizeof *endpoint->wires);
    endpoint->writes = mem_alloc(setup->rank_count, sizeof *endpoint->writes);
    pthread_mutex_init(&endpoint->lock, NULL);
    pthread_condattr_init(&endpoint->clock);
    pthread_condattr_setclock(&endpoint->clock, CLOCK_MONOTONIC);
    pthread_cond_init(&endpoint->helper_wake, &endpoint->clock);
    endpoint->poll = epoll_create1(EPOLL_CLOEXEC);
    bool good = endpoint->poll >= 0 || err_set(err, "cannot poll: %s", file_reason(errno));
    if (!good || !open_wires(endpoint, err)) {
        endpoint_close(endpoint);
        return false;
    }
    *out = endpoint;
    return true;
}

static void end_helper(Endpoint *endpoint) {
    pthread_mutex_lock(&endpoint->lock);
    endpoint->closes = true;
    Err why = {0};
    err_set(&why, "closed");
    fail(endpoint, &why);
    pthread_cond_signal(&endpoint->helper_wake);
    pthread_mutex_unlock(&endpoint->lock);
    if (endpoint->has_helper) pthread_join(endpoint->helper, NULL);
}

void endpoint_close(Endpoint *endpoint) {
    if (endpoint == NULL) return;
    end_helper(endpoint);
    for (uint32_t peer = 0; peer < endpoint->setup.rank_count; peer++) {
        if (endpoint->wires[peer].socket > 0) close(endpoint->wires[peer].socket);
        wire_close(&endpoint->wires[peer]);
    }
    if (endpoint->poll >= 0) close(endpoint->poll);
    pthread_cond_destroy(&endpoint->helper_wake);
    pthread_condattr_destroy(&endpoint->clock);
    pthread_mutex_destroy(&endpoint->lock);
    mem_free(endpoint->parties);
    mem_free(endpoint->writes);
    mem_free(endpoint->wires);
    mem_free(endpoint);
}
