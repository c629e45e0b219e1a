// The named dimensions of a model: those that a config gives, and those that follow from them.
//
// Tensor shapes, cache sizes and layer patterns of all families are written in these names. A flag is a dimension that is 0 or 1.
#ifndef MODEL_MOE_DIM_H
#define MODEL_MOE_DIM_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"

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
    X(EXPERT_IN, "width that experts see")                                                         \
    X(TWO_HIDDEN, "twice hidden_size")                                                             \
    X(VT_QKV_ROWS, "vision query, key and value width")                                            \
    X(VT_MERGED, "merged patch width")

typedef enum Dim {
#define X(name, text) DIM_##name,
    DIM_LIST(X)
#undef X
        DIM_COUNT
} Dim;

// A zeroed DimSet knows nothing. Reading an unknown dimension is a programming error, so each field of a family gives a
// value (0 when it is optional and absent).
typedef struct DimSet {
    uint64_t value[DIM_COUNT];
    bool known[DIM_COUNT];
    const char *field[DIM_COUNT]; // the path that gave it, NULL when it follows from others; borrowed
} DimSet;

void dim_set(DimSet *dims, Dim dim, uint64_t value);
uint64_t dim_get(const DimSet *dims, Dim dim);
// The field that gave it, or what it is.
const char *dim_name(const DimSet *dims, Dim dim);
// Whether a row with this condition applies: `when` is NONE or not 0, and `unless` is NONE or 0. Unknown counts as 0.
bool dim_holds(const DimSet *dims, Dim when, Dim unless);

// How a dimension follows from others. NONE stands for 1 in a product and for 0 in a sum; k == 0 for 1.
typedef enum DimOp {
    DIM_PRODUCT,  // k a b c
    DIM_SUM,      // a + b + c
    DIM_LESS,     // a - k, at least 0
    DIM_ROUND_UP, // a, up to a multiple of b
    DIM_PARTS,    // a / k, rounded up
    DIM_SHARE,    // a / b, or 0 when b does not divide a
    DIM_FIRST     // a, or b when a is 0
} DimOp;

typedef struct DimRule {
    Dim out;
    DimOp op;
    Dim a, b, c;
    uint32_t k;
} DimRule;

// The message of a failure names the fields of a product that overflows 64 bits.
bool dim_apply(DimSet *dims, const DimRule *rules, uint32_t count, Err *err);

// What must hold between dimensions.
typedef enum DimRelation { DIM_MULTIPLE_OF, DIM_AT_MOST, DIM_EQUAL, DIM_NOT_ZERO } DimRelation;

typedef struct DimCheck {
    Dim a;
    DimRelation relation;
    Dim b;
} DimCheck;

// *failed is the position of the check that does not hold, for the place in the file.
bool dim_check(const DimSet *dims, const DimCheck *checks, uint32_t count, uint32_t *failed, Err *err);

// The product of up to four dimensions (NONE ends the list); overflow names them.
bool dim_product(const DimSet *dims, const Dim *factors, uint64_t *out, Err *err);

#endif
