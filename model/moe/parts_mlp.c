// Feed-forward blocks as tables: dense, and mixtures of experts under the three naming schemes in
// use.
//
// Invariant: rows only; no code. Sources: tensor names and shapes of the released checkpoints;
// DeepSeekMoE, arXiv:2401.06066, for shared experts; Kimi-K3's config.json for the latent space
// that its routed experts work in.
#include "model/moe/parts_mlp.h"

#define COUNT(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))

// A block's three matrices: gate and up are cut by outputs, down by inputs.
#define DENSE_IN  .component = COMPONENT_DENSE, .shard = SHARD_COLUMN
#define DENSE_OUT .component = COMPONENT_DENSE, .shard = SHARD_ROW

static const FieldRow dense_fields[] = {
    {.dim = DIM_DENSE_WIDTH, .paths = "intermediate_size", .min = 1},
};
static const TensorRow dense_tensors[] = {
    {.name = "mlp.gate_proj.weight", DENSE_IN, .dims = {DIM_DENSE_WIDTH, DIM_HIDDEN}},
    {.name = "mlp.up_proj.weight", DENSE_IN, .dims = {DIM_DENSE_WIDTH, DIM_HIDDEN}},
    {.name = "mlp.down_proj.weight", DENSE_OUT, .dims = {DIM_HIDDEN, DIM_DENSE_WIDTH}},
};

const Part parts_mlp_dense = {
    .scope = PART_MLP,
    .name = "dense",
    .fields = dense_fields,
    .field_count = COUNT(dense_fields),
    .tensors = dense_tensors,
    .tensor_count = COUNT(dense_tensors),
    .mlp = {.width = DIM_DENSE_WIDTH},
};

#define ROUTED_IN                                                                                  \
    .component = COMPONENT_ROUTED, .shard = SHARD_EXPERT_COLUMN, .repeat = DIM_EXPERTS,            \
    .dims = {DIM_EXPERT_WIDTH, DIM_EXPERT_IN}
#define ROUTED_OUT                                                                                 \
    .component = COMPONENT_ROUTED, .shard = SHARD_EXPERT_ROW, .repeat = DIM_EXPERTS,               \
    .dims = {DIM_EXPERT_IN, DIM_EXPERT_WIDTH}
#define SHARED_IN                                                                                  \
    .component = COMPONENT_SHARED, .shard = SHARD_COLUMN, .when = DIM_SHARED_EXPERTS,              \
    .dims = {DIM_SHARED_WIDTH, DIM_HIDDEN}
#define SHARED_OUT                                                                                 \
    .component = COMPONENT_SHARED, .shard = SHARD_ROW, .when = DIM_SHARED_EXPERTS,                 \
    .dims = {DIM_HIDDEN, DIM_SHARED_WIDTH}
#define ROUTER                                                                                     \
    .component = COMPONENT_ROUTER, .shard = SHARD_REPLICATED, .store = STORE_PLAIN,                \
    .dims = {DIM_EXPERTS, DIM_HIDDEN}
#define ROUTER_BIAS                                                                                \
    .component = COMPONENT_ROUTER, .shard = SHARD_REPLICATED, .store = STORE_F32,                  \
    .dims = {DIM_EXPERTS}, .when = DIM_ROUTER_BIAS
#define LATENT .component = COMPONENT_LATENT, .shard = SHARD_REPLICATED, .store = STORE_PLAIN

#define ROUTING_FIELDS                                                                             \
    {.dim = DIM_EXPERTS,                                                                           \
     .paths = "num_experts|n_routed_experts|num_local_experts",                                    \
     .min = 1,                                                                                     \
     .max = 1 << 20},                                                                              \
        {.dim = DIM_TOP_K, .paths = "num_experts_per_tok|num_experts_per_token", .min = 1},        \
        {.dim = DIM_GROUPS,                                                                        \
         .paths = "n_group|num_expert_group",                                                      \
         .need = FIELD_OPTIONAL,                                                                   \
         .min = 1,                                                                                 \
         .fallback = 1},                                                                           \
    {                                                                                              \
        .dim = DIM_TOP_GROUPS, .paths = "topk_group", .need = FIELD_OPTIONAL, .min = 1,            \
        .fallback = 1                                                                              \
    }

static const FieldRow moe_fields[] = {
    ROUTING_FIELDS,
    {.dim = DIM_EXPERT_WIDTH, .paths = "moe_intermediate_size", .min = 1},
    {.dim = DIM_SHARED_EXPERTS,
     .paths = "n_shared_experts|num_shared_experts",
     .need = FIELD_OPTIONAL,
     .max = 1 << 16},
    {.dim = DIM_LATENT, .paths = "routed_expert_hidden_size", .need = FIELD_OPTIONAL},
    {.dim = DIM_LATENT_NORM,
     .paths = "latent_moe_use_norm",
     .need = FIELD_OPTIONAL,
     .kind = FIELD_FLAG},
    {.dim = DIM_ROUTER_BIAS,
     .paths = "topk_method",
     .need = FIELD_OPTIONAL,
     .kind = FIELD_CHOICE,
     .choices = "greedy=0|group_limited_greedy=0|noaux_tc=1",
     .fallback_dim = DIM_ROUTER_BIAS},
};
// How many experts a token can choose from: those of the groups that it chose first.
#define GROUPING_RULES                                                                             \
    {DIM_GROUP_SIZE, DIM_SHARE, DIM_EXPERTS, DIM_GROUPS, DIM_NONE, 0}, {                           \
        DIM_REACHABLE, DIM_PRODUCT, DIM_GROUP_SIZE, DIM_TOP_GROUPS, DIM_NONE, 0                    \
    }

static const DimRule moe_rules[] = {
    GROUPING_RULES,
    {DIM_SHARED_WIDTH, DIM_PRODUCT, DIM_SHARED_EXPERTS, DIM_EXPERT_WIDTH, DIM_NONE, 0},
    {DIM_EXPERT_IN, DIM_FIRST, DIM_LATENT, DIM_HIDDEN, DIM_NONE, 0},
};
static const DimCheck moe_checks[] = {
    {DIM_TOP_K, DIM_AT_MOST, DIM_EXPERTS},
    {DIM_EXPERTS, DIM_MULTIPLE_OF, DIM_GROUPS},
    {DIM_TOP_GROUPS, DIM_AT_MOST, DIM_GROUPS},
    {DIM_TOP_K, DIM_AT_MOST, DIM_REACHABLE},
};

// How tokens choose: the same shapes and work whatever these say.
static const InertKey moe_inert[] = {
    {"norm_topk_prob", NULL},
    {"moe_renormalize", NULL},
    {"routed_scaling_factor", NULL},
    {"scoring_func", NULL},
    {"aux_loss_alpha", NULL},
    {"seq_aux", NULL},
    {"router_aux_loss_coef", NULL},
    {"output_router_logits", NULL},
    {"router_jitter_noise", NULL},
    {"use_grouped_topk", NULL},
    {"ep_size", NULL},
    {"moe_router_activation_func", NULL},
    {"shared_expert_intermediate_size", "0|null"},
};

static const TensorRow moe_tensors[] = {
    {.name = "mlp.gate.weight", ROUTER},
    {.name = "mlp.gate.e_score_correction_bias", ROUTER_BIAS},
    {.name = "mlp.experts.{E}.gate_proj.weight", ROUTED_IN},
    {.name = "mlp.experts.{E}.up_proj.weight", ROUTED_IN},
    {.name = "mlp.experts.{E}.down_proj.weight", ROUTED_OUT},
    {.name = "mlp.shared_experts.gate_proj.weight", SHARED_IN},
    {.name = "mlp.shared_experts.up_proj.weight", SHARED_IN},
    {.name = "mlp.shared_experts.down_proj.weight", SHARED_OUT},
};

#define MOE_MLP                                                                                    \
    {                                                                                              \
        .experts = DIM_EXPERTS, .top_k = DIM_TOP_K, .groups = DIM_GROUPS,                          \
        .top_groups = DIM_TOP_GROUPS, .width = DIM_EXPERT_WIDTH, .shared_width = DIM_SHARED_WIDTH, \
        .latent = DIM_LATENT                                                                       \
    }

const Part parts_mlp_moe = {
    .scope = PART_MLP,
    .name = "moe",
    .fields = moe_fields,
    .field_count = COUNT(moe_fields),
    .rules = moe_rules,
    .rule_count = COUNT(moe_rules),
    .checks = moe_checks,
    .check_count = COUNT(moe_checks),
    .inert = moe_inert,
    .inert_count = COUNT(moe_inert),
    .tensors = moe_tensors,
    .tensor_count = COUNT(moe_tensors),
    .mlp = MOE_MLP,
};

// The latent projections stay in the model's type in Kimi-K3 although no `ignore` pattern names
// them: they are not of the class that its quantisation targets.
static const TensorRow kimi_tensors[] = {
    {.name = "block_sparse_moe.gate.weight", ROUTER},
    {.name = "block_sparse_moe.gate.e_score_correction_bias", ROUTER_BIAS},
    {.name = "block_sparse_moe.routed_expert_down_proj.weight",
     LATENT,
     .dims = {DIM_LATENT, DIM_HIDDEN},
     .when = DIM_LATENT},
    {.name = "block_sparse_moe.routed_expert_up_proj.weight",
     LATENT,
     .dims = {DIM_HIDDEN, DIM_LATENT},
     .when = DIM_LATENT},
    {.name = "block_sparse_moe.routed_expert_norm.weight",
     LATENT,
     .dims = {DIM_LATENT},
     .when = DIM_LATENT_NORM},
    {.name = "block_sparse_moe.experts.{E}.w1.weight", ROUTED_IN},
    {.name = "block_sparse_moe.experts.{E}.w2.weight", ROUTED_OUT},
    {.name = "block_sparse_moe.experts.{E}.w3.weight", ROUTED_IN},
    {.name = "block_sparse_moe.shared_experts.gate_proj.weight", SHARED_IN},
    {.name = "block_sparse_moe.shared_experts.up_proj.weight", SHARED_IN},
    {.name = "block_sparse_moe.shared_experts.down_proj.weight", SHARED_OUT},
};

const Part parts_mlp_moe_kimi = {
    .scope = PART_MLP,
    .name = "moe",
    .fields = moe_fields,
    .field_count = COUNT(moe_fields),
    .rules = moe_rules,
    .rule_count = COUNT(moe_rules),
    .checks = moe_checks,
    .check_count = COUNT(moe_checks),
    .inert = moe_inert,
    .inert_count = COUNT(moe_inert),
    .tensors = kimi_tensors,
    .tensor_count = COUNT(kimi_tensors),
    .mlp = MOE_MLP,
};

// Mixtral calls the width of an expert intermediate_size and has no shared expert.
static const FieldRow mixtral_fields[] = {
    ROUTING_FIELDS,
    {.dim = DIM_EXPERT_WIDTH, .paths = "intermediate_size", .min = 1},
};
static const DimRule mixtral_rules[] = {
    GROUPING_RULES,
    {DIM_EXPERT_IN, DIM_FIRST, DIM_HIDDEN, DIM_HIDDEN, DIM_NONE, 0},
};
static const TensorRow mixtral_tensors[] = {
    {.name = "block_sparse_moe.gate.weight", ROUTER},
    {.name = "block_sparse_moe.experts.{E}.w1.weight", ROUTED_IN},
    {.name = "block_sparse_moe.experts.{E}.w2.weight", ROUTED_OUT},
    {.name = "block_sparse_moe.experts.{E}.w3.weight", ROUTED_IN},
};

const Part parts_mlp_moe_mixtral = {
    .scope = PART_MLP,
    .name = "moe",
    .fields = mixtral_fields,
    .field_count = COUNT(mixtral_fields),
    .rules = mixtral_rules,
    .rule_count = COUNT(mixtral_rules),
    .checks = moe_checks,
    .check_count = COUNT(moe_checks),
    .inert = moe_inert,
    .inert_count = COUNT(moe_inert),
    .tensors = mixtral_tensors,
    .tensor_count = COUNT(mixtral_tensors),
    .mlp = {.experts = DIM_EXPERTS,
            .top_k = DIM_TOP_K,
            .groups = DIM_GROUPS,
            .top_groups = DIM_TOP_GROUPS,
            .width = DIM_EXPERT_WIDTH},
};
