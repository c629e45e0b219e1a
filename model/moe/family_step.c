// Families of StepFun, Xiaomi's MiMo-V2 and Meituan's LongCat: hybrids of full and sliding
// attention, shared queries, two attentions in a layer.
//
// Invariant: rows only; no code. Sources: the configs and modelling code of stepfun-ai/step3,
// Step-3.5-Flash and Step-3.7-Flash, XiaomiMiMo/MiMo-V2-Flash, meituan-longcat/LongCat-Flash-Chat.
#include "model/moe/family_rows.h"
#include "model/moe/parts_open.h"

#define ATTENTION .component = COMPONENT_ATTENTION
#define WHOLE     ATTENTION, .shard = SHARD_REPLICATED
#define PLAIN     .store = STORE_PLAIN
#define TYPED(which, type)                                                                         \
    { .part = &(which), .kind = PATTERN_NAMES, .path = "layer_types", .text = (type) }
#define FLAGGED(which, where, flag)                                                                \
    { .part = &(which), .kind = PATTERN_FLAGS, .path = (where), .base = (flag) }

// ---- Multi-matrix factorisation attention of Step-3: queries through a shared projection, one
// head of keys and values.

static const FieldRow mfa_fields[] = {
    {.dim = DIM_HEADS, .paths = "num_attention_heads", .min = 1},
    {.dim = DIM_KV_HEADS, .paths = "num_attention_groups|num_key_value_heads", .min = 1},
    {.dim = DIM_HEAD_DIM, .paths = "head_dim", .min = 1},
    {.dim = DIM_SHARE_Q, .paths = "share_q_dim", .min = 1},
};
static const DimRule mfa_rules[] = {
    {DIM_Q_WIDTH, DIM_PRODUCT, DIM_HEADS, DIM_HEAD_DIM, DIM_NONE, 0},
    {DIM_KV_WIDTH, DIM_PRODUCT, DIM_KV_HEADS, DIM_HEAD_DIM, DIM_NONE, 0},
    {DIM_KV_CACHE, DIM_PRODUCT, DIM_KV_WIDTH, DIM_NONE, DIM_NONE, 2},
};
static const InertKey mfa_inert[] = {
    {"use_mfa", "true"},
    {"att_impl_type", NULL},
};
static const TensorRow mfa_tensors[] = {
    {.name = "self_attn.q_proj.weight", WHOLE, .dims = {DIM_SHARE_Q, DIM_HIDDEN}},
    {.name = "self_attn.inter_norm.weight", WHOLE, PLAIN, .dims = {DIM_SHARE_Q}},
    {.name = "self_attn.wq.weight", OPEN_QUERY, .dims = {DIM_Q_WIDTH, DIM_SHARE_Q}},
    {.name = "self_attn.k_proj.weight", OPEN_KEYS, .dims = {DIM_KV_WIDTH, DIM_HIDDEN}},
    {.name = "self_attn.v_proj.weight", OPEN_KEYS, .dims = {DIM_KV_WIDTH, DIM_HIDDEN}},
    {.name = "self_attn.o_proj.weight", OPEN_OUT},
};
static const Part mfa_part = {.scope = PART_ATTENTION,
                              .name = "mfa",
                              FIELDS(mfa),
                              RULES(mfa),
                              INERT(mfa),
                              TENSORS(mfa),
                              .attention = {OPEN_GQA, .q_lora = DIM_SHARE_Q}};

// ---- Experts of Step: stacked in one tensor for each of the three matrices.

static const FieldRow moe_fields[] = {
    {.dim = DIM_EXPERTS, .paths = "num_experts|moe_num_experts", .min = 1, .max = 1 << 20},
    {.dim = DIM_TOP_K, .paths = "num_experts_per_tok|moe_top_k", .min = 1},
    {.dim = DIM_EXPERT_WIDTH, .paths = "moe_intermediate_size", .min = 1},
    {.dim = DIM_SHARED_WIDTH_2, .paths = "share_expert_dim", .need = FIELD_OPTIONAL},
    {.dim = DIM_ROUTER_BIAS,
     .paths = "use_moe_router_bias",
     .need = FIELD_OPTIONAL,
     .kind = FIELD_FLAG},
};
static const DimCheck moe_checks[] = {OPEN_MOE_CHECK};
static const InertKey moe_inert[] = {
    {"use_moe", "true"},
    {"moe_layer_offset", NULL}, // beside moe_layers_enum
    {"moe_every_n_layer", NULL},
    {"norm_expert_weight", NULL},
    {"moe_router_activation", NULL},
    {"moe_router_scaling_factor", NULL},
    {"scoring_func", NULL},
    {"n_shared_experts", NULL}, // the width above is of all of them
};
#define EXPERTS .component = COMPONENT_ROUTED, .fused = true
static const TensorRow moe_tensors[] = {
    {.name = "moe.gate.weight",
     .component = COMPONENT_ROUTER,
     .shard = SHARD_REPLICATED,
     PLAIN,
     .dims = {DIM_EXPERTS, DIM_HIDDEN}},
    {.name = "moe.router_bias",
     .component = COMPONENT_ROUTER,
     .shard = SHARD_REPLICATED,
     .store = STORE_F32,
     .dims = {DIM_EXPERTS},
     .when = DIM_ROUTER_BIAS},
    {.name = "moe.gate_proj.weight",
     EXPERTS,
     .shard = SHARD_EXPERT_COLUMN,
     .dims = {DIM_EXPERTS, DIM_EXPERT_WIDTH, DIM_HIDDEN}},
    {.name = "moe.up_proj.weight",
     EXPERTS,
     .shard = SHARD_EXPERT_COLUMN,
     .dims = {DIM_EXPERTS, DIM_EXPERT_WIDTH, DIM_HIDDEN}},
    {.name = "moe.down_proj.weight",
     EXPERTS,
     .shard = SHARD_EXPERT_ROW,
     .dims = {DIM_EXPERTS, DIM_HIDDEN, DIM_EXPERT_WIDTH}},
    {.name = "share_expert.gate_proj.weight",
     .component = COMPONENT_SHARED,
     .shard = SHARD_COLUMN,
     .dims = {DIM_SHARED_WIDTH_2, DIM_HIDDEN},
     .when = DIM_SHARED_WIDTH_2},
    {.name = "share_expert.up_proj.weight",
     .component = COMPONENT_SHARED,
     .shard = SHARD_COLUMN,
     .dims = {DIM_SHARED_WIDTH_2, DIM_HIDDEN},
     .when = DIM_SHARED_WIDTH_2},
    {.name = "share_expert.down_proj.weight",
     .component = COMPONENT_SHARED,
     .shard = SHARD_ROW,
     .dims = {DIM_HIDDEN, DIM_SHARED_WIDTH_2},
     .when = DIM_SHARED_WIDTH_2},
};
static const Part moe_part = {.scope = PART_MLP,
                              .name = "moe",
                              FIELDS(moe),
                              CHECKS(moe),
                              INERT(moe),
                              TENSORS(moe),
                              .mlp = {OPEN_MOE, .shared_width = DIM_SHARED_WIDTH_2}};

// ---- Full and sliding layers of Step-3.5 and 3.7, with norms and a gate for each head. Sliding
// layers have 96 heads in both releases; shortened configs leave the field out.

static const FieldRow step_fields[] = {
    {.dim = DIM_SWA_HEADS,
     .paths = "attention_other_setting.num_attention_heads",
     .need = FIELD_ASSUMED,
     .min = 1,
     .fallback = 96},
    {.dim = DIM_WINDOW, .paths = "sliding_window", .min = 1},
    {.dim = DIM_FIRST_DENSE, .paths = "first_k_dense_replace", .need = FIELD_OPTIONAL},
};
static const DimRule step_rules[] = {
    {DIM_SWA_Q_WIDTH, DIM_PRODUCT, DIM_SWA_HEADS, DIM_HEAD_DIM, DIM_NONE, 0},
};
#define STEP_ATTENTION(heads, width)                                                               \
    {.name = "self_attn.q_proj.weight", OPEN_QUERY, .dims = {width, DIM_HIDDEN}},                  \
        {.name = "self_attn.k_proj.weight", OPEN_KEYS, .dims = {DIM_KV_WIDTH, DIM_HIDDEN}},        \
        {.name = "self_attn.v_proj.weight", OPEN_KEYS, .dims = {DIM_KV_WIDTH, DIM_HIDDEN}},        \
        {.name = "self_attn.o_proj.weight",                                                        \
         ATTENTION,                                                                                \
         .shard = SHARD_ROW,                                                                       \
         .unit = DIM_HEAD_DIM,                                                                     \
         .dims = {DIM_HIDDEN, width}},                                                             \
        {.name = "self_attn.g_proj.weight",                                                        \
         ATTENTION,                                                                                \
         .shard = SHARD_COLUMN,                                                                    \
         .dims = {heads, DIM_HIDDEN}},                                                             \
        {.name = "self_attn.q_norm.weight", WHOLE, PLAIN, .dims = {DIM_HEAD_DIM}}, {               \
        .name = "self_attn.k_norm.weight", WHOLE, PLAIN, .dims = { DIM_HEAD_DIM }                  \
    }
static const TensorRow full_tensors[] = {STEP_ATTENTION(DIM_HEADS, DIM_Q_WIDTH)};
static const TensorRow sliding_tensors[] = {STEP_ATTENTION(DIM_SWA_HEADS, DIM_SWA_Q_WIDTH)};
static const Part full_part = {.scope = PART_ATTENTION,
                               .name = "full attention",
                               TENSORS(full),
                               .attention = {OPEN_GQA, .output_gate = DIM_ONE}};
static const Part sliding_part = {.scope = PART_ATTENTION,
                                  .name = "sliding attention",
                                  FIELDS(step),
                                  RULES(step),
                                  TENSORS(sliding),
                                  .attention = {.kind = ATTENTION_GQA,
                                                .heads = DIM_SWA_HEADS,
                                                .kv_heads = DIM_KV_HEADS,
                                                .head_dim = DIM_HEAD_DIM,
                                                .value_dim = DIM_HEAD_DIM,
                                                .output_gate = DIM_ONE,
                                                .window = DIM_WINDOW,
                                                .kv_elements = DIM_KV_CACHE}};

// A draft layer of Step has a head of its own beside it.
static const FieldRow step_draft_fields[] = {
    {.dim = DIM_MTP_LAYERS, .paths = "num_nextn_predict_layers", .need = FIELD_OPTIONAL, .max = 64},
};
static const DimRule draft_rules[] = {
    {DIM_TWO_HIDDEN, DIM_PRODUCT, DIM_HIDDEN, DIM_NONE, DIM_NONE, 2},
};
#define DRAFT      .component = COMPONENT_MTP, .shard = SHARD_REPLICATED, PLAIN
#define DRAFT_NORM DRAFT, .dims = {DIM_HIDDEN}
#define DRAFT_TABLE                                                                                \
    .component = COMPONENT_MTP, .shard = SHARD_VOCAB, PLAIN, .dims = {DIM_VOCAB, DIM_HIDDEN}
static const TensorRow step_draft_tensors[] = {
    {.name = "eh_proj.weight", DRAFT, .dims = {DIM_HIDDEN, DIM_TWO_HIDDEN}},
    {.name = "enorm.weight", DRAFT_NORM},
    {.name = "hnorm.weight", DRAFT_NORM},
    {.name = "transformer.shared_head.norm.weight", DRAFT_NORM},
    {.name = "transformer.shared_head.output.weight", DRAFT_TABLE},
};
static const Part step_draft_part = {
    .scope = PART_MTP, .name = "mtp", FIELDS(step_draft), RULES(draft), TENSORS(step_draft)};

// ---- MiMo-V2: keys wider than values; sliding layers with their own heads and a sink for each.

static const FieldRow mimo_fields[] = {
    {.dim = DIM_HEADS, .paths = "num_attention_heads", .min = 1},
    {.dim = DIM_KV_HEADS, .paths = "num_key_value_heads", .min = 1},
    {.dim = DIM_HEAD_DIM, .paths = "head_dim", .min = 1},
    {.dim = DIM_V_DIM, .paths = "v_head_dim", .min = 1},
    {.dim = DIM_SWA_HEADS, .paths = "swa_num_attention_heads", .min = 1},
    {.dim = DIM_SWA_KV_HEADS, .paths = "swa_num_key_value_heads", .min = 1},
    {.dim = DIM_SWA_HEAD_DIM, .paths = "swa_head_dim", .min = 1},
    {.dim = DIM_SWA_V_DIM, .paths = "swa_v_head_dim", .min = 1},
    {.dim = DIM_WINDOW, .paths = "sliding_window|sliding_window_size", .min = 1},
};
static const DimRule mimo_rules[] = {
    {DIM_Q_WIDTH, DIM_PRODUCT, DIM_HEADS, DIM_HEAD_DIM, DIM_NONE, 0},
    {DIM_KV_WIDTH, DIM_PRODUCT, DIM_KV_HEADS, DIM_HEAD_DIM, DIM_NONE, 0},
    {DIM_V_WIDTH, DIM_PRODUCT, DIM_KV_HEADS, DIM_V_DIM, DIM_NONE, 0},
    {DIM_OUT_WIDTH, DIM_PRODUCT, DIM_HEADS, DIM_V_DIM, DIM_NONE, 0},
    {DIM_KV_CACHE, DIM_SUM, DIM_KV_WIDTH, DIM_V_WIDTH, DIM_NONE, 0},
    {DIM_SWA_Q_WIDTH, DIM_PRODUCT, DIM_SWA_HEADS, DIM_SWA_HEAD_DIM, DIM_NONE, 0},
    {DIM_SWA_KV_WIDTH, DIM_PRODUCT, DIM_SWA_KV_HEADS, DIM_SWA_HEAD_DIM, DIM_NONE, 0},
    {DIM_SWA_V_WIDTH, DIM_PRODUCT, DIM_SWA_KV_HEADS, DIM_SWA_V_DIM, DIM_NONE, 0},
    {DIM_SWA_OUT, DIM_PRODUCT, DIM_SWA_HEADS, DIM_SWA_V_DIM, DIM_NONE, 0},
    {DIM_SWA_CACHE, DIM_SUM, DIM_SWA_KV_WIDTH, DIM_SWA_V_WIDTH, DIM_NONE, 0},
};
static const DimCheck mimo_checks[] = {
    {DIM_HEADS, DIM_MULTIPLE_OF, DIM_KV_HEADS},
    {DIM_SWA_HEADS, DIM_MULTIPLE_OF, DIM_SWA_KV_HEADS},
};
static const InertKey mimo_inert[] = {
    {"swa_rope_theta", NULL},
    {"attention_chunk_size", NULL}, // the window once more
    {"attention_bias", "false|null"},
    {"attention_value_scale", NULL},
    {"add_swa_attention_sink_bias", "true"},
    {"add_full_attention_sink_bias", "false|null"},
    {"layernorm_epsilon", NULL},
};
#define MIMO_ATTENTION(q, k, v, out, head, value)                                                  \
    {.name = "self_attn.q_proj.weight",                                                            \
     ATTENTION,                                                                                    \
     .shard = SHARD_COLUMN,                                                                        \
     .unit = head,                                                                                 \
     .dims = {q, DIM_HIDDEN}},                                                                     \
        {.name = "self_attn.k_proj.weight",                                                        \
         ATTENTION,                                                                                \
         .shard = SHARD_KV,                                                                        \
         .unit = head,                                                                             \
         .dims = {k, DIM_HIDDEN}},                                                                 \
        {.name = "self_attn.v_proj.weight",                                                        \
         ATTENTION,                                                                                \
         .shard = SHARD_KV,                                                                        \
         .unit = value,                                                                            \
         .dims = {v, DIM_HIDDEN}},                                                                 \
    {                                                                                              \
        .name = "self_attn.o_proj.weight", ATTENTION, .shard = SHARD_ROW, .unit = value, .dims = { \
            DIM_HIDDEN,                                                                            \
            out                                                                                    \
        }                                                                                          \
    }
static const TensorRow mimo_full_tensors[] = {
    MIMO_ATTENTION(DIM_Q_WIDTH, DIM_KV_WIDTH, DIM_V_WIDTH, DIM_OUT_WIDTH, DIM_HEAD_DIM, DIM_V_DIM)};
static const TensorRow mimo_sliding_tensors[] = {
    MIMO_ATTENTION(DIM_SWA_Q_WIDTH, DIM_SWA_KV_WIDTH, DIM_SWA_V_WIDTH, DIM_SWA_OUT,
                   DIM_SWA_HEAD_DIM, DIM_SWA_V_DIM),
    {.name = "self_attn.attention_sink_bias",
     ATTENTION,
     .shard = SHARD_COLUMN,
     PLAIN,
     .dims = {DIM_SWA_HEADS}},
};
static const Part mimo_full_part = {.scope = PART_ATTENTION,
                                    .name = "full attention",
                                    FIELDS(mimo),
                                    RULES(mimo),
                                    CHECKS(mimo),
                                    INERT(mimo),
                                    TENSORS(mimo_full),
                                    .attention = {.kind = ATTENTION_GQA,
                                                  .heads = DIM_HEADS,
                                                  .kv_heads = DIM_KV_HEADS,
                                                  .head_dim = DIM_HEAD_DIM,
                                                  .value_dim = DIM_V_DIM,
                                                  .kv_elements = DIM_KV_CACHE}};
static const Part mimo_sliding_part = {.scope = PART_ATTENTION,
                                       .name = "sliding attention",
                                       TENSORS(mimo_sliding),
                                       .attention = {.kind = ATTENTION_GQA,
                                                     .heads = DIM_SWA_HEADS,
                                                     .kv_heads = DIM_SWA_KV_HEADS,
                                                     .head_dim = DIM_SWA_HEAD_DIM,
                                                     .value_dim = DIM_SWA_V_DIM,
                                                     .window = DIM_WINDOW,
                                                     .kv_elements = DIM_SWA_CACHE}};

// ---- LongCat: two latent attentions and two dense blocks in each layer, beside experts of which
// some compute nothing.

static const FieldRow cat_fields[] = {
    {.dim = DIM_DENSE_WIDTH, .paths = "ffn_hidden_size", .min = 1},
    {.dim = DIM_EXPERT_WIDTH, .paths = "expert_ffn_hidden_size", .min = 1},
    {.dim = DIM_EXPERTS, .paths = "n_routed_experts", .min = 1, .max = 1 << 20},
    {.dim = DIM_TOP_K, .paths = "moe_topk", .min = 1},
    {.dim = DIM_ZERO_EXPERTS, .paths = "zero_expert_num", .need = FIELD_OPTIONAL},
    {.dim = DIM_MTP_LAYERS,
     .paths = "mtp_num_layers",
     .need = FIELD_OPTIONAL,
     .max = 64,
     .fallback_dim = DIM_MTP_LAYERS},
};
static const DimRule cat_rules[] = {
    {DIM_ROUTER_ROWS, DIM_SUM, DIM_EXPERTS, DIM_ZERO_EXPERTS, DIM_NONE, 0},
    {DIM_TWO, DIM_SUM, DIM_ONE, DIM_ONE, DIM_NONE, 0},
    {DIM_SHARED_WIDTH, DIM_PRODUCT, DIM_DENSE_WIDTH, DIM_NONE, DIM_NONE, 2},
    {DIM_TWO_HIDDEN, DIM_PRODUCT, DIM_HIDDEN, DIM_NONE, DIM_NONE, 2},
};
static const DimCheck cat_checks[] = {{DIM_TOP_K, DIM_AT_MOST, DIM_ROUTER_ROWS}};
static const InertKey cat_inert[] = {
    {"attention_method", "MLA"},      {"mla_scale_kv_lora", NULL},     {"mla_scale_q_lora", NULL},
    {"zero_expert_type", "identity"}, {"routed_scaling_factor", NULL},
};
#define CAT_MLA(which)                                                                             \
    {.name = which "q_a_proj.weight", WHOLE, .dims = {DIM_Q_LORA, DIM_HIDDEN}},                    \
        {.name = which "q_a_layernorm.weight", WHOLE, PLAIN, .dims = {DIM_Q_LORA}},                \
        {.name = which "q_b_proj.weight",                                                          \
         ATTENTION,                                                                                \
         .shard = SHARD_COLUMN,                                                                    \
         .unit = DIM_QK_DIM,                                                                       \
         .dims = {DIM_MLA_Q_WIDTH, DIM_Q_LORA}},                                                   \
        {.name = which "kv_a_proj_with_mqa.weight", WHOLE, .dims = {DIM_MLA_LATENT, DIM_HIDDEN}},  \
        {.name = which "kv_a_layernorm.weight", WHOLE, PLAIN, .dims = {DIM_KV_LORA}},              \
        {.name = which "kv_b_proj.weight",                                                         \
         ATTENTION,                                                                                \
         .shard = SHARD_COLUMN,                                                                    \
         .unit = DIM_MLA_UP_DIM,                                                                   \
         .dims = {DIM_MLA_UP_WIDTH, DIM_KV_LORA}},                                                 \
    {                                                                                              \
        .name = which "o_proj.weight", ATTENTION, .shard = SHARD_ROW, .unit = DIM_V_DIM, .dims = { \
            DIM_HIDDEN,                                                                            \
            DIM_MLA_OUT                                                                            \
        }                                                                                          \
    }
#define NORM(which)                                                                                \
    {                                                                                              \
        .name = which, .component = COMPONENT_NORM, .shard = SHARD_REPLICATED, PLAIN, .dims = {    \
            DIM_HIDDEN                                                                             \
        }                                                                                          \
    }
static const TensorRow cat_attention_tensors[] = {
    NORM("input_layernorm.0.weight"),
    NORM("input_layernorm.1.weight"),
    NORM("post_attention_layernorm.0.weight"),
    NORM("post_attention_layernorm.1.weight"),
    CAT_MLA("self_attn.0."),
    CAT_MLA("self_attn.1."),
};
static const Part cat_attention_part = {.scope = PART_ATTENTION,
                                        .name = "two latent attentions",
                                        TENSORS(cat_attention),
                                        .attention = {.kind = ATTENTION_MLA,
                                                      .per_layer = DIM_TWO,
                                                      .heads = DIM_HEADS,
                                                      .kv_heads = DIM_HEADS,
                                                      .head_dim = DIM_QK_DIM,
                                                      .value_dim = DIM_V_DIM,
                                                      .q_lora = DIM_Q_LORA,
                                                      .kv_lora = DIM_KV_LORA,
                                                      .rope = DIM_ROPE,
                                                      .kv_elements = DIM_MLA_LATENT,
                                                      .kv_packed_B = DIM_MLA_PACKED_B}};

#define SIDE_IN .component = COMPONENT_DENSE, .shard = SHARD_COLUMN
#define SIDE(which)                                                                                \
    {.name = which "gate_proj.weight", SIDE_IN, .dims = {DIM_DENSE_WIDTH, DIM_HIDDEN}},            \
        {.name = which "up_proj.weight", SIDE_IN, .dims = {DIM_DENSE_WIDTH, DIM_HIDDEN}}, {        \
        .name = which "down_proj.weight", .component = COMPONENT_DENSE, .shard = SHARD_ROW,        \
        .dims = {                                                                                  \
            DIM_HIDDEN,                                                                            \
            DIM_DENSE_WIDTH                                                                        \
        }                                                                                          \
    }
static const TensorRow cat_tensors[] = {
    {.name = "mlp.router.classifier.weight",
     .component = COMPONENT_ROUTER,
     .shard = SHARD_REPLICATED,
     PLAIN,
     .dims = {DIM_ROUTER_ROWS, DIM_HIDDEN}},
    {.name = "mlp.router.e_score_correction_bias",
     .component = COMPONENT_ROUTER,
     .shard = SHARD_REPLICATED,
     .store = STORE_F32,
     .dims = {DIM_ROUTER_ROWS}},
    {.name = "mlp.experts.{E}.gate_proj.weight", OPEN_EXPERT_IN},
    {.name = "mlp.experts.{E}.up_proj.weight", OPEN_EXPERT_IN},
    {.name = "mlp.experts.{E}.down_proj.weight", OPEN_EXPERT_OUT},
    SIDE("mlps.0."),
    SIDE("mlps.1."),
};
static const Part cat_part = {
    .scope = PART_MLP,
    .name = "experts beside two dense blocks",
    FIELDS(cat),
    RULES(cat),
    CHECKS(cat),
    INERT(cat),
    TENSORS(cat),
    .mlp = {OPEN_MOE, .zero_experts = DIM_ZERO_EXPERTS, .shared_width = DIM_SHARED_WIDTH}};

// Its draft layer: one latent attention, one dense block, and a copy of the embedding.
static const TensorRow cat_draft_tensors[] = {
    {.name = "layers.0.eh_proj.weight", DRAFT, .dims = {DIM_HIDDEN, DIM_TWO_HIDDEN}},
    {.name = "layers.0.enorm.m.weight", DRAFT_NORM},
    {.name = "layers.0.hnorm.m.weight", DRAFT_NORM},
    {.name = "layers.0.input_layernorm.weight", DRAFT_NORM},
    {.name = "layers.0.post_attention_layernorm.weight", DRAFT_NORM},
    {.name = "norm.weight", DRAFT_NORM},
    {.name = "embed_tokens.weight", DRAFT_TABLE},
    CAT_MLA("layers.0.self_attn."),
    SIDE("layers.0.transformer_layer.mlp."),
};
static const Part cat_draft_part = {.scope = PART_MTP, .name = "mtp", TENSORS(cat_draft)};

// ---- Families.

static const Family families[] = {
    {.model_types = "step3_text",
     PLAIN_NAMES,
     .parts = {&parts_model_tables, &parts_model_norms, &mfa_part, &parts_mlp_dense, &moe_part},
     .pattern = {ALL(mfa_part),
                 ALL(parts_mlp_dense),
                 {.part = &moe_part,
                  .kind = PATTERN_LIST,
                  .mode = PATTERN_OVERRIDE,
                  .path = "moe_layers_enum"}}},
    {.model_types = "step3p7|step3p5",
     PLAIN_NAMES,
     .parts = {&parts_model_tables, &parts_model_norms, &parts_attention_gqa, &full_part,
               &sliding_part, &parts_mlp_dense, &moe_part, &step_draft_part},
     .pattern = {TYPED(full_part, "full_attention"), TYPED(sliding_part, "sliding_attention"),
                 ALL(moe_part), DENSE_FIRST},
     .mtp_parts = {&sliding_part, &parts_mlp_dense}},
    {.model_types = "mimo_v2_flash",
     PLAIN_NAMES,
     .parts = {&parts_model_tables, &parts_model_norms, &mimo_full_part, &mimo_sliding_part,
               &parts_mlp_dense, &parts_mlp_moe},
     .pattern = {FLAGGED(mimo_full_part, "hybrid_layer_pattern", 0),
                 FLAGGED(mimo_sliding_part, "hybrid_layer_pattern", 1),
                 FLAGGED(parts_mlp_dense, "moe_layer_freq", 0),
                 FLAGGED(parts_mlp_moe, "moe_layer_freq", 1)}},
    {.model_types = "longcat_flash",
     .prefix = "",
     .layer_prefix = "model.layers.{L}.",
     .mtp_prefix = "model.mtp.",
     .fp8_scale_type = "F32",
     .parts = {&parts_model_tables, &parts_attention_mla, &cat_attention_part, &cat_part,
               &cat_draft_part},
     .pattern = {ALL(cat_attention_part), ALL(cat_part)},
     .presets = {{DIM_MTP_LAYERS, 1}, {DIM_MTP_COPIES, 1}}},
};

const FamilyGroup family_step = {families, COUNT(families)};
