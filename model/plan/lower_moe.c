// The mixture of experts of one layer: router, the way to the experts and back, shared experts.
//
// Invariant: takes the normed tokens of this rank (all tokens of the DP rank, or its share of them
// when tokens are cut over tp) and returns results for the same tokens. What is summed over ranks
// is summed in the width that the experts see: a latent space is left after the sum, because a norm
// may stand between.
//
// LOCAL: the experts see the tokens that are there (dp 1); partial results of the tp ranks are
// all-reduced, shared experts' in the same sum. GATHER: all tokens of the stage to all its ranks,
// and a reduce-scatter back. ALL_TO_ALL: each token once per chosen expert to that expert's rank;
// ranks talk to ranks with the same cut of the experts (stride moe_tp), after an all-gather among
// the ranks that hold the cuts of one expert and before a reduce-scatter among them. Shared experts
// are cut by tp, so they work on all tokens of the DP rank: a gather in front and a reduce-scatter
// behind them when tokens are cut. They run while routed tokens travel.
//
// In chunks, all dispatches are issued first and all combines behind them, so that the experts of a
// chunk run while the next chunk arrives and the one before returns: with times d, g and c of each
// of n chunks the part takes d + n g + c when the experts are what takes longest (the pipeline of
// Comet, arXiv:2502.19811, and of FasterMoE, PPoPP 2022, at the grain of whole operations).
// Sources: DeepSeek-V3, arXiv:2412.19437, section 3.2; DeepEP (deepseek-ai/DeepEP) for the sizes.
#include "model/plan/lower_moe.h"

#include <assert.h>

#include "model/base/wide.h"
#include "model/plan/lower_attend.h"

#define ROUTE_B 8 // expert number (int32) and weight (f32) of one choice
#define SCORE_B 4 // f32

static const MlpSpec *mlp_of(const Lower *lower) {
    return &lower->arch->mlps[lower->arch->kinds[lower->kind].mlp];
}

// The stream of what moves routed tokens.
static uint32_t comm_stream(const Lower *lower) {
    return lower->overlap == OVERLAP_NONE ? LOWER_STREAM_COMPUTE : LOWER_STREAM_COMM;
}

// A buffer of the block; or, with a slot, of the step: the one of the slot, which has it from the
// first use on.
static BufferId provide(Lower *lower, BufferId *slot, const char *name, Extent bytes) {
    if (slot == NULL) return lower_buffer(lower, name, bytes);
    if (*slot == SCHEDULE_NONE) *slot = lower_step_buffer(lower, name, bytes);
    return *slot;
}

// Sizes are those of chunk `chunk` from here on; of all again by leave_chunks.
static void enter_chunk(Lower *lower, const LowerRouted *routed, uint32_t chunk) {
    if (routed->chunks == 1) return;
    lower->part = chunk;
    lower->parts = routed->chunks;
}

static void leave_chunks(Lower *lower, const LowerRouted *routed) {
    if (routed->chunks > 1) lower_enter_whole(lower);
}

static bool is_all_to_all(const Lower *lower) {
    return lower->routing == LOWER_ALL_TO_ALL;
}

// ---- Sizes of routed pairs (token, expert).

// Pairs that leave this rank: its share of the tokens, times the cuts of an expert that join
// before; as a fraction of the DP rank's tokens in lowest terms.
static Extent sent(const Lower *lower, const LowerRouted *routed, uint64_t B) {
    uint64_t pairs = (uint64_t)lower->pool->moe_tp * routed->chosen;
    uint64_t common = wide_gcd(pairs, lower->token_ways);
    return (Extent){.per_token = pairs / common * B, .divide = lower->token_ways / common};
}

// A pair, when each rank has whole ones for any number of tokens; else the part of a pair that
// keeps the mean size exact.
static uint32_t sent_element(const Extent *bytes, uint64_t B) {
    return (uint32_t)(B % bytes->divide == 0 ? B / bytes->divide : 1);
}

static Extent sent_room(const Lower *lower, const LowerRouted *routed, uint64_t B) {
    Extent room = sent(lower, routed, B);
    room.fixed = (room.divide - 1) * B;
    return room;
}

// Pairs that reach this rank's experts when every expert gets the same.
static Extent received(const Lower *lower, const LowerRouted *routed, uint64_t B) {
    uint64_t pairs = (uint64_t)pool_token_groups(lower->pool) * routed->chosen;
    return (Extent){.per_token = pairs * routed->experts * B, .divide = routed->slots};
}

// Senders send whole pairs, and a rank's share of them is rounded up.
static Extent received_room(const Lower *lower, const LowerRouted *routed, uint64_t B) {
    Extent room = received(lower, routed, B);
    room.fixed = ((uint64_t)routed->experts * lower->pool->ep + routed->slots) * B;
    return room;
}

// ---- Router.

static void add_router(Lower *lower, LowerRouted *routed, BufferId normed) {
    LowerWeights weights = lower_component_weights(lower, COMPONENT_ROUTER, SHARD_REPLICATED);
    uint64_t scores_B = (uint64_t)SCORE_B * lower_rows(&weights);
    uint64_t routes_B = (uint64_t)ROUTE_B * routed->mlp->top_k;
    BufferId scores = lower_buffer(lower, "scores", lower_room(lower, scores_B));
    routed->routes = provide(lower, routed->kept == NULL ? NULL : &routed->kept->routes, "routes",
                             lower_room(lower, routes_B));
    lower_gemms(lower, OP_CLASS_ROUTER, "router", lower_share(lower, 1), &weights, normed, scores);
    lower_mark(lower, WORK_ROUTER);
    lower_memory(lower, OP_CLASS_ROUTER, "top_k", lower_share(lower, scores_B + routes_B));
    lower_mark(lower, WORK_TOP_K);
    lower_read(lower, scores);
    lower_write(lower, routed->routes);
}

static BufferId add_latent(Lower *lower, BufferId normed) {
    const MlpSpec *mlp = mlp_of(lower);
    LowerWeights weights = lower_weights_of_rows(lower, COMPONENT_LATENT, mlp->latent);
    BufferId out = lower_buffer(lower, "latent", lower_room(lower, lower->act_B * mlp->latent));
    Extent share = lower_share(lower, 1);
    lower_gemms(lower, OP_CLASS_LATENT, "latent_down", share, &weights, normed, out);
    return out;
}

// ---- To the experts.

// A kernel that copies tokens (`in_B` each, `times` as many as this rank has) into the format and
// order in which they travel.
typedef struct Packing {
    const char *name;
    uint64_t in_B, times;
    Extent out, room;
} Packing;

static BufferId add_packing(Lower *lower, const Packing *packing, BufferId in) {
    BufferId out = lower_buffer(lower, packing->name, packing->room);
    Extent bytes = packing->out; // brought to the fraction of a token that inputs are counted in
    bytes.per_token = bytes.per_token * lower->token_ways / bytes.divide;
    bytes.per_token += packing->in_B * packing->times;
    bytes.divide = lower->token_ways;
    lower_memory(lower, OP_CLASS_DISPATCH, packing->name, bytes);
    lower_read(lower, in);
    lower_write(lower, out);
    return out;
}

// All-gather and reduce-scatter among the ranks of a group of `ways` that share tokens.
static void add_group_comm(Lower *lower, Op *op, uint32_t stream, BufferId in, BufferId out) {
    bool gathers = op->comm.collective == COLLECTIVE_ALL_GATHER;
    op->stream = stream;
    op->comm.algorithm = gathers ? lower->pool->all_gather : lower->pool->reduce_scatter;
    lower_collective(lower, op);
    if (stream != LOWER_STREAM_COMPUTE)
        schedule_add_wait(lower->schedule, lower->schedule->op_count - 2); // the op that wrote `in`
    lower_read(lower, in);
    lower_write(lower, out);
}

// Whole tokens in bf16, `token_B` bytes each.
static Comm token_comm(const Lower *lower, Collective collective, GroupId group, Extent bytes,
                       uint64_t token_B) {
    return (Comm){.collective = collective,
                  .group = group,
                  .bytes = bytes,
                  .element = (uint32_t)token_B,
                  .format = lower->act_format};
}

static BufferId gather_stage(Lower *lower, LowerRouted *routed, BufferId in) {
    uint64_t token_B = routed->sent_token_B;
    if (token_B < lower->act_B * routed->width) {
        Packing packing = {.name = "quantise", .in_B = lower->act_B * routed->width, .times = 1};
        packing.out = lower_share(lower, token_B);
        packing.room = lower_room(lower, token_B);
        in = add_packing(lower, &packing, in);
    }
    BufferId out =
        lower_buffer(lower, "gathered", lower_all(token_B * pool_token_groups(lower->pool)));
    Op op = {.op_class = OP_CLASS_DISPATCH, .name = "dispatch_gather"};
    op.comm = token_comm(lower, COLLECTIVE_ALL_GATHER, lower->stage_group,
                         lower_all(token_B * pool_token_groups(lower->pool)), token_B);
    add_group_comm(lower, &op, LOWER_STREAM_COMM, in, out);
    routed->arrives[0] = lower->schedule->op_count - 1;
    return out;
}

// The tokens of the ranks that hold the cuts of one expert, to each of them.
static BufferId gather_cuts(Lower *lower, const LowerRouted *routed, BufferId in) {
    uint64_t B = lower->act_B * routed->width, cuts = lower->pool->moe_tp;
    BufferId out = lower_buffer(lower, "cut_tokens", lower_room(lower, B * cuts));
    Op op = {.op_class = OP_CLASS_DISPATCH, .name = "cut_gather"};
    op.comm =
        token_comm(lower, COLLECTIVE_ALL_GATHER, lower->cut_group, lower_share(lower, B * cuts), B);
    add_group_comm(lower, &op, LOWER_STREAM_COMPUTE, in, out);
    return out;
}

static Comm routed_comm(const Lower *lower, const LowerRouted *routed, Split split,
                        uint64_t token_B) {
    Extent bytes = sent(lower, routed, token_B);
    return (Comm){.collective = COLLECTIVE_ALL_TO_ALL,
                  .algorithm = lower->pool->all_to_all,
                  .group = lower->ep_group,
                  .bytes = bytes,
                  .split = split,
                  .experts = routed->experts,
                  .experts_total = routed->slots,
                  .first_expert = routed->first,
                  .expert_sharers = lower->pool->moe_tp,
                  .moe_layer = lower->moe_layer,
                  .element = sent_element(&bytes, token_B),
                  .sms = lower->phase == PHASE_PREFILL ? lower->pool->prefill_sms
                                                       : lower->pool->decode_sms};
}

// One chunk of the tokens in `in`.
static void dispatch(Lower *lower, LowerRouted *routed, uint32_t chunk, BufferId in) {
    uint64_t B = routed->sent_token_B;
    enter_chunk(lower, routed, chunk);
    Packing packing = {.name = "permute", .in_B = lower->act_B * routed->width};
    packing.times = lower->pool->moe_tp;
    packing.out = sent(lower, routed, B);
    packing.room = sent_room(lower, routed, B);
    BufferId out = add_packing(lower, &packing, in);
    lower_read(lower, routed->routes);
    lower_mark(lower, WORK_PERMUTE);
    OpId packed = lower->schedule->op_count - 1;
    routed->arrived[chunk] = lower_buffer(lower, "received", received_room(lower, routed, B));
    Op op = {.op_class = OP_CLASS_DISPATCH, .name = "dispatch", .stream = comm_stream(lower)};
    op.comm = routed_comm(lower, routed, SPLIT_BY_DESTINATION, B);
    op.comm.format = lower_format(lower, lower->pool->dispatch_format);
    routed->arrives[chunk] = lower_collective(lower, &op);
    schedule_add_wait(lower->schedule, packed);
    lower_slice(lower, out, SLICE_READ, op.comm.bytes);
    lower_write(lower, routed->arrived[chunk]);
}

// ---- At the experts.

static void add_product(Lower *lower, const LowerRouted *routed, const char *name,
                        const LowerWeight *weight) {
    Op op = {.kind = OP_GROUPED_GEMM, .op_class = OP_CLASS_EXPERTS, .name = name};
    op.compute =
        (Compute){.m = lower_all((uint64_t)pool_token_groups(lower->pool) * routed->chosen),
                  .n = weight->n,
                  .k = weight->k,
                  .batch = 1,
                  .weight_format = weight->format,
                  .scale_B = weight->scale_B,
                  .math_format = lower_math(lower, weight->format),
                  .experts = routed->experts,
                  .experts_total = routed->slots,
                  .first_expert = routed->first,
                  .expert_sharers = lower->pool->moe_tp,
                  .moe_layer = lower->moe_layer};
    lower_compute(lower, &op);
}

// The first product waits for `arrives`, or for nothing (SCHEDULE_NONE).
static void add_experts(Lower *lower, const LowerRouted *routed, OpWork work,
                        const LowerWeights *weights, OpId arrives, BufferId in, BufferId out) {
    const char *name = work == WORK_EXPERTS_DOWN ? "experts_down" : "experts_gate_up";
    for (uint32_t i = 0; i < weights->count; i++) {
        add_product(lower, routed, name, &weights->of[i]);
        if (arrives != SCHEDULE_NONE && i == 0) schedule_add_wait(lower->schedule, arrives);
        lower_read(lower, in);
        lower_write(lower, out);
    }
}

static BufferId compute_experts(Lower *lower, const LowerRouted *routed, uint32_t chunk) {
    LowerWeights in = lower_component_weights(lower, COMPONENT_ROUTED, SHARD_EXPERT_COLUMN);
    LowerWeights back = lower_component_weights(lower, COMPONENT_ROUTED, SHARD_EXPERT_ROW);
    uint64_t gates_B = lower->act_B * lower_rows(&in), active_B = lower->act_B * back.of[0].k;
    uint64_t out_B = lower->act_B * routed->width;
    BufferId gates = lower_buffer(lower, "expert_gates", received_room(lower, routed, gates_B));
    BufferId active = lower_buffer(lower, "expert_active", received_room(lower, routed, active_B));
    BufferId out = lower_buffer(lower, "expert_out", received_room(lower, routed, out_B));
    add_experts(lower, routed, WORK_EXPERTS_GATE_UP, &in, routed->arrives[chunk],
                routed->arrived[chunk], gates);
    lower_mark(lower, WORK_EXPERTS_GATE_UP);
    if (lower->routing == LOWER_LOCAL) lower_read(lower, routed->routes);
    lower_memory(lower, OP_CLASS_EXPERTS, "experts_activation",
                 received(lower, routed, gates_B + active_B));
    lower_mark(lower, WORK_EXPERTS_SWIGLU);
    lower_read(lower, gates);
    lower_write(lower, active);
    add_experts(lower, routed, WORK_EXPERTS_DOWN, &back, SCHEDULE_NONE, active, out);
    lower_mark(lower, WORK_EXPERTS_DOWN);
    return out;
}

// ---- Back from the experts: sums over the chosen experts and over ranks, in the experts' width.

// Of one chunk.
static void combine(Lower *lower, LowerRouted *routed, uint32_t chunk, BufferId in) {
    uint64_t B = lower->act_B * routed->width;
    OpId computed = lower->schedule->op_count - 1;
    BufferId *slot = routed->kept == NULL ? NULL : &routed->kept->combined;
    routed->returned[chunk] = provide(lower, slot, "combined", sent_room(lower, routed, B));
    Op op = {.op_class = OP_CLASS_COMBINE, .name = "combine", .stream = comm_stream(lower)};
    op.comm = routed_comm(lower, routed, SPLIT_BY_SOURCE, B);
    op.comm.format = lower->act_format;
    routed->returns[chunk] = lower_collective(lower, &op);
    schedule_add_wait(lower->schedule, computed);
    lower_read(lower, in);
    lower_write(lower, routed->returned[chunk]);
}

// What the sum waits for: what brings the results, in this block or in those before it.
static void await_returns(Lower *lower, LowerRouted *routed) {
    Schedule *schedule = lower->schedule;
    routed->first_late = schedule->wait_count;
    for (uint32_t i = 0; i < routed->late_waits; i++)
        schedule_add_wait(schedule, schedule->op_count - 1); // itself, until it is filled in
    for (uint32_t i = 0; routed->late_waits == 0 && i < routed->chunks; i++)
        schedule_add_wait(schedule, routed->returns[i]);
}

static BufferId weighted_sum(Lower *lower, LowerRouted *routed) {
    uint64_t B = lower->act_B * routed->width, cuts = lower->pool->moe_tp;
    BufferId out = lower_buffer(lower, "weighted", lower_room(lower, B * cuts));
    lower_memory(lower, OP_CLASS_COMBINE, "weighted_sum",
                 lower_share(lower, B * cuts * (routed->chosen + 1)));
    lower_mark(lower, WORK_WEIGHTED_SUM);
    await_returns(lower, routed);
    for (uint32_t i = 0; i < routed->chunks; i++) lower_read(lower, routed->returned[i]);
    lower_read(lower, routed->routes);
    lower_write(lower, out);
    return out;
}

static BufferId scatter_cuts(Lower *lower, const LowerRouted *routed, BufferId in) {
    uint64_t B = lower->act_B * routed->width, cuts = lower->pool->moe_tp;
    BufferId out = lower_buffer(lower, "routed", lower_room(lower, B));
    Op op = {.op_class = OP_CLASS_COMBINE, .name = "cut_scatter"};
    op.comm = token_comm(lower, COLLECTIVE_REDUCE_SCATTER, lower->cut_group,
                         lower_share(lower, B * cuts), B);
    add_group_comm(lower, &op, LOWER_STREAM_COMPUTE, in, out);
    return out;
}

// Sums each token's results of this rank's experts; `beside` joins the sum where both are partial
// over the same ranks.
static BufferId sum_local(Lower *lower, const LowerRouted *routed, BufferId in, BufferId beside) {
    uint64_t B = lower->act_B * routed->width * pool_token_groups(lower->pool);
    BufferId out = lower_buffer(lower, "routed_partial", lower_all(B));
    Extent bytes = received(lower, routed, lower->act_B * routed->width);
    bytes.per_token += (beside == SCHEDULE_NONE ? 1 : 2) * B * routed->slots;
    lower_memory(lower, OP_CLASS_COMBINE, "weighted_sum", bytes);
    lower_mark(lower, WORK_EXPERT_SUM);
    lower_read(lower, in);
    if (lower->routing == LOWER_LOCAL) lower_read(lower, routed->routes);
    if (beside != SCHEDULE_NONE) lower_read(lower, beside);
    lower_write(lower, out);
    return out;
}

static BufferId scatter_stage(Lower *lower, const LowerRouted *routed, BufferId in, OpId *back) {
    uint64_t B = lower->act_B * routed->width;
    BufferId out = lower_buffer(lower, "routed", lower_room(lower, B));
    Op op = {.op_class = OP_CLASS_COMBINE, .name = "combine_scatter"};
    op.comm = token_comm(lower, COLLECTIVE_REDUCE_SCATTER, lower->stage_group,
                         lower_all(B * pool_token_groups(lower->pool)), B);
    add_group_comm(lower, &op, LOWER_STREAM_COMM, in, out);
    *back = lower->schedule->op_count - 1;
    return out;
}

// Where experts are not reached by all-to-all: results of the routed experts for this rank's
// tokens.
static void sum_results(Lower *lower, LowerRouted *routed, BufferId in) {
    bool joins = lower->routing == LOWER_LOCAL && routed->mlp->latent == 0;
    BufferId partial = sum_local(lower, routed, in, joins ? routed->shared : SCHEDULE_NONE);
    if (joins) routed->shared = SCHEDULE_NONE;
    if (lower->routing == LOWER_GATHER)
        routed->returned[0] = scatter_stage(lower, routed, partial, &routed->returns[0]);
    else
        routed->returned[0] = lower_reduce(lower, "routed_all_reduce", partial, SCHEDULE_NONE);
}

static BufferId leave_latent(Lower *lower, BufferId in, OpId back) {
    const MlpSpec *mlp = mlp_of(lower);
    LowerWeights weights = lower_weights_of_rows(lower, COMPONENT_LATENT, lower->arch->hidden);
    uint64_t latent_B = lower->act_B * mlp->latent, out_B = lower_hidden_B(lower);
    BufferId normed = lower_buffer(lower, "latent_normed", lower_room(lower, latent_B));
    BufferId out = lower_buffer(lower, "latent_up", lower_room(lower, out_B));
    lower_memory(lower, OP_CLASS_LATENT, "latent_norm", lower_share(lower, 2 * latent_B));
    if (back != SCHEDULE_NONE) schedule_add_wait(lower->schedule, back);
    lower_read(lower, in);
    lower_write(lower, normed);
    Extent share = lower_share(lower, 1);
    lower_gemms(lower, OP_CLASS_LATENT, "latent_up", share, &weights, normed, out);
    return out;
}

// ---- The layer.

// Layers with several blocks of attention and a dense part each, all beside the experts, which have
// read the tokens behind the first attention. As LongCat runs them (arXiv:2509.01322, sections 2.2
// and 6): the first dense part beside dispatch, the other blocks beside combine.
static void leave_block(Lower *lower, BufferId normed) {
    LowerResults results = {.count = 1, .wait = SCHEDULE_NONE};
    BufferId all = lower_spread(lower, "mlp_all_gather", normed, lower_hidden_B(lower));
    BufferId partial = lower_gated(lower, COMPONENT_DENSE, all, SCHEDULE_NONE);
    results.buffers[0] = lower_reduce(lower, "mlp_reduce", partial, SCHEDULE_NONE);
    lower_next(lower, "attention_norm", &results);
    lower->block++;
}

static BufferId enter_block(Lower *lower) {
    LowerResults results = {.count = 1, .wait = SCHEDULE_NONE};
    BufferId partial = lower_attention(lower);
    results.buffers[0] = lower_reduce(lower, "attention_reduce", partial, SCHEDULE_NONE);
    return lower_norm(lower, "mlp_norm", &results);
}

// Up to the tokens in front of the last dense part.
static void add_blocks(Lower *lower, LowerRouted *routed) {
    routed->normed = enter_block(lower);
    while (lower->block + 1 < lower_spec(lower)->per_layer) {
        leave_block(lower, routed->normed);
        routed->normed = enter_block(lower);
    }
}

// Shared experts, or the dense part that stands beside the experts.
static void add_shared(Lower *lower, LowerRouted *routed) {
    if (routed->mlp->shared_width == 0) return;
    uint64_t hidden_B = lower_hidden_B(lower);
    bool is_summed = lower->pool->tp > 1;
    LowerWeights dense = lower_component_weights(lower, COMPONENT_DENSE, SHARD_COLUMN);
    Component component = dense.count > 0 ? COMPONENT_DENSE : COMPONENT_SHARED;
    BufferId all = lower_spread(lower, "shared_all_gather", routed->normed, hidden_B);
    BufferId out = SCHEDULE_NONE;
    if (routed->kept != NULL)
        out = provide(lower, &routed->kept->shared, "shared", lower_room(lower, hidden_B));
    routed->shared = lower_gated(lower, component, all, is_summed ? SCHEDULE_NONE : out);
    lower->block = 0;
    bool joins = lower->routing == LOWER_LOCAL && routed->mlp->latent == 0;
    if (!joins) routed->shared = lower_reduce(lower, "shared_reduce", routed->shared, out);
}

static LowerRouted size_routed(const Lower *lower) {
    const MlpSpec *mlp = mlp_of(lower);
    const Pool *pool = lower->pool;
    LowerRouted routed = {.mlp = mlp, .shared = SCHEDULE_NONE, .chunks = 1};
    if (is_all_to_all(lower) && pool->moe_chunks > 0) routed.chunks = pool->moe_chunks;
    for (uint32_t i = 0; i < routed.chunks; i++)
        routed.arrives[i] = routed.returns[i] = SCHEDULE_NONE;
    routed.slots = pool_slots(pool, mlp->experts);
    pool_experts(pool, routed.slots, lower->ep_position, &routed.first, &routed.experts);
    routed.width = mlp->latent > 0 ? mlp->latent : lower->arch->hidden;
    routed.chosen = lower_chosen(mlp);
    routed.sent_token_B = numfmt_bytes(lower_format(lower, pool->dispatch_format), routed.width);
    return routed;
}

void lower_moe_send(Lower *lower, BufferId normed, LowerKept *kept, LowerRouted *out) {
    LowerRouted routed = size_routed(lower);
    assert(kept == NULL || (is_all_to_all(lower) && routed.chunks == 1));
    routed.normed = normed;
    routed.kept = kept;
    add_router(lower, &routed, normed);
    BufferId tokens = routed.mlp->latent > 0 ? add_latent(lower, normed) : normed;
    if (is_all_to_all(lower)) {
        if (lower->pool->moe_tp > 1) tokens = gather_cuts(lower, &routed, tokens);
        for (uint32_t i = 0; i < routed.chunks; i++) dispatch(lower, &routed, i, tokens);
        leave_chunks(lower, &routed);
    } else if (lower->routing == LOWER_GATHER) {
        routed.arrived[0] = gather_stage(lower, &routed, tokens);
    } else {
        routed.arrived[0] = tokens;
    }
    *out = routed;
}

void lower_moe_compute(Lower *lower, LowerRouted *routed) {
    bool has_blocks = lower_spec(lower)->per_layer > 1;
    bool late = has_blocks && lower->routing != LOWER_LOCAL; // beside the way back
    if (has_blocks) leave_block(lower, routed->normed);
    if (has_blocks && !late) add_blocks(lower, routed);
    if (!late) add_shared(lower, routed);
    for (uint32_t i = 0; i < routed->chunks; i++) {
        enter_chunk(lower, routed, i);
        BufferId out = compute_experts(lower, routed, i);
        if (is_all_to_all(lower))
            combine(lower, routed, i, out);
        else
            sum_results(lower, routed, out);
    }
    leave_chunks(lower, routed);
    if (!late) return;
    add_blocks(lower, routed);
    add_shared(lower, routed);
}

LowerResults lower_moe_finish(Lower *lower, LowerRouted *routed) {
    LowerResults results = {.count = 1, .wait = SCHEDULE_NONE};
    if (is_all_to_all(lower)) {
        results.buffers[0] = weighted_sum(lower, routed);
        if (lower->pool->moe_tp > 1)
            results.buffers[0] = scatter_cuts(lower, routed, results.buffers[0]);
    } else {
        results.buffers[0] = routed->returned[0];
        results.wait = routed->returns[0];
    }
    if (routed->mlp->latent > 0) {
        results.buffers[0] = leave_latent(lower, results.buffers[0], results.wait);
        results.wait = SCHEDULE_NONE;
    }
    if (routed->shared != SCHEDULE_NONE) results.buffers[results.count++] = routed->shared;
    return results;
}
