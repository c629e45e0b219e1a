// Small models by hand: hidden 8, 4 heads of 4, 2 KV heads, expert width 16, 5 layers.
#include "tests/plan/hand_small.h"

#define MAIN   UINT32_MAX
#define HIDDEN 8
#define HEADS  4
#define KV     2
#define HEAD   4
#define WIDTH  16
#define VOCAB  70 // padded to 128
#define MOST   32

void (*const hand_small_all[HAND_SMALL_COUNT])(Arch *) = {hand_small_apart, hand_small_interleaved,
                                                          hand_small_transposed, hand_small_fused,
                                                          hand_small_stacked};

static void begin(Arch *arch, const char *name, uint32_t experts) {
    *arch = (Arch){.name = name, .hidden = HIDDEN, .vocab = VOCAB, .layers = 5};
    arch->tensors = arena_alloc(&arch->arena, MOST, sizeof *arch->tensors);
    arch->attentions = arena_alloc(&arch->arena, 1, sizeof *arch->attentions);
    arch->mlps = arena_alloc(&arch->arena, 2, sizeof *arch->mlps);
    arch->kinds = arena_alloc(&arch->arena, 2, sizeof *arch->kinds);
    arch->kind_of_layer = arena_alloc(&arch->arena, arch->layers, sizeof *arch->kind_of_layer);
    arch->attentions[arch->attention_count++] = (AttentionSpec){
        .kind = ATTENTION_GQA, .per_layer = 1, .heads = HEADS, .kv_heads = KV, .head_dim = HEAD};
    arch->mlps[arch->mlp_count++] =
        (MlpSpec){.experts = experts, .top_k = 2, .groups = 1, .width = WIDTH};
    arch->kinds[arch->kind_count++] = (LayerKind){.count = arch->layers};
}

// `like` has pattern, component, rule, axis, unit, layer_kind and the fused parts.
static void add(Arch *arch, TensorClass like, const char *type, uint32_t bits, uint32_t dim_count,
                const uint32_t *dims) {
    uint64_t elements = 1;
    like.type = type;
    like.element_bits = bits;
    like.dim_count = dim_count;
    for (uint32_t i = 0; i < dim_count; i++) elements *= like.dims[i] = dims[i];
    if (like.unit == 0) like.unit = 1;
    if (like.per_layer == 0) like.per_layer = 1;
    like.parameters = like.is_scale ? 0 : elements;
    like.bytes = elements * bits / 8;
    uint64_t layers = like.layer_kind == MAIN ? 1 : arch->kinds[like.layer_kind].count;
    arch->totals.tensors += layers * like.per_layer;
    arch->tensors[arch->tensor_count++] = like;
}

#define DIMS(...)                                                                                  \
    sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), (const uint32_t[]) {               \
        __VA_ARGS__                                                                                \
    }

static TensorClass row(const char *pattern, Component component, ShardRule shard, uint32_t axis,
                       uint32_t unit) {
    return (TensorClass){
        .pattern = pattern, .component = component, .shard = shard, .axis = axis, .unit = unit};
}

static void add_embedding(Arch *arch) {
    TensorClass table = row("embed.weight", COMPONENT_EMBEDDING, SHARD_VOCAB, 0, 1);
    table.layer_kind = MAIN;
    add(arch, table, "BF16", 16, DIMS(VOCAB, HIDDEN));
}

static void add_end(Arch *arch) {
    TensorClass table = row("head.weight", COMPONENT_HEAD, SHARD_VOCAB, 0, 1);
    TensorClass norm = row("norm.weight", COMPONENT_NORM, SHARD_REPLICATED, 0, 1);
    table.layer_kind = norm.layer_kind = MAIN;
    if (!arch->tied_embeddings) add(arch, table, "BF16", 16, DIMS(VOCAB, HIDDEN));
    add(arch, norm, "BF16", 16, DIMS(HIDDEN));
}

// q, k, v, o, a norm over all KV heads (which is replicated with them), and the router.
static void add_attention(Arch *arch, uint32_t experts) {
    Component attention = COMPONENT_ATTENTION;
    add(arch, row("layers.{L}.q.weight", attention, SHARD_COLUMN, 0, HEAD), "BF16", 16,
        DIMS(HEADS * HEAD, HIDDEN));
    add(arch, row("layers.{L}.k.weight", attention, SHARD_KV, 0, HEAD), "BF16", 16,
        DIMS(KV * HEAD, HIDDEN));
    add(arch, row("layers.{L}.v.weight", attention, SHARD_KV, 0, HEAD), "BF16", 16,
        DIMS(KV * HEAD, HIDDEN));
    add(arch, row("layers.{L}.k_norm.weight", attention, SHARD_KV, 0, HEAD), "F32", 32,
        DIMS(KV * HEAD));
    add(arch, row("layers.{L}.o.weight", attention, SHARD_ROW, 1, HEAD), "BF16", 16,
        DIMS(HIDDEN, HEADS * HEAD));
    add(arch, row("layers.{L}.gate.weight", COMPONENT_ROUTER, SHARD_REPLICATED, 0, 1), "BF16", 16,
        DIMS(experts, HIDDEN));
}

static void add_apart(Arch *arch, const char *pattern, ShardRule shard, uint32_t rows,
                      uint32_t columns, const char *scale_pattern) {
    uint32_t axis = shard == SHARD_EXPERT_ROW || shard == SHARD_ROW;
    bool routed = shard == SHARD_EXPERT_ROW || shard == SHARD_EXPERT_COLUMN;
    TensorClass codes = row(pattern, routed ? COMPONENT_ROUTED : COMPONENT_DENSE, shard, axis, 4);
    codes.layer_kind = routed;
    codes.per_layer = routed ? 7 : 1;
    TensorClass scales = codes;
    scales.pattern = scale_pattern;
    scales.unit = 1;
    scales.is_scale = true;
    add(arch, codes, "F8_E4M3", 8, DIMS(rows, columns));
    add(arch, scales, "F32", 32, DIMS(rows / 4, columns / 4));
}

void hand_small_apart(Arch *out) {
    begin(out, "apart", 7);
    out->mlps[out->mlp_count++] = out->mlps[0];
    out->mlps[0] = (MlpSpec){.width = 2 * WIDTH};
    out->kinds[0] = (LayerKind){.mlp = 0, .count = 1};
    out->kinds[out->kind_count++] = (LayerKind){.mlp = 1, .count = 4};
    for (uint32_t i = 1; i < out->layers; i++) out->kind_of_layer[i] = 1;
    out->tied_embeddings = true;
    add_embedding(out);
    for (uint32_t kind = 0; kind < 2; kind++) {
        uint32_t first = out->tensor_count;
        add_attention(out, 7);
        for (uint32_t i = first; i < out->tensor_count; i++) {
            out->totals.tensors += out->kinds[kind].count - out->kinds[0].count;
            out->tensors[i].layer_kind = kind;
        }
    }
    add_apart(out, "layers.{L}.up.weight", SHARD_COLUMN, 2 * WIDTH, HIDDEN, "layers.{L}.up.scale");
    add_apart(out, "layers.{L}.down.weight", SHARD_ROW, HIDDEN, 2 * WIDTH, "layers.{L}.down.scale");
    add_apart(out, "layers.{L}.experts.{E}.w1.weight", SHARD_EXPERT_COLUMN, WIDTH, HIDDEN,
              "layers.{L}.experts.{E}.w1.scale");
    add_apart(out, "layers.{L}.experts.{E}.w2.weight", SHARD_EXPERT_ROW, HIDDEN, WIDTH,
              "layers.{L}.experts.{E}.w2.scale");
    TensorClass whole =
        row("layers.{L}.experts.{E}.w2.input_scale", COMPONENT_ROUTED, SHARD_EXPERT_WHOLE, 0, 1);
    whole.layer_kind = 1;
    whole.per_layer = 7;
    whole.is_scale = true;
    add(out, whole, "F32", 32, 0, NULL);
    add_end(out);
}

static TensorClass fused(const char *pattern, ShardRule shard, uint32_t axis, uint32_t unit,
                         uint32_t experts) {
    TensorClass tensor = row(pattern, COMPONENT_ROUTED, shard, axis, unit);
    tensor.fused_experts = experts;
    return tensor;
}

static TensorClass halves(TensorClass tensor) {
    tensor.segments[0] = tensor.segments[1] = (TensorSegment){.extent = WIDTH, .unit = 1};
    tensor.segment_count = 2;
    return tensor;
}

void hand_small_interleaved(Arch *out) {
    begin(out, "interleaved", 6);
    add_embedding(out);
    add_attention(out, 6);
    TensorClass up = halves(fused("layers.{L}.gate_up_blocks", SHARD_EXPERT_COLUMN, 1, 1, 6));
    up.interleaved = true;
    add(out, up, "U8", 8, DIMS(6, 2 * WIDTH, HIDDEN / 4, 2));
    up.pattern = "layers.{L}.gate_up_scales";
    up.is_scale = true;
    add(out, up, "U8", 8, DIMS(6, 2 * WIDTH, HIDDEN / 4));
    up.pattern = "layers.{L}.gate_up_bias";
    up.is_scale = false;
    add(out, up, "BF16", 16, DIMS(6, 2 * WIDTH));
    TensorClass down = fused("layers.{L}.down_blocks", SHARD_EXPERT_ROW, 2, 1, 6);
    add(out, down, "U8", 8, DIMS(6, HIDDEN, WIDTH / 4, 2));
    down.pattern = "layers.{L}.down_scales";
    down.is_scale = true;
    add(out, down, "U8", 8, DIMS(6, HIDDEN, WIDTH / 4));
    add(out, fused("layers.{L}.down_bias", SHARD_EXPERT_WHOLE, 0, 1, 6), "BF16", 16,
        DIMS(6, HIDDEN));
    add_end(out);
}

void hand_small_transposed(Arch *out) {
    begin(out, "transposed", 5);
    add_embedding(out);
    add_attention(out, 5);
    TensorClass up = fused("layers.{L}.gate_up", SHARD_EXPERT_COLUMN, 2, 1, 5);
    add(out, halves(up), "BF16", 16, DIMS(5, HIDDEN, 2 * WIDTH));
    add(out, fused("layers.{L}.down", SHARD_EXPERT_ROW, 1, 1, 5), "BF16", 16,
        DIMS(5, WIDTH, HIDDEN));
    add_end(out);
}

void hand_small_fused(Arch *out) {
    begin(out, "fused", 4);
    add_embedding(out);
    TensorClass qkv = row("layers.{L}.qkv.weight", COMPONENT_ATTENTION, SHARD_COLUMN, 0, HEAD);
    qkv.segments[0] = (TensorSegment){HEADS * HEAD, false, HEAD};
    qkv.segments[1] = qkv.segments[2] = (TensorSegment){KV * HEAD, true, HEAD};
    qkv.segment_count = 3;
    add(out, qkv, "BF16", 16, DIMS((HEADS + 2 * KV) * HEAD, HIDDEN));
    add(out, row("layers.{L}.o.weight", COMPONENT_ATTENTION, SHARD_ROW, 1, HEAD), "BF16", 16,
        DIMS(HIDDEN, HEADS * HEAD));
    add(out, row("layers.{L}.gate.weight", COMPONENT_ROUTER, SHARD_REPLICATED, 0, 1), "BF16", 16,
        DIMS(4, HIDDEN));
    TensorClass up = fused("layers.{L}.gate_up", SHARD_EXPERT_COLUMN, 1, 1, 4);
    add(out, halves(up), "BF16", 16, DIMS(4, 2 * WIDTH, HIDDEN));
    add(out, fused("layers.{L}.down", SHARD_EXPERT_ROW, 2, 1, 4), "BF16", 16,
        DIMS(4, HIDDEN, WIDTH));
    add_end(out);
}

void hand_small_stacked(Arch *out) {
    begin(out, "stacked", 4);
    add_embedding(out);
    add_attention(out, 4);
    add(out, fused("layers.{L}.w1", SHARD_EXPERT_COLUMN, 0, 4, 4), "BF16", 16,
        DIMS(4 * WIDTH, HIDDEN));
    add(out, fused("layers.{L}.w2", SHARD_EXPERT_COLUMN, 0, 4, 4), "BF16", 16,
        DIMS(4 * WIDTH, HIDDEN));
    add_end(out);
    TensorClass draft = row("mtp.{E}.weight", COMPONENT_MTP, SHARD_COLUMN, 0, 1);
    TensorClass tower = row("vision.{B}.weight", COMPONENT_VISION, SHARD_REPLICATED, 0, 1);
    draft.layer_kind = tower.layer_kind = MAIN;
    draft.per_layer = 3;
    tower.per_layer = 2;
    add(out, draft, "BF16", 16, DIMS(HIDDEN, HIDDEN));
    add(out, tower, "BF16", 16, DIMS(HIDDEN, HIDDEN));
}
