// One-line machines from bytes: each gives a finished topology that reads back from its file, or
// one message.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model/machine/topology.h"
#include "model/machine/topology_synth.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char spec[512];
    Topology topology = {0};
    Err err = {{0}};
    if (size >= sizeof spec) return 0;
    memcpy(spec, data, size);
    spec[size] = '\0';
    if (!topology_synth_make(spec, &topology, &err)) {
        if (!err_is_set(&err) || topology.templates != NULL) abort();
        return 0;
    }
    if (!topology_check(&topology, &err) || topology.digest == 0) abort();
    Topology read = {0};
    Text json = {0};
    topology_write(&topology, &json);
    if (!topology_parse("text", text_string(&json), json.length, &read, &err)) abort();
    if (read.digest != topology.digest) abort();
    text_free(&json);
    topology_free(&read);
    topology_free(&topology);
    return 0;
}
