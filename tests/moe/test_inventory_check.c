// The tensors of a model against checkpoints: made ones, each with one thing wrong, and the index
// files of published ones.
#include "tests/check.h"

#include "model/base/text.h"
#include "model/moe/inventory.h"
#include "model/moe/inventory_check.h"
#include "tests/moe/st_make.h"

// 2 layers, 3 experts: 3 + 2 x (4 + 2 + 1 + 3 x 3) = 35 tensors.
static const char small[] =
    "{\"model_type\": \"mixtral\", \"architectures\": [\"MixtralForCausalLM\"], "
    "\"hidden_size\": 64, \"num_hidden_layers\": 2, \"num_attention_heads\": 4, "
    "\"num_key_value_heads\": 2, \"intermediate_size\": 128, \"num_local_experts\": 3, "
    "\"num_experts_per_tok\": 2, \"vocab_size\": 256, \"max_position_embeddings\": 1024, "
    "\"hidden_act\": \"silu\", \"torch_dtype\": \"bfloat16\", \"tie_word_embeddings\": false}";
#define SMALL_COUNT 35

#define DOWN   "model.layers.1.block_sparse_moe.experts.2.w2.weight"
#define ROUTER "model.layers.1.block_sparse_moe.gate.weight"

typedef struct Made {
    Arch arch;
    Arena arena;
    StFolder folder;
    StTensor tensors[SMALL_COUNT + 1];
    uint32_t count;
} Made;

static void make(Made *made) {
    Err err = {0};
    ArchInput input = {.name = "small", .bytes = small, .count = sizeof small - 1};
    InventoryTensor tensor;
    *made = (Made){0};
    check_ok(arch_parse(&input, &made->arch, &err), &err);
    Inventory inventory = {.arch = &made->arch};
    while (inventory_next(&inventory, &tensor)) {
        assert_true(made->count < SMALL_COUNT);
        StTensor *out = &made->tensors[made->count++];
        out->name = arena_string(&made->arena, tensor.name);
        out->type = tensor.class->type;
        out->rank = tensor.class->dim_count;
        for (uint32_t d = 0; d < out->rank; d++) out->dims[d] = tensor.class->dims[d];
        out->bytes = tensor.class->bytes;
    }
    assert_int_equal(made->count, SMALL_COUNT);
    st_make_folder(&made->folder);
}

static StTensor *tensor_of(Made *made, const char *name) {
    for (uint32_t i = 0; i < made->count; i++)
        if (strcmp(made->tensors[i].name, name) == 0) return &made->tensors[i];
    fail_msg("no tensor %s", name);
    return made->tensors;
}

// Writes the tensors to two files and compares.
static InventoryCheck run(Made *made, Findings *findings) {
    Checkpoint checkpoint;
    InventoryCheck check;
    Err err = {0};
    st_make_tensors(&made->folder, "1.safetensors", made->tensors, 20);
    st_make_tensors(&made->folder, "2.safetensors", made->tensors + 20, made->count - 20);
    check_ok(checkpoint_open(made->folder.path, &checkpoint, findings, &err), &err);
    check_ok(finding_none(findings, &err), &err);
    inventory_check_run(&made->arch, &checkpoint, findings, &check);
    checkpoint_free(&checkpoint);
    return check;
}

static void end(Made *made, Findings *findings) {
    finding_free(findings);
    arch_free(&made->arch);
    arena_free(&made->arena);
    st_make_remove(&made->folder);
}

static void check_one(const Findings *findings, FindingKind kind, const char *subject,
                      const char *detail) {
    assert_int_equal(finding_total(findings), 1);
    assert_int_equal(findings->counts[kind], 1);
    assert_string_equal(findings->shown[kind][0].subject, subject);
    assert_string_equal(findings->shown[kind][0].detail, detail);
}

static void test_inventory_check_of_a_whole_checkpoint(void **state) {
    (void)state;
    Made made;
    Findings findings = {0};
    make(&made);
    InventoryCheck check = run(&made, &findings);
    assert_int_equal(finding_total(&findings), 0);
    assert_int_equal(check.found, SMALL_COUNT);
    assert_int_equal(check.compared, SMALL_COUNT);
    end(&made, &findings);
}

static void test_inventory_check_missing_and_extra(void **state) {
    (void)state;
    Made made;
    Findings findings = {0};
    make(&made);
    tensor_of(&made, DOWN)->name = "model.layers.1.block_sparse_moe.experts.3.w2.weight";
    InventoryCheck check = run(&made, &findings);
    assert_int_equal(check.found, SMALL_COUNT - 1);
    assert_int_equal(check.missing[COMPONENT_ROUTED], 1);
    assert_int_equal(finding_total(&findings), 2);
    assert_string_equal(findings.shown[FINDING_MISSING][0].subject, DOWN);
    assert_string_equal(findings.shown[FINDING_MISSING][0].detail, "expected BF16 [64, 128]");
    assert_string_equal(findings.shown[FINDING_EXTRA][0].subject,
                        "model.layers.1.block_sparse_moe.experts.3.w2.weight");
    assert_string_equal(findings.shown[FINDING_EXTRA][0].detail, "BF16 [64, 128] in 2.safetensors");
    end(&made, &findings);
}

static void test_inventory_check_swapped_axes(void **state) {
    (void)state;
    Made made;
    Findings findings = {0};
    make(&made);
    StTensor *down = tensor_of(&made, DOWN);
    down->dims[0] = 128;
    down->dims[1] = 64;
    run(&made, &findings);
    check_one(&findings, FINDING_WRONG_SHAPE, DOWN,
              "[128, 64], expected [64, 128]: two axes are swapped");
    end(&made, &findings);
}

// A checkpoint that is divided by two already, as Grok-2's.
static void test_inventory_check_divided_shape(void **state) {
    (void)state;
    Made made;
    Findings findings = {0};
    make(&made);
    StTensor *down = tensor_of(&made, DOWN);
    down->dims[1] = 64;
    down->bytes /= 2;
    run(&made, &findings);
    check_one(&findings, FINDING_WRONG_SHAPE, DOWN, "[64, 64], expected [64, 128]");
    end(&made, &findings);
}

static void test_inventory_check_other_rank(void **state) {
    (void)state;
    Made made;
    Findings findings = {0};
    make(&made);
    tensor_of(&made, ROUTER)->dims[2] = 1;
    tensor_of(&made, ROUTER)->rank = 3;
    run(&made, &findings);
    check_one(&findings, FINDING_WRONG_SHAPE, ROUTER, "[3, 64, 1], expected [3, 64]");
    end(&made, &findings);
}

static void test_inventory_check_wrong_type(void **state) {
    (void)state;
    Made made;
    Findings findings = {0};
    make(&made);
    tensor_of(&made, ROUTER)->type = "F32";
    tensor_of(&made, ROUTER)->bytes *= 2;
    run(&made, &findings);
    check_one(&findings, FINDING_WRONG_TYPE, ROUTER, "F32, expected BF16");
    end(&made, &findings);
}

// All tensors in one file of an index without its files; total_size as given.
static void write_index(const Made *made, uint64_t total_B) {
    Text text = {0};
    text_addf(&text, "{\"metadata\": {\"total_size\": %llu}, \"weight_map\": {",
              (unsigned long long)total_B);
    for (uint32_t i = 0; i < made->count; i++)
        text_addf(&text, "%s\"%s\": \"1.safetensors\"", i == 0 ? "" : ", ", made->tensors[i].name);
    text_add(&text, "}}");
    st_make_bytes(&made->folder, "model.safetensors.index.json", text.data, text.length);
    text_free(&text);
}

static void test_inventory_check_of_an_index_alone(void **state) {
    (void)state;
    Made made;
    Findings findings = {0};
    Checkpoint checkpoint;
    InventoryCheck check;
    Err err = {0};
    make(&made);
    uint64_t bytes = made.arch.totals.checkpoint_B;
    for (uint32_t wrong = 0; wrong < 2; wrong++) {
        write_index(&made, bytes + wrong);
        check_ok(checkpoint_open(made.folder.path, &checkpoint, &findings, &err), &err);
        inventory_check_run(&made.arch, &checkpoint, &findings, &check);
        assert_int_equal(check.found, SMALL_COUNT);
        assert_int_equal(check.compared, 0);
        assert_int_equal(finding_total(&findings), wrong);
        assert_int_equal(findings.counts[FINDING_TOTAL_SIZE], wrong);
        checkpoint_free(&checkpoint);
    }
    end(&made, &findings);
}

// What the index does not name is not loaded: known as such, and not called extra as well.
static void test_inventory_check_counts_unindexed_once(void **state) {
    (void)state;
    Made made;
    Findings findings = {0};
    Checkpoint checkpoint;
    InventoryCheck check;
    Err err = {0};
    make(&made);
    write_index(&made, made.arch.totals.checkpoint_B);
    made.tensors[made.count++] = (StTensor){"other", "U8", {4}, 1, 4};
    st_make_tensors(&made.folder, "1.safetensors", made.tensors, made.count);
    check_ok(checkpoint_open(made.folder.path, &checkpoint, &findings, &err), &err);
    inventory_check_run(&made.arch, &checkpoint, &findings, &check);
    check_one(&findings, FINDING_NOT_IN_INDEX, "other", "1.safetensors has it");
    checkpoint_free(&checkpoint);
    end(&made, &findings);
}

// The index of Kimi-K3 by its own inventory: layer i in file i + 1, tables in 94.
static void test_inventory_check_of_kimi_k3(void **state) {
    (void)state;
    Arch arch = {0};
    Err err = {0};
    Text text = {0};
    InventoryTensor tensor;
    StFolder folder;
    Findings findings = {0};
    Checkpoint checkpoint;
    InventoryCheck check;
    check_ok(arch_load("scenarios/models/kimi-k3.json", NULL, 0, &arch, &err), &err);
    Inventory inventory = {.arch = &arch};
    text_add(&text, "{\"metadata\": {\"total_size\": 1560860324864}, \"weight_map\": {");
    for (uint32_t i = 0; inventory_next(&inventory, &tensor); i++) {
        uint32_t file = tensor.layer == INVENTORY_NONE ? 94 : tensor.layer + 1;
        text_add(&text, i == 0 ? "\n\"" : ",\n\"");
        text_add(&text, tensor.name);
        text_addf(&text, "\": \"model-%05u-of-000096.safetensors\"", file);
    }
    text_add(&text, "}}\n");
    st_make_folder(&folder);
    st_make_bytes(&folder, "model.safetensors.index.json", text.data, text.length);
    text_free(&text);
    check_ok(checkpoint_open(folder.path, &checkpoint, &findings, &err), &err);
    inventory_check_run(&arch, &checkpoint, &findings, &check);
    check_ok(finding_none(&findings, &err), &err);
    assert_int_equal(check.found, 497220);
    assert_int_equal(checkpoint.file_count, 94);
    checkpoint_free(&checkpoint);
    arch_free(&arch);
    st_make_remove(&folder);
}

// Published index files. `expert_layout` is what their names say, NULL where there is no choice.
static void compare_published(const char *model, const char *test, const char *expert_layout,
                              Findings *findings, InventoryCheck *out) {
    char path[256];
    Err err = {0};
    Arch arch = {0};
    Checkpoint checkpoint;
    ArchAssumption layout = {"expert_layout", expert_layout};
    snprintf(path, sizeof path, "models/index/%s.model.safetensors.index.json", model);
    check_ok(checkpoint_open(check_shared_at(path, test), &checkpoint, findings, &err), &err);
    snprintf(path, sizeof path, "models/%s.json", model);
    check_ok(arch_load(check_shared_at(path, test), &layout, expert_layout != NULL, &arch, &err),
             &err);
    inventory_check_run(&arch, &checkpoint, findings, out);
    checkpoint_free(&checkpoint);
    arch_free(&arch);
}

static void test_inventory_check_index_of_wizardlm(void **state) {
    (void)state;
    Findings findings = {0};
    InventoryCheck check;
    Err err = {0};
    compare_published("alpindale--WizardLM-2-8x22B", __func__, NULL, &findings, &check);
    check_ok(finding_none(&findings, &err), &err);
    assert_int_equal(check.found, 1739); // 3 + 56 x (4 + 2 + 1 + 8 x 3)
}

static void test_inventory_check_index_of_minimax_m1(void **state) {
    (void)state;
    Findings findings = {0};
    InventoryCheck check;
    Err err = {0};
    compare_published("MiniMaxAI--MiniMax-M1-80k", __func__, NULL, &findings, &check);
    check_ok(finding_none(&findings, &err), &err);
    assert_int_equal(check.found, 8243);
}

// A pruned Qwen3.5 with one tensor per expert and without draft layers (557 tensors: 180 experts of
// 3 matrices, 17 others). All its 25,091,371,648 numbers have 2 bytes, those too that Qwen3.5 keeps
// in F32: 32 decays and 128 weights of a norm in 30 layers, 9,600 bytes less than the model says.
static void test_inventory_check_index_of_a_pruned_qwen(void **state) {
    (void)state;
    Findings findings = {0};
    InventoryCheck check;
    compare_published("bryce-hoehn--Qwen3.5-25B-REAP-A3B-Coding", __func__, "separate", &findings,
                      &check);
    assert_int_equal(check.found, 22213);
    assert_int_equal(findings.counts[FINDING_EXTRA], 0);
    assert_int_equal(check.missing[COMPONENT_MTP], 557);
    assert_int_equal(findings.counts[FINDING_MISSING], 557);
    assert_int_equal(findings.counts[FINDING_TOTAL_SIZE], 1);
    assert_string_equal(findings.shown[FINDING_TOTAL_SIZE][0].detail,
                        "50182743296 bytes, those of the model that it names have 50182752896");
    finding_free(&findings);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inventory_check_of_a_whole_checkpoint),
        cmocka_unit_test(test_inventory_check_missing_and_extra),
        cmocka_unit_test(test_inventory_check_swapped_axes),
        cmocka_unit_test(test_inventory_check_divided_shape),
        cmocka_unit_test(test_inventory_check_other_rank),
        cmocka_unit_test(test_inventory_check_wrong_type),
        cmocka_unit_test(test_inventory_check_of_an_index_alone),
        cmocka_unit_test(test_inventory_check_counts_unindexed_once),
        cmocka_unit_test(test_inventory_check_of_kimi_k3),
        cmocka_unit_test(test_inventory_check_index_of_wizardlm),
        cmocka_unit_test(test_inventory_check_index_of_minimax_m1),
        cmocka_unit_test(test_inventory_check_index_of_a_pruned_qwen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
