// The command calibrate: reads record files, fits, prints what was predicted beside what was
// measured, and writes the constants.
//
// Invariant: the file is written only after a fit, whole or not at all.
#include "sim/commands/calibrate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/base/file.h"
#include "sim/calibrate/calibrate.h"
#include "sim/commands/calibrate_show.h"
#include "sim/commands/inputs.h"
#include "sim/commands/output.h"

#define SEED 42

typedef struct Calibration {
    Inputs inputs;
    Arena arena;
    RecordFile fitted, held_out;
    CalibrateInput input;
    CalibrateResult result;
    const char *path;             // of the records that are fitted
    double most_mean, most_worst; // percent, of --max-mape and --max-worst
} Calibration;

// Those of the second file follow those of the first.
static bool read_records(const CliArgs *args, Calibration *at, Err *err) {
    const char *other = cli_text(args, "held-out");
    Observation *first, *second = NULL;
    uint32_t count = 0;
    at->path = args->operands[0];
    if (!record_read(at->path, &at->fitted, err) ||
        !observe_records(&at->fitted, &at->arena, &first, &at->input.fitted, err))
        return false;
    if (other != NULL && (!record_read(other, &at->held_out, err) ||
                          !observe_records(&at->held_out, &at->arena, &second, &count, err)))
        return false;
    at->input.count = at->input.fitted + count;
    Observation *all = arena_alloc(&at->arena, at->input.count, sizeof *all);
    memcpy(all, first, at->input.fitted * sizeof *all);
    if (count > 0) memcpy(all + at->input.fitted, second, count * sizeof *all);
    at->input.observations = all;
    return true;
}

// A percentage; one that is not asked for has no limit.
static bool read_limit(const CliArgs *args, const char *option, double *out, Err *err) {
    const char *text = cli_text(args, option);
    *out = HUGE_VAL;
    if (text == NULL) return true;
    if (!cli_is_given(args, "held-out"))
        return err_set(err, "--%s: expected --held-out with it, whose errors it limits", option);
    return (text_parse_double(text, out) && *out >= 0) ||
           err_set(err, "--%s: expected a percentage of 0 or more, found %s", option, text);
}

static bool read_options(const CliArgs *args, Calibration *at, Err *err) {
    Time least_ps;
    at->input.fabric = &at->inputs.fabric;
    at->input.device = at->inputs.device;
    at->input.prior = &at->inputs.calib;
    at->input.statistic = (ObserveStatistic)cli_choice(args, "statistic");
    at->input.seed = SEED;
    if (!units_parse_time(cli_text(args, "min-bound"), &least_ps, err)) return false;
    at->input.least_s = (double)least_ps / (double)PS_PER_SECOND;
    return read_limit(args, "max-mape", &at->most_mean, err) &&
           read_limit(args, "max-worst", &at->most_worst, err);
}

static const char *source_of(Calibration *at) {
    return arena_printf(&at->arena,
                        "fitted by moesim calibrate to %u cases of %s on %s: mean error %.2f %%, "
                        "%.2f %% with each size left out",
                        at->result.fitted.count, file_name(at->path), at->inputs.topology.name,
                        at->result.fitted.mean * 100, at->result.without_size.mean * 100);
}

static bool write_calib(const CliArgs *args, Calibration *at, Err *err) {
    const char *path = cli_text(args, "output");
    Text text = {0};
    if (path == NULL) return true;
    const char *source = source_of(at);
    for (uint32_t i = 0; i < at->result.identified_count; i++)
        at->result.calib.values[at->result.params[at->result.identified[i]].param].source = source;
    calib_write(&at->result.calib, "fitted", source, &text);
    bool done = file_write(path, text_string(&text), text.length, err);
    text_free(&text);
    return done;
}

// Whether the errors of what was held out are within a limit; a line when they are not.
static bool is_within(const char *option, double value, double most,
                      const CalibrateErrors *errors) {
    char line[ERR_TEXT_MAX];
    if (isinf(most) || (errors->count > 0 && value * 100 <= most)) return true;
    snprintf(line, sizeof line, "--%s: %.2f %% over %u cases held out, expected at most %g %%",
             option, value * 100, errors->count, most);
    output_message(line);
    return false;
}

static int run(const CliArgs *args, Calibration *at) {
    Err err = {0};
    Text out = {0};
    if (!inputs_load_machine(args, &at->inputs, &err) || !read_records(args, at, &err) ||
        !read_options(args, at, &err) || !calibrate_run(&at->input, &at->result, &err) ||
        !write_calib(args, at, &err))
        return output_bad(&err);
    if (cli_choice(args, "format") == 0)
        calibrate_show_text(&at->input, &at->result, &out);
    else
        calibrate_show_json(&at->input, &at->result, &out);
    int status = output_text(&out, OUTPUT_OK);
    const CalibrateErrors *errors = &at->result.held_out;
    bool mean = is_within("max-mape", errors->mean, at->most_mean, errors);
    bool worst = is_within("max-worst", errors->worst, at->most_worst, errors);
    return status == OUTPUT_OK && !(mean && worst) ? OUTPUT_NO : status;
}

int calibrate_command(const CliArgs *args) {
    Calibration at = {0};
    int status = run(args, &at);
    calibrate_free(&at.result);
    record_free(&at.fitted);
    record_free(&at.held_out);
    arena_free(&at.arena);
    inputs_free(&at.inputs);
    return status;
}
