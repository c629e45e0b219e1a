// Ranks of the net back end as threads of one process: rings inside a host, sockets between hosts.
#include "tests/check.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "exec/clock.h"
#include "exec/net/endpoint.h"
#include "exec/net/frame.h"
#include "exec/net/wire.h"

#define SECOND PS_PER_SECOND

// Two ranks, on one host or on two.
typedef struct Pair {
    Shared shared[2];
    Endpoint *endpoints[2];
    BackEnd back_ends[2];
    uint32_t hosts;
    int far_end; // of a socket whose other end is rank 0's; -1 when rank 1 has it
} Pair;

// TCP, as between hosts.
static void make_socket_pair(int out[2]) {
    union {
        struct sockaddr any;
        struct sockaddr_in in;
    } address = {.in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address.in;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(listener, &address.any, size), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, &address.any, &size), 0);
    out[0] = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(out[0], &address.any, size), 0);
    out[1] = accept(listener, NULL, NULL);
    close(listener);
    for (uint32_t i = 0; i < 2; i++) assert_int_equal(fcntl(out[i], F_SETFL, O_NONBLOCK), 0);
}

static void open_rank(Pair *pair, uint32_t rank, int socket, Time time_out_ps) {
    int sockets[2] = {-1, -1};
    Err err = {0};
    sockets[1 - rank] = socket;
    EndpointSetup setup = {.rank = rank,
                           .rank_count = 2,
                           .first = pair->hosts == 1 ? 0 : rank,
                           .sockets = sockets,
                           .shared = &pair->shared[pair->hosts == 1 ? 0 : rank],
                           .time_out_ps = time_out_ps,
                           .machine = "test"};
    check_ok(endpoint_open(&setup, &pair->endpoints[rank], &err), &err);
    pair->back_ends[rank] = endpoint_back_end(pair->endpoints[rank]);
}

static void open_pair(Pair *pair, uint32_t hosts) {
    *pair = (Pair){.hosts = hosts, .far_end = -1};
    int sockets[2] = {-1, -1};
    Err err = {0};
    if (hosts == 2) make_socket_pair(sockets);
    for (uint32_t i = 0; i < hosts; i++)
        check_ok(shared_open(2 / hosts, &pair->shared[i], &err), &err);
    for (uint32_t rank = 0; rank < 2; rank++) open_rank(pair, rank, sockets[rank], 20 * SECOND);
}

// Rank 0 of two hosts; the test itself plays rank 1.
static void open_alone(Pair *pair, Time time_out_ps) {
    *pair = (Pair){.hosts = 2};
    int sockets[2];
    Err err = {0};
    make_socket_pair(sockets);
    check_ok(shared_open(1, &pair->shared[0], &err), &err);
    open_rank(pair, 0, sockets[0], time_out_ps);
    pair->far_end = sockets[1];
}

static void close_pair(Pair *pair) {
    for (uint32_t rank = 0; rank < 2; rank++) endpoint_close(pair->endpoints[rank]);
    for (uint32_t i = 0; i < 2; i++) shared_close(&pair->shared[i]);
    if (pair->far_end >= 0) close(pair->far_end);
}

// One stream of one rank: `rounds` groups of one message out and one in, of sizes that go around.
typedef struct Stream {
    BackEnd *back_end;
    uint32_t rank, number, rounds;
    MessageKind kind;
    bool good;
    Err err;
} Stream;

static uint8_t byte_at(uint32_t rank, uint32_t stream, uint32_t round, uint64_t i) {
    return (uint8_t)(i * 7 + rank * 101 + stream * 31 + round);
}

static bool is_filled(const uint8_t *bytes, uint64_t count, uint32_t rank, uint32_t stream,
                      uint32_t round) {
    for (uint64_t i = 0; i < count; i++) {
        if (bytes[i] != byte_at(rank, stream, round, i)) return false;
    }
    return true;
}

static void *run_stream(void *context) {
    static const uint64_t sizes[] = {0, 1, 4095, 4097, 300000, 24, 2000000, 65536};
    Stream *stream = context;
    uint32_t peer = 1 - stream->rank;
    stream->good = true;
    for (uint32_t round = 0; round < stream->rounds && stream->good; round++) {
        uint64_t count = sizes[round % 8], tag = (uint64_t)stream->number << 32 | round;
        uint8_t *out = mem_alloc(count, 1), *in = mem_alloc(count, 1);
        uint8_t *own = mem_alloc(count, 1);
        for (uint64_t i = 0; i < count; i++)
            out[i] = byte_at(stream->rank, stream->number, round, i);
        Message messages[] = {
            {.kind = stream->kind, .peer = peer, .tag = tag, .bytes = out, .count = count},
            {.kind = MESSAGE_COPY, .peer = stream->rank, .bytes = own, .from = out, .count = count},
            {.kind = MESSAGE_RECV, .peer = peer, .tag = tag, .bytes = in, .count = count}};
        stream->good = stream->back_end->exchange(stream->back_end->self, stream->rank, messages, 3,
                                                  &stream->err) &&
                       is_filled(in, count, peer, stream->number, round) &&
                       is_filled(own, count, stream->rank, stream->number, round);
        mem_free(own);
        mem_free(out);
        mem_free(in);
    }
    return NULL;
}

static void exchange_all(uint32_t hosts, MessageKind kind) {
    Pair pair;
    open_pair(&pair, hosts);
    Stream streams[6] = {0};
    pthread_t threads[6];
    for (uint32_t i = 0; i < 6; i++) {
        streams[i] = (Stream){.back_end = &pair.back_ends[i % 2],
                              .rank = i % 2,
                              .number = i / 2,
                              .rounds = 40,
                              .kind = kind};
        assert_int_equal(pthread_create(&threads[i], NULL, run_stream, &streams[i]), 0);
    }
    for (uint32_t i = 0; i < 6; i++) pthread_join(threads[i], NULL);
    for (uint32_t i = 0; i < 6; i++) check_ok(streams[i].good, &streams[i].err);
    close_pair(&pair);
}

// Three streams of two ranks at once, 40 groups each of a message each way and a copy, of 0 to 2
// MB, over one connection.
static void test_endpoint_streams_share_rings(void **state) {
    (void)state;
    exchange_all(1, MESSAGE_SEND);
    exchange_all(1, MESSAGE_POST);
}

static void test_endpoint_streams_share_a_socket(void **state) {
    (void)state;
    exchange_all(2, MESSAGE_SEND);
    exchange_all(2, MESSAGE_POST);
}

// What was posted travels while its rank waits for nothing: 4 MB fit in no buffer of a connection.
static void post_and_leave(uint32_t hosts) {
    Pair pair;
    open_pair(&pair, hosts);
    uint64_t count = 4000000;
    uint8_t *out = mem_alloc(count, 1), *in = mem_alloc(count, 1);
    Err err = {0};
    for (uint64_t i = 0; i < count; i++) out[i] = byte_at(0, 0, 0, i);
    Message post = {.kind = MESSAGE_POST, .peer = 1, .tag = 9, .bytes = out, .count = count},
            receive = {.kind = MESSAGE_RECV, .peer = 0, .tag = 9, .bytes = in, .count = count};
    check_ok(pair.back_ends[0].exchange(pair.endpoints[0], 0, &post, 1, &err), &err);
    memset(out, 0, count);
    check_ok(pair.back_ends[1].exchange(pair.endpoints[1], 1, &receive, 1, &err), &err);
    assert_true(is_filled(in, count, 0, 0, 0));
    mem_free(out);
    mem_free(in);
    close_pair(&pair);
}

static void test_endpoint_posted_bytes_travel_by_themselves(void **state) {
    (void)state;
    post_and_leave(1);
    post_and_leave(2);
}

// Messages that come in another order than they are asked for.
static void test_endpoint_finds_messages_by_tag(void **state) {
    (void)state;
    Pair pair;
    open_pair(&pair, 2);
    uint8_t out[3] = {10, 20, 30}, in[3] = {0};
    Err err = {0};
    for (uint32_t i = 0; i < 3; i++) {
        Message post = {.kind = MESSAGE_POST, .peer = 1, .tag = i, .bytes = &out[i], .count = 1};
        check_ok(pair.back_ends[0].exchange(pair.endpoints[0], 0, &post, 1, &err), &err);
    }
    for (uint32_t i = 3; i > 0; i--) {
        Message receive = {
            .kind = MESSAGE_RECV, .peer = 0, .tag = i - 1, .bytes = &in[i - 1], .count = 1};
        check_ok(pair.back_ends[1].exchange(pair.endpoints[1], 1, &receive, 1, &err), &err);
    }
    assert_memory_equal(in, out, 3);
    close_pair(&pair);
}

// ---- Faults

static bool receive_4096(Pair *pair, Err *err) {
    static uint8_t bytes[4096];
    Message receive = {
        .kind = MESSAGE_RECV, .peer = 1, .tag = 5, .bytes = bytes, .count = sizeof bytes};
    return pair->back_ends[0].exchange(pair->endpoints[0], 0, &receive, 1, err);
}

static void send_far(const Pair *pair, const uint8_t *bytes, size_t count) {
    assert_int_equal(send(pair->far_end, bytes, count, 0), count);
}

static void test_endpoint_names_a_silent_peer(void **state) {
    (void)state;
    Pair pair;
    open_alone(&pair, SECOND / 10);
    Err err = {0};
    check_fails(receive_4096(&pair, &err), &err,
                "rank 1 is silent: no message of 4096 bytes within 100 ms");
    // after a failure nothing moves any more, and everything says why
    check_fails(receive_4096(&pair, &err), &err,
                "rank 1 is silent: no message of 4096 bytes within 100 ms");
    close_pair(&pair);
}

// 200000 bytes that nobody reads: the kernel takes them all, but the peer's window is 64 KiB at
// first and stays so. A send ends when the peer has the bytes, not when the kernel has them.
static void test_endpoint_names_a_peer_that_does_not_read(void **state) {
    (void)state;
    Pair pair;
    open_alone(&pair, SECOND / 10);
    uint8_t *bytes = mem_alloc(200000, 1);
    Message send_it = {.kind = MESSAGE_SEND, .peer = 1, .tag = 5, .bytes = bytes, .count = 200000};
    Err err = {0};
    check_fails(pair.back_ends[0].exchange(pair.endpoints[0], 0, &send_it, 1, &err), &err,
                "rank 1 does not take 200000 bytes within 100 ms");
    mem_free(bytes);
    close_pair(&pair);
}

static void test_endpoint_names_a_truncated_message(void **state) {
    (void)state;
    Pair pair;
    open_alone(&pair, 20 * SECOND);
    uint8_t bytes[FRAME_B + 100] = {0};
    Err err = {0};
    frame_write(&(Frame){.tag = 5, .count = 4096}, bytes);
    send_far(&pair, bytes, sizeof bytes);
    close(pair.far_end);
    pair.far_end = -1;
    check_fails(receive_4096(&pair, &err), &err,
                "rank 1 closed its connection after 100 of 4096 bytes of a message");
    close_pair(&pair);
}

static void test_endpoint_names_a_truncated_frame(void **state) {
    (void)state;
    Pair pair;
    open_alone(&pair, 20 * SECOND);
    uint8_t bytes[FRAME_B];
    Err err = {0};
    frame_write(&(Frame){.tag = 5, .count = 4096}, bytes);
    send_far(&pair, bytes, FRAME_B - 1);
    close(pair.far_end);
    pair.far_end = -1;
    check_fails(receive_4096(&pair, &err), &err, "rank 1 closed its connection inside a frame");
    close_pair(&pair);
}

static void test_endpoint_names_a_peer_that_is_gone(void **state) {
    (void)state;
    Pair pair;
    open_alone(&pair, 20 * SECOND);
    Err err = {0};
    close(pair.far_end);
    pair.far_end = -1;
    check_fails(receive_4096(&pair, &err), &err, "rank 1 closed its connection");
    close_pair(&pair);
}

static void test_endpoint_names_both_lengths(void **state) {
    (void)state;
    Pair pair;
    open_alone(&pair, 20 * SECOND);
    uint8_t bytes[FRAME_B];
    Err err = {0};
    frame_write(&(Frame){.tag = 5, .count = 4095}, bytes);
    send_far(&pair, bytes, sizeof bytes);
    check_fails(receive_4096(&pair, &err), &err, "rank 1 sent 4095 bytes, expected 4096");
    close_pair(&pair);
}

static void test_endpoint_names_a_malformed_frame(void **state) {
    (void)state;
    Pair pair;
    open_alone(&pair, 20 * SECOND);
    Err err = {0};
    send_far(&pair, (const uint8_t *)"GET / HTTP/1.1\r\nHost: x\r\n\r\n", 27);
    check_fails(receive_4096(&pair, &err), &err,
                "rank 1: malformed frame: begins with 5448202f20544547, expected "
                "656d6172666f6f6d");
    close_pair(&pair);
}

// Frames of empty messages, one more than may come unasked.
static void *flood(void *context) {
    const Pair *pair = context;
    uint32_t count = WIRE_EARLIES_MAX + 1;
    uint8_t *bytes = mem_alloc(count, FRAME_B);
    for (uint32_t i = 0; i < count; i++)
        frame_write(&(Frame){.tag = 1000 + i}, bytes + (size_t)i * FRAME_B);
    for (size_t done = 0; done < (size_t)count * FRAME_B;) {
        ssize_t now =
            send(pair->far_end, bytes + done, (size_t)count * FRAME_B - done, MSG_NOSIGNAL);
        if (now < 0 && errno != EAGAIN) break; // the endpoint has closed
        if (now > 0) done += (size_t)now;
    }
    mem_free(bytes);
    return NULL;
}

static void test_endpoint_bounds_messages_that_nobody_asked_for(void **state) {
    (void)state;
    Pair pair;
    open_alone(&pair, 60 * SECOND);
    pthread_t thread;
    Err err = {0};
    assert_int_equal(pthread_create(&thread, NULL, flood, &pair), 0);
    check_fails(receive_4096(&pair, &err), &err,
                "rank 1 sent more than 1048576 messages that nobody asked for");
    endpoint_close(pair.endpoints[0]);
    pair.endpoints[0] = NULL;
    pthread_join(thread, NULL);
    close_pair(&pair);
}

// The stop of another rank ends what waits here, at once.
static void *stop_soon(void *context) {
    Pair *pair = context;
    struct timespec soon = {.tv_nsec = 20000000};
    nanosleep(&soon, NULL);
    shared_stop(&pair->shared[0]);
    return NULL;
}

static void test_endpoint_ends_when_another_rank_stopped(void **state) {
    (void)state;
    Pair pair;
    open_alone(&pair, 20 * SECOND);
    pthread_t thread;
    Err err = {0};
    assert_int_equal(pthread_create(&thread, NULL, stop_soon, &pair), 0);
    check_fails(receive_4096(&pair, &err), &err, ENDPOINT_STOPPED);
    pthread_join(thread, NULL);
    close_pair(&pair);
}

// ---- Long messages, of which WIRE_MARK_B wake whoever polls

#define LONG_COUNT 12
static const uint64_t long_sizes[LONG_COUNT] = {1000003,
                                                WIRE_MARK_B,
                                                WIRE_MARK_B + 1,
                                                2 * WIRE_MARK_B,
                                                0,
                                                2 * WIRE_MARK_B + 1,
                                                1,
                                                3 * WIRE_MARK_B - 1,
                                                WIRE_STAGE_B - FRAME_B,
                                                WIRE_STAGE_B + 2 * WIRE_MARK_B,
                                                0,
                                                200000};

// Messages of stream 0 of rank 1, byte after byte, in pieces that go around.
static void *send_in_pieces(void *context) {
    static const size_t pieces[] = {1, WIRE_MARK_B - 1, WIRE_MARK_B, 3, WIRE_MARK_B + FRAME_B, 999};
    const Pair *pair = context;
    struct timespec moment = {.tv_nsec = 300000};
    Text all = {0};
    for (uint32_t round = 0; round < LONG_COUNT; round++) {
        uint8_t frame[FRAME_B];
        frame_write(&(Frame){.tag = round, .count = long_sizes[round]}, frame);
        text_add_bytes(&all, (const char *)frame, FRAME_B);
        for (uint64_t i = 0; i < long_sizes[round]; i++)
            text_add_char(&all, (char)byte_at(1, 0, round, i));
    }
    for (size_t done = 0, piece = 0; done < all.length;) {
        size_t most = pieces[piece++ % 6], left = all.length - done;
        ssize_t now = send(pair->far_end, all.data + done, most < left ? most : left, MSG_NOSIGNAL);
        if (now < 0 && errno != EAGAIN) break; // the endpoint has closed
        if (now > 0) done += (size_t)now;
        nanosleep(&moment, NULL);
    }
    text_free(&all);
    return NULL;
}

// They end at a mark, a byte before it, after it, and are followed at once by short ones; asked for
// before they come and after.
static void test_endpoint_takes_long_messages_that_come_in_pieces(void **state) {
    (void)state;
    for (long wait_ns = 0; wait_ns <= 20000000; wait_ns += 20000000) {
        Pair pair;
        open_alone(&pair, 20 * SECOND);
        pthread_t thread;
        struct timespec late = {.tv_nsec = wait_ns};
        assert_int_equal(pthread_create(&thread, NULL, send_in_pieces, &pair), 0);
        nanosleep(&late, NULL);
        for (uint32_t round = 0; round < LONG_COUNT; round++) {
            uint64_t count = long_sizes[round];
            uint8_t *in = mem_alloc(count, 1);
            Message receive = {
                .kind = MESSAGE_RECV, .peer = 1, .tag = round, .bytes = in, .count = count};
            Err err = {0};
            check_ok(pair.back_ends[0].exchange(pair.endpoints[0], 0, &receive, 1, &err), &err);
            assert_true(is_filled(in, count, 1, 0, round));
            mem_free(in);
        }
        pthread_join(thread, NULL);
        close_pair(&pair);
    }
}

// 100000 bytes are one mark and less than a second one: the end is seen at once all the same.
static void test_endpoint_names_a_long_message_that_is_truncated(void **state) {
    (void)state;
    Pair pair;
    open_alone(&pair, 20 * SECOND);
    static uint8_t bytes[FRAME_B + 100000], in[300000];
    Message receive = {.kind = MESSAGE_RECV, .peer = 1, .tag = 5, .bytes = in, .count = sizeof in};
    Err err = {0};
    frame_write(&(Frame){.tag = 5, .count = sizeof in}, bytes);
    send_far(&pair, bytes, sizeof bytes);
    close(pair.far_end);
    pair.far_end = -1;
    check_fails(pair.back_ends[0].exchange(pair.endpoints[0], 0, &receive, 1, &err), &err,
                "rank 1 closed its connection after 100000 of 300000 bytes of a message");
    close_pair(&pair);
}

// ---- Streams that copy

#define COPY_B ((size_t)32 << 20) // more than caches hold: takes its time

// One message of 8 bytes from rank 1, and copies inside rank 0 with it.
typedef struct Waiter {
    BackEnd *back_end;
    uint64_t tag;
    uint32_t copies;
    Time end_ps;
    bool good;
    Err err;
} Waiter;

static void *wait_and_copy(void *context) {
    Waiter *waiter = context;
    uint8_t in[8], *from = mem_alloc(COPY_B, 1), *to = mem_alloc(COPY_B, 1);
    Message *messages = mem_alloc((size_t)waiter->copies + 1, sizeof *messages);
    messages[0] = (Message){
        .kind = MESSAGE_RECV, .peer = 1, .tag = waiter->tag, .bytes = in, .count = sizeof in};
    for (uint32_t i = 1; i <= waiter->copies; i++)
        messages[i] =
            (Message){.kind = MESSAGE_COPY, .peer = 0, .bytes = to, .from = from, .count = COPY_B};
    waiter->good = waiter->back_end->exchange(waiter->back_end->self, 0, messages,
                                              waiter->copies + 1, &waiter->err);
    waiter->end_ps = clock_now();
    mem_free(messages);
    mem_free(from);
    mem_free(to);
    return NULL;
}

static void send_8(const Pair *pair, uint64_t tag) {
    uint8_t bytes[FRAME_B + 8] = {0};
    frame_write(&(Frame){.tag = tag, .count = 8}, bytes);
    send_far(pair, bytes, sizeof bytes);
}

// Stream 0 copies 6.4 GB, more than a quarter of a second. Stream 1 polls until its message comes;
// then stream 2 polls, not stream 0, which was there before it: its message does not wait for the
// copies.
static void test_endpoint_streams_do_not_wait_for_copies(void **state) {
    (void)state;
    Pair pair;
    open_alone(&pair, 60 * SECOND);
    Waiter waiters[3] = {0};
    pthread_t threads[3];
    struct timespec moment = {.tv_nsec = 20000000};
    for (uint32_t i = 0; i < 3; i++) {
        waiters[i] = (Waiter){.back_end = &pair.back_ends[0], .tag = i, .copies = i == 0 ? 200 : 0};
        assert_int_equal(pthread_create(&threads[i], NULL, wait_and_copy, &waiters[i]), 0);
        nanosleep(&moment, NULL);
    }
    for (uint64_t i = 1; i <= 3; i++) { // that of stream 0 last
        send_8(&pair, i % 3);
        nanosleep(&moment, NULL);
    }
    for (uint32_t i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
        check_ok(waiters[i].good, &waiters[i].err);
    }
    assert_true(waiters[2].end_ps + 20 * SECOND / 1000 < waiters[0].end_ps);
    close_pair(&pair);
}

// ---- The start

typedef struct Starter {
    BackEnd *back_end;
    uint32_t rank;
    Time left_ps;
    bool good;
    Err err;
} Starter;

static void *start_rank(void *context) {
    Starter *starter = context;
    starter->good = starter->back_end->start(starter->back_end->self, starter->rank, &starter->err);
    starter->left_ps = clock_now();
    return NULL;
}

// Both leave at the instant that was published, not before: 50 ms after both had come.
static void test_endpoint_starts_at_one_instant(void **state) {
    (void)state;
    Pair pair;
    open_pair(&pair, 1);
    Starter starters[2] = {0};
    pthread_t threads[2];
    for (uint32_t rank = 0; rank < 2; rank++) {
        starters[rank] = (Starter){.back_end = &pair.back_ends[rank], .rank = rank};
        assert_int_equal(pthread_create(&threads[rank], NULL, start_rank, &starters[rank]), 0);
    }
    struct timespec moment = {.tv_nsec = 1000000};
    while (!shared_has_arrived(&pair.shared[0], 1)) nanosleep(&moment, NULL);
    Time start_ps = clock_now() + SECOND / 20;
    shared_publish(&pair.shared[0], 1, start_ps);
    for (uint32_t rank = 0; rank < 2; rank++) {
        pthread_join(threads[rank], NULL);
        check_ok(starters[rank].good, &starters[rank].err);
        assert_true(starters[rank].left_ps >= start_ps - 1000); // of a clock that counts ns
    }
    close_pair(&pair);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_endpoint_streams_share_rings),
        cmocka_unit_test(test_endpoint_streams_share_a_socket),
        cmocka_unit_test(test_endpoint_posted_bytes_travel_by_themselves),
        cmocka_unit_test(test_endpoint_finds_messages_by_tag),
        cmocka_unit_test(test_endpoint_names_a_silent_peer),
        cmocka_unit_test(test_endpoint_names_a_peer_that_does_not_read),
        cmocka_unit_test(test_endpoint_names_a_truncated_message),
        cmocka_unit_test(test_endpoint_names_a_truncated_frame),
        cmocka_unit_test(test_endpoint_names_a_peer_that_is_gone),
        cmocka_unit_test(test_endpoint_names_both_lengths),
        cmocka_unit_test(test_endpoint_names_a_malformed_frame),
        cmocka_unit_test(test_endpoint_bounds_messages_that_nobody_asked_for),
        cmocka_unit_test(test_endpoint_ends_when_another_rank_stopped),
        cmocka_unit_test(test_endpoint_takes_long_messages_that_come_in_pieces),
        cmocka_unit_test(test_endpoint_names_a_long_message_that_is_truncated),
        cmocka_unit_test(test_endpoint_streams_do_not_wait_for_copies),
        cmocka_unit_test(test_endpoint_starts_at_one_instant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
