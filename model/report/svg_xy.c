// Points and lines over two axes.
//
// Invariant: what lies outside an axis (values that are not finite, or not above 0 on a logarithmic
// axis) is not drawn and breaks the line that it belongs to; everything else lies in the plot.
#include "model/report/svg.h"

#include <string.h>

#include "model/base/mem.h"
#include "model/report/svg_axis.h"
#include "model/report/svg_draw.h"

#define PLOT_LEFT   720
#define PLOT_TOP    520
#define PLOT_WIDTH  (SVG_DRAW_RIGHT - 180 - PLOT_LEFT) // half of the last tick's text beyond it
#define PLOT_HEIGHT 3000
#define PLOT_BOTTOM (PLOT_TOP + PLOT_HEIGHT)
#define LEGEND_TOP  (PLOT_BOTTOM + 460)
#define DOT         35 // radius of a point that stands alone
#define LINE_DOT    25
#define LABEL_GAP   60

typedef struct Plot {
    const SvgXY *chart;
    SvgAxisRange x, y;
    Text *out;
} Plot;

static bool is_drawn(const SvgXY *chart, const SvgPoint *point) {
    return svg_axis_holds(&chart->x, point->x) && svg_axis_holds(&chart->y, point->y);
}

static void settle(Plot *plot) {
    const SvgXY *chart = plot->chart;
    plot->x.axis = &chart->x;
    plot->y.axis = &chart->y;
    for (uint32_t s = 0; s < chart->series_count; s++)
        for (uint32_t i = 0; i < chart->series[s].count; i++) {
            const SvgPoint *point = &chart->series[s].points[i];
            if (!is_drawn(chart, point)) continue;
            svg_axis_reach(&plot->x, point->x);
            svg_axis_reach(&plot->y, point->y);
        }
    svg_axis_settle(&plot->x);
    svg_axis_settle(&plot->y);
}

static SvgSpot spot_of(const Plot *plot, const SvgPoint *point) {
    return (SvgSpot){PLOT_LEFT + svg_axis_place(&plot->x, point->x, PLOT_WIDTH),
                     PLOT_BOTTOM - svg_axis_place(&plot->y, point->y, PLOT_HEIGHT)};
}

// ---- Axes

// The text of a tick is left out where it would touch the one before.
static void draw_x_ticks(const Plot *plot) {
    int32_t free_from = 0;
    for (uint32_t i = 0; i < svg_axis_tick_count(&plot->x); i++) {
        const char *text = svg_axis_tick_text(&plot->x, i);
        int32_t at =
            PLOT_LEFT + svg_axis_place(&plot->x, svg_axis_tick_at(&plot->x, i), PLOT_WIDTH);
        int32_t half = (int32_t)text_columns(text) * SVG_DRAW_LETTER / 2;
        svg_draw_line(plot->out, "grid", (SvgSpot){at, PLOT_TOP}, (SvgSpot){at, PLOT_BOTTOM});
        if (at - half < free_from) continue;
        svg_draw_text(plot->out, (SvgSpot){at, PLOT_BOTTOM + 180}, SVG_MIDDLE, SVG_AXIS_TEXT, text);
        free_from = at + half + SVG_DRAW_LETTER;
    }
}

static void draw_y_ticks(const Plot *plot) {
    for (uint32_t i = 0; i < svg_axis_tick_count(&plot->y); i++) {
        int32_t at =
            PLOT_BOTTOM - svg_axis_place(&plot->y, svg_axis_tick_at(&plot->y, i), PLOT_HEIGHT);
        svg_draw_line(plot->out, "grid", (SvgSpot){PLOT_LEFT, at},
                      (SvgSpot){PLOT_LEFT + PLOT_WIDTH, at});
        svg_draw_text(plot->out, (SvgSpot){PLOT_LEFT - 60, at + 40}, SVG_END,
                      (PLOT_LEFT - 60) / SVG_DRAW_LETTER, svg_axis_tick_text(&plot->y, i));
    }
}

static void draw_axes(const Plot *plot) {
    draw_x_ticks(plot);
    draw_y_ticks(plot);
    svg_draw_line(plot->out, "axis", (SvgSpot){PLOT_LEFT, PLOT_TOP},
                  (SvgSpot){PLOT_LEFT, PLOT_BOTTOM});
    svg_draw_line(plot->out, "axis", (SvgSpot){PLOT_LEFT, PLOT_BOTTOM},
                  (SvgSpot){PLOT_LEFT + PLOT_WIDTH, PLOT_BOTTOM});
    svg_draw_text(plot->out, (SvgSpot){SVG_DRAW_LEFT, PLOT_TOP - 110}, SVG_START, 96,
                  plot->chart->y.title);
    svg_draw_text(plot->out, (SvgSpot){PLOT_LEFT + PLOT_WIDTH / 2, PLOT_BOTTOM + 370}, SVG_MIDDLE,
                  96, plot->chart->x.title);
}

// ---- Series

static void add_spot(Text *out, const char *command, SvgSpot spot) {
    text_add(out, command);
    svg_draw_number(out, spot.x);
    text_add_char(out, ' ');
    svg_draw_number(out, spot.y);
}

static void add_coordinate(Text *out, const char *command, int32_t tenths) {
    text_add(out, command);
    svg_draw_number(out, tenths);
}

static void add_join(Text *out, SvgMark mark, SvgSpot to) {
    switch (mark) {
    case SVG_DOTS: break;
    case SVG_LINE: add_spot(out, "L", to); break;
    case SVG_STEP_X_FIRST:
        add_coordinate(out, "H", to.x);
        add_coordinate(out, "V", to.y);
        break;
    case SVG_STEP_Y_FIRST:
        add_coordinate(out, "V", to.y);
        add_coordinate(out, "H", to.x);
        break;
    }
}

static void draw_line(const Plot *plot, uint32_t index) {
    const SvgSeries *series = &plot->chart->series[index];
    Text path = {0};
    bool joined = false;
    for (uint32_t i = 0; i < series->count; i++) {
        const SvgPoint *point = &series->points[i];
        bool drawn = is_drawn(plot->chart, point);
        if (drawn && joined)
            add_join(&path, series->mark, spot_of(plot, point));
        else if (drawn)
            add_spot(&path, "M", spot_of(plot, point));
        joined = drawn;
    }
    if (path.length > 0) {
        text_add(plot->out, "<path");
        svg_draw_colour(plot->out, index, "line");
        text_addf(plot->out, " d=\"%s\"/>\n", text_string(&path));
    }
    text_free(&path);
}

// On the right of the point, or on its left where it would leave the chart.
static void draw_label(const Plot *plot, SvgSpot at, const char *label) {
    size_t columns = text_columns(label);
    bool fits = at.x + LABEL_GAP + (int32_t)columns * SVG_DRAW_LETTER <= SVG_DRAW_RIGHT;
    at.x += fits ? LABEL_GAP : -LABEL_GAP;
    at.y -= LABEL_GAP;
    svg_draw_text(plot->out, at, fits ? SVG_START : SVG_END, 40, label);
}

static void draw_dots(const Plot *plot, uint32_t index) {
    const SvgSeries *series = &plot->chart->series[index];
    for (uint32_t i = 0; i < series->count; i++) {
        const SvgPoint *point = &series->points[i];
        if (!is_drawn(plot->chart, point)) continue;
        SvgSpot at = spot_of(plot, point);
        text_add(plot->out, "<circle");
        svg_draw_colour(plot->out, index, "");
        svg_draw_attribute(plot->out, "cx", at.x);
        svg_draw_attribute(plot->out, "cy", at.y);
        svg_draw_attribute(plot->out, "r", series->mark == SVG_DOTS ? DOT : LINE_DOT);
        svg_draw_end(plot->out, "circle", point->note);
        if (point->label != NULL) draw_label(plot, at, point->label);
    }
}

void svg_xy(const SvgXY *chart, Text *out) {
    Plot plot = {.chart = chart, .out = out};
    const char **names = mem_alloc(chart->series_count, sizeof *names);
    for (uint32_t i = 0; i < chart->series_count; i++) names[i] = chart->series[i].name;
    SvgLegend legend = {.names = names, .count = chart->series_count};
    settle(&plot);
    svg_draw_open(out, LEGEND_TOP + svg_draw_legend_height(&legend) + 60, chart->title);
    draw_axes(&plot);
    for (uint32_t i = 0; i < chart->series_count; i++)
        if (chart->series[i].mark != SVG_DOTS) draw_line(&plot, i);
    for (uint32_t i = 0; i < chart->series_count; i++) draw_dots(&plot, i);
    svg_draw_legend(out, &legend, LEGEND_TOP);
    svg_draw_close(out);
    mem_free(names);
}
