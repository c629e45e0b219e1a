// Strict JSON: json_scan checks the grammar and notes positions, cJSON decodes, and a flat array of
// nodes gives constant-time access, paths for messages and the marks of what was read.
//
// Invariant: nodes lie breadth first, so that the members of one container are neighbours and all
// descendants of one depth are a range. Numbers are read again from the bytes: cJSON's own reading
// depends on the locale. The only user of cJSON, which is called after the scan has passed.
#include "model/base/json.h"

#include <assert.h>
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/base/file.h"
#include "model/base/json_scan.h"
#include "model/base/text.h"

#define NONE        UINT32_MAX
#define NAMES_SHOWN 16 // names listed in "expected one of"
#define ROOT_PARENT NONE

_Static_assert(JSON_DEPTH_MAX == JSON_SCAN_DEPTH_MAX, "one depth limit");

typedef struct Node {
    const cJSON *item;
    uint32_t parent, position; // ROOT_PARENT for the root
    uint32_t first, count;     // children
    uint32_t mark;
    uint32_t asked; // newest entry of JsonDoc.asked for this object
    bool read;
} Node;

// A key that was looked for and is not there; entries of one object are chained, newest first.
typedef struct Asked {
    const char *key;
    uint32_t older;
} Asked;

struct JsonDoc {
    Arena arena; // name, bytes, copies of asked keys
    const char *name;
    const char *bytes;
    size_t count;
    cJSON *tree;
    JsonScan scan;
    Node *nodes;
    uint32_t node_count, node_capacity;
    Asked *asked;
    uint32_t asked_count, asked_capacity;
};

static void doc_free(JsonDoc *doc) {
    cJSON_Delete(doc->tree);
    json_scan_free(&doc->scan);
    mem_free(doc->nodes);
    mem_free(doc->asked);
    arena_free(&doc->arena);
    mem_free(doc);
}

static Node *node_of(JsonNode node) {
    return &node.doc->nodes[node.index];
}

static const JsonMark *mark_of(JsonNode node) {
    return &node.doc->scan.marks[node_of(node)->mark];
}

static const char *key_of(const JsonDoc *doc, uint32_t index) {
    const char *key = doc->nodes[index].item->string;
    return key == NULL ? "" : key;
}

// Messages.

static bool is_plain_key(const char *key) {
    return *key != '\0' && key[strspn(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                           "0123456789_-")] == '\0';
}

static void add_step(const JsonDoc *doc, uint32_t index, Text *out) {
    const Node *node = &doc->nodes[index];
    char quote[TEXT_QUOTE_MAX];
    if (doc->scan.marks[doc->nodes[node->parent].mark].kind == MARK_ARRAY) {
        text_addf(out, "[%" PRIu32 "]", node->position);
    } else if (is_plain_key(key_of(doc, index))) {
        text_addf(out, "%s%s", node->parent == 0 ? "" : ".", key_of(doc, index));
    } else {
        text_addf(out, "[%s]", text_quote(key_of(doc, index), quote));
    }
}

// "links[3].bandwidth: ", nothing for the root.
static void add_path(const JsonDoc *doc, uint32_t index, Text *out) {
    uint32_t steps[JSON_DEPTH_MAX + 1], depth = 0;
    for (; doc->nodes[index].parent != ROOT_PARENT; index = doc->nodes[index].parent) {
        assert(depth <= JSON_DEPTH_MAX);
        steps[depth++] = index;
    }
    bool any = depth > 0;
    while (depth > 0) add_step(doc, steps[--depth], out);
    if (any) text_add(out, ": ");
}

static bool fail(const JsonDoc *doc, uint32_t index, size_t offset, Err *err, const char *message) {
    Text where = {0};
    JsonPlace place = json_scan_place(doc->bytes, offset);
    text_addf(&where, "%s:%zu:%zu: ", doc->name, place.line, place.column);
    if (index != NONE) add_path(doc, index, &where);
    err_set(err, "%s%s", text_string(&where), message);
    text_free(&where);
    return false;
}

bool json_error(JsonNode node, Err *err, const char *format, ...) {
    char message[ERR_TEXT_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    if (json_is_absent(node)) return err_set(err, "%s", message);
    return fail(node.doc, node.index, mark_of(node)->offset, err, message);
}

char *json_place(JsonNode node, Arena *arena) {
    Err err = {0};
    json_error(node, &err, "@");
    return arena_printf(arena, "%.*s", (int)strlen(err.text) - 3, err.text); // less ": @"
}

// Building.

static bool scan_doc(JsonDoc *doc, Err *err) {
    size_t where = 0;
    Err reason = {0};
    if (json_scan_run(doc->bytes, doc->count, &doc->scan, &where, &reason)) return true;
    return fail(doc, NONE, where, err, reason.text);
}

static void add_node(JsonDoc *doc, const cJSON *item, uint32_t parent, uint32_t mark) {
    uint32_t position = parent == ROOT_PARENT ? 0 : doc->nodes[parent].count++;
    doc->nodes[doc->node_count++] =
        (Node){.item = item, .parent = parent, .position = position, .mark = mark, .asked = NONE};
}

// Breadth first: the array of nodes is its own queue. The order of cJSON's siblings is that of the
// text.
static void build_nodes(JsonDoc *doc) {
    doc->nodes = mem_alloc(doc->scan.count, sizeof(Node));
    add_node(doc, doc->tree, ROOT_PARENT, 0);
    for (uint32_t i = 0; i < doc->node_count; i++) {
        uint32_t mark = doc->nodes[i].mark + 1;
        doc->nodes[i].first = doc->node_count;
        for (const cJSON *item = doc->nodes[i].item->child; item != NULL; item = item->next) {
            assert(mark < doc->scan.count);
            add_node(doc, item, i, mark);
            mark = doc->scan.marks[mark].next;
        }
    }
    assert(doc->node_count == doc->scan.count);
}

typedef struct KeyPlace {
    const char *key;
    uint32_t index;
} KeyPlace;

static int compare_keys(const void *a, const void *b) {
    const KeyPlace *left = a, *right = b;
    int order = strcmp(left->key, right->key);
    if (order != 0) return order;
    return left->index < right->index ? -1 : left->index > right->index;
}

// The member of the object that repeats an earlier key and comes first in the text, or NONE.
static uint32_t find_duplicate(const JsonDoc *doc, const Node *object, KeyPlace *places) {
    uint32_t found = NONE;
    for (uint32_t i = 0; i < object->count; i++) {
        places[i] = (KeyPlace){key_of(doc, object->first + i), object->first + i};
    }
    qsort(places, object->count, sizeof *places, compare_keys);
    for (uint32_t i = 1; i < object->count; i++) {
        bool equal = strcmp(places[i - 1].key, places[i].key) == 0;
        if (equal && places[i].index < found) found = places[i].index;
    }
    return found;
}

static bool check_duplicates(const JsonDoc *doc, Err *err) {
    KeyPlace *places = mem_alloc(doc->node_count, sizeof *places);
    uint32_t found = NONE, first_offset = NONE;
    for (uint32_t i = 0; i < doc->node_count; i++) {
        const Node *node = &doc->nodes[i];
        if (doc->scan.marks[node->mark].kind != MARK_OBJECT || node->count < 2) continue;
        uint32_t index = find_duplicate(doc, node, places);
        if (index == NONE || doc->scan.marks[doc->nodes[index].mark].key >= first_offset) continue;
        found = index;
        first_offset = doc->scan.marks[doc->nodes[index].mark].key;
    }
    mem_free(places);
    if (found == NONE) return true;
    char quote[TEXT_QUOTE_MAX], message[TEXT_QUOTE_MAX + 32];
    snprintf(message, sizeof message, "duplicate key %s", text_quote(key_of(doc, found), quote));
    return fail(doc, doc->nodes[found].parent, first_offset, err, message);
}

// Takes the document: frees it on failure.
static bool finish_doc(JsonDoc *doc, Json *out, Err *err) {
    bool good = doc->count <= FILE_CAP_B ||
                err_set(err, "%s: text over the limit of %zu bytes", doc->name, FILE_CAP_B);
    good = good && scan_doc(doc, err);
    if (good) {
        doc->tree = cJSON_ParseWithLengthOpts(doc->bytes, doc->count + 1, NULL, 1);
        good = doc->tree != NULL || fail(doc, NONE, 0, err, "not enough memory for this text");
    }
    if (good) build_nodes(doc);
    good = good && check_duplicates(doc, err);
    if (good) {
        out->doc = doc;
    } else {
        doc_free(doc);
    }
    return good;
}

static JsonDoc *new_doc(const char *name) {
    JsonDoc *doc = mem_alloc(1, sizeof *doc);
    doc->name = arena_string(&doc->arena, name);
    return doc;
}

bool json_read(const char *path, Json *out, Err *err) {
    JsonDoc *doc = new_doc(path);
    char *bytes;
    if (!file_read(path, FILE_CAP_B, &doc->arena, &bytes, &doc->count, err)) {
        doc_free(doc);
        return false;
    }
    doc->bytes = bytes;
    return finish_doc(doc, out, err);
}

bool json_parse(const char *name, const char *bytes, size_t count, Json *out, Err *err) {
    JsonDoc *doc = new_doc(name);
    char *copy = arena_alloc(&doc->arena, count + 1, 1);
    if (count > 0) memcpy(copy, bytes, count);
    doc->bytes = copy;
    doc->count = count;
    return finish_doc(doc, out, err);
}

void json_free(Json *json) {
    if (json->doc != NULL) doc_free(json->doc);
    *json = (Json){0};
}

// Access.

JsonNode json_root(const Json *json) {
    return (JsonNode){json->doc, 0};
}

bool json_is_absent(JsonNode node) {
    return node.doc == NULL;
}

JsonKind json_kind(JsonNode node) {
    if (json_is_absent(node)) return JSON_NONE;
    switch (mark_of(node)->kind) {
    case MARK_OBJECT: return JSON_OBJECT;
    case MARK_ARRAY: return JSON_ARRAY;
    case MARK_STRING: return JSON_STRING;
    case MARK_NUMBER: return JSON_NUMBER;
    case MARK_WORD: return cJSON_IsNull(node_of(node)->item) ? JSON_NULL : JSON_BOOL;
    }
    return JSON_NONE;
}

uint32_t json_count(JsonNode node) {
    return json_is_absent(node) ? 0 : node_of(node)->count;
}

JsonNode json_at(JsonNode node, uint32_t index) {
    assert(index < json_count(node));
    node_of(node)->read = true;
    return (JsonNode){node.doc, node_of(node)->first + index};
}

const char *json_key(JsonNode node) {
    return json_is_absent(node) ? "" : key_of(node.doc, node.index);
}

// Notes a key that is not there, once, as a candidate for "did you mean".
static void note_asked(JsonNode object, const char *key) {
    JsonDoc *doc = object.doc;
    Node *node = node_of(object);
    for (uint32_t i = node->asked; i != NONE; i = doc->asked[i].older) {
        if (strcmp(doc->asked[i].key, key) == 0) return;
    }
    doc->asked = mem_grow(doc->asked, &doc->asked_capacity, doc->asked_count + 1, sizeof(Asked));
    doc->asked[doc->asked_count] = (Asked){arena_string(&doc->arena, key), node->asked};
    node->asked = doc->asked_count++;
}

JsonNode json_find(JsonNode node, const char *key) {
    if (json_kind(node) != JSON_OBJECT) return (JsonNode){0};
    Node *object = node_of(node);
    object->read = true;
    for (uint32_t i = object->first; i < object->first + object->count; i++) {
        if (strcmp(key_of(node.doc, i), key) != 0) continue;
        node.doc->nodes[i].read = true;
        return (JsonNode){node.doc, i};
    }
    note_asked(node, key);
    return (JsonNode){0};
}

bool json_has(JsonNode object, const char *key) {
    JsonKind kind = json_kind(json_find(object, key));
    return kind != JSON_NONE && kind != JSON_NULL;
}

void json_ignore(JsonNode object, const char *key) {
    JsonNode node = json_find(object, key);
    if (json_is_absent(node)) return;
    uint32_t first = node.index, end = node.index + 1; // one depth of the subtree at a time
    while (first < end) {
        uint32_t next_end = first;
        for (uint32_t i = first; i < end; i++) {
            node.doc->nodes[i].read = true;
            next_end = node.doc->nodes[i].first + node.doc->nodes[i].count;
        }
        first = node.doc->nodes[first].first;
        end = next_end;
    }
}

// What was read, and what was asked for.

#define HINT_LEAST 3 // letters

typedef enum Wanted { WANTED_READ, WANTED_UNREAD } Wanted;

// The member of the object with that state, or the absent key that was asked for (WANTED_READ
// only), whose name is nearest to `key`; NULL when none is near. The result is borrowed from the
// document.
static const char *nearest_key(JsonNode object, Wanted wanted, const char *key) {
    const Node *node = node_of(object);
    const char **names = NULL, *found = NULL;
    uint32_t count = 0, capacity = 0;
    for (uint32_t i = node->first; i < node->first + node->count; i++) {
        if (object.doc->nodes[i].read != (wanted == WANTED_READ)) continue;
        names = mem_grow(names, &capacity, count + 1, sizeof(char *));
        names[count++] = key_of(object.doc, i);
    }
    for (uint32_t i = node->asked; i != NONE && wanted == WANTED_READ;
         i = object.doc->asked[i].older) {
        names = mem_grow(names, &capacity, count + 1, sizeof(char *));
        names[count++] = object.doc->asked[i].key;
    }
    uint32_t near = text_nearest(key, names, count);
    if (near != NONE) found = names[near];
    mem_free(names);
    return found;
}

JsonNode json_first_unread(JsonNode object) {
    for (uint32_t i = 0; i < json_count(object); i++) {
        uint32_t index = node_of(object)->first + i;
        if (!object.doc->nodes[index].read) return (JsonNode){object.doc, index};
    }
    return (JsonNode){0};
}

bool json_finish(JsonNode object, Err *err) {
    JsonNode unread = json_first_unread(object);
    if (json_kind(object) != JSON_OBJECT || json_is_absent(unread)) return true;
    char key[TEXT_QUOTE_MAX], hint[TEXT_QUOTE_MAX], message[2 * TEXT_QUOTE_MAX + 64];
    const char *near = nearest_key(object, WANTED_READ, json_key(unread));
    text_quote(json_key(unread), key);
    if (near == NULL) {
        snprintf(message, sizeof message, "unknown key %s", key);
    } else {
        snprintf(message, sizeof message, "unknown key %s, did you mean %s?", key,
                 text_quote(near, hint));
    }
    return fail(object.doc, object.index, mark_of(unread)->key, err, message);
}

// Getters.

// Bytes of a number or a word as they stand in the text; `buffer` has JSON_SCAN_NUMBER_MAX + 1.
static char *raw_text(JsonNode node, char *buffer) {
    size_t offset = mark_of(node)->offset;
    size_t length = json_scan_number_length(node.doc->bytes, node.doc->count, offset);
    assert(length <= JSON_SCAN_NUMBER_MAX);
    memcpy(buffer, node.doc->bytes + offset, length);
    buffer[length] = '\0';
    return buffer;
}

_Static_assert(TEXT_QUOTE_MAX > JSON_SCAN_NUMBER_MAX, "a number fits where a quoted string fits");

static const char *describe(JsonNode node, char *buffer) {
    switch (json_kind(node)) {
    case JSON_NONE: return "nothing";
    case JSON_OBJECT: return "an object";
    case JSON_ARRAY: return "an array";
    case JSON_STRING: return text_quote(node_of(node)->item->valuestring, buffer);
    case JSON_NULL:
    case JSON_BOOL:
    case JSON_NUMBER: return raw_text(node, buffer);
    }
    return "";
}

static bool refuse(JsonNode node, const char *expected, Err *err) {
    char found[TEXT_QUOTE_MAX];
    return json_error(node, err, "expected %s, found %s", expected, describe(node, found));
}

static bool expect_kind(JsonNode node, JsonKind kind, const char *expected, Err *err) {
    if (json_kind(node) != kind) return refuse(node, expected, err);
    node_of(node)->read = true;
    return true;
}

// The member of an object, which must be there.
static bool require(JsonNode object, const char *key, JsonNode *out, Err *err) {
    if (json_kind(object) != JSON_OBJECT) return refuse(object, "an object", err);
    JsonNode member = json_find(object, key);
    if (json_is_absent(member)) {
        // a short key is near to others that are keys in their own right, as "isl" is to "osl"
        const char *near =
            strlen(key) > HINT_LEAST ? nearest_key(object, WANTED_UNREAD, key) : NULL;
        char quote[TEXT_QUOTE_MAX];
        if (near == NULL) return json_error(object, err, "missing \"%s\"", key);
        return json_error(object, err, "missing \"%s\" (found %s)", key, text_quote(near, quote));
    }
    *out = member;
    return true;
}

bool json_as_string(JsonNode node, const char **out, Err *err) {
    if (!expect_kind(node, JSON_STRING, "a string", err)) return false;
    const char *text = node_of(node)->item->valuestring;
    size_t plain = text_plain(text);
    if (text[plain] != '\0')
        return json_error(node, err, "expected a text on one line, found a control after %zu bytes",
                          plain);
    *out = text;
    return true;
}

bool json_as_bool(JsonNode node, bool *out, Err *err) {
    if (!expect_kind(node, JSON_BOOL, "true or false", err)) return false;
    *out = cJSON_IsTrue(node_of(node)->item);
    return true;
}

bool json_as_double(JsonNode node, double *out, Err *err) {
    char text[JSON_SCAN_NUMBER_MAX + 1];
    if (!expect_kind(node, JSON_NUMBER, "a number", err)) return false;
    if (!text_parse_double(raw_text(node, text), out)) return refuse(node, "a number", err);
    return true;
}

bool json_as_u64(JsonNode node, uint64_t *out, Err *err) {
    char text[JSON_SCAN_NUMBER_MAX + 1];
    if (!expect_kind(node, JSON_NUMBER, "a whole number", err)) return false;
    raw_text(node, text);
    if (*text == '-') return refuse(node, "a whole number of at least 0", err);
    if (!text_parse_u64(text, out)) return refuse(node, "a whole number", err);
    return true;
}

bool json_string(JsonNode object, const char *key, const char **out, Err *err) {
    JsonNode node = {0};
    return require(object, key, &node, err) && json_as_string(node, out, err);
}

bool json_bool(JsonNode object, const char *key, bool *out, Err *err) {
    JsonNode node = {0};
    return require(object, key, &node, err) && json_as_bool(node, out, err);
}

bool json_u64(JsonNode object, const char *key, uint64_t *out, Err *err) {
    JsonNode node = {0};
    return require(object, key, &node, err) && json_as_u64(node, out, err);
}

bool json_u32(JsonNode object, const char *key, uint32_t *out, Err *err) {
    JsonNode node = {0};
    uint64_t value;
    if (!require(object, key, &node, err) || !json_as_u64(node, &value, err)) return false;
    if (value > UINT32_MAX) return refuse(node, "a whole number of at most 4294967295", err);
    *out = (uint32_t)value;
    return true;
}

bool json_double(JsonNode object, const char *key, double *out, Err *err) {
    JsonNode node = {0};
    return require(object, key, &node, err) && json_as_double(node, out, err);
}

static bool container(JsonNode object, const char *key, JsonKind kind, JsonNode *out, Err *err) {
    JsonNode node = {0};
    const char *expected = kind == JSON_ARRAY ? "an array" : "an object";
    if (!require(object, key, &node, err)) return false;
    if (!expect_kind(node, kind, expected, err)) return false;
    *out = node;
    return true;
}

bool json_array(JsonNode object, const char *key, JsonNode *out, Err *err) {
    return container(object, key, JSON_ARRAY, out, err);
}

bool json_object(JsonNode object, const char *key, JsonNode *out, Err *err) {
    return container(object, key, JSON_OBJECT, out, err);
}

static bool quantity(JsonNode object, const char *key, UnitsKind kind, uint64_t *out, Err *err) {
    JsonNode node = {0};
    Err reason = {0};
    if (!require(object, key, &node, err)) return false;
    if (!expect_kind(node, JSON_STRING, units_expected(kind), err)) return false;
    if (units_parse(kind, node_of(node)->item->valuestring, out, &reason)) return true;
    return json_error(node, err, "%s", reason.text);
}

bool json_bytes(JsonNode object, const char *key, uint64_t *out_B, Err *err) {
    return quantity(object, key, UNITS_BYTES, out_B, err);
}

bool json_rate(JsonNode object, const char *key, uint64_t *out_Bps, Err *err) {
    return quantity(object, key, UNITS_RATE, out_Bps, err);
}

bool json_time(JsonNode object, const char *key, Time *out_ps, Err *err) {
    uint64_t ps;
    if (!quantity(object, key, UNITS_TIME, &ps, err)) return false;
    *out_ps = (Time)ps;
    return true;
}

static bool refuse_name(JsonNode node, const char *const *names, uint32_t count, Err *err) {
    Text text = {0};
    char found[TEXT_QUOTE_MAX];
    text_add(&text, count == 1 ? "expected " : "expected one of ");
    for (uint32_t i = 0; i < count && i < NAMES_SHOWN; i++) {
        text_addf(&text, "%s\"%s\"", i == 0 ? "" : ", ", names[i]);
    }
    if (count > NAMES_SHOWN) text_add(&text, ", ...");
    text_addf(&text, ", found %s", describe(node, found));
    if (json_kind(node) == JSON_STRING) {
        uint32_t near = text_nearest(node_of(node)->item->valuestring, names, count);
        if (near != NONE) text_addf(&text, ", did you mean \"%s\"?", names[near]);
    }
    json_error(node, err, "%s", text_string(&text));
    text_free(&text);
    return false;
}

bool json_enum(JsonNode object, const char *key, const char *const *names, uint32_t count,
               uint32_t *out, Err *err) {
    JsonNode node = {0};
    if (!require(object, key, &node, err)) return false;
    const char *text = json_kind(node) == JSON_STRING ? node_of(node)->item->valuestring : NULL;
    for (uint32_t i = 0; text != NULL && i < count; i++) {
        if (strcmp(text, names[i]) != 0) continue;
        *out = i;
        return true;
    }
    return refuse_name(node, names, count, err);
}

bool json_header(JsonNode root, const char *kind, uint32_t version, Err *err) {
    uint32_t position, found = 0;
    if (json_kind(root) != JSON_OBJECT) return refuse(root, "an object", err);
    JsonNode name = json_find(root, "moesim");
    if (json_is_absent(name)) {
        return json_error(root, err, "missing \"moesim\", expected \"moesim\": \"%s\"", kind);
    }
    if (!json_enum(root, "moesim", &kind, 1, &position, err)) return false;
    if (!json_u32(root, "version", &found, err)) return false;
    JsonNode node = json_find(root, "version");
    if (found > version) {
        return json_error(node, err,
                          "%s format %" PRIu32 " is newer than this program, which reads "
                          "up to %" PRIu32,
                          kind, found, version);
    }
    return found > 0 || refuse(node, "a version of at least 1", err);
}
