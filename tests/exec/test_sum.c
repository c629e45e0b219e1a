// Sums in number formats.
#include "tests/check.h"

#include "exec/sum.h"

static uint16_t bf16_sum(uint16_t a, uint16_t b) {
    uint8_t into[2], from[2];
    uint16_t result;
    memcpy(into, &a, sizeof a);
    memcpy(from, &b, sizeof b);
    sum_add(NUMFMT_BF16, into, from, 2);
    memcpy(&result, into, sizeof result);
    return result;
}

static uint32_t f32_sum(uint32_t a, uint32_t b) {
    uint8_t into[4], from[4];
    uint32_t result;
    memcpy(into, &a, sizeof a);
    memcpy(from, &b, sizeof b);
    sum_add(NUMFMT_F32, into, from, 4);
    memcpy(&result, into, sizeof result);
    return result;
}

// bf16 has 8 bits of significand: 1.0 is 0x3f80, 2.0 is 0x4000.
static void test_sum_bf16_adds(void **state) {
    (void)state;
    assert_int_equal(bf16_sum(0x3f80, 0x3f80), 0x4000);
}

// From 256 = 0x4380 on whole numbers are 2 apart. 256 + 1 = 257 lies between 256 (even last bit)
// and 258: 256. 258 + 1 = 259 between 258 (odd) and 260: 260 = 0x4382. 256 + 1.5 = 257.5 is nearer
// to 258.
static void test_sum_bf16_rounds_ties_to_even(void **state) {
    (void)state;
    assert_int_equal(bf16_sum(0x4380, 0x3f80), 0x4380);
    assert_int_equal(bf16_sum(0x4381, 0x3f80), 0x4382);
    assert_int_equal(bf16_sum(0x4380, 0x3fc0), 0x4381);
}

// The largest bf16, 0x7f7f, twice is infinity; infinity less infinity is the one NaN that we have,
// as is any NaN with a sign or payload.
static void test_sum_bf16_overflows_to_infinity_and_one_nan(void **state) {
    (void)state;
    assert_int_equal(bf16_sum(0x7f7f, 0x7f7f), 0x7f80);
    assert_int_equal(bf16_sum(0x7f80, 0xff80), 0x7fc0);
    assert_int_equal(bf16_sum(0xffff, 0x3f80), 0x7fc0);
    assert_int_equal(f32_sum(0xffffffff, 0x7f800001), 0x7fc00000);
}

// Element by element, and at any address: 1 + 2, 1.5 + 2.5.
static void test_sum_f32_needs_no_alignment(void **state) {
    (void)state;
    const float a[] = {1, 1.5F}, b[] = {2, 2.5F};
    uint8_t into[9], from[11];
    float got[2];
    memcpy(into + 1, a, sizeof a);
    memcpy(from + 3, b, sizeof b);
    sum_add(NUMFMT_F32, into + 1, from + 3, sizeof a);
    memcpy(got, into + 1, sizeof got);
    assert_true(got[0] == 3.0F && got[1] == 4.0F);
}

static void test_sum_has_no_sums_in_other_formats(void **state) {
    (void)state;
    uint32_t element = 0;
    assert_true(sum_has(NUMFMT_F32, &element) && element == 4);
    assert_true(sum_has(NUMFMT_BF16, &element) && element == 2);
    assert_false(sum_has(NUMFMT_F16, &element));
    assert_false(sum_has(NUMFMT_INT8, &element));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sum_bf16_adds),
        cmocka_unit_test(test_sum_bf16_rounds_ties_to_even),
        cmocka_unit_test(test_sum_bf16_overflows_to_infinity_and_one_nan),
        cmocka_unit_test(test_sum_f32_needs_no_alignment),
        cmocka_unit_test(test_sum_has_no_sums_in_other_formats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
