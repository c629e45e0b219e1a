// Kernels that are measured: products by the library, copies by memcpy.
//
// Invariant: a product in bf16 is what the forward pass does: conversion of activations and weights
// to f32, the product there, conversion of the result. Weights and copies are read where no run
// before was for a long time, as a model reads each of its weights once a step; activations are
// those of the run before, as they are in a model.
#include "exec/bench_kernel.h"

#include <string.h>

#include "exec/clock.h"
#include "exec/kernel/convert.h"
#include "exec/kernel/gemm.h"

#define HALF_B 2

// More than the last cache of a die: 96 MiB of an EPYC 9684X (AMD, data sheet of the EPYC 9004
// series). J. McCalpin's STREAM asks for as much: arrays several times as large as the caches.
#define COLD_B (UINT64_C(128) << 20)

// Between what one run reads and what the next one does: hardware reads ahead up to the end of a
// page of 4 KiB, and perhaps the next page (Intel, Optimization Reference Manual, data
// prefetching).
#define GAP_B (UINT64_C(16) << 10)

static uint64_t larger(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

// Room for one product and one copy, or for so many of them that they are cold.
static uint64_t room(uint64_t product, uint64_t cold) {
    uint64_t least = cold > 0 ? COLD_B / sizeof(float) : 1;
    return larger(larger(product, cold), least);
}

void bench_kernel_open(const BenchList *list, BenchKernels *out) {
    uint64_t a = 0, b = 0, c = 0, copied = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        const BenchCase *bench = &list->cases[i];
        if (bench->op == BENCH_COPY) copied = larger(copied, bench->bytes / sizeof(float));
        a = larger(a, (uint64_t)bench->m * bench->k);
        b = larger(b, (uint64_t)bench->n * bench->k);
        c = larger(c, (uint64_t)bench->m * bench->n);
    }
    *out = (BenchKernels){
        .a_count = room(a, copied), .b_count = room(0, b), .c_count = room(c, copied)};
    out->a = arena_alloc(&out->arena, out->a_count, sizeof *out->a);
    out->b = arena_alloc(&out->arena, out->b_count, sizeof *out->b);
    out->c = arena_alloc(&out->arena, out->c_count, sizeof *out->c);
    out->b_read = arena_alloc(&out->arena, b, sizeof *out->b_read);
    out->a_half = arena_alloc(&out->arena, a, HALF_B);
    out->b_half = arena_alloc(&out->arena, out->b_count, HALF_B);
    out->c_half = arena_alloc(&out->arena, c, HALF_B);
    memset(out->a, 0, out->a_count * sizeof *out->a); // pages are there before the first sample
    memset(out->b, 0, out->b_count * sizeof *out->b);
    memset(out->c, 0, out->c_count * sizeof *out->c);
    memset(out->b_half, 0, out->b_count * HALF_B);
    gemm_start();
}

void bench_kernel_close(BenchKernels *kernels) {
    arena_free(&kernels->arena);
    *kernels = (BenchKernels){0};
}

// The next place for `count` elements in memory of `size`; over and over.
static uint64_t take(uint64_t *from, uint64_t count, uint64_t size) {
    uint64_t at = *from <= size && count <= size - *from ? *from : 0;
    *from = at + count + GAP_B / sizeof(float);
    return at;
}

static void multiply(const BenchKernels *kernels, const BenchCase *bench, uint64_t weights) {
    GemmShape shape = gemm_close(bench->m, bench->n, bench->k);
    bool is_half = bench->format == NUMFMT_BF16;
    const float *b = is_half ? kernels->b_read : kernels->b + weights;
    if (is_half) {
        convert_read(bench->format, kernels->a_half, shape.m * shape.k, kernels->a);
        convert_read(bench->format, kernels->b_half + weights * HALF_B, shape.n * shape.k,
                     kernels->b_read);
    }
    gemm_rows(&shape, kernels->a, b, kernels->c);
    if (is_half) convert_write(bench->format, kernels->c, shape.m * shape.n, kernels->c_half);
}

static Time run_copy(BenchKernels *kernels, uint64_t bytes) {
    uint64_t at = take(&kernels->copies_from, bytes / sizeof(float),
                       kernels->a_count < kernels->c_count ? kernels->a_count : kernels->c_count);
    Time begin_ps = clock_now();
    memcpy(kernels->c + at, kernels->a + at, bytes);
    return clock_now() - begin_ps;
}

Time bench_kernel_run(BenchKernels *kernels, const BenchCase *bench) {
    if (bench->op == BENCH_COPY) return run_copy(kernels, bench->bytes);
    uint64_t at = take(&kernels->weights_from, (uint64_t)bench->n * bench->k, kernels->b_count);
    Time begin_ps = clock_now();
    multiply(kernels, bench, at);
    return clock_now() - begin_ps;
}
