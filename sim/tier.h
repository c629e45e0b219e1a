// How much longer transfers take on a tier of parallel links than fluid flows would: what packets
// lose to collisions and to full buffers, as a closed form fitted to the packet model.
#ifndef SIM_TIER_H
#define SIM_TIER_H

#include <stdint.h>

// Equal transfers that start together, each dealt packet by packet over the parallel links of the
// switch that it enters by, and over those of the switch that it leaves by.
typedef struct TierTraffic {
    uint64_t transfers;    // that enter the tier at one switch
    uint64_t packets;      // of each transfer
    uint32_t paths;        // parallel links of that switch
    uint64_t links;        // of the whole tier, both directions
    uint64_t port_packets; // over the fullest link below the tier
} TierTraffic;

typedef struct TierConstants {
    double collisions; // part of the expected worst collision that is felt
    double buffers;    // part of the time that finite buffers cost by themselves
    double packets;    // that two full stages in a row cost once
} TierConstants;

// Fitted to all-to-alls of the packet model on two-level fat trees, 64 to 256 ports of 50 GB/s, by
// tests/bench/packet_fit.c, which prints the error on what was not fitted.
TierConstants tier_default(void);

// The time in the tier is that of fluid flows, headers counted and latency apart, x (1 + excess);
// the efficiency of its links and of those below it is 1 / (1 + excess). 0 for one path.
double tier_excess(const TierTraffic *traffic, const TierConstants *constants);

#endif
