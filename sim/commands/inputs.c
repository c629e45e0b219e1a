// Reads inputs from options, or from the files beside a saved plan.
//
// Invariant: what is simulated is what is saved: options are folded into the scenario before
// anything uses it, and files are copied from the bytes that were parsed.
#include "sim/commands/inputs.h"

#include <assert.h>
#include <string.h>
#include <sys/stat.h>

#include "model/base/file.h"
#include "model/base/json.h"
#include "model/base/num.h"
#include "sim/commands/saved.h"

#define DEFAULT_SCENARIO "chat.json"
#define DEFAULT_CALIB    "topologies/calibrations/default.json"

// ---- Files

static bool read_file(Inputs *in, const char *path, InputFile *out, Err *err) {
    out->path = path;
    return file_read(path, FILE_CAP_B, &in->arena, &out->bytes, &out->count, err);
}

static bool is_folder(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

// "a=1,b=2" into assumptions; commas inside a value are not possible.
static bool split_assumptions(Inputs *in, ArchAssumption *out, uint32_t *out_count, Err *err) {
    char *rest = arena_string(&in->arena, in->assume);
    uint32_t count = 0;
    while (*rest != '\0') {
        char *item = rest, *comma = strchr(rest, ',');
        rest = comma == NULL ? rest + strlen(rest) : comma + 1;
        if (comma != NULL) *comma = '\0';
        char *equals = strchr(item, '='), quoted[TEXT_QUOTE_MAX];
        if (equals == NULL || equals == item)
            return err_set(err, "--assume: expected FIELD=VALUE, found %s",
                           text_quote(item, quoted));
        if (count == INPUTS_ASSUME_MAX)
            return err_set(err, "--assume: at most %d fields", INPUTS_ASSUME_MAX);
        *equals = '\0';
        out[count++] = (ArchAssumption){item, equals + 1};
    }
    *out_count = count;
    return true;
}

static bool load_arch(Inputs *in, const char *path, Err *err) {
    ArchAssumption assumptions[INPUTS_ASSUME_MAX];
    uint32_t count = 0;
    if (is_folder(path)) path = arena_printf(&in->arena, "%s/config.json", path);
    return split_assumptions(in, assumptions, &count, err) &&
           read_file(in, path, &in->arch_file, err) &&
           arch_parse(path, in->arch_file.bytes, in->arch_file.count, assumptions, count, &in->arch,
                      err);
}

static bool load_calib(Inputs *in, const char *path, Err *err) {
    const char *generation = in->device->generation == NULL ? "" : in->device->generation;
    if (!read_file(in, path, &in->calib_file, err)) return false;
    if (!calib_parse(path, in->calib_file.bytes, in->calib_file.count, generation, &in->calib, err))
        return false;
    in->model = (PriceModel){.device = in->device, .calib = &in->calib};
    return true;
}

// ---- Machine

// One device prices all ranks: that of every GPU.
static bool find_device(Inputs *in, Err *err) {
    const Device *first = fabric_device(&in->fabric, 0);
    if (first == NULL)
        return err_set(err, "%s: the GPUs name no device, so nothing can be priced",
                       in->topology_name);
    for (uint32_t i = 0; i < in->fabric.class_count; i++) {
        const VertexClass *c = &in->fabric.classes[i];
        if (c->kind != PART_GPU || c->device == first) continue;
        return err_set(err, "%s: mixed GPUs (%s and %s) cannot be ranked, expected one device",
                       in->topology_name, first->name,
                       c->device == NULL ? "one without a device" : c->device->name);
    }
    NumFmt used;
    if (price_rate(first, NUMFMT_BF16, &used) == 0 || device_low(first->memory_Bps) == 0 ||
        device_low(first->memory_B) == 0)
        return err_set(err, "%s: the catalogue has no rate, memory or bandwidth for %s",
                       in->topology_name, first->name);
    in->device = first;
    return true;
}

static bool load_machine(Inputs *in, const char *name, Err *err) {
    in->topology_name = arena_string(&in->arena, name);
    return device_load(&in->catalogue, err) && topology_load(name, &in->topology, err) &&
           fabric_build(&in->topology, &in->catalogue, &in->fabric, err) && find_device(in, err);
}

// ---- Workload

static bool override_fraction(Scenario *scenario, double fraction, Err *err) {
    if (!(fraction > 0 && fraction <= 1))
        return err_set(err, "--memory-fraction: expected a part above 0 and at most 1, found %g",
                       fraction);
    scenario->memory_permille = (uint32_t)num_round(fraction * 1000);
    if (scenario->memory_permille == 0)
        return err_set(err, "--memory-fraction: %g is less than one thousandth", fraction);
    return true;
}

#define PRICE_MAX 1e6 // dollars for an hour of one GPU; more is a slip

static bool override_price(Scenario *scenario, double dollars, Err *err) {
    if (!(dollars > 0 && dollars <= PRICE_MAX))
        return err_set(err, "--price: expected dollars for a GPU and hour above 0, found %g",
                       dollars);
    scenario->price_uusd_per_gpu_hour = (uint64_t)num_round(dollars * 1e6);
    return true;
}

static void override_count(const CliArgs *args, const char *option, Scenario *scenario,
                           ScenarioField field, uint64_t *value) {
    if (!cli_is_given(args, option)) return;
    *value = cli_count(args, option);
    scenario->origin[field] = SCENARIO_FLAG;
}

static void override_time(const CliArgs *args, const char *option, Scenario *scenario,
                          ScenarioField field, Time *value) {
    if (!cli_is_given(args, option)) return;
    *value = cli_time(args, option);
    scenario->origin[field] = SCENARIO_FLAG;
}

// Lengths and the concurrency may not be zero: scenario_check says so.
static bool override_scenario(const CliArgs *args, Scenario *s, Err *err) {
    override_count(args, "isl", s, SCENARIO_ISL, &s->isl);
    override_count(args, "osl", s, SCENARIO_OSL, &s->osl);
    override_count(args, "concurrency", s, SCENARIO_CONCURRENCY, &s->concurrency);
    override_time(args, "max-ttft", s, SCENARIO_TTFT_LIMIT, &s->ttft_limit_ps);
    override_time(args, "max-tpot", s, SCENARIO_TPOT_LIMIT, &s->tpot_limit_ps);
    if (cli_is_given(args, "price")) {
        if (!override_price(s, cli_number(args, "price"), err)) return false;
        s->origin[SCENARIO_PRICE] = SCENARIO_FLAG;
    }
    if (cli_is_given(args, "memory-fraction")) {
        if (!override_fraction(s, cli_number(args, "memory-fraction"), err)) return false;
        s->origin[SCENARIO_MEMORY_FRACTION] = SCENARIO_FLAG;
    }
    if (cli_is_given(args, "kv-format")) {
        s->kv_format = cli_choice(args, "kv-format") == 0 ? NUMFMT_BF16 : NUMFMT_FP8;
        s->origin[SCENARIO_KV_FORMAT] = SCENARIO_FLAG;
    }
    if (cli_is_given(args, "model")) {
        s->model = arena_string(&s->arena, cli_text(args, "model"));
        s->origin[SCENARIO_MODEL] = SCENARIO_FLAG;
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

static bool load_named_arch(Inputs *in, Err *err) {
    const char *path;
    return file_find(in->scenario.model, &in->arena, &path, err) && load_arch(in, path, err);
}

// A calibration is found like any file, or by its name among the shipped ones.
static bool load_named_calib(Inputs *in, const char *name, Err *err) {
    const char *path;
    if (name == NULL)
        return file_data(DEFAULT_CALIB, &in->arena, &path, err) && load_calib(in, path, err);
    Err ignored = {0};
    const char *shipped = arena_printf(&in->arena, "topologies/calibrations/%s.json", name);
    if (!file_find(name, &in->arena, &path, err) &&
        !file_data(shipped, &in->arena, &path, &ignored))
        return false;
    return load_calib(in, path, err);
}

bool inputs_load(const CliArgs *args, Inputs *out, Err *err) {
    *out = (Inputs){0};
    const char *assume = cli_text(args, "assume");
    out->assume = arena_string(&out->arena, assume);
    if (load_machine(out, cli_text(args, "topo"), err) && load_scenario(out, args, err) &&
        load_named_arch(out, err) && scenario_check(&out->scenario, out->arch.max_context, err) &&
        load_named_calib(out, cli_text(args, "calibration"), err)) {
        resolve_price(out);
        scenario_rehash(&out->scenario);
        return true;
    }
    inputs_free(out);
    return false;
}

// ---- From the files beside a plan

static bool check_digest(const char *path, Digest found, Digest saved, Err *err) {
    char is[17], was[17];
    if (found == saved) return true;
    return err_set(err, "%s: digest %s is not the %s that the plan was made for", path,
                   hash_format(found, is), hash_format(saved, was));
}

static bool load_beside(Inputs *in, const char *plan_path, const PlanFile *plan, Err *err) {
    const char *topology = file_beside(plan_path, plan->topology, &in->arena);
    const char *scenario = file_beside(plan_path, plan->scenario, &in->arena);
    const char *model = file_beside(plan_path, plan->model, &in->arena);
    const char *calib = file_beside(plan_path, plan->calibration, &in->arena);
    if (!saved_read_result(plan->result, &in->arena, &in->assume, &in->sequences, err))
        return err_prefix(err, "%s", plan_path);
    in->scenario_name = scenario;
    return load_machine(in, topology, err) &&
           check_digest(topology, in->topology.digest, plan->topology_digest, err) &&
           scenario_load(scenario, &in->scenario, err) &&
           check_digest(scenario, in->scenario.digest, plan->scenario_digest, err) &&
           load_arch(in, model, err) &&
           check_digest(model, in->arch.digest, plan->model_digest, err) &&
           scenario_check(&in->scenario, in->arch.max_context, err) && load_calib(in, calib, err) &&
           check_digest(calib, in->calib.digest, plan->calibration_digest, err);
}

// A plan that was edited may not run this model on this machine.
static bool check_plan(const Inputs *in, const char *path, const Plan *plan, Err *err) {
    if (plan->pool_count != 1)
        return err_set(err, "%s: expected one pool, found %u", path, plan->pool_count);
    if (!plan_legal(plan, &in->arch, err)) return err_prefix(err, "%s", path);
    uint64_t last = (uint64_t)plan->pools[0].first_gpu + plan_gpus(plan);
    if (last > in->fabric.gpu_count)
        return err_set(err, "%s: the plan uses %llu GPUs, the machine has %u", path,
                       (unsigned long long)last, in->fabric.gpu_count);
    return true;
}

bool inputs_load_beside(const char *plan_path, const PlanFile *plan, Inputs *out, Err *err) {
    *out = (Inputs){0};
    if (load_beside(out, plan_path, plan, err) && check_plan(out, plan_path, &plan->plan, err))
        return true;
    inputs_free(out);
    return false;
}

EvaluateInput inputs_for_evaluation(const Inputs *inputs) {
    return (EvaluateInput){.fabric = &inputs->fabric,
                           .arch = &inputs->arch,
                           .model = &inputs->model,
                           .scenario = &inputs->scenario};
}

// ---- Saving

static bool save(const char *folder, const char *name, const char *bytes, size_t count, Err *err) {
    Arena scratch = {0};
    bool done = file_write(arena_printf(&scratch, "%s/%s", folder, name), bytes, count, err);
    arena_free(&scratch);
    return done;
}

// The model keeps its file's name, which messages and tables show.
static const char *name_of_model(const Inputs *inputs) {
    const char *slash = strrchr(inputs->arch_file.path, '/');
    const char *name = slash == NULL ? inputs->arch_file.path : slash + 1;
    return saved_is_reserved(name) ? "model.json" : name;
}

bool inputs_save(const Inputs *inputs, const char *folder, PlanFile *out, Err *err) {
    PlanFile file = {.model = name_of_model(inputs),
                     .topology = "topology.json",
                     .scenario = "scenario.json",
                     .calibration = "calibration.json",
                     .model_digest = inputs->arch.digest,
                     .topology_digest = inputs->topology.digest,
                     .scenario_digest = inputs->scenario.digest,
                     .calibration_digest = inputs->calib.digest};
    Text topology = {0}, scenario = {0};
    topology_write(&inputs->topology, &topology);
    scenario_write(&inputs->scenario, &scenario);
    bool done =
        save(folder, file.topology, topology.data, topology.length, err) &&
        save(folder, file.scenario, scenario.data, scenario.length, err) &&
        save(folder, file.model, inputs->arch_file.bytes, inputs->arch_file.count, err) &&
        save(folder, file.calibration, inputs->calib_file.bytes, inputs->calib_file.count, err);
    text_free(&topology);
    text_free(&scenario);
    if (done) *out = file;
    return done;
}

void inputs_free(Inputs *inputs) {
    calib_free(&inputs->calib);
    arch_free(&inputs->arch);
    scenario_free(&inputs->scenario);
    fabric_free(&inputs->fabric);
    topology_free(&inputs->topology);
    device_free(&inputs->catalogue);
    arena_free(&inputs->arena);
    *inputs = (Inputs){0};
}
