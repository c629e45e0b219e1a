// Between the files of tensor: the list that tensor_expand fills, and how a matrix gets into it
// under a quantisation scheme.
#ifndef MODEL_MOE_TENSOR_INTERNAL_H
#define MODEL_MOE_TENSOR_INTERNAL_H

#include "model/moe/tensor.h"

typedef struct TensorExpander {
    const TensorInput *input;
    Arch *arch;
    const DimSet *dims;
    TensorClass *classes; // heap
    uint32_t class_count, class_capacity;
} TensorExpander;

// The length of a name without ".weight".
size_t tensor_stem_length(const char *name);
void tensor_push(TensorExpander *expander, const TensorClass *class);
// Where engines cut experts at whole groups: the outputs that become the grouped inputs of the next
// matrix stay together as well, those of each of two halves that alternate too.
void tensor_pad_units(const Quant *quant, TensorClass *class);
// Adds what stands for a matrix under `store`; `plain` is the matrix as it would be unquantised.
bool tensor_push_quantised(TensorExpander *expander, const TensorRow *row, const TensorClass *plain,
                           const QuantStore *store, Err *err);

#endif
