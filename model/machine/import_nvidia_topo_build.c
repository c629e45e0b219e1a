// The machine that a matrix stands for.
//
// NVLinks: when the links of a GPU to all its peers add up to more than it has, they end at
// switches, whose number and wiring are those of the device's machine; else each pair is joined by
// its own. PCIe: what is PIX or PXB to each other hangs below one switch; what is PIX to PHB to
// NODE, or has the same NUMA affinity, below one CPU. NICs that are PIX to each other by the dozen
// are functions of one card.
//
// Invariant: every GPU of the matrix becomes one GPU, in order.
#include "model/machine/import_nvidia_topo.h"

#include <stdio.h>
#include <string.h>

#include "model/base/text.h"

#define FUNCTIONS_MIN 6 // NICs of one card: two ports are common, four exist

typedef struct Build {
    Import *import;
    const ImportMatrix *m;
    const Device *devices[IMPORT_TOPO_NAMES_MAX]; // of GPUs; NULL when unknown
    bool is_assumed;                              // a signature, not a name, gave the device
    uint32_t root[IMPORT_TOPO_NAMES_MAX];
    uint32_t group[IMPORT_TOPO_NAMES_MAX]; // PCIe switch, IMPORT_NONE for none
    uint32_t cpu[IMPORT_TOPO_NAMES_MAX];
    bool is_left_out[IMPORT_TOPO_NAMES_MAX]; // a NIC that is another function of a card
    ImportEnd ends[IMPORT_TOPO_NAMES_MAX];
    uint32_t island[IMPORT_TOPO_NAMES_MAX], island_count;
} Build;

static ImportCell worse(const Build *b, uint32_t i, uint32_t k) {
    return import_nvidia_topo_worse(b->m, i, k);
}

// ---- Union of what is near

static uint32_t root_of(Build *b, uint32_t i) {
    while (b->root[i] != i) i = b->root[i] = b->root[b->root[i]];
    return i;
}

static void unite(Build *b, uint32_t i, uint32_t k) {
    uint32_t x = root_of(b, i), y = root_of(b, k);
    if (x < y)
        b->root[y] = x;
    else
        b->root[x] = y;
}

static void unite_up_to(Build *b, ImportCellKind farthest) {
    for (uint32_t i = 0; i < b->m->count; i++) b->root[i] = i;
    for (uint32_t i = 0; i < b->m->count; i++) {
        for (uint32_t k = i + 1; k < b->m->count; k++) {
            ImportCellKind kind = worse(b, i, k).kind;
            if (kind >= IMPORT_CELL_PIX && kind <= farthest) unite(b, i, k);
        }
    }
}

// Numbers the sets in the order of their first members.
static uint32_t number_sets(Build *b, uint32_t *out) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < b->m->count; i++) {
        uint32_t root = root_of(b, i);
        out[i] = root == i ? count++ : out[root];
    }
    return count;
}

// GPUs by distance and NUMA affinity.
static void unite_gpus(Build *b) {
    const ImportMatrix *m = b->m;
    for (uint32_t i = 0; i < m->count; i++) b->root[i] = i;
    for (uint32_t i = 0; i < m->gpus; i++) {
        for (uint32_t k = i + 1; k < m->gpus; k++) {
            ImportCellKind kind = worse(b, i, k).kind;
            const char *a = m->numa[i], *c = m->numa[k];
            if (*a == '\0' && *c == '\0') a = m->cpus[i], c = m->cpus[k];
            // two GPUs of which nothing is known, joined by NVLinks, are taken for neighbours
            bool is_unknown = *a == '\0' && *c == '\0' && kind == IMPORT_CELL_NV;
            bool is_near = kind >= IMPORT_CELL_PIX && kind <= IMPORT_CELL_NODE;
            if (is_near || is_unknown || (*a != '\0' && strcmp(a, c) == 0)) unite(b, i, k);
        }
    }
}

// A NIC goes to the CPU of its nearest GPU, which may be no nearer than others (on Grace all are
// NODE), so that it never joins two CPUs; without a near GPU, to that of a NIC near it.
static void place_nic(Build *b, uint32_t nic) {
    ImportCellKind best = IMPORT_CELL_SYS;
    uint32_t to = nic;
    for (uint32_t i = 0; i < nic; i++) {
        ImportCellKind kind = worse(b, nic, i).kind;
        bool is_late = i >= b->m->gpus && to < b->m->gpus;
        if (kind < IMPORT_CELL_PIX || kind >= best || is_late) continue;
        best = kind;
        to = i;
    }
    if (to != nic) b->root[nic] = root_of(b, to);
}

static uint32_t find_cpus(Build *b) {
    unite_gpus(b);
    for (uint32_t nic = b->m->gpus; nic < b->m->count; nic++) place_nic(b, nic);
    return number_sets(b, b->cpu);
}

static void leave_out_functions(Build *b) {
    const ImportMatrix *m = b->m;
    unite_up_to(b, IMPORT_CELL_PIX);
    for (uint32_t root = m->gpus; root < m->count; root++) {
        uint32_t count = 0, keep = root, kept = 0;
        if (root_of(b, root) != root) continue;
        for (uint32_t i = root; i < m->count; i++) {
            if (root_of(b, i) != root) continue;
            count++;
            if (strstr(m->devices[i], "bond") != NULL) keep = i;
        }
        if (count < FUNCTIONS_MIN) continue;
        for (uint32_t i = root; i < m->count; i++) {
            if (root_of(b, i) == root && i != keep) b->is_left_out[i] = true;
        }
        kept = keep - m->gpus;
        import_graph_find(&b->import->graph,
                          "%u NICs are PIX to each other: taken as functions of one card, %s",
                          count, m->names[m->gpus + kept]);
    }
}

static void find_groups(Build *b) {
    uint32_t set[IMPORT_TOPO_NAMES_MAX], members[IMPORT_TOPO_NAMES_MAX] = {0};
    uint32_t number[IMPORT_TOPO_NAMES_MAX], count = 0;
    bool has_gpu[IMPORT_TOPO_NAMES_MAX] = {false};
    unite_up_to(b, IMPORT_CELL_PXB);
    uint32_t sets = number_sets(b, set);
    for (uint32_t i = 0; i < b->m->count; i++) {
        members[set[i]] += !b->is_left_out[i];
        if (i < b->m->gpus) has_gpu[set[i]] = true;
    }
    for (uint32_t s = 0; s < sets; s++)
        number[s] = has_gpu[s] && members[s] > 1 ? count++ : IMPORT_NONE;
    for (uint32_t i = 0; i < b->m->count; i++) b->group[i] = number[set[i]];
}

// ---- Devices

static uint32_t links_of(const Build *b, uint32_t gpu) {
    uint32_t most = 0;
    for (uint32_t k = 0; k < b->m->gpus; k++) {
        ImportCell cell = worse(b, gpu, k);
        if (k != gpu && cell.kind == IMPORT_CELL_NV && cell.links > most) most = cell.links;
    }
    return most;
}

// Links to all peers, where one direction says so.
static uint32_t sum_of(const Build *b, uint32_t gpu) {
    uint32_t sum = 0;
    for (uint32_t k = 0; k < b->m->gpus; k++) {
        ImportCell there = import_nvidia_topo_cell(b->m, gpu, k);
        ImportCell back = import_nvidia_topo_cell(b->m, k, gpu);
        sum += k == gpu ? 0 : there.links > back.links ? there.links : back.links;
    }
    return sum;
}

static bool is_complete(const Build *b, uint32_t island) {
    for (uint32_t i = 0; i < b->m->gpus; i++) {
        for (uint32_t k = 0; k < i; k++) {
            if (b->island[i] == island && b->island[k] == island &&
                worse(b, i, k).kind != IMPORT_CELL_NV)
                return false;
        }
    }
    return true;
}

static uint32_t island_size(const Build *b, uint32_t island) {
    uint32_t size = 0;
    for (uint32_t i = 0; i < b->m->gpus; i++) size += b->island[i] == island;
    return size;
}

static uint32_t first_of(const Build *b, uint32_t island) {
    for (uint32_t i = 0; i < b->m->gpus; i++) {
        if (b->island[i] == island) return i;
    }
    return 0;
}

static bool has_switches(const Build *b, uint32_t island) {
    uint32_t first = first_of(b, island);
    const Device *device = b->devices[first];
    bool has_planes = device != NULL &&
                      import_fact_find(b->import->facts, IMPORT_TABLE_PLANES, device->name) != NULL;
    uint32_t most = device != NULL && device->scale_up_links > 0 ? device->scale_up_links : 18;
    if (!is_complete(b, island)) return false;
    if (island_size(b, island) == 2)
        return has_planes && links_of(b, first) == device->scale_up_links && !b->is_assumed;
    return sum_of(b, first) > most;
}

// What a GPU is by the way it is joined to others.
static const ImportFact *guess(Build *b) {
    const ImportMatrix *m = b->m;
    bool is_grace = false;
    if (b->island_count == 0) return NULL;
    uint32_t first = first_of(b, 0), size = island_size(b, 0);
    for (uint32_t i = 0; i < m->gpus; i++) is_grace |= m->gpu_numa[i][0] != '\0';
    bool is_switch = size > 2 && has_switches(b, 0);
    uint32_t links = is_switch || size == 2 ? links_of(b, first) : sum_of(b, first);
    const char *key = arena_printf(&b->import->arena, "%s %u%s",
                                   is_switch   ? "switch"
                                   : size == 2 ? "pair"
                                               : "mesh",
                                   links, is_switch && is_grace ? " grace" : "");
    return import_fact_find(b->import->facts, IMPORT_TABLE_SIGNATURE, key);
}

static void find_devices(Build *b) {
    const ImportMatrix *m = b->m;
    uint32_t named = 0;
    for (uint32_t i = 0; i < m->gpus; i++) {
        if (m->devices[i][0] == '\0') continue;
        named++;
        bool is_again = i > 0 && strcmp(m->devices[i], m->devices[i - 1]) == 0;
        b->devices[i] = is_again ? b->devices[i - 1] : import_node_named(b->import, m->devices[i]);
    }
    if (named > 0) return;
    const ImportFact *fact = guess(b);
    b->is_assumed = true;
    for (uint32_t i = 0; i < m->gpus && fact != NULL; i++)
        b->devices[i] = import_node_device(b->import, fact->device);
    import_graph_find(
        &b->import->graph,
        "the matrix does not name its GPUs: %s%s%s. The lines of nvidia-smi -L in the "
        "same file name them",
        fact == NULL ? "no device is given to them" : "by their NVLinks they are assumed to be ",
        fact == NULL ? "" : fact->device, fact == NULL ? "" : fact->remark);
}

// ---- Parts and links

static void add_gpus(Build *b) {
    for (uint32_t i = 0; i < b->m->gpus; i++) {
        const Device *device = b->devices[i];
        b->ends[i] = import_node_gpu(b->import, 0, device == NULL ? "" : device->name);
    }
}

static void add_switches(Build *b, uint32_t island) {
    ImportEnd gpus[IMPORT_TOPO_NAMES_MAX];
    uint32_t links[IMPORT_TOPO_NAMES_MAX], count = 0;
    for (uint32_t i = 0; i < b->m->gpus; i++) {
        if (b->island[i] != island) continue;
        gpus[count] = b->ends[i];
        links[count++] = links_of(b, i);
    }
    import_node_planes(b->import, 0, gpus, links, count, b->devices[first_of(b, island)]);
}

static void add_mesh(Build *b, uint32_t island) {
    for (uint32_t i = 0; i < b->m->gpus; i++) {
        for (uint32_t k = i + 1; k < b->m->gpus; k++) {
            ImportCell cell = worse(b, i, k);
            if (b->island[i] != island || cell.kind != IMPORT_CELL_NV) continue;
            LinkRule how = import_node_nvlink(b->import, "nvlink", b->devices[i]);
            how.cables = cell.links;
            import_graph_link(&b->import->graph, 0, b->ends[i], b->ends[k], how);
        }
    }
}

// The NIC or GPU, and the switch above it, to a CPU.
static void add_pcie(Build *b, uint32_t i) {
    static const char *const keys[] = {"pcie-gpu", "pcie-nic"};
    const ImportMatrix *m = b->m;
    ImportGraph *graph = &b->import->graph;
    bool is_nic = i >= m->gpus;
    const Device *gpu = b->devices[is_nic ? 0 : i];
    LinkRule how = import_node_pcie(b->import, keys[is_nic], gpu);
    if (is_nic) how.link_class = LINK_PCIE;
    if (is_nic && gpu != NULL && strcmp(gpu->host, "C2C") == 0)
        how = import_fact_link(b->import->facts, LINK_PCIE, keys[is_nic]);
    uint32_t cpus =
        import_graph_part(graph, 0, (Part){.name = "cpu", .kind = PART_CPU, .device = ""});
    ImportEnd cpu = import_graph_end(cpus, b->cpu[i]);
    if (b->group[i] == IMPORT_NONE) {
        import_graph_link(graph, 0, b->ends[i], cpu, how);
        return;
    }
    uint32_t part =
        import_graph_part(graph, 0, (Part){.name = "pcie", .kind = PART_PCIE_SWITCH, .device = ""});
    ImportEnd pcie = import_graph_end(part, b->group[i]);
    if (import_graph_count(graph, 0, part) == b->group[i]) {
        import_graph_copy(graph, 0, part);
        import_graph_link(graph, 0, pcie, cpu, import_node_pcie(b->import, "pcie-switch", gpu));
    }
    import_graph_link(graph, 0, b->ends[i], pcie, how);
}

// ---- Findings

static void find_asymmetry(const Build *b) {
    const ImportMatrix *m = b->m;
    for (uint32_t i = 0; i < m->count; i++) {
        for (uint32_t k = i + 1; k < m->count; k++) {
            ImportCell there = import_nvidia_topo_cell(m, i, k);
            ImportCell back = import_nvidia_topo_cell(m, k, i);
            if (import_nvidia_topo_same(there, back)) continue;
            char links[2][12] = {"", ""};
            if (there.links > 0) snprintf(links[0], sizeof links[0], "%u", there.links);
            if (back.links > 0) snprintf(links[1], sizeof links[1], "%u", back.links);
            import_graph_find(&b->import->graph,
                              "asymmetric: row %s says %s%s of %s, which says %s%s; the worse is "
                              "taken",
                              m->names[i], import_nvidia_topo_cells[there.kind], links[0],
                              m->names[k], import_nvidia_topo_cells[back.kind], links[1]);
        }
    }
}

static void find_degraded(const Build *b) {
    const ImportMatrix *m = b->m;
    uint32_t most = 0;
    bool all_pairs = b->island_count > 0;
    for (uint32_t i = 0; i < m->gpus; i++) most = links_of(b, i) > most ? links_of(b, i) : most;
    for (uint32_t s = 0; s < b->island_count; s++) all_pairs &= island_size(b, s) == 2;
    for (uint32_t s = 0; s < b->island_count; s++) {
        if (!all_pairs && !has_switches(b, s)) continue;
        for (uint32_t i = 0; i < m->gpus; i++) {
            uint32_t links = links_of(b, i);
            if (b->island[i] == s && links < most)
                import_graph_find(&b->import->graph,
                                  "degraded: %s has %u NVLinks where others have %u", m->names[i],
                                  links, most);
        }
    }
    for (uint32_t i = 0; i < m->gpus && b->island_count > 0; i++) {
        if (b->island[i] == IMPORT_NONE)
            import_graph_find(&b->import->graph, "%s has no NVLink, others have", m->names[i]);
    }
}

static void find_domain(const Build *b) {
    const ImportMatrix *m = b->m;
    if (b->island_count == 0 && m->gpus > 1) {
        import_graph_find(&b->import->graph,
                          "no NVLink between any GPUs: all traffic goes over PCIe. For modules "
                          "with NVLinks look at the fabric manager, the IOMMU and vGPU");
        return;
    }
    for (uint32_t s = 0; s < b->island_count; s++) {
        uint32_t size = island_size(b, s);
        if (has_switches(b, s) && size < 8)
            import_graph_find(&b->import->graph,
                              "%u GPUs with all their NVLinks at switches: the NVLink domain is "
                              "larger than what is visible here (a container, a tray of a rack)",
                              size);
    }
}

// Same nearest NICs as an earlier GPU.
static uint32_t find_sharer(const ImportMatrix *m, uint32_t gpu) {
    uint32_t mine[IMPORT_TOPO_NAMES_MAX], other[IMPORT_TOPO_NAMES_MAX], count, other_count;
    ImportCellKind kind = import_nvidia_topo_nearest(m, gpu, mine, &count);
    for (uint32_t k = 0; k < gpu; k++) {
        if (import_nvidia_topo_nearest(m, k, other, &other_count) != kind || other_count != count)
            continue;
        if (memcmp(mine, other, count * sizeof *mine) == 0) return k;
    }
    return IMPORT_NONE;
}

// GPUs without a near NIC, GPUs that share one, and ties.
static void find_nics(Build *b) {
    const ImportMatrix *m = b->m;
    uint32_t far[IMPORT_TOPO_NAMES_MAX], far_count = 0, tied[IMPORT_TOPO_NAMES_MAX], tied_count = 0;
    uint32_t shared[IMPORT_TOPO_NAMES_MAX], shared_count = 0;
    if (m->nics == 0) {
        import_graph_find(&b->import->graph, "no NIC in the matrix: scale-out is unknown");
        return;
    }
    for (uint32_t i = 0; i < m->gpus; i++) {
        uint32_t nics[IMPORT_TOPO_NAMES_MAX], count;
        ImportCellKind kind = import_nvidia_topo_nearest(m, i, nics, &count);
        if (kind > IMPORT_CELL_PHB)
            far[far_count++] = i;
        else if (count > 1)
            tied[tied_count++] = i;
        if (kind <= IMPORT_CELL_PHB && find_sharer(m, i) != IMPORT_NONE) shared[shared_count++] = i;
    }
    if (far_count > 0)
        import_graph_find(&b->import->graph,
                          "GPUs %s have no NIC nearer than NODE: their traffic crosses CPUs or "
                          "the NVLinks of a neighbour",
                          import_node_list(b->import, far, far_count));
    if (tied_count > 0)
        import_graph_find(&b->import->graph, "tied: GPUs %s have several NICs at one distance",
                          import_node_list(b->import, tied, tied_count));
    if (shared_count > 0)
        import_graph_find(&b->import->graph,
                          "shared: the nearest NICs of GPUs %s are those of another GPU",
                          import_node_list(b->import, shared, shared_count));
    import_graph_find(&b->import->graph,
                      "the matrix gives no rate of a NIC and no network behind it");
}

static void find_unknown(const Build *b) {
    const ImportMatrix *m = b->m;
    bool has_range = false;
    for (uint32_t i = 0; i < m->gpus; i++)
        has_range |= strpbrk(m->numa[i], "-,") != NULL && m->numa[i][0] >= '0';
    if (has_range)
        import_graph_find(&b->import->graph,
                          "a GPU is near several NUMA nodes: in a virtual machine distances over "
                          "PCIe are those of the hypervisor");
    import_graph_find(&b->import->graph, "generation and width of PCIe are assumed%s",
                      b->devices[0] == NULL ? "" : " from the device");
}

bool import_nvidia_topo_build(Import *import, const ImportMatrix *matrix, Err *err) {
    Build *b = arena_alloc(&import->arena, 1, sizeof *b);
    b->import = import;
    b->m = matrix;
    if (matrix->gpus == 0) return import_node_error(import, 0, err, "expected a column GPU0");
    b->island_count = import_nvidia_topo_islands(matrix, b->island);
    find_devices(b);
    leave_out_functions(b);
    find_groups(b);
    uint32_t cpus = find_cpus(b);
    add_gpus(b);
    for (uint32_t s = 0; s < b->island_count; s++) {
        if (has_switches(b, s))
            add_switches(b, s);
        else
            add_mesh(b, s);
    }
    for (uint32_t i = matrix->gpus; i < matrix->count; i++) {
        if (!b->is_left_out[i]) b->ends[i] = import_node_add(import, 0, PART_NIC, "nic", "");
    }
    bool is_grace = b->devices[0] != NULL && strcmp(b->devices[0]->host, "C2C") == 0;
    import_node_cpus(import, 0, cpus, is_grace ? "grace" : "");
    for (uint32_t i = 0; i < matrix->count; i++) {
        if (!b->is_left_out[i]) add_pcie(b, i);
    }
    find_asymmetry(b);
    find_degraded(b);
    find_domain(b);
    find_nics(b);
    find_unknown(b);
    return true;
}
