// The plan reader: bytes that parse give a consistent plan that is written and read to the same
// bytes.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model/plan/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition) {
    if (!condition) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    PlanFile first = {0}, second = {0};
    Err err = {0};
    Text text = {0}, again = {0};
    if (!plan_parse("fuzz", (const char *)data, size, &first, &err)) {
        require(err_is_set(&err) && first.plan.pool_count == 0);
        return 0;
    }
    require(plan_check(&first.plan, &err));
    plan_write(&first, &text);
    require(plan_parse("again", text.data, text.length, &second, &err));
    plan_write(&second, &again);
    require(strcmp(text_string(&text), text_string(&again)) == 0);
    require(plan_digest(&first.plan) == plan_digest(&second.plan));
    text_free(&text);
    text_free(&again);
    plan_file_free(&first);
    plan_file_free(&second);
    return 0;
}
