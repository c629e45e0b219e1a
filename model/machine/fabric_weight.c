// Ratios of capacities in small numbers.
//
// Method: convergents of the continued fraction of part / whole, in order of their denominators;
// the first that gives `part` again when it is taken of `whole` and rounded is the simplest that
// does among them. G. H. Hardy, E. M. Wright, An Introduction to the Theory of Numbers, chapter 10.
#include "model/machine/fabric_weight.h"

#include <stdbool.h>

#include "model/base/wide.h"

#define DENOMINATOR_MAX 1000
#define UNIT_MAX        (UINT64_C(1) << 20)

typedef struct Fraction {
    uint64_t p, q;
} Fraction;

static bool is_rounded(uint64_t part, uint64_t whole, Fraction fraction) {
    Wide times = wide_mul(part, fraction.q), exact = wide_mul(whole, fraction.p);
    Wide off = times > exact ? times - exact : exact - times;
    return off < fraction.q; // less than 1 off
}

// False when the denominator would be too large.
static bool simplest(uint64_t part, uint64_t whole, Fraction *out) {
    Fraction before = {1, 0}, now = {0, 1};
    uint64_t a = whole, b = part; // of 1 / (part / whole)
    while (now.q <= DENOMINATOR_MAX) {
        if (now.p > 0 && is_rounded(part, whole, now)) {
            *out = now;
            return true;
        }
        if (b == 0) return false;
        uint64_t quotient = a / b, rest = a % b;
        if (quotient > DENOMINATOR_MAX) return false;
        Fraction next = {quotient * now.p + before.p, quotient * now.q + before.q};
        before = now;
        now = next;
        a = b;
        b = rest;
    }
    return false;
}

uint64_t fabric_weight_unit(uint64_t unit, uint64_t part, uint64_t whole) {
    Fraction fraction;
    if (unit == 0 || !simplest(part, whole, &fraction)) return 0;
    uint64_t multiple = unit / wide_gcd(unit, fraction.q) * fraction.q;
    return multiple <= UNIT_MAX ? multiple : 0;
}

uint64_t fabric_weight_parts(uint64_t unit, uint64_t part, uint64_t whole) {
    Fraction fraction;
    return simplest(part, whole, &fraction) ? unit / fraction.q * fraction.p : 0;
}
