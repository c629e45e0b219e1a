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
// tp and replicated dp times.
void shard_weights(const Plan *plan, uint32_t pool, const Arch *arch, Arena *arena,
                   ShardSummary *out);

// Bytes of one tensor of a class on position `index` of `ways` cuts: whole units, the first
// positions get one more when they do not come out even; KV heads are replicated beyond their
// number; the vocabulary is padded. Never more for a later index.
uint64_t shard_cut_B(const TensorClass *tensor, uint32_t ways, uint32_t index);
// The same, summed over all positions.
uint64_t shard_all_B(const TensorClass *tensor, uint32_t ways);

// Rows of the vocabulary table that each of `ways` ranks holds, padding included.
uint32_t shard_vocab_rows(uint32_t vocab, uint32_t ways);

#endif
