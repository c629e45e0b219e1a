// Counts, and the cut between two halves of the GPUs as a maximum flow.
//
// Small machines are cut exactly. In large ones all vertices of a class on one side count as one,
// which can only widen the cut: an upper bound, exact when the members of a class are alike.
// Method: E. A. Dinic, Soviet Math. Doklady 11 (1970).
//
// Invariant: sums saturate instead of wrapping; only what is printed depends on them.
#include "model/machine/fabric_summary.h"

#include <string.h>

#include "model/base/wide.h"
#include "model/machine/fabric_axis.h"
#include "model/machine/fabric_rule.h"
#include "model/machine/fabric_shape.h"

#define EXACT_VERTICES 8192                // above, classes are cut as a whole
#define CUT_LINKS_MAX  (UINT32_C(1) << 25) // directed; above, no cut is computed
#define PAIRS_MAX      16384               // routes of an irregular machine
#define WORK_MAX       (UINT64_C(1) << 32) // of those routes, were each to look at every link

static void count_parts(const Fabric *fabric, FabricSummary *summary) {
    for (uint32_t i = 0; i < fabric->class_count; i++) {
        const VertexClass *class = &fabric->classes[i];
        summary->count[class->kind] += class->count;
        summary->memory_B[class->kind] = wide_add_saturate(
            summary->memory_B[class->kind], wide_mul_saturate(class->memory_B, class->count));
    }
    for (uint32_t i = 0; i < fabric->rule_count; i++) {
        const FabricRule *rule = &fabric->rules[i];
        summary->cables[rule->link->link_class] += rule->instances * rule->link->cables;
    }
}

void fabric_summary_links(const Fabric *fabric, VertexId gpu, uint64_t sums[LINK_CLASS_COUNT]) {
    uint64_t cursor = 0;
    LinkId id;
    memset(sums, 0, LINK_CLASS_COUNT * sizeof *sums);
    while (fabric_next_link(fabric, gpu, &cursor, &id)) {
        FabricLink link = fabric_link(fabric, id);
        sums[link.link_class] = wide_add_saturate(sums[link.link_class], link.capacity_Bps);
    }
}

// GPUs that stand for all others: one value of every symmetric level, all values of the rest. With
// faults no level is symmetric, and all live GPUs stand for themselves.
static uint32_t stand_ins(const Fabric *fabric, uint32_t symmetric, uint32_t number,
                          VertexId *out) {
    const VertexClass *gpus = &fabric->classes[0];
    uint32_t digits[FABRIC_DIGITS_MAX] = {0}, total = 1;
    if (gpus->count != fabric->gpu_count || fabric_has_faults(fabric)) {
        *out = fabric_gpu(fabric, fabric_live_gpu(fabric, number));
        return fabric_live_gpu_count(fabric);
    }
    for (uint32_t i = 0; i < gpus->digit_count; i++) {
        if ((symmetric >> i & 1) != 0) continue;
        digits[i] = number % gpus->shape[i];
        number /= gpus->shape[i];
        total *= gpus->shape[i];
    }
    *out = fabric_rule_vertex(gpus, digits);
    return total;
}

static void measure_gpus(const Fabric *fabric, FabricSummary *summary) {
    uint32_t symmetric = fabric_shape_symmetric(fabric);
    VertexId gpu;
    uint32_t total = stand_ins(fabric, symmetric, 0, &gpu);
    for (uint32_t i = 0; i < total; i++) {
        uint64_t sums[LINK_CLASS_COUNT];
        stand_ins(fabric, symmetric, i, &gpu);
        fabric_summary_links(fabric, gpu, sums);
        for (uint32_t k = 0; k < LINK_CLASS_COUNT; k++) {
            Range *range = &summary->gpu_Bps[k];
            if (i == 0 || sums[k] < range->low) range->low = sums[k];
            if (sums[k] > range->high) range->high = sums[k];
        }
    }
}

// Of all its links in one direction.
static uint64_t capacity_of_rule(const Fabric *fabric, const FabricRule *rule) {
    uint64_t sum = 0;
    if (!fabric_has_faults(fabric))
        return wide_mul_saturate(rule->instances, rule->link->bandwidth_Bps * rule->link->cables);
    for (uint64_t i = 0; i < rule->instances; i++) {
        FabricLink link = fabric_link(fabric, rule->first + (LinkId)(2 * i));
        sum = wide_add_saturate(sum, link.capacity_Bps);
    }
    return sum;
}

// What leaves the NICs, by class, over the number of GPUs; GPUs with such links of their own keep
// theirs.
static void share_nics(const Fabric *fabric, FabricSummary *summary) {
    uint64_t sums[LINK_CLASS_COUNT] = {0};
    for (uint32_t i = 0; i < fabric->rule_count; i++) {
        const FabricRule *rule = &fabric->rules[i];
        bool from = fabric->classes[rule->from_class].kind == PART_NIC,
             to = fabric->classes[rule->to_class].kind == PART_NIC;
        if (!from && !to) continue;
        uint64_t capacity = capacity_of_rule(fabric, rule);
        uint64_t *sum = &sums[rule->link->link_class];
        *sum = wide_add_saturate(*sum, wide_mul_saturate(capacity, (uint64_t)from + to));
    }
    for (uint32_t k = 0; k < LINK_CLASS_COUNT; k++) {
        if (!topology_class_is_network((LinkClass)k)) continue;
        uint64_t share = sums[k] / fabric_live_gpu_count(fabric);
        if (summary->gpu_Bps[k].high == 0) summary->gpu_Bps[k] = (Range){share, share};
    }
}

// ---- The cut

typedef struct Arc {
    uint32_t to, next; // next arc of the same node, FABRIC_NONE at the end; arc k and k ^ 1 are the
                       // two directions
    uint64_t room;
    uint64_t capacity;
    LinkClass link_class;
} Arc;

typedef struct Graph {
    Arc *arcs;
    uint32_t arc_count, arc_capacity;
    uint32_t node_count;
    uint32_t *first; // arc of a node
    uint32_t *level, *open, *path;
    uint32_t source, sink;
} Graph;

static void add_arcs(Graph *graph, uint32_t a, uint32_t b, uint64_t capacity,
                     LinkClass link_class) {
    graph->arcs =
        mem_grow(graph->arcs, &graph->arc_capacity, graph->arc_count + 2, sizeof *graph->arcs);
    graph->arcs[graph->arc_count] = (Arc){b, graph->first[a], capacity, capacity, link_class};
    graph->first[a] = graph->arc_count++;
    graph->arcs[graph->arc_count] = (Arc){a, graph->first[b], capacity, capacity, link_class};
    graph->first[b] = graph->arc_count++;
}

// Levels by distance from the source over arcs with room; true when the sink is reached.
static bool find_levels(Graph *graph) {
    uint32_t count = 1;
    uint32_t *queue = graph->path;
    for (uint32_t i = 0; i < graph->node_count; i++) graph->level[i] = FABRIC_NONE;
    queue[0] = graph->source;
    graph->level[graph->source] = 0;
    for (uint32_t next = 0; next < count; next++) {
        for (uint32_t k = graph->first[queue[next]]; k != FABRIC_NONE; k = graph->arcs[k].next) {
            const Arc *arc = &graph->arcs[k];
            if (arc->room == 0 || graph->level[arc->to] != FABRIC_NONE) continue;
            graph->level[arc->to] = graph->level[queue[next]] + 1;
            queue[count++] = arc->to;
        }
    }
    return graph->level[graph->sink] != FABRIC_NONE;
}

// Sends as much as fits along the path of `length` arcs.
static uint64_t send(Graph *graph, uint32_t length) {
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < length; i++) {
        if (graph->arcs[graph->path[i]].room < least) least = graph->arcs[graph->path[i]].room;
    }
    for (uint32_t i = 0; i < length; i++) {
        graph->arcs[graph->path[i]].room -= least;
        graph->arcs[graph->path[i] ^ 1].room =
            wide_add_saturate(graph->arcs[graph->path[i] ^ 1].room, least);
    }
    return least;
}

// Fills the levels: walks forward along arcs with room, steps back and closes an arc where there is
// none.
static uint64_t fill_levels(Graph *graph) {
    uint64_t total = 0;
    uint32_t length = 0, node = graph->source;
    memcpy(graph->open, graph->first, graph->node_count * sizeof *graph->open);
    for (;;) {
        if (node == graph->sink) {
            total = wide_add_saturate(total, send(graph, length));
            length = 0;
            node = graph->source;
        }
        uint32_t *open = &graph->open[node];
        while (*open != FABRIC_NONE &&
               (graph->arcs[*open].room == 0 ||
                graph->level[graph->arcs[*open].to] != graph->level[node] + 1)) {
            *open = graph->arcs[*open].next;
        }
        if (*open != FABRIC_NONE) {
            graph->path[length++] = *open;
            node = graph->arcs[*open].to;
        } else if (length == 0) {
            return total;
        } else {
            node = graph->arcs[graph->path[--length] ^ 1].to;
            graph->open[node] = graph->arcs[graph->open[node]].next;
        }
    }
}

// Where GPUs are halved: by a level of their class, or by index when `level` is FABRIC_NONE.
typedef struct Halves {
    uint32_t level, at;
} Halves;

static Halves find_halves(const Fabric *fabric) {
    const VertexClass *gpus = &fabric->classes[0];
    if (gpus->count == fabric->gpu_count) {
        for (uint32_t i = 0; i < gpus->digit_count; i++) {
            if (gpus->shape[i] % 2 == 0) return (Halves){i, gpus->shape[i] / 2};
        }
    }
    return (Halves){FABRIC_NONE, fabric->gpu_count / 2};
}

// 0 or 1 for vertices inside the halved level and for GPUs, 2 for all others.
static uint32_t half_of(const Fabric *fabric, const Halves *halves, VertexId vertex) {
    const VertexClass *class = fabric_class(fabric, vertex), *gpus = &fabric->classes[0];
    uint32_t digits[FABRIC_DIGITS_MAX];
    if (halves->level == FABRIC_NONE) return vertex >= fabric->gpu_count ? 2 : vertex >= halves->at;
    if (class->digit_count <= halves->level) return 2;
    for (uint32_t i = 0; i <= halves->level; i++) {
        if (class->place.part[i] != gpus->place.part[i]) return 2;
    }
    fabric_rule_digits(class, vertex, digits);
    return digits[halves->level] >= halves->at;
}

static uint32_t node_of(const Fabric *fabric, const Halves *halves, VertexId vertex) {
    uint32_t half = half_of(fabric, halves, vertex);
    if (vertex < fabric->gpu_count) return half;
    if (fabric->vertex_count <= EXACT_VERTICES) return 2 + vertex - fabric->gpu_count;
    return 2 + 3 * (uint32_t)(fabric_class(fabric, vertex) - fabric->classes) + half;
}

static void fill_graph(const Fabric *fabric, const Halves *halves, Graph *graph) {
    for (uint32_t i = 0; i < graph->node_count; i++) graph->first[i] = FABRIC_NONE;
    for (LinkId id = 0; id < fabric->link_count; id += 2) {
        FabricLink link = fabric_link(fabric, id);
        uint32_t a = node_of(fabric, halves, link.from), b = node_of(fabric, halves, link.to);
        if (a == b) continue;
        uint32_t last = graph->arc_count;
        bool repeats = last > 0 && graph->arcs[last - 2].to == b && graph->arcs[last - 1].to == a &&
                       graph->arcs[last - 1].link_class == link.link_class;
        if (!repeats) {
            add_arcs(graph, a, b, link.capacity_Bps, link.link_class);
            continue;
        }
        for (uint32_t k = last - 2; k < last; k++) {
            graph->arcs[k].room = graph->arcs[k].capacity =
                wide_add_saturate(graph->arcs[k].capacity, link.capacity_Bps);
        }
    }
}

static void cut(const Fabric *fabric, FabricSummary *summary) {
    Arena arena = {0};
    Halves halves = find_halves(fabric);
    uint32_t nodes = fabric->vertex_count <= EXACT_VERTICES ? fabric->vertex_count + 2
                                                            : 2 + 3 * fabric->class_count;
    Graph graph = {.node_count = nodes, .source = 0, .sink = 1};
    graph.first = arena_alloc(&arena, nodes, sizeof(uint32_t));
    graph.level = arena_alloc(&arena, nodes, sizeof(uint32_t));
    graph.open = arena_alloc(&arena, nodes, sizeof(uint32_t));
    graph.path = arena_alloc(&arena, nodes, sizeof(uint32_t));
    fill_graph(fabric, &halves, &graph);
    while (find_levels(&graph))
        summary->bisection_Bps = wide_add_saturate(summary->bisection_Bps, fill_levels(&graph));
    for (uint32_t i = 0; i < graph.arc_count; i++) {
        const Arc *arc = &graph.arcs[i], *back = &graph.arcs[i ^ 1];
        if (graph.level[back->to] == FABRIC_NONE || graph.level[arc->to] != FABRIC_NONE) continue;
        uint64_t *sum = &summary->bisection_by_class[arc->link_class];
        *sum = wide_add_saturate(*sum, arc->capacity);
    }
    summary->has_bisection = true;
    mem_free(graph.arcs);
    arena_free(&arena);
}

// ---- The diameter

static bool measure_route(const Fabric *fabric, VertexId from, VertexId to, Route *route,
                          FabricSummary *summary, Err *err) {
    if (!fabric_route(fabric, from, to, route, err)) return false;
    if (route->hops > summary->diameter_hops) summary->diameter_hops = route->hops;
    if (route->latency_ps > summary->diameter_ps) summary->diameter_ps = route->latency_ps;
    return true;
}

// One pair for each set of digits that differ.
static bool measure_uniform(const Fabric *fabric, Route *route, FabricSummary *summary, Err *err) {
    const FabricShape *shape = &fabric->shape;
    for (uint32_t differ = 1; differ < UINT32_C(1) << shape->digit_count; differ++) {
        uint32_t to = 0;
        bool exists = true;
        for (uint32_t i = 0; i < shape->digit_count; i++) {
            bool differs = (differ >> i & 1) != 0;
            if (differs && shape->size[i] == 1) exists = false;
            to = to * shape->size[i] + differs;
        }
        if (exists && !measure_route(fabric, 0, to, route, summary, err)) return false;
    }
    summary->has_diameter = true;
    return true;
}

// A route follows one ring after the other, so none is longer than half way around each of them.
static bool measure_torus(const Fabric *fabric, Route *route, FabricSummary *summary, Err *err) {
    const VertexClass *gpus = &fabric->classes[0];
    uint32_t digits[FABRIC_DIGITS_MAX];
    for (uint32_t level = 0; level < gpus->digit_count; level++)
        digits[level] = gpus->shape[level] / 2;
    summary->has_diameter = true;
    return measure_route(fabric, gpus->first, fabric_rule_vertex(gpus, digits), route, summary,
                         err);
}

static bool measure_pairs(const Fabric *fabric, Route *route, FabricSummary *summary, Err *err) {
    uint32_t symmetric = fabric_shape_symmetric(fabric);
    VertexId from;
    uint32_t total = stand_ins(fabric, symmetric, 0, &from);
    uint64_t pairs = (uint64_t)total * fabric->gpu_count;
    if (pairs > PAIRS_MAX || pairs * fabric->link_count > WORK_MAX) return true;
    for (uint32_t i = 0; i < total; i++) {
        stand_ins(fabric, symmetric, i, &from);
        for (uint32_t k = 0; k < fabric_live_gpu_count(fabric); k++) {
            VertexId to = fabric_gpu(fabric, fabric_live_gpu(fabric, k));
            if (to != from && !measure_route(fabric, from, to, route, summary, err)) return false;
        }
    }
    summary->has_diameter = true;
    return true;
}

bool fabric_summary_make(const Fabric *fabric, FabricSummary *out, Err *err) {
    FabricSummary summary = {0};
    Route route = {0};
    count_parts(fabric, &summary);
    measure_gpus(fabric, &summary);
    share_nics(fabric, &summary);
    if (fabric->gpu_count > 1 && fabric->link_count <= CUT_LINKS_MAX) cut(fabric, &summary);
    bool done;
    if (fabric->shape.uniform && !fabric_has_faults(fabric))
        done = measure_uniform(fabric, &route, &summary, err);
    else if (fabric_axis_is_torus(fabric))
        done = measure_torus(fabric, &route, &summary, err);
    else
        done = measure_pairs(fabric, &route, &summary, err);
    fabric_route_free(&route);
    if (done) *out = summary;
    return done;
}
