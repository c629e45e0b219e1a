// kernel_bench: prints a markdown table of products by exec/kernel beside the library alone in the
// same run, in turns: f32, and bf16 as conversion and product. Wall time on one thread, the best of
// all turns of ROW_SECONDS: what else runs on the machine only adds to it.
#include <cblas.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "exec/kernel/convert.h"
#include "exec/kernel/gemm.h"

#define ROW_SECONDS  3
#define TURN_SECONDS 5e-4 // that a turn takes at least, by repeating
#define GOAL_PCT     10

typedef struct Bench {
    int m, n, k;
    float *a, *b, *c;
    uint8_t *narrow_a, *narrow_c; // bf16
} Bench;

static double seconds_now(void) {
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void library(const Bench *bench) {
    int m = bench->m, n = bench->n, k = bench->k;
    if (m == 1)
        cblas_sgemv(CblasRowMajor, CblasNoTrans, n, k, 1, bench->b, k, bench->a, 1, 0, bench->c, 1);
    else
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, n, k, 1, bench->a, k, bench->b, k,
                    0, bench->c, n);
}

static void ours(const Bench *bench) {
    GemmShape shape = gemm_close((uint64_t)bench->m, (uint64_t)bench->n, (uint64_t)bench->k);
    gemm_rows(&shape, bench->a, bench->b, bench->c);
}

// Activations in bf16 before and behind; weights are kept in f32.
static void ours_bf16(const Bench *bench) {
    uint64_t in = (uint64_t)bench->m * (uint64_t)bench->k,
             out = (uint64_t)bench->m * (uint64_t)bench->n;
    convert_read(NUMFMT_BF16, bench->narrow_a, in, bench->a);
    ours(bench);
    convert_write(NUMFMT_BF16, bench->c, out, bench->narrow_c);
}

typedef void Work(const Bench *bench);

static double time_of(Work *work, const Bench *bench, uint32_t repeats) {
    double begin = seconds_now();
    for (uint32_t i = 0; i < repeats; i++) work(bench);
    return (seconds_now() - begin) / repeats;
}

static float *values(uint64_t count) {
    float *out = calloc(count, sizeof *out);
    if (out == NULL) exit(3);
    for (uint64_t i = 0; i < count; i++) out[i] = (float)(i % 17) / 16 - 0.5F;
    return out;
}

static void row(int m, int n, int k) {
    static Work *const works[] = {library, ours, ours_bf16};
    double best[3] = {1e9, 1e9, 1e9};
    uint64_t rows = (uint64_t)m, columns = (uint64_t)n, depth = (uint64_t)k;
    Bench bench = {m,
                   n,
                   k,
                   values(rows * depth),
                   values(columns * depth),
                   values(rows * columns),
                   calloc(rows * depth, 2),
                   calloc(rows * columns, 2)};
    if (bench.narrow_a == NULL || bench.narrow_c == NULL) exit(3);
    uint32_t repeats = 1 + (uint32_t)(TURN_SECONDS / (time_of(library, &bench, 1) + 1e-7));
    for (double end = seconds_now() + ROW_SECONDS; seconds_now() < end;)
        for (uint32_t i = 0; i < 3; i++) {
            double seconds = time_of(works[i], &bench, repeats);
            if (seconds < best[i]) best[i] = seconds;
        }
    double flop = 2.0 * m * n * k;
    printf("| %d x %d x %d | %.1f us, %.0f GFLOP/s | %.1f us (%+.1f %%) | %.1f us (%+.1f %%) | %d "
           "%% |\n",
           m, n, k, best[0] * 1e6, flop / best[0] * 1e-9, best[1] * 1e6,
           100 * (best[1] / best[0] - 1), best[2] * 1e6, 100 * (best[2] / best[0] - 1), GOAL_PCT);
    free(bench.a);
    free(bench.b);
    free(bench.c);
    free(bench.narrow_a);
    free(bench.narrow_c);
}

int main(void) {
    gemm_start();
    printf("| product, one thread | library alone | ours, f32 | ours, bf16 | goal, f32 |\n"
           "|---|---|---|---|---|\n");
    row(1, 2048, 2048);
    row(1, 512, 256); // one token in an expert of a small model
    row(16, 2048, 2048);
    row(128, 2048, 2048);
    row(512, 2048, 2048);
    return 0;
}
