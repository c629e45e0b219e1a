// What a pool is in vLLM's terms.
//
// A server has tensor x pipeline x data parallel ranks. Experts lie whole on all of tensor x data
// (a switch) or are cut by all of it: nothing in between. Ranks of one data-parallel position are
// neighbours, its stages included, so stages of several positions cannot be spread over nodes as
// a plan spreads them. Source: vLLM, vllm/config/parallel.py and the pages Parallelism and
// Scaling, Data Parallel Deployment and Expert Parallel Deployment of its documentation.
#include <inttypes.h>

#include "model/plan/launch_build.h"

// Of vLLM's documentation: ports of the examples.
#define VLLM_PORT        8000
#define VLLM_DP_PORT     13345
#define VLLM_MASTER_PORT 29501
#define VLLM_SIDE_PORT   5600
#define VLLM_SIDE_APART  100 // a port for each data-parallel rank of a node

static bool is_none(Overlap overlap) {
    return overlap == OVERLAP_NONE;
}

// The switch that keeps shared experts from overlapping knows no phase.
static bool check_overlap(const Pool *pool, Err *err) {
    bool prefill = is_none(pool->prefill_overlap), decode = is_none(pool->decode_overlap);
    if (!prefill && !decode) return true;
    bool both = prefill && decode;
    bool own = pool->kind != POOL_UNIFIED;
    return both || own ||
           err_set(err,
                   "prefill_overlap \"%s\" with decode_overlap \"%s\": vllm turns the overlap of "
                   "shared experts off for both phases or for none",
                   plan_overlap_names[pool->prefill_overlap],
                   plan_overlap_names[pool->decode_overlap]);
}

static bool check_nodes(const Pool *pool, const LaunchPlace *place, Err *err) {
    uint32_t rank_gpus = pool->tp * pool->pp;
    if (place->nodes == 1 || pool->dp == 1) return true;
    if (pool->pp > 1)
        return err_set(err,
                       "pp %" PRIu32 " with dp %" PRIu32 " on %" PRIu32
                       " nodes: vllm puts the stages of one data-parallel rank side by side, a "
                       "plan puts all ranks of one stage there",
                       pool->pp, pool->dp, place->nodes);
    return place->gpus % rank_gpus == 0 ||
           err_set(err,
                   "tp %" PRIu32 " with dp %" PRIu32 " on nodes of %" PRIu32
                   " GPUs: a data-parallel rank of vllm lies inside a node",
                   pool->tp, pool->dp, place->gpus);
}

bool launch_vllm_check(const LaunchInput *in, const Pool *pool, const LaunchPlace *place,
                       Err *err) {
    NumFmt sent = launch_dispatch_format(in->arch, pool->activation_format);
    if (pool->ep > 1 && pool->moe_tp > 1)
        return err_set(err,
                       "ep %" PRIu32 " x moe_tp %" PRIu32
                       ": vllm has no experts that are both dealt out and cut, expected ep %" PRIu32
                       " or 1",
                       pool->ep, pool->moe_tp, pool_stage_ranks(pool));
    if (pool->micro_batches != pool->pp)
        return err_set(err,
                       "micro_batches %" PRIu32 ": vllm keeps as many in flight as there are "
                       "stages, expected %" PRIu32,
                       pool->micro_batches, pool->pp);
    if (pool->dispatch_format != sent)
        return err_set(err, "dispatch_format %s: vllm sends tokens in %s for these experts",
                       numfmt_name(pool->dispatch_format), numfmt_name(sent));
    return check_overlap(pool, err) && check_nodes(pool, place, err);
}

// ---- Flags

static bool add_widths(const LaunchBuild *b, Err *err) {
    const Pool *pool = b->pool;
    return launch_build_count(b, LAUNCH_TP, pool->tp, err) &&
           (pool->pp == 1 || launch_build_count(b, LAUNCH_PP, pool->pp, err)) &&
           (pool->cp == 1 || launch_build_count(b, LAUNCH_PCP, pool->cp, err)) &&
           (pool->dcp <= 1 || launch_build_count(b, LAUNCH_DCP, pool->dcp, err)) &&
           (pool->dp == 1 || launch_build_count(b, LAUNCH_DP, pool->dp, err));
}

// The first node answers; the others run headless.
static bool add_nodes(const LaunchBuild *b, Err *err) {
    const Pool *pool = b->pool;
    const char *head = launch_build_address(b, b->place.node);
    if (!launch_build_spans(b)) return true;
    if (pool->dp == 1)
        return launch_build_count(b, LAUNCH_NODES, b->place.nodes, err) &&
               launch_build_count(b, LAUNCH_NODE_RANK, b->part.rank, err) &&
               launch_build_expansion(b, LAUNCH_HEAD, head, err) &&
               launch_build_count(b, LAUNCH_HEAD_PORT, launch_build_port(b, VLLM_MASTER_PORT, 1),
                                  err) &&
               (b->part.rank == 0 || launch_build_switch(b, LAUNCH_HEADLESS, err));
    uint32_t local = b->place.gpus / pool->tp;
    return launch_build_count(b, LAUNCH_DP_LOCAL, local, err) &&
           (b->part.rank == 0 ||
            launch_build_count(b, LAUNCH_DP_START, (uint64_t)local * b->part.rank, err)) &&
           launch_build_expansion(b, LAUNCH_DP_ADDRESS, head, err) &&
           launch_build_count(b, LAUNCH_DP_PORT, launch_build_port(b, VLLM_DP_PORT, 1), err) &&
           (b->part.rank == 0 || launch_build_switch(b, LAUNCH_HEADLESS, err));
}

static bool add_eplb(const LaunchBuild *b, Err *err) {
    uint32_t redundant = b->pool->redundant_experts;
    if (b->pool->expert_placement != EXPERT_PLACEMENT_EPLB) return true;
    if (!launch_build_switch(b, LAUNCH_EPLB, err)) return false;
    if (redundant == 0) return true;
    if (launch_flags_find(b->in->flags, LAUNCH_REDUNDANT) != NULL)
        return launch_build_count(b, LAUNCH_REDUNDANT, redundant, err);
    return launch_build_text(
        b, LAUNCH_EPLB_CONFIG,
        arena_printf(b->arena, "{\"num_redundant_experts\":%" PRIu32 "}", redundant), err);
}

static bool add_experts(const LaunchBuild *b, Err *err) {
    const Pool *pool = b->pool;
    if (pool->ep == 1) return true;
    if (!launch_build_switch(b, LAUNCH_EXPERT_PARALLEL, err)) return false;
    if (pool_token_groups(pool) > 1 &&
        !launch_build_choice(b, LAUNCH_MOE_COMM, plan_moe_comm_names[pool->moe_comm], err))
        return false;
    return add_eplb(b, err);
}

// A phase that runs in one batch gets a threshold that no step reaches. One that runs in two gets
// the engine's, or a lower one when fewer tokens than that are predicted.
static bool add_two_batch(const LaunchBuild *b, Err *err) {
    const Pool *pool = b->pool;
    bool prefill = pool->prefill_overlap == OVERLAP_TWO_BATCH;
    bool decode = pool->decode_overlap == OVERLAP_TWO_BATCH;
    uint64_t sequences = launch_build_sequences(b->in, b->part.pool);
    if (!prefill && !decode) return true;
    if (!launch_build_switch(b, LAUNCH_TWO_BATCH, err)) return false;
    if (!prefill && launch_build_has_prefill(pool) &&
        !launch_build_count(b, LAUNCH_PREFILL_THRESHOLD, LAUNCH_NEVER, err))
        return false;
    if (!decode && launch_build_has_decode(pool) &&
        !launch_build_count(b, LAUNCH_DECODE_THRESHOLD, LAUNCH_NEVER, err))
        return false;
    if (decode && sequences > 0 && sequences < 32 && // tokens: vLLM's default, design/dbo
        !launch_build_count(b, LAUNCH_DECODE_THRESHOLD, sequences, err))
        return false;
    return !prefill || pool->prefill_sms == b->in->flags->all_to_all_sms ||
           launch_build_count(b, LAUNCH_SMS, pool->prefill_sms, err);
}

static bool add_overlap(const LaunchBuild *b, Err *err) {
    bool none = is_none(b->pool->prefill_overlap) || is_none(b->pool->decode_overlap);
    return (!none || launch_build_choice(b, LAUNCH_NO_SHARED_OVERLAP, "yes", err)) &&
           add_two_batch(b, err);
}

static bool add_role(const LaunchBuild *b, Err *err) {
    const char *role = b->pool->kind == POOL_PREFILL ? "kv_producer" : "kv_consumer";
    if (b->pool->kind == POOL_UNIFIED) return true;
    launch_build_each(b, LAUNCH_TRANSFER_NICS, "all", false);
    return launch_build_expansion(b, LAUNCH_TRANSFER_HOST,
                                  launch_build_address(b, b->place.node + b->part.rank), err) &&
           launch_build_count(b, LAUNCH_TRANSFER_PORT,
                              launch_build_port(b, VLLM_SIDE_PORT, VLLM_SIDE_APART), err) &&
           launch_build_text(b, LAUNCH_TRANSFER,
                             arena_printf(b->arena,
                                          "{\"kv_connector\":\"NixlConnector\",\"kv_role\":\"%s\"}",
                                          role),
                             err);
}

static bool add_scenario(const LaunchBuild *b, Err *err) {
    const Scenario *scenario = b->in->scenario;
    uint64_t sequences = launch_build_sequences(b->in, b->part.pool);
    if (sequences > 0 && !launch_build_count(b, LAUNCH_SEQUENCES, sequences, err)) return false;
    return scenario == NULL || launch_build_count(b, LAUNCH_CHUNK, scenario->prefill_chunk, err);
}

bool launch_vllm_settings(const LaunchBuild *b, Err *err) {
    if (launch_build_spans(b))
        launch_build_each(b, LAUNCH_SELF, launch_build_address(b, b->place.node + b->part.rank),
                          true);
    return add_widths(b, err) && add_experts(b, err) && add_overlap(b, err) && add_role(b, err) &&
           add_scenario(b, err) && add_nodes(b, err) &&
           (b->part.rank > 0 ||
            launch_build_count(b, LAUNCH_PORT, launch_build_port(b, VLLM_PORT, 1), err));
}
