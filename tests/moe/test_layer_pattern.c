// Layer patterns in each form that configs use, over families made up here.
#include "tests/check.h"

#include "model/moe/parts_attention.h"
#include "model/moe/parts_mlp.h"
#include "model/moe/layer_pattern.h"

// All layers have GQA, except those that `rule` gives MLA; all are dense.
static Family family_with(PatternRule rule) {
    return (Family){.model_types = "test",
                    .parts = {&parts_attention_gqa, &parts_attention_mla, &parts_mlp_dense},
                    .pattern = {{.part = &parts_mlp_dense, .kind = PATTERN_ALL},
                                {.part = &parts_attention_gqa, .kind = PATTERN_ALL},
                                rule}};
}

// The kinds of four layers as letters: g for GQA, m for MLA. False with a message.
static bool pattern_of(const Family *family, const char *config, char *out, Err *err) {
    Arena arena = {0};
    LayerPattern pattern;
    Reader reader = {.arena = &arena, .name = "c", .family = family};
    check_ok(json_parse("c", config, strlen(config), &reader.doc, err), err);
    reader.root = reader.text = json_root(&reader.doc);
    dim_set(&reader.dims, DIM_LAYERS, 4);
    dim_set(&reader.dims, DIM_MOE_PERIOD, 2);
    bool good = layer_pattern_read(&reader, &pattern, err);
    for (uint32_t i = 0; good && i < 4; i++)
        out[i] = family->parts[pattern.attention[i]] == &parts_attention_mla ? 'm' : 'g';
    out[4] = '\0';
    reader_close(&reader);
    arena_free(&arena);
    return good;
}

static void check_pattern(PatternRule rule, const char *config, const char *want) {
    Err err = {0};
    char got[5];
    rule.part = &parts_attention_mla;
    rule.mode = PATTERN_OVERRIDE;
    Family family = family_with(rule);
    check_ok(pattern_of(&family, config, got, &err), &err);
    assert_string_equal(got, want);
}

static void check_refused(PatternRule rule, const char *config, const char *message) {
    Err err = {0};
    char got[5];
    rule.part = &parts_attention_mla;
    Family family = family_with(rule);
    check_fails(pattern_of(&family, config, got, &err), &err, message);
}

// Every second layer, counted from 1: layers 1 and 3 from 0.
static void test_layer_pattern_by_period(void **state) {
    (void)state;
    PatternRule rule = {.kind = PATTERN_PERIOD, .dim = DIM_MOE_PERIOD, .base = 1};
    check_pattern(rule, "{}", "gmgm");
    rule.kind = PATTERN_OFF_PERIOD;
    check_pattern(rule, "{}", "mgmg");
    rule.kind = PATTERN_BELOW;
    rule.base = 0;
    check_pattern(rule, "{}", "mmgg");
}

static void test_layer_pattern_by_list(void **state) {
    (void)state;
    PatternRule rule = {.kind = PATTERN_LIST, .path = "a.full"};
    check_pattern(rule, "{\"a\": {\"full\": [0, 3]}}", "mggm");
    rule.base = 1;
    check_pattern(rule, "{\"a\": {\"full\": [1, 3]}}", "mgmg");
    check_pattern(rule, "{}", "gggg"); // a list that only overrides may be absent
}

// A list of 0 and 1, or a plain number, which other rules read.
static void test_layer_pattern_by_flags(void **state) {
    (void)state;
    PatternRule rule = {.kind = PATTERN_FLAGS, .path = "freq", .base = 1};
    check_pattern(rule, "{\"freq\": [0, 1, 1, 0]}", "gmmg");
    check_pattern(rule, "{\"freq\": 1}", "gggg");
    check_refused(rule, "{\"freq\": [0, 1]}", "c:1:10: freq: 2 entries for 4 layers");
}

static void test_layer_pattern_by_names(void **state) {
    (void)state;
    PatternRule rule = {.kind = PATTERN_NAMES, .path = "types", .text = "full"};
    check_pattern(rule, "{\"types\": [\"full\", \"linear\", \"linear\", \"full\"]}", "mggm");
    check_refused(rule, "{\"types\": 4}", "c:1:11: types: expected an array of names");
}

static void test_layer_pattern_by_letters(void **state) {
    (void)state;
    PatternRule rule = {.kind = PATTERN_LETTERS, .path = "p", .text = "*"};
    check_pattern(rule, "{\"p\": \"M*M*\"}", "gmgm");
    check_refused(rule, "{\"p\": \"M*\"}", "c:1:7: p: 2 letters for 4 layers");
}

// An exclusive rule finds each layer without a kind, or refuses.
static void test_layer_pattern_refuses_a_second_kind(void **state) {
    (void)state;
    PatternRule rule = {.kind = PATTERN_LIST, .path = "full"};
    check_refused(rule, "{\"full\": [2]}", "c:1:11: full[0]: layer 2 is already of kind gqa");
    check_refused(rule, "{}", "c:1:1: missing \"full\"");
}

static void test_layer_pattern_refuses_a_gap(void **state) {
    (void)state;
    Err err = {0};
    char got[5];
    Family family = family_with((PatternRule){.part = NULL});
    family.pattern[1] =
        (PatternRule){.part = &parts_attention_gqa, .kind = PATTERN_LIST, .path = "full"};
    check_fails(pattern_of(&family, "{\"full\": [0, 1, 3]}", got, &err), &err,
                "c:1:1: layer 2 is missing from full");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layer_pattern_by_period),
        cmocka_unit_test(test_layer_pattern_by_list),
        cmocka_unit_test(test_layer_pattern_by_flags),
        cmocka_unit_test(test_layer_pattern_by_names),
        cmocka_unit_test(test_layer_pattern_by_letters),
        cmocka_unit_test(test_layer_pattern_refuses_a_second_kind),
        cmocka_unit_test(test_layer_pattern_refuses_a_gap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
