// Pareto fronts: one pass over the points in the order of falling x.
//
// Invariant: a point is on the front exactly when its y exceeds that of all points before it in
// that order. Kung, Luccio and Preparata, "On finding the maxima of a set of vectors", JACM 1975.
#include "model/report/front.h"

#include <stdlib.h>

#include "model/base/mem.h"

typedef struct Spot {
    double x, y;
    uint32_t index;
} Spot;

// Falling x, then falling y, then the order given.
static int compare(const void *left, const void *right) {
    const Spot *a = left, *b = right;
    if (a->x != b->x) return a->x > b->x ? -1 : 1;
    if (a->y != b->y) return a->y > b->y ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

static void reverse(uint32_t *items, uint32_t count) {
    for (uint32_t i = 0; i < count / 2; i++) {
        uint32_t item = items[i];
        items[i] = items[count - 1 - i];
        items[count - 1 - i] = item;
    }
}

uint32_t front_find(const double *x, const double *y, uint32_t count, uint32_t *out) {
    Spot *spots = mem_alloc(count, sizeof *spots);
    uint32_t found = 0;
    double highest = 0;
    for (uint32_t i = 0; i < count; i++) spots[i] = (Spot){x[i], y[i], i};
    qsort(spots, count, sizeof *spots, compare);
    for (uint32_t i = 0; i < count; i++) {
        if (found > 0 && spots[i].y <= highest) continue;
        highest = spots[i].y;
        out[found++] = spots[i].index;
    }
    mem_free(spots);
    reverse(out, found);
    return found;
}
