// Names and widths of number formats, from the one list in the header.
#include "model/base/numfmt.h"

#include <assert.h>

#include "model/base/wide.h"

const char *const numfmt_names[NUMFMT_COUNT] = {
#define X(name, text, bits) [NUMFMT_##name] = text,
    NUMFMT_LIST(X)
#undef X
};

static const uint32_t widths[NUMFMT_COUNT] = {
#define X(name, text, bits) [NUMFMT_##name] = bits,
    NUMFMT_LIST(X)
#undef X
};

const char *numfmt_name(NumFmt format) {
    assert(format < NUMFMT_COUNT);
    return numfmt_names[format];
}

uint32_t numfmt_bits(NumFmt format) {
    assert(format < NUMFMT_COUNT);
    return widths[format];
}

uint64_t numfmt_bytes(NumFmt format, uint64_t count) {
    return wide_mul_div_up(count, numfmt_bits(format), 8);
}
