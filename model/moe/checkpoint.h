// A checkpoint on disk as one list of tensors: a folder, an index file or a single .safetensors
// file. Only headers are read.
#ifndef MODEL_MOE_CHECKPOINT_H
#define MODEL_MOE_CHECKPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/moe/finding.h"
#include "model/moe/name_map.h"

#define CHECKPOINT_NONE UINT32_MAX

typedef struct CheckpointFile {
    const char *name; // without its folder
    const char *path;
    uint64_t size_B, data_start;
    uint32_t first, count; // its tensors
    bool exists;
    bool is_read; // its header could be used
} CheckpointFile;

// Of a file that is not read, the names are those of the index: type is NULL, the rest 0.
typedef struct CheckpointTensor {
    const char *name;
    const char *type;     // as in safetensors: "BF16", "F8_E4M3", ...
    const uint64_t *dims; // [rank]
    uint64_t begin, end;  // bytes in the file, absolute
    uint32_t rank, bits;  // bits of one element
    uint32_t file;
    bool is_indexed; // the index names it in this file; true where there is no index
} CheckpointTensor;

typedef struct Checkpoint {
    Arena arena;
    const char *path;
    const char *index_name; // of its index file, NULL: there is none
    bool has_headers;       // false: only the index is there, none of its files
    bool has_total;         // the index states total_size
    uint64_t total_B;       // its claim
    CheckpointFile *files;  // sorted by name
    uint32_t file_count;
    CheckpointTensor *tensors; // by file, in one by `begin`: the order to read them in
    uint32_t tensor_count;
    uint32_t unlisted; // .safetensors files of the folder that its index does not name
    const char *first_unlisted;
    NameMap names;
} Checkpoint;

// False when there is nothing to look at: no such path, no safetensors files, an index that is not
// one. What is wrong with single files and between them and the index goes to `findings`; a caller
// that goes on with a sound checkpoint alone asks finding_none afterwards, and for has_headers.
bool checkpoint_open(const char *path, Checkpoint *out, Findings *findings, Err *err);

// The tensor of this name (of several the one in the first file); CHECKPOINT_NONE: none.
uint32_t checkpoint_find(const Checkpoint *checkpoint, const char *name);
void checkpoint_free(Checkpoint *checkpoint);

#endif
