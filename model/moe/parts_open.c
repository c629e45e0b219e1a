// Parts of the many families near Llama and Mixtral, as tables.
//
// Invariant: rows only; no code. The order of rows is the order of the tensors in outputs. Sources:
// tensor names and shapes of the released checkpoints (allenai/OLMoE-1B-7B-0924,
// ByteDance-Seed/Seed-OSS-36B, openai/gpt-oss-120b, microsoft/Phi-mini-MoE-instruct); Jiang et al.,
// "Mixtral of Experts", arXiv:2401.04088, section 2.
#include "model/moe/parts_open.h"

#include "model/moe/family_rows.h"

static const FieldRow gqa_fields[] = {OPEN_HEADS, OPEN_HEAD_DIM};
static const DimRule gqa_rules[] = {OPEN_WIDTHS};
static const DimCheck gqa_checks[] = {OPEN_HEAD_CHECKS};
static const InertKey gqa_inert[] = {
    {"attention_bias", "false|null"}, // where no row of the family reads it
    {"qkv_bias", "false|null"},
};
static const TensorRow gqa_tensors[] = {
    {.name = "self_attn.q_proj.weight", OPEN_QUERY, .dims = {DIM_Q_WIDTH, DIM_HIDDEN}},
    {.name = "self_attn.k_proj.weight", OPEN_KEYS, .dims = {DIM_KV_WIDTH, DIM_HIDDEN}},
    {.name = "self_attn.v_proj.weight", OPEN_KEYS, .dims = {DIM_KV_WIDTH, DIM_HIDDEN}},
    {.name = "self_attn.q_proj.bias",
     OPEN_QUERY,
     .store = STORE_PLAIN,
     .dims = {DIM_Q_WIDTH},
     .when = DIM_QKV_BIAS},
    {.name = "self_attn.k_proj.bias",
     OPEN_KEYS,
     .store = STORE_PLAIN,
     .dims = {DIM_KV_WIDTH},
     .when = DIM_QKV_BIAS},
    {.name = "self_attn.v_proj.bias",
     OPEN_KEYS,
     .store = STORE_PLAIN,
     .dims = {DIM_KV_WIDTH},
     .when = DIM_QKV_BIAS},
    {.name = "self_attn.o_proj.weight", OPEN_OUT},
    // added once, after the sum over ranks
    {.name = "self_attn.o_proj.bias", OPEN_WHOLE, .dims = {DIM_HIDDEN}, .when = DIM_O_BIAS},
    // over all heads at once, so that no rank can do its heads alone
    {.name = "self_attn.q_norm.weight", OPEN_WHOLE, .dims = {DIM_Q_WIDTH}, .when = DIM_WIDE_NORM},
    {.name = "self_attn.k_norm.weight", OPEN_WHOLE, .dims = {DIM_KV_WIDTH}, .when = DIM_WIDE_NORM},
    {.name = "self_attn.sinks",
     .component = COMPONENT_ATTENTION,
     .shard = SHARD_COLUMN,
     .store = STORE_PLAIN,
     .dims = {DIM_HEADS},
     .when = DIM_SINKS},
};

const Part parts_open_gqa = {
    .scope = PART_ATTENTION,
    .name = "gqa",
    FIELDS(gqa),
    RULES(gqa),
    CHECKS(gqa),
    INERT(gqa),
    TENSORS(gqa),
    .attention = {OPEN_GQA, .wide_norm = DIM_WIDE_NORM},
};

// A chunk of Llama 4 bounds the cache as a window does.
static const FieldRow window_fields[] = {
    OPEN_HEADS,
    OPEN_HEAD_DIM,
    {.dim = DIM_WINDOW, .paths = "sliding_window|attention_chunk_size", .need = FIELD_OPTIONAL},
};

const Part parts_open_gqa_window = {
    .scope = PART_ATTENTION,
    .name = "gqa of a window",
    FIELDS(window),
    RULES(gqa),
    CHECKS(gqa),
    INERT(gqa),
    TENSORS(gqa),
    .attention = {OPEN_GQA, .window = DIM_WINDOW},
};

static const FieldRow bias_fields[] = {
    {.dim = DIM_QKV_BIAS, .paths = "attention_bias", .need = FIELD_OPTIONAL, .kind = FIELD_FLAG},
    {.dim = DIM_O_BIAS, .paths = "attention_bias", .need = FIELD_OPTIONAL, .kind = FIELD_FLAG},
};

const Part parts_open_biases = {.scope = PART_MODEL, .name = "attention biases", FIELDS(bias)};

static const FieldRow moe_fields[] = {
    OPEN_EXPERTS("num_experts|num_local_experts"),
    OPEN_TOP_K,
    {.dim = DIM_EXPERT_WIDTH, .paths = "intermediate_size", .min = 1},
};
static const DimCheck moe_checks[] = {OPEN_MOE_CHECK};
static const InertKey moe_inert[] = {OPEN_MOE_INERT};
static const TensorRow moe_tensors[] = {
    {.name = "mlp.gate.weight", OPEN_ROUTER},
    {.name = "mlp.experts.{E}.gate_proj.weight", OPEN_EXPERT_IN},
    {.name = "mlp.experts.{E}.up_proj.weight", OPEN_EXPERT_IN},
    {.name = "mlp.experts.{E}.down_proj.weight", OPEN_EXPERT_OUT},
};

const Part parts_open_moe = {
    .scope = PART_MLP,
    .name = "moe",
    FIELDS(moe),
    CHECKS(moe),
    INERT(moe),
    TENSORS(moe),
    .mlp = {OPEN_MOE},
};
