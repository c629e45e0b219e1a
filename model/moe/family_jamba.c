// Jamba: Mamba in most layers, attention in some, experts in every second.
//
// Invariant: rows only; no code. Sources: tensor names and shapes of ai21labs/Jamba-v0.1; Mamba,
// arXiv:2312.00752, section 3.4; Jamba, arXiv:2403.19887, section 2.
#include "model/moe/family_rows.h"
#include "model/moe/parts_open.h"

static const FieldRow model_fields[] = {
    {.dim = DIM_ATTENTION_PERIOD, .paths = "attn_layer_period", .min = 1},
    {.dim = DIM_ATTENTION_OFFSET, .paths = "attn_layer_offset"},
    {.dim = DIM_MOE_PERIOD, .paths = "expert_layer_period", .min = 1},
    {.dim = DIM_MOE_OFFSET, .paths = "expert_layer_offset"},
};
static const InertKey model_inert[] = {
    {"num_logits_to_keep", NULL},
    {"use_mamba_kernels", NULL},
};
static const TensorRow model_tensors[] = {
    {.name = "model.embed_tokens.weight", OPEN_TABLE(COMPONENT_EMBEDDING)},
    {.name = "model.final_layernorm.weight", OPEN_NORM},
    {.name = "lm_head.weight", OPEN_TABLE(COMPONENT_HEAD), .unless = DIM_TIED},
};
static const Part model = {
    .scope = PART_MODEL, .name = "tables", FIELDS(model), INERT(model), TENSORS(model)};

static const TensorRow norm_tensors[] = {
    {.name = "input_layernorm.weight", OPEN_NORM},
    {.name = "pre_ff_layernorm.weight", OPEN_NORM},
};
static const Part norms = {.scope = PART_EVERY_LAYER, .name = "norms", TENSORS(norm)};

// Each channel of the inner width has a state of its own: mamba_d_state values in F32, and the last
// inputs of its convolution in BF16. All channels share B and C.
static const FieldRow mamba_fields[] = {
    {.dim = DIM_EXPAND, .paths = "mamba_expand", .min = 1},
    {.dim = DIM_MAMBA_STATE, .paths = "mamba_d_state", .min = 1},
    {.dim = DIM_MAMBA_CONV, .paths = "mamba_d_conv", .min = 1},
    {.dim = DIM_DT_GIVEN, .paths = "mamba_dt_rank", .need = FIELD_OPTIONAL},
    {.dim = DIM_CONV_BIAS,
     .paths = "mamba_conv_bias",
     .need = FIELD_OPTIONAL,
     .kind = FIELD_FLAG,
     .fallback = 1}, // JambaConfig's default
    {.dim = DIM_PROJ_BIAS, .paths = "mamba_proj_bias", .need = FIELD_OPTIONAL, .kind = FIELD_FLAG},
};
static const DimRule mamba_rules[] = {
    {DIM_MAMBA_WIDTH, DIM_PRODUCT, DIM_EXPAND, DIM_HIDDEN, DIM_NONE, 0},
    {DIM_MAMBA_IN, DIM_PRODUCT, DIM_MAMBA_WIDTH, DIM_NONE, DIM_NONE, 2},
    {DIM_DT_DEFAULT, DIM_PARTS, DIM_HIDDEN, DIM_NONE, DIM_NONE, 16},
    {DIM_DT_RANK, DIM_FIRST, DIM_DT_GIVEN, DIM_DT_DEFAULT, DIM_NONE, 0},
    {DIM_DT_INPUTS, DIM_SUM, DIM_DT_RANK, DIM_MAMBA_STATE, DIM_MAMBA_STATE, 0},
    {DIM_MAMBA_TAIL, DIM_LESS, DIM_MAMBA_CONV, DIM_NONE, DIM_NONE, 1},
    {DIM_MAMBA_MATRIX_B, DIM_PRODUCT, DIM_MAMBA_WIDTH, DIM_MAMBA_STATE, DIM_NONE, 4},
    {DIM_MAMBA_TAIL_B, DIM_PRODUCT, DIM_MAMBA_WIDTH, DIM_MAMBA_TAIL, DIM_NONE, 2},
    {DIM_MAMBA_STATE_B, DIM_SUM, DIM_MAMBA_MATRIX_B, DIM_MAMBA_TAIL_B, DIM_NONE, 0},
};
#define CHANNELS .component = COMPONENT_ATTENTION, .shard = SHARD_COLUMN
#define INPUTS   .component = COMPONENT_ATTENTION, .shard = SHARD_ROW
// The convolved half and the gate.
#define PAIR .segments = {{DIM_MAMBA_WIDTH, DIM_NONE}, {DIM_MAMBA_WIDTH, DIM_NONE}}
static const TensorRow mamba_tensors[] = {
    {.name = "mamba.in_proj.weight", CHANNELS, PAIR, .dims = {DIM_MAMBA_IN, DIM_HIDDEN}},
    {.name = "mamba.in_proj.bias",
     CHANNELS,
     PAIR,
     .store = STORE_PLAIN,
     .dims = {DIM_MAMBA_IN},
     .when = DIM_PROJ_BIAS},
    {.name = "mamba.conv1d.weight",
     CHANNELS,
     .store = STORE_PLAIN,
     .dims = {DIM_MAMBA_WIDTH, DIM_ONE, DIM_MAMBA_CONV}},
    {.name = "mamba.conv1d.bias",
     CHANNELS,
     .store = STORE_PLAIN,
     .dims = {DIM_MAMBA_WIDTH},
     .when = DIM_CONV_BIAS},
    {.name = "mamba.x_proj.weight",
     INPUTS,
     .use = TENSOR_STEP,
     .dims = {DIM_DT_INPUTS, DIM_MAMBA_WIDTH}},
    {.name = "mamba.dt_proj.weight", CHANNELS, .dims = {DIM_MAMBA_WIDTH, DIM_DT_RANK}},
    {.name = "mamba.dt_proj.bias", CHANNELS, .store = STORE_PLAIN, .dims = {DIM_MAMBA_WIDTH}},
    {.name = "mamba.A_log",
     CHANNELS,
     .use = TENSOR_TABLE,
     .store = STORE_PLAIN,
     .dims = {DIM_MAMBA_WIDTH, DIM_MAMBA_STATE}},
    {.name = "mamba.D", CHANNELS, .store = STORE_PLAIN, .dims = {DIM_MAMBA_WIDTH}},
    {.name = "mamba.dt_layernorm.weight", OPEN_WHOLE, .dims = {DIM_DT_RANK}},
    {.name = "mamba.b_layernorm.weight", OPEN_WHOLE, .dims = {DIM_MAMBA_STATE}},
    {.name = "mamba.c_layernorm.weight", OPEN_WHOLE, .dims = {DIM_MAMBA_STATE}},
    {.name = "mamba.out_proj.weight", INPUTS, .dims = {DIM_HIDDEN, DIM_MAMBA_WIDTH}},
    {.name = "mamba.out_proj.bias", OPEN_WHOLE, .dims = {DIM_HIDDEN}, .when = DIM_PROJ_BIAS},
};
static const Part mamba = {
    .scope = PART_ATTENTION,
    .name = "mamba",
    FIELDS(mamba),
    RULES(mamba),
    TENSORS(mamba),
    .attention = {.kind = ATTENTION_MAMBA1,
                  .heads = DIM_MAMBA_WIDTH,
                  .kv_heads = DIM_ONE,
                  .head_dim = DIM_ONE,
                  .value_dim = DIM_ONE,
                  .conv = DIM_MAMBA_CONV,
                  .state_dim = DIM_MAMBA_STATE,
                  .groups = DIM_ONE,
                  .state_B = DIM_MAMBA_STATE_B},
};

static const FieldRow dense_fields[] = {
    {.dim = DIM_DENSE_WIDTH, .paths = "intermediate_size", .min = 1},
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

// One expert is a dense block.
static const FieldRow moe_fields[] = {
    OPEN_EXPERTS("num_experts"),
    OPEN_TOP_K,
    {.dim = DIM_EXPERT_WIDTH, .paths = "intermediate_size", .min = 1},
};
static const DimRule moe_rules[] = {
    {DIM_SPARSE, DIM_LESS, DIM_EXPERTS, DIM_NONE, DIM_NONE, 1},
};
static const InertKey moe_inert[] = {OPEN_MOE_INERT};
static const TensorRow moe_tensors[] = {
    {.name = "feed_forward.router.weight", OPEN_ROUTER},
    {.name = "feed_forward.experts.{E}.gate_proj.weight", OPEN_EXPERT_IN},
    {.name = "feed_forward.experts.{E}.up_proj.weight", OPEN_EXPERT_IN},
    {.name = "feed_forward.experts.{E}.down_proj.weight", OPEN_EXPERT_OUT},
};
static const Part moe = {
    .scope = PART_MLP,
    .name = "moe",
    FIELDS(moe),
    RULES(moe),
    INERT(moe),
    TENSORS(moe),
    .mlp = {OPEN_MOE},
};

static const Family families[] = {
    {.model_types = "jamba",
     PLAIN_NAMES,
     .parts = {&parts_model_fields, &model, &norms, &mamba, &parts_attention_gqa, &dense, &moe},
     .pattern = {ALL(mamba),
                 {.part = &parts_attention_gqa,
                  .kind = PATTERN_PERIOD,
                  .mode = PATTERN_OVERRIDE,
                  .dim = DIM_ATTENTION_PERIOD,
                  .offset = DIM_ATTENTION_OFFSET},
                 ALL(dense),
                 {.part = &moe,
                  .kind = PATTERN_PERIOD,
                  .mode = PATTERN_OVERRIDE,
                  .dim = DIM_MOE_PERIOD,
                  .offset = DIM_MOE_OFFSET,
                  .when = DIM_SPARSE}}},
};

const FamilyGroup family_jamba = {families, COUNT(families)};
