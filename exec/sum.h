// Sums of arrays in a number format.
#ifndef EXEC_SUM_H
#define EXEC_SUM_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/numfmt.h"

// Whether there are sums in this format, and the bytes of one element.
bool sum_has(NumFmt format, uint32_t *element_B);

// into[i] += from[i], rounded to the format (round to nearest, ties to even). `bytes` is a whole
// number of elements; the arrays need no alignment and do not overlap.
void sum_add(NumFmt format, uint8_t *into, const uint8_t *from, uint64_t bytes);

#endif
