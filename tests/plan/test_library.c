// Communication libraries: what is shipped, and what a list must have.
#include "tests/check.h"

#include "model/plan/library.h"

#define HEAD "{\"moesim\": \"communication-libraries\", \"version\": 1, \"libraries\": ["

static bool parse(const char *text, Libraries *out, Err *err) {
    return library_parse("list.json", text, strlen(text), out, err);
}

// NCCL stops when it loses a NIC (NVIDIA/nccl issue 998: "if something fails ... NCCL is going to
// fail").
static void test_library_of_nccl_stops_without_its_nic(void **state) {
    (void)state;
    Libraries libraries;
    Err err = {0};
    check_ok(library_load(&libraries, &err), &err);
    uint32_t i = 0;
    while (i < libraries.count && strcmp(libraries.libraries[i].name, "NCCL") != 0) i++;
    assert_true(i < libraries.count);
    const Library *nccl = &libraries.libraries[i];
    assert_int_equal(nccl->lost_nic, LIBRARY_STOPS);
    assert_non_null(strstr(nccl->unless, "port failover"));
    assert_non_null(strstr(nccl->source, "998"));
    library_free(&libraries);
}

static void test_library_that_goes_on(void **state) {
    (void)state;
    Libraries libraries;
    Err err = {0};
    check_ok(parse(HEAD "{\"library\": \"L\", \"lost_nic\": \"goes on\", \"because\": \"b\", "
                        "\"unless\": \"\", \"source\": \"s\"}]}",
                   &libraries, &err),
             &err);
    assert_int_equal(libraries.count, 1);
    assert_int_equal(libraries.libraries[0].lost_nic, LIBRARY_GOES_ON);
    assert_string_equal(libraries.libraries[0].unless, "");
    library_free(&libraries);
}

static void test_library_without_a_source_is_refused(void **state) {
    (void)state;
    static const char *const bad[][2] = {
        {HEAD "{\"library\": \"L\", \"lost_nic\": \"stops\", \"because\": \"b\", \"unless\": "
              "\"\", \"source\": \"\"}]}",
         "expected some text"},
        {HEAD "{\"library\": \"L\", \"lost_nic\": \"stops\", \"because\": \"b\", \"unless\": "
              "\"\"}]}",
         "source"},
        {HEAD "{\"library\": \"L\", \"lost_nic\": \"sleeps\", \"because\": \"b\", \"unless\": "
              "\"\", \"source\": \"s\"}]}",
         "sleeps"},
        {HEAD "], \"more\": 1}", "more"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        Libraries libraries = {0};
        Err err = {0};
        assert_false(parse(bad[i][0], &libraries, &err));
        if (strstr(err.text, bad[i][1]) == NULL)
            fail_msg("\"%s\" does not say %s", err.text, bad[i][1]);
        assert_int_equal(libraries.count, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_library_of_nccl_stops_without_its_nic),
        cmocka_unit_test(test_library_that_goes_on),
        cmocka_unit_test(test_library_without_a_source_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
