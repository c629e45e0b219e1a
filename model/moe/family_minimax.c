// Families of MiniMax: lightning attention (M1), full-width norms (M2), sparse attention (M3).
//
// Invariant: rows only; no code. Sources: the model.safetensors.index.json of MiniMax-M1-80k, the
// tensor headers and modelling code of MiniMax-M2 and MiniMax-M3; MiniMax-01, arXiv:2501.08313,
// section 2.2 for lightning attention. Routers are stored in F32 in M1 and M2. The configs declare
// draft layers that the released checkpoints lack.
#include "model/moe/family_rows.h"
#include "model/moe/parts_open.h"

#define ATTENTION .component = COMPONENT_ATTENTION

// ---- Lightning attention: a state matrix per head in F32, no convolution.

static const DimRule lightning_rules[] = {
    {DIM_LIN_QKV, DIM_PRODUCT, DIM_Q_WIDTH, DIM_NONE, DIM_NONE, 3},
    {DIM_LIN_GROUP, DIM_PRODUCT, DIM_HEAD_DIM, DIM_NONE, DIM_NONE, 3},
    {DIM_LIN_STATE_B, DIM_PRODUCT, DIM_Q_WIDTH, DIM_HEAD_DIM, DIM_NONE, 4},
};
static const InertKey lightning_inert[] = {
    {"layernorm_full_attention_alpha", NULL},
    {"layernorm_full_attention_beta", NULL},
    {"layernorm_linear_attention_alpha", NULL},
    {"layernorm_linear_attention_beta", NULL},
    {"layernorm_mlp_alpha", NULL},
    {"layernorm_mlp_beta", NULL},
    {"postnorm", NULL},
    {"rotary_dim", NULL},
    {"shared_moe_mode", NULL},
    {"shared_intermediate_size", "0|null"},
};
static const TensorRow lightning_tensors[] = {
    {.name = "self_attn.qkv_proj.weight",
     ATTENTION,
     .shard = SHARD_COLUMN,
     .unit = DIM_LIN_GROUP, // a head's queries, keys and values follow each other
     .dims = {DIM_LIN_QKV, DIM_HIDDEN}},
    {.name = "self_attn.output_gate.weight", OPEN_QUERY, .dims = {DIM_Q_WIDTH, DIM_HIDDEN}},
    {.name = "self_attn.norm.weight", OPEN_QUERY, .store = STORE_PLAIN, .dims = {DIM_Q_WIDTH}},
    {.name = "self_attn.out_proj.weight", OPEN_OUT},
};
static const Part lightning_part = {.scope = PART_ATTENTION,
                                    .name = "lightning",
                                    RULES(lightning),
                                    INERT(lightning),
                                    TENSORS(lightning),
                                    .attention = {.kind = ATTENTION_LIGHTNING,
                                                  .heads = DIM_HEADS,
                                                  .kv_heads = DIM_HEADS,
                                                  .head_dim = DIM_HEAD_DIM,
                                                  .value_dim = DIM_HEAD_DIM,
                                                  .output_gate = DIM_ONE,
                                                  .wide_norm = DIM_ONE,
                                                  .state_B = DIM_LIN_STATE_B}};

// ---- Grouped-query attention with norms over all heads at once.

static const TensorRow full_norm_tensors[] = {
    {.name = "self_attn.q_proj.weight", OPEN_QUERY, .dims = {DIM_Q_WIDTH, DIM_HIDDEN}},
    {.name = "self_attn.k_proj.weight", OPEN_KEYS, .dims = {DIM_KV_WIDTH, DIM_HIDDEN}},
    {.name = "self_attn.v_proj.weight", OPEN_KEYS, .dims = {DIM_KV_WIDTH, DIM_HIDDEN}},
    {.name = "self_attn.o_proj.weight", OPEN_OUT},
    {.name = "self_attn.q_norm.weight", OPEN_QUERY, .store = STORE_PLAIN, .dims = {DIM_Q_WIDTH}},
    {.name = "self_attn.k_norm.weight", OPEN_KEYS, .store = STORE_PLAIN, .dims = {DIM_KV_WIDTH}},
};
static const InertKey full_norm_inert[] = {
    {"use_qk_norm", "true"},
    {"qk_norm_type", "per_layer"},
    {"attn_type_list", NULL}, // which has full attention everywhere: checked by the pattern
    {"rotary_dim", NULL},
    {"use_mtp", NULL},
    {"mtp_transformer_layers", NULL},
    {"shared_intermediate_size", "0|null"},
    {"scoring_func", NULL},
};
static const Part full_norm_part = {.scope = PART_ATTENTION,
                                    .name = "full attention",
                                    INERT(full_norm),
                                    TENSORS(full_norm),
                                    .attention = {OPEN_GQA, .wide_norm = DIM_ONE}};

// ---- Sparse attention of M3: index heads pick blocks of tokens.

#define SPARSE(field) "sparse_attention_config." field
static const FieldRow sparse_fields[] = {
    {.dim = DIM_INDEX_HEADS, .paths = SPARSE("sparse_num_index_heads"), .min = 1},
    {.dim = DIM_INDEX_DIM, .paths = SPARSE("sparse_index_dim"), .min = 1},
    {.dim = DIM_RATIO_SMALL, .paths = SPARSE("sparse_topk_blocks"), .min = 1},
    {.dim = DIM_RATIO_LARGE, .paths = SPARSE("sparse_block_size"), .min = 1},
};
static const DimRule sparse_rules[] = {
    {DIM_INDEX_WIDTH, DIM_PRODUCT, DIM_INDEX_HEADS, DIM_INDEX_DIM, DIM_NONE, 0},
    {DIM_INDEX_TOP_K, DIM_PRODUCT, DIM_RATIO_SMALL, DIM_RATIO_LARGE, DIM_NONE, 0},
};
static const InertKey sparse_inert[] = {
    {SPARSE("use_sparse_attention"), "true"},
    {SPARSE("sparse_disable_index_value"), NULL},
    {SPARSE("sparse_init_block"), NULL},
    {SPARSE("sparse_local_block"), NULL},
    {SPARSE("sparse_score_type"), NULL},
    {"attention_output_gate", "false|null"},
    {"qk_norm_type", "per_head"},
    {"rotary_dim", NULL},
    {"use_gemma_norm", NULL},
    {"swiglu_alpha", NULL},
    {"swiglu_limit", NULL},
    {"hidden_act", "silu|swigluoai"},
    {"num_mtp_modules", NULL}, // contradicts num_nextn_predict_layers, which is read
};
static const TensorRow sparse_tensors[] = {
    {.name = "self_attn.index_q_proj.weight",
     ATTENTION,
     .shard = SHARD_REPLICATED,
     .use = TENSOR_INDEX,
     .dims = {DIM_INDEX_WIDTH, DIM_HIDDEN}},
    {.name = "self_attn.index_k_proj.weight",
     ATTENTION,
     .shard = SHARD_REPLICATED,
     .use = TENSOR_INDEX,
     .dims = {DIM_INDEX_DIM, DIM_HIDDEN}},
    {.name = "self_attn.index_q_norm.weight",
     ATTENTION,
     .shard = SHARD_REPLICATED,
     .store = STORE_PLAIN,
     .dims = {DIM_INDEX_DIM}},
    {.name = "self_attn.index_k_norm.weight",
     ATTENTION,
     .shard = SHARD_REPLICATED,
     .store = STORE_PLAIN,
     .dims = {DIM_INDEX_DIM}},
};
static const Part sparse_part = {
    .scope = PART_ATTENTION,
    .name = "sparse attention",
    .base = &parts_attention_gqa,
    FIELDS(sparse),
    RULES(sparse),
    INERT(sparse),
    TENSORS(sparse),
    .attention = {OPEN_GQA, .index_heads = DIM_INDEX_HEADS, .index_dim = DIM_INDEX_DIM,
                  .index_top_k = DIM_INDEX_TOP_K, .index_elements = DIM_INDEX_DIM}};

// ---- Experts.

static const FieldRow moe_fields[] = {
    {.dim = DIM_EXPERTS, .paths = "num_local_experts", .min = 1, .max = 1 << 20},
    {.dim = DIM_TOP_K, .paths = "num_experts_per_tok", .min = 1},
    {.dim = DIM_EXPERT_WIDTH, .paths = "moe_intermediate_size|intermediate_size", .min = 1},
    {.dim = DIM_ROUTER_BIAS,
     .paths = "use_routing_bias",
     .need = FIELD_OPTIONAL,
     .kind = FIELD_FLAG},
    {.dim = DIM_SHARED_EXPERTS,
     .paths = "n_shared_experts",
     .need = FIELD_OPTIONAL,
     .max = 1 << 16},
};
static const DimRule moe_rules[] = {
    {DIM_SHARED_WIDTH, DIM_PRODUCT, DIM_SHARED_EXPERTS, DIM_EXPERT_WIDTH, DIM_NONE, 0},
};
static const DimCheck moe_checks[] = {OPEN_MOE_CHECK};
static const InertKey moe_inert[] = {
    {"router_aux_loss_coef", NULL},  {"router_jitter_noise", NULL}, {"output_router_logits", NULL},
    {"routed_scaling_factor", NULL}, {"scoring_func", NULL},
};

#define EXPERT(which) "block_sparse_moe.experts.{E}." which ".weight"
#define SHARED(which) "block_sparse_moe.shared_experts." which ".weight"
#define SHARED_IN     OPEN_SHARED_IN, .when = DIM_SHARED_EXPERTS
#define EXPERT_ROWS                                                                                \
    {.name = EXPERT("w1"), OPEN_EXPERT_IN}, {.name = EXPERT("w3"), OPEN_EXPERT_IN},                \
        {.name = EXPERT("w2"), OPEN_EXPERT_OUT}, {.name = SHARED("gate_proj"), SHARED_IN},         \
        {.name = SHARED("up_proj"), SHARED_IN}, {                                                  \
        .name = SHARED("down_proj"), .component = COMPONENT_SHARED, .shard = SHARD_ROW,            \
        .dims = {DIM_HIDDEN, DIM_SHARED_WIDTH}, .when = DIM_SHARED_EXPERTS                         \
    }
#define ROUTER .component = COMPONENT_ROUTER, .shard = SHARD_REPLICATED
#define BIAS                                                                                       \
    .name = "block_sparse_moe.e_score_correction_bias", ROUTER, .store = STORE_F32,                \
    .dims = {DIM_EXPERTS}, .when = DIM_ROUTER_BIAS

static const TensorRow moe_tensors[] = {
    {.name = "block_sparse_moe.gate.weight",
     ROUTER,
     .store = STORE_F32,
     .dims = {DIM_EXPERTS, DIM_HIDDEN}},
    {BIAS},
    EXPERT_ROWS,
};
static const TensorRow m3_moe_tensors[] = {
    {.name = "block_sparse_moe.gate.weight",
     ROUTER,
     .store = STORE_PLAIN,
     .dims = {DIM_EXPERTS, DIM_HIDDEN}},
    {BIAS},
    EXPERT_ROWS,
};
#define MOE_SPEC                                                                                   \
    { OPEN_MOE, .shared_width = DIM_SHARED_WIDTH }
static const Part moe_part = {.scope = PART_MLP,
                              .name = "moe",
                              FIELDS(moe),
                              RULES(moe),
                              CHECKS(moe),
                              INERT(moe),
                              TENSORS(moe),
                              .mlp = MOE_SPEC};
static const Part m3_moe_part = {.scope = PART_MLP,
                                 .name = "moe",
                                 FIELDS(moe),
                                 RULES(moe),
                                 CHECKS(moe),
                                 INERT(moe),
                                 TENSORS(m3_moe),
                                 .mlp = MOE_SPEC};

// M3 has a dense width of its own and calls the shared one by a second name.
static const FieldRow dense_fields[] = {
    {.dim = DIM_DENSE_WIDTH, .paths = "dense_intermediate_size", .min = 1},
    {.dim = DIM_SHARED_WIDTH_2, .paths = "shared_intermediate_size", .need = FIELD_OPTIONAL},
    {.dim = DIM_FIRST_DENSE, .paths = "first_k_dense_replace", .need = FIELD_OPTIONAL},
};
static const Part dense_fields_part = {.scope = PART_MODEL, .name = "widths", FIELDS(dense)};

static const TensorRow dense_tensors[] = {
    {.name = "mlp.gate_proj.weight",
     .component = COMPONENT_DENSE,
     .shard = SHARD_COLUMN,
     .dims = {DIM_DENSE_WIDTH, DIM_HIDDEN}},
    {.name = "mlp.up_proj.weight",
     .component = COMPONENT_DENSE,
     .shard = SHARD_COLUMN,
     .dims = {DIM_DENSE_WIDTH, DIM_HIDDEN}},
    {.name = "mlp.down_proj.weight",
     .component = COMPONENT_DENSE,
     .shard = SHARD_ROW,
     .dims = {DIM_HIDDEN, DIM_DENSE_WIDTH}},
};
static const Part dense_part = {
    .scope = PART_MLP, .name = "dense", TENSORS(dense), .mlp = {.width = DIM_DENSE_WIDTH}};

// M2 has a name of its own for the number of draft layers, read after the common one.
static const FieldRow modules_fields[] = {
    {.dim = DIM_MTP_LAYERS,
     .paths = "num_mtp_modules",
     .need = FIELD_OPTIONAL,
     .max = 64,
     .fallback_dim = DIM_MTP_LAYERS},
};
static const Part modules_part = {.scope = PART_MODEL, .name = "mtp modules", FIELDS(modules)};

#define FLAGGED(which, where, flag)                                                                \
    { .part = &(which), .kind = PATTERN_FLAGS, .path = (where), .base = (flag) }

static const Family families[] = {
    {.model_types = "minimax_m1",
     PLAIN_NAMES,
     .parts = {&parts_model_tables, &parts_model_norms, &parts_attention_gqa, &lightning_part,
               &moe_part},
     .pattern = {FLAGGED(lightning_part, "attn_type_list", 0),
                 FLAGGED(parts_attention_gqa, "attn_type_list", 1), ALL(moe_part)}},
    {.model_types = "minimax_m2",
     PLAIN_NAMES,
     .parts = {&parts_model_tables, &parts_model_norms, &parts_attention_gqa, &full_norm_part,
               &moe_part, &parts_model_mtp, &modules_part},
     .pattern = {ALL(full_norm_part), ALL(moe_part)},
     .presets = {{DIM_MTP_UNSTORED, 1}},
     .mtp_parts = {&full_norm_part, &moe_part}},
    {.model_types = "minimax_m3",
     PLAIN_NAMES,
     .parts = {&parts_model_tables, &parts_model_norms, &parts_attention_gqa, &sparse_part,
               &dense_fields_part, &dense_part, &m3_moe_part, &parts_model_mtp},
     .pattern = {ALL(parts_attention_gqa),
                 {.part = &sparse_part,
                  .kind = PATTERN_FLAGS,
                  .mode = PATTERN_OVERRIDE,
                  .path = SPARSE("sparse_attention_freq"),
                  .base = 1},
                 ALL(m3_moe_part),
                 {.part = &dense_part,
                  .kind = PATTERN_FLAGS,
                  .mode = PATTERN_OVERRIDE,
                  .path = "moe_layer_freq",
                  .base = 0},
                 {.part = &dense_part,
                  .kind = PATTERN_BELOW,
                  .mode = PATTERN_OVERRIDE,
                  .dim = DIM_FIRST_DENSE}},
     .presets = {{DIM_QK_NORM, 1}, {DIM_MTP_UNSTORED, 1}},
     .mtp_parts = {&parts_attention_gqa, &m3_moe_part}},
};

const FamilyGroup family_minimax = {families, COUNT(families)};
