// What leaves a domain has to go over the links of the group's ranks in it.
//
// Of n ranks of a group that exchange chunks, c lie in one domain: c (n - c) chunks leave it, over
// the network links of those c ranks, so that (n - c) chunks over the links of one is the least.
// Where the algorithm by nodes and rails has a place, a token crosses once for each node and not
// once for each expert (node_spread.h), which is less. Sums over cuts as in collective_bound.c.
//
// Invariant: efficiencies, software times and chunks are the best that the machine and the load
// have, so that nothing simulated is shorter (tests/sim/test_bound.c).
#include "sim/search/choose_cut.h"

#include <stdlib.h>

#include "model/base/mem.h"
#include "model/base/num.h"
#include "model/base/wide.h"
#include "sim/net.h"

uint32_t choose_cut_domain(const Fabric *fabric) {
    return fabric->domain_size > 1 ? fabric->domain_size : fabric->node_size;
}

// The links of the network that come first on a route: all those at one distance.
static void take_exit(const Fabric *fabric, const Calib *calib, const Route *route,
                      ChooseExit *out) {
    uint64_t weight = 0, capacity_Bps = 0, layer = 0, first = UINT64_MAX;
    for (uint32_t i = 0; i < route->count; i++, layer = weight / route->weight_total) {
        FabricLink link = fabric_link(fabric, route->edges[i].link);
        weight += route->edges[i].weight;
        if (!topology_class_is_network(link.link_class)) continue;
        if (first == UINT64_MAX) first = layer;
        if (layer != first) break;
        CalibParam param = net_bandwidth_param(link.link_class);
        capacity_Bps += link.capacity_Bps;
        if (calib->values[param].value <= out->efficiency) continue;
        out->efficiency = calib->values[param].value;
        out->bandwidth_param = param;
    }
    CalibParam step_param = net_step_param(fabric, route);
    Time software_ps = num_round(calib->values[step_param].value * (double)PS_PER_SECOND);
    if (out->capacity_Bps == 0 || route->latency_ps < out->latency_ps)
        out->latency_ps = route->latency_ps;
    if (out->capacity_Bps == 0 || software_ps < out->software_ps) {
        out->software_ps = software_ps;
        out->step_param = step_param;
    }
    if (capacity_Bps > out->capacity_Bps) out->capacity_Bps = capacity_Bps;
}

// Routes of a uniform machine depend on which digits differ: one for each digit that leaves the
// domain has the shortest.
void choose_cut_exit(const Fabric *fabric, const Calib *calib, ChooseExit *out) {
    const FabricShape *shape = &fabric->shape;
    uint32_t domain = choose_cut_domain(fabric), block = fabric->gpu_count;
    *out = (ChooseExit){0};
    if (!shape->uniform || domain == 0) return;
    for (uint32_t d = 0; d < shape->digit_count; d++) {
        Route route = {0};
        Err ignored = {0};
        block /= shape->size[d];
        if (block < domain || shape->size[d] < 2) continue;
        if (fabric_route(fabric, fabric_gpu(fabric, 0), fabric_gpu(fabric, block), &route,
                         &ignored))
            take_exit(fabric, calib, &route, out);
        fabric_route_free(&route);
    }
}

// Ranks of a group that lie in the domain that has the fewest of them; all of the group: it stays.
// `domains`: scratch, [size of the group].
static uint32_t fewest_of_group(const ChooseCase *given, uint32_t group, uint32_t domain,
                                uint32_t *domains) {
    const GroupFamily *family = &given->family;
    uint32_t fewest = family->size;
    for (uint32_t j = 0; j < family->size; j++) {
        uint32_t member = schedule_group_member(family, group, j);
        domains[j] =
            (given->places != NULL ? given->places[member] : given->first_gpu + member) / domain;
    }
    // in order of GPUs they are sorted
    if (given->places != NULL) qsort(domains, family->size, sizeof *domains, num_compare_u32);
    for (uint32_t j = 0, end; j < family->size; j = end) {
        for (end = j; end < family->size && domains[end] == domains[j]; end++) continue;
        if (end - j < fewest) fewest = end - j;
    }
    return fewest;
}

// Of an expert load that comes out even, or of the ranks that get the least.
double choose_cut_chunk(const ChooseCase *given) {
    uint32_t experts = given->spread.experts;
    double bytes = (double)given->bytes;
    if (given->split == SPLIT_EVEN || experts == 0) return bytes / given->family.size;
    return bytes * (experts / given->family.size) / experts;
}

static double crossing_part(const Fabric *fabric, const ChooseCase *given) {
    NodeSpread spread = given->spread;
    uint32_t inner = choose_inner_of(fabric, given);
    if (inner <= 1) return 1;
    spread.nodes = given->family.size / inner;
    if (given->split == SPLIT_EVEN || spread.nodes == 0 || spread.experts < spread.nodes) return 1;
    double part = node_spread_mean(&spread) / spread.top_k;
    return part < 1 ? part : 1;
}

bool choose_cut_least(const ChooseExit *exit, const Fabric *fabric, const ChooseCase *given,
                      ChooseGroups which, ChooseTime *out) {
    uint32_t fewest = given->family.size, most = 0, domain = choose_cut_domain(fabric);
    if (exit->capacity_Bps == 0 || exit->efficiency <= 0 || given->bytes == 0 ||
        given->kind != COLLECTIVE_ALL_TO_ALL)
        return false;
    uint32_t *scratch = mem_alloc(given->family.size, sizeof *scratch);
    for (uint32_t g = 0; g < given->family.count; g++) {
        uint32_t count = fewest_of_group(given, g, domain, scratch);
        if (count < fewest) fewest = count;
        if (count > most) most = count;
    }
    mem_free(scratch);
    uint32_t inside = which == CHOOSE_WORST_GROUP ? fewest : most;
    if (inside >= given->family.size) return false;
    double bytes =
        choose_cut_chunk(given) * (given->family.size - inside) * crossing_part(fabric, given);
    double seconds = bytes / ((double)exit->capacity_Bps * exit->efficiency);
    Time moving_ps = num_round(seconds * (double)PS_PER_SECOND);
    *out = (ChooseTime){.algorithm = ALGORITHM_DIRECT};
    out->time_ps = out->least_ps = exit->latency_ps + exit->software_ps + moving_ps;
    out->share.latency_ps = exit->latency_ps;
    out->share.param_ps[exit->step_param] = exit->software_ps;
    out->share.param_ps[exit->bandwidth_param] += moving_ps;
    return true;
}
