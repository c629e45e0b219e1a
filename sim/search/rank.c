// Ranking by simulation: nothing is estimated first and pruned, every candidate is simulated.
//
// Invariants: rows and ledger together account for every plan considered; the order depends on the
// figures and then on the numbers of the plans alone. Ties: both plans are scaled by the same draw
// of all constants, so that what they share cancels (common random numbers: Law, "Simulation
// Modeling and Analysis", chapter 11); a plan ties when the central 95 % of the ratios hold 1.
#include "sim/search/rank.h"

#include <stdlib.h>

#include "model/base/mem.h"
#include "model/base/progress.h"

// nearest-rank percentiles of RANK_DRAWS sorted values: 2.5 % is the 5th of 200, 97.5 % the 195th
#define LOW_INDEX  (RANK_DRAWS / 40 - 1)
#define HIGH_INDEX (RANK_DRAWS - RANK_DRAWS / 40 - 1)

static int compare_numbers(uint64_t a, uint64_t b) {
    return (a > b) - (a < b);
}

static int compare_doubles(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static int compare_plans(const Plan *left, const Plan *right) {
    const Pool *a = &left->pools[0], *b = &right->pools[0];
    const uint32_t numbers[][2] = {{plan_gpus(left), plan_gpus(right)},
                                   {a->tp, b->tp},
                                   {a->pp, b->pp},
                                   {a->dp, b->dp},
                                   {a->ep, b->ep},
                                   {a->moe_tp, b->moe_tp},
                                   {a->replicas, b->replicas},
                                   {a->moe_comm, b->moe_comm},
                                   {a->micro_batches, b->micro_batches},
                                   {a->prefill_overlap, b->prefill_overlap},
                                   {a->decode_overlap, b->decode_overlap}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        int order = compare_numbers(numbers[i][0], numbers[i][1]);
        if (order != 0) return order;
    }
    return compare_numbers(plan_digest(left), plan_digest(right));
}

static int compare_rows(const void *left, const void *right) {
    const RankRow *a = left, *b = right;
    double of_a = a->evaluation.tok_s_per_gpu, of_b = b->evaluation.tok_s_per_gpu;
    int order = compare_doubles(&of_b, &of_a); // larger first
    return order != 0 ? order : compare_plans(&a->plan, &b->plan);
}

// ---- Limits

// How far a time is over its limit, as a part of the limit; negative when within, or without a
// limit.
static double overshoot(Time time_ps, Time limit_ps) {
    if (limit_ps == 0) return -1;
    return (double)time_ps / (double)limit_ps - 1;
}

static void describe_miss(Text *text, const char *what, Time time_ps, Time limit_ps) {
    char time[UNITS_TEXT_MAX], limit[UNITS_TEXT_MAX];
    if (overshoot(time_ps, limit_ps) <= 0) return;
    text_addf(text, "%s%s %s is over the limit of %s", text->length > 0 ? ", " : "", what,
              units_format_time(time_ps, time), units_format_time(limit_ps, limit));
}

// True when the plan keeps both limits; else the ledger has it.
static bool keep_limits(const EvaluateInput *input, const Plan *plan, const Evaluation *evaluation,
                        Space *space) {
    const Scenario *scenario = input->scenario;
    double ttft = overshoot(evaluation->ttft_ps, scenario->ttft_limit_ps);
    double tpot = overshoot(evaluation->tpot_ps, scenario->tpot_limit_ps);
    if (ttft <= 0 && tpot <= 0) return true;
    const char *reason = tpot <= 0   ? "TTFT over the limit"
                         : ttft <= 0 ? "TPOT over the limit"
                                     : "TTFT and TPOT over the limits";
    Text text = {0};
    describe_miss(&text, "TTFT", evaluation->ttft_ps, scenario->ttft_limit_ps);
    describe_miss(&text, "TPOT", evaluation->tpot_ps, scenario->tpot_limit_ps);
    space_reject(space, LEDGER_MISSES_LIMIT, reason, ttft > tpot ? ttft : tpot, plan,
                 text_string(&text));
    text_free(&text);
    return false;
}

// ---- Simulation of all

static void add_row(Ranking *ranking, const Candidate *candidate, const Evaluation *evaluation) {
    ranking->rows = mem_grow(ranking->rows, &ranking->row_capacity, ranking->row_count + 1,
                             sizeof *ranking->rows);
    ranking->rows[ranking->row_count++] = (RankRow){.plan = candidate->plan,
                                                    .memory = candidate->memory,
                                                    .sequences = candidate->sequences,
                                                    .note = candidate->note,
                                                    .evaluation = *evaluation};
}

// `figures` gets tok/s/GPU of each plan that was simulated.
static void simulate_all(const EvaluateInput *given, Ranking *ranking, double *figures) {
    Progress progress;
    EvaluateInput remembering = *given, *input = &remembering;
    input->memory = evaluate_memory_open(given);
    progress_start(&progress, "simulating plans", ranking->space.candidate_count);
    for (uint32_t i = 0; i < ranking->space.candidate_count; i++) {
        Candidate candidate = ranking->space.candidates[i];
        Evaluation evaluation;
        Err reason = {0};
        if (!evaluate_plan(input, &candidate.plan, candidate.sequences, &evaluation, &reason)) {
            space_reject(&ranking->space, LEDGER_NO_DATA, "cannot be simulated", 0, &candidate.plan,
                         reason.text);
        } else {
            figures[ranking->simulated++] = evaluation.tok_s_per_gpu;
            if (keep_limits(input, &candidate.plan, &evaluation, &ranking->space))
                add_row(ranking, &candidate, &evaluation);
            else
                evaluate_free(&evaluation);
        }
        progress_step(&progress, i + 1);
    }
    progress_end(&progress);
    evaluate_memory_close(input->memory);
}

static double median(double *figures, uint32_t count) {
    if (count == 0) return 0;
    qsort(figures, count, sizeof *figures, compare_doubles);
    return count % 2 == 1 ? figures[count / 2] : (figures[count / 2 - 1] + figures[count / 2]) / 2;
}

// ---- Ties

// Throughput is requests x osl / cycle: its ratio is that of requests / cycle.
static double drawn_rate(const Evaluation *evaluation, const EvaluateParts *factors) {
    return (double)evaluation->requests / evaluate_drawn_cycle_s(evaluation, factors);
}

static void find_ties(const Calib *calib, Ranking *ranking) {
    if (ranking->row_count == 0) return;
    EvaluateParts *draws = mem_alloc(RANK_DRAWS, sizeof *draws);
    double *leader = mem_alloc(RANK_DRAWS, sizeof *leader);
    double *ratios = mem_alloc(RANK_DRAWS, sizeof *ratios);
    for (uint32_t d = 0; d < RANK_DRAWS; d++) {
        evaluate_draw(calib, RANK_SEED, d, &draws[d]);
        leader[d] = drawn_rate(&ranking->rows[0].evaluation, &draws[d]);
    }
    for (uint32_t i = 0; i < ranking->row_count; i++) {
        RankRow *row = &ranking->rows[i];
        for (uint32_t d = 0; d < RANK_DRAWS; d++)
            ratios[d] = drawn_rate(&row->evaluation, &draws[d]) / leader[d];
        qsort(ratios, RANK_DRAWS, sizeof *ratios, compare_doubles);
        row->ratio_low = ratios[LOW_INDEX];
        row->ratio_high = ratios[HIGH_INDEX];
        row->ties = i > 0 && row->ratio_low <= 1 && row->ratio_high >= 1;
        if (row->ties) ranking->ties++;
    }
    ranking->rows[0].ties = ranking->ties > 0;
    mem_free(draws);
    mem_free(leader);
    mem_free(ratios);
}

bool rank_plans(const EvaluateInput *input, const SpaceExperts *experts, Ranking *out, Err *err) {
    Ranking ranking = {0};
    if (!space_build(input->fabric, input->arch, input->scenario, experts, &ranking.space, err))
        return false;
    double *figures = mem_alloc(ranking.space.candidate_count, sizeof *figures);
    simulate_all(input, &ranking, figures);
    ranking.median_tok_s_per_gpu = median(figures, ranking.simulated);
    mem_free(figures);
    if (ranking.row_count > 0)
        qsort(ranking.rows, ranking.row_count, sizeof *ranking.rows, compare_rows);
    find_ties(input->model->calib, &ranking);
    *out = ranking;
    return true;
}

void rank_free(Ranking *ranking) {
    for (uint32_t i = 0; i < ranking->row_count; i++) evaluate_free(&ranking->rows[i].evaluation);
    mem_free(ranking->rows);
    space_free(&ranking->space);
    *ranking = (Ranking){0};
}
