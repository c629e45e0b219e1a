// Matrices of bandwidth between objects, in MB/s, row by row, cut into elements as the writer
// liked. 1000000 is an object and itself; 0 is no link, which on a machine with NVSwitches means
// "look at the switch". A matrix without a name is none of links.
#include <stdlib.h>
#include <string.h>

#include "model/base/xml.h"
#include "model/machine/import_hwloc.h"
#include "model/machine/import_line.h"

#define OBJECTS_MAX  512
#define SELF         1000000
#define MATRICES_MAX 8

typedef struct Object {
    uint32_t gp, element;
} Object;

// Objects by their number.
typedef struct Objects {
    Object *list;
    uint32_t count;
} Objects;

typedef struct Matrix {
    ImportHwloc *h;
    const Objects *objects;
    uint32_t element;
    uint32_t count;
    uint32_t devices[OBJECTS_MAX];  // IMPORT_NONE: a package, or nothing known
    uint32_t packages[OBJECTS_MAX]; // IMPORT_NONE: no package
    uint32_t *values;               // count x count
    uint32_t value_count;
    LinkClass class;
} Matrix;

static const char *attribute(const ImportHwloc *h, uint32_t element, const char *name) {
    const char *text = xml_attribute(&h->xml, element, name);
    return text == NULL ? "" : text;
}

static int by_gp(const void *a, const void *b) {
    const Object *x = a, *y = b;
    if (x->gp != y->gp) return x->gp < y->gp ? -1 : 1;
    return (x->element > y->element) - (x->element < y->element);
}

static void list_objects(const ImportHwloc *h, Objects *out) {
    out->list = arena_alloc(&h->import->arena, h->xml.count, sizeof *out->list);
    for (uint32_t i = 0; i < h->xml.count; i++) {
        const char *text = attribute(h, i, "gp_index");
        uint32_t number;
        if (xml_is(&h->xml, i, "object") && import_line_number(&text, UINT32_MAX - 1, &number))
            out->list[out->count++] = (Object){number, i};
    }
    qsort(out->list, out->count, sizeof *out->list, by_gp);
}

// The object of that gp_index, or XML_NONE.
static uint32_t find_object(const Objects *objects, uint32_t gp) {
    uint32_t low = 0, high = objects->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (objects->list[middle].gp < gp)
            low = middle + 1;
        else
            high = middle;
    }
    return low < objects->count && objects->list[low].gp == gp ? objects->list[low].element
                                                               : XML_NONE;
}

// "OSDev:802" or "802".
static bool add_object(Matrix *m, const char *word) {
    const char *colon = strchr(word, ':'), *text = colon == NULL ? word : colon + 1;
    uint32_t gp;
    if (m->count == OBJECTS_MAX || !import_line_number(&text, UINT32_MAX - 1, &gp)) return false;
    uint32_t element = find_object(m->objects, gp);
    m->devices[m->count] = m->packages[m->count] = IMPORT_NONE;
    if (element != XML_NONE) {
        m->devices[m->count] = import_hwloc_device(m->h, element);
        if (strcmp(attribute(m->h, element, "type"), "Package") == 0)
            m->packages[m->count] = import_hwloc_package(m->h, element);
    }
    m->count++;
    return true;
}

static bool add_value(Matrix *m, const char *word) {
    const char *text = word;
    if (m->value_count == m->count * m->count) return false;
    return import_line_number(&text, UINT32_MAX - 1, &m->values[m->value_count++]) && *text == '\0';
}

static bool read_words(Matrix *m, uint32_t element, bool (*add)(Matrix *, const char *), Err *err) {
    const char *text = m->h->xml.elements[element].text, *word;
    Arena arena = {0};
    bool done = true;
    while (done && (word = import_line_word(&text, &arena)) != NULL) {
        done = add(m, word);
        if (!done) xml_error(&m->h->xml, element, err, "did not expect \"%.32s\"", word);
    }
    arena_free(&arena);
    return done;
}

static bool read_matrix(Matrix *m, Err *err) {
    const Xml *xml = &m->h->xml;
    uint32_t end = xml->elements[m->element].end;
    for (uint32_t i = m->element + 1; i < end; i++) {
        if (xml_is(xml, i, "indexes") && !read_words(m, i, add_object, err)) return false;
    }
    m->values = arena_alloc(&m->h->import->arena, (size_t)m->count * m->count, sizeof *m->values);
    for (uint32_t i = m->element + 1; i < end; i++) {
        if (xml_is(xml, i, "u64values") && !read_words(m, i, add_value, err)) return false;
    }
    return m->value_count == m->count * m->count ||
           xml_error(xml, m->element, err, "expected %u values for %u objects, found %u",
                     m->count * m->count, m->count, m->value_count);
}

static ImportHwlocDevice *device_at(const Matrix *m, uint32_t i) {
    return m->devices[i] == IMPORT_NONE ? NULL : &m->h->devices[m->devices[i]];
}

// The end of a link, made when it is a switch that was not seen before.
static bool end_of(Matrix *m, uint32_t i, ImportEnd *out) {
    ImportHwlocDevice *d = device_at(m, i);
    if (d != NULL) {
        *out = d->end;
        return d->kind != IMPORT_HWLOC_NIC;
    }
    uint32_t cpu = import_graph_part(&m->h->import->graph, 0,
                                     (Part){.name = "cpu", .kind = PART_CPU, .device = ""});
    *out = import_graph_end(cpu, m->packages[i] == IMPORT_NONE ? 0 : m->packages[i]);
    return m->packages[i] != IMPORT_NONE;
}

static bool is_switch(const Matrix *m, uint32_t i) {
    const ImportHwlocDevice *d = device_at(m, i);
    return d != NULL && d->kind == IMPORT_HWLOC_NVSWITCH;
}

static const Device *model_of(const Matrix *m, uint32_t i) {
    const ImportHwlocDevice *d = device_at(m, i);
    return d == NULL ? NULL : d->model;
}

// One pair: as many cables as its rate is links of the device's generation, where that divides.
static void add_pair(Matrix *m, uint32_t i, uint32_t k, uint32_t value_MBps) {
    Import *import = m->h->import;
    ImportEnd a, b;
    if (!end_of(m, i, &a) || !end_of(m, k, &b)) return;
    bool has_switch = is_switch(m, i) || is_switch(m, k);
    const Device *model = model_of(m, i) != NULL ? model_of(m, i) : model_of(m, k);
    LinkRule how = m->class == LINK_XGMI
                       ? import_fact_link(import->facts, LINK_XGMI, "xgmi")
                       : import_node_nvlink(import, has_switch ? "nvlink-switch" : "nvlink", model);
    uint64_t total = (uint64_t)value_MBps * 1000000;
    if (total % how.bandwidth_Bps == 0 && total / how.bandwidth_Bps <= TOPOLOGY_CABLES_MAX) {
        how.cables = (uint32_t)(total / how.bandwidth_Bps);
    } else {
        how.bandwidth_Bps = total;
    }
    how.source = "matrix of bandwidths of the dump; latency: a budget for hardware alone";
    how.confidence = 'B';
    import_graph_link(&import->graph, 0, a, b, how);
}

static void add_switches(Matrix *m) {
    bool is_used[OBJECTS_MAX] = {false};
    for (uint32_t i = 0; i < m->count; i++) {
        for (uint32_t k = 0; k < m->count; k++)
            is_used[i] |= i != k && m->values[i * m->count + k] > 0;
    }
    for (uint32_t i = 0; i < m->count; i++) {
        if (is_switch(m, i) && is_used[i])
            device_at(m, i)->end = import_node_add(m->h->import, 0, PART_SWITCH, "nvswitch", "");
    }
}

static void add_links(Matrix *m) {
    uint32_t odd = 0, first = 0;
    bool is_flat = m->count > 2, has_switch = false, has_trunk = false;
    add_switches(m);
    for (uint32_t i = 0; i < m->count; i++) {
        for (uint32_t k = i + 1; k < m->count; k++) {
            uint32_t there = m->values[i * m->count + k], back = m->values[k * m->count + i];
            uint32_t value = there < back ? there : back;
            odd += there != back;
            if (first == 0) first = value;
            is_flat &= value == first;
            if (value == 0 || value >= SELF) continue;
            has_switch |= is_switch(m, i) != is_switch(m, k);
            has_trunk |= is_switch(m, i) && is_switch(m, k);
            add_pair(m, i, k, value);
        }
    }
    if (has_switch && !has_trunk)
        import_graph_find(&m->h->import->graph,
                          "the matrix has no link between two NVSwitches: GPUs of different "
                          "switches meet over PCIe here");
    if (odd > 0)
        import_graph_find(&m->h->import->graph, "asymmetric: %u pairs differ, the less is taken",
                          odd);
    if (is_flat && m->class == LINK_XGMI)
        import_graph_find(&m->h->import->graph,
                          "XGMIBandwidth is %u MB/s for every pair, which no MI250X has: not all "
                          "pairs may be joined",
                          first);
}

bool import_hwloc_links(ImportHwloc *h, Err *err) {
    Objects objects = {NULL, 0};
    uint32_t matrices = 0;
    bool unnamed = false;
    for (uint32_t i = 0; i < h->xml.count; i++) {
        const char *name = attribute(h, i, "name");
        if (strncmp(h->xml.elements[i].name, "distances2", 10) != 0) continue;
        bool is_nvlink = strcmp(name, "NVLinkBandwidth") == 0;
        bool is_xgmi = strcmp(name, "XGMIBandwidth") == 0;
        unnamed |= *name == '\0';
        if (!is_nvlink && !is_xgmi) continue;
        if (++matrices > MATRICES_MAX)
            return xml_error(&h->xml, i, err, "expected at most %d matrices of links",
                             MATRICES_MAX);
        if (objects.list == NULL) list_objects(h, &objects);
        Matrix *m = arena_alloc(&h->import->arena, 1, sizeof *m);
        *m = (Matrix){
            .h = h, .objects = &objects, .element = i, .class = is_xgmi ? LINK_XGMI : LINK_NVLINK};
        if (!read_matrix(m, err)) return false;
        add_links(m);
    }
    if (unnamed)
        import_graph_find(&h->import->graph, "a matrix of distances without a name: not of links");
    if (matrices == 0)
        import_graph_find(&h->import->graph,
                          "no matrix of NVLink or xGMI: links between GPUs are unknown, none is "
                          "assumed");
    return true;
}
