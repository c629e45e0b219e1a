// Copies a JSON value from a document into a writer, edit by edit.
//
// Invariant: without edits, a value that a JsonWriter wrote comes back as the same text. No
// recursion: a stack as deep as the reader allows.
#include "model/base/json_copy.h"

#include "model/base/mem.h"

void json_copy_add_edit(JsonEdits *edits, JsonEdit edit) {
    edits->edits = mem_grow(edits->edits, &edits->capacity, edits->count + 1, sizeof *edits->edits);
    edits->edits[edits->count++] = edit;
}

void json_copy_free_edits(JsonEdits *edits) {
    mem_free(edits->edits);
    *edits = (JsonEdits){0};
}

// A copy on its way: the open containers, outermost first.
typedef struct Level {
    JsonNode node;
    uint32_t next;
} Level;

static bool copy_number(JsonNode node, JsonWriter *writer, const char *key, Err *err) {
    // whole numbers first: they are written without a point
    uint64_t whole;
    Err ignored = {0};
    if (json_as_u64(node, &whole, &ignored)) {
        jsonw_u64(writer, key, whole);
        return true;
    }
    double value;
    if (!json_as_double(node, &value, err)) return false;
    jsonw_double(writer, key, value);
    return true;
}

static bool copy_scalar(JsonNode node, JsonWriter *writer, const char *key, Err *err) {
    const char *text;
    bool flag;
    switch (json_kind(node)) {
    case JSON_NUMBER: return copy_number(node, writer, key, err);
    case JSON_STRING:
        if (!json_as_string(node, &text, err)) return false;
        jsonw_string(writer, key, text);
        return true;
    case JSON_BOOL:
        if (!json_as_bool(node, &flag, err)) return false;
        jsonw_bool(writer, key, flag);
        return true;
    case JSON_NULL: jsonw_null(writer, key); return true;
    case JSON_NONE:
    case JSON_ARRAY:
    case JSON_OBJECT: break;
    }
    return json_error(node, err, "expected a value");
}

static bool is_container(JsonNode node) {
    return json_kind(node) == JSON_OBJECT || json_kind(node) == JSON_ARRAY;
}

static void open_container(JsonNode node, JsonWriter *writer, const char *key) {
    if (json_kind(node) == JSON_OBJECT)
        jsonw_open_object(writer, key);
    else
        jsonw_open_array(writer, key);
}

static void close_container(JsonNode node, JsonWriter *writer) {
    if (json_kind(node) == JSON_OBJECT)
        jsonw_close_object(writer);
    else
        jsonw_close_array(writer);
}

static const JsonEdit *edit_of(const JsonEdits *edits, JsonNode node) {
    for (uint32_t i = edits == NULL ? 0 : edits->count; i > 0; i--)
        if (edits->edits[i - 1].node.index == node.index) return &edits->edits[i - 1];
    return NULL;
}

static void write_edit(const JsonEdit *edit, JsonWriter *writer, const char *key) {
    switch (edit->kind) {
    case JSON_EDIT_NUMBER: jsonw_u64(writer, key, edit->number); break;
    case JSON_EDIT_TEXT: jsonw_string(writer, key, edit->text); break;
    case JSON_EDIT_DROP: break;
    }
}

bool json_copy_value(JsonNode node, const JsonEdits *edits, JsonWriter *writer, const char *key,
                     Err *err) {
    if (!is_container(node)) return copy_scalar(node, writer, key, err);
    Level stack[JSON_DEPTH_MAX + 1];
    uint32_t depth = 0;
    stack[depth++] = (Level){node, 0};
    open_container(node, writer, key);
    while (depth > 0) {
        Level *top = &stack[depth - 1];
        if (top->next == json_count(top->node)) {
            close_container(top->node, writer);
            depth--;
            continue;
        }
        JsonNode item = json_at(top->node, top->next++);
        const char *name = json_kind(top->node) == JSON_OBJECT ? json_key(item) : NULL;
        const JsonEdit *edit = edit_of(edits, item);
        if (edit != NULL) {
            write_edit(edit, writer, name);
        } else if (!is_container(item)) {
            if (!copy_scalar(item, writer, name, err)) return false;
        } else if (depth > JSON_DEPTH_MAX) {
            return json_error(item, err, "nested deeper than %d", JSON_DEPTH_MAX);
        } else {
            open_container(item, writer, name);
            stack[depth++] = (Level){item, 0};
        }
    }
    return true;
}
