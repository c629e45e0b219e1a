// Shapes of steps.
#include "tests/check.h"

#include "model/plan/step_shape.h"

// 32 sequences whose new token attends to 1,000 tokens each, itself included: 32 new tokens, 32,000
// cached ones and as many pairs.
static void test_step_shape_decode(void **state) {
    (void)state;
    StepShape shape = step_shape_decode(32, 1000);
    assert_int_equal(shape.tokens, 32);
    assert_int_equal(shape.sequences, 32);
    assert_int_equal(shape.kv_tokens, 32000);
    assert_int_equal(shape.qk_pairs, 32000);
}

// 4 new tokens after 10: they attend to 11, 12, 13 and 14 tokens, 50 together.
static void test_step_shape_prefill_is_causal(void **state) {
    (void)state;
    StepShape shape = step_shape_prefill(4, 10);
    assert_int_equal(shape.tokens, 4);
    assert_int_equal(shape.sequences, 1);
    assert_int_equal(shape.kv_tokens, 14);
    assert_int_equal(shape.qk_pairs, 50);
    assert_int_equal(step_shape_prefill(5, 0).qk_pairs, 1 + 2 + 3 + 4 + 5);
}

// 3 prompts of 4 tokens: each attends to 1, 2, 3 and 4 of its own, never to another prompt.
static void test_step_shape_prompts_are_side_by_side(void **state) {
    (void)state;
    StepShape shape = step_shape_prompts(3, 4);
    assert_int_equal(shape.tokens, 12);
    assert_int_equal(shape.sequences, 3);
    assert_int_equal(shape.kv_tokens, 12);
    assert_int_equal(shape.qk_pairs, 3 * 10);
}

static void test_step_shape_saturates(void **state) {
    (void)state;
    assert_true(step_shape_decode(UINT64_C(1) << 40, UINT64_C(1) << 40).qk_pairs == UINT64_MAX);
    assert_true(step_shape_prefill(UINT64_MAX, 1).kv_tokens == UINT64_MAX);
    assert_true(step_shape_prefill(UINT64_MAX, 1).qk_pairs == UINT64_MAX);
}

static void test_step_shape_digest_tells_shapes_apart(void **state) {
    (void)state;
    StepShape a = step_shape_decode(2, 3), b = step_shape_decode(3, 2);
    assert_true(step_shape_digest(&a) == step_shape_digest(&a));
    assert_true(step_shape_digest(&a) != step_shape_digest(&b));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_step_shape_decode),
        cmocka_unit_test(test_step_shape_prefill_is_causal),
        cmocka_unit_test(test_step_shape_prompts_are_side_by_side),
        cmocka_unit_test(test_step_shape_saturates),
        cmocka_unit_test(test_step_shape_digest_tells_shapes_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
