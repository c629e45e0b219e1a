// Winners over a grid.
//
// Invariant: a cell's colour, letter and legend entry name the same winner; the letter tells
// winners apart where the palette repeats or colours are not seen.
#include "model/report/svg.h"

#include "model/base/mem.h"
#include "model/report/svg_draw.h"

#define PLOT_TOP      520
#define LABEL_COLUMNS 18  // of a row's label
#define CELL_HEIGHT   380 // where there is room for it
#define PLOT_HEIGHT   4800
#define CELL_LEAST    40 // heights below are given up; the picture grows
#define TEXT_HEIGHT   360
#define KEY_HEIGHT    140
#define KEY_MAX       8

typedef struct Grid {
    const SvgHeat *chart;
    const char **keys; // a letter or more for each winner
    int32_t left, width, height;
    Text *out;
} Grid;

// A, B, ... Z, AA, AB, ...
static const char *key_of(Arena *arena, uint32_t index) {
    char letters[KEY_MAX + 1] = {0};
    size_t at = KEY_MAX;
    for (uint64_t rest = (uint64_t)index + 1; rest > 0; rest = (rest - 1) / 26)
        letters[--at] = (char)('A' + (rest - 1) % 26);
    return arena_string(arena, letters + at);
}

static int32_t label_width(const SvgHeat *chart) {
    size_t widest = 1;
    for (uint32_t i = 0; i < chart->rows; i++) {
        size_t columns = text_columns(chart->y_labels[i]);
        if (columns > widest) widest = columns;
    }
    if (widest > LABEL_COLUMNS) widest = LABEL_COLUMNS;
    return (int32_t)widest * SVG_DRAW_LETTER;
}

static int32_t grid_height(const SvgHeat *chart) {
    int64_t each = PLOT_HEIGHT / chart->rows;
    if (each > CELL_HEIGHT) each = CELL_HEIGHT;
    if (each < CELL_LEAST) each = CELL_LEAST;
    int64_t height = each * chart->rows;
    return height > INT32_MAX / 2 ? INT32_MAX / 2 : (int32_t)height;
}

// Edges of equal parts, so that they leave no gaps.
static int32_t edge(int32_t length, uint32_t index, uint32_t count) {
    return (int32_t)((int64_t)length * index / count);
}

static SvgBox cell_box(const Grid *grid, uint32_t column, uint32_t row) {
    const SvgHeat *chart = grid->chart;
    uint32_t down = chart->rows - 1 - row;
    SvgBox box = {.x = edge(grid->width, column, chart->columns),
                  .y = edge(grid->height, down, chart->rows)};
    box.width = edge(grid->width, column + 1, chart->columns) - box.x;
    box.height = edge(grid->height, down + 1, chart->rows) - box.y;
    box.x += grid->left;
    box.y += PLOT_TOP;
    return box;
}

// The letter, and below it the text; what has no room is left to the tooltip.
static void draw_cell_text(const Grid *grid, size_t cell, const SvgBox *box) {
    const SvgHeat *chart = grid->chart;
    const char *text = chart->texts == NULL ? NULL : chart->texts[cell];
    uint32_t winner = chart->cells[cell];
    const char *key = winner == SVG_NO_WINNER ? "-" : grid->keys[winner];
    size_t columns = (size_t)(box->width / SVG_DRAW_LETTER);
    int32_t middle = box->x + box->width / 2;
    bool has_text = text != NULL && box->height >= TEXT_HEIGHT && text_columns(text) <= columns;
    if (box->height < KEY_HEIGHT || text_columns(key) > columns) return;
    svg_draw_text(grid->out, (SvgSpot){middle, box->y + box->height / 2 + (has_text ? -30 : 40)},
                  SVG_MIDDLE, columns, key);
    if (has_text)
        svg_draw_text(grid->out, (SvgSpot){middle, box->y + box->height / 2 + 120}, SVG_MIDDLE,
                      columns, text);
}

static void draw_cell(const Grid *grid, uint32_t column, uint32_t row) {
    const SvgHeat *chart = grid->chart;
    size_t cell = (size_t)row * chart->columns + column;
    SvgBox box = cell_box(grid, column, row);
    text_add(grid->out, "<rect");
    if (chart->cells[cell] == SVG_NO_WINNER)
        text_add(grid->out, " class=\"grid\" fill=\"none\"");
    else
        svg_draw_colour(grid->out, chart->cells[cell], "cell");
    svg_draw_attribute(grid->out, "x", box.x);
    svg_draw_attribute(grid->out, "y", box.y);
    svg_draw_attribute(grid->out, "width", box.width);
    svg_draw_attribute(grid->out, "height", box.height);
    svg_draw_end(grid->out, "rect", chart->notes == NULL ? NULL : chart->notes[cell]);
    draw_cell_text(grid, cell, &box);
}

// Labels that would touch the one before are left out.
static void draw_labels(const Grid *grid) {
    const SvgHeat *chart = grid->chart;
    int32_t free_from = 0;
    for (uint32_t i = 0; i < chart->columns; i++) {
        SvgBox box = cell_box(grid, i, 0);
        int32_t middle = box.x + box.width / 2;
        int32_t half = (int32_t)text_columns(chart->x_labels[i]) * SVG_DRAW_LETTER / 2;
        if (middle - half < free_from) continue;
        free_from = middle + half + SVG_DRAW_LETTER;
        svg_draw_text(grid->out, (SvgSpot){middle, PLOT_TOP + grid->height + 180}, SVG_MIDDLE,
                      LABEL_COLUMNS, chart->x_labels[i]);
    }
    int32_t free_below = INT32_MAX;
    for (uint32_t i = 0; i < chart->rows; i++) {
        SvgBox box = cell_box(grid, 0, i);
        int32_t middle = box.y + box.height / 2;
        if (middle + 70 > free_below) continue;
        free_below = middle - 70;
        svg_draw_text(grid->out, (SvgSpot){grid->left - 60, middle + 40}, SVG_END, LABEL_COLUMNS,
                      chart->y_labels[i]);
    }
}

void svg_heat(const SvgHeat *chart, Text *out) {
    Arena arena = {0};
    Grid grid = {.chart = chart,
                 .keys = arena_alloc(&arena, chart->winner_count, sizeof *grid.keys),
                 .left = SVG_DRAW_LEFT + label_width(chart) + 60,
                 .height = grid_height(chart),
                 .out = out};
    grid.width = SVG_DRAW_RIGHT - grid.left;
    for (uint32_t i = 0; i < chart->winner_count; i++) grid.keys[i] = key_of(&arena, i);
    SvgLegend legend = {.names = chart->winners, .keys = grid.keys, .count = chart->winner_count};
    int32_t legend_top = PLOT_TOP + grid.height + 460;
    svg_draw_open(out, legend_top + svg_draw_legend_height(&legend) + 60, chart->title);
    svg_draw_text(out, (SvgSpot){SVG_DRAW_LEFT, PLOT_TOP - 110}, SVG_START, 96, chart->y_title);
    for (uint32_t row = 0; row < chart->rows; row++)
        for (uint32_t column = 0; column < chart->columns; column++) draw_cell(&grid, column, row);
    draw_labels(&grid);
    svg_draw_text(out, (SvgSpot){grid.left + grid.width / 2, PLOT_TOP + grid.height + 370},
                  SVG_MIDDLE, 96, chart->x_title);
    svg_draw_legend(out, &legend, legend_top);
    svg_draw_close(out);
    arena_free(&arena);
}
