// Attention as tables: grouped-query, latent (MLA) and Kimi delta attention (KDA).
//
// Invariant: rows only; no code. The order of rows is the order of the tensors in outputs.
// Sources: the tensor names and shapes of the released checkpoints (deepseek-ai/DeepSeek-V3,
// moonshotai/Kimi-K3, Qwen/Qwen3); DeepSeek-V2, arXiv:2405.04434, section 2.1 for MLA; Kimi Linear,
// arXiv:2510.26692, section 3 for KDA.
#include "model/moe/parts_attention.h"

#define COUNT(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))

static const FieldRow gqa_fields[] = {
    {.dim = DIM_HEADS, .paths = "num_attention_heads", .min = 1},
    {.dim = DIM_KV_HEADS,
     .need = FIELD_OPTIONAL,
     .paths = "num_key_value_heads",
     .min = 1,
     .fallback_dim = DIM_HEADS},
    {.dim = DIM_HEAD_DIM, .paths = "head_dim", .need = FIELD_OPTIONAL, .min = 1},
    {.dim = DIM_QK_NORM,
     .paths = "use_qk_norm",
     .need = FIELD_OPTIONAL,
     .kind = FIELD_FLAG,
     .fallback_dim = DIM_QK_NORM}, // what the family presets
};
static const DimRule gqa_rules[] = {
    {DIM_HEAD_DEFAULT, DIM_SHARE, DIM_HIDDEN, DIM_HEADS, DIM_NONE, 0},
    {DIM_HEAD_DIM, DIM_FIRST, DIM_HEAD_DIM, DIM_HEAD_DEFAULT, DIM_NONE, 0},
    {DIM_Q_WIDTH, DIM_PRODUCT, DIM_HEADS, DIM_HEAD_DIM, DIM_NONE, 0},
    {DIM_KV_WIDTH, DIM_PRODUCT, DIM_KV_HEADS, DIM_HEAD_DIM, DIM_NONE, 0},
    {DIM_KV_CACHE, DIM_PRODUCT, DIM_KV_WIDTH, DIM_NONE, DIM_NONE, 2},
};
static const DimCheck gqa_checks[] = {
    {DIM_HEADS, DIM_MULTIPLE_OF, DIM_KV_HEADS},
    {DIM_HEAD_DIM, DIM_NOT_ZERO, DIM_NONE},
};
static const InertKey gqa_inert[] = {
    {"attention_bias", "false|null"}, // true would bias the output projection too
    {"qkv_bias", "false|null"},
};

#define QUERY .component = COMPONENT_ATTENTION, .shard = SHARD_COLUMN, .unit = DIM_HEAD_DIM
#define KEYS  .component = COMPONENT_ATTENTION, .shard = SHARD_KV, .unit = DIM_HEAD_DIM
#define WHOLE .component = COMPONENT_ATTENTION, .shard = SHARD_REPLICATED

static const TensorRow gqa_tensors[] = {
    {.name = "self_attn.q_proj.weight", QUERY, .dims = {DIM_Q_WIDTH, DIM_HIDDEN}},
    {.name = "self_attn.k_proj.weight", KEYS, .dims = {DIM_KV_WIDTH, DIM_HIDDEN}},
    {.name = "self_attn.v_proj.weight", KEYS, .dims = {DIM_KV_WIDTH, DIM_HIDDEN}},
    {.name = "self_attn.q_proj.bias",
     QUERY,
     .store = STORE_PLAIN,
     .dims = {DIM_Q_WIDTH},
     .when = DIM_QKV_BIAS},
    {.name = "self_attn.k_proj.bias",
     KEYS,
     .store = STORE_PLAIN,
     .dims = {DIM_KV_WIDTH},
     .when = DIM_QKV_BIAS},
    {.name = "self_attn.v_proj.bias",
     KEYS,
     .store = STORE_PLAIN,
     .dims = {DIM_KV_WIDTH},
     .when = DIM_QKV_BIAS},
    {.name = "self_attn.o_proj.weight",
     .component = COMPONENT_ATTENTION,
     .shard = SHARD_ROW,
     .unit = DIM_HEAD_DIM,
     .dims = {DIM_HIDDEN, DIM_Q_WIDTH}},
    {.name = "self_attn.q_norm.weight",
     WHOLE,
     .store = STORE_PLAIN,
     .dims = {DIM_HEAD_DIM},
     .when = DIM_QK_NORM},
    {.name = "self_attn.k_norm.weight",
     WHOLE,
     .store = STORE_PLAIN,
     .dims = {DIM_HEAD_DIM},
     .when = DIM_QK_NORM},
};

const Part parts_attention_gqa = {
    .scope = PART_ATTENTION,
    .name = "gqa",
    .fields = gqa_fields,
    .field_count = COUNT(gqa_fields),
    .rules = gqa_rules,
    .rule_count = COUNT(gqa_rules),
    .checks = gqa_checks,
    .check_count = COUNT(gqa_checks),
    .inert = gqa_inert,
    .inert_count = COUNT(gqa_inert),
    .tensors = gqa_tensors,
    .tensor_count = COUNT(gqa_tensors),
    .attention = {.kind = ATTENTION_GQA,
                  .heads = DIM_HEADS,
                  .kv_heads = DIM_KV_HEADS,
                  .head_dim = DIM_HEAD_DIM,
                  .value_dim = DIM_HEAD_DIM,
                  .kv_elements = DIM_KV_CACHE},
};

// GLM says in its config what other families take for granted.
static const FieldRow glm_fields[] = {
    {.dim = DIM_QKV_BIAS, .paths = "attention_bias", .need = FIELD_OPTIONAL, .kind = FIELD_FLAG},
};

const Part parts_attention_glm_flags = {
    .scope = PART_MODEL,
    .name = "attention flags",
    .fields = glm_fields,
    .field_count = COUNT(glm_fields),
};

// The packed cache entry is the one of DeepSeek's FP8 kernels: the latent in FP8 with one F32 scale
// per 128, the rope part in BF16 (512 + 16 + 128 = 656 B; FlashMLA README, "FP8 KV cache").
static const FieldRow mla_fields[] = {
    {.dim = DIM_HEADS, .paths = "num_attention_heads", .min = 1},
    {.dim = DIM_Q_LORA, .paths = "q_lora_rank", .need = FIELD_OPTIONAL},
    {.dim = DIM_KV_LORA, .paths = "kv_lora_rank", .min = 1},
    {.dim = DIM_NOPE, .paths = "qk_nope_head_dim", .min = 1},
    {.dim = DIM_ROPE, .paths = "qk_rope_head_dim"},
    {.dim = DIM_V_DIM, .paths = "v_head_dim", .min = 1},
    {.dim = DIM_MLA_GATE,
     .paths = "mla_use_output_gate",
     .need = FIELD_OPTIONAL,
     .kind = FIELD_FLAG},
};
static const DimRule mla_rules[] = {
    {DIM_QK_DIM, DIM_SUM, DIM_NOPE, DIM_ROPE, DIM_NONE, 0},
    {DIM_MLA_Q_WIDTH, DIM_PRODUCT, DIM_HEADS, DIM_QK_DIM, DIM_NONE, 0},
    {DIM_MLA_LATENT, DIM_SUM, DIM_KV_LORA, DIM_ROPE, DIM_NONE, 0},
    {DIM_MLA_UP_DIM, DIM_SUM, DIM_NOPE, DIM_V_DIM, DIM_NONE, 0},
    {DIM_MLA_UP_WIDTH, DIM_PRODUCT, DIM_HEADS, DIM_MLA_UP_DIM, DIM_NONE, 0},
    {DIM_MLA_OUT, DIM_PRODUCT, DIM_HEADS, DIM_V_DIM, DIM_NONE, 0},
    {DIM_MLA_SCALES, DIM_PARTS, DIM_KV_LORA, DIM_NONE, DIM_NONE, 128},
    {DIM_MLA_SCALE_B, DIM_PRODUCT, DIM_MLA_SCALES, DIM_NONE, DIM_NONE, 4},
    {DIM_MLA_ROPE_B, DIM_PRODUCT, DIM_ROPE, DIM_NONE, DIM_NONE, 2},
    {DIM_MLA_PACKED_B, DIM_SUM, DIM_KV_LORA, DIM_MLA_SCALE_B, DIM_MLA_ROPE_B, 0},
};
static const InertKey mla_inert[] = {
    {"num_key_value_heads", NULL}, // the latent is shared by all heads
    {"head_dim", NULL},            // the three widths above say it
    {"attention_bias", "false|null"},
    {"qkv_bias", "false|null"},
    {"mla_use_nope", NULL}, // rotation or not: same shapes
};
static const TensorRow mla_tensors[] = {
    {.name = "self_attn.q_proj.weight",
     .component = COMPONENT_ATTENTION,
     .shard = SHARD_COLUMN,
     .unit = DIM_QK_DIM,
     .dims = {DIM_MLA_Q_WIDTH, DIM_HIDDEN},
     .unless = DIM_Q_LORA},
    {.name = "self_attn.q_a_proj.weight",
     WHOLE,
     .dims = {DIM_Q_LORA, DIM_HIDDEN},
     .when = DIM_Q_LORA},
    {.name = "self_attn.q_a_layernorm.weight",
     WHOLE,
     .store = STORE_PLAIN,
     .dims = {DIM_Q_LORA},
     .when = DIM_Q_LORA},
    {.name = "self_attn.q_b_proj.weight",
     .component = COMPONENT_ATTENTION,
     .shard = SHARD_COLUMN,
     .unit = DIM_QK_DIM,
     .dims = {DIM_MLA_Q_WIDTH, DIM_Q_LORA},
     .when = DIM_Q_LORA},
    {.name = "self_attn.kv_a_proj_with_mqa.weight", WHOLE, .dims = {DIM_MLA_LATENT, DIM_HIDDEN}},
    {.name = "self_attn.kv_a_layernorm.weight", WHOLE, .store = STORE_PLAIN, .dims = {DIM_KV_LORA}},
    {.name = "self_attn.kv_b_proj.weight",
     .component = COMPONENT_ATTENTION,
     .shard = SHARD_COLUMN,
     .unit = DIM_MLA_UP_DIM,
     .dims = {DIM_MLA_UP_WIDTH, DIM_KV_LORA}},
    {.name = "self_attn.g_proj.weight",
     .component = COMPONENT_ATTENTION,
     .shard = SHARD_COLUMN,
     .unit = DIM_V_DIM,
     .dims = {DIM_MLA_OUT, DIM_HIDDEN},
     .when = DIM_MLA_GATE},
    {.name = "self_attn.o_proj.weight",
     .component = COMPONENT_ATTENTION,
     .shard = SHARD_ROW,
     .unit = DIM_V_DIM,
     .dims = {DIM_HIDDEN, DIM_MLA_OUT}},
};

const Part parts_attention_mla = {
    .scope = PART_ATTENTION,
    .name = "mla",
    .fields = mla_fields,
    .field_count = COUNT(mla_fields),
    .rules = mla_rules,
    .rule_count = COUNT(mla_rules),
    .inert = mla_inert,
    .inert_count = COUNT(mla_inert),
    .tensors = mla_tensors,
    .tensor_count = COUNT(mla_tensors),
    .attention = {.kind = ATTENTION_MLA,
                  .heads = DIM_HEADS,
                  .kv_heads = DIM_HEADS,
                  .head_dim = DIM_QK_DIM,
                  .value_dim = DIM_V_DIM,
                  .q_lora = DIM_Q_LORA,
                  .kv_lora = DIM_KV_LORA,
                  .rope = DIM_ROPE,
                  .output_gate = DIM_MLA_GATE,
                  .kv_elements = DIM_MLA_LATENT,
                  .kv_packed_B = DIM_MLA_PACKED_B},
};

// DeepSeek sparse attention: MLA over the tokens that an indexer picks. Its key is cached too, in
// FP8 caches as 128 bytes and one F32 scale. Source: DeepSeek-V3.2, section 2, and its tensors.
static const FieldRow dsa_fields[] = {
    {.dim = DIM_INDEX_HEADS, .paths = "index_n_heads", .min = 1},
    {.dim = DIM_INDEX_DIM, .paths = "index_head_dim", .min = 1},
    {.dim = DIM_INDEX_TOP_K, .paths = "index_topk", .min = 1},
};
static const DimRule dsa_rules[] = {
    {DIM_INDEX_WIDTH, DIM_PRODUCT, DIM_INDEX_HEADS, DIM_INDEX_DIM, DIM_NONE, 0},
    {DIM_TWO, DIM_SUM, DIM_ONE, DIM_ONE, DIM_NONE, 0},
    {DIM_INDEX_PACKED_B, DIM_SUM, DIM_INDEX_DIM, DIM_TWO, DIM_TWO, 0},
};
static const DimCheck dsa_checks[] = {{DIM_Q_LORA, DIM_NOT_ZERO, DIM_NONE}};
static const InertKey dsa_inert[] = {
    {"indexer_rope_interleave", NULL},
    {"layer_types", NULL}, // this attention in all layers
    {"qk_head_dim", NULL}, // the two widths that make it are read
    {"index_share_for_mtp_iteration", NULL},
    {"index_skip_topk_offset", NULL}, // these three are spelt out in indexer_types
    {"index_topk_freq", NULL},
    {"index_topk_pattern", NULL},
    {"moe_router_dtype", NULL},
};

#define INDEXER WHOLE, .use = TENSOR_INDEX
static const TensorRow dsa_tensors[] = {
    {.name = "self_attn.indexer.wq_b.weight", INDEXER, .dims = {DIM_INDEX_WIDTH, DIM_Q_LORA}},
    {.name = "self_attn.indexer.wk.weight", INDEXER, .dims = {DIM_INDEX_DIM, DIM_HIDDEN}},
    {.name = "self_attn.indexer.k_norm.weight",
     INDEXER,
     .store = STORE_PLAIN,
     .dims = {DIM_INDEX_DIM}},
    {.name = "self_attn.indexer.k_norm.bias",
     INDEXER,
     .store = STORE_PLAIN,
     .dims = {DIM_INDEX_DIM}},
    {.name = "self_attn.indexer.weights_proj.weight",
     INDEXER,
     .store = STORE_PLAIN,
     .dims = {DIM_INDEX_HEADS, DIM_HIDDEN}},
};

#define MLA_WITH_INDEX                                                                             \
    .kind = ATTENTION_MLA, .heads = DIM_HEADS, .kv_heads = DIM_HEADS, .head_dim = DIM_QK_DIM,      \
    .value_dim = DIM_V_DIM, .q_lora = DIM_Q_LORA, .kv_lora = DIM_KV_LORA, .rope = DIM_ROPE,        \
    .output_gate = DIM_MLA_GATE, .kv_elements = DIM_MLA_LATENT, .kv_packed_B = DIM_MLA_PACKED_B,   \
    .index_top_k = DIM_INDEX_TOP_K

const Part parts_attention_dsa = {
    .scope = PART_ATTENTION,
    .name = "dsa",
    .base = &parts_attention_mla,
    .fields = dsa_fields,
    .field_count = COUNT(dsa_fields),
    .rules = dsa_rules,
    .rule_count = COUNT(dsa_rules),
    .checks = dsa_checks,
    .check_count = COUNT(dsa_checks),
    .inert = dsa_inert,
    .inert_count = COUNT(dsa_inert),
    .tensors = dsa_tensors,
    .tensor_count = COUNT(dsa_tensors),
    .attention = {MLA_WITH_INDEX, .index_heads = DIM_INDEX_HEADS, .index_dim = DIM_INDEX_DIM,
                  .index_elements = DIM_INDEX_DIM, .index_packed_B = DIM_INDEX_PACKED_B},
};

const Part parts_attention_dsa_shared = {
    .scope = PART_ATTENTION,
    .name = "dsa with shared picks",
    .base = &parts_attention_mla,
    .attention = {MLA_WITH_INDEX},
};

// State per sequence and layer: one head_dim x head_dim matrix per head in F32, and the last
// (kernel - 1) inputs of the three convolutions in BF16.
static const FieldRow kda_fields[] = {
    {.dim = DIM_KDA_HEADS, .paths = "linear_attn_config.num_heads", .min = 1},
    {.dim = DIM_KDA_DIM, .paths = "linear_attn_config.head_dim", .min = 1},
    {.dim = DIM_KDA_CONV, .paths = "linear_attn_config.short_conv_kernel_size", .min = 1},
    {.dim = DIM_KDA_FULL_GATE,
     .paths = "linear_attn_config.use_full_rank_gate",
     .need = FIELD_OPTIONAL,
     .kind = FIELD_FLAG},
};
static const DimRule kda_rules[] = {
    {DIM_KDA_WIDTH, DIM_PRODUCT, DIM_KDA_HEADS, DIM_KDA_DIM, DIM_NONE, 0},
    {DIM_KDA_LOG, DIM_ROUND_UP, DIM_KDA_HEADS, DIM_KDA_PAD, DIM_NONE, 0},
    {DIM_KDA_TAIL, DIM_LESS, DIM_KDA_CONV, DIM_NONE, DIM_NONE, 1},
    {DIM_KDA_MATRIX_B, DIM_PRODUCT, DIM_KDA_HEADS, DIM_KDA_DIM, DIM_KDA_DIM, 4},
    {DIM_KDA_TAIL_B, DIM_PRODUCT, DIM_KDA_WIDTH, DIM_KDA_TAIL, DIM_NONE, 3 * 2},
    {DIM_KDA_STATE_B, DIM_SUM, DIM_KDA_MATRIX_B, DIM_KDA_TAIL_B, DIM_NONE, 0},
};
static const InertKey kda_inert[] = {
    {"linear_attn_config.gate_lower_bound", NULL},
};

#define HEADED      .component = COMPONENT_ATTENTION, .shard = SHARD_COLUMN, .unit = DIM_KDA_DIM
#define CONVOLUTION HEADED, .store = STORE_F32, .dims = {DIM_KDA_WIDTH, DIM_ONE, DIM_KDA_CONV}

static const TensorRow kda_tensors[] = {
    {.name = "self_attn.q_proj.weight", HEADED, .dims = {DIM_KDA_WIDTH, DIM_HIDDEN}},
    {.name = "self_attn.k_proj.weight", HEADED, .dims = {DIM_KDA_WIDTH, DIM_HIDDEN}},
    {.name = "self_attn.v_proj.weight", HEADED, .dims = {DIM_KDA_WIDTH, DIM_HIDDEN}},
    {.name = "self_attn.q_conv1d.weight", CONVOLUTION},
    {.name = "self_attn.k_conv1d.weight", CONVOLUTION},
    {.name = "self_attn.v_conv1d.weight", CONVOLUTION},
    {.name = "self_attn.f_a_proj.weight", WHOLE, .dims = {DIM_KDA_DIM, DIM_HIDDEN}},
    {.name = "self_attn.f_b_proj.weight", HEADED, .dims = {DIM_KDA_WIDTH, DIM_KDA_DIM}},
    {.name = "self_attn.b_proj.weight",
     .component = COMPONENT_ATTENTION,
     .shard = SHARD_COLUMN,
     .use = TENSOR_GATE,
     .dims = {DIM_KDA_HEADS, DIM_HIDDEN}},
    // Stored padded beyond the heads in Kimi-K3, so that it has no even cut by heads: whole
    // everywhere.
    {.name = "self_attn.A_log",
     WHOLE,
     .store = STORE_F32,
     .dims = {DIM_KDA_LOG},
     .logical = DIM_KDA_HEADS},
    {.name = "self_attn.dt_bias", HEADED, .store = STORE_F32, .dims = {DIM_KDA_WIDTH}},
    {.name = "self_attn.g_proj.weight",
     HEADED,
     .dims = {DIM_KDA_WIDTH, DIM_HIDDEN},
     .when = DIM_KDA_FULL_GATE},
    {.name = "self_attn.g_a_proj.weight",
     WHOLE,
     .dims = {DIM_KDA_DIM, DIM_HIDDEN},
     .unless = DIM_KDA_FULL_GATE},
    {.name = "self_attn.g_b_proj.weight",
     HEADED,
     .use = TENSOR_GATE_UP,
     .dims = {DIM_KDA_WIDTH, DIM_KDA_DIM},
     .unless = DIM_KDA_FULL_GATE},
    {.name = "self_attn.o_norm.weight", WHOLE, .store = STORE_F32, .dims = {DIM_KDA_DIM}},
    {.name = "self_attn.o_proj.weight",
     .component = COMPONENT_ATTENTION,
     .shard = SHARD_ROW,
     .unit = DIM_KDA_DIM,
     .dims = {DIM_HIDDEN, DIM_KDA_WIDTH}},
};

const Part parts_attention_kda = {
    .scope = PART_ATTENTION,
    .name = "kda",
    .fields = kda_fields,
    .field_count = COUNT(kda_fields),
    .rules = kda_rules,
    .rule_count = COUNT(kda_rules),
    .inert = kda_inert,
    .inert_count = COUNT(kda_inert),
    .tensors = kda_tensors,
    .tensor_count = COUNT(kda_tensors),
    .attention = {.kind = ATTENTION_KDA,
                  .heads = DIM_KDA_HEADS,
                  .kv_heads = DIM_KDA_HEADS,
                  .head_dim = DIM_KDA_DIM,
                  .value_dim = DIM_KDA_DIM,
                  .conv = DIM_KDA_CONV,
                  .state_B = DIM_KDA_STATE_B},
};
