// Links between GPUs. A count is that of one target: counts to the same kind of target add up; a
// pair of GPUs is printed by both, and the smaller count is taken.
#include "model/machine/import_nccl_xml.h"

#include <string.h>

#define SWITCHES_MAX 256

typedef struct Links {
    ImportNccl *nccl;
    uint32_t *gpus; // devices that are GPUs, in order
    uint32_t count;
    const char *buses[SWITCHES_MAX]; // of NVSwitches
    ImportEnd switches[SWITCHES_MAX];
    uint32_t switch_count;
    uint32_t *pairs;  // count x count: links as the row's GPU prints them
    uint32_t *totals; // of each GPU
    uint32_t *hidden; // into switches that the host does not see
    LinkClass class;
} Links;

LinkRule import_nccl_xml_scale_up(const ImportNccl *nccl, LinkClass link_class, const char *key,
                                  const Device *model) {
    LinkRule how = import_node_nvlink(nccl->import, key, model);
    how.link_class = link_class;
    return how;
}

static ImportNcclDevice *gpu_at(const Links *l, uint32_t i) {
    return &l->nccl->devices[l->gpus[i]];
}

static uint32_t find_gpu(const Links *l, const char *bus) {
    for (uint32_t i = 0; i < l->count; i++) {
        if (strcmp(gpu_at(l, i)->bus, bus) == 0) return i;
    }
    return IMPORT_NONE;
}

static uint32_t find_switch(Links *l, const char *bus, const Device *model) {
    Import *import = l->nccl->import;
    for (uint32_t i = 0; i < l->switch_count; i++) {
        if (strcmp(l->buses[i], bus) == 0) return i;
    }
    if (l->switch_count == SWITCHES_MAX) return IMPORT_NONE;
    const ImportFact *planes =
        model == NULL ? NULL : import_fact_find(import->facts, IMPORT_TABLE_PLANES, model->name);
    l->buses[l->switch_count] = bus;
    l->switches[l->switch_count] =
        import_node_add(import, 0, PART_SWITCH, "nvswitch", planes == NULL ? "" : planes->device);
    return l->switch_count++;
}

static bool add_target(Links *l, uint32_t gpu, uint32_t element, Err *err) {
    const Xml *xml = &l->nccl->xml;
    const char *target = xml_attribute(xml, element, "target");
    const char *class = xml_attribute(xml, element, "tclass");
    uint32_t count;
    if (target == NULL ||
        !import_nccl_xml_number(l->nccl, element, "count", TOPOLOGY_CABLES_MAX / 64, &count))
        return xml_error(xml, element, err, "expected \"target\" and a \"count\" of links");
    if (count == 0) return true;
    l->class = xml_is(xml, element, "xgmi") ? LINK_XGMI : LINK_NVLINK;
    l->totals[gpu] += count;
    uint32_t other = find_gpu(l, target);
    if (other == gpu) {
        import_graph_find_at(&l->nccl->import->graph, xml->elements[element].line,
                             "a GPU prints itself as the end of %u links: their partner is "
                             "unknown, and they are left out",
                             count);
        return true;
    }
    if (other != IMPORT_NONE) {
        l->pairs[(size_t)gpu * l->count + other] += count;
        return true;
    }
    if (strncmp(target, "fffffff", 7) == 0) {
        l->hidden[gpu] += count;
        return true;
    }
    ImportNcclDevice *d = gpu_at(l, gpu);
    LinkRule how = import_nccl_xml_scale_up(l->nccl, LINK_NVLINK, "nvlink-switch", d->model);
    how.cables = count;
    if (class != NULL && strncmp(class, "0x068001", 8) == 0) {
        uint32_t cpu = import_graph_part(&l->nccl->import->graph, 0,
                                         (Part){.name = "cpu", .kind = PART_CPU, .device = ""});
        import_graph_link(&l->nccl->import->graph, 0, d->end, import_graph_end(cpu, d->cpu), how);
        return true;
    }
    if (class == NULL || strncmp(class, "0x0680", 6) != 0) {
        import_graph_find_at(&l->nccl->import->graph, xml->elements[element].line,
                             "%u links to %s, which is not in the file: left out", count, target);
        return true;
    }
    uint32_t chip = find_switch(l, target, d->model);
    if (chip == IMPORT_NONE)
        return xml_error(xml, element, err, "expected at most %d NVSwitches", SWITCHES_MAX);
    import_graph_link(&l->nccl->import->graph, 0, d->end, l->switches[chip], how);
    return true;
}

static bool read_c2c(Links *l, uint32_t gpu, uint32_t element, Err *err) {
    const Xml *xml = &l->nccl->xml;
    ImportGraph *graph = &l->nccl->import->graph;
    ImportNcclDevice *d = gpu_at(l, gpu);
    uint32_t rate_MBps, count;
    if (!import_nccl_xml_number(l->nccl, element, "bw", 10000000, &rate_MBps) || rate_MBps == 0 ||
        !import_nccl_xml_number(l->nccl, element, "count", 1024, &count) || count == 0)
        return xml_error(xml, element, err, "expected \"bw\" in MB/s and \"count\"");
    LinkRule how = import_fact_link(l->nccl->import->facts, LINK_C2C, "c2c");
    how.bandwidth_Bps = (uint64_t)rate_MBps * 1000000;
    how.cables = count;
    how.source = "c2c bw and count of the dump; latency: a budget for hardware alone";
    how.confidence = 'B';
    uint32_t cpu =
        import_graph_part(graph, 0, (Part){.name = "cpu", .kind = PART_CPU, .device = ""});
    import_graph_link(graph, 0, d->end, import_graph_end(cpu, d->cpu), how);
    return true;
}

static bool read_gpu(Links *l, uint32_t gpu, Err *err) {
    const Xml *xml = &l->nccl->xml;
    uint32_t root = gpu_at(l, gpu)->gpu;
    if (root == XML_NONE) return true;
    for (uint32_t i = root + 1; i < xml->elements[root].end; i++) {
        if (xml_is(xml, i, "c2c") && !read_c2c(l, gpu, i, err)) return false;
        if ((xml_is(xml, i, "nvlink") || xml_is(xml, i, "xgmi")) && !add_target(l, gpu, i, err))
            return false;
    }
    return true;
}

static void add_pairs(Links *l) {
    ImportGraph *graph = &l->nccl->import->graph;
    for (uint32_t i = 0; i < l->count; i++) {
        for (uint32_t k = i + 1; k < l->count; k++) {
            uint32_t there = l->pairs[(size_t)i * l->count + k];
            uint32_t back = l->pairs[(size_t)k * l->count + i];
            if (there != back)
                import_graph_find(graph,
                                  "asymmetric: GPU %u prints %u links to GPU %u, which "
                                  "prints %u: the fewer are taken",
                                  i, there, k, back);
            uint32_t links = there < back ? there : back;
            if (links == 0) continue;
            const Device *model = gpu_at(l, i)->model;
            LinkRule how = import_nccl_xml_scale_up(
                l->nccl, l->class, l->class == LINK_XGMI ? "xgmi" : "nvlink", model);
            how.cables = links;
            import_graph_link(graph, 0, gpu_at(l, i)->end, gpu_at(l, k)->end, how);
        }
    }
}

static void add_hidden(Links *l) {
    ImportEnd *ends = arena_alloc(&l->nccl->import->arena, l->count, sizeof *ends);
    uint32_t *links = arena_alloc(&l->nccl->import->arena, l->count, sizeof *links), count = 0;
    for (uint32_t i = 0; i < l->count; i++) {
        if (l->hidden[i] == 0) continue;
        ends[count] = gpu_at(l, i)->end;
        links[count++] = l->hidden[i];
    }
    if (count > 0) import_node_planes(l->nccl->import, 0, ends, links, count, gpu_at(l, 0)->model);
}

// A shell does not show NVLinks that its GPUs certainly have.
static void assume_links(Links *l) {
    Import *import = l->nccl->import;
    const Device *model = l->count == 0 ? NULL : gpu_at(l, 0)->model;
    bool has_planes = model != NULL && l->count > 1 &&
                      import_fact_find(import->facts, IMPORT_TABLE_PLANES, model->name) != NULL;
    import_graph_find(&import->graph,
                      "a shell without <gpu>: NVLinks are found when the library runs, and are %s "
                      "here",
                      has_planes ? "assumed as in the machine of its GPUs" : "missing");
    if (!has_planes) return;
    for (uint32_t i = 0; i < l->count; i++) l->hidden[i] = model->scale_up_links;
}

static void tell_missing(const Links *l) {
    ImportGraph *graph = &l->nccl->import->graph;
    uint32_t least = UINT32_MAX, most = 0;
    for (uint32_t i = 0; i < l->count; i++) {
        if (l->totals[i] < least) least = l->totals[i];
        if (l->totals[i] > most) most = l->totals[i];
    }
    const Device *model = l->count == 0 ? NULL : gpu_at(l, 0)->model;
    uint32_t have = model == NULL ? 0 : model->scale_up_links;
    if (most == 0 && l->count > 1)
        import_graph_find(graph, "no NVLink and no xGMI between GPUs: all traffic goes over PCIe");
    else if (least < most)
        import_graph_find(graph, "GPUs with %u and with %u links to others: unequal or degraded",
                          least, most);
    else if (most > 0 && most < have)
        import_graph_find(graph, "the file shows %u links of each GPU, of %u that a %s has", most,
                          have, model->name);
}

bool import_nccl_xml_links(ImportNccl *nccl, Err *err) {
    Import *import = nccl->import;
    Links *l = arena_alloc(&import->arena, 1, sizeof *l);
    l->nccl = nccl;
    l->gpus = arena_alloc(&import->arena, nccl->gpus, sizeof *l->gpus);
    for (uint32_t i = 0; i < nccl->count; i++) {
        if (nccl->devices[i].kind == IMPORT_NCCL_GPU) l->gpus[l->count++] = i;
    }
    if (l->count > IMPORT_GPUS_MAX)
        return import_node_error(import, 0, err, "expected at most %d GPUs, found %u",
                                 IMPORT_GPUS_MAX, l->count);
    l->pairs = arena_alloc(&import->arena, (size_t)l->count * l->count, sizeof *l->pairs);
    l->totals = arena_alloc(&import->arena, l->count, sizeof *l->totals);
    l->hidden = arena_alloc(&import->arena, l->count, sizeof *l->hidden);
    for (uint32_t i = 0; i < l->count; i++) {
        if (!read_gpu(l, i, err)) return false;
    }
    if (nccl->is_shell)
        assume_links(l);
    else
        tell_missing(l);
    add_pairs(l);
    add_hidden(l);
    return true;
}
