// Topologies of simulators: SimAI and ns-3, ASTRA-sim analytical, htsim.
#include "tests/machine/imported.h"

// Two servers of two GPUs, an NVSwitch each (3600 Gbit/s = 450 GB/s), and one switch at 400 Gbit/s.
// Node 3 has two links to it, which a line from the other end repeats: 4 NVLinks, 3 + 2 others.
static void test_import_ns3_reads_servers_and_duplicates(void **state) {
    (void)state;
    Machine machine;
    machine_open(&machine, "tests/machine/import/simai.topo");
    FabricSummary summary = imported_summary(&machine);
    assert_int_equal(machine.fabric.gpu_count, 4);
    assert_int_equal(machine.fabric.node_size, 2);
    assert_int_equal(machine.fabric.domain_size, 2);
    assert_int_equal(summary.cables[LINK_NVLINK], 4);
    assert_int_equal(summary.cables[LINK_ETH], 3 + 2);
    const LinkRule *rule = imported_rule(&machine, "server[i].gpu[0]", "nvswitch[i]");
    assert_int_equal(rule->bandwidth_Bps, UINT64_C(450000000000));
    assert_int_equal(rule->latency_ps, 25000); // 0.000025 ms
    imported_finding(&machine, "line 11: a link that is there from its other end");
    machine_close(&machine);
}

static void test_import_ns3_refuses_what_does_not_add_up(void **state) {
    (void)state;
    imported_refusal(IMPORT_NS3, "3 1 2\n2\n0 2 1Gbps 1ns 0\n",
                     "f:1: line 1 says 2 links, the file has 1");
    imported_refusal(IMPORT_NS3, "3 1 1\n2\n0 2 1Gbps 1ns 0\n", "f:1: node 1 has no link");
    imported_refusal(IMPORT_NS3, "3 1 2\n2\n0 3 1Gbps 1ns 0\n1 2 1Gbps 1ns 0\n",
                     "f:3: expected two nodes below 3, a rate, a delay and an error rate");
    imported_refusal(IMPORT_NS3, "3 1 2\n2 1\n",
                     "f:2: expected 1 switches as line 1 says, found 2");
    imported_refusal(
        IMPORT_NS3, "1000000 1 4000000\n2\n",
        "f:1: expected \"nodes gpus_per_server nvswitches switches links gpu_type\" or "
        "\"nodes switches links\"");
    imported_refusal(IMPORT_NS3, "2 0 1\n\n0 1 fast 1ns 0\n",
                     "f:3: expected a rate such as \"400 Gbit/s\", found \"fast\"");
}

// 2 x 3 x 2 = 12 GPUs: 6 rings of 2 (one link each), 4 meshes of 3 (3 links), 6 switches of 2 (2
// links): 6 + 12 + 12.
static void test_import_analytical_lays_out_dimensions(void **state) {
    (void)state;
    Machine machine;
    machine_open(&machine, "tests/machine/import/analytical.yml");
    assert_int_equal(machine.fabric.gpu_count, 12);
    assert_int_equal(imported_count(&machine, "switch2"), 6);
    assert_int_equal(imported_summary(&machine).cables[LINK_OTHER], 30);
    const LinkRule *mesh = imported_rule(&machine, "gpu[0]", "gpu[2]"); // step 2 in dimension 1
    assert_int_equal(mesh->bandwidth_Bps, UINT64_C(100500000000));
    assert_int_equal(mesh->latency_ps, 936250);
    machine_close(&machine);
}

static void test_import_analytical_refuses_uneven_lists(void **state) {
    (void)state;
    imported_refusal(IMPORT_ANALYTICAL,
                     "topology: [ Ring, Switch ]\nnpus_count: [ 4 ]\nbandwidth: [ 1, 1 ]\n"
                     "latency: [ 1, 1 ]\n",
                     "f:2: expected npus_count: with as many entries as topology has, 2, found 1");
    imported_refusal(IMPORT_ANALYTICAL,
                     "topology: [ Ring, Ring ]\nnpus_count: [ 65536, 65536 ]\n"
                     "bandwidth: [ 1, 1 ]\nlatency: [ 1, 1 ]\n",
                     "f:2: expected whole numbers with a product of at most 65536 GPUs");
}

// 8 nodes, 8 / 2 = 4 switches above them, 4 x 2 / 2 = 4 above these, 4 x 4 / 4 = 4 cores. Cables:
// 8, then 4 x 2, then 4 x 4 in bundles of 2.
static void test_import_htsim_derives_tiers(void **state) {
    (void)state;
    Machine machine;
    machine_open(&machine, "tests/machine/import/htsim.topo");
    assert_int_equal(imported_count(&machine, "tor"), 4);
    assert_int_equal(imported_count(&machine, "agg"), 4);
    assert_int_equal(imported_count(&machine, "core"), 4);
    assert_int_equal(imported_summary(&machine).cables[LINK_ETH], 8 + 8 + 16);
    machine_close(&machine);
}

static void test_import_htsim_refuses_uneven_trees(void **state) {
    (void)state;
    imported_refusal(IMPORT_HTSIM, "Nodes 8\nTiers 2\nTier 0\nSpeed 3\n",
                     "f:4: expected Nodes, Tiers, Podsize, then for Tier 0, 1, 2 its "
                     "Downlink_speed_Gbps, Radix_Down, Radix_Up, Downlink_Latency_ns and Bundle, "
                     "each with a number");
    imported_refusal(IMPORT_HTSIM, "Nodes 7\nTiers 2\nTier 0\nRadix_Down 2\nTier 1\n",
                     "f: the tree does not add up: expected 2 to 65536 nodes in whole pods, 2 or 3 "
                     "tiers, and radices that divide");
    imported_refusal(IMPORT_LOGICAL, "{\"logical-dims\": []}",
                     "f: logical dimensions of ranks (\"logical-dims\") without a link: expected a "
                     "physical topology (ns-3 or analytical network file)");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_import_ns3_reads_servers_and_duplicates),
        cmocka_unit_test(test_import_ns3_refuses_what_does_not_add_up),
        cmocka_unit_test(test_import_analytical_lays_out_dimensions),
        cmocka_unit_test(test_import_analytical_refuses_uneven_lists),
        cmocka_unit_test(test_import_htsim_derives_tiers),
        cmocka_unit_test(test_import_htsim_refuses_uneven_trees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
