// Exact figures for programs: one list of keys and values, as members of a JSON object or as rows
// of a CSV table. Keys name their units.
#ifndef SIM_COMMANDS_FIGURES_H
#define SIM_COMMANDS_FIGURES_H

#include <stdint.h>

#include "model/base/jsonw.h"
#include "model/base/table.h"

// Where figures go: one of the two, borrowed.
typedef struct Figures {
    JsonWriter *json; // an open object
    Table *csv;       // with the columns of figures_columns
} Figures;

void figures_columns(Table *csv);
void figures_put(const Figures *figures, const char *key, uint64_t value);
// The key is the name, its blanks and hyphens turned to '_', and the suffix: "pcie-switch" and
// "_count" make "pcie_switch_count".
void figures_put_named(const Figures *figures, const char *name, const char *suffix,
                       uint64_t value);

#endif
