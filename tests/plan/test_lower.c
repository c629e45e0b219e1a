// Lowered plans: the work of single operations by hand, what moves, who waits.
#include "tests/check.h"

#include "tests/plan/lower_plans.h"

static const Op *find_op(const Schedule *schedule, const char *block, const char *name) {
    for (uint32_t i = 0; i < schedule->op_count; i++) {
        const Op *op = &schedule->ops[i];
        if (strcmp(op->name, name) == 0 && strcmp(schedule->blocks[op->block].name, block) == 0)
            return op;
    }
    fail_msg("no operation \"%s\" in a block \"%s\"", name, block);
    return NULL;
}

static uint64_t value(Extent extent, StepShape shape) {
    return extent_value(&extent, &shape);
}

static uint64_t gemm_flop(const Op *op, StepShape shape) {
    const Compute *compute = &op->compute;
    return 2 * value(compute->m, shape) * compute->n * compute->k * compute->batch;
}

static bool waits_for(const Schedule *schedule, const Op *op, const Op *on) {
    for (uint32_t i = 0; i < op->wait_count; i++) {
        if (&schedule->ops[schedule->waits[op->first_wait + i]] == on) return true;
    }
    return false;
}

// ---- Work by hand.

// DeepSeek-V3, 64 tokens on each of 72 attention-DP ranks, MLA absorbed. Per token:
//   latents    2 x (1536 + 512 + 64) x 7168       =  30,277,632
//   queries    2 x 128 x 192 x 1536               =  75,497,472
//   absorb     2 x 128 x 512 x 128, twice         =  33,554,432
//   output     2 x 7168 x 16384                   = 234,881,024
// and per cached token attended to: 2 x 128 x (512 + 64) + 2 x 128 x 512 = 278,528 flop, 576 x 2 =
// 1152 bytes.
static void test_lower_deepseek_decode_attention_is_the_hand_count(void **state) {
    (void)state;
    Arch arch = lower_plans_load(DEEPSEEK);
    Plan plan = lower_plans_make(1, 1, 72, 72);
    Schedule schedule = lower_plans_lower(&plan, &arch, PHASE_DECODE, 1);
    StepShape shape = step_shape_decode(64, 4096);
    static const char block[] = "layers mla + moe";
    assert_int_equal(gemm_flop(find_op(&schedule, block, "latent_proj"), shape),
                     64 * UINT64_C(30277632));
    assert_int_equal(gemm_flop(find_op(&schedule, block, "q_b_proj"), shape),
                     64 * UINT64_C(75497472));
    assert_int_equal(gemm_flop(find_op(&schedule, block, "q_absorb"), shape) +
                         gemm_flop(find_op(&schedule, block, "v_absorb"), shape),
                     64 * UINT64_C(33554432));
    assert_int_equal(gemm_flop(find_op(&schedule, block, "o_proj"), shape),
                     64 * UINT64_C(234881024));
    const Op *attention = find_op(&schedule, block, "mla_absorbed");
    assert_int_equal(value(attention->compute.flop, shape), UINT64_C(64) * 4096 * 278528);
    assert_int_equal(attention->compute.bytes.per_kv, 1152);
    schedule_free(&schedule);
    arch_free(&arch);
}

// Every token goes to 8 experts: 64 x 8 x 7168 elements of FP8 = 3,670,016 bytes out of each rank,
// and twice that, in BF16, back. 72 x 64 x 8 = 36,864 pairs fall on 256 experts; the ranks with 4
// of them get 576 each.
static void test_lower_deepseek_decode_routes_eight_copies_of_each_token(void **state) {
    (void)state;
    Arch arch = lower_plans_load(DEEPSEEK);
    Plan plan = lower_plans_make(1, 1, 72, 72);
    Schedule schedule = lower_plans_lower(&plan, &arch, PHASE_DECODE, 1);
    StepShape shape = step_shape_decode(64, 4096);
    static const char block[] = "layers mla + moe";
    const Op *dispatch = find_op(&schedule, block, "dispatch");
    const Op *combine = find_op(&schedule, block, "combine");
    const Op *experts = find_op(&schedule, block, "experts_gate_up");
    assert_int_equal(value(dispatch->comm.bytes, shape), 3670016);
    assert_int_equal(dispatch->comm.split, SPLIT_BY_DESTINATION);
    assert_int_equal(dispatch->comm.element, 7168);
    assert_int_equal(value(combine->comm.bytes, shape), 2 * 3670016);
    assert_int_equal(combine->comm.split, SPLIT_BY_SOURCE);
    assert_int_equal(value(experts->compute.m, shape), 36864);
    assert_int_equal(experts->compute.experts, 4);
    assert_int_equal(experts->compute.n, 2 * 2048);
    assert_int_equal(experts->compute.k, 7168);
    assert_int_equal(experts->compute.weight_format, NUMFMT_FP8);
    schedule_free(&schedule);
    arch_free(&arch);
}

// 21 operations: latents, their norms, queries, two absorptions around attention, output; norm;
// router, top-k, permutation, dispatch; three of the shared expert; three of the routed ones;
// combine, sum, norm. Dense layers have 12, the ends 2 each.
static void test_lower_deepseek_decode_has_one_operation_per_kernel(void **state) {
    (void)state;
    Arch arch = lower_plans_load(DEEPSEEK);
    Plan plan = lower_plans_make(1, 1, 64, 64);
    Schedule schedule = lower_plans_lower(&plan, &arch, PHASE_DECODE, 1);
    assert_int_equal(schedule.role_count, 1);
    assert_int_equal(schedule.block_count, 4);
    static const uint32_t counts[] = {2, 12, 21, 2};
    for (uint32_t i = 0; i < 4; i++) assert_int_equal(schedule.blocks[i].op_count, counts[i]);
    assert_int_equal(schedule.segment_count, 4); // embed, 3 dense, 58 with experts, head
    assert_int_equal(schedule.segments[1].repeat, 3);
    assert_int_equal(schedule.segments[2].repeat, 58);
    schedule_free(&schedule);
    arch_free(&arch);
}

// A chunk of 1000 tokens after 3000 cached ones: keys and values of all 4000 are made from latents,
// 128 x 256 rows x 512; each of the 1000 x 3000 + 1000 x 1001 / 2 = 3,500,500 pairs takes 2 x 128 x
// (192 + 128) = 81,920 flop.
static void test_lower_prefill_expands_the_latents_of_the_whole_context(void **state) {
    (void)state;
    Arch arch = lower_plans_load(DEEPSEEK);
    Plan plan = lower_plans_make(1, 1, 8, 8);
    Schedule schedule = lower_plans_lower(&plan, &arch, PHASE_PREFILL, 1);
    StepShape shape = step_shape_prefill(1000, 3000);
    const Op *expand = find_op(&schedule, "layers mla + moe", "kv_b_proj");
    const Op *attention = find_op(&schedule, "layers mla + moe", "mla_expanded");
    assert_int_equal(value(expand->compute.m, shape), 4000);
    assert_int_equal(expand->compute.n, 32768);
    assert_int_equal(expand->compute.k, 512);
    assert_int_equal(value(attention->compute.flop, shape), UINT64_C(3500500) * 81920);
    // the head sees the last token of the one sequence only
    assert_int_equal(value(find_op(&schedule, "head", "lm_head")->compute.m, shape), 1);
    schedule_free(&schedule);
    arch_free(&arch);
}

// Qwen3-235B, tp 8 over 4 KV heads: a rank has 64 / 8 = 8 query heads and one (replicated) KV head
// of 128. Rows of qkv: (8 + 1 + 1) x 128 = 1280. Attention 2 x 8 x (128 + 128) = 4096 flop a pair,
// the cache 1 x 256 x 2 = 512 bytes a token.
static void test_lower_gqa_replicates_kv_heads_beyond_their_number(void **state) {
    (void)state;
    Arch arch = lower_plans_load(QWEN);
    Plan plan = lower_plans_make(8, 1, 1, 8);
    Schedule schedule = lower_plans_lower(&plan, &arch, PHASE_DECODE, 1);
    const Op *qkv = find_op(&schedule, "layers gqa + moe", "qkv_proj");
    const Op *attention = find_op(&schedule, "layers gqa + moe", "attention");
    assert_int_equal(qkv->compute.n, 1280);
    assert_int_equal(qkv->compute.k, 4096);
    assert_int_equal(attention->compute.flop.per_pair, 4096);
    assert_int_equal(attention->compute.bytes.per_kv, 512);
    schedule_free(&schedule);
    arch_free(&arch);
}

// Kimi-K3, tp 4: 24 heads of a 128 x 128 state. One token: 7 x 24 x 16,384 = 2,752,512 flop; the
// state is read and written, 2 x 4 x 24 x 16,384 = 3,145,728 bytes a sequence. In chunks: 24 x (6 x
// 16,384 + 3 x 64 x 128 + 64 x 64) = 3,047,424 flop a token.
static void test_lower_kda_moves_its_state_once_per_step(void **state) {
    (void)state;
    Arch arch = lower_plans_load(KIMI);
    Plan plan = lower_plans_make(4, 1, 2, 8);
    Schedule decode = lower_plans_lower(&plan, &arch, PHASE_DECODE, 1);
    Schedule prefill = lower_plans_lower(&plan, &arch, PHASE_PREFILL, 1);
    const Op *step = find_op(&decode, "layers kda + moe", "kda_step");
    const Op *chunks = find_op(&prefill, "layers kda + moe", "kda_chunks");
    assert_int_equal(step->compute.flop.per_token, 2752512);
    assert_int_equal(step->compute.bytes.per_sequence, 3145728);
    assert_int_equal(step->compute.bytes.per_kv, 0);
    assert_int_equal(chunks->compute.flop.per_token, 3047424);
    assert_int_equal(chunks->compute.bytes.per_sequence, 3145728);
    schedule_free(&decode);
    schedule_free(&prefill);
    arch_free(&arch);
}

// Routed experts of Kimi-K3 work on 3584 of 7168 dimensions: what travels is the latent, 16 copies
// of 3584 bytes in FP8. Shared experts see the hidden size. Weights of routed experts are FP4;
// without 4- or 8-bit activations they compute in BF16.
static void test_lower_kimi_sends_latents_to_its_experts(void **state) {
    (void)state;
    Arch arch = lower_plans_load(KIMI);
    Plan plan = lower_plans_make(1, 1, 8, 8);
    Schedule schedule = lower_plans_lower(&plan, &arch, PHASE_DECODE, 1);
    StepShape shape = step_shape_decode(10, 100);
    static const char block[] = "layers mla + moe";
    const Op *down = find_op(&schedule, block, "latent_down");
    const Op *experts = find_op(&schedule, block, "experts_gate_up");
    assert_int_equal(down->compute.n, 3584);
    assert_int_equal(value(find_op(&schedule, block, "dispatch")->comm.bytes, shape),
                     10 * 16 * 3584);
    assert_int_equal(experts->compute.k, 3584);
    assert_int_equal(experts->compute.n, 2 * 3072);
    assert_int_equal(experts->compute.weight_format, NUMFMT_FP4);
    assert_int_equal(experts->compute.math_format, NUMFMT_BF16);
    assert_int_equal(find_op(&schedule, block, "shared_gate_up")->compute.k, 7168);
    assert_int_equal(find_op(&schedule, block, "latent_up")->compute.n, 7168);
    schedule_free(&schedule);
    arch_free(&arch);
}

// ---- Who has what.

// 896 = 72 x 12 + 32 experts: 32 ranks have 13, the other 40 have 12; experts of the second role
// begin at 32 x 13 = 416.
static void test_lower_splits_roles_where_experts_do_not_divide(void **state) {
    (void)state;
    Arch arch = lower_plans_load(KIMI);
    Plan plan = lower_plans_make(1, 1, 72, 72);
    Schedule schedule = lower_plans_lower(&plan, &arch, PHASE_DECODE, 1);
    assert_int_equal(schedule.role_count, 2);
    assert_string_equal(schedule.roles[0].name, "stage 0, 13 experts");
    assert_int_equal(schedule_role_size(&schedule, 0), 32);
    assert_string_equal(schedule.roles[1].name, "stage 0, 12 experts");
    assert_int_equal(schedule_role_size(&schedule, 1), 40);
    for (uint32_t i = 0; i < schedule.op_count; i++) {
        const Op *op = &schedule.ops[i];
        if (op->kind != OP_GROUPED_GEMM) continue;
        bool first = schedule.blocks[op->block].role == 0;
        assert_int_equal(op->compute.experts, first ? 13 : 12);
        assert_int_equal(op->compute.first_expert, first ? 0 : 416);
    }
    schedule_free(&schedule);
    arch_free(&arch);
}

// tp 4, dp 2, ep 4: two cuts of each expert. Position 1 has ranks 2 and 3; rank 3 has cut 1 and
// talks to ranks 1, 5 and 7.
static void test_lower_all_to_all_joins_equal_cuts_of_the_experts(void **state) {
    (void)state;
    Arch arch = lower_plans_load(QWEN);
    Plan plan = lower_plans_make(4, 1, 2, 4);
    Schedule schedule = lower_plans_lower(&plan, &arch, PHASE_DECODE, 1);
    static const char block[] = "layers gqa + moe";
    const Op *dispatch = find_op(&schedule, block, "dispatch");
    const GroupFamily *family = &schedule.groups[dispatch->comm.group];
    uint32_t group, position;
    assert_true(schedule_group_of(family, 3, &group, &position));
    static const uint32_t members[] = {1, 3, 5, 7};
    assert_int_equal(family->size, 4);
    for (uint32_t j = 0; j < 4; j++)
        assert_int_equal(schedule_group_member(family, group, j), members[j]);
    // 8 tokens over 4 ranks: each has 2, and those of its partner, times 8 experts of 4096 bytes
    StepShape shape = step_shape_decode(8, 100);
    assert_int_equal(value(dispatch->comm.bytes, shape), 4 * 8 * 4096);
    assert_int_equal(find_op(&schedule, block, "experts_gate_up")->compute.n, 2 * 1536 / 2);
    const Op *gather = find_op(&schedule, block, "cut_gather");
    assert_int_equal(schedule.groups[gather->comm.group].size, 2);
    assert_int_equal(value(gather->comm.bytes, shape), 4 * 4096 * 2);
    schedule_free(&schedule);
    arch_free(&arch);
}

// tp 4 with all-to-all experts: sums over tp are reduce-scatters, a gather stands before the next
// cut matrix. dp 1 without all-to-all: one all-reduce behind attention, one behind the experts,
// whose shared part joins the sum.
static void test_lower_cuts_tokens_over_tp_around_all_to_all(void **state) {
    (void)state;
    Arch arch = lower_plans_load(DEEPSEEK);
    Plan wide = lower_plans_make(4, 1, 2, 8), local = lower_plans_make(4, 1, 1, 4);
    Schedule cut = lower_plans_lower(&wide, &arch, PHASE_DECODE, 1);
    Schedule whole = lower_plans_lower(&local, &arch, PHASE_DECODE, 1);
    static const char block[] = "layers mla + moe";
    StepShape shape = step_shape_decode(64, 100);
    const Op *sum = find_op(&cut, block, "attention_reduce");
    assert_int_equal(sum->comm.collective, COLLECTIVE_REDUCE_SCATTER);
    assert_int_equal(value(sum->comm.bytes, shape), 64 * 7168 * 2);
    assert_int_equal(value(find_op(&cut, block, "router")->compute.m, shape), 16);
    assert_int_equal(value(find_op(&cut, block, "dispatch")->comm.bytes, shape), 16 * 8 * 7168);
    assert_int_equal(value(find_op(&cut, block, "shared_gate_up")->compute.m, shape), 64);
    assert_int_equal(find_op(&cut, block, "hidden_all_gather")->comm.collective,
                     COLLECTIVE_ALL_GATHER);
    uint32_t sums = 0;
    for (uint32_t i = 0; i < whole.op_count; i++) {
        const Op *op = &whole.ops[i];
        if (op->kind != OP_COLLECTIVE || strcmp(whole.blocks[op->block].name, block) != 0) continue;
        assert_int_equal(op->comm.collective, COLLECTIVE_ALL_REDUCE);
        sums++;
    }
    assert_int_equal(sums, 2);
    assert_int_equal(value(find_op(&whole, block, "router")->compute.m, shape), 64);
    schedule_free(&cut);
    schedule_free(&whole);
    arch_free(&arch);
}

// Gathering: 8 DP ranks of 64 tokens, 7168 elements in BF16, to every rank, and the sums of as many
// back.
static void test_lower_gather_brings_all_tokens_of_the_stage(void **state) {
    (void)state;
    Arch arch = lower_plans_load(DEEPSEEK);
    Plan plan = lower_plans_make(1, 1, 8, 8);
    plan.pools[0].moe_comm = MOE_COMM_GATHER;
    plan.pools[0].dispatch_format = NUMFMT_BF16;
    Schedule schedule = lower_plans_lower(&plan, &arch, PHASE_DECODE, 1);
    StepShape shape = step_shape_decode(64, 100);
    const Op *there = find_op(&schedule, "layers mla + moe", "dispatch_gather");
    const Op *back = find_op(&schedule, "layers mla + moe", "combine_scatter");
    assert_int_equal(there->comm.collective, COLLECTIVE_ALL_GATHER);
    assert_int_equal(value(there->comm.bytes, shape), 8 * 64 * 7168 * 2);
    assert_int_equal(back->comm.collective, COLLECTIVE_REDUCE_SCATTER);
    assert_int_equal(value(back->comm.bytes, shape), 8 * 64 * 7168 * 2);
    schedule_free(&schedule);
    arch_free(&arch);
}

// ---- Order.

// The shared expert is issued behind dispatch and waits for nothing, so it runs beside it; the
// experts wait for what arrives.
static void test_lower_runs_shared_experts_beside_dispatch(void **state) {
    (void)state;
    Arch arch = lower_plans_load(DEEPSEEK);
    Plan plan = lower_plans_make(1, 1, 8, 8);
    Schedule schedule = lower_plans_lower(&plan, &arch, PHASE_DECODE, 1);
    static const char block[] = "layers mla + moe";
    const Op *dispatch = find_op(&schedule, block, "dispatch");
    const Op *shared = find_op(&schedule, block, "shared_gate_up");
    const Op *experts = find_op(&schedule, block, "experts_gate_up");
    const Op *combine = find_op(&schedule, block, "combine");
    assert_true(shared > dispatch && shared < experts);
    assert_int_equal(shared->wait_count, 0);
    assert_int_equal(shared->stream, LOWER_STREAM_COMPUTE);
    assert_int_equal(dispatch->stream, LOWER_STREAM_COMM);
    assert_true(waits_for(&schedule, dispatch, find_op(&schedule, block, "permute")));
    assert_true(waits_for(&schedule, experts, dispatch));
    assert_true(waits_for(&schedule, combine, find_op(&schedule, block, "experts_down")));
    assert_true(waits_for(&schedule, find_op(&schedule, block, "weighted_sum"), combine));
    schedule_free(&schedule);
    arch_free(&arch);
}

// pp 4 with 4 micro-batches, 3 rounds: 12 passes each; hidden states of 2 x 7168 bytes a token go
// down, 4 bytes a token come back from the last stage to the first, 4 passes later. 61 layers: 16,
// 15, 15, 15.
static void test_lower_pipeline_feeds_tokens_back_after_its_micro_batches(void **state) {
    (void)state;
    Arch arch = lower_plans_load(DEEPSEEK);
    Plan plan = lower_plans_make(1, 4, 8, 8);
    Schedule schedule = lower_plans_lower(&plan, &arch, PHASE_DECODE, 3);
    StepShape shape = step_shape_decode(64, 100);
    assert_int_equal(schedule.role_count, 4);
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t layers = 0;
        const Role *role = &schedule.roles[i];
        for (uint32_t s = 1; s + 1 < role->segment_count; s++)
            layers += schedule.segments[role->first_segment + s].repeat;
        assert_int_equal(layers, i == 0 ? 16 : 15);
        assert_int_equal(role->passes, 12);
    }
    const Op *sent = find_op(&schedule, "send", "send");
    const Op *got = find_op(&schedule, "receive", "receive");
    assert_int_equal(value(sent->comm.bytes, shape), 64 * 7168 * 2);
    assert_int_equal(sent->comm.peer, 1);
    assert_int_equal(got->comm.peer, 0);
    assert_int_equal(sent->comm.channel, got->comm.channel);
    assert_int_equal(got->comm.lag, 0);
    const Op *tokens = find_op(&schedule, "embed", "receive_tokens");
    assert_int_equal(value(tokens->comm.bytes, shape), 64 * 4);
    assert_int_equal(tokens->comm.lag, 4);
    assert_int_equal(tokens->comm.peer, 3);
    schedule_free(&schedule);
    arch_free(&arch);
}

// Attention residuals: after 47 of 93 layers there are 4 outputs of 12 layers, so that 5 vectors of
// a token go to the next stage.
static void test_lower_pipeline_carries_block_outputs_of_attention_residuals(void **state) {
    (void)state;
    Arch arch = lower_plans_load(KIMI);
    Plan plan = lower_plans_make(1, 2, 8, 8);
    Schedule schedule = lower_plans_lower(&plan, &arch, PHASE_PREFILL, 2);
    StepShape shape = step_shape_prefill(100, 0);
    assert_int_equal(value(find_op(&schedule, "send", "send")->comm.bytes, shape),
                     100 * 5 * 7168 * 2);
    assert_int_equal(schedule.roles[0].passes, 2);
    schedule_free(&schedule);
    arch_free(&arch);
}

// The size of a schedule depends on roles and kinds of layers, not on how many ranks there are.
static void test_lower_does_not_grow_with_ranks(void **state) {
    (void)state;
    Arch arch = lower_plans_load(DEEPSEEK);
    Plan small = lower_plans_make(1, 1, 8, 8), large = lower_plans_make(1, 1, 8, 8);
    large.pools[0].replicas = 1000;
    Schedule one = lower_plans_lower(&small, &arch, PHASE_DECODE, 1);
    Schedule many = lower_plans_lower(&large, &arch, PHASE_DECODE, 1);
    assert_int_equal(one.op_count, many.op_count);
    assert_int_equal(one.buffer_count, many.buffer_count);
    assert_int_equal(many.rank_count, 8000);
    schedule_free(&one);
    schedule_free(&many);
    arch_free(&arch);
}

static void test_lower_gives_the_same_digest_twice(void **state) {
    (void)state;
    Arch arch = lower_plans_load(QWEN);
    Plan plan = lower_plans_make(4, 2, 2, 8);
    Schedule one = lower_plans_lower(&plan, &arch, PHASE_DECODE, 2);
    Schedule two = lower_plans_lower(&plan, &arch, PHASE_DECODE, 2);
    Schedule longer = lower_plans_lower(&plan, &arch, PHASE_DECODE, 3);
    assert_true(one.digest == two.digest);
    assert_true(one.digest != longer.digest);
    schedule_free(&one);
    schedule_free(&two);
    schedule_free(&longer);
    arch_free(&arch);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lower_deepseek_decode_attention_is_the_hand_count),
        cmocka_unit_test(test_lower_deepseek_decode_routes_eight_copies_of_each_token),
        cmocka_unit_test(test_lower_deepseek_decode_has_one_operation_per_kernel),
        cmocka_unit_test(test_lower_prefill_expands_the_latents_of_the_whole_context),
        cmocka_unit_test(test_lower_gqa_replicates_kv_heads_beyond_their_number),
        cmocka_unit_test(test_lower_kda_moves_its_state_once_per_step),
        cmocka_unit_test(test_lower_kimi_sends_latents_to_its_experts),
        cmocka_unit_test(test_lower_splits_roles_where_experts_do_not_divide),
        cmocka_unit_test(test_lower_all_to_all_joins_equal_cuts_of_the_experts),
        cmocka_unit_test(test_lower_cuts_tokens_over_tp_around_all_to_all),
        cmocka_unit_test(test_lower_gather_brings_all_tokens_of_the_stage),
        cmocka_unit_test(test_lower_runs_shared_experts_beside_dispatch),
        cmocka_unit_test(test_lower_pipeline_feeds_tokens_back_after_its_micro_batches),
        cmocka_unit_test(test_lower_pipeline_carries_block_outputs_of_attention_residuals),
        cmocka_unit_test(test_lower_does_not_grow_with_ranks),
        cmocka_unit_test(test_lower_gives_the_same_digest_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
