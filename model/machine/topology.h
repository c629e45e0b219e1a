// A machine as a person describes it: templates with counts, links of parts, sources of numbers.
//
//   { "moesim": "topology", "version": 1, "name": "GB200 NVL72", "source": "...",
//     "templates": {
//       "tray": {
//         "parts": { "gpu": {"kind": "gpu", "device": "GB200", "count": 4},
//                    "cpu": {"kind": "cpu", "device": "Grace", "count": 2} },
//         "links": [ {"from": "gpu[i]", "to": "cpu[i/2]", "class": "c2c", "bandwidth":
//                     "450 GB/s", "latency": "500 ns", "source": "..."} ] },
//       "rack": {
//         "parts": { "tray": {"template": "tray", "count": 18},
//                    "nvswitch": {"kind": "switch", "count": 18} },
//         "links": [ {"from": "tray[*].gpu[*]", "to": "nvswitch[*]", "class": "nvlink", ...} ] } },
//     "machine": "rack", "faults": [ ... ] }   (faults: optional, fault.h)
// An index is `*` (all), a number, a range `0-3`, a list `0,3`, a letter that `from` binds to all
// (`i`) or to some (`i=0-3`), or in `to` an expression of letters: i/2, i%4, i+1, (i+1)%8. A part
// of count 1 needs none. "bandwidth" is per cable and direction; "cables" (default 1) run in
// parallel. "burst" (optional) is what a shaped link passes at once when it was idle; links of one
// class and rate have one. "source" is that of the topology when a link gives none; "confidence" is
// A (vendor or source code), B (third party; the default), C (derived) or M (no source; the default
// then). One link is laid for every pair of parts that the two patterns name; gpu[*] to gpu[*]
// joins each pair once. A pair that an expression names from both ends is refused.
#ifndef MODEL_MACHINE_TOPOLOGY_H
#define MODEL_MACHINE_TOPOLOGY_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/hash.h"
#include "model/base/mem.h"
#include "model/base/text.h"
#include "model/base/units.h"
#include "model/machine/fault.h"

#define TOPOLOGY_VERSION        1
#define TOPOLOGY_DEPTH_MAX      8                         // levels of templates
#define TOPOLOGY_PARTS_MAX      1000000                   // parts of a whole machine of one class
#define TOPOLOGY_LINKS_MAX      2048                      // link rules of all templates
#define TOPOLOGY_CABLES_MAX     10000                     // of one link
#define TOPOLOGY_RATE_MAX_BPS   UINT64_C(100000000000000) // of one cable
#define TOPOLOGY_LATENCY_MAX_PS PS_PER_SECOND       // of one link; a path stays inside 64 bits
#define TOPOLOGY_BURST_MAX_B    (UINT64_C(1) << 30) // of all cables of a link

#define TOPOLOGY_KIND_LIST(X)                                                                      \
    X(GPU, "gpu")                                                                                  \
    X(CPU, "cpu")                                                                                  \
    X(NIC, "nic")                                                                                  \
    X(SWITCH, "switch")                                                                            \
    X(PCIE_SWITCH, "pcie-switch") X(MEMORY, "memory") X(STORAGE, "storage") X(GROUP, "group")
typedef enum PartKind {
#define X(name, text) PART_##name,
    TOPOLOGY_KIND_LIST(X)
#undef X
        PART_KIND_COUNT
} PartKind;
extern const char *const topology_kind_names[PART_KIND_COUNT];

#define TOPOLOGY_CLASS_LIST(X)                                                                     \
    X(NVLINK, "nvlink")                                                                            \
    X(C2C, "c2c")                                                                                  \
    X(XGMI, "xgmi")                                                                                \
    X(UB, "ub")                                                                                    \
    X(ICI, "ici")                                                                                  \
    X(PCIE, "pcie")                                                                                \
    X(IB, "ib") X(ETH, "eth") X(MEMORY, "memory") X(STORAGE, "storage") X(OTHER, "other")
typedef enum LinkClass {
#define X(name, text) LINK_##name,
    TOPOLOGY_CLASS_LIST(X)
#undef X
        LINK_CLASS_COUNT
} LinkClass;
extern const char *const topology_class_names[LINK_CLASS_COUNT];

bool topology_class_is_scale_up(LinkClass link_class); // nvlink, c2c, xgmi, ub and ici
bool topology_class_is_network(LinkClass link_class);  // ib and eth
// How links spread a transfer over equal paths: over all (stripe; adaptive, the same in a fluid
// model), over one by a hash of the pair (hash); in a torus or mesh of GPUs along one level after
// the other, half each way round where both are equally long (dimension-order).
#define TOPOLOGY_POLICY_LIST(X)                                                                    \
    X(STRIPE, "stripe")                                                                            \
    X(HASH, "hash") X(ADAPTIVE, "adaptive") X(DIMENSION_ORDER, "dimension-order")
typedef enum RoutePolicy {
#define X(name, text) ROUTE_##name,
    TOPOLOGY_POLICY_LIST(X)
#undef X
        ROUTE_POLICY_COUNT
} RoutePolicy;
extern const char *const topology_policy_names[ROUTE_POLICY_COUNT];

typedef struct Part {
    const char *name;
    PartKind kind;        // PART_GROUP when it stands for a template
    uint32_t template_id; // UINT32_MAX for a leaf
    uint32_t count;
    const char *device, *place; // "" when none is named; where a file names it, "" otherwise
    uint64_t memory_B;          // 0 when not given; of a GPU its device then says it
} Part;

typedef struct LinkRule {
    const char *from, *to; // patterns as written
    LinkClass link_class;
    RoutePolicy policy;
    uint32_t cables;
    uint64_t bandwidth_Bps; // per cable and direction
    Time latency_ps;
    uint64_t burst_B;   // per cable: pass at once after it was idle (a token bucket); 0: none
    const char *source; // of the link itself, "" when only the topology gives one
    char confidence;    // 'A', 'B', 'C' or 'M'
} LinkRule;

typedef struct Template {
    const char *name;
    Part *parts;
    uint32_t part_count;
    LinkRule *links;
    uint32_t link_count;
} Template;

// A zeroed Topology is empty. Immutable once read.
typedef struct Topology {
    Arena arena;
    const char *name, *source, *note;
    const char *origin; // file or string that it was read from, for messages
    Template *templates;
    uint32_t template_count;
    uint32_t machine; // template of the whole machine
    Fault *faults;
    uint32_t fault_count;
    bool default_device;       // of a string that names no device: a GPU was taken for it
    bool is_import;            // of a dump: the note is a list of findings with "; " between
    const char *device_before; // by topology_device_set: "" had no name; NULL: it changed none
    Digest digest;             // of the meaning, not of the spelling of the file
} Topology;

// Reads a file found by file_find, or a machine from one line (grammar in topology_synth.h):
//   "switch:8,450GB/s"  "torus:4x4x4,100GB/s"  "superpod-b200:4su"  "nvl72:144" ... with options
//   such as ",device=H100 SXM". Messages of a line
// name the column.
bool topology_load(const char *name, Topology *out, Err *err);
bool topology_read(const char *path, Topology *out, Err *err);
bool topology_parse(const char *name, const char *bytes, size_t count, Topology *out, Err *err);
void topology_write(const Topology *topology, Text *out); // reads back to the same digest
bool topology_check(const Topology *topology, Err *err);  // walks all invariants
void topology_free(Topology *topology);
bool topology_finish(Topology *topology, Err *err); // of one built in memory: check, digest
// The index of a part by name, or UINT32_MAX.
uint32_t topology_find_part(const Template *in, const char *name);

#endif
