// Number formats of weights, caches and arithmetic.
#ifndef MODEL_BASE_NUMFMT_H
#define MODEL_BASE_NUMFMT_H

#include <stdint.h>

// name, text in files and output, bits per element. Block scales are tensors of their own.
#define NUMFMT_LIST(X)                                                                             \
    X(F32, "f32", 32)                                                                              \
    X(F16, "f16", 16)                                                                              \
    X(BF16, "bf16", 16)                                                                            \
    X(FP8, "fp8", 8)                                                                               \
    X(FP4, "fp4", 4)                                                                               \
    X(INT8, "int8", 8)                                                                             \
    X(INT4, "int4", 4)

typedef enum NumFmt {
#define X(name, text, bits) NUMFMT_##name,
    NUMFMT_LIST(X)
#undef X
        NUMFMT_COUNT
} NumFmt;

const char *numfmt_name(NumFmt format);
uint32_t numfmt_bits(NumFmt format);
extern const char *const numfmt_names[NUMFMT_COUNT]; // for json_enum

// Bytes of `count` elements, rounded up to a byte.
uint64_t numfmt_bytes(NumFmt format, uint64_t count);

#endif
