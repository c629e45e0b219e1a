// Patterns over module names, as quantisation configs write them.
//
// "re:..." is a regular expression matched from the start of the name, of which a small part is
// known: characters, `.`, `\.`, `\d`, [sets], (groups|of|plain|words), and `*`, `+`, `?` after any
// of these; `^` at the start and `$` at the end. Other text is a glob in which `*` stands for any
// characters, matched as a whole.
#ifndef MODEL_MOE_MATCH_H
#define MODEL_MOE_MATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"

#define MATCH_PATTERN_MAX 256 // bytes of a pattern
#define MATCH_NAME_MAX    512 // bytes of a name, longer ones never match

typedef enum MatchKind { MATCH_SET, MATCH_WORDS } MatchKind;
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
    bool to_end;     // must reach the end of the name
    bool has_digits; // can tell layer numbers apart
} Match;

// Compiles one pattern; memory is the arena's. The message names what is not supported.
bool match_compile(const char *pattern, Arena *arena, Match *out, Err *err);
bool match_test(const Match *match, const char *name);

#endif
