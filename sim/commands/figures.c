// Figures in the two forms that programs read.
//
// Invariant: a figure has the same key and the same digits in both.
#include "sim/commands/figures.h"

#include <inttypes.h>

void figures_columns(Table *csv) {
    table_column(csv, "figure", TABLE_LEFT);
    table_column(csv, "value", TABLE_RIGHT);
}

void figures_put(const Figures *figures, const char *key, uint64_t value) {
    if (figures->json != NULL) {
        jsonw_u64(figures->json, key, value);
        return;
    }
    table_cell(figures->csv, key);
    table_cellf(figures->csv, "%" PRIu64, value);
}

void figures_put_named(const Figures *figures, const char *name, const char *suffix,
                       uint64_t value) {
    Text key = {0};
    text_addf(&key, "%s%s", name, suffix);
    for (size_t i = 0; i < key.length; i++)
        if (key.data[i] == '-' || key.data[i] == ' ') key.data[i] = '_';
    figures_put(figures, text_string(&key), value);
    text_free(&key);
}
