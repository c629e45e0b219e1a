// As much of YAML as the files of schedulers and of topograph use: block mappings and sequences of
// plain or quoted text, comments. No anchors, no flow collections (their text is kept as it is), no
// multi-line text.
#ifndef MODEL_MACHINE_IMPORT_YAML_H
#define MODEL_MACHINE_IMPORT_YAML_H

#include <stdbool.h>
#include <stdint.h>

#include "model/machine/import_node.h"

#define IMPORT_YAML_DEPTH_MAX 32

// "key: value", or an item of a sequence ("- value"; "- key: value" is an item with a child). In
// document order.
typedef struct ImportYamlNode {
    const char *key;   // "" of an item
    const char *value; // "" when it is below, or nothing
    uint32_t line;
    uint32_t parent; // IMPORT_NONE at the top
    uint32_t end;    // those inside are the nodes between this one and `end`
    bool is_item;
} ImportYamlNode;

typedef struct ImportYaml {
    ImportYamlNode *nodes; // in the arena of the import
    uint32_t count;
} ImportYaml;

bool import_yaml_parse(Import *import, ImportYaml *out, Err *err);
// The child of that key, or IMPORT_NONE. `of` may be IMPORT_NONE: the top.
uint32_t import_yaml_find(const ImportYaml *yaml, uint32_t of, const char *key);
// The value of that child, or NULL when there is none.
const char *import_yaml_value(const ImportYaml *yaml, uint32_t of, const char *key);

#endif
