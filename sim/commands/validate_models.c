// Finds the config of a published model, or one of equal shape, and reads it.
//
// Invariant: what is known about a published model stands in the list with its source; nothing
// depends on which record asks.
#include "sim/commands/validate_models.h"

#include <string.h>
#include <sys/stat.h>

#include "model/base/file.h"
#include "model/base/json.h"
#include "model/base/text.h"

#define LIST_FILE "scenarios/records/models.json"

static const char *const without_names[VALIDATE_WITHOUT_COUNT] = {
#define X(name, text) text,
    VALIDATE_WITHOUT_LIST(X)
#undef X
};

bool validate_models_is_folder(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static bool is_file(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

// ---- The list

static bool read_configs(JsonNode item, Arena *arena, ValidateShape *out, Err *err) {
    JsonNode list;
    if (!json_array(item, "configs", &list, err)) return false;
    const char **configs = arena_alloc(arena, json_count(list), sizeof *configs);
    for (uint32_t i = 0; i < json_count(list); i++) {
        const char *config;
        if (!json_as_string(json_at(list, i), &config, err)) return false;
        configs[i] = arena_string(arena, config);
    }
    out->configs = configs;
    out->config_count = json_count(list);
    return true;
}

static bool read_assumptions(JsonNode item, Arena *arena, ValidateShape *out, Err *err) {
    JsonNode object;
    if (!json_has(item, "assume")) return true;
    if (!json_object(item, "assume", &object, err)) return false;
    uint32_t count = json_count(object);
    if (count > ARCH_ASSUMPTIONS_MAX)
        return json_error(object, err, "%u fields, at most %d", count, ARCH_ASSUMPTIONS_MAX);
    ArchAssumption *assumptions = arena_alloc(arena, count, sizeof *assumptions);
    for (uint32_t i = 0; i < count; i++) {
        JsonNode field = json_at(object, i);
        const char *value;
        if (!json_as_string(field, &value, err)) return false;
        assumptions[i].field = arena_string(arena, json_key(field));
        assumptions[i].value = arena_string(arena, value);
    }
    json_ignore(item, "assume");
    out->assumptions = assumptions;
    out->assumption_count = count;
    return true;
}

static bool read_without(JsonNode item, ValidateShape *out, Err *err) {
    JsonNode list;
    if (!json_has(item, "without")) return true;
    if (!json_array(item, "without", &list, err)) return false;
    for (uint32_t i = 0; i < json_count(list); i++) {
        const char *name;
        uint32_t which = 0;
        if (!json_as_string(json_at(list, i), &name, err)) return false;
        while (which < VALIDATE_WITHOUT_COUNT && strcmp(without_names[which], name) != 0) which++;
        if (which == VALIDATE_WITHOUT_COUNT)
            return json_error(json_at(list, i), err,
                              "expected \"mtp\", \"mtp tables\" or \"vision\"");
        out->without[which] = true;
    }
    return true;
}

static bool read_shape(JsonNode item, Arena *arena, ValidateShape *out, Err *err) {
    const char *name, *source;
    if (!json_string(item, "name", &name, err) || !json_string(item, "source", &source, err) ||
        !read_configs(item, arena, out, err) || !read_assumptions(item, arena, out, err) ||
        !read_without(item, out, err))
        return false;
    out->name = arena_string(arena, name);
    return json_finish(item, err);
}

static const ValidateShape *find_shape(const ValidateModels *models, const char *name) {
    for (uint32_t i = 0; i < models->shape_count; i++)
        if (strcmp(models->shapes[i].name, name) == 0) return &models->shapes[i];
    return NULL;
}

static bool read_list(JsonNode root, ValidateModels *out, Err *err) {
    JsonNode list;
    if (!json_header(root, "published models", VALIDATE_MODELS_VERSION, err) ||
        !json_array(root, "models", &list, err))
        return false;
    out->shapes = arena_alloc(&out->arena, json_count(list), sizeof *out->shapes);
    for (uint32_t i = 0; i < json_count(list); i++) {
        ValidateShape shape = {0};
        if (!read_shape(json_at(list, i), &out->arena, &shape, err)) return false;
        if (find_shape(out, shape.name) != NULL)
            return json_error(json_at(list, i), err, "this model is listed twice");
        out->shapes[out->shape_count++] = shape;
    }
    return json_finish(root, err);
}

// Takes over the document.
static bool finish_list(Json *doc, ValidateModels *models, ValidateModels *out, Err *err) {
    bool good = read_list(json_root(doc), models, err);
    json_free(doc);
    if (good)
        *out = *models;
    else
        arena_free(&models->arena);
    return good;
}

bool validate_models_open(ValidateModels *out, Err *err) {
    ValidateModels models = {0};
    Json doc = {0};
    const char *path;
    if (file_data(LIST_FILE, &models.arena, &path, err) && json_read(path, &doc, err))
        return finish_list(&doc, &models, out, err);
    arena_free(&models.arena);
    return false;
}

bool validate_models_parse(const char *name, const char *bytes, size_t count, ValidateModels *out,
                           Err *err) {
    ValidateModels models = {0};
    Json doc = {0};
    return json_parse(name, bytes, count, &doc, err) && finish_list(&doc, &models, out, err);
}

// ---- Models

static void drop_models(ValidateModels *models) {
    for (uint32_t i = 0; i < models->model_count; i++) arch_free(&models->models[i]->arch);
    models->model_count = 0;
}

void validate_models_folder(ValidateModels *models, const char *folder) {
    drop_models(models);
    models->folder = folder == NULL ? NULL : arena_string(&models->arena, folder);
}

// "moonshotai/Kimi-K3" is moonshotai--Kimi-K3.json there.
static const char *config_name(const char *name, Arena *arena) {
    const char *slash = strchr(name, '/');
    if (slash == NULL) return arena_printf(arena, "%s.json", name);
    return arena_printf(arena, "%.*s--%s.json", (int)(slash - name), name, slash + 1);
}

// The file in the folder of configs, or NULL. A name with a '/' left is none of a file.
static const char *in_folder(const ValidateModels *models, const char *config, Arena *arena) {
    if (models->folder == NULL || strchr(config, '/') != NULL) return NULL;
    const char *path = arena_printf(arena, "%s/%s", models->folder, config);
    return is_file(path) ? path : NULL;
}

static const char *in_shipped(const char *config, Arena *arena) {
    const char *path;
    Err err = {0};
    const char *relative = arena_printf(arena, "scenarios/models/%s", config);
    return file_data(relative, arena, &path, &err) ? path : NULL;
}

static const char *find_config(const ValidateModels *models, const ValidateShape *shape,
                               const char *own, Arena *arena) {
    const char *path = in_folder(models, own, arena);
    for (uint32_t i = 0; path == NULL && shape != NULL && i < shape->config_count; i++) {
        path = in_folder(models, shape->configs[i], arena);
        if (path == NULL) path = in_shipped(shape->configs[i], arena);
    }
    return path;
}

static bool no_config(const ValidateModels *models, const ValidateShape *shape, const char *own,
                      Err *reason) {
    if (shape == NULL)
        return err_set(reason, "no config: %s is not %s, and no model of its shape is listed", own,
                       models->folder != NULL ? "in the folder of models" : "shipped");
    return err_set(reason, "no config: neither %s nor one of its shape is there", own);
}

// Messages name a config in the folder by its file alone.
static void strip_folder(const ValidateModels *models, Err *reason) {
    size_t length = models->folder == NULL ? 0 : strlen(models->folder);
    if (length == 0) return;
    for (char *at = reason->text; (at = strstr(at, models->folder)) != NULL;)
        if (at[length] == '/')
            memmove(at, at + length + 1, strlen(at + length + 1) + 1);
        else
            at += length;
}

static bool read_model(ValidateModels *models, ValidateModel *model) {
    const char *own = config_name(model->name, &models->arena);
    const ValidateShape *shape = find_shape(models, model->name);
    const char *path = find_config(models, shape, own, &models->arena);
    if (path == NULL) return no_config(models, shape, own, &model->reason);
    if (shape != NULL) memcpy(model->without, shape->without, sizeof model->without);
    if (!arch_load(path, shape != NULL ? shape->assumptions : NULL,
                   shape != NULL ? shape->assumption_count : 0, &model->arch, &model->reason)) {
        strip_folder(models, &model->reason);
        return false;
    }
    return true;
}

static ValidateModel *look_up(ValidateModels *models, const char *name) {
    for (uint32_t i = 0; i < models->model_count; i++)
        if (strcmp(models->models[i]->name, name) == 0) return models->models[i];
    if (models->model_count == VALIDATE_MODELS_MAX) return NULL;
    ValidateModel *model = arena_alloc(&models->arena, 1, sizeof *model);
    model->name = arena_string(&models->arena, name);
    model->is_read = read_model(models, model);
    models->models = mem_grow(models->models, &models->model_capacity, models->model_count + 1,
                              sizeof(ValidateModel *));
    models->models[models->model_count++] = model;
    return model;
}

const ValidateModel *validate_models_find(ValidateModels *models, const char *name, Err *reason) {
    const ValidateModel *model = look_up(models, name);
    if (model == NULL) {
        err_set(reason, "more than %d different models", VALIDATE_MODELS_MAX);
        return NULL;
    }
    if (model->is_read) return model;
    *reason = model->reason;
    return NULL;
}

void validate_models_close(ValidateModels *models) {
    drop_models(models);
    mem_free(models->models);
    arena_free(&models->arena);
    *models = (ValidateModels){0};
}
