// Context parallelism in lowered plans: sizes of what is gathered and joined, by hand, and that
// every such plan is a sound schedule.
#include "tests/check.h"

#include <string.h>

#include "model/plan/plan_legal.h"
#include "tests/plan/lower_plans.h"

#define SPARSE "scenarios/models/glm-5.2-fp8.json"

static Plan dealt(uint32_t tp, uint32_t dcp) {
    Plan plan = lower_plans_make(tp, 1, 1, tp);
    plan.pools[0].dcp = dcp;
    return plan;
}

// Each of `cp` groups of tp ranks has a part of the prompts, and experts on all of them.
static Plan shared(uint32_t tp, uint32_t dp, uint32_t cp) {
    Plan plan = lower_plans_make(tp, 1, dp * cp, tp * dp * cp);
    plan.pools[0].kind = POOL_PREFILL;
    plan.pools[0].dp = dp;
    plan.pools[0].cp = cp;
    return plan;
}

// The operation in the first layer with experts; NULL when it has none of this name.
static const Op *find_op(const Schedule *schedule, const char *name) {
    for (uint32_t i = 0; i < schedule->op_count; i++) {
        const Op *op = &schedule->ops[i];
        if (strcmp(op->name, name) == 0 &&
            strstr(schedule->blocks[op->block].name, "+ moe") != NULL)
            return op;
    }
    return NULL;
}

static uint64_t value(const Extent *extent, StepShape shape) {
    return extent_value(extent, &shape);
}

static uint64_t comm_B(const Schedule *schedule, const char *name, StepShape shape) {
    const Op *op = find_op(schedule, name);
    assert_non_null(op);
    assert_int_equal(op->op_class, OP_CLASS_CP_COMM);
    return value(&op->comm.bytes, shape);
}

static uint64_t moved_B(const Schedule *schedule, const char *name, StepShape shape) {
    const Op *op = find_op(schedule, name);
    assert_non_null(op);
    return value(&op->compute.bytes, shape);
}

// ---- Decode.

// DeepSeek-V3, tp 8 over 128 heads, 64 sequences of 4096 tokens, dealt to 4 ranks. Of each token a
// rank has 16 heads of 512 + 64 absorbed query elements, and gathers those of 4: 64 x 64 x 576 x 2
// bytes = 4,718,592. It gathers 4 x 64 f32 sums a token, 65,536 bytes, and scatters 64 heads of 512
// in BF16: 4,194,304. Of its cache it reads a quarter: 64 x 1024 x 1152 bytes = 75,497,472, beside
// the queries, results and sums of 64 heads: 64 x 64 x ((576 + 512) x 2 + 4) = 8,929,280.
static void test_lower_context_deals_a_latent_cache_to_four_ranks(void **state) {
    (void)state;
    Arch arch = lower_plans_load(DEEPSEEK);
    Plan plan = dealt(8, 4), whole = dealt(8, 0);
    Schedule schedule = lower_plans_lower(&plan, &arch, PHASE_DECODE, 1);
    Schedule other = lower_plans_lower(&whole, &arch, PHASE_DECODE, 1);
    StepShape shape = step_shape_decode(64, 4096);
    assert_int_equal(comm_B(&schedule, "query_gather", shape), 4718592);
    assert_int_equal(comm_B(&schedule, "lse_gather", shape), 65536);
    assert_int_equal(comm_B(&schedule, "head_reduce", shape), 4194304);
    assert_int_equal(moved_B(&schedule, "mla_absorbed", shape), 75497472 + 8929280);
    // as many products of heads and tokens as without, where the whole cache is read
    assert_int_equal(value(&find_op(&schedule, "mla_absorbed")->compute.flop, shape),
                     value(&find_op(&other, "mla_absorbed")->compute.flop, shape));
    assert_true(moved_B(&other, "mla_absorbed", shape) > 64 * UINT64_C(4096) * 1152);
    assert_null(find_op(&other, "query_gather"));
    const GroupFamily *group = &schedule.groups[find_op(&schedule, "query_gather")->comm.group];
    assert_string_equal(group->name, "dcp");
    assert_int_equal(group->size, 4);
    assert_int_equal(group->stride, 1);
    assert_int_equal(group->count, 2);
    schedule_free(&schedule);
    schedule_free(&other);
    arch_free(&arch);
}

// Qwen3-235B, tp 8 over 4 KV heads: two ranks hold each, and dcp 2 deals it to them. 8 query heads
// of 128 in BF16 from each of 2 ranks, 64 tokens: 262,144 bytes. Half of the cache, 64 x 2048 x
// 512 bytes = 67,108,864, beside 64 x 16 heads x ((128 + 128) x 2 + 4) and no keys of 64 tokens
// twice: the kernel reads what is gathered.
static void test_lower_context_deals_copies_of_kv_heads(void **state) {
    (void)state;
    Arch arch = lower_plans_load(QWEN);
    Plan plan = dealt(8, 2);
    Schedule schedule = lower_plans_lower(&plan, &arch, PHASE_DECODE, 1);
    StepShape shape = step_shape_decode(64, 4096);
    assert_int_equal(comm_B(&schedule, "query_gather", shape), 262144);
    assert_int_equal(moved_B(&schedule, "attention", shape), 67108864 + 64 * 16 * (256 * 2 + 4));
    schedule_free(&schedule);
    arch_free(&arch);
}

// A chunk of 1000 tokens after 3000 of DeepSeek-V3: the latents of all 4000, 576 elements in BF16
// each, are gathered from 4 ranks, and expanded as without.
static void test_lower_context_gathers_latents_in_prefill(void **state) {
    (void)state;
    Arch arch = lower_plans_load(DEEPSEEK);
    Plan plan = dealt(8, 4);
    Schedule schedule = lower_plans_lower(&plan, &arch, PHASE_PREFILL, 1);
    StepShape shape = step_shape_prefill(1000, 3000);
    assert_int_equal(comm_B(&schedule, "cache_gather", shape), 4000 * 1152);
    assert_int_equal(moved_B(&schedule, "cache_part", shape), 2 * 1000 * 1152);
    assert_int_equal(value(&find_op(&schedule, "kv_b_proj")->compute.m, shape), 4000);
    assert_null(find_op(&schedule, "query_gather"));
    schedule_free(&schedule);
    arch_free(&arch);
}

// GLM-5.2 picks 2048 tokens: each of 4 ranks scores a quarter of the keys, and 2048 picks with
// their scores (4 + 4 bytes) of each are merged. Context 8192, 16 sequences: 32 heads score 2048
// keys of 128: 16 x 2048 x 32 x (2 x 128 + 2) flop.
static void test_lower_context_merges_the_picks_of_each_part(void **state) {
    (void)state;
    Arch arch = lower_plans_load(SPARSE);
    Plan plan = dealt(8, 4);
    Schedule schedule = lower_plans_lower(&plan, &arch, PHASE_DECODE, 1);
    StepShape shape = step_shape_decode(16, 8192);
    const Op *picks = find_op(&schedule, "index_top_k");
    assert_int_equal(comm_B(&schedule, "pick_gather", shape), 16 * 4 * 2048 * 8);
    assert_int_equal(value(&picks->compute.flop, shape), UINT64_C(16) * 2048 * 32 * 258);
    schedule_free(&schedule);
    arch_free(&arch);
}

// ---- Prefill.

// DeepSeek-V3 on 8 ranks that share a prompt: of a chunk of 8192 tokens after 24,576 each has 1024
// and an eighth of the pairs, 8192 x 24,576 + 8192 x 8193 / 2 = 234,885,120 / 8 = 29,360,640, at
// 128 heads 2 x 128 x (192 + 128) flop. It gathers the latents of all 8192, and expands those of
// all 32,768.
static void test_lower_context_gathers_the_latents_of_a_shared_prompt(void **state) {
    (void)state;
    Arch arch = lower_plans_load(DEEPSEEK);
    Plan plan = shared(1, 1, 8);
    Schedule schedule = lower_plans_lower(&plan, &arch, PHASE_PREFILL, 1);
    StepShape whole = step_shape_prefill(8192, 24576), shape = step_shape_cp(&whole, 8);
    assert_int_equal(shape.tokens, 1024);
    assert_int_equal(shape.kv_tokens, 32768);
    assert_int_equal(shape.qk_pairs, 29360640);
    assert_int_equal(comm_B(&schedule, "kv_gather", shape), 8192 * 1152);
    assert_int_equal(value(&find_op(&schedule, "kv_b_proj")->compute.m, shape), 32768);
    assert_int_equal(value(&find_op(&schedule, "mla_expanded")->compute.flop, shape),
                     UINT64_C(29360640) * 81920);
    // 8 ranks x 1024 tokens x 8 experts
    assert_int_equal(value(&find_op(&schedule, "experts_gate_up")->compute.m, shape), 65536);
    schedule_free(&schedule);
    arch_free(&arch);
}

// tp 2, dp 2 and cp 3: ranks t, 2 + t and 4 + t of an attention-DP position share its prompts.
static void test_lower_context_groups_ranks_of_one_position(void **state) {
    (void)state;
    Arch arch = lower_plans_load(QWEN);
    Plan plan = shared(2, 2, 3);
    Schedule schedule = lower_plans_lower(&plan, &arch, PHASE_PREFILL, 1);
    const GroupFamily *cp = &schedule.groups[find_op(&schedule, "kv_gather")->comm.group];
    assert_int_equal(cp->count, 4);
    for (uint32_t j = 0; j < 3; j++) {
        assert_int_equal(schedule_group_member(cp, 1, j), 2 * j + 1);
        assert_int_equal(schedule_group_member(cp, 2, j), 6 + 2 * j);
    }
    schedule_free(&schedule);
    arch_free(&arch);
}

// ---- All of them.

static void check_sound(const Plan *plan, const Arch *arch) {
    const StepShape shapes[] = {step_shape_decode(37, 999), step_shape_decode(1, 3),
                                step_shape_prefill(777, 3000), step_shape_prefill(2, 0)};
    for (int phase = PHASE_PREFILL; phase <= PHASE_DECODE; phase++) {
        Err err = {{0}};
        Schedule schedule = lower_plans_lower(plan, arch, (Phase)phase, 2);
        for (uint32_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            StepShape shape = shapes[i];
            if (phase == PHASE_PREFILL) shape = step_shape_cp(&shape, plan->pools[0].cp);
            check_ok(schedule_check(&schedule, &shape, &err), &err);
        }
        schedule_free(&schedule);
    }
}

static void test_lower_context_every_small_plan_is_sound(void **state) {
    (void)state;
    static const char *const models[] = {DEEPSEEK, KIMI, QWEN, SPARSE, LONGCAT};
    for (uint32_t i = 0; i < sizeof models / sizeof *models; i++) {
        Arch arch = lower_plans_load(models[i]);
        uint32_t checked = 0;
        for (uint32_t tp = 1; tp <= 8; tp *= 2)
            for (uint32_t ways = 2; ways <= 4; ways++) {
                Err err = {{0}};
                Plan plans[] = {dealt(tp, ways), shared(tp, 1, ways), shared(tp, 2, ways)};
                for (uint32_t p = 0; p < 3; p++) {
                    if (!plan_legal(&plans[p], &arch, &err)) continue;
                    check_sound(&plans[p], &arch);
                    checked++;
                }
            }
        assert_true(checked > 0);
        arch_free(&arch);
    }
}

// What cannot be dealt or shared is refused by its kind, with the numbers.
static void test_lower_context_refuses_by_kind(void **state) {
    (void)state;
    static const struct {
        const char *model;
        uint32_t tp, dcp, cp;
        PlanRule rule;
        const char *text;
    } cases[] = {
        {QWEN, 8, 4, 1, PLAN_RULE_DCP_COPIES,
         "dcp 4 does not divide 2, the copies that tp 8 keeps of each of 4 kv heads"},
        {QWEN, 4, 2, 1, PLAN_RULE_DCP_COPIES,
         "dcp 2 does not divide 1, the copies that tp 4 keeps of each of 4 kv heads"},
        {"scenarios/models/deepseek-v4-flash.json", 8, 2, 1, PLAN_RULE_DCP_KIND,
         "dcp 2 on a model whose caches keep compressed entries, which is not dealt out"},
        {KIMI, 2, 0, 2, PLAN_RULE_CP_KIND,
         "cp 2 through kda attention, whose state passes from token to token"},
    };
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Arch arch = lower_plans_load(cases[i].model);
        Plan plan = cases[i].cp > 1 ? shared(cases[i].tp, 1, cases[i].cp)
                                    : dealt(cases[i].tp, cases[i].dcp);
        Err err = {{0}};
        PlanFault fault = plan_legal_fault(&plan, &arch, &err);
        assert_int_equal(fault.rule, cases[i].rule);
        assert_string_equal(err.text, cases[i].text);
        arch_free(&arch);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lower_context_deals_a_latent_cache_to_four_ranks),
        cmocka_unit_test(test_lower_context_deals_copies_of_kv_heads),
        cmocka_unit_test(test_lower_context_gathers_latents_in_prefill),
        cmocka_unit_test(test_lower_context_merges_the_picks_of_each_part),
        cmocka_unit_test(test_lower_context_gathers_the_latents_of_a_shared_prompt),
        cmocka_unit_test(test_lower_context_groups_ranks_of_one_position),
        cmocka_unit_test(test_lower_context_every_small_plan_is_sound),
        cmocka_unit_test(test_lower_context_refuses_by_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
