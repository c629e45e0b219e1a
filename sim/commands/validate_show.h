// How `moesim validate` prints rows, series, families and the last line.
#ifndef SIM_COMMANDS_VALIDATE_SHOW_H
#define SIM_COMMANDS_VALIDATE_SHOW_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/text.h"
#include "model/report/score.h"
#include "sim/commands/validate_predict.h"

typedef struct ValidateRow {
    const char *id, *series, *model, *unit;
    double value; // of the record
    bool is_predicted;
    bool exceeds; // the bound
    ValidatePrediction prediction;
    double error;       // in percent
    const char *reason; // why it is not predicted
} ValidateRow;

typedef struct ValidateReport {
    const ValidateRow *rows;
    uint32_t row_count, exceeding;
    Score score;
    const char *bound; // of --max-error as given, or NULL
} ValidateReport;

void validate_show_table(const ValidateReport *report, Text *out);
void validate_show_json(const ValidateReport *report, Text *out);
void validate_show_csv(const ValidateReport *report, Text *out); // rows alone

#endif
