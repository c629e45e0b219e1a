// Families of models: each gives on one rank what the reference gives by its own formulas, and in
// mixed plans what one rank gives; what has no kernel is refused by the name of the part.
#include "tests/check.h"

#include "tests/exec/reference.h"
#include "tests/exec/tiny.h"

#define AGREE 1e-3 // absolute, of logits of size about 5

// A model's config, and whether tp ranks may share its heads.
typedef struct Member {
    const char *name, *const *config;
    bool has_experts, is_cut;
} Member;

static const Member members[] = {
    {"deepseek_v2", &tiny_deepseek_v2, true, true},
    {"glm4_moe", &tiny_glm, true, true},
    {"dots1", &tiny_dots, true, true},
    {"olmoe", &tiny_olmoe, true, false},
    {"mixtral", &tiny_mixtral, true, true},
    {"qwen2", &tiny_qwen2, false, true},
    {"llama", &tiny_llama, false, true},
};
#define MEMBERS (sizeof members / sizeof members[0])

static void compare(const Member *member, const TinyModel *model, const Plan *plan,
                    const TinyLogits *want) {
    const Pool *pool = &plan->pools[0];
    TinyRun run = {.texts = 3, .tokens = 5, .chunks = 1, .rounds = 2};
    TinyLogits got = tiny_run(model, plan, &run);
    double distance = tiny_distance(want, &got);
    print_message("%-12s tp %u, pp %u, dp %u, ep %u: max |dlogit| %.2e\n", member->name, pool->tp,
                  pool->pp, pool->dp, pool->ep, distance);
    assert_true(distance <= AGREE);
    assert_int_equal(tiny_argmax_differ(want, &got), 0);
    tiny_free(&got);
}

// 3 texts of 5 tokens on each group, of which the first 3 are compared.
static void test_forward_families_are_the_reference(void **state) {
    (void)state;
    for (size_t i = 0; i < MEMBERS; i++) {
        const Member *member = &members[i];
        TinyModel model = tiny_open(*member->config);
        TinyLogits want = reference_run(&model, 3, 5, 2);
        Plan plans[] = {tiny_plan(1, 1, 1, 1), tiny_plan(1, 3, 1, 1), tiny_plan(1, 1, 4, 4),
                        tiny_plan(2, 1, 1, 2), tiny_plan(2, 1, 2, 4)};
        for (uint32_t j = 0; j < 5; j++) {
            Plan *plan = &plans[j];
            if (plan->pools[0].tp > 1 && !member->is_cut) continue;
            if (!member->has_experts) {
                if (plan->pools[0].dp > 1) continue;
                *plan = tiny_plan(plan->pools[0].tp, plan->pools[0].pp, 1, 1);
            }
            compare(member, &model, plan, &want);
        }
        tiny_free(&want);
        tiny_close(&model);
    }
}

// The parts that tell families apart change the logits, so that the comparison above can fail.
static void test_forward_parts_of_families_matter(void **state) {
    (void)state;
    static const struct {
        const char *const *config;
        const char *from, *to;
    } rows[] = {
        {&tiny_glm, "\"partial_rotary_factor\":0.5", "\"partial_rotary_factor\":1"},
        {&tiny_glm, "\"attention_bias\":true", "\"attention_bias\":false"},
        {&tiny_glm, "\"use_qk_norm\":true", "\"use_qk_norm\":false"},
        {&tiny_deepseek_v2, "\"routed_scaling_factor\":16", "\"routed_scaling_factor\":1"},
        {&tiny_olmoe, "\"norm_topk_prob\":false", "\"norm_topk_prob\":true"},
    };
    Plan alone = tiny_plan(1, 1, 1, 1);
    TinyRun run = {.texts = 2, .tokens = 6, .chunks = 1};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        TinyModel model = tiny_open(*rows[i].config);
        TinyModel other = tiny_open_with(*rows[i].config, rows[i].from, rows[i].to);
        TinyLogits a = tiny_run(&model, &alone, &run), b = tiny_run(&other, &alone, &run);
        assert_true(tiny_distance(&a, &b) > 10 * AGREE);
        tiny_free(&a);
        tiny_free(&b);
        tiny_close(&model);
        tiny_close(&other);
    }
}

static void refuse(const char *config, const char *from, const char *to, const char *message) {
    char text[2048];
    const char *at = strstr(config, from);
    assert_non_null(at);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - config), config, to, at + strlen(from));
    ArchInput input = {.name = "tiny", .bytes = text, .count = strlen(text)};
    Arch arch = {0};
    ForwardConfig read;
    Err err = {0};
    check_ok(arch_parse(&input, &arch, &err), &err);
    check_fails(forward_config_parse(&input, &arch, &read, &err), &err, message);
    arch_free(&arch);
}

static void test_forward_refuses_fields_of_families(void **state) {
    (void)state;
    refuse(tiny_olmoe, "\"norm_topk_prob\":false", "\"clip_qkv\":8",
           "tiny:1:282: clip_qkv: no kernel that clamps queries, keys and values");
    refuse(tiny_deepseek_v2, "\"norm_topk_prob\":false", "\"norm_topk_prob\":true",
           "tiny:1:504: norm_topk_prob: no kernel for weights that are normalised in this family");
    refuse(tiny_deepseek_v2, "\"group_limited_greedy\"", "\"greedy\"",
           "tiny:1:433: n_group: no kernel for groups of experts chosen by \"greedy\"");
    TinyModel model = tiny_open(tiny_olmoe);
    Plan plan = tiny_plan(2, 1, 1, 2);
    TinyRun run = {.texts = 2, .tokens = 6, .chunks = 1};
    tiny_refused(&model, &plan, &run,
                 "tiny: no kernel for norms over all heads that 2 tp ranks share");
    tiny_close(&model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forward_families_are_the_reference),
        cmocka_unit_test(test_forward_parts_of_families_matter),
        cmocka_unit_test(test_forward_refuses_fields_of_families),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
