// The way of one routed token through an all-to-all: which ranks hand it to which, each copy once.
#ifndef MODEL_PLAN_COLLECTIVE_TOKEN_H
#define MODEL_PLAN_COLLECTIVE_TOKEN_H

#include <stdint.h>

#include "model/plan/collective.h"

typedef struct TokenHop {
    uint32_t from, to; // equal: the token stays where it is
} TokenHop;

// Hops in one step of a DIRECT or HIERARCHICAL all-to-all of the token of rank `source`, whose
// experts lie on `targets` (ascending, each rank once). RAIL_FIRST is a dispatch: step 0 brings one
// copy to each other node, along the rail of the source; step 1 to each target from there.
// NODE_FIRST is the combine, the same hops turned round in the other order: a rank adds what it
// gets in a step and hands on the sum. Fills at most `count` hops, returns how many.
uint32_t collective_token_hops(CollectiveShape shape, uint32_t step, uint32_t source,
                               const uint32_t *targets, uint32_t count, TokenHop *hops);

#endif
