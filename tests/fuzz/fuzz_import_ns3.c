// SimAI and ns-3 topologies from bytes.
#include "tests/fuzz/import_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    return import_target(IMPORT_NS3, data, size);
}
