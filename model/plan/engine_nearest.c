// Looks for legal plans near an illegal one.
//
// Invariant: candidates are ordered by a total order of their numbers, so that the answer does not
// depend on how they were listed; a way of cutting experts is one decision (all cut, all dealt out,
// or ep as it is), and ep x moe_tp = tp x dp in every candidate. Work is bounded by CANDIDATES_MAX
// and ASKED_MAX.
#include "model/plan/engine_nearest.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/plan/plan_legal.h"

#define SIZES_MAX      64   // values of one decision
#define CANDIDATES_MAX 8192 // that are ordered
#define ASKED_MAX      2048 // that are asked about
#define MODES          3
#define CHANGES_MAX    4 // tp, pp, dp, and how experts are cut

// One decision after another; what follows from them is set by `apply`.
typedef struct Candidate {
    uint32_t tp, pp, dp, ep;
    uint32_t changes, gpus, distance; // distance of gpus from those of the plan
} Candidate;

// Rules of structure that a rule of an engine may say again.
static bool is_cut(PlanRule rule) {
    return rule == PLAN_RULE_EXPERT_CUT || rule == PLAN_RULE_DENSE_CUT ||
           rule == PLAN_RULE_ATTENTION_CUT;
}

static bool covers_cut(const EngineVerdict *verdict) {
    for (uint32_t i = 0; i < verdict->broken_count; i++)
        if (verdict->broken[i].rule != NULL && verdict->broken[i].rule->covers_cuts) return true;
    return false;
}

bool engine_nearest_ask(const EngineAsk *ask, Arena *arena, EngineAnswer *out, Err *err) {
    Err reason = {0};
    EngineFacts facts;
    PlanFault fault = plan_legal_fault(ask->plan, ask->arch, &reason);
    *out = (EngineAnswer){.structure = ""};
    if (fault.rule != PLAN_RULE_NUMBERS) {
        engine_facts_of(ask->plan, ask->pool, ask->arch, &ask->machine, arena, &facts);
        if (!engine_check(ask->engine, &facts, ask->settings, ask->setting_count, arena,
                          &out->verdict, err))
            return false;
    }
    out->is_legal = fault.rule == PLAN_RULE_KEPT && out->verdict.broken_count == 0;
    if (fault.rule != PLAN_RULE_KEPT && !(is_cut(fault.rule) && covers_cut(&out->verdict)))
        out->structure = arena_string(arena, reason.text);
    return true;
}

// Candidates.

static uint32_t add_size(uint32_t *sizes, uint32_t count, uint32_t size) {
    for (uint32_t i = 0; i < count; i++)
        if (sizes[i] == size) return count;
    if (size == 0 || count == SIZES_MAX) return count;
    sizes[count] = size;
    return count + 1;
}

// The size that is there, those next to it, powers of two, and what divides `whole`.
static uint32_t list_sizes(uint32_t now, uint32_t whole, uint32_t *sizes) {
    uint32_t count = add_size(sizes, 0, now);
    uint32_t most = now > POOL_RANKS_MAX / 2 ? POOL_RANKS_MAX : 2 * now;
    if (most < 64) most = 64; // small plans have few sizes anyway
    for (uint32_t size = 1; size <= most; size *= 2) count = add_size(sizes, count, size);
    for (uint32_t d = 1; d <= most && d <= 1024; d++)
        if (whole % d == 0 || d == now + 1 || d + 1 == now) count = add_size(sizes, count, d);
    return count;
}

// How the experts of the plan are cut, for other numbers of ranks.
static uint32_t same_ep(const Pool *pool, uint32_t stage_ranks) {
    if (pool->ep == 1) return 1;
    if (pool->moe_tp == 1) return stage_ranks;
    return stage_ranks % pool->ep == 0 ? pool->ep : stage_ranks;
}

static uint32_t apart(uint32_t a, uint32_t b) {
    return a > b ? a - b : b - a;
}

static uint32_t sizes_changed(const Pool *pool, const Candidate *candidate) {
    return (candidate->tp == pool->tp ? 0u : 1u) + (candidate->pp == pool->pp ? 0u : 1u) +
           (candidate->dp == pool->dp ? 0u : 1u);
}

// False when it says nothing new, or is far beyond the plan.
static bool make_candidate(const Pool *pool, const EngineMachine *machine, Candidate *candidate) {
    uint64_t stage = (uint64_t)candidate->tp * candidate->dp * pool->cp;
    uint64_t ranks = stage * candidate->pp;
    uint64_t now = pool_replica_ranks(pool), gpus = ranks * pool->replicas;
    if (stage > POOL_RANKS_MAX) return false;
    uint32_t same = same_ep(pool, (uint32_t)stage);
    if (ranks > 4 * now || ranks * 4 < now || gpus > POOL_RANKS_MAX) return false;
    if (machine->machine_gpus > 0 && gpus > machine->machine_gpus) return false;
    candidate->gpus = (uint32_t)gpus;
    candidate->distance = apart(candidate->gpus, pool_ranks(pool));
    candidate->changes = sizes_changed(pool, candidate) + (candidate->ep == same ? 0 : 1);
    return candidate->changes > 0;
}

// The candidate with each way of cutting experts that makes it one of so many changes.
static uint32_t add_modes(const EngineAsk *ask, Candidate candidate, uint32_t changes,
                          Candidate *out, uint32_t count) {
    const Pool *pool = &ask->plan->pools[ask->pool];
    uint64_t stage = (uint64_t)candidate.tp * candidate.dp * pool->cp;
    if (stage > POOL_RANKS_MAX) return count;
    const uint32_t eps[MODES] = {same_ep(pool, (uint32_t)stage), 1, (uint32_t)stage};
    for (uint32_t m = 0; m < MODES && count < CANDIDATES_MAX; m++) {
        bool is_new = m == 0 || (eps[m] != eps[0] && (m == 1 || eps[m] != eps[1]));
        candidate.ep = eps[m];
        if (is_new && make_candidate(pool, &ask->machine, &candidate) &&
            candidate.changes == changes)
            out[count++] = candidate;
    }
    return count;
}

static uint32_t list_candidates(const EngineAsk *ask, uint32_t changes, Candidate *out) {
    const Pool *pool = &ask->plan->pools[ask->pool];
    uint32_t tps[SIZES_MAX], pps[SIZES_MAX], dps[SIZES_MAX], count = 0;
    uint32_t heads = ask->arch->attention_count > 0 ? ask->arch->attentions[0].heads : 1;
    uint32_t tp_count = list_sizes(pool->tp, heads > 0 ? heads : 1, tps);
    uint32_t pp_count = list_sizes(pool->pp, ask->arch->layers > 0 ? ask->arch->layers : 1, pps);
    uint32_t dp_count = list_sizes(pool->dp, pool_ranks(pool), dps);
    for (uint32_t t = 0; t < tp_count; t++)
        for (uint32_t p = 0; p < pp_count; p++)
            for (uint32_t d = 0; d < dp_count; d++) {
                Candidate candidate = {.tp = tps[t], .pp = pps[p], .dp = dps[d]};
                if (sizes_changed(pool, &candidate) <= changes)
                    count = add_modes(ask, candidate, changes, out, count);
            }
    return count;
}

static int compare_u32(uint32_t a, uint32_t b) {
    return a < b ? -1 : a > b;
}

static int compare_candidates(const void *left, const void *right) {
    const Candidate *a = left, *b = right;
    int order = compare_u32(a->distance, b->distance);
    if (order == 0) order = compare_u32(b->gpus, a->gpus); // more before fewer
    if (order == 0) order = compare_u32(a->pp, b->pp);
    if (order == 0) order = compare_u32(b->tp, a->tp);
    if (order == 0) order = compare_u32(a->dp, b->dp);
    return order != 0 ? order : compare_u32(a->ep, b->ep);
}

static void apply(const Candidate *candidate, Pool *pool) {
    bool fill = pool->micro_batches == pool->pp;
    bool list_is_stale = pool->stage_cut == STAGE_CUT_LISTED && pool->pp != candidate->pp;
    pool->tp = candidate->tp, pool->pp = candidate->pp, pool->dp = candidate->dp;
    pool->ep = candidate->ep;
    pool->moe_tp = pool_stage_ranks(pool) / candidate->ep;
    if (fill) pool->micro_batches = pool->pp;
    if (list_is_stale) {
        pool->stage_cut = STAGE_CUT_EVEN;
        memset(pool->stages, 0, sizeof pool->stages);
    }
    if (pool_token_groups(pool) == 1)
        pool->moe_comm = MOE_COMM_NONE;
    else if (pool->moe_comm == MOE_COMM_NONE)
        pool->moe_comm = MOE_COMM_ALL_TO_ALL;
}

static void add_change(Text *text, const char *name, uint32_t from, uint32_t to) {
    if (from == to) return;
    text_addf(text, "%s%s %" PRIu32 " -> %" PRIu32, text->length > 0 ? ", " : "", name, from, to);
}

static const char *describe(const Pool *from, const Pool *to, Arena *arena) {
    Text text = {0};
    add_change(&text, "tp", from->tp, to->tp);
    add_change(&text, "pp", from->pp, to->pp);
    add_change(&text, "dp", from->dp, to->dp);
    add_change(&text, "ep", from->ep, to->ep);
    add_change(&text, "moe_tp", from->moe_tp, to->moe_tp);
    const char *out = arena_string(arena, text_string(&text));
    text_free(&text);
    return out;
}

// What is searched for, and what was found.
typedef struct Search {
    const EngineAsk *ask;
    Arena *arena;
    EngineNear *found; // [ENGINE_NEAREST_MAX]
    uint32_t count;
    Candidate *list; // [CANDIDATES_MAX]
    uint32_t asked;
    bool has_same; // a legal plan on as many GPUs was found
} Search;

// Keeps what is asked when it is legal.
static bool try_ask(Search *search, const EngineAsk *ask, const char *change, Err *err) {
    EngineAnswer answer;
    Arena scratch = {0};
    bool ok = engine_nearest_ask(ask, &scratch, &answer, err);
    if (ok && answer.is_legal)
        search->found[search->count++] = (EngineNear){
            *ask->plan,
            arena_copy(search->arena, ask->settings, ask->setting_count, sizeof *ask->settings),
            ask->setting_count, change};
    arena_free(&scratch);
    return ok;
}

// Adds legal candidates of so many changes, whose GPUs differ by at most `distance`, until there
// are `most`.
static bool try_changes(Search *search, uint32_t changes, uint32_t most, uint32_t distance,
                        Err *err) {
    const EngineAsk *ask = search->ask;
    uint32_t count = list_candidates(ask, changes, search->list);
    qsort(search->list, count, sizeof *search->list, compare_candidates);
    for (uint32_t i = 0; i < count && search->count < most; i++) {
        const Candidate *candidate = &search->list[i];
        uint32_t before = search->count;
        Plan plan = *ask->plan;
        EngineAsk next = *ask;
        if (candidate->distance > distance || search->asked++ >= ASKED_MAX) return true;
        apply(candidate, &plan.pools[ask->pool]);
        next.plan = &plan;
        const char *change =
            describe(&ask->plan->pools[ask->pool], &plan.pools[ask->pool], search->arena);
        if (!try_ask(search, &next, change, err)) return false;
        if (search->count > before && candidate->distance == 0) search->has_same = true;
    }
    return true;
}

// The few with the fewest changes, and one on as many GPUs when none of them is.
static bool try_plans(Search *search, Err *err) {
    uint32_t changes = 1;
    for (; changes <= CHANGES_MAX && search->count == 0; changes++)
        if (!try_changes(search, changes, ENGINE_NEAREST_MAX - 1, UINT32_MAX, err)) return false;
    uint32_t most = search->count + 1;
    for (; changes <= CHANGES_MAX && !search->has_same; changes++)
        if (!try_changes(search, changes, most, 0, err)) return false;
    return true;
}

// The cache dealt to fewer ranks, down to none, with everything else as it is.
static bool try_dealt(Search *search, Err *err) {
    const EngineAsk *ask = search->ask;
    uint32_t now = ask->plan->pools[ask->pool].dcp;
    for (uint32_t dcp = now / 2; now > 1 && search->count == 0; dcp /= 2) {
        Plan plan = *ask->plan;
        EngineAsk next = *ask;
        plan.pools[ask->pool].dcp = dcp > 1 ? dcp : 0;
        next.plan = &plan;
        const char *change =
            dcp > 1 ? arena_printf(search->arena, "dcp %" PRIu32 " -> %" PRIu32, now, dcp)
                    : arena_printf(search->arena, "without dcp %" PRIu32, now);
        if (!try_ask(search, &next, change, err)) return false;
        if (dcp <= 1) break;
    }
    return true;
}

// The other format of the cache, with everything else as it is.
static bool try_format(Search *search, Err *err) {
    static const NumFmt formats[] = {NUMFMT_BF16, NUMFMT_FP8};
    const EngineAsk *ask = search->ask;
    NumFmt now = ask->plan->pools[ask->pool].kv_format;
    for (size_t i = 0; i < sizeof formats / sizeof *formats && search->count == 0; i++) {
        if (formats[i] == now) continue;
        Plan plan = *ask->plan;
        EngineAsk next = *ask;
        plan.pools[ask->pool].kv_format = formats[i];
        next.plan = &plan;
        const char *change = arena_printf(search->arena, "kv-format %s -> %s", numfmt_names[now],
                                          numfmt_names[formats[i]]);
        if (!try_ask(search, &next, change, err)) return false;
    }
    return true;
}

// Options: one of them changed, or left out.

#define VALUES_MAX 256

// Values to try: of a number those below it, from the largest; of a text the other choices.
static uint32_t list_values(const EngineOption *option, const char *value, Arena *arena,
                            const char **out) {
    uint32_t count = 0;
    uint64_t number;
    if (option->type == ENGINE_OPTION_COUNT && text_parse_u64(value, &number))
        while (number > 1 && count < VALUES_MAX)
            out[count++] = arena_printf(arena, "%" PRIu64, --number);
    for (uint32_t i = 0; i < option->choice_count && count < VALUES_MAX; i++)
        if (strcmp(option->choices[i], value) != 0) out[count++] = option->choices[i];
    return count;
}

static bool try_setting(Search *search, uint32_t index, Err *err) {
    const EngineAsk *ask = search->ask;
    const EngineSetting *from = &ask->settings[index];
    const EngineOption *option = engine_option(ask->engine, from->option);
    const char *values[VALUES_MAX];
    uint32_t count = option != NULL ? list_values(option, from->value, search->arena, values) : 0;
    EngineAsk next = *ask;
    EngineSetting *settings =
        arena_copy(search->arena, ask->settings, ask->setting_count, sizeof *settings);
    next.settings = settings;
    for (uint32_t i = 0; i < count && search->count == 0; i++) {
        settings[index].value = values[i];
        const char *change =
            arena_printf(search->arena, "--%s %s -> %s", from->option, from->value, values[i]);
        if (!try_ask(search, &next, change, err)) return false;
    }
    if (search->count > 0) return true;
    memmove(&settings[index], &settings[index + 1],
            (ask->setting_count - index - 1) * sizeof *settings);
    next.setting_count--;
    return try_ask(search, &next, arena_printf(search->arena, "without --%s", from->option), err);
}

bool engine_nearest_find(const EngineAsk *ask, Arena *arena, EngineNear out[ENGINE_NEAREST_MAX],
                         uint32_t *out_count, Err *err) {
    Search search = {.ask = ask, .arena = arena, .found = out};
    search.list = mem_alloc(CANDIDATES_MAX, sizeof *search.list);
    bool ok = true;
    for (uint32_t i = 0; ok && i < ask->setting_count && search.count == 0; i++)
        ok = try_setting(&search, i, err);
    if (ok && search.count == 0) ok = try_dealt(&search, err);
    if (ok && search.count == 0) ok = try_format(&search, err);
    if (ok && search.count == 0) ok = try_plans(&search, err);
    mem_free(search.list);
    if (ok) *out_count = search.count;
    return ok;
}
