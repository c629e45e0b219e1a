// Worked examples: what the shipped models weigh and cache, and what each bad config is told.
#include "tests/check.h"

#include <stdlib.h>

#include "model/moe/arch.h"
#include "model/moe/count.h"

static void load(const char *name, Arch *out) {
    Err err = {0};
    char path[256];
    snprintf(path, sizeof path, "scenarios/models/%s.json", name);
    check_ok(arch_load(path, NULL, 0, out, &err), &err);
    check_ok(arch_check(out, &err), &err);
}

static const AttentionSpec *attention_of(const Arch *arch, AttentionKind kind) {
    for (uint32_t i = 0; i < arch->attention_count; i++)
        if (arch->attentions[i].kind == kind) return &arch->attentions[i];
    fail_msg("no such attention");
    abort(); // fail_msg does not come back
}

// Sums over the tensors that belong to layers of one kind, one layer of it.
static uint64_t layer_B(const Arch *arch, uint32_t kind) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < arch->tensor_count; i++)
        if (arch->tensors[i].layer_kind == kind)
            sum += arch->tensors[i].bytes * arch->tensors[i].per_layer;
    return sum;
}

static uint64_t elements_of_type(const Arch *arch, const char *type) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < arch->tensor_count; i++) {
        const TensorClass *class = &arch->tensors[i];
        if (strcmp(class->type, type) == 0)
            sum += class->bytes * 8 / class->element_bits * count_tensors(arch, class);
    }
    return sum;
}

// ---- Caches

// The latent of DeepSeek-V3 has 512 values and 64 of rope, for all heads together, in 61 layers: in
// BF16 61 x 576 x 2 bytes.
static void test_arch_kv_of_deepseek_v3(void **state) {
    (void)state;
    Arch arch = {0};
    load("deepseek-v3", &arch);
    assert_int_equal(arch_kv_B_per_token(&arch, NUMFMT_BF16), 61 * 576 * 2);
    assert_int_equal(arch.totals.kv_B_per_token, 70272);
    assert_int_equal(arch_kv_B_per_token(&arch, NUMFMT_FP8), 61 * 576);
    assert_int_equal(arch.totals.state_B_per_sequence, 0);
    // packed: 512 of FP8, four F32 scales (one per 128), 64 of BF16
    assert_int_equal(arch.attentions[0].kv_packed_B_per_token, 512 + 4 * 4 + 64 * 2);
    arch_free(&arch);
}

// Qwen3-235B keeps keys and values of 4 heads of 128 in 94 layers.
static void test_arch_kv_of_qwen3_235b(void **state) {
    (void)state;
    Arch arch = {0};
    load("qwen3-235b-a22b", &arch);
    assert_int_equal(arch.totals.kv_B_per_token, 94 * 2 * 4 * 128 * 2);
    arch_free(&arch);
}

// Kimi-K3: 24 of 93 layers cache a latent. The other 69 keep, whatever the context, 96 heads of 128
// x 128 in F32 and the last 3 inputs of three convolutions over 12288 channels in BF16.
static void test_arch_cache_and_state_of_kimi_k3(void **state) {
    (void)state;
    Arch arch = {0};
    load("kimi-k3", &arch);
    assert_int_equal(arch.totals.kv_B_per_token, 24 * 576 * 2);
    uint64_t per_layer = 96 * 128 * 128 * 4 + 3 * 12288 * 3 * 2;
    assert_int_equal(attention_of(&arch, ATTENTION_KDA)->state_B_per_sequence, per_layer);
    assert_int_equal(arch.totals.state_B_per_sequence, 69 * per_layer);
    arch_free(&arch);
}

// ---- Structure

static void test_arch_structure_of_kimi_k3(void **state) {
    (void)state;
    Arch arch = {0};
    load("kimi-k3", &arch);
    assert_int_equal(arch.layers, 93);
    assert_int_equal(arch.kind_count, 3); // the dense one, 68 with KDA, 24 with MLA
    assert_int_equal(arch.kinds[0].count, 1);
    assert_int_equal(arch.kinds[1].count, 68);
    assert_int_equal(arch.kinds[2].count, 24);
    assert_int_equal(arch.kind_of_layer[3], 2); // lists count from 1: layer 4 is full attention
    assert_int_equal(arch.kind_of_layer[92], 2);
    const AttentionSpec *mla = attention_of(&arch, ATTENTION_MLA);
    assert_int_equal(mla->heads, 96);
    assert_int_equal(mla->head_dim, 128 + 64);
    assert_true(mla->output_gate);
    const MlpSpec *mlp = &arch.mlps[arch.kinds[1].mlp];
    assert_int_equal(mlp->experts, 896);
    assert_int_equal(mlp->top_k, 16);
    assert_int_equal(mlp->latent, 3584);
    assert_int_equal(mlp->shared_width, 2 * 3072);
    assert_int_equal(arch.expert_format, NUMFMT_FP4);
    assert_int_equal(arch.dense_format, NUMFMT_BF16);
    assert_int_equal(arch.note_count, 0);
    arch_free(&arch);
}

static void test_arch_structure_of_deepseek_v3(void **state) {
    (void)state;
    Arch arch = {0};
    load("deepseek-v3", &arch);
    assert_int_equal(arch.kind_count, 2);
    assert_int_equal(arch.kinds[0].count, 3);
    assert_int_equal(arch.kinds[1].count, 58);
    assert_int_equal(arch.attentions[0].q_lora, 1536);
    assert_int_equal(arch.mlps[arch.kinds[0].mlp].experts, 0);
    assert_int_equal(arch.mlps[arch.kinds[0].mlp].width, 18432);
    assert_int_equal(arch_most_experts(&arch), 256); // 3 layers have none, 58 have 256
    assert_int_equal(arch_most_experts(&(Arch){0}), 0);
    assert_int_equal(arch.mlps[arch.kinds[1].mlp].groups, 8);
    assert_int_equal(arch.mlps[arch.kinds[1].mlp].top_groups, 4);
    assert_int_equal(arch.expert_format, NUMFMT_FP8);
    assert_int_equal(arch.dense_format, NUMFMT_FP8);
    arch_free(&arch);
}

// ---- Checkpoints. Figures: a header census of the published files (truth/checkpoints.csv, by
// row).

static void test_arch_bytes_of_kimi_k3(void **state) {
    (void)state;
    Arch arch = {0};
    load("kimi-k3", &arch);
    assert_int_equal(layer_B(&arch, 0), UINT64_C(2341213184));  // C005: dense and KDA
    assert_int_equal(layer_B(&arch, 1), UINT64_C(16990092800)); // C006: experts and KDA
    uint64_t f32_B = 0, router_B = 0, projector_B = 0;
    for (uint32_t i = 0; i < arch.tensor_count; i++) {
        const TensorClass *class = &arch.tensors[i];
        uint64_t B = class->bytes * count_tensors(&arch, class);
        bool is_f32 = strcmp(class->type, "F32") == 0;
        if (class->component == COMPONENT_ATTENTION && is_f32) f32_B += B;
        if (class->component == COMPONENT_ROUTER && !is_f32) router_B += B;
        if (strncmp(class->pattern, "mm_projector.", 13) == 0) projector_B += B;
    }
    assert_int_equal(f32_B, 44160000);                // C012: A_log is padded from 96 to 128
    assert_int_equal(router_B, UINT64_C(1181745152)); // C013
    assert_int_equal(projector_B, 92289024);          // C015
    // C008: 82,432 experts of 17,547,264 B: three matrices of 3072 x 3584 at 17/32 B per weight
    assert_int_equal(arch.totals.component_B[COMPONENT_ROUTED],
                     UINT64_C(92) * 896 * (3 * 3072 * 3584 / 32 * 17));
    arch_free(&arch);
}

// C016: the page of the published checkpoint counts stored elements by type, 4-bit codes as
// weights.
static void test_arch_elements_of_kimi_k3(void **state) {
    (void)state;
    Arch arch = {0};
    load("kimi-k3", &arch);
    assert_int_equal(elements_of_type(&arch, "F32"), 11122432);
    assert_int_equal(elements_of_type(&arch, "BF16"), UINT64_C(57179884544));
    assert_int_equal(arch.totals.component_parameters[COMPONENT_ROUTED], UINT64_C(2722740830208));
    arch_free(&arch);
}

// C029 counts main model, draft layer with its copies of the tables, and the F32 scales; C031 the
// same without scales.
static void test_arch_elements_of_deepseek_v3(void **state) {
    (void)state;
    Arch arch = {0};
    load("deepseek-v3", &arch);
    uint64_t weights = arch.totals.parameters + arch.totals.mtp_on_disk, scales = 0;
    for (uint32_t i = 0; i < arch.tensor_count; i++)
        if (arch.tensors[i].is_scale)
            scales += arch.tensors[i].bytes / 4 * count_tensors(&arch, &arch.tensors[i]);
    assert_int_equal(weights, UINT64_C(684489845504));
    assert_int_equal(weights + scales, UINT64_C(684531386000));
    arch_free(&arch);
}

// C045: 1,824,768 scales in BF16 beside 30,532,122,624 weights.
static void test_arch_scales_of_qwen3_30b_fp8(void **state) {
    (void)state;
    Arch arch = {0};
    load("qwen3-30b-a3b-fp8", &arch);
    uint64_t scales = 0;
    for (uint32_t i = 0; i < arch.tensor_count; i++)
        if (arch.tensors[i].is_scale)
            scales += arch.tensors[i].bytes / 2 * count_tensors(&arch, &arch.tensors[i]);
    assert_int_equal(scales, 1824768);
    assert_int_equal(arch.totals.parameters + scales, UINT64_C(30533947392));
    arch_free(&arch);
}

// ---- Assumptions

static void test_arch_assumption_fills_a_gap(void **state) {
    (void)state;
    Err err = {0};
    Arch arch = {0};
    const ArchAssumption two = {"num_experts_per_tok", "2"};
    check_ok(arch_load("tests/bad/model-missing-field.json", &two, 1, &arch, &err), &err);
    assert_int_equal(arch.mlps[0].top_k, 2);
    assert_int_equal(arch.note_count, 1);
    assert_string_equal(arch.notes[0], "num_experts_per_tok: taken as 2 (--assume)");
    arch_free(&arch);
}

static void test_arch_assumption_replaces_a_field(void **state) {
    (void)state;
    Err err = {0};
    Arch arch = {0};
    const ArchAssumption longer = {"text_config.max_position_embeddings", "2097152"};
    check_ok(arch_load("scenarios/models/kimi-k3.json", &longer, 1, &arch, &err), &err);
    assert_int_equal(arch.max_context, 2097152);
    arch_free(&arch);
}

static void test_arch_assumption_passes_over_an_unknown_field(void **state) {
    (void)state;
    Err err = {0};
    Arch arch = {0};
    const ArchAssumption ignored = {"sparse_attention_window", "ignored"};
    check_ok(arch_load("tests/bad/model-unknown-field.json", &ignored, 1, &arch, &err), &err);
    assert_string_equal(arch.notes[0], "sparse_attention_window: left out (--assume)");
    arch_free(&arch);
}

static void test_arch_assumptions_that_fail(void **state) {
    (void)state;
    const struct {
        ArchAssumption assumption;
        const char *message;
    } cases[] = {
        {{"hidden_size", "wide"},
         "--assume hidden_size=wide: expected a whole number, found \"wide\""},
        {{"num_hidden_layers", "0"}, "--assume num_hidden_layers=0: expected 1 to 10000, found 0"},
        {{"torch_dtype", "int8"},
         "--assume torch_dtype=int8: expected bfloat16|float16|float32, found \"int8\""},
        {{"tie_word_embeddings", "maybe"},
         "--assume tie_word_embeddings=maybe: expected true or false, found \"maybe\""},
        {{"hiden_size", "64"},
         "--assume \"hiden_size\": no such field in scenarios/models/deepseek-v3.json, and its "
         "family has no use for one, did you mean \"hidden_size\"?"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Err err = {0};
        Arch arch = {0};
        check_fails(
            arch_load("scenarios/models/deepseek-v3.json", &cases[i].assumption, 1, &arch, &err),
            &err, cases[i].message);
    }
}

static void test_arch_assumption_names_the_family(void **state) {
    (void)state;
    Err err = {0};
    Arch arch = {0};
    check_ok(arch_load_assuming("tests/bad/model-no-architecture.json",
                                "model_type=qwen3_moe,tie_word_embeddings=true", &arch, &err),
             &err);
    assert_string_equal(arch.family, "qwen3_moe");
    assert_string_equal(arch.notes[0], "model_type: taken as qwen3_moe (--assume)");
    assert_true(arch.tied_embeddings);
    assert_int_equal(arch.totals.component_B[COMPONENT_HEAD], 0);
    arch_free(&arch);
}

static void test_arch_splits_assumptions(void **state) {
    (void)state;
    Err err = {0};
    Arena arena = {0};
    ArchAssumption list[ARCH_ASSUMPTIONS_MAX];
    uint32_t count = 0;
    check_ok(arch_split_assumptions("a=1,b.c=x=y", &arena, list, &count, &err), &err);
    assert_int_equal(count, 2);
    assert_string_equal(list[0].field, "a");
    assert_string_equal(list[0].value, "1");
    assert_string_equal(list[1].field, "b.c");
    assert_string_equal(list[1].value, "x=y");
    check_fails(arch_split_assumptions("a=1,b=2,a=1", &arena, list, &count, &err), &err,
                "--assume: \"a\" is given twice");
    check_fails(arch_split_assumptions("a=1,b", &arena, list, &count, &err), &err,
                "--assume: expected FIELD=VALUE, found \"b\"");
    arena_free(&arena);
}

// ---- Identity

static void test_arch_digest_follows_the_structure(void **state) {
    (void)state;
    Err err = {0};
    Arch v3 = {0}, r1 = {0}, longer = {0};
    const ArchAssumption context = {"max_position_embeddings", "4096"};
    load("deepseek-v3", &v3);
    load("deepseek-r1", &r1);
    check_ok(arch_load("scenarios/models/deepseek-v3.json", &context, 1, &longer, &err), &err);
    assert_true(v3.digest == r1.digest); // the same shapes under another name
    assert_true(v3.digest != longer.digest);
    assert_string_equal(v3.name, "deepseek-v3");
    assert_string_equal(v3.family, "deepseek_v3");
    arch_free(&v3);
    arch_free(&r1);
    arch_free(&longer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arch_kv_of_deepseek_v3),
        cmocka_unit_test(test_arch_kv_of_qwen3_235b),
        cmocka_unit_test(test_arch_cache_and_state_of_kimi_k3),
        cmocka_unit_test(test_arch_structure_of_kimi_k3),
        cmocka_unit_test(test_arch_structure_of_deepseek_v3),
        cmocka_unit_test(test_arch_bytes_of_kimi_k3),
        cmocka_unit_test(test_arch_elements_of_kimi_k3),
        cmocka_unit_test(test_arch_elements_of_deepseek_v3),
        cmocka_unit_test(test_arch_scales_of_qwen3_30b_fp8),
        cmocka_unit_test(test_arch_assumption_fills_a_gap),
        cmocka_unit_test(test_arch_assumption_replaces_a_field),
        cmocka_unit_test(test_arch_assumption_passes_over_an_unknown_field),
        cmocka_unit_test(test_arch_assumptions_that_fail),
        cmocka_unit_test(test_arch_assumption_names_the_family),
        cmocka_unit_test(test_arch_splits_assumptions),
        cmocka_unit_test(test_arch_digest_follows_the_structure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
