// Saved plans: every file stands for itself, and together they hold all that a prediction depends
// on.
#include "sim/commands/saved.h"

#include <stdio.h>
#include <string.h>

#include "model/base/file.h"
#include "model/base/json.h"

static void write_seconds(JsonWriter *writer, const char *key, Time ps) {
    jsonw_double(writer, key, units_seconds(ps));
}

void saved_write_figures(JsonWriter *writer, const Evaluation *e) {
    jsonw_double(writer, "output_tok_per_s_per_gpu", e->tok_s_per_gpu);
    jsonw_double(writer, "output_tok_per_s_per_user", e->tok_s_per_user);
    jsonw_double(writer, "output_tok_per_s", e->output_tok_s);
    jsonw_u64(writer, "requests_in_flight", e->requests);
    write_seconds(writer, "ttft_s", e->ttft_ps);
    write_seconds(writer, "ttft_lower_bound_s", e->ttft_bound_ps);
    write_seconds(writer, "tpot_s", e->tpot_ps);
    write_seconds(writer, "tpot_lower_bound_s", e->tpot_bound_ps);
    write_seconds(writer, "prefill_of_cycle_s", e->prefill_ps);
    if (e->usd_per_mtok > 0)
        jsonw_double(writer, "usd_per_million_output_tok", e->usd_per_mtok);
    else
        jsonw_null(writer, "usd_per_million_output_tok");
    jsonw_string(writer, "bottleneck", evaluate_part_name(e->bottleneck));
    jsonw_string(writer, "confidence", calib_provenance_names[e->confidence]);
}

void saved_write_result(const char *assume, uint64_t sequences, const Evaluation *evaluation,
                        Text *out) {
    JsonWriter writer = {.text = out};
    jsonw_open_object(&writer, NULL);
    jsonw_string(&writer, "assume", assume);
    jsonw_u64(&writer, "sequences_per_rank_and_micro_batch", sequences);
    saved_write_figures(&writer, evaluation);
    jsonw_digest(&writer, "timelines_digest", evaluation->timelines);
    jsonw_close_object(&writer);
}

bool saved_read_result(const char *result, Arena *arena, const char **out_assume,
                       uint64_t *out_sequences, Err *err) {
    Json json = {0};
    const char *assume;
    uint64_t sequences;
    if (*result == '\0') return err_set(err, "the plan was saved without a prediction");
    if (!json_parse("result", result, strlen(result), &json, err)) return false;
    JsonNode root = json_root(&json);
    bool done = json_string(root, "assume", &assume, err) &&
                json_u64(root, "sequences_per_rank_and_micro_batch", &sequences, err);
    if (done && (sequences == 0 || sequences > SAVED_SEQUENCES_MAX))
        done = json_error(json_find(root, "sequences_per_rank_and_micro_batch"), err,
                          "expected 1 to %d, found %llu", SAVED_SEQUENCES_MAX,
                          (unsigned long long)sequences);
    if (done) {
        *out_assume = arena_string(arena, assume);
        *out_sequences = sequences;
    }
    json_free(&json);
    return done;
}

// ---- The folder

static bool write_file(const char *folder, const char *name, const char *bytes, size_t count,
                       Err *err) {
    Arena scratch = {0};
    bool done = file_write(arena_printf(&scratch, "%s/%s", folder, name), bytes, count, err);
    arena_free(&scratch);
    return done;
}

static bool write_text(const char *folder, const char *name, const Text *text, Err *err) {
    return write_file(folder, name, text_string(text), text->length, err);
}

// True for names that the folder uses for something else than the model.
static bool is_reserved(const char *name) {
    static const char *const names[] = {"topology.json", "scenario.json", "calibration.json",
                                        "rank.json", "load.json"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return strncmp(name, "plan-", 5) == 0;
}

// The model keeps its file's name, which messages and tables show.
static const char *name_of_model(const Inputs *inputs) {
    const char *slash = strrchr(inputs->arch_files.name, '/');
    const char *name = slash == NULL ? inputs->arch_files.name : slash + 1;
    return is_reserved(name) ? "model.json" : name;
}

// The config and what stands beside it.
static bool write_model(const char *folder, const char *name, const ArchInput *files, Err *err) {
    if (!write_file(folder, name, files->bytes, files->count, err)) return false;
    if (files->quant_name == NULL) return true;
    Arena arena = {0};
    bool done = write_file(folder, arch_quant_path(name, &arena), files->quant_bytes,
                           files->quant_count, err);
    arena_free(&arena);
    return done;
}

// Writes the inputs, and their names and digests into *out, which borrows from inputs.
static bool write_inputs(const char *folder, const Inputs *inputs, PlanFile *out, Err *err) {
    const InputFile *calib = &inputs->calib_file;
    *out = (PlanFile){.model = name_of_model(inputs),
                      .topology = "topology.json",
                      .scenario = "scenario.json",
                      .calibration = "calibration.json",
                      .model_digest = inputs->arch.digest,
                      .topology_digest = inputs->topology.digest,
                      .scenario_digest = inputs->scenario.digest,
                      .calibration_digest = inputs->calib.digest};
    Text topology = {0}, scenario = {0}, load = {0};
    topology_write(&inputs->topology, &topology);
    scenario_write(&inputs->scenario, &scenario);
    bool done = write_text(folder, out->topology, &topology, err) &&
                write_text(folder, out->scenario, &scenario, err) &&
                write_model(folder, out->model, &inputs->arch_files, err) &&
                write_file(folder, out->calibration, calib->bytes, calib->count, err);
    if (done && inputs->load.kind != LOAD_UNIFORM) {
        out->load = "load.json";
        out->load_digest = inputs->load.digest;
        load_write(&inputs->load, &load);
        done = write_text(folder, out->load, &load, err);
    }
    text_free(&topology);
    text_free(&scenario);
    text_free(&load);
    return done;
}

static bool write_plan(const char *folder, const PlanFile *names, const Inputs *inputs,
                       const RankRow *row, uint32_t number, Err *err) {
    char name[32];
    Text result = {0}, text = {0};
    snprintf(name, sizeof name, "plan-%03u.json", number);
    saved_write_result(inputs->assume, row->sequences, &row->evaluation, &result);
    PlanFile file = *names;
    file.plan = row->plan;
    file.result = text_string(&result);
    plan_write(&file, &text);
    bool done = write_text(folder, name, &text, err);
    text_free(&result);
    text_free(&text);
    return done;
}

bool saved_write(const char *folder, const Inputs *inputs, const Ranking *ranking, uint32_t plans,
                 const Text *rank_json, Err *err) {
    PlanFile names = {0};
    if (!write_inputs(folder, inputs, &names, err)) return false;
    for (uint32_t i = 0; i < plans; i++)
        if (!write_plan(folder, &names, inputs, &ranking->rows[i], i + 1, err)) return false;
    return write_text(folder, "rank.json", rank_json, err);
}
