// One connection of a rank to another.
//
// Invariant: bytes of one message follow each other, so that the receiver is always inside exactly
// one frame or one message; a message goes straight to where it was asked for, and through memory
// of the wire only when it comes before it was asked for. Over TCP a send ends when all but its
// last WIRE_EAGER_B are acknowledged: the kernel would take the bytes of a whole step at once, and
// the next step of the list would share the link with them. Source: Linux,
// Documentation/networking/timestamping.rst (SOF_TIMESTAMPING_TX_ACK), tcp(7) (SIOCOUTQ), socket(7)
// (SO_RCVLOWAT).
#define _DEFAULT_SOURCE // for SO_TIMESTAMPING, SO_PROTOCOL
#include "exec/net/wire.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/net_tstamp.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "model/base/file.h"
#include "model/base/mem.h"

union Ask { // a control message, aligned
    struct cmsghdr header;
    uint8_t bytes[CMSG_SPACE(sizeof(uint32_t))];
};

#define READS_MAX     256 // of one turn: who waits looks at the clock between turns
#define EARLY_FIRST_B (UINT64_C(64) << 10) // of memory for an early message; then it doubles

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

// Whether the kernel tells what the peer has acknowledged, of writes that ask for it.
static bool tells(int socket) {
    int protocol = 0, flags = SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_OPT_TSONLY;
    socklen_t size = sizeof protocol;
    return getsockopt(socket, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) == 0 &&
           protocol == IPPROTO_TCP &&
           setsockopt(socket, SOL_SOCKET, SO_TIMESTAMPING, &flags, sizeof flags) == 0;
}

void wire_open_socket(Wire *wire, uint32_t peer, int socket) {
    *wire =
        (Wire){.peer = peer, .socket = socket, .is_open = true, .tells = tells(socket), .mark = 1};
}

void wire_open_rings(Wire *wire, uint32_t peer, Ring *in, Ring *out, size_t room) {
    *wire = (Wire){.peer = peer, .socket = -1, .in = in, .out = out, .room = room, .is_open = true};
}

void wire_close(Wire *wire) {
    for (uint32_t i = wire->first_send; i < wire->send_count; i++) mem_free(wire->sends[i].owned);
    for (uint32_t i = 0; i < wire->early_count; i++) mem_free(wire->earlies[i].bytes);
    mem_free(wire->sends);
    mem_free(wire->unacknowledged);
    mem_free(wire->receives);
    mem_free(wire->earlies);
    *wire = (Wire){0};
}

// ---- Bytes out

static bool broken(const Wire *wire, const char *what, int code, Err *err) {
    return err_set(err, "cannot %s rank %u: %s", what, wire->peer, file_reason(code));
}

static void send_advance(WireSend *send, size_t count) {
    send->done += count;
}

static bool send_is_done(const WireSend *send) {
    return send->done == FRAME_B + send->count;
}

// Bytes of frame and message that have to be acknowledged before the send ends.
static uint64_t send_gate(const WireSend *send) {
    return send->count > WIRE_EAGER_B ? FRAME_B + send->count - WIRE_EAGER_B : 0;
}

// Part of a message, bytes [done, end) of frame and message: 0, 1 or 2 pieces.
static uint32_t send_pieces(const WireSend *send, uint64_t end, struct iovec pieces[2]) {
    uint32_t count = 0;
    union {
        const uint8_t *from;
        void *base;
    } borrowed; // iovec has no const; the bytes are only read
    if (send->done < FRAME_B) {
        borrowed.from = send->frame + send->done;
        pieces[count++] = (struct iovec){borrowed.base, (size_t)(FRAME_B - send->done)};
    }
    uint64_t first = send->done > FRAME_B ? send->done : FRAME_B;
    if (first < end) {
        borrowed.from = send->bytes + (first - FRAME_B);
        pieces[count++] = (struct iovec){borrowed.base, (size_t)(end - first)};
    }
    return count;
}

static void write_ring(Wire *wire, WireSend *send) {
    for (;;) {
        struct iovec pieces[2];
        if (send_pieces(send, FRAME_B + send->count, pieces) == 0) return;
        size_t now = ring_write(wire->out, wire->room, pieces[0].iov_base, pieces[0].iov_len);
        if (now == 0) return;
        wire->rings_bell = true;
        send_advance(send, now);
    }
}

// The kernel tells when the peer has all of this write.
static void ask_to_tell(struct msghdr *message, union Ask *ask) {
    uint32_t flags = SOF_TIMESTAMPING_TX_ACK;
    message->msg_control = ask->bytes;
    message->msg_controllen = sizeof ask->bytes;
    struct cmsghdr *header = CMSG_FIRSTHDR(message);
    *header = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(sizeof flags), .cmsg_level = SOL_SOCKET, .cmsg_type = SO_TIMESTAMPING};
    memcpy(CMSG_DATA(header), &flags, sizeof flags);
}

static ssize_t write_socket(const Wire *wire, const WireSend *send) {
    struct iovec pieces[2];
    struct msghdr message = {.msg_iov = pieces};
    union Ask ask = {.bytes = {0}};
    uint64_t gate = send_gate(send);
    bool asks = wire->tells && send->left != NULL && send->done < gate;
    message.msg_iovlen = send_pieces(send, asks ? gate : FRAME_B + send->count, pieces);
    if (asks) ask_to_tell(&message, &ask);
    // MSG_EOR: what follows is a packet of its own, or only its end would be told
    return sendmsg(wire->socket, &message, MSG_NOSIGNAL | (asks ? MSG_EOR : 0));
}

// Until all is written or nothing fits.
static bool write_some(Wire *wire, WireSend *send, Err *err) {
    if (!wire->is_open) return err_set(err, "rank %u closed its connection", wire->peer);
    if (wire->out != NULL) {
        write_ring(wire, send);
        return true;
    }
    while (!send_is_done(send)) {
        ssize_t now = write_socket(wire, send);
        if (now < 0 && errno == EINTR) continue;
        if (now < 0 && errno == EAGAIN) return true;
        if (now < 0) return broken(wire, "send to", errno, err);
        wire->written += (uint64_t)now;
        send_advance(send, (size_t)now);
    }
    return true;
}

static WireSend make_send(uint64_t tag, const uint8_t *bytes, uint64_t count) {
    WireSend send = {.tag = tag, .bytes = bytes, .count = count};
    frame_write(&(Frame){.tag = tag, .count = count}, send.frame);
    return send;
}

static void keep(Wire *wire, const WireSend *send) {
    if (wire->first_send == wire->send_count) wire->first_send = wire->send_count = 0;
    wire->sends =
        mem_grow(wire->sends, &wire->send_capacity, wire->send_count + 1, sizeof *wire->sends);
    wire->sends[wire->send_count++] = *send;
}

static void keep_copy(Wire *wire, WireSend *send) {
    uint64_t sent = send->done > FRAME_B ? send->done - FRAME_B : 0;
    if (sent < send->count) {
        send->owned = mem_alloc((size_t)(send->count - sent), 1);
        memcpy(send->owned, send->bytes + sent, (size_t)(send->count - sent));
        send->bytes = send->owned;
    }
    send->count -= sent;
    send->done -= sent;
    keep(wire, send);
}

// All of the message is written.
static void end_send(Wire *wire, const WireSend *send) {
    if (send->left == NULL) return;
    if (!wire->tells || send_gate(send) == 0) {
        --*send->left;
        return;
    }
    if (!wire_has_unacknowledged(wire)) wire->first_unacknowledged = wire->unacknowledged_count = 0;
    wire->unacknowledged = mem_grow(wire->unacknowledged, &wire->unacknowledged_capacity,
                                    wire->unacknowledged_count + 1, sizeof *wire->unacknowledged);
    wire->unacknowledged[wire->unacknowledged_count++] = (WireUnacknowledged){
        .tag = send->tag, .end = wire->written - WIRE_EAGER_B, .left = send->left};
}

void wire_acknowledge(Wire *wire) {
    int queued = 0; // bytes that were written and not acknowledged
    struct msghdr told = {0};
    if (!wire->tells || !wire->is_open) return;
    while (recvmsg(wire->socket, &told, MSG_ERRQUEUE | MSG_DONTWAIT) >= 0)
        told = (struct msghdr){0};
    if (!wire_has_unacknowledged(wire) || ioctl(wire->socket, SIOCOUTQ, &queued) != 0) return;
    uint64_t have = wire->written - (uint64_t)queued;
    while (wire_has_unacknowledged(wire) &&
           wire->unacknowledged[wire->first_unacknowledged].end <= have)
        --*wire->unacknowledged[wire->first_unacknowledged++].left;
}

bool wire_send(Wire *wire, uint64_t tag, const uint8_t *bytes, uint64_t count, uint32_t *left,
               Err *err) {
    WireSend send = make_send(tag, bytes, count);
    send.left = left;
    if (!wire_has_sends(wire) && !write_some(wire, &send, err)) return false;
    if (send_is_done(&send))
        end_send(wire, &send);
    else
        keep(wire, &send);
    return true;
}

bool wire_post(Wire *wire, uint64_t tag, const uint8_t *bytes, uint64_t count, Err *err) {
    WireSend send = make_send(tag, bytes, count);
    if (!wire_has_sends(wire) && !write_some(wire, &send, err)) return false;
    if (!send_is_done(&send)) keep_copy(wire, &send);
    return true;
}

bool wire_push(Wire *wire, Err *err) {
    while (wire_has_sends(wire)) {
        WireSend *send = &wire->sends[wire->first_send];
        if (!write_some(wire, send, err)) return false;
        if (!send_is_done(send)) return true;
        end_send(wire, send);
        mem_free(send->owned);
        wire->first_send++;
    }
    return true;
}

// ---- Messages in

static bool check_length(const Wire *wire, uint64_t came, uint64_t expected, Err *err) {
    return came == expected || err_set(err, "rank %u sent %" PRIu64 " bytes, expected %" PRIu64,
                                       wire->peer, came, expected);
}

static void forget_early(Wire *wire, uint32_t index) {
    WireEarly *early = &wire->earlies[index];
    mem_free(early->bytes);
    wire->early_B -= early->capacity;
    memmove(early, early + 1, (wire->early_count - index - 1) * sizeof *early);
    wire->early_count--;
}

// The message `index` was asked for: what came of it goes there.
static bool take_early(Wire *wire, uint32_t index, const WireReceive *receive, Err *err) {
    WireEarly *early = &wire->earlies[index];
    if (!check_length(wire, early->count, receive->count, err)) return false;
    if (early->have > 0) memcpy(receive->bytes, early->bytes, (size_t)early->have);
    if (early->have == early->count) {
        --*receive->left;
    } else {
        wire->into = WIRE_DIRECT;
        wire->direct = *receive;
    }
    forget_early(wire, index);
    return true;
}

bool wire_receive(Wire *wire, const WireReceive *receive, Err *err) {
    for (uint32_t i = 0; i < wire->early_count; i++) {
        if (wire->earlies[i].tag == receive->tag) return take_early(wire, i, receive, err);
    }
    if (!wire->is_open) return err_set(err, "rank %u closed its connection", wire->peer);
    wire->receives = mem_grow(wire->receives, &wire->receive_capacity, wire->receive_count + 1,
                              sizeof *wire->receives);
    wire->receives[wire->receive_count++] = *receive;
    return true;
}

static bool begin_early(Wire *wire, Err *err) {
    if (wire->early_count == WIRE_EARLIES_MAX)
        return err_set(err, "rank %u sent more than %" PRIu32 " messages that nobody asked for",
                       wire->peer, WIRE_EARLIES_MAX);
    wire->earlies = mem_grow(wire->earlies, &wire->early_capacity, wire->early_count + 1,
                             sizeof *wire->earlies);
    wire->earlies[wire->early_count++] =
        (WireEarly){.tag = wire->frame.tag, .count = wire->frame.count};
    wire->into = WIRE_EARLY;
    return true;
}

// A whole frame is here: where its message goes.
static bool begin_message(Wire *wire, const uint8_t bytes[FRAME_B], Err *err) {
    if (!frame_read(bytes, &wire->frame, err)) return err_prefix(err, "rank %u", wire->peer);
    wire->arrived = 0;
    for (uint32_t i = 0; i < wire->receive_count; i++) {
        if (wire->receives[i].tag != wire->frame.tag) continue;
        wire->direct = wire->receives[i];
        wire->receives[i] = wire->receives[--wire->receive_count];
        wire->into = WIRE_DIRECT;
        return check_length(wire, wire->frame.count, wire->direct.count, err);
    }
    return begin_early(wire, err);
}

static void end_message(Wire *wire) {
    if (wire->into == WIRE_DIRECT) --*wire->direct.left;
    wire->into = WIRE_FRAME;
}

// Memory for the next bytes of an early message: it grows with what arrives, not with what was
// announced.
static bool early_room(Wire *wire, uint8_t **out, uint64_t *out_count, Err *err) {
    WireEarly *early = &wire->earlies[wire->early_count - 1];
    if (early->have == early->capacity) {
        uint64_t more =
            least(early->count, early->capacity == 0 ? EARLY_FIRST_B : 2 * early->capacity);
        wire->early_B += more - early->capacity;
        if (wire->early_B > WIRE_EARLY_MAX_B)
            return err_set(err, "rank %u sent more than %" PRIu64 " bytes that nobody asked for",
                           wire->peer, WIRE_EARLY_MAX_B);
        early->bytes = mem_realloc(early->bytes, (size_t)more, 1);
        early->capacity = more;
    }
    *out = early->bytes + early->have;
    *out_count = early->capacity - early->have;
    return true;
}

static void count_arrived(Wire *wire, uint64_t count) {
    wire->arrived += count;
    if (wire->into == WIRE_EARLY) wire->earlies[wire->early_count - 1].have += count;
    if (wire->arrived == wire->frame.count) end_message(wire);
}

// Where the next bytes of the message go.
static bool next_room(Wire *wire, uint8_t **out, uint64_t *out_count, Err *err) {
    switch (wire->into) {
    case WIRE_FRAME: // through the stage
        *out = NULL;
        *out_count = 0;
        return true;
    case WIRE_DIRECT:
        *out = wire->direct.bytes + wire->arrived;
        *out_count = wire->frame.count - wire->arrived;
        return true;
    case WIRE_EARLY: return early_room(wire, out, out_count, err);
    }
    assert(0);
    return false;
}

// Uses up what is staged.
static bool unstage(Wire *wire, Err *err) {
    for (;;) {
        size_t staged = wire->stage_end - wire->stage_first;
        const uint8_t *from = wire->stage + wire->stage_first;
        if (wire->into == WIRE_FRAME) {
            if (staged < FRAME_B) return true;
            if (!begin_message(wire, from, err)) return false;
            wire->stage_first += FRAME_B;
            if (wire->frame.count == 0) end_message(wire);
            continue;
        }
        if (staged == 0) return true;
        uint8_t *into;
        uint64_t room;
        if (!next_room(wire, &into, &room, err)) return false;
        uint64_t now = least(staged, room);
        memcpy(into, from, (size_t)now);
        wire->stage_first += (size_t)now;
        count_arrived(wire, now);
    }
}

// ---- Bytes in

// An end between messages is no failure by itself: the peer may be done. Who waits for it, or asks
// later, fails.
static bool peer_closed(Wire *wire, Err *err) {
    uint64_t staged = wire->stage_end - wire->stage_first;
    wire_acknowledge(wire);
    wire->is_open = false;
    if (wire->into != WIRE_FRAME)
        return err_set(err,
                       "rank %u closed its connection after %" PRIu64 " of %" PRIu64
                       " bytes of a message",
                       wire->peer, wire->arrived, wire->frame.count);
    if (staged > 0) return err_set(err, "rank %u closed its connection inside a frame", wire->peer);
    return (wire->receive_count == 0 && !wire_has_sends(wire) && !wire_has_unacknowledged(wire)) ||
           err_set(err, "rank %u closed its connection", wire->peer);
}

// 0 bytes: nothing is there.
static bool read_some(Wire *wire, uint8_t *into, size_t count, size_t *out, Err *err) {
    *out = 0;
    if (wire->in != NULL) {
        RingTaken taken = ring_take(wire->in, wire->room, into, count);
        wire->rings_bell |= taken.was_full;
        *out = taken.count;
        return true;
    }
    for (;;) {
        ssize_t now = recv(wire->socket, into, count, 0);
        if (now < 0 && errno == EINTR) continue;
        if (now < 0 && errno == EAGAIN) return true;
        if (now == 0 || (now < 0 && errno == ECONNRESET)) return peer_closed(wire, err);
        if (now < 0) return broken(wire, "receive from", errno, err);
        *out = (size_t)now;
        return true;
    }
}

// The room for what comes next: the message itself, or the stage behind what is there.
static bool read_next(Wire *wire, size_t *asked, size_t *came, Err *err) {
    uint8_t *into;
    uint64_t room;
    if (!next_room(wire, &into, &room, err)) return false;
    if (into != NULL) {
        *asked = (size_t)room;
        if (!read_some(wire, into, *asked, came, err)) return false;
        count_arrived(wire, *came);
        return true;
    }
    size_t staged = wire->stage_end - wire->stage_first;
    memmove(wire->stage, wire->stage + wire->stage_first, staged);
    wire->stage_first = 0;
    wire->stage_end = staged;
    *asked = WIRE_STAGE_B - staged;
    if (!read_some(wire, wire->stage + staged, *asked, came, err)) return false;
    wire->stage_end += *came;
    return unstage(wire, err);
}

// Whoever polls is woken when the rest of a long message is there, or WIRE_MARK_B of it.
static void set_mark(Wire *wire) {
    int mark = 1;
    if (!wire->tells || !wire->is_open) return;
    if (wire->into != WIRE_FRAME && wire->frame.count > WIRE_MARK_B)
        mark = (int)least(wire->frame.count - wire->arrived, WIRE_MARK_B);
    if (mark == wire->mark) return;
    wire->mark = mark;
    setsockopt(wire->socket, SOL_SOCKET, SO_RCVLOWAT, &mark, sizeof mark); // else woken more often
}

bool wire_pull(Wire *wire, Err *err) {
    size_t asked, came = 1;
    if (!wire->is_open) return true;
    for (uint32_t i = 0; i < READS_MAX && came > 0; i++) {
        if (!read_next(wire, &asked, &came, err)) return false;
        // fewer bytes than asked for: that was all; a socket would only say so
        if (came < asked && wire->in == NULL) break;
    }
    set_mark(wire);
    return true;
}

bool wire_is_ready(const Wire *wire) {
    if (wire->in == NULL) return false;
    return ring_filled(wire->in) > 0 ||
           (wire_has_sends(wire) && ring_filled(wire->out) < wire->room);
}

bool wire_awaits_receive(const Wire *wire, uint64_t tag, const uint32_t *left) {
    if (wire->into == WIRE_DIRECT && wire->direct.left == left && wire->direct.tag == tag)
        return true;
    for (uint32_t i = 0; i < wire->receive_count; i++) {
        if (wire->receives[i].left == left && wire->receives[i].tag == tag) return true;
    }
    return false;
}

bool wire_awaits_send(const Wire *wire, uint64_t tag, const uint32_t *left) {
    for (uint32_t i = wire->first_send; i < wire->send_count; i++) {
        if (wire->sends[i].left == left && wire->sends[i].tag == tag) return true;
    }
    for (uint32_t i = wire->first_unacknowledged; i < wire->unacknowledged_count; i++) {
        const WireUnacknowledged *sent = &wire->unacknowledged[i];
        if (sent->left == left && sent->tag == tag) return true;
    }
    return false;
}
