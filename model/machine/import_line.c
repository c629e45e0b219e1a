// Lines and words of dumps, as people paste them: with escapes, carriage returns and tabs.
//
// Invariant: what comes out has no control characters but tabs, and no more bytes than went in.
#include "model/machine/import_line.h"

#include <string.h>

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

// Bytes of "[4m", "[0m", "[1;32m" and such; 0 for anything else.
static size_t style_length(const char *text, size_t count) {
    size_t i = 1;
    if (count < 3 || text[0] != '[') return 0;
    while (i < count && (is_digit(text[i]) || text[i] == ';')) i++;
    return i > 1 && i < count && text[i] == 'm' ? i + 1 : 0;
}

// Bytes of a sequence that begins with ESC: parameters, then a letter.
static size_t escape_length(const char *text, size_t count) {
    size_t i = 1;
    if (count < 2 || text[1] != '[') return 1;
    i = 2;
    while (i < count && text[i] >= 0x20 && text[i] < 0x40) i++;
    return i < count ? i + 1 : i;
}

static char *clean(const char *text, size_t count, Arena *arena) {
    static const char replacement[] = "\xEF\xBF\xBD"; // U+FFFD, what a lost ESC became
    char *out = arena_alloc(arena, count + 1, 1);
    size_t used = 0;
    for (size_t i = 0; i < count;) {
        size_t mark = count - i >= 3 && memcmp(text + i, replacement, 3) == 0 ? 3 : 0;
        size_t style = style_length(text + i + mark, count - i - mark);
        if (style > 0) {
            i += mark + style;
        } else if (text[i] == '\x1b') {
            i += escape_length(text + i, count - i);
        } else {
            bool is_control = (unsigned char)text[i] < 0x20 || text[i] == 0x7f;
            out[used++] = is_control && text[i] != '\t' ? ' ' : text[i];
            i++;
        }
    }
    return out;
}

void import_line_split(const char *bytes, size_t count, Arena *arena, ImportLines *out) {
    char **lines = NULL;
    uint32_t used = 0, capacity = 0;
    for (size_t start = 0; start < count && used < IMPORT_LINES_MAX;) {
        const char *end = memchr(bytes + start, '\n', count - start);
        size_t length = end == NULL ? count - start : (size_t)(end - bytes) - start;
        lines = mem_grow(lines, &capacity, used + 1, sizeof *lines);
        lines[used++] = clean(bytes + start, length, arena);
        start += length + 1;
    }
    out->lines = arena_copy(arena, lines, used, sizeof *lines);
    out->count = used;
    mem_free(lines);
}

const char *import_line_skip(const char *text) {
    return text + strspn(text, " \t");
}

char *import_line_word(const char **text, Arena *arena) {
    const char *start = import_line_skip(*text);
    size_t length = strcspn(start, " \t");
    *text = start + length;
    if (length == 0) return NULL;
    char *word = arena_alloc(arena, length + 1, 1);
    memcpy(word, start, length);
    return word;
}

bool import_line_number(const char **text, uint32_t most, uint32_t *out) {
    uint64_t value = 0;
    const char *at = *text;
    while (is_digit(*at) && value <= most) value = value * 10 + (uint64_t)(*at++ - '0');
    if (at == *text || value > most || is_digit(*at)) return false;
    *text = at;
    *out = (uint32_t)value;
    return true;
}

bool import_line_decimal(const char **text, uint64_t *out_millionths) {
    uint32_t whole, digit = 100000;
    const char *at = *text;
    if (!import_line_number(&at, 1000000, &whole)) return false;
    uint64_t value = (uint64_t)whole * 1000000;
    if (at[0] == '.' && is_digit(at[1])) {
        for (at++; is_digit(*at); at++) {
            value += (uint64_t)(*at - '0') * digit;
            digit /= 10;
        }
    }
    *text = at;
    *out_millionths = value;
    return true;
}

bool import_line_take(const char **text, const char *word) {
    size_t length = strlen(word);
    if (strncmp(*text, word, length) != 0) return false;
    *text += length;
    return true;
}

bool import_line_take_any_case(const char **text, const char *word) {
    size_t i = 0;
    while (word[i] != '\0' && lower((*text)[i]) == lower(word[i])) i++;
    if (word[i] != '\0') return false;
    *text += i;
    return true;
}

char *import_line_trim(const char *from, const char *to, Arena *arena) {
    while (from < to && (*from == ' ' || *from == '\t')) from++;
    while (to > from && (to[-1] == ' ' || to[-1] == '\t')) to--;
    char *out = arena_alloc(arena, (size_t)(to - from) + 1, 1);
    memcpy(out, from, (size_t)(to - from));
    return out;
}
