// Ranks once for each load of a geometric grid, for each size of the machine, or both.
//
// Invariant: each row is the first of a rank of its own with that --concurrency and --gpus;
// searches share what depends on the machine alone.
#include "sim/commands/rank_range.h"

#include <inttypes.h>
#include <stdio.h>

#include "model/base/jsonw.h"
#include "model/base/progress.h"
#include "model/base/table.h"
#include "sim/commands/output.h"
#include "sim/commands/rank_front.h"
#include "sim/commands/rank_pools.h"
#include "sim/commands/rank_show.h"
#include "sim/commands/saved.h"

#define STEPS_MAX 64 // doubling reaches any count before

typedef enum Format { FORMAT_TABLE, FORMAT_JSON, FORMAT_CSV } Format;

typedef struct Point {
    uint64_t requests;
    uint32_t size; // GPUs at most; 0: the machine
    Ranking ranking;
    PoolsRanking pools;
    Err no_pools; // why there are none, when they were asked for
} Point;

typedef struct Points {
    const Inputs *inputs;
    const RankOption *option;
    PoolsUse use;
    PoolsSpec spec; // of pools
    bool has_sizes, is_front;
    Point *items; // heap
    uint32_t count, capacity, feasible;
    Progress progress;
} Points;

static void free_points(Points *points) {
    for (uint32_t i = 0; i < points->count; i++) {
        rank_free(&points->items[i].ranking);
        pools_free(&points->items[i].pools);
    }
    mem_free(points->items);
}

// `first`, doubled until `last`, which is the last one. Returns how many there are.
static uint32_t list_steps(uint64_t first, uint64_t last, uint64_t out[STEPS_MAX]) {
    uint32_t count = 0;
    for (uint64_t at = first; count<STEPS_MAX; at = at> last / 2 ? last : 2 * at) {
        out[count++] = at;
        if (at == last) break;
    }
    return count;
}

static bool rank_unified(Points *points, const EvaluateInput *input, Point *point, Err *err) {
    RankOptions options = points->option->rank;
    if (points->use == POOLS_SEPARATE) return true;
    options.scope = points->is_front ? RANK_FRONT : RANK_FIRST;
    options.top = 1;
    options.is_quiet = true;
    options.width.least_gpus = 0;
    options.width.most_gpus = point->size;
    return rank_search(input, &points->inputs->experts, &options, &point->ranking, err);
}

static void rank_separate(Points *points, const EvaluateInput *input, Point *point) {
    PoolsSpec spec = points->spec;
    if (points->use == POOLS_UNIFIED) return;
    spec.most = 1;
    spec.gpus = point->size;
    spec.scope = points->is_front ? POOLS_FRONT : POOLS_BEST;
    spec.is_quiet = true;
    pools_rank(input, &spec, &point->pools, &point->no_pools);
}

static bool is_feasible(const Point *point) {
    return point->ranking.row_count > 0 || point->pools.row_count > 0;
}

static bool rank_one(Points *points, uint32_t size, uint64_t requests, EvaluateMemory *memory,
                     Err *err) {
    Scenario scenario = points->inputs->scenario;
    EvaluateInput input = inputs_for_ranking(points->inputs);
    points->items =
        mem_grow(points->items, &points->capacity, points->count + 1, sizeof *points->items);
    Point *point = &points->items[points->count];
    *point = (Point){.requests = requests, .size = size};
    scenario.concurrency = requests;
    input.scenario = &scenario;
    input.memory = memory;
    input.paid = points->option->paid;
    if (!rank_unified(points, &input, point, err)) return false;
    rank_separate(points, &input, point);
    points->feasible += is_feasible(point);
    progress_step(&points->progress, ++points->count);
    return true;
}

static bool rank_points(Points *points, Err *err) {
    const RankOption *option = points->option;
    const SpaceWidth *width = &option->rank.width;
    uint64_t sizes[STEPS_MAX], loads[STEPS_MAX];
    uint32_t size_count = 1;
    sizes[0] = width->most_gpus;
    if (points->has_sizes) size_count = list_steps(width->least_gpus, width->most_gpus, sizes);
    uint32_t load_count = list_steps(option->least_requests, option->most_requests, loads);
    EvaluateInput input = inputs_for_ranking(points->inputs);
    EvaluateMemory *memory = evaluate_memory_open(&input);
    bool done = true;
    progress_start(&points->progress, "ranking", (uint64_t)size_count * load_count);
    for (uint32_t i = 0; done && i < size_count; i++)
        for (uint32_t k = 0; done && k < load_count; k++)
            done = rank_one(points, (uint32_t)sizes[i], loads[k], memory, err);
    progress_end(&points->progress);
    evaluate_memory_close(memory);
    return done;
}

// ---- The best of a point

typedef struct Best {
    const Plan *plan;       // NULL: none is feasible
    const PoolsRow *pooled; // NULL: unified
    Evaluation figures;     // no phases
    const char *bottleneck;
} Best;

static Best best_of(const Point *point) {
    Best best = {0};
    if (point->ranking.row_count > 0) {
        const RankRow *row = &point->ranking.rows[0];
        best = (Best){&row->plan, NULL, row->evaluation,
                      evaluate_part_name(row->evaluation.bottleneck)};
    }
    if (point->pools.row_count == 0) return best;
    const PoolsRow *row = &point->pools.rows[0];
    if (best.plan != NULL && best.figures.tok_s_per_gpu >= row->tok_s_per_gpu) return best;
    best = (Best){.plan = &row->plan, .pooled = row, .bottleneck = pools_limit_names[row->limit]};
    pools_figures(row, &best.figures);
    return best;
}

static char *best_label(const Best *best, char *buffer) {
    char ratio[PLAN_TEXT_MAX], label[PLAN_TEXT_MAX];
    if (best->pooled == NULL) return plan_label(best->plan, buffer);
    snprintf(buffer, 2 * PLAN_TEXT_MAX, "%s %s", pools_ratio_label(best->plan, ratio),
             plan_label(best->plan, label));
    return buffer;
}

// ---- Printing

static const char *nearest_miss(const Point *point, Arena *arena) {
    const LedgerRow *row = space_nearest_miss(&point->ranking.space);
    char label[PLAN_TEXT_MAX];
    if (row != NULL)
        return arena_printf(arena, "nearest miss: %s: %s", plan_label(&row->nearest, label),
                            row->nearest_text);
    return point->no_pools.text;
}

static void add_nothing(Table *table, const Point *point) {
    Arena arena = {0};
    table_cell(table, "none");
    for (int i = 0; i < 5; i++) table_cell(table, "");
    table_cell(table, nearest_miss(point, &arena));
    arena_free(&arena);
}

static void add_place(Table *table, const Points *points, const Point *point) {
    if (points->has_sizes) table_cellf(table, "%u", point->size);
    table_cellf(table, "%" PRIu64, point->requests);
}

static void add_point(Table *table, const Points *points, const Point *point) {
    char text[2 * PLAN_TEXT_MAX], number[OUTPUT_NUMBER_MAX], time[UNITS_TEXT_MAX];
    Best best = best_of(point);
    const Evaluation *e = &best.figures;
    add_place(table, points, point);
    if (best.plan == NULL) {
        add_nothing(table, point);
        return;
    }
    table_cell(table, best_label(&best, text));
    table_cellf(table, "%u", plan_gpus(best.plan));
    table_cell(table, output_number(e->tok_s_per_gpu, number));
    table_cell(table, output_number(e->tok_s_per_user, number));
    table_cell(table, units_format_time(e->ttft_ps, time));
    table_cell(table, units_format_time(e->tpot_ps, time));
    table_cell(table, best.bottleneck);
}

static void add_csv_point(Table *table, const Points *points, const Point *point) {
    char text[2 * PLAN_TEXT_MAX];
    Best best = best_of(point);
    const Evaluation *e = &best.figures;
    bool found = best.plan != NULL;
    const double figures[] = {e->tok_s_per_gpu, e->tok_s_per_user, units_seconds(e->ttft_ps),
                              units_seconds(e->tpot_ps)};
    add_place(table, points, point);
    table_cell(table, found ? best_label(&best, text) : "");
    table_cellf(table, "%u", found ? plan_gpus(best.plan) : 0);
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        Text number = {0};
        if (found) text_add_double(&number, figures[i]);
        table_cell(table, text_string(&number));
        text_free(&number);
    }
    table_cell(table, found ? best.bottleneck : "");
}

static void print_table(const Points *points, Format format, Text *out) {
    static const char *const people[] = {"requests",   "best plan", "GPUs", "tok/s/GPU",
                                         "tok/s/user", "TTFT",      "TPOT", "bottleneck"};
    static const char *const keys[] = {
        "concurrency_requests",      "plan",   "gpus",   "output_tok_per_s_per_gpu",
        "output_tok_per_s_per_user", "ttft_s", "tpot_s", "bottleneck"};
    Table table = {0};
    if (points->has_sizes)
        table_column(&table, format == FORMAT_CSV ? "at_most_gpus" : "at most", TABLE_RIGHT);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        table_column(&table, format == FORMAT_CSV ? keys[i] : people[i],
                     i == 1 || i == 7 ? TABLE_LEFT : TABLE_RIGHT);
    for (uint32_t i = 0; i < points->count; i++) {
        if (format == FORMAT_CSV)
            add_csv_point(&table, points, &points->items[i]);
        else
            add_point(&table, points, &points->items[i]);
    }
    if (format == FORMAT_CSV)
        table_print_csv(&table, out);
    else
        table_print(&table, out);
    table_free(&table);
}

static void write_point(JsonWriter *w, const Points *points, const Point *point) {
    char text[2 * PLAN_TEXT_MAX];
    Best best = best_of(point);
    jsonw_open_object(w, NULL);
    if (points->has_sizes) jsonw_u64(w, "at_most_gpus", point->size);
    jsonw_u64(w, "concurrency_requests", point->requests);
    if (best.plan == NULL) {
        jsonw_null(w, "plan");
    } else {
        jsonw_string(w, "plan", best_label(&best, text));
        jsonw_u64(w, "gpus", plan_gpus(best.plan));
        if (best.pooled == NULL)
            saved_write_figures(w, &best.figures);
        else
            rank_pools_show_figures(w, best.pooled);
    }
    jsonw_close_object(w);
}

static void print_json(const Points *points, const RankFront *front, Text *out) {
    JsonWriter w = {.text = out};
    jsonw_open_object(&w, NULL);
    jsonw_string(&w, "moesim", "ranking-range");
    jsonw_u64(&w, "version", 1);
    jsonw_string(&w, "objective", objective_names[points->option->rank.objective]);
    jsonw_open_array(&w, "points");
    for (uint32_t i = 0; i < points->count; i++) write_point(&w, points, &points->items[i]);
    jsonw_close_array(&w);
    if (points->is_front) rank_front_write(&w, front);
    jsonw_close_object(&w);
    jsonw_finish(&w);
}

static void print_text(const Points *points, RankFront *front, Text *out) {
    rank_show_inputs(points->inputs, out);
    text_addf(out, "\nbest plans by %s%s\n\n", objective_names[points->option->rank.objective],
              points->has_sizes ? ", of at most so many GPUs; figures are of those that a plan uses"
                                : "");
    print_table(points, FORMAT_TABLE, out);
    if (!points->is_front || front->count == 0) return;
    text_add_char(out, '\n');
    rank_front_plot(front, out);
    text_add_char(out, '\n');
    rank_front_table(front, out);
}

static void print(const CliArgs *args, const Points *points, RankFront *front, Text *out) {
    switch ((Format)cli_choice(args, "format")) {
    case FORMAT_TABLE: print_text(points, front, out); break;
    case FORMAT_JSON: print_json(points, front, out); break;
    case FORMAT_CSV:
        if (points->is_front)
            rank_front_csv(front, out);
        else
            print_table(points, FORMAT_CSV, out);
        break;
    }
}

static void find_front(const Points *points, RankFront *out) {
    for (uint32_t i = 0; i < points->count; i++) {
        const Point *point = &points->items[i];
        rank_front_add(out, &point->ranking, point->requests);
        rank_front_add_pools(out, &point->pools, point->requests);
    }
    out->has_loads = true;
    rank_front_find(out);
}

static int show(const CliArgs *args, const Points *points) {
    Text out = {0};
    Err err = {0};
    RankFront front = {0};
    if (points->is_front) find_front(points, &front);
    print(args, points, &front, &out);
    int status = output_text(&out, points->feasible > 0 ? OUTPUT_OK : OUTPUT_NO);
    if (status == OUTPUT_NO)
        output_message(points->has_sizes ? "no plan is feasible at any concurrency or size"
                                         : "no plan is feasible at any concurrency");
    if (status == OUTPUT_OK && !rank_front_save(args, &front, &err)) status = output_bad(&err);
    rank_front_free(&front);
    return status;
}

int rank_range_command(const CliArgs *args, const Inputs *inputs, const RankOption *option) {
    Points points = {.inputs = inputs,
                     .option = option,
                     .use = (PoolsUse)cli_choice(args, "pools"),
                     .has_sizes = rank_option_has_sizes(args),
                     .is_front = cli_is_given(args, "pareto")};
    Err err = {0};
    int status = OUTPUT_BAD;
    if (rank_pools_spec(args, inputs, option, &points.spec, &err) && rank_points(&points, &err))
        status = show(args, &points);
    else
        output_bad(&err);
    free_points(&points);
    return status;
}
