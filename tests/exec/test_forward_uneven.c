// Steps that do not come out even: sequences of two lengths, padding, tokens and choices that do
// not divide over the ranks that share them; and what a rank leaves to another process.
#include "tests/check.h"

#include "tests/exec/reference.h"
#include "tests/exec/tiny.h"

#define AGREE 1e-3 // absolute, of logits of size about 5

static const char *const models[] = {"qwen", "deepseek"};

static TinyModel open_model(uint32_t number) {
    return tiny_open(number == 0 ? tiny_qwen : tiny_deepseek);
}

// The logits of one text in all rounds.
static const float *row_of(const TinyLogits *logits, uint32_t text) {
    return logits->values + (size_t)text * logits->rounds * logits->vocab;
}

static double row_distance(const TinyLogits *a, const TinyLogits *b, uint32_t text) {
    double distance = 0;
    assert_true(text < a->sequences && text < b->sequences && a->rounds == b->rounds);
    for (size_t i = 0; i < (size_t)a->rounds * a->vocab; i++) {
        double apart = fabs((double)row_of(a, text)[i] - (double)row_of(b, text)[i]);
        if (!(apart <= distance)) distance = apart;
    }
    return distance;
}

// 14 tokens of 3 sequences are 5, 5 and 4: texts 0, 1, 3, 4, 6, 7, ... are as if all had 5, the
// others as if all had 4. In two batches or chunks the cut goes through a sequence.
static void test_forward_sequences_of_two_lengths(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        TinyModel model = open_model(i);
        Plan plans[] = {tiny_plan(1, 1, 1, 1), tiny_plan(2, 1, 1, 2), tiny_plan(1, 1, 4, 4),
                        tiny_plan(2, 2, 2, 4), tiny_plan(2, 1, 2, 4)};
        plans[4].pools[0].prefill_overlap = plans[4].pools[0].decode_overlap = OVERLAP_TWO_BATCH;
        TinyRun mixed = {.texts = 3, .tokens = 4, .chunks = 1, .rounds = 2, .longer = 2};
        TinyLogits wants[] = {reference_run(&model, 12, 4, 2), reference_run(&model, 12, 5, 2)};
        for (uint32_t j = 0; j < 5; j++) {
            TinyLogits got = tiny_run(&model, &plans[j], &mixed);
            double largest = 0;
            for (uint32_t text = 0; text < got.sequences; text++) {
                double distance = row_distance(&got, &wants[text % 3 < 2], text);
                if (distance > largest) largest = distance;
            }
            print_message("%s, plan %u: max |dlogit| %.2e\n", models[i], j, largest);
            assert_true(largest <= AGREE);
            tiny_free(&got);
        }
        for (uint32_t j = 0; j < 2; j++) tiny_free(&wants[j]);
        tiny_close(&model);
    }
}

// 17 texts on dp 4 are 5, 4, 4 and 4, and 3 sequences of padding; 2 texts leave two of the ranks
// with padding alone. What padding chooses is in no load: 6 tokens of each text with 4 choices.
static void test_forward_padding_is_left_out(void **state) {
    (void)state;
    static const uint32_t texts[] = {17, 2};
    TinyModel model = tiny_open(tiny_qwen);
    Plan alone = tiny_plan(1, 1, 1, 1);
    Plan plans[] = {tiny_plan(1, 1, 4, 4), tiny_plan(2, 2, 4, 8)};
    for (uint32_t i = 0; i < 2; i++) {
        TinyRun one = {.texts = texts[i], .tokens = 6, .chunks = 1, .rounds = 2};
        TinyLogits want = tiny_run(&model, &alone, &one);
        for (uint32_t j = 0; j < 2; j++) {
            uint32_t units = 4 * plans[j].pools[0].micro_batches;
            TinyRun run = one;
            run.texts = (texts[i] + units - 1) / units;
            run.all_texts = texts[i];
            TinyLogits got = tiny_run(&model, &plans[j], &run);
            uint64_t part, whole;
            assert_int_equal(got.sequences, texts[i]);
            assert_true(tiny_distance(&want, &got) <= AGREE);
            assert_int_equal(tiny_argmax_differ(&want, &got), 0);
            load_share(&got.load, 0, 16, 0, 16, &part, &whole);
            assert_int_equal(whole, texts[i] * 6 * 4);
            tiny_free(&got);
        }
        tiny_free(&want);
    }
    tiny_close(&model);
}

// 3 choices of a token and 2 tp ranks: the schedule sends one and a half rows for it, the run whole
// rows.
static void test_forward_choices_that_do_not_divide(void **state) {
    (void)state;
    TinyModel model =
        tiny_open_with(tiny_qwen, "\"num_experts_per_tok\":4", "\"num_experts_per_tok\":3");
    TinyRun run = {.texts = 1, .tokens = 5, .chunks = 1, .rounds = 2};
    TinyRun one = {.texts = 4, .tokens = 5, .chunks = 1, .rounds = 2};
    Plan alone = tiny_plan(1, 1, 1, 1), plans[] = {tiny_plan(2, 1, 2, 4), tiny_plan(2, 2, 2, 4)};
    TinyLogits want = tiny_run(&model, &alone, &one);
    for (uint32_t i = 0; i < 2; i++) {
        TinyLogits got = tiny_run(&model, &plans[i], &run);
        assert_true(tiny_distance(&got, &want) <= AGREE);
        tiny_free(&got);
    }
    run.routing = FORWARD_FORCED;
    run.tokens = 6;
    tiny_refused(
        &model, &plans[0], &run,
        "3 choices do not divide over 2 tp ranks: a load deals equally many pairs to each, "
        "expected --routing free");
    tiny_free(&want);
    tiny_close(&model);
}

// ---- To another process.

static Forward *open_taker(const TinyModel *model, const Plan *plan, uint32_t texts) {
    ForwardOptions options = {.seed = TINY_SEED, .context = 8, .texts = texts};
    Forward *forward = NULL;
    Err err = {0};
    check_ok(forward_open(&model->arch, &model->config, &plan->pools[0], &options, &forward, &err),
             &err);
    return forward;
}

// Logits, the load and near ties come over bit by bit; 5 texts of 8 sequences on dp 2 and 2
// micro-batches.
static void test_forward_leaves_what_it_computed(void **state) {
    (void)state;
    TinyModel model = tiny_open(tiny_qwen);
    Plan plan = tiny_plan(2, 2, 2, 4);
    Forward *taker = open_taker(&model, &plan, 5);
    TinyRun run = {.texts = 2, .tokens = 3, .chunks = 1, .all_texts = 5, .taker = taker};
    TinyLogits want = tiny_run(&model, &plan, &run);
    Load load = {0};
    Err err = {0};
    assert_int_equal(forward_texts(taker), 5);
    for (uint32_t i = 0; i < 5; i++) {
        const float *logits = forward_logits(taker, i, forward_rounds(taker) - 1);
        assert_non_null(logits);
        assert_memory_equal(logits, row_of(&want, i), want.vocab * sizeof *logits);
    }
    check_ok(forward_load(taker, &load, &err), &err);
    assert_int_equal(load.digest, want.load.digest);
    ForwardTies ties = forward_ties(taker);
    assert_memory_equal(&ties.choices, &want.ties.choices, sizeof ties.choices);
    assert_int_equal(ties.near, want.ties.near);
    load_free(&load);
    tiny_free(&want);
    forward_close(taker);
    tiny_close(&model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forward_sequences_of_two_lengths),
        cmocka_unit_test(test_forward_padding_is_left_out),
        cmocka_unit_test(test_forward_choices_that_do_not_divide),
        cmocka_unit_test(test_forward_leaves_what_it_computed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
