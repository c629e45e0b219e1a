// The network of a list of transfers: the links that its routes use, a queue for every turn from an
// input to an output, and the routes as hops that a packet can follow.
//
// A route is a set of links with weights; at every vertex as much weight arrives as leaves. A
// packet is one unit of that weight: units that arrive at a vertex are numbered edge by edge, and
// so are those that leave, so a number picks a path and every link carries exactly its share of all
// numbers.
//
// Invariant: nothing depends on the order of the list: transfers are sorted by start, source and
// destination, where each source begins with the GPU after itself. NCCL orders the peers of an
// all-to-all in this way (nccl, src/init.cc, p2pSchedule), so that they do not all send to one.
#include "sim/packet_internal.h"

#include <inttypes.h>
#include <stdlib.h>

#include "model/base/hash.h"
#include "model/base/mem.h"
#include "model/base/wide.h"

#define QUEUES_MAX (UINT32_C(1) << 27)
#define HOPS_MAX   (UINT32_C(1) << 26)
#define SAMPLES    256 // routes that are looked at before all are

// An edge of the route at hand.
typedef struct Leg {
    uint32_t level, wire, weight;
    VertexId from;
} Leg;

static uint32_t input_number(PacketSim *sim, VertexId vertex) {
    uint32_t found = keymap_find(&sim->inputs_by_vertex, vertex);
    if (found == KEYMAP_NONE) {
        found = sim->input_vertices++;
        sim->inputs = mem_grow(sim->inputs, &sim->input_capacity, found + 1, sizeof *sim->inputs);
        sim->inputs[found] = 0;
        keymap_add(&sim->inputs_by_vertex, vertex, found);
    }
    return ++sim->inputs[found];
}

static uint32_t input_count(const PacketSim *sim, VertexId vertex) {
    uint32_t found = keymap_find(&sim->inputs_by_vertex, vertex);
    return found == KEYMAP_NONE ? 0 : sim->inputs[found];
}

static uint32_t wire_of(PacketSim *sim, LinkId id) {
    uint32_t found = keymap_find(&sim->wire_by_link, id);
    if (found != KEYMAP_NONE) return found;
    FabricLink link = fabric_link(sim->fabric, id);
    uint64_t buffer =
        sim->options.buffer_B > 0 ? sim->options.buffer_B : packet_buffer_B(&link, &sim->options);
    found = sim->wire_count++;
    sim->wires = mem_grow(sim->wires, &sim->wire_capacity, sim->wire_count, sizeof *sim->wires);
    sim->wires[found] = (Wire){.link = id,
                               .from = link.from,
                               .to = link.to,
                               .capacity_Bps = link.capacity_Bps,
                               .latency_ps = link.latency_ps,
                               .input = input_number(sim, link.to),
                               .ring_head = PACKET_NONE,
                               .buffer_B = buffer,
                               .credit_B = buffer,
                               .least_credit_B = buffer};
    keymap_add(&sim->wire_by_link, id, found);
    return found;
}

static int compare_legs(const void *left, const void *right) {
    const Leg *a = left, *b = right;
    if (a->level != b->level) return a->level < b->level ? -1 : 1;
    if (a->from != b->from) return a->from < b->from ? -1 : 1;
    return a->wire < b->wire ? -1 : a->wire > b->wire;
}

// Edges in order of distance; at each distance the weights add up to the total.
static Leg *list_legs(PacketSim *sim, const Route *route) {
    Leg *legs = mem_alloc(route->count, sizeof *legs);
    uint64_t weight = 0;
    for (uint32_t i = 0; i < route->count; i++) {
        uint32_t wire = wire_of(sim, route->edges[i].link);
        legs[i] = (Leg){(uint32_t)(weight / route->weight_total), wire, route->edges[i].weight,
                        sim->wires[wire].from};
        weight += route->edges[i].weight;
    }
    qsort(legs, route->count, sizeof *legs, compare_legs);
    return legs;
}

// The first leg of [begin, count) that leaves `vertex` at `level`, and where they end.
static uint32_t legs_from(const Leg *legs, uint32_t count, uint32_t level, VertexId vertex,
                          uint32_t *out_end) {
    uint32_t low = 0, high = count;
    Leg key = {.level = level, .from = vertex};
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (compare_legs(&legs[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    uint32_t end = low;
    while (end < count && legs[end].level == level && legs[end].from == vertex) end++;
    *out_end = end;
    return low;
}

static bool refuse_hops(Err *err) {
    return err_set(err,
                   "the routes have more than %u links: too many for packets, expected fewer "
                   "pairs of GPUs",
                   HOPS_MAX);
}

// Appends the hops of a route; those from its source come first.
static bool add_hops(PacketSim *sim, const Route *route, Err *err) {
    uint32_t base = sim->hop_count, count = route->count;
    if (count > HOPS_MAX - base) return refuse_hops(err);
    Leg *legs = list_legs(sim, route);
    uint32_t *inflow = mem_alloc(count + 1, sizeof *inflow); // by first leg from a vertex
    sim->hops = mem_grow(sim->hops, &sim->hop_capacity, base + count, sizeof *sim->hops);
    uint32_t out_start = 0;
    for (uint32_t i = 0; i < count; i++) {
        const Leg *leg = &legs[i];
        bool is_first = i == 0 || leg->level != legs[i - 1].level || leg->from != legs[i - 1].from;
        if (is_first) out_start = 0;
        uint32_t end, next = legs_from(legs, count, leg->level + 1, sim->wires[leg->wire].to, &end);
        sim->hops[base + i] =
            (Hop){leg->wire, leg->weight, out_start, inflow[next], base + next, end - next};
        out_start += leg->weight;
        inflow[next] += leg->weight;
    }
    sim->hop_count += count;
    mem_free(inflow);
    mem_free(legs);
    return true;
}

// The number nearest below the golden section of `total` that has no divisor in common with it: its
// multiples visit all paths once in `total` steps, evenly at every length (Knuth, The Art of
// Computer Programming, volume 3, section 6.4, theorem S).
static uint32_t stride_of(uint32_t total) {
    uint32_t stride = (uint32_t)wide_mul_div(total, 618034, 1000000);
    while (stride > 1 && wide_gcd(stride, total) != 1) stride--;
    return stride > 0 ? stride : 1;
}

static uint64_t draw(uint64_t seed, VertexId from, VertexId to) {
    return hash_spread(hash_u64(hash_u64(hash_u64(HASH_START, seed), from), to));
}

static void set_path(const PacketSim *sim, Cargo *cargo, const Route *route) {
    cargo->total = route->weight_total;
    cargo->phase =
        (uint32_t)(draw(sim->options.seed, cargo->from, cargo->to) % route->weight_total);
    cargo->stride = sim->options.policy == ROUTE_HASH ? 0 : stride_of(route->weight_total);
    cargo->latency_ps = route->latency_ps;
}

static bool count_packets(PacketSim *sim, Cargo *cargo, Err *err) {
    uint64_t packets = wide_div_up_u64(cargo->bytes, sim->options.mtu_B);
    sim->packets_total = wide_add_saturate(sim->packets_total, packets);
    if (sim->packets_total > PACKET_COUNT_MAX)
        return err_set(err,
                       "the transfers have over %" PRIu64
                       " packets: expected fewer bytes or a larger MTU than %u B",
                       PACKET_COUNT_MAX, sim->options.mtu_B);
    cargo->packets = (uint32_t)packets;
    return true;
}

static int compare_cargos(const void *left, const void *right) {
    const Cargo *a = left, *b = right;
    if (a->start != b->start) return a->start < b->start ? -1 : 1;
    if (a->from != b->from) return a->from < b->from ? -1 : 1;
    bool a_wraps = a->to < a->from, b_wraps = b->to < b->from;
    if (a_wraps != b_wraps) return a_wraps ? 1 : -1;
    if (a->to != b->to) return a->to < b->to ? -1 : 1;
    if (a->bytes != b->bytes) return a->bytes < b->bytes ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

static void list_cargos(PacketSim *sim, const NetTransfer *list, uint32_t count) {
    sim->cargos = mem_alloc(count, sizeof *sim->cargos);
    sim->cargo_count = count;
    for (uint32_t i = 0; i < count; i++)
        sim->cargos[i] = (Cargo){.from = list[i].from,
                                 .to = list[i].to,
                                 .index = i,
                                 .bytes = list[i].bytes,
                                 .start = list[i].start};
    qsort(sim->cargos, count, sizeof *sim->cargos, compare_cargos);
}

// As many pairs differ at least: those of the transfers in a row that start together and whose
// sources do not descend. That is all of them in the list of a collective.
static uint64_t count_pairs(const PacketSim *sim, const NetTransfer *list, uint32_t count) {
    uint32_t *stamp = mem_alloc(sim->fabric->vertex_count, sizeof *stamp), source = 0;
    uint64_t pairs = 0, most = 0;
    for (uint32_t i = 0; i < count; i++) {
        const NetTransfer *t = &list[i], *before = &list[i > 0 ? i - 1 : 0];
        if (t->start != before->start || t->from < before->from) pairs = 0;
        if (i == 0 || pairs == 0 || t->from != before->from) source++;
        if (stamp[t->to] == source) continue;
        stamp[t->to] = source;
        if (++pairs > most) most = pairs;
    }
    mem_free(stamp);
    return most;
}

// Refuses hops from the mean of a sample, before they take time and memory. The mean may be too
// high: a quarter over the limit is left to the count itself.
static bool check_hops(const PacketSim *sim, const NetTransfer *list, uint32_t count, Route *route,
                       Err *err) {
    const uint64_t most = (uint64_t)HOPS_MAX / 4 * 5 * SAMPLES;
    uint64_t links = 0;
    Err ignored = {0}; // a pair without a route is named when it is added
    if (count <= SAMPLES) return true;
    for (uint32_t i = 0; i < SAMPLES; i++) {
        uint32_t at = (uint32_t)(hash_spread(i + 1) % count);
        if (!fabric_route(sim->fabric, list[at].from, list[at].to, route, &ignored)) return true;
        links += route->count;
    }
    if (links * count <= most || links * count_pairs(sim, list, count) <= most) return true;
    return refuse_hops(err);
}

// Pairs that occur more than once share their hops: `routes` has the first cargo of each pair.
static bool find_route(PacketSim *sim, KeyMap *routes, uint32_t index, const Route *route,
                       Err *err) {
    Cargo *cargo = &sim->cargos[index];
    uint64_t pair = (uint64_t)cargo->from * sim->fabric->vertex_count + cargo->to;
    uint32_t known = keymap_find(routes, pair);
    set_path(sim, cargo, route);
    cargo->first_hop = known == KEYMAP_NONE ? sim->hop_count : sim->cargos[known].first_hop;
    if (known == KEYMAP_NONE) {
        if (!add_hops(sim, route, err)) return false;
        keymap_add(routes, pair, index);
    }
    VertexId source = cargo->from;
    while (cargo->first_count < route->count &&
           sim->wires[sim->hops[cargo->first_hop + cargo->first_count].wire].from == source)
        cargo->first_count++;
    return true;
}

static bool add_queues(PacketSim *sim, Err *err) {
    uint64_t count = 0;
    for (uint32_t i = 0; i < sim->wire_count; i++) {
        sim->wires[i].queue_first = (uint32_t)count;
        count += (uint64_t)input_count(sim, sim->wires[i].from) + 1;
        if (count > QUEUES_MAX)
            return err_set(err,
                           "the switches have over %u pairs of an input and an output: too "
                           "many for packets",
                           QUEUES_MAX);
    }
    sim->queue_count = (uint32_t)count;
    sim->queues = mem_alloc(count, sizeof *sim->queues);
    for (uint32_t i = 0; i < sim->queue_count; i++) sim->queues[i].head = PACKET_NONE;
    return true;
}

static bool add_routes(PacketSim *sim, KeyMap *routes, Route *route, TransfersBound *bound,
                       Err *err) {
    for (uint32_t i = 0; i < sim->cargo_count; i++) {
        Cargo *cargo = &sim->cargos[i];
        NetTransfer transfer = {cargo->from, cargo->to, cargo->bytes, cargo->start};
        if (!fabric_route(sim->fabric, cargo->from, cargo->to, route, err))
            return err_prefix(err, "transfer %u", cargo->index);
        transfers_bound_add(bound, &transfer, route);
        if (!find_route(sim, routes, i, route, err) || !count_packets(sim, cargo, err))
            return false;
    }
    return true;
}

static bool refuse_bursts(const PacketSim *sim, Err *err) {
    for (uint32_t i = 0; i < sim->wire_count; i++)
        if (fabric_link(sim->fabric, sim->wires[i].link).burst_B > 0)
            return err_set(err, "a link has a burst, and packets know no token buckets: expected "
                                "the flow model");
    return true;
}

bool packet_net_build(PacketSim *sim, const NetTransfer *list, uint32_t count,
                      TransfersBound *bound, Err *err) {
    KeyMap routes = {0};
    Route route = {0};
    bool done = check_hops(sim, list, count, &route, err);
    if (done) {
        list_cargos(sim, list, count);
        done = add_routes(sim, &routes, &route, bound, err) && refuse_bursts(sim, err) &&
               add_queues(sim, err);
    }
    fabric_route_free(&route);
    keymap_free(&routes);
    return done;
}

void packet_net_free(PacketSim *sim) {
    mem_free(sim->wires);
    keymap_free(&sim->wire_by_link);
    keymap_free(&sim->inputs_by_vertex);
    mem_free(sim->inputs);
    mem_free(sim->queues);
    mem_free(sim->hops);
    mem_free(sim->cargos);
    mem_free(sim->streams);
    mem_free(sim->packets);
    mem_free(sim->events.events);
    *sim = (PacketSim){0};
}
