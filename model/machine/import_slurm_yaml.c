// topology.yaml: a list of topologies, of which that with "cluster_default: true" is read (the
// first, when none is). Kinds tree and block are machines; flat, ring and torus3d are refused.
#include <string.h>

#include "model/machine/import_slurm.h"
#include "model/machine/import_yaml.h"

static uint32_t choose(const ImportYaml *yaml) {
    uint32_t chosen = IMPORT_NONE;
    for (uint32_t i = 0; i < yaml->count; i = yaml->nodes[i].end) {
        const char *is_default = import_yaml_value(yaml, i, "cluster_default");
        if (import_yaml_find(yaml, i, "topology") == IMPORT_NONE) continue;
        bool wins = is_default != NULL && strcmp(is_default, "true") == 0;
        if (chosen == IMPORT_NONE || wins) chosen = i;
        if (wins) break;
    }
    return chosen;
}

static uint32_t count_topologies(const ImportYaml *yaml) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < yaml->count; i = yaml->nodes[i].end)
        count += import_yaml_find(yaml, i, "topology") != IMPORT_NONE;
    return count;
}

static bool read_switch(ImportSlurm *s, const ImportYaml *yaml, uint32_t node, Err *err) {
    const char *name = import_yaml_value(yaml, node, "switch");
    const char *nodes = import_yaml_value(yaml, node, "nodes");
    const char *children = import_yaml_value(yaml, node, "children");
    uint32_t line = yaml->nodes[node].line;
    if (name == NULL || *name == '\0' || (nodes == NULL) == (children == NULL))
        return import_node_error(s->import, line, err,
                                 "expected \"switch\" and either \"nodes\" or \"children\"");
    if (!import_slurm_switch(s, name, line, err)) return false;
    uint32_t self = s->switch_count - 1;
    if (nodes != NULL) return import_slurm_nodes(s, nodes, line, self, IMPORT_NONE, err);
    return import_slurm_children(s, children, line, self, err);
}

static bool read_block(ImportSlurm *s, const ImportYaml *yaml, uint32_t node, Err *err) {
    const char *name = import_yaml_value(yaml, node, "block");
    const char *nodes = import_yaml_value(yaml, node, "nodes");
    if (name == NULL || *name == '\0')
        return import_node_error(s->import, yaml->nodes[node].line, err, "expected \"block\"");
    if (nodes == NULL || *nodes == '\0') {
        import_graph_find(&s->import->graph, "block %s has no nodes", name);
        return true;
    }
    return import_slurm_nodes(s, nodes, yaml->nodes[node].line, IMPORT_NONE, s->block_count++, err);
}

// A list of entries, or one entry without a list.
static bool read_list(ImportSlurm *s, const ImportYaml *yaml, uint32_t kind, const char *key,
                      bool (*read)(ImportSlurm *, const ImportYaml *, uint32_t, Err *), Err *err) {
    uint32_t list = import_yaml_find(yaml, kind, key);
    if (list == IMPORT_NONE)
        return import_node_error(s->import, yaml->nodes[kind].line, err, "expected \"%s\"", key);
    const ImportYamlNode *node = &yaml->nodes[list];
    if (node->end == list + 1)
        return import_node_error(s->import, node->line, err,
                                 "%s: expected a list of entries, found \"%s\"", key, node->value);
    if (!yaml->nodes[list + 1].is_item) return read(s, yaml, list, err);
    for (uint32_t i = list + 1; i < node->end; i = yaml->nodes[i].end) {
        if (!read(s, yaml, i, err)) return false;
    }
    return true;
}

static bool read_topology(ImportSlurm *s, const ImportYaml *yaml, uint32_t node, Err *err) {
    uint32_t tree = import_yaml_find(yaml, node, "tree");
    uint32_t block = import_yaml_find(yaml, node, "block");
    if (tree != IMPORT_NONE) return read_list(s, yaml, tree, "switches", read_switch, err);
    if (block != IMPORT_NONE) return read_list(s, yaml, block, "blocks", read_block, err);
    return import_node_error(
        s->import, yaml->nodes[node].line, err,
        "topology \"%s\": expected \"tree\" or \"block\"; flat names no nodes, "
        "ring and torus3d are not read",
        import_yaml_value(yaml, node, "topology"));
}

bool import_slurm_yaml_read(Import *import, Err *err) {
    ImportSlurm slurm = {.import = import};
    ImportYaml yaml;
    if (!import_yaml_parse(import, &yaml, err)) return false;
    uint32_t chosen = choose(&yaml), count = count_topologies(&yaml);
    if (chosen == IMPORT_NONE)
        return import_node_error(import, 0, err, "expected \"- topology: name\", found none");
    if (count > 1)
        import_graph_find(&import->graph, "topology %s of %u in the file is read",
                          import_yaml_value(&yaml, chosen, "topology"), count);
    bool done = read_topology(&slurm, &yaml, chosen, err) && import_slurm_build(&slurm, err);
    import_slurm_free(&slurm);
    return done;
}
