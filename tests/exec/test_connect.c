// Connections between hosts: both sides greet, whoever else comes is refused and named.
#include "tests/check.h"

#include <pthread.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "exec/clock.h"
#include "exec/net/connect.h"
#include "exec/net/door.h"
#include "exec/net/endpoint.h"

#define SECOND PS_PER_SECOND

// Two hosts of this machine, one rank each; each in a thread.
typedef struct Side {
    ConnectPlan plan;
    int *sockets;
    Text notes;
    bool good;
    Err err;
} Side;

typedef struct Pair {
    Hosts hosts;
    Address where[2];
    Side sides[2];
    pthread_t threads[2];
} Pair;

#define STRANGERS 300

static void open_hosts(Pair *pair, const char *hosts, Time time_out_ps) {
    Err err = {0};
    *pair = (Pair){0};
    check_ok(hosts_parse(hosts, &pair->hosts, &err), &err);
    for (uint32_t i = 0; i < 2; i++) {
        Side *side = &pair->sides[i];
        side->plan = (ConnectPlan){.hosts = &pair->hosts,
                                   .host = i,
                                   .where = pair->where,
                                   .greeting = {.token = "0123456789abcde", .job = 77},
                                   .time_out_ps = time_out_ps};
        check_ok(address_find(pair->hosts.hosts[i].name, NULL, ADDRESS_NAMES_ARE_ADDRESSES,
                              &pair->where[i], &err),
                 &err);
        check_ok(address_listen(&pair->where[i], &side->plan.listener, &err), &err);
    }
}

static void open_pair(Pair *pair, Time time_out_ps) {
    open_hosts(pair, "127.0.0.1,127.0.0.2", time_out_ps);
}

static void *connect_side(void *context) {
    Side *side = context;
    side->good = connect_all(&side->plan, &side->sockets, &side->notes, &side->err);
    return NULL;
}

static void start_side(Pair *pair, uint32_t i) {
    assert_int_equal(pthread_create(&pair->threads[i], NULL, connect_side, &pair->sides[i]), 0);
}

static void close_pair(Pair *pair) {
    for (uint32_t i = 0; i < 2; i++) {
        close(pair->sides[i].plan.listener);
        text_free(&pair->sides[i].notes);
        connect_close(pair->sides[i].sockets, 2);
    }
    hosts_free(&pair->hosts);
}

// Whoever connects to host 0 without being one of the run.
static int connect_stranger(const Pair *pair) {
    int stranger = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(stranger >= 0);
    assert_int_equal(connect(stranger, &pair->where[0].any, address_size(&pair->where[0])), 0);
    return stranger;
}

static void say(int stranger, const void *bytes, size_t count) {
    assert_int_equal(send(stranger, bytes, count, MSG_NOSIGNAL), count);
}

static void greet(int stranger, FrameGreeting greeting) {
    uint8_t bytes[FRAME_GREETING_B];
    frame_write_greeting(&greeting, bytes);
    say(stranger, bytes, sizeof bytes);
}

// Waits until the other side has closed.
static void wait_closed(int stranger) {
    char byte;
    while (recv(stranger, &byte, 1, 0) > 0) continue;
    close(stranger);
}

static void check_note(const char *notes, const char *why) {
    if (strstr(notes, why) == NULL) fail_msg("\"%s\" does not say \"%s\"", notes, why);
}

static void join_both(Pair *pair) {
    for (uint32_t i = 0; i < 2; i++) {
        pthread_join(pair->threads[i], NULL);
        check_ok(pair->sides[i].good, &pair->sides[i].err);
    }
    assert_true(pair->sides[0].sockets[1] >= 0 && pair->sides[1].sockets[0] >= 0);
    assert_true(pair->sides[0].sockets[0] == -1 && pair->sides[1].sockets[1] == -1);
}

static void test_connect_two_hosts(void **state) {
    (void)state;
    Pair pair;
    char byte = 0;
    open_pair(&pair, 20 * SECOND);
    start_side(&pair, 0);
    start_side(&pair, 1);
    join_both(&pair);
    say(pair.sides[0].sockets[1], "x", 1);
    while (recv(pair.sides[1].sockets[0], &byte, 1, 0) < 1) continue;
    assert_int_equal(byte, 'x');
    assert_int_equal(pair.sides[0].notes.length + pair.sides[1].notes.length, 0);
    close_pair(&pair);
}

// One that says nothing, one of another protocol, one without the token, one of another job, one
// that is no rank, one that goes away: the run goes on with those that it waits for.
static void test_connect_refuses_strangers_and_names_them(void **state) {
    (void)state;
    Pair pair;
    open_pair(&pair, 20 * SECOND);
    start_side(&pair, 0);
    FrameGreeting right = {.token = "0123456789abcde", .from = 1, .to = 0, .job = 77};
    int silent = connect_stranger(&pair);
    int browser = connect_stranger(&pair);
    const char *request = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: x\r\n\r\n";
    say(browser, request, strlen(request));
    wait_closed(browser);
    FrameGreeting wrong = right;
    wrong.token[15] = 1;
    int spy = connect_stranger(&pair);
    greet(spy, wrong);
    wait_closed(spy);
    wrong = right;
    wrong.job = 78;
    int other = connect_stranger(&pair);
    greet(other, wrong);
    wait_closed(other);
    wrong = right;
    wrong.from = 2;
    int nobody = connect_stranger(&pair);
    greet(nobody, wrong);
    wait_closed(nobody);
    int gone = connect_stranger(&pair);
    say(gone, "half a greeting", 15);
    shutdown(gone, SHUT_WR);
    wait_closed(gone);
    start_side(&pair, 1);
    join_both(&pair);
    const char *notes = text_string(&pair.sides[0].notes);
    check_note(notes, "refused a connection from 127.0.0.1:");
    check_note(notes, ": not a greeting of moesim-run\n");
    check_note(notes, ": wrong run token\n");
    check_note(notes, ": runs another job: digest 000000000000004e, expected 000000000000004d\n");
    check_note(notes, ": rank 2 does not connect to rank 0 here\n");
    check_note(notes, ": it closed before it greeted\n");
    close(silent);
    close_pair(&pair);
}

static void close_all(const int *strangers, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) close(strangers[i]);
}

// 300 connect, say nothing and stay: 64 are inside at once, the others wait before the door and
// each makes one go that was there for 100 ms. So the rank that comes last gets in after about
// (300 - 64) / 64 x 100 ms = 370 ms.
static void test_connect_lets_ranks_in_behind_a_silent_crowd(void **state) {
    (void)state;
    Pair pair;
    int strangers[STRANGERS];
    open_pair(&pair, 20 * SECOND);
    start_side(&pair, 0);
    for (uint32_t i = 0; i < STRANGERS; i++) strangers[i] = connect_stranger(&pair);
    Time begin_ps = clock_now();
    start_side(&pair, 1);
    join_both(&pair);
    assert_true(clock_now() - begin_ps < 10 * SECOND);
    const char *notes = text_string(&pair.sides[0].notes);
    check_note(notes, ": it did not greet, and others came\n");
    check_note(notes, "\nrefused ");
    check_note(notes, " more connections\n");
    // 16 lines and one for the rest
    uint32_t lines = 0;
    for (const char *line = notes; *line != '\0'; line++) lines += *line == '\n';
    assert_int_equal(lines, DOOR_NOTES_MAX + 1);
    close_all(strangers, STRANGERS);
    close_pair(&pair);
}

// A byte each 300 ms would be a greeting after 14 s: it has 2 s for all of it.
static void test_connect_ends_a_stranger_that_dawdles(void **state) {
    (void)state;
    Pair pair;
    uint8_t bytes[FRAME_GREETING_B];
    struct timespec pause = {.tv_nsec = 300000000};
    FrameGreeting right = {.token = "0123456789abcde", .from = 1, .to = 0, .job = 77};
    frame_write_greeting(&right, bytes);
    open_pair(&pair, 20 * SECOND);
    start_side(&pair, 0);
    int slow = connect_stranger(&pair);
    Time begin_ps = clock_now();
    for (uint32_t i = 0; i < FRAME_GREETING_B; i++) {
        if (send(slow, bytes + i, 1, MSG_NOSIGNAL) != 1) break;
        nanosleep(&pause, NULL);
    }
    Time took_ps = clock_now() - begin_ps;
    assert_true(took_ps >= DOOR_PATIENCE_PS && took_ps < 3 * DOOR_PATIENCE_PS);
    close(slow);
    start_side(&pair, 1);
    join_both(&pair);
    check_note(text_string(&pair.sides[0].notes), ": no greeting within 2.00 s\n");
    close_pair(&pair);
}

// The first two that connect are turned away without a word, as in a crowd; the third is answered.
static void *answer_third(void *context) {
    const Pair *pair = context;
    FrameGreeting greeting = {.token = "0123456789abcde", .from = 0, .to = 1, .job = 77};
    uint8_t bytes[FRAME_GREETING_B];
    for (uint32_t i = 0; i < 3;) {
        int taken = accept(pair->sides[0].plan.listener, NULL, NULL);
        if (taken < 0) continue;
        if (++i == 3) {
            assert_int_equal(recv(taken, bytes, sizeof bytes, MSG_WAITALL), sizeof bytes);
            greet(taken, greeting);
        }
        close(taken);
    }
    return NULL;
}

static void test_connect_tries_again_when_it_is_turned_away(void **state) {
    (void)state;
    Pair pair;
    pthread_t thread;
    open_pair(&pair, 20 * SECOND);
    assert_int_equal(pthread_create(&thread, NULL, answer_third, &pair), 0);
    connect_side(&pair.sides[1]);
    pthread_join(thread, NULL);
    check_ok(pair.sides[1].good, &pair.sides[1].err);
    close_pair(&pair);
}

// Where this machine has it.
static void test_connect_by_ipv6(void **state) {
    (void)state;
    Pair pair;
    Address address;
    Err err = {0};
    int probe = -1;
    check_ok(address_of("::1", 0, &address, &err), &err);
    if (!address_listen(&address, &probe, &err)) {
        print_error("skip test_connect_by_ipv6: %s\n", err.text);
        skip();
    }
    close(probe);
    open_hosts(&pair, "[::1],[::1]", 20 * SECOND);
    start_side(&pair, 0);
    start_side(&pair, 1);
    join_both(&pair);
    close_pair(&pair);
}

// lo has 127.0.0.1, and with it all of 127.0.0.0/8, but not 192.0.2.1 (of documentation).
static void test_connect_finds_addresses_of_an_interface(void **state) {
    (void)state;
    Address address;
    Err err = {0};
    char text[ADDRESS_TEXT_MAX];
    check_ok(address_find("127.0.0.2", "lo", ADDRESS_NAMES_ARE_ADDRESSES, &address, &err), &err);
    assert_string_equal(address_text(&address, text), "127.0.0.2:0");
    check_ok(address_find("192.0.2.1", "lo", ADDRESS_NAMES_FOR_AGENT, &address, &err), &err);
    assert_string_equal(address_text(&address, text), "127.0.0.1:0");
    check_fails(address_find("192.0.2.1", "lo", ADDRESS_NAMES_ARE_ADDRESSES, &address, &err), &err,
                "network interface \"lo\" does not have the address of host \"192.0.2.1\"");
    err = (Err){0};
    check_fails(address_find("127.0.0.1", "nope", ADDRESS_NAMES_ARE_ADDRESSES, &address, &err),
                &err, "no network interface \"nope\" with an IPv4 or IPv6 address");
    err = (Err){0};
    check_fails(address_find("fe80::1", NULL, ADDRESS_NAMES_ARE_ADDRESSES, &address, &err), &err,
                "host \"fe80::1\" has an address of one link alone (fe80::), which other hosts do "
                "not have");
}

// A second connection of the same rank is not taken for another one.
static void test_connect_refuses_a_rank_that_is_there(void **state) {
    (void)state;
    Pair pair;
    Err err = {0};
    open_pair(&pair, 20 * SECOND);
    hosts_free(&pair.hosts);
    check_ok(hosts_parse("127.0.0.1,127.0.0.2,127.0.0.3", &pair.hosts, &err), &err);
    start_side(&pair, 0); // waits for ranks 1 and 2
    FrameGreeting first = {.token = "0123456789abcde", .from = 1, .to = 0, .job = 77};
    uint8_t answer[FRAME_GREETING_B];
    int one = connect_stranger(&pair);
    greet(one, first);
    assert_int_equal(recv(one, answer, sizeof answer, MSG_WAITALL), sizeof answer);
    int again = connect_stranger(&pair);
    greet(again, first);
    wait_closed(again);
    FrameGreeting second = first;
    second.from = 2;
    int two = connect_stranger(&pair);
    greet(two, second);
    pthread_join(pair.threads[0], NULL);
    check_ok(pair.sides[0].good, &pair.sides[0].err);
    check_note(text_string(&pair.sides[0].notes), ": rank 1 has connected to rank 0 already\n");
    close(one);
    close(two);
    connect_close(pair.sides[0].sockets, 3);
    pair.sides[0].sockets = NULL;
    close_pair(&pair);
}

static void test_connect_names_a_host_that_does_not_come(void **state) {
    (void)state;
    Pair pair;
    open_pair(&pair, SECOND / 10);
    connect_side(&pair.sides[0]);
    assert_false(pair.sides[0].good);
    check_text_equals(pair.sides[0].err.text, "rank 1 did not connect to rank 0 within 100 ms");
    close_pair(&pair);
}

static void *answer_wrong(void *context) {
    const Pair *pair = context;
    FrameGreeting greeting = {.token = "another", .from = 0, .to = 1, .job = 77};
    int taken = accept(pair->sides[0].plan.listener, NULL, NULL);
    while (taken < 0) taken = accept(pair->sides[0].plan.listener, NULL, NULL);
    greet(taken, greeting);
    wait_closed(taken);
    return NULL;
}

// Where another program listens, or none.
static void test_connect_checks_who_answers(void **state) {
    (void)state;
    Pair pair;
    pthread_t thread;
    open_pair(&pair, 20 * SECOND);
    assert_int_equal(pthread_create(&thread, NULL, answer_wrong, &pair), 0);
    connect_side(&pair.sides[1]);
    pthread_join(thread, NULL);
    assert_false(pair.sides[1].good);
    check_note(pair.sides[1].err.text, ", where rank 0 was expected: wrong run token");
    close_pair(&pair);
    open_pair(&pair, 20 * SECOND);
    close(pair.sides[0].plan.listener);
    pair.sides[0].plan.listener = -1;
    pair.sides[1].err = (Err){0};
    connect_side(&pair.sides[1]);
    assert_false(pair.sides[1].good);
    check_note(pair.sides[1].err.text, "rank 1 cannot connect to rank 0 at 127.0.0.1:");
    close_pair(&pair);
}

static void *answer_clock(void *context) {
    Side *side = context;
    side->good = connect_answer_clock(side->sockets[1], 20 * SECOND, &side->err);
    return NULL;
}

// Two ends of one machine have one clock: they differ by no more than the error that is told.
static void test_connect_compares_clocks(void **state) {
    (void)state;
    Pair pair;
    Time ahead_ps, error_ps;
    Err err = {0};
    open_pair(&pair, 20 * SECOND);
    start_side(&pair, 0);
    start_side(&pair, 1);
    join_both(&pair);
    assert_int_equal(pthread_create(&pair.threads[0], NULL, answer_clock, &pair.sides[0]), 0);
    check_ok(connect_ask_clock(pair.sides[1].sockets[0], 20 * SECOND, &ahead_ps, &error_ps, &err),
             &err);
    pthread_join(pair.threads[0], NULL);
    check_ok(pair.sides[0].good, &pair.sides[0].err);
    assert_true(error_ps > 0 && error_ps < SECOND / 10);
    assert_true(ahead_ps <= error_ps && -ahead_ps <= error_ps);
    close_pair(&pair);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_connect_two_hosts),
        cmocka_unit_test(test_connect_refuses_strangers_and_names_them),
        cmocka_unit_test(test_connect_refuses_a_rank_that_is_there),
        cmocka_unit_test(test_connect_names_a_host_that_does_not_come),
        cmocka_unit_test(test_connect_checks_who_answers),
        cmocka_unit_test(test_connect_compares_clocks),
        cmocka_unit_test(test_connect_lets_ranks_in_behind_a_silent_crowd),
        cmocka_unit_test(test_connect_ends_a_stranger_that_dawdles),
        cmocka_unit_test(test_connect_tries_again_when_it_is_turned_away),
        cmocka_unit_test(test_connect_by_ipv6),
        cmocka_unit_test(test_connect_finds_addresses_of_an_interface),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
