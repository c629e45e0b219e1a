// What repeats in a machine: which levels may be permuted without changing it, the shape of the
// GPUs, and whether all can be reached.
#ifndef MODEL_MACHINE_FABRIC_SHAPE_H
#define MODEL_MACHINE_FABRIC_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/machine/fabric.h"

// Levels of the first GPU class whose parts may be permuted freely, each level by itself, without
// changing the graph. Bit k is level k; levels of one part count as such. 0 when there are several
// classes of GPUs.
uint32_t fabric_shape_symmetric(const Fabric *fabric);

// Sets shape and domain_size of a fabric that is complete otherwise. Fails when a GPU cannot reach
// another one.
bool fabric_shape_find(Fabric *fabric, Err *err);

// True when every vertex of the class has a link; the message names the first that has none.
bool fabric_shape_is_linked(const Fabric *fabric, uint32_t class_id, Err *err);

#endif
