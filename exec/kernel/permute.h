// Rows of tokens in the order of their experts, and back.
#ifndef EXEC_KERNEL_PERMUTE_H
#define EXEC_KERNEL_PERMUTE_H

#include <stdint.h>

// Pair p is choice p % top_k of token p / top_k. Sorts the pairs by expert, pairs of one expert by
// number: order[i] is the pair in row i, counts[e] how many go to expert e < expert_count. `next`
// has expert_count elements of scratch.
void permute_sort(uint64_t pairs, const uint32_t *experts, uint32_t expert_count, uint32_t *counts,
                  uint32_t *next, uint32_t *order);

// Row i of `out` is row from[i] of `in`, of row_B bytes each.
void permute_gather(uint64_t rows, uint64_t row_B, const uint32_t *from, const uint8_t *in,
                    uint8_t *out);

// sums[order[i] / top_k] += weights[order[i]] * rows[i], in the order of the rows: each token's
// results are summed in the order of its experts.
void permute_sum(uint64_t rows, uint64_t width, uint32_t top_k, const uint32_t *order,
                 const float *weights, const float *in, float *sums);

#endif
