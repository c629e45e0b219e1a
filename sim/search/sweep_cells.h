// One cell of a sweep at a time, with what neighbouring cells share: a machine that is not changed
// between two cells is built once, and a cell that differs in its price alone is not simulated
// again.
#ifndef SIM_SEARCH_SWEEP_CELLS_H
#define SIM_SEARCH_SWEEP_CELLS_H

#include "sim/search/sweep.h"

typedef struct SweepCells SweepCells;

// Borrows the spec. Reasons are the arena's.
SweepCells *sweep_cells_open(const SweepSpec *spec, Arena *arena);
void sweep_cells_close(SweepCells *cells); // NULL is allowed

// The plan of all cells from now on, on one of the machines.
void sweep_cells_hold(SweepCells *cells, uint32_t machine, const Plan *plan);

// The cell at these values of the axes; its winner is not set. A cell without a plan is an answer.
void sweep_cells_price(SweepCells *cells, const uint64_t numbers[SWEEP_AXES_MAX], SweepCell *out);

// True when neighbours along the axis are on different machines: such an axis is walked slowest.
bool sweep_cells_changes_machine(SweepKind kind);

#endif
