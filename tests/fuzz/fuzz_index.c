// Any bytes as an index file: what is accepted has each name once, in a file of its own folder.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model/base/text.h"
#include "model/moe/safetensors_index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_index(const SafetensorsIndex *index) {
    if (index->file_first[index->file_count] != index->count) abort();
    for (uint32_t f = 0; f < index->file_count; f++) {
        if (strchr(index->files[f], '/') != NULL) abort();
        if (f > 0 && strcmp(index->files[f - 1], index->files[f]) >= 0) abort();
        if (index->file_first[f] >= index->file_first[f + 1]) abort();
    }
    for (uint32_t i = 0; i < index->count; i++) {
        if (text_plain(index->names[i]) != strlen(index->names[i])) abort();
        if (name_map_find(&index->map, index->names[i]) != i) abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Arena arena = {0};
    Err err = {0};
    SafetensorsIndex index = {0};
    char *bytes = malloc(size > 0 ? size : 1); // of exactly its size
    if (bytes == NULL) return 0;
    if (size > 0) memcpy(bytes, data, size);
    if (safetensors_index_parse("f", bytes, size, &arena, &index, &err))
        check_index(&index);
    else if (strncmp(err.text, "f: ", 3) != 0 || strchr(err.text, '\n') != NULL)
        abort();
    free(bytes);
    arena_free(&arena);
    return 0;
}
