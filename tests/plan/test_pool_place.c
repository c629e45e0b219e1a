// Where the ranks of a pool lie, by hand.
#include "tests/check.h"

#include "model/base/mem.h"
#include "model/plan/pool_place.h"
#include "tests/machine/machine.h"
#include "tests/plan/hand_plan.h"

static Pool pool_of(uint32_t tp, uint32_t pp, uint32_t dp, uint32_t replicas, Placement placement) {
    Plan plan = hand_plan(tp, pp, dp, tp * dp);
    plan.pools[0].replicas = replicas;
    plan.pools[0].placement = placement;
    return plan.pools[0];
}

static void check_places(const Machine *machine, const Pool *pool, const uint32_t *expected,
                         uint32_t count) {
    uint32_t *places;
    Err err = {0};
    check_ok(pool_place_ranks(&machine->fabric, pool, &places, &err), &err);
    assert_int_equal(pool_ranks(pool), count);
    for (uint32_t r = 0; r < count; r++) assert_int_equal(places[r], expected[r]);
    mem_free(places);
}

// 2 nodes of 8, TP 4, 2 stages of DP 2: ranks 0-7 are stage 0, 8-15 stage 1.
static void test_pool_place_has_tp_groups_in_order_or_dealt(void **state) {
    (void)state;
    Machine machine;
    machine_open(&machine, "hgx-h100:2");
    Pool linear = pool_of(4, 2, 2, 1, PLACEMENT_LINEAR);
    check_places(&machine, &linear,
                 (uint32_t[]){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, 16);
    // stage 0 of DP position 0, its stage 1, then those of position 1
    Pool stages = pool_of(4, 2, 2, 1, PLACEMENT_STAGES);
    check_places(&machine, &stages,
                 (uint32_t[]){0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15}, 16);
    // to node 0, node 1, node 0, node 1
    Pool nodes = pool_of(4, 2, 2, 1, PLACEMENT_NODES);
    check_places(&machine, &nodes,
                 (uint32_t[]){0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15}, 16);
    assert_true(pool_place_differs(&machine.fabric, &stages));
    assert_false(pool_place_differs(&machine.fabric, &linear));
    machine_close(&machine);
}

// TP 1: rank r is on node r % 2, so that ranks that follow each other share a rail.
static void test_pool_place_deals_single_ranks_along_rails(void **state) {
    (void)state;
    Machine machine;
    machine_open(&machine, "hgx-h100:2");
    Pool nodes = pool_of(1, 1, 16, 1, PLACEMENT_NODES);
    check_places(&machine, &nodes,
                 (uint32_t[]){0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15}, 16);
    // one group of all ranks is the same in any order
    assert_false(pool_place_differs(&machine.fabric, &nodes));
    machine_close(&machine);
}

// 2 replicas of 3 ranks on nodes of 4: the second begins on the second node, GPU 3 is idle.
static void test_pool_place_packs_stages_into_nodes(void **state) {
    (void)state;
    Machine machine;
    machine_open(&machine, "leafspine:nodes=4,gpus=4,nic=50GB/s,nvlink=450GB/s,leaf=8");
    Pool packed = pool_of(1, 1, 3, 2, PLACEMENT_PACKED);
    check_places(&machine, &packed, (uint32_t[]){0, 1, 2, 4, 5, 6}, 6);
    assert_true(pool_place_differs(&machine.fabric, &packed));
    // a stage of 6 begins with a node, and the leaves have 8: the second one is on the other leaf
    packed = pool_of(1, 2, 6, 1, PLACEMENT_PACKED);
    check_places(&machine, &packed, (uint32_t[]){0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13}, 12);
    // to leaf 0 (GPUs 0-7), leaf 1 (GPUs 8-15), ...
    Pool leaves = pool_of(2, 1, 4, 2, PLACEMENT_LEAVES);
    check_places(&machine, &leaves,
                 (uint32_t[]){0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15}, 16);
    machine_close(&machine);
}

// The node with GPU 3 has 7 live ones, numbered last: pairs fit there three times.
static void test_pool_place_packs_around_a_dead_gpu(void **state) {
    (void)state;
    Machine machine;
    machine_degraded(&machine, "hgx-h100:3",
                     "unit[0].node[0].gpu[3]:down,unit[0].node[1].gpu[3]:down");
    // live GPUs 0-7 are node 2, 8-14 node 0, 15-21 node 1
    Pool packed = pool_of(2, 1, 10, 1, PLACEMENT_PACKED);
    check_places(&machine, &packed,
                 (uint32_t[]){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16, 17, 18, 19, 20},
                 20);
    machine_close(&machine);
}

static void test_pool_place_refuses_with_numbers(void **state) {
    (void)state;
    Machine machine;
    uint32_t *places = NULL;
    Err err = {0};
    machine_open(&machine, "hgx-h100:2");
    Pool leaves = pool_of(1, 1, 16, 1, PLACEMENT_LEAVES);
    check_fails(pool_place_ranks(&machine.fabric, &leaves, &places, &err), &err,
                "placement \"leaves\": the machine has no leaves above its nodes of 8 GPUs");
    Pool packed = pool_of(1, 1, 5, 3, PLACEMENT_PACKED);
    check_fails(pool_place_ranks(&machine.fabric, &packed, &places, &err), &err,
                "placement \"packed\": stage 2 of 3 finds no room on 16 GPUs when none straddles "
                "nodes or leaves");
    Pool nodes = pool_of(3, 1, 4, 1, PLACEMENT_NODES);
    check_fails(pool_place_ranks(&machine.fabric, &nodes, &places, &err), &err,
                "placement \"nodes\": 8 GPUs of a block of 8 are no whole tp groups of 3");
    assert_null(places);
    machine_close(&machine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pool_place_has_tp_groups_in_order_or_dealt),
        cmocka_unit_test(test_pool_place_deals_single_ranks_along_rails),
        cmocka_unit_test(test_pool_place_packs_stages_into_nodes),
        cmocka_unit_test(test_pool_place_packs_around_a_dead_gpu),
        cmocka_unit_test(test_pool_place_refuses_with_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
