// Quantities: a decimal number and a unit, read and written without a double in between.
//
// Method: "1.25 GB" is the integer 125 with 2 decimals; value = 125 * 1e9 / 10^2 in 128 bits,
// refused unless the division is exact. Invariant: what units_write_* writes, units_parse_* reads
// back.
#include "model/base/units.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "model/base/text.h"
#include "model/base/wide.h"

// Forms decide who uses a unit for output: PLAIN for people and files, BINARY for files, ALIAS for
// none.
typedef enum UnitForm { PLAIN, BINARY, ALIAS } UnitForm;

typedef struct Unit {
    const char *name;
    uint64_t scale;  // base units in one
    uint32_t pieces; // one base unit is this many of `name` / scale: 8 for bits, else 1
    UnitForm form;
} Unit;

typedef struct Quantity {
    const char *expected; // what the user should have written
    const char *whole;    // what a fraction of the base unit offends
    const char *limit;    // the largest round value
    uint64_t max;
    const Unit *units; // by descending scale within PLAIN and BINARY; ends with a NULL name
} Quantity;

#define KI (UINT64_C(1) << 10)
#define MI (UINT64_C(1) << 20)
#define GI (UINT64_C(1) << 30)
#define TI (UINT64_C(1) << 40)
#define PI (UINT64_C(1) << 50)

#define K UINT64_C(1000)
#define M UINT64_C(1000000)
#define G UINT64_C(1000000000)
#define T UINT64_C(1000000000000)
#define P UINT64_C(1000000000000000)

static const Unit byte_units[] = {
    {"PiB", PI, 1, BINARY}, {"PB", P, 1, PLAIN}, {"TiB", TI, 1, BINARY}, {"TB", T, 1, PLAIN},
    {"GiB", GI, 1, BINARY}, {"GB", G, 1, PLAIN}, {"MiB", MI, 1, BINARY}, {"MB", M, 1, PLAIN},
    {"KiB", KI, 1, BINARY}, {"kB", K, 1, PLAIN}, {"B", 1, 1, PLAIN},     {"KB", K, 1, ALIAS},
    {NULL, 0, 0, PLAIN},
};

static const Unit rate_units[] = {
    {"PiB/s", PI, 1, BINARY}, {"PB/s", P, 1, PLAIN},    {"TiB/s", TI, 1, BINARY},
    {"TB/s", T, 1, PLAIN},    {"GiB/s", GI, 1, BINARY}, {"GB/s", G, 1, PLAIN},
    {"MiB/s", MI, 1, BINARY}, {"MB/s", M, 1, PLAIN},    {"KiB/s", KI, 1, BINARY},
    {"kB/s", K, 1, PLAIN},    {"B/s", 1, 1, PLAIN},     {"KB/s", K, 1, ALIAS},
    {"Tbit/s", T, 8, ALIAS},  {"Gbit/s", G, 8, ALIAS},  {"Mbit/s", M, 8, ALIAS},
    {"kbit/s", K, 8, ALIAS},  {"bit/s", 1, 8, ALIAS},   {"Tbps", T, 8, ALIAS},
    {"Gbps", G, 8, ALIAS},    {"Mbps", M, 8, ALIAS},    {NULL, 0, 0, PLAIN},
};

// In picoseconds. The micro sign exists twice: U+00B5 and the Greek letter U+03BC.
static const Unit time_units[] = {
    {"h", 3600 * T, 1, PLAIN}, {"min", 60 * T, 1, PLAIN},  {"s", T, 1, PLAIN},
    {"ms", G, 1, PLAIN},       {"us", M, 1, PLAIN},        {"ns", K, 1, PLAIN},
    {"ps", 1, 1, PLAIN},       {"\xc2\xb5s", M, 1, ALIAS}, {"\xce\xbcs", M, 1, ALIAS},
    {NULL, 0, 0, PLAIN},
};

#define SECONDS   (time_units + 2)
#define MINUTES_S 600 // shorter times are seconds for people

static const Unit flops_units[] = {
    {"Pflop/s", P, 1, PLAIN}, {"Tflop/s", T, 1, PLAIN}, {"Gflop/s", G, 1, PLAIN},
    {"Mflop/s", M, 1, PLAIN}, {"kflop/s", K, 1, PLAIN}, {"flop/s", 1, 1, PLAIN},
    {"PFLOPS", P, 1, ALIAS},  {"TFLOPS", T, 1, ALIAS},  {NULL, 0, 0, PLAIN},
};

static const Unit count_units[] = {
    {"G", G, 1, PLAIN}, {"Mi", MI, 1, BINARY}, {"M", M, 1, PLAIN},  {"Ki", KI, 1, BINARY},
    {"k", K, 1, PLAIN}, {"", 1, 1, PLAIN},     {NULL, 0, 0, PLAIN},
};

// Indexed by UnitsKind. Limits are UINT64_MAX and TIME_MAX rounded down to a unit.
static const Quantity quantities[] = {
    {"a size such as \"80 GiB\"", "a size in whole bytes", "18446 PB", UINT64_MAX, byte_units},
    {"a rate such as \"400 Gbit/s\"", "a rate in whole bytes per second", "18446 PB/s", UINT64_MAX,
     rate_units},
    {"a time such as \"500 ns\"", "a time in whole picoseconds", "2562 h", TIME_MAX, time_units},
    {"a time such as \"50ms\"", "a time in whole picoseconds", "2562 h", TIME_MAX, time_units},
    {"a speed such as \"2.5 Pflop/s\"", "a speed in whole flop/s", "18446 Pflop/s", UINT64_MAX,
     flops_units},
    {"a count such as \"4096\" or \"8k\"", "a whole count", "18446744073 G", UINT64_MAX,
     count_units},
};
_Static_assert(sizeof quantities / sizeof quantities[0] == UNITS_COUNT + 1,
               "one row per UnitsKind");

// A decimal number digits / 10^decimals without trailing zeros in the fraction.
typedef struct Decimal {
    uint64_t digits;
    uint32_t decimals;
    bool overflow; // more digits than 64 bits hold
} Decimal;

#define DECIMALS_MAX 18 // 10^18 < 2^64; finer fractions are below every base unit

static const char *read_digits(const char *text, const char *end, Decimal *number) {
    for (; text < end; text++) {
        uint64_t digit = (uint64_t)(*text - '0');
        if (number->digits > (UINT64_MAX - digit) / 10) number->overflow = true;
        number->digits = number->digits * 10 + digit;
    }
    return end;
}

static const char *digits_end(const char *text) {
    while (*text >= '0' && *text <= '9') text++;
    return text;
}

// Reads "12" or "12.50"; returns the rest of the text, or NULL when there is no number.
static const char *read_decimal(const char *text, Decimal *number) {
    const char *end = digits_end(text);
    if (end == text) return NULL;
    text = read_digits(text, end, number);
    if (*text != '.') return text;
    const char *fraction = text + 1;
    end = digits_end(fraction);
    if (end == fraction) return NULL;
    const char *last = end;
    while (last > fraction && last[-1] == '0') last--;
    read_digits(fraction, last, number);
    number->decimals =
        last - fraction > DECIMALS_MAX ? DECIMALS_MAX + 1 : (uint32_t)(last - fraction);
    return end;
}

static const Unit *find_unit(const Quantity *quantity, const char *name) {
    for (const Unit *unit = quantity->units; unit->name != NULL; unit++) {
        if (strcmp(unit->name, name) == 0) return unit;
    }
    return NULL;
}

static Wide power_of_ten(uint32_t exponent) {
    Wide power = 1;
    while (exponent-- > 0) power *= 10;
    return power;
}

// What is wrong after a number, where that is plain.
static const char *unit_fault(const char *rest) {
    if (rest == NULL) return "";
    if (*rest == '\0') return ": no unit";
    bool is_word =
        rest[strspn(rest, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ/")] == '\0';
    return is_word ? ": unknown unit" : "";
}

// What becomes of a part of the base unit.
typedef enum Fraction { FRACTION_REFUSED, FRACTION_DROPPED } Fraction;

static bool parse(const Quantity *quantity, Fraction fraction, const char *text, uint64_t *out,
                  Err *err) {
    char quote[TEXT_QUOTE_MAX];
    Decimal number = {0};
    const char *rest = read_decimal(text, &number);
    if (rest != NULL && *rest == ' ' && rest[1] != '\0') rest++;
    const Unit *unit = rest == NULL ? NULL : find_unit(quantity, rest);
    text_quote(text, quote);
    if (unit == NULL)
        return err_set(err, "expected %s, found %s%s", quantity->expected, quote, unit_fault(rest));
    Wide product = wide_mul(number.digits, unit->scale), divisor = unit->pieces;
    if (number.decimals <= DECIMALS_MAX) divisor *= power_of_ten(number.decimals);
    bool is_whole = number.overflow || fraction == FRACTION_DROPPED || product % divisor == 0;
    if (number.decimals > DECIMALS_MAX || !is_whole) {
        return err_set(err, "expected %s, found %s", quantity->whole, quote);
    }
    if (number.overflow || product / divisor > quantity->max) {
        return err_set(err, "expected at most %s, found %s", quantity->limit, quote);
    }
    *out = (uint64_t)(product / divisor);
    return true;
}

const char *units_expected(UnitsKind kind) {
    return quantities[kind].expected;
}

bool units_parse(UnitsKind kind, const char *text, uint64_t *out, Err *err) {
    return parse(&quantities[kind], FRACTION_REFUSED, text, out, err);
}

bool units_parse_bytes_down(const char *text, uint64_t *out_B, Err *err) {
    return parse(&quantities[UNITS_BYTES], FRACTION_DROPPED, text, out_B, err);
}

bool units_parse_bytes(const char *text, uint64_t *out_B, Err *err) {
    return units_parse(UNITS_BYTES, text, out_B, err);
}

bool units_parse_rate(const char *text, uint64_t *out_Bps, Err *err) {
    return units_parse(UNITS_RATE, text, out_Bps, err);
}

bool units_parse_time(const char *text, Time *out_ps, Err *err) {
    uint64_t ps;
    if (!units_parse(UNITS_TIME, text, &ps, err)) return false;
    *out_ps = (Time)ps;
    return true;
}

bool units_parse_flops(const char *text, uint64_t *out_flops, Err *err) {
    return units_parse(UNITS_FLOPS, text, out_flops, err);
}

bool units_parse_count(const char *text, uint64_t *out, Err *err) {
    return units_parse(UNITS_COUNT, text, out, err);
}

static Wide round_div(Wide a, uint64_t b) {
    return (a + b / 2) / b;
}

// value / scale with three significant digits, halves up; false when that rounds to `limit` or
// more.
static bool format_scaled(uint64_t value, const Unit *unit, uint64_t limit, char *buffer) {
    static const uint64_t tens[] = {1, 10, 100};
    uint64_t first = value / unit->scale;
    int decimals = unit->scale == 1 || first >= 100 ? 0 : first >= 10 ? 1 : 2;
    Wide scaled = round_div(wide_mul(value, tens[decimals]), unit->scale);
    if (decimals > 0 && scaled >= 1000) {
        scaled = round_div(wide_mul(value, tens[--decimals]), unit->scale);
    }
    uint64_t whole = (uint64_t)(scaled / tens[decimals]);
    unsigned part = (unsigned)(scaled % tens[decimals]) % 100;
    if (whole >= limit) return false;
    if (decimals == 0) {
        snprintf(buffer, UNITS_TEXT_MAX - 1, "%" PRIu64 " %.8s", whole, unit->name);
    } else {
        snprintf(buffer, UNITS_TEXT_MAX - 1, "%u.%0*u %.8s", (unsigned)whole % 1000, decimals, part,
                 unit->name);
    }
    return true;
}

// The largest unit for people that is not above the value; the next larger one where rounding
// reaches it.
static char *format(const Unit *units, uint64_t value, char *buffer) {
    const Unit *larger = NULL, *unit = units;
    for (; unit->scale != 1; unit++) {
        if (unit->form != PLAIN) continue;
        if (unit->scale <= value) break;
        larger = unit;
    }
    uint64_t limit = larger == NULL ? UINT64_MAX : larger->scale / unit->scale;
    if (!format_scaled(value, unit, limit, buffer))
        format_scaled(larger->scale, larger, UINT64_MAX, buffer);
    return buffer;
}

static uint64_t magnitude(Time ps) {
    return ps < 0 ? 0 - (uint64_t)ps : (uint64_t)ps;
}

char *units_format_time(Time ps, char *buffer) {
    size_t sign = ps < 0;
    uint64_t size = magnitude(ps);
    buffer[0] = '-';
    format(size < MINUTES_S * T ? SECONDS : time_units, size, buffer + sign);
    return buffer;
}

char *units_format_bytes(uint64_t B, char *buffer) {
    return format(byte_units, B, buffer);
}

char *units_format_rate(uint64_t Bps, char *buffer) {
    return format(rate_units, Bps, buffer);
}

static char *write_exact(const Unit *units, uint64_t value, char *buffer) {
    const Unit *unit = units;
    while (unit->scale != 1 && (value == 0 || value % unit->scale != 0)) unit++;
    snprintf(buffer, UNITS_TEXT_MAX - 1, "%" PRIu64 " %s", value / unit->scale, unit->name);
    return buffer;
}

char *units_write_time(Time ps, char *buffer) {
    size_t sign = ps < 0;
    buffer[0] = '-';
    write_exact(time_units, magnitude(ps), buffer + sign);
    return buffer;
}

char *units_write_bytes(uint64_t B, char *buffer) {
    return write_exact(byte_units, B, buffer);
}

char *units_write_rate(uint64_t Bps, char *buffer) {
    return write_exact(rate_units, Bps, buffer);
}
