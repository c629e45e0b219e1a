// Loads with few different ranks, so that a simulation can treat equal ranks as one.
#ifndef MODEL_PLAN_LOAD_CLASSES_H
#define MODEL_PLAN_LOAD_CLASSES_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/plan/load.h"

#define LOAD_CLASSES_DEFAULT 2 // the hottest rank, and the rest

// `load` with `classes` different loads of a rank in each layer, for experts on `ranks` ranks as
// pool_experts cuts them: the classes - 1 hottest ranks keep their tokens, all other experts get
// their mean. On a rank all experts get the same, and sources are summed. Counts are scaled up so
// that means are nearly whole. *error: the largest relative difference, over the layers, of
// the hottest rank's share to what it was.
bool load_classes_reduce(const Load *load, uint32_t ranks, uint32_t classes, Load *out,
                         double *error, Err *err);

#endif
