// What a case of a benchmark takes on a machine by the price model: the same simulation and the
// same prices that rank plans.
#ifndef SIM_CALIBRATE_PREDICT_H
#define SIM_CALIBRATE_PREDICT_H

#include <stdbool.h>

#include "model/base/err.h"
#include "model/cost/price.h"
#include "model/machine/fabric.h"
#include "model/report/bench_case.h"

// Rank r is on live GPU r. Refused: a case of more ranks than that.
typedef struct Predictor {
    const Fabric *fabric; // NULL: kernels alone
    PriceModel model;
} Predictor;

bool predict_case(const Predictor *predictor, const BenchCase *bench, double *out_s, Err *err);

// The least that the links, or the roofline, take of it at nominal rates; by the same model.
bool predict_bound(const Predictor *predictor, const BenchCase *bench, double *out_s, Err *err);

#endif
