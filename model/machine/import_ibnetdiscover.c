// Reads the records. Grammar: ibnetdiscover(8), "topology file format"; ibsim, net-examples.
//
// Every cable is printed by both of its ends: equal (node, port) pairs are one cable.
#include "model/machine/import_ibnetdiscover.h"

#include <stdlib.h>
#include <string.h>

#include "model/base/text.h"
#include "model/machine/import_line.h"

// A cable as one end prints it.
typedef struct Half {
    uint32_t node, port; // of the record
    const char *id;      // of the other end
    uint32_t other_port;
    uint64_t rate_Bps;
    uint32_t line;
} Half;

typedef struct Reader {
    Import *import;
    ImportIbNode *nodes;
    Half *halves;
    uint32_t node_count, node_capacity, half_count, half_capacity;
} Reader;

// "text" in double quotes at *text, copied; NULL when there is none.
static const char *take_quoted(const char **text, Arena *arena) {
    if (**text != '"') return NULL;
    const char *start = *text + 1, *end = strchr(start, '"');
    if (end == NULL) return NULL;
    *text = end + 1;
    return import_line_trim(start, end, arena);
}

// `Switch 65 "id" # "description" ...`; false for a line that is no record.
static bool read_record(Reader *r, const char *text, uint32_t line, bool *out_done, Err *err) {
    bool is_switch = import_line_take_any_case(&text, "Switch");
    uint32_t ports;
    if (!is_switch && !import_line_take_any_case(&text, "Ca") &&
        !import_line_take_any_case(&text, "Hca") && !import_line_take_any_case(&text, "Rt"))
        return false;
    if (*text != ' ' && *text != '\t') return false;
    text = import_line_skip(text);
    bool good = import_line_number(&text, 255, &ports);
    text = import_line_skip(text);
    const char *id = good ? take_quoted(&text, &r->import->arena) : NULL;
    if (id == NULL || *id == '\0' || r->node_count == IMPORT_IB_NODES_MAX) {
        *out_done = import_node_error(r->import, line, err,
                                      id == NULL || *id == '\0'
                                          ? "expected the number of ports and an id in quotes"
                                          : "more than 262144 nodes");
        return true;
    }
    const char *mark = strchr(text, '#'), *description = NULL;
    if (mark != NULL) {
        mark = import_line_skip(mark + 1);
        description = take_quoted(&mark, &r->import->arena);
    }
    r->nodes = mem_grow(r->nodes, &r->node_capacity, r->node_count + 1, sizeof *r->nodes);
    r->nodes[r->node_count++] =
        (ImportIbNode){.id = id,
                       .description = description == NULL ? "" : description,
                       .line = line,
                       .is_switch = is_switch};
    *out_done = true;
    return true;
}

// "4xNDR" somewhere in the comment, or "w=12": 0 when there is none.
static uint64_t rate_in(const Reader *r, const char *text) {
    const char *word, *at;
    uint32_t width;
    while ((word = import_line_word(&text, &r->import->arena)) != NULL) {
        at = word;
        if (!import_line_number(&at, 12, &width) || !import_line_take(&at, "x")) continue;
        size_t length = strcspn(at, "/");
        const char *lane = import_line_trim(at, at + length, &r->import->arena);
        const ImportFact *fact = import_fact_find(r->import->facts, IMPORT_TABLE_IB_LANE, lane);
        if (fact != NULL && width > 0) return fact->rate_Bps * width;
    }
    return 0;
}

// `[port](guid) "id"[port](guid) # "description" lid L 4xNDR`
static bool read_half(Reader *r, const char *text, uint32_t line, Err *err) {
    Half half = {.node = r->node_count - 1, .line = line};
    bool good = import_line_take(&text, "[") && import_line_number(&text, 255, &half.port) &&
                import_line_take(&text, "]");
    if (good && *text == '(') text += strcspn(text, ")") + (strchr(text, ')') != NULL);
    text = import_line_skip(text);
    half.id = good ? take_quoted(&text, &r->import->arena) : NULL;
    good = half.id != NULL && import_line_take(&text, "[") &&
           import_line_number(&text, 255, &half.other_port) && import_line_take(&text, "]");
    if (!good)
        return import_node_error(r->import, line, err,
                                 "expected a cable: [port] \"id\"[port], found none");
    if (r->node_count == 0)
        return import_node_error(r->import, line, err, "expected a record (Switch, Ca) before it");
    if (r->half_count == IMPORT_IB_LINKS_MAX)
        return import_node_error(r->import, line, err, "more than %d cables", IMPORT_IB_LINKS_MAX);
    half.rate_Bps = rate_in(r, text);
    r->halves = mem_grow(r->halves, &r->half_capacity, r->half_count + 1, sizeof *r->halves);
    r->halves[r->half_count++] = half;
    return true;
}

static bool read_lines(Reader *r, Err *err) {
    ImportLines lines;
    import_line_split(r->import->bytes, r->import->count, &r->import->arena, &lines);
    for (uint32_t i = 0; i < lines.count; i++) {
        const char *text = import_line_skip(lines.lines[i]);
        bool done = true;
        if (*text == '[') {
            done = read_half(r, text, i + 1, err);
        } else if (*text != '#') {
            read_record(r, text, i + 1, &done, err);
        }
        if (!done) return false;
    }
    return true;
}

// ---- Joining

typedef struct Named {
    const char *id;
    uint32_t number;
} Named;

static int by_id(const void *a, const void *b) {
    return strcmp(((const Named *)a)->id, ((const Named *)b)->id);
}

static int by_ends(const void *a, const void *b) {
    const ImportIbLink *x = a, *y = b;
    if (x->a != y->a) return x->a < y->a ? -1 : 1;
    if (x->a_port != y->a_port) return x->a_port < y->a_port ? -1 : 1;
    if (x->b != y->b) return x->b < y->b ? -1 : 1;
    return (x->b_port > y->b_port) - (x->b_port < y->b_port);
}

static bool join(Reader *r, const Named *named, ImportIb *out, Err *err) {
    out->links = mem_alloc(r->half_count, sizeof *out->links);
    for (uint32_t i = 0; i < r->half_count; i++) {
        const Half *half = &r->halves[i];
        Named key = {half->id, 0};
        const Named *found = bsearch(&key, named, r->node_count, sizeof *named, by_id);
        if (found == NULL) {
            char quote[TEXT_QUOTE_MAX];
            return import_node_error(r->import, half->line, err,
                                     "a cable to %s, which has no record in the file",
                                     text_quote(half->id, quote));
        }
        ImportIbLink link = {half->node,       half->port,     found->number,
                             half->other_port, half->rate_Bps, half->line};
        bool swap = link.a > link.b || (link.a == link.b && link.a_port > link.b_port);
        if (swap) {
            link.a = found->number, link.a_port = half->other_port;
            link.b = half->node, link.b_port = half->port;
        }
        if (link.a != link.b) out->links[out->link_count++] = link;
    }
    qsort(out->links, out->link_count, sizeof *out->links, by_ends);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < out->link_count; i++) {
        if (kept > 0 && by_ends(&out->links[kept - 1], &out->links[i]) == 0) {
            if (out->links[kept - 1].rate_Bps == 0)
                out->links[kept - 1].rate_Bps = out->links[i].rate_Bps;
        } else {
            out->links[kept++] = out->links[i];
        }
    }
    out->link_count = kept;
    return true;
}

static bool join_all(Reader *r, ImportIb *out, Err *err) {
    Named *named = mem_alloc(r->node_count, sizeof *named);
    bool done = true;
    for (uint32_t i = 0; i < r->node_count; i++) named[i] = (Named){r->nodes[i].id, i};
    qsort(named, r->node_count, sizeof *named, by_id);
    for (uint32_t i = 1; i < r->node_count && done; i++) {
        if (strcmp(named[i].id, named[i - 1].id) == 0)
            done = import_node_error(r->import, r->nodes[named[i].number].line, err,
                                     "\"%s\" has two records", named[i].id);
    }
    out->import = r->import;
    out->nodes = r->nodes;
    out->node_count = r->node_count;
    done = done && join(r, named, out, err);
    mem_free(named);
    return done;
}

bool import_ibnetdiscover_read(Import *import, Err *err) {
    Reader r = {.import = import};
    ImportIb ib = {.import = import, .link_class = LINK_IB};
    bool done =
        read_lines(&r, err) && join_all(&r, &ib, err) && import_ibnetdiscover_build(&ib, err);
    mem_free(r.nodes);
    mem_free(r.halves);
    mem_free(ib.links);
    return done;
}
