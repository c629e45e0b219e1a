// Whole folders by rename.
//
// Invariant: at every moment the name is absent, or stands for a folder with all of its files.
// Files are synchronised before the rename, the folder around them after it (POSIX.1-2008, fsync
// and rename; Pillai et al., "All File Systems Are Not Created Equal", OSDI 2014, on why both).
#include "model/base/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/base/file.h"
#include "model/base/text.h"

#define TRIES 1000 // names of working folders

static bool is_dots(const char *name) {
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

// Without slashes at the end, which would put what is made beside it inside.
static const char *trimmed(const char *path, Arena *arena) {
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') length--;
    return arena_printf(arena, "%.*s", (int)length, path);
}

static bool cannot_be_made(const char *path, Err *err) {
    return err_set(err, "%s: cannot be made: %s", *path == '\0' ? "\"\"" : path,
                   file_reason(errno));
}

// ---- What is there

bool folder_list(const char *path, Arena *arena, const char ***out, uint32_t *out_count, Err *err) {
    DIR *folder = opendir(path);
    if (folder == NULL) return err_set(err, "%s: cannot be read: %s", path, file_reason(errno));
    const char **names = NULL;
    uint32_t count = 0, capacity = 0;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (is_dots(entry->d_name)) continue;
        names = mem_grow(names, &capacity, count + 1, sizeof *names);
        names[count++] = arena_string(arena, entry->d_name);
    }
    closedir(folder);
    if (count > 0) qsort(names, count, sizeof *names, text_compare);
    *out = arena_copy(arena, names, count, sizeof *names);
    *out_count = count;
    mem_free(names);
    return true;
}

static bool look(const char *path, FolderState *out, Err *err) {
    struct stat info;
    const char *slash = strrchr(path, '/');
    if (*path == '\0') errno = ENOENT;
    if (*path == '\0') return cannot_be_made(path, err);
    if (is_dots(slash == NULL ? path : slash + 1) || strcmp(path, "/") == 0)
        return err_set(err, "%s: expected the name of a folder that can be made or replaced", path);
    *out = FOLDER_ABSENT;
    if (lstat(path, &info) != 0) return true; // why not is told by the attempt to make it
    if (S_ISLNK(info.st_mode))
        return err_set(err, "%s: is a symbolic link, expected a folder", path);
    if (!S_ISDIR(info.st_mode)) return err_set(err, "%s: is a file, expected a folder", path);
    Arena arena = {0};
    const char **names;
    uint32_t count = 0;
    bool done = folder_list(path, &arena, &names, &count, err);
    *out = count == 0 ? FOLDER_EMPTY : FOLDER_FULL;
    arena_free(&arena);
    return done;
}

bool folder_probe(const char *path, FolderState *out, Err *err) {
    Arena arena = {0};
    const char *work;
    FolderState state = FOLDER_ABSENT;
    bool done = look(trimmed(path, &arena), &state, err) && folder_begin(path, &arena, &work, err);
    if (done) {
        folder_abandon(work);
        *out = state;
    }
    arena_free(&arena);
    return done;
}

// ---- Making

bool folder_begin(const char *path, Arena *arena, const char **out_work, Err *err) {
    const char *target = trimmed(path, arena);
    for (int i = 0; i < TRIES; i++) {
        char *work = arena_printf(arena, "%s.tmp%d", target, i);
        if (mkdir(work, 0777) == 0) {
            *out_work = work;
            return true;
        }
        if (errno != EEXIST) break;
    }
    return cannot_be_made(path, err);
}

void folder_abandon(const char *work) {
    DIR *folder = opendir(work);
    if (folder == NULL) return;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        if (!is_dots(entry->d_name)) unlinkat(dirfd(folder), entry->d_name, 0);
    closedir(folder);
    rmdir(work);
}

// False with errno when a file does not reach the disk.
static bool sync_path(const char *path) {
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return false;
    bool done = fsync(descriptor) == 0;
    int code = errno;
    close(descriptor);
    errno = code;
    return done;
}

static bool sync_files(const char *work, Err *err) {
    Arena arena = {0};
    const char **names;
    uint32_t count;
    bool done = folder_list(work, &arena, &names, &count, err);
    for (uint32_t i = 0; done && i < count; i++)
        if (!sync_path(arena_printf(&arena, "%s/%s", work, names[i])))
            done = err_set(err, "%s/%s: cannot be written: %s", work, names[i], file_reason(errno));
    (void)sync_path(work); // some file systems cannot synchronise folders
    arena_free(&arena);
    return done;
}

static void sync_parent(const char *path) {
    Arena arena = {0};
    const char *slash = strrchr(path, '/');
    const char *parent = slash == NULL   ? "."
                         : slash == path ? "/"
                                         : arena_printf(&arena, "%.*s", (int)(slash - path), path);
    (void)sync_path(parent);
    arena_free(&arena);
}

bool folder_end(const char *work, const char *path, Err *err) {
    Arena arena = {0};
    const char *target = trimmed(path, &arena);
    bool done = sync_files(work, err);
    if (done && rename(work, target) != 0) done = cannot_be_made(path, err);
    if (done)
        sync_parent(target);
    else
        folder_abandon(work);
    arena_free(&arena);
    return done;
}

// ---- Replacing

// The name of the folder that was put aside, or NULL with errno. An empty folder is made first, so
// that the rename cannot meet what someone else has there.
static const char *put_aside(const char *target, Arena *arena) {
    for (int i = 0; i < TRIES; i++) {
        const char *aside = arena_printf(arena, "%s.old%d", target, i);
        if (mkdir(aside, 0777) != 0) {
            if (errno != EEXIST) return NULL;
            continue;
        }
        if (rename(target, aside) == 0) return aside;
        int code = errno;
        rmdir(aside);
        errno = code;
        return NULL;
    }
    return NULL;
}

bool folder_replace(const char *work, const char *path, Arena *arena, const char **out_aside,
                    Err *err) {
    const char *target = trimmed(path, arena), *aside = NULL;
    bool done = sync_files(work, err);
    if (done && (aside = put_aside(target, arena)) == NULL) done = cannot_be_made(path, err);
    if (done && rename(work, target) != 0) {
        done = cannot_be_made(path, err);
        (void)rename(aside, target); // the old one stays
    }
    if (done) {
        sync_parent(target);
        *out_aside = aside;
    } else {
        folder_abandon(work);
    }
    return done;
}
