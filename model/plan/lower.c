// Lowers a plan to a schedule: roles, groups, and the program of each role.
//
// T tokens of a DP rank, t = ceil(T / ways) of this rank outside attention (ways: tp when experts
// are reached by all-to-all or gather, else 1), S sequences, C cached tokens, P pairs (token, token
// attended to); h hidden, H heads / tp, E experts, k chosen, w width that experts see (latent or
// h), f expert width / moe_tp. [..] stands only in some plans or models.
//
//   block    operation               work
//   embed    [receive tokens]        4 T bytes, lag micro_batches (decode, pp > 1)
//            embedding               T rows of h; [sum over tp]
//            input norm              t x h; [gather over tp]
//   receive  receive, input norm     t x h, and the block outputs so far
//   gqa      qkv                     T x (H d + 2 K d) x h
//            rope and cache          writes K (d + dv) per token
//            attention               2 H (d + dv) P flop, K (d + dv) C cache elements
//   mla      latents (q and kv)      T x (q_lora + kv_lora + rope) x h, whole on every rank
//            q_b                     T x H (nope + rope) x q_lora
//     decode q absorb, v absorb      H products T x kv_lora x nope, T x v x kv_lora
//            attention               2 H (2 kv_lora + rope) P flop, (kv_lora + rope) C elements
//    prefill kv_b                    C x H (nope + v) x kv_lora
//            attention               2 H (nope + rope + v) P flop
//            [gate]                  T x H v x h, and one pass over the heads
//   kda      qkvg, f_a b, f_b        T x 4 H d x h, T x (d + H) x h, T x H d x d
//            convolution             three short filters, tails per sequence
//     decode step                    7 H d d T flop, state 2 x 4 H d d S bytes
//    prefill chunks of 64            H (6 d d + 3 x 64 d + 64 x 64) T flop, the same state
//            norm and gate           one pass over the heads
//   all      o_proj, sum over tp     T x h x H dv; T x h
//            add and norm            t x h
//   dense    [gather], gate up,      T x (2 F / tp) x h, one pass, T x h x F / tp, T x h
//            activation, down, sum
//   moe      router, top k           t x E x h
//            [latent down]           t x w x h
//            [gather, permute,       t k w in the dispatch format, split by destination;
//             dispatch]              gather: T dp w
//            [shared experts]        as dense, beside dispatch
//            experts gate up, down   dp T k pairs x experts / E: x 2f x w, x w x f
//            [combine]               t k w in bf16, split by source
//            weighted sum            [gather and local: of T dp w, then summed over ranks]
//            [latent norm, up]       t x h x w
//            add and norm            t x h, of the next layer or the head; [gather over tp]
//   send     pack, send              as receive
//   head     lm head, sample         S x V / tp x h, [S x V gathered], one pass; [send tokens]
//
// Invariant: the last operation of a layer is on the compute stream and waits for all that the
// layer put on other streams, so that layers of any kind may follow each other without further
// waits. The norm at the end of a layer is therefore the one that the next layer begins with.
#include "model/plan/lower.h"

#include <assert.h>
#include <stdio.h>

#include "model/plan/lower_internal.h"

// Layers whose sum is one block output of Kimi-K3's attention residuals (attn_res_block_size in its
// config.json; the architecture keeps only the tensors).
#define ATTENTION_RESIDUAL_LAYERS 12

#define NAME_MAX_B 96

// ---- Layers.

static void describe_kind(const Lower *lower, char *name, size_t size) {
    const LayerKind *kind = &lower->arch->kinds[lower->kind];
    const MlpSpec *mlp = &lower->arch->mlps[kind->mlp];
    const AttentionSpec *attention = &lower->arch->attentions[kind->attention];
    snprintf(name, size, "layers %s + %s", arch_attention_names[attention->kind],
             mlp->experts > 0 ? "moe" : "dense");
}

static LowerResults add_dense(Lower *lower, BufferId normed) {
    uint64_t hidden_B = (uint64_t)LOWER_BF16_B * lower->arch->hidden;
    BufferId all = lower_spread(lower, "mlp_all_gather", normed, hidden_B);
    BufferId partial = lower_gated(lower, COMPONENT_DENSE, all);
    LowerResults results = {.count = 1, .wait = SCHEDULE_NONE};
    results.buffers[0] = lower_reduce(lower, "mlp_reduce", partial);
    return results;
}

static BlockId add_layer(Lower *lower, uint32_t kind) {
    char name[NAME_MAX_B];
    lower->kind = kind;
    describe_kind(lower, name, sizeof name);
    BlockId block = schedule_add_block(lower->schedule, lower->role, name);
    LowerResults attended = {.count = 1, .wait = SCHEDULE_NONE};
    attended.buffers[0] = lower_reduce(lower, "attention_reduce", lower_attention(lower));
    BufferId normed = lower_norm(lower, "mlp_norm", &attended);
    bool routed = lower->arch->mlps[lower->arch->kinds[kind].mlp].experts > 0;
    LowerResults results = routed ? lower_moe(lower, normed) : add_dense(lower, normed);
    if (lower->token_ways == 1) {
        lower_norm_into(lower, "attention_norm", &results, lower->hidden);
        return block;
    }
    BufferId out = lower_buffer(lower, "attention_normed", lower->schedule->buffers[normed].bytes);
    lower_norm_into(lower, "attention_norm", &results, out);
    lower_to_hidden(lower, out);
    return block;
}

// The number that layer `layer` has among the layers with experts, as Loads count them.
static uint32_t moe_layer_of(const Arch *arch, uint32_t layer) {
    uint32_t number = 0;
    for (uint32_t i = 0; i < layer; i++) {
        number += arch->mlps[arch->kinds[arch->kind_of_layer[i]].mlp].experts > 0;
    }
    return number;
}

// One block for each kind that the stage has; blocks[kind] stays SCHEDULE_NONE for the others.
static void add_layer_blocks(Lower *lower, uint32_t first, uint32_t count, BlockId *blocks) {
    const Arch *arch = lower->arch;
    for (uint32_t kind = 0; kind < arch->kind_count; kind++) blocks[kind] = SCHEDULE_NONE;
    for (uint32_t layer = first; layer < first + count; layer++) {
        uint32_t kind = arch->kind_of_layer[layer];
        if (blocks[kind] != SCHEDULE_NONE) continue;
        lower->moe_layer = moe_layer_of(arch, layer);
        blocks[kind] = add_layer(lower, kind);
    }
}

static void add_layer_segments(Lower *lower, uint32_t first, uint32_t count,
                               const BlockId *blocks) {
    const uint32_t *kinds = lower->arch->kind_of_layer;
    for (uint32_t layer = first; layer < first + count;) {
        uint32_t run = 1;
        while (layer + run < first + count && kinds[layer + run] == kinds[layer]) run++;
        schedule_add_segment(lower->schedule, lower->role, blocks[kinds[layer]], run);
        layer += run;
    }
}

// ---- One role.

static uint32_t block_outputs(uint32_t layers) {
    return (layers + ATTENTION_RESIDUAL_LAYERS - 1) / ATTENTION_RESIDUAL_LAYERS;
}

// Attention residuals: outputs of whole blocks of layers before this stage, after it, and what a
// layer in its middle reads.
static void size_earlier(Lower *lower, uint32_t first, uint32_t count) {
    lower->earlier_arriving = lower->earlier_count = lower->earlier_mean = 0;
    if (!lower_has(lower, lower->arch->kind_of_layer[first], "attention_res")) return;
    lower->earlier_arriving = block_outputs(first);
    lower->earlier_count = block_outputs(first + count);
    lower->earlier_mean = block_outputs(first + count / 2);
}

static void add_program(Lower *lower) {
    Arena scratch = {0};
    uint32_t first, count;
    uint64_t hidden_B = (uint64_t)LOWER_BF16_B * lower->arch->hidden;
    pool_stage_layers(lower->pool, lower->arch->layers, lower->stage, &first, &count);
    lower->token_ids = lower_step_buffer(lower, "token_ids", (Extent){.per_token = 4});
    lower->hidden = lower_step_buffer(lower, "hidden", lower_all(hidden_B));
    size_earlier(lower, first, count);
    lower->residual = lower_step_buffer(lower, "residual",
                                        lower_room(lower, (1 + lower->earlier_count) * hidden_B));
    BlockId *blocks = arena_alloc(&scratch, lower->arch->kind_count, sizeof *blocks);
    BlockId begin = lower_first_block(lower);
    add_layer_blocks(lower, first, count, blocks);
    BlockId end = lower_last_block(lower);
    schedule_add_segment(lower->schedule, lower->role, begin, 1);
    add_layer_segments(lower, first, count, blocks);
    schedule_add_segment(lower->schedule, lower->role, end, 1);
    arena_free(&scratch);
}

// ---- Roles and groups.

static uint32_t nearer_border(uint32_t border, uint32_t position, uint32_t candidate) {
    return candidate > position && candidate < border ? candidate : border;
}

// The next EP position at which ranks stop being alike, or ep: where the number of experts changes
// for some kind of layer, and where the TP group begins and ends that has ranks on both sides of
// such a change (its ranks have other partners than the rest).
static uint32_t next_border(const Pool *pool, const Arch *arch, uint32_t position) {
    uint32_t border = pool->ep;
    for (uint32_t i = 0; i < arch->mlp_count; i++) {
        uint32_t longer = arch->mlps[i].experts % pool->ep;
        if (longer == 0) continue;
        uint32_t rank = longer * pool->moe_tp, begin = rank / pool->tp * pool->tp;
        border = nearer_border(border, position, longer);
        if (begin == rank || pool->tp % pool->moe_tp != 0) continue;
        border = nearer_border(border, position, begin / pool->moe_tp);
        border = nearer_border(border, position, (begin + pool->tp) / pool->moe_tp);
    }
    return border;
}

static uint32_t parts_of_stage(const Pool *pool, const Arch *arch) {
    uint32_t parts = 0;
    for (uint32_t at = 0; at < pool->ep; at = next_border(pool, arch, at)) parts++;
    return parts;
}

static uint32_t experts_held(const Pool *pool, const Arch *arch, uint32_t position) {
    uint32_t experts = 0, first, held;
    for (uint32_t i = 0; i < arch->mlp_count; i++) {
        if (arch->mlps[i].experts > experts) experts = arch->mlps[i].experts;
    }
    pool_experts(pool, experts, position, &first, &held);
    return held;
}

static void name_role(const Pool *pool, const Arch *arch, uint32_t stage, uint32_t position,
                      char *name, size_t size) {
    uint32_t held = experts_held(pool, arch, position);
    uint32_t begin = position * pool->moe_tp / pool->tp * pool->tp / pool->moe_tp;
    uint32_t last = (position * pool->moe_tp / pool->tp * pool->tp + pool->tp - 1) / pool->moe_tp;
    bool is_mixed = experts_held(pool, arch, begin) != experts_held(pool, arch, last);
    if (parts_of_stage(pool, arch) == 1)
        snprintf(name, size, "stage %u", (unsigned)stage);
    else
        snprintf(name, size, "stage %u, %u experts%s", (unsigned)stage, (unsigned)held,
                 is_mixed ? ", mixed tp group" : "");
}

// Roles are numbered stage by stage, and in a stage by EP position.
static void add_roles(const Lower *lower, uint32_t passes) {
    const Pool *pool = lower->pool;
    char name[NAME_MAX_B];
    for (uint32_t stage = 0; stage < pool->pp; stage++) {
        for (uint32_t at = 0; at < pool->ep;) {
            uint32_t border = next_border(pool, lower->arch, at);
            RankSet ranks = {.first = stage * pool_stage_ranks(pool) + at * pool->moe_tp,
                             .count = (border - at) * pool->moe_tp,
                             .period = pool_replica_ranks(pool),
                             .repeat = pool->replicas};
            name_role(pool, lower->arch, stage, at, name, sizeof name);
            schedule_add_role(lower->schedule, name, ranks, passes);
            at = border;
        }
    }
}

static GroupId add_family(const Lower *lower, const char *name, uint32_t size, uint32_t stride) {
    const Pool *pool = lower->pool;
    uint32_t per_stage = pool_stage_ranks(pool) / size;
    GroupFamily family = {.name = name,
                          .size = size,
                          .stride = stride,
                          .count = per_stage * pool->replicas,
                          .first = lower->stage * pool_stage_ranks(pool),
                          .period = pool_replica_ranks(pool),
                          .per_period = per_stage};
    return schedule_add_group(lower->schedule, &family);
}

// Families that no operation of this plan uses are left out.
static void add_groups(Lower *lower) {
    const Pool *pool = lower->pool;
    lower->tp_group = lower->stage_group = lower->ep_group = lower->cut_group = SCHEDULE_NONE;
    if (pool->tp > 1) lower->tp_group = add_family(lower, "tp", pool->tp, 1);
    if (lower->routing == LOWER_GATHER)
        lower->stage_group = add_family(lower, "stage", pool_stage_ranks(pool), 1);
    if (lower->routing != LOWER_ALL_TO_ALL) return;
    lower->ep_group = add_family(lower, "ep", pool->ep, pool->moe_tp);
    if (pool->moe_tp > 1) lower->cut_group = add_family(lower, "expert cuts", pool->moe_tp, 1);
}

// ---- The plan.

// With one EP position every rank has all experts: tokens are gathered, whatever the plan calls it.
static LowerRouting routing_of(const Pool *pool, const Arch *arch) {
    bool has_experts = false;
    for (uint32_t i = 0; i < arch->mlp_count; i++) has_experts |= arch->mlps[i].experts > 0;
    if (!has_experts || pool->moe_comm == MOE_COMM_NONE) return LOWER_LOCAL;
    return pool->moe_comm == MOE_COMM_ALL_TO_ALL && pool->ep > 1 ? LOWER_ALL_TO_ALL : LOWER_GATHER;
}

// Transfers from stage s to s + 1 of part p of their ranks have channel s * parts + p.
static void add_stage(Lower *lower) {
    const Pool *pool = lower->pool;
    uint32_t parts = parts_of_stage(pool, lower->arch), part = 0;
    uint32_t before = (lower->stage + pool->pp - 1) % pool->pp;
    uint32_t after = (lower->stage + 1) % pool->pp, first_channel = lower->channel;
    add_groups(lower);
    for (uint32_t at = 0; at < pool->ep; at = next_border(pool, lower->arch, at), part++) {
        lower->ep_position = at;
        lower->role = lower->stage * parts + part;
        lower->previous = before * parts + part;
        lower->next = after * parts + part;
        lower->pipeline_channel = lower->stage * parts + part;
        lower->previous_channel = before * parts + part;
        lower->channel = first_channel;
        add_program(lower);
    }
}

void lower_plan(const Plan *plan, uint32_t pool_index, const Arch *arch, Phase phase,
                uint32_t steps, Schedule *out) {
    assert(pool_index < plan->pool_count && steps > 0);
    const Pool *pool = &plan->pools[pool_index];
    bool decode = phase == PHASE_DECODE;
    schedule_init(out, decode ? "decode" : "prefill", pool_ranks(pool));
    Lower lower = {.pool = pool, .arch = arch, .phase = phase, .schedule = out};
    lower.routing = routing_of(pool, arch);
    lower.token_ways = lower.routing == LOWER_LOCAL ? 1 : pool->tp;
    add_roles(&lower, decode ? steps * pool->micro_batches : steps);
    lower.channel = pool->pp * parts_of_stage(pool, arch); // those below are the pipeline's
    for (lower.stage = 0; lower.stage < pool->pp; lower.stage++) add_stage(&lower);
    schedule_finish(out);
}
