// Machines and schedules for tests of the simulator.
#include "tests/sim/sim_machine.h"

#include "tests/check.h"

void sim_machine_init(SimMachine *bench) {
    *bench = (SimMachine){0};
    for (uint32_t p = 0; p < CALIB_COUNT; p++)
        bench->calib.values[p].value = calib_kind((CalibParam)p) == CALIB_IS_PLAIN ? 0 : 1;
    const CalibParam times[] = {CALIB_KERNEL,   CALIB_NVLINK_STEP, CALIB_PCIE_STEP,
                                CALIB_NET_STEP, CALIB_COLLECTIVE,  CALIB_STEP_OVERHEAD};
    for (uint32_t i = 0; i < sizeof times / sizeof *times; i++)
        bench->calib.values[times[i]].value = 0;
    // 1 TB/s of memory: an operation that moves 1 MB takes 1 us.
    bench->device.name = "test";
    bench->device.memory_Bps = (Range){1000000000000, 1000000000000};
    bench->device.rate_flops[NUMFMT_BF16] = (Range){1000000000000000, 1000000000000000};
    bench->device.compute_units = 100;
    bench->model = (PriceModel){&bench->device, &bench->calib};
}

void sim_machine_open(SimMachine *bench, const char *json) {
    Err err = {0};
    sim_machine_init(bench);
    check_ok(topology_parse("test", json, strlen(json), &bench->topology, &err), &err);
    check_ok(fabric_build(&bench->topology, &bench->catalogue, &bench->fabric, &err), &err);
}

void sim_machine_close(SimMachine *bench) {
    fabric_free(&bench->fabric);
    device_free(&bench->catalogue);
    topology_free(&bench->topology);
}

char *sim_machine_switch(Arena *arena, uint32_t gpus, uint32_t planes, const char *bandwidth) {
    return arena_printf(
        arena,
        "{\"moesim\": \"topology\", \"version\": 1, \"name\": \"switch\", \"source\": \"test\","
        "\"templates\": {\"box\": {\"parts\": {\"gpu\": {\"kind\": \"gpu\", \"count\": %u},"
        "\"plane\": {\"kind\": \"switch\", \"count\": %u}}, \"links\": [{\"from\": \"gpu[*]\","
        "\"to\": \"plane[*]\", \"class\": \"nvlink\", \"bandwidth\": \"%s\", \"latency\": \"250 "
        "ns\","
        "\"source\": \"test\"}]}}, \"machine\": \"box\"}",
        gpus, planes, bandwidth);
}

// `nodes` of `gpus`, an NVSwitch of 450 GB/s in each, one NIC of 50 GB/s a GPU, a leaf per rail,
// `spines` above the leaves.
char *sim_machine_rails(Arena *arena, uint32_t units, uint32_t nodes, uint32_t gpus,
                        uint32_t spines) {
    return arena_printf(
        arena,
        "{\"moesim\": \"topology\", \"version\": 1, \"name\": \"rails\", \"source\": \"test\","
        "\"templates\": {\"node\": {\"parts\": {\"gpu\": {\"kind\": \"gpu\", \"count\": %u},"
        "\"plane\": {\"kind\": \"switch\", \"count\": 1}, \"nic\": {\"kind\": \"nic\", \"count\": "
        "%u}},"
        "\"links\": [{\"from\": \"gpu[*]\", \"to\": \"plane[0]\", \"class\": \"nvlink\","
        "\"bandwidth\": \"450 GB/s\", \"latency\": \"250 ns\", \"source\": \"test\"},"
        "{\"from\": \"gpu[i]\", \"to\": \"nic[i]\", \"class\": \"pcie\", \"bandwidth\": \"63 "
        "GB/s\","
        "\"latency\": \"300 ns\", \"source\": \"test\"}]},"
        "\"unit\": {\"parts\": {\"node\": {\"template\": \"node\", \"count\": %u},"
        "\"leaf\": {\"kind\": \"switch\", \"count\": %u}}, \"links\": [{\"from\": "
        "\"node[*].nic[r]\","
        "\"to\": \"leaf[r]\", \"class\": \"ib\", \"bandwidth\": \"50 GB/s\", \"latency\": \"300 "
        "ns\","
        "\"source\": \"test\"}]},"
        "\"cluster\": {\"parts\": {\"unit\": {\"template\": \"unit\", \"count\": %u},"
        "\"spine\": {\"kind\": \"switch\", \"count\": %u}}, \"links\": [{\"from\": "
        "\"unit[*].leaf[*]\","
        "\"to\": \"spine[*]\", \"class\": \"ib\", \"bandwidth\": \"50 GB/s\", \"latency\": \"300 "
        "ns\","
        "\"source\": \"test\"}]}}, \"machine\": \"cluster\"}",
        gpus, gpus, nodes, gpus, units, spines);
}

void sim_machine_collect(Schedule *schedule, uint32_t ranks, const Collect *collect) {
    schedule_init(schedule, "test", ranks);
    RoleId role = schedule_add_role(schedule, "all", (RankSet){0, ranks, ranks, 1}, 1);
    GroupId group = schedule_add_group(
        schedule, &(GroupFamily){"group", collect->size, collect->stride, ranks / collect->size, 0,
                                 ranks, ranks / collect->size});
    BufferId in = schedule_add_buffer(
        schedule, &(Buffer){"in", role, NUMFMT_BF16, BUFFER_STEP, extent_fixed(collect->bytes)});
    BufferId out = schedule_add_buffer(
        schedule, &(Buffer){"out", role, NUMFMT_BF16, BUFFER_STEP, extent_fixed(collect->bytes)});
    BlockId block = schedule_add_block(schedule, role, "block");
    schedule_add_op(schedule, &(Op){.kind = OP_COLLECTIVE,
                                    .op_class = OP_CLASS_OTHER,
                                    .name = "collect",
                                    .comm = {.collective = collect->kind,
                                             .algorithm = collect->algorithm,
                                             .group = group,
                                             .bytes = extent_fixed(collect->bytes),
                                             .element = 2,
                                             .format = NUMFMT_BF16}});
    schedule_add_slice(schedule, &(Slice){in, SLICE_READ, {0}, extent_fixed(collect->bytes)});
    schedule_add_slice(schedule, &(Slice){out, SLICE_WRITE, {0}, extent_fixed(collect->bytes)});
    schedule_add_segment(schedule, role, block, collect->times);
    schedule_finish(schedule);
}

void sim_machine_run(SimMachine *bench, const Schedule *schedule, SimForm form, Timeline *out) {
    Err err = {0};
    StepShape shape = {1, 1, 1, 1};
    Load load = load_uniform();
    SimOptions options = {.form = form};
    check_ok(sim_run(&bench->fabric, &bench->model, schedule, &shape, &load, &options, out, &err),
             &err);
}

Time sim_machine_time(SimMachine *bench, const Schedule *schedule, SimForm form) {
    Timeline timeline = {0};
    sim_machine_run(bench, schedule, form, &timeline);
    Time end = timeline.end_ps;
    timeline_free(&timeline);
    return end;
}

Op sim_machine_memory_op(const char *name, uint32_t stream, uint64_t bytes) {
    return (Op){.kind = OP_MEMORY,
                .op_class = OP_CLASS_OTHER,
                .name = name,
                .stream = stream,
                .compute = {.bytes = extent_fixed(bytes)}};
}

char *sim_machine_racks(Arena *arena, uint32_t racks, uint32_t trays) {
    return arena_printf(
        arena,
        "{\"moesim\": \"topology\", \"version\": 1, \"name\": \"racks\", \"source\": \"test\","
        "\"templates\": {\"tray\": {\"parts\": {\"gpu\": {\"kind\": \"gpu\", \"count\": 2},"
        "\"nic\": {\"kind\": \"nic\", \"count\": 2}},"
        "\"links\": [{\"from\": \"gpu[i]\", \"to\": \"nic[i]\", \"class\": \"pcie\","
        "\"bandwidth\": \"63 GB/s\", \"latency\": \"300 ns\", \"source\": \"test\"}]},"
        "\"rack\": {\"parts\": {\"tray\": {\"template\": \"tray\", \"count\": %u},"
        "\"plane\": {\"kind\": \"switch\", \"count\": 3}},"
        "\"links\": [{\"from\": \"tray[*].gpu[*]\", \"to\": \"plane[*]\", \"class\": \"nvlink\","
        "\"bandwidth\": \"50 GB/s\", \"latency\": \"250 ns\", \"source\": \"test\"}]},"
        "\"hall\": {\"parts\": {\"rack\": {\"template\": \"rack\", \"count\": %u},"
        "\"leaf\": {\"kind\": \"switch\", \"count\": 2}, \"spine\": {\"kind\": \"switch\", "
        "\"count\": 2}},"
        "\"links\": [{\"from\": \"rack[*].tray[*].nic[r]\", \"to\": \"leaf[r]\", \"class\": \"ib\","
        "\"bandwidth\": \"50 GB/s\", \"latency\": \"300 ns\", \"source\": \"test\"},"
        "{\"from\": \"leaf[*]\", \"to\": \"spine[*]\", \"class\": \"ib\", \"bandwidth\": \"100 "
        "GB/s\","
        "\"latency\": \"300 ns\", \"source\": \"test\"}]}}, \"machine\": \"hall\"}",
        trays, racks);
}
