// What one layer of a model has: a kind of attention and a kind of feed-forward block.
#ifndef MODEL_MOE_ARCH_SPEC_H
#define MODEL_MOE_ARCH_SPEC_H

#include <stdbool.h>
#include <stdint.h>

// GQA with as many KV heads as heads is plain multi-head attention. COMPRESSED: one head for keys
// and values, kept for a window of tokens and beyond it as one entry for every `ratio` tokens
// (DeepSeek-V4). NONE: a layer without attention.
#define ARCH_ATTENTION_LIST(X)                                                                     \
    X(GQA, "gqa")                                                                                  \
    X(MLA, "mla")                                                                                  \
    X(COMPRESSED, "compressed")                                                                    \
    X(KDA, "kda")                                                                                  \
    X(GATED_DELTA, "gated delta")                                                                  \
    X(LIGHTNING, "lightning")                                                                      \
    X(MAMBA1, "mamba-1")                                                                           \
    X(MAMBA2, "mamba-2")                                                                           \
    X(NONE, "none")
typedef enum AttentionKind {
#define X(name, text) ATTENTION_##name,
    ARCH_ATTENTION_LIST(X)
#undef X
        ATTENTION_KIND_COUNT
} AttentionKind;
extern const char *const arch_attention_names[ATTENTION_KIND_COUNT];

// One kind of attention of the model. Fields that a kind does not have are 0.
typedef struct AttentionSpec {
    AttentionKind kind;
    uint32_t per_layer;             // blocks of this kind in one layer; figures below are of one
    uint32_t heads, kv_heads;       // query and key/value heads; of a state: value and key heads
    uint32_t head_dim, value_dim;   // per head: of q and k (MLA: nope + rope), of v
    uint32_t q_lora, kv_lora, rope; // MLA: latent widths and the rope part
    uint32_t conv;                  // width of the short convolution before a state
    uint32_t state_dim, groups;     // Mamba: state per channel, groups that share B and C
    bool output_gate;
    bool wide_norm;  // RMS norms over all heads at once: of queries and of keys; of a state: of its
                     // results. Ranks that cut the heads add their sums of squares up.
    uint32_t window; // the cache keeps that many tokens at most; 0: all
    uint32_t ratio;  // COMPRESSED: tokens of one entry; 0: the window only
    // Sparse attention: an indexer scores all cached tokens (COMPRESSED: all entries) with its own
    // heads and keys, and `index_top_k` of them are attended to; 0: no indexer.
    uint32_t index_heads, index_dim, index_top_k;
    // What the cache holds, from the family's row: elements per token, elements per entry of
    // `ratio` tokens, index keys per token (COMPRESSED: per entry), and bytes of constant state per
    // sequence in the usual formats (f32 state, bf16 convolution).
    uint64_t kv_elements_per_token, entry_elements, index_elements;
    uint64_t state_B_per_sequence;
    // In the packed form of fp8 caches: MLA (fp8 latent, its scales, bf16 rope part) and index keys
    // (fp8, one f32 scale); else 0
    uint64_t kv_packed_B_per_token, index_packed_B;
} AttentionSpec;

// One kind of feed-forward part: dense (experts == 0), mixture of experts, or none (width == 0).
typedef struct MlpSpec {
    uint32_t experts, top_k, groups, top_groups;
    uint32_t zero_experts; // that the router may choose and that compute nothing
    uint32_t width;        // of one expert, or of the dense part
    uint32_t shared_width; // of all that every token passes beside the experts: shared experts, a
                           // dense part in parallel
    uint32_t latent;       // width that routed experts see, when it is not the hidden size; else 0
    uint32_t matrices;     // 3: gate, up, down; 2: up, down
} MlpSpec;

#endif
