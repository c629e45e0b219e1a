// Reads, checks and writes a workload: one set of bounds for values from files and from flags.
//
// Invariant: a scenario that was read has counts of at least 1 and at most COUNT_MAX, so that
// tokens x requests fits in 64 bits, and every field knows where it came from. Writing and reading
// gives the same digest.
#include "model/plan/scenario.h"

#include <inttypes.h>
#include <string.h>

#include "model/base/file.h"
#include "model/base/json.h"
#include "model/base/jsonw.h"
#include "model/base/num.h"

#define COUNT_MAX      (UINT64_C(1) << 30)
#define PRICE_MAX_USD  1e6 // per GPU-hour: far above any price list, far below what overflows
#define UUSD_PER_USD   1e6
#define PERMILLE_PER_1 1000.0
#define PERMILLE_SLACK 1e-9 // 0.9 x 1000 is not exactly 900 in binary

// Defaults of fields that a file may leave out. vLLM: gpu_memory_utilization 0.9 (up to release
// 0.19). The chunk is our choice.
#define DEFAULT_PERMILLE 900
#define DEFAULT_CHUNK    8192 // tokens

const char *const scenario_field_names[SCENARIO_FIELD_COUNT] = {
#define X(name, text) text,
    SCENARIO_FIELD_LIST(X)
#undef X
};

void scenario_init(Scenario *out) {
    *out = (Scenario){.name = "",
                      .source = "",
                      .model = "",
                      .isl = 1,
                      .osl = 1,
                      .concurrency = 1,
                      .memory_permille = DEFAULT_PERMILLE,
                      .prefill_chunk = DEFAULT_CHUNK,
                      .kv_format = NUMFMT_BF16};
    for (uint32_t i = 0; i < SCENARIO_FIELD_COUNT; i++) out->where[i] = "";
    scenario_rehash(out);
}

// The name of a model without folder and ".json": "-m kimi-k3" and "-m kimi-k3.json" are one
// workload.
static Digest hash_model(Digest digest, const char *model) {
    const char *name = file_name(model);
    size_t length = strlen(name), ending = strlen(".json");
    if (length > ending && strcmp(name + length - ending, ".json") == 0) length -= ending;
    return hash_u64(hash_bytes(digest, name, length), length);
}

void scenario_rehash(Scenario *scenario) {
    Digest digest = hash_model(hash_string(HASH_START, "scenario"), scenario->model);
    const uint64_t numbers[] = {scenario->isl,
                                scenario->osl,
                                scenario->concurrency,
                                (uint64_t)scenario->ttft_limit_ps,
                                (uint64_t)scenario->tpot_limit_ps,
                                scenario->price_uusd_per_gpu_hour,
                                scenario->memory_permille,
                                scenario->prefill_chunk};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        digest = hash_u64(digest, numbers[i]);
    scenario->digest = hash_string(digest, numfmt_name(scenario->kv_format));
}

// ---- Values, checked. Messages begin where "FILE:LINE:COLUMN: field" or "--flag" ends.

// What a field is given: a text, a whole number or a number.
typedef struct Value {
    const char *text;
    uint64_t whole;
    double number;
} Value;

static bool take_count(uint64_t value, uint64_t *out, Err *err) {
    if (value < 1 || value > COUNT_MAX)
        return err_set(err, "expected 1 to %" PRIu64 ", found %" PRIu64, COUNT_MAX, value);
    *out = value;
    return true;
}

static bool take_limit(const char *text, Time *out, Err *err) {
    Time limit;
    char quoted[TEXT_QUOTE_MAX];
    if (!units_parse_time(text, &limit, err)) return false;
    if (limit == 0)
        return err_set(err, "expected a time above 0, found %s", text_quote(text, quoted));
    *out = limit;
    return true;
}

static bool take_price(double usd, uint64_t *out, Err *err) {
    double uusd = usd * UUSD_PER_USD;
    if (!(usd > 0 && usd <= PRICE_MAX_USD) || uusd < 1)
        return err_set(err, "expected dollars per GPU-hour above 0 and up to %.0f, found %g",
                       PRICE_MAX_USD, usd);
    *out = (uint64_t)num_round(uusd);
    return true;
}

static bool take_fraction(double fraction, uint32_t *out, Err *err) {
    int64_t permille = fraction > 0 && fraction <= 1 ? num_round(fraction * PERMILLE_PER_1) : 0;
    double off = fraction * PERMILLE_PER_1 - (double)permille;
    if (permille < 1 || off > PERMILLE_SLACK || off < -PERMILLE_SLACK)
        return err_set(err, "expected 0.001 to 1 in steps of 0.001, found %g", fraction);
    *out = (uint32_t)permille;
    return true;
}

static bool take_format(const char *text, NumFmt *out, Err *err) {
    for (uint32_t i = 0; i < NUMFMT_COUNT; i++) {
        if (strcmp(text, numfmt_names[i]) != 0) continue;
        *out = (NumFmt)i;
        return true;
    }
    char quoted[TEXT_QUOTE_MAX];
    uint32_t near = text_nearest(text, numfmt_names, NUMFMT_COUNT);
    return err_set(err, "unknown number format %s%s%s", text_quote(text, quoted),
                   near == UINT32_MAX ? "" : ", did you mean ",
                   near == UINT32_MAX ? "" : numfmt_names[near]);
}

static bool take_model(Scenario *scenario, const char *text, Err *err) {
    if (*text == '\0') return err_set(err, "expected the name of a model file, found \"\"");
    scenario->model = arena_string(&scenario->arena, text);
    return true;
}

static bool take(Scenario *scenario, ScenarioField field, const Value *value, Err *err) {
    switch (field) {
    case SCENARIO_MODEL: return take_model(scenario, value->text, err);
    case SCENARIO_ISL: return take_count(value->whole, &scenario->isl, err);
    case SCENARIO_OSL: return take_count(value->whole, &scenario->osl, err);
    case SCENARIO_CONCURRENCY: return take_count(value->whole, &scenario->concurrency, err);
    case SCENARIO_TTFT_LIMIT: return take_limit(value->text, &scenario->ttft_limit_ps, err);
    case SCENARIO_TPOT_LIMIT: return take_limit(value->text, &scenario->tpot_limit_ps, err);
    case SCENARIO_PRICE: return take_price(value->number, &scenario->price_uusd_per_gpu_hour, err);
    case SCENARIO_MEMORY_FRACTION:
        return take_fraction(value->number, &scenario->memory_permille, err);
    case SCENARIO_PREFILL_CHUNK: return take_count(value->whole, &scenario->prefill_chunk, err);
    case SCENARIO_KV_FORMAT: return take_format(value->text, &scenario->kv_format, err);
    case SCENARIO_FIELD_COUNT: break;
    }
    return err_set(err, "no such field");
}

typedef enum ValueKind { VALUE_TEXT, VALUE_WHOLE, VALUE_NUMBER } ValueKind;

static ValueKind kind_of(ScenarioField field) {
    switch (field) {
    case SCENARIO_ISL:
    case SCENARIO_OSL:
    case SCENARIO_CONCURRENCY:
    case SCENARIO_PREFILL_CHUNK: return VALUE_WHOLE;
    case SCENARIO_PRICE:
    case SCENARIO_MEMORY_FRACTION: return VALUE_NUMBER;
    case SCENARIO_MODEL:
    case SCENARIO_TTFT_LIMIT:
    case SCENARIO_TPOT_LIMIT:
    case SCENARIO_KV_FORMAT:
    case SCENARIO_FIELD_COUNT: break;
    }
    return VALUE_TEXT;
}

// ---- Flags.

static bool parse_value(ValueKind kind, const char *text, Value *out, Err *err) {
    char quoted[TEXT_QUOTE_MAX];
    out->text = text;
    switch (kind) {
    case VALUE_TEXT: return true;
    case VALUE_WHOLE: return units_parse_count(text, &out->whole, err);
    case VALUE_NUMBER:
        return text_parse_double(text, &out->number) ||
               err_set(err, "expected a number, found %s", text_quote(text, quoted));
    }
    return false;
}

bool scenario_set(Scenario *scenario, ScenarioField field, const char *flag, const char *text,
                  Err *err) {
    Value value = {0};
    if (!parse_value(kind_of(field), text, &value, err) || !take(scenario, field, &value, err))
        return err_prefix(err, "%s", flag);
    scenario->origin[field] = SCENARIO_FLAG;
    scenario->where[field] = arena_string(&scenario->arena, flag);
    return true;
}

// ---- Files.

static bool read_value(ValueKind kind, JsonNode node, Value *out, Err *err) {
    switch (kind) {
    case VALUE_TEXT: return json_as_string(node, &out->text, err);
    case VALUE_WHOLE: return json_as_u64(node, &out->whole, err);
    case VALUE_NUMBER: return json_as_double(node, &out->number, err);
    }
    return false;
}

static bool read_field(JsonNode root, ScenarioField field, Scenario *scenario, Err *err) {
    JsonNode node = json_find(root, scenario_field_names[field]);
    Value value = {0};
    Err wrong = {0};
    if (!read_value(kind_of(field), node, &value, err)) return false;
    if (!take(scenario, field, &value, &wrong)) return json_error(node, err, "%s", wrong.text);
    scenario->origin[field] = SCENARIO_FILE;
    scenario->where[field] = json_place(node, &scenario->arena);
    return true;
}

static bool is_required(ScenarioField field) {
    return field == SCENARIO_ISL || field == SCENARIO_OSL || field == SCENARIO_CONCURRENCY;
}

static bool read_fields(JsonNode root, Scenario *scenario, Err *err) {
    const char *name, *source;
    if (!json_header(root, "scenario", SCENARIO_VERSION, err) ||
        !json_string(root, "name", &name, err) || !json_string(root, "source", &source, err))
        return false;
    scenario->name = arena_string(&scenario->arena, name);
    scenario->source = arena_string(&scenario->arena, source);
    for (uint32_t i = 0; i < SCENARIO_FIELD_COUNT; i++) {
        ScenarioField field = (ScenarioField)i;
        uint64_t ignored;
        // the getter of a missing member says so, with the name of a near miss
        if (!json_has(root, scenario_field_names[field])) {
            if (!is_required(field)) continue;
            return json_u64(root, scenario_field_names[field], &ignored, err);
        }
        if (!read_field(root, field, scenario, err)) return false;
    }
    return json_finish(root, err);
}

static bool finish_read(Json *json, Scenario *out, Err *err) {
    Scenario scenario;
    scenario_init(&scenario);
    bool done = read_fields(json_root(json), &scenario, err) && scenario_check(&scenario, 0, err);
    json_free(json);
    scenario_rehash(&scenario);
    if (done)
        *out = scenario;
    else
        scenario_free(&scenario);
    return done;
}

bool scenario_parse(const char *name, const char *bytes, size_t count, Scenario *out, Err *err) {
    Json json = {0};
    return json_parse(name, bytes, count, &json, err) && finish_read(&json, out, err);
}

bool scenario_load(const char *name, Scenario *out, Err *err) {
    Arena arena = {0};
    const char *path;
    Json json = {0};
    bool done = file_find(name, &arena, &path, err) && json_read(path, &json, err) &&
                finish_read(&json, out, err);
    arena_free(&arena);
    return done;
}

// A flag may have replaced the value of a file without scenario_set.
static bool fail_at(const Scenario *scenario, ScenarioField field, Err *err) {
    const char *where = scenario->where[field], *name = scenario_field_names[field];
    bool from_flag = scenario->origin[field] == SCENARIO_FLAG;
    if (where == NULL || *where == '\0' || (from_flag && *where != '-'))
        return err_prefix(err, "%s%s", from_flag ? "--" : "", name);
    return err_prefix(err, "%s", where);
}

bool scenario_check(const Scenario *scenario, uint64_t max_context, Err *err) {
    const struct {
        ScenarioField field;
        uint64_t value;
    } counts[] = {{SCENARIO_ISL, scenario->isl},
                  {SCENARIO_OSL, scenario->osl},
                  {SCENARIO_CONCURRENCY, scenario->concurrency},
                  {SCENARIO_PREFILL_CHUNK, scenario->prefill_chunk}};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        uint64_t ignored;
        if (take_count(counts[i].value, &ignored, err)) continue;
        return fail_at(scenario, counts[i].field, err);
    }
    if (max_context == 0 || scenario->isl + scenario->osl <= max_context) return true;
    err_set(err,
            "isl %" PRIu64 " + osl %" PRIu64 " is %" PRIu64
            " tokens, more than the model's context of %" PRIu64,
            scenario->isl, scenario->osl, scenario->isl + scenario->osl, max_context);
    return fail_at(scenario, scenario->isl >= scenario->osl ? SCENARIO_ISL : SCENARIO_OSL, err);
}

void scenario_write(const Scenario *scenario, Text *out) {
    JsonWriter writer = {.text = out};
    const char *const *keys = scenario_field_names;
    jsonw_open_object(&writer, NULL);
    jsonw_string(&writer, "moesim", "scenario");
    jsonw_u64(&writer, "version", SCENARIO_VERSION);
    jsonw_string(&writer, "name", scenario->name);
    jsonw_string(&writer, "source", scenario->source);
    if (*scenario->model != '\0') jsonw_string(&writer, keys[SCENARIO_MODEL], scenario->model);
    jsonw_u64(&writer, keys[SCENARIO_ISL], scenario->isl);
    jsonw_u64(&writer, keys[SCENARIO_OSL], scenario->osl);
    jsonw_u64(&writer, keys[SCENARIO_CONCURRENCY], scenario->concurrency);
    if (scenario->ttft_limit_ps > 0)
        jsonw_time(&writer, keys[SCENARIO_TTFT_LIMIT], scenario->ttft_limit_ps);
    if (scenario->tpot_limit_ps > 0)
        jsonw_time(&writer, keys[SCENARIO_TPOT_LIMIT], scenario->tpot_limit_ps);
    if (scenario->price_uusd_per_gpu_hour > 0)
        jsonw_double(&writer, keys[SCENARIO_PRICE],
                     (double)scenario->price_uusd_per_gpu_hour / UUSD_PER_USD);
    jsonw_double(&writer, keys[SCENARIO_MEMORY_FRACTION],
                 (double)scenario->memory_permille / PERMILLE_PER_1);
    jsonw_u64(&writer, keys[SCENARIO_PREFILL_CHUNK], scenario->prefill_chunk);
    jsonw_string(&writer, keys[SCENARIO_KV_FORMAT], numfmt_name(scenario->kv_format));
    jsonw_close_object(&writer);
    jsonw_finish(&writer);
}

void scenario_free(Scenario *scenario) {
    arena_free(&scenario->arena);
    *scenario = (Scenario){0};
}
