// Prints the verdict for people and for programs.
//
// Invariant: both forms have every broken rule with its text and source, every note, every rule
// that could not be decided, and every near plan.
#include "sim/commands/check_show.h"

#include <inttypes.h>

#include "model/base/jsonw.h"

#define CHECK_JSON_VERSION 1

static void add_rules(Text *out, const char *head, const EngineBroken *rules, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        text_addf(out, "%-10s %s: %s\n%-10s source: %s\n", head, rules[i].name, rules[i].text, "",
                  rules[i].source);
}

static void add_nearest(Text *out, const CheckPool *pool) {
    char label[PLAN_TEXT_MAX];
    for (uint32_t i = 0; i < pool->nearest_count; i++)
        text_addf(out, "%-10s %s on %" PRIu32 " GPUs: %s\n", i == 0 ? "nearest" : "",
                  plan_label(&pool->nearest[i].plan, label), plan_gpus(&pool->nearest[i].plan),
                  pool->nearest[i].change);
    if (pool->nearest_count == 0) text_addf(out, "%-10s no legal plan near it\n", "nearest");
}

static void add_pool(Text *out, const CheckPool *pool) {
    const EngineVerdict *verdict = &pool->answer.verdict;
    if (*pool->answer.structure != '\0')
        text_addf(out, "%-10s structure: %s\n", "broken", pool->answer.structure);
    add_rules(out, "broken", verdict->broken, verdict->broken_count);
    add_rules(out, "note", verdict->notes, verdict->note_count);
    for (uint32_t i = 0; i < verdict->undecided_count; i++)
        text_addf(out, "%-10s %s\n", i == 0 ? "undecided" : "", verdict->undecided[i]);
    if (!pool->answer.is_legal) add_nearest(out, pool);
}

void check_show_table(const CheckResult *result, Text *out) {
    char label[PLAN_TEXT_MAX], version[ENGINE_VERSION_TEXT_MAX];
    const Engine *engine = result->engine;
    text_addf(out, "model      %s\n", result->model);
    text_addf(out, "plan       %s on %" PRIu32 " GPUs\n", plan_label(result->plan, label),
              plan_gpus(result->plan));
    text_addf(out, "engine     %s %s\n", engine->name,
              engine_version_format(engine->version, version));
    text_addf(out, "machine    %s\n", *result->machine != '\0' ? result->machine : "not given");
    text_addf(out, "verdict    %s\n", result->is_legal ? "legal" : "illegal");
    for (uint32_t i = 0; i < result->plan->pool_count; i++) {
        if (result->plan->pool_count > 1)
            text_addf(out, "\npool       %" PRIu32 ", %s\n", i,
                      plan_pool_names[result->plan->pools[i].kind]);
        add_pool(out, &result->pools[i]);
    }
}

// ---- For programs

static void write_rules(JsonWriter *writer, const char *key, const EngineBroken *rules,
                        uint32_t count) {
    jsonw_open_array(writer, key);
    for (uint32_t i = 0; i < count; i++) {
        jsonw_open_object(writer, NULL);
        jsonw_string(writer, "rule", rules[i].name);
        jsonw_string(writer, "text", rules[i].text);
        jsonw_string(writer, "source", rules[i].source);
        jsonw_close_object(writer);
    }
    jsonw_close_array(writer);
}

static void write_settings(JsonWriter *writer, const EngineNear *near) {
    jsonw_open_object(writer, "options");
    for (uint32_t i = 0; i < near->setting_count; i++)
        jsonw_string(writer, near->settings[i].option, near->settings[i].value);
    jsonw_close_object(writer);
}

static void write_nearest(JsonWriter *writer, const CheckPool *pool, uint32_t index) {
    jsonw_open_array(writer, "nearest");
    for (uint32_t i = 0; i < pool->nearest_count; i++) {
        const EngineNear *near = &pool->nearest[i];
        const Pool *cut = &near->plan.pools[index];
        jsonw_open_object(writer, NULL);
        jsonw_string(writer, "change", near->change);
        jsonw_u64(writer, "tp", cut->tp);
        jsonw_u64(writer, "pp", cut->pp);
        jsonw_u64(writer, "dp", cut->dp);
        jsonw_u64(writer, "ep", cut->ep);
        jsonw_u64(writer, "moe_tp", cut->moe_tp);
        jsonw_u64(writer, "gpus", plan_gpus(&near->plan));
        write_settings(writer, near);
        jsonw_close_object(writer);
    }
    jsonw_close_array(writer);
}

static void write_pool(JsonWriter *writer, const CheckPool *pool, uint32_t index) {
    const EngineVerdict *verdict = &pool->answer.verdict;
    jsonw_open_object(writer, NULL);
    jsonw_bool(writer, "legal", pool->answer.is_legal);
    jsonw_string(writer, "structure", pool->answer.structure);
    write_rules(writer, "broken", verdict->broken, verdict->broken_count);
    write_rules(writer, "notes", verdict->notes, verdict->note_count);
    jsonw_open_array(writer, "undecided");
    for (uint32_t i = 0; i < verdict->undecided_count; i++)
        jsonw_string(writer, NULL, verdict->undecided[i]);
    jsonw_close_array(writer);
    write_nearest(writer, pool, index);
    jsonw_close_object(writer);
}

void check_show_json(const CheckResult *result, Text *out) {
    char label[PLAN_TEXT_MAX], version[ENGINE_VERSION_TEXT_MAX];
    JsonWriter writer = {.text = out};
    jsonw_open_object(&writer, NULL);
    jsonw_string(&writer, "moesim", "check");
    jsonw_u64(&writer, "version", CHECK_JSON_VERSION);
    jsonw_string(&writer, "model", result->model);
    jsonw_string(&writer, "plan", plan_label(result->plan, label));
    jsonw_u64(&writer, "gpus", plan_gpus(result->plan));
    jsonw_string(&writer, "engine", result->engine->name);
    jsonw_string(&writer, "engine_version",
                 engine_version_format(result->engine->version, version));
    jsonw_string(&writer, "machine", result->machine);
    jsonw_bool(&writer, "legal", result->is_legal);
    jsonw_open_array(&writer, "pools");
    for (uint32_t i = 0; i < result->plan->pool_count; i++)
        write_pool(&writer, &result->pools[i], i);
    jsonw_close_array(&writer);
    jsonw_close_object(&writer);
    jsonw_finish(&writer);
}
