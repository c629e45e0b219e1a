// Smaller plans: which widths are left, and what shrinks with them.
#include "model/plan/scale.h"
#include "tests/check.h"

static const Pool wide = {.tp = 4,
                          .pp = 1,
                          .dp = 18,
                          .cp = 1,
                          .ep = 72,
                          .moe_tp = 1,
                          .replicas = 1,
                          .micro_batches = 1,
                          .moe_comm = MOE_COMM_ALL_TO_ALL};

static Pool scaled(const Pool *pool, uint32_t ranks) {
    Pool out = {0};
    Err err = {0};
    check_ok(scale_pool(pool, ranks, &out, &err), &err);
    assert_int_equal(pool_ranks(&out), ranks);
    return out;
}

// 8 = 4 x 2, 2 x 4 or 1 x 8: with tp 4 dp shrinks 9-fold, with tp 2 it shrinks 4.5-fold and tp
// 2-fold, and 1 x 8 would lose tp. EP was all ranks and stays so.
static void test_scale_shrinks_evenly(void **state) {
    (void)state;
    Pool small = scaled(&wide, 8);
    assert_int_equal(small.tp, 2);
    assert_int_equal(small.dp, 4);
    assert_int_equal(small.ep, 8);
    assert_int_equal(small.moe_tp, 1);
    assert_int_equal(small.moe_comm, MOE_COMM_ALL_TO_ALL);
}

// 2 ranks cannot keep both: tp is lost last. One token group needs no communication of its own.
static void test_scale_gives_up_the_outermost(void **state) {
    (void)state;
    Pool small = scaled(&wide, 2);
    assert_int_equal(small.tp, 2);
    assert_int_equal(small.dp, 1);
    assert_int_equal(small.moe_comm, MOE_COMM_NONE);
}

// 16 ranks of 2 replicas x 4 stages x 8 tp: 2 x 2 x 4 keeps all three. Micro-batches follow the
// stages: 8 of 4 stages are 4 of 2.
static void test_scale_keeps_stages_and_replicas(void **state) {
    (void)state;
    Pool pool = {.tp = 8,
                 .pp = 4,
                 .dp = 1,
                 .cp = 1,
                 .ep = 1,
                 .moe_tp = 8,
                 .replicas = 2,
                 .micro_batches = 8,
                 .stage_cut = STAGE_CUT_LISTED,
                 .stages = {15, 16, 16, 14}};
    Pool small = scaled(&pool, 16);
    assert_int_equal(small.tp, 4);
    assert_int_equal(small.pp, 2);
    assert_int_equal(small.replicas, 2);
    assert_int_equal(small.moe_tp, 4);
    assert_int_equal(small.micro_batches, 4);
    assert_int_equal(small.stage_cut, STAGE_CUT_EVEN);
    assert_int_equal(small.stages[0], 0);
}

// 19 is prime and wider than any width; 73 are more ranks than there are.
static void test_scale_refuses(void **state) {
    (void)state;
    Pool out;
    Err err = {0};
    assert_false(scale_pool(&wide, 19, &out, &err));
    assert_string_equal(err.text, "19 ranks are no product of widths up to cp 1, dp 18, pp 1, 1 "
                                  "replicas, and of a divisor of tp 4");
    assert_false(scale_pool(&wide, 73, &out, &err));
    assert_string_equal(err.text, "expected 1 to 72 ranks, found 73");
}

// 896 experts over 72 positions are 12 on each and some 13: 8 positions keep 96. 32 redundant ones
// over 72 are 3 over 8 (32 x 8 / 72 = 3.6). 4 positions would keep 48; in 32 groups all numbers are
// multiples of 32, of which 64 is as near as 32. 71 positions of 12 would be 852; a multiple of 71
// and of 32 is 2272, more than there are: 864 is the multiple of 32 nearest to 852. 256 experts
// over 72 positions are 3 on one; 8 chosen of 4 out of 8 groups take 2 in each, 16 in all.
static void test_scale_experts(void **state) {
    (void)state;
    MlpSpec mlp = {.experts = 896, .top_k = 8, .groups = 1, .top_groups = 1};
    Pool pool = wide, small = scaled(&wide, 8);
    pool.redundant_experts = 32;
    assert_int_equal(scale_experts(&pool, &mlp, &small), 96);
    assert_int_equal(small.redundant_experts, 3);
    assert_int_equal(scale_experts(&pool, NULL, &small), 0);
    small.ep = 4;
    mlp.groups = mlp.top_groups = 32;
    assert_int_equal(scale_experts(&pool, &mlp, &small), 64);
    small.ep = 71;
    assert_int_equal(scale_experts(&pool, &mlp, &small), 864);
    small.ep = 1;
    mlp = (MlpSpec){.experts = 256, .top_k = 8, .groups = 8, .top_groups = 4};
    assert_int_equal(scale_experts(&pool, &mlp, &small), 16);
    assert_int_equal(small.redundant_experts, 0);
}

// One rank has no all-to-all, and nothing beside it; two that send keep what they had.
static void test_scale_drops_what_lies_beside_an_all_to_all(void **state) {
    (void)state;
    Pool pool = wide;
    pool.tp = 1;
    pool.prefill_overlap = OVERLAP_TWO_BATCH;
    pool.prefill_sms = 20;
    pool.dp = 72;
    pool.expert_placement = EXPERT_PLACEMENT_EPLB;
    Pool one = scaled(&pool, 1), two = scaled(&pool, 2);
    assert_int_equal(one.prefill_overlap, OVERLAP_SHARED);
    assert_int_equal(one.prefill_sms, 0);
    assert_int_equal(one.expert_placement, EXPERT_PLACEMENT_LINEAR);
    assert_int_equal(two.prefill_overlap, OVERLAP_TWO_BATCH);
    assert_int_equal(two.prefill_sms, 20);
    assert_int_equal(two.expert_placement, EXPERT_PLACEMENT_EPLB);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scale_shrinks_evenly),
        cmocka_unit_test(test_scale_gives_up_the_outermost),
        cmocka_unit_test(test_scale_keeps_stages_and_replicas),
        cmocka_unit_test(test_scale_refuses),
        cmocka_unit_test(test_scale_experts),
        cmocka_unit_test(test_scale_drops_what_lies_beside_an_all_to_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
