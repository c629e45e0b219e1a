// A list of transfers packet by packet, on a lossless network with credits and finite buffers: for
// tails, collisions and incast, and to judge the flow model. Takes time in proportion to packets
// and their links, and never folds.
#ifndef SIM_PACKET_H
#define SIM_PACKET_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/machine/fabric.h"
#include "sim/transfers.h"

// InfiniBand's largest path MTU, and its bytes around a payload: LRH 8, GRH 40, BTH 12, ICRC 4,
// VCRC 2 (IBTA Architecture Specification, volume 1, chapters 7 to 9).
#define PACKET_MTU_B     4096
#define PACKET_HEADER_B  66
#define PACKET_MTU_MAX_B (UINT32_C(1) << 20)
#define PACKET_COUNT_MAX (UINT64_C(1) << 27) // of one run, all transfers together

// ROUTE_STRIPE: the packets of a transfer are dealt over its paths in the proportions of the
// fabric's weights, from a seeded start on ("spraying"). ROUTE_HASH: all packets between two parts
// take one path, drawn by seed, source and destination. ROUTE_ADAPTIVE: every hop takes the output
// with the fewest bytes queued before it and in the buffer behind it.
typedef struct PacketOptions {
    RoutePolicy policy;
    uint32_t mtu_B, header_B; // payload of a full packet; bytes around each
    uint64_t buffer_B;        // at the far end of each link; 0: packet_buffer_B of that link
    uint64_t seed;
} PacketOptions;

// A link that some transfer can use.
typedef struct PacketLink {
    LinkId link;
    uint64_t wire_B;           // went over it, headers included
    uint64_t buffer_B, peak_B; // at its far end; the most of it that was reserved at one time
    Time blocked_ps;           // it had a packet to send and no room for it
} PacketLink;

// A zeroed PacketReport is empty.
typedef struct PacketReport {
    PacketLink *links; // by LinkId; heap
    uint32_t link_count;
    uint64_t packets;
} PacketReport;

PacketOptions packet_defaults(void); // striped, seed 1

// Twice what keeps a link busy while a credit comes back: rate x round trip, and two packets.
// Source: Dally and Towles, Principles and Practices of Interconnection Networks, 2004, section
// 13.3 (credit round trip); the factor of two lets a queue form before the sender is stopped.
// Vendors do not publish buffers per port.
uint64_t packet_buffer_B(const FabricLink *link, const PacketOptions *options);

// Refused besides what transfers_run refuses: an MTU of 0 or over PACKET_MTU_MAX_B, a header over
// the same, a buffer smaller than a packet, more packets than PACKET_COUNT_MAX, and a network in
// which no packet can move any more, naming the links that wait for each other. `report` may be
// NULL.
bool packet_run(const Fabric *fabric, const NetTransfer *list, uint32_t count,
                const PacketOptions *options, TransfersResult *out, PacketReport *report, Err *err);
void packet_report_free(PacketReport *report);

#endif
