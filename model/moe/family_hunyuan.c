// Hunyuan with experts. Its configs say some sizes once for each layer.
//
// Invariant: rows only; no code. Source: tensor names and shapes of tencent/Hunyuan-A13B-Instruct;
// its modelling code keeps the router in F32.
#include "model/moe/family_rows.h"
#include "model/moe/parts_open.h"

static const FieldRow model_fields[] = {
    {.dim = DIM_FIRST_DENSE,
     .paths = "moe_layer_num_skipped",
     .need = FIELD_OPTIONAL,
     .max = 10000},
};
static const DimCheck model_checks[] = {
    {DIM_FIRST_DENSE, DIM_AT_MOST, DIM_LAYERS},
};
static const InertKey model_inert[] = {
    {"add_classification_head", "false|null"},
    {"class_num", NULL},  // of a classification head
    {"dense_list", NULL}, // the same
    {"pool_type", NULL},
    {"skip_cls_token", NULL},
    {"cla_share_factor", NULL}, // of layers that share a cache
    {"use_cla", "false|null"},
    {"use_mla", "false|null"},
    {"kv_lora_rank", "null"},
    {"q_lora_rank", "null"},
    {"qk_nope_head_dim", "null"},
    {"qk_rope_head_dim", "null"},
    {"v_head_dim", "null"},
    {"norm_type", "rms"},
    {"org_vocab_size", NULL},
    {"position_embedding_xdrope", NULL},
    {"xdrope_section", NULL},
    {"use_rotary_pos_emb", NULL},
    {"eod_token_id", NULL},
    {"im_end_id", NULL},
    {"im_newline_id", NULL},
    {"im_start_id", NULL},
    {"image_token_id", NULL},
    {"mask_init_id", NULL},
    {"pad_id", NULL},
    {"text_end_id", NULL},
    {"text_start_id", NULL},
    {"video_end_id", NULL},
    {"video_start_id", NULL},
    // a vision tower, which is there where vit_path is
    {"vit_path", "null"},
    {"vit_type", "null"},
    {"anyres_pooling_size", NULL},
    {"anyres_vit_max_image_size", NULL},
    {"anyres_vit_two_views", NULL},
    {"num_media_embeds", NULL},
    {"vit_add_patchemb_bias", NULL},
    {"vit_input_resolution", NULL},
    {"vit_mapping_type", NULL},
    {"vit_norm_type", NULL},
    {"vit_patch", NULL},
    {"vit_remove_prenorm", NULL},
    {"vit_token", NULL},
    {"vit_used_rms_norm", NULL},
};
static const Part model = {
    .scope = PART_MODEL, .name = "hunyuan", FIELDS(model), CHECKS(model), INERT(model)};

static const FieldRow attention_fields[] = {
    OPEN_HEADS,
    OPEN_HEAD_DIM,
    {.dim = DIM_QK_NORM, .paths = "use_qk_norm", .need = FIELD_OPTIONAL, .kind = FIELD_FLAG},
    {.dim = DIM_QKV_BIAS, .paths = "attention_bias", .need = FIELD_OPTIONAL, .kind = FIELD_FLAG},
};
static const DimRule attention_rules[] = {OPEN_WIDTHS};
static const DimCheck attention_checks[] = {OPEN_HEAD_CHECKS};
#define BIAS .store = STORE_PLAIN, .when = DIM_QKV_BIAS
static const TensorRow attention_tensors[] = {
    {.name = "self_attn.q_proj.weight", OPEN_QUERY, .dims = {DIM_Q_WIDTH, DIM_HIDDEN}},
    {.name = "self_attn.k_proj.weight", OPEN_KEYS, .dims = {DIM_KV_WIDTH, DIM_HIDDEN}},
    {.name = "self_attn.v_proj.weight", OPEN_KEYS, .dims = {DIM_KV_WIDTH, DIM_HIDDEN}},
    {.name = "self_attn.q_proj.bias", OPEN_QUERY, BIAS, .dims = {DIM_Q_WIDTH}},
    {.name = "self_attn.k_proj.bias", OPEN_KEYS, BIAS, .dims = {DIM_KV_WIDTH}},
    {.name = "self_attn.v_proj.bias", OPEN_KEYS, BIAS, .dims = {DIM_KV_WIDTH}},
    {.name = "self_attn.o_proj.weight", OPEN_OUT},
    {.name = "self_attn.o_proj.bias", OPEN_WHOLE, .dims = {DIM_HIDDEN}, .when = DIM_QKV_BIAS},
    {.name = "self_attn.query_layernorm.weight",
     OPEN_WHOLE,
     .dims = {DIM_HEAD_DIM},
     .when = DIM_QK_NORM},
    {.name = "self_attn.key_layernorm.weight",
     OPEN_WHOLE,
     .dims = {DIM_HEAD_DIM},
     .when = DIM_QK_NORM},
};
static const Part attention = {
    .scope = PART_ATTENTION,
    .name = "gqa",
    FIELDS(attention),
    RULES(attention),
    CHECKS(attention),
    TENSORS(attention),
    .attention = {OPEN_GQA},
};

static const FieldRow moe_fields[] = {
    OPEN_EXPERTS("num_experts"),
    {.dim = DIM_TOP_K, .paths = "moe_topk", .min = 1},
    {.dim = DIM_DENSE_WIDTH, .paths = "intermediate_size", .min = 1},
    {.dim = DIM_EXPERT_WIDTH,
     .paths = "moe_intermediate_size",
     .need = FIELD_OPTIONAL,
     .min = 1,
     .fallback_dim = DIM_DENSE_WIDTH},
    {.dim = DIM_SHARED_EXPERTS,
     .paths = "num_shared_expert",
     .need = FIELD_OPTIONAL,
     .max = 1 << 16,
     .fallback = 1},
    {.dim = DIM_MIXED, .paths = "use_mixed_mlp_moe", .need = FIELD_OPTIONAL, .kind = FIELD_FLAG},
};
static const DimRule moe_rules[] = {
    {DIM_SHARED_WIDTH, DIM_PRODUCT, DIM_MIXED, DIM_SHARED_EXPERTS, DIM_EXPERT_WIDTH, 0},
};
static const DimCheck moe_checks[] = {OPEN_MOE_CHECK};
static const InertKey moe_inert[] = {
    OPEN_MOE_INERT,
    {"group_limited_greedy", NULL},
    {"n_group", NULL},
    {"topk_group", NULL},
    {"routed_scaling_factor", NULL},
    {"moe_drop_tokens", NULL},
    {"moe_random_routing_dropped_token", NULL},
};
static const TensorRow moe_tensors[] = {
    {.name = "mlp.gate.wg.weight",
     .component = COMPONENT_ROUTER,
     .shard = SHARD_REPLICATED,
     .store = STORE_F32,
     .dims = {DIM_EXPERTS, DIM_HIDDEN}},
    {.name = "mlp.shared_mlp.gate_proj.weight", OPEN_SHARED_IN, .when = DIM_SHARED_WIDTH},
    {.name = "mlp.shared_mlp.up_proj.weight", OPEN_SHARED_IN, .when = DIM_SHARED_WIDTH},
    {.name = "mlp.shared_mlp.down_proj.weight", OPEN_SHARED_OUT, .when = DIM_SHARED_WIDTH},
    {.name = "mlp.experts.{E}.gate_proj.weight", OPEN_EXPERT_IN},
    {.name = "mlp.experts.{E}.up_proj.weight", OPEN_EXPERT_IN},
    {.name = "mlp.experts.{E}.down_proj.weight", OPEN_EXPERT_OUT},
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

static const Family families[] = {
    {.model_types = "hunyuan|hunyuan_v1_moe",
     PLAIN_NAMES,
     .parts = {&parts_model_tables, &model, &parts_model_norms, &attention, &parts_mlp_dense, &moe},
     .pattern = {ALL(attention), ALL(moe), DENSE_FIRST}},
};

const FamilyGroup family_hunyuan = {families, COUNT(families)};
