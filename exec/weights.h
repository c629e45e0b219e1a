// Seeded weights of one rank: every element is a function of the seed, the name of its tensor and
// its position in the tensor, so that all ways to cut a model cut the same tensors. What a rank
// holds is what model/plan/shard_slice.h says, which `moesim shard` proves.
#ifndef EXEC_WEIGHTS_H
#define EXEC_WEIGHTS_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/moe/arch.h"
#include "model/plan/pool.h"

// Matrices and vectors of a model or a layer, and the tensors that lie in each one below the other:
// names behind the layer's number. {E} stands for one expert: then it has all that the rank holds.
#define WEIGHT_LIST(X)                                                                             \
    X(EMBEDDING, "model.embed_tokens.weight")                                                      \
    X(HEAD, "lm_head.weight")                                                                      \
    X(FINAL_NORM, "model.norm.weight")                                                             \
    X(ATTENTION_NORM, "input_layernorm.weight")                                                    \
    X(MLP_NORM, "post_attention_layernorm.weight")                                                 \
    X(QKV, "self_attn.q_proj.weight|self_attn.k_proj.weight|self_attn.v_proj.weight")              \
    X(QKV_BIAS, "self_attn.q_proj.bias|self_attn.k_proj.bias|self_attn.v_proj.bias")               \
    X(Q_NORM, "self_attn.q_norm.weight")                                                           \
    X(K_NORM, "self_attn.k_norm.weight")                                                           \
    X(LATENTS, "self_attn.q_a_proj.weight|self_attn.kv_a_proj_with_mqa.weight")                    \
    X(Q_LATENT_NORM, "self_attn.q_a_layernorm.weight")                                             \
    X(KV_LATENT_NORM, "self_attn.kv_a_layernorm.weight")                                           \
    X(Q_UP, "self_attn.q_b_proj.weight")                                                           \
    X(KV_UP, "self_attn.kv_b_proj.weight")                                                         \
    X(OUT, "self_attn.o_proj.weight")                                                              \
    X(GATE_UP, "mlp.gate_proj.weight|mlp.up_proj.weight")                                          \
    X(DOWN, "mlp.down_proj.weight")                                                                \
    X(SHARED_GATE_UP, "mlp.shared_experts.gate_proj.weight|mlp.shared_experts.up_proj.weight")     \
    X(SHARED_DOWN, "mlp.shared_experts.down_proj.weight")                                          \
    X(ROUTER, "mlp.gate.weight|block_sparse_moe.gate.weight")                                      \
    X(ROUTER_BIAS, "mlp.gate.e_score_correction_bias")                                             \
    X(EXPERTS_GATE_UP, "mlp.experts.{E}.gate_proj.weight|mlp.experts.{E}.up_proj.weight|"          \
                       "block_sparse_moe.experts.{E}.w1.weight|"                                   \
                       "block_sparse_moe.experts.{E}.w3.weight")                                   \
    X(EXPERTS_DOWN, "mlp.experts.{E}.down_proj.weight|block_sparse_moe.experts.{E}.w2.weight")
typedef enum WeightSlot {
#define X(name, text) WEIGHT_##name,
    WEIGHT_LIST(X)
#undef X
        WEIGHT_COUNT
} WeightSlot;

// `count` matrices (experts; else 1) of n rows of k; a vector has k 1. All zero: the layer has
// none, or the rank does not.
typedef struct Weight {
    uint32_t n, k, count;
    const float *values;
} Weight;

// Which part of the model: a stage, and the positions that cut it. Positions are in order of ranks,
// so a test may pass another rank's to see that it matters.
typedef struct WeightPlace {
    uint32_t stage;
    uint32_t tp_index;    // of pool.tp
    uint32_t ep_position; // of pool.ep
    uint32_t moe_index;   // of pool.moe_tp
} WeightPlace;
// Of rank r of a replica's stage and so on (pool.h).
WeightPlace weights_place(const Pool *pool, uint32_t rank);

typedef struct Weights {
    Arena arena;
    uint32_t first_layer, layer_count;
    Weight model[WEIGHT_COUNT];     // outside of the layers
    Weight (*layers)[WEIGHT_COUNT]; // [layer_count]
    uint64_t elements;              // held, padding included
} Weights;

// Refuses by name a tensor that no slot has (no kernel would read it) and weights that are neither
// bf16 nor f32. MTP and vision tensors are left out, as shard_weights does.
bool weights_check(const Arch *arch, Err *err);
// What they hold then, in elements, from above (tables that only some stages have count on all);
// saturates.
uint64_t weights_count(const Arch *arch, const Pool *pool, WeightPlace place);
void weights_build(const Arch *arch, const Pool *pool, uint64_t seed, WeightPlace place,
                   Weights *out);
void weights_free(Weights *weights);

// One element, for tests: of tensor `name` with its layer and expert filled in, whose matrices have
// `inputs` columns (0: a vector).
float weights_element(uint64_t seed, const char *name, const TensorClass *tensor, uint64_t index);

#endif
