// From rows of a ranking file to scores: rows written here, of shipped models; and all published
// ones.
#include "tests/check.h"

#include "model/base/text.h"
#include "sim/commands/validate_ranking.h"

#define HEADER                                                                                     \
    "case_id,source,gpu,n_gpus,nodes,interconnect,model,precision,framework,isl,osl,"              \
    "concurrency_or_rate,tp,pp,dp,ep,other_flags,metric,value,unit\n"
#define MINIMAX "B200,4,1,NVLink,MiniMax-M2.5,FP4,vLLM,1024,1024,"

typedef struct Fixture {
    Arena arena;
    ValidateContext context;
    RecordFile file;
    ValidateRanking ranking;
} Fixture;

static void open_fixture(Fixture *fixture, const char *rows) {
    Err err = {0};
    Text text = {0};
    memset(fixture, 0, sizeof *fixture);
    check_ok(validate_models_open(&fixture->context.models, &err), &err);
    check_ok(device_load(&fixture->context.catalogue, &err), &err);
    text_add(&text, HEADER);
    text_add(&text, rows);
    check_ok(record_parse("r.csv", text.data, text.length, &fixture->file, &err), &err);
    text_free(&text);
}

static void run(Fixture *fixture) {
    Err err = {0};
    check_ok(validate_ranking_run(&fixture->file, NULL, &fixture->context, &fixture->arena,
                                  &fixture->ranking, &err),
             &err);
}

static void close_fixture(Fixture *fixture) {
    validate_models_close(&fixture->context.models);
    device_free(&fixture->context.catalogue);
    record_free(&fixture->file);
    arena_free(&fixture->arena);
}

// Two metrics of two plans: each plan is simulated once. Throughput in tokens per second of all
// four GPUs, times in milliseconds; with one chunk and no queue,
// throughput = 64 x 1024 / (prefill + 1023 x TPOT), and prefill is at least the TTFT.
static void test_validate_ranking_predicts_in_the_unit_of_the_metric(void **state) {
    (void)state;
    Fixture fixture;
    open_fixture(&fixture, "A,s," MINIMAX "64,2,1,1,1,,output_throughput,5000,tok/s\n"
                           "A,s," MINIMAX "64,2,1,1,1,,tpot,12.5,ms\n"
                           "A,s," MINIMAX "64,4,1,1,1,,output_throughput,5200,tok/s\n"
                           "A,s," MINIMAX "64,4,1,1,1,,tpot,12,ms\n");
    run(&fixture);
    const ValidateRankingGroup *groups = fixture.ranking.groups;
    assert_int_equal(fixture.ranking.group_count, 2);
    assert_int_equal(fixture.ranking.simulated, 2);
    for (uint32_t i = 0; i < 2; i++) {
        double tpot_s = groups[1].plans[i].predicted * 1e-3;
        double most = 64 * 1024 / (1023 * tpot_s);
        assert_int_equal(groups[i].reason, VALIDATE_RANKING_NONE);
        assert_true(groups[0].plans[i].predicted < most);
        assert_true(groups[0].plans[i].predicted > 0.8 * most);
    }
    assert_string_equal(groups[0].plans[0].label, "TP2 PP1 DP1 EP1 x2");
    assert_string_equal(groups[0].plans[1].label, "TP4 PP1 DP1 EP1 x1");
    close_fixture(&fixture);
}

// The wider plan was measured best, and is the widest TP: that baseline is right, chance misses
// half of (5200 - 5000) / 5200 = 3.85 %.
static void test_validate_ranking_scores_baselines(void **state) {
    (void)state;
    Fixture fixture;
    open_fixture(&fixture, "A,s," MINIMAX "64,2,1,1,1,,output_throughput,5000,tok/s\n"
                           "A,s," MINIMAX "64,4,1,1,1,,output_throughput,5200,tok/s\n");
    run(&fixture);
    const ValidateRankingGroup *group = &fixture.ranking.groups[0];
    check_close(group->widest.tau, 1, 0);
    check_close(group->widest.regret, 0, 0);
    check_close(group->random.tau, 0, 0);
    check_close(group->random.regret, 100.0 / 52, 1e-14);
    assert_int_equal(fixture.ranking.all.scored, 1);
    close_fixture(&fixture);
}

// Pools of 4 + 8 GPUs at two TP degrees of decode.
static void test_validate_ranking_simulates_pools(void **state) {
    (void)state;
    Fixture fixture;
    open_fixture(&fixture, "A,s,B200,12,2,IB,DeepSeek-R1-0528,FP4,x,8192,1024,64,8,1,1,8,conc=64 "
                           "P=1x4GPU[tp1 dp4 ep4] D=1x8GPU[tp8 dp1 ep8],tpot,17,ms\n"
                           "A,s,B200,12,2,IB,DeepSeek-R1-0528,FP4,x,8192,1024,64,8,1,1,1,conc=64 "
                           "P=1x4GPU[tp4 dp1 ep1] D=1x8GPU[tp1 dp8 ep8],tpot,18,ms\n");
    run(&fixture);
    assert_int_equal(fixture.ranking.groups[0].reason, VALIDATE_RANKING_NONE);
    assert_int_equal(fixture.ranking.simulated, 2);
    close_fixture(&fixture);
}

// What is not scored says why.
static void test_validate_ranking_refuses_groups(void **state) {
    (void)state;
    static const struct {
        const char *rows;
        ValidateRankingReason reason;
        const char *text;
    } cases[] = {
        {"A,s," MINIMAX "64,2,1,1,1,,tpot,5,ms\n", VALIDATE_RANKING_ONE_PLAN, ""},
        {"A,s," MINIMAX "n/k,2,1,1,1,,tpot,5,ms\nA,s," MINIMAX "n/k,4,1,1,1,,tpot,6,ms\n",
         VALIDATE_RANKING_NOT_KNOWN, "concurrency_or_rate is \"n/k\""},
        {"A,s," MINIMAX "rate 8/s,2,1,1,1,,tpot,5,ms\nA,s," MINIMAX "rate 8/s,4,1,1,1,,tpot,6,ms\n",
         VALIDATE_RANKING_SERVING, "requests come at a rate 8/s"},
        {"A,s," MINIMAX "64,2,1,1,1,,goodput,5,%\nA,s," MINIMAX "64,4,1,1,1,,goodput,6,%\n",
         VALIDATE_RANKING_SERVING, "shares of requests and makespans queue"},
        {"A,s," MINIMAX "64,2,1,1,1,,tpot,0,ms\nA,s," MINIMAX "64,4,1,1,1,,tpot,6,ms\n",
         VALIDATE_RANKING_METRIC, "expected measured figures above 0"},
        {"A,s," MINIMAX "64,4,1,1,1,MTP 1 token,tpot,5,ms\nA,s," MINIMAX "64,4,1,1,1,,tpot,6,ms\n",
         VALIDATE_RANKING_DRAFTS, "the plan is \"MTP 1 token\""},
        {"A,s," MINIMAX "64,3,1,1,1,,tpot,5,ms\nA,s," MINIMAX "64,4,1,1,1,,tpot,6,ms\n",
         VALIDATE_RANKING_PLAN, "tp, pp, dp and ep are not those of replicas on 4 GPUs"},
        {"A,s," MINIMAX "64,4,1,1,1,a,tpot,5,ms\nA,s," MINIMAX "64,4,1,1,1,b,tpot,6,ms\n",
         VALIDATE_RANKING_ALIKE, "what tells the plans apart is not simulated"},
        {"A,s,Z9,4,1,x,MiniMax-M2.5,FP4,v,1024,1024,64,2,1,1,1,,tpot,5,ms\n"
         "A,s,Z9,4,1,x,MiniMax-M2.5,FP4,v,1024,1024,64,4,1,1,1,,tpot,6,ms\n",
         VALIDATE_RANKING_MACHINE, "no machine of 4 GPUs \"Z9\" is listed"},
        {"A,s,B200,4,1,x,M,FP4,v,1024,1024,64,2,1,1,1,,tpot,5,ms\n"
         "A,s,B200,4,1,x,M,FP4,v,1024,1024,64,4,1,1,1,,tpot,6,ms\n",
         VALIDATE_RANKING_MODEL, "model \"M\" in \"FP4\" is not listed"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Fixture fixture;
        open_fixture(&fixture, cases[i].rows);
        run(&fixture);
        assert_string_equal(fixture.ranking.groups[0].text, cases[i].text);
        assert_int_equal(fixture.ranking.groups[0].reason, cases[i].reason);
        close_fixture(&fixture);
    }
}

static ValidateRankingAsk ask(const char *rows) {
    Fixture fixture;
    ValidateRankingNames names = {0};
    ValidateRankingAsk out = {0};
    Err err = {0};
    open_fixture(&fixture, rows);
    check_ok(validate_ranking_names_open(&names, &err), &err);
    ValidateRankingReason reason = validate_ranking_ask_read(&names, &fixture.file, 0, &out, &err);
    if (reason != VALIDATE_RANKING_NONE) fail_msg("%s", err.text);
    out.machine = NULL;
    out.model = NULL;
    validate_ranking_names_free(&names);
    close_fixture(&fixture);
    return out;
}

// Mean lengths; 512 requests of 1,000 are in flight; 16 GPUs hold 2 replicas of 4 x 2.
static void test_validate_ranking_reads_cells(void **state) {
    (void)state;
    ValidateRankingAsk got =
        ask("A,s,B200,16,2,IB,DeepSeek-R1,FP8,v,ShareGPT ~219,~200,\"1000 req, cap "
            "512\",4,1,2,8,,tpot,5,ms\n");
    assert_int_equal(got.isl, 219);
    assert_int_equal(got.osl, 200);
    assert_int_equal(got.concurrency, 512);
    assert_int_equal(got.pools[0].instances, 2);
    assert_int_equal(got.pools[0].ep, 8);
    assert_false(got.is_split);
}

// "H200 / B200" and "INT4 / NVFP4": the flags say which. Kimi-K2.5 in NVFP4 on H200 is listed, in
// BF16 it is not.
static void test_validate_ranking_picks_alternatives(void **state) {
    (void)state;
    Fixture fixture;
    open_fixture(&fixture, "A,s,H200 / B200,8,1,x,Kimi-K2.5,INT4 / NVFP4,v,8,8,4,8,1,1,1,B200 "
                           "NVFP4,tpot,5,ms\nA,s,H200 / B200,8,1,x,Kimi-K2.5,INT4 / "
                           "NVFP4,v,8,8,4,8,1,1,1,H200 INT4,tpot,6,ms\n");
    run(&fixture);
    const ValidateRankingGroup *group = &fixture.ranking.groups[0];
    assert_int_equal(group->reason, VALIDATE_RANKING_NONE);
    assert_true(group->plans[0].predicted < group->plans[1].predicted);
    close_fixture(&fixture);
}

// Of 550 groups of the published file, 338 have two plans or more.
static void test_validate_ranking_of_the_published_file(void **state) {
    (void)state;
    Fixture fixture;
    Err err = {0};
    const char *path = check_shared("truth/ranking_truth.csv");
    open_fixture(&fixture, "");
    record_free(&fixture.file);
    check_ok(record_read(path, &fixture.file, &err), &err);
    run(&fixture);
    uint32_t single = 0;
    for (uint32_t i = 0; i < fixture.ranking.group_count; i++)
        single += fixture.ranking.groups[i].reason == VALIDATE_RANKING_ONE_PLAN;
    assert_int_equal(fixture.ranking.group_count, 550);
    assert_int_equal(single, 212);
    assert_true(fixture.ranking.all.scored > 100);
    close_fixture(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_validate_ranking_predicts_in_the_unit_of_the_metric),
        cmocka_unit_test(test_validate_ranking_scores_baselines),
        cmocka_unit_test(test_validate_ranking_simulates_pools),
        cmocka_unit_test(test_validate_ranking_refuses_groups),
        cmocka_unit_test(test_validate_ranking_reads_cells),
        cmocka_unit_test(test_validate_ranking_picks_alternatives),
        cmocka_unit_test(test_validate_ranking_of_the_published_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
