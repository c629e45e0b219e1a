// The file that keeps a plan: what is written is read, and what is refused.
#include "tests/check.h"

#include "model/plan/plan.h"
#include "tests/plan/hand_plan.h"

static Plan make(uint32_t tp, uint32_t pp, uint32_t dp, uint32_t ep, uint32_t replicas) {
    Plan plan = hand_plan(tp, pp, dp, ep);
    plan.pools[0].replicas = replicas;
    return plan;
}

static PlanFile example(void) {
    PlanFile file = {.plan = make(4, 1, 18, 72, 1),
                     .model = "kimi-k3.json",
                     .topology = "nvl72.json",
                     .scenario = "chat.json",
                     .calibration = "",
                     .model_digest = UINT64_C(0x0123456789abcdef),
                     .topology_digest = 1,
                     .scenario_digest = UINT64_MAX};
    file.result =
        "{\n  \"ttft_ps\": 123456789,\n  \"tok_s\": 0.1,\n  \"rows\": [\n    1,\n    [],\n"
        "    null\n  ]\n}";
    return file;
}

static void test_plan_file_writes_what_it_read(void **state) {
    (void)state;
    PlanFile file = example(), read = {0};
    Err err = {0};
    Text text = {0}, again = {0};
    plan_write(&file, &text);
    check_ok(plan_parse("p.json", text.data, text.length, &read, &err), &err);
    plan_write(&read, &again);
    check_text_equals(text_string(&again), text_string(&text));
    assert_true(plan_digest(&read.plan) == plan_digest(&file.plan));
    assert_true(read.model_digest == file.model_digest);
    assert_true(read.scenario_digest == UINT64_MAX);
    assert_string_equal(read.topology, "nvl72.json");
    assert_string_equal(read.calibration, "");
    check_text_equals(read.result, file.result);
    text_free(&text);
    text_free(&again);
    plan_file_free(&read);
    plan_file_free(&read);
}

static void test_plan_file_keeps_its_origin(void **state) {
    (void)state;
    PlanFile file = example(), read = {0};
    Err err = {0};
    Text text = {0};
    file.origin = "scaled from plan-001.json";
    plan_write(&file, &text);
    check_ok(plan_parse("p.json", text.data, text.length, &read, &err), &err);
    assert_string_equal(read.origin, "scaled from plan-001.json");
    text_free(&text);
    plan_file_free(&read);
}

static void test_plan_file_has_a_stable_form(void **state) {
    (void)state;
    PlanFile file = example();
    Text text = {0};
    plan_write(&file, &text);
    check_golden(text_string(&text), "tests/golden/plan.json");
    text_free(&text);
}

static void test_plan_file_keeps_two_pools_and_a_transfer(void **state) {
    (void)state;
    PlanFile file = {.plan = make(8, 1, 1, 8, 1)}, read = {0};
    file.plan.pools[0].kind = POOL_PREFILL;
    file.plan.pools[1] = make(1, 1, 16, 16, 2).pools[0];
    file.plan.pools[1].kind = POOL_DECODE;
    file.plan.pools[1].first_gpu = 8;
    file.plan.pool_count = 2;
    file.plan.transfers[0] = (KvTransfer){0, 1};
    file.plan.transfer_count = 1;
    Err err = {0};
    Text text = {0};
    plan_write(&file, &text);
    check_ok(plan_parse("p.json", text.data, text.length, &read, &err), &err);
    assert_true(plan_digest(&read.plan) == plan_digest(&file.plan));
    assert_int_equal(read.plan.pools[1].kind, POOL_DECODE);
    assert_int_equal(plan_gpus(&read.plan), 40);
    text_free(&text);
    plan_file_free(&read);
}

// Files of older versions have no such fields, and a plan without them has the digest it had.
static void test_plan_file_keeps_what_overlaps(void **state) {
    (void)state;
    PlanFile file = {.plan = make(4, 1, 18, 72, 1)}, read = {0};
    Pool *pool = &file.plan.pools[0];
    Digest before = plan_digest(&file.plan);
    Err err = {0};
    Text text = {0};
    plan_write(&file, &text);
    assert_null(strstr(text_string(&text), "overlap"));
    text_free(&text);
    pool->prefill_overlap = OVERLAP_TWO_BATCH;
    pool->decode_overlap = OVERLAP_NONE;
    pool->prefill_sms = 20;
    plan_write(&file, &text);
    check_ok(plan_parse("p.json", text.data, text.length, &read, &err), &err);
    assert_int_equal(read.plan.pools[0].prefill_overlap, OVERLAP_TWO_BATCH);
    assert_int_equal(read.plan.pools[0].decode_overlap, OVERLAP_NONE);
    assert_int_equal(read.plan.pools[0].prefill_sms, 20);
    assert_true(plan_digest(&read.plan) == plan_digest(&file.plan));
    assert_true(plan_digest(&read.plan) != before);
    text_free(&text);
    plan_file_free(&read);
}

// The same of where experts lie, and of the load that they are placed for.
static void test_plan_file_keeps_placement_and_load(void **state) {
    (void)state;
    PlanFile file = {.plan = make(1, 1, 72, 72, 1)}, read = {0};
    Digest before = plan_digest(&file.plan);
    Err err = {0};
    Text text = {0}, again = {0};
    plan_write(&file, &text);
    assert_null(strstr(text_string(&text), "expert_placement"));
    assert_null(strstr(text_string(&text), "load"));
    text_free(&text);
    file.plan.pools[0].expert_placement = EXPERT_PLACEMENT_EPLB;
    assert_true(plan_digest(&file.plan) != before);
    before = plan_digest(&file.plan);
    file.plan.pools[0].redundant_experts = 32;
    assert_true(plan_digest(&file.plan) != before);
    file.load = "load.json";
    file.load_digest = 0x0123456789abcdef;
    plan_write(&file, &text);
    check_ok(plan_parse("p.json", text.data, text.length, &read, &err), &err);
    assert_int_equal(read.plan.pools[0].redundant_experts, 32);
    assert_int_equal(read.plan.pools[0].expert_placement, EXPERT_PLACEMENT_EPLB);
    assert_string_equal(read.load, "load.json");
    assert_true(read.load_digest == file.load_digest);
    assert_true(plan_digest(&read.plan) == plan_digest(&file.plan));
    plan_write(&read, &again);
    assert_string_equal(text_string(&again), text_string(&text));
    text_free(&text);
    text_free(&again);
    plan_file_free(&read);
}

static void test_plan_file_refuses_bad_files(void **state) {
    (void)state;
    const char *const cases[][2] = {
        {"newer", ":3:14: version: plan format 2 is newer than this program, which reads up to 1"},
        {"kind", ":2:13: moesim: expected \"plan\", found \"scenario\""},
        {"unknown-key", ":17:7: pools[0]: unknown key \"replicass\", did you mean \"replicas\"?"},
        {"missing-tp", ":8:5: pools[0]: missing \"tp\""},
        {"zero-dp", ":8:5: pools[0]: dp is 0, expected at least 1"},
        {"negative-tp", ":10:13: pools[0].tp: expected a whole number of at least 0, found -4"},
        {"large-tp",
         ":10:13: pools[0].tp: expected a whole number of at most 4294967295, found 4294967296"},
        {"contradiction",
         ":8:5: pools[0]: ep 72 x moe_tp 2 is 144 ranks, expected tp 4 x dp 18 = 72"},
        {"algorithm", ":22:21: pools[0].all_reduce: expected one of \"direct\", \"ring\", "
                      "\"one-shot\", \"pairwise\", \"tree\", \"pipelined-tree\", \"in-switch\", "
                      "\"hierarchical\", \"auto\", found \"rnig\", did you mean \"ring\"?"},
        {"hierarchical",
         ":8:5: pools[0]: all_to_all cannot be \"hierarchical\", expected \"auto\", "
         "which takes it where it is fastest"},
        {"digest", ":6:47: scenario.digest: expected 16 lower-case hexadecimal digits, found "
                   "\"0xff\""},
        {"no-pools", ":7:12: pools: 0 pools, expected 1 to 8"},
        {"many-pools", ":7:12: pools: 9 pools, expected at most 8"},
        {"transfer", ":7:12: pools: transfers[0] goes from pool 0 to pool 1, expected two of 1 "
                     "pools"},
        {"pool-number", ":7:13: pools[0]: expected an object"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char path[128], message[512];
        PlanFile file = {0};
        Err err = {0};
        snprintf(path, sizeof path, "tests/bad/plan-%s.json", cases[i][0]);
        snprintf(message, sizeof message, "%s%s", path, cases[i][1]);
        check_fails(plan_read(path, &file, &err), &err, message);
        assert_int_equal(file.plan.pool_count, 0);
    }
}

static void test_plan_file_refuses_a_truncated_file(void **state) {
    (void)state;
    PlanFile file = {0};
    Err err = {0};
    check_fails(
        plan_read("tests/bad/plan-truncated.json", &file, &err), &err,
        "tests/bad/plan-truncated.json:11:2: unexpected end of file, expected a key in double "
        "quotes after ','");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plan_file_writes_what_it_read),
        cmocka_unit_test(test_plan_file_keeps_its_origin),
        cmocka_unit_test(test_plan_file_has_a_stable_form),
        cmocka_unit_test(test_plan_file_keeps_two_pools_and_a_transfer),
        cmocka_unit_test(test_plan_file_keeps_what_overlaps),
        cmocka_unit_test(test_plan_file_keeps_placement_and_load),
        cmocka_unit_test(test_plan_file_refuses_bad_files),
        cmocka_unit_test(test_plan_file_refuses_a_truncated_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
