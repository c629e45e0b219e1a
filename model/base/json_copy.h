// Copies a JSON value from a document into a writer, as it is or with some values changed.
#ifndef MODEL_BASE_JSON_COPY_H
#define MODEL_BASE_JSON_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/json.h"
#include "model/base/jsonw.h"

// Instead of `node` stands a number or a text (borrowed), or nothing.
typedef enum JsonEditKind { JSON_EDIT_NUMBER, JSON_EDIT_TEXT, JSON_EDIT_DROP } JsonEditKind;
typedef struct JsonEdit {
    JsonNode node; // below the value that is copied
    JsonEditKind kind;
    uint64_t number;
    const char *text;
} JsonEdit;

// A zeroed list is empty. Freed by json_copy_free_edits.
typedef struct JsonEdits {
    JsonEdit *edits; // heap
    uint32_t count, capacity;
} JsonEdits;

// The last edit of a node counts.
void json_copy_add_edit(JsonEdits *edits, JsonEdit edit);
void json_copy_free_edits(JsonEdits *edits);

// Writes a copy of `node` and all below it as the member `key` (NULL: an element, or the root). A
// value that a JsonWriter wrote comes back as the same text. `edits` may be NULL.
bool json_copy_value(JsonNode node, const JsonEdits *edits, JsonWriter *writer, const char *key,
                     Err *err);

#endif
