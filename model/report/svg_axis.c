// Ends and ticks of axes.
//
// Ticks are whole multiples of 1, 2 or 5 times a power of ten: they are counted as integers and
// written from them, so that a tick is never "0.30000000000000004". Invariant: low < high once
// settled, and every value that was shown lies between them.
#include "model/report/svg_axis.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/base/num.h"

#define INTERVALS  6     // that a linear axis aims at, at most 7 with both ends rounded outwards
#define SIZE_MAX_V 1e100 // beyond, sums and ratios could leave the doubles
#define NEAR       1e-9  // parts: values closer than this are one, and a tick is reached

// digits * 10^exponent
typedef struct Decimal {
    int64_t digits;
    int exponent;
} Decimal;

static double power_of_ten(int exponent) {
    return exponent < 0 ? 1 / num_pow_int(10, (uint64_t)-exponent)
                        : num_pow_int(10, (uint64_t)exponent);
}

// One rounding for the powers that are exact doubles, up to 10^22.
static double decimal_value(Decimal decimal) {
    if (decimal.exponent >= 0) return (double)decimal.digits * power_of_ten(decimal.exponent);
    return (double)decimal.digits / num_pow_int(10, (uint64_t)-decimal.exponent);
}

// The largest k with 10^k <= value, for value > 0.
static int decade(double value) {
    int k = 0;
    while (k < 300 && decimal_value((Decimal){1, k + 1}) <= value) k++;
    while (k > -300 && decimal_value((Decimal){1, k}) > value) k--;
    return k;
}

// 1, 2, 5 times a power of ten: the next below or above.
static Decimal step_down(Decimal step) {
    if (step.digits == 1) return (Decimal){5, step.exponent - 1};
    return (Decimal){step.digits == 5 ? 2 : 1, step.exponent};
}

static Decimal step_up(Decimal step) {
    if (step.digits == 5) return (Decimal){1, step.exponent + 1};
    return (Decimal){step.digits == 1 ? 2 : 5, step.exponent};
}

// The largest that is at most `value`, the smallest that is at least it.
static Decimal step_below(double value) {
    Decimal step = {5, decade(value)};
    while (step.digits > 1 && decimal_value(step) > value) step = step_down(step);
    return step;
}

static Decimal step_above(double value) {
    Decimal step = step_below(value);
    return decimal_value(step) < value * (1 - NEAR) ? step_up(step) : step;
}

// ---- Text of a tick

typedef struct Prefix {
    int exponent;
    const char *text;
} Prefix;

// Units with their prefixes, the largest first; the last one takes all that is smaller.
static const Prefix prefixes_count[] = {{12, "T"}, {9, "G"}, {6, "M"}, {3, "k"}, {0, ""}};
static const Prefix prefixes_seconds[] = {
    {0, " s"}, {-3, " ms"}, {-6, " us"}, {-9, " ns"}, {-12, " ps"}};
static const Prefix prefixes_bytes[] = {{15, " PB"}, {12, " TB"}, {9, " GB"},
                                        {6, " MB"},  {3, " kB"},  {0, " B"}};
static const Prefix prefixes_rate[] = {{15, " PB/s"}, {12, " TB/s"}, {9, " GB/s"},
                                       {6, " MB/s"},  {3, " kB/s"},  {0, " B/s"}};
static const Prefix prefixes_percent[] = {{0, " %"}};

typedef struct Prefixes {
    const Prefix *items;
    uint32_t count;
    int least; // digits before the point that a prefix has to leave, minus one
} Prefixes;

static Prefixes prefixes_of(SvgUnit unit) {
#define OF(array) array, sizeof(array) / sizeof *(array)
    switch (unit) {
    case SVG_COUNT: // "4000", and "40k"
    case SVG_DOLLARS: return (Prefixes){OF(prefixes_count), 1};
    case SVG_SECONDS: return (Prefixes){OF(prefixes_seconds), 0};
    case SVG_BYTES: return (Prefixes){OF(prefixes_bytes), 0};
    case SVG_BYTES_PER_SECOND: return (Prefixes){OF(prefixes_rate), 0};
    case SVG_PERCENT: return (Prefixes){OF(prefixes_percent), 0};
    }
#undef OF
    return (Prefixes){0};
}

// The prefix in which `size` reads best.
static Prefix prefix_for(SvgUnit unit, double size) {
    Prefixes all = prefixes_of(unit);
    uint32_t i = 0;
    while (i + 1 < all.count &&
           decimal_value((Decimal){1, all.items[i].exponent + all.least}) > size * (1 + NEAR))
        i++;
    return all.items[i];
}

// The decimal without an exponent where that is short; zeros at the end of a fraction say nothing.
static void add_decimal(Text *out, Decimal value) {
    unsigned long long digits = (unsigned long long)llabs(value.digits), unit = 1;
    if (value.digits < 0) text_add_char(out, '-');
    if (value.exponent > 6 || value.exponent < -9) {
        text_addf(out, "%llue%d", digits, value.exponent);
        return;
    }
    for (int i = 0; i < abs(value.exponent); i++) unit *= 10;
    if (value.exponent >= 0) {
        text_addf(out, "%llu", digits * unit);
        return;
    }
    text_addf(out, "%llu", digits / unit);
    if (digits % unit > 0) text_add_char(out, '.');
    for (digits %= unit; digits > 0; digits = digits * 10 % unit)
        text_add_char(out, (char)('0' + digits * 10 / unit));
}

// `size` decides the prefix: the larger end of a linear axis, the tick itself of a logarithmic one.
static void add_tick(SvgAxisRange *range, Decimal value, double size) {
    Prefix prefix = prefix_for(range->axis->unit, size);
    Text text = {0};
    if (range->axis->unit == SVG_DOLLARS) text_add_char(&text, '$');
    if (value.digits == 0)
        text_add_char(&text, '0');
    else
        add_decimal(&text, (Decimal){value.digits, value.exponent - prefix.exponent});
    if (value.digits != 0 || *prefix.text == ' ') text_add(&text, prefix.text); // "0 ms", not "0k"
    range->tick_at[range->tick_count] = decimal_value(value);
    snprintf(range->tick_text[range->tick_count++], SVG_AXIS_TEXT, "%s", text_string(&text));
    text_free(&text);
}

// ---- Ends

bool svg_axis_holds(const SvgAxis *axis, double value) {
    if (!(value >= -SIZE_MAX_V && value <= SIZE_MAX_V)) return false;
    return axis->scale != SVG_LOGARITHMIC || value >= 1 / SIZE_MAX_V;
}

void svg_axis_reach(SvgAxisRange *range, double value) {
    if (!svg_axis_holds(range->axis, value)) return;
    if (!range->has_value || value < range->low) range->low = value;
    if (!range->has_value || value > range->high) range->high = value;
    range->has_value = true;
}

// Values that are all (nearly) the same are seen from zero.
static void widen(SvgAxisRange *range) {
    double size = fabs(range->high) > fabs(range->low) ? fabs(range->high) : fabs(range->low);
    bool same = range->high - range->low <= size * NEAR;
    if (range->axis->scale == SVG_FROM_ZERO || same) {
        if (range->low > 0) range->low = 0;
        if (range->high < 0) range->high = 0;
    }
    if (size < 1 / SIZE_MAX_V) range->high = 1;
}

static void settle_linear(SvgAxisRange *range) {
    widen(range);
    Decimal step = step_above((range->high - range->low) / INTERVALS);
    double unit = decimal_value(step);
    int64_t first = (int64_t)floor(range->low / unit + NEAR);
    int64_t last = (int64_t)ceil(range->high / unit - NEAR);
    double low = decimal_value((Decimal){first * step.digits, step.exponent});
    double high = decimal_value((Decimal){last * step.digits, step.exponent});
    double size = fabs(high) > fabs(low) ? fabs(high) : fabs(low);
    if (low < range->low) range->low = low;
    if (high > range->high) range->high = high;
    for (int64_t i = first; i <= last && range->tick_count < SVG_AXIS_TICKS; i++)
        add_tick(range, (Decimal){i * step.digits, step.exponent}, size);
}

// The ends are 1, 2 or 5 times a power of ten. So are the ticks where they are few, else powers of
// ten, else every so many of these.
static void settle_log(SvgAxisRange *range) {
    if (!range->has_value) range->low = range->high = 1;
    Decimal first = step_below(range->low), last = step_above(range->high), tick = first;
    if (decimal_value(first) >= decimal_value(last)) last = step_up(first);
    double end = decimal_value(last);
    int decades = last.exponent - first.exponent;
    if (decades >= 3) tick = (Decimal){1, first.exponent + (first.digits > 1)};
    while (decimal_value(tick) <= end && range->tick_count < SVG_AXIS_TICKS) {
        add_tick(range, tick, decimal_value(tick));
        if (decades >= 3)
            tick.exponent += decades / 8 + 1;
        else
            tick = step_up(tick);
    }
    if (decimal_value(first) < range->low) range->low = decimal_value(first);
    if (end > range->high) range->high = end;
}

// Ticks of the caller: the ends are the outermost of them and of the values.
static void settle_given(SvgAxisRange *range) {
    const SvgAxis *axis = range->axis;
    for (uint32_t i = 0; i < axis->tick_count; i++) svg_axis_reach(range, axis->ticks[i].at);
    if (axis->scale == SVG_LOGARITHMIC) {
        if (!range->has_value) range->low = 1;
        if (range->high <= range->low * (1 + NEAR)) range->high = 2 * range->low;
    } else {
        widen(range);
    }
}

void svg_axis_settle(SvgAxisRange *range) {
    if (range->axis->tick_count > 0)
        settle_given(range);
    else if (range->axis->scale == SVG_LOGARITHMIC)
        settle_log(range);
    else
        settle_linear(range);
}

// ---- Ticks and places

uint32_t svg_axis_tick_count(const SvgAxisRange *range) {
    return range->axis->tick_count > 0 ? range->axis->tick_count : range->tick_count;
}

double svg_axis_tick_at(const SvgAxisRange *range, uint32_t index) {
    return range->axis->tick_count > 0 ? range->axis->ticks[index].at : range->tick_at[index];
}

const char *svg_axis_tick_text(const SvgAxisRange *range, uint32_t index) {
    return range->axis->tick_count > 0 ? range->axis->ticks[index].text : range->tick_text[index];
}

int32_t svg_axis_place(const SvgAxisRange *range, double value, int32_t length) {
    double part = range->axis->scale == SVG_LOGARITHMIC
                      ? num_log(value / range->low) / num_log(range->high / range->low)
                      : (value - range->low) / (range->high - range->low);
    if (!(part > 0)) return 0;
    return part >= 1 ? length : (int32_t)num_round(part * length);
}
