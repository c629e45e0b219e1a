// Axes of a sweep from bytes: no crash, no hang, and never more cells than allowed.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sim/search/sweep.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_axes(const SweepAxes *axes) {
    uint64_t cells = 1;
    if (axes->count < 1 || axes->count > SWEEP_AXES_MAX) abort();
    for (uint32_t i = 0; i < axes->count; i++) {
        const SweepAxis *axis = &axes->axes[i];
        if (axis->count == 0) abort();
        for (uint32_t v = 0; v < axis->count; v++)
            if (axis->values[v].text == NULL) abort();
        cells *= axis->count;
    }
    // "none" comes on top of the faults that were counted
    if (cells > 2 * (uint64_t)SWEEP_CELLS_MAX) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Arena arena = {0};
    SweepAxes axes;
    Err err = {0};
    char *text = arena_alloc(&arena, size + 1, 1);
    if (size > 0) memcpy(text, data, size);
    if (sweep_axes_parse(text, &arena, &axes, &err))
        check_axes(&axes);
    else if (!err_is_set(&err))
        abort();
    arena_free(&arena);
    return 0;
}
