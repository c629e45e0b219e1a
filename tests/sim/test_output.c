// Numbers for people: three significant digits, no exponent.
#include "tests/check.h"

#include "sim/commands/output.h"

static void test_output_number_keeps_three_digits(void **state) {
    (void)state;
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0, "0"},
        {1, "1.00"},
        {1.234, "1.23"},
        {9.996, "10.0"},
        {12.34, "12.3"},
        {123.4, "123"},
        {999.6, "1000"},
        {1234.4, "1230"},
        {1235, "1240"},
        {99950, "100000"},
        {0.5, "0.500"},
        {0.01234, "0.0123"},
        {0.001234, "0.00123"},
        {-1234, "-1230"},
        {1e9, "1000000000"},
    };
    char buffer[OUTPUT_NUMBER_MAX];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(output_number(cases[i].value, buffer), cases[i].text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_output_number_keeps_three_digits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
