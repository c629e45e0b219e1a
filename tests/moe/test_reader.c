// What each bad config is told: one precise line, the file, the place, what was found, and the way
// on where there is one.
#include "tests/check.h"

#include "model/moe/arch.h"

static const struct {
    const char *name;    // tests/bad/model-NAME.json
    const char *message; // after the path
} cases[] = {
    {"contradiction", ":15:23: n_routed_experts: 16 contradicts num_experts, which is 8"},
    {"deep", ":1:79: nesting deeper than 64 levels"},
    {"duplicate-key", ":4:3: duplicate key \"hidden_size\""},
    {"groups-uneven", ":16:18: num_experts: expected a multiple of num_expert_group (3), found 8"},
    {"groups-too-few-experts",
     ":17:28: num_experts_per_token: expected at most experts of the chosen groups (1), found 2"},
    {"heads-not-multiple",
     ":8:26: num_attention_heads: expected a multiple of num_key_value_heads (3), found 8"},
    {"layer-beyond",
     ":13:135: linear_attn_config.full_attn_layers[1]: no layer 5, they are 1 to 4"},
    {"layer-missing", ":1:1: layer 2 is missing from linear_attn_config.kda_layers and "
                      "linear_attn_config.full_attn_layers"},
    {"layer-twice",
     ":13:135: linear_attn_config.full_attn_layers[0]: layer 4 is already of kind kda"},
    {"missing-field", ":1:1: missing \"num_experts_per_tok|num_experts_per_token\"; give it with "
                      "--assume num_experts_per_tok=VALUE"},
    {"no-text-config", ":1:1: missing \"text_config\""},
    {"not-an-object", ":1:1: expected an object, the config of a model"},
    {"not-utf8", ":2:23: byte 0xff is not UTF-8"},
    {"other-activation", ":15:17: hidden_act: only silu|situ|swiglu is supported for qwen3_moe; go "
                         "on as if it were that by --assume hidden_act=ignored"},
    {"other-dtype",
     ":7:18: torch_dtype: expected bfloat16|float16|float32, found \"float8_e4m3fn\""},
    {"overflow-width", ": self_attn.q_proj.weight: num_attention_heads x head_dim: expected 1 to "
                       "4294967295, found 4611686018427387904"},
    {"overflow", ": mlp.experts.{E}.gate_proj.weight: moe_intermediate_size x hidden_size: too "
                 "large for 64 bits"},
    {"quant-block", ":15:71: quantization_config.weight_block_size: expected two numbers, found 1"},
    {"quant-field", ":15:95: quantization_config.rotation: unknown field, which may change the "
                    "cost; go on without it by --assume quantization_config.rotation=ignored"},
    {"quant-format", ":15:75: quantization_config.format: \"nvfp4-pack-quantized\" is not "
                     "supported, known: float-quantized, mxfp4-pack-quantized, pack-quantized"},
    {"quant-no-format", ":15:94: quantization_config.config_groups.group_0: missing \"format\", "
                        "known: float-quantized, mxfp4-pack-quantized, pack-quantized"},
    {"quant-class", ":15:141: quantization_config.config_groups.group_0.targets[0]: class "
                    "\"Linea\" is not supported, known: Linear, FusedMoE, *Experts"},
    {"quant-method-empty", ":15:43: quantization_config.quant_method: \"\" is not supported, "
                           "known: fp8, mxfp4, compressed-tensors, modelopt, modelopt_fp4"},
    {"quant-no-weight",
     ":15:26: quantization_config: its targets and exceptions leave no weight in "
     "mxfp4"},
    {"quant-group",
     ": self_attn.q_proj.weight: hidden_size (80) is not a multiple of the group of 32"},
    {"quant-pattern", ":15:228: quantization_config.ignore[0]: pattern \"^(?!.*experts).*$\": "
                      "\"(?!.*experts).*$\" is not supported"},
    {"quant-unknown", ":15:43: quantization_config.quant_method: \"awq\" is not supported, known: "
                      "fp8, mxfp4, compressed-tensors, modelopt, modelopt_fp4"},
    {"text-config-of-another",
     ":3:33: text_config.model_type: expected kimi_linear, found \"llama\""},
    {"too-many-dense-layers",
     ":14:28: first_k_dense_replace: expected at most num_hidden_layers (4), found 5"},
    {"too-many-layers", ":3:24: num_hidden_layers: expected 1 to 10000, found 100001"},
    {"top-k-over-experts",
     ":13:26: num_experts_per_tok: expected at most num_experts (8), found 9"},
    {"truncated", ":11:23: unexpected end of file, expected a key in double quotes after ','"},
    {"unknown-field",
     ":15:30: sparse_attention_window: unknown field of qwen3_moe, which may change the cost; go "
     "on without it by --assume sparse_attention_window=ignored"},
    {"unknown-nested-field",
     ":13:149: linear_attn_config.gate_rank: unknown field of kimi_linear, which may change the "
     "cost; go on without it by --assume linear_attn_config.gate_rank=ignored"},
    {"width-over-32-bits", ": n_shared_experts x moe_intermediate_size: expected at most "
                           "4294967295, found 4294967296"},
    {"wrong-type", ":4:18: hidden_size: expected a whole number, found \"64\""},
    {"zero-heads", ":8:26: num_attention_heads: expected 1 to 2147483648, found 0"},
};

static void test_reader_refuses_with_one_line(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Err err = {0};
        Arch arch = {0};
        char path[128], message[ERR_TEXT_MAX];
        snprintf(path, sizeof path, "tests/bad/model-%s.json", cases[i].name);
        snprintf(message, sizeof message, "%s%s", path, cases[i].message);
        check_fails(arch_load(path, NULL, 0, &arch, &err), &err, message);
        assert_null(arch.name); // nothing was set
    }
}

static void test_reader_refuses_a_folder_without_config(void **state) {
    (void)state;
    Err err = {0};
    Arch arch = {0};
    check_fails(arch_load("tests/bad", NULL, 0, &arch, &err), &err,
                "tests/bad: is a directory without a config.json");
}

// Optional fields that are null count as absent: no latent query, one expert group.
static void test_reader_takes_null_as_absent(void **state) {
    (void)state;
    static const char config[] =
        "{\"model_type\": \"deepseek_v2\", \"num_hidden_layers\": 2, \"hidden_size\": 32,"
        " \"vocab_size\": 64, \"max_position_embeddings\": 64, \"torch_dtype\": \"bfloat16\","
        " \"num_attention_heads\": 2, \"q_lora_rank\": null, \"kv_lora_rank\": 8,"
        " \"qk_nope_head_dim\": 4, \"qk_rope_head_dim\": 2, \"v_head_dim\": 4,"
        " \"intermediate_size\": 64, \"first_k_dense_replace\": 1, \"n_routed_experts\": 4,"
        " \"num_experts_per_tok\": 2, \"n_group\": null, \"moe_intermediate_size\": 16}";
    Err err = {0};
    Arch arch = {0};
    check_ok(arch_parse(&(ArchInput){.name = "nulls", .bytes = config, .count = sizeof config - 1},
                        &arch, &err),
             &err);
    assert_int_equal(arch.attentions[0].q_lora, 0);
    assert_int_equal(arch.mlps[1].groups, 1);
    arch_free(&arch);
}

// Every second layer dense, and layer 3 too, counted from 0: experts are left in layer 1.
static void test_reader_patterns_of_qwen(void **state) {
    (void)state;
    static const char config[] =
        "{\"model_type\": \"qwen3_moe\", \"num_hidden_layers\": 4, \"hidden_size\": 32,"
        " \"vocab_size\": 64, \"max_position_embeddings\": 64, \"torch_dtype\": \"bfloat16\","
        " \"num_attention_heads\": 4, \"num_key_value_heads\": 2, \"intermediate_size\": 64,"
        " \"num_experts\": 4, \"num_experts_per_tok\": 2, \"moe_intermediate_size\": 16,"
        " \"decoder_sparse_step\": 2, \"mlp_only_layers\": [3]}";
    Err err = {0};
    Arch arch = {0};
    check_ok(
        arch_parse(&(ArchInput){.name = "pattern", .bytes = config, .count = sizeof config - 1},
                   &arch, &err),
        &err);
    static const uint32_t experts[] = {0, 4, 0, 0};
    for (uint32_t layer = 0; layer < 4; layer++) {
        const LayerKind *kind = &arch.kinds[arch.kind_of_layer[layer]];
        assert_int_equal(arch.mlps[kind->mlp].experts, experts[layer]);
    }
    assert_int_equal(arch.attentions[0].head_dim, 32 / 4); // absent: hidden_size / heads
    arch_free(&arch);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reader_refuses_with_one_line),
        cmocka_unit_test(test_reader_refuses_a_folder_without_config),
        cmocka_unit_test(test_reader_takes_null_as_absent),
        cmocka_unit_test(test_reader_patterns_of_qwen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
