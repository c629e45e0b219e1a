// Reads the tree of CPUs and PCI devices.
//
// Invariant: a device stands behind its parent in the list.
#include "model/machine/import_nccl_xml.h"

#include <string.h>

#include "model/machine/import_line.h"

#define SPEED_IDLE UINT64_C(2500000) // GT/s in millionths: what an idle link is clocked down to

bool import_nccl_xml_number(const ImportNccl *nccl, uint32_t element, const char *name,
                            uint32_t most, uint32_t *out) {
    const char *text = xml_attribute(&nccl->xml, element, name);
    return text != NULL && import_line_number(&text, most, out) && *text == '\0';
}

bool import_nccl_xml_is_kept(const ImportNcclDevice *device) {
    return device->kind == IMPORT_NCCL_BRIDGE && device->children > 1;
}

static const char *attribute(const ImportNccl *nccl, uint32_t element, const char *name) {
    const char *text = xml_attribute(&nccl->xml, element, name);
    return text == NULL ? "" : text;
}

// The child of that name, or XML_NONE.
static uint32_t child(const Xml *xml, uint32_t element, const char *name) {
    for (uint32_t i = element + 1; i < xml->elements[element].end; i = xml->elements[i].end) {
        if (xml_is(xml, i, name)) return i;
    }
    return XML_NONE;
}

static bool starts(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

static ImportNcclKind kind_of(ImportNccl *nccl, uint32_t element, uint32_t gpu) {
    const char *class = attribute(nccl, element, "class"),
               *vendor = attribute(nccl, element, "vendor");
    if (gpu != XML_NONE) return IMPORT_NCCL_GPU;
    if (*class == '\0' && child(&nccl->xml, element, "pci") != XML_NONE) return IMPORT_NCCL_BRIDGE;
    if (starts(class, "0x0604")) return IMPORT_NCCL_BRIDGE;
    if (starts(class, "0x02") || child(&nccl->xml, element, "nic") != XML_NONE)
        return IMPORT_NCCL_NIC;
    bool is_accelerator = starts(class, "0x03") || starts(class, "0x1200");
    bool is_vendor =
        *vendor == '\0' || strcmp(vendor, "0x10de") == 0 || strcmp(vendor, "0x1002") == 0;
    if (is_accelerator && is_vendor) return IMPORT_NCCL_GPU;
    if (*class != '\0') return IMPORT_NCCL_OTHER;
    if (nccl->guessed == XML_NONE) nccl->guessed = element;
    return IMPORT_NCCL_NIC;
}

// link_speed x link_width; 0 when there is none, or one that an idle device shows.
static uint64_t rate_of(ImportNccl *nccl, uint32_t element) {
    static const struct {
        uint64_t millionths;
        const char *key;
    } speeds[] = {{2500000, "2.5"}, {5000000, "5"},   {8000000, "8"},
                  {16000000, "16"}, {32000000, "32"}, {64000000, "64"}};
    const char *text = attribute(nccl, element, "link_speed");
    uint64_t speed;
    uint32_t width;
    if (!import_line_decimal(&text, &speed) ||
        !import_nccl_xml_number(nccl, element, "link_width", 32, &width) || width == 0)
        return 0;
    if (strcmp(text, " GT/s PCIe/s") == 0)
        import_graph_find_at(&nccl->import->graph, nccl->xml.elements[element].line,
                             "\"%s\" is a speed that NCCL does not know and takes for 8 GT/s",
                             attribute(nccl, element, "link_speed"));
    for (uint32_t i = 0; i < sizeof speeds / sizeof speeds[0]; i++) {
        if (speeds[i].millionths != speed || speed <= SPEED_IDLE) continue;
        const ImportFact *fact =
            import_fact_find(nccl->import->facts, IMPORT_TABLE_PCIE, speeds[i].key);
        return fact == NULL ? 0 : fact->rate_Bps / 16 * width;
    }
    return 0;
}

static const char *hex_of(const char *text) {
    return starts(text, "0x") ? text + 2 : text;
}

static const Device *model_of(ImportNccl *nccl, uint32_t element, uint32_t gpu) {
    Import *import = nccl->import;
    const char *id =
        arena_printf(&import->arena, "%s:%s", hex_of(attribute(nccl, element, "vendor")),
                     hex_of(attribute(nccl, element, "device")));
    const ImportFact *fact = import_fact_find(import->facts, IMPORT_TABLE_PCI, id);
    if (fact == NULL && gpu != XML_NONE &&
        import_fact_find(import->facts, IMPORT_TABLE_PCI_NAME, id) == NULL)
        fact = import_fact_find(import->facts, IMPORT_TABLE_SM, attribute(nccl, gpu, "sm"));
    return fact == NULL ? NULL : import_node_device(import, fact->device);
}

static bool add_device(ImportNccl *nccl, uint32_t element, uint32_t *numbers, Err *err) {
    const Xml *xml = &nccl->xml;
    if (nccl->count == IMPORT_NCCL_DEVICES_MAX)
        return xml_error(xml, element, err, "expected at most %d devices", IMPORT_NCCL_DEVICES_MAX);
    if (nccl->cpus == 0) return xml_error(xml, element, err, "expected it inside a <cpu>");
    uint32_t parent = numbers[xml->elements[element].parent];
    ImportNcclDevice *d = &nccl->devices[nccl->count];
    *d = (ImportNcclDevice){.element = element,
                            .gpu = child(xml, element, "gpu"),
                            .parent = parent,
                            .cpu = nccl->cpus - 1,
                            .bus = attribute(nccl, element, "busid")};
    d->kind = xml_is(xml, element, "nic") ? IMPORT_NCCL_NIC : kind_of(nccl, element, d->gpu);
    if (d->gpu != XML_NONE) nccl->is_shell = false;
    d->rate_Bps = rate_of(nccl, element);
    d->model = model_of(nccl, element, d->gpu);
    numbers[element] = nccl->count++;
    return true;
}

static void read_cpu(ImportNccl *nccl, uint32_t element) {
    const char *vendor = attribute(nccl, element, "vendor"),
               *arch = attribute(nccl, element, "arch");
    nccl->vendor = *vendor != '\0' ? vendor : arch;
    nccl->cpus++;
    for (uint32_t i = 1; i < element; i++) {
        if (!xml_is(&nccl->xml, i, "cpu")) continue;
        if (strcmp(attribute(nccl, i, "host_hash"), attribute(nccl, element, "host_hash")) == 0)
            return;
        if (i > 1u << 16) return; // far beyond any host: the number of hosts is only told
    }
    nccl->hosts++;
}

static bool read_devices(ImportNccl *nccl, Err *err) {
    const Xml *xml = &nccl->xml;
    uint32_t *numbers = arena_alloc(&nccl->import->arena, xml->count, sizeof *numbers);
    nccl->devices =
        arena_alloc(&nccl->import->arena, IMPORT_NCCL_DEVICES_MAX, sizeof *nccl->devices);
    for (uint32_t i = 0; i < xml->count; i++) {
        numbers[i] = IMPORT_NONE;
        bool is_nic = xml_is(xml, i, "nic") && i > 0 && xml_is(xml, xml->elements[i].parent, "cpu");
        if (xml_is(xml, i, "cpu")) {
            if (nccl->cpus == IMPORT_GPUS_MAX)
                return xml_error(xml, i, err, "expected at most %d CPUs", IMPORT_GPUS_MAX);
            read_cpu(nccl, i);
        } else if ((xml_is(xml, i, "pci") || is_nic) && !add_device(nccl, i, numbers, err)) {
            return false;
        }
    }
    return true;
}

// GPUs that the library does not use, once it names those that it uses; live children.
static void settle(ImportNccl *nccl) {
    for (uint32_t i = nccl->count; i > 0; i--) {
        ImportNcclDevice *d = &nccl->devices[i - 1];
        if (!nccl->is_shell && d->kind == IMPORT_NCCL_GPU && d->gpu == XML_NONE)
            d->kind = IMPORT_NCCL_OTHER;
        bool is_live = d->kind == IMPORT_NCCL_GPU || d->kind == IMPORT_NCCL_NIC || d->children > 0;
        nccl->gpus += d->kind == IMPORT_NCCL_GPU;
        nccl->nics += d->kind == IMPORT_NCCL_NIC;
        if (is_live && d->parent != IMPORT_NONE) nccl->devices[d->parent].children++;
    }
}

static bool run(ImportNccl *nccl, Err *err) {
    if (!xml_is(&nccl->xml, 0, "system"))
        return xml_error(&nccl->xml, 0, err, "expected <system> as the root of a topology");
    if (!read_devices(nccl, err)) return false;
    if (nccl->cpus == 0) return xml_error(&nccl->xml, 0, err, "expected a <cpu>, found none");
    settle(nccl);
    return import_nccl_xml_build(nccl, err) && import_nccl_xml_links(nccl, err);
}

bool import_nccl_xml_read(Import *import, Err *err) {
    ImportNccl nccl = {.import = import, .is_shell = true, .guessed = XML_NONE, .vendor = ""};
    if (!xml_parse(import->origin, import->bytes, import->count, &nccl.xml, err)) return false;
    bool done = run(&nccl, err);
    xml_free(&nccl.xml);
    return done;
}
