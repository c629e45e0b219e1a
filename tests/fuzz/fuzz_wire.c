// What other processes send: frames and messages into a wire whose rank waits for some of them,
// greetings, control messages; what people type: lists of hosts, where a first process waits.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exec/net/control.h"
#include "exec/net/hand.h"
#include "exec/net/hosts.h"
#include "exec/net/wire.h"
#include "model/base/mem.h"

#define ROOM ((size_t)4096)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Tags 0 to 2 are waited for, of 0, 10 and 5000 bytes.
static bool receive_some(Wire *wire, uint8_t *bytes, uint32_t *left, Err *err) {
    static const uint64_t counts[] = {0, 10, 5000};
    for (uint64_t tag = 0; tag < 3; tag++) {
        WireReceive receive = {.tag = tag, .count = counts[tag], .bytes = bytes, .left = left};
        if (!wire_receive(wire, &receive, err)) return false;
    }
    return true;
}

// Through a ring, part by part; half of what comes is there before it is asked for.
static void feed_wire(const uint8_t *data, size_t size) {
    Ring *in = mem_alloc(1, ring_size(ROOM)), *out = mem_alloc(1, ring_size(ROOM));
    uint8_t *bytes = mem_alloc(5000, 1);
    uint32_t left = 3;
    Wire wire;
    Err err = {0};
    bool good = true, asked = false;
    wire_open_rings(&wire, 1, in, out, ROOM);
    for (size_t used = 0; used < size && good;) {
        used += ring_write(in, ROOM, data + used, size - used);
        good = wire_pull(&wire, &err);
        if (good && !asked && used >= size / 2) {
            asked = true;
            good = receive_some(&wire, bytes, &left, &err);
        }
    }
    if (!good && !err_is_set(&err)) abort();
    if (left > 3) abort();
    wire_close(&wire);
    mem_free(bytes);
    mem_free(in);
    mem_free(out);
}

static void read_greeting(const uint8_t *data, size_t size) {
    FrameGreeting greeting;
    uint8_t again[FRAME_GREETING_B];
    Err err = {0};
    if (size < FRAME_GREETING_B) return;
    if (!frame_read_greeting(data, &greeting, &err)) {
        if (!err_is_set(&err)) abort();
        return;
    }
    frame_write_greeting(&greeting, again);
    if (memcmp(data, again, sizeof again) != 0) abort();
}

static void read_control(const uint8_t *data, size_t size) {
    ControlReader reader = {0};
    ControlMessage message;
    Err err = {0};
    int ends[2];
    bool has = true, is_open;
    size_t count = size < 4096 ? size : 4096; // what a pipe holds without a reader
    if (pipe(ends) != 0 || write(ends[1], data, count) != (ssize_t)count) abort();
    close(ends[1]);
    if (control_read(&reader, ends[0], &is_open, &err)) {
        while (has && control_next(&reader, &message, &has, &err)) continue;
    }
    close(ends[0]);
    control_free(&reader);
}

static void read_hosts(const uint8_t *data, size_t size) {
    char *list = mem_alloc(size + 1, 1);
    Hosts hosts;
    Err err = {0};
    memcpy(list, data, size);
    if (hosts_parse(list, &hosts, &err)) {
        if (hosts.ranks < hosts.count || hosts_of_rank(&hosts, hosts.ranks - 1) != hosts.count - 1)
            abort();
        hosts_free(&hosts);
    } else if (!err_is_set(&err)) {
        abort();
    }
    mem_free(list);
}

static void read_where(const uint8_t *data, size_t size) {
    char *text = mem_alloc(size + 1, 1);
    HandWhere where;
    Err err = {0};
    memcpy(text, data, size);
    if (hand_read_where(text, &where, &err)) {
        if (where.port == 0 || *where.address == '\0' || where.host >= HOSTS_MAX) abort();
    } else if (!err_is_set(&err)) {
        abort();
    }
    mem_free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static void (*const readers[])(const uint8_t *, size_t) = {
        feed_wire, read_greeting, read_control, read_hosts, read_where};
    if (size == 0) return 0;
    readers[data[0] % 5](data + 1, size - 1);
    return 0;
}
