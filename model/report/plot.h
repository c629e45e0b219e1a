// The points of a chart as characters, for terminals.
#ifndef MODEL_REPORT_PLOT_H
#define MODEL_REPORT_PLOT_H

#include "model/base/text.h"
#include "model/report/svg.h"

#define PLOT_COLUMNS 70 // of the area inside the axes
#define PLOT_ROWS    20

// Titles, axes with ticks, and for each series its character of `marks` at each of its points;
// where points meet, that of the later series. Lines between points are not drawn. Its legend
// follows.
void plot_xy(const SvgXY *chart, const char *marks, Text *out);

#endif
