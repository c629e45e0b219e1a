// A list of transfers through the flow engine.
//
// Each transfer waits for its start and the latency of its path, then moves as a fluid at its
// max-min fair rate (sim/flow.c). Pairs that occur more than once share one path.
#include "sim/transfers.h"

#include <inttypes.h>
#include <stdlib.h>

#include "model/base/mem.h"
#include "model/base/num.h"
#include "model/base/wide.h"
#include "sim/flow.h"
#include "sim/keymap.h"
#include "sim/net.h"

#define WIRE_MAX (UINT64_C(1) << 62) // bytes of a flow (sim/flow.h)

// A transfer that waits for its latency.
typedef struct Pending {
    Time begin;
    uint64_t wire_B;
    PathId path;
    uint32_t index; // in the list
    uint32_t shape; // of the tier that it enters, into FlowRun.shapes
} Pending;

typedef struct FlowRun {
    const Fabric *fabric;
    const TransfersOptions *options;
    FlowNet *net;
    KeyMap resource_by_link, pending_by_pair; // the first of a pair
    FlowEdge *edges;
    uint32_t edge_capacity;
    Route route;
    Pending *pending;
    uint32_t count;
    TransfersBound *bound;
    TierShape *shapes;
    uint32_t shape_count, shape_capacity;
    KeyMap shape_by_digest, path_by_load; // of a pair and what its tier puts on links
    TierStep step;
} FlowRun;

static bool beyond(Err *err) {
    return err_set(err, "the transfers take longer than %" PRId64 " s, the most that can be timed",
                   TIME_MAX / PS_PER_SECOND);
}

static CalibParam rate_param(const FlowRun *run, LinkClass link_class) {
    bool is_copy = run->options->mover == TRANSFERS_BY_COPY_ENGINES && link_class == LINK_NVLINK;
    return is_copy ? CALIB_NVLINK_COPY : net_bandwidth_param(link_class);
}

// What of a number of bytes on a link is left for a transfer.
static uint64_t efficient(const FlowRun *run, const FabricLink *link, uint64_t bytes) {
    if (run->options->calib == NULL) return bytes;
    return net_efficient(run->options->calib, rate_param(run, link->link_class), bytes);
}

static bool resource_of(FlowRun *run, LinkId id, ResourceId *out, Err *err) {
    uint32_t found = keymap_find(&run->resource_by_link, id);
    if (found == KEYMAP_NONE) {
        FabricLink link = fabric_link(run->fabric, id);
        uint64_t capacity = efficient(run, &link, link.capacity_Bps);
        if (capacity > FLOW_CAPACITY_MAX)
            return err_set(err, "a link of %" PRIu64 " B/s is faster than the flow model can hold",
                           link.capacity_Bps);
        found = flow_add_resource(run->net, capacity);
        if (link.burst_B > 0) flow_set_burst(run->net, found, efficient(run, &link, link.burst_B));
        keymap_add(&run->resource_by_link, id, found);
    }
    *out = found;
    return true;
}

// `load`: of network links, in parts of TIER_UNIT.
static bool make_path(FlowRun *run, uint32_t load, PathId *out, Err *err) {
    const Route *route = &run->route;
    uint64_t unit = load == TIER_UNIT ? 1 : TIER_UNIT;
    run->edges = mem_grow(run->edges, &run->edge_capacity, route->count, sizeof *run->edges);
    for (uint32_t i = 0; i < route->count; i++) {
        FabricLink link = fabric_link(run->fabric, route->edges[i].link);
        uint64_t times = topology_class_is_network(link.link_class) && unit > 1 ? load : unit;
        run->edges[i].coefficient = route->edges[i].weight * times;
        if (!resource_of(run, route->edges[i].link, &run->edges[i].resource, err)) return false;
    }
    return flow_add_path(run->net, run->edges, route->count, route->weight_total * unit, out) ||
           err_set(err, "the shares of its paths are too uneven for exact arithmetic");
}

// Bytes with the headers of all packets.
static bool wire_bytes(const TransfersOptions *options, uint64_t bytes, uint64_t *out) {
    uint64_t headers = 0;
    if (options->mtu_B > 0 &&
        !wide_mul_u64(wide_div_up_u64(bytes, options->mtu_B), options->header_B, &headers))
        return false;
    return wide_add_u64(bytes, headers, out) && *out <= WIRE_MAX;
}

static Time latency_of(const FlowRun *run) {
    Time latency = run->route.latency_ps;
    if (!run->options->calib) return latency;
    CalibParam param = net_step_param(run->fabric, &run->route);
    return latency + num_round(run->options->calib->values[param].value * (double)PS_PER_SECOND);
}

// Which tier the transfer enters, and that it does.
static void see_tier(FlowRun *run, Pending *pending) {
    TierShape shape = tier_shape(run->fabric, &run->route);
    Digest key = tier_shape_digest(&shape);
    pending->shape = keymap_find(&run->shape_by_digest, key);
    run->step.outside += net_step_param(run->fabric, &run->route) == CALIB_NET_STEP;
    run->step.beyond += shape.paths > 1;
    if (pending->shape != KEYMAP_NONE) return;
    run->shapes =
        mem_grow(run->shapes, &run->shape_capacity, run->shape_count + 1, sizeof *run->shapes);
    run->shapes[run->shape_count] = shape;
    keymap_add(&run->shape_by_digest, key, run->shape_count);
    pending->shape = run->shape_count++;
}

static bool prepare(FlowRun *run, const NetTransfer *transfer, uint32_t index, Err *err) {
    Pending *pending = &run->pending[index];
    pending->index = index;
    uint64_t pair = (uint64_t)transfer->from * run->fabric->vertex_count + transfer->to;
    uint32_t known = keymap_find(&run->pending_by_pair, pair);
    if (!fabric_route(run->fabric, transfer->from, transfer->to, &run->route, err)) return false;
    if (known != KEYMAP_NONE) {
        pending->path = run->pending[known].path;
    } else {
        if (!make_path(run, TIER_UNIT, &pending->path, err)) return false;
        keymap_add(&run->pending_by_pair, pair, index);
    }
    if (!wire_bytes(run->options, transfer->bytes, &pending->wire_B))
        return err_set(err, "expected at most 2^62 B with headers");
    Time latency = latency_of(run);
    if (transfer->start > TIME_MAX - latency) return beyond(err);
    pending->begin = transfer->start + latency;
    if (tier_is_on(&run->options->tier)) see_tier(run, pending);
    transfers_bound_add(run->bound, transfer, &run->route);
    return true;
}

static int compare_pending(const void *left, const void *right) {
    const Pending *a = left, *b = right;
    if (a->begin != b->begin) return a->begin < b->begin ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

static bool advance(FlowRun *run, TransfersResult *out, Err *err) {
    uint32_t next = 0, active = 0, index;
    qsort(run->pending, run->count, sizeof *run->pending, compare_pending);
    while (next < run->count || active > 0) {
        Time end = active > 0 ? flow_next(run->net) : TIME_MAX;
        Time now =
            next < run->count && run->pending[next].begin < end ? run->pending[next].begin : end;
        if (now >= TIME_MAX - 1) return beyond(err);
        for (; active > 0 && flow_take(run->net, now, &index); active--) out->finish[index] = now;
        for (; next < run->count && run->pending[next].begin == now; next++, active++)
            if (!flow_start(run->net, run->pending[next].path, run->pending[next].wire_B,
                            run->pending[next].index, now))
                return err_set(err, "one link has more to carry than exact arithmetic can hold");
        flow_solve(run->net, now);
        out->end_ps = now;
    }
    out->steps = flow_stats(run->net).solves;
    out->eps_error_ppb = flow_stats(run->net).late_ppb;
    return true;
}

static void count_senders(FlowRun *run, const NetTransfer *list) {
    bool *is_sender = mem_alloc(run->fabric->vertex_count, sizeof *is_sender);
    for (uint32_t i = 0; i < run->count; i++) {
        run->step.senders += !is_sender[list[i].from];
        is_sender[list[i].from] = true;
    }
    mem_free(is_sender);
}

// Gives a transfer the path that its tier loads more; alike ones of a pair share it.
static bool load_tier(FlowRun *run, const NetTransfer *transfer, Pending *pending, Err *err) {
    uint32_t load =
        tier_load(&run->shapes[pending->shape], &run->step, transfer->bytes, &run->options->tier);
    Digest key = hash_u64(HASH_START, (uint64_t)pending->path << 32 | load);
    uint32_t known = keymap_find(&run->path_by_load, key);
    if (load == TIER_UNIT) return true;
    if (known == KEYMAP_NONE) {
        if (!fabric_route(run->fabric, transfer->from, transfer->to, &run->route, err) ||
            !make_path(run, load, &known, err))
            return false;
        keymap_add(&run->path_by_load, key, known);
    }
    pending->path = known;
    return true;
}

static bool load_tiers(FlowRun *run, const NetTransfer *list, Err *err) {
    if (!tier_is_on(&run->options->tier)) return true;
    count_senders(run, list);
    for (uint32_t i = 0; i < run->count; i++)
        if (!load_tier(run, &list[i], &run->pending[i], err))
            return err_prefix(err, "transfer %u", i);
    return true;
}

static bool run_all(FlowRun *run, const NetTransfer *list, TransfersResult *out, Err *err) {
    flow_set_eps(run->net, run->options->eps_ppb);
    for (uint32_t i = 0; i < run->count; i++)
        if (!prepare(run, &list[i], i, err)) return err_prefix(err, "transfer %u", i);
    if (!load_tiers(run, list, err)) return false;
    flow_merge(run->net);
    return advance(run, out, err);
}

bool transfers_run(const Fabric *fabric, const NetTransfer *list, uint32_t count,
                   const TransfersOptions *options, TransfersResult *out, Err *err) {
    if (!transfers_check(fabric, list, count, err)) return false;
    FlowRun run = {.fabric = fabric, .options = options, .count = count};
    TransfersResult result = {.finish = mem_alloc(count, sizeof *result.finish)};
    run.net = flow_open();
    run.pending = mem_alloc(count, sizeof *run.pending);
    run.bound = transfers_bound_open(fabric);
    bool done = run_all(&run, list, &result, err);
    Err late = {0};
    bool bounded = transfers_bound_close(run.bound, &result, done ? err : &late);
    flow_close(run.net);
    keymap_free(&run.resource_by_link);
    keymap_free(&run.pending_by_pair);
    keymap_free(&run.shape_by_digest);
    keymap_free(&run.path_by_load);
    mem_free(run.shapes);
    fabric_route_free(&run.route);
    mem_free(run.edges);
    mem_free(run.pending);
    if (done && bounded)
        *out = result;
    else
        transfers_result_free(&result);
    return done && bounded;
}
