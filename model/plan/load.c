// Loads: how many tokens go to which expert.
//
// Invariant: every recorded row has `experts` counts whose sum is above zero and fits in 64 bits,
// so that a share is always a fraction.
#include "model/plan/load.h"

#include <assert.h>

#include "model/base/json.h"
#include "model/base/jsonw.h"
#include "model/base/wide.h"

static Digest digest_of(const Load *load) {
    Digest digest = hash_string(HASH_START, "load");
    digest = hash_u64(digest, load->kind);
    digest = hash_u64(digest, load->layers);
    digest = hash_u64(digest, load->experts);
    for (uint64_t i = 0; i < (uint64_t)load->layers * load->experts; i++)
        digest = hash_u64(digest, load->tokens[i]);
    return digest;
}

Load load_uniform(void) {
    Load load = {.kind = LOAD_UNIFORM};
    load.digest = digest_of(&load);
    return load;
}

static bool read_row(JsonNode row, uint32_t experts, uint64_t *tokens, Err *err) {
    if (json_kind(row) != JSON_ARRAY || json_count(row) != experts)
        return json_error(row, err, "expected an array of %u counts, found %u", experts,
                          json_count(row));
    uint64_t sum = 0;
    for (uint32_t i = 0; i < experts; i++) {
        JsonNode count = json_at(row, i);
        if (!json_as_u64(count, &tokens[i], err)) return false;
        if (!wide_add_u64(sum, tokens[i], &sum))
            return json_error(count, err, "the sum of the row does not fit 64 bits");
    }
    return sum > 0 || json_error(row, err, "expected at least one token, found none");
}

static bool read_rows(JsonNode root, Load *load, Err *err) {
    JsonNode rows;
    if (!json_u32(root, "experts", &load->experts, err) || !json_array(root, "tokens", &rows, err))
        return false;
    load->layers = json_count(rows);
    if (load->layers == 0) return json_error(rows, err, "expected at least one row, found none");
    // a first row of the announced length bounds the memory by the size of the document
    for (uint32_t i = 0; i < load->layers; i++) {
        JsonNode row = json_at(rows, i);
        if (json_count(row) != load->experts) return read_row(row, load->experts, NULL, err);
    }
    uint64_t *tokens = arena_alloc(&load->arena, load->layers, load->experts * sizeof *tokens);
    load->tokens = tokens;
    for (uint32_t i = 0; i < load->layers; i++) {
        uint64_t *row = tokens + (uint64_t)i * load->experts;
        if (!read_row(json_at(rows, i), load->experts, row, err)) return false;
    }
    return true;
}

static bool read_document(const Json *json, Load *out, Err *err) {
    JsonNode root = json_root(json);
    Load load = {.kind = LOAD_RECORDED};
    if (!json_header(root, "load", LOAD_VERSION, err) || !read_rows(root, &load, err) ||
        !json_finish(root, err)) {
        load_free(&load);
        return false;
    }
    load.digest = digest_of(&load);
    *out = load;
    return true;
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
    jsonw_open_array(&writer, "tokens");
    for (uint32_t i = 0; i < load->layers; i++) {
        jsonw_inline_next(&writer);
        jsonw_open_array(&writer, NULL);
        for (uint32_t j = 0; j < load->experts; j++)
            jsonw_u64(&writer, NULL, load->tokens[(uint64_t)i * load->experts + j]);
        jsonw_close_array(&writer);
    }
    jsonw_close_array(&writer);
    jsonw_close_object(&writer);
    jsonw_finish(&writer);
}

void load_free(Load *load) {
    arena_free(&load->arena);
    *load = (Load){0};
}

static bool has_layers(const Load *load, uint32_t layers) {
    return load->layers == 1 || layers <= load->layers;
}

bool load_check(const Load *load, uint32_t layers, uint32_t experts, Err *err) {
    if (load->kind == LOAD_UNIFORM) return true;
    if (load->experts != experts)
        return err_set(err, "the load is of %u experts, expected %u", load->experts, experts);
    return has_layers(load, layers) ||
           err_set(err, "the load is of %u layers, expected %u, or one for all", load->layers,
                   layers);
}

void load_share(const Load *load, uint32_t layer, uint32_t experts, uint32_t first, uint32_t count,
                uint64_t *part, uint64_t *whole) {
    assert(experts > 0 && first <= experts && count <= experts - first);
    *part = count;
    *whole = experts;
    if (load->kind == LOAD_UNIFORM || load->experts != experts) return;
    if (load->layers != 1 && layer >= load->layers) return;
    const uint64_t *row = load->tokens + (load->layers == 1 ? 0 : (uint64_t)layer * load->experts);
    *part = *whole = 0;
    for (uint32_t i = 0; i < experts; i++) {
        *whole += row[i];
        if (i >= first && i - first < count) *part += row[i];
    }
}
