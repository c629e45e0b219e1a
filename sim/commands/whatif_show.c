// Prints a sweep.
//
// Invariant: text, CSV and JSON show the same cells; a letter stands for one plan (and, of several
// machines, the one that it is on) in the whole answer.
#include "sim/commands/whatif_show.h"

#include <inttypes.h>
#include <stdio.h>

#include "model/base/table.h"
#include "sim/commands/degrade.h"
#include "sim/commands/output.h"
#include "sim/commands/rank_show.h"
#include "sim/search/sweep_machine.h"

#define LETTERS 26

char *whatif_show_letter(uint32_t winner, char *buffer) {
    if (winner == SWEEP_NONE)
        snprintf(buffer, 8, "-");
    else if (winner < LETTERS)
        snprintf(buffer, 8, "%c", (char)('A' + winner));
    else
        snprintf(buffer, 8, "%c%c", (char)('A' + (winner / LETTERS - 1) % LETTERS),
                 (char)('A' + winner % LETTERS));
    return buffer;
}

const char *whatif_show_winner(const WhatifMachines *machines, const SweepWinner *winner,
                               Arena *arena) {
    char label[PLAN_TEXT_MAX];
    plan_label(&winner->plan, label);
    if (machines->count == 1) return arena_string(arena, label);
    return arena_printf(arena, "%s on %s", label, machines->machines[winner->machine].name);
}

// The value of an axis in a cell.
static const SweepValue *value_of(const Sweep *sweep, uint32_t axis, uint32_t cell) {
    uint32_t i = axis == 0 ? cell / sweep->columns : cell % sweep->columns;
    return &sweep->axes.axes[axis].values[i];
}

// ---- What was asked

static void show_axis(const SweepAxis *axis, Text *out) {
    text_addf(out, "vary       %s over %u value%s, %s", axis->name, axis->count,
              axis->count == 1 ? "" : "s", axis->values[0].text);
    if (axis->count > 1) text_addf(out, " to %s", axis->values[axis->count - 1].text);
    text_add_char(out, '\n');
}

// What is down, on the first machine as it was given.
static void show_faults(const WhatifMachines *machines, const SweepAxis *axis, Text *out) {
    bool has_nic = false;
    for (uint32_t i = 0; i < axis->count; i++) {
        Text fault = {0};
        Err none = {0};
        SweepFail fail = (SweepFail)axis->values[i].number;
        if (fail == SWEEP_FAIL_NONE) continue;
        bool is_there = sweep_machine_fault(&machines->inputs[0].fabric, fail, &fault, &none);
        text_addf(out, "           %s: %s\n", axis->values[i].text,
                  is_there ? text_string(&fault) : none.text);
        text_free(&fault);
        has_nic |= fail == SWEEP_FAIL_NIC && is_there;
    }
    if (has_nic) degrade_add_libraries(&machines->inputs[0].libraries, 11, out);
}

static void show_mode(const SweepSpec *spec, const Sweep *sweep, Text *out) {
    char label[PLAN_TEXT_MAX];
    switch (spec->mode) {
    case SWEEP_REPLAN: text_add(out, "plan       the best of each cell"); break;
    case SWEEP_HOLD:
        text_addf(out, "plan       %s, held in all cells", plan_label(&spec->held, label));
        break;
    case SWEEP_HOLD_FIRST:
        text_addf(out, "plan       %s, the best of the first cell, held in all",
                  plan_label(&sweep->cells[0].plan, label));
        break;
    }
    text_addf(out, ", by %s", objective_names[spec->objective]);
    if (spec->pools == POOLS_SEPARATE) text_add(out, "; prefill and decode in pools of their own");
    if (spec->pools == POOLS_EITHER)
        text_add(out, "; prefill and decode in pools of their own where that serves more");
    text_add_char(out, '\n');
}

static void show_inputs(const WhatifMachines *machines, const SweepSpec *spec, const Sweep *sweep,
                        Text *out) {
    rank_show_inputs(&machines->inputs[0], out);
    for (uint32_t i = 1; i < machines->count; i++) {
        const Inputs *in = &machines->inputs[i];
        text_addf(out, "or         %s: %u x %s, ", in->topology_name, in->fabric.gpu_count,
                  in->device->name);
        whatif_machines_add_price(in, out);
        text_add_char(out, '\n');
    }
    for (uint32_t i = 0; i < sweep->axes.count; i++) {
        show_axis(&sweep->axes.axes[i], out);
        if (sweep->axes.axes[i].kind == SWEEP_FAIL)
            show_faults(machines, &sweep->axes.axes[i], out);
    }
    show_mode(spec, sweep, out);
    text_add_char(out, '\n');
}

// ---- The cells

// The axis that takes parts away, or SWEEP_NONE.
static uint32_t fail_axis(const Sweep *sweep) {
    for (uint32_t i = 0; i < sweep->axes.count; i++)
        if (sweep->axes.axes[i].kind == SWEEP_FAIL) return i;
    return SWEEP_NONE;
}

// The same cell with nothing down; NULL when it is not in the grid.
static const SweepCell *nominal_of(const Sweep *sweep, uint32_t axis, uint32_t cell) {
    const SweepAxis *fail = &sweep->axes.axes[axis];
    for (uint32_t i = 0; i < fail->count; i++) {
        if (fail->values[i].number != SWEEP_FAIL_NONE) continue;
        uint32_t at = axis == 0 ? i * sweep->columns + cell % sweep->columns
                                : cell / sweep->columns * sweep->columns + i;
        return &sweep->cells[at];
    }
    return NULL;
}

static void add_loss(const Sweep *sweep, uint32_t axis, uint32_t cell, Table *table) {
    const SweepCell *nominal = nominal_of(sweep, axis, cell), *left = &sweep->cells[cell];
    if (nominal == NULL || !nominal->has_figures || !left->has_figures || nominal == left)
        table_cell(table, "");
    else
        table_cellf(table, "%+.1f %%",
                    100 * (left->evaluation.tok_s_per_gpu / nominal->evaluation.tok_s_per_gpu - 1));
}

static void add_figures(const SweepCell *cell, Table *table) {
    char text[UNITS_TEXT_MAX], number[OUTPUT_NUMBER_MAX];
    const Evaluation *e = &cell->evaluation;
    if (!cell->has_figures) {
        for (uint32_t i = 0; i < 6; i++) table_cell(table, "");
        return;
    }
    table_cell(table, output_number(e->tok_s_per_gpu, number));
    table_cell(table, output_number(e->tok_s_per_user, number));
    table_cell(table, units_format_time(e->ttft_ps, text));
    table_cell(table, units_format_time(e->tpot_ps, text));
    table_cell(table, e->usd_per_mtok > 0 ? output_number(e->usd_per_mtok, number) : "?");
    table_cell(table, cell->bottleneck);
}

static void add_cell(const WhatifMachines *machines, const Sweep *sweep, uint32_t at,
                     Table *table) {
    const SweepCell *cell = &sweep->cells[at];
    char letter[8], label[PLAN_TEXT_MAX];
    for (uint32_t i = 0; i < sweep->axes.count; i++)
        table_cell(table, value_of(sweep, i, at)->text);
    table_cell(table, whatif_show_letter(cell->winner, letter));
    table_cell(table, cell->has_figures ? plan_label(&cell->plan, label) : "none");
    if (machines->count > 1)
        table_cell(table, cell->has_figures ? machines->machines[cell->machine].name : "");
    if (cell->has_figures)
        table_cellf(table, "%u of %u", plan_gpus(&cell->plan), cell->gpus);
    else
        table_cell(table, "");
    add_figures(cell, table);
    uint32_t fail = fail_axis(sweep);
    if (fail != SWEEP_NONE) add_loss(sweep, fail, at, table);
    if (*cell->reason != '\0') table_note(table, cell->reason);
}

static void show_cells(const WhatifMachines *machines, const Sweep *sweep, Text *out) {
    static const char *const figures[] = {"tok/s/GPU", "tok/s/user", "TTFT", "TPOT", "$/Mtok"};
    Table table = {0};
    for (uint32_t i = 0; i < sweep->axes.count; i++)
        table_column(&table, sweep->axes.axes[i].name, TABLE_RIGHT);
    table_column(&table, "", TABLE_LEFT);
    table_column(&table, "best plan", TABLE_LEFT);
    if (machines->count > 1) table_column(&table, "machine", TABLE_LEFT);
    table_column(&table, "GPUs", TABLE_RIGHT);
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        table_column(&table, figures[i], TABLE_RIGHT);
    table_column(&table, "bottleneck", TABLE_LEFT);
    if (fail_axis(sweep) != SWEEP_NONE) table_column(&table, "vs none", TABLE_RIGHT);
    for (uint32_t i = 0; i < sweep->cell_count; i++) add_cell(machines, sweep, i, &table);
    table_print(&table, out);
    table_free(&table);
}

// ---- Winners

// Rows by the first axis, columns by the second: the letter and tok/s/GPU.
static void show_grid(const Sweep *sweep, Text *out) {
    Table table = {0};
    const SweepAxis *rows = &sweep->axes.axes[0], *columns = &sweep->axes.axes[1];
    Arena arena = {0};
    char letter[8], number[OUTPUT_NUMBER_MAX];
    text_addf(out, "\nwinner and its tok/s/GPU, %s down, %s across\n", rows->name, columns->name);
    table_column(&table, "", TABLE_RIGHT);
    for (uint32_t j = 0; j < columns->count; j++)
        table_column(&table, columns->values[j].text, TABLE_LEFT);
    for (uint32_t i = 0; i < rows->count; i++) {
        table_cell(&table, rows->values[i].text);
        for (uint32_t j = 0; j < columns->count; j++) {
            const SweepCell *cell = &sweep->cells[i * sweep->columns + j];
            whatif_show_letter(cell->winner, letter);
            if (cell->has_figures)
                table_cellf(&table, "%s %s", letter,
                            output_number(cell->evaluation.tok_s_per_gpu, number));
            else
                table_cell(&table, letter);
        }
    }
    table_print(&table, out);
    table_free(&table);
    arena_free(&arena);
}

static void show_winners(const WhatifMachines *machines, const Sweep *sweep, Text *out) {
    Arena arena = {0};
    char letter[8];
    text_add_char(out, '\n');
    for (uint32_t i = 0; i < sweep->winner_count; i++) {
        const SweepWinner *winner = &sweep->winners[i];
        text_addf(out, "%s  %s", whatif_show_letter(i, letter),
                  whatif_show_winner(machines, winner, &arena));
        if (winner->cells > 0)
            text_addf(out, ": wins %u of %u cells\n", winner->cells, sweep->cell_count);
        else
            text_add(out, ": wins between the values of the table\n");
    }
    arena_free(&arena);
}

static void show_change(const Sweep *sweep, const SweepChange *change, Text *out) {
    char before[8], after[8];
    const SweepAxis *axis = &sweep->axes.axes[change->axis];
    text_addf(out, "%s between %s and %s: %s -> %s", axis->name, change->from.text, change->to.text,
              whatif_show_letter(change->before, before), whatif_show_letter(change->after, after));
    if (sweep->axes.count > 1) {
        const SweepAxis *other = &sweep->axes.axes[1 - change->axis];
        text_addf(out, " (%s %s)", other->name, other->values[change->other].text);
    }
    text_add_char(out, '\n');
}

static void show_changes(const Sweep *sweep, Text *out) {
    if (sweep->winner_count == 0) return;
    text_add(out, sweep->change_count > 0 ? "\nwhere the winner changes\n"
                                          : "\none plan wins in all cells\n");
    for (uint32_t i = 0; i < sweep->change_count; i++) show_change(sweep, &sweep->changes[i], out);
}

void whatif_show_text(const WhatifMachines *machines, const SweepSpec *spec, const Sweep *sweep,
                      Text *out) {
    show_inputs(machines, spec, sweep, out);
    show_cells(machines, sweep, out);
    if (sweep->axes.count > 1) show_grid(sweep, out);
    if (sweep->winner_count > 0) show_winners(machines, sweep, out);
    show_changes(sweep, out);
}
