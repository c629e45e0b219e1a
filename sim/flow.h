// Concurrent transfers share links max-min fairly, in exact arithmetic.
//
// A resource is a link, or a class of alike links. A path says how much load each link has of one
// transfer that takes it, in rates of that transfer: coefficient / scale. A flow is one transfer on
// a path, or stands for several that start together and are alike in everything (then the
// coefficients of its path count all of them); its bytes and its rate are those of one. Constraint
// of a resource: sum over flows of rate * coefficient / scale <= capacity. Every flow gets as much
// as any other that shares its bottleneck.
#ifndef SIM_FLOW_H
#define SIM_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/units.h"
#include "model/base/wide.h"

typedef uint32_t ResourceId;
typedef uint32_t PathId;
#define FLOW_NONE         UINT32_MAX
#define FLOW_CAPACITY_MAX (UINT64_C(1) << 43) // B/s
#define FLOW_BURST_MAX    (UINT64_C(1) << 30) // B

typedef struct FlowEdge {
    ResourceId resource;
    uint64_t coefficient;
} FlowEdge;

typedef struct FlowNet FlowNet;

FlowNet *flow_open(void);
void flow_close(FlowNet *net); // NULL is allowed

// More than 0, at most FLOW_CAPACITY_MAX.
ResourceId flow_add_resource(FlowNet *net, uint64_t capacity_Bps);
// A token bucket: what has been idle passes up to this many bytes at once (at FLOW_CAPACITY_MAX),
// then its capacity; tokens come back at its capacity less its use. Full at first. 1 to
// FLOW_BURST_MAX; call before the first solve.
void flow_set_burst(FlowNet *net, ResourceId r, uint64_t burst_B);
bool flow_has_bursts(const FlowNet *net);
uint32_t flow_resource_count(const FlowNet *net);

// Room for what will be added, so that arrays do not grow in between. A hint.
void flow_reserve(FlowNet *net, uint32_t paths, uint64_t edges);

// A path over these edges, which are copied; a resource occurs at most once in it. Without edges
// its flows end at once. False when the exact arithmetic cannot hold the numbers: a scale of 0, a
// common multiple of all scales beyond 2^32, coefficient / scale of 0 or beyond 2^26.
bool flow_add_path(FlowNet *net, const FlowEdge *edges, uint32_t count, uint64_t scale,
                   PathId *out);

// Drops resources from paths where others say the same: of equal capacity and loaded alike by every
// path. Rates stay the same to the bit. Call between the last path and the first flow.
void flow_merge(FlowNet *net);

// A transfer begins at `now`; `tag` is the caller's. False for more than 2^62 bytes, or more load
// on one resource than the arithmetic can hold.
bool flow_start(FlowNet *net, PathId path, uint64_t bytes, uint32_t tag, Time now);

// Gives every active flow its rate from `now` on. Call once after all starts and ends of an
// instant.
void flow_solve(FlowNet *net, Time now);

// When the next flow ends, or a bucket is empty: then flow_take finds none, and flow_solve gives
// new rates. TIME_MAX when nothing happens.
Time flow_next(FlowNet *net);

// Removes one flow that ends at or before `now` and gives its tag; false when there is none. Among
// those of one instant the order depends on the history of the net alone.
bool flow_take(FlowNet *net, Time now, uint32_t *out_tag);

// Rate of the first flow of that tag, in 2^-20 B/s; 0 when there is none. Looks at all flows.
uint64_t flow_rate(const FlowNet *net, uint32_t tag);

// What the active flows have still to move, in 2^-20 * 10^-12 B, by tag. `out` has room for
// flow_active. Call after flow_solve.
typedef struct FlowLeft {
    Wide left;
    uint32_t tag;
} FlowLeft;
uint32_t flow_active(const FlowNet *net);
void flow_list(const FlowNet *net, Time now, FlowLeft *out);

// Puts all that happens from now on off by `wait`.
void flow_shift(FlowNet *net, Time wait);

// Ends that lie at most `ppb` / 10^9 of the time since the links were last idle behind the next one
// become one event, at the last of them: nothing ends early, and what was left free in between is
// lost. 0 (exact) by default.
void flow_set_eps(FlowNet *net, uint32_t ppb);

// What was done so far, to judge the cost and the error.
typedef struct FlowStats {
    uint64_t solves;
    uint64_t levels;   // resources that were given a level, over all solves
    uint64_t moves;    // flows that changed their bottleneck
    uint64_t late_ppb; // the most that an end came late for eps: parts of 10^9 of its time
} FlowStats;
FlowStats flow_stats(const FlowNet *net);

#endif
