// A sweep for programs: CSV with a row for each cell, and JSON.
//
// Invariant: values are those of the axes, exactly, in the unit that their key names.
#include <inttypes.h>

#include "model/base/jsonw.h"
#include "model/base/table.h"
#include "model/machine/device.h"
#include "sim/commands/rank_pools.h"
#include "sim/commands/saved.h"
#include "sim/commands/whatif_show.h"

// What a key has behind the name of the axis.
static const char *unit_of(SweepKind kind) {
    switch (kind) {
    case SWEEP_LINK: return "_B_per_s";
    case SWEEP_ISL:
    case SWEEP_OSL: return "_tok";
    case SWEEP_CONCURRENCY: return "_requests";
    case SWEEP_PRICE: return "_usd_per_gpu_hour";
    case SWEEP_GPUS:
    case SWEEP_FAIL:
    case SWEEP_KV_FORMAT:
    case SWEEP_MEMORY_FRACTION:
    case SWEEP_KIND_COUNT: break;
    }
    return "";
}

// The figure of a value; 0 for one that is a name.
static double number_of(const SweepAxis *axis, const SweepValue *value, bool *is_name) {
    double number = (double)value->number;
    *is_name = axis->kind == SWEEP_FAIL || axis->kind == SWEEP_KV_FORMAT;
    if (*is_name) return 0;
    return axis->kind == SWEEP_PRICE             ? number * 1e-6
           : axis->kind == SWEEP_MEMORY_FRACTION ? number / 1000
                                                 : number;
}

static const SweepValue *value_at(const Sweep *sweep, uint32_t axis, uint32_t cell) {
    uint32_t i = axis == 0 ? cell / sweep->columns : cell % sweep->columns;
    return &sweep->axes.axes[axis].values[i];
}

// ---- CSV

static void add_value(Table *table, const SweepAxis *axis, const SweepValue *value) {
    bool is_name;
    double number = number_of(axis, value, &is_name);
    if (is_name)
        table_cell(table, value->text);
    else
        table_cell_exact(table, number);
}

static void add_figures(Table *table, const SweepCell *cell) {
    const Evaluation *e = &cell->evaluation;
    if (!cell->has_figures) {
        for (uint32_t i = 0; i < 7; i++) table_cell(table, "");
        return;
    }
    table_cell_exact(table, e->tok_s_per_gpu);
    table_cell_exact(table, e->tok_s_per_user);
    table_cell_exact(table, e->output_tok_s);
    table_cell_exact(table, units_seconds(e->ttft_ps));
    table_cell_exact(table, units_seconds(e->tpot_ps));
    if (e->usd_per_mtok > 0)
        table_cell_exact(table, e->usd_per_mtok);
    else
        table_cell(table, "");
    table_cell(table, cell->bottleneck);
}

static void add_row(const WhatifMachines *machines, const Sweep *sweep, uint32_t at, Table *table) {
    const SweepCell *cell = &sweep->cells[at];
    char letter[8], label[PLAN_TEXT_MAX];
    for (uint32_t i = 0; i < sweep->axes.count; i++)
        add_value(table, &sweep->axes.axes[i], value_at(sweep, i, at));
    table_cell(table, cell->is_feasible ? "yes" : "no");
    table_cell(table, whatif_show_letter(cell->winner, letter));
    table_cell(table, machines->machines[cell->machine].name);
    table_cell(table, cell->has_figures ? plan_label(&cell->plan, label) : "");
    table_cellf(table, "%u", cell->gpus);
    table_cellf(table, "%u", cell->has_figures ? plan_gpus(&cell->plan) : 0);
    add_figures(table, cell);
    table_cell(table, cell->reason);
}

void whatif_show_csv(const WhatifMachines *machines, const Sweep *sweep, Text *out) {
    static const char *const names[] = {"feasible",
                                        "winner",
                                        "machine",
                                        "plan",
                                        "machine_gpus",
                                        "plan_gpus",
                                        "output_tok_per_s_per_gpu",
                                        "output_tok_per_s_per_user",
                                        "output_tok_per_s",
                                        "ttft_s",
                                        "tpot_s",
                                        "usd_per_million_output_tok",
                                        "bottleneck",
                                        "reason"};
    Table table = {0};
    Arena arena = {0};
    for (uint32_t i = 0; i < sweep->axes.count; i++) {
        const SweepAxis *axis = &sweep->axes.axes[i];
        table_column(&table, arena_printf(&arena, "%s%s", axis->name, unit_of(axis->kind)),
                     TABLE_LEFT);
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        table_column(&table, names[i], TABLE_LEFT);
    for (uint32_t i = 0; i < sweep->cell_count; i++) add_row(machines, sweep, i, &table);
    table_print_csv(&table, out);
    table_free(&table);
    arena_free(&arena);
}

// ---- JSON

static void write_value(JsonWriter *writer, const char *key, const SweepAxis *axis,
                        const SweepValue *value) {
    bool is_name;
    double number = number_of(axis, value, &is_name);
    if (is_name)
        jsonw_string(writer, key, value->text);
    else
        jsonw_double(writer, key, number);
}

static void write_winner(JsonWriter *writer, const char *key, uint32_t winner) {
    char letter[8];
    if (winner == SWEEP_NONE)
        jsonw_null(writer, key);
    else
        jsonw_string(writer, key, whatif_show_letter(winner, letter));
}

static void write_axes(JsonWriter *writer, const Sweep *sweep) {
    jsonw_open_array(writer, "axes");
    for (uint32_t i = 0; i < sweep->axes.count; i++) {
        const SweepAxis *axis = &sweep->axes.axes[i];
        Text key = {0};
        text_addf(&key, "%s%s", axis->name, unit_of(axis->kind));
        jsonw_open_object(writer, NULL);
        jsonw_string(writer, "name", text_string(&key));
        jsonw_inline_next(writer);
        jsonw_open_array(writer, "values");
        for (uint32_t v = 0; v < axis->count; v++)
            write_value(writer, NULL, axis, &axis->values[v]);
        jsonw_close_array(writer);
        jsonw_close_object(writer);
        text_free(&key);
    }
    jsonw_close_array(writer);
}

static void write_cell(JsonWriter *writer, const WhatifMachines *machines, const Sweep *sweep,
                       uint32_t at) {
    const SweepCell *cell = &sweep->cells[at];
    char label[PLAN_TEXT_MAX];
    jsonw_open_object(writer, NULL);
    jsonw_inline_next(writer);
    jsonw_open_array(writer, "at");
    for (uint32_t i = 0; i < sweep->axes.count; i++)
        write_value(writer, NULL, &sweep->axes.axes[i], value_at(sweep, i, at));
    jsonw_close_array(writer);
    jsonw_bool(writer, "feasible", cell->is_feasible);
    write_winner(writer, "winner", cell->winner);
    jsonw_string(writer, "machine", machines->machines[cell->machine].name);
    jsonw_u64(writer, "machine_gpus", cell->gpus);
    if (*cell->reason != '\0') jsonw_string(writer, "reason", cell->reason);
    if (cell->has_figures) {
        jsonw_string(writer, "plan", plan_label(&cell->plan, label));
        jsonw_u64(writer, "plan_gpus", plan_gpus(&cell->plan));
        jsonw_digest(writer, "plan_digest", plan_digest(&cell->plan));
        jsonw_u64(writer, "sequences_per_rank_and_micro_batch", cell->sequences);
        if (cell->pooled != NULL)
            rank_pools_show_figures(writer, cell->pooled);
        else
            saved_write_figures(writer, &cell->evaluation);
    }
    jsonw_close_object(writer);
}

static void write_winners(JsonWriter *writer, const WhatifMachines *machines, const Sweep *sweep) {
    char letter[8], label[PLAN_TEXT_MAX];
    jsonw_open_array(writer, "winners");
    for (uint32_t i = 0; i < sweep->winner_count; i++) {
        const SweepWinner *winner = &sweep->winners[i];
        jsonw_open_object(writer, NULL);
        jsonw_string(writer, "winner", whatif_show_letter(i, letter));
        jsonw_string(writer, "plan", plan_label(&winner->plan, label));
        jsonw_string(writer, "machine", machines->machines[winner->machine].name);
        jsonw_u64(writer, "cells", winner->cells);
        jsonw_close_object(writer);
    }
    jsonw_close_array(writer);
}

static void write_changes(JsonWriter *writer, const Sweep *sweep) {
    jsonw_open_array(writer, "changes");
    for (uint32_t i = 0; i < sweep->change_count; i++) {
        const SweepChange *change = &sweep->changes[i];
        const SweepAxis *axis = &sweep->axes.axes[change->axis];
        jsonw_open_object(writer, NULL);
        jsonw_string(writer, "axis", axis->name);
        write_value(writer, "from", axis, &change->from);
        write_value(writer, "to", axis, &change->to);
        write_winner(writer, "before", change->before);
        write_winner(writer, "after", change->after);
        jsonw_bool(writer, "refined", change->is_refined);
        if (sweep->axes.count > 1) {
            const SweepAxis *other = &sweep->axes.axes[1 - change->axis];
            write_value(writer, "other_axis_at", other, &other->values[change->other]);
        }
        jsonw_close_object(writer);
    }
    jsonw_close_array(writer);
}

static void write_inputs(JsonWriter *writer, const WhatifMachines *machines) {
    jsonw_open_array(writer, "machines");
    for (uint32_t i = 0; i < machines->count; i++) {
        const Inputs *in = &machines->inputs[i];
        jsonw_open_object(writer, NULL);
        jsonw_string(writer, "name", in->topology_name);
        jsonw_string(writer, "device", in->device->name);
        jsonw_digest(writer, "topology_digest", in->topology.digest);
        jsonw_double(writer, "price_usd_per_gpu_hour",
                     (double)in->scenario.price_uusd_per_gpu_hour * 1e-6);
        jsonw_string(writer, "price_source", in->catalogue_price ? in->device->price_source : "");
        jsonw_close_object(writer);
    }
    jsonw_close_array(writer);
    jsonw_string(writer, "model", machines->inputs[0].arch.name);
    jsonw_digest(writer, "model_digest", machines->inputs[0].arch.digest);
    jsonw_digest(writer, "scenario_digest", machines->inputs[0].scenario.digest);
    jsonw_string(writer, "calibration", machines->inputs[0].calib.name);
}

void whatif_show_json(const WhatifMachines *machines, const SweepSpec *spec, const Sweep *sweep,
                      Text *out) {
    static const char *const modes[] = {[SWEEP_REPLAN] = "replan",
                                        [SWEEP_HOLD] = "hold",
                                        [SWEEP_HOLD_FIRST] = "hold best-of-first"};
    JsonWriter writer = {.text = out};
    jsonw_open_object(&writer, NULL);
    jsonw_string(&writer, "moesim", "whatif");
    jsonw_u64(&writer, "version", 1);
    write_inputs(&writer, machines);
    jsonw_string(&writer, "plan", modes[spec->mode]);
    jsonw_string(&writer, "objective", objective_names[spec->objective]);
    write_axes(&writer, sweep);
    jsonw_open_array(&writer, "cells");
    for (uint32_t i = 0; i < sweep->cell_count; i++) write_cell(&writer, machines, sweep, i);
    jsonw_close_array(&writer);
    write_winners(&writer, machines, sweep);
    write_changes(&writer, sweep);
    jsonw_close_object(&writer);
    jsonw_finish(&writer);
}
