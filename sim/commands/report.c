// Pictures and pages of rankings.
//
// Invariant: a figure in a picture is read from the row that the table prints, and its text is made
// by the formatter of the table.
#include "sim/commands/report.h"

#include "model/report/html.h"
#include "model/report/svg.h"
#include "sim/commands/output.h"
#include "sim/commands/part_bars.h"
#include "sim/commands/rank_front.h"
#include "sim/commands/rank_show.h"

#define LEADING 10 // plans whose parts are drawn

// All plans of one ranking, and their front.
static RankFront front_of(const Ranking *ranking) {
    RankFront front = {0};
    rank_front_add(&front, ranking, 0);
    rank_front_find(&front);
    return front;
}

uint32_t report_front(const Ranking *ranking, uint32_t *out) {
    RankFront front = front_of(ranking);
    uint32_t count = front.front_count;
    for (uint32_t i = 0; i < count; i++) out[i] = front.front[i];
    rank_front_free(&front);
    return count;
}

static void add_front_table(const Ranking *ranking, Table *out) {
    uint32_t *front = mem_alloc(ranking->row_count, sizeof *front);
    uint32_t count = report_front(ranking, front);
    rank_show_table(ranking, front, count, out);
    mem_free(front);
}

void report_show_front(const Ranking *ranking, Text *out) {
    if (ranking->row_count == 0) return;
    Table table = {0};
    RankFront front = front_of(ranking);
    text_add_char(out, '\n');
    rank_front_plot(&front, out);
    text_add_char(out, '\n');
    add_front_table(ranking, &table);
    table_print(&table, out);
    table_free(&table);
    rank_front_free(&front);
}

void report_draw_front(const Ranking *ranking, Text *out) {
    RankFront front = front_of(ranking);
    SvgXY chart = rank_front_chart(&front, RANK_FRONT_BY_USER);
    svg_xy(&chart, out);
    rank_front_free(&front);
}

void report_write_front(JsonWriter *writer, const Ranking *ranking) {
    RankFront front = front_of(ranking);
    rank_front_write(writer, &front);
    rank_front_free(&front);
}

// ---- Parts of the leading plans

// The arena's, with the length of a step in the names when asked for.
typedef enum BarNames { BARS_PLAIN, BARS_WITH_TPOT } BarNames;

static const PartBar *leading_bars(const Ranking *ranking, uint32_t count, BarNames names,
                                   Arena *arena) {
    PartBar *bars = arena_alloc(arena, count, sizeof *bars);
    for (uint32_t i = 0; i < count; i++) {
        const RankRow *row = &ranking->rows[i];
        char label[PLAN_TEXT_MAX], tpot[UNITS_TEXT_MAX];
        const char *name = arena_printf(arena, "#%u %s", i + 1, plan_label(&row->plan, label));
        if (names == BARS_WITH_TPOT)
            name = arena_printf(arena, "%s: TPOT %s", name,
                                units_format_time(row->evaluation.tpot_ps, tpot));
        bars[i] = (PartBar){name, &row->memory, &row->evaluation.decode};
    }
    return bars;
}

// ---- The page

static void add_pictures(const Ranking *ranking, uint32_t plans, Text *out) {
    Text svg = {0};
    RankFront front = front_of(ranking);
    SvgXY chart = rank_front_chart(&front, RANK_FRONT_BY_TPOT);
    html_heading(out, "pictures");
    svg_xy(&chart, &svg);
    report_add_picture(out, &svg, "each point is a plan; point at it for its name and figures");
    uint32_t leading = plans < LEADING ? plans : LEADING;
    Arena arena = {0};
    part_bars_memory(leading_bars(ranking, leading, BARS_PLAIN, &arena), leading,
                     "memory of the fullest GPU, leading plans", &svg);
    report_add_picture(out, &svg,
                       "terms of memory as in report.json; a plan that exceeds what is usable "
                       "is not in the table");
    part_bars_time(leading_bars(ranking, leading, BARS_WITH_TPOT, &arena), leading,
                   "where the time of a decode step goes, leading plans", "time of a step (TPOT)",
                   &svg);
    report_add_picture(out, &svg,
                       "parts of TPOT: what governs each moment of the slowest rank's step");
    arena_free(&arena);
    rank_front_free(&front);
}

static void add_plans(const Inputs *inputs, const Ranking *ranking, uint32_t plans, Text *out) {
    Table table = {0};
    Text meaning = {0};
    rank_show_table(ranking, NULL, plans, &table);
    report_add_table(out, "plans", &table);
    rank_show_meaning(inputs, ranking, &meaning);
    report_add_text(out, &meaning);
    add_pictures(ranking, plans, out);
    table = (Table){0};
    add_front_table(ranking, &table);
    report_add_table(out, "Pareto front of tok/s/GPU against tok/s/user", &table);
}

void report_add_table(Text *out, const char *heading, Table *table) {
    html_heading(out, heading);
    html_table(out, table);
    table_free(table);
}

void report_add_text(Text *out, Text *text) {
    html_lines(out, text_string(text));
    text_free(text);
}

void report_add_picture(Text *out, Text *svg, const char *caption) {
    html_picture(out, text_string(svg), caption);
    text_free(svg);
}

void report_html(const Inputs *inputs, const Ranking *ranking, uint32_t plans, Text *out) {
    Text text = {0};
    Table ledger = {0};
    text_addf(&text, "%s on %s", inputs->arch.name, inputs->topology.name);
    html_open(out, text_string(&text));
    text_free(&text);
    rank_show_headline(inputs, ranking, &text);
    html_paragraph(out, text_string(&text));
    text_free(&text);
    rank_show_inputs(inputs, &text);
    report_add_text(out, &text);
    if (plans > 0) add_plans(inputs, ranking, plans, out);
    rank_show_ledger(&ranking->space, &ledger);
    report_add_table(out, "plans that are not in the table", &ledger);
    rank_show_counts(ranking, plans, &text);
    report_add_text(out, &text);
    html_close(out);
}
