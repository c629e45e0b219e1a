// Which GPU each rank of a pool is on: the placement of the pool on a machine.
#ifndef MODEL_PLAN_POOL_PLACE_H
#define MODEL_PLAN_POOL_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/machine/fabric.h"
#include "model/plan/pool.h"

// Live GPUs (fabric_live_gpu) of the ranks: *out is a heap array of pool_ranks numbers. Ranks begin
// at first_gpu; NODES, LEAVES and STAGES take the same GPUs as LINEAR does. Refused, with the
// numbers: a machine without leaves, nodes whose GPUs are not whole TP groups (NODES, LEAVES), too
// few GPUs.
bool pool_place_ranks(const Fabric *fabric, const Pool *pool, uint32_t **out, Err *err);
// The same, but NULL in *out for LINEAR: what a simulation takes (SimOptions.places).
bool pool_place_order(const Fabric *fabric, const Pool *pool, uint32_t **out, Err *err);

// Whether the placement can make a difference to LINEAR: some stage, TP group or replica has other
// GPUs, or some stage is elsewhere than its neighbours think; ranks of a stage count as alike.
// False too when it is refused.
bool pool_place_differs(const Fabric *fabric, const Pool *pool);

// GPUs of a block, which tensor parallelism may span: a scale-up domain, else a node; and of a
// leaf, 0 without any.
uint32_t pool_place_node(const Fabric *fabric);
uint32_t pool_place_leaf(const Fabric *fabric);

#endif
