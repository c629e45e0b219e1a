// What is alive, asked of the sorted lists of fabric_fault.h.
//
// Invariant: without faults every answer is immediate and that of the machine as built.
#include "model/machine/fabric.h"

#include "model/machine/fabric_fault.h"

bool fabric_has_faults(const Fabric *fabric) {
    return fabric->faults != NULL;
}

Fabric fabric_as_built(const Fabric *fabric) {
    Fabric view = *fabric;
    view.faults = NULL;
    return view;
}

bool fabric_is_dead(const Fabric *fabric, VertexId vertex) {
    const FabricFaults *faults = fabric->faults;
    if (faults == NULL) return false;
    uint32_t low = 0, high = faults->dead_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (faults->dead[middle] < vertex)
            low = middle + 1;
        else
            high = middle;
    }
    return low < faults->dead_count && faults->dead[low] == vertex;
}

bool fabric_link_is_faulty(const Fabric *fabric, LinkId link) {
    if (fabric->faults == NULL) return false;
    if (fabric_fault_find(fabric, link) != NULL) return true;
    FabricLink ends = fabric_link(fabric, link);
    return fabric_is_dead(fabric, ends.from) || fabric_is_dead(fabric, ends.to);
}

uint32_t fabric_live_gpu_count(const Fabric *fabric) {
    return fabric->gpu_count - (fabric->faults == NULL ? 0 : fabric->faults->dead_gpus);
}

// dead[k] - k GPUs are alive before the k-th dead one.
uint32_t fabric_live_gpu(const Fabric *fabric, uint32_t i) {
    const FabricFaults *faults = fabric->faults;
    uint32_t low = 0, high = faults == NULL ? 0 : faults->dead_gpus;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (faults->dead[middle] - middle <= i)
            low = middle + 1;
        else
            high = middle;
    }
    return i + low;
}
