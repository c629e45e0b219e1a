// Lowers a plan to a schedule: roles, groups, and the program of each role.
//
// T tokens of a DP rank, t = ceil(T / ways) of this rank outside attention (ways: tp when experts
// are reached by all-to-all or gather, else 1), S sequences, C cached tokens, P pairs (token, token
// attended to); h hidden, H heads / tp, E experts, k chosen (that compute something), w width that
// experts see (latent or h), f expert width / moe_tp, r residual streams. E counts redundant
// experts too, but for the router. [..] stands only in some plans or models.
//
//   block    operation               work
//   embed    [receive tokens]        4 T bytes, lag micro_batches (decode, pp > 1)
//            embedding               T rows of h; [sum over tp]
//            input norm              t x h; [gather over tp]
//   receive  receive, input norm     t x h, and the block outputs so far
//   all      [stream mix]            t x (2 + r) r x r h, before attention and before feed-forward
//   gqa      qkv                     T x (H d + K d + K dv) x h, [T x H d x shared queries]
//            [norm sums, over tp]    (H + K) d of T, 2 f32: norms over all heads at once
//            rope and cache          writes K (d + dv) per token
//            [index top k]           HI (2 di + 2) P flop, di C elements; then P <= T top k
//            attention               2 H (d + dv) P flop, K (d + dv) C cache elements, P and C of
//                                    at most a window
//            [gate]                  one pass over the heads
//   mla      latents (q and kv)      T x (q_lora + kv_lora + rope) x h, whole on every rank
//            q_b                     T x H (nope + rope) x q_lora
//     decode q absorb, v absorb      H products T x kv_lora x nope, T x v x kv_lora
//            attention               2 H (2 kv_lora + rope) P flop, (kv_lora + rope) C elements
//    prefill kv_b                    C x H (nope + v) x kv_lora
//            attention               2 H (nope + rope + v) P flop
//            [gate]                  T x H v x h, and one pass over the heads
//            with an indexer, index top k, and both phases as decode: P <= T top k, and in decode
//            C <= S top k
//   compressed: latents, q, [index top k] as mla
//            attention               4 H d (T window + P / ratio) flop, P / ratio <= T [top k]
//            o_a, for each group     T x o_lora x (heads of a group) d
//   kda      qkvg, f_a b, f_b        T x 4 H d x h, T x (d + H) x h, T x H d x d
//            convolution             three short filters, tails per sequence
//     decode step                    7 H d d T flop, state 2 x 4 H d d S bytes
//    prefill chunks of 64            H (6 d d + 3 x 64 d + 64 x 64) T flop, the same state
//            norm and gate           one pass over the heads
//   gated delta, lightning, mamba: in, [convolution], step or chunks, gate as kda (lower_state.c)
//            [x, sum over tp, dt]    T x (dt + 2 n) x channels, T x channels x dt (mamba-1)
//            [norm sums, over tp]    1 f32, in front of the gate (lightning)
//   context  [dcp: query gather,     T x dcp H d, 4 T x dcp H dcp, T x dcp H dv over dcp ranks, in
//            lse gather, correct,    front of and behind attention to C / dcp; picks: T top k; mla
//            in head reduce]            prefill: cache gather, C (kv_lora + rope), instead of the
//            three [cp: kv gather,         cp T x K (d + dv), or cp T x (kv_lora + rope), in
//            prefill kv cache]
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
//
// Two batches: A and B, halves of the tokens. A layer with experts is
//
//   compute  attend A | end B of the layer before | attend B | experts A | experts B | end A
//   comm     dispatch A, dispatch B, combine A, combine B
//
// so that dispatch A lies beside attend B, dispatch B beside experts A, combine A beside experts B
// and combine B beside attend A of the next layer, in whose block B therefore ends. What it ends
// with lives for the step, and there is a block for each (kind before, kind) that occurs. A layer
// without experts leaves nothing open. Head and sampling see all tokens again.
#include "model/plan/lower.h"

#include <assert.h>
#include <stdio.h>

#include "model/base/mem.h"
#include "model/plan/lower_internal.h"
#include "model/plan/lower_moe.h"

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
             mlp->experts > 0 ? "moe"
             : mlp->width > 0 ? "dense"
                              : "none");
}

static LowerResults add_dense(Lower *lower, BufferId normed) {
    uint64_t hidden_B = lower_hidden_B(lower);
    BufferId all = lower_spread(lower, "mlp_all_gather", normed, hidden_B);
    BufferId partial = lower_gated(lower, COMPONENT_DENSE, all, SCHEDULE_NONE);
    LowerResults results = {.count = 1, .wait = SCHEDULE_NONE};
    results.buffers[0] = lower_reduce(lower, "mlp_reduce", partial, SCHEDULE_NONE);
    return results;
}

// What a layer leaves: the normed tokens that the next one reads.
static void end_layer(Lower *lower, const LowerResults *results) {
    lower_next(lower, "attention_norm", results);
}

static bool has_experts(const Lower *lower, uint32_t kind) {
    return lower->arch->mlps[lower->arch->kinds[kind].mlp].experts > 0;
}

static bool has_attention(const Lower *lower, uint32_t kind) {
    uint32_t attention = lower->arch->kinds[kind].attention;
    return lower->arch->attentions[attention].kind != ATTENTION_NONE;
}

// One block of layers: their kind, the kind before them whose second batch ends in it, or
// SCHEDULE_NONE, and whether a layer without attention follows; and what brings its own second
// batch back.
typedef struct LayerBlock {
    uint32_t kind, before;
    bool next_shares;
    BlockId block;
    OpId returns;
} LayerBlock;

// Waits of an end, from `first` on in the schedule's, for what all blocks of a kind send back.
typedef struct LateWaits {
    uint32_t first, kind;
} LateWaits;

// The layers of a stage: its blocks, and by kind what a second batch leaves open.
typedef struct Layers {
    Arena arena;
    LayerBlock *blocks;
    uint32_t block_count, block_capacity;
    LateWaits *late; // by block, and one more
    uint32_t late_count;
    LowerRouted *open; // [kinds]
    LowerKept *kept;   // [kinds]
} Layers;

static uint32_t blocks_of_kind(const Layers *layers, uint32_t kind) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < layers->block_count; i++) count += layers->blocks[i].kind == kind;
    return count;
}

// Ends the second batch of the layer before, which was of this kind.
static void end_open(Lower *lower, Layers *layers, uint32_t kind) {
    if (kind == SCHEDULE_NONE) return;
    LowerRouted *routed = &layers->open[kind];
    lower_enter_batch(lower, 1);
    lower->kind = kind;
    routed->late_waits = blocks_of_kind(layers, kind);
    lower->layers_back = 1;
    LowerResults results = lower_moe_finish(lower, routed);
    layers->late[layers->late_count++] = (LateWaits){routed->first_late, kind};
    end_layer(lower, &results);
    lower->layers_back = 0;
}

static void fill_late_waits(const Lower *lower, const Layers *layers) {
    for (uint32_t i = 0; i < layers->late_count; i++) {
        uint32_t at = layers->late[i].first;
        for (uint32_t b = 0; b < layers->block_count; b++)
            if (layers->blocks[b].kind == layers->late[i].kind)
                lower->schedule->waits[at++] = layers->blocks[b].returns;
    }
}

static LowerResults attend(Lower *lower) {
    LowerResults attended = {.count = 1, .wait = SCHEDULE_NONE};
    lower_mix_streams(lower, 0);
    BufferId partial = lower_attention(lower);
    attended.buffers[0] = lower_reduce(lower, "attention_reduce", partial, SCHEDULE_NONE);
    return attended;
}

// What the feed-forward part of the layer reads, or SCHEDULE_NONE where it has none and the layer
// is done.
static BufferId add_attention(Lower *lower) {
    const LayerKind *kind = &lower->arch->kinds[lower->kind];
    const MlpSpec *mlp = &lower->arch->mlps[kind->mlp];
    if (!has_attention(lower, lower->kind))
        return lower->token_ways > 1 ? lower->share : lower->hidden;
    LowerResults attended = attend(lower);
    if (mlp->experts == 0 && mlp->width == 0) {
        end_layer(lower, &attended);
        return SCHEDULE_NONE;
    }
    BufferId normed = lower_norm(lower, "mlp_norm", &attended);
    lower_mix_streams(lower, 1);
    return normed;
}

static void add_layer(Lower *lower, Layers *layers, LayerBlock *added) {
    char name[NAME_MAX_B];
    bool routes = has_experts(lower, added->kind);
    BufferId normed[LOWER_BATCHES_MAX] = {0};
    LowerRouted routed[LOWER_BATCHES_MAX] = {0};
    lower->kind = added->kind;
    describe_kind(lower, name, sizeof name);
    added->block = schedule_add_block(lower->schedule, lower->role, name);
    for (uint32_t batch = 0; batch < lower->batches; batch++) {
        lower->next_shares = !has_attention(lower, added->kind);
        if (batch > 0) end_open(lower, layers, added->before);
        lower->next_shares = added->next_shares;
        lower_enter_batch(lower, batch);
        lower->kind = added->kind;
        normed[batch] = add_attention(lower);
        LowerKept *kept = batch > 0 ? &layers->kept[added->kind] : NULL;
        if (routes) lower_moe_send(lower, normed[batch], kept, &routed[batch]);
    }
    for (uint32_t batch = 0; batch < lower->batches; batch++) {
        lower_enter_batch(lower, batch);
        if (routes) {
            lower_moe_compute(lower, &routed[batch]);
            continue;
        }
        if (normed[batch] == SCHEDULE_NONE) continue;
        LowerResults results = add_dense(lower, normed[batch]);
        end_layer(lower, &results);
    }
    if (!routes) return;
    lower_enter_batch(lower, 0);
    LowerResults results = lower_moe_finish(lower, &routed[0]);
    end_layer(lower, &results);
    layers->open[added->kind] = routed[lower->batches - 1];
    added->returns = routed[lower->batches - 1].returns[0];
}

// The number that layer `layer` has among the layers with experts, as Loads count them.
static uint32_t moe_layer_of(const Arch *arch, uint32_t layer) {
    uint32_t number = 0;
    for (uint32_t i = 0; i < layer; i++) {
        number += arch->mlps[arch->kinds[arch->kind_of_layer[i]].mlp].experts > 0;
    }
    return number;
}

// The kind of a layer of the stage when its second batch ends in the layer after it.
static uint32_t open_before(const Lower *lower, uint32_t first, uint32_t layer) {
    if (lower->batches == 1 || layer == first) return SCHEDULE_NONE;
    uint32_t kind = lower->arch->kind_of_layer[layer - 1];
    return has_experts(lower, kind) ? kind : SCHEDULE_NONE;
}

// The block that a layer of the stage needs. A stage ends with all tokens.
static LayerBlock describe_block(const Lower *lower, uint32_t first, uint32_t layer) {
    uint32_t end, count, next = layer + 1;
    pool_stage_layers(lower->pool, lower->arch->layers, lower->stage, &end, &count);
    end += count;
    bool shares = lower->token_ways > 1 && next < end &&
                  !has_attention(lower, lower->arch->kind_of_layer[next]);
    return (LayerBlock){.kind = lower->arch->kind_of_layer[layer],
                        .before = open_before(lower, first, layer),
                        .next_shares = shares,
                        .block = SCHEDULE_NONE,
                        .returns = SCHEDULE_NONE};
}

static LayerBlock *block_of_layer(const Lower *lower, const Layers *layers, uint32_t first,
                                  uint32_t layer) {
    LayerBlock wanted = describe_block(lower, first, layer);
    for (uint32_t i = 0; i < layers->block_count; i++) {
        LayerBlock *block = &layers->blocks[i];
        if (block->kind == wanted.kind && block->before == wanted.before &&
            block->next_shares == wanted.next_shares)
            return block;
    }
    return NULL;
}

static void list_blocks(const Lower *lower, uint32_t first, uint32_t count, Layers *layers) {
    for (uint32_t layer = first; layer < first + count; layer++) {
        if (block_of_layer(lower, layers, first, layer) != NULL) continue;
        layers->blocks = mem_grow(layers->blocks, &layers->block_capacity, layers->block_count + 1,
                                  sizeof *layers->blocks);
        layers->blocks[layers->block_count++] = describe_block(lower, first, layer);
    }
}

static Layers open_layers(const Lower *lower, uint32_t first, uint32_t count) {
    Layers layers = {0};
    uint32_t kinds = lower->arch->kind_count;
    list_blocks(lower, first, count, &layers);
    layers.late = arena_alloc(&layers.arena, layers.block_count + 1, sizeof *layers.late);
    layers.open = arena_alloc(&layers.arena, kinds, sizeof *layers.open);
    layers.kept = arena_alloc(&layers.arena, kinds, sizeof *layers.kept);
    for (uint32_t kind = 0; kind < kinds; kind++)
        layers.kept[kind] = (LowerKept){SCHEDULE_NONE, SCHEDULE_NONE, SCHEDULE_NONE};
    return layers;
}

static void close_layers(Layers *layers) {
    mem_free(layers->blocks);
    arena_free(&layers->arena);
}

// In order of their first layer.
static void add_layer_blocks(Lower *lower, uint32_t first, uint32_t count, Layers *layers) {
    for (uint32_t layer = first; layer < first + count; layer++) {
        LayerBlock *block = block_of_layer(lower, layers, first, layer);
        if (block->block != SCHEDULE_NONE) continue;
        lower->moe_layer = moe_layer_of(lower->arch, layer);
        add_layer(lower, layers, block);
    }
}

static void add_layer_segments(Lower *lower, uint32_t first, uint32_t count, const Layers *layers) {
    for (uint32_t layer = first; layer < first + count;) {
        const LayerBlock *block = block_of_layer(lower, layers, first, layer);
        uint32_t run = 1;
        while (layer + run < first + count &&
               block_of_layer(lower, layers, first, layer + run) == block)
            run++;
        schedule_add_segment(lower->schedule, lower->role, block->block, run);
        layer += run;
    }
}

static BlockId add_last_block(Lower *lower, uint32_t end, Layers *layers) {
    bool is_last = lower->stage == lower->pool->pp - 1;
    BlockId block = schedule_add_block(lower->schedule, lower->role, is_last ? "head" : "send");
    lower->next_shares = false;
    end_open(lower, layers, open_before(lower, SCHEDULE_NONE, end));
    fill_late_waits(lower, layers);
    lower_last_ops(lower);
    return block;
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

static bool needs_shares(const Lower *lower) {
    bool needs = false;
    for (uint32_t kind = 0; kind < lower->arch->kind_count; kind++)
        needs = needs || !has_attention(lower, kind);
    return needs && lower->token_ways > 1;
}

static void add_batches(Lower *lower) {
    uint64_t hidden_B = lower_hidden_B(lower);
    for (uint32_t batch = 0; batch < lower->batches; batch++) {
        lower_enter_batch(lower, batch);
        lower->hiddens[batch] = lower_step_buffer(lower, "hidden", lower_all(hidden_B));
        lower->shares[batch] = SCHEDULE_NONE;
        if (needs_shares(lower))
            lower->shares[batch] =
                lower_step_buffer(lower, "own_tokens", lower_room(lower, hidden_B));
        lower->residuals[batch] = lower_step_buffer(
            lower, "residual",
            lower_room(lower, (lower->streams + lower->earlier_count) * hidden_B));
    }
}

static void add_program(Lower *lower) {
    uint32_t first, count;
    pool_stage_layers(lower->pool, lower->arch->layers, lower->stage, &first, &count);
    lower_enter_whole(lower);
    lower->token_ids = lower_step_buffer(lower, "token_ids", (Extent){.per_token = 4});
    size_earlier(lower, first, count);
    add_batches(lower);
    Layers layers = open_layers(lower, first, count);
    lower->next_shares =
        needs_shares(lower) && !has_attention(lower, lower->arch->kind_of_layer[first]);
    BlockId begin = lower_first_block(lower);
    add_layer_blocks(lower, first, count, &layers);
    BlockId end = add_last_block(lower, first + count, &layers);
    schedule_add_segment(lower->schedule, lower->role, begin, 1);
    add_layer_segments(lower, first, count, &layers);
    schedule_add_segment(lower->schedule, lower->role, end, 1);
    close_layers(&layers);
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
        uint32_t longer = pool_slots(pool, arch->mlps[i].experts) % pool->ep;
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
    uint32_t first, held;
    pool_experts(pool, pool_slots(pool, arch_most_experts(arch)), position, &first, &held);
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
    lower->dcp_group = lower->cp_group = SCHEDULE_NONE;
    if (pool->tp > 1) lower->tp_group = add_family(lower, "tp", pool->tp, 1);
    if (pool->dcp > 1) lower->dcp_group = add_family(lower, "dcp", pool->dcp, 1);
    if (pool->cp > 1 && lower->phase == PHASE_PREFILL)
        lower->cp_group = add_family(lower, "cp", pool->cp, pool->tp);
    if (lower->routing == LOWER_GATHER)
        lower->stage_group = add_family(lower, "stage", pool_stage_ranks(pool), 1);
    if (lower->routing != LOWER_ALL_TO_ALL) return;
    lower->ep_group = add_family(lower, "ep", pool->ep, pool->moe_tp);
    if (pool->moe_tp > 1) lower->cut_group = add_family(lower, "expert cuts", pool->moe_tp, 1);
}

// ---- The plan.

LowerRouting lower_routing(const Pool *pool, const Arch *arch) {
    if (arch_most_experts(arch) == 0 || pool->moe_comm == MOE_COMM_NONE) return LOWER_LOCAL;
    return pool->moe_comm == MOE_COMM_ALL_TO_ALL && pool->ep > 1 ? LOWER_ALL_TO_ALL : LOWER_GATHER;
}

// Transfers from stage s to s + 1 of batch b of part p of their ranks have channel
// (s * parts + p) * batches + b.
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
        lower->pipeline_channel = (lower->stage * parts + part) * lower->batches;
        lower->previous_channel = (before * parts + part) * lower->batches;
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
    lower.streams = lower_streams(arch);
    lower.act_format = arch->dtype == NUMFMT_F32 ? NUMFMT_F32 : NUMFMT_BF16;
    lower.act_B = numfmt_bytes(lower.act_format, 1);
    lower.overlap = decode ? pool->decode_overlap : pool->prefill_overlap;
    lower.routing = lower_routing(pool, arch);
    lower.token_ways = lower.routing == LOWER_LOCAL ? 1 : pool->tp;
    bool halves = lower.routing == LOWER_ALL_TO_ALL && lower.overlap == OVERLAP_TWO_BATCH;
    lower.batches = halves ? 2 : 1;
    add_roles(&lower, decode ? steps * pool->micro_batches : steps);
    // those below are the pipeline's
    lower.channel = pool->pp * parts_of_stage(pool, arch) * lower.batches;
    for (lower.stage = 0; lower.stage < pool->pp; lower.stage++) add_stage(&lower);
    schedule_finish(out);
}

Digest lower_digest(const Plan *plan, Phase phase) {
    Plan seen = *plan;
    for (uint32_t i = 0; i < plan->pool_count; i++) {
        Pool *pool = &seen.pools[i];
        switch (phase) {
        case PHASE_PREFILL:
            pool->decode_overlap = pool->prefill_overlap;
            pool->decode_sms = 0;
            break;
        case PHASE_DECODE:
            pool->prefill_overlap = pool->decode_overlap;
            pool->prefill_sms = 0;
            break;
        }
    }
    return plan_digest(&seen);
}
