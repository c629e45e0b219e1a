// Loads from hostile files: what is parsed has shares that are fractions, and reads back to the
// same digest.
#include <stdint.h>
#include <stdlib.h>

#include "model/plan/load.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_back(const Load *load) {
    Text text = {0};
    Load again = {0};
    Err err = {0};
    load_write(load, &text);
    if (!load_parse("again", text.data, text.length, &again, &err)) abort();
    if (again.digest != load->digest) abort();
    load_free(&again);
    text_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Load load = {0};
    Err err = {0};
    if (!load_parse("fuzz", (const char *)data, size, &load, &err)) return 0;
    for (uint32_t layer = 0; layer < load.layers && layer < 64; layer++) {
        uint64_t part, whole;
        load_share(&load, layer, load.experts, 0, load.experts / 2, &part, &whole);
        if (whole == 0 || part > whole) abort();
    }
    read_back(&load);
    load_free(&load);
    return 0;
}
