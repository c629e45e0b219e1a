// Placement of groups on blocks of GPUs.
//
// Groups, stages and replicas that lie inside a block of the machine, or are made of whole blocks,
// are folded (sim/fold.h); others are priced as exactly by classes of ranks (sim/refine.h), which
// takes a look at every pair of ranks that meet, so that of those only small ones are searched.
//
// Invariant: a plan with a place has TP groups inside scale-up domains. Sources: engines keep TP
// inside a node and advise PP across (vllm-project/vllm#29447); SGLang's all-to-all back ends force
// ep = tp, vLLM has no mixture of EP and MoE-TP at all.
#include "sim/search/space_place.h"

#include <inttypes.h>

#include "model/base/mem.h"
#include "model/plan/pool_place.h"
#include "sim/layout.h"
#include "sim/search/limits.h"

#define IDLE_PART 4 // a plan that leaves more than 1 in 4 GPUs idle is not searched

// Pairs of ranks where each has a link of its own: a second to simulate.
#define JOINED_MAX 400000

static const PlaceFault placed = {.reason = NULL};

// Whether every run of `ranks` ranks from a multiple of `ranks` lies in one domain.
static bool is_inside(const Fabric *fabric, uint32_t ranks) {
    uint32_t domain = pool_place_node(fabric);
    return ranks <= domain && (domain >= fabric_live_gpu_count(fabric) || domain % ranks == 0);
}

static double over(uint32_t ranks, uint32_t bound) {
    return ranks > bound ? (double)ranks / bound - 1 : 0;
}

// ---- What is tried.

static PlaceFault check_idle(uint32_t gpus, const Pool *pool, Err *text) {
    uint32_t idle = gpus - pool_ranks(pool);
    if (idle <= gpus / IDLE_PART) return placed;
    err_set(text, "leaves %" PRIu32 " of %" PRIu32 " GPUs idle", idle, gpus);
    return (PlaceFault){LEDGER_SKIPPED, "more than a quarter of the machine is idle",
                        (double)idle / gpus};
}

static PlaceFault check_depth(const Fabric *fabric, const Pool *pool, Err *text) {
    uint32_t ranks = pool_stage_ranks(pool), domain = pool_place_node(fabric);
    if (space_place_is_power_of_two(pool->pp) || (ranks % domain == 0 && pool->replicas == 1))
        return placed;
    if (ranks % domain != 0)
        err_set(text,
                "pp %" PRIu32 " with stages of %" PRIu32
                " ranks, no whole scale-up domains of %" PRIu32 " GPUs",
                pool->pp, ranks, domain);
    else
        err_set(text, "pp %" PRIu32 " in %" PRIu32 " replicas", pool->pp, pool->replicas);
    return (PlaceFault){LEDGER_SKIPPED,
                        "pp is no power of two (tried for one replica of whole domains only)", 0};
}

static bool divides_experts(const Arch *arch, uint32_t ranks) {
    for (uint32_t i = 0; i < arch->mlp_count; i++)
        if (arch->mlps[i].experts > 0 && arch->mlps[i].experts % ranks == 0) return true;
    return false;
}

static PlaceFault check_width(const Fabric *fabric, const Arch *arch, uint32_t gpus,
                              const Pool *pool, Err *text) {
    uint32_t ranks = pool_stage_ranks(pool), domain = pool_place_node(fabric);
    uint32_t widest = gpus / (pool->tp * pool->pp) / pool->replicas;
    if (pool->dp == widest || ranks % domain == 0 || domain % ranks == 0) return placed;
    if (space_place_is_power_of_two(pool->dp) || divides_experts(arch, ranks)) return placed;
    err_set(text,
            "dp %" PRIu32 ", where %" PRIu32 " replica%s could have dp %" PRIu32
            ": stages of %" PRIu32 " ranks match neither domains nor experts",
            pool->dp, pool->replicas, pool->replicas == 1 ? "" : "s", widest, ranks);
    return (PlaceFault){LEDGER_SKIPPED,
                        "dp is not the widest and matches neither domains nor experts",
                        (double)widest / pool->dp - 1};
}

PlaceFault space_place_untried(const Fabric *fabric, const Arch *arch, uint32_t gpus,
                               const Pool *pool, Err *text) {
    PlaceFault fault = check_idle(gpus, pool, text);
    if (fault.reason == NULL) fault = check_depth(fabric, pool, text);
    if (fault.reason == NULL) fault = check_width(fabric, arch, gpus, pool, text);
    return fault;
}

// ---- What has a place.

static PlaceFault check_tp(const Fabric *fabric, const Pool *pool, Err *text) {
    uint32_t domain = pool_place_node(fabric);
    if (is_inside(fabric, pool->tp)) return placed;
    err_set(text,
            "tp %" PRIu32 " does not lie inside scale-up domains of %" PRIu32
            " GPUs: use pp or dp across them",
            pool->tp, domain);
    return (PlaceFault){LEDGER_SKIPPED, "tp group leaves its scale-up domain",
                        over(pool->tp, domain)};
}

static PlaceFault check_engine(const Pool *pool, Err *text) {
    if (pool->moe_comm != MOE_COMM_ALL_TO_ALL || pool->moe_tp == 1) return placed;
    err_set(text,
            "all-to-all with moe_tp %" PRIu32
            ": all-to-all back ends of vLLM and SGLang hold whole experts",
            pool->moe_tp);
    return (PlaceFault){LEDGER_ENGINE, "all-to-all needs whole experts on each rank",
                        (double)pool->moe_tp};
}

static PlaceFault check_gather(const Fabric *fabric, const Pool *pool, Err *text) {
    uint32_t ranks = pool_stage_ranks(pool), domain = pool_place_node(fabric);
    if (pool->moe_comm != MOE_COMM_GATHER || is_inside(fabric, ranks)) return placed;
    err_set(text,
            "gathers the tokens of %" PRIu32 " ranks on each of them, across scale-up domains of "
            "%" PRIu32 " GPUs",
            ranks, domain);
    return (PlaceFault){LEDGER_SKIPPED, "moe gather leaves its scale-up domain",
                        over(ranks, domain)};
}

// Experts cut as attention is, by all ranks, or not at all; other mixtures lie between these.
PlaceFault space_place_mixture(const Pool *pool, Err *text) {
    uint32_t ranks = pool_stage_ranks(pool);
    if (pool->moe_tp == 1 || pool->moe_tp == pool->tp || pool->moe_tp == ranks) return placed;
    err_set(text, "moe_tp %" PRIu32 " beside tp %" PRIu32 " and %" PRIu32 " ranks of a stage",
            pool->moe_tp, pool->tp, ranks);
    return (PlaceFault){LEDGER_SKIPPED, "moe_tp is neither 1 nor tp nor all ranks of a stage", 0};
}

// ---- What lies unevenly.

// Pairs of ranks of one replica, in all of them: what has to be listed to simulate them is less.
static uint64_t pairs_of(const Pool *pool) {
    return (uint64_t)pool_ranks(pool) * pool_replica_ranks(pool);
}

static PlaceFault too_dear(const Pool *pool, const char *reason) {
    return (PlaceFault){LEDGER_SKIPPED, reason, (double)pairs_of(pool) / LIMITS_UNEVEN_PAIRS - 1};
}

// Groups that neither lie inside blocks nor are made of whole ones.
typedef struct Straddle {
    const char *groups; // NULL: none straddle
    uint32_t ranks, block;
} Straddle;

// Blocks of the machine are the products of its innermost digits; the outermost one is the machine
// itself and binds nothing.
static Straddle find_straddle(const Fabric *fabric, uint32_t tp, uint32_t stage, uint32_t replica) {
    const FabricShape *shape = &fabric->shape;
    const uint32_t ranks[] = {tp, stage, replica};
    static const char *const names[] = {"tp groups", "stages", "replicas"};
    uint32_t block = 1;
    for (uint32_t digit = shape->digit_count; digit > 1; digit--) {
        block *= shape->size[digit - 1];
        for (uint32_t i = 0; i < 3; i++)
            if (ranks[i] % block != 0 && block % ranks[i] != 0)
                return (Straddle){names[i], ranks[i], block};
    }
    return (Straddle){0};
}

// The width of stages, of the same tp and pp and at least as wide, that do not straddle and use as
// many GPUs; 0 when there are none.
static uint32_t even_stage(const Fabric *fabric, const Arch *arch, uint32_t gpus,
                           const Pool *pool) {
    uint32_t experts = arch_most_experts(arch), most = experts == 0 ? UINT32_MAX : experts;
    for (uint32_t stage = pool_stage_ranks(pool); stage <= gpus / pool->pp && stage <= most;
         stage += pool_stage_ranks(pool) / pool->dp) {
        uint32_t replica = stage * pool->pp;
        if (gpus / replica * replica >= pool_ranks(pool) &&
            find_straddle(fabric, pool->tp, stage, replica).groups == NULL)
            return stage;
    }
    return 0;
}

// On an irregular machine blocks are those of its templates, and only what is large is left out.
static PlaceFault check_blocks(const Fabric *fabric, const Arch *arch, uint32_t gpus,
                               const Pool *pool, Err *text) {
    if (!fabric->shape.uniform && pairs_of(pool) <= LIMITS_UNEVEN_PAIRS) return placed;
    Straddle found =
        find_straddle(fabric, pool->tp, pool_stage_ranks(pool), pool_replica_ranks(pool));
    if (found.groups == NULL) return placed;
    uint32_t even = fabric->shape.uniform ? even_stage(fabric, arch, gpus, pool) : 0;
    if (even > 0) {
        err_set(text,
                "%s of %" PRIu32 " ranks straddle blocks of %" PRIu32
                " GPUs, where stages of %" PRIu32 " ranks would not, on as many GPUs",
                found.groups, found.ranks, found.block, even);
        return (PlaceFault){LEDGER_SKIPPED,
                            "ranks straddle blocks where stages as wide, on as many GPUs, do not",
                            (double)even / pool_stage_ranks(pool) - 1};
    }
    if (pairs_of(pool) <= LIMITS_UNEVEN_PAIRS) return placed;
    err_set(text,
            "%s of %" PRIu32 " ranks straddle blocks of %" PRIu32 " GPUs: %" PRIu64
            " pairs of ranks to look at, over %d",
            found.groups, found.ranks, found.block, pairs_of(pool), LIMITS_UNEVEN_PAIRS);
    return too_dear(pool, "ranks straddle blocks, and are too many to simulate");
}

// The smallest block, from the scale-up domain outwards, that lies inside a stage and is neither
// full of ranks with one expert more, which come first, nor free of them; 0 when there is none.
static uint32_t mixed_block(const Fabric *fabric, uint32_t stage_ranks, uint32_t fuller) {
    const FabricShape *shape = &fabric->shape;
    uint32_t domain = pool_place_node(fabric), block = 1;
    if (fuller % domain != 0) return domain;
    for (uint32_t digit = shape->digit_count; shape->uniform && digit > 1; digit--) {
        block *= shape->size[digit - 1];
        if (block < stage_ranks && fuller % block != 0) return block;
    }
    return 0;
}

// Whether the fuller ranks of a stage of GPUs that are joined directly fill neither whole TP groups
// nor lie in one: then they cannot be folded (layout.h), and each pair has a link to be looked at.
static bool cuts_joined(const Fabric *fabric, const Pool *pool, uint32_t fuller) {
    return layout_is_joined(fabric) && fuller > pool->tp && fuller % pool->tp != 0 &&
           pairs_of(pool) > JOINED_MAX;
}

static PlaceFault check_remainder(const Fabric *fabric, const Arch *arch, const Pool *pool,
                                  Err *text) {
    uint32_t ranks = pool_stage_ranks(pool);
    for (uint32_t i = 0; pairs_of(pool) > LIMITS_UNEVEN_PAIRS && i < arch->mlp_count; i++) {
        uint32_t experts = arch->mlps[i].experts, fuller = experts % pool->ep * pool->moe_tp;
        uint32_t block = is_inside(fabric, ranks) ? 0 : mixed_block(fabric, ranks, fuller);
        if (cuts_joined(fabric, pool, fuller)) block = pool->tp;
        if (block == 0) continue;
        err_set(text,
                "%" PRIu32 " of %" PRIu32 " ranks hold one of %" PRIu32
                " experts more than the others, no whole blocks of %" PRIu32 " GPUs: %" PRIu64
                " pairs of ranks to look at, over %d",
                fuller, ranks, experts, block, pairs_of(pool), LIMITS_UNEVEN_PAIRS);
        return too_dear(pool,
                        "uneven experts across scale-up domains, of too many ranks to simulate");
    }
    return placed;
}

PlaceFault space_place_fault(const Fabric *fabric, const Pool *pool, Err *text) {
    PlaceFault fault = check_tp(fabric, pool, text);
    if (fault.reason == NULL) fault = check_engine(pool, text);
    if (fault.reason == NULL) fault = check_gather(fabric, pool, text);
    return fault;
}

static PlaceFault check_routes(const Fabric *fabric, const Pool *pool, Err *text) {
    uint64_t pairs = pairs_of(pool);
    if (fabric->shape.uniform || pairs <= LIMITS_SEARCHED_PAIRS) return placed;
    err_set(text,
            "%" PRIu64
            " pairs of ranks with routes of their own, over %d: the machine is irregular",
            pairs, LIMITS_SEARCHED_PAIRS);
    return (PlaceFault){LEDGER_SKIPPED, "too many routes to search on an irregular machine",
                        (double)pairs / LIMITS_SEARCHED_PAIRS - 1};
}

PlaceFault space_place_dear(const Fabric *fabric, const Arch *arch, uint32_t gpus, const Pool *pool,
                            Err *text) {
    PlaceFault fault = check_routes(fabric, pool, text);
    if (fault.reason == NULL) fault = check_blocks(fabric, arch, gpus, pool, text);
    if (fault.reason == NULL) fault = check_remainder(fabric, arch, pool, text);
    return fault;
}

PlaceFault space_place_other(const Fabric *fabric, const Pool *pool, Err *text) {
    uint32_t *places = NULL;
    const char *name = plan_placement_names[pool->placement];
    if (!pool_place_ranks(fabric, pool, &places, text))
        return (PlaceFault){LEDGER_SKIPPED, "the machine has no such placement", 0};
    mem_free(places);
    if (!pool_place_differs(fabric, pool)) {
        err_set(text, "placement \"%s\" has as many ranks of each group on a node as in order",
                name);
        return (PlaceFault){LEDGER_SKIPPED, "placement is that of ranks in order, by symmetry", 0};
    }
    if (pairs_of(pool) <= LIMITS_UNEVEN_PAIRS) return placed;
    err_set(text, "placement \"%s\": %" PRIu64 " pairs of ranks to look at, over %d", name,
            pairs_of(pool), LIMITS_UNEVEN_PAIRS);
    return too_dear(pool, "ranks in another order are too many to simulate");
}
