// The generator: its sequence is fixed for ever, its bounded numbers are fair.
#include "model/base/rng.h"
#include "tests/check.h"

// The state after seeding with 0 is the first four outputs of splitmix64 from 0, known from the
// authors' reference program.
static void test_rng_seed_is_splitmix64(void **state) {
    (void)state;
    Rng rng;
    rng_seed(&rng, 0);
    assert_true(rng.state[0] == UINT64_C(0xe220a8397b1dcdaf));
    assert_true(rng.state[1] == UINT64_C(0x6e789e6aa1b965f4));
    assert_true(rng.state[2] == UINT64_C(0x06c45d188009454f));
    assert_true(rng.state[3] == UINT64_C(0xf88bb8a8724c81ec));
}

// With the state 1, 2, 3, 4: the first output is rotl(2 * 5, 7) * 9 = 1280 * 9 = 11520. Then
// s2 = 3^1 = 2, s3 = 4^2 = 6, s1 = 2^2 = 0, ..., so the second is rotl(0, 7) * 9 = 0.
static void test_rng_first_outputs_by_hand(void **state) {
    (void)state;
    Rng rng = {{1, 2, 3, 4}};
    assert_int_equal(rng_next(&rng), 11520);
    assert_int_equal(rng_next(&rng), 0);
}

// 60,000 throws of a die: each face 10,000 times, standard deviation sqrt(60000 * 5/36) = 91.
static void test_rng_below_is_even(void **state) {
    (void)state;
    Rng rng;
    rng_seed(&rng, 1);
    int faces[6] = {0};
    for (int i = 0; i < 60000; i++) faces[rng_below(&rng, 6)]++;
    for (int i = 0; i < 6; i++) assert_in_range(faces[i], 10000 - 5 * 91, 10000 + 5 * 91);
    assert_int_equal(rng_below(&rng, 1), 0);
}

// A bound of 3 * 2^62: a plain high product of 2^64 numbers would give each multiple of 3 twice as
// often as its neighbours. Here the remainders by 3 are even: 10,000 each, deviation 82.
static void test_rng_below_rejects_the_biased_part(void **state) {
    (void)state;
    Rng rng;
    rng_seed(&rng, 2);
    int rests[3] = {0};
    for (int i = 0; i < 30000; i++) {
        uint64_t value = rng_below(&rng, UINT64_C(3) << 62);
        assert_true(value < UINT64_C(3) << 62);
        rests[value % 3]++;
    }
    for (int i = 0; i < 3; i++) assert_in_range(rests[i], 10000 - 5 * 82, 10000 + 5 * 82);
}

// The mean of 40,000 numbers in [0, 1) is 0.5 with a deviation of sqrt(1/12/40000) = 0.00144.
static void test_rng_unit_is_below_one(void **state) {
    (void)state;
    Rng rng;
    rng_seed(&rng, 3);
    double sum = 0;
    for (int i = 0; i < 40000; i++) {
        double unit = rng_unit(&rng);
        assert_true(unit >= 0 && unit < 1);
        sum += unit;
    }
    assert_true(fabs(sum / 40000 - 0.5) < 5 * 0.00144);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rng_seed_is_splitmix64),
        cmocka_unit_test(test_rng_first_outputs_by_hand),
        cmocka_unit_test(test_rng_below_is_even),
        cmocka_unit_test(test_rng_below_rejects_the_biased_part),
        cmocka_unit_test(test_rng_unit_is_below_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
