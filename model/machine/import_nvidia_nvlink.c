// nvidia-smi nvlink -s: the links of each GPU and their raw rates, but not where they end.
//
// The raw rate is that of the line: 17 parts of it carry 16 of data in generations 4 and 5. What is
// far slower than the others of the file is a link that lost lanes, and is counted as down.
#include <string.h>

#include "model/machine/import_line.h"
#include "model/machine/import_node.h"

#define LINKS_MAX 64

typedef struct Gpu {
    const char *name;
    uint32_t line;
    uint64_t rates[LINKS_MAX]; // raw, in kB/s; 0 for an inactive one
    uint32_t count;
} Gpu;

typedef struct Reader {
    Import *import;
    Gpu *gpus;
    uint32_t count;
    uint64_t best; // raw rate of the fastest link
} Reader;

static bool add_gpu(Reader *r, const char *text, uint32_t line, Err *err) {
    uint32_t number;
    if (!import_line_number(&text, IMPORT_GPUS_MAX, &number) || number != r->count || *text != ':')
        return import_node_error(r->import, line, err, "expected \"GPU %u: name\"", r->count);
    if (r->count == IMPORT_GPUS_MAX)
        return import_node_error(r->import, line, err, "expected at most %d GPUs", IMPORT_GPUS_MAX);
    const char *end = strstr(text, "(UUID");
    if (end == NULL) end = text + strlen(text);
    r->gpus[r->count++] =
        (Gpu){.name = import_line_trim(text + 1, end, &r->import->arena), .line = line};
    return true;
}

static bool add_link(Reader *r, const char *text, uint32_t line, Err *err) {
    uint32_t number;
    uint64_t millionths = 0;
    if (r->count == 0)
        return import_node_error(r->import, line, err, "expected \"GPU 0: name\" before a link");
    Gpu *gpu = &r->gpus[r->count - 1];
    if (!import_line_number(&text, LINKS_MAX - 1, &number) || number != gpu->count ||
        !import_line_take(&text, ":"))
        return import_node_error(r->import, line, err, "expected \"Link %u: rate\"", gpu->count);
    text = import_line_skip(text);
    if (!import_line_take(&text, "<inactive>") &&
        (!import_line_decimal(&text, &millionths) || !import_line_take(&text, " GB/s")))
        return import_node_error(r->import, line, err,
                                 "expected a rate in GB/s or <inactive>, found \"%.24s\"", text);
    if (millionths > UINT64_C(10000000000))
        return import_node_error(r->import, line, err, "expected at most 10000 GB/s");
    gpu->rates[gpu->count++] = millionths;
    if (millionths > r->best) r->best = millionths;
    return true;
}

static bool read_lines(Reader *r, Err *err) {
    ImportLines lines;
    import_line_split(r->import->bytes, r->import->count, &r->import->arena, &lines);
    for (uint32_t i = 0; i < lines.count; i++) {
        const char *text = import_line_skip(lines.lines[i]);
        if (import_line_take(&text, "GPU ")) {
            if (!add_gpu(r, text, i + 1, err)) return false;
        } else if (import_line_take(&text, "Link ")) {
            if (!add_link(r, text, i + 1, err)) return false;
        }
    }
    return true;
}

// The links that carry data, with findings on the others.
static uint32_t good_links(Reader *r, uint32_t number) {
    const Gpu *gpu = &r->gpus[number];
    uint32_t inactive[LINKS_MAX], slow[LINKS_MAX], inactive_count = 0, slow_count = 0;
    for (uint32_t i = 0; i < gpu->count; i++) {
        if (gpu->rates[i] == 0)
            inactive[inactive_count++] = i;
        else if (gpu->rates[i] < r->best / 2)
            slow[slow_count++] = i;
    }
    if (inactive_count > 0)
        import_graph_find(&r->import->graph, "GPU %u: links %s are inactive", number,
                          import_node_list(r->import, inactive, inactive_count));
    if (slow_count > 0)
        import_graph_find(&r->import->graph, "GPU %u: links %s lost lanes: counted as down", number,
                          import_node_list(r->import, slow, slow_count));
    return gpu->count - inactive_count - slow_count;
}

bool import_nvidia_nvlink_read(Import *import, Err *err) {
    Reader r = {.import = import};
    r.gpus = arena_alloc(&import->arena, IMPORT_GPUS_MAX, sizeof *r.gpus);
    if (!read_lines(&r, err)) return false;
    ImportEnd *ends = arena_alloc(&import->arena, r.count, sizeof *ends);
    uint32_t *links = arena_alloc(&import->arena, r.count, sizeof *links);
    const Device *device = NULL;
    for (uint32_t i = 0; i < r.count; i++) {
        bool is_again = i > 0 && strcmp(r.gpus[i].name, r.gpus[i - 1].name) == 0;
        if (!is_again) device = import_node_named(import, r.gpus[i].name);
        ends[i] = import_node_gpu(import, 0, device == NULL ? "" : device->name);
        links[i] = good_links(&r, i);
    }
    import_node_cpus(import, 0, 1, "");
    uint32_t cpu =
        import_graph_part(&import->graph, 0, (Part){.name = "cpu", .kind = PART_CPU, .device = ""});
    for (uint32_t i = 0; i < r.count; i++)
        import_graph_link(&import->graph, 0, ends[i], import_graph_end(cpu, 0),
                          import_node_pcie(import, "pcie-gpu", device));
    import_node_planes(import, 0, ends, links, r.count, device);
    bool has_planes = device != NULL &&
                      import_fact_find(import->facts, IMPORT_TABLE_PLANES, device->name) != NULL;
    import_graph_find(&import->graph, "where the links end is not in the file: %s",
                      has_planes ? "at the switches of the machine of these GPUs, it is assumed"
                                 : "one switch is assumed, which gives each GPU its links and says "
                                   "nothing of pairs");
    import_graph_find(&import->graph, "no CPUs, PCIe or NICs in the file: one CPU is assumed");
    return true;
}
