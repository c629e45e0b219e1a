// Sums of arrays in a number format.
//
// Invariant: each addition is done in float and rounded once to the format, so that a sum depends
// on the order of its addends alone. A bf16 is the upper half of a float; a NaN stays a (quiet)
// NaN. Rounding of bf16: to nearest, ties to even, as in IEEE 754 with an 8-bit significand.
#include "exec/sum.h"

#include <assert.h>
#include <string.h>

bool sum_has(NumFmt format, uint32_t *element_B) {
    switch (format) {
    case NUMFMT_F32: *element_B = 4; return true;
    case NUMFMT_BF16: *element_B = 2; return true;
    case NUMFMT_F16:
    case NUMFMT_FP8:
    case NUMFMT_FP4:
    case NUMFMT_INT8:
    case NUMFMT_INT4:
    case NUMFMT_COUNT: break;
    }
    return false;
}

#define NAN_BITS UINT32_C(0x7fc00000)

// The bits of a float, of one NaN for all.
static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bool is_nan = (bits & UINT32_C(0x7fffffff)) > UINT32_C(0x7f800000);
    return is_nan ? NAN_BITS : bits;
}

static float load_f32(const uint8_t *bytes) {
    float value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

static void add_f32(uint8_t *into, const uint8_t *from) {
    uint32_t bits = bits_of(load_f32(into) + load_f32(from));
    memcpy(into, &bits, sizeof bits);
}

static float load_bf16(const uint8_t *bytes) {
    uint16_t upper;
    memcpy(&upper, bytes, sizeof upper);
    uint32_t bits = (uint32_t)upper << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void add_bf16(uint8_t *into, const uint8_t *from) {
    uint32_t bits = bits_of(load_bf16(into) + load_bf16(from));
    // half a unit less one, and one more when the last kept bit is odd; the NaN stays itself
    bits += UINT32_C(0x7fff) + (bits >> 16 & 1);
    uint16_t upper = (uint16_t)(bits >> 16);
    memcpy(into, &upper, sizeof upper);
}

void sum_add(NumFmt format, uint8_t *into, const uint8_t *from, uint64_t bytes) {
    uint32_t element;
    bool has = sum_has(format, &element);
    assert(has && bytes % element == 0);
    if (!has) return;
    for (uint64_t i = 0; i < bytes; i += element) {
        if (format == NUMFMT_F32)
            add_f32(into + i, from + i);
        else
            add_bf16(into + i, from + i);
    }
}
