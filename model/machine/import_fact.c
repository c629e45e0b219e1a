// Reads the table of facts. Invariant: every row has a source; strings live in the arena.
#include "model/machine/import_fact.h"

#include <assert.h>
#include <string.h>

#include "model/base/file.h"
#include "model/base/json.h"

#define VERSION   1
#define FACTS_MAX 4096

static const char *const table_names[IMPORT_TABLE_COUNT] = {
#define X(name, text) text,
    IMPORT_TABLE_LIST(X)
#undef X
};

static bool read_text(JsonNode node, const char *key, Arena *arena, const char **out, Err *err) {
    const char *text = "";
    if (json_has(node, key) && !json_string(node, key, &text, err)) return false;
    *out = arena_string(arena, text);
    return true;
}

static bool read_links(JsonNode node, ImportFact *fact, Err *err) {
    JsonNode links;
    if (!json_has(node, "links")) return true;
    if (!json_array(node, "links", &links, err)) return false;
    if (json_count(links) == 0 || json_count(links) > IMPORT_PLANES_MAX)
        return json_error(links, err, "expected 1 to %d numbers", IMPORT_PLANES_MAX);
    fact->link_count = json_count(links);
    for (uint32_t i = 0; i < fact->link_count; i++) {
        uint64_t count;
        if (!json_as_u64(json_at(links, i), &count, err)) return false;
        if (count == 0 || count > TOPOLOGY_CABLES_MAX)
            return json_error(json_at(links, i), err, "expected 1 to %d links",
                              TOPOLOGY_CABLES_MAX);
        fact->links[i] = (uint32_t)count;
    }
    return true;
}

static bool read_fact(JsonNode node, Arena *arena, ImportFact *fact, Err *err) {
    uint32_t table;
    const char *confidence;
    if (json_kind(node) != JSON_OBJECT) return json_error(node, err, "expected an object");
    if (!json_enum(node, "table", table_names, IMPORT_TABLE_COUNT, &table, err)) return false;
    fact->table = (ImportTable)table;
    if (json_has(node, "rate") && !json_rate(node, "rate", &fact->rate_Bps, err)) return false;
    if (json_has(node, "latency") && !json_time(node, "latency", &fact->latency_ps, err))
        return false;
    if (!json_has(node, "key") || !json_has(node, "source"))
        return json_error(node, err, "expected \"key\" and \"source\"");
    if (!read_text(node, "key", arena, &fact->key, err) ||
        !read_text(node, "device", arena, &fact->device, err) ||
        !read_text(node, "remark", arena, &fact->remark, err) ||
        !read_text(node, "source", arena, &fact->source, err) ||
        !read_text(node, "confidence", arena, &confidence, err) || !read_links(node, fact, err))
        return false;
    fact->confidence = *confidence == '\0' ? 'B' : *confidence;
    return json_finish(node, err);
}

static bool read_root(JsonNode root, ImportFacts *facts, Err *err) {
    JsonNode list;
    if (!json_header(root, "import", VERSION, err) || !json_array(root, "facts", &list, err))
        return false;
    json_ignore(root, "note");
    if (json_count(list) > FACTS_MAX)
        return json_error(list, err, "expected at most %d facts", FACTS_MAX);
    facts->count = json_count(list);
    facts->facts = arena_alloc(&facts->arena, facts->count, sizeof *facts->facts);
    for (uint32_t i = 0; i < facts->count; i++) {
        if (!read_fact(json_at(list, i), &facts->arena, &facts->facts[i], err)) return false;
    }
    return json_finish(root, err);
}

bool import_fact_load(ImportFacts *out, Err *err) {
    ImportFacts facts = {.count = 0};
    Json json = {0};
    const char *path;
    bool done = file_data("topologies/imports/known.json", &facts.arena, &path, err) &&
                json_read(path, &json, err) && read_root(json_root(&json), &facts, err);
    json_free(&json);
    if (!done) {
        import_fact_free(&facts);
        return false;
    }
    *out = facts;
    return true;
}

void import_fact_free(ImportFacts *facts) {
    arena_free(&facts->arena);
    *facts = (ImportFacts){.count = 0};
}

const ImportFact *import_fact_find(const ImportFacts *facts, ImportTable table, const char *key) {
    for (uint32_t i = 0; i < facts->count; i++) {
        const ImportFact *fact = &facts->facts[i];
        if (fact->table == table && strcmp(fact->key, key) == 0) return fact;
    }
    return NULL;
}

const ImportFact *import_fact_within(const ImportFacts *facts, ImportTable table,
                                     const char *text) {
    const ImportFact *best = NULL;
    for (uint32_t i = 0; i < facts->count; i++) {
        const ImportFact *fact = &facts->facts[i];
        if (fact->table != table || strstr(text, fact->key) == NULL) continue;
        if (best == NULL || strlen(fact->key) > strlen(best->key)) best = fact;
    }
    return best;
}

LinkRule import_fact_link(const ImportFacts *facts, LinkClass link_class, const char *key) {
    const ImportFact *fact = import_fact_find(facts, IMPORT_TABLE_LINK, key);
    assert(fact != NULL);
    return (LinkRule){.link_class = link_class,
                      .cables = 1,
                      .bandwidth_Bps = fact->rate_Bps,
                      .latency_ps = fact->latency_ps,
                      .source = fact->source,
                      .confidence = fact->confidence};
}
