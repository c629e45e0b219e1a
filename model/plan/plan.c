// Plans as values: labels, digests, consistency.
//
// Invariant: a plan that was read or that passes plan_check has counts of at least 1, at most
// POOL_RANKS_MAX ranks in pools that share no GPU, and experts spread over exactly the ranks of a
// stage.
#include "model/plan/plan.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model/plan/plan_fields.h"
#include "model/plan/plan_legal.h"

const char *const plan_pool_names[POOL_KIND_COUNT] = {
#define X(name, text) text,
    PLAN_POOL_LIST(X)
#undef X
};

const char *const plan_moe_comm_names[MOE_COMM_COUNT] = {
#define X(name, text) text,
    PLAN_MOE_COMM_LIST(X)
#undef X
};

const char *const plan_placement_names[PLACEMENT_COUNT] = {
#define X(name, text) text,
    PLAN_PLACEMENT_LIST(X)
#undef X
};

const char *const plan_expert_placement_names[EXPERT_PLACEMENT_COUNT] = {
#define X(name, text) text,
    PLAN_EXPERT_PLACEMENT_LIST(X)
#undef X
};

const char *const plan_overlap_names[OVERLAP_COUNT] = {
#define X(name, text) text,
    PLAN_OVERLAP_LIST(X)
#undef X
};

const char *const plan_stage_cut_names[STAGE_CUT_COUNT] = {
#define X(name, text) text,
    PLAN_STAGE_CUT_LIST(X)
#undef X
};

// ---- Values.

uint32_t plan_gpus(const Plan *plan) {
    uint32_t gpus = 0;
    for (uint32_t i = 0; i < plan->pool_count; i++) gpus += pool_ranks(&plan->pools[i]);
    return gpus;
}

// Appends to a text of PLAN_TEXT_MAX bytes; what does not fit becomes "...".
static void append(char *buffer, const char *part) {
    size_t used = strlen(buffer), more = strlen(part);
    if (used + more < PLAN_TEXT_MAX - 4) {
        memcpy(buffer + used, part, more + 1);
    } else if (used < PLAN_TEXT_MAX - 4 && (used < 3 || strcmp(buffer + used - 3, "...") != 0)) {
        memcpy(buffer + used, "...", 4);
    }
}

static const char *overlap_mark(const Pool *pool) {
    static const char *const both[OVERLAP_COUNT] = {"", " serial", " tbo"};
    static const char *const prefill[OVERLAP_COUNT] = {"", " serial-prefill", " tbo-prefill"};
    static const char *const decode[OVERLAP_COUNT] = {"", " serial-decode", " tbo-decode"};
    if (pool->prefill_overlap == pool->decode_overlap) return both[pool->prefill_overlap];
    if (pool->decode_overlap == OVERLAP_SHARED) return prefill[pool->prefill_overlap];
    if (pool->prefill_overlap == OVERLAP_SHARED) return decode[pool->decode_overlap];
    return pool->decode_overlap == OVERLAP_NONE ? " tbo-prefill serial-decode"
                                                : " serial-prefill tbo-decode";
}

// Equal stages that follow each other as "2x16".
static void append_stages(char *buffer, const Pool *pool) {
    char part[PLAN_TEXT_MAX];
    if (pool->stage_cut == STAGE_CUT_EVEN) return;
    if (pool->stage_cut != STAGE_CUT_LISTED) {
        snprintf(part, sizeof part, " %s stages", plan_stage_cut_names[pool->stage_cut]);
        append(buffer, part);
        return;
    }
    for (uint32_t i = 0, run; i < pool->pp && i < POOL_STAGES_MAX; i += run) {
        for (run = 1; i + run < pool->pp && pool->stages[i + run] == pool->stages[i];) run++;
        const char *joint = i == 0 ? " stages " : "+";
        if (run == 1)
            snprintf(part, sizeof part, "%s%" PRIu32, joint, pool->stages[i]);
        else
            snprintf(part, sizeof part, "%s%" PRIu32 "x%" PRIu32, joint, run, pool->stages[i]);
        append(buffer, part);
    }
}

static void append_context(char *buffer, const Pool *pool) {
    char part[PLAN_TEXT_MAX];
    snprintf(part, sizeof part, " PCP%" PRIu32, pool->cp);
    if (pool->cp > 1) append(buffer, part);
    snprintf(part, sizeof part, " DCP%" PRIu32, pool->dcp);
    if (pool->dcp > 1) append(buffer, part);
}

char *plan_label(const Plan *plan, char *buffer) {
    *buffer = '\0';
    for (uint32_t i = 0; i < plan->pool_count; i++) {
        const Pool *pool = &plan->pools[i];
        char part[PLAN_TEXT_MAX];
        snprintf(part, sizeof part,
                 "%sTP%" PRIu32 " PP%" PRIu32 " DP%" PRIu32 " EP%" PRIu32 " x%" PRIu32,
                 i > 0 ? " + " : "", pool->tp, pool->pp, pool->dp, pool->ep, pool->replicas);
        append(buffer, part);
        append_context(buffer, pool);
        snprintf(part, sizeof part, " +%" PRIu32 "r", pool->redundant_experts);
        if (pool->expert_placement == EXPERT_PLACEMENT_EPLB)
            append(buffer, pool->redundant_experts > 0 ? part : " eplb");
        if (pool->moe_comm == MOE_COMM_GATHER) append(buffer, " gather");
        append(buffer, overlap_mark(pool));
        snprintf(part, sizeof part, " chunks %" PRIu32, pool->moe_chunks);
        if (pool->moe_chunks > 0) append(buffer, part);
        append_stages(buffer, pool);
        snprintf(part, sizeof part, " placed %s", plan_placement_names[pool->placement]);
        if (pool->placement != PLACEMENT_LINEAR) append(buffer, part);
    }
    return buffer;
}

char *plan_gpu_product(const Plan *plan, char *buffer) {
    snprintf(buffer, PLAN_TEXT_MAX, "%" PRIu32, plan_gpus(plan));
    for (uint32_t i = 0; i < plan->pool_count; i++) {
        const Pool *pool = &plan->pools[i];
        char part[PLAN_TEXT_MAX], context[24] = "";
        if (pool->cp > 1) snprintf(context, sizeof context, "%" PRIu32 " cp x ", pool->cp);
        snprintf(part, sizeof part,
                 "%s%" PRIu32 " tp x %s%" PRIu32 " dp x %" PRIu32 " pp x %" PRIu32 " replica%s",
                 i > 0 ? " + " : " = ", pool->tp, context, pool->dp, pool->pp, pool->replicas,
                 pool->replicas == 1 ? "" : "s");
        append(buffer, part);
    }
    return buffer;
}

static Digest mix_pool(Digest digest, const Pool *pool) {
    digest = hash_string(digest, plan_pool_names[pool->kind]);
#define X(field, least) digest = hash_u64(digest, pool->field);
    POOL_NUMBERS(X)
#undef X
#define X(field, type, names, count) digest = hash_string(digest, names[pool->field]);
    POOL_CHOICES(X)
#undef X
#define X(field, type, names, count)                                                               \
    if (pool->field != 0) digest = hash_string(hash_string(digest, #field), names[pool->field]);
    POOL_EXTRA_CHOICES(X)
#undef X
#define X(field)                                                                                   \
    if (pool->field != 0) digest = hash_u64(hash_string(digest, #field), pool->field);
    POOL_EXTRA_NUMBERS(X)
#undef X
    for (uint32_t i = 0; i < POOL_STAGES_MAX && pool->stages[i] > 0; i++)
        digest = hash_u64(digest, pool->stages[i]);
    return digest;
}

Digest plan_digest(const Plan *plan) {
    Digest digest = hash_u64(hash_string(HASH_START, "plan"), plan->pool_count);
    for (uint32_t i = 0; i < plan->pool_count; i++) digest = mix_pool(digest, &plan->pools[i]);
    digest = hash_u64(digest, plan->transfer_count);
    for (uint32_t i = 0; i < plan->transfer_count; i++) {
        digest = hash_u64(digest, plan->transfers[i].from_pool);
        digest = hash_u64(digest, plan->transfers[i].to_pool);
    }
    return digest;
}

// ---- Consistency.

static bool check_least(const char *field, uint32_t value, uint32_t least, Err *err) {
    return value >= least ||
           err_set(err, "%s is %" PRIu32 ", expected at least %" PRIu32, field, value, least);
}

// Products in 64 bits: each factor is below 2^20 when the next is multiplied.
static bool check_size(const Pool *pool, Err *err) {
    const uint32_t factors[] = {pool->tp, pool->dp, pool->cp, pool->pp, pool->replicas};
    const char *context = pool->cp > 1 ? "cp x " : "";
    uint64_t ranks = 1;
    for (uint32_t i = 0; i < sizeof factors / sizeof *factors; i++) {
        ranks *= factors[i];
        if (ranks <= POOL_RANKS_MAX) continue;
        return err_set(err, "tp x dp x %spp x replicas is over %d ranks", context, POOL_RANKS_MAX);
    }
    if (ranks + pool->first_gpu > POOL_RANKS_MAX)
        return err_set(err, "first_gpu %" PRIu32 " and %" PRIu64 " ranks are over %d GPUs",
                       pool->first_gpu, ranks, POOL_RANKS_MAX);
    if ((uint64_t)pool->ep * pool->moe_tp != pool_stage_ranks(pool)) {
        char more[24] = "";
        if (pool->cp > 1) snprintf(more, sizeof more, " x cp %" PRIu32, pool->cp);
        return err_set(err,
                       "ep %" PRIu32 " x moe_tp %" PRIu32 " is %" PRIu64
                       " ranks, expected tp %" PRIu32 " x dp %" PRIu32 "%s = %" PRIu32,
                       pool->ep, pool->moe_tp, (uint64_t)pool->ep * pool->moe_tp, pool->tp,
                       pool->dp, more, pool_stage_ranks(pool));
    }
    return pool->micro_batches <= POOL_RANKS_MAX ||
           err_set(err, "micro_batches %" PRIu32 " is over %d", pool->micro_batches,
                   POOL_RANKS_MAX);
}

// A plan does not say which ranks share a node: only what chooses looks that up.
static bool check_algorithm(const char *field, Collective kind, Algorithm algorithm, Err *err) {
    if (algorithm == ALGORITHM_HIERARCHICAL)
        return err_set(err,
                       "%s cannot be \"hierarchical\", expected \"auto\", which takes it "
                       "where it is fastest",
                       field);
    return algorithm == ALGORITHM_AUTO || collective_has(kind, algorithm) ||
           err_set(err, "%s cannot be \"%s\"", field, algorithm_names[algorithm]);
}

// What is laid beside the all-to-all, and what takes SMs, is nothing without one.
static bool check_overlap(const Pool *pool, Err *err) {
    bool sends = pool->moe_comm == MOE_COMM_ALL_TO_ALL && pool->ep > 1;
    bool halves =
        pool->prefill_overlap == OVERLAP_TWO_BATCH || pool->decode_overlap == OVERLAP_TWO_BATCH;
    if (pool->moe_chunks == 1 || pool->moe_chunks > POOL_CHUNKS_MAX)
        return err_set(err, "moe_chunks is %" PRIu32 ", expected 0 or 2 to %d", pool->moe_chunks,
                       POOL_CHUNKS_MAX);
    if (halves && pool->moe_chunks > 0)
        return err_set(err, "moe_chunks is %" PRIu32 " with overlap \"two-batch\", expected 0",
                       pool->moe_chunks);
    const uint32_t extras[] = {pool->prefill_overlap, pool->decode_overlap, pool->moe_chunks,
                               pool->prefill_sms, pool->decode_sms};
    static const char *const names[] = {"prefill_overlap", "decode_overlap", "moe_chunks",
                                        "prefill_sms", "decode_sms"};
    for (uint32_t i = 0; !sends && i < sizeof extras / sizeof *extras; i++) {
        if (extras[i] == 0) continue;
        return err_set(err,
                       "%s with moe_comm \"%s\" and ep %" PRIu32
                       ", expected \"all-to-all\" and an ep above 1",
                       names[i], plan_moe_comm_names[pool->moe_comm], pool->ep);
    }
    return true;
}

// Experts in order leave no slot for a replica; a group of one has no choice where they lie.
static bool check_placement(const Pool *pool, Err *err) {
    bool is_placed = pool->expert_placement == EXPERT_PLACEMENT_EPLB;
    if (pool->redundant_experts > 0 && !is_placed)
        return err_set(err,
                       "redundant_experts is %" PRIu32
                       " with expert_placement \"linear\", expected \"eplb\"",
                       pool->redundant_experts);
    return !is_placed || pool->ep > 1 ||
           err_set(err, "expert_placement \"eplb\" with ep 1, expected an ep above 1");
}

static bool check_stages(const Pool *pool, Err *err) {
    bool is_listed = pool->stage_cut == STAGE_CUT_LISTED;
    uint32_t listed = 0;
    while (listed < POOL_STAGES_MAX && pool->stages[listed] > 0) listed++;
    if (!is_listed && listed > 0)
        return err_set(err, "stages with stage_cut \"%s\", expected \"listed\"",
                       plan_stage_cut_names[pool->stage_cut]);
    return !is_listed || listed == pool->pp ||
           err_set(err, "%" PRIu32 " stages have layers, expected pp %" PRIu32 " (at most %d)",
                   listed, pool->pp, POOL_STAGES_MAX);
}

// Ranks that share prompts keep the whole cache each: vLLM has a group for decode beside them that
// leaves TP (tp x cp), which no schedule here has.
static bool check_context(const Pool *pool, Err *err) {
    if (pool->cp > 1 && pool->kind == POOL_DECODE)
        return err_set(err, "cp is %" PRIu32 " in a decode pool, expected 1: it cuts prompts",
                       pool->cp);
    if (pool->dcp == 0) return true;
    if (pool->dcp == 1) return err_set(err, "dcp is 1, expected 0 (none) or 2 and more");
    if (pool->cp > 1)
        return err_set(err, "dcp %" PRIu32 " with cp %" PRIu32 ", expected one of them", pool->dcp,
                       pool->cp);
    return pool->tp % pool->dcp == 0 ||
           err_set(err, "dcp %" PRIu32 " does not divide tp %" PRIu32, pool->dcp, pool->tp);
}

bool plan_check_pool(const Pool *pool, Err *err) {
#define X(field, least)                                                                            \
    if (!check_least(#field, pool->field, least, err)) return false;
    POOL_NUMBERS(X)
#undef X
    return check_size(pool, err) && check_context(pool, err) && check_placement(pool, err) &&
           check_overlap(pool, err) && check_stages(pool, err) &&
           check_algorithm("all_reduce", COLLECTIVE_ALL_REDUCE, pool->all_reduce, err) &&
           check_algorithm("all_to_all", COLLECTIVE_ALL_TO_ALL, pool->all_to_all, err) &&
           check_algorithm("all_gather", COLLECTIVE_ALL_GATHER, pool->all_gather, err) &&
           check_algorithm("reduce_scatter", COLLECTIVE_REDUCE_SCATTER, pool->reduce_scatter, err);
}

static bool check_apart(const Plan *plan, uint32_t a, uint32_t b, Err *err) {
    const Pool *left = &plan->pools[a], *right = &plan->pools[b];
    uint32_t left_end = left->first_gpu + pool_ranks(left);
    uint32_t right_end = right->first_gpu + pool_ranks(right);
    return left_end <= right->first_gpu || right_end <= left->first_gpu ||
           err_set(err,
                   "pools[%" PRIu32 "] on GPUs %" PRIu32 "-%" PRIu32 " and pools[%" PRIu32
                   "] on GPUs %" PRIu32 "-%" PRIu32 " overlap",
                   a, left->first_gpu, left_end - 1, b, right->first_gpu, right_end - 1);
}

static bool check_transfer(const Plan *plan, uint32_t index, Err *err) {
    KvTransfer transfer = plan->transfers[index];
    if (transfer.from_pool < plan->pool_count && transfer.to_pool < plan->pool_count &&
        transfer.from_pool != transfer.to_pool)
        return true;
    return err_set(err,
                   "transfers[%" PRIu32 "] goes from pool %" PRIu32 " to pool %" PRIu32
                   ", expected two of %" PRIu32 " pools",
                   index, transfer.from_pool, transfer.to_pool, plan->pool_count);
}

bool plan_check(const Plan *plan, Err *err) {
    if (plan->pool_count == 0 || plan->pool_count > PLAN_POOLS_MAX)
        return err_set(err, "%" PRIu32 " pools, expected 1 to %d", plan->pool_count,
                       PLAN_POOLS_MAX);
    for (uint32_t i = 0; i < plan->pool_count; i++) {
        if (!plan_check_pool(&plan->pools[i], err)) return err_prefix(err, "pools[%" PRIu32 "]", i);
        if (plan->pool_count > 1 && plan->pools[i].placement != PLACEMENT_LINEAR)
            return err_set(err,
                           "pools[%" PRIu32 "]: placement \"%s\" of one of several pools, expected "
                           "\"linear\"",
                           i, plan_placement_names[plan->pools[i].placement]);
        for (uint32_t k = 0; k < i; k++)
            if (!check_apart(plan, k, i, err)) return false;
    }
    if (plan->transfer_count > PLAN_POOLS_MAX)
        return err_set(err, "%" PRIu32 " transfers, expected at most %d", plan->transfer_count,
                       PLAN_POOLS_MAX);
    for (uint32_t i = 0; i < plan->transfer_count; i++)
        if (!check_transfer(plan, i, err)) return false;
    return true;
}

bool plan_check_kinds(const Plan *plan, Err *err) {
    uint32_t kinds[POOL_KIND_COUNT] = {0};
    for (uint32_t i = 0; i < plan->pool_count; i++) kinds[plan->pools[i].kind]++;
    bool apart = kinds[POOL_PREFILL] + kinds[POOL_DECODE] > 0;
    bool paired = kinds[POOL_UNIFIED] == 0 && kinds[POOL_PREFILL] > 0 && kinds[POOL_DECODE] > 0;
    return !apart || paired ||
           err_set(err,
                   "%" PRIu32 " unified, %" PRIu32 " prefill and %" PRIu32
                   " decode pools, expected unified ones alone, or prefill and decode",
                   kinds[POOL_UNIFIED], kinds[POOL_PREFILL], kinds[POOL_DECODE]);
}

bool plan_legal(const Plan *plan, const Arch *arch, Err *reason) {
    return plan_legal_fault(plan, arch, reason).rule == PLAN_RULE_KEPT;
}
