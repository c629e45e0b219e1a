// The command scale: reads a saved plan, makes its pool, model and load smaller, simulates the
// result and saves it like any other plan.
//
// Invariant: what is saved is read by every command that takes a plan, and says what it was made
// from.
#include "sim/commands/scale.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model/base/interrupt.h"
#include "model/base/table.h"
#include "model/moe/config_scale.h"
#include "model/plan/plan_legal.h"
#include "model/plan/scale.h"
#include "sim/commands/inputs.h"
#include "sim/commands/output.h"
#include "sim/commands/saved.h"

#define JSON_VERSION 1
#define DIVIDE_MAX   4096 // more than any hidden size is worth dividing by

// What is compared, of the plan as it was and of the smaller one.
typedef struct Side {
    Plan plan;
    uint32_t layers, hidden, experts;
    uint64_t parameters, concurrency;
} Side;

typedef struct Scaling {
    const CliArgs *args;
    PlanFile file;
    Inputs inputs;
    ConfigScale scale;
    Side before, after;
    uint64_t sequences;
    Evaluation evaluation;
} Scaling;

// The feed-forward block with the most experts; NULL in a dense model.
static const MlpSpec *routed(const Arch *arch) {
    const MlpSpec *most = NULL;
    for (uint32_t i = 0; i < arch->mlp_count; i++)
        if (arch->mlps[i].experts > (most == NULL ? 0 : most->experts)) most = &arch->mlps[i];
    return most;
}

static Side side_of(const Inputs *inputs, const Plan *plan) {
    const Arch *arch = &inputs->arch;
    const MlpSpec *mlp = routed(arch);
    return (Side){.plan = *plan,
                  .layers = arch->layers,
                  .hidden = arch->hidden,
                  .experts = mlp == NULL ? 0 : mlp->experts,
                  .parameters = arch->totals.parameters,
                  .concurrency = inputs->scenario.concurrency};
}

// ---- What the user asks for

// "1/16" or "16".
static bool read_divide(const CliArgs *args, uint32_t *out, Err *err) {
    const char *text = cli_text(args, "hidden");
    uint64_t value = 1;
    const char *digits = text != NULL && strncmp(text, "1/", 2) == 0 ? text + 2 : text;
    if (text != NULL && (!text_parse_u64(digits, &value) || value == 0 || value > DIVIDE_MAX))
        return err_set(err, "--hidden: expected a part such as 1/16 (1/%d at most), found \"%s\"",
                       DIVIDE_MAX, text);
    *out = (uint32_t)value;
    return true;
}

static bool read_count(const CliArgs *args, const char *option, uint32_t most, uint32_t *out,
                       Err *err) {
    if (!cli_is_given(args, option)) return true;
    uint64_t value = cli_count(args, option);
    if (value == 0 || value > most)
        return err_set(err, "--%s: expected 1 to %" PRIu32 ", found %" PRIu64, option, most, value);
    *out = (uint32_t)value;
    return true;
}

// ---- The smaller inputs

static const char *small_name(const Inputs *inputs, Arena *arena) {
    const char *slash = strrchr(inputs->arch_files.name, '/');
    const char *name = slash == NULL ? inputs->arch_files.name : slash + 1;
    size_t length = strlen(name);
    if (length > 5 && strcmp(name + length - 5, ".json") == 0) length -= 5;
    return arena_printf(arena, "%.*s-scaled.json", (int)length, name);
}

static bool scale_model(Scaling *scaling, Err *err) {
    Inputs *inputs = &scaling->inputs;
    ArchInput files = inputs->arch_files;
    Text text = {0};
    if (!config_scale_write(&files, &scaling->scale, &text, err)) return false;
    files.name = small_name(inputs, &inputs->arena);
    files.bytes = arena_string(&inputs->arena, text_string(&text));
    files.count = text.length;
    text_free(&text);
    return inputs_replace_model(&files, inputs, err) ||
           err_prefix(err, "the smaller model is no legal one");
}

static bool set_field(Scaling *scaling, ScenarioField field, const char *option, const char *text,
                      Err *err) {
    return scenario_set(&scaling->inputs.scenario, field, option, text, err);
}

// As many requests as give every rank the sequences that it had, unless the user says how many.
static bool scale_scenario(Scaling *scaling, Err *err) {
    static const struct {
        const char *option, *flag;
        ScenarioField field;
    } overrides[] = {{"isl", "--isl", SCENARIO_ISL}, {"osl", "--osl", SCENARIO_OSL}};
    Scenario *scenario = &scaling->inputs.scenario;
    const Pool *pool = &scaling->after.plan.pools[0];
    const char *asked = cli_text(scaling->args, "concurrency");
    char count[24];
    for (size_t i = 0; i < sizeof overrides / sizeof *overrides; i++)
        if (cli_is_given(scaling->args, overrides[i].option) &&
            !set_field(scaling, overrides[i].field, overrides[i].flag,
                       cli_text(scaling->args, overrides[i].option), err))
            return false;
    uint64_t slots = (uint64_t)pool->dp * pool->micro_batches * pool->replicas;
    snprintf(count, sizeof count, "%" PRIu64, scaling->inputs.sequences * slots);
    if (!set_field(scaling, SCENARIO_CONCURRENCY, "--concurrency", asked != NULL ? asked : count,
                   err))
        return false;
    scaling->sequences = space_sequences(pool, scenario->concurrency);
    scenario_rehash(scenario);
    return scenario_check(scenario, scaling->inputs.arch.max_context, err);
}

// A processor whose SMs are not told, such as a core, has none to give to kernels of an all-to-all.
static void drop_sms(const Device *device, Pool *pool) {
    if (device != NULL && device->compute_units == 0) pool->prefill_sms = pool->decode_sms = 0;
}

static bool scale_machine(Scaling *scaling, Err *err) {
    static const char *const of_machine[] = {"device", "degrade"};
    const char *name = cli_text(scaling->args, "topo");
    for (size_t i = 0; name == NULL && i < sizeof of_machine / sizeof *of_machine; i++)
        if (cli_is_given(scaling->args, of_machine[i]))
            return err_set(err, "--%s: expected --topo with it", of_machine[i]);
    Inputs *inputs = &scaling->inputs;
    uint32_t ranks = pool_ranks(&scaling->after.plan.pools[0]);
    if (name != NULL && !inputs_replace_machine(scaling->args, name, inputs, err)) return false;
    drop_sms(inputs->model.device, &scaling->after.plan.pools[0]);
    uint32_t gpus = fabric_live_gpu_count(&inputs->fabric);
    return ranks <= gpus || err_set(err, "%s: %" PRIu32 " GPUs, expected at least %" PRIu32,
                                    inputs->topology_name, gpus, ranks);
}

static bool scale_all(Scaling *scaling, Err *err) {
    const CliArgs *args = scaling->args;
    const Pool *pool = &scaling->before.plan.pools[0];
    Pool *small = &scaling->after.plan.pools[0];
    uint32_t ranks = pool_ranks(pool);
    scaling->after.plan = scaling->before.plan;
    if (!read_divide(args, &scaling->scale.divide, err) ||
        !read_count(args, "layers", scaling->before.layers, &scaling->scale.layers, err) ||
        !read_count(args, "ranks", ranks, &ranks, err) || !scale_pool(pool, ranks, small, err))
        return false;
    scaling->scale.experts = scale_experts(pool, routed(&scaling->inputs.arch), small);
    if (!read_count(args, "experts", scaling->before.experts, &scaling->scale.experts, err) ||
        !scale_model(scaling, err) || !scale_machine(scaling, err) || !scale_scenario(scaling, err))
        return false;
    Plan plan = scaling->after.plan;
    scaling->after = side_of(&scaling->inputs, &plan);
    return plan_legal(&plan, &scaling->inputs.arch, err) ||
           err_prefix(err, "the smaller plan cannot run the smaller model");
}

// A load is of the experts that it was recorded of.
static bool read_plan(Scaling *scaling, const char *path, Err *err) {
    if (!plan_read(path, &scaling->file, err) ||
        !inputs_load_beside(path, &scaling->file, &scaling->inputs, err))
        return false;
    if (scaling->inputs.load.kind != LOAD_UNIFORM)
        return err_set(err, "%s: expected a uniform load: a recorded one is of %" PRIu32 " experts",
                       path, scaling->inputs.load.experts);
    scaling->before = side_of(&scaling->inputs, &scaling->file.plan);
    return true;
}

static bool evaluate(Scaling *scaling, Err *err) {
    EvaluateInput input = inputs_for_ranking(&scaling->inputs);
    input.keep_phases = true;
    return evaluate_plan(&input, &scaling->after.plan, scaling->sequences, &scaling->evaluation,
                         err);
}

// ---- What is said of it

// What the smaller pool has too few ranks for, or its GPUs no SMs.
static const char *dropped(const Pool *before, const Pool *after, Arena *arena) {
    const struct {
        const char *name;
        uint32_t was, is;
    } fields[] = {
        {"prefill_overlap", before->prefill_overlap, after->prefill_overlap},
        {"decode_overlap", before->decode_overlap, after->decode_overlap},
        {"moe_chunks", before->moe_chunks, after->moe_chunks},
        {"prefill_sms", before->prefill_sms, after->prefill_sms},
        {"decode_sms", before->decode_sms, after->decode_sms},
        {"expert_placement", before->expert_placement, after->expert_placement},
    };
    const char *text = "";
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (fields[i].was != fields[i].is)
            text = arena_printf(arena, "%s%s%s", text, *text == '\0' ? "; dropped: " : ", ",
                                fields[i].name);
    return text;
}

static const char *origin_of(Scaling *scaling) {
    char digest[17];
    const char *path = scaling->args->operands[0], *slash = strrchr(path, '/');
    const Side *before = &scaling->before, *after = &scaling->after;
    return arena_printf(
        &scaling->inputs.arena,
        "scaled from %s (plan digest %s): %" PRIu32 " of %" PRIu32 " ranks, hidden %" PRIu32
        " of %" PRIu32 ", %" PRIu32 " of %" PRIu32 " layers, %" PRIu32 " of %" PRIu32 " experts%s",
        slash == NULL ? path : slash + 1, hash_format(plan_digest(&before->plan), digest),
        pool_ranks(&after->plan.pools[0]), pool_ranks(&before->plan.pools[0]), after->hidden,
        before->hidden, after->layers, before->layers, after->experts, before->experts,
        dropped(&before->plan.pools[0], &after->plan.pools[0], &scaling->inputs.arena));
}

static void add_row(Table *table, const char *name, uint64_t before, uint64_t after) {
    table_cell(table, name);
    table_cellf(table, "%" PRIu64, before);
    table_cellf(table, "%" PRIu64, after);
}

static void show_text(const Scaling *scaling, Text *out) {
    const Side *before = &scaling->before, *after = &scaling->after;
    char label[PLAN_TEXT_MAX], time[UNITS_TEXT_MAX];
    Table table = {0};
    table_column(&table, "", TABLE_LEFT);
    table_column(&table, "as saved", TABLE_RIGHT);
    table_column(&table, "scaled", TABLE_RIGHT);
    table_cell(&table, "plan");
    table_cell(&table, plan_label(&before->plan, label));
    table_cell(&table, plan_label(&after->plan, label));
    add_row(&table, "ranks", pool_ranks(&before->plan.pools[0]), pool_ranks(&after->plan.pools[0]));
    add_row(&table, "layers", before->layers, after->layers);
    add_row(&table, "hidden size", before->hidden, after->hidden);
    add_row(&table, "experts", before->experts, after->experts);
    add_row(&table, "parameters, M", before->parameters / 1000000, after->parameters / 1000000);
    add_row(&table, "concurrency", before->concurrency, after->concurrency);
    table_print(&table, out);
    table_free(&table);
    text_addf(out, "\non %s: TTFT %s", scaling->inputs.topology_name,
              units_format_time(scaling->evaluation.ttft_ps, time));
    text_addf(out, ", TPOT %s\n", units_format_time(scaling->evaluation.tpot_ps, time));
}

static void write_side(JsonWriter *writer, const char *key, const Side *side) {
    char label[PLAN_TEXT_MAX];
    jsonw_open_object(writer, key);
    jsonw_string(writer, "plan", plan_label(&side->plan, label));
    jsonw_u64(writer, "ranks", pool_ranks(&side->plan.pools[0]));
    jsonw_u64(writer, "layers", side->layers);
    jsonw_u64(writer, "hidden_size", side->hidden);
    jsonw_u64(writer, "experts", side->experts);
    jsonw_u64(writer, "parameters", side->parameters);
    jsonw_u64(writer, "concurrency", side->concurrency);
    jsonw_close_object(writer);
}

static void show_json(Scaling *scaling, Text *out) {
    JsonWriter writer = {.text = out};
    jsonw_open_object(&writer, NULL);
    jsonw_string(&writer, "moesim", "scale");
    jsonw_u64(&writer, "version", JSON_VERSION);
    jsonw_string(&writer, "origin", origin_of(scaling));
    write_side(&writer, "as_saved", &scaling->before);
    write_side(&writer, "scaled", &scaling->after);
    saved_write_figures(&writer, &scaling->evaluation);
    jsonw_close_object(&writer);
    jsonw_finish(&writer);
}

static void show_csv(const Scaling *scaling, Text *out) {
    const Side *sides[] = {&scaling->before, &scaling->after};
    char label[PLAN_TEXT_MAX];
    text_add(out, "plan,ranks,layers,hidden_size,experts,parameters,concurrency\n");
    for (uint32_t i = 0; i < 2; i++)
        text_addf(out, "%s,%u,%u,%u,%u,%" PRIu64 ",%" PRIu64 "\n",
                  plan_label(&sides[i]->plan, label), pool_ranks(&sides[i]->plan.pools[0]),
                  sides[i]->layers, sides[i]->hidden, sides[i]->experts, sides[i]->parameters,
                  sides[i]->concurrency);
}

static bool save(Scaling *scaling, const Text *json, const Text *csv, Err *err) {
    Interrupt interrupt;
    SavedPlan saved = {.plan = scaling->after.plan, .origin = origin_of(scaling)};
    saved_write_result(scaling->inputs.assume, scaling->sequences, &scaling->evaluation,
                       &saved.result);
    interrupt_begin(&interrupt);
    bool done = saved_write_plans(scaling->args, &scaling->inputs, &saved, 1,
                                  &(SavedReport){json, csv, NULL}, err);
    interrupt_end(&interrupt);
    text_free(&saved.result);
    return done;
}

int scale_command(const CliArgs *args) {
    Scaling scaling = {.args = args};
    Text json = {0}, csv = {0}, out = {0};
    Err err = {0};
    bool good = saved_check(args, &err) && read_plan(&scaling, args->operands[0], &err) &&
                scale_all(&scaling, &err) && evaluate(&scaling, &err);
    if (good) {
        show_json(&scaling, &json);
        show_csv(&scaling, &csv);
        good = save(&scaling, &json, &csv, &err);
    }
    if (good && cli_choice(args, "format") == 0)
        show_text(&scaling, &out);
    else if (good)
        text_add(&out, text_string(&json));
    evaluate_free(&scaling.evaluation);
    inputs_free(&scaling.inputs);
    plan_file_free(&scaling.file);
    text_free(&json);
    text_free(&csv);
    return good ? output_text(&out, OUTPUT_OK) : output_bad(&err);
}
