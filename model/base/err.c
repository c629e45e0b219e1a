// Messages: formats one line, then makes it printable.
//
// Invariant: Err.text is always terminated, valid UTF-8 and free of control characters, so that a
// message that quotes a hostile file cannot move the cursor or forge a second line.
#include "model/base/err.h"

#include <assert.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "model/base/mem.h"
#include "model/base/text.h"

#define HEAD_MAX 640 // bytes kept of the start of a text that is too long

static const char ellipsis[] = "...";

// Replaces what must not reach a terminal; a cut in the middle of a code point counts as broken.
static void clean(char *text) {
    size_t length = strlen(text);
    for (size_t i = 0; i < length;) {
        size_t width = text_code_point(text + i, length - i);
        size_t control = text_control(text + i, length - i);
        if (width == 0) {
            text[i++] = '?';
        } else {
            memset(text + i, '?', control);
            i += width;
        }
    }
}

static bool is_continuation(char byte) {
    return ((unsigned char)byte & 0xc0) == 0x80;
}

// Shortens a text that did not fit: whole code points of both ends, an ellipsis between them. A
// message begins with the place and ends with the reason; what is long is what it quotes.
static void cut(char *out, const char *whole, size_t length) {
    size_t head = HEAD_MAX, tail = length - (ERR_TEXT_MAX - sizeof ellipsis - HEAD_MAX);
    while (head > 0 && is_continuation(whole[head])) head--;
    while (tail < length && is_continuation(whole[tail])) tail++;
    memcpy(out, whole, head);
    memcpy(out + head, ellipsis, sizeof ellipsis - 1);
    memcpy(out + head + sizeof ellipsis - 1, whole + tail, length - tail + 1);
}

__attribute__((format(printf, 2, 0))) static void format_long(char *out, const char *format,
                                                              va_list args, size_t length) {
    char *whole = mem_alloc(length + 1, 1);
    vsnprintf(whole, length + 1, format, args);
    cut(out, whole, length);
    mem_free(whole);
}

__attribute__((format(printf, 2, 0))) static void format_line(char *out, const char *format,
                                                              va_list args) {
    assert(strchr(format, '\n') == NULL);
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(out, ERR_TEXT_MAX, format, args);
    assert(length >= 0);
    if (length >= ERR_TEXT_MAX) format_long(out, format, again, (size_t)length);
    va_end(again);
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
