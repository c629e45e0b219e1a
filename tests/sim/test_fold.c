// Which placements are products of digits, and which links alike transfers load alike.
#include "tests/check.h"

#include "sim/fold_memory.h"
#include "tests/sim/sim_machine.h"

static void check_set(const DigitSet *set, uint32_t first, uint32_t count, uint32_t repeat) {
    assert_int_equal(set->first, first);
    assert_int_equal(set->count, count);
    assert_int_equal(set->repeat, repeat);
}

// 4 units of 32 nodes of 8 GPUs. Ranks 256 to 511 are unit 1 with all its nodes and GPUs.
static void test_fold_box_of_a_whole_unit(void **state) {
    (void)state;
    Err err = {0};
    FabricShape shape = {true, 3, {4, 32, 8}};
    RankSet ranks = {256, 256, 256, 1};
    Box box;
    check_ok(fold_box(&shape, &ranks, 0, &box, &err), &err);
    check_set(&box.sets[0], 1, 1, 1);
    check_set(&box.sets[1], 0, 32, 1);
    check_set(&box.sets[2], 0, 8, 1);
}

// The second of two stages of 16 GPUs in each of 32 replicas: 16 + 32 q + i. Nodes 2 and 3 of every
// four, in all units.
static void test_fold_box_of_a_stage_in_all_replicas(void **state) {
    (void)state;
    Err err = {0};
    FabricShape shape = {true, 3, {4, 32, 8}};
    RankSet ranks = {16, 16, 32, 32};
    Box box;
    check_ok(fold_box(&shape, &ranks, 0, &box, &err), &err);
    check_set(&box.sets[0], 0, 4, 1);
    check_set(&box.sets[1], 2, 2, 8);
    assert_int_equal(box.sets[1].period, 4);
    check_set(&box.sets[2], 0, 8, 1);
}

// Two GPUs of every node: 2 + 8 q + i.
static void test_fold_box_inside_nodes(void **state) {
    (void)state;
    Err err = {0};
    FabricShape shape = {true, 2, {4, 8}};
    RankSet ranks = {2, 2, 8, 4};
    Box box;
    check_ok(fold_box(&shape, &ranks, 0, &box, &err), &err);
    check_set(&box.sets[0], 0, 4, 1);
    check_set(&box.sets[1], 2, 2, 1);
}

// 12 ranks on nodes of 8 fill one node and half of the next: no product.
static void test_fold_box_refuses_a_ragged_end(void **state) {
    (void)state;
    Err err = {0};
    FabricShape shape = {true, 2, {4, 8}};
    RankSet ranks = {0, 12, 12, 1};
    Box box;
    check_fails(fold_box(&shape, &ranks, 0, &box, &err), &err,
                "12 ranks from rank 0 on do not fill regular blocks of the machine");
}

static void test_fold_box_refuses_ranks_beyond_the_machine(void **state) {
    (void)state;
    Err err = {0};
    FabricShape shape = {true, 2, {4, 8}};
    RankSet ranks = {0, 64, 64, 1};
    Box box;
    check_fails(fold_box(&shape, &ranks, 0, &box, &err), &err, "ranks reach beyond the machine");
}

static void test_fold_chain(void **state) {
    (void)state;
    const uint32_t nested[] = {4, 8, 64, 256}, crossed[] = {12, 8};
    assert_true(fold_is_chain(nested, 4));
    assert_false(fold_is_chain(crossed, 2));
}

// Digits are read most significant first: GPU 333 = 1 x 256 + 9 x 8 + 5.
static void test_fold_digits(void **state) {
    (void)state;
    FabricShape shape = {true, 3, {4, 32, 8}};
    uint32_t digits[FABRIC_DIGITS_MAX];
    fold_digits(&shape, 333, digits);
    assert_int_equal(digits[0], 1);
    assert_int_equal(digits[1], 9);
    assert_int_equal(digits[2], 5);
}

// Two stages of one machine use links of their own: same base, disjoint values. Half of one with
// the whole is a conflict.
static void test_fold_orbits_are_equal_apart_or_in_conflict(void **state) {
    (void)state;
    LinkOrbit low = {
        .base = 4, .planes = 1, .digit_count = 1, .depends = {FOLD_SOURCE}, .sets = {{0, 4, 4, 1}}};
    LinkOrbit high = low, whole = low, other = low;
    high.sets[0].first = 4;
    whole.sets[0].count = 8;
    other.base = 6;
    assert_true(fold_orbit_equal(&low, &low));
    assert_false(fold_orbit_equal(&low, &high));
    assert_false(fold_orbit_conflict(&low, &high));
    assert_true(fold_orbit_conflict(&low, &whole));
    assert_false(fold_orbit_conflict(&whole, &other));
}

// Four GPUs to four others of 8 around a switch: 16 pairs, 4 of them on each of the links up and 4
// on each down. Asked again it is the same route; 15 pairs are refused, again with the same words.
static void test_fold_memory_gives_what_was_found(void **state) {
    (void)state;
    SimMachine bench;
    Arena arena = {0};
    Err err = {0}, again = {0};
    sim_machine_open(&bench, sim_machine_switch(&arena, 8, 2, "100 GB/s"));
    const FabricShape *shape = &bench.fabric.shape;
    Box low, high;
    check_ok(fold_box(shape, &(RankSet){0, 4, 4, 1}, 0, &low, &err), &err);
    check_ok(fold_box(shape, &(RankSet){4, 4, 4, 1}, 0, &high, &err), &err);
    FoldPair pair = {.from_gpu = 0,
                     .to_gpu = 4,
                     .from_box = &low,
                     .to_box = &high,
                     .pairing = FOLD_ALL_PAIRS,
                     .flows = 16};
    FoldMemory *memory = fold_memory_open(&bench.fabric);
    const FoldRoute *route = fold_memory_route(memory, shape, &pair, &err);
    assert_non_null(route);
    for (uint32_t i = 0; i < route->count; i++)
        assert_int_equal(route->edges[i].coefficient * route->edges[i].orbit.size,
                         16 * route->scale / route->edges[i].orbit.planes);
    assert_ptr_equal(fold_memory_route(memory, shape, &pair, &err), route);
    pair.flows = 15;
    assert_null(fold_memory_route(memory, shape, &pair, &err));
    assert_null(fold_memory_route(memory, shape, &pair, &again));
    assert_string_equal(err.text, again.text);
    fold_memory_close(memory);
    sim_machine_close(&bench);
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fold_box_of_a_whole_unit),
        cmocka_unit_test(test_fold_box_of_a_stage_in_all_replicas),
        cmocka_unit_test(test_fold_box_inside_nodes),
        cmocka_unit_test(test_fold_box_refuses_a_ragged_end),
        cmocka_unit_test(test_fold_box_refuses_ranks_beyond_the_machine),
        cmocka_unit_test(test_fold_chain),
        cmocka_unit_test(test_fold_digits),
        cmocka_unit_test(test_fold_orbits_are_equal_apart_or_in_conflict),
        cmocka_unit_test(test_fold_memory_gives_what_was_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
