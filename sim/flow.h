// Concurrent transfers share links max-min fairly, in exact arithmetic.
//
// A flow is one transfer, or stands for several that start together and are alike in everything;
// its bytes and its rate are those of one. A resource is a link, or a class of alike links. An edge
// says how much load one link of the resource has of the flow, in rates of one transfer:
// coefficient / scale. Constraint of a resource: sum over flows of rate * coefficient / scale <=
// capacity. Every flow gets as much as any other that shares its bottleneck.
#ifndef SIM_FLOW_H
#define SIM_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/units.h"
#include "model/base/wide.h"

typedef uint32_t ResourceId;
#define FLOW_NONE UINT32_MAX

typedef struct FlowEdge {
    ResourceId resource;
    uint64_t coefficient;
} FlowEdge;

typedef struct Flow {
    const FlowEdge *edges; // borrowed while the flow is active
    uint32_t edge_count;
    uint32_t tag;         // the caller's
    uint64_t scale;       // of the coefficients
    uint64_t rate;        // of one transfer, in 2^-20 B/s; 0 until the first solve
    Wide remaining;       // of one transfer, in 2^-20 * 10^-12 B, at `updated`
    Time updated, finish; // finish is TIME_MAX until a rate is known
} Flow;

// A zeroed FlowNet is empty.
typedef struct FlowNet {
    uint64_t *capacity_Bps; // [resource_count]
    uint32_t resource_count, resource_capacity;
    Flow *flows; // active ones, in order of start
    uint32_t flow_count, flow_capacity;
    uint64_t scale;        // common multiple of the scales of all flows so far
    uint32_t taken_count;  // flows that were taken and wait to be removed
    uint32_t next_to_look; // flow_take has looked at those before
    bool is_stale;         // flows came or went since the last solve
    struct FlowWork *work; // of the solver
} FlowNet;

ResourceId flow_add_resource(FlowNet *net, uint64_t capacity_Bps);

// A transfer of `bytes` begins at `now`. Without edges it ends at once. False when the exact
// arithmetic cannot hold the numbers: over 2^43 B/s, a scale beyond 2^20, more than 2^62 bytes.
bool flow_start(FlowNet *net, const FlowEdge *edges, uint32_t edge_count, uint64_t scale,
                uint64_t bytes, uint32_t tag, Time now);

// Gives every active flow its rate from `now` on. Call once after all starts and ends of an
// instant.
void flow_solve(FlowNet *net, Time now);

// When the next flow ends; TIME_MAX when none does.
Time flow_next(const FlowNet *net);

// Removes one flow that ends at or before `now`, the earliest started first, and gives its tag;
// false when there is none.
bool flow_take(FlowNet *net, Time now, uint32_t *out_tag);

void flow_free(FlowNet *net);

#endif
