// A machine of a sweep, changed: another number of GPUs, other rates of links, a part down.
#ifndef SIM_SEARCH_SWEEP_MACHINE_H
#define SIM_SEARCH_SWEEP_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "sim/search/sweep.h"

// What is changed; zeroed: nothing.
typedef struct SweepSetting {
    uint64_t gpus;                       // 0: as many as there are
    uint64_t rate_Bps[LINK_CLASS_COUNT]; // of each cable and direction; 0: as it is
    SweepFail fail;
} SweepSetting;

// Not moved: the fabric points at the topology. A zeroed one is empty.
typedef struct SweepVariant {
    Topology topology;
    Fabric fabric;
} SweepVariant;

// A machine of more or fewer units: of a line such as hgx-h100:4 the count changes; of a file the
// count of the outermost parts, and of those inside when one is too many already.
bool sweep_machine_build(const SweepMachine *machine, const SweepSetting *setting,
                         SweepVariant *out, Err *err);
void sweep_machine_free(SweepVariant *variant);

// The fault of a part that is down, as fault.h reads it.
bool sweep_machine_fault(const Fabric *fabric, SweepFail fail, Text *out, Err *err);

#endif
