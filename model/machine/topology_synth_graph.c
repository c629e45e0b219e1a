// Graphs without a product behind them: ring, switch, mesh, torus, dragonfly, k-ary fat tree and
// two levels of switches. They have no figures of their own but default latencies.
//
// Sources: J. Kim, W. J. Dally, S. Scott, D. Abts, "Technology-driven, highly-scalable dragonfly
// topology", ISCA 2008 (g = a h + 1 groups, one channel between each two); its channels are
// numbered as in C. Camarero, E. Vallejo, R. Beivide, "Topological characterization of Hamming and
// dragonfly networks", ACM TACO 11(4), 2014 (palm tree); M. Al-Fares, A. Loukissas, A. Vahdat, "A
// scalable, commodity data center network architecture", SIGCOMM 2008 (k^3/4 hosts).
//
// Invariant: every pair of parts is named by one rule, once.
#include "model/machine/topology_synth.h"

#include <string.h>

// Of a link when none is given; hardware budget of the shipped machines, derived: an NVLink path
// takes about 500 ns, of which half on each side of its switch; an InfiniBand switch 250 ns.
#define NVLINK_PS      INT64_C(500000)
#define NVLINK_HALF_PS INT64_C(250000)
#define SWITCH_PS      INT64_C(250000)
#define SWITCH_HALF_PS INT64_C(125000)
#define NIC_PS         INT64_C(600000) // NIC and its PCIe
#define DEVICE         "H100 SXM"
#define TORUS_DEVICE   "TPU v5p"
#define GRAPH_GPUS_MAX 65536 // so that a ring stays below TOPOLOGY_COMBINATIONS_MAX
#define TORUS_AXES_MAX 6

static Time latency_of(const SynthSpec *spec, Time otherwise) {
    return (Time)topology_synth_number(spec, SYNTH_KEY_LATENCY, (uint64_t)otherwise);
}

// A line of the given class and latency at the rate of the spec.
static LinkRule line_of(const SynthSpec *spec, LinkClass link_class, Time latency_ps,
                        const char *from, const char *to) {
    return (LinkRule){.from = from,
                      .to = to,
                      .link_class = link_class,
                      .bandwidth_Bps = spec->values[SYNTH_KEY_BANDWIDTH].number,
                      .latency_ps = latency_of(spec, latency_ps)};
}

static void add_gpus(Topology *topology, const SynthSpec *spec, Template *in, const char *otherwise,
                     uint32_t count) {
    topology->default_device = spec->values[SYNTH_KEY_DEVICE].text == NULL;
    topology_synth_part(in,
                        (Part){.name = "gpu",
                               .kind = PART_GPU,
                               .device = topology_synth_device(spec, &topology->arena, otherwise),
                               .count = count});
}

static void add_switches(Template *in, const char *name, uint32_t count) {
    topology_synth_part(in, (Part){.name = name, .kind = PART_SWITCH, .count = count});
}

static bool read_gpus(const SynthSpec *spec, uint32_t least, uint32_t *out, Err *err) {
    if (!topology_synth_count(spec, "", out, err)) return false;
    return (*out >= least && *out <= GRAPH_GPUS_MAX) ||
           topology_synth_fail(spec, SYNTH_KEY_SIZE, err, "expected %u to %d GPUs", least,
                               GRAPH_GPUS_MAX);
}

// The one template of a graph of `count` GPUs.
static Template *open_graph(Topology *topology, const SynthSpec *spec, uint32_t count) {
    topology_synth_open(topology, spec, 1);
    Template *machine = topology_synth_template(topology, "machine", 2, 1);
    add_gpus(topology, spec, machine, DEVICE, count);
    return machine;
}

bool topology_synth_ring(const SynthSpec *spec, Topology *out, Err *err) {
    Topology topology = {0};
    uint32_t count;
    if (!read_gpus(spec, 2, &count, err)) return false;
    Template *machine = open_graph(&topology, spec, count);
    const char *next = arena_printf(&topology.arena, "gpu[(i+1)%%%u]", count);
    topology_synth_link(machine, count == 2
                                     ? line_of(spec, LINK_NVLINK, NVLINK_PS, "gpu[0]", "gpu[1]")
                                     : line_of(spec, LINK_NVLINK, NVLINK_PS, "gpu[i]", next));
    return topology_synth_close(&topology, machine, out, err);
}

bool topology_synth_switch(const SynthSpec *spec, Topology *out, Err *err) {
    Topology topology = {0};
    uint32_t count;
    if (!read_gpus(spec, 1, &count, err)) return false;
    Template *machine = open_graph(&topology, spec, count);
    add_switches(machine, "switch", 1);
    topology_synth_link(machine, line_of(spec, LINK_NVLINK, NVLINK_PS, "gpu[*]", "switch"));
    return topology_synth_close(&topology, machine, out, err);
}

bool topology_synth_mesh(const SynthSpec *spec, Topology *out, Err *err) {
    Topology topology = {0};
    uint32_t count;
    if (!read_gpus(spec, 2, &count, err)) return false;
    Template *machine = open_graph(&topology, spec, count);
    topology_synth_link(machine, line_of(spec, LINK_NVLINK, NVLINK_PS, "gpu[*]", "gpu[*]"));
    return topology_synth_close(&topology, machine, out, err);
}

// ---- Torus

// Axes from the longest to the shortest: the longest is the outermost level, so that the cut of a
// machine between the halves of that level is its bisection.
typedef struct Torus {
    uint32_t axes;
    uint32_t size[TORUS_AXES_MAX];
} Torus;

static void insert_axis(Torus *torus, uint32_t size) {
    uint32_t at = torus->axes++;
    for (; at > 0 && torus->size[at - 1] < size; at--) torus->size[at] = torus->size[at - 1];
    torus->size[at] = size;
}

static bool read_torus(const SynthSpec *spec, Torus *out, Err *err) {
    const char *text = spec->values[SYNTH_KEY_SIZE].text;
    uint64_t total = 1;
    *out = (Torus){0};
    while (*text != '\0') {
        char number[SYNTH_TEXT_MAX];
        size_t length = strcspn(text, "x");
        uint64_t size;
        memcpy(number, text, length);
        number[length] = '\0';
        if (out->axes == TORUS_AXES_MAX || !text_parse_u64(number, &size) || size < 2) break;
        total = size > GRAPH_GPUS_MAX ? size : total * size;
        if (total > GRAPH_GPUS_MAX)
            return topology_synth_fail(spec, SYNTH_KEY_SIZE, err, "expected at most %d GPUs",
                                       GRAPH_GPUS_MAX);
        insert_axis(out, (uint32_t)size);
        text += length;
        if (*text == 'x' && text[1] != '\0') text++;
    }
    return (*text == '\0' && out->axes > 0) ||
           topology_synth_fail(spec, SYNTH_KEY_SIZE, err,
                               "expected 1 to %d sizes of at least 2, such as \"4x4x4\"",
                               TORUS_AXES_MAX);
}

static const char *axis_name(const Torus *torus, uint32_t axis) {
    static const char *const names[] = {"x", "y", "z", "u", "v"};
    return axis + 1 == torus->axes ? "gpu" : names[axis];
}

// The GPUs of the template of `axis`, each level by its letter; the first index is given.
static const char *torus_end(Arena *arena, const Torus *torus, uint32_t axis, const char *first) {
    Text text = {0};
    for (uint32_t i = axis; i < torus->axes; i++) {
        text_addf(&text, "%s%s[", i == axis ? "" : ".", axis_name(torus, i));
        if (i == axis)
            text_add(&text, first);
        else
            text_add_char(&text, (char)('i' + (int)i));
        text_add(&text, "]");
    }
    const char *end = arena_string(arena, text_string(&text));
    text_free(&text);
    return end;
}

// An axis of two has one link and not two, as a ring of two.
static void link_axis(Topology *topology, const SynthSpec *spec, const Torus *torus, uint32_t axis,
                      Template *in) {
    Arena *arena = &topology->arena;
    uint32_t size = torus->size[axis];
    const char letter = (char)('i' + (int)axis);
    const char *here = size == 2 ? "0" : arena_printf(arena, "%c", letter);
    const char *next = size == 2 ? "1" : arena_printf(arena, "(%c+1)%%%u", letter, size);
    LinkRule line = line_of(spec, LINK_ICI, NVLINK_PS, torus_end(arena, torus, axis, here),
                            torus_end(arena, torus, axis, next));
    line.policy = ROUTE_DIMENSION_ORDER;
    topology_synth_link(in, line);
}

bool topology_synth_torus(const SynthSpec *spec, Topology *out, Err *err) {
    static const char *const inner_names[] = {"row", "plane", "cube", "torus4", "torus5"};
    Topology topology = {0};
    Torus torus;
    Template *in = NULL;
    if (!read_torus(spec, &torus, err)) return false;
    topology_synth_open(&topology, spec, torus.axes);
    for (uint32_t axis = torus.axes; axis-- > 0;) {
        Template *inner = in;
        const char *name = axis == 0 ? "torus" : inner_names[torus.axes - 1 - axis];
        in = topology_synth_template(&topology, name, 1, 1);
        if (inner == NULL)
            add_gpus(&topology, spec, in, TORUS_DEVICE, torus.size[axis]);
        else
            topology_synth_group(&topology, in, axis_name(&torus, axis), inner, torus.size[axis]);
        link_axis(&topology, spec, &torus, axis, in);
    }
    return topology_synth_close(&topology, in, out, err);
}

// ---- Dragonfly

typedef struct Dragonfly {
    uint32_t p, a, h, groups;
} Dragonfly;

static bool read_dragonfly(const SynthSpec *spec, Dragonfly *out, Err *err) {
    uint64_t p = spec->values[SYNTH_KEY_P].number, a = spec->values[SYNTH_KEY_A].number,
             h = spec->values[SYNTH_KEY_H].number; // each at most a million
    uint64_t ports = a * h * (a * h + 1);
    if (a * h > GRAPH_GPUS_MAX || ports > 2 * GRAPH_GPUS_MAX)
        return topology_synth_fail(spec, SYNTH_KEY_H, err,
                                   "%llu groups of %llu routers with %llu global ports each: "
                                   "expected at most %d global links",
                                   (unsigned long long)(a * h + 1), (unsigned long long)a,
                                   (unsigned long long)h, GRAPH_GPUS_MAX);
    if (p * a * (a * h + 1) > TOPOLOGY_PARTS_MAX)
        return topology_synth_fail(spec, SYNTH_KEY_P, err, "expected at most %d GPUs",
                                   TOPOLOGY_PARTS_MAX);
    *out = (Dragonfly){(uint32_t)p, (uint32_t)a, (uint32_t)h, (uint32_t)(a * h + 1)};
    return true;
}

static void add_global(const SynthSpec *spec, Template *in, const char *from, const char *to) {
    topology_synth_link(in, line_of(spec, LINK_IB, SWITCH_PS, from, to));
}

// Port n = r h + j of a group, port j of its router r, leads to group i + n + 1 (mod g), where it
// ends in port a h - 1 - n: port h - 1 - j of router a - 1 - r. Naming the ports below the middle
// names each channel once.
static void link_groups(Topology *topology, const SynthSpec *spec, const Dragonfly *fly,
                        Template *in) {
    Arena *arena = &topology->arena;
    uint32_t a = fly->a, h = fly->h, g = fly->groups, middle = a / 2;
    if (a > 1)
        add_global(spec, in, arena_printf(arena, "group[i].router[r=0-%u].port[j]", middle - 1),
                   arena_printf(arena, "group[(i+r*%u+j+1)%%%u].router[%u-r].port[%u-j]", h, g,
                                a - 1, h - 1));
    if (a % 2 == 0) return;
    if (h > 1)
        add_global(spec, in,
                   arena_printf(arena, "group[i].router[%u].port[j=0-%u]", middle, h / 2 - 1),
                   arena_printf(arena, "group[(i+j+%u)%%%u].router[%u].port[%u-j]", middle * h + 1,
                                g, middle, h - 1));
    if (h % 2 == 0) return;
    add_global(spec, in,
               arena_printf(arena, "group[i=0-%u].router[%u].port[%u]", g / 2 - 1, middle, h / 2),
               arena_printf(arena, "group[i+%u].router[%u].port[%u]", g / 2, middle, h / 2));
}

// A global port is a part of its own. It makes a global channel three links long, so that the
// shortest path crosses one channel and not two: the minimal route of the paper, local, global,
// local.
bool topology_synth_dragonfly(const SynthSpec *spec, Topology *out, Err *err) {
    Topology topology = {0};
    Dragonfly fly = {0};
    if (!read_dragonfly(spec, &fly, err)) return false;
    topology_synth_open(&topology, spec, 3);
    topology.note = "A global channel is drawn with the ports at its ends, as switches.";
    Template *router = topology_synth_template(&topology, "router", 3, 2);
    add_gpus(&topology, spec, router, DEVICE, fly.p);
    add_switches(router, "switch", 1);
    add_switches(router, "port", fly.h);
    topology_synth_link(router, line_of(spec, LINK_IB, SWITCH_HALF_PS, "gpu[*]", "switch"));
    LinkRule inside = line_of(spec, LINK_IB, 0, "port[*]", "switch");
    inside.latency_ps = 0;
    topology_synth_link(router, inside);
    Template *group = topology_synth_template(&topology, "group", 1, 1);
    topology_synth_group(&topology, group, "router", router, fly.a);
    if (fly.a > 1)
        topology_synth_link(
            group, line_of(spec, LINK_IB, SWITCH_PS, "router[*].switch", "router[*].switch"));
    Template *machine = topology_synth_template(&topology, "dragonfly", 1, 3);
    topology_synth_group(&topology, machine, "group", group, fly.groups);
    link_groups(&topology, spec, &fly, machine);
    return topology_synth_close(&topology, machine, out, err);
}

// ---- Trees of switches

// k pods of k/2 edge and k/2 aggregation switches, k/2 hosts at an edge switch, (k/2)^2 core
// switches; aggregation switch s of each pod reaches the cores of group s.
bool topology_synth_fattree(const SynthSpec *spec, Topology *out, Err *err) {
    Topology topology = {0};
    uint64_t k = spec->values[SYNTH_KEY_K].number;
    if (k < 4 || k > 128 || k % 2 != 0)
        return topology_synth_fail(spec, SYNTH_KEY_K, err, "expected an even k of 4 to 128");
    uint32_t half = (uint32_t)k / 2;
    topology_synth_open(&topology, spec, 4);
    Template *edge = topology_synth_template(&topology, "edge", 2, 1);
    add_gpus(&topology, spec, edge, DEVICE, half);
    add_switches(edge, "switch", 1);
    topology_synth_link(edge, line_of(spec, LINK_IB, SWITCH_HALF_PS, "gpu[*]", "switch"));
    Template *pod = topology_synth_template(&topology, "pod", 2, 1);
    topology_synth_group(&topology, pod, "edge", edge, half);
    add_switches(pod, "aggregation", half);
    topology_synth_link(pod, line_of(spec, LINK_IB, SWITCH_PS, "edge[*].switch", "aggregation[*]"));
    Template *cores = topology_synth_template(&topology, "cores", 1, 0);
    add_switches(cores, "core", half);
    Template *machine = topology_synth_template(&topology, "fattree", 2, 1);
    topology_synth_group(&topology, machine, "pod", pod, (uint32_t)k);
    topology_synth_group(&topology, machine, "cores", cores, half);
    topology_synth_link(
        machine, line_of(spec, LINK_IB, SWITCH_PS, "pod[*].aggregation[s]", "cores[s].core[*]"));
    return topology_synth_close(&topology, machine, out, err);
}

// Nodes of `gpus` around a switch, one NIC each; leaves of `leaf` NICs with leaf / oversubscription
// cables up, one to each spine.
typedef struct LeafSpine {
    uint32_t gpus, nodes_per_leaf, leaves, spines;
} LeafSpine;

static bool read_leafspine(const SynthSpec *spec, LeafSpine *out, Err *err) {
    uint32_t nodes = (uint32_t)spec->values[SYNTH_KEY_NODES].number,
             gpus = (uint32_t)spec->values[SYNTH_KEY_GPUS].number,
             leaf = (uint32_t)spec->values[SYNTH_KEY_LEAF].number,
             over = (uint32_t)topology_synth_number(spec, SYNTH_KEY_OVERSUBSCRIPTION, 1);
    uint64_t ports = topology_synth_number(spec, SYNTH_KEY_PORTS, UINT64_MAX);
    if ((uint64_t)nodes * gpus > TOPOLOGY_PARTS_MAX)
        return topology_synth_fail(spec, SYNTH_KEY_NODES, err, "expected at most %d GPUs",
                                   TOPOLOGY_PARTS_MAX);
    if (leaf % gpus != 0 || nodes % (leaf / gpus) != 0)
        return topology_synth_fail(spec, SYNTH_KEY_LEAF, err,
                                   "expected whole nodes of %u NICs at a leaf, and a divisor of %u "
                                   "nodes, found %u NICs",
                                   gpus, nodes, leaf);
    if (leaf % over != 0)
        return topology_synth_fail(spec, SYNTH_KEY_OVERSUBSCRIPTION, err,
                                   "expected a divisor of the %u NICs of a leaf, found %u", leaf,
                                   over);
    *out = (LeafSpine){gpus, leaf / gpus, nodes / (leaf / gpus), leaf / over};
    if ((uint64_t)leaf + out->spines > ports || out->leaves > ports)
        return topology_synth_fail(
            spec, SYNTH_KEY_PORTS, err,
            "a leaf has %u cables down and %u up, a spine %u: more than the %llu ports of a switch",
            leaf, out->spines, out->leaves, (unsigned long long)ports);
    return true;
}

static LinkRule at_rate(const SynthSpec *spec, SynthKey rate, LinkRule line) {
    line.bandwidth_Bps = spec->values[rate].number;
    return line;
}

static Template *add_node(Topology *topology, const SynthSpec *spec, const LeafSpine *tree) {
    Template *node = topology_synth_template(topology, "node", 3, 2);
    add_gpus(topology, spec, node, DEVICE, tree->gpus);
    add_switches(node, "nvswitch", 1);
    topology_synth_part(node, (Part){.name = "nic", .kind = PART_NIC, .count = tree->gpus});
    topology_synth_link(node,
                        at_rate(spec, SYNTH_KEY_NVLINK,
                                line_of(spec, LINK_NVLINK, NVLINK_HALF_PS, "gpu[*]", "nvswitch")));
    topology_synth_link(
        node, at_rate(spec, SYNTH_KEY_NIC, line_of(spec, LINK_PCIE, NIC_PS, "gpu[i]", "nic[i]")));
    return node;
}

bool topology_synth_leafspine(const SynthSpec *spec, Topology *out, Err *err) {
    Topology topology = {0};
    LeafSpine tree = {0};
    if (!read_leafspine(spec, &tree, err)) return false;
    topology_synth_open(&topology, spec, 3);
    Template *node = add_node(&topology, spec, &tree);
    Template *unit = topology_synth_template(&topology, "unit", 2, 1);
    topology_synth_group(&topology, unit, "node", node, tree.nodes_per_leaf);
    add_switches(unit, "leaf", 1);
    topology_synth_link(unit,
                        at_rate(spec, SYNTH_KEY_NIC,
                                line_of(spec, LINK_IB, SWITCH_HALF_PS, "node[*].nic[*]", "leaf")));
    Template *machine = topology_synth_template(&topology, "leafspine", 2, 1);
    topology_synth_group(&topology, machine, "unit", unit, tree.leaves);
    add_switches(machine, "spine", tree.spines);
    topology_synth_link(machine,
                        at_rate(spec, SYNTH_KEY_NIC,
                                line_of(spec, LINK_IB, SWITCH_PS, "unit[*].leaf", "spine[*]")));
    return topology_synth_close(&topology, machine, out, err);
}
