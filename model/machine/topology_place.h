// Where the leaf parts of a machine are: the templates unfolded along their tree, with counts
// instead of copies.
#ifndef MODEL_MACHINE_TOPOLOGY_PLACE_H
#define MODEL_MACHINE_TOPOLOGY_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/machine/topology.h"

#define TOPOLOGY_PLACES_MAX 1024 // classes of parts in a whole machine

// A leaf part seen from the whole machine: the parts on the way to it, outermost first.
typedef struct TopologyPlace {
    uint32_t depth;
    uint32_t template_id[TOPOLOGY_DEPTH_MAX]; // at each level the template and its part
    uint32_t part[TOPOLOGY_DEPTH_MAX];
} TopologyPlace;

// All leaf parts of the machine, depth first in the order of the file. Refuses templates that
// contain themselves, more than TOPOLOGY_PLACES_MAX places, and a place with more than
// TOPOLOGY_PARTS_MAX parts. The array is the arena's.
bool topology_place_list(const Topology *topology, Arena *arena, TopologyPlace **out,
                         uint32_t *out_count, Err *err);

// The part at a level of a place.
const Part *topology_place_part(const Topology *topology, const TopologyPlace *place,
                                uint32_t level);

#endif
