// Reads an index file in one pass.
//
// Invariant: names are unique, of one line each; file names are plain names of .safetensors files,
// so that nothing outside of the index's folder is opened on its word. Memory is proportional to
// the bytes read; work is that of sorting. Source: the index files that transformers writes
// (weight_map, metadata.total_size).
#include "model/moe/safetensors_index.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/base/json_scan.h"
#include "model/base/text.h"
#include "model/moe/safetensors.h"

typedef struct Entry {
    const char *name;
    uint32_t file; // position among Parser.files
} Entry;

typedef struct Parser {
    JsonWalk walk;
    JsonEvent event; // the last one
    NamePool pool;
    Entry *entries; // heap
    uint32_t count, capacity;
    const char **files; // heap; one for each run of entries with the same file
    uint32_t file_count, file_capacity;
    bool has_map, has_metadata, has_total;
    uint64_t total_B;
    Err *err;
} Parser;

static bool next(Parser *p) {
    if (json_scan_next(&p->walk, &p->event, p->err)) return true;
    JsonPlace place = json_scan_place(p->walk.bytes, p->walk.at);
    return err_prefix(p->err, "%zu:%zu", place.line, place.column);
}

static bool take_string(Parser *p, uint32_t from, uint32_t end, const char **out) {
    char *text = name_map_room(&p->pool, end - from);
    char quote[TEXT_QUOTE_MAX];
    size_t length = json_scan_string(p->walk.bytes, from, text);
    if (text_plain(text) != length)
        return err_set(p->err, "control character in the name %s", text_quote(text, quote));
    *out = text;
    return true;
}

static bool check_file_name(const char *name, Err *err) {
    static const char end[] = ".safetensors";
    char quote[TEXT_QUOTE_MAX];
    size_t length = strlen(name), tail = sizeof end - 1;
    if (length <= tail || strcmp(name + length - tail, end) != 0)
        return err_set(err, "file %s, expected a name that ends in .safetensors",
                       text_quote(name, quote));
    if (strchr(name, '/') != NULL)
        return err_set(err, "file %s, expected a name without a folder", text_quote(name, quote));
    return true;
}

// The file of an entry; most have that of the entry before.
static bool take_file(Parser *p) {
    const char *name;
    if (p->event.kind != JSON_EVENT_STRING) return err_set(p->err, "expected the name of a file");
    if (!take_string(p, p->event.offset, p->event.end, &name)) return false;
    if (p->file_count > 0 && strcmp(p->files[p->file_count - 1], name) == 0) return true;
    if (!check_file_name(name, p->err)) return false;
    name_map_keep(&p->pool, strlen(name) + 1);
    p->files = mem_grow(p->files, &p->file_capacity, p->file_count + 1, sizeof *p->files);
    p->files[p->file_count++] = name;
    return true;
}

static bool parse_map(Parser *p) {
    if (p->has_map) return err_set(p->err, "duplicate key \"weight_map\"");
    p->has_map = true;
    if (p->event.kind != JSON_EVENT_OBJECT)
        return err_set(p->err, "weight_map: expected an object");
    for (;;) {
        const char *name;
        if (!next(p)) return false;
        if (p->event.kind == JSON_EVENT_CLOSE) return true;
        if (p->count == SAFETENSORS_INDEX_TENSORS)
            return err_set(p->err, "more than %u tensors", (unsigned)SAFETENSORS_INDEX_TENSORS);
        if (!take_string(p, p->event.key, p->event.key_end, &name)) return false;
        name_map_keep(&p->pool, strlen(name) + 1);
        if (!take_file(p)) return err_prefix(p->err, "%s", name);
        p->entries = mem_grow(p->entries, &p->capacity, p->count + 1, sizeof *p->entries);
        p->entries[p->count++] = (Entry){name, p->file_count - 1};
    }
}

static bool take_total(Parser *p) {
    uint64_t value = 0;
    if (p->has_total) return err_set(p->err, "metadata: duplicate key \"total_size\"");
    p->has_total = true;
    for (uint32_t i = p->event.offset; i < p->event.end; i++) {
        char c = p->walk.bytes[i];
        bool is_digit = p->event.kind == JSON_EVENT_NUMBER && c >= '0' && c <= '9';
        // some writers add up as floating point: "1234.0"
        if (!is_digit && i > p->event.offset && p->event.end - i == 2 &&
            memcmp(p->walk.bytes + i, ".0", 2) == 0)
            break;
        if (!is_digit)
            return err_set(p->err, "metadata: total_size: expected a number of bytes, found %.*s",
                           (int)(p->event.end - i < 40 ? p->event.end - p->event.offset : 40),
                           p->walk.bytes + p->event.offset);
        value = value * 10 + (uint64_t)(c - '0'); // at most 2^53, the scanner refuses more
    }
    p->total_B = value;
    return true;
}

// Past a value that is not needed, whatever is in it.
static bool skip_value(Parser *p) {
    if (p->event.kind != JSON_EVENT_OBJECT && p->event.kind != JSON_EVENT_ARRAY) return true;
    for (uint32_t depth = p->walk.depth; p->walk.depth >= depth;)
        if (!next(p)) return false;
    return true;
}

static bool key_is(const Parser *p, const char *word) {
    size_t length = strlen(word);
    return p->event.key_end - p->event.key == length + 2 &&
           memcmp(p->walk.bytes + p->event.key + 1, word, length) == 0;
}

static bool parse_metadata(Parser *p) {
    if (p->has_metadata) return err_set(p->err, "duplicate key \"metadata\"");
    p->has_metadata = true;
    if (p->event.kind != JSON_EVENT_OBJECT) return err_set(p->err, "metadata: expected an object");
    for (;;) {
        if (!next(p)) return false;
        if (p->event.kind == JSON_EVENT_CLOSE) return true;
        if (!(key_is(p, "total_size") ? take_total(p) : skip_value(p))) return false;
    }
}

static bool parse_root(Parser *p) {
    if (!next(p)) return false;
    if (p->event.kind != JSON_EVENT_OBJECT) return err_set(p->err, "expected an object");
    for (;;) {
        if (!next(p)) return false;
        if (p->event.kind == JSON_EVENT_CLOSE) break;
        bool good = key_is(p, "weight_map") ? parse_map(p)
                    : key_is(p, "metadata") ? parse_metadata(p)
                                            : skip_value(p);
        if (!good) return false;
    }
    if (!next(p)) return false; // END, or an error
    return p->has_map ? true : err_set(p->err, "missing \"weight_map\"");
}

// The distinct files in order; returns for each run of entries the position of its file.
static uint32_t *sort_files(const Parser *p, Arena *arena, SafetensorsIndex *out) {
    uint32_t *file_of_run = mem_alloc(p->file_count, sizeof *file_of_run);
    NameMap map;
    Arena scratch = {0};
    out->files = arena_copy(arena, p->files, p->file_count, sizeof *out->files);
    if (p->file_count > 0) qsort(out->files, p->file_count, sizeof *out->files, text_compare);
    for (uint32_t i = 0; i < p->file_count; i++)
        if (i == 0 || strcmp(out->files[i], out->files[out->file_count - 1]) != 0)
            out->files[out->file_count++] = out->files[i];
    name_map_build(out->files, out->file_count, &scratch, &map);
    for (uint32_t i = 0; i < p->file_count; i++) file_of_run[i] = name_map_find(&map, p->files[i]);
    arena_free(&scratch);
    return file_of_run;
}

// Names by file, in each in the order of the index.
static void group_names(const Parser *p, Arena *arena, SafetensorsIndex *out) {
    uint32_t *file_of_run = sort_files(p, arena, out);
    out->count = p->count;
    out->names = arena_alloc(arena, p->count, sizeof *out->names);
    out->file_first = arena_alloc(arena, (size_t)out->file_count + 1, sizeof *out->file_first);
    uint32_t *at = mem_alloc((size_t)out->file_count + 1, sizeof *at);
    for (uint32_t i = 0; i < p->count; i++) at[file_of_run[p->entries[i].file] + 1]++;
    for (uint32_t f = 0; f < out->file_count; f++) {
        at[f + 1] += at[f];
        out->file_first[f + 1] = at[f + 1];
    }
    for (uint32_t i = 0; i < p->count; i++)
        out->names[at[file_of_run[p->entries[i].file]]++] = p->entries[i].name;
    mem_free(at);
    mem_free(file_of_run);
}

static bool check_unique(const SafetensorsIndex *index, Err *err) {
    char quote[TEXT_QUOTE_MAX];
    uint32_t repeated = name_map_repeated(&index->map);
    if (repeated == NAME_NONE) return true;
    return err_set(err, "weight_map: duplicate key %s", text_quote(index->names[repeated], quote));
}

bool safetensors_index_parse(const char *where, const char *bytes, size_t count, Arena *arena,
                             SafetensorsIndex *out, Err *err) {
    Parser parser = {.pool = {.arena = arena}, .err = err};
    SafetensorsIndex index = {0};
    json_scan_start(bytes, count, &parser.walk);
    bool good = parse_root(&parser);
    if (good) {
        index.has_total = parser.has_total;
        index.total_B = parser.total_B;
        group_names(&parser, arena, &index);
        name_map_build(index.names, index.count, arena, &index.map);
        good = check_unique(&index, err);
    }
    mem_free(parser.entries);
    mem_free(parser.files);
    if (!good) return err_prefix(err, "%s", where);
    *out = index;
    return true;
}

static bool read_bytes(int descriptor, char **out, size_t *out_count, Err *err) {
    struct stat info;
    if (fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode))
        return err_set(err, "is not a regular file");
    if ((uint64_t)info.st_size > SAFETENSORS_INDEX_MAX_B)
        return err_set(err, "index of %lld bytes, at most %zu", (long long)info.st_size,
                       SAFETENSORS_INDEX_MAX_B);
    *out_count = (size_t)info.st_size;
    *out = mem_alloc(*out_count, 1);
    if (safetensors_pread(descriptor, 0, *out, *out_count)) return true;
    mem_free(*out);
    return err_set(err, "cannot be read");
}

bool safetensors_index_read(const char *path, Arena *arena, SafetensorsIndex *out, Err *err) {
    char *bytes = NULL;
    size_t count = 0;
    int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) return err_set(err, "%s: cannot be opened", path);
    bool good = read_bytes(descriptor, &bytes, &count, err);
    close(descriptor);
    if (!good) return err_prefix(err, "%s", path);
    good = safetensors_index_parse(path, bytes, count, arena, out, err);
    mem_free(bytes);
    return good;
}
