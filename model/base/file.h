// Files: read whole under a cap, written whole or not at all, found in the current folder or in the
// shipped data.
#ifndef MODEL_BASE_FILE_H
#define MODEL_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"

#define FILE_CAP_B ((size_t)64 << 20) // inputs of people; larger files have readers of their own

// Reads the whole file, terminated by a 0 byte that is not counted. Refuses what is not a regular
// file ("PATH: is a directory, expected a file") and files over `cap` bytes. The memory is the
// arena's. Messages begin with the path. Memory grows with what is read, never with what stat
// claims.
bool file_read(const char *path, size_t cap, Arena *arena, char **out, size_t *out_count, Err *err);

// Writes through a temporary file in the same folder and renames it. Nothing is left on failure.
// The path "-" writes to stdout.
bool file_write(const char *path, const char *bytes, size_t count, Err *err);

// A file that a command reads or writes; `path` is NULL where the option is not given.
typedef enum FileUseKind { FILE_READ, FILE_WRITTEN } FileUseKind;
typedef struct FileUse {
    const char *what; // "--timeline", "SCHEDULE"
    const char *path;
    FileUseKind kind;
} FileUse;

// Before a command begins: refuses to write over what it reads, or two things to one file (two to
// stdout too). file_apart.c.
bool file_check_apart(const FileUse *uses, uint32_t count, Err *err);

// Whether file_write could write there, asked before long work: leaves nothing, and fails with the
// same message. What changes in between is file_write's to find.
bool file_can_write(const char *path, Err *err);

// Where a name given by the user lives: a name with a '/' or an existing file in the current folder
// is itself; otherwise the shipped folders are tried in order: DATA/topologies, DATA/scenarios,
// DATA/scenarios/models, DATA/topologies/calibrations, with and without ".json". DATA is
// $MOESIM_DATA, or the folder of the running program, or ../share/moesim from there. On failure the
// message is "NAME: no such file here or in the shipped data" with the nearest shipped name when
// there is one.
bool file_find(const char *name, Arena *arena, const char **out_path, Err *err);

// The names that file_find finds in one of the shipped folders ("scenarios/models"), in order;
// none when there is no such folder. *out is the arena's.
uint32_t file_shipped(const char *folder, Arena *arena, const char ***out);

// The shipped data folder's file "sub/name" (for the device catalogue and calibrations).
bool file_data(const char *relative, Arena *arena, const char **out_path, Err *err);

// What a code of errno means, without the locale.
const char *file_reason(int code);

// What follows the last '/'; all of a path without one. Borrowed from `path`.
const char *file_name(const char *path);
// "DIR/name" where DIR is the folder of `path` ("." when it has none).
char *file_beside(const char *path, const char *name, Arena *arena);
// The file of that name beside `path`, or else where file_find finds it.
bool file_find_beside(const char *path, const char *name, Arena *arena, const char **out, Err *err);

#endif
