// Faults added to a machine.
//
// Invariant: the machine passes topology_finish before and after; on failure its faults and digest
// are untouched.
#include "model/machine/topology_degrade.h"

#include <string.h>

#include "model/machine/topology_link.h"

static bool check_added(const Topology *topology, const Fault *added, uint32_t count, Err *err) {
    uint64_t work = 0;
    for (uint32_t i = 0; i < count; i++) {
        TopologyLink resolved;
        const char *field;
        if (!topology_link_fault(topology, &added[i], &resolved, &field, err))
            return err_prefix(err, "%s", added[i].place);
        work += resolved.combinations;
        if (work > TOPOLOGY_WORK_MAX)
            return err_set(err, "%s: the letters of all faults have more than %d combinations",
                           added[i].place, TOPOLOGY_WORK_MAX);
    }
    return true;
}

bool topology_degrade_add(Topology *topology, const char *label, const char *faults, Err *err) {
    Fault *added, *all;
    uint32_t count, before = topology->fault_count;
    if (!fault_parse_list(faults, label, &topology->arena, &added, &count, err) ||
        !check_added(topology, added, count, err))
        return false;
    Fault *kept = topology->faults;
    all = arena_alloc(&topology->arena, (size_t)before + count, sizeof *all);
    if (before > 0) memcpy(all, kept, before * sizeof *all);
    memcpy(all + before, added, count * sizeof *all);
    topology->faults = all;
    topology->fault_count = before + count;
    if (topology_finish(topology, err)) return true;
    topology->faults = kept;
    topology->fault_count = before;
    return false;
}
