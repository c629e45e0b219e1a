// NCCL and RCCL topology files: bridges, NVLinks per switch, rates that are idle, odd or missing.
#include "tests/machine/imported.h"

// Two H100, each with 4 links to one NVSwitch and 5 to the other, in another order: 18 links of
// 450 GB/s / 18 = 25 GB/s. The first bridge holds the GPU and, through a bridge with nothing else
// below it, the NIC; it shows 5 GT/s, less than the 32 GT/s = 63 GB/s below it.
static void test_import_nccl_xml_reads_switches_and_bridges(void **state) {
    (void)state;
    Machine machine;
    machine_open(&machine, "tests/machine/import/nccl.xml");
    FabricSummary summary = imported_summary(&machine);
    assert_string_equal(fabric_device(&machine.fabric, 0)->name, "H100 SXM");
    assert_int_equal(summary.cables[LINK_NVLINK], 18);
    assert_int_equal(imported_count(&machine, "nvswitch"), 2);
    assert_int_equal(imported_count(&machine, "pcie"), 1);
    assert_int_equal(imported_rule(&machine, "gpu[*]", "nvswitch[0]")->cables, 4);
    assert_int_equal(imported_rule(&machine, "gpu[*]", "nvswitch[1]")->cables, 5);
    assert_int_equal(imported_rule(&machine, "cpu[0]", "pcie")->bandwidth_Bps, 63000000000);
    imported_finding(&machine, "line 3: a bridge shows a slower link than what hangs below it");
    imported_finding(&machine, "the file shows 9 links of each GPU, of 18 that a H100 SXM has");
    machine_close(&machine);
}

// 400000 Mbit/s are 50 GB/s; 200000000 would be 200 Tbit/s and is taken as kbit/s: 25 GB/s. The
// second GPU shows the 2.5 GT/s of an idle link: PCIe 5.0 x16 of its device.
static void test_import_nccl_xml_mends_rates(void **state) {
    (void)state;
    Machine machine;
    machine_open(&machine, "tests/machine/import/nccl.xml");
    const LinkRule *ib = imported_rule(&machine, "nic", "network");
    const LinkRule *eth = imported_rule(&machine, "network", "nic-2");
    assert_int_equal(ib->bandwidth_Bps, UINT64_C(50000000000));
    assert_int_equal(ib->link_class, LINK_IB);
    assert_int_equal(eth->bandwidth_Bps, UINT64_C(25000000000));
    assert_int_equal(eth->link_class, LINK_ETH);
    const LinkRule *idle = imported_rule(&machine, "gpu[1]", "cpu[1]");
    assert_int_equal(idle->bandwidth_Bps, UINT64_C(63000000000));
    assert_int_equal(idle->confidence, 'C');
    machine_close(&machine);
}

// One GPU prints one link to the other, which prints two: one, of 448 GB/s / 7 = 64 GB/s.
static void test_import_nccl_xml_takes_the_fewer_links_of_a_pair(void **state) {
    (void)state;
    Machine machine;
    machine_open(&machine, "tests/machine/import/rccl.xml");
    assert_int_equal(imported_summary(&machine).cables[LINK_XGMI], 1);
    assert_int_equal(imported_rule(&machine, "gpu[0]", "gpu[1]")->bandwidth_Bps,
                     UINT64_C(64000000000));
    imported_finding(&machine, "asymmetric: GPU 0 prints 1 links to GPU 1, which prints 2");
    machine_close(&machine);
}

static void test_import_nccl_xml_refuses_what_is_no_machine(void **state) {
    (void)state;
    imported_refusal(IMPORT_NCCL_XML, "<system version=\"1\"></system>",
                     "f:1: <system>: expected a <cpu>, found none");
    imported_refusal(IMPORT_NCCL_XML, "<system>\n<pci busid=\"1\" class=\"0x0302\"/></system>",
                     "f:2: <pci>: expected it inside a <cpu>");
    imported_refusal(IMPORT_NCCL_XML, "<system><cpu>\n<pci busid=\"1\"/></cpu></system>",
                     "f:2: <pci>: has no class: nothing in the file tells GPUs (0x03, 0x12) from "
                     "NICs (0x02)");
    imported_refusal(IMPORT_NCCL_XML,
                     "<system><cpu><pci class=\"0x0302\"><gpu dev=\"0\">\n"
                     "<nvlink target=\"x\" count=\"many\"/></gpu></pci></cpu></system>",
                     "f:2: <nvlink>: expected \"target\" and a \"count\" of links");
    imported_refusal(IMPORT_NCCL_GRAPH, "<graphs/>",
                     "f: a graph file of NCCL (<graphs>: channels that its search found), expected "
                     "a topology file (<system>, NCCL_TOPO_DUMP_FILE)");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_import_nccl_xml_reads_switches_and_bridges),
        cmocka_unit_test(test_import_nccl_xml_mends_rates),
        cmocka_unit_test(test_import_nccl_xml_takes_the_fewer_links_of_a_pair),
        cmocka_unit_test(test_import_nccl_xml_refuses_what_is_no_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
