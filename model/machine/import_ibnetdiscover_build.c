// The machine of an InfiniBand fabric: hosts of as many NICs as adapters of one name, leaves
// (switches with hosts) and spines (switches without).
//
// A fabric does not say what is inside a host: each is taken for one of 8 GPUs. Aggregation nodes
// of switches (SHARP) and fabric managers are adapters, and no hosts; adapters whose description is
// that of their product stay NICs without GPUs.
#include "model/machine/import_ibnetdiscover.h"

#include <stdlib.h>
#include <string.h>

#define HOST_NICS_MAX 64

typedef enum Role { ROLE_SWITCH, ROLE_HOST, ROLE_UNNAMED, ROLE_OTHER } Role;

typedef struct Adapter {
    const char *host;
    uint32_t node;
} Adapter;

typedef struct Build {
    ImportIb *ib;
    Role *roles;       // of nodes
    bool *has_host;    // of switches
    Adapter *adapters; // of hosts, by host and node
    uint32_t adapter_count;
    uint32_t groups[HOST_NICS_MAX + 1]; // part of hosts with that many NICs, IMPORT_NONE for none
    uint32_t nics[HOST_NICS_MAX + 1];   // part inside
    uint32_t host_count, unnamed, aggregation, managers, unlinked;
} Build;

// The name before the adapter's: "node0001" of "node0001 HCA-1".
static const char *host_of(Build *b, const ImportIbNode *node) {
    const char *space = strchr(node->description, ' ');
    if (node->description[0] == '\0') return node->id;
    if (space == NULL) return node->description;
    return arena_printf(&b->ib->import->arena, "%.*s", (int)(space - node->description),
                        node->description);
}

static Role role_of(Build *b, const ImportIbNode *node) {
    if (node->is_switch) return ROLE_SWITCH;
    if (strstr(node->description, "Aggregation Node") != NULL) {
        b->aggregation++;
        return ROLE_OTHER;
    }
    if (strstr(node->description, "UFM") != NULL) {
        b->managers++;
        return ROLE_OTHER;
    }
    if (node->cables == 0) {
        b->unlinked++;
        return ROLE_OTHER;
    }
    if (strstr(node->description, "Mellanox Technologies") != NULL) {
        b->unnamed++;
        return ROLE_UNNAMED;
    }
    return ROLE_HOST;
}

static void find_roles(Build *b) {
    ImportIb *ib = b->ib;
    for (uint32_t i = 0; i < ib->link_count; i++) {
        ib->nodes[ib->links[i].a].cables++;
        ib->nodes[ib->links[i].b].cables++;
    }
    for (uint32_t i = 0; i < ib->node_count; i++) b->roles[i] = role_of(b, &ib->nodes[i]);
    for (uint32_t i = 0; i < ib->link_count; i++) {
        const ImportIbLink *link = &ib->links[i];
        if (b->roles[link->a] == ROLE_HOST) b->has_host[link->b] = true;
        if (b->roles[link->b] == ROLE_HOST) b->has_host[link->a] = true;
    }
}

static int by_host(const void *a, const void *b) {
    const Adapter *x = a, *y = b;
    int order = strcmp(x->host, y->host);
    return order == 0 ? (x->node > y->node) - (x->node < y->node) : order;
}

static void add_host(Build *b, const Adapter *adapters, uint32_t count) {
    Import *import = b->ib->import;
    const ImportFact *fact = import_fact_find(import->facts, IMPORT_TABLE_ASSUMED_HOST, "gpus");
    if (b->groups[count] == IMPORT_NONE) {
        const char *name = arena_printf(&import->arena, "host%u", count);
        const char *device = fact == NULL ? "" : fact->device;
        uint32_t gpus = fact == NULL ? 8 : fact->links[0];
        uint32_t in = import_node_host(import, name, device, gpus, count);
        import_node_host_planes(import, in, device);
        b->nics[count] = import_graph_part(&import->graph, in,
                                           (Part){.name = "nic", .kind = PART_NIC, .device = ""});
        b->groups[count] = import_graph_part(
            &import->graph, 0,
            (Part){.name = name, .kind = PART_GROUP, .template_id = in, .device = ""});
    }
    uint32_t host = import_graph_copy(&import->graph, 0, b->groups[count]);
    for (uint32_t i = 0; i < count; i++)
        b->ib->nodes[adapters[i].node].end = (ImportEnd){b->groups[count], host, b->nics[count], i};
    b->host_count++;
}

static bool add_hosts(Build *b, Err *err) {
    ImportIb *ib = b->ib;
    for (uint32_t i = 0; i < ib->node_count; i++) {
        if (b->roles[i] == ROLE_HOST)
            b->adapters[b->adapter_count++] = (Adapter){host_of(b, &ib->nodes[i]), i};
    }
    qsort(b->adapters, b->adapter_count, sizeof *b->adapters, by_host);
    for (uint32_t i = 0; i <= HOST_NICS_MAX; i++) b->groups[i] = IMPORT_NONE;
    for (uint32_t i = 0, end; i < b->adapter_count; i = end) {
        end = i + 1;
        while (end < b->adapter_count && strcmp(b->adapters[end].host, b->adapters[i].host) == 0)
            end++;
        if (end - i > HOST_NICS_MAX)
            return import_node_error(ib->import, ib->nodes[b->adapters[i].node].line, err,
                                     "expected at most %d adapters of one host, \"%s\" has %u",
                                     HOST_NICS_MAX, b->adapters[i].host, end - i);
        add_host(b, &b->adapters[i], end - i);
    }
    return true;
}

static void add_others(Build *b) {
    for (uint32_t i = 0; i < b->ib->node_count; i++) {
        ImportIbNode *node = &b->ib->nodes[i];
        if (b->roles[i] == ROLE_SWITCH && node->cables > 0)
            node->end = import_node_add(b->ib->import, 0, PART_SWITCH,
                                        b->has_host[i] ? "leaf" : "spine", "");
        if (b->roles[i] == ROLE_UNNAMED)
            node->end = import_node_add(b->ib->import, 0, PART_NIC, "adapter", "");
    }
}

static bool is_part(const Build *b, uint32_t node) {
    return b->roles[node] != ROLE_OTHER;
}

static uint32_t add_links(Build *b) {
    ImportIb *ib = b->ib;
    uint32_t without = 0;
    for (uint32_t i = 0; i < ib->link_count; i++) {
        const ImportIbLink *link = &ib->links[i];
        bool switches = b->roles[link->a] == ROLE_SWITCH && b->roles[link->b] == ROLE_SWITCH;
        if (!is_part(b, link->a) || !is_part(b, link->b)) continue;
        LinkRule how = import_fact_link(ib->import->facts, ib->link_class,
                                        switches ? "network-switch" : "network-nic");
        if (link->rate_Bps > 0) {
            how.bandwidth_Bps = link->rate_Bps;
            how.source = "width and speed of the dump; latency: a budget for hardware alone";
            how.confidence = 'B';
        }
        without += link->rate_Bps == 0;
        import_graph_link(&ib->import->graph, 0, ib->nodes[link->a].end, ib->nodes[link->b].end,
                          how);
    }
    return without;
}

// ---- Findings

typedef struct Pairs {
    uint32_t by_cables[256]; // pairs of switches with that many cables
    uint32_t count, usual;
} Pairs;

// Links of one pair are not neighbours in ports of b: counted over runs of equal (a, b).
static int by_pair(const void *a, const void *b) {
    const ImportIbLink *x = a, *y = b;
    if (x->a != y->a) return x->a < y->a ? -1 : 1;
    return (x->b > y->b) - (x->b < y->b);
}

static void count_pairs(Build *b, Pairs *out) {
    ImportIb *ib = b->ib;
    qsort(ib->links, ib->link_count, sizeof *ib->links, by_pair);
    for (uint32_t i = 0, end; i < ib->link_count; i = end) {
        const ImportIbLink *link = &ib->links[i];
        end = i + 1;
        while (end < ib->link_count && by_pair(link, &ib->links[end]) == 0) end++;
        if (b->roles[link->a] != ROLE_SWITCH || b->roles[link->b] != ROLE_SWITCH) continue;
        out->by_cables[end - i < 255 ? end - i : 255]++;
        out->count++;
    }
    for (uint32_t i = 1; i < 256; i++) {
        if (out->by_cables[i] > out->by_cables[out->usual]) out->usual = i;
    }
}

// Leaves and spines that are almost all joined: the pairs that are not.
static void tell_gaps(const Build *b, uint32_t pairs) {
    uint32_t leaves = 0, spines = 0;
    for (uint32_t i = 0; i < b->ib->node_count; i++) {
        if (b->roles[i] != ROLE_SWITCH || b->ib->nodes[i].cables == 0) continue;
        *(b->has_host[i] ? &leaves : &spines) += 1;
    }
    uint64_t all = (uint64_t)leaves * spines;
    if (pairs < all && pairs >= all - all / 8)
        import_graph_find(&b->ib->import->graph,
                          "degraded: %u of %u pairs of a leaf and a spine have no cable",
                          (uint32_t)(all - pairs), (uint32_t)all);
}

static void tell(Build *b, uint32_t without) {
    ImportGraph *graph = &b->ib->import->graph;
    Pairs pairs = {.count = 0};
    count_pairs(b, &pairs);
    tell_gaps(b, pairs.count);
    for (uint32_t i = 1; i < pairs.usual; i++) {
        if (pairs.by_cables[i] > 0)
            import_graph_find(graph,
                              "degraded: %u of %u pairs of switches have %u cables, others %u",
                              pairs.by_cables[i], pairs.count, i, pairs.usual);
    }
    if (b->aggregation > 0)
        import_graph_find(graph, "%u aggregation nodes of switches (SHARP) left out: no hosts",
                          b->aggregation);
    if (b->managers > 0)
        import_graph_find(graph, "%u adapters of fabric managers (UFM) left out", b->managers);
    if (b->unlinked > 0)
        import_graph_find(graph, "%u adapters without a cable left out", b->unlinked);
    if (b->unnamed > 0)
        import_graph_find(graph, "%u adapters without the name of a host: NICs without GPUs here",
                          b->unnamed);
    if (without > 0)
        import_graph_find(graph, "%u cables without a rate: 400 Gbit/s is assumed", without);
    import_graph_find(graph,
                      "the fabric does not say what its %u hosts hold: 8 GPUs each are assumed",
                      b->host_count);
}

bool import_ibnetdiscover_build(ImportIb *ib, Err *err) {
    Build *b = arena_alloc(&ib->import->arena, 1, sizeof *b);
    uint32_t switches = 0;
    b->ib = ib;
    for (uint32_t i = 0; i < ib->node_count; i++) switches += ib->nodes[i].is_switch;
    if (switches == 0 || ib->link_count == 0)
        return import_node_error(ib->import, 0, err,
                                 "expected switches and cables, found %u switches, %u adapters and "
                                 "%u cables",
                                 switches, ib->node_count - switches, ib->link_count);
    b->roles = arena_alloc(&ib->import->arena, ib->node_count, sizeof *b->roles);
    b->has_host = arena_alloc(&ib->import->arena, ib->node_count, sizeof *b->has_host);
    b->adapters = arena_alloc(&ib->import->arena, ib->node_count, sizeof *b->adapters);
    find_roles(b);
    if (!add_hosts(b, err)) return false;
    if (b->host_count == 0)
        return import_node_error(ib->import, 0, err,
                                 "expected hosts, found %u adapters without "
                                 "a host's name",
                                 b->unnamed);
    add_others(b);
    tell(b, add_links(b));
    return true;
}
