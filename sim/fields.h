// Lines of fields, as people write small tables: commas between fields, or blanks where a line has
// no comma. Commas and blanks inside of brackets separate nothing. Empty lines and what follows a
// '#' are left out.
#ifndef SIM_FIELDS_H
#define SIM_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/base/err.h"

typedef struct Fields {
    const char *name;      // of the input, for messages; borrowed
    const char *at, *end;  // what is left of the input; borrowed
    uint32_t line, column; // from 1: of the line, and of the field, or where the line ends
    const char *line_start, *line_at, *line_end;
    char separator; // of the line: a comma, or ' ' for blanks of any kind
    bool is_over;   // its last field was read
} Fields;

// Without the blanks around it.
typedef struct Field {
    const char *start;
    size_t length;
    uint32_t column;
} Field;

Fields fields_open(const char *name, const char *bytes, size_t count);
// The next line that has a field; false after the last.
bool fields_next_line(Fields *fields);
// The next field of that line, in a line with commas perhaps an empty one; false after the last.
bool fields_next(Fields *fields, Field *out);

// A copy with an end; false when it is longer than size - 1 or holds a zero byte.
bool fields_text(const Field *field, char *buffer, size_t size);
// Bytes ("4096") or a size with a unit ("64 KiB"), below 2^62.
bool fields_size(const Field *field, uint64_t *out_B, Err *err);

// Puts "NAME:LINE:COLUMN: " before the message; false.
bool fields_fail(const Fields *fields, uint32_t column, Err *err);

#endif
