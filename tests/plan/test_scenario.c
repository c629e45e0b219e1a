// Scenarios: what a file may say, what flags may change, and where messages point.
#include "tests/check.h"

#include "model/plan/scenario.h"

static const char small[] =
    "{\"moesim\": \"scenario\", \"version\": 1, \"name\": \"n\", \"source\": \"test\",\n"
    " \"isl\": 1000, \"osl\": 24, \"concurrency\": 8}\n";

static Scenario parse(const char *text) {
    Scenario scenario = {0};
    Err err = {0};
    check_ok(scenario_parse("t.json", text, strlen(text), &scenario, &err), &err);
    return scenario;
}

// What a file leaves out takes its default, and the echo can tell which is which.
static void test_scenario_defaults_are_marked(void **state) {
    (void)state;
    Scenario scenario = parse(small);
    assert_int_equal(scenario.isl, 1000);
    assert_int_equal(scenario.osl, 24);
    assert_int_equal(scenario.concurrency, 8);
    assert_string_equal(scenario.model, "");
    assert_int_equal(scenario.memory_permille, 900);
    assert_int_equal(scenario.prefill_chunk, 8192);
    assert_int_equal(scenario.kv_format, NUMFMT_BF16);
    assert_int_equal(scenario.origin[SCENARIO_ISL], SCENARIO_FILE);
    assert_int_equal(scenario.origin[SCENARIO_PREFILL_CHUNK], SCENARIO_DEFAULT);
    assert_string_equal(scenario.where[SCENARIO_ISL], "t.json:2:9: isl");
    assert_string_equal(scenario.where[SCENARIO_PREFILL_CHUNK], "");
    scenario_free(&scenario);
}

static void test_scenario_reads_the_built_in_workload(void **state) {
    (void)state;
    Scenario scenario = {0};
    Err err = {0};
    check_ok(scenario_load("scenarios/chat.json", &scenario, &err), &err);
    assert_string_equal(scenario.model, "kimi-k3.json");
    assert_int_equal(scenario.ttft_limit_ps, 2 * PS_PER_SECOND);
    assert_int_equal(scenario.tpot_limit_ps, PS_PER_SECOND / 20);
    assert_int_equal(scenario.price_uusd_per_gpu_hour, 0);
    scenario_free(&scenario);
}

// 4.54 dollars are 4,540,000 micro-dollars; 0.925 of the memory is 925 per mille.
static void test_scenario_writes_what_it_read(void **state) {
    (void)state;
    Scenario first =
        parse("{\"moesim\": \"scenario\", \"version\": 1, \"name\": \"n\", \"source\": \"s\","
              "\"model\": \"m.json\", \"isl\": 1, \"osl\": 2, \"concurrency\": 3,"
              "\"ttft_limit\": \"1.5 s\", \"tpot_limit\": \"20 ms\","
              "\"price_per_gpu_hour\": 4.54, \"memory_fraction\": 0.925,"
              "\"prefill_chunk\": 512, \"kv_format\": \"fp8\"}");
    assert_int_equal(first.price_uusd_per_gpu_hour, 4540000);
    assert_int_equal(first.memory_permille, 925);
    assert_int_equal(first.ttft_limit_ps, PS_PER_SECOND * 3 / 2);
    Text text = {0}, again = {0};
    scenario_write(&first, &text);
    Scenario second = parse(text_string(&text));
    scenario_write(&second, &again);
    assert_true(first.digest == second.digest);
    check_text_equals(text_string(&again), text_string(&text));
    text_free(&text);
    text_free(&again);
    scenario_free(&first);
    scenario_free(&second);
}

// The digest is that of the workload: another name or origin is the same workload, another length
// is not.
static void test_scenario_digest_ignores_names(void **state) {
    (void)state;
    Scenario a = parse(small), b = parse(small);
    Err err = {0};
    b.name = "other";
    check_ok(scenario_set(&b, SCENARIO_ISL, "--isl", "1000", &err), &err);
    scenario_rehash(&b);
    assert_true(a.digest == b.digest);
    check_ok(scenario_set(&b, SCENARIO_ISL, "--isl", "1001", &err), &err);
    scenario_rehash(&b);
    assert_true(a.digest != b.digest);
    scenario_free(&a);
    scenario_free(&b);
}

// Flags are read as people type them: 8k is 8,000.
static void test_scenario_takes_flags(void **state) {
    (void)state;
    Scenario scenario = parse(small);
    Err err = {0};
    check_ok(scenario_set(&scenario, SCENARIO_ISL, "--isl", "8k", &err), &err);
    check_ok(scenario_set(&scenario, SCENARIO_TPOT_LIMIT, "--max-tpot", "30 ms", &err), &err);
    check_ok(scenario_set(&scenario, SCENARIO_PRICE, "--price", "2.5", &err), &err);
    check_ok(scenario_set(&scenario, SCENARIO_MEMORY_FRACTION, "--memory-fraction", "0.85", &err),
             &err);
    check_ok(scenario_set(&scenario, SCENARIO_KV_FORMAT, "--kv-format", "fp8", &err), &err);
    check_ok(scenario_set(&scenario, SCENARIO_MODEL, "--model", "x.json", &err), &err);
    assert_int_equal(scenario.isl, 8000);
    assert_int_equal(scenario.tpot_limit_ps, PS_PER_SECOND / 1000 * 30);
    assert_int_equal(scenario.price_uusd_per_gpu_hour, 2500000);
    assert_int_equal(scenario.memory_permille, 850);
    assert_int_equal(scenario.kv_format, NUMFMT_FP8);
    assert_string_equal(scenario.model, "x.json");
    assert_int_equal(scenario.origin[SCENARIO_ISL], SCENARIO_FLAG);
    scenario_free(&scenario);
}

static void test_scenario_flag_messages_name_the_flag(void **state) {
    (void)state;
    Scenario scenario = parse(small);
    const struct {
        ScenarioField field;
        const char *flag, *text, *message;
    } cases[] = {
        {SCENARIO_CONCURRENCY, "--concurrency", "0",
         "--concurrency: expected 1 to 1073741824, found 0"},
        {SCENARIO_TPOT_LIMIT, "--max-tpot", "0 ms",
         "--max-tpot: expected a time above 0, found \"0 ms\""},
        {SCENARIO_PRICE, "--price", "-1",
         "--price: expected dollars per GPU-hour above 0 and up to 1000000, found -1"},
        {SCENARIO_MEMORY_FRACTION, "--memory-fraction", "90",
         "--memory-fraction: expected 0.001 to 1 in steps of 0.001, found 90"},
        {SCENARIO_KV_FORMAT, "--kv-format", "f8",
         "--kv-format: unknown number format \"f8\", did you mean fp8"},
        {SCENARIO_MODEL, "--model", "", "--model: expected the name of a model file, found \"\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Err err = {0};
        check_fails(scenario_set(&scenario, cases[i].field, cases[i].flag, cases[i].text, &err),
                    &err, cases[i].message);
    }
    assert_int_equal(scenario.concurrency, 8);
    scenario_free(&scenario);
}

// 1,000 + 24 = 1,024 tokens: a context of 1,024 is enough, one of 1,023 is not. The message has the
// place of the longer part, or the flag that set it.
static void test_scenario_checks_the_context(void **state) {
    (void)state;
    Scenario scenario = parse(small);
    Err err = {0};
    check_ok(scenario_check(&scenario, 1024, &err), &err);
    check_ok(scenario_check(&scenario, 0, &err), &err);
    check_fails(scenario_check(&scenario, 1023, &err), &err,
                "t.json:2:9: isl: isl 1000 + osl 24 is 1024 tokens, more than the model's context "
                "of 1023");
    check_ok(scenario_set(&scenario, SCENARIO_ISL, "--isl", "2000", &err), &err);
    check_fails(scenario_check(&scenario, 1023, &err), &err,
                "--isl: isl 2000 + osl 24 is 2024 tokens, more than the model's context of 1023");
    scenario_free(&scenario);
}

// A field that a command sets itself is checked like one of a file.
static void test_scenario_check_refuses_zero(void **state) {
    (void)state;
    Scenario scenario = parse(small);
    Err err = {0};
    scenario.concurrency = 0;
    scenario.origin[SCENARIO_CONCURRENCY] = SCENARIO_FLAG;
    check_fails(scenario_check(&scenario, 0, &err), &err,
                "--concurrency: expected 1 to 1073741824, found 0");
    scenario_free(&scenario);
}

static void test_scenario_refuses_bad_files(void **state) {
    (void)state;
    const char *const cases[][2] = {
        {"zero-concurrency", ":9:18: concurrency: expected 1 to 1073741824, found 0"},
        {"zero-isl", ":7:10: isl: expected 1 to 1073741824, found 0"},
        {"negative-osl", ":8:10: osl: expected a whole number of at least 0, found -5"},
        {"unknown-key", ":10:3: unknown key \"concurency\", did you mean \"concurrency\"?"},
        {"missing-concurrency", ":1:1: missing \"concurrency\""},
        {"misspelt-concurrency", ":1:1: missing \"concurrency\" (found \"concurency\")"},
        {"huge-isl", ":7:10: isl: expected 1 to 1073741824, found 1099511627776"},
        {"fraction-isl", ":7:10: isl: expected a whole number, found 4096.5"},
        {"unitless-limit",
         ":10:17: tpot_limit: expected a time such as \"500 ns\", found \"50\": no unit"},
        {"number-limit", ":10:17: tpot_limit: expected a string, found 50"},
        {"zero-limit", ":10:17: ttft_limit: expected a time above 0, found \"0 ms\""},
        {"price-zero", ":10:25: price_per_gpu_hour: expected dollars per GPU-hour above 0 and up "
                       "to 1000000, found 0"},
        {"price-text", ":10:25: price_per_gpu_hour: expected a number, found \"4.54\""},
        {"memory-over-one",
         ":10:22: memory_fraction: expected 0.001 to 1 in steps of 0.001, found 1.5"},
        {"memory-fine",
         ":10:22: memory_fraction: expected 0.001 to 1 in steps of 0.001, found 0.9005"},
        {"format", ":10:16: kv_format: unknown number format \"bf61\", did you mean bf16"},
        {"newer", ":3:14: version: scenario format 2 is newer than this program, which reads up "
                  "to 1"},
        {"kind", ":2:13: moesim: expected \"scenario\", found \"plan\""},
        {"empty-model", ":6:12: model: expected the name of a model file, found \"\""},
        {"duplicate", ":8:3: duplicate key \"isl\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char path[128], message[512];
        Scenario scenario = {0};
        Err err = {0};
        snprintf(path, sizeof path, "tests/bad/scenario-%s.json", cases[i][0]);
        snprintf(message, sizeof message, "%s%s", path, cases[i][1]);
        check_fails(scenario_load(path, &scenario, &err), &err, message);
        assert_null(scenario.name);
    }
}

static void test_scenario_refuses_what_the_context_cannot_hold(void **state) {
    (void)state;
    Scenario scenario = {0};
    Err err = {0};
    check_ok(scenario_load("tests/bad/scenario-over-context.json", &scenario, &err), &err);
    check_fails(scenario_check(&scenario, 1048576, &err), &err,
                "tests/bad/scenario-over-context.json:7:10: isl: isl 1048576 + osl 1024 is "
                "1049600 tokens, more than the model's context of 1048576");
    scenario_free(&scenario);
}

static void test_scenario_refuses_a_truncated_file_and_a_folder(void **state) {
    (void)state;
    Scenario scenario = {0};
    Err err = {0};
    check_fails(
        scenario_load("tests/bad/scenario-truncated.json", &scenario, &err), &err,
        "tests/bad/scenario-truncated.json:8:8: unexpected end of file, expected ':' after the "
        "key");
    check_fails(scenario_load("tests/bad", &scenario, &err), &err,
                "tests/bad: is a directory, expected a file");
}

static void test_scenario_free_accepts_zero_and_twice(void **state) {
    (void)state;
    Scenario empty = {0}, scenario = parse(small);
    scenario_free(&empty);
    scenario_free(&scenario);
    scenario_free(&scenario);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scenario_defaults_are_marked),
        cmocka_unit_test(test_scenario_reads_the_built_in_workload),
        cmocka_unit_test(test_scenario_writes_what_it_read),
        cmocka_unit_test(test_scenario_digest_ignores_names),
        cmocka_unit_test(test_scenario_takes_flags),
        cmocka_unit_test(test_scenario_flag_messages_name_the_flag),
        cmocka_unit_test(test_scenario_checks_the_context),
        cmocka_unit_test(test_scenario_check_refuses_zero),
        cmocka_unit_test(test_scenario_refuses_bad_files),
        cmocka_unit_test(test_scenario_refuses_what_the_context_cannot_hold),
        cmocka_unit_test(test_scenario_refuses_a_truncated_file_and_a_folder),
        cmocka_unit_test(test_scenario_free_accepts_zero_and_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
