// Loads of slots: 8 experts on 4 EP positions, with 4 redundant ones and without.
#include "tests/check.h"

#include "model/plan/lower.h"
#include "model/plan/placed.h"
#include "tests/plan/lower_plans.h"

#define MIXTRAL "scenarios/models/mixtral-8x7b.json" // 32 layers of 8 experts, 2 for each token

static const uint64_t hand_tokens[] = {40, 16, 12, 8, 8, 6, 4, 2}; // 96

static Load hand_load(uint32_t layers, const uint64_t *tokens) {
    Load load = {0};
    Err err = {0};
    check_ok(load_of_counts(layers, 1, 8, tokens, "by hand", &load, &err), &err);
    return load;
}

static Plan placed_plan(uint32_t redundant) {
    Plan plan = lower_plans_make(1, 1, 4, 4);
    plan.pools[0].expert_placement = EXPERT_PLACEMENT_EPLB;
    plan.pools[0].redundant_experts = redundant;
    return plan;
}

static Placed place(const Plan *plan, const Arch *arch, const PlacedSpec *spec) {
    Placed placed;
    Err err = {0};
    check_ok(placed_load(&plan->pools[0], arch, spec, &placed, &err), &err);
    return placed;
}

// In order the positions have 56, 20, 14 and 6 of 96 tokens, mean 24: balance 24 / 56.
//
// Replicas: expert 0 (40; 20 each), again 0 (20 beside 16; 13.3 each), expert 1 (16 beside 13.3; 8
// each), again 0 (13.3 beside 12; 10 each). Slots by tokens: 12 (e2), 10 x 4 (e0), 8 (e1, e3, e4,
// e1), 6 (e5), 4 (e6), 2 (e7), each into the lightest position with room:
//   A 12 + 8 (e4) + 4 = 24    B 10 + 10 + 2 = 22    C 10 + 8 + 8 (both e1) = 26    D 10 + 8 + 6 =
//   24
// Balance 24 / 26. The lowered schedule gives each rank that share of its rows.
static void test_placed_by_hand(void **state) {
    (void)state;
    Arch arch = lower_plans_load(MIXTRAL);
    Load load = hand_load(1, hand_tokens);
    Plan plan = placed_plan(4);
    Placed placed = place(&plan, &arch, &(PlacedSpec){.load = &load});
    check_close(placed.balance_in_order, 24 / 56.0, 1e-15);
    check_close(placed.balance, 24 / 26.0, 1e-15);
    assert_int_equal(placed.load.experts, 12);
    Schedule schedule = lower_plans_lower(&plan, &arch, PHASE_DECODE, 1);
    const uint64_t want[] = {24, 22, 26, 24};
    uint32_t seen = 0;
    for (OpId op = 0; op < schedule.op_count; op++) {
        if (schedule.ops[op].kind != OP_GROUPED_GEMM) continue;
        seen++;
        assert_int_equal(schedule.ops[op].compute.experts, 3);
        assert_int_equal(schedule.ops[op].compute.experts_total, 12);
        for (uint32_t rank = 0; rank < 4; rank++) {
            uint64_t part, whole;
            load_rank_share(&placed.load, &schedule, op, rank, &part, &whole);
            assert_int_equal(part, want[rank]);
            assert_int_equal(whole, 96);
        }
    }
    assert_int_equal(seen, 2); // gate and up, down
    schedule_free(&schedule);
    load_free(&placed.load);
    load_free(&load);
    arch_free(&arch);
}

// Two slots on each of 4: 40 A, 16 B, 12 C, 8 (e3) D, 8 (e4) to D (8), 6 to C (12), 4 to B (16), 2
// to A (40): 42, 20, 18, 16. No better than the hottest expert allows.
static void test_placed_without_redundancy_permutes(void **state) {
    (void)state;
    Arch arch = lower_plans_load(MIXTRAL);
    Load load = hand_load(1, hand_tokens);
    Plan plan = placed_plan(0);
    Placed placed = place(&plan, &arch, &(PlacedSpec){.load = &load});
    const uint64_t slots[] = {40, 2, 16, 4, 12, 6, 8, 8};
    assert_memory_equal(placed.load.tokens, slots, sizeof slots);
    check_close(placed.balance, 24 / 42.0, 1e-15);
    load_free(&placed.load);
    load_free(&load);
    arch_free(&arch);
}

// In order nothing is copied, and there is nothing before and after.
static void test_placed_in_order_is_the_load_itself(void **state) {
    (void)state;
    Arch arch = lower_plans_load(MIXTRAL);
    Load load = hand_load(1, hand_tokens);
    Plan plan = lower_plans_make(1, 1, 4, 4);
    Placed placed = place(&plan, &arch, &(PlacedSpec){.load = &load});
    assert_ptr_equal(placed.load.tokens, load.tokens);
    check_close(placed.balance, 24 / 56.0, 1e-15);
    check_close(placed.balance_in_order, 24 / 56.0, 1e-15);
    load_free(&placed.load);
    load_free(&load);
    arch_free(&arch);
}

// Uniform tokens in the slots that the load above asked for: of 12 an expert, e0's four replicas
// have 3 and e1's two 6. A (e2, e4, e6) 36, B (e0, e0, e7) 18, C (e0, e1, e1) 15, D (e0, e3, e5)
// 27: balance 24 / 36.
static void test_placed_for_another_load_than_arrives(void **state) {
    (void)state;
    Arch arch = lower_plans_load(MIXTRAL);
    Load expected = hand_load(1, hand_tokens), even = load_uniform();
    Plan plan = placed_plan(4);
    Placed placed = place(&plan, &arch, &(PlacedSpec){.load = &even, .expected = &expected});
    check_close(placed.balance_in_order, 1, 0);
    check_close(placed.balance, 24 / 36.0, 1e-15);
    load_free(&placed.load);
    load_free(&expected);
    arch_free(&arch);
}

// 4 redundant: 4 experts whole and 4 in halves, 1 and 2 slots on each position. 8: all in halves, 4
// each. 12: 8 halves and 12 thirds, 2 and 3 each. Always 2 experts' tokens on a position, so the
// slots' load is uniform for ranks.
static void test_placed_uniform_stays_uniform_where_replicas_deal_out(void **state) {
    (void)state;
    Arch arch = lower_plans_load(MIXTRAL);
    const uint32_t redundant[] = {4, 8, 12};
    for (uint32_t i = 0; i < 3; i++) {
        Plan plan = placed_plan(redundant[i]);
        Placed placed = place(&plan, &arch, &(PlacedSpec){0});
        assert_int_equal(placed.load.kind, LOAD_UNIFORM);
        check_close(placed.balance, 1, 1e-12);
        load_free(&placed.load);
    }
    arch_free(&arch);
}

// 288 slots for 256 uniform experts on 72 positions: 224 whole and 64 halves. Whole ones first: 3
// on each position and a fourth on 8; the halves fill up the others: 3.5. Mean 256 / 72, largest 4,
// as in order, where 40 positions have 4 experts and 32 have 3: redundancy wins nothing.
static void test_placed_uniform_gains_nothing(void **state) {
    (void)state;
    Arch arch = lower_plans_load(DEEPSEEK);
    Plan plan = lower_plans_make(1, 1, 72, 72);
    plan.pools[0].expert_placement = EXPERT_PLACEMENT_EPLB;
    plan.pools[0].redundant_experts = 32;
    Placed placed = place(&plan, &arch, &(PlacedSpec){0});
    assert_int_equal(placed.load.kind, LOAD_RECORDED);
    check_close(placed.balance_in_order, 256 / 72.0 / 4, 1e-15);
    check_close(placed.balance, 256 / 72.0 / 4, 1e-15);
    load_free(&placed.load);
    arch_free(&arch);
}

// Each layer has its own placement; a load of one row is that row in all 32.
static void test_placed_layer_by_layer(void **state) {
    (void)state;
    Arch arch = lower_plans_load(MIXTRAL);
    uint64_t rows[32 * 8];
    for (uint32_t i = 0; i < 32 * 8; i++) rows[i] = hand_tokens[(i + i / 8) % 8];
    Load expected = hand_load(32, rows), arriving = hand_load(1, hand_tokens);
    Plan plan = placed_plan(4);
    Placed placed = place(&plan, &arch, &(PlacedSpec){.load = &expected});
    assert_int_equal(placed.load.layers, 32);
    check_close(placed.balance, 24 / 26.0, 1e-12); // the same counts in another order
    load_free(&placed.load);
    placed = place(&plan, &arch, &(PlacedSpec){.load = &arriving, .expected = &expected});
    assert_int_equal(placed.load.layers, 32);
    assert_true(placed.balance < 24 / 26.0);
    load_free(&placed.load);
    load_free(&arriving);
    load_free(&expected);
    arch_free(&arch);
}

static void test_placed_refuses_loads_of_another_model(void **state) {
    (void)state;
    Arch arch = lower_plans_load(MIXTRAL);
    Load load = {0};
    Placed placed;
    Err err = {0};
    Plan plan = placed_plan(4);
    check_ok(load_of_counts(1, 1, 4, hand_tokens, "", &load, &err), &err);
    check_fails(placed_load(&plan.pools[0], &arch, &(PlacedSpec){.load = &load}, &placed, &err),
                &err, "the load is of 4 experts, expected 8");
    check_fails(placed_load(&plan.pools[0], &arch, &(PlacedSpec){.expected = &load}, &placed, &err),
                &err, "the load is of 4 experts, expected 8");
    load_free(&load);
    load = hand_load(
        8, (uint64_t[64]){1, [8] = 1, [16] = 1, [24] = 1, [32] = 1, [40] = 1, [48] = 1, [56] = 1});
    check_fails(placed_load(&plan.pools[0], &arch, &(PlacedSpec){.load = &load}, &placed, &err),
                &err, "the load is of 8 layers, expected 32, or one for all");
    load_free(&load);
    arch_free(&arch);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_placed_by_hand),
        cmocka_unit_test(test_placed_without_redundancy_permutes),
        cmocka_unit_test(test_placed_in_order_is_the_load_itself),
        cmocka_unit_test(test_placed_for_another_load_than_arrives),
        cmocka_unit_test(test_placed_uniform_stays_uniform_where_replicas_deal_out),
        cmocka_unit_test(test_placed_uniform_gains_nothing),
        cmocka_unit_test(test_placed_layer_by_layer),
        cmocka_unit_test(test_placed_refuses_loads_of_another_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
