// Reads lengths of sequences and averages what they take.
//
// Invariant: a mean is exact over the lengths that stand for the distribution, then rounded down.
#include "model/plan/memory_lengths.h"

#include <string.h>

#include "model/base/file.h"
#include "model/base/units.h"
#include "model/base/wide.h"

static bool parse_length(const char *text, uint64_t *out, Err *err) {
    uint64_t value = 0;
    if (!units_parse_count(text, &value, err)) return false;
    if (value == 0 || value > MEMORY_TOKENS_MAX)
        return err_set(err, "expected 1 to 2^40 tokens, found %s", text);
    *out = value;
    return true;
}

static bool read_fixed(const char *text, MemoryLengths *out, Err *err) {
    uint64_t length = 0;
    if (!parse_length(text, &length, err)) return false;
    *out = (MemoryLengths){.count = 1, .first = length};
    return true;
}

static bool read_uniform(const char *text, Arena *arena, MemoryLengths *out, Err *err) {
    uint64_t low = 0, high = 0;
    char *first = arena_string(arena, text), *dash = strchr(first, '-');
    if (dash == NULL) return err_set(err, "expected lengths such as 1000-8000, found \"%s\"", text);
    *dash = '\0';
    if (!parse_length(first, &low, err) || !parse_length(dash + 1, &high, err)) return false;
    if (low > high) return err_set(err, "expected the shorter length first, found \"%s\"", text);
    uint64_t step = wide_div_up_u64(high - low + 1, MEMORY_LENGTHS_MOST);
    *out = (MemoryLengths){.count = (high - low) / step + 1, .first = low, .step = step};
    return true;
}

bool memory_lengths_parse(const char *name, const char *bytes, size_t count, Arena *arena,
                          MemoryLengths *out, Err *err) {
    size_t lines = 0, filled = 0;
    for (size_t i = 0; i < count; i++) lines += bytes[i] == '\n';
    uint64_t *listed = arena_alloc(arena, lines + 1, sizeof *listed);
    size_t start = 0;
    for (size_t line = 1; start < count; line++) {
        const char *end = memchr(bytes + start, '\n', count - start);
        size_t length = end != NULL ? (size_t)(end - bytes) - start : count - start;
        char text[UNITS_TEXT_MAX];
        if (length == 0 || length >= sizeof text)
            return err_set(err, "%s:%zu: expected a length in tokens such as 4096", name, line);
        memcpy(text, bytes + start, length);
        text[length] = '\0';
        if (!parse_length(text, &listed[filled++], err))
            return err_prefix(err, "%s:%zu", name, line);
        start += length + 1;
    }
    if (filled == 0) return err_set(err, "%s: no lengths, expected one a line", name);
    *out = (MemoryLengths){.listed = listed, .count = filled};
    return true;
}

bool memory_lengths_read(const char *text, Arena *arena, MemoryLengths *out, Err *err) {
    if (strncmp(text, "fixed:", 6) == 0) return read_fixed(text + 6, out, err);
    if (strncmp(text, "uniform:", 8) == 0) return read_uniform(text + 8, arena, out, err);
    const char *path;
    char *bytes;
    size_t count;
    return file_find(text, arena, &path, err) &&
           file_read(path, FILE_CAP_B, arena, &bytes, &count, err) &&
           memory_lengths_parse(path, bytes, count, arena, out, err);
}

uint64_t memory_lengths_at(const MemoryLengths *lengths, uint64_t index) {
    return lengths->listed != NULL ? lengths->listed[index]
                                   : lengths->first + index * lengths->step;
}

void memory_lengths_mean(const MemoryLengths *lengths, const MemoryPages *pages,
                         uint64_t *out_taken_B, uint64_t *out_used_B) {
    Wide taken = 0, used = 0;
    uint64_t state_B = memory_page_state_B(pages);
    for (uint64_t i = 0; i < lengths->count; i++) {
        uint64_t tokens = memory_lengths_at(lengths, i);
        taken += wide_add_saturate(memory_page_cache_B(pages, tokens), state_B);
        used += memory_page_used_B(pages, tokens);
    }
    *out_taken_B = wide_saturate(taken / lengths->count);
    *out_used_B = wide_saturate(used / lengths->count);
}
