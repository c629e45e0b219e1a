// Granite with experts.
//
// Invariant: rows only; no code. Source: tensor names and shapes of
// ibm-granite/granite-3.1-1b-a400m-instruct.
#include "model/moe/family_rows.h"
#include "model/moe/parts_open.h"

static const InertKey scale_inert[] = {
    {"attention_multiplier", NULL},
    {"embedding_multiplier", NULL},
    {"residual_multiplier", NULL},
    {"logits_scaling", NULL},
};
static const Part scales = {.scope = PART_MODEL, .name = "multipliers", INERT(scale)};

static const FieldRow moe_fields[] = {
    OPEN_EXPERTS("num_local_experts"),
    OPEN_TOP_K,
    {.dim = DIM_EXPERT_WIDTH, .paths = "intermediate_size", .min = 1},
    OPEN_LAYOUT,
};
static const DimRule moe_rules[] = {OPEN_FUSED_RULE};
static const DimCheck moe_checks[] = {OPEN_MOE_CHECK};
static const InertKey moe_inert[] = {OPEN_MOE_INERT};
// One by one they have the names of Mixtral.
static const TensorRow moe_tensors[] = {
    {.name = "block_sparse_moe.router.layer.weight", OPEN_ROUTER, .unless = DIM_SEPARATE},
    {.name = "block_sparse_moe.input_linear.weight", OPEN_FUSED_IN, .unless = DIM_SEPARATE},
    {.name = "block_sparse_moe.output_linear.weight", OPEN_FUSED_OUT, .unless = DIM_SEPARATE},
    {.name = "block_sparse_moe.gate.weight", OPEN_ROUTER, .when = DIM_SEPARATE},
    {.name = "block_sparse_moe.experts.{E}.w1.weight", OPEN_EXPERT_IN, .when = DIM_SEPARATE},
    {.name = "block_sparse_moe.experts.{E}.w2.weight", OPEN_EXPERT_OUT, .when = DIM_SEPARATE},
    {.name = "block_sparse_moe.experts.{E}.w3.weight", OPEN_EXPERT_IN, .when = DIM_SEPARATE},
};
static const Part moe = {
    .scope = PART_MLP,
    .name = "moe",
    FIELDS(moe),
    RULES(moe),
    CHECKS(moe),
    INERT(moe),
    TENSORS(moe),
    .mlp = {OPEN_MOE},
};

static const Family families[] = {
    {.model_types = "granitemoe",
     PLAIN_NAMES,
     .parts = {&parts_model_tables, &parts_model_norms, &parts_attention_gqa, &moe, &scales},
     .pattern = {ALL(parts_attention_gqa), ALL(moe)}},
};

const FamilyGroup family_granite = {families, COUNT(families)};
