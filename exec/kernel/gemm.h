// Products of f32 matrices by OpenBLAS, one thread each.
//
// Matrices are rows one behind the other; `*_stride` is the number of elements from one row to the
// next. Bits of a result depend on the shape, never on other threads.
#ifndef EXEC_KERNEL_GEMM_H
#define EXEC_KERNEL_GEMM_H

#include <stdint.h>

typedef struct GemmShape {
    uint64_t m, n, k;
    uint64_t a_stride, b_stride, c_stride;
} GemmShape;

// Once in a process, before the first product: the library starts no threads of its own.
void gemm_start(void);

// c[m][n] = sum over k of a[m][k] b[n][k]: activations times weights as checkpoints keep them.
void gemm_rows(const GemmShape *shape, const float *a, const float *b, float *c);
// c[m][n] = sum over k of a[m][k] b[k][n].
void gemm_columns(const GemmShape *shape, const float *a, const float *b, float *c);

// Rows of m x k and n x k that lie close together.
static inline GemmShape gemm_close(uint64_t m, uint64_t n, uint64_t k) {
    return (GemmShape){m, n, k, k, k, n};
}

#endif
