// Families of Kimi: linear attention (KDA) and vision.
//
// Invariant: rows only; no code.
#include "model/moe/family_rows.h"

#define TOWER(field) "vision_config." field
#define ENCODER      "vision_tower.encoder."
#define VISION       .component = COMPONENT_VISION, .shard = SHARD_REPLICATED, .store = STORE_PLAIN
#define BLOCK        VISION, .repeat = DIM_VT_LAYERS

#define KIMI                                                                                       \
    .layer_prefix = "model.layers.{L}.", .fp8_scale_type = "F32",                                  \
    .pattern = {LISTED(parts_attention_kda, "linear_attn_config.kda_layers"),                      \
                LISTED(parts_attention_mla, "linear_attn_config.full_attn_layers"),                \
                ALL(parts_mlp_moe_kimi), DENSE_OFF_PERIOD(0), DENSE_FIRST}

// Kimi-K2.5: the text model of K2 and MoonViT with a projector.

static const TensorRow vit_tensors[] = {
    {.name = "vision_tower.patch_embed.proj.weight",
     VISION,
     .dims = {DIM_VT_HIDDEN, DIM_VT_COLORS, DIM_VT_PATCH, DIM_VT_PATCH}},
    {.name = "vision_tower.patch_embed.proj.bias", VISION, .dims = {DIM_VT_HIDDEN}},
    {.name = "vision_tower.patch_embed.pos_emb.weight",
     VISION,
     .dims = {DIM_VT_ROWS, DIM_VT_COLUMNS, DIM_VT_HIDDEN}},
    {.name = ENCODER "blocks.{B}.norm0.weight", BLOCK, .dims = {DIM_VT_HIDDEN}},
    {.name = ENCODER "blocks.{B}.norm0.bias", BLOCK, .dims = {DIM_VT_HIDDEN}},
    {.name = ENCODER "blocks.{B}.norm1.weight", BLOCK, .dims = {DIM_VT_HIDDEN}},
    {.name = ENCODER "blocks.{B}.norm1.bias", BLOCK, .dims = {DIM_VT_HIDDEN}},
    {.name = ENCODER "blocks.{B}.wqkv.weight", BLOCK, .dims = {DIM_VT_QKV_ROWS, DIM_VT_HIDDEN}},
    {.name = ENCODER "blocks.{B}.wqkv.bias", BLOCK, .dims = {DIM_VT_QKV_ROWS}},
    {.name = ENCODER "blocks.{B}.wo.weight", BLOCK, .dims = {DIM_VT_HIDDEN, DIM_VT_HIDDEN}},
    {.name = ENCODER "blocks.{B}.wo.bias", BLOCK, .dims = {DIM_VT_HIDDEN}},
    {.name = ENCODER "blocks.{B}.mlp.fc0.weight", BLOCK, .dims = {DIM_VT_WIDTH, DIM_VT_HIDDEN}},
    {.name = ENCODER "blocks.{B}.mlp.fc0.bias", BLOCK, .dims = {DIM_VT_WIDTH}},
    {.name = ENCODER "blocks.{B}.mlp.fc1.weight", BLOCK, .dims = {DIM_VT_HIDDEN, DIM_VT_WIDTH}},
    {.name = ENCODER "blocks.{B}.mlp.fc1.bias", BLOCK, .dims = {DIM_VT_HIDDEN}},
    {.name = ENCODER "final_layernorm.weight", VISION, .dims = {DIM_VT_HIDDEN}},
    {.name = ENCODER "final_layernorm.bias", VISION, .dims = {DIM_VT_HIDDEN}},
    {.name = "mm_projector.pre_norm.weight", VISION, .dims = {DIM_VT_HIDDEN}},
    {.name = "mm_projector.pre_norm.bias", VISION, .dims = {DIM_VT_HIDDEN}},
    {.name = "mm_projector.proj.0.weight", VISION, .dims = {DIM_VT_MERGED, DIM_VT_MERGED}},
    {.name = "mm_projector.proj.0.bias", VISION, .dims = {DIM_VT_MERGED}},
    {.name = "mm_projector.proj.2.weight", VISION, .dims = {DIM_HIDDEN, DIM_VT_MERGED}},
    {.name = "mm_projector.proj.2.bias", VISION, .dims = {DIM_HIDDEN}},
};
static const FieldRow vit_fields[] = {
    {.dim = DIM_VT_LAYERS, .paths = TOWER("vt_num_hidden_layers"), .min = 1, .max = 10000},
    {.dim = DIM_VT_HIDDEN, .paths = TOWER("vt_hidden_size|vision_config.mm_hidden_size"), .min = 1},
    {.dim = DIM_VT_WIDTH, .paths = TOWER("vt_intermediate_size"), .min = 1},
    {.dim = DIM_VT_PATCH, .paths = TOWER("patch_size"), .min = 1},
    {.dim = DIM_VT_ROWS, .paths = TOWER("init_pos_emb_height"), .min = 1},
    {.dim = DIM_VT_COLUMNS, .paths = TOWER("init_pos_emb_width"), .min = 1},
    {.dim = DIM_VT_MERGE_ROWS, .paths = TOWER("merge_kernel_size.0"), .min = 1},
    {.dim = DIM_VT_MERGE_COLUMNS, .paths = TOWER("merge_kernel_size.1"), .min = 1},
    {.dim = DIM_VT_OUT, .paths = TOWER("text_hidden_size"), .min = 1},
};
static const DimRule vit_rules[] = {
    {DIM_VT_QKV_ROWS, DIM_PRODUCT, DIM_VT_HIDDEN, DIM_NONE, DIM_NONE, 3},
    {DIM_VT_COLORS, DIM_PRODUCT, DIM_ONE, DIM_NONE, DIM_NONE, 3},
    {DIM_VT_MERGED, DIM_PRODUCT, DIM_VT_HIDDEN, DIM_VT_MERGE_ROWS, DIM_VT_MERGE_COLUMNS, 0},
};
static const DimCheck vit_checks[] = {{DIM_VT_OUT, DIM_EQUAL, DIM_HIDDEN}};
static const InertKey vit_inert[] = {
    {TOWER("_attn_implementation"), NULL},
    {TOWER("model_type"), NULL},
    {TOWER("init_pos_emb_time"), NULL}, // computed, not stored
    {TOWER("merge_type"), NULL},
    {TOWER("mm_projector_type"), "patchmerger"},
    {TOWER("pos_emb_type"), "divided_fixed"},
    {TOWER("projector_hidden_act"), NULL},
    {TOWER("projector_ln_eps"), NULL},
    {TOWER("video_attn_type"), NULL},
    {TOWER("vt_num_attention_heads"), NULL}, // the widths are given
    {"use_unified_vision_chunk", NULL},
    {"video_placeholder", NULL},
};
static const Part vit_part = {.scope = PART_BESIDE,
                              .name = "vision tower",
                              FIELDS(vit),
                              RULES(vit),
                              CHECKS(vit),
                              INERT(vit),
                              TENSORS(vit)};

static const Family families[] = {
    {.model_types = "kimi_linear",
     .prefix = "",
     .parts = {&parts_model_tables, &parts_model_first_dense, &parts_model_norms,
               &parts_model_attn_res, &parts_attention_kda, &parts_attention_mla, &parts_mlp_dense,
               &parts_mlp_moe_kimi, &parts_model_no_mtp, &parts_model_attn_res_out},
     .presets = {{DIM_ROUTER_BIAS, 1}, {DIM_KDA_PAD, 1}},
     KIMI},
    {.model_types = "kimi_k3",
     .text_path = "text_config",
     .text_types = "kimi_linear",
     .prefix = "language_model.",
     .parts = {&parts_model_tables, &parts_model_first_dense, &parts_model_norms,
               &parts_model_attn_res, &parts_attention_kda, &parts_attention_mla, &parts_mlp_dense,
               &parts_mlp_moe_kimi, &parts_model_no_mtp, &parts_model_attn_res_out,
               &parts_model_vision_k3},
     .presets = {{DIM_ROUTER_BIAS, 1}, {DIM_KDA_PAD, 128}}, // A_log is stored padded to 128
     KIMI},
    {.model_types = "kimi_k25",
     .text_path = "text_config",
     .text_types = "kimi_k2|deepseek_v3",
     .prefix = "language_model.",
     .layer_prefix = "model.layers.{L}.",
     .fp8_scale_type = "F32",
     .parts = {&parts_model_tables, &parts_model_first_dense, &parts_model_norms,
               &parts_attention_mla, &parts_mlp_dense, &parts_mlp_moe, &parts_model_no_mtp,
               &vit_part},
     .pattern = {ALL(parts_attention_mla), ALL(parts_mlp_moe), DENSE_OFF_PERIOD(0), DENSE_FIRST}},
};

const FamilyGroup family_kimi = {families, COUNT(families)};
