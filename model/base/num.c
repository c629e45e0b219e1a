// exp, log and whole powers from additions, multiplications and divisions in a fixed order.
//
// Method: both functions are reduced by powers of two, then summed by series that converge fast on
// the rest: r coth(r/2) (Bernoulli numbers) for exp, artanh for log. The reduction and the
// reconstruction follow Tang, "Table-driven implementation of the exponential function", 1989, and
// Muller et al., "Handbook of Floating-Point Arithmetic", 2018, chapter 11. Coefficients are exact
// rationals, not fitted. Invariant: no call into libm, no operation whose result IEEE 754 leaves
// open; -ffp-contract=off keeps it so.
#include "model/base/num.h"

#include <assert.h>
#include <float.h>
#include <string.h>

#define LN2_HIGH 0x1.62e42feep-1       // upper 32 bits of ln 2: times |k| < 2^20 exact
#define LN2_LOW  0x1.a39ef35793c76p-33 // the rest, rounded
#define INV_LN2  0x1.71547652b82fep0   // 1 / ln 2
#define SQRT_2   0x1.6a09e667f3bcdp0
#define EXP_MAX  0x1.62e42fefa39efp+9   // ln(DBL_MAX)
#define EXP_MIN  (-0x1.74910d52d3052p9) // below, e^x is under half the smallest double

static double from_bits(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

// 2^k for the exponents of normal doubles.
static double power_of_two(int k) {
    return from_bits((uint64_t)(k + 1023) << 52);
}

static double saturate(double value) {
    return value > DBL_MAX ? DBL_MAX : value;
}

// With r = x - k ln 2, |r| <= ln2 / 2: e^r = 1 + 2r / (r coth(r/2) - r).
double num_exp(double x) {
    if (x > EXP_MAX) return DBL_MAX;
    if (x < EXP_MIN) return 0;
    double scaled = x * INV_LN2;
    int k = (int)(scaled + (scaled < 0 ? -0.5 : 0.5));
    double high = x - k * LN2_HIGH, low = k * LN2_LOW, r = high - low, z = r * r;
    double series = -1.0 / 604800 + z * (1.0 / 23950080 + z * (-691.0 / 653837184000.0));
    series = z * (1.0 / 6 + z * (-1.0 / 360 + z * (1.0 / 15120 + z * series)));
    double c = r - series;
    double y = 1 + (high + (r * c / (2 - c) - low));
    int half = k / 2; // two factors, so that neither overflows and a subnormal is rounded once
    return saturate(y * power_of_two(half) * power_of_two(k - half));
}

// x = mantissa * 2^exponent with the mantissa in [sqrt(1/2), sqrt(2)).
static double split_exponent(double x, int *exponent) {
    int extra = 0;
    if (x < DBL_MIN) x *= 0x1p54, extra = -54;
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int k = (int)(bits >> 52) - 1023;
    double mantissa = from_bits((bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1023) << 52);
    if (mantissa >= SQRT_2) mantissa /= 2, k++;
    *exponent = k + extra;
    return mantissa;
}

// artanh(s)/s = 1 + z/3 + z^2/5 + ... for z = s^2 <= 0.0295: the terms from z^2 on, doubled.
static double artanh_tail(double z) {
    double sum = 2.0 / 23;
    for (int n = 21; n >= 5; n -= 2) sum = 2.0 / n + z * sum;
    return z * z * sum;
}

// With f = m - 1 and s = f / (2 + f): ln m = 2 artanh s = f - s (f - R), where R is the series.
double num_log(double x) {
    assert(x > 0 && x <= DBL_MAX);
    int k;
    double f = split_exponent(x, &k) - 1, s = f / (2 + f), z = s * s;
    double rest = z * (2.0 / 3) + artanh_tail(z), half = f * f / 2;
    return k * LN2_HIGH - ((half - (s * (half + rest) + k * LN2_LOW)) - f);
}

double num_pow_int(double base, uint64_t n) {
    double power = 1;
    for (; n > 0; n >>= 1) {
        if (n & 1) power *= base;
        if (n > 1) base *= base;
    }
    return power;
}

int64_t num_round(double x) {
    if (!(x > 0)) return 0;
    if (x >= 0x1p63) return INT64_MAX;
    int64_t whole = (int64_t)x;
    return x - (double)whole >= 0.5 ? whole + 1 : whole;
}

int num_compare_u32(const void *left, const void *right) {
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

int num_compare_doubles(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}
