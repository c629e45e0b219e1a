// The clock of back ends: one period of it is enough for any run, and sleeps end where it says.
#include "exec/clock.h"
#include "tests/check.h"

#include <limits.h>

#define MS (PS_PER_SECOND / 1000)

static void test_clock_fits_a_time_with_any_time_out(void **state) {
    (void)state;
    Time first = clock_now(), second = clock_now();
    assert_true(0 <= first && first <= second);
    assert_true(second < CLOCK_PERIOD_S * PS_PER_SECOND);
    assert_true(CLOCK_PERIOD_S * PS_PER_SECOND < TIME_MAX / 2);
    assert_true(clock_after(first, 5) == first + 5);
    assert_true(clock_after(first, TIME_MAX) == TIME_MAX);
}

// 1 ps is less than 1 ms, 2.5 ms less than 3; TIME_MAX is 9.2e9 ms, INT_MAX 2.1e9.
static void test_clock_poll_waits_as_long_and_fits_an_int(void **state) {
    (void)state;
    assert_int_equal(clock_poll_ms(-1), 0);
    assert_int_equal(clock_poll_ms(0), 0);
    assert_int_equal(clock_poll_ms(1), 1);
    assert_int_equal(clock_poll_ms(2 * MS + MS / 2), 3);
    assert_int_equal(clock_poll_ms(TIME_MAX), INT_MAX);
}

// A sleep until 2 ms from now ends 2 ms from now, or later.
static void test_clock_sleep_ends_after_the_instant(void **state) {
    (void)state;
    Time end = clock_now() + 2 * MS;
    clock_sleep_until(end);
    assert_true(clock_now() >= end);
    assert_true(clock_now() < end + 60 * PS_PER_SECOND);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clock_fits_a_time_with_any_time_out),
        cmocka_unit_test(test_clock_poll_waits_as_long_and_fits_an_int),
        cmocka_unit_test(test_clock_sleep_ends_after_the_instant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
