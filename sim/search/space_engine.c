// Asks engines about plans as `moesim emit` would: with the flags that would start them.
//
// Invariant: a plan that is kept has a launch line in some engine whose rules it breaks none of.
#include "sim/search/space_engine.h"

bool space_engine_open(LaunchEngine engine, SpaceEngines *out, Err *err) {
    SpaceEngines engines = {0};
    bool done = true;
    for (uint32_t e = 0; done && e < LAUNCH_ENGINE_COUNT; e++) {
        if (engine != LAUNCH_ENGINE_COUNT && e != (uint32_t)engine) continue;
        done = engine_load(launch_flags_engines[e], NULL, &engines.rules[engines.count], err) &&
               launch_flags_load((LaunchEngine)e, NULL, &engines.flags[engines.count], err);
        engines.count++;
    }
    if (done)
        *out = engines;
    else
        space_engine_close(&engines);
    return done;
}

void space_engine_close(SpaceEngines *engines) {
    for (uint32_t e = 0; e < engines->count; e++) {
        engine_unload(&engines->rules[e]);
        launch_flags_free(&engines->flags[e]);
    }
    *engines = (SpaceEngines){0};
}

// The option of the rules that a flag is, NULL when they know none; what is a variable in this
// version is a flag in another, and the rules know it by that.
static const char *option_of(const Engine *rules, const LaunchFlags *flags,
                             const LaunchFlag *flag) {
    for (uint32_t i = 0; flag->is_env && i < flags->flag_count; i++)
        if (flags->flags[i].means == flag->means && !flags->flags[i].is_env)
            flag = &flags->flags[i];
    if (flag->is_env || engine_option(rules, flag->name + 2) == NULL) return NULL;
    return flag->name + 2;
}

static bool list_settings(const SpaceEngines *engines, uint32_t e, const LaunchInput *launch,
                          Arena *scratch, EngineSetting *out, uint32_t *out_count, Err *err) {
    LaunchList list;
    if (!launch_settings(launch, (LaunchPart){0}, scratch, &list, err)) return false;
    *out_count = 0;
    for (uint32_t i = 0; i < list.count && *out_count < ENGINE_OPTIONS_MAX; i++) {
        const LaunchSetting *setting = &list.settings[i];
        const char *option = setting->expands
                                 ? NULL
                                 : option_of(&engines->rules[e], &engines->flags[e], setting->flag);
        const char *value = setting->value == NULL ? "true" : setting->value;
        if (option != NULL) out[(*out_count)++] = (EngineSetting){option, value};
    }
    launch_list_free(&list);
    return true;
}

// The name of the rule, or NULL; `scratch` holds what the engine says.
static const char *ask(const SpaceEngines *engines, uint32_t e, const SpaceEngineCase *given,
                       Arena *scratch, Err *text) {
    const Fabric *fabric = given->fabric;
    EngineFacts facts;
    EngineVerdict verdict;
    EngineMachine machine = {.device = fabric_device(fabric, 0),
                             .node_gpus = fabric->node_size,
                             .machine_gpus = fabric_live_gpu_count(fabric)};
    LaunchInput launch = {.plan = given->plan,
                          .arch = given->arch,
                          .model = given->arch->name,
                          .flags = &engines->flags[e],
                          .machine = {.name = "machine",
                                      .gpus = fabric_live_gpu_count(fabric),
                                      .node_gpus = fabric->node_size,
                                      .domain_gpus = fabric->domain_size,
                                      .nic = ""},
                          .scenario = given->scenario,
                          .sequences = given->sequences,
                          .prediction = ""};
    EngineSetting settings[ENGINE_OPTIONS_MAX];
    uint32_t count;
    if (!launch_check(&launch, text) ||
        !list_settings(engines, e, &launch, scratch, settings, &count, text))
        return "no flag says it";
    engine_facts_of(given->plan, 0, given->arch, &machine, scratch, &facts);
    if (!engine_check(&engines->rules[e], &facts, settings, count, scratch, &verdict, text))
        return "a rule cannot be decided";
    if (verdict.broken_count == 0) return NULL;
    err_set(text, "%s", verdict.broken[0].text);
    return verdict.broken[0].name;
}

const char *space_engine_refuses(const SpaceEngines *engines, const SpaceEngineCase *given,
                                 Arena *arena, Err *text) {
    const char *reason = NULL;
    for (uint32_t e = 0; e < engines->count; e++) {
        Arena scratch = {0};
        const char *rule = ask(engines, e, given, &scratch, text);
        if (rule != NULL) reason = arena_printf(arena, "%s: %s", engines->rules[e].name, rule);
        arena_free(&scratch);
        if (rule == NULL) return NULL;
    }
    return reason;
}
