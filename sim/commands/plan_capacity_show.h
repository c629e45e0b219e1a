// A capacity plan as people and programs read it.
#ifndef SIM_COMMANDS_PLAN_CAPACITY_SHOW_H
#define SIM_COMMANDS_PLAN_CAPACITY_SHOW_H

#include "model/base/text.h"
#include "sim/commands/plan_capacity_ask.h"
#include "sim/commands/whatif_machines.h"
#include "sim/search/capacity.h"

#define PLAN_CAPACITY_TURNS_MAX 12

typedef struct PlanCapacityAnswer {
    PlanCapacityAsk ask;
    CapacityPlan plans[SWEEP_MACHINES_MAX]; // by machine
    CapacityUnit units[SWEEP_MACHINES_MAX]; // the same, zeroed without a plan
    uint32_t cheapest;                      // SWEEP_NONE: no plan, or none with a price
    bool is_over_budget;
    uint32_t nearest; // over a budget: the machine that serves most within it, SWEEP_NONE for none
    CapacityTurn turns[PLAN_CAPACITY_TURNS_MAX];
    uint32_t turn_count;
    bool turns_end;
} PlanCapacityAnswer;

void plan_capacity_show_text(const WhatifMachines *machines, const PlanCapacityAnswer *answer,
                             Text *out);
void plan_capacity_show_csv(const WhatifMachines *machines, const PlanCapacityAnswer *answer,
                            Text *out);
void plan_capacity_show_json(const WhatifMachines *machines, const PlanCapacityAnswer *answer,
                             Text *out);

// Why the answer is no, on one line.
void plan_capacity_show_refusal(const WhatifMachines *machines, const PlanCapacityAnswer *answer,
                                Text *out);

#endif
