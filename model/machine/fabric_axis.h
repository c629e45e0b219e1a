// Dimension-order routes: through a torus or mesh of GPUs, along one level after the other.
#ifndef MODEL_MACHINE_FABRIC_AXIS_H
#define MODEL_MACHINE_FABRIC_AXIS_H

#include <stdbool.h>

#include "model/base/err.h"
#include "model/machine/fabric.h"

// Links of policy dimension-order are rings or lines of GPUs along one level, one rule a level.
bool fabric_axis_check(const Fabric *fabric, Err *err);

// The route of two GPUs that differ only in levels that such links join, on live links; false, with
// *out as it was, when they do not lead there.
bool fabric_axis_route(const Fabric *fabric, VertexId from, VertexId to, Route *out);

// Every level of the GPUs is such a ring, without faults: all GPUs see the same.
bool fabric_axis_is_torus(const Fabric *fabric);

#endif
