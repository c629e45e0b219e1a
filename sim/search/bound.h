// A time that no step of a plan can go below, found from its schedule without simulating it: the
// longest chain of its operations, each with nothing beside it.
#ifndef SIM_SEARCH_BOUND_H
#define SIM_SEARCH_BOUND_H

#include "model/moe/arch.h"
#include "model/plan/load.h"
#include "model/plan/pool.h"
#include "model/plan/schedule.h"
#include "sim/search/choose.h"
#include "sim/sim.h"

// The schedule is one of lower_plan, its algorithms chosen. Borrowed.
typedef struct BoundInput {
    const Fabric *fabric;
    const PriceModel *model;
    const Arch *arch;
    const Pool *pool;
    Chooser *chooser;
    const Schedule *schedule;
    const StepShape *shape;
    const Load *load; // as it is simulated
} BoundInput;

// Engine time between steps is not in it. `interval_ps` is of one pass: between the ends of a pass
// and of the one that waits for it, or, when none waits, of the next one.
typedef struct BoundStep {
    Time latency_ps; // of the first pass through all stages
    Time interval_ps;
    TimeShare share; // of the interval, by what governs the chain
} BoundStep;

void bound_step(const BoundInput *input, BoundStep *out);

#endif
