// Llama, Mixtral and families that differ from them in a few rows.
//
// Invariant: rows only; no code. Sources: tensor names and shapes of the released checkpoints
// (ByteDance-Seed/Seed-OSS-36B, XiaomiMiMo/MiMo-7B-Base, allenai/OLMoE-1B-7B-0924,
// rednote-hilab/dots.llm1.base); MiMo, arXiv:2505.07608, section 2 for its draft layer.
#include "model/moe/family_rows.h"
#include "model/moe/parts_open.h"

// Seed-OSS says of each projection whether it has a bias.
static const FieldRow seed_fields[] = {
    {.dim = DIM_QKV_BIAS, .paths = "attention_bias", .need = FIELD_OPTIONAL, .kind = FIELD_FLAG},
    {.dim = DIM_O_BIAS, .paths = "attention_out_bias", .need = FIELD_OPTIONAL, .kind = FIELD_FLAG},
};
static const InertKey seed_inert[] = {
    {"residual_dropout", NULL},
};
static const Part seed_part = {.scope = PART_MODEL, .name = "seed-oss", FIELDS(seed), INERT(seed)};

// A draft layer of MiMo: one of its layers, two norms and a projection before and a norm after it.
static const FieldRow mimo_fields[] = {
    {.dim = DIM_QKV_BIAS, .paths = "attention_bias", .need = FIELD_OPTIONAL, .kind = FIELD_FLAG},
    {.dim = DIM_MTP_LAYERS, .paths = "num_nextn_predict_layers", .need = FIELD_OPTIONAL, .max = 64},
};
static const DimRule mimo_rules[] = {
    {DIM_TWO_HIDDEN, DIM_PRODUCT, DIM_HIDDEN, DIM_NONE, DIM_NONE, 2},
};
static const InertKey mimo_inert[] = {
    {"use_mrope", "false|null"},
};
#define DRAFT .component = COMPONENT_MTP, .shard = SHARD_REPLICATED, .store = STORE_PLAIN
static const TensorRow mimo_tensors[] = {
    {.name = "token_layernorm.weight", DRAFT, .dims = {DIM_HIDDEN}},
    {.name = "hidden_layernorm.weight", DRAFT, .dims = {DIM_HIDDEN}},
    {.name = "input_proj.weight", DRAFT, .dims = {DIM_HIDDEN, DIM_TWO_HIDDEN}},
    {.name = "final_layernorm.weight", DRAFT, .dims = {DIM_HIDDEN}},
};
static const Part mimo_draft = {
    .scope = PART_MTP, .name = "mtp", FIELDS(mimo), RULES(mimo), INERT(mimo), TENSORS(mimo)};

static const InertKey olmoe_inert[] = {
    {"clip_qkv", NULL}, // clamps values
};
static const Part olmoe_part = {.scope = PART_MODEL, .name = "olmoe", INERT(olmoe)};

static const Family families[] = {
    {.model_types = "mixtral",
     PLAIN_NAMES,
     .parts = {&parts_model_tables, &parts_model_norms, &parts_attention_gqa,
               &parts_mlp_moe_mixtral},
     .pattern = {ALL(parts_attention_gqa), ALL(parts_mlp_moe_mixtral)}},
    {.model_types = "llama|mistral", LLAMA},
    {.model_types = "seed_oss",
     PLAIN_NAMES,
     .parts = {&parts_model_tables, &parts_model_norms, &parts_open_gqa, &parts_mlp_dense,
               &seed_part},
     .pattern = {ALL(parts_open_gqa), ALL(parts_mlp_dense)}},
    {.model_types = "mimo",
     .prefix = "",
     .layer_prefix = "model.layers.{L}.",
     .mtp_prefix = "model.mtp_layers.{D}.",
     .fp8_scale_type = "F32",
     .parts = {&parts_model_tables, &parts_model_norms, &parts_attention_gqa, &parts_mlp_dense,
               &parts_model_no_window, &mimo_draft},
     .pattern = {ALL(parts_attention_gqa), ALL(parts_mlp_dense)},
     .mtp_parts = {&parts_attention_gqa, &parts_mlp_dense}},
    {.model_types = "olmoe",
     PLAIN_NAMES,
     .parts = {&parts_model_tables, &parts_model_norms, &parts_open_gqa, &parts_open_moe,
               &olmoe_part},
     .pattern = {ALL(parts_open_gqa), ALL(parts_open_moe)},
     .presets = {{DIM_WIDE_NORM, 1}}},
    {.model_types = "dots1",
     PLAIN_NAMES,
     .parts = {&parts_model_tables, &parts_model_first_dense, &parts_model_norms,
               &parts_attention_gqa, &parts_mlp_dense, &parts_mlp_moe, &parts_model_no_window},
     .pattern = {ALL(parts_attention_gqa), ALL(parts_mlp_moe), DENSE_OFF_PERIOD(0), DENSE_FIRST},
     .presets = {{DIM_QK_NORM, 1}, {DIM_ROUTER_BIAS, 1}}},
};

const FamilyGroup family_open = {families, COUNT(families)};
