// The steps of a condition, shared by its reader and its evaluation.
#ifndef MODEL_PLAN_ENGINE_EXPR_CODE_H
#define MODEL_PLAN_ENGINE_EXPR_CODE_H

#include <stdint.h>

#include "model/plan/engine_expr.h"

#define ENGINE_PRECEDENCE_COMPARE 4

// id, text, precedence (higher binds tighter), what it takes, what it gives. First those that no
// text stands for, then prefixes, infixes and functions.
#define ENGINE_CODE_LIST(X)                                                                        \
    X(VALUE, "", 0, NONE, UNKNOWN)                                                                 \
    X(NAME, "", 0, NONE, UNKNOWN)                                                                  \
    X(JUMP_FALSE, "", 0, NONE, UNKNOWN)                                                            \
    X(JUMP_TRUE, "", 0, NONE, UNKNOWN)                                                             \
    X(NOT, "not", 3, ONE_BOOLEAN, BOOLEAN)                                                         \
    X(NEGATE, "-", 7, ONE_INTEGER, INTEGER)                                                        \
    X(OR, "or", 1, BOOLEANS, BOOLEAN)                                                              \
    X(AND, "and", 2, BOOLEANS, BOOLEAN)                                                            \
    X(EQUAL, "==", 4, SAME, BOOLEAN)                                                               \
    X(DIFFERENT, "!=", 4, SAME, BOOLEAN)                                                           \
    X(BELOW, "<", 4, INTEGERS, BOOLEAN)                                                            \
    X(MOST, "<=", 4, INTEGERS, BOOLEAN)                                                            \
    X(ABOVE, ">", 4, INTEGERS, BOOLEAN)                                                            \
    X(LEAST, ">=", 4, INTEGERS, BOOLEAN)                                                           \
    X(IN, "in", 4, MEMBER, BOOLEAN)                                                                \
    X(ADD, "+", 5, INTEGERS, INTEGER)                                                              \
    X(SUBTRACT, "-", 5, INTEGERS, INTEGER)                                                         \
    X(MULTIPLY, "*", 6, INTEGERS, INTEGER)                                                         \
    X(DIVIDE, "/", 6, INTEGERS, INTEGER)                                                           \
    X(REMAINDER, "%", 6, INTEGERS, INTEGER)                                                        \
    X(MIN, "min", 0, INTEGERS, INTEGER)                                                            \
    X(MAX, "max", 0, INTEGERS, INTEGER)                                                            \
    X(CEIL_DIV, "ceil_div", 0, INTEGERS, INTEGER)                                                  \
    X(DIVIDES, "divides", 0, INTEGERS, BOOLEAN)
typedef enum EngineCode {
#define X(id, text, precedence, takes, gives) ENGINE_CODE_##id,
    ENGINE_CODE_LIST(X)
#undef X
        ENGINE_CODE_COUNT
} EngineCode;
#define ENGINE_CODE_FIRST_INFIX    ENGINE_CODE_OR
#define ENGINE_CODE_FIRST_FUNCTION ENGINE_CODE_MIN

// ONE_*: of the value on top; the others: of the two on top.
typedef enum EngineTakes {
    ENGINE_TAKES_NONE,
    ENGINE_TAKES_ONE_BOOLEAN,
    ENGINE_TAKES_ONE_INTEGER,
    ENGINE_TAKES_BOOLEANS,
    ENGINE_TAKES_INTEGERS,
    ENGINE_TAKES_SAME,
    ENGINE_TAKES_MEMBER
} EngineTakes;

typedef struct EngineOperator {
    const char *text;
    uint32_t precedence;
    EngineTakes takes;
    EngineType gives;
} EngineOperator;

#endif
