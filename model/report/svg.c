// What all charts share for their callers: escaped text. The charts are svg_xy.c, svg_heat.c and
// svg_bars.c, their elements svg_draw.c, their axes svg_axis.c.
//
// Invariant: whatever the bytes of a string, what is written is text of XML 1.0 and of HTML, and
// can neither end the element or attribute that it stands in nor change the direction of reading.
#include "model/report/svg.h"

#include <string.h>

#define REPLACEMENT "\xEF\xBF\xBD" // U+FFFD

static const char *entity(char c) {
    switch (c) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\'': return "&#39;"; // HTML 4 has no name for it
    }
    return NULL;
}

// U+FFFE and U+FFFF, the two code points of UTF-8 that XML leaves out besides controls.
static bool is_no_character(const char *bytes, size_t count) {
    return count == 3 && memcmp(bytes, "\xEF\xBF", 2) == 0 && (bytes[2] & 0xFE) == 0xBE;
}

// Writes the code point at the start; returns its bytes, at least 1.
static size_t add_code_point(Text *out, const char *bytes, size_t count) {
    size_t length = text_code_point(bytes, count);
    bool bad = length == 0 || is_no_character(bytes, length) ||
               (*bytes != '\n' && text_control(bytes, count) > 0);
    if (bad)
        text_add(out, REPLACEMENT);
    else if (entity(*bytes) != NULL)
        text_add(out, entity(*bytes));
    else
        text_add_bytes(out, bytes, length);
    return length == 0 ? 1 : length;
}

void svg_add_escaped(Text *out, const char *string) {
    size_t count = strlen(string);
    while (count > 0) {
        size_t used = add_code_point(out, string, count);
        string += used;
        count -= used;
    }
}
