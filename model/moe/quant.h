// How a checkpoint stores the matrices of linear layers: quantisation schemes as data.
#ifndef MODEL_MOE_QUANT_H
#define MODEL_MOE_QUANT_H

#include "model/moe/match.h"
#include "model/moe/reader.h"

// A tensor that stands beside a matrix or in place of it.
typedef struct QuantTensor {
    const char *suffix; // instead of ".weight"
    const char *type;   // as in safetensors; NULL: the family's fp8_scale_type
} QuantTensor;

typedef struct QuantScheme {
    const char *name;       // for messages
    const char *method;     // quant_method
    const char *format;     // `format` of compressed-tensors, else NULL
    const char *exceptions; // the key of the list of modules that keep the model's type
    NumFmt numfmt;
    QuantTensor weight, scale;
    uint32_t packed;     // weights in one stored element, along a row
    uint32_t block_rows; // weights that share a scale; 0: the config says it
    uint32_t block_columns;
} QuantScheme;

// What one model uses. A zeroed Quant has no scheme.
typedef struct Quant {
    const QuantScheme *scheme; // NULL: none
    uint32_t block_rows, block_columns;
    const char *scale_type;
    Match *ignored; // patterns with '*' or "re:"
    uint32_t ignored_count;
    const char **exact; // other names, sorted
    bool *exact_used;
    uint32_t exact_count;
    Match *targets;
    uint32_t target_count; // 0: all linear layers
    bool by_layer;         // some exception names a layer
    bool is_used;          // some weight is stored by the scheme
} Quant;

// Reads quantization_config, if there is one; refuses schemes, formats and keys that are not known.
bool quant_read(Reader *reader, Quant *out, Err *err);
// Whether the matrix of this module ("model.layers.3.mlp.up_proj") is stored by the scheme. Marks
// the exceptions that name it.
bool quant_covers(Quant *quant, const char *module);
// A note when some exceptions named nothing.
void quant_note_unused(const Quant *quant, Reader *reader);
// Refuses a scheme that stores no weight, once all have been asked for: a misspelt target would
// make every weight as large as without one.
bool quant_check_used(const Quant *quant, Reader *reader, Err *err);
// Bits of an element of a safetensors type.
uint32_t quant_type_bits(const char *type);

#endif
