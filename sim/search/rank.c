// Ranking by simulation: plans that bounds keep out of the table are not simulated.
//
// Method: branch and bound without branches (Land, Doig, "An Automatic Method of Solving Discrete
// Programming Problems", Econometrica 28, 1960): candidates are simulated in the order of their
// bounds, until none that is left can reach the rows that are shown, tie with the first, or stand
// on the front.
//
// Invariants: rows and ledger together account for every plan considered; the rows that are shown
// are those of simulating everything; the order depends on the figures and then on the numbers of
// the plans alone.
#include "sim/search/rank.h"

#include <stdlib.h>

#include "model/base/mem.h"
#include "model/base/num.h"
#include "model/base/progress.h"
#include "model/plan/pool_place.h"
#include "sim/search/evaluate_memory.h"
#include "sim/search/rank_tie.h"
#include "sim/search/space_context.h"

#define NEVER_BEATEN 1e300 // a score
#define MISSES_MAX   16    // plans that bounds put over a limit, simulated for the nearest

// Transfers of a plan on an irregular machine of which no two are alike: about a second of
// simulation. Plans that lie evenly on a machine of 512 GPUs have a few thousand.
#define CLASSES_MAX 8192

static int compare_numbers(uint64_t a, uint64_t b) {
    return (a > b) - (a < b);
}

int rank_compare_plans(const Plan *left, const Plan *right) {
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

bool rank_keeps_limits(const Scenario *scenario, const Evaluation *evaluation, Text *over) {
    describe_miss(over, "TTFT", evaluation->ttft_ps, scenario->ttft_limit_ps);
    describe_miss(over, "TPOT", evaluation->tpot_ps, scenario->tpot_limit_ps);
    return over->length == 0;
}

// True when the plan keeps both limits; else the ledger has it.
static bool keep_limits(const EvaluateInput *input, const Plan *plan, const Evaluation *evaluation,
                        Space *space) {
    const Scenario *scenario = input->scenario;
    double ttft = overshoot(evaluation->ttft_ps, scenario->ttft_limit_ps);
    double tpot = overshoot(evaluation->tpot_ps, scenario->tpot_limit_ps);
    Text text = {0};
    if (rank_keeps_limits(scenario, evaluation, &text)) return true;
    const char *reason = tpot <= 0   ? "TTFT over the limit"
                         : ttft <= 0 ? "TPOT over the limit"
                                     : "TTFT and TPOT over the limits";
    space_reject(space, LEDGER_MISSES_LIMIT, reason, ttft > tpot ? ttft : tpot, plan,
                 text_string(&text));
    text_free(&text);
    return false;
}

// ---- Contenders

// BEATEN: not to be looked at again.
typedef enum ContenderState {
    CONTENDER_OPEN,
    CONTENDER_BEATEN,
    CONTENDER_MISSES,
    CONTENDER_DONE
} ContenderState;

// A candidate and its bounds.
typedef struct Contender {
    uint32_t candidate;
    ContenderState state;
    double score, tok_s_per_gpu, tok_s_per_user; // at most
    double overshoot;                            // of the limits, at least
    Time ttft_ps, tpot_ps;                       // at least
    EvaluateParts parts;                         // of the objective
} Contender;

typedef struct Search {
    const EvaluateInput *input;
    const RankOptions *options;
    const SpaceOptions *space;
    Ranking *ranking;
    Contender *contenders; // heap; best bound first, then neighbours of leaders
    uint32_t count, capacity;
    uint32_t enumerated; // candidates before neighbours
    double *best;        // scores of the best rows, best first, [top]
    uint32_t best_count, top, done;
    double *figures; // tok/s/GPU of all candidates, for the median
    Progress progress;
} Search;

static int compare_contenders(const void *left, const void *right) {
    const Contender *a = left, *b = right;
    int order = num_compare_doubles(&b->score, &a->score); // larger first
    return order != 0 ? order : compare_numbers(a->candidate, b->candidate);
}

static double worst_overshoot(const Scenario *scenario, Time ttft_ps, Time tpot_ps) {
    double ttft = overshoot(ttft_ps, scenario->ttft_limit_ps);
    double tpot = overshoot(tpot_ps, scenario->tpot_limit_ps);
    return ttft > tpot ? ttft : tpot;
}

// As the space finds them. A plan that cannot be evaluated at all is open with the best of scores,
// so that simulating it says why.
static void bound_candidate(void *context, const Space *space, uint32_t index, FitMemory *fits) {
    Search *search = context;
    const Candidate *candidate = &space->candidates[index];
    const Scenario *scenario = search->input->scenario;
    Evaluation bound;
    Err reason = {0};
    search->contenders = mem_grow(search->contenders, &search->capacity, search->count + 1,
                                  sizeof *search->contenders);
    Contender *out = &search->contenders[search->count++];
    *out = (Contender){.candidate = index, .score = NEVER_BEATEN};
    search->input->memory->lowered = fits;
    bool done =
        evaluate_bound(search->input, &candidate->plan, candidate->sequences, &bound, &reason);
    search->input->memory->lowered = NULL;
    progress_step(&search->progress, search->count);
    if (!done) return;
    *out = (Contender){.candidate = index,
                       .score = objective_score(search->options->objective, &bound),
                       .tok_s_per_gpu = bound.tok_s_per_gpu,
                       .tok_s_per_user = bound.tok_s_per_user,
                       .overshoot = worst_overshoot(scenario, bound.ttft_ps, bound.tpot_ps),
                       .ttft_ps = bound.ttft_ps,
                       .tpot_ps = bound.tpot_ps,
                       .parts = *objective_parts(search->options->objective, &bound)};
    if (out->overshoot > 0 && search->options->scope != RANK_ALL) out->state = CONTENDER_MISSES;
}

// ---- Simulation

static void add_row(Search *search, const Candidate *candidate, const Evaluation *evaluation) {
    Ranking *ranking = search->ranking;
    double score = objective_score(ranking->objective, evaluation);
    ranking->rows = mem_grow(ranking->rows, &ranking->row_capacity, ranking->row_count + 1,
                             sizeof *ranking->rows);
    ranking->rows[ranking->row_count++] = (RankRow){.plan = candidate->plan,
                                                    .memory = candidate->memory,
                                                    .sequences = candidate->sequences,
                                                    .note = candidate->note,
                                                    .evaluation = *evaluation};
    uint32_t at = search->best_count < search->top ? search->best_count++ : search->top;
    for (; at > 0 && search->best[at - 1] < score; at--)
        if (at < search->top) search->best[at] = search->best[at - 1];
    if (at < search->top) search->best[at] = score;
}

// Returns how far it is over a limit; 0 or below: a row.
static double simulate(Search *search, Contender *contender) {
    Ranking *ranking = search->ranking;
    Candidate candidate = ranking->space.candidates[contender->candidate];
    const Scenario *scenario = search->input->scenario;
    Evaluation evaluation;
    Err reason = {0};
    contender->state = CONTENDER_DONE;
    progress_step(&search->progress, ++search->done);
    if (!evaluate_plan(search->input, &candidate.plan, candidate.sequences, &evaluation, &reason)) {
        space_reject(&ranking->space, LEDGER_NO_DATA, "cannot be simulated", 0, &candidate.plan,
                     reason.text);
        contender->tok_s_per_gpu = 0;
        return 0;
    }
    ranking->simulated++;
    contender->tok_s_per_gpu = evaluation.tok_s_per_gpu;
    if (keep_limits(search->input, &candidate.plan, &evaluation, &ranking->space)) {
        add_row(search, &candidate, &evaluation);
        return 0;
    }
    double over = worst_overshoot(scenario, evaluation.ttft_ps, evaluation.tpot_ps);
    evaluate_free(&evaluation);
    return over;
}

static void simulate_leaders(Search *search, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        Contender *contender = &search->contenders[i];
        bool is_beaten =
            search->best_count == search->top && contender->score < search->best[search->top - 1];
        if (is_beaten && search->options->scope != RANK_ALL) return;
        if (contender->state == CONTENDER_OPEN) simulate(search, contender);
    }
}

// ---- Around the leaders

// Two leaders may have a neighbour in common.
static bool is_tried(const Search *search, const Plan *plan) {
    const Space *space = &search->ranking->space;
    Digest digest = plan_digest(plan);
    for (uint32_t i = search->enumerated; i < space->candidate_count; i++)
        if (plan_digest(&space->candidates[i].plan) == digest) return true;
    return false;
}

// A neighbour that is no better is no row of its own.
static void drop_row(Search *search, double score) {
    Ranking *ranking = search->ranking;
    RankRow *row = &ranking->rows[--ranking->row_count];
    double own = objective_score(ranking->objective, &row->evaluation);
    Err text = {0};
    err_set(&text, "simulated: %.2f %% behind", (score / own - 1) * 100);
    space_reject(&ranking->space, LEDGER_PRUNED,
                 "a neighbour of a plan shown that is no better than it", score / own - 1,
                 &row->plan, text.text);
    evaluate_free(&row->evaluation);
}

// `score` is the leader's.
static void try_plan(Search *search, const Plan *plan, double score) {
    uint32_t before = search->count, rows = search->ranking->row_count;
    const EvaluateInput *input = search->input;
    Err ignored = {0}; // the device was found before
    if (is_tried(search, plan)) return;
    space_try(input->fabric, input->arch, input->scenario, search->space, plan,
              &search->ranking->space, &ignored);
    if (search->count == before) return;
    Contender *contender = &search->contenders[before];
    if (contender->state != CONTENDER_OPEN) return;
    if (contender->score <= score) {
        contender->state = CONTENDER_BEATEN;
        return;
    }
    simulate(search, contender);
    const RankRow *last = &search->ranking->rows[rows];
    if (search->ranking->row_count > rows &&
        objective_score(search->ranking->objective, &last->evaluation) <= score)
        drop_row(search, score);
}

// Caches dealt to all ranks that hold copies: what the space leaves out as too little.
static void try_dealt(Search *search, const Plan *leader, double score) {
    Plan plan = *leader;
    uint32_t most = space_context_most_dealt(&leader->pools[0], search->input->arch);
    if (most == 1 || leader->pools[0].dcp > 0 || leader->pools[0].cp > 1) return;
    plan.pools[0].dcp = most;
    try_plan(search, &plan, score);
}

// The ranks in another order, where that can differ.
static void try_placements(Search *search, const Plan *leader, double score) {
    if (search->options->width.placements != 0) return;
    for (uint32_t p = 0; p < PLACEMENT_COUNT; p++) {
        Plan plan = *leader;
        plan.pools[0].placement = (Placement)p;
        if (pool_place_differs(search->input->fabric, &plan.pools[0]))
            try_plan(search, &plan, score);
    }
}

// One thing at a time.
static void try_neighbours(Search *search, const Plan *leader, double score) {
    static const uint32_t chunks[] = {2, 4};
    const Pool *pool = &leader->pools[0];
    Plan plan = *leader;
    if (pool->moe_comm == MOE_COMM_ALL_TO_ALL && pool->prefill_overlap != OVERLAP_NONE) {
        plan.pools[0].prefill_overlap = plan.pools[0].decode_overlap = OVERLAP_NONE;
        try_plan(search, &plan, score);
    }
    for (size_t i = 0; pool->moe_comm == MOE_COMM_ALL_TO_ALL && i < 2; i++) {
        plan = *leader;
        plan.pools[0].moe_chunks = chunks[i];
        plan.pools[0].prefill_overlap = plan.pools[0].decode_overlap = OVERLAP_SHARED;
        try_plan(search, &plan, score);
    }
    try_dealt(search, leader, score);
    try_placements(search, leader, score);
    if (pool->pp == 1) return;
    plan = *leader;
    plan.pools[0].micro_batches = 2 * pool->pp;
    try_plan(search, &plan, score);
}

// The next best row after `last`, or the best.
static const RankRow *next_row(const Search *search, const RankRow *last) {
    const Ranking *ranking = search->ranking;
    const RankRow *next = NULL;
    for (uint32_t i = 0; i < ranking->row_count; i++) {
        const RankRow *row = &ranking->rows[i];
        if (last != NULL && rank_tie_compare(ranking->objective, row, last) <= 0) continue;
        if (next == NULL || rank_tie_compare(ranking->objective, row, next) < 0) next = row;
    }
    return next;
}

static void simulate_around(Search *search) {
    Plan leaders[RANK_AROUND_MAX];
    double scores[RANK_AROUND_MAX];
    uint32_t count = 0;
    const RankRow *row = NULL;
    while (count < search->options->around && count < RANK_AROUND_MAX &&
           (row = next_row(search, row)) != NULL) {
        scores[count] = objective_score(search->ranking->objective, &row->evaluation);
        leaders[count++] = row->plan;
    }
    for (uint32_t i = 0; i < count; i++) try_neighbours(search, &leaders[i], scores[i]);
}

static const RankRow *leader_of(const Search *search) {
    const Ranking *ranking = search->ranking;
    const RankRow *leader = NULL;
    for (uint32_t i = 0; i < ranking->row_count; i++)
        if (leader == NULL || rank_tie_compare(ranking->objective, &ranking->rows[i], leader) < 0)
            leader = &ranking->rows[i];
    return leader;
}

// All that may tie with the leader, whoever that is in the end.
static void simulate_ties(Search *search, uint32_t count) {
    RankTie tie;
    rank_tie_open(search->input->model->calib, search->ranking->objective, &tie);
    for (bool changes = true; changes;) {
        const RankRow *leader = leader_of(search);
        if (leader == NULL) break;
        Plan plan = leader->plan;
        rank_tie_lead(&tie, &leader->evaluation);
        changes = false;
        for (uint32_t i = 0; i < count; i++) {
            Contender *contender = &search->contenders[i];
            if (contender->state != CONTENDER_OPEN ||
                !rank_tie_can(&tie, contender->score, &contender->parts))
                continue;
            simulate(search, contender);
        }
        changes = rank_compare_plans(&leader_of(search)->plan, &plan) != 0;
    }
    rank_tie_close(&tie);
}

static bool is_dominated(const Search *search, const Contender *contender) {
    for (uint32_t i = 0; i < search->ranking->row_count; i++) {
        const Evaluation *e = &search->ranking->rows[i].evaluation;
        if (e->tok_s_per_gpu >= contender->tok_s_per_gpu &&
            e->tok_s_per_user >= contender->tok_s_per_user)
            return true;
    }
    return false;
}

static void simulate_front(Search *search, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        Contender *contender = &search->contenders[i];
        if (contender->state == CONTENDER_OPEN && !is_dominated(search, contender))
            simulate(search, contender);
    }
}

// ---- What is not simulated

static Contender *nearest_miss(const Search *search, uint32_t count) {
    Contender *nearest = NULL;
    for (uint32_t i = 0; i < count; i++) {
        Contender *contender = &search->contenders[i];
        if (contender->state == CONTENDER_MISSES &&
            (nearest == NULL || contender->overshoot < nearest->overshoot))
            nearest = contender;
    }
    return nearest;
}

// When nothing is left, by how little the nearest plan is over is simulated.
static void simulate_misses(Search *search, uint32_t count) {
    double least = 0;
    for (uint32_t i = 0; i < MISSES_MAX && search->ranking->row_count == 0; i++) {
        Contender *contender = nearest_miss(search, count);
        if (contender == NULL || (i > 0 && contender->overshoot >= least)) return;
        double over = simulate(search, contender);
        if (i == 0 || over < least) least = over;
    }
}

static void reject_miss(Search *search, const Contender *contender) {
    const Scenario *scenario = search->input->scenario;
    Evaluation bound = {.ttft_ps = contender->ttft_ps, .tpot_ps = contender->tpot_ps};
    Text text = {0};
    rank_keeps_limits(scenario, &bound, &text);
    text_add(&text, " by its lower bound");
    bool ttft = overshoot(contender->ttft_ps, scenario->ttft_limit_ps) > 0;
    space_reject(&search->ranking->space, LEDGER_MISSES_LIMIT,
                 ttft ? "the lower bound of TTFT is over the limit"
                      : "the lower bound of TPOT is over the limit",
                 contender->overshoot,
                 &search->ranking->space.candidates[contender->candidate].plan, text_string(&text));
    text_free(&text);
}

static void reject_pruned(Search *search, const Contender *contender, double leader) {
    char ttft[UNITS_TEXT_MAX], tpot[UNITS_TEXT_MAX];
    Text text = {0};
    text_addf(&text, "at most %.1f tok/s/GPU: TTFT at least %s, TPOT at least %s",
              contender->tok_s_per_gpu, units_format_time(contender->ttft_ps, ttft),
              units_format_time(contender->tpot_ps, tpot));
    space_reject(&search->ranking->space, LEDGER_PRUNED,
                 "its lower bounds keep it out of the plans shown and of the ties",
                 leader / contender->score - 1,
                 &search->ranking->space.candidates[contender->candidate].plan, text_string(&text));
    text_free(&text);
    search->ranking->pruned++;
}

static void reject_rest(Search *search, uint32_t count) {
    double leader = search->best_count > 0 ? search->best[0] : 0;
    for (uint32_t i = 0; i < count; i++) {
        const Contender *contender = &search->contenders[i];
        switch (contender->state) {
        case CONTENDER_BEATEN:
        case CONTENDER_OPEN: reject_pruned(search, contender, leader); break;
        case CONTENDER_MISSES: reject_miss(search, contender); break;
        case CONTENDER_DONE: break;
        }
        search->figures[i] = contender->tok_s_per_gpu;
    }
}

static double median(double *figures, uint32_t count) {
    if (count == 0) return 0;
    qsort(figures, count, sizeof *figures, num_compare_doubles);
    return count % 2 == 1 ? figures[count / 2] : (figures[count / 2 - 1] + figures[count / 2]) / 2;
}

// A zeroed Progress draws nothing.
static void start_progress(Search *search, const char *what, uint32_t total) {
    search->progress = (Progress){0};
    if (!search->options->is_quiet) progress_start(&search->progress, what, total);
}

static void simulate_best(Search *search) {
    Ranking *ranking = search->ranking;
    uint32_t count = search->count;
    if (count > 0) qsort(search->contenders, count, sizeof *search->contenders, compare_contenders);
    search->enumerated = search->ranking->space.candidate_count;
    start_progress(search, "simulating plans", count);
    simulate_leaders(search, count);
    simulate_around(search);
    count = search->count;
    switch (search->options->scope) {
    case RANK_FIRST:
    case RANK_ALL: break;
    case RANK_LEADERS: simulate_ties(search, count); break;
    case RANK_FRONT:
        simulate_ties(search, count);
        simulate_front(search, count);
        break;
    }
    simulate_misses(search, count);
    progress_end(&search->progress);
    search->figures = mem_alloc(count, sizeof *search->figures);
    reject_rest(search, count);
    ranking->median_tok_s_per_gpu = median(search->figures, count);
    rank_tie_order(search->input->model->calib, ranking);
}

// Ranks that share prompts do no other good. A limit is hard to keep with prompts of several
// chunks.
static bool wants_short_prefill(const EvaluateInput *input, const RankOptions *options) {
    const Scenario *scenario = input->scenario;
    return options->objective == OBJECTIVE_TTFT ||
           (scenario->ttft_limit_ps > 0 && scenario->isl > scenario->prefill_chunk);
}

bool rank_search(const EvaluateInput *input, const SpaceExperts *experts,
                 const RankOptions *options, Ranking *out, Err *err) {
    Ranking ranking = {.objective = options->objective, .paid = input->paid};
    EvaluateInput remembering = *input;
    if (input->memory == NULL) remembering.memory = evaluate_memory_open(input);
    if (!input->fabric->shape.uniform) remembering.most_classes = CLASSES_MAX;
    Search search = {.input = &remembering, .options = options, .ranking = &ranking};
    SpaceOptions space = {
        .experts = *experts, .width = options->width, .visitor = {bound_candidate, &search}};
    search.space = &space;
    space.width.model = input->model;
    space.width.shares_prompts = space.width.shares_prompts || wants_short_prefill(input, options);
    start_progress(&search, "plans that fit", 0);
    bool done =
        space_search(input->fabric, input->arch, input->scenario, &space, &ranking.space, err);
    progress_end(&search.progress);
    if (done) {
        search.top = options->top > 0 && options->top < search.count ? options->top : search.count;
        search.best = mem_alloc(search.top, sizeof *search.best);
        simulate_best(&search);
        *out = ranking;
    }
    mem_free(search.contenders);
    mem_free(search.figures);
    mem_free(search.best);
    if (input->memory == NULL) evaluate_memory_close(remembering.memory);
    return done;
}

bool rank_plans(const EvaluateInput *input, const SpaceExperts *experts, Ranking *out, Err *err) {
    RankOptions all = {.objective = OBJECTIVE_THROUGHPUT, .scope = RANK_ALL};
    return rank_search(input, experts, &all, out, err);
}

void rank_free(Ranking *ranking) {
    for (uint32_t i = 0; i < ranking->row_count; i++) evaluate_free(&ranking->rows[i].evaluation);
    mem_free(ranking->rows);
    space_free(&ranking->space);
    *ranking = (Ranking){0};
}
