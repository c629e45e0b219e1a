// Groups the rows of a record file by their case.
//
// Invariant: every row belongs to one observation; the order of rows changes no figure of one.
#include "sim/calibrate/observe.h"

#include <math.h>
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

static uint32_t find(Observer *observer, const BenchCase *bench) {
    const char *name = text_of(bench_case_name, bench, observer->arena);
    Digest key = hash_string(HASH_START, name);
    uint32_t found = keymap_find(&observer->by_name, key);
    if (found != KEYMAP_NONE) return found;
    keymap_add(&observer->by_name, key, observer->count);
    observer->list =
        mem_grow(observer->list, &observer->capacity, observer->count + 1, sizeof *observer->list);
    observer->list[observer->count] = (Observation){
        .bench = *bench, .name = name, .shape = text_of(bench_case_shape, bench, observer->arena)};
    return observer->count++;
}

static bool read_rows(const RecordFile *file, Observer *observer, Sample *samples, Err *err) {
    for (uint32_t row = 0; row < file->row_count; row++) {
        BenchCase bench;
        if (!bench_case_read(file, row, observer->arena, &bench, err)) return false;
        samples[row] = (Sample){find(observer, &bench), file->rows[row].value * 1e-6}; // us
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

// ---- For a fit

static uint64_t size_of(const BenchCase *bench) {
    return bench->op == BENCH_GEMM ? bench->m : bench->bytes;
}

bool observe_items(const ObservePredictor *from, uint32_t count, ObserveStatistic statistic,
                   CalibrateItem *out, Err *err) {
    for (uint32_t i = 0; i < count; i++) {
        const Observation *observation = &from->observations[i];
        out[i] = (CalibrateItem){.name = observation->name,
                                 .shape = observation->shape,
                                 .size = size_of(&observation->bench),
                                 .samples = observation->samples,
                                 .measured_s = observe_value_s(observation, statistic),
                                 .noise = observation->noise};
        if (!predict_bound(&from->predictor, &observation->bench, &out[i].bound_s, err))
            return err_prefix(err, "%s", observation->name);
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
        if (!predict_case(&predictor, &observation->bench, &out_s[i], err))
            return err_prefix(err, "%s", observation->name);
    }
    return true;
}
