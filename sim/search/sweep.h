// What if: one or two inputs varied, the best plan or one that is held fixed priced in each cell of
// the grid, and where the winner changes.
#ifndef SIM_SEARCH_SWEEP_H
#define SIM_SEARCH_SWEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/machine/device.h"
#include "sim/search/evaluate.h"
#include "sim/search/objective.h"
#include "sim/search/pools.h"
#include "sim/search/space.h"
#include "sim/search/sweep_axes.h"

#define SWEEP_MACHINES_MAX 16

// A machine to choose from. Borrowed.
typedef struct SweepMachine {
    const char *name;    // as topology_load takes it
    const char *device;  // of its GPUs, as topology_device_set takes it; NULL: its own
    const char *degrade; // faults that it has anyway (fault.h), NULL for none
    const DeviceCatalogue *catalogue;
    EvaluateInput input; // on the machine as given, with the workload and the price as given
    SpaceExperts experts;
} SweepMachine;

typedef enum SweepMode { SWEEP_REPLAN, SWEEP_HOLD, SWEEP_HOLD_FIRST } SweepMode;

typedef struct SweepSpec {
    const SweepMachine *machines;
    uint32_t machine_count;
    SweepAxes axes;
    Objective objective; // what wins; of machines without a price none by cost
    SweepMode mode;
    Plan held;           // with SWEEP_HOLD: on the first machine; of one pool or of two
    PoolsUse pools;      // of plans that are looked for; by throughput or cost when not unified
    uint32_t refine_ppm; // bisect changes until the ends differ by this part; 0: not
} SweepSpec;

// `evaluation` keeps no phases; of separate pools it has the figures alone. A plan that is held has
// figures although it misses a limit.
typedef struct SweepCell {
    bool is_feasible, has_figures;
    uint32_t winner;  // position among the winners, SWEEP_NONE when nothing is feasible
    uint32_t machine; // of the plan
    uint32_t gpus;    // of that machine, alive or not
    Plan plan;
    uint64_t sequences;     // per attention-DP rank and micro-batch; of separate pools of decode
    const PoolsRow *pooled; // the sweep's; NULL: a unified plan
    const char *bottleneck; // a part of the cycle, or what bounds separate pools
    uint64_t price_uusd_per_gpu_hour;
    Evaluation evaluation;
    const char *reason; // why nothing is feasible; "" otherwise
} SweepCell;

typedef struct SweepWinner {
    uint32_t machine;
    Plan plan;
    uint32_t cells;
} SweepWinner;

// The winner changes between two values of one axis, the other one at a value: neighbours, or of
// faults the first value and another. After refinement the values lie closer than those swept.
typedef struct SweepChange {
    uint32_t axis, other; // which axis; index of the value of the other one, 0 without
    SweepValue from, to;
    uint32_t before, after; // winners, SWEEP_NONE: nothing is feasible
    bool is_refined;
} SweepChange;

// cells[i * count of the second axis + j]; a grid of one axis has j == 0 alone.
typedef struct Sweep {
    Arena arena;
    SweepAxes axes;
    SweepCell *cells;
    uint32_t cell_count, columns;
    SweepWinner *winners; // by first appearance in the grid
    uint32_t winner_count, winner_capacity;
    SweepChange *changes; // along the first axis, then along the second
    uint32_t change_count, change_capacity;
} Sweep;

// Finds the classes of links and the machines that axes name.
bool sweep_axes_bind(SweepAxes *axes, const SweepMachine *machines, uint32_t count, Err *err);
// The machine of that name as given, or of GPUs of that device; SWEEP_NONE when there is none.
uint32_t sweep_find_machine(const SweepMachine *machines, uint32_t count, const char *name);

bool sweep_run(const SweepSpec *spec, Sweep *out, Err *err);
void sweep_free(Sweep *sweep);

#endif
