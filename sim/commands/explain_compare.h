// Two plans, term by term: why one is slower than the other.
#ifndef SIM_COMMANDS_EXPLAIN_COMPARE_H
#define SIM_COMMANDS_EXPLAIN_COMPARE_H

#include "model/base/jsonw.h"
#include "model/base/table.h"
#include "model/base/text.h"
#include "sim/commands/explain_plan.h"

// Both have been followed. Terms with the largest difference first, equal ones in order.
void explain_compare_order(const ExplainPlan *a, const ExplainPlan *b, uint32_t order[WHY_TERMS]);

// What differs of the inputs, results, sentences, the table of terms, bottleneck links.
void explain_compare_show(const ExplainPlan *a, const ExplainPlan *b, Text *out);
// The same in two parts: the plans with what differs of the inputs, and the rest of one step.
void explain_compare_plans(const ExplainPlan *a, const ExplainPlan *b, Text *out);
void explain_compare_step(const ExplainPlan *a, const ExplainPlan *b, Text *out);
// Members of the open object.
void explain_compare_write(JsonWriter *writer, const ExplainPlan *a, const ExplainPlan *b);
// Rows of a table of section, name, figure, value.
void explain_compare_rows(Table *csv, const char *section, const ExplainPlan *a,
                          const ExplainPlan *b);

#endif
