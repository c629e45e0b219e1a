// exp, log and whole powers made of + - x / alone, so that every compiler and C library gives the
// same bits (accuracy: within 2 units in the last place over the ranges stated; not correctly
// rounded), and orders of numbers.
#ifndef MODEL_BASE_NUM_H
#define MODEL_BASE_NUM_H

#include <stdint.h>

// e^x for any x that is not NaN; 0 where it would vanish (below -745.2), the largest double where
// it would overflow (above 709.78).
double num_exp(double x);

// Natural logarithm; x must be finite and > 0.
double num_log(double x);

// base^n by repeated squaring, exact order of operations.
double num_pow_int(double base, uint64_t n);

// Nearest integer, halves up; 0 for negative x, saturates at INT64_MAX.
int64_t num_round(double x);

// For qsort, ascending: of uint32_t, and of doubles none of which is NaN.
int num_compare_u32(const void *left, const void *right);
int num_compare_doubles(const void *left, const void *right);

#endif
