// Plans written by hand.
#ifndef TESTS_PLAN_HAND_PLAN_H
#define TESTS_PLAN_HAND_PLAN_H

#include "model/plan/plan.h"

// One pool of one replica from GPU 0 on. The rest follows: moe_tp = tp dp / ep, pp micro-batches,
// all-to-all when dp > 1, direct algorithms, cache and activations in BF16, dispatch in FP8.
Plan hand_plan(uint32_t tp, uint32_t pp, uint32_t dp, uint32_t ep);

#endif
