// State of a FlowNet, shared by flow.c (flows come, run and go) and flow_solve.c (who gets which
// rate). Internal to the flow engine.
#ifndef SIM_FLOW_NET_H
#define SIM_FLOW_NET_H

#include "sim/flow.h"

// Loads are in units of 1 over the common scale, rates in 2^-20 B/s, work in 2^-20 * 10^-12 B.
#define FLOW_RATE_SHIFT 20
#define FLOW_RATE_MAX   (UINT64_C(1) << 63)
#define FLOW_LISTED     (UINT32_C(1) << 31) // of an edge: the resource lists the path

// What a solve reads and writes most, by resource. Between solves `load` is that of the flows that
// wait for a rate.
typedef struct FlowShare {
    Wide left;      // capacity less that of frozen flows; wraps below 0 when a rate was rounded up
    uint64_t load;  // of flows without a rate
    uint64_t total; // of all active flows
} FlowShare;

// The flows that a resource limits load another one by `coefficient` in all.
typedef struct FlowAdjacent {
    ResourceId resource;
    uint64_t coefficient;
} FlowAdjacent;

// A resource owns the active flows that it limits: they have one rate, and one virtual time `work`,
// which is what each of them has moved since `work` was 0. A flow ends when it reaches its mark.
typedef struct FlowResource {
    uint64_t capacity_Bps;
    Wide settled; // what was left after the last solve that gave it a rate
    Wide work;    // at `updated`
    Time updated;
    Time finish; // of the first own flow, when it is known
    uint64_t rate;
    uint64_t own_load; // of its own flows on itself
    uint32_t *own;     // a heap of flows by mark
    uint32_t own_count, own_capacity;
    uint32_t *members; // paths across it, with those that were used and are not now
    uint32_t member_count, member_capacity;
    FlowAdjacent *adjacent; // valid when has_adjacent
    uint32_t adjacent_count, adjacent_capacity;
    uint32_t steady;    // solves in a row that kept its flows
    uint32_t owner;     // position among the owners; FLOW_NONE when it owns nothing
    uint32_t at;        // position in the order
    uint32_t set_start; // of the first of those frozen together
    bool is_frozen;     // has its rate in the solve under way, or kept it
    bool has_adjacent, is_finish_known;
    bool is_mixed; // may share flows with others that froze together with it
} FlowResource;

// A path and the flow on it; a second one at the same time takes a copy of the path.
typedef struct FlowPath {
    uint64_t mark_high,
        mark_low;          // Wide in two, for alignment; what is left while there is no owner
    uint32_t first;        // into the pool: resources, then the coefficients of two words
    uint16_t count, scale; // scale: into scales; 0: all coefficients equal the scale
    uint32_t position;     // in the heap of the owner
    uint32_t tag;
    uint32_t copy; // the next path that is the same, or FLOW_NONE
} FlowPath;

#define FLOW_IDLE    UINT32_MAX       // no flow on the path
#define FLOW_WAITING (UINT32_MAX - 1) // a flow that has no rate yet
#define FLOW_ENDING  (UINT32_MAX - 2) // a flow that ends as it begins

typedef struct FlowScale {
    uint64_t scale, factor; // factor: common scale / scale
} FlowScale;

// A resource in the queue of a solve, by its level rounded down, as it was when last looked at.
typedef struct FlowLevel {
    uint64_t level;
    ResourceId resource;
} FlowLevel;

struct FlowNet {
    FlowResource *resources;
    FlowShare *shares;
    uint32_t resource_count, resource_capacity, share_capacity;
    FlowPath *paths;
    uint32_t *owner_of; // by path: a resource, or one of FLOW_IDLE, FLOW_WAITING, FLOW_ENDING
    uint32_t path_count, path_capacity, owner_of_capacity;
    uint32_t *pool;
    uint32_t pool_count, pool_capacity;
    FlowScale *scales;
    uint32_t scale_count, scale_capacity;
    uint64_t scale;
    uint32_t *instant; // flows that end as they begin
    uint32_t instant_count, instant_capacity, instant_taken;
    Time instant_time;
    uint32_t active; // flows
    ResourceId *owners;
    uint32_t owner_count, owner_capacity, next_owner; // flow_take has looked at those before
    ResourceId *order;                                // frozen resources, lowest level first
    uint32_t *set_end; // by position of the first of a set: behind its last
    uint32_t order_count, order_capacity, set_end_capacity;
    uint32_t restart;  // position in the order from where on levels may have changed
    uint32_t open_set; // from here to restart: what keeps its level of a set that has lost others
    ResourceId *again, *loose; // of flow_refill.c
    uint32_t again_count, again_capacity, loose_count, loose_capacity;
    ResourceId *touched; // resources with load
    uint32_t touched_count, touched_capacity;
    FlowLevel *queue, *lowest;
    uint32_t queue_count, queue_capacity, lowest_count, lowest_capacity;
    uint32_t *counts; // by resource, 0 between uses
    uint32_t count_capacity;
    struct FlowBurst *bursts; // flow_fill.h
    uint32_t burst_count, burst_capacity;
    Time burst_next; // the first `gone`
    Time busy_since;
    uint32_t eps_ppb;
    bool is_stale, has_new; // flows came or went, came, since the last solve
    FlowStats stats;
};

static inline Wide flow_mark(const FlowPath *path) {
    return ((Wide)path->mark_high << 64) | path->mark_low;
}

static inline void flow_set_mark(FlowPath *path, Wide mark) {
    path->mark_high = (uint64_t)(mark >> 64);
    path->mark_low = (uint64_t)mark;
}

static inline ResourceId flow_edge_resource(const FlowNet *net, const FlowPath *path, uint32_t e) {
    return net->pool[path->first + e] & ~FLOW_LISTED;
}

// In units of 1 over the common scale.
static inline uint64_t flow_edge_load(const FlowNet *net, const FlowPath *path, uint32_t e) {
    if (path->scale == 0) return net->scale;
    const uint32_t *words = &net->pool[path->first + path->count + 2 * e];
    return (((uint64_t)words[1] << 32) | words[0]) * net->scales[path->scale].factor;
}

void flow_touch(FlowNet *net, ResourceId r);

// Adds to the load that waits for a rate.
static inline void flow_add_load(FlowNet *net, ResourceId r, uint64_t load) {
    if (net->shares[r].load == 0) flow_touch(net, r);
    net->shares[r].load += load;
}

#endif
