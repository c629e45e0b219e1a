// Tables of one step of a plan, and of its memory.
#ifndef SIM_COMMANDS_EXPLAIN_STEP_H
#define SIM_COMMANDS_EXPLAIN_STEP_H

#include "model/base/text.h"
#include "model/plan/memory.h"
#include "sim/commands/explain_plan.h"

// What governs its time, classes of operations, communication and what hides it, algorithms, links.
void explain_step_show(const ExplainPlan *plan, Text *out);
void explain_step_memory(const MemoryUse *use, Text *out);

#endif
