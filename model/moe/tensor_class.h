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

// How tensor parallelism cuts a tensor. COLUMN cuts rows of the stored matrix (outputs), ROW its
// columns (inputs), both in whole units (a head, a block of scales); KV cuts rows by KV heads and
// replicates once TP exceeds them; VOCAB cuts the padded vocabulary; EXPERT belongs to one expert
// and is dealt out whole by expert parallelism, or cut as COLUMN or ROW by MoE tensor parallelism.
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

// Tensors of one name pattern: `{L}` stands for the layer, `{E}` for the expert, `{B}` for the
// block of a vision tower. Scales are tensors of their own; their unit corresponds to that of their
// matrix.
typedef struct TensorClass {
    const char *pattern;
    Component component;
    ShardRule shard;
    const char *type;      // as in safetensors: "BF16", "F8_E4M3", "U8", "F32"
    uint32_t element_bits; // of one stored element
    uint32_t dims[4], dim_count;
    // Stored rows (COLUMN, KV) or columns (ROW) that must stay together; 1 when any cut is fine.
    // Divides that dimension.
    uint32_t unit;
    uint32_t layer_kind; // index of LayerKind, or UINT32_MAX: not in the main layers
    uint32_t per_layer;  // in one such layer (experts); with layer_kind UINT32_MAX: in the model
    uint64_t parameters; // logical weights of ONE tensor (0 for scales; 2 per byte of packed 4-bit)
    uint64_t bytes;      // of ONE tensor as stored
    bool is_scale;
} TensorClass;

#endif
