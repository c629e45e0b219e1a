// Which layers a stage has: in labels, digests, rules and files of plans.
#include "tests/check.h"

#include "model/base/text.h"
#include "model/plan/plan.h"
#include "model/plan/plan_legal.h"
#include "tests/plan/hand_arch.h"
#include "tests/plan/hand_plan.h"

static Plan listed(uint32_t pp, const uint32_t *layers) {
    Plan plan = hand_plan(1, pp, 1, 1);
    plan.pools[0].stage_cut = STAGE_CUT_LISTED;
    for (uint32_t i = 0; i < pp; i++) plan.pools[0].stages[i] = layers[i];
    return plan;
}

static void test_plan_stages_are_in_the_label(void **state) {
    (void)state;
    char text[PLAN_TEXT_MAX];
    Plan plan = listed(4, (const uint32_t[]){15, 16, 16, 14});
    assert_string_equal(plan_label(&plan, text), "TP1 PP4 DP1 EP1 x1 stages 15+2x16+14");
    plan = hand_plan(1, 4, 1, 1);
    plan.pools[0].stage_cut = STAGE_CUT_VLLM;
    assert_string_equal(plan_label(&plan, text), "TP1 PP4 DP1 EP1 x1 vllm stages");
    plan.pools[0].stage_cut = STAGE_CUT_EVEN;
    assert_string_equal(plan_label(&plan, text), "TP1 PP4 DP1 EP1 x1");
}

static void test_plan_stages_are_in_the_digest(void **state) {
    (void)state;
    Plan even = hand_plan(1, 2, 1, 1), vllm = even;
    Plan a = listed(2, (const uint32_t[]){30, 31}), b = listed(2, (const uint32_t[]){31, 30});
    vllm.pools[0].stage_cut = STAGE_CUT_VLLM;
    assert_true(plan_digest(&even) != plan_digest(&vllm));
    assert_true(plan_digest(&a) != plan_digest(&b));
    assert_true(plan_digest(&a) != plan_digest(&even));
}

static void expect_wrong(const Plan *plan, const char *message) {
    Err err = {0};
    check_fails(plan_check(plan, &err), &err, message);
}

static void test_plan_stages_are_as_many_as_pp(void **state) {
    (void)state;
    Err err = {0};
    Plan plan = listed(2, (const uint32_t[]){30, 31});
    check_ok(plan_check(&plan, &err), &err);
    plan.pools[0].stages[1] = 0;
    expect_wrong(&plan, "pools[0]: 1 stages have layers, expected pp 2 (at most 128)");
    plan.pools[0].stages[1] = plan.pools[0].stages[2] = 1;
    expect_wrong(&plan, "pools[0]: 3 stages have layers, expected pp 2 (at most 128)");
    plan = listed(2, (const uint32_t[]){30, 31});
    plan.pools[0].stage_cut = STAGE_CUT_SGLANG;
    expect_wrong(&plan, "pools[0]: stages with stage_cut \"sglang\", expected \"listed\"");
    plan = hand_plan(1, 129, 1, 1);
    plan.pools[0].stage_cut = STAGE_CUT_LISTED;
    for (uint32_t i = 0; i < POOL_STAGES_MAX; i++) plan.pools[0].stages[i] = 1;
    expect_wrong(&plan, "pools[0]: 128 stages have layers, expected pp 129 (at most 128)");
}

// DeepSeek-V3 has 61 layers.
static void test_plan_stages_have_the_layers_of_the_model(void **state) {
    (void)state;
    Arch arch;
    Err err = {0};
    hand_arch_deepseek_v3(&arch);
    Plan plan = listed(2, (const uint32_t[]){30, 31});
    check_ok(plan_legal(&plan, &arch, &err), &err);
    plan = listed(2, (const uint32_t[]){31, 31});
    check_fails(plan_legal(&plan, &arch, &err), &err,
                "the listed stages have 62 layers, the model has 61");
    assert_int_equal(plan_legal_fault(&plan, &arch, &err).rule, PLAN_RULE_STAGES);
    arch_free(&arch);
}

// ---- Files.

static void test_plan_stages_are_kept_by_files(void **state) {
    (void)state;
    PlanFile file = {.plan = listed(2, (const uint32_t[]){30, 31})}, read = {0};
    Err err = {0};
    Text text = {0};
    plan_write(&file, &text);
    assert_non_null(strstr(text_string(&text), "      \"stage_cut\": \"listed\",\n"
                                               "      \"stages\": [30, 31]\n"));
    check_ok(plan_parse("p.json", text.data, text.length, &read, &err), &err);
    assert_true(plan_digest(&read.plan) == plan_digest(&file.plan));
    plan_file_free(&read);
    text_free(&text);
    file.plan = hand_plan(1, 2, 1, 1);
    plan_write(&file, &text);
    assert_null(strstr(text_string(&text), "stage"));
    text_free(&text);
}

// The plan of two stages with `line` as its last member.
static bool parse_with(const char *line, PlanFile *out, Err *err) {
    PlanFile file = {.plan = hand_plan(1, 2, 1, 1)};
    Text text = {0}, edited = {0};
    plan_write(&file, &text);
    const char *last = "\"dispatch_format\": \"fp8\"", *at = strstr(text_string(&text), last);
    assert_non_null(at);
    text_addf(&edited, "%.*s%s,\n      %s%s", (int)(at - text.data), text.data, last, line,
              at + strlen(last));
    bool done = plan_parse("p.json", edited.data, edited.length, out, err);
    text_free(&text);
    text_free(&edited);
    return done;
}

static void test_plan_stages_need_no_more_than_a_list(void **state) {
    (void)state;
    PlanFile read;
    Err err = {0};
    check_ok(parse_with("\"stages\": [30, 31]", &read, &err), &err);
    assert_int_equal(read.plan.pools[0].stage_cut, STAGE_CUT_LISTED);
    assert_int_equal(read.plan.pools[0].stages[1], 31);
    plan_file_free(&read);
    check_ok(parse_with("\"stage_cut\": \"vllm-old\"", &read, &err), &err);
    assert_int_equal(read.plan.pools[0].stage_cut, STAGE_CUT_VLLM_OLD);
    plan_file_free(&read);
}

static void expect_refused(const char *line, const char *message) {
    PlanFile read;
    Err err = {0};
    assert_false(parse_with(line, &read, &err));
    if (strstr(err.text, message) == NULL)
        fail_msg("got \"%s\", expected \"%s\"", err.text, message);
}

static void test_plan_stages_refuse_bad_lists(void **state) {
    (void)state;
    Text many = {0};
    text_add(&many, "\"stages\": [1");
    for (uint32_t i = 1; i < 129; i++) text_add(&many, ", 1");
    text_add(&many, "]");
    expect_refused(text_string(&many), "129 stages, expected 1 to 128");
    text_free(&many);
    expect_refused("\"stages\": []", "0 stages, expected 1 to 128");
    expect_refused("\"stages\": [30, 0]", "expected at least one layer, found 0");
    expect_refused("\"stages\": [30, 9000000000]", "found 9000000000");
    expect_refused("\"stages\": [30]", "1 stages have layers, expected pp 2");
    expect_refused("\"stages\": [30, -1]", "stages[1]");
    expect_refused("\"stage_cut\": \"listed\"", "0 stages have layers, expected pp 2");
    expect_refused("\"stage_cut\": \"odd\"", "stage_cut");
    expect_refused("\"stage_cut\": \"vllm\",\n\"stages\": [30, 31]",
                   "stages with stage_cut \"vllm\", expected \"listed\"");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plan_stages_are_in_the_label),
        cmocka_unit_test(test_plan_stages_are_in_the_digest),
        cmocka_unit_test(test_plan_stages_are_as_many_as_pp),
        cmocka_unit_test(test_plan_stages_have_the_layers_of_the_model),
        cmocka_unit_test(test_plan_stages_are_kept_by_files),
        cmocka_unit_test(test_plan_stages_need_no_more_than_a_list),
        cmocka_unit_test(test_plan_stages_refuse_bad_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
