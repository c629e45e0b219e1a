// Max-min fair sharing by progressive filling, exact.
//
// Method: Bertsekas and Gallager, Data Networks, 2nd ed. 1992, section 6.5.2: raise all rates
// together; the resource with the lowest level (capacity left per unit of unfrozen load) saturates
// first; freeze its flows and go on with the rest. Levels are rationals and are compared as such;
// all resources at the lowest level freeze together, at the level rounded down once to 2^-20 B/s.
// So a rate depends on values only, never on the order of flows or resources, and flows that are
// alike in the folded and in the expanded form get the same rate to the bit.
//
// Invariant: between solves, remaining(t) = remaining - rate * (t - updated) in whole units of
// 2^-20 * 10^-12 B: nothing is rounded as time passes. The time of the end is rounded up to a
// picosecond, and computed only when a rate changes.
#include "sim/flow.h"

#include <assert.h>
#include <stddef.h>

#include "model/base/mem.h"

#define RATE_SHIFT 20
#define CAPACITY_MAX                                                                               \
    (UINT64_C(1) << 43) // B/s; 2^43 * 2^20 * 2^20 leaves room in 128 bits and a rate in 64
#define RATE_MAX   (UINT64_C(1) << 63)
#define SCALE_MAX  (UINT64_C(1) << 20)
#define TIME_TAKEN (-1) // in Flow.finish
#define BYTES_MAX  (UINT64_C(1) << 62)

// Of one resource during a solve. `left` and `load` are in units of 2^-20 B/s and of 1 over the
// common scale.
typedef struct Level {
    Wide left;     // (capacity - frozen) * scale * 2^20
    uint64_t load; // sum of the coefficients of unfrozen flows
    bool is_used, is_lowest;
} Level;

typedef struct FlowWork {
    Level *levels;
    uint32_t level_capacity;
    ResourceId *used; // resources that some active flow crosses
    uint32_t used_count, used_capacity;
    uint64_t *rates; // new rate of every flow; 0 while not frozen
    uint32_t rate_capacity;
} FlowWork;

ResourceId flow_add_resource(FlowNet *net, uint64_t capacity_Bps) {
    assert(capacity_Bps > 0);
    net->capacity_Bps = mem_grow(net->capacity_Bps, &net->resource_capacity,
                                 net->resource_count + 1, sizeof *net->capacity_Bps);
    net->capacity_Bps[net->resource_count] = capacity_Bps;
    return net->resource_count++;
}

static bool extend_scale(FlowNet *net, uint64_t scale) {
    uint64_t old = net->scale ? net->scale : 1;
    uint64_t common = old / wide_gcd(old, scale) * scale;
    if (scale > SCALE_MAX || common > SCALE_MAX) return false;
    net->scale = common;
    return true;
}

bool flow_start(FlowNet *net, const FlowEdge *edges, uint32_t edge_count, uint64_t scale,
                uint64_t bytes, uint32_t tag, Time now) {
    if (bytes > BYTES_MAX || scale == 0 || !extend_scale(net, scale)) return false;
    for (uint32_t i = 0; i < edge_count; i++)
        if (net->capacity_Bps[edges[i].resource] > CAPACITY_MAX) return false;
    net->flows = mem_grow(net->flows, &net->flow_capacity, net->flow_count + 1, sizeof *net->flows);
    bool ends_at_once = edge_count == 0 || bytes == 0;
    net->flows[net->flow_count++] = (Flow){
        .edges = edges,
        .edge_count = edge_count,
        .tag = tag,
        .scale = scale,
        .remaining = ((Wide)bytes << RATE_SHIFT) * (Wide)PS_PER_SECOND,
        .updated = now,
        .finish = ends_at_once ? now : TIME_MAX,
    };
    if (!ends_at_once) net->is_stale = true;
    return true;
}

static void prepare(FlowNet *net) {
    if (!net->work) net->work = mem_alloc(1, sizeof *net->work);
    FlowWork *work = net->work;
    uint32_t old = work->level_capacity;
    work->levels =
        mem_grow(work->levels, &work->level_capacity, net->resource_count, sizeof *work->levels);
    for (uint32_t i = old; i < work->level_capacity; i++) work->levels[i] = (Level){0};
    work->rates = mem_grow(work->rates, &work->rate_capacity, net->flow_count, sizeof *work->rates);
    work->used_count = 0;
}

// A flow that has ended and waits to be taken no longer loads its links.
static bool is_active(const Flow *flow, Time now) {
    return flow->finish > now;
}

static uint64_t common_coefficient(const FlowNet *net, const Flow *flow, const FlowEdge *edge) {
    return edge->coefficient * (net->scale / flow->scale);
}

static void load_resources(FlowNet *net, Time now) {
    FlowWork *work = net->work;
    for (uint32_t f = 0; f < net->flow_count; f++) {
        const Flow *flow = &net->flows[f];
        work->rates[f] = 0;
        if (!is_active(flow, now)) continue;
        for (uint32_t i = 0; i < flow->edge_count; i++) {
            ResourceId r = flow->edges[i].resource;
            Level *level = &work->levels[r];
            if (!level->is_used) {
                Wide capacity = wide_mul(net->capacity_Bps[r], net->scale) << RATE_SHIFT;
                *level = (Level){.left = capacity, .is_used = true};
                work->used = mem_grow(work->used, &work->used_capacity, work->used_count + 1,
                                      sizeof *work->used);
                work->used[work->used_count++] = r;
            }
            level->load += common_coefficient(net, flow, &flow->edges[i]);
        }
    }
}

// Marks the resources at the lowest level and gives that level rounded down; false when no load is
// left.
static bool find_lowest(FlowWork *work, uint64_t *out_rate) {
    const Level *lowest = NULL;
    for (uint32_t i = 0; i < work->used_count; i++) {
        Level *level = &work->levels[work->used[i]];
        level->is_lowest = false;
        if (level->load == 0) continue;
        if (!lowest ||
            wide_compare_ratio_wide(level->left, level->load, lowest->left, lowest->load) < 0)
            lowest = level;
    }
    if (!lowest) return false;
    Wide left = lowest->left;
    uint64_t load = lowest->load;
    for (uint32_t i = 0; i < work->used_count; i++) {
        Level *level = &work->levels[work->used[i]];
        level->is_lowest =
            level->load > 0 && wide_compare_ratio_wide(level->left, level->load, left, load) == 0;
    }
    Wide rate = left / load;
    if (rate > RATE_MAX) rate = RATE_MAX;
    *out_rate = rate > 0 ? (uint64_t)rate : 1; // progress, whatever the rounding
    return true;
}

static bool crosses_lowest(const FlowWork *work, const Flow *flow) {
    for (uint32_t i = 0; i < flow->edge_count; i++)
        if (work->levels[flow->edges[i].resource].is_lowest) return true;
    return false;
}

static void freeze_lowest(FlowNet *net, Time now, uint64_t rate) {
    FlowWork *work = net->work;
    for (uint32_t f = 0; f < net->flow_count; f++) {
        const Flow *flow = &net->flows[f];
        if (work->rates[f] > 0 || !is_active(flow, now) || !crosses_lowest(work, flow)) continue;
        work->rates[f] = rate;
        for (uint32_t i = 0; i < flow->edge_count; i++) {
            Level *level = &work->levels[flow->edges[i].resource];
            uint64_t coefficient = common_coefficient(net, flow, &flow->edges[i]);
            Wide taken = wide_mul(rate, coefficient);
            level->left -= taken < level->left ? taken : level->left;
            level->load -= coefficient;
        }
    }
}

static void change_rate(Flow *flow, uint64_t rate, Time now) {
    if (rate == flow->rate) return;
    Wide moved = wide_mul(flow->rate, (uint64_t)(now - flow->updated));
    flow->remaining -= moved < flow->remaining ? moved : flow->remaining;
    flow->updated = now;
    flow->rate = rate;
    Wide left_ps = wide_div_up(flow->remaining, rate);
    flow->finish = left_ps < (Wide)(TIME_MAX - now) ? now + (Time)left_ps : TIME_MAX - 1;
}

static void remove_taken(FlowNet *net) {
    net->next_to_look = 0;
    if (net->taken_count == 0) return;
    uint32_t kept = 0;
    for (uint32_t f = 0; f < net->flow_count; f++)
        if (net->flows[f].finish != TIME_TAKEN) net->flows[kept++] = net->flows[f];
    net->flow_count = kept;
    net->taken_count = 0;
}

void flow_solve(FlowNet *net, Time now) {
    remove_taken(net);
    if (!net->is_stale) return;
    net->is_stale = false;
    prepare(net);
    load_resources(net, now);
    for (uint64_t rate; find_lowest(net->work, &rate);) freeze_lowest(net, now, rate);
    for (uint32_t f = 0; f < net->flow_count; f++)
        if (net->work->rates[f] > 0) change_rate(&net->flows[f], net->work->rates[f], now);
    for (uint32_t i = 0; i < net->work->used_count; i++)
        net->work->levels[net->work->used[i]] = (Level){0};
}

Time flow_next(const FlowNet *net) {
    Time next = TIME_MAX;
    for (uint32_t f = 0; f < net->flow_count; f++)
        if (net->flows[f].finish < next) next = net->flows[f].finish;
    return next;
}

// A flow that was taken has no edges and no end until remove_taken closes the gap, so that taking
// many is not quadratic.
bool flow_take(FlowNet *net, Time now, uint32_t *out_tag) {
    for (uint32_t f = net->next_to_look; f < net->flow_count; f++) {
        if (net->flows[f].finish > now) continue;
        *out_tag = net->flows[f].tag;
        net->flows[f].finish = TIME_TAKEN;
        net->next_to_look = f + 1;
        net->taken_count++;
        net->is_stale = true;
        return true;
    }
    net->next_to_look = net->flow_count;
    return false;
}

void flow_free(FlowNet *net) {
    if (net->work) {
        mem_free(net->work->levels);
        mem_free(net->work->used);
        mem_free(net->work->rates);
        mem_free(net->work);
    }
    mem_free(net->capacity_Bps);
    mem_free(net->flows);
    *net = (FlowNet){0};
}
