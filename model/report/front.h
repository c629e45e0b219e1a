// The Pareto front of points that are better the larger both of their figures are.
#ifndef MODEL_REPORT_FRONT_H
#define MODEL_REPORT_FRONT_H

#include <stdint.h>

// Positions of the points that no other one equals or exceeds in both figures, in the order of
// rising x (and falling y); of equal points the first counts. `out` has room for `count`. Returns
// how many there are. No figure may be NaN.
uint32_t front_find(const double *x, const double *y, uint32_t count, uint32_t *out);

#endif
