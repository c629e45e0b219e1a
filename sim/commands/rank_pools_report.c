// Separate pools as a page of their own.
//
// Invariant: tables and sentences are those of the terminal, by the same functions.
#include "model/report/html.h"
#include "model/report/svg.h"
#include "sim/commands/output.h"
#include "sim/commands/part_bars.h"
#include "sim/commands/rank_pools.h"
#include "sim/commands/rank_show.h"
#include "sim/commands/report.h"

#define LEADING 5 // pools whose parts are drawn: two bars each, and the best unified plan

// ---- Pictures

typedef struct Bars {
    Arena arena;
    PartBar memory[2 * LEADING + 1], prefill[LEADING], decode[LEADING + 1];
    uint32_t memories, prefills, decodes;
} Bars;

static void add_pools(Bars *bars, const PoolsRow *row, uint32_t number) {
    char ratio[PLAN_TEXT_MAX], time[UNITS_TEXT_MAX];
    pools_ratio_label(&row->plan, ratio);
    const char *prefill = arena_printf(&bars->arena, "#%u %s prefill", number, ratio);
    const char *decode = arena_printf(&bars->arena, "#%u %s decode", number, ratio);
    bars->memory[bars->memories++] = (PartBar){prefill, &row->prefill.memory, NULL};
    bars->memory[bars->memories++] = (PartBar){decode, &row->decode.memory, NULL};
    bars->prefill[bars->prefills++] = (PartBar){
        arena_printf(&bars->arena, "%s: %s", prefill, units_format_time(row->prefill_ps, time)),
        NULL, &row->prefill.step};
    bars->decode[bars->decodes++] =
        (PartBar){arena_printf(&bars->arena, "%s: TPOT %s", decode,
                               units_format_time(row->move.tpot_alone_ps, time)),
                  NULL, &row->decode.step};
}

static void add_unified(Bars *bars, const RankRow *row) {
    char label[PLAN_TEXT_MAX], time[UNITS_TEXT_MAX];
    const char *name = arena_printf(&bars->arena, "unified %s", plan_label(&row->plan, label));
    bars->memory[bars->memories++] = (PartBar){name, &row->memory, NULL};
    bars->decode[bars->decodes++] =
        (PartBar){arena_printf(&bars->arena, "%s: TPOT %s", name,
                               units_format_time(row->evaluation.tpot_ps, time)),
                  NULL, &row->evaluation.decode};
}

// Of --pareto, or else of the rows that are shown.
static void draw_points(const RankPoolsAnswer *answer, Text *svg) {
    RankFront own = {0}, *front = answer->front != NULL ? answer->front : &own;
    if (answer->front == NULL) {
        uint64_t requests = answer->inputs->scenario.concurrency;
        if (answer->unified != NULL) rank_front_add_row(&own, answer->unified, 0, requests);
        if (answer->pools != NULL) rank_front_add_pools(&own, answer->pools, requests);
        rank_front_find(&own);
    }
    SvgXY chart = rank_front_chart(front, RANK_FRONT_BY_TPOT);
    svg_xy(&chart, svg);
    rank_front_free(&own);
}

static void add_pictures(const RankPoolsAnswer *answer, Text *out) {
    Bars bars = {0};
    Text svg = {0};
    for (uint32_t i = 0; i < answer->shown && i < LEADING; i++)
        add_pools(&bars, &answer->pools->rows[i], i + 1);
    if (answer->unified != NULL) add_unified(&bars, answer->unified);
    if (bars.memories == 0) return;
    html_heading(out, "pictures");
    draw_points(answer, &svg);
    report_add_picture(out, &svg, "each point is a plan; point at it for its name and figures");
    part_bars_memory(bars.memory, bars.memories, "memory of the fullest GPU of each pool", &svg);
    report_add_picture(out, &svg,
                       "terms of memory as in report.json; caches that are sent or received "
                       "count as cache");
    part_bars_time(bars.decode, bars.decodes, "where the time of a decode step goes",
                   "time of a step without transfers beside it", &svg);
    report_add_picture(out, &svg, "parts of a step: what governs each moment of the slowest rank");
    if (bars.prefills > 0) {
        part_bars_time(bars.prefill, bars.prefills, "where the time of prefill goes",
                       "time of the prompts of a step", &svg);
        report_add_picture(out, &svg, "the same of a prefill instance");
    }
    arena_free(&bars.arena);
}

// ---- The page

static void add_plans(const RankPoolsAnswer *answer, Text *out) {
    Table table = {0};
    Text text = {0};
    rank_pools_show_table(answer, &table);
    report_add_table(out, "plans", &table);
    if (answer->shown > 0) {
        rank_pools_show_best(answer, &text);
        report_add_text(out, &text);
    }
    add_pictures(answer, out);
    table = (Table){0};
    if (answer->pools != NULL && answer->pools->ratio_count > 1) {
        rank_pools_show_ratios(answer, &table);
        report_add_table(out, "other ratios of the first pools, by arithmetic", &table);
    }
}

void rank_pools_report_html(const RankPoolsAnswer *answer, Text *out) {
    const Inputs *inputs = answer->inputs;
    Text text = {0};
    Table ledger = {0};
    text_addf(&text, "%s on %s", inputs->arch.name, inputs->topology.name);
    html_open(out, text_string(&text));
    text_free(&text);
    rank_pools_show_headline(answer, &text);
    html_paragraph(out, text_string(&text));
    text_free(&text);
    rank_show_inputs(inputs, &text);
    report_add_text(out, &text);
    if (answer->shown > 0 || answer->unified != NULL) add_plans(answer, out);
    if (answer->pools == NULL) {
        html_paragraph(out, answer->reason);
    } else {
        rank_show_ledger(&answer->pools->space, &ledger);
        report_add_table(out, "instances and pools that are not in the table", &ledger);
        rank_pools_show_counts(answer, &text);
        report_add_text(out, &text);
    }
    html_close(out);
}
