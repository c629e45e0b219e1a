// Exact weight bytes per rank and stage of a plan, tensor class by tensor class.
#ifndef MODEL_PLAN_SHARD_H
#define MODEL_PLAN_SHARD_H

#include <stdint.h>

#include "model/base/mem.h"
#include "model/moe/arch.h"
#include "model/plan/plan.h"

// Ranks of one stage differ only in how many experts they hold and in the remainder of uneven cuts;
// rank 0 of the stage has the most, the last rank the least.
typedef struct StageWeights {
    uint64_t component_B[COMPONENT_COUNT]; // of the rank with the most
    uint64_t largest_B, smallest_B;        // over ranks of the stage
    uint64_t replicated_B; // part that every rank of the stage holds in full by its rule
    uint64_t total_B;      // over all ranks of the stage
} StageWeights;

typedef struct ShardSummary {
    StageWeights *stages; // [pp]
    uint64_t largest_B;
    uint64_t total_B; // over all ranks of one replica: checkpoint bytes plus what replication
                      // (redundant experts too) and padding add
} ShardSummary;

// The plan must be legal for the arch (plan_legal). MTP and vision tensors are held by no rank:
// serving the text model without speculation. Attention, dense and shared-expert tensors are cut by
// tp and replicated dp x cp times.
void shard_weights(const Plan *plan, uint32_t pool, const Arch *arch, Arena *arena,
                   ShardSummary *out);

// Layers of each kind in a stage ([arch->kind_count]), and in how many layers of a stage that has
// these kinds a class is (of classes outside of the layers: 1 or 0). 0 for MTP and vision.
void shard_stage_kinds(const Pool *pool, const Arch *arch, uint32_t stage, uint32_t *out);
uint32_t shard_stage_repeats(const Pool *pool, const Arch *arch, uint32_t stage,
                             const uint32_t *kind_layers, const TensorClass *tensor);

// Bytes of one tensor of a class on position `index` of `ways` cuts, as shard_slice.h cuts it;
// padding counts. Never more for a later index. A tensor of fused experts counts all of them;
// shard_expert_B counts one.
uint64_t shard_cut_B(const TensorClass *tensor, uint32_t ways, uint32_t index);
uint64_t shard_expert_B(const TensorClass *tensor, uint32_t ways, uint32_t index);
// The same, summed over all positions.
uint64_t shard_all_B(const TensorClass *tensor, uint32_t ways);

#endif
