// Parts of the many families near Llama and Mixtral: tables only, see part.h; and the words that
// rows of such families are written in, for family_*.c alone.
#ifndef MODEL_MOE_PARTS_OPEN_H
#define MODEL_MOE_PARTS_OPEN_H

#include "model/moe/part.h"

// Grouped-query attention as parts_attention_gqa, with biases, with norms over all heads at once,
// and with sinks, each where the family has it; and the same with a cache of a window of tokens.
extern const Part parts_open_gqa;
extern const Part parts_open_gqa_window;
// The projections and the output of attention have biases when `attention_bias` says so.
extern const Part parts_open_biases;
// Experts of `intermediate_size`: named gate_proj, up_proj, down_proj.
extern const Part parts_open_moe;

#define OPEN_HEADS                                                                                 \
    {.dim = DIM_HEADS, .paths = "num_attention_heads", .min = 1}, {                                \
        .dim = DIM_KV_HEADS, .need = FIELD_OPTIONAL, .paths = "num_key_value_heads", .min = 1,     \
        .fallback_dim = DIM_HEADS                                                                  \
    }
#define OPEN_HEAD_DIM                                                                              \
    {                                                                                              \
        .dim = DIM_HEAD_DIM, .paths = "head_dim|attention_head_dim", .need = FIELD_OPTIONAL,       \
        .min = 1                                                                                   \
    }
// Widths of queries and keys, and what the cache holds of a token.
#define OPEN_WIDTHS                                                                                \
    {DIM_HEAD_DEFAULT, DIM_SHARE, DIM_HIDDEN, DIM_HEADS, DIM_NONE, 0},                             \
        {DIM_HEAD_DIM, DIM_FIRST, DIM_HEAD_DIM, DIM_HEAD_DEFAULT, DIM_NONE, 0},                    \
        {DIM_Q_WIDTH, DIM_PRODUCT, DIM_HEADS, DIM_HEAD_DIM, DIM_NONE, 0},                          \
        {DIM_KV_WIDTH, DIM_PRODUCT, DIM_KV_HEADS, DIM_HEAD_DIM, DIM_NONE, 0}, {                    \
        DIM_KV_CACHE, DIM_PRODUCT, DIM_KV_WIDTH, DIM_NONE, DIM_NONE, 2                             \
    }
#define OPEN_HEAD_CHECKS                                                                           \
    {DIM_HEADS, DIM_MULTIPLE_OF, DIM_KV_HEADS}, {                                                  \
        DIM_HEAD_DIM, DIM_NOT_ZERO, DIM_NONE                                                       \
    }
#define OPEN_GQA                                                                                   \
    .kind = ATTENTION_GQA, .heads = DIM_HEADS, .kv_heads = DIM_KV_HEADS, .head_dim = DIM_HEAD_DIM, \
    .value_dim = DIM_HEAD_DIM, .kv_elements = DIM_KV_CACHE

#define OPEN_QUERY .component = COMPONENT_ATTENTION, .shard = SHARD_COLUMN, .unit = DIM_HEAD_DIM
#define OPEN_KEYS  .component = COMPONENT_ATTENTION, .shard = SHARD_KV, .unit = DIM_HEAD_DIM
#define OPEN_OUT                                                                                   \
    .component = COMPONENT_ATTENTION, .shard = SHARD_ROW, .unit = DIM_HEAD_DIM,                    \
    .dims = {DIM_HIDDEN, DIM_Q_WIDTH}
// Queries, keys and values of all heads in one matrix, in that order.
#define OPEN_FUSED_QKV                                                                             \
    OPEN_QUERY, .kv_from = 1,                                                                      \
                .segments = {{DIM_Q_WIDTH, DIM_HEAD_DIM},                                          \
                             {DIM_KV_WIDTH, DIM_HEAD_DIM},                                         \
                             {DIM_KV_WIDTH, DIM_HEAD_DIM}}
#define OPEN_WHOLE .component = COMPONENT_ATTENTION, .shard = SHARD_REPLICATED, .store = STORE_PLAIN
#define OPEN_NORM                                                                                  \
    .component = COMPONENT_NORM, .shard = SHARD_REPLICATED, .store = STORE_PLAIN,                  \
    .dims = {DIM_HIDDEN}
#define OPEN_TABLE(kind)                                                                           \
    .component = (kind), .shard = SHARD_VOCAB, .store = STORE_PLAIN, .dims = {DIM_VOCAB, DIM_HIDDEN}

#define OPEN_EXPERTS(names)                                                                        \
    { .dim = DIM_EXPERTS, .paths = (names), .min = 1, .max = 1 << 20 }
#define OPEN_TOP_K                                                                                 \
    { .dim = DIM_TOP_K, .paths = "num_experts_per_tok", .min = 1 }
#define OPEN_ROUTER                                                                                \
    .component = COMPONENT_ROUTER, .shard = SHARD_REPLICATED, .store = STORE_PLAIN,                \
    .dims = {DIM_EXPERTS, DIM_HIDDEN}
#define OPEN_EXPERT_IN                                                                             \
    .component = COMPONENT_ROUTED, .shard = SHARD_EXPERT_COLUMN, .repeat = DIM_EXPERTS,            \
    .dims = {DIM_EXPERT_WIDTH, DIM_HIDDEN}
#define OPEN_EXPERT_OUT                                                                            \
    .component = COMPONENT_ROUTED, .shard = SHARD_EXPERT_ROW, .repeat = DIM_EXPERTS,               \
    .dims = {DIM_HIDDEN, DIM_EXPERT_WIDTH}
// Gate and up of all experts in one tensor (the gate first), and down; outputs before inputs.
#define OPEN_HALVES .segments = {{DIM_EXPERT_WIDTH, DIM_NONE}, {DIM_EXPERT_WIDTH, DIM_NONE}}
#define OPEN_FUSED_IN                                                                              \
    .component = COMPONENT_ROUTED, .shard = SHARD_EXPERT_COLUMN, .fused = true,                    \
    .dims = {DIM_EXPERTS, DIM_FUSED_WIDTH, DIM_HIDDEN}, OPEN_HALVES
#define OPEN_FUSED_OUT                                                                             \
    .component = COMPONENT_ROUTED, .shard = SHARD_EXPERT_ROW, .fused = true,                       \
    .dims = {DIM_EXPERTS, DIM_HIDDEN, DIM_EXPERT_WIDTH}
// The same, inputs before outputs.
#define OPEN_TURNED_IN                                                                             \
    .component = COMPONENT_ROUTED, .shard = SHARD_EXPERT_COLUMN, .fused = true,                    \
    .inputs_first = true, .dims = {DIM_EXPERTS, DIM_HIDDEN, DIM_FUSED_WIDTH}, OPEN_HALVES
#define OPEN_TURNED_OUT                                                                            \
    .component = COMPONENT_ROUTED, .shard = SHARD_EXPERT_ROW, .fused = true, .inputs_first = true, \
    .dims = {DIM_EXPERTS, DIM_EXPERT_WIDTH, DIM_HIDDEN}
#define OPEN_FUSED_RULE                                                                            \
    { DIM_FUSED_WIDTH, DIM_PRODUCT, DIM_EXPERT_WIDTH, DIM_NONE, DIM_NONE, 2 }
// Whether a checkpoint keeps its experts one by one: no config says it.
#define OPEN_LAYOUT                                                                                \
    {                                                                                              \
        .dim = DIM_SEPARATE, .paths = "expert_layout", .need = FIELD_OPTIONAL,                     \
        .kind = FIELD_CHOICE, .choices = "fused=0|separate=1"                                      \
    }
// What every token passes beside the experts.
#define OPEN_SHARED_IN                                                                             \
    .component = COMPONENT_SHARED, .shard = SHARD_COLUMN, .dims = {DIM_SHARED_WIDTH, DIM_HIDDEN}
#define OPEN_SHARED_OUT                                                                            \
    .component = COMPONENT_SHARED, .shard = SHARD_ROW, .dims = {DIM_HIDDEN, DIM_SHARED_WIDTH}
#define OPEN_DENSE_IN                                                                              \
    .component = COMPONENT_DENSE, .shard = SHARD_COLUMN, .dims = {DIM_DENSE_WIDTH, DIM_HIDDEN}
#define OPEN_DENSE_OUT                                                                             \
    .component = COMPONENT_DENSE, .shard = SHARD_ROW, .dims = {DIM_HIDDEN, DIM_DENSE_WIDTH}
#define OPEN_MOE                                                                                   \
    .experts = DIM_EXPERTS, .top_k = DIM_TOP_K, .groups = DIM_ONE, .top_groups = DIM_ONE,          \
    .width = DIM_EXPERT_WIDTH
#define OPEN_MOE_CHECK                                                                             \
    { DIM_TOP_K, DIM_AT_MOST, DIM_EXPERTS }
// How tokens choose, and how that is trained: the same shapes whatever these say.
#define OPEN_MOE_INERT                                                                             \
    {"norm_topk_prob", NULL}, {"router_aux_loss_coef", NULL}, {"output_router_logits", NULL}, {    \
        "router_jitter_noise", NULL                                                                \
    }

#endif
