// How packets move.
//
// Forwarding is virtual cut-through, as InfiniBand switches do it (how NVLink switches do it is not
// published; the same is taken for them): a packet goes on when its first bit has arrived, the
// output is idle and the buffer behind the output has room for all of it; on a faster output it
// waits until it cannot run dry. Source: Kermani and Kleinrock, Virtual cut-through, Computer
// Networks 3, 1979. Room is known by credits, which take the latency of the link to come back
// (Dally and Towles, Principles and Practices of Interconnection Networks, 2004, section 13.3). The
// buffer of an input is shared by all outputs, and every output has a queue of its own at every
// input (virtual output queues: Tamir and Frazier, High-performance multi-queue buffers, ISCA
// 1988): a packet does not wait behind one for another output, but packets for a slow output can
// fill the buffer and so stop the sender, as in InfiniBand (Gusat et al., Congestion control in
// InfiniBand networks, Hot Interconnects 2005). An output serves its inputs, and a source its
// transfers, in turn, a packet each. A destination takes what comes at the rate of its link.
//
// Invariant: bytes reserved behind a wire never exceed its buffer; over a busy period a wire ends
// its n-th packet at the exact time, rounded up to a picosecond.
#include "sim/packet_internal.h"

#include <assert.h>
#include <inttypes.h>

#include "model/base/mem.h"
#include "model/base/progress.h"
#include "model/base/wide.h"
#include "sim/net.h"

#define NAMED_MOST   8              // links of a deadlock that are named
#define EVENTS_SHOWN 4096           // between two looks at the progress line
#define TIME_LIMIT   (TIME_MAX / 4) // an event adds at most that

static void schedule(PacketSim *sim, EventKind kind, Time time, uint32_t what, uint32_t size) {
    packet_event_add(&sim->events,
                     &(Event){.time = time, .what = what, .size = size, .kind = kind});
}

static uint32_t new_packet(PacketSim *sim) {
    uint32_t packet = sim->free_packet;
    if (packet != PACKET_NONE) {
        sim->free_packet = sim->packets[packet].next;
        return packet;
    }
    sim->packets =
        mem_grow(sim->packets, &sim->packet_capacity, sim->packet_count + 1, sizeof *sim->packets);
    return sim->packet_count++;
}

static void free_packet(PacketSim *sim, uint32_t packet) {
    sim->packets[packet].next = sim->free_packet;
    sim->free_packet = packet;
}

// ---- Rings of queues.

static void add_to_ring(PacketSim *sim, Wire *wire, uint32_t queue) {
    sim->queues[queue].next = PACKET_NONE;
    if (wire->ring_head == PACKET_NONE)
        wire->ring_head = queue;
    else
        sim->queues[wire->ring_tail].next = queue;
    wire->ring_tail = queue;
}

// The queue at the head goes to the end, or leaves when it is empty.
static void turn_ring(PacketSim *sim, Wire *wire) {
    uint32_t queue = wire->ring_head;
    wire->ring_head = sim->queues[queue].next;
    if (sim->queues[queue].head != PACKET_NONE) add_to_ring(sim, wire, queue);
}

static void add_packet(PacketSim *sim, uint32_t queue, uint32_t packet) {
    Queue *q = &sim->queues[queue];
    sim->packets[packet].next = PACKET_NONE;
    if (q->head == PACKET_NONE)
        q->head = packet;
    else
        sim->packets[q->tail].next = packet;
    q->tail = packet;
}

static void add_stream(PacketSim *sim, uint32_t queue, uint32_t stream) {
    Queue *q = &sim->queues[queue];
    sim->streams[stream].next = PACKET_NONE;
    if (q->head == PACKET_NONE)
        q->head = stream;
    else
        sim->streams[q->tail].next = stream;
    q->tail = stream;
}

// ---- Sources.

static uint32_t path_of(const Cargo *cargo, uint32_t packet) {
    return (uint32_t)((cargo->phase + (uint64_t)packet * cargo->stride) % cargo->total);
}

static uint32_t wire_size(const PacketSim *sim, const Cargo *cargo, uint32_t packet) {
    uint64_t before = (uint64_t)packet * sim->options.mtu_B, left = cargo->bytes - before;
    uint32_t payload = left < sim->options.mtu_B ? (uint32_t)left : sim->options.mtu_B;
    return payload + sim->options.header_B;
}

// Sets `packet` to the first one from there on that the stream sends; false when there is none. An
// adaptive transfer has one sequence of packets for all its streams.
static bool find_packet(const PacketSim *sim, Stream *stream) {
    const Cargo *cargo = &sim->cargos[stream->cargo];
    const Hop *hop = &sim->hops[stream->hop];
    if (sim->options.policy == ROUTE_ADAPTIVE) {
        stream->packet = cargo->sent;
        return cargo->sent < cargo->packets;
    }
    for (; stream->packet < cargo->packets; stream->packet++)
        if (path_of(cargo, stream->packet) - hop->out_start < hop->weight)
            return true; // modulo 2^32
    return false;
}

// Takes the stream at the head of a source's queue out of it.
static uint32_t take_stream(PacketSim *sim, Queue *queue) {
    uint32_t stream = queue->head;
    queue->head = sim->streams[stream].next;
    return stream;
}

// Drops streams without packets from the head of the queue; false when none is left.
static bool has_stream(PacketSim *sim, Queue *queue) {
    while (queue->head != PACKET_NONE && !find_packet(sim, &sim->streams[queue->head]))
        take_stream(sim, queue);
    return queue->head != PACKET_NONE;
}

static uint32_t make_packet(PacketSim *sim, uint32_t queue) {
    uint32_t id = take_stream(sim, &sim->queues[queue]), packet = new_packet(sim);
    Stream *stream = &sim->streams[id];
    Cargo *cargo = &sim->cargos[stream->cargo];
    uint32_t path = path_of(cargo, stream->packet);
    bool adapts = sim->options.policy == ROUTE_ADAPTIVE;
    sim->packets[packet] =
        (Packet){.cargo = stream->cargo,
                 .hop = stream->hop,
                 .size = wire_size(sim, cargo, stream->packet),
                 .position = adapts ? path : path - sim->hops[stream->hop].out_start,
                 .input = PACKET_NONE};
    stream->packet++;
    cargo->sent++;
    if (find_packet(sim, stream)) add_stream(sim, queue, id);
    return packet;
}

// ---- Outputs.

static void set_blocked(PacketSim *sim, Wire *wire) {
    if (wire->is_blocked) return;
    wire->is_blocked = true;
    wire->blocked_since = sim->now;
}

static void clear_blocked(PacketSim *sim, Wire *wire) {
    if (!wire->is_blocked) return;
    wire->is_blocked = false;
    wire->blocked_ps += sim->now - wire->blocked_since;
}

// Busy with `size` bytes from now on.
static void occupy(PacketSim *sim, Wire *wire, uint32_t size) {
    if (wire->busy_until < sim->now) wire->debt = 0;
    uint64_t exact = size * (uint64_t)PS_PER_SECOND, ps = 0; // below 2^20 * 2^41
    if (exact > wire->debt) {
        ps = wide_div_up_u64(exact - wire->debt, wire->capacity_Bps);
        wire->debt = ps * wire->capacity_Bps - (exact - wire->debt);
    } else {
        wire->debt -= exact;
    }
    wire->busy_until = sim->now + (Time)ps;
    wire->wire_B += size;
}

static void arrive(PacketSim *sim, uint32_t packet, Time time) {
    Cargo *cargo = &sim->cargos[sim->packets[packet].cargo];
    if (time > cargo->finish) cargo->finish = time;
    sim->waiting--;
    sim->arrived++;
    free_packet(sim, packet);
}

static void send(PacketSim *sim, uint32_t wire_id, uint32_t packet) {
    Wire *wire = &sim->wires[wire_id];
    const Packet *p = &sim->packets[packet];
    uint32_t size = p->size;
    clear_blocked(sim, wire);
    occupy(sim, wire, size);
    wire->credit_B -= size;
    if (wire->credit_B < wire->least_credit_B) wire->least_credit_B = wire->credit_B;
    if (p->input != PACKET_NONE) {
        wire->queued_B -= size;
        Time back = wire->busy_until + sim->wires[p->input].latency_ps;
        schedule(sim, EVENT_CREDIT, back, p->input, size);
    }
    if (sim->hops[p->hop].next_count > 0) {
        schedule(sim, EVENT_HEAD, sim->now + wire->latency_ps, packet, 0);
        return;
    }
    Time there = wire->busy_until + wire->latency_ps;
    arrive(sim, packet, there);
    schedule(sim, EVENT_CREDIT, there + wire->latency_ps, wire_id, size);
}

static void wake_later(PacketSim *sim, uint32_t wire_id) {
    Wire *wire = &sim->wires[wire_id];
    if (wire->will_wake || wire->ring_head == PACKET_NONE) return;
    wire->will_wake = true;
    schedule(sim, EVENT_FREE, wire->busy_until, wire_id, 0);
}

// Sends the packet whose turn it is, when the wire is idle and there is room for it.
static void try_send(PacketSim *sim, uint32_t wire_id) {
    Wire *wire = &sim->wires[wire_id];
    while (wire->ring_head == wire->queue_first &&
           !has_stream(sim, &sim->queues[wire->queue_first]))
        turn_ring(sim, wire);
    if (wire->ring_head == PACKET_NONE) {
        clear_blocked(sim, wire);
        return;
    }
    if (wire->busy_until > sim->now) {
        wake_later(sim, wire_id);
        return;
    }
    uint32_t queue = wire->ring_head, head = sim->queues[queue].head;
    bool is_source = queue == wire->queue_first;
    uint32_t size = is_source ? wire_size(sim, &sim->cargos[sim->streams[head].cargo],
                                          sim->streams[head].packet)
                              : sim->packets[head].size;
    if (size > wire->credit_B) {
        set_blocked(sim, wire);
        return;
    }
    uint32_t packet = is_source ? make_packet(sim, queue) : head;
    if (!is_source) sim->queues[queue].head = sim->packets[packet].next;
    turn_ring(sim, wire);
    send(sim, wire_id, packet);
    wake_later(sim, wire_id);
}

// ---- Switches.

static uint64_t filling(const PacketSim *sim, const Hop *hop) {
    const Wire *wire = &sim->wires[hop->wire];
    return wire->queued_B + (wire->buffer_B - wire->credit_B);
}

// The least filled one; among equals the first in turn.
static uint32_t adapt(const PacketSim *sim, const Packet *packet, const Hop *hop) {
    uint32_t best = PACKET_NONE;
    for (uint32_t i = 0; i < hop->next_count; i++) {
        uint32_t next = hop->next_first + (packet->position + i) % hop->next_count;
        if (best == PACKET_NONE || filling(sim, &sim->hops[next]) < filling(sim, &sim->hops[best]))
            best = next;
    }
    return best;
}

// By its number among what arrives at the vertex.
static uint32_t follow(const PacketSim *sim, Packet *packet, const Hop *hop) {
    uint32_t number = hop->in_start + packet->position;
    uint32_t low = hop->next_first, high = hop->next_first + hop->next_count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (sim->hops[middle].out_start <= number)
            low = middle;
        else
            high = middle;
    }
    packet->position = number - sim->hops[low].out_start;
    return low;
}

static void enqueue(PacketSim *sim, uint32_t packet) {
    Packet *p = &sim->packets[packet];
    uint32_t wire_id = sim->hops[p->hop].wire;
    Wire *wire = &sim->wires[wire_id];
    uint32_t queue = wire->queue_first + sim->wires[p->input].input;
    bool was_empty = sim->queues[queue].head == PACKET_NONE;
    add_packet(sim, queue, packet);
    if (was_empty) add_to_ring(sim, wire, queue);
    try_send(sim, wire_id);
}

// The first bit of a packet has come in: picks its output, and queues it there as soon as it cannot
// run dry on the way out.
static void come_in(PacketSim *sim, uint32_t packet) {
    Packet *p = &sim->packets[packet];
    const Hop *hop = &sim->hops[p->hop];
    p->input = hop->wire;
    p->hop = sim->options.policy == ROUTE_ADAPTIVE ? adapt(sim, p, hop) : follow(sim, p, hop);
    const Wire *in = &sim->wires[p->input];
    Wire *out = &sim->wires[sim->hops[p->hop].wire];
    out->queued_B += p->size;
    if (out->capacity_Bps <= in->capacity_Bps) {
        enqueue(sim, packet);
        return;
    }
    uint64_t work = p->size * (uint64_t)PS_PER_SECOND;
    uint64_t lead = wide_div_up_u64(work, in->capacity_Bps) - work / out->capacity_Bps;
    schedule(sim, EVENT_READY, sim->now + (Time)lead, packet, 0);
}

// ---- Events.

// A stream for every wire over which the transfer leaves its source.
static void begin(PacketSim *sim, uint32_t cargo_id) {
    Cargo *cargo = &sim->cargos[cargo_id];
    cargo->finish = cargo->start + cargo->latency_ps;
    sim->waiting += cargo->packets;
    for (uint32_t i = 0; i < cargo->first_count && cargo->packets > 0; i++) {
        Stream stream = {.cargo = cargo_id, .hop = cargo->first_hop + i};
        if (!find_packet(sim, &stream)) continue;
        sim->streams = mem_grow(sim->streams, &sim->stream_capacity, sim->stream_count + 1,
                                sizeof *sim->streams);
        sim->streams[sim->stream_count] = stream;
        Wire *wire = &sim->wires[sim->hops[stream.hop].wire];
        bool was_empty = sim->queues[wire->queue_first].head == PACKET_NONE;
        add_stream(sim, wire->queue_first, sim->stream_count++);
        if (was_empty) add_to_ring(sim, wire, wire->queue_first);
    }
}

// All that start now stand in their queues before the first packet leaves.
static void start(PacketSim *sim, uint32_t first) {
    uint32_t end = first;
    for (; end < sim->cargo_count && sim->cargos[end].start == sim->now; end++) begin(sim, end);
    for (uint32_t i = first; i < end; i++)
        for (uint32_t k = 0; k < sim->cargos[i].first_count; k++)
            try_send(sim, sim->hops[sim->cargos[i].first_hop + k].wire);
    if (end < sim->cargo_count) schedule(sim, EVENT_START, sim->cargos[end].start, end, 0);
}

static void apply(PacketSim *sim, const Event *event) {
    switch (event->kind) {
    case EVENT_FREE:
        sim->wires[event->what].will_wake = false;
        try_send(sim, event->what);
        break;
    case EVENT_HEAD: come_in(sim, event->what); break;
    case EVENT_READY: enqueue(sim, event->what); break;
    case EVENT_CREDIT:
        sim->wires[event->what].credit_B += event->size;
        if (sim->wires[event->what].is_blocked) try_send(sim, event->what);
        break;
    case EVENT_START: start(sim, event->what); break;
    }
}

// ---- When nothing moves.

// A blocked output of the vertex where `wire` ends that holds a packet which came over it.
static uint32_t waits_for(const PacketSim *sim, uint32_t wire) {
    for (uint32_t out = 0; out < sim->wire_count; out++) {
        const Wire *next = &sim->wires[out];
        if (next->from == sim->wires[wire].to && next->is_blocked &&
            sim->queues[next->queue_first + sim->wires[wire].input].head != PACKET_NONE)
            return out;
    }
    return PACKET_NONE;
}

static void name_wire(const PacketSim *sim, uint32_t wire, Text *out) {
    net_name_link(sim->fabric, sim->wires[wire].from, sim->wires[wire].to, out);
}

// Follows blocked wires until one comes again: the ring of those that wait for each other.
static bool refuse_deadlock(const PacketSim *sim, Err *err) {
    bool *seen = mem_alloc(sim->wire_count, sizeof *seen);
    uint32_t wire = 0;
    while (wire + 1 < sim->wire_count && !sim->wires[wire].is_blocked) wire++;
    for (; wire != PACKET_NONE && !seen[wire]; wire = waits_for(sim, wire)) seen[wire] = true;
    Text text = {0};
    uint32_t first = wire, named = 0;
    while (wire != PACKET_NONE && (named == 0 || wire != first) && named < NAMED_MOST) {
        text_add(&text, named++ == 0 ? "" : ", which waits for ");
        name_wire(sim, wire, &text);
        wire = waits_for(sim, wire);
    }
    if (wire != PACKET_NONE && named > 0)
        text_add(&text, wire == first ? ", which waits for the first" : ", and so on");
    char now[UNITS_TEXT_MAX];
    err_set(err,
            "no packet can move after %s, %" PRIu64 " have not arrived: waiting for room behind %s",
            units_format_time(sim->now, now), sim->waiting, text_string(&text));
    text_free(&text);
    mem_free(seen);
    return false;
}

// Whether all that was taken has been given back.
static bool is_empty(const PacketSim *sim) {
    for (uint32_t i = 0; i < sim->wire_count; i++) {
        const Wire *wire = &sim->wires[i];
        if (wire->credit_B != wire->buffer_B || wire->queued_B != 0 ||
            wire->ring_head != PACKET_NONE || wire->is_blocked)
            return false;
    }
    return true;
}

static bool follow_events(PacketSim *sim, Progress *progress, Err *err) {
    Event event;
    while (packet_event_take(&sim->events, &event)) {
        if (event.time > TIME_LIMIT)
            return err_set(err,
                           "the transfers take longer than %" PRId64
                           " s, the most that packets are followed",
                           TIME_LIMIT / PS_PER_SECOND);
        sim->now = event.time;
        if (sim->events_total++ % EVENTS_SHOWN == 0) progress_step(progress, sim->arrived);
        apply(sim, &event);
    }
    if (sim->waiting > 0) return refuse_deadlock(sim, err);
    assert(is_empty(sim));
    return true;
}

bool packet_move_all(PacketSim *sim, Err *err) {
    Progress progress;
    sim->free_packet = PACKET_NONE;
    if (sim->cargo_count > 0) schedule(sim, EVENT_START, sim->cargos[0].start, 0, 0);
    progress_start(&progress, "moving packets", sim->packets_total);
    bool done = follow_events(sim, &progress, err);
    progress_end(&progress);
    return done;
}
