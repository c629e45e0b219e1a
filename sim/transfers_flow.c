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
} FlowRun;

static bool beyond(Err *err) {
    return err_set(err, "the transfers take longer than %" PRId64 " s, the most that can be timed",
                   TIME_MAX / PS_PER_SECOND);
}

static bool resource_of(FlowRun *run, LinkId id, ResourceId *out, Err *err) {
    uint32_t found = keymap_find(&run->resource_by_link, id);
    if (found == KEYMAP_NONE) {
        FabricLink link = fabric_link(run->fabric, id);
        uint64_t capacity = link.capacity_Bps;
        if (run->options->calib) {
            CalibParam param = net_bandwidth_param(link.link_class);
            int64_t real = num_round((double)capacity * run->options->calib->values[param].value);
            capacity = real > 0 ? (uint64_t)real : 1;
        }
        if (capacity > FLOW_CAPACITY_MAX)
            return err_set(err, "a link of %" PRIu64 " B/s is faster than the flow model can hold",
                           link.capacity_Bps);
        found = flow_add_resource(run->net, capacity);
        keymap_add(&run->resource_by_link, id, found);
    }
    *out = found;
    return true;
}

static bool make_path(FlowRun *run, PathId *out, Err *err) {
    const Route *route = &run->route;
    run->edges = mem_grow(run->edges, &run->edge_capacity, route->count, sizeof *run->edges);
    for (uint32_t i = 0; i < route->count; i++) {
        run->edges[i].coefficient = route->edges[i].weight;
        if (!resource_of(run, route->edges[i].link, &run->edges[i].resource, err)) return false;
    }
    return flow_add_path(run->net, run->edges, route->count, route->weight_total, out) ||
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

static bool prepare(FlowRun *run, const NetTransfer *transfer, uint32_t index, Err *err) {
    Pending *pending = &run->pending[index];
    pending->index = index;
    uint64_t pair = (uint64_t)transfer->from_gpu * run->fabric->gpu_count + transfer->to_gpu;
    uint32_t known = keymap_find(&run->pending_by_pair, pair);
    if (!fabric_route(run->fabric, fabric_gpu(run->fabric, transfer->from_gpu),
                      fabric_gpu(run->fabric, transfer->to_gpu), &run->route, err))
        return false;
    if (known != KEYMAP_NONE) {
        pending->path = run->pending[known].path;
    } else {
        if (!make_path(run, &pending->path, err)) return false;
        keymap_add(&run->pending_by_pair, pair, index);
    }
    if (!wire_bytes(run->options, transfer->bytes, &pending->wire_B))
        return err_set(err, "expected at most 2^62 B with headers");
    Time latency = latency_of(run);
    if (transfer->start > TIME_MAX - latency) return beyond(err);
    pending->begin = transfer->start + latency;
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
    return true;
}

static bool run_all(FlowRun *run, const NetTransfer *list, TransfersResult *out, Err *err) {
    flow_set_eps(run->net, run->options->eps_ppb);
    for (uint32_t i = 0; i < run->count; i++)
        if (!prepare(run, &list[i], i, err)) return err_prefix(err, "transfer %u", i);
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
    fabric_route_free(&run.route);
    mem_free(run.edges);
    mem_free(run.pending);
    if (done && bounded)
        *out = result;
    else
        transfers_result_free(&result);
    return done && bounded;
}
