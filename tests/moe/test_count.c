// The gate of the counts: every figure of tests/golden/counts.csv, exactly, from the shipped
// configs and from the published ones.
//
// Lines are CONFIG,SHIPPED,FIGURE,VALUE,SOURCE: CONFIG is a file of shared/models, SHIPPED the
// config of scenarios/models with the same counts, or empty.
#include "tests/check.h"

#include "model/base/text.h"
#include "model/moe/arch.h"
#include "model/moe/count.h"

typedef struct Line {
    const char *config, *shipped, *figure;
    uint64_t value;
} Line;

typedef struct Golden {
    Arena arena;
    Line *lines;
    uint32_t count;
} Golden;

static char *next_cell(char **rest) {
    char *cell = *rest;
    char *end = cell + strcspn(cell, ",\n");
    *rest = end + (*end != '\0');
    *end = '\0';
    return cell;
}

static void read_golden(Golden *golden) {
    Err err = {0};
    char *text;
    size_t count;
    check_ok(file_read("tests/golden/counts.csv", FILE_CAP_B, &golden->arena, &text, &count, &err),
             &err);
    golden->lines = arena_alloc(&golden->arena, count / 4, sizeof(Line));
    char *rest = strchr(text, '\n') + 1;
    while (*rest != '\0') {
        Line *line = &golden->lines[golden->count++];
        line->config = next_cell(&rest);
        line->shipped = next_cell(&rest);
        line->figure = next_cell(&rest);
        assert_true(text_parse_u64(next_cell(&rest), &line->value));
        rest += strcspn(rest, "\n");
        rest += *rest == '\n';
    }
    assert_true(golden->count > 100);
}

static uint64_t figure_of(const Arch *arch, const char *name) {
    const ArchTotals *totals = &arch->totals;
    const struct {
        const char *name;
        uint64_t value;
    } figures[] = {
        {"parameters", totals->parameters},
        {"active_parameters", totals->active_all},
        {"one_vocab_table", totals->one_vocab_table},
        {"mtp_parameters", totals->mtp_parameters},
        {"mtp_parameters_on_disk", totals->mtp_on_disk},
        {"mtp_parameters_with_tables",
         totals->mtp_parameters + arch->draft_table_copies * totals->one_vocab_table},
        {"parameters_with_mtp", totals->parameters + totals->mtp_on_disk},
        {"vision_parameters", totals->vision_parameters},
        {"tensors", totals->tensors},
        {"checkpoint_B", totals->checkpoint_B},
        {"routed_experts_B", totals->component_B[COMPONENT_ROUTED]},
        {"latent_projections_B", totals->component_B[COMPONENT_LATENT]},
        {"kv_B_per_token", totals->kv_B_per_token},
        {"state_B_per_sequence", totals->state_B_per_sequence},
        {"window_B_per_sequence", totals->window_B_per_sequence},
    };
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++)
        if (strcmp(figures[i].name, name) == 0) return figures[i].value;
    fail_msg("no figure %s", name);
    return 0;
}

// Compares all lines of one config with one file; returns how many differ.
static uint32_t compare(const Golden *golden, uint32_t first, const char *path) {
    Err err = {0};
    Arch arch = {0};
    uint32_t wrong = 0;
    check_ok(arch_load(path, NULL, 0, &arch, &err), &err);
    check_ok(arch_check(&arch, &err), &err);
    for (uint32_t i = first; i < golden->count; i++) {
        const Line *line = &golden->lines[i];
        if (strcmp(line->config, golden->lines[first].config) != 0) break;
        uint64_t got = figure_of(&arch, line->figure);
        if (got == line->value) continue;
        print_error("%s: %s is %llu, expected %llu\n", path, line->figure, (unsigned long long)got,
                    (unsigned long long)line->value);
        wrong++;
    }
    arch_free(&arch);
    return wrong;
}

static bool begins_config(const Golden *golden, uint32_t i) {
    return i == 0 || strcmp(golden->lines[i - 1].config, golden->lines[i].config) != 0;
}

static void test_count_of_shipped_configs(void **state) {
    (void)state;
    Golden golden = {0};
    uint32_t wrong = 0, configs = 0;
    read_golden(&golden);
    for (uint32_t i = 0; i < golden.count; i++) {
        if (!begins_config(&golden, i) || *golden.lines[i].shipped == '\0') continue;
        char path[512];
        snprintf(path, sizeof path, "scenarios/models/%s.json", golden.lines[i].shipped);
        wrong += compare(&golden, i, path);
        configs++;
    }
    assert_int_equal(wrong, 0);
    assert_int_equal(configs, 49);
    arena_free(&golden.arena);
}

static void test_count_of_published_configs(void **state) {
    (void)state;
    Golden golden = {0};
    uint32_t wrong = 0;
    check_shared("models/SOURCES.tsv");
    read_golden(&golden);
    for (uint32_t i = 0; i < golden.count; i++) {
        if (!begins_config(&golden, i)) continue;
        char path[512];
        snprintf(path, sizeof path, "models/%s.json", golden.lines[i].config);
        wrong += compare(&golden, i, check_shared(path));
    }
    assert_int_equal(wrong, 0);
    arena_free(&golden.arena);
}

// A token meets 8 of 256 experts in each of DeepSeek-V3's 58 layers with experts: the other 248
// experts of 3 matrices of 7168 x 2048 each are what active leaves out, and a vocabulary table has
// 129280 x 7168.
static void test_count_active_conventions(void **state) {
    (void)state;
    Err err = {0};
    Arch arch = {0};
    check_ok(arch_load("scenarios/models/deepseek-v3.json", NULL, 0, &arch, &err), &err);
    uint64_t idle = UINT64_C(58) * 248 * 3 * 7168 * 2048, table = UINT64_C(129280) * 7168;
    assert_int_equal(count_active(&arch, COUNT_ACTIVE_ALL), arch.totals.parameters - idle);
    assert_int_equal(count_active(&arch, COUNT_ACTIVE_NO_INPUT),
                     count_active(&arch, COUNT_ACTIVE_ALL) - table);
    assert_int_equal(count_active(&arch, COUNT_ACTIVE_NO_TABLES),
                     count_active(&arch, COUNT_ACTIVE_ALL) - 2 * table);
    arch_free(&arch);
}

// One table for input and output: without the input embedding is the same, without both is one
// table less.
static void test_count_active_of_tied_tables(void **state) {
    (void)state;
    static const char config[] =
        "{\"model_type\": \"qwen3\", \"num_hidden_layers\": 1, \"hidden_size\": 8,"
        " \"vocab_size\": 100, \"max_position_embeddings\": 64, \"torch_dtype\": \"bfloat16\","
        " \"tie_word_embeddings\": true, \"num_attention_heads\": 2, \"head_dim\": 4,"
        " \"intermediate_size\": 16}";
    Err err = {0};
    Arch arch = {0};
    check_ok(arch_parse(&(ArchInput){.name = "tied", .bytes = config, .count = sizeof config - 1},
                        &arch, &err),
             &err);
    // q, k, v, o of 8 x 8, two head norms of 4, three matrices of 8 x 16, three norms of 8, one
    // table
    assert_int_equal(arch.totals.parameters, 4 * 64 + 2 * 4 + 3 * 128 + 3 * 8 + 800);
    assert_int_equal(count_active(&arch, COUNT_ACTIVE_NO_INPUT), arch.totals.parameters);
    assert_int_equal(count_active(&arch, COUNT_ACTIVE_NO_TABLES), arch.totals.parameters - 800);
    arch_free(&arch);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_count_of_shipped_configs),
        cmocka_unit_test(test_count_of_published_configs),
        cmocka_unit_test(test_count_active_conventions),
        cmocka_unit_test(test_count_active_of_tied_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
