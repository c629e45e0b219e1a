// What a scheduler knows of a machine: which nodes are below which switch or in which block, in
// conf, yaml or another form. Sources: slurm topology.conf(5) and topology.yaml(5).
#ifndef MODEL_MACHINE_IMPORT_SLURM_H
#define MODEL_MACHINE_IMPORT_SLURM_H

#include <stdbool.h>
#include <stdint.h>

#include "model/machine/import_node.h"

#define IMPORT_SLURM_NAMES_MAX    1000000 // nodes of all switches, or names in one list
#define IMPORT_SLURM_SWITCHES_MAX 65536

typedef struct ImportSlurmNode {
    const char *name;
    uint32_t line;
    uint32_t above; // a switch, IMPORT_NONE for none
    uint32_t block; // IMPORT_NONE for none
} ImportSlurmNode;

typedef struct ImportSlurmSwitch {
    const char *name;
    uint32_t line;
    uint32_t parent; // IMPORT_NONE of a root
    uint32_t nodes;  // below it, at any depth
    bool has_nodes;
    ImportEnd end;
} ImportSlurmSwitch;

// "a child of switch `above`", as written; names are looked up at the end.
typedef struct ImportSlurmChild {
    const char *name;
    uint32_t line, above;
} ImportSlurmChild;

// Memory is the heap's: import_slurm_free.
typedef struct ImportSlurm {
    Import *import;
    ImportSlurmNode *nodes;
    ImportSlurmSwitch *switches;
    ImportSlurmChild *children;
    uint32_t node_count, node_capacity, switch_count, switch_capacity, child_count, child_capacity;
    uint32_t block_count;
    uint32_t gpus; // of each node; 0 when the file does not say
} ImportSlurm;

void import_slurm_free(ImportSlurm *slurm);

// A new switch; its number is switch_count - 1.
bool import_slurm_switch(ImportSlurm *slurm, const char *name, uint32_t line, Err *err);
// Nodes of a hostlist such as "a[0-3,12],b7", below switch `above` or in block `block`.
bool import_slurm_nodes(ImportSlurm *slurm, const char *list, uint32_t line, uint32_t above,
                        uint32_t block, Err *err);
// One node by its name, whatever is in it.
bool import_slurm_node(ImportSlurm *slurm, const char *name, uint32_t line, uint32_t above,
                       uint32_t block, Err *err);
bool import_slurm_children(ImportSlurm *slurm, const char *list, uint32_t line, uint32_t above,
                           Err *err);
// Joins nodes of one name, looks up children, builds the machine.
bool import_slurm_build(ImportSlurm *slurm, Err *err);

// A tree whose switches of one level all have as much below them, with the nodes in its order:
// size[0] nodes below each leaf, size[1] leaves below each switch above, and so on to the root. Its
// blocks, if there are any, are the nodes of a leaf each.
#define IMPORT_SLURM_LEVELS_MAX 4
typedef struct ImportSlurmLevels {
    uint32_t count; // 2 or more
    uint32_t size[IMPORT_SLURM_LEVELS_MAX];
} ImportSlurmLevels;

// False when it is no such tree. After count_nodes of import_slurm_build.
bool import_slurm_levels(const ImportSlurm *slurm, ImportSlurmLevels *out);

// Calls `take` with each name of a hostlist, at most IMPORT_SLURM_NAMES_MAX of them.
typedef bool (*ImportSlurmTake)(void *user, const char *name, Err *err);
bool import_slurm_expand(const Import *import, const char *list, uint32_t line,
                         ImportSlurmTake take, void *user, Err *err);

#endif
