// Writing JSON: layout, escapes, and numbers that come back bit for bit.
#include "model/base/jsonw.h"
#include "tests/check.h"

#include <float.h>

#include "model/base/json.h"
#include "model/base/rng.h"

static void test_jsonw_layout(void **state) {
    (void)state;
    Text text = {0};
    JsonWriter w = {.text = &text};
    jsonw_open_object(&w, NULL);
    jsonw_string(&w, "name", "ring");
    jsonw_open_array(&w, "sizes");
    jsonw_u64(&w, NULL, 1);
    jsonw_i64(&w, NULL, -2);
    jsonw_close_array(&w);
    jsonw_open_object(&w, "empty");
    jsonw_close_object(&w);
    jsonw_open_array(&w, "none");
    jsonw_close_array(&w);
    jsonw_bool(&w, "on", true);
    jsonw_null(&w, "limit");
    jsonw_close_object(&w);
    jsonw_finish(&w);
    check_text_equals(text_string(&text), "{\n"
                                          "  \"name\": \"ring\",\n"
                                          "  \"sizes\": [\n"
                                          "    1,\n"
                                          "    -2\n"
                                          "  ],\n"
                                          "  \"empty\": {},\n"
                                          "  \"none\": [],\n"
                                          "  \"on\": true,\n"
                                          "  \"limit\": null\n"
                                          "}\n");
    text_free(&text);
}

// One container on one line; the next of the same depth is broken again.
static void test_jsonw_inline_next_is_for_one_container(void **state) {
    (void)state;
    Text text = {0};
    JsonWriter w = {.text = &text};
    jsonw_open_object(&w, NULL);
    jsonw_inline_next(&w);
    jsonw_open_object(&w, "a");
    jsonw_u64(&w, "x", 1);
    jsonw_open_array(&w, "y");
    jsonw_u64(&w, NULL, 2);
    jsonw_u64(&w, NULL, 3);
    jsonw_close_array(&w);
    jsonw_close_object(&w);
    jsonw_open_array(&w, "b");
    jsonw_u64(&w, NULL, 4);
    jsonw_close_array(&w);
    jsonw_close_object(&w);
    jsonw_finish(&w);
    check_text_equals(text_string(&text), "{\n"
                                          "  \"a\": {\"x\": 1, \"y\": [2, 3]},\n"
                                          "  \"b\": [\n"
                                          "    4\n"
                                          "  ]\n"
                                          "}\n");
    text_free(&text);
}

// With flat = 2 every container of depth 2 is a line.
static void test_jsonw_flat_is_for_all_of_a_depth(void **state) {
    (void)state;
    Text text = {0};
    JsonWriter w = {.text = &text, .flat = 2};
    jsonw_open_array(&w, NULL);
    for (uint64_t i = 0; i < 2; i++) {
        jsonw_open_array(&w, NULL);
        jsonw_u64(&w, NULL, i);
        jsonw_u64(&w, NULL, i + 1);
        jsonw_close_array(&w);
    }
    jsonw_close_array(&w);
    jsonw_finish(&w);
    check_text_equals(text_string(&text), "[\n  [0, 1],\n  [1, 2]\n]\n");
    text_free(&text);
}

static void test_jsonw_scalar_root(void **state) {
    (void)state;
    Text text = {0};
    JsonWriter w = {.text = &text};
    jsonw_u64(&w, NULL, 7);
    jsonw_finish(&w);
    assert_string_equal(text_string(&text), "7\n");
    text_free(&text);
}

// Bytes that are not UTF-8 become '?'; everything else comes back as it went in, save that the
// getter refuses controls, which the second string does without.
static void test_jsonw_strings_are_escaped(void **state) {
    (void)state;
    Text text = {0};
    JsonWriter w = {.text = &text};
    jsonw_string(&w, NULL, "a\"b\\c\n\t\x01\x1f/\x7f\xc3\xa9\xff");
    jsonw_finish(&w);
    assert_string_equal(text_string(&text), "\"a\\\"b\\\\c\\n\\t\\u0001\\u001f/\x7f\xc3\xa9?\"\n");
    Err err = {0};
    Json json = {0};
    const char *back;
    check_ok(json_parse("f", text.data, text.length, &json, &err), &err);
    json_free(&json);
    text.length = 0;
    w = (JsonWriter){.text = &text};
    jsonw_string(&w, NULL, "a\"b\\c/\xc3\xa9\xff");
    check_ok(json_parse("f", text.data, text.length, &json, &err), &err);
    check_ok(json_as_string(json_root(&json), &back, &err), &err);
    assert_string_equal(back, "a\"b\\c/\xc3\xa9?");
    json_free(&json);
    text_free(&text);
}

static void test_jsonw_integers_are_written_in_full(void **state) {
    (void)state;
    Text text = {0};
    JsonWriter w = {.text = &text, .flat = 1};
    jsonw_open_array(&w, NULL);
    jsonw_u64(&w, NULL, UINT64_C(9007199254740991)); // 2^53 - 1
    jsonw_u64(&w, NULL, UINT64_MAX);
    jsonw_i64(&w, NULL, INT64_MIN);
    jsonw_close_array(&w);
    jsonw_finish(&w);
    assert_string_equal(text_string(&text),
                        "[9007199254740991, 18446744073709551615, -9223372036854775808]\n");
    text_free(&text);
}

static void test_jsonw_quantities_have_units(void **state) {
    (void)state;
    Text text = {0};
    JsonWriter w = {.text = &text, .flat = 1};
    jsonw_open_object(&w, NULL);
    jsonw_bytes(&w, "size", UINT64_C(80) << 30);
    jsonw_rate(&w, "rate", 450000000000);
    jsonw_time(&w, "time", 500000);
    jsonw_digest(&w, "digest", 0xabc);
    jsonw_close_object(&w);
    jsonw_finish(&w);
    assert_string_equal(text_string(&text),
                        "{\"size\": \"80 GiB\", \"rate\": \"450 GB/s\", "
                        "\"time\": \"500 ns\", \"digest\": \"0000000000000abc\"}\n");
    text_free(&text);
}

static void check_double_reads_back(double value) {
    Text text = {0};
    JsonWriter w = {.text = &text};
    Err err = {0};
    Json json = {0};
    double back = 0;
    jsonw_double(&w, NULL, value);
    jsonw_finish(&w);
    check_ok(json_parse("f", text.data, text.length, &json, &err), &err);
    check_ok(json_as_double(json_root(&json), &back, &err), &err);
    assert_memory_equal(&back, &value, sizeof value);
    json_free(&json);
    text_free(&text);
}

static void test_jsonw_doubles_read_back(void **state) {
    (void)state;
    const double cases[] = {
        0.1 + 0.2, 9007199254740991, 9007199254740992, 9007199254740994, -0x1p55,
        1e22,      DBL_MAX,          DBL_MIN,          5e-324,           -0.0,
        1.0 / 3};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) check_double_reads_back(cases[i]);
    Rng rng;
    rng_seed(&rng, 6);
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = rng_next(&rng);
        double value;
        memcpy(&value, &bits, sizeof value);
        if (isfinite(value)) check_double_reads_back(value);
    }
}

// Infinity and NaN have no form in JSON. 2^53 + 2 prints as 16 digits: without ".0" the reader
// would refuse it as an integer over 2^53.
static void test_jsonw_odd_doubles(void **state) {
    (void)state;
    Text text = {0};
    JsonWriter w = {.text = &text, .flat = 1};
    jsonw_open_array(&w, NULL);
    jsonw_double(&w, NULL, (double)INFINITY);
    jsonw_double(&w, NULL, (double)NAN);
    jsonw_double(&w, NULL, 9007199254740994);
    jsonw_close_array(&w);
    jsonw_finish(&w);
    assert_string_equal(text_string(&text), "[null, null, 9007199254740994.0]\n");
    text_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jsonw_layout),
        cmocka_unit_test(test_jsonw_inline_next_is_for_one_container),
        cmocka_unit_test(test_jsonw_flat_is_for_all_of_a_depth),
        cmocka_unit_test(test_jsonw_scalar_root),
        cmocka_unit_test(test_jsonw_strings_are_escaped),
        cmocka_unit_test(test_jsonw_integers_are_written_in_full),
        cmocka_unit_test(test_jsonw_quantities_have_units),
        cmocka_unit_test(test_jsonw_doubles_read_back),
        cmocka_unit_test(test_jsonw_odd_doubles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
