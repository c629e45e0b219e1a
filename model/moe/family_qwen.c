// Families of Qwen: plain, mixtures of experts, hybrids with gated delta networks, vision.
//
// Invariant: rows only; no code. Sources: tensor names and shapes of Qwen/Qwen3, Qwen3-Next,
// Qwen3-VL and Qwen3.5 checkpoints (model.safetensors.index.json) and their modelling code in
// transformers; Yang, Kautz, Hatamizadeh, "Gated Delta Networks", arXiv:2412.06464. A_log and the
// norm of linear attention are stored in F32 from Qwen3.5 on.
#include "model/moe/family_rows.h"
#include "model/moe/parts_open.h"

// Shared experts with a gate of their own; their width is a field.
static const FieldRow shared_fields[] = {
    {.dim = DIM_SHARED_WIDTH_2, .paths = "shared_expert_intermediate_size", .need = FIELD_OPTIONAL},
    {.dim = DIM_SEPARATE,
     .paths = "expert_layout",
     .need = FIELD_OPTIONAL,
     .kind = FIELD_CHOICE,
     .choices = "fused=0|separate=1",
     .fallback_dim = DIM_SEPARATE},
};
static const FieldRow moe_fields[] = {
    {.dim = DIM_EXPERTS, .paths = "num_experts", .min = 1, .max = 1 << 20},
    {.dim = DIM_TOP_K, .paths = "num_experts_per_tok", .min = 1},
    {.dim = DIM_EXPERT_WIDTH, .paths = "moe_intermediate_size", .min = 1},
};
static const DimRule moe_rules[] = {
    {DIM_EXPERT_IN, DIM_FIRST, DIM_HIDDEN, DIM_HIDDEN, DIM_NONE, 0},
    {DIM_FUSED_WIDTH, DIM_PRODUCT, DIM_EXPERT_WIDTH, DIM_NONE, DIM_NONE, 2},
};
static const DimCheck moe_checks[] = {OPEN_MOE_CHECK};
static const InertKey moe_inert[] = {
    {"norm_topk_prob", NULL},
    {"router_aux_loss_coef", NULL},
    {"output_router_logits", NULL},
};

#define GATE                                                                                       \
    .component = COMPONENT_ROUTER, .shard = SHARD_REPLICATED, .store = STORE_PLAIN,                \
    .dims = {DIM_EXPERTS, DIM_HIDDEN}
#define SHARED .component = COMPONENT_SHARED, .when = DIM_SHARED_WIDTH_2
#define SEPARATE_EXPERTS                                                                           \
    {.name = "mlp.experts.{E}.gate_proj.weight", OPEN_EXPERT_IN, .when = DIM_SEPARATE},            \
        {.name = "mlp.experts.{E}.up_proj.weight", OPEN_EXPERT_IN, .when = DIM_SEPARATE}, {        \
        .name = "mlp.experts.{E}.down_proj.weight", OPEN_EXPERT_OUT, .when = DIM_SEPARATE          \
    }
#define SHARED_EXPERT                                                                              \
    {.name = "mlp.shared_expert.gate_proj.weight",                                                 \
     SHARED,                                                                                       \
     .shard = SHARD_COLUMN,                                                                        \
     .dims = {DIM_SHARED_WIDTH_2, DIM_HIDDEN}},                                                    \
        {.name = "mlp.shared_expert.up_proj.weight",                                               \
         SHARED,                                                                                   \
         .shard = SHARD_COLUMN,                                                                    \
         .dims = {DIM_SHARED_WIDTH_2, DIM_HIDDEN}},                                                \
        {.name = "mlp.shared_expert.down_proj.weight",                                             \
         SHARED,                                                                                   \
         .shard = SHARD_ROW,                                                                       \
         .dims = {DIM_HIDDEN, DIM_SHARED_WIDTH_2}},                                                \
    {                                                                                              \
        .name = "mlp.shared_expert_gate.weight", SHARED, .shard = SHARD_REPLICATED,                \
        .store = STORE_PLAIN, .dims = {                                                            \
            DIM_ONE,                                                                               \
            DIM_HIDDEN                                                                             \
        }                                                                                          \
    }

static const TensorRow moe_tensors[] = {
    {.name = "mlp.gate.weight", GATE},
    SEPARATE_EXPERTS,
    {.name = "mlp.experts.gate_up_proj", OPEN_FUSED_IN, .unless = DIM_SEPARATE},
    {.name = "mlp.experts.down_proj", OPEN_FUSED_OUT, .unless = DIM_SEPARATE},
    SHARED_EXPERT,
};

#define MOE_SPEC                                                                                   \
    { OPEN_MOE, .shared_width = DIM_SHARED_WIDTH_2 }

static const Part shared_part = {.scope = PART_MODEL, .name = "shared expert", FIELDS(shared)};
static const Part moe_part = {.scope = PART_MLP,
                              .name = "moe",
                              FIELDS(moe),
                              RULES(moe),
                              CHECKS(moe),
                              INERT(moe),
                              TENSORS(moe),
                              .mlp = MOE_SPEC};

// Qwen3-VL stores fused experts with their inputs first.
static const TensorRow vl_moe_tensors[] = {
    {.name = "mlp.gate.weight", GATE},
    SEPARATE_EXPERTS,
    {.name = "mlp.experts.gate_up_proj", OPEN_TURNED_IN, .unless = DIM_SEPARATE},
    {.name = "mlp.experts.down_proj", OPEN_TURNED_OUT, .unless = DIM_SEPARATE},
};

static const Part vl_moe_part = {.scope = PART_MLP,
                                 .name = "moe",
                                 FIELDS(moe),
                                 RULES(moe),
                                 CHECKS(moe),
                                 INERT(moe),
                                 TENSORS(vl_moe),
                                 .mlp = {OPEN_MOE}};

// ---- Attention with an output gate, fused into the query projection head by head.

static const FieldRow gated_fields[] = {
    {.dim = DIM_HEADS, .paths = "num_attention_heads", .min = 1},
    {.dim = DIM_KV_HEADS, .paths = "num_key_value_heads", .min = 1},
    {.dim = DIM_HEAD_DIM, .paths = "head_dim", .min = 1},
};
static const DimRule gated_rules[] = {
    {DIM_TWO, DIM_SUM, DIM_ONE, DIM_ONE, DIM_NONE, 0},
    {DIM_Q_WIDTH, DIM_PRODUCT, DIM_HEADS, DIM_HEAD_DIM, DIM_NONE, 0},
    {DIM_QK_DIM, DIM_PRODUCT, DIM_HEAD_DIM, DIM_NONE, DIM_NONE, 2},
    {DIM_Q_GATED, DIM_PRODUCT, DIM_Q_WIDTH, DIM_NONE, DIM_NONE, 2},
    {DIM_KV_WIDTH, DIM_PRODUCT, DIM_KV_HEADS, DIM_HEAD_DIM, DIM_NONE, 0},
    {DIM_KV_CACHE, DIM_PRODUCT, DIM_KV_WIDTH, DIM_NONE, DIM_NONE, 2},
};
static const DimCheck gated_checks[] = {{DIM_HEADS, DIM_MULTIPLE_OF, DIM_KV_HEADS}};
static const InertKey gated_inert[] = {
    {"attention_bias", "false|null"},
    {"qkv_bias", "false|null"},
    {"attn_output_gate", "true"},
};

#define ATTENTION .component = COMPONENT_ATTENTION
#define HEAD_NORM ATTENTION, .shard = SHARD_REPLICATED, .store = STORE_PLAIN, .dims = {DIM_HEAD_DIM}

static const TensorRow gated_tensors[] = {
    {.name = "self_attn.q_proj.weight",
     ATTENTION,
     .shard = SHARD_COLUMN,
     .unit = DIM_QK_DIM, // a head's queries and its gate
     .dims = {DIM_Q_GATED, DIM_HIDDEN}},
    {.name = "self_attn.k_proj.weight", OPEN_KEYS, .dims = {DIM_KV_WIDTH, DIM_HIDDEN}},
    {.name = "self_attn.v_proj.weight", OPEN_KEYS, .dims = {DIM_KV_WIDTH, DIM_HIDDEN}},
    {.name = "self_attn.o_proj.weight", OPEN_OUT},
    {.name = "self_attn.q_norm.weight", HEAD_NORM},
    {.name = "self_attn.k_norm.weight", HEAD_NORM},
};

static const Part gated_part = {.scope = PART_ATTENTION,
                                .name = "gated attention",
                                FIELDS(gated),
                                RULES(gated),
                                CHECKS(gated),
                                INERT(gated),
                                TENSORS(gated),
                                .attention = {OPEN_GQA, .output_gate = DIM_ONE}};

// ---- Gated delta network. State per sequence and layer: a matrix per value head in F32 and the
// last (kernel - 1) inputs of the convolution in BF16.

static const FieldRow delta_fields[] = {
    {.dim = DIM_LIN_KEY_HEADS, .paths = "linear_num_key_heads", .min = 1},
    {.dim = DIM_LIN_VALUE_HEADS, .paths = "linear_num_value_heads", .min = 1},
    {.dim = DIM_LIN_KEY_DIM, .paths = "linear_key_head_dim", .min = 1},
    {.dim = DIM_LIN_VALUE_DIM, .paths = "linear_value_head_dim", .min = 1},
    {.dim = DIM_LIN_CONV, .paths = "linear_conv_kernel_dim", .min = 1},
};
static const DimRule delta_rules[] = {
    {DIM_LIN_K, DIM_PRODUCT, DIM_LIN_KEY_HEADS, DIM_LIN_KEY_DIM, DIM_NONE, 0},
    {DIM_LIN_V, DIM_PRODUCT, DIM_LIN_VALUE_HEADS, DIM_LIN_VALUE_DIM, DIM_NONE, 0},
    {DIM_LIN_QKV, DIM_SUM, DIM_LIN_K, DIM_LIN_K, DIM_LIN_V, 0},
    {DIM_LIN_QKVZ, DIM_SUM, DIM_LIN_QKV, DIM_LIN_V, DIM_NONE, 0},
    {DIM_LIN_BA, DIM_PRODUCT, DIM_LIN_VALUE_HEADS, DIM_NONE, DIM_NONE, 2},
    {DIM_LIN_GROUP, DIM_SHARE, DIM_LIN_QKVZ, DIM_LIN_KEY_HEADS, DIM_NONE, 0},
    {DIM_LIN_GROUP_BA, DIM_SHARE, DIM_LIN_BA, DIM_LIN_KEY_HEADS, DIM_NONE, 0},
    {DIM_LIN_SHARE, DIM_SHARE, DIM_LIN_VALUE_HEADS, DIM_LIN_KEY_HEADS, DIM_NONE, 0},
    {DIM_LIN_SHARE_V, DIM_PRODUCT, DIM_LIN_SHARE, DIM_LIN_VALUE_DIM, DIM_NONE, 0},
    {DIM_LIN_TAIL, DIM_LESS, DIM_LIN_CONV, DIM_NONE, DIM_NONE, 1},
    {DIM_LIN_MATRIX_B, DIM_PRODUCT, DIM_LIN_V, DIM_LIN_KEY_DIM, DIM_NONE, 4},
    {DIM_LIN_TAIL_B, DIM_PRODUCT, DIM_LIN_QKV, DIM_LIN_TAIL, DIM_NONE, 2},
    {DIM_LIN_STATE_B, DIM_SUM, DIM_LIN_MATRIX_B, DIM_LIN_TAIL_B, DIM_NONE, 0},
};
static const DimCheck delta_checks[] = {{DIM_LIN_VALUE_HEADS, DIM_MULTIPLE_OF, DIM_LIN_KEY_HEADS}};
static const InertKey delta_inert[] = {
    {"full_attention_interval", NULL}, // beside layer_types, which is read
    {"mamba_ssm_dtype", "float32"},
    {"mlp_only_layers", "[]|null"},
};

// Cuts keep the value heads of a key head together.
#define QKV_PARTS                                                                                  \
    .segments = {                                                                                  \
        {DIM_LIN_K, DIM_LIN_KEY_DIM}, {DIM_LIN_K, DIM_LIN_KEY_DIM}, {DIM_LIN_V, DIM_LIN_SHARE_V}}
#define CONVOLUTION                                                                                \
    {                                                                                              \
        .name = "linear_attn.conv1d.weight", ATTENTION, .shard = SHARD_COLUMN,                     \
        .store = STORE_PLAIN, .dims = {DIM_LIN_QKV, DIM_ONE, DIM_LIN_CONV}, QKV_PARTS              \
    }
#define LINEAR_OUT                                                                                 \
    {                                                                                              \
        .name = "linear_attn.out_proj.weight", ATTENTION, .shard = SHARD_ROW,                      \
        .unit = DIM_LIN_SHARE_V, .dims = {                                                         \
            DIM_HIDDEN,                                                                            \
            DIM_LIN_V                                                                              \
        }                                                                                          \
    }
#define BY_HEAD ATTENTION, .shard = SHARD_COLUMN, .unit = DIM_LIN_SHARE

static const TensorRow delta_tensors[] = {
    {.name = "linear_attn.in_proj_qkv.weight",
     ATTENTION,
     .shard = SHARD_COLUMN,
     .dims = {DIM_LIN_QKV, DIM_HIDDEN},
     QKV_PARTS},
    {.name = "linear_attn.in_proj_z.weight",
     ATTENTION,
     .shard = SHARD_COLUMN,
     .unit = DIM_LIN_SHARE_V,
     .dims = {DIM_LIN_V, DIM_HIDDEN}},
    {.name = "linear_attn.in_proj_b.weight", BY_HEAD, .dims = {DIM_LIN_VALUE_HEADS, DIM_HIDDEN}},
    {.name = "linear_attn.in_proj_a.weight", BY_HEAD, .dims = {DIM_LIN_VALUE_HEADS, DIM_HIDDEN}},
    CONVOLUTION,
    {.name = "linear_attn.dt_bias", BY_HEAD, .store = STORE_PLAIN, .dims = {DIM_LIN_VALUE_HEADS}},
    {.name = "linear_attn.A_log", BY_HEAD, .store = STORE_F32, .dims = {DIM_LIN_VALUE_HEADS}},
    {.name = "linear_attn.norm.weight",
     ATTENTION,
     .shard = SHARD_REPLICATED,
     .store = STORE_F32,
     .dims = {DIM_LIN_VALUE_DIM}},
    LINEAR_OUT,
};

// Qwen3-Next fuses all projections, key head by key head.
static const TensorRow next_tensors[] = {
    {.name = "linear_attn.in_proj_qkvz.weight",
     ATTENTION,
     .shard = SHARD_COLUMN,
     .unit = DIM_LIN_GROUP,
     .dims = {DIM_LIN_QKVZ, DIM_HIDDEN}},
    {.name = "linear_attn.in_proj_ba.weight",
     ATTENTION,
     .shard = SHARD_COLUMN,
     .unit = DIM_LIN_GROUP_BA,
     .dims = {DIM_LIN_BA, DIM_HIDDEN}},
    CONVOLUTION,
    {.name = "linear_attn.dt_bias", BY_HEAD, .store = STORE_PLAIN, .dims = {DIM_LIN_VALUE_HEADS}},
    {.name = "linear_attn.A_log", BY_HEAD, .store = STORE_PLAIN, .dims = {DIM_LIN_VALUE_HEADS}},
    {.name = "linear_attn.norm.weight",
     ATTENTION,
     .shard = SHARD_REPLICATED,
     .store = STORE_PLAIN,
     .dims = {DIM_LIN_VALUE_DIM}},
    LINEAR_OUT,
};

#define DELTA_SPEC                                                                                 \
    {                                                                                              \
        .kind = ATTENTION_GATED_DELTA, .heads = DIM_LIN_VALUE_HEADS,                               \
        .kv_heads = DIM_LIN_KEY_HEADS, .head_dim = DIM_LIN_KEY_DIM,                                \
        .value_dim = DIM_LIN_VALUE_DIM, .conv = DIM_LIN_CONV, .output_gate = DIM_ONE,              \
        .state_B = DIM_LIN_STATE_B                                                                 \
    }

static const Part delta_part = {.scope = PART_ATTENTION,
                                .name = "gated delta",
                                FIELDS(delta),
                                RULES(delta),
                                CHECKS(delta),
                                INERT(delta),
                                TENSORS(delta),
                                .attention = DELTA_SPEC};
static const FieldRow interval_fields[] = {
    {.dim = DIM_MOE_PERIOD, .paths = "decoder_sparse_step", .need = FIELD_OPTIONAL, .fallback = 1},
    {.dim = DIM_RATIO_LARGE, .paths = "full_attention_interval", .min = 1},
};
static const Part interval_part = {.scope = PART_MODEL, .name = "interval", FIELDS(interval)};
static const Part next_part = {.scope = PART_ATTENTION,
                               .name = "gated delta",
                               FIELDS(delta),
                               RULES(delta),
                               CHECKS(delta),
                               TENSORS(next),
                               .attention = DELTA_SPEC};

// ---- Tables under other names, draft layers, the vision tower.

static const TensorRow wrapped_tensors[] = {
    {.name = "model.language_model.embed_tokens.weight", OPEN_TABLE(COMPONENT_EMBEDDING)},
    {.name = "model.language_model.norm.weight",
     .component = COMPONENT_NORM,
     .shard = SHARD_REPLICATED,
     .store = STORE_PLAIN,
     .dims = {DIM_HIDDEN}},
    {.name = "lm_head.weight", OPEN_TABLE(COMPONENT_HEAD), .unless = DIM_TIED},
};
static const Part wrapped_part = {.scope = PART_MODEL, .name = "tables", TENSORS(wrapped)};

static const FieldRow draft_fields[] = {
    {.dim = DIM_MTP_LAYERS,
     .paths = "mtp_num_hidden_layers",
     .need = FIELD_OPTIONAL,
     .max = 64,
     .fallback_dim = DIM_MTP_LAYERS},
};
static const DimRule draft_rules[] = {
    {DIM_TWO_HIDDEN, DIM_PRODUCT, DIM_HIDDEN, DIM_NONE, DIM_NONE, 2},
};
static const InertKey draft_inert[] = {{"mtp_use_dedicated_embeddings", "false|null"}};

#define DRAFT      .component = COMPONENT_MTP, .shard = SHARD_REPLICATED
#define DRAFT_NORM DRAFT, .store = STORE_PLAIN, .dims = {DIM_HIDDEN}

static const TensorRow draft_tensors[] = {
    {.name = "fc.weight", DRAFT, .dims = {DIM_HIDDEN, DIM_TWO_HIDDEN}},
    {.name = "pre_fc_norm_embedding.weight", DRAFT_NORM},
    {.name = "pre_fc_norm_hidden.weight", DRAFT_NORM},
    {.name = "norm.weight", DRAFT_NORM},
};
static const Part draft_part = {.scope = PART_MTP_ONCE,
                                .name = "mtp",
                                FIELDS(draft),
                                RULES(draft),
                                INERT(draft),
                                TENSORS(draft)};

#define TOWER(field) "vision_config." field

static const FieldRow tower_fields[] = {
    {.dim = DIM_VT_LAYERS, .paths = TOWER("depth"), .need = FIELD_OPTIONAL, .max = 10000},
    {.dim = DIM_VT_HIDDEN, .paths = TOWER("hidden_size"), .need = FIELD_OPTIONAL},
    {.dim = DIM_VT_WIDTH, .paths = TOWER("intermediate_size"), .need = FIELD_OPTIONAL},
    {.dim = DIM_VT_COLORS, .paths = TOWER("in_channels"), .need = FIELD_OPTIONAL, .fallback = 3},
    {.dim = DIM_VT_PATCH, .paths = TOWER("patch_size"), .need = FIELD_OPTIONAL},
    {.dim = DIM_VT_TIME, .paths = TOWER("temporal_patch_size"), .need = FIELD_OPTIONAL},
    {.dim = DIM_VT_SIDE, .paths = TOWER("spatial_merge_size"), .need = FIELD_OPTIONAL},
    {.dim = DIM_VT_POSITIONS, .paths = TOWER("num_position_embeddings"), .need = FIELD_OPTIONAL},
    {.dim = DIM_VT_OUT, .paths = TOWER("out_hidden_size"), .need = FIELD_OPTIONAL},
    {.dim = DIM_VT_DEEP,
     .paths = TOWER("deepstack_visual_indexes"),
     .need = FIELD_OPTIONAL,
     .kind = FIELD_LENGTH},
};
static const DimRule tower_rules[] = {
    {DIM_VT_QKV_ROWS, DIM_PRODUCT, DIM_VT_HIDDEN, DIM_NONE, DIM_NONE, 3},
    {DIM_VT_MERGED, DIM_PRODUCT, DIM_VT_HIDDEN, DIM_VT_SIDE, DIM_VT_SIDE, 0},
};
static const InertKey tower_inert[] = {
    {TOWER("hidden_act"), NULL},     {TOWER("initializer_range"), NULL},
    {TOWER("model_type"), NULL},     {TOWER("dtype"), NULL},
    {TOWER("num_heads"), NULL}, // the widths are given
    {"image_token_id", NULL},        {"video_token_id", NULL},
    {"vision_start_token_id", NULL}, {"vision_end_token_id", NULL},
};

#define VISION                                                                                     \
    .component = COMPONENT_VISION, .shard = SHARD_REPLICATED, .store = STORE_PLAIN,                \
    .when = DIM_VT_LAYERS
#define BLOCK VISION, .repeat = DIM_VT_LAYERS
#define DEEP                                                                                       \
    .component = COMPONENT_VISION, .shard = SHARD_REPLICATED, .store = STORE_PLAIN,                \
    .when = DIM_VT_DEEP, .repeat = DIM_VT_DEEP
#define BLOCKS(name) "model.visual.blocks.{B}." name
#define STACK(name)  "model.visual.deepstack_merger_list.{B}." name

static const TensorRow tower_tensors[] = {
    {.name = "model.visual.patch_embed.proj.weight",
     VISION,
     .dims = {DIM_VT_HIDDEN, DIM_VT_COLORS, DIM_VT_TIME, DIM_VT_PATCH, DIM_VT_PATCH}},
    {.name = "model.visual.patch_embed.proj.bias", VISION, .dims = {DIM_VT_HIDDEN}},
    {.name = "model.visual.pos_embed.weight", VISION, .dims = {DIM_VT_POSITIONS, DIM_VT_HIDDEN}},
    {.name = BLOCKS("norm1.weight"), BLOCK, .dims = {DIM_VT_HIDDEN}},
    {.name = BLOCKS("norm1.bias"), BLOCK, .dims = {DIM_VT_HIDDEN}},
    {.name = BLOCKS("norm2.weight"), BLOCK, .dims = {DIM_VT_HIDDEN}},
    {.name = BLOCKS("norm2.bias"), BLOCK, .dims = {DIM_VT_HIDDEN}},
    {.name = BLOCKS("attn.qkv.weight"), BLOCK, .dims = {DIM_VT_QKV_ROWS, DIM_VT_HIDDEN}},
    {.name = BLOCKS("attn.qkv.bias"), BLOCK, .dims = {DIM_VT_QKV_ROWS}},
    {.name = BLOCKS("attn.proj.weight"), BLOCK, .dims = {DIM_VT_HIDDEN, DIM_VT_HIDDEN}},
    {.name = BLOCKS("attn.proj.bias"), BLOCK, .dims = {DIM_VT_HIDDEN}},
    {.name = BLOCKS("mlp.linear_fc1.weight"), BLOCK, .dims = {DIM_VT_WIDTH, DIM_VT_HIDDEN}},
    {.name = BLOCKS("mlp.linear_fc1.bias"), BLOCK, .dims = {DIM_VT_WIDTH}},
    {.name = BLOCKS("mlp.linear_fc2.weight"), BLOCK, .dims = {DIM_VT_HIDDEN, DIM_VT_WIDTH}},
    {.name = BLOCKS("mlp.linear_fc2.bias"), BLOCK, .dims = {DIM_VT_HIDDEN}},
    {.name = "model.visual.merger.norm.weight", VISION, .dims = {DIM_VT_HIDDEN}},
    {.name = "model.visual.merger.norm.bias", VISION, .dims = {DIM_VT_HIDDEN}},
    {.name = "model.visual.merger.linear_fc1.weight",
     VISION,
     .dims = {DIM_VT_MERGED, DIM_VT_MERGED}},
    {.name = "model.visual.merger.linear_fc1.bias", VISION, .dims = {DIM_VT_MERGED}},
    {.name = "model.visual.merger.linear_fc2.weight", VISION, .dims = {DIM_VT_OUT, DIM_VT_MERGED}},
    {.name = "model.visual.merger.linear_fc2.bias", VISION, .dims = {DIM_VT_OUT}},
    {.name = STACK("norm.weight"), DEEP, .dims = {DIM_VT_MERGED}},
    {.name = STACK("norm.bias"), DEEP, .dims = {DIM_VT_MERGED}},
    {.name = STACK("linear_fc1.weight"), DEEP, .dims = {DIM_VT_MERGED, DIM_VT_MERGED}},
    {.name = STACK("linear_fc1.bias"), DEEP, .dims = {DIM_VT_MERGED}},
    {.name = STACK("linear_fc2.weight"), DEEP, .dims = {DIM_VT_OUT, DIM_VT_MERGED}},
    {.name = STACK("linear_fc2.bias"), DEEP, .dims = {DIM_VT_OUT}},
};
static const Part tower_part = {.scope = PART_BESIDE,
                                .name = "vision tower",
                                FIELDS(tower),
                                RULES(tower),
                                INERT(tower),
                                TENSORS(tower)};

// ---- Families.

#define WRAPPED_NAMES                                                                              \
    .prefix = "", .layer_prefix = "model.language_model.layers.{L}.",                              \
    .mtp_prefix = "mtp.layers.{D}.", .mtp_root = "mtp.", .fp8_scale_type = "BF16"
#define DENSE_STEPS DENSE_OFF_PERIOD(1), DENSE_LISTED("mlp_only_layers")
#define TYPED(which, type)                                                                         \
    { .part = &(which), .kind = PATTERN_NAMES, .path = "layer_types", .text = (type) }

#define QWEN35_MOE                                                                                 \
    WRAPPED_NAMES, .parts = {&parts_model_fields, &wrapped_part,      &parts_model_qwen_step,      \
                             &shared_part,        &parts_model_norms, &delta_part,                 \
                             &gated_part,         &moe_part,          &draft_part,                 \
                             &tower_part},                                                         \
                   .pattern = {TYPED(delta_part, "linear_attention"),                              \
                               TYPED(gated_part, "full_attention"), ALL(moe_part)},                \
                   .mtp_parts = {&gated_part, &moe_part}

#define QWEN35                                                                                     \
    WRAPPED_NAMES,                                                                                 \
        .parts = {&parts_model_fields, &wrapped_part,    &parts_model_norms, &delta_part,          \
                  &gated_part,         &parts_mlp_dense, &draft_part,        &tower_part},         \
        .pattern = {TYPED(delta_part, "linear_attention"), TYPED(gated_part, "full_attention"),    \
                    ALL(parts_mlp_dense)},                                                         \
        .mtp_parts = {&gated_part, &parts_mlp_dense}

static const Family families[] = {
    {.model_types = "qwen3_moe",
     .prefix = "",
     .layer_prefix = "model.layers.{L}.",
     .fp8_scale_type = "BF16",
     .parts = {&parts_model_tables, &parts_model_qwen_step, &parts_model_norms,
               &parts_attention_gqa, &parts_mlp_dense, &parts_mlp_moe, &parts_model_no_window},
     .pattern = {ALL(parts_attention_gqa), ALL(parts_mlp_moe), DENSE_STEPS},
     .presets = {{DIM_QK_NORM, 1}}},
    {.model_types = "qwen2", LLAMA, .presets = {{DIM_QKV_BIAS, 1}}},
    {.model_types = "qwen3", LLAMA, .presets = {{DIM_QK_NORM, 1}}},
    {.model_types = "qwen2_moe",
     PLAIN_NAMES,
     .parts = {&parts_model_tables, &parts_model_qwen_step, &shared_part, &parts_model_norms,
               &parts_attention_gqa, &parts_mlp_dense, &moe_part, &parts_model_no_window},
     .pattern = {ALL(parts_attention_gqa), ALL(moe_part), DENSE_STEPS},
     .presets = {{DIM_QKV_BIAS, 1}, {DIM_SEPARATE, 1}}},
    // Checkpoints of Qwen3-Next store a draft layer that their config does not mention.
    {.model_types = "qwen3_next",
     .prefix = "",
     .layer_prefix = "model.layers.{L}.",
     .mtp_prefix = "mtp.layers.{D}.",
     .mtp_root = "mtp.",
     .fp8_scale_type = "BF16",
     .parts = {&parts_model_tables, &interval_part, &shared_part, &parts_model_norms, &next_part,
               &gated_part, &parts_mlp_dense, &moe_part, &draft_part, &parts_model_no_window},
     .pattern = {ALL(next_part),
                 {.part = &gated_part,
                  .kind = PATTERN_PERIOD,
                  .mode = PATTERN_OVERRIDE,
                  .dim = DIM_RATIO_LARGE,
                  .base = 1},
                 ALL(moe_part),
                 DENSE_STEPS},
     .presets = {{DIM_SEPARATE, 1}, {DIM_MTP_LAYERS, 1}},
     .mtp_parts = {&gated_part, &moe_part}},
    {.model_types = "qwen3_5_moe",
     .text_path = "text_config",
     .text_types = "qwen3_5_moe_text",
     QWEN35_MOE},
    {.model_types = "qwen3_5_moe_text", QWEN35_MOE},
    {.model_types = "qwen3_5", .text_path = "text_config", .text_types = "qwen3_5_text", QWEN35},
    {.model_types = "qwen3_5_text", QWEN35},
    {.model_types = "qwen3_vl_moe",
     .text_path = "text_config",
     .text_types = "qwen3_vl_moe_text",
     WRAPPED_NAMES,
     .parts = {&parts_model_fields, &wrapped_part, &parts_model_qwen_step, &shared_part,
               &parts_model_norms, &parts_attention_gqa, &parts_mlp_dense, &vl_moe_part,
               &parts_model_no_window, &tower_part},
     .pattern = {ALL(parts_attention_gqa), ALL(vl_moe_part), DENSE_STEPS},
     .presets = {{DIM_QK_NORM, 1}}},
    {.model_types = "qwen3_vl",
     .text_path = "text_config",
     .text_types = "qwen3_vl_text",
     WRAPPED_NAMES,
     .parts = {&parts_model_fields, &wrapped_part, &parts_model_norms, &parts_attention_gqa,
               &parts_mlp_dense, &parts_model_no_window, &tower_part},
     .pattern = {ALL(parts_attention_gqa), ALL(parts_mlp_dense)},
     .presets = {{DIM_QK_NORM, 1}}},
};

const FamilyGroup family_qwen = {families, COUNT(families)};
