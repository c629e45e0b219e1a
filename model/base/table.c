// Tables: cells are kept as text in row order, widths are computed when printing.
//
// Invariant: cell i belongs to column i % columns; what is printed depends on the cells alone.
#include "model/base/table.h"

#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#define NOTE_INDENT 8

void table_column(Table *table, const char *header, TableAlign align) {
    uint32_t need = table->columns + 1;
    assert(table->cell_count == 0);
    table->headers = mem_grow(table->headers, &table->column_capacity, need, sizeof(char *));
    table->aligns = mem_grow(table->aligns, &table->align_capacity, need, sizeof(TableAlign));
    table->headers[table->columns] = arena_string(&table->arena, header);
    table->aligns[table->columns] = align;
    table->columns++;
}

// Takes a string that lives in the arena.
static void add_cell(Table *table, const char *text) {
    uint32_t need = table->cell_count + 1;
    assert(table->columns > 0);
    table->cells = mem_grow(table->cells, &table->cell_capacity, need, sizeof(char *));
    table->cells[table->cell_count++] = text;
}

void table_cell(Table *table, const char *text) {
    add_cell(table, arena_string(&table->arena, text));
}

void table_cellf(Table *table, const char *format, ...) {
    va_list args;
    va_start(args, format);
    add_cell(table, arena_vprintf(&table->arena, format, args));
    va_end(args);
}

void table_cell_exact(Table *table, double value) {
    Text text = {0};
    text_add_double(&text, value);
    table_cell(table, text_string(&text));
    text_free(&text);
}

void table_note(Table *table, const char *text) {
    assert(table->cell_count > 0 && table->cell_count % table->columns == 0);
    table->notes =
        mem_grow(table->notes, &table->note_capacity, table->note_count + 1, sizeof *table->notes);
    table->notes[table->note_count++] =
        (TableNote){arena_string(&table->arena, text), table->cell_count};
}

static size_t *column_widths(const Table *table) {
    size_t *widths = mem_alloc(table->columns, sizeof *widths);
    for (uint32_t i = 0; i < table->columns; i++) widths[i] = text_columns(table->headers[i]);
    for (uint32_t i = 0; i < table->cell_count; i++) {
        size_t width = text_columns(table->cells[i]), *widest = &widths[i % table->columns];
        if (width > *widest) *widest = width;
    }
    return widths;
}

static void add_blanks(Text *out, size_t count) {
    while (count-- > 0) text_add_char(out, ' ');
}

// Blanks are added before a cell that has text, never after the last one.
static void print_row(const Table *table, const char **cells, const size_t *widths, Text *out) {
    size_t pending = 0;
    for (uint32_t i = 0; i < table->columns; i++) {
        size_t width = text_columns(cells[i]), fill = widths[i] - width;
        bool right = table->aligns[i] == TABLE_RIGHT;
        if (width > 0) {
            add_blanks(out, pending + (right ? fill : 0));
            text_add(out, cells[i]);
            pending = right ? 0 : fill;
        } else {
            pending += fill;
        }
        pending += 2;
    }
    text_add_char(out, '\n');
}

void table_print(const Table *table, Text *out) {
    assert(table->columns > 0 && table->cell_count % table->columns == 0);
    size_t *widths = column_widths(table);
    print_row(table, table->headers, widths, out);
    uint32_t note = 0;
    for (uint32_t i = 0; i < table->cell_count; i += table->columns) {
        print_row(table, table->cells + i, widths, out);
        for (; note < table->note_count && table->notes[note].cells == i + table->columns; note++)
            text_add_wrapped(out, table->notes[note].text, NOTE_INDENT, TABLE_NOTE_COLUMNS);
    }
    mem_free(widths);
}

static void add_field(Text *out, const char *cell) {
    if (strpbrk(cell, "\",\r\n") == NULL) {
        text_add(out, cell);
        return;
    }
    text_add_char(out, '"');
    for (; *cell != '\0'; cell++) {
        if (*cell == '"') text_add_char(out, '"');
        text_add_char(out, *cell);
    }
    text_add_char(out, '"');
}

static void print_fields(const Table *table, const char **cells, Text *out) {
    for (uint32_t i = 0; i < table->columns; i++) {
        if (i > 0) text_add_char(out, ',');
        add_field(out, cells[i]);
    }
    text_add_char(out, '\n');
}

void table_print_csv(const Table *table, Text *out) {
    assert(table->columns > 0 && table->cell_count % table->columns == 0);
    print_fields(table, table->headers, out);
    for (uint32_t i = 0; i < table->cell_count; i += table->columns) {
        print_fields(table, table->cells + i, out);
    }
}

void table_free(Table *table) {
    arena_free(&table->arena);
    mem_free(table->headers);
    mem_free(table->aligns);
    mem_free(table->cells);
    mem_free(table->notes);
    *table = (Table){0};
}
