#include "tests/check.h"

#include "model/machine/pattern.h"

static Pattern parse(const char *text, PatternSide side) {
    Pattern pattern;
    Err err = {{0}};
    check_ok(pattern_parse(text, side, &pattern, &err), &err);
    return pattern;
}

static void test_pattern_reads_levels_and_indices(void **state) {
    (void)state;
    Pattern pattern = parse("rack.tray[*].gpu[i]", PATTERN_FROM);
    assert_int_equal(pattern.count, 3);
    assert_string_equal(pattern.segments[0].name, "rack");
    assert_int_equal(pattern.segments[0].index.kind, PATTERN_NONE);
    assert_int_equal(pattern.segments[1].index.kind, PATTERN_ALL);
    assert_int_equal(pattern.segments[1].index.letter, 0);
    assert_int_equal(pattern.segments[2].index.kind, PATTERN_ALL);
    assert_int_equal(pattern.segments[2].index.letter, 'i');
}

static void test_pattern_reads_ranges_and_lists(void **state) {
    (void)state;
    Pattern pattern = parse("sw[0-3, 8, 10 - 11]", PATTERN_TO);
    const PatternIndex *index = &pattern.segments[0].index;
    assert_int_equal(index->range_count, 3);
    assert_int_equal(index->ranges[0].last, 3);
    assert_int_equal(index->ranges[1].first, 8);
    assert_int_equal(index->ranges[1].last, 8);
    assert_int_equal(index->ranges[2].first, 10);
    assert_int_equal(index->ranges[2].last, 11);
}

static void test_pattern_binds_a_letter_to_some_numbers(void **state) {
    (void)state;
    Pattern pattern = parse("sw[k=0-5]", PATTERN_FROM);
    assert_int_equal(pattern.segments[0].index.letter, 'k');
    assert_int_equal(pattern.segments[0].index.kind, PATTERN_SET);
    assert_int_equal(pattern.segments[0].index.ranges[0].last, 5);
}

static int64_t value_of(const char *expression, uint32_t i, uint32_t j) {
    char text[128];
    snprintf(text, sizeof text, "x[%s]", expression);
    Pattern pattern = parse(text, PATTERN_TO);
    uint32_t letters[PATTERN_LETTERS] = {0};
    letters['i' - 'a'] = i;
    letters['j' - 'a'] = j;
    int64_t value = INT64_MIN;
    const PatternIndex *index = &pattern.segments[0].index;
    assert_true(pattern_evaluate(index->steps, index->step_count, letters, &value));
    return value;
}

static void test_pattern_computes_with_the_usual_precedence(void **state) {
    (void)state;
    assert_int_equal(value_of("i+2*3", 1, 0), 7);
    assert_int_equal(value_of("(i+2)*3", 1, 0), 9);
    assert_int_equal(value_of("i-1-1", 5, 0), 3); // from the left
    assert_int_equal(value_of("i/2", 3, 0), 1);
    assert_int_equal(value_of("i*4+j", 3, 2), 14);
    assert_int_equal(value_of("((i))", 3, 0), 3);
    assert_int_equal(value_of("8/(i/2)", 4, 0), 4);
}

// A ring counts backwards too: -1 is 7 of 8.
static void test_pattern_remainder_is_never_negative(void **state) {
    (void)state;
    assert_int_equal(value_of("(i-1)%8", 0, 0), 7);
    assert_int_equal(value_of("(i+1)%8", 7, 0), 0);
    assert_int_equal(value_of("(i-3)/2", 0, 0), -2); // rounded down
}

static void test_pattern_cannot_divide_by_zero(void **state) {
    (void)state;
    Pattern pattern = parse("x[4%(i-i)]", PATTERN_TO);
    uint32_t letters[PATTERN_LETTERS] = {0};
    int64_t value;
    const PatternIndex *index = &pattern.segments[0].index;
    assert_false(pattern_evaluate(index->steps, index->step_count, letters, &value));
}

static void test_pattern_products_stay_in_bounds(void **state) {
    (void)state;
    Pattern pattern = parse("x[i*i*i*i]", PATTERN_TO);
    uint32_t letters[PATTERN_LETTERS] = {0};
    letters['i' - 'a'] = 1000000;
    int64_t value;
    const PatternIndex *index = &pattern.segments[0].index;
    assert_false(
        pattern_evaluate(index->steps, index->step_count, letters, &value)); // 10^24 > 2^40
}

static void test_pattern_refuses_with_the_column(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
        PatternSide side;
    } cases[] = {
        {"", "pattern \"\", column 1: expected the name of a part", PATTERN_FROM},
        {"gpu[", "pattern \"gpu[\", column 5: '[' without ']'", PATTERN_FROM},
        {"gpu[]", "pattern \"gpu[]\", column 5: expected a number", PATTERN_FROM},
        {"gpu[i+1]", "pattern \"gpu[i+1]\", column 6: an expression may stand in \"to\" only",
         PATTERN_FROM},
        {"gpu[2*i]", "pattern \"gpu[2*i]\", column 5: an expression may stand in \"to\" only",
         PATTERN_FROM},
        {"gpu[3-1]", "pattern \"gpu[3-1]\", column 8: a range must ascend", PATTERN_FROM},
        {"gpu[1,1]", "pattern \"gpu[1,1]\", column 8: a list must ascend and name each number once",
         PATTERN_FROM},
        {"gpu[1000001]", "pattern \"gpu[1000001]\", column 5: number above 1000000", PATTERN_FROM},
        {"gpu[*].", "pattern \"gpu[*].\", column 8: expected the name of a part", PATTERN_FROM},
        {"gpu[*]x", "pattern \"gpu[*]x\", column 7: expected '.', '[' or the end", PATTERN_FROM},
        {"gpu[(i]", "pattern \"gpu[(i]\", column 7: '(' without ')'", PATTERN_TO},
        {"gpu[i)]", "pattern \"gpu[i)]\", column 6: ')' without '('", PATTERN_TO},
        {"gpu[i+]", "pattern \"gpu[i+]\", column 7: expected a letter, a number or '('",
         PATTERN_TO},
        {"gpu[i i]", "pattern \"gpu[i i]\", column 7: expected an operator or ']'", PATTERN_TO},
        {"a.a.a.a.a.a.a.a.a", "pattern \"a.a.a.a.a.a.a.a.a\", column 17: more than 8 levels",
         PATTERN_FROM},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Pattern pattern;
        Err err = {{0}};
        check_fails(pattern_parse(cases[i].text, cases[i].side, &pattern, &err), &err,
                    cases[i].message);
    }
}

static void test_pattern_refuses_a_long_expression(void **state) {
    (void)state;
    Pattern pattern;
    Err err = {{0}};
    assert_false(pattern_parse("x[i+i+i+i+i+i+i+i+i+i+i+i+i+i]", PATTERN_TO, &pattern,
                               &err)); // 14 letters, 13 signs
    assert_non_null(strstr(err.text, "expression too long"));
    assert_false(
        pattern_parse("x[((((((((((((((((((i))))))))))))))))))]", PATTERN_TO, &pattern, &err));
    assert_non_null(strstr(err.text, "expression too long"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pattern_reads_levels_and_indices),
        cmocka_unit_test(test_pattern_reads_ranges_and_lists),
        cmocka_unit_test(test_pattern_binds_a_letter_to_some_numbers),
        cmocka_unit_test(test_pattern_computes_with_the_usual_precedence),
        cmocka_unit_test(test_pattern_remainder_is_never_negative),
        cmocka_unit_test(test_pattern_cannot_divide_by_zero),
        cmocka_unit_test(test_pattern_products_stay_in_bounds),
        cmocka_unit_test(test_pattern_refuses_with_the_column),
        cmocka_unit_test(test_pattern_refuses_a_long_expression),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
