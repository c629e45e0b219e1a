// Model structures written by hand, so that tests of plans do not rest on the reader of configs.
#ifndef TESTS_PLAN_HAND_ARCH_H
#define TESTS_PLAN_HAND_ARCH_H

#include "model/moe/arch.h"

// Qwen3-30B-A3B in BF16: 48 equal layers, 32 query and 4 KV heads of 128, 128 experts of width 768.
void hand_arch_qwen3_30b(Arch *out);

// The shape of DeepSeek-V3 in FP8 blocks of 128 x 128, without scales and MTP: 3 dense layers of
// width 18,432, 58 of 256 experts and a shared one of width 2,048, MLA with 128 heads.
void hand_arch_deepseek_v3(Arch *out);

// The shape of Kimi-K3, 8 layers of it: KDA in three of four, 96 heads, 896 experts of width 3,072
// in MXFP4 blocks of 32.
void hand_arch_kimi_small(Arch *out);

#endif
