// Quantities: exact values, exact refusals, and texts that read back.
#include "model/base/units.h"
#include "tests/check.h"

#include "model/base/rng.h"

#define GIB (UINT64_C(1) << 30)

typedef struct Good {
    UnitsKind kind;
    const char *text;
    uint64_t value;
} Good;

static void test_units_parse_gives_exact_values(void **state) {
    (void)state;
    const Good cases[] = {
        {UNITS_BYTES, "80 GiB", 80 * GIB},
        {UNITS_BYTES, "80GiB", 80 * GIB},
        {UNITS_BYTES, "0 B", 0},
        {UNITS_BYTES, "1.5 kB", 1500},
        {UNITS_BYTES, "1.5 KB", 1500},
        {UNITS_BYTES, "0.5 KiB", 512},
        {UNITS_BYTES, "3.000 B", 3},
        {UNITS_BYTES, "18446744073709551615 B", UINT64_MAX},
        {UNITS_BYTES, "0.000000000000001 PB", 1},
        {UNITS_RATE, "900 GB/s", 900000000000},
        {UNITS_RATE, "400 Gbit/s", 50000000000}, // 400e9 / 8
        {UNITS_RATE, "400 Gbps", 50000000000},
        {UNITS_RATE, "8 bit/s", 1},
        {UNITS_RATE, "0.008 kbit/s", 1},
        {UNITS_RATE, "1 GiB/s", GIB},
        {UNITS_TIME, "500 ns", 500000},
        {UNITS_DURATION, "50ms", UINT64_C(50000000000)},
        {UNITS_TIME, "1.5 us", 1500000},
        {UNITS_TIME, "1.5 \xc2\xb5s", 1500000}, // U+00B5
        {UNITS_TIME, "1.5 \xce\xbcs", 1500000}, // U+03BC
        {UNITS_TIME, "0.001 ns", 1},
        {UNITS_TIME, "2 min", 120000000000000},
        {UNITS_TIME, "2562 h", UINT64_C(9223200000000000000)}, // 2562 * 3600e12, below 2^63
        {UNITS_FLOPS, "2.5 Pflop/s", 2500000000000000},
        {UNITS_FLOPS, "989.4 TFLOPS", 989400000000000},
        {UNITS_COUNT, "4096", 4096},
        {UNITS_COUNT, "8k", 8000},
        {UNITS_COUNT, "1.5k", 1500},
        {UNITS_COUNT, "1Mi", 1048576},
        {UNITS_COUNT, "128 Ki", 131072},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Err err = {0};
        uint64_t value = 0;
        check_ok(units_parse(cases[i].kind, cases[i].text, &value, &err), &err);
        if (value != cases[i].value)
            fail_msg("%s gave %llu", cases[i].text, (unsigned long long)value);
    }
}

#define SIZE  "expected a size such as \"80 GiB\", found "
#define RATE  "expected a rate such as \"400 Gbit/s\", found "
#define TIME  "expected a time such as \"500 ns\", found "
#define COUNT "expected a count such as \"4096\" or \"8k\", found "

typedef struct Bad {
    UnitsKind kind;
    const char *text, *message;
} Bad;

static void test_units_parse_refuses_with_one_line(void **state) {
    (void)state;
    const Bad cases[] = {
        {UNITS_BYTES, "80", SIZE "\"80\": no unit"},
        {UNITS_BYTES, "", SIZE "\"\""},
        {UNITS_BYTES, "GB", SIZE "\"GB\""},
        {UNITS_BYTES, "-5 GB", SIZE "\"-5 GB\""},
        {UNITS_BYTES, "+5 GB", SIZE "\"+5 GB\""},
        {UNITS_BYTES, " 5 GB", SIZE "\" 5 GB\""},
        {UNITS_BYTES, "5  GB", SIZE "\"5  GB\""},
        {UNITS_BYTES, "5 GB ", SIZE "\"5 GB \""},
        {UNITS_BYTES, "5 ", SIZE "\"5 \""},
        {UNITS_BYTES, "5. GB", SIZE "\"5. GB\""},
        {UNITS_BYTES, ".5 GB", SIZE "\".5 GB\""},
        {UNITS_BYTES, "1e3 GB", SIZE "\"1e3 GB\""},
        {UNITS_BYTES, "0x10 GB", SIZE "\"0x10 GB\""},
        {UNITS_BYTES, "inf GB", SIZE "\"inf GB\""},
        {UNITS_BYTES, "nan GB", SIZE "\"nan GB\""},
        {UNITS_BYTES, "5 gb", SIZE "\"5 gb\": unknown unit"},
        {UNITS_BYTES, "5 GB/s", SIZE "\"5 GB/s\": unknown unit"},
        {UNITS_BYTES, "5,5 GB", SIZE "\"5,5 GB\""},
        {UNITS_BYTES, "0.3 B", "expected a size in whole bytes, found \"0.3 B\""},
        {UNITS_BYTES, "0.0000000000000000001 PB",
         "expected a size in whole bytes, found \"0.0000000000000000001 PB\""},
        {UNITS_BYTES, "18446744073709551616 B",
         "expected at most 18446 PB, found \"18446744073709551616 B\""},
        {UNITS_BYTES, "18447 PB", "expected at most 18446 PB, found \"18447 PB\""},
        {UNITS_BYTES, "99999999999999999999999999999999999999999999999999 B",
         "expected at most 18446 PB, found "
         "\"999999999999999999999999999999999999999999999999...\""},
        {UNITS_RATE, "400 GB", RATE "\"400 GB\": unknown unit"},
        {UNITS_RATE, "-5 GB/s", RATE "\"-5 GB/s\""},
        {UNITS_RATE, "400 Gb/s", RATE "\"400 Gb/s\": unknown unit"},
        {UNITS_RATE, "3 bit/s", "expected a rate in whole bytes per second, found \"3 bit/s\""},
        {UNITS_TIME, "0.5 ps", "expected a time in whole picoseconds, found \"0.5 ps\""},
        {UNITS_TIME, "2563 h", "expected at most 2562 h, found \"2563 h\""},
        {UNITS_TIME, "5 m", TIME "\"5 m\": unknown unit"},
        {UNITS_DURATION, "50", "expected a time such as \"50ms\", found \"50\": no unit"},
        {UNITS_FLOPS, "989", "expected a speed such as \"2.5 Pflop/s\", found \"989\": no unit"},
        {UNITS_COUNT, "8 k ", COUNT "\"8 k \""},
        {UNITS_COUNT, "4096 ", COUNT "\"4096 \""},
        {UNITS_COUNT, "-1", COUNT "\"-1\""},
        {UNITS_COUNT, "1.5", "expected a whole count, found \"1.5\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Err err = {0};
        uint64_t value = 7;
        check_fails(units_parse(cases[i].kind, cases[i].text, &value, &err), &err,
                    cases[i].message);
        assert_int_equal(value, 7);
    }
}

static void test_units_parse_named_functions(void **state) {
    (void)state;
    Err err = {0};
    uint64_t B, Bps, flops, count;
    Time ps;
    check_ok(units_parse_bytes("1 kB", &B, &err), &err);
    check_ok(units_parse_rate("1 kB/s", &Bps, &err), &err);
    check_ok(units_parse_time("1 ns", &ps, &err), &err);
    check_ok(units_parse_flops("1 kflop/s", &flops, &err), &err);
    check_ok(units_parse_count("1k", &count, &err), &err);
    assert_true(B == 1000 && Bps == 1000 && ps == 1000 && flops == 1000 && count == 1000);
    assert_false(units_parse_time("1", &ps, &err));
    assert_string_equal(units_expected(UNITS_RATE), "a rate such as \"400 Gbit/s\"");
}

// 79.18 GiB = 79.18 x 1073741824 B = 85018877624.32 B.
static void test_units_round_a_printed_size_down(void **state) {
    (void)state;
    Err err = {0};
    uint64_t B = 0;
    check_ok(units_parse_bytes_down("79.18GiB", &B, &err), &err);
    assert_int_equal(B, UINT64_C(85018877624));
    check_ok(units_parse_bytes_down("80 GB", &B, &err), &err);
    assert_int_equal(B, UINT64_C(80000000000));
    check_ok(units_parse_bytes_down("0.3 B", &B, &err), &err);
    assert_int_equal(B, 0);
    check_fails(units_parse_bytes_down("18447.5 PB", &B, &err), &err,
                "expected at most 18446 PB, found \"18447.5 PB\"");
}

static void test_units_format_has_three_digits(void **state) {
    (void)state;
    char buffer[UNITS_TEXT_MAX];
    assert_string_equal(units_format_time(0, buffer), "0 ps");
    assert_string_equal(units_format_time(999, buffer), "999 ps");
    assert_string_equal(units_format_time(1200000, buffer), "1.20 us");
    assert_string_equal(units_format_time(1204999, buffer), "1.20 us");
    assert_string_equal(units_format_time(1205000, buffer), "1.21 us"); // halves up
    assert_string_equal(units_format_time(9994999, buffer), "9.99 us");
    assert_string_equal(units_format_time(9995000, buffer), "10.0 us");
    assert_string_equal(units_format_time(99950000, buffer), "100 us");
    assert_string_equal(units_format_time(999499999, buffer), "999 us");
    assert_string_equal(units_format_time(999500000, buffer), "1.00 ms");
    assert_string_equal(units_format_time(-1200000, buffer), "-1.20 us");
    assert_string_equal(units_format_time(90 * PS_PER_SECOND, buffer), "90.0 s");
    assert_string_equal(units_format_time(600 * PS_PER_SECOND - 1, buffer), "600 s");
    assert_string_equal(units_format_time(600 * PS_PER_SECOND, buffer), "10.0 min");
    assert_string_equal(units_format_time(-7200 * PS_PER_SECOND, buffer), "-2.00 h");
    assert_string_equal(units_format_time(TIME_MAX, buffer), "2562 h");
    assert_string_equal(units_format_time(INT64_MIN, buffer), "-2562 h");
    assert_string_equal(units_format_bytes(80000000000, buffer), "80.0 GB");
    assert_string_equal(units_format_bytes(UINT64_MAX, buffer), "18447 PB");
    assert_string_equal(units_format_rate(900000000000, buffer), "900 GB/s");
}

static void test_units_write_takes_the_largest_whole_unit(void **state) {
    (void)state;
    char buffer[UNITS_TEXT_MAX];
    assert_string_equal(units_write_bytes(0, buffer), "0 B");
    assert_string_equal(units_write_bytes(80 * GIB, buffer), "80 GiB");
    assert_string_equal(units_write_bytes(80000000000, buffer), "80 GB");
    assert_string_equal(units_write_bytes(1024000, buffer),
                        "1000 KiB"); // also 1024 kB; KiB is larger
    assert_string_equal(units_write_bytes(1001, buffer), "1001 B");
    assert_string_equal(units_write_rate(450000000000, buffer), "450 GB/s");
    assert_string_equal(units_write_time(500000, buffer), "500 ns");
    assert_string_equal(units_write_time(-500000, buffer), "-500 ns");
    assert_string_equal(units_write_time(7200 * PS_PER_SECOND, buffer), "2 h");
    assert_string_equal(units_write_time(INT64_MIN, buffer), "-9223372036854775808 ps");
}

// Random values of all sizes, many of them multiples of units.
static void test_units_write_reads_back(void **state) {
    (void)state;
    const uint64_t factors[] = {1, 1000, 1024, 1000000, UINT64_C(1) << 20, 1000000000, GIB, 60};
    char buffer[UNITS_TEXT_MAX];
    Err err = {0};
    Rng rng;
    rng_seed(&rng, 5);
    for (int i = 0; i < 20000; i++) {
        uint64_t value = rng_next(&rng) >> rng_below(&rng, 64), back = 0;
        value *= factors[rng_below(&rng, 8)];
        Time ps = 0;
        check_ok(units_parse_bytes(units_write_bytes(value, buffer), &back, &err), &err);
        assert_true(back == value);
        check_ok(units_parse_rate(units_write_rate(value, buffer), &back, &err), &err);
        assert_true(back == value);
        check_ok(units_parse_time(units_write_time((Time)(value >> 1), buffer), &ps, &err), &err);
        assert_true(ps == (Time)(value >> 1));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_units_parse_gives_exact_values),
        cmocka_unit_test(test_units_parse_refuses_with_one_line),
        cmocka_unit_test(test_units_parse_named_functions),
        cmocka_unit_test(test_units_round_a_printed_size_down),
        cmocka_unit_test(test_units_format_has_three_digits),
        cmocka_unit_test(test_units_write_takes_the_largest_whole_unit),
        cmocka_unit_test(test_units_write_reads_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
