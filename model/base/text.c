// A growing string, and conversions that give the same bytes under every locale.
//
// Invariant: data[length] is 0 whenever data is not NULL. The C library reads and prints the digits
// of a double, which it does correctly rounded; the decimal point, which it takes from the locale,
// is ours.
#include "model/base/text.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/base/mem.h"

#define QUOTE_POINTS  48
#define NEAREST_BYTES 64 // longer words are not compared: the cost is the product of the lengths

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

// Room for `more` bytes and the terminator.
static void reserve(Text *text, size_t more) {
    size_t need = text->length + more + 1, capacity = text->capacity < 64 ? 64 : text->capacity;
    if (need <= text->capacity) return;
    while (capacity < need) capacity *= 2;
    text->data = mem_realloc(text->data, capacity, 1);
    text->capacity = capacity;
}

void text_add_bytes(Text *text, const char *bytes, size_t count) {
    reserve(text, count);
    if (count > 0) memcpy(text->data + text->length, bytes, count);
    text->length += count;
    text->data[text->length] = '\0';
}

void text_add(Text *text, const char *string) {
    text_add_bytes(text, string, strlen(string));
}

void text_add_char(Text *text, char c) {
    text_add_bytes(text, &c, 1);
}

void text_addf(Text *text, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    assert(length >= 0);
    reserve(text, (size_t)length);
    vsnprintf(text->data + text->length, (size_t)length + 1, format, again);
    va_end(again);
    text->length += (size_t)length;
}

// Prints %.*g with a '.' where the locale has another decimal point, which may take several bytes.
static void print_double(char *buffer, size_t size, int digits, double value) {
    snprintf(buffer, size, "%.*g", digits, value);
    char *out = buffer;
    for (const char *in = buffer; *in != '\0'; in++) {
        bool plain = is_digit(*in) || *in == 'e' || *in == '+' || *in == '-';
        if (plain) *out++ = *in;
        if (!plain && out[-1] != '.') *out++ = '.';
    }
    *out = '\0';
}

void text_add_double(Text *text, double value) {
    assert(isfinite(value));
    char buffer[48];
    for (int digits = DBL_DIG; digits <= DBL_DECIMAL_DIG; digits++) {
        double back;
        print_double(buffer, sizeof buffer, digits, value);
        if (text_parse_double(buffer, &back) && memcmp(&back, &value, sizeof value) == 0) break;
    }
    text_add(text, buffer);
}

const char *text_string(const Text *text) {
    return text->data == NULL ? "" : text->data;
}

void text_free(Text *text) {
    mem_free(text->data);
    *text = (Text){0};
}

static bool is_continuation(char c) {
    return ((unsigned char)c & 0xc0) == 0x80;
}

// Table 3-7 of the Unicode standard: only the second byte has a range that depends on the first.
size_t text_code_point(const char *bytes, size_t count) {
    if (count == 0) return 0;
    unsigned char first = (unsigned char)bytes[0];
    if (first < 0x80) return 1;
    size_t width = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
    if (width == 0 || width > count) return 0;
    unsigned char second = (unsigned char)bytes[1];
    unsigned char low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    unsigned char high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    if (second < low || second > high) return 0;
    for (size_t i = 2; i < width; i++) {
        if (!is_continuation(bytes[i])) return 0;
    }
    return width;
}

// U+2028 and U+2029 break lines, U+202A to U+202E and U+2066 to U+2069 turn their direction: all
// are e2 80 .. or e2 81 .. in UTF-8.
size_t text_control(const char *bytes, size_t count) {
    size_t width = text_code_point(bytes, count);
    if (width == 0) return 0;
    unsigned char first = (unsigned char)bytes[0];
    if (width == 1) return first < 0x20 || first == 0x7f ? 1 : 0;
    unsigned char second = (unsigned char)bytes[1];
    if (width == 2) return first == 0xc2 && second < 0xa0 ? 2 : 0;
    unsigned char third = (unsigned char)bytes[2];
    bool breaks = second == 0x80 && third >= 0xa8 && third <= 0xae;
    bool turns = second == 0x81 && third >= 0xa6 && third <= 0xa9;
    return width == 3 && first == 0xe2 && (breaks || turns) ? 3 : 0;
}

size_t text_plain(const char *string) {
    size_t length = strlen(string), at = 0;
    while (at < length) {
        bool is_ascii = string[at] >= 0x20 && string[at] < 0x7f; // most are, and are fast to tell
        if (!is_ascii && text_control(string + at, length - at) != 0) break;
        at++;
    }
    return at;
}

bool text_is_utf8(const char *bytes, size_t count) {
    for (size_t i = 0; i < count;) {
        size_t width = text_code_point(bytes + i, count - i);
        if (width == 0) return false;
        i += width;
    }
    return true;
}

char *text_quote(const char *string, char *buffer) {
    size_t end = 0, points = 0;
    while (string[end] != '\0' && points < QUOTE_POINTS) {
        size_t width = text_code_point(string + end, strnlen(string + end, 4));
        end += width == 0 ? 1 : width;
        points++;
    }
    snprintf(buffer, TEXT_QUOTE_MAX, "\"%.*s%s\"", (int)end, string, string[end] ? "..." : "");
    return buffer;
}

// Columns of the first `count` bytes.
static size_t columns_of(const char *bytes, size_t count) {
    size_t columns = 0;
    for (size_t i = 0; i < count; i++) columns += !is_continuation(bytes[i]);
    return columns;
}

size_t text_columns(const char *string) {
    return columns_of(string, strlen(string));
}

void text_add_wrapped(Text *text, const char *string, size_t indent, size_t columns) {
    size_t column = 0; // 0 before the first word of a line
    string += strspn(string, " ");
    while (*string != '\0') {
        size_t length = strcspn(string, " "), width = columns_of(string, length);
        if (column > 0 && column + 1 + width > columns) {
            text_add_char(text, '\n');
            column = 0;
        }
        if (column == 0) {
            text_addf(text, "%*s", (int)indent, "");
            column = indent + width;
        } else {
            text_add_char(text, ' ');
            column += 1 + width;
        }
        text_add_bytes(text, string, length);
        string += length + strspn(string + length, " ");
    }
    text_add_char(text, '\n');
}

static int lower(char c) {
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : (unsigned char)c;
}

static uint32_t min2(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

// Edit distance with swaps of neighbours (optimal string alignment), upper and lower case being
// equal. Three rows: before[], above[] and row[] belong to the prefixes i-2, i-1 and i of `a`.
static uint32_t distance(const char *a, size_t a_length, const char *b, size_t b_length) {
    uint32_t rows[3][NEAREST_BYTES + 1];
    uint32_t *before = rows[0], *above = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b_length; j++) before[j] = above[j] = (uint32_t)j;
    for (size_t i = 1; i <= a_length; i++) {
        row[0] = (uint32_t)i;
        for (size_t j = 1; j <= b_length; j++) {
            uint32_t replace = above[j - 1] + (lower(a[i - 1]) != lower(b[j - 1]));
            row[j] = min2(replace, 1 + min2(above[j], row[j - 1]));
            bool swapped = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                           lower(a[i - 2]) == lower(b[j - 1]);
            if (swapped) row[j] = min2(row[j], before[j - 2] + 1);
        }
        uint32_t *oldest = before;
        before = above, above = row, row = oldest;
    }
    return above[b_length];
}

// Near enough: at most one edit for each three letters of the longer word.
uint32_t text_nearest(const char *word, const char *const *candidates, uint32_t count) {
    uint32_t best = UINT32_MAX, best_distance = UINT32_MAX;
    size_t length = strlen(word);
    if (length > NEAREST_BYTES) return UINT32_MAX;
    for (uint32_t i = 0; i < count; i++) {
        size_t other = strlen(candidates[i]);
        if (other > NEAREST_BYTES) continue;
        size_t longer = length > other ? length : other;
        size_t shorter = length < other ? length : other;
        if (longer - shorter > longer / 3) continue;
        uint32_t edits = distance(word, length, candidates[i], other);
        if (edits <= longer / 3 && edits < best_distance) {
            best = i;
            best_distance = edits;
        }
    }
    return best;
}

int text_compare(const void *left, const void *right) {
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

bool text_parse_u64(const char *string, uint64_t *out) {
    uint64_t value = 0;
    if (*string == '\0') return false;
    for (; *string != '\0'; string++) {
        if (!is_digit(*string)) return false;
        uint64_t digit = (uint64_t)(*string - '0');
        if (value > (UINT64_MAX - digit) / 10) return false;
        value = value * 10 + digit;
    }
    *out = value;
    return true;
}

static const char *skip_digits(const char *string) {
    while (is_digit(*string)) string++;
    return string;
}

// [-] digits [. digits] [e [+-] digits]: no hexadecimal, no "inf", no spaces.
static bool is_decimal(const char *string) {
    if (*string == '-') string++;
    const char *end = skip_digits(string);
    if (end == string) return false;
    if (*end == '.') {
        string = end + 1;
        end = skip_digits(string);
        if (end == string) return false;
    }
    if (*end == 'e' || *end == 'E') {
        string = end + 1;
        if (*string == '+' || *string == '-') string++;
        end = skip_digits(string);
        if (end == string) return false;
    }
    return *end == '\0';
}

// The exponent that follows 'e', saturated: strtod sees no difference beyond 1e8.
static int read_exponent(const char *string) {
    bool negative = *string == '-';
    int value = 0;
    if (*string == '-' || *string == '+') string++;
    for (; *string != '\0'; string++) {
        if (value < 100000000) value = value * 10 + (*string - '0');
    }
    return negative ? -value : value;
}

// "-12.5e3" is handed to strtod as "-125e2": without a point, the locale has no part in it.
bool text_parse_double(const char *string, double *out) {
    if (!is_decimal(string)) return false;
    Text plain = {0};
    size_t mantissa = strcspn(string, "eE"), whole = strcspn(string, ".eE");
    int exponent = string[mantissa] == '\0' ? 0 : read_exponent(string + mantissa + 1);
    text_add_bytes(&plain, string, whole);
    if (whole < mantissa) {
        size_t decimals = mantissa - whole - 1;
        text_add_bytes(&plain, string + whole + 1, decimals);
        exponent -= decimals > 100000000 ? 100000000 : (int)decimals;
    }
    text_addf(&plain, "e%d", exponent);
    double value = strtod(text_string(&plain), NULL);
    text_free(&plain);
    if (!isfinite(value)) return false;
    *out = value;
    return true;
}
