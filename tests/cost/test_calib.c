// Calibration files: which row is taken, what is refused, and how draws spread.
#include "tests/check.h"

#include "model/base/num.h"
#include "model/cost/calib.h"

#define DRAWS 4000
#define ROOT  219.08902300206645 // sqrt(12 x DRAWS)

#define DEFAULT "topologies/calibrations/default.json"

static void test_calib_default_serves_every_generation(void **state) {
    (void)state;
    static const char *const generations[] = {"blackwell", "hopper", "ampere", "cdna3", "nothing"};
    for (size_t i = 0; i < sizeof generations / sizeof *generations; i++) {
        Calib calib = {0};
        Err err = {{0}};
        check_ok(calib_load(DEFAULT, generations[i], &calib, &err), &err);
        for (int param = 0; param < CALIB_COUNT; param++) {
            const CalibValue *value = &calib.values[param];
            assert_true(value->low > 0 && value->low <= value->value &&
                        value->value <= value->high);
            assert_int_equal(value->provenance, PROVENANCE_DEFAULT);
            assert_true(*value->source != '\0');
        }
        calib_free(&calib);
    }
}

// GB200 reaches 1822 of 2500 TFLOPS = 0.729 and B200 1745 of 2250 = 0.776 (MAMF runs).
static void test_calib_row_of_the_generation_comes_before_the_star(void **state) {
    (void)state;
    Calib own = {0}, star = {0};
    Err err = {{0}};
    check_ok(calib_load(DEFAULT, "blackwell", &own, &err), &err);
    check_ok(calib_load(DEFAULT, "unheard of", &star, &err), &err);
    check_close(own.values[CALIB_GEMM_BF16].low, 0.729, 0);
    check_close(own.values[CALIB_GEMM_BF16].high, 0.776, 0);
    check_close(star.values[CALIB_GEMM_BF16].low, 0.51, 0);
    assert_false(own.values[CALIB_GEMM_BF16].is_default_interval);
    assert_true(own.digest != star.digest);
    calib_free(&own);
    calib_free(&star);
}

// 3 us without an interval: 3 / 1.5 = 2 us .. 3 x 1.5 = 4.5 us. 0.75 without one: 0.5 .. 1,
// not 1.125, because nothing exceeds the nominal rate.
static void test_calib_value_without_interval_spreads_by_half(void **state) {
    (void)state;
    Calib calib = {0};
    Err err = {{0}};
    check_ok(calib_load(DEFAULT, "blackwell", &calib, &err), &err);
    const CalibValue *kernel = &calib.values[CALIB_KERNEL], *fp4 = &calib.values[CALIB_GEMM_FP4];
    assert_true(kernel->is_default_interval && fp4->is_default_interval);
    check_close(kernel->value, 3e-6, 1e-15);
    check_close(kernel->low, 2e-6, 1e-15);
    check_close(kernel->high, 4.5e-6, 1e-15);
    check_close(fp4->low, 0.5, 1e-15);
    check_close(fp4->high, 1, 0);
    calib_free(&calib);
}

// An efficiency that is drawn lower makes its time longer: factors lie in value / high .. value /
// low. A time: low / value .. high / value. The mean of a log-uniform factor's logarithm is the
// middle of the logarithms; of 4000 draws it is within 4 standard errors, width / sqrt(12 x 4000)
// each.
static void test_calib_draw_is_log_uniform_over_the_interval(void **state) {
    (void)state;
    Calib calib = {0};
    Err err = {{0}};
    check_ok(calib_load(DEFAULT, "hopper", &calib, &err), &err);
    static const CalibParam params[] = {CALIB_NVLINK, CALIB_NET_STEP};
    for (int i = 0; i < 2; i++) {
        const CalibValue *value = &calib.values[params[i]];
        double least = i == 0 ? value->value / value->high : value->low / value->value;
        double most = i == 0 ? value->value / value->low : value->high / value->value;
        double sum = 0;
        for (uint32_t draw = 0; draw < DRAWS; draw++) {
            double factor = calib_draw(&calib, params[i], 1, draw);
            assert_true(factor >= least * (1 - 1e-12) && factor <= most * (1 + 1e-12));
            sum += num_log(factor);
        }
        double width = num_log(most / least), middle = (num_log(most) + num_log(least)) / 2;
        assert_true(fabs(sum / DRAWS - middle) < 4 * width / ROOT);
    }
    calib_free(&calib);
}

static void test_calib_draw_depends_on_seed_draw_and_param_only(void **state) {
    (void)state;
    Calib one = {0}, two = {0};
    Err err = {{0}};
    check_ok(calib_load(DEFAULT, "hopper", &one, &err), &err);
    check_ok(calib_load(DEFAULT, "hopper", &two, &err), &err);
    double factor = calib_draw(&one, CALIB_NVLINK, 7, 3);
    check_close(calib_draw(&two, CALIB_NVLINK, 7, 3), factor, 0);
    assert_true(calib_draw(&one, CALIB_NVLINK, 8, 3) != factor);
    assert_true(calib_draw(&one, CALIB_NVLINK, 7, 4) != factor);
    assert_true(calib_draw(&one, CALIB_PCIE, 7, 3) != factor);
    calib_free(&one);
    calib_free(&two);
}

// What a tier costs has no unit and governs no time by itself: it is not drawn.
static void test_calib_plain_numbers_are_not_drawn(void **state) {
    (void)state;
    Calib calib = {0};
    Err err = {{0}};
    check_ok(calib_load(DEFAULT, "hopper", &calib, &err), &err);
    assert_int_equal(calib_kind(CALIB_TIER_PACKETS), CALIB_IS_PLAIN);
    assert_int_equal(calib_kind(CALIB_NET_STEP), CALIB_IS_TIME);
    assert_int_equal(calib_kind(CALIB_IB), CALIB_IS_EFFICIENCY);
    assert_true(calib.values[CALIB_TIER_PACKETS].value > 1);
    assert_true(calib_draw(&calib, CALIB_TIER_PACKETS, 7, 3) == 1);
    calib_free(&calib);
}

static void test_calib_refuses_bad_files_with_one_line(void **state) {
    (void)state;
    static const struct {
        const char *path, *message;
    } cases[] = {
        {"tests/bad/calib-efficiency-above-one.json",
         "tests/bad/calib-efficiency-above-one.json:3:65: rows[0].value: expected a part of the "
         "nominal rate above 0 and at most 1, found 1.2"},
        {"tests/bad/calib-zero-time.json",
         "tests/bad/calib-zero-time.json:3:67: rows[0].value: expected a time above 0, found 0"},
        {"tests/bad/calib-plain-negative.json",
         "tests/bad/calib-plain-negative.json:3:73: rows[0].value: expected 0 to 1e+06, found "
         "-0.5"},
        {"tests/bad/calib-unitless-time.json",
         "tests/bad/calib-unitless-time.json:3:67: rows[0].value: expected a time such as \"500 "
         "ns\", found 3"},
        {"tests/bad/calib-outside-interval.json",
         "tests/bad/calib-outside-interval.json:3:65: rows[0].value: expected a value between low "
         "and high, found 0.7 outside 0.8 .. 0.9"},
        {"tests/bad/calib-one-end.json",
         "tests/bad/calib-one-end.json:3:3: rows[0]: missing \"high\""},
        {"tests/bad/calib-unknown-param.json",
         "tests/bad/calib-unknown-param.json:3:13: rows[0].param: expected one of \"gemm bf16 "
         "efficiency\", \"gemm fp8 efficiency\", \"gemm fp4 efficiency\", \"attention arithmetic "
         "efficiency\", \"memory bandwidth efficiency\", \"fixed time of a kernel\", \"nvlink "
         "efficiency\", \"c2c efficiency\", \"pcie efficiency\", \"infiniband efficiency\", "
         "\"ethernet efficiency\", \"software time of a step over nvlink\", \"software time of a "
         "step over pcie\", \"software time of a step over the network\", \"fixed time of a "
         "collective\", \"engine time between steps\", ..., found \"gem bf16 efficiency\", did you "
         "mean \"gemm bf16 efficiency\"?"},
        {"tests/bad/calib-twice.json", "tests/bad/calib-twice.json:4:3: rows[1]: \"gemm bf16 "
                                       "efficiency\" of \"*\" has a row already: rows[0]"},
        {"tests/bad/calib-missing-row.json",
         "tests/bad/calib-missing-row.json:2:10: rows: no row for \"gemm fp8 efficiency\" of "
         "\"hopper\" and none of \"*\""},
        {"tests/bad/calib-no-source.json", "tests/bad/calib-no-source.json:3:105: rows[0].source: "
                                           "expected the source of the value, found \"\""},
        {"tests/bad/calib-unknown-key.json",
         "tests/bad/calib-unknown-key.json:3:95: rows[0]: unknown key \"unit\""},
        {"tests/bad/calib-newer.json", "tests/bad/calib-newer.json:1:38: version: calibration "
                                       "format 2 is newer than this program, which reads up to 1"},
        {"tests/bad/calib-not-rows.json",
         "tests/bad/calib-not-rows.json:1:79: rows: expected an array, found an object"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Calib calib = {0};
        Err err = {{0}};
        check_fails(calib_load(cases[i].path, "hopper", &calib, &err), &err, cases[i].message);
        assert_null(calib.name);
    }
}

static void test_calib_missing_file_is_named(void **state) {
    (void)state;
    Calib calib = {0};
    Err err = {{0}};
    assert_false(calib_load("no-such-calibration.json", "hopper", &calib, &err));
    assert_non_null(strstr(err.text, "no-such-calibration.json: no such file"));
}

static void test_calib_is_written_and_read(void **state) {
    (void)state;
    Calib calib = {0}, back = {0};
    Text text = {0};
    Err err = {{0}};
    check_ok(calib_load(DEFAULT, "blackwell", &calib, &err), &err);
    calib.values[CALIB_ETH] = (CalibValue){.value = 0.987654321,
                                           .low = 0.98,
                                           .high = 1,
                                           .provenance = PROVENANCE_MEASURED,
                                           .source = "a test"};
    calib_write(&calib, "written", "a test", &text);
    check_ok(calib_parse("written.json", text_string(&text), text.length, "blackwell", &back, &err),
             &err);
    for (int param = 0; param < CALIB_COUNT; param++) {
        check_close(back.values[param].value, calib.values[param].value, 1e-18);
        check_close(back.values[param].high, calib.values[param].high, 1e-18);
        assert_int_equal(back.values[param].provenance, calib.values[param].provenance);
    }
    assert_true(back.values[CALIB_ETH].value == 0.987654321);
    text_free(&text);
    calib_free(&calib);
    calib_free(&back);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calib_default_serves_every_generation),
        cmocka_unit_test(test_calib_row_of_the_generation_comes_before_the_star),
        cmocka_unit_test(test_calib_value_without_interval_spreads_by_half),
        cmocka_unit_test(test_calib_draw_is_log_uniform_over_the_interval),
        cmocka_unit_test(test_calib_draw_depends_on_seed_draw_and_param_only),
        cmocka_unit_test(test_calib_plain_numbers_are_not_drawn),
        cmocka_unit_test(test_calib_refuses_bad_files_with_one_line),
        cmocka_unit_test(test_calib_missing_file_is_named),
        cmocka_unit_test(test_calib_is_written_and_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
