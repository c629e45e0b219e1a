// Whether what a command writes would take the place of something else of it.
//
// Invariant: names that lead to one regular file are one, however they are spelt; a file that does
// not exist yet is known by its folder and its name there. Devices take any number of outputs.
#include "model/base/file.h"

#include <string.h>
#include <sys/stat.h>

static bool is_stdout(const FileUse *use) {
    return use->kind == FILE_WRITTEN && strcmp(use->path, "-") == 0;
}

static bool is_same_entry(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool is_same_new(const char *a, const char *b) {
    Arena arena = {0};
    struct stat in_a, in_b;
    bool same = strcmp(file_name(a), file_name(b)) == 0 &&
                stat(file_beside(a, "", &arena), &in_a) == 0 &&
                stat(file_beside(b, "", &arena), &in_b) == 0 && is_same_entry(&in_a, &in_b);
    arena_free(&arena);
    return same;
}

static bool is_same(const FileUse *a, const FileUse *b) {
    struct stat at_a, at_b;
    if (is_stdout(a) || is_stdout(b)) return is_stdout(a) && is_stdout(b);
    bool has_a = stat(a->path, &at_a) == 0, has_b = stat(b->path, &at_b) == 0;
    if (has_a && has_b) return S_ISREG(at_a.st_mode) && is_same_entry(&at_a, &at_b);
    return !has_a && !has_b && a->kind == b->kind && is_same_new(a->path, b->path);
}

bool file_check_apart(const FileUse *uses, uint32_t count, Err *err) {
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < count; j++) {
            const FileUse *own = &uses[i], *other = &uses[j];
            bool is_pair = other->kind == FILE_READ || j < i;
            if (own->kind == FILE_READ || !is_pair || own->path == NULL || other->path == NULL ||
                !is_same(own, other))
                continue;
            return err_set(err, "%s: %s is %s too, expected a file of its own", own->what,
                           is_stdout(own) ? "standard output" : own->path, other->what);
        }
    return true;
}
