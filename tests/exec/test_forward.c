// The numbers of a forward pass through schedules: one rank gives those of the reference, and every
// way to cut a model gives those of one rank.
#include "tests/check.h"

#include "tests/exec/reference.h"
#include "tests/exec/tiny.h"

#define AGREE 1e-3 // absolute, of logits of size about 5

// Of 2 texts, with one token behind the prompt and a sampled one.
static void check_reference(const char *config) {
    TinyModel model = tiny_open(config);
    TinyRun run = {.texts = 2, .tokens = 5, .chunks = 1, .rounds = 2};
    Plan alone = tiny_plan(1, 1, 1, 1);
    TinyLogits got = tiny_run(&model, &alone, &run), want = reference_run(&model, 2, 5, 2);
    double distance = tiny_distance(&got, &want);
    print_message("one rank beside the reference: max |dlogit| %.2e\n", distance);
    assert_true(distance <= AGREE);
    assert_int_equal(tiny_argmax_differ(&got, &want), 0);
    tiny_free(&got);
    tiny_free(&want);
    tiny_close(&model);
}

static void test_forward_one_rank_is_the_reference(void **state) {
    (void)state;
    check_reference(tiny_qwen);
    check_reference(tiny_deepseek);
}

typedef struct Case {
    const char *name;
    uint32_t tp, pp, dp, ep, replicas, chunks;
    MoeComm moe_comm;
    Overlap overlap;
    Algorithm all_to_all, sums;
} Case;

// Experts on fewer ranks than there are (ep below tp x dp) are cut: moe_tp 2 or 4.
static const Case cases[] = {
    {"tp 2, experts cut", 2, 1, 1, 1, 1, 0, MOE_COMM_NONE, OVERLAP_SHARED, ALGORITHM_DIRECT,
     ALGORITHM_RING},
    {"tp 2, ep 2", 2, 1, 1, 2, 1, 0, MOE_COMM_NONE, OVERLAP_SHARED, ALGORITHM_DIRECT,
     ALGORITHM_DIRECT},
    {"tp 4, 2 kv heads, ep 2 x 2", 4, 1, 1, 2, 1, 0, MOE_COMM_NONE, OVERLAP_SHARED,
     ALGORITHM_DIRECT, ALGORITHM_DIRECT},
    {"ep 4", 1, 1, 4, 4, 1, 0, MOE_COMM_ALL_TO_ALL, OVERLAP_SHARED, ALGORITHM_PAIRWISE,
     ALGORITHM_RING},
    {"ep 4, nothing overlaps", 1, 1, 4, 4, 1, 0, MOE_COMM_ALL_TO_ALL, OVERLAP_NONE,
     ALGORITHM_DIRECT, ALGORITHM_RING},
    {"ep 4, two batches", 1, 1, 4, 4, 1, 0, MOE_COMM_ALL_TO_ALL, OVERLAP_TWO_BATCH,
     ALGORITHM_DIRECT, ALGORITHM_RING},
    {"ep 4, 3 chunks", 1, 1, 4, 4, 1, 3, MOE_COMM_ALL_TO_ALL, OVERLAP_SHARED, ALGORITHM_DIRECT,
     ALGORITHM_RING},
    {"ep 2 x 2 cuts, all-to-all", 1, 1, 4, 2, 1, 0, MOE_COMM_ALL_TO_ALL, OVERLAP_SHARED,
     ALGORITHM_DIRECT, ALGORITHM_RING},
    {"gather, ep 4", 2, 1, 2, 4, 1, 0, MOE_COMM_GATHER, OVERLAP_SHARED, ALGORITHM_DIRECT,
     ALGORITHM_RING},
    {"gather, experts cut", 1, 1, 2, 1, 1, 0, MOE_COMM_GATHER, OVERLAP_SHARED, ALGORITHM_DIRECT,
     ALGORITHM_DIRECT},
    {"pp 2", 1, 2, 1, 1, 1, 0, MOE_COMM_NONE, OVERLAP_SHARED, ALGORITHM_DIRECT, ALGORITHM_RING},
    {"pp 4", 1, 4, 1, 1, 1, 0, MOE_COMM_NONE, OVERLAP_SHARED, ALGORITHM_DIRECT, ALGORITHM_RING},
    {"2 replicas", 1, 1, 1, 1, 2, 0, MOE_COMM_NONE, OVERLAP_SHARED, ALGORITHM_DIRECT,
     ALGORITHM_RING},
    {"tp 2, pp 2, dp 2, ep 4", 2, 2, 2, 4, 1, 0, MOE_COMM_ALL_TO_ALL, OVERLAP_SHARED,
     ALGORITHM_DIRECT, ALGORITHM_RING},
    {"the same in two batches", 2, 2, 2, 4, 1, 0, MOE_COMM_ALL_TO_ALL, OVERLAP_TWO_BATCH,
     ALGORITHM_DIRECT, ALGORITHM_RING},
    {"the same in 2 chunks", 2, 2, 2, 4, 1, 2, MOE_COMM_ALL_TO_ALL, OVERLAP_SHARED,
     ALGORITHM_DIRECT, ALGORITHM_RING},
    {"ep 8 of tp 2, dp 4", 2, 1, 4, 8, 1, 0, MOE_COMM_ALL_TO_ALL, OVERLAP_SHARED, ALGORITHM_DIRECT,
     ALGORITHM_RING},
    {"tp 4, pp 2, dp 2, two batches", 4, 2, 2, 8, 1, 0, MOE_COMM_ALL_TO_ALL, OVERLAP_TWO_BATCH,
     ALGORITHM_DIRECT, ALGORITHM_DIRECT},
    {"tp 4, dp 2, ep 2 x 4", 4, 1, 2, 2, 1, 0, MOE_COMM_ALL_TO_ALL, OVERLAP_SHARED,
     ALGORITHM_DIRECT, ALGORITHM_RING},
    {"tp 4, dp 2, ep 4 x 2, 3 chunks", 4, 1, 2, 4, 1, 3, MOE_COMM_ALL_TO_ALL, OVERLAP_SHARED,
     ALGORITHM_PAIRWISE, ALGORITHM_DIRECT},
    {"tp 2, dp 4, ep 2 x 4", 2, 1, 4, 2, 1, 0, MOE_COMM_ALL_TO_ALL, OVERLAP_SHARED,
     ALGORITHM_DIRECT, ALGORITHM_RING},
    {"tp 4, dp 2, gather", 4, 1, 2, 8, 1, 0, MOE_COMM_GATHER, OVERLAP_SHARED, ALGORITHM_DIRECT,
     ALGORITHM_RING},
    {"tp 2, pp 2 x 2 replicas", 2, 2, 1, 2, 2, 0, MOE_COMM_NONE, OVERLAP_SHARED, ALGORITHM_DIRECT,
     ALGORITHM_DIRECT},
};
#define CASE_COUNT (sizeof cases / sizeof cases[0])

static Plan plan_of(const Case *how) {
    Plan plan = tiny_plan(how->tp, how->pp, how->dp, how->ep);
    Pool *pool = &plan.pools[0];
    pool->replicas = how->replicas;
    pool->moe_chunks = how->chunks;
    pool->moe_comm = how->moe_comm;
    pool->prefill_overlap = pool->decode_overlap = how->overlap;
    pool->all_to_all = how->all_to_all;
    pool->all_reduce = pool->all_gather = pool->reduce_scatter = how->sums;
    return plan;
}

// 8 texts of 6 tokens over all groups and micro-batches, one at least in each; then 3 rounds of one
// token each. Or, uneven: 3 of 5 tokens in each, so that 15 tokens, 7 or 8 in each batch or chunk,
// are shared by 2 or 4 ranks, and then 3, and 1 or 2: some of 4 ranks have none.
static TinyRun texts_of(const Pool *pool, bool is_uneven) {
    uint32_t groups = pool->dp * pool->replicas * pool->micro_batches, texts = 8 / groups;
    if (is_uneven) return (TinyRun){.texts = 3, .tokens = 5, .chunks = 1, .rounds = 3};
    return (TinyRun){.texts = texts, .tokens = 6, .chunks = 1, .rounds = 3};
}

static double compare(const TinyModel *model, const Case *how, bool is_uneven,
                      const TinyLogits *alone) {
    Plan plan = plan_of(how);
    TinyRun run = texts_of(&plan.pools[0], is_uneven);
    TinyLogits got = tiny_run(model, &plan, &run);
    double distance = tiny_distance(&got, alone);
    print_message("%-28s %u ranks: max |dlogit| %.2e, %llu of %llu choices near a tie\n", how->name,
                  (unsigned)pool_ranks(&plan.pools[0]), distance, (unsigned long long)got.ties.near,
                  (unsigned long long)got.ties.choices);
    assert_true(distance <= AGREE);
    assert_int_equal(tiny_argmax_differ(&got, alone), 0);
    tiny_free(&got);
    return distance;
}

// One rank has as many texts as any of the plans.
static void compare_all(const char *config, bool is_uneven) {
    TinyModel model = tiny_open(config);
    Plan plan = tiny_plan(1, 1, 1, 1);
    TinyRun run = texts_of(&plan.pools[0], is_uneven);
    if (is_uneven) run.texts *= 4 * 2; // dp 4, or dp 2 and 2 stages
    double largest = 0;
    TinyLogits alone = tiny_run(&model, &plan, &run);
    for (size_t i = 0; i < CASE_COUNT; i++) {
        double distance = compare(&model, &cases[i], is_uneven, &alone);
        if (distance > largest) largest = distance;
    }
    print_message("%s: largest %.2e\n", is_uneven ? "uneven" : "even", largest);
    tiny_free(&alone);
    tiny_close(&model);
}

static void test_forward_qwen_agrees(void **state) {
    (void)state;
    compare_all(tiny_qwen, false);
}

static void test_forward_deepseek_agrees(void **state) {
    (void)state;
    compare_all(tiny_deepseek, false);
}

static void test_forward_uneven_shares_agree(void **state) {
    (void)state;
    compare_all(tiny_qwen, true);
    compare_all(tiny_deepseek, true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forward_one_rank_is_the_reference),
        cmocka_unit_test(test_forward_qwen_agrees),
        cmocka_unit_test(test_forward_deepseek_agrees),
        cmocka_unit_test(test_forward_uneven_shares_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
