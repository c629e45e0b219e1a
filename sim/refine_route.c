// Routes of pairs by form, so that not every pair is searched.
//
// A pair whose route no fault touches has the form of its differing digits. A fault takes paths
// away or makes them narrower and never adds any, so what is left of the shortest paths, if
// anything, are still the shortest: pairs of one form that the same faults touch at the same places
// share again a form, made from the search for the first of them. Where no path of the healthy
// route is left, where links follow no formula and where the machine is not uniform, each pair is
// searched.
//
// Invariant: weights of a form have no common divisor with its scale; links that forms use are in
// one bundle only, and all links of a bundle are used with the same weight by every form that uses
// one of them.
#include "sim/refine_route.h"

#include <stdlib.h>
#include <string.h>

#include "model/base/wide.h"
#include "model/machine/fabric_fault.h"
#include "sim/fold.h"
#include "sim/net.h"
#include "sim/refine_memory.h"

#define EXPLICIT_MAX       400000  // pairs that are searched one by one: about 10 s
#define EXPLICIT_LINKS_MAX 8000000 // of their routes: 64 MB

// Values of RefineRoutes.by_key that are no forms.
#define SEARCH_EACH (KEYMAP_NONE - 1)

enum { KEY_DIFFERENCE = 1, KEY_FAULTS, KEY_PAIR, KEY_PAIR_AS_BUILT, KEY_HALF };

static void add_to_set(KeyMap *set, uint64_t item) {
    uint64_t key = refine_mix(item);
    if (keymap_find(set, key) == KEYMAP_NONE) keymap_add(set, key, 0);
}

static bool is_in_set(const KeyMap *set, uint64_t item) {
    return keymap_find(set, refine_mix(item)) != KEYMAP_NONE;
}

static void note_faulty(RefineRoutes *routes, LinkId link) {
    routes->faulty = mem_grow(routes->faulty, &routes->faulty_capacity, routes->faulty_count + 2,
                              sizeof *routes->faulty);
    for (uint32_t way = 0; way < 2; way++) { // both directions
        routes->faulty[routes->faulty_count++] = link ^ way;
        routes->is_faulty[(link ^ way) / 64] |= UINT64_C(1) << (link ^ way) % 64;
    }
    add_to_set(&routes->faulty_rules, fabric_link(&routes->healthy, link).rule);
}

void refine_route_open(RefineRoutes *routes, const Fabric *fabric, RefineMemory *memory) {
    *routes =
        (RefineRoutes){.fabric = fabric, .healthy = fabric_as_built(fabric), .memory = memory};
    const FabricFaults *faults = fabric->faults;
    if (faults == NULL) return;
    routes->is_faulty = mem_alloc((size_t)fabric->link_count / 64 + 1, sizeof *routes->is_faulty);
    for (uint32_t i = 0; i < faults->link_count; i++) note_faulty(routes, faults->links[i].link);
    for (uint32_t i = 0; i < faults->dead_count; i++) {
        uint64_t cursor = 0;
        LinkId link;
        while (fabric_next_link(&routes->healthy, faults->dead[i], &cursor, &link))
            note_faulty(routes, link);
    }
}

void refine_route_close(RefineRoutes *routes) {
    arena_free(&routes->arena);
    mem_free(routes->forms);
    mem_free(routes->faulty);
    mem_free(routes->is_faulty);
    keymap_free(&routes->by_key);
    keymap_free(&routes->faulty_rules);
    *routes = (RefineRoutes){0};
}

RefineDigits refine_route_digits(const Fabric *fabric, uint32_t gpu) {
    RefineDigits digits = {0};
    fold_digits(&fabric->shape, gpu, digits.at);
    return digits;
}

LinkId refine_route_edge_link(const RefineFormEdge *edge, const RefineDigits *from,
                              const RefineDigits *to, uint32_t digit_count) {
    int64_t link = edge->base;
    for (uint32_t d = 0; d < digit_count; d++)
        link += edge->from[d] * from->at[d] + edge->to[d] * to->at[d];
    return (LinkId)link;
}

RouteEdge refine_route_link(const RefineForm *form, uint32_t i, const RefineDigits *from,
                            const RefineDigits *to, uint32_t digit_count) {
    if (form->is_explicit) return form->links[i];
    const RefineFormEdge *edge = &form->edges[i];
    return (RouteEdge){refine_route_edge_link(edge, from, to, digit_count), edge->weight};
}

// From the longest stride to the shortest; what is left over must be 0.
bool refine_route_edge_find(const RefineFormEdge *edge, const FabricShape *shape, LinkId link,
                            RefineDigits *out) {
    int64_t left = (int64_t)link - edge->base, before = INT64_MAX;
    memset(out, 0, sizeof *out);
    for (uint32_t k = 0; k < shape->digit_count; k++) {
        int64_t longest = 0;
        uint32_t at = 0;
        for (uint32_t d = 0; d < shape->digit_count; d++) {
            int64_t stride = edge->from[d] + edge->to[d];
            if (stride <= longest || stride >= before) continue;
            longest = stride;
            at = d;
        }
        if (longest == 0) break;
        before = longest;
        if (left < 0 || left / longest >= shape->size[at]) return false;
        out->at[at] = (uint32_t)(left / longest);
        left %= longest;
    }
    return left == 0;
}

static uint32_t add_form(RefineRoutes *routes, const RefineForm *form) {
    routes->forms = mem_grow(routes->forms, &routes->form_capacity, routes->form_count + 1,
                             sizeof *routes->forms);
    routes->forms[routes->form_count] = *form;
    return routes->form_count++;
}

// Weights without a common divisor, and what may be faulty.
static void finish_form(const RefineRoutes *routes, RefineForm *form) {
    uint64_t divisor = form->scale;
    for (uint32_t i = 0; i < form->edge_count; i++)
        divisor =
            wide_gcd(divisor, form->is_explicit ? form->links[i].weight : form->edges[i].weight);
    form->scale /= (uint32_t)divisor;
    for (uint32_t i = 0; i < form->edge_count; i++) {
        if (form->is_explicit) {
            form->links[i].weight /= (uint32_t)divisor;
            continue;
        }
        form->edges[i].weight /= (uint32_t)divisor;
        form->edges[i].is_suspect = is_in_set(&routes->faulty_rules, form->edges[i].rule);
        form->is_suspect = form->is_suspect || form->edges[i].is_suspect;
    }
}

// ---- What was found before, in this run or in an earlier one

// A form of this run, SEARCH_EACH, or KEYMAP_NONE.
static uint32_t find_form(RefineRoutes *routes, uint64_t key) {
    uint32_t found = keymap_find(&routes->by_key, key);
    if (found != KEYMAP_NONE || routes->memory == NULL) return found;
    bool is_each;
    const RefineForm *known = refine_memory_find(routes->memory, key, &is_each);
    if (known == NULL && !is_each) return KEYMAP_NONE;
    found = is_each ? SEARCH_EACH : add_form(routes, known);
    keymap_add(&routes->by_key, key, found);
    return found;
}

// Where the edges of what is kept are made.
static Arena *keeper(RefineRoutes *routes) {
    return routes->memory == NULL ? &routes->arena : refine_memory_arena(routes->memory);
}

// A new form with edges of the keeper, or none.
static uint32_t keep_form(RefineRoutes *routes, uint64_t key, RefineForm *form) {
    uint32_t id = SEARCH_EACH;
    if (form != NULL) {
        form->key = key;
        finish_form(routes, form);
        id = add_form(routes, form);
    }
    keymap_add(&routes->by_key, key, id);
    if (routes->memory != NULL) refine_memory_keep(routes->memory, key, form);
    return id;
}

static uint32_t difference(const FabricShape *shape, const RefineDigits *a, const RefineDigits *b) {
    uint32_t differs = 0;
    for (uint32_t d = 0; d < shape->digit_count; d++)
        if (a->at[d] != b->at[d]) differs |= UINT32_C(1) << d;
    return differs;
}

static bool find_route(const RefineRoutes *routes, uint32_t from, uint32_t to, Route *out,
                       Err *err) {
    VertexId a = fabric_gpu(routes->fabric, from), b = fabric_gpu(routes->fabric, to);
    return routes->without_faults ? fabric_route_healthy(routes->fabric, a, b, out, err)
                                  : fabric_route(routes->fabric, a, b, out, err);
}

// ---- Pairs that are searched

static RefineForm form_of_route(const RefineRoutes *routes, const Route *route) {
    RefineForm form = {.edge_count = route->count,
                       .scale = route->weight_total,
                       .hops = route->hops,
                       .latency_ps = route->latency_ps,
                       .step_param = net_step_param(routes->fabric, route),
                       .tier = tier_shape(routes->fabric, route)};
    form.tier_key = tier_shape_digest(&form.tier);
    return form;
}

static bool refuse_pairs(Err *err) {
    return err_set(err,
                   "more than %d pairs of GPUs have to be searched for routes: expected fewer "
                   "ranks or a uniform machine",
                   EXPLICIT_MAX);
}

static bool refuse_links(Err *err) {
    return err_set(err,
                   "the routes of pairs of GPUs that have to be searched have more than %d links: "
                   "expected fewer ranks or a uniform machine",
                   EXPLICIT_LINKS_MAX);
}

// The mean of a sample may be too high: a quarter over the limit is left to the count itself.
bool refine_route_can_search(const RefineRoutes *routes, const RefineSample *sample, uint32_t count,
                             uint64_t pairs, Err *err) {
    if (routes->fabric->shape.uniform) return true;
    if (pairs > EXPLICIT_MAX) return refuse_pairs(err);
    uint64_t links = 0;
    Route route = {0};
    Err ignored = {0}; // a pair without a route is named when it is listed
    bool done = true;
    for (uint32_t i = 0; done && i < count; i++) {
        done = find_route(routes, sample[i].from_gpu, sample[i].to_gpu, &route, &ignored);
        if (done) links += route.count;
    }
    fabric_route_free(&route);
    if (!done || count == 0 || links * pairs / count <= EXPLICIT_LINKS_MAX / 4 * 5) return true;
    return refuse_links(err);
}

static uint32_t add_explicit(RefineRoutes *routes, uint64_t key, const Route *route) {
    RefineMemory *memory = routes->memory;
    RefineForm form = form_of_route(routes, route);
    bool is_kept = memory != NULL && refine_memory_has_room(memory, route->count);
    Arena *arena = is_kept ? refine_memory_arena(memory) : &routes->arena;
    form.is_explicit = true;
    form.key = key;
    form.links = arena_copy(arena, route->edges, route->count, sizeof *form.links);
    finish_form(routes, &form);
    if (is_kept) refine_memory_keep(memory, key, &form);
    return add_form(routes, &form);
}

// Counts one more pair that has to be searched, whether or not an earlier run has found it.
static bool count_explicit(RefineRoutes *routes, uint32_t links, Err *err) {
    if (routes->explicit_count == EXPLICIT_MAX) return refuse_pairs(err);
    if (links > EXPLICIT_LINKS_MAX - routes->explicit_links) return refuse_links(err);
    routes->explicit_count++;
    routes->explicit_links += links;
    return true;
}

static bool search_new(RefineRoutes *routes, uint64_t key, uint32_t from, uint32_t to,
                       uint32_t *out, Err *err) {
    if (routes->explicit_count == EXPLICIT_MAX) return refuse_pairs(err);
    Route route = {0};
    bool done =
        find_route(routes, from, to, &route, err) && count_explicit(routes, route.count, err);
    if (done) *out = add_explicit(routes, key, &route);
    fabric_route_free(&route);
    return done;
}

static bool search_pair(RefineRoutes *routes, uint32_t from, uint32_t to, uint32_t *out, Err *err) {
    uint64_t kind = routes->without_faults ? KEY_PAIR_AS_BUILT : KEY_PAIR;
    uint64_t key = refine_mix2(kind, ((uint64_t)from << 32) | to);
    *out = keymap_find(&routes->by_key, key);
    if (*out != KEYMAP_NONE) return true;
    bool is_each;
    const RefineForm *known = NULL;
    if (routes->memory != NULL) known = refine_memory_find(routes->memory, key, &is_each);
    if (known == NULL) {
        if (!search_new(routes, key, from, to, out, err)) return false;
    } else {
        if (!count_explicit(routes, known->edge_count, err)) return false;
        *out = add_form(routes, known);
    }
    keymap_add(&routes->by_key, key, *out);
    return true;
}

// ---- Pairs of one form

static bool form_of_difference(RefineRoutes *routes, uint32_t differs, uint32_t *out, Err *err) {
    uint64_t key = refine_mix2(KEY_DIFFERENCE, differs);
    *out = find_form(routes, key);
    if (*out != KEYMAP_NONE) return true;
    RefineForm form = {0};
    bool is_affine;
    if (!refine_form_make(routes, differs, keeper(routes), &form, &is_affine, err)) return false;
    *out = keep_form(routes, key, is_affine ? &form : NULL);
    return true;
}

static int compare_ids(const void *a, const void *b) {
    const RefineFormEdge *x = a, *y = b;
    return x->base < y->base ? -1 : x->base > y->base;
}

static const RefineFormEdge *edge_of_link(const RefineForm *healthy, const LinkId *links,
                                          LinkId link) {
    for (uint32_t i = 0; i < healthy->edge_count; i++)
        if (links[i] == link) return &healthy->edges[i];
    return NULL;
}

// The form of what faults left of a healthy one, from the route of one pair. False when the route
// takes other links.
static bool rest_of_form(RefineRoutes *routes, const RefineForm *healthy, const LinkId *links,
                         const Route *route, RefineForm *out) {
    if (route->is_hashed) return false;
    RefineForm form = form_of_route(routes, route);
    form.edges = arena_alloc(keeper(routes), route->count, sizeof *form.edges);
    for (uint32_t i = 0; i < form.edge_count; i++) {
        const RefineFormEdge *whole = edge_of_link(healthy, links, route->edges[i].link);
        if (whole == NULL) return false;
        form.edges[i] = *whole;
        form.edges[i].weight = route->edges[i].weight;
        form.edges[i].capacity_Bps = fabric_link(routes->fabric, route->edges[i].link).capacity_Bps;
    }
    *out = form;
    return true;
}

static bool is_faulty(const RefineRoutes *routes, LinkId link) {
    return (routes->is_faulty[link / 64] >> link % 64 & 1) != 0;
}

// Which links of a pair are faulty, and what is left of them; 0 when none is.
static uint64_t fault_key(const RefineRoutes *routes, uint32_t healthy, const LinkId *links) {
    const RefineForm *form = &routes->forms[healthy];
    uint64_t key = 0;
    for (uint32_t i = 0; i < form->edge_count; i++) {
        if (!form->edges[i].is_suspect || !is_faulty(routes, links[i])) continue;
        key = refine_mix2(key + i, fabric_link(routes->fabric, links[i]).capacity_Bps);
    }
    return key == 0 ? 0 : refine_mix2(refine_mix2(KEY_FAULTS, form->key), key);
}

static bool add_faulty_form(RefineRoutes *routes, uint64_t key, uint32_t healthy,
                            const LinkId *links, uint32_t from, uint32_t to, uint32_t *out,
                            Err *err) {
    Route route = {0};
    RefineForm form;
    if (!find_route(routes, from, to, &route, err)) {
        fabric_route_free(&route);
        return false;
    }
    bool is_rest = rest_of_form(routes, &routes->forms[healthy], links, &route, &form);
    *out = keep_form(routes, key, is_rest ? &form : NULL);
    fabric_route_free(&route);
    return true;
}

static bool form_with_faults(RefineRoutes *routes, uint32_t healthy, uint32_t from, uint32_t to,
                             uint32_t *out, Err *err) {
    const RefineForm *form = &routes->forms[healthy];
    const FabricShape *shape = &routes->fabric->shape;
    RefineDigits a = refine_route_digits(routes->fabric, from),
                 b = refine_route_digits(routes->fabric, to);
    LinkId *links = mem_alloc(form->edge_count, sizeof *links);
    for (uint32_t i = 0; i < form->edge_count; i++)
        links[i] = refine_route_edge_link(&form->edges[i], &a, &b, shape->digit_count);
    uint64_t key = fault_key(routes, healthy, links);
    *out = healthy;
    bool done = true;
    if (key != 0) *out = find_form(routes, key);
    if (*out == KEYMAP_NONE)
        done = add_faulty_form(routes, key, healthy, links, from, to, out, err);
    mem_free(links);
    return done;
}

static bool whole_form(RefineRoutes *routes, uint32_t from, uint32_t to, uint32_t *out, Err *err) {
    const Fabric *fabric = routes->fabric;
    if (!fabric->shape.uniform) return search_pair(routes, from, to, out, err);
    RefineDigits a = refine_route_digits(fabric, from), b = refine_route_digits(fabric, to);
    if (!form_of_difference(routes, difference(&fabric->shape, &a, &b), out, err)) return false;
    if (*out != SEARCH_EACH && routes->forms[*out].is_suspect && !routes->without_faults &&
        !form_with_faults(routes, *out, from, to, out, err))
        return false;
    return *out != SEARCH_EACH || search_pair(routes, from, to, out, err);
}

// ---- Halves

static bool is_through_switch(const RefineRoutes *routes, const RefineForm *form, uint32_t from,
                              uint32_t to) {
    const Fabric *fabric = routes->fabric;
    RefineDigits a = {0}, b = {0};
    if (!form->is_explicit) {
        a = refine_route_digits(fabric, from);
        b = refine_route_digits(fabric, to);
    }
    for (uint32_t i = 0; i < form->edge_count; i++)
        if (!net_link_sums(fabric,
                           refine_route_link(form, i, &a, &b, fabric->shape.digit_count).link))
            return false;
    return form->hops == 2;
}

// Edges are by distance from the source: those of the first hop have half of all weights.
static void keep_half(RefineRoutes *routes, RefineHalf half, RefineForm *form) {
    uint32_t count = 0, hop = half == REFINE_UP ? 0 : 1;
    uint64_t seen = 0;
    RouteEdge *links = arena_alloc(&routes->arena, form->edge_count, sizeof *links);
    RefineFormEdge *edges =
        form->is_explicit ? NULL : arena_alloc(&routes->arena, form->edge_count, sizeof *edges);
    for (uint32_t i = 0; i < form->edge_count; i++) {
        if (form->is_explicit) {
            if (seen / form->scale == hop) links[count++] = form->links[i];
            seen += form->links[i].weight;
        } else if (form->edges[i].hop == hop) {
            edges[count++] = form->edges[i];
        }
    }
    form->links = links;
    form->edges = edges;
    form->edge_count = count;
}

// The part of a form on one side of the switch in its middle; latency is that of the whole, because
// what goes up comes down at once.
static bool half_form(RefineRoutes *routes, uint32_t whole, RefineHalf half, uint32_t from,
                      uint32_t to, uint32_t *out, Err *err) {
    uint64_t key = refine_mix2(refine_mix2(KEY_HALF, half), whole);
    *out = keymap_find(&routes->by_key, key);
    if (*out != KEYMAP_NONE) return true;
    RefineForm form = routes->forms[whole];
    if (!is_through_switch(routes, &form, from, to))
        return err_set(err, "GPUs %u and %u share no switch that sums", from, to);
    keep_half(routes, half, &form);
    finish_form(routes, &form);
    *out = add_form(routes, &form);
    keymap_add(&routes->by_key, key, *out);
    return true;
}

bool refine_route_form(RefineRoutes *routes, uint32_t from_gpu, uint32_t to_gpu, RefineHalf half,
                       uint32_t *out, Err *err) {
    if (!whole_form(routes, from_gpu, to_gpu, out, err)) return false;
    return half == REFINE_WHOLE || half_form(routes, *out, half, from_gpu, to_gpu, out, err);
}

// ---- Bundles

// All links that an edge stands for, wherever it occurs.
typedef struct Orbit {
    int64_t base;
    uint64_t strides, uses; // hashes: of the strides, of the places where forms use it
    uint32_t bundle;        // the first orbit of the bundle
} Orbit;

typedef struct Orbits {
    Orbit *items;
    uint32_t count, capacity;
    KeyMap by_key;
} Orbits;

static uint64_t strides_hash(const RefineFormEdge *edge) {
    uint64_t hash = 0;
    for (uint32_t d = 0; d < FABRIC_DIGITS_MAX; d++) {
        bool is_both = edge->from[d] != 0 && edge->to[d] != 0;
        uint64_t stride = (uint64_t)(edge->from[d] + edge->to[d]);
        hash = refine_mix2(hash, stride);
        if (is_both) hash = refine_mix2(hash, (uint64_t)edge->from[d]);
    }
    return hash;
}

static uint64_t use_hash(uint32_t form, const RefineFormEdge *edge) {
    uint64_t hash = refine_mix2(form, ((uint64_t)edge->weight << 32) | edge->rule);
    hash = refine_mix2(hash, edge->capacity_Bps);
    hash = refine_mix2(hash, edge->hop);
    for (uint32_t d = 0; d < FABRIC_DIGITS_MAX; d++) {
        hash = refine_mix2(hash, (uint64_t)edge->from[d]);
        hash = refine_mix2(hash, (uint64_t)edge->to[d]);
    }
    return hash;
}

static Orbit *orbit_of(Orbits *orbits, const RefineFormEdge *edge) {
    uint64_t strides = strides_hash(edge), key = refine_mix2(strides, (uint64_t)edge->base);
    uint32_t found = keymap_find(&orbits->by_key, key);
    if (found != KEYMAP_NONE) return &orbits->items[found];
    orbits->items =
        mem_grow(orbits->items, &orbits->capacity, orbits->count + 1, sizeof *orbits->items);
    keymap_add(&orbits->by_key, key, orbits->count);
    orbits->items[orbits->count] =
        (Orbit){.base = edge->base, .strides = strides, .bundle = KEYMAP_NONE};
    return &orbits->items[orbits->count++];
}

// Links of rules that explicit routes use stay apart: those may use some of a bundle only.
static KeyMap explicit_rules(const RefineRoutes *routes) {
    KeyMap rules = {0};
    for (uint32_t f = 0; f < routes->form_count; f++)
        for (uint32_t i = 0; routes->forms[f].is_explicit && i < routes->forms[f].edge_count; i++)
            add_to_set(&rules, fabric_link(routes->fabric, routes->forms[f].links[i].link).rule);
    return rules;
}

static bool all_explicit(const RefineRoutes *routes) {
    for (uint32_t f = 0; f < routes->form_count; f++)
        if (!routes->forms[f].is_explicit) return false;
    return true;
}

static void find_orbits(const RefineRoutes *routes, const KeyMap *apart, Orbits *out) {
    for (uint32_t f = 0; f < routes->form_count; f++) {
        const RefineForm *form = &routes->forms[f];
        for (uint32_t i = 0; !form->is_explicit && i < form->edge_count; i++) {
            if (is_in_set(apart, form->edges[i].rule)) continue;
            orbit_of(out, &form->edges[i])->uses += use_hash(f, &form->edges[i]);
        }
    }
}

static void find_bundles(Orbits *orbits) {
    KeyMap first = {0};
    for (uint32_t i = 0; i < orbits->count; i++) {
        uint64_t key = refine_mix2(orbits->items[i].uses, orbits->items[i].strides);
        uint32_t found = keymap_find(&first, key);
        if (found == KEYMAP_NONE) keymap_add(&first, key, i);
        orbits->items[i].bundle = found == KEYMAP_NONE ? i : found;
    }
    keymap_free(&first);
}

// Makes one of the edges of a form from `first` on that are in its bundle, those after it; they are
// in order of base.
static void join_edges(RefineRoutes *routes, RefineFormEdge *edges, uint32_t count) {
    qsort(edges, count, sizeof *edges, compare_ids);
    LinkId *planes = arena_alloc(&routes->arena, count - 1, sizeof *planes);
    for (uint32_t i = 1; i < count; i++) planes[i - 1] = (LinkId)(edges[i].base - edges[0].base);
    edges[0].planes = planes;
    edges[0].plane_count = count - 1;
}

static void bundle_form(RefineRoutes *routes, const KeyMap *apart, Orbits *orbits,
                        RefineForm *form) {
    RefineFormEdge *edges = arena_alloc(&routes->arena, form->edge_count, sizeof *edges);
    uint32_t *bundles = mem_alloc(form->edge_count, sizeof *bundles);
    bool *is_taken = mem_alloc(form->edge_count, sizeof *is_taken);
    for (uint32_t i = 0; i < form->edge_count; i++)
        bundles[i] = is_in_set(apart, form->edges[i].rule)
                         ? KEYMAP_NONE
                         : orbit_of(orbits, &form->edges[i])->bundle;
    uint32_t count = 0;
    for (uint32_t i = 0; i < form->edge_count; i++) {
        if (is_taken[i]) continue;
        uint32_t first = count;
        for (uint32_t j = i; j < form->edge_count; j++) {
            if (is_taken[j] || (j != i && (bundles[i] == KEYMAP_NONE || bundles[j] != bundles[i])))
                continue;
            is_taken[j] = true;
            edges[count++] = form->edges[j];
        }
        join_edges(routes, &edges[first], count - first);
        count = first + 1;
    }
    form->edges = edges;
    form->edge_count = count;
    mem_free(bundles);
    mem_free(is_taken);
}

void refine_route_bundle(RefineRoutes *routes) {
    if (all_explicit(routes)) return;
    KeyMap apart = explicit_rules(routes);
    Orbits orbits = {0};
    find_orbits(routes, &apart, &orbits);
    find_bundles(&orbits);
    for (uint32_t f = 0; f < routes->form_count; f++)
        if (!routes->forms[f].is_explicit) bundle_form(routes, &apart, &orbits, &routes->forms[f]);
    mem_free(orbits.items);
    keymap_free(&orbits.by_key);
    keymap_free(&apart);
}
