// Prints what the command fit found.
#ifndef SIM_COMMANDS_FIT_SHOW_H
#define SIM_COMMANDS_FIT_SHOW_H

#include "model/base/text.h"
#include "sim/commands/fit_plan.h"

// What was asked, for the head.
typedef struct FitHead {
    const FitAsk *ask;
    const char *lengths;  // as given
    bool default_context; // nobody named one
    bool is_best;         // one row for each machine and format
} FitHead;

void fit_show_table(const FitHead *head, const FitRow *rows, uint32_t count, Text *out);
void fit_show_json(const FitHead *head, const FitRow *rows, uint32_t count, Text *out);
void fit_show_csv(const FitHead *head, const FitRow *rows, uint32_t count, Text *out);

#endif
