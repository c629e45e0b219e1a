// Reads and searches the list of published machines and models.
//
// Invariant: nothing here depends on which case asks: a name stands for the same machine and the
// same config in all of them.
#include "sim/commands/validate_ranking_names.h"

#include <inttypes.h>
#include <string.h>

#include "model/base/file.h"
#include "model/base/json.h"
#include "model/base/text.h"

#define LIST_FILE "scenarios/records/rankings.json"

static bool read_machine(JsonNode item, Arena *arena, ValidateRankingMachine *out, Err *err) {
    const char *source;
    return json_text(item, "gpu", arena, &out->gpu, err) &&
           json_text(item, "topology", arena, &out->topology, err) &&
           json_u32(item, "gpus", &out->gpus, err) && json_string(item, "source", &source, err) &&
           json_finish(item, err);
}

static bool read_kv_format(JsonNode item, ValidateRankingModel *out, Err *err) {
    static const char *const names[] = {"bf16", "fp8"};
    uint32_t which = 0;
    if (json_has(item, "kv_format") && !json_enum(item, "kv_format", names, 2, &which, err))
        return false;
    out->kv_format = which == 0 ? NUMFMT_BF16 : NUMFMT_FP8;
    return true;
}

static bool read_model(JsonNode item, Arena *arena, ValidateRankingModel *out, Err *err) {
    const char *source;
    return json_text(item, "model", arena, &out->model, err) &&
           json_text(item, "precision", arena, &out->precision, err) &&
           json_text(item, "published", arena, &out->published, err) &&
           read_kv_format(item, out, err) && json_string(item, "source", &source, err) &&
           json_finish(item, err);
}

static bool read_list(JsonNode root, ValidateRankingNames *out, Err *err) {
    JsonNode machines, models;
    if (!json_header(root, "published rankings", VALIDATE_RANKING_NAMES_VERSION, err) ||
        !json_array(root, "machines", &machines, err) || !json_array(root, "models", &models, err))
        return false;
    out->machines = arena_alloc(&out->arena, json_count(machines), sizeof *out->machines);
    out->models = arena_alloc(&out->arena, json_count(models), sizeof *out->models);
    for (uint32_t i = 0; i < json_count(machines); i++)
        if (!read_machine(json_at(machines, i), &out->arena, &out->machines[out->machine_count++],
                          err))
            return false;
    for (uint32_t i = 0; i < json_count(models); i++)
        if (!read_model(json_at(models, i), &out->arena, &out->models[out->model_count++], err))
            return false;
    return json_finish(root, err);
}

// Takes over the document.
static bool finish_list(Json *doc, ValidateRankingNames *names, ValidateRankingNames *out,
                        Err *err) {
    bool good = read_list(json_root(doc), names, err);
    json_free(doc);
    if (good)
        *out = *names;
    else
        arena_free(&names->arena);
    return good;
}

bool validate_ranking_names_open(ValidateRankingNames *out, Err *err) {
    ValidateRankingNames names = {0};
    Json doc = {0};
    const char *path;
    if (file_data(LIST_FILE, &names.arena, &path, err) && json_read(path, &doc, err))
        return finish_list(&doc, &names, out, err);
    arena_free(&names.arena);
    return false;
}

bool validate_ranking_names_parse(const char *name, const char *bytes, size_t count,
                                  ValidateRankingNames *out, Err *err) {
    ValidateRankingNames names = {0};
    Json doc = {0};
    return json_parse(name, bytes, count, &doc, err) && finish_list(&doc, &names, out, err);
}

void validate_ranking_names_free(ValidateRankingNames *names) {
    arena_free(&names->arena);
    *names = (ValidateRankingNames){0};
}

const ValidateRankingMachine *validate_ranking_names_machine(const ValidateRankingNames *names,
                                                             const char *gpu, uint32_t gpus,
                                                             Err *reason) {
    char quote[TEXT_QUOTE_MAX];
    for (uint32_t i = 0; i < names->machine_count; i++) {
        const ValidateRankingMachine *machine = &names->machines[i];
        if (machine->gpus >= gpus && strcmp(machine->gpu, gpu) == 0) return machine;
    }
    err_set(reason, "no machine of %" PRIu32 " GPUs %s is listed", gpus, text_quote(gpu, quote));
    return NULL;
}

const ValidateRankingModel *validate_ranking_names_model(const ValidateRankingNames *names,
                                                         const char *model, const char *precision,
                                                         Err *reason) {
    char quote[TEXT_QUOTE_MAX], other[TEXT_QUOTE_MAX];
    for (uint32_t i = 0; i < names->model_count; i++) {
        const ValidateRankingModel *row = &names->models[i];
        if (strcmp(row->model, model) == 0 && strcmp(row->precision, precision) == 0) return row;
    }
    err_set(reason, "model %s in %s is not listed", text_quote(model, quote),
            text_quote(precision, other));
    return NULL;
}
