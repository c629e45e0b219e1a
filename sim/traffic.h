// The transfers of one communication operation as flows over resources: for all ranks at once
// (folded) or for the ranks of one group (expanded).
#ifndef SIM_TRAFFIC_H
#define SIM_TRAFFIC_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/plan/load.h"
#include "model/plan/schedule.h"
#include "sim/keymap.h"
#include "sim/layout.h"
#include "sim/net.h"
#include "sim/sim.h"

typedef struct TrafficFlow {
    const FlowEdge *edges;
    uint32_t edge_count;
    uint64_t scale;
    uint64_t bytes;      // of one transfer
    uint32_t latency;    // position among the latencies of its step
    LinkClass narrowest; // class of the link of its path that the step fills most
} TrafficFlow;

// How long before flows of a step begin to move: the latency of their path, and a software time.
typedef struct TrafficLatency {
    Time hardware_ps;
    CalibParam step_param;
} TrafficLatency;

// Flows of one step; `repeat` equal steps in a row.
typedef struct TrafficStep {
    uint32_t first_flow, flow_count;
    uint32_t repeat;
    uint32_t first_latency, latency_count;
} TrafficStep;

typedef struct Traffic {
    TrafficFlow *flows;
    uint32_t flow_count, flow_capacity;
    TrafficLatency *latencies;
    uint32_t latency_count, latency_capacity, most_latencies; // most: of one step
    TrafficStep *steps;
    uint32_t step_count, step_capacity;
    Time bound_ps; // all steps at nominal capacity, hardware latency included
} Traffic;

typedef struct TrafficRoute TrafficRoute; // cached edges of a pair
typedef struct LinkLoad LinkLoad;         // what one step puts on a link

// What traffic is built from. Edges live in `arena`; `routes` caches them by pair.
typedef struct TrafficContext {
    Net *net;
    const Schedule *schedule;
    const StepShape *shape;
    const Load *load;
    uint32_t first_gpu;
    Arena arena;
    bool is_folded;
    Layout layout; // when folded
    TrafficRoute *routes;
    uint32_t route_count, route_capacity;
    KeyMap route_by_pair;
    LinkLoad *loads; // scratch: [resource]
    uint32_t load_capacity;
} TrafficContext;

// Borrows all but the form. Refused, with the reason: more ranks than the machine has GPUs, a
// recorded load, and, FOLDED, a machine that is not uniform; roles that cannot be folded are
// refused as their transfers are built.
bool traffic_open(TrafficContext *context, Net *net, const Schedule *schedule,
                  const StepShape *shape, const Load *load, uint32_t first_gpu, SimForm form,
                  Err *err);
void traffic_close(TrafficContext *context);

// A collective; `op` is any of the operations that share its channel. FOLDED: all groups of the
// family. EXPANDED: group number `group`.
bool traffic_collective(TrafficContext *context, OpId op, uint32_t group, Traffic *out, Err *err);
// A SEND. FOLDED: all members of the role. EXPANDED: member `index` of it.
bool traffic_send(TrafficContext *context, OpId op, uint32_t index, Traffic *out, Err *err);
void traffic_free(Traffic *traffic);

#endif
