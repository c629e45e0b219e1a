// DeepSeek-V4: one wide head of keys and values, kept for a window and beyond it in compressed
// entries; several residual streams; experts picked by a table of token ids in the first layers.
//
// Invariant: rows only; no code. Source: tensor names, types and shapes of
// deepseek-ai/DeepSeek-V4-Flash and V4-Pro. A layer of ratio 4 compresses overlapping pairs of
// entries (twice the width) and has an indexer; layers of ratio 128 and of the window only have
// none.
#include "model/moe/family_rows.h"

static const FieldRow attention_fields[] = {
    {.dim = DIM_HEADS, .paths = "num_attention_heads", .min = 1},
    {.dim = DIM_KV_HEADS, .paths = "num_key_value_heads", .min = 1, .max = 1},
    {.dim = DIM_HEAD_DIM, .paths = "head_dim", .min = 1},
    {.dim = DIM_Q_LORA, .paths = "q_lora_rank", .min = 1},
    {.dim = DIM_O_LORA, .paths = "o_lora_rank", .min = 1},
    {.dim = DIM_O_GROUPS, .paths = "o_groups", .min = 1},
    {.dim = DIM_ROPE, .paths = "qk_rope_head_dim"},
    {.dim = DIM_WINDOW, .paths = "sliding_window", .min = 1},
    {.dim = DIM_INDEX_HEADS, .paths = "index_n_heads", .min = 1},
    {.dim = DIM_INDEX_DIM, .paths = "index_head_dim", .min = 1},
    {.dim = DIM_INDEX_TOP_K, .paths = "index_topk", .min = 1},
    {.dim = DIM_STREAMS, .paths = "hc_mult", .min = 1},
};
static const DimRule attention_rules[] = {
    {DIM_Q_WIDTH, DIM_PRODUCT, DIM_HEADS, DIM_HEAD_DIM, DIM_NONE, 0},
    {DIM_O_GROUP_IN, DIM_SHARE, DIM_Q_WIDTH, DIM_O_GROUPS, DIM_NONE, 0},
    {DIM_O_GROUP_OUT, DIM_PRODUCT, DIM_O_GROUPS, DIM_O_LORA, DIM_NONE, 0},
    {DIM_INDEX_WIDTH, DIM_PRODUCT, DIM_INDEX_HEADS, DIM_INDEX_DIM, DIM_NONE, 0},
    {DIM_INDEX_PAIR, DIM_PRODUCT, DIM_INDEX_DIM, DIM_NONE, DIM_NONE, 2},
    {DIM_ENTRY_PAIR, DIM_PRODUCT, DIM_HEAD_DIM, DIM_NONE, DIM_NONE, 2},
    {DIM_RATIO_SMALL, DIM_PRODUCT, DIM_ONE, DIM_NONE, DIM_NONE, 4},
    {DIM_RATIO_LARGE, DIM_PRODUCT, DIM_ONE, DIM_NONE, DIM_NONE, 128},
    {DIM_STREAM_WIDTH, DIM_PRODUCT, DIM_STREAMS, DIM_HIDDEN, DIM_NONE, 0},
    {DIM_STREAM_PLUS, DIM_SUM, DIM_STREAMS, DIM_ONE, DIM_ONE, 0},
    {DIM_STREAM_MIX, DIM_PRODUCT, DIM_STREAM_PLUS, DIM_STREAMS, DIM_NONE, 0},
    {DIM_THREE, DIM_SUM, DIM_ONE, DIM_ONE, DIM_ONE, 0},
};
static const DimCheck attention_checks[] = {{DIM_Q_WIDTH, DIM_MULTIPLE_OF, DIM_O_GROUPS}};
static const InertKey attention_inert[] = {
    {"attention_bias", "false|null"}, {"compress_rope_theta", NULL}, {"hc_eps", NULL},
    {"hc_sinkhorn_iters", NULL},      {"swiglu_limit", NULL},
};

#define ATTENTION .component = COMPONENT_ATTENTION
#define WHOLE     ATTENTION, .shard = SHARD_REPLICATED
#define INDEX     WHOLE, .use = TENSOR_INDEX
#define TABLES    WHOLE, .use = TENSOR_TABLE
#define PLAIN     .store = STORE_PLAIN
#define F32       .store = STORE_F32
#define NORM      .component = COMPONENT_NORM, .shard = SHARD_REPLICATED

static const TensorRow window_tensors[] = {
    {.name = "attn.attn_sink", ATTENTION, .shard = SHARD_COLUMN, F32, .dims = {DIM_HEADS}},
    {.name = "attn.wq_a.weight", WHOLE, .dims = {DIM_Q_LORA, DIM_HIDDEN}},
    {.name = "attn.q_norm.weight", WHOLE, PLAIN, .dims = {DIM_Q_LORA}},
    {.name = "attn.wq_b.weight",
     ATTENTION,
     .shard = SHARD_COLUMN,
     .unit = DIM_HEAD_DIM,
     .dims = {DIM_Q_WIDTH, DIM_Q_LORA}},
    {.name = "attn.wkv.weight", WHOLE, .dims = {DIM_HEAD_DIM, DIM_HIDDEN}},
    {.name = "attn.kv_norm.weight", WHOLE, PLAIN, .dims = {DIM_HEAD_DIM}},
    {.name = "attn.wo_a.weight",
     WHOLE,
     .use = TENSOR_GROUPED,
     .dims = {DIM_O_GROUP_OUT, DIM_O_GROUP_IN}},
    {.name = "attn.wo_b.weight",
     ATTENTION,
     .shard = SHARD_ROW,
     .dims = {DIM_HIDDEN, DIM_O_GROUP_OUT}},
    {.name = "attn_norm.weight", NORM, PLAIN, .dims = {DIM_HIDDEN}},
    {.name = "ffn_norm.weight", NORM, PLAIN, .dims = {DIM_HIDDEN}},
    {.name = "hc_attn_fn", NORM, F32, .dims = {DIM_STREAM_MIX, DIM_STREAM_WIDTH}},
    {.name = "hc_attn_base", NORM, F32, .dims = {DIM_STREAM_MIX}},
    {.name = "hc_attn_scale", NORM, F32, .dims = {DIM_THREE}},
    {.name = "hc_ffn_fn", NORM, F32, .dims = {DIM_STREAM_MIX, DIM_STREAM_WIDTH}},
    {.name = "hc_ffn_base", NORM, F32, .dims = {DIM_STREAM_MIX}},
    {.name = "hc_ffn_scale", NORM, F32, .dims = {DIM_THREE}},
};
static const TensorRow large_tensors[] = {
    {.name = "attn.compressor.ape", TABLES, F32, .dims = {DIM_RATIO_LARGE, DIM_HEAD_DIM}},
    {.name = "attn.compressor.wkv.weight", WHOLE, PLAIN, .dims = {DIM_HEAD_DIM, DIM_HIDDEN}},
    {.name = "attn.compressor.wgate.weight", WHOLE, PLAIN, .dims = {DIM_HEAD_DIM, DIM_HIDDEN}},
    {.name = "attn.compressor.norm.weight", WHOLE, PLAIN, .dims = {DIM_HEAD_DIM}},
};
static const TensorRow small_tensors[] = {
    {.name = "attn.compressor.ape", TABLES, F32, .dims = {DIM_RATIO_SMALL, DIM_ENTRY_PAIR}},
    {.name = "attn.compressor.wkv.weight", WHOLE, PLAIN, .dims = {DIM_ENTRY_PAIR, DIM_HIDDEN}},
    {.name = "attn.compressor.wgate.weight", WHOLE, PLAIN, .dims = {DIM_ENTRY_PAIR, DIM_HIDDEN}},
    {.name = "attn.compressor.norm.weight", WHOLE, PLAIN, .dims = {DIM_HEAD_DIM}},
    {.name = "attn.indexer.wq_b.weight", INDEX, .dims = {DIM_INDEX_WIDTH, DIM_Q_LORA}},
    {.name = "attn.indexer.weights_proj.weight",
     INDEX,
     PLAIN,
     .dims = {DIM_INDEX_HEADS, DIM_HIDDEN}},
    {.name = "attn.indexer.compressor.ape", TABLES, F32, .dims = {DIM_RATIO_SMALL, DIM_INDEX_PAIR}},
    {.name = "attn.indexer.compressor.wkv.weight",
     INDEX,
     PLAIN,
     .dims = {DIM_INDEX_PAIR, DIM_HIDDEN}},
    {.name = "attn.indexer.compressor.wgate.weight",
     INDEX,
     PLAIN,
     .dims = {DIM_INDEX_PAIR, DIM_HIDDEN}},
    {.name = "attn.indexer.compressor.norm.weight", WHOLE, PLAIN, .dims = {DIM_INDEX_DIM}},
};

#define SPEC                                                                                       \
    .kind = ATTENTION_COMPRESSED, .heads = DIM_HEADS, .kv_heads = DIM_KV_HEADS,                    \
    .head_dim = DIM_HEAD_DIM, .value_dim = DIM_HEAD_DIM, .q_lora = DIM_Q_LORA, .rope = DIM_ROPE,   \
    .window = DIM_WINDOW, .kv_elements = DIM_HEAD_DIM

static const Part window_part = {.scope = PART_ATTENTION,
                                 .name = "window",
                                 FIELDS(attention),
                                 RULES(attention),
                                 CHECKS(attention),
                                 INERT(attention),
                                 TENSORS(window),
                                 .attention = {SPEC}};
static const Part large_part = {
    .scope = PART_ATTENTION,
    .name = "compressed 128",
    .base = &window_part,
    TENSORS(large),
    .attention = {SPEC, .ratio = DIM_RATIO_LARGE, .entry_elements = DIM_HEAD_DIM}};
static const Part small_part = {
    .scope = PART_ATTENTION,
    .name = "compressed 4",
    .base = &window_part,
    TENSORS(small),
    .attention = {SPEC, .ratio = DIM_RATIO_SMALL, .entry_elements = DIM_HEAD_DIM,
                  .index_heads = DIM_INDEX_HEADS, .index_dim = DIM_INDEX_DIM,
                  .index_top_k = DIM_INDEX_TOP_K, .index_elements = DIM_INDEX_DIM}};

// ---- Experts.

static const FieldRow moe_fields[] = {
    {.dim = DIM_EXPERTS, .paths = "n_routed_experts", .min = 1, .max = 1 << 20},
    {.dim = DIM_TOP_K, .paths = "num_experts_per_tok", .min = 1},
    {.dim = DIM_EXPERT_WIDTH, .paths = "moe_intermediate_size", .min = 1},
    {.dim = DIM_SHARED_EXPERTS,
     .paths = "n_shared_experts",
     .need = FIELD_OPTIONAL,
     .max = 1 << 16},
    {.dim = DIM_HASH_LAYERS, .paths = "num_hash_layers", .need = FIELD_OPTIONAL},
};
static const DimRule moe_rules[] = {
    {DIM_SHARED_WIDTH, DIM_PRODUCT, DIM_SHARED_EXPERTS, DIM_EXPERT_WIDTH, DIM_NONE, 0},
};
static const DimCheck moe_checks[] = {
    {DIM_TOP_K, DIM_AT_MOST, DIM_EXPERTS},
    {DIM_HASH_LAYERS, DIM_AT_MOST, DIM_LAYERS},
};
static const InertKey moe_inert[] = {
    {"topk_method", "noaux_tc"},
    {"norm_topk_prob", NULL},
    {"routed_scaling_factor", NULL},
    {"scoring_func", NULL},
};
#define ROUTER        .component = COMPONENT_ROUTER, .shard = SHARD_REPLICATED
#define EXPERT(which) "ffn.experts.{E}." which ".weight"
#define ROUTED(rule, out, in)                                                                      \
    .component = COMPONENT_ROUTED, .shard = rule, .repeat = DIM_EXPERTS, .dims = {out, in}
#define SHARED(rule, out, in)                                                                      \
    .component = COMPONENT_SHARED, .shard = rule, .when = DIM_SHARED_EXPERTS, .dims = {out, in}
#define EXPERT_ROWS                                                                                \
    {.name = "ffn.gate.weight", ROUTER, PLAIN, .dims = {DIM_EXPERTS, DIM_HIDDEN}},                 \
        {.name = EXPERT("w1"), ROUTED(SHARD_EXPERT_COLUMN, DIM_EXPERT_WIDTH, DIM_HIDDEN)},         \
        {.name = EXPERT("w2"), ROUTED(SHARD_EXPERT_ROW, DIM_HIDDEN, DIM_EXPERT_WIDTH)},            \
        {.name = EXPERT("w3"), ROUTED(SHARD_EXPERT_COLUMN, DIM_EXPERT_WIDTH, DIM_HIDDEN)},         \
        {.name = "ffn.shared_experts.w1.weight",                                                   \
         SHARED(SHARD_COLUMN, DIM_SHARED_WIDTH, DIM_HIDDEN)},                                      \
        {.name = "ffn.shared_experts.w2.weight", SHARED(SHARD_ROW, DIM_HIDDEN, DIM_SHARED_WIDTH)}, \
    {                                                                                              \
        .name = "ffn.shared_experts.w3.weight", SHARED(SHARD_COLUMN, DIM_SHARED_WIDTH, DIM_HIDDEN) \
    }
static const TensorRow moe_tensors[] = {
    {.name = "ffn.gate.bias", ROUTER, F32, .dims = {DIM_EXPERTS}},
    EXPERT_ROWS,
};
static const TensorRow hash_tensors[] = {
    {.name = "ffn.gate.tid2eid",
     ROUTER,
     .store = STORE_I64,
     .is_buffer = true,
     .dims = {DIM_VOCAB, DIM_TOP_K}},
    EXPERT_ROWS,
};
#define MOE_SPEC                                                                                   \
    {                                                                                              \
        .experts = DIM_EXPERTS, .top_k = DIM_TOP_K, .groups = DIM_ONE, .top_groups = DIM_ONE,      \
        .width = DIM_EXPERT_WIDTH, .shared_width = DIM_SHARED_WIDTH                                \
    }
static const Part moe_part = {.scope = PART_MLP,
                              .name = "moe",
                              FIELDS(moe),
                              RULES(moe),
                              CHECKS(moe),
                              INERT(moe),
                              TENSORS(moe),
                              .mlp = MOE_SPEC};
static const Part hash_part = {
    .scope = PART_MLP, .name = "hash-routed moe", TENSORS(hash), .mlp = MOE_SPEC};

// ---- The rest.

#define TABLE .shard = SHARD_VOCAB, PLAIN, .dims = {DIM_VOCAB, DIM_HIDDEN}
#define HEAD_MIX                                                                                   \
    {.name = "hc_head_fn", NORM, F32, .dims = {DIM_STREAMS, DIM_STREAM_WIDTH}},                    \
        {.name = "hc_head_base", NORM, F32, .dims = {DIM_STREAMS}}, {                              \
        .name = "hc_head_scale", NORM, F32, .dims = { DIM_ONE }                                    \
    }
static const TensorRow model_tensors[] = {
    {.name = "embed.weight", .component = COMPONENT_EMBEDDING, TABLE},
    {.name = "head.weight", .component = COMPONENT_HEAD, TABLE, .unless = DIM_TIED},
    {.name = "norm.weight", NORM, PLAIN, .dims = {DIM_HIDDEN}},
    HEAD_MIX,
};
static const Part model_part = {.scope = PART_MODEL, .name = "tables", TENSORS(model)};

static const FieldRow draft_fields[] = {
    {.dim = DIM_MTP_LAYERS, .paths = "num_nextn_predict_layers", .need = FIELD_OPTIONAL, .max = 64},
};
static const TensorRow draft_tensors[] = {
    {.name = "e_proj.weight", .shard = SHARD_REPLICATED, .dims = {DIM_HIDDEN, DIM_HIDDEN}},
    {.name = "h_proj.weight", .shard = SHARD_REPLICATED, .dims = {DIM_HIDDEN, DIM_HIDDEN}},
    {.name = "enorm.weight", NORM, PLAIN, .dims = {DIM_HIDDEN}},
    {.name = "hnorm.weight", NORM, PLAIN, .dims = {DIM_HIDDEN}},
    {.name = "norm.weight", NORM, PLAIN, .dims = {DIM_HIDDEN}},
    HEAD_MIX,
};
static const Part draft_part = {.scope = PART_MTP, .name = "mtp", FIELDS(draft), TENSORS(draft)};

#define RATIO(which, value)                                                                        \
    { .part = &(which), .kind = PATTERN_FLAGS, .path = "compress_ratios", .base = (value) }

static const Family families[] = {
    {.model_types = "deepseek_v4",
     .prefix = "",
     .layer_prefix = "layers.{L}.",
     .mtp_prefix = "mtp.{D}.",
     .fp8_scale_type = "F8_E8M0",
     .scale_suffix = ".scale",
     .parts = {&parts_model_fields, &model_part, &window_part, &large_part, &small_part, &moe_part,
               &hash_part, &draft_part},
     .pattern = {RATIO(window_part, 0),
                 RATIO(small_part, 4),
                 RATIO(large_part, 128),
                 ALL(moe_part),
                 {.part = &hash_part,
                  .kind = PATTERN_BELOW,
                  .mode = PATTERN_OVERRIDE,
                  .dim = DIM_HASH_LAYERS}},
     .mtp_parts = {&window_part, &moe_part}},
};

const FamilyGroup family_deepseek_v4 = {families, COUNT(families)};
