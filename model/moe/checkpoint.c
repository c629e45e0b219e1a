// Finds the files of a checkpoint, reads their headers and compares them with each other and with
// the index.
//
// Invariant: every tensor stands in exactly one file of the list, tensors of a file lie together,
// and the order of files and tensors depends on names and offsets alone, never on the order in
// which the system lists a folder.
#include "model/moe/checkpoint.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "model/base/file.h"
#include "model/base/text.h"
#include "model/moe/safetensors.h"
#include "model/moe/safetensors_index.h"

#define INDEX_NAME "model.safetensors.index.json" // what transformers writes
#define BATCH      32                             // names looked up at once

typedef struct Names {
    const char **items;
    uint32_t count, capacity;
} Names;

// What checkpoint_open works with.
typedef struct Opener {
    Checkpoint *checkpoint;
    Arena scratch;
    Names data, indexes; // files of the folder, by ending
    SafetensorsIndex index;
    SafetensorsFile *headers; // [file_count]
    bool *is_known;           // [tensor_count] the index has the name, in this file or another
    Findings *findings;
} Opener;

static bool ends_with(const char *name, const char *end) {
    size_t length = strlen(name), tail = strlen(end);
    return length >= tail && strcmp(name + length - tail, end) == 0;
}

static void add_name(Names *names, const char *name, Arena *arena) {
    names->items = mem_grow(names->items, &names->capacity, names->count + 1, sizeof(char *));
    names->items[names->count++] = arena_string(arena, name);
}

static void sort_names(Names *names) {
    if (names->count > 0) qsort(names->items, names->count, sizeof(char *), text_compare);
}

static bool has_name(const Names *names, const char *name) {
    return names->count > 0 &&
           bsearch(&name, names->items, names->count, sizeof(char *), text_compare) != NULL;
}

static bool list_folder(Opener *opener, const char *path, Err *err) {
    DIR *folder = opendir(path);
    if (folder == NULL) return err_set(err, "%s: the folder cannot be read", path);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        Names *names = ends_with(entry->d_name, ".safetensors")              ? &opener->data
                       : ends_with(entry->d_name, ".safetensors.index.json") ? &opener->indexes
                                                                             : NULL;
        if (names != NULL) add_name(names, entry->d_name, &opener->checkpoint->arena);
    }
    closedir(folder);
    sort_names(&opener->data);
    sort_names(&opener->indexes);
    return true;
}

static void set_files(Opener *opener, const char *folder, const char *const *names,
                      uint32_t count) {
    Checkpoint *checkpoint = opener->checkpoint;
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/') length--;
    checkpoint->files = arena_alloc(&checkpoint->arena, count, sizeof *checkpoint->files);
    checkpoint->file_count = count;
    for (uint32_t i = 0; i < count; i++) {
        CheckpointFile *file = &checkpoint->files[i];
        file->name = names[i];
        file->path = arena_printf(&checkpoint->arena, "%.*s/%s", (int)length, folder, names[i]);
    }
}

static bool open_index(Opener *opener, const char *folder, const char *path, Err *err) {
    Checkpoint *checkpoint = opener->checkpoint;
    if (!safetensors_index_read(path, &checkpoint->arena, &opener->index, err)) return false;
    checkpoint->index_name = file_name(path);
    checkpoint->has_total = opener->index.has_total;
    checkpoint->total_B = opener->index.total_B;
    set_files(opener, folder, opener->index.files, opener->index.file_count);
    Names listed = {.items = opener->index.files, .count = opener->index.file_count};
    for (uint32_t i = 0; i < opener->data.count; i++) {
        if (has_name(&listed, opener->data.items[i])) continue;
        if (checkpoint->unlisted++ == 0) checkpoint->first_unlisted = opener->data.items[i];
    }
    return true;
}

static bool open_folder(Opener *opener, const char *path, Err *err) {
    Arena *arena = &opener->checkpoint->arena;
    if (!list_folder(opener, path, err)) return false;
    const char *index = has_name(&opener->indexes, INDEX_NAME) ? INDEX_NAME
                        : opener->indexes.count == 1           ? opener->indexes.items[0]
                                                               : NULL;
    if (index != NULL)
        return open_index(opener, path, arena_printf(arena, "%s/%s", path, index), err);
    if (opener->indexes.count > 1)
        return err_set(err, "%s: %" PRIu32 " index files (%s, %s, ...), expected one; name it",
                       path, opener->indexes.count, opener->indexes.items[0],
                       opener->indexes.items[1]);
    if (opener->data.count == 0)
        return err_set(err, "%s: no .safetensors files and no index of them", path);
    set_files(opener, path, opener->data.items, opener->data.count);
    return true;
}

// The files that the path stands for, headers not yet read.
static bool find_files(Opener *opener, const char *path, Err *err) {
    struct stat info;
    Arena *arena = &opener->checkpoint->arena;
    if (stat(path, &info) != 0)
        return err_set(err, "%s: no such file or folder", *path == '\0' ? "\"\"" : path);
    if (S_ISDIR(info.st_mode)) return open_folder(opener, path, err);
    const char *name = file_name(path), *folder = ".";
    if (name != path) folder = arena_printf(arena, "%.*s", (int)(name - path), path);
    if (!ends_with(path, ".json")) {
        set_files(opener, folder, &name, 1);
        return true;
    }
    return list_folder(opener, folder, err) && open_index(opener, folder, path, err);
}

static void read_headers(Opener *opener) {
    Checkpoint *checkpoint = opener->checkpoint;
    struct stat info;
    opener->headers =
        arena_alloc(&opener->scratch, checkpoint->file_count, sizeof(SafetensorsFile));
    checkpoint->has_headers = checkpoint->index_name == NULL;
    for (uint32_t i = 0; i < checkpoint->file_count; i++) {
        CheckpointFile *file = &checkpoint->files[i];
        file->exists = stat(file->path, &info) == 0;
        checkpoint->has_headers = checkpoint->has_headers || file->exists;
    }
    for (uint32_t i = 0; checkpoint->has_headers && i < checkpoint->file_count; i++) {
        CheckpointFile *file = &checkpoint->files[i];
        if (!file->exists && checkpoint->index_name != NULL) {
            const uint32_t *first = opener->index.file_first;
            finding_add(opener->findings, FINDING_MISSING_FILE, file->name,
                        "%s names it for %" PRIu32 " tensors", checkpoint->index_name,
                        first[i + 1] - first[i]);
            continue;
        }
        file->is_read = safetensors_read(file->path, file->name, &checkpoint->arena,
                                         opener->findings, &opener->headers[i]);
        file->size_B = opener->headers[i].size_B;
        file->data_start = opener->headers[i].data_start;
    }
}

// How many tensors the list has of a file: those of its header, or else of the index.
static uint32_t tensors_of(const Opener *opener, uint32_t file) {
    const Checkpoint *checkpoint = opener->checkpoint;
    if (checkpoint->files[file].is_read) return opener->headers[file].count;
    if (checkpoint->index_name == NULL) return 0;
    return opener->index.file_first[file + 1] - opener->index.file_first[file];
}

static CheckpointTensor tensor_at(const Opener *opener, uint32_t file, uint32_t index) {
    const Checkpoint *checkpoint = opener->checkpoint;
    if (!checkpoint->files[file].is_read)
        return (CheckpointTensor){
            .name = opener->index.names[opener->index.file_first[file] + index],
            .file = file,
            .is_indexed = true,
        };
    const SafetensorsTensor *from = &opener->headers[file].tensors[index];
    return (CheckpointTensor){
        .name = from->name,
        .type = from->type,
        .dims = from->dims,
        .begin = from->begin,
        .end = from->end,
        .rank = from->rank,
        .bits = from->bits,
        .file = file,
        .is_indexed = checkpoint->index_name == NULL,
    };
}

static bool list_tensors(Opener *opener, Err *err) {
    Checkpoint *checkpoint = opener->checkpoint;
    uint64_t total = 0;
    for (uint32_t i = 0; i < checkpoint->file_count; i++) total += tensors_of(opener, i);
    if (total >= CHECKPOINT_NONE)
        return err_set(err, "%s: %" PRIu64 " tensors, at most %u", checkpoint->path, total,
                       CHECKPOINT_NONE - 1);
    checkpoint->tensors = arena_alloc(&checkpoint->arena, total, sizeof *checkpoint->tensors);
    const char **names = arena_alloc(&opener->scratch, total, sizeof *names);
    uint32_t at = 0;
    for (uint32_t i = 0; i < checkpoint->file_count; i++) {
        checkpoint->files[i].first = at;
        checkpoint->files[i].count = tensors_of(opener, i);
        for (uint32_t k = 0; k < checkpoint->files[i].count; k++, at++) {
            checkpoint->tensors[at] = tensor_at(opener, i, k);
            names[at] = checkpoint->tensors[at].name;
        }
        safetensors_free(&opener->headers[i]);
    }
    checkpoint->tensor_count = at;
    if (checkpoint->has_headers)
        name_map_build(names, at, &checkpoint->arena, &checkpoint->names);
    else
        checkpoint->names = opener->index.map; // the same names in the same order
    return true;
}

// One name of the index against the tensors of that name.
static void compare_name(Opener *opener, const char *name, uint32_t file, NameRun all) {
    Checkpoint *checkpoint = opener->checkpoint;
    uint32_t elsewhere = CHECKPOINT_NONE;
    bool is_there = false;
    for (uint32_t i = 0; i < all.count; i++) {
        CheckpointTensor *tensor = &checkpoint->tensors[all.entries[i].item];
        opener->is_known[all.entries[i].item] = true;
        if (tensor->file != file) {
            if (elsewhere == CHECKPOINT_NONE) elsewhere = tensor->file;
            continue;
        }
        tensor->is_indexed = true;
        is_there = true;
    }
    if (is_there) return;
    if (elsewhere == CHECKPOINT_NONE)
        finding_add(opener->findings, FINDING_NOT_IN_FILE, name, "%s does not have it",
                    checkpoint->files[file].name);
    else
        finding_add(opener->findings, FINDING_NOT_IN_FILE, name, "it is in %s, not in %s",
                    checkpoint->files[elsewhere].name, checkpoint->files[file].name);
}

static void compare_names(Opener *opener, uint32_t file) {
    const SafetensorsIndex *index = &opener->index;
    NameRun runs[BATCH];
    for (uint32_t i = index->file_first[file]; i < index->file_first[file + 1];) {
        uint32_t left = index->file_first[file + 1] - i, count = left < BATCH ? left : BATCH;
        name_map_all_of(&opener->checkpoint->names, index->names + i, count, runs);
        for (uint32_t k = 0; k < count; k++, i++)
            compare_name(opener, index->names[i], file, runs[k]);
    }
}

static void compare_index(Opener *opener) {
    Checkpoint *checkpoint = opener->checkpoint;
    const SafetensorsIndex *index = &opener->index;
    bool all_read = true;
    uint64_t total = 0;
    opener->is_known = arena_alloc(&opener->scratch, checkpoint->tensor_count, sizeof(bool));
    for (uint32_t f = 0; f < index->file_count; f++) {
        all_read = all_read && checkpoint->files[f].is_read;
        compare_names(opener, f);
    }
    for (uint32_t i = 0; i < checkpoint->tensor_count; i++) {
        const CheckpointTensor *tensor = &checkpoint->tensors[i];
        if (!opener->is_known[i])
            finding_add(opener->findings, FINDING_NOT_IN_INDEX, tensor->name, "%s has it",
                        checkpoint->files[tensor->file].name);
        if (tensor->is_indexed) total += tensor->end - tensor->begin;
    }
    if (all_read && index->has_total && total != index->total_B)
        finding_add(opener->findings, FINDING_TOTAL_SIZE, checkpoint->index_name,
                    "%" PRIu64 " bytes, its tensors have %" PRIu64, index->total_B, total);
}

static bool is_alike(const CheckpointTensor *a, const CheckpointTensor *b) {
    return a->type != NULL && b->type != NULL && strcmp(a->type, b->type) == 0 &&
           a->rank == b->rank && memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0;
}

// Two copies may differ in their bytes, which only one who reads data can tell.
static void find_twins(const Checkpoint *checkpoint, Findings *findings) {
    if (name_map_repeated(&checkpoint->names) == NAME_NONE) return;
    for (uint32_t i = 0; i < checkpoint->tensor_count; i++) {
        const CheckpointTensor *tensor = &checkpoint->tensors[i], *first;
        first = &checkpoint->tensors[checkpoint_find(checkpoint, tensor->name)];
        if (first == tensor) continue;
        finding_add(findings, FINDING_TWICE, tensor->name, "in %s and in %s%s",
                    checkpoint->files[first->file].name, checkpoint->files[tensor->file].name,
                    is_alike(first, tensor) ? "" : ", not alike");
    }
}

static bool open_all(Opener *opener, const char *path, Err *err) {
    Checkpoint *checkpoint = opener->checkpoint;
    checkpoint->path = arena_string(&checkpoint->arena, path);
    if (!find_files(opener, checkpoint->path, err)) return false;
    read_headers(opener);
    if (!list_tensors(opener, err)) return false;
    if (checkpoint->index_name != NULL && checkpoint->has_headers) compare_index(opener);
    find_twins(checkpoint, opener->findings);
    return true;
}

bool checkpoint_open(const char *path, Checkpoint *out, Findings *findings, Err *err) {
    Checkpoint checkpoint = {0};
    Opener opener = {.checkpoint = &checkpoint, .findings = findings};
    bool good = open_all(&opener, path, err);
    for (uint32_t i = 0; opener.headers != NULL && i < checkpoint.file_count; i++)
        safetensors_free(&opener.headers[i]);
    mem_free(opener.data.items);
    mem_free(opener.indexes.items);
    arena_free(&opener.scratch);
    if (good)
        *out = checkpoint;
    else
        checkpoint_free(&checkpoint);
    return good;
}

uint32_t checkpoint_find(const Checkpoint *checkpoint, const char *name) {
    return name_map_find(&checkpoint->names, name);
}

void checkpoint_free(Checkpoint *checkpoint) {
    arena_free(&checkpoint->arena);
    *checkpoint = (Checkpoint){0};
}
