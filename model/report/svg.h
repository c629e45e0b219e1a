// Charts as SVG text: points and lines over two axes, winners over a grid, stacked bars.
//
// The text is one <svg> element that stands alone as a file and inside an HTML page: no
// identifiers, no fonts, no scripts, no links; colours follow the reader's light or dark scheme.
// The same chart gives the same bytes. Strings are escaped here, and pass as UTF-8 on one line; a
// tooltip may have several lines. All pointers of a chart are borrowed.
//
//     SvgPoint points[] = {{.x = 0.020, .y = 4450, .note = "TP1 DP8: TPOT 20.0 ms"}};
//     SvgSeries series[] = {{.name = "plans", .points = points, .count = 1}};
//     SvgXY chart = {.title = "all plans", .x = {.title = "TPOT", .unit = SVG_SECONDS},
//                    .y = {.title = "tok/s/GPU"}, .series = series, .series_count = 1};
//     svg_xy(&chart, &text);
#ifndef MODEL_REPORT_SVG_H
#define MODEL_REPORT_SVG_H

#include <stdint.h>

#include "model/base/text.h"

#define SVG_NO_WINNER UINT32_MAX // a cell of SvgHeat that nothing wins

// What values of an axis are, so that ticks read "20 ms", "80 GB", "4k", "$2.50", "40 %". Values
// are in seconds, bytes, bytes per second, ..., percent.
typedef enum SvgUnit {
    SVG_COUNT, // of anything; the title says of what
    SVG_SECONDS,
    SVG_BYTES,
    SVG_BYTES_PER_SECOND,
    SVG_DOLLARS,
    SVG_PERCENT
} SvgUnit;

typedef enum SvgScale {
    SVG_FROM_ZERO,  // linear, with 0 on the axis
    SVG_FITTED,     // linear, around the values
    SVG_LOGARITHMIC // values that are not above 0 have no place and are left out
} SvgScale;

// A tick chosen by the caller, such as a value that a sweep took.
typedef struct SvgTick {
    double at;
    const char *text;
} SvgTick;

typedef struct SvgAxis {
    const char *title;
    SvgUnit unit;
    SvgScale scale;
    const SvgTick *ticks; // instead of round values; the axis reaches over all of them
    uint32_t tick_count;
} SvgAxis;

// Values that are not finite are left out.
typedef struct SvgPoint {
    double x, y;
    const char *note;  // tooltip; NULL: none
    const char *label; // drawn beside the point; NULL: none
} SvgPoint;

typedef enum SvgMark {
    SVG_DOTS,
    SVG_LINE,         // dots joined in their order; a value that is left out breaks the line
    SVG_STEP_X_FIRST, // the same by steps: along x to the next point, then along y
    SVG_STEP_Y_FIRST
} SvgMark;

typedef struct SvgSeries {
    const char *name; // in the legend
    SvgMark mark;
    const SvgPoint *points;
    uint32_t count;
} SvgSeries;

// The colour of a series is its position.
typedef struct SvgXY {
    const char *title;
    SvgAxis x, y;
    const SvgSeries *series;
    uint32_t series_count;
} SvgXY;

// Which of `winners` is best in each cell of a grid: a colour and a letter for each winner, told in
// the legend, and under the letter what the caller says of the cell.
typedef struct SvgHeat {
    const char *title, *x_title, *y_title;
    const char *const *x_labels; // [columns], left to right
    const char *const *y_labels; // [rows], bottom to top
    uint32_t columns, rows;      // at least 1
    const char *const *winners;
    uint32_t winner_count;
    const uint32_t *cells;    // [rows][columns]: position among the winners, or SVG_NO_WINNER
    const char *const *texts; // [rows][columns], short: "4450"; NULL: none
    const char *const *notes; // [rows][columns], tooltips; NULL: none
} SvgHeat;

// One horizontal bar for each name, put together of parts. Parts that are 0 everywhere are not in
// the legend; negative ones are left out.
typedef struct SvgBars {
    const char *title;
    SvgAxis axis; // from zero
    const char *const *names;
    uint32_t bar_count;
    const char *const *parts;
    uint32_t part_count;
    const double *values;     // [bar_count][part_count]
    const char *const *notes; // [bar_count][part_count], tooltips; NULL: none
    double limit;             // a line across all bars, such as usable memory; 0: none
    const char *limit_name;
} SvgBars;

void svg_xy(const SvgXY *chart, Text *out);
void svg_heat(const SvgHeat *chart, Text *out);
void svg_bars(const SvgBars *chart, Text *out);

// The string as text of an element or of an attribute in double quotes, of XML and of HTML: & < > "
// ' by name, what XML has no place for (controls, broken UTF-8) as U+FFFD; newlines are kept.
void svg_add_escaped(Text *out, const char *string);

#endif
