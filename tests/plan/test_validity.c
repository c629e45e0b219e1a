// What engines start and what they refuse: the 18 validity cases of shared/truth/scenarios.csv,
// each asked with a plan, a config and an engine of a stated version, never by its name.
//
// Configs are written here, of the shape that the case names (figures of the models' config.json);
// where the very config is shipped, it is read.
#include "tests/check.h"

#include "model/plan/engine.h"
#include "model/plan/engine_nearest.h"
#include "model/plan/stage_cut.h"
#include "tests/plan/hand_plan.h"

#define BLOCKS                                                                                     \
    ", \"quantization_config\": {\"quant_method\": \"fp8\", \"fmt\": \"e4m3\", "                   \
    "\"activation_scheme\": \"dynamic\", \"weight_block_size\": [128, 128]}"
// FP8 with one scale for each row: compressed-tensors, as GLM-4.6-FP8 is published.
#define PER_CHANNEL                                                                                \
    ", \"quantization_config\": {\"quant_method\": \"compressed-tensors\", \"format\": "           \
    "\"float-quantized\", \"quantization_status\": \"compressed\", \"ignore\": [\"lm_head\"], "    \
    "\"kv_cache_scheme\": null, \"config_groups\": {\"group_0\": {\"targets\": [\"Linear\"], "     \
    "\"weights\": {\"num_bits\": 8, \"type\": \"float\", \"strategy\": \"channel\", "              \
    "\"symmetric\": true, \"dynamic\": false}, \"input_activations\": {\"num_bits\": 8, "          \
    "\"type\": \"float\", \"strategy\": \"token\", \"symmetric\": true, \"dynamic\": true}}}}"

// One question. Machine: "" is none.
typedef struct Case {
    Engine engine;
    Arch arch;
    Plan plan;
    DeviceCatalogue catalogue;
    EngineSetting settings[4];
    EngineAsk ask;
    EngineAnswer answer;
    Arena arena;
} Case;

static void open_case(Case *c, const char *engine, const char *version) {
    Err err = {0};
    *c = (Case){0};
    check_ok(engine_load(engine, version, &c->engine, &err), &err);
    check_ok(device_load(&c->catalogue, &err), &err);
}

static void close_case(Case *c) {
    engine_unload(&c->engine);
    arch_free(&c->arch);
    device_free(&c->catalogue);
    arena_free(&c->arena);
}

static void read_model(Case *c, const char *config) {
    Err err = {0};
    ArchInput input = {.name = "config", .bytes = config, .count = strlen(config)};
    check_ok(arch_parse(&input, &c->arch, &err), &err);
}

static void read_path(Case *c, const char *path) {
    Err err = {0};
    check_ok(arch_load(path, NULL, 0, &c->arch, &err), &err);
}

static void set_machine(Case *c, const char *device, uint32_t gpus) {
    c->ask.machine = (EngineMachine){device_find(&c->catalogue, device), 8, gpus};
    assert_non_null(c->ask.machine.device);
}

static void set_option(Case *c, const char *option, const char *value) {
    uint32_t i = 0;
    while (i < c->ask.setting_count && strcmp(c->settings[i].option, option) != 0) i++;
    c->settings[i] = (EngineSetting){option, value};
    if (i == c->ask.setting_count) c->ask.setting_count++;
}

static void ask(Case *c, Plan plan) {
    Err err = {0};
    c->plan = plan;
    c->ask.engine = &c->engine, c->ask.plan = &c->plan, c->ask.arch = &c->arch;
    c->ask.settings = c->settings;
    check_ok(engine_nearest_ask(&c->ask, &c->arena, &c->answer, &err), &err);
}

static void check_legal(Case *c, Plan plan) {
    ask(c, plan);
    if (c->answer.is_legal) return;
    fail_msg("refused: %s%s", c->answer.structure,
             c->answer.verdict.broken_count > 0 ? c->answer.verdict.broken[0].text : "");
}

// Refused by this rule of the engine alone, with this text.
static void check_broken(Case *c, Plan plan, const char *rule, const char *text) {
    ask(c, plan);
    assert_false(c->answer.is_legal);
    check_text_equals(c->answer.structure, "");
    assert_int_equal(c->answer.verdict.broken_count, 1);
    check_text_equals(c->answer.verdict.broken[0].name, rule);
    check_text_equals(c->answer.verdict.broken[0].text, text);
    assert_true(c->answer.verdict.broken[0].source[0] != '\0');
}

static void check_noted(const Case *c, const char *rule, const char *text) {
    for (uint32_t i = 0; i < c->answer.verdict.note_count; i++)
        if (strcmp(c->answer.verdict.notes[i].name, rule) == 0) {
            check_text_equals(c->answer.verdict.notes[i].text, text);
            return;
        }
    fail_msg("no note \"%s\"", rule);
}

// The nearest legal plan number `index`, by its change.
static void check_nearest(Case *c, uint32_t index, const char *change) {
    Err err = {0};
    EngineNear nearest[ENGINE_NEAREST_MAX];
    uint32_t count = 0;
    check_ok(engine_nearest_find(&c->ask, &c->arena, nearest, &count, &err), &err);
    assert_true(index < count);
    check_text_equals(nearest[index].change, change);
}

// ---- Configs

// Qwen3-MoE with these experts; the rest is that of Qwen3-Coder-480B (96 heads over 8, head 128).
#define QWEN3_MOE(layers, hidden, heads, kv, experts, width, extra)                                \
    "{\"architectures\": [\"Qwen3MoeForCausalLM\"], \"model_type\": \"qwen3_moe\", "               \
    "\"attention_bias\": false, \"decoder_sparse_step\": 1, \"head_dim\": 128, \"hidden_act\": "   \
    "\"silu\", \"hidden_size\": " hidden ", \"intermediate_size\": 6144, "                         \
    "\"max_position_embeddings\": 40960, \"mlp_only_layers\": [], "                                \
    "\"moe_intermediate_size\": " width                                                            \
    ", \"norm_topk_prob\": true, \"num_attention_heads\": " heads ", \"num_experts\": " experts    \
    ", \"num_experts_per_tok\": 8, \"num_hidden_layers\": " layers                                 \
    ", \"num_key_value_heads\": " kv ", \"rms_norm_eps\": 1e-06, \"tie_word_embeddings\": false, " \
    "\"torch_dtype\": \"bfloat16\", \"vocab_size\": 151936" extra "}"

static const char coder_480b[] = QWEN3_MOE("62", "6144", "96", "8", "160", "2560", BLOCKS);
static const char qwen3_235b[] = QWEN3_MOE("94", "4096", "64", "4", "128", "1536", "");

// GLM-4.6 (92 layers, 160 experts of 1536, shared 1536) and GLM-4.5-Air (46 layers, 128 of 1408).
#define GLM4_MOE(layers, dense, hidden, dense_width, experts, width, extra)                        \
    "{\"architectures\": [\"Glm4MoeForCausalLM\"], \"model_type\": \"glm4_moe\", "                 \
    "\"attention_bias\": true, \"first_k_dense_replace\": " dense                                  \
    ", \"head_dim\": 128, \"hidden_act\": \"silu\", \"hidden_size\": " hidden                      \
    ", \"intermediate_size\": " dense_width ", \"max_position_embeddings\": 131072, "              \
    "\"moe_intermediate_size\": " width ", \"n_group\": 1, \"n_routed_experts\": " experts         \
    ", \"n_shared_experts\": 1, \"norm_topk_prob\": true, \"num_attention_heads\": 96, "           \
    "\"num_experts_per_tok\": 8, \"num_hidden_layers\": " layers                                   \
    ", \"num_key_value_heads\": 8, \"num_nextn_predict_layers\": 1, \"partial_rotary_factor\": "   \
    "0.5, \"rms_norm_eps\": 1e-05, \"routed_scaling_factor\": 2.5, \"topk_group\": 1, "            \
    "\"torch_dtype\": \"bfloat16\", \"tie_word_embeddings\": false, \"use_qk_norm\": true, "       \
    "\"vocab_size\": 151552" extra "}"

// ---- Quantisation blocks

// VA-QC480-TP8. 2560 / 8 = 320 = 2.5 blocks of 128; TP4: 640 = 5, and TP8 with EP8 cuts no expert.
static void test_validity_coder_480b_tp8(void **state) {
    (void)state;
    Case c;
    open_case(&c, "vllm", "0.11.0");
    read_model(&c, coder_480b);
    check_broken(
        &c, hand_plan(8, 1, 1, 1), "weight-blocks",
        "moe_tp 8 cuts model.layers.{L}.mlp.experts.{E}.gate_proj.weight of 2560 into 320, "
        "no multiple of its block of 128; cut less, or deal experts out whole");
    check_nearest(&c, 0, "ep 1 -> 8, moe_tp 8 -> 1");
    check_nearest(&c, 1, "tp 8 -> 4, moe_tp 8 -> 4");
    check_legal(&c, hand_plan(4, 1, 1, 1));
    check_legal(&c, hand_plan(8, 1, 1, 8));
    close_case(&c);
}

// VA-M2-TP8. 1536 / 8 = 192 = 1.5 blocks; TP4 384 = 3.
static void test_validity_minimax_m2_tp8(void **state) {
    (void)state;
    const char *path = "scenarios/models/minimax-m2.5.json";
    Case c;
    open_case(&c, "vllm", "0.12.0");
    read_path(&c, path);
    ask(&c, hand_plan(8, 1, 1, 1));
    assert_false(c.answer.is_legal);
    check_text_equals(c.answer.structure, "");
    assert_non_null(strstr(c.answer.verdict.broken[0].text, "of 1536 into 192, no multiple"));
    check_nearest(&c, 0, "ep 1 -> 8, moe_tp 8 -> 1");
    check_legal(&c, hand_plan(4, 1, 1, 1));
    check_legal(&c, hand_plan(8, 1, 1, 8));
    close_case(&c);
}

// VA-R1-TP32. The dense layers: 18432 / 32 = 576 = 4.5 blocks; TP16: 1152 = 9, and experts and
// shared expert of 2048 / 16 = 128. With the experts dealt out the dense layers alone break.
static void test_validity_r1_tp32(void **state) {
    (void)state;
    Case c;
    open_case(&c, "sglang", "0.4.3");
    read_path(&c, "scenarios/models/deepseek-r1.json");
    check_broken(
        &c, hand_plan(32, 1, 1, 32), "weight-blocks",
        "tp 32 cuts model.layers.{L}.mlp.gate_proj.weight of 18432 into 576, no multiple of "
        "its block of 128; cut less, or deal experts out whole");
    ask(&c, hand_plan(32, 1, 1, 1));
    assert_false(c.answer.is_legal);
    check_legal(&c, hand_plan(16, 1, 1, 1));
    check_legal(&c, hand_plan(16, 1, 1, 16));
    close_case(&c);
}

// VA-block-small. Experts of 768 cut by 8 are 96 wide, less than one block of 128.
static void test_validity_block_small(void **state) {
    (void)state;
    Case c;
    open_case(&c, "vllm", "0.27.0");
    read_model(&c, QWEN3_MOE("48", "2048", "32", "4", "128", "768", BLOCKS));
    check_broken(&c, hand_plan(8, 1, 1, 1), "block-small",
                 "moe_tp 8 cuts model.layers.{L}.mlp.experts.{E}.gate_proj.weight of 768 into 96, "
                 "less than one block of 128");
    close_case(&c);
}

// VA-FP8-perchannel. No config is given: GLM-4.6 of models.md (the shape of GLM-4.7) with one scale
// for each output. 1536 / 8 = 192 is a whole number of single rows; in blocks of 128 it is not.
static void test_validity_fp8_per_channel(void **state) {
    (void)state;
    Case c;
    open_case(&c, "vllm", "0.11.0");
    read_model(&c, GLM4_MOE("92", "3", "5120", "12288", "160", "1536", PER_CHANNEL));
    check_legal(&c, hand_plan(8, 1, 1, 1));
    arch_free(&c.arch);
    read_model(&c, GLM4_MOE("92", "3", "5120", "12288", "160", "1536", BLOCKS));
    ask(&c, hand_plan(8, 1, 1, 1));
    assert_false(c.answer.is_legal);
    close_case(&c);
}

// ---- Heads, experts

// VA-Q38-TP12. No config is given: 64 / 4 heads, 512 experts of 2048 and a shared one of models.md,
// its linear layers left out (their 128 heads do not divide by 12 either). 64 % 12 = 4: 16 GPUs.
static void test_validity_heads_by_12(void **state) {
    (void)state;
    Case c;
    open_case(&c, "vllm", "0.27.0");
    read_model(&c, QWEN3_MOE("92", "8192", "64", "4", "512", "2048", BLOCKS));
    ask(&c, hand_plan(12, 1, 1, 1));
    assert_false(c.answer.is_legal);
    check_text_equals(c.answer.structure, "tp 12 does not divide 64 query heads");
    check_nearest(&c, 0, "tp 12 -> 16, moe_tp 12 -> 16");
    check_legal(&c, hand_plan(16, 1, 1, 1));
    close_case(&c);
}

// VA-Q35-513. 512 experts and the shared one fused to them: 513 = 64 x 8 + 1. Apart they divide.
static void test_validity_fused_shared_expert(void **state) {
    (void)state;
    const char *path = "scenarios/models/qwen3.5-397b-a17b.json";
    static const char *const engines[][2] = {{"vllm", "0.16.0"}, {"sglang", "0.5.12.post1"}};
    for (size_t i = 0; i < 2; i++) {
        Case c;
        open_case(&c, engines[i][0], engines[i][1]);
        read_path(&c, path);
        set_machine(&c, "MI355X", 8);
        check_legal(&c, hand_plan(8, 1, 1, 8));
        set_option(&c, "fused-shared-experts", "true");
        ask(&c, hand_plan(8, 1, 1, 8));
        assert_int_equal(c.answer.verdict.broken_count, 1);
        check_text_equals(c.answer.verdict.broken[0].name, "fused-shared-divides");
        assert_non_null(strstr(c.answer.verdict.broken[0].text,
                               "512 experts and 1 fused shared do not divide"));
        check_nearest(&c, 0, "without --fused-shared-experts");
        close_case(&c);
    }
}

// ---- Attention-DP

// VA-dp-eq-tp. SGLang's dp 2 of tp-size 8 leaves attention TP 4; before #4390 dp-size was tp-size.
static void test_validity_dp_equals_tp(void **state) {
    (void)state;
    static const char *const versions[] = {"0.4.3", "0.4.4", "0.4.4.post1", "0.5.3"};
    for (size_t i = 0; i < 4; i++) {
        Case c;
        open_case(&c, "sglang", versions[i]);
        read_path(&c, "scenarios/models/deepseek-v3.json");
        check_legal(&c, hand_plan(1, 1, 8, 8));
        if (i < 2) {
            check_broken(&c, hand_plan(4, 1, 2, 8), "dp-equals-tp",
                         "dp-size 2 differs from tp-size 8: dp attention of this release takes "
                         "dp-size = tp-size only");
            check_nearest(&c, 0, "dp 2 -> 1, ep 8 -> 4");
            check_nearest(&c, 2, "tp 4 -> 8, dp 2 -> 1"); // the same 8 GPUs
        } else {
            check_legal(&c, hand_plan(4, 1, 2, 8));
        }
        close_case(&c);
    }
}

// ---- Decode context parallelism

static uint32_t largest_dcp(Case *c, Plan plan) {
    char text[16];
    for (uint32_t dcp = plan.pools[0].tp; dcp > 1; dcp--) {
        snprintf(text, sizeof text, "%u", dcp);
        set_option(c, "decode-context-parallel-size", text);
        ask(c, plan);
        if (c->answer.is_legal) return dcp;
    }
    return 1;
}

// VA-dcp-rules. A latent cache has one copy on each of 8 ranks: up to 8. Qwen3-235B at TP8: 8 / 4
// KV heads = 2. Eight KV heads at TP8: no copies, 1. What does not divide tp is refused: 3 of 8.
static void test_validity_dcp_rules(void **state) {
    (void)state;
    Case c;
    open_case(&c, "vllm", "0.12.0");
    read_path(&c, "scenarios/models/deepseek-v3.json");
    assert_int_equal(largest_dcp(&c, hand_plan(8, 1, 1, 8)), 8);
    set_option(&c, "decode-context-parallel-size", "3");
    check_broken(&c, hand_plan(8, 1, 1, 8), "dcp-divides",
                 "decode-context-parallel-size 3 does not divide tp 8");
    check_nearest(&c, 0, "--decode-context-parallel-size 3 -> 2");
    arch_free(&c.arch);
    read_model(&c, qwen3_235b);
    assert_int_equal(largest_dcp(&c, hand_plan(8, 1, 1, 8)), 2);
    set_option(&c, "decode-context-parallel-size", "4");
    check_broken(&c, hand_plan(8, 1, 1, 8), "dcp-replicas",
                 "decode-context-parallel-size 4 exceeds 2 = tp 8 / 4 kv heads: only copies of the "
                 "cache can be dealt out");
    arch_free(&c.arch);
    read_model(&c, coder_480b);
    assert_int_equal(largest_dcp(&c, hand_plan(8, 1, 1, 8)), 1);
    close_case(&c);
}

// VA-V32-dcp. Sparse attention: the backend on H200 returns no LSE.
static void test_validity_dcp_sparse(void **state) {
    (void)state;
    const char *path = "scenarios/models/deepseek-v3.2.json";
    static const char *const versions[] = {"0.11.0", "0.26.0"};
    for (size_t i = 0; i < 2; i++) {
        Case c;
        open_case(&c, "vllm", versions[i]);
        read_path(&c, path);
        set_machine(&c, "H200", 8);
        set_option(&c, "decode-context-parallel-size", "8");
        ask(&c, hand_plan(8, 1, 1, 8));
        assert_int_equal(c.answer.verdict.broken_count, 1);
        check_text_equals(c.answer.verdict.broken[0].name, "dcp-sparse");
        assert_int_equal(largest_dcp(&c, hand_plan(8, 1, 1, 8)), 1);
        close_case(&c);
    }
}

// VA-V32-backends.
static void test_validity_sparse_backends(void **state) {
    (void)state;
    const char *path = "scenarios/models/deepseek-v3.2.json";
    static const char *const refused[] = {"CUTLASS_MLA", "FLASHMLA", "TRITON_MLA"};
    Case c;
    open_case(&c, "vllm", "0.11.0");
    read_path(&c, path);
    set_machine(&c, "H200", 8);
    for (size_t i = 0; i < 3; i++) {
        char text[160];
        snprintf(text, sizeof text,
                 "attention backend %s does not support sparse attention; legal: auto, "
                 "FLASHMLA_SPARSE",
                 refused[i]);
        set_option(&c, "attention-backend", refused[i]);
        check_broken(&c, hand_plan(8, 1, 1, 8), "sparse-backend", text);
    }
    set_option(&c, "attention-backend", "FLASHMLA_SPARSE");
    check_legal(&c, hand_plan(8, 1, 1, 8));
    close_case(&c);
}

// ---- Expert parallelism, KV heads, stages

// VA-vllm-ep-flag. EP is TP x DP or 1: 4 of 8 is not a plan of vLLM, and there is no such option.
static void test_validity_vllm_ep_is_a_switch(void **state) {
    (void)state;
    Case c;
    open_case(&c, "vllm", "0.11.0");
    read_model(&c, qwen3_235b);
    check_broken(&c, hand_plan(8, 1, 1, 4), "ep-switch",
                 "ep 4 x moe_tp 2: vllm cuts experts by tp x dp = 8 or deals them out over all 8, "
                 "never both");
    check_legal(&c, hand_plan(4, 1, 2, 8));
    set_option(&c, "expert-parallel-size", "8");
    check_broken(
        &c, hand_plan(8, 1, 1, 8), "expert-parallel-size",
        "vllm 0.11.0 has no option --expert-parallel-size; expert parallelism is a switch, "
        "--enable-expert-parallel: EP = tensor-parallel-size x data-parallel-size");
    check_nearest(&c, 0, "without --expert-parallel-size");
    close_case(&c);
}

// VA-Q235-kv4. 4 KV heads on 8 ranks: legal, ceil(8 / 4) = 2 copies of each.
static void test_validity_kv_heads_below_tp(void **state) {
    (void)state;
    static const char *const engines[][2] = {{"vllm", "0.10.0"}, {"sglang", "0.5.0"}};
    for (size_t i = 0; i < 2; i++) {
        Case c;
        open_case(&c, engines[i][0], engines[i][1]);
        read_model(&c, qwen3_235b);
        check_legal(&c, hand_plan(8, 1, 1, 8));
        check_noted(
            &c, "kv-replicated",
            "kv heads, of which a latent cache counts as one: 4; tp 8 keeps each token 2 times");
        close_case(&c);
    }
}

// VA-PP-94-4. 94 = 4 x 23 + 2: vLLM gives the two left over to the stages before the last, from the
// last but one backwards: 23, 24, 24, 23.
static void test_validity_pp_94_by_4(void **state) {
    (void)state;
    static const uint32_t want[] = {23, 24, 24, 23};
    Case c;
    open_case(&c, "vllm", "0.22.0");
    read_model(&c, qwen3_235b);
    Plan plan = hand_plan(1, 4, 1, 1);
    stage_cut_as_engine(&plan.pools[0], STAGE_CUT_VLLM);
    check_legal(&c, plan);
    for (uint32_t stage = 0, next = 0; stage < 4; stage++) {
        uint32_t first, count;
        pool_stage_layers(&plan.pools[0], c.arch.layers, stage, &first, &count);
        assert_int_equal(first, next);
        assert_int_equal(count, want[stage]);
        next = first + count;
    }
    close_case(&c);
}

// ---- Devices and models

// VA-A100-fp8. The FP8 form of GLM-4.5-Air, whose config is not given: per channel as GLM-4.6-FP8.
static void test_validity_fp8_on_a100(void **state) {
    (void)state;
    static const char air[] = GLM4_MOE("46", "1", "4096", "10944", "128", "1408", PER_CHANNEL);
    Case c;
    open_case(&c, "sglang", "0.5.3");
    read_model(&c, air);
    set_machine(&c, "A100", 8);
    check_broken(&c, hand_plan(4, 1, 1, 1), "fp8-device",
                 "A100 SXM 80G has no fp8 arithmetic, and SGLang does not load fp8 weights without "
                 "it");
    set_machine(&c, "H100", 8);
    check_legal(&c, hand_plan(4, 1, 1, 1));
    close_case(&c);
    open_case(&c, "vllm", "0.11.0");
    read_model(&c, air);
    set_machine(&c, "A100", 8);
    check_legal(&c, hand_plan(4, 1, 1, 1));
    check_noted(&c, "fp8-weight-only",
                "A100 SXM 80G has no fp8 arithmetic: weights stay fp8 and are widened for each "
                "product (weight-only)");
    close_case(&c);
}

// VA-PP-air. The release that the report ran refuses stages for this architecture; vLLM takes them
// (vllm-project/vllm#22140).
static void test_validity_pp_support_by_model(void **state) {
    (void)state;
    static const char air[] = GLM4_MOE("46", "1", "4096", "10944", "128", "1408", "");
    Case c;
    open_case(&c, "sglang", "0.5.3");
    read_model(&c, air);
    set_machine(&c, "A100", 8);
    check_broken(&c, hand_plan(1, 4, 1, 1), "pp-model",
                 "pp 4: this release has no pipeline parallelism for a glm4_moe model");
    close_case(&c);
    open_case(&c, "sglang", "0.5.19");
    read_model(&c, air);
    check_legal(&c, hand_plan(1, 4, 1, 1));
    close_case(&c);
    open_case(&c, "vllm", "0.11.0");
    read_model(&c, air);
    check_legal(&c, hand_plan(1, 4, 1, 1));
    close_case(&c);
}

// VA-conc-tp. 2 x 6 = 12 does not divide by 8; 2 x 4 = 8 and 2 x 8 = 16 do.
static void test_validity_graph_batch_by_tp(void **state) {
    (void)state;
    const char *path = "scenarios/models/deepseek-v4-flash.json";
    Case c;
    open_case(&c, "vllm", "0.24.0");
    read_path(&c, path);
    Plan plan = hand_plan(8, 1, 1, 8);
    plan.pools[0].kv_format = NUMFMT_FP8;
    set_option(&c, "max-num-seqs", "6");
    check_broken(&c, plan, "graph-batch",
                 "2 x 6 sequences do not divide by tp 8; graphs can be recorded for 4 or 8");
    set_option(&c, "max-num-seqs", "8");
    check_legal(&c, plan);
    close_case(&c);
}

// VA-DWDP. TensorRT-LLM streams weights between ranks that hold whole layers.
static void test_validity_dwdp(void **state) {
    (void)state;
    Case c;
    open_case(&c, "tensorrt-llm", "1.3.0");
    read_path(&c, "scenarios/models/deepseek-r1.json");
    set_option(&c, "dwdp", "true");
    check_broken(&c, hand_plan(4, 1, 1, 4), "dwdp-tp",
                 "weights streamed between data-parallel ranks (DWDP) take tp 1, found 4");
    check_legal(&c, hand_plan(1, 1, 4, 4));
    close_case(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_validity_coder_480b_tp8),
        cmocka_unit_test(test_validity_minimax_m2_tp8),
        cmocka_unit_test(test_validity_r1_tp32),
        cmocka_unit_test(test_validity_block_small),
        cmocka_unit_test(test_validity_fp8_per_channel),
        cmocka_unit_test(test_validity_heads_by_12),
        cmocka_unit_test(test_validity_fused_shared_expert),
        cmocka_unit_test(test_validity_dp_equals_tp),
        cmocka_unit_test(test_validity_dcp_rules),
        cmocka_unit_test(test_validity_dcp_sparse),
        cmocka_unit_test(test_validity_sparse_backends),
        cmocka_unit_test(test_validity_vllm_ep_is_a_switch),
        cmocka_unit_test(test_validity_kv_heads_below_tp),
        cmocka_unit_test(test_validity_pp_94_by_4),
        cmocka_unit_test(test_validity_fp8_on_a100),
        cmocka_unit_test(test_validity_pp_support_by_model),
        cmocka_unit_test(test_validity_graph_batch_by_tp),
        cmocka_unit_test(test_validity_dwdp),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
