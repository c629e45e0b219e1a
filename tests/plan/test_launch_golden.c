// The lines of saved plans, and the plans that come back from them.
#include "tests/plan/hand_launch.h"

#include "tests/check.h"

// tests/golden/launch/PLAN.json on a machine: PLAN.ENGINE.sh, behind it the version when it is not
// the last one.
static const struct {
    const char *plan;
    LaunchEngine engine;
    const char *version, *model, *topology;
} cases[] = {
    {"qwen30-tp4", LAUNCH_VLLM, NULL, "qwen3-30b-a3b", "hgx-h100"},
    {"qwen30-tp4", LAUNCH_SGLANG, NULL, "qwen3-30b-a3b", "hgx-h100"},
    {"qwen30-tp2-x4", LAUNCH_VLLM, NULL, "qwen3-30b-a3b", "hgx-h100"},
    {"qwen30-tp2-x4", LAUNCH_SGLANG, NULL, "qwen3-30b-a3b", "hgx-h100"},
    {"deepseek-tp8", LAUNCH_VLLM, NULL, "deepseek-v3", "hgx-h200"},
    {"deepseek-tp8", LAUNCH_SGLANG, NULL, "deepseek-v3", "hgx-h200"},
    {"deepseek-tp8-kv8", LAUNCH_VLLM, NULL, "deepseek-v3", "hgx-h200"},
    {"deepseek-tp8-kv8", LAUNCH_SGLANG, NULL, "deepseek-v3", "hgx-h200"},
    {"deepseek-tp8-dcp8", LAUNCH_VLLM, NULL, "deepseek-v3", "hgx-h200"},
    {"deepseek-tp8-dcp8", LAUNCH_SGLANG, NULL, "deepseek-v3", "hgx-h200"},
    {"deepseek-tp2-pcp4", LAUNCH_VLLM, NULL, "deepseek-v3", "hgx-h200"},
    {"deepseek-tp2-pcp4", LAUNCH_SGLANG, NULL, "deepseek-v3", "hgx-h200"},
    {"deepseek-tp8-pp2", LAUNCH_VLLM, NULL, "deepseek-v3", "hgx-h100:2"},
    {"deepseek-tp8-pp2", LAUNCH_SGLANG, NULL, "deepseek-v3", "hgx-h100:2"},
    {"deepseek-dp8-ep8", LAUNCH_VLLM, NULL, "deepseek-v3", "hgx-h200"},
    {"deepseek-dp8-ep8", LAUNCH_VLLM, "0.11.0", "deepseek-v3", "hgx-h200"},
    {"deepseek-dp8-ep8", LAUNCH_SGLANG, NULL, "deepseek-v3", "hgx-h200"},
    {"deepseek-dp8-ep8", LAUNCH_SGLANG, "0.4.9", "deepseek-v3", "hgx-h200"},
    {"deepseek-dp8-gather", LAUNCH_VLLM, NULL, "deepseek-v3", "hgx-h200"},
    {"deepseek-dp8-gather", LAUNCH_SGLANG, NULL, "deepseek-v3", "hgx-h200"},
    {"deepseek-tp8-dp2-ep16", LAUNCH_VLLM, NULL, "deepseek-v3", "hgx-h100:2"},
    {"deepseek-tp8-dp2-ep16", LAUNCH_SGLANG, NULL, "deepseek-v3", "hgx-h100:2"},
    {"deepseek-nvl72", LAUNCH_VLLM, NULL, "deepseek-v3", "nvl72"},
    {"deepseek-nvl72", LAUNCH_SGLANG, NULL, "deepseek-v3", "nvl72"},
    {"deepseek-tbo-prefill", LAUNCH_VLLM, NULL, "deepseek-v3", "hgx-h100:2"},
    {"deepseek-pd", LAUNCH_VLLM, NULL, "deepseek-v3", "hgx-h100:4"},
    {"deepseek-pd", LAUNCH_SGLANG, NULL, "deepseek-v3", "hgx-h100:4"},
    {"qwen30-pd-node", LAUNCH_VLLM, NULL, "qwen3-30b-a3b", "hgx-h100"},
    {"qwen30-pd-node", LAUNCH_SGLANG, NULL, "qwen3-30b-a3b", "hgx-h100"},
    {"qwen235-tp4-dp2", LAUNCH_VLLM, NULL, "qwen3-235b-a22b", "hgx-h200"},
    {"qwen235-tp4-dp2", LAUNCH_SGLANG, NULL, "qwen3-235b-a22b", "hgx-h200"},
    {"qwen235-tp4-dp2-mixed", LAUNCH_SGLANG, NULL, "qwen3-235b-a22b", "hgx-h200"},
    {"kimi-k3-tp16", LAUNCH_VLLM, NULL, "kimi-k3", "nvl72"},
    {"kimi-k3-tp16", LAUNCH_SGLANG, NULL, "kimi-k3", "nvl72"},
    {"kimi-k2-tp16", LAUNCH_VLLM, NULL, "kimi-k2", "hgx-h100:2"},
    {"kimi-k2-tp16", LAUNCH_SGLANG, NULL, "kimi-k2", "hgx-h100:2"},
    {"mixtral-ep8", LAUNCH_VLLM, NULL, "mixtral-8x7b", "hgx-h100"},
    {"mixtral-ep8", LAUNCH_SGLANG, NULL, "mixtral-8x7b", "hgx-h100"},
    {"deepseek-pp4-deep", LAUNCH_SGLANG, NULL, "deepseek-v3", "hgx-h100:2"},
    {"v2lite-dp4", LAUNCH_VLLM, NULL, "deepseek-v2-lite", "hgx-h100"},
    {"v2lite-dp4", LAUNCH_SGLANG, NULL, "deepseek-v2-lite", "hgx-h100"},
    {"two-unified", LAUNCH_VLLM, NULL, "qwen3-30b-a3b", "hgx-h100"},
    {"two-unified", LAUNCH_SGLANG, NULL, "qwen3-30b-a3b", "hgx-h100"},
};
#define CASES (sizeof cases / sizeof *cases)

static void load_plan(const char *name, PlanFile *out) {
    Arena arena = {0};
    Err err = {0};
    check_ok(plan_read(arena_printf(&arena, "tests/golden/launch/%s.json", name), out, &err), &err);
    arena_free(&arena);
}

static void test_launch_writes_the_lines_of_each_plan(void **state) {
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        HandLaunch hand;
        PlanFile file;
        Err err = {0};
        Text text = {0};
        Arena arena = {0};
        hand_launch_open(&hand, cases[i].engine, cases[i].version, cases[i].model,
                         cases[i].topology);
        load_plan(cases[i].plan, &file);
        hand.in.plan = &file.plan;
        check_ok(launch_write(&hand.in, &text, &err), &err);
        const char *path =
            arena_printf(&arena, "tests/golden/launch/%s.%s%s%s.sh", cases[i].plan,
                         launch_flags_engines[cases[i].engine], cases[i].version == NULL ? "" : "-",
                         cases[i].version == NULL ? "" : cases[i].version);
        check_golden(text_string(&text), path);
        text_free(&text);
        arena_free(&arena);
        plan_file_free(&file);
        hand_launch_close(&hand);
    }
}

static void test_launch_lines_give_the_plan_back(void **state) {
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        HandLaunch hand;
        PlanFile file;
        Plan back;
        hand_launch_open(&hand, cases[i].engine, cases[i].version, cases[i].model,
                         cases[i].topology);
        load_plan(cases[i].plan, &file);
        hand_launch_round(&hand, &file.plan, &back, NULL);
        hand_launch_check_same(&back, &file.plan);
        plan_file_free(&file);
        hand_launch_close(&hand);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_launch_writes_the_lines_of_each_plan),
        cmocka_unit_test(test_launch_lines_give_the_plan_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
