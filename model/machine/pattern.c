// Reads patterns into fixed-size values; expressions become postfix steps by the shunting-yard
// method (E. W. Dijkstra, MR 35, Mathematisch Centrum, 1961), so that nesting costs no recursion.
//
// Invariant: every stack and array below has a bound that is checked before it grows; a Pattern
// that was returned has ascending, disjoint ranges and steps that leave exactly one value.
#include "model/machine/pattern.h"

#include <string.h>

#define NUMBER_MAX 1000000            // no machine has more parts of one name (TOPOLOGY_PARTS_MAX)
#define VALUE_MAX  (INT64_C(1) << 40) // products of two numbers fit

typedef struct Reader {
    const char *text; // whole pattern, for messages
    const char *at;
    PatternSide side;
    Err *err;
} Reader;

static bool fail(const Reader *reader, const char *what) {
    return err_set(reader->err, "pattern \"%s\", column %u: %s", reader->text,
                   (unsigned)(reader->at - reader->text) + 1, what);
}

static bool is_lower(char c) {
    return c >= 'a' && c <= 'z';
}

static bool is_alpha(char c) {
    return is_lower(c) || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_name_char(char c) {
    return is_alpha(c) || is_digit(c) || c == '_' || c == '-';
}

static void skip_blanks(Reader *reader) {
    while (*reader->at == ' ') reader->at++;
}

bool pattern_is_name(const char *name) {
    size_t length = strlen(name);
    if (length == 0 || length >= PATTERN_NAME_MAX || !is_alpha(name[0])) return false;
    for (size_t i = 0; i < length; i++) {
        if (!is_name_char(name[i])) return false;
    }
    return true;
}

static bool read_number(Reader *reader, uint32_t *out) {
    if (!is_digit(*reader->at)) return fail(reader, "expected a number");
    uint32_t value = 0;
    const char *start = reader->at;
    while (is_digit(*reader->at)) {
        value = value * 10 + (uint32_t)(*reader->at++ - '0');
        if (value > NUMBER_MAX) {
            reader->at = start;
            return fail(reader, "number above 1000000");
        }
    }
    *out = value;
    return true;
}

static bool add_range(Reader *reader, PatternIndex *index, PatternRange range) {
    if (range.last < range.first) return fail(reader, "a range must ascend");
    if (index->range_count == PATTERN_RANGES_MAX) return fail(reader, "more than 8 ranges");
    if (index->range_count > 0 && range.first <= index->ranges[index->range_count - 1].last) {
        return fail(reader, "a list must ascend and name each number once");
    }
    index->ranges[index->range_count++] = range;
    return true;
}

// 0  0-3  0,3  0-3,8
static bool read_set(Reader *reader, PatternIndex *index) {
    index->kind = PATTERN_SET;
    for (;;) {
        PatternRange range;
        skip_blanks(reader);
        if (!read_number(reader, &range.first)) return false;
        range.last = range.first;
        skip_blanks(reader);
        if (*reader->at == '-') {
            reader->at++;
            skip_blanks(reader);
            if (!read_number(reader, &range.last)) return false;
            skip_blanks(reader);
        }
        if (!add_range(reader, index, range)) return false;
        if (*reader->at != ',') return true;
        reader->at++;
    }
}

// Operators that wait for their right side. '(' binds weakest.
typedef struct OpStack {
    char ops[PATTERN_STEPS_MAX];
    uint32_t count;
} OpStack;

static uint32_t precedence(char op) {
    return op == '(' ? 0 : op == '+' || op == '-' ? 1 : 2;
}

static PatternOp op_of(char c) {
    switch (c) {
    case '+': return PATTERN_ADD;
    case '-': return PATTERN_SUB;
    case '*': return PATTERN_MUL;
    case '/': return PATTERN_DIV;
    }
    return PATTERN_MOD;
}

static bool add_step(Reader *reader, PatternIndex *index, PatternOp op, uint32_t value) {
    if (index->step_count == PATTERN_STEPS_MAX) return fail(reader, "expression too long");
    index->steps[index->step_count++] = (PatternStep){op, value};
    return true;
}

static bool push_op(Reader *reader, OpStack *stack, char op) {
    if (stack->count == PATTERN_STEPS_MAX) return fail(reader, "expression too long");
    stack->ops[stack->count++] = op;
    return true;
}

// Moves operators that bind at least as tightly as `level` to the steps; stops at '('.
static bool pop_ops(Reader *reader, OpStack *stack, PatternIndex *index, uint32_t level) {
    while (stack->count > 0 && stack->ops[stack->count - 1] != '(' &&
           precedence(stack->ops[stack->count - 1]) >= level) {
        if (!add_step(reader, index, op_of(stack->ops[--stack->count]), 0)) return false;
    }
    return true;
}

// A number, a letter, or opening brackets before one. `*out_done` says that an operand was read.
static bool read_operand(Reader *reader, OpStack *stack, PatternIndex *index, bool *out_done) {
    char c = *reader->at;
    *out_done = true;
    if (is_lower(c)) {
        reader->at++;
        return add_step(reader, index, PATTERN_LETTER, (uint32_t)(c - 'a'));
    }
    if (is_digit(c)) {
        uint32_t value;
        return read_number(reader, &value) && add_step(reader, index, PATTERN_CONST, value);
    }
    *out_done = false;
    if (c != '(') return fail(reader, "expected a letter, a number or '('");
    reader->at++;
    return push_op(reader, stack, '(');
}

// An operator or a closing bracket. `*out_operand` says that an operand must follow.
static bool read_operator(Reader *reader, OpStack *stack, PatternIndex *index, bool *out_operand) {
    char c = *reader->at;
    *out_operand = c != ')';
    if (c == '\0' || strchr("+-*/%)", c) == NULL)
        return fail(reader, "expected an operator or ']'");
    if (!pop_ops(reader, stack, index, c == ')' ? 1 : precedence(c))) return false;
    if (c == ')') {
        if (stack->count == 0) return fail(reader, "')' without '('");
        stack->count--;
    } else if (!push_op(reader, stack, c)) {
        return false;
    }
    reader->at++;
    return true;
}

static bool read_expression(Reader *reader, PatternIndex *index) {
    OpStack stack = {0};
    bool wants_operand = true;
    index->kind = PATTERN_EXPRESSION;
    for (;;) {
        skip_blanks(reader);
        if (*reader->at == ']' && !wants_operand) break;
        if (wants_operand) {
            bool done;
            if (!read_operand(reader, &stack, index, &done)) return false;
            wants_operand = !done;
        } else if (!read_operator(reader, &stack, index, &wants_operand)) {
            return false;
        }
    }
    if (!pop_ops(reader, &stack, index, 1)) return false;
    return stack.count == 0 || fail(reader, "'(' without ')'");
}

// i  or  i=0-5
static bool read_binding(Reader *reader, PatternIndex *index) {
    index->letter = *reader->at++;
    index->kind = PATTERN_ALL;
    skip_blanks(reader);
    if (*reader->at == '=') {
        reader->at++;
        return read_set(reader, index);
    }
    return *reader->at == ']' || fail(reader, "an expression may stand in \"to\" only");
}

static bool has_letter(const char *at) {
    while (*at != ']' && *at != '\0') {
        if (is_alpha(*at++)) return true;
    }
    return false;
}

static bool read_index(Reader *reader, PatternIndex *index) {
    const char *end = strchr(reader->at, ']');
    if (end == NULL) return fail(reader, "'[' without ']'");
    if (end - reader->at > PATTERN_INDEX_MAX)
        return fail(reader, "index longer than 64 characters");
    skip_blanks(reader);
    bool read = true;
    if (*reader->at == '*') {
        index->kind = PATTERN_ALL;
        reader->at++;
    } else if (!has_letter(reader->at)) {
        read = read_set(reader, index);
    } else if (reader->side == PATTERN_TO) {
        read = read_expression(reader, index);
    } else {
        read = is_lower(*reader->at) ? read_binding(reader, index)
                                     : fail(reader, "an expression may stand in \"to\" only");
    }
    if (!read) return false;
    skip_blanks(reader);
    if (*reader->at != ']') return fail(reader, "expected ']'");
    reader->at++;
    return true;
}

static bool read_segment(Reader *reader, PatternSegment *segment) {
    uint32_t length = 0;
    if (!is_alpha(*reader->at)) return fail(reader, "expected the name of a part");
    while (is_name_char(reader->at[length])) length++;
    if (length >= PATTERN_NAME_MAX) return fail(reader, "name longer than 47 characters");
    memcpy(segment->name, reader->at, length);
    reader->at += length;
    if (*reader->at != '[') return true;
    reader->at++;
    return read_index(reader, &segment->index);
}

bool pattern_parse(const char *text, PatternSide side, Pattern *out, Err *err) {
    Reader reader = {.text = text, .at = text, .side = side, .err = err};
    Pattern pattern = {0};
    for (;;) {
        if (pattern.count == PATTERN_SEGMENTS_MAX) return fail(&reader, "more than 8 levels");
        if (!read_segment(&reader, &pattern.segments[pattern.count++])) return false;
        if (*reader.at != '.') break;
        reader.at++;
    }
    if (*reader.at != '\0') return fail(&reader, "expected '.', '[' or the end");
    *out = pattern;
    return true;
}

bool pattern_has(const PatternIndex *index, int64_t number) {
    for (uint32_t i = 0; i < index->range_count; i++)
        if (number >= index->ranges[i].first && number <= index->ranges[i].last) return true;
    return false;
}

Digest pattern_hash(Digest digest, const char *text) {
    for (; *text != '\0'; text++)
        if (*text != ' ') digest = hash_bytes(digest, text, 1);
    return hash_bytes(digest, "", 1);
}

static int64_t floor_div(int64_t a, int64_t b) {
    int64_t quotient = a / b;
    return a % b != 0 && (a % b < 0) != (b < 0) ? quotient - 1 : quotient;
}

static bool apply(PatternOp op, int64_t a, int64_t b, int64_t *out) {
    switch (op) {
    case PATTERN_CONST:
    case PATTERN_LETTER: return false;
    case PATTERN_ADD: *out = a + b; break;
    case PATTERN_SUB: *out = a - b; break;
    case PATTERN_MUL:
        if (a != 0 && (b > VALUE_MAX / (a < 0 ? -a : a) || b < -VALUE_MAX / (a < 0 ? -a : a)))
            return false;
        *out = a * b;
        break;
    case PATTERN_DIV:
        if (b == 0) return false;
        *out = floor_div(a, b);
        break;
    case PATTERN_MOD:
        if (b <= 0) return false;
        *out = a - floor_div(a, b) * b;
        break;
    }
    return *out <= VALUE_MAX && *out >= -VALUE_MAX;
}

bool pattern_evaluate(const PatternStep *steps, uint32_t count, const uint32_t *letters,
                      int64_t *out) {
    int64_t stack[PATTERN_STEPS_MAX];
    uint32_t depth = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (steps[i].op == PATTERN_CONST) {
            stack[depth++] = steps[i].value;
        } else if (steps[i].op == PATTERN_LETTER) {
            stack[depth++] = letters[steps[i].value];
        } else {
            if (depth < 2 ||
                !apply(steps[i].op, stack[depth - 2], stack[depth - 1], &stack[depth - 2]))
                return false;
            depth--;
        }
    }
    if (depth != 1) return false;
    *out = stack[0];
    return true;
}
