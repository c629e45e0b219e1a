// Conditions over named values: the little language in which the rules of an engine are written.
//
//   or  and  not  ==  !=  <  <=  >  >=  in  +  -  *  /  %  ( )  123  'text'  true  false  NAME
//   min(a, b)  max(a, b)  ceil_div(a, b)  divides(a, b)    "a divides b": b % a == 0
//
// Integers are of 64 bits with a sign; / and % round toward minus infinity. `in` asks whether a
// text is in a list, `and` and `or` do not look at their right side when the left one decides.
// Comparisons do not chain. Types are checked when a condition is read, and a name that is not
// known is refused with the nearest one that is. A value may be unknown when a condition is asked;
// a result that depends on it is unknown too.
#ifndef MODEL_PLAN_ENGINE_EXPR_H
#define MODEL_PLAN_ENGINE_EXPR_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/text.h"

#define ENGINE_EXPR_BYTES_MAX 1024 // of the text of one condition
#define ENGINE_EXPR_STEPS_MAX 256
#define ENGINE_EXPR_DEPTH_MAX 32 // values and operators that wait at once
#define ENGINE_NAME_MAX       64 // bytes of a name

typedef enum EngineType {
    ENGINE_UNKNOWN,
    ENGINE_INTEGER,
    ENGINE_BOOLEAN,
    ENGINE_STRING,
    ENGINE_TEXTS // a list of texts
} EngineType;

// `boolean` is 0 or 1 in `integer`. Texts are borrowed.
typedef struct EngineValue {
    EngineType type;
    int64_t integer;
    const char *text;
    const char *const *texts;
    uint32_t text_count;
} EngineValue;

// Names with their types, sorted by nothing: the position is what a condition keeps. `needs` says
// what to give so that an unknown value becomes known ("--topo").
typedef struct EngineName {
    const char *name, *needs;
    EngineType type;
} EngineName;

typedef struct EngineScope {
    const EngineName *names;
    uint32_t count;
} EngineScope;

typedef struct EngineStep {
    uint8_t code;   // of engine_expr.c
    uint32_t index; // of a name, or where a jump goes
    EngineValue value;
} EngineStep;

typedef struct EngineExpr {
    EngineStep *steps; // the arena's
    uint32_t count;
    EngineType type;
} EngineExpr;

// Reads a condition. Messages begin with the column: "column 7: ...".
bool engine_expr_parse(const char *text, const EngineScope *scope, Arena *arena, EngineExpr *out,
                       Err *err);
// `values` are those of the scope, in its order. An unknown result has the name that it lacked in
// *out_missing. Fails on division by zero and overflow.
bool engine_expr_eval(const EngineExpr *expr, const EngineScope *scope, const EngineValue *values,
                      EngineValue *out, uint32_t *out_missing, Err *err);

// "8", "true", "fp8", "a, b".
void engine_expr_value_add(const EngineValue *value, Text *out);

// A message is a text in which conditions stand in braces, such as "tp {tp} of {heads / 2} heads":
// they are replaced by their values, "unknown" where they are that. Braces cannot be written.
// Messages of errors begin with the column. engine_expr_message_check reads all conditions.
bool engine_expr_message_check(const char *text, const EngineScope *scope, Err *err);
bool engine_expr_message_add(const char *text, const EngineScope *scope, const EngineValue *values,
                             Text *out, Err *err);

#endif
