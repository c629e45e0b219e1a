// Fits to samples that were made under constants that the fit does not know.
#include "sim/calibrate/calibrate.h"
#include "tests/check.h"

#include <math.h>

#include "model/base/rng.h"
#include "sim/calibrate/observe.h"
#include "sim/calibrate/predict.h"
#include "tests/sim/net_machine.h"

#define SAMPLES 12
#define MS      1e-3

// Four hosts of one GPU under a switch: links of 25 MB/s that pass 20 kB at once.
static const char cluster[] =
    "{\"moesim\": \"topology\", \"version\": 1, \"name\": \"cluster\", \"source\": \"test\","
    "\"templates\": {\"net\": {\"parts\": {\"gpu\": {\"kind\": \"gpu\", \"device\": \"H100 SXM\","
    "\"count\": 4}, \"switch\": {\"kind\": \"switch\"}}, \"links\": [{\"from\": \"gpu[*]\", \"to\":"
    "\"switch\", \"class\": \"eth\", \"bandwidth\": \"25 MB/s\", \"latency\": \"0 s\","
    "\"burst\": \"20000 B\"}]}}, \"machine\": \"net\"}";

typedef struct Bench {
    NetMachine machine;
    Calib prior, truth;
    const Device *device;
    Arena arena;
    Text rows[2]; // of the cases that are fitted, and of those held out
    RecordFile files[2];
    Observation *observations[2];
    uint32_t counts[2];
    ObservePredictor observed;
    uint64_t id;
    Rng rng;
} Bench;

static void open_bench(Bench *bench) {
    Err err = {0};
    *bench = (Bench){0};
    net_machine_open(&bench->machine, cluster);
    bench->device = fabric_device(&bench->machine.fabric, 0);
    check_ok(calib_load("", "hopper", &bench->prior, &err), &err);
    bench->truth = bench->prior;
    bench->truth.values[CALIB_ETH].value = 0.97;
    bench->truth.values[CALIB_NET_STEP].value = 180e-6;
    rng_seed(&bench->rng, 7);
    for (uint32_t f = 0; f < 2; f++) bench_case_write_header(RECORD_COMM, &bench->rows[f]);
}

static void close_bench(Bench *bench) {
    for (uint32_t f = 0; f < 2; f++) {
        record_free(&bench->files[f]);
        text_free(&bench->rows[f]);
    }
    arena_free(&bench->arena);
    calib_free(&bench->prior);
    net_machine_close(&bench->machine);
}

// Samples of the true time, up to 1 % longer.
static void measure(Bench *bench, uint32_t file, const BenchCase *one) {
    Predictor predictor = {&bench->machine.fabric, {bench->device, &bench->truth}};
    double time_s;
    Err err = {0};
    check_ok(predict_case(&predictor, one, &time_s, &err), &err);
    for (uint32_t i = 0; i < SAMPLES; i++)
        bench_case_write(one,
                         &(BenchRow){.id = ++bench->id,
                                     .date = "d",
                                     .device = "cpu",
                                     .fabric = "f",
                                     .library = "l",
                                     .latency_s = time_s * (1 + 0.01 * rng_unit(&bench->rng))},
                         &bench->rows[file]);
}

static void measure_sends(Bench *bench, uint32_t file, const uint64_t *sizes, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        measure(bench, file,
                &(BenchCase){.op = BENCH_SEND_RECV,
                             .format = NUMFMT_INT8,
                             .ranks = 4,
                             .nodes = 4,
                             .from = 0,
                             .to = 1,
                             .bytes = sizes[i]});
}

static void measure_exchanges(Bench *bench, uint32_t file, Algorithm algorithm, uint64_t each_B) {
    measure(bench, file,
            &(BenchCase){.op = BENCH_ALL_TO_ALL,
                         .format = NUMFMT_INT8,
                         .ranks = 4,
                         .nodes = 4,
                         .algorithm = algorithm,
                         .bytes = 4 * each_B});
}

static CalibrateInput input_of(Bench *bench) {
    Err err = {0};
    for (uint32_t f = 0; f < 2; f++) {
        check_ok(record_parse("bench.csv", text_string(&bench->rows[f]), bench->rows[f].length,
                              &bench->files[f], &err),
                 &err);
        check_ok(observe_records(&bench->files[f], &bench->arena, &bench->observations[f],
                                 &bench->counts[f], &err),
                 &err);
    }
    uint32_t count = bench->counts[0] + bench->counts[1];
    Observation *all = arena_alloc(&bench->arena, count, sizeof *all);
    for (uint32_t i = 0; i < count; i++)
        all[i] = i < bench->counts[0] ? bench->observations[0][i]
                                      : bench->observations[1][i - bench->counts[0]];
    CalibrateItem *items = arena_alloc(&bench->arena, count, sizeof *items);
    bench->observed =
        (ObservePredictor){{&bench->machine.fabric, {bench->device, &bench->prior}}, all};
    check_ok(observe_items(&bench->observed, count, OBSERVE_MIN, items, &err), &err);
    return (CalibrateInput){.items = items,
                            .fitted = bench->counts[0],
                            .count = count,
                            .predict = observe_predict,
                            .context = &bench->observed,
                            .prior = &bench->prior,
                            .least_s = 1 * MS,
                            .seed = 1};
}

static const CalibrateParam *param_of(const CalibrateResult *result, CalibParam param) {
    for (uint32_t i = 0; i < result->param_count; i++)
        if (result->params[i].param == param) return &result->params[i];
    return NULL;
}

static void check_within(double value, double wanted, double part) {
    if (fabs(value / wanted - 1) > part) fail_msg("%g is not within %g of %g", value, part, wanted);
}

// The minimum of 12 samples is 0.08 % too long on average (1 % / 13), so the rate comes back within
// 1 %. Every case has one fixed time, and between steps the buckets fill again by what a step
// takes: the data tell the sum of the two times, 180 + 6.6 us, and not which is which, so that one
// of them stays at its prior. It is a small part of what was measured: 5 %.
static void test_calibrate_finds_the_constants(void **state) {
    (void)state;
    static const uint64_t sizes[] = {65536, 131072, 262144, 524288, 1048576};
    static const uint64_t others[] = {98304, 393216};
    Bench bench;
    open_bench(&bench);
    measure_sends(&bench, 0, sizes, 5);
    measure_exchanges(&bench, 0, ALGORITHM_DIRECT, 32768);
    measure_exchanges(&bench, 0, ALGORITHM_PAIRWISE, 131072);
    measure_sends(&bench, 1, others, 2);
    measure_exchanges(&bench, 1, ALGORITHM_PAIRWISE, 65536);
    measure_exchanges(&bench, 1, ALGORITHM_DIRECT, 262144);
    CalibrateInput input = input_of(&bench);
    CalibrateResult result = {0};
    Err err = {0};
    check_ok(calibrate_run(&input, &result, &err), &err);
    const CalibrateParam *rate = param_of(&result, CALIB_ETH);
    const CalibrateParam *step = param_of(&result, CALIB_NET_STEP);
    const CalibrateParam *call = param_of(&result, CALIB_COLLECTIVE);
    if (rate == NULL || step == NULL || call == NULL) {
        fail_msg("a constant is missing");
        return;
    }
    assert_true(rate->is_identified && step->is_identified != call->is_identified);
    check_within(rate->value, 0.97, 0.01);
    assert_true(rate->low < rate->value && rate->value < rate->high);
    check_within(step->value + call->value, 186.6e-6, 0.05);
    assert_null(param_of(&result, CALIB_NVLINK)); // no case depends on it
    assert_int_equal(result.held_out.count, 4);
    assert_true(result.held_out.worst < 0.01);
    assert_true(result.held_out_prior.worst > 0.02);
    assert_true(result.without_size.count > 0 && result.without_size.worst < 0.01);
    assert_int_equal(result.calib.values[CALIB_ETH].provenance, PROVENANCE_MEASURED);
    assert_int_equal(result.calib.values[CALIB_NVLINK].provenance, PROVENANCE_DEFAULT);
    calibrate_free(&result);
    close_bench(&bench);
}

// One size: rate and step cannot be told apart, so that at most one of them is identified.
static void test_calibrate_keeps_what_the_data_do_not_tell(void **state) {
    (void)state;
    static const uint64_t sizes[] = {262144};
    Bench bench;
    open_bench(&bench);
    measure_sends(&bench, 0, sizes, 1);
    measure_exchanges(&bench, 0, ALGORITHM_DIRECT, 262144 / 3);
    CalibrateInput input = input_of(&bench);
    CalibrateResult result = {0};
    Err err = {0};
    check_ok(calibrate_run(&input, &result, &err), &err);
    assert_true(result.param_count >= 3);
    assert_true(result.identified_count < result.param_count);
    for (uint32_t i = 0; i < result.param_count; i++)
        if (!result.params[i].is_identified)
            assert_true(result.params[i].value == result.params[i].prior);
    calibrate_free(&result);
    close_bench(&bench);
}

static void test_calibrate_refuses_small_cases_alone(void **state) {
    (void)state;
    static const uint64_t sizes[] = {1024};
    Bench bench;
    open_bench(&bench);
    measure_sends(&bench, 0, sizes, 1);
    CalibrateInput input = input_of(&bench);
    CalibrateResult result = {0};
    Err err = {0};
    assert_false(calibrate_run(&input, &result, &err));
    assert_string_equal(err.text, "all 1 cases have a bound below 1 ms: none is left to fit");
    close_bench(&bench);
}

// ---- Many cases

#define MANY 1025

typedef struct Line {
    CalibrateItem items[MANY];
    uint32_t least; // items of one call
} Line;

// A software time, and 25 MB/s times an efficiency.
static bool predict_line(void *context, const Calib *calib, const uint32_t *items, uint32_t count,
                         double *out_s, Err *err) {
    (void)err;
    Line *line = context;
    if (count < line->least) line->least = count;
    for (uint32_t i = 0; i < count; i++)
        out_s[i] = calib->values[CALIB_NET_STEP].value +
                   (double)line->items[items[i]].size / 25e6 / calib->values[CALIB_ETH].value;
    return true;
}

static void open_line(Line *line, const Calib *prior) {
    Calib truth = *prior;
    Err err = {0};
    truth.values[CALIB_ETH].value = 0.97;
    truth.values[CALIB_NET_STEP].value = 180e-6;
    line->least = MANY;
    for (uint32_t i = 0; i < MANY; i++) {
        line->items[i] =
            (CalibrateItem){.name = "case", .shape = "line", .size = i * 100000, .samples = 1};
        check_ok(predict_line(line, &truth, &i, 1, &line->items[i].measured_s, &err), &err);
    }
    line->least = MANY;
}

// 48 sizes are left out in 24 pairs, so that the number of fits has an end.
static void test_calibrate_leaves_many_sizes_out_together(void **state) {
    (void)state;
    static Line line;
    Calib prior;
    CalibrateResult result = {0};
    Err err = {0};
    check_ok(calib_load("", "hopper", &prior, &err), &err);
    open_line(&line, &prior);
    CalibrateInput input = {.items = line.items,
                            .fitted = 48,
                            .count = 48,
                            .predict = predict_line,
                            .context = &line,
                            .prior = &prior,
                            .seed = 1};
    check_ok(calibrate_run(&input, &result, &err), &err);
    assert_int_equal(line.least, 2);
    assert_int_equal(result.without_size.count, 48);
    assert_true(result.without_size.worst < 0.01);
    calibrate_free(&result);
    calib_free(&prior);
}

static void test_calibrate_refuses_too_many_cases(void **state) {
    (void)state;
    static Line line;
    Calib prior;
    CalibrateResult result = {0};
    Err err = {0};
    check_ok(calib_load("", "hopper", &prior, &err), &err);
    open_line(&line, &prior);
    CalibrateInput input = {.items = line.items,
                            .fitted = 1000,
                            .count = MANY,
                            .predict = predict_line,
                            .context = &line,
                            .prior = &prior};
    assert_false(calibrate_run(&input, &result, &err));
    assert_string_equal(err.text, "1025 cases, expected at most 1024 in all");
    calib_free(&prior);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calibrate_finds_the_constants),
        cmocka_unit_test(test_calibrate_keeps_what_the_data_do_not_tell),
        cmocka_unit_test(test_calibrate_refuses_small_cases_alone),
        cmocka_unit_test(test_calibrate_leaves_many_sizes_out_together),
        cmocka_unit_test(test_calibrate_refuses_too_many_cases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
