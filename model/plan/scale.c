// Chooses the widths of a smaller pool among all products that have the ranks.
//
// Invariant: no width grows, and tp divides that of the pool, so that whole heads stay on each
// rank.
#include "model/plan/scale.h"

#include <inttypes.h>
#include <string.h>

#include "model/base/wide.h"

// Widths from the innermost outwards: the order of ranks.
enum { TP, CP, DP, PP, REPLICAS, WIDTHS };

typedef struct Widths {
    uint32_t of[WIDTHS];
} Widths;

static Widths widths_of(const Pool *pool) {
    return (Widths){{pool->tp, pool->cp, pool->dp, pool->pp, pool->replicas}};
}

// How many of the widths became 1, the outermost counting least.
static uint32_t lost(const Widths *old, const Widths *small) {
    uint32_t sum = 0;
    for (uint32_t i = 0; i < WIDTHS; i++)
        if (old->of[i] > 1 && small->of[i] == 1) sum += UINT32_C(1) << (WIDTHS - 1 - i);
    return sum;
}

// Which width shrank most, as old by new.
static uint32_t most_shrunk(const Widths *old, const Widths *small) {
    uint32_t most = 0;
    for (uint32_t i = 1; i < WIDTHS; i++)
        if ((uint64_t)old->of[i] * small->of[most] > (uint64_t)old->of[most] * small->of[i])
            most = i;
    return most;
}

static bool is_better(const Widths *old, const Widths *a, const Widths *b) {
    static const uint32_t order[] = {TP, DP, CP, PP, REPLICAS};
    uint32_t lost_a = lost(old, a), lost_b = lost(old, b);
    if (lost_a != lost_b) return lost_a < lost_b;
    uint32_t of_a = most_shrunk(old, a), of_b = most_shrunk(old, b);
    uint64_t loss_a = (uint64_t)old->of[of_a] * b->of[of_b];
    uint64_t loss_b = (uint64_t)old->of[of_b] * a->of[of_a];
    if (loss_a != loss_b) return loss_a < loss_b;
    for (uint32_t i = 0; i < WIDTHS; i++)
        if (a->of[order[i]] != b->of[order[i]]) return a->of[order[i]] > b->of[order[i]];
    return false;
}

// The divisors of a number of ranks, ascending.
#define DIVISORS_MAX 256 // numbers up to POOL_RANKS_MAX have 240 at most
typedef struct Divisors {
    uint32_t of[DIVISORS_MAX], count;
} Divisors;

static Divisors divisors_of(uint32_t ranks) {
    Divisors divisors = {.count = 0};
    for (uint32_t d = 1; d <= ranks && divisors.count < DIVISORS_MAX; d++)
        if (ranks % d == 0) divisors.of[divisors.count++] = d;
    return divisors;
}

static bool may_be(const Widths *old, uint32_t width, uint32_t small, uint32_t rest) {
    bool fits = small <= old->of[width] && rest % small == 0;
    return fits && (width != TP || old->of[TP] % small == 0);
}

// Goes through all combinations: at[i] counts the divisors that width i has tried.
static bool find(const Widths *old, uint32_t ranks, Widths *best) {
    Divisors divisors = divisors_of(ranks);
    uint32_t at[WIDTHS] = {0}, rest[WIDTHS] = {ranks}, level = TP;
    Widths small = {{0}};
    bool found = false;
    for (;;) {
        if (at[level] == divisors.count) {
            if (level == TP) return found;
            level--;
            continue;
        }
        uint32_t width = divisors.of[at[level]++];
        if (!may_be(old, level, width, rest[level])) continue;
        small.of[level] = width;
        if (level + 1 < REPLICAS) {
            rest[level + 1] = rest[level] / width;
            at[++level] = 0;
            continue;
        }
        small.of[REPLICAS] = rest[level] / width;
        if (small.of[REPLICAS] > old->of[REPLICAS]) continue;
        if (!found || is_better(old, &small, best)) *best = small;
        found = true;
    }
}

// The part of `ways` that `ranks` of `old_ranks` keep: 1 and all stay so; else the divisor of the
// ranks that is nearest to the same part, from below.
static uint32_t shrink(uint32_t ways, uint32_t old_ranks, uint32_t ranks) {
    if (ways == 1) return 1;
    if (ways == old_ranks) return ranks;
    uint32_t kept = ways < ranks ? ways : ranks;
    while (ranks % kept != 0 || (uint64_t)kept * old_ranks > (uint64_t)ways * ranks) {
        if (kept == 1) break;
        kept--;
    }
    return kept;
}

// What lies beside an all-to-all, what its kernels take, and where experts lie on several ranks is
// nothing without them (plan.c).
static void drop_fields(Pool *pool) {
    if (pool->ep == 1) pool->expert_placement = EXPERT_PLACEMENT_LINEAR;
    if (pool->moe_comm == MOE_COMM_ALL_TO_ALL && pool->ep > 1) return;
    pool->prefill_overlap = pool->decode_overlap = OVERLAP_SHARED;
    pool->moe_chunks = pool->prefill_sms = pool->decode_sms = 0;
}

bool scale_pool(const Pool *pool, uint32_t ranks, Pool *out, Err *err) {
    Widths old = widths_of(pool), small;
    if (ranks == 0 || ranks > pool_ranks(pool))
        return err_set(err, "expected 1 to %" PRIu32 " ranks, found %" PRIu32, pool_ranks(pool),
                       ranks);
    if (!find(&old, ranks, &small))
        return err_set(err,
                       "%" PRIu32 " ranks are no product of widths up to cp %" PRIu32
                       ", dp %" PRIu32 ", pp %" PRIu32 ", %" PRIu32
                       " replicas, and of a divisor of tp %" PRIu32,
                       ranks, pool->cp, pool->dp, pool->pp, pool->replicas, pool->tp);
    *out = *pool;
    out->tp = small.of[TP];
    out->cp = small.of[CP];
    out->dp = small.of[DP];
    out->pp = small.of[PP];
    out->replicas = small.of[REPLICAS];
    out->first_gpu = 0;
    bool dense = pool->ep == 1 && pool->moe_tp == 1;
    out->ep = dense ? 1 : shrink(pool->ep, pool_stage_ranks(pool), pool_stage_ranks(out));
    out->moe_tp = dense ? 1 : pool_stage_ranks(out) / out->ep;
    while (out->dcp > out->tp || (out->dcp > 0 && out->tp % out->dcp != 0)) out->dcp--;
    if (out->dcp == 1) out->dcp = 0;
    if (out->micro_batches > 1 && pool->pp > 1)
        out->micro_batches = (out->micro_batches * out->pp + pool->pp - 1) / pool->pp;
    if (pool_token_groups(out) == 1) out->moe_comm = MOE_COMM_NONE; // plan_legal.h
    drop_fields(out);
    memset(out->stages, 0, sizeof out->stages);
    if (out->stage_cut == STAGE_CUT_LISTED) out->stage_cut = STAGE_CUT_EVEN;
    return true;
}

// The multiple of `unit` from `least` to `most` that is nearest to `count`; 0: there is none.
static uint32_t nearest_multiple(uint64_t count, uint64_t unit, uint64_t least, uint32_t most) {
    uint64_t times = (count + unit / 2) / unit, first = (least + unit - 1) / unit;
    if (times < first) times = first;
    if (times > most / unit) times = most / unit;
    return times < first ? 0 : (uint32_t)(times * unit);
}

uint32_t scale_experts(const Pool *pool, const MlpSpec *mlp, Pool *scaled) {
    if (mlp == NULL || mlp->experts == 0) return 0;
    uint64_t group = mlp->groups > 0 ? mlp->groups : 1,
             chosen = mlp->groups > 0 && mlp->top_groups > 0 ? mlp->top_groups : group;
    uint64_t least = mlp->top_k > 0 ? (mlp->top_k + chosen - 1) / chosen * group : 1;
    uint64_t each = mlp->experts / pool->ep, count = (each > 0 ? each : 1) * scaled->ep;
    uint64_t both = scaled->ep / wide_gcd(scaled->ep, group) * group;
    scaled->redundant_experts =
        scaled->ep == 1 ? 0 : (uint32_t)((uint64_t)pool->redundant_experts * scaled->ep / pool->ep);
    uint32_t even = nearest_multiple(count, both, least, mlp->experts);
    return even > 0 ? even : nearest_multiple(count, group, least, mlp->experts);
}
