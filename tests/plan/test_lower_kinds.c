// The work of single operations by hand, for each kind of attention and feed-forward part.
#include "tests/check.h"

#include "tests/plan/lower_plans.h"

// A model lowered for one phase.
typedef struct Case {
    Arch arch;
    Schedule schedule;
} Case;

static Case open_case(const char *model, Plan plan, Phase phase) {
    Case made = {.arch = lower_plans_load(model)};
    made.schedule = lower_plans_lower(&plan, &made.arch, phase, 1);
    return made;
}

static void close_case(Case *made) {
    schedule_free(&made->schedule);
    arch_free(&made->arch);
}

static const Op *find_op(const Case *made, const char *block, const char *name) {
    for (uint32_t i = 0; i < made->schedule.op_count; i++) {
        const Op *op = &made->schedule.ops[i];
        if (strcmp(op->name, name) == 0 &&
            strcmp(made->schedule.blocks[op->block].name, block) == 0)
            return op;
    }
    fail_msg("no operation \"%s\" in a block \"%s\"", name, block);
    return NULL;
}

static uint32_t count_ops(const Case *made, const char *name) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < made->schedule.op_count; i++)
        count += strcmp(made->schedule.ops[i].name, name) == 0;
    return count;
}

static uint64_t value(Extent extent, StepShape shape) {
    return extent_value(&extent, &shape);
}

static void check_gemm(const Op *op, uint32_t n, uint32_t k, uint32_t batch) {
    assert_int_equal(op->compute.n, n);
    assert_int_equal(op->compute.k, k);
    assert_int_equal(op->compute.batch, batch);
}

// ---- Weights.

// Bytes of scales beside gate and up of an expert, 4096 x 7168 weights: NVFP4 has one for 16, int4
// a bf16 for 32; MXFP4 has one for 32, here of 6144 x 3584, or of a half where two ranks share an
// expert. Scales of FP8 blocks are not counted.
static void test_lower_kinds_scales_are_those_of_the_checkpoint(void **state) {
    (void)state;
    static const struct {
        const char *model, *block;
        uint32_t tp, ep, scale_B;
    } cases[] = {
        {"deepseek-v3.1-nvfp4", "layers mla + moe", 1, 8, 4096 * 7168 / 16},
        {"kimi-k2.5", "layers mla + moe", 1, 8, 4096 * 7168 / 32 * 2},
        {"kimi-k3", "layers mla + moe", 1, 8, 6144 * 3584 / 32},
        {"kimi-k3", "layers mla + moe", 2, 4, 6144 * 3584 / 32 / 2},
        {"deepseek-v3", "layers mla + moe", 1, 8, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[64];
        snprintf(path, sizeof path, "scenarios/models/%s.json", cases[i].model);
        Case made = open_case(path, lower_plans_make(cases[i].tp, 1, 8 / cases[i].tp, cases[i].ep),
                              PHASE_DECODE);
        const Op *op = find_op(&made, cases[i].block, "experts_gate_up");
        assert_int_equal(op->compute.scale_B, cases[i].scale_B);
        close_case(&made);
    }
}

// ---- Caches.

// gpt-oss-20b: 64 heads of 64, 8 KV heads, every other layer with a window of 128 tokens. 64
// sequences at 4096 tokens: pairs 64 x 128, each 2 x 64 x (64 + 64) flop; 64 x 128 cached tokens of
// 2 x 8 x 64 x 2 = 2048 bytes are read, and 5120 + 4096 elements of queries, keys, values and heads
// a token. Layers without a window read all 64 x 4096.
static void test_lower_kinds_window_bounds_what_is_attended_to(void **state) {
    (void)state;
    Case made =
        open_case("scenarios/models/gpt-oss-20b.json", lower_plans_make(1, 1, 1, 1), PHASE_DECODE);
    StepShape shape = step_shape_decode(64, 4096);
    const Op *near = find_op(&made, "layers gqa + moe", "window_attention");
    const Op *far = find_op(&made, "layers gqa + moe", "attention");
    assert_int_equal(value(near->compute.flop, shape), 64 * 128 * 2 * 64 * 128);
    assert_int_equal(value(near->compute.bytes, shape), 64 * (128 * 2048 + 2 * (5120 + 4096)));
    assert_int_equal(value(far->compute.flop, shape), UINT64_C(64) * 4096 * 2 * 64 * 128);
    close_case(&made);
}

// DeepSeek-V3.2: 64 index heads of 128 score all 4096 tokens of each of 64 sequences, 64 x (2 x 128
// + 2) flop a pair; attention reads the 2048 that were picked, 278,528 flop each as in V3.
static void test_lower_kinds_indexer_scores_all_and_attends_to_few(void **state) {
    (void)state;
    Case made = open_case("scenarios/models/deepseek-v3.2.json", lower_plans_make(1, 1, 8, 8),
                          PHASE_DECODE);
    StepShape shape = step_shape_decode(64, 4096);
    const Op *scores = find_op(&made, "layers mla + moe", "index_top_k");
    const Op *attention = find_op(&made, "layers mla + moe", "mla_absorbed");
    assert_int_equal(value(scores->compute.flop, shape), UINT64_C(64) * 4096 * 64 * 258);
    assert_int_equal(value(attention->compute.flop, shape), UINT64_C(64) * 2048 * 278528);
    Extent cache = {.per_kv = attention->compute.bytes.per_kv,
                    .window = attention->compute.bytes.window};
    assert_int_equal(value(cache, shape), 64 * 2048 * 1152);
    close_case(&made);
}

// Prefill attends in the latent space too. A chunk of 4096 tokens at the start of a prompt: the
// first 2048 attend to 1, 2, .. 2048 tokens, the others to 2048 each; all 4096 are read.
static void test_lower_kinds_indexer_bounds_the_pairs_of_a_chunk(void **state) {
    (void)state;
    Case made = open_case("scenarios/models/deepseek-v3.2.json", lower_plans_make(1, 1, 8, 8),
                          PHASE_PREFILL);
    StepShape shape = step_shape_prefill(4096, 0);
    const Op *attention = find_op(&made, "layers mla + moe", "mla_absorbed");
    uint64_t pairs = UINT64_C(2048) * 2049 / 2 + UINT64_C(2048) * 2048;
    assert_int_equal(value(attention->compute.flop, shape), pairs * 278528);
    Extent cache = {.per_kv = attention->compute.bytes.per_kv,
                    .window = attention->compute.bytes.window};
    assert_int_equal(value(cache, shape), 4096 * 1152);
    close_case(&made);
}

// GLM-5.2: three kinds of layers, of which one uses the picks of the layer before.
static void test_lower_kinds_shared_picks_have_no_indexer(void **state) {
    (void)state;
    Case made =
        open_case("scenarios/models/glm-5.2.json", lower_plans_make(1, 1, 8, 8), PHASE_DECODE);
    assert_int_equal(count_ops(&made, "index_top_k"), 2);
    assert_int_equal(count_ops(&made, "mla_absorbed"), 3);
    for (uint32_t i = 0; i < made.schedule.op_count; i++) {
        if (strcmp(made.schedule.ops[i].name, "mla_absorbed") == 0)
            assert_int_equal(made.schedule.ops[i].compute.flop.window, 2048);
    }
    close_case(&made);
}

// DeepSeek-V4-Flash at 4096 tokens: layers of ratio 4 attend to a window of 128 tokens and to 512
// picked ones of 1024 entries, those of ratio 128 to the window and all 32 entries; 64 heads of
// 512 + 512, 2 flop each. The first two layers have the window alone. An entry is 512 x 2 bytes.
static void test_lower_kinds_compressed_attends_to_window_and_entries(void **state) {
    (void)state;
    Case made = open_case("scenarios/models/deepseek-v4-flash.json", lower_plans_make(1, 1, 8, 8),
                          PHASE_DECODE);
    StepShape shape = step_shape_decode(64, 4096);
    static const uint64_t attended[] = {128, 128 + 512, 128 + 32};
    static const uint64_t io_B = 2 * 2 * 64 * 512; // queries and heads of a token
    uint32_t seen[3] = {0};
    for (uint32_t i = 0; i < made.schedule.op_count; i++) {
        const Op *op = &made.schedule.ops[i];
        if (strcmp(op->name, "compressed_attention") != 0) continue;
        uint64_t ratio = op->compute.flop.divide;
        uint32_t which = ratio == 4 ? 1 : ratio == 128 ? 2 : 0;
        uint64_t pairs = 64 * attended[which];
        assert_int_equal(value(op->compute.flop, shape), pairs * 2 * 64 * 1024);
        assert_int_equal(value(op->compute.bytes, shape), pairs * 1024 + 64 * io_B);
        seen[which]++;
    }
    assert_true(seen[0] > 0 && seen[1] > 0 && seen[2] > 0);
    // 64 index heads of 128 score the 1024 entries
    const Op *scores = find_op(&made, "layers compressed + moe", "index_top_k");
    assert_int_equal(value(scores->compute.flop, shape), UINT64_C(64) * 1024 * 64 * 258);
    close_case(&made);
}

// 8 groups of 8 heads x 512 by 1024 rows each; on one of 4 ranks two groups. Four streams of 4096
// are mixed by 24 rows twice in a layer, and by 4 rows in front of the head.
static void test_lower_kinds_compressed_projects_groups_and_mixes_streams(void **state) {
    (void)state;
    Case made = open_case("scenarios/models/deepseek-v4-flash.json", lower_plans_make(4, 1, 1, 1),
                          PHASE_DECODE);
    check_gemm(find_op(&made, "layers compressed + moe", "o_a_proj"), 1024, 4096, 2);
    check_gemm(find_op(&made, "layers compressed + moe", "o_proj"), 4096, 2048, 1);
    check_gemm(find_op(&made, "layers compressed + moe", "stream_mix"), 24, 4 * 4096, 1);
    assert_int_equal(count_ops(&made, "stream_mix"), 2 * (made.schedule.block_count - 2));
    check_gemm(find_op(&made, "head", "stream_head"), 4, 4 * 4096, 1);
    close_case(&made);
}

// Step-3: 64 heads of 256 out of a shared projection of 2048, which is whole on both ranks beside
// the one KV head: 2048 + 2 x 256 rows, then 32 x 256.
static void test_lower_kinds_queries_through_a_shared_projection(void **state) {
    (void)state;
    Case made =
        open_case("scenarios/models/step3.json", lower_plans_make(2, 1, 1, 1), PHASE_DECODE);
    check_gemm(find_op(&made, "layers gqa + dense", "qkv_proj"), 2560, 7168, 1);
    check_gemm(find_op(&made, "layers gqa + dense", "q_up_proj"), 8192, 2048, 1);
    close_case(&made);
}

// MiMo-V2-Flash, full layers: keys of 192 and values of 128, 64 query and 4 KV heads.
static void test_lower_kinds_keys_may_be_wider_than_values(void **state) {
    (void)state;
    Case made = open_case("scenarios/models/mimo-v2-flash.json", lower_plans_make(1, 1, 1, 1),
                          PHASE_DECODE);
    StepShape shape = step_shape_decode(2, 1000);
    const Op *op = find_op(&made, "layers gqa + moe", "attention");
    assert_int_equal(value(op->compute.flop, shape), 2 * 1000 * 2 * 64 * (192 + 128));
    assert_int_equal(op->compute.bytes.per_kv, 4 * (192 + 128) * 2);
    close_case(&made);
}

// ---- States.

// Qwen3-Next: 32 value heads with a state of 128 x 128: 7 flop an element in decode, and in chunks
// of 64 tokens 6 x 128 x 128 + 3 x 64 x 128 + 64 x 64 a token and head. Read and written in f32
// once per sequence; a convolution of 4 taps over 2 x 2048 + 4096 channels.
static void test_lower_kinds_gated_delta_by_hand(void **state) {
    (void)state;
    static const char model[] = "scenarios/models/qwen3-next-80b-a3b.json";
    static const char block[] = "layers gated delta + moe";
    Plan plan = lower_plans_make(1, 1, 8, 8);
    Case decode = open_case(model, plan, PHASE_DECODE);
    const Op *step = find_op(&decode, block, "state_step");
    assert_int_equal(step->compute.flop.per_token, 7 * 32 * 128 * 128);
    assert_int_equal(step->compute.bytes.per_sequence, 2 * 4 * 32 * 128 * 128);
    const Op *filter = find_op(&decode, block, "convolution");
    assert_int_equal(filter->compute.bytes.per_sequence, 2 * 3 * 2 * 8192);
    check_gemm(find_op(&decode, block, "in_proj"), 12288 + 64, 2048, 1);
    Case prefill = open_case(model, plan, PHASE_PREFILL);
    assert_int_equal(find_op(&prefill, block, "state_chunks")->compute.flop.per_token,
                     32 * (6 * 16384 + 3 * 64 * 128 + 64 * 64));
    close_case(&decode);
    close_case(&prefill);
}

// MiniMax-M2.5 norms queries and keys over all 48 + 8 heads of 128 at once: one of two ranks reads
// 28 of them and adds two f32 a token to those of the other. A rank alone has nothing to add, and
// Qwen3, which norms each head, never.
static void test_lower_kinds_wide_norm_sums_squares_over_tp(void **state) {
    (void)state;
    static const char model[] = "scenarios/models/minimax-m2.5.json", block[] = "layers gqa + moe";
    Case two = open_case(model, lower_plans_make(2, 1, 1, 1), PHASE_DECODE);
    Case one = open_case(model, lower_plans_make(1, 1, 8, 8), PHASE_DECODE);
    Case heads = open_case("scenarios/models/qwen3-30b-a3b.json", lower_plans_make(2, 1, 1, 1),
                           PHASE_DECODE);
    StepShape shape = step_shape_decode(64, 4096);
    const Op *sum = find_op(&two, block, "norm_all_reduce");
    assert_int_equal(value(sum->comm.bytes, shape), 64 * 2 * 4);
    assert_int_equal(sum->comm.format, NUMFMT_F32);
    assert_int_equal(value(find_op(&two, block, "norm_sums")->compute.bytes, shape),
                     64 * (28 * 128 * 2 + 2 * 4));
    assert_int_equal(count_ops(&one, "norm_sums") + count_ops(&one, "norm_all_reduce"), 0);
    assert_int_equal(count_ops(&heads, "norm_sums") + count_ops(&heads, "norm_all_reduce"), 0);
    close_case(&two);
    close_case(&one);
    close_case(&heads);
}

// MiniMax-M1: 64 heads of 128 x 128; 5 flop an element in decode, in blocks of 256 tokens 4 x 128 x
// 128 + 256 x 256 a token and head; queries, keys, values and the gate are one projection. The norm
// of all results needs one sum of squares over the ranks.
static void test_lower_kinds_lightning_by_hand(void **state) {
    (void)state;
    static const char model[] = "scenarios/models/minimax-m1.json";
    static const char block[] = "layers lightning + moe";
    Case decode = open_case(model, lower_plans_make(2, 1, 1, 1), PHASE_DECODE);
    Case prefill = open_case(model, lower_plans_make(2, 1, 1, 1), PHASE_PREFILL);
    assert_int_equal(find_op(&decode, block, "state_step")->compute.flop.per_token,
                     5 * 32 * 128 * 128);
    assert_int_equal(find_op(&prefill, block, "state_chunks")->compute.flop.per_token,
                     32 * (4 * 128 * 128 + 256 * 256));
    check_gemm(find_op(&decode, block, "in_proj"), 4 * 8192 / 2, 6144, 1);
    assert_int_equal(find_op(&decode, block, "norm_all_reduce")->comm.bytes.per_token, 4);
    close_case(&decode);
    close_case(&prefill);
}

// Nemotron-3-Nano on two ranks: 32 of 64 heads of 64 with 128 states, 4 of 8 groups: rows 2 x 2048
// + 32 + 2 x 512. 5 flop an element; in chunks of 128, 32 x (4 x 64 x 128 + 128 x 64) + 4 x 128 x
// 128 a token. The layers have no feed-forward part, and those with experts no attention.
static void test_lower_kinds_mamba2_by_hand(void **state) {
    (void)state;
    static const char model[] = "scenarios/models/nemotron-3-nano-30b-a3b.json";
    static const char block[] = "layers mamba-2 + none";
    Case decode = open_case(model, lower_plans_make(2, 1, 1, 1), PHASE_DECODE);
    Case prefill = open_case(model, lower_plans_make(2, 1, 1, 1), PHASE_PREFILL);
    check_gemm(find_op(&decode, block, "in_proj"), 2 * 2048 + 32 + 2 * 512, 2688, 1);
    assert_int_equal(find_op(&decode, block, "state_step")->compute.flop.per_token,
                     5 * 32 * 64 * 128);
    assert_int_equal(find_op(&prefill, block, "state_chunks")->compute.flop.per_token,
                     32 * (4 * 64 * 128 + 128 * 64) + 4 * 128 * 128);
    // two matrices: up has the width of an expert, not twice that
    check_gemm(find_op(&decode, "layers none + moe", "experts_gate_up"), 1856 / 2, 2688, 1);
    close_case(&decode);
    close_case(&prefill);
}

// Jamba on two ranks: 4096 of 8192 channels of 16 states. Step sizes (256), B and C (16 each) come
// from all channels: 288 rows, summed over the ranks.
static void test_lower_kinds_mamba1_sums_its_inputs(void **state) {
    (void)state;
    static const char block[] = "layers mamba-1 + moe";
    Case made =
        open_case("scenarios/models/jamba-v0.1.json", lower_plans_make(2, 1, 1, 1), PHASE_PREFILL);
    StepShape shape = step_shape_prefill(100, 0);
    check_gemm(find_op(&made, block, "x_proj"), 288, 4096, 1);
    check_gemm(find_op(&made, block, "dt_proj"), 4096, 256, 1);
    assert_int_equal(value(find_op(&made, block, "x_all_reduce")->comm.bytes, shape),
                     100 * 288 * 2);
    const Op *scan = find_op(&made, block, "state_step");
    assert_int_equal(scan->compute.flop.per_token, 7 * 4096 * 16);
    assert_int_equal(scan->compute.bytes.per_sequence, 2 * 4 * 4096 * 16);
    close_case(&made);
}

// ---- Feed-forward parts.

// LongCat: two attentions and two dense parts of 12288 in a layer. The router has 512 + 256 rows;
// of 12 chosen experts 12 x 512 / 768 = 8 compute.
static void test_lower_kinds_longcat_has_two_blocks_and_zero_experts(void **state) {
    (void)state;
    static const char block[] = "layers mla + moe";
    Case made = open_case("scenarios/models/longcat-flash.json", lower_plans_make(1, 1, 8, 8),
                          PHASE_DECODE);
    StepShape shape = step_shape_decode(64, 1000);
    assert_int_equal(count_ops(&made, "mla_absorbed"), 2);
    assert_int_equal(count_ops(&made, "gate_up_proj"), 2);
    check_gemm(find_op(&made, block, "gate_up_proj"), 2 * 12288, 6144, 1);
    check_gemm(find_op(&made, block, "router"), 768, 6144, 1);
    const Op *experts = find_op(&made, block, "experts_gate_up");
    assert_int_equal(value(experts->compute.m, shape), 8 * 64 * 8);
    assert_int_equal(value(find_op(&made, block, "combine")->comm.bytes, shape), 64 * 8 * 6144 * 2);
    close_case(&made);
}

// gpt-oss: 32 experts in one tensor, 4-bit codes of 2880 gate and 2880 up rows.
static void test_lower_kinds_stacked_experts_are_cut_one_by_one(void **state) {
    (void)state;
    Case made =
        open_case("scenarios/models/gpt-oss-20b.json", lower_plans_make(2, 1, 1, 2), PHASE_DECODE);
    const Op *in = find_op(&made, "layers gqa + moe", "experts_gate_up");
    const Op *back = find_op(&made, "layers gqa + moe", "experts_down");
    check_gemm(in, 5760, 2880, 1);
    check_gemm(back, 2880, 2880, 1);
    assert_int_equal(in->compute.experts, 16);
    assert_int_equal(in->compute.weight_format, NUMFMT_FP4);
    close_case(&made);
}

// ---- What is refused.

static void test_lower_kinds_refuses_a_matrix_that_nothing_reads(void **state) {
    (void)state;
    Arch arch = lower_plans_load(QWEN);
    Err err = {{0}};
    check_ok(lower_check(&arch, &err), &err);
    TensorClass *tensor = arch.tensors;
    while (tensor->component != COMPONENT_ATTENTION || tensor->shard != SHARD_ROW) tensor++;
    tensor->use = TENSOR_STEP;
    check_fails(lower_check(&arch, &err), &err,
                "qwen3-235b-a22b cannot be priced: no operation is known that reads "
                "model.layers.{L}.self_attn.o_proj.weight (attention)");
    tensor->use = TENSOR_TABLE;
    check_fails(lower_check(&arch, &err), &err,
                "qwen3-235b-a22b cannot be priced: gqa attention lacks one of its projections");
    arch_free(&arch);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lower_kinds_scales_are_those_of_the_checkpoint),
        cmocka_unit_test(test_lower_kinds_window_bounds_what_is_attended_to),
        cmocka_unit_test(test_lower_kinds_indexer_scores_all_and_attends_to_few),
        cmocka_unit_test(test_lower_kinds_indexer_bounds_the_pairs_of_a_chunk),
        cmocka_unit_test(test_lower_kinds_shared_picks_have_no_indexer),
        cmocka_unit_test(test_lower_kinds_compressed_attends_to_window_and_entries),
        cmocka_unit_test(test_lower_kinds_compressed_projects_groups_and_mixes_streams),
        cmocka_unit_test(test_lower_kinds_queries_through_a_shared_projection),
        cmocka_unit_test(test_lower_kinds_keys_may_be_wider_than_values),
        cmocka_unit_test(test_lower_kinds_gated_delta_by_hand),
        cmocka_unit_test(test_lower_kinds_wide_norm_sums_squares_over_tp),
        cmocka_unit_test(test_lower_kinds_lightning_by_hand),
        cmocka_unit_test(test_lower_kinds_mamba2_by_hand),
        cmocka_unit_test(test_lower_kinds_mamba1_sums_its_inputs),
        cmocka_unit_test(test_lower_kinds_longcat_has_two_blocks_and_zero_experts),
        cmocka_unit_test(test_lower_kinds_stacked_experts_are_cut_one_by_one),
        cmocka_unit_test(test_lower_kinds_refuses_a_matrix_that_nothing_reads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
