// Patterns over module names, as quantisation configs write them.
//
// "re:..." is a regular expression matched from the start of the name, of which a small part is
// known: characters, `.`, `\.`, `\d`, [sets], (groups|of|plain|words), and `*`, `+`, `?` after any
// of these; `^` at the start and `$` at the end. Other text is a glob in which `*` stands for any
// characters; it names a module and all below it, so that it may also end before a dot.
#ifndef MODEL_MOE_MATCH_H
#define MODEL_MOE_MATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"

#define MATCH_PATTERN_MAX 256 // bytes of a pattern
#define MATCH_NAME_MAX    512 // bytes of a name, longer ones never match

typedef enum MatchKind { MATCH_SET, MATCH_WORDS } MatchKind;
typedef enum MatchEnd { MATCH_ANYWHERE, MATCH_AT_END, MATCH_AT_DOT } MatchEnd; // DOT: or at END
typedef enum MatchTimes {
    MATCH_ONCE,
    MATCH_OPTIONAL,
    MATCH_ANY_TIMES,
    MATCH_AT_LEAST_ONCE
} MatchTimes;

// One item: a set of bytes, or alternatives joined by '|'.
typedef struct MatchItem {
    MatchKind kind;
    MatchTimes times;
    uint8_t set[32];
    const char *words;
} MatchItem;

typedef struct Match {
    MatchItem *items;
    uint32_t count;
    MatchEnd end;    // of the name, that a match must reach
    bool has_digits; // can tell layer numbers apart
} Match;

// Compiles one pattern; memory is the arena's. The message names what is not supported.
bool match_compile(const char *pattern, Arena *arena, Match *out, Err *err);
bool match_test(const Match *match, const char *name);

// A list of names, each with a value, looked up together. An entry is an expression, a glob, or a
// name; names also stand for all below them, and names of one word for any part of a path ("gate").
// What wraps a text model ("model.", "language_model.") may differ between entry and module.
typedef struct MatchEntry {
    const char *text; // as written
    uint32_t value;
    bool is_used; // by some module, or says what an earlier entry says
} MatchEntry;

// NAME stands for the module and all below; HEAD ("...*") for all that starts so; WORD for a part
// of a path.
typedef enum MatchLiteralKind { MATCH_NAME, MATCH_HEAD, MATCH_WORD } MatchLiteralKind;
typedef struct MatchLiteral {
    const char *text; // without what wraps a text model
    uint32_t length, entry;
    MatchLiteralKind kind;
} MatchLiteral;

// A zeroed MatchSet is empty; its memory is an arena's.
typedef struct MatchSet {
    MatchEntry *entries;
    uint32_t entry_count, entry_capacity;
    MatchLiteral *names, *words; // sorted by match_set_finish
    uint32_t name_count, name_capacity, word_count, word_capacity;
    Match *patterns;
    uint32_t *pattern_entries;
    uint32_t pattern_count;
    uint64_t pattern_items; // of all together: what a look-up costs
    bool has_digits;        // can tell layer numbers apart
} MatchSet;

// How a set names a module.
typedef enum MatchHow { MATCH_NOT, MATCH_BY_PATTERN, MATCH_BY_PART, MATCH_EXACTLY } MatchHow;

bool match_set_add(MatchSet *set, const char *text, uint32_t value, Arena *arena, Err *err);
// After the last entry, before the first look-up; refuses a name that has two values.
bool match_set_finish(MatchSet *set, Err *err);
// The value of the longest name that fits, or else of the first pattern; marks all that fit.
MatchHow match_set_find(MatchSet *set, const char *module, uint32_t *value);
// The first entry that no module used, and how many; NULL for none.
const char *match_set_unused(const MatchSet *set, uint32_t *count);

#endif
