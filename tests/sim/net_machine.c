// Machines for lists of transfers.
#include "tests/sim/net_machine.h"

#include "tests/check.h"

char *net_machine_fat_tree(Arena *arena, uint32_t nodes, uint32_t spines) {
    return arena_printf(
        arena,
        "{\"moesim\": \"topology\", \"version\": 1, \"name\": \"fat tree\", \"source\": \"test\","
        "\"templates\": {\"node\": {\"parts\": {\"gpu\": {\"kind\": \"gpu\", \"count\": 8},"
        "\"plane\": {\"kind\": \"switch\", \"count\": 1}}, \"links\": [{\"from\": \"gpu[*]\","
        "\"to\": \"plane[0]\", \"class\": \"nvlink\", \"bandwidth\": \"450 GB/s\","
        "\"latency\": \"250 ns\"}]},"
        "\"unit\": {\"parts\": {\"node\": {\"template\": \"node\", \"count\": 2},"
        "\"leaf\": {\"kind\": \"switch\", \"count\": 1}}, \"links\": [{\"from\": "
        "\"node[*].gpu[*]\","
        "\"to\": \"leaf[0]\", \"class\": \"ib\", \"bandwidth\": \"50 GB/s\","
        "\"latency\": \"500 ns\"}]},"
        "\"cluster\": {\"parts\": {\"unit\": {\"template\": \"unit\", \"count\": %u},"
        "\"spine\": {\"kind\": \"switch\", \"count\": %u}}, \"links\": [{\"from\": "
        "\"unit[*].leaf[0]\","
        "\"to\": \"spine[*]\", \"class\": \"ib\", \"bandwidth\": \"50 GB/s\","
        "\"latency\": \"500 ns\"}]}}, \"machine\": \"cluster\"}",
        nodes / 2, spines);
}

void net_machine_open(NetMachine *machine, const char *text) {
    Err err = {0};
    *machine = (NetMachine){0};
    if (text[0] == '{')
        check_ok(topology_parse("test", text, strlen(text), &machine->topology, &err), &err);
    else
        check_ok(topology_load(text, &machine->topology, &err), &err);
    check_ok(device_load(&machine->catalogue, &err), &err);
    check_ok(fabric_build(&machine->topology, &machine->catalogue, &machine->fabric, &err), &err);
}

TierConstants net_machine_tier(void) {
    Calib calib = {0};
    Err err = {0};
    check_ok(calib_load(NULL, "*", &calib, &err), &err);
    TierConstants constants = tier_constants(&calib);
    calib_free(&calib);
    return constants;
}

void net_machine_close(NetMachine *machine) {
    fabric_free(&machine->fabric);
    device_free(&machine->catalogue);
    topology_free(&machine->topology);
}
