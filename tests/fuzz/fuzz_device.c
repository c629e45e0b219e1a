// Device files from bytes: what is accepted has ordered ranges and is found by each of its names.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model/machine/device.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_device(const DeviceCatalogue *catalogue, const Device *device) {
    if (device_find(catalogue, device->name) != device) abort();
    for (uint32_t i = 0; i < device->alias_count; i++) {
        if (device_find(catalogue, device->aliases[i]) != device) abort();
    }
    for (uint32_t i = 0; i < NUMFMT_COUNT; i++) {
        if (device->rate_flops[i].low > device->rate_flops[i].high) abort();
    }
    if (device->memory_B.low > device->memory_B.high) abort();
    if (strchr("ABCM", device->confidence) == NULL) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    DeviceCatalogue catalogue = {0};
    Err err = {{0}};
    if (size > 8192) return 0;
    if (!device_parse("input", (const char *)data, size, &catalogue, &err)) {
        if (!err_is_set(&err) || catalogue.count != 0) abort();
        return 0;
    }
    for (uint32_t i = 0; i < catalogue.count; i++) check_device(&catalogue, &catalogue.devices[i]);
    if (device_unknown(&catalogue, "no such", &err)) abort();
    device_free(&catalogue);
    return 0;
}
