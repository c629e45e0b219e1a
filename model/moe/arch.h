// The structure of a model, read from its config.json.
//
// A family (model_type) is data: rows that say which fields give which dimension, which layers are
// of which kind, and which tensors a layer of that kind has. A field that changes the cost and is
// not understood is an error that names it.
#ifndef MODEL_MOE_ARCH_H
#define MODEL_MOE_ARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/hash.h"
#include "model/base/mem.h"
#include "model/base/numfmt.h"
#include "model/moe/tensor_class.h"

#define ARCH_ATTENTION_LIST(X) X(GQA, "gqa") X(MLA, "mla") X(KDA, "kda")
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
    uint32_t heads, kv_heads;       // query and key/value heads (KDA: heads of the state)
    uint32_t head_dim, value_dim;   // per head: of q and k (MLA: nope + rope), of v
    uint32_t q_lora, kv_lora, rope; // MLA: latent widths and the rope part
    uint32_t conv;                  // KDA: width of the short convolution
    bool output_gate;
    // What the cache holds, from the family's row: elements per token and layer, and bytes of
    // constant state per sequence and layer in the usual formats (f32 state, bf16 convolution).
    uint64_t kv_elements_per_token;
    uint64_t state_B_per_sequence;
    // MLA: bytes in the packed form of fp8 caches (fp8 latent, its scales, bf16 rope part); else 0
    uint64_t kv_packed_B_per_token;
} AttentionSpec;

// One kind of feed-forward part: dense (experts == 0) or mixture of experts.
typedef struct MlpSpec {
    uint32_t experts, top_k, groups, top_groups;
    uint32_t width;        // of one expert, or of the dense part
    uint32_t shared_width; // of all shared experts together
    uint32_t latent;       // width that routed experts see, when it is not the hidden size; else 0
} MlpSpec;

// Layers of one kind have the same tensors and the same work.
typedef struct LayerKind {
    uint32_t attention; // index of AttentionSpec
    uint32_t mlp;       // index of MlpSpec
    uint32_t count;     // how many layers are of this kind
} LayerKind;

typedef struct ArchTotals {
    uint64_t parameters;      // main text model
    uint64_t active_all;      // per token: everything touched, both vocabulary tables included
    uint64_t one_vocab_table; // subtract once or twice for the other two conventions
    uint64_t mtp_parameters;  // without duplicated tables
    uint64_t mtp_on_disk;     // with them
    uint64_t vision_parameters;
    uint64_t checkpoint_B; // payload of all tensors, main + MTP + vision
    uint64_t tensors;      // their number
    uint64_t component_B[COMPONENT_COUNT];
    uint64_t component_parameters[COMPONENT_COUNT];
    uint64_t kv_B_per_token;       // all layers, bf16 cache
    uint64_t state_B_per_sequence; // all layers
} ArchTotals;

typedef struct Arch {
    Arena arena;
    const char *name;   // file name without folder and ".json"
    const char *family; // row that matched
    uint32_t hidden, vocab, layers;
    uint64_t max_context;
    bool tied_embeddings;
    NumFmt dtype;         // of unquantised weights and activations
    NumFmt expert_format; // of routed experts in the checkpoint
    NumFmt dense_format;  // of attention projections
    AttentionSpec *attentions;
    uint32_t attention_count;
    MlpSpec *mlps;
    uint32_t mlp_count;
    LayerKind *kinds;
    uint32_t kind_count;
    uint32_t *kind_of_layer; // [layers]
    TensorClass *tensors;
    uint32_t tensor_count;
    ArchTotals totals;
    const char **notes; // what was assumed or left out, one line each
    uint32_t note_count;
    Digest digest; // of the structure
} Arch;

// `--assume field=value`: taken instead of, or in the absence of, the config's field. `field` is a
// dotted path.
typedef struct ArchAssumption {
    const char *field, *value;
} ArchAssumption;

// "a=1,b=2" into at most ARCH_ASSUMPTIONS_MAX assumptions, whose strings are the arena's.
#define ARCH_ASSUMPTIONS_MAX 32
bool arch_split_assumptions(const char *text, Arena *arena, ArchAssumption *out,
                            uint32_t *out_count, Err *err);

// Reads NAME found by file_find (a config.json, or a folder with one).
bool arch_load(const char *name, const ArchAssumption *assumptions, uint32_t count, Arch *out,
               Err *err);
bool arch_parse(const char *name, const char *bytes, size_t byte_count,
                const ArchAssumption *assumptions, uint32_t count, Arch *out, Err *err);
// Refuses a config beside which an hf_quant_config.json says how the model is quantised (arch_load
// does this itself).
bool arch_check_beside(const char *path, const Arch *arch, Err *err);
bool arch_check(const Arch *arch, Err *err);
void arch_free(Arch *arch);

// Bytes that a cache in `format` keeps per token, all layers together.
uint64_t arch_kv_B_per_token(const Arch *arch, NumFmt format);

#endif
