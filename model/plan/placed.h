// The load of the slots of a pool: a load of experts, where the pool's placement puts them.
#ifndef MODEL_PLAN_PLACED_H
#define MODEL_PLAN_PLACED_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/moe/arch.h"
#include "model/plan/load.h"
#include "model/plan/pool.h"

typedef struct PlacedSpec {
    const Load *load;     // of experts, as their tokens arrive; NULL: uniform
    const Load *expected; // of experts, for which they were placed; NULL: the one above
    uint32_t nodes;       // over which the EP positions lie evenly, in order; 0 reads as 1
} PlacedSpec;

// `load` is of pool_slots experts: what a Schedule of the pool is simulated and run with. Experts
// in order leave it as it is, borrowed. A uniform load of experts is uniform for ranks too unless
// replicas cannot be dealt out evenly.
// Balance (balancedness, as SGLang logs it): mean over largest load of an EP position, mean over
// the layers; of the load with its experts in order and without redundancy, and as they are placed.
typedef struct Placed {
    Load load;
    double balance_in_order, balance;
} Placed;

// The pool must be legal for the arch. Refuses a load that is not of the arch's layers and experts.
bool placed_load(const Pool *pool, const Arch *arch, const PlacedSpec *spec, Placed *out, Err *err);

#endif
