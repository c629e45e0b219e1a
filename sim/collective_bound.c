// A lower bound of a collective from cuts: ranks inside and outside, and links that every byte from
// one side to the other goes over.
//
// Invariant: the links of a cut are, of each pair of an inside and an outside rank, one whole layer
// of its route: all that goes between the two goes over that layer, and so all that crosses goes
// over their union. Any set of ranks gives a bound; looking at fewer sets is still right.
// Method: cuts for each collective as for its volumes; the 2 (n - 1) S that an all-reduce sends
// when no switch sums: P. Patarasuk, X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters
// of workstations", J. Parallel Distrib. Comput. 69 (2009), section 3.
#include "sim/collective_bound.h"

#include "model/base/wide.h"
#include "sim/keymap.h"
#include "sim/net.h"

#define ROUTES_MAX (UINT64_C(1) << 14) // looked up for ranks, and for domains

// Which layer of a route: at the inside rank, or the links of the network nearest to it.
typedef enum Layer { LAYER_END, LAYER_NETWORK } Layer;
typedef enum Direction { DIRECTION_OUT, DIRECTION_IN } Direction;

typedef struct Bound {
    const Fabric *fabric;
    uint32_t first_gpu, n;
    Collective kind;
    uint64_t bytes;
    Route route;   // reused
    Time least_ps; // the bound so far
    bool sums;     // a switch next to a rank can
    bool alike;    // all GPUs take part, and routes look the same from each: one stands for all
} Bound;

typedef struct Cut {
    uint32_t first, count; // ranks inside
    uint32_t looked;       // at so many of them, which stand for all
    Layer layer;
    Direction direction;
    Wide bytes; // that must cross
    KeyMap links;
    Wide capacity_Bps, burst_B;
    Time latency_ps; // least of a pair
    bool is_open;    // some pair has no such layer
} Cut;

static VertexId vertex_of(const Bound *bound, uint32_t rank) {
    return fabric_gpu(bound->fabric, fabric_live_gpu(bound->fabric, bound->first_gpu + rank));
}

// What must cross: of equal volumes each way, out.
static void find_crossing(const Bound *bound, Cut *cut) {
    uint64_t inside = cut->count, outside = bound->n - cut->count, chunk = bound->bytes / bound->n;
    cut->direction = DIRECTION_OUT;
    cut->bytes = bound->bytes;
    switch (bound->kind) {
    case COLLECTIVE_ALL_REDUCE:
    case COLLECTIVE_COUNT: break;
    case COLLECTIVE_BROADCAST:
        if (cut->first > 0) cut->direction = DIRECTION_IN;
        break;
    case COLLECTIVE_ALL_TO_ALL: cut->bytes = wide_mul(inside * outside, chunk); break;
    case COLLECTIVE_ALL_GATHER: // the parts of those outside come in, of those inside go out
        if (outside > inside) cut->direction = DIRECTION_IN;
        cut->bytes = wide_mul(outside > inside ? outside : inside, chunk);
        break;
    case COLLECTIVE_REDUCE_SCATTER: // sums for those outside go out, for those inside come in
        if (inside > outside) cut->direction = DIRECTION_IN;
        cut->bytes = wide_mul(outside > inside ? outside : inside, chunk);
        break;
    }
}

static uint32_t layer_end(const Route *route, uint32_t begin) {
    uint64_t weight = 0;
    while (begin < route->count && weight < route->weight_total)
        weight += route->edges[begin++].weight;
    return begin;
}

static bool is_network(const Fabric *fabric, const Route *route, uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; i++)
        if (!topology_class_is_network(fabric_link(fabric, route->edges[i].link).link_class))
            return false;
    return true;
}

static void add_layer(Bound *bound, Cut *cut, uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; i++) {
        LinkId id = bound->route.edges[i].link;
        if (keymap_find(&cut->links, id) != KEYMAP_NONE) continue;
        keymap_add(&cut->links, id, 0);
        FabricLink link = fabric_link(bound->fabric, id);
        cut->capacity_Bps += link.capacity_Bps;
        cut->burst_B += link.burst_B;
        PartKind reached = fabric_class(bound->fabric, link.to)->kind;
        if (reached == PART_SWITCH && net_link_sums(bound->fabric, id)) bound->sums = true;
    }
}

static bool add_pair(Bound *bound, Cut *cut, uint32_t inside, uint32_t outside, Err *err) {
    Route *route = &bound->route;
    VertexId near = vertex_of(bound, inside), far = vertex_of(bound, outside);
    bool goes_out = cut->direction == DIRECTION_OUT;
    if (!fabric_route(bound->fabric, goes_out ? near : far, goes_out ? far : near, route, err))
        return false;
    uint32_t found_begin = 0, found_end = 0;
    for (uint32_t begin = 0, end = 0; begin < route->count; begin = end) {
        end = layer_end(route, begin);
        if (cut->layer == LAYER_NETWORK && !is_network(bound->fabric, route, begin, end)) continue;
        found_begin = begin;
        found_end = end;
        if (goes_out) break;
    }
    if (found_end == 0) cut->is_open = true;
    add_layer(bound, cut, found_begin, found_end);
    if (route->latency_ps < cut->latency_ps) cut->latency_ps = route->latency_ps;
    return true;
}

// The burst of links passes at once.
static void take(Bound *bound, Wide bytes, const Cut *over) {
    Wide second = (Wide)PS_PER_SECOND, capacity_Bps = over->capacity_Bps;
    Time latency_ps = over->latency_ps;
    bytes = bytes > over->burst_B ? bytes - over->burst_B : 0;
    Wide ps = bytes >> 87 == 0 ? bytes * second / capacity_Bps : bytes / capacity_Bps * second;
    Time time = ps < (Wide)(TIME_MAX - latency_ps) ? latency_ps + (Time)ps : TIME_MAX;
    if (time > bound->least_ps) bound->least_ps = time;
}

static bool try_cut(Bound *bound, Cut *cut, Err *err) {
    bool done = true;
    cut->latency_ps = TIME_MAX;
    for (uint32_t i = cut->first; done && !cut->is_open && i < cut->first + cut->looked; i++)
        for (uint32_t j = 0; done && !cut->is_open && j < bound->n; j++)
            if (j < cut->first || j >= cut->first + cut->count)
                done = add_pair(bound, cut, i, j, err);
    cut->capacity_Bps *= cut->count / cut->looked; // fewer where they share links
    cut->burst_B *= cut->count / cut->looked;
    keymap_free(&cut->links);
    cut->links = (KeyMap){0};
    if (done && !cut->is_open && cut->capacity_Bps > 0) take(bound, cut->bytes, cut);
    return done;
}

static bool try_ends(Bound *bound, Err *err) {
    uint32_t n = bound->n;
    uint64_t stride = bound->alike ? n : wide_div_up_u64((uint64_t)n * (n - 1), ROUTES_MAX);
    Cut out = {.latency_ps = TIME_MAX};
    for (uint64_t r = 0; r < n; r += stride) {
        Cut cut = {.first = (uint32_t)r, .count = 1, .looked = 1, .layer = LAYER_END};
        find_crossing(bound, &cut);
        if (!try_cut(bound, &cut, err)) return false;
        out.capacity_Bps += cut.capacity_Bps;
        out.burst_B += cut.burst_B;
        if (cut.latency_ps < out.latency_ps) out.latency_ps = cut.latency_ps;
    }
    if (bound->alike) out.capacity_Bps *= n;
    if (bound->alike) out.burst_B *= n;
    if (bound->kind == COLLECTIVE_ALL_REDUCE && !bound->sums && (bound->alike || stride == 1))
        take(bound, wide_mul(2 * (uint64_t)(n - 1), bound->bytes), &out);
    return true;
}

// Ranks in a row whose GPUs are in one block of `size`.
static uint32_t run_length(const Bound *bound, uint32_t first, uint32_t size) {
    uint32_t block = vertex_of(bound, first) / size, end = first + 1;
    while (end < bound->n && vertex_of(bound, end) / size == block) end++;
    return end - first;
}

static bool try_blocks(Bound *bound, uint32_t size, Err *err) {
    uint64_t routes = 0;
    for (uint32_t first = 0, count = 0; first < bound->n; first += count) {
        count = run_length(bound, first, size);
        Cut cut = {.first = first, .count = count, .looked = count, .layer = LAYER_NETWORK};
        if (bound->alike && wide_mul(count, bound->n - count) > ROUTES_MAX) cut.looked = 1;
        routes += wide_mul_saturate(cut.looked, bound->n - count);
        if (count == bound->n || routes > ROUTES_MAX || (first > 0 && bound->alike)) return true;
        find_crossing(bound, &cut);
        if (!try_cut(bound, &cut, err)) return false;
    }
    return true;
}

bool collective_bound_find(const Fabric *fabric, uint32_t first_gpu, uint32_t n, Collective kind,
                           uint64_t bytes, Time *out, Err *err) {
    Bound bound = {.fabric = fabric, .first_gpu = first_gpu, .n = n, .kind = kind, .bytes = bytes};
    bound.alike = fabric->shape.uniform && !fabric_has_faults(fabric) && n == fabric->gpu_count;
    uint32_t domain = fabric->domain_size, node = fabric->node_size;
    bool done = try_ends(&bound, err) && (domain == 0 || try_blocks(&bound, domain, err)) &&
                (node == 0 || node == domain || try_blocks(&bound, node, err));
    fabric_route_free(&bound.route);
    if (done) *out = bound.least_ps;
    return done;
}
