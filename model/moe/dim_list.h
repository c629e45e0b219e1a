// The list of all named dimensions; see dim.h.
//
// First what configs give, then what follows by the rules of the parts.
#ifndef MODEL_MOE_DIM_LIST_H
#define MODEL_MOE_DIM_LIST_H

// name, text in messages (the usual name of the field, or what it is)
#define DIM_LIST(X)                                                                                \
    X(NONE, "nothing")                                                                             \
    X(ONE, "one")                                                                                  \
    X(LAYERS, "num_hidden_layers")                                                                 \
    X(HIDDEN, "hidden_size")                                                                       \
    X(VOCAB, "vocab_size")                                                                         \
    X(CONTEXT, "max_position_embeddings")                                                          \
    X(DTYPE, "torch_dtype")                                                                        \
    X(TIED, "tie_word_embeddings")                                                                 \
    X(HEADS, "num_attention_heads")                                                                \
    X(KV_HEADS, "num_key_value_heads")                                                             \
    X(HEAD_DIM, "head_dim")                                                                        \
    X(QK_NORM, "use_qk_norm")                                                                      \
    X(QKV_BIAS, "attention_bias")                                                                  \
    X(Q_LORA, "q_lora_rank")                                                                       \
    X(KV_LORA, "kv_lora_rank")                                                                     \
    X(NOPE, "qk_nope_head_dim")                                                                    \
    X(ROPE, "qk_rope_head_dim")                                                                    \
    X(V_DIM, "v_head_dim")                                                                         \
    X(MLA_GATE, "mla_use_output_gate")                                                             \
    X(KDA_HEADS, "linear_attn_config.num_heads")                                                   \
    X(KDA_DIM, "linear_attn_config.head_dim")                                                      \
    X(KDA_CONV, "linear_attn_config.short_conv_kernel_size")                                       \
    X(KDA_FULL_GATE, "linear_attn_config.use_full_rank_gate")                                      \
    X(DENSE_WIDTH, "intermediate_size")                                                            \
    X(EXPERTS, "num_experts")                                                                      \
    X(TOP_K, "num_experts_per_tok")                                                                \
    X(GROUPS, "n_group")                                                                           \
    X(TOP_GROUPS, "topk_group")                                                                    \
    X(EXPERT_WIDTH, "moe_intermediate_size")                                                       \
    X(SHARED_EXPERTS, "n_shared_experts")                                                          \
    X(LATENT, "routed_expert_hidden_size")                                                         \
    X(LATENT_NORM, "latent_moe_use_norm")                                                          \
    X(ROUTER_BIAS, "topk_method")                                                                  \
    X(FIRST_DENSE, "first_k_dense_replace")                                                        \
    X(MOE_PERIOD, "moe_layer_freq")                                                                \
    X(MTP_LAYERS, "num_nextn_predict_layers")                                                      \
    X(MTP_TABLES, "copies of the tables in the mtp layers")                                        \
    X(ATTN_RES, "attn_res_block_size")                                                             \
    X(VT_LAYERS, "vision_config.vt_num_hidden_layers")                                             \
    X(VT_HIDDEN, "vision_config.vt_hidden_size")                                                   \
    X(VT_WIDTH, "vision_config.vt_intermediate_size")                                              \
    X(VT_QKV, "vision_config.qkv_hidden_size")                                                     \
    X(VT_PATCH, "vision_config.patch_size")                                                        \
    X(VT_COLORS, "colours of a pixel")                                                             \
    X(VT_ROWS, "vision_config.init_pos_emb_height")                                                \
    X(VT_COLUMNS, "vision_config.init_pos_emb_width")                                              \
    X(VT_MERGE_ROWS, "vision_config.merge_kernel_size[0]")                                         \
    X(VT_MERGE_COLUMNS, "vision_config.merge_kernel_size[1]")                                      \
    X(VT_OUT, "vision_config.text_hidden_size")                                                    \
    X(HEAD_DEFAULT, "hidden_size / num_attention_heads")                                           \
    X(Q_WIDTH, "query width")                                                                      \
    X(KV_WIDTH, "key and value width")                                                             \
    X(KV_CACHE, "cache elements")                                                                  \
    X(QK_DIM, "query head width")                                                                  \
    X(MLA_Q_WIDTH, "query width")                                                                  \
    X(MLA_LATENT, "latent cache width")                                                            \
    X(MLA_UP_DIM, "key and value head width")                                                      \
    X(MLA_UP_WIDTH, "key and value width")                                                         \
    X(MLA_OUT, "attention output width")                                                           \
    X(MLA_SCALES, "scales of a packed latent")                                                     \
    X(MLA_SCALE_B, "scale bytes of a packed latent")                                               \
    X(MLA_ROPE_B, "rope bytes of a packed latent")                                                 \
    X(MLA_PACKED_B, "bytes of a packed latent")                                                    \
    X(KDA_WIDTH, "linear attention width")                                                         \
    X(KDA_PAD, "padding of A_log")                                                                 \
    X(KDA_LOG, "entries of A_log")                                                                 \
    X(KDA_TAIL, "tokens kept for the convolution")                                                 \
    X(KDA_MATRIX_B, "bytes of the recurrent state")                                                \
    X(KDA_TAIL_B, "bytes of the convolution state")                                                \
    X(KDA_STATE_B, "bytes of state")                                                               \
    X(SHARED_WIDTH, "shared expert width")                                                         \
    X(GROUP_SIZE, "experts of a group")                                                            \
    X(REACHABLE, "experts of the chosen groups")                                                   \
    X(EXPERT_IN, "width that experts see")                                                         \
    X(TWO_HIDDEN, "twice hidden_size")                                                             \
    X(VT_QKV_ROWS, "vision query, key and value width")                                            \
    X(VT_MERGED, "merged patch width")

#endif
