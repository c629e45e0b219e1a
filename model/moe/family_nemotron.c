// Nemotron-H and Nemotron-3: each layer is one block, of Mamba-2, attention, dense or experts.
//
// Invariant: rows only; no code. Sources: tensor names and shapes of nvidia/Nemotron-H-56B-Base-8K
// and nvidia/NVIDIA-Nemotron-3-{Nano,Super,Ultra}; Dao, Gu, "Transformers are SSMs",
// arXiv:2405.21060, for Mamba-2. Experts have two matrices (squared ReLU) and may work in a latent
// space.
#include "model/moe/family_rows.h"
#include "model/moe/parts_open.h"

#define PLAIN .store = STORE_PLAIN
#define BLOCK_NORM                                                                                 \
    {                                                                                              \
        .name = "norm.weight", .component = COMPONENT_NORM, .shard = SHARD_REPLICATED, PLAIN,      \
        .dims = {                                                                                  \
            DIM_HIDDEN                                                                             \
        }                                                                                          \
    }

// ---- Mamba-2. State per sequence and layer: P x N per head in F32, and the last (kernel - 1)
// inputs of the convolution in BF16.

static const FieldRow mamba_fields[] = {
    {.dim = DIM_MAMBA_HEADS, .paths = "mamba_num_heads", .min = 1},
    {.dim = DIM_MAMBA_DIM, .paths = "mamba_head_dim", .min = 1},
    {.dim = DIM_MAMBA_STATE, .paths = "ssm_state_size", .min = 1},
    {.dim = DIM_MAMBA_GROUPS, .paths = "n_groups", .min = 1},
    {.dim = DIM_MAMBA_CONV, .paths = "conv_kernel", .min = 1},
};
static const DimRule mamba_rules[] = {
    {DIM_MAMBA_WIDTH, DIM_PRODUCT, DIM_MAMBA_HEADS, DIM_MAMBA_DIM, DIM_NONE, 0},
    {DIM_MAMBA_GROUP_STATE, DIM_PRODUCT, DIM_MAMBA_GROUPS, DIM_MAMBA_STATE, DIM_NONE, 0},
    {DIM_MAMBA_BC, DIM_PRODUCT, DIM_MAMBA_GROUP_STATE, DIM_NONE, DIM_NONE, 2},
    {DIM_MAMBA_MIXED, DIM_SUM, DIM_MAMBA_WIDTH, DIM_MAMBA_BC, DIM_NONE, 0},
    {DIM_MAMBA_IN, DIM_SUM, DIM_MAMBA_WIDTH, DIM_MAMBA_MIXED, DIM_MAMBA_HEADS, 0},
    {DIM_MAMBA_TAIL, DIM_LESS, DIM_MAMBA_CONV, DIM_NONE, DIM_NONE, 1},
    {DIM_MAMBA_MATRIX_B, DIM_PRODUCT, DIM_MAMBA_WIDTH, DIM_MAMBA_STATE, DIM_NONE, 4},
    {DIM_MAMBA_TAIL_B, DIM_PRODUCT, DIM_MAMBA_MIXED, DIM_MAMBA_TAIL, DIM_NONE, 2},
    {DIM_MAMBA_STATE_B, DIM_SUM, DIM_MAMBA_MATRIX_B, DIM_MAMBA_TAIL_B, DIM_NONE, 0},
};
static const DimCheck mamba_checks[] = {{DIM_MAMBA_HEADS, DIM_MULTIPLE_OF, DIM_MAMBA_GROUPS}};
static const InertKey mamba_inert[] = {
    {"chunk_size", NULL},
    {"expand", NULL}, // the heads and their width are given
    {"hidden_dropout", NULL},
    {"layer_norm_epsilon", NULL},
    {"norm_eps", NULL},
    {"mamba_hidden_act", "silu"},
    {"mamba_proj_bias", "false"},
    {"mamba_ssm_cache_dtype", "float32"},
    {"num_logits_to_keep", NULL},
    {"rescale_prenorm_residual", NULL},
    {"residual_in_fp32", NULL},
    {"time_step_floor", NULL},
    {"time_step_limit", NULL},
    {"time_step_max", NULL},
    {"time_step_min", NULL},
    {"time_step_rank", NULL},
    {"use_bias", "false"},
    {"use_conv_bias", "true"},
    {"use_mamba_kernels", NULL},
    {"mlp_hidden_act", "relu2"},
    {"mtp_hybrid_override_pattern", "*E"},
    {"mtp_layers_block_type", NULL}, // attention, then experts, as mtp_parts has them
};

#define ATTENTION .component = COMPONENT_ATTENTION
#define HEADED    ATTENTION, .shard = SHARD_COLUMN, PLAIN
// B and C of each group, which ranks beyond the groups share.
#define MIXED_PARTS                                                                                \
    {DIM_MAMBA_WIDTH, DIM_MAMBA_DIM}, {DIM_MAMBA_GROUP_STATE, DIM_MAMBA_STATE}, {                  \
        DIM_MAMBA_GROUP_STATE, DIM_MAMBA_STATE                                                     \
    }

static const TensorRow mamba_tensors[] = {
    BLOCK_NORM,
    {.name = "mixer.in_proj.weight", // gate, x, B, C, dt
     ATTENTION,
     .shard = SHARD_COLUMN,
     .dims = {DIM_MAMBA_IN, DIM_HIDDEN},
     .segments = {{DIM_MAMBA_WIDTH, DIM_MAMBA_DIM},
                  {DIM_MAMBA_WIDTH, DIM_MAMBA_DIM},
                  {DIM_MAMBA_HEADS, DIM_NONE},
                  {DIM_MAMBA_GROUP_STATE, DIM_MAMBA_STATE},
                  {DIM_MAMBA_GROUP_STATE, DIM_MAMBA_STATE}},
     .kv_from = 3},
    {.name = "mixer.conv1d.weight",
     HEADED,
     .dims = {DIM_MAMBA_MIXED, DIM_ONE, DIM_MAMBA_CONV},
     .segments = {MIXED_PARTS},
     .kv_from = 1},
    {.name = "mixer.conv1d.bias",
     HEADED,
     .dims = {DIM_MAMBA_MIXED},
     .segments = {MIXED_PARTS},
     .kv_from = 1},
    {.name = "mixer.dt_bias", HEADED, .dims = {DIM_MAMBA_HEADS}},
    {.name = "mixer.A_log", HEADED, .dims = {DIM_MAMBA_HEADS}},
    {.name = "mixer.D", HEADED, .dims = {DIM_MAMBA_HEADS}},
    {.name = "mixer.norm.weight", HEADED, .unit = DIM_MAMBA_DIM, .dims = {DIM_MAMBA_WIDTH}},
    {.name = "mixer.out_proj.weight",
     ATTENTION,
     .shard = SHARD_ROW,
     .unit = DIM_MAMBA_DIM,
     .dims = {DIM_HIDDEN, DIM_MAMBA_WIDTH}},
};
static const Part mamba_part = {.scope = PART_ATTENTION,
                                .name = "mamba",
                                FIELDS(mamba),
                                RULES(mamba),
                                CHECKS(mamba),
                                INERT(mamba),
                                TENSORS(mamba),
                                .attention = {.kind = ATTENTION_MAMBA2,
                                              .heads = DIM_MAMBA_HEADS,
                                              .head_dim = DIM_MAMBA_DIM,
                                              .value_dim = DIM_MAMBA_DIM,
                                              .conv = DIM_MAMBA_CONV,
                                              .state_dim = DIM_MAMBA_STATE,
                                              .groups = DIM_MAMBA_GROUPS,
                                              .state_B = DIM_MAMBA_STATE_B}};

// ---- Attention.

static const FieldRow attention_fields[] = {
    {.dim = DIM_HEADS, .paths = "num_attention_heads", .min = 1},
    {.dim = DIM_KV_HEADS, .paths = "num_key_value_heads", .min = 1},
    {.dim = DIM_HEAD_DIM, .paths = "head_dim|attention_head_dim", .min = 1},
};
static const DimRule attention_rules[] = {
    {DIM_Q_WIDTH, DIM_PRODUCT, DIM_HEADS, DIM_HEAD_DIM, DIM_NONE, 0},
    {DIM_KV_WIDTH, DIM_PRODUCT, DIM_KV_HEADS, DIM_HEAD_DIM, DIM_NONE, 0},
    {DIM_KV_CACHE, DIM_PRODUCT, DIM_KV_WIDTH, DIM_NONE, DIM_NONE, 2},
};
static const DimCheck attention_checks[] = {{DIM_HEADS, DIM_MULTIPLE_OF, DIM_KV_HEADS}};
static const InertKey attention_inert[] = {{"attention_bias", "false|null"}};
static const TensorRow attention_tensors[] = {
    BLOCK_NORM,
    {.name = "mixer.q_proj.weight", OPEN_QUERY, .dims = {DIM_Q_WIDTH, DIM_HIDDEN}},
    {.name = "mixer.k_proj.weight", OPEN_KEYS, .dims = {DIM_KV_WIDTH, DIM_HIDDEN}},
    {.name = "mixer.v_proj.weight", OPEN_KEYS, .dims = {DIM_KV_WIDTH, DIM_HIDDEN}},
    {.name = "mixer.o_proj.weight", OPEN_OUT},
};
static const Part attention_part = {.scope = PART_ATTENTION,
                                    .name = "attention",
                                    FIELDS(attention),
                                    RULES(attention),
                                    CHECKS(attention),
                                    INERT(attention),
                                    TENSORS(attention),
                                    .attention = {OPEN_GQA}};

static const Part no_attention_part = {
    .scope = PART_ATTENTION, .name = "no attention", .attention = {.kind = ATTENTION_NONE}};
static const Part no_mlp_part = {.scope = PART_MLP, .name = "no feed-forward block"};

// ---- Feed-forward blocks of two matrices. The two kinds are in different families, because dense
// models have no field for experts.

static const FieldRow dense_fields[] = {
    {.dim = DIM_DENSE_WIDTH, .paths = "intermediate_size", .min = 1},
};
static const TensorRow dense_tensors[] = {
    BLOCK_NORM,
    {.name = "mixer.up_proj.weight",
     .component = COMPONENT_DENSE,
     .shard = SHARD_COLUMN,
     .dims = {DIM_DENSE_WIDTH, DIM_HIDDEN}},
    {.name = "mixer.down_proj.weight",
     .component = COMPONENT_DENSE,
     .shard = SHARD_ROW,
     .dims = {DIM_HIDDEN, DIM_DENSE_WIDTH}},
};
static const Part dense_part = {.scope = PART_MLP,
                                .name = "dense",
                                FIELDS(dense),
                                TENSORS(dense),
                                .mlp = {.width = DIM_DENSE_WIDTH, .matrices = 2}};

static const FieldRow moe_fields[] = {
    {.dim = DIM_EXPERTS, .paths = "n_routed_experts", .need = FIELD_OPTIONAL, .max = 1 << 20},
    {.dim = DIM_TOP_K, .paths = "num_experts_per_tok", .need = FIELD_OPTIONAL},
    {.dim = DIM_GROUPS, .paths = "n_group", .need = FIELD_OPTIONAL, .min = 1, .fallback = 1},
    {.dim = DIM_TOP_GROUPS, .paths = "topk_group", .need = FIELD_OPTIONAL, .min = 1, .fallback = 1},
    {.dim = DIM_EXPERT_WIDTH, .paths = "moe_intermediate_size", .need = FIELD_OPTIONAL},
    {.dim = DIM_LATENT, .paths = "moe_latent_size", .need = FIELD_OPTIONAL},
    {.dim = DIM_SHARED_EXPERTS, .paths = "n_shared_experts", .need = FIELD_OPTIONAL},
    {.dim = DIM_SHARED_WIDTH_2,
     .paths = "moe_shared_expert_intermediate_size",
     .need = FIELD_OPTIONAL},
};
static const DimRule moe_rules[] = {
    {DIM_EXPERT_IN, DIM_FIRST, DIM_LATENT, DIM_HIDDEN, DIM_NONE, 0},
    {DIM_SHARED_WIDTH, DIM_PRODUCT, DIM_SHARED_EXPERTS, DIM_SHARED_WIDTH_2, DIM_NONE, 0},
};
static const DimCheck moe_checks[] = {OPEN_MOE_CHECK};
static const InertKey moe_inert[] = {
    {"norm_topk_prob", NULL},
    {"routed_scaling_factor", NULL},
    {"moe_shared_expert_overlap", NULL},
    {"intermediate_size", NULL}, // of dense blocks, which these models do not have
};
#define LATENT .component = COMPONENT_LATENT, .shard = SHARD_REPLICATED, PLAIN, .when = DIM_LATENT
static const TensorRow moe_tensors[] = {
    BLOCK_NORM,
    {.name = "mixer.gate.weight",
     .component = COMPONENT_ROUTER,
     .shard = SHARD_REPLICATED,
     PLAIN,
     .dims = {DIM_EXPERTS, DIM_HIDDEN}},
    {.name = "mixer.gate.e_score_correction_bias",
     .component = COMPONENT_ROUTER,
     .shard = SHARD_REPLICATED,
     .store = STORE_F32,
     .dims = {DIM_EXPERTS}},
    {.name = "mixer.fc1_latent_proj.weight", LATENT, .dims = {DIM_LATENT, DIM_HIDDEN}},
    {.name = "mixer.fc2_latent_proj.weight", LATENT, .dims = {DIM_HIDDEN, DIM_LATENT}},
    {.name = "mixer.experts.{E}.up_proj.weight",
     .component = COMPONENT_ROUTED,
     .shard = SHARD_EXPERT_COLUMN,
     .repeat = DIM_EXPERTS,
     .dims = {DIM_EXPERT_WIDTH, DIM_EXPERT_IN}},
    {.name = "mixer.experts.{E}.down_proj.weight",
     .component = COMPONENT_ROUTED,
     .shard = SHARD_EXPERT_ROW,
     .repeat = DIM_EXPERTS,
     .dims = {DIM_EXPERT_IN, DIM_EXPERT_WIDTH}},
    {.name = "mixer.shared_experts.up_proj.weight",
     .component = COMPONENT_SHARED,
     .shard = SHARD_COLUMN,
     .dims = {DIM_SHARED_WIDTH, DIM_HIDDEN},
     .when = DIM_SHARED_EXPERTS},
    {.name = "mixer.shared_experts.down_proj.weight",
     .component = COMPONENT_SHARED,
     .shard = SHARD_ROW,
     .dims = {DIM_HIDDEN, DIM_SHARED_WIDTH},
     .when = DIM_SHARED_EXPERTS},
};
static const Part moe_part = {.scope = PART_MLP,
                              .name = "moe",
                              FIELDS(moe),
                              RULES(moe),
                              CHECKS(moe),
                              INERT(moe),
                              TENSORS(moe),
                              .mlp = {.experts = DIM_EXPERTS,
                                      .top_k = DIM_TOP_K,
                                      .groups = DIM_GROUPS,
                                      .top_groups = DIM_TOP_GROUPS,
                                      .width = DIM_EXPERT_WIDTH,
                                      .shared_width = DIM_SHARED_WIDTH,
                                      .latent = DIM_LATENT,
                                      .matrices = 2}};

// ---- The rest.

static const FieldRow model_fields[] = {
    {.dim = DIM_LAYERS,
     .paths = "num_hidden_layers",
     .need = FIELD_OPTIONAL,
     .max = 10000,
     .length_of = "layers_block_type|hybrid_override_pattern"},
    PARTS_MODEL_FIELDS,
    {.dim = DIM_MTP_LAYERS, .paths = "num_nextn_predict_layers", .need = FIELD_OPTIONAL, .max = 64},
};
static const DimRule model_rules[] = {
    {DIM_TWO_HIDDEN, DIM_PRODUCT, DIM_HIDDEN, DIM_NONE, DIM_NONE, 2},
};
static const DimCheck model_checks[] = {{DIM_LAYERS, DIM_NOT_ZERO, DIM_NONE}};
static const TensorRow model_tensors[] = {
    {.name = "backbone.embeddings.weight", OPEN_TABLE(COMPONENT_EMBEDDING)},
    {.name = "backbone.norm_f.weight",
     .component = COMPONENT_NORM,
     .shard = SHARD_REPLICATED,
     PLAIN,
     .dims = {DIM_HIDDEN}},
    {.name = "lm_head.weight", OPEN_TABLE(COMPONENT_HEAD), .unless = DIM_TIED},
};
static const Part model_part = {.scope = PART_MODEL,
                                .name = "tables",
                                FIELDS(model),
                                RULES(model),
                                CHECKS(model),
                                TENSORS(model)};

#define DRAFT .component = COMPONENT_MTP, .shard = SHARD_REPLICATED, PLAIN
static const TensorRow draft_tensors[] = {
    {.name = "eh_proj.weight", DRAFT, .dims = {DIM_HIDDEN, DIM_TWO_HIDDEN}},
    {.name = "enorm.weight", DRAFT, .dims = {DIM_HIDDEN}},
    {.name = "hnorm.weight", DRAFT, .dims = {DIM_HIDDEN}},
    {.name = "final_layernorm.weight", DRAFT, .dims = {DIM_HIDDEN}},
};
static const Part draft_part = {.scope = PART_MTP, .name = "mtp", TENSORS(draft)};

#define LETTER(which, letter)                                                                      \
    {                                                                                              \
        .part = &(which), .kind = PATTERN_LETTERS, .mode = PATTERN_OVERRIDE,                       \
        .path = "hybrid_override_pattern", .text = (letter)                                        \
    }
#define NAMED(which, type)                                                                         \
    {                                                                                              \
        .part = &(which), .kind = PATTERN_NAMES, .mode = PATTERN_OVERRIDE,                         \
        .path = "layers_block_type", .text = (type)                                                \
    }
#define NAMES                                                                                      \
    .prefix = "", .layer_prefix = "backbone.layers.{L}.", .mtp_prefix = "mtp.layers.{I}.",         \
    .fp8_scale_type = "F32"

static const Family families[] = {
    {.model_types = "nemotron_h",
     NAMES,
     .parts = {&model_part, &mamba_part, &attention_part, &no_attention_part, &no_mlp_part,
               &dense_part, &moe_part, &draft_part},
     .pattern = {ALL(no_attention_part), ALL(no_mlp_part), LETTER(mamba_part, "M"),
                 LETTER(attention_part, "*"), LETTER(dense_part, "-"), LETTER(moe_part, "E"),
                 NAMED(mamba_part, "mamba"), NAMED(attention_part, "attention"),
                 NAMED(dense_part, "mlp"), NAMED(moe_part, "moe")},
     .mtp_parts = {&attention_part, &moe_part}},
};

const FamilyGroup family_nemotron = {families, COUNT(families)};
