// Kernels that are measured: products by the library, copies by memcpy.
//
// Invariant: a product in bf16 is what the forward pass does: conversion of activations and weights
// to f32, the product there, conversion of the result.
#include "exec/bench_kernel.h"

#include <string.h>
#include <time.h>

#include "exec/kernel/convert.h"
#include "exec/kernel/gemm.h"

#define PS_PER_NS 1000
#define HALF_B    2

static Time now_ps(void) {
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (Time)now.tv_sec * PS_PER_SECOND + (Time)now.tv_nsec * PS_PER_NS;
}

static uint64_t larger(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

void bench_kernel_open(const BenchList *list, BenchKernels *out) {
    uint64_t a = 1, b = 1, c = 1;
    for (uint32_t i = 0; i < list->count; i++) {
        const BenchCase *bench = &list->cases[i];
        uint64_t copied = bench->op == BENCH_COPY ? bench->bytes / sizeof(float) : 0;
        a = larger(a, larger(copied, (uint64_t)bench->m * bench->k));
        b = larger(b, (uint64_t)bench->n * bench->k);
        c = larger(c, larger(copied, (uint64_t)bench->m * bench->n));
    }
    *out = (BenchKernels){0};
    out->a = arena_alloc(&out->arena, a, sizeof *out->a);
    out->b = arena_alloc(&out->arena, b, sizeof *out->b);
    out->c = arena_alloc(&out->arena, c, sizeof *out->c);
    out->a_half = arena_alloc(&out->arena, a, HALF_B);
    out->b_half = arena_alloc(&out->arena, b, HALF_B);
    out->c_half = arena_alloc(&out->arena, c, HALF_B);
    memset(out->a, 0, a * sizeof *out->a); // pages are there before the first sample
    memset(out->b, 0, b * sizeof *out->b);
    memset(out->c, 0, c * sizeof *out->c);
    gemm_start();
}

void bench_kernel_close(BenchKernels *kernels) {
    arena_free(&kernels->arena);
    *kernels = (BenchKernels){0};
}

static void multiply(const BenchKernels *kernels, const BenchCase *bench) {
    GemmShape shape = gemm_close(bench->m, bench->n, bench->k);
    bool is_half = bench->format == NUMFMT_BF16;
    if (is_half) {
        convert_read(bench->format, kernels->a_half, shape.m * shape.k, kernels->a);
        convert_read(bench->format, kernels->b_half, shape.n * shape.k, kernels->b);
    }
    gemm_rows(&shape, kernels->a, kernels->b, kernels->c);
    if (is_half) convert_write(bench->format, kernels->c, shape.m * shape.n, kernels->c_half);
}

Time bench_kernel_run(const BenchKernels *kernels, const BenchCase *bench) {
    Time begin_ps = now_ps();
    if (bench->op == BENCH_COPY)
        memcpy(kernels->c, kernels->a, bench->bytes);
    else
        multiply(kernels, bench);
    return now_ps() - begin_ps;
}
