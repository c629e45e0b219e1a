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

static void check_part(const StepShape *shape, uint32_t part, uint32_t parts, StepShape want) {
    StepShape got = step_shape_part(shape, part, parts);
    assert_int_equal(got.tokens, want.tokens);
    assert_int_equal(got.sequences, want.sequences);
    assert_int_equal(got.kv_tokens, want.kv_tokens);
    assert_int_equal(got.qk_pairs, want.qk_pairs);
}

// 5 sequences at 100 tokens: 3 in the first half, 2 in the second; in quarters 2, 1, 1 and 1.
static void test_step_shape_parts_of_a_decode_step(void **state) {
    (void)state;
    StepShape shape = step_shape_decode(5, 100);
    check_part(&shape, 0, 2, step_shape_decode(3, 100));
    check_part(&shape, 1, 2, step_shape_decode(2, 100));
    check_part(&shape, 0, 4, step_shape_decode(2, 100));
    for (uint32_t i = 1; i < 4; i++) check_part(&shape, i, 4, step_shape_decode(1, 100));
    check_part(&shape, 0, 1, shape);
    StepShape one = step_shape_decode(1, 100);
    check_part(&one, 0, 2, one);
    check_part(&one, 1, 2, (StepShape){0});
}

// 5 tokens after 10: the first 3 attend to 11, 12 and 13, the others to 14 and 15; the second half
// reads the 13 tokens before it and itself. That is a chunk of 3 after 10 and one of 2 after 13.
static void test_step_shape_parts_of_a_prompt_are_chunks(void **state) {
    (void)state;
    StepShape shape = step_shape_prefill(5, 10);
    check_part(&shape, 0, 2, step_shape_prefill(3, 10));
    check_part(&shape, 1, 2, step_shape_prefill(2, 13));
}

// 3 prompts of 3 tokens, cut after 5 of 9: one whole and 2 tokens of the second, 6 + 3 pairs over 3
// + 2 tokens; then its last token, which attends to 3, and the third prompt, 3 + 6 pairs over 3
// + 3.
static void test_step_shape_parts_cut_through_a_prompt(void **state) {
    (void)state;
    StepShape shape = step_shape_prompts(3, 3);
    check_part(&shape, 0, 2, (StepShape){5, 2, 5, 9});
    check_part(&shape, 1, 2, (StepShape){4, 2, 6, 9});
}

// Sums that are not those of equal sequences: in proportion to 2 and 1 of 3 tokens, the first part
// rounded up: ceil(2 x 2 / 3), ceil(2 x 7 / 3), ceil(2 x 8 / 3).
static void test_step_shape_parts_in_proportion(void **state) {
    (void)state;
    StepShape shape = {.tokens = 3, .sequences = 2, .kv_tokens = 7, .qk_pairs = 8};
    check_part(&shape, 0, 2, (StepShape){2, 2, 5, 6});
    check_part(&shape, 1, 2, (StepShape){1, 0, 2, 2});
    StepShape huge = {UINT64_MAX, 1, UINT64_MAX, UINT64_MAX};
    assert_true(step_shape_part(&huge, 1, 2).tokens == UINT64_MAX / 2);
}

static void test_step_shape_digest_tells_shapes_apart(void **state) {
    (void)state;
    StepShape a = step_shape_decode(2, 3), b = step_shape_decode(3, 2);
    assert_true(step_shape_digest(&a) == step_shape_digest(&a));
    assert_true(step_shape_digest(&a) != step_shape_digest(&b));
}

// ---- Windows.

static void check_window(StepShape shape, uint64_t window, uint64_t kv_tokens, uint64_t pairs) {
    StepShape got = step_shape_window(&shape, window);
    assert_int_equal(got.tokens, shape.tokens);
    assert_int_equal(got.sequences, shape.sequences);
    assert_int_equal(got.kv_tokens, kv_tokens);
    assert_int_equal(got.qk_pairs, pairs);
}

// 5 sequences at 100 tokens: 30 each; shorter than the window: as without.
static void test_step_shape_window_of_a_decode_step(void **state) {
    (void)state;
    check_window(step_shape_decode(5, 100), 30, 150, 150);
    check_window(step_shape_decode(5, 100), 100, 500, 500);
    check_window(step_shape_decode(5, 100), 1000, 500, 500);
    check_window(step_shape_decode(5, 100), 0, 500, 500);
}

// 6 new tokens after 2, window 4: they attend to 3, 4, 4, 4, 4 and 4 tokens; the first of them
// reaches the first cached one, so that all 8 are read. After 10: 4 each, and 3 cached ones are
// read. Two prompts of 6: 1 + 2 + 3 + 4 + 4 + 4 each.
static void test_step_shape_window_of_a_prefill_step(void **state) {
    (void)state;
    check_window(step_shape_prefill(6, 2), 4, 8, 23);
    check_window(step_shape_prefill(6, 10), 4, 9, 24);
    check_window(step_shape_prompts(2, 6), 4, 12, 36);
}

// Sums that are not those of equal sequences: a bound. 3 tokens of 2 sequences, window 4: at most
// 12 pairs, 2 x 3 + 3 cached tokens.
static void test_step_shape_window_bounds_uneven_sequences(void **state) {
    (void)state;
    check_window((StepShape){3, 2, 50, 70}, 4, 9, 12);
    check_window((StepShape){3, 2, 8, 11}, 4, 8, 11);
    StepShape huge = step_shape_decode(UINT64_C(1) << 40, UINT64_C(1) << 40);
    assert_true(step_shape_window(&huge, UINT64_MAX).qk_pairs == UINT64_MAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_step_shape_decode),
        cmocka_unit_test(test_step_shape_prefill_is_causal),
        cmocka_unit_test(test_step_shape_prompts_are_side_by_side),
        cmocka_unit_test(test_step_shape_saturates),
        cmocka_unit_test(test_step_shape_parts_of_a_decode_step),
        cmocka_unit_test(test_step_shape_parts_of_a_prompt_are_chunks),
        cmocka_unit_test(test_step_shape_parts_cut_through_a_prompt),
        cmocka_unit_test(test_step_shape_parts_in_proportion),
        cmocka_unit_test(test_step_shape_digest_tells_shapes_apart),
        cmocka_unit_test(test_step_shape_window_of_a_decode_step),
        cmocka_unit_test(test_step_shape_window_of_a_prefill_step),
        cmocka_unit_test(test_step_shape_window_bounds_uneven_sequences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
