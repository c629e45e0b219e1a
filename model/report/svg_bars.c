// Stacked bars, one below the other, each under its name.
//
// Invariant: the parts of a bar lie end to end in the order of the parts, each edge placed by the
// sum up to it, so that rounding never adds up.
#include "model/report/svg.h"

#include "model/base/mem.h"
#include "model/report/svg_axis.h"
#include "model/report/svg_draw.h"

#define PLOT_LEFT  SVG_DRAW_LEFT
#define PLOT_TOP   340
#define PLOT_WIDTH (SVG_DRAW_RIGHT - 240 - PLOT_LEFT) // half of the last tick's text beyond it
#define ROW_HEIGHT 380
#define BAR_HEIGHT 160
#define NAME_DOWN  150 // from the top of a row to the line its name stands on
#define BAR_DOWN   200

typedef struct Bars {
    const SvgBars *chart;
    SvgAxisRange axis;
    int32_t bottom;
    Text *out;
} Bars;

static double value_of(const SvgBars *chart, uint32_t bar, uint32_t part) {
    double value = chart->values[(size_t)bar * chart->part_count + part];
    return value > 0 && svg_axis_holds(&chart->axis, value) ? value : 0;
}

static void settle(Bars *bars) {
    const SvgBars *chart = bars->chart;
    bars->axis.axis = &chart->axis;
    svg_axis_reach(&bars->axis, 0);
    for (uint32_t bar = 0; bar < chart->bar_count; bar++) {
        double sum = 0;
        for (uint32_t part = 0; part < chart->part_count; part++) sum += value_of(chart, bar, part);
        svg_axis_reach(&bars->axis, sum);
    }
    if (chart->limit > 0) svg_axis_reach(&bars->axis, chart->limit);
    svg_axis_settle(&bars->axis);
}

static int32_t place(const Bars *bars, double value) {
    return PLOT_LEFT + svg_axis_place(&bars->axis, value, PLOT_WIDTH);
}

static void draw_part(const Bars *bars, uint32_t bar, uint32_t part, const SvgBox *box) {
    const SvgBars *chart = bars->chart;
    text_add(bars->out, "<rect");
    svg_draw_colour(bars->out, part, "");
    svg_draw_attribute(bars->out, "x", box->x);
    svg_draw_attribute(bars->out, "y", box->y);
    svg_draw_attribute(bars->out, "width", box->width);
    svg_draw_attribute(bars->out, "height", box->height);
    svg_draw_end(bars->out, "rect",
                 chart->notes == NULL ? NULL
                                      : chart->notes[(size_t)bar * chart->part_count + part]);
}

static void draw_bar(const Bars *bars, uint32_t bar) {
    int32_t top = PLOT_TOP + (int32_t)bar * ROW_HEIGHT;
    svg_draw_text(bars->out, (SvgSpot){PLOT_LEFT, top + NAME_DOWN}, SVG_START, 100,
                  bars->chart->names[bar]);
    double sum = 0;
    for (uint32_t part = 0; part < bars->chart->part_count; part++) {
        double value = value_of(bars->chart, bar, part);
        SvgBox box = {.x = place(bars, sum), .y = top + BAR_DOWN, .height = BAR_HEIGHT};
        sum += value;
        box.width = place(bars, sum) - box.x;
        if (value > 0) draw_part(bars, bar, part, &box);
    }
}

static void draw_axis(const Bars *bars) {
    for (uint32_t i = 0; i < svg_axis_tick_count(&bars->axis); i++) {
        int32_t x = place(bars, svg_axis_tick_at(&bars->axis, i));
        svg_draw_line(bars->out, "grid", (SvgSpot){x, PLOT_TOP}, (SvgSpot){x, bars->bottom});
        svg_draw_text(bars->out, (SvgSpot){x, bars->bottom + 180}, SVG_MIDDLE, SVG_AXIS_TEXT,
                      svg_axis_tick_text(&bars->axis, i));
    }
    svg_draw_line(bars->out, "axis", (SvgSpot){PLOT_LEFT, bars->bottom},
                  (SvgSpot){PLOT_LEFT + PLOT_WIDTH, bars->bottom});
    svg_draw_text(bars->out, (SvgSpot){PLOT_LEFT + PLOT_WIDTH / 2, bars->bottom + 370}, SVG_MIDDLE,
                  96, bars->chart->axis.title);
}

static void draw_limit(const Bars *bars) {
    if (!(bars->chart->limit > 0)) return;
    int32_t x = place(bars, bars->chart->limit);
    bool right = x < PLOT_LEFT + PLOT_WIDTH / 2;
    svg_draw_line(bars->out, "limit", (SvgSpot){x, PLOT_TOP}, (SvgSpot){x, bars->bottom});
    svg_draw_text(bars->out, (SvgSpot){x + (right ? 60 : -60), PLOT_TOP},
                  right ? SVG_START : SVG_END, 50, bars->chart->limit_name);
}

// Parts that some bar has, with the colours of their positions.
static SvgLegend make_legend(const SvgBars *chart, Arena *arena) {
    const char **names = arena_alloc(arena, chart->part_count, sizeof *names);
    uint32_t *colours = arena_alloc(arena, chart->part_count, sizeof *colours), count = 0;
    for (uint32_t part = 0; part < chart->part_count; part++) {
        double most = 0;
        for (uint32_t bar = 0; bar < chart->bar_count; bar++)
            if (value_of(chart, bar, part) > most) most = value_of(chart, bar, part);
        if (most == 0) continue;
        names[count] = chart->parts[part];
        colours[count++] = part;
    }
    return (SvgLegend){.names = names, .count = count, .colours = colours};
}

void svg_bars(const SvgBars *chart, Text *out) {
    Arena arena = {0};
    Bars bars = {.chart = chart,
                 .bottom = PLOT_TOP + (int32_t)chart->bar_count * ROW_HEIGHT + 100,
                 .out = out};
    SvgLegend legend = make_legend(chart, &arena);
    int32_t legend_top = bars.bottom + 460;
    settle(&bars);
    svg_draw_open(out, legend_top + svg_draw_legend_height(&legend) + 60, chart->title);
    draw_axis(&bars);
    for (uint32_t bar = 0; bar < chart->bar_count; bar++) draw_bar(&bars, bar);
    draw_limit(&bars);
    svg_draw_legend(out, &legend, legend_top);
    svg_draw_close(out);
    arena_free(&arena);
}
