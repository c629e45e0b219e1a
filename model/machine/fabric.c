// Compiles a topology: vertex classes from the places of its parts, rules from its links, and
// answers about single vertices and links by arithmetic on digits.
//
// Invariant: classes cover 0 .. vertex_count - 1 and rules cover 0 .. link_count - 1 without holes;
// memory is proportional to the size of the description, never to the number of GPUs.
#include "model/machine/fabric.h"

#include <assert.h>
#include <string.h>

#include "model/machine/fabric_axis.h"
#include "model/machine/fabric_fault.h"
#include "model/machine/fabric_rule.h"
#include "model/machine/fabric_shape.h"
#include "model/machine/topology_link.h"

#define RULES_MAX    4096 // link rules times the places of their templates
#define VERTICES_MAX (UINT32_C(1) << 24)

static const char *class_name(const Topology *topology, const TopologyPlace *place, Arena *arena) {
    Text text = {0};
    for (uint32_t level = 0; level < place->depth; level++) {
        text_addf(&text, "%s%s", level == 0 ? "" : ".",
                  topology_place_part(topology, place, level)->name);
    }
    const char *name = arena_string(arena, text_string(&text));
    text_free(&text);
    return name;
}

static bool find_device(const Fabric *fabric, const DeviceCatalogue *catalogue,
                        const TopologyPlace *place, VertexClass *out, Err *err) {
    const Topology *topology = fabric->topology;
    const Part *part = topology_place_part(topology, place, place->depth - 1);
    const char *in = topology->templates[place->template_id[place->depth - 1]].name;
    const char *kind = topology_kind_names[part->kind];
    if (part->device[0] == '\0') return true;
    out->device = device_find(catalogue, part->device);
    if (out->device != NULL && strcmp(out->device->kind, kind) == 0) return true;
    if (out->device == NULL)
        device_unknown(catalogue, part->device, err);
    else
        err_set(err, "\"%s\" is a %s, expected a %s", part->device, out->device->kind, kind);
    if (part->place[0] != '\0') return err_prefix(err, "%s", part->place);
    return err_prefix(err, "%s: templates.%s.parts.%s.device", topology->origin, in, part->name);
}

static bool add_class(Fabric *fabric, const DeviceCatalogue *catalogue, const TopologyPlace *place,
                      Err *err) {
    const Topology *topology = fabric->topology;
    const Part *part = topology_place_part(topology, place, place->depth - 1);
    VertexClass *class = &fabric->classes[fabric->class_count];
    *class = (VertexClass){
        .place = *place, .kind = part->kind, .first = fabric->vertex_count, .count = 1};
    if (!find_device(fabric, catalogue, place, class, err)) return false;
    class->name = class_name(topology, place, &fabric->arena);
    class->memory_B = part->memory_B;
    if (class->kind == PART_GPU && class->memory_B == 0 && class->device != NULL) {
        class->memory_B = device_low(class->device->memory_B);
    }
    class->digit_count = place->depth;
    for (uint32_t level = 0; level < place->depth; level++) {
        class->shape[level] = topology_place_part(topology, place, level)->count;
        class->count *= class->shape[level];
    }
    if (class->count > VERTICES_MAX - fabric->vertex_count) {
        return err_set(err, "%s: more than %u parts in the machine", topology->origin,
                       VERTICES_MAX);
    }
    fabric->vertex_count += class->count;
    fabric->class_count++;
    if (class->kind == PART_GPU) fabric->gpu_count += class->count;
    return true;
}

static bool add_classes(Fabric *fabric, const DeviceCatalogue *catalogue, Err *err) {
    TopologyPlace *places;
    uint32_t count;
    if (!topology_place_list(fabric->topology, &fabric->arena, &places, &count, err)) {
        return err_prefix(err, "%s", fabric->topology->origin);
    }
    fabric->classes = arena_alloc(&fabric->arena, count, sizeof *fabric->classes);
    for (int wants_gpu = 1; wants_gpu >= 0; wants_gpu--) {
        for (uint32_t i = 0; i < count; i++) {
            PartKind kind =
                topology_place_part(fabric->topology, &places[i], places[i].depth - 1)->kind;
            if ((kind == PART_GPU) != (wants_gpu == 1)) continue;
            if (!add_class(fabric, catalogue, &places[i], err)) return false;
        }
    }
    return true;
}

// The class that an end of a rule names at the place that the class `seen` has in its first `base`
// levels.
static uint32_t class_of(const Fabric *fabric, const TopologyPlace *seen, uint32_t base,
                         const TopologyEnd *end) {
    uint32_t depth = base + end->pattern.count;
    for (uint32_t i = 0; i < fabric->class_count; i++) {
        const TopologyPlace *place = &fabric->classes[i].place;
        if (place->depth == depth &&
            memcmp(place->part, seen->part, base * sizeof place->part[0]) == 0 &&
            memcmp(place->part + base, end->part, end->pattern.count * sizeof place->part[0]) ==
                0) {
            return i;
        }
    }
    return UINT32_MAX;
}

typedef struct RuleList {
    FabricRule *items;
    uint32_t count, capacity;
} RuleList;

static bool add_rule(Fabric *fabric, RuleList *rules, FabricRule rule, const TopologyLink *link,
                     uint32_t base, Err *err) {
    if (rules->count == RULES_MAX)
        return err_set(err, "%s: more than %d link rules in the machine", fabric->topology->origin,
                       RULES_MAX);
    rule.first = fabric->link_count;
    if (!fabric_rule_compile(fabric, link, base, &rule, err))
        return err_prefix(err, "%s", fabric->topology->origin);
    fabric->link_count += (LinkId)(2 * rule.instances);
    rules->items = mem_grow(rules->items, &rules->capacity, rules->count + 1, sizeof rule);
    rules->items[rules->count++] = rule;
    return true;
}

// One rule at every place of its template: those of the classes that `from` can name.
static bool add_link(Fabric *fabric, RuleList *rules, uint32_t template_id, uint32_t link,
                     uint32_t number, Err *err) {
    TopologyLink resolved;
    const char *field;
    if (!topology_link_resolve(fabric->topology, template_id, link, &resolved, &field, err)) {
        return err_prefix(err, "%s: link rule %u, \"%s\"", fabric->topology->origin, number, field);
    }
    for (uint32_t i = 0; i < fabric->class_count; i++) {
        const TopologyPlace *place = &fabric->classes[i].place;
        if (place->depth < resolved.from.pattern.count) continue;
        uint32_t base = place->depth - resolved.from.pattern.count;
        if (place->template_id[base] != template_id ||
            class_of(fabric, place, base, &resolved.from) != i)
            continue;
        FabricRule rule = {.link = &fabric->topology->templates[template_id].links[link],
                           .rule = number,
                           .from_class = i,
                           .to_class = class_of(fabric, place, base, &resolved.to)};
        if (!add_rule(fabric, rules, rule, &resolved, base, err)) return false;
    }
    return true;
}

static bool add_links(Fabric *fabric, Err *err) {
    RuleList rules = {0};
    uint32_t number = 0;
    bool done = true;
    for (uint32_t i = 0; done && i < fabric->topology->template_count; i++) {
        for (uint32_t k = 0; done && k < fabric->topology->templates[i].link_count; k++) {
            done = add_link(fabric, &rules, i, k, number++, err);
        }
    }
    if (done) {
        fabric->rules = arena_copy(&fabric->arena, rules.items, rules.count, sizeof *rules.items);
        fabric->rule_count = rules.count;
    }
    mem_free(rules.items);
    return done;
}

static uint32_t sides_at(const FabricRule *rule, uint32_t class_id, FabricAdjacent *out,
                         uint32_t id) {
    uint32_t count = 0;
    if (rule->form == TOPOLOGY_PAIRS) {
        if (rule->from_class == class_id)
            out[count++] = (FabricAdjacent){id, FABRIC_BOTH, class_id};
        return count;
    }
    if (rule->from_class == class_id)
        out[count++] = (FabricAdjacent){id, FABRIC_FROM, rule->to_class};
    if (rule->to_class == class_id)
        out[count++] = (FabricAdjacent){id, FABRIC_TO, rule->from_class};
    return count;
}

static void add_adjacent(Fabric *fabric) {
    uint32_t count = 0;
    fabric->adjacent =
        arena_alloc(&fabric->arena, (size_t)fabric->rule_count * 2, sizeof *fabric->adjacent);
    fabric->adjacent_start = arena_alloc(&fabric->arena, (size_t)fabric->class_count + 1,
                                         sizeof *fabric->adjacent_start);
    for (uint32_t i = 0; i < fabric->class_count; i++) {
        fabric->adjacent_start[i] = count;
        for (uint32_t k = 0; k < fabric->rule_count; k++) {
            FabricAdjacent found[2];
            uint32_t sides = sides_at(&fabric->rules[k], i, found, k);
            memcpy(fabric->adjacent + count, found, sides * sizeof found[0]);
            count += sides;
        }
    }
    fabric->adjacent_start[fabric->class_count] = count;
}

static uint32_t node_size_of(const Fabric *fabric) {
    const TopologyPlace *place = &fabric->classes[0].place; // a GPU
    const Template *in = &fabric->topology->templates[place->template_id[place->depth - 1]];
    uint32_t count = 0;
    for (uint32_t i = 0; i < in->part_count; i++) {
        if (in->parts[i].kind == PART_GPU) count += in->parts[i].count;
    }
    return count;
}

static bool check_linked(const Fabric *fabric, Err *err) {
    if (fabric->vertex_count == 1) return true;
    for (uint32_t i = 0; i < fabric->class_count; i++) {
        if (fabric_shape_is_linked(fabric, i, err)) continue;
        return err_prefix(err, "%s", fabric->topology->origin);
    }
    return true;
}

// Links that end in a port of a switch or of the network side of a NIC.
static bool takes_ports(LinkClass link_class) {
    return topology_class_is_scale_up(link_class) || topology_class_is_network(link_class);
}

// Ports are compared over all parts of a class together.
static bool check_ports(const Fabric *fabric, Err *err) {
    for (uint32_t i = 0; i < fabric->class_count; i++) {
        const VertexClass *class = &fabric->classes[i];
        uint64_t cables = 0;
        if (class->device == NULL || class->device->ports == 0) continue;
        for (uint32_t k = 0; k < fabric->rule_count; k++) {
            const FabricRule *rule = &fabric->rules[k];
            uint64_t ends = (uint64_t)(rule->from_class == i) + (rule->to_class == i);
            if (takes_ports(rule->link->link_class))
                cables += ends * rule->instances * rule->link->cables;
        }
        if (cables <= (uint64_t) class->count * class->device->ports) continue;
        return err_set(err, "%s: %s: %llu cables for %u of %s, which has %u ports",
                       fabric->topology->origin, class->name, (unsigned long long)cables,
                       class->count, class->device->name, class->device->ports);
    }
    return true;
}

// Parts that no link joins to a GPU, not even through others, are a mistake in the description.
// Classes are joined as a whole, so it is enough to walk those.
static bool check_joined(const Fabric *fabric, Err *err) {
    Arena scratch = {0};
    bool *joined = arena_alloc(&scratch, fabric->class_count, sizeof *joined);
    for (uint32_t c = 0; c < fabric->class_count; c++)
        joined[c] = fabric->classes[c].kind == PART_GPU;
    for (bool grows = true; grows;) {
        grows = false;
        for (uint32_t c = 0; c < fabric->class_count; c++)
            for (uint32_t i = fabric->adjacent_start[c];
                 joined[c] && i < fabric->adjacent_start[c + 1]; i++) {
                bool *other = &joined[fabric->adjacent[i].other];
                grows = grows || !*other;
                *other = true;
            }
    }
    bool done = true;
    for (uint32_t c = 0; done && c < fabric->class_count; c++)
        if (!joined[c])
            done = err_set(err, "%s: no link joins %s to a GPU, directly or through other parts",
                           fabric->topology->origin, fabric->classes[c].name);
    arena_free(&scratch);
    return done;
}

bool fabric_build(const Topology *topology, const DeviceCatalogue *catalogue, Fabric *out,
                  Err *err) {
    Fabric fabric = {.topology = topology};
    bool done = add_classes(&fabric, catalogue, err) && add_links(&fabric, err);
    if (done) add_adjacent(&fabric);
    if (done) fabric.node_size = node_size_of(&fabric);
    done = done && check_linked(&fabric, err) && check_joined(&fabric, err) &&
           check_ports(&fabric, err) && fabric_axis_check(&fabric, err) &&
           fabric_shape_find(&fabric, err) && fabric_fault_apply(&fabric, err);
    if (!done) {
        fabric_free(&fabric);
        return false;
    }
    *out = fabric;
    return true;
}

void fabric_free(Fabric *fabric) {
    arena_free(&fabric->arena);
    *fabric = (Fabric){0};
}

VertexId fabric_gpu(const Fabric *fabric, uint32_t gpu) {
    assert(gpu < fabric->gpu_count);
    (void)fabric;
    return gpu;
}

const VertexClass *fabric_class(const Fabric *fabric, VertexId vertex) {
    assert(vertex < fabric->vertex_count);
    uint32_t low = 0, high = fabric->class_count - 1;
    while (low < high) {
        uint32_t middle = (low + high + 1) / 2;
        if (fabric->classes[middle].first <= vertex) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return &fabric->classes[low];
}

const Device *fabric_device(const Fabric *fabric, uint32_t gpu) {
    return fabric_class(fabric, fabric_gpu(fabric, gpu))->device;
}

void fabric_vertex_name(const Fabric *fabric, VertexId vertex, Text *out) {
    const VertexClass *class = fabric_class(fabric, vertex);
    uint32_t digits[FABRIC_DIGITS_MAX];
    fabric_rule_digits(class, vertex, digits);
    for (uint32_t level = 0; level < class->digit_count; level++) {
        text_addf(out, "%s%s", level == 0 ? "" : ".",
                  topology_place_part(fabric->topology, &class->place, level)->name);
        if (class->shape[level] > 1) text_addf(out, "[%u]", digits[level]);
    }
}

FabricLink fabric_link(const Fabric *fabric, LinkId link) {
    const FabricRule *rule = fabric_rule_of(fabric, link);
    FabricLink out = {.link_class = rule->link->link_class,
                      .capacity_Bps = rule->link->bandwidth_Bps * rule->link->cables,
                      .cables = rule->link->cables,
                      .latency_ps = rule->link->latency_ps,
                      .burst_B = rule->link->burst_B * rule->link->cables,
                      .source = rule->link->source[0] == '\0' ? fabric->topology->source
                                                              : rule->link->source,
                      .rule = rule->rule};
    VertexId from, to;
    fabric_rule_ends(fabric, rule, (link - rule->first) / 2, &from, &to);
    bool is_back = (link - rule->first) % 2 == 1;
    out.from = is_back ? to : from;
    out.to = is_back ? from : to;
    if (fabric->faults == NULL) return out;
    const FabricFaultLink *fault = fabric_fault_find(fabric, link);
    if (fault != NULL) {
        out.cables = fault->cables;
        out.capacity_Bps = fault->capacity_Bps;
    }
    if (fabric_is_dead(fabric, from) || fabric_is_dead(fabric, to)) {
        out.cables = 0;
        out.capacity_Bps = 0;
    }
    return out;
}

bool fabric_next_link(const Fabric *fabric, VertexId from, uint64_t *cursor, LinkId *out) {
    uint32_t class_id = (uint32_t)(fabric_class(fabric, from) - fabric->classes);
    uint32_t entry = fabric->adjacent_start[class_id] + (uint32_t)(*cursor >> 32);
    uint64_t position = *cursor & UINT32_MAX;
    bool has_faults = fabric->faults != NULL;
    if (has_faults && fabric_is_dead(fabric, from)) return false;
    for (; entry < fabric->adjacent_start[class_id + 1]; entry++, position = 0) {
        const FabricAdjacent *adjacent = &fabric->adjacent[entry];
        FabricWalk walk;
        VertexId partner;
        fabric_rule_walk(fabric, &fabric->rules[adjacent->rule], (FabricSide)adjacent->side, from,
                         &walk);
        walk.position = position;
        LinkId link;
        bool found;
        do found = fabric_rule_next(&walk, &partner, &link);
        while (found && has_faults && fabric_fault_stops(fabric, link, partner));
        if (!found) continue;
        *cursor = (uint64_t)(entry - fabric->adjacent_start[class_id]) << 32 | walk.position;
        *out = link;
        return true;
    }
    return false;
}

// Looks at every link of a small machine, and at every stride-th of a large one.
static bool check_link(const Fabric *fabric, LinkId id, Err *err) {
    FabricLink link = fabric_link(fabric, id), back = fabric_link(fabric, id ^ 1);
    uint64_t cursor = 0;
    LinkId found;
    if (link.from >= fabric->vertex_count || link.to >= fabric->vertex_count ||
        link.from == link.to) {
        return err_set(err, "link %u joins vertex %u and %u", id, link.from, link.to);
    }
    if (back.from != link.to || back.to != link.from)
        return err_set(err, "link %u has no way back", id);
    while (fabric_next_link(fabric, link.from, &cursor, &found)) {
        if (found == id) return link.capacity_Bps > 0 || err_set(err, "link %u is dead", id);
    }
    if (link.capacity_Bps == 0 && fabric_has_faults(fabric)) return true;
    return err_set(err, "link %u is not found from vertex %u", id, link.from);
}

bool fabric_check(const Fabric *fabric, Err *err) {
    const uint32_t looks = 4096;
    VertexId next = 0;
    for (uint32_t i = 0; i < fabric->class_count; i++) {
        if (fabric->classes[i].first != next)
            return err_set(err, "class %s starts at %u", fabric->classes[i].name, next);
        next += fabric->classes[i].count;
    }
    if (next != fabric->vertex_count)
        return err_set(err, "%u vertices in classes, %u in all", next, fabric->vertex_count);
    uint32_t stride = fabric->link_count / looks + 1;
    for (LinkId id = 0; id < fabric->link_count && id + stride > id; id += stride) {
        if (!check_link(fabric, id, err)) return false;
    }
    uint64_t product = 1;
    for (uint32_t i = 0; i < fabric->shape.digit_count; i++) product *= fabric->shape.size[i];
    return product == fabric->gpu_count ||
           err_set(err, "the shape has %llu GPUs", (unsigned long long)product);
}
