// Folding by symmetry.
//
// On a uniform fabric (fabric.h) the values of any one digit of all GPU indices may be permuted
// together without changing the machine. A role whose GPUs are a product of digit sets is an orbit
// of those permutations, and so are its flows of one relation. A link on a route then depends,
// digit by digit, on nothing, on the source's value, on the destination's, or on both; its orbit
// has as many links as there are values (or pairs of values), and all of them carry the same load:
// flows x weight / size. Which it is, is found by moving one digit of one endpoint and looking
// whether the link changes; nothing is enumerated.
//
// Invariant: edges of routes of one relation correspond by position, because fabric_route orders
// them by distance and link, and links are numbered in the order of the digits.
#include "sim/fold.h"

#include <string.h>

#include "model/base/mem.h"
#include "model/base/wide.h"
#include "model/plan/schedule.h"

void fold_digits(const FabricShape *shape, uint32_t gpu, uint32_t *digits) {
    for (uint32_t d = shape->digit_count; d-- > 0;) {
        digits[d] = gpu % shape->size[d];
        gpu /= shape->size[d];
    }
}

uint32_t fold_gpu(const FabricShape *shape, const uint32_t *digits) {
    uint32_t gpu = 0;
    for (uint32_t d = 0; d < shape->digit_count; d++) gpu = gpu * shape->size[d] + digits[d];
    return gpu;
}

bool fold_is_chain(const uint32_t *numbers, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = i + 1; j < count; j++) {
            uint32_t a = numbers[i], b = numbers[j];
            if (a == 0 || b == 0) return false;
            if (a % b != 0 && b % a != 0) return false;
        }
    return true;
}

// Splits off the innermost digit of size z from *set: false when set is no product there.
static bool split_digit(RankSet *set, uint32_t z, DigitSet *out) {
    if (set->repeat == 1) set->period = set->count;
    if (set->repeat > 1 && set->period == set->count)
        *set = (RankSet){set->first, set->count * set->repeat, set->count * set->repeat, 1};
    uint32_t low = set->first % z, outer = set->first / z;
    uint32_t span = (set->repeat - 1) * set->period + set->count;
    bool period_is_whole = set->repeat == 1 || set->period % z == 0;
    if (low == 0 && set->count % z == 0 && period_is_whole) {
        *out = (DigitSet){0, z, z, 1};
        *set = (RankSet){outer, set->count / z, set->repeat > 1 ? set->period / z : 1, set->repeat};
        return true;
    }
    if (low + span <= z) {
        *out = (DigitSet){low, set->count, set->period, set->repeat};
        *set = (RankSet){outer, 1, 1, 1};
        return true;
    }
    if (low + set->count <= z && period_is_whole) {
        *out = (DigitSet){low, set->count, set->count, 1};
        *set = (RankSet){outer, 1, set->period / z, set->repeat};
        return true;
    }
    uint32_t inside = z % set->period == 0 ? z / set->period : 0;
    if (inside > 0 && set->repeat % inside == 0 && low + set->count <= set->period) {
        *out = (DigitSet){low, set->count, set->period, inside};
        *set = (RankSet){outer, set->repeat / inside, set->repeat / inside, 1};
        return true;
    }
    return false;
}

bool fold_box(const FabricShape *shape, const RankSet *ranks, uint32_t first_gpu, Box *out,
              Err *err) {
    RankSet set = *ranks;
    set.first += first_gpu;
    Box box = {.digit_count = shape->digit_count};
    for (uint32_t d = shape->digit_count; d-- > 0;)
        if (!split_digit(&set, shape->size[d], &box.sets[d]))
            return err_set(err,
                           "%u ranks from rank %u on do not fill regular blocks of the machine",
                           schedule_set_size(ranks), ranks->first);
    if (set.first != 0 || set.count * set.repeat != 1)
        return err_set(err, "ranks reach beyond the machine");
    *out = box;
    return true;
}

static bool set_equal(const DigitSet *a, const DigitSet *b) {
    return a->first == b->first && a->count == b->count && a->repeat == b->repeat &&
           (a->repeat == 1 || a->period == b->period);
}

static bool set_has(const DigitSet *set, uint32_t value) {
    if (value < set->first) return false;
    uint32_t offset = value - set->first;
    uint32_t period = set->repeat > 1 ? set->period : UINT32_MAX;
    return offset / period < set->repeat && offset % period < set->count;
}

static bool set_disjoint(const DigitSet *a, const DigitSet *b) {
    for (uint32_t q = 0; q < a->repeat; q++)
        for (uint32_t i = 0; i < a->count; i++)
            if (set_has(b, a->first + q * a->period + i)) return false;
    return true;
}

bool fold_boxes_are_apart(const Box *a, const Box *b) {
    if (a->digit_count != b->digit_count) return false;
    for (uint32_t d = 0; d < a->digit_count; d++)
        if (!set_equal(&a->sets[d], &b->sets[d]) && !set_disjoint(&a->sets[d], &b->sets[d]))
            return false;
    return true;
}

static bool same_values(const LinkOrbit *a, const LinkOrbit *b) {
    if (a->digit_count != b->digit_count) return false;
    for (uint32_t d = 0; d < a->digit_count; d++) {
        if ((a->depends[d] == FOLD_NEITHER) != (b->depends[d] == FOLD_NEITHER)) return false;
        if (a->depends[d] == FOLD_NEITHER) continue;
        if (!set_equal(&a->sets[d], &b->sets[d]) || !set_equal(&a->ends[d], &b->ends[d]))
            return false;
    }
    return true;
}

bool fold_orbit_equal(const LinkOrbit *a, const LinkOrbit *b) {
    return a->base == b->base && a->planes == b->planes && a->bases == b->bases &&
           same_values(a, b);
}

static Digest hash_set(Digest key, const DigitSet *set) {
    key = hash_u64(hash_u64(key, set->first), ((uint64_t)set->count << 32) | set->repeat);
    return hash_u64(key, set->repeat > 1 ? set->period : 0);
}

Digest fold_orbit_key(const LinkOrbit *orbit) {
    Digest key = hash_u64(HASH_START, ((uint64_t)orbit->base << 32) | orbit->planes);
    key = hash_u64(hash_u64(key, orbit->bases), orbit->digit_count);
    for (uint32_t d = 0; d < orbit->digit_count; d++) {
        const DigitSet *set = &orbit->sets[d];
        if (orbit->depends[d] == FOLD_NEITHER) continue;
        key = hash_u64(key, ((uint64_t)d << 32) | set->repeat);
        key = hash_u64(key, ((uint64_t)set->first << 32) | set->count);
        key = hash_u64(key, set->repeat > 1 ? set->period : 0);
        if (orbit->ends[d].count > 0) key = hash_set(key, &orbit->ends[d]);
    }
    return key;
}

// Values of the destination in a digit that a link follows at both of its ends.
static const DigitSet *ends_of(const LinkOrbit *orbit, uint32_t d) {
    return orbit->ends[d].count > 0 ? &orbit->ends[d] : &orbit->sets[d];
}

bool fold_orbit_conflict(const LinkOrbit *a, const LinkOrbit *b) {
    if (fold_orbit_equal(a, b) || a->rule != b->rule || (a->base ^ b->base) & 1) return false;
    if (a->planes == 1 && b->planes == 1 && a->base != b->base) return false;
    for (uint32_t d = 0; d < a->digit_count; d++)
        if (a->depends[d] != FOLD_NEITHER && b->depends[d] != FOLD_NEITHER &&
            (set_disjoint(&a->sets[d], &b->sets[d]) || set_disjoint(ends_of(a, d), ends_of(b, d))))
            return false;
    return true;
}

// One relation between two GPUs, in the normal form: digits that agree are 0, of digits that differ
// the source has 0 and the destination 1.
typedef struct Relation {
    const Fabric *fabric;
    const FabricShape *shape;
    bool differs[FABRIC_DIGITS_MAX];
    Route base, moved, anchor;
    uint32_t anchor_digits; // bit d: the anchor was made with digit d turned to the destination; 0:
                            // none yet
} Relation;

static bool route_digits(const Relation *relation, const uint32_t *from, const uint32_t *to,
                         Route *out, Err *err) {
    const FabricShape *shape = relation->shape;
    return fabric_route(relation->fabric, fabric_gpu(relation->fabric, fold_gpu(shape, from)),
                        fabric_gpu(relation->fabric, fold_gpu(shape, to)), out, err);
}

static void normal_digits(const Relation *relation, uint32_t *from, uint32_t *to) {
    for (uint32_t d = 0; d < relation->shape->digit_count; d++) {
        from[d] = 0;
        to[d] = relation->differs[d] ? 1 : 0;
    }
}

static bool same_form(const Route *a, const Route *b) {
    if (a->count != b->count || a->weight_total != b->weight_total) return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (a->edges[i].weight != b->edges[i].weight) return false;
    return true;
}

// Moves digit d of the given endpoints and marks the edges whose link changes.
static bool probe(Relation *relation, uint32_t d, uint32_t from_value, uint32_t to_value,
                  FoldDependence mark, FoldEdge *edges, Err *err) {
    uint32_t from[FABRIC_DIGITS_MAX], to[FABRIC_DIGITS_MAX];
    normal_digits(relation, from, to);
    from[d] = from_value;
    to[d] = to_value;
    if (!route_digits(relation, from, to, &relation->moved, err)) return false;
    if (!same_form(&relation->base, &relation->moved))
        return err_set(err, "routes of one relation differ in form");
    for (uint32_t i = 0; i < relation->base.count; i++)
        if (relation->base.edges[i].link != relation->moved.edges[i].link)
            edges[i].orbit.depends[d] =
                edges[i].orbit.depends[d] == FOLD_NEITHER ? mark : FOLD_BOTH;
    return true;
}

// With only two values a digit that differs can only be swapped: whether a link follows the source
// or the destination is then told by which of them it is nearer to.
static void settle_swapped(const Relation *relation, uint32_t d, FoldEdge *edges) {
    const Route *route = &relation->base;
    uint64_t seen = 0;
    for (uint32_t i = 0; i < route->count; i++) {
        uint32_t hop = (uint32_t)(seen / route->weight_total);
        seen += route->edges[i].weight;
        if (edges[i].orbit.depends[d] == FOLD_NEITHER) continue;
        if (2 * (hop + 1) <= route->hops)
            edges[i].orbit.depends[d] = FOLD_SOURCE;
        else if (2 * hop >= route->hops)
            edges[i].orbit.depends[d] = FOLD_DESTINATION;
        else
            edges[i].orbit.depends[d] = FOLD_BOTH;
    }
}

static bool find_dependence(Relation *relation, FoldEdge *edges, Err *err) {
    const FabricShape *shape = relation->shape;
    for (uint32_t d = 0; d < shape->digit_count; d++) {
        if (shape->size[d] < 2) continue;
        if (!relation->differs[d]) {
            if (!probe(relation, d, 1, 1, FOLD_SOURCE, edges, err)) return false;
        } else if (shape->size[d] == 2) {
            if (!probe(relation, d, 1, 0, FOLD_SOURCE, edges, err)) return false;
            settle_swapped(relation, d, edges);
        } else {
            if (!probe(relation, d, 2, 1, FOLD_SOURCE, edges, err)) return false;
            if (!probe(relation, d, 0, 2, FOLD_DESTINATION, edges, err)) return false;
        }
    }
    return true;
}

// The link at the same position when every digit that it follows is 0.
static bool find_base(Relation *relation, uint32_t position, FoldEdge *edge, Err *err) {
    uint32_t from[FABRIC_DIGITS_MAX], to[FABRIC_DIGITS_MAX];
    normal_digits(relation, from, to);
    uint32_t turned = 0;
    for (uint32_t d = 0; d < relation->shape->digit_count; d++)
        if (relation->differs[d] && edge->orbit.depends[d] == FOLD_DESTINATION) {
            from[d] = 1;
            to[d] = 0;
            turned |= 1U << d;
        }
    if (turned == 0) {
        edge->orbit.base = relation->base.edges[position].link;
        return true;
    }
    if (turned != relation->anchor_digits &&
        !route_digits(relation, from, to, &relation->anchor, err))
        return false;
    relation->anchor_digits = turned;
    edge->orbit.base = relation->anchor.edges[position].link;
    return true;
}

static uint64_t set_size(const DigitSet *set) {
    return (uint64_t)set->count * set->repeat;
}

static void set_orbit_sizes(const Relation *relation, const FoldPair *pair, LinkOrbit *orbit) {
    const Box *from = pair->from_box, *to = pair->to_box;
    orbit->digit_count = relation->shape->digit_count;
    orbit->size = 1;
    for (uint32_t d = 0; d < orbit->digit_count; d++) {
        uint64_t sources = set_size(&from->sets[d]), destinations = set_size(&to->sets[d]);
        switch (orbit->depends[d]) {
        case FOLD_NEITHER: continue;
        case FOLD_SOURCE:
            orbit->sets[d] = from->sets[d];
            orbit->size *= sources;
            break;
        case FOLD_DESTINATION:
            orbit->sets[d] = to->sets[d];
            orbit->size *= destinations;
            break;
        case FOLD_BOTH:
            orbit->sets[d] = from->sets[d];
            orbit->size *= sources;
            if (!relation->differs[d]) break;
            if (!set_equal(&from->sets[d], &to->sets[d])) {
                orbit->ends[d] = to->sets[d];
                orbit->size *= destinations;
            } else if (pair->pairing == FOLD_ALL_PAIRS) {
                orbit->size *= destinations - 1;
            }
            break;
        }
    }
}

// A link between two given GPUs: one destination for each source uses only some of its orbit, and
// without `ends` an orbit knows only one set of values of a digit.
static bool is_one_sided(const Relation *relation, const FoldPair *pair, const LinkOrbit *orbit) {
    for (uint32_t d = 0; d < relation->shape->digit_count; d++) {
        const DigitSet *from = &pair->from_box->sets[d], *to = &pair->to_box->sets[d];
        if (!relation->differs[d] || orbit->depends[d] != FOLD_BOTH) continue;
        if (pair->pairing == FOLD_ONE_TO_ONE && (set_size(from) > 1 || set_size(to) > 1))
            return true;
        if (!set_equal(from, to) && !pair->tells_ends) return true;
        if (pair->pairing == FOLD_ONE_TO_ONE && !pair->tells_ends) return true;
    }
    return false;
}

static bool are_planes(const Fabric *fabric, const FoldEdge *a, const FoldEdge *b) {
    FabricLink x = fabric_link(fabric, a->orbit.base), y = fabric_link(fabric, b->orbit.base);
    return a->coefficient == b->coefficient && a->orbit.rule == b->orbit.rule &&
           ((a->orbit.base ^ b->orbit.base) & 1) == 0 && x.capacity_Bps == y.capacity_Bps &&
           same_values(&a->orbit, &b->orbit);
}

// Edges that differ in their base alone become one.
static void merge_planes(const Fabric *fabric, FoldRoute *route) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < route->count; i++) {
        FoldEdge *edge = &route->edges[i];
        LinkId base = edge->orbit.base;
        uint32_t k = 0;
        while (k < kept && !are_planes(fabric, &route->edges[k], edge)) k++;
        if (k == kept) {
            edge->orbit.planes = 0;
            edge->orbit.bases = HASH_START;
            route->edges[kept++] = *edge;
        }
        LinkOrbit *orbit = &route->edges[k].orbit;
        orbit->bases = hash_u64(orbit->bases, base);
        orbit->planes++;
    }
    route->count = kept;
}

static bool build_edges(Relation *relation, const FoldPair *pair, FoldRoute *out, Err *err) {
    uint32_t count = relation->base.count;
    out->edges = mem_grow(out->edges, &out->capacity, count, sizeof *out->edges);
    memset(out->edges, 0, count * sizeof *out->edges);
    out->count = count;
    out->scale = relation->base.weight_total;
    if (!find_dependence(relation, out->edges, err)) return false;
    for (uint32_t i = 0; i < count; i++) {
        FoldEdge *edge = &out->edges[i];
        if (!find_base(relation, i, edge, err)) return false;
        if (is_one_sided(relation, pair, &edge->orbit))
            return err_set(err, "GPUs are joined directly: neighbours are not alike");
        set_orbit_sizes(relation, pair, &edge->orbit);
        uint64_t load;
        if (!wide_mul_u64(pair->flows, relation->base.edges[i].weight, &load) ||
            pair->flows % edge->orbit.size != 0)
            return err_set(err, "%llu transfers do not spread evenly over %llu links",
                           (unsigned long long)pair->flows, (unsigned long long)edge->orbit.size);
        edge->coefficient = load / edge->orbit.size;
        edge->orbit.rule = fabric_link(relation->fabric, edge->orbit.base).rule;
    }
    merge_planes(relation->fabric, out);
    return true;
}

// Links between GPUs that forward are the first of one route and the last of another: their ends do
// not tell which digits they follow.
static bool is_forwarded(const Fabric *fabric, const Route *route) {
    for (uint32_t i = 0; i < route->count; i++) {
        FabricLink link = fabric_link(fabric, route->edges[i].link);
        if (fabric_class(fabric, link.from)->kind == PART_GPU &&
            fabric_class(fabric, link.to)->kind == PART_GPU && route->hops > 1)
            return true;
    }
    return false;
}

bool fold_route(const Fabric *fabric, const FabricShape *shape, const FoldPair *pair,
                FoldRoute *out, Err *err) {
    Relation relation = {.fabric = fabric, .shape = shape};
    uint32_t a[FABRIC_DIGITS_MAX], b[FABRIC_DIGITS_MAX];
    fold_digits(shape, pair->from_gpu, a);
    fold_digits(shape, pair->to_gpu, b);
    for (uint32_t d = 0; d < shape->digit_count; d++) relation.differs[d] = a[d] != b[d];
    normal_digits(&relation, a, b);
    bool done = route_digits(&relation, a, b, &relation.base, err);
    if (done && is_forwarded(fabric, &relation.base))
        done = err_set(err, "GPUs forward for each other");
    done = done && build_edges(&relation, pair, out, err) &&
           fabric_route(fabric, fabric_gpu(fabric, pair->from_gpu),
                        fabric_gpu(fabric, pair->to_gpu), &out->actual, err);
    fabric_route_free(&relation.base);
    fabric_route_free(&relation.moved);
    fabric_route_free(&relation.anchor);
    return done;
}

void fold_route_free(FoldRoute *route) {
    mem_free(route->edges);
    fabric_route_free(&route->actual);
    *route = (FoldRoute){0};
}
