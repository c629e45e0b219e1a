// A machine from a name or from JSON text, with the shipped devices, for tests.
#ifndef TESTS_MACHINE_MACHINE_H
#define TESTS_MACHINE_MACHINE_H

#include "tests/check.h"

#include "model/machine/device.h"
#include "model/machine/fabric.h"
#include "model/machine/topology.h"
#include "model/machine/topology_degrade.h"

// Pointers inside point into it: not copied, not moved.
typedef struct Machine {
    DeviceCatalogue catalogue;
    Topology topology;
    Fabric fabric;
} Machine;

static inline void machine_build(Machine *machine, bool read, Err *err) {
    check_ok(read, err);
    check_ok(device_load(&machine->catalogue, err), err);
    check_ok(fabric_build(&machine->topology, &machine->catalogue, &machine->fabric, err), err);
    check_ok(fabric_check(&machine->fabric, err), err);
}

static inline void machine_open(Machine *machine, const char *name) {
    Err err = {{0}};
    *machine = (Machine){0};
    machine_build(machine, topology_load(name, &machine->topology, &err), &err);
}

// The same with faults, as after --degrade.
static inline void machine_degraded(Machine *machine, const char *name, const char *faults) {
    Err err = {{0}};
    *machine = (Machine){0};
    check_ok(topology_load(name, &machine->topology, &err), &err);
    machine_build(machine, topology_degrade_add(&machine->topology, "--degrade", faults, &err),
                  &err);
}

static inline void machine_parse(Machine *machine, const char *json) {
    Err err = {{0}};
    *machine = (Machine){0};
    machine_build(machine, topology_parse("text", json, strlen(json), &machine->topology, &err),
                  &err);
}

// One template "m" of these parts and links.
static inline void machine_of(Machine *machine, const char *parts, const char *links) {
    char json[8192];
    int length = snprintf(
        json, sizeof json,
        "{\"moesim\": \"topology\", \"version\": 1, \"name\": \"test\", \"templates\": {\"m\": "
        "{\"parts\": {%s}, \"links\": [%s]}}, \"machine\": \"m\"}",
        parts, links);
    assert_true(length > 0 && (size_t)length < sizeof json);
    machine_parse(machine, json);
}

static inline void machine_close(Machine *machine) {
    fabric_free(&machine->fabric);
    topology_free(&machine->topology);
    device_free(&machine->catalogue);
}

// A link rule as text: latency 500 ns.
#define MACHINE_LINK(from, to, class, cables, bandwidth)                                           \
    "{\"from\": \"" from "\", \"to\": \"" to                                                       \
    "\", \"class\": \"" class "\", \"cables\": " #cables ", \"bandwidth\": \"" bandwidth           \
                              "\", \"latency\": \"500 ns\"}"

#define MACHINE_PART(name, kind, count)                                                            \
    "\"" name "\": {\"kind\": \"" kind "\", \"count\": " #count "}"

#endif
