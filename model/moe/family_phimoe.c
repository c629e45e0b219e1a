// Phi-3.5-MoE and the pruned Phi-mini-MoE and Phi-tiny-MoE.
//
// Invariant: rows only; no code. Sources: tensor names and shapes of
// microsoft/Phi-mini-MoE-instruct; SlimMoE, arXiv:2506.18349, section 2.
#include "model/moe/family_rows.h"
#include "model/moe/parts_open.h"

static const FieldRow table_fields[] = {
    {.dim = DIM_HEAD_BIAS, .paths = "lm_head_bias", .need = FIELD_OPTIONAL, .kind = FIELD_FLAG},
};
static const InertKey table_inert[] = {
    {"expert_dropout", NULL},
    {"hidden_dropout", NULL},
    {"input_jitter_noise", NULL},
};
static const TensorRow table_tensors[] = {
    {.name = "model.embed_tokens.weight", OPEN_TABLE(COMPONENT_EMBEDDING)},
    {.name = "model.norm.weight", OPEN_NORM},
    {.name = "model.norm.bias", OPEN_NORM},
    {.name = "lm_head.weight", OPEN_TABLE(COMPONENT_HEAD), .unless = DIM_TIED},
    {.name = "lm_head.bias",
     .component = COMPONENT_HEAD,
     .shard = SHARD_VOCAB,
     .store = STORE_PLAIN,
     .dims = {DIM_VOCAB},
     .when = DIM_HEAD_BIAS},
};
static const Part tables = {
    .scope = PART_MODEL, .name = "tables", FIELDS(table), INERT(table), TENSORS(table)};

static const TensorRow norm_tensors[] = {
    {.name = "input_layernorm.weight", OPEN_NORM},
    {.name = "input_layernorm.bias", OPEN_NORM},
    {.name = "post_attention_layernorm.weight", OPEN_NORM},
    {.name = "post_attention_layernorm.bias", OPEN_NORM},
};
static const Part norms = {.scope = PART_EVERY_LAYER, .name = "norms", TENSORS(norm)};

// Phi-tiny says the width and the number of its experts twice.
static const FieldRow moe_fields[] = {
    OPEN_EXPERTS("num_local_experts|num_experts"),
    OPEN_TOP_K,
    {.dim = DIM_EXPERT_WIDTH, .paths = "intermediate_size|moe_intermediate_size", .min = 1},
};
static const DimCheck moe_checks[] = {OPEN_MOE_CHECK};
static const InertKey moe_inert[] = {OPEN_MOE_INERT};
static const TensorRow moe_tensors[] = {
    {.name = "block_sparse_moe.gate.weight", OPEN_ROUTER},
    {.name = "block_sparse_moe.experts.{E}.w1.weight", OPEN_EXPERT_IN},
    {.name = "block_sparse_moe.experts.{E}.w2.weight", OPEN_EXPERT_OUT},
    {.name = "block_sparse_moe.experts.{E}.w3.weight", OPEN_EXPERT_IN},
};
static const Part moe = {
    .scope = PART_MLP,
    .name = "moe",
    FIELDS(moe),
    CHECKS(moe),
    INERT(moe),
    TENSORS(moe),
    .mlp = {OPEN_MOE},
};

static const Family families[] = {
    {.model_types = "phimoe",
     PLAIN_NAMES,
     .parts = {&parts_model_fields, &tables, &norms, &parts_open_gqa_window, &parts_open_biases,
               &moe},
     .pattern = {ALL(parts_open_gqa_window), ALL(moe)}},
};

const FamilyGroup family_phimoe = {families, COUNT(families)};
