// The table of predictors.
//
// Invariant: what is compared is finite and has a basis to be compared with, or the row is refused.
#include "sim/commands/validate_predict.h"

#include "sim/commands/validate_checkpoint.h"
#include "sim/commands/validate_memory.h"

typedef bool Predictor(ValidateContext *context, const RecordFile *file, uint32_t row, Arena *arena,
                       ValidatePrediction *out, Err *reason);

static Predictor *const predictors[RECORD_KIND_COUNT] = {
    [RECORD_CHECKPOINT] = validate_checkpoint_predict,
    [RECORD_MEMORY] = validate_memory_predict,
};

bool validate_predict_row(ValidateContext *context, const RecordFile *file, uint32_t row,
                          Arena *arena, ValidatePrediction *out, Err *reason) {
    double value = file->rows[row].value;
    ValidatePrediction result = {
        .measured = value, .basis = value, .basis_name = "measured", .remark = ""};
    if (predictors[file->kind] == NULL)
        return err_set(reason, "no predictor for %s records yet", record_kind_names[file->kind]);
    if (!predictors[file->kind](context, file, row, arena, &result, reason)) return false;
    if (result.basis < 0) result.basis = -result.basis;
    if (result.basis == 0) return err_set(reason, "measured 0, of which no error is a percentage");
    *out = result;
    return true;
}
