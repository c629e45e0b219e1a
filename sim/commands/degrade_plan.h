// What faults cost plans: a ranking beside that of the machine as built, and a saved plan priced
// again.
#ifndef SIM_COMMANDS_DEGRADE_PLAN_H
#define SIM_COMMANDS_DEGRADE_PLAN_H

#include <stdbool.h>

#include "model/base/err.h"
#include "model/base/jsonw.h"
#include "model/base/text.h"
#include "sim/commands/inputs.h"
#include "sim/search/rank.h"

// Ranks the same plans on the machine as built: zeroed, without a second search, when it has no
// faults. Freed by rank_free.
bool degrade_plan_rank_built(const Inputs *inputs, Ranking *out, Err *err);

// Best plans before and after, and why plans of the machine as built are not feasible with its
// faults; nothing without faults.
void degrade_plan_show_ranking(const Inputs *inputs, const Ranking *built, const Ranking *left,
                               Text *out);
void degrade_plan_write_ranking(JsonWriter *writer, const Inputs *inputs, const Ranking *built,
                                const Ranking *left);

// A saved plan and its evaluation, and the same plan on the machine with the faults of --degrade.
typedef struct DegradePlan {
    bool is_given; // --degrade was
    bool is_priced;
    Evaluation evaluation; // when priced
    Err reason;            // why it was not
} DegradePlan;

// Degrades the machine of the inputs and prices the plan again. False when the faults make no
// sense; a plan that the degraded machine cannot run is an answer.
bool degrade_plan_price(const CliArgs *args, const Plan *plan, Inputs *inputs, DegradePlan *out,
                        Err *err);
void degrade_plan_show(const Inputs *inputs, const Evaluation *before, const DegradePlan *after,
                       Text *out);
void degrade_plan_write(JsonWriter *writer, const DegradePlan *after);
void degrade_plan_free(DegradePlan *plan);

#endif
