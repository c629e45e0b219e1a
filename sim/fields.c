// Fields of lines, one after the other, with their places.
//
// Invariant: nothing is copied or kept, so memory does not grow with the input.
#include "sim/fields.h"

#include <inttypes.h>
#include <string.h>

#include "model/base/text.h"
#include "model/base/units.h"

#define SIZE_TEXT_MAX 65                  // bytes of a number that can be one, and the end
#define SIZE_MAX_B    (UINT64_C(1) << 62) // bytes of a transfer (sim/transfers.h)

Fields fields_open(const char *name, const char *bytes, size_t count) {
    return (Fields){.name = name, .at = bytes, .end = bytes + count};
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

static const char *skip_blanks(const char *at, const char *end) {
    while (at < end && is_blank(*at)) at++;
    return at;
}

static uint32_t column_of(const Fields *fields, const char *at) {
    size_t column = (size_t)(at - fields->line_start) + 1;
    return column < UINT32_MAX ? (uint32_t)column : UINT32_MAX;
}

// The first comma, or with ' ' the first blank of any kind, that is not inside of brackets; `end`
// when there is none.
static const char *find_end(const char *at, const char *end, char separator) {
    bool is_inside = false;
    for (; at < end; at++) {
        if (*at == '[') is_inside = true;
        if (*at == ']') is_inside = false;
        if (!is_inside && (*at == separator || (separator == ' ' && is_blank(*at)))) break;
    }
    return at;
}

bool fields_next_line(Fields *fields) {
    while (fields->at < fields->end) {
        const char *start = fields->at;
        const char *end = memchr(start, '\n', (size_t)(fields->end - start));
        fields->at = end == NULL ? fields->end : end + 1;
        if (end == NULL) end = fields->end;
        const char *comment = memchr(start, '#', (size_t)(end - start));
        if (comment != NULL) end = comment;
        while (end > start && is_blank(end[-1])) end--;
        fields->line++;
        if (end == start) continue;
        fields->line_start = fields->line_at = start;
        fields->line_end = end;
        fields->separator = find_end(start, end, ',') < end ? ',' : ' ';
        fields->is_over = false;
        return true;
    }
    return false;
}

bool fields_next(Fields *fields, Field *out) {
    if (fields->is_over) {
        fields->column = column_of(fields, fields->line_end);
        return false;
    }
    const char *start = skip_blanks(fields->line_at, fields->line_end);
    const char *end = find_end(start, fields->line_end, fields->separator), *last = end;
    while (last > start && is_blank(last[-1])) last--;
    fields->column = column_of(fields, start);
    *out = (Field){start, (size_t)(last - start), fields->column};
    if (end == fields->line_end)
        fields->is_over = true;
    else
        fields->line_at = end + 1;
    return true;
}

bool fields_text(const Field *field, char *buffer, size_t size) {
    if (field->length >= size || memchr(field->start, '\0', field->length) != NULL) return false;
    memcpy(buffer, field->start, field->length);
    buffer[field->length] = '\0';
    return true;
}

bool fields_size(const Field *field, uint64_t *out_B, Err *err) {
    char text[SIZE_TEXT_MAX];
    uint64_t size = 0;
    if (field->length == 0)
        return err_set(err, "expected a size in bytes or such as \"64KiB\", found nothing");
    if (!fields_text(field, text, sizeof text))
        return err_set(err, "expected a size in bytes or such as \"64KiB\", found something else");
    bool is_plain = text[strspn(text, "0123456789")] == '\0';
    if (is_plain && !text_parse_u64(text, &size))
        return err_set(err, "expected less than 2^62 B, found %s B", text);
    if (!is_plain && !units_parse_bytes(text, &size, err)) return false;
    if (size >= SIZE_MAX_B)
        return err_set(err, "expected less than 2^62 B, found %" PRIu64 " B", size);
    *out_B = size;
    return true;
}

bool fields_fail(const Fields *fields, uint32_t column, Err *err) {
    return err_prefix(err, "%s:%u:%u", fields->name, fields->line, column);
}
