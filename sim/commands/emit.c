// The command emit: reads a plan with its model and machine, asks the rules of the engine, writes
// its lines.
//
// Invariant: what is printed was found legal for the engine at that version with the very flags
// that are printed; a plan that is refused prints nothing on stdout.
#include "sim/commands/emit.h"

#include <inttypes.h>
#include <string.h>

#include "model/base/file.h"
#include "model/base/json.h"
#include "model/machine/device.h"
#include "model/machine/fabric.h"
#include "model/machine/topology.h"
#include "model/moe/arch.h"
#include "model/plan/engine.h"
#include "model/plan/launch.h"
#include "sim/commands/machine_option.h"
#include "sim/commands/output.h"
#include "sim/commands/plan_inputs.h"

#define REQUESTS_MAX UINT64_C(1000000000000) // a bound for edited files

// Pointers inside point into it: not copied, not moved.
typedef struct Emit {
    Arena arena;
    PlanFile file;
    Arch arch;
    DeviceCatalogue catalogue;
    Topology topology;
    Fabric fabric;
    Scenario scenario;
    Engine engine;
    LaunchFlags flags;
    Text notes;
    LaunchInput in;
} Emit;

static void free_emit(Emit *e) {
    text_free(&e->notes);
    launch_flags_free(&e->flags);
    engine_unload(&e->engine);
    scenario_free(&e->scenario);
    fabric_free(&e->fabric);
    topology_free(&e->topology);
    device_free(&e->catalogue);
    arch_free(&e->arch);
    plan_file_free(&e->file);
    arena_free(&e->arena);
}

// ---- Inputs

// The file that the plan names, beside it or, for plans written by hand, found like any file; or
// the one that the option names when it names none. *out is NULL when there is neither.
static bool find_input(Emit *e, const CliArgs *args, const char *option, const char *named,
                       const char **out, Err *err) {
    const char *given = cli_text(args, option);
    const char *path = args->operands[0];
    if (given != NULL && *named != '\0')
        return err_set(err, "--%s: %s names \"%s\" already", option, path, named);
    if (*named != '\0') return file_find_beside(path, named, &e->arena, out, err);
    *out = given;
    return true;
}

static bool need(const char *path, const char *what, const char *option, const char *found,
                 Err *err) {
    return found != NULL ||
           err_set(err,
                   "%s: the plan names no %s, expected --%s (a model and a topology are needed; "
                   "scenario, calibration, load and result may be missing)",
                   path, what, option);
}

// A file that an option names may be any.
static bool check_digest(const char *path, Digest found, const char *named, Digest saved,
                         Err *err) {
    return *named == '\0' || plan_inputs_check(path, found, saved, err);
}

static bool load_model(Emit *e, const CliArgs *args, Err *err) {
    const char *path;
    return find_input(e, args, "model", e->file.model, &path, err) &&
           need(args->operands[0], "model", "model", path, err) &&
           plan_inputs_model(args->operands[0], &e->file, path, &e->arena, &e->arch,
                             &e->in.sequences, err);
}

static bool load_machine(Emit *e, const CliArgs *args, Err *err) {
    const PlanFile *file = &e->file;
    const char *path;
    if (cli_is_given(args, "device") && *file->topology != '\0')
        return err_set(err, "--device: %s names its machine, \"%s\"", args->operands[0],
                       file->topology);
    if (!find_input(e, args, "topo", file->topology, &path, err) ||
        !need(args->operands[0], "topology", "topo", path, err) ||
        !device_load(&e->catalogue, err) ||
        !machine_option_load(args, path, &e->catalogue, &e->topology, err) ||
        !check_digest(path, e->topology.digest, file->topology, file->topology_digest, err) ||
        !fabric_build(&e->topology, &e->catalogue, &e->fabric, err))
        return false;
    return fabric_live_gpu_count(&e->fabric) == e->fabric.gpu_count ||
           err_set(err, "%s: GPUs are down, and ranks do not lie one behind another on nodes",
                   path);
}

static bool load_scenario(Emit *e, const CliArgs *args, Err *err) {
    const PlanFile *file = &e->file;
    const char *path;
    if (!find_input(e, args, "scenario", file->scenario, &path, err)) return false;
    if (path == NULL) return true;
    if (!scenario_load(path, &e->scenario, err) ||
        !check_digest(path, e->scenario.digest, file->scenario, file->scenario_digest, err) ||
        !scenario_check(&e->scenario, e->arch.max_context, err))
        return false;
    e->in.scenario = &e->scenario;
    return true;
}

// NICs that have a link to a network, for each node.
static void count_nics(const Fabric *fabric, LaunchMachine *out) {
    uint32_t nodes = fabric->gpu_count / fabric->node_size, nics = 0;
    for (uint32_t i = 0; i < fabric->class_count; i++) {
        const VertexClass *class = &fabric->classes[i];
        if (class->kind != PART_NIC) continue;
        nics += class->count;
        if (class->device != NULL && *out->nic == '\0') out->nic = class->device->name;
    }
    out->node_nics = nodes == 0 ? 0 : nics / nodes;
}

static void describe_machine(Emit *e) {
    const Fabric *fabric = &e->fabric;
    e->in.machine = (LaunchMachine){.name = e->topology.name,
                                    .gpus = fabric->gpu_count,
                                    .node_gpus = fabric->node_size,
                                    .domain_gpus = fabric->domain_size,
                                    .nic = ""};
    count_nics(fabric, &e->in.machine);
}

// ---- What was predicted

static bool add_figure(JsonNode root, const char *key, const char *before, double scale,
                       const char *behind, Text *out, Err *err) {
    double value;
    char number[OUTPUT_NUMBER_MAX];
    if (!json_has(root, key)) return true;
    if (!json_double(root, key, &value, err)) return false;
    text_addf(out, "%s%s%s%s", out->length == 0 ? "predicted: " : ", ", before,
              output_number(value * scale, number), behind);
    return true;
}

static bool read_prediction(Emit *e, Err *err) {
    Json json = {0};
    Text text = {0};
    const char *result = e->file.result;
    e->in.prediction = "";
    if (*result == '\0') return true;
    if (!json_parse("result", result, strlen(result), &json, err)) return false;
    JsonNode root = json_root(&json);
    bool done = add_figure(root, "ttft_s", "TTFT ", 1e3, " ms", &text, err) &&
                add_figure(root, "tpot_s", "TPOT ", 1e3, " ms", &text, err) &&
                add_figure(root, "output_tok_per_s", "", 1, " output tok/s", &text, err) &&
                add_figure(root, "output_tok_per_s_per_gpu", "", 1, " per GPU", &text, err) &&
                (!json_has(root, "requests_in_flight") ||
                 json_u64(root, "requests_in_flight", &e->in.requests, err));
    if (done && e->in.requests > REQUESTS_MAX)
        done = err_set(err, "result: %" PRIu64 " requests in flight, expected at most %" PRIu64,
                       e->in.requests, REQUESTS_MAX);
    e->in.prediction = arena_string(&e->arena, text_string(&text));
    text_free(&text);
    json_free(&json);
    return done;
}

// ---- Rules

static const char *option_of_name(const Emit *e, const char *flag) {
    return engine_option(&e->engine, flag + 2) == NULL ? NULL : flag + 2;
}

// The option of the rules that a flag is; NULL when they know none. What a variable says in this
// version is a flag in another, and the rules know it by that.
static const char *option_of(const Emit *e, const LaunchFlag *flag) {
    for (uint32_t i = 0; flag->is_env && i < e->flags.flag_count; i++)
        if (e->flags.flags[i].means == flag->means && !e->flags.flags[i].is_env)
            return option_of_name(e, e->flags.flags[i].name);
    return flag->is_env ? NULL : option_of_name(e, flag->name);
}

// The flags that will be printed, as far as the rules know them.
static bool list_settings(Emit *e, uint32_t pool, EngineSetting *out, uint32_t *out_count,
                          Err *err) {
    LaunchList list;
    if (!launch_settings(&e->in, (LaunchPart){.pool = pool}, &e->arena, &list, err)) return false;
    *out_count = 0;
    for (uint32_t i = 0; i < list.count && *out_count < ENGINE_OPTIONS_MAX; i++) {
        const LaunchSetting *setting = &list.settings[i];
        const char *option = setting->expands ? NULL : option_of(e, setting->flag);
        if (option == NULL) continue;
        out[(*out_count)++] =
            (EngineSetting){option, setting->value == NULL ? "true" : setting->value};
    }
    launch_list_free(&list);
    return true;
}

static void refuse(const Emit *e, const EngineVerdict *verdict, uint32_t pool, Err *err) {
    const EngineBroken *broken = &verdict->broken[0];
    char version[ENGINE_VERSION_TEXT_MAX];
    Text more = {0};
    if (verdict->broken_count > 1)
        text_addf(&more, ", and %" PRIu32 " more", verdict->broken_count - 1);
    err_set(err, "%s %s refuses pools[%" PRIu32 "]: %s (%s: %s)%s", e->engine.name,
            engine_version_format(e->engine.version, version), pool, broken->text, broken->name,
            broken->source, text_string(&more));
    text_free(&more);
}

// *legal is false, and `err` says why, when a rule is broken.
static bool ask_rules(Emit *e, uint32_t pool, bool *legal, Err *err) {
    EngineFacts facts;
    EngineSetting settings[ENGINE_OPTIONS_MAX];
    EngineVerdict verdict;
    uint32_t count;
    EngineMachine machine = {.device = fabric_device(&e->fabric, 0),
                             .node_gpus = e->fabric.node_size,
                             .machine_gpus = e->fabric.gpu_count};
    engine_facts_of(&e->file.plan, pool, &e->arch, &machine, &e->arena, &facts);
    if (!list_settings(e, pool, settings, &count, err)) {
        *legal = false;
        return true;
    }
    if (!engine_check(&e->engine, &facts, settings, count, &e->arena, &verdict, err)) return false;
    *legal = verdict.broken_count == 0;
    if (!*legal) refuse(e, &verdict, pool, err);
    for (uint32_t i = 0; i < verdict.note_count; i++)
        text_addf(&e->notes, "# note on pool %" PRIu32 ": %s\n", pool, verdict.notes[i].text);
    return true;
}

// The structure of the model first, then what the engine can express, then its rules.
static bool is_legal(Emit *e, bool *legal, Err *err) {
    *legal = plan_legal(&e->file.plan, &e->arch, err) && launch_check(&e->in, err);
    for (uint32_t i = 0; *legal && i < e->file.plan.pool_count; i++)
        if (!ask_rules(e, i, legal, err)) return false;
    return true;
}

static bool load(Emit *e, const CliArgs *args, Err *err) {
    LaunchEngine engine = (LaunchEngine)cli_choice(args, "engine");
    const char *version = cli_text(args, "engine-version"), *weights = cli_text(args, "weights");
    if (!plan_read(args->operands[0], &e->file, err) || !load_model(e, args, err) ||
        !load_machine(e, args, err) || !load_scenario(e, args, err) || !read_prediction(e, err) ||
        !engine_load(launch_flags_engines[engine], version, &e->engine, err))
        return false;
    char text[ENGINE_VERSION_TEXT_MAX];
    engine_version_format(e->engine.version, text);
    e->in.plan = &e->file.plan;
    e->in.arch = &e->arch;
    e->in.model = weights == NULL ? e->arch.name : weights;
    e->in.flags = &e->flags;
    describe_machine(e);
    return launch_flags_load(engine, text, &e->flags, err);
}

int emit_command(const CliArgs *args) {
    Emit e = {0};
    Err err = {0};
    Text out = {0};
    bool legal = false;
    bool good = load(&e, args, &err) && is_legal(&e, &legal, &err);
    if (good && legal) {
        if (cli_text(args, "weights") == NULL)
            text_addf(&out, "# --weights says what to load in place of %s\n", e.in.model);
        text_add(&out, text_string(&e.notes));
        legal = launch_write(&e.in, &out, &err);
    }
    free_emit(&e);
    if (good && legal) return output_text(&out, OUTPUT_OK);
    text_free(&out);
    if (!good) return output_bad(&err);
    output_message(err.text);
    return OUTPUT_NO;
}
