// Files: whole reads under a cap, whole writes by rename, and the search path of shipped data.
//
// Invariant: a name that the user typed is opened only as a regular file, so a pipe or a device can
// neither hang the program nor feed it without end; a failed write leaves the old file untouched.
#include "model/base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/base/text.h"
#include "model/base/units.h"

#define READ_START_B    ((size_t)64 << 10)
#define TEMPORARY_TRIES 1000

const char *file_reason(int code) {
    switch (code) {
    case ENOENT: return "no such file or folder";
    case EACCES: return "permission denied";
    case ENOTDIR: return "a part of the path is not a folder";
    case EISDIR: return "is a directory, expected a file";
    case EEXIST: return "exists already";
    case ENOTEMPTY: return "the folder is not empty";
    case ENOSPC: return "no space left";
    case EROFS: return "the file system is read-only";
    case ENAMETOOLONG: return "the name is too long";
    case ELOOP: return "too many symbolic links";
    case EFBIG: return "the file would be too large";
    case EMFILE: return "too many open files";
    case EPIPE:
    case ECONNRESET: return "the other side is gone";
    case ECONNREFUSED: return "nobody listens there";
    case EADDRNOTAVAIL: return "no address of this machine";
    case ENETUNREACH:
    case EHOSTUNREACH: return "there is no way to it";
    case ETIMEDOUT: return "no answer";
    default: return "the system refused it";
    }
}

// An empty name would leave nothing before the colon.
static const char *shown(const char *path) {
    return *path == '\0' ? "\"\"" : path;
}

static bool is_kind(const char *path, mode_t kind) {
    struct stat info;
    return stat(path, &info) == 0 && (info.st_mode & S_IFMT) == kind;
}

static bool check_regular(int descriptor, const char *path, Err *err) {
    struct stat info;
    if (fstat(descriptor, &info) != 0) return err_set(err, "%s: %s", path, file_reason(errno));
    if (S_ISDIR(info.st_mode)) return err_set(err, "%s: is a directory, expected a file", path);
    if (!S_ISREG(info.st_mode)) return err_set(err, "%s: is not a regular file", path);
    return true;
}

// Appends all that can be read; false with errno, or with errno 0 for more than `cap` bytes.
static bool read_all(int descriptor, size_t cap, Text *out) {
    size_t size = READ_START_B;
    char *buffer = mem_alloc(size, 1);
    ssize_t got = 0;
    errno = 0;
    while (out->length <= cap) {
        got = read(descriptor, buffer, size);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        text_add_bytes(out, buffer, (size_t)got);
    }
    mem_free(buffer);
    if (out->length > cap) errno = 0;
    return got == 0 && out->length <= cap;
}

bool file_read(const char *path, size_t cap, Arena *arena, char **out, size_t *out_count,
               Err *err) {
    int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) return err_set(err, "%s: %s", shown(path), file_reason(errno));
    Text text = {0};
    char limit[UNITS_TEXT_MAX];
    bool good = check_regular(descriptor, path, err);
    if (good && !read_all(descriptor, cap, &text)) {
        good = errno != 0 ? err_set(err, "%s: %s", path, file_reason(errno))
                          : err_set(err, "%s: file over the limit of %s", path,
                                    units_write_bytes(cap, limit));
    }
    if (good) {
        *out = arena_alloc(arena, text.length + 1, 1);
        if (text.length > 0) memcpy(*out, text.data, text.length);
        *out_count = text.length;
    }
    text_free(&text);
    close(descriptor);
    return good;
}

static bool write_all(int descriptor, const char *bytes, size_t count) {
    while (count > 0) {
        ssize_t put = write(descriptor, bytes, count);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return false;
        bytes += put;
        count -= (size_t)put;
    }
    return true;
}

// Writes and closes; errno tells why not. Closing reports late errors, on NFS for example.
static bool write_and_close(int descriptor, const char *bytes, size_t count) {
    bool written = write_all(descriptor, bytes, count);
    int code = errno;
    bool closed = close(descriptor) == 0;
    if (!written) errno = code;
    return written && closed;
}

// Devices and pipes ("/dev/null") are written to, never replaced.
static bool write_in_place(const char *path, const char *bytes, size_t count, Err *err) {
    int descriptor = open(path, O_WRONLY | O_CLOEXEC);
    if (descriptor >= 0 && write_and_close(descriptor, bytes, count)) return true;
    return err_set(err, "%s: cannot be written: %s", path, file_reason(errno));
}

// A new file "PATH.tmpN" in the folder of the target; -1 with errno on failure.
static int open_temporary(const char *path, Text *name) {
    for (int i = 0; i < TEMPORARY_TRIES; i++) {
        text_free(name);
        text_addf(name, "%s.tmp%d", path, i);
        int descriptor = open(text_string(name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (descriptor >= 0 || errno != EEXIST) return descriptor;
    }
    return -1;
}

// What ends the program waits until the new file is whole or gone: no signal leaves half of one.
static void hold_signals(sigset_t *out_before) {
    sigset_t held;
    sigemptyset(&held);
    sigaddset(&held, SIGINT);
    sigaddset(&held, SIGTERM);
    sigaddset(&held, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &held, out_before);
}

static bool write_by_rename(const char *path, const char *bytes, size_t count, Err *err) {
    Text name = {0};
    sigset_t before;
    hold_signals(&before);
    int descriptor = open_temporary(path, &name);
    bool good = descriptor >= 0 && write_and_close(descriptor, bytes, count) &&
                rename(text_string(&name), path) == 0;
    if (!good) {
        err_set(err, "%s: cannot be written: %s", shown(path), file_reason(errno));
        if (descriptor >= 0) unlink(text_string(&name));
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    text_free(&name);
    return good;
}

static bool write_stdout(const char *bytes, size_t count, Err *err) {
    bool good = count == 0 || fwrite(bytes, 1, count, stdout) == count;
    if (good && fflush(stdout) == 0) return true;
    return err_set(err, "standard output: cannot be written: %s", file_reason(errno));
}

bool file_write(const char *path, const char *bytes, size_t count, Err *err) {
    struct stat info;
    if (strcmp(path, "-") == 0) return write_stdout(bytes, count, err);
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) {
        return write_in_place(path, bytes, count, err);
    }
    return write_by_rename(path, bytes, count, err);
}

// A folder is no place, whatever its permissions; a pipe is not opened, which could wait.
static bool can_write_in_place(const char *path, mode_t mode, Err *err) {
    if (!S_ISDIR(mode) && access(path, W_OK) == 0) return true;
    return err_set(err, "%s: cannot be written: %s", path,
                   file_reason(S_ISDIR(mode) ? EISDIR : errno));
}

bool file_can_write(const char *path, Err *err) {
    struct stat info;
    Text name = {0};
    sigset_t before;
    if (strcmp(path, "-") == 0) return true;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
        return can_write_in_place(path, info.st_mode, err);
    hold_signals(&before);
    errno = ENOENT; // of no name, beside which there may well be room for a temporary one
    int descriptor = *path == '\0' ? -1 : open_temporary(path, &name);
    if (descriptor < 0) err_set(err, "%s: cannot be written: %s", shown(path), file_reason(errno));
    if (descriptor >= 0) close(descriptor);
    if (descriptor >= 0) unlink(text_string(&name));
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    text_free(&name);
    return descriptor >= 0;
}

char *file_beside(const char *path, const char *name, Arena *arena) {
    const char *slash = strrchr(path, '/');
    if (slash == NULL) return arena_printf(arena, "./%s", name);
    return arena_printf(arena, "%.*s/%s", (int)(slash - path), path, name);
}

const char *file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

// The folder of the running program, or NULL where the system does not tell.
static const char *program_folder(Arena *arena) {
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0) return NULL;
    path[length] = '\0';
    char *slash = strrchr(path, '/');
    if (slash == NULL) return NULL;
    *slash = '\0';
    return arena_string(arena, path);
}

// The shipped data folder: the first candidate that holds topologies; NULL when there is none.
static const char *data_folder(Arena *arena) {
    const char *set = getenv("MOESIM_DATA");
    if (set != NULL && *set != '\0') return arena_string(arena, set);
    const char *program = program_folder(arena);
    if (program == NULL) return NULL;
    const char *candidates[] = {program, arena_printf(arena, "%s/../share/moesim", program)};
    for (size_t i = 0; i < 2; i++) {
        if (is_kind(arena_printf(arena, "%s/topologies", candidates[i]), S_IFDIR)) {
            return candidates[i];
        }
    }
    return NULL;
}

static const char *const shipped[] = {"topologies", "scenarios", "scenarios/models",
                                      "topologies/calibrations"};
#define SHIPPED_COUNT (sizeof shipped / sizeof shipped[0])

static const char *find_shipped(const char *data, const char *name, Arena *arena) {
    for (size_t i = 0; i < SHIPPED_COUNT; i++) {
        char *plain = arena_printf(arena, "%s/%s/%s", data, shipped[i], name);
        if (is_kind(plain, S_IFREG)) return plain;
        char *with_end = arena_printf(arena, "%s.json", plain);
        if (is_kind(with_end, S_IFREG)) return with_end;
    }
    return NULL;
}

typedef struct Names {
    const char **items;
    uint32_t count, capacity;
} Names;

static void list_folder(const char *path, Arena *arena, Names *names) {
    DIR *folder = opendir(path);
    if (folder == NULL) return;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        size_t length = strlen(entry->d_name);
        if (length < 6 || strcmp(entry->d_name + length - 5, ".json") != 0) continue;
        names->items = mem_grow(names->items, &names->capacity, names->count + 1, sizeof(char *));
        char *name = arena_string(arena, entry->d_name);
        name[length - 5] = '\0';
        names->items[names->count++] = name;
    }
    closedir(folder);
}

uint32_t file_shipped(const char *folder, Arena *arena, const char ***out) {
    const char *data = data_folder(arena);
    Names names = {0};
    if (data != NULL) list_folder(arena_printf(arena, "%s/%s", data, folder), arena, &names);
    if (names.count > 0) qsort(names.items, names.count, sizeof(char *), text_compare);
    *out = arena_alloc(arena, names.count, sizeof(char *));
    for (uint32_t i = 0; i < names.count; i++) (*out)[i] = names.items[i];
    mem_free(names.items);
    return names.count;
}

// The shipped name nearest to a misspelt one, by name order among equals; NULL when none is near.
static const char *nearest_shipped(const char *data, const char *name, Arena *arena) {
    Names names = {0};
    for (size_t i = 0; i < SHIPPED_COUNT; i++) {
        list_folder(arena_printf(arena, "%s/%s", data, shipped[i]), arena, &names);
    }
    if (names.count > 0) qsort(names.items, names.count, sizeof(char *), text_compare);
    size_t length = strlen(name);
    bool has_end = length > 5 && strcmp(name + length - 5, ".json") == 0;
    const char *stem = arena_printf(arena, "%.*s", (int)(has_end ? length - 5 : length), name);
    uint32_t near = text_nearest(stem, names.items, names.count);
    const char *found = near == UINT32_MAX ? NULL : names.items[near];
    mem_free(names.items);
    return found;
}

bool file_find(const char *name, Arena *arena, const char **out_path, Err *err) {
    struct stat info;
    bool exists = stat(name, &info) == 0;
    if (strchr(name, '/') != NULL || (exists && !S_ISDIR(info.st_mode))) {
        *out_path = arena_string(arena, name);
        return true;
    }
    const char *data = *name == '\0' ? NULL : data_folder(arena);
    const char *found = data == NULL ? NULL : find_shipped(data, name, arena);
    if (found == NULL && exists) found = arena_string(arena, name);
    if (found == NULL) {
        const char *near = data == NULL ? NULL : nearest_shipped(data, name, arena);
        err_set(err, "%s: no such file here or in the shipped data%s%s%s", shown(name),
                near == NULL ? "" : ", did you mean \"", near == NULL ? "" : near,
                near == NULL ? "" : "\"?");
        return false;
    }
    *out_path = found;
    return true;
}

bool file_find_beside(const char *path, const char *name, Arena *arena, const char **out,
                      Err *err) {
    struct stat info;
    const char *beside = file_beside(path, name, arena);
    if (stat(beside, &info) != 0) return file_find(name, arena, out, err);
    *out = beside;
    return true;
}

bool file_data(const char *relative, Arena *arena, const char **out_path, Err *err) {
    const char *data = data_folder(arena);
    if (data == NULL) {
        return err_set(err,
                       "%s: the shipped data folder is not found beside the program, "
                       "expected it there or in $MOESIM_DATA",
                       relative);
    }
    char *path = arena_printf(arena, "%s/%s", data, relative);
    if (!is_kind(path, S_IFREG)) return err_set(err, "%s: no such file in the shipped data", path);
    *out_path = path;
    return true;
}
