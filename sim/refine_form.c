// How the links of routes follow the digits of GPUs, as formulas.
//
// On a uniform fabric the routes of all pairs that differ in the same digits correspond link by
// link (fabric.h), and links are numbered in the order of the digits, so the number of each is base
// + sum of stride * digit. The strides are found by moving one digit of one end, and are then tried
// on other pairs; where they do not hold (direct links between GPUs, hashed paths), there is no
// form and each pair is searched for itself.
//
// Invariant: strides are above 0 where a link follows a digit, and the base is the link at digits
// of 0, so that one link is base and digits of one edge only, in whatever form it occurs.
#include "sim/refine_route.h"

#include <string.h>

#include "model/base/rng.h"
#include "sim/fold.h"
#include "sim/net.h"

#define TRIALS 6 // pairs of random digits on which a formula is tried

// One set of differing digits: in the normal form digits that agree are 0, of digits that differ
// the source has 0 and the destination 1.
typedef struct Probe {
    const RefineRoutes *routes;
    const FabricShape *shape;
    uint32_t differs;
    Route base, moved;
    bool is_affine;
} Probe;

static bool has_bit(uint32_t set, uint32_t d) {
    return (set >> d & 1) != 0;
}

static bool route_digits(const Probe *probe, const RefineDigits *from, const RefineDigits *to,
                         Route *out, Err *err) {
    const Fabric *fabric = probe->routes->fabric;
    return fabric_route_healthy(fabric, fabric_gpu(fabric, fold_gpu(probe->shape, from->at)),
                                fabric_gpu(fabric, fold_gpu(probe->shape, to->at)), out, err);
}

static bool same_form(const Route *a, const Route *b) {
    if (a->count != b->count || a->weight_total != b->weight_total || a->hops != b->hops ||
        a->latency_ps != b->latency_ps || a->is_hashed || b->is_hashed)
        return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (a->edges[i].weight != b->edges[i].weight) return false;
    return true;
}

static void normal_digits(const Probe *probe, RefineDigits *from, RefineDigits *to) {
    memset(from, 0, sizeof *from);
    memset(to, 0, sizeof *to);
    for (uint32_t d = 0; d < probe->shape->digit_count; d++) to->at[d] = has_bit(probe->differs, d);
}

// The route when digit d of the ends is as given; *is_affine falls when its form is another one.
static bool move(Probe *probe, uint32_t d, uint32_t from_value, uint32_t to_value, Err *err) {
    RefineDigits from, to;
    normal_digits(probe, &from, &to);
    from.at[d] = from_value;
    to.at[d] = to_value;
    if (!route_digits(probe, &from, &to, &probe->moved, err)) return false;
    if (!same_form(&probe->base, &probe->moved)) probe->is_affine = false;
    return true;
}

static int64_t shift_of(const Probe *probe, uint32_t i) {
    return (int64_t)probe->moved.edges[i].link - (int64_t)probe->base.edges[i].link;
}

// With only two values a digit that differs can only be swapped. Links are numbered upwards in the
// order of digits: one that moves up follows the source, one that moves down the destination.
static void follow_swapped(const Probe *probe, uint32_t d, RefineFormEdge *edges) {
    for (uint32_t i = 0; i < probe->base.count; i++) {
        int64_t shift = shift_of(probe, i);
        if (shift > 0) edges[i].from[d] = shift;
        if (shift < 0) edges[i].to[d] = -shift;
    }
}

static bool follow_differing(Probe *probe, uint32_t d, RefineFormEdge *edges, Err *err) {
    if (probe->shape->size[d] == 2) {
        if (!move(probe, d, 1, 0, err)) return false;
        if (probe->is_affine) follow_swapped(probe, d, edges);
        return true;
    }
    if (!move(probe, d, 2, 1, err)) return false;
    for (uint32_t i = 0; probe->is_affine && i < probe->base.count; i++)
        edges[i].from[d] = shift_of(probe, i) / 2;
    if (!probe->is_affine) return true;
    if (!move(probe, d, 0, 2, err)) return false;
    for (uint32_t i = 0; probe->is_affine && i < probe->base.count; i++)
        edges[i].to[d] = shift_of(probe, i);
    return true;
}

static bool follow_digit(Probe *probe, uint32_t d, RefineFormEdge *edges, Err *err) {
    if (probe->shape->size[d] < 2) return true;
    if (has_bit(probe->differs, d)) return follow_differing(probe, d, edges, err);
    if (!move(probe, d, 1, 1, err)) return false;
    for (uint32_t i = 0; probe->is_affine && i < probe->base.count; i++)
        edges[i].from[d] = shift_of(probe, i);
    return true;
}

// Strides are not negative and the base is a link.
static bool set_bases(const Probe *probe, RefineFormEdge *edges) {
    for (uint32_t i = 0; i < probe->base.count; i++) {
        RefineFormEdge *edge = &edges[i];
        edge->base = probe->base.edges[i].link;
        for (uint32_t d = 0; d < probe->shape->digit_count; d++) {
            if (edge->from[d] < 0 || edge->to[d] < 0) return false;
            if (has_bit(probe->differs, d)) edge->base -= edge->to[d];
            if (edge->from[d] != 0 || edge->to[d] != 0) edge->follows |= UINT32_C(1) << d;
        }
        if (edge->base < 0) return false;
    }
    return true;
}

static bool try_pair(Probe *probe, const RefineFormEdge *edges, const RefineDigits *from,
                     const RefineDigits *to, Err *err) {
    if (!route_digits(probe, from, to, &probe->moved, err)) return false;
    probe->is_affine = same_form(&probe->base, &probe->moved);
    for (uint32_t i = 0; probe->is_affine && i < probe->base.count; i++)
        if (refine_route_edge_link(&edges[i], from, to, probe->shape->digit_count) !=
            probe->moved.edges[i].link)
            probe->is_affine = false;
    return true;
}

// The last values of all digits, both ways round, then random ones.
static bool try_formulas(Probe *probe, const RefineFormEdge *edges, Err *err) {
    Rng rng;
    rng_seed(&rng, probe->differs);
    for (uint32_t trial = 0; trial < TRIALS + 2 && probe->is_affine; trial++) {
        RefineDigits from = {0}, to = {0};
        for (uint32_t d = 0; d < probe->shape->digit_count; d++) {
            uint32_t size = probe->shape->size[d];
            from.at[d] = trial < 2 ? size - 1 : (uint32_t)rng_below(&rng, size);
            to.at[d] = from.at[d];
            if (!has_bit(probe->differs, d)) continue;
            uint32_t step = trial < 2 ? 1 : 1 + (uint32_t)rng_below(&rng, size - 1);
            to.at[d] = from.at[d] >= step ? from.at[d] - step : from.at[d] + size - step;
        }
        bool turned = trial == 1;
        if (!try_pair(probe, edges, turned ? &to : &from, turned ? &from : &to, err)) return false;
    }
    return true;
}

static void set_links(const Probe *probe, RefineFormEdge *edges) {
    uint64_t seen = 0;
    for (uint32_t i = 0; i < probe->base.count; i++) {
        FabricLink link = fabric_link(&probe->routes->healthy, probe->base.edges[i].link);
        edges[i].weight = probe->base.edges[i].weight;
        edges[i].hop = (uint32_t)(seen / probe->base.weight_total);
        edges[i].rule = link.rule;
        edges[i].capacity_Bps = link.capacity_Bps;
        seen += edges[i].weight;
    }
}

static bool find_formulas(Probe *probe, RefineFormEdge *edges, Err *err) {
    for (uint32_t d = 0; d < probe->shape->digit_count && probe->is_affine; d++)
        if (!follow_digit(probe, d, edges, err)) return false;
    if (!probe->is_affine) return true;
    probe->is_affine = set_bases(probe, edges);
    return !probe->is_affine || try_formulas(probe, edges, err);
}

bool refine_form_make(const RefineRoutes *routes, uint32_t differs, Arena *arena, RefineForm *out,
                      bool *is_affine, Err *err) {
    Probe probe = {.routes = routes, .shape = &routes->fabric->shape, .differs = differs};
    RefineDigits from, to;
    normal_digits(&probe, &from, &to);
    bool done = route_digits(&probe, &from, &to, &probe.base, err);
    probe.is_affine = done && !probe.base.is_hashed;
    RefineFormEdge *edges = arena_alloc(arena, probe.base.count, sizeof *edges);
    if (probe.is_affine) done = find_formulas(&probe, edges, err);
    if (done && probe.is_affine) {
        set_links(&probe, edges);
        *out = (RefineForm){.edges = edges,
                            .edge_count = probe.base.count,
                            .scale = probe.base.weight_total,
                            .hops = probe.base.hops,
                            .latency_ps = probe.base.latency_ps,
                            .step_param = net_step_param(&routes->healthy, &probe.base),
                            .tier = tier_shape(&routes->healthy, &probe.base)};
        out->tier_key = tier_shape_digest(&out->tier);
    }
    *is_affine = probe.is_affine;
    fabric_route_free(&probe.base);
    fabric_route_free(&probe.moved);
    return done;
}
