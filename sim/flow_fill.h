// The steps of which a filling of the links consists, over the state of flow_net.h. Internal to the
// flow engine.
#ifndef SIM_FLOW_FILL_H
#define SIM_FLOW_FILL_H

#include <stdbool.h>

#include "sim/flow_net.h"

// flow_own.c: which flows a resource limits. Joining and leaving need its virtual time.
void flow_set_rate(FlowResource *resource, uint64_t rate, Time now);
Wide flow_work(const FlowResource *resource, Time now);
void flow_join(FlowNet *net, ResourceId r, uint32_t flow, Wide left, Time now);
void flow_leave(FlowNet *net, uint32_t flow);
// flow_solve.c: the steps of a filling.
void flow_unfreeze(FlowNet *net, ResourceId r);   // takes the rate from its own flows
void flow_freeze_own(FlowNet *net, ResourceId r); // gives it back
void flow_append(FlowNet *net, ResourceId r, uint32_t set_start);
void flow_end_set(FlowNet *net, uint32_t start, uint32_t end);
// Flows without a rate that cross the resource get its rate, and become its own.
void flow_freeze_others(FlowNet *net, ResourceId r, Time now);
void flow_build_adjacent(FlowNet *net, ResourceId r);
// Members of the open set take over the flows that they share with those that have left it.
void flow_close_set(FlowNet *net, Time now);

// flow_refill.c: fills from the restart on in the order of before. False when only a filling in
// order of levels can tell; then no resource behind the restart has a rate.
bool flow_refill(FlowNet *net, Time now);

// The token bucket of a resource; tokens in units of FlowNet.scale times finer than work.
typedef struct FlowBurst {
    ResourceId resource;
    bool is_open; // has tokens: the resource has the largest capacity there is
    uint64_t capacity_Bps, burst_B;
    Wide burst, tokens; // tokens at `updated`
    Wide use;           // since the last solve
    Time updated, gone; // gone: when there will be no tokens, TIME_MAX when never
} FlowBurst;

// flow_burst.c: at a solve, before and after rates change; and what changes units or time.
void flow_burst_before(FlowNet *net, Time now);
void flow_burst_after(FlowNet *net, Time now);
void flow_burst_rescale(FlowNet *net, uint64_t factor);
void flow_burst_shift(FlowNet *net, Time wait);

#endif
