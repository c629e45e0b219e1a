// What the fuzz targets of importers share: bytes of a grammar are refused with a line, or become a
// topology that can be written, read back and compiled.
#ifndef TESTS_FUZZ_IMPORT_TARGET_H
#define TESTS_FUZZ_IMPORT_TARGET_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model/machine/device.h"
#include "model/machine/fabric.h"
#include "model/machine/import.h"
#include "model/machine/topology.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Larger inputs only take longer.
#define IMPORT_TARGET_MAX_B 32768

// Loaded once for all inputs.
typedef struct ImportTarget {
    DeviceCatalogue catalogue;
    ImportFacts facts;
    bool is_loaded;
} ImportTarget;

static inline const ImportTarget *import_target_data(void) {
    static ImportTarget target;
    Err err = {{0}};
    if (target.is_loaded) return &target;
    if (!device_load(&target.catalogue, &err) || !import_fact_load(&target.facts, &err)) abort();
    target.is_loaded = true;
    return &target;
}

static inline void import_target_check(const Topology *topology, const ImportTarget *target) {
    Text text = {0};
    Topology again = {0};
    Fabric fabric = {0};
    Err err = {{0}};
    topology_write(topology, &text);
    if (!topology_parse("again", text.data, text.length, &again, &err)) abort();
    if (again.digest != topology->digest) abort();
    if (fabric_build(topology, &target->catalogue, &fabric, &err)) {
        if (fabric.gpu_count == 0) abort();
        fabric_free(&fabric);
    } else if (!err_is_set(&err)) {
        abort();
    }
    topology_free(&again);
    text_free(&text);
}

static inline int import_target(ImportGrammar grammar, const uint8_t *data, size_t size) {
    Topology topology = {0};
    Err err = {{0}};
    ImportGrammar found;
    const ImportTarget *target = import_target_data();
    ImportBytes dump = {"input", (const char *)data, size};
    if (size > IMPORT_TARGET_MAX_B) return 0;
    import_recognise((const char *)data, size, &found);
    if (!import_parse_with(&target->catalogue, &target->facts, grammar, dump, &topology, &err)) {
        if (!err_is_set(&err)) abort();
        return 0;
    }
    import_target_check(&topology, target);
    topology_free(&topology);
    return 0;
}

#endif
