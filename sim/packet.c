// A packet-level run from a list of transfers to a report.
//
// Its parts say how: packet_net.c the network and the routes, packet_move.c forwarding, credits and
// arbitration, packet_event.c the order of events. A link of several cables is one wire of their
// joint rate.
//
// Invariant: every byte is counted once: what goes over the last links of all transfers is their
// bytes and one header a packet.
#include "sim/packet.h"

#include <inttypes.h>
#include <stdlib.h>

#include "model/base/mem.h"
#include "model/base/wide.h"
#include "sim/packet_internal.h"

#define BUFFER_MAX_B (UINT64_C(1) << 60)

PacketOptions packet_defaults(void) {
    return (PacketOptions){
        .policy = ROUTE_STRIPE, .mtu_B = PACKET_MTU_B, .header_B = PACKET_HEADER_B, .seed = 1};
}

uint64_t packet_buffer_B(const FabricLink *link, const PacketOptions *options) {
    uint64_t packet = (uint64_t)options->mtu_B + options->header_B;
    uint64_t trip = 2 * (uint64_t)link->latency_ps;
    uint64_t credits = wide_mul_div_up(link->capacity_Bps, trip, (uint64_t)PS_PER_SECOND);
    uint64_t both = wide_mul_saturate(2, wide_add_saturate(credits, 2 * packet));
    return both < BUFFER_MAX_B ? both : BUFFER_MAX_B;
}

static bool check_options(const PacketOptions *options, Err *err) {
    if (options->mtu_B == 0 || options->mtu_B > PACKET_MTU_MAX_B)
        return err_set(err, "expected an MTU of 1 to %u B, found %u B", PACKET_MTU_MAX_B,
                       options->mtu_B);
    if (options->header_B > PACKET_MTU_MAX_B)
        return err_set(err, "expected a header of at most %u B, found %u B", PACKET_MTU_MAX_B,
                       options->header_B);
    uint64_t packet = (uint64_t)options->mtu_B + options->header_B;
    if (options->buffer_B != 0 && (options->buffer_B < packet || options->buffer_B > BUFFER_MAX_B))
        return err_set(err,
                       "expected a buffer of at least a packet (%" PRIu64 " B) and at most %" PRIu64
                       " B, found %" PRIu64 " B",
                       packet, BUFFER_MAX_B, options->buffer_B);
    return true;
}

static int compare_links(const void *left, const void *right) {
    const PacketLink *a = left, *b = right;
    return a->link < b->link ? -1 : a->link > b->link;
}

static void write_report(const PacketSim *sim, PacketReport *out) {
    *out = (PacketReport){.links = mem_alloc(sim->wire_count, sizeof *out->links),
                          .link_count = sim->wire_count,
                          .packets = sim->packets_total};
    for (uint32_t i = 0; i < sim->wire_count; i++) {
        const Wire *wire = &sim->wires[i];
        out->links[i] = (PacketLink){wire->link, wire->wire_B, wire->buffer_B,
                                     wire->buffer_B - wire->least_credit_B, wire->blocked_ps};
    }
    qsort(out->links, out->link_count, sizeof *out->links, compare_links);
}

static void write_result(const PacketSim *sim, TransfersResult *out) {
    out->finish = mem_alloc(sim->cargo_count, sizeof *out->finish);
    out->steps = sim->events_total;
    for (uint32_t i = 0; i < sim->cargo_count; i++) {
        const Cargo *cargo = &sim->cargos[i];
        out->finish[cargo->index] = cargo->finish;
        if (cargo->finish > out->end_ps) out->end_ps = cargo->finish;
    }
}

bool packet_run(const Fabric *fabric, const NetTransfer *list, uint32_t count,
                const PacketOptions *options, TransfersResult *out, PacketReport *report,
                Err *err) {
    if (!check_options(options, err) || !transfers_check(fabric, list, count, err)) return false;
    PacketSim sim = {.fabric = fabric, .options = *options};
    TransfersResult result = {0};
    Err late = {0};
    TransfersBound *bound = transfers_bound_open(fabric);
    bool built = packet_net_build(&sim, list, count, bound, err);
    bool done = transfers_bound_close(bound, &result, built ? err : &late) && built &&
                packet_move_all(&sim, err);
    if (done) {
        write_result(&sim, &result);
        *out = result;
        if (report != NULL) write_report(&sim, report);
    }
    packet_net_free(&sim);
    return done;
}

void packet_report_free(PacketReport *report) {
    mem_free(report->links);
    *report = (PacketReport){0};
}
