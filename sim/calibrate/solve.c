// Fits by gsl_multifit_nlinear (trust region, Levenberg-Marquardt), again and again with new
// weights.
//
// Invariant: the best of all starts is the result; a start that fails is left out, and only when
// all do the fit fails. Method of the weights: iteratively reweighted least squares, P. Holland and
// R. Welsch, "Robust regression using iteratively reweighted least-squares", Commun. Statist. A 6
// (1977) 813.
#include "sim/calibrate/solve.h"

#include <float.h>
#include <gsl/gsl_blas.h>
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_multifit_nlinear.h>
#include <math.h>
#include <stdlib.h>

#include "model/base/mem.h"
#include "model/base/num.h"
#include "model/base/rng.h"

#define HUBER      1.345 // 95 % efficiency under normal errors
#define ROUNDS     12    // of new weights
#define STEPS      60    // of one fit
#define NORMAL_95  1.96
#define SCALE_MOST 1e6    // of errors over sigma: the model is of something else
#define NORMAL_MAD 0.6745 // the median of the size of a normal error of deviation 1
#define ORIGIN     64.0 // of logarithms: GSL steps by a part of a coordinate, and near 0 by nothing
#define STEP_SMALL 1.6e-5 // of a coordinate, for derivatives: whole picoseconds must be seen
#define CLOSE      1e-9
#define NEAR_MOST  0.999 // where a start at the bound begins
#define FAR        50.0  // of a logarithm: nothing is known

// One fit: what GSL's callbacks see.
typedef struct Fit {
    const SolveProblem *problem;
    double *weights; // [observations]
    double *errors;  // [observations]
    Err *err;
} Fit;

static double most_of(const SolveProblem *problem, uint32_t i) {
    return problem->most == NULL ? 0 : problem->most[i];
}

// A coordinate is ORIGIN and the logarithm of a value, or of value / (most - value).
static double value_of(const SolveProblem *problem, uint32_t i, double coordinate) {
    double most = most_of(problem, i), logarithm = coordinate - ORIGIN;
    return most > 0 ? most / (1 + num_exp(-logarithm)) : num_exp(logarithm);
}

static double coordinate_of(const SolveProblem *problem, uint32_t i, double value) {
    double most = most_of(problem, i);
    if (most > 0 && value > most * NEAR_MOST) value = most * NEAR_MOST;
    return ORIGIN + num_log(most > 0 ? value / (most - value) : value);
}

static bool find_errors(const Fit *fit, const gsl_vector *at) {
    double values[SOLVE_PARAMETERS_MAX];
    for (uint32_t i = 0; i < fit->problem->parameters; i++)
        values[i] = value_of(fit->problem, i, gsl_vector_get(at, i));
    return fit->problem->errors(fit->problem->context, values, fit->errors, fit->err);
}

static int residuals(const gsl_vector *at, void *data, gsl_vector *out) {
    const Fit *fit = data;
    if (!find_errors(fit, at)) return GSL_EFAILED;
    for (uint32_t i = 0; i < fit->problem->observations; i++)
        gsl_vector_set(out, i, fit->errors[i] / fit->problem->sigma[i] * sqrt(fit->weights[i]));
    return GSL_SUCCESS;
}

static double huber_weight(double ratio) {
    double size = fabs(ratio);
    return size <= HUBER ? 1 : HUBER / size;
}

static double huber_cost(const Fit *fit) {
    double sum = 0;
    for (uint32_t i = 0; i < fit->problem->observations; i++) {
        double size = fabs(fit->errors[i] / fit->problem->sigma[i]);
        sum += size <= HUBER ? size * size / 2 : HUBER * (size - HUBER / 2);
    }
    return sum;
}

static gsl_multifit_nlinear_fdf system_of(Fit *fit) {
    return (gsl_multifit_nlinear_fdf){.f = residuals,
                                      .n = fit->problem->observations,
                                      .p = fit->problem->parameters,
                                      .params = fit};
}

// One minimum with fixed weights, from where `at` is, which it moves.
static bool minimise(Fit *fit, gsl_multifit_nlinear_workspace *work, gsl_vector *at) {
    gsl_multifit_nlinear_fdf system = system_of(fit);
    int info;
    if (gsl_multifit_nlinear_init(at, &system, work) != GSL_SUCCESS) return false;
    int status = gsl_multifit_nlinear_driver(STEPS, CLOSE, CLOSE, CLOSE, NULL, NULL, &info, work);
    if (status != GSL_SUCCESS && status != GSL_EMAXITER && status != GSL_ENOPROG) return false;
    gsl_vector_memcpy(at, gsl_multifit_nlinear_position(work));
    return find_errors(fit, at);
}

static bool reweight(Fit *fit) {
    double most = 0;
    for (uint32_t i = 0; i < fit->problem->observations; i++) {
        double weight = huber_weight(fit->errors[i] / fit->problem->sigma[i]);
        double change = fabs(weight - fit->weights[i]);
        if (change > most) most = change;
        fit->weights[i] = weight;
    }
    return most > 1e-3;
}

static bool fit_from(Fit *fit, gsl_multifit_nlinear_workspace *work, gsl_vector *at) {
    for (uint32_t i = 0; i < fit->problem->observations; i++) fit->weights[i] = 1;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        if (!minimise(fit, work, at)) return false;
        if (!reweight(fit)) break;
    }
    return true;
}

// ---- What the best fit says

// By how much errors are larger than sigma: the median of their sizes over that of normal ones.
// The smallest are left out, one for each parameter but one, since as many can be fitted away.
static double scale_of(const Fit *fit) {
    uint32_t n = fit->problem->observations, first = fit->problem->parameters - 1;
    double *sizes = mem_alloc(n, sizeof *sizes);
    for (uint32_t i = 0; i < n; i++) sizes[i] = fabs(fit->errors[i] / fit->problem->sigma[i]);
    qsort(sizes, n, sizeof *sizes, num_compare_doubles);
    double middle = (sizes[(first + n - 1) / 2] + sizes[(first + n) / 2]) / 2;
    mem_free(sizes);
    return middle / NORMAL_MAD;
}

static double normal_within(double size) {
    return 2 * gsl_cdf_gaussian_P(size, 1) - 1;
}

// What multiplies the covariance of least squares under errors of sigma, J^T J inverse, to give
// that of Huber's estimate: the mean square of errors cut at HUBER, over the square of the part of
// them within HUBER (P. Huber, "Robust regression: asymptotics, conjectures and Monte Carlo", Ann.
// Statist. 1 (1973) 799). Where errors are larger than sigma few are within: their part is then
// that within HUBER scales, brought to HUBER as normal errors are. Never below 1: errors that
// happen to be small do not make the noise smaller.
static double excess_of(const Fit *fit) {
    uint32_t n = fit->problem->observations, within = 0;
    if (n <= fit->problem->parameters) return 1;
    double scale = fmin(fmax(scale_of(fit), 1), SCALE_MOST), squares = 0;
    for (uint32_t i = 0; i < n; i++) {
        double size = fabs(fit->errors[i] / fit->problem->sigma[i]);
        squares += size < HUBER ? size * size : HUBER * HUBER;
        if (size <= HUBER * scale) within++;
    }
    double part = (double)within / n * normal_within(HUBER / scale) / normal_within(HUBER);
    return fmax(squares / (n - fit->problem->parameters) / (part * part), 1);
}

static void without_knowledge(const SolveProblem *problem, SolveResult *out) {
    for (uint32_t i = 0; i < problem->parameters; i++) {
        out->low[i] = 0;
        out->high[i] = HUGE_VAL;
    }
}

// Half of a 95 % interval in deviations by sigma alone. What exceeds sigma is known from the errors
// that are left only, as Student's distribution has it.
static double deviations_95(uint32_t degrees, double excess) {
    double student = degrees > 0 ? gsl_cdf_tdist_Pinv(0.975, degrees) : 0;
    return sqrt(NORMAL_95 * NORMAL_95 + student * student * (excess - 1));
}

// Of the parameters `told`, count of them, from their covariance.
static void take_intervals(const Fit *fit, const gsl_matrix *covariance, const uint32_t *told,
                           const gsl_vector *best, double excess, SolveResult *out) {
    const SolveProblem *problem = fit->problem;
    uint32_t n = problem->parameters;
    double deviations = deviations_95(problem->observations - problem->parameters, excess);
    for (uint32_t a = 0; a < covariance->size1; a++) {
        uint32_t i = told[a];
        double deviation = sqrt(gsl_matrix_get(covariance, a, a));
        double middle = gsl_vector_get(best, i), half = deviations * deviation;
        out->low[i] = value_of(problem, i, middle - half);
        out->high[i] = half < FAR ? value_of(problem, i, middle + half) : HUGE_VAL;
        for (uint32_t b = 0; b < covariance->size1; b++) {
            double both = sqrt(gsl_matrix_get(covariance, a, a) * gsl_matrix_get(covariance, b, b));
            out->correlation[i * n + told[b]] =
                both > 0 ? gsl_matrix_get(covariance, a, b) / both : 0;
        }
    }
}

static void take_quality(const Fit *fit, SolveResult *out) {
    const SolveProblem *problem = fit->problem;
    double sum = 0;
    for (uint32_t i = 0; i < problem->observations; i++) {
        double ratio = fit->errors[i] / problem->sigma[i];
        sum += fit->weights[i] * ratio * ratio;
        if (fit->weights[i] < 0.5) out->outliers++;
    }
    if (problem->observations > problem->parameters)
        out->chi2_per_degree = sum / (problem->observations - problem->parameters);
}

// The parameters of which the errors say something at all: a deviation below FAR by themselves.
static uint32_t list_told(gsl_matrix *jacobian, uint32_t *told) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < jacobian->size2; i++) {
        gsl_vector_view column = gsl_matrix_column(jacobian, i);
        if (gsl_blas_dnrm2(&column.vector) > 1 / FAR) told[count++] = i;
    }
    return count;
}

// The inverse of J^T J of these columns. False when it has none.
static bool invert(gsl_matrix *jacobian, const uint32_t *told, gsl_matrix *out) {
    gsl_matrix *own = gsl_matrix_alloc(jacobian->size1, out->size1);
    for (uint32_t a = 0; a < out->size1; a++) {
        gsl_vector_view column = gsl_matrix_column(jacobian, told[a]);
        gsl_matrix_set_col(own, a, &column.vector);
    }
    bool known = gsl_multifit_nlinear_covar(own, 0, out) == GSL_SUCCESS;
    for (uint32_t a = 0; known && a < out->size1; a++) {
        double variance = gsl_matrix_get(out, a, a);
        known = isfinite(variance) && variance > 0;
    }
    gsl_matrix_free(own);
    return known;
}

// Derivatives of errors over sigma at the best values, all of weight 1.
static gsl_matrix *find_jacobian(Fit *fit, gsl_multifit_nlinear_workspace *work, gsl_vector *best) {
    for (uint32_t i = 0; i < fit->problem->observations; i++) fit->weights[i] = 1;
    gsl_multifit_nlinear_fdf system = system_of(fit);
    bool done = gsl_multifit_nlinear_init(best, &system, work) == GSL_SUCCESS;
    return done ? gsl_multifit_nlinear_jac(work) : NULL;
}

// Nothing is known of a parameter that moves no error, nor of any when only some of them together
// are told.
static void take_covariance(Fit *fit, gsl_multifit_nlinear_workspace *work, SolveResult *out) {
    uint32_t told[SOLVE_PARAMETERS_MAX];
    double excess = excess_of(fit);
    gsl_vector *best = gsl_vector_alloc(fit->problem->parameters);
    gsl_vector_memcpy(best, gsl_multifit_nlinear_position(work));
    gsl_matrix *jacobian = find_jacobian(fit, work, best);
    uint32_t count = jacobian == NULL ? 0 : list_told(jacobian, told);
    without_knowledge(fit->problem, out);
    if (count > 0) {
        gsl_matrix *covariance = gsl_matrix_alloc(count, count);
        if (invert(jacobian, told, covariance))
            take_intervals(fit, covariance, told, best, excess, out);
        gsl_matrix_free(covariance);
    }
    gsl_vector_free(best);
}

static bool is_alike(const SolveProblem *problem, const gsl_vector *a, const gsl_vector *b) {
    for (uint32_t i = 0; i < problem->parameters; i++)
        if (fabs(gsl_vector_get(a, i) - gsl_vector_get(b, i)) > 0.01) return false;
    return true;
}

static void set_start(const SolveProblem *problem, uint32_t number, Rng *rng, gsl_vector *out) {
    for (uint32_t i = 0; i < problem->parameters; i++) {
        double away = number == 0 ? 0 : (2 * rng_unit(rng) - 1) * num_log(problem->spread[i]);
        gsl_vector_set(out, i, coordinate_of(problem, i, problem->start[i]) + away);
    }
}

// All starts, then the best one once more, so that the workspace and the weights are its own.
static bool fit_all(Fit *fit, gsl_multifit_nlinear_workspace *work, SolveResult *out) {
    const SolveProblem *problem = fit->problem;
    uint32_t n = problem->parameters, starts = problem->starts > 0 ? problem->starts : 1;
    gsl_matrix *ends = gsl_matrix_alloc(starts, n);
    gsl_vector *at = gsl_vector_alloc(n), *best = gsl_vector_alloc(n);
    bool *ended = mem_alloc(starts, sizeof *ended);
    double least = HUGE_VAL;
    Rng rng;
    rng_seed(&rng, problem->seed);
    for (uint32_t s = 0; s < starts; s++) {
        set_start(problem, s, &rng, at);
        ended[s] = fit_from(fit, work, at);
        if (!ended[s]) continue;
        gsl_matrix_set_row(ends, s, at);
        if (huber_cost(fit) >= least) continue;
        least = huber_cost(fit);
        gsl_vector_memcpy(best, at);
    }
    bool done = least < HUGE_VAL;
    for (uint32_t s = 0; done && s < starts; s++) {
        gsl_vector_view row = gsl_matrix_row(ends, s);
        if (ended[s] && is_alike(problem, &row.vector, best)) out->agreed++;
    }
    done = done && fit_from(fit, work, best);
    for (uint32_t i = 0; done && i < n; i++)
        out->values[i] = value_of(problem, i, gsl_vector_get(best, i));
    mem_free(ended);
    gsl_vector_free(best);
    gsl_vector_free(at);
    gsl_matrix_free(ends);
    return done;
}

static bool check(const SolveProblem *problem, Err *err) {
    if (problem->parameters == 0 || problem->parameters > SOLVE_PARAMETERS_MAX)
        return err_set(err, "expected 1 to %d parameters, found %u", SOLVE_PARAMETERS_MAX,
                       problem->parameters);
    if (problem->observations < problem->parameters ||
        problem->observations > SOLVE_OBSERVATIONS_MAX)
        return err_set(err, "expected %u to %d observations, one for each parameter, found %u",
                       problem->parameters, SOLVE_OBSERVATIONS_MAX, problem->observations);
    return true;
}

bool solve_fit(const SolveProblem *problem, SolveResult *out, Err *err) {
    if (!check(problem, err)) return false;
    gsl_error_handler_t *handler = gsl_set_error_handler_off();
    gsl_multifit_nlinear_parameters how = gsl_multifit_nlinear_default_parameters();
    how.h_df = STEP_SMALL;
    gsl_multifit_nlinear_workspace *work = gsl_multifit_nlinear_alloc(
        gsl_multifit_nlinear_trust, &how, problem->observations, problem->parameters);
    Err failed = {0};
    Fit fit = {.problem = problem,
               .weights = mem_alloc(problem->observations, sizeof *fit.weights),
               .errors = mem_alloc(problem->observations, sizeof *fit.errors),
               .err = &failed};
    SolveResult result = {0};
    bool done = fit_all(&fit, work, &result);
    if (done) {
        take_quality(&fit, &result);
        take_covariance(&fit, work, &result);
        *out = result;
    } else {
        err_set(err, "%s", failed.text[0] != '\0' ? failed.text : "no fit found from any start");
    }
    mem_free(fit.weights);
    mem_free(fit.errors);
    gsl_multifit_nlinear_free(work);
    gsl_set_error_handler(handler);
    return done;
}
