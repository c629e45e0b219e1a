// The search space: every combination is kept or counted, and the reasons are the right ones.
#include "tests/check.h"

#include "model/plan/stage_cut.h"
#include "sim/search/space_fit.h"
#include "sim/search/space.h"
#include "tests/machine/machine.h"
#include "tests/plan/hand_arch.h"

static Scenario workload(uint64_t isl, uint64_t osl, uint64_t concurrency) {
    Scenario scenario;
    scenario_init(&scenario);
    scenario.isl = isl;
    scenario.osl = osl;
    scenario.concurrency = concurrency;
    return scenario;
}

static Space build(const char *spec, void (*model)(Arch *), const Scenario *scenario) {
    Machine machine;
    Arch arch;
    Space space = {0};
    Err err = {0};
    machine_open(&machine, spec);
    model(&arch);
    check_ok(space_build(&machine.fabric, &arch, scenario, &(SpaceExperts){0}, &space, &err), &err);
    arch_free(&arch);
    machine_close(&machine);
    return space;
}

static const LedgerRow *find_row(const Space *space, LedgerKind kind, const char *reason) {
    for (uint32_t i = 0; i < space->ledger_count; i++)
        if (space->ledger[i].kind == kind && strcmp(space->ledger[i].reason, reason) == 0)
            return &space->ledger[i];
    fail_msg("no row \"%s\"", reason);
    return &space->ledger[0];
}

// Labels without the layers of stages, which follow from the costs of layers.
static bool has_plan(const Space *space, const char *label, uint32_t *out) {
    char text[PLAN_TEXT_MAX];
    for (*out = 0; *out < space->candidate_count; ++*out) {
        Plan plan = space->candidates[*out].plan;
        plan.pools[0].stage_cut = STAGE_CUT_EVEN;
        if (strcmp(plan_label(&plan, text), label) == 0) return true;
    }
    return false;
}

static bool is_absent(const Space *space, const char *label) {
    uint32_t index;
    return !has_plan(space, label, &index);
}

static const Candidate *find_plan(const Space *space, const char *label) {
    uint32_t index;
    if (!has_plan(space, label, &index)) fail_msg("no plan %s", label);
    return &space->candidates[index];
}

// ---- The ledger by itself.

static void test_space_reject_keeps_the_nearest_miss(void **state) {
    (void)state;
    Space space = {0};
    Plan a = {.pool_count = 1}, b = {.pool_count = 2}, c = {.pool_count = 3};
    space_reject(&space, LEDGER_NOT_FIT, "too large", 30, &a, "by 30");
    space_reject(&space, LEDGER_NOT_FIT, "too large", 10, &b, "by 10");
    space_reject(&space, LEDGER_NOT_FIT, "too large", 20, &c, "by 20");
    assert_int_equal(space.ledger_count, 1);
    assert_int_equal(space.ledger[0].count, 3);
    assert_int_equal(space.ledger[0].nearest.pool_count, 2);
    assert_string_equal(space.ledger[0].nearest_text, "by 10");
    space_free(&space);
    space_free(&space);
}

// A row of 5 counts five times; its nearest replaces one that is further off.
static void test_space_reject_row_counts_all_of_it(void **state) {
    (void)state;
    Space space = {0};
    Plan plan = {.pool_count = 1};
    LedgerRow row = {LEDGER_SKIPPED, "idle", 5, 0.3, plan, "by 0.3"};
    space_reject(&space, LEDGER_SKIPPED, "idle", 0.4, &plan, "by 0.4");
    space_reject_row(&space, &row);
    assert_int_equal(space.ledger_count, 1);
    assert_int_equal(space.ledger[0].count, 6);
    assert_string_equal(space.ledger[0].nearest_text, "by 0.3");
    space_free(&space);
}

// Kinds in their order, the most frequent reason of a kind first; the nearest of a kind may be in a
// rarer row.
static void test_space_ledger_is_ordered(void **state) {
    (void)state;
    Space space = {0};
    Plan plan = {.pool_count = 1};
    space_reject(&space, LEDGER_NO_DATA, "later", 0, &plan, "");
    space_reject(&space, LEDGER_NOT_FIT, "rare", 1, &plan, "near");
    space_reject(&space, LEDGER_NOT_FIT, "often", 2, &plan, "far");
    space_reject(&space, LEDGER_ILLEGAL, "first", 0, &plan, "");
    space_reject(&space, LEDGER_NOT_FIT, "often", 3, &plan, "further");
    const char *const order[] = {"first", "often", "rare", "later"};
    assert_int_equal(space.ledger_count, 4);
    for (uint32_t i = 0; i < 4; i++) assert_string_equal(space.ledger[i].reason, order[i]);
    assert_string_equal(space_nearest(&space, LEDGER_NOT_FIT)->nearest_text, "near");
    assert_null(space_nearest(&space, LEDGER_ENGINE));
    space_free(&space);
}

// ---- All plans.

static void check_candidate(const Candidate *candidate, const Arch *arch, const Fabric *fabric,
                            uint64_t concurrency) {
    const Pool *pool = &candidate->plan.pools[0];
    Err err = {0};
    check_ok(plan_legal(&candidate->plan, arch, &err), &err);
    check_ok(memory_fits(&candidate->memory, &err), &err);
    assert_true(candidate->memory.term_B[MEMORY_BUFFERS] > 0);
    assert_true(pool_ranks(pool) <= fabric->gpu_count);
    assert_true(fabric->gpu_count - pool_ranks(pool) < pool_replica_ranks(pool));
    assert_true(4 * pool_ranks(pool) >= 3 * fabric->gpu_count);
    uint64_t slots = (uint64_t)pool->replicas * pool->dp * pool->micro_batches;
    assert_true(candidate->sequences * slots >= concurrency);
    assert_true((candidate->sequences - 1) * slots < concurrency);
    assert_int_equal(candidate->memory.sequences, candidate->sequences * pool->micro_batches);
}

// Kimi-K3's shape on one rack: considered plans are candidates or counted, none twice; each
// candidate is legal, fits, fills the machine but for a quarter at most, leaves no room for another
// replica, and holds the concurrency without a sequence too many.
static void test_space_accounts_for_every_plan(void **state) {
    (void)state;
    Machine machine;
    Arch arch;
    Space space = {0};
    Err err = {0};
    Scenario scenario = workload(4096, 1024, 1024);
    machine_open(&machine, "nvl72");
    hand_arch_kimi_small(&arch);
    check_ok(space_build(&machine.fabric, &arch, &scenario, &(SpaceExperts){0}, &space, &err),
             &err);
    uint32_t counted = space.candidate_count;
    for (uint32_t i = 0; i < space.ledger_count; i++) {
        assert_true(space.ledger[i].count > 0);
        assert_true(strlen(space.ledger[i].nearest_text) > 0);
        counted += space.ledger[i].count;
    }
    assert_int_equal(space.considered, counted);
    assert_true(space.candidate_count > 100);
    for (uint32_t i = 0; i < space.candidate_count; i++) {
        check_candidate(&space.candidates[i], &arch, &machine.fabric, 1024);
        for (uint32_t k = 0; k < i; k++)
            assert_true(plan_digest(&space.candidates[k].plan) !=
                        plan_digest(&space.candidates[i].plan));
    }
    space_free(&space);
    arch_free(&arch);
    machine_close(&machine);
}

static void test_space_is_the_same_twice(void **state) {
    (void)state;
    Scenario scenario = workload(1024, 1024, 64);
    Space a = build("hgx-h100", hand_arch_qwen3_30b, &scenario);
    Space b = build("hgx-h100", hand_arch_qwen3_30b, &scenario);
    assert_int_equal(a.candidate_count, b.candidate_count);
    for (uint32_t i = 0; i < a.candidate_count; i++)
        assert_true(plan_digest(&a.candidates[i].plan) == plan_digest(&b.candidates[i].plan));
    assert_int_equal(a.ledger_count, b.ledger_count);
    for (uint32_t i = 0; i < a.ledger_count; i++)
        assert_string_equal(a.ledger[i].nearest_text, b.ledger[i].nearest_text);
    space_free(&a);
    space_free(&b);
}

// The plans that people name are there: pure TP, wide EP with attention-DP, TP with EP, pipelines,
// replicas.
static void test_space_has_the_usual_plans(void **state) {
    (void)state;
    Scenario scenario = workload(1024, 1024, 64);
    Space space = build("hgx-h100", hand_arch_qwen3_30b, &scenario);
    const char *const labels[] = {"TP8 PP1 DP1 EP1 x1",        "TP8 PP1 DP1 EP8 x1",
                                  "TP1 PP1 DP8 EP8 x1",        "TP1 PP1 DP8 EP8 x1 gather",
                                  "TP1 PP1 DP8 EP1 x1 gather", "TP2 PP1 DP4 EP8 x1",
                                  "TP4 PP2 DP1 EP1 x1",        "TP2 PP1 DP1 EP1 x4"};
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) find_plan(&space, labels[i]);
    space_free(&space);
}

// ---- What is tried.

// DeepSeek-V3 on 72 GPUs of one domain. Stages of 64 leave 8 idle and divide 256 experts; those of
// 63 and 71 divide neither 72 nor 256, and 71 is nearest to the 72 that one replica could have.
// Depth 16 is a power of two: 16 stages of 4 on 64 GPUs.
static void test_space_tries_widths_that_match(void **state) {
    (void)state;
    Scenario scenario = workload(1024, 1024, 64);
    Space space = build("nvl72", hand_arch_deepseek_v3, &scenario);
    find_plan(&space, "TP1 PP1 DP72 EP72 x1");
    find_plan(&space, "TP1 PP1 DP64 EP64 x1");
    find_plan(&space, "TP1 PP1 DP36 EP36 x2");
    find_plan(&space, "TP4 PP16 DP1 EP4 x1");
    assert_true(is_absent(&space, "TP1 PP1 DP63 EP63 x1"));
    assert_true(is_absent(&space, "TP1 PP1 DP71 EP71 x1"));
    const LedgerRow *row = find_row(&space, LEDGER_SKIPPED,
                                    "dp is not the widest and matches neither domains nor experts");
    assert_string_equal(row->nearest_text, "dp 71, where 1 replica could have dp 72: stages of 71 "
                                           "ranks match neither domains nor experts");
    space_free(&space);
}

// 12 nodes: 3 stages of 4 nodes, or of 3 nodes with a quarter idle; not 4 replicas of 3 stages of a
// node each.
static void test_space_tries_odd_depths_for_one_replica(void **state) {
    (void)state;
    Scenario scenario = workload(1024, 1024, 64);
    Space space = build("hgx-h100:12", hand_arch_deepseek_v3, &scenario);
    find_plan(&space, "TP8 PP3 DP4 EP32 x1");
    find_plan(&space, "TP8 PP3 DP3 EP24 x1");
    find_plan(&space, "TP8 PP4 DP1 EP8 x3");
    assert_true(is_absent(&space, "TP8 PP3 DP1 EP8 x4"));
    find_row(&space, LEDGER_SKIPPED,
             "pp is no power of two (tried for one replica of whole domains only)");
    space_free(&space);
}

// Every plan with a pipeline has the cut by cost; some of them, with 3 dense layers of 61 in front
// and a head behind, are not even.
static void test_space_cuts_stages_by_cost(void **state) {
    (void)state;
    Arch arch;
    uint32_t uneven = 0;
    Scenario scenario = workload(1024, 1024, 64);
    Space space = build("hgx-h100:4", hand_arch_deepseek_v3, &scenario);
    hand_arch_deepseek_v3(&arch);
    for (uint32_t i = 0; i < space.candidate_count; i++) {
        const Pool *pool = &space.candidates[i].plan.pools[0];
        Pool again = *pool;
        StageCache cache = {space_sequences(pool, 64) * pool->micro_batches, 2048};
        if (pool->pp > 1) stage_cut_by_cost(&arch, &cache, &again);
        assert_int_equal(pool->stage_cut, again.stage_cut);
        for (uint32_t s = 0; s < pool->pp; s++) assert_int_equal(pool->stages[s], again.stages[s]);
        uneven += pool->stage_cut == STAGE_CUT_LISTED;
    }
    assert_true(uneven > 0);
    arch_free(&arch);
    space_free(&space);
}

// The same plan on at least as many replicas.
static bool has_as_many(const Space *space, const Pool *less) {
    for (uint32_t i = 0; i < space->candidate_count; i++) {
        const Pool *pool = &space->candidates[i].plan.pools[0];
        if (pool->tp == less->tp && pool->pp == less->pp && pool->dp == less->dp &&
            pool->ep == less->ep && pool->moe_comm == less->moe_comm)
            return pool->replicas >= less->replicas;
    }
    return false;
}

static bool straddles_nodes(const Pool *pool) {
    uint32_t stage = pool_stage_ranks(pool), replica = pool_replica_ranks(pool);
    return (stage % 8 != 0 && 8 % stage != 0) || (replica % 8 != 0 && 8 % replica != 0);
}

// A plan of n - 1 nodes that takes at least three quarters of n nodes is a candidate there too: one
// more node is never worse. The machine of 9 nodes has 64 / 72 = 89 % of it in the plans that fill
// 8 nodes; the one of 2 nodes has 50 % in those of one node, which it need not have.
// Plans that straddle nodes of 8 are tried where nothing else fills the machine.
static void test_space_one_more_node_takes_away_no_plan(void **state) {
    (void)state;
    Scenario scenario = workload(1024, 1024, 1024);
    Space fewer = build("hgx-h100:2", hand_arch_deepseek_v3, &scenario);
    uint32_t compared = 0;
    for (uint32_t nodes = 3; nodes <= 20; nodes++) {
        char spec[32];
        assert_true(snprintf(spec, sizeof spec, "hgx-h100:%u", nodes) > 0);
        Space space = build(spec, hand_arch_deepseek_v3, &scenario);
        for (uint32_t i = 0; i < fewer.candidate_count; i++) {
            const Pool *pool = &fewer.candidates[i].plan.pools[0];
            if (straddles_nodes(pool) || 4 * pool_ranks(pool) < 3 * 8 * nodes) continue;
            char text[PLAN_TEXT_MAX];
            if (!has_as_many(&space, pool))
                fail_msg("%s lacks %s", spec, plan_label(&fewer.candidates[i].plan, text));
            compared++;
        }
        space_free(&fewer);
        fewer = space;
    }
    assert_true(compared > 1000);
    space_free(&fewer);
}

// DeepSeek-V3 on 72 GPUs: wide EP by all-to-all is tried in halves too, in prefill; in decode as
// well from 32 sequences on a rank (32 x 72 = 2304 requests); by gathering, or with every expert on
// every rank, nothing travels beside which there could be something. Its kernels take 20 SMs of a
// GB200 in prefill.
static void test_space_tries_two_batches_where_tokens_travel(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        Scenario scenario = workload(1024, 1024, i == 0 ? 2232 : 2304);
        Space space = build("nvl72", hand_arch_deepseek_v3, &scenario);
        const Pool *whole = &find_plan(&space, "TP1 PP1 DP72 EP72 x1")->plan.pools[0];
        const Pool *halves = &find_plan(&space, "TP1 PP1 DP72 EP72 x1 tbo-prefill")->plan.pools[0];
        assert_int_equal(whole->prefill_overlap, OVERLAP_SHARED);
        assert_int_equal(whole->prefill_sms, 20);
        assert_int_equal(whole->decode_sms, 0);
        assert_int_equal(halves->prefill_overlap, OVERLAP_TWO_BATCH);
        assert_int_equal(halves->decode_overlap, OVERLAP_SHARED);
        assert_int_equal(halves->prefill_sms, 20);
        assert_int_equal(is_absent(&space, "TP1 PP1 DP72 EP72 x1 tbo"), i == 0);
        for (uint32_t c = 0; c < space.candidate_count; c++) {
            const Pool *pool = &space.candidates[c].plan.pools[0];
            if (pool->moe_comm == MOE_COMM_ALL_TO_ALL) continue;
            assert_int_equal(pool->prefill_overlap + pool->decode_overlap, 2 * OVERLAP_SHARED);
            assert_int_equal(pool->prefill_sms, 0);
        }
        space_free(&space);
    }
}

// Qwen3-30B on 4 GPUs with 2 redundant experts: 130 slots are no multiple of 4, so EP 4 is out, and
// EP 2 has 65 each. With one position there is nothing to replicate.
static void test_space_redundant_experts_are_on_plans_with_positions(void **state) {
    (void)state;
    Scenario scenario = workload(1024, 1024, 64);
    Machine machine;
    Arch arch;
    Space space = {0};
    Err err = {0};
    SpaceExperts experts = {.placement = EXPERT_PLACEMENT_EPLB, .redundant = 2};
    machine_open(&machine, "switch:4,450GB/s");
    hand_arch_qwen3_30b(&arch);
    check_ok(space_build(&machine.fabric, &arch, &scenario, &experts, &space, &err), &err);
    find_plan(&space, "TP1 PP1 DP2 EP2 x2 +2r");
    find_plan(&space, "TP4 PP1 DP1 EP1 x1");
    assert_true(is_absent(&space, "TP1 PP1 DP2 EP2 x2"));
    const LedgerRow *row =
        find_row(&space, LEDGER_ILLEGAL, "ep does not divide the experts and redundant ones");
    assert_string_equal(row->nearest_text, "ep 4 does not divide 128 experts and 2 redundant ones");
    space_free(&space);
    arch_free(&arch);
    machine_close(&machine);
}

// ---- Reasons.

// DeepSeek-V3 in FP8 without scales: 672.99 GB, of which every rank holds 1.136 GB in full (q_a,
// kv_a, router, norm). TP 8: 672.99 + 7 x 1.136 = 681 GB in all, (672.99 - 1.14) / 8 + 1.14 = 85.1
// GB each; 85.1 + 0.591 of reserve - 0.9 x 85.02 = 9.19 GB too much. No other plan comes nearer.
static void test_space_says_how_far_the_nearest_misses(void **state) {
    (void)state;
    Scenario scenario = workload(1024, 1024, 8);
    Space space = build("hgx-h100", hand_arch_deepseek_v3, &scenario);
    assert_int_equal(space.candidate_count, 0);
    const LedgerRow *row = find_row(&space, LEDGER_NOT_FIT, "weights exceed the memory of a GPU");
    assert_ptr_equal(row, space_nearest(&space, LEDGER_NOT_FIT));
    assert_string_equal(row->nearest_text,
                        "weights 681 GB over 8 GPUs: 85.1 GB and 591 MB of engine reserve on the "
                        "fullest exceed the usable 76.5 GB by 9.19 GB per GPU");
    space_free(&space);
}

// 8 GPUs a node: no TP group of 16, and none of 3, which would lie on two nodes.
static void test_space_keeps_tp_inside_a_domain(void **state) {
    (void)state;
    Scenario scenario = workload(1024, 1024, 64);
    Space space = build("hgx-h100:2", hand_arch_qwen3_30b, &scenario);
    const LedgerRow *row = find_row(&space, LEDGER_SKIPPED, "tp group leaves its scale-up domain");
    assert_string_equal(row->nearest_text, "tp 16 does not lie inside scale-up domains of 8 GPUs: "
                                           "use pp or dp across them");
    for (uint32_t i = 0; i < space.candidate_count; i++)
        assert_true(8 % space.candidates[i].plan.pools[0].tp == 0);
    space_free(&space);
}

// Groups on 2 nodes of 8 are made of whole nodes or lie inside one: every size of a candidate
// divides 8 or is a multiple of it. 3 stages of 5 ranks would straddle, and use 15 of 16 GPUs,
// where 2 of 8 use all.
static void test_space_aligns_groups_with_nodes(void **state) {
    (void)state;
    Scenario scenario = workload(1024, 1024, 64);
    Space space = build("hgx-h100:2", hand_arch_qwen3_30b, &scenario);
    find_row(&space, LEDGER_SKIPPED,
             "ranks straddle blocks where stages as wide, on as many GPUs, do not");
    for (uint32_t i = 0; i < space.candidate_count; i++) {
        const Pool *pool = &space.candidates[i].plan.pools[0];
        const uint32_t sizes[] = {pool->tp, pool_stage_ranks(pool), pool_replica_ranks(pool)};
        for (uint32_t k = 0; k < 3; k++) assert_true(8 % sizes[k] == 0 || sizes[k] % 8 == 0);
    }
    space_free(&space);
}

// 15 live GPUs: no even stages are as wide as 15 or 14 ranks and use as many of them.
static void test_space_has_ranks_that_straddle_a_broken_node(void **state) {
    (void)state;
    Scenario scenario = workload(1024, 1024, 64);
    Machine machine;
    Arch arch;
    Space space;
    Err err = {0};
    SpaceExperts experts = {0};
    machine_degraded(&machine, "hgx-h100:2", "unit[0].node[0].gpu[3]:down");
    hand_arch_qwen3_30b(&arch);
    check_ok(space_build(&machine.fabric, &arch, &scenario, &experts, &space, &err), &err);
    find_plan(&space, "TP1 PP1 DP15 EP15 x1");
    find_plan(&space, "TP2 PP1 DP7 EP14 x1");
    for (uint32_t i = 0; i < space.ledger_count; i++)
        assert_true(space.ledger[i].kind != LEDGER_NO_DATA);
    space_free(&space);
    arch_free(&arch);
    machine_close(&machine);
}

static const char uneven[] =
    "uneven experts across scale-up domains, of too many ranks to simulate";

// 896 experts on 72 ranks of one rack: 13 or 12 each. On 144 ranks of two racks, 896 - 6 x 144 = 32
// hold one more, which is no whole rack.
static void test_space_has_uneven_experts_in_a_part_of_a_domain(void **state) {
    (void)state;
    Scenario scenario = workload(4096, 1024, 1024);
    Space one = build("nvl72", hand_arch_kimi_small, &scenario);
    find_plan(&one, "TP4 PP1 DP18 EP72 x1");
    Space two = build("nvl72:2", hand_arch_kimi_small, &scenario);
    find_plan(&two, "TP4 PP1 DP36 EP144 x1");
    find_plan(&two, "TP4 PP1 DP18 EP72 x2");
    space_free(&one);
    space_free(&two);
}

// 256 - 3 x 72 = 40 of 72 ranks hold one expert more: 5 of 9 nodes.
static void test_space_keeps_uneven_experts_that_fill_nodes(void **state) {
    (void)state;
    Scenario scenario = workload(1024, 1024, 64);
    Space space = build("hgx-h100:9", hand_arch_deepseek_v3, &scenario);
    find_plan(&space, "TP1 PP1 DP72 EP72 x1");
    find_plan(&space, "TP8 PP1 DP9 EP72 x1");
    space_free(&space);
}

// 2 units of 20 nodes. 896 - 2 x 320 = 256 of 320 ranks hold one expert more: 32 nodes, one unit
// and a part of the other. On half of the machine, 896 - 5 x 160 = 96 of 160: 12 nodes of each
// unit.
static void test_space_skips_uneven_experts_of_many_ranks(void **state) {
    (void)state;
    Scenario scenario = workload(1024, 1024, 1024);
    Space space = build("hgx-h100:40", hand_arch_kimi_small, &scenario);
    find_plan(&space, "TP1 PP1 DP160 EP160 x2");
    assert_true(is_absent(&space, "TP1 PP1 DP320 EP320 x1"));
    const LedgerRow *row = find_row(&space, LEDGER_SKIPPED, uneven);
    assert_string_equal(row->nearest_text,
                        "256 of 320 ranks hold one of 896 experts more than the others, no whole "
                        "blocks of 160 GPUs: 102400 pairs of ranks to look at, over 24576");
    space_free(&space);
}

// Gathering sends every token to every rank: only inside a scale-up domain.
static void test_space_gathers_inside_a_domain(void **state) {
    (void)state;
    Scenario scenario = workload(1024, 1024, 64);
    Space space = build("hgx-h100:2", hand_arch_qwen3_30b, &scenario);
    find_plan(&space, "TP1 PP1 DP16 EP16 x1");
    assert_true(is_absent(&space, "TP1 PP1 DP16 EP16 x1 gather"));
    find_plan(&space, "TP1 PP1 DP8 EP8 x2 gather");
    find_row(&space, LEDGER_SKIPPED, "moe gather leaves its scale-up domain");
    space_free(&space);
}

static void test_space_engines_hold_whole_experts_for_all_to_all(void **state) {
    (void)state;
    Scenario scenario = workload(1024, 1024, 64);
    Space space = build("hgx-h100", hand_arch_qwen3_30b, &scenario);
    find_row(&space, LEDGER_ENGINE, "all-to-all needs whole experts on each rank");
    for (uint32_t i = 0; i < space.candidate_count; i++) {
        const Pool *pool = &space.candidates[i].plan.pools[0];
        if (pool->moe_comm == MOE_COMM_ALL_TO_ALL) assert_int_equal(pool->moe_tp, 1);
    }
    space_free(&space);
}

// ---- Requests.

// 4 requests on 8 attention-DP ranks: one sequence on each that has one, and a note; with 20
// requests, ceil(20 / 8) = 3 and none.
static void test_space_notes_idle_attention_ranks(void **state) {
    (void)state;
    Scenario scenario = workload(1024, 1024, 4);
    Space space = build("hgx-h100", hand_arch_qwen3_30b, &scenario);
    const Candidate *wide = find_plan(&space, "TP1 PP1 DP8 EP8 x1");
    assert_int_equal(wide->sequences, 1);
    assert_string_equal(wide->note,
                        "4 requests leave 4 of 8 attention-dp ranks and micro-batches idle");
    assert_string_equal(find_plan(&space, "TP8 PP1 DP1 EP8 x1")->note, "");
    space_free(&space);
    scenario.concurrency = 20;
    space = build("hgx-h100", hand_arch_qwen3_30b, &scenario);
    wide = find_plan(&space, "TP1 PP1 DP8 EP8 x1");
    assert_int_equal(wide->sequences, 3);
    assert_string_equal(wide->note, "");
    // 2 stages hold 2 micro-batches: 20 / (4 dp x 2) rounded up
    assert_int_equal(find_plan(&space, "TP1 PP2 DP4 EP4 x1")->sequences, 3);
    space_free(&space);
}

// 8,000 requests of 32,768 tokens on 8 GPUs. The nearest plan is a pipeline of two stages with TP
// 4: 24 layers x 2 x 1 head x 128 x 2 bytes x 32,768 tokens x 8,000 = 3.22 TB; with an eighth
// of 61.1 GB of weights and the reserve, 3,220 + 7.64 + 0.591 - 76.5 = 3,150 GB too much (buffers
// are looked at only when the rest fits).
static void test_space_cache_that_does_not_fit(void **state) {
    (void)state;
    Scenario scenario = workload(32000, 768, 8000);
    Space space = build("hgx-h100", hand_arch_qwen3_30b, &scenario);
    const LedgerRow *row = find_row(&space, LEDGER_NOT_FIT,
                                    "the cache of the concurrency does not fit beside the weights");
    assert_string_equal(row->nearest_text,
                        "weights 7.64 GB, kv cache 3.22 TB and engine reserve 591 MB exceed the "
                        "usable 76.5 GB by 3.15 TB; 169 of 8000 sequences per rank would fit");
    assert_int_equal(space.candidate_count, 0);
    space_free(&space);
}

// A GPU's memory is that of the plan alone, also where its buffers were remembered from another.
static void test_space_buffers_are_those_of_each_plan(void **state) {
    (void)state;
    Machine machine;
    Arch arch;
    Space space = {0};
    Err err = {0};
    Scenario scenario = workload(1024, 1024, 512);
    machine_open(&machine, "hgx-h100");
    hand_arch_qwen3_30b(&arch);
    check_ok(space_build(&machine.fabric, &arch, &scenario, &(SpaceExperts){0}, &space, &err),
             &err);
    assert_true(space.candidate_count > 2);
    for (uint32_t i = 0; i < space.candidate_count; i++) {
        const Candidate *candidate = &space.candidates[i];
        FitInput input = {.arch = &arch, .scenario = &scenario, .sequences = candidate->sequences};
        for (uint32_t c = 0; c < machine.fabric.class_count; c++)
            if (machine.fabric.classes[c].kind == PART_GPU)
                input.device = machine.fabric.classes[c].device;
        MemoryUse use;
        assert_null(space_fit_full(&input, &candidate->plan, &use, &err));
        assert_int_equal(use.total_B, candidate->memory.total_B);
    }
    space_free(&space);
    arch_free(&arch);
    machine_close(&machine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_space_reject_keeps_the_nearest_miss),
        cmocka_unit_test(test_space_reject_row_counts_all_of_it),
        cmocka_unit_test(test_space_ledger_is_ordered),
        cmocka_unit_test(test_space_accounts_for_every_plan),
        cmocka_unit_test(test_space_is_the_same_twice),
        cmocka_unit_test(test_space_has_the_usual_plans),
        cmocka_unit_test(test_space_tries_widths_that_match),
        cmocka_unit_test(test_space_tries_odd_depths_for_one_replica),
        cmocka_unit_test(test_space_cuts_stages_by_cost),
        cmocka_unit_test(test_space_one_more_node_takes_away_no_plan),
        cmocka_unit_test(test_space_tries_two_batches_where_tokens_travel),
        cmocka_unit_test(test_space_redundant_experts_are_on_plans_with_positions),
        cmocka_unit_test(test_space_says_how_far_the_nearest_misses),
        cmocka_unit_test(test_space_keeps_tp_inside_a_domain),
        cmocka_unit_test(test_space_aligns_groups_with_nodes),
        cmocka_unit_test(test_space_has_uneven_experts_in_a_part_of_a_domain),
        cmocka_unit_test(test_space_has_ranks_that_straddle_a_broken_node),
        cmocka_unit_test(test_space_keeps_uneven_experts_that_fill_nodes),
        cmocka_unit_test(test_space_skips_uneven_experts_of_many_ranks),
        cmocka_unit_test(test_space_gathers_inside_a_domain),
        cmocka_unit_test(test_space_engines_hold_whole_experts_for_all_to_all),
        cmocka_unit_test(test_space_notes_idle_attention_ranks),
        cmocka_unit_test(test_space_cache_that_does_not_fit),
        cmocka_unit_test(test_space_buffers_are_those_of_each_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
