// Bars of what memory holds and of what time goes to, for pictures of plans.
#ifndef SIM_COMMANDS_PART_BARS_H
#define SIM_COMMANDS_PART_BARS_H

#include <stdint.h>

#include "model/base/text.h"
#include "model/plan/memory.h"
#include "sim/search/evaluate.h"

// One bar. Borrowed.
typedef struct PartBar {
    const char *name;
    const MemoryUse *memory;    // of the fullest GPU
    const EvaluateParts *parts; // of a time
} PartBar;

// The terms of memory, with a line at what is usable of the first one.
void part_bars_memory(const PartBar *bars, uint32_t count, const char *title, Text *out);
// The parts of a time; `axis` says of which.
void part_bars_time(const PartBar *bars, uint32_t count, const char *title, const char *axis,
                    Text *out);

#endif
