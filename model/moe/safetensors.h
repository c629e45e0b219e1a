// The header of one safetensors file: name, type, shape and byte range of each tensor. Nothing but
// the header is read.
//
// Format: huggingface/safetensors, README section Format, and the checks of its reader.
#ifndef MODEL_MOE_SAFETENSORS_H
#define MODEL_MOE_SAFETENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/base/mem.h"
#include "model/base/text.h"
#include "model/moe/finding.h"

// The reference reader refuses longer headers too. At 125 bytes a tensor it is 800,000 tensors.
#define SAFETENSORS_HEADER_MAX_B UINT64_C(100000000)
#define SAFETENSORS_PREFIX_B     8 // the length of the header stands before it
#define SAFETENSORS_RANK_MAX     8

typedef struct SafetensorsTensor {
    const char *name;
    const char *type;     // "BF16", ...
    const uint64_t *dims; // [rank]
    uint64_t begin, end;  // bytes in the file
    uint32_t rank, bits;  // bits of one element
} SafetensorsTensor;

// Tensors in the order of their bytes. A zeroed SafetensorsFile is empty.
typedef struct SafetensorsFile {
    uint64_t size_B, data_start;
    SafetensorsTensor *tensors; // of the heap; their names, types and dims are an arena's
    uint32_t count;
} SafetensorsFile;

// Reads the header of the file at `path`; `name` is how findings call it. False, with a finding
// that counts as unusable, when there is no header to work with. Faults of layout (holes, overlaps,
// sizes, truncation) are findings too, and the tensors are there all the same.
bool safetensors_read(const char *path, const char *name, Arena *arena, Findings *findings,
                      SafetensorsFile *out);

// The same for a header in memory (without its length) of a file of `size_B` bytes.
bool safetensors_parse(const char *name, const char *header, size_t count, uint64_t size_B,
                       Arena *arena, Findings *findings, SafetensorsFile *out);

void safetensors_free(SafetensorsFile *file);

// `count` bytes of an open file, from byte `from` on; false when it has fewer or cannot be read.
bool safetensors_pread(int descriptor, uint64_t from, char *out, size_t count);
// "[4096, 128]".
void safetensors_add_shape(Text *out, const uint64_t *dims, uint32_t rank);

#endif
