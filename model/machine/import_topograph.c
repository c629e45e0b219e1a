// Models of NVIDIA topograph: a tree of named switches, and blocks of nodes below them that are
// NVLink domains. Source: NVIDIA/topograph, tests/models.
#include <string.h>

#include "model/machine/import_slurm.h"
#include "model/machine/import_yaml.h"

#define SWITCHES_MAX 8192 // each is looked up by its name

static uint32_t find_switch(const ImportSlurm *s, const char *name) {
    for (uint32_t i = 0; i < s->switch_count; i++) {
        if (strcmp(s->switches[i].name, name) == 0) return i;
    }
    return IMPORT_NONE;
}

// Switches that are only named as a child have no entry of their own.
static bool add_switch(ImportSlurm *s, const char *name, uint32_t line, Err *err) {
    if (find_switch(s, name) != IMPORT_NONE) return true;
    if (s->switch_count == SWITCHES_MAX)
        return import_node_error(s->import, line, err, "more than %d switches", SWITCHES_MAX);
    return import_slurm_switch(s, name, line, err);
}

static bool read_switches(ImportSlurm *s, const ImportYaml *yaml, Err *err) {
    uint32_t list = import_yaml_find(yaml, IMPORT_NONE, "switches");
    if (list == IMPORT_NONE) return import_node_error(s->import, 0, err, "expected \"switches\"");
    for (uint32_t i = list + 1; i < yaml->nodes[list].end; i = yaml->nodes[i].end) {
        uint32_t children = import_yaml_find(yaml, i, "switches");
        if (!add_switch(s, yaml->nodes[i].key, yaml->nodes[i].line, err)) return false;
        uint32_t self = find_switch(s, yaml->nodes[i].key);
        if (children == IMPORT_NONE) continue;
        for (uint32_t k = children + 1; k < yaml->nodes[children].end; k = yaml->nodes[k].end) {
            const ImportYamlNode *child = &yaml->nodes[k];
            if (*child->value == '\0')
                return import_node_error(s->import, child->line, err,
                                         "expected the name of a switch");
            if (!add_switch(s, child->value, child->line, err) ||
                !import_slurm_children(s, child->value, child->line, self, err))
                return false;
        }
    }
    return true;
}

static bool read_block(ImportSlurm *s, const ImportYaml *yaml, uint32_t node, Err *err) {
    const char *name = import_yaml_value(yaml, node, "switch");
    uint32_t nodes = import_yaml_find(yaml, node, "nodes"), line = yaml->nodes[node].line;
    uint32_t above = IMPORT_NONE, block = s->block_count++;
    if (name == NULL || nodes == IMPORT_NONE || yaml->nodes[nodes].end == nodes + 1)
        return import_node_error(s->import, line, err,
                                 "expected a block with \"switch\" and a list of \"nodes\"");
    above = find_switch(s, name);
    if (above == IMPORT_NONE)
        return import_node_error(s->import, line, err, "switch \"%s\" is described nowhere", name);
    for (uint32_t i = nodes + 1; i < yaml->nodes[nodes].end; i = yaml->nodes[i].end) {
        if (!import_slurm_nodes(s, yaml->nodes[i].value, yaml->nodes[i].line, above, block, err))
            return false;
    }
    return true;
}

static bool read_all(ImportSlurm *s, const ImportYaml *yaml, Err *err) {
    uint32_t blocks = import_yaml_find(yaml, IMPORT_NONE, "blocks");
    if (!read_switches(s, yaml, err)) return false;
    if (blocks == IMPORT_NONE) return import_node_error(s->import, 0, err, "expected \"blocks\"");
    for (uint32_t i = blocks + 1; i < yaml->nodes[blocks].end; i = yaml->nodes[i].end) {
        if (!read_block(s, yaml, i, err)) return false;
    }
    return import_slurm_build(s, err);
}

bool import_topograph_read(Import *import, Err *err) {
    ImportSlurm slurm = {.import = import};
    ImportYaml yaml;
    if (!import_yaml_parse(import, &yaml, err)) return false;
    bool done = read_all(&slurm, &yaml, err);
    import_slurm_free(&slurm);
    return done;
}
