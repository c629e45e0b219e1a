// Formats of activations.
//
// Invariant: reading what was written gives the nearest value of the format; f32 is copied bit by
// bit.
#include "exec/kernel/convert.h"

#include <assert.h>
#include <string.h>

bool convert_knows(NumFmt format) {
    return format == NUMFMT_F32 || format == NUMFMT_BF16;
}

float convert_from_bf16(uint16_t value) {
    uint32_t bits = (uint32_t)value << 16;
    float out;
    memcpy(&out, &bits, sizeof out);
    return out;
}

uint16_t convert_to_bf16(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if ((bits & 0x7fffffffU) > 0x7f800000U) return (uint16_t)(bits >> 16 | 0x40); // a quiet NaN
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

void convert_read(NumFmt format, const uint8_t *bytes, uint64_t count, float *out) {
    assert(convert_knows(format));
    if (format == NUMFMT_F32) {
        memcpy(out, bytes, count * sizeof *out);
        return;
    }
    for (uint64_t i = 0; i < count; i++) {
        uint16_t value;
        memcpy(&value, bytes + i * sizeof value, sizeof value);
        out[i] = convert_from_bf16(value);
    }
}

void convert_write(NumFmt format, const float *values, uint64_t count, uint8_t *bytes) {
    assert(convert_knows(format));
    if (format == NUMFMT_F32) {
        memcpy(bytes, values, count * sizeof *values);
        return;
    }
    for (uint64_t i = 0; i < count; i++) {
        uint16_t value = convert_to_bf16(values[i]);
        memcpy(bytes + i * sizeof value, &value, sizeof value);
    }
}

void convert_round(NumFmt format, float *values, uint64_t count) {
    assert(convert_knows(format));
    if (format == NUMFMT_F32) return;
    for (uint64_t i = 0; i < count; i++) values[i] = convert_from_bf16(convert_to_bf16(values[i]));
}
