// Charts of characters.
//
// Invariant: axes and ticks are those of the picture (svg_axis.h); a point stands in the character
// whose middle is nearest to it.
#include "model/report/plot.h"

#include <string.h>

#include "model/report/svg_axis.h"

#define GUTTER 9 // columns left of the axis
#define WIDTH  (GUTTER + 1 + PLOT_COLUMNS)

typedef struct Canvas {
    SvgAxisRange x, y;
    char cells[PLOT_ROWS][PLOT_COLUMNS]; // row 0 at the bottom
} Canvas;

static uint32_t column_of(const Canvas *canvas, double value) {
    return (uint32_t)svg_axis_place(&canvas->x, value, PLOT_COLUMNS - 1);
}

static uint32_t row_of(const Canvas *canvas, double value) {
    return (uint32_t)svg_axis_place(&canvas->y, value, PLOT_ROWS - 1);
}

static bool is_drawn(const SvgXY *chart, const SvgPoint *point) {
    return svg_axis_holds(&chart->x, point->x) && svg_axis_holds(&chart->y, point->y);
}

static void reach(const SvgXY *chart, Canvas *canvas) {
    canvas->x.axis = &chart->x;
    canvas->y.axis = &chart->y;
    for (uint32_t s = 0; s < chart->series_count; s++)
        for (uint32_t i = 0; i < chart->series[s].count; i++) {
            const SvgPoint *point = &chart->series[s].points[i];
            if (!is_drawn(chart, point)) continue;
            svg_axis_reach(&canvas->x, point->x);
            svg_axis_reach(&canvas->y, point->y);
        }
    svg_axis_settle(&canvas->x);
    svg_axis_settle(&canvas->y);
}

static void put_points(const SvgXY *chart, const char *marks, Canvas *canvas) {
    memset(canvas->cells, ' ', sizeof canvas->cells);
    for (uint32_t s = 0; s < chart->series_count; s++)
        for (uint32_t i = 0; i < chart->series[s].count; i++) {
            const SvgPoint *point = &chart->series[s].points[i];
            if (is_drawn(chart, point))
                canvas->cells[row_of(canvas, point->y)][column_of(canvas, point->x)] = marks[s];
        }
}

static void add_trimmed(Text *out, const char *bytes, size_t count) {
    while (count > 0 && bytes[count - 1] == ' ') count--;
    text_add_bytes(out, bytes, count);
    text_add_char(out, '\n');
}

// The text of the tick that lies on a row, or "".
static const char *row_tick(const Canvas *canvas, uint32_t row) {
    for (uint32_t i = 0; i < svg_axis_tick_count(&canvas->y); i++)
        if (row_of(canvas, svg_axis_tick_at(&canvas->y, i)) == row)
            return svg_axis_tick_text(&canvas->y, i);
    return "";
}

static void draw_rows(const Canvas *canvas, Text *out) {
    for (uint32_t row = PLOT_ROWS; row-- > 0;) {
        const char *tick = row_tick(canvas, row);
        text_addf(out, "%*.*s %c", GUTTER - 1, GUTTER - 1, tick, *tick == '\0' ? '|' : '+');
        add_trimmed(out, canvas->cells[row], PLOT_COLUMNS);
    }
}

// Ticks below their columns; a text that would touch the one before is left out.
static void draw_foot(const Canvas *canvas, Text *out) {
    char line[PLOT_COLUMNS + 1], texts[WIDTH + SVG_AXIS_TEXT];
    size_t used = 0;
    memset(line, '-', PLOT_COLUMNS);
    line[PLOT_COLUMNS] = '\0';
    memset(texts, ' ', sizeof texts);
    for (uint32_t i = 0; i < svg_axis_tick_count(&canvas->x); i++) {
        uint32_t column = column_of(canvas, svg_axis_tick_at(&canvas->x, i));
        const char *tick = svg_axis_tick_text(&canvas->x, i);
        size_t length = strlen(tick) < SVG_AXIS_TEXT ? strlen(tick) : SVG_AXIS_TEXT;
        size_t start = GUTTER + 1 + column - (length / 2 < GUTTER ? length / 2 : GUTTER);
        if (start + length > WIDTH) start = WIDTH - length;
        line[column] = '+';
        if (used > 0 && start <= used) continue;
        memcpy(texts + start, tick, length);
        used = start + length;
    }
    text_addf(out, "%*s+%s\n", GUTTER, "", line);
    add_trimmed(out, texts, sizeof texts);
}

void plot_xy(const SvgXY *chart, const char *marks, Text *out) {
    Canvas canvas = {0};
    reach(chart, &canvas);
    put_points(chart, marks, &canvas);
    text_addf(out, "%s\n", chart->y.title);
    draw_rows(&canvas, out);
    draw_foot(&canvas, out);
    text_addf(out, "%*s %s;", GUTTER, "", chart->x.title);
    for (uint32_t s = 0; s < chart->series_count; s++)
        text_addf(out, "%s %c %s", s == 0 ? "" : ",", marks[s], chart->series[s].name);
    text_add_char(out, '\n');
}
