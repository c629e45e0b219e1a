// Reads `nvidia-smi topo -m` as it is found in issues and logs: prefixed, glued, cut, coloured.
//
// Method: the header is the line with GPU0 and "CPU Affinity"; the number of its names says how
// many cells a row has, which are cut by the longest keyword, so that blanks do not matter.
//
// Invariant of a matrix: names are GPUs, then NICs; the row of every GPU was found.
#include "model/machine/import_nvidia_topo.h"

#include <string.h>

#include "model/machine/import_line.h"

#define PREFIX_WORDS_MAX 12 // of a log line before the name of a row

const char *const import_nvidia_topo_cells[IMPORT_CELL_COUNT] = {
#define X(name, text) text,
    IMPORT_CELL_LIST(X)
#undef X
};

typedef struct Parser {
    Import *import;
    ImportLines lines;
    uint32_t header; // index of its line
    bool has_gpu_numa;
    ImportMatrix *matrix;
} Parser;

// ---- Header

// "GPU12", "NIC3"; false for anything else. Moves *text behind it.
static bool take_numbered(const char **text, const char *word) {
    const char *at = *text;
    uint32_t number;
    if (!import_line_take(&at, word) || !import_line_number(&at, IMPORT_TOPO_NAMES_MAX, &number))
        return false;
    *text = at;
    return true;
}

// The next name of a header, where names may be glued; NULL at the end.
static const char *take_name(const char **text, Arena *arena) {
    const char *start = *text = import_line_skip(*text);
    if (*start == '\0') return NULL;
    if (!take_numbered(text, "GPU") && !take_numbered(text, "NIC")) {
        *text += strcspn(*text, " \t");
    }
    return import_line_trim(start, *text, arena);
}

static bool is_gpu(const char *name) {
    return take_numbered(&name, "GPU") && *name == '\0';
}

static bool find_header(Parser *p) {
    for (uint32_t i = 0; i < p->lines.count; i++) {
        const char *first = strstr(p->lines.lines[i], "GPU0");
        if (first != NULL && strstr(first, "CPU Affinity") != NULL) {
            p->header = i;
            return true;
        }
    }
    return false;
}

static bool read_header(Parser *p, Err *err) {
    Arena *arena = &p->import->arena;
    ImportMatrix *m = p->matrix;
    if (!find_header(p))
        return import_node_error(p->import, 0, err,
                                 "expected a header with GPU0 and \"CPU Affinity\", found none");
    const char *line = strstr(p->lines.lines[p->header], "GPU0");
    const char *end = strstr(line, "CPU Affinity"), *name;
    const char *text = import_line_trim(line, end, arena);
    p->has_gpu_numa = strstr(end, "GPU NUMA ID") != NULL;
    m->names = arena_alloc(arena, IMPORT_TOPO_NAMES_MAX, sizeof *m->names);
    while ((name = take_name(&text, arena)) != NULL) {
        if (m->count == IMPORT_TOPO_NAMES_MAX)
            return import_node_error(p->import, p->header + 1, err,
                                     "expected at most %d names in the header",
                                     IMPORT_TOPO_NAMES_MAX);
        if (is_gpu(name) && m->nics > 0)
            return import_node_error(p->import, p->header + 1, err,
                                     "expected GPUs before NICs, found \"%s\" behind \"%s\"", name,
                                     m->names[m->count - 1]);
        for (uint32_t i = 0; i < m->count; i++) {
            if (strcmp(m->names[i], name) == 0)
                return import_node_error(p->import, p->header + 1, err,
                                         "column \"%s\" is there twice", name);
        }
        m->names[m->count++] = name;
        *(is_gpu(name) ? &m->gpus : &m->nics) += 1;
    }
    return true;
}

// ---- Rows

// NV# has at most two digits and 36 links; what follows may be the affinity: "NV180-35".
static uint32_t take_links(const char **text) {
    const char *at = *text;
    if (*at < '0' || *at > '9') return 0;
    uint32_t links = (uint32_t)(*at++ - '0');
    if (*at >= '0' && *at <= '9') {
        uint32_t two = links * 10 + (uint32_t)(*at - '0');
        if (two <= IMPORT_TOPO_NVLINKS_MAX && at[1] != '-') {
            links = two;
            at++;
        }
    }
    *text = at;
    return links;
}

static bool take_cell(const char **text, ImportCell *out) {
    static const ImportCellKind kinds[] = {IMPORT_CELL_SELF, IMPORT_CELL_PIX,  IMPORT_CELL_PXB,
                                           IMPORT_CELL_PHB,  IMPORT_CELL_NODE, IMPORT_CELL_SYS};
    const char *at = import_line_skip(*text);
    *out = (ImportCell){.kind = IMPORT_CELL_NONE};
    if (import_line_take(&at, "NV")) {
        *out = (ImportCell){IMPORT_CELL_NV, take_links(&at)};
        if (out->links == 0) return false;
        *text = at;
        return true;
    }
    for (uint32_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (!import_line_take(&at, import_nvidia_topo_cells[kinds[i]])) continue;
        out->kind = kinds[i];
        *text = at;
        return true;
    }
    return false;
}

// Where the cells of a row begin, when the line is the row of that name; NULL otherwise.
static const char *row_of(const char *line, const char *name) {
    size_t length = strlen(name);
    for (uint32_t word = 0; word < PREFIX_WORDS_MAX && *line != '\0'; word++) {
        line = import_line_skip(line);
        if (strncmp(line, name, length) == 0 && (line[length] == ' ' || line[length] == '\t')) {
            const char *cells = line + length, *at = cells;
            ImportCell cell;
            if (take_cell(&at, &cell)) return cells;
        }
        line += strcspn(line, " \t");
    }
    return NULL;
}

// What follows the cells: CPU affinity, NUMA affinity and, in newer versions, the GPU's own NUMA
// node, of which the first may be empty: counted from the right.
static void read_affinity(Parser *p, uint32_t row, const char *text) {
    ImportMatrix *m = p->matrix;
    const char *fields[3] = {"", "", ""}, *word;
    uint32_t count = 0, want = p->has_gpu_numa ? 3 : 2;
    while (count < want && (word = import_line_word(&text, &p->import->arena)) != NULL)
        fields[count++] = word;
    for (uint32_t k = 0; k < 3; k++) {
        const char **slot = k == 0 ? &m->cpus[row] : k == 1 ? &m->numa[row] : &m->gpu_numa[row];
        uint32_t from_right = want - 1 - k;
        if (k < want && from_right < count) *slot = fields[count - 1 - from_right];
        if (strcmp(*slot, "N/A") == 0) *slot = "";
    }
}

static bool read_row(Parser *p, uint32_t row, uint32_t line, const char *text, Err *err) {
    ImportMatrix *m = p->matrix;
    m->lines[row] = line;
    for (uint32_t column = 0; column < m->count; column++) {
        ImportCell *cell = &m->cells[(size_t)row * m->count + column];
        if (take_cell(&text, cell)) {
            if ((cell->kind == IMPORT_CELL_SELF) == (row == column)) continue;
            return import_node_error(p->import, line, err,
                                     "row %s, column %s: expected %s, found \"%s\"", m->names[row],
                                     m->names[column], row == column ? "X" : "a distance",
                                     import_nvidia_topo_cells[cell->kind]);
        }
        if (*import_line_skip(text) == '\0' && row >= m->gpus) return true; // cut at the edge
        if (*import_line_skip(text) != '\0')
            return import_node_error(p->import, line, err,
                                     "row %s, column %s: expected X, NV#, PIX, PXB, PHB, NODE or "
                                     "SYS, found \"%.16s\"",
                                     m->names[row], m->names[column], import_line_skip(text));
        import_graph_find(&p->import->graph, "row %s has %u of %u cells", m->names[row], column,
                          m->count);
        return true;
    }
    if (row < m->gpus) read_affinity(p, row, text);
    return true;
}

static bool read_rows(Parser *p, Err *err) {
    ImportMatrix *m = p->matrix;
    for (uint32_t row = 0; row < m->count; row++) {
        for (uint32_t i = p->header + 1; i < p->lines.count && m->lines[row] == 0; i++) {
            const char *cells = row_of(p->lines.lines[i], m->names[row]);
            if (cells != NULL && !read_row(p, row, i + 1, cells, err)) return false;
        }
        if (m->lines[row] == 0 && row < m->gpus)
            return import_node_error(p->import, p->header + 1, err,
                                     "expected a row %s below the header, found none",
                                     m->names[row]);
    }
    return true;
}

// ---- Around the matrix

// "NIC3: mlx5_5" of the legend, "GPU 0: NVIDIA H200 (UUID: ...)" of nvidia-smi -L.
static void read_names(Parser *p) {
    ImportMatrix *m = p->matrix;
    for (uint32_t i = 0; i < p->lines.count; i++) {
        const char *line = p->lines.lines[i], *gpu = strstr(line, "GPU "),
                   *nic = strstr(line, "NIC");
        uint32_t number;
        if (nic != NULL && import_line_take(&nic, "NIC") &&
            import_line_number(&nic, IMPORT_TOPO_NAMES_MAX, &number) && number < m->nics &&
            import_line_take(&nic, ":")) {
            const char *word = import_line_word(&nic, &p->import->arena);
            if (word != NULL) m->devices[m->gpus + number] = word;
        }
        if (gpu != NULL && import_line_take(&gpu, "GPU ") &&
            import_line_number(&gpu, IMPORT_TOPO_NAMES_MAX, &number) && number < m->gpus &&
            import_line_take(&gpu, ":")) {
            const char *end = strstr(gpu, "(UUID");
            if (end == NULL) end = gpu + strlen(gpu);
            m->devices[number] = import_line_trim(gpu, end, &p->import->arena);
        }
    }
}

bool import_nvidia_topo_parse(Import *import, ImportMatrix *out, Err *err) {
    ImportMatrix m = {.count = 0};
    Parser p = {.import = import, .matrix = &m};
    Arena *arena = &import->arena;
    import_line_split(import->bytes, import->count, arena, &p.lines);
    if (!read_header(&p, err)) return false;
    m.cells = arena_alloc(arena, (size_t)m.count * m.count, sizeof *m.cells);
    m.lines = arena_alloc(arena, m.count, sizeof *m.lines);
    m.devices = arena_alloc(arena, m.count, sizeof *m.devices);
    m.cpus = arena_alloc(arena, m.count, sizeof *m.cpus);
    m.numa = arena_alloc(arena, m.count, sizeof *m.numa);
    m.gpu_numa = arena_alloc(arena, m.count, sizeof *m.gpu_numa);
    for (uint32_t i = 0; i < m.count; i++) {
        m.cpus[i] = m.numa[i] = m.gpu_numa[i] = "";
        m.devices[i] = i < m.gpus ? "" : m.names[i];
    }
    if (!read_rows(&p, err)) return false;
    read_names(&p);
    *out = m;
    return true;
}

// ---- What a matrix says

ImportCell import_nvidia_topo_cell(const ImportMatrix *m, uint32_t row, uint32_t column) {
    ImportCell cell = m->cells[(size_t)row * m->count + column];
    return cell.kind != IMPORT_CELL_NONE ? cell : m->cells[(size_t)column * m->count + row];
}

bool import_nvidia_topo_same(ImportCell a, ImportCell b) {
    return a.kind == b.kind && a.links == b.links;
}

ImportCell import_nvidia_topo_worse(const ImportMatrix *m, uint32_t a, uint32_t b) {
    ImportCell there = import_nvidia_topo_cell(m, a, b), back = import_nvidia_topo_cell(m, b, a);
    if (there.kind != back.kind) return there.kind > back.kind ? there : back;
    return there.links < back.links ? there : back;
}

ImportCellKind import_nvidia_topo_nearest(const ImportMatrix *m, uint32_t gpu, uint32_t *nics,
                                          uint32_t *out_count) {
    ImportCellKind best = IMPORT_CELL_NONE;
    *out_count = 0;
    for (uint32_t nic = m->gpus; nic < m->count; nic++) {
        ImportCellKind kind = import_nvidia_topo_cell(m, gpu, nic).kind;
        if (kind == IMPORT_CELL_NONE || (best != IMPORT_CELL_NONE && kind > best)) continue;
        if (kind < best || best == IMPORT_CELL_NONE) *out_count = 0;
        best = kind;
        nics[(*out_count)++] = nic - m->gpus;
    }
    return best;
}

static bool is_joined(const ImportMatrix *m, uint32_t a, uint32_t b) {
    return a != b && (import_nvidia_topo_cell(m, a, b).kind == IMPORT_CELL_NV ||
                      import_nvidia_topo_cell(m, b, a).kind == IMPORT_CELL_NV);
}

uint32_t import_nvidia_topo_islands(const ImportMatrix *m, uint32_t *island) {
    uint32_t count = 0, queue[IMPORT_TOPO_NAMES_MAX];
    for (uint32_t i = 0; i < m->gpus; i++) island[i] = IMPORT_NONE;
    for (uint32_t start = 0; start < m->gpus; start++) {
        uint32_t length = 1;
        if (island[start] != IMPORT_NONE) continue;
        queue[0] = start;
        island[start] = count;
        for (uint32_t next = 0; next < length; next++) {
            for (uint32_t k = 0; k < m->gpus; k++) {
                if (island[k] != IMPORT_NONE || !is_joined(m, queue[next], k)) continue;
                island[k] = count;
                queue[length++] = k;
            }
        }
        if (length == 1)
            island[start] = IMPORT_NONE;
        else
            count++;
    }
    return count;
}

bool import_nvidia_topo_read(Import *import, Err *err) {
    ImportMatrix matrix;
    return import_nvidia_topo_parse(import, &matrix, err) &&
           import_nvidia_topo_build(import, &matrix, err);
}
