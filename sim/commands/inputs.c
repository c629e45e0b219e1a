// Reads inputs from options, or from the files beside a saved plan.
//
// Invariant: what is simulated is what is saved: options are folded into the scenario before
// anything uses it, and the bytes of files that were parsed are kept for the copy (saved.c).
#include "sim/commands/inputs.h"

#include <string.h>
#include <sys/stat.h>

#include "model/base/file.h"
#include "model/cost/gpus.h"
#include "model/plan/lower.h"
#include "model/plan/eplb.h"
#include "model/plan/load_classes.h"
#include "sim/commands/degrade.h"
#include "sim/commands/flow_eps.h"
#include "sim/commands/load_option.h"
#include "sim/commands/machine_option.h"
#include "sim/commands/plan_inputs.h"
#include "sim/commands/saved.h"

#define DEFAULT_SCENARIO  "chat.json"
#define MICRO_BATCHES_MAX 1024 // far more than a pipeline has stages; a bound for edited plans
#define DEFAULT_CALIB     "topologies/calibrations/default.json"

// ---- Files

static bool read_file(Inputs *in, const char *path, InputFile *out, Err *err) {
    out->path = path;
    return file_read(path, FILE_CAP_B, &in->arena, &out->bytes, &out->count, err);
}

static bool parse_arch(Inputs *in, Err *err) {
    ArchAssumption assumptions[ARCH_ASSUMPTIONS_MAX];
    uint32_t count = 0;
    if (*in->assume != '\0' &&
        !arch_split_assumptions(in->assume, &in->arena, assumptions, &count, err))
        return false;
    ArchInput input = in->arch_files;
    input.assumptions = assumptions;
    input.assumption_count = count;
    return arch_parse(&input, &in->arch, err) && lower_check(&in->arch, err);
}

static bool load_arch(Inputs *in, const char *path, Err *err) {
    return arch_read_files(path, &in->arena, &in->arch_files, err) && parse_arch(in, err);
}

static bool parse_calib(Inputs *in, Err *err) {
    const InputFile *file = &in->calib_file;
    if (!calib_parse(file->path, file->bytes, file->count, in->generation, &in->calib, err))
        return false;
    in->model = (PriceModel){.device = in->device, .calib = &in->calib};
    return true;
}

static bool load_calib(Inputs *in, const char *path, Err *err) {
    return read_file(in, path, &in->calib_file, err) && parse_calib(in, err);
}

// ---- Machine

// One device prices all ranks: that of every GPU.
static bool find_device(Inputs *in, Err *err) {
    if (!gpus_device(&in->fabric, in->topology_name, GPUS_NEED_RATES, &in->device, err))
        return false;
    in->generation = in->device->generation == NULL ? "" : in->device->generation;
    return true;
}

// Transfers alone need no rates, and GPUs may differ: constants are those of their generation, or
// those of all when they have several.
static bool find_generation(Inputs *in, Err *err) {
    for (uint32_t i = 0; i < in->fabric.class_count; i++) {
        const VertexClass *c = &in->fabric.classes[i];
        if (c->kind != PART_GPU || c->device == NULL) continue;
        const char *generation = c->device->generation == NULL ? "" : c->device->generation;
        if (in->device == NULL) {
            in->device = c->device;
            in->generation = generation;
        } else if (strcmp(in->generation, generation) != 0)
            in->generation = "";
    }
    return in->device != NULL ||
           err_set(err, "%s: the GPUs name no device of the catalogue: add --device NAME",
                   in->topology_name);
}

static bool open_machine(Inputs *in, const char *name, Err *err) {
    in->topology_name = arena_string(&in->arena, name);
    return device_load(&in->catalogue, err) && library_load(&in->libraries, err);
}

static bool build_machine(Inputs *in, Err *err) {
    return fabric_build(&in->topology, &in->catalogue, &in->fabric, err) && find_device(in, err);
}

static bool load_topology(Inputs *in, const CliArgs *args, const char *name, Err *err) {
    return open_machine(in, name, err) &&
           machine_option_load(args, name, &in->catalogue, &in->topology, err);
}

bool inputs_degrade(const CliArgs *args, Inputs *inputs, Err *err) {
    Fabric whole = inputs->fabric;
    if (!degrade_topology(args, &inputs->topology, err)) return false;
    inputs->fabric = (Fabric){0};
    fabric_free(&whole);
    return build_machine(inputs, err);
}

bool inputs_replace_machine(const CliArgs *args, const char *name, Inputs *inputs, Err *err) {
    fabric_free(&inputs->fabric);
    topology_free(&inputs->topology);
    device_free(&inputs->catalogue);
    library_free(&inputs->libraries);
    calib_free(&inputs->calib);
    return load_topology(inputs, args, name, err) && build_machine(inputs, err) &&
           parse_calib(inputs, err);
}

bool inputs_replace_model(const ArchInput *files, Inputs *inputs, Err *err) {
    arch_free(&inputs->arch);
    inputs->arch_files = *files;
    return parse_arch(inputs, err);
}

// ---- Workload

// The options that replace a field of the scenario.
static const struct {
    const char *option, *flag;
    ScenarioField field;
} inputs_overrides[] = {{"model", "--model", SCENARIO_MODEL},
                        {"isl", "--isl", SCENARIO_ISL},
                        {"osl", "--osl", SCENARIO_OSL},
                        {"concurrency", "--concurrency", SCENARIO_CONCURRENCY},
                        {"max-ttft", "--max-ttft", SCENARIO_TTFT_LIMIT},
                        {"max-tpot", "--max-tpot", SCENARIO_TPOT_LIMIT},
                        {"memory-fraction", "--memory-fraction", SCENARIO_MEMORY_FRACTION},
                        {"kv-format", "--kv-format", SCENARIO_KV_FORMAT}};

// Of a range the end; "any" leaves what the scenario says.
static const char *override_text(const CliArgs *args, const char *option) {
    const char *text = cli_is_given(args, option) ? cli_text(args, option) : NULL;
    if (text == NULL || (strcmp(option, "kv-format") == 0 && strcmp(text, "any") == 0)) return NULL;
    const char *colon = strcmp(option, "concurrency") == 0 ? strchr(text, ':') : NULL;
    return colon == NULL ? text : colon + 1;
}

static bool override_scenario(const CliArgs *args, Scenario *scenario, Err *err) {
    for (size_t i = 0; i < sizeof inputs_overrides / sizeof *inputs_overrides; i++) {
        const char *text = override_text(args, inputs_overrides[i].option);
        if (text != NULL &&
            !scenario_set(scenario, inputs_overrides[i].field, inputs_overrides[i].flag, text, err))
            return false;
    }
    return true;
}

// Fields of a scenario that nobody named are defaults, wherever they are written.
static bool load_scenario(Inputs *in, const CliArgs *args, Err *err) {
    const char *name = cli_text(args, "scenario");
    in->default_scenario = name == NULL;
    in->scenario_name = arena_string(&in->arena, name == NULL ? DEFAULT_SCENARIO : name);
    if (!scenario_load(in->scenario_name, &in->scenario, err)) return false;
    for (uint32_t i = 0; in->default_scenario && i < SCENARIO_FIELD_COUNT; i++)
        in->scenario.origin[i] = SCENARIO_DEFAULT;
    if (!override_scenario(args, &in->scenario, err)) return false;
    if (*in->scenario.model == '\0')
        return err_set(err, "%s names no model: add --model FILE", in->scenario_name);
    return true;
}

static void resolve_price(Inputs *in) {
    Scenario *s = &in->scenario;
    if (s->price_uusd_per_gpu_hour > 0) return;
    s->price_uusd_per_gpu_hour = device_low(in->device->price_uusd_per_hour);
    in->catalogue_price = s->price_uusd_per_gpu_hour > 0;
}

// ---- From options

bool inputs_replace_load(const CliArgs *args, Inputs *inputs, Err *err) {
    Load load = {0};
    if (!cli_is_given(args, "load")) return true;
    if (!load_option_read(args, &inputs->arch, &load, err)) return false;
    inputs->expected = inputs->load;
    inputs->has_expected = true;
    inputs->load = load;
    return true;
}

static bool read_experts(const CliArgs *args, Inputs *in, Err *err) {
    uint64_t redundant =
        cli_text(args, "redundant-experts") == NULL ? 0 : cli_count(args, "redundant-experts");
    if (redundant > EPLB_SLOTS_MAX)
        return err_set(err, "--redundant-experts: expected at most %d, found %llu", EPLB_SLOTS_MAX,
                       (unsigned long long)redundant);
    bool named = cli_is_given(args, "redundant-experts") || cli_is_given(args, "eplb");
    in->experts.any = !named && in->load.kind != LOAD_UNIFORM;
    in->experts.redundant = (uint32_t)redundant;
    in->experts.placement = redundant > 0 || cli_is_given(args, "eplb") ? EXPERT_PLACEMENT_EPLB
                                                                        : EXPERT_PLACEMENT_LINEAR;
    return true;
}

static bool load_named_arch(Inputs *in, Err *err) {
    const char *path;
    return file_find(in->scenario.model, &in->arena, &path, err) && load_arch(in, path, err);
}

static bool load_named_calib(Inputs *in, const char *name, Err *err) {
    const char *path;
    if (name == NULL)
        return file_data(DEFAULT_CALIB, &in->arena, &path, err) && load_calib(in, path, err);
    return file_find(name, &in->arena, &path, err) && load_calib(in, path, err);
}

bool inputs_load_on(const CliArgs *args, const char *machine, Inputs *out, Err *err) {
    *out = (Inputs){0};
    const char *assume = cli_text(args, "assume");
    out->assume = arena_string(&out->arena, assume);
    if (load_topology(out, args, machine, err) && build_machine(out, err) &&
        load_scenario(out, args, err) && load_named_arch(out, err) &&
        scenario_check(&out->scenario, out->arch.max_context, err) &&
        load_named_calib(out, cli_text(args, "calibration"), err) &&
        load_option_read(args, &out->arch, &out->load, err) && read_experts(args, out, err) &&
        flow_eps_read(args, &out->flow_eps_ppb, err)) {
        resolve_price(out);
        scenario_rehash(&out->scenario);
        return true;
    }
    inputs_free(out);
    return false;
}

bool inputs_load(const CliArgs *args, Inputs *out, Err *err) {
    const char *price = cli_text(args, "price");
    if (!inputs_load_on(args, cli_text(args, "topo"), out, err)) return false;
    if (price == NULL) return true;
    if (scenario_set(&out->scenario, SCENARIO_PRICE, "--price", price, err)) {
        out->catalogue_price = false;
        scenario_rehash(&out->scenario);
        return true;
    }
    inputs_free(out);
    return false;
}

bool inputs_load_machine(const CliArgs *args, Inputs *out, Err *err) {
    *out = (Inputs){0};
    if (load_topology(out, args, cli_text(args, "topo"), err) &&
        fabric_build(&out->topology, &out->catalogue, &out->fabric, err) &&
        find_generation(out, err) && load_named_calib(out, cli_text(args, "calibration"), err))
        return true;
    inputs_free(out);
    return false;
}

// ---- From the files beside a plan

static bool check_names(const char *path, const PlanFile *plan, Err *err) {
    const struct {
        const char *key, *name;
    } files[] = {{"model", plan->model},
                 {"topology", plan->topology},
                 {"scenario", plan->scenario},
                 {"calibration", plan->calibration}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (*files[i].name == '\0')
            return err_set(err, "%s: missing \"%s\": the plan does not say what it was made for",
                           path, files[i].key);
    return true;
}

static bool load_load(Inputs *in, const char *plan_path, const PlanFile *plan, Err *err) {
    in->load = load_uniform();
    if (*plan->load == '\0') return true;
    const char *path = file_beside(plan_path, plan->load, &in->arena);
    RoutingRule rule;
    uint32_t layers;
    if (!load_read(path, &in->load, err) ||
        !plan_inputs_check(path, in->load.digest, plan->load_digest, err))
        return false;
    return (load_option_rule(&in->arch, &rule, &layers, err) &&
            load_check(&in->load, layers, rule.experts, err)) ||
           err_prefix(err, "%s", path);
}

static bool load_beside(Inputs *in, const char *plan_path, const PlanFile *plan, Err *err) {
    const char *topology = file_beside(plan_path, plan->topology, &in->arena);
    const char *scenario = file_beside(plan_path, plan->scenario, &in->arena);
    const char *model = file_beside(plan_path, plan->model, &in->arena);
    const char *calib = file_beside(plan_path, plan->calibration, &in->arena);
    if (!saved_read_result(plan->result, &in->arena, &in->assume, &in->sequences, err))
        return err_prefix(err, "%s", plan_path);
    in->scenario_name = scenario;
    return open_machine(in, topology, err) && topology_load(topology, &in->topology, err) &&
           plan_inputs_check(topology, in->topology.digest, plan->topology_digest, err) &&
           build_machine(in, err) && scenario_load(scenario, &in->scenario, err) &&
           plan_inputs_check(scenario, in->scenario.digest, plan->scenario_digest, err) &&
           load_arch(in, model, err) &&
           plan_inputs_check(model, in->arch.digest, plan->model_digest, err) &&
           scenario_check(&in->scenario, in->arch.max_context, err) && load_calib(in, calib, err) &&
           plan_inputs_check(calib, in->calib.digest, plan->calibration_digest, err) &&
           load_load(in, plan_path, plan, err);
}

// A plan that was edited may not run this model on this machine.
static bool check_plan(const Inputs *in, const char *path, const Plan *plan, Err *err) {
    if (!plan_legal(plan, &in->arch, err)) return err_prefix(err, "%s", path);
    for (uint32_t i = 0; i < plan->pool_count; i++) {
        const Pool *pool = &plan->pools[i];
        uint64_t last = (uint64_t)pool->first_gpu + pool_ranks(pool);
        if (pool->micro_batches > MICRO_BATCHES_MAX)
            return err_set(err, "%s: expected at most %d micro-batches, found %u", path,
                           MICRO_BATCHES_MAX, pool->micro_batches);
        if (last > fabric_live_gpu_count(&in->fabric))
            return err_set(err, "%s: the plan uses %llu GPUs, the machine has %u", path,
                           (unsigned long long)last, fabric_live_gpu_count(&in->fabric));
    }
    return true;
}

bool inputs_load_pools(const char *plan_path, const PlanFile *plan, Inputs *out, Err *err) {
    *out = (Inputs){0};
    if (check_names(plan_path, plan, err) && load_beside(out, plan_path, plan, err) &&
        check_plan(out, plan_path, &plan->plan, err))
        return true;
    inputs_free(out);
    return false;
}

bool inputs_load_beside(const char *plan_path, const PlanFile *plan, Inputs *out, Err *err) {
    uint32_t pools = plan->plan.pool_count;
    if (pools != 1)
        return err_set(err,
                       "%s: expected one pool, found %u; what separate pools do is said by "
                       "\"moesim simulate\"",
                       plan_path, pools);
    PoolKind kind = plan->plan.pools[0].kind;
    if (kind != POOL_UNIFIED)
        return err_set(err, "%s: expected a unified pool, found one for %s alone", plan_path,
                       plan_pool_names[kind]);
    return inputs_load_pools(plan_path, plan, out, err);
}

EvaluateInput inputs_for_evaluation(const Inputs *inputs) {
    return (EvaluateInput){.fabric = &inputs->fabric,
                           .arch = &inputs->arch,
                           .model = &inputs->model,
                           .scenario = &inputs->scenario,
                           .load = &inputs->load,
                           .expected = inputs->has_expected ? &inputs->expected : NULL,
                           .flow_eps_ppb = inputs->flow_eps_ppb};
}

EvaluateInput inputs_for_ranking(const Inputs *inputs) {
    EvaluateInput input = inputs_for_evaluation(inputs);
    input.load_classes = LOAD_CLASSES_DEFAULT;
    return input;
}

void inputs_free(Inputs *inputs) {
    load_free(&inputs->load);
    load_free(&inputs->expected);
    calib_free(&inputs->calib);
    arch_free(&inputs->arch);
    scenario_free(&inputs->scenario);
    fabric_free(&inputs->fabric);
    topology_free(&inputs->topology);
    device_free(&inputs->catalogue);
    library_free(&inputs->libraries);
    arena_free(&inputs->arena);
    *inputs = (Inputs){0};
}
