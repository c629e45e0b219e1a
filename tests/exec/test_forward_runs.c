// What must hold of runs of the forward pass, whatever their numbers are.
#include "tests/check.h"

#include "tests/exec/reference.h"
#include "tests/exec/tiny.h"

#define AGREE      1e-3 // absolute, of logits of size about 5
#define BF16_TEXTS 16

static const char *const models[] = {"qwen", "deepseek"};

static TinyModel open_model(uint32_t number) {
    return tiny_open(number == 0 ? tiny_qwen : tiny_deepseek);
}

// Tokens 0 to 6 at once, or 6 of them and the seventh by the cache: the same logits behind it. For
// MLA the first is by expanded keys and values, the second in the latent space.
static void test_forward_decode_continues_prefill(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        TinyModel model = open_model(i);
        Plan plans[] = {tiny_plan(1, 1, 1, 1), tiny_plan(2, 2, 1, 2)};
        for (uint32_t j = 0; j < 2; j++) {
            TinyRun at_once = {.texts = 3, .tokens = 7, .chunks = 1};
            TinyRun by_cache = {.texts = 3, .tokens = 6, .chunks = 1, .rounds = 1};
            TinyLogits a = tiny_run(&model, &plans[j], &at_once);
            TinyLogits b = tiny_run(&model, &plans[j], &by_cache);
            double distance = tiny_round_distance(&a, 0, &b, 1);
            print_message("%s: max |dlogit| %.2e\n", models[i], distance);
            assert_true(distance <= AGREE);
            tiny_free(&a);
            tiny_free(&b);
        }
        tiny_close(&model);
    }
}

// 12 tokens in one pass, in 3 passes of 4.
static void test_forward_chunks_of_a_prompt_agree(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        TinyModel model = open_model(i);
        Plan plan = tiny_plan(1, 2, 2, 2);
        TinyRun at_once = {.texts = 1, .tokens = 12, .chunks = 1};
        TinyRun in_chunks = {.texts = 1, .tokens = 4, .chunks = 3};
        TinyLogits a = tiny_run(&model, &plan, &at_once), b = tiny_run(&model, &plan, &in_chunks);
        assert_true(tiny_round_distance(&a, 0, &b, 0) <= AGREE);
        tiny_free(&a);
        tiny_free(&b);
        tiny_close(&model);
    }
}

static void check_same_bytes(const TinyModel *model, const Plan *plan, const TinyRun *run) {
    TinyLogits a = tiny_run(model, plan, run), b = tiny_run(model, plan, run);
    size_t count = (size_t)a.sequences * a.rounds * a.vocab;
    assert_memory_equal(a.values, b.values, count * sizeof *a.values);
    assert_int_equal(a.load.digest, b.load.digest);
    tiny_free(&a);
    tiny_free(&b);
}

static void test_forward_repeats_bit_by_bit(void **state) {
    (void)state;
    TinyRun run = {.texts = 4, .tokens = 6, .chunks = 1, .rounds = 3};
    for (uint32_t i = 0; i < 2; i++) {
        TinyModel model = open_model(i);
        Plan plans[] = {tiny_plan(1, 1, 1, 1), tiny_plan(2, 1, 2, 4), tiny_plan(2, 2, 2, 4)};
        plans[1].pools[0].prefill_overlap = plans[1].pools[0].decode_overlap = OVERLAP_TWO_BATCH;
        for (uint32_t j = 0; j < 3; j++) check_same_bytes(&model, &plans[j], &run);
        tiny_close(&model);
    }
}

// Two ranks whose parts of the weights are swapped, and nothing else: a shard map that is wrong.
static void check_swapped(const TinyModel *model, const Plan *plan, const uint32_t *weights_of) {
    TinyRun run = {.texts = 4, .tokens = 6, .chunks = 1, .rounds = 1}, wrong = run;
    wrong.weights_of = weights_of;
    TinyLogits a = tiny_run(model, plan, &run), b = tiny_run(model, plan, &wrong);
    assert_true(tiny_distance(&a, &b) > 100 * AGREE);
    tiny_free(&a);
    tiny_free(&b);
}

static void test_forward_wrong_shards_differ(void **state) {
    (void)state;
    static const uint32_t tp[] = {1, 0}, ep[] = {0, 2, 1, 3};
    for (uint32_t i = 0; i < 2; i++) {
        TinyModel model = open_model(i);
        Plan cut = tiny_plan(2, 1, 1, 2), dealt = tiny_plan(1, 1, 4, 4);
        check_swapped(&model, &cut, tp);
        check_swapped(&model, &dealt, ep);
        tiny_close(&model);
    }
}

// A uniform load of 16 experts, top 4: 4 texts of 4 tokens on each of 4 ranks are 64 tokens and 256
// choices, 16 for each expert.
static void test_forward_forced_choices_follow_the_load(void **state) {
    (void)state;
    TinyRun run = {.texts = 4, .tokens = 4, .chunks = 1, .rounds = 2, .routing = FORWARD_FORCED};
    TinyModel model = tiny_open(tiny_qwen);
    Plan plans[] = {tiny_plan(1, 1, 4, 4), tiny_plan(2, 1, 2, 4), tiny_plan(1, 1, 4, 4),
                    tiny_plan(1, 1, 4, 4), tiny_plan(1, 1, 4, 2)};
    plans[2].pools[0].prefill_overlap = plans[2].pools[0].decode_overlap = OVERLAP_TWO_BATCH;
    plans[3].pools[0].moe_chunks = 2;
    for (uint32_t i = 0; i < 5; i++) {
        run.texts = 16 / plans[i].pools[0].dp;
        TinyLogits logits = tiny_run(&model, &plans[i], &run);
        for (uint32_t layer = 0; layer < 4; layer++)
            for (uint32_t expert = 0; expert < 16; expert++) {
                uint64_t part, whole;
                load_share(&logits.load, layer, 16, expert, 1, &part, &whole);
                assert_int_equal(whole, 256);
                assert_int_equal(part, 16);
            }
        tiny_free(&logits);
        check_same_bytes(&model, &plans[i], &run);
    }
    tiny_close(&model);
}

// The load of a free run: every token of every text in every layer.
static void test_forward_free_run_gives_a_load(void **state) {
    (void)state;
    TinyRun run = {.texts = 2, .tokens = 6, .chunks = 1};
    TinyModel model = tiny_open(tiny_deepseek);
    Plan plan = tiny_plan(2, 1, 2, 4);
    TinyLogits logits = tiny_run(&model, &plan, &run);
    assert_int_equal(logits.load.layers, 3); // one of 4 is dense
    assert_int_equal(logits.load.sources, 4);
    uint64_t part, whole;
    load_share(&logits.load, 0, 16, 0, 16, &part, &whole);
    assert_int_equal(whole, 2 * 2 * 6 * 4);
    tiny_free(&logits);
    tiny_close(&model);
}

static int compare_doubles(const void *left, const void *right) {
    const double *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

// Of each text, the root of the mean square difference of that of the logits: the median of all.
static double median_noise(const TinyLogits *got, const TinyLogits *want) {
    double noises[BF16_TEXTS];
    assert_int_equal(want->sequences, BF16_TEXTS);
    for (uint32_t i = 0; i < BF16_TEXTS; i++) {
        double apart = 0, all = 0;
        for (size_t j = (size_t)i * want->vocab; j < (size_t)(i + 1) * want->vocab; j++) {
            double value = (double)want->values[j], by = (double)got->values[j] - value;
            apart += by * by;
            all += value * value;
        }
        noises[i] = sqrt(apart / all);
    }
    qsort(noises, BF16_TEXTS, sizeof *noises, compare_doubles);
    return noises[BF16_TEXTS / 2];
}

// bf16 keeps 8 bits: every activation that is stored is off by up to 1 in 512, 0.1 % on average,
// and some ten follow each other in each of 4 layers: sqrt(40) x 0.1 % is 0.6 %. A choice of
// experts that is a near tie may fall differently, which changes a whole text; hence the median.
static void test_forward_bf16_is_the_reference_but_for_rounding(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        TinyModel model = tiny_open(i == 0 ? tiny_qwen_bf16 : tiny_deepseek_bf16);
        TinyLogits want = reference_run(&model, BF16_TEXTS, 6, 0);
        Plan plans[] = {tiny_plan(1, 1, 1, 1), tiny_plan(2, 1, 1, 2), tiny_plan(2, 1, 2, 4)};
        for (uint32_t j = 0; j < 3; j++) {
            TinyRun run = {.texts = BF16_TEXTS / plans[j].pools[0].dp, .tokens = 6, .chunks = 1};
            TinyLogits got = tiny_run(&model, &plans[j], &run);
            double noise = median_noise(&got, &want);
            print_message("%s in bf16, plan %u: noise %.2f %%\n", models[i], j, 100 * noise);
            assert_true(noise > 0.001 && noise < 0.02);
            tiny_free(&got);
            check_same_bytes(&model, &plans[j], &run);
        }
        tiny_free(&want);
        tiny_close(&model);
    }
}

static void test_forward_refuses_by_name(void **state) {
    (void)state;
    TinyModel model = tiny_open(tiny_qwen);
    TinyRun run = {.texts = 2, .tokens = 6, .chunks = 1};
    Plan plan = tiny_plan(1, 1, 2, 2);
    plan.pools[0].dispatch_format = NUMFMT_FP8;
    tiny_refused(&model, &plan, &run, "no kernel for dispatch in fp8");
    plan = tiny_plan(1, 1, 2, 2);
    plan.pools[0].kv_format = NUMFMT_FP8;
    tiny_refused(&model, &plan, &run, "no kernel for caches in fp8");
    plan = tiny_plan(1, 1, 2, 2);
    plan.pools[0].redundant_experts = 2;
    plan.pools[0].expert_placement = EXPERT_PLACEMENT_EPLB;
    tiny_refused(&model, &plan, &run, "no kernel for experts that are placed by EPLB");
    run.tokens = 7; // of one text on 2 tp ranks
    run.texts = 1;
    run.routing = FORWARD_FORCED;
    plan = tiny_plan(2, 2, 2, 4);
    tiny_refused(&model, &plan, &run,
                 "7 tokens do not divide over 2 tp ranks: a load deals equally many pairs to each, "
                 "expected --routing free");
    run.routing = FORWARD_FREE;
    run.all_texts = 3;
    plan = tiny_plan(1, 1, 2, 2);
    tiny_refused(&model, &plan, &run, "3 texts, all ranks together have 2 sequences");
    tiny_close(&model);
}

// The model has 3 MoE layers: rows of 4 are those of another one, one row is for all.
static void test_forward_refuses_a_load_of_other_layers(void **state) {
    (void)state;
    uint64_t tokens[4 * 16];
    for (uint32_t i = 0; i < 4 * 16; i++) tokens[i] = 1;
    TinyModel model = tiny_open(tiny_deepseek);
    Plan plan = tiny_plan(1, 1, 2, 2);
    for (uint32_t layers = 1; layers <= 4; layers++) {
        Load load = {0};
        Err err = {0};
        TinyRun run = {
            .texts = 2, .tokens = 4, .chunks = 1, .routing = FORWARD_FORCED, .load = &load};
        check_ok(load_of_counts(layers, 1, 16, tokens, "test", &load, &err), &err);
        if (layers == 4) {
            tiny_refused(&model, &plan, &run,
                         "the load is of 4 layers, expected the 3 MoE layers of tiny, or one");
        } else if (layers != 2) {
            TinyLogits logits = tiny_run(&model, &plan, &run);
            tiny_free(&logits);
        }
        load_free(&load);
    }
    tiny_close(&model);
}

// Scores of 500000 tokens that attend to as many are 4 x 500000^2 = 10^12 bytes on each of 2 ranks,
// caches of 4 layers 500000 x 4 x 128 x 4; a process that runs one rank is charged for that one. A
// table of 5 million rows of 128 floats is 2.56e9 bytes, and each rank has two.
static void test_forward_refuses_more_memory_than_a_process_has(void **state) {
    (void)state;
    TinyModel model = tiny_open(tiny_qwen), wide = tiny_open_with(tiny_qwen, ":500,", ":5000000,");
    Plan plan = tiny_plan(1, 1, 2, 2);
    TinyRun run = {.texts = 1, .tokens = 500000, .chunks = 1};
    const uint32_t second = 1;
    tiny_refused(
        &model, &plan, &run,
        "the run needs 2032430051072 bytes of memory on 2 ranks together, at most 4294967296: "
        "weights 10038272, caches 2048000000, logits 4000, attention 2002112000000, buffers and "
        "messages 28260008800");
    run.ranks = &second;
    run.rank_count = 1;
    tiny_refused(
        &model, &plan, &run,
        "the run needs 1016247027536 bytes of memory on 1 ranks together, at most 4294967296: "
        "weights 5019136, caches 1024000000, logits 4000, attention 1001088000000, buffers and "
        "messages 14130004400");
    run.ranks = NULL;
    run.tokens = 4;
    tiny_refused(
        &wide, &plan, &run,
        "the run needs 10329254016 bytes of memory on 2 ranks together, at most 4294967296: "
        "weights 10248989696, caches 16384, logits 40000000, attention 17152, buffers and messages "
        "40230784");
    tiny_close(&wide);
    tiny_close(&model);
}

static void test_forward_refuses_models_without_kernels(void **state) {
    (void)state;
    static const struct {
        const char *model, *message;
    } rows[] = {
        {"scenarios/models/kimi-linear-48b-a3b.json",
         "kimi-linear-48b-a3b: no kernel for kda attention"},
        {"scenarios/models/gpt-oss-20b.json",
         "gpt-oss-20b: no kernels for layers whose attention differs (2 kinds, of 64 heads and "
         "windows of 0, and of 64 heads and windows of 128)"},
        {"scenarios/models/hunyuan-a13b.json",
         "hunyuan-a13b: no kernel reads model.layers.{L}.self_attn.query_layernorm.weight"},
        {"scenarios/models/deepseek-v3.2.json",
         "deepseek-v3.2: no kernel for attention with an indexer"},
        {"scenarios/models/deepseek-v3.json", "deepseek-v3: no kernel for weights in F8_E4M3 "
                                              "(model.layers.{L}.self_attn.q_a_proj.weight)"},
        {"scenarios/models/nemotron-3-nano-30b-a3b.json",
         "nemotron-3-nano-30b-a3b: no kernel for mamba-2 attention"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        Arch arch = {0};
        Err err = {0};
        Forward *forward = NULL;
        ForwardConfig config = {0};
        ForwardOptions options = {.context = 8};
        Plan plan = tiny_plan(1, 1, 1, 1);
        check_ok(arch_load(rows[i].model, NULL, 0, &arch, &err), &err);
        check_fails(forward_open(&arch, &config, &plan.pools[0], &options, &forward, &err), &err,
                    rows[i].message);
        arch_free(&arch);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forward_decode_continues_prefill),
        cmocka_unit_test(test_forward_chunks_of_a_prompt_agree),
        cmocka_unit_test(test_forward_repeats_bit_by_bit),
        cmocka_unit_test(test_forward_wrong_shards_differ),
        cmocka_unit_test(test_forward_forced_choices_follow_the_load),
        cmocka_unit_test(test_forward_free_run_gives_a_load),
        cmocka_unit_test(test_forward_bf16_is_the_reference_but_for_rounding),
        cmocka_unit_test(test_forward_refuses_by_name),
        cmocka_unit_test(test_forward_refuses_a_load_of_other_layers),
        cmocka_unit_test(test_forward_refuses_more_memory_than_a_process_has),
        cmocka_unit_test(test_forward_refuses_models_without_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
