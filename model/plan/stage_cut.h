// Cuts the layers of a model into pipeline stages by what they cost.
#ifndef MODEL_PLAN_STAGE_CUT_H
#define MODEL_PLAN_STAGE_CUT_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/moe/arch.h"
#include "model/plan/pool.h"

// The caches that stand beside the weights: so many sequences on each attention-DP rank, each of so
// many tokens. Zeroed: none.
typedef struct StageCache {
    uint64_t sequences, tokens;
} StageCache;

// The cost of a layer is the mean of two shares: of the bytes that the fullest rank would hold of
// the whole model, weights and caches (what decode reads, and what must fit), and of the weights
// that a token of a prompt passes in the whole model (what prefill computes). Tables cost their
// bytes only: a token reads one row of the embedding, on the first stage and, when it is tied, on
// the last one too, and of a prompt the last token alone passes the head.
typedef struct StageCosts {
    uint64_t *layers;     // [layer_count], in parts of STAGE_CUT_WHOLE
    uint64_t first, last; // what the first and the last stage have besides layers
    uint32_t layer_count;
} StageCosts;
#define STAGE_CUT_WHOLE (UINT64_C(1) << 40)

// For ranks of the pool, whose tp, dp, ep, moe_tp and formats count. Memory is the arena's.
void stage_cut_costs(const Arch *arch, const Pool *pool, const StageCache *cache, Arena *arena,
                     StageCosts *out);

// The contiguous cut into `stages` (at most as many as layers, and as POOL_STAGES_MAX) whose
// largest stage costs least; of those the one with the least sum of squares, which evens out the
// others; of those the one whose earlier stages are longer. Exact. Returns the largest cost.
uint64_t stage_cut_list(const StageCosts *costs, uint32_t stages, uint32_t *out_layers);

// Cuts the pool's layers so: stage_cut becomes LISTED, or EVEN where that is the same. More stages
// than POOL_STAGES_MAX or than layers stay as they are.
void stage_cut_by_cost(const Arch *arch, const StageCache *cache, Pool *pool);

// The cut that an engine makes of its own: left-over layers as `rule` places them. A pool of listed
// stages keeps its list, which engines take from an environment variable.
void stage_cut_as_engine(Pool *pool, StageCut rule);

#endif
