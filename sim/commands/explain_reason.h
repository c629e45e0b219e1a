// What a plan does in one class of operations, as half a sentence.
#ifndef SIM_COMMANDS_EXPLAIN_REASON_H
#define SIM_COMMANDS_EXPLAIN_REASON_H

#include "model/base/text.h"
#include "sim/commands/explain_plan.h"

// "its 2 ep groups of 16 cross 2 leaves, 92 x dispatch of 1.63 MB by direct, 13.9 us each": of the
// class's operations on the critical path.
void explain_reason_add(const ExplainPlan *plan, uint32_t term, Text *out);

#endif
