// Reads the rule file of an engine.
//
// Invariant: every rule of every version was read and checked, names and types included, and only
// those of the engine's version are kept. Counts are checked before memory is asked for.
#include <string.h>

#include "model/base/file.h"
#include "model/base/json.h"
#include "model/plan/engine.h"

static const char *const type_names[ENGINE_OPTION_TYPE_COUNT] = {"flag", "count", "text"};
static const char *const effect_names[ENGINE_EFFECT_COUNT] = {
#define X(name, text) text,
    ENGINE_EFFECT_LIST(X)
#undef X
};

typedef struct Loader {
    Engine *engine;
    EngineName *names;
    uint32_t name_count;
    Err *err;
} Loader;

// An array of at most `most` objects.
static bool read_array(JsonNode object, const char *key, uint32_t most, JsonNode *out, Err *err) {
    if (!json_array(object, key, out, err)) return false;
    if (json_count(*out) <= most) return true;
    return json_error(*out, err, "%u entries, expected at most %u", json_count(*out), most);
}

static bool read_string(const Loader *loader, JsonNode object, const char *key, const char **out) {
    return json_text(object, key, &loader->engine->arena, out, loader->err);
}

static bool read_optional(const Loader *loader, JsonNode object, const char *key,
                          const char **out) {
    return json_optional_text(object, key, &loader->engine->arena, out, loader->err);
}

static bool read_range(const Loader *loader, JsonNode object, const char **text, EngineRange *out) {
    Err inner = {0};
    if (!read_string(loader, object, "versions", text)) return false;
    if (engine_version_range_parse(*text, out, &inner)) return true;
    return json_error(json_find(object, "versions"), loader->err, "%s", inner.text);
}

static bool read_source(const Loader *loader, JsonNode object, const char **out) {
    if (!read_string(loader, object, "source", out)) return false;
    if (**out != '\0') return true;
    return json_error(json_find(object, "source"), loader->err, "expected a source, found none");
}

// Names.

static bool is_name(const char *text) {
    size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_");
    return length > 0 && text[length] == '\0' && length <= ENGINE_NAME_MAX &&
           !(*text >= '0' && *text <= '9');
}

// Options and lists may not be called as a fact, or twice.
static bool add_name(Loader *loader, JsonNode node, const char *name, EngineType type) {
    if (!is_name(name))
        return json_error(node, loader->err,
                          "expected a name of a-z, 0-9, '-' or '_' that begins with a letter");
    for (uint32_t i = 0; i < loader->name_count; i++)
        if (strcmp(loader->names[i].name, name) == 0)
            return json_error(node, loader->err, "the name \"%s\" is taken", name);
    loader->names[loader->name_count++] = (EngineName){.name = name, .needs = "", .type = type};
    return true;
}

// Options.

static const EngineType option_value_types[ENGINE_OPTION_TYPE_COUNT] = {
    ENGINE_BOOLEAN, ENGINE_INTEGER, ENGINE_STRING};

static bool read_fallback(const Loader *loader, JsonNode object, EngineOption *out) {
    bool flag = false;
    uint64_t count = 0;
    const char *text = NULL;
    out->fallback.type = option_value_types[out->type];
    switch (out->type) {
    case ENGINE_OPTION_FLAG:
        if (!json_bool(object, "default", &flag, loader->err)) return false;
        out->fallback.integer = flag;
        return true;
    case ENGINE_OPTION_COUNT:
        if (!json_u64(object, "default", &count, loader->err)) return false;
        out->fallback.integer = (int64_t)count; // JSON integers end at 2^53
        return true;
    case ENGINE_OPTION_TEXT:
        if (!read_string(loader, object, "default", &text)) return false;
        out->fallback.text = text;
        return true;
    case ENGINE_OPTION_TYPE_COUNT: break;
    }
    return false;
}

static bool read_choices(const Loader *loader, JsonNode object, EngineOption *out) {
    JsonNode choices;
    if (!json_has(object, "choices")) return true;
    if (out->type != ENGINE_OPTION_TEXT)
        return json_error(json_find(object, "choices"), loader->err, "only of a text");
    if (!read_array(object, "choices", ENGINE_ROWS_MAX, &choices, loader->err)) return false;
    out->choices = arena_alloc(&loader->engine->arena, json_count(choices), sizeof *out->choices);
    for (; out->choice_count < json_count(choices); out->choice_count++) {
        const char *choice;
        if (!json_as_string(json_at(choices, out->choice_count), &choice, loader->err))
            return false;
        out->choices[out->choice_count] = arena_string(&loader->engine->arena, choice);
    }
    return true;
}

static bool read_option(Loader *loader, JsonNode object, EngineOption *out) {
    uint32_t type;
    if (!read_string(loader, object, "name", &out->name) ||
        !json_enum(object, "type", type_names, ENGINE_OPTION_TYPE_COUNT, &type, loader->err))
        return false;
    out->type = (EngineOptionType)type;
    if (!read_fallback(loader, object, out) || !read_choices(loader, object, out) ||
        !read_range(loader, object, &out->versions, &out->range) ||
        !read_optional(loader, object, "refused", &out->refused) ||
        !read_source(loader, object, &out->source) || !json_finish(object, loader->err))
        return false;
    char *name = arena_string(&loader->engine->arena, out->name);
    for (char *at = name; *at != '\0'; at++)
        if (*at == '-') *at = '_';
    return add_name(loader, json_find(object, "name"), name, option_value_types[type]);
}

static bool read_options(Loader *loader, JsonNode root) {
    Engine *engine = loader->engine;
    JsonNode options;
    if (!read_array(root, "options", ENGINE_OPTIONS_MAX, &options, loader->err)) return false;
    engine->options = arena_alloc(&engine->arena, json_count(options), sizeof *engine->options);
    for (; engine->option_count < json_count(options); engine->option_count++)
        if (!read_option(loader, json_at(options, engine->option_count),
                         &engine->options[engine->option_count]))
            return false;
    return true;
}

// Lists.

// Keeps the value when it is there for the engine's version.
static bool read_row(const Loader *loader, JsonNode row, EngineList *list) {
    const char *value, *versions, *source;
    EngineRange range = {0};
    if (!read_string(loader, row, "value", &value) || !read_range(loader, row, &versions, &range) ||
        !read_source(loader, row, &source) || !json_finish(row, loader->err))
        return false;
    if (engine_version_in_range(&range, loader->engine->version))
        list->values[list->value_count++] = value;
    return true;
}

static bool read_list(Loader *loader, JsonNode object, EngineList *out) {
    JsonNode rows;
    if (!read_string(loader, object, "name", &out->name) ||
        !read_array(object, "rows", ENGINE_ROWS_MAX, &rows, loader->err) ||
        !json_finish(object, loader->err))
        return false;
    out->values = arena_alloc(&loader->engine->arena, json_count(rows), sizeof *out->values);
    for (uint32_t i = 0; i < json_count(rows); i++)
        if (!read_row(loader, json_at(rows, i), out)) return false;
    return add_name(loader, json_find(object, "name"), out->name, ENGINE_TEXTS);
}

static bool read_lists(Loader *loader, JsonNode root) {
    Engine *engine = loader->engine;
    JsonNode lists;
    if (!read_array(root, "lists", ENGINE_LISTS_MAX, &lists, loader->err)) return false;
    engine->lists = arena_alloc(&engine->arena, json_count(lists), sizeof *engine->lists);
    for (; engine->list_count < json_count(lists); engine->list_count++)
        if (!read_list(loader, json_at(lists, engine->list_count),
                       &engine->lists[engine->list_count]))
            return false;
    return true;
}

// Rules.

static bool read_condition(const Loader *loader, JsonNode object, const char *key,
                           EngineExpr *out) {
    const char *text;
    Err inner = {0};
    Engine *engine = loader->engine;
    if (!json_string(object, key, &text, loader->err)) return false;
    JsonNode node = json_find(object, key);
    if (!engine_expr_parse(text, &engine->scope, &engine->arena, out, &inner))
        return json_error(node, loader->err, "%s", inner.text);
    if (out->type == ENGINE_BOOLEAN) return true;
    return json_error(node, loader->err, "expected a condition that is true or false");
}

static bool read_message(const Loader *loader, JsonNode object, const char **out) {
    Err inner = {0};
    if (!read_string(loader, object, "message", out)) return false;
    if (engine_expr_message_check(*out, &loader->engine->scope, &inner)) return true;
    return json_error(json_find(object, "message"), loader->err, "%s", inner.text);
}

static bool read_rule(const Loader *loader, JsonNode object, EngineRule *out) {
    uint32_t effect = ENGINE_REFUSE;
    Arena *arena = &loader->engine->arena;
    if (!read_string(loader, object, "name", &out->name) ||
        !read_range(loader, object, &out->versions, &out->range))
        return false;
    if (json_has(object, "effect") &&
        !json_enum(object, "effect", effect_names, ENGINE_EFFECT_COUNT, &effect, loader->err))
        return false;
    out->effect = (EngineEffect)effect;
    if (json_has(object, "covers_cuts") &&
        !json_bool(object, "covers_cuts", &out->covers_cuts, loader->err))
        return false;
    if (!json_has(object, "when")) {
        Err inner = {0};
        if (!engine_expr_parse("true", &loader->engine->scope, arena, &out->when, &inner))
            return false;
    } else if (!read_condition(loader, object, "when", &out->when)) {
        return false;
    }
    return read_condition(loader, object, "require", &out->require) &&
           read_message(loader, object, &out->message) &&
           read_source(loader, object, &out->source) && json_finish(object, loader->err);
}

static bool is_new_name(const char **names, uint32_t count, const char *name) {
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0) return false;
    return true;
}

static bool read_rules(const Loader *loader, JsonNode root) {
    Engine *engine = loader->engine;
    JsonNode rules;
    if (!read_array(root, "rules", ENGINE_RULES_MAX, &rules, loader->err)) return false;
    engine->rules = arena_alloc(&engine->arena, json_count(rules), sizeof *engine->rules);
    const char **names = arena_alloc(&engine->arena, json_count(rules), sizeof *names);
    for (uint32_t i = 0; i < json_count(rules); i++) {
        EngineRule rule = {0};
        JsonNode node = json_at(rules, i);
        if (!read_rule(loader, node, &rule)) return false;
        if (!is_new_name(names, i, rule.name))
            return json_error(json_find(node, "name"), loader->err, "the name \"%s\" is taken",
                              rule.name);
        names[i] = rule.name;
        if (engine_version_in_range(&rule.range, engine->version))
            engine->rules[engine->rule_count++] = rule;
    }
    return true;
}

// The file.

static bool read_releases(const Loader *loader, JsonNode root, const char *asked) {
    Engine *engine = loader->engine;
    EngineVersion *const bounds[] = {&engine->first, &engine->last};
    char first[ENGINE_VERSION_TEXT_MAX], last[ENGINE_VERSION_TEXT_MAX];
    JsonNode releases;
    Err inner = {0};
    if (!json_array(root, "releases", &releases, loader->err)) return false;
    if (json_count(releases) != 2)
        return json_error(releases, loader->err, "expected the first and the last release");
    for (uint32_t i = 0; i < 2; i++) {
        const char *text;
        JsonNode node = json_at(releases, i);
        if (!json_as_string(node, &text, loader->err)) return false;
        if (!engine_version_parse(text, bounds[i], &inner))
            return json_error(node, loader->err, "%s", inner.text);
    }
    if (engine_version_compare(engine->first, engine->last) > 0)
        return json_error(releases, loader->err, "the first release is after the last");
    engine->version = engine->last;
    if (asked == NULL) return true;
    if (!engine_version_parse(asked, &engine->version, loader->err)) return false;
    if (engine_version_compare(engine->version, engine->first) >= 0 &&
        engine_version_compare(engine->version, engine->last) <= 0)
        return true;
    return err_set(loader->err, "the rules of %s are for %s to %s, not for %s", engine->name,
                   engine_version_format(engine->first, first),
                   engine_version_format(engine->last, last), asked);
}

static bool read_root(Loader *loader, JsonNode root, const char *version) {
    Engine *engine = loader->engine;
    if (!json_header(root, "engine", ENGINE_FILE_VERSION, loader->err) ||
        !read_string(loader, root, "name", &engine->name) || !read_releases(loader, root, version))
        return false;
    uint32_t most = ENGINE_FACT_COUNT + ENGINE_OPTIONS_MAX + ENGINE_LISTS_MAX;
    loader->names = arena_alloc(&engine->arena, most, sizeof *loader->names);
    memcpy(loader->names, engine_facts_names, sizeof engine_facts_names);
    loader->name_count = ENGINE_FACT_COUNT;
    if (!read_options(loader, root) || !read_lists(loader, root)) return false;
    engine->scope = (EngineScope){loader->names, loader->name_count};
    json_ignore(root, "note");
    return read_rules(loader, root) && json_finish(root, loader->err);
}

bool engine_parse(const char *name, const char *bytes, size_t count, const char *version,
                  Engine *out, Err *err) {
    Json doc = {0};
    Engine engine = {0};
    Loader loader = {.engine = &engine, .err = err};
    if (!json_parse(name, bytes, count, &doc, err)) return false;
    engine.path = arena_string(&engine.arena, name);
    bool ok = read_root(&loader, json_root(&doc), version);
    json_free(&doc);
    if (ok)
        *out = engine;
    else
        engine_unload(&engine);
    return ok;
}

bool engine_load(const char *name, const char *version, Engine *out, Err *err) {
    Arena arena = {0};
    const char *path = name;
    char *bytes = NULL;
    size_t count = 0;
    bool ok =
        strchr(name, '/') != NULL ||
        file_data(arena_printf(&arena, "scenarios/engines/%s.json", name), &arena, &path, err);
    ok = ok && file_read(path, FILE_CAP_B, &arena, &bytes, &count, err) &&
         engine_parse(path, bytes, count, version, out, err);
    arena_free(&arena);
    return ok;
}

void engine_unload(Engine *engine) {
    arena_free(&engine->arena);
    *engine = (Engine){0};
}
