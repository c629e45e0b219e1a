// Named dimensions and the arithmetic between them.
#include "tests/check.h"

#include "model/moe/dim.h"

static void test_dim_apply_follows_rules_in_order(void **state) {
    (void)state;
    Err err = {0};
    DimSet dims = {0};
    dim_set(&dims, DIM_HEADS, 96);
    dim_set(&dims, DIM_NOPE, 128);
    dim_set(&dims, DIM_ROPE, 64);
    const DimRule rules[] = {
        {DIM_QK_DIM, DIM_SUM, DIM_NOPE, DIM_ROPE, DIM_NONE, 0},
        {DIM_MLA_Q_WIDTH, DIM_PRODUCT, DIM_HEADS, DIM_QK_DIM, DIM_NONE, 0},
        {DIM_KDA_PAD, DIM_PRODUCT, DIM_NONE, DIM_NONE, DIM_NONE, 128},
        {DIM_KDA_LOG, DIM_ROUND_UP, DIM_HEADS, DIM_KDA_PAD, DIM_NONE, 0},
        {DIM_KDA_TAIL, DIM_LESS, DIM_HEADS, DIM_NONE, DIM_NONE, 100},
        {DIM_MLA_SCALES, DIM_PARTS, DIM_HEADS, DIM_NONE, DIM_NONE, 64},
        {DIM_HEAD_DEFAULT, DIM_SHARE, DIM_MLA_Q_WIDTH, DIM_HEADS, DIM_NONE, 0},
        {DIM_EXPERT_IN, DIM_FIRST, DIM_KDA_TAIL, DIM_ROPE, DIM_NONE, 0},
    };
    check_ok(dim_apply(&dims, rules, sizeof rules / sizeof rules[0], &err), &err);
    assert_int_equal(dim_get(&dims, DIM_MLA_Q_WIDTH), 96 * 192);
    assert_int_equal(dim_get(&dims, DIM_KDA_LOG), 128);  // 96 up to a multiple of 128
    assert_int_equal(dim_get(&dims, DIM_KDA_TAIL), 0);   // 96 - 100, not below 0
    assert_int_equal(dim_get(&dims, DIM_MLA_SCALES), 2); // 96 / 64, up
    assert_int_equal(dim_get(&dims, DIM_HEAD_DEFAULT), 192);
    assert_int_equal(dim_get(&dims, DIM_EXPERT_IN), 64); // the first is 0
    assert_string_equal(dim_name(&dims, DIM_EXPERT_IN), "qk_rope_head_dim");
}

static void test_dim_apply_refuses_overflow(void **state) {
    (void)state;
    Err err = {0};
    DimSet dims = {0};
    dim_set(&dims, DIM_HEADS, UINT64_C(1) << 32);
    dim_set(&dims, DIM_HEAD_DIM, UINT64_C(1) << 32);
    const DimRule product = {DIM_Q_WIDTH, DIM_PRODUCT, DIM_HEADS, DIM_HEAD_DIM, DIM_NONE, 0};
    check_fails(dim_apply(&dims, &product, 1, &err), &err,
                "num_attention_heads x head_dim: too large for 64 bits");
    dim_set(&dims, DIM_NOPE, UINT64_MAX);
    const DimRule sum = {DIM_QK_DIM, DIM_SUM, DIM_NOPE, DIM_HEADS, DIM_NONE, 0};
    check_fails(dim_apply(&dims, &sum, 1, &err), &err,
                "qk_nope_head_dim + num_attention_heads: too large for 64 bits");
    dim_set(&dims, DIM_KDA_PAD, 2);
    const DimRule round = {DIM_KDA_LOG, DIM_ROUND_UP, DIM_NOPE, DIM_KDA_PAD, DIM_NONE, 0};
    check_fails(dim_apply(&dims, &round, 1, &err), &err, "qk_nope_head_dim: too large");
}

static void test_dim_check_says_what_it_wanted(void **state) {
    (void)state;
    Err err = {0};
    DimSet dims = {0};
    uint32_t failed = 9;
    dim_set(&dims, DIM_HEADS, 7);
    dim_set(&dims, DIM_KV_HEADS, 2);
    const DimCheck checks[] = {{DIM_KV_HEADS, DIM_AT_MOST, DIM_HEADS},
                               {DIM_HEADS, DIM_MULTIPLE_OF, DIM_KV_HEADS}};
    check_fails(dim_check(&dims, checks, 2, &failed, &err), &err,
                "expected a multiple of num_key_value_heads (2), found 7");
    assert_int_equal(failed, 1);
}

static void test_dim_holds_treats_unknown_as_zero(void **state) {
    (void)state;
    DimSet dims = {0};
    dim_set(&dims, DIM_TIED, 1);
    assert_true(dim_holds(&dims, DIM_NONE, DIM_NONE));
    assert_true(dim_holds(&dims, DIM_TIED, DIM_QK_NORM));
    assert_false(dim_holds(&dims, DIM_QK_NORM, DIM_NONE));
    assert_false(dim_holds(&dims, DIM_NONE, DIM_TIED));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dim_apply_follows_rules_in_order),
        cmocka_unit_test(test_dim_apply_refuses_overflow),
        cmocka_unit_test(test_dim_check_says_what_it_wanted),
        cmocka_unit_test(test_dim_holds_treats_unknown_as_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
