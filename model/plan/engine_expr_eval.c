// Evaluates a condition on a stack of values.
//
// Invariant: a value that depends on an unknown one is unknown, except where the other side of
// `and` or `or` decides alone (Kleene's logic of three values). No integer leaves 64 bits.
#include <assert.h>
#include <string.h>

#include "model/plan/engine_expr.h"
#include "model/plan/engine_expr_code.h"

static EngineValue integer_value(int64_t value) {
    return (EngineValue){.type = ENGINE_INTEGER, .integer = value};
}

static EngineValue boolean_value(bool value) {
    return (EngineValue){.type = ENGINE_BOOLEAN, .integer = value};
}

static bool is_false(EngineValue value) {
    return value.type == ENGINE_BOOLEAN && value.integer == 0;
}

static bool is_true(EngineValue value) {
    return value.type == ENGINE_BOOLEAN && value.integer != 0;
}

static EngineValue logic(EngineCode code, EngineValue a, EngineValue b) {
    if (code == ENGINE_CODE_AND && (is_false(a) || is_false(b))) return boolean_value(false);
    if (code == ENGINE_CODE_OR && (is_true(a) || is_true(b))) return boolean_value(true);
    if (a.type == ENGINE_UNKNOWN || b.type == ENGINE_UNKNOWN) return (EngineValue){0};
    return boolean_value(code == ENGINE_CODE_AND);
}

static bool values_equal(EngineValue a, EngineValue b) {
    return a.type == ENGINE_STRING ? strcmp(a.text, b.text) == 0 : a.integer == b.integer;
}

static bool is_member(EngineValue value, EngineValue list) {
    for (uint32_t i = 0; i < list.text_count; i++)
        if (strcmp(value.text, list.texts[i]) == 0) return true;
    return false;
}

static bool add(int64_t a, int64_t b, int64_t *out, Err *err) {
    if (b >= 0 ? a > INT64_MAX - b : a < INT64_MIN - b)
        return err_set(err, "%lld + %lld leaves 64 bits", (long long)a, (long long)b);
    *out = a + b;
    return true;
}

static bool subtract(int64_t a, int64_t b, int64_t *out, Err *err) {
    if (b >= 0 ? a < INT64_MIN + b : a > INT64_MAX + b)
        return err_set(err, "%lld - %lld leaves 64 bits", (long long)a, (long long)b);
    *out = a - b;
    return true;
}

static bool multiply(int64_t a, int64_t b, int64_t *out, Err *err) {
    uint64_t u = a < 0 ? 0 - (uint64_t)a : (uint64_t)a, v = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
    bool negative = (a < 0) != (b < 0);
    uint64_t limit = (uint64_t)INT64_MAX + negative;
    if (v != 0 && u > limit / v)
        return err_set(err, "%lld * %lld leaves 64 bits", (long long)a, (long long)b);
    uint64_t product = u * v;
    *out = !negative ? (int64_t)product : product == 0 ? 0 : -(int64_t)(product - 1) - 1;
    return true;
}

// Toward minus infinity; the remainder has the sign of b.
static bool divide(int64_t a, int64_t b, int64_t *quotient, int64_t *remainder, Err *err) {
    if (b == 0) return err_set(err, "division of %lld by zero", (long long)a);
    if (a == INT64_MIN && b == -1) return err_set(err, "%lld / -1 leaves 64 bits", (long long)a);
    *quotient = a / b, *remainder = a % b;
    if (*remainder != 0 && (*remainder < 0) != (b < 0)) {
        *quotient -= 1;
        *remainder += b;
    }
    return true;
}

static bool arithmetic(EngineCode code, int64_t a, int64_t b, EngineValue *out, Err *err) {
    int64_t result = 0, rest = 0;
    bool ok = true;
    switch (code) {
    case ENGINE_CODE_ADD: ok = add(a, b, &result, err); break;
    case ENGINE_CODE_SUBTRACT: ok = subtract(a, b, &result, err); break;
    case ENGINE_CODE_MULTIPLY: ok = multiply(a, b, &result, err); break;
    case ENGINE_CODE_DIVIDE: ok = divide(a, b, &result, &rest, err); break;
    case ENGINE_CODE_REMAINDER: ok = divide(a, b, &rest, &result, err); break;
    case ENGINE_CODE_CEIL_DIV:
        ok = divide(a, b, &result, &rest, err);
        result += rest != 0;
        break;
    case ENGINE_CODE_MIN: result = a < b ? a : b; break;
    case ENGINE_CODE_MAX: result = a > b ? a : b; break;
    case ENGINE_CODE_DIVIDES:
        if (!divide(b, a, &result, &rest, err)) return false;
        *out = boolean_value(rest == 0);
        return true;
    case ENGINE_CODE_BELOW: *out = boolean_value(a < b); return true;
    case ENGINE_CODE_MOST: *out = boolean_value(a <= b); return true;
    case ENGINE_CODE_ABOVE: *out = boolean_value(a > b); return true;
    case ENGINE_CODE_LEAST: *out = boolean_value(a >= b); return true;
    case ENGINE_CODE_VALUE:
    case ENGINE_CODE_NAME:
    case ENGINE_CODE_JUMP_FALSE:
    case ENGINE_CODE_JUMP_TRUE:
    case ENGINE_CODE_NOT:
    case ENGINE_CODE_NEGATE:
    case ENGINE_CODE_OR:
    case ENGINE_CODE_AND:
    case ENGINE_CODE_EQUAL:
    case ENGINE_CODE_DIFFERENT:
    case ENGINE_CODE_IN:
    case ENGINE_CODE_COUNT: assert(0); break;
    }
    *out = integer_value(result);
    return ok;
}

static bool apply(EngineCode code, EngineValue a, EngineValue b, EngineValue *out, Err *err) {
    if (code == ENGINE_CODE_AND || code == ENGINE_CODE_OR) {
        *out = logic(code, a, b);
        return true;
    }
    *out = (EngineValue){0};
    if (a.type == ENGINE_UNKNOWN || b.type == ENGINE_UNKNOWN) return true;
    if (code == ENGINE_CODE_NOT)
        *out = boolean_value(b.integer == 0);
    else if (code == ENGINE_CODE_NEGATE)
        return arithmetic(ENGINE_CODE_SUBTRACT, 0, b.integer, out, err);
    else if (code == ENGINE_CODE_EQUAL || code == ENGINE_CODE_DIFFERENT)
        *out = boolean_value(values_equal(a, b) == (code == ENGINE_CODE_EQUAL));
    else if (code == ENGINE_CODE_IN)
        *out = boolean_value(is_member(a, b));
    else
        return arithmetic(code, a.integer, b.integer, out, err);
    return true;
}

bool engine_expr_eval(const EngineExpr *expr, const EngineScope *scope, const EngineValue *values,
                      EngineValue *out, uint32_t *out_missing, Err *err) {
    EngineValue stack[ENGINE_EXPR_DEPTH_MAX];
    uint32_t depth = 0;
    *out_missing = UINT32_MAX;
    for (uint32_t i = 0; i < expr->count; i++) {
        const EngineStep *step = &expr->steps[i];
        EngineCode code = (EngineCode)step->code;
        if (code == ENGINE_CODE_VALUE || code == ENGINE_CODE_NAME) {
            assert(depth < ENGINE_EXPR_DEPTH_MAX);
            assert(code == ENGINE_CODE_VALUE || step->index < scope->count);
            stack[depth] = code == ENGINE_CODE_VALUE ? step->value : values[step->index];
            if (stack[depth].type == ENGINE_UNKNOWN && *out_missing == UINT32_MAX)
                *out_missing = step->index;
            depth++;
            continue;
        }
        assert(depth > 0);
        EngineValue top = stack[depth - 1];
        if (code == ENGINE_CODE_JUMP_FALSE || code == ENGINE_CODE_JUMP_TRUE) {
            if (code == ENGINE_CODE_JUMP_FALSE ? is_false(top) : is_true(top)) i = step->index - 1;
            continue;
        }
        bool one = code == ENGINE_CODE_NOT || code == ENGINE_CODE_NEGATE;
        if (!one) depth--;
        if (!apply(code, one ? top : stack[depth - 1], top, &stack[depth - 1], err)) return false;
    }
    assert(depth == 1);
    *out = stack[0];
    return true;
}

void engine_expr_value_add(const EngineValue *value, Text *out) {
    switch (value->type) {
    case ENGINE_UNKNOWN: text_add(out, "unknown"); break;
    case ENGINE_INTEGER: text_addf(out, "%lld", (long long)value->integer); break;
    case ENGINE_BOOLEAN: text_add(out, value->integer != 0 ? "true" : "false"); break;
    case ENGINE_STRING: text_add(out, value->text); break;
    case ENGINE_TEXTS:
        for (uint32_t i = 0; i < value->text_count; i++) {
            if (i > 0) text_add(out, ", ");
            text_add(out, value->texts[i]);
        }
        break;
    }
}
