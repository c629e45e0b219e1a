// The square of numbers of an all-to-all(v).
//
// Invariant: memory grows with the numbers read, never with the size that was asked for.
#include "sim/matrix.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "model/base/mem.h"
#include "model/base/text.h"
#include "model/base/units.h"

#define FIELD_MAX 64                  // bytes of a number that can be one
#define VALUE_MAX (UINT64_C(1) << 62) // bytes of a transfer (sim/transfers.h)

typedef struct Reader {
    const char *name;
    const char *at, *end; // of the input
    uint32_t line;
    uint32_t n;
    uint64_t *values;
    uint32_t count, capacity;
} Reader;

// A line without its end and its comment.
typedef struct Line {
    const char *start, *end;
} Line;

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

static const char *skip_blanks(const char *at, const char *end) {
    while (at < end && is_blank(*at)) at++;
    return at;
}

static Line next_line(Reader *reader) {
    const char *start = reader->at;
    const char *end = memchr(start, '\n', (size_t)(reader->end - start));
    reader->at = end == NULL ? reader->end : end + 1;
    if (end == NULL) end = reader->end;
    const char *comment = memchr(start, '#', (size_t)(end - start));
    if (comment != NULL) end = comment;
    while (end > start && is_blank(end[-1])) end--;
    reader->line++;
    return (Line){start, end};
}

static bool parse_size(const char *text, uint64_t *out, Err *err) {
    if (text[strspn(text, "0123456789")] == '\0' && text_parse_u64(text, out)) return true;
    return units_parse_bytes(text, out, err);
}

// A number of `length` bytes at `start`.
static bool add_value(Reader *reader, const Line *line, const char *start, size_t length,
                      Err *err) {
    char field[FIELD_MAX + 1];
    uint64_t value;
    bool is_long = length > FIELD_MAX;
    if (is_long) length = FIELD_MAX;
    memcpy(field, start, length);
    field[length] = '\0';
    long column = (long)(start - line->start) + 1;
    bool done = false;
    if (is_long || strlen(field) < length)
        err_set(err, "expected a size in bytes or such as \"64KiB\", found something else");
    else if (length == 0)
        err_set(err, "expected a size in bytes or such as \"64KiB\", found nothing");
    else
        done = parse_size(field, &value, err);
    if (done && value >= VALUE_MAX)
        done = err_set(err, "expected less than 2^62 B, found %" PRIu64 " B", value);
    if (!done) return err_prefix(err, "%s:%u:%ld", reader->name, reader->line, column);
    reader->values =
        mem_grow(reader->values, &reader->capacity, reader->count + 1, sizeof *reader->values);
    reader->values[reader->count++] = value;
    return true;
}

// Where the number at `at` ends: before a comma, or before a blank when there are no commas.
static const char *field_end(const Line *line, const char *at, bool has_commas) {
    while (at < line->end && (has_commas ? *at != ',' : !is_blank(*at))) at++;
    return at;
}

static bool read_row(Reader *reader, const Line *line, Err *err) {
    bool has_commas = memchr(line->start, ',', (size_t)(line->end - line->start)) != NULL;
    const char *at = line->start;
    for (uint32_t column = 0;; column++) {
        at = skip_blanks(at, line->end);
        const char *end = field_end(line, at, has_commas), *last = end;
        while (last > at && is_blank(last[-1])) last--;
        if (column == reader->n)
            return err_set(err, "%s:%u:%ld: expected a row of %u numbers, found more", reader->name,
                           reader->line, (long)(at - line->start) + 1, reader->n);
        if (!add_value(reader, line, at, (size_t)(last - at), err)) return false;
        at = end;
        if (at == line->end)
            return column + 1 == reader->n ||
                   err_set(err, "%s:%u:%ld: expected a row of %u numbers, found %u", reader->name,
                           reader->line, (long)(at - line->start) + 1, reader->n, column + 1);
        at++;
    }
}

static bool read_rows(Reader *reader, Err *err) {
    uint32_t rows = 0;
    while (reader->at < reader->end) {
        Line line = next_line(reader);
        if (skip_blanks(line.start, line.end) == line.end) continue;
        if (rows == reader->n)
            return err_set(err, "%s:%u:1: expected %u rows, found more", reader->name, reader->line,
                           reader->n);
        if (!read_row(reader, &line, err)) return false;
        rows++;
    }
    return rows == reader->n ||
           err_set(err, "%s: expected %u rows, found %u", reader->name, reader->n, rows);
}

bool matrix_parse(const char *name, const char *bytes, size_t count, uint32_t n, uint64_t **out,
                  Err *err) {
    assert(n <= MATRIX_MAX);
    Reader reader = {.name = name, .at = bytes, .end = bytes + count, .n = n};
    if (!read_rows(&reader, err)) {
        mem_free(reader.values);
        return false;
    }
    *out = reader.values;
    return true;
}
