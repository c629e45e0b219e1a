// 128-bit helpers; a 192-bit product is kept as a high 128-bit and a low 64-bit part.
//
// Invariant: no result wraps silently: it is exact, saturated where the header says so, or
// reported.
#include "model/base/wide.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

typedef struct Product192 {
    Wide high; // in units of 2^64
    uint64_t low;
} Product192;

static Product192 mul_192(Wide a, uint64_t b) {
    Wide low = wide_mul((uint64_t)a, b), high = wide_mul((uint64_t)(a >> 64), b);
    return (Product192){high + (low >> 64), (uint64_t)low};
}

int wide_compare_ratio_wide(Wide a, uint64_t b, Wide c, uint64_t d) {
    Product192 left = mul_192(a, d), right = mul_192(c, b);
    if (left.high != right.high) return left.high < right.high ? -1 : 1;
    if (left.low != right.low) return left.low < right.low ? -1 : 1;
    return 0;
}

uint64_t wide_mul_div(uint64_t a, uint64_t b, uint64_t c) {
    assert(c > 0);
    return wide_saturate(wide_mul(a, b) / c);
}

uint64_t wide_mul_div_up(uint64_t a, uint64_t b, uint64_t c) {
    assert(c > 0);
    return wide_saturate(wide_div_up(wide_mul(a, b), c));
}

bool wide_mul_u64(uint64_t a, uint64_t b, uint64_t *out) {
    Wide product = wide_mul(a, b);
    if (product > UINT64_MAX) return false;
    *out = (uint64_t)product;
    return true;
}

bool wide_add_u64(uint64_t a, uint64_t b, uint64_t *out) {
    if (a > UINT64_MAX - b) return false;
    *out = a + b;
    return true;
}

uint64_t wide_gcd(uint64_t a, uint64_t b) {
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

char *wide_format(Wide value, char *buffer) {
    char digits[40];
    size_t at = sizeof digits;
    digits[--at] = '\0';
    do {
        digits[--at] = (char)('0' + (int)(value % 10));
        value /= 10;
    } while (value != 0);
    memcpy(buffer, digits + at, sizeof digits - at);
    return buffer;
}
