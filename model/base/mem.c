// Arenas of geometrically growing chunks, and heap memory that never fails.
//
// Invariant: every size is a product checked for overflow before it is used; all memory of an arena
// is reachable from its last chunk. The only place of the program that ends it (style rule 10).
#include "model/base/mem.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_MIN_B        ((size_t)4 << 10)
#define CHUNK_MAX_B        ((size_t)1 << 20) // larger requests get a chunk of their own
#define EXIT_OUT_OF_MEMORY 3

struct ArenaChunk {
    ArenaChunk *previous;
    size_t used, size; // bytes of `data`
    alignas(max_align_t) unsigned char data[];
};

static _Noreturn void end_out_of_memory(size_t count, size_t size) {
    fprintf(stderr, "moesim: out of memory: %zu items of %zu bytes\n", count, size);
    exit(EXIT_OUT_OF_MEMORY);
}

static size_t product(size_t count, size_t size) {
    if (size != 0 && count > (SIZE_MAX >> 1) / size) end_out_of_memory(count, size);
    return count * size;
}

void *mem_alloc(size_t count, size_t size) {
    size_t bytes = product(count, size);
    void *memory = calloc(1, bytes == 0 ? 1 : bytes);
    if (memory == NULL) end_out_of_memory(count, size);
    return memory;
}

void *mem_realloc(void *old, size_t count, size_t size) {
    size_t bytes = product(count, size);
    void *memory = realloc(old, bytes == 0 ? 1 : bytes);
    if (memory == NULL) end_out_of_memory(count, size);
    return memory;
}

void mem_free(void *memory) {
    free(memory);
}

void *mem_grow(void *items, uint32_t *capacity, uint32_t need, size_t size) {
    if (need <= *capacity) return items;
    uint32_t grown = *capacity < 8 ? 8 : *capacity;
    while (grown < need) grown = grown > UINT32_MAX / 2 ? UINT32_MAX : grown * 2;
    items = mem_realloc(items, grown, size);
    *capacity = grown;
    return items;
}

static void add_chunk(Arena *arena, size_t need) {
    size_t size = arena->last == NULL ? CHUNK_MIN_B : arena->last->size * 2;
    if (size > CHUNK_MAX_B) size = CHUNK_MAX_B;
    if (size < need) size = need;
    ArenaChunk *chunk = mem_alloc(1, sizeof(ArenaChunk) + size);
    chunk->previous = arena->last;
    chunk->size = size;
    arena->last = chunk;
}

void *arena_alloc(Arena *arena, size_t count, size_t size) {
    size_t bytes = product(count, size), align = alignof(max_align_t);
    size_t padded = (bytes + align - 1) / align * align;
    if (padded == 0) padded = align;
    if (arena->last == NULL || arena->last->size - arena->last->used < padded) {
        add_chunk(arena, padded);
    }
    void *memory = arena->last->data + arena->last->used;
    arena->last->used += padded;
    arena->used_B += bytes;
    return memory;
}

void *arena_copy(Arena *arena, const void *from, size_t count, size_t size) {
    void *memory = arena_alloc(arena, count, size);
    if (count != 0 && size != 0) memcpy(memory, from, count * size);
    return memory;
}

char *arena_string(Arena *arena, const char *text) {
    return text == NULL ? arena_alloc(arena, 1, 1) : arena_copy(arena, text, strlen(text) + 1, 1);
}

char *arena_vprintf(Arena *arena, const char *format, va_list args) {
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    char *text = arena_alloc(arena, length < 0 ? 1 : (size_t)length + 1, 1);
    if (length > 0) vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

char *arena_printf(Arena *arena, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text = arena_vprintf(arena, format, args);
    va_end(args);
    return text;
}

void arena_free(Arena *arena) {
    ArenaChunk *chunk = arena->last;
    while (chunk != NULL) {
        ArenaChunk *previous = chunk->previous;
        free(chunk);
        chunk = previous;
    }
    *arena = (Arena){0};
}
