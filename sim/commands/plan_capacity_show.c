// Prints a capacity plan.
//
// Invariant: prices come with their source and date; a machine without a price is in the table
// without a cost and in no comparison of costs.
#include "sim/commands/plan_capacity_show.h"

#include <inttypes.h>
#include <stdio.h>

#include "model/base/table.h"
#include "sim/commands/output.h"
#include "sim/commands/rank_show.h"

static double dollars(uint64_t uusd) {
    return (double)uusd * 1e-6;
}

// "1.23 G" tokens.
static char *tokens(uint64_t count, char *buffer) {
    char number[OUTPUT_NUMBER_MAX];
    double value = (double)count;
    const char *unit = "";
    if (value >= 1e12) {
        value /= 1e12;
        unit = " T";
    } else if (value >= 1e9) {
        value /= 1e9;
        unit = " G";
    } else if (value >= 1e6) {
        value /= 1e6;
        unit = " M";
    } else if (value >= 1e4) {
        value /= 1e3;
        unit = " k";
    }
    snprintf(buffer, UNITS_TEXT_MAX, "%.16s%s", output_number(value, number), unit);
    return buffer;
}

// ---- What was asked

static void show_demand(const WhatifMachines *machines, const PlanCapacityAsk *ask, Text *out) {
    const Scenario *s = &machines->inputs[0].scenario;
    char all[UNITS_TEXT_MAX], in[UNITS_TEXT_MAX], answers[UNITS_TEXT_MAX];
    uint64_t length = s->isl + s->osl;
    double per_s = (double)ask->tokens_per_day / (double)length / CAPACITY_SECONDS_PER_DAY;
    char rate[OUTPUT_NUMBER_MAX];
    uint64_t output = (uint64_t)((double)ask->tokens_per_day / (double)length * (double)s->osl);
    text_addf(out,
              "demand     %s tokens a day: %s of prompts and %s of answers, %s requests a second "
              "on average; machines %u.%u %% full\n",
              tokens(ask->tokens_per_day, all), tokens(ask->tokens_per_day - output, in),
              tokens(output, answers), output_number(per_s, rate), ask->utilisation_permille / 10,
              ask->utilisation_permille % 10);
    if (ask->budget_uusd_per_hour > 0)
        text_addf(out, "budget     $%.2f an hour, $%.0f a month of %.1f hours\n",
                  dollars(ask->budget_uusd_per_hour),
                  dollars(ask->budget_uusd_per_hour) * PLAN_CAPACITY_HOURS_PER_MONTH,
                  PLAN_CAPACITY_HOURS_PER_MONTH);
}

static void show_prices(const WhatifMachines *machines, const PlanCapacityAsk *ask, Text *out) {
    for (uint32_t i = 0; i < machines->count; i++) {
        const Inputs *in = &machines->inputs[i];
        uint32_t month;
        text_addf(out, "%s%s: %u x %s, ", i == 0 ? "machines   " : "           ", in->topology_name,
                  in->fabric.gpu_count, in->device->name);
        whatif_machines_add_price(in, out);
        if (ask->as_of > 0 && in->catalogue_price &&
            plan_capacity_ask_month(in->device->price_source, &month))
            text_addf(out, ", %u months before %s", ask->as_of - month, ask->as_of_text);
        text_add_char(out, '\n');
    }
}

// ---- The machines

static void add_cost(const PlanCapacityAsk *ask, const CapacityUnit *unit, Table *table) {
    char number[OUTPUT_NUMBER_MAX];
    if (unit->uusd_per_hour == 0) {
        for (uint32_t i = 0; i < 3; i++) table_cell(table, "?");
        return;
    }
    double hour = dollars(capacity_uusd_per_hour(unit, ask->tokens_per_day));
    table_cell(table, output_number(hour, number));
    table_cell(table, output_number(hour * PLAN_CAPACITY_HOURS_PER_MONTH, number));
    table_cell(table, output_number(hour * 24 / ((double)ask->tokens_per_day * 1e-6), number));
}

static void add_machine(const WhatifMachines *machines, const PlanCapacityAnswer *answer,
                        uint32_t i, Table *table) {
    const CapacityPlan *plan = &answer->plans[i];
    const Inputs *in = &machines->inputs[i];
    char label[PLAN_TEXT_MAX], text[UNITS_TEXT_MAX];
    table_cell(table, i == answer->cheapest ? "*" : "");
    table_cell(table, in->topology_name);
    if (!plan->is_feasible) {
        table_cell(table, "none");
        for (uint32_t k = 0; k < 10; k++) table_cell(table, "");
        table_note(table, plan->reason);
        return;
    }
    uint64_t count = capacity_machines(&plan->unit, answer->ask.tokens_per_day);
    table_cell(table, plan_label(&plan->cell.plan, label));
    table_cellf(table, "%" PRIu64, plan->concurrency);
    table_cell(table, units_format_time(plan->cell.evaluation.ttft_ps, text));
    table_cell(table, units_format_time(plan->cell.evaluation.tpot_ps, text));
    table_cell(table, tokens(plan->unit.tokens_per_day, text));
    table_cellf(table, "%" PRIu64, count);
    table_cellf(table, "%" PRIu64, count * (in->fabric.gpu_count / in->fabric.node_size));
    table_cellf(table, "%" PRIu64, count * in->fabric.gpu_count);
    add_cost(&answer->ask, &plan->unit, table);
}

static void show_machines(const WhatifMachines *machines, const PlanCapacityAnswer *answer,
                          Text *out) {
    static const char *const names[] = {"concurrency", "TTFT",         "TPOT", "tokens/day",
                                        "machines",    "nodes",        "GPUs", "$/hour",
                                        "$/month",     "$/Mtok in+out"};
    Table table = {0};
    table_column(&table, "", TABLE_LEFT);
    table_column(&table, "machine", TABLE_LEFT);
    table_column(&table, "best plan of one", TABLE_LEFT);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        table_column(&table, names[i], TABLE_RIGHT);
    for (uint32_t i = 0; i < machines->count; i++) add_machine(machines, answer, i, &table);
    table_print(&table, out);
    table_free(&table);
}

// ---- The answer

static void show_headline(const WhatifMachines *machines, const PlanCapacityAnswer *answer,
                          Text *out) {
    const PlanCapacityAsk *ask = &answer->ask;
    if (answer->cheapest == SWEEP_NONE) return;
    const CapacityUnit *unit = &answer->units[answer->cheapest];
    uint64_t count = capacity_machines(unit, ask->tokens_per_day);
    double hour = dollars(capacity_uusd_per_hour(unit, ask->tokens_per_day));
    text_addf(out, "cheapest: %" PRIu64 " x %s for $%.2f an hour, $%.0f a month; %.0f %% used",
              count, machines->inputs[answer->cheapest].topology_name, hour,
              hour * PLAN_CAPACITY_HOURS_PER_MONTH,
              100 * (double)ask->tokens_per_day / ((double)count * (double)unit->tokens_per_day));
    if (ask->budget_uusd_per_hour > 0)
        text_addf(out, "; %s the budget", answer->is_over_budget ? "over" : "within");
    text_add(out, "\n\n");
}

static void show_turns(const WhatifMachines *machines, const PlanCapacityAnswer *answer,
                       Text *out) {
    char text[UNITS_TEXT_MAX];
    if (answer->turn_count == 0 || machines->count < 2) return;
    text_add(out, "\ncheapest by tokens a day\n");
    for (uint32_t i = 0; i < answer->turn_count; i++) {
        const CapacityTurn *turn = &answer->turns[i];
        bool is_last = i + 1 == answer->turn_count;
        text_addf(out, "from %" PRIu64 " (%s): %s%s\n", turn->tokens_per_day,
                  tokens(turn->tokens_per_day, text), machines->inputs[turn->unit].topology_name,
                  is_last ? (answer->turns_end ? ", however many more" : ", and it turns again")
                          : "");
    }
}

// Buying one machine against renting it by the hour of use.
static void show_owning(const WhatifMachines *machines, const PlanCapacityAnswer *answer,
                        uint32_t i, Text *out) {
    const PlanCapacityAsk *ask = &answer->ask;
    const CapacityUnit *unit = &answer->units[i];
    char text[UNITS_TEXT_MAX];
    double capex = dollars(ask->capex_uusd[i]), rent = dollars(unit->uusd_per_hour);
    if (ask->capex_uusd[i] == 0 || unit->uusd_per_hour == 0) return;
    text_addf(out, "%s: $%.0f buys %.0f hours of rent at $%.2f, %.2f years around the clock",
              machines->inputs[i].topology_name, capex, capex / rent, rent,
              capex / rent / PLAN_CAPACITY_HOURS_PER_YEAR);
    if (ask->life_months > 0) {
        double hours = ask->life_months / 12.0 * PLAN_CAPACITY_HOURS_PER_YEAR;
        double part = capex / rent / hours;
        uint64_t from = (uint64_t)(part * (double)unit->tokens_per_day);
        text_addf(out, "; over %.1f years owning costs $%.2f an hour and ", ask->life_months / 12.0,
                  capex / hours);
        if (part > 1)
            text_add(out, "never pays");
        else
            text_addf(out,
                      "pays from %s tokens a day and machine on, against rent for the hours "
                      "that they take",
                      tokens(from, text));
    }
    text_add_char(out, '\n');
}

static void show_all_owning(const WhatifMachines *machines, const PlanCapacityAnswer *answer,
                            Text *out) {
    Text lines = {0};
    for (uint32_t i = 0; i < machines->count; i++) show_owning(machines, answer, i, &lines);
    if (lines.length > 0) {
        text_add(out, "\nowning against renting (the price of the machine alone: no power, space "
                      "or staff)\n");
        text_add(out, text_string(&lines));
    }
    text_free(&lines);
}

void plan_capacity_show_text(const WhatifMachines *machines, const PlanCapacityAnswer *answer,
                             Text *out) {
    rank_show_inputs(&machines->inputs[0], out);
    show_prices(machines, &answer->ask, out);
    show_demand(machines, &answer->ask, out);
    text_add_char(out, '\n');
    show_headline(machines, answer, out);
    show_machines(machines, answer, out);
    show_turns(machines, answer, out);
    show_all_owning(machines, answer, out);
    text_add(out, "\nmachines share nothing; the concurrency is the one of which a machine serves "
                  "most within the limits,\nunless it was given; nothing queues: leave room with "
                  "--utilization for peaks\n");
}

void plan_capacity_show_refusal(const WhatifMachines *machines, const PlanCapacityAnswer *answer,
                                Text *out) {
    const PlanCapacityAsk *ask = &answer->ask;
    char text[UNITS_TEXT_MAX];
    if (answer->is_over_budget && answer->nearest != SWEEP_NONE) {
        const CapacityUnit *unit = &answer->units[answer->nearest];
        text_addf(out,
                  "the budget is too small: the nearest that it pays for is %" PRIu64
                  " x %s with %s tokens a day",
                  ask->budget_uusd_per_hour / unit->uusd_per_hour,
                  machines->inputs[answer->nearest].topology_name,
                  tokens(capacity_within(unit, ask->budget_uusd_per_hour), text));
    } else if (answer->is_over_budget) {
        const CapacityUnit *unit = &answer->units[answer->cheapest];
        text_addf(out, "the budget is too small for a single machine: one %s is $%.2f an hour",
                  machines->inputs[answer->cheapest].topology_name, dollars(unit->uusd_per_hour));
    } else if (answer->units[0].tokens_per_day > 0) {
        text_add(out, "no price is known: add --price");
    } else {
        text_addf(out, "no machine has a feasible plan; %s, one request: %s",
                  machines->inputs[0].topology_name, answer->plans[0].reason);
    }
}
