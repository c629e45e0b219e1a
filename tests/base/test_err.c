// Messages: one printable line, whatever was put into it.
#include "model/base/err.h"
#include "tests/check.h"

#include "model/base/text.h"

static void test_err_set_writes_and_returns_false(void **state) {
    (void)state;
    Err err = {0};
    assert_false(err_is_set(&err));
    assert_false(err_set(&err, "expected %d links, found %d", 18, 17));
    assert_true(err_is_set(&err));
    assert_string_equal(err.text, "expected 18 links, found 17");
}

static void test_err_prefix_keeps_the_message(void **state) {
    (void)state;
    Err err = {0};
    err_set(&err, "no such gpu");
    assert_false(err_prefix(&err, "%s:%d", "a.json", 7));
    assert_string_equal(err.text, "a.json:7: no such gpu");
}

static void test_err_may_quote_its_own_text(void **state) {
    (void)state;
    Err err = {0};
    err_set(&err, "inner");
    err_set(&err, "outer (%s)", err.text);
    assert_string_equal(err.text, "outer (inner)");
}

// Line breaks, escapes and the C1 controls (U+0080 to U+009F, here U+009B) would move the cursor; a
// lone 0xff is not UTF-8. U+00E9 stays. U+009B takes two bytes.
static void test_err_replaces_what_is_not_printable(void **state) {
    (void)state;
    Err err = {0};
    err_set(&err, "%s", "a\nb\033[31mc\x7f\xc2\x9b\xff\xc3\xa9");
    assert_string_equal(err.text, "a?b?[31mc????\xc3\xa9");
}

// Breaks of lines (U+2028) and changes of direction (U+202E, U+2066) are three bytes each; U+2026,
// an ellipsis, and U+2070, a superscript zero, stay.
static void test_err_replaces_what_turns_the_line(void **state) {
    (void)state;
    Err err = {0};
    err_set(&err, "%s", "\xe2\x80\xa8|\xe2\x80\xae|\xe2\x81\xa6|\xe2\x80\xa6\xe2\x81\xb0");
    assert_string_equal(err.text, "???|???|???|\xe2\x80\xa6\xe2\x81\xb0");
}

// 2,000 letters and ": not found" do not fit in 1,023 bytes: the first 640 do, "...", and the last
// 380, so that the reason at the end stays.
static void test_err_keeps_both_ends_of_long_text(void **state) {
    (void)state;
    Err err = {0};
    char text[2001];
    memset(text, 'x', 2000);
    text[0] = 'a';
    text[2000] = '\0';
    err_set(&err, "%s: not found", text);
    assert_int_equal(strlen(err.text), 1023);
    assert_int_equal(err.text[0], 'a');
    assert_memory_equal(err.text + 638, "xx...xx", 7);
    assert_string_equal(err.text + 1023 - 11, ": not found");
    err_prefix(&err, "%s", text); // 2,000 + 2 + 1,023 bytes
    assert_int_equal(strlen(err.text), 1023);
    assert_string_equal(err.text + 1023 - 11, ": not found");
}

// 600 times U+00E9 is 1,200 bytes: the cuts at bytes 640 and 1,200 - 380 fall between two code
// points. A letter in front puts the first cut inside one, a letter behind the second: it goes as a
// whole.
static void test_err_cuts_between_code_points(void **state) {
    (void)state;
    Err err = {0};
    Text text = {0};
    for (int i = 0; i < 600; i++) text_add(&text, "\xc3\xa9");
    err_set(&err, "%s", text_string(&text));
    assert_int_equal(strlen(err.text), 1023);
    err_set(&err, "a%s", text_string(&text));
    assert_int_equal(strlen(err.text), 1022);
    assert_null(strchr(err.text, '?'));
    err_set(&err, "%sa", text_string(&text));
    assert_int_equal(strlen(err.text), 1022);
    assert_null(strchr(err.text, '?'));
    text_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_err_set_writes_and_returns_false),
        cmocka_unit_test(test_err_prefix_keeps_the_message),
        cmocka_unit_test(test_err_may_quote_its_own_text),
        cmocka_unit_test(test_err_replaces_what_is_not_printable),
        cmocka_unit_test(test_err_replaces_what_turns_the_line),
        cmocka_unit_test(test_err_keeps_both_ends_of_long_text),
        cmocka_unit_test(test_err_cuts_between_code_points),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
