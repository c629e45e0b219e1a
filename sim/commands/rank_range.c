// Ranks once for each concurrency of a geometric grid.
//
// Invariant: each row is the first of a rank of its own with that --concurrency; searches share
// what depends on the machine alone.
#include "sim/commands/rank_range.h"

#include <inttypes.h>

#include "model/base/jsonw.h"
#include "model/base/table.h"
#include "sim/commands/output.h"
#include "sim/commands/rank_show.h"
#include "sim/commands/saved.h"

#define POINTS_MAX 64 // doubling reaches any count before

typedef enum Format { FORMAT_TABLE, FORMAT_JSON, FORMAT_CSV } Format;

typedef struct Point {
    uint64_t requests;
    Ranking ranking;
} Point;

typedef struct Points {
    Point items[POINTS_MAX];
    uint32_t count, feasible;
} Points;

static void free_points(Points *points) {
    for (uint32_t i = 0; i < points->count; i++) rank_free(&points->items[i].ranking);
}

static bool rank_one(const Inputs *inputs, const RankOption *option, uint64_t requests,
                     EvaluateMemory *memory, Points *points, Err *err) {
    Point *point = &points->items[points->count];
    Scenario scenario = inputs->scenario;
    EvaluateInput input = inputs_for_ranking(inputs);
    RankOptions options = option->rank;
    scenario.concurrency = point->requests = requests;
    input.scenario = &scenario;
    input.memory = memory;
    input.paid = option->paid;
    options.scope = RANK_FIRST;
    options.top = 1;
    if (!rank_search(&input, &inputs->experts, &options, &point->ranking, err)) return false;
    points->count++;
    points->feasible += point->ranking.row_count > 0;
    return true;
}

static bool rank_points(const Inputs *inputs, const RankOption *option, Points *points, Err *err) {
    EvaluateInput input = inputs_for_ranking(inputs);
    EvaluateMemory *memory = evaluate_memory_open(&input);
    uint64_t last = option->most_requests, requests = option->least_requests;
    bool done = true;
    while (done && points->count < POINTS_MAX) {
        done = rank_one(inputs, option, requests, memory, points, err);
        if (requests == last) break;
        requests = requests > last / 2 ? last : 2 * requests;
    }
    evaluate_memory_close(memory);
    return done;
}

// ---- Printing

static void add_nothing(Table *table, const Point *point) {
    const LedgerRow *row = space_nearest_miss(&point->ranking.space);
    char label[PLAN_TEXT_MAX];
    table_cell(table, "none");
    for (int i = 0; i < 5; i++) table_cell(table, "");
    if (row != NULL)
        table_cellf(table, "nearest miss: %s: %s", plan_label(&row->nearest, label),
                    row->nearest_text);
    else
        table_cell(table, "");
}

static void add_point(Table *table, const Point *point) {
    char text[PLAN_TEXT_MAX], number[OUTPUT_NUMBER_MAX], time[UNITS_TEXT_MAX];
    table_cellf(table, "%" PRIu64, point->requests);
    if (point->ranking.row_count == 0) {
        add_nothing(table, point);
        return;
    }
    const RankRow *row = &point->ranking.rows[0];
    const Evaluation *e = &row->evaluation;
    table_cell(table, plan_label(&row->plan, text));
    table_cellf(table, "%u", plan_gpus(&row->plan));
    table_cell(table, output_number(e->tok_s_per_gpu, number));
    table_cell(table, output_number(e->tok_s_per_user, number));
    table_cell(table, units_format_time(e->ttft_ps, time));
    table_cell(table, units_format_time(e->tpot_ps, time));
    table_cell(table, evaluate_part_name(e->bottleneck));
}

static void add_csv_point(Table *table, const Point *point) {
    char text[PLAN_TEXT_MAX];
    bool found = point->ranking.row_count > 0;
    const Evaluation none = {0}, *e = found ? &point->ranking.rows[0].evaluation : &none;
    const double figures[] = {e->tok_s_per_gpu, e->tok_s_per_user, units_seconds(e->ttft_ps),
                              units_seconds(e->tpot_ps)};
    table_cellf(table, "%" PRIu64, point->requests);
    table_cell(table, found ? plan_label(&point->ranking.rows[0].plan, text) : "");
    table_cellf(table, "%u", found ? plan_gpus(&point->ranking.rows[0].plan) : 0);
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        Text number = {0};
        if (found) text_add_double(&number, figures[i]);
        table_cell(table, text_string(&number));
        text_free(&number);
    }
    table_cell(table, found ? evaluate_part_name(e->bottleneck) : "");
}

static void print_table(const Points *points, Format format, Text *out) {
    static const char *const people[] = {"requests",   "best plan", "GPUs", "tok/s/GPU",
                                         "tok/s/user", "TTFT",      "TPOT", "bottleneck"};
    static const char *const keys[] = {
        "concurrency_requests",      "plan",   "gpus",   "output_tok_per_s_per_gpu",
        "output_tok_per_s_per_user", "ttft_s", "tpot_s", "bottleneck"};
    Table table = {0};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        table_column(&table, format == FORMAT_CSV ? keys[i] : people[i],
                     i == 1 || i == 7 ? TABLE_LEFT : TABLE_RIGHT);
    for (uint32_t i = 0; i < points->count; i++) {
        if (format == FORMAT_CSV)
            add_csv_point(&table, &points->items[i]);
        else
            add_point(&table, &points->items[i]);
    }
    if (format == FORMAT_CSV)
        table_print_csv(&table, out);
    else
        table_print(&table, out);
    table_free(&table);
}

static void print_json(const Points *points, const RankOption *option, Text *out) {
    JsonWriter w = {.text = out};
    char text[PLAN_TEXT_MAX];
    jsonw_open_object(&w, NULL);
    jsonw_string(&w, "moesim", "ranking-range");
    jsonw_u64(&w, "version", 1);
    jsonw_string(&w, "objective", objective_names[option->rank.objective]);
    jsonw_open_array(&w, "points");
    for (uint32_t i = 0; i < points->count; i++) {
        const Point *point = &points->items[i];
        jsonw_open_object(&w, NULL);
        jsonw_u64(&w, "concurrency_requests", point->requests);
        if (point->ranking.row_count == 0) {
            jsonw_null(&w, "plan");
        } else {
            const RankRow *row = &point->ranking.rows[0];
            jsonw_string(&w, "plan", plan_label(&row->plan, text));
            jsonw_u64(&w, "gpus", plan_gpus(&row->plan));
            saved_write_figures(&w, &row->evaluation);
        }
        jsonw_close_object(&w);
    }
    jsonw_close_array(&w);
    jsonw_close_object(&w);
    jsonw_finish(&w);
}

int rank_range_command(const CliArgs *args, const Inputs *inputs, const RankOption *option) {
    Points points = {0};
    Text out = {0};
    Err err = {0};
    Format format = (Format)cli_choice(args, "format");
    int status = OUTPUT_BAD;
    if (!rank_points(inputs, option, &points, &err)) {
        status = output_bad(&err);
    } else {
        if (format == FORMAT_TABLE) {
            rank_show_inputs(inputs, &out);
            text_addf(&out, "\nbest plans by %s\n\n", objective_names[option->rank.objective]);
        }
        if (format == FORMAT_JSON)
            print_json(&points, option, &out);
        else
            print_table(&points, format, &out);
        status = output_text(&out, points.feasible > 0 ? OUTPUT_OK : OUTPUT_NO);
        if (status == OUTPUT_NO) output_message("no plan is feasible at any concurrency");
    }
    free_points(&points);
    return status;
}
