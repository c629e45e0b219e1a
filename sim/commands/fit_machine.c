// What the command fit needs to know of a machine.
//
// Invariant: memory and rates are those of the topology or of the catalogue; a tier that GPUs share
// is divided evenly among them.
#include "sim/commands/fit_machine.h"

#include <string.h>

#include "model/base/wide.h"
#include "model/cost/gpus.h"
#include "model/machine/fabric.h"
#include "model/machine/topology.h"
#include "sim/commands/machine_option.h"

#define MACHINES_MAX 64

// ---- From a topology.

// The last part of a class name: "tray.dram" is "dram".
static const char *last_name(const char *class_name) {
    const char *dot = strrchr(class_name, '.');
    return dot != NULL ? dot + 1 : class_name;
}

static uint64_t rate_out(const Fabric *fabric, VertexId vertex) {
    uint64_t cursor = 0, sum = 0;
    LinkId link;
    while (fabric_next_link(fabric, vertex, &cursor, &link))
        sum = wide_add_saturate(sum, fabric_link(fabric, link).capacity_Bps);
    return sum;
}

static bool find_tier(const Fabric *fabric, const char *machine, const char *name, Arena *arena,
                      FitTier *out, Err *err) {
    const VertexClass *found = NULL;
    for (uint32_t i = 0; i < fabric->class_count && found == NULL; i++) {
        const VertexClass *c = &fabric->classes[i];
        bool holds = c->kind == PART_MEMORY || c->kind == PART_CPU;
        if (holds && c->memory_B > 0 &&
            (strcmp(name, "host") == 0 ? c->kind == PART_MEMORY
                                       : strcmp(last_name(c->name), name) == 0))
            found = c;
    }
    if (found == NULL)
        return err_set(err, "%s: no memory \"%s\" to put anything into", machine, name);
    Route route = {0};
    if (!fabric_route(fabric, found->first, fabric_gpu(fabric, 0), &route, err)) return false;
    uint64_t each = wide_mul_div(rate_out(fabric, found->first), found->count, fabric->gpu_count);
    *out = (FitTier){.name = arena_string(arena, found->name),
                     .share_B = wide_mul_div(found->memory_B, found->count, fabric->gpu_count),
                     .share_Bps = route.bandwidth_Bps < each ? route.bandwidth_Bps : each};
    fabric_route_free(&route);
    return true;
}

static bool load_one(const CliArgs *args, const char *name, const char *tier,
                     const DeviceCatalogue *catalogue, Arena *arena, FitMachine *out, Err *err) {
    Topology topology = {0};
    Fabric fabric = {0};
    bool ok = machine_option_load(args, name, catalogue, &topology, err) &&
              fabric_build(&topology, catalogue, &fabric, err) &&
              gpus_device(&fabric, name, GPUS_NEED_MEMORY, &out->device, err) &&
              (tier == NULL || find_tier(&fabric, name, tier, arena, &out->tier, err));
    if (ok) {
        const VertexClass *gpus = fabric_class(&fabric, fabric_gpu(&fabric, 0));
        out->name = arena_string(arena, name);
        out->memory_B = gpus->memory_B > 0 ? gpus->memory_B : device_low(out->device->memory_B);
        out->gpus = fabric_live_gpu_count(&fabric);
        out->group = fabric.domain_size > 1 ? fabric.domain_size : fabric.node_size;
        if (out->group > out->gpus) out->group = out->gpus;
    }
    fabric_free(&fabric);
    topology_free(&topology);
    return ok;
}

bool fit_machine_load(const CliArgs *args, const char *tier, const DeviceCatalogue *catalogue,
                      Arena *arena, FitMachine **out, uint32_t *out_count, Err *err) {
    const char *each[MACHINES_MAX];
    uint32_t count;
    if (!machine_option_split("topo", cli_text(args, "topo"), '+', MACHINES_MAX, arena, each,
                              &count, err))
        return false;
    FitMachine *machines = arena_alloc(arena, count, sizeof *machines);
    for (uint32_t i = 0; i < count; i++)
        if (!load_one(args, each[i], tier, catalogue, arena, &machines[i], err)) return false;
    *out = machines;
    *out_count = count;
    return true;
}

// ---- From the catalogue.

static FitMachine machine_of(const Device *device, uint32_t gpus, Arena *arena) {
    return (FitMachine){.name = arena_printf(arena, "%u x %s", gpus, device->name),
                        .device = device,
                        .memory_B = device_low(device->memory_B),
                        .gpus = gpus,
                        .group = gpus};
}

static bool is_listed(const Device *device) {
    return strcmp(device->kind, "gpu") == 0 && device_low(device->memory_B) > 0;
}

bool fit_machine_devices(const char *names, uint32_t gpus, const DeviceCatalogue *catalogue,
                         Arena *arena, FitMachine **out, uint32_t *out_count, Err *err) {
    const char *each[MACHINES_MAX];
    uint32_t count = 0, filled = 0;
    bool all = strcmp(names, "all") == 0;
    if (!all &&
        !machine_option_split("devices", names, '+', MACHINES_MAX, arena, each, &count, err))
        return false;
    FitMachine *machines = arena_alloc(arena, all ? catalogue->count : count, sizeof *machines);
    for (uint32_t i = 0; all && i < catalogue->count; i++)
        if (is_listed(&catalogue->devices[i]))
            machines[filled++] = machine_of(&catalogue->devices[i], gpus, arena);
    for (uint32_t i = 0; i < count; i++) {
        const Device *device = device_find(catalogue, each[i]);
        if (device == NULL) return device_unknown(catalogue, each[i], err);
        if (!is_listed(device))
            return err_set(err, "--devices: %s is no GPU with a known memory", device->name);
        machines[filled++] = machine_of(device, gpus, arena);
    }
    *out = machines;
    *out_count = filled;
    return true;
}
