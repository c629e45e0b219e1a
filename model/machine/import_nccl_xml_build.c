// Parts of a NCCL topology: CPUs, bridges with several things below them, GPUs, NICs with the rates
// of their ports.
#include "model/machine/import_nccl_xml.h"

#include <string.h>

#define RATE_MOST_MBPS UINT32_C(1600000) // 1.6 Tbit/s: more is another unit
#define RATE_NONE_MBPS UINT32_C(10000)   // NCCL 2.30.7, src/graph/topo.cc: of a speed <= 0

// ---- Models

static void tell_remark(ImportNccl *nccl, const ImportNcclDevice *d) {
    Import *import = nccl->import;
    const Xml *xml = &nccl->xml;
    const char *vendor = xml_attribute(xml, d->element, "vendor");
    const char *device = xml_attribute(xml, d->element, "device");
    if (vendor == NULL || device == NULL || strlen(vendor) < 2 || strlen(device) < 2) {
        if (d->model == NULL)
            import_graph_find_at(&import->graph, xml->elements[d->element].line,
                                 "a GPU without a PCI id: no device is given to it");
        return;
    }
    const char *id = arena_printf(&import->arena, "%s:%s", vendor + 2, device + 2);
    const ImportFact *fact = import_fact_find(import->facts, IMPORT_TABLE_PCI, id);
    const ImportFact *name = import_fact_find(import->facts, IMPORT_TABLE_PCI_NAME, id);
    if (fact != NULL && *fact->remark != '\0')
        import_graph_find(&import->graph, "GPU %s is %s", id, fact->remark);
    else if (fact == NULL && d->model != NULL)
        import_graph_find(&import->graph, "GPU %s is taken for %s by its compute capability", id,
                          d->model->name);
    else if (d->model == NULL)
        import_graph_find(
            &import->graph,
            "GPU %s%s%s is not in the catalogue: give its part a device to plan on it", id,
            name == NULL ? "" : ", ", name == NULL ? "" : name->remark);
}

static void add_gpus(ImportNccl *nccl) {
    const ImportNcclDevice *before = NULL;
    for (uint32_t i = 0; i < nccl->count; i++) {
        ImportNcclDevice *d = &nccl->devices[i];
        if (d->kind != IMPORT_NCCL_GPU) continue;
        d->end = import_node_gpu(nccl->import, 0, d->model == NULL ? "" : d->model->name);
        if (before == NULL || before->model != d->model) tell_remark(nccl, d);
        before = d;
    }
}

// ---- PCIe

// The part above: a kept bridge, or the CPU.
static ImportEnd above(ImportNccl *nccl, const ImportNcclDevice *d) {
    uint32_t cpu = import_graph_part(&nccl->import->graph, 0,
                                     (Part){.name = "cpu", .kind = PART_CPU, .device = ""});
    for (uint32_t i = d->parent; i != IMPORT_NONE; i = nccl->devices[i].parent) {
        if (import_nccl_xml_is_kept(&nccl->devices[i])) return nccl->devices[i].end;
    }
    return import_graph_end(cpu, d->cpu);
}

// A bridge that shows less than what hangs below it is idle, or reports wrongly.
static uint64_t bridge_rate(ImportNccl *nccl, uint32_t bridge) {
    ImportNcclDevice *d = &nccl->devices[bridge];
    uint64_t most = 0;
    const Xml *xml = &nccl->xml;
    for (uint32_t i = bridge + 1;
         i < nccl->count && nccl->devices[i].element < xml->elements[d->element].end; i++) {
        if (nccl->devices[i].rate_Bps > most) most = nccl->devices[i].rate_Bps;
    }
    if (d->rate_Bps == 0 || d->rate_Bps >= most) return d->rate_Bps;
    import_graph_find_at(&nccl->import->graph, xml->elements[d->element].line,
                         "a bridge shows a slower link than what hangs below it: the faster is "
                         "taken");
    return most;
}

static void link_up(ImportNccl *nccl, ImportNcclDevice *d, const char *key, uint64_t rate_Bps,
                    const Device *model) {
    Import *import = nccl->import;
    LinkRule how = import_node_pcie(import, key, rate_Bps == 0 ? model : NULL);
    how.link_class = LINK_PCIE;
    if (rate_Bps > 0) {
        how.bandwidth_Bps = rate_Bps;
        how.source = "link_speed and link_width of the dump; latency: a budget for hardware alone";
        how.confidence = 'B';
    }
    import_graph_link(&import->graph, 0, d->end, above(nccl, d), how);
}

static void add_bridges(ImportNccl *nccl) {
    for (uint32_t i = 0; i < nccl->count; i++) {
        ImportNcclDevice *d = &nccl->devices[i];
        if (!import_nccl_xml_is_kept(d)) continue;
        d->end = import_node_add(nccl->import, 0, PART_PCIE_SWITCH, "pcie", "");
        link_up(nccl, d, "pcie-switch", bridge_rate(nccl, i), NULL);
    }
}

static bool has_c2c(const ImportNccl *nccl, const ImportNcclDevice *d) {
    const Xml *xml = &nccl->xml;
    if (d->gpu == XML_NONE) return false;
    for (uint32_t i = d->gpu + 1; i < xml->elements[d->gpu].end; i++) {
        if (xml_is(xml, i, "c2c")) return true;
    }
    return false;
}

static void link_gpus(ImportNccl *nccl) {
    uint32_t unknown = 0;
    for (uint32_t i = 0; i < nccl->count; i++) {
        ImportNcclDevice *d = &nccl->devices[i];
        if (d->kind != IMPORT_NCCL_GPU || has_c2c(nccl, d)) continue;
        unknown += d->rate_Bps == 0;
        link_up(nccl, d, "pcie-gpu", d->rate_Bps, d->model);
    }
    if (unknown > 0)
        import_graph_find(&nccl->import->graph,
                          "%u GPUs without a PCIe rate, or with that of an idle link: assumed",
                          unknown);
}

// ---- NICs

// A speed in Mbit/s as a rate; odd ones are told.
static uint64_t port_rate(ImportNccl *nccl, uint32_t net) {
    static const uint32_t standard[] = {10000,  25000,  40000,  50000,  100000,
                                        200000, 400000, 800000, 1600000};
    ImportGraph *graph = &nccl->import->graph;
    uint32_t line = nccl->xml.elements[net].line, speed;
    if (!import_nccl_xml_number(nccl, net, "speed", UINT32_MAX - 1, &speed) || speed == 0) {
        import_graph_find_at(graph, line, "a port without a speed: 10 Gbit/s, as NCCL takes it");
        speed = RATE_NONE_MBPS;
    }
    if (speed > RATE_MOST_MBPS && speed / 1000 <= RATE_MOST_MBPS) {
        import_graph_find_at(graph, line, "speed %u would be Mbit/s: taken as kbit/s", speed);
        speed /= 1000;
    }
    if (speed > RATE_MOST_MBPS) {
        import_graph_find_at(graph, line, "speed %u is none of a port: 10 Gbit/s is taken", speed);
        speed = RATE_NONE_MBPS;
    }
    for (uint32_t i = 0; i < sizeof standard / sizeof standard[0]; i++) {
        if (standard[i] == speed) break;
        if (standard[i] < speed || standard[i] - speed > standard[i] / 8) continue;
        import_graph_find_at(graph, line, "speed %u Mbit/s is odd: taken as %u", speed,
                             standard[i]);
        speed = standard[i];
    }
    return (uint64_t)speed * 125000; // Mbit/s in bytes per second
}

static uint32_t count_ports(const ImportNccl *nccl, const ImportNcclDevice *d) {
    uint32_t ports = 0;
    for (uint32_t i = d->element + 1; i < nccl->xml.elements[d->element].end; i++)
        ports += xml_is(&nccl->xml, i, "net");
    return ports;
}

static uint32_t add_ports(ImportNccl *nccl, ImportNcclDevice *d) {
    const Xml *xml = &nccl->xml;
    uint32_t ports = 0;
    for (uint32_t i = d->element + 1; i < xml->elements[d->element].end; i++) {
        if (!xml_is(xml, i, "net")) continue;
        const char *name = xml_attribute(xml, i, "name");
        bool is_ib = name != NULL && (strncmp(name, "mlx", 3) == 0 || strncmp(name, "ib", 2) == 0);
        import_node_network(nccl->import, 0, d->end, 1, port_rate(nccl, i),
                            is_ib ? LINK_IB : LINK_ETH,
                            "speed of the dump; latency: a budget for hardware alone");
        ports++;
    }
    return ports;
}

// A NIC of a shell: the rate of its model.
static bool add_model_port(ImportNccl *nccl, ImportNcclDevice *d) {
    Import *import = nccl->import;
    const char *vendor = xml_attribute(&nccl->xml, d->element, "vendor");
    const char *device = xml_attribute(&nccl->xml, d->element, "device");
    if (vendor == NULL || device == NULL || strlen(vendor) < 2 || strlen(device) < 2) return false;
    if (d->model != NULL && d->model->port_Bps > 0) {
        import_node_network(import, 0, d->end, d->model->ports == 0 ? 1 : d->model->ports,
                            d->model->port_Bps, LINK_IB, d->model->source);
        return true;
    }
    const char *id = arena_printf(&import->arena, "%s:%s", vendor + 2, device + 2);
    const ImportFact *fact = import_fact_find(import->facts, IMPORT_TABLE_NIC_RATE, id);
    if (fact == NULL) return false;
    import_node_network(import, 0, d->end, 1, fact->rate_Bps, LINK_ETH, fact->source);
    return true;
}

static void add_nics(ImportNccl *nccl) {
    uint32_t without = 0, ports = 0;
    for (uint32_t i = 0; i < nccl->count; i++) {
        ImportNcclDevice *d = &nccl->devices[i];
        if (d->kind != IMPORT_NCCL_NIC) continue;
        bool is_nic = d->model != NULL && strcmp(d->model->kind, "nic") == 0 &&
                      count_ports(nccl, d) <= d->model->ports;
        d->end = import_node_model(nccl->import, 0, PART_NIC, "nic", is_nic ? d->model->name : "");
        link_up(nccl, d, "pcie-nic", d->rate_Bps, NULL);
        uint32_t own = add_ports(nccl, d);
        if (own == 0 && !add_model_port(nccl, d)) without++;
        ports += own > 0;
    }
    if (nccl->nics == 0)
        import_graph_find(&nccl->import->graph, "no NIC in the file: scale-out is unknown");
    if (without > 0)
        import_graph_find(&nccl->import->graph, "%u NICs without a rate: no network behind them",
                          without);
    if (ports > 0 || without < nccl->nics)
        import_graph_find(&nccl->import->graph,
                          "the network beyond the NICs is not in the file: one switch without a "
                          "limit stands for it");
}

// ---- Files without GPUs

// Some clouds leave the GPUs out, which hang below the same switches as the NICs.
static bool assume_gpus(ImportNccl *nccl, Err *err) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < nccl->count; i++) {
        ImportNcclDevice *d = &nccl->devices[i];
        if (!import_nccl_xml_is_kept(d)) continue;
        ImportEnd gpu = import_node_gpu(nccl->import, 0, "");
        LinkRule how = import_fact_link(nccl->import->facts, LINK_PCIE, "pcie-gpu");
        import_graph_link(&nccl->import->graph, 0, gpu, d->end, how);
        count++;
    }
    if (count == 0 && nccl->guessed != XML_NONE)
        return xml_error(&nccl->xml, nccl->guessed, err,
                         "has no class: nothing in the file tells GPUs (0x03, 0x12) from NICs "
                         "(0x02)");
    if (count == 0)
        return import_node_error(nccl->import, 0, err,
                                 "expected GPUs (<gpu>, or <pci> of class 0x03 or 0x12), or PCIe "
                                 "switches with NICs that GPUs may be assumed at; found neither");
    import_graph_find(&nccl->import->graph,
                      "no GPU in the file: one without a device is assumed at each of %u PCIe "
                      "switches",
                      count);
    return true;
}

bool import_nccl_xml_build(ImportNccl *nccl, Err *err) {
    add_gpus(nccl);
    if (nccl->guessed != XML_NONE)
        import_graph_find(&nccl->import->graph, "PCI devices without a class: taken for NICs");
    import_node_cpus(nccl->import, 0, nccl->cpus, nccl->vendor);
    add_bridges(nccl);
    link_gpus(nccl);
    add_nics(nccl);
    if (nccl->hosts > 1)
        import_graph_find(&nccl->import->graph, "CPUs of %u hosts: taken as one machine",
                          nccl->hosts);
    return nccl->gpus > 0 || assume_gpus(nccl, err);
}
