// 128-bit helpers against slow references.
#include "model/base/wide.h"
#include "tests/check.h"

#include "model/base/rng.h"

#define WIDE_MAX (~(Wide)0)

static void test_wide_compare_ratio_orders_fractions(void **state) {
    (void)state;
    assert_int_equal(wide_compare_ratio(1, 3, 2, 6), 0);
    assert_int_equal(wide_compare_ratio(1, 3, 1, 2), -1);
    // (2^64-1)/(2^64-2) > (2^64-2)/(2^64-3)? cross products differ by one: n^2 - 2n against n^2 -
    // 2n + 1
    assert_int_equal(wide_compare_ratio(UINT64_MAX, UINT64_MAX - 1, UINT64_MAX - 1, UINT64_MAX - 2),
                     -1);
}

// a/b against c/d by long division, one digit of base 2^64 at a time: a quotient of whole parts,
// then of the remainders turned over. The continued fractions of equal ratios are equal.
static int compare_slowly(Wide a, Wide b, Wide c, Wide d) {
    int sign = 1;
    for (;;) {
        Wide left = a / b, right = c / d, a_rest = a % b, c_rest = c % d;
        if (left != right) return left < right ? -sign : sign;
        if (a_rest == 0 || c_rest == 0) return a_rest == c_rest ? 0 : a_rest == 0 ? -sign : sign;
        a = b, b = a_rest, c = d, d = c_rest;
        sign = -sign;
    }
}

static void test_wide_compare_ratio_wide_equals_continued_fractions(void **state) {
    (void)state;
    Rng rng;
    rng_seed(&rng, 7);
    int equal = 0;
    for (int i = 0; i < 20000; i++) {
        Wide a = ((Wide)rng_next(&rng) << 64 | rng_next(&rng)) >> rng_below(&rng, 128);
        uint64_t b = (rng_next(&rng) >> rng_below(&rng, 63)) | 1, factor = rng_below(&rng, 100) + 1;
        // c/d is a/b enlarged by a factor, sometimes with one more: near and equal ratios
        Wide c = a <= WIDE_MAX / 101 ? a * factor + rng_below(&rng, 2) : a;
        uint64_t d = b <= UINT64_MAX / 101 && a <= WIDE_MAX / 101 ? b * factor : b;
        int want = compare_slowly(a, b, c, d);
        equal += want == 0;
        assert_int_equal(wide_compare_ratio_wide(a, b, c, d), want);
        assert_int_equal(wide_compare_ratio_wide(c, d, a, b), -want);
    }
    assert_true(equal > 1000);
}

// (2^128-1) / 1 against (2^128-1) / (2^64-1): the products need all 192 bits.
static void test_wide_compare_ratio_wide_at_the_limits(void **state) {
    (void)state;
    assert_int_equal(wide_compare_ratio_wide(WIDE_MAX, 1, WIDE_MAX, UINT64_MAX), 1);
    assert_int_equal(wide_compare_ratio_wide(WIDE_MAX, UINT64_MAX, WIDE_MAX, UINT64_MAX), 0);
    assert_int_equal(wide_compare_ratio_wide(WIDE_MAX - 1, UINT64_MAX, WIDE_MAX, UINT64_MAX), -1);
    assert_int_equal(wide_compare_ratio_wide(0, 1, 0, 5), 0);
}

static void test_wide_mul_div_is_exact_and_saturates(void **state) {
    (void)state;
    // 7 * 10 / 4 = 17.5
    assert_int_equal(wide_mul_div(7, 10, 4), 17);
    assert_int_equal(wide_mul_div_up(7, 10, 4), 18);
    assert_int_equal(wide_mul_div_up(8, 10, 4), 20);
    assert_true(wide_mul_div(UINT64_MAX, UINT64_MAX, UINT64_MAX) == UINT64_MAX);
    assert_true(wide_mul_div(UINT64_MAX, 3, 2) == UINT64_MAX);
    assert_true(wide_mul_div_up(UINT64_MAX, UINT64_MAX, 1) == UINT64_MAX);
    assert_true(wide_div_up(WIDE_MAX, 1) == WIDE_MAX);
}

static void test_wide_saturates(void **state) {
    (void)state;
    // (2^32)^2 and 2^64 - 1 + 1 are one too much for 64 bits
    assert_true(wide_mul_saturate(UINT64_C(1) << 32, UINT64_C(1) << 32) == UINT64_MAX);
    assert_true(wide_mul_saturate(3, 5) == 15);
    assert_true(wide_add_saturate(UINT64_MAX, 1) == UINT64_MAX);
    assert_true(wide_add_saturate(UINT64_MAX - 1, 1) == UINT64_MAX);
    assert_true(wide_add_saturate(3, 5) == 8);
    assert_true(wide_saturate(WIDE_MAX) == UINT64_MAX);
}

static void test_wide_div_up_u64_rounds_up_without_a_carry(void **state) {
    (void)state;
    assert_true(wide_div_up_u64(8, 4) == 2);
    assert_true(wide_div_up_u64(9, 4) == 3);
    assert_true(wide_div_up_u64(0, 4) == 0);
    assert_true(wide_div_up_u64(UINT64_MAX, 2) == UINT64_C(1) << 63); // adding 1 first would wrap
}

static void test_wide_reports_overflow(void **state) {
    (void)state;
    uint64_t out = 5;
    assert_true(wide_mul_u64(UINT64_C(1) << 32, UINT64_MAX >> 32, &out));
    assert_true(out == UINT64_C(0xffffffff00000000));
    assert_false(wide_mul_u64(UINT64_C(1) << 32, UINT64_C(1) << 32, &out));
    assert_true(wide_add_u64(UINT64_MAX - 1, 1, &out));
    assert_true(out == UINT64_MAX);
    assert_false(wide_add_u64(UINT64_MAX, 1, &out));
    assert_true(out == UINT64_MAX);
}

static void test_wide_gcd(void **state) {
    (void)state;
    assert_int_equal(wide_gcd(72, 54), 18);
    assert_int_equal(wide_gcd(0, 5), 5);
    assert_int_equal(wide_gcd(5, 0), 5);
    assert_int_equal(wide_gcd(0, 0), 0);
}

static void test_wide_format_prints_all_digits(void **state) {
    (void)state;
    char buffer[40];
    assert_string_equal(wide_format(0, buffer), "0");
    assert_string_equal(wide_format(UINT64_MAX, buffer), "18446744073709551615");
    assert_string_equal(wide_format(WIDE_MAX, buffer), "340282366920938463463374607431768211455");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wide_compare_ratio_orders_fractions),
        cmocka_unit_test(test_wide_compare_ratio_wide_equals_continued_fractions),
        cmocka_unit_test(test_wide_compare_ratio_wide_at_the_limits),
        cmocka_unit_test(test_wide_mul_div_is_exact_and_saturates),
        cmocka_unit_test(test_wide_saturates),
        cmocka_unit_test(test_wide_div_up_u64_rounds_up_without_a_carry),
        cmocka_unit_test(test_wide_reports_overflow),
        cmocka_unit_test(test_wide_gcd),
        cmocka_unit_test(test_wide_format_prints_all_digits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
