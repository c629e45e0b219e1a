// The transfers of one communication operation as flows over resources.
#ifndef SIM_TRAFFIC_H
#define SIM_TRAFFIC_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/plan/load.h"
#include "model/plan/schedule.h"
#include "sim/fold_memory.h"
#include "sim/keymap.h"
#include "sim/layout.h"
#include "sim/net.h"

typedef struct TrafficFlow {
    const FlowEdge *edges;
    uint32_t edge_count;
    uint64_t scale;
    PathId path; // of the same edges, loaded as its tier asks
    const TierShape *tier;
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
    TierStep tier;
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

// Where a flow goes. The edges outlive the Traffic.
typedef struct TrafficRoute {
    FlowEdge *edges;
    uint32_t edge_count;
    uint64_t scale;
    PathId path;
    TrafficLatency latency;
    const TierShape *tier; // outlives the Traffic too
} TrafficRoute;

// A step is opened, then flows are added to it, each for so many transfers, and who sends them.
void traffic_open_step(Traffic *traffic, uint32_t repeat);
void traffic_add(Traffic *traffic, const TrafficRoute *route, uint64_t bytes, uint64_t transfers);
void traffic_add_senders(Traffic *traffic, uint64_t senders);
// Then, once: what collisions and finite buffers cost in the tiers that flows enter (tier.h), and
// the algorithm on scale-up links.
bool traffic_load_links(Net *net, Traffic *traffic, Algorithm algorithm, Err *err);
// Sets the bound of each traffic alone, and the narrowest links of the flows when all run at once:
// traffics of one channel, which have as many steps.
void traffic_measure(const Net *net, Traffic *const *traffics, uint32_t count);
void traffic_free(Traffic *traffic);

// ---- Folded: for all ranks at once (traffic.c)

// What traffic is built from. Edges live in `arena`; `routes` caches them by pair.
typedef struct TrafficContext {
    Net *net;
    const Schedule *schedule;
    const StepShape *shape;
    const Load *load;
    uint32_t first_gpu;
    Arena arena;
    Layout layout;
    TrafficRoute *routes;
    uint32_t route_count, route_capacity;
    KeyMap route_by_pair;
    FoldMemory *memory; // borrowed; NULL: routes are found for this context alone
} TrafficContext;

// Borrows all. Refused, with the reason, and then for refine.h: more ranks than the machine has
// GPUs, a recorded load, a machine that is not uniform or has faults. Roles that cannot be folded
// are refused as their transfers are built.
bool traffic_open(TrafficContext *context, Net *net, const Schedule *schedule,
                  const StepShape *shape, const Load *load, uint32_t first_gpu, Err *err);
void traffic_close(TrafficContext *context);

// A collective, for all groups in which roles meet: `ops` are theirs. Not measured.
bool traffic_collective(TrafficContext *context, const OpId *ops, uint32_t op_count, Traffic *out,
                        Err *err);
// A SEND, for all members of the role. Not measured.
bool traffic_send(TrafficContext *context, OpId op, Traffic *out, Err *err);

#endif
