// Who wins where: winners of a grid, and between which values they change.
#ifndef SIM_SEARCH_SWEEP_WINNERS_H
#define SIM_SEARCH_SWEEP_WINNERS_H

#include "sim/search/sweep_cells.h"

// Numbers the winners of all cells and finds the changes along both axes; those along continuous
// axes are bisected when the spec asks for it.
void sweep_winners_find(const SweepSpec *spec, SweepCells *cells, Sweep *sweep);

#endif
