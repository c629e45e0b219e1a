// The JSON writer: appends members in call order, with exact numbers and fixed white space.
//
// Invariant: what is written passes json_parse and reads back to the same values, except integers
// over 2^53, which are written in full but which the strict reader refuses. Bytes depend on the
// calls alone.
#include "model/base/jsonw.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "model/base/hash.h"
#include "model/base/units.h"

static bool is_reached(uint32_t depth, uint32_t limit) {
    return limit > 0 && depth >= limit;
}

static bool is_inline(const JsonWriter *writer) {
    return is_reached(writer->depth, writer->flat) || is_reached(writer->depth, writer->once);
}

static void break_line(JsonWriter *writer) {
    text_add_char(writer->text, '\n');
    for (uint32_t i = 0; i < writer->depth; i++) text_add(writer->text, "  ");
}

static void add_string(Text *text, const char *string) {
    text_add_char(text, '"');
    for (size_t left = strlen(string); left > 0;) {
        size_t width = text_code_point(string, left);
        unsigned char c = (unsigned char)*string;
        if (width == 0) {
            text_add_char(text, '?');
            width = 1;
        } else if (c == '"' || c == '\\') {
            text_addf(text, "\\%c", c);
        } else if (c == '\n') {
            text_add(text, "\\n");
        } else if (c == '\t') {
            text_add(text, "\\t");
        } else if (c < 0x20) {
            text_addf(text, "\\u%04x", c);
        } else {
            text_add_bytes(text, string, width);
        }
        string += width;
        left -= width;
    }
    text_add_char(text, '"');
}

// The separator before an item, and its key.
static void begin_item(JsonWriter *writer, const char *key) {
    if (writer->depth > 0) {
        if (writer->has_items) text_add_char(writer->text, ',');
        if (!is_inline(writer)) break_line(writer);
        if (is_inline(writer) && writer->has_items) text_add_char(writer->text, ' ');
    }
    writer->has_items = true;
    if (key == NULL) return;
    add_string(writer->text, key);
    text_add(writer->text, ": ");
}

static void open_container(JsonWriter *writer, const char *key, char bracket) {
    begin_item(writer, key);
    text_add_char(writer->text, bracket);
    writer->depth++;
    writer->has_items = false;
}

static void close_container(JsonWriter *writer, char bracket) {
    assert(writer->depth > 0);
    bool broken = writer->has_items && !is_inline(writer);
    writer->depth--;
    if (writer->depth < writer->once) writer->once = 0;
    if (broken) break_line(writer);
    text_add_char(writer->text, bracket);
    writer->has_items = true;
}

void jsonw_open_object(JsonWriter *writer, const char *key) {
    open_container(writer, key, '{');
}

void jsonw_open_array(JsonWriter *writer, const char *key) {
    open_container(writer, key, '[');
}

void jsonw_close_object(JsonWriter *writer) {
    close_container(writer, '}');
}

void jsonw_close_array(JsonWriter *writer) {
    close_container(writer, ']');
}

void jsonw_inline_next(JsonWriter *writer) {
    if (writer->once == 0) writer->once = writer->depth + 1;
}

void jsonw_string(JsonWriter *writer, const char *key, const char *value) {
    begin_item(writer, key);
    add_string(writer->text, value);
}

void jsonw_u64(JsonWriter *writer, const char *key, uint64_t value) {
    begin_item(writer, key);
    text_addf(writer->text, "%" PRIu64, value);
}

void jsonw_i64(JsonWriter *writer, const char *key, int64_t value) {
    begin_item(writer, key);
    text_addf(writer->text, "%" PRId64, value);
}

// 2^53 + 2 prints as digits only; ".0" tells the reader that it is not meant as an integer.
void jsonw_double(JsonWriter *writer, const char *key, double value) {
    if (!isfinite(value)) {
        jsonw_null(writer, key);
        return;
    }
    begin_item(writer, key);
    size_t start = writer->text->length;
    text_add_double(writer->text, value);
    bool digits_only = strpbrk(writer->text->data + start, ".e") == NULL;
    if (digits_only && fabs(value) > 9007199254740992.0) text_add(writer->text, ".0");
}

void jsonw_bool(JsonWriter *writer, const char *key, bool value) {
    begin_item(writer, key);
    text_add(writer->text, value ? "true" : "false");
}

void jsonw_null(JsonWriter *writer, const char *key) {
    begin_item(writer, key);
    text_add(writer->text, "null");
}

void jsonw_bytes(JsonWriter *writer, const char *key, uint64_t B) {
    char buffer[UNITS_TEXT_MAX];
    jsonw_string(writer, key, units_write_bytes(B, buffer));
}

void jsonw_rate(JsonWriter *writer, const char *key, uint64_t Bps) {
    char buffer[UNITS_TEXT_MAX];
    jsonw_string(writer, key, units_write_rate(Bps, buffer));
}

void jsonw_time(JsonWriter *writer, const char *key, int64_t ps) {
    char buffer[UNITS_TEXT_MAX];
    jsonw_string(writer, key, units_write_time(ps, buffer));
}

void jsonw_digest(JsonWriter *writer, const char *key, uint64_t digest) {
    char buffer[17];
    jsonw_string(writer, key, hash_format(digest, buffer));
}

void jsonw_finish(JsonWriter *writer) {
    assert(writer->depth == 0);
    text_add_char(writer->text, '\n');
}
