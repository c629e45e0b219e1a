// Growing strings, UTF-8, near names, and numbers that no locale touches.
#include "model/base/text.h"
#include "tests/check.h"

#include <float.h>
#include <locale.h>

#include "model/base/rng.h"

static void test_text_grows(void **state) {
    (void)state;
    Text text = {0};
    assert_string_equal(text_string(&text), "");
    for (int i = 0; i < 1000; i++) text_addf(&text, "%d,", i % 10);
    text_add(&text, "end");
    text_add_char(&text, '.');
    text_add_bytes(&text, "abc", 2);
    assert_int_equal(text.length, 2000 + 3 + 1 + 2);
    assert_string_equal(text_string(&text) + 1996, "8,9,end.ab");
    text_free(&text);
    text_free(&text);
}

// The shortest of 15, 16 and 17 digits: 0.1 + 0.2 needs 17, 0.1 needs one, 5e-324 fewer than 15.
static void test_text_doubles_are_shortest_that_read_back(void **state) {
    (void)state;
    const struct {
        double value;
        const char *text;
    } cases[] = {
        {0.1 + 0.2, "0.30000000000000004"},
        {0.1, "0.1"},
        {-2, "-2"},
        {-0.0, "-0"},
        {1e22, "1e+22"},
        {5e-324, "4.94065645841247e-324"},
        {DBL_MAX, "1.7976931348623157e+308"},
        {9007199254740991, "9007199254740991"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Text text = {0};
        text_add_double(&text, cases[i].value);
        assert_string_equal(text_string(&text), cases[i].text);
        text_free(&text);
    }
}

static void test_text_random_doubles_read_back(void **state) {
    (void)state;
    Rng rng;
    rng_seed(&rng, 20);
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = rng_next(&rng);
        double value, back = 0;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value)) continue;
        Text text = {0};
        text_add_double(&text, value);
        assert_true(text_parse_double(text_string(&text), &back));
        assert_memory_equal(&back, &value, sizeof value);
        text_free(&text);
    }
}

static void test_text_numbers_ignore_the_locale(void **state) {
    (void)state;
    const char *names[] = {"de_DE.UTF-8", "de_DE.utf8",  "de_DE",
                           "fr_FR.UTF-8", "es_ES.UTF-8", "ru_RU.UTF-8"};
    bool found = false;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !found; i++) {
        found = setlocale(LC_ALL, names[i]) != NULL && *localeconv()->decimal_point == ',';
    }
    if (!found) {
        setlocale(LC_ALL, "C");
        print_error("skip %s: no locale with a decimal comma is installed\n", __func__);
        skip();
    }
    Text text = {0};
    double value = 0;
    text_add_double(&text, 1.5);
    bool read = text_parse_double("2.25", &value);
    setlocale(LC_ALL, "C");
    assert_string_equal(text_string(&text), "1.5");
    assert_true(read && value == 2.25);
    text_free(&text);
}

static void test_text_parse_double_accepts_decimals_only(void **state) {
    (void)state;
    const struct {
        const char *text;
        double value;
    } good[] = {
        {"0", 0},
        {"-1.5", -1.5},
        {"12.50e3", 12500},
        {"1E-2", 0.01},
        {"00.25", .25},
        {"1e+2", 100},
        {"1e-999999999999", 0},
        {"0e999999999999", 0},
        {"123456789012345678901234567890e-29", 1.2345678901234567890},
    };
    const char *bad[] = {"",    " 1",  "1 ",  "1.",  ".5",  "+1",    "-",     "1e",
                         "1e+", "0x1", "1,5", "inf", "nan", "1e999", "1.5.2", "--1"};
    double value = 7;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_true(text_parse_double(good[i].text, &value));
        check_close(value, good[i].value, 0);
    }
    value = 7;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (text_parse_double(bad[i], &value)) fail_msg("\"%s\" was accepted", bad[i]);
    }
    check_close(value, 7, 0);
}

static void test_text_parse_u64_is_exact_to_the_last_value(void **state) {
    (void)state;
    uint64_t value = 7;
    assert_false(text_parse_u64("", &value));
    assert_false(text_parse_u64("-1", &value));
    assert_false(text_parse_u64("1.0", &value));
    assert_false(text_parse_u64("18446744073709551616", &value)); // 2^64
    assert_int_equal(value, 7);
    assert_true(text_parse_u64("18446744073709551615", &value));
    assert_true(value == UINT64_MAX);
    assert_true(text_parse_u64("007", &value));
    assert_int_equal(value, 7);
}

// Unicode table 3-7: no overlong forms (C0, C1, E0 80, F0 80), no surrogates (ED A0), nothing over
// U+10FFFF (F4 90, F5), no truncation.
static void test_text_utf8_is_checked_strictly(void **state) {
    (void)state;
    const char *good[] = {"",
                          "a",
                          "\xc2\x80",
                          "\xe0\xa0\x80",
                          "\xed\x9f\xbf",
                          "\xef\xbf\xbf",
                          "\xf0\x90\x80\x80",
                          "\xf4\x8f\xbf\xbf"};
    const char *bad[] = {"\x80",
                         "\xc0\x80",
                         "\xc1\xbf",
                         "\xc2",
                         "\xc2"
                         "a",
                         "\xe0\x9f\xbf",
                         "\xed\xa0\x80",
                         "\xef\xbf",
                         "\xe1\x80"
                         "a",
                         "\xf0\x8f\xbf\xbf",
                         "\xf4\x90\x80\x80",
                         "\xf5\x80\x80\x80",
                         "\xff"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_true(text_is_utf8(good[i], strlen(good[i])));
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (text_is_utf8(bad[i], strlen(bad[i]))) fail_msg("bad case %zu was accepted", i);
    }
}

// A line feed, DEL, U+0085 (next line), U+2028 (line separator), U+202E and U+2069 (directions) are
// controls; their neighbours U+00A0, U+2027, U+202F, U+2065 and U+206A are not, nor are letters.
static void test_text_control_finds_what_leaves_the_line(void **state) {
    (void)state;
    const struct {
        const char *text;
        size_t width;
    } cases[] = {
        {"\n", 1},
        {"\x7f", 1},
        {"\xc2\x85", 2},
        {"\xe2\x80\xa8", 3},
        {"\xe2\x80\xae", 3},
        {"\xe2\x81\xa9", 3},
        {"", 0},
        {"a\n", 0},
        {"\xc2\xa0", 0},
        {"\xe2\x80\xa7", 0},
        {"\xe2\x80\xaf", 0},
        {"\xe2\x81\xa5", 0},
        {"\xe2\x81\xaa", 0},
        {"\xe2\x80", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(text_control(cases[i].text, strlen(cases[i].text)), cases[i].width);
}

static void test_text_columns_counts_code_points(void **state) {
    (void)state;
    assert_int_equal(text_columns(""), 0);
    assert_int_equal(text_columns("2 \xce\xbcs"), 4); // 2, blank, mu, s
}

// By bytes, as unsigned: upper case before lower case, and both before what is not ASCII.
static void test_text_compare_orders_by_bytes(void **state) {
    (void)state;
    const char *names[] = {"b", "\xc3\xa9", "a", "B", "ab", ""};
    const char *const want[] = {"", "B", "a", "ab", "b", "\xc3\xa9"};
    qsort(names, 6, sizeof *names, text_compare);
    for (size_t i = 0; i < 6; i++) assert_string_equal(names[i], want[i]);
}

// Two blanks and 8 columns of words a line: "b µs ccc" has 8 columns in 9 bytes. A longer word
// stands alone, and runs of blanks count as one.
static void test_text_wrapped_breaks_at_blanks(void **state) {
    (void)state;
    Text text = {0};
    text_add_wrapped(&text, " b \xce\xbcs  ccc dddddddddddd e ", 2, 10);
    text_add_wrapped(&text, "", 2, 10);
    check_text_equals(text_string(&text), "  b \xce\xbcs ccc\n"
                                          "  dddddddddddd\n"
                                          "  e\n"
                                          "\n");
    text_free(&text);
}

static void test_text_quote_cuts_after_48_code_points(void **state) {
    (void)state;
    char buffer[TEXT_QUOTE_MAX], wide[4 * 60 + 1] = "";
    assert_string_equal(text_quote("80", buffer), "\"80\"");
    assert_string_equal(text_quote("123456789012345678901234567890123456789012345678", buffer),
                        "\"123456789012345678901234567890123456789012345678\"");
    assert_string_equal(text_quote("1234567890123456789012345678901234567890123456789", buffer),
                        "\"123456789012345678901234567890123456789012345678...\"");
    for (int i = 0; i < 60; i++) memcpy(wide + 4 * i, "\xf0\x9f\x98\x80", 5);
    assert_int_equal(strlen(text_quote(wide, buffer)), 1 + 48 * 4 + 3 + 1);
}

// One edit for each three letters; a swap of neighbours is one edit, upper and lower case none.
static void test_text_nearest_finds_misspellings(void **state) {
    (void)state;
    const char *names[] = {"bandwidth", "latency", "count", "H100", "tp"};
    const struct {
        const char *word;
        uint32_t index;
    } cases[] = {
        {"bandwith", 0}, {"bnadwidth", 0},   {"latncy", 1},         {"cuont", 2},     {"h100", 3},
        {"TP", 4},       {"ep", UINT32_MAX}, {"speed", UINT32_MAX}, {"", UINT32_MAX},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t index = text_nearest(cases[i].word, names, 5);
        if (index != cases[i].index) fail_msg("%s gave %u", cases[i].word, (unsigned)index);
    }
    assert_int_equal(text_nearest("x", names, 0), UINT32_MAX);
}

// Of two names at the same distance the first one: the answer does not depend on anything else.
static void test_text_nearest_prefers_the_first(void **state) {
    (void)state;
    const char *names[] = {"rank1", "rank2"};
    assert_int_equal(text_nearest("rank3", names, 2), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_grows),
        cmocka_unit_test(test_text_doubles_are_shortest_that_read_back),
        cmocka_unit_test(test_text_random_doubles_read_back),
        cmocka_unit_test(test_text_numbers_ignore_the_locale),
        cmocka_unit_test(test_text_parse_double_accepts_decimals_only),
        cmocka_unit_test(test_text_parse_u64_is_exact_to_the_last_value),
        cmocka_unit_test(test_text_utf8_is_checked_strictly),
        cmocka_unit_test(test_text_control_finds_what_leaves_the_line),
        cmocka_unit_test(test_text_columns_counts_code_points),
        cmocka_unit_test(test_text_compare_orders_by_bytes),
        cmocka_unit_test(test_text_wrapped_breaks_at_blanks),
        cmocka_unit_test(test_text_quote_cuts_after_48_code_points),
        cmocka_unit_test(test_text_nearest_finds_misspellings),
        cmocka_unit_test(test_text_nearest_prefers_the_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
