// Walks the tree of templates without recursion.
//
// Invariant: every open template has a part, so each step of the walk that opens a level ends at a
// place; with the cap on places and on depth the walk is short whatever the file says.
#include "model/machine/topology_place.h"

// Position in the walk over the tree of templates: at each level a template and the part to look at
// next.
typedef struct Walk {
    TopologyPlace at; // at.depth levels are open
    uint64_t copies[TOPOLOGY_DEPTH_MAX];
} Walk;

static bool enter(const Topology *topology, Walk *walk, uint32_t template_id, uint64_t copies,
                  Err *err) {
    for (uint32_t level = 0; level < walk->at.depth; level++) {
        if (walk->at.template_id[level] == template_id) {
            return err_set(err, "template \"%s\" contains itself through \"%s\"",
                           topology->templates[template_id].name,
                           topology->templates[walk->at.template_id[walk->at.depth - 1]].name);
        }
    }
    if (walk->at.depth == TOPOLOGY_DEPTH_MAX) {
        return err_set(err, "template \"%s\" is nested deeper than %d levels",
                       topology->templates[template_id].name, TOPOLOGY_DEPTH_MAX);
    }
    walk->at.template_id[walk->at.depth] = template_id;
    walk->at.part[walk->at.depth] = 0;
    walk->copies[walk->at.depth] = copies;
    walk->at.depth++;
    return true;
}

typedef struct Places {
    TopologyPlace *items;
    uint32_t count, capacity;
} Places;

static bool add_place(Places *places, const TopologyPlace *place, Err *err) {
    if (places->count == TOPOLOGY_PLACES_MAX) {
        return err_set(err, "more than %d kinds of parts in the machine", TOPOLOGY_PLACES_MAX);
    }
    places->items =
        mem_grow(places->items, &places->capacity, places->count + 1, sizeof *places->items);
    places->items[places->count++] = *place;
    return true;
}

// One step: the next part of the innermost open template.
static bool visit(const Topology *topology, Walk *walk, Places *places, Err *err) {
    uint32_t level = walk->at.depth - 1;
    const Template *in = &topology->templates[walk->at.template_id[level]];
    if (walk->at.part[level] == in->part_count) {
        walk->at.depth--;
        if (walk->at.depth > 0) walk->at.part[walk->at.depth - 1]++;
        return true;
    }
    const Part *part = &in->parts[walk->at.part[level]];
    uint64_t copies = walk->copies[level] * part->count; // both at most TOPOLOGY_PARTS_MAX
    if (copies > TOPOLOGY_PARTS_MAX) {
        return err_set(err, "%llu times part \"%s\" of template \"%s\", at most %d are possible",
                       (unsigned long long)copies, part->name, in->name, TOPOLOGY_PARTS_MAX);
    }
    if (part->kind == PART_GROUP) return enter(topology, walk, part->template_id, copies, err);
    if (!add_place(places, &walk->at, err)) return false;
    walk->at.part[level]++;
    return true;
}

bool topology_place_list(const Topology *topology, Arena *arena, TopologyPlace **out,
                         uint32_t *out_count, Err *err) {
    Walk walk = {0};
    Places places = {0};
    bool done = enter(topology, &walk, topology->machine, 1, err);
    while (done && walk.at.depth > 0) done = visit(topology, &walk, &places, err);
    if (done) {
        *out = arena_copy(arena, places.items, places.count, sizeof *places.items);
        *out_count = places.count;
    }
    mem_free(places.items);
    return done;
}

const Part *topology_place_part(const Topology *topology, const TopologyPlace *place,
                                uint32_t level) {
    return &topology->templates[place->template_id[level]].parts[place->part[level]];
}
