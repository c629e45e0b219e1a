// The file that keeps a plan with the inputs it was made for.
//
// Invariant: a file reads back to an equal value and is written to the same bytes; what is read
// passes plan_check.
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "model/base/json.h"
#include "model/base/json_copy.h"
#include "model/base/jsonw.h"
#include "model/plan/plan_fields.h"

// The inputs of a plan in the order of the file.
#define FILE_INPUTS(X) X(model) X(topology) X(scenario) X(calibration) X(load)

static void write_input(JsonWriter *writer, const char *key, const char *name, Digest digest) {
    if (name == NULL || *name == '\0') return;
    jsonw_inline_next(writer);
    jsonw_open_object(writer, key);
    jsonw_string(writer, "file", name);
    jsonw_digest(writer, "digest", digest);
    jsonw_close_object(writer);
}

static void write_pool(JsonWriter *writer, const Pool *pool) {
    jsonw_open_object(writer, NULL);
    jsonw_string(writer, "kind", plan_pool_names[pool->kind]);
#define X(field, least) jsonw_u64(writer, #field, pool->field);
    POOL_NUMBERS(X)
#undef X
#define X(field, type, names, count) jsonw_string(writer, #field, names[pool->field]);
    POOL_CHOICES(X)
#undef X
#define X(field, type, names, count)                                                               \
    if (pool->field != 0) jsonw_string(writer, #field, names[pool->field]);
    POOL_EXTRA_CHOICES(X)
#undef X
#define X(field)                                                                                   \
    if (pool->field != 0) jsonw_u64(writer, #field, pool->field);
    POOL_EXTRA_NUMBERS(X)
#undef X
    if (pool->stage_cut == STAGE_CUT_LISTED) {
        jsonw_inline_next(writer);
        jsonw_open_array(writer, "stages");
        for (uint32_t i = 0; i < pool->pp; i++) jsonw_u64(writer, NULL, pool->stages[i]);
        jsonw_close_array(writer);
    }
    jsonw_close_object(writer);
}

static void write_result(JsonWriter *writer, const char *result) {
    if (result == NULL || *result == '\0') return;
    Json json = {0};
    Err err = {0};
    bool done = json_parse("result", result, strlen(result), &json, &err) &&
                json_copy_value(json_root(&json), NULL, writer, "result", &err);
    assert(done && "a result is JSON that this program wrote");
    (void)done;
    json_free(&json);
}

void plan_write(const PlanFile *file, Text *out) {
    const Plan *plan = &file->plan;
    JsonWriter writer = {.text = out};
    jsonw_open_object(&writer, NULL);
    jsonw_string(&writer, "moesim", "plan");
    jsonw_u64(&writer, "version", PLAN_VERSION);
    if (file->origin != NULL && *file->origin != '\0')
        jsonw_string(&writer, "origin", file->origin);
#define X(input) write_input(&writer, #input, file->input, file->input##_digest);
    FILE_INPUTS(X)
#undef X
    jsonw_open_array(&writer, "pools");
    for (uint32_t i = 0; i < plan->pool_count; i++) write_pool(&writer, &plan->pools[i]);
    jsonw_close_array(&writer);
    jsonw_open_array(&writer, "transfers");
    for (uint32_t i = 0; i < plan->transfer_count; i++) {
        jsonw_inline_next(&writer);
        jsonw_open_object(&writer, NULL);
        jsonw_u64(&writer, "from", plan->transfers[i].from_pool);
        jsonw_u64(&writer, "to", plan->transfers[i].to_pool);
        jsonw_close_object(&writer);
    }
    jsonw_close_array(&writer);
    write_result(&writer, file->result);
    jsonw_close_object(&writer);
    jsonw_finish(&writer);
}

static bool read_digest(JsonNode object, Digest *out, Err *err) {
    const char *text;
    char quoted[TEXT_QUOTE_MAX];
    if (!json_string(object, "digest", &text, err)) return false;
    Digest digest = 0;
    size_t count = strlen(text);
    bool good = count == 16 && strspn(text, "0123456789abcdef") == count;
    if (!good)
        return json_error(json_find(object, "digest"), err,
                          "expected 16 lower-case hexadecimal digits, found %s",
                          text_quote(text, quoted));
    for (size_t i = 0; i < count; i++) {
        uint64_t digit =
            text[i] <= '9' ? (uint64_t)(text[i] - '0') : (uint64_t)(text[i] - 'a') + 10;
        digest = digest << 4 | digit;
    }
    *out = digest;
    return true;
}

static bool read_input(JsonNode root, const char *key, PlanFile *file, const char **out_name,
                       Digest *out_digest, Err *err) {
    JsonNode node;
    const char *name;
    *out_name = "";
    if (!json_has(root, key)) return true;
    if (!json_object(root, key, &node, err) || !json_string(node, "file", &name, err) ||
        !read_digest(node, out_digest, err) || !json_finish(node, err))
        return false;
    if (*name == '\0')
        return json_error(json_find(node, "file"), err, "expected a name, found \"\"");
    *out_name = arena_string(&file->arena, name);
    return true;
}

// A list says by itself that the stages are listed.
static bool read_stages(JsonNode node, Pool *pool, Err *err) {
    JsonNode list;
    if (!json_has(node, "stages")) return true;
    if (!json_array(node, "stages", &list, err)) return false;
    if (json_count(list) == 0 || json_count(list) > POOL_STAGES_MAX)
        return json_error(list, err, "%" PRIu32 " stages, expected 1 to %d", json_count(list),
                          POOL_STAGES_MAX);
    for (uint32_t i = 0; i < json_count(list); i++) {
        uint64_t layers;
        if (!json_as_u64(json_at(list, i), &layers, err)) return false;
        if (layers == 0 || layers > UINT32_MAX / POOL_STAGES_MAX)
            return json_error(json_at(list, i), err, "expected at least one layer, found %" PRIu64,
                              layers);
        pool->stages[i] = (uint32_t)layers;
    }
    if (!json_has(node, "stage_cut")) pool->stage_cut = STAGE_CUT_LISTED;
    return true;
}

static bool read_extra(JsonNode node, Pool *pool, Err *err) {
    uint32_t choice;
#define X(field, type, names, count)                                                               \
    if (json_has(node, #field)) {                                                                  \
        if (!json_enum(node, #field, names, count, &choice, err)) return false;                    \
        pool->field = (type)choice;                                                                \
    }
    POOL_EXTRA_CHOICES(X)
#undef X
#define X(field)                                                                                   \
    if (json_has(node, #field) && !json_u32(node, #field, &pool->field, err)) return false;
    POOL_EXTRA_NUMBERS(X)
#undef X
    return read_stages(node, pool, err);
}

static bool read_pool(JsonNode node, Pool *out, Err *err) {
    Pool pool = {0};
    uint32_t choice;
    if (json_kind(node) != JSON_OBJECT) return json_error(node, err, "expected an object");
    if (!json_enum(node, "kind", plan_pool_names, POOL_KIND_COUNT, &choice, err)) return false;
    pool.kind = (PoolKind)choice;
#define X(field, least)                                                                            \
    if (!json_u32(node, #field, &pool.field, err)) return false;
    POOL_NUMBERS(X)
#undef X
#define X(field, type, names, count)                                                               \
    if (!json_enum(node, #field, names, count, &choice, err)) return false;                        \
    pool.field = (type)choice;
    POOL_CHOICES(X)
#undef X
    if (!read_extra(node, &pool, err)) return false;
    Err wrong = {0};
    if (!plan_check_pool(&pool, &wrong)) return json_error(node, err, "%s", wrong.text);
    *out = pool;
    return json_finish(node, err);
}

static bool read_transfer(JsonNode node, KvTransfer *out, Err *err) {
    if (json_kind(node) != JSON_OBJECT) return json_error(node, err, "expected an object");
    return json_u32(node, "from", &out->from_pool, err) &&
           json_u32(node, "to", &out->to_pool, err) && json_finish(node, err);
}

// The array `key` of at most PLAN_POOLS_MAX elements.
static bool read_list(JsonNode root, const char *key, JsonNode *out, uint32_t *out_count,
                      Err *err) {
    if (!json_array(root, key, out, err)) return false;
    *out_count = json_count(*out);
    return *out_count <= PLAN_POOLS_MAX ||
           json_error(*out, err, "%" PRIu32 " %s, expected at most %d", *out_count, key,
                      PLAN_POOLS_MAX);
}

static bool read_plan(JsonNode root, Plan *plan, Err *err) {
    JsonNode list;
    if (!read_list(root, "pools", &list, &plan->pool_count, err)) return false;
    for (uint32_t i = 0; i < plan->pool_count; i++)
        if (!read_pool(json_at(list, i), &plan->pools[i], err)) return false;
    JsonNode pools = list;
    if (!read_list(root, "transfers", &list, &plan->transfer_count, err)) return false;
    for (uint32_t i = 0; i < plan->transfer_count; i++)
        if (!read_transfer(json_at(list, i), &plan->transfers[i], err)) return false;
    Err wrong = {0};
    return plan_check(plan, &wrong) || json_error(pools, err, "%s", wrong.text);
}

static bool read_result(JsonNode root, PlanFile *file, Err *err) {
    file->result = "";
    if (!json_has(root, "result")) return true;
    Text text = {0};
    JsonWriter writer = {.text = &text};
    bool done = json_copy_value(json_find(root, "result"), NULL, &writer, NULL, err);
    if (done) file->result = arena_string(&file->arena, text_string(&text));
    text_free(&text);
    return done;
}

static bool read_file(JsonNode root, PlanFile *file, Err *err) {
    if (!json_header(root, "plan", PLAN_VERSION, err)) return false;
#define X(input)                                                                                   \
    if (!read_input(root, #input, file, &file->input, &file->input##_digest, err)) return false;
    FILE_INPUTS(X)
#undef X
    return json_optional_text(root, "origin", &file->arena, &file->origin, err) &&
           read_plan(root, &file->plan, err) && read_result(root, file, err) &&
           json_finish(root, err);
}

static bool finish_read(Json *json, PlanFile *out, Err *err) {
    PlanFile file = {0};
    bool done = read_file(json_root(json), &file, err);
    json_free(json);
    if (done)
        *out = file;
    else
        plan_file_free(&file);
    return done;
}

bool plan_read(const char *path, PlanFile *out, Err *err) {
    Json json = {0};
    return json_read(path, &json, err) && finish_read(&json, out, err);
}

bool plan_parse(const char *name, const char *bytes, size_t count, PlanFile *out, Err *err) {
    Json json = {0};
    return json_parse(name, bytes, count, &json, err) && finish_read(&json, out, err);
}

void plan_file_free(PlanFile *file) {
    arena_free(&file->arena);
    *file = (PlanFile){0};
}
