// The list of all named dimensions; see dim.h.
//
// First what configs give, then what follows by the rules of the parts.
#ifndef MODEL_MOE_DIM_LIST_H
#define MODEL_MOE_DIM_LIST_H

#include "model/moe/dim_list_open.h"
#include "model/moe/dim_list_vision.h"

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
    X(WINDOW, "sliding_window")                                                                    \
    X(INDEX_HEADS, "index_n_heads")                                                                \
    X(INDEX_DIM, "index_head_dim")                                                                 \
    X(INDEX_TOP_K, "index_topk")                                                                   \
    X(SWA_HEADS, "heads of sliding layers")                                                        \
    X(SWA_KV_HEADS, "key and value heads of sliding layers")                                       \
    X(SWA_HEAD_DIM, "head width of sliding layers")                                                \
    X(SWA_V_DIM, "value head width of sliding layers")                                             \
    X(LIN_KEY_HEADS, "linear_num_key_heads")                                                       \
    X(LIN_VALUE_HEADS, "linear_num_value_heads")                                                   \
    X(LIN_KEY_DIM, "linear_key_head_dim")                                                          \
    X(LIN_VALUE_DIM, "linear_value_head_dim")                                                      \
    X(LIN_CONV, "linear_conv_kernel_dim")                                                          \
    X(SEPARATE, "expert_layout")                                                                   \
    X(ZERO_EXPERTS, "zero_expert_num")                                                             \
    X(SHARED_WIDTH_2, "width of the shared part")                                                  \
    X(O_GROUPS, "o_groups")                                                                        \
    X(O_LORA, "o_lora_rank")                                                                       \
    X(HASH_LAYERS, "num_hash_layers")                                                              \
    X(STREAMS, "hc_mult")                                                                          \
    X(RATIO_SMALL, "compression ratio")                                                            \
    X(RATIO_LARGE, "compression ratio")                                                            \
    X(SHARE_Q, "share_q_dim")                                                                      \
    X(MTP_COPIES, "copies of the tables beside the mtp layers")                                    \
    X(MTP_UNSTORED, "mtp layers that checkpoints lack")                                            \
    X(INDEX_WIDTH, "indexer width")                                                                \
    X(INDEX_PACKED_B, "bytes of a packed index key")                                               \
    X(INDEX_PAIR, "indexer compressor width")                                                      \
    X(Q_GATED, "query and gate width")                                                             \
    X(SWA_Q_WIDTH, "query width of sliding layers")                                                \
    X(SWA_KV_WIDTH, "key width of sliding layers")                                                 \
    X(SWA_V_WIDTH, "value width of sliding layers")                                                \
    X(SWA_OUT, "output width of sliding layers")                                                   \
    X(SWA_CACHE, "cache elements of sliding layers")                                               \
    X(V_WIDTH, "value width")                                                                      \
    X(OUT_WIDTH, "attention output width")                                                         \
    X(LIN_K, "linear key width")                                                                   \
    X(LIN_V, "linear value width")                                                                 \
    X(LIN_QKV, "linear query, key and value width")                                                \
    X(LIN_QKVZ, "linear projection width")                                                         \
    X(LIN_BA, "linear gate width")                                                                 \
    X(LIN_GROUP, "projection of a key head")                                                       \
    X(LIN_GROUP_BA, "gates of a key head")                                                         \
    X(LIN_SHARE, "value heads of a key head")                                                      \
    X(LIN_SHARE_V, "value width of a key head")                                                    \
    X(LIN_TAIL, "tokens kept for the convolution")                                                 \
    X(LIN_MATRIX_B, "bytes of the recurrent state")                                                \
    X(LIN_TAIL_B, "bytes of the convolution state")                                                \
    X(LIN_STATE_B, "bytes of state")                                                               \
    X(FUSED_WIDTH, "gate and up width")                                                            \
    X(ROUTER_ROWS, "experts that the router knows")                                                \
    X(TWO, "two")                                                                                  \
    X(THREE, "three")                                                                              \
    X(STREAM_WIDTH, "width of all streams")                                                        \
    X(STREAM_PLUS, "streams and two")                                                              \
    X(STREAM_MIX, "mixing weights")                                                                \
    X(O_GROUP_IN, "inputs of an output group")                                                     \
    X(O_GROUP_OUT, "outputs of all groups")                                                        \
    X(ENTRY_PAIR, "compressor width")                                                              \
    DIM_LIST_OPEN(X)                                                                               \
    DIM_LIST_VISION(X)

#endif
