// Configs whose model_type is new or absent, and all published ones.
#include "tests/check.h"

#include "model/base/text.h"
#include "model/moe/arch.h"

static const char qwen_like[] =
    "{\"model_type\": \"qwen9_moe\", \"num_hidden_layers\": 4, \"hidden_size\": 64, "
    "\"vocab_size\": 256, \"max_position_embeddings\": 1024, \"torch_dtype\": \"bfloat16\", "
    "\"num_attention_heads\": 8, \"num_key_value_heads\": 2, \"head_dim\": 8, "
    "\"intermediate_size\": 128, \"num_experts\": 8, \"num_experts_per_tok\": 2, "
    "\"moe_intermediate_size\": 32, \"decoder_sparse_step\": 1, \"mlp_only_layers\": []}";

// The fields are those of qwen3_moe, whose name is also the nearest of all that fit:
// 2 tables of 256 x 64, 4 layers of 4 projections (64 x 64, 2 x 16 x 64, 64 x 64), 2 head norms of
// 8, 2 norms of 64, a router of 8 x 64 and 8 experts of 3 x 32 x 64, and the last norm:
// 32768 + 4 (10240 + 16 + 128 + 512 + 49152) + 64 = 273024.
static void test_arch_reads_a_new_model_type_by_its_fields(void **state) {
    (void)state;
    Arch arch = {0};
    Err err = {0};
    const ArchInput input = {.name = "new", .bytes = qwen_like, .count = sizeof qwen_like - 1};
    check_ok(arch_parse(&input, &arch, &err), &err);
    assert_string_equal(arch.family, "qwen3_moe");
    assert_int_equal(arch.totals.parameters, 273024);
    assert_int_equal(arch.note_count, 1);
    assert_non_null(
        strstr(arch.notes[0], "model_type \"qwen9_moe\" is not known: read as qwen3_moe"));
    arch_free(&arch);
}

// Dense experts of Arctic beside a Mixtral: the same fields, very different sizes.
static void test_arch_refuses_fields_that_fit_unlike_families(void **state) {
    (void)state;
    static const char config[] =
        "{\"num_hidden_layers\": 2, \"hidden_size\": 64, \"vocab_size\": 256, "
        "\"max_position_embeddings\": 1024, \"num_attention_heads\": 8, \"num_key_value_heads\": "
        "2, "
        "\"intermediate_size\": 32, \"num_local_experts\": 8, \"num_experts_per_tok\": 2}";
    Arch arch = {0};
    Err err = {0};
    const ArchInput input = {.name = "new", .bytes = config, .count = sizeof config - 1};
    assert_false(arch_parse(&input, &arch, &err));
    assert_non_null(strstr(err.text, "new:1:1: no model_type, and the fields fit families that "
                                     "count differently ("));
    assert_non_null(strstr(err.text, "mixtral"));
    assert_non_null(strstr(err.text, "arctic"));
}

// What fits no family names the field, and the family that comes nearest.
static void test_arch_names_the_field_that_no_family_knows(void **state) {
    (void)state;
    char config[sizeof qwen_like + 64];
    Arch arch = {0};
    Err err = {0};
    snprintf(config, sizeof config, "%.*s, \"attention_waves\": 3}", (int)sizeof qwen_like - 2,
             qwen_like);
    const ArchInput input = {.name = "new", .bytes = config, .count = strlen(config)};
    check_fails(
        arch_parse(&input, &arch, &err), &err,
        "new:1:385: attention_waves: unknown field of qwen3_moe, which may change the cost; "
        "go on without it by --assume attention_waves=ignored (model_type \"qwen9_moe\" is "
        "not known; read as qwen3_moe, the nearest family)");
}

// The names of all published configs, from the list of their sources.
static bool next_config(char **rest, char *path, size_t size) {
    char *line = *rest;
    if (*line == '\0') return false;
    size_t length = strcspn(line, "\n"), name = strcspn(line, "\t\n");
    *rest = line + length + (line[length] == '\n');
    snprintf(path, size, "models/%.*s", (int)name, line);
    return true;
}

static bool is_config(const char *path) {
    size_t length = strlen(path);
    return length > 5 && strcmp(path + length - 5, ".json") == 0 &&
           strstr(path, "hf_quant_config") == NULL && strstr(path, "index/") == NULL;
}

// 116 published configs: at most 3 may be refused, each with one line that names one field.
static void test_arch_reads_published_configs(void **state) {
    (void)state;
    Arena arena = {0};
    Err err = {0};
    char *rest, path[512];
    size_t count;
    uint32_t read = 0, refused = 0;
    check_ok(file_read(check_shared("models/SOURCES.tsv"), FILE_CAP_B, &arena, &rest, &count, &err),
             &err);
    while (next_config(&rest, path, sizeof path)) {
        if (!is_config(path)) continue;
        Arch arch = {0};
        Err reason = {0};
        if (arch_load(check_shared(path), NULL, 0, &arch, &reason)) {
            check_ok(arch_check(&arch, &err), &err);
            read++;
        } else {
            print_message("refused %s\n", reason.text);
            assert_non_null(strstr(reason.text, "--assume "));
            refused++;
        }
        arch_free(&arch);
    }
    assert_int_equal(read + refused, 116);
    assert_true(refused <= 3);
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arch_reads_a_new_model_type_by_its_fields),
        cmocka_unit_test(test_arch_refuses_fields_that_fit_unlike_families),
        cmocka_unit_test(test_arch_names_the_field_that_no_family_knows),
        cmocka_unit_test(test_arch_reads_published_configs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
