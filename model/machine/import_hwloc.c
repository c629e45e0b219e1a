// Reads objects: packages, PCI devices that are GPUs, NICs or NVSwitches.
//
// A GPU is a PCI device of class 03 or 12 with at least one OSDev of a compute library, however
// many libraries see it. A NIC is one with an OSDev of type OpenFabrics; plain Ethernet interfaces
// are counted only, but for those of high-speed fabrics (hsi).
//
// Invariant: devices are in the order of the file.
#include "model/machine/import_hwloc.h"

#include <string.h>

#include "model/machine/import_line.h"

#define RATE_IDLE_MBPS UINT64_C(4000000) // millionths of GB/s: 2.5 GT/s x 16, what idle links show

static const char *attribute(const ImportHwloc *h, uint32_t element, const char *name) {
    const char *text = xml_attribute(&h->xml, element, name);
    return text == NULL ? "" : text;
}

static bool is_type(const ImportHwloc *h, uint32_t element, const char *type) {
    return xml_is(&h->xml, element, "object") && strcmp(attribute(h, element, "type"), type) == 0;
}

static bool is_package(const ImportHwloc *h, uint32_t element) {
    if (h->is_numa) return is_type(h, element, "NUMANode");
    return is_type(h, element, "Package") || is_type(h, element, "Socket");
}

uint32_t import_hwloc_package(const ImportHwloc *h, uint32_t element) {
    for (uint32_t i = element; i != XML_NONE; i = h->xml.elements[i].parent) {
        if (!is_package(h, i)) continue;
        for (uint32_t k = 0; k < h->package_count; k++) {
            if (h->packages[k] == i) return k;
        }
    }
    return IMPORT_NONE;
}

uint32_t import_hwloc_device(const ImportHwloc *h, uint32_t element) {
    uint32_t parent = h->xml.elements[element].parent;
    for (uint32_t i = 0; i < h->count; i++) {
        if (h->devices[i].element == element || h->devices[i].element == parent) return i;
    }
    return IMPORT_NONE;
}

// What OSDevs below a PCIDev say of it.
typedef struct Systems {
    bool is_compute, is_fabric, is_network;
    const char *model;
} Systems;

static void read_type(const ImportHwloc *h, uint32_t element, Systems *out) {
    const char *text = attribute(h, element, "osdev_type"), *name = attribute(h, element, "name");
    uint32_t type;
    if (!import_line_number(&text, 1000, &type)) return;
    // version 3 writes a set: 4 GPU, 8 co-processor, 16 network, 32 OpenFabrics
    bool is_set = h->version >= 3;
    bool gpu = is_set ? (type & 12) != 0 : type == 1 || type == 5;
    // a display output is of type GPU too
    if (gpu && strncmp(name, "card", 4) != 0 && strncmp(name, "render", 6) != 0 && name[0] != ':')
        out->is_compute = true;
    if (is_set ? (type & 32) != 0 : type == 3) out->is_fabric = true;
    if (is_set ? (type & 16) != 0 : type == 2) {
        out->is_network = true;
        if (strncmp(name, "hsi", 3) == 0) out->is_fabric = true;
    }
}

static Systems read_systems(const ImportHwloc *h, uint32_t element) {
    Systems out = {.model = ""};
    for (uint32_t i = element + 1; i < h->xml.elements[element].end; i++) {
        if (is_type(h, i, "OSDev")) read_type(h, i, &out);
        if (xml_is(&h->xml, i, "info") && strcmp(attribute(h, i, "name"), "GPUModel") == 0)
            out.model = attribute(h, i, "value");
    }
    return out;
}

// "0302 [10de:1db8] ...": the class, and the id.
static const char *id_of(const ImportHwloc *h, const char *type) {
    const char *open = strchr(type, '[');
    if (open == NULL || strlen(open) < 10) return "";
    return import_line_trim(open + 1, open + 10, &h->import->arena);
}

static uint64_t rate_of(const ImportHwloc *h, uint32_t element) {
    const char *text = attribute(h, element, "pci_link_speed");
    uint64_t millionths;
    if (!import_line_decimal(&text, &millionths) || *text != '\0') return 0;
    return millionths <= RATE_IDLE_MBPS ? 0 : millionths * 1000;
}

static bool add_device(ImportHwloc *h, uint32_t element, Err *err) {
    const char *type = attribute(h, element, "pci_type");
    Systems systems = read_systems(h, element);
    ImportHwlocDevice d = {.element = element, .id = id_of(h, type), .name = systems.model};
    bool is_gpu = strncmp(type, "03", 2) == 0 || strncmp(type, "12", 2) == 0;
    if (is_gpu && systems.is_compute) {
        d.kind = IMPORT_HWLOC_GPU;
    } else if (systems.is_fabric) {
        d.kind = IMPORT_HWLOC_NIC;
    } else if (strcmp(attribute(h, element, "subtype"), "NVSwitch") == 0) {
        d.kind = IMPORT_HWLOC_NVSWITCH;
    } else {
        h->ethernets += systems.is_network;
        return true;
    }
    if (h->count == IMPORT_HWLOC_DEVICES_MAX)
        return xml_error(&h->xml, element, err, "expected at most %d GPUs, NICs and NVSwitches",
                         IMPORT_HWLOC_DEVICES_MAX);
    d.rate_Bps = rate_of(h, element);
    d.cpu = import_hwloc_package(h, element);
    const ImportFact *fact = import_fact_find(h->import->facts, IMPORT_TABLE_PCI, d.id);
    if (fact == NULL && *d.name != '\0')
        fact = import_fact_within(h->import->facts, IMPORT_TABLE_GPU_NAME, d.name);
    d.model = fact == NULL ? NULL : import_node_device(h->import, fact->device);
    h->devices[h->count++] = d;
    return true;
}

static bool read_packages(ImportHwloc *h, Err *err) {
    h->packages = arena_alloc(&h->import->arena, IMPORT_GPUS_MAX, sizeof *h->packages);
    for (uint32_t pass = 0; pass < 2 && h->package_count == 0; pass++) {
        h->is_numa = pass == 1;
        for (uint32_t i = 0; i < h->xml.count; i++) {
            if (!is_package(h, i)) continue;
            if (h->package_count == IMPORT_GPUS_MAX)
                return xml_error(&h->xml, i, err, "expected at most %d packages", IMPORT_GPUS_MAX);
            h->packages[h->package_count++] = i;
        }
    }
    return true;
}

// In version 1 devices hang below a NUMA node that may have packages inside: those of the node.
static uint32_t package_inside(const ImportHwloc *h, uint32_t element) {
    for (uint32_t up = h->xml.elements[element].parent; up != XML_NONE;
         up = h->xml.elements[up].parent) {
        if (!is_type(h, up, "NUMANode") && !is_type(h, up, "Group")) continue;
        for (uint32_t k = 0; k < h->package_count; k++) {
            if (h->packages[k] > up && h->packages[k] < h->xml.elements[up].end) return k;
        }
    }
    return IMPORT_NONE;
}

// ---- Parts

static void tell_model(ImportHwloc *h, const ImportHwlocDevice *d) {
    const ImportFact *fact = import_fact_find(h->import->facts, IMPORT_TABLE_PCI, d->id);
    const ImportFact *name = import_fact_find(h->import->facts, IMPORT_TABLE_PCI_NAME, d->id);
    if (fact != NULL && *fact->remark != '\0')
        import_graph_find(&h->import->graph, "GPU %s is %s", d->id, fact->remark);
    if (d->model == NULL)
        import_graph_find(
            &h->import->graph,
            "GPU %s (%s) is not in the catalogue: give its part a device to plan on it", d->id,
            *d->name != '\0' ? d->name
            : name != NULL   ? name->remark
                             : "unknown");
}

static ImportEnd add_part(ImportHwloc *h, const ImportHwlocDevice *d) {
    const char *device = d->model == NULL ? "" : d->model->name;
    switch (d->kind) {
    case IMPORT_HWLOC_GPU: tell_model(h, d); return import_node_gpu(h->import, 0, device);
    case IMPORT_HWLOC_NIC: return import_node_model(h->import, 0, PART_NIC, "nic", device);
    case IMPORT_HWLOC_NVSWITCH: break;
    }
    return (ImportEnd){0};
}

static void link_device(ImportHwloc *h, const ImportHwlocDevice *d) {
    Import *import = h->import;
    bool is_gpu = d->kind == IMPORT_HWLOC_GPU;
    const Device *model = is_gpu && d->rate_Bps == 0 ? d->model : NULL;
    LinkRule how = import_node_pcie(import, is_gpu ? "pcie-gpu" : "pcie-nic", model);
    how.link_class = LINK_PCIE;
    if (d->rate_Bps > 0) {
        how.bandwidth_Bps = d->rate_Bps;
        how.source = "pci_link_speed of the dump; latency: a budget for hardware alone";
        how.confidence = 'B';
    }
    uint32_t cpu =
        import_graph_part(&import->graph, 0, (Part){.name = "cpu", .kind = PART_CPU, .device = ""});
    uint32_t at = d->cpu == IMPORT_NONE ? 0 : d->cpu;
    import_graph_link(&import->graph, 0, d->end, import_graph_end(cpu, at), how);
    if (!is_gpu && d->model != NULL && d->model->port_Bps > 0)
        import_node_network(import, 0, d->end, 1, d->model->port_Bps, LINK_IB, d->model->source);
}

static bool build(ImportHwloc *h, Err *err) {
    uint32_t gpus = 0, nics = 0, idle = 0;
    for (uint32_t i = 0; i < h->count; i++) {
        ImportHwlocDevice *d = &h->devices[i];
        if (d->cpu == IMPORT_NONE) d->cpu = package_inside(h, d->element);
        d->end = add_part(h, d);
        gpus += d->kind == IMPORT_HWLOC_GPU;
        nics += d->kind == IMPORT_HWLOC_NIC;
        idle += d->kind == IMPORT_HWLOC_GPU && d->rate_Bps == 0;
    }
    if (gpus == 0)
        return import_node_error(
            h->import, 0, err,
            "expected a GPU (a PCIDev of class 03 or 12 with an OSDev of CUDA, "
            "NVML, RSMI, OpenCL or Level Zero), found none");
    import_node_cpus(h->import, 0, h->package_count == 0 ? 1 : h->package_count, "");
    for (uint32_t i = 0; i < h->count; i++) {
        if (h->devices[i].kind != IMPORT_HWLOC_NVSWITCH) link_device(h, &h->devices[i]);
    }
    if (idle > 0)
        import_graph_find(&h->import->graph,
                          "%u GPUs without a PCIe rate, or with that of an idle link: assumed",
                          idle);
    if (nics == 0) import_graph_find(&h->import->graph, "no OpenFabrics NIC in the file");
    if (h->ethernets > 0)
        import_graph_find(&h->import->graph, "%u plain network interfaces left out", h->ethernets);
    import_graph_find(&h->import->graph,
                      "PCIe bridges are left out: devices of a package meet at its CPU");
    return import_hwloc_links(h, err);
}

static bool run(ImportHwloc *h, Err *err) {
    if (!xml_is(&h->xml, 0, "topology"))
        return xml_error(&h->xml, 0, err, "expected <topology> as the root");
    const char *version = attribute(h, 0, "version");
    h->version = 1;
    if (*version != '\0' && !import_line_number(&version, 99, &h->version)) h->version = 0;
    if (h->version < 1 || h->version > 3)
        return xml_error(&h->xml, 0, err, "expected version 1, 2 or 3 of the format, found \"%s\"",
                         attribute(h, 0, "version"));
    h->devices = arena_alloc(&h->import->arena, IMPORT_HWLOC_DEVICES_MAX, sizeof *h->devices);
    if (!read_packages(h, err)) return false;
    for (uint32_t i = 0; i < h->xml.count; i++) {
        if (is_type(h, i, "PCIDev") && !add_device(h, i, err)) return false;
    }
    return build(h, err);
}

bool import_hwloc_read(Import *import, Err *err) {
    ImportHwloc hwloc = {.import = import};
    if (!xml_parse(import->origin, import->bytes, import->count, &hwloc.xml, err)) return false;
    bool done = run(&hwloc, err);
    xml_free(&hwloc.xml);
    return done;
}
