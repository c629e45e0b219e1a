// Faults that are added to a machine after it was read.
#ifndef MODEL_MACHINE_TOPOLOGY_DEGRADE_H
#define MODEL_MACHINE_TOPOLOGY_DEGRADE_H

#include <stdbool.h>

#include "model/base/err.h"
#include "model/machine/topology.h"

// Adds the faults of a text (fault.h) to a machine from which nothing was built yet: another
// machine, with another digest. `label` says in messages where the text comes from. On failure the
// machine is as it was.
bool topology_degrade_add(Topology *topology, const char *label, const char *faults, Err *err);

#endif
