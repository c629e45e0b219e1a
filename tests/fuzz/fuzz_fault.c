// Fault lists from bytes on a small machine: each gives another machine that can be written, read
// back, compiled and routed, or one message and the machine as it was.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model/machine/device.h"
#include "model/machine/fabric.h"
#include "model/machine/fabric_loss.h"
#include "model/machine/topology.h"
#include "model/machine/topology_degrade.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char machine[] =
    "{\"moesim\": \"topology\", \"version\": 1, \"name\": \"fuzz\", \"machine\": \"rack\", "
    "\"templates\": {\"tray\": {\"parts\": {\"gpu\": {\"kind\": \"gpu\", \"count\": 2}, \"cpu\": "
    "{\"kind\": \"cpu\"}, \"nic\": {\"kind\": \"nic\", \"count\": 4}}, \"links\": [{\"from\": "
    "\"gpu[*]\", \"to\": \"cpu\", \"class\": \"c2c\", \"bandwidth\": \"4 GB/s\", \"latency\": \"1 "
    "ns\"}, {\"from\": \"nic[*]\", \"to\": \"cpu\", \"class\": \"pcie\", \"bandwidth\": \"1 "
    "GB/s\", \"latency\": \"1 ns\"}]}, \"rack\": {\"parts\": {\"tray\": {\"template\": \"tray\", "
    "\"count\": 3}, \"nvswitch\": {\"kind\": \"switch\", \"count\": 18}}, \"links\": [{\"from\": "
    "\"tray[*].gpu[*]\", \"to\": \"nvswitch[*]\", \"class\": \"nvlink\", \"cables\": 2, "
    "\"bandwidth\": \"50 GB/s\", \"latency\": \"1 ns\"}]}}}";

static void check_routes(const Fabric *fabric) {
    Route route = {0};
    Err err = {{0}};
    for (uint32_t i = 1; i < fabric_live_gpu_count(fabric); i++) {
        uint64_t sum = 0;
        VertexId from = fabric_gpu(fabric, fabric_live_gpu(fabric, 0));
        VertexId to = fabric_gpu(fabric, fabric_live_gpu(fabric, i));
        if (!fabric_route(fabric, from, to, &route, &err)) abort();
        for (uint32_t k = 0; k < route.count; k++) {
            if (fabric_link(fabric, route.edges[k].link).capacity_Bps == 0) abort();
            sum += route.edges[k].weight;
        }
        if (sum != (uint64_t)route.hops * route.weight_total) abort();
    }
    fabric_route_free(&route);
}

static void check_fabric(const Topology *topology) {
    DeviceCatalogue catalogue = {0};
    Fabric fabric = {0};
    FabricLoss loss;
    Err err = {{0}};
    if (!fabric_build(topology, &catalogue, &fabric, &err)) {
        if (!err_is_set(&err)) abort();
        return;
    }
    if (!fabric_check(&fabric, &err) || !fabric_has_faults(&fabric)) abort();
    check_routes(&fabric);
    if (!fabric_loss_find(&fabric, &loss, &err)) abort();
    fabric_free(&fabric);
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
    char faults[512];
    Topology topology = {0};
    Err err = {{0}};
    if (size >= sizeof faults) return 0;
    memcpy(faults, data, size);
    faults[size] = '\0';
    if (!topology_parse("machine", machine, sizeof machine - 1, &topology, &err)) abort();
    Digest built = topology.digest;
    if (topology_degrade_add(&topology, "--degrade", faults, &err)) {
        if (topology.digest == built) abort();
        check_round_trip(&topology);
        check_fabric(&topology);
    } else if (!err_is_set(&err) || topology.digest != built || topology.fault_count != 0) {
        abort();
    }
    topology_free(&topology);
    return 0;
}
