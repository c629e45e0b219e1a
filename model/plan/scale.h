// A smaller plan with the communication pattern of another: the same kinds of groups over fewer
// ranks.
#ifndef MODEL_PLAN_SCALE_H
#define MODEL_PLAN_SCALE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/moe/arch_spec.h"
#include "model/plan/pool.h"

// `ranks` as tp x cp x dp x pp x replicas, none of them wider than the pool's own; tp divides it.
// What is 2 or more stays so as long as there are ranks enough (else replicas become 1 first, then
// pp, dp, cp, and tp last). Among those the one whose most shrunk width shrank least; then the
// widest tp, dp, cp, pp. ep and moe_tp shrink with the ranks of a stage: one that was 1, or all
// ranks, stays so. dcp and micro-batches stay as far as tp and pp allow. Algorithms and formats
// stay; overlap, chunks and SMs where there still is an all-to-all, EPLB where there are several EP
// positions; a list of stages becomes an even cut.
bool scale_pool(const Pool *pool, uint32_t ranks, Pool *out, Err *err);

// Experts of a layer so that each EP position of `scaled` has about as many as one of `pool` has,
// all the same number where that is possible, in the groups of `mlp` and so many that the router
// can choose as many as before; redundant experts of `scaled` are set likewise. 0 for a dense model
// (`mlp` NULL or without experts).
uint32_t scale_experts(const Pool *pool, const MlpSpec *mlp, Pool *scaled);

#endif
