// The command calibrate: reads record files or timelines, fits, prints what was predicted beside
// what was measured, and writes the constants.
//
// Invariant: the file is written only after a fit, whole or not at all.
#include "sim/commands/calibrate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/base/file.h"
#include "sim/calibrate/calibrate.h"
#include "sim/calibrate/observe.h"
#include "sim/calibrate/replay.h"
#include "sim/commands/calibrate_show.h"
#include "sim/commands/inputs.h"
#include "sim/commands/output.h"

#define SEED 42

#define TIMELINES_MAX CLI_OPERANDS_MAX

typedef struct Calibration {
    Inputs inputs;
    Arena arena;
    RecordFile fitted, held_out;
    ObservePredictor observed; // of records
    PlanFile plan;             // of timelines
    TimelineFile timelines[TIMELINES_MAX];
    Replay replay;
    CalibrateInput input;
    CalibrateResult result;
    ObserveStatistic statistic;
    const char *path;             // of what is fitted
    double most_mean, most_worst; // percent, of --max-mape and --max-worst
} Calibration;

// ---- From record files

static bool read_file(const char *path, Calibration *at, RecordFile *file, Observation **out,
                      uint32_t *count, Err *err) {
    return record_read(path, file, err) && observe_records(file, &at->arena, out, count, err) &&
           observe_check(file, *out, *count, &at->observed.predictor, &at->inputs.catalogue, err);
}

// The cases of the second file follow those of the first.
static bool read_records(const CliArgs *args, Calibration *at, Err *err) {
    const char *other = cli_text(args, "held-out");
    Observation *first, *second = NULL;
    uint32_t count = 0;
    if (args->operand_count > 1)
        return err_set(err,
                       "%s: expected one record file, or timelines with --plan: fit one file, then "
                       "the other with the constants of the first as --calibration",
                       args->operands[1]);
    if (!read_file(at->path, at, &at->fitted, &first, &at->input.fitted, err) ||
        (other != NULL && !read_file(other, at, &at->held_out, &second, &count, err)))
        return false;
    at->input.count = at->input.fitted + count;
    Observation *all = arena_alloc(&at->arena, at->input.count, sizeof *all);
    if (at->input.fitted > 0) memcpy(all, first, at->input.fitted * sizeof *all);
    if (count > 0) memcpy(all + at->input.fitted, second, count * sizeof *all);
    at->observed.observations = all;
    return true;
}

static bool use_records(const CliArgs *args, Calibration *at, Err *err) {
    if (cli_text(args, "topo") == NULL)
        return err_set(err, "--topo: expected the machine that was measured");
    if (cli_is_given(args, "load"))
        return err_set(err, "--load: expected timelines and --plan with it");
    if (!inputs_load_machine(args, &at->inputs, err)) return false;
    at->observed.predictor =
        (Predictor){&at->inputs.fabric, {at->inputs.device, &at->inputs.calib}};
    if (!read_records(args, at, err)) return false;
    CalibrateItem *items = arena_alloc(&at->arena, at->input.count, sizeof *items);
    at->input.items = items;
    at->input.predict = observe_predict;
    at->input.context = &at->observed;
    return observe_items(&at->observed, at->input.count, at->statistic, &at->arena, items, err);
}

// ---- From timelines of a plan

// A timeline that does not say its device may be of any.
static bool check_device(const char *path, const TimelineFile *file, const Inputs *inputs,
                         Err *err) {
    char quoted[TEXT_QUOTE_MAX];
    return file->device[0] == '\0' ||
           observe_is_device(&inputs->catalogue, inputs->device, file->device) ||
           err_set(err, "%s: device: expected %s, found %s", path, inputs->device->name,
                   text_quote(file->device, quoted));
}

static bool use_timelines(const CliArgs *args, Calibration *at, Err *err) {
    static const char *const others[] = {"topo", "held-out", "calibration"};
    const char *plan = cli_text(args, "plan");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (cli_is_given(args, others[i]))
            return err_set(err,
                           "--%s: expected record files with it; a plan has its own machine "
                           "and constants beside it",
                           others[i]);
    if (!plan_read(plan, &at->plan, err) ||
        !inputs_load_beside(plan, &at->plan, &at->inputs, err) ||
        !inputs_replace_load(args, &at->inputs, err))
        return false;
    for (uint32_t i = 0; i < args->operand_count; i++)
        if (!timeline_file_read(args->operands[i], &at->timelines[i], err) ||
            !check_device(args->operands[i], &at->timelines[i], &at->inputs, err))
            return false;
    at->replay = (Replay){.input = inputs_for_evaluation(&at->inputs),
                          .plan = &at->plan.plan,
                          .phase = cli_choice(args, "phase") == 0 ? PHASE_DECODE : PHASE_PREFILL,
                          .sequences = at->inputs.sequences};
    CalibrateItem *items;
    if (!replay_items(&at->replay, at->timelines, args->operands, args->operand_count, &at->arena,
                      &items, &at->input.count, err))
        return false;
    at->input.items = items;
    at->input.fitted = at->input.count;
    at->input.predict = replay_predict;
    at->input.context = &at->replay;
    return true;
}

// ---- Options

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
    at->path = args->operands[0];
    at->statistic = (ObserveStatistic)cli_choice(args, "statistic");
    at->input.seed = SEED;
    if (!units_parse_time(cli_text(args, "min-bound"), &least_ps, err)) return false;
    at->input.least_s = (double)least_ps / (double)PS_PER_SECOND;
    const char *output = cli_text(args, "output");
    if (output != NULL && !file_can_write(output, err)) return false;
    return read_limit(args, "max-mape", &at->most_mean, err) &&
           read_limit(args, "max-worst", &at->most_worst, err);
}

// The classes of links, other than PCIe, that a node has inside, of a machine without NVLink: their
// time of a step, and for some of them the efficiency, is the constant of NVLink.
static const char *scale_up_of(const Fabric *fabric, Arena *arena) {
    bool has[LINK_CLASS_COUNT] = {0};
    const char *names = "";
    for (LinkId i = 0; i < fabric->link_count; i++) has[fabric_link(fabric, i).link_class] = true;
    if (has[LINK_NVLINK]) return "";
    for (LinkClass i = 0; i < LINK_CLASS_COUNT; i++)
        if (has[i] && i != LINK_PCIE && !topology_class_is_network(i))
            names = arena_printf(arena, "%s%s%s", names, names[0] == '\0' ? "" : ", ",
                                 topology_class_names[i]);
    return names;
}

static bool read(const CliArgs *args, Calibration *at, Err *err) {
    if (!read_options(args, at, err) ||
        !(cli_text(args, "plan") != NULL ? use_timelines : use_records)(args, at, err))
        return false;
    at->input.prior = &at->inputs.calib;
    at->input.machine = at->inputs.topology.name;
    at->input.scale_up = scale_up_of(&at->inputs.fabric, &at->arena);
    return true;
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

static bool fit(Calibration *at, Err *err) {
    return calibrate_run(&at->input, &at->result, err) || err_prefix(err, "%s", at->path);
}

static int run(const CliArgs *args, Calibration *at) {
    Err err = {0};
    Text out = {0};
    if (!read(args, at, &err) || !fit(at, &err) || !write_calib(args, at, &err))
        return output_bad(&err);
    if (cli_choice(args, "format") == 0)
        calibrate_show_text(&at->input, &at->result, observe_statistic_names[at->statistic], &out);
    else
        calibrate_show_json(&at->input, &at->result, observe_statistic_names[at->statistic], &out);
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
    for (uint32_t i = 0; i < TIMELINES_MAX; i++) timeline_file_free(&at.timelines[i]);
    plan_file_free(&at.plan);
    record_free(&at.fitted);
    record_free(&at.held_out);
    arena_free(&at.arena);
    inputs_free(&at.inputs);
    return status;
}
