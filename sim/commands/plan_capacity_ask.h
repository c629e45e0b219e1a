// What plan-capacity is asked: demand, budget, dates, prices of owning.
#ifndef SIM_COMMANDS_PLAN_CAPACITY_ASK_H
#define SIM_COMMANDS_PLAN_CAPACITY_ASK_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/cli.h"
#include "model/base/err.h"
#include "sim/commands/whatif_machines.h"

#define PLAN_CAPACITY_HOURS_PER_YEAR  8766  // 365.25 days
#define PLAN_CAPACITY_HOURS_PER_MONTH 730.5 // a twelfth of it

typedef struct PlanCapacityAsk {
    uint64_t tokens_per_day; // prompts and answers
    uint32_t utilisation_permille;
    uint64_t budget_uusd_per_hour;           // 0: none
    uint64_t capex_uusd[SWEEP_MACHINES_MAX]; // of one machine; 0: not given
    uint32_t life_months;                    // 0: not given
    uint32_t as_of;                          // months since the year 0; 0: not given
    const char *as_of_text;
} PlanCapacityAsk;

bool plan_capacity_ask_read(const CliArgs *args, const WhatifMachines *machines,
                            PlanCapacityAsk *out, Err *err);

// The first month with a year in a text such as "on-demand price, 17 March 2026", in months since
// the year 0; false when there is none.
bool plan_capacity_ask_month(const char *text, uint32_t *out);

#endif
