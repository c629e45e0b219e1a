// Tensors as they are in a checkpoint, and how parallelism may cut them.
#ifndef MODEL_MOE_TENSOR_CLASS_H
#define MODEL_MOE_TENSOR_CLASS_H

#include <stdbool.h>
#include <stdint.h>

#define ARCH_COMPONENT_LIST(X)                                                                     \
    X(EMBEDDING, "embedding")                                                                      \
    X(HEAD, "head")                                                                                \
    X(ATTENTION, "attention")                                                                      \
    X(DENSE, "dense mlp")                                                                          \
    X(ROUTED, "routed experts")                                                                    \
    X(SHARED, "shared experts")                                                                    \
    X(ROUTER, "router")                                                                            \
    X(LATENT, "latent projections")                                                                \
    X(NORM, "norms")                                                                               \
    X(MTP, "mtp")                                                                                  \
    X(VISION, "vision")
typedef enum Component {
#define X(name, text) COMPONENT_##name,
    ARCH_COMPONENT_LIST(X)
#undef X
        COMPONENT_COUNT
} Component;
extern const char *const arch_component_names[COMPONENT_COUNT];

// How tensor parallelism cuts a tensor, along `axis`. COLUMN cuts the outputs of a matrix, ROW its
// inputs, both in whole units (a head, a block of scales); KV cuts outputs by KV heads and
// replicates once TP exceeds them; VOCAB cuts the padded vocabulary; EXPERT_* belong to experts,
// which are dealt out whole by expert parallelism, or cut as COLUMN or ROW by MoE tensor
// parallelism.
typedef enum ShardRule {
    SHARD_REPLICATED,
    SHARD_COLUMN,
    SHARD_ROW,
    SHARD_KV,
    SHARD_VOCAB,
    SHARD_EXPERT_COLUMN,
    SHARD_EXPERT_ROW,
    SHARD_EXPERT_WHOLE
} ShardRule;

// What a matrix of attention is for. BY_RULE: what its rule and its inputs say: OUTPUT when the
// rule cuts inputs; with the hidden size as inputs HEADS when cut and LATENT when whole; else UP,
// out of a latent, or KV_UP when that is the one of keys and values. INDEX: scores tokens to attend
// to. GATE: is computed beside the latents though it is cut. GATE_UP: the output gate from its
// latent. GROUPED: each group of heads is multiplied by rows of its own. STEP: inputs of a
// recurrence, from its own channels. TABLE: no product reads it.
typedef enum TensorUse {
    TENSOR_BY_RULE,
    TENSOR_HEADS,
    TENSOR_LATENT,
    TENSOR_UP,
    TENSOR_KV_UP,
    TENSOR_INDEX,
    TENSOR_GATE,
    TENSOR_GATE_UP,
    TENSOR_GROUPED,
    TENSOR_STEP,
    TENSOR_OUTPUT,
    TENSOR_TABLE
} TensorUse;

#define TENSOR_DIMS_MAX     5
#define TENSOR_SEGMENTS_MAX 5

// A part of a fused tensor along its axis that is cut by itself: the queries, keys or values of a
// fused projection, the gate or the up half of a fused matrix.
typedef struct TensorSegment {
    uint32_t extent; // elements along the axis; all segments together fill it
    bool is_kv;      // cut as SHARD_KV, whatever the tensor's rule says
    uint32_t unit;   // as TensorClass.unit
} TensorSegment;

// Tensors of one name pattern: `{L}` stands for the layer, `{E}` for the expert, `{B}` for the
// block of a vision tower. Scales are tensors of their own; their unit corresponds to that of their
// matrix.
typedef struct TensorClass {
    const char *pattern;
    Component component;
    ShardRule shard;
    TensorUse use;
    const char *type;                          // as in safetensors: "BF16", "F8_E4M3", "U8", "F32"
    uint32_t element_bits;                     // of one stored element
    uint32_t dims[TENSOR_DIMS_MAX], dim_count; // 0 dimensions: a scalar
    uint32_t axis; // position in dims of what the rule cuts; 0 when it cuts nothing
    // Elements along the axis that must stay together; 1 when any cut is fine. Divides it.
    uint32_t unit;
    // Experts stacked in this tensor, along dims[0] (which is them, or as many rows of each); 0: it
    // belongs to one expert or to none. An axis of 0 then is that of the rows of one expert.
    uint32_t fused_experts;
    // Fused parts, cut one by one; 0: one part. Interleaved ones alternate element by element, so
    // that an even number of elements is an equal share of each.
    TensorSegment segments[TENSOR_SEGMENTS_MAX];
    uint32_t segment_count;
    bool interleaved;
    uint32_t layer_kind; // index of LayerKind, or UINT32_MAX: not in the main layers
    uint32_t per_layer;  // in one such layer (experts); with layer_kind UINT32_MAX: in the model
    uint64_t parameters; // logical weights of ONE tensor (0 for scales and buffers; 2 per byte of
                         // packed 4-bit)
    uint64_t bytes;      // of ONE tensor as stored
    uint64_t scale_B;    // of the block scales that stand beside ONE matrix; 0: none
    bool is_scale;
    bool pads; // parts may be uneven: engines fill them up to whole units
} TensorClass;

#endif
