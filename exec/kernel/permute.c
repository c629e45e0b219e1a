// Order of routed tokens.
//
// Invariant: the sort is stable, so that rows, and sums over them, come in one order on every rank
// and in every run.
#include "exec/kernel/permute.h"

#include <string.h>

#include "exec/kernel/elementwise.h"

void permute_sort(uint64_t pairs, const uint32_t *experts, uint32_t expert_count, uint32_t *counts,
                  uint32_t *next, uint32_t *order) {
    memset(counts, 0, expert_count * sizeof *counts);
    for (uint64_t i = 0; i < pairs; i++) counts[experts[i]]++;
    uint32_t begin = 0;
    for (uint32_t expert = 0; expert < expert_count; expert++) {
        next[expert] = begin;
        begin += counts[expert];
    }
    for (uint64_t i = 0; i < pairs; i++) order[next[experts[i]]++] = (uint32_t)i;
}

void permute_gather(uint64_t rows, uint64_t row_B, const uint32_t *from, const uint8_t *in,
                    uint8_t *out) {
    for (uint64_t i = 0; i < rows; i++) memcpy(out + i * row_B, in + from[i] * row_B, row_B);
}

void permute_sum(uint64_t rows, uint64_t width, uint32_t top_k, const uint32_t *order,
                 const float *weights, const float *in, float *sums) {
    for (uint64_t i = 0; i < rows; i++)
        elementwise_add_scaled(width, weights[order[i]], in + i * width,
                               sums + order[i] / top_k * width);
}
