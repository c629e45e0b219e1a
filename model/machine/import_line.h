// A file as lines, and their words.
#ifndef MODEL_MACHINE_IMPORT_LINE_H
#define MODEL_MACHINE_IMPORT_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/base/mem.h"

#define IMPORT_LINES_MAX 4000000

// Line i of the file is lines[i], without its end, without escape sequences of terminals (also
// those that lost their ESC: "[4m") and with every other control character but tabs as a blank.
typedef struct ImportLines {
    char **lines;
    uint32_t count;
} ImportLines;

void import_line_split(const char *bytes, size_t count, Arena *arena, ImportLines *out);

// The next word at *text (blanks and tabs separate), copied to the arena; NULL at the end of the
// line. Moves *text behind it.
char *import_line_word(const char **text, Arena *arena);
// Behind blanks and tabs.
const char *import_line_skip(const char *text);
// Decimal digits at *text as a number of at most `most`; false when there is none. Moves *text.
bool import_line_number(const char **text, uint32_t most, uint32_t *out);
// A decimal number such as "25.781" in millionths, at most 10^12 of them; moves *text behind it.
bool import_line_decimal(const char **text, uint64_t *out_millionths);
// True and moves *text behind `word` when it begins with it.
bool import_line_take(const char **text, const char *word);
// The same, whatever the case of ASCII letters.
bool import_line_take_any_case(const char **text, const char *word);
// Copies without blanks at both ends.
char *import_line_trim(const char *from, const char *to, Arena *arena);

#endif
