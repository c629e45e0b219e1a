// The bytes of an all-to-all(v) as a square of numbers: a row for each source, a column for each
// destination, as users of alltoallv write them.
//
// A line is a row (sim/fields.h), a number bytes ("4096") or a size with a unit ("64KiB"; "64 KiB"
// between commas). What a rank has for itself stands in the diagonal.
#ifndef SIM_MATRIX_H
#define SIM_MATRIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/base/err.h"

#define MATRIX_MAX 4096 // ranks

// Reads n rows of n numbers, each below 2^62; n is at most MATRIX_MAX. *out is heap memory, the
// bytes from i to j at [i * n + j]. Messages begin with "NAME:LINE:COLUMN: " or "NAME: ".
bool matrix_parse(const char *name, const char *bytes, size_t count, uint32_t n, uint64_t **out,
                  Err *err);

#endif
