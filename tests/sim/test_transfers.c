// Lists of transfers through the flow model, as worked examples.
#include "tests/check.h"

#include "sim/packet.h"
#include "sim/transfers.h"
#include "tests/sim/net_machine.h"

#define PS_PER_NS 1000
#define MB        UINT64_C(1000000)

static const TransfersOptions nominal = {0};

static TransfersResult run(const char *text, const NetTransfer *list, uint32_t count,
                           const TransfersOptions *options) {
    NetMachine machine;
    Err err = {0};
    TransfersResult result = {0};
    net_machine_open(&machine, text);
    check_ok(transfers_run(&machine.fabric, list, count, options, &result, &err), &err);
    net_machine_close(&machine);
    return result;
}

static Time finish_ns(const TransfersResult *result, uint32_t transfer) {
    assert_int_equal(result->finish[transfer] % PS_PER_NS, 0);
    return result->finish[transfer] / PS_PER_NS;
}

// 500 ns of two links and 1 MB / 100 GB/s; the same from 3 us on; nothing takes the latency.
static void test_transfers_alone_take_latency_and_bytes(void **state) {
    (void)state;
    NetTransfer list[] = {{0, 1, MB, 0}, {2, 3, MB, 3000 * PS_PER_NS}, {4, 5, 0, 0}};
    TransfersResult r = run("switch:6,100GB/s,latency=250ns", list, 3, &nominal);
    assert_int_equal(finish_ns(&r, 0), 10500);
    assert_int_equal(finish_ns(&r, 1), 13500);
    assert_int_equal(finish_ns(&r, 2), 500);
    assert_int_equal(r.end_ps, 13500 * PS_PER_NS);
    assert_int_equal(r.bound_ps, r.end_ps);
    transfers_result_free(&r);
}

// 1 MB and 3 MB into one port of 100 GB/s: 50 GB/s each for 20 us, then 2 MB alone. The port is the
// bound: 4 MB and 500 ns.
static void test_transfers_share_a_port(void **state) {
    (void)state;
    NetTransfer list[] = {{1, 0, MB, 0}, {2, 0, 3 * MB, 0}};
    TransfersResult r = run("switch:3,100GB/s,latency=250ns", list, 2, &nominal);
    assert_int_equal(finish_ns(&r, 0), 20500);
    assert_int_equal(finish_ns(&r, 1), 40500);
    assert_int_equal(r.bound_ps, 40500 * PS_PER_NS);
    const LinkTotal *total = &r.links[LINK_NVLINK];
    assert_int_equal(total->bytes, 8 * MB);
    assert_int_equal(total->busiest_B, 4 * MB);
    assert_int_equal(total->busiest_Bps, 100000 * MB);
    assert_string_equal(total->busiest_name, "switch -> gpu[0]");
    transfers_result_free(&r);
}

// Two equal pairs are two transfers: 2 MB from GPU 0.
static void test_transfers_of_one_pair_share(void **state) {
    (void)state;
    NetTransfer list[] = {{0, 1, MB, 0}, {0, 1, MB, 0}};
    TransfersResult r = run("switch:3,100GB/s,latency=250ns", list, 2, &nominal);
    assert_int_equal(finish_ns(&r, 0), 20500);
    assert_int_equal(finish_ns(&r, 1), 20500);
    transfers_result_free(&r);
}

// An NVL72 GPU has 18 links of 50 GB/s: 900 GB/s, so 9 MB take 10 us; each link carries 500 kB.
static void test_transfers_stripe_over_planes(void **state) {
    (void)state;
    NetTransfer list[] = {{0, 71, 9 * MB, 0}};
    TransfersResult r = run("nvl72.json", list, 1, &nominal);
    assert_int_equal(r.end_ps, r.bound_ps);
    assert_int_equal(r.links[LINK_NVLINK].busiest_B, MB / 2);
    assert_int_equal(r.links[LINK_NVLINK].bytes, 18 * MB);
    transfers_result_free(&r);
}

// 10 000 B are 3 packets of up to 4000 B, each with 100 B more: 10 300 B at 100 GB/s are 103 ns.
static void test_transfers_count_headers(void **state) {
    (void)state;
    NetTransfer list[] = {{0, 1, 10000, 0}};
    TransfersOptions options = {.mtu_B = 4000, .header_B = 100};
    TransfersResult r = run("switch:2,100GB/s,latency=250ns", list, 1, &options);
    assert_int_equal(finish_ns(&r, 0), 603);
    assert_int_equal(r.bound_ps, 600 * PS_PER_NS);
    assert_int_equal(r.links[LINK_NVLINK].busiest_B, 10000);
    transfers_result_free(&r);
}

// At 80 % of the rate 1 MB takes 12.5 us; 2 us of software come before it.
static void test_transfers_use_the_calibration(void **state) {
    (void)state;
    Calib calib = {0};
    calib.values[CALIB_NVLINK].value = 0.8;
    calib.values[CALIB_NVLINK_STEP].value = 2e-6;
    NetTransfer list[] = {{0, 1, MB, 0}};
    TransfersOptions options = {.calib = &calib};
    TransfersResult r = run("switch:2,100GB/s,latency=250ns", list, 1, &options);
    assert_int_equal(finish_ns(&r, 0), 2000 + 500 + 12500);
    assert_int_equal(r.bound_ps, 10500 * PS_PER_NS);
    transfers_result_free(&r);
}

// A GPU and its host by C2C alone.
static const char c2c_machine[] =
    "{\"moesim\": \"topology\", \"version\": 1, \"name\": \"t\", \"source\": \"test\","
    " \"templates\": {\"node\": {\"parts\": {\"gpu\": {\"kind\": \"gpu\"},"
    " \"cpu\": {\"kind\": \"cpu\"}}, \"links\": [{\"from\": \"gpu\", \"to\": \"cpu\","
    " \"class\": \"c2c\", \"bandwidth\": \"450 GB/s\", \"latency\": \"400 ns\"}]}},"
    " \"machine\": \"node\"}";

// Copy engines reach 90 % of NVLink where kernels reach 80 %: 9 MB by 100 GB/s take 100 us. Other
// links do not ask who moves: 9 MB by C2C, 450 GB/s at 50 %, take 40 us.
static void test_transfers_by_copy_engines(void **state) {
    (void)state;
    Calib calib = {0};
    calib.values[CALIB_NVLINK].value = 0.8;
    calib.values[CALIB_NVLINK_COPY].value = 0.9;
    calib.values[CALIB_C2C].value = 0.5;
    TransfersOptions options = {.calib = &calib, .mover = TRANSFERS_BY_COPY_ENGINES};
    NetTransfer list[] = {{0, 1, 9 * MB, 0}};
    TransfersResult r = run("switch:2,100GB/s,latency=250ns", list, 1, &options);
    assert_int_equal(finish_ns(&r, 0), 500 + 100000);
    transfers_result_free(&r);
    NetTransfer host[] = {{0, 1, 9 * MB, 0}};
    r = run(c2c_machine, host, 1, &options);
    assert_int_equal(finish_ns(&r, 0), 400 + 40000);
    transfers_result_free(&r);
}

// All pairs of a fat tree, 2 spines for 16 ports a leaf: a leaf sends 16 x 16 x 100 kB over 2 links
// of 50 GB/s to the other leaf: 256 us and 2 us of latency. Backwards the same.
static void test_transfers_find_the_narrow_tier(void **state) {
    (void)state;
    Arena arena = {0};
    NetTransfer *list = arena_alloc(&arena, 1024, sizeof *list), *back;
    back = arena_alloc(&arena, 1024, sizeof *list);
    uint32_t count = 0;
    for (uint32_t from = 0; from < 32; from++)
        for (uint32_t to = 0; to < 32; to++)
            if (from != to) list[count++] = (NetTransfer){from, to, 100000, 0};
    for (uint32_t i = 0; i < count; i++) back[i] = list[count - 1 - i];
    TransfersResult a = run(net_machine_fat_tree(&arena, 4, 2), list, count, &nominal);
    TransfersResult b = run(net_machine_fat_tree(&arena, 4, 2), back, count, &nominal);
    assert_int_equal(a.end_ps, 258000 * PS_PER_NS);
    assert_int_equal(a.bound_ps, a.end_ps);
    for (uint32_t i = 0; i < count; i++) assert_int_equal(a.finish[i], b.finish[count - 1 - i]);
    assert_string_equal(a.links[LINK_IB].busiest_name, b.links[LINK_IB].busiest_name);
    transfers_result_free(&a);
    transfers_result_free(&b);
    arena_free(&arena);
}

static void test_transfers_refuse(void **state) {
    (void)state;
    NetMachine machine;
    Err err = {0};
    TransfersResult result = {0};
    TransfersOptions options = {0};
    net_machine_open(&machine, "switch:4,1GB/s");
#define REFUSES(message, ...)                                                                      \
    do {                                                                                           \
        NetTransfer list[] = {{0, 1, 1, 0}, __VA_ARGS__};                                          \
        check_fails(transfers_run(&machine.fabric, list, 2, &options, &result, &err), &err,        \
                    message);                                                                      \
    } while (0)
    REFUSES("transfer 1: switch is a switch, which sends and receives nothing itself: expected a "
            "gpu, cpu, nic, memory or storage",
            {4, 1, 1, 0});
    REFUSES("transfer 1: part 9 is not there: the machine has GPUs 0 to 3 and parts to 4",
            {1, 9, 1, 0});
    REFUSES("transfer 1: expected two parts, found gpu[2] twice", {2, 2, 1, 0});
    REFUSES("transfer 1: expected less than 2^62 B, found 9223372036854775808 B",
            {2, 3, UINT64_C(1) << 63, 0});
    REFUSES("transfer 1: expected a start of 0 or later, found -1 ps", {2, 3, 1, -1});
    REFUSES("the transfers take longer than 9223372 s, the most that can be timed",
            {2, 3, UINT64_C(1) << 61, 0});
    REFUSES("transfer 1: the transfers take longer than 9223372 s, the most that can be timed",
            {2, 3, 1, TIME_MAX});
#undef REFUSES
    assert_null(result.finish);
    net_machine_close(&machine);
}

// Part `number` of those of the name.
static VertexId part(const Fabric *fabric, const char *name, uint32_t number) {
    for (uint32_t i = 0; i < fabric->class_count; i++)
        if (strcmp(fabric->classes[i].name, name) == 0) return fabric->classes[i].first + number;
    fail_msg("no parts are called %s", name);
    return FABRIC_NONE;
}

// Two GPUs of 450 GB/s each to the Grace that they share write to its DRAM of 512 GB/s: 9 GB take
// 17.578125 ms, and 300 ns of C2C and memory; each gets 256 GB/s. One alone has all of its C2C: 4.5
// GB take 10 ms. Reading is the same the other way.
static void test_transfers_to_host_memory_share_its_rate(void **state) {
    (void)state;
    NetMachine machine;
    Err err = {0};
    TransfersResult r = {0};
    net_machine_open(&machine, "nvl72.json");
    VertexId dram = part(&machine.fabric, "tray.dram", 0);
    NetTransfer both[] = {{0, dram, 4500 * MB, 0}, {1, dram, 4500 * MB, 0}};
    check_ok(transfers_run(&machine.fabric, both, 2, &nominal, &r, &err), &err);
    assert_int_equal(r.finish[0], INT64_C(17578125000) + 300 * PS_PER_NS);
    assert_int_equal(r.finish[1], r.finish[0]);
    assert_int_equal(r.bound_ps, r.end_ps);
    assert_string_equal(r.links[LINK_MEMORY].busiest_name, "tray[0].cpu[0] -> tray[0].dram[0]");
    transfers_result_free(&r);
    check_ok(transfers_run(&machine.fabric, both, 1, &nominal, &r, &err), &err);
    assert_int_equal(finish_ns(&r, 0), 10000300);
    transfers_result_free(&r);
    NetTransfer back[] = {{dram, 0, 4500 * MB, 0}, {dram, 1, 4500 * MB, 0}};
    check_ok(transfers_run(&machine.fabric, back, 2, &nominal, &r, &err), &err);
    assert_int_equal(r.end_ps, INT64_C(17578125000) + 300 * PS_PER_NS);
    transfers_result_free(&r);
    net_machine_close(&machine);
}

// A drive of DGX A100 moves 7.875 GB/s: 7.875 GB take 1 s, 10 us of the drive and 200 ns of PCIe.
static void test_transfers_to_storage(void **state) {
    (void)state;
    NetMachine machine;
    Err err = {0};
    TransfersResult r = {0};
    net_machine_open(&machine, "hgx-a100.json");
    NetTransfer list[] = {{0, part(&machine.fabric, "nvme", 0), 7875 * MB, 0}};
    check_ok(transfers_run(&machine.fabric, list, 1, &nominal, &r, &err), &err);
    assert_int_equal(finish_ns(&r, 0), 1000010200);
    transfers_result_free(&r);
    net_machine_close(&machine);
}

// A checkpoint of 8 x 63 GB, a drive for each GPU, from the drives beside them: bytes / storage
// rate, 504 GB / (8 x 7.875 GB/s) = 8 s. Read by all GPUs from one drive, as a shared file is, it
// takes eight times as long: 64 s.
static void test_transfers_load_a_checkpoint(void **state) {
    (void)state;
    NetMachine machine;
    Err err = {0};
    TransfersResult r = {0};
    net_machine_open(&machine, "hgx-a100.json");
    VertexId nvme = part(&machine.fabric, "nvme", 0);
    NetTransfer own[8], shared[8];
    for (uint32_t i = 0; i < 8; i++) {
        own[i] = (NetTransfer){nvme + i, i, 63000 * MB, 0};
        shared[i] = (NetTransfer){nvme, i, 63000 * MB, 0};
    }
    check_ok(transfers_run(&machine.fabric, own, 8, &nominal, &r, &err), &err);
    assert_int_equal(finish_ns(&r, 7), INT64_C(8000010200));
    transfers_result_free(&r);
    check_ok(transfers_run(&machine.fabric, shared, 8, &nominal, &r, &err), &err);
    assert_int_equal(r.bound_ps, INT64_C(64) * PS_PER_SECOND + 10200 * PS_PER_NS);
    assert_true(r.end_ps >= r.bound_ps && r.end_ps < r.bound_ps + PS_PER_SECOND / 1000);
    transfers_result_free(&r);
    net_machine_close(&machine);
}

// The memory of all CPUs of a CloudMatrix384 is a pool: an NPU reaches DRAM of another node over
// seven planes of UB, and the CPU there takes 7 x 22.857 = 159.999 GB/s: 159.999 GB in 1 s. Two
// nodes' memories together are twice as fast.
static void test_transfers_to_pooled_memory(void **state) {
    (void)state;
    NetMachine machine;
    Err err = {0};
    TransfersResult r = {0};
    net_machine_open(&machine, "cloudmatrix384.json");
    VertexId dram = part(&machine.fabric, "node.dram", 0);
    NetTransfer list[] = {{0, dram + 4, 159999 * MB, 0}, {0, dram + 8, 159999 * MB, 0}};
    check_ok(transfers_run(&machine.fabric, list, 2, &nominal, &r, &err), &err);
    for (uint32_t i = 0; i < 2; i++) {
        assert_true(r.finish[i] > PS_PER_SECOND);
        assert_true(r.finish[i] < PS_PER_SECOND + 10000 * PS_PER_NS); // latencies
    }
    assert_int_equal(r.links[LINK_MEMORY].busiest_B, 159999 * MB);
    transfers_result_free(&r);
    net_machine_close(&machine);
}

// Two GPUs of a DGX-1 behind one PCIe switch share the link of its one NIC, 15.75 GB/s: twice
// 15.75 GB take 2 s.
static void test_transfers_behind_one_nic_share_it(void **state) {
    (void)state;
    NetMachine machine;
    Err err = {0};
    TransfersResult r = {0};
    Route route = {0};
    net_machine_open(&machine, "dgx1-v100.json");
    VertexId nic = part(&machine.fabric, "nic", 0);
    check_ok(fabric_route(&machine.fabric, 0, nic, &route, &err), &err);
    uint64_t second_B = route.bandwidth_Bps;
    NetTransfer list[] = {{0, nic, second_B, 0}, {1, nic, second_B, 0}};
    check_ok(transfers_run(&machine.fabric, list, 2, &nominal, &r, &err), &err);
    assert_int_equal(second_B, 15750 * MB);
    assert_int_equal(r.finish[0], 2 * PS_PER_SECOND + route.latency_ps);
    assert_int_equal(r.finish[1], r.finish[0]);
    fabric_route_free(&route);
    transfers_result_free(&r);
    net_machine_close(&machine);
}

static void test_transfers_of_an_empty_list(void **state) {
    (void)state;
    TransfersResult r = run("switch:4,1GB/s", NULL, 0, &nominal);
    assert_int_equal(r.end_ps, 0);
    assert_int_equal(r.bound_ps, 0);
    transfers_result_free(&r);
}

// Shaped links of 25 MB/s with 20 kB that pass at once: 120 kB need (120 - 20) kB / 25 MB/s = 4 ms,
// and what a bucket may be closed too early by: 8.8 B (flow.h) / 25 MB/s = 352 ns at each of two.
// The bound leaves out the bursts of both links: (120 - 40) kB / 25 MB/s for a transfer alone, and
// 4 ms for each link. Packets know no such links.
static void test_transfers_over_shaped_links(void **state) {
    (void)state;
    static const char text[] =
        "{\"moesim\": \"topology\", \"version\": 1, \"name\": \"shaped\", \"source\": \"test\","
        "\"templates\": {\"net\": {\"parts\": {\"gpu\": {\"kind\": \"gpu\", \"count\": 4},"
        "\"switch\": {\"kind\": \"switch\"}}, \"links\": [{\"from\": \"gpu[*]\", \"to\": "
        "\"switch\","
        "\"class\": \"eth\", \"bandwidth\": \"25 MB/s\", \"latency\": \"0 s\","
        "\"burst\": \"20000 B\"}]}}, \"machine\": \"net\"}";
    NetTransfer list[] = {{0, 1, 120000, 0}};
    TransfersResult r = run(text, list, 1, &nominal);
    Time moving = 4 * PS_PER_SECOND / 1000;
    assert_in_range(r.end_ps, moving, moving + 704 * PS_PER_NS);
    assert_int_equal(r.bound_ps, moving);
    transfers_result_free(&r);
    NetMachine machine;
    Err err = {0};
    net_machine_open(&machine, text);
    Text written = {0};
    topology_write(&machine.topology, &written);
    assert_non_null(strstr(text_string(&written), "\"burst\": \"20 kB\""));
    text_free(&written);
    PacketReport report;
    assert_false(
        packet_run(&machine.fabric, list, 1, &(PacketOptions){.mtu_B = 4096}, &r, &report, &err));
    assert_string_equal(err.text, "a link has a burst, and packets know no token buckets: expected "
                                  "the flow model");
    net_machine_close(&machine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_transfers_alone_take_latency_and_bytes),
        cmocka_unit_test(test_transfers_share_a_port),
        cmocka_unit_test(test_transfers_of_one_pair_share),
        cmocka_unit_test(test_transfers_stripe_over_planes),
        cmocka_unit_test(test_transfers_count_headers),
        cmocka_unit_test(test_transfers_use_the_calibration),
        cmocka_unit_test(test_transfers_by_copy_engines),
        cmocka_unit_test(test_transfers_find_the_narrow_tier),
        cmocka_unit_test(test_transfers_refuse),
        cmocka_unit_test(test_transfers_to_host_memory_share_its_rate),
        cmocka_unit_test(test_transfers_to_storage),
        cmocka_unit_test(test_transfers_load_a_checkpoint),
        cmocka_unit_test(test_transfers_to_pooled_memory),
        cmocka_unit_test(test_transfers_behind_one_nic_share_it),
        cmocka_unit_test(test_transfers_of_an_empty_list),
        cmocka_unit_test(test_transfers_over_shaped_links),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
