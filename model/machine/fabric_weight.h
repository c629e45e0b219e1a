// Ratios of capacities in small numbers, so that the shares of parallel paths stay exact: a link
// that keeps 17/18 of its capacity, rounded to bytes per second, has that share and not a ratio of
// two numbers of eleven digits.
#ifndef MODEL_MACHINE_FABRIC_WEIGHT_H
#define MODEL_MACHINE_FABRIC_WEIGHT_H

#include <stdint.h>

// A unit in parts of which part / whole is whole: the least common multiple of `unit` and the
// denominator of the simplest fraction p/q that is `part` of `whole` when rounded down or up. 0
// when q is above 1000, the unit above 2^20, or `unit` 0. 0 < part <= whole < 2^63.
uint64_t fabric_weight_unit(uint64_t unit, uint64_t part, uint64_t whole);

// part / whole in parts of 1 / unit; the unit is one that the function above gave for it, or a
// multiple.
uint64_t fabric_weight_parts(uint64_t unit, uint64_t part, uint64_t whole);

#endif
