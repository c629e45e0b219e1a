// saved.json: which files moesim wrote to a folder, and what was in them. It is how a later --force
// knows what it may replace.
#ifndef SIM_COMMANDS_MANIFEST_H
#define SIM_COMMANDS_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/hash.h"
#include "model/base/mem.h"
#include "model/base/text.h"

#define MANIFEST_NAME "saved.json"

typedef struct ManifestFile {
    const char *name;
    uint64_t size_B;
    Digest digest; // of its bytes
} ManifestFile;

// A zeroed Manifest is empty.
typedef struct Manifest {
    Arena arena;
    ManifestFile *files;
    uint32_t count, capacity;
} Manifest;

void manifest_add(Manifest *manifest, const char *name, const char *bytes, size_t count);
void manifest_write(const Manifest *manifest, Text *out);
// `name` is used in messages.
bool manifest_parse(const char *name, const char *bytes, size_t count, Manifest *out, Err *err);
void manifest_free(Manifest *manifest);

// True when the folder holds nothing but its saved.json and files as they stand in it: what else is
// there was made or changed by somebody else, and the message names the first such file.
bool manifest_covers(const char *folder, Err *err);

#endif
