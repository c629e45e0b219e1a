// Context parallelism in the search: which plans try it, and that their parts fold.
#include "tests/check.h"

#include <string.h>

#include "sim/search/rank.h"
#include "sim/search/space_context.h"
#include "tests/plan/hand_plan.h"
#include "tests/sim/small_machine.h"

// ---- What is tried.

// Qwen3-30B-A3B has 4 KV heads: tp 8 keeps two copies of each, tp 4 one. 48 layers.
static void test_space_context_deals_copies(void **state) {
    (void)state;
    SmallMachine machine;
    small_machine_open(&machine, "switch:8,450GB/s");
    Plan eight = hand_plan(8, 1, 1, 8), four = hand_plan(4, 1, 1, 4);
    assert_int_equal(space_context_most_dealt(&eight.pools[0], &machine.arch), 2);
    assert_int_equal(space_context_most_dealt(&four.pools[0], &machine.arch), 1);
    small_machine_close(&machine);
}

// Constants of a collective 6.6 us, a step 0.6 us, a kernel 3 us on Hopper: 48 layers add 48 x (3 x
// 7.2 + 3) us = 1.18 ms. Reading 20 GB at 0.8 x 3.35 TB/s takes 7.46 ms, of which dcp 2 saves half.
static void test_space_context_is_tried_where_it_saves_time(void **state) {
    (void)state;
    SmallMachine machine;
    small_machine_open(&machine, "switch:8,450GB/s");
    Plan plan = hand_plan(8, 1, 1, 8);
    plan.pools[0].dcp = 2;
    MemoryUse use = {.usable_B = UINT64_C(70000000000), .total_B = UINT64_C(30000000000)};
    Err text = {0};
    use.term_B[MEMORY_WEIGHTS] = UINT64_C(10000000000);
    use.term_B[MEMORY_KV] = UINT64_C(20000000000);
    const Pool *pool = &plan.pools[0];
    assert_null(space_context_untried(pool, &machine.arch, &machine.model, &use, &text).reason);
    // 4 GB are read in 1.49 ms: half of it is less than what is added
    use.term_B[MEMORY_KV] = UINT64_C(4000000000);
    PlaceFault fault = space_context_untried(pool, &machine.arch, &machine.model, &use, &text);
    assert_int_equal(fault.kind, LEDGER_SKIPPED);
    assert_string_equal(text.text, "saves 746 us of a step that reads 4.00 GB of caches, and adds "
                                   "at least 1.18 ms in 48 layers");
    // 10 of 10 + 70 GB: a sixteenth of what a step reads
    use.term_B[MEMORY_KV] = UINT64_C(10000000000);
    use.term_B[MEMORY_WEIGHTS] = UINT64_C(70000000000);
    fault = space_context_untried(pool, &machine.arch, &machine.model, &use, &text);
    assert_string_equal(text.text, "saves reading 5.00 GB beside weights of 70.0 GB");
    // what does not fit without is tried whatever it saves
    use.usable_B = UINT64_C(20000000000);
    assert_null(space_context_untried(pool, &machine.arch, &machine.model, &use, &text).reason);
    small_machine_close(&machine);
}

static void test_space_context_shares_long_chunks_alone(void **state) {
    (void)state;
    Scenario scenario;
    Err text = {0};
    scenario_init(&scenario);
    scenario.isl = 100000;
    assert_null(space_context_unshared(&scenario, 16, &text).reason); // 8192 / 16 = 512
    assert_non_null(space_context_unshared(&scenario, 32, &text).reason);
    assert_string_equal(text.text,
                        "256 of 8192 tokens of a chunk on each of 32 ranks, expected at least 512");
    scenario_free(&scenario);
}

// ---- In the search.

static uint32_t count_shared(const Space *space) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < space->candidate_count; i++)
        count += space->candidates[i].plan.pools[0].cp > 1;
    return count;
}

static uint32_t count_dealt(const Space *space) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < space->candidate_count; i++)
        count += space->candidates[i].plan.pools[0].dcp > 1;
    return count;
}

static void rank(const SmallMachine *machine, Objective objective, Ranking *out) {
    EvaluateInput input = small_machine_input(machine);
    RankOptions options = {.objective = objective, .top = 3, .is_quiet = true};
    Err err = {0};
    check_ok(rank_search(&input, &(SpaceExperts){0}, &options, out, &err), &err);
}

// Prompts are shared when the TTFT counts; then the first plan shares them, and has a shorter TTFT
// than any that does not.
static void test_space_context_shortens_the_ttft_of_long_prompts(void **state) {
    (void)state;
    SmallMachine machine;
    Ranking fast, full;
    small_machine_open(&machine, "switch:8,450GB/s");
    machine.scenario.isl = 65536;
    machine.scenario.concurrency = 4;
    rank(&machine, OBJECTIVE_TTFT, &fast);
    rank(&machine, OBJECTIVE_THROUGHPUT, &full);
    assert_true(count_shared(&fast.space) > 0);
    assert_int_equal(count_shared(&full.space), 0);
    assert_true(fast.rows[0].plan.pools[0].cp > 1);
    for (uint32_t i = 0; i < full.row_count; i++)
        assert_true(fast.rows[0].evaluation.ttft_ps < full.rows[i].evaluation.ttft_ps);
    rank_free(&fast);
    rank_free(&full);
    small_machine_close(&machine);
}

// 64 prompts of 120,000 tokens, 98,304 B each: 755 GB of cache. On tp 8 each rank keeps one of 4 KV
// heads, 189 GB of the 80 GB that it has; dealt to the two that keep the same one it is 94 GB,
// still too much, and 24 prompts are 35 GB.
static void test_space_context_makes_room(void **state) {
    (void)state;
    SmallMachine machine;
    Ranking ranking;
    small_machine_open(&machine, "switch:8,450GB/s");
    machine.scenario.isl = 120000;
    machine.scenario.concurrency = 24;
    rank(&machine, OBJECTIVE_THROUGHPUT, &ranking);
    assert_true(count_dealt(&ranking.space) > 0);
    for (uint32_t i = 0; i < ranking.space.candidate_count; i++) {
        const Candidate *dealt = &ranking.space.candidates[i];
        if (dealt->plan.pools[0].dcp == 0) continue;
        // pages of 64 tokens: (120,000 + 256) / 2 = 60,128 are 940 pages; 1 head, keys and values
        // of 128, 48 layers, BF16
        assert_int_equal(dealt->memory.term_B[MEMORY_KV],
                         dealt->sequences * UINT64_C(940) * 64 * 2 * 128 * 2 * 48);
    }
    rank_free(&ranking);
    small_machine_close(&machine);
}

// ---- Folding.

static void check_folds(const SmallMachine *machine, const Plan *plan) {
    EvaluateInput input = small_machine_input(machine);
    Evaluation folded, expanded;
    Err err = {0};
    check_ok(evaluate_plan(&input, plan, 3, &folded, &err), &err);
    input.form = SIM_EXPANDED;
    check_ok(evaluate_plan(&input, plan, 3, &expanded, &err), &err);
    assert_true(folded.ttft_ps == expanded.ttft_ps);
    assert_true(folded.tpot_ps == expanded.tpot_ps);
    evaluate_free(&folded);
    evaluate_free(&expanded);
}

// Ranks that share a prompt or a cache are alike: one stands for all, to the picosecond.
static void test_space_context_folds(void **state) {
    (void)state;
    static const char *const machines[] = {"switch:8,450GB/s", "hgx-h100:2"};
    for (uint32_t i = 0; i < 2; i++) {
        SmallMachine machine;
        small_machine_open(&machine, machines[i]);
        Plan dealt = hand_plan(8, 1, 1, 8), shared = hand_plan(2, 1, 4, 8);
        dealt.pools[0].dcp = 2;
        shared.pools[0].dp = 1;
        shared.pools[0].cp = 4;
        check_folds(&machine, &dealt);
        check_folds(&machine, &shared);
        small_machine_close(&machine);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_space_context_deals_copies),
        cmocka_unit_test(test_space_context_is_tried_where_it_saves_time),
        cmocka_unit_test(test_space_context_shares_long_chunks_alone),
        cmocka_unit_test(test_space_context_shortens_the_ttft_of_long_prompts),
        cmocka_unit_test(test_space_context_makes_room),
        cmocka_unit_test(test_space_context_folds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
