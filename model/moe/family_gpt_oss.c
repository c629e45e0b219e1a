// gpt-oss: biases everywhere, sinks, a window in every other layer, and experts in one tensor of
// each kind, whose gate and up columns alternate.
//
// Invariant: rows only; no code. Sources: tensor names and shapes of openai/gpt-oss-120b and of its
// BF16 releases; the model card, arXiv:2508.10925, section 2.
#include "model/moe/family_rows.h"
#include "model/moe/parts_open.h"

static const InertKey model_inert[] = {
    {"initial_context_length", NULL},
    {"swiglu_limit", NULL},
};
static const Part model = {.scope = PART_MODEL, .name = "gpt-oss", INERT(model)};

static const FieldRow moe_fields[] = {
    OPEN_EXPERTS("num_local_experts|num_experts"),
    {.dim = DIM_TOP_K, .paths = "num_experts_per_tok|experts_per_token", .min = 1},
    {.dim = DIM_EXPERT_WIDTH, .paths = "intermediate_size", .min = 1},
};
static const DimRule moe_rules[] = {OPEN_FUSED_RULE};
static const DimCheck moe_checks[] = {OPEN_MOE_CHECK};
static const InertKey moe_inert[] = {OPEN_MOE_INERT};
static const TensorRow moe_tensors[] = {
    {.name = "mlp.router.weight", OPEN_ROUTER},
    {.name = "mlp.router.bias",
     .component = COMPONENT_ROUTER,
     .shard = SHARD_REPLICATED,
     .store = STORE_PLAIN,
     .dims = {DIM_EXPERTS}},
    {.name = "mlp.experts.gate_up_proj", OPEN_TURNED_IN, .interleaved = true},
    {.name = "mlp.experts.gate_up_proj_bias",
     .component = COMPONENT_ROUTED,
     .shard = SHARD_EXPERT_COLUMN,
     .store = STORE_PLAIN,
     .fused = true,
     .dims = {DIM_EXPERTS, DIM_FUSED_WIDTH},
     OPEN_HALVES,
     .interleaved = true},
    {.name = "mlp.experts.down_proj", OPEN_TURNED_OUT},
    // added once to the sum over ranks
    {.name = "mlp.experts.down_proj_bias",
     .component = COMPONENT_ROUTED,
     .shard = SHARD_EXPERT_WHOLE,
     .store = STORE_PLAIN,
     .fused = true,
     .dims = {DIM_EXPERTS, DIM_HIDDEN}},
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
    {.model_types = "gpt_oss",
     PLAIN_NAMES,
     .parts = {&parts_model_tables, &parts_model_norms, &parts_open_gqa, &parts_open_gqa_window,
               &parts_open_biases, &moe, &model},
     .pattern = {{.part = &parts_open_gqa,
                  .kind = PATTERN_NAMES,
                  .path = "layer_types",
                  .text = "full_attention"},
                 {.part = &parts_open_gqa_window,
                  .kind = PATTERN_NAMES,
                  .path = "layer_types",
                  .text = "sliding_attention"},
                 ALL(moe)},
     .presets = {{DIM_SINKS, 1}}},
};

const FamilyGroup family_gpt_oss = {families, COUNT(families)};
