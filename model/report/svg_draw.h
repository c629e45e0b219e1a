// Elements that all charts are made of. Coordinates count tenths of a user unit, in whole numbers,
// so that no rounding of a printf reaches the text.
#ifndef MODEL_REPORT_SVG_DRAW_H
#define MODEL_REPORT_SVG_DRAW_H

#include <stddef.h>
#include <stdint.h>

#include "model/base/text.h"

#define SVG_DRAW_UNIT   10   // tenths of a user unit
#define SVG_DRAW_WIDTH  7600 // of a chart
#define SVG_DRAW_LEFT   160  // margin of titles and legends
#define SVG_DRAW_RIGHT  7440 // where titles, legends and plots end
#define SVG_DRAW_LETTER 70   // room for one column of text: wider than most letters of 12 px

typedef struct SvgSpot {
    int32_t x, y;
} SvgSpot;

typedef struct SvgBox {
    int32_t x, y, width, height;
} SvgBox;

// How a text lies at its spot; a headline is bold and starts there.
typedef enum SvgAnchor { SVG_START, SVG_MIDDLE, SVG_END, SVG_HEADLINE } SvgAnchor;

// An entry of a legend: "key name", or the name alone when the key is "".
typedef struct SvgLegend {
    const char *const *names;
    const char *const *keys; // NULL: none
    uint32_t count;
    const uint32_t *colours; // NULL: their positions
} SvgLegend;

// The element, its style, its background and the headline; `height` in tenths.
void svg_draw_open(Text *out, int32_t height, const char *title);
void svg_draw_close(Text *out);

// ` NAME="12.5"`
void svg_draw_attribute(Text *out, const char *name, int32_t tenths);
void svg_draw_number(Text *out, int32_t tenths);
// ` class="kN OTHER"`, with an opacity that tells colours of the palette's second and third round.
void svg_draw_colour(Text *out, uint32_t colour, const char *other);
// Ends an element that was opened by "<NAME ...": with the note as its tooltip, when there is one.
void svg_draw_end(Text *out, const char *name, const char *note);

// At most `columns` code points, the rest as "...".
void svg_draw_text(Text *out, SvgSpot at, SvgAnchor anchor, size_t columns, const char *string);
void svg_draw_line(Text *out, const char *class, SvgSpot from, SvgSpot to);
void svg_draw_box(Text *out, const char *class, const SvgBox *box);

int32_t svg_draw_legend_height(const SvgLegend *legend);
void svg_draw_legend(Text *out, const SvgLegend *legend, int32_t y);

#endif
