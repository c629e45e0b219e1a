// The device of a machine's GPUs, named from outside: for a dump that names none that the catalogue
// knows, or for the same machine with other GPUs.
#ifndef MODEL_MACHINE_TOPOLOGY_DEVICE_H
#define MODEL_MACHINE_TOPOLOGY_DEVICE_H

#include <stdbool.h>

#include "model/base/err.h"
#include "model/machine/device.h"
#include "model/machine/topology.h"

// Every part of that kind is of that device; links and counts stay. A memory that stood beside
// another name goes with it, one that stood beside none stays.
void topology_device_set_all(Topology *topology, PartKind kind, const char *device);

// All GPUs, by a name or an alias of the catalogue. What they were is kept in
// Topology.device_before and, for files, in its note; a machine of these GPUs stays as it is.
bool topology_device_set(Topology *topology, const DeviceCatalogue *catalogue, const char *name,
                         Err *err);

#endif
