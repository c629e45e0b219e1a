// Lists of published models from hostile files: what is parsed has names once, and configs within
// its own strings.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sim/commands/validate_models.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ValidateModels models = {0};
    Err err = {0}, reason = {0};
    if (!validate_models_parse("fuzz", (const char *)data, size, &models, &err)) {
        if (!err_is_set(&err)) abort();
        return 0;
    }
    for (uint32_t i = 0; i < models.shape_count; i++) {
        const ValidateShape *shape = &models.shapes[i];
        for (uint32_t k = 0; k < shape->config_count; k++)
            if (strlen(shape->configs[k]) > size) abort();
        for (uint32_t k = 0; k < i; k++)
            if (strcmp(models.shapes[k].name, shape->name) == 0) abort();
    }
    if (validate_models_find(&models, "", &reason) != NULL || !err_is_set(&reason)) abort();
    validate_models_close(&models);
    return 0;
}
