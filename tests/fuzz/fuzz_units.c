// Any string as a quantity: what is accepted is written back to the same value, what is refused
// leaves a line and no value.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model/base/text.h"
#include "model/base/units.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_written(UnitsKind kind, uint64_t value) {
    char buffer[UNITS_TEXT_MAX];
    Err err = {0};
    uint64_t back = 0;
    switch (kind) {
    case UNITS_BYTES:
        units_format_bytes(value, buffer);
        units_write_bytes(value, buffer);
        break;
    case UNITS_RATE:
        units_format_rate(value, buffer);
        units_write_rate(value, buffer);
        break;
    case UNITS_TIME:
    case UNITS_DURATION:
        units_format_time(-(Time)value, buffer);
        units_format_time((Time)value, buffer);
        units_write_time((Time)value, buffer);
        break;
    case UNITS_FLOPS:
    case UNITS_COUNT: return;
    }
    if (!units_parse(kind, buffer, &back, &err) || back != value) abort();
}

static void check_kind(UnitsKind kind, const char *text) {
    const uint64_t untouched = 0x5eed;
    Err err = {0};
    uint64_t value = untouched;
    if (units_parse(kind, text, &value, &err)) {
        if (err_is_set(&err) || strpbrk(text, "-+e,") == text) abort();
        check_written(kind, value);
    } else if (value != untouched || !err_is_set(&err) ||
               !text_is_utf8(err.text, strlen(err.text))) {
        abort();
    }
}

static void check_double(const char *text) {
    double value = 0, back = 0;
    uint64_t whole;
    text_parse_u64(text, &whole);
    if (!text_parse_double(text, &value)) return;
    Text written = {0};
    text_add_double(&written, value);
    if (!text_parse_double(text_string(&written), &back)) abort();
    if (memcmp(&back, &value, sizeof value) != 0) abort();
    text_free(&written);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1);
    if (text == NULL) return 0;
    if (size > 0) memcpy(text, data, size);
    text[size] = '\0';
    for (UnitsKind kind = UNITS_BYTES; kind <= UNITS_COUNT; kind++) check_kind(kind, text);
    check_double(text);
    free(text);
    return 0;
}
