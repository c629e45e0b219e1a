// DBRX: queries, keys and values in one matrix, and each matrix of all experts below each other in
// one of two dimensions.
//
// Invariant: rows only; no code. Source: tensor names and shapes of databricks/dbrx-instruct.
#include "model/moe/family_rows.h"
#include "model/moe/parts_open.h"

static const FieldRow table_fields[] = {
    {.dim = DIM_LAYERS, .paths = "n_layers", .min = 1, .max = 10000},
    {.dim = DIM_HIDDEN, .paths = "d_model", .min = 1},
    {.dim = DIM_VOCAB, .paths = "vocab_size", .min = 1},
    {.dim = DIM_CONTEXT, .paths = "max_seq_len", .min = 1},
    {.dim = DIM_DTYPE,
     .paths = "torch_dtype",
     .need = FIELD_ASSUMED,
     .kind = FIELD_CHOICE,
     .choices = "bfloat16=2|float16=1|float32=0", // as parts_model_fields
     .fallback = NUMFMT_BF16},
    {.dim = DIM_TIED, .paths = "tie_word_embeddings", .need = FIELD_OPTIONAL, .kind = FIELD_FLAG},
};
static const InertKey table_inert[] = {
    {"emb_pdrop", NULL},
    {"resid_pdrop", NULL},
};
static const TensorRow table_tensors[] = {
    {.name = "transformer.wte.weight", OPEN_TABLE(COMPONENT_EMBEDDING)},
    {.name = "transformer.norm_f.weight", OPEN_NORM},
    {.name = "lm_head.weight", OPEN_TABLE(COMPONENT_HEAD), .unless = DIM_TIED},
};
static const Part tables = {
    .scope = PART_MODEL, .name = "tables", FIELDS(table), INERT(table), TENSORS(table)};

static const TensorRow norm_tensors[] = {
    {.name = "norm_attn_norm.norm_1.weight", OPEN_NORM},
    {.name = "norm_attn_norm.norm_2.weight", OPEN_NORM},
};
static const Part norms = {.scope = PART_EVERY_LAYER, .name = "norms", TENSORS(norm)};

static const FieldRow attention_fields[] = {
    {.dim = DIM_HEADS, .paths = "n_heads", .min = 1},
    {.dim = DIM_KV_HEADS, .paths = "attn_config.kv_n_heads", .min = 1},
    {.dim = DIM_HEAD_DIM, .paths = "head_dim", .need = FIELD_OPTIONAL, .min = 1},
};
static const DimRule attention_rules[] = {
    OPEN_WIDTHS,
    {DIM_QKV_WIDTH, DIM_SUM, DIM_Q_WIDTH, DIM_KV_WIDTH, DIM_KV_WIDTH, 0},
};
static const DimCheck attention_checks[] = {OPEN_HEAD_CHECKS};
static const InertKey attention_inert[] = {
    {"attn_config.clip_qkv", NULL}, // clamps values
    {"attn_config.model_type", NULL},
    {"attn_config.rope_theta", NULL},
    {"attn_config.attn_pdrop", NULL},
};
static const TensorRow attention_tensors[] = {
    {.name = "norm_attn_norm.attn.Wqkv.weight",
     OPEN_FUSED_QKV,
     .dims = {DIM_QKV_WIDTH, DIM_HIDDEN}},
    {.name = "norm_attn_norm.attn.out_proj.weight", OPEN_OUT},
};
static const Part attention = {
    .scope = PART_ATTENTION,
    .name = "gqa",
    FIELDS(attention),
    RULES(attention),
    CHECKS(attention),
    INERT(attention),
    TENSORS(attention),
    .attention = {OPEN_GQA},
};

static const FieldRow moe_fields[] = {
    OPEN_EXPERTS("ffn_config.moe_num_experts"),
    {.dim = DIM_TOP_K, .paths = "ffn_config.moe_top_k", .min = 1},
    {.dim = DIM_EXPERT_WIDTH, .paths = "ffn_config.ffn_hidden_size", .min = 1},
};
static const DimRule moe_rules[] = {
    {DIM_STACKED, DIM_PRODUCT, DIM_EXPERTS, DIM_EXPERT_WIDTH, DIM_NONE, 0},
};
static const DimCheck moe_checks[] = {OPEN_MOE_CHECK};
static const InertKey moe_inert[] = {
    OPEN_MOE_INERT,
    {"ffn_config.ffn_act_fn", NULL}, // its names all have a gate
    {"ffn_config.model_type", NULL},
    {"ffn_config.moe_jitter_eps", NULL},
    {"ffn_config.moe_loss_weight", NULL},
    {"ffn_config.moe_normalize_expert_weights", NULL},
    {"ffn_config.uniform_expert_assignment", NULL},
};
// The axis of a cut is that of the rows of one expert, which are its outputs in w1 (the gate) and
// v1 and its inputs in w2.
#define STACKED                                                                                    \
    .component = COMPONENT_ROUTED, .stacked = DIM_EXPERTS, .dims = {DIM_STACKED, DIM_HIDDEN}
static const TensorRow moe_tensors[] = {
    {.name = "ffn.router.layer.weight", OPEN_ROUTER},
    {.name = "ffn.experts.mlp.w1", STACKED, .shard = SHARD_EXPERT_COLUMN},
    {.name = "ffn.experts.mlp.v1", STACKED, .shard = SHARD_EXPERT_COLUMN},
    {.name = "ffn.experts.mlp.w2", STACKED, .shard = SHARD_EXPERT_ROW, .inputs_first = true},
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
    {.model_types = "dbrx",
     .prefix = "",
     .layer_prefix = "transformer.blocks.{L}.",
     .fp8_scale_type = "F32",
     .parts = {&tables, &norms, &attention, &moe},
     .pattern = {ALL(attention), ALL(moe)}},
};

const FamilyGroup family_dbrx = {families, COUNT(families)};
