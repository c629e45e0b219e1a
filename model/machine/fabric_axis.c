// Dimension-order routes (W. J. Dally, B. Towles, Principles and Practices of Interconnection
// Networks, 2004, section 8.4.2): a transfer corrects one digit of the chip after the other, along
// the ring or line of that level, by the shorter way round. Where both ways round are equally long
// the book draws one for each packet; here each has half of the transfer, which is the mean of it.
// That the routes of a torus are fixed when it is set up, and again around faults: Y. Zu et al.,
// Resiliency at Scale: Managing Google's TPUv4 Machine Learning Supercomputer, NSDI 2024. Which
// order TPUs take is not published: here the innermost level comes first.
//
// Around a fault: the other way round its ring if that is live, else the same levels in another
// order (each rotation of it), so that another chip is the corner.
//
// Invariant: at every distance the weights add up to weight_total, and all paths have as many
// links; a route costs a walk along the rings, whatever the size of the machine.
#include "model/machine/fabric_axis.h"

#include <assert.h>

#include "model/base/wide.h"
#include "model/machine/fabric_fault.h"
#include "model/machine/fabric_rule.h"

// Along a ring: with the rule, or against it.
typedef enum Way { WAY_FORTH, WAY_BACK, WAY_COUNT } Way;

typedef struct Leg {
    const FabricRule *rule;
    uint32_t level;
    VertexId from, to;
    uint32_t hops;
    bool takes[WAY_COUNT]; // both when they are equally long
} Leg;

typedef struct Legs {
    Leg items[FABRIC_DIGITS_MAX];
    uint32_t count;
} Legs;

static bool is_axis(const FabricRule *rule) {
    return rule->link->policy == ROUTE_DIMENSION_ORDER;
}

// True when each GPU has at most one next and one before it on the level: x + c, (x + c) % m for
// x below m, or one pair.
static bool is_line(const FabricRule *rule, uint32_t level) {
    const FabricInverse *inverse = &rule->inverse[level];
    const FabricSet *from = &rule->from[level];
    if (rule->to[level].kind == FABRIC_COMPUTED)
        return inverse->kind == FABRIC_SHIFT && inverse->level == level &&
               (inverse->modulus == 0 ||
                from->ranges[from->range_count - 1].last < inverse->modulus);
    return rule->from[level].count == 1 && rule->to[level].set.count == 1;
}

// The level along which the rule leads, or FABRIC_NONE when it is no ring or line of one level.
static uint32_t level_of(const Fabric *fabric, const FabricRule *rule) {
    uint32_t level = FABRIC_NONE;
    if (rule->form != TOPOLOGY_PLAIN || rule->from_class != rule->to_class ||
        fabric->classes[rule->from_class].kind != PART_GPU)
        return FABRIC_NONE;
    for (uint32_t i = 0; i < rule->to_levels; i++) {
        if (rule->to[i].kind == FABRIC_COPY && rule->to[i].copied == i) continue;
        if (level != FABRIC_NONE || !is_line(rule, i)) return FABRIC_NONE;
        level = i;
    }
    return level;
}

static bool fail(const Fabric *fabric, const FabricRule *rule, const char *expected, Err *err) {
    return err_set(err, "%s: link \"%s\" to \"%s\": policy dimension-order: expected %s",
                   fabric->topology->origin, rule->link->from, rule->link->to, expected);
}

bool fabric_axis_check(const Fabric *fabric, Err *err) {
    for (uint32_t i = 0; i < fabric->class_count; i++) {
        uint32_t levels = 0;
        for (uint32_t k = fabric->adjacent_start[i]; k < fabric->adjacent_start[i + 1]; k++) {
            const FabricRule *rule = &fabric->rules[fabric->adjacent[k].rule];
            if (!is_axis(rule) || fabric->adjacent[k].side == FABRIC_TO) continue;
            uint32_t level = level_of(fabric, rule);
            if (level == FABRIC_NONE)
                return fail(fabric, rule,
                            "a ring or line of GPUs along one level, such as gpu[i] to "
                            "gpu[(i+1)%4], or gpu[0] to gpu[1]",
                            err);
            if ((levels >> level & 1) != 0)
                return fail(fabric, rule, "one such link for each level, found two", err);
            levels |= UINT32_C(1) << level;
        }
    }
    return true;
}

static const FabricRule *rule_at(const Fabric *fabric, uint32_t class_id, uint32_t level) {
    for (uint32_t k = fabric->adjacent_start[class_id]; k < fabric->adjacent_start[class_id + 1];
         k++) {
        const FabricRule *rule = &fabric->rules[fabric->adjacent[k].rule];
        if (is_axis(rule) && level_of(fabric, rule) == level) return rule;
    }
    return NULL;
}

// A ring of all values of the level, everywhere; of two it is one link.
static bool is_ring(const VertexClass *class, const FabricRule *rule, uint32_t level) {
    const FabricInverse *inverse = &rule->inverse[level];
    if (class->shape[level] == 2) return rule->from_count * 2 == class->count;
    return rule->from_count == class->count && inverse->modulus == class->shape[level] &&
           (inverse->constant == 1 || inverse->constant == -1);
}

bool fabric_axis_is_torus(const Fabric *fabric) {
    const VertexClass *class = &fabric->classes[0];
    if (class->count != fabric->gpu_count || fabric->faults != NULL) return false;
    for (uint32_t level = 0; level < class->digit_count; level++) {
        const FabricRule *rule = rule_at(fabric, 0, level);
        if (class->shape[level] == 1) continue;
        if (rule == NULL || !is_ring(class, rule, level)) return false;
    }
    return true;
}

// The next GPU along a ring; false at the end of a line and where a fault stops.
static bool take_step(const Fabric *fabric, const FabricRule *rule, Way way, VertexId *at,
                      LinkId *link) {
    FabricWalk walk;
    VertexId partner;
    fabric_rule_walk(fabric, rule, way == WAY_FORTH ? FABRIC_FROM : FABRIC_TO, *at, &walk);
    if (!fabric_rule_next(&walk, &partner, link)) return false;
    if (fabric->faults != NULL && fabric_fault_stops(fabric, *link, partner)) return false;
    *at = partner;
    return true;
}

// Both ways at once, until one arrives; false when none does.
static bool measure_leg(const Fabric *fabric, Leg *leg) {
    VertexId at[WAY_COUNT] = {leg->from, leg->from};
    bool is_open[WAY_COUNT] = {true, true}, is_there = false;
    for (leg->hops = 0; !is_there && (is_open[WAY_FORTH] || is_open[WAY_BACK]); leg->hops++) {
        for (Way way = WAY_FORTH; way < WAY_COUNT; way++) {
            LinkId link;
            is_open[way] = is_open[way] && take_step(fabric, leg->rule, way, &at[way], &link) &&
                           at[way] != leg->from;
            leg->takes[way] = is_open[way] && at[way] == leg->to;
            is_there = is_there || leg->takes[way];
        }
    }
    return is_there;
}

// A leg for each level in which the two differ, innermost first; false when one has no such links.
static bool find_legs(const Fabric *fabric, uint32_t class_id, const uint32_t *from,
                      const uint32_t *to, Legs *legs) {
    legs->count = 0;
    for (uint32_t level = fabric->classes[class_id].digit_count; level-- > 0;) {
        if (from[level] == to[level]) continue;
        const FabricRule *found = rule_at(fabric, class_id, level);
        if (found == NULL) return false;
        legs->items[legs->count++] = (Leg){.rule = found, .level = level};
    }
    return true;
}

// Measures the legs one after the other; false when one of them is cut.
static bool join_legs(const Fabric *fabric, const VertexClass *class, VertexId from,
                      const uint32_t *to, Legs *legs) {
    uint32_t digits[FABRIC_DIGITS_MAX];
    fabric_rule_digits(class, from, digits);
    for (uint32_t i = 0; i < legs->count; i++) {
        Leg *leg = &legs->items[i];
        leg->from = fabric_rule_vertex(class, digits);
        digits[leg->level] = to[leg->level];
        leg->to = fabric_rule_vertex(class, digits);
        if (!measure_leg(fabric, leg)) return false;
    }
    return true;
}

static void rotate_legs(Legs *legs) {
    Leg first = legs->items[0];
    for (uint32_t i = 1; i < legs->count; i++) legs->items[i - 1] = legs->items[i];
    legs->items[legs->count - 1] = first;
}

static void add_edge(const Fabric *fabric, const LinkRule *rule, RouteEdge edge, Route *out) {
    uint64_t capacity_Bps = fabric_fault_capacity_Bps(fabric, rule, edge.link);
    uint64_t bandwidth_Bps = wide_mul_div(capacity_Bps, out->weight_total, edge.weight);
    out->edges = mem_grow(out->edges, &out->capacity, out->count + 1, sizeof *out->edges);
    out->edges[out->count++] = edge;
    if (bandwidth_Bps >= out->bandwidth_Bps) return;
    out->bandwidth_Bps = bandwidth_Bps;
    out->narrowest = rule->link_class;
}

static void write_leg(const Fabric *fabric, const Leg *leg, Route *out) {
    const LinkRule *rule = leg->rule->link;
    bool is_split = leg->takes[WAY_FORTH] && leg->takes[WAY_BACK];
    VertexId at[WAY_COUNT] = {leg->from, leg->from};
    LinkId links[WAY_COUNT] = {0};
    for (uint32_t hop = 0; hop < leg->hops; hop++) {
        for (Way way = WAY_FORTH; way < WAY_COUNT; way++) {
            if (!leg->takes[way]) continue;
            bool done = take_step(fabric, leg->rule, way, &at[way], &links[way]);
            assert(done);
            (void)done;
        }
        Way first = leg->takes[WAY_FORTH] ? WAY_FORTH : WAY_BACK;
        if (is_split && links[WAY_BACK] < links[WAY_FORTH]) first = WAY_BACK;
        uint32_t weight = is_split ? 1 : out->weight_total;
        add_edge(fabric, rule, (RouteEdge){links[first], weight}, out);
        if (is_split) add_edge(fabric, rule, (RouteEdge){links[1 - first], weight}, out);
    }
    out->hops += leg->hops;
    out->latency_ps += leg->hops * rule->latency_ps;
}

bool fabric_axis_route(const Fabric *fabric, VertexId from, VertexId to, Route *out) {
    const VertexClass *class = fabric_class(fabric, from);
    uint32_t from_digits[FABRIC_DIGITS_MAX], to_digits[FABRIC_DIGITS_MAX];
    Legs legs;
    bool done = false;
    if (class->kind != PART_GPU || fabric_class(fabric, to) != class) return false;
    fabric_rule_digits(class, from, from_digits);
    fabric_rule_digits(class, to, to_digits);
    if (!find_legs(fabric, (uint32_t)(class - fabric->classes), from_digits, to_digits, &legs))
        return false;
    for (uint32_t order = 0; !done && order < legs.count; order++) {
        if (order > 0) rotate_legs(&legs);
        done = join_legs(fabric, class, from, to_digits, &legs);
    }
    if (!done) return false;
    *out = (Route){.edges = out->edges,
                   .capacity = out->capacity,
                   .weight_total = 1,
                   .bandwidth_Bps = UINT64_MAX};
    for (uint32_t i = 0; i < legs.count; i++)
        if (legs.items[i].takes[WAY_FORTH] && legs.items[i].takes[WAY_BACK]) out->weight_total = 2;
    for (uint32_t i = 0; i < legs.count; i++) write_leg(fabric, &legs.items[i], out);
    return true;
}
