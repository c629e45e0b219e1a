// The routed experts of a layer in three steps, between which another half of the tokens may be
// lowered: what lower.c and lower_moe.c share.
#ifndef MODEL_PLAN_LOWER_MOE_H
#define MODEL_PLAN_LOWER_MOE_H

#include "model/plan/lower_internal.h"

// Buffers of a routed part that outlives its block: its way back ends in the next one. Made once
// for all blocks of a kind; SCHEDULE_NONE: not yet.
typedef struct LowerKept {
    BufferId routes, shared, combined;
} LowerKept;

// The routed part of one layer and batch on this role, while it is lowered.
typedef struct LowerRouted {
    const MlpSpec *mlp;
    uint32_t slots;                     // experts of the layer, redundant ones too
    uint32_t first, experts;            // of these, this role's
    uint32_t width;                     // of a token as the experts see it: latent or hidden
    uint32_t chosen;                    // experts of a token that compute something
    uint64_t sent_token_B;              // of a token on its way to the experts
    uint32_t chunks;                    // parts of the tokens that travel one after the other
    BufferId normed, routes, shared;    // shared: SCHEDULE_NONE when there is none
    BufferId arrived[POOL_CHUNKS_MAX];  // tokens at their experts,
    OpId arrives[POOL_CHUNKS_MAX];      // what the experts wait for, or SCHEDULE_NONE,
    BufferId returned[POOL_CHUNKS_MAX]; // results back here,
    OpId returns[POOL_CHUNKS_MAX];      // and what brings them, or SCHEDULE_NONE
    LowerKept *kept;                    // NULL: all ends in the block in which it began
    uint32_t late_waits, first_late;    // waits of the end that lower.c fills in: how many, and
                                        // where among the schedule's
} LowerRouted;

// Router, and the way to the experts begins; shared and routed experts, and the way back begins;
// what is left when all is back. `kept` may be NULL.
void lower_moe_send(Lower *lower, BufferId normed, LowerKept *kept, LowerRouted *out);
void lower_moe_compute(Lower *lower, LowerRouted *routed);
LowerResults lower_moe_finish(Lower *lower, LowerRouted *routed);

#endif
