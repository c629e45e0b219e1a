// Reads record files.
//
// Invariant: every row has a cell for every column, an id (the first cell; of its own but in
// rankings) and a finite value; memory grows with the bytes of the file, never with a number in it.
// Source of the format: RFC 4180, with UTF-8 (a byte order mark is skipped) and lines ended by LF
// or CRLF.
#include "model/report/record.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/base/file.h"
#include "model/base/text.h"

typedef struct KindRow {
    const char *series, *columns;
} KindRow;

static const KindRow kinds[] = {
#define X(name, text, series, columns) {series, columns},
    RECORD_KIND_LIST(X)
#undef X
};

const char *const record_kind_names[RECORD_KIND_COUNT] = {
#define X(name, text, series, columns) text,
    RECORD_KIND_LIST(X)
#undef X
};

const char *record_header(RecordKind kind) {
    return kinds[kind].columns;
}

// ---- Cells of CSV

// `bytes` end at `end`; `at` stands at the begin of a cell or at the end of a line.
typedef struct Scanner {
    const char *name, *at, *end;
    uint32_t line;
    Arena *arena;
} Scanner;

typedef enum CellEnd { CELL_COMMA, CELL_LINE, CELL_FILE } CellEnd;

static bool fail(const Scanner *scanner, Err *err, const char *what) {
    return err_set(err, "%s:%u: %s", scanner->name, scanner->line, what);
}

static bool is_line_end(const Scanner *scanner) {
    const char *at = scanner->at;
    return *at == '\n' || (*at == '\r' && at + 1 < scanner->end && at[1] == '\n');
}

// Copies the text between two quotes, of which a doubled one stands for one.
static bool scan_quoted(Scanner *scanner, char *cell, size_t *length, Err *err) {
    for (scanner->at++; scanner->at < scanner->end; scanner->at++) {
        if (*scanner->at == '"') {
            scanner->at++;
            if (scanner->at == scanner->end || *scanner->at != '"') return true;
        }
        if (*length == RECORD_CELL_MAX) break;
        cell[(*length)++] = *scanner->at;
    }
    return fail(scanner, err,
                scanner->at == scanner->end ? "a quote is not closed" : "a cell is too long");
}

static bool scan_plain(Scanner *scanner, char *cell, size_t *length, Err *err) {
    for (; scanner->at < scanner->end && *scanner->at != ',' && !is_line_end(scanner);
         scanner->at++) {
        if (*scanner->at == '"')
            return fail(scanner, err, "a quote inside a cell that does not begin with one");
        if (*length == RECORD_CELL_MAX) return fail(scanner, err, "a cell is too long");
        cell[(*length)++] = *scanner->at;
    }
    return true;
}

static bool scan_end(Scanner *scanner, CellEnd *out, Err *err) {
    if (scanner->at == scanner->end) {
        *out = CELL_FILE;
    } else if (*scanner->at == ',') {
        *out = CELL_COMMA;
        scanner->at++;
    } else if (is_line_end(scanner)) {
        *out = CELL_LINE;
        scanner->at += *scanner->at == '\r' ? 2 : 1;
    } else {
        return fail(scanner, err, "expected a comma or the end of the line after a quoted cell");
    }
    return true;
}

// What is read is printed: a cell has to stand on one line.
static bool scan_cell(Scanner *scanner, const char **out, CellEnd *out_end, Err *err) {
    char cell[RECORD_CELL_MAX + 1];
    size_t length = 0;
    bool quoted = scanner->at < scanner->end && *scanner->at == '"';
    if (!(quoted ? scan_quoted : scan_plain)(scanner, cell, &length, err) ||
        !scan_end(scanner, out_end, err))
        return false;
    cell[length] = '\0';
    if (!text_is_utf8(cell, length)) return fail(scanner, err, "not UTF-8");
    if (text_plain(cell) != length) return fail(scanner, err, "a cell has a control character");
    *out = length == 0 ? "" : arena_copy(scanner->arena, cell, length + 1, 1);
    return true;
}

// One line of cells; `count` is at most RECORD_COLUMNS_MAX.
static bool scan_row(Scanner *scanner, const char **cells, uint32_t *out_count, Err *err) {
    CellEnd end = CELL_COMMA;
    uint32_t count = 0;
    while (end == CELL_COMMA) {
        if (count == RECORD_COLUMNS_MAX) return fail(scanner, err, "more than 64 cells");
        if (!scan_cell(scanner, &cells[count], &end, err)) return false;
        count++;
    }
    *out_count = count;
    return true;
}

// ---- The header

// How many of the names are those of this kind, from the left.
static uint32_t same_columns(const char *columns, const char *const *names, uint32_t count,
                             bool *out_all) {
    uint32_t same = 0;
    while (same < count) {
        size_t length = strcspn(columns, ",");
        if (strlen(names[same]) != length || strncmp(columns, names[same], length) != 0) break;
        same++;
        columns += length;
        if (*columns == '\0') break;
        columns++;
    }
    *out_all = same == count && *columns == '\0';
    return same;
}

static void column_at(const char *columns, uint32_t index, char *out, size_t capacity) {
    for (; index > 0 && *columns != '\0'; index--) {
        columns += strcspn(columns, ",");
        columns += *columns == ',';
    }
    snprintf(out, capacity, "%.*s", (int)strcspn(columns, ","), columns);
}

// The header is nearest to the kind with which it agrees longest.
static bool unknown_header(const Scanner *scanner, RecordKind nearest, uint32_t same,
                           const char *const *names, uint32_t count, Err *err) {
    char want[64], quote[TEXT_QUOTE_MAX];
    column_at(kinds[nearest].columns, same, want, sizeof want);
    const char *found = same < count ? text_quote(names[same], quote) : "the end of the line";
    if (same == 0)
        return err_set(err, "%s:1: not a record file: column 1 is %s, expected \"id\"",
                       scanner->name, found);
    if (*want == '\0')
        return err_set(err, "%s:1: column %u is %s, expected the end of the line of %s records",
                       scanner->name, same + 1, found, record_kind_names[nearest]);
    return err_set(err, "%s:1: column %u is %s, expected \"%s\" of %s records", scanner->name,
                   same + 1, found, want, record_kind_names[nearest]);
}

static bool find_kind(const Scanner *scanner, const char *const *names, uint32_t count,
                      RecordKind *out, Err *err) {
    uint32_t most = 0;
    RecordKind nearest = RECORD_CHECKPOINT;
    for (uint32_t k = 0; k < RECORD_KIND_COUNT; k++) {
        bool all;
        uint32_t same = same_columns(kinds[k].columns, names, count, &all);
        if (all) {
            *out = (RecordKind)k;
            return true;
        }
        if (same > most) {
            most = same;
            nearest = (RecordKind)k;
        }
    }
    return unknown_header(scanner, nearest, most, names, count, err);
}

// ---- Rows

static uint32_t find_column(const RecordFile *file, const char *name) {
    uint32_t i = 0;
    while (i < file->column_count && strcmp(file->columns[i], name) != 0) i++;
    assert(i < file->column_count);
    return i;
}

const char *record_cell(const RecordFile *file, uint32_t row, const char *column) {
    assert(row < file->row_count);
    return file->cells[(size_t)row * file->column_count + find_column(file, column)];
}

// "layer_bytes[0] dense+KDA" is of the series layer_bytes.
static const char *series_of(const char *cell, Arena *arena) {
    return arena_printf(arena, "%.*s", (int)strcspn(cell, " ["), cell);
}

typedef struct Rows {
    RecordFile *file;       // its arrays are heap memory until all rows are read
    uint32_t series, value; // columns
    uint32_t cell_capacity, row_capacity;
} Rows;

static bool add_row(Rows *rows, const Scanner *scanner, const char **cells, Err *err) {
    RecordFile *file = rows->file;
    char quote[TEXT_QUOTE_MAX];
    Record row = {.id = cells[0], .line = scanner->line};
    if (*row.id == '\0') return fail(scanner, err, "a row without an id");
    row.series = series_of(cells[rows->series], &file->arena);
    if (*row.series == '\0')
        return err_set(err, "%s:%u: column %s of a row is empty", file->name, row.line,
                       file->columns[rows->series]);
    if (!text_parse_double(cells[rows->value], &row.value))
        return err_set(err, "%s:%u: value: expected a number, found %s", file->name, row.line,
                       text_quote(cells[rows->value], quote));
    uint32_t start = file->row_count * file->column_count;
    file->cells = mem_grow(file->cells, &rows->cell_capacity, start + file->column_count,
                           sizeof *file->cells);
    memcpy(file->cells + start, cells, file->column_count * sizeof *cells);
    file->rows = mem_grow(file->rows, &rows->row_capacity, file->row_count + 1, sizeof *file->rows);
    file->rows[file->row_count++] = row;
    return true;
}

static bool read_rows(Scanner *scanner, RecordFile *file, Err *err) {
    Rows rows = {.file = file,
                 .series = find_column(file, kinds[file->kind].series),
                 .value = find_column(file, "value")};
    const char *cells[RECORD_COLUMNS_MAX];
    while (scanner->at < scanner->end) {
        uint32_t count;
        if (!scan_row(scanner, cells, &count, err)) return false;
        if (count != file->column_count)
            return err_set(err, "%s:%u: %u cell%s, expected %u as in line 1", file->name,
                           scanner->line, count, count == 1 ? "" : "s", file->column_count);
        if (!add_row(&rows, scanner, cells, err)) return false;
        scanner->line++;
    }
    return true;
}

static int compare_ids(const void *left, const void *right) {
    const Record *a = left, *b = right;
    int order = strcmp(a->id, b->id);
    return order != 0 ? order : a->line < b->line ? -1 : a->line > b->line;
}

static bool check_ids(const RecordFile *file, Err *err) {
    Record *sorted = mem_alloc(file->row_count, sizeof *sorted);
    char quote[TEXT_QUOTE_MAX];
    bool good = true;
    if (file->row_count > 0) memcpy(sorted, file->rows, file->row_count * sizeof *sorted);
    qsort(sorted, file->row_count, sizeof *sorted, compare_ids);
    for (uint32_t i = 1; good && i < file->row_count; i++)
        if (strcmp(sorted[i - 1].id, sorted[i].id) == 0)
            good = err_set(err, "%s:%u: id %s stands in line %u already", file->name,
                           sorted[i].line, text_quote(sorted[i].id, quote), sorted[i - 1].line);
    mem_free(sorted);
    return good;
}

// Arrays that grew on the heap become the arena's, or nobody's.
static void settle(RecordFile *file) {
    const char **cells = file->cells;
    Record *rows = file->rows;
    size_t count = (size_t)file->row_count * file->column_count;
    file->cells = arena_copy(&file->arena, cells, count, sizeof *cells);
    file->rows = arena_copy(&file->arena, rows, file->row_count, sizeof *rows);
    mem_free(cells);
    mem_free(rows);
}

static bool parse(RecordFile *file, const char *bytes, size_t count, Err *err) {
    const char *names[RECORD_COLUMNS_MAX];
    Scanner scanner = {file->name, bytes, bytes + count, 1, &file->arena};
    if (count >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) scanner.at += 3;
    if (!scan_row(&scanner, names, &file->column_count, err) ||
        !find_kind(&scanner, names, file->column_count, &file->kind, err))
        return false;
    file->columns = arena_copy(&file->arena, names, file->column_count, sizeof *names);
    scanner.line = 2;
    bool good =
        read_rows(&scanner, file, err) && (file->kind == RECORD_RANKING || check_ids(file, err));
    settle(file);
    return good;
}

bool record_parse(const char *name, const char *bytes, size_t count, RecordFile *out, Err *err) {
    RecordFile file = {0};
    file.name = arena_string(&file.arena, name);
    if (!parse(&file, bytes, count, err)) {
        arena_free(&file.arena);
        return false;
    }
    *out = file;
    return true;
}

bool record_read(const char *path, RecordFile *out, Err *err) {
    Arena arena = {0};
    char *bytes;
    size_t count;
    bool good = file_read(path, RECORD_FILE_MAX_B, &arena, &bytes, &count, err) &&
                record_parse(path, bytes, count, out, err);
    arena_free(&arena);
    return good;
}

void record_free(RecordFile *file) {
    arena_free(&file->arena);
    *file = (RecordFile){0};
}
