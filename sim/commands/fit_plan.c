// Weighs plans against the memory of machines.
//
// Invariant: a row fits when every stage holds its weights, the cache of its share of the requests
// and all buffers; buffers are those of the schedule that would be simulated.
#include "sim/commands/fit_plan.h"

#include "model/base/units.h"
#include "model/base/wide.h"
#include "model/plan/launch.h"
#include "model/plan/lower.h"
#include "model/plan/shard.h"

#define SIMPLE_MAX 64

static const Arch *base_of(const FitAsk *ask) {
    return ask->base != NULL ? ask->base : ask->arch;
}

static MoeComm comm_of(const FitAsk *ask, uint32_t dp, uint32_t ep) {
    if (dp == 1 || arch_most_experts(ask->arch) == 0) return MOE_COMM_NONE;
    return ep > 1 ? MOE_COMM_ALL_TO_ALL : MOE_COMM_GATHER;
}

Plan fit_plan_make(const FitAsk *ask, uint32_t tp, uint32_t pp, uint32_t dp, uint32_t ep) {
    Plan plan = {.pool_count = 1};
    plan.pools[0] = (Pool){.kind = POOL_UNIFIED,
                           .tp = tp,
                           .pp = pp,
                           .dp = dp,
                           .ep = ep,
                           .moe_tp = (uint32_t)((uint64_t)tp * dp / ep),
                           .cp = 1,
                           .dcp = ask->dcp > 1 ? ask->dcp : 0,
                           .replicas = 1,
                           .placement = PLACEMENT_LINEAR,
                           .stage_cut = pp > 1 ? ask->engine->stage_cut : STAGE_CUT_EVEN,
                           .micro_batches = pp,
                           .moe_comm = comm_of(ask, dp, ep),
                           .all_reduce = ALGORITHM_DIRECT,
                           .all_to_all = ALGORITHM_DIRECT,
                           .all_gather = ALGORITHM_DIRECT,
                           .reduce_scatter = ALGORITHM_DIRECT,
                           .kv_format = ask->kv_format,
                           .activation_format = ask->arch->dtype,
                           .dispatch_format = launch_dispatch_format(ask->arch, ask->arch->dtype)};
    return plan;
}

// ---- One plan.

static uint64_t lowered_peak_B(const Plan *plan, const Arch *arch, const StepShape *shape) {
    Schedule schedule;
    uint64_t most = 0;
    lower_plan(plan, 0, arch, PHASE_PREFILL, 1, &schedule);
    for (RoleId role = 0; role < schedule.role_count; role++) {
        uint64_t peak = schedule_peak_B(&schedule, role, shape);
        if (peak > most) most = peak;
    }
    schedule_free(&schedule);
    return most;
}

static uint64_t peak_B(const FitAsk *ask, FitPeaks *peaks, const Plan *plan, uint64_t chunk) {
    const uint32_t room = sizeof peaks->found / sizeof peaks->found[0];
    StepShape whole = step_shape_prefill(chunk, 0);
    StepShape shape = step_shape_cp(&whole, plan->pools[0].cp);
    Digest key = hash_u64(hash_u64(lower_digest(plan, PHASE_PREFILL), chunk), ask->arch->digest);
    for (uint32_t i = 0; i < peaks->count; i++)
        if (peaks->found[i].key == key) return peaks->found[i].peak_B;
    uint64_t peak = lowered_peak_B(plan, base_of(ask), &shape);
    if (peaks->count < room) {
        peaks->found[peaks->count].key = key;
        peaks->found[peaks->count++].peak_B = peak;
    }
    return peak;
}

static MemoryInput input_of(const FitAsk *ask, const FitRow *row, const Plan *plan) {
    const Pool *pool = &plan->pools[0];
    uint64_t shares = (uint64_t)pool->dp * pool->replicas;
    return (MemoryInput){.plan = plan,
                         .arch = ask->arch,
                         .engine = ask->engine,
                         .grouping = ask->grouping,
                         .memory_B = row->machine->memory_B,
                         .memory_permille = ask->memory_permille,
                         .context = ask->context,
                         .sequences = wide_div_up_u64(ask->concurrency, shares),
                         .chunk = ask->chunk,
                         .away_weights_B = ask->away_weights_B,
                         .away_kv_B = ask->away_kv_B,
                         .with_mtp = ask->with_mtp};
}

// A decode step reads all weights, and all of the cache.
static void note_away(const FitAsk *ask, const MemoryInput *input, FitRow *row) {
    const FitTier *tier = &row->machine->tier;
    const MemoryStage *stage = &row->fit.stages[row->fit.fullest];
    uint64_t kv_B =
        wide_mul_saturate(memory_page_cache_B(&stage->pages, ask->context), input->sequences);
    row->away_kv_B = kv_B < ask->away_kv_B ? kv_B : ask->away_kv_B;
    uint64_t bytes = wide_add_saturate(ask->away_weights_B, row->away_kv_B);
    if (bytes == 0 || tier->share_Bps == 0) return;
    row->away_ps = (Time)wide_mul_div_up(bytes, PS_PER_SECOND, tier->share_Bps);
}

// An engine that converts at load has all weights as they are, then one layer after the other
// twice.
static uint64_t converting_B(const FitAsk *ask, const Plan *plan) {
    Arena arena = {0};
    ShardSummary stored, converted;
    uint64_t most = 0;
    if (*ask->format == '\0') return 0;
    shard_weights(plan, 0, base_of(ask), &arena, &stored);
    shard_weights(plan, 0, ask->arch, &arena, &converted);
    for (uint32_t i = 0; i < plan->pools[0].pp; i++) {
        uint32_t first, layers;
        pool_stage_layers(&plan->pools[0], ask->arch->layers, i, &first, &layers);
        uint64_t layer_B = layers > 0 ? converted.stages[i].largest_B / layers : 0;
        uint64_t sum = wide_add_saturate(stored.stages[i].largest_B, layer_B);
        if (sum > most) most = sum;
    }
    arena_free(&arena);
    return most;
}

static void conclude(const FitAsk *ask, const MemoryInput *input, Arena *arena, FitRow *row) {
    Err reason = {0};
    const Pool *pool = &input->plan->pools[0];
    const MemoryStage *stage = &row->fit.stages[row->fit.fullest];
    row->fits = memory_fit_holds(&row->fit, &reason);
    row->reason = arena_string(arena, row->fits ? "" : reason.text);
    row->requests = wide_mul_saturate(row->fit.most_sequences, (uint64_t)pool->dp * pool->replicas);
    row->memory_permille = wide_mul_div(stage->usable_B, 1000, row->machine->memory_B);
    memory_lengths_mean(&ask->lengths, &stage->pages, &row->taken_B, &row->used_B);
    row->tokens = memory_fit_tokens(&row->fit, ask->context);
    row->converting_B = converting_B(ask, &row->plan);
    note_away(ask, input, row);
}

bool fit_plan_weigh(const FitAsk *ask, FitPeaks *peaks, Arena *arena, FitRow *row, Err *err) {
    Err reason = {0};
    row->format = ask->format;
    row->legal = plan_legal(&row->plan, base_of(ask), &reason);
    if (!row->legal) {
        row->reason = arena_string(arena, reason.text);
        return true;
    }
    MemoryInput input = input_of(ask, row, &row->plan);
    if (!memory_fit_find(&input, arena, &row->fit, err)) return false;
    if (memory_fit_over_B(&row->fit.stages[row->fit.fullest]) == 0) {
        input.buffers_B = peak_B(ask, peaks, &row->plan, row->fit.chunk);
        if (!memory_fit_find(&input, arena, &row->fit, err)) return false;
    }
    conclude(ask, &input, arena, row);
    return true;
}

// ---- Simple plans.

static uint64_t over_B(const FitRow *row) {
    return row->legal ? memory_fit_over_B(&row->fit.stages[row->fit.fullest]) : UINT64_MAX;
}

// Fewer GPUs, then more room.
static bool is_better(const FitRow *a, const FitRow *b) {
    if (a->fits != b->fits) return a->fits;
    if (!a->fits) return over_B(a) < over_B(b);
    uint32_t gpus_a = plan_gpus(&a->plan), gpus_b = plan_gpus(&b->plan);
    return gpus_a != gpus_b ? gpus_a < gpus_b : a->fit.available_B > b->fit.available_B;
}

const FitRow *fit_plan_best(const FitRow *rows, uint32_t count) {
    const FitRow *best = NULL;
    for (uint32_t i = 0; i < count; i++)
        if (best == NULL || is_better(&rows[i], best)) best = &rows[i];
    return best;
}

// Rows of one kind of plan, from few GPUs to many.
typedef struct Kind {
    FitRow rows[SIMPLE_MAX];
    uint32_t count;
} Kind;

static bool try_plan(const FitAsk *ask, FitPeaks *peaks, const FitMachine *machine, Arena *arena,
                     Plan plan, Kind *kind, Err *err) {
    FitRow row = {.machine = machine, .plan = plan};
    if (kind->count == SIMPLE_MAX) return true;
    if (!fit_plan_weigh(ask, peaks, arena, &row, err)) return false;
    kind->rows[kind->count++] = row;
    return true;
}

// Experts cut, and whole: padding may make the first larger.
static bool try_tp(const FitAsk *ask, FitPeaks *peaks, const FitMachine *machine, Arena *arena,
                   uint32_t tp, uint32_t pp, Kind *kind, Err *err) {
    Plan cut = fit_plan_make(ask, tp, pp, 1, 1), whole = fit_plan_make(ask, tp, pp, 1, tp);
    if (!try_plan(ask, peaks, machine, arena, cut, kind, err)) return false;
    if (tp == 1 || arch_most_experts(ask->arch) == 0) return true;
    return try_plan(ask, peaks, machine, arena, whole, kind, err);
}

// The next power of two, then the end itself.
static uint32_t next(uint32_t at, uint32_t end) {
    if (at == end) return end + 1;
    return at * 2 < end ? at * 2 : end;
}

// The smallest that fits, or the nearest miss; and the widest of those that fit.
static uint32_t pick(const Kind *kind, FitRow *out) {
    const FitRow *best = fit_plan_best(kind->rows, kind->count), *widest = NULL;
    uint32_t count = 0;
    if (best == NULL || !best->legal) return 0;
    out[count++] = *best;
    for (uint32_t i = 0; i < kind->count; i++) {
        const FitRow *row = &kind->rows[i];
        if (!row->fits) continue;
        if (widest == NULL || plan_gpus(&row->plan) > plan_gpus(&widest->plan) ||
            (plan_gpus(&row->plan) == plan_gpus(&widest->plan) && is_better(row, widest)))
            widest = row;
    }
    if (widest != NULL && plan_gpus(&widest->plan) > plan_gpus(&best->plan)) out[count++] = *widest;
    return count;
}

bool fit_plan_simple(const FitAsk *ask, FitPeaks *peaks, const FitMachine *machine, Arena *arena,
                     FitRow **out, uint32_t *out_count, Err *err) {
    Kind *kinds = arena_alloc(arena, 3, sizeof *kinds);
    FitRow *rows = arena_alloc(arena, 6, sizeof *rows);
    uint32_t group = machine->group, groups = machine->gpus / group, count = 0;
    for (uint32_t tp = 1; tp <= group; tp = next(tp, group))
        if (!try_tp(ask, peaks, machine, arena, tp, 1, &kinds[0], err)) return false;
    for (uint32_t pp = 2; pp <= groups; pp = next(pp, groups))
        if (!try_tp(ask, peaks, machine, arena, group, pp, &kinds[1], err)) return false;
    uint32_t most = arch_most_experts(ask->arch) > 0 ? group * groups : 1;
    for (uint32_t dp = 2; dp <= most; dp = next(dp, most)) {
        Plan plan = fit_plan_make(ask, 1, 1, dp, dp);
        if (!try_plan(ask, peaks, machine, arena, plan, &kinds[2], err)) return false;
    }
    for (uint32_t i = 0; i < 3; i++) count += pick(&kinds[i], rows + count);
    *out = rows;
    *out_count = count;
    return true;
}
