// Rule files of engines: versions, reading, and what a rule says of a plan.
#include "tests/check.h"

#include "model/plan/engine.h"
#include "model/plan/engine_nearest.h"
#include "tests/plan/hand_arch.h"
#include "tests/plan/hand_plan.h"

// ---- Versions

static const char *format_of(const char *text) {
    static char buffer[ERR_TEXT_MAX];
    EngineVersion version;
    Err err = {0};
    if (!engine_version_parse(text, &version, &err)) return strcpy(buffer, err.text);
    return engine_version_format(version, buffer);
}

static void test_engine_version_reads(void **state) {
    (void)state;
    assert_string_equal(format_of("0.8.3"), "0.8.3");
    assert_string_equal(format_of("v0.24"), "0.24.0");
    assert_string_equal(format_of("1"), "1.0.0");
    assert_string_equal(format_of("0.4.6.post1"), "0.4.6.post1");
#define EXPECTED "expected a version such as 0.11.0 or 0.4.6.post1, found "
    assert_string_equal(format_of(""), EXPECTED "\"\"");
    assert_string_equal(format_of("0.8."), EXPECTED "\"0.8.\"");
    assert_string_equal(format_of("0.8rc1"), EXPECTED "\"0.8rc1\"");
    assert_string_equal(format_of("0.1.2.3"), EXPECTED "\"0.1.2.3\"");
    assert_string_equal(format_of("0.100000"), EXPECTED "\"0.100000\"");
}

// Parts are numbers: 0.9 is before 0.11. A post release is after its release, before the next.
static void test_engine_version_order(void **state) {
    (void)state;
    static const char *const order[] = {"0.4.3", "0.4.4", "0.4.4.post1", "0.4.5",
                                        "0.9",   "0.11",  "0.11.1",      "1.0"};
    for (size_t i = 0; i + 1 < sizeof order / sizeof *order; i++) {
        EngineVersion a, b;
        Err err = {0};
        check_ok(engine_version_parse(order[i], &a, &err), &err);
        check_ok(engine_version_parse(order[i + 1], &b, &err), &err);
        assert_true(engine_version_compare(a, b) < 0 && engine_version_compare(b, a) > 0);
        assert_true(engine_version_compare(a, a) == 0);
    }
}

static bool is_in(const char *range, const char *version) {
    EngineRange bounds;
    EngineVersion parsed;
    Err err = {0};
    check_ok(engine_version_range_parse(range, &bounds, &err), &err);
    check_ok(engine_version_parse(version, &parsed, &err), &err);
    return engine_version_in_range(&bounds, parsed);
}

static void test_engine_version_ranges(void **state) {
    (void)state;
    assert_true(is_in(">=0.9,<0.12", "0.9.0") && is_in(">=0.9,<0.12", "0.11.2"));
    assert_false(is_in(">=0.9,<0.12", "0.8.5") || is_in(">=0.9,<0.12", "0.12"));
    assert_true(is_in(">0.8", "0.8.0.post1") && !is_in(">0.8", "0.8"));
    assert_true(is_in("<=0.10", "0.10.0") && !is_in("<=0.10", "0.10.1"));
    assert_true(is_in("==0.11", "0.11.0") && !is_in("==0.11", "0.11.1"));
    assert_true(is_in("*", "0.0.1"));
    EngineRange range;
    Err err = {0};
    check_fails(engine_version_range_parse("0.9", &range, &err), &err,
                "expected a range such as \">=0.9,<0.12\" or \"*\", found \"0.9\"");
    check_fails(engine_version_range_parse(">=0.9,", &range, &err), &err,
                "expected a range such as \">=0.9,<0.12\" or \"*\", found \"\"");
    check_fails(engine_version_range_parse(">=x", &range, &err), &err,
                "expected a version such as 0.11.0 or 0.4.6.post1, found \"x\"");
    check_fails(engine_version_range_parse(">0,>1,>2,>3,>4", &range, &err), &err,
                "a range has at most 4 bounds");
}

// ---- Files

#define FILE_OF(options, lists, rules)                                                             \
    "{\"moesim\": \"engine\", \"version\": 1, \"name\": \"toy\", \"releases\": [\"1.0\", "         \
    "\"2.5\"],\n\"options\": [" options "],\n\"lists\": [" lists "],\n\"rules\": [" rules "]}"

#define OPTION                                                                                     \
    "{\"name\": \"split-size\", \"type\": \"count\", \"default\": 2, \"versions\": \">=1.5\", "    \
    "\"refused\": \"use tp\", \"source\": \"s\"}"
#define CHOICE                                                                                     \
    "{\"name\": \"backend\", \"type\": \"text\", \"default\": \"a\", \"choices\": [\"a\", "        \
    "\"b\", \"c\"], \"versions\": \"*\", \"source\": \"s\"}"
#define FLAG                                                                                       \
    "{\"name\": \"fast\", \"type\": \"flag\", \"default\": false, \"versions\": \"*\", "           \
    "\"source\": \"s\"}"
#define LIST                                                                                       \
    "{\"name\": \"good\", \"rows\": [{\"value\": \"a\", \"versions\": \"*\", \"source\": \"s\"}, " \
    "{\"value\": \"b\", \"versions\": \">=2\", \"source\": \"s\"}]}"
#define RULE(name, versions, when, require, message)                                               \
    "{\"name\": \"" name "\", \"versions\": \"" versions "\", \"when\": \"" when                   \
    "\", \"require\": \"" require "\", \"message\": \"" message "\", \"source\": \"s\"}"

static void read_toy(const char *text, const char *version, Engine *out) {
    Err err = {0};
    check_ok(engine_parse("toy.json", text, strlen(text), version, out, &err), &err);
}

static void check_refused(const char *text, const char *message) {
    Engine engine = {0};
    Err err = {0};
    check_fails(engine_parse("toy.json", text, strlen(text), NULL, &engine, &err), &err, message);
}

// Without a version: the last release. Rules and rows of other releases are not kept.
static void test_engine_keeps_its_version(void **state) {
    (void)state;
    static const char text[] = FILE_OF(OPTION, LIST,
                                       RULE("old", "<2", "true", "tp == 1", "old") ", " RULE(
                                           "new", ">=2", "true", "tp == 1", "new"));
    Engine engine;
    read_toy(text, NULL, &engine);
    assert_int_equal(engine.rule_count, 1);
    assert_string_equal(engine.rules[0].name, "new");
    assert_int_equal(engine.lists[0].value_count, 2);
    engine_unload(&engine);
    read_toy(text, "1.9", &engine);
    assert_string_equal(engine.rules[0].name, "old");
    assert_int_equal(engine.lists[0].value_count, 1);
    engine_unload(&engine);
    Err err = {0};
    check_fails(engine_parse("toy.json", text, strlen(text), "3", &engine, &err), &err,
                "the rules of toy are for 1.0.0 to 2.5.0, not for 3");
}

static void test_engine_refuses_bad_files(void **state) {
    (void)state;
    check_refused(FILE_OF("", "", RULE("r", "*", "true", "hedas > 1", "m")),
                  "toy.json:4:69: rules[0].require: column 1: unknown name \"hedas\", did you mean "
                  "\"heads\"?");
    check_refused(FILE_OF("", "", RULE("r", "*", "tp", "true", "m")),
                  "toy.json:4:50: rules[0].when: expected a condition that is true or false");
    check_refused(FILE_OF("", "", RULE("r", "*", "true", "true", "{x}")),
                  "toy.json:4:88: rules[0].message: \"{x}\": column 1: unknown name \"x\"");
    check_refused(FILE_OF("", "", RULE("r", "0.9", "true", "true", "m")),
                  "toy.json:4:37: rules[0].versions: expected a range such as \">=0.9,<0.12\" or "
                  "\"*\", found \"0.9\"");
    check_refused(
        FILE_OF("", "",
                RULE("r", "*", "true", "true", "m") "," RULE("r", "*", "true", "true", "m")),
        "toy.json:4:117: rules[1].name: the name \"r\" is taken");
    check_refused(FILE_OF("{\"name\": \"tp\", \"type\": \"flag\", \"default\": false, "
                          "\"versions\": \"*\", \"source\": \"s\"}",
                          "", ""),
                  "toy.json:2:22: options[0].name: the name \"tp\" is taken");
    check_refused(FILE_OF("{\"name\": \"x\", \"type\": \"flag\", \"default\": 1, \"versions\": "
                          "\"*\", \"source\": \"s\"}",
                          "", ""),
                  "toy.json:2:54: options[0].default: expected true or false, found 1");
    check_refused(FILE_OF("{\"name\": \"x\", \"type\": \"flag\", \"default\": false, "
                          "\"versions\": \"*\", \"source\": \"\"}",
                          "", ""),
                  "toy.json:2:88: options[0].source: expected a source, found none");
    check_refused("{\"moesim\": \"engine\", \"version\": 1, \"name\": \"toy\", \"releases\": "
                  "[\"2\", \"1\"], \"options\": [], \"lists\": [], \"rules\": []}",
                  "toy.json:1:63: releases: the first release is after the last");
}

// ---- Verdicts

typedef struct Asked {
    Engine engine;
    Arch arch;
    Arena arena;
    EngineVerdict verdict;
    Err err;
    bool ok;
} Asked;

// TP8 of Qwen3-30B-A3B (32 heads over 4, 128 experts of 768), no machine.
static void ask_toy(Asked *asked, const char *text, const char *version, const char *settings) {
    *asked = (Asked){0};
    EngineSetting list[ENGINE_OPTIONS_MAX];
    uint32_t count = 0;
    EngineFacts facts;
    Plan plan = hand_plan(8, 1, 1, 8);
    read_toy(text, version, &asked->engine);
    hand_arch_qwen3_30b(&asked->arch);
    engine_facts_of(&plan, 0, &asked->arch, &(EngineMachine){0}, &asked->arena, &facts);
    asked->ok = (settings == NULL ||
                 engine_split_settings(settings, &asked->arena, list, &count, &asked->err)) &&
                engine_check(&asked->engine, &facts, list, count, &asked->arena, &asked->verdict,
                             &asked->err);
}

static void free_toy(Asked *asked) {
    engine_unload(&asked->engine);
    arch_free(&asked->arch);
    arena_free(&asked->arena);
}

static const char *error_of(const char *text, const char *version, const char *settings) {
    static char message[ERR_TEXT_MAX];
    Asked asked;
    ask_toy(&asked, text, version, settings);
    assert_false(asked.ok);
    memcpy(message, asked.err.text, sizeof message);
    free_toy(&asked);
    return message;
}

static void test_engine_check_lists_broken_in_order(void **state) {
    (void)state;
    static const char text[] = FILE_OF(
        OPTION "," CHOICE, LIST,
        RULE("a", "*", "tp > 4", "heads % tp == 1", "{heads} % {tp} is {heads % tp}") ", " RULE(
            "b", "*", "tp > 8", "false", "not asked") ", " RULE("c", "*", "true",
                                                                "tp == split_size",
                                                                "tp {tp} is not {split_size}"));
    Asked asked;
    ask_toy(&asked, text, NULL, NULL);
    assert_true(asked.ok);
    assert_int_equal(asked.verdict.broken_count, 2);
    assert_string_equal(asked.verdict.broken[0].text, "32 % 8 is 0");
    assert_string_equal(asked.verdict.broken[1].text, "tp 8 is not 2"); // the default
    free_toy(&asked);
    ask_toy(&asked, text, NULL, "split-size=8");
    assert_int_equal(asked.verdict.broken_count, 1);
    free_toy(&asked);
}

// No machine: undecided, unless the other side decides or `when` does not hold.
static void test_engine_check_says_what_is_undecided(void **state) {
    (void)state;
    static const char text[] =
        FILE_OF("", "",
                RULE("a", "*", "true", "device_fp8", "m") ", " RULE(
                    "b", "*", "tp == 1", "device_fp8",
                    "m") ", " RULE("c", "*", "node_gpus > 4", "tp == 8",
                                   "m") ", " RULE("d", "*", "node_gpus > 4", "tp == 4", "m"));
    Asked asked;
    ask_toy(&asked, text, NULL, NULL);
    assert_int_equal(asked.verdict.broken_count, 0);
    assert_int_equal(asked.verdict.undecided_count, 2);
    assert_string_equal(asked.verdict.undecided[0], "a needs --topo");
    assert_string_equal(asked.verdict.undecided[1], "d needs --topo");
    free_toy(&asked);
}

static void test_engine_check_settings(void **state) {
    (void)state;
    static const char text[] = FILE_OF(OPTION "," CHOICE "," FLAG, "", "");
    Asked asked;
    ask_toy(&asked, text, "1.0", "split-size=4");
    assert_int_equal(asked.verdict.broken_count, 1);
    assert_string_equal(asked.verdict.broken[0].text,
                        "toy 1.0.0 has no option --split-size; use tp");
    free_toy(&asked);
    assert_string_equal(
        error_of(text, NULL, "splitsize=1"),
        "no rule of toy knows an option \"splitsize\", did you mean \"split-size\"?");
    assert_string_equal(error_of(text, NULL, "split-size=-1"),
                        "option split-size: expected a whole number, found \"-1\"");
    assert_string_equal(error_of(text, NULL, "backend=d"),
                        "option backend: expected a, b or c, found \"d\"");
    assert_string_equal(error_of(text, NULL, "fast=yes"),
                        "option fast: expected true or false, found \"yes\"");
    assert_string_equal(error_of(text, NULL, "fast=true,fast=true"), "option fast is set twice");
    assert_string_equal(error_of(text, NULL, "fast"), "expected OPTION=VALUE, found \"fast\"");
    assert_string_equal(error_of(text, NULL, "fast=true,"), "expected OPTION=VALUE, found \"\"");
}

static void test_engine_check_names_the_rule_that_fails(void **state) {
    (void)state;
    assert_string_equal(
        error_of(FILE_OF(OPTION, "", RULE("r", "*", "true", "tp / split_size > 0", "m")), NULL,
                 "split-size=0"),
        "toy.json: rule \"r\": division of 8 by zero");
}

// ---- Facts

// Blocks of 128 over 4 KV heads of 64: at TP4 each rank has one head, half a block.
static void test_engine_facts_block_break_in_kv(void **state) {
    (void)state;
    Arch arch;
    EngineFacts facts;
    Arena arena = {0};
    hand_arch_qwen3_30b(&arch);
    arch.attentions[0].head_dim = 64;
    TensorClass tensors[2] = {{.pattern = "k_proj.weight",
                               .component = COMPONENT_ATTENTION,
                               .shard = SHARD_KV,
                               .type = "F8_E4M3",
                               .element_bits = 8,
                               .dims = {256, 2048},
                               .dim_count = 2,
                               .unit = 128,
                               .layer_kind = 0,
                               .per_layer = 1}};
    tensors[1] = tensors[0];
    tensors[1].pattern = "k_proj.weight_scale_inv", tensors[1].is_scale = true;
    tensors[1].dims[0] = 2, tensors[1].dims[1] = 16;
    arch.tensors = tensors, arch.tensor_count = 2;
    Plan plan = hand_plan(8, 1, 1, 8);
    engine_facts_of(&plan, 0, &arch, &(EngineMachine){0}, &arena, &facts);
    assert_string_equal(facts.values[ENGINE_FACT_BLOCK_BREAK].text, "k_proj.weight");
    assert_int_equal(facts.values[ENGINE_FACT_BREAK_PART].integer, 64); // 256 / 4 heads
    assert_int_equal(facts.values[ENGINE_FACT_BREAK_BLOCK].integer, 128);
    plan = hand_plan(2, 1, 1, 2);
    engine_facts_of(&plan, 0, &arch, &(EngineMachine){0}, &arena, &facts);
    assert_string_equal(facts.values[ENGINE_FACT_BLOCK_BREAK].text, "");
    // A fused matrix of 512 + 192 rows: each part by itself, 192 / 2 = 96.
    tensors[0].shard = tensors[1].shard = SHARD_COLUMN;
    tensors[0].dims[0] = 704, tensors[1].dims[0] = 6;
    tensors[0].segments[0] = (TensorSegment){.extent = 512, .unit = 1};
    tensors[0].segments[1] = (TensorSegment){.extent = 192, .unit = 1};
    tensors[0].segment_count = 2;
    engine_facts_of(&plan, 0, &arch, &(EngineMachine){0}, &arena, &facts);
    assert_int_equal(facts.values[ENGINE_FACT_BREAK_EXTENT].integer, 192);
    assert_int_equal(facts.values[ENGINE_FACT_BREAK_PART].integer, 96);
    arch_free(&arch);
    arena_free(&arena);
}

// Two weights in a byte: 1536 inputs are 768 bytes with 48 scales, one for 32. TP32 leaves 48.
static void test_engine_facts_block_break_in_packed(void **state) {
    (void)state;
    Arch arch;
    EngineFacts facts;
    Arena arena = {0};
    hand_arch_qwen3_30b(&arch);
    TensorClass tensors[2] = {{.pattern = "down_proj.weight_packed",
                               .component = COMPONENT_DENSE,
                               .shard = SHARD_ROW,
                               .type = "U8",
                               .element_bits = 8,
                               .dims = {2048, 768},
                               .dim_count = 2,
                               .axis = 1,
                               .unit = 16,
                               .parameters = 2048 * 1536,
                               .per_layer = 1}};
    tensors[1] = tensors[0];
    tensors[1].is_scale = true, tensors[1].dims[1] = 48, tensors[1].parameters = 0;
    arch.tensors = tensors, arch.tensor_count = 2;
    Plan plan = hand_plan(32, 1, 1, 32);
    engine_facts_of(&plan, 0, &arch, &(EngineMachine){0}, &arena, &facts);
    assert_int_equal(facts.values[ENGINE_FACT_BREAK_EXTENT].integer, 1536);
    assert_int_equal(facts.values[ENGINE_FACT_BREAK_PART].integer, 48);
    assert_int_equal(facts.values[ENGINE_FACT_BREAK_BLOCK].integer, 32);
    arch_free(&arch);
    arena_free(&arena);
}

// ---- Shipped rules

// Every release between the first and the last reads; the last is the default.
static void test_engine_shipped_rules_read(void **state) {
    (void)state;
    static const char *const names[] = {"vllm", "sglang", "tensorrt-llm"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char last[ENGINE_VERSION_TEXT_MAX], first[ENGINE_VERSION_TEXT_MAX];
        Engine engine;
        Err err = {0};
        check_ok(engine_load(names[i], NULL, &engine, &err), &err);
        assert_string_equal(engine.name, names[i]);
        engine_version_format(engine.first, first);
        assert_string_equal(engine_version_format(engine.version, last),
                            engine_version_format(engine.last, (char[ENGINE_VERSION_TEXT_MAX]){0}));
        engine_unload(&engine);
        check_ok(engine_load(names[i], first, &engine, &err), &err);
        engine_unload(&engine);
    }
}

// Both engines start the plain plans of DeepSeek-V3 in every release that has rules.
static void test_engine_shipped_rules_take_plain_plans(void **state) {
    (void)state;
    static const struct {
        const char *name, *version;
    } releases[] = {{"vllm", "0.8.0"},   {"vllm", "0.12.0"},  {"vllm", "0.28.0"},
                    {"sglang", "0.4.0"}, {"sglang", "0.5.3"}, {"sglang", "0.5.19"}};
    Arch arch;
    hand_arch_deepseek_v3(&arch);
    for (size_t i = 0; i < sizeof releases / sizeof *releases; i++) {
        Engine engine;
        Arena arena = {0};
        EngineAnswer answer;
        Err err = {0};
        check_ok(engine_load(releases[i].name, releases[i].version, &engine, &err), &err);
        Plan plans[] = {hand_plan(8, 1, 1, 1), hand_plan(16, 1, 1, 16), hand_plan(1, 1, 8, 8)};
        for (size_t p = 0; p < 3; p++) {
            EngineAsk ask = {.engine = &engine, .plan = &plans[p], .arch = &arch};
            check_ok(engine_nearest_ask(&ask, &arena, &answer, &err), &err);
            if (!answer.is_legal)
                fail_msg("%s %s: %s", releases[i].name, releases[i].version,
                         answer.verdict.broken_count > 0 ? answer.verdict.broken[0].text
                                                         : answer.structure);
        }
        arena_free(&arena);
        engine_unload(&engine);
    }
    arch_free(&arch);
}

// The answer does not depend on what was asked before, and every plan that is offered is legal.
static void test_engine_nearest_offers_legal_plans(void **state) {
    (void)state;
    Engine engine;
    Arch arch;
    Err err = {0};
    check_ok(engine_load("sglang", NULL, &engine, &err), &err);
    hand_arch_deepseek_v3(&arch);
    for (uint32_t tp = 3; tp <= 48; tp += 5) {
        Arena arena = {0};
        EngineNear nearest[ENGINE_NEAREST_MAX];
        EngineAnswer answer;
        uint32_t count;
        Plan plan = hand_plan(tp, 1, 2, 1);
        EngineAsk ask = {.engine = &engine, .plan = &plan, .arch = &arch};
        check_ok(engine_nearest_find(&ask, &arena, nearest, &count, &err), &err);
        assert_in_range(count, 1, ENGINE_NEAREST_MAX);
        for (uint32_t i = 0; i < count; i++) {
            ask.plan = &nearest[i].plan;
            check_ok(engine_nearest_ask(&ask, &arena, &answer, &err), &err);
            assert_true(answer.is_legal);
        }
        arena_free(&arena);
    }
    arch_free(&arch);
    engine_unload(&engine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_engine_version_reads),
        cmocka_unit_test(test_engine_version_order),
        cmocka_unit_test(test_engine_version_ranges),
        cmocka_unit_test(test_engine_keeps_its_version),
        cmocka_unit_test(test_engine_refuses_bad_files),
        cmocka_unit_test(test_engine_check_lists_broken_in_order),
        cmocka_unit_test(test_engine_check_says_what_is_undecided),
        cmocka_unit_test(test_engine_check_settings),
        cmocka_unit_test(test_engine_check_names_the_rule_that_fails),
        cmocka_unit_test(test_engine_facts_block_break_in_kv),
        cmocka_unit_test(test_engine_facts_block_break_in_packed),
        cmocka_unit_test(test_engine_shipped_rules_read),
        cmocka_unit_test(test_engine_shipped_rules_take_plain_plans),
        cmocka_unit_test(test_engine_nearest_offers_legal_plans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
