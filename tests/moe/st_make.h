// Makes safetensors files for tests: headers from texts or from lists of tensors, data as a hole of
// the file system, so that a file of any size costs nothing.
#ifndef TESTS_MOE_ST_MAKE_H
#define TESTS_MOE_ST_MAKE_H

#include <stddef.h>
#include <stdint.h>

#include "model/base/text.h"
#include "model/moe/tensor_class.h"

// A folder that is removed with its files.
typedef struct StFolder {
    char path[256];
} StFolder;

void st_make_folder(StFolder *out);
void st_make_remove(const StFolder *folder);
// "FOLDER/name"; valid until the next call.
const char *st_make_path(const StFolder *folder, const char *name);

void st_make_bytes(const StFolder *folder, const char *name, const void *bytes, size_t count);
// The length of the header, the header, and data_B bytes of zeros.
void st_make_file(const StFolder *folder, const char *name, const char *header, uint64_t data_B);

typedef struct StTensor {
    const char *name, *type;
    uint64_t dims[TENSOR_DIMS_MAX];
    uint32_t rank;
    uint64_t bytes;
} StTensor;

// Appends a header with these tensors one after the other; returns the bytes of all.
uint64_t st_make_header(const StTensor *tensors, uint32_t count, Text *out);
void st_make_tensors(const StFolder *folder, const char *name, const StTensor *tensors,
                     uint32_t count);

#endif
