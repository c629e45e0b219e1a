// Folders of files that appear whole or not at all, and stay whole when the power fails.
//
// A working folder "PATH.tmpN" beside PATH is filled with files, then gets its name: the same file
// system, one rename. None of it follows PATH when that is a symbolic link.
#ifndef MODEL_BASE_FOLDER_H
#define MODEL_BASE_FOLDER_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"

typedef enum FolderState { FOLDER_ABSENT, FOLDER_EMPTY, FOLDER_FULL } FolderState;

// What stands at `path`, and whether a folder can be made beside it: asked before long work;
// nothing is left. Files, links and names that end in "." or ".." are errors.
bool folder_probe(const char *path, FolderState *out, Err *err);

// The names in a folder, in order; they and the list are the arena's.
bool folder_list(const char *path, Arena *arena, const char ***out, uint32_t *out_count, Err *err);

// Makes the working folder; its name is the arena's.
bool folder_begin(const char *path, Arena *arena, const char **out_work, Err *err);

// Brings the files to the disk and gives the folder its name, in place of an empty one if there is
// one. On failure the working folder is removed.
bool folder_end(const char *work, const char *path, Err *err);

// The same in place of a folder that is not empty. That one is put aside as "PATH.oldN", the
// arena's, and is the caller's to look at and to abandon; a crash between the two renames leaves
// both whole under these names.
bool folder_replace(const char *work, const char *path, Arena *arena, const char **out_aside,
                    Err *err);

// Removes a folder with the files in it.
void folder_abandon(const char *work);

#endif
