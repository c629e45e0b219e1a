// Text tables for people, and the same cells as CSV.
#ifndef MODEL_BASE_TABLE_H
#define MODEL_BASE_TABLE_H

#include <stdint.h>

#include "model/base/mem.h"
#include "model/base/text.h"

#define TABLE_NOTE_COLUMNS 100 // where notes wrap

typedef enum TableAlign { TABLE_LEFT, TABLE_RIGHT } TableAlign;

typedef struct TableNote {
    const char *text;
    uint32_t cells; // that stand before it
} TableNote;

// A zeroed Table is empty. Cells are copied. Columns are added before the first row; a row is
// finished when all its columns are filled.
typedef struct Table {
    Arena arena;
    const char **headers;
    TableAlign *aligns;
    const char **cells; // row-major
    uint32_t columns, column_capacity, align_capacity;
    uint32_t cell_count, cell_capacity;
    TableNote *notes; // in the order of the rows
    uint32_t note_count, note_capacity;
} Table;

void table_column(Table *table, const char *header, TableAlign align);
void table_cell(Table *table, const char *text);
void table_cellf(Table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
// A number for machines: reads back as the same double.
void table_cell_exact(Table *table, double value);

// A sentence under the row that was finished last, indented and wrapped; CSV leaves it out.
void table_note(Table *table, const char *text);

// Aligned by code points, two spaces between columns, a header line, no trailing blanks.
void table_print(const Table *table, Text *out);
// RFC 4180: a header line, "," between, quotes where needed, "\n" at the end.
void table_print_csv(const Table *table, Text *out);
void table_free(Table *table);

#endif
