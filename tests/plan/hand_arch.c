// Tables of tensors, checked against nothing but the arithmetic in the tests.
#include "tests/plan/hand_arch.h"

#define MAIN UINT32_MAX // not in the layers
#define MOST 64

static void begin(Arch *arch, const char *name, uint32_t hidden, uint32_t vocab, uint32_t layers) {
    *arch = (Arch){.name = name,
                   .family = "by hand",
                   .hidden = hidden,
                   .vocab = vocab,
                   .layers = layers,
                   .max_context = 131072,
                   .dtype = NUMFMT_BF16,
                   .expert_format = NUMFMT_BF16,
                   .dense_format = NUMFMT_BF16};
    arch->tensors = arena_alloc(&arch->arena, MOST, sizeof *arch->tensors);
    arch->attentions = arena_alloc(&arch->arena, 2, sizeof *arch->attentions);
    arch->mlps = arena_alloc(&arch->arena, 2, sizeof *arch->mlps);
    arch->kinds = arena_alloc(&arch->arena, 4, sizeof *arch->kinds);
    arch->kind_of_layer = arena_alloc(&arch->arena, layers, sizeof *arch->kind_of_layer);
}

static void add_kind(Arch *arch, uint32_t attention, uint32_t mlp) {
    arch->kinds[arch->kind_count++] = (LayerKind){.attention = attention, .mlp = mlp};
}

static void set_layer(Arch *arch, uint32_t layer, uint32_t kind) {
    arch->kind_of_layer[layer] = kind;
    arch->kinds[kind].count++;
}

// How a row is cut, and in which unit.
typedef struct Rule {
    Component component;
    ShardRule shard;
    uint32_t unit, bits, kind, per_layer;
} Rule;

static void add(Arch *arch, const char *pattern, Rule rule, uint32_t rows, uint32_t columns) {
    uint64_t elements = (uint64_t)rows * (columns > 0 ? columns : 1);
    bool cuts_columns = rule.shard == SHARD_ROW || rule.shard == SHARD_EXPERT_ROW;
    arch->tensors[arch->tensor_count++] = (TensorClass){.pattern = pattern,
                                                        .component = rule.component,
                                                        .shard = rule.shard,
                                                        .type = "",
                                                        .element_bits = rule.bits,
                                                        .dims = {rows, columns},
                                                        .dim_count = columns > 0 ? 2 : 1,
                                                        .axis = cuts_columns,
                                                        .unit = rule.unit,
                                                        .layer_kind = rule.kind,
                                                        .per_layer = rule.per_layer,
                                                        .parameters = elements,
                                                        .bytes = elements * rule.bits / 8};
}

static void add_tables(Arch *arch) {
    Rule table = {COMPONENT_EMBEDDING, SHARD_VOCAB, 1, 16, MAIN, 1};
    add(arch, "embed_tokens", table, arch->vocab, arch->hidden);
    table.component = COMPONENT_HEAD;
    add(arch, "lm_head", table, arch->vocab, arch->hidden);
    add(arch, "norm", (Rule){COMPONENT_NORM, SHARD_REPLICATED, 1, 16, MAIN, 1}, arch->hidden, 0);
}

static Rule attention(ShardRule shard, uint32_t unit, uint32_t bits, uint32_t kind) {
    return (Rule){COMPONENT_ATTENTION, shard, unit, bits, kind, 1};
}

void hand_arch_qwen3_30b(Arch *out) {
    begin(out, "qwen3-30b-a3b", 2048, 151936, 48);
    out->attentions[out->attention_count++] = (AttentionSpec){.kind = ATTENTION_GQA,
                                                              .heads = 32,
                                                              .kv_heads = 4,
                                                              .head_dim = 128,
                                                              .value_dim = 128,
                                                              .kv_elements_per_token = 2 * 4 * 128};
    out->mlps[out->mlp_count++] = (MlpSpec){.experts = 128, .top_k = 8, .groups = 1, .width = 768};
    add_kind(out, 0, 0);
    for (uint32_t i = 0; i < out->layers; i++) set_layer(out, i, 0);
    add_tables(out);
    add(out, "q_proj", attention(SHARD_COLUMN, 128, 16, 0), 4096, 2048);
    add(out, "k_proj", attention(SHARD_KV, 128, 16, 0), 512, 2048);
    add(out, "v_proj", attention(SHARD_KV, 128, 16, 0), 512, 2048);
    add(out, "o_proj", attention(SHARD_ROW, 128, 16, 0), 2048, 4096);
    add(out, "q_norm", attention(SHARD_REPLICATED, 1, 16, 0), 128, 0);
    add(out, "k_norm", attention(SHARD_REPLICATED, 1, 16, 0), 128, 0);
    add(out, "norms", (Rule){COMPONENT_NORM, SHARD_REPLICATED, 1, 16, 0, 2}, 2048, 0);
    add(out, "gate", (Rule){COMPONENT_ROUTER, SHARD_REPLICATED, 1, 16, 0, 1}, 128, 2048);
    Rule in = {COMPONENT_ROUTED, SHARD_EXPERT_COLUMN, 1, 16, 0, 128};
    Rule back = {COMPONENT_ROUTED, SHARD_EXPERT_ROW, 1, 16, 0, 128};
    add(out, "experts.{E}.gate_proj", in, 768, 2048);
    add(out, "experts.{E}.up_proj", in, 768, 2048);
    add(out, "experts.{E}.down_proj", back, 2048, 768);
}

static void add_mla(Arch *arch, uint32_t kind, uint32_t heads, uint32_t bits, uint32_t unit) {
    add(arch, "q_a_proj", attention(SHARD_REPLICATED, 1, bits, kind), 1536, arch->hidden);
    add(arch, "q_b_proj", attention(SHARD_COLUMN, 192 * unit, bits, kind), heads * 192, 1536);
    add(arch, "kv_a_proj", attention(SHARD_REPLICATED, 1, bits, kind), 576, arch->hidden);
    add(arch, "kv_b_proj", attention(SHARD_COLUMN, 256, bits, kind), heads * 256, 512);
    add(arch, "o_proj", attention(SHARD_ROW, 128, bits, kind), arch->hidden, heads * 128);
}

static AttentionSpec mla(uint32_t heads) {
    return (AttentionSpec){.kind = ATTENTION_MLA,
                           .heads = heads,
                           .kv_heads = heads,
                           .head_dim = 192,
                           .value_dim = 128,
                           .q_lora = 1536,
                           .kv_lora = 512,
                           .rope = 64,
                           .kv_elements_per_token = 576};
}

void hand_arch_deepseek_v3(Arch *out) {
    begin(out, "deepseek-v3", 7168, 129280, 61);
    out->expert_format = out->dense_format = NUMFMT_FP8;
    out->attentions[out->attention_count++] = mla(128);
    out->mlps[out->mlp_count++] = (MlpSpec){.width = 18432};
    out->mlps[out->mlp_count++] =
        (MlpSpec){.experts = 256, .top_k = 8, .groups = 8, .width = 2048, .shared_width = 2048};
    add_kind(out, 0, 0);
    add_kind(out, 0, 1);
    for (uint32_t i = 0; i < out->layers; i++) set_layer(out, i, i >= 3);
    add_tables(out);
    for (uint32_t kind = 0; kind < 2; kind++) add_mla(out, kind, 128, 8, 2);
    Rule in = {COMPONENT_DENSE, SHARD_COLUMN, 128, 8, 0, 1};
    Rule back = {COMPONENT_DENSE, SHARD_ROW, 128, 8, 0, 1};
    add(out, "mlp.gate_proj", in, 18432, 7168);
    add(out, "mlp.up_proj", in, 18432, 7168);
    add(out, "mlp.down_proj", back, 7168, 18432);
    add(out, "gate", (Rule){COMPONENT_ROUTER, SHARD_REPLICATED, 1, 16, 1, 1}, 256, 7168);
    in = (Rule){COMPONENT_SHARED, SHARD_COLUMN, 128, 8, 1, 1};
    back = (Rule){COMPONENT_SHARED, SHARD_ROW, 128, 8, 1, 1};
    add(out, "shared.gate_proj", in, 2048, 7168);
    add(out, "shared.up_proj", in, 2048, 7168);
    add(out, "shared.down_proj", back, 7168, 2048);
    in = (Rule){COMPONENT_ROUTED, SHARD_EXPERT_COLUMN, 128, 8, 1, 256};
    back = (Rule){COMPONENT_ROUTED, SHARD_EXPERT_ROW, 128, 8, 1, 256};
    add(out, "experts.{E}.gate_proj", in, 2048, 7168);
    add(out, "experts.{E}.up_proj", in, 2048, 7168);
    add(out, "experts.{E}.down_proj", back, 7168, 2048);
}

static void add_kimi_mlp(Arch *arch, uint32_t kind) {
    Rule shared_in = {COMPONENT_SHARED, SHARD_COLUMN, 1, 16, kind, 2};
    Rule shared_out = {COMPONENT_SHARED, SHARD_ROW, 1, 16, kind, 1};
    add(arch, "gate", (Rule){COMPONENT_ROUTER, SHARD_REPLICATED, 1, 16, kind, 1}, 896, 7168);
    add(arch, "latent_down", (Rule){COMPONENT_LATENT, SHARD_REPLICATED, 1, 16, kind, 1}, 3584,
        7168);
    add(arch, "latent_up", (Rule){COMPONENT_LATENT, SHARD_REPLICATED, 1, 16, kind, 1}, 7168, 3584);
    add(arch, "shared_in", shared_in, 6144, 7168);
    add(arch, "shared_out", shared_out, 7168, 6144);
    // two weights in a byte, one scale byte for 32 of them
    Rule in = {COMPONENT_ROUTED, SHARD_EXPERT_COLUMN, 1, 8, kind, 896};
    Rule back = {COMPONENT_ROUTED, SHARD_EXPERT_ROW, 16, 8, kind, 896};
    add(arch, "experts.{E}.w1", in, 3072, 1792);
    add(arch, "experts.{E}.w3", in, 3072, 1792);
    add(arch, "experts.{E}.w2", back, 3584, 1536);
    in.unit = back.unit = 1;
    add(arch, "experts.{E}.w1_scale", in, 3072, 112);
    add(arch, "experts.{E}.w3_scale", in, 3072, 112);
    add(arch, "experts.{E}.w2_scale", back, 3584, 96);
    for (uint32_t i = arch->tensor_count - 3; i < arch->tensor_count; i++)
        arch->tensors[i].is_scale = true;
}

void hand_arch_kimi_small(Arch *out) {
    begin(out, "kimi-small", 7168, 163840, 8);
    out->expert_format = NUMFMT_FP4;
    out->attentions[out->attention_count++] =
        (AttentionSpec){.kind = ATTENTION_KDA,
                        .heads = 96,
                        .kv_heads = 96,
                        .head_dim = 128,
                        .value_dim = 128,
                        .conv = 4,
                        .state_B_per_sequence = 96 * 128 * 128 * 4 + 3 * 12288 * 3 * 2};
    out->attentions[out->attention_count++] = mla(96);
    out->mlps[out->mlp_count++] = (MlpSpec){.experts = 896,
                                            .top_k = 16,
                                            .groups = 1,
                                            .width = 3072,
                                            .shared_width = 6144,
                                            .latent = 3584};
    add_kind(out, 0, 0);
    add_kind(out, 1, 0);
    for (uint32_t i = 0; i < out->layers; i++) set_layer(out, i, i % 4 == 3);
    add_tables(out);
    add(out, "kda_in", attention(SHARD_COLUMN, 128, 16, 0), 4 * 12288, 7168);
    add(out, "kda_out", attention(SHARD_ROW, 128, 16, 0), 7168, 12288);
    add(out, "b_proj", attention(SHARD_COLUMN, 1, 16, 0), 96, 7168);
    add_mla(out, 1, 96, 16, 1);
    for (uint32_t kind = 0; kind < 2; kind++) add_kimi_mlp(out, kind);
}
