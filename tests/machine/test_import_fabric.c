// Fabrics and schedulers: ibnetdiscover, NetQ, Slurm, topograph, NMX-C.
#include "tests/machine/imported.h"

// Two hosts of two adapters; the aggregation node is none. Cables once, though both ends print
// them: 4 to hosts, of which one is HDR (4 x 50 Gbit/s = 25 GB/s), and 2 + 1 to the spine.
static void test_import_ibnetdiscover_reads_cables_once(void **state) {
    (void)state;
    Machine machine;
    machine_open(&machine, "tests/machine/import/fabric.out");
    assert_int_equal(imported_summary(&machine).cables[LINK_IB], 4 + 3);
    assert_int_equal(imported_count(&machine, "leaf"), 2);
    assert_int_equal(imported_count(&machine, "spine"), 1);
    assert_int_equal(imported_count(&machine, "host2.nic"), 4);
    assert_int_equal(imported_count(&machine, "host2.gpu"), 16); // 8 in each, assumed
    assert_int_equal(imported_rule(&machine, "leaf[0]", "spine")->cables, 2);
    assert_int_equal(imported_rule(&machine, "host2[1].nic[1]", "leaf[1]")->bandwidth_Bps,
                     UINT64_C(25000000000));
    imported_finding(&machine, "1 aggregation nodes of switches (SHARP) left out");
    machine_close(&machine);
}

static void test_import_ibnetdiscover_refuses_broken_records(void **state) {
    (void)state;
    imported_refusal(IMPORT_IBNETDISCOVER, "Ca\t1 \"H-1\"\n",
                     "f: expected switches and cables, found 0 switches, 1 adapters and 0 cables");
    imported_refusal(IMPORT_IBNETDISCOVER, "Switch\t8 \"S\"\n[1]\t\"H\"[1]\n",
                     "f:2: a cable to \"H\", which has no record in the file");
    imported_refusal(IMPORT_IBNETDISCOVER, "[1]\t\"H\"[1]\n",
                     "f:1: expected a record (Switch, Ca) before it");
    imported_refusal(IMPORT_IBNETDISCOVER, "Switch\t8 \"S\"\n[1] H\n",
                     "f:2: expected a cable: [port] \"id\"[port], found none");
    imported_refusal(IMPORT_IBNETDISCOVER, "Switch\t8 \"S\"\n\nSwitch\t8 \"S\"\n",
                     "f:3: \"S\" has two records");
}

static void test_import_netq_reads_bundles(void **state) {
    (void)state;
    Machine machine;
    machine_open(&machine, "tests/machine/import/netq.json");
    assert_int_equal(imported_summary(&machine).cables[LINK_ETH], 4); // 2 to each of 2 hosts
    assert_int_equal(imported_count(&machine, "leaf"), 1);
    machine_close(&machine);
}

// n01, n02, n5, m1; n3, n4; x1y0, x1y1, x2y0, x2y1: 10 nodes of 8 GPUs. Leaf1 has 4 x 8 = 32 NICs
// below it, so as many cables up; two trees are joined by a switch that is in no file.
static void test_import_slurm_conf_expands_hostlists(void **state) {
    (void)state;
    Machine machine;
    machine_open(&machine, "tests/machine/import/tree.conf");
    assert_int_equal(machine.fabric.gpu_count, 80);
    assert_int_equal(machine.fabric.node_size, 8);
    assert_int_equal(imported_count(&machine, "leaf"), 3);
    assert_int_equal(imported_rule(&machine, "leaf[0]", "switch")->cables, 32);
    assert_int_equal(imported_rule(&machine, "leaf[1]", "switch")->cables, 16);
    assert_int_equal(imported_rule(&machine, "leaf[0]", "node[0-3].nic[*]")->link_class, LINK_IB);
    imported_finding(&machine, "2 trees without a common switch");
    machine_close(&machine);
}

// Blocks of 2 nodes and of one, 4 GPUs each, with the 18 switch chips of a rack: 12 x 18 links.
static void test_import_slurm_conf_makes_domains_of_blocks(void **state) {
    (void)state;
    Machine machine;
    machine_open(&machine, "tests/machine/import/block.conf");
    assert_int_equal(machine.fabric.gpu_count, 12);
    assert_int_equal(machine.fabric.node_size, 4);
    assert_int_equal(imported_count(&machine, "nvswitch"), 36);
    assert_int_equal(imported_summary(&machine).cables[LINK_NVLINK], 216);
    assert_int_equal(imported_rule(&machine, "node[0-1].gpu[*]", "nvswitch[0-17]")->cables, 1);
    imported_finding(&machine, "block b3 has no nodes");
    machine_close(&machine);
}

static void test_import_slurm_conf_refuses_what_is_no_tree(void **state) {
    (void)state;
    imported_refusal(IMPORT_SLURM_CONF, "SwitchName=a Nodes=n1\nSwitchName=b Nodes=n1\n",
                     "f:2: node \"n1\" is in a second switch; the first is in line 1");
    imported_refusal(IMPORT_SLURM_CONF, "SwitchName=a Nodes=n1\nSwitchName=b Switches=c\n",
                     "f:2: switch \"c\" is described nowhere in the file");
    imported_refusal(IMPORT_SLURM_CONF, "SwitchName=a Nodes=n1 Switches=b\n",
                     "f:1: switch \"a\": expected either Nodes= or Switches=");
    imported_refusal(IMPORT_SLURM_CONF, "SwitchName=a Nodes=n[1-\n",
                     "f:1: expected names such as \"n[0-3,12]\", at most 1000000 of them, found "
                     "\"n[1-\"");
    imported_refusal(IMPORT_SLURM_CONF, "SwitchName=a Nodes=n[0-999]m[0-9999]\n",
                     "f:1: expected names such as \"n[0-3,12]\", at most 1000000 of them, found "
                     "\"n[0-999]m[0-9999]\"");
    imported_refusal(IMPORT_SLURM_CONF, "SwitchName=a Switches=b\nSwitchName=b Switches=a\n",
                     "f: expected nodes, found none");
    imported_refusal(IMPORT_SLURM_CONF,
                     "SwitchName=a Switches=b\nSwitchName=b Switches=a\nSwitchName=c Nodes=n\n",
                     "f:1: switch \"a\" is below itself, or more than 64 levels deep");
    imported_refusal(IMPORT_SLURM_CONF, "SwitchName=a Nodes=n Speed=1\n",
                     "f:1: expected SwitchName=, Nodes=, Switches=, LinkSpeed=, BlockName= or "
                     "BlockSizes= once in a line, found \"Speed=1\"");
}

// The default of two topologies: root over s1 (2 nodes) and s2 (one).
static void test_import_slurm_yaml_reads_the_default(void **state) {
    (void)state;
    Machine machine;
    machine_open(&machine, "tests/machine/import/topology.yaml");
    assert_int_equal(machine.fabric.gpu_count, 24);
    assert_int_equal(imported_rule(&machine, "switch", "leaf[0]")->cables, 16);
    imported_finding(&machine, "topology main of 2 in the file is read");
    machine_close(&machine);
}

static void test_import_slurm_yaml_refuses_other_shapes(void **state) {
    (void)state;
    imported_refusal(IMPORT_SLURM_YAML, "- topology: a\n  tree:\n    switches: \"s=n\"\n",
                     "f:3: switches: expected a list of entries, found \"s=n\"");
    imported_refusal(IMPORT_SLURM_YAML, "- topology: a\n  flat: true\n",
                     "f:1: topology \"a\": expected \"tree\" or \"block\"; flat names no nodes, "
                     "ring and torus3d are not read");
    imported_refusal(IMPORT_SLURM_YAML, "- topology: a\n  tree\n",
                     "f:2: expected \"key: value\" or \"- item\", found \"tree\"");
    imported_refusal(IMPORT_SLURM_YAML, "- topology: a\n\ttree:\n",
                     "f:2: expected blanks in front, found a tab");
}

// Two leaves below the core, two nodes below each in one domain: 16 GPUs x 18 links.
static void test_import_topograph_reads_tree_and_domains(void **state) {
    (void)state;
    Machine machine;
    machine_open(&machine, "tests/machine/import/topograph.yaml");
    assert_int_equal(machine.fabric.gpu_count, 16);
    assert_int_equal(machine.fabric.domain_size, 8);
    assert_int_equal(imported_summary(&machine).cables[LINK_NVLINK], 288);
    assert_int_equal(imported_count(&machine, "group1.leaf"), 2);
    // alike below both leaves: 2 groups of 2 nodes of 4, the digits of a domain joined
    assert_true(machine.fabric.shape.uniform);
    assert_int_equal(machine.fabric.shape.size[0], 2);
    machine_close(&machine);
}

// Two nodes in one domain, one in another: 3 x 4 GPUs, 2 x 18 switch chips.
static void test_import_nmx_groups_by_domain(void **state) {
    (void)state;
    Machine machine;
    machine_open(&machine, "tests/machine/import/nmx.json");
    assert_int_equal(machine.fabric.gpu_count, 12);
    assert_int_equal(imported_count(&machine, "nvswitch"), 36);
    imported_finding(&machine, "node n2 is DEGRADED");
    machine_close(&machine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_import_ibnetdiscover_reads_cables_once),
        cmocka_unit_test(test_import_ibnetdiscover_refuses_broken_records),
        cmocka_unit_test(test_import_netq_reads_bundles),
        cmocka_unit_test(test_import_slurm_conf_expands_hostlists),
        cmocka_unit_test(test_import_slurm_conf_makes_domains_of_blocks),
        cmocka_unit_test(test_import_slurm_conf_refuses_what_is_no_tree),
        cmocka_unit_test(test_import_slurm_yaml_reads_the_default),
        cmocka_unit_test(test_import_slurm_yaml_refuses_other_shapes),
        cmocka_unit_test(test_import_topograph_reads_tree_and_domains),
        cmocka_unit_test(test_import_nmx_groups_by_domain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
