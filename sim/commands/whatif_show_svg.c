// Pictures of a sweep: lines of one axis, a map of winners of two.
//
// Invariant: what is drawn is in the table; a cell without figures has no point and no letter.
#include <inttypes.h>

#include "model/report/svg.h"
#include "sim/commands/output.h"
#include "sim/commands/whatif_show.h"

static const char *note_of(const SweepCell *cell, Arena *arena) {
    char label[PLAN_TEXT_MAX], ttft[UNITS_TEXT_MAX], tpot[UNITS_TEXT_MAX];
    char number[OUTPUT_NUMBER_MAX];
    if (!cell->has_figures) return arena_printf(arena, "no plan: %s", cell->reason);
    return arena_printf(arena, "%s: %s tok/s/GPU, TTFT %s, TPOT %s%s%s",
                        plan_label(&cell->plan, label),
                        output_number(cell->evaluation.tok_s_per_gpu, number),
                        units_format_time(cell->evaluation.ttft_ps, ttft),
                        units_format_time(cell->evaluation.tpot_ps, tpot),
                        *cell->reason == '\0' ? "" : "; ", cell->reason);
}

static const char **winner_names(const WhatifMachines *machines, const Sweep *sweep, Arena *arena) {
    const char **names = arena_alloc(arena, sweep->winner_count, sizeof *names);
    for (uint32_t i = 0; i < sweep->winner_count; i++)
        names[i] = whatif_show_winner(machines, &sweep->winners[i], arena);
    return names;
}

static const char **value_texts(const SweepAxis *axis, Arena *arena) {
    const char **texts = arena_alloc(arena, axis->count, sizeof *texts);
    for (uint32_t i = 0; i < axis->count; i++) texts[i] = axis->values[i].text;
    return texts;
}

static void draw_map(const WhatifMachines *machines, const Sweep *sweep, Arena *arena, Text *out) {
    const SweepAxis *rows = &sweep->axes.axes[0], *columns = &sweep->axes.axes[1];
    uint32_t *cells = arena_alloc(arena, sweep->cell_count, sizeof *cells);
    const char **texts = arena_alloc(arena, sweep->cell_count, sizeof *texts);
    const char **notes = arena_alloc(arena, sweep->cell_count, sizeof *notes);
    char number[OUTPUT_NUMBER_MAX];
    for (uint32_t i = 0; i < sweep->cell_count; i++) {
        const SweepCell *cell = &sweep->cells[i];
        cells[i] = cell->winner == SWEEP_NONE ? SVG_NO_WINNER : cell->winner;
        texts[i] = cell->has_figures
                       ? arena_string(arena, output_number(cell->evaluation.tok_s_per_gpu, number))
                       : "";
        notes[i] = note_of(cell, arena);
    }
    SvgHeat chart = {.title = "best plan and its tok/s/GPU",
                     .x_title = columns->name,
                     .y_title = rows->name,
                     .x_labels = value_texts(columns, arena),
                     .y_labels = value_texts(rows, arena),
                     .columns = columns->count,
                     .rows = rows->count,
                     .winners = winner_names(machines, sweep, arena),
                     .winner_count = sweep->winner_count,
                     .cells = cells,
                     .texts = texts,
                     .notes = notes};
    svg_heat(&chart, out);
}

// Names, and counts of GPUs, stand side by side; other values where they are.
static double place_of(const SweepAxis *axis, uint32_t i) {
    return sweep_axes_is_continuous(axis->kind) ? (double)axis->values[i].number : i;
}

// The points of all cells in one line, and those of each winner as dots over it.
static void draw_lines(const WhatifMachines *machines, const Sweep *sweep, Arena *arena,
                       Text *out) {
    const SweepAxis *axis = &sweep->axes.axes[0];
    SvgPoint *points = arena_alloc(arena, sweep->cell_count, sizeof *points);
    SvgTick *ticks = arena_alloc(arena, axis->count, sizeof *ticks);
    SvgSeries *series = arena_alloc(arena, sweep->winner_count + 1, sizeof *series);
    const char **names = winner_names(machines, sweep, arena);
    uint32_t count = 0;
    for (uint32_t i = 0; i < axis->count; i++) {
        const SweepCell *cell = &sweep->cells[i];
        ticks[i] = (SvgTick){place_of(axis, i), axis->values[i].text};
        if (!cell->has_figures) continue;
        points[count++] =
            (SvgPoint){ticks[i].at, cell->evaluation.tok_s_per_gpu, note_of(cell, arena), NULL};
    }
    series[0] = (SvgSeries){"best plan", SVG_LINE, points, count};
    for (uint32_t w = 0; w < sweep->winner_count; w++) {
        SvgPoint *own = arena_alloc(arena, sweep->cell_count, sizeof *own);
        uint32_t own_count = 0;
        for (uint32_t i = 0; i < axis->count; i++) {
            const SweepCell *cell = &sweep->cells[i];
            if (cell->winner == w)
                own[own_count++] = (SvgPoint){ticks[i].at, cell->evaluation.tok_s_per_gpu,
                                              note_of(cell, arena), NULL};
        }
        series[w + 1] = (SvgSeries){names[w], SVG_DOTS, own, own_count};
    }
    SvgXY chart = {
        .title = "best plan",
        .x = {.title = axis->name,
              .scale = sweep_axes_is_continuous(axis->kind) ? SVG_LOGARITHMIC : SVG_FITTED,
              .ticks = ticks,
              .tick_count = axis->count},
        .y = {.title = "tok/s/GPU"},
        .series = series,
        .series_count = sweep->winner_count + 1};
    svg_xy(&chart, out);
}

void whatif_show_svg(const WhatifMachines *machines, const Sweep *sweep, Text *out) {
    Arena arena = {0};
    if (sweep->axes.count > 1)
        draw_map(machines, sweep, &arena, out);
    else
        draw_lines(machines, sweep, &arena, out);
    arena_free(&arena);
}
