// Ranks separate pools: shapes of instances, ratios by arithmetic, the leaders by simulation.
//
// Invariant: what arithmetic says of a pair is an upper bound, because transfers only take away
// from it; pairs are simulated in the order of their bounds until as many as were asked for serve
// more than any bound that is left. (A bound lies on lines between simulated batches and can be off
// by as much as these are.)
#include "sim/search/pools.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/base/num.h"
#include "model/base/progress.h"
#include "model/base/wide.h"
#include "model/cost/gpus.h"
#include "model/report/front.h"
#include "sim/search/pools_internal.h"
#include "sim/search/rank.h"

#define REFINED_MAX  24 // pairs that are simulated at most
#define FRONT_MAX    24 // and of the front
#define TRIES        4  // batches that are simulated of one pair
#define BATCH_GROWTH 32 // a step longer by so small a part is made up for by as many sequences
#define RATIOS_MAX   16 // prefill instances of the best pair that are shown at most
#define PS           1e-12

const char *const pools_limit_names[POOLS_LIMIT_COUNT] = {
#define X(name, text) text,
    POOLS_LIMIT_LIST(X)
#undef X
};

char *pools_ratio_label(const Plan *plan, char *buffer) {
    snprintf(buffer, PLAN_TEXT_MAX, "%" PRIu32 "P%" PRIu32 "D", plan->pools[0].replicas,
             plan->pools[1].replicas);
    return buffer;
}

void pools_figures(const PoolsRow *row, Evaluation *out) {
    *out = (Evaluation){.ttft_ps = row->ttft_ps,
                        .tpot_ps = row->tpot_ps,
                        .output_tok_s = row->output_tok_s,
                        .tok_s_per_gpu = row->tok_s_per_gpu,
                        .tok_s_per_user = row->tok_s_per_user,
                        .usd_per_mtok = row->usd_per_mtok};
}

// ---- What can have no separate pools

static bool keeps_cache(const Arch *arch, NumFmt format) {
    return arch_kv_B_per_token(arch, format) > 0 || arch_window_B(arch, format) > 0 ||
           arch->totals.state_B_per_sequence > 0;
}

static bool check(const EvaluateInput *input, uint32_t gpus, Err *err) {
    const Scenario *scenario = input->scenario;
    if (gpus < 2) return err_set(err, "separate pools: expected at least 2 GPUs, found %u", gpus);
    if (scenario->osl == 1)
        return err_set(err, "separate pools: osl 1 leaves nothing to decode in a pool of its own, "
                            "expected an osl above 1");
    if (!keeps_cache(input->arch, scenario->kv_format))
        return err_set(err,
                       "separate pools: %s keeps no attention cache or state that a prefill "
                       "could hand over",
                       input->arch->name);
    return true;
}

// ---- Limits

static Plan plan_of(const PoolsSearch *search, const PoolsPair *pair, const PoolsPlace *place) {
    Plan plan = {.pool_count = 2, .transfer_count = 1, .transfers = {{0, 1}}};
    plan.pools[0] = search->prefill.items[pair->prefill].pool;
    plan.pools[0].replicas = pair->x;
    plan.pools[0].first_gpu = place->prefill;
    plan.pools[1] = search->decode.items[pair->decode].pool;
    plan.pools[1].replicas = pair->y;
    plan.pools[1].first_gpu = place->decode;
    return plan;
}

static bool keeps_limits(PoolsSearch *search, const PoolsRow *row) {
    Text over = {0};
    Evaluation figures = {.ttft_ps = row->ttft_ps, .tpot_ps = row->tpot_ps};
    const Scenario *scenario = search->input.scenario;
    bool keeps = rank_keeps_limits(scenario, &figures, &over);
    double miss = 0;
    if (scenario->ttft_limit_ps > 0)
        miss = (double)row->ttft_ps / (double)scenario->ttft_limit_ps - 1;
    if (scenario->tpot_limit_ps > 0 &&
        (double)row->tpot_ps / (double)scenario->tpot_limit_ps - 1 > miss)
        miss = (double)row->tpot_ps / (double)scenario->tpot_limit_ps - 1;
    if (!keeps)
        space_reject(&search->ranking->space, LEDGER_MISSES_LIMIT,
                     "separate pools over a limit of TTFT or TPOT", miss, &row->plan,
                     text_string(&over));
    text_free(&over);
    return keeps;
}

// ---- Pairs

typedef struct Pairs {
    PoolsPair *items; // heap
    uint32_t count, capacity;
} Pairs;

static int compare_pairs(const void *left, const void *right) {
    const PoolsPair *a = left, *b = right;
    const uint32_t numbers[][2] = {
        {a->x + a->y, b->x + b->y}, {a->prefill, b->prefill}, {a->decode, b->decode}};
    if (a->value != b->value) return a->value < b->value ? 1 : -1;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i][0] != numbers[i][1]) return numbers[i][0] < numbers[i][1] ? -1 : 1;
    return 0;
}

// Whether a request that meets nobody else keeps both limits with these instances, its transfer
// left out; else the ledger has them.
static bool may_keep_limits(PoolsSearch *search, const PoolsPair *pair) {
    const PoolsShape *prefill = &search->prefill.items[pair->prefill];
    const PoolsShape *decode = &search->decode.items[pair->decode];
    const PoolsPlace nowhere = {0, prefill->gpus};
    Time tpot_ps = num_round(decode->curve[0].tpot_s / PS);
    PoolsRow row = {.tpot_ps = tpot_ps, .ttft_ps = prefill->prefill_ps + tpot_ps};
    PoolsPair one = *pair;
    one.x = one.y = 1;
    row.plan = plan_of(search, &one, &nowhere);
    return keeps_limits(search, &row);
}

static void pair_all(PoolsSearch *search, Pairs *pairs) {
    for (uint32_t p = 0; p < search->prefill.count; p++)
        for (uint32_t d = 0; d < search->decode.count; d++) {
            PoolsPair pair = {.prefill = p, .decode = d};
            if (!may_keep_limits(search, &pair) || !pools_solve_best(search, &pair)) continue;
            pairs->items =
                mem_grow(pairs->items, &pairs->capacity, pairs->count + 1, sizeof *pairs->items);
            pairs->items[pairs->count++] = pair;
        }
    if (pairs->count > 0) qsort(pairs->items, pairs->count, sizeof *pairs->items, compare_pairs);
    search->ranking->pairs = pairs->count;
}

// ---- The front by arithmetic

static void collect(void *context, const PoolsSearch *search, const PoolsPair *pair) {
    Pairs *pairs = context;
    (void)search;
    pairs->items = mem_grow(pairs->items, &pairs->capacity, pairs->count + 1, sizeof *pairs->items);
    pairs->items[pairs->count++] = *pair;
}

// Keeps the ratios that no other one beats in both figures, from the slowest user on, and of many
// those that lie evenly among them.
static void keep_front(Pairs *pairs) {
    double *users = mem_alloc(pairs->count, sizeof *users);
    double *values = mem_alloc(pairs->count, sizeof *values);
    uint32_t *front = mem_alloc(pairs->count, sizeof *front);
    for (uint32_t i = 0; i < pairs->count; i++) {
        users[i] = pairs->items[i].user_s;
        values[i] = pairs->items[i].value;
    }
    uint32_t count = front_find(users, values, pairs->count, front);
    uint32_t kept = count < FRONT_MAX ? count : FRONT_MAX;
    PoolsPair *items = mem_alloc(kept, sizeof *items);
    for (uint32_t i = 0; i < kept; i++)
        items[i] = pairs->items[front[kept > 1 ? i * (count - 1) / (kept - 1) : 0]];
    mem_free(users);
    mem_free(values);
    mem_free(front);
    mem_free(pairs->items);
    *pairs = (Pairs){items, kept, kept};
}

static void pair_front(PoolsSearch *search, Pairs *pairs) {
    Pairs all = {0};
    for (uint32_t i = 0; i < pairs->count; i++)
        pools_solve_each(search, &pairs->items[i], (PoolsVisitor){collect, &all});
    if (all.count > 0) keep_front(&all);
    *pairs = all;
}

static uint32_t smallest(const PoolsShapes *shapes) {
    uint32_t least = shapes->count > 0 ? shapes->items[0].gpus : 0;
    for (uint32_t i = 1; i < shapes->count; i++)
        if (shapes->items[i].gpus < least) least = shapes->items[i].gpus;
    return least;
}

static bool tell_no_pair(const PoolsSearch *search, Err *err) {
    const Space *space = &search->ranking->space;
    const LedgerRow *near = space_nearest(space, LEDGER_MISSES_LIMIT);
    uint32_t prefill = smallest(&search->prefill), decode = smallest(&search->decode);
    if (prefill == 0 || decode == 0) near = space_nearest_miss(space);
    if (near != NULL)
        return err_set(err, "separate pools: no %s is feasible; nearest miss: %s",
                       prefill == 0  ? "prefill instance"
                       : decode == 0 ? "decode instance"
                                     : "pair of instances",
                       near->nearest_text);
    return err_set(err,
                   "separate pools: no numbers of instances have a place: a prefill instance takes "
                   "%u GPU%s at least and a decode instance %u, the machine has %u",
                   prefill, prefill == 1 ? "" : "s", decode, search->gpus);
}

// ---- One pair, simulated

// Places the pools where least of the transfer is exposed, then where links carry most.
static bool find_place(const PoolsSearch *search, const PoolsPair *pair, PoolsRow *row,
                       Time *out_hold_ps, Err *err) {
    const PoolsShape *prefill = &search->prefill.items[pair->prefill];
    PoolsPlace places[POOLS_PLACES_MAX];
    uint32_t count = pools_place_list(search, pair, places);
    bool is_found = false;
    for (uint32_t i = 0; i < count; i++) {
        Plan plan = plan_of(search, pair, &places[i]);
        PoolsMove move = {0};
        Time hold_ps;
        if (!pools_move_run(&search->input, &plan, prefill->prefill_ps, &move, &hold_ps, err))
            continue;
        if (is_found &&
            (move.exposed_ps > row->move.exposed_ps ||
             (move.exposed_ps == row->move.exposed_ps && move.requests_s <= row->move.requests_s)))
            continue;
        is_found = true;
        row->plan = plan;
        row->move = move;
        *out_hold_ps = hold_ps;
    }
    return is_found;
}

static bool keeps_memory(PoolsSearch *search, const PoolsRow *row) {
    const MemoryUse *uses[] = {&row->prefill.memory, &row->decode.memory};
    for (uint32_t i = 0; i < 2; i++) {
        Err text = {0};
        if (memory_fits(uses[i], &text)) continue;
        space_reject(&search->ranking->space, LEDGER_NOT_FIT,
                     i == 0 ? "prefill cannot hold the caches that wait for their transfer"
                            : "decode has no room for the caches that come in",
                     (double)memory_over_B(uses[i]), &row->plan, text.text);
        return false;
    }
    return true;
}

// The batch that leaves room for the transfers.
static uint64_t lower_batch(const PoolsRow *row, uint64_t batch) {
    const PoolsSide *decode = &row->decode;
    uint64_t most = decode->memory.most_sequences, room = 0;
    if (most > decode->staging) room = (most - decode->staging) / row->plan.pools[1].micro_batches;
    if (room == 0) return 1;
    return room < batch ? room : batch - 1;
}

// Simulates the plan at a batch, and at others when that was not the right one: less when the
// transfers find no slot any more, more when steps came out longer than on the line between
// batches, so that it is decode that bounds.
static bool run_batches(PoolsSearch *search, const Plan *plan, uint64_t batch, uint64_t room,
                        PoolsRow *out, Err *err) {
    bool is_found = false, is_fit = false;
    for (uint32_t tries = 0; tries < TRIES; tries++) {
        PoolsRow row;
        if (!pools_run_plan(&search->input, plan, batch, &search->beside, &row, err))
            return is_found;
        bool fits = memory_over_B(&row.decode.memory) == 0;
        if (!is_found || (fits && (!is_fit || row.requests_s > out->requests_s))) *out = row;
        is_found = true;
        is_fit = is_fit || fits;
        if (fits && (row.limit != POOLS_BY_BATCH || batch >= room)) break;
        if (!fits && (is_fit || batch == 1)) break;
        batch = fits ? batch + 1 + batch / BATCH_GROWTH : lower_batch(&row, batch);
        if (batch > room) batch = room;
    }
    return true;
}

// Solves the batch again with what is exposed of the transfer at the best place.
static bool refine(PoolsSearch *search, PoolsPair pair, PoolsRow *out, Err *err) {
    const PoolsShape *prefill = &search->prefill.items[pair.prefill];
    const PoolsShape *decode = &search->decode.items[pair.decode];
    Time hold_ps = 0;
    PoolsRow row = {.prefill_ps = prefill->prefill_ps};
    if (!find_place(search, &pair, &row, &hold_ps, err)) return false;
    PoolsTerms terms = {.outside_s = (double)(row.prefill_ps + row.move.exposed_ps) * PS,
                        .hold_s = (double)hold_ps * PS,
                        .most_s = row.move.requests_s};
    pools_solve(search, &terms, &pair);
    uint64_t room = (decode->memory.most_sequences - 1) / decode->pool.micro_batches;
    uint64_t batch = pools_round_up(pair.batch);
    if (batch > room) batch = room;
    if (batch == 0) batch = 1;
    return run_batches(search, &row.plan, batch, room, out, err);
}

// ---- Leaders

static int compare_rows(const void *left, const void *right) {
    const PoolsRow *a = left, *b = right;
    if (a->tok_s_per_gpu != b->tok_s_per_gpu) return a->tok_s_per_gpu < b->tok_s_per_gpu ? 1 : -1;
    uint32_t of_a = plan_gpus(&a->plan), of_b = plan_gpus(&b->plan);
    if (of_a != of_b) return of_a < of_b ? -1 : 1;
    Digest x = plan_digest(&a->plan), y = plan_digest(&b->plan);
    return (x > y) - (x < y);
}

// Rows that serve at least as much as the bound of a pair, for what is paid.
static uint32_t count_above(const PoolsSearch *search, const PoolsPair *pair) {
    double tok_s_per_gpu = pair->value * (double)search->input.scenario->osl;
    uint32_t count = 0;
    for (uint32_t i = 0; i < search->ranking->row_count; i++)
        count += search->ranking->rows[i].tok_s_per_gpu >= tok_s_per_gpu;
    return count;
}

// Whether some engine runs the pair, placed side by side; else the ledger has it.
static bool keeps_engine(PoolsSearch *search, const PoolsPair *pair) {
    PoolsPlace places[POOLS_PLACES_MAX];
    Space *space = &search->ranking->space;
    Err text = {0};
    if (search->spec->engines == NULL || pools_place_list(search, pair, places) == 0) return true;
    Plan plan = plan_of(search, pair, &places[0]);
    SpaceEngineCase given = {.fabric = search->input.fabric,
                             .arch = search->input.arch,
                             .scenario = search->input.scenario,
                             .plan = &plan,
                             .sequences = pools_round_up(pair->batch)};
    const char *reason = space_engine_refuses(search->spec->engines, &given, &space->arena, &text);
    if (reason != NULL) space_reject(space, LEDGER_ENGINE, reason, 0, &plan, text.text);
    return reason == NULL;
}

// True when the pair becomes a row; else the ledger says why not.
static bool try_pair(PoolsSearch *search, const PoolsPair *pair, PoolsRow *out) {
    PoolsRanking *ranking = search->ranking;
    Err reason = {0};
    if (!keeps_engine(search, pair)) return false;
    ranking->refined++;
    if (!refine(search, *pair, out, &reason)) {
        PoolsPlace none = {0, 0};
        Plan plan = plan_of(search, pair, &none);
        space_reject(&ranking->space, LEDGER_NO_DATA, "pools cannot be simulated", 0, &plan,
                     reason.text);
        return false;
    }
    return keeps_memory(search, out) && keeps_limits(search, out);
}

static void add_row(PoolsRow **rows, uint32_t *count, uint32_t *capacity, const PoolsRow *row) {
    *rows = mem_grow(*rows, capacity, *count + 1, sizeof **rows);
    (*rows)[(*count)++] = *row;
}

// A zeroed Progress draws nothing.
static void start_progress(const PoolsSearch *search, const char *what, uint32_t total,
                           Progress *out) {
    *out = (Progress){0};
    if (!search->spec->is_quiet) progress_start(out, what, total);
}

static bool has_row(const PoolsRanking *ranking, const PoolsRow *row) {
    for (uint32_t i = 0; i < ranking->row_count; i++)
        if (plan_digest(&ranking->rows[i].plan) == plan_digest(&row->plan)) return true;
    return false;
}

static void refine_front(PoolsSearch *search, const Pairs *pairs) {
    PoolsRanking *ranking = search->ranking;
    Progress progress;
    start_progress(search, "simulating pools of the front", pairs->count, &progress);
    for (uint32_t i = 0; i < pairs->count; i++) {
        PoolsRow row;
        PoolsPlace places[POOLS_PLACES_MAX];
        if (pools_place_list(search, &pairs->items[i], places) > 0 &&
            try_pair(search, &pairs->items[i], &row) && !has_row(ranking, &row))
            add_row(&ranking->others, &ranking->other_count, &ranking->other_capacity, &row);
        progress_step(&progress, i + 1);
    }
    progress_end(&progress);
}

static void refine_leaders(PoolsSearch *search, const Pairs *pairs) {
    PoolsRanking *ranking = search->ranking;
    Progress progress;
    start_progress(search, "simulating pools",
                   pairs->count < REFINED_MAX ? pairs->count : REFINED_MAX, &progress);
    for (uint32_t i = 0; i < pairs->count && ranking->refined < REFINED_MAX; i++) {
        PoolsRow row;
        if (count_above(search, &pairs->items[i]) >= search->spec->most) break;
        if (try_pair(search, &pairs->items[i], &row))
            add_row(&ranking->rows, &ranking->row_count, &ranking->row_capacity, &row);
        progress_step(&progress, ranking->refined);
    }
    progress_end(&progress);
    if (ranking->row_count > 0)
        qsort(ranking->rows, ranking->row_count, sizeof *ranking->rows, compare_rows);
}

// ---- Other ratios of the best pair

static void add_ratio(PoolsRanking *ranking, const PoolsPair *pair) {
    ranking->ratios = mem_grow(ranking->ratios, &ranking->ratio_capacity, ranking->ratio_count + 1,
                               sizeof *ranking->ratios);
    ranking->ratios[ranking->ratio_count++] =
        (PoolsRatio){pair->x, pair->y, pair->requests_s, pair->limit};
}

static uint32_t find_shape(const PoolsShapes *shapes, const Pool *pool) {
    Plan a = {.pool_count = 1}, b = {.pool_count = 1};
    a.pools[0] = *pool;
    a.pools[0].replicas = 1;
    a.pools[0].first_gpu = 0;
    for (uint32_t i = 0; i < shapes->count; i++) {
        b.pools[0] = shapes->items[i].pool;
        if (plan_digest(&a) == plan_digest(&b)) return i;
    }
    return 0;
}

// Of as many decode instances as the best row has.
static void find_ratios(PoolsSearch *search) {
    PoolsRanking *ranking = search->ranking;
    if (ranking->row_count == 0) return;
    const PoolsRow *best = &ranking->rows[0];
    PoolsPair pair = {.prefill = find_shape(&search->prefill, &best->plan.pools[0]),
                      .decode = find_shape(&search->decode, &best->plan.pools[1]),
                      .y = best->plan.pools[1].replicas};
    PoolsTerms terms = {.outside_s = (double)(best->prefill_ps + best->move.exposed_ps) * PS,
                        .hold_s = 0};
    uint32_t of_best = best->plan.pools[0].replicas;
    uint32_t first = of_best > RATIOS_MAX / 2 ? of_best - RATIOS_MAX / 2 : 1;
    for (pair.x = first; pair.x < first + RATIOS_MAX; pair.x++) {
        PoolsPlace places[POOLS_PLACES_MAX];
        if (pools_place_list(search, &pair, places) == 0) break;
        // more senders carry more at most in proportion
        double more = (double)pair.x / of_best;
        terms.most_s = best->move.requests_s * (more > 1 ? more : 1);
        pools_solve(search, &terms, &pair);
        add_ratio(ranking, &pair);
    }
}

// ---- The whole

static bool search_pools(PoolsSearch *search, Err *err) {
    Pairs pairs = {0};
    const Fabric *fabric = search->input.fabric;
    if (!gpus_device(fabric, fabric->topology->name, GPUS_NEED_MEMORY, &search->device, err) ||
        !pools_shape_find(search, PHASE_PREFILL, &search->prefill, err) ||
        !pools_shape_find(search, PHASE_DECODE, &search->decode, err))
        return false;
    pair_all(search, &pairs);
    bool done = pairs.count > 0 || tell_no_pair(search, err);
    if (done) {
        refine_leaders(search, &pairs);
        find_ratios(search);
    }
    if (done && search->spec->scope == POOLS_FRONT) {
        Pairs best = pairs;
        pair_front(search, &pairs);
        mem_free(best.items);
        refine_front(search, &pairs);
    }
    mem_free(pairs.items);
    return done;
}

bool pools_rank(const EvaluateInput *input, const PoolsSpec *spec, PoolsRanking *out, Err *err) {
    PoolsRanking ranking = {0};
    PoolsSearch search = {.input = *input, .spec = spec, .ranking = &ranking};
    search.gpus = spec->gpus > 0 ? spec->gpus : fabric_live_gpu_count(input->fabric);
    if (!check(input, search.gpus, err)) return false;
    if (input->memory == NULL) search.input.memory = evaluate_memory_open(input);
    bool done = search_pools(&search, err);
    if (input->memory == NULL) evaluate_memory_close(search.input.memory);
    mem_free(search.prefill.items);
    mem_free(search.decode.items);
    if (done)
        *out = ranking;
    else
        pools_free(&ranking);
    return done;
}

void pools_free(PoolsRanking *ranking) {
    mem_free(ranking->rows);
    mem_free(ranking->ratios);
    mem_free(ranking->others);
    space_free(&ranking->space);
    *ranking = (PoolsRanking){0};
}
