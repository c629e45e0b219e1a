// How the ranks of different hosts get their connections.
//
// Invariant: a connection counts only after its greeting was read and belongs to this run; until
// then nobody waits for it alone, so that a foreign connection that says nothing delays nobody.
#include "exec/net/connect.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "exec/net/endpoint.h"
#include "model/base/file.h"
#include "model/base/mem.h"

#define BUFFER_B    (1 << 20) // of a socket, each way: measured as the one of least noise
#define FOREIGN_MAX 64        // connections at once that have not greeted
#define BACKLOG     256
#define PS_PER_MS   INT64_C(1000000000)
#define ADDRESS_MAX (INET_ADDRSTRLEN + 8)

typedef enum ConnState { CONN_CONNECTING, CONN_ANSWER, CONN_GREETING } ConnState;

// A connection under way: ours to a host before us (CONNECTING, then ANSWER), or one that came.
typedef struct Conn {
    int socket;
    ConnState state;
    uint32_t mine, theirs; // ranks; of one that came: known when it has greeted
    struct sockaddr_in where;
    uint8_t bytes[FRAME_GREETING_B];
    size_t count;
} Conn;

typedef struct Connecting {
    const ConnectPlan *plan;
    int *sockets;
    uint32_t left; // pairs
    Conn *conns;   // heap
    uint32_t conn_count, conn_capacity, foreign;
    struct pollfd *polls; // heap: the listener, then conns
    uint32_t poll_capacity;
    Text *notes;
} Connecting;

static char *address_text(const struct sockaddr_in *address, char text[ADDRESS_MAX]) {
    char host[INET_ADDRSTRLEN] = "?";
    inet_ntop(AF_INET, &address->sin_addr, host, sizeof host);
    snprintf(text, ADDRESS_MAX, "%s:%u", host, ntohs(address->sin_port));
    return text;
}

// ---- Addresses

static bool interface_address(const char *interface, struct in_addr *out, Err *err) {
    struct ifaddrs *all = NULL;
    bool found = false;
    if (getifaddrs(&all) != 0)
        return err_set(err, "cannot list network interfaces: %s", file_reason(errno));
    for (struct ifaddrs *one = all; one != NULL && !found; one = one->ifa_next) {
        struct sockaddr_in address;
        if (one->ifa_addr == NULL || one->ifa_addr->sa_family != AF_INET ||
            strcmp(one->ifa_name, interface) != 0)
            continue;
        memcpy(&address, one->ifa_addr, sizeof address);
        *out = address.sin_addr;
        found = true;
    }
    freeifaddrs(all);
    char quoted[TEXT_QUOTE_MAX];
    return found || err_set(err, "no network interface %s with an IPv4 address",
                            text_quote(interface, quoted));
}

bool connect_address(const char *name, const char *interface, struct in_addr *out, Err *err) {
    char quoted[TEXT_QUOTE_MAX];
    if (interface != NULL) return interface_address(interface, out, err);
    return inet_pton(AF_INET, name, out) == 1 ||
           err_set(err, "host %s is no IPv4 address, and no interface is named",
                   text_quote(name, quoted));
}

static bool set_up(int socket, Err *err) {
    int size = BUFFER_B, one = 1;
    // buffers are a wish: a system that allows less is as right
    setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    if (setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) == 0 &&
        fcntl(socket, F_SETFL, O_NONBLOCK) == 0 && fcntl(socket, F_SETFD, FD_CLOEXEC) == 0)
        return true;
    return err_set(err, "cannot set up a socket: %s", file_reason(errno));
}

static bool listen_on(int socket, struct sockaddr_in *address, Err *err) {
    socklen_t size = sizeof *address;
    char text[ADDRESS_MAX];
    if (!set_up(socket, err)) return false;
    if (bind(socket, (struct sockaddr *)address, sizeof *address) == 0 &&
        listen(socket, BACKLOG) == 0 && getsockname(socket, (struct sockaddr *)address, &size) == 0)
        return true;
    return err_set(err, "cannot listen on %s: %s", address_text(address, text), file_reason(errno));
}

bool connect_listen(struct in_addr address, int *out_socket, struct sockaddr_in *out, Err *err) {
    struct sockaddr_in where = {.sin_family = AF_INET, .sin_addr = address};
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (listener < 0) return err_set(err, "cannot make a socket: %s", file_reason(errno));
    if (!listen_on(listener, &where, err)) {
        close(listener);
        return false;
    }
    *out_socket = listener;
    *out = where;
    return true;
}

// ---- Connections under way

static int *socket_of(Connecting *all, uint32_t mine, uint32_t theirs) {
    const ConnectPlan *plan = all->plan;
    uint32_t local = mine - plan->hosts->hosts[plan->host].first;
    return &all->sockets[(size_t)local * plan->hosts->ranks + theirs];
}

static void add_conn(Connecting *all, const Conn *conn) {
    all->conns = mem_grow(all->conns, &all->conn_capacity, all->conn_count + 1, sizeof *all->conns);
    all->conns[all->conn_count++] = *conn;
}

static bool begin_one(Connecting *all, uint32_t mine, uint32_t theirs, Err *err) {
    const ConnectPlan *plan = all->plan;
    Conn conn = {.state = CONN_CONNECTING,
                 .mine = mine,
                 .theirs = theirs,
                 .where = plan->where[hosts_of_rank(plan->hosts, theirs)]};
    char text[ADDRESS_MAX];
    conn.socket = socket(AF_INET, SOCK_STREAM, 0);
    if (conn.socket < 0) return err_set(err, "cannot make a socket: %s", file_reason(errno));
    add_conn(all, &conn);
    // from the address that this host listens on: the interface that was named, and no other
    struct sockaddr_in from = plan->where[plan->host];
    from.sin_port = 0;
    if (!set_up(conn.socket, err)) return false;
    if (bind(conn.socket, (struct sockaddr *)&from, sizeof from) == 0 &&
        (connect(conn.socket, (struct sockaddr *)&conn.where, sizeof conn.where) == 0 ||
         errno == EINPROGRESS))
        return true;
    return err_set(err, "rank %u cannot connect to rank %u at %s: %s", mine, theirs,
                   address_text(&conn.where, text), file_reason(errno));
}

static bool begin_all(Connecting *all, Err *err) {
    const ConnectPlan *plan = all->plan;
    const HostsOne *here = &plan->hosts->hosts[plan->host];
    all->left = here->count * (plan->hosts->ranks - here->count);
    for (uint32_t mine = here->first; mine < here->first + here->count; mine++) {
        for (uint32_t theirs = 0; theirs < here->first; theirs++) {
            if (!begin_one(all, mine, theirs, err)) return false;
        }
    }
    return true;
}

static void drop(Connecting *all, uint32_t index) {
    all->conns[index] = all->conns[--all->conn_count];
}

static void refuse(Connecting *all, uint32_t index, const char *why) {
    char text[ADDRESS_MAX];
    text_addf(all->notes, "refused a connection from %s: %s\n",
              address_text(&all->conns[index].where, text), why);
    close(all->conns[index].socket);
    all->foreign--;
    drop(all, index);
}

static void accept_some(Connecting *all) {
    for (;;) {
        Conn conn = {.state = CONN_GREETING};
        socklen_t size = sizeof conn.where;
        Err err = {0};
        conn.socket = accept(all->plan->listener, (struct sockaddr *)&conn.where, &size);
        if (conn.socket < 0) return;
        add_conn(all, &conn);
        all->foreign++;
        if (all->foreign > FOREIGN_MAX)
            refuse(all, all->conn_count - 1, "too many that have not greeted");
        else if (!set_up(conn.socket, &err))
            refuse(all, all->conn_count - 1, err.text);
    }
}

static void greet(const Connecting *all, const Conn *conn, uint8_t bytes[FRAME_GREETING_B]) {
    FrameGreeting greeting = all->plan->greeting;
    greeting.from = conn->mine;
    greeting.to = conn->theirs;
    frame_write_greeting(&greeting, bytes);
}

// A greeting fits in an empty buffer.
static bool send_greeting(const Connecting *all, const Conn *conn) {
    uint8_t bytes[FRAME_GREETING_B];
    greet(all, conn, bytes);
    return send(conn->socket, bytes, sizeof bytes, MSG_NOSIGNAL) == (ssize_t)sizeof bytes;
}

static void keep(Connecting *all, uint32_t index) {
    Conn *conn = &all->conns[index];
    *socket_of(all, conn->mine, conn->theirs) = conn->socket;
    all->left--;
    drop(all, index);
}

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

static void take_greeting(Connecting *all, uint32_t index) {
    Conn *conn = &all->conns[index];
    FrameGreeting greeting;
    Err err = {0};
    if (!frame_read_greeting(conn->bytes, &greeting, &err) || !is_awaited(all, &greeting, &err)) {
        refuse(all, index, err.text);
        return;
    }
    conn->mine = greeting.to;
    conn->theirs = greeting.from;
    if (!send_greeting(all, conn)) {
        refuse(all, index, "it does not listen");
        return;
    }
    all->foreign--;
    keep(all, index);
}

static bool take_answer(Connecting *all, uint32_t index, Err *err) {
    Conn *conn = &all->conns[index];
    FrameGreeting greeting;
    char text[ADDRESS_MAX];
    if (!frame_read_greeting(conn->bytes, &greeting, err) ||
        !frame_same_run(&greeting, &all->plan->greeting, err) || greeting.from != conn->theirs ||
        greeting.to != conn->mine) {
        if (!err_is_set(err)) err_set(err, "answers as rank %u", greeting.from);
        return err_prefix(err, "%s, where rank %u was expected", address_text(&conn->where, text),
                          conn->theirs);
    }
    keep(all, index);
    return true;
}

static bool lost(const Connecting *all, uint32_t index, const char *why, Err *err) {
    const Conn *conn = &all->conns[index];
    char text[ADDRESS_MAX];
    return err_set(err, "rank %u cannot connect to rank %u at %s: %s", conn->mine, conn->theirs,
                   address_text(&conn->where, text), why);
}

static bool finish_connect(Connecting *all, uint32_t index, Err *err) {
    Conn *conn = &all->conns[index];
    int code = 0;
    socklen_t size = sizeof code;
    getsockopt(conn->socket, SOL_SOCKET, SO_ERROR, &code, &size);
    if (code != 0) return lost(all, index, file_reason(code), err);
    conn->state = CONN_ANSWER;
    return send_greeting(all, conn) || lost(all, index, "it does not listen", err);
}

static bool read_greeting(Connecting *all, uint32_t index, Err *err) {
    Conn *conn = &all->conns[index];
    ssize_t now = recv(conn->socket, conn->bytes + conn->count, FRAME_GREETING_B - conn->count, 0);
    if (now < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (now <= 0) {
        const char *why = now < 0 ? file_reason(errno) : "it closed before it greeted";
        if (conn->state == CONN_ANSWER) return lost(all, index, why, err);
        refuse(all, index, why);
        return true;
    }
    conn->count += (size_t)now;
    if (conn->count < FRAME_GREETING_B) return true;
    if (conn->state == CONN_ANSWER) return take_answer(all, index, err);
    take_greeting(all, index);
    return true;
}

// ---- All at once

static void fill_polls(Connecting *all) {
    all->polls = mem_grow(all->polls, &all->poll_capacity, all->conn_count + 1, sizeof *all->polls);
    all->polls[0] = (struct pollfd){.fd = all->plan->listener, .events = POLLIN};
    for (uint32_t i = 0; i < all->conn_count; i++) {
        bool writes = all->conns[i].state == CONN_CONNECTING;
        all->polls[i + 1] =
            (struct pollfd){.fd = all->conns[i].socket, .events = writes ? POLLOUT : POLLIN};
    }
}

// From the last on, as each may drop itself.
static bool take_polls(Connecting *all, Err *err) {
    for (uint32_t i = all->conn_count; i > 0; i--) {
        if (all->polls[i].revents == 0) continue;
        bool good = all->conns[i - 1].state == CONN_CONNECTING ? finish_connect(all, i - 1, err)
                                                               : read_greeting(all, i - 1, err);
        if (!good) return false;
    }
    if (all->polls[0].revents != 0) accept_some(all);
    return true;
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
    Time deadline = endpoint_clock() + all->plan->time_out_ps;
    while (all->left > 0) {
        Time wait_ps = deadline - endpoint_clock();
        if (wait_ps <= 0) return name_missing(all, err);
        fill_polls(all);
        int count = poll(all->polls, all->conn_count + 1, (int)(wait_ps / PS_PER_MS) + 1);
        if (count < 0 && errno != EINTR)
            return err_set(err, "cannot wait for connections: %s", file_reason(errno));
        if (count > 0 && !take_polls(all, err)) return false;
    }
    return true;
}

bool connect_all(const ConnectPlan *plan, int **out_sockets, Text *notes, Err *err) {
    uint32_t count = plan->hosts->hosts[plan->host].count * plan->hosts->ranks;
    Connecting all = {.plan = plan, .notes = notes};
    all.sockets = mem_alloc(count, sizeof *all.sockets);
    for (uint32_t i = 0; i < count; i++) all.sockets[i] = -1;
    bool good = begin_all(&all, err) && connect_rest(&all, err);
    for (uint32_t i = 0; i < all.conn_count; i++) close(all.conns[i].socket);
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
    Time wait_ps = deadline - endpoint_clock();
    if (wait_ps > 0 && poll(&one, 1, (int)(wait_ps / PS_PER_MS) + 1) > 0) return true;
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
    Time best = TIME_MAX, ahead = 0, deadline = endpoint_clock() + time_out_ps;
    for (uint32_t i = 0; i < CLOCK_QUESTIONS; i++) {
        uint64_t theirs;
        Time before = endpoint_clock();
        if (!send_8(socket, i, err) || !receive_8(socket, &theirs, deadline, err)) return false;
        Time round_ps = endpoint_clock() - before;
        if (round_ps >= best) continue;
        best = round_ps;
        ahead = before + round_ps / 2 - (Time)theirs;
    }
    *out_ahead_ps = ahead;
    *out_error_ps = best / 2;
    return true;
}

bool connect_answer_clock(int socket, Time time_out_ps, Err *err) {
    Time deadline = endpoint_clock() + time_out_ps;
    for (uint32_t i = 0; i < CLOCK_QUESTIONS; i++) {
        uint64_t question;
        if (!receive_8(socket, &question, deadline, err) ||
            !send_8(socket, (uint64_t)endpoint_clock(), err))
            return false;
    }
    return true;
}
