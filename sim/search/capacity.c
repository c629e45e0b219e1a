// Capacity planning.
//
// Method: the cost of so many tokens a day is a staircase for each machine, ceil(tokens / each) x
// price; the cheapest changes only where one of them takes a step, and not any more beyond the
// point where the one of the lowest price per token, even with a machine that is hardly used, costs
// less than the others would without rounding up.
//
// Invariant: counts and costs are integers; equal costs keep the machine that comes first.
#include "sim/search/capacity.h"

#include "model/base/num.h"
#include "model/base/progress.h"
#include "model/base/wide.h"
#include "sim/search/sweep_cells.h"

#define CONCURRENCY_MOST (UINT64_C(1) << 20) // more than the largest machines of 2026 hold
#define GROWTH           4
#define CLOSE_PART       16
#define TRIES_EXPECTED   12 // for the estimate of the time left: seven fours, and five halvings
#define STEPS_MOST       1000000 // of all staircases together

// ---- One machine

static CapacityUnit unit_of(const CapacitySpec *spec, const SweepCell *cell) {
    const Scenario *scenario = spec->machine->input.scenario;
    double lengths = (double)(scenario->isl + scenario->osl) / (double)scenario->osl;
    double tokens_per_s = cell->evaluation.output_tok_s * lengths;
    double per_day = tokens_per_s * CAPACITY_SECONDS_PER_DAY * spec->utilisation_permille / 1000;
    int64_t rounded = num_round(per_day);
    if ((double)rounded > per_day) rounded--;
    return (CapacityUnit){(uint64_t)rounded,
                          wide_mul_saturate(cell->price_uusd_per_gpu_hour, cell->gpus)};
}

typedef struct Search {
    const CapacitySpec *spec;
    SweepCells *cells;
    CapacityPlan *best;
    Progress progress;
    uint64_t tried;
} Search;

// True when a plan is feasible; keeps the one that serves most.
static bool try(Search *search, uint64_t concurrency) {
    uint64_t numbers[SWEEP_AXES_MAX] = {concurrency};
    CapacityPlan *best = search->best;
    SweepCell cell;
    sweep_cells_price(search->cells, numbers, &cell);
    progress_step(&search->progress, ++search->tried);
    if (!cell.is_feasible) {
        if (!best->is_feasible && *best->reason == '\0') best->reason = cell.reason;
        return false;
    }
    CapacityUnit unit = unit_of(search->spec, &cell);
    if (!best->is_feasible || unit.tokens_per_day > best->unit.tokens_per_day)
        *best = (CapacityPlan){.is_feasible = true,
                               .reason = "",
                               .concurrency = concurrency,
                               .cell = cell,
                               .unit = unit};
    return true;
}

static void climb(Search *search) {
    uint64_t low = 0, high = 1;
    while (high <= CONCURRENCY_MOST && try(search, high)) {
        low = high;
        high *= GROWTH;
    }
    if (low == 0 || high > CONCURRENCY_MOST) return;
    while (high - low > 1 && (high - low) * CLOSE_PART > low) {
        uint64_t middle = low + (high - low) / 2;
        if (try(search, middle))
            low = middle;
        else
            high = middle;
    }
}

void capacity_find(const CapacitySpec *spec, Arena *arena, CapacityPlan *out) {
    SweepSpec sweep = {
        .machines = spec->machine,
        .machine_count = 1,
        .pools = spec->pools,
        .axes = {.axes = {{.kind = SWEEP_CONCURRENCY, .machine = SWEEP_NONE}}, .count = 1}};
    *out = (CapacityPlan){.reason = ""};
    Search search = {.spec = spec, .cells = sweep_cells_open(&sweep, arena), .best = out};
    progress_start(&search.progress, "trying concurrencies", spec->is_fixed ? 1 : TRIES_EXPECTED);
    if (spec->is_fixed)
        try(&search, spec->machine->input.scenario->concurrency);
    else
        climb(&search);
    progress_end(&search.progress);
    sweep_cells_close(search.cells);
}

// ---- Counts and costs

uint64_t capacity_machines(const CapacityUnit *unit, uint64_t tokens_per_day) {
    return wide_div_up_u64(tokens_per_day, unit->tokens_per_day);
}

uint64_t capacity_uusd_per_hour(const CapacityUnit *unit, uint64_t tokens_per_day) {
    return wide_mul_saturate(capacity_machines(unit, tokens_per_day), unit->uusd_per_hour);
}

uint64_t capacity_within(const CapacityUnit *unit, uint64_t budget_uusd_per_hour) {
    if (unit->uusd_per_hour == 0) return 0;
    return wide_mul_saturate(budget_uusd_per_hour / unit->uusd_per_hour, unit->tokens_per_day);
}

static bool is_usable(const CapacityUnit *unit) {
    return unit->tokens_per_day > 0 && unit->uusd_per_hour > 0;
}

uint32_t capacity_cheapest(const CapacityUnit *units, uint32_t count, uint64_t tokens_per_day) {
    uint32_t best = SWEEP_NONE;
    uint64_t least = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!is_usable(&units[i])) continue;
        uint64_t cost = capacity_uusd_per_hour(&units[i], tokens_per_day);
        if (best != SWEEP_NONE && cost >= least) continue;
        best = i;
        least = cost;
    }
    return best;
}

// ---- Turns

// -1, 0 or 1 as a costs less, as much or more per token than b.
static int compare_rates(const CapacityUnit *a, const CapacityUnit *b) {
    return wide_compare_ratio(a->uusd_per_hour, a->tokens_per_day, b->uusd_per_hour,
                              b->tokens_per_day);
}

static uint32_t lowest_rate(const CapacityUnit *units, uint32_t count) {
    uint32_t best = SWEEP_NONE;
    for (uint32_t i = 0; i < count; i++)
        if (is_usable(&units[i]) &&
            (best == SWEEP_NONE || compare_rates(&units[i], &units[best]) < 0))
            best = i;
    return best;
}

// Tokens a day from which on `best` costs less than all others: n (rate_i - rate_best) > cost_best.
// UINT64_MAX when another one has its rate.
static uint64_t settled_from(const CapacityUnit *units, uint32_t count, uint32_t best) {
    double settled = 1;
    for (uint32_t i = 0; i < count; i++) {
        if (i == best || !is_usable(&units[i])) continue;
        if (compare_rates(&units[i], &units[best]) == 0) return UINT64_MAX;
        double rate = (double)units[i].uusd_per_hour / (double)units[i].tokens_per_day;
        double least = (double)units[best].uusd_per_hour / (double)units[best].tokens_per_day;
        double from = (double)units[best].uusd_per_hour / (rate - least);
        if (from > settled) settled = from;
    }
    return settled < 1e18 ? (uint64_t)num_round(settled) + 1 : UINT64_MAX;
}

// The next number of tokens at which a machine more is needed of one of them; 0 when there is none.
static uint64_t next_step(const CapacityUnit *units, uint32_t count, uint64_t tokens_per_day) {
    uint64_t next = UINT64_MAX;
    for (uint32_t i = 0; i < count; i++) {
        if (!is_usable(&units[i])) continue;
        uint64_t full = wide_mul_saturate(capacity_machines(&units[i], tokens_per_day),
                                          units[i].tokens_per_day);
        if (full < next) next = full;
    }
    return next == UINT64_MAX ? 0 : next + 1;
}

uint32_t capacity_turns(const CapacityUnit *units, uint32_t count, CapacityTurn *out, uint32_t most,
                        bool *out_last) {
    uint32_t turns = 0, best = lowest_rate(units, count);
    uint64_t tokens = 1, settled = best == SWEEP_NONE ? 0 : settled_from(units, count, best);
    *out_last = false;
    for (uint32_t step = 0; best != SWEEP_NONE && step < STEPS_MOST && tokens > 0; step++) {
        uint32_t cheapest = capacity_cheapest(units, count, tokens);
        if (turns == 0 || out[turns - 1].unit != cheapest) {
            if (turns == most) return turns;
            out[turns++] = (CapacityTurn){tokens, cheapest};
        }
        if (tokens >= settled && cheapest == best) {
            *out_last = true;
            break;
        }
        tokens = next_step(units, count, tokens);
    }
    return turns;
}
