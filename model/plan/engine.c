// Asks the rules of an engine about one pool of a plan.
//
// Invariant: a verdict lists broken rules in the order of the file, and a plan without one breaks
// none that could be decided; what could not be is listed, never taken as kept.
#include "model/plan/engine.h"

#include <assert.h>
#include <string.h>

const EngineOption *engine_option(const Engine *engine, const char *name) {
    for (uint32_t i = 0; i < engine->option_count; i++)
        if (strcmp(engine->options[i].name, name) == 0) return &engine->options[i];
    return NULL;
}

// Settings.

bool engine_split_settings(const char *text, Arena *arena, EngineSetting *out, uint32_t *out_count,
                           Err *err) {
    uint32_t count = 0;
    char quoted[TEXT_QUOTE_MAX];
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ","), name = strcspn(at, "=,");
        if (name == 0 || name == length)
            return err_set(err, "expected OPTION=VALUE, found %s", text_quote(at, quoted));
        if (count == ENGINE_OPTIONS_MAX)
            return err_set(err, "more than %d options are set", ENGINE_OPTIONS_MAX);
        out[count].option = arena_printf(arena, "%.*s", (int)name, at);
        out[count++].value = arena_printf(arena, "%.*s", (int)(length - name - 1), at + name + 1);
        at += length;
        if (*at == '\0') break;
    }
    *out_count = count;
    return true;
}

static bool fail_option(const Engine *engine, const char *name, Err *err) {
    const char *names[ENGINE_OPTIONS_MAX];
    char quoted[TEXT_QUOTE_MAX];
    for (uint32_t i = 0; i < engine->option_count; i++) names[i] = engine->options[i].name;
    uint32_t nearest = text_nearest(name, names, engine->option_count);
    if (nearest == UINT32_MAX)
        return err_set(err, "no rule of %s knows an option %s", engine->name,
                       text_quote(name, quoted));
    return err_set(err, "no rule of %s knows an option %s, did you mean \"%s\"?", engine->name,
                   text_quote(name, quoted), names[nearest]);
}

static bool fail_value(const EngineSetting *setting, const char *expected, Err *err) {
    char quoted[TEXT_QUOTE_MAX];
    return err_set(err, "option %s: expected %s, found %s", setting->option, expected,
                   text_quote(setting->value, quoted));
}

static bool is_choice(const EngineOption *option, const char *value) {
    for (uint32_t i = 0; i < option->choice_count; i++)
        if (strcmp(option->choices[i], value) == 0) return true;
    return option->choice_count == 0;
}

static bool fail_choice(const EngineOption *option, const EngineSetting *setting, Err *err) {
    Text choices = {0};
    for (uint32_t i = 0; i < option->choice_count; i++) {
        if (i > 0) text_add(&choices, i + 1 == option->choice_count ? " or " : ", ");
        text_add(&choices, option->choices[i]);
    }
    fail_value(setting, text_string(&choices), err);
    text_free(&choices);
    return false;
}

static bool set_value(const EngineOption *option, const EngineSetting *setting, EngineValue *out,
                      Err *err) {
    uint64_t count;
    *out = option->fallback;
    switch (option->type) {
    case ENGINE_OPTION_FLAG:
        out->integer = strcmp(setting->value, "true") == 0;
        if (out->integer == 0 && strcmp(setting->value, "false") != 0)
            return fail_value(setting, "true or false", err);
        return true;
    case ENGINE_OPTION_COUNT:
        if (!text_parse_u64(setting->value, &count) || count > INT64_MAX)
            return fail_value(setting, "a whole number", err);
        out->integer = (int64_t)count;
        return true;
    case ENGINE_OPTION_TEXT:
        out->text = setting->value;
        return is_choice(option, setting->value) || fail_choice(option, setting, err);
    case ENGINE_OPTION_TYPE_COUNT: break;
    }
    return false;
}

// The verdict.

typedef struct Checker {
    const Engine *engine;
    EngineValue *values;
    Arena *arena;
    EngineVerdict verdict;
    uint32_t broken_max;
} Checker;

static void add_broken(Checker *checker, EngineBroken broken) {
    assert(checker->verdict.broken_count < checker->broken_max);
    checker->verdict.broken[checker->verdict.broken_count++] = broken;
}

// An option that this version does not have.
static void add_absent(Checker *checker, const EngineOption *option) {
    char version[ENGINE_VERSION_TEXT_MAX];
    const Engine *engine = checker->engine;
    engine_version_format(engine->version, version);
    const char *text =
        arena_printf(checker->arena, "%s %s has no option --%s%s%s", engine->name, version,
                     option->name, *option->refused != '\0' ? "; " : "", option->refused);
    add_broken(checker, (EngineBroken){NULL, option->name, text, option->source});
}

static bool apply_settings(Checker *checker, const EngineSetting *settings, uint32_t count,
                           Err *err) {
    const Engine *engine = checker->engine;
    EngineValue *options = checker->values + ENGINE_FACT_COUNT;
    for (uint32_t i = 0; i < engine->option_count; i++) options[i] = engine->options[i].fallback;
    for (uint32_t i = 0; i < count; i++) {
        const EngineOption *option = engine_option(engine, settings[i].option);
        if (option == NULL) return fail_option(engine, settings[i].option, err);
        for (uint32_t k = 0; k < i; k++)
            if (strcmp(settings[k].option, settings[i].option) == 0)
                return err_set(err, "option %s is set twice", settings[i].option);
        if (!engine_version_in_range(&option->range, engine->version))
            add_absent(checker, option);
        else if (!set_value(option, &settings[i], &options[option - engine->options], err))
            return false;
    }
    return true;
}

// *out_kept: the rule says nothing about the plan; *out_missing: a name without which it cannot.
static bool ask_rule(const Checker *checker, const EngineRule *rule, bool *out_kept,
                     uint32_t *out_missing, Err *err) {
    EngineValue when, require;
    const EngineScope *scope = &checker->engine->scope;
    uint32_t missing;
    *out_missing = UINT32_MAX;
    *out_kept = true;
    if (!engine_expr_eval(&rule->when, scope, checker->values, &when, &missing, err)) return false;
    if (when.type == ENGINE_BOOLEAN && when.integer == 0) return true;
    if (when.type == ENGINE_UNKNOWN) *out_missing = missing;
    if (!engine_expr_eval(&rule->require, scope, checker->values, &require, &missing, err))
        return false;
    *out_kept = require.type != ENGINE_BOOLEAN || require.integer != 0;
    if (require.type == ENGINE_UNKNOWN)
        *out_missing = missing;
    else if (*out_kept)
        *out_missing = UINT32_MAX; // kept whether it is asked or not
    return true;
}

static bool check_rule(Checker *checker, const EngineRule *rule, Err *err) {
    const Engine *engine = checker->engine;
    Text text = {0};
    bool kept;
    uint32_t missing;
    if (!ask_rule(checker, rule, &kept, &missing, err)) return false;
    if (missing != UINT32_MAX) {
        checker->verdict.undecided[checker->verdict.undecided_count++] = arena_printf(
            checker->arena, "%s needs %s", rule->name, engine->scope.names[missing].needs);
        return true;
    }
    if (kept) return true;
    bool ok = engine_expr_message_add(rule->message, &engine->scope, checker->values, &text, err);
    EngineBroken broken = {rule, rule->name, arena_string(checker->arena, text_string(&text)),
                           rule->source};
    text_free(&text);
    if (!ok) return false;
    if (rule->effect == ENGINE_NOTE)
        checker->verdict.notes[checker->verdict.note_count++] = broken;
    else
        add_broken(checker, broken);
    return true;
}

bool engine_check(const Engine *engine, const EngineFacts *facts, const EngineSetting *settings,
                  uint32_t setting_count, Arena *arena, EngineVerdict *out, Err *err) {
    Checker checker = {.engine = engine, .arena = arena};
    checker.values = arena_alloc(arena, engine->scope.count, sizeof *checker.values);
    memcpy(checker.values, facts->values, sizeof facts->values);
    checker.broken_max = engine->rule_count + setting_count;
    checker.verdict.broken = arena_alloc(arena, checker.broken_max, sizeof(EngineBroken));
    checker.verdict.notes = arena_alloc(arena, engine->rule_count, sizeof(EngineBroken));
    checker.verdict.undecided = arena_alloc(arena, engine->rule_count, sizeof(const char *));
    EngineValue *lists = checker.values + ENGINE_FACT_COUNT + engine->option_count;
    for (uint32_t i = 0; i < engine->list_count; i++)
        lists[i] = (EngineValue){.type = ENGINE_TEXTS,
                                 .texts = engine->lists[i].values,
                                 .text_count = engine->lists[i].value_count};
    if (!apply_settings(&checker, settings, setting_count, err)) return false;
    for (uint32_t i = 0; i < engine->rule_count; i++)
        if (!check_rule(&checker, &engine->rules[i], err))
            return err_prefix(err, "%s: rule \"%s\"", engine->path, engine->rules[i].name);
    *out = checker.verdict;
    return true;
}
