// Which elements of one tensor a rank holds: runs along the axis that is cut, and the byte ranges
// that they are in a file.
#ifndef MODEL_PLAN_SHARD_SLICE_H
#define MODEL_PLAN_SHARD_SLICE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/moe/tensor_class.h"

// A tensor, or of a fused one the part of one expert, as `outer` rows of `extent` elements along
// the axis, each of `inner_bits`.
typedef struct ShardShape {
    uint64_t outer, extent, inner_bits;
} ShardShape;

typedef struct ShardRun {
    uint64_t first, count; // elements along the axis
} ShardRun;

// What position `index` of `ways` holds of it: up to one run for each fused part, in order, and
// elements that are not in the file (the padding of the vocabulary).
typedef struct ShardPart {
    ShardRun runs[TENSOR_SEGMENTS_MAX];
    uint32_t run_count;
    uint64_t padding;
} ShardPart;

// `count` pieces of `length` bytes, one every `stride` bytes, from `offset` on. A run of its own
// has count 1 and its length as stride.
typedef struct ShardBytes {
    uint64_t offset, length, stride, count;
} ShardBytes;

// True for tensors that belong to experts: dealt out by expert parallelism, then cut by MoE-TP.
bool shard_slice_is_routed(const TensorClass *tensor);
// Experts that are stacked in one such tensor, each cut by itself; 0 when it is not routed or has
// one.
uint32_t shard_slice_stacked(const TensorClass *tensor);
// Experts that the tensors of this class in one layer belong to; 1 when it is not routed.
uint32_t shard_slice_experts(const TensorClass *tensor);
// Tensors of this class in one layer that one expert has a part of.
uint32_t shard_slice_stacks(const TensorClass *tensor);

ShardShape shard_slice_shape(const TensorClass *tensor);
// Bytes of it: of the tensor, or of one expert in it.
uint64_t shard_slice_whole_B(const TensorClass *tensor);

// How a part along the axis is dealt out: to all, in units, in KV heads, in padded rows.
typedef enum ShardDeal {
    SHARD_DEAL_WHOLE,
    SHARD_DEAL_UNITS,
    SHARD_DEAL_HEADS,
    SHARD_DEAL_VOCAB
} ShardDeal;

// A part along the axis that is cut by itself: `extent` elements in units that stay together.
typedef struct ShardSide {
    ShardDeal deal;
    uint64_t extent, unit;
} ShardSide;

// How many such parts there are, at least 1: fused parts that alternate element by element are one,
// whose units have as many elements of each; what is held whole is one.
uint32_t shard_slice_sides(const TensorClass *tensor);
ShardSide shard_slice_side(const TensorClass *tensor, uint32_t side);

// Whole units are dealt out, the first positions get one more when they do not come out even; KV
// heads are replicated beyond their number, head by head; of the vocabulary each position has
// shard_slice_vocab_rows, the last ones what is left of the file. Tensors without a rule are held
// whole.
void shard_slice_part(const TensorClass *tensor, uint32_t ways, uint32_t index, ShardPart *out);
// How many of `ways` positions hold each element of a side.
uint32_t shard_slice_copies(const TensorClass *tensor, uint32_t ways, uint32_t side);
// Elements that all positions hold together, each copy and the padding counted.
uint64_t shard_slice_all(const TensorClass *tensor, uint32_t ways);
// Its bytes in the file, relative to the start of the tensor (or of the expert in it); returns how
// many of `out` there are. Parts of a byte count as the byte.
uint32_t shard_slice_bytes(const TensorClass *tensor, uint32_t ways, uint32_t index,
                           ShardBytes out[TENSOR_SEGMENTS_MAX]);

// Rows of the vocabulary table that each of `ways` ranks holds, padding included.
uint32_t shard_slice_vocab_rows(uint32_t vocab, uint32_t ways);

#endif
