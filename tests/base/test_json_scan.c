// The grammar of JSON, case by case: every refusal with its line, column and reason.
#include "model/base/json.h"
#include "tests/check.h"

#include "model/base/json_scan.h"
#include "model/base/text.h"

typedef struct Bad {
    const char *text, *message; // the message after "f:"
} Bad;

static void check_refused(const char *bytes, size_t count, const char *message) {
    Err err = {0};
    Json json = {0};
    char want[ERR_TEXT_MAX];
    snprintf(want, sizeof want, "f:%s", message);
    check_fails(json_parse("f", bytes, count, &json, &err), &err, want);
    assert_null(json.doc);
}

static void check_all_refused(const Bad *cases, size_t count) {
    for (size_t i = 0; i < count; i++) {
        check_refused(cases[i].text, strlen(cases[i].text), cases[i].message);
    }
}
#define CHECK_ALL_REFUSED(cases) check_all_refused((cases), sizeof(cases) / sizeof(cases)[0])

static void check_accepted(const char *text) {
    Err err = {0};
    Json json = {0};
    check_ok(json_parse("f", text, strlen(text), &json, &err), &err);
    json_free(&json);
}

static void test_json_scan_accepts_rfc_8259(void **state) {
    (void)state;
    const char *cases[] = {
        "0",
        "-0",
        "1.5e-3",
        "1E+2",
        "true",
        "false",
        "null",
        "\"\"",
        "[]",
        "{}",
        " [ ] ",
        "\t{\r\n}\n",
        "[1,2,[3,{\"a\":[]}]]",
        "{\"a\":1,\"A\":2,\"\":3}",
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\"",
        "\"\\ud83d\\ude00\"",
        "\"\x7f \xc2\x80 \xed\x9f\xbf \xf4\x8f\xbf\xbf\"",
        "9007199254740992",
        "-9007199254740992",
        "1e308",
        "123456789012345678.5",
        "1e-400",
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) check_accepted(cases[i]);
}

static void test_json_scan_refuses_bad_structure(void **state) {
    (void)state;
    const Bad cases[] = {
        {"]", "1:1: expected a value, found ']'"},
        {"[1,]", "1:4: expected a value after ',', found ']'"},
        {"[,1]", "1:2: expected a value or ']', found ','"},
        {"[1 2]", "1:4: expected ',' or ']', found '2'"},
        {"[1}", "1:3: expected ',' or ']', found '}'"},
        {"{\"a\" 1}", "1:6: expected ':' after the key, found '1'"},
        {"{\"a\":}", "1:6: expected a value after ':', found '}'"},
        {"{\"a\":1,}", "1:8: expected a key in double quotes after ',', found '}'"},
        {"{\"a\":1 \"b\":2}", "1:8: expected ',' or '}', found '\"'"},
        {"{a:1}", "1:2: expected a key in double quotes or '}', found 'a'"},
        {"{'a':1}", "1:2: expected a key in double quotes or '}', found '''"},
        {"{\"a\":1]", "1:7: expected ',' or '}', found ']'"},
        {"{1:2}", "1:2: expected a key in double quotes or '}', found '1'"},
        {"[1]\n[2]", "2:1: expected nothing after the value, found '['"},
        {"{} x", "1:4: expected nothing after the value, found 'x'"},
        {"// all\n{}", "1:1: expected a value, found '/' (JSON has no comments)"},
        {"[1, # one\n2]", "1:5: expected a value after ',', found '#' (JSON has no comments)"},
        {"\xef\xbb\xbf{}", "1:1: byte order mark, expected plain UTF-8 without one"},
        {"\xff\xfe{", "1:1: expected a value, found byte 0xff"},
        {"\x01", "1:1: expected a value, found byte 0x01"},
        {"[\x0c]", "1:2: expected a value or ']', found byte 0x0c"},
        {"[\xc3\xa9]", "1:2: expected a value or ']', found '\xc3\xa9'"},
    };
    CHECK_ALL_REFUSED(cases);
}

static void test_json_scan_refuses_bad_words(void **state) {
    (void)state;
    const Bad cases[] = {
        {"[True]", "1:2: expected a value or ']', found True"},
        {"[nulls]", "1:2: expected a value or ']', found nulls"},
        {"[NaN]", "1:2: expected a value or ']', found NaN"},
        {"[Infinity]", "1:2: expected a value or ']', found Infinity"},
        {"[-Infinity]", "1:2: expected a value or ']', found -Infinity"},
        {"{\"a\": undefined}", "1:7: expected a value after ':', found undefined"},
    };
    CHECK_ALL_REFUSED(cases);
}

static void test_json_scan_refuses_bad_numbers(void **state) {
    (void)state;
    const Bad cases[] = {
        {"[01]", "1:2: number 01 has a leading zero"},
        {"[-01]", "1:2: number -01 has a leading zero"},
        {"[1.]", "1:2: number 1. has no digits after the point"},
        {"[1.e5]", "1:2: number 1.e5 has no digits after the point"},
        {"[1e]", "1:2: number 1e has no digits in the exponent"},
        {"[1e+]", "1:2: number 1e+ has no digits in the exponent"},
        {"[-]", "1:2: number - has no digits"},
        {"[-x]", "1:2: number -x has no digits"},
        {"[.5]", "1:2: expected a value or ']', found '.'"},
        {"[+1]", "1:2: expected a value or ']', found '+'"},
        {"[0x10]", "1:2: number 0x10 is not a JSON number"},
        {"[1.2.3]", "1:2: number 1.2.3 is not a JSON number"},
        {"[400GB]", "1:2: number 400GB is not a JSON number"},
        {"[1e999]", "1:2: number 1e999 is too large, expected at most 1.8e308"},
        {"[-1e309]", "1:2: number -1e309 is too large, expected at most 1.8e308"},
        // 2^53 + 1, and the same below zero
        {"[9007199254740993]",
         "1:2: integer 9007199254740993 is not exact in JSON, expected at most 9007199254740992"},
        {"[-9007199254740993]",
         "1:2: integer -9007199254740993 is not exact in JSON, expected at most 9007199254740992"},
        {"[18446744073709551615]", "1:2: integer 18446744073709551615 is not exact in JSON, "
                                   "expected at most 9007199254740992"},
        {"[0.1234567890123456789012345678901234567890123456789012345678901234]",
         "1:2: number of 66 characters, expected at most 63"},
    };
    CHECK_ALL_REFUSED(cases);
}

static void test_json_scan_refuses_bad_strings(void **state) {
    (void)state;
    const char *escape =
        "1:3: unknown escape in a string, expected \\ and one of \" \\ / b f n r t u";
    const Bad cases[] = {
        {"[\"a\tb\"]", "1:4: control character 0x09 inside a string, expected \\u0009"},
        {"[\"a\nb\"]", "1:4: line break inside a string, expected '\"'"},
        {"{\"a\n\":1}", "1:4: line break inside a string, expected '\"'"},
        {"[\"\xff\"]", "1:3: byte 0xff is not UTF-8"},
        {"[\"\xc0\x80\"]", "1:3: byte 0xc0 is not UTF-8"},
        {"[\"\xed\xa0\x80\"]", "1:3: byte 0xed is not UTF-8"},
        {"[\"\\x41\"]", escape},
        {"[\"\\'\"]", escape},
        {"[\"\\u12g4\"]", "1:3: expected four hexadecimal digits after \\u"},
        {"[\"\\u0000\"]", "1:3: \\u0000 is not allowed in a string"},
        {"{\"a\\u0000b\":1}", "1:4: \\u0000 is not allowed in a string"},
        {"[\"\\ud800\"]", "1:3: \\ud800 is half of a surrogate pair, expected both halves"},
        {"[\"\\udc00\\ud800\"]", "1:3: \\udc00 is half of a surrogate pair, expected both halves"},
        {"[\"\\ud800\\ud800\"]", "1:3: \\ud800 is half of a surrogate pair, expected both halves"},
        {"[\"\\uD83D\\u0041\"]", "1:3: \\ud83d is half of a surrogate pair, expected both halves"},
    };
    CHECK_ALL_REFUSED(cases);
}

static void test_json_scan_refuses_truncated_files(void **state) {
    (void)state;
    const Bad cases[] = {
        {"", "1:1: empty file, expected a JSON value"},
        {" \n\n", "3:1: empty file, expected a JSON value"},
        {"[", "1:2: unexpected end of file, expected a value or ']'"},
        {"[1", "1:3: unexpected end of file, expected ',' or ']'"},
        {"[1,", "1:4: unexpected end of file, expected a value after ','"},
        {"{", "1:2: unexpected end of file, expected a key in double quotes or '}'"},
        {"{\"a\"", "1:5: unexpected end of file, expected ':' after the key"},
        {"{\"a\":", "1:6: unexpected end of file, expected a value after ':'"},
        {"{\"a\":1", "1:7: unexpected end of file, expected ',' or '}'"},
        {"{\"a\":1,\n", "2:1: unexpected end of file, expected a key in double quotes after ','"},
        {"[\"ab", "1:5: unexpected end of file inside a string"},
        {"[\"ab\\", "1:6: unexpected end of file inside a string"},
        {"[\"\\u12", "1:7: unexpected end of file inside a string"},
        {"[nul", "1:5: unexpected end of file, expected null"},
        {"[t", "1:3: unexpected end of file, expected true"},
        {"[1.", "1:4: unexpected end of file inside a number"},
        {"[-", "1:3: unexpected end of file inside a number"},
        {"[1e", "1:4: unexpected end of file inside a number"},
    };
    CHECK_ALL_REFUSED(cases);
}

static void test_json_scan_refuses_zero_bytes(void **state) {
    (void)state;
    check_refused("[1]\0", 4, "1:4: expected nothing after the value, found byte 0x00");
    check_refused("[\"a\0b\"]", 7, "1:4: control character 0x00 inside a string, expected \\u0000");
}

// Every prefix of a valid text is refused, and never read past its end (the sanitizer watches).
static void test_json_scan_refuses_every_prefix(void **state) {
    (void)state;
    const char *text = "{\"a\\u00e9\": [true, -1.5e+3, \"x\\ud83d\\ude00\"], \"b\": {\"c\": null}}";
    for (size_t length = 0; length < strlen(text); length++) {
        Err err = {0};
        JsonScan scan = {0};
        size_t where = 0;
        char *copy = malloc(length + 1); // one spare byte: malloc(0) may give NULL
        assert_non_null(copy);
        memcpy(copy + 1, text, length);
        assert_false(json_scan_run(copy + 1, length, &scan, &where, &err));
        assert_true(where <= length);
        if (length > 0 && strstr(err.text, "end of file") == NULL)
            fail_msg("%zu: %s", length, err.text);
        free(copy);
    }
    check_accepted(text);
}

// Columns are code points: e-acute is one column and two bytes.
static void test_json_scan_counts_columns_in_code_points(void **state) {
    (void)state;
    check_refused("[\n  \"\xc3\xa9\xc3\xa9\", ?]", 13,
                  "2:9: expected a value after ',', found '?'");
}

static void test_json_scan_depth_is_limited(void **state) {
    (void)state;
    char text[2 * 65 + 1];
    memset(text, '[', 64);
    memset(text + 64, ']', 64);
    text[128] = '\0';
    check_accepted(text);
    memset(text, '[', 65);
    memset(text + 65, ']', 65);
    check_refused(text, 130, "1:65: nesting deeper than 64 levels");
}

// Ten thousand open brackets end at the 65th, without recursion.
static void test_json_scan_open_brackets_are_harmless(void **state) {
    (void)state;
    char *text = malloc(10000);
    assert_non_null(text);
    memset(text, '[', 10000);
    check_refused(text, 10000, "1:65: nesting deeper than 64 levels");
    free(text);
}

// 4,194,304 values are the limit: an array of that many zeros has one more.
static void test_json_scan_number_of_values_is_limited(void **state) {
    (void)state;
    Text text = {0};
    text_add_char(&text, '[');
    for (uint32_t i = 0; i < JSON_SCAN_VALUES_MAX; i++) text_add_bytes(&text, "0,", 2);
    Err err = {0};
    JsonScan scan = {0};
    size_t where = 0;
    check_fails(json_scan_run(text.data, text.length, &scan, &where, &err), &err,
                "more than 4194304 values");
    text_free(&text);
}

static void test_json_scan_marks_are_in_document_order(void **state) {
    (void)state;
    const char *text = "{\"a\": [1, 22], \"b\": null}";
    // object, its array, 1, 22, null: offsets counted by hand, `next` skips what lies below
    const JsonMark want[] = {{0, 0, 5, MARK_OBJECT},
                             {6, 1, 4, MARK_ARRAY},
                             {7, 7, 3, MARK_NUMBER},
                             {10, 10, 4, MARK_NUMBER},
                             {20, 15, 5, MARK_WORD}};
    Err err = {0};
    JsonScan scan = {0};
    size_t where = 0;
    check_ok(json_scan_run(text, strlen(text), &scan, &where, &err), &err);
    assert_int_equal(scan.count, 5);
    assert_memory_equal(scan.marks, want, sizeof want);
    assert_int_equal(json_scan_number_length(text, strlen(text), 10), 2);
    json_scan_free(&scan);
    json_scan_free(&scan);
}

// {"a":[1],"b\u00e9":"x"}: offsets counted by hand, the key with its quotes.
static void test_json_scan_gives_values_one_by_one(void **state) {
    (void)state;
    static const struct {
        JsonEventKind kind;
        uint32_t offset, end, key, key_end, depth;
    } want[] = {
        {JSON_EVENT_OBJECT, 0, 1, 0, 0, 1},    {JSON_EVENT_ARRAY, 5, 6, 1, 4, 2},
        {JSON_EVENT_NUMBER, 6, 7, 6, 0, 2},    {JSON_EVENT_CLOSE, 7, 8, 7, 0, 1},
        {JSON_EVENT_STRING, 19, 22, 9, 18, 1}, {JSON_EVENT_CLOSE, 22, 23, 22, 0, 0},
        {JSON_EVENT_END, 24, 24, 24, 0, 0},
    };
    const char *text = "{\"a\":[1],\"b\\u00e9\":\"x\"} ";
    char key[16];
    JsonWalk walk;
    json_scan_start(text, strlen(text), &walk);
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        Err err = {0};
        JsonEvent event;
        check_ok(json_scan_next(&walk, &event, &err), &err);
        assert_int_equal(event.kind, want[i].kind);
        assert_int_equal(event.offset, want[i].offset);
        assert_int_equal(event.end, want[i].end);
        assert_int_equal(event.key, want[i].key);
        assert_int_equal(event.key_end, want[i].key_end);
        assert_int_equal(walk.depth, want[i].depth);
    }
    assert_int_equal(json_scan_string(text, 9, key), 3);
    assert_string_equal(key, "b\xc3\xa9");
}

// Every escape, and code points of 1, 2, 3 and 4 bytes.
static void test_json_scan_undoes_escapes(void **state) {
    (void)state;
    static const char text[] =
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e9\\u20AC\\ud83d\\ude00 z\"";
    char out[sizeof text];
    size_t length = json_scan_string(text, 0, out);
    assert_string_equal(out, "\"\\/\b\f\n\r\tA\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80 z");
    assert_int_equal(length, strlen(out));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_scan_accepts_rfc_8259),
        cmocka_unit_test(test_json_scan_refuses_bad_structure),
        cmocka_unit_test(test_json_scan_refuses_bad_words),
        cmocka_unit_test(test_json_scan_refuses_bad_numbers),
        cmocka_unit_test(test_json_scan_refuses_bad_strings),
        cmocka_unit_test(test_json_scan_refuses_truncated_files),
        cmocka_unit_test(test_json_scan_refuses_zero_bytes),
        cmocka_unit_test(test_json_scan_refuses_every_prefix),
        cmocka_unit_test(test_json_scan_counts_columns_in_code_points),
        cmocka_unit_test(test_json_scan_depth_is_limited),
        cmocka_unit_test(test_json_scan_open_brackets_are_harmless),
        cmocka_unit_test(test_json_scan_number_of_values_is_limited),
        cmocka_unit_test(test_json_scan_marks_are_in_document_order),
        cmocka_unit_test(test_json_scan_gives_values_one_by_one),
        cmocka_unit_test(test_json_scan_undoes_escapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
