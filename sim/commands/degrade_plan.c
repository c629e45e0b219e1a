// What faults cost plans.
//
// Invariant: both sides of every comparison are simulated from the same inputs but for the faults;
// tok/s/GPU counts all GPUs of the machine, dead ones too, so that a lost GPU shows as a loss.
#include "sim/commands/degrade_plan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/base/table.h"
#include "model/machine/fabric_fault.h"
#include "model/machine/fabric_loss.h"
#include "sim/commands/degrade.h"
#include "sim/commands/output.h"
#include "sim/commands/saved.h"
#include "sim/search/space_place.h"

#define REASONS_MAX 16

bool degrade_plan_rank_built(const Inputs *inputs, Ranking *out, Err *err) {
    EvaluateInput input = inputs_for_ranking(inputs);
    Fabric built = fabric_as_built(&inputs->fabric);
    *out = (Ranking){0};
    if (!fabric_has_faults(&inputs->fabric)) return true;
    input.fabric = &built;
    return rank_plans(&input, &inputs->experts, out, err);
}

// ---- Plans that are not feasible any more

typedef struct Lost {
    const char *reason; // a template
    uint32_t count;
    const RankRow *best; // of the machine as built
    Err text;            // for the best
} Lost;

typedef struct LostList {
    Lost items[REASONS_MAX];
    uint32_t count, total;
} LostList;

// Plans are the same wherever they begin: with slow GPUs they may begin elsewhere.
static Digest digest_of(const Plan *plan) {
    Plan copy = *plan;
    for (uint32_t i = 0; i < copy.pool_count; i++) copy.pools[i].first_gpu = 0;
    return plan_digest(&copy);
}

static bool has_digest(const Digest *sorted, uint32_t count, Digest digest) {
    return count > 0 && bsearch(&digest, sorted, count, sizeof digest, hash_compare) != NULL;
}

static void add_limit(Text *text, const char *what, Time time_ps, Time limit_ps) {
    char time[UNITS_TEXT_MAX], limit[UNITS_TEXT_MAX];
    if (limit_ps == 0 || time_ps <= limit_ps) return;
    text_addf(text, "%s%s %s is over the limit of %s", text->length > 0 ? ", " : "", what,
              units_format_time(time_ps, time), units_format_time(limit_ps, limit));
}

// What became of a candidate that is not in the ranking: it is simulated once more, because the
// ledger has the text of the nearest miss alone.
static const char *why_dropped(const Inputs *in, const RankRow *row, Err *reason) {
    EvaluateInput input = inputs_for_evaluation(in);
    Evaluation evaluation;
    Plan plan = row->plan;
    Text text = {0};
    plan.pools[0].first_gpu = fabric_fault_start(&in->fabric, pool_ranks(&plan.pools[0]));
    if (!evaluate_plan(&input, &plan, row->sequences, &evaluation, reason)) return "no data";
    add_limit(&text, "TTFT", evaluation.ttft_ps, in->scenario.ttft_limit_ps);
    add_limit(&text, "TPOT", evaluation.tpot_ps, in->scenario.tpot_limit_ps);
    err_set(reason, "%s", text_string(&text));
    text_free(&text);
    evaluate_free(&evaluation);
    return "over a limit";
}

static const char *find_reason(const Inputs *in, bool is_candidate, const RankRow *row, Err *text) {
    const Pool *pool = &row->plan.pools[0];
    uint32_t live = fabric_live_gpu_count(&in->fabric);
    if (plan_gpus(&row->plan) > live) {
        err_set(text, "needs %u GPUs, %u are alive", plan_gpus(&row->plan), live);
        return "too few live GPUs";
    }
    if (is_candidate) return why_dropped(in, row, text);
    PlaceFault fault =
        space_place_untried(&in->fabric, &in->arch, fabric_live_gpu_count(&in->fabric), pool, text);
    if (fault.reason == NULL) fault = space_place_fault(&in->fabric, pool, text);
    if (fault.reason == NULL) fault = space_place_dear(&in->fabric, &in->arch, live, pool, text);
    if (fault.reason != NULL) return fault.reason;
    err_set(text, "another number of replicas fills the live GPUs");
    return "not searched";
}

static void add_lost(LostList *list, const char *reason, const Err *text, const RankRow *row) {
    uint32_t i = 0;
    list->total++;
    while (i < list->count && strcmp(list->items[i].reason, reason) != 0) i++;
    if (i == REASONS_MAX) return; // counted in the total
    Lost *lost = &list->items[i];
    if (i == list->count) {
        list->count++;
        *lost = (Lost){.reason = reason, .best = row, .text = *text};
    }
    lost->count++;
}

// Rows come best first, so that the first of a reason is its best.
static void find_lost(const Inputs *in, const Ranking *built, const Ranking *left, LostList *out) {
    Digest *rows = mem_alloc(left->row_count, sizeof *rows);
    Digest *candidates = mem_alloc(left->space.candidate_count, sizeof *candidates);
    for (uint32_t i = 0; i < left->row_count; i++) rows[i] = digest_of(&left->rows[i].plan);
    for (uint32_t i = 0; i < left->space.candidate_count; i++)
        candidates[i] = digest_of(&left->space.candidates[i].plan);
    if (left->row_count > 0) qsort(rows, left->row_count, sizeof *rows, hash_compare);
    if (left->space.candidate_count > 0)
        qsort(candidates, left->space.candidate_count, sizeof *candidates, hash_compare);
    *out = (LostList){0};
    for (uint32_t i = 0; i < built->row_count; i++) {
        const RankRow *row = &built->rows[i];
        Digest digest = digest_of(&row->plan);
        Err text = {{0}};
        if (has_digest(rows, left->row_count, digest)) continue;
        bool is_candidate = has_digest(candidates, left->space.candidate_count, digest);
        const char *reason = find_reason(in, is_candidate, row, &text);
        add_lost(out, reason, &text, row);
    }
    mem_free(rows);
    mem_free(candidates);
}

// The plan of one ranking in the other one, or NULL.
static const RankRow *find_row(const Ranking *ranking, const Plan *plan) {
    Digest digest = digest_of(plan);
    for (uint32_t i = 0; i < ranking->row_count; i++)
        if (digest_of(&ranking->rows[i].plan) == digest) return &ranking->rows[i];
    return NULL;
}

// ---- For people

static void add_change(Table *table, double before, double after) {
    if (before > 0 && after > 0)
        table_cellf(table, "%+.1f %%", 100 * (after / before - 1));
    else
        table_cell(table, "");
}

static void add_plan_row(Table *table, const char *what, const RankRow *before,
                         const RankRow *after) {
    char label[PLAN_TEXT_MAX], number[OUTPUT_NUMBER_MAX];
    const RankRow *known = after != NULL ? after : before;
    if (known == NULL) return;
    double built = before == NULL ? 0 : before->evaluation.tok_s_per_gpu;
    double left = after == NULL ? 0 : after->evaluation.tok_s_per_gpu;
    table_cell(table, what);
    table_cell(table, plan_label(&known->plan, label));
    table_cell(table, before == NULL ? "not ranked" : output_number(built, number));
    table_cell(table, after == NULL ? "not feasible" : output_number(left, number));
    add_change(table, built, left);
}

static void show_best(const Ranking *built, const Ranking *left, Text *out) {
    Table table = {0};
    static const char *const headers[] = {"tok/s/GPU", "plan", "as built", "with faults", "change"};
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        table_column(&table, headers[i], i < 2 ? TABLE_LEFT : TABLE_RIGHT);
    const RankRow *before = &built->rows[0];
    const RankRow *after = left->row_count > 0 ? &left->rows[0] : NULL;
    add_plan_row(&table, "best as built", before, find_row(left, &before->plan));
    if (after != NULL)
        add_plan_row(&table, "best with faults", find_row(built, &after->plan), after);
    table_print(&table, out);
    table_free(&table);
    if (after != NULL)
        text_addf(out, "the best tok/s/GPU changes by %+.1f %%\n",
                  100 * (after->evaluation.tok_s_per_gpu / before->evaluation.tok_s_per_gpu - 1));
}

static void show_lost(const LostList *list, Text *out) {
    Table table = {0};
    char label[PLAN_TEXT_MAX];
    if (list->total == 0) {
        text_add(out, "every plan that is feasible as built is feasible with the faults\n");
        return;
    }
    table_column(&table, "plans", TABLE_RIGHT);
    table_column(&table, "not feasible with the faults because; the best of them", TABLE_LEFT);
    for (uint32_t i = 0; i < list->count; i++) {
        const Lost *lost = &list->items[i];
        Text note = {0};
        text_addf(&note, "%s: %s", plan_label(&lost->best->plan, label), lost->text.text);
        table_cellf(&table, "%" PRIu32, lost->count);
        table_cell(&table, lost->reason);
        table_note(&table, text_string(&note));
        text_free(&note);
    }
    table_print(&table, out);
    table_free(&table);
}

// Where plans are put on a machine of several domains.
static void show_placement(const Fabric *fabric, Text *out) {
    const FabricFaults *faults = fabric->faults;
    uint32_t domains = fabric->gpu_count / faults->domain_gpus;
    if (faults->broken_count > 0 && faults->broken_count < domains)
        text_addf(out,
                  "ranks fill the %" PRIu32 " domains of %" PRIu32
                  " GPUs without a dead one first, then those with one\n",
                  domains - faults->broken_count, faults->domain_gpus);
    if (faults->slow_count > 0 && domains > 1)
        text_addf(out,
                  "a plan of fewer GPUs begins at the domain of %" PRIu32
                  " GPUs from which on it takes the fewest slow ones; one that is said to be down "
                  "has its domain filled last\n",
                  faults->domain_gpus);
}

static void show_costs(const Inputs *in, Text *out) {
    FabricLoss loss;
    Err ignored = {{0}};
    text_add(out, "\ndegraded: ");
    degrade_show_faults(&in->topology, out);
    text_addf(out, "; %" PRIu32 " of %" PRIu32 " GPUs are alive\n",
              fabric_live_gpu_count(&in->fabric), in->fabric.gpu_count);
    show_placement(&in->fabric, out);
    if (fabric_loss_find(&in->fabric, &loss, &ignored)) degrade_show_worst(&in->fabric, &loss, out);
    degrade_show_libraries(&in->fabric, &in->libraries, 0, out);
}

void degrade_plan_show_ranking(const Inputs *inputs, const Ranking *built, const Ranking *left,
                               Text *out) {
    LostList lost;
    if (!fabric_has_faults(&inputs->fabric)) return;
    show_costs(inputs, out);
    if (built->row_count == 0) {
        text_add(out, "no plan is feasible on the machine as built either\n");
        return;
    }
    find_lost(inputs, built, left, &lost);
    show_best(built, left, out);
    show_lost(&lost, out);
}

// ---- For programs

static void write_best(JsonWriter *w, const char *key, const Ranking *ranking) {
    char label[PLAN_TEXT_MAX];
    if (ranking->row_count == 0) {
        jsonw_null(w, key);
        return;
    }
    jsonw_open_object(w, key);
    jsonw_string(w, "plan", plan_label(&ranking->rows[0].plan, label));
    jsonw_double(w, "output_tok_per_s_per_gpu", ranking->rows[0].evaluation.tok_s_per_gpu);
    jsonw_close_object(w);
}

void degrade_plan_write_ranking(JsonWriter *w, const Inputs *inputs, const Ranking *built,
                                const Ranking *left) {
    LostList lost;
    char label[PLAN_TEXT_MAX];
    if (!fabric_has_faults(&inputs->fabric)) return;
    find_lost(inputs, built, left, &lost);
    jsonw_open_object(w, "degraded");
    jsonw_u64(w, "live_gpus", fabric_live_gpu_count(&inputs->fabric));
    jsonw_u64(w, "slow_gpus", inputs->fabric.faults->slow_count);
    jsonw_u64(w, "domain_gpus", inputs->fabric.faults->domain_gpus);
    jsonw_u64(w, "domains_filled_last", inputs->fabric.faults->broken_count);
    write_best(w, "best_as_built", built);
    write_best(w, "best_with_faults", left);
    jsonw_u64(w, "plans_feasible_as_built", built->row_count);
    jsonw_u64(w, "plans_lost", lost.total);
    jsonw_open_array(w, "lost");
    for (uint32_t i = 0; i < lost.count; i++) {
        jsonw_open_object(w, NULL);
        jsonw_string(w, "reason", lost.items[i].reason);
        jsonw_u64(w, "plans", lost.items[i].count);
        jsonw_string(w, "best_plan", plan_label(&lost.items[i].best->plan, label));
        jsonw_string(w, "best_plan_reason", lost.items[i].text.text);
        jsonw_close_object(w);
    }
    jsonw_close_array(w);
    jsonw_close_object(w);
}

// ---- A saved plan

bool degrade_plan_price(const CliArgs *args, const Plan *plan, Inputs *inputs, DegradePlan *out,
                        Err *err) {
    DegradePlan priced = {.is_given = cli_is_given(args, "degrade")};
    if (priced.is_given && !inputs_degrade(args, inputs, err)) return false;
    uint64_t last = (uint64_t)plan->pools[0].first_gpu + plan_gpus(plan);
    uint32_t live = fabric_live_gpu_count(&inputs->fabric);
    if (!priced.is_given) {
        // nothing to compare
    } else if (last > live) {
        err_set(&priced.reason,
                "not feasible: the plan uses %" PRIu64 " GPUs, %" PRIu32 " are alive", last, live);
    } else {
        EvaluateInput input = inputs_for_evaluation(inputs);
        priced.is_priced =
            evaluate_plan(&input, plan, inputs->sequences, &priced.evaluation, &priced.reason);
        if (!priced.is_priced) err_prefix(&priced.reason, "no data");
    }
    *out = priced;
    return true;
}

static void add_time_row(Table *table, const char *what, Time before, Time after) {
    char text[UNITS_TEXT_MAX];
    table_cell(table, what);
    table_cell(table, units_format_time(before, text));
    table_cell(table, units_format_time(after, text));
    add_change(table, (double)before, (double)after);
}

// The limits that the plan was saved under.
static void show_limits(const Inputs *in, const Evaluation *after, Text *out) {
    Text text = {0};
    add_limit(&text, "TTFT", after->ttft_ps, in->scenario.ttft_limit_ps);
    add_limit(&text, "TPOT", after->tpot_ps, in->scenario.tpot_limit_ps);
    if (text.length > 0) text_addf(out, "%s\n", text_string(&text));
    text_free(&text);
}

void degrade_plan_show(const Inputs *inputs, const Evaluation *before, const DegradePlan *after,
                       Text *out) {
    Table table = {0};
    char number[OUTPUT_NUMBER_MAX];
    if (!after->is_given) return;
    show_costs(inputs, out);
    if (!after->is_priced) {
        text_addf(out, "%s\n", after->reason.text);
        return;
    }
    static const char *const headers[] = {"the same plan", "before", "with faults", "change"};
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        table_column(&table, headers[i], i == 0 ? TABLE_LEFT : TABLE_RIGHT);
    add_time_row(&table, "TTFT", before->ttft_ps, after->evaluation.ttft_ps);
    add_time_row(&table, "TPOT", before->tpot_ps, after->evaluation.tpot_ps);
    table_cell(&table, "tok/s/GPU");
    table_cell(&table, output_number(before->tok_s_per_gpu, number));
    table_cell(&table, output_number(after->evaluation.tok_s_per_gpu, number));
    add_change(&table, before->tok_s_per_gpu, after->evaluation.tok_s_per_gpu);
    table_print(&table, out);
    table_free(&table);
    show_limits(inputs, &after->evaluation, out);
}

void degrade_plan_write(JsonWriter *w, const DegradePlan *after) {
    if (!after->is_given) return;
    jsonw_open_object(w, "degraded");
    jsonw_bool(w, "priced", after->is_priced);
    if (after->is_priced)
        saved_write_figures(w, &after->evaluation);
    else
        jsonw_string(w, "reason", after->reason.text);
    jsonw_close_object(w);
}

void degrade_plan_free(DegradePlan *plan) {
    if (plan->is_priced) evaluate_free(&plan->evaluation);
    *plan = (DegradePlan){0};
}
