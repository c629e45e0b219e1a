// One connection of a rank to another: messages out in order, messages in by their tag. Not for
// several threads at once; nothing here waits.
#ifndef EXEC_NET_WIRE_H
#define EXEC_NET_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exec/net/frame.h"
#include "exec/net/ring.h"
#include "model/base/err.h"

#define WIRE_EARLY_MAX_B (UINT64_C(1) << 30)  // that one peer may send before they are asked for
#define WIRE_EARLIES_MAX (UINT32_C(1) << 20)  // the same, messages
#define WIRE_EAGER_B     (UINT64_C(32) << 10) // of a message may be on their way when its send ends
#define WIRE_STAGE_B     4096 // read ahead of a frame, so that a small message is one call
#define WIRE_MARK_B      (UINT64_C(64) << 10) // of a longer message at a time, not every packet

// `left` counts down when the message has ended. NULL: the bytes are the wire's own.
typedef struct WireSend {
    uint64_t tag;
    uint8_t frame[FRAME_B];
    const uint8_t *bytes;
    uint64_t count;
    uint64_t done; // of frame and bytes together
    uint8_t *owned;
    uint32_t *left;
} WireSend;

// A message that was handed to the kernel; it has ended when the peer's kernel has bytes [0, end)
// of the connection.
typedef struct WireUnacknowledged {
    uint64_t tag, end;
    uint32_t *left;
} WireUnacknowledged;

typedef struct WireReceive {
    uint64_t tag, count;
    uint8_t *bytes;
    uint32_t *left;
} WireReceive;

// A message that nobody has asked for yet; the last one may still be arriving.
typedef struct WireEarly {
    uint64_t tag, count, have, capacity;
    uint8_t *bytes;
} WireEarly;

typedef enum WireInto { WIRE_FRAME, WIRE_DIRECT, WIRE_EARLY } WireInto;

// A zeroed Wire goes nowhere. Through a socket (`in` is NULL) or through two rings.
typedef struct Wire {
    uint32_t peer;
    int socket; // not blocking
    Ring *in, *out;
    size_t room;     // of each ring
    bool is_open;    // false: the peer closed it, or there is none
    bool rings_bell; // bytes were put or taken that the peer may wait for: cleared by the owner
    WireSend *sends; // heap, in order, from first_send on
    uint32_t first_send, send_count, send_capacity;
    bool tells; // TCP whose kernel tells when the peer has what was written
    int mark;   // of TCP: fewer bytes than these wake nobody
    uint64_t written;
    WireUnacknowledged *unacknowledged; // heap, in order, from first_unacknowledged on
    uint32_t first_unacknowledged, unacknowledged_count, unacknowledged_capacity;
    WireReceive *receives; // heap
    uint32_t receive_count, receive_capacity;
    WireEarly *earlies; // heap, in order of arrival
    uint32_t early_count, early_capacity;
    uint64_t early_B;
    WireInto into; // what the next bytes belong to
    Frame frame;   // of the message that arrives
    uint64_t arrived;
    WireReceive direct;
    uint8_t stage[WIRE_STAGE_B];
    size_t stage_first, stage_end;
} Wire;

void wire_open_socket(Wire *wire, uint32_t peer, int socket);
void wire_open_rings(Wire *wire, uint32_t peer, Ring *in, Ring *out, size_t room);
void wire_close(Wire *wire); // frees; the socket is the owner's

// Writes what fits and keeps the rest for wire_push. SEND counts `*left` down when all is written,
// and over TCP all but the last WIRE_EAGER_B acknowledged; POST copies what does not fit.
bool wire_send(Wire *wire, uint64_t tag, const uint8_t *bytes, uint64_t count, uint32_t *left,
               Err *err);
bool wire_post(Wire *wire, uint64_t tag, const uint8_t *bytes, uint64_t count, Err *err);
// Takes the message if it is here, or where it will go when it comes.
bool wire_receive(Wire *wire, const WireReceive *receive, Err *err);

// Writes what is kept; reads what is there, a bounded part of it in one turn. False, naming the
// peer, when it broke.
bool wire_push(Wire *wire, Err *err);
bool wire_pull(Wire *wire, Err *err);

static inline bool wire_has_sends(const Wire *wire) {
    return wire->send_count > wire->first_send;
}
// What the peer has acknowledged ends. A wire that tells gets EPOLLERR when there is more; under
// memory pressure the kernel may leave that out, so look again now and then.
void wire_acknowledge(Wire *wire);
static inline bool wire_has_unacknowledged(const Wire *wire) {
    return wire->unacknowledged_count > wire->first_unacknowledged;
}
// Whether pushing or pulling would move bytes of a ring; false of a socket.
bool wire_is_ready(const Wire *wire);

// Whether a message that counts `left` down has not ended: for messages about silence.
bool wire_awaits_receive(const Wire *wire, uint64_t tag, const uint32_t *left);
bool wire_awaits_send(const Wire *wire, uint64_t tag, const uint32_t *left);

#endif
