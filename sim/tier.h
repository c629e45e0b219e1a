// How much longer transfers take on a tier of parallel links than fluid flows would: what packets
// lose to collisions and to full buffers, as a closed form fitted to the packet model.
#ifndef SIM_TIER_H
#define SIM_TIER_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/hash.h"
#include "model/cost/calib.h"
#include "model/machine/fabric.h"

// Equal transfers that start together, each dealt packet by packet over the parallel links of the
// switch that it enters by, and over those of the switch that it leaves by.
typedef struct TierTraffic {
    uint64_t transfers;    // that enter the tier at one switch
    uint64_t packets;      // of each transfer
    uint32_t paths;        // parallel links of that switch
    uint64_t links;        // of the whole tier, both directions
    uint64_t port_packets; // over the fullest link below the tier
    uint64_t port_transfers;
} TierTraffic;

typedef struct TierConstants {
    double collisions; // part of the expected worst collision that is felt
    double buffers;    // part of the time that finite buffers cost by themselves
    double packets;    // that two full stages in a row cost once
} TierConstants;

// The time in the tier is that of fluid flows, headers counted and latency apart, x (1 + excess);
// the efficiency of its links and of those below it is 1 / (1 + excess). 0 for one path.
double tier_excess(const TierTraffic *traffic, const TierConstants *constants);

// ---- In the flow model (tier_load.c)

// Those of topologies/calibrations are fitted to all-to-alls of the packet model on two-level fat
// trees, 64 to 256 ports of 50 GB/s, by tests/bench/packet_fit.c, which prints the error on what
// was not fitted.
TierConstants tier_constants(const Calib *calib);
bool tier_is_on(const TierConstants *constants); // one of them is above 0

// What a route over network links says of the first tier of parallel links that it
// enters; the tiers above are not looked at. Numbers of the machine as built. Zeroed: it enters
// none, or a hash picks its links.
typedef struct TierShape {
    uint32_t gpus;
    uint32_t ports, route_ports;       // links by which the machine, and the route, enters the tier
    uint32_t switches, route_switches; // to which those lead
    uint32_t paths;                    // parallel links of one of them that the route takes
} TierShape;

TierShape tier_shape(const Fabric *fabric, const Route *route);
bool tier_shape_equal(const TierShape *a, const TierShape *b);
Digest tier_shape_digest(const TierShape *shape);

// One step of one collective, or of alike ones that run at once: transfers and who sends them.
typedef struct TierStep {
    uint64_t senders;
    uint64_t outside; // transfers over network links
    uint64_t beyond;  // of those over parallel ones
} TierStep;

// What a transfer puts on network links, in parts of TIER_UNIT of what it would as a fluid without
// headers: TIER_UNIT or more. The form is of one collective alone, of one size of message: whatever
// else runs at the same time shares the links, but adds no collisions. Headers are those beyond a
// stream of full packets, which the efficiency of a link class already has.
#define TIER_UNIT 256
uint32_t tier_load(const TierShape *shape, const TierStep *step, uint64_t bytes,
                   const TierConstants *constants);

#endif
