// ASTRA-sim's analytical networks: for each dimension a shape, a size, a rate and a latency.
// Source: astra-network-analytical, input/*.yml.
//
// Invariant: the first dimension runs fastest in the number of a GPU.
#include <string.h>

#include "model/machine/import_line.h"
#include "model/machine/import_node.h"

#define DIMENSIONS_MAX 8
#define GPUS_MAX       65536

typedef enum Shape { SHAPE_RING, SHAPE_FULL, SHAPE_SWITCH } Shape;

typedef struct Network {
    Import *import;
    Shape shapes[DIMENSIONS_MAX];
    uint64_t sizes[DIMENSIONS_MAX], rates[DIMENSIONS_MAX], latencies[DIMENSIONS_MAX];
    uint32_t counts[4], lines[4]; // of the lists topology, npus_count, bandwidth, latency
} Network;

static bool read_item(Network *n, uint32_t list, const char **text) {
    static const char *const names[] = {"Ring", "FullyConnected", "Switch"};
    uint32_t at = n->counts[list];
    uint64_t value;
    if (at == DIMENSIONS_MAX) return false;
    n->counts[list]++;
    if (list == 0) {
        for (uint32_t i = 0; i < 3; i++) {
            if (!import_line_take(text, names[i])) continue;
            n->shapes[at] = (Shape)i;
            return true;
        }
        return false;
    }
    if (!import_line_decimal(text, &value) || (list < 3 && value == 0)) return false;
    (list == 1 ? n->sizes : list == 2 ? n->rates : n->latencies)[at] = value;
    return true;
}

// "[ a, b, c ]" and a comment.
static bool read_list(Network *n, uint32_t list, const char *text) {
    text = import_line_skip(text);
    if (n->counts[list] > 0 || !import_line_take(&text, "[")) return false;
    do {
        text = import_line_skip(text);
        if (!read_item(n, list, &text)) return false;
        text = import_line_skip(text);
    } while (import_line_take(&text, ","));
    if (!import_line_take(&text, "]")) return false;
    text = import_line_skip(text);
    return *text == '\0' || *text == '#';
}

static bool read_lines(Network *n, Err *err) {
    static const char *const keys[] = {"topology:", "npus_count:", "bandwidth:", "latency:"};
    ImportLines lines;
    import_line_split(n->import->bytes, n->import->count, &n->import->arena, &lines);
    for (uint32_t i = 0; i < lines.count; i++) {
        const char *text = import_line_skip(lines.lines[i]);
        uint32_t list = 0;
        if (*text == '\0' || *text == '#') continue;
        while (list < 4 && !import_line_take(&text, keys[list])) list++;
        if (list == 4 || !read_list(n, list, text))
            return import_node_error(n->import, i + 1, err,
                                     "expected one of topology, npus_count, bandwidth (GB/s) and "
                                     "latency (ns) with a list such as \"[ Ring, Switch ]\" or "
                                     "\"[ 2, 8 ]\"");
        n->lines[list] = i + 1;
    }
    for (uint32_t list = 0; list < 4; list++) {
        if (n->counts[list] == 0 || n->counts[list] != n->counts[0])
            return import_node_error(n->import, n->lines[list], err,
                                     "expected %s with as many entries as topology has, %u, found "
                                     "%u",
                                     keys[list], n->counts[0], n->counts[list]);
    }
    return true;
}

static LinkRule rule_of(const Network *n, uint32_t d) {
    return (LinkRule){.link_class = LINK_OTHER,
                      .cables = 1,
                      .bandwidth_Bps = n->rates[d] * 1000,          // millionths of GB/s
                      .latency_ps = (Time)(n->latencies[d] / 1000), // millionths of ns
                      .confidence = 'B'};
}

// One line of GPUs along a dimension: GPU k of it is `first` + k * `step`.
static void add_row(Network *n, uint32_t d, uint32_t part, uint32_t first, uint32_t step) {
    ImportGraph *graph = &n->import->graph;
    uint32_t size = (uint32_t)(n->sizes[d] / 1000000);
    LinkRule how = rule_of(n, d);
    ImportEnd chip = {0};
    if (size < 2) return;
    if (n->shapes[d] == SHAPE_SWITCH)
        chip = import_node_add(n->import, 0, PART_SWITCH,
                               arena_printf(&n->import->arena, "switch%u", d), "");
    for (uint32_t k = 0; k < size; k++) {
        ImportEnd gpu = import_graph_end(part, first + k * step);
        switch (n->shapes[d]) {
        case SHAPE_SWITCH: import_graph_link(graph, 0, gpu, chip, how); break;
        case SHAPE_RING:
            if (k + 1 < size || size > 2)
                import_graph_link(graph, 0, gpu,
                                  import_graph_end(part, first + (k + 1) % size * step), how);
            break;
        case SHAPE_FULL:
            for (uint32_t m = k + 1; m < size && !graph->is_over; m++)
                import_graph_link(graph, 0, gpu, import_graph_end(part, first + m * step), how);
            break;
        }
    }
}

bool import_analytical_read(Import *import, Err *err) {
    Network n = {.import = import};
    uint64_t gpus = 1;
    if (!read_lines(&n, err)) return false;
    for (uint32_t d = 0; d < n.counts[0]; d++) {
        bool is_size = n.sizes[d] % 1000000 == 0 && n.sizes[d] / 1000000 <= GPUS_MAX;
        gpus = is_size ? gpus * (n.sizes[d] / 1000000) : GPUS_MAX + 1;
        if (gpus > GPUS_MAX)
            return import_node_error(import, n.lines[1], err,
                                     "expected whole numbers with a product of at most %d GPUs",
                                     GPUS_MAX);
        if (n.rates[d] * 1000 > TOPOLOGY_RATE_MAX_BPS ||
            n.latencies[d] / 1000 > (uint64_t)TOPOLOGY_LATENCY_MAX_PS)
            return import_node_error(import, n.lines[2], err,
                                     "expected at most 100 TB/s and 1 s in each dimension");
    }
    if (gpus < 2) return import_node_error(import, n.lines[1], err, "expected at least 2 GPUs");
    uint32_t part =
        import_graph_part(&import->graph, 0, (Part){.name = "gpu", .kind = PART_GPU, .device = ""});
    for (uint64_t i = 0; i < gpus; i++) import_graph_copy(&import->graph, 0, part);
    for (uint32_t d = 0, step = 1; d < n.counts[0]; d++) {
        uint32_t size = (uint32_t)(n.sizes[d] / 1000000);
        for (uint32_t i = 0; i < gpus; i++) {
            if (i / step % size == 0) add_row(&n, d, part, i, step);
        }
        step *= size;
    }
    import_graph_find(&import->graph,
                      "the file names no GPU: give its part a device to plan on it");
    import_graph_find(&import->graph, "links are those of a simulator: one latency for each hop");
    return true;
}
