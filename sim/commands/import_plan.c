// The command import-plan: lines that start an engine, as a plan file.
//
// Invariant: what is printed is read by every command that takes a plan, and emit gives lines that
// start the same.
#include "sim/commands/import_plan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model/base/file.h"
#include "model/machine/device.h"
#include "model/machine/fabric.h"
#include "model/machine/topology.h"
#include "model/moe/arch.h"
#include "model/plan/launch_parse.h"
#include "model/plan/scenario.h"
#include "sim/commands/machine_option.h"
#include "sim/commands/output.h"

#define SCRIPT_CAP_B ((size_t)1 << 22) // far more than the lines of any cluster

static bool read_stdin(Text *out, Err *err) {
    char block[4096];
    size_t count;
    while ((count = fread(block, 1, sizeof block, stdin)) > 0) {
        if (out->length + count > SCRIPT_CAP_B)
            return err_set(err, "-: over %zu bytes", SCRIPT_CAP_B);
        text_add_bytes(out, block, count);
    }
    return !ferror(stdin) || err_set(err, "-: %s", file_reason(errno));
}

static bool read_script(const char *path, Text *out, Err *err) {
    Arena arena = {0};
    char *bytes;
    size_t count;
    if (strcmp(path, "-") == 0) return read_stdin(out, err);
    bool done = file_read(path, SCRIPT_CAP_B, &arena, &bytes, &count, err);
    if (done) text_add_bytes(out, bytes, count);
    arena_free(&arena);
    return done;
}

// Inputs are named as copies of their files beside the plan would be.
static const char *copy_name(const char *path, Arena *arena) {
    return arena_string(arena, file_name(path));
}

static bool read_model(const char *name, PlanFile *file, Arch *arch, Err *err) {
    ArchInput input;
    Arena arena = {0};
    bool done = arch_read_files(name, &arena, &input, err) && arch_parse(&input, arch, err);
    if (done) file->model = copy_name(input.name, &file->arena);
    file->model_digest = arch->digest;
    arena_free(&arena);
    return done;
}

// A machine from one line, or with other GPUs, has no file: the plan must fit on it, and does not
// name it.
static void name_machine(const char *name, const Topology *topology, PlanFile *file) {
    Err ignored = {0};
    const char *path;
    if (!file_find(name, &file->arena, &path, &ignored)) return;
    file->topology = copy_name(path, &file->arena);
    file->topology_digest = topology->digest;
}

static bool read_machine(const CliArgs *args, const char *name, PlanFile *file, Err *err) {
    DeviceCatalogue catalogue = {0};
    Topology topology = {0};
    Fabric fabric = {0};
    bool done = device_load(&catalogue, err) &&
                machine_option_load(args, name, &catalogue, &topology, err) &&
                fabric_build(&topology, &catalogue, &fabric, err);
    for (uint32_t i = 0; done && i < file->plan.pool_count; i++) {
        const Pool *pool = &file->plan.pools[i];
        uint64_t end = (uint64_t)pool->first_gpu + pool_ranks(pool);
        if (end > fabric_live_gpu_count(&fabric))
            done = err_set(err, "%s: pools[%" PRIu32 "] ends at GPU %" PRIu64 " of %" PRIu32, name,
                           i, end, fabric_live_gpu_count(&fabric));
    }
    if (done && topology.device_before == NULL) name_machine(name, &topology, file);
    fabric_free(&fabric);
    topology_free(&topology);
    device_free(&catalogue);
    return done;
}

static bool read_scenario(const char *name, PlanFile *file, Err *err) {
    Scenario scenario = {0};
    const char *path;
    bool done = file_find(name, &file->arena, &path, err) && scenario_load(path, &scenario, err);
    if (done) file->scenario = copy_name(path, &file->arena);
    file->scenario_digest = scenario.digest;
    scenario_free(&scenario);
    return done;
}

static bool load_flags(LaunchFlags flags[LAUNCH_ENGINE_COUNT], Err *err) {
    for (uint32_t i = 0; i < LAUNCH_ENGINE_COUNT; i++)
        if (!launch_flags_load((LaunchEngine)i, NULL, &flags[i], err)) return false;
    return true;
}

static bool import(const CliArgs *args, const Text *script, PlanFile *file, Err *err) {
    const char *model = cli_text(args, "model"), *topology = cli_text(args, "topo");
    const char *scenario = cli_text(args, "scenario");
    LaunchFlags flags[LAUNCH_ENGINE_COUNT] = {0};
    Arch arch = {0};
    bool done = load_flags(flags, err) && (model == NULL || read_model(model, file, &arch, err)) &&
                launch_parse_plan(args->operands[0], text_string(script), script->length, flags,
                                  model == NULL ? NULL : &arch, &file->plan, NULL, err) &&
                (topology == NULL || read_machine(args, topology, file, err)) &&
                (scenario == NULL || read_scenario(scenario, file, err));
    arch_free(&arch);
    for (uint32_t i = 0; i < LAUNCH_ENGINE_COUNT; i++) launch_flags_free(&flags[i]);
    return done;
}

int import_plan_command(const CliArgs *args) {
    PlanFile file = {.model = "", .topology = "", .scenario = "", .calibration = "", .load = ""};
    Text script = {0}, out = {0};
    Err err = {0};
    file.result = "";
    bool good = read_script(args->operands[0], &script, &err) && import(args, &script, &file, &err);
    if (good) plan_write(&file, &out);
    text_free(&script);
    plan_file_free(&file);
    return good ? output_text(&out, OUTPUT_OK) : output_bad(&err);
}
