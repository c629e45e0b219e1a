// Groups the rows of a record file by their case.
//
// Invariant: every row belongs to one observation; the order of rows changes no figure of one.
#include "sim/calibrate/observe.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/base/hash.h"
#include "sim/keymap.h"

const char *const observe_statistic_names[OBSERVE_STATISTIC_COUNT] = {
#define X(name, text) text,
    OBSERVE_STATISTIC_LIST(X)
#undef X
};

double observe_value_s(const Observation *observation, ObserveStatistic statistic) {
    switch (statistic) {
    case OBSERVE_MIN: return observation->min_s;
    case OBSERVE_P25: return observation->p25_s;
    case OBSERVE_MEDIAN:
    case OBSERVE_STATISTIC_COUNT: break;
    }
    return observation->median_s;
}

typedef struct Sample {
    uint32_t observation;
    double value_s;
} Sample;

static int compare_samples(const void *left, const void *right) {
    const Sample *a = left, *b = right;
    if (a->observation != b->observation) return a->observation < b->observation ? -1 : 1;
    return a->value_s < b->value_s ? -1 : a->value_s > b->value_s;
}

// The value at a part of the way through sorted samples, between two where it falls there.
static double quantile(const Sample *samples, uint32_t count, double part) {
    double at = part * (count - 1);
    uint32_t below = (uint32_t)at, above = below + 1 < count ? below + 1 : below;
    return samples[below].value_s +
           (at - below) * (samples[above].value_s - samples[below].value_s);
}

static void summarise(const Sample *samples, uint32_t count, Observation *out) {
    out->samples = count;
    out->min_s = samples[0].value_s;
    out->p25_s = quantile(samples, count, 0.25);
    out->median_s = quantile(samples, count, 0.5);
    double range = quantile(samples, count, 0.75) - out->p25_s;
    out->noise = 1.57 * range / (out->median_s * sqrt(count));
}

static const char *text_of(void (*add)(const BenchCase *, Text *), const BenchCase *bench,
                           Arena *arena) {
    Text text = {0};
    add(bench, &text);
    const char *copy = arena_string(arena, text_string(&text));
    text_free(&text);
    return copy;
}

typedef struct Observer {
    Arena *arena;
    Observation *list; // heap
    uint32_t count, capacity;
    KeyMap by_name;
} Observer;

static uint32_t find(Observer *observer, const BenchCase *bench, uint32_t row) {
    const char *name = text_of(bench_case_name, bench, observer->arena);
    Digest key = hash_string(HASH_START, name);
    uint32_t found = keymap_find(&observer->by_name, key);
    if (found != KEYMAP_NONE) return found;
    keymap_add(&observer->by_name, key, observer->count);
    observer->list =
        mem_grow(observer->list, &observer->capacity, observer->count + 1, sizeof *observer->list);
    observer->list[observer->count] =
        (Observation){.bench = *bench,
                      .row = row,
                      .name = name,
                      .shape = text_of(bench_case_shape, bench, observer->arena)};
    return observer->count++;
}

static bool read_rows(const RecordFile *file, Observer *observer, Sample *samples, Err *err) {
    for (uint32_t row = 0; row < file->row_count; row++) {
        BenchCase bench;
        if (!bench_case_read(file, row, observer->arena, &bench, err)) return false;
        samples[row] = (Sample){find(observer, &bench, row), file->rows[row].value * 1e-6}; // us
    }
    return true;
}

bool observe_records(const RecordFile *file, Arena *arena, Observation **out, uint32_t *out_count,
                     Err *err) {
    Observer observer = {.arena = arena};
    Sample *samples = mem_alloc(file->row_count, sizeof *samples);
    bool done = read_rows(file, &observer, samples, err);
    if (done) {
        qsort(samples, file->row_count, sizeof *samples, compare_samples);
        for (uint32_t first = 0, end = 0; first < file->row_count; first = end) {
            uint32_t which = samples[first].observation;
            while (end < file->row_count && samples[end].observation == which) end++;
            summarise(&samples[first], end - first, &observer.list[which]);
        }
        *out = arena_copy(arena, observer.list, observer.count, sizeof *observer.list);
        *out_count = observer.count;
    }
    keymap_free(&observer.by_name);
    mem_free(observer.list);
    mem_free(samples);
    return done;
}

// ---- Of which machine

// The name of what a GPU is in: the template that the last part of its own name is of.
static const char *node_of(const Fabric *fabric, uint32_t rank, Arena *arena) {
    Text text = {0};
    fabric_vertex_name(fabric, fabric_gpu(fabric, fabric_live_gpu(fabric, rank)), &text);
    char *name = arena_string(arena, text_string(&text)), *dot = strrchr(name, '.');
    *(dot != NULL ? dot : name) = '\0';
    text_free(&text);
    return name;
}

static uint32_t count_nodes(const Fabric *fabric, uint32_t ranks) {
    const char *nodes[BENCH_RANKS_MAX];
    uint32_t count = 0;
    Arena arena = {0};
    for (uint32_t rank = 0; rank < ranks; rank++) {
        const char *node = node_of(fabric, rank, &arena);
        uint32_t i = 0;
        while (i < count && strcmp(nodes[i], node) != 0) i++;
        if (i == count) nodes[count++] = node;
    }
    arena_free(&arena);
    return count;
}

static bool wrong(const RecordFile *file, uint32_t row, const char *column, const char *expected,
                  Err *err) {
    char quote[TEXT_QUOTE_MAX];
    return err_set(err, "%s:%u: %s: expected %s, found %s", file->name, file->rows[row].line,
                   column, expected, text_quote(record_cell(file, row, column), quote));
}

static bool check_ranks(const RecordFile *file, const Observation *one, const Fabric *fabric,
                        Err *err) {
    char expected[128];
    uint32_t gpus = fabric_live_gpu_count(fabric), ranks = one->bench.ranks;
    if (ranks > gpus) {
        snprintf(expected, sizeof expected, "at most the %u GPUs of the machine", gpus);
        return wrong(file, one->row, "n_gpus", expected, err);
    }
    uint32_t nodes = count_nodes(fabric, ranks);
    if (nodes == one->bench.nodes) return true;
    snprintf(expected, sizeof expected,
             "%u, the nodes that the first %u GPUs of the machine are on", nodes, ranks);
    return wrong(file, one->row, "n_nodes", expected, err);
}

bool observe_is_device(const DeviceCatalogue *catalogue, const Device *device, const char *name) {
    const Device *found = device_find(catalogue, name);
    return found != NULL && strcmp(found->name, device->name) == 0;
}

bool observe_check(const RecordFile *file, const Observation *list, uint32_t count,
                   const Predictor *predictor, const DeviceCatalogue *catalogue, Err *err) {
    const Device *device = predictor->model.device;
    for (uint32_t i = 0; i < count; i++) {
        const char *found = record_cell(file, list[i].row, "gpu");
        if (!observe_is_device(catalogue, device, found))
            return wrong(file, list[i].row, "gpu", device->name, err);
        if (bench_case_communicates(list[i].bench.op) &&
            !check_ranks(file, &list[i], predictor->fabric, err))
            return false;
    }
    return true;
}

// ---- For a fit

static uint64_t size_of(const BenchCase *bench) {
    return bench->op == BENCH_GEMM ? bench->m : bench->bytes;
}

// No efficiency is above 1, so that a kernel below its bound would only bend the others.
static const char *unknown_of(const ObservePredictor *from, const Observation *observation,
                              const CalibrateItem *item, Arena *arena) {
    const Device *device = from->predictor.model.device;
    const char *why = predict_unknown(device, &observation->bench, arena);
    if (why != NULL || bench_case_communicates(observation->bench.op)) return why;
    if (item->measured_s * (1 + item->noise) >= item->bound_s) return NULL;
    return arena_printf(arena,
                        "faster than the nominal rates of %s allow: from a cache, or its rates "
                        "are higher",
                        device->name);
}

bool observe_items(const ObservePredictor *from, uint32_t count, ObserveStatistic statistic,
                   Arena *arena, CalibrateItem *out, Err *err) {
    for (uint32_t i = 0; i < count; i++) {
        const Observation *observation = &from->observations[i];
        Prediction prediction;
        if (!predict_case(&from->predictor, &observation->bench, &prediction, err))
            return err_prefix(err, "%s", observation->name);
        out[i] = (CalibrateItem){.name = observation->name,
                                 .shape = observation->shape,
                                 .size = size_of(&observation->bench),
                                 .unit = observation->bench.op == BENCH_GEMM, // rows, or bytes
                                 .samples = observation->samples,
                                 .measured_s = observe_value_s(observation, statistic),
                                 .noise = observation->noise,
                                 .bound_s = prediction.bound_s,
                                 .prior_s = prediction.time_s};
        out[i].unknown = unknown_of(from, observation, &out[i], arena);
    }
    return true;
}

bool observe_predict(void *context, const Calib *calib, const uint32_t *items, uint32_t count,
                     double *out_s, Err *err) {
    const ObservePredictor *from = context;
    Predictor predictor = from->predictor;
    predictor.model.calib = calib;
    for (uint32_t i = 0; i < count; i++) {
        const Observation *observation = &from->observations[items[i]];
        Prediction prediction;
        if (!predict_case(&predictor, &observation->bench, &prediction, err))
            return err_prefix(err, "%s", observation->name);
        out_s[i] = prediction.time_s;
    }
    return true;
}
