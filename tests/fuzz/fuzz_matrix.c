// Matrices from bytes; the first byte says how many rows are asked for. What is accepted is the
// same when it is written out and read again.
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>

#include "model/base/mem.h"
#include "model/base/text.h"
#include "sim/matrix.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_back(const uint64_t *values, uint32_t n) {
    Text text = {0};
    Err err = {0};
    uint64_t *again = NULL;
    for (uint32_t i = 0; i < n * n; i++)
        text_addf(&text, "%" PRIu64 "%c", values[i], (i + 1) % n == 0 ? '\n' : ',');
    if (!matrix_parse("again", text.data, text.length, n, &again, &err)) abort();
    for (uint32_t i = 0; i < n * n; i++)
        if (again[i] != values[i]) abort();
    mem_free(again);
    text_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    uint32_t n = 1 + data[0] % 8;
    Err err = {0};
    uint64_t *values = NULL;
    if (matrix_parse("input", (const char *)data + 1, size - 1, n, &values, &err))
        read_back(values, n);
    else if (!err_is_set(&err))
        abort();
    mem_free(values);
    return 0;
}
