// Shipped nodes and racks under a rail-optimised fat tree: NIC r of every node of a unit on leaf r
// of that unit, as many cables up as down at each switch (at a leaf one up for R down where the
// line asks for it), spread evenly.
//
// A leaf of U cables up reaches S spines, S a divisor of U, with U / S cables each: the fewest for
// which a spine has ports enough. Where even U spines have too few, the units get spines of their
// own, of which half of the ports lead up, and spine s of every unit reaches the cores of group s.
// This gives the counts of every row of the reference architectures (test_reference_systems.c).
//
// Source: NVIDIA DGX SuperPOD reference architectures H100, B200, B300 (Spectrum-X and XDR), GB200
// and Rubin, tables of switches and cables.
//
// Invariant: no switch has more cables than ports; between leaves and cores no tier has fewer up
// than down.
#include "model/machine/topology_synth.h"

#include <string.h>

#include "model/base/file.h"
#include "model/base/wide.h"
#include "model/machine/topology_device.h"

// Figures of a hop, as in the shipped files: 250 ns for an InfiniBand switch (vendor and
// third-party figures of 150 to 330 ns), 600 ns for an Ethernet switch (400 to 800 ns), half on
// each side.
#define IB_HOP_PS  INT64_C(250000)
#define ETH_HOP_PS INT64_C(600000)
#define NOTE                                                                                       \
    "Latencies are hardware alone and a budget, not a measurement: 0.5 us for an NVLink path "     \
    "through its switch, 0.25 us per InfiniBand and 0.6 us per Ethernet switch, 0.6 us for NIC "   \
    "and PCIe on each side. Software overhead is calibrated elsewhere."

#define SPOD "NVIDIA DGX SuperPOD reference architecture, "

// Where the leaves stand: LEAVES_NODES in a unit with `nodes` copies of the file's machine;
// LEAVES_RACK beside the trays of the file's machine; LEAVES_FILE there already.
typedef enum Leaves { LEAVES_NODES, LEAVES_RACK, LEAVES_FILE } Leaves;

// SIZE_UNITS: the line counts units; SIZE_RACKS racks; SIZE_NODES nodes, made into equal units.
typedef enum Size { SIZE_UNITS, SIZE_RACKS, SIZE_NODES } Size;

typedef struct Design {
    const char *name, *file, *source;
    const char *lone; // file of one rack or node, which has no network; NULL for a file of units
    Size size;
    Leaves leaves;
    uint32_t nodes;  // with a NIC on each leaf: nodes of a unit, trays of a rack
    uint32_t rails;  // leaves of a plane of a unit or rack
    uint32_t planes; // separate networks, a port of every NIC in each
    const char *device;
    uint32_t ports; // of the switch
    uint64_t port_Bps;
    LinkClass link_class;
    char confidence;     // of a cable of a NIC
    uint64_t nic_Bps;    // what the NICs of the file reach
    const char *nic;     // device of the NICs, NULL for the one of the file
    const char *nics;    // pattern of the NICs, rail r
    const char *leaf;    // pattern of all leaves
    uint32_t group_most; // racks of a unit where there are three tiers
} Design;

#define NDR .device = "QM9700", .ports = 64, .port_Bps = UINT64_C(50000000000)  // 64 x 400 Gbit/s
#define XDR .device = "Q3400", .ports = 144, .port_Bps = UINT64_C(100000000000) // 144 x 800 Gbit/s
#define HDR .device = "QM8700", .ports = 40, .port_Bps = UINT64_C(25000000000)  // 40 x 200 Gbit/s
#define ETH400                                                                                     \
    .device = "Spectrum-4 400G", .ports = 128, .port_Bps = UINT64_C(50000000000),                  \
    .link_class = LINK_ETH // 128 x 400 Gbit/s
#define RAILS                                                                                      \
    .leaves = LEAVES_NODES, .rails = 8, .planes = 1, .nics = "node[*].nic[r]",                     \
    .leaf = "unit[*].leaf[*]"
#define NODES(count) RAILS, .nodes = (count), .link_class = LINK_IB, .confidence = 'A'
#define RACKS(count)                                                                               \
    .size = SIZE_RACKS, .leaves = LEAVES_RACK, .nodes = 18, .rails = (count), .planes = 1,         \
    .link_class = LINK_IB, .confidence = 'C', .nics = "tray[*].nic[r]", .leaf = "rack[*].leaf[*]", \
    .nic_Bps = UINT64_C(100000000000), .group_most = 8
#define COPIES(which)                                                                              \
    .name = (which), .file = "topologies/" which ".json", .lone = "topologies/" which ".json",     \
    .size = SIZE_NODES, .confidence = 'C', RAILS
#define NIC(gigabytes) .nic_Bps = UINT64_C(gigabytes##000000000)
#define DERIVED        "derived: a rail of each NIC of a node, one port of "

static const Design designs[] = {
    {.name = "superpod-h100", // 4 units of 32 nodes
     .file = "topologies/hgx-h100.json",
     .source = SPOD "H100",
     NODES(32),
     NIC(50),
     NDR},
    {.name = "superpod-b200", // 2 to 64 units of 32 nodes
     .file = "topologies/hgx-b200.json",
     .source = SPOD "B200",
     NODES(32),
     NIC(50),
     NDR},
    {.name = "superpod-b300", // 1 to 16 units of 64 nodes, two planes of 400 Gbit/s
     .file = "topologies/hgx-b300.json",
     .source = SPOD "B300 with Spectrum-X",
     .leaves = LEAVES_NODES,
     .nodes = 64,
     .rails = 8,
     .planes = 2,
     .device = "Spectrum-4 400G",
     .ports = 128,
     .port_Bps = UINT64_C(50000000000),
     .link_class = LINK_ETH,
     .confidence = 'A',
     .nic = "ConnectX-8 2x400G",
     .nics = "node[*].nic[r]",
     .leaf = "unit[*].plane[p].leaf[*]"},
    {.name = "superpod-b300-xdr", // 1 to 18 units of 72 nodes
     .file = "topologies/hgx-b300.json",
     .source = SPOD "B300 with XDR",
     NODES(72),
     NIC(100),
     XDR},
    {.name = "superpod-rubin", // units of 72 nodes
     .file = "topologies/hgx-rubin.json",
     .source = SPOD "Rubin NVL8",
     NODES(72),
     NIC(100),
     XDR},
    {.name = "nvl72", // 8 racks are a unit; 4 NICs of 400 Gbit/s in each of 18 trays
     .file = "topologies/nvl72-cluster.json",
     .lone = "topologies/nvl72.json",
     .source = SPOD "GB200",
     .size = SIZE_RACKS,
     .leaves = LEAVES_FILE,
     .nodes = 18,
     .rails = 4,
     .planes = 1,
     .link_class = LINK_IB,
     .confidence = 'C',
     NIC(50),
     .leaf = "rack[*].rails[*].leaf[*]",
     .group_most = 8,
     NDR},
    {.name = "gb300-nvl72", // 4 NICs of 800 Gbit/s a tray
     .file = "topologies/gb300-nvl72.json",
     .lone = "topologies/gb300-nvl72.json",
     .source = SPOD "GB200; switches of 800 Gbit/s are derived",
     RACKS(4),
     XDR},
    {.name = "vr-nvl72", // 8 NICs of 800 Gbit/s a tray, two for a GPU
     .file = "topologies/vr-nvl72.json",
     .lone = "topologies/vr-nvl72.json",
     .source = SPOD "GB200; eight rails of 800 Gbit/s are derived",
     RACKS(8),
     XDR},
    {COPIES("hgx-a100"), .source = DERIVED "200 Gbit/s (NVIDIA DGX A100 data sheet)", NIC(25), HDR,
     .link_class = LINK_IB},
    {COPIES("hgx-h100"), .source = DERIVED "400 Gbit/s (NVIDIA DGX H100 data sheet)", NIC(50), NDR,
     .link_class = LINK_IB},
    {COPIES("hgx-h200"), .source = DERIVED "400 Gbit/s (NVIDIA DGX H200 data sheet)", NIC(50), NDR,
     .link_class = LINK_IB},
    {COPIES("hgx-h20"), .source = DERIVED "400 Gbit/s, as a DGX H100", NIC(50), NDR,
     .link_class = LINK_IB},
    {COPIES("hgx-h800"), .source = DERIVED "400 Gbit/s (arXiv 2505.09343)", NIC(50), NDR,
     .link_class = LINK_IB},
    {COPIES("hgx-b200"), .source = DERIVED "400 Gbit/s (NVIDIA DGX B200 data sheet)", NIC(50), NDR,
     .link_class = LINK_IB},
    {COPIES("hgx-b300"), .source = DERIVED "800 Gbit/s (NVIDIA DGX B300 data sheet)", NIC(100), XDR,
     .link_class = LINK_IB},
    {COPIES("hgx-rubin"), .source = DERIVED "800 Gbit/s (NVIDIA announcement, 2026)", NIC(100), XDR,
     .link_class = LINK_IB},
    {COPIES("mi300x"), .source = DERIVED "400 Gbit/s (AMD Instinct MI300X platform)", NIC(50),
     ETH400},
    {COPIES("mi325x"), .source = DERIVED "400 Gbit/s (AMD Instinct MI325X platform)", NIC(50),
     ETH400},
    {COPIES("mi355x"), .source = DERIVED "400 Gbit/s (AMD Instinct MI355X platform)", NIC(50),
     ETH400},
};
#define DESIGN_COUNT (sizeof designs / sizeof designs[0])

// The counts of a tree. `unit` is what the leaves of a design stand in, or with three tiers of
// racks a group of those.
typedef struct Tree {
    const Design *design;
    uint32_t nodes;         // with a NIC on each leaf
    uint32_t up;            // cables up of a leaf
    uint32_t bases;         // copies of what holds leaves
    uint32_t bases_of_unit; // 1, or racks of a unit
    uint32_t spines;        // of a plane; with three tiers of a plane of a unit
    uint32_t cores;         // of a group; 0 with two tiers
    uint32_t spine_up;      // cables up of a spine
} Tree;

// The smallest divisor of `number` that is at least `least`; 0 when there is none.
static uint32_t divisor_from(uint32_t number, uint32_t least) {
    for (uint32_t i = least; i <= number; i++)
        if (number % i == 0) return i;
    return 0;
}

static uint32_t divisor_to(uint32_t number, uint32_t most) {
    while (number % most != 0) most--;
    return most;
}

// Every generator that calls topology_synth_rails has a design of its name.
static const Design *find_design(const char *name) {
    uint32_t i = 0;
    while (i + 1 < DESIGN_COUNT && strcmp(designs[i].name, name) != 0) i++;
    return &designs[i];
}

// Units with spines of their own, and cores above them.
static bool size_three_tiers(const SynthSpec *spec, Tree *tree, Err *err) {
    const Design *design = tree->design;
    if (design->leaves != LEAVES_NODES)
        tree->bases_of_unit = divisor_to(tree->bases, design->group_most);
    uint32_t leaves = design->rails * tree->bases_of_unit,
             units = tree->bases / tree->bases_of_unit;
    tree->spines = divisor_from(
        tree->up, (uint32_t)wide_div_up_u64((uint64_t)leaves * tree->up, design->ports / 2));
    if (tree->spines == 0)
        return topology_synth_fail(spec, SYNTH_KEY_NODES, err,
                                   "%u spines of a unit would have %u cables down and as many up, "
                                   "%s has %u ports",
                                   tree->up, leaves, design->device, design->ports);
    tree->spine_up = leaves * tree->up / tree->spines;
    tree->cores = divisor_from(
        tree->spine_up, (uint32_t)wide_div_up_u64((uint64_t)units * tree->spine_up, design->ports));
    return tree->cores != 0 ||
           topology_synth_fail(spec, SYNTH_KEY_SIZE, err,
                               "a core switch would have a cable from each of %u units, %s has %u "
                               "ports",
                               units, design->device, design->ports);
}

static bool size_tree(const SynthSpec *spec, const Design *design, uint32_t bases, Tree *out,
                      Err *err) {
    *out = (Tree){.design = design, .bases = bases, .bases_of_unit = 1};
    out->nodes = (uint32_t)topology_synth_number(spec, SYNTH_KEY_NODES, design->nodes);
    uint32_t down = (uint32_t)topology_synth_number(spec, SYNTH_KEY_OVERSUBSCRIPTION, 1);
    if (out->nodes % down != 0)
        return topology_synth_fail(spec, SYNTH_KEY_OVERSUBSCRIPTION, err,
                                   "a leaf has %u cables down, expected a divisor of them",
                                   out->nodes);
    out->up = out->nodes / down;
    if (out->nodes + out->up > design->ports)
        return topology_synth_fail(spec, SYNTH_KEY_NODES, err,
                                   "a leaf would have %u cables down and %u up, %s has %u ports",
                                   out->nodes, out->up, design->device, design->ports);
    uint64_t cables = (uint64_t)design->rails * bases * out->up;
    out->spines = divisor_from(out->up, (uint32_t)wide_div_up_u64(cables, design->ports));
    return out->spines != 0 || size_three_tiers(spec, out, err);
}

// Makes `count` nodes units of equal size, the largest whose leaves have ports enough; units of
// less than half of that would leave most of every leaf unused.
static bool split_nodes(const SynthSpec *spec, Design *design, uint32_t count, uint32_t *out_units,
                        Err *err) {
    uint64_t down = topology_synth_number(spec, SYNTH_KEY_OVERSUBSCRIPTION, 1);
    uint64_t most = design->ports * down / (down + 1) / down * down, nodes = most;
    if (most == 0)
        return topology_synth_fail(spec, SYNTH_KEY_OVERSUBSCRIPTION, err,
                                   "expected fewer than the %u ports of %s", design->ports,
                                   design->device);
    while (nodes > 0 && count % nodes != 0) nodes -= down;
    if (nodes == 0 || (nodes < count && 2 * nodes < most))
        return topology_synth_fail(spec, SYNTH_KEY_SIZE, err,
                                   "%u copies make no equal groups of at most %u, in steps of %u, "
                                   "for %s with %u ports",
                                   count, (uint32_t)most, (uint32_t)down, design->device,
                                   design->ports);
    design->nodes = (uint32_t)nodes;
    *out_units = count / (uint32_t)nodes;
    return true;
}

// ---- The network that a line asks for

// In order of rate: the first that reaches a rate serves it.
typedef struct Network {
    LinkClass link_class;
    uint64_t port_Bps;
    const char *device; // the switch
    uint32_t ports;
    const char *nic; // that reaches it
} Network;

static const Network networks[] = {
    {LINK_IB, UINT64_C(25000000000), "QM8700", 40, "ConnectX-6"},
    {LINK_IB, UINT64_C(50000000000), "QM9700", 64, "ConnectX-7"},
    {LINK_IB, UINT64_C(100000000000), "Q3400", 144, "ConnectX-8"},
    {LINK_ETH, UINT64_C(50000000000), "Spectrum-4 400G", 128, "ConnectX-7"},
    {LINK_ETH, UINT64_C(100000000000), "Spectrum-4", 64, "ConnectX-8"},
};
#define NETWORK_COUNT (sizeof networks / sizeof networks[0])
#define ASKED         "class and rate of the network as the line asks for; data sheet of the switch"

static bool is_asked(const SynthSpec *spec) {
    return spec->values[SYNTH_KEY_IB].text != NULL || spec->values[SYNTH_KEY_ETH].text != NULL;
}

// Changes the design to the network of the line, if it has one.
static bool ask_network(const SynthSpec *spec, Design *design, Err *err) {
    bool has_ib = spec->values[SYNTH_KEY_IB].text != NULL;
    if (!is_asked(spec)) return true;
    if (has_ib && spec->values[SYNTH_KEY_ETH].text != NULL)
        return topology_synth_fail(spec, SYNTH_KEY_ETH, err, "expected ib= or eth=, not both");
    SynthKey key = has_ib ? SYNTH_KEY_IB : SYNTH_KEY_ETH;
    LinkClass link_class = has_ib ? LINK_IB : LINK_ETH;
    uint64_t rate_Bps = spec->values[key].number, most_Bps = 0;
    for (uint32_t i = 0; i < NETWORK_COUNT; i++) {
        const Network *network = &networks[i];
        if (network->link_class != link_class) continue;
        most_Bps = network->port_Bps;
        if (rate_Bps > most_Bps) continue;
        if (rate_Bps > design->nic_Bps) design->nic = network->nic;
        design->link_class = link_class;
        design->port_Bps = rate_Bps;
        design->device = network->device;
        design->ports = network->ports;
        design->source = ASKED;
        design->confidence = 'C';
        return true;
    }
    return topology_synth_fail(spec, key, err, "expected at most %u Gbit/s, the port of a switch",
                               (unsigned)(most_Bps / 125000000)); // 1 Gbit/s = 125 MB/s
}

// ---- Building

static Time hop_of(const Design *design) {
    return design->link_class == LINK_ETH ? ETH_HOP_PS : IB_HOP_PS;
}

static void add_switches(const Design *design, Template *in, const char *name, uint32_t count) {
    topology_synth_part(
        in, (Part){.name = name, .kind = PART_SWITCH, .device = design->device, .count = count});
}

// A cable of the network; between switches a whole hop long, from a NIC half a hop.
static LinkRule cable(const Design *design, const char *from, const char *to, uint32_t cables) {
    return (LinkRule){.from = from,
                      .to = to,
                      .link_class = design->link_class,
                      .cables = cables,
                      .bandwidth_Bps = design->port_Bps,
                      .latency_ps = hop_of(design),
                      .source = design->source,
                      .confidence = 'C'};
}

static LinkRule nic_cable(const Design *design, const char *from, const char *to) {
    LinkRule link = cable(design, from, to, 1);
    link.latency_ps /= 2;
    link.confidence = design->confidence;
    return link;
}

// Room for one more part and link in a template of a file.
static void widen(Topology *topology, Template *in) {
    Template old = *in;
    in->parts = arena_alloc(&topology->arena, (size_t)old.part_count + 1, sizeof *in->parts);
    in->links = arena_alloc(&topology->arena, (size_t)old.link_count + 1, sizeof *in->links);
    memcpy(in->parts, old.parts, old.part_count * sizeof *in->parts);
    if (old.link_count > 0) memcpy(in->links, old.links, old.link_count * sizeof *in->links);
}

// The template that holds leaves: a unit of nodes, or the rack.
static Template *add_base(Topology *topology, const Tree *tree) {
    const Design *design = tree->design;
    Template *machine = &topology->templates[topology->machine];
    switch (design->leaves) {
    case LEAVES_FILE: // the file's machine is a cluster of racks
        return &topology
                    ->templates[machine->parts[topology_find_part(machine, "rack")].template_id];
    case LEAVES_RACK:
        widen(topology, machine);
        add_switches(design, machine, "leaf", design->rails);
        topology_synth_link(machine, nic_cable(design, design->nics, "leaf[r]"));
        return machine;
    case LEAVES_NODES: break;
    }
    Template *unit = topology_synth_template(topology, "unit", 3, 2), *leaves = unit;
    topology_synth_group(topology, unit, "node", machine, tree->nodes);
    if (design->planes > 1) {
        leaves = topology_synth_template(topology, "plane", 2, 1);
        topology_synth_group(topology, unit, "plane", leaves, design->planes);
    }
    add_switches(design, leaves, "leaf", design->rails);
    topology_synth_link(
        unit, nic_cable(design, design->nics, design->planes > 1 ? "plane[*].leaf[r]" : "leaf[r]"));
    return unit;
}

// The whole machine. The cluster of a file that has one is emptied and takes its place.
static Template *add_whole(Topology *topology, const Tree *tree) {
    if (tree->design->leaves != LEAVES_FILE)
        return topology_synth_template(topology, "cluster", 2, 1);
    Template *whole = &topology->templates[topology->machine];
    *whole = (Template){.name = whole->name};
    whole->parts = arena_alloc(&topology->arena, 2, sizeof *whole->parts);
    whole->links = arena_alloc(&topology->arena, 1, sizeof *whole->links);
    return whole;
}

// Spines in the whole machine; their planes are templates when there are several.
static Template *add_two_tiers(Topology *topology, const Tree *tree, const Template *base) {
    const Design *design = tree->design;
    Template *whole = add_whole(topology, tree), *home = whole;
    topology_synth_group(topology, whole, design->leaves == LEAVES_NODES ? "unit" : "rack", base,
                         tree->bases);
    if (design->planes > 1) {
        home = topology_synth_template(topology, "spines", 1, 0);
        topology_synth_group(topology, whole, "spines", home, design->planes);
    }
    add_switches(design, home, "spine", tree->spines);
    topology_synth_link(whole, cable(design, design->leaf,
                                     design->planes > 1 ? "spines[p].spine[*]" : "spine[*]",
                                     tree->up / tree->spines));
    return whole;
}

// Spines inside the unit: beside its leaves, or beside its racks.
static const Template *add_spines(Topology *topology, const Tree *tree, Template *base) {
    const Design *design = tree->design;
    Template *home = base;
    const char *leaf = "leaf[*]";
    if (design->leaves != LEAVES_NODES) {
        home = topology_synth_template(topology, "unit", 2, 1);
        topology_synth_group(topology, home, "rack", base, tree->bases_of_unit);
        leaf = design->leaf;
    }
    Template *unit = home;
    if (design->planes > 1)
        home = &topology->templates[unit->parts[topology_find_part(unit, "plane")].template_id];
    add_switches(design, home, "spine", tree->spines);
    topology_synth_link(home, cable(design, leaf, "spine[*]", tree->up / tree->spines));
    return unit;
}

static Template *add_three_tiers(Topology *topology, const Tree *tree, Template *base) {
    const Design *design = tree->design;
    const Template *unit = add_spines(topology, tree, base);
    Template *whole = add_whole(topology, tree),
             *group = topology_synth_template(topology, "cores", 1, 0), *home = whole;
    topology_synth_group(topology, whole, "unit", unit, tree->bases / tree->bases_of_unit);
    add_switches(design, group, "core", tree->cores);
    if (design->planes > 1) {
        home = topology_synth_template(topology, "top", 1, 0);
        topology_synth_group(topology, whole, "top", home, design->planes);
    }
    topology_synth_group(topology, home, "cores", group, tree->spines);
    bool has_planes = design->planes > 1;
    topology_synth_link(whole,
                        cable(design, has_planes ? "unit[*].plane[p].spine[s]" : "unit[*].spine[s]",
                              has_planes ? "top[p].cores[s].core[*]" : "cores[s].core[*]",
                              tree->spine_up / tree->cores));
    return whole;
}

// Reads a shipped file and sets the devices that the line and the design name.
static bool read_shipped(const SynthSpec *spec, const char *file, Topology *out, Err *err) {
    Arena arena = {0};
    const char *path;
    bool done = file_data(file, &arena, &path, err) && topology_read(path, out, err);
    arena_free(&arena);
    if (!done) return false;
    const char *device = topology_synth_device(spec, &out->arena, NULL);
    if (device != NULL) topology_device_set_all(out, PART_GPU, device);
    return true;
}

// One rack or node, without a network.
static bool make_lone(const SynthSpec *spec, const char *file, Topology *out, Err *err) {
    static const SynthKey keys[] = {SYNTH_KEY_IB, SYNTH_KEY_ETH, SYNTH_KEY_OVERSUBSCRIPTION};
    Topology topology = {0};
    for (uint32_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (spec->values[keys[i]].text != NULL)
            return topology_synth_fail(spec, keys[i], err,
                                       "one copy has no network, expected a size of 2 or more");
    if (!read_shipped(spec, file, &topology, err)) return false;
    topology_synth_open(&topology, spec, 0);
    return topology_synth_close(&topology, &topology.templates[topology.machine], out, err);
}

// Cables from NICs to leaves that a file has already, and its leaves.
static void set_leaves(Topology *topology, const Design *design) {
    for (uint32_t i = 0; i < topology->template_count; i++) {
        Template *in = &topology->templates[i];
        uint32_t leaf = topology_find_part(in, "leaf");
        if (leaf != UINT32_MAX) in->parts[leaf].device = design->device;
        for (uint32_t k = 0; k < in->link_count; k++) {
            LinkRule *link = &in->links[k];
            if (link->link_class != LINK_IB) continue;
            *link = nic_cable(design, link->from, link->to);
        }
    }
}

// Reads the file of a design and puts its network around it.
static bool make_tree(const SynthSpec *spec, const Tree *tree, Topology *out, Err *err) {
    const Design *design = tree->design;
    Topology topology = {0};
    if (!read_shipped(spec, design->file, &topology, err)) return false;
    topology_synth_open(&topology, spec, 6);
    if (design->nic != NULL) topology_device_set_all(&topology, PART_NIC, design->nic);
    topology.source = arena_printf(&topology.arena, "%s; %s", topology.source, design->source);
    topology.note = NOTE;
    if (design->leaves == LEAVES_FILE && is_asked(spec)) set_leaves(&topology, design);
    Template *base = add_base(&topology, tree);
    const Template *whole = tree->cores == 0 ? add_two_tiers(&topology, tree, base)
                                             : add_three_tiers(&topology, tree, base);
    return topology_synth_close(&topology, whole, out, err);
}

bool topology_synth_rails(const SynthSpec *spec, Topology *out, Err *err) {
    Design design = *find_design(spec->name);
    Tree tree;
    uint32_t bases;
    if (!topology_synth_count(spec, design.size == SIZE_UNITS ? "su" : "", &bases, err))
        return false;
    if (design.lone != NULL && bases == 1) return make_lone(spec, design.lone, out, err);
    return ask_network(spec, &design, err) &&
           (design.size != SIZE_NODES || split_nodes(spec, &design, bases, &bases, err)) &&
           size_tree(spec, &design, bases, &tree, err) && make_tree(spec, &tree, out, err);
}

// ---- A shipped cluster cut to a size

#define NODES_OF_UNIT 32 // of topologies/hgx-h100-cluster.json, whose leaves have ports for no more
#define UNITS         4

static void set_counts(Topology *topology, const char *part, uint32_t count) {
    for (uint32_t i = 0; i < topology->template_count; i++) {
        uint32_t found = topology_find_part(&topology->templates[i], part);
        if (found != UINT32_MAX) topology->templates[i].parts[found].count = count;
    }
}

// N nodes become units of the largest divisor of N that is at most that of the file; with a network
// of the line's own they are joined as those of other boards.
bool topology_synth_nodes(const SynthSpec *spec, Topology *out, Err *err) {
    Topology topology = {0};
    uint32_t count;
    if (is_asked(spec) || spec->values[SYNTH_KEY_OVERSUBSCRIPTION].text != NULL)
        return topology_synth_rails(spec, out, err);
    if (!topology_synth_count(spec, "", &count, err)) return false;
    if (count == 1) return make_lone(spec, "topologies/hgx-h100.json", out, err);
    uint32_t nodes = divisor_to(count, NODES_OF_UNIT);
    if (count / nodes > UNITS)
        return topology_synth_fail(spec, SYNTH_KEY_SIZE, err,
                                   "expected at most %d copies in equal groups of at most %d, "
                                   "found %u",
                                   UNITS * NODES_OF_UNIT, NODES_OF_UNIT, count);
    if (!read_shipped(spec, "topologies/hgx-h100-cluster.json", &topology, err)) return false;
    set_counts(&topology, "unit", count / nodes);
    set_counts(&topology, "node", nodes);
    topology_synth_open(&topology, spec, 0);
    return topology_synth_close(&topology, &topology.templates[topology.machine], out, err);
}
