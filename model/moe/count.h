// Totals of a model from its tensors.
#ifndef MODEL_MOE_COUNT_H
#define MODEL_MOE_COUNT_H

#include "model/moe/arch.h"

// How many tensors of this class the model has, over all layers.
uint64_t count_tensors(const Arch *arch, const TensorClass *class);

// Fills arch->totals from everything else; refuses totals over 64 bits.
bool count_totals(Arch *arch, Err *err);

// Weights that a token touches. Vendors count them in three ways.
typedef enum CountActive {
    COUNT_ACTIVE_ALL,       // with both vocabulary tables
    COUNT_ACTIVE_NO_INPUT,  // without the input embedding (where it is a table of its own)
    COUNT_ACTIVE_NO_TABLES, // without both
    COUNT_ACTIVE_KINDS
} CountActive;
uint64_t count_active(const Arch *arch, CountActive kind);

#endif
