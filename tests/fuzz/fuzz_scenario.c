// The scenario reader: bytes that parse give a checked workload that is written and read to the
// same digest.
#include <stdint.h>
#include <stdlib.h>

#include "model/plan/scenario.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition) {
    if (!condition) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Scenario first = {0}, second = {0};
    Err err = {0};
    Text text = {0};
    if (!scenario_parse("fuzz", (const char *)data, size, &first, &err)) {
        require(err_is_set(&err) && first.name == NULL);
        return 0;
    }
    require(scenario_check(&first, 0, &err));
    scenario_write(&first, &text);
    require(scenario_parse("again", text.data, text.length, &second, &err));
    require(first.digest == second.digest);
    text_free(&text);
    scenario_free(&first);
    scenario_free(&second);
    return 0;
}
