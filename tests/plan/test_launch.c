// Launch lines: what is refused, what a shell makes of hostile names, and that plans come back.
#include "model/plan/launch.h"

#include "model/plan/launch_shell.h"
#include "tests/check.h"
#include "tests/plan/hand_launch.h"

// Eight ranks of attention-DP with whole experts, on a node of 8 with DeepSeek-V3 (experts in FP8).
static Plan wide_plan(void) {
    Plan plan = {.pool_count = 1};
    plan.pools[0] = (Pool){.tp = 1,
                           .pp = 1,
                           .dp = 8,
                           .ep = 8,
                           .moe_tp = 1,
                           .cp = 1,
                           .replicas = 1,
                           .micro_batches = 1,
                           .moe_comm = MOE_COMM_ALL_TO_ALL,
                           .all_reduce = ALGORITHM_AUTO,
                           .all_to_all = ALGORITHM_AUTO,
                           .all_gather = ALGORITHM_AUTO,
                           .reduce_scatter = ALGORITHM_AUTO,
                           .kv_format = NUMFMT_BF16,
                           .activation_format = NUMFMT_BF16,
                           .dispatch_format = NUMFMT_FP8,
                           .prefill_sms = 20};
    return plan;
}

// ---- Shells

static const char *const hostile[] = {"plain",
                                      "with space",
                                      "$HOME",
                                      "$(touch injected)",
                                      "`touch injected`",
                                      "'; touch injected; echo '",
                                      "\"; touch injected; \"",
                                      "a' 'b",
                                      "back\\slash",
                                      "#comment",
                                      "a;b&c|d<e>f",
                                      "*?[a-z]{1,2}~",
                                      "--flag=x",
                                      "\xc3\xa9t\xc3\xa9"};
#define HOSTILE (sizeof hostile / sizeof *hostile)

static void run_shell(const char *script, Text *out) {
    char block[4096], path[256], command[300];
    const char *base = getenv("TMPDIR");
    size_t count;
    snprintf(path, sizeof path, "%.200s/moesim_XXXXXX", base != NULL ? base : "/tmp");
    int descriptor = mkstemp(path);
    FILE *file = fdopen(descriptor, "w");
    assert_non_null(file);
    fputs(script, file);
    assert_int_equal(fclose(file), 0);
    snprintf(command, sizeof command, "sh %s 2>&1", path);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    while ((count = fread(block, 1, sizeof block, pipe)) > 0) text_add_bytes(out, block, count);
    assert_int_equal(pclose(pipe), 0);
    remove(path);
}

static void test_launch_shell_takes_a_quoted_word_unchanged(void **state) {
    (void)state;
    for (size_t i = 0; i < HOSTILE; i++) {
        Text script = {0}, got = {0};
        text_add(&script, "printf %s ");
        launch_shell_quote(hostile[i], &script);
        run_shell(text_string(&script), &got);
        assert_string_equal(text_string(&got), hostile[i]);
        text_free(&script);
        text_free(&got);
    }
}

// The empty word, a newline and a byte that is not UTF-8 are one word too.
static void test_launch_shell_quotes_all_bytes(void **state) {
    (void)state;
    Text out = {0};
    launch_shell_quote("", &out);
    launch_shell_quote("a\nb", &out);
    launch_shell_quote("it's", &out);
    assert_string_equal(text_string(&out), "'''a\nb''it'\\''s'");
    text_free(&out);
}

// `vllm` is a function that prints each argument on a line: the second is the model, as it was.
static void test_launch_hostile_model_runs_nothing(void **state) {
    (void)state;
    HandLaunch hand;
    Plan plan = wide_plan();
    hand_launch_open(&hand, LAUNCH_VLLM, NULL, "deepseek-v3", "hgx-h200");
    hand.in.plan = &plan;
    hand.in.machine.name = "a'; touch injected; '";
    hand.in.prediction = "x\ntouch injected\n";
    remove("injected");
    for (size_t i = 0; i < HOSTILE; i++) {
        Text lines = {0}, got = {0}, script = {0};
        Err err = {0};
        char want[128];
        hand.in.model = hostile[i];
        bool written = launch_write(&hand.in, &lines, &err);
        assert_int_equal(written, hostile[i][0] != '-');
        text_add(&script, "vllm() { printf '%s\\n' \"$@\"; }\n");
        text_add(&script, text_string(&lines));
        if (written) run_shell(text_string(&script), &got);
        snprintf(want, sizeof want, "serve\n%s\n--dtype\n", hostile[i]);
        if (written) assert_int_equal(strncmp(text_string(&got), want, strlen(want)), 0);
        text_free(&lines);
        text_free(&got);
        text_free(&script);
    }
    assert_null(fopen("injected", "r"));
    hand_launch_close(&hand);
}

static void test_launch_refuses_names_that_leave_their_line(void **state) {
    (void)state;
    HandLaunch hand;
    Plan plan = wide_plan();
    Text lines = {0};
    Err err = {0};
    hand_launch_open(&hand, LAUNCH_VLLM, NULL, "deepseek-v3", "hgx-h200");
    hand.in.plan = &plan;
    hand.in.model = "a\ntouch injected";
    check_fails(launch_write(&hand.in, &lines, &err), &err,
                "the model's name \"a?touch injected\" cannot be given to an engine");
    hand.in.model = "";
    check_fails(launch_write(&hand.in, &lines, &err), &err,
                "the model's name \"\" cannot be given to an engine");
    assert_int_equal(lines.length, 0);
    hand_launch_close(&hand);
}

// ---- Refusals

typedef struct Change {
    LaunchEngine engine;
    void (*change)(Plan *plan);
    const char *message;
} Change;

static void mixed_experts(Plan *plan) {
    plan->pools[0].ep = 4;
    plan->pools[0].moe_tp = 2;
    plan->pools[0].moe_comm = MOE_COMM_GATHER;
    plan->pools[0].prefill_sms = 0;
}
static void cut_and_sent(Plan *plan) {
    plan->pools[0].ep = 4;
    plan->pools[0].moe_tp = 2;
}
static void ring(Plan *plan) {
    plan->pools[0].all_gather = ALGORITHM_RING;
}
static void chunks(Plan *plan) {
    plan->pools[0].moe_chunks = 4;
}
static void sms(Plan *plan) {
    plan->pools[0].prefill_sms = 24;
}
static void decode_sms(Plan *plan) {
    plan->pools[0].decode_sms = 8;
}
static void serial_decode(Plan *plan) {
    plan->pools[0].decode_overlap = OVERLAP_NONE;
}
static void halves_of_prefill(Plan *plan) {
    plan->pools[0].prefill_overlap = OVERLAP_TWO_BATCH;
}
static void two_micro_batches(Plan *plan) {
    plan->pools[0].micro_batches = 2;
}
static void plain_dispatch(Plan *plan) {
    plan->pools[0].dispatch_format = NUMFMT_BF16;
}
static void int8_dispatch(Plan *plan) {
    plan->pools[0].dispatch_format = NUMFMT_INT8;
}
static void int8_cache(Plan *plan) {
    plan->pools[0].kv_format = NUMFMT_INT8;
}
static void context_parallel(Plan *plan) {
    plan->pools[0].cp = 2;
}
static void too_far(Plan *plan) {
    plan->pools[0].first_gpu = 4;
}
static void alone(Plan *plan) {
    plan->pools[0].kind = POOL_PREFILL;
}
static void three_ways(Plan *plan) {
    plan->pools[0].dp = plan->pools[0].ep = 3;
    plan->pools[0].replicas = 2;
    plan->pools[0].first_gpu = 1;
}

static const Change refusals[] = {
    {LAUNCH_VLLM, mixed_experts,
     "pools[0]: ep 4 x moe_tp 2: vllm has no experts that are both dealt out and cut, expected ep "
     "8 or 1"},
    {LAUNCH_SGLANG, cut_and_sent,
     "pools[0]: moe_comm \"all-to-all\" with moe_tp 2: sglang sends tokens to whole experts alone, "
     "expected ep 8 or \"gather\""},
    {LAUNCH_VLLM, ring,
     "pools[0]: all_gather \"ring\": vllm leaves algorithms to its libraries, expected \"auto\""},
    {LAUNCH_VLLM, chunks,
     "pools[0]: moe_chunks 4: vllm does not cut a step into chunks, expected none"},
    {LAUNCH_SGLANG, sms, "pools[0]: prefill_sms 24: kernels of sglang take 20 here"},
    {LAUNCH_VLLM, decode_sms, "pools[0]: decode_sms 8: vllm has no such setting, expected 0"},
    {LAUNCH_VLLM, serial_decode,
     "pools[0]: prefill_overlap \"shared\" with decode_overlap \"none\": vllm turns the overlap of "
     "shared experts off for both phases or for none"},
    {LAUNCH_SGLANG, serial_decode,
     "pools[0]: overlap \"none\": sglang has no switch for the overlap of shared experts, expected "
     "\"shared\" or \"two-batch\""},
    {LAUNCH_SGLANG, halves_of_prefill,
     "pools[0]: prefill_overlap \"two-batch\" with decode_overlap \"shared\": sglang runs two "
     "batches in both phases or in none"},
    {LAUNCH_VLLM, two_micro_batches,
     "pools[0]: micro_batches 2: vllm keeps as many in flight as there are stages, expected 1"},
    {LAUNCH_SGLANG, two_micro_batches,
     "pools[0]: micro_batches 2 with pp 1, expected 1: sglang runs one batch"},
    {LAUNCH_VLLM, plain_dispatch,
     "pools[0]: dispatch_format bf16: vllm sends tokens in fp8 for these experts"},
    {LAUNCH_SGLANG, int8_dispatch,
     "pools[0]: dispatch_format int8: sglang sends tokens in fp8 for these experts or in bf16"},
    {LAUNCH_VLLM, int8_cache, "pools[0]: vllm 0.28.0 has no value of --kv-cache-dtype for int8"},
    {LAUNCH_VLLM, context_parallel,
     "pools[0]: ep 8 x moe_tp 1 is 8 ranks, expected tp 1 x dp 8 x cp 2 = 16"},
    {LAUNCH_VLLM, too_far, "pools[0]: GPUs 4-11 of a machine that has 8"},
    {LAUNCH_SGLANG, alone,
     "0 unified, 1 prefill and 0 decode pools, expected unified ones alone, or prefill and decode"},
    {LAUNCH_VLLM, three_ways, NULL}, // GPUs 1-3 and 4-6 of one node
};

static void test_launch_refuses_what_the_engine_cannot_do(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        HandLaunch hand;
        Plan plan = wide_plan();
        Text lines = {0};
        Err err = {0};
        hand_launch_open(&hand, refusals[i].engine, NULL, "deepseek-v3", "hgx-h200");
        refusals[i].change(&plan);
        hand.in.plan = &plan;
        if (refusals[i].message == NULL) {
            check_ok(launch_write(&hand.in, &lines, &err), &err);
        } else {
            check_fails(launch_write(&hand.in, &lines, &err), &err, refusals[i].message);
            assert_int_equal(lines.length, 0);
        }
        text_free(&lines);
        hand_launch_close(&hand);
    }
}

// --nnodes came with vLLM 0.12, the load balancer with 0.10.
static void test_launch_refuses_flags_of_later_versions(void **state) {
    (void)state;
    HandLaunch hand;
    Plan plan = wide_plan();
    Text lines = {0};
    Err err = {0};
    plan.pools[0].expert_placement = EXPERT_PLACEMENT_EPLB;
    hand_launch_open(&hand, LAUNCH_VLLM, "0.9.1", "deepseek-v3", "hgx-h200");
    hand.in.plan = &plan;
    check_fails(launch_write(&hand.in, &lines, &err), &err,
                "pools[0]: vllm 0.9.1 has no flag for eplb, versions >=0.10 have --enable-eplb");
    hand_launch_close(&hand);
    check_fails(launch_flags_load(LAUNCH_VLLM, "0.5", &hand.flags, &err), &err,
                "vllm 0.5: the flags are known for 0.9.1 to 0.28.0");
}

// Without a flag an engine takes the format that the checkpoint has scales for: a cache in bf16 has
// to be said, and versions that have no word for it cannot keep one.
static void test_launch_says_a_bf16_cache_where_the_checkpoint_has_scales(void **state) {
    (void)state;
    HandLaunch hand;
    Plan plan = wide_plan();
    Text lines = {0};
    Err err = {0};
    hand_launch_open(&hand, LAUNCH_VLLM, "0.10.2", "deepseek-v3", "hgx-h200");
    hand.in.plan = &plan;
    Arch scales = *hand.in.arch;
    scales.fp8_cache = true;
    check_ok(launch_write(&hand.in, &lines, &err), &err);
    hand.in.arch = &scales;
    check_fails(launch_write(&hand.in, &lines, &err), &err,
                "pools[0]: vllm 0.10.2 has no value of --kv-cache-dtype for bf16");
    assert_int_equal(launch_kv_format(&scales, NUMFMT_BF16), NUMFMT_FP8);
    assert_int_equal(launch_kv_format(NULL, NUMFMT_BF16), NUMFMT_BF16);
    text_free(&lines);
    hand_launch_close(&hand);
    hand_launch_open(&hand, LAUNCH_VLLM, NULL, "deepseek-v3", "hgx-h200");
    hand.in.plan = &plan;
    hand.in.arch = &scales;
    check_ok(launch_write(&hand.in, &lines, &err), &err);
    assert_non_null(strstr(text_string(&lines), " --kv-cache-dtype bfloat16 "));
    text_free(&lines);
    hand_launch_close(&hand);
}

// 12 GPUs on nodes of 8 are neither whole nodes nor inside one; vLLM's ranks of 2 stages stay
// together, a plan's stages do.
static void test_launch_refuses_places_that_no_line_reaches(void **state) {
    (void)state;
    HandLaunch hand;
    Plan plan = wide_plan();
    Text lines = {0};
    Err err = {0};
    hand_launch_open(&hand, LAUNCH_VLLM, NULL, "deepseek-v3", "hgx-h100:4");
    hand.in.plan = &plan;
    plan.pools[0].dp = plan.pools[0].ep = 12;
    check_fails(launch_write(&hand.in, &lines, &err), &err,
                "pools[0]: 12 GPUs from GPU 0 on, on nodes of 8, expected whole nodes or a part of "
                "one");
    plan.pools[0].dp = plan.pools[0].ep = 8;
    plan.pools[0].pp = plan.pools[0].micro_batches = 2;
    check_fails(launch_write(&hand.in, &lines, &err), &err,
                "pools[0]: pp 2 with dp 8 on 2 nodes: vllm puts the stages of one data-parallel "
                "rank side by side, a plan puts all ranks of one stage there");
    hand_launch_close(&hand);
}

// ---- There and back

typedef struct Tally {
    uint32_t tried, written;
} Tally;

static void try_plan(HandLaunch *hand, const Plan *plan, Tally *tally) {
    Plan back;
    Err why = {0};
    tally->tried++;
    if (!hand_launch_round(hand, plan, &back, &why)) {
        assert_true(err_is_set(&why));
        return;
    }
    tally->written++;
    if (plan_digest(&back) != plan_digest(plan)) hand_launch_check_same(&back, plan);
}

// All choices on top of the widths of a pool.
static void try_choices(HandLaunch *hand, Plan *plan, Tally *tally) {
    Pool *pool = &plan->pools[0];
    for (uint32_t c = 0; c < 3 * 3 * 2 * 3 * 2; c++) {
        pool->prefill_overlap = (Overlap)(c % 3);
        pool->decode_overlap = (Overlap)(c / 3 % 3);
        pool->kv_format = c / 9 % 2 == 0 ? NUMFMT_BF16 : NUMFMT_FP8;
        pool->expert_placement = c / 18 % 3 == 0 ? EXPERT_PLACEMENT_LINEAR : EXPERT_PLACEMENT_EPLB;
        pool->redundant_experts = c / 18 % 3 == 2 ? 32 : 0;
        pool->micro_batches = pool->pp + c / 54 % 2;
        pool->prefill_sms = 0;
        if (pool->moe_comm == MOE_COMM_ALL_TO_ALL && pool->kind != POOL_DECODE)
            pool->prefill_sms = pool->prefill_overlap == OVERLAP_TWO_BATCH && c % 2 == 0 ? 24 : 20;
        try_plan(hand, plan, tally);
    }
}

static void try_pools(HandLaunch *hand, Plan *plan, Tally *tally) {
    Pool *pool = &plan->pools[0];
    try_choices(hand, plan, tally);
    // the same pool as prefill, before a decode pool of one more node
    plan->pools[1] = *pool;
    plan->pools[1].kind = POOL_DECODE;
    plan->pools[1].first_gpu = 16;
    plan->pools[1].replicas = 1;
    plan->pools[1].prefill_sms = 0;
    plan->pools[1].prefill_overlap = plan->pools[1].decode_overlap = OVERLAP_SHARED;
    plan->pools[1].micro_batches = pool->pp;
    plan->pool_count = 2;
    plan->transfers[0] = (KvTransfer){0, 1};
    plan->transfer_count = 1;
    pool->kind = POOL_PREFILL;
    try_choices(hand, plan, tally);
    pool->kind = POOL_UNIFIED;
    plan->pool_count = 1;
    plan->transfer_count = 0;
}

static void try_widths(HandLaunch *hand, Tally *tally) {
    Plan plan = wide_plan();
    Pool *pool = &plan.pools[0];
    pool->dispatch_format = launch_dispatch_format(&hand->arch, NUMFMT_BF16);
    for (pool->tp = 1; pool->tp <= 8; pool->tp *= 2)
        for (pool->pp = 1; pool->pp <= 2; pool->pp++)
            for (pool->dp = 1; pool->dp <= 16; pool->dp *= 4)
                for (pool->ep = 1; pool->ep <= pool->tp * pool->dp; pool->ep *= 4)
                    for (uint32_t k = 0; k < 4; k++) {
                        if (pool->tp * pool->dp * pool->pp > 16) continue;
                        pool->moe_tp = pool->tp * pool->dp / pool->ep;
                        pool->replicas = 1 + k % 2;
                        pool->moe_comm = k < 2 ? MOE_COMM_GATHER : MOE_COMM_ALL_TO_ALL;
                        if (pool->dp == 1) pool->moe_comm = MOE_COMM_NONE;
                        try_pools(hand, &plan, tally);
                    }
}

// Plans of all kinds on 4 nodes of 8: each that can be written comes back as it was.
static void test_launch_round_trip_is_the_identity(void **state) {
    (void)state;
    static const char *const versions[][2] = {{"0.28.0", "0.11.0"}, {"0.5.19", "0.4.9"}};
    for (uint32_t e = 0; e < LAUNCH_ENGINE_COUNT; e++)
        for (uint32_t v = 0; v < 2; v++) {
            HandLaunch hand;
            Tally tally = {0};
            hand_launch_open(&hand, (LaunchEngine)e, versions[e][v],
                             v == 0 ? "deepseek-v3" : "qwen3-30b-a3b", "hgx-h100:4");
            try_widths(&hand, &tally);
            print_message("%s %s: %u plans, %u written\n", launch_flags_engines[e], versions[e][v],
                          tally.tried, tally.written);
            assert_true(tally.written > 300);
            hand_launch_close(&hand);
        }
}

// Context parallelism with each way to reach experts, in the versions that have it.
static void test_launch_round_trip_of_context_parallelism(void **state) {
    (void)state;
    static const struct {
        uint32_t tp, dp, cp, dcp, ep;
        MoeComm comm;
    } pools[] = {{8, 1, 1, 8, 1, MOE_COMM_NONE},   {8, 1, 1, 2, 8, MOE_COMM_NONE},
                 {4, 2, 1, 4, 8, MOE_COMM_GATHER}, {2, 1, 4, 0, 8, MOE_COMM_ALL_TO_ALL},
                 {1, 1, 8, 0, 8, MOE_COMM_GATHER}, {2, 1, 4, 0, 1, MOE_COMM_GATHER}};
    for (uint32_t e = 0; e < LAUNCH_ENGINE_COUNT; e++) {
        HandLaunch hand;
        hand_launch_open(&hand, (LaunchEngine)e, NULL, "deepseek-v3", "hgx-h200");
        for (size_t i = 0; i < sizeof pools / sizeof *pools; i++) {
            Plan plan = wide_plan(), back;
            Pool *pool = &plan.pools[0];
            Err why = {0};
            pool->tp = pools[i].tp, pool->dp = pools[i].dp, pool->cp = pools[i].cp;
            pool->dcp = pools[i].dcp, pool->ep = pools[i].ep, pool->moe_comm = pools[i].comm;
            pool->moe_tp = 8 / pool->ep;
            if (pool->moe_comm != MOE_COMM_ALL_TO_ALL) pool->prefill_sms = 0;
            check_ok(hand_launch_round(&hand, &plan, &back, &why), &why);
            assert_true(plan_digest(&back) == plan_digest(&plan));
        }
        hand_launch_close(&hand);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_launch_shell_takes_a_quoted_word_unchanged),
        cmocka_unit_test(test_launch_shell_quotes_all_bytes),
        cmocka_unit_test(test_launch_hostile_model_runs_nothing),
        cmocka_unit_test(test_launch_refuses_names_that_leave_their_line),
        cmocka_unit_test(test_launch_refuses_what_the_engine_cannot_do),
        cmocka_unit_test(test_launch_refuses_flags_of_later_versions),
        cmocka_unit_test(test_launch_says_a_bf16_cache_where_the_checkpoint_has_scales),
        cmocka_unit_test(test_launch_refuses_places_that_no_line_reaches),
        cmocka_unit_test(test_launch_round_trip_is_the_identity),
        cmocka_unit_test(test_launch_round_trip_of_context_parallelism),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
