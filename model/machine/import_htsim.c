// Fat trees of htsim: nodes, pods and for each tier radix, rate and latency of the links below it.
// Source: Broadcom/csg-htsim, sim/datacenter/fat_tree_topology.cpp and topologies/*.topo.
//
// Invariant: every cable of a switch that the radix gives is used; what does not add up is refused.
#include <string.h>

#include "model/machine/import_line.h"
#include "model/machine/import_node.h"

#define TIERS_MAX 3
#define NODES_MAX 65536

#define KEY_LIST(X)                                                                                \
    X(NODES, "Nodes")                                                                              \
    X(TIERS, "Tiers")                                                                              \
    X(PODSIZE, "Podsize")                                                                          \
    X(TIER, "Tier")                                                                                \
    X(SPEED, "Downlink_speed_Gbps")                                                                \
    X(DOWN, "Radix_Down")                                                                          \
    X(UP, "Radix_Up")                                                                              \
    X(LATENCY, "Downlink_Latency_ns")                                                              \
    X(BUNDLE, "Bundle") X(SWITCH_LATENCY, "Switch_Latency_ns") X(OVER, "Oversubscribed")
typedef enum Key {
#define X(name, text) KEY_##name,
    KEY_LIST(X)
#undef X
        KEY_COUNT
} Key;

static const char *const key_names[KEY_COUNT] = {
#define X(name, text) text,
    KEY_LIST(X)
#undef X
};

typedef struct Tree {
    Import *import;
    uint32_t head[KEY_TIER];                            // Nodes, Tiers, Podsize; 0 when not given
    uint32_t tiers[TIERS_MAX][KEY_COUNT];               // 0 when not given
    uint32_t tier;                                      // being read
    uint32_t counts[TIERS_MAX + 1], pod[TIERS_MAX + 1]; // of each level, in all and in a pod
    ImportEnd first[TIERS_MAX + 1];
} Tree;

static bool store(Tree *t, Key key, uint32_t value) {
    if (key < KEY_TIER) {
        if (value == 0 || t->head[key] != 0) return false;
        t->head[key] = value;
        return true;
    }
    if (key == KEY_TIER) {
        bool is_next = value == (t->tier == IMPORT_NONE ? 0 : t->tier + 1) && value < TIERS_MAX;
        t->tier = value;
        return is_next;
    }
    if (t->tier == IMPORT_NONE) return false;
    t->tiers[t->tier][key] = value;
    return true;
}

static bool read_lines(Tree *t, Err *err) {
    ImportLines lines;
    import_line_split(t->import->bytes, t->import->count, &t->import->arena, &lines);
    for (uint32_t i = 0; i < lines.count; i++) {
        const char *text = lines.lines[i], *word = import_line_word(&text, &t->import->arena);
        uint32_t value = 0, key = 0;
        if (word == NULL || *word == '#') continue;
        while (key < KEY_COUNT && strcmp(word, key_names[key]) != 0) key++;
        text = import_line_skip(text);
        if (key == KEY_COUNT || !import_line_number(&text, 1000000, &value) ||
            *import_line_skip(text) != '\0' || !store(t, (Key)key, value))
            return import_node_error(t->import, i + 1, err,
                                     "expected Nodes, Tiers, Podsize, then for Tier 0, 1, 2 its "
                                     "Downlink_speed_Gbps, Radix_Down, Radix_Up, "
                                     "Downlink_Latency_ns and Bundle, each with a number");
    }
    return true;
}

// How many switches each level has: cables up of a level are the cables down of the next.
static bool size_levels(Tree *t, Err *err) {
    uint32_t nodes = t->head[KEY_NODES], tiers = t->head[KEY_TIERS];
    uint32_t pod = t->head[KEY_PODSIZE] == 0 ? nodes : t->head[KEY_PODSIZE];
    bool good = nodes >= 2 && nodes <= NODES_MAX && (tiers == 2 || tiers == 3) &&
                t->tier + 1 == tiers && nodes % pod == 0;
    t->counts[0] = nodes;
    t->pod[0] = tiers == 2 ? nodes : pod;
    for (uint32_t k = 0; k < tiers && good; k++) {
        uint64_t up = k == 0 ? 1 : t->tiers[k - 1][KEY_UP], down = t->tiers[k][KEY_DOWN];
        if (t->tiers[k][KEY_BUNDLE] == 0) t->tiers[k][KEY_BUNDLE] = 1;
        good = up > 0 && down > 0 && t->tiers[k][KEY_SPEED] > 0 &&
               t->tiers[k][KEY_SPEED] <= 100000 && up % t->tiers[k][KEY_BUNDLE] == 0 &&
               t->counts[k] * up % down == 0 && t->pod[k] * up % down == 0;
        if (!good) break;
        t->counts[k + 1] = (uint32_t)(t->counts[k] * up / down);
        t->pod[k + 1] = (uint32_t)(t->pod[k] * up / down);
        good = t->counts[k + 1] > 0 && t->counts[k + 1] <= NODES_MAX && t->pod[k + 1] > 0;
    }
    return good || import_node_error(t->import, 0, err,
                                     "the tree does not add up: expected 2 to %d nodes in whole "
                                     "pods, 2 or 3 tiers, and radices that divide",
                                     NODES_MAX);
}

static LinkRule rule_of(const Tree *t, uint32_t tier) {
    return (LinkRule){.link_class = LINK_ETH,
                      .cables = t->tiers[tier][KEY_BUNDLE],
                      .bandwidth_Bps = (uint64_t)t->tiers[tier][KEY_SPEED] * 125000000, // Gbit/s
                      .latency_ps = (Time)t->tiers[tier][KEY_LATENCY] * 1000,
                      .confidence = 'B'};
}

static ImportEnd member(const Tree *t, uint32_t level, uint32_t number) {
    return import_graph_end(t->first[level].part, number);
}

// Level k to k + 1. The last level is that of all pods: switch j of a pod is joined to the j-th
// group of the cores; below it, each switch of a pod to each of the next level in that pod.
static bool add_links(Tree *t, uint32_t tier, Err *err) {
    ImportGraph *graph = &t->import->graph;
    bool is_top = tier + 1 == t->head[KEY_TIERS];
    uint32_t bundle = t->tiers[tier][KEY_BUNDLE], up = t->tiers[tier - 1][KEY_UP] / bundle;
    uint32_t targets = is_top ? t->counts[tier + 1] : t->pod[tier + 1];
    uint32_t groups = is_top && t->head[KEY_TIERS] == 3 ? t->pod[tier] : 1;
    if ((uint64_t)up * groups != targets)
        return import_node_error(
            t->import, 0, err,
            "tier %u: %u switches with %u cables up each, in bundles of %u, do "
            "not reach %u switches evenly",
            tier, groups, t->tiers[tier - 1][KEY_UP], bundle, targets);
    for (uint32_t i = 0; i < t->counts[tier]; i++) {
        uint32_t in_pod = i % t->pod[tier], pod = i / t->pod[tier];
        for (uint32_t k = 0; k < up && !graph->is_over; k++) {
            uint32_t to = is_top ? (groups == 1 ? k : in_pod * up + k) : pod * targets + k;
            import_graph_link(graph, 0, member(t, tier, i), member(t, tier + 1, to),
                              rule_of(t, tier));
        }
    }
    return true;
}

bool import_htsim_read(Import *import, Err *err) {
    static const char *const names[] = {"gpu", "tor", "agg", "core"};
    Tree t = {.import = import, .tier = IMPORT_NONE};
    if (!read_lines(&t, err)) return false;
    if (t.tier == IMPORT_NONE) return import_node_error(import, 0, err, "expected \"Tier 0\"");
    if (!size_levels(&t, err)) return false;
    for (uint32_t level = 0; level <= t.head[KEY_TIERS]; level++) {
        for (uint32_t i = 0; i < t.counts[level]; i++) {
            ImportEnd end =
                import_node_add(import, 0, level == 0 ? PART_GPU : PART_SWITCH, names[level], "");
            if (i == 0) t.first[level] = end;
        }
    }
    for (uint32_t i = 0; i < t.counts[0]; i++)
        import_graph_link(&import->graph, 0, member(&t, 0, i),
                          member(&t, 1, i / t.tiers[0][KEY_DOWN]), rule_of(&t, 0));
    for (uint32_t tier = 1; tier < t.head[KEY_TIERS]; tier++) {
        if (!add_links(&t, tier, err)) return false;
    }
    import_graph_find(&import->graph, "each node is taken for one GPU: give its part a device to "
                                      "plan on it");
    return true;
}
