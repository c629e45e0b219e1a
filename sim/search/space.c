// Enumerates plans and keeps the ledger.
//
// Invariant: considered == candidates + the counts of the ledger; the order of candidates, of
// ledger rows and of what is nearest depends on the numbers alone.
#include "sim/search/space.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "model/base/wide.h"
#include "model/machine/fabric_fault.h"
#include "model/plan/launch.h"
#include "model/plan/plan_legal.h"
#include "model/plan/stage_cut.h"
#include "sim/search/space_context.h"
#include "sim/search/space_fit.h"
#include "sim/search/space_place.h"

// Tokens of a decode step from which on it is cut in two: vLLM's default of
// --dbo-decode-token-threshold.
#define DECODE_HALVES_FROM 32

// Larger machines have too many plans, or routes, for an answer within a minute or two.
#define GPUS_MAX           32768
#define DOMAIN_GPUS_MAX    4096
#define IRREGULAR_GPUS_MAX 4096

const char *const space_ledger_names[LEDGER_KIND_COUNT] = {
#define X(name, text) text,
    LEDGER_LIST(X)
#undef X
};

// ---- The ledger.

static bool comes_before(const LedgerRow *a, const LedgerRow *b) {
    return a->kind != b->kind ? a->kind < b->kind : a->count > b->count;
}

static LedgerRow *provide_row(Space *space, LedgerKind kind, const char *reason) {
    for (uint32_t i = 0; i < space->ledger_count; i++) {
        LedgerRow *row = &space->ledger[i];
        if (row->kind == kind && strcmp(row->reason, reason) == 0) return row;
    }
    space->ledger = mem_grow(space->ledger, &space->ledger_capacity, space->ledger_count + 1,
                             sizeof *space->ledger);
    LedgerRow *row = &space->ledger[space->ledger_count++];
    *row = (LedgerRow){.kind = kind, .reason = arena_string(&space->arena, reason)};
    return row;
}

void space_reject_row(Space *space, const LedgerRow *more) {
    LedgerRow *row = provide_row(space, more->kind, more->reason);
    if (row->count == 0 || more->miss < row->miss) {
        row->miss = more->miss;
        row->nearest = more->nearest;
        row->nearest_text = arena_string(&space->arena, more->nearest_text);
    }
    row->count += more->count;
    while (row > space->ledger && comes_before(row, row - 1)) {
        LedgerRow other = row[-1];
        row[-1] = *row;
        *row = other;
        row--;
    }
}

void space_reject(Space *space, LedgerKind kind, const char *reason, double miss, const Plan *plan,
                  const char *text) {
    LedgerRow row = {kind, reason, 1, miss, *plan, text};
    space_reject_row(space, &row);
}

const LedgerRow *space_nearest(const Space *space, LedgerKind kind) {
    const LedgerRow *nearest = NULL;
    for (uint32_t i = 0; i < space->ledger_count; i++) {
        const LedgerRow *row = &space->ledger[i];
        if (row->kind == kind && (nearest == NULL || row->miss < nearest->miss)) nearest = row;
    }
    return nearest;
}

const LedgerRow *space_nearest_miss(const Space *space) {
    static const LedgerKind order[] = {LEDGER_PRUNED,  LEDGER_MISSES_LIMIT, LEDGER_NO_DATA,
                                       LEDGER_NOT_FIT, LEDGER_SKIPPED,      LEDGER_ENGINE,
                                       LEDGER_ILLEGAL};
    static_assert(sizeof order / sizeof *order == LEDGER_KIND_COUNT, "every kind has its turn");
    const LedgerRow *row = NULL;
    for (size_t i = 0; row == NULL && i < LEDGER_KIND_COUNT; i++)
        row = space_nearest(space, order[i]);
    return row;
}

void space_free(Space *space) {
    mem_free(space->candidates);
    mem_free(space->ledger);
    arena_free(&space->arena);
    *space = (Space){0};
}

// ---- One plan.

typedef struct Search {
    const Fabric *fabric;
    const Arch *arch;
    const Scenario *scenario;
    const SpaceOptions *options;
    const Device *device; // of the GPU with the least memory
    uint32_t gpus;        // that plans may use
    NumFmt kv_format;
    Arena scratch;      // names of rules
    uint32_t *divisors; // how many each number up to the GPU count has
    Space *space;
    FitMemory fits;
} Search;

uint64_t space_sequences(const Pool *pool, uint64_t concurrency) {
    uint64_t slots = (uint64_t)pool->replicas * pool->dp * pool->micro_batches;
    return wide_div_up_u64(concurrency, slots);
}

static const char *note_of(Search *search, const Pool *pool) {
    uint64_t slots = (uint64_t)pool->replicas * pool->dp * pool->micro_batches;
    uint64_t requests = search->scenario->concurrency;
    bool any = search->options->width.any_kv_format;
    Text note = {0};
    if (any) text_addf(&note, "KV cache in %s", numfmt_name(pool->kv_format));
    if (requests < slots)
        text_addf(&note,
                  "%s%" PRIu64 " requests leave %" PRIu64 " of %" PRIu64
                  " attention-dp ranks and micro-batches idle",
                  any ? "; " : "", requests, slots - requests, slots);
    const char *kept = arena_string(&search->space->arena, text_string(&note));
    text_free(&note);
    return kept;
}

static void keep(Search *search, const Plan *plan, const MemoryUse *memory, uint64_t sequences) {
    Space *space = search->space;
    space->candidates = mem_grow(space->candidates, &space->candidate_capacity,
                                 space->candidate_count + 1, sizeof *space->candidates);
    space->candidates[space->candidate_count++] =
        (Candidate){*plan, *memory, sequences, note_of(search, &plan->pools[0])};
    const SpaceVisitor *visitor = &search->options->visitor;
    if (visitor->visit != NULL)
        visitor->visit(visitor->context, space, space->candidate_count - 1, &search->fits);
}

// How far two numbers are from equal, as a ratio - 1.
static double distance(uint64_t a, uint64_t b) {
    if (a == 0 || b == 0) return 0;
    return a > b ? (double)a / (double)b - 1 : (double)b / (double)a - 1;
}

// True when the plan has no fault of placement; else the ledger has it.
static bool keep_place(Search *search, const Plan *plan, PlaceFault fault, const Err *text) {
    if (fault.reason == NULL) return true;
    space_reject(search->space, fault.kind, fault.reason, fault.miss, plan, text->text);
    return false;
}

static bool keep_legal(Search *search, const Plan *plan) {
    Err text = {0};
    PlanFault fault = plan_legal_fault(plan, search->arch, &text);
    if (fault.rule == PLAN_RULE_KEPT) return true;
    space_reject(search->space, LEDGER_ILLEGAL, plan_legal_names[fault.rule],
                 distance(fault.have, fault.want), plan, text.text);
    return false;
}

static bool keep_fit(Search *search, const Plan *plan, const char *reason, const MemoryUse *use,
                     const Err *text) {
    if (reason == NULL) return true;
    space_reject(search->space, LEDGER_NOT_FIT, reason, (double)memory_over_B(use), plan,
                 text->text);
    return false;
}

static bool keep_mixture(Search *search, const Plan *plan) {
    Err text = {0};
    if (search->options->width.any_moe_tp) return true;
    return keep_place(search, plan, space_place_mixture(&plan->pools[0], &text), &text);
}

static bool keep_engine(Search *search, const Plan *plan, uint64_t sequences) {
    const SpaceEngines *engines = search->options->width.engines;
    SpaceEngineCase given = {search->fabric, search->arch, search->scenario, plan, sequences};
    Err text = {0};
    if (engines == NULL) return true;
    const char *reason = space_engine_refuses(engines, &given, &search->scratch, &text);
    if (reason == NULL) return true;
    space_reject(search->space, LEDGER_ENGINE, reason, 0, plan, text.text);
    return false;
}

static void keep_order(Search *search, const Plan *plan, const MemoryUse *memory,
                       uint64_t sequences) {
    Err text = {0};
    const Pool *pool = &plan->pools[0];
    if (pool->placement == PLACEMENT_LINEAR ||
        keep_place(search, plan, space_place_other(search->fabric, pool, &text), &text))
        keep(search, plan, memory, sequences);
}

// A plan in all placements that are asked for; one that has a placement, in that.
static void keep_orders(Search *search, const Plan *plan, const MemoryUse *memory,
                        uint64_t sequences) {
    uint32_t wanted = search->options->width.placements, done = 0;
    if (wanted == 0 || plan->pools[0].placement != PLACEMENT_LINEAR) {
        keep_order(search, plan, memory, sequences);
        return;
    }
    for (uint32_t p = 0; p < PLACEMENT_COUNT; p++) {
        Plan other = *plan;
        if ((wanted >> p & 1) == 0) continue;
        other.pools[0].placement = (Placement)p;
        search->space->considered += done++ > 0;
        keep_order(search, &other, memory, sequences);
    }
}

// What is cheap comes first; what is too dear to price is named only of plans that would fit.
// *out_use: its memory as far as that was looked at.
static bool consider_memory(Search *search, const Plan *plan, MemoryUse *out_use) {
    const Pool *pool = &plan->pools[0];
    Err text = {0};
    MemoryUse use = {0};
    FitInput input = {.arch = search->arch,
                      .device = search->device,
                      .scenario = search->scenario,
                      .sequences = space_sequences(pool, search->scenario->concurrency),
                      .memory = &search->fits};
    search->space->considered++;
    bool good =
        keep_legal(search, plan) &&
        keep_place(search, plan, space_place_fault(search->fabric, pool, &text), &text) &&
        keep_mixture(search, plan) &&
        keep_fit(search, plan, space_fit_alone(&input, plan, &use, &text), &use, &text) &&
        keep_place(search, plan,
                   space_place_dear(search->fabric, search->arch, search->gpus, pool, &text),
                   &text) &&
        keep_engine(search, plan, input.sequences) &&
        keep_fit(search, plan, space_fit_full(&input, plan, &use, &text), &use, &text);
    if (good) keep_orders(search, plan, &use, input.sequences);
    *out_use = use;
    return good;
}

static bool consider(Search *search, const Plan *plan) {
    MemoryUse use;
    return consider_memory(search, plan, &use);
}

// Two batches of a plan that is a candidate itself: in prefill, and in decode too where its step
// has as many tokens as vLLM asks for.
static void consider_two_batch(Search *search, const Plan *plan) {
    Plan halves = *plan;
    Pool *pool = &halves.pools[0];
    if (search->scenario->isl == 1) return;
    pool->prefill_overlap = OVERLAP_TWO_BATCH;
    consider(search, &halves);
    if (space_sequences(pool, search->scenario->concurrency) < DECODE_HALVES_FROM) return;
    pool->decode_overlap = OVERLAP_TWO_BATCH;
    consider(search, &halves);
}

// ---- Enumeration.

// Heap; index 0 is unused.
static uint32_t *count_divisors(uint32_t most) {
    uint32_t *counts = mem_alloc((size_t)most + 1, sizeof *counts);
    for (uint32_t n = 0; n <= most; n++) counts[n] = 0;
    for (uint32_t divisor = 1; divisor <= most; divisor++)
        for (uint32_t i = 1; i <= most / divisor; i++) counts[i * divisor]++;
    return counts;
}

static bool divides_heads(const Arch *arch, uint32_t tp) {
    for (uint32_t i = 0; i < arch->attention_count; i++)
        if (arch->attentions[i].heads % tp == 0) return true;
    return false;
}

// All algorithms are direct: every group that reduces or gathers lies inside a scale-up domain,
// where all pairs are one switch apart.
static Plan make_plan(const Search *search, uint32_t tp, uint32_t pp, uint32_t dp) {
    Plan plan = {.pool_count = 1};
    plan.pools[0] =
        (Pool){.kind = POOL_UNIFIED,
               .tp = tp,
               .pp = pp,
               .dp = dp,
               .ep = 1,
               .moe_tp = tp * dp,
               .cp = 1,
               .replicas = search->gpus / (tp * pp * dp),
               .placement = PLACEMENT_LINEAR,
               .micro_batches = pp,
               .moe_comm = dp == 1 || arch_most_experts(search->arch) == 0 ? MOE_COMM_NONE
                                                                           : MOE_COMM_GATHER,
               .all_reduce = ALGORITHM_AUTO,
               .all_to_all = ALGORITHM_AUTO,
               .all_gather = ALGORITHM_AUTO,
               .reduce_scatter = ALGORITHM_AUTO,
               .kv_format = search->kv_format,
               .activation_format = search->arch->dtype,
               .dispatch_format = launch_dispatch_format(search->arch, search->arch->dtype)};
    plan.pools[0].first_gpu = fabric_fault_start(search->fabric, pool_ranks(&plan.pools[0]));
    return plan;
}

// Of a plan with dp 1.
static void share_prompts(const Search *search, Plan *plan, uint32_t cp) {
    Pool *pool = &plan->pools[0];
    pool->cp = cp;
    pool->moe_tp = pool_stage_ranks(pool);
    pool->replicas = search->gpus / pool_replica_ranks(pool);
    pool->moe_comm = arch_most_experts(search->arch) > 0 ? MOE_COMM_GATHER : MOE_COMM_NONE;
    pool->first_gpu = fabric_fault_start(search->fabric, pool_ranks(pool));
}

// The plan with its caches dealt to some of the `most` ranks that hold copies of them.
static void consider_dealt(Search *search, const Plan *plan, uint32_t most, const MemoryUse *use) {
    for (uint32_t dcp = 2; dcp <= most; dcp *= 2) {
        Err text = {0};
        Plan dealt = *plan;
        dealt.pools[0].dcp = dcp;
        if (most % dcp != 0) break;
        PlaceFault fault = space_context_untried(&dealt.pools[0], search->arch,
                                                 search->options->width.model, use, &text);
        if (fault.reason != NULL) {
            search->space->considered++;
            keep_place(search, &dealt, fault, &text);
        } else if (consider(search, &dealt) && dealt.pools[0].moe_comm == MOE_COMM_ALL_TO_ALL) {
            consider_two_batch(search, &dealt);
        }
    }
}

// One way to reach experts, with and without caches that are dealt out.
static void consider_way(Search *search, Plan *plan) {
    MemoryUse use;
    bool sends = plan->pools[0].moe_comm == MOE_COMM_ALL_TO_ALL;
    if (consider_memory(search, plan, &use) && sends) consider_two_batch(search, plan);
    // a cache was counted where the weights fit
    if (use.term_B[MEMORY_KV] == 0 || plan->pools[0].cp > 1) return;
    uint32_t most = space_context_most_dealt(&plan->pools[0], search->arch);
    if (most > 1) consider_dealt(search, plan, most, &use);
}

// With one position every rank has a part of every expert: all tokens go everywhere.
static void consider_comms(Search *search, Plan *plan) {
    Pool *pool = &plan->pools[0];
    MoeComm last = pool->moe_comm;
    if (last == MOE_COMM_GATHER && pool->ep > 1) {
        pool->moe_comm = MOE_COMM_ALL_TO_ALL;
        pool->prefill_sms = search->device->comm_units;
        consider_way(search, plan);
        pool->prefill_sms = 0;
    }
    pool->moe_comm = last;
    consider_way(search, plan);
}

// By cost, with the caches that the fit test asks for.
static void cut_stages(const Search *search, Pool *pool) {
    const Scenario *scenario = search->scenario;
    StageCache cache = {space_sequences(pool, scenario->concurrency) * pool->micro_batches,
                        scenario->isl + scenario->osl};
    if (pool->pp > 1) stage_cut_by_cost(search->arch, &cache, pool);
}

static void consider_experts(Search *search, Plan *plan) {
    Pool *pool = &plan->pools[0];
    uint32_t ranks = pool_stage_ranks(pool), most = arch_most_experts(search->arch) > 0 ? ranks : 1;
    for (uint32_t ep = 1; ep <= most; ep++) {
        if (ranks % ep != 0) continue;
        pool->ep = ep;
        pool->moe_tp = ranks / ep;
        SpaceExperts ways[SPACE_EXPERTS_MAX];
        uint32_t count = space_experts_list(&search->options->experts, search->arch, ep, ways);
        cut_stages(search, pool);
        for (uint32_t i = 0; i < count; i++) {
            space_experts_set(&ways[i], pool);
            consider_comms(search, plan);
        }
    }
}

// As many plans as consider_experts would look at.
static void skip_experts(Search *search, const Plan *plan, PlaceFault fault, const Err *text) {
    const Pool *pool = &plan->pools[0];
    uint32_t positions =
        arch_most_experts(search->arch) > 0 ? search->divisors[pool_stage_ranks(pool)] : 1;
    uint32_t count = pool->moe_comm == MOE_COMM_GATHER ? 2 * positions - 1 : positions;
    LedgerRow row = {fault.kind, fault.reason, count, fault.miss, *plan, text->text};
    search->space->considered += count;
    space_reject_row(search->space, &row);
}

// Ranks that share the prompts of one attention-DP position: vLLM has them with dp 1 alone.
static void consider_shared(Search *search, uint32_t tp, uint32_t pp) {
    for (uint32_t cp = 2; tp * pp * cp <= search->gpus; cp *= 2) {
        Err text = {0};
        Plan plan = make_plan(search, tp, pp, 1);
        share_prompts(search, &plan, cp);
        PlaceFault fault = space_context_unshared(search->scenario, cp, &text);
        if (fault.reason == NULL)
            fault = space_place_untried(search->fabric, search->arch, search->gpus, &plan.pools[0],
                                        &text);
        if (fault.reason == NULL)
            consider_experts(search, &plan);
        else
            skip_experts(search, &plan, fault, &text);
    }
}

static void consider_widths(Search *search, uint32_t tp, uint32_t pp) {
    for (uint32_t dp = search->gpus / (tp * pp); dp > 0; dp--) {
        Err text = {0};
        Plan plan = make_plan(search, tp, pp, dp);
        PlaceFault fault =
            space_place_untried(search->fabric, search->arch, search->gpus, &plan.pools[0], &text);
        if (fault.reason == NULL)
            consider_experts(search, &plan);
        else
            skip_experts(search, &plan, fault, &text);
    }
    if (search->options->width.shares_prompts) consider_shared(search, tp, pp);
}

static bool find_device(const Fabric *fabric, const Device **out, Err *err) {
    const Device *least = NULL;
    for (uint32_t i = 0; i < fabric->class_count; i++) {
        const VertexClass *class = &fabric->classes[i];
        if (class->kind != PART_GPU) continue;
        if (class->device == NULL || device_low(class->device->memory_B) == 0)
            return err_set(err, "the memory of GPUs \"%s\" is not known: name their device",
                           class->name);
        if (least == NULL || device_low(class->device->memory_B) < device_low(least->memory_B))
            least = class->device;
    }
    *out = least;
    return least != NULL || err_set(err, "the machine has no GPU");
}

// Powers of two and all depths that the layers allow; more than that is illegal either way.
static bool is_depth(const Arch *arch, uint32_t pp) {
    return space_place_is_power_of_two(pp) || pp <= arch->layers;
}

static void consider_depths(Search *search) {
    uint32_t gpus = search->gpus;
    for (uint32_t tp = 1; tp <= gpus; tp++) {
        if (!space_place_is_power_of_two(tp) && !divides_heads(search->arch, tp)) continue;
        for (uint32_t pp = 1; tp * pp <= gpus; pp++)
            if (is_depth(search->arch, pp)) consider_widths(search, tp, pp);
    }
}

static void consider_formats(Search *search) {
    static const NumFmt formats[] = {NUMFMT_BF16, NUMFMT_FP8};
    search->kv_format = search->scenario->kv_format;
    if (!search->options->width.any_kv_format) {
        consider_depths(search);
        return;
    }
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        search->kv_format = formats[i];
        consider_depths(search);
    }
}

static uint32_t first_size(const SpaceWidth *width, uint32_t most) {
    return width->least_gpus > 0 && width->least_gpus < most ? width->least_gpus : most;
}

static uint32_t next_size(uint32_t gpus, uint32_t most) {
    return gpus < most && gpus > most / 2 ? most : 2 * gpus;
}

static uint32_t most_gpus(const Fabric *fabric, const SpaceOptions *options) {
    uint32_t live = fabric_live_gpu_count(fabric), most = options->width.most_gpus;
    return most == 0 || most > live ? live : most;
}

// Told at once, not after minutes.
static bool can_be_searched(const Fabric *fabric, uint32_t gpus, Err *err) {
    uint32_t domain = fabric->domain_size < gpus ? fabric->domain_size : gpus;
    if (!fabric->shape.uniform && gpus > IRREGULAR_GPUS_MAX)
        return err_set(err,
                       "%" PRIu32 " GPUs of an irregular machine, where each pair has a route of "
                       "its own: plans are searched on at most %d, choose fewer with --gpus",
                       gpus, IRREGULAR_GPUS_MAX);
    if (domain > DOMAIN_GPUS_MAX)
        return err_set(err,
                       "a scale-up domain of %" PRIu32
                       " GPUs: plans are searched on domains of at most %d, choose fewer GPUs "
                       "with --gpus",
                       domain, DOMAIN_GPUS_MAX);
    if (gpus > GPUS_MAX)
        return err_set(
            err, "%" PRIu32 " GPUs: plans are searched on at most %d, choose fewer with --gpus",
            gpus, GPUS_MAX);
    return true;
}

bool space_search(const Fabric *fabric, const Arch *arch, const Scenario *scenario,
                  const SpaceOptions *options, Space *out, Err *err) {
    Space space = {0};
    Search search = {
        .fabric = fabric, .arch = arch, .scenario = scenario, .options = options, .space = &space};
    uint32_t most = most_gpus(fabric, options);
    if (!find_device(fabric, &search.device, err) || !can_be_searched(fabric, most, err))
        return false;
    search.divisors = count_divisors(most);
    for (uint32_t gpus = first_size(&options->width, most); gpus <= most;
         gpus = next_size(gpus, most)) {
        search.gpus = gpus;
        consider_formats(&search);
    }
    mem_free(search.divisors);
    arena_free(&search.scratch);
    space_fit_forget(&search.fits);
    *out = space;
    return true;
}

bool space_build(const Fabric *fabric, const Arch *arch, const Scenario *scenario,
                 const SpaceExperts *experts, Space *out, Err *err) {
    SpaceOptions options = {.experts = *experts};
    return space_search(fabric, arch, scenario, &options, out, err);
}

bool space_try(const Fabric *fabric, const Arch *arch, const Scenario *scenario,
               const SpaceOptions *options, const Plan *plan, Space *space, Err *err) {
    Search search = {
        .fabric = fabric, .arch = arch, .scenario = scenario, .options = options, .space = space};
    search.gpus = most_gpus(fabric, options);
    if (!find_device(fabric, &search.device, err)) return false;
    consider(&search, plan);
    arena_free(&search.scratch);
    space_fit_forget(&search.fits);
    return true;
}
