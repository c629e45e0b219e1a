// Reads the flags of an engine and finds them by name and by meaning.
//
// Invariant: every row has a source, a range of versions that parses and, when it is refused, the
// reason why.
#include "model/plan/launch_flags.h"

#include <inttypes.h>
#include <string.h>

#include "model/base/file.h"
#include "model/base/json.h"
#include "model/base/text.h"
#include "model/plan/plan.h"

const char *const launch_flags_engines[LAUNCH_ENGINE_COUNT] = {
#define X(name, text) text,
    LAUNCH_ENGINE_LIST(X)
#undef X
};

const char *const launch_flags_meanings[LAUNCH_MEANING_COUNT] = {
#define X(name, text, scope) text,
    LAUNCH_MEANING_LIST(X)
#undef X
};

const LaunchScope launch_flags_scopes[LAUNCH_MEANING_COUNT] = {
#define X(name, text, scope) LAUNCH_SCOPE_##scope,
    LAUNCH_MEANING_LIST(X)
#undef X
};

static const char *const takes_names[LAUNCH_TAKES_COUNT] = {
#define X(name, text) text,
    LAUNCH_TAKES_LIST(X)
#undef X
};

// ---- Reading

static bool read_list(JsonNode node, const char *key, uint32_t most, JsonNode *out,
                      uint32_t *out_count, Err *err) {
    *out_count = 0;
    if (!json_has(node, key)) return true;
    if (!json_array(node, key, out, err)) return false;
    *out_count = json_count(*out);
    return *out_count <= most ||
           json_error(*out, err, "%" PRIu32 " items, expected at most %" PRIu32, *out_count, most);
}

static bool read_strings(JsonNode list, uint32_t count, Arena *arena, const char ***out, Err *err) {
    const char **strings = arena_alloc(arena, count, sizeof *strings);
    for (uint32_t i = 0; i < count; i++) {
        if (!json_as_string(json_at(list, i), &strings[i], err)) return false;
        strings[i] = arena_string(arena, strings[i]);
    }
    *out = strings;
    return true;
}

static bool read_words(JsonNode node, const char *key, Arena *arena, LaunchWords *out, Err *err) {
    JsonNode list;
    return read_list(node, key, LAUNCH_WORDS_MAX, &list, &out->count, err) &&
           (out->count == 0 || read_strings(list, out->count, arena, &out->words, err));
}

static bool read_commands(JsonNode root, const char *key, Arena *arena, LaunchWords **out,
                          uint32_t *out_count, Err *err) {
    JsonNode list;
    if (!read_list(root, key, LAUNCH_WORDS_MAX, &list, out_count, err)) return false;
    *out = arena_alloc(arena, *out_count, sizeof **out);
    for (uint32_t i = 0; i < *out_count; i++) {
        JsonNode words = json_at(list, i);
        if (json_kind(words) != JSON_ARRAY || json_count(words) == 0 ||
            json_count(words) > LAUNCH_WORDS_MAX)
            return json_error(words, err, "expected 1 to %d words", LAUNCH_WORDS_MAX);
        (*out)[i].count = json_count(words);
        if (!read_strings(words, (*out)[i].count, arena, &(*out)[i].words, err)) return false;
    }
    return true;
}

static bool read_range(JsonNode node, Arena *arena, const char **out_text, EngineRange *out,
                       Err *err) {
    Err wrong = {0};
    if (!json_optional_text(node, "versions", arena, out_text, err)) return false;
    if (**out_text == '\0') return true;
    return engine_version_range_parse(*out_text, out, &wrong) ||
           json_error(json_find(node, "versions"), err, "%s", wrong.text);
}

static bool read_value(JsonNode node, Arena *arena, LaunchValue *out, Err *err) {
    uint32_t kind;
    const char *versions;
    out->when = POOL_KIND_COUNT;
    if (json_kind(node) != JSON_OBJECT) return json_error(node, err, "expected an object");
    if (!json_text(node, "value", arena, &out->value, err) ||
        !json_text(node, "is", arena, &out->is, err))
        return false;
    if (json_has(node, "when")) {
        if (!json_enum(node, "when", plan_pool_names, POOL_KIND_COUNT, &kind, err)) return false;
        out->when = (PoolKind)kind;
    }
    return read_range(node, arena, &versions, &out->range, err) && json_finish(node, err);
}

static bool read_values(JsonNode node, Arena *arena, LaunchFlag *flag, Err *err) {
    JsonNode list;
    if (!read_list(node, "values", LAUNCH_VALUES_MAX, &list, &flag->value_count, err)) return false;
    flag->values = arena_alloc(arena, flag->value_count, sizeof *flag->values);
    for (uint32_t i = 0; i < flag->value_count; i++)
        if (!read_value(json_at(list, i), arena, &flag->values[i], err)) return false;
    return true;
}

static bool read_name(JsonNode node, Arena *arena, LaunchFlag *flag, Err *err) {
    flag->is_env = json_has(node, "env");
    const char *key = flag->is_env ? "env" : "flag";
    if (!json_text(node, key, arena, &flag->name, err)) return false;
    bool good = flag->is_env ? flag->name[0] != '\0' && flag->name[0] != '-'
                             : strncmp(flag->name, "--", 2) == 0 && flag->name[2] != '\0';
    return good || json_error(json_find(node, key), err, "expected %s",
                              flag->is_env ? "the name of a variable" : "a name such as --tp-size");
}

static bool read_source(JsonNode node, JsonNode sources, Arena *arena, LaunchFlag *flag, Err *err) {
    const char *key, *text;
    char quoted[TEXT_QUOTE_MAX];
    if (!json_string(node, "source", &key, err)) return false;
    if (!json_has(sources, key))
        return json_error(json_find(node, "source"), err, "expected one of \"sources\", found %s",
                          text_quote(key, quoted));
    if (!json_string(sources, key, &text, err)) return false;
    flag->source = arena_string(arena, text);
    return true;
}

static bool read_flag(JsonNode node, JsonNode sources, Arena *arena, LaunchFlag *flag, Err *err) {
    JsonNode also;
    uint32_t choice;
    if (json_kind(node) != JSON_OBJECT) return json_error(node, err, "expected an object");
    if (!read_name(node, arena, flag, err) ||
        !read_list(node, "also", LAUNCH_ALSO_MAX, &also, &flag->also_count, err) ||
        (flag->also_count > 0 && !read_strings(also, flag->also_count, arena, &flag->also, err)))
        return false;
    flag->takes = LAUNCH_TAKES_ONE;
    if (json_has(node, "takes")) {
        if (!json_enum(node, "takes", takes_names, LAUNCH_TAKES_COUNT, &choice, err)) return false;
        flag->takes = (LaunchTakes)choice;
    }
    if (!json_enum(node, "means", launch_flags_meanings, LAUNCH_MEANING_COUNT, &choice, err))
        return false;
    flag->means = (LaunchMeaning)choice;
    if (!json_optional_text(node, "default", arena, &flag->fallback, err) ||
        !json_optional_text(node, "why", arena, &flag->why, err) ||
        !read_source(node, sources, arena, flag, err) || !read_values(node, arena, flag, err) ||
        !read_range(node, arena, &flag->versions, &flag->range, err))
        return false;
    if ((flag->means == LAUNCH_REFUSED) != (*flag->why != '\0'))
        return json_error(node, err, "expected \"why\" of a flag that is refused, and of no other");
    return json_finish(node, err);
}

static bool read_flags(JsonNode root, LaunchFlags *out, Err *err) {
    JsonNode list, sources;
    if (!json_object(root, "sources", &sources, err) || !json_array(root, "flags", &list, err))
        return false;
    out->flag_count = json_count(list);
    if (out->flag_count > LAUNCH_FLAGS_MAX)
        return json_error(list, err, "%" PRIu32 " flags, expected at most %d", out->flag_count,
                          LAUNCH_FLAGS_MAX);
    out->flags = arena_alloc(&out->arena, out->flag_count, sizeof *out->flags);
    for (uint32_t i = 0; i < out->flag_count; i++)
        if (!read_flag(json_at(list, i), sources, &out->arena, &out->flags[i], err)) return false;
    return json_finish(sources, err);
}

static bool read_version(JsonNode node, EngineVersion *out, Err *err) {
    const char *text;
    Err wrong = {0};
    return json_as_string(node, &text, err) &&
           (engine_version_parse(text, out, &wrong) || json_error(node, err, "%s", wrong.text));
}

static bool read_releases(JsonNode root, LaunchFlags *out, Err *err) {
    JsonNode list;
    if (!json_array(root, "releases", &list, err)) return false;
    if (json_count(list) != 2) return json_error(list, err, "expected the first and the last one");
    if (!read_version(json_at(list, 0), &out->first, err) ||
        !read_version(json_at(list, 1), &out->last, err))
        return false;
    return engine_version_compare(out->first, out->last) <= 0 ||
           json_error(list, err, "expected the first and the last one");
}

static bool choose_version(const char *version, LaunchFlags *out, Err *err) {
    char first[ENGINE_VERSION_TEXT_MAX], last[ENGINE_VERSION_TEXT_MAX];
    out->version = out->last;
    if (version == NULL) return true;
    if (!engine_version_parse(version, &out->version, err)) return false;
    return (engine_version_compare(out->first, out->version) <= 0 &&
            engine_version_compare(out->version, out->last) <= 0) ||
           err_set(err, "%s %s: the flags are known for %s to %s",
                   launch_flags_engines[out->engine], version,
                   engine_version_format(out->first, first),
                   engine_version_format(out->last, last));
}

static bool read_root(JsonNode root, const char *version, LaunchFlags *out, Err *err) {
    uint32_t engine;
    if (!json_header(root, "engine-flags", LAUNCH_FLAGS_VERSION, err) ||
        !json_enum(root, "name", launch_flags_engines, LAUNCH_ENGINE_COUNT, &engine, err))
        return false;
    out->engine = (LaunchEngine)engine;
    return read_releases(root, out, err) &&
           read_commands(root, "starts", &out->arena, &out->starts, &out->start_count, err) &&
           read_commands(root, "others", &out->arena, &out->others, &out->other_count, err) &&
           read_words(root, "serve", &out->arena, &out->serve, err) &&
           read_words(root, "benchmark", &out->arena, &out->benchmark, err) &&
           read_words(root, "router", &out->arena, &out->router, err) &&
           read_words(root, "router_prefill", &out->arena, &out->router_prefill, err) &&
           read_words(root, "router_decode", &out->arena, &out->router_decode, err) &&
           json_u32(root, "all_to_all_sms", &out->all_to_all_sms, err) &&
           read_flags(root, out, err) && json_finish(root, err) &&
           choose_version(version, out, err);
}

bool launch_flags_parse(const char *name, const char *bytes, size_t count, const char *version,
                        LaunchFlags *out, Err *err) {
    Json json = {0};
    *out = (LaunchFlags){0};
    if (!json_parse(name, bytes, count, &json, err)) return false;
    bool done = read_root(json_root(&json), version, out, err);
    json_free(&json);
    if (!done) launch_flags_free(out);
    return done;
}

bool launch_flags_load(LaunchEngine engine, const char *version, LaunchFlags *out, Err *err) {
    Arena arena = {0};
    const char *path;
    char *bytes;
    size_t count;
    const char *name =
        arena_printf(&arena, "scenarios/engines/flags-%s.json", launch_flags_engines[engine]);
    *out = (LaunchFlags){0};
    bool done = file_data(name, &arena, &path, err) &&
                file_read(path, FILE_CAP_B, &arena, &bytes, &count, err) &&
                launch_flags_parse(path, bytes, count, version, out, err);
    arena_free(&arena);
    return done;
}

void launch_flags_free(LaunchFlags *flags) {
    arena_free(&flags->arena);
    *flags = (LaunchFlags){0};
}

// ---- Finding

const LaunchFlag *launch_flags_find(const LaunchFlags *flags, LaunchMeaning means) {
    for (uint32_t i = 0; i < flags->flag_count; i++) {
        const LaunchFlag *flag = &flags->flags[i];
        if (flag->means == means && engine_version_in_range(&flag->range, flags->version))
            return flag;
    }
    return NULL;
}

static bool is_spelling(const LaunchFlag *flag, const char *name) {
    if (strcmp(flag->name, name) == 0) return true;
    for (uint32_t i = 0; i < flag->also_count; i++)
        if (strcmp(flag->also[i], name) == 0) return true;
    size_t length = strlen(flag->name);
    return flag->is_env && flag->name[length - 1] == '*' &&
           strncmp(flag->name, name, length - 1) == 0;
}

static const LaunchFlag *find_spelling(const LaunchFlags *flags, const char *name, bool is_env) {
    const LaunchFlag *found = NULL;
    for (uint32_t i = 0; i < flags->flag_count; i++) {
        const LaunchFlag *flag = &flags->flags[i];
        if (flag->is_env != is_env || !is_spelling(flag, name)) continue;
        if (engine_version_in_range(&flag->range, flags->version)) return flag;
        if (found == NULL) found = flag;
    }
    return found;
}

const LaunchFlag *launch_flags_named(const LaunchFlags *flags, const char *name) {
    return find_spelling(flags, name, false);
}

const LaunchFlag *launch_flags_env(const LaunchFlags *flags, const char *name) {
    return find_spelling(flags, name, true);
}

const char *launch_flags_value(const LaunchFlags *flags, const LaunchFlag *flag, const char *is,
                               PoolKind kind) {
    const char *any = NULL;
    for (uint32_t i = 0; i < flag->value_count; i++) {
        const LaunchValue *value = &flag->values[i];
        if (strcmp(value->is, is) != 0 || !engine_version_in_range(&value->range, flags->version))
            continue;
        if (value->when == kind) return value->value;
        if (value->when == POOL_KIND_COUNT && any == NULL) any = value->value;
    }
    return any;
}

const char *launch_flags_is(const LaunchFlag *flag, const char *value) {
    for (uint32_t i = 0; i < flag->value_count; i++)
        if (strcmp(flag->values[i].value, value) == 0) return flag->values[i].is;
    return NULL;
}
