// rocm-smi, amd-smi and nvidia-smi nvlink.
#include "tests/machine/imported.h"

// All three pairs are XGMI; weight 30 is two hops of 15, so that two pairs have a link of their
// own, of 50 GB/s, since no device is known. NUMA nodes 0, 0, 1: two CPUs.
static void test_import_rocm_tells_direct_pairs_by_weight(void **state) {
    (void)state;
    Machine machine;
    machine_open(&machine, "tests/machine/import/rocm.txt");
    FabricSummary summary = imported_summary(&machine);
    assert_int_equal(summary.count[PART_GPU], 3);
    assert_int_equal(summary.count[PART_CPU], 2);
    assert_int_equal(summary.cables[LINK_XGMI], 2);
    assert_int_equal(imported_rule(&machine, "gpu[0]", "gpu[1]")->bandwidth_Bps,
                     UINT64_C(50000000000));
    assert_int_equal(imported_rule(&machine, "gpu[1]", "gpu[2]")->cables, 1);
    imported_finding(&machine, "1 of 3 pairs are more than one xGMI hop apart");
    machine_close(&machine);
}

// NUMA BW 50000-64000: at most 64000 MB/s of the link.
static void test_import_amd_takes_the_rate_of_the_table(void **state) {
    (void)state;
    Machine machine;
    machine_open(&machine, "tests/machine/import/amd.txt");
    const LinkRule *rule = imported_rule(&machine, "gpu[0]", "gpu[1]");
    assert_int_equal(rule->bandwidth_Bps, UINT64_C(64000000000));
    assert_int_equal(rule->confidence, 'B');
    machine_close(&machine);
}

static void test_import_rocm_refuses_ragged_tables(void **state) {
    (void)state;
    imported_refusal(IMPORT_ROCM,
                     "== Link Type between two GPUs ==\n GPU0 GPU1\nGPU0 0 XGMI\nGPU1\n",
                     "f:4: expected a name and 2 cells in row 1 of the table in line 1, found 1 "
                     "words");
    imported_refusal(IMPORT_ROCM,
                     "Weight between two GPUs\n GPU0\nGPU0 0\nLink Type between\n GPU0 GPU1\n",
                     "f:5: expected the names of the 1 GPUs below the title, found 2");
    imported_refusal(IMPORT_AMD, "WEIGHT TABLE:\n a\na 0\n",
                     "f: expected a table of link types, found none");
}

// Of 3 + 3 links one lost lanes and one is inactive: 4, at switches as in the machine of H200.
static void test_import_nvlink_counts_links_that_carry_data(void **state) {
    (void)state;
    Machine machine;
    machine_open(&machine, "tests/machine/import/nvlink.txt");
    assert_int_equal(imported_summary(&machine).cables[LINK_NVLINK], 4);
    assert_string_equal(fabric_device(&machine.fabric, 0)->name, "H200 SXM");
    imported_finding(&machine, "GPU 0: links 2 lost lanes: counted as down");
    imported_finding(&machine, "GPU 1: links 1 are inactive");
    machine_close(&machine);
}

static void test_import_nvlink_refuses_gaps(void **state) {
    (void)state;
    imported_refusal(IMPORT_NVIDIA_NVLINK, "GPU 0: A\nLink 1: 25 GB/s\n",
                     "f:2: expected \"Link 0: rate\"");
    imported_refusal(IMPORT_NVIDIA_NVLINK, "GPU 0: A\nLink 0: fast\n",
                     "f:2: expected a rate in GB/s or <inactive>, found \"fast\"");
    imported_refusal(IMPORT_NVIDIA_NVLINK, "GPU 1: A\n", "f:1: expected \"GPU 0: name\"");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_import_rocm_tells_direct_pairs_by_weight),
        cmocka_unit_test(test_import_amd_takes_the_rate_of_the_table),
        cmocka_unit_test(test_import_rocm_refuses_ragged_tables),
        cmocka_unit_test(test_import_nvlink_counts_links_that_carry_data),
        cmocka_unit_test(test_import_nvlink_refuses_gaps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
