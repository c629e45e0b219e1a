// Reading JSON: access, getters, and messages with file, line, column and path.
#include "model/base/json.h"
#include "tests/check.h"

#include <time.h>

#include "model/base/text.h"

// A document from a text; the file is called f.
static Json parse(const char *text) {
    Err err = {0};
    Json json = {0};
    check_ok(json_parse("f", text, strlen(text), &json, &err), &err);
    return json;
}

static const char *machine_text = "{\n"
                                  "  \"name\": \"ring\",\n"
                                  "  \"count\": 4,\n"
                                  "  \"share\": 0.25,\n"
                                  "  \"on\": true,\n"
                                  "  \"nothing\": null,\n"
                                  "  \"kind\": \"switch\",\n"
                                  "  \"links\": [{\"bandwidth\": \"400 Gbit/s\"},\n"
                                  "            {\"bandwidth\": 400, \"latency\": \"500 ns\"}],\n"
                                  "  \"memory\": {\"size\": \"80 GiB\"}\n"
                                  "}\n";

static void test_json_getters_read_values(void **state) {
    (void)state;
    Err err = {0};
    Json json = parse(machine_text);
    JsonNode root = json_root(&json), links, memory;
    const char *name, *const kinds[] = {"gpu", "switch"};
    uint64_t count, size_B, rate_Bps;
    uint32_t small, kind;
    double share;
    bool on;
    Time latency_ps;
    check_ok(json_string(root, "name", &name, &err), &err);
    check_ok(json_u64(root, "count", &count, &err), &err);
    check_ok(json_u32(root, "count", &small, &err), &err);
    check_ok(json_double(root, "share", &share, &err), &err);
    check_ok(json_bool(root, "on", &on, &err), &err);
    check_ok(json_enum(root, "kind", kinds, 2, &kind, &err), &err);
    check_ok(json_array(root, "links", &links, &err), &err);
    check_ok(json_object(root, "memory", &memory, &err), &err);
    check_ok(json_rate(json_at(links, 0), "bandwidth", &rate_Bps, &err), &err);
    check_ok(json_time(json_at(links, 1), "latency", &latency_ps, &err), &err);
    check_ok(json_bytes(memory, "size", &size_B, &err), &err);
    assert_string_equal(name, "ring");
    assert_true(count == 4 && small == 4 && share == 0.25 && on && kind == 1);
    assert_true(rate_Bps == 50000000000 && latency_ps == 500000);
    assert_true(size_B == UINT64_C(80) << 30);
    json_free(&json);
}

// Copies outlive the document; an optional member that is absent or null is "".
static void test_json_text_outlives_the_document(void **state) {
    (void)state;
    Err err = {0};
    Arena arena = {0};
    Json json = parse(machine_text);
    JsonNode root = json_root(&json);
    const char *name, *kind, *nothing, *absent;
    check_ok(json_text(root, "name", &arena, &name, &err), &err);
    check_ok(json_optional_text(root, "kind", &arena, &kind, &err), &err);
    check_ok(json_optional_text(root, "nothing", &arena, &nothing, &err), &err);
    check_ok(json_optional_text(root, "absent", &arena, &absent, &err), &err);
    assert_false(json_optional_text(root, "count", &arena, &absent, &err));
    json_free(&json);
    assert_string_equal(name, "ring");
    assert_string_equal(kind, "switch");
    assert_string_equal(nothing, "");
    assert_string_equal(absent, "");
    arena_free(&arena);
}

static void test_json_structure_is_visible(void **state) {
    (void)state;
    Json json = parse("{\"a\": [10, [20, 30], {}], \"\\u00e9\": \"x\", \"n\": null}");
    JsonNode root = json_root(&json), a = json_at(root, 0);
    uint64_t value = 0;
    Err err = {0};
    assert_int_equal(json_kind(root), JSON_OBJECT);
    assert_int_equal(json_count(root), 3);
    assert_string_equal(json_key(a), "a");
    assert_string_equal(json_key(json_at(root, 1)), "\xc3\xa9");
    assert_string_equal(json_key(root), "");
    assert_int_equal(json_kind(a), JSON_ARRAY);
    assert_int_equal(json_count(a), 3);
    check_ok(json_as_u64(json_at(json_at(a, 1), 1), &value, &err), &err);
    assert_int_equal(value, 30);
    assert_int_equal(json_kind(json_at(a, 2)), JSON_OBJECT);
    assert_int_equal(json_count(json_at(a, 2)), 0);
    assert_int_equal(json_kind(json_find(root, "n")), JSON_NULL);
    assert_true(json_is_absent(json_find(root, "A")));
    assert_true(json_is_absent(json_find(a, "a")));
    assert_false(json_has(root, "n"));
    assert_true(json_has(root, "a"));
    assert_int_equal(json_kind((JsonNode){0}), JSON_NONE);
    assert_int_equal(json_count((JsonNode){0}), 0);
    json_free(&json);
    json_free(&json);
}

static void test_json_as_reads_elements(void **state) {
    (void)state;
    Err err = {0};
    Json json = parse("[\"x\", 7, -1.5e3, false]");
    JsonNode root = json_root(&json);
    const char *text;
    uint64_t count;
    double number;
    bool flag = true;
    check_ok(json_as_string(json_at(root, 0), &text, &err), &err);
    check_ok(json_as_u64(json_at(root, 1), &count, &err), &err);
    check_ok(json_as_double(json_at(root, 2), &number, &err), &err);
    check_ok(json_as_bool(json_at(root, 3), &flag, &err), &err);
    assert_string_equal(text, "x");
    assert_true(count == 7 && number == -1500 && !flag);
    json_free(&json);
}

typedef enum Getter {
    GET_STRING,
    GET_BOOL,
    GET_U64,
    GET_U32,
    GET_DOUBLE,
    GET_ARRAY,
    GET_OBJECT,
    GET_BYTES,
    GET_RATE,
    GET_TIME,
    GET_ENUM
} Getter;

static bool get(Getter getter, JsonNode object, Err *err) {
    const char *string, *const names[] = {"nvlink", "pcie", "ib"};
    bool flag;
    uint64_t wide;
    uint32_t narrow;
    double number;
    Time ps;
    JsonNode node;
    switch (getter) {
    case GET_STRING: return json_string(object, "x", &string, err);
    case GET_BOOL: return json_bool(object, "x", &flag, err);
    case GET_U64: return json_u64(object, "x", &wide, err);
    case GET_U32: return json_u32(object, "x", &narrow, err);
    case GET_DOUBLE: return json_double(object, "x", &number, err);
    case GET_ARRAY: return json_array(object, "x", &node, err);
    case GET_OBJECT: return json_object(object, "x", &node, err);
    case GET_BYTES: return json_bytes(object, "x", &wide, err);
    case GET_RATE: return json_rate(object, "x", &wide, err);
    case GET_TIME: return json_time(object, "x", &ps, err);
    case GET_ENUM: return json_enum(object, "x", names, 3, &narrow, err);
    }
    return false;
}

static void test_json_getters_say_what_they_found(void **state) {
    (void)state;
    const struct {
        Getter getter;
        const char *value, *message;
    } cases[] = {
        {GET_STRING, "4", "expected a string, found 4"},
        {GET_STRING, "null", "expected a string, found null"},
        {GET_STRING, "[]", "expected a string, found an array"},
        {GET_BOOL, "\"yes\"", "expected true or false, found \"yes\""},
        {GET_BOOL, "1", "expected true or false, found 1"},
        {GET_BOOL, "null", "expected true or false, found null"},
        {GET_U64, "-3", "expected a whole number of at least 0, found -3"},
        {GET_U64, "-0", "expected a whole number of at least 0, found -0"},
        {GET_U64, "1.5", "expected a whole number, found 1.5"},
        {GET_U64, "5.0", "expected a whole number, found 5.0"},
        {GET_U64, "1e3", "expected a whole number, found 1e3"},
        {GET_U64, "\"5\"", "expected a whole number, found \"5\""},
        {GET_U64, "true", "expected a whole number, found true"},
        {GET_U32, "4294967296", "expected a whole number of at most 4294967295, found 4294967296"},
        {GET_U32, "-1", "expected a whole number of at least 0, found -1"},
        {GET_STRING, "\"two\\nlines\"",
         "expected a text on one line, found a control after 3 bytes"},
        {GET_STRING, "\"\\u001b[31m\"",
         "expected a text on one line, found a control after 0 bytes"},
        {GET_DOUBLE, "\"0.5\"", "expected a number, found \"0.5\""},
        {GET_DOUBLE, "{}", "expected a number, found an object"},
        {GET_ARRAY, "{}", "expected an array, found an object"},
        {GET_OBJECT, "[1]", "expected an object, found an array"},
        {GET_BYTES, "80", "expected a size such as \"80 GiB\", found 80"},
        {GET_BYTES, "\"80\"", "expected a size such as \"80 GiB\", found \"80\": no unit"},
        {GET_RATE, "400", "expected a rate such as \"400 Gbit/s\", found 400"},
        {GET_RATE, "\"-5 GB/s\"", "expected a rate such as \"400 Gbit/s\", found \"-5 GB/s\""},
        {GET_RATE, "null", "expected a rate such as \"400 Gbit/s\", found null"},
        {GET_TIME, "\"0.5 ps\"", "expected a time in whole picoseconds, found \"0.5 ps\""},
        {GET_TIME, "5e-7", "expected a time such as \"500 ns\", found 5e-7"},
        {GET_BYTES, "\"\\n\"", "expected a size such as \"80 GiB\", found \"?\""},
        {GET_ENUM, "\"pci\"",
         "expected one of \"nvlink\", \"pcie\", \"ib\", found \"pci\", did you mean \"pcie\"?"},
        {GET_ENUM, "\"carrier pigeon\"",
         "expected one of \"nvlink\", \"pcie\", \"ib\", found \"carrier pigeon\""},
        {GET_ENUM, "2", "expected one of \"nvlink\", \"pcie\", \"ib\", found 2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Err err = {0};
        char text[128], want[512];
        // the value begins in column 7: {"x": VALUE}
        snprintf(text, sizeof text, "{\"x\": %s}", cases[i].value);
        snprintf(want, sizeof want, "f:1:7: x: %s", cases[i].message);
        Json json = parse(text);
        check_fails(get(cases[i].getter, json_root(&json), &err), &err, want);
        json_free(&json);
    }
}

static void test_json_double_accepts_every_spelling(void **state) {
    (void)state;
    Err err = {0};
    Json json = parse("[5, 5.0, 0.5e1, 50E-1]");
    for (uint32_t i = 0; i < 4; i++) {
        double number = 0;
        check_ok(json_as_double(json_at(json_root(&json), i), &number, &err), &err);
        check_close(number, 5, 0);
    }
    json_free(&json);
}

static void test_json_u64_is_exact_up_to_2_53(void **state) {
    (void)state;
    Err err = {0};
    Json json = parse("[9007199254740991, 9007199254740992]");
    uint64_t below, at;
    check_ok(json_as_u64(json_at(json_root(&json), 0), &below, &err), &err);
    check_ok(json_as_u64(json_at(json_root(&json), 1), &at, &err), &err);
    assert_true(below == UINT64_C(9007199254740991) && at == UINT64_C(9007199254740992));
    json_free(&json);
}

static void test_json_messages_have_a_path(void **state) {
    (void)state;
    Err err = {0};
    Json json = parse(machine_text);
    JsonNode links;
    uint64_t rate;
    check_ok(json_array(json_root(&json), "links", &links, &err), &err);
    // the second link begins in line 9, its value 400 in column 27
    check_fails(json_rate(json_at(links, 1), "bandwidth", &rate, &err), &err,
                "f:9:27: links[1].bandwidth: expected a rate such as \"400 Gbit/s\", found 400");
    json_free(&json);
    json = parse("{\"a b\": {\"\": [[1]]}}");
    JsonNode deep = json_at(json_at(json_at(json_at(json_root(&json), 0), 0), 0), 0);
    check_fails(json_error(deep, &err, "too %s", "deep"), &err,
                "f:1:16: [\"a b\"][\"\"][0][0]: too deep");
    check_fails(json_error(json_root(&json), &err, "bad"), &err, "f:1:1: bad");
    check_fails(json_error((JsonNode){0}, &err, "bad"), &err, "bad");
    json_free(&json);
}

static void test_json_missing_key_is_reported_at_the_object(void **state) {
    (void)state;
    Err err = {0};
    Json json = parse("{\"pods\": [{},\n  {\"cuont\": 3, \"x\": 1}], \"y\": 5}");
    JsonNode root = json_root(&json), pods;
    uint64_t count;
    check_fails(json_u64(root, "count", &count, &err), &err, "f:1:1: missing \"count\"");
    check_ok(json_array(root, "pods", &pods, &err), &err);
    check_fails(json_u64(json_at(pods, 0), "count", &count, &err), &err,
                "f:1:11: pods[0]: missing \"count\"");
    check_fails(json_u64(json_at(pods, 1), "count", &count, &err), &err,
                "f:2:3: pods[1]: missing \"count\" (found \"cuont\")");
    check_fails(json_u64(json_find(root, "y"), "count", &count, &err), &err,
                "f:2:31: y: expected an object, found 5");
    check_fails(json_u64((JsonNode){0}, "count", &count, &err), &err,
                "expected an object, found nothing");
    json_free(&json);
}

static void test_json_duplicate_keys_are_refused(void **state) {
    (void)state;
    const struct {
        const char *text, *message;
    } cases[] = {
        {"{\"a\":1,\"b\":2,\"a\":3}", "f:1:14: duplicate key \"a\""},
        {"{\"a\":1,\n \"\\u0061\":3}", "f:2:2: duplicate key \"a\""}, // the same name, escaped
        {"{\"p\":[{\"a\":1,\"a\":2}]}", "f:1:14: p[0]: duplicate key \"a\""},
        {"{\"\":1,\"\":2}", "f:1:7: duplicate key \"\""},
        // of two, the one that comes first in the text, though its object is deeper
        {"{\"a\":{\"c\":1,\"c\":2},\"b\":1,\"b\":2}", "f:1:13: a: duplicate key \"c\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Err err = {0};
        Json json = {0};
        check_fails(json_parse("f", cases[i].text, strlen(cases[i].text), &json, &err), &err,
                    cases[i].message);
    }
    Json json = parse("{\"a\":{\"a\":1},\"A\":2}"); // other objects and other cases are other names
    json_free(&json);
}

// 100,000 keys in falling order, the last one a repetition of the first. Comparing all pairs would
// be 5e9 comparisons, a minute under the sanitizers; ten seconds of processor time are plenty for
// sorting.
static void test_json_duplicate_search_is_not_quadratic(void **state) {
    (void)state;
    Text text = {0};
    text_add(&text, "{");
    for (int i = 99999; i >= 0; i--) text_addf(&text, "\"key%d\":0,\n", i);
    text_add(&text, "\"key99999\":1}");
    Err err = {0};
    Json json = {0};
    clock_t start = clock();
    check_fails(json_parse("f", text.data, text.length, &json, &err), &err,
                "f:100001:1: duplicate key \"key99999\"");
    assert_true((double)(clock() - start) < 10.0 * (double)CLOCKS_PER_SEC);
    text_free(&text);
}

static void test_json_finish_refuses_unread_members(void **state) {
    (void)state;
    Err err = {0};
    Json json = parse("{\"a\": {\"count\": 1, \"bandwith\": 2, \"zzz\": 3}}");
    JsonNode a;
    uint64_t value;
    check_ok(json_object(json_root(&json), "a", &a, &err), &err);
    check_ok(json_u64(a, "count", &value, &err), &err);
    assert_false(json_has(a, "bandwidth")); // asked for, not there: a candidate
    assert_string_equal(json_key(json_first_unread(a)), "bandwith");
    check_fails(json_finish(a, &err), &err,
                "f:1:20: a: unknown key \"bandwith\", did you mean \"bandwidth\"?");
    json_ignore(a, "bandwith");
    check_fails(json_finish(a, &err), &err, "f:1:35: a: unknown key \"zzz\"");
    json_ignore(a, "zzz");
    check_ok(json_finish(a, &err), &err);
    check_ok(json_finish(json_root(&json), &err), &err);
    assert_true(json_is_absent(json_first_unread(a)));
    json_free(&json);
}

static void test_json_finish_suggests_read_members(void **state) {
    (void)state;
    Err err = {0};
    Json json = parse("{\"latency\": 1, \"latncy\": 2}");
    uint64_t value;
    check_ok(json_u64(json_root(&json), "latency", &value, &err), &err);
    check_fails(json_finish(json_root(&json), &err), &err,
                "f:1:16: unknown key \"latncy\", did you mean \"latency\"?");
    json_free(&json);
}

static void test_json_ignore_marks_everything_below(void **state) {
    (void)state;
    Err err = {0};
    Json json =
        parse("{\"note\": {\"a\": [{\"b\": 1}, {\"c\": {\"d\": 2}}]}, \"rest\": {\"e\": 3}}");
    JsonNode root = json_root(&json);
    json_ignore(root, "note");
    json_ignore(root, "absent");
    JsonNode a = json_at(json_at(root, 0), 0), c = json_at(json_at(a, 1), 0);
    check_ok(json_finish(json_at(a, 0), &err), &err);
    check_ok(json_finish(c, &err), &err);
    check_fails(json_finish(root, &err), &err, "f:1:46: unknown key \"rest\"");
    check_fails(json_finish(json_at(root, 1), &err), &err, "f:1:55: rest: unknown key \"e\"");
    json_free(&json);
}

// A null member counts as not given, and as read.
static void test_json_has_marks_null_members(void **state) {
    (void)state;
    Err err = {0};
    Json json = parse("{\"limit\": null}");
    assert_false(json_has(json_root(&json), "limit"));
    check_ok(json_finish(json_root(&json), &err), &err);
    json_free(&json);
}

static void test_json_header_checks_kind_and_version(void **state) {
    (void)state;
    const struct {
        const char *text, *message;
    } cases[] = {
        {"[]", "f:1:1: expected an object, found an array"},
        {"{}", "f:1:1: missing \"moesim\", expected \"moesim\": \"plan\""},
        {"{\"moesim\": 1}", "f:1:12: moesim: expected \"plan\", found 1"},
        {"{\"moesim\": \"topology\", \"version\": 1}",
         "f:1:12: moesim: expected \"plan\", found \"topology\""},
        {"{\"moesim\": \"plan\"}", "f:1:1: missing \"version\""},
        {"{\"moesim\": \"plan\", \"version\": \"1\"}",
         "f:1:31: version: expected a whole number, found \"1\""},
        {"{\"moesim\": \"plan\", \"version\": 0}",
         "f:1:31: version: expected a version of at least 1, found 0"},
        {"{\"moesim\": \"plan\", \"version\": 3}",
         "f:1:31: version: plan format 3 is newer than this program, which reads up to 2"},
    };
    Err err = {0};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Json json = parse(cases[i].text);
        check_fails(json_header(json_root(&json), "plan", 2, &err), &err, cases[i].message);
        json_free(&json);
    }
    Json json = parse("{\"moesim\": \"plan\", \"version\": 2}");
    check_ok(json_header(json_root(&json), "plan", 2, &err), &err);
    check_ok(json_finish(json_root(&json), &err), &err);
    json_free(&json);
}

static void test_json_read_names_the_file(void **state) {
    (void)state;
    Err err = {0};
    Json json = {0};
    check_fails(json_read("tests", &json, &err), &err, "tests: is a directory, expected a file");
    check_fails(json_read("no/such.json", &json, &err), &err,
                "no/such.json: no such file or folder");
    check_ok(json_read("tests/fuzz/corpus/json/machine", &json, &err), &err);
    check_fails(json_error(json_find(json_root(&json), "count"), &err, "odd"), &err,
                "tests/fuzz/corpus/json/machine:3:12: count: odd");
    json_free(&json);
}

// A long list of names is cut, so that the message stays a line.
static void test_json_enum_lists_at_most_16_names(void **state) {
    (void)state;
    Err err = {0};
    const char *names[20];
    char storage[20][16];
    for (int i = 0; i < 20; i++) {
        snprintf(storage[i], sizeof storage[i], "gpu%d", i);
        names[i] = storage[i];
    }
    Json json = parse("{\"x\": \"tpu\"}");
    uint32_t index;
    check_fails(
        json_enum(json_root(&json), "x", names, 20, &index, &err), &err,
        "f:1:7: x: expected one of \"gpu0\", \"gpu1\", \"gpu2\", \"gpu3\", \"gpu4\", \"gpu5\", "
        "\"gpu6\", \"gpu7\", \"gpu8\", \"gpu9\", \"gpu10\", \"gpu11\", \"gpu12\", \"gpu13\", "
        "\"gpu14\", \"gpu15\", ..., found \"tpu\"");
    json_free(&json);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_getters_read_values),
        cmocka_unit_test(test_json_text_outlives_the_document),
        cmocka_unit_test(test_json_structure_is_visible),
        cmocka_unit_test(test_json_as_reads_elements),
        cmocka_unit_test(test_json_getters_say_what_they_found),
        cmocka_unit_test(test_json_double_accepts_every_spelling),
        cmocka_unit_test(test_json_u64_is_exact_up_to_2_53),
        cmocka_unit_test(test_json_messages_have_a_path),
        cmocka_unit_test(test_json_missing_key_is_reported_at_the_object),
        cmocka_unit_test(test_json_duplicate_keys_are_refused),
        cmocka_unit_test(test_json_duplicate_search_is_not_quadratic),
        cmocka_unit_test(test_json_finish_refuses_unread_members),
        cmocka_unit_test(test_json_finish_suggests_read_members),
        cmocka_unit_test(test_json_ignore_marks_everything_below),
        cmocka_unit_test(test_json_has_marks_null_members),
        cmocka_unit_test(test_json_header_checks_kind_and_version),
        cmocka_unit_test(test_json_read_names_the_file),
        cmocka_unit_test(test_json_enum_lists_at_most_16_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
