// The square of numbers of an all-to-all(v).
//
// Invariant: memory grows with the numbers read, never with the size that was asked for.
#include "sim/matrix.h"

#include <assert.h>

#include "model/base/mem.h"
#include "sim/fields.h"

typedef struct Reader {
    Fields fields;
    uint32_t n;
    uint64_t *values;
    uint32_t count, capacity;
} Reader;

static bool add_value(Reader *reader, const Field *field, Err *err) {
    uint64_t value;
    if (!fields_size(field, &value, err)) return fields_fail(&reader->fields, field->column, err);
    reader->values =
        mem_grow(reader->values, &reader->capacity, reader->count + 1, sizeof *reader->values);
    reader->values[reader->count++] = value;
    return true;
}

static bool read_row(Reader *reader, Err *err) {
    Fields *fields = &reader->fields;
    Field field;
    uint32_t columns = 0;
    for (; fields_next(fields, &field); columns++) {
        if (columns == reader->n) {
            err_set(err, "expected a row of %u numbers, found more", reader->n);
            return fields_fail(fields, fields->column, err);
        }
        if (!add_value(reader, &field, err)) return false;
    }
    if (columns == reader->n) return true;
    err_set(err, "expected a row of %u numbers, found %u", reader->n, columns);
    return fields_fail(fields, fields->column, err);
}

static bool read_rows(Reader *reader, Err *err) {
    uint32_t rows = 0;
    for (; fields_next_line(&reader->fields); rows++) {
        if (rows == reader->n) {
            err_set(err, "expected %u rows, found more", reader->n);
            return fields_fail(&reader->fields, 1, err);
        }
        if (!read_row(reader, err)) return false;
    }
    return rows == reader->n ||
           err_set(err, "%s: expected %u rows, found %u", reader->fields.name, reader->n, rows);
}

bool matrix_parse(const char *name, const char *bytes, size_t count, uint32_t n, uint64_t **out,
                  Err *err) {
    assert(n <= MATRIX_MAX);
    Reader reader = {.fields = fields_open(name, bytes, count), .n = n};
    if (!read_rows(&reader, err)) {
        mem_free(reader.values);
        return false;
    }
    *out = reader.values;
    return true;
}
