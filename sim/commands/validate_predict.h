// From a row of a record file to a prediction: one predictor for each kind of record.
#ifndef SIM_COMMANDS_VALIDATE_PREDICT_H
#define SIM_COMMANDS_VALIDATE_PREDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/machine/device.h"
#include "model/plan/memory_engine.h"
#include "model/report/record.h"
#include "sim/commands/validate_models.h"

// What predictors look things up in.
typedef struct ValidateContext {
    ValidateModels models;
    DeviceCatalogue catalogue;
    MemoryEngines engines;
} ValidateContext;

// In the unit of the row. `basis` is what the error is a percentage of: what was measured, unless
// `basis_name` says otherwise.
typedef struct ValidatePrediction {
    double predicted, measured, basis;
    const char *basis_name; // "measured"
    const char *remark;     // what was compared when it is not the row's value as it stands; ""
} ValidatePrediction;

// False with the reason why the row cannot be turned into a prediction. Strings are the arena's.
bool validate_predict_row(ValidateContext *context, const RecordFile *file, uint32_t row,
                          Arena *arena, ValidatePrediction *out, Err *reason);

#endif
