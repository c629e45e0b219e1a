// Stages: the rules of engines for layers that do not come out even, and the cut by cost against
// all cuts there are.
#include "tests/check.h"

#include "model/base/rng.h"
#include "model/plan/plan.h"
#include "model/plan/stage_cut.h"
#include "tests/plan/hand_arch.h"
#include "tests/plan/hand_plan.h"

static const StageCache no_cache = {0};

static void check_stages(StageCut cut, uint32_t layers, uint32_t pp, const uint32_t *want) {
    Pool pool = {.pp = pp, .stage_cut = cut};
    uint32_t next = 0;
    for (uint32_t stage = 0; stage < pp; stage++) {
        uint32_t first, count;
        pool_stage_layers(&pool, layers, stage, &first, &count);
        assert_int_equal(first, next);
        assert_int_equal(count, want[stage]);
        next += count;
    }
    assert_int_equal(next, layers);
}

// 43 = 10 x 4 + 3: vLLM gives the three to stages 8, 7 and 6; it used to give all to the last one.
// SGLang: to the last three. 94 = 4 x 23 + 2.
static void test_stage_cut_left_over_layers_of_engines(void **state) {
    (void)state;
    check_stages(STAGE_CUT_VLLM, 43, 10, (const uint32_t[]){4, 4, 4, 4, 4, 4, 5, 5, 5, 4});
    check_stages(STAGE_CUT_VLLM_OLD, 43, 10, (const uint32_t[]){4, 4, 4, 4, 4, 4, 4, 4, 4, 7});
    check_stages(STAGE_CUT_SGLANG, 43, 10, (const uint32_t[]){4, 4, 4, 4, 4, 4, 4, 5, 5, 5});
    check_stages(STAGE_CUT_EVEN, 43, 10, (const uint32_t[]){5, 5, 5, 4, 4, 4, 4, 4, 4, 4});
    check_stages(STAGE_CUT_VLLM, 94, 4, (const uint32_t[]){23, 24, 24, 23});
    check_stages(STAGE_CUT_SGLANG, 94, 4, (const uint32_t[]){23, 23, 24, 24});
    check_stages(STAGE_CUT_VLLM, 7, 4, (const uint32_t[]){2, 2, 2, 1});
    for (uint32_t cut = 0; cut < STAGE_CUT_LISTED; cut++) {
        check_stages((StageCut)cut, 92, 4, (const uint32_t[]){23, 23, 23, 23});
        check_stages((StageCut)cut, 92, 1, (const uint32_t[]){92});
    }
}

static void test_stage_cut_listed_stages_are_as_listed(void **state) {
    (void)state;
    Pool pool = {.pp = 3, .stage_cut = STAGE_CUT_LISTED, .stages = {2, 5, 1}};
    const uint32_t want[3][2] = {{0, 2}, {2, 5}, {7, 1}};
    for (uint32_t stage = 0; stage < 3; stage++) {
        uint32_t first, count;
        pool_stage_layers(&pool, 8, stage, &first, &count);
        assert_int_equal(first, want[stage][0]);
        assert_int_equal(count, want[stage][1]);
    }
}

// Layers that cost 1, 1, 1, 4, 1 in two stages: 1 + 1 + 1 and 4 + 1 make 5 at most; any other cut
// has 7. With 3 more in front, 5 and 6 or 6 and 5 are as good: the earlier stage is longer. With 4
// more behind, the second has the last layer alone (7, 5).
static void test_stage_cut_evens_out_costs(void **state) {
    (void)state;
    uint64_t layers[] = {1, 1, 1, 4, 1};
    uint32_t got[2];
    StageCosts costs = {.layers = layers, .layer_count = 5};
    assert_int_equal(stage_cut_list(&costs, 2, got), 5);
    assert_int_equal(got[0], 3);
    costs.first = 3;
    assert_int_equal(stage_cut_list(&costs, 2, got), 6);
    assert_int_equal(got[0], 3);
    costs.first = 0;
    costs.last = 4;
    assert_int_equal(stage_cut_list(&costs, 2, got), 7);
    assert_int_equal(got[0], 4);
}

// 7 equal layers: within the largest of 3, the cut 3, 2, 2 is evener than 3, 3, 1, and of the three
// orders of 3, 2, 2 the longer stage comes first.
static void test_stage_cut_ties_are_even_and_the_first_longer(void **state) {
    (void)state;
    uint64_t layers[] = {9, 9, 9, 9, 9, 9, 9};
    uint32_t got[3];
    StageCosts costs = {.layers = layers, .layer_count = 7};
    assert_int_equal(stage_cut_list(&costs, 3, got), 27);
    assert_int_equal(got[0], 3);
    assert_int_equal(got[1], 2);
    assert_int_equal(got[2], 2);
}

// The largest stage of a cut given by its ends.
static uint64_t largest_of(const StageCosts *costs, uint32_t stages, const uint32_t *counts) {
    uint64_t most = 0;
    for (uint32_t stage = 0, layer = 0; stage < stages; stage++) {
        uint64_t cost = (stage == 0 ? costs->first : 0) + (stage == stages - 1 ? costs->last : 0);
        for (uint32_t i = 0; i < counts[stage]; i++) cost += costs->layers[layer++];
        if (cost > most) most = cost;
    }
    return most;
}

// Every cut of up to 10 layers: a bit between two layers says that a stage ends there.
static uint64_t least_of_all(const StageCosts *costs, uint32_t stages) {
    uint64_t least = UINT64_MAX;
    for (uint32_t ends = 0; ends < 1U << (costs->layer_count - 1); ends++) {
        uint32_t counts[10] = {0}, stage = 0;
        for (uint32_t layer = 0; layer < costs->layer_count; layer++) {
            counts[stage]++;
            if (ends >> layer & 1) stage++;
        }
        if (stage + 1 != stages) continue;
        uint64_t largest = largest_of(costs, stages, counts);
        if (largest < least) least = largest;
    }
    return least;
}

static void test_stage_cut_is_the_least_of_all_cuts(void **state) {
    (void)state;
    Rng rng;
    rng_seed(&rng, 11);
    for (uint32_t round = 0; round < 500; round++) {
        uint64_t layers[10];
        uint32_t got[10], count = 1 + (uint32_t)rng_below(&rng, 10), sum = 0;
        uint32_t stages = 1 + (uint32_t)rng_below(&rng, count);
        for (uint32_t i = 0; i < count; i++) layers[i] = rng_below(&rng, 20);
        StageCosts costs = {layers, rng_below(&rng, 30), rng_below(&rng, 30), count};
        uint64_t bound = stage_cut_list(&costs, stages, got);
        for (uint32_t i = 0; i < stages; i++) {
            assert_true(got[i] > 0);
            sum += got[i];
        }
        assert_int_equal(sum, count);
        assert_int_equal(bound, largest_of(&costs, stages, got));
        assert_int_equal(bound, least_of_all(&costs, stages));
    }
}

// DeepSeek-V3 on one rank a stage. A dense layer holds 0.58 GB (attention of 187 MB, MLP of 396 MB)
// against 11.5 GB of a layer with experts, and computes about as much: it costs about half. 3 such
// and 58 others are 59.5 layers, 8.5 for each of 7 stages: 10 with the dense ones in front, then 9
// or 8, where the even cut has 9, 9, 9, 9, 9, 8, 8.
static void test_stage_cut_dense_layers_cost_less(void **state) {
    (void)state;
    Arch arch;
    Arena arena = {0};
    StageCosts costs;
    const uint32_t want[] = {10, 9, 9, 9, 8, 8, 8};
    hand_arch_deepseek_v3(&arch);
    Plan plan = hand_plan(1, 7, 1, 1);
    stage_cut_costs(&arch, &plan.pools[0], &no_cache, &arena, &costs);
    assert_int_equal(costs.layers[0], costs.layers[2]);
    assert_int_equal(costs.layers[3], costs.layers[60]);
    double dense = (double)costs.layers[0] / (double)costs.layers[3];
    assert_true(dense > 0.45 && dense < 0.55);
    stage_cut_by_cost(&arch, &no_cache, &plan.pools[0]);
    Err err = {0};
    check_ok(plan_legal(&plan, &arch, &err), &err);
    assert_int_equal(plan.pools[0].stage_cut, STAGE_CUT_LISTED);
    for (uint32_t i = 0; i < 7; i++) assert_int_equal(plan.pools[0].stages[i], want[i]);
    plan = hand_plan(1, 2, 1, 1); // 29.5 and 30
    stage_cut_by_cost(&arch, &no_cache, &plan.pools[0]);
    assert_int_equal(plan.pools[0].stage_cut, STAGE_CUT_EVEN);
    assert_int_equal(plan.pools[0].stages[0], 0);
    arena_free(&arena);
    arch_free(&arch);
}

// All costs together are the whole, but for what is rounded away in each of 61 + 2 terms.
static void test_stage_cut_costs_add_up(void **state) {
    (void)state;
    Arch arch;
    Arena arena = {0};
    StageCosts costs;
    hand_arch_deepseek_v3(&arch);
    Plan plan = hand_plan(8, 4, 1, 8);
    stage_cut_costs(&arch, &plan.pools[0], &no_cache, &arena, &costs);
    uint64_t sum = costs.first + costs.last;
    for (uint32_t i = 0; i < costs.layer_count; i++) sum += costs.layers[i];
    assert_true(sum <= STAGE_CUT_WHOLE && sum > STAGE_CUT_WHOLE - 4 * 63);
    arena_free(&arena);
    arch_free(&arch);
}

// Qwen3-30B: 48 layers of 1.25 GB and two tables of 0.62 GB, 61.1 GB together. A table is 1.0 % of
// the bytes and nothing of the compute, a layer 2.0 % and 2.1 %: a quarter of it. 8,000 sequences
// of 32,768 tokens keep 8,000 x 32,768 x 2 x 4 x 128 x 2 bytes = 537 GB in each layer, 26 TB in
// all: a table is 0.0024 % then, and a layer 2.1 % of both.
static void test_stage_cut_caches_weigh_more_than_tables(void **state) {
    (void)state;
    Arch arch;
    Arena arena = {0};
    StageCosts bare, full;
    const StageCache cache = {8000, 32768};
    hand_arch_qwen3_30b(&arch);
    Plan plan = hand_plan(1, 2, 1, 1);
    stage_cut_costs(&arch, &plan.pools[0], &no_cache, &arena, &bare);
    stage_cut_costs(&arch, &plan.pools[0], &cache, &arena, &full);
    check_close((double)bare.first / (double)bare.layers[0], 1.02 / (2.04 + 2.08), 0.01);
    check_close((double)full.first / (double)full.layers[0], 0.00241 / (2.083 + 2.083), 0.001);
    arena_free(&arena);
    arch_free(&arch);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stage_cut_left_over_layers_of_engines),
        cmocka_unit_test(test_stage_cut_listed_stages_are_as_listed),
        cmocka_unit_test(test_stage_cut_evens_out_costs),
        cmocka_unit_test(test_stage_cut_ties_are_even_and_the_first_longer),
        cmocka_unit_test(test_stage_cut_is_the_least_of_all_cuts),
        cmocka_unit_test(test_stage_cut_dense_layers_cost_less),
        cmocka_unit_test(test_stage_cut_costs_add_up),
        cmocka_unit_test(test_stage_cut_caches_weigh_more_than_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
