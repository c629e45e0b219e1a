// Sizes that are linear in the shape of a step.
#include "tests/check.h"

#include "model/plan/extent.h"

static const StepShape shape = {.tokens = 10, .sequences = 3, .kv_tokens = 1000, .qk_pairs = 5000};

// 7 + 2 x 10 + 5 x 3 + 1 x 1000 + 1 x 5000 = 6042.
static void test_extent_is_linear_in_the_shape(void **state) {
    (void)state;
    Extent extent = {.fixed = 7, .per_token = 2, .per_sequence = 5, .per_kv = 1, .per_pair = 1};
    assert_int_equal(extent_value(&extent, &shape), 6042);
}

// ceil(3 x 10 / 4) = 8; a divide of 0 reads as 1.
static void test_extent_divides_rounding_up(void **state) {
    (void)state;
    Extent quarter = {.per_token = 3, .divide = 4}, whole = {.per_token = 3};
    assert_int_equal(extent_value(&quarter, &shape), 8);
    assert_int_equal(extent_value(&whole, &shape), 30);
}

// 2^63 x 10 / 20 = 2^62 fits although the product does not; 2^63 x 10 saturates, and so do sums
// that leave 128 bits.
static void test_extent_saturates_only_at_the_end(void **state) {
    (void)state;
    const StepShape huge = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
    Extent fits = {.per_token = UINT64_C(1) << 63, .divide = 20};
    Extent exceeds = {.per_token = UINT64_C(1) << 63};
    Extent all = {.fixed = UINT64_MAX,
                  .per_token = UINT64_MAX,
                  .per_sequence = UINT64_MAX,
                  .per_kv = UINT64_MAX,
                  .per_pair = UINT64_MAX,
                  .divide = UINT64_MAX};
    assert_true(extent_value(&fits, &shape) == UINT64_C(1) << 62);
    assert_true(extent_value(&exceeds, &shape) == UINT64_MAX);
    assert_true(extent_value(&all, &huge) == UINT64_MAX);
}

// Of 11 tokens of one sequence after 4 the first half has 6, the second 5: 3 x 6 / 4 and 3 x 5 / 4
// rounded up; 0 and 1 parts are the whole.
static void test_extent_of_a_part_has_the_shape_of_the_part(void **state) {
    (void)state;
    const StepShape prompt = step_shape_prefill(11, 4);
    Extent first = {.per_token = 3, .divide = 4, .parts = 2}, second = first, whole = first;
    second.part = 1;
    whole.parts = 1;
    assert_int_equal(extent_value(&first, &prompt), 5);
    assert_int_equal(extent_value(&second, &prompt), 4);
    assert_int_equal(extent_value(&whole, &prompt), 9);
    assert_false(extent_equals(&first, &second));
    assert_false(extent_equals(&first, &whole));
    assert_true(extent_hash(HASH_START, &first) != extent_hash(HASH_START, &second));
    Text text = {0};
    extent_print(&second, &text);
    check_text_equals(text_string(&text), "ceil((3 tokens) / 4) in part 2 of 2");
    text_free(&text);
}

// 3 sequences at 100 tokens each with a window of 40: 2 x 120 cached tokens and 5 x 120 pairs.
static void test_extent_in_a_window_counts_what_is_attended_to(void **state) {
    (void)state;
    const StepShape decode = step_shape_decode(3, 100);
    Extent near = {.per_kv = 2, .per_pair = 5, .window = 40}, far = {.per_kv = 2, .per_pair = 5};
    assert_int_equal(extent_value(&near, &decode), 2 * 120 + 5 * 120);
    assert_int_equal(extent_value(&far, &decode), 7 * 300);
    assert_false(extent_equals(&near, &far));
    assert_true(extent_hash(HASH_START, &near) != extent_hash(HASH_START, &far));
    Text text = {0};
    extent_print(&near, &text);
    check_text_equals(text_string(&text), "2 kv tokens + 5 qk pairs in a window of 40");
    text_free(&text);
}

static void test_extent_equality_and_hash_agree(void **state) {
    (void)state;
    Extent none = {.fixed = 1}, one = {.fixed = 1, .divide = 1}, two = {.fixed = 1, .divide = 2};
    assert_true(extent_equals(&none, &one));
    assert_true(extent_hash(HASH_START, &none) == extent_hash(HASH_START, &one));
    assert_false(extent_equals(&one, &two));
    assert_true(extent_hash(HASH_START, &one) != extent_hash(HASH_START, &two));
}

static void test_extent_prints_its_terms(void **state) {
    (void)state;
    Text text = {0};
    Extent extent = {.fixed = 64, .per_token = 14336, .divide = 2}, zero = {0};
    extent_print(&extent, &text);
    text_add(&text, "; ");
    extent_print(&zero, &text);
    check_text_equals(text_string(&text), "ceil((14336 tokens + 64) / 2); 0");
    text_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_extent_is_linear_in_the_shape),
        cmocka_unit_test(test_extent_divides_rounding_up),
        cmocka_unit_test(test_extent_saturates_only_at_the_end),
        cmocka_unit_test(test_extent_of_a_part_has_the_shape_of_the_part),
        cmocka_unit_test(test_extent_in_a_window_counts_what_is_attended_to),
        cmocka_unit_test(test_extent_equality_and_hash_agree),
        cmocka_unit_test(test_extent_prints_its_terms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
