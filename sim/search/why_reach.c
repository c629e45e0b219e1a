// How the groups of a family lie on the machine.
//
// Invariant: only routes of the fabric are asked, so that it holds for every machine, with its
// faults.
#include "model/base/mem.h"
#include "sim/search/why.h"

// Distinct numbers, few.
typedef struct Distinct {
    uint32_t *items;
    uint32_t count, capacity;
} Distinct;

static void add_distinct(Distinct *set, uint32_t item) {
    for (uint32_t i = 0; i < set->count; i++)
        if (set->items[i] == item) return;
    set->items = mem_grow(set->items, &set->capacity, set->count + 1, sizeof *set->items);
    set->items[set->count++] = item;
}

// The first switch of the network on the way between two GPUs, or FABRIC_NONE.
static VertexId leaf_between(const Fabric *fabric, uint32_t from, uint32_t to, Route *route) {
    Err ignored = {0};
    if (!fabric_route(fabric, fabric_gpu(fabric, from), fabric_gpu(fabric, to), route, &ignored))
        return FABRIC_NONE;
    for (uint32_t i = 0; i < route->count; i++) {
        FabricLink link = fabric_link(fabric, route->edges[i].link);
        if (topology_class_is_network(link.link_class) &&
            fabric_class(fabric, link.to)->kind == PART_SWITCH)
            return link.to;
    }
    return FABRIC_NONE;
}

typedef struct Group {
    const Fabric *fabric;
    const GroupFamily *family;
    const WhyReachRanks *ranks;
    uint32_t index;
} Group;

static uint32_t gpu_of(const Group *group, uint32_t j) {
    uint32_t rank = schedule_group_member(group->family, group->index, j);
    const WhyReachRanks *ranks = group->ranks;
    return fabric_live_gpu(group->fabric,
                           ranks->places != NULL ? ranks->places[rank] : ranks->first_gpu + rank);
}

// A member in another domain than the first one; the first one when there is none.
static uint32_t far_member(const Group *group, uint32_t ranks, uint32_t domain) {
    for (uint32_t j = 0; j < ranks; j++)
        if (gpu_of(group, j) / group->fabric->domain_size != domain) return j;
    return 0;
}

static void reach_of(const Group *group, WhyReach *out) {
    const Fabric *fabric = group->fabric;
    Distinct domains = {0}, nodes = {0}, leaves = {0};
    Route route = {0};
    uint32_t size = group->family->size;
    uint32_t ranks = size < WHY_RANKS_MAX ? size : WHY_RANKS_MAX;
    uint32_t first_domain = gpu_of(group, 0) / fabric->domain_size;
    uint32_t first = gpu_of(group, 0), far = gpu_of(group, far_member(group, ranks, first_domain));
    for (uint32_t j = 0; j < ranks; j++) {
        uint32_t gpu = gpu_of(group, j);
        add_distinct(&domains, gpu / fabric->domain_size);
        add_distinct(&nodes, gpu / fabric->node_size);
        uint32_t to = gpu / fabric->domain_size == first_domain ? far : first;
        VertexId leaf = to == gpu ? FABRIC_NONE : leaf_between(fabric, gpu, to, &route);
        if (leaf != FABRIC_NONE) add_distinct(&leaves, leaf);
    }
    if (domains.count > out->domains) out->domains = domains.count;
    if (nodes.count > out->nodes) out->nodes = nodes.count;
    if (leaves.count > out->leaves) out->leaves = leaves.count;
    mem_free(domains.items);
    mem_free(nodes.items);
    mem_free(leaves.items);
    fabric_route_free(&route);
}

void why_reach(const Fabric *fabric, const WhyReachRanks *ranks, const GroupFamily *family,
               WhyReach *out) {
    WhyReach reach = {0};
    uint32_t groups = family->count < WHY_GROUPS_MAX ? family->count : WHY_GROUPS_MAX;
    for (uint32_t g = 0; g < groups; g++) reach_of(&(Group){fabric, family, ranks, g}, &reach);
    *out = reach;
}
