// hwloc XML: devices by what their OSDevs say, and the matrix of NVLinks.
#include "tests/machine/imported.h"

// Two V100 (the first seen by CUDA and NVML), one NVSwitch, one NIC of 200 Gbit/s; the display
// adapter and the Ethernet port are none. 75000 and 50000 MB/s into the switch are 3 and 2 links of
// 150 GB/s / 6 = 25 GB/s.
static void test_import_hwloc_counts_devices_and_links(void **state) {
    (void)state;
    Machine machine;
    machine_open(&machine, "tests/machine/import/hwloc.xml");
    FabricSummary summary = imported_summary(&machine);
    assert_int_equal(summary.count[PART_GPU], 2);
    assert_int_equal(summary.count[PART_NIC], 1);
    assert_int_equal(summary.count[PART_CPU], 2);
    assert_int_equal(imported_count(&machine, "nvswitch"), 1);
    assert_int_equal(summary.cables[LINK_NVLINK], 3 + 2);
    assert_string_equal(fabric_device(&machine.fabric, 1)->name, "V100 SXM3 32G");
    assert_int_equal(imported_rule(&machine, "gpu[i]", "cpu[i]")->bandwidth_Bps,
                     UINT64_C(15753846000)); // 15.753846 GB/s
    imported_finding(&machine, "1 plain network interfaces left out");
    machine_close(&machine);
}

#define GPU                                                                                        \
    "<object type=\"PCIDev\" gp_index=\"2\" pci_type=\"0302 [10de:1db8]\">"                        \
    "<object type=\"OSDev\" gp_index=\"3\" name=\"nvml0\" osdev_type=\"1\"/></object>"

static void test_import_hwloc_refuses_what_is_no_machine(void **state) {
    (void)state;
    imported_refusal(IMPORT_HWLOC, "<topology version=\"4.0\"/>",
                     "f:1: <topology>: expected version 1, 2 or 3 of the format, found \"4.0\"");
    imported_refusal(IMPORT_HWLOC, "<topology version=\"2.0\"/>",
                     "f: expected a GPU (a PCIDev of class 03 or 12 with an OSDev of CUDA, NVML, "
                     "RSMI, OpenCL or Level Zero), found none");
    imported_refusal(IMPORT_HWLOC,
                     "<topology version=\"2.0\">" GPU "\n<distances2hetero "
                     "name=\"NVLinkBandwidth\"><indexes>OSDev:3 OSDev:3 </indexes>"
                     "<u64values>1 2 3</u64values></distances2hetero></topology>",
                     "f:2: <distances2hetero>: expected 4 values for 2 objects, found 3");
    imported_refusal(IMPORT_HWLOC,
                     "<topology version=\"2.0\">" GPU "\n<distances2 name=\"XGMIBandwidth\">"
                     "<indexes>3 four</indexes></distances2></topology>",
                     "f:2: <indexes>: did not expect \"four\"");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_import_hwloc_counts_devices_and_links),
        cmocka_unit_test(test_import_hwloc_refuses_what_is_no_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
