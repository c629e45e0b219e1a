// Matrices of bytes, as people write them.
#include "tests/check.h"

#include "sim/matrix.h"

static bool parse(const char *text, uint32_t n, uint64_t **out, Err *err) {
    return matrix_parse("m.csv", text, strlen(text), n, out, err);
}

static void check_values(const char *text, uint32_t n, const uint64_t *want) {
    Err err = {0};
    uint64_t *got = NULL;
    check_ok(parse(text, n, &got, &err), &err);
    for (uint32_t i = 0; i < n * n; i++) assert_int_equal(got[i], want[i]);
    mem_free(got);
}

static void test_matrix_with_commas_or_blanks(void **state) {
    (void)state;
    const uint64_t want[] = {0, 1, 2, 3};
    check_values("0,1\n2,3\n", 2, want);
    check_values("0 1\n2\t3", 2, want);
    check_values(" 0 , 1\r\n2  ,3 \r\n", 2, want);
}

static void test_matrix_sizes_have_units(void **state) {
    (void)state;
    const uint64_t want[] = {0, 65536, 1500000, 4096};
    check_values("0, 64 KiB\n1.5MB, 4096\n", 2, want);
    check_values("0 64KiB\n1.5MB 4096\n", 2, want);
}

static void test_matrix_leaves_out_comments_and_empty_lines(void **state) {
    (void)state;
    const uint64_t want[] = {0, 1, 2, 3};
    check_values("# from 0 and 1\n\n0,1 # first\n  \n2,3", 2, want);
}

static void test_matrix_refuses(void **state) {
    (void)state;
    Err err = {0};
    uint64_t *got = NULL;
    check_fails(parse("0,1\n2\n", 2, &got, &err), &err,
                "m.csv:2:2: expected a row of 2 numbers, found 1");
    check_fails(parse("0,1,2\n", 2, &got, &err), &err,
                "m.csv:1:5: expected a row of 2 numbers, found more");
    check_fails(parse("0,1\n", 2, &got, &err), &err, "m.csv: expected 2 rows, found 1");
    check_fails(parse("0,1\n2,3\n\n4,5\n", 2, &got, &err), &err,
                "m.csv:4:1: expected 2 rows, found more");
    check_fails(parse("", 2, &got, &err), &err, "m.csv: expected 2 rows, found 0");
    check_fails(parse("0,-5\n", 2, &got, &err), &err,
                "m.csv:1:3: expected a size such as \"80 GiB\", found \"-5\"");
    check_fails(parse("0, x\n", 2, &got, &err), &err,
                "m.csv:1:4: expected a size such as \"80 GiB\", found \"x\"");
    check_fails(parse("0,,1\n", 2, &got, &err), &err,
                "m.csv:1:3: expected a size in bytes or such as \"64KiB\", found nothing");
    check_fails(parse("0,4611686018427387904\n", 2, &got, &err), &err,
                "m.csv:1:3: expected less than 2^62 B, found 4611686018427387904 B");
    check_fails(matrix_parse("m.csv", "0,1\0,2", 6, 2, &got, &err), &err,
                "m.csv:1:3: expected a size in bytes or such as \"64KiB\", found something else");
    assert_null(got);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matrix_with_commas_or_blanks),
        cmocka_unit_test(test_matrix_sizes_have_units),
        cmocka_unit_test(test_matrix_leaves_out_comments_and_empty_lines),
        cmocka_unit_test(test_matrix_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
