// Reads what moesim tenants works on.
//
// Invariant: every tenant is legal for its model and fits the memory of this machine's GPUs; all
// are priced with the same constants.
#include "sim/commands/tenants_input.h"

#include <inttypes.h>
#include <string.h>

#include "model/base/file.h"
#include "model/cost/gpus.h"
#include "sim/commands/machine_option.h"
#include "sim/commands/plan_inputs.h"
#include "sim/search/space.h"
#include "sim/search/space_fit.h"

#define MICRO_BATCHES_MAX 1024 // far more than a pipeline has stages; a bound for edited plans
#define DEFAULT_SCENARIO  "chat.json"

// ---- Machine

static bool load_machine(TenantsInputs *in, const CliArgs *args, Err *err) {
    const char *name = cli_text(args, "topo");
    if (name == NULL)
        return err_set(err, "tenants: --topo is missing: a file, a shipped name such as "
                            "nvl72.json, or a machine such as hgx-h100:4");
    if (!device_load(&in->catalogue, err) ||
        !machine_option_load(args, name, &in->catalogue, &in->topology, err) ||
        !fabric_build(&in->topology, &in->catalogue, &in->fabric, err) ||
        !gpus_device(&in->fabric, name, GPUS_NEED_RATES, &in->model.device, err))
        return false;
    const char *generation = in->model.device->generation;
    in->model.calib = &in->calib;
    return calib_load(cli_text(args, "calibration"), generation == NULL ? "" : generation,
                      &in->calib, err);
}

// ---- One plan

static bool load_model(TenantsInputs *in, const char *plan_path, TenantFiles *files,
                       uint64_t *sequences, Err *err) {
    const char *path;
    return plan_inputs_find(plan_path, "model", files->file.model, &in->arena, &path, err) &&
           plan_inputs_model(plan_path, &files->file, path, &in->arena, &files->arch, sequences,
                             err);
}

static bool load_scenario(TenantsInputs *in, const CliArgs *args, const char *plan_path,
                          TenantFiles *files, Err *err) {
    const char *path, *given = cli_text(args, "scenario");
    files->default_scenario = *files->file.scenario == '\0';
    if (files->default_scenario)
        path = given == NULL ? DEFAULT_SCENARIO : given;
    else if (!file_find_beside(plan_path, files->file.scenario, &in->arena, &path, err))
        return false;
    files->scenario_name = path;
    return scenario_load(path, &files->scenario, err) &&
           (files->default_scenario ||
            plan_inputs_check(path, files->scenario.digest, files->file.scenario_digest, err)) &&
           scenario_check(&files->scenario, files->arch.max_context, err);
}

// Constants of the plan are those of all, unless --calibration says which are: its file, read for
// the GPUs of this machine.
static bool check_calibration(TenantsInputs *in, const CliArgs *args, const char *plan_path,
                              const PlanFile *file, Err *err) {
    const char *path, *generation = in->model.device->generation;
    Calib own;
    if (cli_text(args, "calibration") != NULL || *file->calibration == '\0' ||
        file->calibration_digest == in->calib.digest)
        return true;
    if (!file_find_beside(plan_path, file->calibration, &in->arena, &path, err) ||
        !calib_load(path, generation == NULL ? "" : generation, &own, err))
        return false;
    bool is_same = own.digest == in->calib.digest;
    calib_free(&own);
    return is_same || err_set(err,
                              "%s: made with the constants of %s, which are not the default ones: "
                              "add --calibration FILE for all tenants",
                              plan_path, file->calibration);
}

static bool check_pool(const char *path, const Plan *plan, Err *err) {
    if (plan->pool_count != 1 || plan->pools[0].kind != POOL_UNIFIED)
        return err_set(err,
                       "%s: expected one unified pool, found %" PRIu32
                       " pool%s (%s first): tenants "
                       "with prefill and decode pools are not simulated together",
                       path, plan->pool_count, plan->pool_count == 1 ? "" : "s",
                       plan_pool_names[plan->pools[0].kind]);
    if (plan->pools[0].micro_batches > MICRO_BATCHES_MAX)
        return err_set(err, "%s: expected at most %d micro-batches, found %" PRIu32, path,
                       MICRO_BATCHES_MAX, plan->pools[0].micro_batches);
    return true;
}

static bool check_memory(const TenantsInputs *in, const char *path, const TenantFiles *files,
                         uint64_t sequences, Err *err) {
    FitInput fit = {.arch = &files->arch,
                    .device = in->model.device,
                    .scenario = &files->scenario,
                    .sequences = sequences};
    MemoryUse use;
    Err text = {0};
    const char *reason = space_fit_alone(&fit, &files->file.plan, &use, &text);
    if (reason == NULL) reason = space_fit_full(&fit, &files->file.plan, &use, &text);
    return reason == NULL || err_set(err, "%s: does not fit %s: %s", path, in->model.device->name,
                                     err_is_set(&text) ? text.text : reason);
}

static bool load_tenant(TenantsInputs *in, const CliArgs *args, uint32_t i, Err *err) {
    const char *path = args->operands[i];
    TenantFiles *files = &in->files[i];
    uint64_t sequences = 0;
    in->count = i + 1;
    if (!plan_read(path, &files->file, err) || !check_pool(path, &files->file.plan, err) ||
        !load_model(in, path, files, &sequences, err))
        return false;
    if (!plan_legal(&files->file.plan, &files->arch, err)) return err_prefix(err, "%s", path);
    if (!load_scenario(in, args, path, files, err) ||
        !plan_inputs_load(path, &files->file, &files->arch, &in->arena, &files->load, err) ||
        !check_calibration(in, args, path, &files->file, err))
        return false;
    if (sequences == 0)
        sequences = space_sequences(&files->file.plan.pools[0], files->scenario.concurrency);
    in->tenants[i] = (Tenant){.name = path,
                              .plan = files->file.plan,
                              .arch = &files->arch,
                              .scenario = &files->scenario,
                              .load = &files->load,
                              .sequences = sequences};
    return check_memory(in, path, files, sequences, err);
}

// ---- Places

// A name that occurs twice is told apart by its position.
static void name_tenants(TenantsInputs *in, const CliArgs *args) {
    for (uint32_t i = 0; i < in->count; i++)
        for (uint32_t k = 0; k < in->count; k++)
            if (k != i && strcmp(args->operands[i], args->operands[k]) == 0)
                in->tenants[i].name =
                    arena_printf(&in->arena, "%s (number %" PRIu32 ")", args->operands[i], i + 1);
}

static bool read_places(TenantsInputs *in, const CliArgs *args, Err *err) {
    const char *at = cli_text(args, "at");
    if (at == NULL) return true;
    for (uint32_t i = 0; i < in->count; i++) {
        size_t length = strcspn(at, ",");
        char *piece = arena_printf(&in->arena, "%.*s", (int)(length < 64 ? length : 64), at);
        uint64_t gpu;
        if (!text_parse_u64(piece, &gpu) || gpu >= in->fabric.gpu_count)
            return err_set(err,
                           "--at: expected a first GPU for each of %" PRIu32
                           " plans, all below %" PRIu32 " and joined by commas, found \"%s\"",
                           in->count, in->fabric.gpu_count, piece);
        in->tenants[i].plan.pools[0].first_gpu = (uint32_t)gpu;
        at += length;
        if ((*at == ',') != (i + 1 < in->count))
            return err_set(err,
                           "--at: expected %" PRIu32 " first GPUs, one for each plan, found %s",
                           in->count, *at == ',' ? "more" : "fewer");
        at += *at == ',';
    }
    return true;
}

static bool check_room(const TenantsInputs *in, Err *err) {
    uint64_t ranks = 0, live = fabric_live_gpu_count(&in->fabric);
    for (uint32_t i = 0; i < in->count; i++) ranks += pool_ranks(&in->tenants[i].plan.pools[0]);
    return ranks <= live || err_set(err,
                                    "the plans use %" PRIu64 " GPUs together, the machine has "
                                    "%" PRIu64,
                                    ranks, live);
}

static bool read_all(const CliArgs *args, TenantsInputs *in, Err *err) {
    if (args->operand_count > TENANTS_MAX)
        return err_set(err, "tenants: expected at most %d plans, found %" PRIu32, TENANTS_MAX,
                       args->operand_count);
    if (!load_machine(in, args, err)) return false;
    for (uint32_t i = 0; i < args->operand_count; i++)
        if (!load_tenant(in, args, i, err)) return false;
    name_tenants(in, args);
    return read_places(in, args, err) && check_room(in, err);
}

bool tenants_input_read(const CliArgs *args, TenantsInputs *out, Err *err) {
    *out = (TenantsInputs){0};
    if (read_all(args, out, err)) return true;
    tenants_input_free(out);
    return false;
}

void tenants_input_free(TenantsInputs *in) {
    for (uint32_t i = 0; i < in->count; i++) {
        load_free(&in->files[i].load);
        scenario_free(&in->files[i].scenario);
        arch_free(&in->files[i].arch);
        plan_file_free(&in->files[i].file);
    }
    calib_free(&in->calib);
    fabric_free(&in->fabric);
    topology_free(&in->topology);
    device_free(&in->catalogue);
    arena_free(&in->arena);
    *in = (TenantsInputs){0};
}
