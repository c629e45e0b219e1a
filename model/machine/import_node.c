// Parts that hosts have in common. Invariant: a rate that no dump gave comes from the catalogue or
// the table of facts, with its source and confidence.
#include "model/machine/import_node.h"

#include <stdarg.h>
#include <string.h>

#include "model/base/text.h"

bool import_node_error(const Import *import, uint32_t line, Err *err, const char *format, ...) {
    Arena arena = {0};
    va_list args;
    va_start(args, format);
    const char *what = arena_vprintf(&arena, format, args);
    va_end(args);
    if (line == 0)
        err_set(err, "%s: %s", import->origin, what);
    else
        err_set(err, "%s:%u: %s", import->origin, line, what);
    arena_free(&arena);
    return false;
}

ImportEnd import_node_add(Import *import, uint32_t in, PartKind kind, const char *name,
                          const char *device) {
    uint32_t part =
        import_graph_part(&import->graph, in, (Part){.name = name, .kind = kind, .device = device});
    return import_graph_end(part, import_graph_copy(&import->graph, in, part));
}

ImportEnd import_node_model(Import *import, uint32_t in, PartKind kind, const char *name,
                            const char *device) {
    const ImportTemplate *t = &import->graph.templates[in];
    uint32_t kinds = 0;
    for (uint32_t i = 0; i < t->part_count; i++) {
        if (t->parts[i].kind != kind) continue;
        kinds++;
        if (strcmp(t->parts[i].device, device) == 0)
            return import_node_add(import, in, kind, t->parts[i].name, device);
    }
    if (kinds > 0) name = arena_printf(&import->arena, "%s-%u", name, kinds + 1);
    return import_node_add(import, in, kind, name, device);
}

ImportEnd import_node_gpu(Import *import, uint32_t in, const char *device) {
    return import_node_model(import, in, PART_GPU, "gpu", device);
}

const Device *import_node_device(const Import *import, const char *name) {
    return name[0] == '\0' ? NULL : device_find(import->catalogue, name);
}

const Device *import_node_named(Import *import, const char *name) {
    const ImportFact *fact = import_fact_within(import->facts, IMPORT_TABLE_GPU_NAME, name);
    const Device *device = fact == NULL ? NULL : import_node_device(import, fact->device);
    if (device == NULL)
        import_graph_find(
            &import->graph,
            "GPU \"%s\" is not in the catalogue: give its part a device to plan on it", name);
    return device;
}

LinkRule import_node_pcie(const Import *import, const char *key, const Device *gpu) {
    LinkRule link = import_fact_link(import->facts, LINK_PCIE, key);
    const ImportFact *host =
        gpu == NULL ? NULL : import_fact_find(import->facts, IMPORT_TABLE_HOST, gpu->host);
    if (host == NULL) return link;
    link.bandwidth_Bps = host->rate_Bps;
    link.source = host->source;
    link.confidence = 'C';
    if (strcmp(gpu->host, "C2C") == 0) link.link_class = LINK_C2C;
    return link;
}

LinkRule import_node_nvlink(const Import *import, const char *key, const Device *gpu) {
    LinkRule link = import_fact_link(import->facts, LINK_NVLINK, key);
    if (gpu == NULL || gpu->scale_up_links == 0) return link;
    link.bandwidth_Bps = gpu->scale_up_Bps.low / gpu->scale_up_links;
    link.source = gpu->source;
    link.confidence = 'C';
    return link;
}

// How `links` of one GPU are spread over the chips: as in the machine when all are there, and one
// chip after the other loses one when some are missing.
static void spread(const ImportFact *planes, uint32_t links, uint32_t *out) {
    uint32_t total = 0;
    for (uint32_t i = 0; i < planes->link_count; i++) total += out[i] = planes->links[i];
    for (uint32_t i = planes->link_count; total > links; total--) {
        do i = i == 0 ? planes->link_count - 1 : i - 1;
        while (out[i] == 0);
        out[i]--;
    }
    for (uint32_t i = 0; total < links; total++, i = (i + 1) % planes->link_count) out[i]++;
}

void import_node_planes(Import *import, uint32_t in, const ImportEnd *gpus, const uint32_t *links,
                        uint32_t count, const Device *device) {
    static const ImportFact one = {.device = "", .links = {0}, .link_count = 1};
    const ImportFact *planes =
        device == NULL ? NULL : import_fact_find(import->facts, IMPORT_TABLE_PLANES, device->name);
    if (planes == NULL) planes = &one;
    LinkRule how = import_node_nvlink(import, "nvlink-switch", device);
    if (how.confidence == 'C' && planes != &one) how.confidence = planes->confidence;
    uint32_t *each = arena_alloc(&import->arena, (size_t)count * IMPORT_PLANES_MAX, sizeof *each);
    for (uint32_t i = 0; i < count; i++)
        spread(planes, links[i], &each[(size_t)i * IMPORT_PLANES_MAX]);
    for (uint32_t k = 0; k < planes->link_count; k++) {
        ImportEnd chip = {.part = IMPORT_NONE}; // a chip that no link reaches is left out
        for (uint32_t i = 0; i < count; i++) {
            how.cables = each[(size_t)i * IMPORT_PLANES_MAX + k];
            if (how.cables == 0) continue;
            if (chip.part == IMPORT_NONE)
                chip = import_node_add(import, in, PART_SWITCH, "nvswitch", planes->device);
            import_graph_link(&import->graph, in, gpus[i], chip, how);
        }
    }
}

void import_node_cpus(Import *import, uint32_t in, uint32_t count, const char *vendor) {
    const ImportFact *fact = import_fact_find(import->facts, IMPORT_TABLE_CPU, vendor);
    if (fact == NULL) fact = import_fact_find(import->facts, IMPORT_TABLE_CPU, "");
    LinkRule how = {.link_class = LINK_OTHER,
                    .bandwidth_Bps = fact->rate_Bps,
                    .latency_ps = fact->latency_ps,
                    .source = fact->source,
                    .confidence = fact->confidence};
    for (uint32_t i = 0; i < count; i++) {
        ImportEnd cpu = import_node_add(import, in, PART_CPU, "cpu", "");
        for (uint32_t k = 0; k < i; k++)
            import_graph_link(&import->graph, in, import_graph_end(cpu.part, k), cpu, how);
    }
}

void import_node_network(Import *import, uint32_t in, ImportEnd nic, uint32_t ports,
                         uint64_t port_Bps, LinkClass link_class, const char *source) {
    uint32_t part = import_graph_part(&import->graph, in,
                                      (Part){.name = "network", .kind = PART_SWITCH, .device = ""});
    if (import_graph_count(&import->graph, in, part) == 0)
        import_graph_copy(&import->graph, in, part);
    LinkRule how = import_fact_link(import->facts, link_class, "network-nic");
    how.cables = ports;
    how.bandwidth_Bps = port_Bps;
    how.source = source;
    how.confidence = 'B';
    import_graph_link(&import->graph, in, nic, import_graph_end(part, 0), how);
}

const char *import_node_list(Import *import, const uint32_t *numbers, uint32_t count) {
    Text text = {0};
    for (uint32_t i = 0; i < count;) {
        uint32_t first = numbers[i], last = first;
        while (++i < count && numbers[i] == last + 1) last++;
        text_addf(&text, "%s%u", text.length == 0 ? "" : ",", first);
        if (last > first) text_addf(&text, "-%u", last);
    }
    const char *copy = arena_string(&import->arena, text_string(&text));
    text_free(&text);
    return copy;
}

uint32_t import_node_host(Import *import, const char *name, const char *device, uint32_t gpus,
                          uint32_t nics) {
    ImportGraph *graph = &import->graph;
    uint32_t in = import_graph_template(graph, name);
    const Device *model = import_node_device(import, device);
    ImportEnd cpu = import_node_add(import, in, PART_CPU, "cpu", "");
    for (uint32_t i = 0; i < gpus || i < nics; i++) {
        ImportEnd pcie = import_node_add(import, in, PART_PCIE_SWITCH, "pcie", "");
        LinkRule how = import_node_pcie(import, "pcie-switch", model);
        how.link_class = LINK_PCIE;
        import_graph_link(graph, in, pcie, cpu, how);
        how.confidence = 'M';
        if (i < gpus) import_graph_link(graph, in, import_node_gpu(import, in, device), pcie, how);
        how.latency_ps = import_fact_link(import->facts, LINK_PCIE, "pcie-nic").latency_ps;
        if (i < nics)
            import_graph_link(graph, in, import_node_add(import, in, PART_NIC, "nic", ""), pcie,
                              how);
    }
    return in;
}

void import_node_host_planes(Import *import, uint32_t host, const char *device) {
    const Device *model = import_node_device(import, device);
    uint32_t links[IMPORT_PLANES_MAX];
    ImportEnd gpus[IMPORT_PLANES_MAX];
    uint32_t part = import_graph_part(&import->graph, host,
                                      (Part){.name = "gpu", .kind = PART_GPU, .device = device});
    uint32_t count = import_graph_count(&import->graph, host, part);
    if (model == NULL || count < 2 || count > IMPORT_PLANES_MAX) return;
    for (uint32_t i = 0; i < count; i++) {
        gpus[i] = import_graph_end(part, i);
        links[i] = model->scale_up_links;
    }
    import_node_planes(import, host, gpus, links, count, model);
}
