// The command whatif: reads, sweeps, prints, writes files.
#include "sim/commands/whatif.h"

#include <string.h>

#include "model/base/file.h"
#include "model/base/num.h"
#include "sim/commands/output.h"
#include "sim/commands/whatif_machines.h"
#include "sim/commands/whatif_show.h"
#include "sim/search/sweep.h"

typedef enum Format { FORMAT_TABLE, FORMAT_JSON, FORMAT_CSV } Format;

#define PPM_PER_PERCENT 10000
#define HOLD_FIRST      "best-of-first"

#define MICRO_BATCHES_MAX 1024 // far more than a pipeline has stages; a bound for edited plans

static bool read_refine(const CliArgs *args, SweepSpec *spec, Err *err) {
    double percent;
    const char *text = cli_text(args, "refine");
    if (text == NULL) return true;
    if (!text_parse_double(text, &percent) || !(percent >= 0.01 && percent <= 100))
        return err_set(err, "--refine: expected 0.01 to 100 percent, found %s", text);
    spec->refine_ppm = (uint32_t)num_round(percent * PPM_PER_PERCENT);
    return true;
}

// What can be held: one pool that does both phases, or one for each with a transfer between them.
static bool check_held(const char *path, const Plan *plan, Err *err) {
    const Pool *pools = plan->pools;
    if (plan->pool_count > 2)
        return err_set(err, "--hold: %s: expected one or two pools, found %u", path,
                       plan->pool_count);
    if (plan->pool_count == 1 && pools[0].kind != POOL_UNIFIED)
        return err_set(err, "--hold: %s: expected a unified pool, found one for %s", path,
                       plan_pool_names[pools[0].kind]);
    if (plan->pool_count == 2 && (pools[0].kind != POOL_PREFILL || pools[1].kind != POOL_DECODE ||
                                  plan->transfer_count != 1))
        return err_set(
            err, "--hold: %s: expected a prefill pool, then a decode pool, and a transfer", path);
    for (uint32_t i = 0; i < plan->pool_count; i++)
        if (pools[i].micro_batches > MICRO_BATCHES_MAX)
            return err_set(err, "--hold: %s: expected at most %d micro-batches, found %u", path,
                           MICRO_BATCHES_MAX, pools[i].micro_batches);
    return true;
}

// A plan that was saved; what it was made for is not looked at.
static bool read_hold(const CliArgs *args, SweepSpec *spec, Err *err) {
    const char *text = cli_text(args, "hold");
    PlanFile file = {0};
    if (text == NULL) return true;
    if (strcmp(text, HOLD_FIRST) == 0) {
        spec->mode = SWEEP_HOLD_FIRST;
        return true;
    }
    if (!plan_read(text, &file, err)) return err_prefix(err, "--hold");
    bool done = check_held(text, &file.plan, err);
    spec->mode = SWEEP_HOLD;
    spec->held = file.plan;
    plan_file_free(&file);
    return done && (spec->machine_count == 1 ||
                    err_set(err, "--hold: a saved plan is held on one machine, --topo has %u",
                            spec->machine_count));
}

// Of several machines the cheapest wins, unless asked for otherwise.
static Objective objective_of(const CliArgs *args, uint32_t machine_count) {
    if (cli_text(args, "objective") != NULL) return (Objective)cli_choice(args, "objective");
    return machine_count > 1 ? OBJECTIVE_COST : OBJECTIVE_THROUGHPUT;
}

// What an axis varies is not given beside it; of one machine the price may be.
static bool check_axes(const CliArgs *args, const SweepAxes *axes, Err *err) {
    for (uint32_t i = 0; i < axes->count; i++) {
        const SweepAxis *axis = &axes->axes[i];
        switch (axis->kind) {
        case SWEEP_GPUS:
        case SWEEP_LINK:
        case SWEEP_FAIL:
        case SWEEP_KIND_COUNT: continue;
        case SWEEP_ISL:
        case SWEEP_OSL:
        case SWEEP_CONCURRENCY:
        case SWEEP_KV_FORMAT:
        case SWEEP_MEMORY_FRACTION:
        case SWEEP_PRICE: break;
        }
        if (*axis->subject == '\0' && cli_is_given(args, axis->name))
            return err_set(err, "--%s: --vary gives its values", axis->name);
    }
    return true;
}

static bool read_spec(const CliArgs *args, const WhatifMachines *machines, Arena *arena,
                      SweepSpec *out, Err *err) {
    *out = (SweepSpec){.machines = machines->machines,
                       .machine_count = machines->count,
                       .objective = objective_of(args, machines->count),
                       .pools = (PoolsUse)cli_choice(args, "pools")};
    if (out->pools != POOLS_UNIFIED && out->objective != OBJECTIVE_THROUGHPUT &&
        out->objective != OBJECTIVE_COST)
        return err_set(err, "--objective %s: separate pools are ordered by throughput or cost",
                       objective_names[out->objective]);
    if (cli_is_given(args, "hold") && cli_is_given(args, "pools") &&
        strcmp(cli_text(args, "hold"), HOLD_FIRST) != 0)
        return err_set(err, "--pools: the plan of --hold says it");
    return sweep_axes_parse(cli_text(args, "vary"), arena, &out->axes, err) &&
           check_axes(args, &out->axes, err) &&
           sweep_axes_bind(&out->axes, machines->machines, machines->count, err) &&
           read_refine(args, out, err) && read_hold(args, out, err);
}

static bool write_file(const CliArgs *args, const char *option, const Text *text, Err *err) {
    const char *path = cli_text(args, option);
    return path == NULL || file_write(path, text_string(text), text->length, err) ||
           err_prefix(err, "--%s", option);
}

static bool write_files(const CliArgs *args, const WhatifMachines *machines, const Sweep *sweep,
                        Err *err) {
    Text csv = {0}, svg = {0};
    whatif_show_csv(machines, sweep, &csv);
    if (cli_is_given(args, "svg")) whatif_show_svg(machines, sweep, &svg);
    bool done = write_file(args, "csv", &csv, err) && write_file(args, "svg", &svg, err);
    text_free(&csv);
    text_free(&svg);
    return done;
}

static int show(const CliArgs *args, const WhatifMachines *machines, const SweepSpec *spec,
                const Sweep *sweep) {
    Text out = {0};
    switch ((Format)cli_choice(args, "format")) {
    case FORMAT_TABLE: whatif_show_text(machines, spec, sweep, &out); break;
    case FORMAT_JSON: whatif_show_json(machines, spec, sweep, &out); break;
    case FORMAT_CSV: whatif_show_csv(machines, sweep, &out); break;
    }
    int status = output_text(&out, sweep->winner_count > 0 ? OUTPUT_OK : OUTPUT_NO);
    if (status == OUTPUT_NO) {
        Err why = {0};
        err_set(&why, "no plan is feasible in any cell; the first: %s", sweep->cells[0].reason);
        output_message(why.text);
    }
    return status;
}

static int run(const CliArgs *args, const WhatifMachines *machines, Arena *arena) {
    SweepSpec spec;
    Sweep sweep;
    Err err = {0};
    if (!read_spec(args, machines, arena, &spec, &err) || !sweep_run(&spec, &sweep, &err))
        return output_bad(&err);
    int status = write_files(args, machines, &sweep, &err) ? show(args, machines, &spec, &sweep)
                                                           : output_bad(&err);
    sweep_free(&sweep);
    return status;
}

int whatif_command(const CliArgs *args) {
    WhatifMachines machines;
    Err err = {0};
    if (!cli_is_given(args, "vary"))
        err_set(&err, "whatif: --vary is missing: one or two of gpus, link.CLASS, fail, isl, osl, "
                      "concurrency, kv-format, memory-fraction and price, such as isl=1k:64k");
    if (err_is_set(&err) || !whatif_machines_load(args, &machines, &err)) return output_bad(&err);
    Arena arena = {0};
    int status = run(args, &machines, &arena);
    arena_free(&arena);
    whatif_machines_free(&machines);
    return status;
}
