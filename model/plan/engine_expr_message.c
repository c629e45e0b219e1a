// Messages with conditions in braces.
//
// Invariant: what engine_expr_message_check accepts, engine_expr_message_add prints, unless a
// condition divides by zero or overflows.
#include <string.h>

#include "model/plan/engine_expr.h"

// The next condition in braces of a text.
typedef struct Placeholder {
    size_t text_length; // before the brace
    char condition[ENGINE_EXPR_BYTES_MAX + 1];
    const char *after;
} Placeholder;

// *out_found: there is one. Without one text_length is that of the rest.
static bool next_placeholder(const char *text, const char *at, Placeholder *out, bool *out_found,
                             Err *err) {
    size_t length = strcspn(at, "{}");
    out->text_length = length;
    *out_found = at[length] != '\0';
    if (!*out_found) return true;
    const char *start = at + length + 1;
    size_t inside = strcspn(start, "{}");
    unsigned column = (unsigned)(at - text + (ptrdiff_t)length) + 1;
    if (at[length] == '}') return err_set(err, "column %u: '}' without '{'", column);
    if (start[inside] != '}') return err_set(err, "column %u: '{' without '}'", column);
    if (inside > ENGINE_EXPR_BYTES_MAX)
        return err_set(err, "column %u: the condition is too long", column);
    memcpy(out->condition, start, inside);
    out->condition[inside] = '\0';
    out->after = start + inside + 1;
    return true;
}

// The first step alone without `values`.
static bool add_all(const char *text, const EngineScope *scope, const EngineValue *values,
                    Arena *arena, Text *out, Err *err) {
    Placeholder part;
    bool found;
    for (const char *at = text;; at = part.after) {
        EngineExpr expr;
        EngineValue value;
        uint32_t missing;
        if (!next_placeholder(text, at, &part, &found, err)) return false;
        if (values != NULL) text_add_bytes(out, at, part.text_length);
        if (!found) return true;
        if (!engine_expr_parse(part.condition, scope, arena, &expr, err))
            return err_prefix(err, "\"{%s}\"", part.condition);
        if (values == NULL) continue;
        if (!engine_expr_eval(&expr, scope, values, &value, &missing, err)) return false;
        engine_expr_value_add(&value, out);
    }
}

bool engine_expr_message_check(const char *text, const EngineScope *scope, Err *err) {
    Arena arena = {0};
    bool ok = add_all(text, scope, NULL, &arena, NULL, err);
    arena_free(&arena);
    return ok;
}

bool engine_expr_message_add(const char *text, const EngineScope *scope, const EngineValue *values,
                             Text *out, Err *err) {
    Arena arena = {0};
    bool ok = add_all(text, scope, values, &arena, out, err);
    arena_free(&arena);
    return ok;
}
