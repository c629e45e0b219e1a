// Gemma 4: a window in most layers; in the others wider heads, whose keys are their values; and
// layers with a dense block and experts side by side.
//
// Invariant: rows only; no code. Sources: tensor names and shapes of google/gemma-4-26B-A4B and
// nvidia/Gemma-4-31B-IT-NVFP4, and of Hugging Face's modelling code for gemma4.
#include "model/moe/family_rows.h"
#include "model/moe/parts_open.h"

static const FieldRow model_fields[] = {
    {.dim = DIM_MOE_BLOCK, .paths = "enable_moe_block", .need = FIELD_OPTIONAL, .kind = FIELD_FLAG},
};
static const InertKey model_inert[] = {
    {"hidden_activation", NULL}, // a gate in any case
    {"final_logit_softcapping", NULL},
    {"attention_bias", "false|null"},
    {"hidden_size_per_layer_input", "0|null"}, // embeddings of each layer
    {"vocab_size_per_layer_input", NULL},      // of these
    {"num_kv_shared_layers", "0|null"},
    {"use_double_wide_mlp", "false|null"},
    {"use_bidirectional_attention", NULL}, // within an image: the same work
    {"expert_intermediate_size", "null"},
    {"audio_token_id", NULL},
    {"boa_token_id", NULL},
    {"boi_token_id", NULL},
    {"eoa_token_id", NULL},
    {"eoa_token_index", NULL},
    {"eoi_token_id", NULL},
    {"image_token_id", NULL},
    {"video_token_id", NULL},
    {"vision_soft_tokens_per_image", NULL},
};
static const Part model = {.scope = PART_MODEL, .name = "gemma 4", FIELDS(model), INERT(model)};

static const TensorRow norm_tensors[] = {
    {.name = "input_layernorm.weight", OPEN_NORM},
    {.name = "post_attention_layernorm.weight", OPEN_NORM},
    {.name = "pre_feedforward_layernorm.weight", OPEN_NORM},
    {.name = "post_feedforward_layernorm.weight", OPEN_NORM},
    {.name = "layer_scalar",
     .component = COMPONENT_NORM,
     .shard = SHARD_REPLICATED,
     .store = STORE_PLAIN,
     .dims = {DIM_ONE}},
};
static const Part norms = {.scope = PART_EVERY_LAYER, .name = "norms", TENSORS(norm)};

static const FieldRow sliding_fields[] = {
    {.dim = DIM_SWA_HEADS, .paths = "num_attention_heads", .min = 1},
    {.dim = DIM_SWA_KV_HEADS, .paths = "num_key_value_heads", .min = 1},
    {.dim = DIM_SWA_HEAD_DIM, .paths = "head_dim", .min = 1},
    {.dim = DIM_WINDOW, .paths = "sliding_window", .min = 1},
};
static const DimRule sliding_rules[] = {
    {DIM_SWA_Q_WIDTH, DIM_PRODUCT, DIM_SWA_HEADS, DIM_SWA_HEAD_DIM, DIM_NONE, 0},
    {DIM_SWA_KV_WIDTH, DIM_PRODUCT, DIM_SWA_KV_HEADS, DIM_SWA_HEAD_DIM, DIM_NONE, 0},
    {DIM_SWA_CACHE, DIM_PRODUCT, DIM_SWA_KV_WIDTH, DIM_NONE, DIM_NONE, 2},
};
static const DimCheck sliding_checks[] = {
    {DIM_SWA_HEADS, DIM_MULTIPLE_OF, DIM_SWA_KV_HEADS},
};
#define QUERY .component = COMPONENT_ATTENTION, .shard = SHARD_COLUMN, .unit = DIM_SWA_HEAD_DIM
#define KEYS                                                                                       \
    .component = COMPONENT_ATTENTION, .shard = SHARD_KV, .unit = DIM_SWA_HEAD_DIM,                 \
    .dims = {DIM_SWA_KV_WIDTH, DIM_HIDDEN}
static const TensorRow sliding_tensors[] = {
    {.name = "self_attn.q_proj.weight", QUERY, .dims = {DIM_SWA_Q_WIDTH, DIM_HIDDEN}},
    {.name = "self_attn.k_proj.weight", KEYS},
    {.name = "self_attn.v_proj.weight", KEYS},
    {.name = "self_attn.o_proj.weight",
     .component = COMPONENT_ATTENTION,
     .shard = SHARD_ROW,
     .unit = DIM_SWA_HEAD_DIM,
     .dims = {DIM_HIDDEN, DIM_SWA_Q_WIDTH}},
    {.name = "self_attn.q_norm.weight", OPEN_WHOLE, .dims = {DIM_SWA_HEAD_DIM}},
    {.name = "self_attn.k_norm.weight", OPEN_WHOLE, .dims = {DIM_SWA_HEAD_DIM}},
};
static const Part sliding = {
    .scope = PART_ATTENTION,
    .name = "gqa of a window",
    FIELDS(sliding),
    RULES(sliding),
    CHECKS(sliding),
    TENSORS(sliding),
    .attention = {.kind = ATTENTION_GQA,
                  .heads = DIM_SWA_HEADS,
                  .kv_heads = DIM_SWA_KV_HEADS,
                  .head_dim = DIM_SWA_HEAD_DIM,
                  .value_dim = DIM_SWA_HEAD_DIM,
                  .window = DIM_WINDOW,
                  .kv_elements = DIM_SWA_CACHE},
};

// Keys that are the values are still cached twice: rotated, and normalised otherwise.
static const FieldRow full_fields[] = {
    {.dim = DIM_HEADS, .paths = "num_attention_heads", .min = 1},
    {.dim = DIM_K_EQ_V, .paths = "attention_k_eq_v", .need = FIELD_OPTIONAL, .kind = FIELD_FLAG},
    {.dim = DIM_GLOBAL_KV, .paths = "num_global_key_value_heads", .need = FIELD_OPTIONAL, .min = 1},
    {.dim = DIM_GLOBAL_DIM, .paths = "global_head_dim", .need = FIELD_OPTIONAL, .min = 1},
};
static const DimRule full_rules[] = {
    {DIM_GLOBAL_USED, DIM_PRODUCT, DIM_K_EQ_V, DIM_GLOBAL_KV, DIM_NONE, 0},
    {DIM_KV_HEADS, DIM_FIRST, DIM_GLOBAL_USED, DIM_SWA_KV_HEADS, DIM_NONE, 0},
    {DIM_HEAD_DIM, DIM_FIRST, DIM_GLOBAL_DIM, DIM_SWA_HEAD_DIM, DIM_NONE, 0},
    {DIM_Q_WIDTH, DIM_PRODUCT, DIM_HEADS, DIM_HEAD_DIM, DIM_NONE, 0},
    {DIM_KV_WIDTH, DIM_PRODUCT, DIM_KV_HEADS, DIM_HEAD_DIM, DIM_NONE, 0},
    {DIM_KV_CACHE, DIM_PRODUCT, DIM_KV_WIDTH, DIM_NONE, DIM_NONE, 2},
};
static const DimCheck full_checks[] = {OPEN_HEAD_CHECKS};
static const TensorRow full_tensors[] = {
    {.name = "self_attn.q_proj.weight", OPEN_QUERY, .dims = {DIM_Q_WIDTH, DIM_HIDDEN}},
    {.name = "self_attn.k_proj.weight", OPEN_KEYS, .dims = {DIM_KV_WIDTH, DIM_HIDDEN}},
    {.name = "self_attn.v_proj.weight",
     OPEN_KEYS,
     .dims = {DIM_KV_WIDTH, DIM_HIDDEN},
     .unless = DIM_K_EQ_V},
    {.name = "self_attn.o_proj.weight", OPEN_OUT},
    {.name = "self_attn.q_norm.weight", OPEN_WHOLE, .dims = {DIM_HEAD_DIM}},
    {.name = "self_attn.k_norm.weight", OPEN_WHOLE, .dims = {DIM_HEAD_DIM}},
};
static const Part full = {
    .scope = PART_ATTENTION,
    .name = "gqa",
    FIELDS(full),
    RULES(full),
    CHECKS(full),
    TENSORS(full),
    .attention = {OPEN_GQA},
};

// The fields of experts are null where there are none.
static const FieldRow moe_fields[] = {
    {.dim = DIM_EXPERTS, .paths = "num_experts", .need = FIELD_OPTIONAL, .max = 1 << 20},
    {.dim = DIM_TOP_K, .paths = "top_k_experts", .need = FIELD_OPTIONAL},
    {.dim = DIM_EXPERT_WIDTH, .paths = "moe_intermediate_size", .need = FIELD_OPTIONAL},
    OPEN_LAYOUT,
};
static const DimRule moe_rules[] = {
    OPEN_FUSED_RULE,
    {DIM_SHARED_WIDTH, DIM_FIRST, DIM_DENSE_WIDTH, DIM_NONE, DIM_NONE, 0},
};
static const DimCheck moe_checks[] = {OPEN_MOE_CHECK};
#define SCALE .component = COMPONENT_ROUTER, .shard = SHARD_REPLICATED, .store = STORE_PLAIN
static const TensorRow moe_tensors[] = {
    {.name = "post_feedforward_layernorm_1.weight", OPEN_NORM},
    {.name = "pre_feedforward_layernorm_2.weight", OPEN_NORM},
    {.name = "post_feedforward_layernorm_2.weight", OPEN_NORM},
    {.name = "mlp.gate_proj.weight", OPEN_SHARED_IN},
    {.name = "mlp.up_proj.weight", OPEN_SHARED_IN},
    {.name = "mlp.down_proj.weight", OPEN_SHARED_OUT},
    {.name = "router.proj.weight", OPEN_ROUTER},
    {.name = "router.scale", SCALE, .dims = {DIM_HIDDEN}},
    {.name = "router.per_expert_scale", SCALE, .dims = {DIM_EXPERTS}},
    {.name = "experts.gate_up_proj", OPEN_FUSED_IN, .unless = DIM_SEPARATE},
    {.name = "experts.down_proj", OPEN_FUSED_OUT, .unless = DIM_SEPARATE},
    {.name = "experts.{E}.gate_proj.weight", OPEN_EXPERT_IN, .when = DIM_SEPARATE},
    {.name = "experts.{E}.up_proj.weight", OPEN_EXPERT_IN, .when = DIM_SEPARATE},
    {.name = "experts.{E}.down_proj.weight", OPEN_EXPERT_OUT, .when = DIM_SEPARATE},
};
static const Part moe = {
    .scope = PART_MLP,
    .name = "moe",
    FIELDS(moe),
    RULES(moe),
    CHECKS(moe),
    TENSORS(moe),
    .mlp = {OPEN_MOE, .shared_width = DIM_SHARED_WIDTH},
};

#define GEMMA4                                                                                     \
    .layer_prefix = "layers.{L}.", .fp8_scale_type = "F32",                                        \
    .pattern = {                                                                                   \
        {.part = &sliding,                                                                         \
         .kind = PATTERN_NAMES,                                                                    \
         .path = "layer_types",                                                                    \
         .text = "sliding_attention"},                                                             \
        {.part = &full, .kind = PATTERN_NAMES, .path = "layer_types", .text = "full_attention"},   \
        ALL(parts_mlp_dense),                                                                      \
        {.part = &moe, .kind = PATTERN_ALL, .mode = PATTERN_OVERRIDE, .when = DIM_MOE_BLOCK}}
#define GEMMA4_PARTS                                                                               \
    &parts_model_fields, &tables, &model, &norms, &sliding, &full, &parts_mlp_dense, &moe

static const TensorRow table_tensors[] = {
    {.name = "embed_tokens.weight", OPEN_TABLE(COMPONENT_EMBEDDING)},
    {.name = "norm.weight", OPEN_NORM},
    {.name = "lm_head.weight", OPEN_TABLE(COMPONENT_HEAD), .unless = DIM_TIED},
};
static const Part tables = {.scope = PART_MODEL, .name = "tables", TENSORS(table)};

// The tower and the projection from it; a config without the tower's fields has none.
#define TOWER(field) "vision_config." field
static const FieldRow vision_fields[] = {
    {.dim = DIM_VT_LAYERS,
     .paths = TOWER("num_hidden_layers"),
     .need = FIELD_ASSUMED,
     .max = 10000},
    {.dim = DIM_VT_HIDDEN, .paths = TOWER("hidden_size"), .need = FIELD_OPTIONAL},
    {.dim = DIM_VT_WIDTH, .paths = TOWER("intermediate_size"), .need = FIELD_OPTIONAL},
    {.dim = DIM_VT_HEADS, .paths = TOWER("num_attention_heads"), .need = FIELD_OPTIONAL},
    {.dim = DIM_VT_KV, .paths = TOWER("num_key_value_heads"), .need = FIELD_OPTIONAL},
    {.dim = DIM_VT_HEAD_DIM, .paths = TOWER("head_dim"), .need = FIELD_OPTIONAL},
    {.dim = DIM_VT_PATCH, .paths = TOWER("patch_size"), .need = FIELD_OPTIONAL},
    {.dim = DIM_VT_POSITIONS, .paths = TOWER("position_embedding_size"), .need = FIELD_OPTIONAL},
    {.dim = DIM_VT_STANDARD,
     .paths = TOWER("standardize"),
     .need = FIELD_OPTIONAL,
     .kind = FIELD_FLAG},
};
static const DimRule vision_rules[] = {
    {DIM_TWO, DIM_PRODUCT, DIM_ONE, DIM_NONE, DIM_NONE, 2},
    {DIM_VT_PATCH_IN, DIM_PRODUCT, DIM_VT_PATCH, DIM_VT_PATCH, DIM_NONE, 3},
    {DIM_VT_QKV, DIM_PRODUCT, DIM_VT_HEADS, DIM_VT_HEAD_DIM, DIM_NONE, 0},
    {DIM_VT_KV_WIDTH, DIM_PRODUCT, DIM_VT_KV, DIM_VT_HEAD_DIM, DIM_NONE, 0},
};
static const InertKey vision_inert[] = {
    {TOWER("_name_or_path"), NULL},
    {TOWER("architectures"), NULL},
    {TOWER("attention_bias"), "false"},
    {TOWER("attention_dropout"), NULL},
    {TOWER("chunk_size_feed_forward"), NULL},
    {TOWER("default_output_length"), NULL},
    {TOWER("dtype"), "bfloat16|null"},
    {TOWER("global_head_dim"), NULL}, // all layers are alike
    {TOWER("hidden_activation"), NULL},
    {TOWER("id2label"), NULL},
    {TOWER("image_seq_length"), NULL},
    {TOWER("initializer_range"), NULL},
    {TOWER("is_encoder_decoder"), NULL},
    {TOWER("label2id"), NULL},
    {TOWER("max_position_embeddings"), NULL},
    {TOWER("model_type"), "gemma4_vision"},
    {TOWER("output_attentions"), NULL},
    {TOWER("output_hidden_states"), NULL},
    {TOWER("pooling_kernel_size"), NULL},
    {TOWER("problem_type"), NULL},
    {TOWER("return_dict"), NULL},
    {TOWER("rms_norm_eps"), NULL},
    {TOWER("rope_parameters"), NULL},
    {TOWER("use_clipped_linears"), "false|null"}, // true stores the bounds
    {TOWER("video_seq_length"), NULL},
};
#define VISION                                                                                     \
    .component = COMPONENT_VISION, .shard = SHARD_REPLICATED, .store = STORE_PLAIN,                \
    .when = DIM_VT_LAYERS
#define BLOCK        VISION, .repeat = DIM_VT_LAYERS
#define IN_BLOCK(it) "model.vision_tower.encoder.layers.{B}." it
static const TensorRow vision_tensors[] = {
    {.name = "model.vision_tower.patch_embedder.input_proj.weight",
     VISION,
     .dims = {DIM_VT_HIDDEN, DIM_VT_PATCH_IN}},
    {.name = "model.vision_tower.patch_embedder.position_embedding_table",
     VISION,
     .dims = {DIM_TWO, DIM_VT_POSITIONS, DIM_VT_HIDDEN}},
    {.name = IN_BLOCK("self_attn.q_proj.linear.weight"),
     BLOCK,
     .dims = {DIM_VT_QKV, DIM_VT_HIDDEN}},
    {.name = IN_BLOCK("self_attn.k_proj.linear.weight"),
     BLOCK,
     .dims = {DIM_VT_KV_WIDTH, DIM_VT_HIDDEN}},
    {.name = IN_BLOCK("self_attn.v_proj.linear.weight"),
     BLOCK,
     .dims = {DIM_VT_KV_WIDTH, DIM_VT_HIDDEN}},
    {.name = IN_BLOCK("self_attn.o_proj.linear.weight"),
     BLOCK,
     .dims = {DIM_VT_HIDDEN, DIM_VT_QKV}},
    {.name = IN_BLOCK("self_attn.q_norm.weight"), BLOCK, .dims = {DIM_VT_HEAD_DIM}},
    {.name = IN_BLOCK("self_attn.k_norm.weight"), BLOCK, .dims = {DIM_VT_HEAD_DIM}},
    {.name = IN_BLOCK("mlp.gate_proj.linear.weight"), BLOCK, .dims = {DIM_VT_WIDTH, DIM_VT_HIDDEN}},
    {.name = IN_BLOCK("mlp.up_proj.linear.weight"), BLOCK, .dims = {DIM_VT_WIDTH, DIM_VT_HIDDEN}},
    {.name = IN_BLOCK("mlp.down_proj.linear.weight"), BLOCK, .dims = {DIM_VT_HIDDEN, DIM_VT_WIDTH}},
    {.name = IN_BLOCK("input_layernorm.weight"), BLOCK, .dims = {DIM_VT_HIDDEN}},
    {.name = IN_BLOCK("post_attention_layernorm.weight"), BLOCK, .dims = {DIM_VT_HIDDEN}},
    {.name = IN_BLOCK("pre_feedforward_layernorm.weight"), BLOCK, .dims = {DIM_VT_HIDDEN}},
    {.name = IN_BLOCK("post_feedforward_layernorm.weight"), BLOCK, .dims = {DIM_VT_HIDDEN}},
    {.name = "model.vision_tower.std_bias",
     .component = COMPONENT_VISION,
     .shard = SHARD_REPLICATED,
     .store = STORE_PLAIN,
     .dims = {DIM_VT_HIDDEN},
     .when = DIM_VT_STANDARD},
    {.name = "model.vision_tower.std_scale",
     .component = COMPONENT_VISION,
     .shard = SHARD_REPLICATED,
     .store = STORE_PLAIN,
     .dims = {DIM_VT_HIDDEN},
     .when = DIM_VT_STANDARD},
    {.name = "model.embed_vision.embedding_projection.weight",
     VISION,
     .dims = {DIM_HIDDEN, DIM_VT_HIDDEN}},
};
static const Part vision = {
    .scope = PART_BESIDE,
    .name = "vision tower",
    FIELDS(vision),
    RULES(vision),
    INERT(vision),
    TENSORS(vision),
};

static const Family families[] = {
    {.model_types = "gemma4",
     .text_path = "text_config",
     .text_types = "gemma4_text",
     .not_counted = "audio_config",
     .prefix = "model.language_model.",
     .parts = {GEMMA4_PARTS, &vision},
     GEMMA4},
    {.model_types = "gemma4_text", .prefix = "model.", .parts = {GEMMA4_PARTS}, GEMMA4},
};

const FamilyGroup family_gemma = {families, COUNT(families)};
