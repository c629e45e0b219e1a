// Pictures and pages of rankings.
//
// Invariant: a figure in a picture is read from the row that the table prints, and its text is made
// by the formatter of the table.
#include "sim/commands/report.h"

#include "model/report/front.h"
#include "model/report/html.h"
#include "model/report/plot.h"
#include "model/report/svg.h"
#include "sim/commands/output.h"
#include "sim/commands/rank_show.h"

#define LEADING 10 // plans whose parts are drawn

uint32_t report_front(const Ranking *ranking, uint32_t *out) {
    double *users = mem_alloc(ranking->row_count, sizeof *users);
    double *gpus = mem_alloc(ranking->row_count, sizeof *gpus);
    for (uint32_t i = 0; i < ranking->row_count; i++) {
        users[i] = ranking->rows[i].evaluation.tok_s_per_user;
        gpus[i] = ranking->rows[i].evaluation.tok_s_per_gpu;
    }
    uint32_t count = front_find(users, gpus, ranking->row_count, out);
    mem_free(users);
    mem_free(gpus);
    return count;
}

// ---- All plans and their front

typedef double (*Figure)(const Evaluation *evaluation);

static double tok_s_per_user(const Evaluation *evaluation) {
    return evaluation->tok_s_per_user;
}

static double tpot_s(const Evaluation *evaluation) {
    return units_seconds(evaluation->tpot_ps);
}

static const char *row_name(const RankRow *row, uint32_t index, Arena *arena) {
    char label[PLAN_TEXT_MAX];
    return arena_printf(arena, "#%u %s", index + 1, plan_label(&row->plan, label));
}

static const char *row_note(const RankRow *row, uint32_t index, Arena *arena) {
    const Evaluation *e = &row->evaluation;
    char gpu[OUTPUT_NUMBER_MAX], user[OUTPUT_NUMBER_MAX], tpot[UNITS_TEXT_MAX];
    return arena_printf(arena, "%s\n%s tok/s/GPU\n%s tok/s/user\nTPOT %s",
                        row_name(row, index, arena), output_number(e->tok_s_per_gpu, gpu),
                        output_number(e->tok_s_per_user, user),
                        units_format_time(e->tpot_ps, tpot));
}

static SvgPoint row_point(const RankRow *row, uint32_t index, Figure x, Arena *arena) {
    return (SvgPoint){.x = x(&row->evaluation),
                      .y = row->evaluation.tok_s_per_gpu,
                      .note = row_note(row, index, arena)};
}

// Two series, which are the arena's: all plans, and those of the front in the order of rising x.
static const SvgSeries *front_series(const Ranking *ranking, Figure x, Arena *arena) {
    uint32_t count = ranking->row_count;
    uint32_t *front = arena_alloc(arena, count, sizeof *front);
    SvgPoint *all = arena_alloc(arena, count, sizeof *all);
    uint32_t front_count = report_front(ranking, front);
    SvgPoint *best = arena_alloc(arena, front_count, sizeof *best);
    for (uint32_t i = 0; i < count; i++) all[i] = row_point(&ranking->rows[i], i, x, arena);
    for (uint32_t i = 0; i < front_count; i++) {
        // a fast user has a short step: along TPOT the order is the other way round
        uint32_t row = front[x == tpot_s ? front_count - 1 - i : i];
        best[i] = row_point(&ranking->rows[row], row, x, arena);
        best[i].label = arena_printf(arena, "#%u", row + 1);
    }
    SvgSeries series[] = {{.name = "plans", .mark = SVG_DOTS, .points = all, .count = count},
                          {.name = "Pareto front: no plan is better in both",
                           .mark = x == tpot_s ? SVG_STEP_X_FIRST : SVG_STEP_Y_FIRST,
                           .points = best,
                           .count = front_count}};
    return arena_copy(arena, series, 2, sizeof *series);
}

static SvgXY front_chart(const Ranking *ranking, Arena *arena) {
    return (SvgXY){.title = "throughput and speed of all feasible plans",
                   .x = {.title = "tok/s/user"},
                   .y = {.title = "tok/s/GPU"},
                   .series = front_series(ranking, tok_s_per_user, arena),
                   .series_count = 2};
}

static void add_front_table(const Ranking *ranking, Table *out) {
    uint32_t *front = mem_alloc(ranking->row_count, sizeof *front);
    uint32_t count = report_front(ranking, front);
    rank_show_table(ranking, front, count, out);
    mem_free(front);
}

void report_show_front(const Ranking *ranking, Text *out) {
    if (ranking->row_count == 0) return;
    Arena arena = {0};
    Table table = {0};
    SvgXY chart = front_chart(ranking, &arena);
    text_add_char(out, '\n');
    plot_xy(&chart, ".*", out);
    text_add_char(out, '\n');
    add_front_table(ranking, &table);
    table_print(&table, out);
    table_free(&table);
    arena_free(&arena);
}

void report_draw_front(const Ranking *ranking, Text *out) {
    Arena arena = {0};
    SvgXY chart = front_chart(ranking, &arena);
    svg_xy(&chart, out);
    arena_free(&arena);
}

void report_write_front(JsonWriter *writer, const Ranking *ranking) {
    uint32_t *front = mem_alloc(ranking->row_count, sizeof *front);
    uint32_t count = report_front(ranking, front);
    jsonw_open_array(writer, "pareto_front");
    for (uint32_t i = 0; i < count; i++) {
        const RankRow *row = &ranking->rows[front[i]];
        char label[PLAN_TEXT_MAX];
        jsonw_open_object(writer, NULL);
        jsonw_u64(writer, "rank", front[i] + 1);
        jsonw_string(writer, "plan", plan_label(&row->plan, label));
        jsonw_double(writer, "output_tok_per_s_per_gpu", row->evaluation.tok_s_per_gpu);
        jsonw_double(writer, "output_tok_per_s_per_user", row->evaluation.tok_s_per_user);
        jsonw_close_object(writer);
    }
    jsonw_close_array(writer);
    mem_free(front);
}

// ---- Parts of the leading plans

// Bars of the first rows; arrays are the arena's. `parts` values of each row are filled by the
// caller, then svg_bars draws them.
typedef struct PartBars {
    Arena arena;
    SvgBars chart;
    double *values;
    const char **names, **notes;
} PartBars;

static PartBars open_bars(const Ranking *ranking, uint32_t plans, uint32_t parts) {
    PartBars bars = {0};
    uint32_t count = plans < LEADING ? plans : LEADING;
    bars.values = arena_alloc(&bars.arena, (size_t)count * parts, sizeof *bars.values);
    bars.notes = arena_alloc(&bars.arena, (size_t)count * parts, sizeof *bars.notes);
    bars.names = arena_alloc(&bars.arena, count, sizeof *bars.names);
    for (uint32_t i = 0; i < count; i++)
        bars.names[i] = row_name(&ranking->rows[i], i, &bars.arena);
    bars.chart = (SvgBars){.names = bars.names,
                           .bar_count = count,
                           .part_count = parts,
                           .values = bars.values,
                           .notes = bars.notes};
    return bars;
}

static void draw_memory(const Ranking *ranking, uint32_t plans, Text *out) {
    PartBars bars = open_bars(ranking, plans, MEMORY_TERM_COUNT);
    char usable[UNITS_TEXT_MAX], text[UNITS_TEXT_MAX];
    for (uint32_t i = 0; i < bars.chart.bar_count; i++)
        for (uint32_t term = 0; term < MEMORY_TERM_COUNT; term++) {
            uint64_t B = ranking->rows[i].memory.term_B[term];
            bars.values[i * MEMORY_TERM_COUNT + term] = (double)B;
            bars.notes[i * MEMORY_TERM_COUNT + term] = arena_printf(
                &bars.arena, "%s %s", memory_term_names[term], units_format_bytes(B, text));
        }
    uint64_t usable_B = ranking->rows[0].memory.usable_B;
    bars.chart.title = "memory of the fullest GPU, leading plans";
    bars.chart.axis = (SvgAxis){.title = "memory of one GPU", .unit = SVG_BYTES};
    bars.chart.parts = memory_term_names;
    bars.chart.limit = (double)usable_B;
    bars.chart.limit_name =
        arena_printf(&bars.arena, "usable: %s", units_format_bytes(usable_B, usable));
    svg_bars(&bars.chart, out);
    arena_free(&bars.arena);
}

static void draw_step(const Ranking *ranking, uint32_t plans, Text *out) {
    PartBars bars = open_bars(ranking, plans, EVALUATE_PARTS);
    const char *names[EVALUATE_PARTS];
    char text[UNITS_TEXT_MAX];
    for (uint32_t part = 0; part < EVALUATE_PARTS; part++) names[part] = evaluate_part_name(part);
    for (uint32_t i = 0; i < bars.chart.bar_count; i++) {
        const Evaluation *e = &ranking->rows[i].evaluation;
        bars.names[i] = arena_printf(&bars.arena, "%s: TPOT %s", bars.names[i],
                                     units_format_time(e->tpot_ps, text));
        for (uint32_t part = 0; part < EVALUATE_PARTS; part++) {
            double ms = e->decode.part_s[part] * 1000;
            char number[OUTPUT_NUMBER_MAX];
            bars.values[i * EVALUATE_PARTS + part] = e->decode.part_s[part];
            bars.notes[i * EVALUATE_PARTS + part] =
                arena_printf(&bars.arena, "%s %s ms", names[part], output_number(ms, number));
        }
    }
    bars.chart.title = "where the time of a decode step goes, leading plans";
    bars.chart.axis = (SvgAxis){.title = "time of a step (TPOT)", .unit = SVG_SECONDS};
    bars.chart.parts = names;
    svg_bars(&bars.chart, out);
    arena_free(&bars.arena);
}

// ---- The page

static void add_picture(Text *out, Text *svg, const char *caption) {
    html_picture(out, text_string(svg), caption);
    text_free(svg);
}

static void add_pictures(const Ranking *ranking, uint32_t plans, Text *out) {
    Arena arena = {0};
    Text svg = {0};
    SvgXY chart = {.title = "TPOT and throughput of all feasible plans",
                   .x = {.title = "TPOT", .unit = SVG_SECONDS},
                   .y = {.title = "tok/s/GPU"},
                   .series = front_series(ranking, tpot_s, &arena),
                   .series_count = 2};
    html_heading(out, "pictures");
    svg_xy(&chart, &svg);
    add_picture(out, &svg, "each point is a plan; point at it for its name and figures");
    draw_memory(ranking, plans, &svg);
    add_picture(out, &svg,
                "terms of memory as in report.json; a plan that exceeds what is usable "
                "is not in the table");
    draw_step(ranking, plans, &svg);
    add_picture(out, &svg, "parts of TPOT: what governs each moment of the slowest rank's step");
    arena_free(&arena);
}

static void add_table(Text *out, const char *heading, Table *table) {
    html_heading(out, heading);
    html_table(out, table);
    table_free(table);
}

static void add_text(Text *out, Text *text) {
    html_lines(out, text_string(text));
    text_free(text);
}

static void add_plans(const Inputs *inputs, const Ranking *ranking, uint32_t plans, Text *out) {
    Table table = {0};
    Text meaning = {0};
    rank_show_table(ranking, NULL, plans, &table);
    add_table(out, "plans", &table);
    rank_show_meaning(inputs, ranking, &meaning);
    add_text(out, &meaning);
    add_pictures(ranking, plans, out);
    table = (Table){0};
    add_front_table(ranking, &table);
    add_table(out, "Pareto front of tok/s/GPU against tok/s/user", &table);
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
    add_text(out, &text);
    if (plans > 0) add_plans(inputs, ranking, plans, out);
    rank_show_ledger(&ranking->space, &ledger);
    add_table(out, "plans that are not in the table", &ledger);
    rank_show_counts(ranking, plans, &text);
    add_text(out, &text);
    html_close(out);
}
