// Which constants the data tell, their values, and errors on what was not fitted.
//
// A constant takes part when some case depends on it. After each fit the constant of which least is
// known stays at its prior, and the rest is fitted again, until the 95 % interval of each is
// narrower than the interval that its prior had, or lies beside it. Errors without a size, or
// without a shape, are of a fit that has not seen the case's own, in which a constant that the rest
// does not tell is at its prior again; many sizes are left out several at a time.
//
// Invariant: a case that is held out, left out, or too small, changes no value.
#include "sim/calibrate/calibrate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/base/mem.h"
#include "model/base/num.h"
#include "model/base/units.h"

#define STARTS      9
#define NOISE_LEAST 0.004 // of a sample: no clock and no machine is steadier than that
#define NUDGE       1.05  // by how much a constant is moved to see whether it matters
#define MATTERS     1e-6  // a relative change of a predicted time
#define TIME_SPREAD 100.0 // software times of machines differ that much
#define PART_SPREAD 4.0
#define TIME_START  1e-6  // s, for a time whose prior is 0
#define TIME_LEAST  1e-12 // s
#define FOLDS_MAX   24    // fits without some sizes, or some shapes
#define CASES_MAX   1024  // that a fit of some minutes simulates

const char *const calibrate_part_names[CALIBRATE_PART_COUNT] = {
#define X(name, text) text,
    CALIBRATE_PART_LIST(X)
#undef X
};

// Positions of some items; heap.
typedef struct Cases {
    uint32_t *of, count;
} Cases;

// The cases of one fit and the constants that it moves.
typedef struct Task {
    const CalibrateInput *input;
    const CalibrateResult *result;
    const uint32_t *cases; // positions of observations
    uint32_t case_count;
    const uint32_t *params; // positions in result->params
    uint32_t param_count;
} Task;

static double at_least(double least, double value) {
    return value > least ? value : least;
}

static bool predict(const CalibrateInput *input, const Calib *calib, const uint32_t *items,
                    uint32_t count, double *out_s, Err *err) {
    return input->predict(input->context, calib, items, count, out_s, err);
}

static Calib with_values(const CalibrateInput *input, const CalibrateResult *result) {
    Calib calib = *input->prior;
    for (uint32_t i = 0; i < result->param_count; i++)
        calib.values[result->params[i].param].value = result->params[i].value;
    return calib;
}

static bool errors_of(void *context, const double *values, double *out, Err *err) {
    const Task *task = context;
    Calib calib = with_values(task->input, task->result);
    for (uint32_t i = 0; i < task->param_count; i++)
        calib.values[task->result->params[task->params[i]].param].value = values[i];
    if (!predict(task->input, &calib, task->cases, task->case_count, out, err)) return false;
    for (uint32_t i = 0; i < task->case_count; i++)
        out[i] = out[i] / task->input->items[task->cases[i]].measured_s - 1;
    return true;
}

static bool solve(const Task *task, uint32_t starts, SolveResult *out, Err *err) {
    double start[SOLVE_PARAMETERS_MAX], most[SOLVE_PARAMETERS_MAX], spread[SOLVE_PARAMETERS_MAX];
    double *sigma = mem_alloc(task->case_count, sizeof *sigma);
    for (uint32_t i = 0; i < task->param_count; i++) {
        const CalibrateParam *param = &task->result->params[task->params[i]];
        start[i] = param->value > 0 ? param->value : TIME_START;
        spread[i] = calib_kind(param->param) == CALIB_IS_TIME ? TIME_SPREAD : PART_SPREAD;
        most[i] = 1; // the nominal rate; a second, which no call takes
    }
    for (uint32_t i = 0; i < task->case_count; i++)
        sigma[i] = at_least(NOISE_LEAST, task->input->items[task->cases[i]].noise);
    SolveProblem problem = {.parameters = task->param_count,
                            .observations = task->case_count,
                            .start = start,
                            .most = most,
                            .spread = spread,
                            .sigma = sigma,
                            .errors = errors_of,
                            .context = (void *)(uintptr_t)task,
                            .starts = starts,
                            .seed = task->input->seed};
    bool done = solve_fit(&problem, out, err);
    mem_free(sigma);
    return done;
}

// ---- Which constants matter

static bool does_matter(const CalibrateInput *input, const CalibrateResult *result,
                        const Cases *cases, CalibParam param, bool *out, Err *err) {
    Calib moved = *input->prior;
    CalibValue *value = &moved.values[param];
    double *times_s = mem_alloc(cases->count, sizeof *times_s);
    value->value = value->value > 0 ? value->value / NUDGE : TIME_START;
    bool done = predict(input, &moved, cases->of, cases->count, times_s, err), matters = false;
    for (uint32_t i = 0; done && i < cases->count; i++)
        if (fabs(times_s[i] / result->cases[cases->of[i]].prior_s - 1) > MATTERS) matters = true;
    mem_free(times_s);
    *out = matters;
    return done;
}

static bool find_params(const CalibrateInput *input, CalibrateResult *result, const Cases *cases,
                        Err *err) {
    for (uint32_t p = 0; p < CALIB_COUNT; p++) {
        bool matters = false;
        if (calib_kind((CalibParam)p) == CALIB_IS_PLAIN) continue;
        if (!does_matter(input, result, cases, (CalibParam)p, &matters, err)) return false;
        if (!matters) continue;
        if (result->param_count == SOLVE_PARAMETERS_MAX)
            return err_set(err, "the cases depend on more than %d constants: expected fewer kinds",
                           SOLVE_PARAMETERS_MAX);
        double value = input->prior->values[p].value;
        result->params[result->param_count++] =
            (CalibrateParam){.param = (CalibParam)p, .prior = value, .value = value};
    }
    return result->param_count > 0 || err_set(err, "no constant matters to any case");
}

// ---- Which of them the data tell

// How many times wider than the interval of the prior; infinity when nothing is known, 0 when the
// data contradict the prior.
static double width_over_prior(const CalibrateInput *input, const CalibrateParam *param, double low,
                               double high) {
    const CalibValue *prior = &input->prior->values[param->param];
    if (!(low > 0) || isinf(high)) return HUGE_VAL;
    if (low > prior->high || high < prior->low) return 0;
    double width = high / low, own = prior->low > 0 ? prior->high / prior->low : HUGE_VAL;
    return isinf(own) ? 0 : width / own;
}

// The one of which least is known, of those of which less is known than before; param_count when
// there is none. Of equal ones the last.
static uint32_t least_known(const Task *task, const SolveResult *solved) {
    uint32_t worst = task->param_count;
    double most = 1;
    for (uint32_t i = 0; i < task->param_count; i++) {
        const CalibrateParam *param = &task->result->params[task->params[i]];
        double width = width_over_prior(task->input, param, solved->low[i], solved->high[i]);
        if (width < most || (width == 1 && worst == task->param_count)) continue;
        most = width;
        worst = i;
    }
    return worst;
}

// Constants that cases tell, as positions in the result, and what they tell of them.
typedef struct Told {
    uint32_t params[SOLVE_PARAMETERS_MAX], count;
    SolveResult solved;
} Told;

static void take_solution(const Told *told, CalibrateResult *result) {
    const SolveResult *solved = &told->solved;
    for (uint32_t i = 0; i < told->count; i++) {
        CalibrateParam *param = &result->params[told->params[i]];
        param->value = solved->values[i];
        param->low = solved->low[i];
        param->high = solved->high[i];
        param->is_identified = true;
        result->identified[i] = told->params[i];
    }
    result->identified_count = told->count;
    memcpy(result->correlation, solved->correlation, sizeof result->correlation);
    result->chi2_per_degree = solved->chi2_per_degree;
    result->outliers = solved->outliers;
    result->starts = STARTS;
    result->agreed = solved->agreed;
}

static Cases list_cases(const CalibrateInput *input, const CalibrateResult *result) {
    Cases cases = {.of = mem_alloc(input->fitted, sizeof *cases.of)};
    for (uint32_t i = 0; i < input->fitted; i++)
        if (result->cases[i].part == CALIBRATE_FITTED) cases.of[cases.count++] = i;
    return cases;
}

// Fits these of the constants to the cases, and leaves those that the cases tell. The others go
// back to their prior.
static bool fit_told(const CalibrateInput *input, CalibrateResult *result, const Cases *cases,
                     Told *told, uint32_t starts, Err *err) {
    while (told->count > 0) {
        Task task = {input, result, cases->of, cases->count, told->params, told->count};
        if (!solve(&task, starts, &told->solved, err)) return false;
        uint32_t worst = least_known(&task, &told->solved);
        if (worst == told->count) return true;
        CalibrateParam *param = &result->params[told->params[worst]];
        param->value = param->prior;
        told->count--;
        memmove(&told->params[worst], &told->params[worst + 1],
                (told->count - worst) * sizeof *told->params);
    }
    return true;
}

void calibrate_tell_too_fast(const CalibrateInput *input, uint32_t too_fast, uint32_t judged,
                             Text *out) {
    text_addf(out,
              "%u of %u cases %s faster than the links of %s allow: is it the machine that was "
              "measured?",
              too_fast, judged, too_fast == 1 ? "is" : "are", input->machine);
}

static bool fit_identified(const CalibrateInput *input, CalibrateResult *result, const Cases *cases,
                           Err *err) {
    Told told = {.count = result->param_count < cases->count ? result->param_count : cases->count};
    for (uint32_t i = 0; i < told.count; i++) told.params[i] = i; // rates come before times
    if (!fit_told(input, result, cases, &told, STARTS, err)) return false;
    if (told.count == 0 && result->too_fast > 0) {
        Text why = {0};
        calibrate_tell_too_fast(input, result->too_fast, cases->count, &why);
        err_set(err, "the cases tell no constant better than it was known: %s", text_string(&why));
        text_free(&why);
        return false;
    }
    if (told.count == 0)
        return err_set(err, "the cases tell no constant better than it was known: expected more "
                            "sizes, larger ones or less noise");
    take_solution(&told, result);
    return true;
}

// ---- Errors of what was not fitted

// What cases have in common that are left out together.
typedef enum Left { LEFT_SIZE, LEFT_SHAPE } Left;

static bool is_left_with(const CalibrateInput *input, Left left, uint32_t a, uint32_t b) {
    const CalibrateItem *x = &input->items[a], *y = &input->items[b];
    return left == LEFT_SIZE ? x->size == y->size && x->unit == y->unit
                             : strcmp(x->shape, y->shape) == 0;
}

static double *left_time(CalibrateCase *one, Left left) {
    return left == LEFT_SIZE ? &one->without_size_s : &one->without_shape_s;
}

// The cases of `out_of`, by a fit of the same constants to the rest that starts at the values of
// the whole.
static bool predict_left(const CalibrateInput *input, CalibrateResult *result, const Cases *rest,
                         const Cases *out_of, Left left, Err *err) {
    CalibrateResult without = *result; // its values alone are changed
    Told told = {.count = result->identified_count};
    memcpy(told.params, result->identified, sizeof told.params);
    if (!fit_told(input, &without, rest, &told, 1, err)) return false;
    for (uint32_t i = 0; i < told.count; i++)
        without.params[told.params[i]].value = told.solved.values[i];
    Calib calib = with_values(input, &without);
    double *times_s = mem_alloc(out_of->count, sizeof *times_s);
    bool done = predict(input, &calib, out_of->of, out_of->count, times_s, err);
    for (uint32_t i = 0; done && i < out_of->count; i++)
        *left_time(&result->cases[out_of->of[i]], left) = times_s[i];
    mem_free(times_s);
    return done;
}

// Deals the cases to folds, those of one size (or shape) to one; the number of folds.
static uint32_t deal_folds(const CalibrateInput *input, const Cases *cases, Left left,
                           uint32_t *folds) {
    uint32_t groups = 0;
    for (uint32_t i = 0; i < cases->count; i++) {
        uint32_t k = 0;
        while (k < i && !is_left_with(input, left, cases->of[k], cases->of[i])) k++;
        folds[i] = k < i ? folds[k] : groups++ % FOLDS_MAX;
    }
    return groups < FOLDS_MAX ? groups : FOLDS_MAX;
}

// A rest that is too small leaves the cases without a prediction.
static bool leave_out(const CalibrateInput *input, CalibrateResult *result, const Cases *cases,
                      Left left, Err *err) {
    Cases rest = {.of = mem_alloc(cases->count, sizeof *rest.of)};
    Cases out_of = {.of = mem_alloc(cases->count, sizeof *out_of.of)};
    uint32_t *folds = mem_alloc(cases->count, sizeof *folds);
    uint32_t count = deal_folds(input, cases, left, folds);
    bool done = true;
    for (uint32_t fold = 0; done && fold < count; fold++) {
        rest.count = out_of.count = 0;
        for (uint32_t i = 0; i < cases->count; i++) {
            Cases *side = folds[i] == fold ? &out_of : &rest;
            side->of[side->count++] = cases->of[i];
        }
        if (rest.count <= result->identified_count) continue;
        done = predict_left(input, result, &rest, &out_of, left, err);
    }
    mem_free(rest.of);
    mem_free(out_of.of);
    mem_free(folds);
    return done;
}

// Which time of a case.
typedef double TimeOf(const CalibrateCase *one);
static double prior_of(const CalibrateCase *one) {
    return one->prior_s;
}
static double predicted_of(const CalibrateCase *one) {
    return one->predicted_s;
}
static double without_size_of(const CalibrateCase *one) {
    return one->without_size_s;
}
static double without_shape_of(const CalibrateCase *one) {
    return one->without_shape_s;
}

static bool is_judged(const CalibrateCase *one) {
    return one->part == CALIBRATE_FITTED || one->part == CALIBRATE_HELD_OUT;
}

static CalibrateErrors sum_up(const CalibrateResult *result, uint32_t first, uint32_t end,
                              TimeOf *time_of) {
    CalibrateErrors errors = {0};
    double *sizes = mem_alloc(end - first + 1, sizeof *sizes);
    for (uint32_t i = first; i < end; i++) {
        const CalibrateCase *one = &result->cases[i];
        if (!is_judged(one) || !(time_of(one) > 0)) continue;
        double error = time_of(one) / one->measured_s - 1;
        sizes[errors.count++] = fabs(error);
        errors.bias += error;
        errors.mean += fabs(error);
    }
    if (errors.count > 0) {
        qsort(sizes, errors.count, sizeof *sizes, num_compare_doubles);
        errors.bias /= errors.count;
        errors.mean /= errors.count;
        errors.p90 = sizes[(uint32_t)(0.9 * (errors.count - 1) + 0.5)];
        errors.worst = sizes[errors.count - 1];
    }
    mem_free(sizes);
    return errors;
}

// ---- All of it

static CalibratePart part_of(const CalibrateInput *input, uint32_t i) {
    if (input->items[i].unknown != NULL) return CALIBRATE_LEFT_OUT;
    const CalibrateItem *item = &input->items[i];
    double size_s = item->bound_s > 0 ? item->bound_s : item->measured_s;
    if (size_s < input->least_s) return CALIBRATE_SMALL;
    return i < input->fitted ? CALIBRATE_FITTED : CALIBRATE_HELD_OUT;
}

// Beyond what noise explains.
static bool is_too_fast(const CalibrateItem *item) {
    return item->measured_s * (1 + at_least(NOISE_LEAST, item->noise)) < item->bound_s;
}

static void start_cases(const CalibrateInput *input, CalibrateResult *result) {
    result->cases = arena_alloc(&result->arena, input->count, sizeof *result->cases);
    for (uint32_t i = 0; i < input->count; i++) {
        const CalibrateItem *item = &input->items[i];
        result->cases[i] = (CalibrateCase){.measured_s = item->measured_s,
                                           .bound_s = item->bound_s,
                                           .prior_s = item->unknown == NULL ? item->prior_s : 0,
                                           .part = part_of(input, i)};
        if (is_judged(&result->cases[i]) && is_too_fast(item)) result->too_fast++;
    }
}

// All that are not left out, by the fitted constants.
static bool predict_all(const CalibrateInput *input, CalibrateResult *result, Err *err) {
    Cases known = {.of = mem_alloc(input->count, sizeof *known.of)};
    double *times_s = mem_alloc(input->count, sizeof *times_s);
    for (uint32_t i = 0; i < input->count; i++)
        if (result->cases[i].part != CALIBRATE_LEFT_OUT) known.of[known.count++] = i;
    bool done = predict(input, &result->calib, known.of, known.count, times_s, err);
    for (uint32_t i = 0; done && i < known.count; i++)
        result->cases[known.of[i]].predicted_s = times_s[i];
    mem_free(known.of);
    mem_free(times_s);
    return done;
}

static bool finish_cases(const CalibrateInput *input, CalibrateResult *result, Err *err) {
    if (!predict_all(input, result, err)) return false;
    for (uint32_t i = 0; i < input->count; i++) {
        if (!is_judged(&result->cases[i]) || input->items[i].samples < 2) continue;
        result->noise += input->items[i].noise;
        result->repeated++;
    }
    if (result->repeated > 0) result->noise /= result->repeated;
    result->prior = sum_up(result, 0, input->fitted, prior_of);
    result->fitted = sum_up(result, 0, input->fitted, predicted_of);
    result->without_size = sum_up(result, 0, input->fitted, without_size_of);
    result->without_shape = sum_up(result, 0, input->fitted, without_shape_of);
    result->held_out = sum_up(result, input->fitted, input->count, predicted_of);
    result->held_out_prior = sum_up(result, input->fitted, input->count, prior_of);
    return true;
}

// The values, with their intervals, as measured ones. A file says no time below TIME_LEAST.
static void make_calib(const CalibrateInput *input, CalibrateResult *result) {
    result->calib = *input->prior;
    for (uint32_t i = 0; i < result->identified_count; i++) {
        const CalibrateParam *param = &result->params[result->identified[i]];
        CalibValue *value = &result->calib.values[param->param];
        *value = (CalibValue){.value = param->value,
                              .low = param->low,
                              .high = param->high,
                              .provenance = PROVENANCE_MEASURED,
                              .source = value->source};
        bool is_part = calib_kind(param->param) == CALIB_IS_EFFICIENCY;
        if (is_part && value->high > 1) value->high = 1;
        if (is_part) continue;
        value->low = at_least(TIME_LEAST, value->low);
        value->value = at_least(value->low, value->value);
        value->high = at_least(value->value, value->high);
    }
}

static bool nothing_to_fit(const CalibrateInput *input, Err *err) {
    const CalibrateItem *first = NULL;
    uint32_t unknown = 0;
    for (uint32_t i = 0; i < input->fitted; i++) {
        if (input->items[i].unknown == NULL) continue;
        if (unknown++ == 0) first = &input->items[i];
    }
    char least[UNITS_TEXT_MAX];
    if (first == NULL)
        return err_set(err, "all %u cases have a bound below %s: none is left to fit",
                       input->fitted,
                       units_format_time(num_round(input->least_s * (double)PS_PER_SECOND), least));
    return err_set(err, "%u of %u cases are left out, none is left to fit: %s: %s", unknown,
                   input->fitted, first->name, first->unknown);
}

static bool fit_cases(const CalibrateInput *input, CalibrateResult *result, const Cases *cases,
                      Err *err) {
    if (cases->count == 0) return nothing_to_fit(input, err);
    if (!find_params(input, result, cases, err) || !fit_identified(input, result, cases, err))
        return false;
    make_calib(input, result);
    return leave_out(input, result, cases, LEFT_SIZE, err) &&
           leave_out(input, result, cases, LEFT_SHAPE, err) && finish_cases(input, result, err);
}

bool calibrate_run(const CalibrateInput *input, CalibrateResult *out, Err *err) {
    CalibrateResult result = {0};
    if (input->fitted == 0) return err_set(err, "no case to fit");
    if (input->count > CASES_MAX)
        return err_set(err, "%u cases, expected at most %d in all", input->count, CASES_MAX);
    start_cases(input, &result);
    Cases cases = list_cases(input, &result);
    bool done = fit_cases(input, &result, &cases, err);
    mem_free(cases.of);
    if (done)
        *out = result;
    else
        calibrate_free(&result);
    return done;
}

void calibrate_free(CalibrateResult *result) {
    arena_free(&result->arena);
    *result = (CalibrateResult){0};
}
