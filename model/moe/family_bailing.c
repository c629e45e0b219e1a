// Ling (bailing_moe and bailing_moe_v2), and Ming, whose text model it is.
//
// Invariant: rows only; no code. Sources: tensor names and shapes of inclusionAI/Ling-lite and
// Ling-mini-2.0; "Every FLOP Counts", arXiv:2503.05139, section 2.
#include "model/moe/family_rows.h"
#include "model/moe/parts_open.h"

static const TensorRow table_tensors[] = {
    {.name = "model.word_embeddings.weight", OPEN_TABLE(COMPONENT_EMBEDDING)},
    {.name = "model.norm.weight", OPEN_NORM},
    {.name = "lm_head.weight", OPEN_TABLE(COMPONENT_HEAD), .unless = DIM_TIED},
};
static const InertKey table_inert[] = {
    {"embedding_dropout", NULL},
    {"output_dropout", NULL},
    {"norm_head", NULL}, // rows of the head are normalised when they are loaded
    {"norm_softmax", NULL},
    {"image_patch_token", NULL},
    {"rotary_dim", NULL},
    {"use_rmsnorm", "true"},
    {"mtp_loss_scaling_factor", NULL},
};
static const Part tables = {.scope = PART_MODEL, .name = "tables", TENSORS(table), INERT(table)};

static const FieldRow attention_fields[] = {
    OPEN_HEADS,
    OPEN_HEAD_DIM,
    {.dim = DIM_QKV_BIAS, .paths = "use_qkv_bias", .need = FIELD_OPTIONAL, .kind = FIELD_FLAG},
    {.dim = DIM_O_BIAS, .paths = "use_bias", .need = FIELD_OPTIONAL, .kind = FIELD_FLAG},
    {.dim = DIM_QK_NORM, .paths = "use_qk_norm", .need = FIELD_OPTIONAL, .kind = FIELD_FLAG},
};
static const DimRule attention_rules[] = {
    OPEN_WIDTHS,
    {DIM_QKV_WIDTH, DIM_SUM, DIM_Q_WIDTH, DIM_KV_WIDTH, DIM_KV_WIDTH, 0},
};
static const DimCheck attention_checks[] = {OPEN_HEAD_CHECKS};
static const TensorRow attention_tensors[] = {
    {.name = "attention.query_key_value.weight",
     OPEN_FUSED_QKV,
     .dims = {DIM_QKV_WIDTH, DIM_HIDDEN}},
    {.name = "attention.query_key_value.bias",
     OPEN_FUSED_QKV,
     .store = STORE_PLAIN,
     .dims = {DIM_QKV_WIDTH},
     .when = DIM_QKV_BIAS},
    {.name = "attention.query_layernorm.weight",
     OPEN_WHOLE,
     .dims = {DIM_HEAD_DIM},
     .when = DIM_QK_NORM},
    {.name = "attention.key_layernorm.weight",
     OPEN_WHOLE,
     .dims = {DIM_HEAD_DIM},
     .when = DIM_QK_NORM},
    {.name = "attention.dense.weight", OPEN_OUT},
    {.name = "attention.dense.bias", OPEN_WHOLE, .dims = {DIM_HIDDEN}, .when = DIM_O_BIAS},
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
    OPEN_TOP_K,
    {.dim = DIM_GROUPS, .paths = "n_group", .need = FIELD_OPTIONAL, .min = 1, .fallback = 1},
    {.dim = DIM_TOP_GROUPS, .paths = "topk_group", .need = FIELD_OPTIONAL, .min = 1, .fallback = 1},
    {.dim = DIM_EXPERT_WIDTH, .paths = "moe_intermediate_size", .min = 1},
    {.dim = DIM_SHARED_EXPERTS,
     .paths = "num_shared_experts",
     .need = FIELD_OPTIONAL,
     .max = 1 << 16},
    {.dim = DIM_SHARED_EACH,
     .paths = "moe_shared_expert_intermediate_size",
     .need = FIELD_OPTIONAL,
     .fallback_dim = DIM_EXPERT_WIDTH},
    {.dim = DIM_ROUTER_BIAS,
     .paths = "moe_router_enable_expert_bias",
     .need = FIELD_OPTIONAL,
     .kind = FIELD_FLAG,
     .fallback_dim = DIM_ROUTER_BIAS}, // what the family presets
};
static const DimRule moe_rules[] = {
    {DIM_GROUP_SIZE, DIM_SHARE, DIM_EXPERTS, DIM_GROUPS, DIM_NONE, 0},
    {DIM_REACHABLE, DIM_PRODUCT, DIM_GROUP_SIZE, DIM_TOP_GROUPS, DIM_NONE, 0},
    {DIM_SHARED_WIDTH, DIM_PRODUCT, DIM_SHARED_EXPERTS, DIM_SHARED_EACH, DIM_NONE, 0},
};
static const DimCheck moe_checks[] = {
    OPEN_MOE_CHECK,
    {DIM_EXPERTS, DIM_MULTIPLE_OF, DIM_GROUPS},
    {DIM_TOP_GROUPS, DIM_AT_MOST, DIM_GROUPS},
    {DIM_TOP_K, DIM_AT_MOST, DIM_REACHABLE},
};
static const InertKey moe_inert[] = {
    OPEN_MOE_INERT,
    {"routed_scaling_factor", NULL},
    {"score_function", NULL},
    {"router_dtype", NULL}, // of the computation
};
static const TensorRow moe_tensors[] = {
    {.name = "mlp.gate.weight", OPEN_ROUTER},
    {.name = "mlp.gate.expert_bias",
     .component = COMPONENT_ROUTER,
     .shard = SHARD_REPLICATED,
     .store = STORE_F32,
     .dims = {DIM_EXPERTS},
     .when = DIM_ROUTER_BIAS},
    {.name = "mlp.experts.{E}.gate_proj.weight", OPEN_EXPERT_IN},
    {.name = "mlp.experts.{E}.up_proj.weight", OPEN_EXPERT_IN},
    {.name = "mlp.experts.{E}.down_proj.weight", OPEN_EXPERT_OUT},
    {.name = "mlp.shared_experts.gate_proj.weight", OPEN_SHARED_IN, .when = DIM_SHARED_WIDTH},
    {.name = "mlp.shared_experts.up_proj.weight", OPEN_SHARED_IN, .when = DIM_SHARED_WIDTH},
    {.name = "mlp.shared_experts.down_proj.weight", OPEN_SHARED_OUT, .when = DIM_SHARED_WIDTH},
};
static const Part moe = {
    .scope = PART_MLP,
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
            .shared_width = DIM_SHARED_WIDTH},
};

// A draft layer of the second version.
static const FieldRow draft_fields[] = {
    {.dim = DIM_MTP_LAYERS, .paths = "num_nextn_predict_layers", .need = FIELD_OPTIONAL, .max = 64},
};
static const DimRule draft_rules[] = {
    {DIM_TWO_HIDDEN, DIM_PRODUCT, DIM_HIDDEN, DIM_NONE, DIM_NONE, 2},
};
#define DRAFT .component = COMPONENT_MTP, .shard = SHARD_REPLICATED, .store = STORE_PLAIN
static const TensorRow draft_tensors[] = {
    {.name = "enorm.weight", DRAFT, .dims = {DIM_HIDDEN}},
    {.name = "hnorm.weight", DRAFT, .dims = {DIM_HIDDEN}},
    {.name = "eh_proj.weight", DRAFT, .dims = {DIM_HIDDEN, DIM_TWO_HIDDEN}},
    {.name = "final_layernorm.weight", DRAFT, .dims = {DIM_HIDDEN}},
};
static const Part draft = {
    .scope = PART_MTP, .name = "mtp", FIELDS(draft), RULES(draft), TENSORS(draft)};

// The fields of all models, of which the wrapper has a type that its text model does not have.
static const FieldRow ming_fields[] = {
    {.dim = DIM_LAYERS, .paths = "num_hidden_layers", .min = 1, .max = 10000},
    {.dim = DIM_HIDDEN, .paths = "hidden_size", .min = 1},
    {.dim = DIM_VOCAB, .paths = "vocab_size", .min = 1},
    {.dim = DIM_CONTEXT, .paths = "max_position_embeddings", .min = 1},
    {.dim = DIM_DTYPE,
     .paths = "llm_config.torch_dtype",
     .need = FIELD_ASSUMED,
     .kind = FIELD_CHOICE,
     .choices = "bfloat16=2|float16=1|float32=0", // as parts_model_fields
     .fallback = NUMFMT_BF16},
    {.dim = DIM_TIED, .paths = "tie_word_embeddings", .need = FIELD_OPTIONAL, .kind = FIELD_FLAG},
};
static const InertKey ming_inert[] = {
    {"torch_dtype", NULL}, {"mlp_depth", NULL}, // of the projector
};
static const Part ming = {.scope = PART_MODEL, .name = "model", FIELDS(ming), INERT(ming)};

#define LING                                                                                       \
    &tables, &parts_model_first_dense, &parts_model_norms, &attention, &parts_mlp_dense, &moe,     \
        &parts_model_no_window
#define LING_PATTERN .pattern = {ALL(attention), ALL(moe), DENSE_OFF_PERIOD(0), DENSE_FIRST}

static const Family families[] = {
    {.model_types = "bailing_moe",
     PLAIN_NAMES,
     .parts = {&parts_model_fields, LING, &parts_model_no_mtp},
     LING_PATTERN},
    {.model_types = "bailing_moe_v2",
     PLAIN_NAMES,
     .parts = {&parts_model_fields, LING, &draft},
     LING_PATTERN,
     .presets = {{DIM_ROUTER_BIAS, 1}},
     .mtp_parts = {&attention, &moe}},
    // `multi_gate` gives each kind of token a router of its own beside the one counted.
    {.model_types = "bailingmm",
     .text_path = "llm_config",
     .text_types = "bailing_moe",
     .prefix = "model.",
     .layer_prefix = "model.layers.{L}.",
     .fp8_scale_type = "F32",
     .not_counted = "vision_config|audio_config|multi_gate",
     .parts = {&ming, LING, &parts_model_no_mtp},
     LING_PATTERN},
};

const FamilyGroup family_bailing = {families, COUNT(families)};
