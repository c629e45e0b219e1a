// Where experts are tried to lie, and that remembering it changes nothing.
#include "tests/check.h"

#include "sim/search/rank.h"
#include "tests/sim/small_machine.h"

static void expect(const SpaceExperts *got, ExpertPlacement placement, uint32_t redundant) {
    assert_int_equal(got->placement, placement);
    assert_int_equal(got->redundant, redundant);
    assert_false(got->any);
}

// Qwen3-30B-A3B has 128 experts. Over 12 positions they fill 132 slots with 4 replicas, and from an
// eighth of them (16) on 144 with 16; over 8 positions none and 16.
static void test_space_experts_fill_the_positions(void **state) {
    (void)state;
    SmallMachine machine;
    SpaceExperts any = {.any = true}, out[SPACE_EXPERTS_MAX];
    small_machine_open(&machine, "switch:4,450GB/s");
    assert_int_equal(space_experts_list(&any, &machine.arch, 12, out), 3);
    expect(&out[0], EXPERT_PLACEMENT_LINEAR, 0);
    expect(&out[1], EXPERT_PLACEMENT_EPLB, 4);
    expect(&out[2], EXPERT_PLACEMENT_EPLB, 16);
    assert_int_equal(space_experts_list(&any, &machine.arch, 8, out), 3);
    expect(&out[1], EXPERT_PLACEMENT_EPLB, 0);
    expect(&out[2], EXPERT_PLACEMENT_EPLB, 16);
    small_machine_close(&machine);
}

// One position has no choice, nor has a search that is told.
static void test_space_experts_without_a_choice(void **state) {
    (void)state;
    SmallMachine machine;
    SpaceExperts any = {.any = true}, told = {.placement = EXPERT_PLACEMENT_EPLB, .redundant = 32};
    SpaceExperts out[SPACE_EXPERTS_MAX];
    small_machine_open(&machine, "switch:4,450GB/s");
    assert_int_equal(space_experts_list(&any, &machine.arch, 1, out), 1);
    expect(&out[0], EXPERT_PLACEMENT_LINEAR, 0);
    assert_int_equal(space_experts_list(&told, &machine.arch, 8, out), 1);
    expect(&out[0], EXPERT_PLACEMENT_EPLB, 32);
    small_machine_close(&machine);
}

// A few experts get most tokens: the search finds a plan at least as good as with experts in order
// alone, and what it finds is the same without the memory of placed loads.
static void test_space_experts_are_searched_for_a_skewed_load(void **state) {
    (void)state;
    SmallMachine machine;
    Ranking ordered, free;
    Load load = {0};
    Err err = {0};
    uint64_t tokens[128];
    small_machine_open(&machine, "switch:4,450GB/s");
    machine.scenario.concurrency = 512;
    for (uint32_t e = 0; e < 128; e++) tokens[e] = e < 8 ? 100 : 10;
    check_ok(load_of_counts(1, 1, 128, tokens, "by hand", &load, &err), &err);
    EvaluateInput input = small_machine_input(&machine);
    RankOptions options = {.objective = OBJECTIVE_THROUGHPUT, .top = 1, .is_quiet = true};
    input.load = &load;
    input.load_classes = 2;
    check_ok(rank_search(&input, &(SpaceExperts){0}, &options, &ordered, &err), &err);
    check_ok(rank_search(&input, &(SpaceExperts){.any = true}, &options, &free, &err), &err);
    const RankRow *best = &free.rows[0];
    assert_true(best->evaluation.tok_s_per_gpu >= ordered.rows[0].evaluation.tok_s_per_gpu);
    assert_true(best->plan.pools[0].ep == 1 ||
                best->plan.pools[0].expert_placement == EXPERT_PLACEMENT_EPLB);
    Evaluation alone;
    check_ok(evaluate_plan(&input, &best->plan, best->sequences, &alone, &err), &err);
    assert_true(alone.tpot_ps == best->evaluation.tpot_ps);
    assert_true(alone.ttft_ps == best->evaluation.ttft_ps);
    evaluate_free(&alone);
    rank_free(&ordered);
    rank_free(&free);
    load_free(&load);
    small_machine_close(&machine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_space_experts_fill_the_positions),
        cmocka_unit_test(test_space_experts_without_a_choice),
        cmocka_unit_test(test_space_experts_are_searched_for_a_skewed_load),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
