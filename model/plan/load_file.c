// The file form of loads.
//
// Invariant: memory is bounded by the document: counts are allocated after every row has shown that
// it is as long as announced.
#include "model/plan/load.h"

#include <assert.h>

#include "model/base/json.h"
#include "model/base/jsonw.h"
#include "model/base/wide.h"

static bool read_row(JsonNode row, uint32_t experts, uint64_t *tokens, Err *err) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < experts; i++) {
        JsonNode count = json_at(row, i);
        if (!json_as_u64(count, &tokens[i], err)) return false;
        if (!wide_add_u64(sum, tokens[i], &sum))
            return json_error(count, err, "the sum of the row does not fit 64 bits");
    }
    return true;
}

static bool check_lengths(JsonNode rows, const Load *load, Err *err) {
    uint32_t count = json_count(rows);
    if (count == 0) return json_error(rows, err, "expected at least one row, found none");
    if (count % load->sources != 0)
        return json_error(rows, err,
                          "expected a row for each of %u sources of each layer, found %u",
                          load->sources, count);
    for (uint32_t i = 0; i < count; i++) {
        JsonNode row = json_at(rows, i);
        if (json_kind(row) != JSON_ARRAY || json_count(row) != load->experts)
            return json_error(row, err, "expected an array of %u counts, found %u", load->experts,
                              json_count(row));
    }
    return wide_mul(count, load->experts) <= LOAD_COUNTS_MAX ||
           json_error(rows, err, "expected at most %u counts, found %u rows of %u",
                      (unsigned)LOAD_COUNTS_MAX, count, load->experts);
}

static bool read_counts(JsonNode rows, const Load *head, Load *out, Err *err) {
    Arena scratch = {0};
    uint32_t count = json_count(rows);
    uint64_t *tokens = arena_alloc(&scratch, (size_t)count * head->experts, sizeof *tokens);
    bool good = true;
    for (uint32_t i = 0; good && i < count; i++)
        good = read_row(json_at(rows, i), head->experts, tokens + (size_t)i * head->experts, err);
    if (good && !load_of_counts(count / head->sources, head->sources, head->experts, tokens,
                                head->origin, out, err)) {
        Err why = *err;
        *err = (Err){0};
        good = json_error(rows, err, "%s", why.text);
    }
    arena_free(&scratch);
    return good;
}

static bool read_head(JsonNode root, Load *head, JsonNode *rows, Err *err) {
    *head = (Load){.sources = 1, .origin = ""};
    if (!json_header(root, "load", LOAD_VERSION, err) ||
        !json_u32(root, "experts", &head->experts, err) ||
        (json_has(root, "sources") && !json_u32(root, "sources", &head->sources, err)) ||
        (json_has(root, "origin") && !json_string(root, "origin", &head->origin, err)) ||
        !json_array(root, "tokens", rows, err) || !json_finish(root, err))
        return false;
    return head->sources > 0 || json_error(root, err, "sources: expected at least one, found none");
}

static bool read_document(const Json *json, Load *out, Err *err) {
    Load head;
    JsonNode rows;
    return read_head(json_root(json), &head, &rows, err) && check_lengths(rows, &head, err) &&
           read_counts(rows, &head, out, err);
}

bool load_read(const char *path, Load *out, Err *err) {
    Json json = {0};
    bool done = json_read(path, &json, err) && read_document(&json, out, err);
    json_free(&json);
    return done;
}

bool load_parse(const char *name, const char *bytes, size_t count, Load *out, Err *err) {
    Json json = {0};
    bool done = json_parse(name, bytes, count, &json, err) && read_document(&json, out, err);
    json_free(&json);
    return done;
}

void load_write(const Load *load, Text *out) {
    assert(load->kind == LOAD_RECORDED);
    JsonWriter writer = {.text = out};
    jsonw_open_object(&writer, NULL);
    jsonw_string(&writer, "moesim", "load");
    jsonw_u64(&writer, "version", LOAD_VERSION);
    jsonw_u64(&writer, "experts", load->experts);
    if (load->sources > 1) jsonw_u64(&writer, "sources", load->sources);
    if (load->origin[0] != '\0') jsonw_string(&writer, "origin", load->origin);
    jsonw_open_array(&writer, "tokens");
    for (uint64_t i = 0; i < (uint64_t)load->layers * load->sources; i++) {
        jsonw_inline_next(&writer);
        jsonw_open_array(&writer, NULL);
        for (uint32_t j = 0; j < load->experts; j++)
            jsonw_u64(&writer, NULL, load->tokens[i * load->experts + j]);
        jsonw_close_array(&writer);
    }
    jsonw_close_array(&writer);
    jsonw_close_object(&writer);
    jsonw_finish(&writer);
}
