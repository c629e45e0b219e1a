// Draws bars of parts.
//
// Invariant: a part's text is made by the formatter of the tables that show it.
#include "sim/commands/part_bars.h"

#include "model/base/mem.h"
#include "model/base/units.h"
#include "model/report/svg.h"
#include "sim/commands/output.h"

// Arrays are the arena's. `parts` values of each bar are filled by the caller, then svg_bars draws
// them.
typedef struct Chart {
    Arena arena;
    SvgBars svg;
    double *values;
    const char **notes;
} Chart;

static Chart open_chart(const PartBar *bars, uint32_t count, uint32_t parts, const char *title) {
    Chart chart = {0};
    const char **names = arena_alloc(&chart.arena, count, sizeof *names);
    chart.values = arena_alloc(&chart.arena, (size_t)count * parts, sizeof *chart.values);
    chart.notes = arena_alloc(&chart.arena, (size_t)count * parts, sizeof *chart.notes);
    for (uint32_t i = 0; i < count; i++) names[i] = bars[i].name;
    chart.svg = (SvgBars){.title = title,
                          .names = names,
                          .bar_count = count,
                          .part_count = parts,
                          .values = chart.values,
                          .notes = chart.notes};
    return chart;
}

void part_bars_memory(const PartBar *bars, uint32_t count, const char *title, Text *out) {
    Chart chart = open_chart(bars, count, MEMORY_TERM_COUNT, title);
    char usable[UNITS_TEXT_MAX], text[UNITS_TEXT_MAX];
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t term = 0; term < MEMORY_TERM_COUNT; term++) {
            uint64_t B = bars[i].memory->term_B[term];
            chart.values[i * MEMORY_TERM_COUNT + term] = (double)B;
            chart.notes[i * MEMORY_TERM_COUNT + term] = arena_printf(
                &chart.arena, "%s %s", memory_term_names[term], units_format_bytes(B, text));
        }
    uint64_t usable_B = bars[0].memory->usable_B;
    chart.svg.axis = (SvgAxis){.title = "memory of one GPU", .unit = SVG_BYTES};
    chart.svg.parts = memory_term_names;
    chart.svg.limit = (double)usable_B;
    chart.svg.limit_name =
        arena_printf(&chart.arena, "usable: %s", units_format_bytes(usable_B, usable));
    svg_bars(&chart.svg, out);
    arena_free(&chart.arena);
}

void part_bars_time(const PartBar *bars, uint32_t count, const char *title, const char *axis,
                    Text *out) {
    Chart chart = open_chart(bars, count, EVALUATE_PARTS, title);
    const char *names[EVALUATE_PARTS];
    for (uint32_t part = 0; part < EVALUATE_PARTS; part++) names[part] = evaluate_part_name(part);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t part = 0; part < EVALUATE_PARTS; part++) {
            double part_s = bars[i].parts->part_s[part];
            char number[OUTPUT_NUMBER_MAX];
            chart.values[i * EVALUATE_PARTS + part] = part_s;
            chart.notes[i * EVALUATE_PARTS + part] = arena_printf(
                &chart.arena, "%s %s ms", names[part], output_number(part_s * 1000, number));
        }
    chart.svg.axis = (SvgAxis){.title = axis, .unit = SVG_SECONDS};
    chart.svg.parts = names;
    svg_bars(&chart.svg, out);
    arena_free(&chart.arena);
}
