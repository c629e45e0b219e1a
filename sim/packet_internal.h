// The parts of the packet model: what it is made of (packet_net.c), its events (packet_event.c),
// and how packets move (packet_move.c).
#ifndef SIM_PACKET_INTERNAL_H
#define SIM_PACKET_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "sim/keymap.h"
#include "sim/packet.h"

#define PACKET_NONE UINT32_MAX

// FREE: a wire has sent its packet. HEAD: the first bit of a packet is at the far end of its wire.
// READY: enough of it is there to be sent on. CREDIT: `size` bytes of the buffer behind a wire are
// free again. START: transfers begin.
typedef enum EventKind { EVENT_FREE, EVENT_HEAD, EVENT_READY, EVENT_CREDIT, EVENT_START } EventKind;

typedef struct Event {
    Time time;
    uint64_t order; // of being scheduled: decides among equal times
    uint32_t what;  // wire, packet or transfer
    uint32_t size;
    EventKind kind;
} Event;

// A 4-ary heap by (time, order).
typedef struct EventHeap {
    Event *events;
    uint32_t count, capacity;
    uint64_t scheduled;
} EventHeap;

void packet_event_add(EventHeap *heap, const Event *event); // sets its order
bool packet_event_take(EventHeap *heap, Event *out);

// What waits for one output at one input (packets), or at the source (streams). Queues of an output
// that are not empty form a ring.
typedef struct Queue {
    uint32_t head, tail; // packets or streams
    uint32_t next;       // queue in the ring
} Queue;

// A link at run time: the output at its near end and the buffer at its far end.
typedef struct Wire {
    LinkId link;
    VertexId from, to;
    uint64_t capacity_Bps;
    Time latency_ps;
    uint32_t input;       // its number among the inputs of `to`, from 1 on
    uint32_t queue_first; // queues[queue_first + input of a wire]; + 0: what starts here
    uint32_t ring_head, ring_tail;
    uint64_t buffer_B, credit_B, least_credit_B;
    uint64_t queued_B; // packets that wait for this output
    Time busy_until;
    uint64_t debt; // by how much busy_until is rounded up, in B * 10^-12 / capacity
    bool will_wake, is_blocked;
    Time blocked_since, blocked_ps;
    uint64_t wire_B;
} Wire;

// An edge of a route. Of the `total` weight that flows to a vertex, [in_start, in_start + weight)
// comes over this edge; of what leaves a vertex, [out_start, out_start + weight) takes it.
typedef struct Hop {
    uint32_t wire;
    uint32_t weight, out_start, in_start;
    uint32_t next_first, next_count; // hops from its far end; none at the destination
} Hop;

typedef struct Cargo {
    VertexId from, to;
    uint32_t index; // in the list
    uint64_t bytes;
    Time start, latency_ps;
    uint32_t first_hop, first_count; // from the source
    uint32_t total, phase, stride;   // packet k takes path (phase + k * stride) mod total
    uint32_t packets, sent;          // sent: of the adaptive policy
    Time finish;
} Cargo;

// The packets of a transfer that leave its source over one wire.
typedef struct Stream {
    uint32_t cargo, hop;
    uint32_t packet; // number of the next one
    uint32_t next;   // stream in the queue
} Stream;

typedef struct Packet {
    uint32_t cargo, hop; // hop: the one that it is on or waits for
    uint32_t size;       // with its header
    uint32_t position;   // among the paths that take its hop
    uint32_t input;      // wire that brought it here; PACKET_NONE at the source
    uint32_t next;       // in its queue, or free
} Packet;

typedef struct PacketSim {
    const Fabric *fabric;
    PacketOptions options;
    Wire *wires;
    uint32_t wire_count, wire_capacity;
    KeyMap wire_by_link, inputs_by_vertex;
    uint32_t *inputs; // wires that end at a vertex, by inputs_by_vertex
    uint32_t input_vertices, input_capacity;
    Queue *queues;
    uint32_t queue_count;
    Hop *hops;
    uint32_t hop_count, hop_capacity;
    Cargo *cargos; // in the order in which sources serve them
    uint32_t cargo_count;
    Stream *streams;
    uint32_t stream_count, stream_capacity;
    Packet *packets;
    uint32_t packet_count, packet_capacity, free_packet;
    EventHeap events;
    Time now;
    uint64_t waiting, arrived; // packets of the transfers that have started
    uint64_t packets_total, events_total;
} PacketSim;

// Wires, queues, hops and cargos from the list, which has passed transfers_check.
bool packet_net_build(PacketSim *sim, const NetTransfer *list, uint32_t count,
                      TransfersBound *bound, Err *err);
void packet_net_free(PacketSim *sim);

// Moves packets until all have arrived.
bool packet_move_all(PacketSim *sim, Err *err);

#endif
