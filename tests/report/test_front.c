// Fronts of a few points.
#include "tests/check.h"

#include "model/report/front.h"

// (1,9) and (5,5) and (8,2) are beaten by none; (4,5) has the y of (5,5) and less x; (8,1) has the
// x of (8,2) and less y; the second (5,5) says nothing new.
static void test_front_keeps_what_nothing_beats(void **state) {
    (void)state;
    const double x[] = {4, 8, 1, 5, 8, 5}, y[] = {5, 1, 9, 5, 2, 5};
    uint32_t front[6];
    assert_int_equal(front_find(x, y, 6, front), 3);
    assert_int_equal(front[0], 2);
    assert_int_equal(front[1], 3);
    assert_int_equal(front[2], 4);
}

static void test_front_of_few(void **state) {
    (void)state;
    const double x[] = {-1}, y[] = {-2};
    uint32_t front[1];
    assert_int_equal(front_find(x, y, 0, front), 0);
    assert_int_equal(front_find(x, y, 1, front), 1);
    assert_int_equal(front[0], 0);
}

// Against the definition, on 60 grids of points with many equal figures.
static void test_front_agrees_with_the_definition(void **state) {
    (void)state;
    enum { COUNT = 40 };
    uint64_t seed = 1;
    for (uint32_t round = 0; round < 60; round++) {
        double x[COUNT], y[COUNT];
        uint32_t front[COUNT], expected = 0;
        for (uint32_t i = 0; i < COUNT; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u; // Knuth's MMIX
            x[i] = (double)(seed >> 33 & 7);
            y[i] = (double)(seed >> 40 & 7);
        }
        for (uint32_t i = 0; i < COUNT; i++) {
            bool beaten = false;
            for (uint32_t j = 0; j < COUNT; j++)
                if (j != i && x[j] >= x[i] && y[j] >= y[i] && (x[j] > x[i] || y[j] > y[i] || j < i))
                    beaten = true;
            expected += !beaten;
        }
        uint32_t count = front_find(x, y, COUNT, front);
        assert_int_equal(count, expected);
        for (uint32_t i = 1; i < count; i++) {
            assert_true(x[front[i]] > x[front[i - 1]]);
            assert_true(y[front[i]] < y[front[i - 1]]);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_front_keeps_what_nothing_beats),
        cmocka_unit_test(test_front_of_few),
        cmocka_unit_test(test_front_agrees_with_the_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
