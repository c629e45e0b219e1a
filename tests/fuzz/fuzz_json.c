// Any bytes as JSON: what is accepted can be walked, read by every getter, and named in messages.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model/base/json.h"
#include "model/base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_line(const Err *err) {
    size_t length = strlen(err->text);
    if (length == 0 || !text_is_utf8(err->text, length) || strchr(err->text, '\n')) abort();
}

// Every getter of a member; a failure must leave a line that begins with the name of the text.
static void read_member(JsonNode object, const char *key) {
    static const char *const names[] = {"nvlink", "pcie", "ib"};
    Err err = {0};
    const char *string;
    bool flag;
    uint64_t wide;
    uint32_t narrow;
    double number;
    Time ps;
    JsonNode node;
    int good = 0;
    good += json_string(object, key, &string, &err);
    good += json_bool(object, key, &flag, &err);
    good += json_u64(object, key, &wide, &err);
    good += json_u32(object, key, &narrow, &err);
    good += json_double(object, key, &number, &err);
    good += json_array(object, key, &node, &err);
    good += json_object(object, key, &node, &err);
    good += json_bytes(object, key, &wide, &err);
    good += json_rate(object, key, &wide, &err);
    good += json_time(object, key, &ps, &err);
    good += json_enum(object, key, names, 3, &narrow, &err);
    if (good > 3) abort(); // a small whole number is u64, u32 and double; nothing is more
    check_line(&err);
    if (strncmp(err.text, "f:", 2) != 0) abort();
}

static void read_object(JsonNode object) {
    Err err = {0};
    if (!json_finish(object, &err)) check_line(&err);
    read_member(object, "count");
    for (uint32_t i = 0; i < json_count(object) && i < 64; i++) {
        read_member(object, json_key(json_at(object, i)));
    }
    if (!json_finish(object, &err)) check_line(&err);
}

// Walks down the last child of each level, reading every node of the levels on the way.
static void walk(JsonNode node) {
    Err err = {0};
    for (uint32_t depth = 0; json_kind(node) >= JSON_ARRAY; depth++) {
        if (depth > JSON_DEPTH_MAX) abort();
        if (json_kind(node) == JSON_OBJECT) read_object(node);
        uint32_t count = json_count(node);
        if (count == 0) break;
        node = json_at(node, count - 1);
        json_error(node, &err, "here");
        check_line(&err);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Err err = {0};
    Json json = {0};
    char *bytes = malloc(size > 0 ? size : 1);
    if (bytes == NULL) return 0;
    if (size > 0) memcpy(bytes, data, size);
    if (json_parse("f", bytes, size, &json, &err)) {
        if (!text_is_utf8(bytes, size)) abort();
        if (!json_header(json_root(&json), "plan", 1, &err)) check_line(&err);
        walk(json_root(&json));
        json_ignore(json_root(&json), "a");
        json_free(&json);
    } else {
        check_line(&err);
        if (json.doc != NULL || strncmp(err.text, "f:", 2) != 0) abort();
    }
    free(bytes);
    return 0;
}
