// Lines of fields and their places.
#include "tests/check.h"

#include "sim/fields.h"

// All fields as "line:column=text", in order.
static void check_fields(const char *text, const char *want) {
    char got[512] = "", buffer[32], one[64];
    Fields fields = fields_open("t", text, strlen(text));
    Field field;
    while (fields_next_line(&fields))
        while (fields_next(&fields, &field)) {
            assert_true(fields_text(&field, buffer, sizeof buffer));
            snprintf(one, sizeof one, "%u:%u=%s;", fields.line, field.column, buffer);
            strcat(got, one);
        }
    assert_string_equal(got, want);
}

static void test_fields_by_commas_or_blanks(void **state) {
    (void)state;
    check_fields("a,b\nc d\n", "1:1=a;1:3=b;2:1=c;2:3=d;");
    check_fields(" a , b c ,, \n", "1:2=a;1:6=b c;1:11=;1:12=;");
    check_fields("a\t b\r\n\n # all\nc # d", "1:1=a;1:4=b;4:1=c;");
    check_fields("", "");
    check_fields(" \n#\n", "");
}

// A list between brackets is one field.
static void test_fields_keep_brackets(void **state) {
    (void)state;
    check_fields("gpu[0, 3] 5\n", "1:1=gpu[0, 3];1:11=5;");
    check_fields("gpu[0,3],nic[1],5", "1:1=gpu[0,3];1:10=nic[1];1:17=5;");
    check_fields("gpu[0, 3\n", "1:1=gpu[0, 3;");
}

static void test_fields_sizes(void **state) {
    (void)state;
    Err err = {0};
    uint64_t size = 0;
#define FIELD(text) &(Field){(text), sizeof(text) - 1, 1}
    check_ok(fields_size(FIELD("4096"), &size, &err), &err);
    assert_int_equal(size, 4096);
    check_ok(fields_size(FIELD("64 KiB"), &size, &err), &err);
    assert_int_equal(size, 65536);
    check_fails(fields_size(FIELD(""), &size, &err), &err,
                "expected a size in bytes or such as \"64KiB\", found nothing");
    check_fails(fields_size(FIELD("1\0B"), &size, &err), &err,
                "expected a size in bytes or such as \"64KiB\", found something else");
    check_fails(fields_size(FIELD("4611686018427387904"), &size, &err), &err,
                "expected less than 2^62 B, found 4611686018427387904 B");
    check_fails(fields_size(FIELD("18446744073709551616"), &size, &err), &err,
                "expected less than 2^62 B, found 18446744073709551616 B");
    assert_int_equal(size, 65536);
#undef FIELD
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields_by_commas_or_blanks),
        cmocka_unit_test(test_fields_keep_brackets),
        cmocka_unit_test(test_fields_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
