// Explanations for programs: JSON, and CSV with the columns section, name, figure, value. Keys name
// their units; what is exact stays exact.
#ifndef SIM_COMMANDS_EXPLAIN_WRITE_H
#define SIM_COMMANDS_EXPLAIN_WRITE_H

#include "model/base/jsonw.h"
#include "model/base/table.h"
#include "model/base/text.h"
#include "sim/commands/degrade_plan.h"
#include "sim/commands/explain_plan.h"
#include "sim/commands/explain_vary.h"

// Opens the document, or the columns; the caller adds the faults of --degrade and ends it.
void explain_write_plan(JsonWriter *writer, const ExplainPlan *plan,
                        const ExplainInfluences *influences);
void explain_write_end(JsonWriter *writer);
// Of one step: its members in the open object; its rows, under two sections; and what rows need.
void explain_write_step(JsonWriter *writer, const ExplainStep *step);
void explain_write_step_rows(Table *csv, const char *path, const char *objective,
                             const ExplainStep *step);
void explain_write_open_csv(Table *csv);
void explain_write_ps(Table *csv, const char *section, const char *name, Time ps);
void explain_write_rows(Table *csv, const ExplainPlan *plan, const ExplainInfluences *influences);
void explain_write_degraded(Table *csv, const DegradePlan *degraded);

void explain_write_both_json(const ExplainPlan *a, const ExplainPlan *b, const ExplainFlips *flips,
                             Text *out);
void explain_write_both_csv(const ExplainPlan *a, const ExplainPlan *b, const ExplainFlips *flips,
                            Text *out);

#endif
