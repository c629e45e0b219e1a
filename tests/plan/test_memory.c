// Memory terms: cache and state by attention kind, the fullest stage, and the message of a plan
// that does not fit.
#include "tests/check.h"

#include "model/plan/memory.h"
#include "model/plan/shard.h"
#include "tests/plan/hand_arch.h"
#include "tests/plan/hand_plan.h"

// The experts of a stage spread over all its ranks.
static Plan make(uint32_t tp, uint32_t pp, uint32_t dp) {
    return hand_plan(tp, pp, dp, tp * dp);
}

static Scenario workload(uint64_t isl, uint64_t osl) {
    Scenario scenario;
    scenario_init(&scenario);
    scenario.isl = isl;
    scenario.osl = osl;
    return scenario;
}

// 61 layers x 576 elements x 2 bytes = 70,272 bytes per token, the same on every TP rank.
static void test_memory_mla_latent_is_on_every_tp_rank(void **state) {
    (void)state;
    Arch arch;
    hand_arch_deepseek_v3(&arch);
    for (uint32_t tp = 1; tp <= 16; tp *= 4) {
        Plan plan = make(tp, 1, 1);
        assert_int_equal(memory_kv_B(&plan.pools[0], &arch, 0, 64), 64 * 70272);
    }
    arch_free(&arch);
}

// 48 layers x 2 x 4 KV heads x 128 x 2 bytes = 98,304 per token; a quarter of it with TP 4, and no
// less with TP 8 and 16.
static void test_memory_gqa_cache_is_cut_down_to_one_head(void **state) {
    (void)state;
    Arch arch;
    hand_arch_qwen3_30b(&arch);
    const uint32_t tp[] = {1, 2, 4, 8, 16};
    const uint64_t token_B[] = {98304, 49152, 24576, 24576, 24576};
    for (uint32_t i = 0; i < 5; i++) {
        Plan plan = make(tp[i], 1, 1);
        assert_int_equal(memory_kv_B(&plan.pools[0], &arch, 0, 64), 64 * token_B[i]);
    }
    arch_free(&arch);
}

// FP8 halves a plain cache. A latent has a packed form: 512 + 4 x 4 of scales + 64 x 2 in BF16 =
// 656 bytes per layer; as plain FP8 it would be 576.
static void test_memory_fp8_cache(void **state) {
    (void)state;
    Arch arch;
    Plan plan = make(1, 1, 1);
    plan.pools[0].kv_format = NUMFMT_FP8;
    hand_arch_qwen3_30b(&arch);
    assert_int_equal(memory_kv_B(&plan.pools[0], &arch, 0, 64), 64 * 98304 / 2);
    arch_free(&arch);
    hand_arch_deepseek_v3(&arch);
    assert_int_equal(memory_kv_B(&plan.pools[0], &arch, 0, 64), 64 * 61 * 576);
    arch.attentions[0].kv_packed_B_per_token = 656;
    assert_int_equal(memory_kv_B(&plan.pools[0], &arch, 0, 64), 64 * 61 * 656);
    arch_free(&arch);
}

// 1 token takes a page of 64, 65 take two.
static void test_memory_cache_comes_in_pages(void **state) {
    (void)state;
    Arch arch;
    hand_arch_deepseek_v3(&arch);
    Plan plan = make(1, 1, 1);
    assert_int_equal(memory_kv_B(&plan.pools[0], &arch, 0, 0), 0);
    assert_int_equal(memory_kv_B(&plan.pools[0], &arch, 0, 1), 64 * 70272);
    assert_int_equal(memory_kv_B(&plan.pools[0], &arch, 0, 64), 64 * 70272);
    assert_int_equal(memory_kv_B(&plan.pools[0], &arch, 0, 65), 128 * 70272);
    arch_free(&arch);
}

// 6 KDA layers of 96 x 128 x 128 x 4 + 3 x 12,288 x 3 x 2 = 6,512,640 bytes per sequence; TP 8
// keeps an eighth. Stages of 4 layers have 3 of them each. Only the 2 MLA layers have a growing
// cache.
static void test_memory_kda_state_is_cut_by_tp(void **state) {
    (void)state;
    Arch arch;
    hand_arch_kimi_small(&arch);
    Plan plan = make(1, 1, 1);
    assert_int_equal(memory_cache_state_B(&plan.pools[0], &arch, 0), 6 * 6512640);
    assert_int_equal(memory_kv_B(&plan.pools[0], &arch, 0, 64), 64 * 2 * 1152);
    plan = make(8, 2, 1);
    assert_int_equal(memory_cache_state_B(&plan.pools[0], &arch, 0), 3 * 6512640 / 8);
    assert_int_equal(memory_cache_state_B(&plan.pools[0], &arch, 1), 3 * 6512640 / 8);
    arch_free(&arch);
}

// One GPU of 100 GB at 0.9 has 90 GB. Weights are those of the shards; 10 sequences of 1,000 + 24
// tokens take 10 x 1,024 x 98,304 bytes; what is left after weights, buffers and the reserve of a
// single GPU divides by 1,024 x 98,304.
static void test_memory_use_adds_the_terms(void **state) {
    (void)state;
    Arch arch;
    Arena arena = {0};
    ShardSummary shards;
    MemoryUse use;
    hand_arch_qwen3_30b(&arch);
    Plan plan = make(1, 1, 1);
    Scenario scenario = workload(1000, 24);
    Device device = {.memory_B = {100000000000, 110000000000}};
    shard_weights(&plan, 0, &arch, &arena, &shards);
    memory_use(&plan, 0, &arch, &device, &scenario, 10, 12345, &use);
    const uint64_t sequence_B = 1024 * 98304, reserve_B = memory_reserve_B(&plan.pools[0]);
    assert_int_equal(use.usable_B, 90000000000);
    assert_int_equal(use.term_B[MEMORY_WEIGHTS], shards.largest_B);
    assert_int_equal(use.term_B[MEMORY_KV], 10 * sequence_B);
    assert_int_equal(use.term_B[MEMORY_STATE], 0);
    assert_int_equal(use.term_B[MEMORY_BUFFERS], 12345);
    assert_int_equal(use.total_B, shards.largest_B + 10 * sequence_B + 12345 + reserve_B);
    assert_int_equal(use.sequences, 10);
    assert_int_equal(use.most_sequences,
                     (90000000000 - shards.largest_B - 12345 - reserve_B) / sequence_B);
    arena_free(&arena);
    arch_free(&arch);
}

// 61 layers over 2 stages: the first has 31 with the 3 dense ones and the embedding. The second has
// 30 layers of experts, which weigh more than 28 layers of experts and 3 dense ones: it is the
// fullest.
static void test_memory_use_finds_the_fullest_stage(void **state) {
    (void)state;
    Arch arch;
    MemoryUse use;
    hand_arch_deepseek_v3(&arch);
    Plan plan = make(8, 2, 1);
    Scenario scenario = workload(1024, 0);
    Device device = {.memory_B = {80000000000, 80000000000}};
    memory_use(&plan, 0, &arch, &device, &scenario, 1, 0, &use);
    assert_int_equal(use.stage, 1);
    assert_int_equal(use.term_B[MEMORY_KV], 1024 * 30 * 1152);
    arch_free(&arch);
}

// As many sequences as fit do fit, one more does not.
static void test_memory_most_sequences_is_the_edge(void **state) {
    (void)state;
    Arch arch;
    MemoryUse use;
    hand_arch_kimi_small(&arch);
    Plan plan = make(2, 2, 4);
    Scenario scenario = workload(3000, 500);
    Device device = {.memory_B = {64000000000, 64000000000}};
    Err err = {0};
    memory_use(&plan, 0, &arch, &device, &scenario, 1, 1000, &use);
    uint64_t most = use.most_sequences;
    assert_true(most > 1);
    memory_use(&plan, 0, &arch, &device, &scenario, most, 1000, &use);
    check_ok(memory_fits(&use, &err), &err);
    memory_use(&plan, 0, &arch, &device, &scenario, most + 1, 1000, &use);
    assert_false(memory_fits(&use, &err));
    arch_free(&arch);
}

// 205 GB of weights, 2 GB of cache and 1 GB of reserve are 208 GB; 208 - 166.5 = 41.5 GB too much.
static void test_memory_message_adds_up(void **state) {
    (void)state;
    Err err = {0};
    MemoryUse use = {.usable_B = 166500000000, .total_B = 208000000000};
    use.term_B[MEMORY_WEIGHTS] = 205000000000;
    use.term_B[MEMORY_KV] = 2000000000;
    use.term_B[MEMORY_RESERVE] = 1000000000;
    check_fails(
        memory_fits(&use, &err), &err,
        "weights 205 GB, kv cache 2.00 GB and engine reserve 1.00 GB exceed the usable 167 GB "
        "by 41.5 GB");
    assert_int_equal(memory_over_B(&use), 41500000000);
}

// A trillion sequences of a trillion tokens do not wrap around to something that fits.
static void test_memory_sums_saturate(void **state) {
    (void)state;
    Arch arch;
    MemoryUse use;
    hand_arch_qwen3_30b(&arch);
    Plan plan = make(1, 1, 1);
    Scenario scenario = workload(UINT64_C(1) << 40, UINT64_C(1) << 40);
    Device device = {.memory_B = {80000000000, 80000000000}};
    Err err = {0};
    memory_use(&plan, 0, &arch, &device, &scenario, UINT64_C(1) << 40, UINT64_MAX, &use);
    assert_true(use.total_B == UINT64_MAX);
    assert_int_equal(use.most_sequences, 0);
    assert_false(memory_fits(&use, &err));
    arch_free(&arch);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_mla_latent_is_on_every_tp_rank),
        cmocka_unit_test(test_memory_gqa_cache_is_cut_down_to_one_head),
        cmocka_unit_test(test_memory_fp8_cache),
        cmocka_unit_test(test_memory_cache_comes_in_pages),
        cmocka_unit_test(test_memory_kda_state_is_cut_by_tp),
        cmocka_unit_test(test_memory_use_adds_the_terms),
        cmocka_unit_test(test_memory_use_finds_the_fullest_stage),
        cmocka_unit_test(test_memory_most_sequences_is_the_edge),
        cmocka_unit_test(test_memory_message_adds_up),
        cmocka_unit_test(test_memory_sums_saturate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
