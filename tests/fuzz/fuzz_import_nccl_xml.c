// NCCL and RCCL topology XML from bytes.
#include "tests/fuzz/import_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    return import_target(IMPORT_NCCL_XML, data, size);
}
