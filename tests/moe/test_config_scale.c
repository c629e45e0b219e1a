// Smaller configs: every shipped model can be made smaller, and is the same kind of model then.
#include "model/moe/config_scale.h"
#include "tests/check.h"

#include <string.h>

#include "model/base/folder.h"

static bool scale_file(const char *path, const ConfigScale *scale, Arch *before, Arch *after,
                       Err *err) {
    Arena arena = {0};
    ArchInput input;
    Text text = {0};
    bool done = arch_read_files(path, &arena, &input, err) && arch_parse(&input, before, err) &&
                config_scale_write(&input, scale, &text, err);
    input.bytes = text_string(&text);
    input.count = text.length;
    done = done && arch_parse(&input, after, err);
    text_free(&text);
    arena_free(&arena);
    return done;
}

// A quarter of 7168, 4 of 61 layers of which the first was one of 3 dense ones (3 x 4 / 61 is less
// than one), 32 of 256 experts.
static void test_config_scale_deepseek(void **state) {
    (void)state;
    const ConfigScale scale = {.divide = 4, .layers = 4, .experts = 32};
    Arch before = {0}, after = {0};
    Err err = {0};
    check_ok(scale_file("scenarios/models/deepseek-v3.json", &scale, &before, &after, &err), &err);
    assert_int_equal(after.hidden, 7168 / 4);
    assert_int_equal(after.layers, 4);
    assert_int_equal(after.kind_of_layer[0], 0);
    assert_int_equal(after.kind_of_layer[1], 1);
    const MlpSpec *routed = &after.mlps[after.kinds[1].mlp];
    assert_int_equal(routed->experts, 32);
    assert_int_equal(routed->width, 2048 / 4);
    assert_int_equal(routed->top_k, 8);
    const AttentionSpec *attention = &after.attentions[0];
    assert_int_equal(attention->heads, 128 / 4);
    assert_int_equal(attention->head_dim, before.attentions[0].head_dim);
    assert_int_equal(attention->kv_lora, 512 / 4);
    arch_free(&before);
    arch_free(&after);
}

// Kinds of attention and of feed-forward blocks stay: those of the layers that are kept.
static bool is_alike(const Arch *before, const Arch *after) {
    for (uint32_t layer = 1; layer < after->layers; layer++) {
        const LayerKind *old = &before->kinds[before->kind_of_layer[layer]];
        const LayerKind *new = &after->kinds[after->kind_of_layer[layer]];
        if (before->attentions[old->attention].kind != after->attentions[new->attention].kind)
            return false;
    }
    return true;
}

static void test_config_scale_every_shipped_model(void **state) {
    (void)state;
    const ConfigScale scale = {.divide = 2, .layers = 8};
    Arena arena = {0};
    const char **names;
    uint32_t count, scaled = 0;
    Err err = {0};
    check_ok(folder_list("scenarios/models", &arena, &names, &count, &err), &err);
    for (uint32_t i = 0; i < count; i++) {
        Arch before = {0}, after = {0};
        if (strstr(names[i], ".json") == NULL || strstr(names[i], "hf_quant") != NULL) continue;
        const char *path = arena_printf(&arena, "scenarios/models/%s", names[i]);
        bool done = scale_file(path, &scale, &before, &after, &err);
        check_ok(done, &err);
        assert_int_equal(after.hidden, before.hidden / 2);
        assert_int_equal(after.layers, 8);
        assert_true(is_alike(&before, &after));
        scaled++;
        arch_free(&before);
        arch_free(&after);
    }
    assert_true(scaled > 50);
    arena_free(&arena);
}

// 7168 is 1024 x 7, and 61 layers are all that there are.
static void test_config_scale_refuses(void **state) {
    (void)state;
    static const struct {
        ConfigScale scale;
        const char *message;
    } cases[] = {
        {{.divide = 3}, "hidden_size: 7168 cannot be divided by 3"},
        {{.layers = 62}, "expected at least 62 layers, found 61"},
        {{.experts = 512}, "expected at least 512 experts, found 256"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Arch before = {0}, after = {0};
        Err err = {0};
        assert_false(scale_file("scenarios/models/deepseek-v3.json", &cases[i].scale, &before,
                                &after, &err));
        assert_non_null(strstr(err.text, cases[i].message));
        arch_free(&before);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_config_scale_deepseek),
        cmocka_unit_test(test_config_scale_every_shipped_model),
        cmocka_unit_test(test_config_scale_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
