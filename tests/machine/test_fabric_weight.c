// Ratios of capacities in small numbers.
#include "tests/check.h"

#include "model/machine/fabric_weight.h"

// 17/18 of 50 GB/s are 47222222222.2 B/s: parts of 1/18. 3/7 are 21428571428.6 B/s: with 1/18 parts
// of 1/126.
static void test_fabric_weight_finds_shares_that_were_rounded(void **state) {
    (void)state;
    const uint64_t whole = UINT64_C(50000000000);
    assert_int_equal(fabric_weight_unit(1, UINT64_C(47222222222), whole), 18);
    assert_int_equal(fabric_weight_parts(18, UINT64_C(47222222222), whole), 17);
    assert_int_equal(fabric_weight_unit(18, UINT64_C(21428571428), whole), 126);
    assert_int_equal(fabric_weight_parts(126, UINT64_C(21428571429), whole), 54);
    assert_int_equal(fabric_weight_parts(126, UINT64_C(47222222222), whole), 119);
}

static void test_fabric_weight_of_the_whole_is_the_unit(void **state) {
    (void)state;
    assert_int_equal(fabric_weight_unit(1, 63, 63), 1);
    assert_int_equal(fabric_weight_parts(5, 63, 63), 5);
}

// 1/1001 has too large a denominator, 1000 x 999 x 997 is too large a unit.
static void test_fabric_weight_gives_up_on_large_numbers(void **state) {
    (void)state;
    const uint64_t whole = UINT64_C(1000) * 999 * 997;
    assert_int_equal(fabric_weight_unit(1, UINT64_C(100000000000), UINT64_C(100100000000000)), 0);
    assert_int_equal(fabric_weight_unit(1, whole / 1000, whole), 1000);
    assert_int_equal(fabric_weight_unit(1000, whole / 999, whole), 999000);
    assert_int_equal(fabric_weight_unit(999000, whole / 997, whole), 0);
    assert_int_equal(fabric_weight_unit(0, 1, 2), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fabric_weight_finds_shares_that_were_rounded),
        cmocka_unit_test(test_fabric_weight_of_the_whole_is_the_unit),
        cmocka_unit_test(test_fabric_weight_gives_up_on_large_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
