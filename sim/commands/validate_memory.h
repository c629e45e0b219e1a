// Predictions for records of memory on one GPU, as engines print it when they start.
#ifndef SIM_COMMANDS_VALIDATE_MEMORY_H
#define SIM_COMMANDS_VALIDATE_MEMORY_H

#include "sim/commands/validate_predict.h"

// As validate_predict_row. Degrees are those with which the engine was started: without expert
// parallelism (ep 1) TP cuts every expert; SGLang (a source of sgl-project) counts its attention-DP
// inside its TP. Sizes of caches, tokens and the memory fraction are taken from the note, or from
// the row of kv_available_per_rank that the same start has in the file.
bool validate_memory_predict(ValidateContext *context, const RecordFile *file, uint32_t row,
                             Arena *arena, ValidatePrediction *out, Err *reason);

#endif
