// Robust nonlinear least squares in the logarithm of positive parameters (of bounded ones, of the
// ratio to what is left below the bound), through GSL (which sees solve.c alone).
#ifndef SIM_CALIBRATE_SOLVE_H
#define SIM_CALIBRATE_SOLVE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"

#define SOLVE_PARAMETERS_MAX   16
#define SOLVE_OBSERVATIONS_MAX 4096

// The error of each observation (a relative one: predicted over measured, less 1) when the
// parameters have these values. False when something cannot be predicted.
typedef bool SolveErrors(void *context, const double *values, double *out, Err *err);

typedef struct SolveProblem {
    uint32_t parameters, observations; // at least one of each
    const double *start;               // [parameters] above 0
    const double *most;                // [parameters] what they stay below; 0: nothing; NULL: none
    const double *spread;              // [parameters] at least 1: how many times larger or smaller
                                       // other starts may be
    const double *sigma;               // [observations] above 0: what the error is by noise alone
    SolveErrors *errors;
    void *context;
    uint32_t starts; // tried: `start` itself, and others by `seed`
    uint64_t seed;
} SolveProblem;

// [low, high] is the 95 % interval under normal errors; where the errors that are left exceed sigma
// it is as wide as they say, outliers apart.
// correlation: of parameters i and j at [i * parameters + j], of their logarithms or ratios. Where
// the data do not say anything of a parameter its interval is 0 to infinity.
typedef struct SolveResult {
    double values[SOLVE_PARAMETERS_MAX], low[SOLVE_PARAMETERS_MAX], high[SOLVE_PARAMETERS_MAX];
    double correlation[SOLVE_PARAMETERS_MAX * SOLVE_PARAMETERS_MAX];
    double chi2_per_degree; // of the squares of error over sigma; 0 without a degree of freedom
    uint32_t outliers;      // observations of less than half weight
    uint32_t agreed;        // starts that ended within 1 % of the best values
} SolveResult;

// Minimises the sum of Huber's function of error over sigma: of quadratic errors up to 1.345 sigma,
// of linear ones beyond (P. Huber, "Robust estimation of a location parameter", Ann. Math. Statist.
// 35 (1964)), by reweighting.
bool solve_fit(const SolveProblem *problem, SolveResult *out, Err *err);

#endif
