// Patterns that name parts of a machine: "tray[*].gpu[i]", and the parts that a second pattern
// makes of the letters: "tray[(i+1)%18].cpu[i/2]". Grammar in topology.h.
#ifndef MODEL_MACHINE_PATTERN_H
#define MODEL_MACHINE_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/hash.h"

#define PATTERN_SEGMENTS_MAX 8
#define PATTERN_RANGES_MAX   8
#define PATTERN_STEPS_MAX    16
#define PATTERN_NAME_MAX     48 // bytes with the terminator
#define PATTERN_INDEX_MAX    64 // characters between the brackets
#define PATTERN_LETTERS      26 // 'a' to 'z'

typedef enum PatternSide { PATTERN_FROM, PATTERN_TO } PatternSide;

// Steps of an expression in postfix order.
typedef enum PatternOp {
    PATTERN_CONST,
    PATTERN_LETTER,
    PATTERN_ADD,
    PATTERN_SUB,
    PATTERN_MUL,
    PATTERN_DIV,
    PATTERN_MOD
} PatternOp;
typedef struct PatternStep {
    PatternOp op;
    uint32_t value; // of a constant; of a letter its number, 'a' is 0
} PatternStep;

// Both ends belong to the range.
typedef struct PatternRange {
    uint32_t first, last;
} PatternRange;

// PATTERN_NONE: no brackets, which stands for the only part. In a `from` pattern an index may bind
// a letter and is never an expression.
typedef enum PatternKind { PATTERN_NONE, PATTERN_ALL, PATTERN_SET, PATTERN_EXPRESSION } PatternKind;
typedef struct PatternIndex {
    PatternKind kind;
    char letter; // bound here; 0 for none
    uint32_t range_count, step_count;
    PatternRange ranges[PATTERN_RANGES_MAX]; // ascending, disjoint
    PatternStep steps[PATTERN_STEPS_MAX];
} PatternIndex;

typedef struct PatternSegment {
    char name[PATTERN_NAME_MAX];
    PatternIndex index;
} PatternSegment;

typedef struct Pattern {
    uint32_t count;
    PatternSegment segments[PATTERN_SEGMENTS_MAX];
} Pattern;

// Messages name the column in the text, starting at 1.
bool pattern_parse(const char *text, PatternSide side, Pattern *out, Err *err);

// Value of the steps for the given letter values. Division rounds down, the remainder is never
// negative, so that (i-1)%8 is a ring. False on division by zero and beyond 2^40.
bool pattern_evaluate(const PatternStep *steps, uint32_t count, const uint32_t *letters,
                      int64_t *out);

// Whether a number is in the ranges of an index.
bool pattern_has(const PatternIndex *index, int64_t number);

// Of the meaning of a pattern as written: blanks do not count.
Digest pattern_hash(Digest digest, const char *text);

// True for names that a part or template may have: a letter, then letters, digits, '_' and '-'.
bool pattern_is_name(const char *name);

#endif
