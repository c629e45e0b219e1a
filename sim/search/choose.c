// Algorithms by simulated time.
//
// A collective is simulated as a schedule of one operation, for all groups of its family at once,
// because they share links. The result depends on kind, bytes, family and place alone and is
// remembered by these; a place counts by its position in the innermost block that routes tell
// apart, so that stages of a pipeline that lie alike are simulated once. Sources of the idea:
// NCCL's tuner (src/graph/tuning.cc) compares predicted times of algorithms in the same way.
//
// Invariant: the choice is a function of the case; the order of calls and what is remembered do not
// reach it.
#include "sim/search/choose.h"

#include <string.h>

#include "model/base/mem.h"
#include "model/base/num.h"
#include "model/base/wide.h"
#include "model/plan/lower.h"
#include "model/plan/pool_place.h"
#include "model/plan/schedule_one.h"
#include "sim/fold_memory.h"
#include "sim/keymap.h"
#include "sim/net.h"
#include "sim/search/choose_cut.h"
#include "sim/search/choose_load.h"
#include "sim/search/limits.h"

#define IMPOSSIBLE (-1)

struct Chooser {
    Fabric fabric; // a view
    const PriceModel *model;
    ChooseEffort effort;
    FoldMemory *routes;
    Arena arena; // times, reasons
    Choice *choices;
    uint32_t count, capacity;
    KeyMap by_case;
    ChooseExit exit;    // of the machine
    ChooseLoads *loads; // NULL: nothing of them holds
    Pool placed;        // whose ranks are at `places`
    uint32_t *places;
};

Chooser *choose_open(const Fabric *fabric, const PriceModel *model, ChooseEffort effort) {
    Chooser *chooser = mem_alloc(1, sizeof *chooser);
    *chooser = (Chooser){.fabric = effort == CHOOSE_ALL ? *fabric : fabric_as_built(fabric),
                         .model = model,
                         .effort = effort};
    chooser->routes = fold_memory_open(&chooser->fabric);
    choose_cut_exit(&chooser->fabric, model->calib, &chooser->exit);
    chooser->loads = choose_load_open(&chooser->fabric, model->calib);
    return chooser;
}

void choose_close(Chooser *chooser) {
    if (chooser == NULL) return;
    choose_load_close(chooser->loads);
    fold_memory_close(chooser->routes);
    arena_free(&chooser->arena);
    mem_free(chooser->choices);
    mem_free(chooser->places);
    keymap_free(&chooser->by_case);
    mem_free(chooser);
}

// ---- One case

uint32_t choose_inner(const Fabric *fabric, const GroupFamily *family, uint32_t first_gpu) {
    uint32_t block = choose_cut_domain(fabric), stride = family->stride > 0 ? family->stride : 1;
    if (block == 0 || block % stride != 0) return 1;
    uint32_t inner = (uint32_t)wide_gcd(family->size, block / stride);
    bool is_aligned = (first_gpu + family->first) % (inner * stride) == 0 &&
                      family->period % (inner * stride) == 0;
    return is_aligned ? inner : 1;
}

// The same of ranks in any order: runs of as many that all share a domain.
static uint32_t inner_of_places(const Fabric *fabric, const ChooseCase *given) {
    const GroupFamily *family = &given->family;
    uint32_t block = choose_cut_domain(fabric), inner = family->size;
    for (uint32_t g = 0; block > 0 && g < family->count; g++) {
        uint32_t run = 1, last = UINT32_MAX;
        for (uint32_t j = 0; j <= family->size; j++, run++) {
            uint32_t at = UINT32_MAX;
            if (j < family->size) at = given->places[schedule_group_member(family, g, j)] / block;
            if (at == last) continue;
            if (j > 0) inner = (uint32_t)wide_gcd(inner, run);
            run = 0;
            last = at;
        }
    }
    return block > 0 ? inner : 1;
}

uint32_t choose_inner_of(const Fabric *fabric, const ChooseCase *given) {
    if (given->places != NULL) return inner_of_places(fabric, given);
    return choose_inner(fabric, &given->family, given->first_gpu);
}

static void build(const ChooseCase *given, const ChooseTime *way, Schedule *schedule) {
    bool is_split = given->split != SPLIT_EVEN;
    Comm comm = {.collective = given->kind,
                 .algorithm = way->algorithm,
                 .inner = way->inner,
                 .rail_ppm = way->rail_ppm,
                 .bytes = extent_fixed(given->bytes),
                 .split = given->split,
                 .experts = is_split ? 1 : 0,
                 .experts_total = is_split ? given->family.size : 0,
                 .element = 1,
                 .format = NUMFMT_BF16};
    schedule_one_collective(&given->family, &comm, schedule);
}

// The best efficiency among the links that something went over.
static double best_efficiency(const Chooser *chooser, const Timeline *timeline,
                              Algorithm algorithm) {
    const CalibValue *values = chooser->model->calib->values;
    double best = algorithm == ALGORITHM_IN_SWITCH ? values[CALIB_IN_SWITCH].value : 0;
    for (uint32_t i = 0; i < LINK_CLASS_COUNT; i++) {
        double value = values[net_bandwidth_param((LinkClass)i)].value;
        if (timeline->links[i].bytes > 0 && value > best) best = value;
    }
    return best > 0 ? best : 1;
}

// Software time of all steps if each had the least that there is.
static double least_software_ps(const Chooser *chooser, const TimeShare *share) {
    static const CalibParam params[] = {CALIB_NVLINK_STEP, CALIB_PCIE_STEP, CALIB_NET_STEP};
    const CalibValue *values = chooser->model->calib->values;
    double least = values[params[0]].value, sum = 0;
    for (size_t i = 1; i < sizeof params / sizeof *params; i++)
        if (values[params[i]].value < least) least = values[params[i]].value;
    for (size_t i = 0; i < sizeof params / sizeof *params; i++)
        if (values[params[i]].value > 0)
            sum += (double)share->param_ps[params[i]] * least / values[params[i]].value;
    return sum;
}

// The share has the latencies of the transfers that ended last, which are not shorter than those
// that the bound counts.
static Time least_time(const Chooser *chooser, const Timeline *timeline, const ChooseTime *way) {
    const TimeShare *share = &timeline->share;
    Time moving = way->bound_ps > share->latency_ps ? way->bound_ps - share->latency_ps : 0;
    double ps = (double)share->param_ps[CALIB_COLLECTIVE] + (double)share->latency_ps +
                least_software_ps(chooser, share) +
                (double)moving / best_efficiency(chooser, timeline, way->algorithm);
    return ps < (double)way->time_ps ? num_round(ps) : way->time_ps;
}

static void simulate(Chooser *chooser, const ChooseCase *given, SimForm form, ChooseTime *way) {
    Schedule schedule = {0};
    Timeline timeline = {0};
    Err err = {0};
    StepShape shape = step_shape_decode(1, 1);
    Load load = load_uniform();
    SimOptions options = {.form = form,
                          .routes = chooser->routes,
                          .first_gpu = given->first_gpu,
                          .places = given->places};
    build(given, way, &schedule);
    if (sim_run(&chooser->fabric, chooser->model, &schedule, &shape, &load, &options, &timeline,
                &err)) {
        way->time_ps = timeline.end_ps;
        way->bound_ps = timeline.totals[0].bound_ps;
        way->share = timeline.share;
        way->least_ps = least_time(chooser, &timeline, way);
    } else {
        way->time_ps = IMPOSSIBLE;
        way->reason = arena_string(&chooser->arena, err.text);
    }
    timeline_free(&timeline);
    schedule_free(&schedule);
    load_free(&load);
}

static bool is_irregular(const ChooseCase *given, Algorithm algorithm) {
    CollectiveShape shape = {.kind = given->kind, .algorithm = algorithm, .n = given->family.size};
    return algorithm != ALGORITHM_HIERARCHICAL && shape.n > 1 &&
           collective_traffic(shape, 0).pattern == PATTERN_IRREGULAR;
}

static bool is_candidate(const Chooser *chooser, const ChooseCase *given, Algorithm algorithm) {
    if (!collective_has(given->kind, algorithm)) return false;
    if (chooser->effort == CHOOSE_ALL) return true;
    return algorithm != ALGORITHM_PAIRWISE && !is_irregular(given, algorithm);
}

// Fills in what the algorithm needs to know of the nodes; false, with the reason, when they are of
// no use to it.
static bool find_nodes(const Chooser *chooser, const ChooseCase *given, ChooseTime *way) {
    if (way->algorithm != ALGORITHM_HIERARCHICAL) return true;
    way->inner = choose_inner_of(&chooser->fabric, given);
    if (way->inner == given->family.size) way->reason = "the group lies in one node";
    if (way->inner <= 1) way->reason = "no ranks of the group share a node evenly";
    if (way->reason != NULL) return false;
    NodeSpread spread = given->spread;
    spread.nodes = given->family.size / way->inner;
    if (given->split != SPLIT_EVEN && spread.experts >= spread.nodes)
        way->rail_ppm = node_spread_ppm(&spread);
    return true;
}

static bool is_before(const ChooseTime *a, const ChooseTime *b) {
    return a->time_ps >= 0 && (b->time_ps < 0 || a->time_ps < b->time_ps);
}

static void insert(ChooseTime *times, uint32_t count, const ChooseTime *way) {
    uint32_t at = count;
    for (; at > 0 && is_before(way, &times[at - 1]); at--) times[at] = times[at - 1];
    times[at] = *way;
}

static Choice simulate_all(Chooser *chooser, const ChooseCase *given, SimForm form) {
    ChooseTime times[ALGORITHM_COUNT];
    uint32_t count = 0;
    for (uint32_t i = 0; i < ALGORITHM_COUNT; i++) {
        ChooseTime way = {.algorithm = (Algorithm)i, .time_ps = IMPOSSIBLE};
        if (!is_candidate(chooser, given, way.algorithm)) continue;
        if (find_nodes(chooser, given, &way)) simulate(chooser, given, form, &way);
        insert(times, count++, &way);
    }
    return (Choice){arena_copy(&chooser->arena, times, count, sizeof *times), count};
}

static Digest case_key(const ChooseCase *given) {
    const GroupFamily *family = &given->family;
    Digest key = hash_u64(HASH_START, (uint64_t)given->kind << 32 | given->split);
    key = hash_u64(hash_u64(key, given->bytes), given->first_gpu);
    key = hash_u64(key, (uint64_t)family->size << 32 | family->stride);
    key = hash_u64(key, (uint64_t)family->count << 32 | family->period);
    key = hash_u64(key, (uint64_t)family->per_period << 32 | given->spread.experts);
    key = hash_u64(key, (uint64_t)given->spread.top_k << 32 | given->spread.groups);
    key = hash_u64(key, given->spread.top_groups);
    for (uint32_t g = 0; given->places != NULL && g < family->count; g++)
        for (uint32_t j = 0; j < family->size; j++)
            key = hash_u64(key, given->places[schedule_group_member(family, g, j)]);
    return key;
}

// With its ranks counted from 0, because each rank of a schedule has a role, and at the first of
// the places that are alike; places on the machine as it is may differ by their faults.
static ChooseCase moved_to_front(const Chooser *chooser, const ChooseCase *given) {
    ChooseCase moved = *given;
    uint32_t block = choose_cut_domain(&chooser->fabric);
    moved.family.first = 0;
    if (given->places != NULL) {
        moved.places += given->family.first;
        return moved;
    }
    moved.first_gpu += given->family.first;
    if (block > 0 && chooser->effort == CHOOSE_REGULAR) moved.first_gpu %= block;
    return moved;
}

static const Choice *times_in_form(Chooser *chooser, const ChooseCase *given, SimForm form) {
    ChooseCase moved = moved_to_front(chooser, given);
    Digest key = hash_u64(case_key(&moved), form);
    uint32_t found = keymap_find(&chooser->by_case, key);
    if (found != KEYMAP_NONE) return &chooser->choices[found];
    Choice choice = simulate_all(chooser, &moved, form);
    chooser->choices = mem_grow(chooser->choices, &chooser->capacity, chooser->count + 1,
                                sizeof *chooser->choices);
    keymap_add(&chooser->by_case, key, chooser->count);
    chooser->choices[chooser->count] = choice;
    return &chooser->choices[chooser->count++];
}

static bool is_refused(const Choice *choice) {
    return choice->count > 0 && choice->times[0].time_ps < 0;
}

// Ranks that are no regular part of the machine as a whole may have groups that all lie inside
// domains. Those share nothing across domains, and the first one is the fullest.
static bool take_first_domain(const Chooser *chooser, const ChooseCase *given, ChooseCase *out) {
    const GroupFamily *family = &given->family;
    uint32_t domain = choose_cut_domain(&chooser->fabric), inside = 0;
    if (domain == 0 || (family->stride > 1 && family->period == 0)) return false;
    for (uint32_t g = 0; g < family->count; g++) {
        uint32_t first = given->first_gpu + schedule_group_member(family, g, 0);
        uint32_t last = given->first_gpu + schedule_group_member(family, g, family->size - 1);
        if (first / domain != last / domain) return false;
        if (first / domain == (given->first_gpu + family->first) / domain) inside = g + 1;
    }
    *out = *given;
    if (family->stride <= 1 && (family->period == 0 || inside < family->per_period)) {
        out->family.period = out->family.per_period = 0;
    } else {
        inside -= inside % family->per_period;
    }
    out->family.count = inside;
    return inside > 0 && inside < family->count;
}

const Choice *choose_times(Chooser *chooser, const ChooseCase *given) {
    if (chooser->effort == CHOOSE_ALL && given->places == NULL)
        return times_in_form(chooser, given, SIM_AUTO);
    const Choice *choice = times_in_form(chooser, given, SIM_FOLDED);
    ChooseCase inside;
    if (is_refused(choice) && given->places == NULL && take_first_domain(chooser, given, &inside))
        choice = times_in_form(chooser, &inside, SIM_FOLDED);
    return choice;
}

// Groups that lie unevenly on the machine cannot be folded at all.
static bool is_uneven(const ChooseCase *given, const Choice *choice) {
    uint64_t ranks = wide_mul_saturate(given->family.size, given->family.count);
    return is_refused(choice) &&
           wide_mul_saturate(ranks, given->family.size) <= LIMITS_UNEVEN_PAIRS;
}

// ---- A schedule

// Of the experts: which replica of one a token goes to makes no difference.
static NodeSpread spread_of(const Arch *arch, const Pool *pool, const Comm *comm) {
    NodeSpread spread = {0};
    if (comm->split == SPLIT_EVEN) return spread;
    for (uint32_t i = 0; i < arch->kind_count; i++) {
        const MlpSpec *mlp = &arch->mlps[arch->kinds[i].mlp];
        if (mlp->experts > 0 && pool_slots(pool, mlp->experts) == comm->experts_total)
            spread = (NodeSpread){.experts = mlp->experts,
                                  .top_k = lower_chosen(mlp),
                                  .groups = mlp->groups,
                                  .top_groups = mlp->top_groups};
    }
    return spread;
}

void choose_log_free(ChooseLog *log) {
    mem_free(log->rows);
    *log = (ChooseLog){0};
}

static bool is_known(const ChooseLog *log, const ChooseRow *row) {
    for (uint32_t i = 0; i < log->count; i++) {
        const ChooseRow *other = &log->rows[i];
        if (strcmp(other->name, row->name) == 0 && other->kind == row->kind && other->n == row->n &&
            other->bytes == row->bytes)
            return true;
    }
    return false;
}

static void log_choice(ChooseLog *log, const Op *op, const ChooseCase *given,
                       const Choice *choice) {
    ChooseRow row = {.name = op->name,
                     .op_class = op->op_class,
                     .kind = given->kind,
                     .n = given->family.size,
                     .bytes = given->bytes,
                     .second = {.time_ps = IMPOSSIBLE}};
    row.best = choice->times[0];
    if (choice->count > 1) row.second = choice->times[1];
    if (is_known(log, &row)) return;
    log->rows = mem_grow(log->rows, &log->capacity, log->count + 1, sizeof *log->rows);
    log->rows[log->count++] = row;
}

// Of ranks in another order than GPUs. TP groups lie together in every order.
static const uint32_t *places_of(Chooser *chooser, const Pool *pool, const GroupFamily *family) {
    Err ignored = {0}; // it comes again when the plan is evaluated
    if (pool->placement == PLACEMENT_LINEAR ||
        (family->size * family->stride <= pool->tp && family->stride > 0))
        return NULL;
    if (chooser->places != NULL && memcmp(&chooser->placed, pool, sizeof *pool) == 0)
        return chooser->places;
    mem_free(chooser->places);
    chooser->places = NULL;
    chooser->placed = *pool;
    return pool_place_ranks(&chooser->fabric, pool, &chooser->places, &ignored) ? chooser->places
                                                                                : NULL;
}

static ChooseCase case_of(Chooser *chooser, const Arch *arch, const Pool *pool,
                          const StepShape *shape, const Schedule *schedule, const Op *op) {
    return (ChooseCase){.kind = op->comm.collective,
                        .split = op->comm.split,
                        .bytes = extent_value(&op->comm.bytes, shape),
                        .family = schedule->groups[op->comm.group],
                        .first_gpu = pool->first_gpu,
                        .places = places_of(chooser, pool, &schedule->groups[op->comm.group]),
                        .spread = spread_of(arch, pool, &op->comm)};
}

const ChooseTime *choose_time_of(Chooser *chooser, const Arch *arch, const Pool *pool,
                                 const StepShape *shape, const Schedule *schedule, OpId op) {
    const Comm *comm = &schedule->ops[op].comm;
    ChooseCase given = case_of(chooser, arch, pool, shape, schedule, &schedule->ops[op]);
    const Choice *choice = choose_times(chooser, &given);
    for (uint32_t i = 0; i < choice->count; i++) {
        const ChooseTime *way = &choice->times[i];
        if (way->algorithm == comm->algorithm && way->inner == comm->inner && way->time_ps >= 0)
            return way;
    }
    return NULL;
}

// Whether groups that cannot be folded take no other algorithm than DIRECT, or one that has the
// same pairs, when the plan is simulated.
static bool is_direct(const Chooser *chooser, const ChooseCase *given, Algorithm algorithm) {
    uint64_t ranks = wide_mul_saturate(given->family.size, given->family.count);
    uint32_t inner = choose_inner_of(&chooser->fabric, given);
    return (algorithm == ALGORITHM_DIRECT || algorithm == ALGORITHM_PAIRWISE) &&
           (inner <= 1 || inner == given->family.size ||
            wide_mul_saturate(ranks, given->family.size) > LIMITS_UNEVEN_PAIRS);
}

bool choose_bound_of(Chooser *chooser, const Arch *arch, const Pool *pool, const StepShape *shape,
                     const Schedule *schedule, OpId op, ChooseTime *out) {
    const ChooseTime *known = choose_time_of(chooser, arch, pool, shape, schedule, op);
    ChooseCase given = case_of(chooser, arch, pool, shape, schedule, &schedule->ops[op]);
    ChooseGroups which = pool->pp == 1 ? CHOOSE_WORST_GROUP : CHOOSE_BEST_GROUP;
    if (known != NULL) *out = *known;
    return known != NULL ||
           choose_cut_least(&chooser->exit, &chooser->fabric, &given, which, out) ||
           (is_direct(chooser, &given, schedule->ops[op].comm.algorithm) &&
            choose_load_least(chooser->loads, fold_memory_refine(chooser->routes), &given, which,
                              out)) ||
           choose_load_ends(chooser->loads, &given, out);
}

// What a look does not simulate.
typedef enum Look { LOOK_FOLDED, LOOK_ANY } Look;

static uint32_t replace_auto(Chooser *chooser, const Arch *arch, const Pool *pool,
                             const StepShape *shape, Look look, Schedule *schedule,
                             ChooseLog *log) {
    uint32_t chosen = 0;
    for (OpId id = 0; id < schedule->op_count; id++) {
        Op *op = &schedule->ops[id];
        if (op->kind != OP_COLLECTIVE || op->comm.algorithm != ALGORITHM_AUTO) continue;
        ChooseCase given = case_of(chooser, arch, pool, shape, schedule, op);
        op->comm.algorithm = ALGORITHM_DIRECT;
        chosen++;
        if (given.family.size <= 1) continue;
        const Choice *choice = choose_times(chooser, &given);
        if (look == LOOK_ANY && is_uneven(&given, choice))
            choice = times_in_form(chooser, &given, SIM_AUTO);
        if (choice->count == 0 || choice->times[0].time_ps < 0) continue;
        op->comm.algorithm = choice->times[0].algorithm;
        op->comm.inner = choice->times[0].inner;
        op->comm.rail_ppm = choice->times[0].rail_ppm;
        if (log != NULL) log_choice(log, op, &given, choice);
    }
    return chosen;
}

uint32_t choose_ops(Chooser *chooser, const Arch *arch, const Pool *pool, const StepShape *shape,
                    Schedule *schedule, ChooseLog *log) {
    return replace_auto(chooser, arch, pool, shape, LOOK_FOLDED, schedule, log);
}

void choose_schedule(Chooser *chooser, const Arch *arch, const Pool *pool, const StepShape *shape,
                     Schedule *schedule, ChooseLog *log) {
    if (replace_auto(chooser, arch, pool, shape, LOOK_ANY, schedule, log) > 0)
        schedule_finish(schedule);
}
