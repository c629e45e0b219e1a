// The machine of tables of pairs. A pair of type XGMI is joined by a link of its own unless its
// weight is that of several hops (15 each): the table of hops prints 1 in any case. The number of
// links of a pair is in no table.
#include "model/machine/import_smi.h"

#include <string.h>

#define WEIGHT_HOP    15 // of one xGMI hop, ROCm's rocm_smi_io_link
#define WEIGHT_SOCKET 40 // of a path over PCIe inside one socket

typedef struct Build {
    Import *import;
    const ImportSmi *smi;
    const Device *device;
    uint32_t cpu[IMPORT_SMI_GPUS_MAX];
} Build;

static const char *cell(const Build *b, ImportSmiTable table, uint32_t i, uint32_t k) {
    const char **cells = b->smi->cells[table];
    return cells == NULL ? "" : cells[(size_t)i * b->smi->count + k];
}

// 0 when there is none.
static uint32_t weight(const Build *b, uint32_t i, uint32_t k) {
    const char *text = cell(b, IMPORT_SMI_WEIGHT, i, k);
    uint32_t value;
    return import_line_number(&text, 1000000, &value) && *text == '\0' ? value : 0;
}

static bool is_xgmi(const Build *b, uint32_t i, uint32_t k) {
    return i != k && strcmp(cell(b, IMPORT_SMI_TYPE, i, k), "XGMI") == 0 &&
           strcmp(cell(b, IMPORT_SMI_TYPE, k, i), "XGMI") == 0;
}

static bool is_direct(const Build *b, uint32_t i, uint32_t k) {
    return is_xgmi(b, i, k) && weight(b, i, k) <= WEIGHT_HOP;
}

static uint32_t count_numa(const Build *b) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < b->smi->count; i++) {
        bool is_first = true;
        for (uint32_t k = 0; k < i; k++) is_first &= b->cpu[k] != b->cpu[i];
        count += is_first;
    }
    return count;
}

// By NUMA node where one is given, else by what is near over PCIe.
static uint32_t find_cpus(Build *b) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < b->smi->count; i++) {
        uint32_t with = i;
        for (uint32_t k = 0; k < i && with == i; k++) {
            bool is_same = b->smi->numa[i] != IMPORT_NONE && b->smi->numa[i] == b->smi->numa[k];
            bool is_unknown = b->smi->numa[i] == IMPORT_NONE && weight(b, i, k) <= WEIGHT_SOCKET;
            if (is_same || is_unknown) with = k;
        }
        b->cpu[i] = with == i ? count++ : b->cpu[with];
    }
    return count;
}

static void guess_device(Build *b) {
    uint32_t xgmi = 0, direct = 0, count = b->smi->count;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            xgmi += is_xgmi(b, i, k);
            direct += is_direct(b, i, k);
        }
    }
    bool is_mesh = count > 1 && xgmi == count * (count - 1) / 2;
    const char *kind = direct < xgmi                          ? " parts"
                       : count_numa(b) == count && count == 4 ? " numa"
                                                              : "";
    const char *key = is_mesh ? arena_printf(&b->import->arena, "xgmi %u%s", count, kind) : "";
    const ImportFact *fact = import_fact_find(b->import->facts, IMPORT_TABLE_SIGNATURE, key);
    if (fact != NULL) b->device = import_node_device(b->import, fact->device);
    import_graph_find(&b->import->graph, "the tables do not name the GPUs: %s%s",
                      b->device == NULL ? "no device is given to them"
                                        : "by their links they are assumed to be ",
                      b->device == NULL ? "" : b->device->name);
    if (xgmi > 0)
        import_graph_find(&b->import->graph,
                          "the number of xGMI links of a pair is in no table: one is taken");
    if (direct < xgmi)
        import_graph_find(&b->import->graph,
                          "%u of %u pairs are more than one xGMI hop apart by their weights; the "
                          "table of hops does not tell",
                          xgmi - direct, xgmi);
}

// "50000-50000" MB/s, least and most of one link.
static bool read_bandwidth(const Build *b, uint32_t i, uint32_t k, uint64_t *out_Bps) {
    const char *text = cell(b, IMPORT_SMI_BANDWIDTH, i, k);
    uint32_t least, most;
    if (!import_line_number(&text, 10000000, &least) || !import_line_take(&text, "-") ||
        !import_line_number(&text, 10000000, &most) || *text != '\0' || most == 0)
        return false;
    *out_Bps = (uint64_t)most * 1000000;
    return true;
}

static void add_xgmi(Build *b, const ImportEnd *gpus) {
    for (uint32_t i = 0; i < b->smi->count; i++) {
        for (uint32_t k = i + 1; k < b->smi->count; k++) {
            if (!is_direct(b, i, k)) continue;
            LinkRule how = import_fact_link(b->import->facts, LINK_XGMI, "xgmi");
            if (b->device != NULL && b->device->scale_up_links > 0) {
                how.bandwidth_Bps = b->device->scale_up_Bps.low / b->device->scale_up_links;
                how.source = b->device->source;
                how.confidence = 'M';
            }
            if (read_bandwidth(b, i, k, &how.bandwidth_Bps)) {
                how.source = "NUMA BW of the dump, MB/s of one link";
                how.confidence = 'B';
            }
            import_graph_link(&b->import->graph, 0, gpus[i], gpus[k], how);
        }
    }
}

static void find_disabled(const Build *b) {
    uint32_t pairs = 0, odd = 0;
    for (uint32_t i = 0; i < b->smi->count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            const char *there = cell(b, IMPORT_SMI_ACCESS, i, k);
            const char *back = cell(b, IMPORT_SMI_ACCESS, k, i);
            pairs += strcmp(there, "DISABLED") == 0 || strcmp(there, "FALSE") == 0;
            odd += strcmp(there, back) != 0 || weight(b, i, k) != weight(b, k, i) ||
                   strcmp(cell(b, IMPORT_SMI_TYPE, i, k), cell(b, IMPORT_SMI_TYPE, k, i)) != 0;
        }
    }
    if (pairs > 0)
        import_graph_find(&b->import->graph,
                          "access is disabled between %u pairs: their traffic goes through the "
                          "memory of the host",
                          pairs);
    if (odd > 0) import_graph_find(&b->import->graph, "asymmetric: %u pairs differ", odd);
}

bool import_smi_build(Import *import, const ImportSmi *smi, Err *err) {
    ImportEnd gpus[IMPORT_SMI_GPUS_MAX];
    Build *b = arena_alloc(&import->arena, 1, sizeof *b);
    b->import = import;
    b->smi = smi;
    (void)err;
    uint32_t cpus = find_cpus(b);
    guess_device(b);
    for (uint32_t i = 0; i < smi->count; i++)
        gpus[i] = import_node_gpu(import, 0, b->device == NULL ? "" : b->device->name);
    import_node_cpus(import, 0, cpus, "AuthenticAMD");
    uint32_t cpu =
        import_graph_part(&import->graph, 0, (Part){.name = "cpu", .kind = PART_CPU, .device = ""});
    for (uint32_t i = 0; i < smi->count; i++) {
        LinkRule how = import_node_pcie(import, "pcie-gpu", b->device);
        import_graph_link(&import->graph, 0, gpus[i], import_graph_end(cpu, b->cpu[i]), how);
    }
    add_xgmi(b, gpus);
    find_disabled(b);
    import_graph_find(&import->graph, "no NIC in the tables: scale-out is unknown");
    return true;
}
