// Strings of a document that outlive it.
//
// Invariant: what is given out is the arena's, whatever becomes of the document.
#include "model/base/json.h"

bool json_text(JsonNode object, const char *key, Arena *arena, const char **out, Err *err) {
    const char *text;
    if (!json_string(object, key, &text, err)) return false;
    *out = arena_string(arena, text);
    return true;
}

bool json_optional_text(JsonNode object, const char *key, Arena *arena, const char **out,
                        Err *err) {
    if (json_has(object, key)) return json_text(object, key, arena, out, err);
    *out = "";
    return true;
}
