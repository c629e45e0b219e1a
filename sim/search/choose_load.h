// A lower bound of an all-to-all on a machine where routes are searched: what its pairs put on the
// links of the machine. Internal to choose*.c.
#ifndef SIM_SEARCH_CHOOSE_LOAD_H
#define SIM_SEARCH_CHOOSE_LOAD_H

#include "model/cost/calib.h"
#include "sim/refine_memory.h"
#include "sim/search/choose_cut.h"

// What is known of the links of a machine. Borrows all that it is opened with. NULL where these
// bounds do not hold: a machine is uniform or has faults, links pass bursts, or switches sum.
typedef struct ChooseLoads ChooseLoads;
ChooseLoads *choose_load_open(const Fabric *fabric, const Calib *calib);
void choose_load_close(ChooseLoads *loads); // NULL is allowed

// What is sent from each rank to each other one straight away takes as long, whatever else uses the
// links at the same time: for the groups that take longest (WORST) or least. time_ps is least_ps
// here. `routes`: remembered routes of the machine. False on a uniform machine, of ranks in another
// order, and of groups with more pairs than are looked at.
bool choose_load_least(ChooseLoads *loads, RefineMemory *routes, const ChooseCase *given,
                       ChooseGroups which, ChooseTime *out);
// The same of an all-reduce, all-gather or reduce-scatter by any algorithm, where no switch sums:
// what a rank has to send or get over all links of the GPU that has the fastest ones.
bool choose_load_ends(ChooseLoads *loads, const ChooseCase *given, ChooseTime *out);

#endif
