// Strict JSON, read through cJSON (which see json.c alone).
//
// Refused, each with line and column: anything that is not RFC 8259 or not UTF-8, a duplicate key,
// nesting over 64, a number that is not finite, an integer over 2^53, text after the value, files
// over the cap. Getters name what they expected and what they found,
// with the path of the field. Every member that a reader understands is marked as it is read;
// json_finish then refuses the members that nobody read.
//
//     Json doc;
//     json_read(path, &doc, err) ... JsonNode root = json_root(&doc);
//     json_string(root, "name", &name, err) && json_u64(root, "count", &count, err) &&
//     json_finish(root, err)
#ifndef MODEL_BASE_JSON_H
#define MODEL_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/units.h"

#define JSON_DEPTH_MAX 64

typedef enum JsonKind {
    JSON_NONE,
    JSON_NULL,
    JSON_BOOL,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT
} JsonKind;

typedef struct JsonDoc JsonDoc; // owned by Json

// A document. A zeroed Json is empty. Strings from getters are borrowed until json_free.
typedef struct Json {
    JsonDoc *doc;
} Json;

// A value inside a document: a small handle, copied freely, valid until json_free. Zeroed: absent.
typedef struct JsonNode {
    JsonDoc *doc;
    uint32_t index;
} JsonNode;

// Reads a file, or bytes already in memory (`name` is used in messages). Outputs only on success.
bool json_read(const char *path, Json *out, Err *err);
bool json_parse(const char *name, const char *bytes, size_t count, Json *out, Err *err);
void json_free(Json *json);

JsonNode json_root(const Json *json);
JsonKind json_kind(JsonNode node);
uint32_t json_count(JsonNode node);              // members or elements; 0 for scalars
JsonNode json_at(JsonNode node, uint32_t index); // element or member by position, O(1)
const char *json_key(JsonNode node);             // name of a member, "" otherwise
bool json_is_absent(JsonNode node);
// The member by exact name, or absent; marks it read.
JsonNode json_find(JsonNode node, const char *key);

// "FILE:LINE:COLUMN: path.to[3].field: " + the message, for every error of meaning. Returns false.
bool json_error(JsonNode node, Err *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// "FILE:LINE:COLUMN: path.to[3].field", for errors that are found after the document was read. The
// node must not be absent.
char *json_place(JsonNode node, Arena *arena);

// Required members of an object. Wrong type, absence, fraction, sign and range are errors.
bool json_string(JsonNode object, const char *key, const char **out, Err *err);
// The string as a copy of the arena's, for what outlives the document; and that of an optional
// member, "" when it is absent or null.
bool json_text(JsonNode object, const char *key, Arena *arena, const char **out, Err *err);
bool json_optional_text(JsonNode object, const char *key, Arena *arena, const char **out, Err *err);
bool json_bool(JsonNode object, const char *key, bool *out, Err *err);
bool json_u64(JsonNode object, const char *key, uint64_t *out, Err *err);
bool json_u32(JsonNode object, const char *key, uint32_t *out, Err *err);
bool json_double(JsonNode object, const char *key, double *out, Err *err);
bool json_array(JsonNode object, const char *key, JsonNode *out, Err *err);
bool json_object(JsonNode object, const char *key, JsonNode *out, Err *err);
// Quantities with units, as strings ("900 GB/s").
bool json_bytes(JsonNode object, const char *key, uint64_t *out_B, Err *err);
bool json_rate(JsonNode object, const char *key, uint64_t *out_Bps, Err *err);
bool json_time(JsonNode object, const char *key, Time *out_ps, Err *err);
// One of `count` names; *out is its position. A near miss is named.
bool json_enum(JsonNode object, const char *key, const char *const *names, uint32_t count,
               uint32_t *out, Err *err);

// The value of the node itself, for array elements. A string has to stand on one line (text_plain):
// what is read is printed.
bool json_as_string(JsonNode node, const char **out, Err *err);
bool json_as_u64(JsonNode node, uint64_t *out, Err *err);
bool json_as_double(JsonNode node, double *out, Err *err);
bool json_as_bool(JsonNode node, bool *out, Err *err);

// True when the member exists and is not null; for optional members, before the getter. Marks it.
bool json_has(JsonNode object, const char *key);

// Marks a member (and all below it) as read without looking at it.
void json_ignore(JsonNode object, const char *key);

// Refuses members of this object (not of objects below) that nobody read: "unknown key", with the
// nearest name among those that were asked for.
bool json_finish(JsonNode object, Err *err);

// The first member of this object that nobody read, or absent. Marks nothing.
JsonNode json_first_unread(JsonNode object);

// Checks "moesim": KIND and "version": the file format. Absence and a newer version are refused.
bool json_header(JsonNode root, const char *kind, uint32_t version, Err *err);

#endif
