// The command plan-capacity: reads, finds the best plan of each machine, compares, prints.
#include "sim/commands/plan_capacity.h"

#include "sim/commands/output.h"
#include "sim/commands/plan_capacity_ask.h"
#include "sim/commands/plan_capacity_show.h"
#include "sim/commands/whatif_machines.h"
#include "sim/search/capacity.h"

typedef enum Format { FORMAT_TABLE, FORMAT_JSON, FORMAT_CSV } Format;

static void find_plans(const CliArgs *args, const WhatifMachines *machines, Arena *arena,
                       PlanCapacityAnswer *answer) {
    for (uint32_t i = 0; i < machines->count; i++) {
        CapacitySpec spec = {.machine = &machines->machines[i],
                             .pools = (PoolsUse)cli_choice(args, "pools"),
                             .is_fixed = cli_is_given(args, "concurrency"),
                             .utilisation_permille = answer->ask.utilisation_permille};
        capacity_find(&spec, arena, &answer->plans[i]);
        answer->units[i] = answer->plans[i].unit;
    }
}

// The machine of which a budget buys the most tokens; SWEEP_NONE when it buys none of any.
static uint32_t most_within(const PlanCapacityAnswer *answer, uint32_t count) {
    uint32_t best = SWEEP_NONE;
    uint64_t most = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t tokens = capacity_within(&answer->units[i], answer->ask.budget_uusd_per_hour);
        if (tokens <= most) continue;
        most = tokens;
        best = i;
    }
    return best;
}

static void compare(const WhatifMachines *machines, PlanCapacityAnswer *answer) {
    const PlanCapacityAsk *ask = &answer->ask;
    answer->cheapest = capacity_cheapest(answer->units, machines->count, ask->tokens_per_day);
    answer->turn_count = capacity_turns(answer->units, machines->count, answer->turns,
                                        PLAN_CAPACITY_TURNS_MAX, &answer->turns_end);
    answer->nearest = SWEEP_NONE;
    if (ask->budget_uusd_per_hour == 0 || answer->cheapest == SWEEP_NONE) return;
    answer->is_over_budget =
        capacity_uusd_per_hour(&answer->units[answer->cheapest], ask->tokens_per_day) >
        ask->budget_uusd_per_hour;
    if (answer->is_over_budget) answer->nearest = most_within(answer, machines->count);
}

// Yes when some machine serves the demand, within the budget if there is one.
static bool is_yes(const PlanCapacityAnswer *answer, uint32_t count) {
    bool is_feasible = false;
    for (uint32_t i = 0; i < count; i++)
        is_feasible = is_feasible || answer->units[i].tokens_per_day > 0;
    if (answer->ask.budget_uusd_per_hour > 0 && answer->cheapest == SWEEP_NONE) return false;
    return is_feasible && !answer->is_over_budget;
}

static int show(const CliArgs *args, const WhatifMachines *machines,
                const PlanCapacityAnswer *answer) {
    Text out = {0}, refusal = {0};
    switch ((Format)cli_choice(args, "format")) {
    case FORMAT_TABLE: plan_capacity_show_text(machines, answer, &out); break;
    case FORMAT_JSON: plan_capacity_show_json(machines, answer, &out); break;
    case FORMAT_CSV: plan_capacity_show_csv(machines, answer, &out); break;
    }
    int status = output_text(&out, is_yes(answer, machines->count) ? OUTPUT_OK : OUTPUT_NO);
    if (status == OUTPUT_NO) {
        plan_capacity_show_refusal(machines, answer, &refusal);
        output_message(text_string(&refusal));
        text_free(&refusal);
    }
    return status;
}

int plan_capacity_command(const CliArgs *args) {
    WhatifMachines machines;
    PlanCapacityAnswer answer = {0};
    Arena arena = {0};
    Err err = {0};
    if (!cli_is_given(args, "tokens-per-day"))
        err_set(&err, "plan-capacity: --tokens-per-day is missing: prompts and answers together, "
                      "such as 500M");
    if (err_is_set(&err) || !whatif_machines_load(args, &machines, &err)) return output_bad(&err);
    int status = OUTPUT_BAD;
    if (plan_capacity_ask_read(args, &machines, &answer.ask, &err)) {
        find_plans(args, &machines, &arena, &answer);
        compare(&machines, &answer);
        status = show(args, &machines, &answer);
    } else {
        output_bad(&err);
    }
    arena_free(&arena);
    whatif_machines_free(&machines);
    return status;
}
