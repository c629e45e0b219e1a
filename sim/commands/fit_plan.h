// Plans for the command fit, and the memory of one of them.
#ifndef SIM_COMMANDS_FIT_PLAN_H
#define SIM_COMMANDS_FIT_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/units.h"
#include "model/moe/arch.h"
#include "model/plan/memory_fit.h"
#include "model/plan/memory_lengths.h"
#include "sim/commands/fit_machine.h"

// What is asked of every plan.
typedef struct FitAsk {
    const Arch *arch;
    const Arch *base;   // as it is, where `arch` is re-quantised or keeps another cache; or NULL
    const char *format; // of a hypothetical model; "" as it is
    const MemoryEngine *engine;
    MemoryGrouping grouping;  // MEMORY_GROUPING_COUNT: the engine's
    uint32_t memory_permille; // 0: the engine's
    uint64_t context, concurrency;
    uint64_t chunk; // of one attention-DP rank, 0: the engine's
    NumFmt kv_format;
    uint32_t dcp;                       // ranks of a TP group over which a cache is dealt; 1: none
    uint64_t away_weights_B, away_kv_B; // of one GPU
    bool with_mtp;                      // draft layers are loaded
    MemoryLengths lengths;
} FitAsk;

typedef struct FitRow {
    const FitMachine *machine;
    const char *format;
    Plan plan;
    bool legal, fits;
    const char *reason;       // why not; "" when it fits
    MemoryFit fit;            // of a legal plan
    uint64_t memory_permille; // that was used
    uint64_t requests;        // at once of the context asked for, over the plan's GPUs
    uint64_t tokens;          // of cache on an attention-DP rank, in such sequences
    uint64_t converting_B;    // weights of the fullest GPU as they are, beside the largest layer
                              // re-quantised: when an engine converts them as it loads; 0: does not
    uint64_t taken_B, used_B; // of a sequence of the lengths on average, in the fullest stage
    uint64_t away_kv_B;       // of the cache asked for, put elsewhere
    Time away_ps;             // a step's reads of what lies elsewhere
} FitRow;

// Peaks of lowered steps that were found before. Zeroed: empty.
typedef struct FitPeaks {
    struct {
        Digest key;
        uint64_t peak_B;
    } found[256];
    uint32_t count;
} FitPeaks;

// One replica: ep 1 cuts experts by MoE-TP.
Plan fit_plan_make(const FitAsk *ask, uint32_t tp, uint32_t pp, uint32_t dp, uint32_t ep);

// Fills the row for its machine and plan. False on what is wrong with the input itself.
bool fit_plan_weigh(const FitAsk *ask, FitPeaks *peaks, Arena *arena, FitRow *row, Err *err);

// Simple plans for a machine: TP in a group, the smallest that fits and the widest; TP over whole
// groups and pipeline stages; attention-DP with expert parallelism. Of each kind the smallest that
// fits, or the one that misses by least, and the widest when it fits too. Rows are the arena's.
bool fit_plan_simple(const FitAsk *ask, FitPeaks *peaks, const FitMachine *machine, Arena *arena,
                     FitRow **out, uint32_t *out_count, Err *err);
// The row with the fewest GPUs among those that fit, of equals the one with the most room, or the
// nearest miss; NULL of none.
const FitRow *fit_plan_best(const FitRow *rows, uint32_t count);

#endif
