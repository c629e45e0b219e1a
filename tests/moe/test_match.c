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

// A glob names modules, and what is below a module.
static void test_match_glob_to_a_dot(void **state) {
    (void)state;
    assert_true(matches("model.layers.0.self_attn*", "model.layers.0.self_attn.q_proj"));
    assert_true(matches("*.mlp.shared_expert.*", "model.layers.7.mlp.shared_expert.up_proj"));
    assert_false(matches("model.layers.0.self_attn*", "model.layers.10.self_attn.q_proj"));
    assert_true(matches("*.mlp", "model.layers.7.mlp.up_proj"));
    assert_false(matches("*.mlp", "model.layers.7.mlps.up_proj"));
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

// How a set of these entries, with values 0, 1, ..., names a module.
static MatchHow find(const char *const *entries, const char *module, uint32_t *value) {
    Err err = {0};
    Arena arena = {0};
    MatchSet set = {0};
    for (uint32_t i = 0; entries[i] != NULL; i++)
        check_ok(match_set_add(&set, entries[i], i, &arena, &err), &err);
    check_ok(match_set_finish(&set, &err), &err);
    MatchHow how = match_set_find(&set, module, value);
    arena_free(&arena);
    return how;
}

// The longest name wins, whatever the order; names stand for what is below them, not beside them.
static void test_match_set_finds_the_longest_name(void **state) {
    (void)state;
    static const char *const entries[] = {"a.layers.1.mlp", "a.layers.1*", "a.layers.1.mlp.up",
                                          "re:.*down", NULL};
    uint32_t value = 9;
    assert_int_equal(find(entries, "a.layers.1.mlp.up", &value), MATCH_EXACTLY);
    assert_int_equal(value, 2);
    assert_int_equal(find(entries, "a.layers.1.mlp.gate", &value), MATCH_BY_PART);
    assert_int_equal(value, 0);
    assert_int_equal(find(entries, "a.layers.1.mlps", &value), MATCH_BY_PART); // not in mlp
    assert_int_equal(value, 1);
    assert_int_equal(find(entries, "a.layers.2.down", &value), MATCH_BY_PATTERN);
    assert_int_equal(value, 3);
    assert_int_equal(find(entries, "a.layers.2.up", &value), MATCH_NOT);
    assert_int_equal(value, 3); // untouched
}

// What wraps a text model is left out of names, globs and expressions, on both sides.
static void test_match_set_sees_through_wrappers(void **state) {
    (void)state;
    static const char *const module = "language_model.model.layers.3.mlp.up";
    static const char *const entries[] = {"model.layers.3.mlp", "model.language_model.layers.3*",
                                          "layers.3.mlp.up", "model.layers.*.mlp",
                                          "re:model\\.layers\\.3\\..*"};
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        const char *const one[] = {entries[i], NULL};
        uint32_t value;
        if (find(one, module, &value) == MATCH_NOT) fail_msg("%s", entries[i]);
    }
    static const char *const other[] = {"vision_model.layers.3.mlp", NULL};
    uint32_t value;
    assert_int_equal(find(other, module, &value), MATCH_NOT);
}

// One word names any part of a path, as a whole.
static void test_match_set_finds_words(void **state) {
    (void)state;
    static const char *const entries[] = {"gate", "lm_head", NULL};
    uint32_t value;
    assert_int_equal(find(entries, "model.layers.0.moe.gate", &value), MATCH_BY_PART);
    assert_int_equal(find(entries, "model.layers.0.gate.bias", &value), MATCH_BY_PART);
    assert_int_equal(find(entries, "model.layers.0.moe.gate_proj", &value), MATCH_NOT);
    assert_int_equal(find(entries, "language_model.lm_head", &value), MATCH_EXACTLY);
    assert_int_equal(value, 1);
}

static void test_match_set_counts_what_names_nothing(void **state) {
    (void)state;
    Err err = {0};
    Arena arena = {0};
    MatchSet set = {0};
    uint32_t value, count;
    // the second "a.b" says nothing new; "x.y" and "x*" match nothing
    static const char *const entries[] = {"a.b", "x.y", "a.b", "a*", "x*"};
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++)
        check_ok(match_set_add(&set, entries[i], 7, &arena, &err), &err);
    check_ok(match_set_finish(&set, &err), &err);
    assert_int_equal(match_set_find(&set, "a.b.c", &value), MATCH_BY_PART);
    assert_string_equal(match_set_unused(&set, &count), "x.y");
    assert_int_equal(count, 2);
    arena_free(&arena);
}

static void test_match_set_refuses_two_values(void **state) {
    (void)state;
    Err err = {0};
    Arena arena = {0};
    MatchSet set = {0};
    check_ok(match_set_add(&set, "a.b", 1, &arena, &err), &err);
    check_ok(match_set_add(&set, "model.a.b", 2, &arena, &err), &err);
    check_fails(match_set_finish(&set, &err), &err, "\"model.a.b\" is listed in two ways");
    arena_free(&arena);
}

// 100,000 names and as many look-ups, all with the same long beginning: a walk through the list for
// each would take minutes.
static void test_match_set_has_no_slow_case(void **state) {
    (void)state;
    enum { NAMES = 100000 };
    Err err = {0};
    Arena arena = {0};
    MatchSet set = {0};
    char name[64];
    uint32_t value, found = 0;
    for (uint32_t i = 0; i < NAMES; i++) {
        snprintf(name, sizeof name, "model.layers.mlp.experts.%u.up_proj", i);
        check_ok(match_set_add(&set, name, i, &arena, &err), &err);
    }
    check_ok(match_set_finish(&set, &err), &err);
    for (uint32_t i = 0; i < NAMES; i++) {
        snprintf(name, sizeof name, "model.layers.mlp.experts.%u.up_proj", i);
        found += match_set_find(&set, name, &value) == MATCH_EXACTLY && value == i;
    }
    assert_int_equal(found, NAMES);
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_match_expression_from_the_start),
        cmocka_unit_test(test_match_expression_with_words),
        cmocka_unit_test(test_match_expression_repeats),
        cmocka_unit_test(test_match_glob_to_a_dot),
        cmocka_unit_test(test_match_has_no_slow_case),
        cmocka_unit_test(test_match_refuses_what_it_does_not_know),
        cmocka_unit_test(test_match_set_finds_the_longest_name),
        cmocka_unit_test(test_match_set_sees_through_wrappers),
        cmocka_unit_test(test_match_set_finds_words),
        cmocka_unit_test(test_match_set_counts_what_names_nothing),
        cmocka_unit_test(test_match_set_refuses_two_values),
        cmocka_unit_test(test_match_set_has_no_slow_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
