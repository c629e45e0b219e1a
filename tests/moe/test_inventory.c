// The tensors of a model one by one, and its classes against published templates.
#include "tests/check.h"

#include "model/base/text.h"
#include "model/moe/inventory.h"
#include "model/moe/name_map.h"

static const char small[] =
    "{\"model_type\": \"mixtral\", \"architectures\": [\"MixtralForCausalLM\"], "
    "\"hidden_size\": 64, \"num_hidden_layers\": 2, \"num_attention_heads\": 4, "
    "\"num_key_value_heads\": 2, \"intermediate_size\": 128, \"num_local_experts\": 3, "
    "\"num_experts_per_tok\": 2, \"vocab_size\": 256, \"max_position_embeddings\": 1024, "
    "\"hidden_act\": \"silu\", \"torch_dtype\": \"bfloat16\", \"tie_word_embeddings\": false}";

static void load_small(Arch *out) {
    Err err = {0};
    ArchInput input = {.name = "small", .bytes = small, .count = sizeof small - 1};
    check_ok(arch_parse(&input, out, &err), &err);
}

// Two layers with attention (4 matrices), two norms, a router and 3 experts of 3 matrices: 16 each.
// Three tensors stand before them: tables and norm.
static void test_inventory_walks_layer_by_layer(void **state) {
    (void)state;
    Arch arch = {0};
    load_small(&arch);
    Inventory inventory = {.arch = &arch};
    InventoryTensor tensor;
    Text names = {0};
    uint32_t count = 0;
    for (; inventory_next(&inventory, &tensor); count++) {
        bool has_expert = strstr(tensor.name, "experts") != NULL;
        assert_int_equal(tensor.member == INVENTORY_NONE, !has_expert);
        assert_int_equal(tensor.layer, count < 3 ? INVENTORY_NONE : (count - 3) / 16);
        if (has_expert && strstr(tensor.name, "w2") != NULL)
            text_addf(&names, "%u %u %s\n", tensor.layer, tensor.member, tensor.name);
    }
    assert_int_equal(count, 3 + 2 * 16);
    assert_false(inventory_next(&inventory, &tensor)); // stays at the end
    check_text_equals(text_string(&names),
                      "0 0 model.layers.0.block_sparse_moe.experts.0.w2.weight\n"
                      "0 1 model.layers.0.block_sparse_moe.experts.1.w2.weight\n"
                      "0 2 model.layers.0.block_sparse_moe.experts.2.w2.weight\n"
                      "1 0 model.layers.1.block_sparse_moe.experts.0.w2.weight\n"
                      "1 1 model.layers.1.block_sparse_moe.experts.1.w2.weight\n"
                      "1 2 model.layers.1.block_sparse_moe.experts.2.w2.weight\n");
    text_free(&names);
    arch_free(&arch);
}

static void test_inventory_names(void **state) {
    (void)state;
    TensorClass class = {.pattern = "layers.{L}.experts.{E}.w{x.weight", .per_layer = 2};
    char name[INVENTORY_NAME_MAX];
    inventory_name(&class, 4294967295, 10, name);
    assert_string_equal(name, "layers.4294967295.experts.10.w{x.weight");
    Arena arena = {0};
    char *longest = arena_alloc(&arena, 2 * INVENTORY_NAME_MAX + 1, 1);
    memset(longest, 'x', 2 * INVENTORY_NAME_MAX);
    class.pattern = longest; // cut, never written past
    inventory_name(&class, 0, 0, name);
    assert_int_equal(strlen(name), INVENTORY_NAME_MAX - 1);
    arena_free(&arena);
}

// As many tensors and bytes as the totals say, and no name twice.
static void test_inventory_of_shipped_models(void **state) {
    (void)state;
    Arena arena = {0};
    const char **models;
    uint32_t model_count = file_shipped("scenarios/models", &arena, &models);
    assert_true(model_count > 0);
    for (uint32_t m = 0; m < model_count; m++) {
        Arch arch = {0};
        Err err = {0};
        Arena names = {0};
        NamePool pool = {.arena = &names};
        InventoryTensor tensor;
        check_ok(arch_load(models[m], NULL, 0, &arch, &err), &err);
        Inventory inventory = {.arch = &arch};
        const char **all = arena_alloc(&names, arch.totals.tensors, sizeof *all);
        uint64_t bytes = 0;
        uint32_t count = 0;
        while (inventory_next(&inventory, &tensor)) {
            assert_true(count < arch.totals.tensors);
            size_t size = strlen(tensor.name) + 1;
            char *copy = name_map_room(&pool, size);
            memcpy(copy, tensor.name, size);
            name_map_keep(&pool, size);
            all[count++] = copy;
            bytes += tensor.class->bytes;
        }
        NameMap map;
        name_map_build(all, count, &names, &map);
        if (count != arch.totals.tensors || bytes != arch.totals.checkpoint_B ||
            name_map_repeated(&map) != NAME_NONE)
            fail_msg("%s: %u tensors, %llu bytes", models[m], count, (unsigned long long)bytes);
        arena_free(&names);
        arch_free(&arch);
    }
    arena_free(&arena);
}

// Templates: pattern, dtype, shape, count and bytes of all tensors of a pattern; count and bytes
// may be empty. Numbers in {} are those of a layer, an expert, a block or a draft layer.

#define ROWS_MAX 128

typedef struct Row {
    char pattern[160], type[16], shape[40], count[24], bytes[24];
    uint64_t found, found_B;
} Row;

static bool matches(const char *pattern, const char *name) {
    while (*pattern != '\0' && *pattern != '(') {
        if (*pattern == '{') {
            size_t digits = strspn(name, "0123456789");
            if (digits == 0) return false;
            name += digits;
            pattern += 3;
        } else if (*pattern++ != *name++) {
            return false;
        }
    }
    return *pattern == '(' || *name == '\0'; // "(words)" describe the rest of the name
}

static void write_shape(const TensorClass *class, Text *out) {
    for (uint32_t i = 0; i < class->dim_count; i++)
        text_addf(out, "%s%u", i == 0 ? "" : "x", class->dims[i]);
}

static bool take_class(const Arch *arch, const TensorClass *class, Row *rows, uint32_t count) {
    char name[INVENTORY_NAME_MAX];
    Text shape = {0};
    bool found = false;
    uint32_t kind = class->layer_kind;
    uint64_t tensors =
        class->per_layer * (uint64_t)(kind == UINT32_MAX ? 1 : arch->kinds[kind].count);
    inventory_name(class, 0, 0, name);
    write_shape(class, &shape);
    for (uint32_t i = 0; !found && i < count; i++) {
        found = matches(rows[i].pattern, name) && strcmp(rows[i].type, class->type) == 0 &&
                strcmp(rows[i].shape, text_string(&shape)) == 0;
        if (!found) continue;
        rows[i].found += tensors;
        rows[i].found_B += tensors * class->bytes;
    }
    if (!found)
        print_error("%s %s %s: not in the templates\n", name, class->type, text_string(&shape));
    text_free(&shape);
    return found;
}

static bool check_row(const Row *row) {
    uint64_t want;
    bool good = row->found > 0 && (!text_parse_u64(row->count, &want) || row->found == want) &&
                (!text_parse_u64(row->bytes, &want) || row->found_B == want);
    if (!good)
        print_error("%s %s: %llu tensors, %llu bytes, expected %s and %s\n", row->pattern,
                    row->shape, (unsigned long long)row->found, (unsigned long long)row->found_B,
                    row->count, row->bytes);
    return good;
}

static uint32_t read_rows(const char *path, Row *rows) {
    char line[512];
    uint32_t count = 0;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        if (line[0] == '#' || strncmp(line, "pattern\t", 8) == 0) continue;
        Row *row = &rows[count++];
        assert_true(count < ROWS_MAX);
        memset(row, 0, sizeof *row);
        char *fields[] = {row->pattern, row->type, row->shape, row->count, row->bytes};
        const size_t sizes[] = {sizeof row->pattern, sizeof row->type, sizeof row->shape,
                                sizeof row->count, sizeof row->bytes};
        const char *at = line;
        for (uint32_t i = 0; i < 5; i++) {
            size_t length = strcspn(at, "\t\n");
            snprintf(fields[i], sizes[i], "%.*s", (int)length, at);
            at += length + (at[length] == '\t');
        }
    }
    fclose(file);
    return count;
}

static void check_templates(const char *model, const char *test) {
    char config[256], templates[256];
    Err err = {0};
    Arch arch = {0};
    bool good = true;
    snprintf(config, sizeof config, "models/%s.json", model);
    snprintf(templates, sizeof templates, "models/index/%s.tensor_templates.tsv", model);
    (void)check_shared_at(templates, test); // a skip ends the test: before anything is held
    check_ok(arch_load(check_shared_at(config, test), NULL, 0, &arch, &err), &err);
    Row *rows = calloc(ROWS_MAX, sizeof *rows);
    assert_non_null(rows);
    uint32_t count = read_rows(check_shared_at(templates, test), rows);
    for (uint32_t i = 0; i < arch.tensor_count; i++)
        good = take_class(&arch, &arch.tensors[i], rows, count) && good;
    for (uint32_t i = 0; i < count; i++) good = check_row(&rows[i]) && good;
    free(rows);
    arch_free(&arch);
    assert_true(good);
}

static void test_inventory_templates_of_deepseek_v3(void **state) {
    (void)state;
    check_templates("deepseek-ai--DeepSeek-V3", __func__);
}

static void test_inventory_templates_of_kimi_k3(void **state) {
    (void)state;
    check_templates("moonshotai--Kimi-K3", __func__);
}

static void test_inventory_templates_of_deepseek_v4_flash(void **state) {
    (void)state;
    check_templates("deepseek-ai--DeepSeek-V4-Flash", __func__);
}

static void test_inventory_templates_of_deepseek_v4_pro(void **state) {
    (void)state;
    check_templates("deepseek-ai--DeepSeek-V4-Pro", __func__);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inventory_walks_layer_by_layer),
        cmocka_unit_test(test_inventory_names),
        cmocka_unit_test(test_inventory_of_shipped_models),
        cmocka_unit_test(test_inventory_templates_of_deepseek_v3),
        cmocka_unit_test(test_inventory_templates_of_kimi_k3),
        cmocka_unit_test(test_inventory_templates_of_deepseek_v4_flash),
        cmocka_unit_test(test_inventory_templates_of_deepseek_v4_pro),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
