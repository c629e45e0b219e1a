// Reads the figures of engines (scenarios/engines/memory.json).
//
// Invariant: every figure has its source beside it; a figure without one is refused.
#include <string.h>

#include "model/base/file.h"
#include "model/base/json.h"
#include "model/base/text.h"
#include "model/plan/memory_engine.h"
#include "model/plan/plan.h"

#define MEMORY_ENGINE_VERSION 1
#define ENGINES_MAX           32
#define FIGURE_MAX            (UINT64_C(1) << 40) // tokens, sequences: products stay in 64 bits

static bool read_figure(JsonNode node, const char *key, uint64_t *out, Err *err) {
    uint64_t value = 0;
    if (!json_u64(node, key, &value, err)) return false;
    if (value > FIGURE_MAX)
        return json_error(json_find(node, key), err, "is %llu, expected at most 2^40",
                          (unsigned long long)value);
    *out = value;
    return true;
}

static bool read_small(JsonNode node, const char *key, uint32_t *out, Err *err) {
    uint64_t value = 0;
    if (!read_figure(node, key, &value, err)) return false;
    if (value == 0 || value > 65536)
        return json_error(json_find(node, key), err, "is %llu, expected 1 to 65536",
                          (unsigned long long)value);
    *out = (uint32_t)value;
    return true;
}

static bool read_defaults(JsonNode node, MemoryEngine *out, Err *err) {
    JsonNode sizes;
    if (!json_array(node, "sizes", &sizes, err)) return false;
    if (json_count(sizes) == 0 || json_count(sizes) > MEMORY_SIZES_MAX)
        return json_error(sizes, err, "has %u entries, expected 1 to %d",
                          (unsigned)json_count(sizes), MEMORY_SIZES_MAX);
    for (uint32_t i = 0; i < json_count(sizes); i++) {
        JsonNode at = json_at(sizes, i);
        MemoryDefaults *defaults = &out->sizes[i];
        if (!json_bytes(at, "memory", &defaults->memory_B, err) ||
            !read_figure(at, "chunk", &defaults->chunk, err) ||
            !read_figure(at, "sequences", &defaults->sequences, err) ||
            !read_figure(at, "graph_sequences", &defaults->graph_sequences, err) ||
            !read_figure(at, "graph_sequences_tp4", &defaults->graph_sequences_tp4, err) ||
            !json_finish(at, err))
            return false;
        if (defaults->chunk == 0)
            return json_error(json_find(at, "chunk"), err, "is 0, expected at least 1");
        if (i == 0 ? defaults->memory_B != 0 : defaults->memory_B <= out->sizes[i - 1].memory_B)
            return json_error(json_find(at, "memory"), err,
                              "expected 0 B in the first entry, then ever more");
    }
    out->size_count = json_count(sizes);
    return true;
}

static bool read_fraction(JsonNode node, MemoryEngine *out, Err *err) {
    double fraction = 0;
    if (!json_double(node, "fraction", &fraction, err)) return false;
    if (!(fraction >= 0 && fraction <= 1))
        return json_error(json_find(node, "fraction"), err, "is %g, expected 0 to 1", fraction);
    out->fraction_permille = (uint32_t)(fraction * 1000 + 0.5);
    bool has = json_has(node, "static");
    if (has == (out->fraction_permille > 0))
        return json_error(node, err, "expected a fraction above 0 or \"static\", not both");
    return true;
}

static bool read_static(JsonNode node, MemoryEngine *out, Err *err) {
    JsonNode at;
    MemoryStatic *rule = &out->derived;
    const char *source;
    if (!json_has(node, "static")) return true;
    return json_object(node, "static", &at, err) && json_bytes(at, "base", &rule->base_B, err) &&
           json_bytes(at, "per_chunk_token", &rule->per_chunk_token_B, err) &&
           json_bytes(at, "per_rank", &rule->per_rank_B, err) &&
           json_bytes(at, "per_dp_graph_sequence", &rule->per_dp_graph_sequence_B, err) &&
           json_bytes(at, "least", &rule->least_B, err) &&
           json_bytes(at, "least_from_memory", &rule->least_from_B, err) &&
           json_string(at, "source", &source, err) && json_finish(at, err);
}

// "fraction: ..." and so on, a line each, in the order of the file.
static bool read_sources(JsonNode node, Arena *arena, MemoryEngine *out, Err *err) {
    static const char *const keys[] = {"fraction", "stage_cut",  "grouping",     "page",
                                       "sizes",    "sampler",    "index_logits", "context",
                                       "graph",    "all_to_all", "copies",       "padding"};
    Text lines = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < sizeof keys / sizeof keys[0]; i++) {
        const char *source;
        char *key = arena_printf(arena, "%s_source", keys[i]);
        ok = json_string(node, key, &source, err);
        if (ok) text_addf(&lines, "%s: %s\n", keys[i], source);
    }
    if (ok) out->sources = arena_string(arena, text_string(&lines));
    text_free(&lines);
    return ok;
}

static bool read_buffers(JsonNode node, MemoryEngine *out, Err *err) {
    if (!read_figure(node, "sampler_B_per_logit", &out->sampler_B_per_logit, err) ||
        !json_bytes(node, "index_logits_most", &out->index_logits_most_B, err) ||
        !json_bytes(node, "context_alone", &out->alone_B, err) ||
        !json_bytes(node, "context_shared", &out->shared_B, err) ||
        !json_bytes(node, "graph_B_per_sequence", &out->graph_B_per_sequence, err) ||
        !read_figure(node, "all_to_all_tokens", &out->all_to_all_tokens, err) ||
        !json_bool(node, "copies_latent_up", &out->copies_latent_up, err) ||
        !read_small(node, "fp4_hidden_multiple", &out->fp4_hidden_multiple, err) ||
        !read_small(node, "fp4_width_multiple", &out->fp4_width_multiple, err))
        return false;
    if (out->shared_B < out->alone_B)
        return json_error(json_find(node, "context_shared"), err,
                          "is less than context_alone, expected at least that");
    return true;
}

static bool read_engine(JsonNode node, Arena *arena, MemoryEngine *out, Err *err) {
    const char *name;
    uint32_t scope, grouping, stage_cut, chunk_of, page, latent_page;
    if (!json_string(node, "engine", &name, err) ||
        !json_enum(node, "scope", memory_engine_scope_names, MEMORY_SCOPE_COUNT, &scope, err) ||
        !json_enum(node, "grouping", memory_page_grouping_names, MEMORY_GROUPING_COUNT, &grouping,
                   err) ||
        !json_enum(node, "stage_cut", plan_stage_cut_names, STAGE_CUT_LISTED, &stage_cut, err) ||
        !json_enum(node, "chunk_of", memory_engine_chunk_names, MEMORY_CHUNK_OF_COUNT, &chunk_of,
                   err) ||
        !read_small(node, "page_tokens", &page, err) ||
        !read_small(node, "latent_page_tokens", &latent_page, err) ||
        !read_fraction(node, out, err) || !read_static(node, out, err) ||
        !read_defaults(node, out, err) || !read_buffers(node, out, err) ||
        !read_sources(node, arena, out, err) || !json_finish(node, err))
        return false;
    out->name = arena_string(arena, name);
    out->scope = (MemoryScope)scope;
    out->grouping = (MemoryGrouping)grouping;
    out->stage_cut = (StageCut)stage_cut;
    out->chunk_of = (MemoryChunkOf)chunk_of;
    out->page_tokens = page;
    out->latent_page_tokens = latent_page;
    return true;
}

static bool read_engines(JsonNode root, MemoryEngines *out, Err *err) {
    JsonNode list;
    if (!json_header(root, "engine-memory", MEMORY_ENGINE_VERSION, err) ||
        !json_array(root, "engines", &list, err))
        return false;
    if (json_count(list) == 0 || json_count(list) > ENGINES_MAX)
        return json_error(list, err, "has %u engines, expected 1 to %d", (unsigned)json_count(list),
                          ENGINES_MAX);
    out->engines = arena_alloc(&out->arena, json_count(list), sizeof *out->engines);
    for (uint32_t i = 0; i < json_count(list); i++) {
        if (!read_engine(json_at(list, i), &out->arena, &out->engines[i], err)) return false;
        out->count++;
    }
    return json_finish(root, err);
}

bool memory_engine_parse(const char *name, const char *bytes, size_t count, MemoryEngines *out,
                         Err *err) {
    Json json = {0};
    MemoryEngines engines = {0};
    if (!json_parse(name, bytes, count, &json, err)) return false;
    bool ok = read_engines(json_root(&json), &engines, err);
    json_free(&json);
    if (ok)
        *out = engines;
    else
        memory_engine_free(&engines);
    return ok;
}

bool memory_engine_load(MemoryEngines *out, Err *err) {
    Arena arena = {0};
    const char *path;
    char *bytes;
    size_t count;
    bool ok = file_data("scenarios/engines/memory.json", &arena, &path, err) &&
              file_read(path, FILE_CAP_B, &arena, &bytes, &count, err) &&
              memory_engine_parse(path, bytes, count, out, err);
    arena_free(&arena);
    return ok;
}

void memory_engine_free(MemoryEngines *engines) {
    arena_free(&engines->arena);
    *engines = (MemoryEngines){0};
}

const MemoryEngine *memory_engine_find(const MemoryEngines *engines, const char *name, Err *err) {
    Text known = {0};
    char quoted[TEXT_QUOTE_MAX];
    for (uint32_t i = 0; i < engines->count; i++) {
        if (strcmp(engines->engines[i].name, name) == 0) {
            text_free(&known);
            return &engines->engines[i];
        }
        text_addf(&known, "%s%s", i > 0 ? " or " : "", engines->engines[i].name);
    }
    err_set(err, "unknown engine %s, expected %s", text_quote(name, quoted), text_string(&known));
    text_free(&known);
    return NULL;
}
