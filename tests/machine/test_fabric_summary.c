#include "tests/machine/machine.h"

#include "model/machine/fabric_summary.h"

#define GBPS UINT64_C(1000000000)

static FabricSummary summarise(const char *name) {
    Machine machine;
    FabricSummary summary;
    Err err = {{0}};
    machine_open(&machine, name);
    check_ok(fabric_summary_make(&machine.fabric, &summary, &err), &err);
    machine_close(&machine);
    return summary;
}

// 72 GPUs of 189471 MiB; half of them send 36 x 900 GB/s = 32.4 TB/s.
static void test_fabric_summary_nvl72(void **state) {
    (void)state;
    FabricSummary summary = summarise("nvl72");
    assert_int_equal(summary.count[PART_GPU], 72);
    assert_int_equal(summary.count[PART_SWITCH], 18);
    assert_int_equal(summary.count[PART_NIC], 72);
    assert_int_equal(summary.memory_B[PART_GPU], 72 * (UINT64_C(189471) << 20));
    assert_int_equal(summary.memory_B[PART_MEMORY], 36 * 480 * GBPS);
    assert_int_equal(summary.memory_B[PART_CPU], 0); // it is in the memory parts
    assert_int_equal(summary.cables[LINK_NVLINK], 1296);
    assert_int_equal(summary.gpu_Bps[LINK_NVLINK].low, 900 * GBPS);
    assert_int_equal(summary.gpu_Bps[LINK_NVLINK].high, 900 * GBPS);
    assert_int_equal(summary.gpu_Bps[LINK_C2C].low, 450 * GBPS);
    assert_int_equal(summary.bisection_Bps, 36 * 900 * GBPS);
    assert_int_equal(summary.bisection_by_class[LINK_NVLINK], 36 * 900 * GBPS);
    assert_int_equal(summary.diameter_hops, 2);
    assert_int_equal(summary.diameter_ps, 500000);
}

// 4 x 450 GB/s over the switch chips, and 22 GB/s between the two CPUs.
static void test_fabric_summary_hgx_h100(void **state) {
    (void)state;
    FabricSummary summary = summarise("hgx-h100");
    assert_int_equal(summary.cables[LINK_NVLINK], 8 * 18);
    assert_int_equal(summary.gpu_Bps[LINK_NVLINK].low, 450 * GBPS);
    assert_int_equal(summary.gpu_Bps[LINK_IB].high, 0); // no network
    assert_int_equal(summary.bisection_by_class[LINK_NVLINK], 1800 * GBPS);
    assert_int_equal(summary.bisection_by_class[LINK_OTHER], 22 * GBPS);
    assert_int_equal(summary.bisection_Bps, 1822 * GBPS);
}

// 512 GPUs of two units send by 512 NICs of 50 GB/s; the spines are as wide.
static void test_fabric_summary_h100_cluster(void **state) {
    (void)state;
    FabricSummary summary = summarise("hgx-h100-cluster");
    assert_int_equal(summary.count[PART_GPU], 1024);
    assert_int_equal(summary.count[PART_SWITCH], 128 * 4 + 32 + 16);
    assert_int_equal(summary.cables[LINK_IB], 1024 + 1024);
    assert_int_equal(summary.gpu_Bps[LINK_IB].low, 50 * GBPS);
    assert_int_equal(summary.bisection_Bps, 512 * 50 * GBPS);
    assert_int_equal(summary.bisection_by_class[LINK_IB], 512 * 50 * GBPS);
    assert_int_equal(summary.diameter_hops, 8);
    assert_int_equal(summary.diameter_ps, 1950000);
}

// A ring of n is cut at two links; the farthest GPU is n / 2 links away.
static void test_fabric_summary_ring(void **state) {
    (void)state;
    FabricSummary summary = summarise("ring:6,450GB/s");
    assert_int_equal(summary.bisection_Bps, 2 * 450 * GBPS);
    assert_int_equal(summary.diameter_hops, 3);
    assert_int_equal(summary.diameter_ps, 3 * 500000);
    assert_int_equal(summary.gpu_Bps[LINK_NVLINK].low, 900 * GBPS);
}

// A mesh of 8: 4 x 4 links of 64 GB/s between the halves.
static void test_fabric_summary_mesh(void **state) {
    (void)state;
    FabricSummary summary = summarise("mesh:8,64GB/s");
    assert_int_equal(summary.bisection_Bps, 16 * 64 * GBPS);
    assert_int_equal(summary.diameter_hops, 1);
}

// 12,000 GPUs: above the size of the exact cut, where classes are cut as a whole: 6,000 x 450 GB/s.
static void test_fabric_summary_large_machine_is_bounded(void **state) {
    (void)state;
    FabricSummary summary = summarise("switch:12000,450GB/s");
    assert_int_equal(summary.bisection_Bps, 6000 * 450 * GBPS);
}

// In a line 0 - 1 - 2 the end GPUs have one link, the middle one two. Three GPUs are halved as 1
// and 2.
static void test_fabric_summary_gives_least_and_most(void **state) {
    (void)state;
    Machine machine;
    FabricSummary summary;
    Err err = {{0}};
    machine_of(&machine, MACHINE_PART("gpu", "gpu", 3),
               MACHINE_LINK("gpu[i=0-1]", "gpu[i+1]", "nvlink", 1, "50 GB/s"));
    check_ok(fabric_summary_make(&machine.fabric, &summary, &err), &err);
    assert_int_equal(summary.gpu_Bps[LINK_NVLINK].low, 50 * GBPS);
    assert_int_equal(summary.gpu_Bps[LINK_NVLINK].high, 100 * GBPS);
    assert_int_equal(summary.bisection_Bps, 50 * GBPS);
    machine_close(&machine);
}

static void test_fabric_summary_one_gpu_has_no_cut(void **state) {
    (void)state;
    FabricSummary summary = summarise("switch:1,450GB/s");
    assert_false(summary.has_bisection);
    assert_int_equal(summary.diameter_hops, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fabric_summary_nvl72),
        cmocka_unit_test(test_fabric_summary_hgx_h100),
        cmocka_unit_test(test_fabric_summary_h100_cluster),
        cmocka_unit_test(test_fabric_summary_ring),
        cmocka_unit_test(test_fabric_summary_mesh),
        cmocka_unit_test(test_fabric_summary_large_machine_is_bounded),
        cmocka_unit_test(test_fabric_summary_gives_least_and_most),
        cmocka_unit_test(test_fabric_summary_one_gpu_has_no_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
