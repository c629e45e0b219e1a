// Topologies of SimAI and of ASTRA-sim's ns-3 back end: a graph of numbered nodes.
//
// Line 1 is "nodes gpus_per_server nvswitches switches links gpu_type" (SimAI) or "nodes switches
// links"; line 2 the numbers of the switches, NVSwitches first; then a line per link. Source:
// aliyun/SimAI, gen_Topo_Template.py; astra-network-ns3, scratch/topology.
//
// Invariant: a node is a GPU or a switch; every GPU has a link.
#include <stdlib.h>
#include <string.h>

#include "model/base/text.h"
#include "model/base/units.h"
#include "model/machine/import_line.h"
#include "model/machine/import_node.h"

typedef struct Row {
    uint32_t a, b; // a < b
    uint32_t line;
    bool is_back; // written as "b a"
    uint64_t rate_Bps;
    Time latency_ps;
} Row;

typedef struct Graph {
    Import *import;
    ImportLines lines;
    uint32_t nodes, per_server, nvswitches, switches, links;
    const char *gpu;
    uint32_t *rank;  // of a switch: its place in line 2; IMPORT_NONE of a GPU
    ImportEnd *ends; // of nodes
    Row *rows;
    uint32_t row_count;
} Graph;

static uint32_t read_numbers(const char *text, uint32_t *out, uint32_t most, const char **rest) {
    uint32_t count = 0;
    text = import_line_skip(text);
    while (count < most && import_line_number(&text, TOPOLOGY_PARTS_MAX, &out[count])) {
        count++;
        text = import_line_skip(text);
    }
    *rest = text;
    return count;
}

static bool read_header(Graph *g, Err *err) {
    uint32_t n[5];
    const char *rest = "";
    uint32_t count = g->lines.count < 2 ? 0 : read_numbers(g->lines.lines[0], n, 5, &rest);
    g->gpu = import_line_word(&rest, &g->import->arena);
    if (count == 5 && g->gpu != NULL) {
        g->nodes = n[0], g->per_server = n[1], g->nvswitches = n[2];
        g->switches = n[2] + n[3], g->links = n[4];
    } else if (count == 3 && g->gpu == NULL) {
        g->nodes = n[0], g->switches = n[1], g->links = n[2];
    } else {
        return import_node_error(g->import, 1, err,
                                 "expected \"nodes gpus_per_server nvswitches switches links "
                                 "gpu_type\" or \"nodes switches links\"");
    }
    return g->switches < g->nodes ||
           import_node_error(g->import, 1, err,
                             "expected more nodes than switches, found %u and %u", g->nodes,
                             g->switches);
}

static bool read_switches(Graph *g, Err *err) {
    const char *text = import_line_skip(g->lines.lines[1]);
    uint32_t count = 0, id;
    g->rank = arena_alloc(&g->import->arena, g->nodes, sizeof *g->rank);
    g->ends = arena_alloc(&g->import->arena, g->nodes, sizeof *g->ends);
    for (uint32_t i = 0; i < g->nodes; i++) g->rank[i] = IMPORT_NONE;
    for (; *text != '\0'; text = import_line_skip(text)) {
        if (!import_line_number(&text, TOPOLOGY_PARTS_MAX, &id) || id >= g->nodes ||
            g->rank[id] != IMPORT_NONE)
            return import_node_error(g->import, 2, err,
                                     "expected the numbers of %u switches, each once and below %u, "
                                     "found \"%.16s\"",
                                     g->switches, g->nodes, text);
        g->rank[id] = count++;
    }
    return count == g->switches ||
           import_node_error(g->import, 2, err, "expected %u switches as line 1 says, found %u",
                             g->switches, count);
}

static bool read_row(Graph *g, uint32_t index, Err *err) {
    const char *text = g->lines.lines[index], *rest;
    uint32_t ends[2];
    Err what = {{0}};
    Row row = {.line = index + 1};
    if (*import_line_skip(text) == '\0') return true;
    bool done = read_numbers(text, ends, 2, &rest) == 2 && ends[0] != ends[1] &&
                ends[0] < g->nodes && ends[1] < g->nodes;
    if (!done || g->row_count == g->links)
        return import_node_error(g->import, index + 1, err,
                                 done ? "more links than the %u of line 1"
                                      : "expected two nodes below %u, a rate, a delay and an error "
                                        "rate",
                                 done ? g->links : g->nodes);
    const char *rate = import_line_word(&rest, &g->import->arena);
    const char *delay = import_line_word(&rest, &g->import->arena);
    if (!units_parse_rate(rate == NULL ? "" : rate, &row.rate_Bps, &what) ||
        !units_parse_time(delay == NULL ? "" : delay, &row.latency_ps, &what))
        return import_node_error(g->import, index + 1, err, "%s", what.text);
    if (row.rate_Bps == 0 || row.rate_Bps > TOPOLOGY_RATE_MAX_BPS ||
        row.latency_ps > TOPOLOGY_LATENCY_MAX_PS)
        return import_node_error(g->import, index + 1, err,
                                 "expected a rate above 0 and at most 100 TB/s, and at most 1 s");
    row.is_back = ends[0] > ends[1];
    row.a = ends[row.is_back];
    row.b = ends[!row.is_back];
    g->rows[g->row_count++] = row;
    return true;
}

static bool read_rows(Graph *g, Err *err) {
    uint32_t most = g->lines.count < g->links ? g->lines.count : g->links;
    g->rows = arena_alloc(&g->import->arena, most, sizeof *g->rows);
    if (g->links > g->lines.count)
        return import_node_error(g->import, 1, err, "line 1 says %u links, the file has %u lines",
                                 g->links, g->lines.count);
    for (uint32_t i = 2; i < g->lines.count; i++) {
        if (!read_row(g, i, err)) return false;
    }
    return g->row_count == g->links ||
           import_node_error(g->import, 1, err, "line 1 says %u links, the file has %u", g->links,
                             g->row_count);
}

// ---- Parts

static const Device *find_device(Graph *g) {
    const Device *device = g->gpu == NULL ? NULL : import_node_device(g->import, g->gpu);
    if (device == NULL)
        import_graph_find(&g->import->graph,
                          "the GPU%s%s is %s: give its part a device to plan on "
                          "it",
                          g->gpu == NULL ? "" : " ", g->gpu == NULL ? "" : g->gpu,
                          g->gpu == NULL ? "not named" : "not in the catalogue");
    return device;
}

// GPUs of servers, when the file has whole servers; else GPUs of the machine.
static void add_gpus(Graph *g, const char *device) {
    ImportGraph *graph = &g->import->graph;
    uint32_t gpus = g->nodes - g->switches, per = g->per_server, number = 0;
    bool has_servers = per > 1 && gpus % per == 0 && gpus > per;
    uint32_t in = has_servers ? import_graph_template(graph, "server") : 0;
    Part gpu = {.name = "gpu", .kind = PART_GPU, .device = device};
    Part server = {.name = "server", .kind = PART_GROUP, .template_id = in, .device = ""};
    uint32_t part = import_graph_part(graph, in, gpu);
    uint32_t group = has_servers ? import_graph_part(graph, 0, server) : part;
    for (uint32_t i = 0; i < (has_servers ? per : gpus); i++) import_graph_copy(graph, in, part);
    for (uint32_t i = 0; has_servers && i < gpus / per; i++) import_graph_copy(graph, 0, group);
    for (uint32_t i = 0; i < g->nodes; i++) {
        if (g->rank[i] != IMPORT_NONE) continue;
        g->ends[i] = has_servers ? (ImportEnd){group, number / per, part, number % per}
                                 : import_graph_end(part, number);
        number++;
    }
}

static void add_switches(Graph *g) {
    uint32_t *ids = arena_alloc(&g->import->arena, g->switches, sizeof *ids);
    for (uint32_t i = 0; i < g->nodes; i++) {
        if (g->rank[i] != IMPORT_NONE) ids[g->rank[i]] = i;
    }
    for (uint32_t i = 0; i < g->switches; i++)
        g->ends[ids[i]] = import_node_add(g->import, 0, PART_SWITCH,
                                          i < g->nvswitches ? "nvswitch" : "switch", "");
}

static bool is_nvswitch(const Graph *g, uint32_t node) {
    return g->rank[node] != IMPORT_NONE && g->rank[node] < g->nvswitches;
}

static int by_pair(const void *a, const void *b) {
    const Row *x = a, *y = b;
    if (x->a != y->a) return x->a < y->a ? -1 : 1;
    if (x->b != y->b) return x->b < y->b ? -1 : 1;
    if (x->is_back != y->is_back) return x->is_back ? 1 : -1;
    return (x->line > y->line) - (x->line < y->line);
}

// Rows of one pair: links are full duplex, so those written from the other end are the same links.
static void add_pair(Graph *g, const Row *rows, uint32_t count) {
    uint32_t forth = 0;
    while (forth < count && !rows[forth].is_back) forth++;
    uint32_t back = count - forth;
    if (forth > 0 && back > 0)
        import_graph_find_at(&g->import->graph, rows[forth].line,
                             "a link that is there from its other end: taken for the same");
    const Row *kept = forth >= back ? rows : rows + forth;
    for (uint32_t i = 0; i < (forth >= back ? forth : back); i++) {
        bool gpus = g->rank[rows->a] == IMPORT_NONE && g->rank[rows->b] == IMPORT_NONE;
        bool is_up = is_nvswitch(g, rows->a) || is_nvswitch(g, rows->b);
        LinkRule how = {.link_class = is_up  ? LINK_NVLINK
                                      : gpus ? LINK_OTHER
                                             : LINK_ETH,
                        .cables = 1,
                        .bandwidth_Bps = kept[i].rate_Bps,
                        .latency_ps = kept[i].latency_ps,
                        .confidence = 'B'};
        import_graph_link(&g->import->graph, 0, g->ends[rows->a], g->ends[rows->b], how);
    }
}

static bool check_degrees(Graph *g, Err *err) {
    bool *has_link = arena_alloc(&g->import->arena, g->nodes, sizeof *has_link);
    for (uint32_t i = 0; i < g->row_count; i++)
        has_link[g->rows[i].a] = has_link[g->rows[i].b] = true;
    for (uint32_t i = 0; i < g->nodes; i++) {
        if (!has_link[i]) return import_node_error(g->import, 1, err, "node %u has no link", i);
    }
    return true;
}

bool import_ns3_read(Import *import, Err *err) {
    Graph g = {.import = import};
    import_line_split(import->bytes, import->count, &import->arena, &g.lines);
    if (!read_header(&g, err) || !read_switches(&g, err) || !read_rows(&g, err) ||
        !check_degrees(&g, err))
        return false;
    const Device *device = find_device(&g);
    add_gpus(&g, device == NULL ? "" : device->name);
    add_switches(&g);
    qsort(g.rows, g.row_count, sizeof *g.rows, by_pair);
    for (uint32_t i = 0, end; i < g.row_count; i = end) {
        end = i + 1;
        while (end < g.row_count && g.rows[end].a == g.rows[i].a && g.rows[end].b == g.rows[i].b)
            end++;
        add_pair(&g, &g.rows[i], end - i);
    }
    if (g.switches == 0)
        import_graph_find(&import->graph, "no switch in the file: GPUs forward for each other");
    import_graph_find(&import->graph, "links are those of a simulator: NICs, PCIe and CPUs are not "
                                      "in the file");
    return true;
}
