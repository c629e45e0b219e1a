// The front of plans.
//
// Invariant: chart, table, CSV and JSON show the same points; a figure is read from the row that
// the other tables print, and its text is made by their formatter.
#include "sim/commands/rank_front.h"

#include <inttypes.h>

#include "model/base/file.h"
#include "model/base/table.h"
#include "model/report/front.h"
#include "model/report/plot.h"
#include "sim/commands/output.h"

#define SERIES_MAX 3

// ---- Points

static void add_point(RankFront *front, const RankFrontPoint *point) {
    front->points =
        mem_grow(front->points, &front->capacity, front->count + 1, sizeof *front->points);
    if (front->count > 0 && front->points[0].requests != point->requests) front->has_loads = true;
    front->points[front->count++] = *point;
}

void rank_front_add_row(RankFront *front, const RankRow *row, uint32_t number, uint64_t requests) {
    const Evaluation *e = &row->evaluation;
    char label[PLAN_TEXT_MAX];
    add_point(front,
              &(RankFrontPoint){.tok_s_per_user = e->tok_s_per_user,
                                .tok_s_per_gpu = e->tok_s_per_gpu,
                                .ttft_ps = e->ttft_ps,
                                .tpot_ps = e->tpot_ps,
                                .requests = requests,
                                .gpus = plan_gpus(&row->plan),
                                .number = number,
                                .plan = arena_string(&front->arena, plan_label(&row->plan, label)),
                                .bottleneck = evaluate_part_name(e->bottleneck)});
}

void rank_front_add(RankFront *front, const Ranking *ranking, uint64_t requests) {
    for (uint32_t i = 0; i < ranking->row_count; i++)
        rank_front_add_row(front, &ranking->rows[i], i + 1, requests);
}

// Rows beyond those that are shown have no number.
static void add_pools_row(RankFront *front, const PoolsRow *row, uint32_t number,
                          uint64_t requests) {
    char ratio[PLAN_TEXT_MAX], label[PLAN_TEXT_MAX];
    const char *plan = arena_printf(&front->arena, "%s %s", pools_ratio_label(&row->plan, ratio),
                                    plan_label(&row->plan, label));
    const char *limit = pools_limit_names[row->limit];
    add_point(front, &(RankFrontPoint){.tok_s_per_user = row->tok_s_per_user,
                                       .tok_s_per_gpu = row->tok_s_per_gpu,
                                       .ttft_ps = row->ttft_ps,
                                       .tpot_ps = row->tpot_ps,
                                       .requests = requests,
                                       .gpus = plan_gpus(&row->plan),
                                       .number = number,
                                       .is_pooled = true,
                                       .plan = plan,
                                       .bottleneck = limit});
}

void rank_front_add_pools(RankFront *front, const PoolsRanking *pools, uint64_t requests) {
    for (uint32_t i = 0; i < pools->row_count; i++)
        add_pools_row(front, &pools->rows[i], i + 1, requests);
    for (uint32_t i = 0; i < pools->other_count; i++)
        add_pools_row(front, &pools->others[i], 0, requests);
}

void rank_front_find(RankFront *front) {
    double *users = mem_alloc(front->count, sizeof *users);
    double *gpus = mem_alloc(front->count, sizeof *gpus);
    front->front = mem_alloc(front->count, sizeof *front->front);
    for (uint32_t i = 0; i < front->count; i++) {
        users[i] = front->points[i].tok_s_per_user;
        gpus[i] = front->points[i].tok_s_per_gpu;
    }
    front->front_count = front_find(users, gpus, front->count, front->front);
    mem_free(users);
    mem_free(gpus);
}

void rank_front_free(RankFront *front) {
    mem_free(front->points);
    mem_free(front->front);
    arena_free(&front->arena);
    *front = (RankFront){0};
}

// ---- The chart

static const char *name_of(const RankFront *front, const RankFrontPoint *point, Arena *arena) {
    const char *number =
        point->number > 0 && !front->has_loads ? arena_printf(arena, "#%u ", point->number) : "";
    const char *load =
        front->has_loads ? arena_printf(arena, "\n%" PRIu64 " requests", point->requests) : "";
    return arena_printf(arena, "%s%s%s", number, point->plan, load);
}

static SvgPoint svg_point(RankFront *front, const RankFrontPoint *point, RankFrontAxis axis) {
    char gpu[OUTPUT_NUMBER_MAX], user[OUTPUT_NUMBER_MAX], tpot[UNITS_TEXT_MAX];
    Arena *arena = &front->arena;
    return (SvgPoint){
        .x = axis == RANK_FRONT_BY_USER ? point->tok_s_per_user : units_seconds(point->tpot_ps),
        .y = point->tok_s_per_gpu,
        .note = arena_printf(arena, "%s\n%s tok/s/GPU\n%s tok/s/user\nTPOT %s",
                             name_of(front, point, arena), output_number(point->tok_s_per_gpu, gpu),
                             output_number(point->tok_s_per_user, user),
                             units_format_time(point->tpot_ps, tpot))};
}

static SvgSeries kind_series(RankFront *front, const char *name, bool is_pooled,
                             RankFrontAxis axis) {
    SvgPoint *points = arena_alloc(&front->arena, front->count, sizeof *points);
    uint32_t count = 0;
    for (uint32_t i = 0; i < front->count; i++)
        if (front->points[i].is_pooled == is_pooled)
            points[count++] = svg_point(front, &front->points[i], axis);
    return (SvgSeries){.name = name, .mark = SVG_DOTS, .points = points, .count = count};
}

static const char *label_of(RankFront *front, const RankFrontPoint *point) {
    if (front->has_loads) return arena_printf(&front->arena, "%" PRIu64, point->requests);
    return point->number > 0 ? arena_printf(&front->arena, "#%u", point->number) : NULL;
}

// In the order of rising x: a fast user has a short step, along TPOT the order is the other way
// round.
static SvgSeries best_series(RankFront *front, RankFrontAxis axis) {
    uint32_t count = front->front_count;
    SvgPoint *best = arena_alloc(&front->arena, count, sizeof *best);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = front->front[axis == RANK_FRONT_BY_TPOT ? count - 1 - i : i];
        best[i] = svg_point(front, &front->points[at], axis);
        best[i].label = label_of(front, &front->points[at]);
    }
    return (SvgSeries){.name = "Pareto front: no plan is better in both",
                       .mark = axis == RANK_FRONT_BY_TPOT ? SVG_STEP_X_FIRST : SVG_STEP_Y_FIRST,
                       .points = best,
                       .count = count};
}

SvgXY rank_front_chart(RankFront *front, RankFrontAxis axis) {
    SvgSeries series[SERIES_MAX];
    uint32_t count = 0;
    SvgSeries unified = kind_series(front, "plans", false, axis);
    SvgSeries pooled = kind_series(front, "separate pools", true, axis);
    if (unified.count > 0 || pooled.count == 0) series[count++] = unified;
    if (pooled.count > 0) series[count++] = pooled;
    series[count++] = best_series(front, axis);
    bool is_user = axis == RANK_FRONT_BY_USER;
    const char *title = front->has_loads ? "throughput and speed of plans at all loads"
                        : is_user        ? "throughput and speed of all feasible plans"
                                         : "TPOT and throughput of all feasible plans";
    return (SvgXY){
        .title = title,
        .x = {.title = is_user ? "tok/s/user" : "TPOT", .unit = is_user ? SVG_COUNT : SVG_SECONDS},
        .y = {.title = "tok/s/GPU"},
        .series = arena_copy(&front->arena, series, count, sizeof *series),
        .series_count = count};
}

void rank_front_plot(RankFront *front, Text *out) {
    SvgXY chart = rank_front_chart(front, RANK_FRONT_BY_USER);
    plot_xy(&chart, chart.series_count == SERIES_MAX ? ".o*" : ".*", out);
}

// ---- Tables

void rank_front_table(const RankFront *front, Text *out) {
    static const char *const headers[] = {"requests",   "plan", "GPUs", "tok/s/GPU",
                                          "tok/s/user", "TTFT", "TPOT", "bottleneck"};
    Table table = {0};
    char text[UNITS_TEXT_MAX], number[OUTPUT_NUMBER_MAX];
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        table_column(&table, headers[i], i == 1 || i == 7 ? TABLE_LEFT : TABLE_RIGHT);
    for (uint32_t i = 0; i < front->front_count; i++) {
        const RankFrontPoint *point = &front->points[front->front[i]];
        table_cellf(&table, "%" PRIu64, point->requests);
        table_cell(&table, point->plan);
        table_cellf(&table, "%u", point->gpus);
        table_cell(&table, output_number(point->tok_s_per_gpu, number));
        table_cell(&table, output_number(point->tok_s_per_user, number));
        table_cell(&table, units_format_time(point->ttft_ps, text));
        table_cell(&table, units_format_time(point->tpot_ps, text));
        table_cell(&table, point->bottleneck);
    }
    table_print(&table, out);
    table_free(&table);
}

void rank_front_csv(const RankFront *front, Text *out) {
    static const char *const keys[] = {
        "concurrency_requests",      "plan",   "gpus",   "output_tok_per_s_per_gpu",
        "output_tok_per_s_per_user", "ttft_s", "tpot_s", "bottleneck"};
    Table table = {0};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        table_column(&table, keys[i], TABLE_LEFT);
    for (uint32_t i = 0; i < front->front_count; i++) {
        const RankFrontPoint *point = &front->points[front->front[i]];
        table_cellf(&table, "%" PRIu64, point->requests);
        table_cell(&table, point->plan);
        table_cellf(&table, "%u", point->gpus);
        table_cell_exact(&table, point->tok_s_per_gpu);
        table_cell_exact(&table, point->tok_s_per_user);
        table_cell_exact(&table, units_seconds(point->ttft_ps));
        table_cell_exact(&table, units_seconds(point->tpot_ps));
        table_cell(&table, point->bottleneck);
    }
    table_print_csv(&table, out);
    table_free(&table);
}

void rank_front_write(JsonWriter *writer, const RankFront *front) {
    jsonw_open_array(writer, "pareto_front");
    for (uint32_t i = 0; i < front->front_count; i++) {
        const RankFrontPoint *point = &front->points[front->front[i]];
        jsonw_open_object(writer, NULL);
        if (front->has_loads) jsonw_u64(writer, "concurrency_requests", point->requests);
        if (point->number > 0) jsonw_u64(writer, "rank", point->number);
        if (point->is_pooled) jsonw_string(writer, "pools", "separate");
        jsonw_string(writer, "plan", point->plan);
        jsonw_double(writer, "output_tok_per_s_per_gpu", point->tok_s_per_gpu);
        jsonw_double(writer, "output_tok_per_s_per_user", point->tok_s_per_user);
        jsonw_close_object(writer);
    }
    jsonw_close_array(writer);
}

bool rank_front_save(const CliArgs *args, RankFront *front, Err *err) {
    const char *path = cli_text(args, "svg");
    if (path == NULL) return true;
    Text svg = {0};
    SvgXY chart = rank_front_chart(front, RANK_FRONT_BY_USER);
    svg_xy(&chart, &svg);
    bool done = file_write(path, text_string(&svg), svg.length, err);
    text_free(&svg);
    return done;
}
