// The arithmetic of a ratio: at which batch x prefill and y decode instances are in balance.
//
// With R requests/s, a request spends T outside of decode and osl steps in it. A batch of b on each
// of S slots (attention-DP ranks and micro-batches) gives R(b) = S b / (osl x tpot(b)), and
// Little's law (J. Little, Operations Research 9 (1961)) asks for R(b) T + S b requests in flight.
// Both grow with b, so the largest b that is allowed is found by halving: requests in flight at
// most the concurrency, R(b) at most what prefill and links do, and b and the slots that are
// received into, R(b) / (y dp) x hold and at least one, at most the sequences that fit.
//
// Invariant: a result depends on the numbers alone; more of anything never lowers R.
#include "sim/search/pools_internal.h"

#include "model/base/num.h"

#define HALVINGS 40 // 2^-40 of a batch of thousands is far below one request
#define RATIOS   32 // numbers of decode instances that are tried, about
#define PS       1e-12

double pools_solve_tpot_s(const PoolsShape *decode, double batch) {
    const PoolsPoint *curve = decode->curve;
    uint32_t last = decode->points - 1, i = 0;
    if (batch <= curve[0].sequences || last == 0) return curve[0].tpot_s;
    while (i + 1 < last && curve[i + 1].sequences < batch) i++;
    double slope =
        (curve[i + 1].tpot_s - curve[i].tpot_s) / (curve[i + 1].sequences - curve[i].sequences);
    return curve[i].tpot_s + slope * (batch - curve[i].sequences);
}

typedef struct Balance {
    const Scenario *scenario;
    const PoolsShape *prefill, *decode;
    const PoolsTerms *terms;
    double ranks, slots; // attention-DP ranks of all decode instances; with their micro-batches
    double prefill_s;    // requests/s
} Balance;

static double rate_at(const Balance *at, double batch) {
    double tokens = (double)at->scenario->osl;
    return at->slots * batch / (tokens * pools_solve_tpot_s(at->decode, batch));
}

static double staging(const Balance *at, double rate) {
    double receiving = rate / at->ranks * at->terms->hold_s;
    return receiving > 1 ? receiving : 1;
}

// The first reason why the batch is too large, or POOLS_LIMIT_COUNT.
static PoolsLimit limit_of(const Balance *at, double batch) {
    const Scenario *scenario = at->scenario;
    double rate = rate_at(at, batch);
    double tpot_s = pools_solve_tpot_s(at->decode, batch);
    double held = batch * at->decode->pool.micro_batches + staging(at, rate);
    if (batch * at->slots + rate * at->terms->outside_s > (double)scenario->concurrency)
        return POOLS_BY_CONCURRENCY;
    if (rate > at->prefill_s) return POOLS_BY_PREFILL;
    if (at->terms->most_s > 0 && rate > at->terms->most_s) return POOLS_BY_TRANSFER;
    if (held > (double)at->decode->memory.most_sequences) return POOLS_BY_MEMORY;
    if (scenario->tpot_limit_ps > 0 && tpot_s > (double)scenario->tpot_limit_ps * PS)
        return POOLS_BY_TPOT;
    return POOLS_LIMIT_COUNT;
}

void pools_solve(const PoolsSearch *search, const PoolsTerms *terms, PoolsPair *pair) {
    Balance at = {.scenario = search->input.scenario,
                  .prefill = &search->prefill.items[pair->prefill],
                  .decode = &search->decode.items[pair->decode],
                  .terms = terms};
    at.ranks = (double)pair->y * at.decode->pool.dp;
    at.slots = at.ranks * at.decode->pool.micro_batches;
    at.prefill_s = pair->x * at.prefill->requests_s;
    double low = 0, high = (double)at.decode->memory.most_sequences;
    pair->limit = limit_of(&at, high);
    for (uint32_t i = 0; i < HALVINGS && pair->limit < POOLS_LIMIT_COUNT; i++) {
        double middle = (low + high) / 2;
        PoolsLimit limit = limit_of(&at, middle);
        if (limit == POOLS_LIMIT_COUNT) {
            low = middle;
        } else {
            high = middle;
            pair->limit = limit;
        }
    }
    pair->batch = low;
    pair->requests_s = rate_at(&at, low);
}

// The time that a request spends in prefill is known; what of its transfer is exposed is not, and
// only adds.
static PoolsTerms first_terms(const PoolsShape *prefill) {
    double seconds = (double)prefill->prefill_ps * PS;
    return (PoolsTerms){.outside_s = seconds, .hold_s = 0};
}

static bool has_room(const PoolsSearch *search, const PoolsPair *pair) {
    PoolsPlace places[POOLS_PLACES_MAX];
    return pools_place_list(search, pair, places) > 0;
}

static double used_by(const PoolsSearch *search, const PoolsPair *pair) {
    return (double)pair->x * search->prefill.items[pair->prefill].gpus +
           (double)pair->y * search->decode.items[pair->decode].gpus;
}

// What the ratio serves for what is paid.
static void rate_pair(const PoolsSearch *search, PoolsPair *pair) {
    bool is_own = search->input.paid == EVALUATE_PAID_PLAN;
    double paid = is_own ? used_by(search, pair) : search->input.fabric->gpu_count;
    pair->value = pair->requests_s / paid;
    pair->user_s = 1 / pools_solve_tpot_s(&search->decode.items[pair->decode], pair->batch);
}

static void try_ratio(const PoolsSearch *search, const PoolsTerms *terms, PoolsPair *tried,
                      PoolsVisitor visitor) {
    pools_solve(search, terms, tried);
    rate_pair(search, tried);
    if (tried->batch > 0) visitor.visit(visitor.context, search, tried);
}

// As many prefill instances as these decode instances can take from, and one fewer.
static void try_decode(const PoolsSearch *search, const PoolsTerms *terms, PoolsPair *tried,
                       PoolsVisitor visitor) {
    const PoolsShape *prefill = &search->prefill.items[tried->prefill];
    uint32_t used = tried->y * search->decode.items[tried->decode].gpus;
    uint32_t most = (search->gpus - used) / prefill->gpus;
    uint32_t wished = search->spec->wishes[PHASE_PREFILL].instances;
    if (most == 0 || most < wished) return;
    if (wished > 0) {
        tried->x = wished;
        try_ratio(search, terms, tried, visitor);
        return;
    }
    tried->x = most;
    pools_solve(search, terms, tried);
    double wanted = tried->requests_s / prefill->requests_s;
    uint32_t enough = (uint32_t)wanted + ((double)(uint32_t)wanted < wanted);
    if (enough == 0) enough = 1;
    for (uint32_t x = enough > 1 ? enough - 1 : 1; x <= enough && x <= most; x++) {
        tried->x = x;
        try_ratio(search, terms, tried, visitor);
    }
}

void pools_solve_each(const PoolsSearch *search, const PoolsPair *shapes, PoolsVisitor visitor) {
    const PoolsShape *prefill = &search->prefill.items[shapes->prefill];
    const PoolsShape *decode = &search->decode.items[shapes->decode];
    if (prefill->gpus + decode->gpus > search->gpus) return;
    uint32_t most = (search->gpus - prefill->gpus) / decode->gpus, step = most / RATIOS + 1;
    PoolsTerms terms = first_terms(prefill);
    uint32_t wished = search->spec->wishes[PHASE_DECODE].instances;
    for (uint32_t y = wished > 0 ? wished : 1; y <= most; y += wished > 0 ? most : step) {
        PoolsPair tried = *shapes;
        tried.y = y;
        try_decode(search, &terms, &tried, visitor);
    }
}

// Takes the ratio when it serves more for what is paid, or as much on fewer GPUs.
static void take_better(void *context, const PoolsSearch *search, const PoolsPair *tried) {
    PoolsPair *best = context;
    if (best->x > 0 &&
        (tried->value < best->value ||
         (tried->value == best->value && used_by(search, tried) >= used_by(search, best))))
        return;
    if (has_room(search, tried)) *best = *tried;
}

bool pools_solve_best(const PoolsSearch *search, PoolsPair *pair) {
    PoolsPair best = *pair;
    best.x = 0;
    pools_solve_each(search, pair, (PoolsVisitor){take_better, &best});
    if (best.x == 0) return false;
    *pair = best;
    return true;
}
