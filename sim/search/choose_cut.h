// A lower bound of an all-to-all whose groups lie unevenly on the machine, without simulating it.
// Internal to choose*.c.
#ifndef SIM_SEARCH_CHOOSE_CUT_H
#define SIM_SEARCH_CHOOSE_CUT_H

#include "model/cost/calib.h"
#include "sim/search/choose.h"

// GPUs of a scale-up domain; of a node where no GPUs are joined so; 0 when nodes differ.
uint32_t choose_cut_domain(const Fabric *fabric);

// The way out of a scale-up domain (else of a node), at its best: zeroed when there is none, or
// when GPUs do not all have the same one.
typedef struct ChooseExit {
    uint64_t capacity_Bps; // of the links that one GPU has to the network, as built
    double efficiency;     // of their class
    Time latency_ps;       // of the shortest way to another domain
    Time software_ps;      // of a step over it
    CalibParam bandwidth_param, step_param;
} ChooseExit;
void choose_cut_exit(const Fabric *fabric, const Calib *calib, ChooseExit *out);

// No algorithm is faster, for the groups that take longest (WORST) or least: time_ps, which is
// least_ps here, and its share. False when the groups stay in their domains, and of other
// collectives.
typedef enum ChooseGroups { CHOOSE_WORST_GROUP, CHOOSE_BEST_GROUP } ChooseGroups;
bool choose_cut_least(const ChooseExit *exit, const Fabric *fabric, const ChooseCase *given,
                      ChooseGroups which, ChooseTime *out);

// What one rank sends to another one of an all-to-all, at least.
double choose_cut_chunk(const ChooseCase *given);

#endif
