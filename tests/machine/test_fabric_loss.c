#include "tests/machine/machine.h"

#include "model/machine/fabric_loss.h"

#define GBPS UINT64_C(1000000000)

static FabricLoss find_loss(Machine *machine, const char *name, const char *faults) {
    FabricLoss loss;
    Err err = {{0}};
    machine_degraded(machine, name, faults);
    check_ok(fabric_loss_find(&machine->fabric, &loss, &err), &err);
    return loss;
}

static void check_rate(const FabricLossRate *rate, uint32_t gpu, uint32_t count, uint64_t built,
                       uint64_t left) {
    assert_true(rate->is_known);
    assert_int_equal(rate->gpu, gpu);
    assert_int_equal(rate->count, count);
    assert_int_equal(rate->built_Bps, built);
    assert_int_equal(rate->left_Bps, left);
}

static void test_fabric_loss_of_a_whole_machine_is_nothing(void **state) {
    (void)state;
    Machine machine;
    FabricLoss loss;
    const char *name;
    Err err = {{0}};
    machine_open(&machine, "nvl72");
    check_ok(fabric_loss_find(&machine.fabric, &loss, &err), &err);
    assert_null(fabric_loss_worst(&loss, &name));
    assert_int_equal(loss.links_down + loss.links_slow, 0);
    machine_close(&machine);
}

// A dead plane takes 50 of 900 GB/s from all 72 GPUs; GPU 6 has lost two links more, 150 in all.
static void test_fabric_loss_names_the_gpu_that_is_hit_hardest(void **state) {
    (void)state;
    Machine machine;
    const char *name;
    FabricLoss loss =
        find_loss(&machine, "nvl72", "nvswitch[4]:down,tray[1].gpu[2]>nvswitch[0-1]:down");
    assert_int_equal(loss.dead[PART_SWITCH], 1);
    assert_int_equal(loss.links_down, 2);
    check_rate(&loss.links[LINK_NVLINK], 6, 1, 900 * GBPS, 750 * GBPS);
    assert_ptr_equal(fabric_loss_worst(&loss, &name), &loss.links[LINK_NVLINK]);
    assert_string_equal(name, "nvlink");
    assert_false(loss.links[LINK_C2C].is_known);
    assert_false(loss.out.is_known); // one domain
    machine_close(&machine);

    loss = find_loss(&machine, "nvl72", "nvswitch[4]:50%");
    assert_int_equal(loss.links_slow, 72);
    check_rate(&loss.links[LINK_NVLINK], 0, 72, 900 * GBPS, 875 * GBPS);
    machine_close(&machine);
}

// NIC 3 of 8 is dead. Its GPU sends a third by each of the NICs 0 to 2 below its CPU, each of which
// then serves 4/3 GPUs: 50 / (4/3) = 37.5 GB/s for those four GPUs.
static void test_fabric_loss_shares_the_nics_that_are_left(void **state) {
    (void)state;
    Machine machine;
    const char *name;
    FabricLoss loss = find_loss(&machine, "hgx-h100-cluster", "unit[0].node[0].nic[3]:down");
    check_rate(&loss.out, 0, 4, 50 * GBPS, 37500000000);
    assert_ptr_equal(fabric_loss_worst(&loss, &name), &loss.out);
    assert_string_equal(name, "out of its domain");
    machine_close(&machine);
}

// Dead GPUs are not asked.
static void test_fabric_loss_is_of_live_gpus(void **state) {
    (void)state;
    Machine machine;
    const char *name;
    FabricLoss loss = find_loss(&machine, "nvl72", "tray[0].gpu[0]:down");
    assert_int_equal(loss.dead[PART_GPU], 1);
    assert_null(fabric_loss_worst(&loss, &name));
    machine_close(&machine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fabric_loss_of_a_whole_machine_is_nothing),
        cmocka_unit_test(test_fabric_loss_names_the_gpu_that_is_hit_hardest),
        cmocka_unit_test(test_fabric_loss_shares_the_nics_that_are_left),
        cmocka_unit_test(test_fabric_loss_is_of_live_gpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
