// Arctic: beside the experts of a layer, a dense block of the hidden size runs in parallel.
//
// Invariant: rows only; no code. Source: tensor names and shapes of
// Snowflake/snowflake-arctic-instruct.
#include "model/moe/family_rows.h"
#include "model/moe/parts_open.h"

static const FieldRow model_fields[] = {
    {.dim = DIM_MOE_PERIOD,
     .paths = "moe_layer_frequency",
     .need = FIELD_OPTIONAL,
     .min = 1,
     .fallback = 2}, // ArcticConfig's default
};
static const InertKey model_inert[] = {
    {"enable_expert_tensor_parallelism", NULL}, // of training
    {"max_sequence_length", NULL},              // max_position_embeddings again
    {"moe_eval_capacity_factor", NULL},
    {"moe_min_capacity", NULL},
    {"moe_token_dropping", NULL},
    {"moe_train_capacity_factor", NULL},
    {"quantization", "null"},
    {"use_residual", "true"}, // what parallel_attn_mlp_res turns on
};
static const Part model = {.scope = PART_MODEL, .name = "arctic", FIELDS(model), INERT(model)};

static const FieldRow moe_fields[] = {
    OPEN_EXPERTS("num_local_experts"),
    OPEN_TOP_K,
    {.dim = DIM_EXPERT_WIDTH, .paths = "intermediate_size", .min = 1},
    {.dim = DIM_RESIDUAL,
     .paths = "parallel_attn_mlp_res",
     .need = FIELD_OPTIONAL,
     .kind = FIELD_FLAG},
};
static const DimRule moe_rules[] = {
    {DIM_SHARED_WIDTH, DIM_PRODUCT, DIM_RESIDUAL, DIM_HIDDEN, DIM_NONE, 0},
};
static const DimCheck moe_checks[] = {OPEN_MOE_CHECK};
static const InertKey moe_inert[] = {OPEN_MOE_INERT};
static const TensorRow moe_tensors[] = {
    {.name = "residual_layernorm.weight", OPEN_NORM, .when = DIM_RESIDUAL},
    {.name = "residual_mlp.w1.weight", OPEN_SHARED_IN, .when = DIM_RESIDUAL},
    {.name = "residual_mlp.w2.weight", OPEN_SHARED_OUT, .when = DIM_RESIDUAL},
    {.name = "residual_mlp.w3.weight", OPEN_SHARED_IN, .when = DIM_RESIDUAL},
    {.name = "block_sparse_moe.gate.weight", OPEN_ROUTER},
    {.name = "block_sparse_moe.experts.{E}.w1.weight", OPEN_EXPERT_IN},
    {.name = "block_sparse_moe.experts.{E}.w2.weight", OPEN_EXPERT_OUT},
    {.name = "block_sparse_moe.experts.{E}.w3.weight", OPEN_EXPERT_IN},
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

// A layer without experts has one block of their width.
static const FieldRow dense_fields[] = {
    {.dim = DIM_DENSE_WIDTH, .paths = "intermediate_size", .min = 1},
};
static const TensorRow dense_tensors[] = {
    {.name = "block_sparse_moe.mlp.w1.weight", OPEN_DENSE_IN},
    {.name = "block_sparse_moe.mlp.w2.weight", OPEN_DENSE_OUT},
    {.name = "block_sparse_moe.mlp.w3.weight", OPEN_DENSE_IN},
};
static const Part dense = {
    .scope = PART_MLP,
    .name = "dense",
    FIELDS(dense),
    TENSORS(dense),
    .mlp = {.width = DIM_DENSE_WIDTH},
};

static const Family families[] = {
    {.model_types = "arctic",
     PLAIN_NAMES,
     .parts = {&parts_model_tables, &parts_model_norms, &parts_attention_gqa, &dense, &moe, &model},
     .pattern = {ALL(parts_attention_gqa),
                 ALL(moe),
                 {.part = &dense,
                  .kind = PATTERN_OFF_PERIOD,
                  .mode = PATTERN_OVERRIDE,
                  .dim = DIM_MOE_PERIOD,
                  .base = 1}}},
};

const FamilyGroup family_arctic = {families, COUNT(families)};
