// What is done to each row of activations alike: norms, gated activations, sums.
#ifndef EXEC_KERNEL_ELEMENTWISE_H
#define EXEC_KERNEL_ELEMENTWISE_H

#include <stdint.h>

// out[i] = x[i] weight[i] / sqrt(mean of x^2 + epsilon) for each row; sums in double. `out` may be
// `x`. `stride`: elements from one row of either to the next.
typedef struct NormShape {
    uint64_t rows, width, stride;
} NormShape;
void elementwise_norm(const NormShape *shape, const float *x, const float *weight, double epsilon,
                      float *out);

// Rows of `width` gates and behind them `width` values: out[i] = silu(gate[i]) value[i].
void elementwise_swiglu(uint64_t rows, uint64_t width, const float *gates, float *out);

void elementwise_add(uint64_t count, const float *x, float *sum);                  // sum += x
void elementwise_add_scaled(uint64_t count, float by, const float *x, float *sum); // += by x

// Scores to weights that sum to 1, in place; sums in double.
void elementwise_softmax(uint64_t count, float *scores);
float elementwise_sigmoid(float x);

// The position of the largest value, the first of equal ones; count > 0.
uint64_t elementwise_largest(uint64_t count, const float *values);

#endif
