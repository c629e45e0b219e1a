// What explain says of constants and links: how much the result hangs on each, and what would turn
// the order of two plans.
#ifndef SIM_COMMANDS_EXPLAIN_VARY_H
#define SIM_COMMANDS_EXPLAIN_VARY_H

#include "model/base/err.h"
#include "model/base/jsonw.h"
#include "model/base/table.h"
#include "model/base/text.h"
#include "sim/commands/explain_plan.h"

typedef struct ExplainInfluences {
    WhyInfluence items[WHY_KNOBS_MAX];
    uint32_t count; // 0: not asked for
} ExplainInfluences;

typedef struct ExplainFlips {
    WhyFlip items[WHY_KNOBS_MAX];
    uint32_t count; // 0: not asked for, or
    bool is_tie;    // the plans are equal
} ExplainFlips;

// Nothing with --quick.
bool explain_vary_influences(const CliArgs *args, ExplainPlan *plan, ExplainInfluences *out,
                             Err *err);
bool explain_vary_flips(const CliArgs *args, ExplainPlan *a, ExplainPlan *b, ExplainFlips *out,
                        Err *err);

void explain_vary_show_influences(const ExplainPlan *plan, const ExplainInfluences *influences,
                                  Text *out);
// `a` is better, or worse, than `b` by tok/s/GPU.
void explain_vary_show_flips(const ExplainPlan *a, const ExplainPlan *b, const ExplainFlips *flips,
                             Text *out);

// The members "sensitivity" and "flips" of the open object.
void explain_vary_write_influences(JsonWriter *writer, const ExplainPlan *plan,
                                   const ExplainInfluences *influences);
void explain_vary_write_flips(JsonWriter *writer, const ExplainFlips *flips);
// Rows of a table of section, name, figure, value.
void explain_vary_rows_influences(Table *csv, const ExplainInfluences *influences);
void explain_vary_rows_flips(Table *csv, const ExplainFlips *flips);

#endif
