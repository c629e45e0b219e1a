// The reader of lengths of sequences: what parses is a list of lengths whose mean can be taken.
#include <stdint.h>
#include <stdlib.h>

#include "model/plan/memory_lengths.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition) {
    if (!condition) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    MemoryLengths lengths = {0};
    Arena arena = {0};
    Err err = {0};
    if (memory_lengths_parse("fuzz", (const char *)data, size, &arena, &lengths, &err)) {
        MemoryPages pages = {.kind_count = 1};
        uint64_t taken, used;
        pages.kinds[0] = (MemoryKind){.layer = {.token_B = 1152, .split = 1}, .layers = 61};
        memory_page_make(&pages, MEMORY_GROUPING_NEAR, 64);
        memory_lengths_mean(&lengths, &pages, &taken, &used);
        require(lengths.count > 0 && used <= taken);
    } else
        require(err_is_set(&err) && lengths.count == 0);
    arena_free(&arena);
    return 0;
}
