#include "tests/machine/machine.h"

#include "model/machine/fabric_shape.h"

static void check_shape(const Fabric *fabric, uint32_t count, const uint32_t *sizes) {
    assert_true(fabric->shape.uniform);
    assert_int_equal(fabric->shape.digit_count, count);
    for (uint32_t i = 0; i < count; i++) assert_int_equal(fabric->shape.size[i], sizes[i]);
}

// 18 trays of 4: which tray makes no difference to NVLink.
static void test_fabric_shape_nvl72_is_one_digit(void **state) {
    (void)state;
    Machine machine;
    machine_open(&machine, "nvl72");
    check_shape(&machine.fabric, 1, (uint32_t[]){72});
    assert_int_equal(machine.fabric.domain_size, 72);
    assert_int_equal(machine.fabric.node_size, 4);
    machine_close(&machine);
}

static void test_fabric_shape_rail_cluster_has_unit_node_and_rail(void **state) {
    (void)state;
    Machine machine;
    machine_open(&machine, "hgx-h100-cluster");
    check_shape(&machine.fabric, 3, (uint32_t[]){4, 32, 8});
    assert_int_equal(machine.fabric.domain_size, 8);
    assert_int_equal(machine.fabric.node_size, 8);
    machine_close(&machine);
    machine_open(&machine, "hgx-h100:4"); // one unit
    check_shape(&machine.fabric, 2, (uint32_t[]){4, 8});
    machine_close(&machine);
    machine_open(&machine, "nvl72-cluster"); // 8 racks, 18 trays, 2 CPUs with their NICs, 2 GPUs
    check_shape(&machine.fabric, 4, (uint32_t[]){8, 18, 2, 2});
    assert_int_equal(machine.fabric.domain_size, 72);
    machine_close(&machine);
}

static void test_fabric_shape_boards_and_meshes_are_one_digit(void **state) {
    (void)state;
    static const char *const names[] = {"hgx-h100", "hgx-h200", "hgx-b200", "mesh:8,64GB/s",
                                        "switch:8,450GB/s"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        Machine machine;
        machine_open(&machine, names[i]);
        check_shape(&machine.fabric, 1, (uint32_t[]){8});
        assert_int_equal(machine.fabric.domain_size, 8);
        machine_close(&machine);
    }
}

// In a ring of four, 0 and 1 are one link apart, 0 and 2 two.
static void test_fabric_shape_ring_is_irregular(void **state) {
    (void)state;
    Machine machine;
    machine_open(&machine, "ring:4,450GB/s");
    assert_false(machine.fabric.shape.uniform);
    assert_int_equal(machine.fabric.shape.digit_count, 1);
    assert_int_equal(machine.fabric.shape.size[0], 4);
    assert_int_equal(machine.fabric.domain_size, 4);
    machine_close(&machine);
    machine_open(&machine, "ring:3,450GB/s"); // but three are a mesh
    check_shape(&machine.fabric, 1, (uint32_t[]){3});
    machine_close(&machine);
}

static void test_fabric_shape_one_gpu(void **state) {
    (void)state;
    Machine machine;
    machine_open(&machine, "switch:1,450GB/s");
    check_shape(&machine.fabric, 1, (uint32_t[]){1});
    assert_int_equal(machine.fabric.domain_size, 1);
    machine_close(&machine);
    machine_of(&machine, MACHINE_PART("gpu", "gpu", 1), "");
    check_shape(&machine.fabric, 1, (uint32_t[]){1});
    machine_close(&machine);
}

// Two H100 and two B200 on one switch: the same links, but not the same GPUs.
static void test_fabric_shape_mixed_gpus_are_irregular(void **state) {
    (void)state;
    Machine machine;
    machine_of(&machine,
               "\"a\": {\"kind\": \"gpu\", \"device\": \"H100\", \"count\": 2}, \"b\": {\"kind\": "
               "\"gpu\", \"device\": \"B200\", \"count\": 2}, " MACHINE_PART("sw", "switch", 1),
               MACHINE_LINK("a[*]", "sw", "nvlink", 1,
                            "50 GB/s") ", " MACHINE_LINK("b[*]", "sw", "nvlink", 1, "50 GB/s"));
    assert_false(machine.fabric.shape.uniform);
    assert_int_equal(machine.fabric.shape.size[0], 4);
    assert_string_equal(fabric_device(&machine.fabric, 1)->name, "H100 SXM");
    assert_string_equal(fabric_device(&machine.fabric, 2)->name, "B200 SXM");
    assert_int_equal(machine.fabric.domain_size, 4);
    machine_close(&machine);
}

// Four GPUs, of which 0 - 1 and 2 - 3 have a bridge: pairs on PCIe alone are unlike pairs on a
// bridge.
static void test_fabric_shape_bridged_pairs_are_irregular(void **state) {
    (void)state;
    Machine machine;
    machine_of(&machine, MACHINE_PART("gpu", "gpu", 4) ", " MACHINE_PART("cpu", "cpu", 1),
               MACHINE_LINK("gpu[*]", "cpu", "pcie", 1, "63 GB/s") ", " MACHINE_LINK(
                   "gpu[0]", "gpu[1]", "nvlink", 12,
                   "25 GB/s") ", " MACHINE_LINK("gpu[2]", "gpu[3]", "nvlink", 12, "25 GB/s"));
    assert_false(machine.fabric.shape.uniform);
    assert_int_equal(machine.fabric.domain_size, 2);
    machine_close(&machine);
}

// One GPU with a thinner link makes all pairs with it different.
static void test_fabric_shape_one_odd_gpu_is_irregular(void **state) {
    (void)state;
    Machine machine;
    machine_of(&machine, MACHINE_PART("gpu", "gpu", 8) ", " MACHINE_PART("sw", "switch", 1),
               MACHINE_LINK("gpu[0-6]", "sw", "nvlink", 2,
                            "50 GB/s") ", " MACHINE_LINK("gpu[7]", "sw", "nvlink", 1, "50 GB/s"));
    assert_false(machine.fabric.shape.uniform);
    machine_close(&machine);
}

// Two GPUs behind one NIC, `gpu[i]` to `nic[i/2]`: all routes between the nodes look alike, but
// what the NIC carries is neither that of one GPU nor that of all four. With a template for the
// pair, its GPUs are a digit of their own.
static void test_fabric_shape_shared_nics_need_a_template(void **state) {
    (void)state;
#define NODES                                                                                      \
    "\"m\": {\"parts\": {\"node\": {\"template\": \"node\", \"count\": 3}, "                       \
    "\"leaf\": {\"kind\": \"switch\"}},\n"
    static const char flat[] =
        "{\"moesim\": \"topology\", \"version\": 1, \"name\": \"x\", \"machine\": \"m\", "
        "\"templates\": {\n"
        "\"node\": {\"parts\": {" MACHINE_PART("gpu", "gpu", 4) ", " MACHINE_PART(
            "nic", "nic",
            2) "},\n"
               "\"links\": [" MACHINE_LINK(
                   "gpu[*]", "gpu[*]", "nvlink", 1,
                   "50 GB/s") ",\n" MACHINE_LINK("gpu[i]", "nic[i/2]", "pcie", 1,
                                                 "63 GB/s") "]},\n" NODES
                                                            "\"links\": [" MACHINE_LINK(
                                                                "node[*].nic[*]", "leaf", "ib", 1,
                                                                "50 GB/s") "]}}}";
    static const char nested[] =
        "{\"moesim\": \"topology\", \"version\": 1, \"name\": \"x\", \"machine\": \"m\", "
        "\"templates\": {\n"
        "\"pair\": {\"parts\": {" MACHINE_PART("gpu", "gpu", 2) ", " MACHINE_PART(
            "nic", "nic", 1) "},\n"
                             "\"links\": [" MACHINE_LINK(
                                 "gpu[*]", "nic", "pcie", 1,
                                 "63 GB/s") "]},\n"
                                            "\"node\": {\"parts\": {\"pair\": {\"template\": "
                                            "\"pair\", \"count\": 2}},\n"
                                            "\"links\": [" MACHINE_LINK(
                                                "pair[*].gpu[*]", "pair[*].gpu[*]", "nvlink", 1,
                                                "50 GB/s") "]},\n" NODES
                                                           "\"links\": [" MACHINE_LINK(
                                                               "node[*].pair[*].nic", "leaf", "ib",
                                                               1, "50 GB/s") "]}}}";
#undef NODES
    Machine machine;
    machine_parse(&machine, flat);
    assert_false(machine.fabric.shape.uniform);
    assert_int_equal(machine.fabric.domain_size, 4);
    machine_close(&machine);
    machine_parse(&machine, nested);
    check_shape(&machine.fabric, 3, (uint32_t[]){3, 2, 2});
    assert_int_equal(machine.fabric.domain_size, 4);
    machine_close(&machine);
}

// Trays and switch chips may be permuted, GPUs of a tray may not: 0 and 1 share a CPU.
static void test_fabric_shape_symmetric_levels(void **state) {
    (void)state;
    Machine machine;
    machine_open(&machine, "nvl72");
    assert_int_equal(fabric_shape_symmetric(&machine.fabric), 1);
    machine_close(&machine);
    machine_open(&machine, "switch:8,450GB/s");
    assert_int_equal(fabric_shape_symmetric(&machine.fabric), 1);
    machine_close(&machine);
    machine_open(&machine, "hgx-h100-cluster"); // unit and node, not rail
    assert_int_equal(fabric_shape_symmetric(&machine.fabric), 3);
    machine_close(&machine);
}

// What `uniform` promises: hops, latency, weights and capacities depend on nothing but the digits
// that differ.
static void test_fabric_shape_promise_holds_for_all_pairs(void **state) {
    (void)state;
    static const char *const names[] = {"nvl72", "hgx-h100:4", "mesh:6,64GB/s", "nvl72:2"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        Machine machine;
        Route route = {0};
        Err err = {{0}};
        machine_open(&machine, names[i]);
        const Fabric *fabric = &machine.fabric;
        uint64_t seen[1 << FABRIC_DIGITS_MAX][4] = {{0}};
        for (VertexId from = 0; from < fabric->gpu_count; from += i == 3 ? 11 : 1) {
            for (VertexId to = 0; to < fabric->gpu_count; to++) {
                uint32_t differ = 0, a = from, b = to;
                if (from == to) continue;
                for (uint32_t k = fabric->shape.digit_count; k-- > 0;) {
                    if (a % fabric->shape.size[k] != b % fabric->shape.size[k]) differ |= 1U << k;
                    a /= fabric->shape.size[k];
                    b /= fabric->shape.size[k];
                }
                check_ok(fabric_route(fabric, from, to, &route, &err), &err);
                uint64_t now[4] = {route.hops, (uint64_t)route.latency_ps, route.bandwidth_Bps,
                                   route.count};
                if (seen[differ][0] == 0) memcpy(seen[differ], now, sizeof now);
                assert_memory_equal(seen[differ], now, sizeof now);
            }
        }
        fabric_route_free(&route);
        machine_close(&machine);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fabric_shape_nvl72_is_one_digit),
        cmocka_unit_test(test_fabric_shape_rail_cluster_has_unit_node_and_rail),
        cmocka_unit_test(test_fabric_shape_boards_and_meshes_are_one_digit),
        cmocka_unit_test(test_fabric_shape_ring_is_irregular),
        cmocka_unit_test(test_fabric_shape_one_gpu),
        cmocka_unit_test(test_fabric_shape_mixed_gpus_are_irregular),
        cmocka_unit_test(test_fabric_shape_bridged_pairs_are_irregular),
        cmocka_unit_test(test_fabric_shape_one_odd_gpu_is_irregular),
        cmocka_unit_test(test_fabric_shape_shared_nics_need_a_template),
        cmocka_unit_test(test_fabric_shape_symmetric_levels),
        cmocka_unit_test(test_fabric_shape_promise_holds_for_all_pairs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
