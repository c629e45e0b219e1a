// Hosts of a run that people start by hand.
//
// What is typed on a host is what was typed for the first process and HAND_OPTION
// ADDRESS:PORT/HOST/TOKEN. Invariant: a host counts when it has greeted with the token of the run,
// and knows by the answer that it does.
#include "exec/net/hand.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "exec/clock.h"
#include "exec/net/control.h"
#include "exec/net/door.h"
#include "model/base/file.h"
#include "model/plan/launch_shell.h"

typedef struct Hand {
    const HandPlan *plan;
    int *sockets;
    uint32_t left;
} Hand;

static FrameGreeting greeting_of(const uint8_t *token, uint32_t from, uint32_t to) {
    FrameGreeting greeting = {.from = from, .to = to}; // jobs are compared by what is said later
    memcpy(greeting.token, token, FRAME_TOKEN_B);
    return greeting;
}

static bool make_blocking(int socket) {
    return fcntl(socket, F_SETFL, 0) == 0;
}

// ---- What to type

void hand_command(const HandPlan *plan, uint32_t host, Text *out) {
    char text[ADDRESS_TEXT_MAX];
    Text where = {0};
    text_add(out, "moesim-run");
    for (uint32_t i = 0; i < plan->word_count; i++) {
        text_add_char(out, ' ');
        launch_shell_quote(plan->words[i], out);
    }
    text_addf(&where, "%s/%u/", address_text(&plan->where, text), host);
    for (uint32_t i = 0; i < FRAME_TOKEN_B; i++) text_addf(&where, "%02x", plan->token[i]);
    text_add(out, " " HAND_OPTION " ");
    launch_shell_quote(text_string(&where), out);
    text_free(&where);
}

// ---- The first process

// Whether one that has come is gone again: it says nothing before it is spoken to.
static bool is_gone(int socket) {
    char byte;
    ssize_t count = recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR);
}

static bool take_host(void *context, int socket, const FrameGreeting *greeting, Err *why) {
    Hand *hand = context;
    uint32_t host = greeting->from;
    FrameGreeting mine = greeting_of(hand->plan->token, CONTROL_HOST, host);
    if (!frame_same_run(greeting, &mine, why)) return false;
    if (greeting->to != CONTROL_HOST || host == 0 || host >= hand->plan->hosts->count)
        return err_set(why, "host %u does not come here", host);
    if (hand->sockets[host] >= 0 && is_gone(hand->sockets[host])) {
        close(hand->sockets[host]);
        hand->sockets[host] = -1;
        hand->left++;
    }
    if (hand->sockets[host] >= 0) return err_set(why, "host %u has come already", host);
    if (!door_greet(socket, &mine) || !make_blocking(socket))
        return err_set(why, "it does not listen");
    hand->sockets[host] = socket;
    hand->left--;
    return true;
}

static bool name_missing(const Hand *hand, Err *err) {
    const HandPlan *plan = hand->plan;
    char where[ADDRESS_TEXT_MAX], time[UNITS_TEXT_MAX];
    Text command = {0};
    uint32_t host = 1;
    while (hand->sockets[host] >= 0) host++;
    hand_command(plan, host, &command);
    err_set(err, "host %s did not come to %s within %s: type there: %s",
            plan->hosts->hosts[host].name, address_text(&plan->where, where),
            units_format_time(plan->time_out_ps, time), text_string(&command));
    text_free(&command);
    return false;
}

static bool wait_for_all(Hand *hand, Door *door, Err *err) {
    struct pollfd polls[DOOR_POLLS_MAX];
    Time deadline = clock_now() + hand->plan->time_out_ps;
    while (hand->left > 0) {
        uint32_t count = door_polls(door, polls);
        Time next = door_next_ps(door) < deadline ? door_next_ps(door) : deadline;
        Time now = clock_now();
        if (now >= deadline) return name_missing(hand, err);
        if (poll(polls, count, clock_poll_ms(next - now)) < 0) {
            if (errno == EINTR) continue;
            return err_set(err, "cannot wait for hosts: %s", file_reason(errno));
        }
        if (!door_look(door, polls, take_host, hand, err)) return false;
    }
    return true;
}

bool hand_wait(const HandPlan *plan, int listener, int *sockets, Text *notes, Err *err) {
    Hand hand = {.plan = plan, .sockets = sockets, .left = plan->hosts->count - 1};
    Door door = {.listener = listener, .notes = notes};
    for (uint32_t i = 1; i < plan->hosts->count; i++) sockets[i] = -1;
    bool good = wait_for_all(&hand, &door, err);
    door_close(&door);
    for (uint32_t i = 1; !good && i < plan->hosts->count; i++) {
        if (sockets[i] >= 0) close(sockets[i]);
        sockets[i] = -1;
    }
    return good;
}

// ---- The other side

static bool read_token(const char *text, uint8_t token[FRAME_TOKEN_B]) {
    static const char digits[] = "0123456789abcdef";
    if (strlen(text) != (size_t)2 * FRAME_TOKEN_B || text[strspn(text, digits)] != '\0')
        return false;
    for (uint32_t i = 0; i < FRAME_TOKEN_B; i++)
        token[i] = (uint8_t)((strchr(digits, text[(size_t)2 * i]) - digits) << 4 |
                             (strchr(digits, text[(size_t)2 * i + 1]) - digits));
    return true;
}

// Cuts `text` behind the last of this character: what follows; NULL when there is none.
static char *cut(char *text, char at) {
    char *found = strrchr(text, at);
    if (found == NULL) return NULL;
    *found = '\0';
    return found + 1;
}

bool hand_read_where(const char *text, HandWhere *out, Err *err) {
    HandWhere where = {0};
    char all[HAND_ADDRESS_MAX], quoted[TEXT_QUOTE_MAX];
    uint64_t number = 0, port = 0;
    snprintf(all, sizeof all, "%s", text);
    char *token = cut(all, '/'), *host = cut(all, '/'), *after = cut(all, ':');
    size_t length = strlen(all);
    bool good = strlen(text) < sizeof all && token != NULL && host != NULL && after != NULL &&
                length > 0 && strcmp(all, "[]") != 0 && read_token(token, where.token) &&
                text_parse_u64(host, &number) && number < HOSTS_MAX &&
                text_parse_u64(after, &port) && port > 0 && port <= UINT16_MAX;
    if (!good)
        return err_set(err,
                       "expected ADDRESS:PORT/HOST/TOKEN as the first process says it, found %s",
                       text_quote(text, quoted));
    bool is_bracketed = *all == '[' && all[length - 1] == ']';
    if (is_bracketed) all[length - 1] = '\0';
    snprintf(where.address, sizeof where.address, "%s", all + is_bracketed);
    where.port = (uint16_t)port;
    where.host = (uint32_t)number;
    *out = where;
    return true;
}

static bool wait_ready(int socket, short events, Time deadline) {
    struct pollfd one = {.fd = socket, .events = events};
    for (;;) {
        Time left_ps = deadline - clock_now();
        int count = poll(&one, 1, clock_poll_ms(left_ps));
        if (count > 0) return true;
        if (count == 0 && left_ps <= 0) return false;
    }
}

static bool connect_to(int socket, const Address *address, Time deadline, Err *err) {
    int code = 0;
    socklen_t size = sizeof code;
    if (!address_set_up(socket, err)) return false;
    if (connect(socket, &address->any, address_size(address)) == 0) return true;
    if (errno != EINPROGRESS) return err_set(err, "%s", file_reason(errno));
    if (!wait_ready(socket, POLLOUT, deadline)) return err_set(err, "no answer");
    getsockopt(socket, SOL_SOCKET, SO_ERROR, &code, &size);
    if (code == ECONNREFUSED)
        return err_set(err, "no first process waits there: start it before this one");
    return code == 0 || err_set(err, "%s", file_reason(code));
}

static bool hear_answer(int socket, const FrameGreeting *mine, Time deadline, Err *err) {
    uint8_t bytes[FRAME_GREETING_B];
    size_t count = 0;
    FrameGreeting greeting, wanted = greeting_of(mine->token, CONTROL_HOST, mine->from);
    while (count < sizeof bytes) {
        if (!wait_ready(socket, POLLIN, deadline)) return err_set(err, "no answer");
        ssize_t now = recv(socket, bytes + count, sizeof bytes - count, 0);
        if (now < 0 && (errno == EAGAIN || errno == EINTR)) continue;
        if (now <= 0)
            return err_set(err,
                           "the first process refused this one: its token is that of another "
                           "run, or host %u has come already",
                           mine->from);
        count += (size_t)now;
    }
    return frame_read_greeting(bytes, &greeting, err) && frame_same_run(&greeting, &wanted, err);
}

bool hand_join(const char *where, Time time_out_ps, int *out_socket, Err *err) {
    Address address;
    HandWhere first;
    Time deadline = clock_now() + time_out_ps;
    char text[ADDRESS_TEXT_MAX];
    if (!hand_read_where(where, &first, err) ||
        !address_of(first.address, first.port, &address, err))
        return err_prefix(err, HAND_OPTION);
    FrameGreeting greeting = greeting_of(first.token, first.host, CONTROL_HOST);
    int one = socket(address.any.sa_family, SOCK_STREAM, 0);
    if (one < 0) return err_set(err, "cannot make a socket: %s", file_reason(errno));
    bool good = connect_to(one, &address, deadline, err) &&
                (door_greet(one, &greeting) || err_set(err, "it does not listen")) &&
                hear_answer(one, &greeting, deadline, err) &&
                (make_blocking(one) || err_set(err, "cannot set up a socket"));
    if (good) {
        *out_socket = one;
        return true;
    }
    close(one);
    return err_prefix(err, HAND_OPTION ": %s", address_text(&address, text));
}
