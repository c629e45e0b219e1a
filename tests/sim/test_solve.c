// Robust fits of straight lines, of which the answer is known.
#include "sim/calibrate/solve.h"
#include "tests/check.h"

#include <math.h>

#include "model/base/rng.h"

// Time of a message: latency + bytes / rate.
typedef struct Line {
    uint32_t count;
    double bytes[16], measured[16];
} Line;

static bool line_errors(void *context, const double *values, double *out, Err *err) {
    (void)err;
    const Line *line = context;
    for (uint32_t i = 0; i < line->count; i++)
        out[i] = (values[0] + line->bytes[i] / values[1]) / line->measured[i] - 1;
    return true;
}

// 25 us and 25 MB/s, at sizes of 1 KiB, 2 KiB, ... 512 KiB.
static Line make_line(void) {
    Line line = {.count = 10};
    for (uint32_t i = 0; i < line.count; i++) {
        line.bytes[i] = 1024 << i;
        line.measured[i] = 25e-6 + line.bytes[i] / 25e6;
    }
    return line;
}

static SolveResult fit(Line *line, double sigma) {
    static const double start[] = {1e-5, 1e8}, spread[] = {4, 4};
    double sigmas[16];
    for (uint32_t i = 0; i < 16; i++) sigmas[i] = sigma;
    SolveProblem problem = {.parameters = 2,
                            .observations = line->count,
                            .start = start,
                            .spread = spread,
                            .sigma = sigmas,
                            .errors = line_errors,
                            .context = line,
                            .starts = 5,
                            .seed = 1};
    SolveResult result = {0};
    Err err = {0};
    check_ok(solve_fit(&problem, &result, &err), &err);
    return result;
}

static void check_near(double value, double wanted, double part) {
    if (fabs(value / wanted - 1) > part) fail_msg("%g is not within %g of %g", value, part, wanted);
}

static void test_solve_finds_a_line(void **state) {
    (void)state;
    Line line = make_line();
    SolveResult result = fit(&line, 0.004);
    check_near(result.values[0], 25e-6, 1e-4);
    check_near(result.values[1], 25e6, 1e-5);
    assert_true(result.low[1] < result.values[1] && result.values[1] < result.high[1]);
    assert_int_equal(result.outliers, 0);
    assert_int_equal(result.agreed, 5);
    assert_true(result.correlation[0] > 0.999);
    assert_true(result.correlation[1] > 0); // more latency, more rate: the same times
}

// One of ten times twice as long as it should be counts little: without weights the largest size
// alone would lower the rate by a third.
static void test_solve_leaves_outliers(void **state) {
    (void)state;
    Line line = make_line();
    line.measured[9] *= 2;
    SolveResult result = fit(&line, 0.004);
    check_near(result.values[1], 25e6, 0.01);
    assert_int_equal(result.outliers, 1);
    assert_true(result.chi2_per_degree > 10);
}

// All messages of one size: latency and rate cannot be told apart, and the fit says so.
static void test_solve_says_what_it_does_not_know(void **state) {
    (void)state;
    Line line = make_line();
    for (uint32_t i = 1; i < line.count; i++) {
        line.bytes[i] = line.bytes[0];
        line.measured[i] = line.measured[0];
    }
    SolveResult result = fit(&line, 0.004);
    assert_true(result.high[0] / result.low[0] > 1e3 || isinf(result.high[0]));
}

// A rate in use by a part, in whole picoseconds: 1 us over the part.
static bool part_errors(void *context, const double *values, double *out, Err *err) {
    (void)context;
    (void)err;
    for (uint32_t i = 0; i < 3; i++) out[i] = round(1e6 / values[0]) / 2e6 - 1;
    return true;
}

// A half, where the logarithm of part / (1 - part) is 0, is told as well as other parts: of 0.4 %
// errors three say 0.5 within 1.96 x 0.4 % / sqrt(3) = 0.45 %.
static void test_solve_tells_a_half(void **state) {
    (void)state;
    static const double start[] = {0.5}, most[] = {1}, spread[] = {1};
    static const double sigmas[] = {0.004, 0.004, 0.004};
    SolveProblem problem = {.parameters = 1,
                            .observations = 3,
                            .start = start,
                            .most = most,
                            .spread = spread,
                            .sigma = sigmas,
                            .errors = part_errors,
                            .starts = 1};
    SolveResult result = {0};
    Err err = {0};
    check_ok(solve_fit(&problem, &result, &err), &err);
    check_near(result.values[0], 0.5, 1e-4);
    check_near(result.low[0], 0.5 * (1 - 0.0045), 1e-3);
    check_near(result.high[0], 0.5 * (1 + 0.0045), 1e-3);
}

static bool fails(void *context, const double *values, double *out, Err *err) {
    (void)context;
    (void)values;
    (void)out;
    return err_set(err, "cannot be predicted");
}

static void test_solve_passes_failures_on(void **state) {
    (void)state;
    static const double one[] = {1, 1};
    SolveProblem problem = {.parameters = 1,
                            .observations = 2,
                            .start = one,
                            .spread = one,
                            .sigma = one,
                            .errors = fails,
                            .starts = 2};
    SolveResult result;
    Err err = {0};
    assert_false(solve_fit(&problem, &result, &err));
    assert_string_equal(err.text, "cannot be predicted");
    problem.observations = 0;
    assert_false(solve_fit(&problem, &result, &err));
    assert_string_equal(err.text,
                        "expected 1 to 4096 observations, one for each parameter, found 0");
}

// Normal to within 0.1 % of the tails that matter here: 12 equal chances have a variance of 1.
static double normal_error(Rng *rng) {
    double sum = -6;
    for (uint32_t i = 0; i < 12; i++) sum += rng_unit(rng);
    return sum;
}

// Of 400 lines of some sizes, with errors of `scatter` times the 0.4 % that the fit is told: how
// many have the true rate in its 95 % interval, in percent.
static double rate_coverage(double scatter, uint32_t sizes) {
    uint32_t within = 0;
    Rng rng;
    rng_seed(&rng, 3);
    for (uint32_t k = 0; k < 400; k++) {
        Line line = {.count = sizes};
        for (uint32_t i = 0; i < sizes; i++) {
            line.bytes[i] = 1024 << (i % 12);
            line.measured[i] =
                (25e-6 + line.bytes[i] / 25e6) / (1 + 0.004 * scatter * normal_error(&rng));
        }
        SolveResult result = fit(&line, 0.004);
        if (result.low[1] <= 25e6 && 25e6 <= result.high[1]) within++;
    }
    return within / 4.0;
}

// 400 intervals of 95 % hold 380 times, give or take 4.4 (1.1 %). Errors 4 and 32 times as large as
// the fit is told must not make them hold less often than 9 times in 10; intervals that are wider
// than they need be would hold always.
static void test_solve_interval_holds_when_errors_exceed_sigma(void **state) {
    (void)state;
    static const double scatters[] = {1, 4, 32};
    static const uint32_t sizes[] = {8, 12, 16};
    for (uint32_t s = 0; s < 3; s++)
        for (uint32_t n = 0; n < 3; n++) {
            double held = rate_coverage(scatters[s], sizes[n]);
            if (held < 90 || held > 99)
                fail_msg("%g %% of intervals hold at a scatter of %g, %u sizes", held, scatters[s],
                         sizes[n]);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_solve_finds_a_line),
        cmocka_unit_test(test_solve_leaves_outliers),
        cmocka_unit_test(test_solve_says_what_it_does_not_know),
        cmocka_unit_test(test_solve_tells_a_half),
        cmocka_unit_test(test_solve_interval_holds_when_errors_exceed_sigma),
        cmocka_unit_test(test_solve_passes_failures_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
