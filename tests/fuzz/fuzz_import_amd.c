// amd-smi topology from bytes.
#include "tests/fuzz/import_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    return import_target(IMPORT_AMD, data, size);
}
