// What is alive, asked of the sorted lists of fabric_fault.h.
//
// Invariant: without faults every answer is immediate and that of the machine as built. Groups of a
// plan are runs of live GPUs from its first one on, so GPUs of domains that have lost one are
// numbered last: a plan that fits on the whole domains does not straddle two of them.
#include "model/machine/fabric.h"

#include "model/base/mem.h"
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

// Domain number i of those without a dead GPU. broken[k] - k whole ones come before broken one k.
static uint32_t whole_domain(const FabricFaults *faults, uint32_t i) {
    uint32_t low = 0, high = faults->broken_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (faults->broken[middle].domain - middle <= i)
            low = middle + 1;
        else
            high = middle;
    }
    return i + low;
}

// Live GPU number i of those of broken domains.
static uint32_t live_in_broken(const FabricFaults *faults, uint32_t i) {
    uint32_t low = 0, high = faults->broken_count - 1;
    while (low < high) {
        uint32_t middle = (low + high + 1) / 2;
        if (faults->broken[middle].live_before <= i)
            low = middle;
        else
            high = middle - 1;
    }
    const FabricBrokenDomain *domain = &faults->broken[low];
    uint32_t gpu = domain->domain * faults->domain_gpus + i - domain->live_before;
    for (uint32_t k = 0; k < domain->dead_count; k++)
        if (faults->dead[domain->dead_first + k] <= gpu) gpu++;
    return gpu;
}

uint32_t fabric_live_gpu(const Fabric *fabric, uint32_t i) {
    const FabricFaults *faults = fabric->faults;
    if (faults == NULL || faults->dead_gpus == 0) return i;
    uint32_t size = faults->domain_gpus;
    uint32_t whole = fabric->gpu_count - faults->broken_count * size;
    if (i >= whole) return live_in_broken(faults, i - whole);
    return whole_domain(faults, i / size) * size + i % size;
}

bool fabric_has_slow_gpus(const Fabric *fabric) {
    return fabric->faults != NULL && fabric->faults->slow_count > 0;
}

void fabric_gpu_rate(const Fabric *fabric, uint32_t gpu, uint32_t *part, uint32_t *whole) {
    const FabricFaults *faults = fabric->faults;
    uint32_t low = 0, high = faults == NULL ? 0 : faults->slow_count;
    *part = *whole = 1;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (faults->slow[middle].gpu < gpu)
            low = middle + 1;
        else
            high = middle;
    }
    if (faults == NULL || low == faults->slow_count || faults->slow[low].gpu != gpu) return;
    *part = faults->slow[low].part;
    *whole = faults->slow[low].whole;
}

// Slow GPUs before each live GPU, and before the end; heap.
static uint32_t *count_slow(const Fabric *fabric) {
    uint32_t live = fabric_live_gpu_count(fabric);
    uint32_t *before = mem_alloc((size_t)live + 1, sizeof *before);
    before[0] = 0;
    for (uint32_t i = 0; i < live; i++) {
        uint32_t part, whole;
        fabric_gpu_rate(fabric, fabric_live_gpu(fabric, i), &part, &whole);
        before[i + 1] = before[i] + (part != whole);
    }
    return before;
}

uint32_t fabric_fault_start(const Fabric *fabric, uint32_t ranks) {
    uint32_t live = fabric_live_gpu_count(fabric), best = 0;
    if (!fabric_has_slow_gpus(fabric) || ranks >= live) return 0;
    uint32_t *before = count_slow(fabric), size = fabric->faults->domain_gpus;
    for (uint32_t start = size; start <= live - ranks && start >= size; start += size)
        if (before[start + ranks] - before[start] < before[best + ranks] - before[best])
            best = start;
    mem_free(before);
    return best;
}
