// Which plans of the search try context parallelism.
#ifndef SIM_SEARCH_SPACE_CONTEXT_H
#define SIM_SEARCH_SPACE_CONTEXT_H

#include <stdint.h>

#include "model/base/err.h"
#include "model/cost/price.h"
#include "model/moe/arch.h"
#include "model/plan/memory.h"
#include "model/plan/scenario.h"
#include "sim/search/space_place.h"

// The most ranks of a TP group over which the caches of a model can be dealt; 1: none can.
uint32_t space_context_most_dealt(const Pool *pool, const Arch *arch);

// Whether a plan that deals its caches out is tried; `use` is the memory of the plan that does not.
// Dealt to all ranks that hold copies, or to a quarter of them; and where the plan without fits,
// only if less is added to a decode step than is saved of reading, and that is a quarter or more of
// all that it reads. Without a model neither is asked.
PlaceFault space_context_untried(const Pool *pool, const Arch *arch, const PriceModel *model,
                                 const MemoryUse *use, Err *text);

// Whether `cp` ranks that share prompts are tried: not where they would have too few tokens each.
PlaceFault space_context_unshared(const Scenario *scenario, uint32_t cp, Err *text);

#endif
