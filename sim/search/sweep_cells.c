// Prices the cells of a sweep.
//
// Invariant: a cell is a function of the spec and of its values; what was priced before reaches
// nothing but the time that it takes. A price changes no plan: all plans of one machine cost the
// same an hour.
#include "sim/search/sweep_cells.h"

#include "model/machine/fabric_fault.h"
#include "sim/search/rank.h"
#include "sim/search/space_fit.h"
#include "sim/search/sweep_machine.h"

// What is known of one machine.
typedef struct Place {
    bool is_built;
    Digest setting;
    SweepVariant variant;
    Err wrong; // why it cannot be built; empty otherwise
    EvaluateMemory *memory;
    bool is_priced;
    Digest key; // of the cell that was priced last, without its price
    SweepCell last;
} Place;

struct SweepCells {
    const SweepSpec *spec;
    Arena *arena;
    Place places[SWEEP_MACHINES_MAX];
    bool is_held;
    uint32_t held_machine;
    Plan held;
};

bool sweep_cells_changes_machine(SweepKind kind) {
    return kind == SWEEP_GPUS || kind == SWEEP_LINK || kind == SWEEP_FAIL;
}

SweepCells *sweep_cells_open(const SweepSpec *spec, Arena *arena) {
    SweepCells *cells = mem_alloc(1, sizeof *cells);
    *cells = (SweepCells){.spec = spec, .arena = arena};
    if (spec->mode == SWEEP_HOLD) sweep_cells_hold(cells, 0, &spec->held);
    return cells;
}

static void leave(Place *place) {
    evaluate_memory_close(place->memory);
    sweep_machine_free(&place->variant);
    *place = (Place){0};
}

void sweep_cells_close(SweepCells *cells) {
    if (cells == NULL) return;
    for (uint32_t i = 0; i < SWEEP_MACHINES_MAX; i++) leave(&cells->places[i]);
    mem_free(cells);
}

void sweep_cells_hold(SweepCells *cells, uint32_t machine, const Plan *plan) {
    cells->is_held = true;
    cells->held_machine = machine;
    cells->held = *plan;
    for (uint32_t i = 0; i < SWEEP_MACHINES_MAX; i++) cells->places[i].is_priced = false;
}

// ---- What the axes say

typedef struct Point {
    SweepSetting setting;
    Scenario scenario; // borrows the arena of the machine's
} Point;

static void apply(const SweepAxis *axis, uint64_t number, uint32_t machine, Point *point) {
    switch (axis->kind) {
    case SWEEP_GPUS: point->setting.gpus = number; break;
    case SWEEP_LINK: point->setting.rate_Bps[axis->link_class] = number; break;
    case SWEEP_FAIL: point->setting.fail = (SweepFail)number; break;
    case SWEEP_ISL: point->scenario.isl = number; break;
    case SWEEP_OSL: point->scenario.osl = number; break;
    case SWEEP_CONCURRENCY: point->scenario.concurrency = number; break;
    case SWEEP_KV_FORMAT: point->scenario.kv_format = (NumFmt)number; break;
    case SWEEP_MEMORY_FRACTION: point->scenario.memory_permille = (uint32_t)number; break;
    case SWEEP_PRICE:
        if (axis->machine == SWEEP_NONE || axis->machine == machine)
            point->scenario.price_uusd_per_gpu_hour = number;
        break;
    case SWEEP_KIND_COUNT: break;
    }
}

static Digest setting_digest(const SweepSetting *setting) {
    Digest digest = hash_u64(hash_u64(HASH_START, setting->gpus), setting->fail);
    for (uint32_t i = 0; i < LINK_CLASS_COUNT; i++) digest = hash_u64(digest, setting->rate_Bps[i]);
    return digest;
}

static Digest workload_digest(Digest digest, const Scenario *scenario) {
    digest = hash_u64(hash_u64(digest, scenario->isl), scenario->osl);
    digest = hash_u64(hash_u64(digest, scenario->concurrency), scenario->memory_permille);
    return hash_u64(digest, scenario->kv_format);
}

// ---- A machine

static void provide(const SweepMachine *machine, const SweepSetting *setting, Place *place) {
    Digest digest = setting_digest(setting);
    if (place->is_built && place->setting == digest) return;
    leave(place);
    place->is_built = true;
    place->setting = digest;
    if (!sweep_machine_build(machine, setting, &place->variant, &place->wrong)) return;
    EvaluateInput input = machine->input;
    input.fabric = &place->variant.fabric;
    place->memory = evaluate_memory_open(&input);
}

static void refuse(SweepCells *cells, const char *reason, SweepCell *out) {
    out->reason = arena_string(cells->arena, reason);
}

// ---- The best plan

static void say_nearest(SweepCells *cells, const Space *space, SweepCell *out) {
    char label[PLAN_TEXT_MAX];
    const LedgerRow *row = space_nearest_miss(space);
    if (row == NULL)
        refuse(cells, "no plan to consider", out);
    else
        out->reason = arena_printf(cells->arena, "%s: %s", plan_label(&row->nearest, label),
                                   row->nearest_text);
}

static void take_unified(const RankRow *row, SweepCell *out) {
    out->is_feasible = out->has_figures = true;
    out->plan = row->plan;
    out->sequences = row->sequences;
    out->evaluation = row->evaluation;
    out->bottleneck = evaluate_part_name(row->evaluation.bottleneck);
}

static void take_pools(SweepCells *cells, const PoolsRow *row, SweepCell *out) {
    out->is_feasible = out->has_figures = true;
    out->reason = "";
    out->plan = row->plan;
    out->sequences = row->decode.sequences;
    out->pooled = arena_copy(cells->arena, row, 1, sizeof *row);
    out->bottleneck = pools_limit_names[row->limit];
    pools_figures(row, &out->evaluation);
}

static void replan_unified(SweepCells *cells, const SweepMachine *machine,
                           const EvaluateInput *input, SweepCell *out) {
    RankOptions options = {
        .objective = cells->spec->objective, .scope = RANK_FIRST, .top = 1, .is_quiet = true};
    Ranking ranking;
    Err err = {0};
    if (!rank_search(input, &machine->experts, &options, &ranking, &err)) {
        refuse(cells, err.text, out);
        return;
    }
    if (ranking.row_count == 0)
        say_nearest(cells, &ranking.space, out);
    else
        take_unified(&ranking.rows[0], out);
    rank_free(&ranking);
}

// Takes the pools when they serve more than what was found before.
static void replan_pools(SweepCells *cells, const SweepMachine *machine, const EvaluateInput *input,
                         SweepCell *out) {
    PoolsSpec spec = {.experts = machine->experts, .most = 1, .is_quiet = true};
    PoolsRanking pools;
    Err err = {0};
    if (!pools_rank(input, &spec, &pools, &err)) {
        if (*out->reason == '\0' && !out->is_feasible) refuse(cells, err.text, out);
        return;
    }
    bool is_better = pools.row_count > 0 && (!out->is_feasible || pools.rows[0].output_tok_s >
                                                                      out->evaluation.output_tok_s);
    if (is_better)
        take_pools(cells, &pools.rows[0], out);
    else if (!out->is_feasible && *out->reason == '\0')
        say_nearest(cells, &pools.space, out);
    pools_free(&pools);
}

static void replan(SweepCells *cells, const SweepMachine *machine, const EvaluateInput *input,
                   SweepCell *out) {
    PoolsUse use = cells->spec->pools;
    if (use != POOLS_SEPARATE) replan_unified(cells, machine, input, out);
    if (use != POOLS_UNIFIED) replan_pools(cells, machine, input, out);
}

// ---- A plan that is held

static const Device *device_of(const Fabric *fabric) {
    return fabric_device(fabric, fabric_live_gpu(fabric, 0));
}

static bool has_room(const EvaluateInput *input, const Plan *plan, uint64_t sequences, Err *err) {
    const Pool *pool = &plan->pools[0];
    uint32_t live = fabric_live_gpu_count(input->fabric);
    FitInput fit = {.arch = input->arch,
                    .device = device_of(input->fabric),
                    .scenario = input->scenario,
                    .sequences = sequences};
    MemoryUse use;
    if ((uint64_t)pool->first_gpu + plan_gpus(plan) > live)
        return err_set(err, "the plan takes %u GPUs, the machine has %u", plan_gpus(plan), live);
    if (!plan_legal(plan, input->arch, err)) return false;
    return space_fit_alone(&fit, plan, &use, err) == NULL &&
           space_fit_full(&fit, plan, &use, err) == NULL;
}

static void set_formats(const SweepCells *cells, const EvaluateInput *input, Plan *plan) {
    for (uint32_t i = 0; i < cells->spec->axes.count; i++)
        for (uint32_t p = 0; p < plan->pool_count; p++)
            if (cells->spec->axes.axes[i].kind == SWEEP_KV_FORMAT)
                plan->pools[p].kv_format = input->scenario->kv_format;
}

static void hold_unified(SweepCells *cells, const EvaluateInput *input, SweepCell *out) {
    Err err = {0};
    Text over = {0};
    Plan plan = cells->held;
    Pool *pool = &plan.pools[0];
    pool->first_gpu = fabric_fault_start(input->fabric, plan_gpus(&plan));
    set_formats(cells, input, &plan);
    out->plan = plan;
    out->sequences = space_sequences(pool, input->scenario->concurrency);
    if (!has_room(input, &plan, out->sequences, &err) ||
        !evaluate_plan(input, &plan, out->sequences, &out->evaluation, &err)) {
        refuse(cells, err.text, out);
        return;
    }
    out->has_figures = true;
    out->bottleneck = evaluate_part_name(out->evaluation.bottleneck);
    out->is_feasible = rank_keeps_limits(input->scenario, &out->evaluation, &over);
    if (!out->is_feasible) refuse(cells, text_string(&over), out);
    text_free(&over);
}

// The same pools with as many instances, where they lie best, at the batch that serves most.
static bool hold_in(SweepCells *cells, const EvaluateInput *input, SweepCell *out, Err *err) {
    Plan plan = cells->held;
    PoolsSpec spec = {.most = 1, .is_quiet = true, .held = &plan};
    PoolsRanking pools;
    set_formats(cells, input, &plan);
    spec.wishes[PHASE_PREFILL].instances = plan.pools[0].replicas;
    spec.wishes[PHASE_DECODE].instances = plan.pools[1].replicas;
    if (!pools_rank(input, &spec, &pools, err)) return false;
    bool is_found = pools.row_count > 0;
    if (is_found)
        take_pools(cells, &pools.rows[0], out);
    else
        say_nearest(cells, &pools.space, out);
    pools_free(&pools);
    return is_found || err_set(err, "%s", out->reason);
}

static void hold_pools(SweepCells *cells, const EvaluateInput *input, SweepCell *out) {
    Scenario free = *input->scenario;
    EvaluateInput other = *input;
    Err err = {0}, again = {0};
    if (hold_in(cells, input, out, &err)) return;
    free.ttft_limit_ps = free.tpot_limit_ps = 0;
    other.scenario = &free;
    hold_in(cells, &other, out, &again); // for figures beside the limit that it misses
    out->is_feasible = false;
    refuse(cells, err.text, out);
}

static void hold(SweepCells *cells, const EvaluateInput *input, SweepCell *out) {
    if (cells->held.pool_count > 1)
        hold_pools(cells, input, out);
    else
        hold_unified(cells, input, out);
}

// ---- A cell

static void price_on(SweepCells *cells, uint32_t machine, const Point *point, SweepCell *out) {
    const SweepMachine *given = &cells->spec->machines[machine];
    Place *place = &cells->places[machine];
    EvaluateInput input = given->input;
    Err err = {0};
    *out = (SweepCell){.machine = machine, .winner = SWEEP_NONE, .reason = "", .bottleneck = ""};
    provide(given, &point->setting, place);
    if (err_is_set(&place->wrong)) {
        refuse(cells, place->wrong.text, out);
        return;
    }
    input.fabric = &place->variant.fabric;
    input.scenario = &point->scenario;
    input.memory = place->memory;
    out->gpus = input.fabric->gpu_count;
    if (!scenario_check(&point->scenario, input.arch->max_context, &err))
        refuse(cells, err.text, out);
    else if (cells->is_held)
        hold(cells, &input, out);
    else
        replan(cells, given, &input, out);
}

// Dollars for a million output tokens, 0 when the price is not known.
static void set_price(const Scenario *scenario, SweepCell *cell) {
    Evaluation *figures = &cell->evaluation;
    cell->price_uusd_per_gpu_hour = scenario->price_uusd_per_gpu_hour;
    if (!cell->has_figures) return;
    double usd_per_hour = (double)cell->price_uusd_per_gpu_hour * 1e-6 * cell->gpus;
    figures->usd_per_mtok = usd_per_hour / 3600 / figures->output_tok_s * 1e6;
}

static void price_remembered(SweepCells *cells, uint32_t machine, const Point *point,
                             SweepCell *out) {
    Place *place = &cells->places[machine];
    Digest key = workload_digest(setting_digest(&point->setting), &point->scenario);
    if (!place->is_priced || place->key != key) {
        SweepCell cell;
        price_on(cells, machine, point, &cell);
        place->is_priced = true;
        place->key = key;
        place->last = cell;
    }
    *out = place->last;
    set_price(&point->scenario, out);
}

// Of machines without a price the cost is not known: they come last.
static double score_of(Objective objective, const SweepCell *cell) {
    bool is_unknown = objective == OBJECTIVE_COST && cell->evaluation.usd_per_mtok <= 0;
    return is_unknown ? 0 : objective_score(objective, &cell->evaluation);
}

// Of two machines without a plan the first says why, unless only the other has figures.
static bool is_better(Objective objective, const SweepCell *a, const SweepCell *b) {
    if (a->is_feasible && b->is_feasible) return score_of(objective, a) > score_of(objective, b);
    if (a->is_feasible || b->is_feasible) return a->is_feasible;
    return a->has_figures && !b->has_figures;
}

void sweep_cells_price(SweepCells *cells, const uint64_t numbers[SWEEP_AXES_MAX], SweepCell *out) {
    const SweepSpec *spec = cells->spec;
    for (uint32_t m = 0; m < spec->machine_count; m++) {
        if (cells->is_held && m != cells->held_machine) continue;
        Point point = {.scenario = *spec->machines[m].input.scenario};
        for (uint32_t i = 0; i < spec->axes.count; i++)
            apply(&spec->axes.axes[i], numbers[i], m, &point);
        SweepCell cell;
        price_remembered(cells, m, &point, &cell);
        if (m == 0 || cells->is_held || is_better(spec->objective, &cell, out)) *out = cell;
    }
}
