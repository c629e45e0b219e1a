// The strict half of the JSON reader: one pass over the bytes that checks the grammar and says
// where every value begins, all at once for json.c or one by one for large files of simple form.
#ifndef MODEL_BASE_JSON_SCAN_H
#define MODEL_BASE_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/base/err.h"

#define JSON_SCAN_DEPTH_MAX  64
#define JSON_SCAN_VALUES_MAX (UINT32_C(1) << 22) // about 150 bytes of memory for each
#define JSON_SCAN_NUMBER_MAX 63                  // characters of one number; cJSON reads no more

typedef enum JsonMarkKind {
    MARK_OBJECT,
    MARK_ARRAY,
    MARK_STRING,
    MARK_NUMBER,
    MARK_WORD
} JsonMarkKind;

// A value in the order of the document.
typedef struct JsonMark {
    uint32_t offset; // of its first byte
    uint32_t key;    // offset of its name's opening quote; its own offset when it has none
    uint32_t next;   // index of the first mark after it and all below it
    JsonMarkKind kind;
} JsonMark;

// A zeroed JsonScan is empty.
typedef struct JsonScan {
    JsonMark *marks;
    uint32_t count, capacity;
} JsonScan;

// Scans the whole text (count < 2^32). On failure `err` has the reason and *where the offset of the
// byte that is wrong; the caller adds the place.
bool json_scan_run(const char *bytes, size_t count, JsonScan *out, size_t *where, Err *err);
void json_scan_free(JsonScan *scan);

// One value after the other, without any memory of those that are past. CLOSE ends the innermost
// container, END the text.
typedef enum JsonEventKind {
    JSON_EVENT_OBJECT,
    JSON_EVENT_ARRAY,
    JSON_EVENT_CLOSE,
    JSON_EVENT_STRING,
    JSON_EVENT_NUMBER,
    JSON_EVENT_WORD,
    JSON_EVENT_END
} JsonEventKind;

typedef struct JsonEvent {
    JsonEventKind kind;
    uint32_t offset, end; // of the value's first byte (of a container: its bracket), after its last
    uint32_t key, key_end; // of its name with both quotes; key is `offset` when it has none
} JsonEvent;

// Borrows bytes; count < 2^32. Only `at` and `depth` are for callers: the byte reached, and how
// many containers are open.
typedef struct JsonWalk {
    const char *bytes;
    size_t count, at;
    uint32_t depth;
    uint32_t state;
    uint64_t objects; // of the open containers, by depth: a bit for each object
    uint32_t key, key_end;
    bool has_key;
} JsonWalk;

void json_scan_start(const char *bytes, size_t count, JsonWalk *out);
// False with the reason when the grammar is broken at walk->at.
bool json_scan_next(JsonWalk *walk, JsonEvent *out, Err *err);

// Writes the string whose opening quote is at `offset` (as scanned), unescaped and terminated, to
// `out`, which has room for as many bytes as the string with its quotes. Returns its length.
size_t json_scan_string(const char *bytes, size_t offset, char *out);

// Both from 1, the column in code points.
typedef struct JsonPlace {
    size_t line, column;
} JsonPlace;

JsonPlace json_scan_place(const char *bytes, size_t offset);

// Bytes of the number or word that starts at `offset` (as scanned).
size_t json_scan_number_length(const char *bytes, size_t count, size_t offset);

#endif
