// What the plans of one search share: algorithms, routes, and phases. Figures are the same with and
// without it.
#ifndef SIM_SEARCH_EVALUATE_MEMORY_H
#define SIM_SEARCH_EVALUATE_MEMORY_H

#include "model/plan/lower.h"
#include "sim/fold_memory.h"
#include "sim/search/evaluate.h"

#define EVALUATE_RUNS_MAX 8 // of the simulator in one phase

// One phase of a plan, simulated: of `figures` only what comes from the phase is set.
typedef struct EvaluatedPhase {
    Evaluation figures;
    Digest runs[EVALUATE_RUNS_MAX]; // of their timelines
    uint32_t run_count;
    bool is_done; // else it cannot be simulated, and `reason` says why
    Err reason;
} EvaluatedPhase;

// Lives as long as the machine and the model of the input that it was opened for, and serves that
// input alone.
struct EvaluateMemory {
    Chooser *chooser;
    FoldMemory *routes;
    struct {
        bool is_set;
        Digest key;
        EvaluatedPhase phase;
    } last[2]; // by Phase: candidates that share one follow each other
};

// The phase of a plan with as many sequences, or NULL when it is not remembered.
const EvaluatedPhase *evaluate_memory_find(const EvaluateMemory *memory, const Plan *plan,
                                           Phase phase, uint64_t sequences);
void evaluate_memory_keep(EvaluateMemory *memory, const Plan *plan, Phase phase, uint64_t sequences,
                          const EvaluatedPhase *evaluated);

#endif
