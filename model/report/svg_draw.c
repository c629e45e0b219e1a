// The elements of charts as text.
//
// Invariant: every string of a caller passes svg_add_escaped, every coordinate is a whole number of
// tenths; what is drawn in a light scheme has its twin in the dark one.
// Colours: Okabe and Ito, "Color Universal Design", 2008 (told apart by colour-blind readers), in
// another order, the grey for their black; lighter for the dark scheme.
#include "model/report/svg_draw.h"

#include <string.h>

#include "model/report/svg.h"

#define ROW_HEIGHT   180 // of a legend
#define SWATCH       100
#define ENTRY_GAP    320 // swatch, the blanks around it
#define NAME_COLUMNS 96  // of a legend: as wide as the chart

// light, dark
#define PALETTE(X)                                                                                 \
    X(0, "#0072b2", "#4fa8e0")                                                                     \
    X(1, "#d55e00", "#f0813a")                                                                     \
    X(2, "#009e73", "#2cc79b")                                                                     \
    X(3, "#cc79a7", "#dd93bb")                                                                     \
    X(4, "#e69f00", "#f2b632")                                                                     \
    X(5, "#56b4e9", "#8ccbf0")                                                                     \
    X(6, "#777777", "#a5a5a5")                                                                     \
    X(7, "#c9b700", "#f0e442")
#define COLOURS 8

static const char *const opacities[] = {"", " opacity=\"0.55\"", " opacity=\"0.3\""};
#define ROUNDS (sizeof opacities / sizeof *opacities)

static const char style[] =
    "<style>"
    ".chart text{font:12px sans-serif;fill:#222}"
    ".chart .title{font-weight:bold;font-size:14px}"
    ".chart .middle{text-anchor:middle}.chart .end{text-anchor:end}"
    ".chart .page{fill:#fff}.chart .grid{stroke:#ddd}.chart .axis{stroke:#444;fill:none}"
    ".chart .limit{stroke:#b00020;stroke-width:1.5;stroke-dasharray:5 3}"
#define X(number, light, dark) ".chart .k" #number "{fill:" light ";stroke:" light "}"
    PALETTE(X)
#undef X
        ".chart .line{fill:none;stroke-width:1.5}.chart .cell{fill-opacity:0.4;stroke:#fff}"
        "@media (prefers-color-scheme:dark){"
        ".chart text{fill:#e6e6e6}.chart .page{fill:#16181c}"
        ".chart .grid{stroke:#33373d}.chart .axis{stroke:#aaa}.chart .limit{stroke:#ff6b7d}"
#define X(number, light, dark) ".chart .k" #number "{fill:" dark ";stroke:" dark "}"
    PALETTE(X)
#undef X
        ".chart .line{fill:none}.chart .cell{stroke:#16181c}}"
        "</style>\n";

void svg_draw_number(Text *out, int32_t tenths) {
    int32_t size = tenths < 0 ? -tenths : tenths;
    if (tenths < 0) text_add_char(out, '-');
    text_addf(out, "%d", size / SVG_DRAW_UNIT);
    if (size % SVG_DRAW_UNIT != 0) text_addf(out, ".%d", size % SVG_DRAW_UNIT);
}

void svg_draw_attribute(Text *out, const char *name, int32_t tenths) {
    text_addf(out, " %s=\"", name);
    svg_draw_number(out, tenths);
    text_add_char(out, '"');
}

void svg_draw_colour(Text *out, uint32_t colour, const char *other) {
    text_addf(out, " class=\"k%u%s%s\"%s", colour % COLOURS, *other == '\0' ? "" : " ", other,
              opacities[colour / COLOURS % ROUNDS]);
}

void svg_draw_end(Text *out, const char *name, const char *note) {
    if (note == NULL) {
        text_add(out, "/>\n");
        return;
    }
    text_add(out, "><title>");
    svg_add_escaped(out, note);
    text_addf(out, "</title></%s>\n", name);
}

void svg_draw_open(Text *out, int32_t height, const char *title) {
    text_add(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" role=\"img\"");
    svg_draw_attribute(out, "width", SVG_DRAW_WIDTH);
    svg_draw_attribute(out, "height", height);
    text_add(out, " viewBox=\"0 0 ");
    svg_draw_number(out, SVG_DRAW_WIDTH);
    text_add_char(out, ' ');
    svg_draw_number(out, height);
    text_add(out, "\" aria-label=\"");
    svg_add_escaped(out, title);
    text_add(out, "\">\n");
    text_add(out, style);
    svg_draw_box(out, "page", &(SvgBox){0, 0, SVG_DRAW_WIDTH, height});
    svg_draw_text(out, (SvgSpot){SVG_DRAW_LEFT, 220}, SVG_HEADLINE, NAME_COLUMNS, title);
}

void svg_draw_close(Text *out) {
    text_add(out, "</svg>\n");
}

// Bytes of the first `columns` code points; the whole string when it has no more.
static size_t head_of(const char *string, size_t columns) {
    size_t length = strlen(string), at = 0;
    for (; at < length && columns > 0; columns--) {
        size_t bytes = text_code_point(string + at, length - at);
        at += bytes == 0 ? 1 : bytes;
    }
    return at;
}

void svg_draw_text(Text *out, SvgSpot at, SvgAnchor anchor, size_t columns, const char *string) {
    static const char *const classes[] = {[SVG_START] = "",
                                          [SVG_MIDDLE] = " class=\"middle\"",
                                          [SVG_END] = " class=\"end\"",
                                          [SVG_HEADLINE] = " class=\"title\""};
    text_addf(out, "<text%s", classes[anchor]);
    svg_draw_attribute(out, "x", at.x);
    svg_draw_attribute(out, "y", at.y);
    text_add_char(out, '>');
    if (head_of(string, columns) < strlen(string)) {
        Text head = {0};
        text_add_bytes(&head, string, head_of(string, columns > 3 ? columns - 3 : 0));
        text_add(&head, "...");
        svg_add_escaped(out, text_string(&head));
        text_free(&head);
    } else {
        svg_add_escaped(out, string);
    }
    text_add(out, "</text>\n");
}

void svg_draw_line(Text *out, const char *class, SvgSpot from, SvgSpot to) {
    text_addf(out, "<line class=\"%s\"", class);
    svg_draw_attribute(out, "x1", from.x);
    svg_draw_attribute(out, "y1", from.y);
    svg_draw_attribute(out, "x2", to.x);
    svg_draw_attribute(out, "y2", to.y);
    text_add(out, "/>\n");
}

void svg_draw_box(Text *out, const char *class, const SvgBox *box) {
    text_addf(out, "<rect class=\"%s\"", class);
    svg_draw_attribute(out, "x", box->x);
    svg_draw_attribute(out, "y", box->y);
    svg_draw_attribute(out, "width", box->width);
    svg_draw_attribute(out, "height", box->height);
    text_add(out, "/>\n");
}

// ---- Legend: entries beside each other until the line is full

static size_t key_columns(const SvgLegend *legend, uint32_t index) {
    return legend->keys == NULL ? 0 : text_columns(legend->keys[index]) + 1;
}

static int32_t entry_width(const SvgLegend *legend, uint32_t index) {
    size_t columns = key_columns(legend, index) + text_columns(legend->names[index]);
    if (columns > NAME_COLUMNS) columns = NAME_COLUMNS;
    return ENTRY_GAP + (int32_t)columns * SVG_DRAW_LETTER;
}

// Moves *at to where the entry starts; its line is the y.
static void place_entry(const SvgLegend *legend, uint32_t index, SvgSpot *at) {
    if (index == 0) return;
    at->x += entry_width(legend, index - 1);
    if (at->x + entry_width(legend, index) <= SVG_DRAW_RIGHT) return;
    at->x = SVG_DRAW_LEFT;
    at->y += ROW_HEIGHT;
}

int32_t svg_draw_legend_height(const SvgLegend *legend) {
    SvgSpot at = {SVG_DRAW_LEFT, 0};
    for (uint32_t i = 0; i < legend->count; i++) place_entry(legend, i, &at);
    return legend->count == 0 ? 0 : at.y + ROW_HEIGHT;
}

static void draw_entry(Text *out, const SvgLegend *legend, uint32_t index, SvgSpot at) {
    text_add(out, "<rect");
    svg_draw_colour(out, legend->colours == NULL ? index : legend->colours[index], "");
    svg_draw_attribute(out, "x", at.x);
    svg_draw_attribute(out, "y", at.y + 40);
    svg_draw_attribute(out, "width", SWATCH);
    svg_draw_attribute(out, "height", SWATCH);
    svg_draw_end(out, "rect", NULL);
    Text name = {0};
    if (legend->keys != NULL) text_addf(&name, "%s ", legend->keys[index]);
    text_add(&name, legend->names[index]);
    svg_draw_text(out, (SvgSpot){at.x + SWATCH + 60, at.y + 130}, SVG_START, NAME_COLUMNS,
                  text_string(&name));
    text_free(&name);
}

void svg_draw_legend(Text *out, const SvgLegend *legend, int32_t y) {
    SvgSpot at = {SVG_DRAW_LEFT, y};
    for (uint32_t i = 0; i < legend->count; i++) {
        place_entry(legend, i, &at);
        draw_entry(out, legend, i, at);
    }
}
