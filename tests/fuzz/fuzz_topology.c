// Topology files from bytes: what is accepted can be written, read back, compiled, walked and
// routed.
#include <stdint.h>
#include <stdlib.h>

#include "model/machine/device.h"
#include "model/machine/fabric.h"
#include "model/machine/fabric_summary.h"
#include "model/machine/topology.h"
#include "model/machine/topology_place.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Larger inputs and machines only take longer.
#define SIZE_MAX_B 2048
#define PARTS_MAX  40

static void check_routes(const Fabric *fabric) {
    Route route = {0};
    Err err = {{0}};
    for (VertexId to = 0; to < fabric->vertex_count; to += 1 + fabric->vertex_count / 8) {
        uint64_t sum = 0;
        if (!fabric_route(fabric, 0, to, &route, &err)) continue;
        for (uint32_t i = 0; i < route.count; i++) sum += route.edges[i].weight;
        if (sum != (uint64_t)route.hops * route.weight_total) abort();
    }
    fabric_route_free(&route);
}

static void check_fabric(const Topology *topology) {
    static const Device devices[] = {
        {.name = "A", .kind = "gpu", .source = "", .note = ""},
        {.name = "B", .kind = "switch", .source = "", .note = "", .ports = 4}};
    Device copies[2] = {devices[0], devices[1]};
    DeviceCatalogue catalogue = {.devices = copies, .count = 2};
    Fabric fabric = {0};
    FabricSummary summary;
    Err err = {{0}};
    if (!fabric_build(topology, &catalogue, &fabric, &err)) {
        if (!err_is_set(&err)) abort();
        return;
    }
    if (!fabric_check(&fabric, &err)) abort();
    check_routes(&fabric);
    if (!fabric_summary_make(&fabric, &summary, &err) && !err_is_set(&err)) abort();
    fabric_free(&fabric);
}

static bool is_small(const Topology *topology) {
    Arena arena = {0};
    Err err = {{0}};
    TopologyPlace *places;
    uint32_t count;
    uint64_t total = 0;
    if (!topology_place_list(topology, &arena, &places, &count, &err)) abort();
    for (uint32_t i = 0; i < count; i++) {
        uint64_t copies = 1;
        for (uint32_t level = 0; level < places[i].depth; level++) {
            copies *= topology_place_part(topology, &places[i], level)->count;
        }
        total += copies;
    }
    arena_free(&arena);
    return total <= PARTS_MAX;
}

static void check_round_trip(const Topology *topology) {
    Text text = {0};
    Topology again = {0};
    Err err = {{0}};
    topology_write(topology, &text);
    if (!topology_parse("again", text.data, text.length, &again, &err)) abort();
    if (again.digest != topology->digest) abort();
    topology_free(&again);
    text_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Topology topology = {0};
    Err err = {{0}};
    if (size > SIZE_MAX_B) return 0;
    if (!topology_parse("input", (const char *)data, size, &topology, &err)) {
        if (!err_is_set(&err)) abort();
        return 0;
    }
    check_round_trip(&topology);
    if (is_small(&topology)) check_fabric(&topology);
    topology_free(&topology);
    return 0;
}
