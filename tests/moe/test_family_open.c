// Worked examples: one small model for each of the open families, counted by hand, and how their
// fused tensors are cut.
//
// All of them have a hidden size of 64, 4 heads of 16 (2 for keys and values) and a vocabulary of
// 100. Then a layer's attention without biases and norms has 64 x 64 for queries, 2 x 32 x 64 for
// keys and values and 64 x 64 for the output: ATTENTION. Two norms are NORMS, one expert of width
// 32 is EXPERT, eight of them with their router MOE, and the tables with the last norm TABLES.
#include "tests/check.h"

#include "model/moe/arch.h"

#define ATTENTION (64 * 64 + 2 * 32 * 64 + 64 * 64)
#define NORMS     (2 * 64)
#define EXPERT    (3 * 64 * 32)
#define MOE       (8 * 64 + 8 * EXPERT)
#define DENSE     (3 * 64 * 128)
#define TIED      (100 * 64 + 64)
#define TABLES    (2 * 100 * 64 + 64)

#define SIZES                                                                                      \
    "\"hidden_size\":64,\"num_attention_heads\":4,\"num_key_value_heads\":2,\"vocab_size\":100,"   \
    "\"max_position_embeddings\":1024,\"torch_dtype\":\"bfloat16\""
#define EXPERTS(name) ",\"" name "\":8,\"num_experts_per_tok\":2"

static void parse_as(const char *text, const char *assume, Arch *out) {
    Err err = {0};
    Arena arena = {0};
    ArchAssumption assumptions[ARCH_ASSUMPTIONS_MAX];
    uint32_t count;
    check_ok(arch_split_assumptions(assume, &arena, assumptions, &count, &err), &err);
    ArchInput input = {.name = "small.json",
                       .bytes = text,
                       .count = strlen(text),
                       .assumptions = assumptions,
                       .assumption_count = count};
    check_ok(arch_parse(&input, out, &err), &err);
    check_ok(arch_check(out, &err), &err);
    arena_free(&arena);
}

static void parse(const char *text, Arch *out) {
    parse_as(text, "", out);
}

static void refuse(const char *text, const char *message) {
    Err err = {0};
    Arch arch = {0};
    ArchInput input = {.name = "small.json", .bytes = text, .count = strlen(text)};
    check_fails(arch_parse(&input, &arch, &err), &err, message);
}

// The first class with this name.
static const TensorClass *find(const Arch *arch, const char *pattern) {
    for (uint32_t i = 0; i < arch->tensor_count; i++)
        if (strcmp(arch->tensors[i].pattern, pattern) == 0) return &arch->tensors[i];
    fail_msg("no tensor %s", pattern);
    return NULL;
}

static bool has_note(const Arch *arch, const char *note) {
    for (uint32_t i = 0; i < arch->note_count; i++)
        if (strcmp(arch->notes[i], note) == 0) return true;
    return false;
}

// Queries of 64 and keys and values of 32 each, in one matrix, cut at heads of 16.
static void check_fused_qkv(const TensorClass *tensor) {
    assert_int_equal(tensor->shard, SHARD_COLUMN);
    assert_int_equal(tensor->axis, 0);
    assert_int_equal(tensor->dims[0], 64 + 32 + 32);
    assert_int_equal(tensor->segment_count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(tensor->segments[i].extent, i == 0 ? 64 : 32);
        assert_int_equal(tensor->segments[i].unit, 16);
        assert_int_equal(tensor->segments[i].is_kv, i > 0);
    }
}

// Gate and up of eight experts in one tensor, 32 columns each, cut half by half.
static void check_fused_gate_up(const TensorClass *tensor, uint32_t axis) {
    assert_int_equal(tensor->shard, SHARD_EXPERT_COLUMN);
    assert_int_equal(tensor->fused_experts, 8);
    assert_int_equal(tensor->axis, axis);
    assert_int_equal(tensor->dims[axis], 64);
    assert_int_equal(tensor->segment_count, 2);
    assert_int_equal(tensor->segments[0].extent, 32);
    assert_int_equal(tensor->segments[1].extent, 32);
}

static void check_fused_down(const TensorClass *tensor, uint32_t axis) {
    assert_int_equal(tensor->shard, SHARD_EXPERT_ROW);
    assert_int_equal(tensor->fused_experts, 8);
    assert_int_equal(tensor->axis, axis);
    assert_int_equal(tensor->dims[axis], 32);
    assert_int_equal(tensor->segment_count, 0);
}

// ---- Dense decoders

// Queries, keys and values have biases (64 + 32 + 32), the output has none.
#define BIASED_LAYER (ATTENTION + 64 + 32 + 32 + NORMS + DENSE)

static void test_family_open_seed_oss(void **state) {
    (void)state;
    Arch arch = {0};
    parse("{\"model_type\":\"seed_oss\",\"num_hidden_layers\":2,\"intermediate_size\":128,"
          "\"attention_bias\":true,\"attention_out_bias\":false,\"residual_dropout\":0.1," SIZES
          "}",
          &arch);
    assert_int_equal(arch.totals.parameters, TABLES + 2 * BIASED_LAYER);
    assert_int_equal(arch.totals.active_all, arch.totals.parameters);
    assert_int_equal(find(&arch, "model.layers.{L}.self_attn.k_proj.bias")->shard, SHARD_KV);
    arch_free(&arch);
}

// The draft layer is one of the model's, a projection from 128 and three norms, and one of its
// input.
static void test_family_open_mimo(void **state) {
    (void)state;
    Arch arch = {0};
    parse("{\"model_type\":\"mimo\",\"num_hidden_layers\":2,\"intermediate_size\":128,"
          "\"attention_bias\":true,\"num_nextn_predict_layers\":1,\"sliding_window\":1024,"
          "\"use_sliding_window\":false," SIZES "}",
          &arch);
    assert_int_equal(arch.totals.parameters, TABLES + 2 * BIASED_LAYER);
    assert_int_equal(arch.totals.mtp_parameters, BIASED_LAYER + 64 * 128 + 3 * 64);
    assert_int_equal(arch.totals.mtp_on_disk, arch.totals.mtp_parameters);
    assert_int_equal(find(&arch, "model.mtp_layers.0.input_proj.weight")->dims[1], 128);
    arch_free(&arch);
}

// ---- Experts one by one

// Norms over all heads at once: 64 for queries, 32 for keys.
static void test_family_open_olmoe(void **state) {
    (void)state;
    Arch arch = {0};
    parse("{\"model_type\":\"olmoe\",\"num_hidden_layers\":2,\"intermediate_size\":32,"
          "\"clip_qkv\":null" EXPERTS("num_experts") "," SIZES "}",
          &arch);
    uint64_t layer = ATTENTION + 64 + 32 + NORMS + MOE;
    assert_int_equal(arch.totals.parameters, TABLES + 2 * layer);
    assert_int_equal(arch.totals.active_all, TABLES + 2 * (layer - 6 * EXPERT));
    assert_int_equal(find(&arch, "model.layers.{L}.self_attn.q_norm.weight")->dims[0], 64);
    arch_free(&arch);
}

// One dense layer; norms of heads of 16; a bias for each expert; two shared experts, which are one
// of twice the width.
#define NORMED (ATTENTION + 2 * 16 + NORMS)
#define SHARED (MOE + 8 + 2 * EXPERT)

static void test_family_open_dots1(void **state) {
    (void)state;
    Arch arch = {0};
    parse("{\"model_type\":\"dots1\",\"num_hidden_layers\":2,\"intermediate_size\":128,"
          "\"moe_intermediate_size\":32,\"first_k_dense_replace\":1,\"moe_layer_freq\":1,"
          "\"n_shared_experts\":2,\"scoring_func\":\"noaux_tc\"" EXPERTS(
              "n_routed_experts") "," SIZES "}",
          &arch);
    assert_int_equal(arch.totals.parameters, TABLES + NORMED + DENSE + NORMED + SHARED);
    assert_int_equal(arch.mlps[1].shared_width, 64);
    arch_free(&arch);
}

// LayerNorms have biases too, and so have all projections (64 + 32 + 32 + 64) and the head (100).
// Each of the two layers keeps 2 x 32 elements of BF16 of the last 200 tokens.
static void test_family_open_phimoe(void **state) {
    (void)state;
    Arch arch = {0};
    parse("{\"model_type\":\"phimoe\",\"num_hidden_layers\":2,\"intermediate_size\":32,"
          "\"attention_bias\":true,\"lm_head_bias\":true,\"sliding_window\":200,"
          "\"num_experts\":8" EXPERTS("num_local_experts") "," SIZES "}",
          &arch);
    uint64_t layer = ATTENTION + 64 + 32 + 32 + 64 + 2 * NORMS + MOE;
    assert_int_equal(arch.totals.parameters, TABLES + 64 + 100 + 2 * layer);
    assert_int_equal(arch.totals.kv_B_per_token, 0);
    assert_int_equal(arch.totals.window_B_per_sequence, 2 * 200 * 2 * 32 * 2);
    assert_int_equal(find(&arch, "lm_head.bias")->shard, SHARD_VOCAB);
    arch_free(&arch);
}

// Every second layer has experts and beside them a dense block of 64 x 64 with a norm of its own;
// the others one block of the experts' width.
static void test_family_open_arctic(void **state) {
    (void)state;
    Arch arch = {0};
    parse("{\"model_type\":\"arctic\",\"num_hidden_layers\":2,\"intermediate_size\":32,"
          "\"moe_layer_frequency\":2,\"parallel_attn_mlp_res\":true,"
          "\"use_residual\":true" EXPERTS("num_local_experts") "," SIZES "}",
          &arch);
    uint64_t dense = ATTENTION + NORMS + EXPERT;
    uint64_t mixed = ATTENTION + NORMS + 64 + 3 * 64 * 64 + MOE;
    assert_int_equal(arch.totals.parameters, TABLES + dense + mixed);
    assert_int_equal(arch.mlps[1].shared_width, 64);
    assert_int_equal(find(&arch, "model.layers.{L}.residual_mlp.w2.weight")->shard, SHARD_ROW);
    arch_free(&arch);
}

// No model_type: only Grok-1 knows these fields. Four norms; the head is the embedding.
static void test_family_open_grok_is_found_by_its_fields(void **state) {
    (void)state;
    Arch arch = {0};
    parse("{\"num_hidden_layers\":2,\"intermediate_size\":32,\"attn_output_multiplier\":0.5,"
          "\"max_attn_value\":30.0,\"tie_word_embeddings\":true" EXPERTS("num_experts") "," SIZES
                                                                                        "}",
          &arch);
    assert_string_equal(arch.family, "grok-1");
    assert_int_equal(arch.totals.parameters, TIED + 2 * (ATTENTION + 2 * NORMS + MOE));
    assert_int_equal(find(&arch, "model.layers.{L}.moe_block.experts.{E}.linear_1.weight")->shard,
                     SHARD_EXPERT_ROW);
    arch_free(&arch);
}

// Sizes once for each layer. Norms of heads of 16, one shared expert, a router in F32.
#define HUNYUAN(topk)                                                                              \
    "{\"model_type\":\"hunyuan\",\"num_hidden_layers\":2,\"intermediate_size\":32,"                \
    "\"num_experts\":8,\"moe_topk\":" topk ",\"moe_intermediate_size\":[32,32],"                   \
    "\"num_shared_expert\":[1,1],\"use_mixed_mlp_moe\":true,\"use_qk_norm\":true,"                 \
    "\"attention_head_dim\":16,\"moe_layer_num_skipped\":0,"                                       \
    "\"tie_word_embeddings\":true," SIZES "}"

static void test_family_open_hunyuan(void **state) {
    (void)state;
    Arch arch = {0};
    parse(HUNYUAN("[2,2]"), &arch);
    uint64_t layer = ATTENTION + 2 * 16 + NORMS + MOE + EXPERT;
    assert_int_equal(arch.totals.parameters, TIED + 2 * layer);
    assert_int_equal(arch.totals.active_all, TIED + 2 * (layer - 6 * EXPERT));
    assert_string_equal(find(&arch, "model.layers.{L}.mlp.gate.wg.weight")->type, "F32");
    arch_free(&arch);
    refuse(HUNYUAN("[2,3]"), "small.json:1:100: moe_topk[1]: 3 here and 2 before: a value that "
                             "differs from layer to layer is not supported");
}

// ---- Ling

#define LING(type, more)                                                                           \
    "{\"model_type\":\"" type "\",\"num_hidden_layers\":2,\"intermediate_size\":128,"              \
    "\"moe_intermediate_size\":32,\"num_shared_experts\":2,\"norm_head\":true,"                    \
    "\"use_bias\":false,\"use_qkv_bias\":false" EXPERTS("num_experts") more "," SIZES "}"

static void test_family_open_ling_cuts_queries_keys_and_values(void **state) {
    (void)state;
    Arch arch = {0};
    parse(LING("bailing_moe", ",\"first_k_dense_replace\":0"), &arch);
    assert_int_equal(arch.totals.parameters, TABLES + 2 * (ATTENTION + NORMS + MOE + 2 * EXPERT));
    check_fused_qkv(find(&arch, "model.layers.{L}.attention.query_key_value.weight"));
    arch_free(&arch);
}

// The second version has norms of heads and a bias for each expert; its draft layer is one of
// those with experts, a projection from 128 and three norms.
static void test_family_open_ling_v2(void **state) {
    (void)state;
    Arch arch = {0};
    parse(LING("bailing_moe_v2", ",\"first_k_dense_replace\":1,\"use_qk_norm\":true,"
                                 "\"n_group\":4,\"topk_group\":2,\"num_nextn_predict_layers\":1"),
          &arch);
    assert_int_equal(arch.totals.parameters, TABLES + NORMED + DENSE + NORMED + SHARED);
    assert_int_equal(arch.totals.mtp_parameters, NORMED + SHARED + 64 * 128 + 3 * 64);
    assert_int_equal(arch.mlps[1].top_groups, 2);
    assert_string_equal(find(&arch, "model.layers.{L}.mlp.gate.expert_bias")->type, "F32");
    arch_free(&arch);
}

// The published total of Ling-1T: 80 layers, 4 of them dense (18432), the others with 256 experts
// of 2048 and a shared one; hidden size 8192, 64 heads of 128, 8 for keys and values.
static void test_family_open_ling_1t(void **state) {
    (void)state;
    Arch arch = {0};
    parse("{\"model_type\":\"bailing_moe_v2\",\"num_hidden_layers\":80,\"hidden_size\":8192,"
          "\"intermediate_size\":18432,\"num_attention_heads\":64,\"num_key_value_heads\":8,"
          "\"head_dim\":128,\"vocab_size\":157184,\"max_position_embeddings\":32768,"
          "\"moe_intermediate_size\":2048,\"num_experts\":256,\"num_experts_per_tok\":8,"
          "\"num_shared_experts\":1,\"first_k_dense_replace\":4,\"use_qk_norm\":true,"
          "\"torch_dtype\":\"bfloat16\"}",
          &arch);
    assert_int_equal(arch.totals.parameters, UINT64_C(999705328640));
    arch_free(&arch);
}

// The text model of Ming is a Ling, in BF16 whatever the wrapper says; the rest is noted.
static void test_family_open_ming_notes_what_is_not_counted(void **state) {
    (void)state;
    Arch arch = {0};
    parse("{\"model_type\":\"bailingmm\",\"torch_dtype\":\"float32\",\"vision_config\":{\"a\":1},"
          "\"llm_config\":" LING("bailing_moe", ",\"multi_gate\":true") "}",
          &arch);
    assert_int_equal(arch.totals.parameters, TABLES + 2 * (ATTENTION + NORMS + MOE + 2 * EXPERT));
    assert_int_equal(arch.dtype, NUMFMT_BF16);
    assert_int_equal(arch.note_count, 2);
    assert_true(has_note(&arch, "vision_config: its tensors are not counted"));
    assert_true(has_note(&arch, "multi_gate: its tensors are not counted"));
    find(&arch, "model.model.word_embeddings.weight");
    arch_free(&arch);
}

// ---- Experts in one tensor

#define GRANITE                                                                                    \
    "{\"model_type\":\"granitemoe\",\"num_hidden_layers\":2,\"intermediate_size\":32,"             \
    "\"tie_word_embeddings\":true,\"logits_scaling\":6.0" EXPERTS("num_local_experts") "," SIZES   \
                                                                                       "}"

// [experts, outputs, inputs], the gate's 32 rows before those of up. One by one there are 24
// matrices and a router instead of two tensors and one: the same parameters.
static void test_family_open_granite_in_both_layouts(void **state) {
    (void)state;
    Arch fused = {0}, separate = {0};
    parse(GRANITE, &fused);
    assert_int_equal(fused.totals.parameters, TIED + 2 * (ATTENTION + NORMS + MOE));
    assert_int_equal(fused.totals.active_all, TIED + 2 * (ATTENTION + NORMS + MOE - 6 * EXPERT));
    assert_int_equal(fused.totals.tensors, 2 + 2 * (4 + 2 + 1 + 2));
    check_fused_gate_up(find(&fused, "model.layers.{L}.block_sparse_moe.input_linear.weight"), 1);
    check_fused_down(find(&fused, "model.layers.{L}.block_sparse_moe.output_linear.weight"), 2);
    parse_as(GRANITE, "expert_layout=separate", &separate);
    assert_int_equal(separate.totals.parameters, fused.totals.parameters);
    assert_int_equal(separate.totals.active_all, fused.totals.active_all);
    assert_int_equal(separate.totals.tensors, 2 + 2 * (4 + 2 + 1 + 24));
    arch_free(&fused);
    arch_free(&separate);
}

// Each matrix of the eight experts is 8 x 32 rows of 64; the rows of one expert are what is cut:
// outputs of w1, inputs of w2.
static void test_family_open_dbrx_cuts_the_rows_of_an_expert(void **state) {
    (void)state;
    Arch arch = {0};
    parse("{\"model_type\":\"dbrx\",\"d_model\":64,\"n_heads\":4,\"n_layers\":2,"
          "\"max_seq_len\":1024,\"vocab_size\":100,\"torch_dtype\":\"bfloat16\","
          "\"attn_config\":{\"clip_qkv\":8,\"kv_n_heads\":2,\"rope_theta\":500000},"
          "\"ffn_config\":{\"ffn_hidden_size\":32,\"moe_num_experts\":8,\"moe_top_k\":2}}",
          &arch);
    uint64_t layer = ATTENTION + NORMS + MOE;
    assert_int_equal(arch.totals.parameters, TABLES + 2 * layer);
    assert_int_equal(arch.totals.active_all, TABLES + 2 * (layer - 6 * EXPERT));
    check_fused_qkv(find(&arch, "transformer.blocks.{L}.norm_attn_norm.attn.Wqkv.weight"));
    const TensorClass *w1 = find(&arch, "transformer.blocks.{L}.ffn.experts.mlp.w1");
    const TensorClass *w2 = find(&arch, "transformer.blocks.{L}.ffn.experts.mlp.w2");
    assert_int_equal(w1->shard, SHARD_EXPERT_COLUMN);
    assert_int_equal(w2->shard, SHARD_EXPERT_ROW);
    for (int i = 0; i < 2; i++) {
        const TensorClass *tensor = i == 0 ? w1 : w2;
        assert_int_equal(tensor->dim_count, 2);
        assert_int_equal(tensor->dims[0], 8 * 32);
        assert_int_equal(tensor->fused_experts, 8);
        assert_int_equal(tensor->axis, 0);
    }
    arch_free(&arch);
}

// Biases of all projections (64 + 32 + 32 + 64) and four sinks; each expert has biases of 2 x 32
// and
// 64. One layer keeps all tokens, the other 8, of 2 x 32 elements each.
static void test_family_open_gpt_oss(void **state) {
    (void)state;
    Arch arch = {0};
    parse("{\"model_type\":\"gpt_oss\",\"num_hidden_layers\":2,\"intermediate_size\":32,"
          "\"attention_bias\":true,\"sliding_window\":8,\"experts_per_token\":2,"
          "\"layer_types\":[\"sliding_attention\",\"full_attention\"]" EXPERTS(
              "num_local_experts") "," SIZES "}",
          &arch);
    uint64_t biased = EXPERT + 2 * 32 + 64;
    uint64_t rest = ATTENTION + 64 + 32 + 32 + 64 + 4 + NORMS + 8 * 64 + 8;
    assert_int_equal(arch.totals.parameters, TABLES + 2 * (rest + 8 * biased));
    assert_int_equal(arch.totals.active_all, TABLES + 2 * (rest + 2 * biased));
    assert_int_equal(arch.totals.kv_B_per_token, 2 * 32 * 2);
    assert_int_equal(arch.totals.window_B_per_sequence, 8 * 2 * 32 * 2);
    // [experts, inputs, outputs], gate and up column by column
    const TensorClass *in = find(&arch, "model.layers.{L}.mlp.experts.gate_up_proj");
    const TensorClass *bias = find(&arch, "model.layers.{L}.mlp.experts.gate_up_proj_bias");
    check_fused_gate_up(in, 2);
    check_fused_gate_up(bias, 1);
    assert_true(in->interleaved && bias->interleaved);
    check_fused_down(find(&arch, "model.layers.{L}.mlp.experts.down_proj"), 1);
    assert_int_equal(find(&arch, "model.layers.{L}.mlp.experts.down_proj_bias")->shard,
                     SHARD_EXPERT_WHOLE);
    arch_free(&arch);
}

// ---- Llama 4

#define LLAMA4(more, beside)                                                                       \
    "{\"model_type\":\"llama4\",\"text_config\":{\"model_type\":\"llama4_text\","                  \
    "\"num_hidden_layers\":4,\"intermediate_size\":32,\"intermediate_size_mlp\":128,"              \
    "\"num_local_experts\":8,\"num_experts_per_tok\":1,\"attention_chunk_size\":16,"               \
    "\"interleave_moe_layer_step\":2," more SIZES "}" beside "}"
#define LLAMA4_DENSE (ATTENTION + NORMS + DENSE)
#define LLAMA4_MOE   (ATTENTION + NORMS + MOE + EXPERT) // with a shared expert

// Experts in layers 1 and 3; all but layer 3 see chunks of 16 tokens.
static void test_family_open_llama4(void **state) {
    (void)state;
    Arch arch = {0}, separate = {0};
    parse(LLAMA4("", ""), &arch);
    assert_int_equal(arch.totals.parameters, TABLES + 2 * LLAMA4_DENSE + 2 * LLAMA4_MOE);
    assert_int_equal(arch.totals.active_all,
                     TABLES + 2 * LLAMA4_DENSE + 2 * (LLAMA4_MOE - 7 * EXPERT));
    assert_int_equal(arch.totals.kv_B_per_token, 2 * 32 * 2);
    assert_int_equal(arch.totals.window_B_per_sequence, 3 * 16 * 2 * 32 * 2);
    assert_true(has_note(&arch, "vision_config.num_hidden_layers: absent, taken as 0"));
    const char *layer = "language_model.model.layers.{L}.feed_forward.experts.";
    char name[128];
    snprintf(name, sizeof name, "%sgate_up_proj", layer);
    check_fused_gate_up(find(&arch, name), 2);
    snprintf(name, sizeof name, "%sdown_proj", layer);
    check_fused_down(find(&arch, name), 1);
    parse(LLAMA4("\"for_llm_compressor\":true,", ""), &separate);
    assert_int_equal(separate.totals.parameters, arch.totals.parameters);
    assert_int_equal(separate.totals.tensors, arch.totals.tensors + 2 * (24 - 2));
    arch_free(&arch);
    arch_free(&separate);
}

// Lists instead of periods: two layers see all tokens, and layer 0 alone has experts.
static void test_family_open_llama4_with_lists(void **state) {
    (void)state;
    Arch arch = {0};
    parse(LLAMA4("\"no_rope_layers\":[1,0,1,0],\"moe_layers\":[0],", ""), &arch);
    assert_int_equal(arch.totals.parameters, TABLES + 3 * LLAMA4_DENSE + LLAMA4_MOE);
    assert_int_equal(arch.totals.kv_B_per_token, 2 * 2 * 32 * 2);
    assert_int_equal(arch.mlps[arch.kinds[arch.kind_of_layer[0]].mlp].experts, 8);
    arch_free(&arch);
    parse(LLAMA4("\"no_rope_layers\":[],\"layer_types\":[\"full_attention\",\"full_attention\","
                 "\"chunked_attention\",\"full_attention\"],",
                 ""),
          &arch);
    assert_int_equal(arch.totals.kv_B_per_token, 3 * 2 * 32 * 2);
    arch_free(&arch);
}

// A tower of two blocks of 16: patches of 3 x 14 x 14, four of them and a class; two LayerNorms
// outside and two in each block; four square matrices and two of 16 x 32 with biases in a block;
// then 32 to 24, 24 to 24, and 24 to the text model's 64.
static void test_family_open_llama4_vision(void **state) {
    (void)state;
    Arch arch = {0};
    parse(LLAMA4("", ",\"vision_config\":{\"model_type\":\"llama4_vision_model\","
                     "\"hidden_size\":16,\"num_hidden_layers\":2,\"intermediate_size\":32,"
                     "\"image_size\":28,\"patch_size\":14,\"num_channels\":3,"
                     "\"projector_input_dim\":24,\"projector_output_dim\":24,"
                     "\"vision_output_dim\":24}"),
          &arch);
    uint64_t outside = 16 * 3 * 14 * 14 + 16 + (4 + 1) * 16 + 2 * 2 * 16;
    uint64_t block = 4 * (16 * 16 + 16) + (32 * 16 + 32) + (16 * 32 + 16) + 2 * 2 * 16;
    uint64_t projector = 24 * 32 + 24 * 24 + 64 * 24;
    assert_int_equal(arch.totals.vision_parameters, outside + 2 * block + projector);
    assert_int_equal(arch.totals.parameters, TABLES + 2 * LLAMA4_DENSE + 2 * LLAMA4_MOE);
    arch_free(&arch);
}

// ---- Gemma 4

#define GEMMA4(more, beside)                                                                       \
    "{\"model_type\":\"gemma4\",\"text_config\":{\"model_type\":\"gemma4_text\","                  \
    "\"num_hidden_layers\":2,\"head_dim\":16,\"global_head_dim\":32,"                              \
    "\"num_global_key_value_heads\":1,\"attention_k_eq_v\":true,\"sliding_window\":8,"             \
    "\"layer_types\":[\"sliding_attention\",\"full_attention\"],\"intermediate_size\":48,"         \
    "\"tie_word_embeddings\":true," more SIZES "}" beside "}"
#define GEMMA4_EXPERTS                                                                             \
    "\"enable_moe_block\":true,\"num_experts\":8,\"top_k_experts\":2,\"moe_intermediate_size\":"   \
    "32,"
// Norms of heads of 16; in the full layer 4 x 32 queries, 32 keys that are values too, and norms of
// heads of 32. Four norms and a scalar in each.
#define GEMMA4_SLIDING (ATTENTION + 2 * 16 + 4 * 64 + 1)
#define GEMMA4_FULL    (2 * 128 * 64 + 32 * 64 + 2 * 32 + 4 * 64 + 1)
#define GEMMA4_DENSE   (3 * 64 * 48)

// Beside the dense block: three norms, experts, and scales of the router's 64 inputs and of its 8
// experts.
static void test_family_open_gemma4(void **state) {
    (void)state;
    Arch arch = {0};
    parse(GEMMA4(GEMMA4_EXPERTS, ""), &arch);
    uint64_t mixed = GEMMA4_DENSE + 3 * 64 + MOE + 64 + 8;
    assert_int_equal(arch.totals.parameters, TIED + GEMMA4_SLIDING + GEMMA4_FULL + 2 * mixed);
    assert_int_equal(arch.totals.active_all, arch.totals.parameters - 2 * 6 * EXPERT);
    assert_int_equal(arch.totals.kv_B_per_token, 2 * 32 * 2);
    assert_int_equal(arch.totals.window_B_per_sequence, 8 * 2 * 32 * 2);
    assert_int_equal(arch.mlps[0].shared_width, 48);
    check_fused_gate_up(find(&arch, "model.language_model.layers.{L}.experts.gate_up_proj"), 1);
    check_fused_down(find(&arch, "model.language_model.layers.{L}.experts.down_proj"), 2);
    arch_free(&arch);
}

static void test_family_open_gemma4_without_experts(void **state) {
    (void)state;
    Arch arch = {0};
    parse(GEMMA4("\"enable_moe_block\":false,\"num_experts\":null,\"top_k_experts\":null,", ""),
          &arch);
    assert_int_equal(arch.totals.parameters,
                     TIED + GEMMA4_SLIDING + GEMMA4_FULL + 2 * GEMMA4_DENSE);
    arch_free(&arch);
    refuse(GEMMA4("\"num_kv_shared_layers\":1,", ""),
           "small.json:1:323: text_config.num_kv_shared_layers: only 0|null is supported for "
           "gemma4; go on as if it were that by --assume num_kv_shared_layers=ignored");
}

// A tower of two blocks of 16 with two heads of 8: patches of 3 x 4 x 4, 10 positions for each of
// two axes; then the text model's 64. A standardised output has a shift and a scale.
static void test_family_open_gemma4_vision(void **state) {
    (void)state;
    Arch arch = {0};
    parse(GEMMA4("", ",\"vision_config\":{\"model_type\":\"gemma4_vision\",\"hidden_size\":16,"
                     "\"num_hidden_layers\":2,\"intermediate_size\":24,\"num_attention_heads\":2,"
                     "\"num_key_value_heads\":2,\"head_dim\":8,\"patch_size\":4,"
                     "\"position_embedding_size\":10,\"standardize\":true}"),
          &arch);
    uint64_t block = 4 * 16 * 16 + 2 * 8 + 3 * 16 * 24 + 4 * 16;
    assert_int_equal(arch.totals.vision_parameters,
                     16 * 3 * 4 * 4 + 2 * 10 * 16 + 2 * block + 2 * 16 + 64 * 16);
    arch_free(&arch);
}

// ---- Jamba

// Four layers: attention in layer 2, Mamba in the others; experts in layers 1 and 3. Mamba has 128
// channels (2 x 64) with 4 values of state each, convolutions over 4 inputs, and a step size from 8
// values: in 256 x 64, convolution 128 x 4 + 128, inputs of dt, B and C (8 + 4 + 4) x 128, dt 128 x
// 8 + 128, A 128 x 4, D 128, norms 8 + 4 + 4, out 64 x 128.
static void test_family_open_jamba(void **state) {
    (void)state;
    Arch arch = {0};
    parse("{\"model_type\":\"jamba\",\"num_hidden_layers\":4,\"intermediate_size\":32,"
          "\"attn_layer_period\":4,\"attn_layer_offset\":2,\"expert_layer_period\":2,"
          "\"expert_layer_offset\":1,\"mamba_expand\":2,\"mamba_d_state\":4,\"mamba_d_conv\":4,"
          "\"mamba_dt_rank\":8" EXPERTS("num_experts") "," SIZES "}",
          &arch);
    uint64_t mamba = 256 * 64 + 128 * 5 + 16 * 128 + 128 * 9 + 128 * 4 + 128 + 16 + 64 * 128;
    assert_int_equal(arch.totals.parameters,
                     TABLES + 4 * NORMS + 3 * mamba + ATTENTION + 2 * EXPERT + 2 * MOE);
    assert_int_equal(arch.totals.kv_B_per_token, 2 * 32 * 2);
    // in F32, and the last three inputs of the convolution in BF16
    assert_int_equal(arch.totals.state_B_per_sequence, 3 * (128 * 4 * 4 + 128 * 3 * 2));
    // the convolved half and the gate are cut one by one
    const TensorClass *in = find(&arch, "model.layers.{L}.mamba.in_proj.weight");
    assert_int_equal(in->segment_count, 2);
    assert_int_equal(in->segments[1].extent, 128);
    assert_int_equal(find(&arch, "model.layers.{L}.mamba.x_proj.weight")->shard, SHARD_ROW);
    arch_free(&arch);
}

// ---- Published sizes of vision towers

// The text model and the tower of Llama 4 Scout together are what its hub page counts,
// 108641793536; 356 tensors of Gemma 4's tower have 1145588832 bytes of BF16.
static void test_family_open_published_towers(void **state) {
    (void)state;
    Err err = {0};
    Arch arch = {0};
    check_shared("models/SOURCES.tsv");
    check_ok(arch_load(check_shared("models/RedHatAI--Llama-4-Scout-17B-16E-Instruct-FP8-dynamic"
                                    ".json"),
                       NULL, 0, &arch, &err),
             &err);
    assert_int_equal(arch.totals.parameters + arch.totals.vision_parameters,
                     UINT64_C(108641793536));
    arch_free(&arch);
    check_ok(arch_load(check_shared("models/google--gemma-4-26B-A4B.json"), NULL, 0, &arch, &err),
             &err);
    assert_int_equal(arch.totals.component_B[COMPONENT_VISION], 1145588832);
    arch_free(&arch);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_family_open_seed_oss),
        cmocka_unit_test(test_family_open_mimo),
        cmocka_unit_test(test_family_open_olmoe),
        cmocka_unit_test(test_family_open_dots1),
        cmocka_unit_test(test_family_open_phimoe),
        cmocka_unit_test(test_family_open_arctic),
        cmocka_unit_test(test_family_open_grok_is_found_by_its_fields),
        cmocka_unit_test(test_family_open_hunyuan),
        cmocka_unit_test(test_family_open_ling_cuts_queries_keys_and_values),
        cmocka_unit_test(test_family_open_ling_v2),
        cmocka_unit_test(test_family_open_ling_1t),
        cmocka_unit_test(test_family_open_ming_notes_what_is_not_counted),
        cmocka_unit_test(test_family_open_granite_in_both_layouts),
        cmocka_unit_test(test_family_open_dbrx_cuts_the_rows_of_an_expert),
        cmocka_unit_test(test_family_open_gpt_oss),
        cmocka_unit_test(test_family_open_llama4),
        cmocka_unit_test(test_family_open_llama4_with_lists),
        cmocka_unit_test(test_family_open_llama4_vision),
        cmocka_unit_test(test_family_open_gemma4),
        cmocka_unit_test(test_family_open_gemma4_without_experts),
        cmocka_unit_test(test_family_open_gemma4_vision),
        cmocka_unit_test(test_family_open_jamba),
        cmocka_unit_test(test_family_open_published_towers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
