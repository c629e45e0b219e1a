// Simulates a case of a benchmark.
//
// Invariant: a collective is the one operation of a schedule, as in a plan; sends and matrices are
// transfers that begin together, as an all-to-all(v) does, behind the fixed time of a call.
#include "sim/calibrate/predict.h"

#include <assert.h>

#include "model/base/num.h"
#include "model/plan/schedule_one.h"
#include "sim/sim.h"
#include "sim/tier.h"
#include "sim/transfers.h"

static Prediction in_seconds(Time time_ps, Time bound_ps) {
    return (Prediction){units_seconds(time_ps), units_seconds(bound_ps)};
}

static VertexId gpu_of(const Predictor *predictor, uint32_t rank) {
    return fabric_gpu(predictor->fabric, fabric_live_gpu(predictor->fabric, rank));
}

// ---- Transfers that begin together

static uint32_t list_transfers(const Predictor *predictor, const BenchCase *bench,
                               NetTransfer *list) {
    uint32_t n = bench->ranks, count = 0;
    if (bench->op == BENCH_SEND_RECV) {
        list[0] = (NetTransfer){gpu_of(predictor, bench->from), gpu_of(predictor, bench->to),
                                bench->bytes, 0};
        return 1;
    }
    for (uint32_t i = 0; i < n * n; i++)
        if (i / n != i % n && bench->matrix[i] > 0)
            list[count++] = (NetTransfer){gpu_of(predictor, i / n), gpu_of(predictor, i % n),
                                          bench->matrix[i], 0};
    return count;
}

static bool run_transfers(const Predictor *predictor, const BenchCase *bench, Prediction *out,
                          Err *err) {
    const Calib *calib = predictor->model.calib;
    TransfersOptions options = {
        .calib = calib, .mover = TRANSFERS_BY_KERNELS, .tier = tier_constants(calib)};
    NetTransfer *list = mem_alloc((size_t)bench->ranks * bench->ranks, sizeof *list);
    TransfersResult result = {0};
    uint32_t count = list_transfers(predictor, bench, list);
    bool done = transfers_run(predictor->fabric, list, count, &options, &result, err);
    double call_s = calib->values[CALIB_COLLECTIVE].value;
    if (done)
        *out =
            in_seconds(result.end_ps + num_round(call_s * (double)PS_PER_SECOND), result.bound_ps);
    transfers_result_free(&result);
    mem_free(list);
    return done;
}

// ---- Collectives

static void build(const BenchCase *bench, Collective kind, Schedule *schedule) {
    GroupFamily family = {.name = "all", .size = bench->ranks, .stride = 1, .count = 1};
    Comm comm = {.collective = kind,
                 .algorithm = bench->algorithm,
                 .inner = bench->inner,
                 .bytes = extent_fixed(bench->bytes),
                 .element = 1,
                 .format = bench->format};
    schedule_one_collective(&family, &comm, schedule);
}

static bool run_collective(const Predictor *predictor, const BenchCase *bench, Collective kind,
                           Prediction *out, Err *err) {
    Schedule schedule = {0};
    Timeline timeline = {0};
    StepShape shape = step_shape_decode(1, 1);
    Load load = load_uniform();
    SimOptions options = {.form = SIM_AUTO};
    build(bench, kind, &schedule);
    bool done = sim_run(predictor->fabric, &predictor->model, &schedule, &shape, &load, &options,
                        &timeline, err);
    if (done) *out = in_seconds(timeline.end_ps, timeline.totals[0].bound_ps);
    timeline_free(&timeline);
    schedule_free(&schedule);
    load_free(&load);
    return done;
}

// ---- Kernels

static Price price_of(const PriceModel *model, const BenchCase *bench) {
    if (bench->op == BENCH_COPY) return price_memory(model, 0, 2 * bench->bytes);
    return price_gemm(model, bench->m, bench->n, bench->k, 1,
                      (PriceWeights){.format = bench->format}, bench->format);
}

const char *predict_unknown(const Device *device, const BenchCase *bench, Arena *arena) {
    NumFmt used;
    if (bench_case_communicates(bench->op)) return NULL;
    if (device_low(device->memory_Bps) == 0)
        return arena_printf(arena, "no memory bandwidth of %s is known", device->name);
    if (bench->op == BENCH_COPY) return NULL;
    if (price_rate(device, bench->format, &used) == 0)
        return arena_printf(arena, "no rate of %s in %s is known", device->name,
                            numfmt_name(bench->format));
    if (used == bench->format) return NULL;
    return arena_printf(arena, "%s computes %s in %s, and what it takes to convert has no price",
                        device->name, numfmt_name(bench->format), numfmt_name(used));
}

// ---- All cases

bool predict_case(const Predictor *predictor, const BenchCase *bench, Prediction *out, Err *err) {
    Collective kind;
    if (!bench_case_communicates(bench->op)) {
        Price price = price_of(&predictor->model, bench);
        *out = in_seconds(price.time_ps, price.roofline_ps);
        return true;
    }
    assert(predictor->fabric != NULL);
    uint32_t gpus = fabric_live_gpu_count(predictor->fabric);
    if (bench->ranks > gpus)
        return err_set(err, "%u ranks on a machine of %u GPUs", bench->ranks, gpus);
    if (bench_case_collective(bench->op, &kind))
        return run_collective(predictor, bench, kind, out, err);
    return run_transfers(predictor, bench, out, err);
}
