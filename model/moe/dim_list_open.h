// Named dimensions of Mamba, and those that only families near Llama and Mixtral have; see dim.h.
#ifndef MODEL_MOE_DIM_LIST_OPEN_H
#define MODEL_MOE_DIM_LIST_OPEN_H

// name, text in messages
#define DIM_LIST_OPEN(X)                                                                           \
    X(MAMBA_HEADS, "mamba_num_heads")                                                              \
    X(MAMBA_DIM, "mamba_head_dim")                                                                 \
    X(MAMBA_STATE, "ssm_state_size")                                                               \
    X(MAMBA_GROUPS, "n_groups")                                                                    \
    X(MAMBA_CONV, "conv_kernel")                                                                   \
    X(MAMBA_WIDTH, "inner width")                                                                  \
    X(MAMBA_BC, "B and C width")                                                                   \
    X(MAMBA_MIXED, "convolved width")                                                              \
    X(MAMBA_IN, "input projection width")                                                          \
    X(MAMBA_TAIL, "tokens kept for the convolution")                                               \
    X(MAMBA_STATE_B, "bytes of state")                                                             \
    X(MAMBA_MATRIX_B, "bytes of the recurrent state")                                              \
    X(MAMBA_TAIL_B, "bytes of the convolution state")                                              \
    X(MAMBA_GROUP_STATE, "B or C width")                                                           \
    X(O_BIAS, "attention_out_bias")                                                                \
    X(SINKS, "attention sinks")                                                                    \
    X(WIDE_NORM, "norms over all heads")                                                           \
    X(HEAD_BIAS, "lm_head_bias")                                                                   \
    X(SHARED_EACH, "moe_shared_expert_intermediate_size")                                          \
    X(MIXED, "use_mixed_mlp_moe")                                                                  \
    X(RESIDUAL, "parallel_attn_mlp_res")                                                           \
    X(MOE_OFFSET, "expert_layer_offset")                                                           \
    X(ATTENTION_PERIOD, "attn_layer_period")                                                       \
    X(ATTENTION_OFFSET, "attn_layer_offset")                                                       \
    X(DT_GIVEN, "mamba_dt_rank")                                                                   \
    X(EXPAND, "mamba_expand")                                                                      \
    X(CONV_BIAS, "mamba_conv_bias")                                                                \
    X(PROJ_BIAS, "mamba_proj_bias")                                                                \
    X(NOPE_PERIOD, "no_rope_layer_interval")                                                       \
    X(NOPE_LISTED, "no_rope_layers")                                                               \
    X(MOE_LISTED, "moe_layers")                                                                    \
    X(K_EQ_V, "attention_k_eq_v")                                                                  \
    X(GLOBAL_KV, "num_global_key_value_heads")                                                     \
    X(GLOBAL_DIM, "global_head_dim")                                                               \
    X(MOE_BLOCK, "enable_moe_block")                                                               \
    X(QKV_WIDTH, "query, key and value width")                                                     \
    X(SPARSE, "experts to choose from")                                                            \
    X(STACKED, "rows of all experts")                                                              \
    X(DT_DEFAULT, "hidden_size / 16")                                                              \
    X(DT_RANK, "mamba_dt_rank")                                                                    \
    X(DT_INPUTS, "dt, B and C width")                                                              \
    X(GLOBAL_USED, "heads of full layers")

#endif
