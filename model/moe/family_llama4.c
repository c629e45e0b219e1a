// Llama 4: attention within chunks in most layers, experts beside a shared one in some or all, and
// a vision tower.
//
// Invariant: rows only; no code. Sources: tensor names and shapes of
// meta-llama/Llama-4-Scout-17B-16E-Instruct and Llama-4-Maverick-17B-128E-Instruct, and of
// RedHatAI/Llama-4-Scout-17B-16E-Instruct-FP8-dynamic for experts one by one.
#include "model/moe/family_rows.h"
#include "model/moe/parts_open.h"

#define LAYERS_MAX 10000

// Every `no_rope_layer_interval`th layer sees all tokens, unless `no_rope_layers` says for each
// layer whether it is rotated (1: within chunks), or `layer_types` names the kind of each.
static const FieldRow model_fields[] = {
    {.dim = DIM_NOPE_PERIOD,
     .paths = "no_rope_layer_interval",
     .need = FIELD_OPTIONAL,
     .min = 1,
     .fallback = 4},
    {.dim = DIM_NOPE_LISTED,
     .paths = "no_rope_layers",
     .need = FIELD_OPTIONAL,
     .kind = FIELD_LENGTH},
    {.dim = DIM_MOE_PERIOD,
     .paths = "interleave_moe_layer_step",
     .need = FIELD_OPTIONAL,
     .min = 1,
     .fallback = 1},
    {.dim = DIM_MOE_LISTED, .paths = "moe_layers", .need = FIELD_OPTIONAL, .kind = FIELD_LENGTH},
};
static const InertKey model_inert[] = {
    {"use_qk_norm", NULL}, // a norm without weights
    {"attn_scale", NULL},      {"attn_temperature_tuning", NULL}, {"floor_scale", NULL},
    {"boi_token_index", NULL}, {"eoi_token_index", NULL},         {"image_token_index", NULL},
    {"image_token_id", NULL},
};
static const Part model = {.scope = PART_MODEL, .name = "llama 4", FIELDS(model), INERT(model)};

// Checkpoints made by llm-compressor keep their experts one by one, and say so in this field.
static const FieldRow moe_fields[] = {
    OPEN_EXPERTS("num_local_experts"),
    OPEN_TOP_K,
    {.dim = DIM_EXPERT_WIDTH, .paths = "intermediate_size", .min = 1},
    {.dim = DIM_SEPARATE,
     .paths = "for_llm_compressor",
     .need = FIELD_OPTIONAL,
     .kind = FIELD_FLAG},
    {.dim = DIM_SEPARATE,
     .paths = "expert_layout",
     .need = FIELD_OPTIONAL,
     .kind = FIELD_CHOICE,
     .choices = "fused=0|separate=1",
     .fallback_dim = DIM_SEPARATE},
};
static const DimRule moe_rules[] = {
    OPEN_FUSED_RULE,
    {DIM_SHARED_WIDTH, DIM_FIRST, DIM_EXPERT_WIDTH, DIM_NONE, DIM_NONE, 0},
};
static const DimCheck moe_checks[] = {OPEN_MOE_CHECK};
static const InertKey moe_inert[] = {OPEN_MOE_INERT};
static const TensorRow moe_tensors[] = {
    {.name = "feed_forward.experts.gate_up_proj", OPEN_TURNED_IN, .unless = DIM_SEPARATE},
    {.name = "feed_forward.experts.down_proj", OPEN_TURNED_OUT, .unless = DIM_SEPARATE},
    {.name = "feed_forward.experts.{E}.gate_proj.weight", OPEN_EXPERT_IN, .when = DIM_SEPARATE},
    {.name = "feed_forward.experts.{E}.up_proj.weight", OPEN_EXPERT_IN, .when = DIM_SEPARATE},
    {.name = "feed_forward.experts.{E}.down_proj.weight", OPEN_EXPERT_OUT, .when = DIM_SEPARATE},
    {.name = "feed_forward.router.weight", OPEN_ROUTER},
    {.name = "feed_forward.shared_expert.gate_proj.weight", OPEN_SHARED_IN},
    {.name = "feed_forward.shared_expert.up_proj.weight", OPEN_SHARED_IN},
    {.name = "feed_forward.shared_expert.down_proj.weight", OPEN_SHARED_OUT},
};
static const Part moe = {
    .scope = PART_MLP,
    .name = "moe",
    FIELDS(moe),
    RULES(moe),
    CHECKS(moe),
    INERT(moe),
    TENSORS(moe),
    .mlp = {OPEN_MOE, .shared_width = DIM_SHARED_WIDTH},
};

static const FieldRow dense_fields[] = {
    {.dim = DIM_DENSE_WIDTH, .paths = "intermediate_size_mlp", .min = 1},
};
static const TensorRow dense_tensors[] = {
    {.name = "feed_forward.gate_proj.weight", OPEN_DENSE_IN},
    {.name = "feed_forward.up_proj.weight", OPEN_DENSE_IN},
    {.name = "feed_forward.down_proj.weight", OPEN_DENSE_OUT},
};
static const Part dense = {
    .scope = PART_MLP,
    .name = "dense",
    FIELDS(dense),
    TENSORS(dense),
    .mlp = {.width = DIM_DENSE_WIDTH},
};

// Patches and one class embedding; four patches make a token, in the width of the blocks' inner
// layer. A config without the tower's fields has none.
#define TOWER(field) "vision_config." field
static const FieldRow vision_fields[] = {
    {.dim = DIM_VT_LAYERS,
     .paths = TOWER("num_hidden_layers"),
     .need = FIELD_ASSUMED,
     .max = LAYERS_MAX},
    {.dim = DIM_VT_HIDDEN, .paths = TOWER("hidden_size"), .need = FIELD_OPTIONAL},
    {.dim = DIM_VT_WIDTH, .paths = TOWER("intermediate_size"), .need = FIELD_OPTIONAL},
    {.dim = DIM_VT_PATCH, .paths = TOWER("patch_size"), .need = FIELD_OPTIONAL},
    {.dim = DIM_VT_IMAGE, .paths = TOWER("image_size"), .need = FIELD_OPTIONAL},
    {.dim = DIM_VT_COLORS, .paths = TOWER("num_channels"), .need = FIELD_OPTIONAL, .fallback = 3},
    {.dim = DIM_VT_PROJECT_IN, .paths = TOWER("projector_input_dim"), .need = FIELD_OPTIONAL},
    {.dim = DIM_VT_PROJECT_OUT, .paths = TOWER("projector_output_dim"), .need = FIELD_OPTIONAL},
    {.dim = DIM_VT_OUT, .paths = TOWER("vision_output_dim"), .need = FIELD_OPTIONAL},
};
static const DimRule vision_rules[] = {
    {DIM_VT_PATCH_IN, DIM_PRODUCT, DIM_VT_COLORS, DIM_VT_PATCH, DIM_VT_PATCH, 0},
    {DIM_VT_GRID, DIM_SHARE, DIM_VT_IMAGE, DIM_VT_PATCH, DIM_NONE, 0},
    {DIM_VT_PATCHES, DIM_PRODUCT, DIM_VT_GRID, DIM_VT_GRID, DIM_NONE, 0},
    {DIM_VT_POSITIONS, DIM_SUM, DIM_VT_PATCHES, DIM_ONE, DIM_NONE, 0},
};
static const DimCheck vision_checks[] = {
    {DIM_VT_OUT, DIM_EQUAL, DIM_VT_PROJECT_OUT},
};
static const InertKey vision_inert[] = {
    {TOWER("_attn_implementation_autoset"), NULL},
    {TOWER("attention_dropout"), NULL},
    {TOWER("hidden_act"), NULL},
    {TOWER("initializer_range"), NULL},
    {TOWER("model_type"), "llama4_vision_model"},
    {TOWER("multi_modal_projector_bias"), "false"},
    {TOWER("norm_eps"), NULL},
    {TOWER("num_attention_heads"), NULL}, // of hidden_size together
    {TOWER("pixel_shuffle_ratio"), NULL}, // the widths are given
    {TOWER("projector_dropout"), NULL},
    {TOWER("rope_theta"), NULL},
    {TOWER("torch_dtype"), NULL},
    {TOWER("vision_feature_layer"), NULL},
    {TOWER("vision_feature_select_strategy"), NULL},
};
#define VISION                                                                                     \
    .component = COMPONENT_VISION, .shard = SHARD_REPLICATED, .store = STORE_PLAIN,                \
    .when = DIM_VT_LAYERS
#define BLOCK        VISION, .repeat = DIM_VT_LAYERS
#define IN_BLOCK(it) "vision_model.model.layers.{B}." it
#define SQUARE(it)                                                                                 \
    {.name = IN_BLOCK(it ".weight"), BLOCK, .dims = {DIM_VT_HIDDEN, DIM_VT_HIDDEN}}, {             \
        .name = IN_BLOCK(it ".bias"), BLOCK, .dims = { DIM_VT_HIDDEN }                             \
    }
#define LAYER_NORM(it, where)                                                                      \
    {.name = it ".weight", where, .dims = {DIM_VT_HIDDEN}}, {                                      \
        .name = it ".bias", where, .dims = { DIM_VT_HIDDEN }                                       \
    }
static const TensorRow vision_tensors[] = {
    {.name = "vision_model.patch_embedding.linear.weight",
     VISION,
     .dims = {DIM_VT_HIDDEN, DIM_VT_PATCH_IN}},
    {.name = "vision_model.class_embedding", VISION, .dims = {DIM_VT_HIDDEN}},
    {.name = "vision_model.positional_embedding_vlm",
     VISION,
     .dims = {DIM_VT_POSITIONS, DIM_VT_HIDDEN}},
    LAYER_NORM("vision_model.layernorm_pre", VISION),
    LAYER_NORM("vision_model.layernorm_post", VISION),
    SQUARE("self_attn.q_proj"),
    SQUARE("self_attn.k_proj"),
    SQUARE("self_attn.v_proj"),
    SQUARE("self_attn.o_proj"),
    {.name = IN_BLOCK("mlp.fc1.weight"), BLOCK, .dims = {DIM_VT_WIDTH, DIM_VT_HIDDEN}},
    {.name = IN_BLOCK("mlp.fc1.bias"), BLOCK, .dims = {DIM_VT_WIDTH}},
    {.name = IN_BLOCK("mlp.fc2.weight"), BLOCK, .dims = {DIM_VT_HIDDEN, DIM_VT_WIDTH}},
    {.name = IN_BLOCK("mlp.fc2.bias"), BLOCK, .dims = {DIM_VT_HIDDEN}},
    LAYER_NORM(IN_BLOCK("input_layernorm"), BLOCK),
    LAYER_NORM(IN_BLOCK("post_attention_layernorm"), BLOCK),
    {.name = "vision_model.vision_adapter.mlp.fc1.weight",
     VISION,
     .dims = {DIM_VT_PROJECT_IN, DIM_VT_WIDTH}},
    {.name = "vision_model.vision_adapter.mlp.fc2.weight",
     VISION,
     .dims = {DIM_VT_PROJECT_OUT, DIM_VT_PROJECT_OUT}},
    {.name = "multi_modal_projector.linear_1.weight", VISION, .dims = {DIM_HIDDEN, DIM_VT_OUT}},
};
static const Part vision = {
    .scope = PART_BESIDE,
    .name = "vision tower",
    FIELDS(vision),
    RULES(vision),
    CHECKS(vision),
    INERT(vision),
    TENSORS(vision),
};

#define LLAMA4                                                                                     \
    .layer_prefix = "model.layers.{L}.", .fp8_scale_type = "F32",                                  \
    .pattern = {                                                                                   \
        ALL(parts_open_gqa_window),                                                                \
        {.part = &parts_open_gqa,                                                                  \
         .kind = PATTERN_PERIOD,                                                                   \
         .mode = PATTERN_OVERRIDE,                                                                 \
         .dim = DIM_NOPE_PERIOD,                                                                   \
         .base = 1,                                                                                \
         .unless = DIM_NOPE_LISTED},                                                               \
        {.part = &parts_open_gqa,                                                                  \
         .kind = PATTERN_FLAGS,                                                                    \
         .mode = PATTERN_OVERRIDE,                                                                 \
         .path = "no_rope_layers",                                                                 \
         .base = 0,                                                                                \
         .when = DIM_NOPE_LISTED},                                                                 \
        {.part = &parts_open_gqa,                                                                  \
         .kind = PATTERN_NAMES,                                                                    \
         .mode = PATTERN_OVERRIDE,                                                                 \
         .path = "layer_types",                                                                    \
         .text = "full_attention"},                                                                \
        {.part = &parts_open_gqa_window,                                                           \
         .kind = PATTERN_NAMES,                                                                    \
         .mode = PATTERN_OVERRIDE,                                                                 \
         .path = "layer_types",                                                                    \
         .text = "chunked_attention"},                                                             \
        ALL(moe),                                                                                  \
        {.part = &dense,                                                                           \
         .kind = PATTERN_OFF_PERIOD,                                                               \
         .mode = PATTERN_OVERRIDE,                                                                 \
         .dim = DIM_MOE_PERIOD,                                                                    \
         .base = 1,                                                                                \
         .unless = DIM_MOE_LISTED},                                                                \
        {.part = &dense, .kind = PATTERN_ALL, .mode = PATTERN_OVERRIDE, .when = DIM_MOE_LISTED},   \
        {.part = &moe,                                                                             \
         .kind = PATTERN_LIST,                                                                     \
         .mode = PATTERN_OVERRIDE,                                                                 \
         .path = "moe_layers",                                                                     \
         .when = DIM_MOE_LISTED}}
#define LLAMA4_PARTS                                                                               \
    &parts_model_tables, &parts_model_norms, &model, &parts_open_gqa, &parts_open_gqa_window,      \
        &dense, &moe

static const Family families[] = {
    {.model_types = "llama4",
     .text_path = "text_config",
     .text_types = "llama4_text",
     .prefix = "language_model.",
     .parts = {LLAMA4_PARTS, &vision},
     LLAMA4},
    {.model_types = "llama4_text", .prefix = "", .parts = {LLAMA4_PARTS}, LLAMA4},
};

const FamilyGroup family_llama4 = {families, COUNT(families)};
