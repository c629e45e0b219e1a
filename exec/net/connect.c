// How the ranks of different hosts get their connections.
//
// Invariant: a connection counts only after its greeting was read and belongs to this run; until
// then nobody waits for it alone, so that a foreign connection that says nothing delays nobody. One
// of ours that ends without an answer, as when a crowd at the door made it go, is tried again.
#include "exec/net/connect.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "exec/clock.h"
#include "exec/net/door.h"
#include "model/base/file.h"
#include "model/base/mem.h"

#define TRIES_MAX  8                     // of one connection
#define TRY_GAP_PS (PS_PER_SECOND / 100) // before the second; each further one waits twice as long

typedef enum ConnState { CONN_CONNECTING, CONN_ANSWER, CONN_WAITING } ConnState;

// A connection under way to a host before us: CONNECTING, then ANSWER; WAITING to be tried again.
typedef struct Conn {
    int socket; // -1: none
    ConnState state;
    uint32_t mine, theirs; // ranks
    uint32_t tries;
    Time again_ps; // when it is tried again
    uint8_t bytes[FRAME_GREETING_B];
    size_t count;
} Conn;

typedef struct Connecting {
    const ConnectPlan *plan;
    int *sockets;
    uint32_t left; // pairs
    Conn *conns;   // heap
    uint32_t conn_count, conn_capacity;
    Door door;
    struct pollfd *polls; // heap: the door's, then conns
    uint32_t poll_capacity, door_polls;
} Connecting;

static int *socket_of(Connecting *all, uint32_t mine, uint32_t theirs) {
    const ConnectPlan *plan = all->plan;
    uint32_t local = mine - plan->hosts->hosts[plan->host].first;
    return &all->sockets[(size_t)local * plan->hosts->ranks + theirs];
}

static bool greet(const Connecting *all, int socket, uint32_t mine, uint32_t theirs) {
    FrameGreeting greeting = all->plan->greeting;
    greeting.from = mine;
    greeting.to = theirs;
    return door_greet(socket, &greeting);
}

// ---- Connections of ours

static const Address *where_of(const Connecting *all, const Conn *conn) {
    return &all->plan->where[hosts_of_rank(all->plan->hosts, conn->theirs)];
}

static bool lost(const Connecting *all, const Conn *conn, const char *why, Err *err) {
    char text[ADDRESS_TEXT_MAX];
    return err_set(err, "rank %u cannot connect to rank %u at %s: %s", conn->mine, conn->theirs,
                   address_text(where_of(all, conn), text), why);
}

// From the address that this host listens on: the interface that was named, and no other.
static bool begin_one(Connecting *all, Conn *conn, Err *err) {
    const Address *where = where_of(all, conn);
    Address from = all->plan->where[all->plan->host];
    address_set_port(&from, 0);
    if (from.any.sa_family != where->any.sa_family)
        return lost(all, conn, "one of them has an IPv4 address, the other an IPv6 address", err);
    conn->socket = socket(from.any.sa_family, SOCK_STREAM, 0);
    if (conn->socket < 0) return err_set(err, "cannot make a socket: %s", file_reason(errno));
    if (!address_set_up(conn->socket, err)) return false;
    conn->state = CONN_CONNECTING;
    conn->count = 0;
    conn->tries++;
    return (bind(conn->socket, &from.any, address_size(&from)) == 0 &&
            (connect(conn->socket, &where->any, address_size(where)) == 0 ||
             errno == EINPROGRESS)) ||
           lost(all, conn, file_reason(errno), err);
}

static bool begin_all(Connecting *all, Err *err) {
    const ConnectPlan *plan = all->plan;
    const HostsOne *here = &plan->hosts->hosts[plan->host];
    all->left = here->count * (plan->hosts->ranks - here->count);
    for (uint32_t mine = here->first; mine < here->first + here->count; mine++) {
        for (uint32_t theirs = 0; theirs < here->first; theirs++) {
            Conn conn = {.socket = -1, .mine = mine, .theirs = theirs};
            all->conns =
                mem_grow(all->conns, &all->conn_capacity, all->conn_count + 1, sizeof *all->conns);
            all->conns[all->conn_count++] = conn;
            if (!begin_one(all, &all->conns[all->conn_count - 1], err)) return false;
        }
    }
    return true;
}

// It ended without an answer: the other side had no room for it, or does not want it.
static bool try_later(const Connecting *all, Conn *conn, const char *why, Err *err) {
    if (conn->tries == TRIES_MAX) return lost(all, conn, why, err);
    close(conn->socket);
    conn->socket = -1;
    conn->state = CONN_WAITING;
    conn->again_ps = clock_now() + (TRY_GAP_PS << (conn->tries - 1));
    return true;
}

static bool finish_connect(Connecting *all, Conn *conn, Err *err) {
    int code = 0;
    socklen_t size = sizeof code;
    getsockopt(conn->socket, SOL_SOCKET, SO_ERROR, &code, &size);
    if (code == ECONNRESET) return try_later(all, conn, file_reason(code), err);
    if (code != 0) return lost(all, conn, file_reason(code), err);
    conn->state = CONN_ANSWER;
    return greet(all, conn->socket, conn->mine, conn->theirs) ||
           try_later(all, conn, "it does not listen", err);
}

static void keep(Connecting *all, uint32_t mine, uint32_t theirs, int socket) {
    *socket_of(all, mine, theirs) = socket;
    all->left--;
}

static bool take_answer(Connecting *all, uint32_t index, Err *err) {
    Conn *conn = &all->conns[index];
    FrameGreeting greeting;
    char text[ADDRESS_TEXT_MAX];
    if (!frame_read_greeting(conn->bytes, &greeting, err) ||
        !frame_same_run(&greeting, &all->plan->greeting, err) || greeting.from != conn->theirs ||
        greeting.to != conn->mine) {
        if (!err_is_set(err)) err_set(err, "answers as rank %u", greeting.from);
        return err_prefix(err, "%s, where rank %u was expected",
                          address_text(where_of(all, conn), text), conn->theirs);
    }
    keep(all, conn->mine, conn->theirs, conn->socket);
    all->conns[index] = all->conns[--all->conn_count];
    return true;
}

static bool read_answer(Connecting *all, uint32_t index, Err *err) {
    Conn *conn = &all->conns[index];
    ssize_t now = recv(conn->socket, conn->bytes + conn->count, FRAME_GREETING_B - conn->count, 0);
    if (now < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (now <= 0)
        return try_later(all, conn, now < 0 ? file_reason(errno) : "it closed before it greeted",
                         err);
    conn->count += (size_t)now;
    return conn->count < FRAME_GREETING_B || take_answer(all, index, err);
}

static bool move_conn(Connecting *all, uint32_t index, short events, Err *err) {
    Conn *conn = &all->conns[index];
    switch (conn->state) {
    case CONN_CONNECTING: return events == 0 || finish_connect(all, conn, err);
    case CONN_ANSWER: return events == 0 || read_answer(all, index, err);
    case CONN_WAITING: return clock_now() < conn->again_ps || begin_one(all, conn, err);
    }
    assert(0);
    return false;
}

// ---- Connections that come

// Whether a greeting that came is one that this host waits for.
static bool is_awaited(Connecting *all, const FrameGreeting *greeting, Err *err) {
    const ConnectPlan *plan = all->plan;
    const HostsOne *here = &plan->hosts->hosts[plan->host];
    if (!frame_same_run(greeting, &plan->greeting, err)) return false;
    if (greeting->to - here->first >= here->count || greeting->from >= plan->hosts->ranks ||
        greeting->from < here->first + here->count)
        return err_set(err, "rank %u does not connect to rank %u here", greeting->from,
                       greeting->to);
    return *socket_of(all, greeting->to, greeting->from) < 0 ||
           err_set(err, "rank %u has connected to rank %u already", greeting->from, greeting->to);
}

static bool take_guest(void *context, int socket, const FrameGreeting *greeting, Err *why) {
    Connecting *all = context;
    if (!is_awaited(all, greeting, why)) return false;
    if (!greet(all, socket, greeting->to, greeting->from))
        return err_set(why, "it does not listen");
    keep(all, greeting->to, greeting->from, socket);
    return true;
}

// ---- All at once

// Returns how many.
static uint32_t fill_polls(Connecting *all) {
    all->polls = mem_grow(all->polls, &all->poll_capacity, DOOR_POLLS_MAX + all->conn_count,
                          sizeof *all->polls);
    all->door_polls = door_polls(&all->door, all->polls);
    for (uint32_t i = 0; i < all->conn_count; i++) {
        const Conn *conn = &all->conns[i];
        bool writes = conn->state == CONN_CONNECTING;
        all->polls[all->door_polls + i] =
            (struct pollfd){.fd = conn->socket, .events = writes ? POLLOUT : POLLIN};
    }
    return all->door_polls + all->conn_count;
}

static bool take_polls(Connecting *all, Err *err) {
    for (uint32_t i = all->conn_count; i > 0; i--) { // from the last on, as each may drop itself
        if (!move_conn(all, i - 1, all->polls[all->door_polls + i - 1].revents, err)) return false;
    }
    return door_look(&all->door, all->polls, take_guest, all, err);
}

// When something has to happen although nothing comes.
static Time next_ps(const Connecting *all, Time deadline) {
    Time next = door_next_ps(&all->door) < deadline ? door_next_ps(&all->door) : deadline;
    for (uint32_t i = 0; i < all->conn_count; i++) {
        const Conn *conn = &all->conns[i];
        if (conn->state == CONN_WAITING && conn->again_ps < next) next = conn->again_ps;
    }
    return next;
}

static bool name_missing(Connecting *all, Err *err) {
    const ConnectPlan *plan = all->plan;
    const HostsOne *here = &plan->hosts->hosts[plan->host];
    char text[UNITS_TEXT_MAX];
    for (uint32_t theirs = 0; theirs < plan->hosts->ranks; theirs++) {
        if (theirs - here->first < here->count || *socket_of(all, here->first, theirs) >= 0)
            continue;
        return err_set(err, "rank %u did not connect to rank %u within %s", theirs, here->first,
                       units_format_time(plan->time_out_ps, text));
    }
    return err_set(err, "not all ranks connected within %s",
                   units_format_time(plan->time_out_ps, text));
}

static bool connect_rest(Connecting *all, Err *err) {
    Time deadline = clock_now() + all->plan->time_out_ps;
    while (all->left > 0) {
        uint32_t count = fill_polls(all);
        Time now = clock_now(), next = next_ps(all, deadline);
        if (now >= deadline) return name_missing(all, err);
        if (poll(all->polls, count, clock_poll_ms(next - now)) < 0) {
            if (errno == EINTR) continue;
            return err_set(err, "cannot wait for connections: %s", file_reason(errno));
        }
        if (!take_polls(all, err)) return false;
    }
    return true;
}

bool connect_all(const ConnectPlan *plan, int **out_sockets, Text *notes, Err *err) {
    uint32_t count = plan->hosts->hosts[plan->host].count * plan->hosts->ranks;
    Connecting all = {.plan = plan, .door = {.listener = plan->listener, .notes = notes}};
    all.sockets = mem_alloc(count, sizeof *all.sockets);
    for (uint32_t i = 0; i < count; i++) all.sockets[i] = -1;
    bool good = begin_all(&all, err) && connect_rest(&all, err);
    for (uint32_t i = 0; i < all.conn_count; i++) {
        if (all.conns[i].socket >= 0) close(all.conns[i].socket);
    }
    door_close(&all.door);
    mem_free(all.conns);
    mem_free(all.polls);
    if (good)
        *out_sockets = all.sockets;
    else
        connect_close(all.sockets, count);
    return good;
}

void connect_close(int *sockets, uint32_t count) {
    for (uint32_t i = 0; sockets != NULL && i < count; i++) {
        if (sockets[i] >= 0) close(sockets[i]);
    }
    mem_free(sockets);
}

// ---- Clocks

#define CLOCK_QUESTIONS 64

static bool wait_readable(int socket, Time deadline, Err *err) {
    struct pollfd one = {.fd = socket, .events = POLLIN};
    Time wait_ps = deadline - clock_now();
    if (wait_ps > 0 && poll(&one, 1, clock_poll_ms(wait_ps)) > 0) return true;
    return err_set(err, "no answer about its clock");
}

static bool receive_8(int socket, uint64_t *out, Time deadline, Err *err) {
    uint8_t bytes[8];
    size_t count = 0;
    while (count < sizeof bytes) {
        ssize_t now = recv(socket, bytes + count, sizeof bytes - count, 0);
        if (now > 0) count += (size_t)now;
        if (now > 0) continue;
        if (now == 0 || (errno != EAGAIN && errno != EINTR))
            return err_set(err, "no answer about its clock: it is gone");
        if (!wait_readable(socket, deadline, err)) return false;
    }
    *out = frame_get(bytes, 8);
    return true;
}

static bool send_8(int socket, uint64_t value, Err *err) {
    uint8_t bytes[8];
    frame_put(bytes, value, 8);
    return send(socket, bytes, sizeof bytes, MSG_NOSIGNAL) == (ssize_t)sizeof bytes ||
           err_set(err, "cannot ask about its clock: %s", file_reason(errno));
}

bool connect_ask_clock(int socket, Time time_out_ps, Time *out_ahead_ps, Time *out_error_ps,
                       Err *err) {
    Time best = TIME_MAX, ahead = 0, deadline = clock_now() + time_out_ps;
    for (uint32_t i = 0; i < CLOCK_QUESTIONS; i++) {
        uint64_t theirs;
        Time before = clock_now();
        if (!send_8(socket, i, err) || !receive_8(socket, &theirs, deadline, err)) return false;
        if (theirs >= (uint64_t)CLOCK_PERIOD_S * PS_PER_SECOND)
            return err_set(err, "the answer about its clock is not a time");
        Time round_ps = clock_now() - before;
        if (round_ps >= best) continue;
        best = round_ps;
        ahead = before + round_ps / 2 - (Time)theirs;
    }
    *out_ahead_ps = ahead;
    *out_error_ps = best / 2;
    return true;
}

bool connect_answer_clock(int socket, Time time_out_ps, Err *err) {
    Time deadline = clock_now() + time_out_ps;
    for (uint32_t i = 0; i < CLOCK_QUESTIONS; i++) {
        uint64_t question;
        if (!receive_8(socket, &question, deadline, err) ||
            !send_8(socket, (uint64_t)clock_now(), err))
            return false;
    }
    return true;
}
