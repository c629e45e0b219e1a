// Weights of the layer kind that is being lowered, or of the model, as this role's ranks hold them
// (lower_weight.c).
#ifndef MODEL_PLAN_LOWER_MATRIX_H
#define MODEL_PLAN_LOWER_MATRIX_H

#include <stdbool.h>
#include <stdint.h>

#include "model/moe/arch.h"

typedef struct Lower Lower; // lower_internal.h

typedef struct LowerWeight {
    uint32_t n, k; // n == 0: there is none
    NumFmt format;
    uint32_t scale_B; // of 4-bit weights
} LowerWeight;

// Matrices side by side along n: those with equal inputs in one format are one. A layer has two
// widths of inputs at most for one operation, in each of the formats.
#define LOWER_WEIGHTS_MAX (2 * NUMFMT_COUNT)
typedef struct LowerWeights {
    LowerWeight of[LOWER_WEIGHTS_MAX];
    uint32_t count;
} LowerWeights;

#define LOWER_USE(name) (UINT32_C(1) << TENSOR_##name)

// n x k of these weights.
LowerWeight lower_weight_part(const LowerWeight *whole, uint64_t n, uint64_t k);
uint32_t lower_rows(const LowerWeights *weights);
// Matrices of the attention (block `block` of it) for any of these uses: LOWER_USE, or-ed.
LowerWeights lower_attention_weights(const Lower *lower, uint32_t uses);
// The matrices of a component with a shard rule; those with this many rows.
LowerWeights lower_component_weights(const Lower *lower, Component component, ShardRule shard);
LowerWeights lower_weights_of_rows(const Lower *lower, Component component, uint32_t rows);
// How many residual streams the model has; matrix `number` of the layer kind (or model) that mixes
// them.
uint32_t lower_streams(const Arch *arch);
LowerWeight lower_stream_weight(const Lower *lower, uint32_t number);
// Channels of the short convolutions of the layer kind, and bytes of their filters.
uint64_t lower_conv_channels(const Lower *lower, uint64_t *filter_B);
// Whether the layer kind (SCHEDULE_NONE: the model) has a vector or matrix whose name contains
// this.
bool lower_has(const Lower *lower, uint32_t kind, const char *name);
// Arithmetic of a weight format under the plan's activations.
NumFmt lower_math(const Lower *lower, NumFmt weights);

#endif
