// Patterns of quantisation configs against module names.
#include "tests/check.h"

#include "model/moe/match.h"

static bool matches(const char *pattern, const char *name) {
    Err err = {0};
    Arena arena = {0};
    Match match;
    check_ok(match_compile(pattern, &arena, &match, &err), &err);
    bool result = match_test(&match, name);
    arena_free(&arena);
    return result;
}

// Matched from the start, and not to the end: what `re.match` of compressed-tensors does.
static void test_match_expression_from_the_start(void **state) {
    (void)state;
    assert_true(matches("re:.*self_attn.*", "model.layers.3.self_attn.q_proj"));
    assert_true(matches("re:.*lm_head", "language_model.lm_head"));
    assert_true(matches("re:model", "model.layers.3"));
    assert_false(matches("re:layers", "model.layers.3"));
    assert_false(matches("re:model$", "model.layers.3"));
}

// (gate|up|gate_up|down)_proj with an escaped dot: Kimi-K3's pattern for dense blocks leaves
// experts alone.
static void test_match_expression_with_words(void **state) {
    (void)state;
    const char *pattern = "re:.*mlp\\.(gate|up|gate_up|down)_proj.*";
    assert_true(matches(pattern, "model.layers.0.mlp.gate_up_proj"));
    assert_true(matches(pattern, "model.layers.0.mlp.down_proj"));
    assert_false(matches(pattern, "model.layers.0.mlp.down"));
    assert_false(matches(pattern, "model.layers.0.mlpxdown_proj"));
    assert_false(matches(pattern, "model.layers.1.block_sparse_moe.experts.0.w1"));
}

static void test_match_expression_repeats(void **state) {
    (void)state;
    assert_true(matches("re:layers\\.\\d+\\.mlp$", "layers.117.mlp"));
    assert_false(matches("re:layers\\.\\d+\\.mlp$", "layers..mlp"));
    assert_true(matches("re:layers\\.[0-3]\\.", "layers.2.mlp"));
    assert_false(matches("re:layers\\.[0-3]\\.", "layers.4.mlp"));
    assert_true(matches("re:(ab)?c$", "abc"));
    assert_true(matches("re:(ab)?c$", "c"));
    assert_true(matches("re:(ab|a)*c$", "aabac"));
    assert_false(matches("re:(ab)+c$", "c"));
}

static void test_match_glob_as_a_whole(void **state) {
    (void)state;
    assert_true(matches("model.layers.0.self_attn*", "model.layers.0.self_attn.q_proj"));
    assert_true(matches("*.mlp.shared_expert.*", "model.layers.7.mlp.shared_expert.up_proj"));
    assert_false(matches("model.layers.0.self_attn*", "model.layers.10.self_attn.q_proj"));
    assert_false(matches("*.mlp", "model.layers.7.mlp.up_proj"));
}

// 250 stars over 500 characters: a backtracking matcher would not come back.
static void test_match_has_no_slow_case(void **state) {
    (void)state;
    char pattern[MATCH_PATTERN_MAX] = "re:", name[MATCH_NAME_MAX];
    for (int i = 0; i < 125; i++) strcat(pattern, "a*");
    strcat(pattern, "b");
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_false(matches(pattern, name));
}

static void test_match_refuses_what_it_does_not_know(void **state) {
    (void)state;
    const struct {
        const char *pattern, *message;
    } cases[] = {
        {"re:(?!x)", "pattern \"(?!x)\": \"(?!x)\" is not supported"},
        {"re:a{2}", "pattern \"a{2}\": \"{2}\" is not supported"},
        {"re:a|b", "pattern \"a|b\": \"|b\" is not supported"},
        {"re:[^a]", "pattern \"[^a]\": \"[^a]\" is not supported"},
        {"re:[a", "pattern \"[a\": \"[a\" is not supported"},
        {"re:(a", "pattern \"(a\": \"(a\" is not supported"},
        {"re:a\\w", "pattern \"a\\w\": \"\\w\" is not supported"},
        {"re:a$b", "pattern \"a$b\": \"$b\" is not supported"},
        {"re:*a", "pattern \"*a\": \"*a\" is not supported"},
        {"re:a\\", "pattern \"a\\\": \"\\\" is not supported"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Err err = {0};
        Arena arena = {0};
        Match match;
        check_fails(match_compile(cases[i].pattern, &arena, &match, &err), &err, cases[i].message);
        arena_free(&arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_match_expression_from_the_start),
        cmocka_unit_test(test_match_expression_with_words),
        cmocka_unit_test(test_match_expression_repeats),
        cmocka_unit_test(test_match_glob_as_a_whole),
        cmocka_unit_test(test_match_has_no_slow_case),
        cmocka_unit_test(test_match_refuses_what_it_does_not_know),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
