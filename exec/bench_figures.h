// What is said of the samples of one case.
#ifndef EXEC_BENCH_FIGURES_H
#define EXEC_BENCH_FIGURES_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/units.h"

#define BENCH_FIGURES_LEAST 6 // samples: with fewer there is no 95 % interval

typedef struct BenchFigures {
    uint32_t count;
    Time min_ps, p25_ps, median_ps;
    // Width of the 95 % interval of the median over the median; infinity without one.
    double interval;
} BenchFigures;

// Sorts the samples, of which there is at least one.
BenchFigures bench_figures_of(Time *samples_ps, uint32_t count);

#endif
