// Samples of a record file, case by case: what a fit compares predictions with.
#ifndef SIM_CALIBRATE_OBSERVE_H
#define SIM_CALIBRATE_OBSERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/machine/device.h"
#include "model/report/bench_case.h"
#include "model/report/record.h"
#include "sim/calibrate/calibrate.h"
#include "sim/calibrate/predict.h"

// What stands for the samples of a case. On a machine that does other things too the minimum
// repeats best.
#define OBSERVE_STATISTIC_LIST(X) X(MIN, "min") X(P25, "p25") X(MEDIAN, "median")
typedef enum ObserveStatistic {
#define X(name, text) OBSERVE_##name,
    OBSERVE_STATISTIC_LIST(X)
#undef X
        OBSERVE_STATISTIC_COUNT
} ObserveStatistic;
extern const char *const observe_statistic_names[OBSERVE_STATISTIC_COUNT];

typedef struct Observation {
    BenchCase bench;
    uint32_t row;             // of the file, the first of the case
    const char *name, *shape; // bench_case_name and bench_case_shape
    uint32_t samples;
    double min_s, p25_s, median_s;
    // Half width of the 95 % interval of the median, as a part of it: 1.57 interquartile ranges
    // over sqrt(samples) (R. McGill, J. Tukey, W. Larsen, "Variations of box plots", Am. Stat. 32
    // (1978)).
    double noise;
} Observation;

double observe_value_s(const Observation *observation, ObserveStatistic statistic);

// All cases of a file in the order in which they come first. The arena's.
bool observe_records(const RecordFile *file, Arena *arena, Observation **out, uint32_t *out_count,
                     Err *err);

// Whether they can be of this machine. Refused, with file, line and column: more ranks than it has
// GPUs, ranks that were on more or fewer nodes than its first GPUs are (a node: what holds GPUs and
// has no smaller part that does), another device.
bool observe_check(const RecordFile *file, const Observation *list, uint32_t count,
                   const Predictor *predictor, const DeviceCatalogue *catalogue, Err *err);

// Whether a device is meant by a name of it.
bool observe_is_device(const DeviceCatalogue *catalogue, const Device *device, const char *name);

// The same as items of a fit, in order: what stands for the samples, what the price model says by
// the constants of *from, the prior, and its bound. Kernels that it does not know (predict.h), or
// that were faster than the device can be at its nominal rates, are marked, with the reason. *from
// is the context of observe_predict; texts are the arena's.
typedef struct ObservePredictor {
    Predictor predictor; // its constants are those of each call
    const Observation *observations;
} ObservePredictor;
bool observe_items(const ObservePredictor *from, uint32_t count, ObserveStatistic statistic,
                   Arena *arena, CalibrateItem *out, Err *err);
bool observe_predict(void *context, const Calib *calib, const uint32_t *items, uint32_t count,
                     double *out_s, Err *err); // CalibratePredict

#endif
