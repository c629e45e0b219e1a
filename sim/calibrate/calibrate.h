// Fits the constants of the price model to observations, and says how far to trust them.
#ifndef SIM_CALIBRATE_CALIBRATE_H
#define SIM_CALIBRATE_CALIBRATE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/text.h"
#include "model/cost/calib.h"
#include "sim/calibrate/solve.h"

// One thing that was measured: a case of a benchmark, an operation of a timeline.
typedef struct CalibrateItem {
    const char *name;
    const char *shape; // what cases have in common that differ in size alone
    uint64_t size;
    uint32_t unit; // of the size: sizes of different units are not alike
    uint32_t samples;
    double measured_s;
    double noise;        // half of the 95 % interval of the samples, as a part of the value; 0 of
                         // one sample, which tells none
    double bound_s;      // what links or roofline take at least; 0: not known
    double prior_s;      // what is predicted under the prior
    const char *unknown; // why it cannot be predicted; NULL when it can
} CalibrateItem;

// Times of some items (by position) under constants. False when one cannot be predicted.
typedef bool CalibratePredict(void *context, const Calib *calib, const uint32_t *items,
                              uint32_t count, double *out_s, Err *err);

typedef struct CalibrateInput {
    const CalibrateItem *items; // those that are fitted first, then those that are held out
    uint32_t fitted, count;
    CalibratePredict *predict;
    void *context;
    const Calib *prior;
    const char *machine;  // by its name, for what is said
    const char *scale_up; // the classes of links that constants of NVLink are of, where they are
                          // not NVLink; "" or NULL: it is
    double least_s;       // items whose bound (or time, where no bound is known) is smaller are
                    // predicted, not fitted and not judged; those that cannot be predicted are
                    // left out
    uint64_t seed;
} CalibrateInput;

// A constant that some fitted case depends on. One that the data cannot tell keeps its prior.
typedef struct CalibrateParam {
    CalibParam param;
    double prior, value, low, high; // [low, high]: 95 %, of an identified one
    bool is_identified;
} CalibrateParam;

#define CALIBRATE_PART_LIST(X)                                                                     \
    X(FITTED, "fitted") X(HELD_OUT, "held out") X(SMALL, "small") X(LEFT_OUT, "left out")
typedef enum CalibratePart {
#define X(name, text) CALIBRATE_##name,
    CALIBRATE_PART_LIST(X)
#undef X
        CALIBRATE_PART_COUNT
} CalibratePart;
extern const char *const calibrate_part_names[CALIBRATE_PART_COUNT];

// What is said of one item; a time of 0: not predicted that way.
typedef struct CalibrateCase {
    double measured_s, bound_s;
    double prior_s, predicted_s; // under the constants as they were, and as fitted
    double without_size_s;       // fitted to cases of other sizes only
    double without_shape_s;      // fitted to cases of other shapes only
    CalibratePart part;          // SMALL: its bound is below least_s; LEFT_OUT: it is unknown
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
    double noise;           // mean of the items' own over all judged ones of several samples
    uint32_t repeated;      // the number of these
    uint32_t too_fast;      // judged items that took less than their bound
    double chi2_per_degree; // of SolveResult
    uint32_t outliers, starts, agreed;
    Calib calib; // the prior with the fitted values; borrows from the prior, except for sources
} CalibrateResult;

// Refused: nothing to fit, more than 1024 items, a case whose prediction fails (by name), and no
// constant that the data tell (with the number of cases that are too fast, when there are some).
bool calibrate_run(const CalibrateInput *input, CalibrateResult *out, Err *err);
// How many judged cases took less than their bound. Added to `out`.
void calibrate_tell_too_fast(const CalibrateInput *input, uint32_t too_fast, uint32_t judged,
                             Text *out);
void calibrate_free(CalibrateResult *result);

#endif
