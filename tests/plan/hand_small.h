// Models of a few kilobytes whose tensors are cut in every way there is.
#ifndef TESTS_PLAN_HAND_SMALL_H
#define TESTS_PLAN_HAND_SMALL_H

#include "model/moe/arch.h"

// Experts apart, 7 of them, in FP8 blocks of 4 x 4 with scales; a dense layer first; tied tables.
void hand_small_apart(Arch *out);
// 6 experts fused, gate and up rows interleaved, packed FP4 in groups with scales and biases.
void hand_small_interleaved(Arch *out);
// 5 experts fused, inputs before outputs: gate | up are columns.
void hand_small_transposed(Arch *out);
// 4 experts fused, gate | up are rows; a fused projection q | k | v whose KV heads are replicated.
void hand_small_fused(Arch *out);
// 4 experts stacked in two dimensions; MTP and vision tensors that nobody reads.
void hand_small_stacked(Arch *out);

#define HAND_SMALL_COUNT 5
extern void (*const hand_small_all[HAND_SMALL_COUNT])(Arch *);

#endif
