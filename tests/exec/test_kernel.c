// Kernels beside the same sums written down plainly, and beside examples by hand.
#include "tests/check.h"

#include "exec/kernel/convert.h"
#include "exec/kernel/elementwise.h"
#include "exec/kernel/gemm.h"
#include "exec/kernel/permute.h"
#include "exec/kernel/rope.h"
#include "exec/kernel/router.h"
#include "model/base/rng.h"

static float *random_values(uint64_t count, uint64_t seed) {
    float *values = calloc(count, sizeof *values);
    Rng rng;
    rng_seed(&rng, seed);
    for (uint64_t i = 0; i < count; i++) values[i] = (float)(2 * rng_unit(&rng) - 1);
    return values;
}

// ---- Products.

typedef enum Side { ROWS, COLUMNS } Side; // of the second matrix

static void check_product(uint64_t m, uint64_t n, uint64_t k, uint64_t gap, Side side) {
    bool columns = side == COLUMNS;
    uint64_t b_rows = columns ? k : n, b_width = columns ? n : k;
    GemmShape shape = {m, n, k, k + gap, b_width + gap, n + gap};
    float *a = random_values((m + 1) * shape.a_stride, 1);
    float *b = random_values((b_rows + 1) * shape.b_stride, 2);
    float *c = random_values((m + 1) * shape.c_stride, 3),
          *before = random_values((m + 1) * shape.c_stride, 3);
    if (columns)
        gemm_columns(&shape, a, b, c);
    else
        gemm_rows(&shape, a, b, c);
    for (uint64_t i = 0; i < m; i++) {
        for (uint64_t j = 0; j < n; j++) {
            double sum = 0;
            for (uint64_t p = 0; p < k; p++)
                sum += (double)a[i * shape.a_stride + p] *
                       (double)(columns ? b[p * shape.b_stride + j] : b[j * shape.b_stride + p]);
            // k products within 1, each rounded to 24 bits
            assert_true(fabs(sum - (double)c[i * shape.c_stride + j]) <= (double)(k + 1) * 1e-6);
        }
        for (uint64_t j = n; j < shape.c_stride; j++) // between rows nothing is written
            assert_true(c[i * shape.c_stride + j] == before[i * shape.c_stride + j]);
    }
    free(a);
    free(b);
    free(c);
    free(before);
}

static void test_gemm_is_the_sum_of_products(void **state) {
    (void)state;
    static const uint64_t sizes[] = {0, 1, 2, 7, 33, 130};
    gemm_start();
    for (size_t i = 0; i < 6; i++)
        for (size_t j = 0; j < 6; j++)
            for (size_t p = 0; p < 6; p++)
                for (uint64_t gap = 0; gap < 4; gap += 3) {
                    check_product(sizes[i], sizes[j], sizes[p], gap, ROWS);
                    check_product(sizes[i], sizes[j], sizes[p], gap, COLUMNS);
                }
}

// ---- Formats.

// Every bf16 is its own nearest; halfway between two, the even one.
static void test_convert_rounds_to_nearest_even(void **state) {
    (void)state;
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        float value = convert_from_bf16((uint16_t)bits);
        if (isnan(value))
            assert_true(isnan(convert_from_bf16(convert_to_bf16(value))));
        else
            assert_int_equal(convert_to_bf16(value), bits);
    }
    // 1 is 0x3f80 and the next 0x3f81 = 1 + 2^-7; 1 + 2^-8 lies between, 1 + 3 * 2^-8 is as far
    // from 0x3f81 as from 0x3f82
    assert_int_equal(convert_to_bf16(1 + 0x1p-8F), 0x3f80);
    assert_int_equal(convert_to_bf16(1 + 0x1p-8F + 0x1p-20F), 0x3f81);
    assert_int_equal(convert_to_bf16(1 + 3 * 0x1p-8F), 0x3f82);
    assert_int_equal(convert_to_bf16(INFINITY), 0x7f80);
    assert_int_equal(convert_to_bf16(3.4028e38F), 0x7f80); // above the largest bf16
}

static void test_convert_reads_unaligned_bytes(void **state) {
    (void)state;
    static const float values[] = {1, -2.5F, 0.125F};
    uint8_t bytes[16] = {0};
    float back[3];
    const NumFmt formats[] = {NUMFMT_F32, NUMFMT_BF16};
    for (uint32_t i = 0; i < 2; i++) {
        convert_write(formats[i], values, 3, bytes + 1);
        convert_read(formats[i], bytes + 1, 3, back);
        assert_memory_equal(values, back, sizeof values);
    }
}

// ---- Rows.

// x = (3, 4): mean square 12.5; with weights 2 and 1: 3 x 2 / sqrt(12.5), 4 / sqrt(12.5).
static void test_elementwise_norm_by_hand(void **state) {
    (void)state;
    float x[] = {3, 4, 99}, weight[] = {2, 1}, out[3] = {0};
    NormShape shape = {.rows = 1, .width = 2, .stride = 3};
    elementwise_norm(&shape, x, weight, 0, out);
    check_close((double)out[0], 6 / sqrt(12.5), 1e-6);
    check_close((double)out[1], 4 / sqrt(12.5), 1e-6);
    assert_true(out[2] == 0);
}

// silu(1) 3 = 3 / (1 + 1/e), silu(-1) 2 = -2 / (1 + e)
static void test_elementwise_swiglu_by_hand(void **state) {
    (void)state;
    const float gates[] = {1, -1, 3, 2};
    float out[2];
    elementwise_swiglu(1, 2, gates, out);
    check_close((double)out[0], 3 / (1 + exp(-1)), 1e-6);
    check_close((double)out[1], -2 / (1 + exp(1)), 1e-6);
}

static void test_elementwise_softmax_by_hand(void **state) {
    (void)state;
    float scores[] = {1000, 1000, 1000 + logf(2)}; // 1 : 1 : 2, large ones do not overflow
    elementwise_softmax(3, scores);
    check_close((double)scores[0], 0.25, 1e-4);
    check_close((double)scores[2], 0.5, 1e-4);
    assert_int_equal(elementwise_largest(3, (const float[]){2, 5, 5}), 1);
}

// ---- Rotation.

static float dot(const float *a, const float *b, uint32_t count) {
    float sum = 0;
    for (uint32_t i = 0; i < count; i++) sum += a[i] * b[i];
    return sum;
}

// Pair i of 4 elements turns by position x theta^(-2 i / 4): theta 100, position 3: 3 and 0.3.
static void test_rope_turns_by_hand(void **state) {
    (void)state;
    RopeSpec spec = {.pairs = ROPE_HALVES, .width = 4, .theta = 100};
    for (uint32_t i = 0; i < 2; i++) {
        RopeTable table = {0};
        float head[] = {1, 0, 0, 1};
        spec.pairs = i == 0 ? ROPE_HALVES : ROPE_INTERLEAVED;
        rope_build(&spec, 4, &table);
        rope_turn(&table, 3, head);
        // halves: pairs (0, 2) and (1, 3); interleaved: (0, 1) and (2, 3)
        check_close((double)head[0], cos(3), 1e-6);
        check_close((double)head[i == 0 ? 2 : 1], sin(3), 1e-6);
        check_close((double)head[i == 0 ? 1 : 2], -sin(0.3), 1e-6);
        check_close((double)head[3], cos(0.3), 1e-6);
        rope_free(&table);
    }
}

// Products of turned queries and keys depend on how far they are apart alone.
static void test_rope_products_depend_on_distance(void **state) {
    (void)state;
    RopeSpec spec = {.pairs = ROPE_INTERLEAVED, .width = 16, .theta = 10000};
    RopeTable table = {0};
    rope_build(&spec, 100, &table);
    float *q = random_values(16, 1), *k = random_values(16, 2), *first = random_values(16, 1),
          *second = random_values(16, 2);
    rope_turn(&table, 7, q);
    rope_turn(&table, 2, k);
    rope_turn(&table, 95, first);
    rope_turn(&table, 90, second);
    assert_true(fabsf(dot(q, k, 16) - dot(first, second, 16)) < 1e-4F);
    rope_free(&table);
    free(q);
    free(k);
    free(first);
    free(second);
}

// DeepSeek-V3: factor 40, trained 4096, 64 elements, theta 10000, betas 32 and 1. Pair p turns
// 4096 / (2 pi 10000^(p / 32)) times: 32 times at p = 10.47, once at 22.51, so pairs to 10 are
// left, pairs from 23 on are divided by 40. Both mscales are 1, so cosines keep their size and the
// scores are multiplied by (0.1 ln 40 + 1)^2 = 1.8740.
static void test_rope_yarn_of_deepseek(void **state) {
    (void)state;
    RopeSpec spec = {.pairs = ROPE_INTERLEAVED,
                     .width = 64,
                     .theta = 10000,
                     .factor = 40,
                     .beta_fast = 32,
                     .beta_slow = 1,
                     .mscale = 1,
                     .mscale_all_dim = 1,
                     .trained = 4096};
    RopeTable table = {0};
    rope_build(&spec, 2, &table);
    check_close((double)table.sines[32 + 10], sin(pow(10000, -10.0 / 32)), 1e-6);
    check_close((double)table.sines[32 + 23], sin(pow(10000, -23.0 / 32) / 40), 1e-6);
    double middle = pow(10000, -16.0 / 32), part = 6.0 / 13; // 16 of 10 to 23
    check_close((double)table.sines[32 + 16], sin(middle * (1 - part) + middle / 40 * part), 1e-6);
    check_close(rope_attention_scale(&spec), 1.8740, 1e-4);
    rope_free(&table);
}

// ---- Choices.

typedef struct Chosen {
    uint32_t experts[8];
    float weights[8], margin;
} Chosen;

static Chosen choose(const RouterSpec *spec, const float *logits, const float *bias) {
    Chosen chosen = {0};
    float scratch[64];
    RouterChoice choice = {.experts = chosen.experts, .weights = chosen.weights};
    router_choose(spec, logits, bias, scratch, &choice);
    chosen.margin = choice.margin;
    return chosen;
}

// Softmax of ln 1, ln 4, ln 2, ln 4, ln 1 is (1, 4, 2, 4, 1) / 12. The two largest are equal: the
// lower comes first; the third is 2. Weights that sum to 1: 4 / 10, 4 / 10, 2 / 10.
static void test_router_ties_go_to_the_lower_expert(void **state) {
    (void)state;
    const float logits[] = {0, logf(4), logf(2), logf(4), 0};
    RouterSpec spec = {.experts = 5, .top_k = 3, .normalises = true, .scaling = 1};
    Chosen chosen = choose(&spec, logits, NULL);
    assert_int_equal(chosen.experts[0], 1);
    assert_int_equal(chosen.experts[1], 3);
    assert_int_equal(chosen.experts[2], 2);
    check_close((double)chosen.weights[0], 0.4, 1e-6);
    check_close((double)chosen.weights[2], 0.2, 1e-6);
    check_close((double)chosen.margin, 1.0 / 12, 1e-5); // 2 / 12 above 1 / 12
    spec.top_k = 1;
    assert_true(choose(&spec, logits, NULL).margin == 0);
}

// Sigmoids of 0, 1, 2, 3 in groups of two, of which the better stays: sums 0.5 + 0.731 and
// 0.881 + 0.953. A bias of 1 on the first two makes their group the better one, but weights are
// those without it: 0.731 / 1.231 and 0.5 / 1.231, times 2.5.
static void test_router_bias_counts_in_the_choice_only(void **state) {
    (void)state;
    const float logits[] = {0, 1, 2, 3}, bias[] = {1, 1, 0, 0};
    RouterSpec spec = {.experts = 4,
                       .top_k = 2,
                       .groups = 2,
                       .top_groups = 1,
                       .score = ROUTER_SIGMOID,
                       .normalises = true,
                       .scaling = 2.5F};
    double one = 1 / (1 + exp(-1));
    Chosen chosen = choose(&spec, logits, NULL);
    assert_int_equal(chosen.experts[0], 3);
    assert_int_equal(chosen.experts[1], 2);
    chosen = choose(&spec, logits, bias);
    assert_int_equal(chosen.experts[0], 1);
    assert_int_equal(chosen.experts[1], 0);
    check_close((double)chosen.weights[0], 2.5 * one / (one + 0.5), 1e-6);
    check_close((double)chosen.weights[1], 2.5 * 0.5 / (one + 0.5), 1e-6);
}

// Groups that are equal: the lower one stays.
static void test_router_equal_groups_keep_the_lower(void **state) {
    (void)state;
    const float logits[] = {1, 2, 2, 1, 0, 0};
    RouterSpec spec = {.experts = 6,
                       .top_k = 1,
                       .groups = 3,
                       .top_groups = 1,
                       .score = ROUTER_SIGMOID,
                       .scaling = 1};
    assert_int_equal(choose(&spec, logits, NULL).experts[0], 1);
}

// Softmax of ln 6, 0, ln 4, ln 4 in groups of two: 6 and 1 sum to 7, 4 and 4 to 8, but the best of
// all is in the first.
static void test_router_groups_by_their_best(void **state) {
    (void)state;
    const float logits[] = {logf(6), 0, logf(4), logf(4)};
    RouterSpec spec = {.experts = 4, .top_k = 2, .groups = 2, .top_groups = 1, .scaling = 1};
    assert_int_equal(choose(&spec, logits, NULL).experts[0], 2);
    spec.worth = ROUTER_BEST;
    Chosen chosen = choose(&spec, logits, NULL);
    assert_int_equal(chosen.experts[0], 0);
    assert_int_equal(chosen.experts[1], 1);
    check_close((double)chosen.weights[1], 1.0 / 15, 1e-6); // not normalised
}

static void test_router_weighs_what_is_forced(void **state) {
    (void)state;
    const float logits[] = {0, logf(3), 0, 0};
    RouterSpec spec = {.experts = 4, .top_k = 2, .normalises = true, .scaling = 1};
    uint32_t experts[] = {0, 1};
    float weights[2], scratch[8];
    RouterChoice choice = {.experts = experts, .weights = weights};
    router_weigh(&spec, logits, scratch, &choice);
    check_close((double)weights[0], 0.25, 1e-6); // 1 of 1 + 3
    check_close((double)weights[1], 0.75, 1e-6);
}

// ---- Permutation.

// Tokens 0, 1, 2 choose (2, 0), (0, 1), (2, 0): expert 0 has pairs 1, 2, 5, expert 1 pair 3, expert
// 2 pairs 0 and 4.
static void test_permute_there_and_back(void **state) {
    (void)state;
    const uint32_t experts[] = {2, 0, 0, 1, 2, 0}, want[] = {1, 2, 5, 3, 0, 4};
    const float weights[] = {0.5F, 0.25F, 1, 2, 4, 8}, rows[] = {1, 1, 1, 1, 1, 1};
    uint32_t counts[3], next[3], order[6];
    float sums[3] = {0};
    permute_sort(6, experts, 3, counts, next, order);
    assert_memory_equal(order, want, sizeof want);
    assert_int_equal(counts[0], 3);
    assert_int_equal(counts[1], 1);
    assert_int_equal(counts[2], 2);
    permute_sum(6, 1, 2, order, weights, rows, sums);
    assert_true(sums[0] == 0.75F && sums[1] == 3 && sums[2] == 12);
    const uint8_t in[] = {10, 11, 20, 21};
    const uint32_t from[] = {1, 0, 1};
    uint8_t out[6];
    permute_gather(3, 2, from, in, out);
    assert_memory_equal(out, ((const uint8_t[]){20, 21, 10, 11, 20, 21}), 6);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gemm_is_the_sum_of_products),
        cmocka_unit_test(test_convert_rounds_to_nearest_even),
        cmocka_unit_test(test_convert_reads_unaligned_bytes),
        cmocka_unit_test(test_elementwise_norm_by_hand),
        cmocka_unit_test(test_elementwise_swiglu_by_hand),
        cmocka_unit_test(test_elementwise_softmax_by_hand),
        cmocka_unit_test(test_rope_turns_by_hand),
        cmocka_unit_test(test_rope_products_depend_on_distance),
        cmocka_unit_test(test_rope_yarn_of_deepseek),
        cmocka_unit_test(test_router_ties_go_to_the_lower_expert),
        cmocka_unit_test(test_router_bias_counts_in_the_choice_only),
        cmocka_unit_test(test_router_equal_groups_keep_the_lower),
        cmocka_unit_test(test_router_groups_by_their_best),
        cmocka_unit_test(test_router_weighs_what_is_forced),
        cmocka_unit_test(test_permute_there_and_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
