// Placement of groups on blocks of GPUs.
//
// Invariant: a plan with a place has TP groups inside scale-up domains, and groups, stages and
// replicas that either lie inside a block of the machine or are made of whole blocks, so that equal
// ranks see equal neighbours. Sources: engines keep TP inside a node and advise PP across
// (vllm-project/vllm#29447); SGLang's all-to-all back ends force ep = tp, vLLM has no mixture of EP
// and MoE-TP at all.
#include "sim/search/space_place.h"

#include <inttypes.h>

#define IDLE_PART 4 // a plan that leaves more than 1 in 4 GPUs idle is not searched

static const PlaceFault placed = {.reason = NULL};

uint32_t space_place_domain(const Fabric *fabric) {
    if (fabric->domain_size > 1) return fabric->domain_size;
    return fabric->node_size > 0 ? fabric->node_size : 1;
}

// Whether every run of `ranks` ranks from a multiple of `ranks` lies in one domain.
static bool is_inside(const Fabric *fabric, uint32_t ranks) {
    uint32_t domain = space_place_domain(fabric);
    return ranks <= domain && (domain >= fabric->gpu_count || domain % ranks == 0);
}

static double over(uint32_t ranks, uint32_t bound) {
    return ranks > bound ? (double)ranks / bound - 1 : 0;
}

static PlaceFault check_tp(const Fabric *fabric, const Pool *pool, Err *text) {
    uint32_t domain = space_place_domain(fabric);
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
    uint32_t ranks = pool_stage_ranks(pool), domain = space_place_domain(fabric);
    if (pool->moe_comm != MOE_COMM_GATHER || is_inside(fabric, ranks)) return placed;
    err_set(text,
            "gathers the tokens of %" PRIu32 " ranks on each of them, across scale-up domains of "
            "%" PRIu32 " GPUs",
            ranks, domain);
    return (PlaceFault){LEDGER_SKIPPED, "moe gather leaves its scale-up domain",
                        over(ranks, domain)};
}

// Experts cut as attention is, by all ranks, or not at all; other mixtures lie between these.
static PlaceFault check_mixture(const Pool *pool, Err *text) {
    uint32_t ranks = pool_stage_ranks(pool);
    if (pool->moe_tp == 1 || pool->moe_tp == pool->tp || pool->moe_tp == ranks) return placed;
    err_set(text, "moe_tp %" PRIu32 " beside tp %" PRIu32 " and %" PRIu32 " ranks of a stage",
            pool->moe_tp, pool->tp, ranks);
    return (PlaceFault){LEDGER_SKIPPED, "moe_tp is neither 1 nor tp nor all ranks of a stage", 0};
}

static PlaceFault check_idle(const Fabric *fabric, const Pool *pool, Err *text) {
    uint32_t gpus = fabric->gpu_count, idle = gpus - pool_ranks(pool);
    if (idle <= gpus / IDLE_PART) return placed;
    err_set(text, "leaves %" PRIu32 " of %" PRIu32 " GPUs idle", idle, gpus);
    return (PlaceFault){LEDGER_SKIPPED, "more than a quarter of the machine is idle",
                        (double)idle / gpus};
}

// Blocks of the machine are the products of its innermost digits; the outermost one is the machine
// itself and binds nothing.
static PlaceFault check_blocks(const Fabric *fabric, const Pool *pool, Err *text) {
    const FabricShape *shape = &fabric->shape;
    const uint32_t groups[] = {pool->tp, pool_stage_ranks(pool), pool_replica_ranks(pool)};
    static const char *const names[] = {"tp groups", "stages", "replicas"};
    uint32_t block = 1;
    for (uint32_t digit = shape->digit_count; shape->uniform && digit > 1; digit--) {
        block *= shape->size[digit - 1];
        for (uint32_t i = 0; i < 3; i++) {
            if (groups[i] % block == 0 || block % groups[i] == 0) continue;
            err_set(text,
                    "%s of %" PRIu32 " ranks on blocks of %" PRIu32
                    " GPUs: ranks straddle them unevenly, which is not folded yet",
                    names[i], groups[i], block);
            return (PlaceFault){LEDGER_NO_DATA, "ranks straddle nodes unevenly: not folded yet", 0};
        }
    }
    return placed;
}

static PlaceFault check_remainder(const Fabric *fabric, const Arch *arch, const Pool *pool,
                                  Err *text) {
    for (uint32_t i = 0; i < arch->mlp_count; i++) {
        uint32_t experts = arch->mlps[i].experts;
        if (experts % pool->ep == 0 || is_inside(fabric, pool_stage_ranks(pool))) continue;
        err_set(text,
                "%" PRIu32 " experts over ep %" PRIu32 " leave a remainder of %" PRIu32
                " across scale-up domains, which is not folded yet",
                experts, pool->ep, experts % pool->ep);
        return (PlaceFault){LEDGER_NO_DATA,
                            "uneven experts across scale-up domains: not folded yet",
                            (double)(experts % pool->ep)};
    }
    return placed;
}

PlaceFault space_place_fault(const Fabric *fabric, const Pool *pool, Err *text) {
    PlaceFault fault = check_tp(fabric, pool, text);
    if (fault.reason == NULL) fault = check_engine(pool, text);
    if (fault.reason == NULL) fault = check_mixture(pool, text);
    if (fault.reason == NULL) fault = check_idle(fabric, pool, text);
    if (fault.reason == NULL) fault = check_gather(fabric, pool, text);
    return fault;
}

PlaceFault space_place_gap(const Fabric *fabric, const Arch *arch, const Pool *pool, Err *text) {
    PlaceFault fault = check_blocks(fabric, pool, text);
    if (fault.reason == NULL) fault = check_remainder(fabric, arch, pool, text);
    return fault;
}
