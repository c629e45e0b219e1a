// Whether a plan's weights, cache and buffers fit the GPUs: cheap exact terms first, lowering only
// for plans that pass.
#ifndef SIM_SEARCH_SPACE_FIT_H
#define SIM_SEARCH_SPACE_FIT_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/machine/device.h"
#include "model/moe/arch.h"
#include "model/plan/lower.h"
#include "model/plan/memory.h"
#include "model/plan/plan.h"
#include "model/plan/scenario.h"
#include "model/plan/schedule.h"

// The buffers that were found last, and the schedules of one step that they were found from, by
// phase: plans that share a phase follow each other. A zeroed one is empty.
typedef struct FitMemory {
    struct {
        bool is_set;
        Digest key;
        uint64_t peak_B;
    } last[2];
    struct {
        bool is_set;
        Digest key;
        Schedule schedule;
    } lowered[2];
} FitMemory;

void space_fit_forget(FitMemory *memory);
// The schedule of one step of a phase, lowered unless it is remembered; the memory's until the next
// call.
Schedule *space_fit_lowered(FitMemory *memory, const Plan *plan, const Arch *arch, Phase phase);

typedef struct FitInput {
    const Arch *arch;
    const Device *device;
    const Scenario *scenario;
    uint64_t sequences; // per attention-DP rank and micro-batch
    FitMemory *memory;  // of this model and scenario; NULL: none
} FitInput;

// NULL when it fits; *out is the memory of the fullest GPU. Otherwise the template of the reason,
// and `text` with the numbers. The first leaves the buffers out and is cheap; the second lowers the
// plan.
const char *space_fit_alone(const FitInput *input, const Plan *plan, MemoryUse *out, Err *text);
const char *space_fit_full(const FitInput *input, const Plan *plan, MemoryUse *out, Err *text);

#endif
