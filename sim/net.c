// Resources for links and for classes of alike links.
//
// Invariant: two resources never share a link. Equal orbits are one resource; orbits that overlap
// in part cannot be told apart by a rate and are refused, so a folded run is exact or does not
// happen.
#include "sim/net.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "model/base/mem.h"
#include "model/base/num.h"

void net_init(Net *net, const Fabric *fabric, const Calib *calib) {
    *net = (Net){.fabric = fabric, .calib = calib};
}

void net_free(Net *net) {
    flow_free(&net->flows);
    mem_free(net->links);
    keymap_free(&net->by_orbit);
    *net = (Net){0};
}

LinkOrbit net_single(LinkId link) {
    return (LinkOrbit){.base = link, .planes = 1, .size = 1};
}

CalibParam net_bandwidth_param(LinkClass link_class) {
    switch (link_class) {
    case LINK_NVLINK:
    case LINK_XGMI:
    case LINK_UB:
    case LINK_ICI: return CALIB_NVLINK; // scale-up links share a constant until each is measured
    case LINK_C2C: return CALIB_C2C;
    case LINK_PCIE: return CALIB_PCIE;
    case LINK_IB: return CALIB_IB;
    case LINK_ETH: return CALIB_ETH;
    case LINK_MEMORY: return CALIB_MEMORY;
    case LINK_STORAGE:
    case LINK_OTHER:
    case LINK_CLASS_COUNT: break;
    }
    return CALIB_PCIE;
}

CalibParam net_step_param(const Fabric *fabric, const Route *route) {
    CalibParam param = CALIB_NVLINK_STEP;
    for (uint32_t i = 0; i < route->count; i++) {
        LinkClass link_class = fabric_link(fabric, route->edges[i].link).link_class;
        if (link_class == LINK_IB || link_class == LINK_ETH) return CALIB_NET_STEP;
        if (link_class == LINK_PCIE) param = CALIB_PCIE_STEP;
    }
    return param;
}

// Nominal capacity x efficiency, in whole B/s.
static uint64_t capacity_Bps(const Net *net, const FabricLink *link) {
    double efficiency = net->calib->values[net_bandwidth_param(link->link_class)].value;
    int64_t capacity = num_round((double)link->capacity_Bps * efficiency);
    return capacity > 0 ? (uint64_t)capacity : 1;
}

static bool refuse_overlap(const Net *net, const LinkOrbit *orbit, Err *err) {
    if (orbit->digit_count == 0) return true; // single links overlap only when equal
    for (ResourceId r = 0; r < net->flows.resource_count; r++)
        if (fold_orbit_conflict(&net->links[r].orbit, orbit))
            return err_set(err,
                           "roles share some, but not all, links of a tier: they cannot be folded");
    return true;
}

bool net_resource(Net *net, const LinkOrbit *orbit, ResourceId *out, Err *err) {
    Digest key = fold_orbit_key(orbit);
    uint32_t found = keymap_find(&net->by_orbit, key);
    if (found != KEYMAP_NONE) {
        assert(fold_orbit_equal(&net->links[found].orbit, orbit));
        *out = found;
        return true;
    }
    if (!refuse_overlap(net, orbit, err)) return false;
    FabricLink link = fabric_link(net->fabric, orbit->base);
    ResourceId made = flow_add_resource(&net->flows, capacity_Bps(net, &link));
    net->links = mem_grow(net->links, &net->link_capacity, made + 1, sizeof *net->links);
    net->links[made] = (NetLink){.orbit = *orbit, .link = link};
    keymap_add(&net->by_orbit, key, made);
    *out = made;
    return true;
}

void net_count(Net *net, const FlowEdge *edges, uint32_t count, uint64_t scale, uint64_t bytes) {
    for (uint32_t i = 0; i < count; i++)
        net->links[edges[i].resource].bytes += wide_mul_div_up(bytes, edges[i].coefficient, scale);
}

static void name_link(const Fabric *fabric, const FabricLink *link, LinkTotal *total) {
    Text text = {0};
    fabric_vertex_name(fabric, link->from, &text);
    text_add(&text, " -> ");
    fabric_vertex_name(fabric, link->to, &text);
    snprintf(total->busiest_name, sizeof total->busiest_name, "%s", text_string(&text));
    text_free(&text);
}

void net_totals(const Net *net, LinkTotal out[LINK_CLASS_COUNT]) {
    memset(out, 0, LINK_CLASS_COUNT * sizeof *out);
    ResourceId busiest[LINK_CLASS_COUNT];
    for (uint32_t c = 0; c < LINK_CLASS_COUNT; c++) busiest[c] = FLOW_NONE;
    for (ResourceId r = 0; r < net->flows.resource_count; r++) {
        const NetLink *link = &net->links[r];
        LinkTotal *total = &out[link->link.link_class];
        total->bytes += link->bytes * link->orbit.size * link->orbit.planes;
        if (link->bytes <= total->busiest_B) continue;
        total->busiest_B = link->bytes;
        total->busiest_Bps = link->link.capacity_Bps;
        busiest[link->link.link_class] = r;
    }
    for (uint32_t c = 0; c < LINK_CLASS_COUNT; c++)
        if (busiest[c] != FLOW_NONE) name_link(net->fabric, &net->links[busiest[c]].link, &out[c]);
}
