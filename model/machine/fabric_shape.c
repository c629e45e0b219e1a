// Symmetry by rules, shape by a few routes.
//
// A level of the template tree is symmetric when permuting its parts, in every place at once, maps
// each link rule onto itself: rules that name all parts of the level or copy its letter do, and
// levels joined by a copied letter move together. Sets of some parts and computed indices break a
// level. A route is the same up to renaming for pairs that such permutations map onto each other,
// so one route for each case of (equal, different) per symmetric level, and one for each pair of
// numbers per broken level, covers all pairs.
//
// Invariant: shape.uniform is set only when the routes of all those cases depend on nothing but
// which digits differ, and their links follow the digits (fabric_follow.h).
#include "model/machine/fabric_shape.h"

#include <stdlib.h>
#include <string.h>

#include "model/base/hash.h"
#include "model/machine/fabric_follow.h"
#include "model/machine/fabric_rule.h"

#define CASES_MAX  1024                // routes that are tried before a machine counts as irregular
#define WORK_MAX   (UINT64_C(1) << 34) // of those routes, were each to look at every link
#define SCAN_LINKS (UINT32_C(1) << 26) // an irregular machine with more directed links is refused

// Levels of the template tree, joined where they move together.
typedef struct Levels {
    uint32_t *node_of; // class x FABRIC_DIGITS_MAX
    uint32_t *parent;
    bool *is_broken; // of roots
    uint32_t count;
} Levels;

static uint32_t common_levels(const TopologyPlace *a, const TopologyPlace *b) {
    uint32_t level = 0, depth = a->depth < b->depth ? a->depth : b->depth;
    while (level < depth && a->part[level] == b->part[level]) level++;
    return level;
}

static void number_levels(const Fabric *fabric, Levels *levels) {
    for (uint32_t i = 0; i < fabric->class_count; i++) {
        uint32_t shared = 0, with = 0;
        for (uint32_t k = 0; k < i; k++) {
            uint32_t common = common_levels(&fabric->classes[i].place, &fabric->classes[k].place);
            if (common <= shared) continue;
            shared = common;
            with = k;
        }
        for (uint32_t level = 0; level < fabric->classes[i].digit_count; level++) {
            uint32_t node = level < shared ? levels->node_of[with * FABRIC_DIGITS_MAX + level]
                                           : levels->count++;
            levels->node_of[i * FABRIC_DIGITS_MAX + level] = node;
            levels->parent[node] = node;
        }
    }
}

static uint32_t root_of(Levels *levels, uint32_t class_id, uint32_t level) {
    uint32_t node = levels->node_of[class_id * FABRIC_DIGITS_MAX + level];
    while (levels->parent[node] != node) {
        levels->parent[node] = levels->parent[levels->parent[node]];
        node = levels->parent[node];
    }
    return node;
}

static void join_levels(Levels *levels, const Fabric *fabric, const FabricRule *rule,
                        uint32_t from_level, uint32_t to_level) {
    uint32_t a = root_of(levels, rule->from_class, from_level),
             b = root_of(levels, rule->to_class, to_level);
    uint32_t a_size = fabric->classes[rule->from_class].shape[from_level];
    if (a == b) return;
    if (a_size != fabric->classes[rule->to_class].shape[to_level]) levels->is_broken[a] = true;
    levels->parent[b] = a;
    levels->is_broken[a] = levels->is_broken[a] || levels->is_broken[b];
}

static void read_rule(Levels *levels, const Fabric *fabric, const FabricRule *rule) {
    const VertexClass *from = &fabric->classes[rule->from_class],
                      *to = &fabric->classes[rule->to_class];
    for (uint32_t i = 0; i < rule->from_levels; i++) {
        if (rule->from[i].count != from->shape[i])
            levels->is_broken[root_of(levels, rule->from_class, i)] = true;
    }
    for (uint32_t i = 0; i < rule->to_levels; i++) {
        const FabricDigit *digit = &rule->to[i];
        if (digit->kind == FABRIC_COPY) join_levels(levels, fabric, rule, digit->copied, i);
        if (digit->kind == FABRIC_FREE && digit->set.count == to->shape[i]) continue;
        if (digit->kind == FABRIC_COPY) continue;
        levels->is_broken[root_of(levels, rule->to_class, i)] = true;
        for (uint32_t k = 0; k < digit->step_count; k++) {
            if (digit->steps[k].op != PATTERN_LETTER) continue;
            levels->is_broken[root_of(levels, rule->from_class, digit->steps[k].value)] = true;
        }
    }
}

static uint32_t symmetric_of(const Fabric *fabric, Levels *levels) {
    const VertexClass *gpus = &fabric->classes[0];
    uint32_t symmetric = 0;
    for (uint32_t i = 0; i < gpus->digit_count; i++) {
        bool is_alone = true;
        uint32_t root = root_of(levels, 0, i);
        for (uint32_t k = 0; k < gpus->digit_count; k++) {
            if (k != i && root_of(levels, 0, k) == root) is_alone = false;
        }
        if (gpus->shape[i] == 1 || (is_alone && !levels->is_broken[root]))
            symmetric |= UINT32_C(1) << i;
    }
    return symmetric;
}

uint32_t fabric_shape_symmetric(const Fabric *fabric) {
    Arena arena = {0};
    size_t most = (size_t)fabric->class_count * FABRIC_DIGITS_MAX;
    if (fabric->classes[0].count != fabric->gpu_count) return 0;
    Levels levels = {.node_of = arena_alloc(&arena, most, sizeof(uint32_t)),
                     .parent = arena_alloc(&arena, most, sizeof(uint32_t)),
                     .is_broken = arena_alloc(&arena, most, sizeof(bool))};
    number_levels(fabric, &levels);
    for (uint32_t i = 0; i < fabric->rule_count; i++) read_rule(&levels, fabric, &fabric->rules[i]);
    uint32_t symmetric = symmetric_of(fabric, &levels);
    arena_free(&arena);
    return symmetric;
}

// Digits of the GPUs that have more than one value, and what the routes of each subset of differing
// digits look like.
typedef struct Cases {
    uint32_t count;
    uint32_t level[FABRIC_DIGITS_MAX]; // of the GPU class; the outermost one of joined levels
    uint32_t size[FABRIC_DIGITS_MAX];
    bool is_symmetric[FABRIC_DIGITS_MAX];
    uint32_t symmetric;                  // levels
    Digest seen[1 << FABRIC_DIGITS_MAX]; // by the set of digits that differ; 0 when not seen
    bool is_scale_up[1 << FABRIC_DIGITS_MAX];
    uint32_t total; // pairs to try, at most CASES_MAX
} Cases;

static bool list_cases(const Fabric *fabric, Cases *cases) {
    const VertexClass *gpus = &fabric->classes[0];
    uint32_t symmetric = fabric_shape_symmetric(fabric);
    uint64_t total = 1;
    cases->symmetric = symmetric;
    for (uint32_t i = 0; i < gpus->digit_count; i++) {
        if (gpus->shape[i] == 1) continue;
        uint32_t k = cases->count++;
        cases->level[k] = i;
        cases->size[k] = gpus->shape[i];
        cases->is_symmetric[k] = (symmetric >> i & 1) != 0;
        total *= cases->is_symmetric[k] ? 2 : (uint64_t)gpus->shape[i] * gpus->shape[i];
        if (total > CASES_MAX || total * fabric->link_count > WORK_MAX) return false;
    }
    cases->total = (uint32_t)total;
    return true;
}

// The pair of GPUs of a case, and the set of digits in which they differ.
static uint32_t pair_of_case(const Fabric *fabric, const Cases *cases, uint32_t number,
                             VertexId *from, VertexId *to) {
    uint32_t a[FABRIC_DIGITS_MAX] = {0}, b[FABRIC_DIGITS_MAX] = {0}, differ = 0;
    for (uint32_t k = 0; k < cases->count; k++) {
        uint32_t size = cases->size[k], options = cases->is_symmetric[k] ? 2 : size * size;
        uint32_t option = number % options, level = cases->level[k];
        number /= options;
        a[level] = cases->is_symmetric[k] ? 0 : option / size;
        b[level] = cases->is_symmetric[k] ? option : option % size;
        if (a[level] != b[level]) differ |= UINT32_C(1) << k;
    }
    *from = fabric_rule_vertex(&fabric->classes[0], a);
    *to = fabric_rule_vertex(&fabric->classes[0], b);
    return differ;
}

// Everything about a route that does not depend on the names of vertices and links.
static Digest route_digest(const Fabric *fabric, const Route *route, bool *is_scale_up) {
    Digest *edges = mem_alloc(route->count, sizeof *edges);
    uint64_t sum = 0, distance = 0;
    *is_scale_up = true;
    for (uint32_t i = 0; i < route->count; i++) {
        FabricLink link = fabric_link(fabric, route->edges[i].link);
        Digest edge = hash_u64(hash_u64(HASH_START, distance), link.capacity_Bps);
        edge = hash_u64(edge, (uint64_t)(fabric_class(fabric, link.from) - fabric->classes));
        edge = hash_u64(edge, (uint64_t)(fabric_class(fabric, link.to) - fabric->classes));
        edge = hash_u64(hash_u64(edge, link.link_class), (uint64_t)link.latency_ps);
        edges[i] = hash_u64(edge, route->edges[i].weight);
        if (!topology_class_is_scale_up(link.link_class)) *is_scale_up = false;
        sum += route->edges[i].weight;
        distance = sum / route->weight_total;
    }
    qsort(edges, route->count, sizeof *edges, hash_compare);
    Digest digest = hash_u64(hash_u64(HASH_START, route->hops), (uint64_t)route->latency_ps);
    for (uint32_t i = 0; i < route->count; i++) digest = hash_u64(digest, edges[i]);
    mem_free(edges);
    return digest == 0 ? 1 : digest;
}

typedef enum Finding {
    FOUND_UNIFORM,
    FOUND_IRREGULAR,
    FOUND_BROKEN
} Finding; // broken: a GPU cannot be reached

static Finding try_cases(const Fabric *fabric, Cases *cases, Err *err) {
    Route route = {0};
    Finding finding = FOUND_UNIFORM;
    for (uint32_t i = 1; finding == FOUND_UNIFORM && i < cases->total; i++) {
        VertexId from, to;
        bool is_scale_up;
        uint32_t differ = pair_of_case(fabric, cases, i, &from, &to);
        if (differ == 0) continue;
        if (!fabric_route(fabric, from, to, &route, err)) {
            finding = FOUND_BROKEN;
            break;
        }
        Digest digest = route_digest(fabric, &route, &is_scale_up);
        if (cases->seen[differ] != 0 && cases->seen[differ] != digest) finding = FOUND_IRREGULAR;
        if (route.is_hashed) finding = FOUND_IRREGULAR; // the path of another pair is another
        cases->seen[differ] = digest;
        cases->is_scale_up[differ] = is_scale_up;
    }
    fabric_route_free(&route);
    return finding;
}

// GPUs whose route from a given one stays on scale-up links, and that one.
static uint32_t domain_of(const Cases *cases) {
    uint32_t total = 1;
    for (uint32_t differ = 1; differ < UINT32_C(1) << cases->count; differ++) {
        uint32_t product = 1;
        if (!cases->is_scale_up[differ]) continue;
        for (uint32_t k = 0; k < cases->count; k++) {
            if ((differ >> k & 1) != 0) product *= cases->size[k] - 1;
        }
        total += product;
    }
    return total;
}

// The set that results from `set` when digit k + 1 is joined to digit k and the later ones move
// down.
static uint32_t spread(uint32_t joined, uint32_t k, uint32_t low_bits) {
    uint32_t below = joined & ((UINT32_C(1) << k) - 1), above = joined >> (k + 1);
    return below | low_bits << k | above << (k + 2);
}

static bool can_join(const Cases *cases, uint32_t k) {
    for (uint32_t rest = 0; rest < UINT32_C(1) << (cases->count - 1); rest++) {
        if ((rest >> k & 1) == 0) continue;
        Digest digest = cases->seen[spread(rest, k, 1)];
        if (digest != cases->seen[spread(rest, k, 2)] || digest != cases->seen[spread(rest, k, 3)])
            return false;
    }
    return true;
}

static void join_digits(Cases *cases, uint32_t k) {
    Digest joined[1 << FABRIC_DIGITS_MAX] = {0};
    for (uint32_t rest = 0; rest < UINT32_C(1) << (cases->count - 1); rest++) {
        joined[rest] = cases->seen[spread(rest, k, (rest >> k & 1) == 0 ? 0 : 1)];
    }
    memcpy(cases->seen, joined, sizeof joined);
    cases->size[k] *= cases->size[k + 1];
    cases->count--;
    for (uint32_t i = k + 1; i < cases->count; i++) {
        cases->size[i] = cases->size[i + 1];
        cases->level[i] = cases->level[i + 1];
    }
}

// Links follow the digits when digit k and k + 1 are one (FABRIC_NONE: as they are).
static bool links_follow(const Fabric *fabric, const Cases *cases, uint32_t k) {
    FabricDigits digits = {.symmetric = cases->symmetric};
    for (uint32_t i = 0; i < cases->count; i++) {
        uint32_t next = i + 1 < cases->count ? cases->level[i + 1] : fabric->classes[0].digit_count;
        if (k == FABRIC_NONE || i != k + 1) digits.first[digits.count++] = cases->level[i];
        digits.last[digits.count - 1] = next - 1;
    }
    return fabric_follow_holds(fabric, &digits);
}

static void set_shape(Fabric *fabric, Cases *cases) {
    for (uint32_t k = 0; k + 1 < cases->count;) {
        if (can_join(cases, k) && links_follow(fabric, cases, k)) {
            join_digits(cases, k);
            k = 0;
        } else {
            k++;
        }
    }
    fabric->shape = (FabricShape){.uniform = true, .digit_count = cases->count};
    memcpy(fabric->shape.size, cases->size, sizeof fabric->shape.size);
    if (cases->count == 0)
        fabric->shape = (FabricShape){.uniform = true, .digit_count = 1, .size = {1}};
}

static void set_irregular(Fabric *fabric) {
    const VertexClass *gpus = &fabric->classes[0];
    fabric->shape = (FabricShape){.digit_count = 1, .size = {fabric->gpu_count}};
    if (gpus->count != fabric->gpu_count) return;
    fabric->shape.digit_count = gpus->digit_count;
    memcpy(fabric->shape.size, gpus->shape, sizeof gpus->shape);
}

// Marks all vertices that can be reached from `start` by links that count, and returns how many of
// them are GPUs. `queue` has room for all vertices.
typedef enum Links { LINKS_ALL, LINKS_SCALE_UP } Links;
static uint32_t mark_from(const Fabric *fabric, VertexId start, Links which, unsigned char *marks,
                          VertexId *queue) {
    uint32_t count = 1, gpus = 0;
    queue[0] = start;
    marks[start] = 1;
    for (uint32_t next = 0; next < count; next++) {
        uint32_t class_id = (uint32_t)(fabric_class(fabric, queue[next]) - fabric->classes);
        gpus += queue[next] < fabric->gpu_count;
        for (uint32_t i = fabric->adjacent_start[class_id];
             i < fabric->adjacent_start[class_id + 1]; i++) {
            const FabricRule *rule = &fabric->rules[fabric->adjacent[i].rule];
            FabricWalk walk;
            VertexId partner;
            LinkId link;
            if (which == LINKS_SCALE_UP && !topology_class_is_scale_up(rule->link->link_class))
                continue;
            fabric_rule_walk(fabric, rule, (FabricSide)fabric->adjacent[i].side, queue[next],
                             &walk);
            while (fabric_rule_next(&walk, &partner, &link)) {
                if (marks[partner] != 0) continue;
                marks[partner] = 1;
                queue[count++] = partner;
            }
        }
    }
    return gpus;
}

static bool unreached(const Fabric *fabric, const unsigned char *marks, Err *err) {
    Route route = {0};
    VertexId gpu = 0;
    while (marks[gpu] != 0) gpu++;
    bool done = fabric_route(fabric, 0, gpu, &route, err); // for its message
    fabric_route_free(&route);
    return done;
}

// Without symmetry: all links are followed once, with memory for all vertices that is given back.
static bool scan(Fabric *fabric, Err *err) {
    if (fabric->link_count > SCAN_LINKS) {
        return err_set(err, "too large for an irregular machine: %u links between %u parts",
                       fabric->link_count / 2, fabric->vertex_count);
    }
    unsigned char *marks = mem_alloc(fabric->vertex_count, 1);
    VertexId *queue = mem_alloc(fabric->vertex_count, sizeof *queue);
    uint32_t reached = mark_from(fabric, 0, LINKS_ALL, marks, queue), smallest = UINT32_MAX;
    bool is_whole = reached == fabric->gpu_count || unreached(fabric, marks, err);
    memset(marks, 0, fabric->vertex_count);
    for (VertexId gpu = 0; is_whole && gpu < fabric->gpu_count; gpu++) {
        if (marks[gpu] != 0) continue;
        uint32_t size = mark_from(fabric, gpu, LINKS_SCALE_UP, marks, queue);
        if (size < smallest) smallest = size;
    }
    mem_free(marks);
    mem_free(queue);
    fabric->domain_size = smallest;
    return is_whole;
}

bool fabric_shape_find(Fabric *fabric, Err *err) {
    Cases cases = {0};
    Finding finding = FOUND_IRREGULAR;
    bool is_one_class = fabric->classes[0].count == fabric->gpu_count;
    if (is_one_class && list_cases(fabric, &cases)) finding = try_cases(fabric, &cases, err);
    if (finding == FOUND_UNIFORM && !links_follow(fabric, &cases, FABRIC_NONE))
        finding = FOUND_IRREGULAR;
    switch (finding) {
    case FOUND_UNIFORM:
        fabric->domain_size = domain_of(&cases);
        set_shape(fabric, &cases);
        return true;
    case FOUND_IRREGULAR:
        set_irregular(fabric);
        if (scan(fabric, err)) return true;
        break;
    case FOUND_BROKEN: break;
    }
    return err_prefix(err, "%s", fabric->topology->origin);
}

// True when one side of one rule names every vertex of the class.
static bool is_covered(const Fabric *fabric, uint32_t class_id, const FabricAdjacent *adjacent) {
    const FabricRule *rule = &fabric->rules[adjacent->rule];
    const VertexClass *class = &fabric->classes[class_id];
    if (adjacent->side != FABRIC_TO) return rule->from_count == class->count;
    uint32_t copied = 0;
    for (uint32_t i = 0; i < rule->to_levels; i++) {
        const FabricDigit *digit = &rule->to[i];
        if (digit->kind == FABRIC_COMPUTED) return false;
        if (digit->kind == FABRIC_FREE && digit->set.count != class->shape[i]) return false;
        if (digit->kind == FABRIC_FREE) continue;
        if (rule->from[digit->copied].count != class->shape[i] ||
            (copied >> digit->copied & 1) != 0)
            return false;
        copied |= UINT32_C(1) << digit->copied;
    }
    return true;
}

bool fabric_shape_is_linked(const Fabric *fabric, uint32_t class_id, Err *err) {
    const VertexClass *class = &fabric->classes[class_id];
    for (uint32_t i = fabric->adjacent_start[class_id]; i < fabric->adjacent_start[class_id + 1];
         i++) {
        if (is_covered(fabric, class_id, &fabric->adjacent[i])) return true;
    }
    for (VertexId vertex = class->first; vertex < class->first + class->count; vertex++) {
        uint64_t cursor = 0;
        LinkId link;
        if (fabric_next_link(fabric, vertex, &cursor, &link)) continue;
        Text text = {0};
        fabric_vertex_name(fabric, vertex, &text);
        err_set(err, "%s has no link", text_string(&text));
        text_free(&text);
        return false;
    }
    return true;
}
