// From a route and the step it is in to the traffic of the closed form, and to a whole number.
//
// All that goes in is equal for transfers that are alike: numbers of the machine, the transfers of
// a step and who sends them, the bytes of one. GPUs of the machine that are not in the collective
// are taken to do the same, so that a switch is as full as in the fit.
//
// Invariant: TIER_UNIT without parallel links or without constants, and never less.
#include "sim/tier.h"

#include <string.h>

#include "model/base/num.h"
#include "model/base/wide.h"
#include "sim/packet.h"

#define LOAD_MAX (64 * TIER_UNIT)

TierConstants tier_constants(const Calib *calib) {
    return (TierConstants){.collisions = calib->values[CALIB_TIER_COLLISIONS].value,
                           .buffers = calib->values[CALIB_TIER_BUFFERS].value,
                           .packets = calib->values[CALIB_TIER_PACKETS].value};
}

bool tier_is_on(const TierConstants *constants) {
    return constants->collisions > 0 || constants->buffers > 0 || constants->packets > 0;
}

// Links of one vertex that are like this one.
static uint32_t alike_links(const Fabric *fabric, const FabricLink *link) {
    const VertexClass *to = fabric_class(fabric, link->to);
    uint64_t cursor = 0;
    uint32_t count = 0;
    for (LinkId id; fabric_next_link(fabric, link->from, &cursor, &id);) {
        FabricLink other = fabric_link(fabric, id);
        if (other.rule == link->rule && fabric_class(fabric, other.to) == to) count++;
    }
    return count;
}

// The position after the edges that are as far from the source as edge i.
static uint32_t hop_end(const Route *route, uint32_t i) {
    uint64_t weight = 0;
    while (i < route->count && weight < route->weight_total) weight += route->edges[i++].weight;
    return i;
}

static uint32_t leaving(const Fabric *fabric, const Route *route, uint32_t first, VertexId from) {
    uint32_t count = 0, end = hop_end(route, first);
    for (uint32_t i = first; i < end; i++) {
        FabricLink link = fabric_link(fabric, route->edges[i].link);
        if (link.from == from && topology_class_is_network(link.link_class)) count++;
    }
    return count;
}

// Edges of a hop lead to how many vertices: neighbours in the order of links may share one.
static uint32_t reached(const Fabric *fabric, const Route *route, uint32_t first, uint32_t end) {
    uint32_t count = 0;
    for (uint32_t i = first; i < end; i++) {
        VertexId to = fabric_link(fabric, route->edges[i].link).to;
        bool is_new = true;
        for (uint32_t k = first; k < i && is_new; k++)
            is_new = fabric_link(fabric, route->edges[k].link).to != to;
        count += is_new;
    }
    return count;
}

TierShape tier_shape(const Fabric *fabric, const Route *route) {
    Fabric built = fabric_as_built(fabric);
    if (route->is_hashed || route->weight_total == 0) return (TierShape){0};
    for (uint32_t first = 0, end; first < route->count; first = end) {
        end = hop_end(route, first);
        FabricLink link = fabric_link(&built, route->edges[first].link);
        if (!topology_class_is_network(link.link_class) ||
            fabric_class(&built, link.to)->kind != PART_SWITCH)
            continue;
        uint32_t paths = leaving(&built, route, end, link.to);
        if (paths < 2) continue;
        return (TierShape){.gpus = built.gpu_count,
                           .ports =
                               fabric_class(&built, link.from)->count * alike_links(&built, &link),
                           .route_ports = end - first,
                           .switches = fabric_class(&built, link.to)->count,
                           .route_switches = reached(&built, route, first, end),
                           .paths = paths};
    }
    return (TierShape){0};
}

bool tier_shape_equal(const TierShape *a, const TierShape *b) {
    return memcmp(a, b, sizeof *a) == 0; // six numbers, no padding
}

Digest tier_shape_digest(const TierShape *shape) {
    Digest hash = hash_u64(hash_u64(HASH_START, shape->gpus), shape->ports);
    hash = hash_u64(hash_u64(hash, shape->route_ports), shape->switches);
    return hash_u64(hash_u64(hash, shape->route_switches), shape->paths);
}

// Every GPU sends what the mean sender does.
static TierTraffic traffic_of(const TierShape *shape, const TierStep *step, uint64_t packets) {
    uint64_t at_ports = (uint64_t)shape->gpus * shape->route_ports;
    uint64_t at_switches = (uint64_t)shape->gpus * shape->route_switches;
    uint64_t ports = wide_mul_saturate(step->senders, shape->ports);
    uint64_t port_transfers = wide_mul_div_up(at_ports, step->outside, ports);
    return (TierTraffic){
        .transfers = wide_mul_div_up(at_switches, step->beyond,
                                     wide_mul_saturate(step->senders, shape->switches)),
        .packets = wide_div_up_u64(packets, shape->route_switches),
        .paths = shape->paths,
        .links = wide_mul_saturate(2 * (uint64_t)shape->switches, shape->paths),
        .port_packets =
            wide_mul_saturate(port_transfers, wide_div_up_u64(packets, shape->route_ports)),
        .port_transfers = port_transfers};
}

uint32_t tier_load(const TierShape *shape, const TierStep *step, uint64_t bytes,
                   const TierConstants *constants) {
    if (!tier_is_on(constants) || shape->paths < 2 || bytes == 0 || step->senders == 0)
        return TIER_UNIT;
    uint64_t packets = wide_div_up_u64(bytes, PACKET_MTU_B);
    TierTraffic traffic = traffic_of(shape, step, packets);
    double headers = (double)packets * PACKET_HEADER_B / (double)bytes;
    double full = (double)PACKET_HEADER_B / PACKET_MTU_B;
    double load = (1 + tier_excess(&traffic, constants)) * (1 + headers) / (1 + full);
    if (load >= LOAD_MAX / TIER_UNIT) return LOAD_MAX;
    uint32_t parts = (uint32_t)num_round(load * TIER_UNIT);
    return parts > TIER_UNIT ? parts : TIER_UNIT;
}
