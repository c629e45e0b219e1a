// The machine that an importer finds, part by part and cable by cable, and the topology of few
// rules that says the same.
//
// A graph has templates; the first is the whole machine. A part of a template is a leaf or stands
// for a template (a host); its copies are counted as they are found. Strings are copied.
#ifndef MODEL_MACHINE_IMPORT_GRAPH_H
#define MODEL_MACHINE_IMPORT_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/text.h"
#include "model/machine/topology.h"

#define IMPORT_NONE      UINT32_MAX
#define IMPORT_ALL       (UINT32_MAX - 1) // as an inner index: all parts of that name
#define IMPORT_EDGES_MAX 1000000

// What findings say follows in the note of the topology, separated by this.
#define IMPORT_FINDING_BREAK "; "

// One end of a cable: a copy of a part, or, where the part stands for a template, a copy of a part
// inside that copy.
typedef struct ImportEnd {
    uint32_t part, index;
    uint32_t inner, inner_index; // IMPORT_NONE for a leaf
} ImportEnd;

typedef struct ImportEdge {
    uint32_t kind; // in ImportGraph.kinds
    uint32_t cables;
    ImportEnd a, b;
} ImportEdge;

typedef struct ImportTemplate {
    const char *name;
    Part *parts; // count: copies found so far
    uint32_t part_count, part_capacity;
    ImportEdge *edges;
    uint32_t edge_count, edge_capacity;
} ImportTemplate;

// One sentence, and the lines of the file that it is about.
typedef struct ImportFinding {
    const char *text;
    uint32_t line, others; // 0 for none
} ImportFinding;

// A zeroed graph is empty.
typedef struct ImportGraph {
    Arena arena;
    ImportTemplate *templates;
    uint32_t template_count, template_capacity;
    LinkRule *kinds; // from, to and cables are not used
    uint32_t kind_count, kind_capacity;
    ImportFinding *findings;
    uint32_t finding_count, finding_capacity;
    bool is_over; // too many cables or kinds of them; import_graph_close says so
} ImportGraph;

uint32_t import_graph_template(ImportGraph *graph, const char *name);
// The part of that name, made when it is new: only then kind, device, memory and template_id are
// looked at. Its copies are added one by one.
uint32_t import_graph_part(ImportGraph *graph, uint32_t in, Part part);
uint32_t import_graph_copy(ImportGraph *graph, uint32_t in, uint32_t part); // its index
uint32_t import_graph_count(const ImportGraph *graph, uint32_t in, uint32_t part);

ImportEnd import_graph_end(uint32_t part, uint32_t index);
// A cable (or `how->cables` of them) between two ends; equal ones add up.
void import_graph_link(ImportGraph *graph, uint32_t in, ImportEnd a, ImportEnd b, LinkRule how);

// A sentence without a final dot, for people: what is degraded, tied, missing, assumed or unknown.
void import_graph_find(ImportGraph *graph, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// The same of a line of the file; equal sentences are told once, with the number of lines.
void import_graph_find_at(ImportGraph *graph, uint32_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// Makes the topology. `origin` is the file, `name` that of the machine, `source` what was read.
// Parts without a copy are left out. The graph is freed by import_graph_free in any case.
bool import_graph_close(ImportGraph *graph, const char *origin, const char *name,
                        const char *source, Topology *out, Err *err);
void import_graph_free(ImportGraph *graph);

#endif
