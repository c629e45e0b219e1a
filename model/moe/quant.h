// How a checkpoint stores the matrices of linear layers: quantisation schemes as data, and which
// module of a model is stored by which.
#ifndef MODEL_MOE_QUANT_H
#define MODEL_MOE_QUANT_H

#include "model/moe/match.h"
#include "model/moe/reader.h"

// How many numbers a tensor beside a matrix has. BLOCKS: one for each block of the matrix. ONE: a
// scalar for the whole matrix (no dimension). LIST: the same, in a list of one. SHAPE: the two
// sizes of the matrix.
typedef enum QuantSize { QUANT_BLOCKS, QUANT_ONE, QUANT_LIST, QUANT_SHAPE } QuantSize;

// NAMED: as its row says. FAMILY: block scales of the family. MODEL: the model's own type.
typedef enum QuantType { QUANT_NAMED, QUANT_FAMILY, QUANT_MODEL } QuantType;

// A tensor that stands beside the codes of a matrix.
typedef struct QuantTensor {
    const char *suffix; // instead of ".weight"; NULL: the family's
    const char *type;   // as in safetensors, when NAMED
    QuantType type_of;
    QuantSize size;
} QuantTensor;

#define QUANT_BESIDE_MAX 3
#define QUANT_STORES_MAX 8
#define QUANT_ALL        UINT32_MAX       // rows or columns of a block: all of them
#define QUANT_PLAIN      UINT32_MAX       // instead of a store: the model's own type
#define QUANT_UNNAMED    (UINT32_MAX - 1) // instead of a store: as if no target named it

typedef enum QuantSchemeId {
    QUANT_FP8_BLOCKS,
    QUANT_FP8_TENSOR,
    QUANT_FP8_SCALED, // of compressed-tensors
    QUANT_FP8_SCALED_TENSOR,
    QUANT_FP4_EXPERTS,
    QUANT_MXFP4, // of compressed-tensors
    QUANT_MXFP4_FUSED,
    QUANT_NVFP4,
    QUANT_INT4,
    QUANT_SCHEME_COUNT
} QuantSchemeId;

typedef struct QuantScheme {
    const char *name;          // for messages
    const char *suffix, *type; // of the codes, instead of ".weight"
    uint32_t packed;           // weights in one stored element, along the inputs
    // Fused experts stay fused, and codes are [rows, inputs / group, group / packed]. Otherwise
    // codes are [rows, inputs / packed], and each expert has its own matrices.
    bool fused_by_group;
    // Engines cut experts at whole groups and fill up what does not come out even, in the codes and
    // in what they multiply.
    bool pads;
    QuantTensor beside[QUANT_BESIDE_MAX]; // a scale of the inputs is the last
    uint32_t beside_count;
} QuantScheme;

extern const QuantScheme quant_schemes[QUANT_SCHEME_COUNT];

// A scheme with the sizes that the config gives it.
typedef struct QuantStore {
    const QuantScheme *scheme;
    uint32_t block_rows, block_columns; // weights that share a scale
    uint32_t beside_count;              // less than the scheme's without a scale of the inputs
} QuantStore;

// What one model uses. A zeroed Quant stores nothing by a scheme.
typedef struct Quant {
    const char *where; // in the file, for messages
    QuantStore stores[QUANT_STORES_MAX];
    bool is_used[QUANT_STORES_MAX]; // some weight is stored so
    uint32_t store_count;
    const char *scale_type, *scale_suffix; // of the family
    uint32_t experts, others; // stores of routed experts and of other weights that nothing names
    MatchSet targets;         // names with their stores
    MatchSet exceptions;      // names with QUANT_PLAIN or QUANT_UNNAMED
    bool fp8_cache;           // it has scales for a cache in fp8
    bool by_layer;            // some name tells layers apart
} Quant;

// Reads quantization_config, or else hf_quant_config.json, if there is one; refuses schemes,
// formats and keys that are not known.
bool quant_read(Reader *reader, Quant *out, Err *err);
// How the tensor of this module ("model.layers.3.mlp.up_proj") is stored; NULL: as the row says.
// Marks the names that stand for it.
const QuantStore *quant_store(Quant *quant, const char *module, const TensorRow *row);
// Notes when some names stand for nothing, or some schemes store nothing.
void quant_note_unused(const Quant *quant, Reader *reader);
// Refuses a config by which no weight is stored, once all have been asked for: a misspelt target
// would make every weight as large as without one.
bool quant_check_used(const Quant *quant, Reader *reader, Err *err);
// Bits of an element of a safetensors type; 0 when there is no such type.
uint32_t quant_type_bits(const char *type);

#endif
