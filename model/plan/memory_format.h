// A model as it would be in another number format: hypothetical, for tables of what fits where.
#ifndef MODEL_PLAN_MEMORY_FORMAT_H
#define MODEL_PLAN_MEMORY_FORMAT_H

#include "model/moe/arch.h"

// *out is `arch` with the matrices of attention and of feed-forward parts in `format`: FP8 with an
// F32 scale for each 128 x 128 block (DeepSeek-V3), FP4 with a byte for each 16 weights (NVFP4),
// INT4 with a BF16 for each 32, others bare. Tables, norms, routers and biases stay. Borrows from
// `arch`; its tensors are the arena's. Only its bytes are meant, not its types and totals.
void memory_format_change(const Arch *arch, NumFmt format, Arena *arena, Arch *out);

// *out is `arch` with the keys and values of all heads in the cache instead of MLA latents, as
// engines without an absorbed kernel keep them. Its kinds of attention are the arena's.
void memory_format_expand(const Arch *arch, Arena *arena, Arch *out);

#endif
