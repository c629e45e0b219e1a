// Link rules from single cables: what import_graph_close is built on.
#ifndef MODEL_MACHINE_IMPORT_RULES_H
#define MODEL_MACHINE_IMPORT_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/machine/import_graph.h"
#include "model/machine/topology.h"

// The fewest rules that are found for the edges of template `in`, in a fixed order. Sorts and
// merges the edges. *out lives in `arena`.
bool import_rules_make(ImportGraph *graph, uint32_t in, Arena *arena, LinkRule **out,
                       uint32_t *out_count, Err *err);

#endif
