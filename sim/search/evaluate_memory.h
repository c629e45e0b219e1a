// What the plans of one search share: algorithms, routes, and phases. Figures are the same with and
// without it.
#ifndef SIM_SEARCH_EVALUATE_MEMORY_H
#define SIM_SEARCH_EVALUATE_MEMORY_H

#include "model/plan/lower.h"
#include "sim/fold_memory.h"
#include "sim/keymap.h"
#include "sim/search/evaluate.h"
#include "sim/search/space_fit.h"

#define EVALUATE_RUNS_MAX 8 // of the simulator in one phase

// One phase of a plan, simulated: of `figures` only what comes from the phase is set.
typedef struct EvaluatedPhase {
    Evaluation figures;
    Digest runs[EVALUATE_RUNS_MAX]; // of their timelines
    uint32_t run_count;
    bool is_done; // else it cannot be simulated, and `reason` says why
    Err reason;
} EvaluatedPhase;

typedef enum EvaluateDepth { EVALUATE_SIMULATED, EVALUATE_BOUND } EvaluateDepth;

#define EVALUATE_PHASES_MAX 4096 // that are remembered

// Lives as long as the machine and the model of the input that it was opened for, and serves inputs
// that differ from it in their scenario alone.
struct EvaluateMemory {
    Chooser *chooser;
    FoldMemory *routes;
    FitMemory *lowered; // borrowed: schedules that bounds may use; NULL: none
    struct {
        bool is_set;
        Digest key;
        EvaluatedPhase phase;
    } bounds[2];            // by Phase: plans that share one follow each other as they are bounded
    EvaluatedPhase *phases; // simulated, in the order of plans that looked best; heap
    uint32_t phase_count, phase_capacity;
    KeyMap by_key;
};

// What a phase depends on: the plan, the lengths of the scenario, and the sequences.
Digest evaluate_memory_key(const EvaluateInput *input, const Plan *plan, Phase phase,
                           uint64_t sequences, EvaluateDepth depth);
// The phase of that key, or NULL when it is not remembered.
const EvaluatedPhase *evaluate_memory_find(const EvaluateMemory *memory, Phase phase, Digest key);
void evaluate_memory_keep(EvaluateMemory *memory, Phase phase, Digest key, EvaluateDepth depth,
                          const EvaluatedPhase *evaluated);

#endif
