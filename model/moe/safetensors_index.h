// model.safetensors.index.json: which file holds which tensor.
#ifndef MODEL_MOE_SAFETENSORS_INDEX_H
#define MODEL_MOE_SAFETENSORS_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/moe/name_map.h"

// Kimi-K3, with 497,220 tensors, has one of near 60 MB.
#define SAFETENSORS_INDEX_MAX_B   ((size_t)256 << 20)
#define SAFETENSORS_INDEX_TENSORS (UINT32_C(1) << 22)

typedef struct SafetensorsIndex {
    const char **names;   // [count], grouped by file, in one in the order of the index
    const char **files;   // [file_count], names without a folder, sorted
    uint32_t *file_first; // [file_count + 1], into names
    uint32_t count, file_count;
    NameMap map; // of names
    bool has_total;
    uint64_t total_B; // what metadata.total_size claims
} SafetensorsIndex;

// `where` begins the messages. Memory is the arena's.
bool safetensors_index_parse(const char *where, const char *bytes, size_t count, Arena *arena,
                             SafetensorsIndex *out, Err *err);
bool safetensors_index_read(const char *path, Arena *arena, SafetensorsIndex *out, Err *err);

#endif
