// A machine of nodes, switches and blocks. A scheduler's file gives no rates, no rails and no GPUs:
// every node is taken for the same host, every NIC has a port of the same rate, and a switch has as
// many cables up as there are NICs below it.
//
// Invariant: nodes keep the order of the file, so that neighbours have neighbouring numbers,
// whether the machine is written as one template or, where all switches of a level are alike, as
// several.
#include "model/machine/import_slurm.h"

#include <stdlib.h>
#include <string.h>

typedef struct Named {
    const char *name;
    uint32_t index;
} Named;

static int by_name(const void *a, const void *b) {
    const Named *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order == 0 ? (x->index > y->index) - (x->index < y->index) : order;
}

static int name_only(const void *a, const void *b) {
    return strcmp(((const Named *)a)->name, ((const Named *)b)->name);
}

// A node may be in a tree and in a block; two switches, or two blocks, are too many.
static bool join_pair(ImportSlurm *s, ImportSlurmNode *kept, const ImportSlurmNode *other,
                      Err *err) {
    bool both_above = kept->above != IMPORT_NONE && other->above != IMPORT_NONE;
    bool both_block = kept->block != IMPORT_NONE && other->block != IMPORT_NONE;
    if (both_above || both_block)
        return import_node_error(s->import, other->line, err,
                                 "node \"%s\" is in a second %s; the first is in line %u",
                                 other->name, both_above ? "switch" : "block", kept->line);
    if (other->above != IMPORT_NONE) kept->above = other->above;
    if (other->block != IMPORT_NONE) kept->block = other->block;
    return true;
}

static bool join_nodes(ImportSlurm *s, Err *err) {
    Named *named = mem_alloc(s->node_count, sizeof *named);
    uint32_t kept = 0;
    bool done = true;
    for (uint32_t i = 0; i < s->node_count; i++) named[i] = (Named){s->nodes[i].name, i};
    qsort(named, s->node_count, sizeof *named, by_name);
    for (uint32_t i = 0, first = 0; i < s->node_count && done; i++) {
        if (strcmp(named[i].name, named[first].name) != 0) first = i;
        if (i == first) continue;
        ImportSlurmNode *other = &s->nodes[named[i].index];
        done = join_pair(s, &s->nodes[named[first].index], other, err);
        other->name = NULL;
    }
    for (uint32_t i = 0; i < s->node_count && done; i++) {
        if (s->nodes[i].name != NULL) s->nodes[kept++] = s->nodes[i];
    }
    if (done) s->node_count = kept;
    mem_free(named);
    return done;
}

static bool set_parent(ImportSlurm *s, const ImportSlurmChild *child, const Named *named,
                       Err *err) {
    Named key = {child->name, 0};
    const Named *found = bsearch(&key, named, s->switch_count, sizeof *named, name_only);
    if (found == NULL)
        return import_node_error(s->import, child->line, err,
                                 "switch \"%s\" is described nowhere in the file", child->name);
    ImportSlurmSwitch *below = &s->switches[found->index];
    if (below->parent != IMPORT_NONE)
        return import_node_error(s->import, child->line, err,
                                 "switch \"%s\" is below a second switch: \"%s\" and \"%s\"",
                                 child->name, s->switches[below->parent].name,
                                 s->switches[child->above].name);
    below->parent = child->above;
    return true;
}

static bool join_switches(ImportSlurm *s, Err *err) {
    Named *named = mem_alloc(s->switch_count, sizeof *named);
    bool done = true;
    for (uint32_t i = 0; i < s->switch_count; i++) named[i] = (Named){s->switches[i].name, i};
    qsort(named, s->switch_count, sizeof *named, by_name);
    for (uint32_t i = 1; i < s->switch_count && done; i++) {
        if (strcmp(named[i].name, named[i - 1].name) == 0)
            done = import_node_error(s->import, s->switches[named[i].index].line, err,
                                     "switch \"%s\" is described twice", named[i].name);
    }
    for (uint32_t i = 0; i < s->child_count && done; i++)
        done = set_parent(s, &s->children[i], named, err);
    mem_free(named);
    return done;
}

// Adds the nodes of each leaf to all switches above; finds circles.
static bool count_nodes(ImportSlurm *s, Err *err) {
    for (uint32_t i = 0; i < s->node_count; i++) {
        uint32_t above = s->nodes[i].above;
        if (above != IMPORT_NONE) s->switches[above].nodes++;
    }
    uint32_t *own = mem_alloc(s->switch_count, sizeof *own);
    bool done = true;
    for (uint32_t i = 0; i < s->switch_count; i++) own[i] = s->switches[i].nodes;
    for (uint32_t i = 0; i < s->switch_count && done; i++) {
        uint32_t steps = 0;
        for (uint32_t k = s->switches[i].parent; k != IMPORT_NONE && done;
             k = s->switches[k].parent) {
            s->switches[k].nodes += own[i];
            if (++steps > TOPOLOGY_DEPTH_MAX * 8)
                done = import_node_error(s->import, s->switches[i].line, err,
                                         "switch \"%s\" is below itself, or more than %d levels "
                                         "deep",
                                         s->switches[i].name, TOPOLOGY_DEPTH_MAX * 8);
        }
    }
    mem_free(own);
    return done;
}

// ---- Parts and links

// Cables that carry `ports` ports; one cable may stand for several.
static LinkRule uplink(const ImportSlurm *s, uint64_t ports) {
    LinkRule how = import_fact_link(s->import->facts, LINK_IB, "network-switch");
    uint64_t each = (ports + TOPOLOGY_CABLES_MAX - 1) / TOPOLOGY_CABLES_MAX;
    how.cables = (uint32_t)((ports + each - 1) / each);
    how.bandwidth_Bps *= each;
    return how;
}

static bool add_switches(ImportSlurm *s, uint32_t gpus, Err *err) {
    Import *import = s->import;
    uint32_t roots = 0, empty = 0;
    for (uint32_t i = 0; i < s->switch_count; i++) {
        ImportSlurmSwitch *one = &s->switches[i];
        if (one->nodes == 0) {
            empty++;
            continue;
        }
        one->end = import_node_add(import, 0, PART_SWITCH, one->has_nodes ? "leaf" : "switch", "");
        roots += one->parent == IMPORT_NONE;
    }
    if (empty > 0)
        import_graph_find(&import->graph, "%u switches without a node below them: left out", empty);
    if (s->switch_count > 0 && roots == 0)
        return import_node_error(import, 0, err, "expected a switch with nodes below it");
    ImportEnd joint = {0};
    if (roots > 1) {
        joint = import_node_add(import, 0, PART_SWITCH, "joint", "");
        import_graph_find(&import->graph,
                          "%u trees without a common switch: joined by one that is assumed; the "
                          "scheduler would run no job across them",
                          roots);
    }
    for (uint32_t i = 0; i < s->switch_count; i++) {
        const ImportSlurmSwitch *one = &s->switches[i];
        if (one->nodes == 0 || (one->parent == IMPORT_NONE && roots < 2)) continue;
        ImportEnd above = one->parent == IMPORT_NONE ? joint : s->switches[one->parent].end;
        import_graph_link(&import->graph, 0, one->end, above,
                          uplink(s, (uint64_t)one->nodes * gpus));
    }
    return true;
}

// Nodes that no switch of the file holds meet in one.
static ImportEnd network_of(ImportSlurm *s) {
    uint32_t part = import_graph_part(&s->import->graph, 0,
                                      (Part){.name = "network", .kind = PART_SWITCH, .device = ""});
    if (import_graph_count(&s->import->graph, 0, part) == 0)
        import_graph_copy(&s->import->graph, 0, part);
    return import_graph_end(part, 0);
}

static void add_nodes(ImportSlurm *s, uint32_t host) {
    Import *import = s->import;
    ImportGraph *graph = &import->graph;
    LinkRule how = import_fact_link(import->facts, LINK_IB, "network-nic");
    uint32_t nic =
        import_graph_part(graph, host, (Part){.name = "nic", .kind = PART_NIC, .device = ""});
    uint32_t part = import_graph_part(
        graph, 0, (Part){.name = "node", .kind = PART_GROUP, .template_id = host, .device = ""});
    for (uint32_t i = 0; i < s->node_count; i++) {
        const ImportSlurmNode *node = &s->nodes[i];
        ImportEnd above = node->above == IMPORT_NONE ? network_of(s) : s->switches[node->above].end;
        ImportEnd nics = {part, import_graph_copy(graph, 0, part), nic, IMPORT_ALL};
        import_graph_link(graph, 0, nics, above, how);
    }
}

// Blocks are NVLink domains of several nodes: the chips of each are parts of the template `in`, of
// which nodes first to end - 1 are copies, the blocks counted from `block` on.
typedef struct Blocks {
    uint32_t in, host, first, end, block;
} Blocks;

static void add_blocks(ImportSlurm *s, const Blocks *blocks, uint32_t count, const Device *device) {
    Import *import = s->import;
    ImportGraph *graph = &import->graph;
    uint32_t in = blocks->in;
    LinkRule how = import_node_nvlink(import, "nvlink-switch", device);
    const ImportFact *planes =
        device == NULL ? NULL : import_fact_find(import->facts, IMPORT_TABLE_PLANES, device->name);
    if (planes == NULL) return;
    uint32_t gpu = import_graph_part(graph, blocks->host,
                                     (Part){.name = "gpu", .kind = PART_GPU, .device = ""});
    uint32_t part =
        import_graph_part(graph, in, (Part){.name = "node", .kind = PART_GROUP, .device = ""});
    uint32_t chips = import_graph_part(
        graph, in, (Part){.name = "nvswitch", .kind = PART_SWITCH, .device = planes->device});
    for (uint32_t i = 0; i < count * planes->link_count; i++) import_graph_copy(graph, in, chips);
    how.confidence = 'M';
    for (uint32_t i = blocks->first; i < blocks->end; i++) {
        ImportEnd gpus = {part, i - blocks->first, gpu, IMPORT_ALL};
        if (s->nodes[i].block == IMPORT_NONE) continue;
        uint32_t first = (s->nodes[i].block - blocks->block) * planes->link_count;
        for (uint32_t k = 0; k < planes->link_count; k++) {
            how.cables = planes->links[k];
            import_graph_link(graph, in, gpus, import_graph_end(chips, first + k), how);
        }
    }
}

// A template for each level, with what is below one switch; the last is the machine.
static void add_levels(ImportSlurm *s, const ImportSlurmLevels *levels, uint32_t host,
                       const char *device, uint32_t gpus) {
    Import *import = s->import;
    ImportGraph *graph = &import->graph;
    LinkRule how = import_fact_link(import->facts, LINK_IB, "network-nic");
    uint32_t below = host, inner_index = IMPORT_ALL, nodes = 1;
    uint32_t inner =
        import_graph_part(graph, host, (Part){.name = "nic", .kind = PART_NIC, .device = ""});
    const char *name = "node";
    for (uint32_t level = 0; level < levels->count; level++) {
        const char *own = arena_printf(&import->arena, "group%u", level + 1);
        uint32_t in = level + 1 < levels->count ? import_graph_template(graph, own) : 0;
        uint32_t part = import_graph_part(
            graph, in,
            (Part){.name = name, .kind = PART_GROUP, .template_id = below, .device = ""});
        ImportEnd above =
            import_node_add(import, in, PART_SWITCH, level == 0 ? "leaf" : "switch", "");
        for (uint32_t i = 0; i < levels->size[level]; i++)
            import_graph_link(
                graph, in,
                (ImportEnd){part, import_graph_copy(graph, in, part), inner, inner_index}, above,
                how);
        if (level == 0 && s->block_count > 0)
            add_blocks(s, &(Blocks){.in = in, .host = host, .end = levels->size[0]}, 1,
                       import_node_device(import, device));
        nodes *= levels->size[level];
        how = uplink(s, (uint64_t)nodes * gpus);
        inner = above.part;
        inner_index = 0;
        below = in;
        name = own;
    }
}

bool import_slurm_build(ImportSlurm *s, Err *err) {
    Import *import = s->import;
    const char *key = s->block_count > 0 ? "grace" : "gpus";
    const ImportFact *fact = import_fact_find(import->facts, IMPORT_TABLE_ASSUMED_HOST, key);
    if (fact == NULL || fact->link_count != 1)
        return import_node_error(import, 0, err, "topologies/imports/known.json has no \"%s\"",
                                 key);
    if (s->node_count == 0) return import_node_error(import, 0, err, "expected nodes, found none");
    if (!join_nodes(s, err) || !join_switches(s, err) || !count_nodes(s, err)) return false;
    uint32_t gpus = s->gpus > 0 ? s->gpus : fact->links[0];
    uint32_t host = import_node_host(import, "node", fact->device, gpus, gpus);
    if (s->block_count == 0) import_node_host_planes(import, host, fact->device);
    ImportSlurmLevels levels;
    if (import_slurm_levels(s, &levels)) {
        add_levels(s, &levels, host, fact->device, gpus);
    } else {
        if (!add_switches(s, gpus, err)) return false;
        add_nodes(s, host);
        add_blocks(s, &(Blocks){.host = host, .end = s->node_count}, s->block_count,
                   import_node_device(import, fact->device));
    }
    import_graph_find(&import->graph, "%s: %u %s and as many NICs are assumed in each",
                      s->gpus > 0 ? "the file gives the number of GPUs of a node and no more"
                                  : "the file does not say what a node holds",
                      gpus, fact->device);
    import_graph_find(
        &import->graph,
        "no rates in the file: 400 Gbit/s per NIC, and as many cables up from a switch "
        "as there are NICs below it");
    if (s->block_count > 0 && s->switch_count == 0)
        import_graph_find(&import->graph,
                          "blocks only: the network between them is one switch without a limit");
    return true;
}
