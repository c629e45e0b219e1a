// Row-wise kernels.
//
// Invariant: a row's result does not depend on the other rows, so that a row gives the same bits
// wherever tokens are cut. Sources: Zhang and Sennrich, arXiv:1910.07467 (RMSNorm); Shazeer,
// arXiv:2002.05202 (SwiGLU).
#include "exec/kernel/elementwise.h"

#include <math.h>

void elementwise_norm(const NormShape *shape, const float *x, const float *weight, double epsilon,
                      float *out) {
    for (uint64_t row = 0; row < shape->rows; row++) {
        const float *in = x + row * shape->stride;
        float *to = out + row * shape->stride;
        double sum = 0;
        for (uint64_t i = 0; i < shape->width; i++) sum += (double)in[i] * (double)in[i];
        float scale = (float)(1 / sqrt(sum / (double)shape->width + epsilon));
        for (uint64_t i = 0; i < shape->width; i++) to[i] = in[i] * scale * weight[i];
    }
}

float elementwise_sigmoid(float x) {
    return 1 / (1 + expf(-x));
}

void elementwise_swiglu(uint64_t rows, uint64_t width, const float *gates, float *out) {
    for (uint64_t row = 0; row < rows; row++) {
        const float *gate = gates + row * 2 * width, *value = gate + width;
        for (uint64_t i = 0; i < width; i++)
            out[row * width + i] = gate[i] * elementwise_sigmoid(gate[i]) * value[i];
    }
}

void elementwise_add(uint64_t count, const float *x, float *sum) {
    for (uint64_t i = 0; i < count; i++) sum[i] += x[i];
}

void elementwise_add_scaled(uint64_t count, float by, const float *x, float *sum) {
    for (uint64_t i = 0; i < count; i++) sum[i] += by * x[i];
}

uint64_t elementwise_largest(uint64_t count, const float *values) {
    uint64_t best = 0;
    for (uint64_t i = 1; i < count; i++)
        if (values[i] > values[best]) best = i;
    return best;
}

void elementwise_softmax(uint64_t count, float *scores) {
    if (count == 0) return;
    float largest = scores[elementwise_largest(count, scores)];
    double sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        scores[i] = expf(scores[i] - largest);
        sum += (double)scores[i];
    }
    float scale = (float)(1 / sum);
    for (uint64_t i = 0; i < count; i++) scores[i] *= scale;
}
