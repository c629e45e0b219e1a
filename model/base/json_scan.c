// A scanner for RFC 8259 that never recurses: a state, and a bit for each open container.
//
// Invariant: a text that passes has one value, well-formed UTF-8, finite numbers, no escape that a
// C string or UTF-8 cannot hold, and at most the stated depth and count. Work is linear in the
// text. Source of the grammar: RFC 8259, sections 2 to 8.
#include "model/base/json_scan.h"

#include <stdio.h>
#include <string.h>

#include "model/base/mem.h"
#include "model/base/text.h"

#define EXACT_INTEGER_MAX UINT64_C(9007199254740992) // 2^53
#define EXACT_DIGITS      15                         // fewer digits are always below 2^53

// What the scanner waits for. AFTER_COMMA states do not accept the closing bracket.
typedef enum State {
    WANT_VALUE,
    WANT_VALUE_OR_CLOSE,
    WANT_VALUE_AFTER_COMMA,
    WANT_KEY_OR_CLOSE,
    WANT_KEY_AFTER_COMMA,
    WANT_COLON,
    WANT_COMMA_OR_CLOSE,
    WANT_END
} State;

// One call of json_scan_next: it goes on until `event` is complete.
typedef struct Scanner {
    const char *bytes;
    size_t count, at;
    State state;
    JsonWalk *walk;
    JsonEvent *event;
    bool is_complete;
    Err *err;
} Scanner;

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_number_char(char c) {
    return is_digit(c) || is_letter(c) || c == '.' || c == '+' || c == '-';
}

static bool in_object(const Scanner *s) {
    uint32_t depth = s->walk->depth;
    return depth > 0 && (s->walk->objects >> (depth - 1) & 1) != 0;
}

static const char *expected(const Scanner *s) {
    switch (s->state) {
    case WANT_VALUE: return s->walk->depth == 0 ? "a value" : "a value after ':'";
    case WANT_VALUE_OR_CLOSE: return "a value or ']'";
    case WANT_VALUE_AFTER_COMMA: return "a value after ','";
    case WANT_KEY_OR_CLOSE: return "a key in double quotes or '}'";
    case WANT_KEY_AFTER_COMMA: return "a key in double quotes after ','";
    case WANT_COLON: return "':' after the key";
    case WANT_COMMA_OR_CLOSE: return in_object(s) ? "',' or '}'" : "',' or ']'";
    case WANT_END: return "nothing after the value";
    }
    return "";
}

// The bytes at the current position as a message shows them: a word, a character or a byte.
static void describe(const Scanner *s, char *buffer, size_t size) {
    const char *at = s->bytes + s->at;
    size_t left = s->count - s->at, width = text_code_point(at, left), word = 0;
    while (word < left && word < 24 && is_letter(at[word])) word++;
    if (word > 1) {
        snprintf(buffer, size, "%.*s", (int)word, at);
    } else if (width == 0 || (unsigned char)*at < 0x20 || *at == 0x7f) {
        snprintf(buffer, size, "byte 0x%02x", (unsigned)(unsigned char)*at);
    } else {
        snprintf(buffer, size, "'%.*s'", (int)width, at);
    }
}

static bool unexpected(Scanner *s) {
    char found[64];
    if (s->at >= s->count) {
        return err_set(s->err, "unexpected end of file, expected %s", expected(s));
    }
    describe(s, found, sizeof found);
    if (s->count - s->at >= 3 && memcmp(s->bytes + s->at, "\xef\xbb\xbf", 3) == 0) {
        return err_set(s->err, "byte order mark, expected plain UTF-8 without one");
    }
    if (s->bytes[s->at] == '/' || s->bytes[s->at] == '#') {
        return err_set(s->err, "expected %s, found %s (JSON has no comments)", expected(s), found);
    }
    return err_set(s->err, "expected %s, found %s", expected(s), found);
}

static uint32_t hex_value(const char *digits) {
    uint32_t value = 0;
    for (int i = 0; i < 4; i++) {
        char c = digits[i];
        uint32_t digit = is_digit(c)              ? (uint32_t)(c - '0')
                         : (c >= 'a' && c <= 'f') ? (uint32_t)(c - 'a') + 10
                         : (c >= 'A' && c <= 'F') ? (uint32_t)(c - 'A') + 10
                                                  : UINT32_MAX;
        if (digit == UINT32_MAX) return UINT32_MAX;
        value = value << 4 | digit;
    }
    return value;
}

// The code unit of "\uXXXX" at the current position, UINT32_MAX when it is not one.
static uint32_t read_unit(const Scanner *s, size_t at) {
    if (s->count - at < 6 || s->bytes[at] != '\\' || s->bytes[at + 1] != 'u') return UINT32_MAX;
    return hex_value(s->bytes + at + 2);
}

static bool end_inside(Scanner *s, const char *what) {
    s->at = s->count;
    return err_set(s->err, "unexpected end of file inside a %s", what);
}

static bool scan_unicode_escape(Scanner *s) {
    if (s->count - s->at < 6) return end_inside(s, "string");
    uint32_t unit = read_unit(s, s->at);
    if (unit == UINT32_MAX) {
        return err_set(s->err, "expected four hexadecimal digits after \\u");
    }
    if (unit == 0) return err_set(s->err, "\\u0000 is not allowed in a string");
    s->at += 6;
    if (unit < 0xd800 || unit > 0xdfff) return true;
    bool high = unit < 0xdc00;
    size_t left = s->count - s->at;
    if (high && (left == 0 || (left < 6 && s->bytes[s->at] == '\\')))
        return end_inside(s, "string");
    uint32_t second = high ? read_unit(s, s->at) : UINT32_MAX;
    if (second < 0xdc00 || second > 0xdfff) {
        s->at -= 6;
        return err_set(s->err, "\\u%04x is half of a surrogate pair, expected both halves",
                       (unsigned)unit);
    }
    s->at += 6;
    return true;
}

static bool scan_escape(Scanner *s) {
    if (s->count - s->at < 2) return end_inside(s, "string");
    char letter = s->bytes[s->at + 1];
    if (letter == 'u') return scan_unicode_escape(s);
    if (letter == '\0' || strchr("\"\\/bfnrt", letter) == NULL) {
        return err_set(s->err,
                       "unknown escape in a string, expected \\ and one of \" \\ / b f n r t u");
    }
    s->at += 2;
    return true;
}

static bool refuse_string_byte(Scanner *s) {
    unsigned byte = (unsigned char)s->bytes[s->at];
    if (byte == '\n' || byte == '\r') {
        return err_set(s->err, "line break inside a string, expected '\"'");
    }
    if (byte < 0x20) {
        return err_set(s->err, "control character 0x%02x inside a string, expected \\u%04x", byte,
                       byte);
    }
    return err_set(s->err, "byte 0x%02x is not UTF-8", byte);
}

// Printable ASCII that stands for itself.
static bool is_plain(char c) {
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

// From the opening to after the closing quote.
static bool scan_string(Scanner *s) {
    for (s->at++; s->at < s->count;) {
        const char *at = s->bytes + s->at;
        if (is_plain(*at)) {
            s->at++;
            continue;
        }
        if (*at == '"') {
            s->at++;
            return true;
        }
        if (*at == '\\') {
            if (!scan_escape(s)) return false;
            continue;
        }
        size_t width = (unsigned char)*at < 0x20 ? 0 : text_code_point(at, s->count - s->at);
        if (width == 0) return refuse_string_byte(s);
        s->at += width;
    }
    return end_inside(s, "string");
}

static bool scan_word(Scanner *s) {
    static const char *const words[] = {"true", "false", "null"};
    const char *at = s->bytes + s->at;
    size_t left = s->count - s->at, length = 0;
    while (length < left && (is_letter(at[length]) || is_digit(at[length]))) length++;
    for (size_t i = 0; i < 3; i++) {
        size_t size = strlen(words[i]);
        if (length == size && memcmp(at, words[i], size) == 0) {
            s->at += size;
            return true;
        }
        if (length == left && length < size && memcmp(at, words[i], length) == 0) {
            s->at = s->count;
            return err_set(s->err, "unexpected end of file, expected %s", words[i]);
        }
    }
    return unexpected(s);
}

static const char *skip_digits(const char *text) {
    while (is_digit(*text)) text++;
    return text;
}

// NULL for a number of RFC 8259, section 6; else what is wrong with it.
static const char *number_fault(const char *text) {
    text += *text == '-';
    const char *end = skip_digits(text);
    if (end == text) return "has no digits";
    if (*text == '0' && end > text + 1) return "has a leading zero";
    if (*end == '.') {
        text = end + 1;
        end = skip_digits(text);
        if (end == text) return "has no digits after the point";
    }
    if (*end == 'e' || *end == 'E') {
        text = end + 1 + (end[1] == '+' || end[1] == '-');
        end = skip_digits(text);
        if (end == text) return "has no digits in the exponent";
    }
    return *end == '\0' ? NULL : "is not a JSON number";
}

// The number is well-formed; refuses what a double cannot hold.
static bool check_value(Scanner *s, const char *text, size_t length) {
    double value;
    if (length <= EXACT_DIGITS && strpbrk(text, "eE") == NULL) return true;
    if (!text_parse_double(text, &value)) {
        return err_set(s->err, "number %s is too large, expected at most 1.8e308", text);
    }
    uint64_t magnitude;
    const char *digits = text + (*text == '-');
    if (digits[strspn(digits, "0123456789")] != '\0') return true;
    if (text_parse_u64(digits, &magnitude) && magnitude <= EXACT_INTEGER_MAX) return true;
    return err_set(s->err, "integer %s is not exact in JSON, expected at most 9007199254740992",
                   text);
}

static bool scan_number(Scanner *s) {
    char text[JSON_SCAN_NUMBER_MAX + 1];
    const char *at = s->bytes + s->at;
    size_t left = s->count - s->at, length = 0;
    while (length < left && is_number_char(at[length])) length++;
    if (length > JSON_SCAN_NUMBER_MAX) {
        return err_set(s->err, "number of %zu characters, expected at most %d", length,
                       JSON_SCAN_NUMBER_MAX);
    }
    memcpy(text, at, length);
    text[length] = '\0';
    if (strcmp(text, "-Infinity") == 0) {
        return err_set(s->err, "expected %s, found -Infinity", expected(s));
    }
    const char *fault = number_fault(text);
    if (fault != NULL && length == left && strchr("+-.eE", text[length - 1]) != NULL) {
        return end_inside(s, "number");
    }
    if (fault != NULL) return err_set(s->err, "number %s %s", text, fault);
    if (!check_value(s, text, length)) return false;
    s->at += length;
    return true;
}

static void begin_event(Scanner *s, JsonEventKind kind) {
    JsonWalk *walk = s->walk;
    uint32_t offset = (uint32_t)s->at;
    *s->event = (JsonEvent){.kind = kind, .offset = offset, .end = offset, .key = offset};
    if (walk->has_key) {
        s->event->key = walk->key;
        s->event->key_end = walk->key_end;
    }
    walk->has_key = false;
}

static void end_event(Scanner *s) {
    s->event->end = (uint32_t)s->at;
    s->is_complete = true;
}

static void after_value(Scanner *s) {
    s->state = s->walk->depth == 0 ? WANT_END : WANT_COMMA_OR_CLOSE;
}

static bool scan_open(Scanner *s, JsonEventKind kind) {
    JsonWalk *walk = s->walk;
    if (walk->depth == JSON_SCAN_DEPTH_MAX) {
        return err_set(s->err, "nesting deeper than %d levels", JSON_SCAN_DEPTH_MAX);
    }
    bool is_object = kind == JSON_EVENT_OBJECT;
    uint64_t bit = UINT64_C(1) << walk->depth++;
    walk->objects = is_object ? walk->objects | bit : walk->objects & ~bit;
    begin_event(s, kind);
    s->state = is_object ? WANT_KEY_OR_CLOSE : WANT_VALUE_OR_CLOSE;
    s->at++;
    end_event(s);
    return true;
}

static bool scan_close(Scanner *s) {
    begin_event(s, JSON_EVENT_CLOSE);
    s->walk->depth--;
    s->at++;
    end_event(s);
    after_value(s);
    return true;
}

static bool scan_scalar(Scanner *s) {
    char c = s->bytes[s->at];
    bool good;
    if (c == '"') {
        begin_event(s, JSON_EVENT_STRING);
        good = scan_string(s);
    } else if (c == '-' || is_digit(c)) {
        begin_event(s, JSON_EVENT_NUMBER);
        good = scan_number(s);
    } else if (is_letter(c)) {
        begin_event(s, JSON_EVENT_WORD);
        good = scan_word(s);
    } else {
        good = unexpected(s);
    }
    if (!good) return false;
    end_event(s);
    after_value(s);
    return true;
}

static bool scan_value(Scanner *s) {
    char c = s->bytes[s->at];
    if (c == '{') return scan_open(s, JSON_EVENT_OBJECT);
    if (c == '[') return scan_open(s, JSON_EVENT_ARRAY);
    if (c == ']' && s->state == WANT_VALUE_OR_CLOSE) return scan_close(s);
    return scan_scalar(s);
}

static bool scan_key(Scanner *s) {
    char c = s->bytes[s->at];
    if (c == '}' && s->state == WANT_KEY_OR_CLOSE) return scan_close(s);
    if (c != '"') return unexpected(s);
    s->walk->key = (uint32_t)s->at;
    s->walk->has_key = true;
    if (!scan_string(s)) return false;
    s->walk->key_end = (uint32_t)s->at;
    s->state = WANT_COLON;
    return true;
}

static bool scan_separator(Scanner *s) {
    char c = s->bytes[s->at];
    bool object = in_object(s);
    if (c == (object ? '}' : ']')) return scan_close(s);
    if (c != ',') return unexpected(s);
    s->state = object ? WANT_KEY_AFTER_COMMA : WANT_VALUE_AFTER_COMMA;
    s->at++;
    return true;
}

static bool scan_step(Scanner *s) {
    switch (s->state) {
    case WANT_VALUE:
    case WANT_VALUE_OR_CLOSE:
    case WANT_VALUE_AFTER_COMMA: return scan_value(s);
    case WANT_KEY_OR_CLOSE:
    case WANT_KEY_AFTER_COMMA: return scan_key(s);
    case WANT_COLON:
        if (s->bytes[s->at] != ':') return unexpected(s);
        s->state = WANT_VALUE;
        s->at++;
        return true;
    case WANT_COMMA_OR_CLOSE: return scan_separator(s);
    case WANT_END: return unexpected(s);
    }
    return false;
}

// Up to the next value or bracket, or to the end of the text.
static bool scan_event(Scanner *s) {
    while (!s->is_complete) {
        while (s->at < s->count && is_space(s->bytes[s->at])) s->at++;
        if (s->at >= s->count) break;
        if (!scan_step(s)) return false;
    }
    if (s->is_complete) return true;
    begin_event(s, JSON_EVENT_END);
    if (s->state == WANT_END) return true;
    if (s->walk->depth == 0 && s->state == WANT_VALUE)
        return err_set(s->err, "empty file, expected a JSON value");
    return unexpected(s);
}

void json_scan_start(const char *bytes, size_t count, JsonWalk *out) {
    *out = (JsonWalk){.bytes = bytes, .count = count, .state = WANT_VALUE};
}

bool json_scan_next(JsonWalk *walk, JsonEvent *out, Err *err) {
    Scanner scanner = {.bytes = walk->bytes,
                       .count = walk->count,
                       .at = walk->at,
                       .state = (State)walk->state,
                       .walk = walk,
                       .event = out,
                       .err = err};
    bool good = scan_event(&scanner);
    walk->at = scanner.at;
    walk->state = scanner.state;
    return good;
}

// All values as marks.

typedef struct Marker {
    JsonScan *out;
    uint32_t open[JSON_SCAN_DEPTH_MAX]; // marks of the open containers
    uint32_t depth;
} Marker;

static bool add_mark(Marker *marker, const JsonEvent *event, JsonMarkKind kind, Err *err) {
    JsonScan *out = marker->out;
    if (out->count == JSON_SCAN_VALUES_MAX)
        return err_set(err, "more than %u values", (unsigned)JSON_SCAN_VALUES_MAX);
    out->marks = mem_grow(out->marks, &out->capacity, out->count + 1, sizeof(JsonMark));
    out->marks[out->count] = (JsonMark){event->offset, event->key, out->count + 1, kind};
    if (kind == MARK_OBJECT || kind == MARK_ARRAY) marker->open[marker->depth++] = out->count;
    out->count++;
    return true;
}

static bool mark_event(Marker *marker, const JsonEvent *event, Err *err) {
    switch (event->kind) {
    case JSON_EVENT_OBJECT: return add_mark(marker, event, MARK_OBJECT, err);
    case JSON_EVENT_ARRAY: return add_mark(marker, event, MARK_ARRAY, err);
    case JSON_EVENT_STRING: return add_mark(marker, event, MARK_STRING, err);
    case JSON_EVENT_NUMBER: return add_mark(marker, event, MARK_NUMBER, err);
    case JSON_EVENT_WORD: return add_mark(marker, event, MARK_WORD, err);
    case JSON_EVENT_CLOSE:
        marker->out->marks[marker->open[--marker->depth]].next = marker->out->count;
        return true;
    case JSON_EVENT_END: return true;
    }
    return false;
}

bool json_scan_run(const char *bytes, size_t count, JsonScan *out, size_t *where, Err *err) {
    JsonScan scan = {0};
    Marker marker = {.out = &scan};
    JsonWalk walk;
    JsonEvent event;
    json_scan_start(bytes, count, &walk);
    do {
        bool good = json_scan_next(&walk, &event, err);
        *where = walk.at;
        if (good && !mark_event(&marker, &event, err)) {
            *where = event.offset;
            good = false;
        }
        if (!good) {
            json_scan_free(&scan);
            return false;
        }
    } while (event.kind != JSON_EVENT_END);
    *out = scan;
    return true;
}

void json_scan_free(JsonScan *scan) {
    mem_free(scan->marks);
    *scan = (JsonScan){0};
}

// The bytes of a code point as UTF-8; returns how many.
static size_t put_code_point(uint32_t point, char *out) {
    if (point < 0x80) {
        out[0] = (char)point;
        return 1;
    }
    size_t width = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    uint32_t first = width == 2 ? 0xc0 : width == 3 ? 0xe0 : 0xf0;
    for (size_t i = width - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (point & 0x3f));
        point >>= 6;
    }
    out[0] = (char)(first | point);
    return width;
}

// The escape at `from`, written to `out`; both move on.
static void put_escape(const char **from, char **out) {
    static const char letters[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const char *at = *from;
    if (at[1] != 'u') {
        *(*out)++ = values[strchr(letters, at[1]) - letters];
        *from = at + 2;
        return;
    }
    uint32_t point = hex_value(at + 2);
    bool is_pair = point >= 0xd800 && point <= 0xdfff;
    if (is_pair) point = 0x10000 + ((point - 0xd800) << 10) + (hex_value(at + 8) - 0xdc00);
    *out += put_code_point(point, *out);
    *from = at + (is_pair ? 12 : 6);
}

size_t json_scan_string(const char *bytes, size_t offset, char *out) {
    const char *from = bytes + offset + 1;
    char *to = out;
    while (*from != '"') {
        if (*from == '\\')
            put_escape(&from, &to);
        else
            *to++ = *from++;
    }
    *to = '\0';
    return (size_t)(to - out);
}

size_t json_scan_number_length(const char *bytes, size_t count, size_t offset) {
    size_t length = 0;
    while (offset + length < count && is_number_char(bytes[offset + length])) length++;
    return length;
}

JsonPlace json_scan_place(const char *bytes, size_t offset) {
    JsonPlace place = {1, 1};
    for (size_t i = 0; i < offset; i++) {
        bool continues = ((unsigned char)bytes[i] & 0xc0) == 0x80;
        if (bytes[i] == '\n') {
            place.line++;
            place.column = 1;
        } else if (!continues) {
            place.column++;
        }
    }
    return place;
}
