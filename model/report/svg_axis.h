// An axis: from the values that it has to hold to its ends, its ticks and places along it.
#ifndef MODEL_REPORT_SVG_AXIS_H
#define MODEL_REPORT_SVG_AXIS_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/text.h"
#include "model/report/svg.h"

#define SVG_AXIS_TICKS 16 // at most, when they are chosen here
#define SVG_AXIS_TEXT  40

// Zero it, set `axis`, show it all values, settle it; then ticks and places.
typedef struct SvgAxisRange {
    const SvgAxis *axis; // borrowed
    bool has_value;
    double low, high; // of the values; once settled, the ends
    uint32_t tick_count;
    double tick_at[SVG_AXIS_TICKS]; // when the axis has none of its own
    char tick_text[SVG_AXIS_TICKS][SVG_AXIS_TEXT];
} SvgAxisRange;

// False for values that have no place on the axis.
bool svg_axis_holds(const SvgAxis *axis, double value);
void svg_axis_reach(SvgAxisRange *range, double value);
void svg_axis_settle(SvgAxisRange *range);

uint32_t svg_axis_tick_count(const SvgAxisRange *range);
double svg_axis_tick_at(const SvgAxisRange *range, uint32_t index);
const char *svg_axis_tick_text(const SvgAxisRange *range, uint32_t index);

// Where a value that the axis holds lies on a line of `length` tenths, 0 to length.
int32_t svg_axis_place(const SvgAxisRange *range, double value, int32_t length);

#endif
