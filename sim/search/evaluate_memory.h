// What the plans of one search share: algorithms, routes, and phases. Figures are the same with and
// without it.
#ifndef SIM_SEARCH_EVALUATE_MEMORY_H
#define SIM_SEARCH_EVALUATE_MEMORY_H

#include "model/plan/lower.h"
#include "model/plan/placed.h"
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
#define EVALUATE_PLACED_MAX 256

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
    Placed *placed; // loads of experts that EPLB placed; heap
    uint32_t placed_count, placed_capacity;
    KeyMap placed_by_key;
};

// What a phase depends on: the plan, the lengths of the scenario, and the sequences.
Digest evaluate_memory_key(const EvaluateInput *input, const Plan *plan, Phase phase,
                           uint64_t sequences, EvaluateDepth depth);
// The phase of that key, or NULL when it is not remembered.
const EvaluatedPhase *evaluate_memory_find(const EvaluateMemory *memory, Phase phase, Digest key);
void evaluate_memory_keep(EvaluateMemory *memory, Phase phase, Digest key, EvaluateDepth depth,
                          const EvaluatedPhase *evaluated);

// placed_load, remembered by what places experts. The load is the memory's, or as placed_load says
// when memory is NULL.
bool evaluate_memory_placed(EvaluateMemory *memory, const Pool *pool, const Arch *arch,
                            const PlacedSpec *spec, Placed *out, Err *err);

#endif
