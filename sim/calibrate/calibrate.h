// Fits the constants of the price model to observations, and says how far to trust them.
#ifndef SIM_CALIBRATE_CALIBRATE_H
#define SIM_CALIBRATE_CALIBRATE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/cost/calib.h"
#include "model/machine/fabric.h"
#include "sim/calibrate/observe.h"
#include "sim/calibrate/solve.h"

typedef struct CalibrateInput {
    const Fabric *fabric; // NULL: kernels alone
    const Device *device;
    const Calib *prior;
    const Observation *observations; // those that are fitted first, then those that are held out
    uint32_t fitted, count;
    ObserveStatistic statistic;
    double least_s; // cases whose bound is smaller are predicted, not fitted and not judged
    uint64_t seed;
} CalibrateInput;

// A constant that some fitted case depends on. One that the data cannot tell keeps its prior.
typedef struct CalibrateParam {
    CalibParam param;
    double prior, value, low, high; // [low, high]: 95 %, of an identified one
    bool is_identified;
} CalibrateParam;

// What is said of one observation; a time of 0: not predicted that way.
typedef struct CalibrateCase {
    double measured_s, bound_s;
    double prior_s, predicted_s; // under the constants as they were, and as fitted
    double without_size_s;       // fitted to cases of other sizes only
    double without_shape_s;      // fitted to cases of other shapes only
    bool is_fitted, is_small;    // is_small: its bound is below least_s
} CalibrateCase;

// Relative errors of some cases, predicted over measured, less 1.
typedef struct CalibrateErrors {
    uint32_t count;
    double mean, p90, worst; // of their size
    double bias;             // mean of the error itself
} CalibrateErrors;

// Freed by calibrate_free. A zeroed result is empty.
typedef struct CalibrateResult {
    Arena arena;
    CalibrateParam params[SOLVE_PARAMETERS_MAX];
    uint32_t param_count;
    uint32_t identified[SOLVE_PARAMETERS_MAX]; // positions in params, in the order of correlation
    uint32_t identified_count;
    double correlation[SOLVE_PARAMETERS_MAX * SOLVE_PARAMETERS_MAX]; // of identified ones
    CalibrateCase *cases;                                            // [count]
    CalibrateErrors prior, fitted, without_size, without_shape;      // of fitted cases
    CalibrateErrors held_out, held_out_prior;                        // of cases held out
    double noise;           // mean of the observations' own over all judged cases
    double chi2_per_degree; // of SolveResult
    uint32_t outliers, starts, agreed;
    Calib calib; // the prior with the fitted values; borrows from the prior, except for sources
} CalibrateResult;

// Refused: nothing to fit, a case that cannot be predicted (by name), and no constant that the data
// tell.
bool calibrate_run(const CalibrateInput *input, CalibrateResult *out, Err *err);
void calibrate_free(CalibrateResult *result);

#endif
