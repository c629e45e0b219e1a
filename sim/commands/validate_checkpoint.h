// Predictions for records of published checkpoints: counts and bytes of tensors.
#ifndef SIM_COMMANDS_VALIDATE_CHECKPOINT_H
#define SIM_COMMANDS_VALIDATE_CHECKPOINT_H

#include "sim/commands/validate_predict.h"

// As validate_predict_row: a row is predicted when its formula_match states an exact figure. That
// is "exact ..."; a difference to it such as "+1,728", which is added; or the part of the value
// that is exact, such as "payload 61,064,245,248 + headers", which is compared instead.
bool validate_checkpoint_predict(ValidateContext *context, const RecordFile *file, uint32_t row,
                                 Arena *arena, ValidatePrediction *out, Err *reason);

// Bytes of all tensors that the published files hold.
uint64_t validate_checkpoint_payload_B(const ValidateModel *model);

#endif
