// Grok-1 in its conversion to PyTorch, whose config has no model_type: it is found by its fields.
//
// Invariant: rows only; no code. Sources: tensor names and shapes of hpcai-tech/grok-1; the
// README of xai-org/grok-1.
#include "model/moe/family_rows.h"
#include "model/moe/parts_open.h"

static const TensorRow table_tensors[] = {
    {.name = "model.embed_tokens.weight", OPEN_TABLE(COMPONENT_EMBEDDING)},
    {.name = "model.norm.scale", OPEN_NORM},
    {.name = "lm_head.weight", OPEN_TABLE(COMPONENT_HEAD), .unless = DIM_TIED},
};
static const InertKey table_inert[] = {
    {"attn_output_multiplier", NULL},
    {"embedding_multiplier_scale", NULL},
    {"output_multiplier_scale", NULL},
    {"max_attn_value", NULL},
};
static const Part tables = {.scope = PART_MODEL, .name = "tables", INERT(table), TENSORS(table)};

static const TensorRow norm_tensors[] = {
    {.name = "pre_attn_norm.scale", OPEN_NORM},
    {.name = "post_attn_norm.scale", OPEN_NORM},
    {.name = "pre_moe_norm.scale", OPEN_NORM},
    {.name = "post_moe_norm.scale", OPEN_NORM},
};
static const Part norms = {.scope = PART_EVERY_LAYER, .name = "norms", TENSORS(norm)};

static const FieldRow attention_fields[] = {OPEN_HEADS, OPEN_HEAD_DIM};
static const DimRule attention_rules[] = {OPEN_WIDTHS};
static const DimCheck attention_checks[] = {OPEN_HEAD_CHECKS};
static const TensorRow attention_tensors[] = {
    {.name = "attn.q_proj.weight", OPEN_QUERY, .dims = {DIM_Q_WIDTH, DIM_HIDDEN}},
    {.name = "attn.k_proj.weight", OPEN_KEYS, .dims = {DIM_KV_WIDTH, DIM_HIDDEN}},
    {.name = "attn.v_proj.weight", OPEN_KEYS, .dims = {DIM_KV_WIDTH, DIM_HIDDEN}},
    {.name = "attn.o_proj.weight", OPEN_OUT},
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

// `linear` is the gate, `linear_v` goes up and `linear_1` down.
static const FieldRow moe_fields[] = {
    OPEN_EXPERTS("num_experts"),
    OPEN_TOP_K,
    {.dim = DIM_EXPERT_WIDTH, .paths = "intermediate_size", .min = 1},
};
static const DimCheck moe_checks[] = {OPEN_MOE_CHECK};
static const InertKey moe_inert[] = {OPEN_MOE_INERT};
static const TensorRow moe_tensors[] = {
    {.name = "moe_block.gate.weight", OPEN_ROUTER},
    {.name = "moe_block.experts.{E}.linear_v.weight", OPEN_EXPERT_IN},
    {.name = "moe_block.experts.{E}.linear_1.weight", OPEN_EXPERT_OUT},
    {.name = "moe_block.experts.{E}.linear.weight", OPEN_EXPERT_IN},
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
    {.model_types = "grok-1",
     PLAIN_NAMES,
     .parts = {&parts_model_fields, &tables, &norms, &attention, &moe},
     .pattern = {ALL(attention), ALL(moe)}},
};

const FamilyGroup family_grok = {families, COUNT(families)};
