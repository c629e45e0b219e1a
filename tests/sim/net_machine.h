// Machines for lists of transfers: generated fat trees, whatever a text describes, and the
// constants of their tiers.
#ifndef TESTS_SIM_NET_MACHINE_H
#define TESTS_SIM_NET_MACHINE_H

#include "model/base/mem.h"
#include "model/machine/device.h"
#include "model/machine/fabric.h"
#include "model/machine/topology.h"
#include "sim/tier.h"

// `nodes` (even) of 8 GPUs, 450 GB/s between those of a node; each GPU has a port of 50 GB/s; 2
// nodes hang on a leaf, every leaf on each of `spines` by 50 GB/s: 16 spines are 1:1, 8 are 2:1.
// 500 ns a link outside the node, so 2 us over a spine.
char *net_machine_fat_tree(Arena *arena, uint32_t nodes, uint32_t spines);

// A machine from JSON, a shipped file or a string such as "switch:72,500GB/s". Not moved.
typedef struct NetMachine {
    Topology topology;
    DeviceCatalogue catalogue;
    Fabric fabric;
} NetMachine;
void net_machine_open(NetMachine *machine, const char *text);
void net_machine_close(NetMachine *machine);

// What tiers cost by the shipped calibration.
TierConstants net_machine_tier(void);

#endif
