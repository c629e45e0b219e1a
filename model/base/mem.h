// Memory: arenas that are freed whole, and growable arrays. Out of memory ends the program here,
// and nowhere else, with one line on stderr and status 3.
#ifndef MODEL_BASE_MEM_H
#define MODEL_BASE_MEM_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ArenaChunk ArenaChunk;

// A zeroed Arena is empty and ready for use. Pointers from an arena live until arena_free.
typedef struct Arena {
    ArenaChunk *last;
    uint64_t used_B; // sum of all requests, for reports
} Arena;

// Zeroed memory of `count` items of `size` bytes, aligned for any type. Never returns NULL (a zero
// count gives a valid pointer to nothing). The product is checked for overflow.
void *arena_alloc(Arena *arena, size_t count, size_t size);

// A copy of count * size bytes.
void *arena_copy(Arena *arena, const void *from, size_t count, size_t size);

// A copy of a string; NULL gives "".
char *arena_string(Arena *arena, const char *text);

// A formatted string.
char *arena_printf(Arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *arena_vprintf(Arena *arena, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

// Frees everything; safe on a zeroed arena and twice.
void arena_free(Arena *arena);

// Heap memory that never fails; mem_free accepts NULL.
void *mem_alloc(size_t count, size_t size);
void *mem_realloc(void *old, size_t count, size_t size);
void mem_free(void *memory);

// Grows a heap array so that it holds at least `need` items: returns the (moved) array and updates
// *capacity. Growth is geometric; new items are not initialised.
void *mem_grow(void *items, uint32_t *capacity, uint32_t need, size_t size);

#endif
