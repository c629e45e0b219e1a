// Routes: breadth-first search from both ends, level by level, then the shares of the paths by
// counting.
//
// Both searches keep the edges between successive levels, so that together they hold every shortest
// path. They meet for the first time at the fewest hops: after levels a and b are complete on the
// two sides without a common vertex, every path is longer than a + b.
//
// Shares: a path weighs as much as the capacity of its narrowest link. Paths are not listed. Their
// weights are summed per link by counting, for each distinct capacity c, the paths all of whose
// links have at least c: a path of narrowest capacity c_k is counted once for each c_1 < ... < c_k,
// and (c_1 - 0) + ... + (c_k - c_(k-1)) = c_k.
//
// Links of policy hash: of those onward from a part, a transfer takes one, as ECMP does (C. Hopps,
// RFC 2992: equal-cost next hops by a hash of the flow): the one with the largest hash of pair and
// link (D. Thaler, C. Ravishankar, IEEE/ACM Trans. Networking 6 (1998): highest random weight), so
// that a dead link moves no transfer but its own and successive stages choose independently. Links
// of policy adaptive are striped: packets spread over equal paths by load fill them in proportion
// to capacity, which is the fluid limit of spraying (A. Dixit et al., On the Impact of Packet
// Spraying in Data Center Networks, INFOCOM 2013).
//
// Invariant: the route depends on the graph alone, not on how its vertices are numbered (except for
// the order of edges, and for what a hash chooses).
#include "model/machine/fabric.h"

#include <assert.h>
#include <stdlib.h>

#include "model/base/hash.h"
#include "model/base/wide.h"
#include "model/machine/fabric_axis.h"
#include "model/machine/fabric_fault.h"
#include "model/machine/fabric_rule.h"
#include "model/machine/fabric_weight.h"

#define PATHS_MAX (UINT64_C(1) << 31)

// What may be used, in the order of preference that fabric.h documents.
typedef enum Tier { TIER_SCALE_UP, TIER_ANY, TIER_SCALE_UP_GPU, TIER_ANY_GPU, TIER_COUNT } Tier;

typedef struct Cost {
    uint32_t cpus;
    Time latency_ps;
} Cost;

typedef struct Reached {
    VertexId vertex;
    uint32_t class_id;
    uint32_t level;
    bool is_kept;
    uint64_t best_hash; // among the hashed links onward, in travel direction
    LinkId best;        // FABRIC_NONE: there is none
    bool is_chosen;     // the transfer comes through here
    Cost cost;          // from the side's end to here
    uint64_t paths;     // from the side's end to here, over links of the capacity in question
    uint64_t beyond;    // from here to the other end
} Reached;

typedef struct Edge {
    uint32_t near, far; // positions in Side.reached
    LinkId link;        // from near to far
    uint32_t rule;
    uint64_t left_Bps; // capacity that faults leave
    uint64_t capacity; // the same in the units of a Measure
    uint64_t weight;
    bool is_kept;
} Edge;

// The search from one end.
typedef struct Side {
    const Fabric *fabric;
    Tier tier;
    VertexId goal;
    uint32_t goal_class;
    Reached *reached; // in the order of discovery
    uint32_t count, capacity;
    uint32_t frontier; // reached[frontier..count) is the newest level
    uint32_t level;
    Edge *edges; // in the order of levels
    uint32_t edge_count, edge_capacity;
    uint32_t *table; // open addressing; position + 1 in `reached`
    uint32_t table_size;
} Side;

static uint32_t slot_of(const Side *side, VertexId vertex) {
    uint32_t slot = (vertex * UINT32_C(2654435761)) & (side->table_size - 1); // Fibonacci hashing
    while (side->table[slot] != 0 && side->reached[side->table[slot] - 1].vertex != vertex) {
        slot = (slot + 1) & (side->table_size - 1);
    }
    return slot;
}

static uint32_t find(const Side *side, VertexId vertex) {
    uint32_t position = side->table[slot_of(side, vertex)];
    return position == 0 ? UINT32_MAX : position - 1;
}

static void grow_table(Side *side) {
    mem_free(side->table);
    side->table_size *= 2;
    side->table = mem_alloc(side->table_size, sizeof *side->table);
    for (uint32_t i = 0; i < side->count; i++)
        side->table[slot_of(side, side->reached[i].vertex)] = i + 1;
}

static uint32_t reach(Side *side, VertexId vertex, uint32_t class_id) {
    if (2 * (side->count + 1) > side->table_size) grow_table(side);
    uint32_t slot = slot_of(side, vertex);
    if (side->table[slot] != 0) return side->table[slot] - 1;
    side->reached =
        mem_grow(side->reached, &side->capacity, side->count + 1, sizeof *side->reached);
    side->reached[side->count] = (Reached){
        .vertex = vertex, .class_id = class_id, .level = side->level, .best = FABRIC_NONE};
    side->table[slot] = ++side->count;
    return side->count - 1;
}

static uint32_t class_id_of(const Fabric *fabric, VertexId vertex) {
    return (uint32_t)(fabric_class(fabric, vertex) - fabric->classes);
}

static void open_side(Side *side, const Fabric *fabric, Tier tier, VertexId start, VertexId goal) {
    *side = (Side){.fabric = fabric,
                   .tier = tier,
                   .goal = goal,
                   .goal_class = class_id_of(fabric, goal),
                   .table_size = 64};
    side->table = mem_alloc(side->table_size, sizeof *side->table);
    reach(side, start, class_id_of(fabric, start));
}

static void close_side(Side *side) {
    mem_free(side->reached);
    mem_free(side->edges);
    mem_free(side->table);
}

static bool forwards(PartKind kind, Tier tier) {
    switch (kind) {
    case PART_GPU: return tier == TIER_SCALE_UP_GPU || tier == TIER_ANY_GPU;
    case PART_CPU:
    case PART_SWITCH: return true;
    case PART_NIC:
    case PART_PCIE_SWITCH: return tier == TIER_ANY || tier == TIER_ANY_GPU;
    case PART_MEMORY:
    case PART_STORAGE:
    case PART_GROUP:
    case PART_KIND_COUNT: return false;
    }
    return false;
}

static bool tier_uses(const FabricRule *rule, Tier tier) {
    return tier == TIER_ANY || tier == TIER_ANY_GPU ||
           topology_class_is_scale_up(rule->link->link_class);
}

// A partner found on the new level; what was reached before is no step of a shortest path.
static void add_edge(Side *side, uint32_t near, const FabricAdjacent *through, VertexId partner,
                     LinkId link) {
    const Fabric *fabric = side->fabric;
    if (fabric->faults != NULL && fabric_fault_stops(fabric, link, partner)) return;
    const LinkRule *rule = fabric->rules[through->rule].link;
    uint32_t far = reach(side, partner, through->other);
    if (side->reached[far].level != side->level) return;
    side->edges =
        mem_grow(side->edges, &side->edge_capacity, side->edge_count + 1, sizeof *side->edges);
    side->edges[side->edge_count++] =
        (Edge){.near = near,
               .far = far,
               .link = link,
               .rule = through->rule,
               .left_Bps = fabric_fault_capacity_Bps(fabric, rule, link)};
}

static void expand_through(Side *side, uint32_t near, const FabricAdjacent *through) {
    const FabricRule *rule = &side->fabric->rules[through->rule];
    VertexId vertex = side->reached[near].vertex, partner;
    LinkId link;
    if (!tier_uses(rule, side->tier)) return;
    if (!forwards(side->fabric->classes[through->other].kind, side->tier)) {
        // Only the other end itself is of use there, which spares the other GPUs of a switch.
        if (through->other != side->goal_class) return;
        if (!fabric_rule_between(side->fabric, rule, (FabricSide)through->side, vertex, side->goal,
                                 &link))
            return;
        add_edge(side, near, through, side->goal, link);
        return;
    }
    FabricWalk walk;
    fabric_rule_walk(side->fabric, rule, (FabricSide)through->side, vertex, &walk);
    while (fabric_rule_next(&walk, &partner, &link)) add_edge(side, near, through, partner, link);
}

// Completes the next level.
static void expand(Side *side) {
    uint32_t begin = side->frontier, end = side->count;
    side->level++;
    side->frontier = end;
    for (uint32_t near = begin; near < end; near++) {
        uint32_t class_id = side->reached[near].class_id;
        const Fabric *fabric = side->fabric;
        if (near != 0 && !forwards(fabric->classes[class_id].kind, side->tier)) continue;
        for (uint32_t i = fabric->adjacent_start[class_id];
             i < fabric->adjacent_start[class_id + 1]; i++) {
            expand_through(side, near, &fabric->adjacent[i]);
        }
    }
}

static bool meet(const Side *newest, const Side *other) {
    for (uint32_t i = newest->frontier; i < newest->count; i++) {
        if (find(other, newest->reached[i].vertex) != UINT32_MAX) return true;
    }
    return false;
}

// Expands the side with the smaller frontier until the sides meet.
static bool search(Side *a, Side *b) {
    for (;;) {
        uint32_t a_size = a->count - a->frontier, b_size = b->count - b->frontier;
        if (a_size == 0 || b_size == 0) return false;
        Side *next = a_size <= b_size ? a : b;
        expand(next);
        if (meet(next, next == a ? b : a)) return true;
    }
}

static bool is_less(Cost a, Cost b) {
    return a.cpus != b.cpus ? a.cpus < b.cpus : a.latency_ps < b.latency_ps;
}

static Cost step_cost(const Side *side, const Edge *edge) {
    Cost cost = side->reached[edge->near].cost;
    bool is_cpu = side->fabric->classes[side->reached[edge->far].class_id].kind == PART_CPU;
    cost.cpus += is_cpu;
    cost.latency_ps += side->fabric->rules[edge->rule].link->latency_ps;
    return cost;
}

// Edges come in the order of levels, so the cost of `near` is final when it is used.
static void find_costs(Side *side) {
    for (uint32_t i = 1; i < side->count; i++) side->reached[i].cost = (Cost){UINT32_MAX, TIME_MAX};
    for (uint32_t i = 0; i < side->edge_count; i++) {
        Cost cost = step_cost(side, &side->edges[i]);
        Reached *far = &side->reached[side->edges[i].far];
        if (is_less(cost, far->cost)) far->cost = cost;
    }
}

static Cost cost_through(const Side *a, uint32_t at_a, const Side *b, uint32_t at_b) {
    Cost cost = a->reached[at_a].cost;
    bool is_cpu =
        a->fabric->classes[a->reached[at_a].class_id].kind == PART_CPU; // counted on both sides
    cost.cpus += b->reached[at_b].cost.cpus - (is_cpu && at_a != 0 && at_b != 0);
    cost.latency_ps += b->reached[at_b].cost.latency_ps;
    return cost;
}

// Keeps what lies on cheapest paths to the kept vertices of the last level.
static void keep_edges(Side *side) {
    for (uint32_t i = side->edge_count; i-- > 0;) {
        Edge *edge = &side->edges[i];
        if (!side->reached[edge->far].is_kept) continue;
        Cost cost = step_cost(side, edge), best = side->reached[edge->far].cost;
        if (is_less(best, cost)) continue;
        edge->is_kept = true;
        side->reached[edge->near].is_kept = true;
    }
}

// Marks the common vertices through which a cheapest path goes; returns its cost.
static Cost keep_cheapest(Side *a, Side *b) {
    Cost best = {UINT32_MAX, TIME_MAX};
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < a->count; i++) {
            if (a->reached[i].level != a->level) continue;
            uint32_t k = find(b, a->reached[i].vertex);
            if (k == UINT32_MAX || b->reached[k].level != b->level) continue;
            Cost cost = cost_through(a, i, b, k);
            if (pass == 0 && is_less(cost, best)) best = cost;
            if (pass == 1 && !is_less(best, cost))
                a->reached[i].is_kept = b->reached[k].is_kept = true;
        }
    }
    keep_edges(a);
    keep_edges(b);
    return best;
}

// ---- Hashed links

static bool is_hashed(const Side *side, const Edge *edge) {
    return edge->is_kept && side->fabric->rules[edge->rule].link->policy == ROUTE_HASH;
}

static uint64_t hash_of(VertexId from, VertexId to, LinkId link) {
    return hash_spread(hash_u64(hash_u64(hash_u64(HASH_START, from), to), link));
}

// The part that an edge leaves and the one that it enters, in travel direction.
typedef enum Travel { TRAVEL_AWAY, TRAVEL_TOWARDS } Travel;
static Reached *tail_of(Side *side, const Edge *edge, Travel travel) {
    return &side->reached[travel == TRAVEL_AWAY ? edge->near : edge->far];
}

static Reached *head_of(Side *side, const Edge *edge, Travel travel) {
    return &side->reached[travel == TRAVEL_AWAY ? edge->far : edge->near];
}

static LinkId link_of(const Edge *edge, Travel travel) {
    return travel == TRAVEL_AWAY ? edge->link : edge->link ^ 1;
}

// Finds the link of the largest hash onward of each part. True when there was a choice.
static bool compare_hashed(Side *side, Travel travel, VertexId from, VertexId to) {
    bool forks = false;
    for (uint32_t i = 0; i < side->edge_count; i++) {
        if (!is_hashed(side, &side->edges[i])) continue;
        Reached *tail = tail_of(side, &side->edges[i], travel);
        LinkId link = link_of(&side->edges[i], travel);
        uint64_t hash = hash_of(from, to, link);
        if (tail->best != FABRIC_NONE) forks = true;
        bool is_larger = hash != tail->best_hash ? hash > tail->best_hash : link < tail->best;
        if (tail->best != FABRIC_NONE && !is_larger) continue;
        tail->best_hash = hash;
        tail->best = link;
    }
    return forks;
}

static void choose_edge(Side *side, Edge *edge, Travel travel) {
    bool is_taken = edge->is_kept && tail_of(side, edge, travel)->is_chosen;
    if (is_taken && is_hashed(side, edge))
        is_taken = link_of(edge, travel) == tail_of(side, edge, travel)->best;
    edge->is_kept = is_taken;
    if (is_taken) head_of(side, edge, travel)->is_chosen = true;
}

// Follows the transfer from its source, which is where side a starts, and drops what it does not
// take. Edges of a come in travel order, those of b in the opposite one. True when a hash chose.
static bool choose_hashed(Side *a, Side *b) {
    VertexId from = a->reached[0].vertex, to = b->reached[0].vertex;
    bool a_forks = compare_hashed(a, TRAVEL_AWAY, from, to);
    bool b_forks = compare_hashed(b, TRAVEL_TOWARDS, from, to);
    if (!a_forks && !b_forks) return false;
    a->reached[0].is_chosen = true;
    for (uint32_t i = 0; i < a->edge_count; i++) choose_edge(a, &a->edges[i], TRAVEL_AWAY);
    for (uint32_t i = 0; i < a->count; i++) {
        Reached *here = &a->reached[i];
        here->is_kept = here->is_kept && here->is_chosen;
        if (!here->is_kept || here->level != a->level) continue;
        b->reached[find(b, here->vertex)].is_chosen = true;
    }
    for (uint32_t i = b->edge_count; i-- > 0;) choose_edge(b, &b->edges[i], TRAVEL_TOWARDS);
    return true;
}

// ---- Shares

// What capacities are counted in: parts of 1 / unit of the largest, or, when they are in no simple
// ratio and the unit is 0, their greatest common divisor.
typedef struct Measure {
    uint64_t largest, unit, divisor;
} Measure;

static Measure measure_of(const Side *a, const Side *b) {
    Measure measure = {.unit = 1};
    for (int pass = 0; pass < 2; pass++) {
        for (const Side *side = a; side != NULL; side = side == a ? b : NULL) {
            for (uint32_t i = 0; i < side->edge_count; i++) {
                uint64_t left = side->edges[i].left_Bps;
                if (!side->edges[i].is_kept) continue;
                if (pass == 0 && left > measure.largest) measure.largest = left;
                if (pass == 0) measure.divisor = wide_gcd(measure.divisor, left);
                if (pass == 1)
                    measure.unit = fabric_weight_unit(measure.unit, left, measure.largest);
            }
        }
    }
    return measure;
}

// Paths from the side's end, over kept edges of at least this capacity. False above PATHS_MAX.
static bool count_paths(Side *side, uint64_t least) {
    for (uint32_t i = 0; i < side->count; i++) side->reached[i].paths = side->reached[i].beyond = 0;
    side->reached[0].paths = 1;
    for (uint32_t i = 0; i < side->edge_count; i++) {
        const Edge *edge = &side->edges[i];
        if (!edge->is_kept || edge->capacity < least) continue;
        Reached *far = &side->reached[edge->far];
        far->paths += side->reached[edge->near].paths;
        if (far->paths > PATHS_MAX) return false;
    }
    return true;
}

// Passes the counts of the other side through the common vertices; returns the number of whole
// paths, 0 above PATHS_MAX.
static uint64_t join_paths(Side *a, Side *b) {
    uint64_t total = 0;
    for (uint32_t i = 0; i < a->count; i++) {
        Reached *here = &a->reached[i];
        if (!here->is_kept || here->level != a->level) continue;
        Reached *there = &b->reached[find(b, here->vertex)];
        if (here->paths != 0 && there->paths > PATHS_MAX / here->paths) return 0;
        here->beyond = there->paths;
        there->beyond = here->paths;
        total += here->paths * there->paths;
        if (total > PATHS_MAX) return 0;
    }
    return total;
}

static void add_weights(Side *side, uint64_t least, uint64_t step) {
    for (uint32_t i = side->edge_count; i-- > 0;) {
        Edge *edge = &side->edges[i];
        if (!edge->is_kept || edge->capacity < least) continue;
        uint64_t beyond = side->reached[edge->far].beyond;
        side->reached[edge->near].beyond += beyond;
        edge->weight += step * side->reached[edge->near].paths * beyond;
    }
}

// The smallest capacity above `than` on either side, or 0.
static uint64_t next_capacity(const Side *a, const Side *b, uint64_t than) {
    uint64_t next = 0;
    for (const Side *side = a; side != NULL; side = side == a ? b : NULL) {
        for (uint32_t i = 0; i < side->edge_count; i++) {
            uint64_t capacity = side->edges[i].is_kept ? side->edges[i].capacity : 0;
            if (capacity > than && (next == 0 || capacity < next)) next = capacity;
        }
    }
    return next;
}

static void set_capacities(Side *side, const Measure *measure, uint32_t shift) {
    for (uint32_t i = 0; i < side->edge_count; i++) {
        uint64_t left = side->edges[i].left_Bps;
        if (!side->edges[i].is_kept) continue;
        uint64_t parts = measure->unit > 0
                             ? fabric_weight_parts(measure->unit, left, measure->largest)
                             : left / measure->divisor;
        side->edges[i].capacity = parts >> shift == 0 ? 1 : parts >> shift;
    }
}

// Sets the weight of every kept edge; returns their sum at each distance, 0 when there are too many
// paths. Capacities are taken as exact ratios unless their weights would pass 32 bits; then their
// lowest bits are dropped.
static uint64_t find_weights(Side *a, Side *b) {
    Measure measure = measure_of(a, b);
    uint64_t largest = 0, total = 0, low = 0;
    uint32_t shift = 0;
    set_capacities(a, &measure, 0);
    set_capacities(b, &measure, 0);
    for (uint64_t c = next_capacity(a, b, 0); c != 0; c = next_capacity(a, b, c)) largest = c;
    if (!count_paths(a, 0) || !count_paths(b, 0)) return 0;
    uint64_t paths = join_paths(a, b);
    if (paths == 0) return 0;
    while ((largest >> shift) > UINT32_MAX / paths) shift++;
    set_capacities(a, &measure, shift);
    set_capacities(b, &measure, shift);
    for (uint64_t c = next_capacity(a, b, 0); c != 0; low = c, c = next_capacity(a, b, c)) {
        count_paths(a, c);
        count_paths(b, c);
        total += (c - low) * join_paths(a, b);
        add_weights(a, c, c - low);
        add_weights(b, c, c - low);
    }
    return total;
}

static int compare_edges(const void *left, const void *right) {
    const Edge *a = left, *b = right;
    if (a->near != b->near) return a->near < b->near ? -1 : 1;
    return a->link < b->link ? -1 : a->link > b->link;
}

// Copies the kept edges of both sides in travel direction, with `near` as the distance from the
// source.
static uint32_t collect(const Side *a, const Side *b, Edge *out) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < a->edge_count; i++) {
        if (!a->edges[i].is_kept) continue;
        out[count] = a->edges[i];
        out[count++].near = a->reached[a->edges[i].near].level;
    }
    for (uint32_t i = 0; i < b->edge_count; i++) {
        if (!b->edges[i].is_kept) continue;
        out[count] = b->edges[i];
        out[count].link ^= 1;
        out[count++].near = a->level + b->level - 1 - b->reached[b->edges[i].near].level;
    }
    qsort(out, count, sizeof *out, compare_edges);
    return count;
}

static void write_route(const Side *a, const Edge *edges, uint32_t count, uint64_t total,
                        Route *out) {
    uint64_t divisor = total;
    for (uint32_t i = 0; i < count; i++) divisor = wide_gcd(divisor, edges[i].weight);
    out->edges = mem_grow(out->edges, &out->capacity, count, sizeof *out->edges);
    out->count = count;
    out->weight_total = (uint32_t)(total / divisor);
    out->bandwidth_Bps = UINT64_MAX;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t weight = (uint32_t)(edges[i].weight / divisor);
        const LinkRule *link = a->fabric->rules[edges[i].rule].link;
        uint64_t bandwidth = wide_mul_div(edges[i].left_Bps, out->weight_total, weight);
        out->edges[i] = (RouteEdge){edges[i].link, weight};
        if (bandwidth >= out->bandwidth_Bps) continue;
        out->bandwidth_Bps = bandwidth;
        out->narrowest = link->link_class;
    }
}

static bool too_many_paths(const Side *a, const Side *b, Err *err) {
    Text text = {0};
    fabric_vertex_name(a->fabric, a->reached[0].vertex, &text);
    text_add(&text, " to ");
    fabric_vertex_name(a->fabric, b->reached[0].vertex, &text);
    err_set(err,
            "%s: more than %llu shortest paths: give its links the policy hash, or dimension-order "
            "in a torus or mesh of GPUs",
            text_string(&text), (unsigned long long)PATHS_MAX);
    text_free(&text);
    return false;
}

static bool finish(Side *a, Side *b, Route *out, Err *err) {
    find_costs(a);
    find_costs(b);
    Cost cost = keep_cheapest(a, b);
    out->is_hashed = choose_hashed(a, b);
    uint64_t total = find_weights(a, b);
    if (total == 0) return too_many_paths(a, b, err);
    Edge *edges = mem_alloc((size_t)a->edge_count + b->edge_count, sizeof *edges);
    uint32_t count = collect(a, b, edges);
    write_route(a, edges, count, total, out);
    out->hops = a->level + b->level;
    out->latency_ps = cost.latency_ps;
    mem_free(edges);
    return true;
}

// "A cannot reach B", or, without a B, "A is down".
static bool refuse(const Fabric *fabric, VertexId from, VertexId to, Err *err) {
    Text text = {0};
    fabric_vertex_name(fabric, from, &text);
    text_add(&text, to == FABRIC_NONE ? " is down" : " cannot reach ");
    if (to != FABRIC_NONE) fabric_vertex_name(fabric, to, &text);
    err_set(err, "%s", text_string(&text));
    text_free(&text);
    return false;
}

bool fabric_route(const Fabric *fabric, VertexId from, VertexId to, Route *out, Err *err) {
    assert(from < fabric->vertex_count && to < fabric->vertex_count);
    if (from == to) {
        *out = (Route){.edges = out->edges,
                       .capacity = out->capacity,
                       .weight_total = 1,
                       .bandwidth_Bps = UINT64_MAX};
        return true;
    }
    if (fabric_is_dead(fabric, from)) return refuse(fabric, from, FABRIC_NONE, err);
    if (fabric_is_dead(fabric, to)) return refuse(fabric, to, FABRIC_NONE, err);
    if (fabric_axis_route(fabric, from, to, out)) return true;
    bool is_found = false, done = false;
    for (Tier tier = TIER_SCALE_UP; tier < TIER_COUNT && !is_found; tier++) {
        Side a, b;
        open_side(&a, fabric, tier, from, to);
        open_side(&b, fabric, tier, to, from);
        is_found = search(&a, &b);
        if (is_found) done = finish(&a, &b, out, err);
        close_side(&a);
        close_side(&b);
    }
    return is_found ? done : refuse(fabric, from, to, err);
}

bool fabric_route_healthy(const Fabric *fabric, VertexId from, VertexId to, Route *out, Err *err) {
    Fabric built = fabric_as_built(fabric);
    return fabric_route(&built, from, to, out, err);
}

void fabric_route_free(Route *route) {
    mem_free(route->edges);
    *route = (Route){0};
}
