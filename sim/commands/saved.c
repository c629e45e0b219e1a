// Saved plans: every file stands for itself, and together they hold all that a prediction depends
// on.
//
// Invariant: the folder that was there before stays as it is until all files of the new one are on
// the disk.
#include "sim/commands/saved.h"

#include <stdio.h>
#include <string.h>

#include "model/base/file.h"
#include "model/base/folder.h"
#include "model/base/interrupt.h"
#include "model/base/json.h"
#include "model/plan/launch_shell.h"
#include "sim/commands/manifest.h"
#include "sim/commands/rank_show.h"
#include "sim/commands/report.h"

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
    jsonw_digest(&writer, "prefill_schedule_digest", evaluation->prefill_phase.timeline.schedule);
    jsonw_digest(&writer, "decode_schedule_digest", evaluation->decode_phase.timeline.schedule);
    jsonw_digest(&writer, "timelines_digest", evaluation->timelines);
    jsonw_close_object(&writer);
}

bool saved_is_same_result(const char *result, const char *other) {
    size_t length = strlen(result), other_length = strlen(other);
    while (length > 0 && result[length - 1] == '\n') length--;
    while (other_length > 0 && other[other_length - 1] == '\n') other_length--;
    return length == other_length && memcmp(result, other, length) == 0;
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

// What is being saved, and where to.
typedef struct Folder {
    const char *work;
    const Inputs *inputs;
    const Ranking *ranking; // NULL: of `saved` plans
    const SavedPlan *saved;
    const Text *csv, *html; // of saved plans
    uint32_t plans;
    Manifest manifest;
    Err *err;
} Folder;

static bool write_file(Folder *folder, const char *name, const char *bytes, size_t count) {
    Arena scratch = {0};
    char *path = arena_printf(&scratch, "%s/%s", folder->work, name);
    bool done = file_write(path, bytes, count, folder->err);
    if (done) manifest_add(&folder->manifest, name, bytes, count);
    arena_free(&scratch);
    return done;
}

static bool write_text(Folder *folder, const char *name, const Text *text) {
    return write_file(folder, name, text_string(text), text->length);
}

// True for names that the folder uses for something else than the model.
static bool is_reserved(const char *name) {
    static const char *const names[] = {"topology.json", "scenario.json", "calibration.json",
                                        "load.json",     "report.json",   "report.csv",
                                        "report.html",   "reproduce.sh",  MANIFEST_NAME};
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
static bool write_model(Folder *folder, const char *name, const ArchInput *files) {
    if (!write_file(folder, name, files->bytes, files->count)) return false;
    if (files->quant_name == NULL) return true;
    Arena arena = {0};
    bool done =
        write_file(folder, arch_quant_path(name, &arena), files->quant_bytes, files->quant_count);
    arena_free(&arena);
    return done;
}

// Writes the inputs, and their names and digests into *out, which borrows from them.
static bool write_inputs(Folder *folder, PlanFile *out) {
    const Inputs *inputs = folder->inputs;
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
    bool done = write_text(folder, out->topology, &topology) &&
                write_text(folder, out->scenario, &scenario) &&
                write_model(folder, out->model, &inputs->arch_files) &&
                write_file(folder, out->calibration, calib->bytes, calib->count);
    if (done && inputs->load.kind != LOAD_UNIFORM) {
        out->load = "load.json";
        out->load_digest = inputs->load.digest;
        load_write(&inputs->load, &load);
        done = write_text(folder, out->load, &load);
    }
    text_free(&topology);
    text_free(&scenario);
    text_free(&load);
    return done;
}

static bool write_plan_file(Folder *folder, const PlanFile *names, uint32_t index,
                            const SavedPlan *saved) {
    char name[32];
    Text text = {0};
    snprintf(name, sizeof name, "plan-%03u.json", index + 1);
    PlanFile file = *names;
    file.plan = saved->plan;
    file.origin = saved->origin;
    file.result = text_string(&saved->result);
    plan_write(&file, &text);
    bool done = write_text(folder, name, &text);
    text_free(&text);
    return done;
}

// The plan is simulated again, because a ranking keeps no schedules.
static bool write_plan(Folder *folder, const PlanFile *names, uint32_t index) {
    const RankRow *row = &folder->ranking->rows[index];
    EvaluateInput input = inputs_for_ranking(folder->inputs);
    Evaluation evaluation;
    SavedPlan saved = {.plan = row->plan};
    input.keep_phases = true;
    if (!evaluate_plan(&input, &row->plan, row->sequences, &evaluation, folder->err)) return false;
    saved_write_result(folder->inputs->assume, row->sequences, &evaluation, &saved.result);
    evaluate_free(&evaluation);
    bool done = write_plan_file(folder, names, index, &saved);
    text_free(&saved.result);
    return done;
}

static bool write_plans(Folder *folder, const PlanFile *names) {
    for (uint32_t i = 0; i < folder->plans; i++) {
        if (interrupt_came()) return err_set(folder->err, "interrupted: nothing was saved");
        const SavedPlan *saved = folder->ranking == NULL ? &folder->saved[i] : NULL;
        if (saved == NULL ? !write_plan(folder, names, i)
                          : !write_plan_file(folder, names, i, saved))
            return false;
    }
    return true;
}

static bool write_report(Folder *folder, const Text *json) {
    Text csv = {0}, html = {0};
    if (folder->ranking == NULL)
        return write_text(folder, "report.json", json) &&
               write_text(folder, "report.csv", folder->csv) &&
               (folder->html == NULL || write_text(folder, "report.html", folder->html));
    rank_show_csv(folder->ranking, NULL, folder->ranking->row_count, &csv);
    report_html(folder->inputs, folder->ranking, folder->plans, &html);
    bool done = write_text(folder, "report.json", json) && write_text(folder, "report.csv", &csv) &&
                write_text(folder, "report.html", &html);
    text_free(&csv);
    text_free(&html);
    return done;
}

// A script: run as it is, it simulates the saved plans again; with the word rank, it repeats the
// command line, every word as it was given.
static bool write_commands(Folder *folder, const CliArgs *args) {
    Text text = {0};
    text_add(&text,
             "#!/bin/sh\n"
             "# sh reproduce.sh: simulates each plan from the files beside this one and says "
             "whether its prediction came out again\n"
             "# sh reproduce.sh rank: the ranking, started where it was started first\n"
             "set -e\n"
             "if [ \"${1-}\" = rank ]; then\n    exec moesim");
    for (uint32_t i = 0; i < args->word_count; i++) {
        text_add_char(&text, ' ');
        launch_shell_quote(args->words[i], &text);
    }
    text_add(&text, "\nfi\ncd \"$(dirname \"$0\")\"\n");
    for (uint32_t i = 0; i < folder->plans; i++)
        text_addf(&text, "moesim simulate plan-%03u.json\n", i + 1);
    bool done = write_text(folder, "reproduce.sh", &text);
    text_free(&text);
    return done;
}

static bool write_manifest(Folder *folder) {
    Text text = {0};
    manifest_write(&folder->manifest, &text);
    bool done = write_text(folder, MANIFEST_NAME, &text);
    text_free(&text);
    return done;
}

static bool write_files(Folder *folder, const CliArgs *args, const Text *json) {
    PlanFile names = {0};
    return write_inputs(folder, &names) && write_plans(folder, &names) &&
           write_report(folder, json) && write_commands(folder, args) && write_manifest(folder);
}

bool saved_check(const CliArgs *args, Err *err) {
    const char *path = cli_text(args, "save");
    FolderState state;
    if (path == NULL && cli_is_given(args, "force"))
        return err_set(err, "--force: expected --save, whose folder it replaces");
    if (path == NULL) return true;
    if (!folder_probe(path, &state, err)) return false;
    if (state != FOLDER_FULL) return true;
    if (cli_is_given(args, "force")) return manifest_covers(path, err);
    return err_set(err,
                   "%s: the folder is not empty, expected a new or an empty one; --force replaces "
                   "what moesim saved there",
                   path);
}

// What is not as moesim wrote it is never removed, not even when it came in the last moment.
static bool replace(const char *work, const char *path, Err *err) {
    Arena arena = {0};
    const char *aside;
    bool done = folder_replace(work, path, &arena, &aside, err);
    if (done && !manifest_covers(aside, err))
        done = err_prefix(err, "%s was changed meanwhile, what was there is kept", path);
    else if (done)
        folder_abandon(aside);
    arena_free(&arena);
    return done;
}

// Looked at once more: what others did meanwhile counts.
static bool publish(const CliArgs *args, const char *work, Err *err) {
    const char *path = cli_text(args, "save");
    FolderState state;
    if (!saved_check(args, err) || !folder_probe(path, &state, err)) {
        folder_abandon(work);
        return false;
    }
    return state == FOLDER_FULL ? replace(work, path, err) : folder_end(work, path, err);
}

// Whole or not at all. Does nothing without --save.
static bool write_folder(Folder *folder, const CliArgs *args, const Text *json) {
    const char *path = cli_text(args, "save");
    if (path == NULL) return true;
    Arena arena = {0};
    bool done = folder_begin(path, &arena, &folder->work, folder->err);
    if (done && !write_files(folder, args, json)) {
        folder_abandon(folder->work);
        done = false;
    }
    done = done && publish(args, folder->work, folder->err);
    manifest_free(&folder->manifest);
    arena_free(&arena);
    return done;
}

bool saved_write(const CliArgs *args, const Inputs *inputs, const Ranking *ranking, uint32_t plans,
                 const Text *json, Err *err) {
    Folder folder = {.inputs = inputs, .ranking = ranking, .plans = plans, .err = err};
    return write_folder(&folder, args, json);
}

bool saved_write_plans(const CliArgs *args, const Inputs *inputs, const SavedPlan *plans,
                       uint32_t count, const SavedReport *report, Err *err) {
    Folder folder = {.inputs = inputs,
                     .saved = plans,
                     .csv = report->csv,
                     .html = report->html,
                     .plans = count,
                     .err = err};
    return write_folder(&folder, args, report->json);
}
