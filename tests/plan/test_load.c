// Loads: tokens by expert.
#include "tests/check.h"

#include "model/plan/load.h"

static Load golden(void) {
    Load load = {0};
    Err err = {0};
    check_ok(load_read("tests/golden/load.json", &load, &err), &err);
    return load;
}

static void check_share(const Load *load, uint32_t layer, uint32_t first, uint32_t count,
                        uint64_t want_part, uint64_t want_whole) {
    uint64_t part, whole;
    load_share(load, layer, 4, first, count, &part, &whole);
    assert_int_equal(part, want_part);
    assert_int_equal(whole, want_whole);
}

// 3 of 4 experts get 3/4 of the tokens.
static void test_load_uniform_shares_are_counts(void **state) {
    (void)state;
    Load load = load_uniform();
    check_share(&load, 0, 1, 3, 3, 4);
}

// Row 0 is 10, 20, 30, 40: experts 1 and 2 get 50 of 100. Row 1 gives all to the last.
static void test_load_recorded_shares_are_sums(void **state) {
    (void)state;
    Load load = golden();
    check_share(&load, 0, 1, 2, 50, 100);
    check_share(&load, 1, 0, 3, 0, 7);
    check_share(&load, 1, 3, 1, 7, 7);
    load_free(&load);
}

static void test_load_one_row_is_for_all_layers(void **state) {
    (void)state;
    Load load = {0};
    Err err = {0};
    const char *json =
        "{\"moesim\": \"load\", \"version\": 1, \"experts\": 4, \"tokens\": [[1,2,3,4]]}";
    check_ok(load_parse("one", json, strlen(json), &load, &err), &err);
    check_share(&load, 60, 3, 1, 4, 10);
    check_ok(load_check(&load, 61, 4, &err), &err);
    load_free(&load);
}

static void test_load_check_names_both_numbers(void **state) {
    (void)state;
    Load load = golden();
    Err err = {0};
    check_ok(load_check(&load, 2, 4, &err), &err);
    check_fails(load_check(&load, 3, 4, &err), &err,
                "the load is of 2 layers, expected 3, or one for all");
    check_fails(load_check(&load, 2, 8, &err), &err, "the load is of 4 experts, expected 8");
    check_share(&load, 2, 0, 1, 1, 4); // refused above: the uniform share
    load_free(&load);
}

static void test_load_writes_what_it_reads(void **state) {
    (void)state;
    Load load = golden(), again = {0};
    Text text = {0};
    Err err = {0};
    load_write(&load, &text);
    check_golden(text_string(&text), "tests/golden/load.json");
    check_ok(load_parse("again", text.data, text.length, &again, &err), &err);
    assert_true(load.digest == again.digest);
    text_free(&text);
    load_free(&load);
    load_free(&again);
}

static void check_bad(const char *json, const char *message) {
    Load load = {0};
    Err err = {0};
    check_fails(load_parse("l.json", json, strlen(json), &load, &err), &err, message);
    load_free(&load);
}

#define HEAD "{\"moesim\": \"load\", \"version\": 1, "

static void test_load_refuses_bad_files(void **state) {
    (void)state;
    check_bad(HEAD "\"experts\": 2, \"tokens\": [[1, 2], [3]]}",
              "l.json:1:67: tokens[1]: expected an array of 2 counts, found 1");
    check_bad(HEAD "\"experts\": 2, \"tokens\": []}",
              "l.json:1:58: tokens: expected at least one row, found none");
    check_bad(HEAD "\"experts\": 2, \"tokens\": [[0, 0]]}",
              "l.json:1:59: tokens[0]: expected at least one token, found none");
    check_bad(HEAD "\"experts\": 4000000000, \"tokens\": [[1]]}",
              "l.json:1:68: tokens[0]: expected an array of 4000000000 counts, found 1");
    check_bad(HEAD "\"experts\": 1, \"tokens\": [[1]], \"layers\": 1}",
              "l.json:1:65: unknown key \"layers\"");
    check_bad(
        "{\"moesim\": \"load\", \"version\": 2}",
        "l.json:1:31: version: load format 2 is newer than this program, which reads up to 1");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_load_uniform_shares_are_counts),
        cmocka_unit_test(test_load_recorded_shares_are_sums),
        cmocka_unit_test(test_load_one_row_is_for_all_layers),
        cmocka_unit_test(test_load_check_names_both_numbers),
        cmocka_unit_test(test_load_writes_what_it_reads),
        cmocka_unit_test(test_load_refuses_bad_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
