// Calibration files from bytes: no crash, no hang, and a value for every parameter whenever one is
// accepted.
#include <stdint.h>
#include <stdlib.h>

#include "model/cost/calib.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_values(const Calib *calib) {
    for (int param = 0; param < CALIB_COUNT; param++) {
        const CalibValue *value = &calib->values[param];
        bool is_plain = calib_kind((CalibParam)param) == CALIB_IS_PLAIN;
        if (!(is_plain ? value->low >= 0 : value->low > 0)) abort();
        if (!(value->low <= value->value && value->value <= value->high)) abort();
        double factor = calib_draw(calib, (CalibParam)param, 1, 2);
        if (!(factor > 0 && factor < 1e30)) abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Calib calib = {0};
    Err err = {{0}};
    if (calib_parse("input", (const char *)data, size, "hopper", &calib, &err)) {
        check_values(&calib);
    } else if (!err_is_set(&err)) {
        abort();
    }
    calib_free(&calib);
    return 0;
}
