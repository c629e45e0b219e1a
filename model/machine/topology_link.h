// A link rule with its patterns resolved against the templates: which parts, how many of each, and
// whether the rule makes sense.
#ifndef MODEL_MACHINE_TOPOLOGY_LINK_H
#define MODEL_MACHINE_TOPOLOGY_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/machine/pattern.h"
#include "model/machine/topology.h"

// Combinations of letters that the expressions of one rule may range over, and those of all rules.
#define TOPOLOGY_COMBINATIONS_MAX 65536
#define TOPOLOGY_WORK_MAX         2097152

// One end of a rule. Level k of the pattern names part[k] of the template at that level, which has
// size[k] copies.
typedef struct TopologyEnd {
    Pattern pattern; // PATTERN_NONE has become PATTERN_ALL, and every PATTERN_ALL one full range
    uint32_t part[TOPOLOGY_DEPTH_MAX];
    uint32_t size[TOPOLOGY_DEPTH_MAX];
} TopologyEnd;

// TOPOLOGY_PLAIN: each pair is named once. TOPOLOGY_PAIRS: both ends name the same set of parts,
// and each unordered pair of it is linked once; levels whose index in `to` is the letter of that
// level in `from` are equal on both ends.
typedef enum TopologyForm { TOPOLOGY_PLAIN, TOPOLOGY_PAIRS } TopologyForm;

typedef struct TopologyLink {
    TopologyEnd from, to;
    TopologyForm form;
    uint32_t level_of_letter[PATTERN_LETTERS]; // of `from`; UINT32_MAX when not bound
    uint32_t combinations;                     // that were tried
} TopologyLink;

// Resolves and checks the rule templates[template_id].links[link]: parts exist, numbers are in
// range, letters are bound, expressions give existing parts, nothing is linked to itself or twice.
// *out_field is "from" or "to" when it fails.
bool topology_link_resolve(const Topology *topology, uint32_t template_id, uint32_t link,
                           TopologyLink *out, const char **out_field, Err *err);

// Resolves the patterns of a fault against the whole machine. They may end at a part that stands
// for a template. `to` stays empty for a fault of parts; *out_field is then "part" when it fails.
bool topology_link_fault(const Topology *topology, const Fault *fault, TopologyLink *out,
                         const char **out_field, Err *err);

// The level of `from` whose letter alone is the index of level `level` of `to`, or UINT32_MAX.
uint32_t topology_link_copied(const TopologyLink *link, uint32_t level);

#endif
