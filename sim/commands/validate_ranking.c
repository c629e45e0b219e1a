// Groups the rows of a ranking file, predicts their plans and scores the orders.
//
// Invariant: every group that is asked for is there, scored or with its reason; a score hangs on
// the predicted order and the measured figures alone. Method: truth is only ever read into the
// score, never into a prediction.
#include "sim/commands/validate_ranking.h"

#include <inttypes.h>
#include <string.h>

#include "model/base/progress.h"

// What of a simulation a metric is.
typedef enum Source {
    SOURCE_TTFT,
    SOURCE_TPOT,
    SOURCE_USER,     // tokens per second and user
    SOURCE_OUTPUT,   // tokens per second
    SOURCE_TOTAL,    // of prompts and answers
    SOURCE_INPUT,    // of prompts
    SOURCE_REQUESTS, // per second
    SOURCE_SERVING,  // shares of requests, and times until the last has its answer
    SOURCE_MEMORY,
    SOURCE_NONE // relative to a plan, or per node
} Source;

// Each in the unit in which files state it; per_gpu: of one GPU.
static const struct {
    const char *metric;
    Source source;
    bool per_gpu;
} metrics[] = {{"ttft", SOURCE_TTFT, false},
               {"ttft_p50", SOURCE_TTFT, false},
               {"tpot", SOURCE_TPOT, false},
               {"itl", SOURCE_TPOT, false},
               {"interactivity", SOURCE_USER, false},
               {"output_throughput", SOURCE_OUTPUT, false},
               {"output_throughput_cluster_derived", SOURCE_OUTPUT, false},
               {"output_throughput_per_gpu", SOURCE_OUTPUT, true},
               {"output_throughput_per_gpu_derived", SOURCE_OUTPUT, true},
               {"total_throughput", SOURCE_TOTAL, false},
               {"total_throughput_per_gpu", SOURCE_TOTAL, true},
               {"input_throughput", SOURCE_INPUT, false},
               {"request_throughput", SOURCE_REQUESTS, false},
               {"goodput", SOURCE_SERVING, false},
               {"success_rate", SOURCE_SERVING, false},
               {"makespan", SOURCE_SERVING, false},
               {"kv_capacity", SOURCE_MEMORY, false}};

typedef struct Metric {
    Source source;
    bool per_gpu;
} Metric;

static Metric metric_of(const char *name) {
    for (size_t i = 0; i < sizeof metrics / sizeof metrics[0]; i++)
        if (strcmp(metrics[i].metric, name) == 0)
            return (Metric){metrics[i].source, metrics[i].per_gpu};
    return (Metric){SOURCE_NONE, false};
}

static RankScoreBetter better_of(Source source) {
    return source == SOURCE_TTFT || source == SOURCE_TPOT ? RANK_SCORE_LOWER : RANK_SCORE_HIGHER;
}

static double throughput_of(Source source, const ValidateRankingFigures *figures) {
    double answers = figures->output_tok_s / figures->osl; // per second
    switch (source) {
    case SOURCE_TOTAL: return answers * (figures->isl + figures->osl);
    case SOURCE_INPUT: return answers * figures->isl;
    case SOURCE_REQUESTS: return answers;
    case SOURCE_OUTPUT:
    case SOURCE_TTFT:
    case SOURCE_TPOT:
    case SOURCE_USER:
    case SOURCE_SERVING:
    case SOURCE_MEMORY:
    case SOURCE_NONE: break;
    }
    return figures->output_tok_s;
}

static double value_of(Metric metric, const ValidateRankingFigures *figures) {
    if (metric.source == SOURCE_TTFT) return figures->ttft_s * 1e3; // files state milliseconds
    if (metric.source == SOURCE_TPOT) return figures->tpot_s * 1e3;
    if (metric.source == SOURCE_USER) return 1 / figures->tpot_s;
    return throughput_of(metric.source, figures) / (metric.per_gpu ? figures->gpus : 1);
}

// ---- Groups

#define ROWS_MAX 20000 // rows are compared with each group that came before

typedef struct Run {
    const RecordFile *file;
    Arena *arena;
    ValidateRankingPlans *plans;
    ValidateRanking *out;
} Run;

static bool is_of(const ValidateRankingGroup *group, const RecordFile *file, uint32_t row) {
    return strcmp(group->case_id, file->rows[row].id) == 0 &&
           strcmp(group->metric, record_cell(file, row, "metric")) == 0 &&
           strcmp(group->load, record_cell(file, row, "concurrency_or_rate")) == 0;
}

// Rows of a case follow each other, so that the last groups are looked at first.
static uint32_t find_group(const ValidateRanking *ranking, const RecordFile *file, uint32_t row) {
    for (uint32_t i = ranking->group_count; i > 0; i--)
        if (is_of(&ranking->groups[i - 1], file, row)) return i - 1;
    return ranking->group_count;
}

static void add_row(const RecordFile *file, uint32_t row, uint32_t *group_of,
                    ValidateRanking *out) {
    uint32_t group = find_group(out, file, row);
    if (group == out->group_count)
        out->groups[out->group_count++] =
            (ValidateRankingGroup){.case_id = file->rows[row].id,
                                   .metric = record_cell(file, row, "metric"),
                                   .load = record_cell(file, row, "concurrency_or_rate"),
                                   .text = ""};
    out->groups[group].plan_count++;
    group_of[row] = group;
}

static void make_groups(const RecordFile *file, const Match *asked, Arena *arena,
                        ValidateRanking *out) {
    uint32_t *group_of = arena_alloc(arena, file->row_count, sizeof *group_of);
    out->groups = arena_alloc(arena, file->row_count, sizeof *out->groups);
    for (uint32_t row = 0; row < file->row_count; row++) {
        group_of[row] = UINT32_MAX;
        if (asked == NULL || match_test(asked, record_cell(file, row, "metric")))
            add_row(file, row, group_of, out);
    }
    for (uint32_t i = 0; i < out->group_count; i++) {
        ValidateRankingGroup *group = &out->groups[i];
        group->plans = arena_alloc(arena, group->plan_count, sizeof *group->plans);
        group->plan_count = 0;
    }
    for (uint32_t row = 0; row < file->row_count; row++) {
        if (group_of[row] == UINT32_MAX) continue;
        ValidateRankingGroup *group = &out->groups[group_of[row]];
        group->plans[group->plan_count++] =
            (ValidateRankingPlan){.row = row, .measured = file->rows[row].value};
    }
}

static bool refuse(ValidateRankingGroup *group, ValidateRankingReason reason, const char *text) {
    group->reason = reason;
    group->text = text;
    return false;
}

// Before anything is simulated.
static bool check_group(ValidateRankingGroup *group, Metric metric) {
    if (group->plan_count < 2) return refuse(group, VALIDATE_RANKING_ONE_PLAN, "");
    if (metric.source == SOURCE_SERVING)
        return refuse(group, VALIDATE_RANKING_SERVING, "shares of requests and makespans queue");
    if (metric.source == SOURCE_MEMORY)
        return refuse(group, VALIDATE_RANKING_METRIC, "cache memory: see moesim fit");
    if (metric.source == SOURCE_NONE)
        return refuse(group, VALIDATE_RANKING_METRIC, "a metric that is not predicted");
    for (uint32_t i = 0; i < group->plan_count; i++)
        if (!(group->plans[i].measured > 0))
            return refuse(group, VALIDATE_RANKING_METRIC, "expected measured figures above 0");
    return true;
}

static bool predict_plans(const Run *run, ValidateRankingGroup *group, Metric metric) {
    for (uint32_t i = 0; i < group->plan_count; i++) {
        ValidateRankingPlan *plan = &group->plans[i];
        const ValidateRankingFigures *figures =
            validate_ranking_plan_figures(run->plans, run->file, plan->row);
        if (figures->reason != VALIDATE_RANKING_NONE)
            return refuse(group, figures->reason, arena_string(run->arena, figures->text.text));
        memcpy(plan->label, figures->label, sizeof plan->label);
        plan->predicted = value_of(metric, figures);
        plan->tp_in_node = figures->tp_in_node;
    }
    return true;
}

static bool are_alike(const ValidateRankingGroup *group) {
    for (uint32_t i = 1; i < group->plan_count; i++)
        if (group->plans[i].predicted > group->plans[0].predicted ||
            group->plans[i].predicted < group->plans[0].predicted)
            return false;
    return true;
}

static void score(const Run *run, ValidateRankingGroup *group, RankScoreBetter better) {
    uint32_t count = group->plan_count;
    double *figures = arena_alloc(run->arena, (size_t)count * 4, sizeof *figures);
    double *measured = figures + count, *equal = measured + count, *tp = equal + count;
    for (uint32_t i = 0; i < count; i++) {
        const ValidateRankingPlan *plan = &group->plans[i];
        figures[i] = better == RANK_SCORE_HIGHER ? plan->predicted : -plan->predicted;
        measured[i] = plan->measured;
        tp[i] = plan->tp_in_node;
    }
    rank_score_order(figures, measured, count, better, &group->predicted);
    rank_score_order(equal, measured, count, better, &group->random);
    rank_score_order(tp, measured, count, better, &group->widest);
}

static void run_group(const Run *run, ValidateRankingGroup *group) {
    Metric metric = metric_of(group->metric);
    if (!check_group(group, metric) || !predict_plans(run, group, metric)) return;
    if (are_alike(group))
        refuse(group, VALIDATE_RANKING_ALIKE, "what tells the plans apart is not simulated");
    else
        score(run, group, better_of(metric.source));
}

// ---- Means

static void add_score(RankScore *sum, const RankScore *score, bool is_large) {
    sum->tau += score->tau;
    sum->regret += score->regret;
    sum->top += is_large ? score->top : 0;
}

static void add_group(ValidateRankingMean *mean, const ValidateRankingGroup *group) {
    bool is_large = group->plan_count > RANK_SCORE_TOP;
    mean->groups++;
    if (group->reason != VALIDATE_RANKING_NONE) return;
    mean->scored++;
    mean->large += is_large;
    add_score(&mean->predicted, &group->predicted, is_large);
    add_score(&mean->random, &group->random, is_large);
    add_score(&mean->widest, &group->widest, is_large);
}

static void divide_score(RankScore *sum, uint32_t scored, uint32_t large) {
    if (scored > 0) sum->tau /= scored;
    if (scored > 0) sum->regret /= scored;
    if (large > 0) sum->top /= large;
}

static void divide(ValidateRankingMean *mean) {
    divide_score(&mean->predicted, mean->scored, mean->large);
    divide_score(&mean->random, mean->scored, mean->large);
    divide_score(&mean->widest, mean->scored, mean->large);
}

static ValidateRankingMean *mean_of(ValidateRanking *ranking, const char *metric) {
    for (uint32_t i = 0; i < ranking->mean_count; i++)
        if (strcmp(ranking->means[i].metric, metric) == 0) return &ranking->means[i];
    ValidateRankingMean *mean = &ranking->means[ranking->mean_count++];
    Source source = metric_of(metric).source;
    *mean = (ValidateRankingMean){.metric = metric,
                                  .is_apart = source == SOURCE_TTFT || source == SOURCE_SERVING};
    return mean;
}

static void sum_up(ValidateRanking *ranking, Arena *arena) {
    ranking->means = arena_alloc(arena, ranking->group_count, sizeof *ranking->means);
    for (uint32_t i = 0; i < ranking->group_count; i++) {
        ValidateRankingMean *mean = mean_of(ranking, ranking->groups[i].metric);
        add_group(mean, &ranking->groups[i]);
        if (!mean->is_apart) add_group(&ranking->all, &ranking->groups[i]);
    }
    for (uint32_t i = 0; i < ranking->mean_count; i++) divide(&ranking->means[i]);
    divide(&ranking->all);
}

static void run_groups(const Run *run) {
    ValidateRanking *out = run->out;
    Progress progress;
    progress_start(&progress, "simulating the plans of groups", out->group_count);
    for (uint32_t i = 0; i < out->group_count; i++) {
        run_group(run, &out->groups[i]);
        progress_step(&progress, i + 1);
    }
    progress_end(&progress);
}

bool validate_ranking_run(const RecordFile *file, const Match *asked, ValidateContext *context,
                          Arena *arena, ValidateRanking *out, Err *err) {
    *out = (ValidateRanking){0};
    Run run = {.file = file, .arena = arena, .out = out};
    if (file->row_count > ROWS_MAX)
        return err_set(err, "%s: %" PRIu32 " rows, at most %d of a ranking", file->name,
                       file->row_count, ROWS_MAX);
    if (!validate_ranking_plan_open(context, &run.plans, err)) return false;
    make_groups(file, asked, arena, out);
    run_groups(&run);
    out->simulated = validate_ranking_plan_count(run.plans);
    validate_ranking_plan_close(run.plans);
    sum_up(out, arena);
    return true;
}
