// Prints rankings.
//
// Invariant: the three formats have the same groups; what is not scored is counted under its
// reason.
#include "sim/commands/validate_ranking_show.h"

#include <inttypes.h>
#include <stdio.h>

#include "model/base/jsonw.h"
#include "model/base/table.h"

#define VALIDATE_RANKING_JSON_VERSION 1

// ---- Tables

static void add_score(Table *table, const RankScore *score, bool has_top) {
    table_cellf(table, "%+.2f", score->tau);
    table_cellf(table, "%.1f %%", score->regret);
    if (has_top)
        table_cellf(table, "%.2f", score->top);
    else
        table_cell(table, "-");
}

static void score_columns(Table *table) {
    table_column(table, "tau", TABLE_RIGHT);
    table_column(table, "regret", TABLE_RIGHT);
    table_column(table, "top 3", TABLE_RIGHT);
    table_column(table, "random: regret", TABLE_RIGHT);
    table_column(table, "top 3", TABLE_RIGHT);
    table_column(table, "widest TP: tau", TABLE_RIGHT);
    table_column(table, "regret", TABLE_RIGHT);
    table_column(table, "top 3", TABLE_RIGHT);
}

// Random orders have no tau.
static void add_scores(Table *table, const RankScore *predicted, const RankScore *random,
                       const RankScore *widest, bool has_top) {
    add_score(table, predicted, has_top);
    table_cellf(table, "%.1f %%", random->regret);
    if (has_top)
        table_cellf(table, "%.2f", random->top);
    else
        table_cell(table, "-");
    add_score(table, widest, has_top);
}

static void show_groups(const ValidateRanking *ranking, Text *out) {
    Table table = {0};
    table_column(&table, "case", TABLE_LEFT);
    table_column(&table, "metric", TABLE_LEFT);
    table_column(&table, "load", TABLE_LEFT);
    table_column(&table, "plans", TABLE_RIGHT);
    score_columns(&table);
    for (uint32_t i = 0; i < ranking->group_count; i++) {
        const ValidateRankingGroup *group = &ranking->groups[i];
        if (group->reason != VALIDATE_RANKING_NONE) continue;
        table_cell(&table, group->case_id);
        table_cell(&table, group->metric);
        table_cell(&table, group->load);
        table_cellf(&table, "%" PRIu32, group->plan_count);
        add_scores(&table, &group->predicted, &group->random, &group->widest,
                   group->plan_count > RANK_SCORE_TOP);
    }
    table_print(&table, out);
    table_free(&table);
}

// The first group of each reason stands as an example.
static void show_reasons(const ValidateRanking *ranking, Text *out) {
    Table table = {0};
    table_column(&table, "groups not scored", TABLE_LEFT);
    table_column(&table, "count", TABLE_RIGHT);
    table_column(&table, "first", TABLE_LEFT);
    for (uint32_t r = VALIDATE_RANKING_NONE + 1; r < VALIDATE_RANKING_REASON_COUNT; r++) {
        const ValidateRankingGroup *first = NULL;
        uint32_t count = 0;
        for (uint32_t i = 0; i < ranking->group_count; i++) {
            if (ranking->groups[i].reason != (ValidateRankingReason)r) continue;
            if (count++ == 0) first = &ranking->groups[i];
        }
        if (first == NULL) continue;
        table_cell(&table, validate_ranking_ask_reasons[r]);
        table_cellf(&table, "%" PRIu32, count);
        table_cellf(&table, "%s %s", first->case_id, first->metric);
        if (*first->text != '\0') table_note(&table, first->text);
    }
    table_print(&table, out);
    table_free(&table);
}

static void show_means(const ValidateRanking *ranking, Text *out) {
    Table table = {0};
    table_column(&table, "metric (mean over groups)", TABLE_LEFT);
    table_column(&table, "groups", TABLE_RIGHT);
    table_column(&table, "scored", TABLE_RIGHT);
    table_column(&table, "over 3 plans", TABLE_RIGHT);
    score_columns(&table);
    for (uint32_t i = 0; i < ranking->mean_count; i++) {
        const ValidateRankingMean *mean = &ranking->means[i];
        table_cellf(&table, "%s%s", mean->metric, mean->is_apart ? " (apart)" : "");
        table_cellf(&table, "%" PRIu32, mean->groups);
        table_cellf(&table, "%" PRIu32, mean->scored);
        table_cellf(&table, "%" PRIu32, mean->large);
        if (mean->scored > 0)
            add_scores(&table, &mean->predicted, &mean->random, &mean->widest, mean->large > 0);
        else
            for (uint32_t k = 0; k < 8; k++) table_cell(&table, "-");
    }
    table_print(&table, out);
    table_free(&table);
}

static void show_total(const ValidateRanking *ranking, Text *out) {
    const ValidateRankingMean *all = &ranking->all;
    text_addf(out,
              "%" PRIu32 " of %" PRIu32 " groups scored without those apart, %" PRIu32
              " plans simulated with constants that are not calibrated",
              all->scored, all->groups, ranking->simulated);
    if (all->scored > 0)
        text_addf(out,
                  "; mean tau %+.3f, regret %.1f %%; random order: 0, %.1f %%; widest TP: %+.3f, "
                  "%.1f %%",
                  all->predicted.tau, all->predicted.regret, all->random.regret, all->widest.tau,
                  all->widest.regret);
    if (all->large > 0)
        text_addf(out,
                  "; best plan among 3 in %" PRIu32
                  " larger groups: %.2f, random %.2f, widest TP %.2f",
                  all->large, all->predicted.top, all->random.top, all->widest.top);
    text_add_char(out, '\n');
}

void validate_ranking_show_table(const ValidateRanking *ranking, Text *out) {
    show_groups(ranking, out);
    text_add_char(out, '\n');
    show_reasons(ranking, out);
    text_add_char(out, '\n');
    show_means(ranking, out);
    text_add(out, "\ntau: Kendall's tau-b. regret: of the plan predicted best, in percent of the "
                  "best measured. top 3: the best measured plan is among the 3 predicted best, of "
                  "groups over 3 plans. apart: TTFT is that of an idle machine\n\n");
    show_total(ranking, out);
}

// ---- CSV

static void add_csv_scores(Table *table, const ValidateRankingGroup *group) {
    const RankScore *scores[] = {&group->predicted, &group->random, &group->widest};
    for (size_t i = 0; i < sizeof scores / sizeof scores[0]; i++) {
        if (group->reason != VALIDATE_RANKING_NONE) {
            for (uint32_t k = 0; k < 3; k++) table_cell(table, "");
            continue;
        }
        table_cell_exact(table, scores[i]->tau);
        table_cell_exact(table, scores[i]->regret);
        table_cell_exact(table, scores[i]->top);
    }
}

void validate_ranking_show_csv(const ValidateRanking *ranking, Text *out) {
    static const char *const columns[] = {
        "case_id",        "metric",        "load",
        "plans",          "tau",           "regret_percent",
        "top3",           "random_tau",    "random_regret_percent",
        "random_top3",    "widest_tp_tau", "widest_tp_regret_percent",
        "widest_tp_top3", "status",        "reason"};
    Table table = {0};
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        table_column(&table, columns[i], TABLE_LEFT);
    for (uint32_t i = 0; i < ranking->group_count; i++) {
        const ValidateRankingGroup *group = &ranking->groups[i];
        table_cell(&table, group->case_id);
        table_cell(&table, group->metric);
        table_cell(&table, group->load);
        table_cellf(&table, "%" PRIu32, group->plan_count);
        add_csv_scores(&table, group);
        table_cell(&table, validate_ranking_ask_reasons[group->reason]);
        table_cell(&table, group->text);
    }
    table_print_csv(&table, out);
    table_free(&table);
}

// ---- JSON

static void write_score(JsonWriter *w, const char *key, const RankScore *score, bool has_top) {
    jsonw_open_object(w, key);
    jsonw_double(w, "tau", score->tau);
    jsonw_double(w, "regret_percent", score->regret);
    if (has_top) jsonw_double(w, "top3", score->top);
    jsonw_close_object(w);
}

static void write_plans(JsonWriter *w, const ValidateRankingGroup *group) {
    jsonw_open_array(w, "plans");
    for (uint32_t i = 0; i < group->plan_count; i++) {
        const ValidateRankingPlan *plan = &group->plans[i];
        jsonw_inline_next(w);
        jsonw_open_object(w, NULL);
        if (*plan->label != '\0') {
            jsonw_string(w, "plan", plan->label);
            jsonw_double(w, "predicted", plan->predicted);
        }
        jsonw_double(w, "measured", plan->measured);
        jsonw_close_object(w);
    }
    jsonw_close_array(w);
}

static void write_group(JsonWriter *w, const ValidateRankingGroup *group) {
    bool has_top = group->plan_count > RANK_SCORE_TOP;
    jsonw_open_object(w, NULL);
    jsonw_string(w, "case_id", group->case_id);
    jsonw_string(w, "metric", group->metric);
    jsonw_string(w, "load", group->load);
    if (group->reason == VALIDATE_RANKING_NONE) {
        write_score(w, "predicted", &group->predicted, has_top);
        write_score(w, "random", &group->random, has_top);
        write_score(w, "widest_tp", &group->widest, has_top);
    } else {
        jsonw_string(w, "not_scored", validate_ranking_ask_reasons[group->reason]);
        jsonw_string(w, "reason", group->text);
    }
    write_plans(w, group);
    jsonw_close_object(w);
}

static void write_mean(JsonWriter *w, const char *key, const ValidateRankingMean *mean) {
    jsonw_open_object(w, key);
    if (mean->metric != NULL) {
        jsonw_string(w, "metric", mean->metric);
        jsonw_bool(w, "apart", mean->is_apart);
    }
    jsonw_u64(w, "groups", mean->groups);
    jsonw_u64(w, "scored", mean->scored);
    jsonw_u64(w, "over_3_plans", mean->large);
    if (mean->scored > 0) {
        write_score(w, "predicted", &mean->predicted, mean->large > 0);
        write_score(w, "random", &mean->random, mean->large > 0);
        write_score(w, "widest_tp", &mean->widest, mean->large > 0);
    }
    jsonw_close_object(w);
}

void validate_ranking_show_json(const ValidateRanking *ranking, Text *out) {
    JsonWriter w = {.text = out};
    jsonw_open_object(&w, NULL);
    jsonw_string(&w, "moesim", "validation of rankings");
    jsonw_u64(&w, "version", VALIDATE_RANKING_JSON_VERSION);
    jsonw_open_array(&w, "groups");
    for (uint32_t i = 0; i < ranking->group_count; i++) write_group(&w, &ranking->groups[i]);
    jsonw_close_array(&w);
    jsonw_open_array(&w, "metrics");
    for (uint32_t i = 0; i < ranking->mean_count; i++) write_mean(&w, NULL, &ranking->means[i]);
    jsonw_close_array(&w);
    write_mean(&w, "all_but_apart", &ranking->all);
    jsonw_u64(&w, "plans_simulated", ranking->simulated);
    jsonw_close_object(&w);
    jsonw_finish(&w);
}
