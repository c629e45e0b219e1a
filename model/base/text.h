// A growing string, and small string helpers that need no locale.
#ifndef MODEL_BASE_TEXT_H
#define MODEL_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A zeroed Text is an empty string; `data` is NULL until something is added, then terminated.
typedef struct Text {
    char *data;
    size_t length;
    size_t capacity;
} Text;

void text_add(Text *text, const char *string);
void text_add_bytes(Text *text, const char *bytes, size_t count);
void text_add_char(Text *text, char c);
void text_addf(Text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

// A double that reads back to the same bits: the shortest of %.15g, %.16g, %.17g that does, always
// with '.', whatever the locale. Not finite values are a programming error.
void text_add_double(Text *text, double value);

// The string ("" when empty); borrowed, valid until the next change.
const char *text_string(const Text *text);
void text_free(Text *text);

// True when the bytes are well-formed UTF-8 (no surrogates, no overlong forms).
bool text_is_utf8(const char *bytes, size_t count);

// Bytes of the well-formed code point at the start of `bytes`; 0 when there is none.
size_t text_code_point(const char *bytes, size_t count);

// Bytes of the code point at the start of `bytes` when it would leave the line that it is printed
// on: controls of ASCII and Latin-1, line and paragraph separators, changes of direction. 0
// otherwise.
size_t text_control(const char *bytes, size_t count);

// Bytes of the string before its first such code point: its length when it has none.
size_t text_plain(const char *string);

// The string in double quotes for a message, cut after 48 code points with "..."; `buffer` has at
// least TEXT_QUOTE_MAX bytes. Returns buffer.
#define TEXT_QUOTE_MAX 208
char *text_quote(const char *string, char *buffer);

// Columns that a UTF-8 string takes when printed (one per code point).
size_t text_columns(const char *string);

// Breaks the string at its blanks into lines of at most `columns` columns, each behind `indent`
// blanks and ended by a newline; a longer word has a line of its own.
void text_add_wrapped(Text *text, const char *string, size_t indent, size_t columns);

// Index of the candidate nearest to `word` by edit distance, or UINT32_MAX when none is near
// enough to be a likely misspelling. For "did you mean".
uint32_t text_nearest(const char *word, const char *const *candidates, uint32_t count);

// The order of two strings by their bytes, for qsort and bsearch over arrays of `const char *`.
int text_compare(const void *left, const void *right);

// strtod and decimal integers without a locale. The whole string must be used. Return false on bad
// syntax, overflow, or a value that is not finite.
bool text_parse_u64(const char *string, uint64_t *out);
bool text_parse_double(const char *string, double *out);

#endif
