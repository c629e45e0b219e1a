// The list of written files.
//
// Invariant: names that are read are compared with those in the folder and never opened, so that a
// list cannot point elsewhere.
#include "sim/commands/manifest.h"

#include <string.h>

#include "model/base/file.h"
#include "model/base/folder.h"
#include "model/base/json.h"
#include "model/base/jsonw.h"

#define MANIFEST_VERSION 1

static void add_file(Manifest *manifest, const char *name, uint64_t size_B, Digest digest) {
    manifest->files = mem_grow(manifest->files, &manifest->capacity, manifest->count + 1,
                               sizeof *manifest->files);
    manifest->files[manifest->count++] =
        (ManifestFile){arena_string(&manifest->arena, name), size_B, digest};
}

void manifest_add(Manifest *manifest, const char *name, const char *bytes, size_t count) {
    add_file(manifest, name, count, hash_bytes(HASH_START, bytes, count));
}

void manifest_write(const Manifest *manifest, Text *out) {
    JsonWriter w = {.text = out, .flat = 3};
    jsonw_open_object(&w, NULL);
    jsonw_string(&w, "moesim", "saved");
    jsonw_u64(&w, "version", MANIFEST_VERSION);
    jsonw_open_array(&w, "files");
    for (uint32_t i = 0; i < manifest->count; i++) {
        jsonw_open_object(&w, NULL);
        jsonw_string(&w, "name", manifest->files[i].name);
        jsonw_u64(&w, "size_B", manifest->files[i].size_B);
        jsonw_digest(&w, "digest", manifest->files[i].digest);
        jsonw_close_object(&w);
    }
    jsonw_close_array(&w);
    jsonw_close_object(&w);
    jsonw_finish(&w);
}

// 16 lower-case hexadecimal digits, as hash_format writes them.
static bool read_digest(JsonNode object, Digest *out, Err *err) {
    const char *text, *digits = "0123456789abcdef";
    if (!json_string(object, "digest", &text, err)) return false;
    Digest digest = 0;
    if (strlen(text) != 16 || strspn(text, digits) != 16)
        return json_error(json_find(object, "digest"), err,
                          "expected 16 hexadecimal digits, found \"%s\"", text);
    for (size_t i = 0; i < 16; i++)
        digest = digest << 4 | (Digest)(strchr(digits, text[i]) - digits);
    *out = digest;
    return true;
}

static bool read_file(JsonNode object, Manifest *manifest, Err *err) {
    const char *name;
    uint64_t size_B;
    Digest digest = 0;
    if (!json_string(object, "name", &name, err) || !json_u64(object, "size_B", &size_B, err) ||
        !read_digest(object, &digest, err) || !json_finish(object, err))
        return false;
    add_file(manifest, name, size_B, digest);
    return true;
}

static bool read_root(JsonNode root, Manifest *manifest, Err *err) {
    JsonNode files;
    if (!json_header(root, "saved", MANIFEST_VERSION, err) ||
        !json_array(root, "files", &files, err) || !json_finish(root, err))
        return false;
    for (uint32_t i = 0; i < json_count(files); i++) {
        JsonNode file = json_at(files, i);
        if (json_kind(file) != JSON_OBJECT) return json_error(file, err, "expected an object");
        if (!read_file(file, manifest, err)) return false;
    }
    return true;
}

bool manifest_parse(const char *name, const char *bytes, size_t count, Manifest *out, Err *err) {
    Json json = {0};
    Manifest manifest = {0};
    if (!json_parse(name, bytes, count, &json, err)) return false;
    bool done = read_root(json_root(&json), &manifest, err);
    if (done)
        *out = manifest;
    else
        manifest_free(&manifest);
    json_free(&json);
    return done;
}

void manifest_free(Manifest *manifest) {
    arena_free(&manifest->arena);
    mem_free(manifest->files);
    *manifest = (Manifest){0};
}

// ---- Folders

static const ManifestFile *find(const Manifest *manifest, const char *name) {
    for (uint32_t i = 0; i < manifest->count; i++)
        if (strcmp(manifest->files[i].name, name) == 0) return &manifest->files[i];
    return NULL;
}

static bool load(const char *folder, Arena *arena, Manifest *out) {
    char *path = arena_printf(arena, "%s/%s", folder, MANIFEST_NAME), *bytes;
    size_t count;
    Err unused = {0}; // the caller says what follows from it
    return file_read(path, FILE_CAP_B, arena, &bytes, &count, &unused) &&
           manifest_parse(path, bytes, count, out, &unused);
}

static bool is_as_written(const char *folder, const ManifestFile *file, Arena *arena) {
    char *path = arena_printf(arena, "%s/%s", folder, file->name), *bytes;
    size_t count;
    Err unused = {0};
    return file_read(path, file->size_B, arena, &bytes, &count, &unused) && count == file->size_B &&
           hash_bytes(HASH_START, bytes, count) == file->digest;
}

static bool covers(const char *folder, const Manifest *manifest, Arena *arena, Err *err) {
    const char **names;
    uint32_t count;
    if (!folder_list(folder, arena, &names, &count, err)) return false;
    for (uint32_t i = 0; i < count; i++) {
        const ManifestFile *file = find(manifest, names[i]);
        if (file == NULL && strcmp(names[i], MANIFEST_NAME) == 0) continue;
        if (file == NULL)
            return err_set(err, "%s/%s: moesim did not write this file, it is not replaced", folder,
                           names[i]);
        if (!is_as_written(folder, file, arena))
            return err_set(err, "%s/%s: was changed since moesim wrote it, it is not replaced",
                           folder, names[i]);
    }
    return true;
}

bool manifest_covers(const char *folder, Err *err) {
    Arena arena = {0};
    Manifest manifest = {0};
    bool done = load(folder, &arena, &manifest)
                    ? covers(folder, &manifest, &arena, err)
                    : err_set(err, "%s: has no list of what moesim wrote (%s), nothing is replaced",
                              folder, MANIFEST_NAME);
    manifest_free(&manifest);
    arena_free(&arena);
    return done;
}
