// Order statistics of samples.
//
// The interval is that of the order statistics k and n + 1 - k, k the largest for which fewer than
// k of n samples are below the median with a probability of at most 2.5 %: it supposes no
// distribution (H. David, H. Nagaraja, "Order Statistics", 3rd ed., section 7.1; recommended for
// measured times by T. Hoefler, R. Belli, "Scientific Benchmarking of Parallel Computing Systems",
// SC 2015).
#include "exec/bench_figures.h"

#include <math.h>
#include <stdlib.h>

static int compare_times(const void *left, const void *right) {
    Time a = *(const Time *)left, b = *(const Time *)right;
    return (a > b) - (a < b);
}

// k from 1 on; 0: none. The probability of exactly i of n is binomial(n, i) / 2^n.
static uint32_t interval_rank(uint32_t n) {
    double exactly = ldexp(1, -(int)n), below = 0;
    uint32_t k = 0;
    while (k < n && below + exactly <= 0.025) {
        below += exactly;
        exactly *= (double)(n - k) / (k + 1);
        k++;
    }
    return k;
}

static Time quarter(const Time *sorted, uint32_t count, uint32_t quarters) {
    uint64_t at = (uint64_t)(count - 1) * quarters, rest = at % 4;
    Time low = sorted[at / 4], high = sorted[at / 4 + (rest > 0)];
    return low + (high - low) * (Time)rest / 4;
}

BenchFigures bench_figures_of(Time *samples_ps, uint32_t count) {
    qsort(samples_ps, count, sizeof *samples_ps, compare_times);
    uint32_t k = interval_rank(count);
    BenchFigures figures = {.count = count,
                            .min_ps = samples_ps[0],
                            .p25_ps = quarter(samples_ps, count, 1),
                            .median_ps = quarter(samples_ps, count, 2),
                            .interval = HUGE_VAL};
    if (k > 0 && figures.median_ps > 0)
        figures.interval =
            (double)(samples_ps[count - k] - samples_ps[k - 1]) / (double)figures.median_ps;
    return figures;
}
