// Messages: formats one line, then makes it printable.
//
// Invariant: Err.text is always terminated, valid UTF-8 and free of control characters, so that a
// message that quotes a hostile file cannot move the cursor or forge a second line.
#include "model/base/err.h"

#include <assert.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "model/base/text.h"

static const char ellipsis[] = "...";

// Replaces what must not reach a terminal; a cut in the middle of a code point counts as broken.
static void clean(char *text) {
    size_t length = strlen(text);
    for (size_t i = 0; i < length;) {
        size_t width = text_code_point(text + i, length - i);
        unsigned char first = (unsigned char)text[i];
        bool control = first < 0x20 || first == 0x7f ||
                       (width == 2 && first == 0xc2 && (unsigned char)text[i + 1] < 0xa0);
        if (width == 0) {
            text[i++] = '?';
        } else if (control) {
            memset(text + i, '?', width);
            i += width;
        } else {
            i += width;
        }
    }
}

// Shortens a text that did not fit to whole code points and an ellipsis.
static void cut(char *text, size_t size) {
    size_t end = size - sizeof ellipsis;
    while (end > 0 && ((unsigned char)text[end] & 0xc0) == 0x80) end--;
    memcpy(text + end, ellipsis, sizeof ellipsis);
}

__attribute__((format(printf, 2, 0))) static void format_line(char *out, const char *format,
                                                              va_list args) {
    assert(strchr(format, '\n') == NULL);
    int wanted = vsnprintf(out, ERR_TEXT_MAX, format, args);
    assert(wanted >= 0);
    if (wanted >= ERR_TEXT_MAX) cut(out, ERR_TEXT_MAX);
    clean(out);
}

bool err_set(Err *err, const char *format, ...) {
    char line[ERR_TEXT_MAX]; // an argument may be the old text
    va_list args;
    va_start(args, format);
    format_line(line, format, args);
    va_end(args);
    memcpy(err->text, line, sizeof line);
    return false;
}

bool err_prefix(Err *err, const char *format, ...) {
    char prefix[ERR_TEXT_MAX];
    va_list args;
    va_start(args, format);
    format_line(prefix, format, args);
    va_end(args);
    return err_set(err, "%s: %s", prefix, err->text);
}

bool err_is_set(const Err *err) {
    return err->text[0] != '\0';
}
