#include "tests/machine/machine.h"

static void check_counts(const char *name, uint32_t gpus, uint32_t vertices, uint32_t cables) {
    Machine machine;
    machine_open(&machine, name);
    if (machine.fabric.gpu_count != gpus || machine.fabric.vertex_count != vertices ||
        machine.fabric.link_count != 2 * cables) {
        fail_msg("%s: %u GPUs, %u vertices, %u links", name, machine.fabric.gpu_count,
                 machine.fabric.vertex_count, machine.fabric.link_count / 2);
    }
    machine_close(&machine);
}

// A ring of n has n links, a mesh n (n - 1) / 2; around a switch n.
static void test_topology_synthetic_graphs_have_their_links(void **state) {
    (void)state;
    check_counts("ring:4,450GB/s", 4, 4, 4);
    check_counts("ring:3,450GB/s", 3, 3, 3);
    check_counts("ring:2,450GB/s", 2, 2, 1);
    check_counts("mesh:2,64GB/s", 2, 2, 1);
    check_counts("mesh:8,64GB/s", 8, 8, 28);
    check_counts("switch:8,450GB/s", 8, 9, 8);
    check_counts("switch:1,450GB/s", 1, 2, 1);
}

// A node of 8 has 2 x 8 NVLink bundles to (0, 3) and (1, 2), 8 + 8 + 8 PCIe links, 1 between CPUs:
// 57; and 8 to the leaves. 4 nodes: 4 x (57 + 8) and 8 leaves x 16 spines.
static void test_topology_synthetic_cuts_a_shipped_cluster(void **state) {
    (void)state;
    check_counts("hgx-h100:1", 8, 30, 57);
    check_counts("hgx-h100:4", 32, 4 * 30 + 8 + 16, 4 * 65 + 128);
    check_counts("hgx-h100:96", 768, 96 * 30 + 3 * 8 + 16, 96 * 65 + 3 * 128);
    check_counts("nvl72:1", 72, 234, 1494);
    check_counts("nvl72:2", 144, 2 * (234 + 4) + 9, 2 * (1494 + 72 + 36));
}

static void test_topology_synthetic_whole_cluster_is_the_file(void **state) {
    (void)state;
    Topology file = {0}, text = {0};
    Err err = {{0}};
    check_ok(topology_load("hgx-h100-cluster", &file, &err), &err);
    check_ok(topology_load("hgx-h100:128", &text, &err), &err);
    assert_int_equal(file.templates[file.machine].parts[0].count, 4);
    assert_int_equal(text.templates[text.machine].parts[0].count, 4);
    assert_int_equal(text.templates[1].parts[0].count, 32);
    topology_free(&file);
    topology_free(&text);
}

static void test_topology_synthetic_takes_options(void **state) {
    (void)state;
    Machine machine;
    machine_open(&machine, "switch:2,900GB/s,latency=1us,device=B200");
    FabricLink link = fabric_link(&machine.fabric, 0);
    assert_int_equal(link.latency_ps, 1000000);
    assert_int_equal(link.capacity_Bps, UINT64_C(900000000000));
    assert_string_equal(fabric_device(&machine.fabric, 0)->name, "B200 SXM");
    assert_false(machine.topology.default_device);
    machine_close(&machine);
    machine_open(&machine, "switch:2,900GB/s");
    assert_string_equal(fabric_device(&machine.fabric, 0)->name, "H100 SXM");
    assert_true(machine.topology.default_device);
    machine_close(&machine);
    machine_open(&machine, "hgx-h100:2,device=H200");
    assert_string_equal(fabric_device(&machine.fabric, 15)->name, "H200 SXM");
    machine_close(&machine);
}

static void test_topology_synthetic_errors_name_the_column(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"ring:1,1GB/s", "\"ring:1,1GB/s\", column 6: expected 2 to 65536 GPUs"},
        {"ring:0,1GB/s", "\"ring:0,1GB/s\", column 6: expected a count of 1 to 1000000"},
        {"ring:x,1GB/s", "\"ring:x,1GB/s\", column 6: expected a count of 1 to 1000000"},
        {"ring:4", "\"ring:4\", column 7: expected a rate, such as \",450GB/s\""},
        {"ring:4,450GB", "\"ring:4,450GB\", column 8: expected a rate such as \"450 GB/s\", "
                         "latency=TIME or device=NAME, found \"450GB\""},
        {"ring:4,450GB/s,foo=1", "\"ring:4,450GB/s,foo=1\", column 16: expected a rate such as "
                                 "\"450 GB/s\", latency=TIME or device=NAME, found \"foo=1\""},
        {"ring:4,450GB/s,device=H200,device=H100",
         "\"ring:4,450GB/s,device=H200,device=H100\", column 28: device is given twice"},
        {"ring:4,450GB/s,latency=1us,latency=2us",
         "\"ring:4,450GB/s,latency=1us,latency=2us\", column 28: latency is given twice"},
        {"ring:4,0GB/s",
         "\"ring:4,0GB/s\", column 8: expected a rate above 0 and at most 100 TB/s"},
        {"mesh:4,1GB/s,latency=4",
         "\"mesh:4,1GB/s,latency=4\", column 14: expected a time such as \"500 ns\", found \"4\""},
        {"mesh:4,1GB/s,device=",
         "\"mesh:4,1GB/s,device=\", column 14: expected the name of a device"},
        {"star:4,1GB/s",
         "\"star:4,1GB/s\", column 1: expected ring, switch, mesh, nvl72 or hgx-h100"},
        {"nvl72:9",
         "\"nvl72:9\", column 7: expected at most 8 copies in equal groups of at most 1, found 9"},
        {"hgx-h100:4,1GB/s", "\"hgx-h100:4,1GB/s\", column 1: a rate or a latency can be given for "
                             "ring, switch and mesh only"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Topology topology = {0};
        Err err = {{0}};
        check_fails(topology_synthetic(cases[i][0], &topology, &err), &err, cases[i][1]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_topology_synthetic_graphs_have_their_links),
        cmocka_unit_test(test_topology_synthetic_cuts_a_shipped_cluster),
        cmocka_unit_test(test_topology_synthetic_whole_cluster_is_the_file),
        cmocka_unit_test(test_topology_synthetic_takes_options),
        cmocka_unit_test(test_topology_synthetic_errors_name_the_column),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
