// 128-bit unsigned integers for exact products and comparisons of rationals.
#ifndef MODEL_BASE_WIDE_H
#define MODEL_BASE_WIDE_H

#include <stdbool.h>
#include <stdint.h>

__extension__ typedef unsigned __int128 Wide;

static inline Wide wide_mul(uint64_t a, uint64_t b) {
    return (Wide)a * b;
}

// -1, 0 or 1 as a/b is below, equal to or above c/d, for b and d > 0. Exact for all inputs.
static inline int wide_compare_ratio(uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
    Wide left = wide_mul(a, d), right = wide_mul(c, b);
    return left < right ? -1 : left > right;
}

// The same for 128-bit numerators and 64-bit denominators: exact, through 192-bit products.
int wide_compare_ratio_wide(Wide a, uint64_t b, Wide c, uint64_t d);

// a / b rounded up; b > 0.
static inline Wide wide_div_up(Wide a, Wide b) {
    return a / b + (a % b != 0);
}

static inline uint64_t wide_div_up_u64(uint64_t a, uint64_t b) {
    return a / b + (a % b != 0);
}

// What is over UINT64_MAX becomes UINT64_MAX.
static inline uint64_t wide_saturate(Wide value) {
    return value > UINT64_MAX ? UINT64_MAX : (uint64_t)value;
}

static inline uint64_t wide_mul_saturate(uint64_t a, uint64_t b) {
    return wide_saturate(wide_mul(a, b));
}

static inline uint64_t wide_add_saturate(uint64_t a, uint64_t b) {
    return wide_saturate((Wide)a + b);
}

// a * b / c rounded down or up; c > 0. The product is exact; a result over UINT64_MAX saturates.
uint64_t wide_mul_div(uint64_t a, uint64_t b, uint64_t c);
uint64_t wide_mul_div_up(uint64_t a, uint64_t b, uint64_t c);

// a * b and a + b that report overflow instead of wrapping.
bool wide_mul_u64(uint64_t a, uint64_t b, uint64_t *out);
bool wide_add_u64(uint64_t a, uint64_t b, uint64_t *out);

uint64_t wide_gcd(uint64_t a, uint64_t b);

// Decimal text; `buffer` has at least 40 bytes. Returns buffer.
char *wide_format(Wide value, char *buffer);

#endif
