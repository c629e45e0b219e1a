// Reads square tables below titles. Grammar: ROCm rocm_smi.py (showtopo) and amdsmi (topology);
// the first line of a table names its columns, every further one its row and the cells.
//
// Invariant: all tables have as many rows and columns as the first.
#include "model/machine/import_smi.h"

#include <string.h>

#include "model/base/text.h"

// The first words of a line, at most one more than `most`: their number.
static uint32_t split(const char *line, const char **words, uint32_t most, Arena *arena) {
    uint32_t count = 0;
    const char *word;
    while (count <= most && (word = import_line_word(&line, arena)) != NULL) words[count++] = word;
    return count;
}

// "===== Weight between two GPUs =====": the text behind the rule.
static const char *title_of(const char *line) {
    line = import_line_skip(line);
    while (*line == '=' || *line == ' ') line++;
    return line;
}

static bool read_table(Import *import, const ImportLines *lines, uint32_t title,
                       ImportSmiTable table, ImportSmi *out, Err *err) {
    const char *words[IMPORT_SMI_GPUS_MAX + 2];
    uint32_t line = title + 1;
    while (line < lines->count && *import_line_skip(lines->lines[line]) == '\0') line++;
    uint32_t count = line == lines->count
                         ? 0
                         : split(lines->lines[line], words, IMPORT_SMI_GPUS_MAX, &import->arena);
    if (count == 0 || count > IMPORT_SMI_GPUS_MAX || (out->count > 0 && count != out->count))
        return import_node_error(import, line + 1, err,
                                 "expected the names of %s%u GPUs below the title, found %u",
                                 out->count > 0 ? "the " : "at most ",
                                 out->count > 0 ? out->count : IMPORT_SMI_GPUS_MAX, count);
    const char **cells = arena_alloc(&import->arena, (size_t)count * count, sizeof *cells);
    for (uint32_t row = 0; row < count; row++) {
        uint32_t at = line + 1 + row;
        uint32_t found =
            at >= lines->count ? 0 : split(lines->lines[at], words, count + 1, &import->arena);
        if (found != count + 1)
            return import_node_error(import, at + 1, err,
                                     "expected a name and %u cells in row %u of the table in line "
                                     "%u, found %u words",
                                     count, row, title + 1, found);
        memcpy(&cells[(size_t)row * count], words + 1, count * sizeof *cells);
    }
    out->count = count;
    out->cells[table] = cells;
    out->lines[table] = title + 1;
    return true;
}

static void read_numa(const char *line, ImportSmi *out) {
    const char *node = strstr(line, "Numa Node:"), *open = strchr(line, '[');
    uint32_t gpu, number;
    if (node == NULL || open == NULL) return;
    open++;
    node = import_line_skip(node + strlen("Numa Node:"));
    if (import_line_number(&open, IMPORT_SMI_GPUS_MAX - 1, &gpu) && *open == ']' &&
        import_line_number(&node, 1023, &number))
        out->numa[gpu] = number;
}

bool import_smi_parse(Import *import, const ImportSmiTitle *titles, uint32_t title_count,
                      ImportSmi *out, Err *err) {
    ImportLines lines;
    ImportSmi smi = {.count = 0};
    for (uint32_t i = 0; i < IMPORT_SMI_GPUS_MAX; i++) smi.numa[i] = IMPORT_NONE;
    import_line_split(import->bytes, import->count, &import->arena, &lines);
    for (uint32_t i = 0; i < lines.count; i++) {
        const char *title = title_of(lines.lines[i]);
        read_numa(lines.lines[i], &smi);
        for (uint32_t k = 0; k < title_count; k++) {
            bool is_it = strncmp(title, titles[k].text, strlen(titles[k].text)) == 0;
            if (!is_it || smi.cells[titles[k].table] != NULL) continue;
            if (!read_table(import, &lines, i, titles[k].table, &smi, err)) return false;
        }
    }
    if (smi.cells[IMPORT_SMI_TYPE] == NULL)
        return import_node_error(import, 0, err, "expected a table of link types, found none");
    *out = smi;
    return true;
}
