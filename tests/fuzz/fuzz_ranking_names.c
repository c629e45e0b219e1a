// Lists of machines and models of published rankings from hostile files: what is parsed is found
// again by its own names.
#include <stdint.h>
#include <stdlib.h>

#include "sim/commands/validate_ranking_names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ValidateRankingNames names = {0};
    Err err = {0}, reason = {0};
    if (!validate_ranking_names_parse("fuzz", (const char *)data, size, &names, &err)) {
        if (!err_is_set(&err)) abort();
        return 0;
    }
    for (uint32_t i = 0; i < names.machine_count; i++) {
        const ValidateRankingMachine *machine = &names.machines[i];
        if (validate_ranking_names_machine(&names, machine->gpu, machine->gpus, &reason) == NULL)
            abort();
    }
    for (uint32_t i = 0; i < names.model_count; i++) {
        const ValidateRankingModel *model = &names.models[i];
        if (validate_ranking_names_model(&names, model->model, model->precision, &reason) == NULL)
            abort();
    }
    validate_ranking_names_free(&names);
    return 0;
}
