// Conditions of rules: values, types, and what is refused.
#include "tests/check.h"

#include "model/plan/engine_expr.h"

static const char *const texts[] = {"glm4_moe", "minimax_m3"};
static const EngineName names[] = {
    {"tp", "", ENGINE_INTEGER},    {"heads", "", ENGINE_INTEGER},
    {"family", "", ENGINE_STRING}, {"sparse", "", ENGINE_BOOLEAN},
    {"no_pp", "", ENGINE_TEXTS},   {"fp8", "--topo", ENGINE_BOOLEAN},
};
static const EngineValue values[] = {
    {.type = ENGINE_INTEGER, .integer = 8},
    {.type = ENGINE_INTEGER, .integer = 64},
    {.type = ENGINE_STRING, .text = "glm4_moe"},
    {.type = ENGINE_BOOLEAN, .integer = 1},
    {.type = ENGINE_TEXTS, .texts = texts, .text_count = 2},
    {.type = ENGINE_UNKNOWN},
};
static const EngineScope scope = {names, sizeof names / sizeof *names};

// The value of a condition as text; of one that fails, the message.
static const char *value_of(const char *condition) {
    static char result[ERR_TEXT_MAX];
    Arena arena = {0};
    Text out = {0};
    Err err = {0};
    EngineExpr expr;
    EngineValue value;
    uint32_t missing;
    if (engine_expr_parse(condition, &scope, &arena, &expr, &err) &&
        engine_expr_eval(&expr, &scope, values, &value, &missing, &err))
        engine_expr_value_add(&value, &out);
    snprintf(result, sizeof result, "%s", err_is_set(&err) ? err.text : text_string(&out));
    text_free(&out);
    arena_free(&arena);
    return result;
}

static void check_value(const char *condition, const char *want) {
    check_text_equals(value_of(condition), want);
}

// * binds before +, + before ==, == before not, not before and, and before or.
static void test_engine_expr_precedence(void **state) {
    (void)state;
    check_value("1 + 2 * 3 == 7", "true");
    check_value("(1 + 2) * 3", "9");
    check_value("not tp == 4 and heads % tp == 0", "true");
    check_value("true or false and false", "true");
    check_value("not (true or false)", "false");
    check_value("10 - 4 - 3", "3"); // from the left
    check_value("-2 * -3 + - 1", "5");
}

// Toward minus infinity: -7 / 2 = -4 and -7 - -4 * 2 = 1.
static void test_engine_expr_division_rounds_down(void **state) {
    (void)state;
    check_value("7 / 2", "3");
    check_value("-7 / 2", "-4");
    check_value("-7 % 2", "1");
    check_value("7 % -2", "-1");
    check_value("ceil_div(7, 2)", "4");
    check_value("ceil_div(8, 2)", "4");
}

static void test_engine_expr_functions(void **state) {
    (void)state;
    check_value("max(1, tp / 4)", "2");
    check_value("min(tp, heads)", "8");
    check_value("divides(tp, heads)", "true");  // 64 = 8 x 8
    check_value("divides(12, heads)", "false"); // 64 = 5 x 12 + 4
    check_value("max(min(1, 2), 0)", "1");
}

static void test_engine_expr_texts(void **state) {
    (void)state;
    check_value("family in no_pp", "true");
    check_value("'mixtral' in no_pp", "false");
    check_value("not family in no_pp", "false");
    check_value("family == 'glm4_moe'", "true");
    check_value("no_pp", "glm4_moe, minimax_m3");
}

// The left side decides before the right one divides by zero.
static void test_engine_expr_short_circuit(void **state) {
    (void)state;
    check_value("tp == 4 and heads / 0 == 1", "false");
    check_value("tp == 8 or heads / 0 == 1", "true");
    check_value("(false and 1 / 0 == 1) or sparse", "true");
    check_value("tp == 8 and heads / 0 == 1", "division of 64 by zero");
}

// Unknown stays unknown unless the other side of `and` or `or` decides.
static void test_engine_expr_unknown(void **state) {
    (void)state;
    check_value("fp8", "unknown");
    check_value("not fp8", "unknown");
    check_value("fp8 == true", "unknown");
    check_value("fp8 and false", "false");
    check_value("fp8 or true", "true");
    check_value("fp8 or false", "unknown");
    check_value("sparse and fp8", "unknown");
}

// 2^63 - 1 is the largest integer.
static void test_engine_expr_overflow(void **state) {
    (void)state;
    check_value("9223372036854775807", "9223372036854775807");
    check_value("9223372036854775808", "column 1: the number is too large");
    check_value("9223372036854775807 + 1", "9223372036854775807 + 1 leaves 64 bits");
    check_value("-9223372036854775807 - 1", "-9223372036854775808");
    check_value("-9223372036854775807 - 2", "-9223372036854775807 - 2 leaves 64 bits");
    check_value("(-9223372036854775807 - 1) / -1", "-9223372036854775808 / -1 leaves 64 bits");
    check_value("3037000500 * 3037000500", "3037000500 * 3037000500 leaves 64 bits");
    check_value("-4611686018427387904 * 2", "-9223372036854775808");
    check_value("heads % 0", "division of 64 by zero");
    check_value("divides(0, heads)", "division of 64 by zero");
}

static void test_engine_expr_refuses_bad_syntax(void **state) {
    (void)state;
    check_value("", "column 1: expected a value");
    check_value("tp +", "column 5: expected a value");
    check_value("tp tp", "column 4: expected an operator");
    check_value("(tp", "column 1: '(' without ')'");
    check_value("tp)", "column 3: ')' without '('");
    check_value("tp = 8", "column 4: expected an operator");
    check_value("1 < 2 < 3", "column 7: comparisons do not chain");
    check_value("min(1)", "column 6: a function takes two arguments");
    check_value("min(1, 2, 3)", "column 9: a function takes two arguments");
    check_value("(1, 2)", "column 3: ',' outside of a function");
    check_value("min", "column 4: expected '(' after a function");
    check_value("12tp", "column 3: a number ends before a letter");
    check_value("'glm", "column 1: the text has no end");
    check_value("tp @ 1", "column 4: expected an operator");
    check_value("hedas % tp", "column 1: unknown name \"hedas\", did you mean \"heads\"?");
}

static void test_engine_expr_refuses_bad_types(void **state) {
    (void)state;
    check_value("tp and true", "column 4: and takes booleans, found an integer and a boolean");
    check_value("not tp", "column 1: not takes a boolean, found an integer");
    check_value("-sparse", "column 1: - takes an integer, found a boolean");
    check_value("family + 1", "column 8: + takes integers, found a text and an integer");
    check_value("family == tp",
                "column 8: == takes two values of one type, found a text and an integer");
    check_value("tp in no_pp", "column 4: in takes a text and a list, found an integer and a list");
    check_value("no_pp == no_pp",
                "column 7: == takes two values of one type, found a list and a list");
}

// 40 open brackets: more than 32 may not wait. 129 values and the 127 sums before are 256 steps;
// the sum that the operator at column 4 x 129 + 1 makes is one too many.
static void test_engine_expr_bounds(void **state) {
    (void)state;
    char deep[64] = {0}, wide[1200] = {0};
    memset(deep, '(', 40);
    check_value(deep, "column 33: the condition is too deep");
    memset(deep, '-', 40);
    check_value(deep, "column 33: the condition is too deep");
    for (size_t i = 0; i < 150; i++) memcpy(wide + 4 * i, i == 0 ? "1   " : "+ 1 ", 4);
    check_value(wide, "column 517: the condition is too long");
    memset(wide, ' ', 1100);
    check_value(wide, "column 1025: the condition is longer than 1024 bytes");
}

static void check_message(const char *message, const char *want) {
    Text out = {0};
    Err err = {0};
    bool ok = engine_expr_message_check(message, &scope, &err) &&
              engine_expr_message_add(message, &scope, values, &out, &err);
    check_text_equals(ok ? text_string(&out) : err.text, want);
    text_free(&out);
}

static void test_engine_expr_message(void **state) {
    (void)state;
    check_message("plain", "plain");
    check_message("tp {tp} of {heads} gives {heads / tp}", "tp 8 of 64 gives 8");
    check_message("legal: {no_pp}; fp8 {fp8}", "legal: glm4_moe, minimax_m3; fp8 unknown");
    check_message("{hads}", "\"{hads}\": column 1: unknown name \"hads\", did you mean \"heads\"?");
    check_message("a {tp", "column 3: '{' without '}'");
    check_message("a tp}", "column 5: '}' without '{'");
    check_message("{}", "\"{}\": column 1: expected a value");
    check_message("{tp / 0}", "division of 8 by zero");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_engine_expr_precedence),
        cmocka_unit_test(test_engine_expr_division_rounds_down),
        cmocka_unit_test(test_engine_expr_functions),
        cmocka_unit_test(test_engine_expr_texts),
        cmocka_unit_test(test_engine_expr_short_circuit),
        cmocka_unit_test(test_engine_expr_unknown),
        cmocka_unit_test(test_engine_expr_overflow),
        cmocka_unit_test(test_engine_expr_refuses_bad_syntax),
        cmocka_unit_test(test_engine_expr_refuses_bad_types),
        cmocka_unit_test(test_engine_expr_bounds),
        cmocka_unit_test(test_engine_expr_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
