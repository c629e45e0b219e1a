// Products by OpenBLAS.
//
// Invariant: sizes fit the library's int; a product of nothing writes zeros where k is 0 and
// nothing where m or n is. One row is a product of a matrix and a vector, for which the library has
// kernels that read the matrix once.
// Source: the BLAS standard (sgemm, sgemv); OpenBLAS 0.3.21, cblas.h.
#include "exec/kernel/gemm.h"

#include <cblas.h>

#include <assert.h>
#include <limits.h>
#include <string.h>

void gemm_start(void) {
    openblas_set_num_threads(1);
}

static void check(const GemmShape *shape) {
    assert(shape->m <= INT_MAX && shape->n <= INT_MAX && shape->k <= INT_MAX);
    assert(shape->a_stride <= INT_MAX && shape->b_stride <= INT_MAX && shape->c_stride <= INT_MAX);
    (void)shape;
}

static void clear(const GemmShape *shape, float *c) {
    for (uint64_t i = 0; i < shape->m; i++)
        memset(c + i * shape->c_stride, 0, shape->n * sizeof *c);
}

void gemm_rows(const GemmShape *shape, const float *a, const float *b, float *c) {
    int m = (int)shape->m, n = (int)shape->n, k = (int)shape->k;
    check(shape);
    if (m == 0 || n == 0) return;
    if (k == 0)
        clear(shape, c);
    else if (m == 1)
        cblas_sgemv(CblasRowMajor, CblasNoTrans, n, k, 1, b, (int)shape->b_stride, a, 1, 0, c, 1);
    else
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, n, k, 1, a, (int)shape->a_stride, b,
                    (int)shape->b_stride, 0, c, (int)shape->c_stride);
}

void gemm_columns(const GemmShape *shape, const float *a, const float *b, float *c) {
    int m = (int)shape->m, n = (int)shape->n, k = (int)shape->k;
    check(shape);
    if (m == 0 || n == 0) return;
    if (k == 0)
        clear(shape, c);
    else if (m == 1)
        cblas_sgemv(CblasRowMajor, CblasTrans, k, n, 1, b, (int)shape->b_stride, a, 1, 0, c, 1);
    else
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, a, (int)shape->a_stride,
                    b, (int)shape->b_stride, 0, c, (int)shape->c_stride);
}
