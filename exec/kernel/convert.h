// Activations in their format to and from f32, in which all kernels compute.
#ifndef EXEC_KERNEL_CONVERT_H
#define EXEC_KERNEL_CONVERT_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/numfmt.h"

// Whether there are kernels for activations in this format: f32 and bf16.
bool convert_knows(NumFmt format);

// bf16 is the upper half of an f32.
float convert_from_bf16(uint16_t value);
uint16_t convert_to_bf16(float value); // to nearest, ties to even; NaN stays one

// `count` elements; `bytes` need not be aligned.
void convert_read(NumFmt format, const uint8_t *bytes, uint64_t count, float *out);
void convert_write(NumFmt format, const float *values, uint64_t count, uint8_t *bytes);

// What is left of the values in this format.
void convert_round(NumFmt format, float *values, uint64_t count);

#endif
