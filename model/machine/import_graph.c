// Collects parts and cables, then writes them as templates, parts and rules.
//
// Invariant: every end of an edge is a copy that exists; kinds of links differ from each other.
#include "model/machine/import_graph.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

#include "model/machine/import_rules.h"

#define FINDINGS_MAX 40 // more would not be read

uint32_t import_graph_template(ImportGraph *graph, const char *name) {
    graph->templates = mem_grow(graph->templates, &graph->template_capacity,
                                graph->template_count + 1, sizeof *graph->templates);
    graph->templates[graph->template_count] =
        (ImportTemplate){.name = arena_string(&graph->arena, name)};
    return graph->template_count++;
}

uint32_t import_graph_part(ImportGraph *graph, uint32_t in, Part part) {
    ImportTemplate *t = &graph->templates[in];
    for (uint32_t i = 0; i < t->part_count; i++) {
        if (strcmp(t->parts[i].name, part.name) == 0) return i;
    }
    part.name = arena_string(&graph->arena, part.name);
    part.device = arena_string(&graph->arena, part.device);
    part.place = "";
    part.count = 0;
    if (part.kind != PART_GROUP) part.template_id = UINT32_MAX;
    t->parts = mem_grow(t->parts, &t->part_capacity, t->part_count + 1, sizeof *t->parts);
    t->parts[t->part_count] = part;
    return t->part_count++;
}

uint32_t import_graph_copy(ImportGraph *graph, uint32_t in, uint32_t part) {
    return graph->templates[in].parts[part].count++;
}

uint32_t import_graph_count(const ImportGraph *graph, uint32_t in, uint32_t part) {
    return graph->templates[in].parts[part].count;
}

ImportEnd import_graph_end(uint32_t part, uint32_t index) {
    return (ImportEnd){part, index, IMPORT_NONE, IMPORT_NONE};
}

static bool same_kind(const LinkRule *a, const LinkRule *b) {
    return a->link_class == b->link_class && a->bandwidth_Bps == b->bandwidth_Bps &&
           a->latency_ps == b->latency_ps && a->confidence == b->confidence &&
           strcmp(a->source, b->source) == 0;
}

// IMPORT_NONE when there are more kinds than a topology can have rules.
static uint32_t kind_of(ImportGraph *graph, LinkRule how) {
    if (how.source == NULL) how.source = "";
    for (uint32_t i = graph->kind_count; i > 0; i--) {
        if (same_kind(&graph->kinds[i - 1], &how)) return i - 1;
    }
    if (graph->kind_count == TOPOLOGY_LINKS_MAX) return IMPORT_NONE;
    how.source = arena_string(&graph->arena, how.source);
    graph->kinds =
        mem_grow(graph->kinds, &graph->kind_capacity, graph->kind_count + 1, sizeof *graph->kinds);
    graph->kinds[graph->kind_count] = how;
    return graph->kind_count++;
}

static bool end_is_after(const ImportEnd *a, const ImportEnd *b) {
    if (a->part != b->part) return a->part > b->part;
    if (a->inner != b->inner) return a->inner > b->inner;
    if (a->index != b->index) return a->index > b->index;
    return a->inner_index > b->inner_index;
}

void import_graph_link(ImportGraph *graph, uint32_t in, ImportEnd a, ImportEnd b, LinkRule how) {
    if (graph->is_over) return;
    ImportTemplate *t = &graph->templates[in];
    uint32_t kind = kind_of(graph, how);
    if (kind == IMPORT_NONE || t->edge_count == IMPORT_EDGES_MAX ||
        how.cables > TOPOLOGY_CABLES_MAX) {
        graph->is_over = true;
        return;
    }
    bool swap = end_is_after(&a, &b);
    t->edges = mem_grow(t->edges, &t->edge_capacity, t->edge_count + 1, sizeof *t->edges);
    t->edges[t->edge_count++] = (ImportEdge){.kind = kind,
                                             .cables = how.cables == 0 ? 1 : how.cables,
                                             .a = swap ? b : a,
                                             .b = swap ? a : b};
}

// What a file says is printed: controls and the break between findings are taken out.
static void add_plain(Text *out, const char *text) {
    size_t length = strlen(text);
    for (size_t i = 0; i < length;) {
        size_t bytes = text_code_point(text + i, length - i);
        if (bytes == 0 || text_control(text + i, length - i) > 0) {
            text_add_char(out, '?');
            i += bytes == 0 ? 1 : bytes;
        } else {
            if (text[i] == ';')
                text_add_char(out, ',');
            else
                text_add_bytes(out, text + i, bytes);
            i += bytes;
        }
    }
}

static void add_finding(ImportGraph *graph, uint32_t line, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));
static void add_finding(ImportGraph *graph, uint32_t line, const char *format, va_list args) {
    Arena arena = {0};
    Text plain = {0};
    add_plain(&plain, arena_vprintf(&arena, format, args));
    ImportFinding *found = NULL;
    for (uint32_t i = 0; i < graph->finding_count && found == NULL; i++) {
        if (strcmp(graph->findings[i].text, text_string(&plain)) == 0) found = &graph->findings[i];
    }
    if (found != NULL) {
        found->others += line > 0;
    } else if (graph->finding_count <= FINDINGS_MAX) {
        graph->findings = mem_grow(graph->findings, &graph->finding_capacity,
                                   graph->finding_count + 1, sizeof *graph->findings);
        graph->findings[graph->finding_count++] =
            (ImportFinding){arena_string(&graph->arena, text_string(&plain)), line, 0};
    }
    text_free(&plain);
    arena_free(&arena);
}

void import_graph_find(ImportGraph *graph, const char *format, ...) {
    va_list args;
    va_start(args, format);
    add_finding(graph, 0, format, args);
    va_end(args);
}

void import_graph_find_at(ImportGraph *graph, uint32_t line, const char *format, ...) {
    va_list args;
    va_start(args, format);
    add_finding(graph, line, format, args);
    va_end(args);
}

static const char *note_of(const ImportGraph *graph, Arena *arena) {
    Text note = {0};
    for (uint32_t i = 0; i < graph->finding_count && i < FINDINGS_MAX; i++) {
        const ImportFinding *finding = &graph->findings[i];
        if (i > 0) text_add(&note, IMPORT_FINDING_BREAK);
        if (finding->line > 0) text_addf(&note, "line %u", finding->line);
        if (finding->others > 0) text_addf(&note, " and %u more", finding->others);
        text_addf(&note, "%s%s", finding->line > 0 ? ": " : "", finding->text);
    }
    if (graph->finding_count > FINDINGS_MAX) text_add(&note, IMPORT_FINDING_BREAK "and more");
    const char *copy = arena_string(arena, text_string(&note));
    text_free(&note);
    return copy;
}

static bool close_template(ImportGraph *graph, uint32_t id, Topology *out, Err *err) {
    const ImportTemplate *from = &graph->templates[id];
    Template *to = &out->templates[id];
    to->name = arena_string(&out->arena, from->name);
    to->parts = arena_alloc(&out->arena, from->part_count, sizeof *to->parts);
    for (uint32_t i = 0; i < from->part_count; i++) {
        if (from->parts[i].count == 0) continue;
        Part part = from->parts[i];
        part.name = arena_string(&out->arena, part.name);
        part.device = arena_string(&out->arena, part.device);
        to->parts[to->part_count++] = part;
    }
    return import_rules_make(graph, id, &out->arena, &to->links, &to->link_count, err);
}

bool import_graph_close(ImportGraph *graph, const char *origin, const char *name,
                        const char *source, Topology *out, Err *err) {
    Topology topology = {0};
    Text plain = {0};
    if (graph->is_over)
        return err_set(err, "%s: more than %d cables, or more than %d kinds of them", origin,
                       IMPORT_EDGES_MAX, TOPOLOGY_LINKS_MAX);
    add_plain(&plain, name);
    topology.name = arena_string(&topology.arena, text_string(&plain));
    text_free(&plain);
    topology.origin = arena_string(&topology.arena, origin);
    topology.source = arena_string(&topology.arena, source);
    topology.note = note_of(graph, &topology.arena);
    topology.is_import = true;
    topology.templates =
        arena_alloc(&topology.arena, graph->template_count, sizeof *topology.templates);
    topology.template_count = graph->template_count;
    bool done = true;
    for (uint32_t i = 0; i < graph->template_count && done; i++) {
        done = close_template(graph, i, &topology, err);
        if (!done) err_prefix(err, "%s", origin);
    }
    if (!done || !topology_finish(&topology, err)) {
        topology_free(&topology);
        return false;
    }
    *out = topology;
    return true;
}

void import_graph_free(ImportGraph *graph) {
    for (uint32_t i = 0; i < graph->template_count; i++) {
        mem_free(graph->templates[i].parts);
        mem_free(graph->templates[i].edges);
    }
    mem_free(graph->templates);
    mem_free(graph->kinds);
    mem_free(graph->findings);
    arena_free(&graph->arena);
    *graph = (ImportGraph){.template_count = 0};
}
