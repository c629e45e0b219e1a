// Loads with few different ranks, so that a simulation can treat equal ranks as one.
#ifndef MODEL_PLAN_LOAD_CLASSES_H
#define MODEL_PLAN_LOAD_CLASSES_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/moe/arch.h"
#include "model/plan/load.h"
#include "model/plan/pool.h"

#define LOAD_CLASSES_DEFAULT 2 // the hottest rank, and the rest

// What becomes one. `alike`: by layer of the load; layers with the same number get one row, NULL:
// each has its own.
typedef struct LoadClasses {
    uint32_t ranks, classes;
    const uint32_t *alike;
} LoadClasses;

// `load` with `classes` different loads of a rank in each layer, for experts on `ranks` ranks as
// pool_experts cuts them: the classes - 1 hottest ranks keep their tokens, all other experts get
// their mean. On a rank all experts get the same, and sources are summed. Counts are scaled up so
// that means are nearly whole.
//
// Layers that are alike get the mean of their shares, hottest rank with hottest rank, second with
// second, in the ranks' order of the first of them. All ranks meet in every layer, so a step takes
// the sum over the layers of what the hottest rank takes: the row gives that sum where time is
// linear in the share, and exactly when all layers have the same shares in another order, as EPLB
// makes them of one law. Else it errs by whole tiles (either way) and by the larger of arithmetic
// and memory traffic (too short). Against all layers one by one (schedule_unroll.h), DeepSeek-V3 on
// 72 GB200 under zipf:0.8, experts in order: TPOT -0.7 % (EP18) and +0.6 % (EP12), TTFT -2.2 % and
// -2.8 %, tok/s/GPU +0.6 % and -0.5 %; with 32 redundant experts (EP72, EP36): 0.
//
// *error: the largest relative difference, over the rows, of the hottest rank's (mean) share to
// what it was.
bool load_classes_reduce(const Load *load, const LoadClasses *spec, Load *out, double *error,
                         Err *err);

// Numbers for `alike`, [layers]: layers of one kind in one stage, which a lowered schedule repeats
// as one block. Layers beyond the arch's are alone.
uint32_t *load_classes_alike(const Pool *pool, const Arch *arch, uint32_t layers, Arena *arena);

#endif
