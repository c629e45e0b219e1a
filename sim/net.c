// Resources for links and for classes of alike links.
//
// Invariant: two resources never share a link. Equal orbits and equal classes are one resource;
// those that overlap in part cannot be told apart by a rate and are refused, so a run is exact or
// does not happen. What a link carried is a whole number of parts of 1 / scale of a byte: it is the
// same however transfers are counted together.
#include "sim/net.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model/base/mem.h"
#include "model/base/num.h"
#include "model/base/wide.h"

void net_init(Net *net, const Fabric *fabric, const Calib *calib) {
    *net = (Net){.fabric = fabric,
                 .calib = calib,
                 .flows = flow_open(),
                 .scale = 1,
                 .tier = tier_constants(calib)};
}

void net_free(Net *net) {
    flow_close(net->flows);
    mem_free(net->links);
    keymap_free(&net->by_orbit);
    keymap_free(&net->by_link);
    keymap_free(&net->by_load);
    *net = (Net){0};
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
        if (topology_class_is_network(link_class)) return CALIB_NET_STEP;
        if (link_class == LINK_PCIE) param = CALIB_PCIE_STEP;
    }
    return param;
}

uint64_t net_efficient(const Calib *calib, CalibParam param, uint64_t bytes) {
    int64_t left = num_round((double)bytes * calib->values[param].value);
    return left > 0 ? (uint64_t)left : 1;
}

static bool refuse_overlap(const Net *net, const LinkOrbit *orbit, Err *err) {
    for (ResourceId r = 0; r < flow_resource_count(net->flows); r++)
        if (fold_orbit_conflict(&net->links[r].orbit, orbit))
            return err_set(err,
                           "roles share some, but not all, links of a tier: they cannot be folded");
    return true;
}

static bool add_resource(Net *net, LinkId id, uint64_t links, ResourceId *out, Err *err) {
    FabricLink link = fabric_link(net->fabric, id);
    CalibParam param = net_bandwidth_param(link.link_class);
    uint64_t capacity = net_efficient(net->calib, param, link.capacity_Bps);
    if (capacity > FLOW_CAPACITY_MAX)
        return err_set(err, "a link of %" PRIu64 " B/s is faster than can be simulated, %" PRIu64,
                       capacity, FLOW_CAPACITY_MAX);
    *out = flow_add_resource(net->flows, capacity);
    if (link.burst_B > 0)
        flow_set_burst(net->flows, *out, net_efficient(net->calib, param, link.burst_B));
    net->links = mem_grow(net->links, &net->link_capacity, *out + 1, sizeof *net->links);
    net->links[*out] = (NetLink){.link = link, .id = id, .links = links};
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
    if (!refuse_overlap(net, orbit, err) ||
        !add_resource(net, orbit->base, orbit->size * orbit->planes, out, err))
        return false;
    net->links[*out].orbit = *orbit;
    keymap_add(&net->by_orbit, key, *out);
    return true;
}

static uint64_t link_key(LinkId link) {
    return hash_u64(HASH_START, link);
}

// The one class that has all of these links, KEYMAP_NONE when none has one of them; false when they
// are in several classes, or in one of more or fewer links.
static bool find_class(const Net *net, const LinkId *ids, uint32_t id_count, uint64_t links,
                       ResourceId *out) {
    *out = keymap_find(&net->by_link, link_key(ids[0]));
    for (uint32_t i = 1; i < id_count; i++)
        if (keymap_find(&net->by_link, link_key(ids[i])) != *out) return false;
    return *out == KEYMAP_NONE || net->links[*out].links == links;
}

bool net_class(Net *net, const LinkId *ids, uint32_t id_count, uint64_t links, ResourceId *out,
               Err *err) {
    if (!find_class(net, ids, id_count, links, out))
        return err_set(err, "two schedules of one simulation use links unlike each other: "
                            "simulate them expanded");
    if (*out != KEYMAP_NONE) return true;
    if (!add_resource(net, ids[0], links, out, err)) return false;
    for (uint32_t i = 0; i < id_count; i++) keymap_add(&net->by_link, link_key(ids[i]), *out);
    return true;
}

bool net_cells(Net *net, Digest cells, Err *err) {
    if (net->cells == 0) net->cells = cells;
    return net->cells == cells ||
           err_set(err, "two schedules of one simulation repeat in different parts of the "
                        "machine: simulate them expanded");
}

bool net_link_sums(const Fabric *fabric, LinkId id) {
    FabricLink link = fabric_link(fabric, id);
    const VertexClass *reached = fabric_class(fabric, link.to);
    if (link.link_class != LINK_NVLINK) return false;
    if (reached->kind == PART_GPU) return true;
    return reached->kind == PART_SWITCH &&
           (reached->device == NULL || reached->device->in_network != 0);
}

static bool add_path(Net *net, const FlowEdge *edges, uint32_t count, uint64_t scale, PathId *out,
                     Err *err) {
    return flow_add_path(net->flows, edges, count, scale, out) ||
           err_set(err, "a route of %u links in parts of 1/%" PRIu64 " is too uneven to simulate",
                   count, scale);
}

bool net_path(Net *net, const FlowEdge *edges, uint32_t count, uint64_t scale, PathId *out,
              Err *err) {
    if (!add_path(net, edges, count, scale, out, err)) return false;
    uint64_t times = scale / wide_gcd(net->scale, scale);
    net->scale *= times; // flow_add_path bounds it
    for (ResourceId r = 0; times > 1 && r < flow_resource_count(net->flows); r++)
        net->links[r].carried *= times;
    return true;
}

uint32_t net_scale_up_load(const Net *net, Algorithm algorithm) {
    if (algorithm != ALGORITHM_IN_SWITCH) return TIER_UNIT;
    const CalibValue *values = net->calib->values;
    int64_t load =
        num_round(TIER_UNIT * values[CALIB_NVLINK].value / values[CALIB_IN_SWITCH].value);
    return load < 1 ? 1 : load > TIER_UNIT * TIER_UNIT ? TIER_UNIT * TIER_UNIT : (uint32_t)load;
}

bool net_loaded_path(Net *net, const FlowEdge *edges, uint32_t count, uint64_t scale, PathId path,
                     NetLoads loads, PathId *out, Err *err) {
    *out = path;
    if (loads.network == TIER_UNIT && loads.scale_up == TIER_UNIT) return true;
    Digest key = hash_u64(HASH_START, (uint64_t)path << 32 | loads.network);
    key = hash_u64(key, loads.scale_up);
    *out = keymap_find(&net->by_load, key);
    if (*out != KEYMAP_NONE) return true;
    FlowEdge *loaded = mem_alloc(count, sizeof *loaded);
    for (uint32_t i = 0; i < count; i++) {
        LinkClass link_class = net->links[edges[i].resource].link.link_class;
        uint32_t times = topology_class_is_network(link_class)    ? loads.network
                         : topology_class_is_scale_up(link_class) ? loads.scale_up
                                                                  : TIER_UNIT;
        loaded[i] = (FlowEdge){edges[i].resource, edges[i].coefficient * times};
    }
    bool done = add_path(net, loaded, count, scale * TIER_UNIT, out, err);
    mem_free(loaded);
    if (done) keymap_add(&net->by_load, key, *out);
    return done;
}

void net_count(Net *net, const FlowEdge *edges, uint32_t count, uint64_t scale, uint64_t bytes) {
    for (uint32_t i = 0; i < count; i++)
        net->links[edges[i].resource].carried +=
            wide_mul(bytes, edges[i].coefficient) * (net->scale / scale);
}

void net_name_link(const Fabric *fabric, VertexId from, VertexId to, Text *out) {
    fabric_vertex_name(fabric, from, out);
    text_add(out, " -> ");
    fabric_vertex_name(fabric, to, out);
}

void net_name_busiest(const Fabric *fabric, LinkId id, LinkTotal *total) {
    Text text = {0};
    FabricLink link = fabric_link(fabric, id);
    net_name_link(fabric, link.from, link.to, &text);
    snprintf(total->busiest_name, sizeof total->busiest_name, "%s", text_string(&text));
    text_free(&text);
}

void net_totals(const Net *net, LinkTotal out[LINK_CLASS_COUNT]) {
    memset(out, 0, LINK_CLASS_COUNT * sizeof *out);
    ResourceId busiest[LINK_CLASS_COUNT];
    for (uint32_t c = 0; c < LINK_CLASS_COUNT; c++) busiest[c] = FLOW_NONE;
    for (ResourceId r = 0; r < flow_resource_count(net->flows); r++) {
        const NetLink *link = &net->links[r];
        LinkTotal *total = &out[link->link.link_class];
        uint64_t bytes = wide_saturate(wide_div_up(link->carried, net->scale));
        total->bytes = wide_add_saturate(total->bytes, wide_mul_saturate(bytes, link->links));
        ResourceId *best = &busiest[link->link.link_class];
        if (bytes == 0) continue;
        int fuller = *best == FLOW_NONE ? 1
                                        : wide_compare_ratio(bytes, link->link.capacity_Bps,
                                                             total->busiest_B, total->busiest_Bps);
        if (fuller < 0 || (fuller == 0 && link->id > net->links[*best].id)) continue;
        total->busiest_B = bytes;
        total->busiest_Bps = link->link.capacity_Bps;
        total->busiest_burst_B = link->link.burst_B;
        *best = r;
    }
    for (uint32_t c = 0; c < LINK_CLASS_COUNT; c++)
        if (busiest[c] != FLOW_NONE)
            net_name_busiest(net->fabric, net->links[busiest[c]].id, &out[c]);
}
