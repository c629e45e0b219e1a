// Cases of a benchmark that compute: on one core, by this process.
#ifndef EXEC_BENCH_KERNEL_H
#define EXEC_BENCH_KERNEL_H

#include "exec/bench_cases.h"
#include "model/base/units.h"

// Memory for the largest of the cases. Freed by bench_kernel_close.
typedef struct BenchKernels {
    Arena arena;
    float *a, *b, *c;                  // f32
    uint8_t *a_half, *b_half, *c_half; // bf16
} BenchKernels;

void bench_kernel_open(const BenchList *list, BenchKernels *out);
void bench_kernel_close(BenchKernels *kernels);

// Runs a case once; how long it took.
Time bench_kernel_run(const BenchKernels *kernels, const BenchCase *bench);

#endif
