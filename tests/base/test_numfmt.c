// Number formats: names and sizes.
#include "model/base/numfmt.h"
#include "tests/check.h"

static void test_numfmt_names_and_bits(void **state) {
    (void)state;
    assert_string_equal(numfmt_name(NUMFMT_BF16), "bf16");
    assert_int_equal(numfmt_bits(NUMFMT_BF16), 16);
    assert_string_equal(numfmt_names[NUMFMT_FP4], "fp4");
    assert_int_equal(numfmt_bits(NUMFMT_FP4), 4);
}

// 7,168 weights of 4 bits are 3,584 bytes; three of them 1.5, hence 2.
static void test_numfmt_bytes_round_up(void **state) {
    (void)state;
    assert_int_equal(numfmt_bytes(NUMFMT_FP4, 7168), 3584);
    assert_int_equal(numfmt_bytes(NUMFMT_FP4, 3), 2);
    assert_int_equal(numfmt_bytes(NUMFMT_F32, 5), 20);
    assert_true(numfmt_bytes(NUMFMT_F32, UINT64_MAX) == UINT64_MAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numfmt_names_and_bits),
        cmocka_unit_test(test_numfmt_bytes_round_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
