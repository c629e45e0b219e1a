// The reader of saved.json: what parses is written and read to the same list.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sim/commands/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition) {
    if (!condition) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Manifest first = {0}, second = {0};
    Err err = {0};
    Text text = {0}, again = {0};
    if (!manifest_parse("fuzz", (const char *)data, size, &first, &err)) {
        require(err_is_set(&err) && first.files == NULL);
        return 0;
    }
    manifest_write(&first, &text);
    require(manifest_parse("again", text.data, text.length, &second, &err));
    manifest_write(&second, &again);
    require(first.count == second.count && strcmp(text.data, again.data) == 0);
    text_free(&text);
    text_free(&again);
    manifest_free(&first);
    manifest_free(&second);
    return 0;
}
