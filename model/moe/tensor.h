// From rows of a family to the tensors of a model.
#ifndef MODEL_MOE_TENSOR_H
#define MODEL_MOE_TENSOR_H

#include "model/moe/layer_pattern.h"
#include "model/moe/quant.h"

// Fills kinds, kind_of_layer and tensors of `out`, whose attentions and mlps are there already.
// Layers are of one kind when they have the same parts and the same quantised matrices; kinds are
// numbered in the order of their first layer. `attention_of` and `mlp_of` map a position in
// family->parts to an index of `out`.
typedef struct TensorInput {
    Reader *reader;
    const LayerPattern *pattern;
    Quant *quant;
    uint32_t attention_of[FAMILY_PARTS_MAX], mlp_of[FAMILY_PARTS_MAX];
} TensorInput;

// Refuses sizes over 64 bits and matrices that their scheme cannot store, by name. Memory is the
// arena's of `out`.
bool tensor_expand(const TensorInput *input, Arch *out, Err *err);

// True for rules that cut rows (the first dimension), false for those that cut columns or nothing.
bool tensor_cuts_rows(ShardRule rule);
bool tensor_cuts_columns(ShardRule rule);

// The number format of a tensor's weights, from its type and its bits per weight.
NumFmt tensor_format(const TensorClass *tensor);

#endif
