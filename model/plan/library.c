// Reads the list of communication libraries.
//
// Invariant: what a library does has a reason and a source.
#include "model/plan/library.h"

#include <inttypes.h>

#include "model/base/file.h"
#include "model/base/json.h"

#define LIST_FILE       "scenarios/engines/libraries.json"
#define LIBRARY_VERSION 1
#define LIBRARIES_MAX   64

const char *const library_loss_names[LIBRARY_LOSS_COUNT] = {
#define X(name, text) text,
    LIBRARY_LOSS_LIST(X)
#undef X
};

static bool read_needed(JsonNode item, const char *key, Arena *arena, const char **out, Err *err) {
    if (!json_text(item, key, arena, out, err)) return false;
    return **out != '\0' || json_error(json_find(item, key), err, "expected some text");
}

static bool read_library(JsonNode item, Arena *arena, Library *out, Err *err) {
    uint32_t loss;
    if (!read_needed(item, "library", arena, &out->name, err) ||
        !json_enum(item, "lost_nic", library_loss_names, LIBRARY_LOSS_COUNT, &loss, err) ||
        !read_needed(item, "because", arena, &out->because, err) ||
        !json_text(item, "unless", arena, &out->unless, err) ||
        !read_needed(item, "source", arena, &out->source, err))
        return false;
    out->lost_nic = (LibraryLoss)loss;
    return json_finish(item, err);
}

static bool read_list(JsonNode root, Libraries *out, Err *err) {
    JsonNode list;
    if (!json_header(root, "communication-libraries", LIBRARY_VERSION, err) ||
        !json_array(root, "libraries", &list, err))
        return false;
    if (json_count(list) > LIBRARIES_MAX)
        return json_error(list, err, "%" PRIu32 " items, expected at most %d", json_count(list),
                          LIBRARIES_MAX);
    out->libraries = arena_alloc(&out->arena, json_count(list), sizeof *out->libraries);
    for (; out->count < json_count(list); out->count++)
        if (!read_library(json_at(list, out->count), &out->arena, &out->libraries[out->count], err))
            return false;
    return json_finish(root, err);
}

// Takes over the document.
static bool finish(Json *doc, Libraries *libraries, Libraries *out, Err *err) {
    bool good = read_list(json_root(doc), libraries, err);
    json_free(doc);
    if (good)
        *out = *libraries;
    else
        library_free(libraries);
    return good;
}

bool library_load(Libraries *out, Err *err) {
    Libraries libraries = {0};
    Json doc = {0};
    const char *path;
    if (file_data(LIST_FILE, &libraries.arena, &path, err) && json_read(path, &doc, err))
        return finish(&doc, &libraries, out, err);
    library_free(&libraries);
    return false;
}

bool library_parse(const char *name, const char *bytes, size_t count, Libraries *out, Err *err) {
    Libraries libraries = {0};
    Json doc = {0};
    return json_parse(name, bytes, count, &doc, err) && finish(&doc, &libraries, out, err);
}

void library_free(Libraries *libraries) {
    arena_free(&libraries->arena);
    *libraries = (Libraries){0};
}
