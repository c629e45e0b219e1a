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
#include "model/moe/arch_spec.h"
#include "model/moe/tensor_class.h"

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
    // All layers, bf16 cache: per token while nothing is beyond a window, and of layers without
    // one; at most by layers with a window; of recurrent state.
    uint64_t kv_B_per_token, window_B_per_sequence, state_B_per_sequence;
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
    bool fp8_cache;       // the checkpoint has scales for a cache in fp8
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
    // Draft layers that the config declares and checkpoints lack; copies of the tables that stand
    // beside the draft layers in some checkpoints of the family.
    uint32_t unstored_drafts, draft_table_copies;
    uint64_t unstored_parameters;
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

// A config.json and, where the checkpoint keeps its quantisation apart, the hf_quant_config.json
// beside it (NULL: none). All borrowed.
typedef struct ArchInput {
    const char *name, *bytes;
    size_t count;
    const char *quant_name, *quant_bytes;
    size_t quant_count;
    const ArchAssumption *assumptions;
    uint32_t assumption_count;
} ArchInput;

// Whole, to be freed with arch_free, or left alone and an error that names file and field.
bool arch_parse(const ArchInput *input, Arch *out, Err *err);
// Reads NAME found by file_find (a config.json, or a folder with one) and the file beside it:
// "hf_quant_config.json" of a config.json, "X.hf_quant_config.json" of X.json.
bool arch_load(const char *name, const ArchAssumption *assumptions, uint32_t count, Arch *out,
               Err *err);
// The same; `assume` is "a=1,b=2", or NULL or "" for none.
bool arch_load_assuming(const char *name, const char *assume, Arch *out, Err *err);
// The files of `name` for arch_parse; bytes are the arena's.
bool arch_read_files(const char *name, Arena *arena, ArchInput *out, Err *err);
// The name of the file beside a config.json.
const char *arch_quant_path(const char *config, Arena *arena);
// Whether shapes, bytes, kinds and digest agree, as they do in every Arch of arch_parse.
bool arch_check(const Arch *arch, Err *err);
void arch_free(Arch *arch);

// Bytes that a cache in `format` grows by per token in all layers without a window, and what layers
// with one keep of a long sequence at most (compressed entries count as growth, rounded up).
uint64_t arch_kv_B_per_token(const Arch *arch, NumFmt format);
uint64_t arch_window_B(const Arch *arch, NumFmt format);

// Routed experts of the layer with most of them; 0: no layer has any.
uint32_t arch_most_experts(const Arch *arch);

#endif
