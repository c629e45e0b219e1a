// The instances that a pool can be made of: enumerated, pruned by lower bounds, simulated.
//
// Invariant: of each number of GPUs the best instance is kept that any simulation could have found:
// one is left out only when its lower bound is no better than what was simulated of that size (or
// when SIMULATED_MAX of the size were). What is kept and in which order depends on numbers alone.
//
// A server of an engine lies on whole nodes or inside one, so an instance does too.
#include "sim/search/pools_internal.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/base/num.h"
#include "model/base/wide.h"
#include "model/plan/launch.h"
#include "model/plan/plan_legal.h"
#include "model/plan/pool_place.h"
#include "model/plan/shard.h"
#include "model/plan/stage_cut.h"
#include "sim/search/bound.h"
#include "sim/search/evaluate_memory.h"
#include "sim/search/space_context.h"
#include "sim/search/space_place.h"

#define SIMULATED_MAX 8 // of one size, for one target
#define DEPTH_MAX     8 // stages of an instance: deeper ones have too few requests in each stage
#define CURVE_STEP    4 // from one batch that is simulated to the next
#define PS            1e-12

typedef struct Finder {
    PoolsSearch *search;
    Phase phase;
    Scenario scenario; // with as many tokens of answer as the phase keeps
    PoolsShapes all;   // legal, placed and fitting, by size
    uint32_t gpus;
} Finder;

Plan pools_shape_plan(const PoolsShape *shape) {
    Plan plan = {.pool_count = 1};
    plan.pools[0] = shape->pool;
    return plan;
}

static void add_shape(PoolsShapes *shapes, const PoolsShape *shape) {
    shapes->items =
        mem_grow(shapes->items, &shapes->capacity, shapes->count + 1, sizeof *shapes->items);
    shapes->items[shapes->count++] = *shape;
}

// ---- Memory

static uint64_t slots_of(const PoolsShape *shape) {
    return (uint64_t)shape->pool.dp * shape->pool.micro_batches;
}

// The largest batch that the workload could give one instance.
static uint64_t fullest_batch(const Finder *finder, const PoolsShape *shape) {
    return wide_div_up_u64(finder->scenario.concurrency, slots_of(shape));
}

static StepShape decode_shape(const Scenario *scenario, uint64_t batch) {
    return step_shape_decode(batch, scenario->isl + scenario->osl / 2);
}

static uint64_t largest_work(const Finder *finder, const PoolsShape *shape) {
    uint64_t batch = fullest_batch(finder, shape), most = shape->memory.most_sequences;
    if (finder->phase == PHASE_PREFILL) return shape->prompts;
    return batch < most ? batch : most;
}

static const char *reject_reason(Phase phase) {
    return phase == PHASE_PREFILL ? "a prefill instance: weights, prompts and buffers do not fit"
                                  : "a decode instance: weights, buffers and two sequences do not "
                                    "fit";
}

// Sequences of an attention-DP rank without which the instance cannot work: of prefill the prompts
// of a step in each stage and one that is sent, of decode one and one that is received.
static uint64_t least_sequences(const Finder *finder, const PoolsShape *shape) {
    if (finder->phase == PHASE_PREFILL) return shape->prompts * shape->pool.pp + 1;
    return shape->pool.micro_batches + 1;
}

static void use_memory(const Finder *finder, PoolsShape *shape, uint64_t sequences,
                       uint64_t buffers_B) {
    Plan plan = pools_shape_plan(shape);
    memory_use(&plan, 0, finder->search->input.arch, finder->search->device, &finder->scenario,
               sequences, buffers_B, &shape->memory);
}

// With the buffers of its largest step.
static bool fits(Finder *finder, PoolsShape *shape) {
    const PoolsSearch *search = finder->search;
    Plan plan = pools_shape_plan(shape);
    uint64_t least = least_sequences(finder, shape);
    use_memory(finder, shape, 0, 0);
    if (shape->memory.most_sequences >= least) {
        uint64_t work = largest_work(finder, shape);
        use_memory(finder, shape, 0, pools_run_buffers_B(&search->input, &plan, 0, work));
    }
    if (memory_over_B(&shape->memory) == 0 && shape->memory.most_sequences >= least) return true;
    MemoryUse full = shape->memory;
    uint64_t buffers_B = full.term_B[MEMORY_BUFFERS];
    memory_use(&plan, 0, search->input.arch, search->device, &finder->scenario, least, buffers_B,
               &full);
    Err text = {0};
    memory_fits(&full, &text);
    space_reject(&search->ranking->space, LEDGER_NOT_FIT, reject_reason(finder->phase),
                 (double)memory_over_B(&full), &plan, text.text);
    return false;
}

// ---- Enumeration

static Pool make_pool(const Finder *finder, uint32_t tp, uint32_t pp, uint32_t dp) {
    const EvaluateInput *input = &finder->search->input;
    const Arch *arch = input->arch;
    return (Pool){.kind = finder->phase == PHASE_PREFILL ? POOL_PREFILL : POOL_DECODE,
                  .tp = tp,
                  .pp = pp,
                  .dp = dp,
                  .ep = 1,
                  .moe_tp = tp * dp,
                  .cp = 1,
                  .replicas = 1,
                  .placement = PLACEMENT_LINEAR,
                  .micro_batches = pp,
                  .moe_comm =
                      dp == 1 || arch_most_experts(arch) == 0 ? MOE_COMM_NONE : MOE_COMM_GATHER,
                  .all_reduce = ALGORITHM_AUTO,
                  .all_to_all = ALGORITHM_AUTO,
                  .all_gather = ALGORITHM_AUTO,
                  .reduce_scatter = ALGORITHM_AUTO,
                  .kv_format = input->scenario->kv_format,
                  .activation_format = arch->dtype,
                  .dispatch_format = launch_dispatch_format(arch, arch->dtype)};
}

static bool has_place(Finder *finder, const Plan *plan) {
    const PoolsSearch *search = finder->search;
    const EvaluateInput *input = &search->input;
    Space *space = &search->ranking->space;
    Err text = {0};
    PlanFault legal = plan_legal_fault(plan, input->arch, &text);
    if (legal.rule != PLAN_RULE_KEPT) {
        space_reject(space, LEDGER_ILLEGAL, plan_legal_names[legal.rule], 0, plan, text.text);
        return false;
    }
    PlaceFault fault = space_place_fault(input->fabric, &plan->pools[0], &text);
    if (fault.reason == NULL)
        fault = space_place_dear(input->fabric, input->arch, fabric_live_gpu_count(input->fabric),
                                 &plan->pools[0], &text);
    if (fault.reason == NULL) return true;
    space_reject(space, fault.kind, fault.reason, fault.miss, plan, text.text);
    return false;
}

static bool meets(uint32_t is, uint32_t wished) {
    return wished == 0 || is == wished;
}

static void consider_one(Finder *finder, const Pool *pool) {
    const Scenario *scenario = &finder->scenario;
    const PoolsWish *wish = &finder->search->spec->wishes[finder->phase];
    if (!meets(pool->tp, wish->tp) || !meets(pool->pp, wish->pp) || !meets(pool->dp, wish->dp) ||
        !meets(pool->ep, wish->ep))
        return;
    PoolsShape shape = {.pool = *pool, .gpus = pool_replica_ranks(pool)};
    shape.prompts = pools_run_prompts(scenario, pool);
    StageCache cache = {least_sequences(finder, &shape), scenario->isl + scenario->osl};
    if (pool->pp > 1) stage_cut_by_cost(finder->search->input.arch, &cache, &shape.pool);
    Plan plan = pools_shape_plan(&shape);
    finder->search->ranking->space.considered++;
    if (has_place(finder, &plan) && fits(finder, &shape)) add_shape(&finder->all, &shape);
}

// Decode instances with their caches dealt to all ranks that hold copies, where the search is free
// to choose and that saves time (space_context.h).
static void consider(Finder *finder, const Pool *pool) {
    const EvaluateInput *input = &finder->search->input;
    PoolsShape shape = {.pool = *pool, .prompts = 1};
    consider_one(finder, pool);
    uint32_t most = space_context_most_dealt(pool, input->arch);
    bool is_free = finder->search->spec->wishes[finder->phase].tp == 0;
    Err text = {0};
    if (finder->phase == PHASE_PREFILL || most == 1 || !is_free) return;
    Plan plan = pools_shape_plan(&shape);
    if (!plan_legal(&plan, input->arch, &text)) return;
    use_memory(finder, &shape, fullest_batch(finder, &shape) * pool->micro_batches, 0);
    shape.pool.dcp = plan.pools[0].dcp = most;
    PlaceFault fault =
        space_context_untried(&shape.pool, input->arch, input->model, &shape.memory, &text);
    if (fault.reason == NULL) {
        consider_one(finder, &shape.pool);
        return;
    }
    finder->search->ranking->space.considered++;
    space_reject(&finder->search->ranking->space, fault.kind, fault.reason, fault.miss, &plan,
                 text.text);
}

// As the plan has it: stages too.
static void consider_held(Finder *finder) {
    PoolsShape shape = {.pool = finder->search->spec->held->pools[finder->phase == PHASE_DECODE]};
    shape.pool.first_gpu = 0;
    shape.pool.replicas = 1;
    shape.gpus = pool_replica_ranks(&shape.pool);
    shape.prompts = pools_run_prompts(&finder->scenario, &shape.pool);
    Plan plan = pools_shape_plan(&shape);
    finder->search->ranking->space.considered++;
    if (has_place(finder, &plan) && fits(finder, &shape)) add_shape(&finder->all, &shape);
}

// Whole experts on each rank, by all-to-all (in prefill also with two batches) or by gathering; all
// of an expert cut over all ranks.
static void consider_placed(Finder *finder, const Pool *placed) {
    const PoolsSearch *search = finder->search;
    Pool pool = *placed;
    consider(finder, &pool);
    if (pool_token_groups(placed) == 1) return;
    pool.moe_comm = MOE_COMM_ALL_TO_ALL;
    if (finder->phase == PHASE_PREFILL) pool.prefill_sms = search->device->comm_units;
    consider(finder, &pool);
    if (finder->phase == PHASE_DECODE || search->input.scenario->isl == 1) return;
    pool.prefill_overlap = OVERLAP_TWO_BATCH;
    consider(finder, &pool);
}

static void consider_experts(Finder *finder, const Pool *cut) {
    const PoolsSearch *search = finder->search;
    SpaceExperts ways[SPACE_EXPERTS_MAX];
    Pool pool = *cut;
    consider(finder, &pool);
    if (arch_most_experts(search->input.arch) == 0 || pool_stage_ranks(cut) == 1) return;
    pool.ep = pool_stage_ranks(cut);
    pool.moe_tp = 1;
    uint32_t count = space_experts_list(&search->spec->experts, search->input.arch, pool.ep, ways);
    for (uint32_t i = 0; i < count; i++) {
        space_experts_set(&ways[i], &pool);
        consider_placed(finder, &pool);
    }
}

// `ways` groups of tp ranks with requests of their own; and, of prompts of several chunks, all of
// them sharing each prompt.
static void consider_groups(Finder *finder, uint32_t tp, uint32_t pp, uint32_t ways) {
    const Scenario *scenario = &finder->scenario;
    const PoolsWish *wish = &finder->search->spec->wishes[finder->phase];
    Pool pool = make_pool(finder, tp, pp, ways);
    Err text = {0};
    consider_experts(finder, &pool);
    if (finder->phase == PHASE_DECODE || ways == 1 || wish->dp > 0 ||
        scenario->isl <= scenario->prefill_chunk)
        return;
    if (space_context_unshared(scenario, ways, &text).reason != NULL) return;
    pool.dp = 1;
    pool.cp = ways;
    consider_experts(finder, &pool);
}

// 1, 3 or 5 times a power of two, parts of a scale-up domain and whole ones, on whole nodes or
// inside one.
static bool is_size(const Fabric *fabric, uint32_t gpus) {
    uint32_t domain = pool_place_node(fabric), node = fabric->node_size, odd = gpus;
    if (node > 0 && node % gpus != 0 && gpus % node != 0) return false;
    while (odd % 2 == 0) odd /= 2;
    return odd <= 5 || domain % gpus == 0 || gpus % domain == 0;
}

static void enumerate(Finder *finder) {
    const Fabric *fabric = finder->search->input.fabric;
    const PoolsWish *wish = &finder->search->spec->wishes[finder->phase];
    if (finder->search->spec->held != NULL) {
        consider_held(finder);
        return;
    }
    for (uint32_t size = 1; size < finder->gpus; size++) {
        if (wish->dp == 0 && !is_size(fabric, size)) continue;
        for (uint32_t tp = 1; tp <= size; tp *= 2)
            for (uint32_t pp = 1; pp <= DEPTH_MAX && size % tp == 0; pp *= 2)
                if (size % (tp * pp) == 0) consider_groups(finder, tp, pp, size / (tp * pp));
    }
}

// ---- Simulation

static bool simulate_prefill(Finder *finder, PoolsShape *shape, Err *err) {
    Plan plan = pools_shape_plan(shape);
    Evaluation e;
    if (!evaluate_one_phase(&finder->search->input, &plan, PHASE_PREFILL, shape->prompts, &e, err))
        return false;
    double prompts = (double)(slots_of(shape) * shape->prompts);
    shape->requests_s = prompts / ((double)e.prefill_ps * PS);
    shape->prefill_ps = e.ttft_ps;
    evaluate_free(&e);
    return true;
}

static bool simulate_decode(Finder *finder, PoolsShape *shape, uint64_t batch, Err *err) {
    for (uint32_t i = 0; i < shape->points; i++)
        if (shape->curve[i].sequences == (double)batch) return true;
    Plan plan = pools_shape_plan(shape);
    Evaluation e;
    if (!evaluate_one_phase(&finder->search->input, &plan, PHASE_DECODE, batch, &e, err))
        return false;
    uint32_t at = shape->points++;
    for (; at > 0 && shape->curve[at - 1].sequences > (double)batch; at--)
        shape->curve[at] = shape->curve[at - 1];
    shape->curve[at] = (PoolsPoint){(double)batch, (double)e.tpot_ps * PS};
    evaluate_free(&e);
    return true;
}

static uint64_t room(const PoolsShape *shape) {
    return (shape->memory.most_sequences - 1) / shape->pool.micro_batches;
}

// The batch of one of `instances` that share the requests.
static uint64_t batch_of(const Finder *finder, const PoolsShape *shape, uint32_t instances) {
    uint64_t batch =
        wide_div_up_u64(finder->scenario.concurrency, (uint64_t)instances * slots_of(shape));
    return batch < room(shape) ? batch : room(shape);
}

// The whole range of batches, a point for each factor of CURVE_STEP.
static bool simulate_curve(Finder *finder, PoolsShape *shape, Err *err) {
    uint64_t last = batch_of(finder, shape, 1);
    for (uint64_t batch = 1; batch < last && shape->points < POOLS_CURVE_MAX - 2;
         batch *= CURVE_STEP)
        if (!simulate_decode(finder, shape, batch, err)) return false;
    return simulate_decode(finder, shape, last, err);
}

// ---- Pruning

// What instances of a size are compared by. RATE: requests or tokens a second, of decode when so
// many instances share the requests. TIME: one over the time of a prompt, or of a step of one
// sequence on each rank.
typedef enum TargetKind { TARGET_RATE, TARGET_TIME } TargetKind;
typedef struct Target {
    TargetKind kind;
    uint32_t instances;
} Target;

// Sequences (or prompts) of a step of an attention-DP rank and micro-batch.
static uint64_t work_of(const Finder *finder, const PoolsShape *shape, Target target) {
    if (target.kind == TARGET_TIME) return 1;
    return finder->phase == PHASE_PREFILL ? shape->prompts
                                          : batch_of(finder, shape, target.instances);
}

static bool bound_of(Finder *finder, const PoolsShape *shape, uint64_t work, BoundStep *out,
                     Err *err) {
    const EvaluateInput *input = &finder->search->input;
    Plan plan = pools_shape_plan(shape);
    Schedule schedule;
    Load load;
    StepShape whole = finder->phase == PHASE_PREFILL
                          ? step_shape_prompts(work, finder->scenario.isl)
                          : decode_shape(&finder->scenario, work);
    StepShape step = step_shape_cp(&whole, shape->pool.cp);
    if (!evaluate_load(input, &shape->pool, &load, err)) return false;
    lower_plan(&plan, 0, input->arch, finder->phase, 1, &schedule);
    choose_ops(input->memory->chooser, input->arch, &shape->pool, &step, &schedule, NULL);
    bound_step(&(BoundInput){.fabric = input->fabric,
                             .model = input->model,
                             .arch = input->arch,
                             .pool = &shape->pool,
                             .chooser = input->memory->chooser,
                             .schedule = &schedule,
                             .shape = &step,
                             .load = &load},
               out);
    schedule_free(&schedule);
    load_free(&load);
    return true;
}

// Requests that a step of an instance works on: no more than there are.
static double requests_of(const Finder *finder, const PoolsShape *shape, Target target) {
    double most = (double)finder->scenario.concurrency / target.instances;
    double held = (double)(batch_of(finder, shape, target.instances) * slots_of(shape));
    return held < most ? held : most;
}

// Of what `measure` will find, from the longest chain of operations. A pass of prefill follows the
// one before; a pass of decode waits for that of its micro-batch. Chunks of a prompt lie in as many
// stages at once as there are.
static bool upper_bound(Finder *finder, const PoolsShape *shape, Target target, double *out,
                        Err *err) {
    BoundStep bound;
    uint64_t work = work_of(finder, shape, target);
    bool is_chunked = finder->scenario.isl > finder->scenario.prefill_chunk;
    if (!bound_of(finder, shape, work, &bound, err)) return false;
    double interval_s = (double)bound.interval_ps * PS, latency_s = (double)bound.latency_ps * PS;
    if (finder->phase == PHASE_DECODE)
        *out = (target.kind == TARGET_TIME ? 1 : requests_of(finder, shape, target)) / interval_s;
    else if (target.kind == TARGET_RATE)
        *out = (double)(work * shape->pool.dp) / interval_s;
    else
        *out = (is_chunked ? shape->pool.pp : 1) / latency_s;
    return true;
}

static bool measure(Finder *finder, PoolsShape *shape, Target target, double *out, Err *err) {
    bool is_time = target.kind == TARGET_TIME;
    if (finder->phase == PHASE_PREFILL) {
        if (shape->requests_s == 0 && !simulate_prefill(finder, shape, err)) return false;
        *out = is_time ? 1 / ((double)shape->prefill_ps * PS) : shape->requests_s;
        return true;
    }
    uint64_t batch = work_of(finder, shape, target);
    if (!simulate_decode(finder, shape, batch, err)) return false;
    double tpot_s = pools_solve_tpot_s(shape, (double)batch);
    *out = (is_time ? 1 : requests_of(finder, shape, target)) / tpot_s;
    return true;
}

typedef struct Entry {
    uint32_t index;
    double bound;
} Entry;

static int compare_entries(const void *left, const void *right) {
    const Entry *a = left, *b = right;
    if (a->bound != b->bound) return a->bound < b->bound ? 1 : -1;
    return (a->index > b->index) - (a->index < b->index);
}

// What has no bound comes first, and is found out by simulation.
static Entry bound_entry(Finder *finder, uint32_t index, Target target) {
    Err ignored = {0};
    Entry entry = {.index = index};
    if (!upper_bound(finder, &finder->all.items[index], target, &entry.bound, &ignored))
        entry.bound = DBL_MAX;
    return entry;
}

static bool is_over(const Finder *finder, const PoolsShape *shape) {
    Time limit = finder->scenario.ttft_limit_ps;
    return finder->phase == PHASE_PREFILL && limit > 0 && shape->prefill_ps > limit;
}

static void reject_unsimulated(Finder *finder, const PoolsShape *shape, const Err *reason) {
    Plan plan = pools_shape_plan(shape);
    space_reject(&finder->search->ranking->space, LEDGER_NO_DATA, "cannot be simulated", 0, &plan,
                 reason->text);
}

static void reject_over(Finder *finder, const PoolsShape *shape) {
    Plan plan = pools_shape_plan(shape);
    char time[UNITS_TEXT_MAX], limit[UNITS_TEXT_MAX], text[ERR_TEXT_MAX];
    Time most = finder->scenario.ttft_limit_ps;
    snprintf(text, sizeof text, "prefill alone takes %s, over the limit of TTFT of %s",
             units_format_time(shape->prefill_ps, time), units_format_time(most, limit));
    space_reject(&finder->search->ranking->space, LEDGER_MISSES_LIMIT,
                 "prefill instances over the limit of TTFT",
                 (double)shape->prefill_ps / (double)most - 1, &plan, text);
}

// Marks in `is_kept` the best of shapes [first, end), all of one size.
static void keep_best(Finder *finder, uint32_t first, uint32_t end, Target target, bool *is_kept) {
    Entry *entries = mem_alloc(end - first, sizeof *entries);
    uint32_t best = end, simulated = 0, count = end - first;
    double most = 0;
    for (uint32_t s = first; s < end; s++) entries[s - first] = bound_entry(finder, s, target);
    qsort(entries, count, sizeof *entries, compare_entries);
    for (uint32_t i = 0; i < count && simulated < SIMULATED_MAX; i++) {
        PoolsShape *shape = &finder->all.items[entries[i].index];
        bool is_known = shape->requests_s > 0;
        double value;
        Err reason = {0};
        if (entries[i].bound <= most) break;
        if (!measure(finder, shape, target, &value, &reason)) {
            reject_unsimulated(finder, shape, &reason);
            continue;
        }
        simulated++;
        if (is_over(finder, shape)) {
            if (!is_known) reject_over(finder, shape);
            continue;
        }
        if (value <= most) continue;
        most = value;
        best = entries[i].index;
    }
    if (best < end) is_kept[best] = true;
    mem_free(entries);
}

// Of decode: when few share all requests, and when as many do as three quarters of the machine
// hold.
static void keep_size(Finder *finder, uint32_t first, uint32_t end, bool *is_kept) {
    uint32_t many = finder->gpus / 4 * 3 / finder->all.items[first].gpus;
    keep_best(finder, first, end, (Target){TARGET_RATE, 1}, is_kept);
    keep_best(finder, first, end, (Target){TARGET_TIME, 1}, is_kept);
    if (finder->phase == PHASE_DECODE && many > 1)
        keep_best(finder, first, end, (Target){TARGET_RATE, many}, is_kept);
}

static void count_simulated(Finder *finder) {
    PoolsRanking *ranking = finder->search->ranking;
    for (uint32_t i = 0; i < finder->all.count; i++) {
        const PoolsShape *shape = &finder->all.items[i];
        bool is_simulated = shape->points > 0 || shape->requests_s > 0;
        ranking->simulated[finder->phase] += is_simulated;
        ranking->pruned[finder->phase] += !is_simulated;
    }
}

static void keep_all(Finder *finder, PoolsShapes *out) {
    bool *is_kept = mem_alloc(finder->all.count, sizeof *is_kept);
    for (uint32_t i = 0; i < finder->all.count; i++) is_kept[i] = false;
    for (uint32_t first = 0, end; first < finder->all.count; first = end) {
        uint32_t gpus = finder->all.items[first].gpus;
        for (end = first; end < finder->all.count && finder->all.items[end].gpus == gpus;) end++;
        keep_size(finder, first, end, is_kept);
    }
    for (uint32_t i = 0; i < finder->all.count; i++) {
        PoolsShape *shape = &finder->all.items[i];
        Err reason = {0};
        if (!is_kept[i]) continue;
        if (finder->phase == PHASE_DECODE && !simulate_curve(finder, shape, &reason))
            reject_unsimulated(finder, shape, &reason);
        else
            add_shape(out, shape);
    }
    count_simulated(finder);
    mem_free(is_kept);
}

// Of the phase, what does not fit; else what else stands against it.
static const LedgerRow *nearest_of(const Space *space, Phase phase) {
    for (uint32_t i = 0; i < space->ledger_count; i++)
        if (strcmp(space->ledger[i].reason, reject_reason(phase)) == 0) return &space->ledger[i];
    return space_nearest_miss(space);
}

bool pools_shape_find(PoolsSearch *search, Phase phase, PoolsShapes *out, Err *err) {
    Finder finder = {.search = search,
                     .phase = phase,
                     .scenario = *search->input.scenario,
                     .gpus = search->gpus};
    if (phase == PHASE_PREFILL) finder.scenario.osl = 0;
    enumerate(&finder);
    if (finder.all.count == 0) {
        const LedgerRow *near = nearest_of(&search->ranking->space, phase);
        mem_free(finder.all.items);
        return err_set(err, "separate pools: no %s instance on fewer than %u GPUs: %s",
                       phase == PHASE_PREFILL ? "prefill" : "decode", finder.gpus,
                       near == NULL ? "none has such numbers" : near->nearest_text);
    }
    PoolsShapes shapes = {0};
    keep_all(&finder, &shapes);
    mem_free(finder.all.items);
    *out = shapes;
    return true;
}
