// Quantisation of published configs: all are understood, and modules are stored as their headers
// say.
#include "tests/check.h"

#include <dirent.h>

#include "model/moe/count.h"
#include "model/moe/quant.h"

typedef struct Published {
    Arena arena;
    Reader reader;
    Quant quant;
} Published;

static void close_config(Published *config) {
    reader_close(&config->reader);
    arena_free(&config->arena);
}

static bool ends_with(const char *name, const char *ending) {
    size_t length = strlen(name), tail = strlen(ending);
    return length >= tail && strcmp(name + length - tail, ending) == 0;
}

// Reads the quantisation of one published config, whatever its family; false when it has none.
static bool read_config(const char *folder, const char *name, Published *out) {
    static const Family any = {.fp8_scale_type = "F32"};
    Err err = {0};
    ArchInput input;
    *out = (Published){.arena = {0}};
    const char *path = arena_printf(&out->arena, "%s/%s", folder, name);
    check_ok(arch_read_files(path, &out->arena, &input, &err), &err);
    check_ok(reader_open(&out->reader, &input, &out->arena, &err), &err);
    Reader *reader = &out->reader;
    JsonNode text = json_find(reader->root, "text_config");
    reader->text = json_kind(text) == JSON_OBJECT ? text : reader->root;
    reader->family = &any;
    dim_set(&reader->dims, DIM_LAYERS, 100);
    if (!quant_read(reader, &out->quant, &err)) fail_msg("%s", err.text);
    return out->quant.store_count > 0;
}

// 44 published configs say how they are quantised, three of them in the file beside them, and all
// are understood.
static void test_quant_understands_published_configs(void **state) {
    (void)state;
    const char *folder = check_shared("models");
    DIR *dir = opendir(folder);
    uint32_t quantised = 0;
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        Published config;
        if (!ends_with(entry->d_name, ".json") || ends_with(entry->d_name, "hf_quant_config.json"))
            continue;
        quantised += read_config(folder, entry->d_name, &config);
        close_config(&config);
    }
    closedir(dir);
    assert_int_equal(quantised, 44);
}

// How a module of a published config is stored: the scheme, or "plain".
static const char *stored(Quant *quant, const char *module, Component component,
                          TensorStore store) {
    TensorRow row = {
        .component = component, .store = store, .dims = {DIM_HIDDEN, DIM_HIDDEN, DIM_NONE}};
    const QuantStore *found = quant_store(quant, module, &row);
    return found == NULL ? "plain" : found->scheme->name;
}

static void test_quant_modules_of_published_configs(void **state) {
    (void)state;
    static const struct {
        const char *config, *module;
        Component component;
        const char *scheme;
    } cases[] = {
        {"moonshotai--Kimi-K2.5", "language_model.model.layers.1.mlp.experts.0.up_proj",
         COMPONENT_ROUTED, "int4 groups"},
        {"moonshotai--Kimi-K2.5", "language_model.model.layers.0.mlp.up_proj", COMPONENT_DENSE,
         "plain"},
        {"moonshotai--Kimi-K2.5", "language_model.model.layers.1.mlp.shared_experts.up_proj",
         COMPONENT_SHARED, "plain"},
        {"nvidia--Kimi-K2.6-NVFP4", "language_model.model.layers.0.mlp.up_proj", COMPONENT_DENSE,
         "plain"},
        {"nvidia--Kimi-K2.6-NVFP4", "model.layers.10.mlp.experts.0.up_proj", COMPONENT_ROUTED,
         "nvfp4"},
        {"nvidia--Kimi-K2.5-NVFP4", "language_model.model.layers.0.mlp.up_proj", COMPONENT_DENSE,
         "nvfp4"},
        {"nvidia--GLM-5.1-NVFP4", "model.layers.1.mlp.up_proj", COMPONENT_DENSE, "plain"},
        {"nvidia--GLM-5.1-NVFP4", "model.layers.10.mlp.experts.0.up_proj", COMPONENT_ROUTED,
         "nvfp4"},
        {"nvidia--DeepSeek-V3.1-NVFP4", "model.layers.4.self_attn.q_b_proj", COMPONENT_ATTENTION,
         "plain"},
        {"nvidia--DeepSeek-V3.1-NVFP4", "model.layers.4.self_attn.o_proj", COMPONENT_ATTENTION,
         "nvfp4"},
        {"nvidia--DeepSeek-V3.1-NVFP4", "model.layers.61.mlp.experts.0.up_proj", COMPONENT_ROUTED,
         "plain"},
        {"nvidia--DeepSeek-V4-Flash-NVFP4", "layers.3.ffn.experts.0.w1", COMPONENT_ROUTED, "nvfp4"},
        {"nvidia--DeepSeek-V4-Flash-NVFP4", "mtp.0.ffn.experts.0.w1", COMPONENT_ROUTED,
         "fp4 experts"},
        {"nvidia--DeepSeek-V4-Flash-NVFP4", "layers.3.attn.wq_a", COMPONENT_ATTENTION,
         "fp8 blocks"},
        {"sgl-project--DeepSeek-V4-Flash-FP8", "layers.3.ffn.experts.0.w1", COMPONENT_ROUTED,
         "fp8 blocks"},
        {"deepseek-ai--DeepSeek-V4-Pro", "layers.3.ffn.experts.0.w1", COMPONENT_ROUTED,
         "fp4 experts"},
        {"openai--gpt-oss-20b", "model.layers.3.mlp.experts.down_proj", COMPONENT_ROUTED,
         "mxfp4 fused"},
        {"openai--gpt-oss-20b", "model.layers.3.self_attn.q_proj", COMPONENT_ATTENTION, "plain"},
        {"nvidia--Qwen3.6-35B-A3B-NVFP4", "lm_head", COMPONENT_HEAD, "nvfp4"},
        {"nvidia--Qwen3.6-35B-A3B-NVFP4", "model.language_model.layers.0.mlp.experts.gate_up_proj",
         COMPONENT_ROUTED, "nvfp4"},
        {"nvidia--Qwen3.6-35B-A3B-NVFP4", "model.language_model.layers.0.linear_attn.out_proj",
         COMPONENT_ATTENTION, "fp8 per tensor"},
        {"nvidia--Qwen3.6-35B-A3B-NVFP4", "model.language_model.layers.0.linear_attn.in_proj_a",
         COMPONENT_ATTENTION, "plain"},
        {"nvidia--Qwen3.6-35B-A3B-NVFP4", "mtp.layers.0.mlp.experts.0.up_proj", COMPONENT_ROUTED,
         "plain"},
        {"nvidia--Gemma-4-26B-A4B-NVFP4", "model.language_model.layers.3.mlp.up_proj",
         COMPONENT_SHARED, "plain"},
        {"nvidia--MiniMax-M2.5-NVFP4", "model.layers.3.block_sparse_moe.experts.0.w1",
         COMPONENT_ROUTED, "nvfp4"},
        {"MiniMaxAI--MiniMax-M2.5", "model.layers.3.block_sparse_moe.experts.0.w1",
         COMPONENT_ROUTED, "fp8 blocks"},
        {"RedHatAI--Llama-4-Scout-17B-16E-Instruct-FP8-dynamic",
         "language_model.model.layers.0.feed_forward.experts.gate_up_proj", COMPONENT_ROUTED,
         "fp8 scaled"},
        {"RedHatAI--Llama-4-Scout-17B-16E-Instruct-FP8-dynamic",
         "language_model.model.layers.0.self_attn.q_proj", COMPONENT_ATTENTION, "plain"},
    };
    const char *folder = check_shared("models");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Published config;
        char name[128];
        snprintf(name, sizeof name, "%s.json", cases[i].config);
        assert_true(read_config(folder, name, &config));
        TensorStore store = cases[i].component == COMPONENT_HEAD ? STORE_PLAIN : STORE_WEIGHT;
        const char *scheme = stored(&config.quant, cases[i].module, cases[i].component, store);
        if (strcmp(scheme, cases[i].scheme) != 0)
            fail_msg("%s %s: %s, expected %s", cases[i].config, cases[i].module, scheme,
                     cases[i].scheme);
        close_config(&config);
    }
}

static void load(const char *folder, const char *name, Arch *out) {
    Err err = {0};
    Arena arena = {0};
    check_ok(arch_load(arena_printf(&arena, "%s/%s.json", folder, name), NULL, 0, out, &err), &err);
    arena_free(&arena);
}

// Stored elements of fp8 checkpoints (checkpoints.csv C045 and C067: the same shapes as the
// configs), which count each scale: weights + scales.
static void test_quant_scales_of_published_checkpoints(void **state) {
    (void)state;
    static const struct {
        const char *config;
        uint64_t elements;
    } cases[] = {{"Qwen--Qwen3-30B-A3B-FP8", 30533947392}, {"zai-org--GLM-5-FP8", 753910024032}};
    const char *folder = check_shared("models");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Arch arch = {0};
        uint64_t elements = 0;
        load(folder, cases[i].config, &arch);
        for (uint32_t t = 0; t < arch.tensor_count; t++)
            elements += arch.tensors[t].bytes * 8 / arch.tensors[t].element_bits *
                        count_tensors(&arch, &arch.tensors[t]);
        assert_int_equal(elements, cases[i].elements);
        arch_free(&arch);
    }
}

// Payloads of whole checkpoints (checkpoints.csv C020, C075, C072, C030), one for each kind of
// scales: E8M0 and fp4 experts, fused MXFP4, F32 blocks.
static void test_quant_bytes_of_published_checkpoints(void **state) {
    (void)state;
    static const struct {
        const char *config;
        uint64_t bytes;
    } cases[] = {{"deepseek-ai--DeepSeek-V4-Flash", 159609485896},
                 {"openai--gpt-oss-120b", 65248815744},
                 {"MiniMaxAI--MiniMax-M2.5", 230121630720},
                 {"deepseek-ai--DeepSeek-V3", 688574839360}};
    const char *folder = check_shared("models");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Arch arch = {0};
        load(folder, cases[i].config, &arch);
        assert_int_equal(arch.totals.checkpoint_B, cases[i].bytes);
        arch_free(&arch);
    }
}

// Kimi-K2.5: 60 layers of 384 experts with 3 matrices of 2048 x 7168 weights, each 7,340,032 B of
// codes, 917,504 B of scales and 8 B of shape. Its NVFP4 form has the same codes, as many bytes of
// scales (16 weights to a byte) and two F32 numbers instead of the shape.
static void test_quant_experts_of_kimi_k25(void **state) {
    (void)state;
    static const char *const names[] = {"moonshotai--Kimi-K2.5", "nvidia--Kimi-K2.5-NVFP4"};
    const char *folder = check_shared("models");
    for (size_t i = 0; i < 2; i++) {
        Arch arch = {0};
        load(folder, names[i], &arch);
        assert_int_equal(arch.totals.component_B[COMPONENT_ROUTED],
                         UINT64_C(60) * 384 * 3 * (7340032 + 917504 + 8));
        assert_int_equal(arch.expert_format, i == 0 ? NUMFMT_INT4 : NUMFMT_FP4);
        arch_free(&arch);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quant_understands_published_configs),
        cmocka_unit_test(test_quant_modules_of_published_configs),
        cmocka_unit_test(test_quant_scales_of_published_checkpoints),
        cmocka_unit_test(test_quant_bytes_of_published_checkpoints),
        cmocka_unit_test(test_quant_experts_of_kimi_k25),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
