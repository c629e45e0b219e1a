// Reads a condition into steps for a stack.
//
// Invariant: steps leave exactly one value of type `type` on the stack, the stack never holds more
// than ENGINE_EXPR_DEPTH_MAX values, and jumps go forward: evaluation ends after at most `count`
// steps. Method: Dijkstra's shunting yard (MR 35, 1961), with one type for each value that waits;
// operators wait in an array of fixed size, so that the depth of the input bounds nothing else.
#include "model/plan/engine_expr.h"

#include <assert.h>
#include <string.h>

#include "model/plan/engine_expr_code.h"

static const char *const type_names[] = {
    [ENGINE_UNKNOWN] = "nothing", [ENGINE_INTEGER] = "an integer", [ENGINE_BOOLEAN] = "a boolean",
    [ENGINE_STRING] = "a text",   [ENGINE_TEXTS] = "a list",
};

static const EngineOperator operators[] = {
#define X(id, text, precedence, takes, gives)                                                      \
    [ENGINE_CODE_##id] = {text, precedence, ENGINE_TAKES_##takes, ENGINE_##gives},
    ENGINE_CODE_LIST(X)
#undef X
};

// What waits for its right side: an operator, '(' or a function's '('.
typedef struct Waiting {
    EngineCode code;
    bool is_call, is_paren;
    uint32_t column, jump, arguments; // arguments that have been read before the last ','
} Waiting;

typedef struct Parser {
    const char *text;
    size_t at, token_at;
    const EngineScope *scope;
    EngineStep steps[ENGINE_EXPR_STEPS_MAX];
    uint32_t step_count;
    EngineType types[ENGINE_EXPR_DEPTH_MAX];
    uint32_t type_count;
    Waiting waiting[ENGINE_EXPR_DEPTH_MAX];
    uint32_t waiting_count;
    Err *err;
} Parser;

static uint32_t column_of(size_t at) {
    return (uint32_t)at + 1;
}

static bool fail_at(const Parser *parser, uint32_t column, const char *message) {
    err_set(parser->err, "%s", message);
    return err_prefix(parser->err, "column %u", column);
}

// Characters.

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static size_t word_length(const char *text) {
    size_t length = 0;
    while (is_letter(text[length]) || (length > 0 && is_digit(text[length]))) length++;
    return length;
}

static bool word_is(const Parser *parser, size_t length, const char *word) {
    return strlen(word) == length && memcmp(parser->text + parser->at, word, length) == 0;
}

static void skip_blanks(Parser *parser) {
    while (parser->text[parser->at] == ' ') parser->at++;
    parser->token_at = parser->at;
}

// Steps and types.

static bool push_step(Parser *parser, const EngineStep *step) {
    if (parser->step_count == ENGINE_EXPR_STEPS_MAX)
        return fail_at(parser, column_of(parser->token_at), "the condition is too long");
    parser->steps[parser->step_count++] = *step;
    return true;
}

static bool push_type(Parser *parser, EngineType type) {
    if (parser->type_count == ENGINE_EXPR_DEPTH_MAX)
        return fail_at(parser, column_of(parser->token_at), "the condition is too deep");
    parser->types[parser->type_count++] = type;
    return true;
}

static bool push_value(Parser *parser, EngineValue value) {
    EngineStep step = {.code = ENGINE_CODE_VALUE, .value = value};
    return push_step(parser, &step) && push_type(parser, value.type);
}

static bool types_fit(EngineTakes takes, EngineType left, EngineType right) {
    switch (takes) {
    case ENGINE_TAKES_NONE: return true;
    case ENGINE_TAKES_ONE_BOOLEAN: return right == ENGINE_BOOLEAN;
    case ENGINE_TAKES_ONE_INTEGER: return right == ENGINE_INTEGER;
    case ENGINE_TAKES_BOOLEANS: return left == ENGINE_BOOLEAN && right == ENGINE_BOOLEAN;
    case ENGINE_TAKES_INTEGERS: return left == ENGINE_INTEGER && right == ENGINE_INTEGER;
    case ENGINE_TAKES_SAME: return left == right && left != ENGINE_TEXTS;
    case ENGINE_TAKES_MEMBER: return left == ENGINE_STRING && right == ENGINE_TEXTS;
    }
    return false;
}

static bool takes_one(EngineTakes takes) {
    return takes == ENGINE_TAKES_ONE_BOOLEAN || takes == ENGINE_TAKES_ONE_INTEGER;
}

static bool fail_types(const Parser *parser, const Waiting *top, EngineType left,
                       EngineType right) {
    static const char *const wanted[] = {
        [ENGINE_TAKES_NONE] = "nothing",
        [ENGINE_TAKES_ONE_BOOLEAN] = "a boolean",
        [ENGINE_TAKES_ONE_INTEGER] = "an integer",
        [ENGINE_TAKES_BOOLEANS] = "booleans",
        [ENGINE_TAKES_INTEGERS] = "integers",
        [ENGINE_TAKES_SAME] = "two values of one type",
        [ENGINE_TAKES_MEMBER] = "a text and a list",
    };
    const EngineOperator *op = &operators[top->code];
    if (takes_one(op->takes))
        err_set(parser->err, "%s takes %s, found %s", op->text, wanted[op->takes],
                type_names[right]);
    else
        err_set(parser->err, "%s takes %s, found %s and %s", op->text, wanted[op->takes],
                type_names[left], type_names[right]);
    return err_prefix(parser->err, "column %u", top->column);
}

// Puts the operator on top behind its operands, which are the last values.
static bool reduce(Parser *parser) {
    Waiting top = parser->waiting[--parser->waiting_count];
    const EngineOperator *op = &operators[top.code];
    uint32_t operands = takes_one(op->takes) ? 1 : 2;
    assert(parser->type_count >= operands);
    EngineType right = parser->types[parser->type_count - 1];
    EngineType left = operands == 2 ? parser->types[parser->type_count - 2] : right;
    if (!types_fit(op->takes, left, right)) return fail_types(parser, &top, left, right);
    EngineStep step = {.code = (uint8_t)top.code};
    if (!push_step(parser, &step)) return false;
    if (top.code == ENGINE_CODE_AND || top.code == ENGINE_CODE_OR)
        parser->steps[top.jump].index = parser->step_count;
    parser->type_count -= operands;
    return push_type(parser, op->gives);
}

static bool push_waiting(Parser *parser, Waiting waiting) {
    if (parser->waiting_count == ENGINE_EXPR_DEPTH_MAX)
        return fail_at(parser, waiting.column, "the condition is too deep");
    parser->waiting[parser->waiting_count++] = waiting;
    return true;
}

static bool top_is_operator(const Parser *parser) {
    return parser->waiting_count > 0 && !parser->waiting[parser->waiting_count - 1].is_paren;
}

// Operators that bind at least as tightly as `precedence`.
static bool reduce_above(Parser *parser, uint32_t precedence) {
    while (top_is_operator(parser)) {
        EngineCode code = parser->waiting[parser->waiting_count - 1].code;
        if (operators[code].precedence < precedence) return true;
        if (!reduce(parser)) return false;
    }
    return true;
}

// Where a value is expected.

static bool read_integer(Parser *parser) {
    int64_t value = 0;
    while (is_digit(parser->text[parser->at])) {
        int digit = parser->text[parser->at++] - '0';
        if (value > (INT64_MAX - digit) / 10)
            return fail_at(parser, column_of(parser->token_at), "the number is too large");
        value = value * 10 + digit;
    }
    if (is_letter(parser->text[parser->at]))
        return fail_at(parser, column_of(parser->at), "a number ends before a letter");
    return push_value(parser, (EngineValue){.type = ENGINE_INTEGER, .integer = value});
}

static bool read_text(Parser *parser, Arena *arena) {
    const char *start = parser->text + parser->at + 1, *end = strchr(start, '\'');
    if (end == NULL) return fail_at(parser, column_of(parser->token_at), "the text has no end");
    parser->at = (size_t)(end - parser->text) + 1;
    const char *text = arena_printf(arena, "%.*s", (int)(end - start), start);
    return push_value(parser, (EngineValue){.type = ENGINE_STRING, .text = text});
}

static bool fail_name(const Parser *parser, size_t length) {
    const EngineScope *scope = parser->scope;
    const char **names = mem_alloc(scope->count, sizeof *names);
    char word[ENGINE_NAME_MAX + 1] = {0};
    if (length > ENGINE_NAME_MAX) length = ENGINE_NAME_MAX;
    memcpy(word, parser->text + parser->token_at, length);
    for (uint32_t i = 0; i < scope->count; i++) names[i] = scope->names[i].name;
    uint32_t nearest = text_nearest(word, names, scope->count);
    if (nearest == UINT32_MAX)
        err_set(parser->err, "unknown name \"%s\"", word);
    else
        err_set(parser->err, "unknown name \"%s\", did you mean \"%s\"?", word, names[nearest]);
    mem_free(names);
    return err_prefix(parser->err, "column %u", column_of(parser->token_at));
}

static bool read_name(Parser *parser, size_t length) {
    for (uint32_t i = 0; i < parser->scope->count; i++) {
        if (!word_is(parser, length, parser->scope->names[i].name)) continue;
        EngineStep step = {.code = ENGINE_CODE_NAME, .index = i};
        parser->at += length;
        return push_step(parser, &step) && push_type(parser, parser->scope->names[i].type);
    }
    return fail_name(parser, length);
}

// True when the word is a function: its '(' then waits.
static bool read_function(Parser *parser, size_t length, bool *out_ok) {
    for (uint32_t code = ENGINE_CODE_FIRST_FUNCTION; code < ENGINE_CODE_COUNT; code++) {
        if (!word_is(parser, length, operators[code].text)) continue;
        parser->at += length;
        while (parser->text[parser->at] == ' ') parser->at++;
        if (parser->text[parser->at] != '(') {
            *out_ok = fail_at(parser, column_of(parser->at), "expected '(' after a function");
            return true;
        }
        parser->at++;
        *out_ok = push_waiting(parser, (Waiting){.code = (EngineCode)code,
                                                 .is_call = true,
                                                 .is_paren = true,
                                                 .column = column_of(parser->token_at)});
        return true;
    }
    return false;
}

static bool push_prefix(Parser *parser, EngineCode code) {
    return push_waiting(parser, (Waiting){.code = code, .column = column_of(parser->token_at)});
}

// A value, or what may stand before one; *out_done: the value is complete.
static bool read_operand(Parser *parser, Arena *arena, bool *out_done) {
    char c = parser->text[parser->at];
    size_t length = word_length(parser->text + parser->at);
    bool ok = true;
    *out_done = false;
    if (c == '(' || c == '-') parser->at++;
    if (c == '(')
        return push_waiting(parser,
                            (Waiting){.is_paren = true, .column = column_of(parser->token_at)});
    if (c == '-') return push_prefix(parser, ENGINE_CODE_NEGATE);
    if (word_is(parser, length, "not")) {
        parser->at += length;
        return push_prefix(parser, ENGINE_CODE_NOT);
    }
    if (length > 0 && read_function(parser, length, &ok)) return ok;
    *out_done = true;
    if (is_digit(c)) return read_integer(parser);
    if (c == '\'') return read_text(parser, arena);
    if (length == 0) return fail_at(parser, column_of(parser->token_at), "expected a value");
    bool is_true = word_is(parser, length, "true");
    if (!is_true && !word_is(parser, length, "false")) return read_name(parser, length);
    parser->at += length;
    return push_value(parser, (EngineValue){.type = ENGINE_BOOLEAN, .integer = is_true});
}

// Where an operator is expected.

static bool find_operator(Parser *parser, EngineCode *out) {
    size_t word = word_length(parser->text + parser->at), best = 0;
    for (uint32_t code = ENGINE_CODE_FIRST_INFIX; code < ENGINE_CODE_FIRST_FUNCTION; code++) {
        const char *text = operators[code].text;
        size_t length = strlen(text);
        bool matches = is_letter(text[0]) ? word_is(parser, word, text)
                                          : strncmp(parser->text + parser->at, text, length) == 0;
        if (!matches || length <= best) continue;
        best = length;
        *out = (EngineCode)code;
    }
    parser->at += best;
    return best > 0;
}

static bool read_infix(Parser *parser, EngineCode code) {
    uint32_t precedence = operators[code].precedence, column = column_of(parser->token_at);
    Waiting waiting = {.code = code, .column = column, .jump = 0};
    if (!reduce_above(parser, precedence + 1)) return false;
    if (precedence == ENGINE_PRECEDENCE_COMPARE && top_is_operator(parser) &&
        operators[parser->waiting[parser->waiting_count - 1].code].precedence == precedence)
        return fail_at(parser, column, "comparisons do not chain");
    if (!reduce_above(parser, precedence)) return false;
    if (code == ENGINE_CODE_AND || code == ENGINE_CODE_OR) {
        EngineStep jump = {.code = code == ENGINE_CODE_AND ? ENGINE_CODE_JUMP_FALSE
                                                           : ENGINE_CODE_JUMP_TRUE};
        if (parser->types[parser->type_count - 1] != ENGINE_BOOLEAN)
            return fail_types(parser, &waiting, parser->types[parser->type_count - 1],
                              ENGINE_BOOLEAN);
        waiting.jump = parser->step_count;
        if (!push_step(parser, &jump)) return false;
    }
    return push_waiting(parser, waiting);
}

// ',' ends the first argument of a function.
static bool read_comma(Parser *parser) {
    if (!reduce_above(parser, 0)) return false;
    Waiting *top = parser->waiting_count > 0 ? &parser->waiting[parser->waiting_count - 1] : NULL;
    if (top == NULL || !top->is_call)
        return fail_at(parser, column_of(parser->token_at), "',' outside of a function");
    if (++top->arguments == 2)
        return fail_at(parser, column_of(parser->token_at), "a function takes two arguments");
    return true;
}

static bool read_close(Parser *parser) {
    if (!reduce_above(parser, 0)) return false;
    if (parser->waiting_count == 0)
        return fail_at(parser, column_of(parser->token_at), "')' without '('");
    Waiting *top = &parser->waiting[parser->waiting_count - 1];
    if (!top->is_call) {
        parser->waiting_count--;
        return true;
    }
    if (top->arguments != 1)
        return fail_at(parser, column_of(parser->token_at), "a function takes two arguments");
    return reduce(parser);
}

// What follows a value; *out_value: another value is expected after it.
static bool read_after(Parser *parser, bool *out_value) {
    EngineCode code = ENGINE_CODE_VALUE;
    char c = parser->text[parser->at];
    *out_value = true;
    if (c == ')' || c == ',') parser->at++;
    if (c == ',') return read_comma(parser);
    if (c == ')') {
        *out_value = false;
        return read_close(parser);
    }
    if (find_operator(parser, &code)) return read_infix(parser, code);
    return fail_at(parser, column_of(parser->token_at), "expected an operator");
}

static bool read_all(Parser *parser, Arena *arena) {
    bool wants_value = true, done;
    for (;;) {
        skip_blanks(parser);
        if (parser->text[parser->at] == '\0' && !wants_value) break;
        if (wants_value) {
            if (!read_operand(parser, arena, &done)) return false;
            wants_value = !done;
        } else if (!read_after(parser, &wants_value)) {
            return false;
        }
    }
    if (!reduce_above(parser, 0)) return false;
    if (parser->waiting_count == 0) return true;
    return fail_at(parser, parser->waiting[parser->waiting_count - 1].column, "'(' without ')'");
}

bool engine_expr_parse(const char *text, const EngineScope *scope, Arena *arena, EngineExpr *out,
                       Err *err) {
    if (strlen(text) > ENGINE_EXPR_BYTES_MAX)
        return err_set(err, "column %d: the condition is longer than %d bytes",
                       ENGINE_EXPR_BYTES_MAX + 1, ENGINE_EXPR_BYTES_MAX);
    Parser parser = {.text = text, .scope = scope, .err = err};
    if (!read_all(&parser, arena)) return false;
    assert(parser.type_count == 1);
    out->steps = arena_copy(arena, parser.steps, parser.step_count, sizeof *out->steps);
    out->count = parser.step_count;
    out->type = parser.types[0];
    return true;
}
