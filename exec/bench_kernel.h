// Cases of a benchmark that compute: on one core, by this process.
#ifndef EXEC_BENCH_KERNEL_H
#define EXEC_BENCH_KERNEL_H

#include "exec/bench_cases.h"
#include "model/base/units.h"

// Memory for the largest of the cases, and so much of what is read from memory (weights, and both
// sides of a copy) that one run does not find it in the caches that the last one filled. Freed by
// bench_kernel_close.
typedef struct BenchKernels {
    Arena arena;
    float *a, *b, *c;                   // f32
    float *b_read;                      // weights that were bf16
    uint8_t *a_half, *b_half, *c_half;  // bf16
    uint64_t a_count, b_count, c_count; // elements of both formats
    uint64_t copies_from, weights_from; // where the next run begins to read, in elements
} BenchKernels;

void bench_kernel_open(const BenchList *list, BenchKernels *out);
void bench_kernel_close(BenchKernels *kernels);

// Runs a case once; how long it took.
Time bench_kernel_run(BenchKernels *kernels, const BenchCase *bench);

#endif
