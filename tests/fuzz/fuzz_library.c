// Lists of communication libraries from bytes: no crash, no hang, and a reason and a source of each
// whenever a list is accepted.
#include <stdint.h>
#include <stdlib.h>

#include "model/plan/library.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Libraries libraries = {0};
    Err err = {{0}};
    if (library_parse("input", (const char *)data, size, &libraries, &err)) {
        for (uint32_t i = 0; i < libraries.count; i++) {
            const Library *library = &libraries.libraries[i];
            if (*library->because == '\0' || *library->source == '\0') abort();
            if (library->lost_nic >= LIBRARY_LOSS_COUNT) abort();
        }
    } else if (!err_is_set(&err)) {
        abort();
    }
    library_free(&libraries);
    return 0;
}
