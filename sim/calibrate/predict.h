// What a case of a benchmark takes on a machine by the price model: the same simulation and the
// same prices that rank plans.
#ifndef SIM_CALIBRATE_PREDICT_H
#define SIM_CALIBRATE_PREDICT_H

#include <stdbool.h>

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/cost/price.h"
#include "model/machine/fabric.h"
#include "model/report/bench_case.h"

// Rank r is on live GPU r.
typedef struct Predictor {
    const Fabric *fabric; // NULL: kernels alone
    PriceModel model;
} Predictor;

// bound_s is the least that the links, or the roofline, take of it at nominal rates.
typedef struct Prediction {
    double time_s, bound_s;
} Prediction;

// Refused: a case of more ranks than there are live GPUs.
bool predict_case(const Predictor *predictor, const BenchCase *bench, Prediction *out, Err *err);

// Why no price is known of a kernel on the device; NULL: it is. Of communication always NULL.
const char *predict_unknown(const Device *device, const BenchCase *bench, Arena *arena);

#endif
