// How a checkpoint stores the matrices of linear layers: quantisation schemes as data, and which
// module of a model is stored by which.
#ifndef MODEL_MOE_QUANT_H
#define MODEL_MOE_QUANT_H

#include "model/moe/match.h"
#include "model/moe/reader.h"

// How many numbers a tensor beside a matrix has. BLOCKS: one for each block of the matrix. ONE: a
// scalar for the whole matrix (no dimension). SHAPE: the two sizes of the matrix.
typedef enum QuantSize { QUANT_BLOCKS, QUANT_ONE, QUANT_SHAPE } QuantSize;

// A tensor that stands beside the codes of a matrix.
typedef struct QuantTensor {
    const char *suffix; // instead of ".weight"
    const char *type;   // as in safetensors; NULL: the family's scale_type
    QuantSize size;
} QuantTensor;

#define QUANT_BESIDE_MAX 3
#define QUANT_STORES_MAX 4
#define QUANT_ALL        UINT32_MAX // rows or columns of a block: all of them

typedef struct QuantScheme {
    const char *name; // for messages
    NumFmt numfmt;
    const char *suffix, *type; // of the codes, instead of ".weight"
    uint32_t packed;           // weights in one stored element, along the inputs
    bool by_group; // codes are [rows, inputs / group, group / packed] (gpt-oss), not [rows, inputs
                   // / packed]
    QuantTensor beside[QUANT_BESIDE_MAX];
    uint32_t beside_count;
} QuantScheme;

// A scheme with the sizes that the config gives it.
typedef struct QuantStore {
    const QuantScheme *scheme;
    uint32_t block_rows, block_columns; // weights that share a scale
} QuantStore;

// What one model uses. A zeroed Quant stores nothing by a scheme.
typedef struct Quant {
    QuantStore stores[QUANT_STORES_MAX];
    uint32_t store_count;
    const char *scale_type; // of scales whose scheme leaves it to the family
    Match *ignored;         // patterns with '*' or "re:"
    uint32_t ignored_count;
    const char **exact; // other names, sorted
    bool *exact_used;
    uint32_t exact_count;
    Match *targets;
    uint32_t target_count; // 0: all linear layers
    bool by_layer;         // some exception names a layer
    bool is_used;          // some weight is stored by a scheme
} Quant;

// Reads quantization_config, if there is one; refuses schemes, formats and keys that are not known.
bool quant_read(Reader *reader, Quant *out, Err *err);
// How the matrix of this module ("model.layers.3.mlp.up_proj") is stored; NULL: in the model's own
// type. Marks the exceptions that name it.
const QuantStore *quant_store(Quant *quant, const char *module);
// A note when some exceptions named nothing.
void quant_note_unused(const Quant *quant, Reader *reader);
// Refuses a scheme that stores no weight, once all have been asked for: a misspelt target would
// make every weight as large as without one.
bool quant_check_used(const Quant *quant, Reader *reader, Err *err);
// Bits of an element of a safetensors type; 0 when there is no such type.
uint32_t quant_type_bits(const char *type);

#endif
