// Plans: who holds what, and what a plan may be.
#include "tests/check.h"

#include "model/plan/plan.h"
#include "model/plan/plan_legal.h"
#include "tests/plan/hand_arch.h"
#include "tests/plan/hand_plan.h"

// One unified pool; ep 0 spreads the experts over all ranks of a stage.
static Plan make(uint32_t tp, uint32_t pp, uint32_t dp, uint32_t ep, uint32_t replicas) {
    Plan plan = hand_plan(tp, pp, dp, ep > 0 ? ep : tp * dp);
    plan.pools[0].replicas = replicas;
    return plan;
}

// ---- Numbering.

// 896 = 72 x 12 + 32: the first 32 positions hold 13 experts, the other 40 hold 12.
static void test_plan_experts_leave_a_remainder_to_the_first(void **state) {
    (void)state;
    Plan plan = make(4, 1, 18, 72, 1);
    uint32_t first, count, next = 0, thirteen = 0;
    for (uint32_t i = 0; i < 72; i++) {
        pool_experts(&plan.pools[0], 896, i, &first, &count);
        assert_int_equal(first, next);
        assert_int_equal(count, i < 32 ? 13 : 12);
        thirteen += count == 13;
        next += count;
    }
    assert_int_equal(next, 896);
    assert_int_equal(thirteen, 32);
}

// 93 = 4 x 23 + 1: stages of 24, 23, 23 and 23 layers.
static void test_plan_stage_layers_are_even_with_leftovers_first(void **state) {
    (void)state;
    Plan plan = make(8, 4, 1, 0, 1);
    const uint32_t want[4][2] = {{0, 24}, {24, 23}, {47, 23}, {70, 23}};
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t first, count;
        pool_stage_layers(&plan.pools[0], 93, i, &first, &count);
        assert_int_equal(first, want[i][0]);
        assert_int_equal(count, want[i][1]);
    }
}

// 2 replicas of 3 stages of 4 x 2 ranks: 8, 24 and 48.
static void test_plan_counts_ranks(void **state) {
    (void)state;
    Plan plan = make(2, 3, 4, 0, 2);
    assert_int_equal(pool_stage_ranks(&plan.pools[0]), 8);
    assert_int_equal(pool_replica_ranks(&plan.pools[0]), 24);
    assert_int_equal(pool_ranks(&plan.pools[0]), 48);
    assert_int_equal(plan_gpus(&plan), 48);
}

// ---- Text.

static void test_plan_label_and_product_spell_the_plan_out(void **state) {
    (void)state;
    char text[PLAN_TEXT_MAX];
    Plan plan = make(4, 1, 18, 72, 1);
    assert_string_equal(plan_label(&plan, text), "TP4 PP1 DP18 EP72 x1");
    assert_string_equal(plan_gpu_product(&plan, text), "72 = 4 tp x 18 dp x 1 pp x 1 replica");
    plan.pools[0].moe_comm = MOE_COMM_GATHER;
    assert_string_equal(plan_label(&plan, text), "TP4 PP1 DP18 EP72 x1 gather");
    plan = make(8, 1, 1, 8, 9);
    assert_string_equal(plan_gpu_product(&plan, text), "72 = 8 tp x 1 dp x 1 pp x 9 replicas");
}

static void check_overlap_label(Overlap prefill, Overlap decode, uint32_t chunks,
                                const char *want) {
    char text[PLAN_TEXT_MAX];
    Plan plan = make(4, 1, 18, 72, 1);
    plan.pools[0].prefill_overlap = prefill;
    plan.pools[0].decode_overlap = decode;
    plan.pools[0].moe_chunks = chunks;
    assert_string_equal(plan_label(&plan, text), want);
}

static void test_plan_label_says_what_overlaps(void **state) {
    (void)state;
    const Overlap shared = OVERLAP_SHARED, none = OVERLAP_NONE, halves = OVERLAP_TWO_BATCH;
    check_overlap_label(halves, halves, 0, "TP4 PP1 DP18 EP72 x1 tbo");
    check_overlap_label(halves, shared, 0, "TP4 PP1 DP18 EP72 x1 tbo-prefill");
    check_overlap_label(shared, halves, 0, "TP4 PP1 DP18 EP72 x1 tbo-decode");
    check_overlap_label(none, none, 0, "TP4 PP1 DP18 EP72 x1 serial");
    check_overlap_label(none, halves, 0, "TP4 PP1 DP18 EP72 x1 serial-prefill tbo-decode");
    check_overlap_label(halves, none, 0, "TP4 PP1 DP18 EP72 x1 tbo-prefill serial-decode");
    check_overlap_label(shared, shared, 4, "TP4 PP1 DP18 EP72 x1 chunks 4");
}

static void test_plan_label_says_how_experts_lie(void **state) {
    (void)state;
    char text[PLAN_TEXT_MAX];
    Plan plan = make(1, 1, 72, 72, 1);
    plan.pools[0].expert_placement = EXPERT_PLACEMENT_EPLB;
    assert_string_equal(plan_label(&plan, text), "TP1 PP1 DP72 EP72 x1 eplb");
    plan.pools[0].redundant_experts = 32;
    plan.pools[0].moe_comm = MOE_COMM_GATHER;
    assert_string_equal(plan_label(&plan, text), "TP1 PP1 DP72 EP72 x1 +32r gather");
}

// Ranks that share prompts count; those that share a cache are those of TP.
static void test_plan_label_of_context_parallelism(void **state) {
    (void)state;
    char text[PLAN_TEXT_MAX];
    Err err = {0};
    Plan plan = make(8, 1, 1, 8, 1), other = plan;
    plan.pools[0].moe_comm = MOE_COMM_NONE;
    plan.pools[0].dcp = 4;
    check_ok(plan_check(&plan, &err), &err);
    assert_true(plan_digest(&plan) != plan_digest(&other));
    assert_string_equal(plan_label(&plan, text), "TP8 PP1 DP1 EP8 x1 DCP4");
    assert_string_equal(plan_gpu_product(&plan, text), "8 = 8 tp x 1 dp x 1 pp x 1 replica");
    plan = make(2, 1, 4, 8, 1);
    plan.pools[0].dp = 1;
    plan.pools[0].cp = 4;
    check_ok(plan_check(&plan, &err), &err);
    assert_string_equal(plan_label(&plan, text), "TP2 PP1 DP1 EP8 x1 PCP4");
    assert_string_equal(plan_gpu_product(&plan, text), "8 = 2 tp x 4 cp x 1 dp x 1 pp x 1 replica");
    assert_int_equal(plan_gpus(&plan), 8);
}

// Eight pools do not fit into one cell of a table: the label ends, and the buffer holds.
static void test_plan_label_of_many_pools_is_cut(void **state) {
    (void)state;
    char text[PLAN_TEXT_MAX];
    Plan plan = {.pool_count = PLAN_POOLS_MAX};
    for (uint32_t i = 0; i < PLAN_POOLS_MAX; i++) plan.pools[i] = make(8, 1, 1, 8, 1).pools[0];
    plan_label(&plan, text);
    assert_true(strlen(text) < PLAN_TEXT_MAX);
    assert_string_equal(text + strlen(text) - 3, "...");
    plan_gpu_product(&plan, text);
    assert_true(strlen(text) < PLAN_TEXT_MAX);
}

static void test_plan_digest_depends_on_each_decision(void **state) {
    (void)state;
    Plan plan = make(4, 1, 18, 72, 1), other = plan;
    assert_true(plan_digest(&plan) == plan_digest(&other));
    other.pools[0].moe_comm = MOE_COMM_GATHER;
    assert_true(plan_digest(&plan) != plan_digest(&other));
    other = plan;
    other.pools[0].kv_format = NUMFMT_FP8;
    assert_true(plan_digest(&plan) != plan_digest(&other));
    other = make(18, 1, 4, 72, 1);
    assert_true(plan_digest(&plan) != plan_digest(&other));
}

// ---- Consistency.

static void expect_wrong(const Plan *plan, const char *message) {
    Err err = {0};
    check_fails(plan_check(plan, &err), &err, message);
}

static void test_plan_check_names_the_contradiction(void **state) {
    (void)state;
    Err err = {0};
    Plan plan = make(4, 1, 18, 72, 1);
    check_ok(plan_check(&plan, &err), &err);
    plan.pools[0].ep = 36;
    expect_wrong(&plan, "pools[0]: ep 36 x moe_tp 1 is 36 ranks, expected tp 4 x dp 18 = 72");
    plan = make(4, 1, 18, 72, 1);
    plan.pools[0].pp = 0;
    expect_wrong(&plan, "pools[0]: pp is 0, expected at least 1");
    plan = make(4, 1, 18, 72, 1);
    plan.pools[0].cp = 2;
    expect_wrong(&plan,
                 "pools[0]: ep 72 x moe_tp 1 is 72 ranks, expected tp 4 x dp 18 x cp 2 = 144");
    plan = make(4, 1, 18, 72, 1);
    plan.pools[0].dcp = 1;
    expect_wrong(&plan, "pools[0]: dcp is 1, expected 0 (none) or 2 and more");
    plan.pools[0].dcp = 3;
    expect_wrong(&plan, "pools[0]: dcp 3 does not divide tp 4");
    plan = make(2, 1, 4, 8, 1);
    plan.pools[0].dp = 2, plan.pools[0].cp = 2, plan.pools[0].dcp = 2;
    expect_wrong(&plan, "pools[0]: dcp 2 with cp 2, expected one of them");
    plan.pools[0].dcp = 0;
    plan.pools[0].kind = POOL_DECODE;
    expect_wrong(&plan, "pools[0]: cp is 2 in a decode pool, expected 1: it cuts prompts");
    plan = make(4, 1, 18, 72, 1);
    plan.pools[0].redundant_experts = 8;
    expect_wrong(&plan,
                 "pools[0]: redundant_experts is 8 with expert_placement \"linear\", expected "
                 "\"eplb\"");
    plan.pools[0].expert_placement = EXPERT_PLACEMENT_EPLB;
    check_ok(plan_check(&plan, &err), &err);
    plan = make(4, 1, 18, 1, 1);
    plan.pools[0].expert_placement = EXPERT_PLACEMENT_EPLB;
    expect_wrong(&plan, "pools[0]: expert_placement \"eplb\" with ep 1, expected an ep above 1");
    plan = make(4, 1, 18, 72, 1);
    plan.pools[0].all_to_all = ALGORITHM_ONE_SHOT;
    expect_wrong(&plan, "pools[0]: all_to_all cannot be \"one-shot\"");
    plan.pools[0].all_to_all = ALGORITHM_AUTO; // left to simulation
    check_ok(plan_check(&plan, &err), &err);
    plan = (Plan){0};
    expect_wrong(&plan, "0 pools, expected 1 to 8");
}

static void test_plan_check_overlaps_only_what_travels(void **state) {
    (void)state;
    Err err = {0};
    Plan plan = make(4, 1, 18, 72, 1);
    plan.pools[0].prefill_overlap = OVERLAP_TWO_BATCH;
    plan.pools[0].prefill_sms = 20;
    check_ok(plan_check(&plan, &err), &err);
    plan.pools[0].moe_chunks = 2;
    expect_wrong(&plan, "pools[0]: moe_chunks is 2 with overlap \"two-batch\", expected 0");
    plan.pools[0].prefill_overlap = OVERLAP_SHARED;
    check_ok(plan_check(&plan, &err), &err);
    plan.pools[0].moe_chunks = 1;
    expect_wrong(&plan, "pools[0]: moe_chunks is 1, expected 0 or 2 to 16");
    plan.pools[0].moe_chunks = 17;
    expect_wrong(&plan, "pools[0]: moe_chunks is 17, expected 0 or 2 to 16");
    plan.pools[0].moe_chunks = 0;
    plan.pools[0].moe_comm = MOE_COMM_GATHER;
    expect_wrong(&plan, "pools[0]: prefill_sms with moe_comm \"gather\" and ep 72, expected "
                        "\"all-to-all\" and an ep above 1");
    plan = make(4, 1, 18, 1, 1);
    plan.pools[0].decode_overlap = OVERLAP_TWO_BATCH;
    expect_wrong(&plan, "pools[0]: decode_overlap with moe_comm \"all-to-all\" and ep 1, expected "
                        "\"all-to-all\" and an ep above 1");
}

// 65,536 to the fourth power is 2^64, which is 0 in 64 bits.
static void test_plan_check_refuses_products_that_wrap(void **state) {
    (void)state;
    Plan plan = make(1, 1, 1, 1, 1);
    plan.pools[0].tp = plan.pools[0].dp = plan.pools[0].pp = plan.pools[0].replicas = 65536;
    expect_wrong(&plan, "pools[0]: tp x dp x pp x replicas is over 1000000 ranks");
}

// 8 ranks from GPU 0 and 8 from GPU 4 share GPUs 4 to 7; from GPU 8 they do not.
static void test_plan_check_keeps_pools_apart(void **state) {
    (void)state;
    Err err = {0};
    Plan plan = make(8, 1, 1, 8, 1);
    plan.pools[0].kind = POOL_PREFILL;
    plan.pools[1] = plan.pools[0];
    plan.pools[1].kind = POOL_DECODE;
    plan.pools[1].first_gpu = 4;
    plan.pool_count = 2;
    expect_wrong(&plan, "pools[0] on GPUs 0-7 and pools[1] on GPUs 4-11 overlap");
    plan.pools[1].first_gpu = 8;
    plan.transfers[0] = (KvTransfer){0, 1};
    plan.transfer_count = 1;
    check_ok(plan_check(&plan, &err), &err);
    plan.transfers[0].to_pool = 2;
    expect_wrong(&plan, "transfers[0] goes from pool 0 to pool 2, expected two of 2 pools");
}

// ---- Rules of structure.

static void expect_illegal(const Plan *plan, const Arch *arch, PlanRule rule, const char *message) {
    Err err = {0};
    check_fails(plan_legal(plan, arch, &err), &err, message);
    assert_int_equal(plan_legal_fault(plan, arch, &err).rule, rule);
}

static void test_plan_legal_tp_divides_heads(void **state) {
    (void)state;
    Arch arch;
    hand_arch_kimi_small(&arch);
    Err err = {0};
    Plan plan = make(5, 1, 1, 5, 1);
    expect_illegal(&plan, &arch, PLAN_RULE_HEADS, "tp 5 does not divide 96 kda heads");
    plan = make(12, 1, 1, 12, 1);
    check_ok(plan_legal(&plan, &arch, &err), &err);
    arch_free(&arch);
    hand_arch_deepseek_v3(&arch);
    expect_illegal(&plan, &arch, PLAN_RULE_HEADS, "tp 12 does not divide 128 query heads");
    arch_free(&arch);
}

// 4 KV heads: TP 2 and 4 cut them, TP 8 and 16 replicate them, whole times.
static void test_plan_legal_kv_heads_are_cut_or_replicated(void **state) {
    (void)state;
    Arch arch;
    hand_arch_qwen3_30b(&arch);
    Err err = {0};
    for (uint32_t tp = 1; tp <= 16; tp *= 2) {
        Plan plan = make(tp, 1, 1, tp, 1);
        check_ok(plan_legal(&plan, &arch, &err), &err);
    }
    arch.attentions[0].heads = 36;
    Plan plan = make(3, 1, 1, 3, 1);
    expect_illegal(&plan, &arch, PLAN_RULE_KV_HEADS, "tp 3 does not divide 4 kv heads");
    plan = make(6, 1, 1, 6, 1);
    expect_illegal(&plan, &arch, PLAN_RULE_KV_HEADS,
                   "tp 6 is no multiple of 4 kv heads, which it must replicate");
    arch_free(&arch);
}

// DeepSeek-R1 in blocks of 128: the dense width 18,432 / 16 = 1,152 = 9 blocks, but / 32 = 576
// = 4.5 blocks (sgl-project/sglang#3345).
static void test_plan_legal_dense_width_keeps_blocks(void **state) {
    (void)state;
    Arch arch;
    hand_arch_deepseek_v3(&arch);
    Err err = {0};
    Plan plan = make(16, 1, 1, 16, 1);
    check_ok(plan_legal(&plan, &arch, &err), &err);
    plan = make(32, 1, 1, 32, 1);
    expect_illegal(&plan, &arch, PLAN_RULE_DENSE_CUT,
                   "tp 32 cuts the dense width 18432 into 576, not whole blocks of 128");
    arch_free(&arch);
}

// A query projection has 192 rows a head: blocks of 128 end with a head every 384 rows, two heads.
static void test_plan_legal_attention_keeps_blocks(void **state) {
    (void)state;
    Arch arch;
    hand_arch_deepseek_v3(&arch);
    Plan plan = make(128, 1, 1, 128, 1);
    expect_illegal(&plan, &arch, PLAN_RULE_ATTENTION_CUT,
                   "tp 128 cuts an attention width of 24576 into 192, not whole blocks of 384");
    arch_free(&arch);
}

// Experts of width 2,048 in blocks of 128: 2,048 / 16 is one block, / 32 half of one; whole experts
// need no cut.
static void test_plan_legal_expert_width_keeps_fp8_blocks(void **state) {
    (void)state;
    Arch arch;
    hand_arch_deepseek_v3(&arch);
    Err err = {0};
    Plan plan = make(8, 1, 2, 1, 1);
    plan.pools[0].moe_comm = MOE_COMM_GATHER;
    check_ok(plan_legal(&plan, &arch, &err), &err);
    plan = make(8, 1, 4, 1, 1);
    expect_illegal(&plan, &arch, PLAN_RULE_EXPERT_CUT,
                   "moe_tp 32 cuts the expert width 2048 into 64, not whole blocks of 128");
    plan = make(8, 1, 4, 32, 1);
    check_ok(plan_legal(&plan, &arch, &err), &err);
    arch_free(&arch);
}

// MXFP4 scales 32 weights at a time. 3,072 / 32 = 96 is three blocks; 3,072 / 64 = 48 is one and a
// half, seen in the packed columns of w2: 1,536 / 64 = 24 bytes, blocks of 16.
static void test_plan_legal_expert_width_keeps_mxfp4_blocks(void **state) {
    (void)state;
    Arch arch;
    hand_arch_kimi_small(&arch);
    Err err = {0};
    Plan plan = make(8, 1, 4, 1, 1);
    check_ok(plan_legal(&plan, &arch, &err), &err);
    plan = make(8, 1, 8, 1, 1);
    expect_illegal(&plan, &arch, PLAN_RULE_EXPERT_CUT,
                   "moe_tp 64 cuts the expert width 3072 into 48, not whole blocks of 32");
    plan = make(1, 1, 5, 1, 1);
    expect_illegal(&plan, &arch, PLAN_RULE_EXPERT_WIDTH,
                   "moe_tp 5 does not divide the expert width 3072");
    arch_free(&arch);
}

static void test_plan_legal_counts_experts_and_layers(void **state) {
    (void)state;
    Arch arch;
    hand_arch_qwen3_30b(&arch);
    Plan plan = make(1, 1, 256, 256, 1);
    expect_illegal(&plan, &arch, PLAN_RULE_EXPERTS, "ep 256 exceeds 128 experts");
    plan = make(1, 49, 1, 1, 1);
    expect_illegal(&plan, &arch, PLAN_RULE_LAYERS, "pp 49 exceeds 48 layers");
    arch.mlps[0].experts = 0;
    plan = make(1, 1, 4, 4, 1);
    expect_illegal(&plan, &arch, PLAN_RULE_DENSE_EP, "ep 4 on a model without experts, expected 1");
    arch_free(&arch);
}

// 128 and 136 are no multiples of 12; 144 = 12 x 12 is.
static void test_plan_legal_slots_are_dealt_out_evenly(void **state) {
    (void)state;
    Arch arch;
    Err err = {0};
    hand_arch_qwen3_30b(&arch);
    Plan plan = make(1, 1, 12, 12, 1);
    check_ok(plan_legal(&plan, &arch, &err), &err); // in order a remainder is allowed
    plan.pools[0].expert_placement = EXPERT_PLACEMENT_EPLB;
    expect_illegal(&plan, &arch, PLAN_RULE_SLOTS,
                   "ep 12 does not divide 128 experts and 0 redundant ones");
    plan.pools[0].redundant_experts = 8;
    expect_illegal(&plan, &arch, PLAN_RULE_SLOTS,
                   "ep 12 does not divide 128 experts and 8 redundant ones");
    plan.pools[0].redundant_experts = 16;
    check_ok(plan_legal(&plan, &arch, &err), &err);
    plan.pools[0].redundant_experts = UINT32_MAX;
    expect_illegal(&plan, &arch, PLAN_RULE_SLOTS_MANY,
                   "4294967423 replicas of experts exceed 8192");
    arch_free(&arch);
}

static void test_plan_legal_tokens_reach_their_experts(void **state) {
    (void)state;
    Arch arch;
    hand_arch_qwen3_30b(&arch);
    Plan plan = make(1, 1, 4, 4, 1);
    plan.pools[0].moe_comm = MOE_COMM_NONE;
    expect_illegal(&plan, &arch, PLAN_RULE_MOE_COMM,
                   "moe_comm \"none\" with dp 4, expected \"all-to-all\" or \"gather\"");
    plan = make(4, 1, 1, 4, 1);
    plan.pools[0].moe_comm = MOE_COMM_GATHER;
    expect_illegal(&plan, &arch, PLAN_RULE_MOE_COMM,
                   "moe_comm \"gather\" with dp 1, expected \"none\"");
    arch_free(&arch);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plan_experts_leave_a_remainder_to_the_first),
        cmocka_unit_test(test_plan_stage_layers_are_even_with_leftovers_first),
        cmocka_unit_test(test_plan_counts_ranks),
        cmocka_unit_test(test_plan_label_and_product_spell_the_plan_out),
        cmocka_unit_test(test_plan_label_says_what_overlaps),
        cmocka_unit_test(test_plan_label_says_how_experts_lie),
        cmocka_unit_test(test_plan_label_of_context_parallelism),
        cmocka_unit_test(test_plan_label_of_many_pools_is_cut),
        cmocka_unit_test(test_plan_digest_depends_on_each_decision),
        cmocka_unit_test(test_plan_check_names_the_contradiction),
        cmocka_unit_test(test_plan_check_overlaps_only_what_travels),
        cmocka_unit_test(test_plan_check_refuses_products_that_wrap),
        cmocka_unit_test(test_plan_check_keeps_pools_apart),
        cmocka_unit_test(test_plan_legal_tp_divides_heads),
        cmocka_unit_test(test_plan_legal_kv_heads_are_cut_or_replicated),
        cmocka_unit_test(test_plan_legal_dense_width_keeps_blocks),
        cmocka_unit_test(test_plan_legal_attention_keeps_blocks),
        cmocka_unit_test(test_plan_legal_expert_width_keeps_fp8_blocks),
        cmocka_unit_test(test_plan_legal_expert_width_keeps_mxfp4_blocks),
        cmocka_unit_test(test_plan_legal_counts_experts_and_layers),
        cmocka_unit_test(test_plan_legal_slots_are_dealt_out_evenly),
        cmocka_unit_test(test_plan_legal_tokens_reach_their_experts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
