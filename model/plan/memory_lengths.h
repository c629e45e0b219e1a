// How long the sequences of a workload are, and what pages lose to them.
//
//   fixed:4096  uniform:1000-8000  FILE (one length of tokens a line)
#ifndef MODEL_PLAN_MEMORY_LENGTHS_H
#define MODEL_PLAN_MEMORY_LENGTHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/plan/memory_page.h"

// Lengths, all equally frequent: those of a file, or `step` apart from `first` on.
typedef struct MemoryLengths {
    const uint64_t *listed; // NULL: first, first + step, ...
    uint64_t count;
    uint64_t first, step;
} MemoryLengths;

// An interval stands for at most so many of its lengths, evenly spaced, the ends among them.
#define MEMORY_LENGTHS_MOST 4096
#define MEMORY_TOKENS_MAX   (UINT64_C(1) << 40) // of one sequence

// `text` as above; a file is found by file_find. Lists are the arena's.
bool memory_lengths_read(const char *text, Arena *arena, MemoryLengths *out, Err *err);
// A file's bytes.
bool memory_lengths_parse(const char *name, const char *bytes, size_t count, Arena *arena,
                          MemoryLengths *out, Err *err);
uint64_t memory_lengths_at(const MemoryLengths *lengths, uint64_t index);

// Bytes that sequences of these lengths take on average, and what they would take without pages and
// groups.
void memory_lengths_mean(const MemoryLengths *lengths, const MemoryPages *pages,
                         uint64_t *out_taken_B, uint64_t *out_used_B);

#endif
