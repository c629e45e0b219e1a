// The shard plan: which byte ranges of which files each rank of a pool reads to get its weights.
//
// Ranks are those of one replica, all replicas read alike. MTP and vision tensors are read by no
// rank: serving the text model without speculation.
#ifndef MODEL_PLAN_SHARD_PLAN_H
#define MODEL_PLAN_SHARD_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/moe/arch.h"
#include "model/moe/checkpoint.h"
#include "model/plan/load.h"
#include "model/plan/pool.h"
#include "model/plan/shard_slice.h"

#define SHARD_PLAN_TENSORS_MAX (UINT64_C(1) << 26) // over 100 times those of Kimi-K3

typedef struct ShardFile {
    const char *name;
    uint64_t size_B;
} ShardFile;

// A class of tensors as the pool cuts it.
typedef struct ShardClass {
    const TensorClass *tensor;
    bool is_read;   // false: MTP, vision
    bool is_routed; // dealt out by EP, then cut by MoE-TP; else cut by TP, a copy for each DP
    uint32_t ways;  // positions that it, or each expert of it, is cut over
    const uint64_t *held_B; // [ways] bytes in the file that a position keeps of it or of an expert
    uint64_t place;         // of its first tensor: position in `places`, or offset in its file
} ShardClass;

typedef struct ShardPlace {
    uint64_t begin;
    uint32_t file;
} ShardPlace;

// Which experts lie on which EP position where they are not in order: sorted, each once.
typedef struct ShardExperts {
    uint32_t layers, slots;  // layers 1: all alike; 0: in order
    const uint32_t *experts; // [layers][slots], the slots of a position follow each other
    const uint32_t *counts;  // [layers][ep] of different ones
} ShardExperts;

typedef struct ShardPlan {
    Arena arena;
    const Arch *arch; // borrowed
    Pool pool;
    ShardFile *files;
    uint32_t file_count;
    bool is_virtual; // there is no checkpoint: before the layers, each layer, after them is a file
    ShardClass *classes;       // [arch->tensor_count]
    const uint32_t *in_kind;   // [layers] how many layers of the same kind come before
    const uint32_t *moe_layer; // [layers] how many layers with experts come before
    uint32_t *kind_layers;     // [pp][kind_count]
    ShardExperts experts;
    const ShardPlace *places; // of all tensors that are read, by class, layer and expert
    // What readers of whole files read, [pp][ep]
    uint64_t *files_B, *largest_file_B;
    uint32_t *files_read;
} ShardPlan;

// `checkpoint`: where tensors are, NULL for virtual files; a tensor that is missing or has another
// shape or type than the model says, and one that the model does not have, are refused. `load`: for
// which EPLB placed the experts; NULL: uniform. The pool must be legal for the arch.
typedef struct ShardInput {
    const Arch *arch;
    const Pool *pool;
    const Checkpoint *checkpoint;
    const Load *load;
} ShardInput;
bool shard_plan_build(const ShardInput *input, ShardPlan *out, Err *err);
void shard_plan_free(ShardPlan *plan);

// `count` pieces of `length` bytes, one every `stride`, from `offset` of the file on.
typedef struct ShardRange {
    uint64_t offset, length, stride, count;
    uint32_t file;
} ShardRange;
typedef struct ShardRanges { // heap
    ShardRange *items;
    uint32_t count, capacity;
} ShardRanges;

// All that a rank reads, by file and offset; what follows without a gap is one range. Sums to
// ShardRead.ranges_B.
void shard_plan_ranges(const ShardPlan *plan, uint32_t rank, ShardRanges *out);
void shard_plan_ranges_free(ShardRanges *ranges);

// What a rank reads with a reader of ranges alone, of each tensor that it keeps a part of, or of
// each file that holds one; and the largest of each, which is in host memory at once when a rank
// reads one after the other.
typedef struct ShardRead {
    uint64_t ranges_B, tensors_B, files_B;
    uint64_t largest_range_B, largest_tensor_B, largest_file_B;
    uint32_t files;
} ShardRead;
void shard_plan_read(const ShardPlan *plan, uint32_t rank, ShardRead *out);

typedef struct ShardProof {
    uint64_t tensors, bytes; // that are read
    uint64_t reads_B;        // over all ranks of a replica
    uint64_t skipped_tensors, skipped_B;
} ShardProof;
// Sweeps over what all positions read of each class of tensors: every byte must be read by as many
// as its rule says, every layer be on one stage, every expert on as many positions as it has
// replicas. False names the first tensor and byte where that does not hold.
bool shard_plan_prove(const ShardPlan *plan, ShardProof *out, Err *err);

// ---- For its parts.

// Experts of a routed class that an EP position holds in `layer`: *out_count from `first` on, or
// those of the list that is returned.
const uint32_t *shard_plan_experts(const ShardPlan *plan, const ShardClass *class, uint32_t layer,
                                   uint32_t position, uint32_t *first, uint32_t *out_count);
// Of one tensor; `layer` UINT32_MAX: outside of the layers.
ShardPlace shard_plan_place(const ShardPlan *plan, const ShardClass *class, uint32_t layer,
                            uint32_t member);
void shard_plan_measure_files(ShardPlan *plan);

#endif
