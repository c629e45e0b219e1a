// What the faults of a topology do to its fabric: links with less than they were built with, and
// parts that are dead. Two sorted lists, as long as what is faulty.
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

struct FabricFaults {
    FabricFaultLink *links; // ascending
    VertexId *dead;         // ascending, so GPUs come first
    uint32_t link_count, dead_count, dead_gpus;
};

// Resolves the faults of the topology on a fabric that is complete as built. Refuses faults that
// name no link, that leave no GPU, or after which a live GPU cannot reach another one.
bool fabric_fault_apply(Fabric *fabric, Err *err);

// The bundle of a link among those that a fault names, or NULL.
const FabricFaultLink *fabric_fault_find(const Fabric *fabric, LinkId link);

// True when the link that leads to `partner` from a live vertex carries nothing.
bool fabric_fault_stops(const Fabric *fabric, LinkId link, VertexId partner);

#endif
