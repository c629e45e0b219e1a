// An exact JSON writer: integers in full, doubles that read back to the same bits, members in the
// order written, two-space indent, a newline at the end; the same bytes on every machine.
#ifndef MODEL_BASE_JSONW_H
#define MODEL_BASE_JSONW_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/text.h"

// Writes into `text`. Zero it, then set text. With `flat` > 0 each container of that depth (the
// root is 1) takes one line with all below it; `once` does the same for the next container only
// (jsonw_inline_next).
typedef struct JsonWriter {
    Text *text;
    uint32_t depth;
    uint32_t flat, once;
    bool has_items;
} JsonWriter;

// `key` is NULL inside an array and for the root.
void jsonw_open_object(JsonWriter *writer, const char *key);
void jsonw_open_array(JsonWriter *writer, const char *key);
void jsonw_close_object(JsonWriter *writer);
void jsonw_close_array(JsonWriter *writer);
// From the next container on, write on one line until it is closed.
void jsonw_inline_next(JsonWriter *writer);
void jsonw_string(JsonWriter *writer, const char *key, const char *value);
void jsonw_u64(JsonWriter *writer, const char *key, uint64_t value);
void jsonw_i64(JsonWriter *writer, const char *key, int64_t value);
void jsonw_double(JsonWriter *writer, const char *key, double value); // not finite: written as null
void jsonw_bool(JsonWriter *writer, const char *key, bool value);
void jsonw_null(JsonWriter *writer, const char *key);
// Quantities with units, exact (units_write_*).
void jsonw_bytes(JsonWriter *writer, const char *key, uint64_t B);
void jsonw_rate(JsonWriter *writer, const char *key, uint64_t Bps);
void jsonw_time(JsonWriter *writer, const char *key, int64_t ps);
void jsonw_digest(JsonWriter *writer, const char *key, uint64_t digest);
// A newline at the end of the document; asserts that everything is closed.
void jsonw_finish(JsonWriter *writer);

#endif
