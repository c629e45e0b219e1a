// Lines to nodes by their indentation.
//
// Invariant: `open` holds the nodes around the current line, with rising columns; an item may stand
// in the column of the key that it belongs to.
#include "model/machine/import_yaml.h"

#include <string.h>

#include "model/machine/import_line.h"

typedef struct Reader {
    Import *import;
    ImportYamlNode *nodes;
    uint32_t count, capacity;
    uint32_t open[IMPORT_YAML_DEPTH_MAX];
    size_t columns[IMPORT_YAML_DEPTH_MAX];
    uint32_t depth;
} Reader;

// Where a comment begins, or the end: a mark behind a blank or at the start, outside quotes.
static size_t content_length(const char *text) {
    char quote = '\0';
    size_t i = 0;
    for (; text[i] != '\0'; i++) {
        if (quote != '\0') {
            if (text[i] == quote) quote = '\0';
        } else if (text[i] == '"' || text[i] == '\'') {
            quote = text[i];
        } else if (text[i] == '#' && (i == 0 || text[i - 1] == ' ' || text[i - 1] == '\t')) {
            break;
        }
    }
    return i;
}

static const char *unquote(const char *from, const char *to, Arena *arena) {
    char *text = import_line_trim(from, to, arena);
    size_t length = strlen(text);
    bool quoted = length >= 2 && (text[0] == '"' || text[0] == '\'') && text[length - 1] == text[0];
    if (!quoted) return text;
    text[length - 1] = '\0';
    return text + 1;
}

static void close_to(Reader *r, size_t column, bool is_item) {
    while (r->depth > 0) {
        size_t top = r->columns[r->depth - 1];
        bool is_around =
            top < column || (top == column && is_item && !r->nodes[r->open[r->depth - 1]].is_item);
        if (is_around) return;
        r->nodes[r->open[--r->depth]].end = r->count;
    }
}

static bool add(Reader *r, ImportYamlNode node, size_t column, Err *err) {
    close_to(r, column, node.is_item);
    if (r->depth == IMPORT_YAML_DEPTH_MAX)
        return import_node_error(r->import, node.line, err, "nested more than %d deep",
                                 IMPORT_YAML_DEPTH_MAX);
    node.parent = r->depth == 0 ? IMPORT_NONE : r->open[r->depth - 1];
    r->nodes = mem_grow(r->nodes, &r->capacity, r->count + 1, sizeof *r->nodes);
    r->nodes[r->count] = node;
    r->open[r->depth] = r->count++;
    r->columns[r->depth++] = column;
    return true;
}

// The colon that ends a key: followed by a blank or the end.
static const char *find_colon(const char *text) {
    if (*text == '"' || *text == '\'' || *text == '[' || *text == '{') return NULL;
    for (const char *at = strchr(text, ':'); at != NULL; at = strchr(at + 1, ':')) {
        if (at[1] == '\0' || at[1] == ' ' || at[1] == '\t') return at;
    }
    return NULL;
}

static bool read_line(Reader *r, char *text, uint32_t line, Err *err) {
    Arena *arena = &r->import->arena;
    size_t column = strspn(text, " ");
    text[content_length(text)] = '\0';
    if (import_line_skip(text)[0] == '\0' || strncmp(text, "---", 3) == 0) return true;
    if (text[column] == '\t')
        return import_node_error(r->import, line, err, "expected blanks in front, found a tab");
    while (text[column] == '-' && (text[column + 1] == ' ' || text[column + 1] == '\0')) {
        size_t next = column + 1 + strspn(text + column + 1, " ");
        bool is_text = text[next] != '\0' && text[next] != '-' && find_colon(text + next) == NULL;
        const char *value = is_text ? unquote(text + next, text + strlen(text), arena) : "";
        ImportYamlNode item = {.key = "", .value = value, .line = line, .is_item = true};
        if (!add(r, item, column, err)) return false;
        if (is_text || text[next] == '\0') return true;
        column = next;
    }
    const char *colon = find_colon(text + column);
    if (colon == NULL)
        return import_node_error(r->import, line, err,
                                 "expected \"key: value\" or \"- item\", found \"%.32s\"",
                                 text + column);
    ImportYamlNode pair = {.key = unquote(text + column, colon, arena),
                           .value = unquote(colon + 1, text + strlen(text), arena),
                           .line = line};
    return add(r, pair, column, err);
}

bool import_yaml_parse(Import *import, ImportYaml *out, Err *err) {
    Reader r = {.import = import};
    ImportLines lines;
    bool done = true;
    import_line_split(import->bytes, import->count, &import->arena, &lines);
    for (uint32_t i = 0; i < lines.count && done; i++)
        done = read_line(&r, lines.lines[i], i + 1, err);
    if (done) {
        close_to(&r, 0, false);
        out->nodes = arena_copy(&import->arena, r.nodes, r.count, sizeof *r.nodes);
        out->count = r.count;
    }
    mem_free(r.nodes);
    return done;
}

uint32_t import_yaml_find(const ImportYaml *yaml, uint32_t of, const char *key) {
    uint32_t end = of == IMPORT_NONE ? yaml->count : yaml->nodes[of].end;
    for (uint32_t i = of == IMPORT_NONE ? 0 : of + 1; i < end; i = yaml->nodes[i].end) {
        if (!yaml->nodes[i].is_item && strcmp(yaml->nodes[i].key, key) == 0) return i;
    }
    return IMPORT_NONE;
}

const char *import_yaml_value(const ImportYaml *yaml, uint32_t of, const char *key) {
    uint32_t node = import_yaml_find(yaml, of, key);
    return node == IMPORT_NONE ? NULL : yaml->nodes[node].value;
}
