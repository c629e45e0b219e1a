// What the faults of a topology do to its fabric: links with less than they were built with, parts
// that are dead, and slow GPUs. Sorted lists, as long as what is faulty.
#ifndef MODEL_MACHINE_FABRIC_FAULT_H
#define MODEL_MACHINE_FABRIC_FAULT_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/machine/fabric.h"

// A bundle that a fault names, by its even id: both directions lose the same.
typedef struct FabricFaultLink {
    LinkId link;
    uint32_t cables;       // that are left
    uint64_t capacity_Bps; // what is left of each direction; 0 when dead
} FabricFaultLink;

// A GPU that computes at part / whole of its rates.
typedef struct FabricSlowGpu {
    VertexId gpu;
    uint32_t part, whole;
} FabricSlowGpu;

// GPUs of one domain of which some are dead. They are numbered after those of whole domains.
typedef struct FabricBrokenDomain {
    uint32_t domain;
    uint32_t dead_first, dead_count; // in FabricFaults.dead
    uint32_t live_before;            // live GPUs of the broken domains before it
} FabricBrokenDomain;

struct FabricFaults {
    FabricFaultLink *links; // ascending
    VertexId *dead;         // ascending, so GPUs come first
    FabricSlowGpu *slow;    // ascending
    uint32_t link_count, dead_count, dead_gpus, slow_count;
    FabricBrokenDomain *broken; // ascending
    uint32_t broken_count;
    uint32_t domain_gpus; // of each domain, or of each node without scale-up links
};

// Resolves the faults of the topology on a fabric that is complete as built. Refuses faults that
// name no link, that leave no GPU, or after which a live GPU cannot reach another one.
bool fabric_fault_apply(Fabric *fabric, Err *err);

// The bundle of a link among those that a fault names, or NULL.
const FabricFaultLink *fabric_fault_find(const Fabric *fabric, LinkId link);

// What the faults that name a link of a rule leave of its capacity.
uint64_t fabric_fault_capacity_Bps(const Fabric *fabric, const LinkRule *rule, LinkId link);

// The live GPU at which a plan of so many ranks begins: of the first GPUs of domains, and of those
// from which on the fewest ranks sit on slow GPUs, the first one; 0 without slow GPUs.
uint32_t fabric_fault_start(const Fabric *fabric, uint32_t ranks);

// True when the link that leads to `partner` from a live vertex carries nothing.
bool fabric_fault_stops(const Fabric *fabric, LinkId link, VertexId partner);

#endif
