// A capacity plan for programs.
#include <inttypes.h>

#include "model/base/jsonw.h"
#include "model/base/table.h"
#include "sim/commands/plan_capacity_show.h"
#include "sim/commands/rank_pools.h"
#include "sim/commands/saved.h"

static void add_machine(const WhatifMachines *machines, const PlanCapacityAnswer *answer,
                        uint32_t i, Table *table) {
    const CapacityPlan *plan = &answer->plans[i];
    const CapacityUnit *unit = &plan->unit;
    const Inputs *in = &machines->inputs[i];
    char label[PLAN_TEXT_MAX];
    table_cell(table, in->topology_name);
    table_cell(table, plan->is_feasible ? "yes" : "no");
    table_cell(table, i == answer->cheapest ? "yes" : "no");
    if (!plan->is_feasible) {
        for (uint32_t k = 0; k < 9; k++) table_cell(table, "");
        table_cell(table, plan->reason);
        return;
    }
    uint64_t demand = answer->ask.tokens_per_day, count = capacity_machines(unit, demand);
    table_cell(table, plan_label(&plan->cell.plan, label));
    table_cellf(table, "%" PRIu64, plan->concurrency);
    table_cell_exact(table, units_seconds(plan->cell.evaluation.ttft_ps));
    table_cell_exact(table, units_seconds(plan->cell.evaluation.tpot_ps));
    table_cellf(table, "%" PRIu64, unit->tokens_per_day);
    table_cellf(table, "%" PRIu64, count);
    table_cellf(table, "%" PRIu64, count * (in->fabric.gpu_count / in->fabric.node_size));
    table_cellf(table, "%" PRIu64, count * in->fabric.gpu_count);
    if (unit->uusd_per_hour > 0)
        table_cell_exact(table, (double)capacity_uusd_per_hour(unit, demand) * 1e-6);
    else
        table_cell(table, "");
    table_cell(table, "");
}

void plan_capacity_show_csv(const WhatifMachines *machines, const PlanCapacityAnswer *answer,
                            Text *out) {
    static const char *const names[] = {"machine",
                                        "feasible",
                                        "cheapest",
                                        "plan",
                                        "concurrency_requests",
                                        "ttft_s",
                                        "tpot_s",
                                        "tokens_per_day_of_one",
                                        "machines",
                                        "nodes",
                                        "gpus",
                                        "usd_per_hour",
                                        "reason"};
    Table table = {0};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        table_column(&table, names[i], TABLE_LEFT);
    for (uint32_t i = 0; i < machines->count; i++) add_machine(machines, answer, i, &table);
    table_print_csv(&table, out);
    table_free(&table);
}

static void write_machine(JsonWriter *writer, const WhatifMachines *machines,
                          const PlanCapacityAnswer *answer, uint32_t i) {
    const CapacityPlan *plan = &answer->plans[i];
    const Inputs *in = &machines->inputs[i];
    uint64_t demand = answer->ask.tokens_per_day;
    char label[PLAN_TEXT_MAX];
    jsonw_open_object(writer, NULL);
    jsonw_string(writer, "machine", in->topology_name);
    jsonw_string(writer, "device", in->device->name);
    jsonw_digest(writer, "topology_digest", in->topology.digest);
    jsonw_double(writer, "price_usd_per_gpu_hour",
                 (double)in->scenario.price_uusd_per_gpu_hour * 1e-6);
    jsonw_string(writer, "price_source", in->catalogue_price ? in->device->price_source : "");
    jsonw_bool(writer, "feasible", plan->is_feasible);
    if (!plan->is_feasible) jsonw_string(writer, "reason", plan->reason);
    if (plan->is_feasible) {
        uint64_t count = capacity_machines(&plan->unit, demand);
        jsonw_string(writer, "plan", plan_label(&plan->cell.plan, label));
        jsonw_u64(writer, "concurrency_requests", plan->concurrency);
        if (plan->cell.pooled != NULL)
            rank_pools_show_figures(writer, plan->cell.pooled);
        else
            saved_write_figures(writer, &plan->cell.evaluation);
        jsonw_u64(writer, "tokens_per_day_of_one", plan->unit.tokens_per_day);
        jsonw_u64(writer, "machines", count);
        jsonw_u64(writer, "nodes", count * (in->fabric.gpu_count / in->fabric.node_size));
        jsonw_u64(writer, "gpus", count * in->fabric.gpu_count);
        if (plan->unit.uusd_per_hour > 0)
            jsonw_double(writer, "usd_per_hour",
                         (double)capacity_uusd_per_hour(&plan->unit, demand) * 1e-6);
    }
    jsonw_close_object(writer);
}

static void write_turns(JsonWriter *writer, const WhatifMachines *machines,
                        const PlanCapacityAnswer *answer) {
    jsonw_open_array(writer, "cheapest_from");
    for (uint32_t i = 0; i < answer->turn_count; i++) {
        jsonw_open_object(writer, NULL);
        jsonw_u64(writer, "tokens_per_day", answer->turns[i].tokens_per_day);
        jsonw_string(writer, "machine", machines->inputs[answer->turns[i].unit].topology_name);
        jsonw_close_object(writer);
    }
    jsonw_close_array(writer);
    jsonw_bool(writer, "cheapest_from_is_complete", answer->turns_end);
}

void plan_capacity_show_json(const WhatifMachines *machines, const PlanCapacityAnswer *answer,
                             Text *out) {
    const Inputs *first = &machines->inputs[0];
    JsonWriter writer = {.text = out};
    jsonw_open_object(&writer, NULL);
    jsonw_string(&writer, "moesim", "plan-capacity");
    jsonw_u64(&writer, "version", 1);
    jsonw_string(&writer, "model", first->arch.name);
    jsonw_digest(&writer, "model_digest", first->arch.digest);
    jsonw_u64(&writer, "isl_tok", first->scenario.isl);
    jsonw_u64(&writer, "osl_tok", first->scenario.osl);
    jsonw_u64(&writer, "tokens_per_day", answer->ask.tokens_per_day);
    jsonw_double(&writer, "utilization", answer->ask.utilisation_permille / 1000.0);
    if (answer->ask.budget_uusd_per_hour > 0) {
        jsonw_double(&writer, "budget_usd_per_hour",
                     (double)answer->ask.budget_uusd_per_hour * 1e-6);
        jsonw_bool(&writer, "over_budget", answer->is_over_budget);
    }
    if (answer->cheapest == SWEEP_NONE)
        jsonw_null(&writer, "cheapest");
    else
        jsonw_string(&writer, "cheapest", machines->inputs[answer->cheapest].topology_name);
    jsonw_open_array(&writer, "machines");
    for (uint32_t i = 0; i < machines->count; i++) write_machine(&writer, machines, answer, i);
    jsonw_close_array(&writer);
    write_turns(&writer, machines, answer);
    jsonw_close_object(&writer);
    jsonw_finish(&writer);
}
