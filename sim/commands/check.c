// Asks an engine's rules about a saved plan, or about a model and a few numbers.
//
// Invariant: exit status 0 only when no rule is broken; what could not be decided is printed.
#include "sim/commands/check.h"

#include <inttypes.h>
#include <string.h>

#include "model/base/file.h"
#include "model/base/json.h"
#include "model/cost/gpus.h"
#include "model/machine/fabric.h"
#include "model/machine/topology.h"
#include "sim/commands/check_show.h"
#include "sim/commands/machine_option.h"
#include "sim/commands/output.h"
#include "sim/commands/plan_inputs.h"

// All that is read. Pointers inside point into it: not copied, not moved.
typedef struct CheckInputs {
    Arena arena;
    Engine engine;
    Arch arch;
    PlanFile file; // its plan is made of the options when the operand is a model
    DeviceCatalogue catalogue;
    Topology topology;
    Fabric fabric;
    EngineMachine machine;
    EngineSetting settings[ENGINE_OPTIONS_MAX];
    uint32_t setting_count;
} CheckInputs;

static void free_inputs(CheckInputs *in) {
    engine_unload(&in->engine);
    arch_free(&in->arch);
    plan_file_free(&in->file);
    fabric_free(&in->fabric);
    topology_free(&in->topology);
    device_free(&in->catalogue);
    arena_free(&in->arena);
}

// ---- From the options

static bool read_count(const CliArgs *args, const char *name, uint32_t *out, Err *err) {
    uint64_t count = cli_count(args, name);
    if (count == 0 || count > POOL_RANKS_MAX)
        return err_set(err, "--%s: expected 1 to %d, found %" PRIu64, name, POOL_RANKS_MAX, count);
    *out = (uint32_t)count;
    return true;
}

static bool make_plan(CheckInputs *in, const CliArgs *args, Err *err) {
    Pool *pool = &in->file.plan.pools[0];
    *pool = (Pool){.kind = POOL_UNIFIED,
                   .cp = 1,
                   .replicas = 1,
                   .activation_format = NUMFMT_BF16,
                   .dispatch_format = NUMFMT_FP8};
    if (!read_count(args, "tp", &pool->tp, err) || !read_count(args, "pp", &pool->pp, err) ||
        !read_count(args, "dp", &pool->dp, err) || !read_count(args, "ep", &pool->ep, err))
        return false;
    uint64_t ranks = (uint64_t)pool->tp * pool->dp;
    if (ranks * pool->pp > POOL_RANKS_MAX)
        return err_set(err, "tp %" PRIu32 " x dp %" PRIu32 " x pp %" PRIu32 " exceed %d GPUs",
                       pool->tp, pool->dp, pool->pp, POOL_RANKS_MAX);
    if (ranks % pool->ep != 0)
        return err_set(err, "--ep: expected a divisor of tp x dp = %" PRIu64 ", found %" PRIu32,
                       ranks, pool->ep);
    pool->moe_tp = (uint32_t)ranks / pool->ep;
    pool->micro_batches = pool->pp;
    pool->moe_comm = pool->dp == 1       ? MOE_COMM_NONE
                     : pool->ep == ranks ? MOE_COMM_ALL_TO_ALL
                                         : MOE_COMM_GATHER;
    pool->kv_format = cli_choice(args, "kv-format") == 0 ? NUMFMT_BF16 : NUMFMT_FP8;
    in->file.plan.pool_count = 1;
    return true;
}

// ---- From a plan file

// A file that says so; anything else is read as a model, whose reader says what is wrong.
static bool is_plan(const char *path) {
    Arena arena = {0};
    Json doc = {0};
    Err ignored = {0};
    char *bytes = NULL;
    size_t count = 0;
    const char *kind = "";
    bool is_json = file_read(path, FILE_CAP_B, &arena, &bytes, &count, &ignored) &&
                   json_parse(path, bytes, count, &doc, &ignored);
    bool found = is_json && json_kind(json_root(&doc)) == JSON_OBJECT &&
                 json_has(json_root(&doc), "moesim") &&
                 json_string(json_root(&doc), "moesim", &kind, &ignored) &&
                 strcmp(kind, "plan") == 0;
    json_free(&doc);
    arena_free(&arena);
    return found;
}

static bool read_saved(CheckInputs *in, const CliArgs *args, const char *path,
                       const char **out_topology, Err *err) {
    static const char *const numbers[] = {"tp", "pp", "dp", "ep", "kv-format"};
    const char *model, *assume = cli_text(args, "assume");
    uint64_t sequences;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (cli_is_given(args, numbers[i]))
            return err_set(err, "--%s: the plan in %s says it already", numbers[i], path);
    if (!plan_read(path, &in->file, err)) return false;
    if (!plan_inputs_find(path, "model", in->file.model, &in->arena, &model, err)) return false;
    bool done = assume != NULL ? arch_load_assuming(model, assume, &in->arch, err)
                               : plan_inputs_model(path, &in->file, model, &in->arena, &in->arch,
                                                   &sequences, err);
    if (!done) return false;
    return *out_topology != NULL || *in->file.topology == '\0' ||
           file_find_beside(path, in->file.topology, &in->arena, out_topology, err);
}

// ---- The machine

static bool read_machine(CheckInputs *in, const CliArgs *args, const char *name, Err *err) {
    if (name == NULL)
        return !cli_is_given(args, "device") ||
               err_set(err, "--device: expected --topo, whose GPUs it names");
    const Fabric *fabric = &in->fabric;
    const Device *device;
    if (!device_load(&in->catalogue, err) ||
        !machine_option_load(args, name, &in->catalogue, &in->topology, err) ||
        !fabric_build(&in->topology, &in->catalogue, &in->fabric, err) ||
        !gpus_device(fabric, name, GPUS_NEED_NOTHING, &device, err))
        return false;
    in->machine = (EngineMachine){device, fabric->node_size, fabric_live_gpu_count(fabric)};
    return true;
}

// What no rule of an engine asks, which sees one pool: an instance of one kind starts, but several
// must serve together, each on GPUs that are there.
static bool check_together(const CheckInputs *in, const char *path, Err *err) {
    const Plan *plan = &in->file.plan;
    uint32_t gpus = in->machine.machine_gpus;
    if (plan->pool_count > 1 && !plan_check_kinds(plan, err)) return err_prefix(err, "%s", path);
    for (uint32_t i = 0; gpus > 0 && i < plan->pool_count; i++) {
        const Pool *pool = &plan->pools[i];
        uint32_t ranks = pool_ranks(pool);
        if (ranks <= gpus && pool->first_gpu > gpus - ranks)
            return err_set(err,
                           "%s: pools[%" PRIu32 "]: GPUs %" PRIu32 "-%" PRIu64
                           " of a machine that has %" PRIu32,
                           path, i, pool->first_gpu, (uint64_t)pool->first_gpu + ranks - 1, gpus);
    }
    return true;
}

static bool read_inputs(CheckInputs *in, const CliArgs *args, Err *err) {
    const char *path, *topology = cli_text(args, "topo"), *set = cli_text(args, "set");
    if (!engine_load(cli_text(args, "engine"), cli_text(args, "engine-version"), &in->engine, err))
        return false;
    if (set != NULL &&
        !engine_split_settings(set, &in->arena, in->settings, &in->setting_count, err))
        return err_prefix(err, "--set");
    if (!file_find(args->operands[0], &in->arena, &path, err)) return false;
    if (is_plan(path) ? !read_saved(in, args, path, &topology, err)
                      : !arch_load_assuming(path, cli_text(args, "assume"), &in->arch, err) ||
                            !make_plan(in, args, err))
        return false;
    return read_machine(in, args, topology, err) && check_together(in, args->operands[0], err);
}

// ---- The answer

static bool ask_pools(CheckInputs *in, CheckPool *pools, bool *out_legal, Err *err) {
    *out_legal = true;
    for (uint32_t i = 0; i < in->file.plan.pool_count; i++) {
        EngineAsk ask = {&in->engine,  &in->file.plan,   i, &in->arch, in->machine,
                         in->settings, in->setting_count};
        if (!engine_nearest_ask(&ask, &in->arena, &pools[i].answer, err)) return false;
        if (pools[i].answer.is_legal) continue;
        *out_legal = false;
        if (!engine_nearest_find(&ask, &in->arena, pools[i].nearest, &pools[i].nearest_count, err))
            return false;
    }
    return true;
}

static bool answer(CheckInputs *in, const CliArgs *args, Text *out, bool *out_legal, Err *err) {
    CheckPool *pools = arena_alloc(&in->arena, PLAN_POOLS_MAX, sizeof *pools);
    if (!ask_pools(in, pools, out_legal, err)) return false;
    CheckResult result = {.engine = &in->engine,
                          .plan = &in->file.plan,
                          .pools = pools,
                          .model = in->arch.name,
                          .machine = in->topology.name != NULL ? in->topology.name : "",
                          .is_legal = *out_legal};
    if (cli_choice(args, "format") == 0)
        check_show_table(&result, out);
    else
        check_show_json(&result, out);
    return true;
}

int check_command(const CliArgs *args) {
    CheckInputs in = {0};
    Text out = {0};
    Err err = {0};
    bool is_legal = false;
    bool ok = read_inputs(&in, args, &err) && answer(&in, args, &out, &is_legal, &err);
    free_inputs(&in);
    if (!ok) {
        text_free(&out);
        return output_bad(&err);
    }
    return output_text(&out, is_legal ? OUTPUT_OK : OUTPUT_NO);
}
