// exp and log against the C library's long double functions.
#include "model/base/num.h"
#include "tests/check.h"

#include <float.h>

#include "model/base/rng.h"

// The header promises 2; the largest seen over 20 million arguments is 0.90.
#define ULPS 1.0

typedef long double Long; // 64 bits of mantissa on x86-64, 113 on most others

// The distance in units of the last place of the wanted value as a double.
static double ulps(double got, Long want) {
    double magnitude = fabs((double)want);
    double unit = nextafter(magnitude, (double)INFINITY) - magnitude;
    return (double)(fabsl((Long)got - want) / (Long)unit);
}

static void check_ulps(const char *name, double x, double y, double got, Long want) {
    double distance = ulps(got, want);
    if (distance > ULPS) fail_msg("%s(%.17g, %.17g) is off by %.2f ulp", name, x, y, distance);
}

static void test_num_exp_is_within_an_ulp(void **state) {
    (void)state;
    Rng rng;
    rng_seed(&rng, 1);
    for (int i = 0; i < 100000; i++) {
        double wide = rng_unit(&rng) * 1454.8 - 745.1, narrow = rng_unit(&rng) * 2 - 1;
        check_ulps("exp", wide, 0, num_exp(wide), expl((Long)wide));
        check_ulps("exp", narrow, 0, num_exp(narrow), expl((Long)narrow));
        double tiny = ldexp(narrow, -(int)(rng_next(&rng) % 1000));
        check_ulps("exp", tiny, 0, num_exp(tiny), expl((Long)tiny));
    }
}

static void test_num_log_is_within_an_ulp(void **state) {
    (void)state;
    Rng rng;
    rng_seed(&rng, 2);
    for (int i = 0; i < 100000; i++) {
        uint64_t bits = rng_below(&rng, UINT64_C(0x7ff) << 52); // any positive finite double
        double any, near_one = 0.7 + 0.8 * rng_unit(&rng);
        memcpy(&any, &bits, sizeof any);
        if (any > 0) check_ulps("log", any, 0, num_log(any), logl((Long)any));
        check_ulps("log", near_one, 0, num_log(near_one), logl((Long)near_one));
        double close = 1 + ldexp(rng_unit(&rng) - 0.5, -(int)(rng_next(&rng) % 50));
        if (close > 0) check_ulps("log", close, 0, num_log(close), logl((Long)close));
    }
}

static void test_num_exact_values(void **state) {
    (void)state;
    check_close(num_exp(0), 1, 0);
    check_close(num_exp(-0.0), 1, 0);
    check_close(num_log(1), 0, 0);
    check_close(num_pow_int(3, 5), 243, 0);
    check_close(num_pow_int(2, 1023), 0x1p1023, 0);
    check_close(num_pow_int(7, 0), 1, 0);
}

static void test_num_saturates(void **state) {
    (void)state;
    check_close(num_exp(709.79), DBL_MAX, 0);
    check_close(num_exp(1e308), DBL_MAX, 0);
    check_close(num_exp((double)INFINITY), DBL_MAX, 0);
    check_close(num_exp(-745.2), 0, 0);
    check_close(num_exp(-1e308), 0, 0);
    assert_true(num_exp(709.78) < DBL_MAX && num_exp(709.78) > 1.79e308);
    check_close(num_exp(-745.1), 0x1p-1074, 0); // the smallest subnormal
}

// A digest of 30,000 results: every compiler, optimisation and C library must give these bits.
static void test_num_bits_are_the_same_everywhere(void **state) {
    (void)state;
    uint64_t digest = 0, bits;
    Rng rng;
    rng_seed(&rng, 4);
    for (int i = 0; i < 10000; i++) {
        double x = rng_unit(&rng),
               values[] = {num_exp(20 * x - 10), num_log(x + 0.01), num_pow_int(x + 0.1, 33)};
        for (int j = 0; j < 3; j++) {
            memcpy(&bits, &values[j], sizeof bits);
            digest = (digest ^ bits) * UINT64_C(0x100000001b3);
        }
    }
    if (digest != UINT64_C(0x781ffc648744dd0b))
        fail_msg("digest %016llx", (unsigned long long)digest);
}

static void test_num_round_halves_up(void **state) {
    (void)state;
    assert_int_equal(num_round(0.49999999999999994), 0);
    assert_int_equal(num_round(0.5), 1);
    assert_int_equal(num_round(1.5), 2);
    assert_int_equal(num_round(2.5), 3);
    assert_int_equal(num_round(-7), 0);
    assert_int_equal(num_round(4503599627370497.0), 4503599627370497);
    assert_true(num_round(1e300) == INT64_MAX);
    assert_true(num_round((double)INFINITY) == INT64_MAX);
    assert_int_equal(num_round((double)NAN), 0);
}

// Where a difference would not fit an int, too.
static void test_num_compares_for_qsort(void **state) {
    (void)state;
    const uint32_t low = 1, high = UINT32_MAX;
    const double small = -1e300, large = 0.5;
    assert_true(num_compare_u32(&low, &high) < 0 && num_compare_u32(&high, &low) > 0);
    assert_int_equal(num_compare_u32(&high, &high), 0);
    assert_true(num_compare_doubles(&small, &large) < 0 && num_compare_doubles(&large, &small) > 0);
    assert_int_equal(num_compare_doubles(&large, &large), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_num_exp_is_within_an_ulp),
        cmocka_unit_test(test_num_log_is_within_an_ulp),
        cmocka_unit_test(test_num_exact_values),
        cmocka_unit_test(test_num_saturates),
        cmocka_unit_test(test_num_bits_are_the_same_everywhere),
        cmocka_unit_test(test_num_round_halves_up),
        cmocka_unit_test(test_num_compares_for_qsort),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
