// What a pool is in SGLang's terms.
//
// tp-size is the world of one pipeline stage: it contains the data-parallel ranks of attention and
// those that share prompts, and ep-size parts of experts, each cut tp-size / ep-size ways. With an
// all-to-all back end experts are never cut. Stages are outermost, as in a plan. All nodes get the
// same flags but for the rank. Source: SGLang, python/sglang/srt/server_args.py and model_executor
// (ranks), docs/ advanced_features/server_arguments.md, expert_parallelism.md and
// pd_disaggregation.md.
#include <inttypes.h>

#include "model/base/wide.h"
#include "model/plan/launch_build.h"

// Of SGLang's documentation; servers of one node take ports beside their own.
#define SGLANG_PORT           30000
#define SGLANG_DIST_PORT      5000
#define SGLANG_BOOTSTRAP_PORT 8998
#define SGLANG_PORTS_APART    100

// Phases that a pool has: the switch for two batches knows none.
static bool check_overlap(const Pool *pool, Err *err) {
    const Overlap phases[] = {pool->prefill_overlap, pool->decode_overlap};
    for (uint32_t i = 0; i < 2; i++)
        if (phases[i] == OVERLAP_NONE)
            return err_set(err, "overlap \"none\": sglang has no switch for the overlap of shared "
                                "experts, expected \"shared\" or \"two-batch\"");
    return pool->kind != POOL_UNIFIED || phases[0] == phases[1] ||
           err_set(err,
                   "prefill_overlap \"%s\" with decode_overlap \"%s\": sglang runs two batches in "
                   "both phases or in none",
                   plan_overlap_names[phases[0]], plan_overlap_names[phases[1]]);
}

static bool check_micro_batches(const Pool *pool, Err *err) {
    if (pool->pp == 1 && pool->micro_batches != 1)
        return err_set(err,
                       "micro_batches %" PRIu32 " with pp 1, expected 1: sglang runs one batch",
                       pool->micro_batches);
    return pool->micro_batches >= pool->pp ||
           err_set(err,
                   "micro_batches %" PRIu32 ": sglang keeps at least as many in flight as "
                   "there are stages, expected %" PRIu32 " or more",
                   pool->micro_batches, pool->pp);
}

bool launch_sglang_check(const LaunchInput *in, const Pool *pool, const LaunchPlace *place,
                         Err *err) {
    NumFmt sent = launch_dispatch_format(in->arch, pool->activation_format);
    bool sends = pool->moe_comm == MOE_COMM_ALL_TO_ALL;
    if (pool->dispatch_format != sent &&
        !(sends && pool->dispatch_format == pool->activation_format))
        return err_set(
            err, "dispatch_format %s: sglang sends tokens in %s for these experts%s%s",
            numfmt_name(pool->dispatch_format), numfmt_name(sent),
            sends && sent != pool->activation_format ? " or in " : "",
            sends && sent != pool->activation_format ? numfmt_name(pool->activation_format) : "");
    if (place->nodes % pool->pp != 0 && pool->pp % place->nodes != 0)
        return err_set(err,
                       "pp %" PRIu32 " on %" PRIu32 " nodes: sglang puts whole stages on a "
                       "node or a stage on whole nodes",
                       pool->pp, place->nodes);
    return check_micro_batches(pool, err) && check_overlap(pool, err);
}

// ---- Flags

static bool add_widths(const LaunchBuild *b, Err *err) {
    const Pool *pool = b->pool;
    return launch_build_count(b, LAUNCH_TP, pool_stage_ranks(pool), err) &&
           (pool->pp == 1 || launch_build_count(b, LAUNCH_PP, pool->pp, err)) &&
           (pool->cp == 1 || (launch_build_count(b, LAUNCH_PCP, pool->cp, err) &&
                              launch_build_switch(b, LAUNCH_PREFILL_CP, err) &&
                              launch_build_choice(b, LAUNCH_PREFILL_CP_ORDER, "balanced", err))) &&
           (pool->dcp <= 1 || launch_build_count(b, LAUNCH_DCP, pool->dcp, err)) &&
           (pool->micro_batches == pool->pp ||
            launch_build_count(b, LAUNCH_MORE_BATCHES, pool->micro_batches - pool->pp, err)) &&
           (pool->dp == 1 || (launch_build_count(b, LAUNCH_DP, pool->dp, err) &&
                              launch_build_switch(b, LAUNCH_DP_ATTENTION, err)));
}

static bool has_dense(const Arch *arch) {
    for (uint32_t i = 0; i < arch->mlp_count; i++)
        if (arch->mlps[i].experts == 0 && arch->mlps[i].width > 0) return true;
    return false;
}

// A plan cuts what is not an expert as it cuts attention. The engine can do that for dense layers
// where attention is not cut, and for the table of the output.
static bool add_dense(const LaunchBuild *b, Err *err) {
    const Pool *pool = b->pool;
    if (pool_token_groups(pool) == 1) return true;
    return (pool->dp == 1 || launch_build_switch(b, LAUNCH_DP_HEAD, err)) &&
           (pool->tp > 1 || !has_dense(b->in->arch) ||
            launch_build_count(b, LAUNCH_DENSE_TP, 1, err));
}

static bool add_dispatch(const LaunchBuild *b, Err *err) {
    const Pool *pool = b->pool;
    if (!launch_build_choice(b, LAUNCH_MOE_COMM, plan_moe_comm_names[MOE_COMM_ALL_TO_ALL], err) ||
        !launch_build_choice(b, LAUNCH_DEEPEP_MODE, plan_pool_names[pool->kind], err))
        return false;
    return pool->dispatch_format != pool->activation_format ||
           launch_build_choice(b, LAUNCH_PLAIN_DISPATCH, "yes", err);
}

static bool add_experts(const LaunchBuild *b, Err *err) {
    const Pool *pool = b->pool;
    if (pool->ep > 1 && !launch_build_count(b, LAUNCH_EP, pool->ep, err)) return false;
    if (pool->moe_comm == MOE_COMM_ALL_TO_ALL && !add_dispatch(b, err)) return false;
    if (pool->expert_placement != EXPERT_PLACEMENT_EPLB) return true;
    return launch_build_switch(b, LAUNCH_EPLB, err) &&
           (pool->redundant_experts == 0 ||
            launch_build_count(b, LAUNCH_REDUNDANT, pool->redundant_experts, err));
}

static bool add_role(const LaunchBuild *b, Err *err) {
    if (b->pool->kind == POOL_UNIFIED) return true;
    if (!launch_build_choice(b, LAUNCH_ROLE, plan_pool_names[b->pool->kind], err) ||
        !launch_build_text(b, LAUNCH_TRANSFER_BACKEND, "mooncake", err))
        return false;
    if (b->in->machine.node_nics > 0 &&
        !launch_build_expansion(b, LAUNCH_TRANSFER_NICS, "$IB_HCA", err))
        return false;
    return b->pool->kind == POOL_DECODE ||
           launch_build_count(b, LAUNCH_TRANSFER_PORT,
                              launch_build_port(b, SGLANG_BOOTSTRAP_PORT, 1), err);
}

// Of all data-parallel ranks together; the engine divides by them.
static bool add_scenario(const LaunchBuild *b, Err *err) {
    const Scenario *scenario = b->in->scenario;
    const Pool *pool = b->pool;
    uint64_t sequences = launch_build_sequences(b->in, b->part.pool), dp = pool->dp;
    if (sequences > 0 && !launch_build_count(b, LAUNCH_SEQUENCES, sequences * dp, err))
        return false;
    // without it a micro-batch may have a stage's share of the requests
    if (sequences > 0 && pool->micro_batches > pool->pp &&
        !launch_build_count(b, LAUNCH_MICRO_BATCH, wide_div_up_u64(sequences, pool->micro_batches),
                            err))
        return false;
    return scenario == NULL ||
           launch_build_count(b, LAUNCH_CHUNK, scenario->prefill_chunk * dp, err);
}

static bool add_nodes(const LaunchBuild *b, Err *err) {
    if (!launch_build_spans(b)) return true;
    const char *head = arena_printf(b->arena, "%s:%" PRIu32, launch_build_address(b, b->place.node),
                                    launch_build_port(b, SGLANG_DIST_PORT, SGLANG_PORTS_APART));
    return launch_build_count(b, LAUNCH_NODES, b->place.nodes, err) &&
           launch_build_count(b, LAUNCH_NODE_RANK, b->part.rank, err) &&
           launch_build_expansion(b, LAUNCH_HEAD, head, err);
}

bool launch_sglang_settings(const LaunchBuild *b, Err *err) {
    bool halves = b->pool->prefill_overlap == OVERLAP_TWO_BATCH ||
                  b->pool->decode_overlap == OVERLAP_TWO_BATCH;
    return add_widths(b, err) && add_experts(b, err) && add_dense(b, err) &&
           (!halves || launch_build_switch(b, LAUNCH_TWO_BATCH, err)) && add_role(b, err) &&
           add_scenario(b, err) && add_nodes(b, err) &&
           launch_build_text(b, LAUNCH_HOST, "0.0.0.0", err) &&
           launch_build_count(b, LAUNCH_PORT, launch_build_port(b, SGLANG_PORT, SGLANG_PORTS_APART),
                              err);
}
