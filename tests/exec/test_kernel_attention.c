// Attention kernels beside attention token by token.
#include "tests/check.h"

#include "exec/kernel/attention.h"
#include "exec/kernel/gemm.h"
#include "model/base/rng.h"

#define CLOSE 1e-5F // sums of about 20 values within 1, of 24 bits

static float *random_values(uint64_t count, uint64_t seed) {
    float *values = calloc(count, sizeof *values);
    Rng rng;
    rng_seed(&rng, seed);
    for (uint64_t i = 0; i < count; i++) values[i] = (float)(2 * rng_unit(&rng) - 1);
    return values;
}

static bool are_close(const float *a, const float *b, uint64_t count) {
    for (uint64_t i = 0; i < count; i++)
        if (!(fabsf(a[i] - b[i]) <= CLOSE)) return false;
    return true;
}

// One token of one head over rows [begin, end) of keys and values.
static void attend(const AttentionHeads *heads, uint32_t head, uint64_t begin, uint64_t end,
                   const float *query, const float *keys, const float *values, float *out) {
    double sum = 0, *weights = calloc(end, sizeof *weights);
    uint64_t kv = heads->kv_head_of[head];
    for (uint64_t p = begin; p < end; p++) {
        const float *key = keys + p * heads->key_stride + kv * heads->key_dim;
        double score = 0;
        for (uint32_t i = 0; i < heads->key_dim; i++) score += (double)query[i] * (double)key[i];
        sum += weights[p] = exp(score * (double)heads->scale);
    }
    for (uint32_t i = 0; i < heads->value_dim; i++) {
        double value = 0;
        for (uint64_t p = begin; p < end; p++)
            value += weights[p] / sum *
                     (double)values[p * heads->value_stride + kv * heads->value_dim + i];
        out[i] = (float)value;
    }
    free(weights);
}

static void check_gqa(uint64_t first, uint64_t count, uint64_t window) {
    static const uint32_t kv_head_of[] = {0, 0, 0, 1, 1, 1};
    AttentionHeads heads = {.heads = 6,
                            .key_dim = 8,
                            .value_dim = 5,
                            .kv_head_of = kv_head_of,
                            .query_stride = 6 * 8 + 3,
                            .key_stride = 2 * 8 + 1,
                            .value_stride = 2 * 5 + 2,
                            .out_stride = 6 * 5,
                            .scale = 0.4F};
    AttentionTokens tokens = {first, count, window};
    uint64_t cached = first + count;
    float *queries = random_values(count * heads.query_stride, 1);
    float *keys = random_values(cached * heads.key_stride, 2);
    float *values = random_values(cached * heads.value_stride, 3);
    float *scratch = random_values(attention_scratch(&tokens, 6), 4);
    float *got = random_values(count * heads.out_stride, 5), want[5];
    attention_gqa(&heads, &tokens, queries, keys, values, scratch, got);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t end = first + i + 1, begin = window > 0 && end > window ? end - window : 0;
        for (uint32_t head = 0; head < 6; head++) {
            attend(&heads, head, begin, end, queries + i * heads.query_stride + head * 8, keys,
                   values, want);
            assert_true(are_close(got + i * heads.out_stride + head * 5, want, 5));
        }
    }
    free(queries);
    free(keys);
    free(values);
    free(scratch);
    free(got);
}

static void test_attention_gqa_is_attention(void **state) {
    (void)state;
    gemm_start();
    check_gqa(0, 1, 0); // one token that sees itself
    check_gqa(0, 7, 0); // a prompt
    check_gqa(11, 1, 0);
    check_gqa(11, 4, 0); // a chunk behind others
    check_gqa(11, 1, 5); // windows
    check_gqa(2, 9, 5);
}

// A token that sees one other token only takes its value, however large the scores of the rest are.
static void test_attention_masks_what_is_later(void **state) {
    (void)state;
    static const uint32_t zero[] = {0};
    AttentionHeads heads = {1, 1, 1, zero, 1, 1, 1, 1, 1};
    AttentionTokens tokens = {0, 2, 0};
    const float queries[] = {1, 1}, keys[] = {-50, 50}, values[] = {3, 7};
    float scratch[4], out[2];
    attention_gqa(&heads, &tokens, queries, keys, values, scratch, out);
    assert_true(out[0] == 3);
    assert_true(out[1] == 7); // exp(-100) of the first: less than half a bit of 7
}

// Absorbed and expanded MLA are the same attention: for random weights W_k (nope x lora) and W_v
// (v x lora) of each head, q_absorbed = q W_k, and the result is W_v applied to the latent one.
static void check_mla(uint64_t first, uint64_t count) {
    enum { HEADS = 3, NOPE = 6, ROPE = 4, LORA = 10, VALUE = 5, WIDTH = NOPE + VALUE };
    AttentionMla mla = {HEADS, NOPE, ROPE, VALUE, LORA, HEADS * (NOPE + ROPE), 0.3F};
    AttentionTokens tokens = {first, count, 0};
    uint64_t cached = first + count;
    float *weights = random_values(HEADS * WIDTH * LORA, 1);
    float *queries = random_values(count * mla.query_stride, 2);
    float *cache = random_values(cached * (LORA + ROPE), 3);
    float *expanded = random_values(cached * HEADS * WIDTH, 4);
    float *absorbed = random_values(count * HEADS * LORA, 5);
    float *latent = random_values(count * HEADS * LORA, 6);
    float *scratch = random_values(attention_mla_scratch(&mla, &tokens), 7);
    float *a = random_values(count * HEADS * VALUE, 8),
          *b = random_values(count * HEADS * VALUE, 9);
    GemmShape up = gemm_close(cached, HEADS * WIDTH, LORA);
    up.a_stride = LORA + ROPE;
    gemm_rows(&up, cache, weights, expanded);
    attention_mla_expanded(&mla, &tokens, queries, expanded, cache, scratch, a);
    for (uint32_t head = 0; head < HEADS; head++) {
        GemmShape in = {count, LORA, NOPE, mla.query_stride, LORA, HEADS * LORA};
        gemm_columns(&in, queries + head * (NOPE + ROPE), weights + head * WIDTH * LORA,
                     absorbed + head * LORA);
    }
    attention_mla_absorbed(&mla, &tokens, absorbed, queries, cache, scratch, latent);
    for (uint32_t head = 0; head < HEADS; head++) {
        GemmShape out = {count, VALUE, LORA, HEADS * LORA, LORA, HEADS * VALUE};
        gemm_rows(&out, latent + head * LORA, weights + (head * WIDTH + NOPE) * LORA,
                  b + head * VALUE);
    }
    assert_true(are_close(a, b, count * HEADS * VALUE));
    float *all[] = {weights, queries, cache, expanded, absorbed, latent, scratch, a, b};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) free(all[i]);
}

static void test_attention_mla_absorbed_is_expanded(void **state) {
    (void)state;
    check_mla(0, 1);
    check_mla(0, 9);
    check_mla(12, 1);
    check_mla(12, 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attention_gqa_is_attention),
        cmocka_unit_test(test_attention_masks_what_is_later),
        cmocka_unit_test(test_attention_mla_absorbed_is_expanded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
