// Prices against hand arithmetic, on a device whose numbers are easy to divide by: 100 units, 1
// Pflop/s in BF16, 2 in FP8, 1 TB/s; it reaches 0.5 of its arithmetic, 0.8 of its bandwidth, and
// every kernel costs 3 us.
#include "tests/check.h"

#include "model/base/rng.h"
#include "model/cost/price.h"

#define US INT64_C(1000000) // picoseconds

static const PriceWeights bf16 = {NUMFMT_BF16, 0}, fp8 = {NUMFMT_FP8, 0}, fp4 = {NUMFMT_FP4, 0};

static Device round_device(void) {
    Device device = {.name = "round", .compute_units = 100};
    device.rate_flops[NUMFMT_BF16] =
        (Range){UINT64_C(1000000000000000), UINT64_C(1000000000000000)};
    device.rate_flops[NUMFMT_FP8] = (Range){UINT64_C(2000000000000000), UINT64_C(2000000000000000)};
    device.memory_Bps = (Range){UINT64_C(1000000000000), UINT64_C(1000000000000)};
    return device;
}

static Calib round_calib(void) {
    Calib calib = {0};
    calib.values[CALIB_GEMM_BF16].value = 0.5;
    calib.values[CALIB_GEMM_FP8].value = 0.5;
    calib.values[CALIB_ATTENTION].value = 0.5;
    calib.values[CALIB_MEMORY].value = 0.8;
    calib.values[CALIB_KERNEL].value = 3e-6;
    return calib;
}

// One token: 8192 x 8192 weights in BF16 are 134,217,728 B; in and out 2 x (8192 + 8192) = 32,768 B
// more. At 0.8 TB/s that is 134,250,496 / 0.8e12 s = 167,813,120 ps, and 3 us fixed. Arithmetic: 64
// tiles of 64 x 128 leave no second unit for each, 100 units x 2 x 64 x 128 x 8192 flop =
// 13,421,772,800 at 0.5 Pflop/s = 26,843,546 ps: hidden.
static void test_price_gemm_of_one_token_is_bound_by_its_weights(void **state) {
    (void)state;
    Device device = round_device();
    Calib calib = round_calib();
    PriceModel model = {&device, &calib};
    Price price = price_gemm(&model, 1, 8192, 8192, 1, bf16, NUMFMT_BF16);
    assert_int_equal(price.flop, 2 * 8192 * 8192);
    assert_int_equal(price.bytes, 134250496);
    assert_int_equal(price.memory_ps, 167813120);
    assert_int_equal(price.compute_ps, 26843546);
    assert_int_equal(price.fixed_ps, 3 * US);
    assert_int_equal(price.time_ps, 167813120 + 3 * US);
    assert_true(price.memory_ps > price.compute_ps);
    assert_int_equal(price.compute_param, CALIB_GEMM_BF16);
    assert_int_equal(price.roofline_ps, 134250496); // bytes at 1 TB/s: 1 ps each
}

// 1280 x 1280 outputs are 10 x 10 tiles, one for each unit, no waste: 2 x 1280 x 1280 x 65,536 flop
// = 214,748,364,800 at 0.5 Pflop/s = 429,496,729.6 ps, rounded up. With one row more there are 110
// tiles: two waves, 200 tiles are paid.
static void test_price_gemm_pays_whole_waves(void **state) {
    (void)state;
    Device device = round_device();
    Calib calib = round_calib();
    PriceModel model = {&device, &calib};
    Price full = price_gemm(&model, 1280, 1280, 65536, 1, bf16, NUMFMT_BF16);
    Price over = price_gemm(&model, 1281, 1280, 65536, 1, bf16, NUMFMT_BF16);
    assert_int_equal(full.compute_ps, 429496730);
    assert_true(full.compute_ps > full.memory_ps);
    assert_int_equal(over.compute_ps, 858993460);
    assert_int_equal(over.flop, UINT64_C(2) * 1281 * 1280 * 65536);
}

// 128 x 640 outputs are 5 tiles, so 20 units share the k of each: 65,536 / 20 = 3276.8, rounded up
// to 3277. All 100 units take 2 x 128 x 128 x 3277 flop: 10,738,073,600 at 0.5 Pflop/s =
// 21,476,147.2 ps.
static void test_price_gemm_splits_k_over_idle_units(void **state) {
    (void)state;
    Device device = round_device();
    Calib calib = round_calib();
    PriceModel model = {&device, &calib};
    Price price = price_gemm(&model, 128, 640, 65536, 1, bf16, NUMFMT_BF16);
    assert_int_equal(price.compute_ps, 21476148);
}

// A device with tiles of 4 x 16 pads one row to 4 and 40 columns to 48: 2 x 4 x 48 x 256 flop =
// 98,304 at 0.5 Pflop/s = 196.6 ps, rounded up. Up to 4 rows cost the same.
static void test_price_gemm_pads_to_the_tile_of_the_device(void **state) {
    (void)state;
    Device device = round_device();
    device.compute_units = 1;
    device.gemm_tile_rows = 4;
    device.gemm_tile_columns = 16;
    Calib calib = round_calib();
    PriceModel model = {&device, &calib};
    for (uint64_t m = 1; m <= 4; m++) {
        Price price = price_gemm(&model, m, 40, 256, 1, bf16, NUMFMT_BF16);
        assert_int_equal(price.compute_ps, 197);
        assert_int_equal(price.flop, 2 * m * 40 * 256);
    }
    Price next = price_gemm(&model, 5, 40, 256, 1, bf16, NUMFMT_BF16);
    assert_int_equal(next.compute_ps, 394); // 393.2
}

// FP4 on a device without it runs in FP8; the weights stay 4 bits, with the scales that they have:
// one byte for 16 is 1024 x 1024 / 2 + 1024 x 1024 / 16 = 589,824 B, plus activations of 2 x 64 x
// (1024 + 1024) = 262,144 B.
static void test_price_gemm_computes_in_the_next_wider_format(void **state) {
    (void)state;
    Device device = round_device();
    Calib calib = round_calib();
    PriceModel model = {&device, &calib};
    Price price =
        price_gemm(&model, 64, 1024, 1024, 1, (PriceWeights){NUMFMT_FP4, 65536}, NUMFMT_FP4);
    assert_int_equal(price.compute_param, CALIB_GEMM_FP8);
    assert_int_equal(price.bytes, 589824 + 262144);
    NumFmt used;
    assert_int_equal(price_rate(&device, NUMFMT_FP4, &used), UINT64_C(2000000000000000));
    assert_int_equal(used, NUMFMT_FP8);
    assert_int_equal(price_rate(&device, NUMFMT_INT8, &used), UINT64_C(1000000000000000));
    assert_int_equal(used, NUMFMT_BF16);
    assert_int_equal(price_rate(&device, NUMFMT_F32, &used), 0);
}

// All experts of the layer on one device.
static Price price_grouped(const PriceModel *model, uint64_t m, uint64_t experts, uint64_t n,
                           uint64_t k, NumFmt weights, NumFmt math) {
    PriceRouted routed = {m, experts, m, experts};
    return price_grouped_gemm(model, &routed, n, k, (PriceWeights){.format = weights}, math);
}

// 4 experts, 2 pairs: 4 x (1 - (3/4)^2) = 1.75 experts are hit. Their weights: 1.75 x 2048 x 1024 x
// 1 B = 3,670,016 B; activations 2 x 2 x (2048 + 1024) = 12,288 B. 2 / 1.75 = 1.14 rows each: one
// row tile, 1.75 of them rounded up to 2, times 16 columns is 32 tiles; 3 units share each k: 1024
// / 3 = 342 (rounded up). 100 x 2 x 64 x 128 x 342 = 560,332,800 flop at 1 Pflop/s.
static void test_price_grouped_gemm_reads_only_the_experts_hit(void **state) {
    (void)state;
    Device device = round_device();
    Calib calib = round_calib();
    PriceModel model = {&device, &calib};
    Price price = price_grouped(&model, 2, 4, 2048, 1024, NUMFMT_FP8, NUMFMT_FP8);
    assert_int_equal(price.bytes, 3670016 + 12288);
    assert_int_equal(price.flop, UINT64_C(2) * 2 * 2048 * 1024);
    assert_int_equal(price.compute_ps, 560333);
    assert_int_equal(price.memory_ps, 4602880); // 3,682,304 B at 0.8 TB/s
    assert_int_equal(price.time_ps, 4602880 + 3 * US);
}

// 2 of 256 experts are here, and 64 tokens choose 8 each: 512 pairs, 4 of them here on average. An
// expert is missed by all with probability (255/256)^512 = 0.13481, so 2 x 0.86519 = 1.73038 are
// hit: x 1024 x 1024 B = 1,814,436.5 B (rounded up), and 2 x 4 x 2048 B of activations.
static void test_price_grouped_gemm_counts_arrivals_of_the_whole_layer(void **state) {
    (void)state;
    Device device = round_device();
    Calib calib = round_calib();
    PriceModel model = {&device, &calib};
    PriceRouted routed = {.m = 4, .experts = 2, .all_pairs = 512, .all_experts = 256};
    Price price = price_grouped_gemm(&model, &routed, 1024, 1024, fp8, NUMFMT_FP8);
    double want_B = 2 * (1 - pow(255.0 / 256, 512)) * 1048576 + 16384;
    assert_true(fabs((double)price.bytes - want_B) <= 1);
}

// 4000 pairs on 4 experts hit all of them, 1000 rows each: 8 tiles of 128 rows, so that 4096 rows
// are paid.
static void test_price_grouped_gemm_pads_rows_of_each_expert(void **state) {
    (void)state;
    Device device = round_device();
    device.compute_units = 1;
    Calib calib = round_calib();
    PriceModel model = {&device, &calib};
    Price price = price_grouped(&model, 4000, 4, 1024, 1024, NUMFMT_BF16, NUMFMT_BF16);
    // 2 x 4096 x 1024 x 1024 = 8,589,934,592 flop at 0.5 Pflop/s = 17,179,869.184 ps
    assert_int_equal(price.compute_ps, 17179870);
    assert_int_equal(price.bytes, 4 * 1024 * 1024 * 2 + 2 * 4000 * 2048);
}

// Without work a kernel still starts.
static void test_price_of_nothing_is_the_fixed_time(void **state) {
    (void)state;
    Device device = round_device();
    Calib calib = round_calib();
    PriceModel model = {&device, &calib};
    Price gemm = price_gemm(&model, 0, 128, 128, 1, bf16, NUMFMT_BF16);
    Price grouped = price_grouped(&model, 0, 8, 128, 128, NUMFMT_BF16, NUMFMT_BF16);
    Price memory = price_memory(&model, 0, 0);
    assert_int_equal(gemm.time_ps, 3 * US);
    assert_int_equal(grouped.time_ps, 3 * US);
    assert_int_equal(memory.time_ps, 3 * US);
    assert_int_equal(gemm.roofline_ps, 0);
    assert_true(gemm.fixed_ps > gemm.compute_ps && gemm.fixed_ps > gemm.memory_ps);
}

// 1 Gflop at 0.5 Pflop/s is 2 us; 8 MB at 0.8 TB/s are 10 us: the slower one counts.
static void test_price_attention_takes_the_slower_of_arithmetic_and_memory(void **state) {
    (void)state;
    Device device = round_device();
    Calib calib = round_calib();
    PriceModel model = {&device, &calib};
    Price price = price_attention(&model, 1000000000, 8000000);
    assert_int_equal(price.compute_ps, 2 * US);
    assert_int_equal(price.memory_ps, 10 * US);
    assert_int_equal(price.time_ps, 13 * US);
    assert_int_equal(price.compute_param, CALIB_ATTENTION);
}

static uint64_t size_below(Rng *rng, uint32_t bits) {
    return rng_below(rng, UINT64_C(1) << (1 + rng_below(rng, bits)));
}

static void check_at_least(const Price *large, const Price *small) {
    assert_true(large->time_ps >= small->time_ps);
    assert_true(large->bytes >= small->bytes && large->flop >= small->flop);
    assert_true(small->roofline_ps <= small->time_ps);
    assert_true(large->roofline_ps <= large->time_ps);
}

// A larger product is never cheaper, and no price is below its roofline, on any of 20,000 random
// pairs of shapes. Small steps
// (+1) cross the edges of tiles and waves.
static void test_price_gemm_is_monotone_and_above_its_roofline(void **state) {
    (void)state;
    Device device = round_device();
    Calib calib = round_calib();
    PriceModel model = {&device, &calib};
    Rng rng;
    rng_seed(&rng, 1);
    for (int i = 0; i < 20000; i++) {
        device.compute_units = (uint32_t)rng_below(&rng, 200);
        uint64_t m = size_below(&rng, 14), n = size_below(&rng, 14) + 1,
                 k = size_below(&rng, 14) + 1;
        uint64_t batch = 1 + rng_below(&rng, 3);
        uint64_t step = rng_below(&rng, 2) == 0 ? 1 : size_below(&rng, 10);
        Price price = price_gemm(&model, m, n, k, batch, fp4, NUMFMT_FP8);
        Price taller = price_gemm(&model, m + step, n, k, batch, fp4, NUMFMT_FP8);
        Price wider = price_gemm(&model, m, n + step, k, batch, fp4, NUMFMT_FP8);
        Price deeper = price_gemm(&model, m, n, k + step, batch, fp4, NUMFMT_FP8);
        Price more = price_gemm(&model, m, n, k, batch + step, fp4, NUMFMT_FP8);
        check_at_least(&taller, &price);
        check_at_least(&wider, &price);
        check_at_least(&deeper, &price);
        check_at_least(&more, &price);
    }
}

static void test_price_grouped_gemm_is_monotone_and_above_its_roofline(void **state) {
    (void)state;
    Device device = round_device();
    Calib calib = round_calib();
    PriceModel model = {&device, &calib};
    Rng rng;
    rng_seed(&rng, 2);
    for (int i = 0; i < 20000; i++) {
        device.compute_units = (uint32_t)rng_below(&rng, 200);
        uint64_t m = size_below(&rng, 15), experts = 1 + rng_below(&rng, 900);
        uint64_t n = size_below(&rng, 13) + 1, k = size_below(&rng, 13) + 1;
        uint64_t step = rng_below(&rng, 2) == 0 ? 1 : size_below(&rng, 10);
        Price price = price_grouped(&model, m, experts, n, k, NUMFMT_FP4, NUMFMT_FP8);
        Price taller = price_grouped(&model, m + step, experts, n, k, NUMFMT_FP4, NUMFMT_FP8);
        Price wider = price_grouped(&model, m, experts, n + step, k, NUMFMT_FP4, NUMFMT_FP8);
        Price deeper = price_grouped(&model, m, experts, n, k + step, NUMFMT_FP4, NUMFMT_FP8);
        check_at_least(&taller, &price);
        check_at_least(&wider, &price);
        check_at_least(&deeper, &price);
    }
}

// Sizes that no device has: the time saturates and stays positive, and so does the sum of a few.
static void test_price_saturates_instead_of_wrapping(void **state) {
    (void)state;
    Device device = round_device();
    Calib calib = round_calib();
    calib.values[CALIB_KERNEL].value = 1e30;
    PriceModel model = {&device, &calib};
    Price price =
        price_gemm(&model, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, bf16, NUMFMT_BF16);
    assert_true(price.time_ps > 0 && price.time_ps < TIME_MAX / 2);
    device.memory_Bps = (Range){0, 0}; // not given: priced as endless, bounded by nothing
    price = price_memory(&model, 0, 1000);
    assert_true(price.time_ps > 0 && price.roofline_ps == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_price_gemm_of_one_token_is_bound_by_its_weights),
        cmocka_unit_test(test_price_gemm_pays_whole_waves),
        cmocka_unit_test(test_price_gemm_splits_k_over_idle_units),
        cmocka_unit_test(test_price_gemm_pads_to_the_tile_of_the_device),
        cmocka_unit_test(test_price_gemm_computes_in_the_next_wider_format),
        cmocka_unit_test(test_price_grouped_gemm_reads_only_the_experts_hit),
        cmocka_unit_test(test_price_grouped_gemm_counts_arrivals_of_the_whole_layer),
        cmocka_unit_test(test_price_grouped_gemm_pads_rows_of_each_expert),
        cmocka_unit_test(test_price_of_nothing_is_the_fixed_time),
        cmocka_unit_test(test_price_attention_takes_the_slower_of_arithmetic_and_memory),
        cmocka_unit_test(test_price_gemm_is_monotone_and_above_its_roofline),
        cmocka_unit_test(test_price_grouped_gemm_is_monotone_and_above_its_roofline),
        cmocka_unit_test(test_price_saturates_instead_of_wrapping),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
